"""What nodes look like in messages, in the text of treedefs, and to functions of users.

`WORDS` has what is special about a class of node types. For any other node type, all of
it follows from what the node type does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from .._text import safe_repr, safe_str, short_repr
from .builtins import (
    DefaultDictNodeType,
    DequeNodeType,
    DictNodeType,
    FamilyNodeType,
    ListNodeType,
    MappingNodeType,
    NoneNodeType,
    OrderedDictNodeType,
    SequenceNodeType,
    TupleNodeType,
)
from .keys import given_keys
from .node import NodeType
from .register import FunctionNodeType, ItemsNodeType


Brackets: TypeAlias = "tuple[str, Sequence[str] | None, str]"
"""Text before the children, before each child, and after the children."""


# ------------------------------------------------------------------------ questions


def node_data(node_type: NodeType, aux: Any) -> Any:
    """Return the aux data of a node as users know it."""
    return words_of(node_type).data(node_type, aux)


def node_from(
    node_type: NodeType, cls: type, data: Any, children: Sequence[Any]
) -> Any:
    """Return the node of a class with these children, in leaf order.

    Args:
        node_type: The node type of the class.
        cls: The class.
        data: The result of `node_data`.
        children: The children.
    """
    return words_of(node_type).node(node_type, cls, data, children)


def brackets(node_type: NodeType, aux: Any, arity: int) -> Brackets:
    """Return what the text of a treedef has around the children of a node."""
    return words_of(node_type).brackets(node_type, aux, arity)


def description(node_type: NodeType, aux: Any, arity: int) -> str:
    """Return a description of a node, for messages."""
    return words_of(node_type).description(node_type, aux, arity)


def origin(node_type: NodeType) -> str:
    """Return where a node type comes from, for messages."""
    if node_type.where:
        scope = f"in namespace {node_type.namespace!r} " if node_type.namespace else ""
        return f"registered {scope}at {node_type.where}"
    if isinstance(node_type, MappingNodeType):
        return "keys as inserted" if node_type.arrange is given_keys else "keys sorted"
    return "built in"


def count_of_children(arity: int) -> str:
    """Return how many children a node has, in words."""
    return "1 child" if arity == 1 else f"{arity} children"


_MOST_LISTED: Final = 6


def listed(keys: Sequence[Any]) -> str:
    """Return the first few dict keys as text, and how many more there are."""
    text = ", ".join(short_repr(key) for key in keys[:_MOST_LISTED])
    more = len(keys) - _MOST_LISTED
    return f"{text} and {more} more" if more > 0 else text


# ------------------------------------------------------------------------ any node


def custom_brackets(node_type: NodeType, aux: Any, _arity: int) -> Brackets:
    """Return the brackets of a node as jax prints those that it does not know."""
    name = node_type.cls.__name__
    return f"CustomNode({name}[{safe_str(node_data(node_type, aux))}], [", None, "])"


def _aux_itself(_node_type: NodeType, aux: Any) -> Any:
    return aux


def _unflattened(
    node_type: NodeType, _cls: type, data: Any, children: Sequence[Any]
) -> Any:
    return node_type.unflatten(data, list(children))


def _described(node_type: NodeType, aux: Any, arity: int) -> str:
    text = f"{node_type.cls.__qualname__} with {count_of_children(arity)}"
    data = node_data(node_type, aux)
    if data is None:
        return text
    return f"{text} and aux data {short_repr(data)}"


class Words(NamedTuple):
    """What is special about the nodes of a class of node types.

    Attributes:
        data: Takes a node type and aux data, returns it as users know it.
        node: Takes a node type, a class, what `data` returned, and children in leaf
            order. Returns a node.
        brackets: Takes a node type, aux data and the number of children. Returns the
            text around the children.
        description: Takes the same, returns a description.
    """

    data: Callable[[Any, Any], Any] = _aux_itself
    node: Callable[[Any, type, Any, Sequence[Any]], Any] = _unflattened
    brackets: Callable[[Any, Any, int], Brackets] = custom_brackets
    description: Callable[[Any, Any, int], str] = _described


def words_of(node_type: NodeType) -> Words:
    """Return what is special about a node type, by the first class in the table."""
    for cls in type(node_type).__mro__:
        words = WORDS.get(cls)
        if words is not None:
            return words
    return _PLAIN


_PLAIN: Final = Words()


# ------------------------------------------------------------------------ mappings


def _listed_keys(node_type: MappingNodeType, aux: Any) -> list[Any]:
    return list(node_type.keys_in(aux).ordered)


def _ordered_keys(node_type: MappingNodeType, aux: Any) -> tuple[Any, ...]:
    return node_type.keys_in(aux).ordered


def _factory_and_keys(
    node_type: DefaultDictNodeType, aux: Any
) -> tuple[Any, tuple[Any, ...]]:
    return node_type.rest_in(aux), node_type.keys_in(aux).ordered


def _from_keys(
    node_type: MappingNodeType, _cls: type, keys: Sequence[Any], children: Sequence[Any]
) -> Any:
    return node_type.from_items(None, dict(zip(keys, children, strict=True)))


def _from_factory_and_keys(
    node_type: DefaultDictNodeType, _cls: type, data: Any, children: Sequence[Any]
) -> Any:
    factory, keys = data
    return node_type.from_items(factory, dict(zip(keys, children, strict=True)))


def _labels(node_type: MappingNodeType, aux: Any) -> list[str]:
    return [f"{safe_repr(key)}: " for key in node_type.keys_in(aux).ordered]


def _mapping_brackets(node_type: MappingNodeType, aux: Any, _arity: int) -> Brackets:
    return f"{node_type.cls.__name__}({{", _labels(node_type, aux), "})"


def _dict_brackets(node_type: MappingNodeType, aux: Any, _arity: int) -> Brackets:
    return "{", _labels(node_type, aux), "}"


def _mapping_description(node_type: MappingNodeType, aux: Any, _arity: int) -> str:
    name = node_type.cls.__qualname__
    keys = node_type.keys_in(aux).ordered
    if not keys:
        return f"empty {name}"
    return f"{name} with keys {listed(keys)}"


def _defaultdict_description(
    node_type: DefaultDictNodeType, aux: Any, arity: int
) -> str:
    factory = short_repr(node_type.rest_in(aux))
    return f"{_mapping_description(node_type, aux, arity)} and factory {factory}"


_MAPPING: Final = Words(
    _listed_keys, _from_keys, _mapping_brackets, _mapping_description
)


# ------------------------------------------------------------------------ sequences


def _list_brackets(_node_type: NodeType, _aux: Any, _arity: int) -> Brackets:
    return "[", None, "]"


def _tuple_brackets(_node_type: NodeType, _aux: Any, arity: int) -> Brackets:
    return "(", None, ",)" if arity == 1 else ")"


def _sequence_description(node_type: NodeType, _aux: Any, arity: int) -> str:
    return f"{node_type.name} of length {arity}"


def _deque_description(node_type: NodeType, aux: Any, arity: int) -> str:
    text = _sequence_description(node_type, aux, arity)
    return text if aux is None else f"{text} and maxlen {aux}"


_SEQUENCE: Final = Words(description=_sequence_description)


# ------------------------------------------------------------------- other built-ins


def _none_brackets(_node_type: NodeType, _aux: Any, _arity: int) -> Brackets:
    return "None", None, ""


def _none_description(_node_type: NodeType, _aux: Any, _arity: int) -> str:
    return "None"


def _class_of(node_type: NodeType, aux: Any) -> type:
    return node_type.class_of(aux)


def _of_family(
    _node_type: NodeType, cls: Any, _data: Any, children: Sequence[Any]
) -> Any:
    make = getattr(cls, "_make", cls)
    return make(children)


def _family_brackets(node_type: NodeType, aux: Any, _arity: int) -> Brackets:
    name = node_type.class_of(aux).__name__
    return f"CustomNode({node_type.name}[{name}], [", None, "])"


def _family_description(node_type: NodeType, aux: Any, arity: int) -> str:
    name = node_type.class_of(aux).__qualname__
    return f"{node_type.name} {name} with {count_of_children(arity)}"


# ---------------------------------------------------------------- registered classes


def _own_aux(_node_type: NodeType, aux: Any) -> Any:
    own_aux, _ = aux
    return own_aux


def _from_own_aux(
    node_type: NodeType, _cls: type, data: Any, children: Sequence[Any]
) -> Any:
    return node_type.unflatten((data, None), list(children))


def _keys_of_items(node_type: NodeType, aux: Any) -> Any:
    keys, _ = aux
    return keys.ordered if node_type.is_mapping else None


# ------------------------------------------------------------------------ the table

WORDS: Final[dict[type[NodeType], Words]] = {
    MappingNodeType: _MAPPING,
    DictNodeType: _MAPPING._replace(brackets=_dict_brackets),
    OrderedDictNodeType: _MAPPING._replace(
        data=_ordered_keys, brackets=custom_brackets
    ),
    DefaultDictNodeType: Words(
        _factory_and_keys,
        _from_factory_and_keys,
        custom_brackets,
        _defaultdict_description,
    ),
    SequenceNodeType: _SEQUENCE,
    ListNodeType: _SEQUENCE._replace(brackets=_list_brackets),
    TupleNodeType: _SEQUENCE._replace(brackets=_tuple_brackets),
    DequeNodeType: Words(description=_deque_description),
    NoneNodeType: Words(brackets=_none_brackets, description=_none_description),
    FamilyNodeType: Words(_class_of, _of_family, _family_brackets, _family_description),
    FunctionNodeType: Words(data=_own_aux, node=_from_own_aux),
    ItemsNodeType: Words(data=_keys_of_items),
}
"""What is special, by class of node types. Modules above put in what is theirs."""

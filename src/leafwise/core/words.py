"""What nodes look like in messages, in the text of treedefs, and to functions of users.

`WORDS` has what is special about a class of rules. For any other rule, all of it
follows from what the rule does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from .._text import safe_repr, safe_str, short_repr
from .builtins import (
    DefaultDictRule,
    DequeRule,
    DictRule,
    FamilyRule,
    ListRule,
    MappingRule,
    NoneRule,
    OrderedDictRule,
    SequenceRule,
    TupleRule,
)
from .keys import given_keys
from .node import Rule
from .register import FunctionRule, ItemsRule


Brackets: TypeAlias = "tuple[str, Sequence[str] | None, str]"
"""Text before the children, before each child, and after the children."""


# ------------------------------------------------------------------------ questions


def node_data(rule: Rule, aux: Any) -> Any:
    """Return the aux data of a node as users know it."""
    return words_of(rule).data(rule, aux)


def node_from(rule: Rule, cls: type, data: Any, children: Sequence[Any]) -> Any:
    """Return the node of a class with these children, in leaf order.

    Args:
        rule: The rule of the class.
        cls: The class.
        data: The result of `node_data`.
        children: The children.
    """
    return words_of(rule).node(rule, cls, data, children)


def brackets(rule: Rule, aux: Any, arity: int) -> Brackets:
    """Return what the text of a treedef has around the children of a node."""
    return words_of(rule).brackets(rule, aux, arity)


def description(rule: Rule, aux: Any, arity: int) -> str:
    """Return a description of a node, for messages."""
    return words_of(rule).description(rule, aux, arity)


def origin(rule: Rule) -> str:
    """Return where a rule comes from, for messages."""
    if rule.where:
        scope = f"in namespace {rule.namespace!r} " if rule.namespace else ""
        return f"registered {scope}at {rule.where}"
    if isinstance(rule, MappingRule):
        return "keys as inserted" if rule.arrange is given_keys else "keys sorted"
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


def custom_brackets(rule: Rule, aux: Any, _arity: int) -> Brackets:
    """Return the brackets of a node as jax prints those that it does not know."""
    name = rule.cls.__name__
    return f"CustomNode({name}[{safe_str(node_data(rule, aux))}], [", None, "])"


def _aux_itself(_rule: Rule, aux: Any) -> Any:
    return aux


def _unflattened(rule: Rule, _cls: type, data: Any, children: Sequence[Any]) -> Any:
    return rule.unflatten(data, list(children))


def _described(rule: Rule, aux: Any, arity: int) -> str:
    text = f"{rule.cls.__qualname__} with {count_of_children(arity)}"
    data = node_data(rule, aux)
    if data is None:
        return text
    return f"{text} and aux data {short_repr(data)}"


class Words(NamedTuple):
    """What is special about the nodes of a class of rules.

    Attributes:
        data: Takes a rule and aux data, returns it as users know it.
        node: Takes a rule, a class, what `data` returned, and children in leaf order.
            Returns a node.
        brackets: Takes a rule, aux data and the number of children. Returns the text
            around the children.
        description: Takes the same, returns a description.
    """

    data: Callable[[Any, Any], Any] = _aux_itself
    node: Callable[[Any, type, Any, Sequence[Any]], Any] = _unflattened
    brackets: Callable[[Any, Any, int], Brackets] = custom_brackets
    description: Callable[[Any, Any, int], str] = _described


def words_of(rule: Rule) -> Words:
    """Return what is special about a rule, by the first of its classes in the table."""
    for cls in type(rule).__mro__:
        words = WORDS.get(cls)
        if words is not None:
            return words
    return _PLAIN


_PLAIN: Final = Words()


# ------------------------------------------------------------------------ mappings


def _listed_keys(rule: MappingRule, aux: Any) -> list[Any]:
    return list(rule.keys_in(aux).ordered)


def _ordered_keys(rule: MappingRule, aux: Any) -> tuple[Any, ...]:
    return rule.keys_in(aux).ordered


def _factory_and_keys(rule: DefaultDictRule, aux: Any) -> tuple[Any, tuple[Any, ...]]:
    return rule.rest_in(aux), rule.keys_in(aux).ordered


def _from_keys(
    rule: MappingRule, _cls: type, keys: Sequence[Any], children: Sequence[Any]
) -> Any:
    return rule.from_items(None, dict(zip(keys, children, strict=True)))


def _from_factory_and_keys(
    rule: DefaultDictRule, _cls: type, data: Any, children: Sequence[Any]
) -> Any:
    factory, keys = data
    return rule.from_items(factory, dict(zip(keys, children, strict=True)))


def _labels(rule: MappingRule, aux: Any) -> list[str]:
    return [f"{safe_repr(key)}: " for key in rule.keys_in(aux).ordered]


def _mapping_brackets(rule: MappingRule, aux: Any, _arity: int) -> Brackets:
    return f"{rule.cls.__name__}({{", _labels(rule, aux), "})"


def _dict_brackets(rule: MappingRule, aux: Any, _arity: int) -> Brackets:
    return "{", _labels(rule, aux), "}"


def _mapping_description(rule: MappingRule, aux: Any, _arity: int) -> str:
    name = rule.cls.__qualname__
    keys = rule.keys_in(aux).ordered
    if not keys:
        return f"empty {name}"
    return f"{name} with keys {listed(keys)}"


def _defaultdict_description(rule: DefaultDictRule, aux: Any, arity: int) -> str:
    factory = short_repr(rule.rest_in(aux))
    return f"{_mapping_description(rule, aux, arity)} and factory {factory}"


_MAPPING: Final = Words(
    _listed_keys, _from_keys, _mapping_brackets, _mapping_description
)


# ------------------------------------------------------------------------ sequences


def _list_brackets(_rule: Rule, _aux: Any, _arity: int) -> Brackets:
    return "[", None, "]"


def _tuple_brackets(_rule: Rule, _aux: Any, arity: int) -> Brackets:
    return "(", None, ",)" if arity == 1 else ")"


def _sequence_description(rule: Rule, _aux: Any, arity: int) -> str:
    return f"{rule.name} of length {arity}"


def _deque_description(rule: Rule, aux: Any, arity: int) -> str:
    text = _sequence_description(rule, aux, arity)
    return text if aux is None else f"{text} and maxlen {aux}"


_SEQUENCE: Final = Words(description=_sequence_description)


# ------------------------------------------------------------------- other built-ins


def _none_brackets(_rule: Rule, _aux: Any, _arity: int) -> Brackets:
    return "None", None, ""


def _none_description(_rule: Rule, _aux: Any, _arity: int) -> str:
    return "None"


def _class_of(rule: Rule, aux: Any) -> type:
    return rule.class_of(aux)


def _of_family(_rule: Rule, cls: Any, _data: Any, children: Sequence[Any]) -> Any:
    make = getattr(cls, "_make", cls)
    return make(children)


def _family_brackets(rule: Rule, aux: Any, _arity: int) -> Brackets:
    name = rule.class_of(aux).__name__
    return f"CustomNode({rule.name}[{name}], [", None, "])"


def _family_description(rule: Rule, aux: Any, arity: int) -> str:
    name = rule.class_of(aux).__qualname__
    return f"{rule.name} {name} with {count_of_children(arity)}"


# ---------------------------------------------------------------- registered classes


def _own_aux(_rule: Rule, aux: Any) -> Any:
    own_aux, _ = aux
    return own_aux


def _from_own_aux(rule: Rule, _cls: type, data: Any, children: Sequence[Any]) -> Any:
    return rule.unflatten((data, None), list(children))


def _keys_of_items(rule: Rule, aux: Any) -> Any:
    keys, _ = aux
    return keys.ordered if rule.is_mapping else None


# ------------------------------------------------------------------------ the table

WORDS: Final[dict[type[Rule], Words]] = {
    MappingRule: _MAPPING,
    DictRule: _MAPPING._replace(brackets=_dict_brackets),
    OrderedDictRule: _MAPPING._replace(data=_ordered_keys, brackets=custom_brackets),
    DefaultDictRule: Words(
        _factory_and_keys,
        _from_factory_and_keys,
        custom_brackets,
        _defaultdict_description,
    ),
    SequenceRule: _SEQUENCE,
    ListRule: _SEQUENCE._replace(brackets=_list_brackets),
    TupleRule: _SEQUENCE._replace(brackets=_tuple_brackets),
    DequeRule: Words(description=_deque_description),
    NoneRule: Words(brackets=_none_brackets, description=_none_description),
    FamilyRule: Words(_class_of, _of_family, _family_brackets, _family_description),
    FunctionRule: Words(data=_own_aux, node=_from_own_aux),
    ItemsRule: Words(data=_keys_of_items),
}
"""What is special, by class of rules. Modules above put in what is theirs."""

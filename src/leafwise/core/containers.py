"""The rules of the built-in nodes (laws L1 to L3), each said once.

Owns the table `BUILTINS` from type to rule. The order of dict keys is found in
`keyorder`. Named tuples and struct sequences are families of types rather
than one type, so they are found by `structural_rule`. Knows nothing of
namespaces or registration.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Sequence
from functools import cached_property
from itertools import repeat
from operator import is_, itemgetter
from typing import Any, Final

from . import auxdata
from .keyorder import AS_GIVEN, KeyOrder, key_order, leaf_order
from .keys import GetAttrKey, dict_keys, sequence_keys
from .partial import Partial
from .rule import Brackets, Rule
from .safely import class_name, shown


__all__ = [
    "BUILTINS",
    "INSERTION_ORDERED",
    "LIST",
    "NAMEDTUPLE",
    "NONE",
    "OPEN_NAMEDTUPLE",
    "STRUCTSEQ",
    "TUPLE",
    "has_attributes",
    "is_namedtuple_class",
    "is_structseq_class",
    "structural_rule",
]


# ------------------------------------------------------------- dicts of any kind

_MAPPINGS = frozenset({dict, OrderedDict, defaultdict})


_ABSENT: Final = object()


def _pair_by_key(keys: tuple[Any, ...], node: Any) -> Sequence[Any] | None:
    """Return the values of any mapping node at these keys, if it has no others."""
    if type(node) not in _MAPPINGS or len(node) != len(keys):
        return None
    values = [*map(node.get, keys, repeat(_ABSENT))]
    return None if any(map(is_, values, repeat(_ABSENT))) else values


def _flatten_dict(node: dict[Any, Any]) -> tuple[Sequence[Any], Any]:
    held = dict.copy(node)  # in one step: others may change the dict meanwhile
    keys = tuple(held)
    order = key_order(keys)
    values = [*held.values()]
    return values if order is None else order.gather(values), (keys, order)


def _sorted_keys(node: dict[Any, Any]) -> Sequence[Any]:
    keys = tuple(node)
    return leaf_order(keys, key_order(keys))


def _flatten_dict_as_given(node: dict[Any, Any]) -> tuple[Sequence[Any], Any]:
    held = dict.copy(node)
    return [*held.values()], (tuple(held), AS_GIVEN)


def _unflatten_dict(aux: Any, children: Sequence[Any]) -> dict[Any, Any]:
    keys, order = aux
    if order is not None:
        children = order.scatter(children)
    return dict(zip(keys, children))  # noqa: B905  # the arity is that of the keys


def _dict_keys(aux: Any, _arity: int) -> Sequence[Any]:
    return dict_keys(leaf_order(aux[0], aux[1]))


def _pair_dict(aux: Any, _arity: int, node: Any) -> Sequence[Any] | None:
    return _pair_by_key(leaf_order(aux[0], aux[1]), node)


def _dict_text(aux: Any, _arity: int) -> Brackets:
    keys = leaf_order(aux[0], aux[1])
    return "{", [f"{shown(key)}: " for key in keys], "}"


def _same_keys(a: Any, b: Any) -> bool:
    first, second = _is_ordered(a[1]), _is_ordered(b[1])
    if first is not second or len(a[0]) != len(b[0]):
        return False
    return _one_by_one(leaf_order(a[0], a[1]), leaf_order(b[0], b[1]))


def _one_by_one(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Say whether keys are those of another dict, which looks at the hash first."""
    return auxdata.same(a, b) and [*map(hash, a)] == [*map(hash, b)]


def _is_ordered(order: KeyOrder | None) -> bool:
    return order is not None and order.is_structure


def _digest_keys(aux: Any) -> int:
    return hash(frozenset(map(auxdata.digest, aux[0])))


def _dict_rule(*, sort: bool) -> Rule:
    return Rule(
        cls=dict,
        name="dict" if sort else "dict as given",
        flatten=_flatten_dict if sort else _flatten_dict_as_given,
        unflatten=_unflatten_dict,
        keys=_dict_keys,
        pair=_pair_dict,
        text=_dict_text,
        same=_same_keys,
        digest=_digest_keys,
        data=lambda aux: [*leaf_order(aux[0], aux[1])],
        leaf_keys=_sorted_keys if sort else tuple,
    )


def _defaultdict_rule(*, sort: bool) -> Rule:
    """The aux data of a defaultdict is that of a dict, and the factory."""
    flatten_plain = _flatten_dict if sort else _flatten_dict_as_given

    def flatten(node: Any) -> tuple[Sequence[Any], Any]:
        children, aux = flatten_plain(node)
        return children, (*aux, node.default_factory)

    def unflatten(aux: Any, children: Sequence[Any]) -> Any:
        return defaultdict(aux[2], _unflatten_dict(aux[:2], children))

    def shown(aux: Any) -> tuple[Any, ...]:
        return aux[2], leaf_order(aux[0], aux[1])

    def text(aux: Any, _arity: int) -> Brackets:
        return f"CustomNode(defaultdict[{auxdata.text(shown(aux))}], [", None, "])"

    return Rule(
        cls=defaultdict,
        name="defaultdict" if sort else "defaultdict as given",
        flatten=flatten,
        unflatten=unflatten,
        keys=_dict_keys,
        pair=_pair_dict,
        text=text,
        same=lambda a, b: _same_keys(a, b) and auxdata.same(a[2], b[2]),
        digest=lambda aux: hash((_digest_keys(aux), auxdata.digest(aux[2]))),
        data=shown,
        leaf_keys=_sorted_keys if sort else tuple,
    )


def _flatten_ordered(node: Any) -> tuple[Sequence[Any], Any]:
    """Read each value by its key: others may change the node meanwhile."""
    keys = tuple(node)
    if len(keys) > 1:
        try:
            return itemgetter(*keys)(node), keys
        except KeyError:  # one was taken away
            pass
    pairs = [*node.items()]
    return [value for _, value in pairs], tuple([key for key, _ in pairs])


def _unflatten_ordered(keys: Any, children: Sequence[Any]) -> Any:
    node: OrderedDict[Any, Any] = OrderedDict()
    for key, child in zip(keys, children):  # noqa: B905  # the arity is that of the keys
        node[key] = child
    return node


_ORDEREDDICT = Rule(
    cls=OrderedDict,
    name="OrderedDict",
    flatten=_flatten_ordered,
    unflatten=_unflatten_ordered,
    keys=lambda keys, _arity: dict_keys(keys),
    pair=lambda keys, _arity, node: _pair_by_key(keys, node),
    text=lambda keys, _arity: (
        f"CustomNode(OrderedDict[{auxdata.text(keys)}], [",
        None,
        "])",
    ),
    same=_one_by_one,
    leaf_keys=tuple,
)


# ------------------------------------------------------------------- sequences


def _pair_list(_aux: Any, arity: int, node: Any) -> Sequence[Any] | None:
    return node if type(node) is list and len(node) == arity else None


def _pair_tuple(_aux: Any, arity: int, node: Any) -> Sequence[Any] | None:
    return node if type(node) is tuple and len(node) == arity else None


def _pair_deque(_aux: Any, arity: int, node: Any) -> Sequence[Any] | None:
    return tuple(node) if type(node) is deque and len(node) == arity else None


def _index_keys(_aux: Any, arity: int) -> Sequence[Any]:
    return sequence_keys(arity)


def _tuple_text(_aux: Any, arity: int) -> Brackets:
    return "(", None, ",)" if arity == 1 else ")"


LIST: Final = Rule(
    cls=list,
    name="list",
    flatten=lambda node: (node[:], None),
    unflatten=lambda _aux, children: children,
    keys=_index_keys,
    pair=_pair_list,
    text=lambda _aux, _arity: ("[", None, "]"),
)
TUPLE: Final = Rule(
    cls=tuple,
    name="tuple",
    flatten=lambda node: (node, None),
    unflatten=lambda _aux, children: tuple(children),
    keys=_index_keys,
    pair=_pair_tuple,
    text=_tuple_text,
)
_DEQUE = Rule(
    cls=deque,
    name="deque",
    flatten=lambda node: (tuple(node), node.maxlen),
    unflatten=lambda maxlen, children: deque(children, maxlen),
    keys=_index_keys,
    pair=_pair_deque,
    text=lambda maxlen, _arity: (f"CustomNode(deque[{maxlen}], [", None, "])"),
)
NONE: Final = Rule(
    cls=type(None),
    name="None",
    flatten=lambda _node: ((), None),
    unflatten=lambda _aux, _children: None,
    keys=lambda _aux, _arity: (),
    pair=lambda _aux, _arity, node: () if node is None else None,
    text=lambda _aux, _arity: ("None", None, ""),
)


# ------------------------------------------------------------------ Partial

_PARTIAL_KEYS = (GetAttrKey("args"), GetAttrKey("keywords"))


def _flatten_partial(node: Any) -> tuple[Sequence[Any], Any]:
    return _partial_children(node), node.func


def _partial_children(node: Any) -> tuple[Any, Any]:
    held: tuple[Any, Any] | None = vars(node).get("_children")
    return (node.args, node.keywords.copy()) if held is None else held


def _unflatten_partial(func: Any, children: Sequence[Any]) -> Any:
    """Rebuild; children that are no arguments are held as they are (law L5)."""
    args, keywords = children
    if type(args) is tuple and type(keywords) is dict:
        return Partial(func, *args, **keywords)
    node: Any = Partial(func)
    node._children = (args, keywords)
    return node


def _pair_partial(func: Any, _arity: int, node: Any) -> Sequence[Any] | None:
    if type(node) is not Partial or not auxdata.same(func, node.func):
        return None
    return _partial_children(node)


_PARTIAL = Rule(
    cls=Partial,
    name="Partial",
    flatten=_flatten_partial,
    unflatten=_unflatten_partial,
    keys=lambda _aux, _arity: _PARTIAL_KEYS,
    pair=_pair_partial,
    text=lambda func, _arity: (
        f"CustomNode(Partial[{auxdata.text(func)}], [",
        None,
        "])",
    ),
)


# ------------------------------------------- named tuples and struct sequences


def is_namedtuple_class(cls: type) -> bool:
    """Say whether a class is a named tuple, by its form.

    Example:
        >>> from collections import namedtuple
        >>> from leafwise.core.containers import is_namedtuple_class
        >>> is_namedtuple_class(namedtuple("Point", "x y")), is_namedtuple_class(tuple)
        (True, False)
    """
    fields = getattr(cls, "_fields", None)
    return (
        issubclass(cls, tuple)
        and type(fields) is tuple
        and all(type(name) is str for name in fields)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


_CAN_BE_A_BASE: Final = 1 << 10  # Py_TPFLAGS_BASETYPE


def is_structseq_class(cls: type) -> bool:
    """Say whether a class is a struct sequence that can be made anew.

    `sys.version_info` and `sys.flags` have the form but refuse to be made, so
    they are leaves. No class statement makes such a class: it cannot be a base.

    Example:
        >>> import sys, time
        >>> from leafwise.core.containers import is_structseq_class
        >>> is_structseq_class(time.struct_time), is_structseq_class(type(sys.flags))
        (True, False)
    """
    counts = ("n_fields", "n_sequence_fields", "n_unnamed_fields")
    return (
        cls.__bases__ == (tuple,)
        and not cls.__flags__ & _CAN_BE_A_BASE
        and all(type(cls.__dict__.get(name)) is int for name in counts)
        and "__new__" in cls.__dict__
    )


def structseq_names(cls: Any) -> tuple[str, ...]:
    """Return the names of a struct sequence's fields, hidden ones last."""
    return tuple(
        name
        for name, value in vars(cls).items()
        if type(value).__name__ == "member_descriptor"
    )


def _flatten_structseq(node: Any) -> tuple[Sequence[Any], Any]:
    cls = type(node)
    hidden = structseq_names(cls)[cls.n_sequence_fields - cls.n_unnamed_fields :]
    return tuple(node), (cls, {name: getattr(node, name) for name in hidden})


def _structseq_keys(aux: Any, arity: int) -> Sequence[Any]:
    cls = aux[0]
    named = cls.n_sequence_fields - cls.n_unnamed_fields
    names = structseq_names(cls)[:named]
    return (*map(GetAttrKey, names), *sequence_keys(arity)[named:])


def _pair_structseq(aux: Any, _arity: int, node: Any) -> Sequence[Any] | None:
    return tuple(node) if type(node) is aux[0] else None


def _namedtuple_keys(cls: Any, arity: int) -> Sequence[Any]:
    if len(cls._fields) != arity:
        return sequence_keys(arity)
    return tuple(map(GetAttrKey, cls._fields))


def has_attributes(cls: type) -> bool:
    """Say whether instances of a class have a `__dict__`.

    Those of a named tuple have none; those of a subclass do, unless it has `__slots__`.
    """
    return cls.__dictoffset__ != 0


def _flatten_with_attributes(node: Any) -> tuple[Sequence[Any], Any]:
    cls = type(node)
    return tuple(node), (cls, _lasting(cls, node.__dict__) if node.__dict__ else ())


def _lasting(cls: type, attributes: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return attributes without those that were computed of the children."""
    return tuple(
        (name, value)
        for name, value in attributes.items()
        if not isinstance(getattr(cls, name, None), cached_property)
    )


def _unflatten_with_attributes(aux: Any, children: Sequence[Any]) -> Any:
    cls, attributes = aux
    node = tuple.__new__(cls, children)
    node.__dict__.update(attributes)
    return node


def _class_text(family: str, cls: type) -> Brackets:
    name = class_name(cls, qualified=False)
    return f"CustomNode({family}[{name}], [", None, "])"


NAMEDTUPLE: Final = Rule(
    cls=tuple,
    name="namedtuple",
    flatten=lambda node: (tuple(node), type(node)),
    unflatten=tuple.__new__,
    keys=_namedtuple_keys,
    pair=lambda cls, arity, node: (
        tuple(node) if type(node) is cls and len(node) == arity else None
    ),
    text=lambda cls, _arity: _class_text("namedtuple", cls),
    same=lambda a, b: a is b,
    digest=hash,
    family=lambda cls: cls,
)
OPEN_NAMEDTUPLE: Final = Rule(
    cls=tuple,
    name="namedtuple with attributes",
    flatten=_flatten_with_attributes,
    unflatten=_unflatten_with_attributes,
    keys=lambda aux, arity: _namedtuple_keys(aux[0], arity),
    pair=lambda aux, arity, node: NAMEDTUPLE.pair(aux[0], arity, node),
    text=lambda aux, _arity: _class_text("namedtuple", aux[0]),
    same=lambda a, b: a[0] is b[0],
    digest=lambda aux: hash(aux[0]),
    data=lambda aux: aux[0],
    family=lambda aux: aux[0],
)
"""As `==` of named tuples, it takes no notice of the attributes: it carries them."""

STRUCTSEQ: Final = Rule(
    cls=tuple,
    name="structseq",
    flatten=_flatten_structseq,
    unflatten=lambda aux, children: aux[0](children, aux[1]),
    keys=_structseq_keys,
    pair=_pair_structseq,
    text=lambda aux, _arity: _class_text("structseq", aux[0]),
    same=lambda a, b: a[0] is b[0],
    digest=lambda aux: hash(aux[0]),
    data=lambda aux: aux[0],
    family=lambda aux: aux[0],
)


def structural_rule(cls: type) -> Rule | None:
    """Return the rule of a type that is a node by its form, or None."""
    if not issubclass(cls, tuple):
        return None
    if is_namedtuple_class(cls):
        return OPEN_NAMEDTUPLE if has_attributes(cls) else NAMEDTUPLE
    return STRUCTSEQ if is_structseq_class(cls) else None


DICT: Final = _dict_rule(sort=True)
BUILTINS: Final[dict[type, Rule]] = {
    rule.cls: rule
    for rule in (
        NONE,
        TUPLE,
        LIST,
        DICT,
        _ORDEREDDICT,
        _defaultdict_rule(sort=True),
        _DEQUE,
        _PARTIAL,
    )
}
"""The built-in node types and their rules."""

INSERTION_ORDERED: Final[dict[type, Rule]] = {
    rule.cls: rule for rule in (_dict_rule(sort=False), _defaultdict_rule(sort=False))
}
"""The rules that stand in where a namespace has `dict_order="insertion"`."""

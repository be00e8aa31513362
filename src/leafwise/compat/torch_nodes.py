"""Which values are nodes in `torch.utils._pytree`, and how classes get registered.

Owns the namespace that the stand-in walks by, the keys of paths, and the tables of
registrations, which are views of that namespace: there is one place where a class is
registered. A class that is registered with leafwise for all namespaces is a node, too.

A leaf is whatever else there is, None included. Dicts are walked as inserted, and their
order is part of the structure.
"""

from __future__ import annotations

import dataclasses
import importlib
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from typing_extensions import deprecated

from ..core.builtins import (
    DEFAULTDICT_AS_GIVEN,
    DEQUE,
    DICT_AS_GIVEN,
    LIST,
    NAMEDTUPLE,
    ORDEREDDICT,
    TUPLE,
    NamedTupleRule,
    is_namedtuple_class,
    is_structseq_class,
)
from ..core.node import Rule
from ..core.registry import (
    GLOBAL,
    declare_namespace,
    install,
    layers,
    unregister_pytree_node,
    view_of,
)
from ..safely import described
from .common import does_no_more_than_hold


_KINDS: Final = (
    *("tuple", "list", "dict", "namedtuple"),
    *("ordereddict", "defaultdict", "deque"),
)
_WAYS: Final = ("flatten", "flatten_with_keys", "unflatten")

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    "BUILTIN_TYPES",
    "CONSTANT_NODES",
    "NO_SERIALIZED_TYPE_NAME_FOUND",
    "SERIALIZED_TYPE_TO_PYTHON_TYPE",
    "STANDARD_DICT_TYPES",
    "SUPPORTED_NODES",
    "SUPPORTED_SERIALIZED_TYPES",
    "NAMESPACE",
    "ConstantNode",
    "GetAttrKey",
    "MappingKey",
    "NodeDef",
    "SequenceKey",
    "_deregister_pytree_node",
    "_odict_flatten",
    "_odict_unflatten",
    "_private_register_pytree_node",
    "_register_namedtuple",
    "_register_pytree_node",
    "is_constant_class",
    "register_constant",
    "register_dataclass",
    "register_pytree_node",
    "rule_of",
    *(f"_{kind}_{way}" for kind in _KINDS for way in _WAYS),
]

NAMESPACE: Final = "leafwise.compat.torch_pytree"
NO_SERIALIZED_TYPE_NAME_FOUND: Final = "NO_SERIALIZED_TYPE_NAME_FOUND"

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
Flat = tuple[list[Any], Any]


# -------------------------------------------------------------------------- keys


@dataclasses.dataclass(frozen=True, slots=True)
class SequenceKey(Generic[T]):
    """The place of a child in a sequence.

    Args:
        idx: The position.

    Example:
        >>> from leafwise.compat.torch_pytree import SequenceKey
        >>> str(SequenceKey(1)), SequenceKey(1).get("abc")
        ('[1]', 'b')
    """

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Sequence[T]) -> T:
        """Read the child."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True, slots=True)
class MappingKey(Generic[K, T]):
    """The key of a child in a mapping.

    Args:
        key: The key.

    Example:
        >>> from leafwise.compat.torch_pytree import MappingKey
        >>> str(MappingKey("a")), MappingKey("a").get({"a": 1})
        ("['a']", 1)
    """

    key: K

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Mapping[K, T]) -> T:
        """Read the child."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True, slots=True)
class GetAttrKey:
    """The attribute that holds a child.

    Args:
        name: Its name.

    Example:
        >>> from leafwise.compat.torch_pytree import GetAttrKey
        >>> str(GetAttrKey("real")), GetAttrKey("real").get(1j)
        ('.real', 0.0)
    """

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """Read the child."""
        return getattr(obj, self.name)


# ----------------------------------------------- what the built-in nodes are made of


def _tuple_flatten(d: Any) -> Flat:
    return list(d), None


def _tuple_unflatten(values: Iterable[Any], context: Any) -> Any:
    return tuple(values)


def _list_flatten(d: Any) -> Flat:
    return d, None


def _list_unflatten(values: Iterable[Any], context: Any) -> Any:
    return list(values)


def _dict_flatten(d: Any) -> Flat:
    return list(d.values()), list(d)


def _dict_unflatten(values: Iterable[Any], context: Any) -> Any:
    return dict(zip(context, values, strict=True))


def _namedtuple_flatten(d: Any) -> Flat:
    return list(d), type(d)


def _namedtuple_unflatten(values: Iterable[Any], context: Any) -> Any:
    return context(*values)


def _ordereddict_flatten(d: Any) -> Flat:
    return _dict_flatten(d)


def _ordereddict_unflatten(values: Iterable[Any], context: Any) -> Any:
    return OrderedDict(zip(context, values, strict=True))


def _defaultdict_flatten(d: Any) -> Flat:
    return list(d.values()), [d.default_factory, list(d)]


def _defaultdict_unflatten(values: Iterable[Any], context: Any) -> Any:
    factory, keys = context
    return defaultdict(factory, zip(keys, values, strict=True))


def _deque_flatten(d: Any) -> Flat:
    return list(d), d.maxlen


def _deque_unflatten(values: Iterable[Any], context: Any) -> Any:
    return deque(values, maxlen=context)


def _keyed(
    flatten: Callable[[Any], Flat], keys: Callable[[Any], Iterable[Any]]
) -> Callable[[Any], Flat]:
    def flatten_with_keys(d: Any) -> Flat:
        values, context = flatten(d)
        return [*zip(keys(d), values, strict=True)], context

    return flatten_with_keys


def _places(d: Any) -> Iterator[Any]:
    return map(SequenceKey, range(len(d)))


def _entries(d: Any) -> Iterator[Any]:
    return map(MappingKey, d)


def _names(d: Any) -> Iterator[Any]:
    return map(GetAttrKey, type(d)._fields)


_odict_flatten = _ordereddict_flatten
_odict_unflatten = _ordereddict_unflatten
_tuple_flatten_with_keys = _keyed(_tuple_flatten, _places)
_list_flatten_with_keys = _keyed(_list_flatten, _places)
_dict_flatten_with_keys = _keyed(_dict_flatten, _entries)
_namedtuple_flatten_with_keys = _keyed(_namedtuple_flatten, _names)
_ordereddict_flatten_with_keys = _keyed(_ordereddict_flatten, _entries)
_defaultdict_flatten_with_keys = _keyed(_defaultdict_flatten, _entries)
_deque_flatten_with_keys = _keyed(_deque_flatten, _places)


def _namedtuple_serialize(context: Any) -> Any:
    known = SUPPORTED_SERIALIZED_TYPES.get(context)
    if known is None or known.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {described(context)}: it "
            "has no serialized_type_name; register it by _register_namedtuple"
        )
    return known.serialized_type_name


def _namedtuple_deserialize(dumpable_context: Any) -> Any:
    if dumpable_context not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(
            f"Can't deserialize TreeSpec of namedtuple class {dumpable_context!r}: no "
            "class has this serialized_type_name"
        )
    return SERIALIZED_TYPE_TO_PYTHON_TYPE[dumpable_context]


_FACTORY: Final = ("default_factory_module", "default_factory_name")


def _defaultdict_serialize(context: Any) -> Any:
    factory, keys = context
    where = factory.__module__, factory.__qualname__
    return {**dict(zip(_FACTORY, where, strict=True)), "dict_context": keys}


def _defaultdict_deserialize(dumpable_context: Any) -> Any:
    expected = {*_FACTORY, "dict_context"}
    if not isinstance(dumpable_context, dict) or {*dumpable_context} != expected:
        raise AssertionError(f"a defaultdict has {sorted(expected)} for its context")
    module, name = (dumpable_context[key] for key in _FACTORY)
    if not isinstance(module, str) or not isinstance(name, str):
        raise AssertionError("the name of a default factory is a string")
    factory = getattr(importlib.import_module(module), name)
    return [factory, dumpable_context["dict_context"]]


# ----------------------------------------------------------------------------- rules


class NodeDef(NamedTuple):
    """The functions that flatten and unflatten nodes of a class."""

    type: Any
    flatten_fn: Any
    unflatten_fn: Any
    flatten_with_keys_fn: Any


class SerializeNodeDef(NamedTuple):
    """The functions that serialize nodes of a class."""

    typ: Any
    serialized_type_name: str
    to_dumpable_context: Any = None
    from_dumpable_context: Any = None


class FunctionsNode(Rule):
    """A class that is registered with functions. The aux data is the context.

    Args:
        cls: The class.
        node_def: The functions.
        serial: How it is written.
        **given: Other attributes of the rule.
    """

    node_def: NodeDef
    serial: SerializeNodeDef

    def __init__(
        self, cls: type, node_def: NodeDef, serial: SerializeNodeDef, **given: Any
    ) -> None:
        object.__setattr__(self, "node_def", node_def)
        object.__setattr__(self, "serial", serial)
        super().__init__(cls, **given)

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        children, context = self.node_def.flatten_fn(node)
        return [*children], context

    def unflatten(self, aux: Any, children: Any) -> Any:
        return self.node_def.unflatten_fn(children, aux)


class _NamedTupleNode(NamedTupleRule):
    """Named tuples that are made by a call, since that may do something."""

    name = "called namedtuple"

    def unflatten(self, aux: Any, children: Any) -> Any:
        return aux(*children)


class _RegisteredNamedTuple(_NamedTupleNode):
    """Named tuples that were registered, which only changes how they are written."""

    node_def: NodeDef
    serial: SerializeNodeDef

    def __init__(
        self, cls: type, node_def: NodeDef, serial: SerializeNodeDef, **given: Any
    ) -> None:
        object.__setattr__(self, "node_def", node_def)
        object.__setattr__(self, "serial", serial)
        super().__init__(cls, **given)


_BUILT_IN: Final[dict[Any, Rule]] = {
    tuple: TUPLE,
    list: LIST,
    dict: DICT_AS_GIVEN,
    OrderedDict: ORDEREDDICT,
    defaultdict: DEFAULTDICT_AS_GIVEN,
    deque: DEQUE,
}
CALLED: Final = _NamedTupleNode(tuple)


def namedtuple_rule(cls: type) -> Rule:
    """Return the rule of a named tuple class that is not registered."""
    return NAMEDTUPLE if does_no_more_than_hold(cls) else CALLED


def _dispatch(cls: type) -> Rule | None:
    rule = _BUILT_IN.get(cls)
    if rule is not None:
        return rule
    if is_namedtuple_class(cls):
        return namedtuple_rule(cls)
    if is_structseq_class(cls):
        return None
    return view_of(GLOBAL, True).find(cls)


declare_namespace(NAMESPACE, dispatch=_dispatch)


def rule_of(node: Any) -> Rule | None:
    """Return the rule of a node, None for a leaf."""
    return view_of(NAMESPACE, True).resolve(type(node))


# ----------------------------------------------------------------------------- tables

_NODES: Final[dict[Any, NodeDef]] = {
    cls: NodeDef(cls, *functions)
    for cls, *functions in (
        (tuple, _tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys),
        (list, _list_flatten, _list_unflatten, _list_flatten_with_keys),
        (dict, _dict_flatten, _dict_unflatten, _dict_flatten_with_keys),
        (
            namedtuple,
            _namedtuple_flatten,
            _namedtuple_unflatten,
            _namedtuple_flatten_with_keys,
        ),
        (
            OrderedDict,
            _ordereddict_flatten,
            _ordereddict_unflatten,
            _ordereddict_flatten_with_keys,
        ),
        (
            defaultdict,
            _defaultdict_flatten,
            _defaultdict_unflatten,
            _defaultdict_flatten_with_keys,
        ),
        (deque, _deque_flatten, _deque_unflatten, _deque_flatten_with_keys),
    )
}
_SERIALS: Final[dict[Any, SerializeNodeDef]] = {
    cls: SerializeNodeDef(cls, f"{cls.__module__}.{cls.__name__}", *functions)
    for cls, *functions in (
        (tuple,),
        (list,),
        (dict,),
        (namedtuple, _namedtuple_serialize, _namedtuple_deserialize),
        (OrderedDict,),
        (defaultdict, _defaultdict_serialize, _defaultdict_deserialize),
        (deque,),
    )
}

STANDARD_DICT_TYPES: Final = frozenset({dict, OrderedDict, defaultdict})
BUILTIN_TYPES: Final[frozenset[Any]] = frozenset(_NODES)


def _registered() -> Mapping[type, Any]:
    return layers()[NAMESPACE].rules


class _Registered(Mapping[Any, Any]):
    """A table of what is registered, to be read only.

    Args:
        built_in: What it has for the built-in nodes.
        read: What it has for a rule.
    """

    def __init__(self, built_in: Mapping[Any, Any], read: Callable[[Any], Any]) -> None:
        self._built_in = built_in
        self._read = read

    def __getitem__(self, cls: Any) -> Any:
        if cls in self._built_in:
            return self._built_in[cls]
        return self._read(_registered()[cls])

    def __iter__(self) -> Iterator[Any]:
        yield from self._built_in
        yield from _registered()

    def __len__(self) -> int:
        return len(self._built_in) + len(_registered())

    def __repr__(self) -> str:
        return repr(dict(self))


class _ByName(Mapping[str, Any]):
    """The classes by the names that they are written with; the last one of a name."""

    def __getitem__(self, name: str) -> Any:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, Any]:
        known = SUPPORTED_SERIALIZED_TYPES.values()
        return {serial.serialized_type_name: serial.typ for serial in known}

    def __repr__(self) -> str:
        return repr(self._all())


SUPPORTED_NODES: Final = _Registered(_NODES, lambda rule: rule.node_def)
"""The classes that are registered, and their functions; to be read only."""

SUPPORTED_SERIALIZED_TYPES: Final = _Registered(_SERIALS, lambda rule: rule.serial)
"""The classes that are registered, and how they are written; to be read only."""

SERIALIZED_TYPE_TO_PYTHON_TYPE: Final = _ByName()
"""The classes by the names that they are written with; to be read only."""

CONSTANT_NODES: Final[set[Any]] = set()
"""The classes of `register_constant`."""


# ------------------------------------------------------------------------ registration


def register_pytree_node(
    cls: type[Any],
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_fn: Callable[[Any, Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], Any] | None = None,
) -> None:
    """Make instances of a class nodes for the functions of this module.

    Args:
        cls: The class.
        flatten_fn: Takes a node, returns `(children, context)`.
        unflatten_fn: Takes children and context, returns a node.
        serialized_type_name: The name by which `treespec_dumps` writes it.
        to_dumpable_context: Takes a context, returns what `json.dumps` takes.
        from_dumpable_context: Takes that, returns the context.
        flatten_with_keys_fn: Takes a node, returns `((key, child) pairs, context)`.

    Raises:
        ValueError: The class is registered already, or only one of the functions for
            contexts is given.

    Example:
        >>> import leafwise.compat.torch_pytree as pytree
        >>> class Pair:
        ...     def __init__(self, x, y): self.x, self.y = x, y
        >>> pytree.register_pytree_node(
        ...     Pair, lambda p: ([p.x, p.y], None), lambda kids, _: Pair(*kids))
        >>> pytree.tree_leaves([Pair(1, 2), 3])
        [1, 2, 3]
        >>> pytree._deregister_pytree_node(Pair)
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _install(
        NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn),
        serialized_type_name,
        to_dumpable_context,
        from_dumpable_context,
    )


def _install(
    node_def: NodeDef,
    name: str | None,
    to_dumpable: Any,
    from_dumpable: Any,
    exist_ok: bool = False,
) -> None:
    """Register a class.

    Raises:
        ValueError: It cannot be registered, or one function is missing.
    """
    cls = node_def.type
    if (to_dumpable is None) != (from_dumpable is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be "
            "given, or neither"
        )
    written = NO_SERIALIZED_TYPE_NAME_FOUND if name is None else name
    serial = SerializeNodeDef(cls, written, to_dumpable, from_dumpable)

    def make(of: type, **given: Any) -> Rule:
        form = _RegisteredNamedTuple if is_namedtuple_class(of) else FunctionsNode
        return form(of, node_def, serial, **{**given, "adapt": None})

    install(cls, make, NAMESPACE, exist_ok=exist_ok)


def _private_register_pytree_node(
    cls: type[Any],
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_fn: Callable[[Any, Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], Any] | None = None,
) -> None:
    if cls in SUPPORTED_NODES:
        warnings.warn(
            f"{cls} is already registered as pytree node. Overwriting the previous "
            "registration.",
            stacklevel=2,
        )
    _install(
        NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn),
        serialized_type_name,
        to_dumpable_context,
        from_dumpable_context,
        exist_ok=True,
    )


@deprecated(
    "`_register_pytree_node` is deprecated, use `register_pytree_node` instead.",
    category=FutureWarning,
)
def _register_pytree_node(
    cls: type[Any],
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_fn: Callable[[Any, Any], Any],
    to_str_fn: Any = None,
    maybe_from_str_fn: Any = None,
    **options: Any,
) -> None:
    if to_str_fn is not None or maybe_from_str_fn is not None:
        warnings.warn(
            "`to_str_fn` and `maybe_from_str_fn` are deprecated and ignored, use "
            "`to_dumpable_context` and `from_dumpable_context` instead.",
            FutureWarning,
            stacklevel=2,
        )
    _private_register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _register_namedtuple(cls: type[Any], *, serialized_type_name: str) -> None:
    _private_register_pytree_node(
        cls,
        _namedtuple_flatten,
        _namedtuple_unflatten,
        serialized_type_name=serialized_type_name,
        to_dumpable_context=_namedtuple_serialize,
        from_dumpable_context=_namedtuple_deserialize,
        flatten_with_keys_fn=_namedtuple_flatten_with_keys,
    )


def _deregister_pytree_node(cls: type[Any]) -> None:
    if cls not in _registered():
        raise KeyError(cls)
    unregister_pytree_node(cls, namespace=NAMESPACE)
    CONSTANT_NODES.discard(cls)


def register_dataclass(
    cls: type[Any],
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Make instances of a dataclass nodes with their fields as children.

    As in torch, a field that is None is no child but part of the context, and a node
    is made by a call of the class with the fields.

    Args:
        cls: The class.
        field_names: The fields; for a class that is no dataclass they have to be given.
        drop_field_names: Fields that are left out, and have their defaults again.
        serialized_type_name: The name by which `treespec_dumps` writes it.

    Raises:
        ValueError: The names are not those of the fields.

    Example:
        >>> import dataclasses
        >>> import leafwise.compat.torch_pytree as pytree
        >>> @dataclasses.dataclass
        ... class Size:
        ...     width: int
        ...     height: int
        >>> pytree.register_dataclass(Size)
        >>> pytree.tree_map(lambda x: 2 * x, Size(1, 2))
        Size(width=2, height=4)
        >>> pytree._deregister_pytree_node(Size)
    """
    names = _field_names(cls, field_names, drop_field_names or [])

    def flatten(node: Any) -> Flat:
        values = {name: getattr(node, name) for name in names}
        given = [name for name, value in values.items() if value is not None]
        absent = [name for name, value in values.items() if value is None]
        return [values[name] for name in given], [given, absent]

    def unflatten(values: Iterable[Any], context: Any) -> Any:
        given, absent = context
        return cls(**dict(zip(given, values, strict=True)), **dict.fromkeys(absent))

    def flatten_with_keys(node: Any) -> Flat:
        values, (given, _) = flatten(node)
        return [*zip(map(GetAttrKey, given), values, strict=True)], given

    _private_register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=flatten_with_keys,
    )


def _field_names(
    cls: type[Any], names: list[str] | None, dropped: list[str]
) -> list[str]:
    """Return the names of the fields that are children.

    Raises:
        ValueError: Some are missing, or are no fields.
    """
    if not dataclasses.is_dataclass(cls):
        if names is None:
            raise ValueError(
                f"field_names must be given for {cls}, which is not a dataclass: the "
                "names of all fields that it is made of"
            )
        return names
    fields = [field.name for field in dataclasses.fields(cls) if field.init]
    if names is None:
        return fields
    missing = {*fields} - {*dropped} - {*names}
    unexpected = {*names} - ({*fields} - {*dropped})
    if missing or unexpected:
        raise ValueError(
            f"field_names does not include all dataclass fields of {cls}"
            + (f"; missing: {sorted(missing)}" if missing else "")
            + (f"; unexpected: {sorted(unexpected)}" if unexpected else "")
        )
    return names


@dataclasses.dataclass(frozen=True, slots=True)
class ConstantNode(Generic[T]):
    """The context of a node that was registered as a constant.

    Args:
        value: The node.
    """

    value: T


def register_constant(cls: type[Any]) -> None:
    """Make instances of a class nodes without children.

    Args:
        cls: A class that defines `__eq__` and `__hash__`.

    Raises:
        TypeError: It does not.

    Example:
        >>> import leafwise.compat.torch_pytree as pytree
        >>> pytree.register_constant(complex)
        >>> pytree.tree_leaves([1, 2j]), pytree.tree_map(str, [1, 2j])
        ([1], ['1', 2j])
        >>> pytree._deregister_pytree_node(complex)
    """
    if cls.__eq__ is object.__eq__:  # type: ignore[comparison-overlap]  # it may be
        raise TypeError(f"a constant needs an `__eq__` of its own, {cls} has none")
    if cls.__hash__ is None:
        raise TypeError(f"a constant needs a `__hash__` of its own, {cls} has none")

    def flatten(node: Any) -> Flat:
        return [], ConstantNode(node)

    def unflatten(_values: Any, context: Any) -> Any:
        return context.value

    _private_register_pytree_node(cls, flatten, unflatten, flatten_with_keys_fn=flatten)
    CONSTANT_NODES.add(cls)


def is_constant_class(cls: type[Any]) -> bool:
    """Return whether a class was registered by `register_constant`.

    Example:
        >>> import leafwise.compat.torch_pytree as pytree
        >>> pytree.is_constant_class(complex)
        False
    """
    return isinstance(cls, type) and cls in CONSTANT_NODES

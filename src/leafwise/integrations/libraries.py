"""Containers of other libraries as nodes, each kept as its own type.

Owns `support`, for whole families, and the functions that register one class. Nothing
here imports a library: a class is looked at when it is first seen, and then its library
is loaded.
"""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import (
    Callable,
    Iterable,
    Mapping,
    MutableMapping,
    MutableSequence,
    Sequence,
)
from typing import Any, Final, TypeVar

from ..core.keys import GetAttrKey
from ..core.node import Rule
from ..core.register import DataclassRule, FunctionRule, ItemsRule
from ..core.registry import GLOBAL, add_adopter, check_class, install
from ..errors import RegistryError
from ..safely import add_note, class_name, clip


__all__ = [
    "register_attrs",
    "register_mapping",
    "register_model",
    "register_sequence",
    "support",
]

C = TypeVar("C", bound=type)
Build = Callable[[Any], Any]


def support(*names: str, namespace: str = GLOBAL) -> None:
    """Let functions descend into the containers of other libraries.

    - `"omegaconf"`: `DictConfig` and `ListConfig`, with interpolations and missing
      values as they are written, flags, and the type of a structured config.
    - `"ml_collections"`: `ConfigDict` and `FrozenConfigDict`; references are read.
    - `"pydantic"`: every `BaseModel`; a rebuilt one is not validated.
    - `"attrs"`: every class of attrs; a field with `metadata={"static": True}` is aux
      data. Neither `__init__` nor validators run.
    - `"mappings"` and `"sequences"`: any other subclass of `Mapping`, or of `Sequence`
      except text and numbers, that has no rule of its own. A class whose constructor
      does not take the items needs `register_mapping` or `register_sequence`.

    What is registered goes first. It works whether the library is loaded or not.

    Args:
        *names: Some of these words.
        namespace: Where they become nodes; `""` is everywhere.

    Raises:
        ValueError: A name is none of these; nothing is changed then.
        NamespaceError: The namespace is not declared.

    Example:
        >>> import leafwise as lw
        >>> from collections import UserDict
        >>> app = lw.namespace("app-containers")
        >>> lw.integrations.support("mappings", namespace="app-containers")
        >>> app.tree_map(lambda x: 2 * x, UserDict(a=1, b=[2]))
        {'a': 2, 'b': [4]}
        >>> type(_).__name__
        'UserDict'
    """
    for name in names:
        if name not in _FAMILIES:
            known = ", ".join(map(repr, _FAMILIES))
            raise ValueError(f"no support for {name!r}; there is for: {known}")
    for name in names:
        add_adopter(_FAMILIES[name], namespace=namespace)


# ------------------------------------------------------------------ classes one by one


def register_mapping(
    cls: C,
    build: Build | None = None,
    *,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
) -> C:
    """Make instances of a mapping class nodes with their values as children.

    Args:
        cls: The class.
        build: Takes a dict and returns an instance. Without it an instance that can
            change is copied and filled, any other class is called with the dict.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether subclasses follow.
        exist_ok: Whether to replace an earlier registration.

    Raises:
        RegistryError: It is not a mapping class, or as `register_pytree_node`.

    Example:
        >>> import leafwise as lw
        >>> from types import MappingProxyType
        >>> _ = lw.integrations.register_mapping(MappingProxyType)
        >>> lw.tree_map(abs, MappingProxyType({"a": -1}))
        mappingproxy({'a': 1})
        >>> lw.unregister_pytree_node(MappingProxyType)
    """
    check_class(cls)
    if not issubclass(cls, Mapping):
        raise RegistryError(f"{cls.__qualname__} is not a subclass of Mapping")
    rule_of = functools.partial(_MappingRule, build=build)
    return _install(rule_of, cls, namespace, inherit, exist_ok)


def register_sequence(
    cls: C,
    build: Build | None = None,
    *,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
) -> C:
    """Make instances of a sequence class nodes with their items as children.

    Args:
        cls: The class.
        build: Takes a list and returns an instance. Without it an instance that can
            change is copied and filled, any other class is called with the list.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether subclasses follow.
        exist_ok: Whether to replace an earlier registration.

    Raises:
        RegistryError: It is not a sequence class, or as `register_pytree_node`.

    Example:
        >>> import leafwise as lw
        >>> class Row(list):
        ...     pass
        >>> _ = lw.integrations.register_sequence(Row)
        >>> lw.tree_leaves(Row([1, Row([2])]))
        [1, 2]
    """
    check_class(cls)
    if not issubclass(cls, Sequence):
        raise RegistryError(f"{cls.__qualname__} is not a subclass of Sequence")
    rule_of = functools.partial(_SequenceRule, build=build)
    return _install(rule_of, cls, namespace, inherit, exist_ok)


def register_attrs(
    cls: C, *, namespace: str = GLOBAL, inherit: bool = False, exist_ok: bool = False
) -> C:
    """Make instances of a class of attrs nodes with their fields as children.

    A field with `metadata={"static": True}` is aux data. Rebuilding sets the attributes
    of an empty instance: neither `__init__` nor validators run.

    Args:
        cls: The class.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether subclasses follow.
        exist_ok: Whether to replace an earlier registration.

    Raises:
        RegistryError: It is not an attrs class, or as `register_pytree_node`.

    Example:
        >>> import leafwise as lw
        >>> try:
        ...     lw.integrations.register_attrs(int)
        ... except lw.RegistryError as error:
        ...     print(error)
        int is not an attrs class
    """
    check_class(cls)
    if _attrs_rule(cls) is None:
        raise RegistryError(f"{cls.__qualname__} is not an attrs class")
    return _install(_attrs_rule, cls, namespace, inherit, exist_ok)


def register_model(
    cls: C, *, namespace: str = GLOBAL, inherit: bool = False, exist_ok: bool = False
) -> C:
    """Make instances of a pydantic model nodes with their fields as children.

    Extra values are children, too; private attributes and the set of given fields are
    kept. A rebuilt model is not validated, so that anything may stand in it.

    Args:
        cls: The class.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether subclasses follow.
        exist_ok: Whether to replace an earlier registration.

    Raises:
        RegistryError: It is not a model of pydantic 2, or as `register_pytree_node`.

    Example:
        >>> import leafwise as lw
        >>> try:
        ...     lw.integrations.register_model(int)
        ... except lw.RegistryError as error:
        ...     print(error)
        int is not a pydantic model
    """
    check_class(cls)
    if not hasattr(cls, "model_fields") or not hasattr(cls, "__pydantic_validator__"):
        raise RegistryError(f"{cls.__qualname__} is not a pydantic model")
    return _install(_model_rule, cls, namespace, inherit, exist_ok)


def _install(
    rule_of: Callable[..., Any],
    cls: C,
    namespace: str,
    inherit: bool,
    exist_ok: bool,
) -> C:
    def make(where: str, of: type = cls) -> Rule:
        rule: Rule = rule_of(
            of,
            namespace=namespace,
            where=where,
            adapt=lambda sub: make(where, sub),
        )
        return rule

    install(cls, make, namespace=namespace, inherit=inherit, exist_ok=exist_ok)
    return cls


# --------------------------------------------------------- any mapping, any sequence


class _MappingRule(ItemsRule):
    """Mappings of any class.

    The rest is an empty copy of the node; None where the class or `build` is called.
    """

    is_mapping = True
    build: Build | None

    def __init__(self, cls: type, build: Build | None = None, **given: Any) -> None:
        object.__setattr__(self, "build", build)
        super().__init__(cls, **given)

    def items(self, node: Any) -> Any:
        return {key: node[key] for key in [*node]}

    def rest(self, node: Any) -> Any:
        return _emptied(node, self.build)

    def from_items(self, rest: Any, items: Any) -> Any:
        if rest is None:
            return _called(self.build or self.cls, items, self.cls)
        made = copy.copy(rest)
        for key, value in items.items():
            made[key] = value
        return made


class _SequenceRule(ItemsRule):
    """Sequences of any class; the rest is as that of a mapping."""

    is_sequence = True
    build: Build | None

    def __init__(self, cls: type, build: Build | None = None, **given: Any) -> None:
        object.__setattr__(self, "build", build)
        super().__init__(cls, **given)

    def items(self, node: Any) -> Any:
        return [*node]

    def rest(self, node: Any) -> Any:
        return _emptied(node, self.build)

    def from_items(self, rest: Any, items: Any) -> Any:
        if rest is None:
            return _called(self.build or self.cls, items, self.cls)
        made = copy.copy(rest)
        made.extend(items)
        return made


def _emptied(node: Any, build: Build | None) -> Any:
    """Return a copy of a node without its items; None if it cannot change."""
    if build is not None or not isinstance(node, MutableMapping | MutableSequence):
        return None
    empty = copy.copy(node)
    empty.clear()
    return empty


def _called(build: Build, items: Any, cls: type) -> Any:
    try:
        return build(items)
    except Exception as error:
        kind = "mapping" if isinstance(items, dict) else "sequence"
        add_note(
            error,
            f"{class_name(cls)} was rebuilt from {clip(items)}; register_{kind}(cls, "
            "build=...) can say how else to",
        )
        raise


_NO_TREES: Final = (str, bytes, bytearray, memoryview, range)


def _mapping_rule(cls: type) -> Rule | None:
    return _MappingRule(cls) if issubclass(cls, Mapping) else None


def _sequence_rule(cls: type) -> Rule | None:
    if not issubclass(cls, Sequence) or issubclass(cls, _NO_TREES):
        return None
    if cls.__module__ == "array":  # its items are numbers of one type
        return None
    return _SequenceRule(cls)


# ------------------------------------------------------------------ attrs and pydantic


def _attrs_rule(cls: Any, **given: Any) -> Rule | None:
    fields = getattr(cls, "__attrs_attrs__", None)
    if fields is None:
        return None
    static = [f.name for f in fields if f.metadata.get("static", False)]
    data = [f.name for f in fields if f.name not in static]
    return DataclassRule(cls, tuple(data), tuple(static), **given)


def _pydantic_rule(cls: type) -> Rule | None:
    pydantic = sys.modules.get("pydantic")
    base = getattr(pydantic, "BaseModel", None)
    return _model_rule(cls) if base is not None and issubclass(cls, base) else None


def _model_rule(cls: Any, **given: Any) -> Rule:
    """Return the rule of a pydantic model, which works by its `__getstate__`."""

    def flatten(node: Any) -> tuple[Any, Any, Any]:
        state = node.__getstate__()
        table = {**state["__dict__"], **(state["__pydantic_extra__"] or {})}
        return tuple(table.values()), _Model(state, table), map(GetAttrKey, table)

    def unflatten(aux: _Model, children: Any) -> Any:
        node = cls.__new__(cls)
        node.__setstate__(aux.state_with(children))
        return node

    return FunctionRule(cls, flatten, unflatten, **given)


class _Model:
    """What a model is beside its values; equal for equal names and private values."""

    __slots__ = ("extra", "given", "names", "private")

    def __init__(self, state: Mapping[str, Any], names: Iterable[str]) -> None:
        self.names = tuple(names)
        extra = state["__pydantic_extra__"]
        self.extra = None if extra is None else tuple(extra)
        self.given = frozenset(state["__pydantic_fields_set__"])
        self.private = state["__pydantic_private__"]

    def state_with(self, values: Iterable[Any]) -> dict[str, Any]:
        """Return the state of a model with these values."""
        table = dict(zip(self.names, values, strict=True))
        extra = None
        if self.extra is not None:
            extra = {name: table.pop(name) for name in self.extra}
        return {
            "__dict__": table,
            "__pydantic_extra__": extra,
            "__pydantic_fields_set__": {*self.given},
            "__pydantic_private__": copy.copy(self.private),
        }

    def __eq__(self, other: object) -> bool:
        if type(other) is not _Model:
            return NotImplemented
        return (self.names, self.private) == (other.names, other.private)

    def __hash__(self) -> int:
        return hash(self.names)

    def __repr__(self) -> str:
        return ", ".join(self.names)


# --------------------------------------------------------------- libraries of configs


def _omegaconf_rule(cls: type) -> Rule | None:
    omegaconf = sys.modules.get("omegaconf")
    if omegaconf is None or cls.__module__.partition(".")[0] != "omegaconf":
        return None
    if issubclass(cls, omegaconf.DictConfig):
        return _ConfigRule(cls, is_mapping=True)
    if issubclass(cls, omegaconf.ListConfig):
        return _ConfigRule(cls, is_sequence=True)
    return None


class _Config:
    """What a config of OmegaConf is beside its items.

    Attributes:
        cls: Its class.
        whole: Its content, if that is not a table or list: None, missing, interpolated.
        metadata: Its own metadata: types and flags.
    """

    __slots__ = ("cls", "metadata", "whole")

    def __init__(self, node: Any) -> None:
        self.cls = type(node)
        content = node._content
        self.whole = content if isinstance(content, str | None) else ()
        self.metadata = node._metadata


class _ConfigRule(ItemsRule):
    """Configs of OmegaConf; one that is not a table or list has no items."""

    def items(self, node: Any) -> Any:
        content = node._content
        if self.is_mapping:
            table = content if isinstance(content, dict) else {}
            return {key: _raw(item) for key, item in table.items()}
        return [*map(_raw, content if isinstance(content, list) else ())]

    def rest(self, node: Any) -> Any:
        return _Config(node)

    def from_items(self, rest: Any, items: Any) -> Any:
        metadata = rest.metadata
        content: Any = items if rest.whole == () else rest.whole
        flags = dict(metadata.flags or {})
        made = rest.cls(content, flags={"allow_objects": True})
        made._metadata.object_type = metadata.object_type
        made._metadata.optional = metadata.optional
        made._metadata.flags = {**flags, "allow_objects": True}
        return made


def _raw(node: Any) -> Any:
    """Return an item as it is written; a config inside as it is."""
    content = getattr(node, "_content", ())
    return node if isinstance(content, dict | list) else node._value()


def _ml_collections_rule(cls: type) -> Rule | None:
    module = sys.modules.get("ml_collections")
    if module is None or not issubclass(cls, module.ConfigDict):
        return None
    return _ConfigDictRule(cls)


class _ConfigDictRule(ItemsRule):
    """Configs of ml_collections; the rest is whether they are type-safe and locked."""

    is_mapping = True

    def items(self, node: Any) -> Any:
        return {key: node[key] for key in node.keys()}  # noqa: SIM118  # not a dict

    def rest(self, node: Any) -> Any:
        return node.is_type_safe, node.is_locked

    def from_items(self, rest: Any, items: Any) -> Any:
        is_type_safe, is_locked = rest
        made: Any = self.cls(items, type_safe=is_type_safe)
        if is_locked:
            made.lock()
        return made


_FAMILIES: Final[dict[str, Callable[[type], Rule | None]]] = {
    "omegaconf": _omegaconf_rule,
    "ml_collections": _ml_collections_rule,
    "pydantic": _pydantic_rule,
    "attrs": _attrs_rule,
    "mappings": _mapping_rule,
    "sequences": _sequence_rule,
}

"""Classes of other libraries become nodes here, each as its own type.

`support` is for all classes of a library, the `register_` functions are for one class.
No library is imported: a class is looked at when it is first seen, and then its library
is loaded.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar
from weakref import WeakSet

from .._hooks import hooks
from .._lazy import real
from ..core.keys import DictKey, SequenceKey
from ..core.node import NodeType
from ..core.registry import (
    GLOBAL,
    Dispatch,
    add_adopter,
    check_class,
    install,
    remembering,
)
from ..errors import RegistryError
from .bridge import after_import
from .containers import (
    Build,
    LibraryContainer,
    mapping_node_type,
    ml_collections_node_type,
    omegaconf_node_type,
    sequence_node_type,
)
from .models import (
    attrs_node_type,
    is_attrs_class,
    is_model,
    is_struct,
    model_node_type,
    struct_node_type,
)


__all__ = [
    "register_attrs",
    "register_mapping",
    "register_model",
    "register_sequence",
    "register_struct",
    "support",
]

C = TypeVar("C", bound=type)


def support(*names: str, namespace: str = GLOBAL, bridge: bool = True) -> None:
    """Treat the classes of other libraries as nodes.

    - `"omegaconf"`: `DictConfig` and `ListConfig`. Interpolations and missing values
      are kept as written, and so are flags and the type of a structured config.
    - `"ml_collections"`: `ConfigDict` and `FrozenConfigDict`; references are resolved.
    - `"pydantic"`: every `BaseModel`. A rebuilt model is not validated. An edited model
      is validated if it has `validate_assignment`.
    - `"attrs"`: every class made by attrs; a field with `metadata={"static": True}` is
      aux data. `__init__` does not run, but converters and validators run after edits.
    - `"msgspec"`: every `Struct`; see `register_struct`.
    - `"mappings"` and `"sequences"`: any other subclass of `Mapping`, or of `Sequence`
      except text and numbers, that has no node type of its own. A class whose
      constructor does not accept the items needs `register_mapping` or
      `register_sequence`.

    Registered classes take precedence. The library may be imported before or after the
    call.

    jax, optree and torch learn of the classes that exist by now; of a class that is
    defined later when leafwise first sees an instance, or at the next call of
    `support`. A class that a framework is to know at once has to be registered, by
    `register_attrs` for instance. They never learn of `"mappings"` and `"sequences"`:
    register these classes one by one.

    Args:
        *names: One or more of these names.
        namespace: The namespace in which they become nodes; `""` is every namespace.
        bridge: Whether to register the classes in jax, optree and torch as well. Pass
            False if one of them is registered there by its own module, which would
            fail then. Classes in a namespace are not registered.

    Raises:
        ValueError: A name is not one of these; nothing is changed.
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
            supported = ", ".join(map(repr, _FAMILIES))
            raise ValueError(f"no support for {name!r}; supported: {supported}")
    for name in names:
        family = _FAMILIES[name]
        if family.module and bridge and namespace == GLOBAL:
            # in this order: a framework looks the classes up when they are announced
            add_adopter(family.announce_node_type_of, namespace=namespace)
            _announce_classes(family)
        else:
            add_adopter(family.node_type_of, namespace=namespace)


# ------------------------------------------------------------------ classes one by one


def register_mapping(
    cls: C,
    build: Build | None = None,
    *,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
    bridge: bool = True,
) -> C:
    """Register a mapping class so that its instances are nodes with values as children.

    Args:
        cls: The class.
        build: Takes a dict and returns an instance. Without it, a mutable instance is
            copied and refilled; any other class is called with the dict.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether instances of subclasses are nodes, too.
        exist_ok: Whether to replace an earlier registration.
        bridge: Whether to register the class in jax, optree and torch as well, once
            they are imported.

    Raises:
        RegistryError: The class is not a mapping class, or any error of
            `register_pytree_node`.

    Example:
        >>> import leafwise as lw
        >>> from types import MappingProxyType
        >>> _ = lw.integrations.register_mapping(MappingProxyType)
        >>> lw.tree_map(abs, MappingProxyType({"a": -1}))
        mappingproxy({'a': 1})
        >>> lw.unregister_pytree_node(MappingProxyType)
    """
    _check_kind(cls, lambda cls: issubclass(cls, Mapping), "a subclass of Mapping")
    node_type_of = functools.partial(LibraryContainer, build=build, item_key=DictKey)
    return install(cls, node_type_of, namespace, inherit, exist_ok, bridge)


def register_sequence(
    cls: C,
    build: Build | None = None,
    *,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
    bridge: bool = True,
) -> C:
    """Register a sequence class so that its instances are nodes with items as children.

    Args:
        cls: The class.
        build: Takes a list and returns an instance. Without it, a mutable instance is
            copied and refilled; any other class is called with the list.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether instances of subclasses are nodes, too.
        exist_ok: Whether to replace an earlier registration.
        bridge: Whether to register the class in jax, optree and torch as well, once
            they are imported.

    Raises:
        RegistryError: The class is not a sequence class, or any error of
            `register_pytree_node`.

    Example:
        >>> import leafwise as lw
        >>> class Row(list):
        ...     pass
        >>> _ = lw.integrations.register_sequence(Row)
        >>> lw.tree_leaves(Row([1, Row([2])]))
        [1, 2]
    """
    _check_kind(cls, lambda cls: issubclass(cls, Sequence), "a subclass of Sequence")
    node_type_of = functools.partial(
        LibraryContainer, build=build, item_key=SequenceKey
    )
    return install(cls, node_type_of, namespace, inherit, exist_ok, bridge)


def register_attrs(
    cls: C,
    *,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
    bridge: bool = True,
) -> C:
    """Register an attrs class so that its instances are nodes with fields as children.

    A field with `metadata={"static": True}` is aux data. Unflattening sets the
    attributes of an empty instance: neither `__init__` nor validators run. Edits run
    converters and validators; see :ref:`objects that validate <validated>`.

    Args:
        cls: The class.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether instances of subclasses are nodes, too.
        exist_ok: Whether to replace an earlier registration.
        bridge: Whether to register the class in jax, optree and torch as well, once
            they are imported.

    Raises:
        RegistryError: The class is not an attrs class, or any error of
            `register_pytree_node`.

    Example:
        >>> import leafwise as lw
        >>> try:
        ...     lw.integrations.register_attrs(int)
        ... except lw.errors.RegistryError as error:
        ...     print(error)
        int is not an attrs class
    """
    _check_kind(cls, is_attrs_class, "an attrs class")
    return install(cls, attrs_node_type, namespace, inherit, exist_ok, bridge)


def register_model(
    cls: C,
    *,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
    bridge: bool = True,
) -> C:
    """Register a pydantic model so that instances are nodes with fields as children.

    A field is static if its annotation says so: `Annotated[str, lw.static()]`. Extra
    values are children, too. Private attributes and the set of explicitly given
    fields are kept. A rebuilt model is not validated, so it can hold anything. An
    edited model is validated if it has `validate_assignment`; see
    :ref:`objects that validate <validated>`.

    Args:
        cls: The class.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether instances of subclasses are nodes, too.
        exist_ok: Whether to replace an earlier registration.
        bridge: Whether to register the class in jax, optree and torch as well, once
            they are imported.

    Raises:
        RegistryError: The class is not a model of pydantic 2, or any error of
            `register_pytree_node`.

    Example:
        >>> import leafwise as lw
        >>> try:
        ...     lw.integrations.register_model(int)
        ... except lw.errors.RegistryError as error:
        ...     print(error)
        int is not a pydantic model
    """
    _check_kind(cls, is_model, "a pydantic model")
    return install(cls, model_node_type, namespace, inherit, exist_ok, bridge)


def register_struct(
    cls: C,
    *,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
    bridge: bool = True,
) -> C:
    """Register a `msgspec.Struct` so that instances are nodes with fields as children.

    A field is static if its annotation says so: `Annotated[str, lw.static()]`, or
    `Annotated[str, msgspec.Meta(extra={"static": True})]`. Unflattening sets the fields
    of a new instance: `__post_init__` does not run.

    Args:
        cls: The class.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether instances of subclasses are nodes, too.
        exist_ok: Whether to replace an earlier registration.
        bridge: Whether to register the class in jax, optree and torch as well, once
            they are imported.

    Raises:
        RegistryError: The class is not a struct, or any error of
            `register_pytree_node`.

    Example:
        >>> import leafwise as lw
        >>> try:
        ...     lw.integrations.register_struct(int)
        ... except lw.errors.RegistryError as error:
        ...     print(error)
        int is not a msgspec.Struct
    """
    _check_kind(cls, is_struct, "a msgspec.Struct")
    return install(cls, struct_node_type, namespace, inherit, exist_ok, bridge)


def _check_kind(cls: type, is_kind: Callable[[type], bool], kind: str) -> None:
    """Raise an error for what is not a class, or not one of a kind.

    Raises:
        RegistryError: It is not.
    """
    check_class(cls)
    if not is_kind(cls):
        raise RegistryError(f"{cls.__qualname__} is not {kind}")


# ------------------------------------------------------------- families of classes


class _Family(NamedTuple):
    """The classes of a library.

    Attributes:
        node_type_of: Returns the node type of a class, None if of another library.
        announce_node_type_of: The same, and announces the class when it is first seen.
        module: The module that makes or has the classes; "" if they are of any module,
            so that other frameworks do not learn of them.
        classes: Returns those that exist; called once the module is loaded.
    """

    node_type_of: Dispatch
    announce_node_type_of: Dispatch
    module: str
    classes: Callable[[], Iterable[type]]


def _family(
    find: Dispatch,
    module: str = "",
    classes: Callable[[], Iterable[type]] = tuple,
) -> _Family:
    node_type_of = remembering(find)

    def announce_node_type_of(cls: type) -> NodeType | None:
        node_type = node_type_of(cls)
        if node_type is not None:
            _announce_once(cls)
        return node_type

    return _Family(node_type_of, announce_node_type_of, module, classes)


_announced: Final[WeakSet[type]] = WeakSet()


def _announce_once(cls: type) -> None:
    if cls not in _announced:
        _announced.add(cls)  # before: frameworks ask for the node type, and so for this
        hooks.announce(cls)


def _announce_classes(family: _Family) -> None:
    """Announce the classes of a family that exist, once their module is loaded.

    A library tells nobody of the classes that are defined later, or only by functions
    that would have to be replaced. So those are announced when an instance is seen.
    """
    if real(family.module) is None:
        after_import(family.module, functools.partial(_announce_classes, family))
        return
    for cls in family.classes():
        _announce_once(cls)


def _subclasses(cls: type, library: str = "") -> Iterator[type]:
    """Yield all subclasses of a class, each once, but for those of a library itself."""
    pending: list[type] = [cls]
    visited = {cls}
    while pending:
        subclasses: list[type] = type.__subclasses__(pending.pop())
        for subclass in subclasses:
            if subclass not in visited:
                visited.add(subclass)
                pending.append(subclass)
                package, _, _ = str(subclass.__module__).partition(".")
                if package != library:
                    yield subclass


def _attrs_classes() -> Iterator[type]:
    return filter(is_attrs_class, _subclasses(object, "attr"))


def _models() -> Iterator[type]:
    return _subclasses(sys.modules["pydantic"].BaseModel, "pydantic")


def _structs() -> Iterator[type]:
    return _subclasses(sys.modules["msgspec"].Struct, "msgspec")


def _omegaconf_classes() -> list[type]:
    omegaconf = sys.modules["omegaconf"]
    return [omegaconf.DictConfig, omegaconf.ListConfig]


def _config_dicts() -> list[type]:
    base = sys.modules["ml_collections"].ConfigDict
    return [base, *_subclasses(base)]


_FAMILIES: Final[dict[str, _Family]] = {
    "omegaconf": _family(omegaconf_node_type, "omegaconf", _omegaconf_classes),
    "ml_collections": _family(
        ml_collections_node_type, "ml_collections", _config_dicts
    ),
    "pydantic": _family(model_node_type, "pydantic", _models),
    "attrs": _family(attrs_node_type, "attr", _attrs_classes),
    "msgspec": _family(struct_node_type, "msgspec", _structs),
    "mappings": _family(mapping_node_type),
    "sequences": _family(sequence_node_type),
}

"""Classes of other libraries become nodes here, each as its own type.

`support` is for all classes of a library, the `register_` functions are for one class.
No library is imported: a class is looked at when it is first seen, and then its library
is loaded.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar
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
    ContainerNodeType,
    mapping_node_type,
    ml_collections_node_type,
    omegaconf_node_type,
    sequence_node_type,
)
from .models import (
    attrs_node_type,
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

    jax, optree and torch learn of the classes that exist, and of each model and class
    of attrs when it is defined later; of other classes when leafwise first sees an
    instance. They never learn of `"mappings"` and `"sequences"`: register these classes
    one by one.

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
    check_class(cls)
    if not issubclass(cls, Mapping):
        raise RegistryError(f"{cls.__qualname__} is not a subclass of Mapping")
    node_type_of = functools.partial(ContainerNodeType, build=build, item_key=DictKey)
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
    check_class(cls)
    if not issubclass(cls, Sequence):
        raise RegistryError(f"{cls.__qualname__} is not a subclass of Sequence")
    node_type_of = functools.partial(
        ContainerNodeType, build=build, item_key=SequenceKey
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
    check_class(cls)
    if attrs_node_type(cls) is None:
        raise RegistryError(f"{cls.__qualname__} is not an attrs class")
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
    check_class(cls)
    if not is_model(cls):
        raise RegistryError(f"{cls.__qualname__} is not a pydantic model")
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
    check_class(cls)
    if not is_struct(cls):
        raise RegistryError(f"{cls.__qualname__} is not a msgspec.Struct")
    return install(cls, struct_node_type, namespace, inherit, exist_ok, bridge)


# ------------------------------------------------------------- families of classes


class _Family(NamedTuple):
    """The classes of a library.

    Attributes:
        node_type_of: Returns the node type of a class, None if of another library.
        announce_node_type_of: The same, and announces the class when it is first seen.
        module: The module that makes or has the classes; "" if they are of any module,
            so that other frameworks do not learn of them.
        classes: Returns those that exist; called once the module is loaded.
        watch: Takes a function that is to be called with each class made from now on.
            Does nothing where the library has no place for it.
    """

    node_type_of: Dispatch
    announce_node_type_of: Dispatch
    module: str
    classes: Callable[[], Iterable[type]]
    watch: Callable[[Callable[[type], None]], None]


def _family(
    find: Dispatch,
    module: str = "",
    classes: Callable[[], Iterable[type]] = tuple,
    watch: Callable[[Callable[[type], None]], None] = lambda _announce: None,
) -> _Family:
    node_type_of = remembering(find)
    announced: WeakSet[type] = WeakSet()

    def announce_node_type_of(cls: type) -> NodeType | None:
        node_type = node_type_of(cls)
        if node_type is not None and cls not in announced:
            announced.add(cls)  # before: frameworks ask for the node type again
            hooks.announce(cls)
        return node_type

    return _Family(node_type_of, announce_node_type_of, module, classes, watch)


_announced_families: Final[set[str]] = set()


def _announce_classes(family: _Family) -> None:
    """Announce the classes of a family, and those that are made from now on."""
    if family.module in _announced_families:
        return
    if real(family.module) is None:
        after_import(family.module, functools.partial(_announce_classes, family))
        return
    _announced_families.add(family.module)
    family.watch(hooks.announce)
    for cls in family.classes():
        hooks.announce(cls)


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


def _pydantic_node_type(cls: type) -> NodeType | None:
    base = getattr(sys.modules.get("pydantic"), "BaseModel", None)
    return model_node_type(cls) if base is not None and issubclass(cls, base) else None


def _models() -> Iterator[type]:
    return _subclasses(sys.modules["pydantic"].BaseModel, "pydantic")


def _watch_models(announce: Callable[[type], None]) -> None:
    """Extend what pydantic calls once a subclass is complete."""
    base: Any = sys.modules["pydantic"].BaseModel
    complete_subclass = base.__pydantic_init_subclass__.__func__

    def announce_subclass(cls: Any, /, **options: Any) -> None:
        complete_subclass(cls, **options)
        announce(cls)

    base.__pydantic_init_subclass__ = classmethod(announce_subclass)


def _attrs_classes() -> Iterator[type]:
    for cls in _subclasses(object, "attr"):
        if any("__attrs_attrs__" in vars(base) for base in cls.__mro__):
            yield cls


def _watch_attrs(announce: Callable[[type], None]) -> None:
    """Extend what builds each class of attrs, which has no public place for this."""
    builder = getattr(sys.modules.get("attr._make"), "_ClassBuilder", None)
    build_class = getattr(builder, "build_class", None)
    if builder is None or build_class is None:
        return

    @functools.wraps(build_class)
    def build_and_announce(self: Any) -> Any:
        cls = build_class(self)
        announce(cls)
        return cls

    builder.build_class = build_and_announce


def _struct_node_type(cls: type) -> NodeType | None:
    return struct_node_type(cls) if is_struct(cls) else None


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
    "pydantic": _family(_pydantic_node_type, "pydantic", _models, _watch_models),
    "attrs": _family(attrs_node_type, "attr", _attrs_classes, _watch_attrs),
    "msgspec": _family(_struct_node_type, "msgspec", _structs),
    "mappings": _family(mapping_node_type),
    "sequences": _family(sequence_node_type),
}

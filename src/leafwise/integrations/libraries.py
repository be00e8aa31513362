"""The other way: classes of other libraries become nodes here.

Each is kept as its own type. `support` is for whole families of containers, the
`register_` functions are for one class, and `adopt` is for what jax knows: such nodes
are flattened by jax's own public functions, one level at a time. Nothing here imports a
library: a class is looked at when it is first seen, and then its library is loaded.
"""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import (
    Callable,
    Mapping,
    MutableMapping,
    MutableSequence,
    Sequence,
)
from typing import Any, Final, TypeVar

from .._hooks import hooks
from .._lazy import real
from .._text import FAULTS, add_note, short_repr
from ..core.keys import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey
from ..core.node import Rule
from ..core.register import FunctionRule, ItemsRule
from ..core.registry import GLOBAL, add_adopter, check_class, install, remembering
from ..core.treedef import PyTreeDef
from ..errors import RegistryError
from ..ops.map import tree_structure
from .models import attrs_rule, model_rule
from .optree import NAMESPACE


__all__ = [
    "adopt",
    "register_attrs",
    "register_mapping",
    "register_model",
    "register_sequence",
    "support",
    "treedef_from",
    "treedef_to",
]

C = TypeVar("C", bound=type)
Build = Callable[[Any], Any]


def support(*names: str, namespace: str = GLOBAL) -> None:
    """Treat the containers of other libraries as nodes.

    - `"omegaconf"`: `DictConfig` and `ListConfig`. Interpolations and missing values
      are kept as written, and so are flags and the type of a structured config.
    - `"ml_collections"`: `ConfigDict` and `FrozenConfigDict`; references are resolved.
    - `"pydantic"`: every `BaseModel`. A rebuilt model is not validated. An edited model
      is validated if it has `validate_assignment`.
    - `"attrs"`: every class made by attrs; a field with `metadata={"static": True}` is
      aux data. `__init__` does not run, but converters and validators run after edits.
    - `"mappings"` and `"sequences"`: any other subclass of `Mapping`, or of `Sequence`
      except text and numbers, that has no rule of its own. A class whose constructor
      does not accept the items needs `register_mapping` or `register_sequence`.

    Registered classes take precedence. The library may be imported before or after the
    call.

    Args:
        *names: One or more of these names.
        namespace: The namespace in which they become nodes; `""` is every namespace.

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
            known = ", ".join(map(repr, _FAMILIES))
            raise ValueError(f"no support for {name!r}; supported: {known}")
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
    """Register a mapping class so that its instances are nodes with values as children.

    Args:
        cls: The class.
        build: Takes a dict and returns an instance. Without it, a mutable instance is
            copied and refilled; any other class is called with the dict.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether instances of subclasses are nodes, too.
        exist_ok: Whether to replace an earlier registration.

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
    rule_of = functools.partial(_ContainerRule, build=build, item_key=DictKey)
    return install(cls, rule_of, namespace, inherit, exist_ok)


def register_sequence(
    cls: C,
    build: Build | None = None,
    *,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
) -> C:
    """Register a sequence class so that its instances are nodes with items as children.

    Args:
        cls: The class.
        build: Takes a list and returns an instance. Without it, a mutable instance is
            copied and refilled; any other class is called with the list.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether instances of subclasses are nodes, too.
        exist_ok: Whether to replace an earlier registration.

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
    rule_of = functools.partial(_ContainerRule, build=build, item_key=SequenceKey)
    return install(cls, rule_of, namespace, inherit, exist_ok)


def register_attrs(
    cls: C, *, namespace: str = GLOBAL, inherit: bool = False, exist_ok: bool = False
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
    if attrs_rule(cls) is None:
        raise RegistryError(f"{cls.__qualname__} is not an attrs class")
    return install(cls, attrs_rule, namespace, inherit, exist_ok)


def register_model(
    cls: C, *, namespace: str = GLOBAL, inherit: bool = False, exist_ok: bool = False
) -> C:
    """Register a pydantic model so that instances are nodes with fields as children.

    Extra values are children, too. Private attributes and the set of explicitly given
    fields are kept. A rebuilt model is not validated, so it can hold anything. An
    edited model is validated if it has `validate_assignment`; see
    :ref:`objects that validate <validated>`.

    Args:
        cls: The class.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether instances of subclasses are nodes, too.
        exist_ok: Whether to replace an earlier registration.

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
    if not hasattr(cls, "model_fields") or not hasattr(cls, "__pydantic_validator__"):
        raise RegistryError(f"{cls.__qualname__} is not a pydantic model")
    return install(cls, model_rule, namespace, inherit, exist_ok)


# --------------------------------------------------------- any mapping, any sequence


class _ContainerRule(ItemsRule):
    """Mappings and sequences of any class.

    The rest is an empty copy of the node; None where the class or `build` is called.
    """

    build: Build | None

    def __init__(self, cls: type, build: Build | None = None, **given: Any) -> None:
        object.__setattr__(self, "build", build)
        super().__init__(cls, **given)

    def items(self, node: Any) -> Any:
        return {key: node[key] for key in [*node]} if self.is_mapping else [*node]

    def rest(self, node: Any) -> Any:
        return _emptied(node, self.build)

    def from_items(self, rest: Any, items: Any) -> Any:
        if rest is None:
            return _called(self.build or self.cls, items, self.cls)
        made = copy.copy(rest)
        if not self.is_mapping:
            made.extend(items)
            return made
        for key, value in items.items():
            made[key] = value
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
    except FAULTS as error:
        kind = "mapping" if isinstance(items, dict) else "sequence"
        add_note(
            error,
            f"{cls.__qualname__} was rebuilt from {short_repr(items)}; pass build=... "
            "to "
            f"register_{kind} to rebuild it in another way",
        )
        raise


_NO_TREES: Final = (str, bytes, bytearray, memoryview, range)


def _mapping_rule(cls: type) -> Rule | None:
    return _ContainerRule(cls, item_key=DictKey) if issubclass(cls, Mapping) else None


def _sequence_rule(cls: type) -> Rule | None:
    if not issubclass(cls, Sequence) or issubclass(cls, _NO_TREES):
        return None
    if cls.__module__ == "array":  # its items are numbers of one type
        return None
    return _ContainerRule(cls, item_key=SequenceKey)


# ------------------------------------------------------------------ attrs and pydantic


def _pydantic_rule(cls: type) -> Rule | None:
    pydantic = sys.modules.get("pydantic")
    base = getattr(pydantic, "BaseModel", None)
    return model_rule(cls) if base is not None and issubclass(cls, base) else None


# --------------------------------------------------------------- libraries of configs


def _omegaconf_rule(cls: type) -> Rule | None:
    omegaconf = sys.modules.get("omegaconf")
    if omegaconf is None or cls.__module__.partition(".")[0] != "omegaconf":
        return None
    if issubclass(cls, omegaconf.DictConfig):
        return _ConfigRule(cls, item_key=DictKey)
    if issubclass(cls, omegaconf.ListConfig):
        return _ConfigRule(cls, item_key=SequenceKey)
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

    item_key = DictKey

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
    "omegaconf": remembering(_omegaconf_rule),
    "ml_collections": remembering(_ml_collections_rule),
    "pydantic": remembering(_pydantic_rule),
    "attrs": remembering(attrs_rule),
    "mappings": remembering(_mapping_rule),
    "sequences": remembering(_sequence_rule),
}


# ------------------------------------------------------------------- what jax knows


def adopt(name: str, *, namespace: str = GLOBAL) -> None:
    """Treat classes that are registered only in jax as nodes.

    Registrations in leafwise take precedence. Call `adopt` again for classes that are
    registered in jax after leafwise met their instances. `adopt` keeps the functions
    of jax as they are now. It never calls functions that replace them later, as those
    of `leafwise.compat` may.

    Args:
        name: `"jax"`, which has to be imported.
        namespace: The namespace in which they become nodes; `""` is every namespace.

    Raises:
        ValueError: The name is another one, or jax is not imported.

    Example:
        >>> from leafwise.integrations import adopt
        >>> try:
        ...     adopt("keras")
        ... except ValueError as error:
        ...     print(error)
        unknown framework 'keras'; known: 'jax'
    """
    if name != "jax":
        raise ValueError(f"unknown framework {name!r}; known: 'jax'")
    jax = real("jax")
    if jax is None:
        raise ValueError("jax is not loaded; import it before its classes are used")
    util = _jax_trees(jax)
    is_node = _node_test(util)
    flatten = functools.partial(_flatten_one_level, util.tree_flatten_with_path)
    unflatten = util.tree_unflatten

    def adopter(cls: type) -> Rule | None:
        if cls.__module__ == "builtins" or not is_node(cls):
            return None
        return _AdoptedRule(cls, flatten, unflatten, where="the registry of jax")

    add_adopter(remembering(adopter), namespace=namespace)


class _AdoptedRule(FunctionRule):
    """The rule of a class that jax knows; its aux data has a treedef of jax."""

    def compared_aux(self, aux: Any) -> Any:
        treedef, keys = aux
        return keys, treedef.node_data()[1]


def _jax_trees(jax: Any) -> Any:
    """Return jax's own module of trees, also where something stands in for it."""
    return real("jax.tree_util") or jax.tree_util


def _node_test(util: Any) -> Callable[[type], bool]:
    """Return a function that says whether instances of a class are nodes in jax."""

    def is_node(cls: type) -> bool:
        try:
            return not util.all_leaves([_blank(cls)])  # it looks at the type alone
        except FAULTS:
            return False

    return getattr(util, "is_tree_node", is_node)  # new in jax 0.10


def _blank(cls: Any) -> Any:
    """Return an instance of a class without values in it."""
    try:
        return cls.__new__(cls)
    except FAULTS:
        return object.__new__(cls)


def _flatten_one_level(
    tree_flatten_with_path: Any, node: Any
) -> tuple[list[Any], Any, list[Any]]:
    """Return the children of a node, the treedef that jax rebuilds it by, the keys."""
    pairs, treedef = tree_flatten_with_path(node, lambda x: x is not node)
    keys = [_key_from_jax(path[0]) for path, _ in pairs]
    children = [child for _, child in pairs]
    return children, treedef, keys


def _key_from_jax(key: Any) -> Any:
    for name, make in (
        ("name", GetAttrKey),
        ("idx", SequenceKey),
        ("key", FlattenedIndexKey if "Flattened" in type(key).__name__ else DictKey),
    ):
        if hasattr(key, name):
            return make(getattr(key, name))
    return DictKey(key)


def _jax_node(value: Any) -> tuple[str, Callable[[Any], Any]] | None:
    """Return `"jax"` and a function from a value to its children and their keys.

    Returns:
        None if the value is a leaf in jax, or jax is not loaded.
    """
    jax = real("jax")
    if jax is None:
        return None
    util = _jax_trees(jax)
    if util.all_leaves([value]):
        return None

    def children_and_keys(node: Any) -> tuple[Sequence[Any], Sequence[Any]]:
        children, _, keys = _flatten_one_level(util.tree_flatten_with_path, node)
        return children, keys

    return "jax", children_and_keys


hooks.foreign_nodes.append(_jax_node)


# ------------------------------------------------------------------------ treedefs


def treedef_from(treedef: Any, *, namespace: str = GLOBAL) -> PyTreeDef:
    """Convert a treedef of another framework to a treedef of leafwise.

    Args:
        treedef: A treedef of jax or torch, or a treespec of optree.
        namespace: The namespace in which its classes are looked up.

    Raises:
        TypeError: The argument is not one of these.

    Example:
        >>> import leafwise as lw
        >>> try:
        ...     lw.integrations.treedef_from([1])
        ... except TypeError as error:
        ...     print(error)
        no treedef of jax, optree or torch: list
    """
    unflatten = getattr(treedef, "unflatten", None)
    count = getattr(treedef, "num_leaves", None)
    if unflatten is None or count is None:
        raise TypeError(f"no treedef of jax, optree or torch: {type(treedef).__name__}")
    tree = unflatten([*map(_Leaf, range(count))])
    return tree_structure(tree, namespace=namespace)


class _Leaf:
    """Stands at a leaf while a treedef is converted."""

    __slots__ = ("place",)

    def __init__(self, place: int) -> None:
        self.place = place


def treedef_to(name: str, treedef: PyTreeDef) -> Any:
    """Convert a treedef of leafwise to a treedef of another framework.

    Args:
        name: `"jax"`, `"optree"` or `"torch"`; the framework has to be imported.
        treedef: The treedef.

    Raises:
        RegistryError: The treedef has a node of a class that the framework does not
            know.
        ValueError: The name is not one of these, or the framework is not imported.

    Example:
        >>> import leafwise as lw
        >>> try:
        ...     lw.integrations.treedef_to("keras", lw.tree_structure([1]))
        ... except ValueError as error:
        ...     print(error)
        keras is unknown or not loaded
    """
    module = real(name)
    if name not in ("jax", "optree", "torch") or module is None:
        raise ValueError(f"{name} is unknown or not loaded")
    tree = treedef.unflatten(map(_Leaf, range(treedef.num_leaves)))
    if name == "jax":
        leaves, made = _jax_trees(module).tree_flatten(tree)
    elif name == "torch":
        leaves, made = real("torch.utils._pytree").tree_flatten(tree)
    else:
        leaves, made = module.tree_flatten(tree, namespace=NAMESPACE)
    for leaf in leaves:
        if leaf is not None and type(leaf) is not _Leaf:  # torch has None for a leaf
            raise RegistryError(
                f"{type(leaf).__name__} is a node in leafwise but a leaf in {name}; "
                f"register it in leafwise without bridge=False, or in {name} itself"
            )
    return made

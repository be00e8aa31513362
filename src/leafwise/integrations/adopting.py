"""The other way: classes that only a framework knows become nodes here.

Owns `adopt`, and the rules that take such nodes apart by the framework's own public
functions, one level at a time.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from ..core.keys import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey
from ..core.node import Rule
from ..core.register import AuxKeyedRule
from ..core.registry import GLOBAL, add_adopter
from ..core.treedef import PyTreeDef
from ..nn.checks import foreign
from ..ops.map import tree_structure
from ..safely import printed as text
from .optree import NAMESPACE


__all__ = ["adopt", "treedef_from", "treedef_to"]

OneLevel = Callable[[Any], tuple[Sequence[Any], Any, Sequence[Any]]]
Rebuild = Callable[[Any, Any], Any]


def adopt(name: str, *, namespace: str = GLOBAL) -> None:
    """Let our functions descend into classes that only a framework knows.

    What is registered here goes first. Classes that are registered in the framework
    after they were seen here need another call.

    Args:
        name: `"jax"`, `"optree"` or `"torch"`; it has to be loaded.
        namespace: Where they become nodes; `""` is everywhere.

    Raises:
        ValueError: The name is none of these, or the framework is not loaded.

    Example:
        >>> from leafwise.integrations import adopt
        >>> try:
        ...     adopt("keras")
        ... except ValueError as error:
        ...     print(error)
        no framework 'keras'; there are: 'jax', 'optree', 'torch'
    """
    find, module = _FINDERS.get(name), sys.modules.get(name)
    if find is None:
        known = ", ".join(map(repr, _FINDERS))
        raise ValueError(f"no framework {name!r}; there are: {known}")
    if module is None:
        raise ValueError(f"{name} is not loaded; import it before its classes are used")

    def adopter(cls: type) -> Rule | None:
        found = None if cls.__module__ == "builtins" else find(module, cls)
        return None if found is None else _rule(cls, name, *found)

    add_adopter(adopter, namespace=namespace)


class _Foreign:
    """Aux data of a framework: its own, and the keys of the children.

    Attributes:
        aux: What the framework gave.
        keys: A key for each child.
    """

    __slots__ = ("aux", "keys")

    def __init__(self, aux: Any, keys: tuple[Any, ...]) -> None:
        self.aux = aux
        self.keys = keys

    def __repr__(self) -> str:
        return text(self.aux)


def _same(a: _Foreign, b: _Foreign) -> bool:
    if a is b:
        return True
    try:
        return a.keys == b.keys and bool(a.aux == b.aux)
    except Exception:
        return False


class _AdoptedRule(AuxKeyedRule):
    """The rule of a class that a framework knows."""

    aux_class = _Foreign

    def same_aux(self, a: _Foreign, b: _Foreign) -> bool:
        return _same(a, b)

    def node_data(self, aux: _Foreign) -> Any:
        return aux.aux


def _rule(cls: type, name: str, one_level: OneLevel, rebuild: Rebuild) -> Rule:
    def flatten(node: Any) -> tuple[Sequence[Any], _Foreign]:
        children, aux, keys = one_level(node)
        return [*children], _Foreign(aux, tuple(keys))

    def unflatten(aux: _Foreign, children: Any) -> Any:
        return rebuild(aux.aux, children)

    return _AdoptedRule(
        cls,
        flatten=flatten,
        unflatten=unflatten,
        where=f"the registry of {name}",
    )


# ------------------------------------------------------------- one level, by each


def _find_in_jax(jax: Any, cls: Any) -> tuple[OneLevel, Rebuild] | None:
    util = jax.tree_util
    try:
        if util.all_leaves([_blank(cls)]):  # it looks at the type alone
            return None
    except Exception:
        return None
    return functools.partial(_level_in_jax, util), util.tree_unflatten


def _level_in_jax(util: Any, node: Any) -> tuple[list[Any], Any, list[Any]]:
    pairs, treedef = util.tree_flatten_with_path(node, lambda x: x is not node)
    keys = [_key_from_jax(path[0]) for path, _ in pairs]
    return [child for _, child in pairs], treedef, keys


def _blank(cls: Any) -> Any:
    """Return an instance of a class without values in it."""
    try:
        return cls.__new__(cls)
    except Exception:
        return object.__new__(cls)


def _key_from_jax(key: Any) -> Any:
    for name, make in (
        ("name", GetAttrKey),
        ("idx", SequenceKey),
        ("key", FlattenedIndexKey if "Flattened" in type(key).__name__ else DictKey),
    ):
        if hasattr(key, name):
            return make(getattr(key, name))
    return DictKey(key)


def _find_in_optree(optree: Any, cls: type) -> tuple[OneLevel, Rebuild] | None:
    get = optree.register_pytree_node.get
    if get(cls, namespace=NAMESPACE) is None:
        return None
    one_level = functools.partial(_level_in_optree, optree, NAMESPACE)
    return one_level, lambda aux, children: aux[1](aux[0], children)


def _level_in_optree(
    optree: Any, namespace: str, node: Any
) -> tuple[Any, Any, list[Any]]:
    level = optree.tree_flatten_one_level(node, namespace=namespace)
    children, aux, entries, rebuild = level
    return children, (aux, rebuild), [_key_from_entry(entry) for entry in entries]


def _key_from_entry(entry: Any) -> Any:
    if isinstance(entry, str) and entry.isidentifier():
        return GetAttrKey(entry)
    return SequenceKey(entry) if type(entry) is int else DictKey(entry)


def _find_in_torch(torch: Any, cls: type) -> tuple[OneLevel, Rebuild] | None:
    pytree = sys.modules.get("torch.utils._pytree")  # not there while torch is loaded
    known = None if pytree is None else pytree.SUPPORTED_NODES.get(cls)
    if known is None:
        return None

    def one_level(node: Any) -> tuple[Any, Any, list[Any]]:
        if known.flatten_with_keys_fn is None:
            children, aux = known.flatten_fn(node)
            return children, aux, [*map(FlattenedIndexKey, range(len(children)))]
        pairs, aux = known.flatten_with_keys_fn(node)
        keys = [_key_from_jax(key) for key, _ in pairs]
        return [child for _, child in pairs], aux, keys

    return one_level, lambda aux, children: known.unflatten_fn(children, aux)


_FINDERS: Final[dict[str, Callable[[Any, type], tuple[OneLevel, Rebuild] | None]]] = {
    "jax": _find_in_jax,
    "optree": _find_in_optree,
    "torch": _find_in_torch,
}


# ------------------------------------------------------------- looking inside


def _known_elsewhere(value: Any) -> tuple[str, Callable[[Any], Any]] | None:
    """Return the framework that knows a value as a node, and what takes it apart."""
    for name, level_of in _LEVELS.items():
        module = sys.modules.get(name)
        loading = getattr(getattr(module, "__spec__", None), "_initializing", False)
        one_level = None if module is None or loading else level_of(module, value)
        if one_level is not None:
            return name, functools.partial(_held, one_level)
    return None


def _held(one_level: OneLevel, node: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    children, _, keys = one_level(node)
    return [*children], [*keys]


def _known_in_jax(jax: Any, value: Any) -> OneLevel | None:
    util = jax.tree_util
    return None if util.all_leaves([value]) else functools.partial(_level_in_jax, util)


def _known_in_optree(optree: Any, value: Any) -> OneLevel | None:
    """Look into all namespaces, as far as optree lets us."""
    known = getattr(optree.registry, "_NODETYPE_REGISTRY", {}).values()
    for entry in known:
        if entry.type is type(value):
            return functools.partial(_level_in_optree, optree, entry.namespace)
    return None


def _known_in_torch(torch: Any, value: Any) -> OneLevel | None:
    found = _find_in_torch(torch, type(value))
    return None if found is None else found[0]


_LEVELS: Final[dict[str, Callable[[Any, Any], OneLevel | None]]] = {
    "jax": _known_in_jax,
    "optree": _known_in_optree,
    "torch": _known_in_torch,
}

foreign.append(_known_elsewhere)


# ------------------------------------------------------------------------ treedefs


def treedef_from(treedef: Any, *, namespace: str = GLOBAL) -> PyTreeDef:
    """Return the treedef of ours that stands for one of a framework.

    Args:
        treedef: A treedef of jax or of torch, or a treespec of optree.
        namespace: The namespace in which its classes are looked up.

    Raises:
        TypeError: It is none of these.

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
    """Return the treedef of a framework that stands for one of ours.

    Args:
        name: `"jax"`, `"optree"` or `"torch"`; it has to be loaded.
        treedef: The treedef.

    Raises:
        ValueError: The name is none of these, or the framework is not loaded.

    Example:
        >>> import leafwise as lw
        >>> try:
        ...     lw.integrations.treedef_to("keras", lw.tree_structure([1]))
        ... except ValueError as error:
        ...     print(error)
        keras is not loaded, or unknown
    """
    module: Any = sys.modules.get(name)
    if name not in _FINDERS or module is None:
        raise ValueError(f"{name} is not loaded, or unknown")
    tree = treedef.unflatten(map(_Leaf, range(treedef.num_leaves)))
    if name == "jax":
        return module.tree_util.tree_structure(tree)
    if name == "torch":
        return module.utils._pytree.tree_structure(tree)
    return module.tree_structure(tree, namespace=NAMESPACE)

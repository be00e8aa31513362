"""The other way: classes that only a framework knows become nodes here.

Owns `adopt`, and the rules that take such nodes apart by the framework's own public
functions, one level at a time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from ..core.auxdata import text
from ..core.keys import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey
from ..core.registry import add_adopter
from ..core.rule import Rule, aux_keyed_rule
from ..core.treedef import PyTreeDef
from ..core.view import GLOBAL
from ..ops.basic import tree_structure
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


def _rule(cls: type, name: str, one_level: OneLevel, rebuild: Rebuild) -> Rule:
    def flatten(node: Any) -> tuple[Sequence[Any], _Foreign]:
        children, aux, keys = one_level(node)
        return [*children], _Foreign(aux, tuple(keys))

    def unflatten(aux: _Foreign, children: Any) -> Any:
        return rebuild(aux.aux, children)

    return aux_keyed_rule(
        cls,
        _Foreign,
        flatten,
        unflatten,
        _same,
        data=lambda aux: aux.aux,
        where=f"the registry of {name}",
    )


# ------------------------------------------------------------- one level, by each


def _find_in_jax(jax: Any, cls: Any) -> tuple[OneLevel, Rebuild] | None:
    util = jax.tree_util
    try:
        if util.all_leaves([cls.__new__(cls)]):  # it looks at the type alone
            return None
    except Exception:
        return None

    def one_level(node: Any) -> tuple[list[Any], Any, list[Any]]:
        pairs, treedef = util.tree_flatten_with_path(node, lambda x: x is not node)
        keys = [_key_from_jax(path[0]) for path, _ in pairs]
        return [child for _, child in pairs], treedef, keys

    return one_level, util.tree_unflatten


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

    def one_level(node: Any) -> tuple[Any, Any, list[Any]]:
        level = optree.tree_flatten_one_level(node, namespace=NAMESPACE)
        children, aux, entries, rebuild = level
        return children, (aux, rebuild), [_key_from_entry(entry) for entry in entries]

    return one_level, lambda aux, children: aux[1](aux[0], children)


def _key_from_entry(entry: Any) -> Any:
    if isinstance(entry, str) and entry.isidentifier():
        return GetAttrKey(entry)
    return SequenceKey(entry) if type(entry) is int else DictKey(entry)


def _find_in_torch(torch: Any, cls: type) -> tuple[OneLevel, Rebuild] | None:
    known = torch.utils._pytree.SUPPORTED_NODES.get(cls)
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

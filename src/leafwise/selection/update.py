"""Many edits at once, and edits that are no setting: moving, renaming, pointing.

Owns the functions; what an edit does is said in `rebuild`, places are found by `edit`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..core.containers import TUPLE
from ..core.keypath import KeyPath
from ..core.safely import type_name
from ..core.view import GLOBAL, View
from ..core.walk import PathPredicate, Predicate
from ..errors import EditError
from ..ops.outlook import asks_to_stop, outlook, take_apart
from ..sentinel import MISSING
from .edit import at
from .find import Scope, call_at, find
from .grammar import DEEP, parse
from .pattern import is_function, read_selector, require
from .rebuild import Edit, Rename, Set, rebuild


if TYPE_CHECKING:
    from ..typing import IsLeaf

__all__ = ["tree_at", "tree_move", "tree_rename", "tree_update"]


def tree_update(
    tree: Any,
    edits: Mapping[Any, Any],
    *,
    missing_ok: bool = False,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Return a tree with many edits, made in one pass.

    Args:
        tree: Any tree.
        edits: For each selector a value to set, or a function to apply to what is
            there. A node is a value, even if it can be called. All selectors are about
            `tree`, whatever the others do.
        missing_ok: Whether a selector may mean nothing.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        EditError: Two selectors mean one place, or one inside the other.
        PathError: A selector means nothing.

    Example:
        >>> import leafwise as lw
        >>> config = {"optim": {"lr": 0.1, "steps": 100}, "name": "a"}
        >>> lw.selection.tree_update(config, {"**.lr": lambda lr: lr / 10, "name": "b"})
        {'optim': {'lr': 0.01, 'steps': 100}, 'name': 'b'}
    """
    view, stop = outlook(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    scope = Scope(view, stop)
    listed: list[tuple[KeyPath, Edit]] = []
    for what, change in edits.items():
        meant = read_selector(what, view)
        for place in require(meant, tree, scope, missing_ok=missing_ok):
            value = change
            if is_function(change, view):
                value = call_at(change, (place.value,), place)
            listed.append((place.path, Set(value)))
    return rebuild(tree, listed, scope)


def tree_move(
    tree: Any,
    source: Any,
    target: Any,
    *,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Return a tree in which something stands elsewhere.

    Args:
        tree: Any tree.
        source: A selector that means one place.
        target: A path where there is nothing yet, in the tree without the source.
        none_is_leaf, namespace: See :ref:`common arguments <common>`.

    Raises:
        EditError: There is something at the target already, or a node refuses.
        PathError: There is not one source, or nothing to insert into.

    Example:
        >>> import leafwise as lw
        >>> config = {"lr": 0.1, "optim": {"steps": 100}}
        >>> lw.selection.tree_move(config, "lr", "optim.lr")
        {'optim': {'steps': 100, 'lr': 0.1}}
    """
    options: Any = {"none_is_leaf": none_is_leaf, "namespace": namespace}
    found = at(tree, **options)[source]
    value = found.one()
    return at(found.delete(), **options)[target].insert(value)


def tree_rename(
    tree: Any,
    what: Any,
    name: Any,
    *,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Return a tree in which keys of dicts, or attributes of objects, are renamed.

    The order of a dict is kept.

    Args:
        tree: Any tree.
        what: A selector; what stands there gets the name.
        name: The new key, or a function from the old key to the new one.
        none_is_leaf, namespace: See :ref:`common arguments <common>`.

    Raises:
        EditError: There is such a key already, or a node does not allow it.
        PathError: The selector means nothing.

    Example:
        >>> import leafwise as lw
        >>> model = {"a": {"kernel": 1}, "b": {"kernel": 2}}
        >>> lw.selection.tree_rename(model, "**.kernel", "w")
        {'a': {'w': 1}, 'b': {'w': 2}}
        >>> lw.selection.tree_rename({"Lr": 1, "Wd": 2}, "*", str.lower)
        {'lr': 1, 'wd': 2}
    """
    scope = Scope(*outlook(None, False, none_is_leaf, namespace))

    def renamed(path: KeyPath) -> Rename:
        if not path:
            raise EditError("the root has no name", path=path)
        old = path[-1]._values()[0]
        return Rename(name(old) if is_function(name, scope.view) else name)

    places = require(read_selector(what, scope.view), tree, scope)
    return rebuild(tree, [(place.path, renamed(place.path)) for place in places], scope)


class _Mark:
    """Stands for one leaf, and for nothing else."""


class _Empty(tuple[Any, ...]):
    """Stands for one empty tuple; `()` itself is the same object everywhere."""

    __slots__ = ()


def _is_empty(node: Any) -> bool:
    return type(node) is tuple and not node


def _marked(tree: Any, view: View, stop: Predicate) -> Any:
    """Return a tree of the same structure in which each leaf is an object of its own.

    So is each empty tuple, as far as it can be told from a leaf.
    """
    leaves, treedef = take_apart(tree, view, stop)
    if any(rule is TUPLE and not arity for _, rule, arity, _ in treedef._code):
        leaves, treedef = take_apart(tree, view, _or_empty(stop))
    return treedef.unflatten([_Empty() if _is_empty(x) else _Mark() for x in leaves])


def _or_empty(stop: Predicate) -> Predicate:
    """Return a predicate that also stops at empty tuples."""
    if isinstance(stop, PathPredicate):
        asked = stop.function
        return PathPredicate(lambda path, node: asked(path, node) or _is_empty(node))
    return lambda node: asks_to_stop(stop, node) or _is_empty(node)


def tree_at(
    where: Callable[[Any], Any],
    tree: Any,
    replace: Any = MISSING,
    *,
    replace_fn: Callable[[Any], Any] | None = None,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Return a tree in which what a function points to is replaced.

    Args:
        where: Takes the tree, returns a node or leaf in it, or a tuple or list of some.
            It is called with a tree of the same structure and with other leaves, so it
            cannot depend on them. An empty tuple in the tree is a node as any other.
        tree: Any tree.
        replace: The new value; or as many as `where` returns, if that is a tuple or
            list of them.
        replace_fn: A function from what is there to the new value, in its place.
        is_leaf, is_leaf_takes_path, namespace: See
            :ref:`common arguments <common>`. None counts as a leaf.

    Raises:
        EditError: `where` returns something that is not in the tree, or that stands at
            several places; or two of what it returns overlap.
        TypeError: Not just one of `replace` and `replace_fn` is given.
        ValueError: There are not as many values as places.

    Example:
        >>> import leafwise as lw
        >>> model = {"layers": [{"w": 1}, {"w": 3}]}
        >>> lw.selection.tree_at(lambda m: m["layers"][1]["w"], model, 5)
        {'layers': [{'w': 1}, {'w': 5}]}
        >>> lw.selection.tree_at(lambda m: m["layers"], model, replace_fn=len)
        {'layers': 2}

    The idea is that of `equinox.tree_at`.
    """
    if (replace is MISSING) == (replace_fn is None):
        raise TypeError("tree_at takes either replace or replace_fn")
    view, stop = outlook(is_leaf, is_leaf_takes_path, True, namespace)
    marked = _marked(tree, view, stop)
    meant, several = _pointed_at(where(marked), marked, Scope(view, None))
    values = [KeyPath(path)(tree, namespace=namespace) for path in meant]
    if replace_fn is not None:
        new = [*map(replace_fn, values)]
    else:
        new = [*replace] if several else [replace]
    if len(new) != len(meant):
        raise ValueError(
            f"where returns {len(meant)} places, and there are {len(new)} values"
        )
    edits = [*zip(meant, map(Set, new), strict=True)]
    return rebuild(tree, edits, Scope(view, stop))


def _pointed_at(
    pointed: Any, marked: Any, scope: Scope
) -> tuple[Sequence[KeyPath], bool]:
    """Return the paths of what was returned, and whether it was several things."""
    known: dict[int, list[KeyPath]] = {}
    for place in find(marked, (DEEP, *parse("*")), scope):
        known.setdefault(id(place.value), []).append(place.path)
    known.setdefault(id(marked), []).append(KeyPath())
    several = id(pointed) not in known and isinstance(pointed, tuple | list)
    paths = []
    for number, one in enumerate(pointed if several else [pointed]):
        found = known.get(id(one), [])
        if len(found) != 1:
            which = "what where returns" + (f", item {number}" if several else "")
            places = ", ".join(path.where() for path in found[:3])
            stands = f"stands at {places}" if found else "is not in the tree"
            raise EditError(f"{which} ({type_name(one)}) {stands}")
        paths.append(found[0])
    return paths, several

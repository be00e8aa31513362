"""Reading the arguments that all walks share, and taking trees apart with them.

Owns the choice of the way: who knows a structure takes the tree apart, else the
walk does. What the arguments mean is told in `basic`.
"""

from __future__ import annotations

from types import UnionType
from typing import TYPE_CHECKING, Any

from ..core.auxdata import described
from ..core.code import ROOT
from ..core.keypath import KeyPath
from ..core.mismatch import deeper, differences, mismatch_error
from ..core.registry import view_of
from ..core.runner import hooks
from ..core.treedef import PyTreeDef, make_treedef
from ..core.view import View
from ..core.walk import PathPredicate, Predicate, flatten


if TYPE_CHECKING:
    from ..typing import IsLeaf

__all__ = [
    "asks_to_stop",
    "columns_of",
    "outlook",
    "predicate",
    "stopping",
    "take_apart",
]


def predicate(is_leaf: IsLeaf, takes_path: bool = False) -> Predicate:
    """Turn what `is_leaf` takes into a predicate, or None.

    Raises:
        TypeError: It is neither a predicate, nor a type, nor a tuple of types.
    """
    if is_leaf is None:
        return None
    if isinstance(is_leaf, type | UnionType) or (
        isinstance(is_leaf, tuple) and all(isinstance(cls, type) for cls in is_leaf)
    ):
        return lambda node: isinstance(node, is_leaf)
    if callable(is_leaf) and not hasattr(is_leaf, "__origin__"):
        return PathPredicate(is_leaf) if takes_path else is_leaf
    raise TypeError(
        "is_leaf must be a predicate, a type or a tuple of types, "
        f"got {described(is_leaf)}"
    )


def outlook(
    is_leaf: IsLeaf, takes_path: bool, none_is_leaf: bool, namespace: str
) -> tuple[View, Predicate]:
    """Return the view to walk under, and the predicate to ask besides, if any.

    Raises:
        NamespaceError: Nobody declared the namespace.
        TypeError: `is_leaf` is neither a predicate, nor a type, nor types.
    """
    view = view_of(namespace, none_is_leaf)
    return view, stopping(view, is_leaf, takes_path)


def stopping(view: View, is_leaf: IsLeaf, takes_path: bool) -> Predicate:
    """Return the predicate to ask in a walk under a view, None for none.

    The predicate for classes whose instances are just those of their subclasses is
    a view in which these are leaves, so that `take_apart` has nothing to ask.

    Raises:
        TypeError: `is_leaf` is neither a predicate, nor a type, nor types.
    """
    if is_leaf is None:
        return None
    stops: Any = is_leaf if type(is_leaf) is tuple else (is_leaf,)
    if all(type(cls) is type for cls in stops):
        return view.stopping_at(stops)
    return predicate(is_leaf, takes_path)


def asks_to_stop(stop: Predicate, tree: Any, path: KeyPath = ROOT) -> bool:
    """Say whether a predicate stops at a node, by default at a root."""
    if isinstance(stop, PathPredicate):
        return bool(stop.function(path, tree))
    return stop is not None and bool(stop(tree))


def take_apart(tree: Any, view: View, stop: Predicate) -> tuple[list[Any], PyTreeDef]:
    """Return leaves and treedef of a tree, by the fastest way that is known."""
    if stop is not None:
        if not isinstance(stop, View):
            leaves, code = flatten(tree, view, stop)
            return leaves, make_treedef(code, len(leaves), view)
        view = stop
    cls = type(tree)
    hot = view.hot.get(cls)
    if hot is not None:
        found = hot(tree)
        if found is not None:
            return found
    elif cls in view.leaf_types:
        return [tree], make_treedef((), 1, view)
    leaves, code = flatten(tree, view)
    treedef = make_treedef(code, len(leaves), view)
    sight = hooks.sight
    if sight is not None:
        sight(tree, leaves, treedef, view)
    return leaves, treedef


def columns_of(
    tree: Any,
    rest: tuple[Any, ...],
    view: View,
    stop: Predicate,
    *,
    strict: bool = False,
    with_paths: bool = False,
) -> tuple[list[list[Any]], PyTreeDef]:
    """Return what a map over several trees calls its function with, and the treedef.

    One list for each argument: the key paths, if they are wanted, the leaves of
    the first tree, and what each further tree has at their places. The predicate is
    asked of the first tree; with `strict`, also of what the others have there.
    """
    leaves, treedef = take_apart(tree, view, stop)
    columns: list[list[Any]] = [leaves]
    for index, other in enumerate(rest, start=1):
        column = treedef._match(other)
        if column is None or strict:
            _check_column(column, treedef, other, index, view, stop)
        columns.append(column)  # type: ignore[arg-type]  # checked
    if with_paths:
        columns.insert(0, [*treedef.paths()])
    return columns, treedef


def _check_column(
    column: list[Any] | None,
    treedef: PyTreeDef,
    other: Any,
    index: int,
    view: View,
    stop: Predicate,
) -> None:
    """Refuse a further tree that differs, or goes deeper than the first.

    Raises:
        StructureError: It does.
    """
    if column is None:
        found = differences(treedef._code, other, view)
    elif view.leaf_types.issuperset(map(type, column)):
        return
    else:
        found = deeper(
            treedef._code,
            other,
            view,
            lambda path, node: asks_to_stop(stop, node, path),
            "strict=True takes no tree that is deeper than the first",
        )
    if column is None or found:
        raise mismatch_error(
            found,
            subject=f"tree {index} does not have the structure of the first tree",
            tree_index=index,
        )

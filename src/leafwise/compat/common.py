"""What stand-ins share: traversals, named tuples, and what is kept of treedefs.

The engine gives one treedef to all trees of a structure that it knows, so what follows
from a structure has to be worked out once. Treedefs are told apart by identity: equal
ones may have keys that print in other ways.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import ref

from ..core.keypath import KeyPath
from ..core.treedef import PyTreeDef
from ..ops.context import Context
from ..ops.traversal import SKIP, Visiting


__all__ = [
    "does_no_more_than_hold",
    "kept_by_treedef",
    "traversed",
]

T = TypeVar("T")


def does_no_more_than_hold(cls: Any) -> bool:
    """Return whether calling a named tuple class does no more than to fill it.

    Example:
        >>> from collections import namedtuple
        >>> from leafwise.compat.common import does_no_more_than_hold
        >>> Point = namedtuple("Point", "x y")
        >>> does_no_more_than_hold(Point)
        True
        >>> does_no_more_than_hold(type("Sub", (Point,), {"__new__": lambda *a: None}))
        False
    """
    home = next((base for base in cls.__mro__ if "_fields" in vars(base)), cls)
    return (
        callable(getattr(cls, "_make", None))
        and cls.__dictoffset__ == 0
        and "__new__" in vars(home)
        and cls.__new__ is home.__new__
        and cls.__init__ is object.__init__
    )


def kept_by_treedef(work_out: Callable[[PyTreeDef], T]) -> Callable[[PyTreeDef], T]:
    """Return a function that works something out once for each treedef.

    Args:
        work_out: Takes a treedef; what it returns must neither be changed nor have
            hold of the treedef.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.compat.common import kept_by_treedef
        >>> texts = kept_by_treedef(lambda treedef: [str(p) for p in treedef.paths()])
        >>> treedef = lw.tree_structure([1, {"a": 2}])
        >>> texts(treedef), texts(treedef) is texts(treedef)
        (['[0]', "[1]['a']"], True)
    """
    known: dict[int, tuple[ref[PyTreeDef], T]] = {}

    def find(treedef: PyTreeDef) -> T:
        place = id(treedef)
        found = known.get(place)
        if found is not None and found[0]() is treedef:
            return found[1]
        made = work_out(treedef)
        known[place] = ref(treedef, lambda gone: _drop(known, place, gone)), made
        return made

    return find


def _drop(known: dict[int, tuple[ref[PyTreeDef], T]], place: int, gone: object) -> None:
    """Forget a treedef, unless another one has its place by now."""
    found = known.get(place)
    if found is not None and found[0] is gone:
        known.pop(place, None)


# ------------------------------------------------------------------------- traversals


def traversed(
    fn: Callable[[KeyPath, Any], Any],
    tree: Any,
    top_down: bool,
    context: Context,
    is_none: Callable[[Any], bool],
) -> Any:
    """Call a function on each node and leaf, and return the resulting tree.

    All nodes that are gone through are made anew.

    Args:
        fn: Takes the path and a node. None leaves it as it is; anything else is put in
            its place.
        tree: The tree.
        top_down: Whether `fn` is called before the children, which are not gone into if
            it replaces the node; otherwise after them, with the new node.
        context: What is a node.
        is_none: Of what `fn` returns, whether it stands for None.

    Raises:
        CycleError: The tree contains itself.

    Example:
        >>> from leafwise.compat.common import traversed
        >>> from leafwise.ops.context import context_of
        >>> def short(path, node):
        ...     return len(node) if isinstance(node, tuple) else None
        >>> context = context_of(None, False, True)
        >>> traversed(short, [(1, 2), 3], True, context, lambda found: False)
        [2, 3]
    """

    def visit(node: Any, path: KeyPath, _parent: Any) -> Any:
        found = fn(path, node)
        if found is None:
            return node
        return SKIP(None if is_none(found) else found)

    enter, leave = (visit, None) if top_down else (None, visit)
    return Visiting(tree, enter, leave, context, anew=True).run()

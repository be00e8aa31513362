"""What stand-ins share: traversals, named tuples, and what is kept of treedefs.

The engine gives one treedef to all trees of a structure that it knows, so what follows
from a structure has to be worked out once. Treedefs are told apart by identity: equal
ones may have keys that print in other ways.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar
from weakref import ref

from ..core.node import Rule
from ..core.treedef import PyTreeDef
from ..errors import CycleError


__all__ = [
    "KEEP",
    "does_no_more_than_hold",
    "kept_by_treedef",
    "traversed",
]

T = TypeVar("T")
Path = tuple[Any, ...]


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


KEEP: Final = object()
"""What a function given to `traversed` returns to leave a node as it is."""


def traversed(
    fn: Callable[[Path, Any], Any],
    tree: Any,
    top_down: bool,
    rule_of: Callable[[Any], Rule | None],
) -> Any:
    """Call a function on each node and leaf, and return what comes of a tree.

    All nodes that are gone through are made anew.

    Args:
        fn: Takes the path and a node; returns what to put in its place, or `KEEP`.
        tree: The tree.
        top_down: Whether `fn` is called before the children, which are not gone into if
            it replaces the node; otherwise after them, with the new node.
        rule_of: Takes a node, returns its rule, None for a leaf.

    Raises:
        CycleError: The tree contains itself.

    Example:
        >>> from leafwise.compat.common import KEEP, traversed
        >>> import leafwise as lw
        >>> def short(path, node):
        ...     return len(node) if isinstance(node, tuple) else KEEP
        >>> traversed(short, [(1, 2), 3], True, lambda node: lw.lookup(type(node)))
        [2, 3]
    """
    return _Traversal(fn, top_down, rule_of).run(tree)


class _Traversal:
    """The state of one traversal: the nodes between the root and where it is."""

    def __init__(
        self,
        fn: Callable[[Path, Any], Any],
        top_down: bool,
        rule_of: Callable[[Any], Rule | None],
    ) -> None:
        self.fn = fn
        self.top_down = top_down
        self.rule_of = rule_of
        self.frames: list[_Frame] = []
        self.on_path: set[int] = set()

    def run(self, tree: Any) -> Any:
        """Return what comes of a tree."""
        result = self._arrive((), tree)
        while self.frames:
            frame = self.frames[-1]
            if result is not _BELOW:
                frame.done.append(result)
            place = len(frame.done)
            if place < len(frame.children):
                path = (*frame.path, frame.keys[place])
                result = self._arrive(path, frame.children[place])
            else:
                result = self._depart(self.frames.pop())
        return result

    def _arrive(self, path: Path, node: Any) -> Any:
        """Return what stands for a node, or `_BELOW` if its children come first."""
        answer = self.fn(path, node) if self.top_down else KEEP
        if answer is not KEEP:
            return answer
        rule = self.rule_of(node)
        if rule is None:
            return node if self.top_down else self._replaced(path, node)
        if id(node) in self.on_path:
            raise CycleError(f"the tree contains itself, at path {path}")
        self.on_path.add(id(node))
        self.frames.append(_Frame(path, node, rule))
        return _BELOW

    def _depart(self, frame: _Frame) -> Any:
        self.on_path.discard(id(frame.node))
        made = frame.rule.unflatten(frame.aux, frame.done)
        return made if self.top_down else self._replaced(frame.path, made)

    def _replaced(self, path: Path, node: Any) -> Any:
        answer = self.fn(path, node)
        return node if answer is KEEP else answer


_BELOW: Final = object()


class _Frame:
    """A node whose children are being traversed."""

    __slots__ = ("aux", "children", "done", "keys", "node", "path", "rule")

    def __init__(self, path: Path, node: Any, rule: Rule) -> None:
        self.path, self.node, self.rule = path, node, rule
        self.children, self.aux = rule.flatten(node)
        keys = rule.keys(self.aux, len(self.children))
        self.keys = [key.entry for key in keys]
        self.done: list[Any] = []

"""Contexts: what one operation walks by.

Owns the reading of the arguments that operations share (`is_leaf`, `namespace`, and in
some `is_leaf_takes_path` and `none_is_leaf`) and what operations ask of them: the
leaves and the structure of a tree, and which rule a node has. Trees are handed to the
engine first, to the walk if the engine does not know them.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, UnionType
from typing import TYPE_CHECKING, Any, Final

from .._hooks import hooks
from .._text import typed_repr
from .keypath import KeyPath
from .keys import DictKey, SequenceKey
from .matching import Difference, differences, mismatch_error
from .node import Rule
from .registry import GLOBAL, View, current, view_of
from .treedef import PyTreeDef, make_treedef
from .walk import ROOT, PathPredicate, Predicate, flatten


if TYPE_CHECKING:
    from .._typing import IsLeaf


def predicate(is_leaf: IsLeaf, takes_path: bool = False) -> Predicate:
    """Convert the argument `is_leaf` to a predicate, or None.

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
        asked: Any = is_leaf  # of the value, or of the path and the value
        return PathPredicate(asked) if takes_path else asked
    raise TypeError(
        "is_leaf must be a predicate, a type or a tuple of types, "
        f"got {typed_repr(is_leaf)}"
    )


def flatten_by(tree: Any, view: View, stop: Any) -> tuple[list[Any], PyTreeDef]:
    """Return leaves and treedef of a tree, by the fastest way that is known.

    Args:
        tree: The tree.
        view: The rules.
        stop: A predicate, a narrower view or None.
    """
    cls = type(tree)
    if stop is None:
        hot = view.hot.get(cls)
        if hot is not None:
            found = hot(tree)
            if found is not None:
                return found
        elif cls in view.leaf_types:
            return [tree], view.leaf_treedef or make_treedef((), 1, view)
    elif type(stop) is View:
        return flatten_by(tree, stop, None)
    elif type(stop) is not PathPredicate:
        asked = view.asked.get(cls)
        if asked is not None:
            found = asked(tree, stop)
            if found is not None:
                return found
    leaves, code = flatten(tree, view, stop)
    treedef = make_treedef(code, len(leaves), view)
    observe = hooks.observe
    if observe is not None and code and type(stop) is not PathPredicate:
        observe(tree, leaves, treedef, view, stop)
    return leaves, treedef


class Context:
    """Which values are nodes, and the rules that flatten them.

    Attributes:
        view: The rules.
        stop: A predicate that makes leaves of nodes, or None.
        root: The path to what is walked, if that is a part of a tree.
    """

    __slots__ = ("root", "stop", "view")

    def __init__(
        self, view: View, stop: Any = None, root: KeyPath | None = None
    ) -> None:
        self.view: View = view
        self.stop: Predicate = stop
        self.root: KeyPath = ROOT if root is None else root

    def flatten(self, tree: Any) -> tuple[list[Any], PyTreeDef]:
        """Return leaves and treedef of a tree, by the fastest way that is known."""
        return flatten_by(tree, self.view, self.stop)

    def columns(
        self,
        tree: Any,
        rest: tuple[Any, ...],
        strict: bool = False,
        with_paths: bool = False,
    ) -> tuple[list[list[Any]], PyTreeDef]:
        """Return the arguments for a map over several trees, and the treedef.

        One list for each argument: the key paths, if `with_paths` is set, the leaves of
        the first tree, and what each further tree has at their places. The predicate is
        asked of the first tree; with `strict`, also of what the others have there.

        Raises:
            StructureError: A further tree does not have the structure of the first.
        """
        leaves, treedef = flatten_by(tree, self.view, self.stop)
        columns: list[list[Any]] = [leaves]
        for other in rest:
            column = treedef._match(other)
            if column is None or strict:
                self._check_column(column, treedef, other, len(columns))
            columns.append(column)  # type: ignore[arg-type]  # checked
        if with_paths:
            columns.insert(0, treedef._runner.known_paths or treedef.paths())
        return columns, treedef

    def _check_column(
        self, column: list[Any] | None, treedef: PyTreeDef, other: Any, index: int
    ) -> None:
        """Raise an error for a further tree that differs or goes deeper than the first.

        Raises:
            StructureError: A further tree differs or goes deeper.
        """
        if column is None:
            found = differences(treedef._code, other, self.view)
        elif self.view.leaf_types.issuperset(map(type, column)):
            return
        else:
            hint = "strict=True accepts no tree that is deeper than the first"
            found = self.deeper(treedef, other, hint)
        if column is None or found:
            subject = f"tree {index} does not have the structure of the first tree"
            raise mismatch_error(found, subject=subject, tree_index=index)

    def deeper(self, treedef: PyTreeDef, tree: Any, hint: str) -> list[Difference]:
        """Return where a tree goes deeper than a structure that it has."""
        stops = lambda path, node: self.stops_at(node, path)  # noqa: E731
        return differences(treedef._code, tree, self.view, stops, hint)

    def stops_at(self, node: Any, link: Any = ROOT) -> bool:
        """Return whether the predicate makes a leaf of a value.

        Args:
            node: The value.
            link: The path to it, or a linked list of its keys.
        """
        stop = self.stop
        if isinstance(stop, PathPredicate):
            return bool(stop.function(path_of(link), node))
        return stop is not None and bool(stop(node))

    def rule_of(self, node: Any, link: Any = ()) -> Rule | None:
        """Return the rule of a node, None for a leaf.

        Args:
            node: The node.
            link: The path to it, or a linked list of its keys.
        """
        if self.stop is not None and self.stops_at(node, link):
            return None
        return self.view.resolve(type(node))

    def also_stopping(self, test: Callable[[Any], bool]) -> Context:
        """Return the context in which values that pass a test are leaves as well."""
        stop: Any = self.stop
        either = lambda node: test(node) or stop(node)  # noqa: E731
        return type(self)(self.view, test if stop is None else either, self.root)

    def below(self, path: KeyPath) -> Context:
        """Return the context for the subtree at a path, whose paths begin there."""
        if not path:
            return self
        return type(self)(self.view, self.stop, self.root + path)


def path_of(link: Any) -> KeyPath:
    """Return a path that is given as a linked list of keys, or is one already.

    In such a list a string is a dict's key, and an int a position.
    """
    if isinstance(link, KeyPath):
        return link
    keys: list[Any] = []
    while link:
        link, key = link
        cls: Any = _CLASSES.get(type(key))
        keys.append(key if cls is None else cls(key))
    return KeyPath(keys[::-1])


_CLASSES: Final[dict[type, type]] = {str: DictKey, int: SequenceKey}
"""The classes of keys that are bare in a linked list."""


def context_of(
    is_leaf: IsLeaf = None,
    takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Context:
    """Return the context that the arguments of an operation describe.

    Raises:
        NamespaceError: Nobody declared the namespace.
        TypeError: `is_leaf` is neither a predicate, nor a type, nor types.
    """
    if namespace is GLOBAL and none_is_leaf is False:
        view = current.view
    else:
        key = namespace, none_is_leaf
        view = current.state.views.get(key) or view_of(namespace, none_is_leaf)
    if is_leaf is None:
        return view.context or plain_context(view)
    if type(is_leaf) is FunctionType and not takes_path:
        return Context(view, is_leaf)
    return stopping_context(view, is_leaf, takes_path)


def flattened(
    tree: Any, is_leaf: IsLeaf, takes_path: bool, none_is_leaf: bool, namespace: str
) -> tuple[list[Any], PyTreeDef]:
    """Return leaves and treedef of a tree, by the arguments of an operation."""
    is_plain = is_leaf is None or (type(is_leaf) is FunctionType and not takes_path)
    if is_plain and namespace is GLOBAL and none_is_leaf is False:
        return flatten_by(tree, current.view, is_leaf)
    return context_of(is_leaf, takes_path, none_is_leaf, namespace).flatten(tree)


def plain_context(view: View) -> Context:
    """Return the context in which nothing but the rules decides, made once a view."""
    if view.context is None:
        view.context = Context(view)
    return view.context  # type: ignore[no-any-return]  # set just above


def stopping_context(view: View, is_leaf: IsLeaf, takes_path: bool = False) -> Context:
    """Return the context in which a predicate or classes make leaves of nodes.

    The predicate for classes whose instances are just those of their subclasses is
    a view in which these are leaves, so that `flatten` has nothing to ask.

    Raises:
        TypeError: `is_leaf` is neither a predicate, nor a type, nor types.
    """
    stops: Any = is_leaf if type(is_leaf) is tuple else (is_leaf,)
    if is_leaf is None or not all(type(cls) is type for cls in stops):
        return Context(view, predicate(is_leaf, takes_path))
    narrowed = view.narrowed(stops)
    if narrowed.context is None:
        narrowed.context = Context(view, narrowed)
    return narrowed.context  # type: ignore[no-any-return]  # set just above

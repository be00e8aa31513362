"""Contexts: what is a node for one operation, and the fastest way through a tree.

A context is made of the arguments that operations share: `is_leaf`, `namespace`, and in
some `is_leaf_takes_path` and `none_is_leaf`. `flatten_by`, `leaves_by` and `map_by`
choose the way: a function that the engine compiled, if one knows the tree, or the walk.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, UnionType
from typing import TYPE_CHECKING, Any

from .._hooks import hooks
from .._text import FAULTS, typed_repr
from .keypath import ROOT, KeyPath, Link
from .matching import (
    Difference,
    differences,
    is_prefix,
    mismatch_error,
    nth_tree,
)
from .node import NodeType
from .reasons import unexpected_leaf
from .registry import GLOBAL, View, current, view_of
from .treedef import (
    PyTreeDef,
    code_of,
    make_treedef,
    map_one,
    match_tree,
    shared_paths,
)
from .walk import (
    Entry,
    PathPredicate,
    Predicate,
    locate,
    map_tree,
    note_argument_order,
    read,
)


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
    # `list[int]` can be called, but not to ask it
    if callable(is_leaf) and not hasattr(is_leaf, "__origin__"):
        function: Any = is_leaf  # of the value, or of the path and the value
        return PathPredicate(function) if takes_path else function
    raise TypeError(
        "is_leaf must be a predicate, a type or a tuple of types, "
        f"got {typed_repr(is_leaf)}"
    )


def flatten_by(tree: Any, view: View, stop: Any) -> tuple[list[Any], PyTreeDef]:
    """Return leaves and treedef of a tree, by the fastest way that there is.

    Args:
        tree: The tree.
        view: The node types.
        stop: A predicate, a narrower view or None.
    """
    result: Any = None
    if stop is None:
        compiled = view.hot.get(type(tree))
        if compiled is not None:
            result = compiled(tree)
        elif type(tree) in view.leaf_types:
            return [tree], view.leaf_treedef or make_treedef((), 1, view)
    elif type(stop) is View:  # its stops are its leaf types: nothing is asked
        return flatten_by(tree, stop, None)
    elif type(stop) is not PathPredicate:
        asking = view.asked.get(type(tree))
        if asking is not None:
            result = asking(tree, stop)
    if result is None:
        return read_tree(tree, view, stop)
    return result  # type: ignore[no-any-return]  # of a compiled function


def flatten_compiled(
    tree: Any, view: View, stop: Any
) -> tuple[list[Any], PyTreeDef] | None:
    """Return leaves and treedef of a tree whose structure is compiled.

    Args:
        tree: The tree.
        view: The node types.
        stop: A predicate, a narrower view or None.

    Returns:
        None for almost all other trees: some are walked, for the engine to count them.
    """
    if type(stop) is View:
        return flatten_compiled(tree, stop, None)
    if type(stop) is PathPredicate:
        return None
    compiled: Any
    result: tuple[list[Any], PyTreeDef] | None = None
    if stop is None:
        compiled = view.hot.get(type(tree))
        if compiled is not None:
            result = compiled(tree)
    else:
        compiled = view.asked.get(type(tree))
        if compiled is not None:
            result = compiled(tree, stop)
    if result is not None:
        return result
    if hooks.skip > 0:
        hooks.skip -= 1
        return None
    return read_tree(tree, view, stop)


def read_tree(
    tree: Any,
    view: View,
    stop: Predicate,
) -> tuple[list[Any], PyTreeDef]:
    """Return leaves and treedef of a tree by the walk, which the engine may note."""
    nodes: list[Entry] = []
    leaves = read(tree, view, nodes, stop)
    if not nodes:
        return leaves, make_treedef((), 1, view)
    # with the bare list of nodes: most treedefs are never asked for their code
    treedef = PyTreeDef._make(nodes, len(leaves), view.mode)
    if hooks.skip > 0:  # counted here: to call the engine each time would take time
        hooks.skip -= 1
    elif type(stop) is not PathPredicate:
        hooks.observe(tree, leaves, treedef, view, stop)
    return leaves, treedef


def leaves_by(tree: Any, view: View) -> list[Any]:
    """Return the leaves of a tree, by the fastest way that there is."""
    cls = type(tree)
    compiled = view.hot.get(cls)
    result = None if compiled is None else compiled(tree)
    if result is not None:
        return result[0]
    if cls in view.leaf_types:
        return [tree]
    if hooks.skip > 0:
        hooks.skip -= 1
        return read(tree, view)
    leaves, _ = read_tree(tree, view, None)
    return leaves


def map_by(function: Callable[[Any], Any], tree: Any, view: View) -> Any:
    """Call a function on each leaf of one tree, by the fastest way that there is.

    Returns:
        The results in the same structure.
    """
    cls = type(tree)
    compiled = view.hot.get(cls)
    result = None if compiled is None else compiled(tree)
    if result is None:
        if cls in view.leaf_types:
            return _map_leaf(function, tree, view)
        if hooks.skip > 0:
            hooks.skip -= 1
            return map_tree(function, tree, view)
        result = read_tree(tree, view, None)
    leaves, treedef = result
    return map_one(function, leaves, treedef)


def _map_leaf(function: Callable[[Any], Any], leaf: Any, view: View) -> Any:
    """Call a function on a tree that is a leaf."""
    try:
        return function(leaf)
    except Exception as error:
        note_argument_order(error, function)
        locate(error, ROOT, unexpected_leaf(leaf, view))
        raise


class Context:
    """Which values are nodes, and the node types that flatten them.

    Attributes:
        view: The node types.
        stop: A predicate that makes leaves of nodes, or None.
        root: The path to what is walked, if that is a part of a tree.
    """

    __slots__ = ("root", "stop", "view")

    def __init__(
        self,
        view: View,
        stop: Any = None,
        root: KeyPath | None = None,
    ) -> None:
        self.view: View = view
        self.stop: Predicate = stop
        self.root: KeyPath = ROOT if root is None else root

    def flatten(self, tree: Any) -> tuple[list[Any], PyTreeDef]:
        """Return leaves and treedef of a tree, by the fastest way that there is."""
        return flatten_by(tree, self.view, self.stop)

    def flatten_compiled(self, tree: Any) -> tuple[list[Any], PyTreeDef] | None:
        """Return leaves and treedef of a tree if its structure is compiled, or None."""
        return flatten_compiled(tree, self.view, self.stop)

    def leaves(self, tree: Any) -> list[Any]:
        """Return the leaves of a tree, by the fastest way that there is."""
        if self.stop is None:
            return leaves_by(tree, self.view)
        leaves, _ = flatten_by(tree, self.view, self.stop)
        return leaves

    def map(self, function: Callable[[Any], Any], tree: Any) -> Any:
        """Call a function on each leaf of one tree; return the results as a tree."""
        if self.stop is None:
            return map_by(function, tree, self.view)
        leaves, treedef = flatten_by(tree, self.view, self.stop)
        return map_one(function, leaves, treedef)

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
        columns = [leaves]
        for other in rest:
            # by the structure of the first, so that the other may go deeper
            column = match_tree(treedef, other)
            if column is None or strict:
                self._check_column(column, treedef, other, len(columns))
            columns.append(column)  # type: ignore[arg-type]  # checked
        if with_paths:
            columns.insert(0, shared_paths(treedef))
        return columns, treedef

    def _check_column(
        self,
        column: list[Any] | None,
        treedef: PyTreeDef,
        other: Any,
        index: int,
    ) -> None:
        """Raise an error for a further tree that differs or goes deeper than the first.

        Raises:
            StructureError: A further tree differs or goes deeper.
        """
        hint = ""
        if column is None:
            places = differences(code_of(treedef), other, self.view)
            has_hint = any(place.hint for place in places)
            if not has_hint and _is_prefix(other, treedef, self.view):
                hint = (
                    f"{nth_tree(index)} is a prefix of the first; if each of its "
                    "leaves is meant for all that is below, call tree_broadcast_prefix "
                    "first, or tree.broadcast_map"
                )
        elif self.view.leaf_types.issuperset(map(type, column)):
            return  # none goes deeper, the usual case
        else:
            deeper_hint = "strict=True accepts no tree that is deeper than the first"
            places = self.deeper(treedef, other, deeper_hint)
        if column is None or places:
            name = nth_tree(index)
            raise mismatch_error(
                places,
                subject=f"{name} does not have the structure of the first tree",
                tree_index=index,
                hint=hint,
            )

    def deeper(
        self,
        treedef: PyTreeDef,
        tree: Any,
        hint: str,
    ) -> list[Difference]:
        """Return where a tree goes deeper than a structure that it has."""

        def is_leaf(path: KeyPath, node: Any) -> bool:
            return self.stops_at(node, path)

        return differences(code_of(treedef), tree, self.view, is_leaf, hint)

    def stops_at(self, node: Any, place: KeyPath | Link = ROOT) -> bool:
        """Return whether the predicate makes a leaf of a value.

        Args:
            node: The value.
            place: Its path, or a link.
        """
        stop = self.stop
        if isinstance(stop, PathPredicate):
            return bool(stop.function(path_of(place), node))
        return stop is not None and bool(stop(node))

    def node_type_of(self, node: Any, place: KeyPath | Link = ROOT) -> NodeType | None:
        """Return the node type of a node, None for a leaf.

        Args:
            node: The node.
            place: Its path, or a link.
        """
        if self.stop is not None and self.stops_at(node, place):
            return None
        return self.view.resolve(type(node))

    def also_stopping(self, test: Callable[[Any], bool]) -> Context:
        """Return the context in which values that pass a test are leaves as well."""
        stop: Any = self.stop
        if stop is None:
            return Context(self.view, test, self.root)

        def stops(node: Any) -> bool:
            return test(node) or stop(node)

        return Context(self.view, stops, self.root)

    def below(self, path: KeyPath) -> Context:
        """Return the context for the subtree at a path, whose paths begin there."""
        if not path:
            return self
        return Context(self.view, self.stop, self.root + path)


def _is_prefix(tree: Any, treedef: PyTreeDef, view: View) -> bool:
    """Return whether a tree is a prefix of a structure, and can be read at all."""
    try:
        _, prefix = flatten_by(tree, view, None)
    except FAULTS:  # it contains itself, or a function of its class fails
        return False
    return is_prefix(code_of(prefix), code_of(treedef))


def path_of(place: KeyPath | Link) -> KeyPath:
    """Return the path of a place, which is the path itself or a link."""
    return place if isinstance(place, KeyPath) else place.path()


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
        key = (namespace, none_is_leaf)
        view = current.state.views.get(key) or view_of(*key)
    if is_leaf is None:
        return view.context or plain_context(view)
    if type(is_leaf) is FunctionType and not takes_path:  # most predicates are
        return Context(view, is_leaf)
    return stopping_context(view, is_leaf, takes_path)


def flatten_tree(
    tree: Any,
    is_leaf: IsLeaf,
    takes_path: bool,
    none_is_leaf: bool,
    namespace: str,
) -> tuple[list[Any], PyTreeDef]:
    """Return leaves and treedef of a tree, by the arguments of an operation."""
    is_plain = is_leaf is None or (type(is_leaf) is FunctionType and not takes_path)
    if is_plain and namespace is GLOBAL and none_is_leaf is False:
        return flatten_by(tree, current.view, is_leaf)
    return context_of(is_leaf, takes_path, none_is_leaf, namespace).flatten(tree)


def plain_context(view: View) -> Context:
    """Return the context in which only the node types decide, made once a view."""
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
    stops: Any = (is_leaf,)
    if type(is_leaf) is tuple:
        stops = is_leaf
    # a class with a metaclass may say otherwise what its instances are
    if is_leaf is None or not all(type(cls) is type for cls in stops):
        return Context(view, predicate(is_leaf, takes_path))
    narrowed = view.narrowed(stops)
    if narrowed.context is None:
        narrowed.context = Context(view, narrowed)
    return narrowed.context  # type: ignore[no-any-return]  # set just above

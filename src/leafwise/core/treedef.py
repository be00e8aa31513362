"""`PyTreeDef`: the structure of a tree, as a value.

It can be built into trees, compared with other structures, hashed, printed and
pickled. A treedef holds one flat code (see
`walk`), never a nest of objects, so that no operation on it depends on how deep the
tree was. It keeps the node types of its nodes: a class that is registered again does
not change it.

A treedef is walked through its `Runner`. The reference runner does so by the code.
The engine fills in slots of `_hooks`, and gives single treedefs runners of their own;
nothing here knows who that is, and without anybody everything works, slower.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, repeat
from operator import length_hint
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, final

from .._hooks import Displayable, hooks
from .._runtime import late_imports
from .._text import short_repr, typed_repr
from ..errors import NamespaceError, TreeDefError
from . import words
from .keypath import ROOT, KeyPath
from .matching import (
    Difference,
    Steps,
    code_differences,
    code_text,
    common_suffix,
    differences,
    is_prefix,
    leaf_count_error,
    mismatch_error,
    same_code,
)
from .node import NodeType
from .reasons import unexpected_leaf
from .registry import GLOBAL, Mode, View, view_of
from .walk import (
    Code,
    Entry,
    Step,
    flatten,
    flatten_up_to,
    iter_steps,
    leaf_path,
    leaf_paths,
    locate,
    note_argument_order,
    pack,
    rebuild,
    settle,
)


if TYPE_CHECKING:
    from .._typing import Tree_co
else:
    Tree_co = TypeVar("Tree_co", covariant=True)


# ------------------------------------------------------------------------- runners


class Runner:
    """How trees of a structure are flattened and unflattened.

    Attributes:
        unflatten: Takes a treedef and a list of as many leaves, returns a tree.
        flatten_up_to: Takes a treedef and a tree, returns what stands at the leaves of
            the treedef, or None if it does not know; the reference always does,
            so its None says that the tree does not have the structure.
        paths: Takes a treedef, returns the key paths of its leaves.
        known_paths: What `paths` returns, once it is known to be always the same; not
            to be changed.
        memo: What follows from the structure alone, under keys of those who keep it
            here; None if nothing is kept.
        varying: The positions in the code of nodes whose aux data differs between
            treedefs with this runner.
    """

    __slots__ = (
        "flatten_up_to",
        "known_paths",
        "memo",
        "paths",
        "unflatten",
        "varying",
    )

    unflatten: Callable[[Any, list[Any]], Any]
    flatten_up_to: Callable[[Any, Any], list[Any] | None]
    paths: Callable[[Any], list[KeyPath]]

    def __init__(
        self,
        unflatten: Callable[[Any, list[Any]], Any],
        flatten_up_to: Callable[[Any, Any], list[Any] | None],
        paths: Callable[[Any], list[KeyPath]],
    ) -> None:
        self.unflatten = unflatten
        self.flatten_up_to = flatten_up_to
        self.paths = paths
        self.known_paths: list[KeyPath] | None = None
        self.memo: dict[Any, Any] | None = None
        self.varying: tuple[int, ...] = ()


def _unflatten(treedef: Any, leaves: list[Any]) -> Any:
    return rebuild(treedef._code, leaves)


def _flatten_up_to(treedef: Any, tree: Any) -> list[Any] | None:
    return flatten_up_to(treedef._code, tree)


def _paths(treedef: Any) -> list[KeyPath]:
    return leaf_paths(treedef._code, treedef._count)


def _unflatten_leaf(_treedef: Any, leaves: list[Any]) -> Any:
    return leaves[0]


def _flatten_up_to_leaf(_treedef: Any, tree: Any) -> list[Any]:
    return [tree]


reference: Final = Runner(_unflatten, _flatten_up_to, _paths)
"""Runs any structure by its code."""
hooks.runner = reference

leaf_runner: Final = Runner(_unflatten_leaf, _flatten_up_to_leaf, _paths)
"""Runs the structure of a bare leaf."""
leaf_runner.known_paths = [ROOT]


# ------------------------------------------------------------------------ treedefs


@final
class PyTreeDef(Displayable, Generic[Tree_co]):
    """The structure of a tree: its nodes and their aux data, without the leaves.

    `tree_structure` and `tree_flatten` return treedefs. They are immutable, comparable,
    hashable and picklable. Two treedefs are equal if the same registrations flatten the
    trees to the same nodes with the same aux data. Dicts are compared by their keys, in
    any order.

    Example:
        >>> import leafwise as lw
        >>> treedef = lw.tree_structure({"b": (1, None), "a": 2})
        >>> treedef
        PyTreeDef({'a': *, 'b': (*, None)})
        >>> treedef.num_leaves, treedef.num_nodes
        (2, 5)
        >>> treedef.unflatten(["x", "y"])
        {'b': ('y', None), 'a': 'x'}
    """

    __slots__ = (
        "__weakref__",
        "_count",
        "_hash",
        "_mode",
        "_nodes",
        "_runner",
        "_uses",
    )

    _count: int
    _hash: int | None
    _mode: Mode
    _nodes: Sequence[Entry]  # a list that a walk noted, or the code: a tuple
    _runner: Runner
    _uses: int  # counted by the engine while the structure is not compiled

    def __init__(self) -> None:
        raise TypeError(
            "a PyTreeDef is made from a tree: use leafwise.tree_structure(tree)"
        )

    @staticmethod
    def _make(nodes: Sequence[Entry], count: int, mode: Mode) -> PyTreeDef:
        """Return the treedef of a code, or of a list of nodes that a walk noted."""
        treedef = object.__new__(PyTreeDef)  # a class method would take longer
        treedef._nodes = nodes
        treedef._count = count
        treedef._mode = mode
        treedef._hash = None
        # a structure without nodes is a leaf, which needs no code to be built
        treedef._runner = hooks.runner if nodes else leaf_runner
        treedef._uses = 0
        return treedef

    @property
    def _code(self) -> Code:
        """The code, settled when somebody first asks for it."""
        nodes = self._nodes
        if type(nodes) is list:
            # One slot, written in one step: of two threads each settles the same.
            nodes = settle(nodes)
            self._nodes = nodes
        return nodes

    @classmethod
    def _of(cls, steps: Iterable[Step], mode: Mode) -> PyTreeDef:
        all_steps = list(steps)
        return cls._make(pack(all_steps), all_steps.count(None), mode)

    # -------------------------------------------------------------- reading

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return self._count

    @property
    def num_nodes(self) -> int:
        """The number of nodes, including leaves and None."""
        return self._count + len(self._code)

    @property
    def num_children(self) -> int:
        """The number of children of the root."""
        return self._code[-1][2] if self._code else 0

    @property
    def type(self) -> builtins.type | None:
        """The class of the root node, None for a leaf.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_structure([1]).type, lw.tree_structure(1).type
            (<class 'list'>, None)
        """
        if not self._code:
            return None
        _, node_type, _, aux = self._code[-1]
        return node_type.class_of(aux)

    @property
    def none_is_leaf(self) -> bool:
        """Whether None counts as a leaf."""
        return self._mode.none_is_leaf

    @property
    def namespace(self) -> str:
        """The namespace that the tree was flattened in."""
        return self._mode.namespace

    def node_data(self) -> tuple[Any, Any] | None:
        """Return the class and the aux data of the root, None for a leaf.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_structure({"b": 1, "a": 2}).node_data()
            (<class 'dict'>, ['a', 'b'])
        """
        if not self._code:
            return None
        _, node_type, _, aux = self._code[-1]
        cls = node_type.class_of(aux)
        # of a family such as named tuples, the class is all there is, as in jax
        return cls, words.node_data(node_type, aux) if cls is node_type.cls else None

    def is_leaf(self, *, strict: bool = True) -> bool:
        """Return whether this is the structure of a single leaf.

        Args:
            strict: If False, a node without children counts as well, as in
                `jax.tree_util.treedef_is_leaf`.

        Example:
            >>> import leafwise as lw
            >>> empty = lw.tree_structure(())
            >>> empty.is_leaf(), empty.is_leaf(strict=False)
            (False, True)
        """
        if not self._nodes:
            return True
        return not strict and self.num_nodes == 1

    def children(self) -> list[PyTreeDef]:
        """Return the treedefs of the root's children.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_structure([1, (2, 3)]).children()
            [PyTreeDef(*), PyTreeDef((*, *))]
        """
        if not self._code:
            return []
        steps = Steps(self._code)
        return [
            self._of(steps.subtree(index), self._mode)
            for index in steps.children(steps.root)
        ]

    def entries(self) -> tuple[Any, ...]:
        """Return the keys of the root's children.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_structure({"b": 1, "a": 2}).entries()
            (DictKey(key='a'), DictKey(key='b'))
        """
        if not self._code:
            return ()
        _, node_type, arity, aux = self._code[-1]
        return tuple(node_type.keys(aux, arity))

    def paths(self) -> list[KeyPath]:
        """Return the key path of each leaf, in leaf order.

        Example:
            >>> import leafwise as lw
            >>> [str(path) for path in lw.tree_structure([1, {"a": 2}]).paths()]
            ['[0]', "[1]['a']"]
        """
        return self._runner.paths(self)

    # -------------------------------------------------------------- using

    def unflatten(self, leaves: Iterable[Any]) -> Tree_co:
        """Build a tree from its leaves.

        Args:
            leaves: As many leaves as the treedef has, from left to right; any object
                may be a leaf.

        Raises:
            StructureError: Too few or too many leaves.
            TypeError: `leaves` is not iterable.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_structure({"a": 1, "b": [2]}).unflatten("xy")
            {'a': 'x', 'b': ['y']}
        """
        # a list of the right length, the usual case, is neither copied nor checked
        if type(leaves) is not list or len(leaves) != self._count:
            leaves = self._checked(leaves)
        build = self._runner.unflatten  # a call of the attribute is slower
        return build(self, leaves)  # type: ignore[no-any-return]  # untyped

    def _checked(self, leaves: Any) -> list[Any]:
        """Return the leaves as a list.

        Raises:
            StructureError: There are too few or too many.
        """
        leaf_list = list(islice(leaves, self._count + 1))  # it may be endless
        if len(leaf_list) != self._count:
            actual = str(len(leaf_list)) if len(leaf_list) < self._count else "more"
            if hasattr(leaves, "__len__"):  # the number, where it can be said
                actual = str(len(leaves))
            raise leaf_count_error(self._count, actual, self)
        return leaf_list

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Return the subtree of a tree at each leaf of this structure.

        The tree may go deeper than the structure. Dicts, OrderedDicts and defaultdicts
        match each other by key.

        Args:
            tree: The tree.

        Raises:
            StructureError: The tree does not have this structure.

        Example:
            >>> import leafwise as lw
            >>> treedef = lw.tree_structure([1, {"a": 2}])
            >>> treedef.flatten_up_to([(1, 2), {"a": [3]}])
            [(1, 2), [3]]
        """
        subtrees = match_tree(self, tree)
        if subtrees is None:
            raise mismatch_error(
                differences(self._code, tree, self._view()),
                subject="the tree does not have the structure of the treedef",
            )
        return subtrees

    def _view(self) -> View:
        """Return the view to read trees under, in which this structure was made.

        A namespace that nobody declared here has no registrations of its own, so
        the global registry says the same.
        """
        try:
            return view_of(*self._mode)
        except NamespaceError:
            return view_of(GLOBAL, self.none_is_leaf)

    # -------------------------------------------------------------- folding

    def walk(
        self,
        leaves: Iterable[Any],
        f_node: Callable[[builtins.type, Any, tuple[Any, ...]], Any] | None = None,
        f_leaf: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Fold a structure from the leaves up, without building nodes.

        Args:
            leaves: As many leaves as the structure has.
            f_node: Takes the class, the aux data and the results of the children, and
                returns a result. If omitted, the node is built.
            f_leaf: Called on each leaf first.

        Raises:
            StructureError: Too few or too many leaves.

        Example:
            >>> import leafwise as lw
            >>> depth = lambda cls, data, children: 1 + max(children, default=0)
            >>> lw.tree_structure([1, (2, [3])]).walk("abc", depth, lambda leaf: 0)
            3
        """

        def fold(node_type: Any, aux: Any, children: list[Any]) -> Any:
            if f_node is None:
                return node_type.unflatten(aux, children)
            data = words.node_data(node_type, aux)
            return f_node(node_type.class_of(aux), data, tuple(children))

        return self._fold(leaves, f_leaf, fold)

    def _fold(
        self,
        leaves: Iterable[Any],
        f_leaf: Callable[[Any], Any] | None,
        f_entry: Callable[[Any, Any, list[Any]], Any],
    ) -> Any:
        values = self._checked(leaves)
        if f_leaf is not None:
            values = map_leaves(f_leaf, [values], self)
        stack: list[Any] = []
        values_left = iter(values)
        for step in iter_steps(self._code):
            if step is None:
                stack.append(next(values_left))
                continue
            node_type, arity, aux = step
            split = len(stack) - arity
            stack[split:] = [f_entry(node_type, aux, stack[split:])]
        return stack[0]

    # -------------------------------------------------------------- algebra

    def compose(self, inner: PyTreeDef) -> PyTreeDef:
        """Return this structure with another one at each of its leaves.

        Args:
            inner: The structure to put at each leaf.

        Raises:
            TreeDefError: `inner` is not a treedef or has the other None mode, or both
                have a namespace and these differ.

        Example:
            >>> import leafwise as lw
            >>> pair = lw.tree_structure((1, 2))
            >>> lw.tree_structure([1, 2]).compose(pair)
            PyTreeDef([(*, *), (*, *)])
        """
        mode = joined_mode("compose", (self, inner))
        return self._grafted(repeat(inner), mode)

    def _grafted(self, parts: Iterable[PyTreeDef], mode: Mode) -> PyTreeDef:
        """Return this structure with others at its leaves."""
        steps: list[Step] = []
        parts_left = iter(parts)
        for step in iter_steps(self._code):
            if step is None:
                steps += iter_steps(next(parts_left)._code)
            else:
                steps.append(step)
        return self._of(steps, mode)

    # -------------------------------------------------------------- comparing

    def is_prefix(self, other: PyTreeDef, *, strict: bool = False) -> bool:
        """Return whether this structure is a prefix of another one.

        A prefix is the other structure, cut off at the leaves of this one. Dicts of all
        kinds match each other, and so do deques with any maxlen, as in `flatten_up_to`.
        So two structures may be prefixes of each other without being equal.

        Args:
            other: The other structure.
            strict: Whether the other structure must go deeper somewhere.

        Example:
            >>> import leafwise as lw
            >>> small, large = lw.tree_structure([1, 2]), lw.tree_structure([1, (2, 3)])
            >>> small.is_prefix(large), large.is_prefix(small), small < large
            (True, False, True)
        """
        _check_treedef("is_prefix", other)
        if self.none_is_leaf != other.none_is_leaf:
            return False
        deeper = len(self._code) < len(other._code)
        return (deeper or not strict) and is_prefix(self._code, other._code)

    def __le__(self, other: object) -> bool:
        return self.is_prefix(other) if isinstance(other, PyTreeDef) else NotImplemented

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, PyTreeDef):
            return NotImplemented
        return self.is_prefix(other, strict=True)

    def common_suffix(self, other: PyTreeDef) -> PyTreeDef | None:
        """Return the smallest structure that both are prefixes of, None if none exists.

        Where both have a node, the result has the node of this structure.

        Example:
            >>> import leafwise as lw
            >>> one = lw.tree_structure([1, (2, 3)])
            >>> other = lw.tree_structure([(1,), 2])
            >>> one.common_suffix(other)
            PyTreeDef([(*,), (*, *)])
        """
        mode = joined_mode("common_suffix", (self, other))
        steps = common_suffix(self._code, other._code)
        return None if steps is None else PyTreeDef._of(steps, mode)

    def explain(self, other: Any) -> list[Difference]:
        """Return the differences from another structure, an empty list if it is equal.

        Args:
            other: A treedef, or a tree, which is flattened with the node types of this
                structure.

        Example:
            >>> import leafwise as lw
            >>> for difference in lw.tree_structure({"a": (1,)}).explain({"a": [1]}):
            ...     print(difference)
            at ['a']: expected tuple of length 1, got list of length 1
        """
        if not isinstance(other, PyTreeDef):
            view = self._view()
            leaves, code = flatten(other, view)
            other = make_treedef(code, len(leaves), view)
        differences = code_differences(self._code, other._code)
        if self.none_is_leaf != other.none_is_leaf:
            expected = f"none_is_leaf={self.none_is_leaf}"
            actual = f"none_is_leaf={other.none_is_leaf}"
            differences.insert(0, Difference(KeyPath(), expected, actual))
        return differences

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, PyTreeDef):
            return NotImplemented
        return (
            self._count == other._count
            and len(self._code) == len(other._code)
            and self._mode.none_is_leaf == other._mode.none_is_leaf
            and same_code(self._code, other._code)
        )

    def __hash__(self) -> int:
        if self._hash is None:
            entries = [
                (run, node_type, arity, node_type.hash(aux))
                for run, node_type, arity, aux in self._code
            ]
            self._hash = hash((self._count, self._mode.none_is_leaf, *entries))
        return self._hash

    # -------------------------------------------------------------- text, copies

    def __repr__(self) -> str:
        mode = ", none_is_leaf=True" if self._mode.none_is_leaf else ""
        return f"PyTreeDef({code_text(self._code)}{mode})"

    def to_json(self) -> str:
        """Return a JSON string from which `from_json` makes an equal treedef.

        Classes are written by module and qualified name, and dict keys by their text.
        Aux data must consist of JSON values, containers, dates, paths, dtypes, Enum
        members, classes and functions, or have a codec; see `register_codec`.

        Raises:
            TreeDefError: Something in the treedef cannot be written, or could not be
                read back, such as a class defined in a function. A note names the key
                path.

        Example:
            >>> import leafwise as lw
            >>> print(lw.tree_structure({"a": [1, 2]}).to_json())  # doctest: +ELLIPSIS
            {"leafwise":1,...,"nodes":[[2,"list",2,null],[0,"dict",1,[["'a'"],null]]]}
        """
        with late_imports:
            from .serial import write_json  # and with it json

        return write_json(self._code, self._count, self._mode)

    @classmethod
    def from_json(cls, text: str, *, limit: int = 10_000_000) -> PyTreeDef:
        """Make a treedef from the string that `to_json` returned.

        Nothing that the string names is imported or called.

        Args:
            text: The string.
            limit: The maximum number of characters to read.

        Raises:
            TreeDefError: The string is malformed, too long, or names a class that
                is not registered or loaded.

        Example:
            >>> import leafwise as lw
            >>> treedef = lw.tree_structure({"a": [1, (2, None)]})
            >>> lw.PyTreeDef.from_json(treedef.to_json()) == treedef
            True
        """
        with late_imports:
            from .serial import read_json  # and with it json

        return cls._make(*read_json(text, limit))

    @classmethod
    def leaf(cls, *, none_is_leaf: bool = False, namespace: str = GLOBAL) -> PyTreeDef:
        """Return the treedef of a single leaf.

        Args:
            none_is_leaf: The None mode.
            namespace: The namespace.

        Example:
            >>> import leafwise as lw
            >>> lw.PyTreeDef.leaf()
            PyTreeDef(*)
        """
        return make_treedef((), 1, view_of(namespace, none_is_leaf))

    @classmethod
    def from_children(
        cls, collection: Any, *, none_is_leaf: bool = False, namespace: str = GLOBAL
    ) -> PyTreeDef:
        """Make a treedef of a container whose children are treedefs.

        Args:
            collection: Any node, also an instance of a registered class, with treedefs
                as children.
            none_is_leaf: The None mode.
            namespace: Where to look classes up before the global registry.

        Raises:
            TreeDefError: A child is not a treedef, or their None modes or namespaces
                differ.

        Example:
            >>> import leafwise as lw
            >>> pair = lw.tree_structure((1, 2))
            >>> lw.PyTreeDef.from_children({"a": pair, "b": lw.PyTreeDef.leaf()})
            PyTreeDef({'a': (*, *), 'b': *})
        """
        view = view_of(namespace, none_is_leaf)
        parts, code = flatten(collection, view)
        whole = make_treedef(code, len(parts), view)
        return whole._grafted(parts, joined_mode("from_children", (whole, *parts)))

    @classmethod
    def from_node_data(
        cls,
        node_data: tuple[Any, Any] | None,
        children: Iterable[PyTreeDef],
        *,
        none_is_leaf: bool = False,
        namespace: str = GLOBAL,
    ) -> PyTreeDef:
        """Make a treedef from the results of `node_data` and `children`, or equal ones.

        Args:
            node_data: The class of the root and its aux data, None for a leaf.
            children: The treedefs of its children, in leaf order.
            none_is_leaf: The None mode.
            namespace: Where to look the class up before the global registry.

        Raises:
            TreeDefError: The class is not a node there, or a child is not a treedef.
            ValueError: There are more or fewer children than the aux data has keys.

        Example:
            >>> import leafwise as lw
            >>> treedef = lw.tree_structure({"a": 1, "b": (2, 3)})
            >>> lw.PyTreeDef.from_node_data(treedef.node_data(), treedef.children())
            PyTreeDef({'a': *, 'b': (*, *)})
            >>> lw.PyTreeDef.from_node_data((list, None), [treedef])
            PyTreeDef([{'a': *, 'b': (*, *)}])
        """
        if node_data is None:
            return cls.leaf(none_is_leaf=none_is_leaf, namespace=namespace)
        node_class, data = node_data
        node_type = view_of(namespace, none_is_leaf).resolve(node_class)
        if node_type is None:
            raise TreeDefError(f"{short_repr(node_class)} is not a node class")
        node = words.node_from(node_type, node_class, data, list(children))
        return cls.from_children(node, none_is_leaf=none_is_leaf, namespace=namespace)

    def __copy__(self) -> PyTreeDef:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> PyTreeDef:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        with late_imports:
            from .serial import dump  # and with it json

        return _load, (dump(self._code, self._count, self._mode),)


def make_treedef(nodes: Sequence[Entry], count: int, view: View) -> PyTreeDef:
    """Return the treedef of a code, or of the nodes that a walk noted.

    Args:
        nodes: The code, or the list of nodes; nobody may change the list later.
        count: The number of leaves.
        view: The view that the tree was read under.
    """
    if not nodes:
        if view.leaf_treedef is None:
            view.leaf_treedef = PyTreeDef._make((), 1, view.mode)
        return view.leaf_treedef  # type: ignore[no-any-return]  # set just above
    return PyTreeDef._make(nodes, count, view.mode)


def _load(state: Any) -> PyTreeDef:
    with late_imports:
        from .serial import load  # and with it json

    return PyTreeDef._make(*load(state))


def _check_treedef(who: str, part: object) -> None:
    if not isinstance(part, PyTreeDef):
        raise TreeDefError(f"{who} takes treedefs, got {typed_repr(part)}")


def joined_mode(who: str, parts: tuple[Any, ...]) -> Mode:
    """Return the mode of a structure that is made of others.

    The global registry is part of each namespace, so a structure of a namespace can be
    joined with those of the global one; two namespaces may contradict each other.

    Args:
        who: The name of the function that joins them.
        parts: The structures, at least one.

    Raises:
        TreeDefError: A part is not a treedef, or their modes cannot be joined.
    """
    for part in parts:
        _check_treedef(who, part)
    joined: Mode = parts[0]._mode
    for part in parts:
        if part.none_is_leaf != joined.none_is_leaf:
            raise TreeDefError(
                f"{who} takes treedefs of one None mode: {short_repr(parts[0])} and "
                f"{short_repr(part)} differ in none_is_leaf"
            )
        name = part.namespace
        if name and joined.namespace and name != joined.namespace:
            raise TreeDefError(
                f"{who} takes treedefs of one namespace: {short_repr(part)} is of "
                f"{name!r}, "
                f"what comes before it of {joined.namespace!r}"
            )
        if name:
            joined = part._mode
    return joined


# ------------------------------------------------------------------ for operations


def map_leaves(
    function: Callable[..., Any],
    columns: Sequence[list[Any]],
    treedef: Any,
) -> list[Any]:
    """Call a function on the first leaves of all columns, the second, and so on.

    An exception gains a note with the path of the leaf in the treedef.
    """
    first = iter(columns[0])
    try:
        if len(columns) == 1:
            return [function(leaf) for leaf in first]
        if len(columns) == 2:
            second = columns[1]
            return [function(a, b) for a, b in zip(first, second)]  # noqa: B905  # as many
        return [function(*row) for row in zip(first, *columns[1:], strict=True)]
    except Exception as error:
        locate_call(error, function, columns, treedef, first)
        raise


def map_one(function: Callable[[Any], Any], leaves: list[Any], treedef: Any) -> Any:
    """Call a function on each leaf, and return the results as a tree.

    As `map_columns` of one list does, without its two calls: these take a tenth of the
    time of a map of a small tree.
    """
    leaves_left = iter(leaves)
    try:
        results = [function(leaf) for leaf in leaves_left]
    except Exception as error:
        locate_call(error, function, [leaves], treedef, leaves_left)
        raise
    unflatten = treedef._runner.unflatten
    return unflatten(treedef, results)


def locate_call(
    error: Exception,
    function: Any,
    columns: Sequence[Sequence[Any]],
    treedef: Any,
    leaves_left: Iterator[Any],
) -> None:
    """Add to an error that a mapped function raised for which leaf it was called.

    Args:
        error: The error.
        function: What was called.
        columns: The lists of its arguments.
        treedef: The structure of the leaves.
        leaves_left: The iterator over the first column.
    """
    note_argument_order(error, function)
    index = treedef.num_leaves - length_hint(leaves_left) - 1
    if index < 0:
        return
    leaf = columns[0][index]
    if type(leaf) is KeyPath and len(columns) > 1:  # a map with paths has them first
        leaf = columns[1][index]
    reason = unexpected_leaf(leaf, view_of_treedef(treedef))
    locate(error, leaf_path(treedef._code, index), reason)


def map_columns(
    function: Callable[..., Any],
    columns: Sequence[list[Any]],
    treedef: PyTreeDef,
) -> Any:
    """Call a function as `map_leaves` does, and return the results as a tree."""
    results = map_leaves(function, columns, treedef)
    unflatten = treedef._runner.unflatten  # a call of the attribute is slower
    return unflatten(treedef, results)


def build_tree(treedef: PyTreeDef, leaves: list[Any]) -> Any:
    """Return the tree of as many leaves as the treedef has, without a check."""
    unflatten = treedef._runner.unflatten
    return unflatten(treedef, leaves)


def match_tree(treedef: PyTreeDef, tree: Any) -> list[Any] | None:
    """Return the subtrees of a tree at the leaves, None if the tree differs."""
    up_to = treedef._runner.flatten_up_to
    subtrees = up_to(treedef, tree)
    if subtrees is None:
        return reference.flatten_up_to(treedef, tree)
    return subtrees


def shared_paths(treedef: PyTreeDef) -> list[KeyPath]:
    """Return the key path of each leaf, in a list that nobody may change."""
    runner = treedef._runner
    return runner.known_paths or runner.paths(treedef)


def is_compiled(treedef: PyTreeDef) -> bool:
    """Return whether the treedef has functions of its own, as it is used often."""
    return type(treedef._runner) is not Runner


def view_of_treedef(treedef: PyTreeDef) -> View:
    """Return the view to read trees under, in which the structure was made."""
    return treedef._view()


# ---------------------------------------------------------- for packages above this one


def code_of(treedef: PyTreeDef) -> Code:
    """Return the nodes of a treedef in post-order; see `walk`."""
    return treedef._code


def mode_of(treedef: PyTreeDef) -> Mode:
    """Return the mode of a treedef."""
    return treedef._mode


def runner_of(treedef: PyTreeDef) -> Runner:
    """Return what builds and matches the trees of a treedef."""
    return treedef._runner


def checked_leaves(treedef: PyTreeDef, leaves: Iterable[Any]) -> list[Any]:
    """Return leaves as a list.

    Raises:
        StructureError: There are more or fewer than the structure has.
    """
    return treedef._checked(leaves)


def set_runner(treedef: PyTreeDef, runner: Runner) -> None:
    """Let something else build and match the trees of a treedef, in the same way."""
    treedef._runner = runner


def count_use(treedef: PyTreeDef) -> int:
    """Count a use of a treedef, and return how many there were."""
    treedef._uses += 1
    return treedef._uses


def treedef_of(steps: Iterable[Step], mode: Mode) -> PyTreeDef:
    """Return the treedef of the steps of a structure, in post-order."""
    return PyTreeDef._of(steps, mode)


def memo_of(treedef: PyTreeDef) -> dict[Any, Any] | None:
    """Return where to keep what follows from a structure, None if it is not compiled.

    What is kept goes when the compiled structure goes. So a caller keeps a few things.
    """
    return treedef._runner.memo


def varying_of(treedef: PyTreeDef) -> tuple[int, ...]:
    """Return the positions in the code of nodes whose aux data may differ.

    That is, between the treedefs that share the memo of this one.
    """
    return treedef._runner.varying


def prefix_of(treedef: PyTreeDef, steps: Iterable[Step]) -> PyTreeDef:
    """Return the treedef of steps in post-order that are a prefix of a structure.

    It is compiled only by `compile_prefix`: a structure may have many prefixes, which
    would push others out of the engine.
    """
    prefix = PyTreeDef._of(steps, treedef._mode)
    if prefix._nodes:
        prefix._runner = reference
    return prefix


def compile_prefix(prefix: PyTreeDef) -> None:
    """Compile a prefix that is used often, if there is an engine."""
    if hooks.prefix_runner is not None:
        prefix._runner = hooks.prefix_runner(prefix) or prefix._runner


def with_aux(treedef: PyTreeDef, changes: Iterable[tuple[int, Any]]) -> PyTreeDef:
    """Return a treedef with other aux data at some positions of its code.

    Args:
        treedef: The treedef; if it is compiled, it must be so for any such aux data.
        changes: The positions, each with the aux data there.
    """
    code = list(treedef._code)
    for position, aux in changes:
        run, node_type, arity, _ = code[position]
        code[position] = (run, node_type, arity, aux)
    changed = PyTreeDef._make(tuple(code), treedef._count, treedef._mode)
    changed._runner = treedef._runner
    return changed


def fold_treedef(
    treedef: PyTreeDef,
    leaves: Iterable[Any],
    f_leaf: Callable[[Any], Any] | None,
    f_node: Callable[[NodeType, Any, list[Any]], Any],
) -> Any:
    """Fold a treedef as its method `walk` does; `f_node` takes node types, not classes.

    Args:
        treedef: The treedef.
        leaves: As many leaves as it has.
        f_leaf: Called on each leaf first, unless it is None.
        f_node: Takes the node type, the aux data and the results of the children.
    """
    return treedef._fold(leaves, f_leaf, f_node)

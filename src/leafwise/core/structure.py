"""`Structure`: what a treedef can be asked, and the trees made with it.

Owns the reading of a code (counts, children, keys, paths), both ways between a
structure and a tree, and the folds. `treedef` adds what relates structures to one
another and makes them values: order, equality, hash, text, pickling, JSON.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Self

from ..errors import NamespaceError, TreeDefError
from .algebra import Steps
from .auxdata import clip, described
from .code import Code, Step, iter_steps, pack
from .keypath import KeyPath
from .mismatch import differences, leaf_count_error, mismatch_error
from .registry import view_of
from .runner import Runner, hooks, leaf, reference
from .view import GLOBAL, Mode, View
from .walk import map_leaves


__all__ = ["Structure", "check_treedefs", "joined_mode"]


class Structure:
    """A code with the mode that it was made in; see `PyTreeDef`."""

    __slots__ = ("__weakref__", "_code", "_count", "_hash", "_mode", "_runner")

    _code: Code
    _count: int
    _hash: int | None
    _mode: Mode
    _runner: Runner

    @classmethod
    def _make(cls, code: Code, count: int, mode: Mode) -> Self:
        made = object.__new__(cls)
        made._code = code
        made._count = count
        made._mode = mode
        made._hash = None
        made._runner = hooks.runner if code else leaf
        return made

    @classmethod
    def _of(cls, steps: Iterable[Step], mode: Mode) -> Self:
        listed = [*steps]
        return cls._make(pack(listed), listed.count(None), mode)

    # -------------------------------------------------------------- reading

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return self._count

    @property
    def num_nodes(self) -> int:
        """The number of nodes, leaves and None included."""
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
        _, rule, _, aux = self._code[-1]
        return rule.class_of(aux)

    @property
    def none_is_leaf(self) -> bool:
        """Whether None counted as a leaf."""
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
        _, rule, _, aux = self._code[-1]
        cls = rule.class_of(aux)
        return cls, rule.node_data(aux) if cls is rule.cls else None

    def is_leaf(self, *, strict: bool = True) -> bool:
        """Say whether this is the structure of a bare leaf.

        Args:
            strict: If False, a node without children counts as well, which is
                what `jax.tree_util.treedef_is_leaf` answers.

        Example:
            >>> import leafwise as lw
            >>> empty = lw.tree_structure(())
            >>> empty.is_leaf(), empty.is_leaf(strict=False)
            (False, True)
        """
        return self.num_nodes == 1 and (not self._code or not strict)

    def is_one_level(self) -> bool:
        """Say whether this is a node all of whose children are leaves.

        Example:
            >>> import leafwise as lw
            >>> [lw.tree_structure(t).is_one_level() for t in ((1, 2), (), (None,), 1)]
            [True, True, False, False]
        """
        return len(self._code) == 1

    def children(self) -> list[Self]:
        """Return the treedefs of the root's children.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_structure([1, (2, 3)]).children()
            [PyTreeDef(*), PyTreeDef((*, *))]
        """
        if not self._code:
            return []
        found = Steps(self._code)
        return [
            self._of(found.subtree(place), self._mode)
            for place in found.children(found.root)
        ]

    def child(self, index: int) -> Self:
        """Return the treedef of one child of the root; negative counts from the end.

        Raises:
            IndexError: There is no such child.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_structure([1, (2, 3)]).child(-1)
            PyTreeDef((*, *))
        """
        return self.children()[index]

    def one_level(self) -> Self | None:
        """Return the root with leaves for children, None for a leaf.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_structure([1, (2, 3)]).one_level()
            PyTreeDef([*, *])
        """
        if not self._code:
            return None
        _, rule, arity, aux = self._code[-1]
        return self._make(((arity, rule, arity, aux),), arity, self._mode)

    def entries(self) -> tuple[Any, ...]:
        """Return the keys of the root's children.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_structure({"b": 1, "a": 2}).entries()
            (DictKey(key='a'), DictKey(key='b'))
        """
        if not self._code:
            return ()
        _, rule, arity, aux = self._code[-1]
        return tuple(rule.keys(aux, arity))

    def entry(self, index: int) -> Any:
        """Return the key of one child of the root.

        Raises:
            IndexError: There is no such child.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_structure([1, 2]).entry(1)
            SequenceKey(idx=1)
        """
        return self.entries()[index]

    def paths(self) -> list[KeyPath]:
        """Return the key path of each leaf, in leaf order.

        Example:
            >>> import leafwise as lw
            >>> [str(path) for path in lw.tree_structure([1, {"a": 2}]).paths()]
            ['[0]', "[1]['a']"]
        """
        return self._runner.paths(self)

    # -------------------------------------------------------------- using

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Put a tree together from its leaves.

        Args:
            leaves: As many leaves as the treedef has, left to right; any object
                may stand for a leaf.

        Raises:
            StructureError: Too few or too many leaves.
            TypeError: `leaves` is not iterable.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_structure({"a": 1, "b": [2]}).unflatten("xy")
            {'a': 'x', 'b': ['y']}
        """
        if type(leaves) is list and len(leaves) == self._count:
            return self._runner.unflatten(self, leaves)
        return self._runner.unflatten(self, self._checked(leaves))

    def _checked(self, leaves: Iterable[Any]) -> list[Any]:
        given = [*islice(leaves, self._count + 1)]
        if len(given) != self._count:
            raise leaf_count_error(self._count, given, leaves, repr(self))
        return given

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Return what a tree has at the place of each leaf of this structure.

        The tree may go deeper there; whole subtrees are returned then. Dicts,
        OrderedDicts and defaultdicts pair with one another by key.

        Raises:
            StructureError: The tree does not have this structure.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_structure([1, {"a": 2}]).flatten_up_to([(1, 2), {"a": [3]}])
            [(1, 2), [3]]
        """
        found = self._match(tree)
        if found is None:
            raise mismatch_error(
                differences(self._code, tree, self._view()),
                subject="the tree does not have the structure of the treedef",
            )
        return found

    def _match(self, tree: Any) -> list[Any] | None:
        """Return what a tree has at the leaves, None if it differs."""
        found = self._runner.flatten_up_to(self, tree)
        return reference.flatten_up_to(self, tree) if found is None else found

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

    def transform(
        self,
        f_node: Callable[[Self], Self] | None = None,
        f_leaf: Callable[[Self], Self] | None = None,
    ) -> Self:
        """Return a structure with other nodes, or with structures for leaves.

        Args:
            f_node: Takes each node as a one-level treedef, from the leaves up,
                and returns a one-level treedef with as many children.
            f_leaf: Takes the treedef of a leaf and returns any treedef.

        Raises:
            TreeDefError: A function returned something else, or a treedef of another
                None mode or namespace.

        Example:
            >>> import leafwise as lw
            >>> pair = lw.tree_structure((0, 0))
            >>> lw.tree_structure([1, {"a": 2}]).transform(f_leaf=lambda leaf: pair)
            PyTreeDef([(*, *), {'a': (*, *)}])

        The idea is that of `optree.PyTreeSpec.transform`.
        """
        mode = self._mode
        steps: list[Step] = []
        for step in iter_steps(self._code):
            if step is None and f_leaf is not None:
                made = f_leaf(self._make((), 1, self._mode))
                mode = joined_mode("transform", (self, made), mode)
                steps += iter_steps(made._code)
            elif step is not None and f_node is not None:
                made = self._remade(f_node, step)
                mode = joined_mode("transform", (self, made), mode)
                steps.append(made._code[-1][1:])
            else:
                steps.append(step)
        return self._of(steps, mode)

    def _remade(self, f_node: Callable[[Self], Self], step: Any) -> Self:
        """Return the one-level treedef that a function makes of a node."""
        rule, arity, aux = step
        one = self._make(((arity, rule, arity, aux),), arity, self._mode)
        made = f_node(one)
        check_treedefs("transform", (self, made))
        if not made.is_one_level() or made.num_leaves != arity:
            raise TreeDefError(
                f"f_node must return a node with as many leaves as {clip(one)}, got "
                f"{clip(made)}"
            )
        return made

    def walk(
        self,
        leaves: Iterable[Any],
        f_node: Callable[[builtins.type, Any, tuple[Any, ...]], Any] | None = None,
        f_leaf: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Fold a structure from the leaves up, without building nodes.

        Args:
            leaves: As many leaves as the structure has.
            f_node: Takes class, aux data and results of the children, and
                returns a result; without it the node is built.
            f_leaf: Called on each leaf first.

        Raises:
            StructureError: Too few or too many leaves.

        Example:
            >>> import leafwise as lw
            >>> depth = lambda cls, data, children: 1 + max(children, default=0)
            >>> lw.tree_structure([1, (2, [3])]).walk("abc", depth, lambda leaf: 0)
            3
        """
        return self._fold(leaves, f_leaf, _walker(f_node))

    def traverse(
        self,
        leaves: Iterable[Any],
        f_node: Callable[[Any], Any] | None = None,
        f_leaf: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Build a tree from the leaves up, with a function called on each node.

        Args:
            leaves: As many leaves as the structure has.
            f_node: Takes each node once it is built, returns what stands there.
            f_leaf: Called on each leaf first.

        Raises:
            StructureError: Too few or too many leaves.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_structure([1, (2, 3)]).traverse(
            ...     [1, 2, 3], lambda n: sum(n) if isinstance(n, tuple) else n)
            [1, 5]
        """
        return self._fold(leaves, f_leaf, _traverser(f_node))

    def _fold(
        self,
        leaves: Iterable[Any],
        f_leaf: Callable[[Any], Any] | None,
        f_entry: Callable[[Any, Any, list[Any]], Any],
    ) -> Any:
        given = self._checked(leaves)
        if f_leaf is not None:
            given = map_leaves(f_leaf, [given], self._code)
        stack: list[Any] = []
        rest = iter(given)
        for step in iter_steps(self._code):
            if step is None:
                stack.append(next(rest))
                continue
            rule, arity, aux = step
            split = len(stack) - arity
            stack[split:] = [f_entry(rule, aux, stack[split:])]
        return stack[0]


def _walker(f_node: Any) -> Callable[[Any, Any, list[Any]], Any]:
    """Return what `walk` does with a node: the function's answer, or the node."""
    if f_node is None:
        return lambda rule, aux, children: rule.unflatten(aux, children)
    return lambda rule, aux, children: f_node(
        rule.class_of(aux), rule.node_data(aux), tuple(children)
    )


def _traverser(f_node: Any) -> Callable[[Any, Any, list[Any]], Any]:
    """Return what `traverse` does with a node: build it, then ask the function."""
    if f_node is None:
        return _walker(None)
    return lambda rule, aux, children: f_node(rule.unflatten(aux, children))


def check_treedefs(who: str, parts: tuple[Any, ...], *, same_mode: bool = True) -> None:
    """Refuse what is no treedef, or of another None mode.

    Raises:
        TreeDefError: A part is one of these.
    """
    for part in parts:
        if not isinstance(part, Structure):
            raise TreeDefError(f"{who} takes treedefs, got {described(part)}")
        if same_mode and part.none_is_leaf != parts[0].none_is_leaf:
            raise TreeDefError(
                f"{who} takes treedefs of one None mode: {clip(parts[0])} and "
                f"{clip(part)} differ in none_is_leaf"
            )


def joined_mode(who: str, parts: tuple[Any, ...], mode: Mode | None = None) -> Mode:
    """Return the mode of a structure that is made of others.

    The global registry is part of each namespace, so a structure of a namespace can be
    joined with those of the global one; two namespaces may contradict each other.

    Args:
        who: The name of the function that joins them.
        parts: The structures, at least one.
        mode: The mode of what was joined before.

    Raises:
        TreeDefError: A part is no treedef, or their modes cannot be joined.
    """
    check_treedefs(who, parts)
    joined: Mode = mode or parts[0]._mode
    for part in parts:
        name = part.namespace
        if name and joined.namespace and name != joined.namespace:
            raise TreeDefError(
                f"{who} takes treedefs of one namespace: {clip(part)} is of {name!r}, "
                f"what comes before it of {joined.namespace!r}"
            )
        if name:
            joined = part._mode
    return joined

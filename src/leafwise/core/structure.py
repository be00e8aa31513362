"""`Structure`: what a treedef can be asked, and the trees made with it.

Owns the reading of a code: counts, children, keys, paths, and both ways between
a structure and a tree. `treedef` adds the algebra of structures and what makes
them values: equality, hash, text and pickling.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from itertools import islice
from typing import Any, Self

from .algebra import Steps
from .code import Code, Step, flatten_up_to, leaf_paths, pack, rebuild
from .keypath import KeyPath
from .mismatch import differences, leaf_count_error, mismatch_error
from .registry import Mode, view_of


__all__ = ["Structure"]


class Structure:
    """A code with the mode that it was made in; see `PyTreeDef`."""

    __slots__ = ("__weakref__", "_code", "_count", "_hash", "_mode")

    _code: Code
    _count: int
    _hash: int | None
    _mode: Mode

    @classmethod
    def _make(cls, code: Code, count: int, mode: Mode) -> Self:
        made = object.__new__(cls)
        made._code = code
        made._count = count
        made._mode = mode
        made._hash = None
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
        if rule.name in ("namedtuple", "structseq"):
            return rule.data(aux)  # type: ignore[no-any-return]  # a class, by rule
        return rule.cls

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
        if rule.name in ("namedtuple", "structseq"):
            return self.type, None
        return rule.cls, rule.data(aux)

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
        return leaf_paths(self._code, self._count)

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
        return rebuild(self._code, self._checked(leaves))

    def _checked(self, leaves: Iterable[Any]) -> list[Any]:
        given: list[Any]
        if type(leaves) is list:
            given = leaves[:]
        else:
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
        found = flatten_up_to(self._code, tree)
        if found is None:
            view = view_of(*self._mode)
            raise mismatch_error(
                differences(self._code, tree, view),
                subject="the tree does not have the structure of the treedef",
            )
        return found

"""`PyTreeDef`: the structure of a tree, as a value.

Owns equality, hash, text, counts, pickling and the algebra of structures. A
treedef holds one flat code (see `code`), never a nest of objects, so that no
operation on it depends on how deep the tree was. It keeps the rules that it
was made with: a class registered anew later does not change it.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from typing import Any, final

from ..errors import TreeDefError
from .auxdata import clip
from .code import Code, Step, flatten_up_to, iter_steps, pack, rebuild
from .containers import BUILTINS
from .mismatch import differences, leaf_count_error, mismatch_error
from .registry import GLOBAL, Mode, View, view_of
from .state import dump, load


__all__ = ["PyTreeDef", "make_treedef", "treedef_tuple"]


@final
class PyTreeDef:
    """The structure of a tree: its nodes and their aux data, without the leaves.

    Made by `tree_structure` and `tree_flatten`. Immutable, comparable, hashable,
    picklable. Two treedefs are equal when the same registrations take the trees
    apart into the same nodes with the same aux data; dicts compare by their
    keys, whatever their order.

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

    __slots__ = ("__weakref__", "_code", "_count", "_hash", "_mode")

    _code: Code
    _count: int
    _hash: int | None
    _mode: Mode

    def __init__(self) -> None:
        raise TypeError(
            "a PyTreeDef is made from a tree: use leafwise.tree_structure(tree)"
        )

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

    def children(self) -> list[PyTreeDef]:
        """Return the treedefs of the root's children.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_structure([1, (2, 3)]).children()
            [PyTreeDef(*), PyTreeDef((*, *))]
        """
        if not self._code:
            return []
        steps = [*iter_steps(self._code)]
        starts: list[int] = []
        for place, step in enumerate(steps[:-1]):
            arity = 0 if step is None else step[1]
            start = starts[-arity] if arity else place
            del starts[len(starts) - arity :]
            starts.append(start)
        return [
            _from_steps(steps[start:end], self._mode)
            for start, end in pairwise([*starts, len(steps) - 1])
        ]

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
        given = (
            [*leaves] if type(leaves) is list else [*islice(leaves, self._count + 1)]
        )
        if len(given) != self._count:
            raise leaf_count_error(self._count, given, leaves, repr(self))
        return rebuild(self._code, given)

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

    def compose(self, inner: PyTreeDef) -> PyTreeDef:
        """Return this structure with another one at each of its leaves.

        Args:
            inner: What stands at each leaf.

        Raises:
            TreeDefError: `inner` is no treedef, or has the other None mode.

        Example:
            >>> import leafwise as lw
            >>> pair = lw.tree_structure((1, 2))
            >>> lw.tree_structure([1, 2]).compose(pair)
            PyTreeDef([(*, *), (*, *)])
        """
        _check_treedefs("compose", (self, inner))
        grafted = [*iter_steps(inner._code)]

        def steps() -> Iterator[Step]:
            for step in iter_steps(self._code):
                if step is None:
                    yield from grafted
                else:
                    yield step

        return _from_steps(steps(), self._mode)

    # -------------------------------------------------------------- comparing

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, PyTreeDef):
            return NotImplemented
        return (
            self._count == other._count
            and len(self._code) == len(other._code)
            and self._mode.none_is_leaf == other._mode.none_is_leaf
            and _same_code(self._code, other._code)
        )

    def __hash__(self) -> int:
        if self._hash is None:
            entries = [
                (run, rule, arity, rule.digest(aux))
                for run, rule, arity, aux in self._code
            ]
            self._hash = hash((self._count, self._mode.none_is_leaf, *entries))
        return self._hash

    # -------------------------------------------------------------- text, copies

    def __repr__(self) -> str:
        mode = ", none_is_leaf=True" if self._mode.none_is_leaf else ""
        return f"PyTreeDef({_text(self._code)}{mode})"

    def __copy__(self) -> PyTreeDef:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> PyTreeDef:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _load, (dump(self._code, self._count, self._mode),)


def make_treedef(code: Code, count: int, view: View) -> PyTreeDef:
    """Return the treedef of a code with that many leaves."""
    if not code:
        if view.leaf_treedef is None:
            view.leaf_treedef = _new(code, 1, view.mode)
        return view.leaf_treedef  # type: ignore[no-any-return]  # set just above
    return _new(tuple(code), count, view.mode)


def _new(code: Code, count: int, mode: Mode) -> PyTreeDef:
    treedef = object.__new__(PyTreeDef)
    treedef._code = code
    treedef._count = count
    treedef._mode = mode
    treedef._hash = None
    return treedef


def _from_steps(steps: Iterable[Step], mode: Mode) -> PyTreeDef:
    listed = [*steps]
    return _new(pack(listed), listed.count(None), mode)


def _load(state: Any) -> PyTreeDef:
    return _new(*load(state))


def _same_code(a: Code, b: Code) -> bool:
    for first, second in zip(a, b, strict=True):
        if first is not second:
            run, rule, arity, aux = first
            if run != second[0] or rule is not second[1] or arity != second[2]:
                return False
            if aux is not second[3] and not rule.same(aux, second[3]):
                return False
    return True


def _text(code: Code) -> str:
    """Print a code from right to left, so that depth costs nothing.

    The stack holds what is still to be printed: text, and None for a subtree.
    """
    tokens: list[str] = []
    steps = iter_steps(code, backwards=True)
    stack: list[str | None] = [None]
    while stack:
        token = stack.pop()
        if token is not None:
            tokens.append(token)
            continue
        step = next(steps)
        if step is None:
            tokens.append("*")
            continue
        rule, arity, aux = step
        before, labels, after = rule.text(aux, arity)
        stack.append(before)
        for place in range(arity):
            if place:
                stack.append(", ")
            if labels is not None:
                stack.append(labels[place])
            stack.append(None)
        stack.append(after)
    return "".join(reversed(tokens))


# ------------------------------------------------------------------ algebra


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Return the treedef of a tuple whose children have these treedefs.

    Args:
        treedefs: The treedefs of the children.

    Raises:
        TreeDefError: Not all are treedefs, or their None modes differ.

    Example:
        >>> import leafwise as lw
        >>> lw.treedef_tuple([lw.tree_structure(1), lw.tree_structure([2, 3])])
        PyTreeDef((*, [*, *]))
    """
    parts = tuple(treedefs)
    _check_treedefs("treedef_tuple", parts)
    steps: list[Step] = []
    for part in parts:
        steps += iter_steps(part._code)
    steps.append((BUILTINS[tuple], len(parts), None))
    named = [part._mode for part in parts if part._mode.namespace]
    plain = Mode(GLOBAL, bool(parts) and parts[0].none_is_leaf)
    return _from_steps(steps, named[0] if named else plain)


def _check_treedefs(who: str, parts: tuple[Any, ...]) -> None:
    for part in parts:
        if not isinstance(part, PyTreeDef):
            raise TreeDefError(
                f"{who} takes treedefs, got {type(part).__name__}: {clip(part)}"
            )
        if part.none_is_leaf != parts[0].none_is_leaf:
            raise TreeDefError(
                f"{who} takes treedefs of one None mode: {clip(parts[0])} and "
                f"{clip(part)} differ in none_is_leaf"
            )

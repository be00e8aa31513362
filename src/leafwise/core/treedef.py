"""`PyTreeDef`: the structure of a tree, as a value.

Owns the algebra of structures, and equality, hash, text and pickling. A treedef
holds one flat code (see `code`), never a nest of objects, so that no operation
on it depends on how deep the tree was. It keeps the rules that it was made
with: a class registered anew later does not change it.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator
from typing import Any, final

from ..errors import TreeDefError
from .algebra import common_suffix, is_prefix
from .auxdata import clip
from .code import Code, Step, iter_steps
from .containers import BUILTINS
from .keypath import KeyPath
from .mismatch import Difference, code_differences, mismatch_error, suffix_clashes
from .registry import GLOBAL, Mode, View, view_of
from .state import dump, load
from .structure import Structure
from .walk import flatten, map_leaves


__all__ = ["PyTreeDef", "make_treedef", "treedef_tuple"]


@final
class PyTreeDef(Structure):
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

    __slots__ = ()

    def __init__(self) -> None:
        raise TypeError(
            "a PyTreeDef is made from a tree: use leafwise.tree_structure(tree)"
        )

    # -------------------------------------------------------------- algebra

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

        return PyTreeDef._of(steps(), self._mode)

    def transform(
        self,
        f_node: Callable[[PyTreeDef], PyTreeDef] | None = None,
        f_leaf: Callable[[PyTreeDef], PyTreeDef] | None = None,
    ) -> PyTreeDef:
        """Return a structure with other nodes, or with structures for leaves.

        Args:
            f_node: Takes each node as a one-level treedef, from the leaves up,
                and returns a one-level treedef with as many children.
            f_leaf: Takes the treedef of a leaf and returns any treedef.

        Raises:
            TreeDefError: A function returned something else.

        Example:
            >>> import leafwise as lw
            >>> pair = lw.tree_structure((0, 0))
            >>> lw.tree_structure([1, {"a": 2}]).transform(f_leaf=lambda leaf: pair)
            PyTreeDef([(*, *), {'a': (*, *)}])

        The idea is that of `optree.PyTreeSpec.transform`.
        """
        return PyTreeDef._of(self._transformed(f_node, f_leaf), self._mode)

    def _transformed(
        self,
        f_node: Callable[[PyTreeDef], PyTreeDef] | None,
        f_leaf: Callable[[PyTreeDef], PyTreeDef] | None,
    ) -> Iterator[Step]:
        for step in iter_steps(self._code):
            if step is None:
                yield from self._leaf_steps(f_leaf)
            elif f_node is None:
                yield step
            else:
                yield self._node_step(f_node, step)

    def _leaf_steps(
        self, f_leaf: Callable[[PyTreeDef], PyTreeDef] | None
    ) -> Iterator[Step]:
        made = None if f_leaf is None else f_leaf(PyTreeDef._make((), 1, self._mode))
        if made is None and f_leaf is None:
            return iter((None,))
        _check_treedefs("transform", (self, made))
        return iter_steps(made._code)  # type: ignore[union-attr]  # checked

    def _node_step(self, f_node: Callable[[PyTreeDef], PyTreeDef], step: Any) -> Step:
        rule, arity, aux = step
        one = PyTreeDef._make(((arity, rule, arity, aux),), arity, self._mode)
        made = f_node(one)
        _check_treedefs("transform", (self, made))
        if not made.is_one_level() or made.num_leaves != arity:
            raise TreeDefError(
                f"f_node must return a node with as many leaves as {clip(one)}, got "
                f"{clip(made)}"
            )
        _, new_rule, _, new_aux = made._code[-1]
        return new_rule, arity, new_aux

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

    # -------------------------------------------------------------- comparing

    def is_prefix(self, other: PyTreeDef, *, strict: bool = False) -> bool:
        """Say whether this is the structure of another, cut off at its leaves.

        Dicts of all kinds and deques of any maxlen stand for one another, as in
        `flatten_up_to`; so two structures may be prefixes of each other without
        being equal.

        Args:
            other: The other structure.
            strict: Whether the other must go deeper somewhere.

        Example:
            >>> import leafwise as lw
            >>> small, large = lw.tree_structure([1, 2]), lw.tree_structure([1, (2, 3)])
            >>> small.is_prefix(large), large.is_prefix(small), small < large
            (True, False, True)
        """
        _check_treedefs("is_prefix", (self, other), same_mode=False)
        if self.none_is_leaf != other.none_is_leaf:
            return False
        deeper = len(self._code) < len(other._code)
        return (deeper or not strict) and is_prefix(self._code, other._code)

    def is_suffix(self, other: PyTreeDef, *, strict: bool = False) -> bool:
        """Say whether the other is a prefix of this.

        Args:
            other: The other structure.
            strict: Whether this must go deeper somewhere.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_structure([1, (2, 3)]).is_suffix(lw.tree_structure(1))
            True
        """
        _check_treedefs("is_suffix", (self, other), same_mode=False)
        return other.is_prefix(self, strict=strict)

    def __le__(self, other: object) -> bool:
        return self.is_prefix(other) if isinstance(other, PyTreeDef) else NotImplemented

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, PyTreeDef):
            return NotImplemented
        return self.is_prefix(other, strict=True)

    def __ge__(self, other: object) -> bool:
        return self.is_suffix(other) if isinstance(other, PyTreeDef) else NotImplemented

    def __gt__(self, other: object) -> bool:
        if not isinstance(other, PyTreeDef):
            return NotImplemented
        return self.is_suffix(other, strict=True)

    def common_suffix(self, other: PyTreeDef) -> PyTreeDef | None:
        """Return the smallest structure that both are prefixes of, or None.

        Example:
            >>> import leafwise as lw
            >>> one = lw.tree_structure([1, (2, 3)])
            >>> other = lw.tree_structure([(1,), 2])
            >>> one.common_suffix(other)
            PyTreeDef([(*,), (*, *)])
        """
        _check_treedefs("common_suffix", (self, other))
        steps = common_suffix(self._code, other._code)
        return None if steps is None else PyTreeDef._of(steps, self._mode)

    def broadcast_to_common_suffix(self, other: PyTreeDef) -> PyTreeDef:
        """Return the smallest structure that both are prefixes of.

        Where both have a node, it is the node of this structure.

        Raises:
            StructureError: Both have nodes at one place that do not pair.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_structure([1, 2]).broadcast_to_common_suffix(
            ...     lw.tree_structure([1, (2, 3)]))
            PyTreeDef([*, (*, *)])
        """
        found = self.common_suffix(other)
        if found is None:
            raise mismatch_error(
                suffix_clashes(self._code, other._code),
                subject="the two treedefs have no common suffix",
            )
        return found

    def explain(self, other: Any) -> list[Difference]:
        """Return the places where another structure differs, none if it is equal.

        Args:
            other: A treedef, or a tree to take the structure of.

        Example:
            >>> import leafwise as lw
            >>> for difference in lw.tree_structure({"a": (1,)}).explain({"a": [1]}):
            ...     print(difference)
            at ['a']: expected tuple of length 1, got list of length 1
        """
        if not isinstance(other, PyTreeDef):
            view = view_of(*self._mode)
            leaves, code = flatten(other, view)
            other = make_treedef(code, len(leaves), view)
        found = code_differences(self._code, other._code)
        if self.none_is_leaf != other.none_is_leaf:
            modes = (f"none_is_leaf={x.none_is_leaf}" for x in (self, other))
            found.insert(0, Difference(KeyPath(), *modes))
        return found

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
            view.leaf_treedef = PyTreeDef._make(code, 1, view.mode)
        return view.leaf_treedef  # type: ignore[no-any-return]  # set just above
    return PyTreeDef._make(tuple(code), count, view.mode)


def _load(state: Any) -> PyTreeDef:
    return PyTreeDef._make(*load(state))


def _walker(f_node: Any) -> Callable[[Any, Any, list[Any]], Any]:
    """Return what `walk` does with a node: the function's answer, or the node."""
    if f_node is None:
        return lambda rule, aux, children: rule.unflatten(aux, children)
    return lambda rule, aux, children: f_node(
        _class_of(rule, aux), rule.data(aux), tuple(children)
    )


def _traverser(f_node: Any) -> Callable[[Any, Any, list[Any]], Any]:
    """Return what `traverse` does with a node: build it, then ask the function."""
    if f_node is None:
        return _walker(None)
    return lambda rule, aux, children: f_node(rule.unflatten(aux, children))


def _class_of(rule: Any, aux: Any) -> Any:
    return rule.data(aux) if rule.name in ("namedtuple", "structseq") else rule.cls


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
    return PyTreeDef._of(steps, named[0] if named else plain)


def _check_treedefs(
    who: str, parts: tuple[Any, ...], *, same_mode: bool = True
) -> None:
    for part in parts:
        if not isinstance(part, PyTreeDef):
            raise TreeDefError(
                f"{who} takes treedefs, got {type(part).__name__}: {clip(part)}"
            )
        if same_mode and part.none_is_leaf != parts[0].none_is_leaf:
            raise TreeDefError(
                f"{who} takes treedefs of one None mode: {clip(parts[0])} and "
                f"{clip(part)} differ in none_is_leaf"
            )

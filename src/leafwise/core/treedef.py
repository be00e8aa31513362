"""`PyTreeDef`: the structure of a tree, as a value.

Owns the algebra of structures, and equality, hash, text and pickling. A treedef
holds one flat code (see `code`), never a nest of objects, so that no operation
on it depends on how deep the tree was. It keeps the rules that it was made
with: a class registered anew later does not change it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, final

from .algebra import common_suffix, is_prefix
from .builtins import TUPLE
from .code import Code, Step, iter_steps
from .keypath import KeyPath
from .mismatch import (
    Difference,
    changes,
    code_differences,
    mismatch_error,
    suffix_clashes,
)
from .registry import view_of
from .state import dump, load
from .structure import Structure, check_treedefs, joined_mode
from .view import GLOBAL, Mode, View
from .walk import flatten


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
            TreeDefError: `inner` is no treedef, has the other None mode, or both are
                of namespaces that differ.

        Example:
            >>> import leafwise as lw
            >>> pair = lw.tree_structure((1, 2))
            >>> lw.tree_structure([1, 2]).compose(pair)
            PyTreeDef([(*, *), (*, *)])
        """
        mode = joined_mode("compose", (self, inner))
        grafted = [*iter_steps(inner._code)]

        def steps() -> Iterator[Step]:
            for step in iter_steps(self._code):
                if step is None:
                    yield from grafted
                else:
                    yield step

        return PyTreeDef._of(steps(), mode)

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
        check_treedefs("is_prefix", (self, other), same_mode=False)
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
        check_treedefs("is_suffix", (self, other), same_mode=False)
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
        mode = joined_mode("common_suffix", (self, other))
        steps = common_suffix(self._code, other._code)
        return None if steps is None else PyTreeDef._of(steps, mode)

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
            other: A treedef, or a tree, which is taken apart by the rules of this
                structure.

        Example:
            >>> import leafwise as lw
            >>> for difference in lw.tree_structure({"a": (1,)}).explain({"a": [1]}):
            ...     print(difference)
            at ['a']: expected tuple of length 1, got list of length 1
        """
        if not isinstance(other, PyTreeDef):
            return changes(self._code, other, self._view())
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
                (run, rule, arity, rule.hash_aux(aux))
                for run, rule, arity, aux in self._code
            ]
            self._hash = hash((self._count, self._mode.none_is_leaf, *entries))
        return self._hash

    # -------------------------------------------------------------- text, copies

    def __repr__(self) -> str:
        mode = ", none_is_leaf=True" if self._mode.none_is_leaf else ""
        return f"PyTreeDef({_text(self._code)}{mode})"

    def to_json(self) -> str:
        """Return a text from which `from_json` makes an equal treedef.

        Classes are named by module and qualified name, dict keys by their text;
        aux data must be made of JSON values, tuples, dicts, literals and classes,
        or have a codec, see `register_codec`.

        Raises:
            TreeDefError: Something in the treedef has no text, or none by which it
                could be found again, as a class that was made in a function; with
                a note of its key path.

        Example:
            >>> import leafwise as lw
            >>> print(lw.tree_structure({"a": [1, 2]}).to_json())  # doctest: +ELLIPSIS
            {"leafwise":1,...,"nodes":[[2,"list",2,null],[0,"dict",1,[["'a'"],null]]]}
        """
        from .jsonform import write_json  # and with it json

        return write_json(self._code, self._count, self._mode)

    @classmethod
    def from_json(cls, text: str, *, limit: int = 10_000_000) -> PyTreeDef:
        """Make a treedef of the text that `to_json` gave.

        Nothing is imported, and nothing that the text names is called.

        Args:
            text: The text.
            limit: The largest number of characters to read.

        Raises:
            TreeDefError: The text is malformed, too long, or names a class that
                is not registered or loaded.

        Example:
            >>> import leafwise as lw
            >>> treedef = lw.tree_structure({"a": [1, (2, None)]})
            >>> lw.PyTreeDef.from_json(treedef.to_json()) == treedef
            True
        """
        from .jsonform import read_json  # and with it json

        return cls._make(*read_json(text, limit))

    @classmethod
    def leaf(cls, *, none_is_leaf: bool = False, namespace: str = GLOBAL) -> PyTreeDef:
        """Return the treedef of a bare leaf.

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
            collection: Any node, a registered instance too, with treedefs for
                children.
            none_is_leaf: The None mode.
            namespace: Where to look classes up before the global registry.

        Raises:
            TreeDefError: A child is no treedef, or their None modes or namespaces
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
        joined_mode("from_children", (whole, *parts))
        rest = iter(parts)
        return whole.transform(f_leaf=lambda _: next(rest))

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


def _same_code(a: Code, b: Code) -> bool:
    for first, second in zip(a, b, strict=True):
        if first is not second:
            run, rule, arity, aux = first
            if run != second[0] or rule is not second[1] or arity != second[2]:
                return False
            if aux is not second[3] and not rule.same_aux(aux, second[3]):
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
        before, labels, after = rule.brackets(aux, arity)
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
        TreeDefError: Not all are treedefs, or their None modes or namespaces differ.

    Example:
        >>> import leafwise as lw
        >>> lw.treedef_tuple([lw.tree_structure(1), lw.tree_structure([2, 3])])
        PyTreeDef((*, [*, *]))
    """
    parts = tuple(treedefs)
    mode = joined_mode("treedef_tuple", parts) if parts else Mode(GLOBAL, False)
    steps: list[Step] = []
    for part in parts:
        steps += iter_steps(part._code)
    steps.append((TUPLE, len(parts), None))
    return PyTreeDef._of(steps, mode)

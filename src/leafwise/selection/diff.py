"""Diffs of trees: printed, applied, inverted, written as JSON.

`compare` finds the changes that a `TreeDiff` consists of, `explain` says what is
printed of each, and `patch` writes and reads them as JSON Patch (RFC 6902).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from .._hooks import Displayable, hooks
from .._text import counted
from ..core.context import Context, context_of
from ..core.keypath import KeyPath
from ..core.keys import SequenceKey
from ..core.registry import GLOBAL
from ..equality.leaves import Comparison
from .changes import Delete, Edit, Insert, Move, Set, rebuild
from .compare import changes_between, differ, mismatch
from .convert import opening_dataclasses
from .explain import Change, inverted, json_record, lines_of_all
from .patch import operations, patched


Tree = TypeVar("Tree")

_IN_REPR: Final = 10
"""How many changes are shown there."""


class TreeDiff(Displayable, tuple[Change, ...]):  # noqa: SLOT001  # it has a `__dict__`
    """The differences between two trees, in leaf order.

    It is a tuple of `Change` objects, and is true if there is at least one.

    Example:
        >>> import leafwise as lw
        >>> diff = lw.tree_diff({"lr": 0.1, "sizes": [1]}, {"lr": 0.2, "sizes": [1, 2]})
        >>> print(diff)
        ~ lr: 0.1 -> 0.2
        + sizes[1]: 2
        >>> diff.apply({"lr": 0.1, "sizes": [1]})
        {'lr': 0.2, 'sizes': [1, 2]}
    """

    _context: Context
    _values: Comparison

    def __str__(self) -> str:
        return "\n".join(self.lines()) or "no differences"

    def __repr__(self) -> str:
        head = f"<TreeDiff of {counted(len(self), 'change')}>"
        return "\n  ".join([head, *self.lines(most=_IN_REPR)])

    def lines(
        self,
        *,
        color: str = "never",
        most: int | None = None,
    ) -> Iterator[str]:
        """Yield the lines of `str(diff)`, one or more for each change.

        Args:
            color: `"always"`, `"never"`, or `"auto"` for colors if the standard output
                is a terminal; `NO_COLOR` and `FORCE_COLOR` are respected.
            most: How many changes to show, None for all. If there are more, the last
                line says how many.

        Raises:
            ValueError: `color` has an invalid value.

        Example:
            >>> import leafwise as lw
            >>> diff = lw.tree_diff([1, 2, 3], [4, 5, 6])
            >>> [*diff.lines(most=1)]
            ['~ [0]: 1 -> 4', 'and 2 more']
        """
        return lines_of_all(self, most, paint=hooks.painter(color, None))

    def show(
        self,
        *,
        color: str = "auto",
        most: int | None = None,
        file: Any = None,
    ) -> None:
        """Print the differences, in color on a terminal.

        Args:
            color, most: As for `lines`.
            file: The file to print to; None for the standard output.

        Raises:
            ValueError: `color` has an invalid value.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_diff({"a": 1}, {"a": 2}).show(color="never")
            ~ a: 1 -> 2
        """
        lines = lines_of_all(self, most, paint=hooks.painter(color, file))
        print("\n".join(lines) or "no differences", file=file)

    def invert(self) -> TreeDiff:
        """Return the differences in the opposite direction.

        Example:
            >>> import leafwise as lw
            >>> print(lw.tree_diff([1], [1, 2]).invert())
            - [1]: 2
        """
        changes = [inverted(change) for change in self]
        return _diff_of(changes, self._context, self._values)

    def apply(self, tree: Tree) -> Tree:
        """Return a tree with the changes applied.

        Args:
            tree: The first tree of the comparison, or a similar one.

        Raises:
            CompareError: A value cannot be compared with the old one.
            EditError: The tree does not have the old value of a change.
            PathError: The tree does not have the path of a change.

        Example:
            >>> import leafwise as lw
            >>> diff = lw.tree_diff({"a": 1, "b": 2}, {"a": 1, "c": 3})
            >>> diff.apply({"a": 1, "b": 2})
            {'a': 1, 'c': 3}
            >>> diff.apply({"a": 1, "b": 9})
            Traceback (most recent call last):
            ...
            leafwise.errors.EditError: expected 2 at b, found 9
        """
        context = self._context
        namespace = context.view.mode.namespace
        edits: list[tuple[KeyPath, Edit]] = []
        for change in self:
            path = change.path
            if change.kind != "added":
                value = path(tree, namespace=namespace)
                if value is not change.before and differ(
                    change.before, value, context.below(path), self._values
                ):
                    raise mismatch(path, change.before, value)
            edit: Edit = Set(change.after)
            if change.kind == "added":
                edit = Insert(change.after, change.index)
            elif change.kind == "removed":
                edit = Move(None) if type(path[-1]) is SequenceKey else Delete()
            elif change.kind == "moved":
                edit = Move(change.index)
            edits.append((path, edit))
        return rebuild(tree, edits, context)

    def to_json(self, *, indent: int | None = None) -> str:
        r"""Return the changes as JSON text: a list of objects.

        Each object has `kind` and `path`, `before` and `after` if they exist, and
        `index` if the item was moved. An array is written as its `dtype` and `shape`,
        and a change of one has `differing`, `size`, the largest errors `absolute` and
        `relative`, and the first `places` that differ. Another value that JSON cannot
        represent is written as its `repr`.

        Args:
            indent: As for `json.dumps`.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_diff({"a": 1}, {"a": 2}).to_json()
            '[{"kind": "value", "path": "[\'a\']", "before": 1, "after": 2}]'
        """
        records = [json_record(change) for change in self]
        return json.dumps(records, indent=indent)

    def to_json_patch(self, *, indent: int | None = None) -> str:
        r"""Return the changes as a JSON Patch (RFC 6902) that other programs can apply.

        An object is written as the dict of its fields, and a tuple as a list.

        Args:
            indent: As for `json.dumps`.

        Raises:
            EditError: JSON cannot hold a key or a value.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_diff({"a": [1]}, {"a": [1, 2]}).to_json_patch()
            '[{"op": "add", "path": "/a/1", "value": 2}]'
        """
        view = opening_dataclasses(self._context).view
        patch = operations(self, view)
        return json.dumps(patch, indent=indent, allow_nan=False)

    @classmethod
    def from_json_patch(
        cls,
        patch: str | bytes | Sequence[Mapping[str, Any]],
        tree: Any,
        *,
        namespace: str = GLOBAL,
    ) -> TreeDiff:
        """Return the changes that a JSON Patch (RFC 6902) makes to a tree.

        A pointer leads through dicts, lists and the fields of objects. Values are cast
        to the types that classes declare, and a dict becomes an object where one is
        declared or replaced. Objects whose class validates are validated once.

        Args:
            patch: The patch as a string or as a list of operations.
            tree: The tree to which the patch applies.
            namespace: Where classes are looked up before the global registry.

        Raises:
            EditError: Operations are invalid or cannot be applied, or a `test` fails.
                The message says so of each of them, with the keys that there are.
            ValueError: The string is not JSON.
            Exception: What the validation of a class raises, with a note of the path.

        Example:
            >>> import leafwise as lw
            >>> tree = {"a": [1, 2]}
            >>> patch = '[{"op": "move", "from": "/a/0", "path": "/a/1"}]'
            >>> diff = lw.selection.TreeDiff.from_json_patch(patch, tree)
            >>> print(diff)
            > a[0] -> [1]: 1
            >>> diff.apply(tree)
            {'a': [2, 1]}
        """
        context = opening_dataclasses(
            context_of(none_is_leaf=True, namespace=namespace)
        )
        after = patched(tree, patch, context)
        exact = Comparison(typematch=True)
        return _diff_of(changes_between(tree, after, context, exact), context, exact)


def tree_diff(
    a: Any,
    b: Any,
    *,
    lists: str | Mapping[Any, str] = "align",
    typematch: bool = False,
    rtol: float = 0.0,
    atol: float = 0.0,
    equal_nan: bool = True,
    ignore: Any = None,
    is_leaf: Any = None,
    namespace: str = GLOBAL,
) -> TreeDiff:
    """Find all differences between two trees.

    Dicts are compared key by key, and objects of the same class attribute by attribute.
    Lists and tuples are compared after equal items are matched. Leaves are compared as
    in `tree_equal`, so two trees have no differences exactly when they are equal. See
    :ref:`which leaves are the same <same-value>`.

    Args:
        a: The first tree.
        b: The second tree.
        lists: How two lists are compared. `"align"` finds the fewest items to add and
            to remove. An item that is both removed and added counts as moved, and an
            item that is replaced is compared with its replacement. Items are matched
            without a tolerance. If two long lists have few distinct items, the changes
            may be more than necessary. `"position"` compares position by position. A
            mapping of selectors to keys, such as `{"**.containers": "name"}`, pairs the
            items of these lists by the value of this key; other lists are aligned.
        typematch, rtol, atol, equal_nan: As for `tree_equal`.
        ignore: A selector; nodes and leaves that it picks in either tree are ignored.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Returns:
        The changes that turn `a` into `b`, in the order of `a`.

    Raises:
        CompareError: Two leaves cannot be compared.
        CycleError: A tree contains itself.
        EditError: An item lacks the key that pairs it, or two items have the same key.
        ValueError: A tolerance is negative or not finite, or `lists` is invalid.

    Example:
        >>> import leafwise as lw
        >>> a = {"optim": {"lr": 0.1}, "sizes": (1, 2), "old": None}
        >>> b = {"optim": {"lr": 0.1 + 1e-12, "wd": 0}, "sizes": (1, 3)}
        >>> print(lw.tree_diff(a, b, rtol=1e-6))
        + optim.wd: 0
        ~ sizes[1]: 2 -> 3
        - old: None
        >>> print(lw.tree_diff(["a", "b", "c"], ["new", "c", "b"]))
        ~ [0]: 'a' -> 'new'
        > [1] -> [2]: 'b'
    """
    context = context_of(is_leaf, namespace=namespace)
    values = Comparison(typematch=typematch, rtol=rtol, atol=atol, equal_nan=equal_nan)
    changes = changes_between(a, b, context, values, ignore, lists)
    # a tree to which it is applied matches where it has the same NaN
    matching = Comparison(typematch=typematch, rtol=rtol, atol=atol)
    return _diff_of(changes, context, matching)


def _diff_of(
    changes: Iterable[Change],
    context: Context,
    values: Comparison,
) -> TreeDiff:
    """Return changes as a `TreeDiff` that knows what is a leaf, and what is equal."""
    diff = TreeDiff(changes)
    diff._context = context
    diff._values = values
    return diff

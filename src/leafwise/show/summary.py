"""Summaries of trees: which rows a table of them has, and what these say.

What there is was counted by `tally`; how rows are laid out is owned by `table`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from ..core.keypath import KeyPath
from ..core.registry import GLOBAL
from ..equality.content import shape_of
from ..ops.context import context_of
from ..safely import class_name, clip, printable, type_name
from ..selection.difference import form_of
from ..selection.edit import Selection
from .table import FIELDS, ROOT, Role, SummaryRow, TreeSummary, kinds_text
from .tally import Again, Amount, AnyLeaf, Node, Spot, Tally, total


if TYPE_CHECKING:
    from ..core.node import IsLeaf

__all__ = ["tree_summary"]

By: TypeAlias = Literal["type", "kind", "dtype", "key"]
Sort: TypeAlias = Literal["count", "bytes"]

_DEEPEST: Final = 100
_LONGEST: Final = 100


def tree_summary(
    tree: Any,
    *,
    depth: int | None = None,
    sort: Sort | None = None,
    by: By | None = None,
    max_rows: int | None = 100,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> TreeSummary:
    """Summarize a tree as a table of shapes, numbers and bytes, node by node.

    Each leaf has a row, and each node has a row with its totals. A variable has one
    row, for the value in it. All leaves are counted, even if they are not shown. An
    array, a variable or another object that is in several places is counted at the
    first place. Its other places show `→` and that path.

    Args:
        tree: A tree, a treedef, an object, or a tree of values that have only a shape
            and a dtype, such as `jax.ShapeDtypeStruct`. For a selection, the selected
            values.
        depth: How many levels to show below the root; None for all, up to 100.
        sort: The order of the children of a node: `"count"` or `"bytes"` for the
            largest first, None for the order of the tree.
        by: Show one row for each `"type"`, `"kind"`, `"dtype"`, or `"key"` of the root,
            instead of nodes and leaves.
        max_rows: About how many rows to show; rows near the root come first, and the
            rest is counted in separate rows. None for all.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        ValueError: `sort` or `by` is not one of these, or a number is negative.

    Example:
        >>> import leafwise as lw
        >>> import pytest
        >>> np = pytest.importorskip("numpy")
        >>> table = np.zeros((50, 8), "f4")
        >>> layer = {"w": np.zeros((8, 8), "f4"), "b": np.zeros(8, "f4")}
        >>> lw.tree_summary({"embed": table, "layer": layer, "head": table})
        path                      type     shape    dtype    count   bytes   share
        ──────────────────────────────────────────────────────────────────────────
        (root)                    dict                         472  1.9 kB  100.0%
        ├── ['embed']             ndarray  (50, 8)  float32    400  1.6 kB   84.7%
        ├── ['head'] → ['embed']  ndarray  (50, 8)  float32
        └── ['layer']             dict                          72   288 B   15.3%
            ├── ['b']             ndarray  (8,)     float32      8    32 B    1.7%
            └── ['w']             ndarray  (8, 8)   float32     64   256 B   13.6%
        ──────────────────────────────────────────────────────────────────────────
        3 leaves, 472 numbers, 1.9 kB
        → 1 shared place, counted once
        >>> lw.tree_summary({"rate": 0.1, "sizes": [64, 32]}, by="type")
        type   leaves  count  share
        ───────────────────────────
        float       1      1  33.3%
        int         2      2  66.7%
        ───────────────────────────
        3 leaves, 3 numbers
    """
    _check("sort", sort, Sort)
    _check("by", by, By)
    for name, number in (("depth", depth), ("max_rows", max_rows)):
        if number is not None and number < 0:
            raise ValueError(f"{name} must not be negative, got {number}")
    if issubclass(type(tree), Selection):
        tree = {str(path): value for path, value in tree.items()}
    context = context_of(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    tally = Tally(tree, context)
    if by is not None:
        rows = _groups(tally, by, sort, max_rows)
    else:
        shown = _Shown(tally, sort)
        shown.plan(_DEEPEST if depth is None else min(depth, _DEEPEST), max_rows)
        rows = shown.rows()
    return TreeSummary(rows, tally.amounts(), tally.again, by)


def _check(name: str, value: Any, words: Any) -> None:
    known = get_args(words)
    if value is not None and value not in known:
        told = ", ".join(map(repr, known))
        raise ValueError(f"{name} must be one of {told} or None, got {clip(value)}")


def _numbers(amount: Amount, whole: Amount) -> dict[str, Any]:
    """Return the numbers of a row."""
    share = amount.bytes / whole.bytes if whole.bytes else 0.0
    if whole.count and not whole.bytes:
        share = amount.count / whole.count
    return {**amount._asdict(), "share": share}


# ------------------------------------------------------------------------- which rows


class _Shown:
    """What is shown of a tally.

    Attributes:
        spots: By node, the children that are shown.
    """

    def __init__(self, tally: Tally, sort: Sort | None) -> None:
        self.tally = tally
        self.whole = total(tally.amounts().values())
        self.sort: Sort | None = sort
        self.spots: dict[Node, list[Spot]] = {}

    def plan(self, levels: int, most: int | None) -> None:
        """Find out which children are shown, level by level.

        What is near the root comes first, and the nodes of a level share what may still
        be shown, so that one long list hides nothing else.
        """
        top = self.tally.top
        self.spots[top] = self.first(top, 1)
        spare = sys.maxsize if most is None else most - 1
        level = self.opened([top])
        while level and levels > 0 and spare > 0:
            levels -= 1
            by_size = sorted(level, key=lambda node: len(node.children))
            for left, node in zip(range(len(level), 0, -1), by_size, strict=True):
                size = len(node.children)
                share = min(size, spare // left)
                shown = share if share == size else share - 1  # and what is left out
                if shown > 0:
                    spare -= share
                    self.spots[node] = self.first(node, shown)
            level = self.opened(level)

    def opened(self, nodes: Sequence[Node]) -> list[Node]:
        """Return what is shown in nodes and could have rows below it."""
        children = [spot.child for node in nodes for spot in self.spots.get(node, ())]
        inner = [child for child in children if type(child) is Node]
        return [node for node in inner if node.children and not node.is_cell]

    def first(self, node: Node, most: int) -> list[Spot]:
        """Return the children of a node that come first, in the order of the rows."""
        spots = node.spots()
        if self.sort is None:
            return [*islice(spots, most)]
        name = self.sort
        return sorted(spots, key=lambda spot: -getattr(self.amount(spot), name))[:most]

    def amount(self, spot: Spot) -> Amount:
        """Return what a child holds: nothing, if it is counted elsewhere."""
        return total(self.tally.amounts(spot.start, spot.end).values())

    def rows(self) -> list[SummaryRow]:
        """Return the rows."""
        rows: list[SummaryRow] = []
        stack: list[tuple[Spot | SummaryRow, str, int]] = [
            (spot, "", 0) for spot in self.spots[self.tally.top]
        ]
        while stack:
            spot, path, depth = stack.pop()
            if isinstance(spot, SummaryRow):
                rows.append(spot)
                continue
            path += _label(spot.above, spot.place)
            rows.append(self.row(spot, path, depth))
            node = spot.child
            if type(node) is Node and node in self.spots:
                depth += 1
                if len(self.spots[node]) < len(node.children):
                    stack.append((self.left_out(node, path, depth), path, depth))
                stack += [(inner, path, depth) for inner in reversed(self.spots[node])]
        return rows

    def row(self, spot: Spot, path: str, depth: int) -> SummaryRow:
        """Return the row of a child."""
        role: Role = "leaf"
        child, same_as = spot.child, ""
        if type(child) is Again:
            role, same_as = "again", _path_text(child)
            child = child.above.children[child.place]
        name = _type_text(child)
        if type(child) is Node:
            role = role if same_as or child.is_cell else "node"
            child = child.children[0] if child.is_cell else None
            if type(child) is Again:
                role, same_as = "again", same_as or _path_text(child)
                child = child.above.children[child.place]
        amounts = self.tally.amounts(spot.start, spot.end)
        numbers = _numbers(total(amounts.values()), self.whole)
        shape, dtype = _form(child)
        kind = kinds_text(amounts)
        return SummaryRow(
            path, depth, role, name, shape, dtype, kind, same_as=same_as, **numbers
        )

    def left_out(self, node: Node, path: str, depth: int) -> SummaryRow:
        """Return the row of the children of a node that are not shown."""
        spots = self.spots[node]
        shown = total(map(self.amount, spots))
        whole = total(self.tally.amounts(node.start, node.end).values())
        rest = Amount(*[a - b for a, b in zip(whole, shown, strict=True)])
        left_out = len(node.children) - len(spots)
        numbers = _numbers(rest, self.whole)
        return SummaryRow(path, depth, "more", left_out=left_out, **numbers)


# ------------------------------------------------------------------------------- texts


def _label(node: Node, place: int) -> str:
    """Return a key as text that is short and safe to print; nothing for the root."""
    if node.above is None:
        return ""
    try:
        text = str(KeyPath((node.keys[place],)))
    except Exception:
        return f"[{place}]"
    return _clipped(text, "]" if text.endswith("]") else "")


def _clipped(text: str, end: str = "") -> str:
    """Return a text that is short and safe to print."""
    safe = printable(text[: _LONGEST + 1])
    if len(safe) > _LONGEST:
        safe = f"{safe[: _LONGEST - 1 - len(end)]}…{end}"
    return safe


def _path_text(first: Again) -> str:
    """Return the path to a child as text, without its beginning if it is very long."""
    node, place = first
    if node.is_cell and node.above is not None:
        node, place = node.above, node.place
    labels: list[str] = []
    while node.above is not None and len(labels) < _DEEPEST:
        labels.append(_label(node, place))
        node, place = node.above, node.place
    start = "" if node.above is None else "…"
    return "".join([start, *reversed(labels)]) or ROOT


def _type_text(value: Any) -> str:
    """Return the name of the class of a value, or of what a node stands for."""
    if type(value) is Node:
        return _clipped(class_name(value.cls, qualified=False))
    return "*" if type(value) is AnyLeaf else _clipped(type_name(value))


def _form(value: Any) -> tuple[tuple[int, ...] | None, str]:
    """Return the shape and the dtype of an array."""
    shape = shape_of(value)
    if shape is None:
        return None, ""
    try:
        return shape, _clipped(form_of(value).dtype)
    except Exception:
        return shape, ""


# ----------------------------------------------------------------------------- groups


def _groups(
    tally: Tally, by: By, sort: Sort | None, most: int | None
) -> list[SummaryRow]:
    """Return a row for each group, in the order in which they are met."""
    numbers: dict[str, list[int]] = {}
    names = _group_names(tally, by)
    for name, count, size in zip(names, tally.counts, tally.sizes, strict=True):
        known = numbers.setdefault(name, [0, 0, 0])
        known[0] += 1
        known[1] += count
        known[2] += size
    groups = [(name, Amount(*found)) for name, found in numbers.items()]
    if sort is not None:
        groups.sort(key=lambda group: -getattr(group[1], sort))
    whole = total(amount for _, amount in groups)
    rows = []
    for name, amount in groups[:most]:
        said: dict[str, Any] = {"role": "group", FIELDS[by]: name}
        rows.append(SummaryRow(**said, **_numbers(amount, whole)))
    rest = [] if most is None else [amount for _, amount in groups[most:]]
    if rest:
        left_out = _numbers(total(rest), whole)
        rows.append(SummaryRow(role="more", left_out=len(rest), **left_out))
    return rows


def _group_names(tally: Tally, by: By) -> list[str]:
    """Return for each leaf that is counted which group it belongs to."""
    if by == "kind":
        return tally.kinds
    if by == "dtype":
        asked = lambda value: (type(value), getattr(value, "dtype", None))  # noqa: E731
        return _names(tally.values, asked, lambda v: _form(v)[1] or _type_text(v))
    names: list[str] = []
    if by == "type":
        names = _names(tally.values, type, _type_text)
        for cell in tally.cells:
            size = cell.end - cell.start
            names[cell.start : cell.end] = [_type_text(cell)] * size
        return names
    (root,) = tally.top.children
    node = root if type(root) is Node and not root.is_cell else tally.top
    for _, place, _, start, end in node.spots():
        names += [_label(node, place) or ROOT] * (end - start)
    return names


def _names(
    values: Sequence[Any], asked: Callable[[Any], Any], name_of: Callable[[Any], str]
) -> list[str]:
    """Return the names of values, found out once for all with an equal answer."""
    known: dict[Any, str] = {}
    names = []
    for value in values:
        try:
            answer = asked(value)
            name = known.get(answer) or known.setdefault(answer, name_of(value))
        except Exception:  # it is no dtype, and cannot be hashed
            name = name_of(value)
        names.append(name)
    return names

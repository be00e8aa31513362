"""Summaries of trees: tables of shapes, numbers and bytes.

A summary is made in three steps: `_Reader` adds up the leaves of a tree and finds
shared objects; `_node_rows` or `_group_rows` chooses rows; `TreeSummary` writes them as
text, as HTML and for rich.
"""

from __future__ import annotations

import dataclasses
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, get_args

from .._text import FAULTS, escape_controls, short_repr
from ..core.context import Context, context_of
from ..core.keys import SequenceKey
from ..core.registry import GLOBAL
from ..core.treedef import PyTreeDef
from ..equality.arrays import has_memory, instance_of, shape_of, size_of
from ..fields import Kind
from ..selection.edit import Selection
from ..selection.explain import form_of
from ..selection.patterns import name_of, place_text
from .outline import fair_share
from .page import caption, framed
from .sketch import Contents, contents_of
from .text import branches_of, bytes_text, clipped, leaves_text
from .text import columns as width_of


if TYPE_CHECKING:
    from .._typing import IsLeaf


By: TypeAlias = Literal["type", "dtype"]
Role: TypeAlias = Literal["node", "leaf", "again", "more", "group"]

_ROOT: Final = "(root)"
_DEEPEST: Final = 100
_LONGEST: Final = 100


def tree_summary(
    tree: Any,
    *,
    depth: int | None = None,
    by: By | None = None,
    max_rows: int | None = 100,
    is_leaf: IsLeaf = None,
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
            values. For a module of torch, its `state_dict()`.
        depth: How many levels to show below the root; None for all, up to 100.
        by: Show one row for each `"type"` or `"dtype"`, instead of nodes and leaves.
        max_rows: About how many rows to show; rows near the root come first, and the
            rest is counted in separate rows. None for all.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Raises:
        ValueError: `by` is not one of these, or a number is negative.

    Example:
        >>> import leafwise as lw
        >>> import pytest
        >>> np = pytest.importorskip("numpy")
        >>> table = np.zeros((50, 8), "f4")
        >>> layer = {"w": np.zeros((8, 8), "f4"), "b": np.zeros(8, "f4")}
        >>> lw.tree_summary({"embed": table, "layer": layer, "head": table})
        path              type     shape    dtype    count   bytes   share
        ──────────────────────────────────────────────────────────────────
        (root)            dict                         472  1.9 kB  100.0%
        ├── embed         ndarray  (50, 8)  float32    400  1.6 kB   84.7%
        ├── head → embed  ndarray  (50, 8)  float32
        └── layer         dict                          72   288 B   15.3%
            ├── b         ndarray  (8,)     float32      8    32 B    1.7%
            └── w         ndarray  (8, 8)   float32     64   256 B   13.6%
        ──────────────────────────────────────────────────────────────────
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
    if by is not None and by not in get_args(By):
        words = ", ".join(repr(word) for word in get_args(By))
        raise ValueError(f"by must be one of {words} or None, got {short_repr(by)}")
    _check_limit("depth", depth)
    _check_limit("max_rows", max_rows)
    context = context_of(is_leaf, namespace=namespace)
    if issubclass(type(tree), Selection):
        tree = {_PathText(place_text(path)): value for path, value in tree.items()}
    elif type(tree) is PyTreeDef:
        context = context_of(None, False, tree.none_is_leaf, tree.namespace)
        tree = tree.unflatten([_Star()] * tree.num_leaves)
    elif instance_of(tree, "torch.nn", "Module"):
        tree = tree.state_dict(keep_vars=True)  # else tied parameters are several
    reader = _Reader(context)
    root = reader.read(tree)
    most = sys.maxsize if max_rows is None else max_rows
    if by is None:
        levels = _DEEPEST if depth is None else min(depth, _DEEPEST)
        rows = _node_rows(root, levels, most)
    else:
        rows = _group_rows(root, by, most)
    return TreeSummary(rows, root.amounts, reader.shared, by)


class _PathText(str):
    """The path of a selected value, which is shown as it is and not as a key."""

    __slots__ = ()


def _check_limit(name: str, value: int | None) -> None:
    if value is not None and value < 0:
        raise ValueError(f"{name} must not be negative, got {value}")


# ------------------------------------------------------------------------- the numbers


class Amount(NamedTuple):
    """A number of leaves, numbers and bytes.

    Attributes:
        leaves: The number of leaves.
        count: The number of numbers: those in arrays, and one for any other leaf.
        bytes: The number of bytes that arrays take.
    """

    leaves: int = 0
    count: int = 0  # type: ignore[assignment]  # hides the method of tuples
    bytes: int = 0


def _sum(amounts: Iterable[tuple[int, int, int]]) -> Amount:
    columns = zip(Amount(), *amounts, strict=True)  # `Amount()`: there may be none
    return Amount(*[sum(column) for column in columns])


# ------------------------------------------------------------------------- the entries


class _Star:
    """A leaf of a treedef, which has no value."""


_Star.__name__ = "*"
_PLAIN: Final = (bool, int, float, complex, str, bytes, _Star)
"""Classes of leaves that count one number each, and never count as shared."""


@dataclasses.dataclass(slots=True, eq=False)
class _Entry:
    """A node or leaf at one place of a tree.

    It is not the `Item` of an outline: an outline has the texts of what is shown, while
    a summary counts all leaves. Plain leaves and arrays of numpy get an entry only when
    they have a row.

    Attributes:
        value: The node or leaf.
        kind: The kind of data.
        above: The entry of the node around it, None for the root.
        index: Its position among the children of that node.
        contents: What is inside a node; None for a leaf.
        leaf: What is counted for a leaf: of a variable of one leaf, that one.
        has_arrays_only: Whether only the arrays in it are data.
        first: The place where the same object is counted, if that is another one: its
            node and its index.
        keys: The keys of the children; None until a row needs them.
        entries: The entries of children, by index, as far as there are any.
        tallies: The number of leaves, numbers and bytes in a node, by kind.
    """

    value: Any
    kind: Kind
    above: _Entry | None = None
    index: int = 0
    contents: Contents | None = None
    leaf: Any = None
    has_arrays_only: bool = False
    first: tuple[_Entry, int] | None = None
    keys: Sequence[Any] | None = None
    entries: dict[int, _Entry] = dataclasses.field(default_factory=dict)
    tallies: dict[Kind, list[int]] = dataclasses.field(default_factory=dict)

    def child(self, index: int) -> _Entry:
        """Return the entry of a child."""
        if index not in self.entries and self.contents is not None:
            kinds = self.contents.kinds
            kind = kinds[index] if kinds else self.kind
            value = self.contents.values[index]
            self.entries[index] = _Entry(value, kind, self, index, leaf=value)
        return self.entries[index]

    def children(self, most: int | None = None) -> list[_Entry]:
        """Return the entries of the children, or of the first ones."""
        if self.contents is None:
            return []
        indices = range(len(self.contents.values))[:most]
        return [self.child(index) for index in indices]

    def label_of(self, child: _Entry) -> str:
        """Return the key of a child as text."""
        contents = self.contents
        if self.keys is None and contents is not None and contents.keys is not None:
            try:
                self.keys = contents.keys(contents.aux, len(contents.values))
            except FAULTS:  # of the registration
                self.keys = ()
        key: Any = SequenceKey(child.index)
        if self.keys:
            key = self.keys[child.index]
        entry = getattr(key, "entry", None)
        name = str.__str__(entry) if type(entry) is _PathText else name_of((key,))
        label = clipped(escape_controls(name), _LONGEST)
        return label if label.startswith("[") else f".{label}"

    def add(self, tallies: Mapping[Kind, Sequence[int]]) -> None:
        """Count what is in a child."""
        for kind, (leaves, count, size) in tallies.items():
            tally = self.tallies.setdefault(kind, [0, 0, 0])
            tally[0] += leaves
            tally[1] += count
            tally[2] += size

    @property
    def source(self) -> _Entry | None:
        """The entry where the same object is counted, if that is another one."""
        if self.first is None:
            return None
        node, index = self.first
        return node.child(index)

    @property
    def amounts(self) -> dict[str, Amount]:
        """What is counted here, by kind."""
        if self.first is not None:
            return {}
        if self.contents is None:
            return {self.kind.value: Amount(1, *size_of(self.leaf))}
        return {kind.value: Amount(*tally) for kind, tally in self.tallies.items()}

    @property
    def amount(self) -> Amount:
        """What is counted here, of all kinds."""
        return _sum(self.amounts.values())

    @property
    def width(self) -> int:
        """How many children it has."""
        return 0 if self.contents is None else len(self.contents.values)

    @property
    def type(self) -> str:
        """The name of the class."""
        return _class_name(self.value)

    @property
    def path(self) -> str:
        """The path as text; only the end of a long one."""
        labels: list[str] = []
        entry = self
        while entry.above is not None and len(labels) < _DEEPEST:
            labels.append(entry.above.label_of(entry))
            entry = entry.above
        text = "".join(reversed(labels))
        return text.removeprefix(".") if entry.above is None else f"…{text}"

    @property
    def form(self) -> tuple[tuple[int, ...] | None, str]:
        """The shape and the dtype of an array; None and "" for other values."""
        shape = shape_of(self.leaf)
        if shape is None:
            return None, ""
        try:
            dtype = escape_controls(form_of(self.leaf).dtype)
        except FAULTS:  # it only looks like an array
            dtype = ""
        return shape, clipped(dtype, _LONGEST)


def _class_name(value: Any) -> str:
    return clipped(escape_controls(type(value).__name__), _LONGEST)


class _Reader:
    """Adds up the leaves of a tree.

    Attributes:
        context: Which values are nodes.
        shared: How many places hold an object that is counted at another place.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.shared = 0
        # the place of each object, by identity; nodes keep their children alive
        self._firsts: dict[int, tuple[_Entry, int]] = {}
        # the classes that are read without a call; a user may have registered them
        resolve = context.view.resolve
        self._plain = frozenset(cls for cls in _PLAIN if resolve(cls) is None)
        self._ndarray = getattr(sys.modules.get("numpy"), "ndarray", None)
        if self._ndarray is not None and resolve(self._ndarray) is not None:
            self._ndarray = None

    def read(self, tree: Any) -> _Entry:
        """Read a tree of any depth, in order, and return the entry of the root.

        The inner loop runs for every leaf. It counts plain leaves and arrays of numpy
        without a call, which makes it three times as fast.
        """
        plain = self._plain
        ndarray = self._ndarray
        firsts = self._firsts
        contents = Contents([tree])
        node = _Entry(None, Kind.DATA, contents=contents)
        stack = [(node, contents.kinds, enumerate(contents.values))]
        while stack:
            node, kinds, places = stack[-1]
            tally: list[int] = []
            tally_kind = None
            # goes on after the child that it was left for
            for index, value in places:
                kind = kinds[index] if kinds else node.kind
                count = 1
                size = 0
                if type(value) not in plain:
                    leaf = value
                    if type(value) is not ndarray or id(value) in firsts:
                        entry = self._enter(value, kind, node, index)
                        if entry.first is not None:
                            self.shared += 1
                            continue
                        if entry.contents is not None:
                            contents = entry.contents
                            inner_places = enumerate(contents.values)
                            stack.append((entry, contents.kinds, inner_places))
                            break
                        leaf = entry.leaf
                        kind = entry.kind
                    if type(leaf) is ndarray:
                        count = leaf.size
                        size = leaf.nbytes
                        firsts[id(leaf)] = node, index
                    else:
                        count, size = size_of(leaf)
                if kind is not tally_kind:  # mostly, all children are of one kind
                    tally = node.tallies.setdefault(kind, [0, 0, 0])
                    tally_kind = kind
                tally[0] += 1
                tally[1] += count
                tally[2] += size
            else:  # all children have been read
                stack.pop()
                if node.above is not None:
                    node.above.add(node.tallies)
        (root,) = node.children()
        root.above = None  # only to read it as a child was there a node above
        return root

    def _enter(
        self,
        value: Any,
        kind: Kind,
        node: _Entry,
        index: int,
    ) -> _Entry:
        """Return the entry of a child, and remember its place if it can be shared."""
        place = node, index
        entry = _Entry(value, kind, node, index, leaf=value)
        node.entries[index] = entry
        entry.first = self._firsts.get(id(value))
        if entry.first is not None:
            return entry
        contents = contents_of(value, self.context, kind)
        if contents is not None:
            # equal tuples are often one object by chance
            if contents.values and type(value) is not tuple:
                self._firsts[id(value)] = place
            if contents.holds != "value" or not contents.kinds:
                self._open(entry, contents)
                return entry
            # a variable: of one leaf, that one is counted, in the row of the variable
            (leaf,) = contents.values
            (leaf_kind,) = contents.kinds
            entry.first = self._firsts.get(id(leaf))
            if entry.first is None and self._is_node(leaf, leaf_kind):
                self._open(entry, contents)
                return entry
            entry.leaf = leaf
            entry.kind = leaf_kind
        # arrays of numpy are remembered by the caller
        is_new = entry.first is None and type(entry.leaf) is not self._ndarray
        if is_new and has_memory(entry.leaf):
            self._firsts[id(entry.leaf)] = place
        return entry

    def _open(self, entry: _Entry, contents: Contents) -> None:
        """Make an entry that of a node."""
        is_in_arrays_only = entry.above is not None and entry.above.has_arrays_only
        entry.has_arrays_only = is_in_arrays_only
        if contents.holds == "arrays":
            entry.has_arrays_only = True
        elif contents.holds == "leaves":
            entry.has_arrays_only = False
        elif is_in_arrays_only and not contents.holds:
            contents = self._arrays_in(contents, entry.kind)
        entry.contents = contents

    def _is_node(self, value: Any, kind: Kind) -> bool:
        if type(value) is self._ndarray or type(value) in self._plain:
            return False
        return contents_of(value, self.context, kind) is not None

    def _arrays_in(self, contents: Contents, kind: Kind) -> Contents:
        """Return the arrays and nodes among the children of a node."""
        count = len(contents.values)
        keys: Sequence[Any] = [SequenceKey(index) for index in range(count)]
        if contents.keys is not None:
            keys = contents.keys(contents.aux, count)
        values = []
        data_keys = []
        for key, value in zip(keys, contents.values, strict=True):
            if shape_of(value) is not None or self._is_node(value, kind):
                values.append(value)
                data_keys.append(key)
        return Contents(values, lambda _aux, _count: data_keys)


# ---------------------------------------------------------------------------- the rows


class SummaryRow(NamedTuple):
    """A row of a summary.

    Attributes:
        path: The path as text.
        depth: How many nodes are above the row's node or leaf.
        role: `node`; `leaf`; `again`, a value that is counted at another place; `more`,
            the values that are left out; `group`, all leaves of one group.
        type: The name of the class.
        shape: The shape of an array, None for other values.
        dtype: The dtype of an array.
        kind: The kind, such as `parameter`; for a node with several kinds, each kind
            with its number of numbers.
        leaves: The number of leaves counted in this row.
        count: The number of numbers: those in arrays, and one for any other leaf.
        bytes: The number of bytes that arrays take.
        share: The fraction of the whole, from 0 to 1: of the bytes, or of the numbers
            if no leaf has bytes.
        same_as: For `again`, the path at which the value is counted.
        left_out: For `more`, how many values are left out.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_summary({"a": 1, "b": 2}).rows[1]
        ... # doctest: +NORMALIZE_WHITESPACE
        SummaryRow(path='a', depth=1, role='leaf', type='int', shape=None, dtype='',
            kind='data', leaves=1, count=1, bytes=0, share=0.5, same_as='', left_out=0)
    """

    path: str = ""
    depth: int = 0
    role: Role = "node"
    type: str = ""
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    kind: str = ""
    leaves: int = 0
    count: int = 0  # type: ignore[assignment]  # hides the method of tuples
    bytes: int = 0
    share: float = 0.0
    same_as: str = ""
    left_out: int = 0


def _node_rows(root: _Entry, levels: int, most: int) -> list[SummaryRow]:
    """Return the rows of nodes and leaves."""
    opened = _choose_children(root, levels, most)
    whole = root.amount

    def rows_of(entry: _Entry, path: str, depth: int) -> Iterator[SummaryRow]:
        source = entry.source
        amounts = entry.amounts
        amount = _sum(amounts.values())
        role: Role = "node"
        shape = None
        dtype = ""
        same_as = ""
        counted_entry = source or entry
        if counted_entry.contents is None:
            role = "leaf"
            shape, dtype = counted_entry.form
        if source is not None:
            role = "again"
            same_as = source.path or _ROOT
        yield SummaryRow(
            path=path,
            depth=depth,
            role=role,
            type=entry.type,
            shape=shape,
            dtype=dtype,
            kind=_kinds_text(amounts),
            same_as=same_as,
            **_numbers(amount, whole),
        )
        if entry not in opened:
            return
        children = opened[entry]
        for child in children:
            child_path = f"{path}{entry.label_of(child)}".removeprefix(".")
            yield from rows_of(child, child_path, depth + 1)
        left_out = entry.width - len(children)
        if left_out:
            shown = _sum(child.amount for child in children)
            # not the sum of the others, which have no entries and need none
            hidden = Amount(
                amount.leaves - shown.leaves,
                amount.count - shown.count,
                amount.bytes - shown.bytes,
            )
            yield SummaryRow(
                path=path,
                depth=depth + 1,
                role="more",
                left_out=left_out,
                **_numbers(hidden, whole),
            )

    return list(rows_of(root, "", 0))


def _choose_children(
    root: _Entry, levels: int, most: int
) -> dict[_Entry, list[_Entry]]:
    """Return the children of each node that have rows.

    What is near the root comes first, and the nodes of a level share what is left of
    the limit, so that one long list hides nothing else.
    """
    chosen: dict[_Entry, list[_Entry]] = {}
    level = [root]
    spare = most - 1
    for _ in range(levels):
        nodes = [entry for entry in level if entry.width > 0]
        share = fair_share([node.width for node in nodes], spare - len(nodes))
        if not nodes or share < 1:
            break
        level = []
        for node in nodes:
            # one row fewer where a row has to say how many are left out
            number = node.width if node.width <= share else share - 1
            if number == 0:
                continue
            spare -= min(node.width, share)
            chosen[node] = node.children(number)
            level.extend(chosen[node])
    return chosen


def _numbers(amount: Amount, whole: Amount) -> dict[str, Any]:
    """Return the fields of a row that are numbers."""
    share = 0.0
    if whole.bytes:
        share = amount.bytes / whole.bytes
    elif whole.count:
        share = amount.count / whole.count
    return {**amount._asdict(), "share": share}


def _kinds_text(amounts: Mapping[str, Amount]) -> str:
    """Return the kinds as text, with the count of each if there are several."""
    kinds = [kind.value for kind in Kind if kind.value in amounts]
    if len(kinds) < 2:
        return "".join(kinds)
    return ", ".join(f"{kind}: {amounts[kind].count:,}" for kind in kinds)


def _group_rows(root: _Entry, by: By, most: int) -> list[SummaryRow]:
    """Return a row for each group of leaves, in the order of their first leaves."""
    groups: dict[str, list[Amount]] = {}
    for leaf in _leaves_below(root):
        name = leaf.type
        if by == "dtype":
            _, dtype = leaf.form
            name = dtype or _class_name(leaf.leaf)
        groups.setdefault(name, []).append(leaf.amount)
    totals = {name: _sum(amounts) for name, amounts in groups.items()}
    names = list(totals)
    whole = root.amount
    rows = []
    for name in names[:most]:
        fields: dict[str, Any] = {by: name, **_numbers(totals[name], whole)}
        rows.append(SummaryRow(role="group", **fields))
    hidden = names[most:]
    if hidden:
        numbers = _numbers(_sum(totals[name] for name in hidden), whole)
        rows.append(SummaryRow(role="more", left_out=len(hidden), **numbers))
    return rows


def _leaves_below(root: _Entry) -> Iterator[_Entry]:
    """Yield the entries of all leaves that are counted, in order."""
    stack = [root]
    while stack:
        entry = stack.pop()
        if entry.contents is not None:
            stack.extend(reversed(entry.children()))
        elif entry.first is None:
            yield entry


# --------------------------------------------------------------------------- the table

_WIDTH: Final = 100
_NARROWEST: Final = 20
_NARROWEST_COLUMN: Final = 6
_LONGEST_PATH: Final = 1000  # in HTML
_GAP: Final = "  "


@dataclasses.dataclass
class _Column:
    """A column of the table.

    Attributes:
        name: The heading.
        cells: The text of each row.
        is_text: Whether it is aligned to the left, and may be cut.
    """

    name: str
    cells: list[str]
    is_text: bool = True

    @property
    def width(self) -> int:
        return max(width_of(text) for text in (self.name, *self.cells))

    def lines(self, width: int) -> list[str]:
        """Return the heading and the cells as texts of one width."""
        lines = []
        for cell in (self.name, *self.cells):
            text = clipped(cell, width)
            blanks = " " * (width - width_of(text))
            lines.append(text + blanks if self.is_text else blanks + text)
        return lines


class TreeSummary:
    """A summary of a tree as a table; prints as text, displays as HTML in notebooks.

    Attributes:
        rows: The rows that are shown; `pandas.DataFrame(summary.rows)` makes a data
            frame.
        leaves: The number of leaves in the tree.
        count: The number of numbers.
        bytes: The number of bytes.
        kinds: The number of leaves, numbers and bytes of each kind.
        shared: How many places hold a value that is counted at another place.

    Example:
        >>> import leafwise as lw
        >>> summary = lw.tree_summary({"a": 1, "b": [2, 3]})
        >>> summary.leaves, [row.path for row in summary.rows]
        (3, ['', 'a', 'b', 'b[0]', 'b[1]'])
    """

    def __init__(
        self,
        rows: list[SummaryRow],
        kinds: Mapping[str, Amount],
        shared: int,
        by: By | None = None,
    ) -> None:
        self.rows = rows
        self.kinds: dict[str, Amount] = dict(kinds)
        total = _sum(kinds.values())
        self.leaves: int = total.leaves
        self.count: int = total.count
        self.bytes: int = total.bytes
        self.shared = shared
        self._by = by

    def to_text(self, width: int | None = None) -> str:
        """Return the table as text, at most `width` columns wide where possible.

        Args:
            width: How many columns the text may have; None for the width of the
                terminal, or 100 if the standard output is not a terminal.
        """
        if width is None:
            terminal = shutil.get_terminal_size((_WIDTH, 0))
            width = max(terminal.columns, _NARROWEST)
        columns = self._columns()
        names = columns[0]
        branches = branches_of([row.depth for row in self.rows])
        names.cells = [
            branch + name for branch, name in zip(branches, names.cells, strict=True)
        ]
        gaps = len(_GAP) * (len(columns) - 1)
        # columns of text share what the columns of numbers leave
        text_widths = [column.width for column in columns if column.is_text]
        number_widths = [column.width for column in columns if not column.is_text]
        spare = width - gaps - sum(number_widths) - len(text_widths)
        widest = max(fair_share(text_widths, spare), _NARROWEST_COLUMN)
        texts = []
        for column in columns:
            most = widest if column.is_text else column.width
            texts.append(column.lines(min(column.width, most)))
        head, *lines = [_GAP.join(line) for line in zip(*texts, strict=True)]
        rule = "─" * width_of(head)
        notes = [clipped(note, max(width, _NARROWEST)) for note in self._notes()]
        table = [head, rule, *lines, rule, *notes]
        return "\n".join(line.rstrip() for line in table)

    def to_html(self) -> str:
        """Return the table as self-contained HTML for light and dark pages."""
        columns = self._columns()
        heads = [_html_cell("th", column, column.name) for column in columns]
        rows = []
        names, *others = columns
        for index, row in enumerate(self.rows):
            title = escape(clipped(row.path, _LONGEST_PATH))
            name = escape(names.cells[index])
            texts = f'<th scope="row" title="{title}">{name}</th>'
            for column in others:
                texts += _html_cell("td", column, column.cells[index])
            # `style.css` indents the name by the one, and draws a bar for the other
            style = f"--depth:{row.depth};--share:{row.share:.1%}"
            rows.append(f'<tr class="lw-row-{row.role}" style="{style}">{texts}</tr>')
        head = f"<thead><tr>{''.join(heads)}</tr></thead>"
        body = f"<tbody>{''.join(rows)}</tbody>"
        notes = "".join(caption(note) for note in self._notes())
        return framed(f'<table class="lw-summary">{head}{body}</table>{notes}')

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.to_html()

    def __rich_console__(self, _console: Any, options: Any) -> Iterator[Any]:
        text = import_module("rich.text").Text
        yield text(self.to_text(options.max_width), no_wrap=True)

    def _columns(self) -> list[_Column]:
        """Return the columns: the names of the rows, and others that are not empty."""
        rows = self.rows
        columns = []
        if self._by is None:
            shapes = ["" if row.shape is None else str(row.shape) for row in rows]
            columns.append(_Column("type", [row.type for row in rows]))
            columns.append(_Column("shape", shapes))
            columns.append(_Column("dtype", [row.dtype for row in rows]))
            kinds = [row.kind for row in rows]
            if not {"", Kind.DATA.value}.issuperset(kinds):
                columns.append(_Column("kind", kinds))
        else:
            leaves = [f"{row.leaves:,}" for row in rows]
            columns.append(_Column("leaves", leaves, is_text=False))
        counts = ["" if row.role == "again" else f"{row.count:,}" for row in rows]
        sizes = [bytes_text(row.bytes) if row.bytes else "" for row in rows]
        shares = [_share_text(row) for row in rows]
        columns.append(_Column("count", counts, is_text=False))
        columns.append(_Column("bytes", sizes, is_text=False))
        columns.append(_Column("share", shares, is_text=False))
        filled = [column for column in columns if any(column.cells)]
        return [_Column(self._by or "path", self._names()), *filled]

    def _names(self) -> list[str]:
        """Return the first cell of each row: of a path, what the rows above lack."""
        names = []
        paths = [""]
        for row in self.rows:
            if row.role == "more":
                name = f"… {row.left_out:,} more"
            elif self._by is not None:
                name = getattr(row, self._by)
            else:
                # the paths of the rows above that this one is in, the innermost last
                del paths[row.depth + 1 :]
                name = row.path.removeprefix(paths[-1]).removeprefix(".") or _ROOT
                paths.append(row.path)
            if row.role == "again":
                name += f" → {row.same_as}"
            names.append(name)
        return names

    def _notes(self) -> list[str]:
        """Return the lines below the table."""
        numbers = f"{self.count:,} {'number' if self.count == 1 else 'numbers'}"
        size = f", {bytes_text(self.bytes)}" if self.bytes else ""
        notes = [f"{leaves_text(self.leaves)}, {numbers}{size}"]
        if len(self.kinds) > 1:
            notes.append(_kinds_text(self.kinds))
        if self.shared:
            places = "place" if self.shared == 1 else "places"
            notes.append(f"→ {self.shared:,} shared {places}, counted once")
        return notes


def _html_cell(tag: str, column: _Column, text: str) -> str:
    side = "" if column.is_text else ' class="lw-right"'
    return f"<{tag}{side}>{escape(text)}</{tag}>"


def _share_text(row: SummaryRow) -> str:
    if row.role == "again":
        return ""
    if 0 < row.share < 0.0005:
        return "<0.1%"
    return f"{row.share:.1%}"

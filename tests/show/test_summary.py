"""Summaries: tables of what a tree holds, whole, as rows, and against other counts."""

import html.parser
import io
import re
import textwrap
from collections import Counter
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from helpers import hostile_text, random_trees
from helpers.peers import peer
from leafwise import nn
from leafwise.show.text import columns


def text(tree):
    """Return a table that is indented in the source."""
    return textwrap.dedent(tree).strip("\n")


class Dense(nn.Module):
    def __init__(self, n, m):
        self.kernel = nn.Param(np.zeros((n, m), "f4"))
        self.bias = nn.Param(np.zeros(m, "f4"))


class Model(nn.Module):
    def __init__(self):
        self.embed = nn.Param(np.zeros((50, 8), "f2"))
        self.layers = nn.List([Dense(8, 8)])
        self.mean = nn.BatchStat(np.zeros(4))
        self.head = self.embed


def only(tree, **options):
    """Return paths, counts and bytes of the rows that count something."""
    rows = lw.tree_summary(tree, **options).rows
    return [(row.path, row.count, row.bytes) for row in rows if row.role != "again"]


# ------------------------------------------------------------------------ whole texts


def test_a_model():
    """Variables stand for their arrays; kinds and sub-totals per node."""
    summary = lw.tree_summary(Model())
    assert str(summary) == repr(summary) == str(lw.tree_summary(Model()))
    assert summary.to_text(100) == text("""
        path                type       shape    dtype    kind                      count   bytes   share
        ────────────────────────────────────────────────────────────────────────────────────────────────
        (root)              Model                        parameter: 472, state: 4    476  1.1 kB  100.0%
        ├── embed           Param      (50, 8)  float16  parameter                   400   800 B   71.4%
        ├── layers          List                         parameter                    72   288 B   25.7%
        │   └── [0]         Dense                        parameter                    72   288 B   25.7%
        │       ├── kernel  Param      (8, 8)   float32  parameter                    64   256 B   22.9%
        │       └── bias    Param      (8,)     float32  parameter                     8    32 B    2.9%
        ├── mean            BatchStat  (4,)     float64  state                         4    32 B    2.9%
        └── head → embed    Param      (50, 8)  float16
        ────────────────────────────────────────────────────────────────────────────────────────────────
        4 leaves, 476 numbers, 1.1 kB
        parameter: 472, state: 4
        → 1 shared place, counted once
        """)  # noqa: E501  # as wide as it is


def test_levels_and_numbers_of_rows():
    """What is near the root comes first, and what is left out is counted."""
    tree = {"a": [[1, 2], 3], "b": list(range(100))}
    assert only(tree, depth=1) == [("", 103, 0), ("a", 3, 0), ("b", 100, 0)]
    assert str(lw.tree_summary(tree, max_rows=10)) == text("""
        path               type  count   share
        ──────────────────────────────────────
        (root)             dict    103  100.0%
        ├── a              list      3    2.9%
        │   ├── [0]        list      2    1.9%
        │   └── [1]        int       1    1.0%
        └── b              list    100   97.1%
            ├── [0]        int       1    1.0%
            ├── [1]        int       1    1.0%
            ├── [2]        int       1    1.0%
            ├── [3]        int       1    1.0%
            └── … 96 more           96   93.2%
        ──────────────────────────────────────
        103 leaves, 103 numbers
        """)


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("type", [("Param", 3, 472, 1088), ("BatchStat", 1, 4, 32)]),
        (
            "dtype",
            [("float16", 1, 400, 800), ("float32", 2, 72, 288), ("float64", 1, 4, 32)],
        ),
    ],
)
def test_groups(by, expected):
    """By type or dtype; the first that is met comes first."""
    rows = lw.tree_summary(Model(), by=by).rows
    groups = [(getattr(row, by), row.leaves, row.count, row.bytes) for row in rows]
    assert groups == expected
    assert {row.role for row in rows} == {"group"}
    assert sum(row.share for row in rows) == pytest.approx(1)
    rows = lw.tree_summary(Model(), by=by, max_rows=1).rows
    assert [row.left_out for row in rows] == [0, len(expected) - 1]
    assert sum(row.count for row in rows) == 476


def test_groups_as_text():
    """With the number of leaves."""
    tree = {"lr": 0.1, "sizes": [64, 32], "w": np.zeros(3, "i1")}
    assert str(lw.tree_summary(tree, by="dtype")) == text("""
        dtype  leaves  count  bytes   share
        ───────────────────────────────────
        float       1      1           0.0%
        int         2      2           0.0%
        int8        1      3    3 B  100.0%
        ───────────────────────────────────
        4 leaves, 6 numbers, 3 B
        """)
    assert [row.type for row in lw.tree_summary(3, by="type").rows] == ["int"]
    assert lw.tree_summary([], by="type").rows == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "kind"}, "by must be one of 'type', 'dtype' or None"),
        ({"depth": -1}, "depth must not be negative, got -1"),
        ({"max_rows": -1}, "max_rows must not be negative, got -1"),
    ],
)
def test_bad_options(options, message):
    """Are named."""
    with pytest.raises(ValueError, match=re.escape(message)):
        lw.tree_summary([1], **options)


# ------------------------------------------------------------------------------ rows


def test_predicates():
    """Make leaves of nodes."""
    tree = {"a": [1, (2, 3)], "b": [4]}
    assert only(tree, is_leaf=tuple)[2:4] == [("a[0]", 1, 0), ("a[1]", 1, 0)]
    assert lw.tree_summary(tree, is_leaf=lambda node: node == (2, 3)).leaves == 3
    assert lw.tree_summary(lw.tree_structure(tree), is_leaf=tuple).leaves == 4
    with pytest.raises(ZeroDivisionError):
        lw.tree_summary(tree, is_leaf=lambda node: 1 / 0)


# --------------------------------------------------------------------- shared objects


def test_tied_weights_count_once():
    """Where they stand first, though that is not shown."""
    w = np.zeros((3, 3))
    summary = lw.tree_summary({"a": {"b": [w]}, "c": w, "d": [w, 1]}, depth=2)
    rows = [(row.path, row.role, row.same_as, row.count) for row in summary.rows]
    assert rows == [
        ("", "node", "", 10),
        ("a", "node", "", 9),
        ("a.b", "node", "", 9),
        ("c", "again", "a.b[0]", 0),
        ("d", "node", "", 1),
        ("d[0]", "again", "a.b[0]", 0),
        ("d[1]", "leaf", "", 1),
    ]
    assert (summary.count, summary.bytes, summary.shared) == (10, 72, 2)
    assert summary.rows[3].shape == (3, 3)


def test_variables_and_arrays():
    """An array in two variables, and outside of them."""
    w = np.zeros(5)
    rows = lw.tree_summary([nn.Param(w), nn.Param(w), w, [nn.Param(w)]]).rows
    assert [(row.type, row.role, row.same_as, row.count) for row in rows] == [
        ("list", "node", "", 5),
        ("Param", "leaf", "", 5),
        ("Param", "again", "[0]", 0),
        ("ndarray", "again", "[0]", 0),
        ("list", "node", "", 0),
        ("Param", "again", "[0]", 0),
    ]


# ------------------------------------------------------------------- other libraries


def test_selections():
    """What they pick, by its paths."""
    tree = {"a": {"w": np.zeros(3), "b": 1}, "c": [{"w": np.zeros(4)}]}
    rows = lw.tree_summary(lw.at(tree)["**.w"]).rows
    assert [(row.path, row.count) for row in rows] == [
        ("", 7),
        ("a.w", 3),
        ("c[0].w", 4),
    ]


def test_modules_of_torch():
    """By their `state_dict()`, in which a tied parameter is one."""
    torch = peer("torch")
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(2, 3))
    model[1].weight = model[0].weight
    summary = lw.tree_summary(model)
    assert [row.path for row in summary.rows[1:]] == [
        f"['{name}']" for name in model.state_dict()
    ]
    assert (summary.count, summary.shared) == (12, 1)


class Free(nn.Object):
    """An object that is no tree, whose attributes nobody marks."""

    def __init__(self, layers):
        self.layers = layers
        self.size = 3


def test_objects_that_are_no_trees():
    """Hold arrays and variables; all else in them is structure."""
    tree = {"x": Free([("relu", nn.Param(np.zeros(4))), (7, np.ones(2)), Free(5)])}
    rows = lw.tree_summary(tree).rows
    assert [(row.path, row.count) for row in rows] == [
        ("", 6),
        ("x", 6),
        ("x.layers", 6),
        ("x.layers[0]", 4),
        ("x.layers[0][1]", 4),
        ("x.layers[1]", 2),
        ("x.layers[1][1]", 2),
        ("x.layers[2]", 0),
    ]


# ------------------------------------------------- against a count of its own


def counted(tree):
    """Return the number of leaves and of numbers, by the leaves alone."""
    leaves = lw.tree_leaves(tree)
    return len(leaves), sum(
        np.size(leaf) if hasattr(leaf, "shape") else 1 for leaf in leaves
    )


arrays = st.builds(
    np.zeros,
    st.lists(st.integers(0, 3), max_size=3).map(tuple),
    st.sampled_from(["i1", "f4"]),
)


def fresh(tree):
    """Return a tree in which no two nodes are one."""
    return lw.tree_map(
        lambda leaf: leaf.copy() if hasattr(leaf, "copy") else leaf, tree
    )


@given(tree=random_trees.every_tree(), array=arrays)
def test_all_leaves_are_counted(tree, array):
    """Of every sort of node; sub-totals add up; and groups have the same total."""
    tree = fresh({"tree": tree, "array": array})
    summary = lw.tree_summary(tree, max_rows=None)
    assert (summary.leaves, summary.count) == counted(tree)
    assert summary.bytes == array.nbytes
    inside = {row.path: Counter() for row in summary.rows if row.role == "node"}
    around = [row.path for row in summary.rows[:1]]
    for row in summary.rows[1:]:
        del around[row.depth :]
        inside[around[-1]].update(leaves=row.leaves, count=row.count, bytes=row.bytes)
        around.append(row.path)
    for row in summary.rows:
        if row.role == "node":
            assert inside[row.path] == Counter(
                leaves=row.leaves, count=row.count, bytes=row.bytes
            )
    for by in ("type", "dtype"):
        rows = lw.tree_summary(tree, by=by).rows
        assert sum(row.leaves for row in rows) == summary.leaves
        assert sum(row.count for row in rows) == summary.count


@given(tree=random_trees.every_tree(), most=st.integers(0, 20), depth=st.integers(0, 4))
def test_limits_hide_nothing_of_the_totals(tree, most, depth):
    """Whatever is shown: the sum over what is shown at the ends is that of all."""
    summary = lw.tree_summary(tree, max_rows=most, depth=depth)
    assert len(summary.rows) <= max(most, 1)
    assert max(row.depth for row in summary.rows) <= depth
    opened = {
        above.path
        for above, row in zip(summary.rows, summary.rows[1:], strict=False)
        if row.depth > above.depth
    }
    ends = [row for row in summary.rows if row.role != "node" or row.path not in opened]
    assert sum(row.leaves for row in ends) == summary.leaves
    assert sum(row.count for row in ends) == summary.count


# --------------------------------------------------------------------------- hostile


class Shapes:
    """Seems to be an array."""

    def __init__(self, shape, dtype):
        self.shape = shape
        self.dtype = dtype


@lw.register_pytree_node_class
class Fails:
    def tree_flatten(self):
        raise RuntimeError("no children")

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls()


shapes = [None, 3, ("a",), (2, 2)]
dtypes = st.one_of(
    st.sampled_from([None, "</td>", np.dtype("f4"), []]),
    st.builds(hostile_text.Broken),
)
leaves = st.one_of(
    hostile_text.leaves | random_trees.leaves | st.builds(Fails),
    st.builds(Shapes, st.sampled_from(shapes), dtypes),
)


def free(value):
    """Return an object around a value, if it can have it: it looks into nodes."""
    with suppress(RuntimeError):
        return Free(value)
    return value


def nodes(children):
    return hostile_text.nodes(children) | st.builds(free, children)


class Reader(html.parser.HTMLParser):
    """Reads a table, and knows which elements there may be."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.texts = []

    def handle_starttag(self, tag, attrs):
        assert tag in {"div", "style", "table", "thead", "tbody", "tr", "th", "td"}
        assert {name for name, _ in attrs} <= {
            "class",
            "dir",
            "style",
            "scope",
            "title",
        }
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.texts.append(data)


def read(page):
    """Return the texts of a table in HTML."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    return [part for part in reader.texts if part.strip()]


@given(
    tree=st.recursive(leaves, nodes, max_leaves=12),
    by=st.sampled_from([None, "type", "dtype"]),
    width=st.integers(0, 120),
)
def test_nothing_in_a_tree_makes_it_fail(tree, by, width):
    """Nor writes what a terminal acts upon, nor becomes an element of a page."""
    summary = lw.tree_summary(tree, by=by)
    text = summary.to_text(width)
    assert not re.search(
        r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066]", text
    )
    assert text.encode()
    assert max(map(columns, summary.to_text(120).splitlines())) <= 120
    texts = read(summary.to_html())
    assert len(summary.to_html()) < 200_000
    assert f"{summary.leaves:,} lea" in " ".join(texts)
    assert sum(row.count for row in summary.rows) >= 0


# -------------------------------------------------------------------------- elsewhere


def test_html():
    """The same cells; the path of each row beside it."""
    summary = lw.tree_summary({"a": [np.zeros(3)], "b": 1})
    page = summary._repr_html_()
    assert page == summary.to_html()
    assert read(page) == [
        "path",
        "type",
        "shape",
        "dtype",
        "count",
        "bytes",
        "share",
        "(root)",
        "dict",
        "4",
        "24 B",
        "100.0%",
        "a",
        "list",
        "3",
        "24 B",
        "100.0%",
        "[0]",
        "ndarray",
        "(3,)",
        "float64",
        "3",
        "24 B",
        "100.0%",
        "b",
        "int",
        "1",
        "0.0%",
        "2 leaves, 4 numbers, 24 B",
    ]
    assert """title="a[0]">[0]</th>""" in page
    assert not re.search(r"http|url\(|@import|<script", page)


def test_rich():
    """Draws a table of its own, as wide as it wants, without reading marks in names."""
    console = peer("rich.console")
    tree = {"[red]a[/red]": np.zeros((2, 3)), "b": [1, 2]}
    tree["c"] = tree["b"]
    for width in (100, 60):
        out = io.StringIO()
        console.Console(file=out, width=width).print(lw.tree_summary(tree))
        lines = out.getvalue().splitlines()
        assert max(map(len, lines)) <= width
        assert any("[red" in line and "48 B" in line for line in lines)
        assert "→ 1 shared place, counted once" in out.getvalue()

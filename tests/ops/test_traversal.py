"""Reductions over leaves, and visitors of all nodes: `leafwise.ops.traversal`."""

from collections import OrderedDict, namedtuple

import pytest

import leafwise as lw


pytestmark = pytest.mark.usefixtures("sampling")


TREE = {"c": 3, "a": [1, (2,)], "b": None}


class Odd(Exception):
    """An exception of the user's own."""


def raiser(*_args):
    """Raise, whatever the arguments."""
    raise Odd("oops")


def pair(a, b):
    """Show how two values were combined."""
    return f"({a}{b})"


# ---------------------------------------------------------------------- reduce


@pytest.mark.parametrize("tree", [None, (), {"a": []}])
def test_reduce_without_leaves(tree):
    """The error says what is missing."""
    with pytest.raises(TypeError) as caught:
        lw.tree_reduce(pair, tree)
    assert str(caught.value) == (
        "tree_reduce of a tree without leaves needs an initializer"
    )


# -------------------------------------------------------------------- all, any


def test_all_and_any_ask_no_more_leaves_than_needed():
    """Leaves after the answer are not looked at."""

    class Unasked:
        def __bool__(self):
            raise Odd("oops")

    assert lw.tree_all([0, Unasked()]) is False
    assert lw.tree_any([1, Unasked()]) is True
    for function in (lw.tree_all, lw.tree_any):
        with pytest.raises(Odd, match=r"^oops"):
            function([Unasked()])


@pytest.mark.parametrize(
    ("fold", "leaf"),
    [
        (lambda tree: lw.tree_reduce(lambda a, b: a + b, tree), "x"),
        (lambda tree: lw.tree_reduce(lambda a, b: a + b, tree, 0), "x"),
        (lw.tree_sum, "x"),
        (lw.tree.max, "x"),
        (lambda tree: lw.tree.min(tree, key=lambda x: -x), "x"),
    ],
)
def test_a_failing_fold_names_the_leaf(fold, leaf):
    """By a note with its path, as a map does."""
    with pytest.raises(TypeError) as caught:
        fold({"b": [1, leaf, 3], "a": 1})
    assert caught.value.__notes__ == ["at key path ['b'][1]"]


def test_a_leaf_without_a_truth_value_is_named():
    """As an array of several numbers is."""

    class Unsure:
        def __bool__(self):
            raise Odd("oops")

    for fold, before in ((lw.tree_all, 1), (lw.tree_any, 0)):
        with pytest.raises(Odd) as caught:
            fold([before, Unsure()])
        assert caught.value.__notes__ == ["at key path [1]"]


# ------------------------------------------------------------------------- sum


def test_sum_adds_from_left_to_right():
    """Numbers, tuples and strings are added to the start in leaf order."""
    assert lw.tree_sum(TREE) == 6
    assert lw.tree_sum(TREE, 10) == lw.tree_sum(TREE, start=10) == 16
    assert lw.tree_sum([]) == 0
    assert lw.tree_sum(None, "none") == "none"
    assert lw.tree_sum([(1,), [(2, 3)]], (), is_leaf=tuple) == (1, 2, 3)
    assert lw.tree_sum({"b": "y", "a": "x"}, "w") == "wxy"
    assert lw.tree_sum([b"x", [b"y"]], b"w") == b"wxy"
    start = bytearray(b"w")
    assert lw.tree_sum([b"x", [b"y"]], start) == bytearray(b"wxy")
    assert start == b"w"  # it is not added to in place


# -------------------------------------------------------------------- max, min


def test_max_and_min():
    """The largest and the smallest leaf, by value or by key."""
    tree = {"a": 3, "b": [-4, (1,)]}
    assert (lw.tree.max(tree), lw.tree.min(tree)) == (3, -4)
    assert (lw.tree.max(tree, key=abs), lw.tree.min(tree, key=abs)) == (-4, 1)
    assert (lw.tree.max(5), lw.tree.min(5)) == (5, 5)
    assert lw.tree.max([(1, 2), (1, 3)], is_leaf=tuple) == (1, 3)


def test_the_first_of_several_wins():
    """Among equals, the leaf that comes first is the result."""
    tree = {"b": 1, "a": 1.0, "c": True}
    assert type(lw.tree.max(tree)) is float
    assert type(lw.tree.min(tree)) is float


@pytest.mark.parametrize(
    ("function", "name"), [(lw.tree.max, "tree_max"), (lw.tree.min, "tree_min")]
)
def test_max_and_min_without_leaves(function, name):
    """A default does for no leaves, None too; else the error says so."""
    assert function([], default=7) == 7
    assert function(None, default=None) is None
    assert function([1], default=raiser) == 1
    with pytest.raises(ValueError, match=r"^tree") as caught:
        function({"a": ()})
    assert str(caught.value) == f"{name} of a tree without leaves needs a default"


# --------------------------------------------------------------------------- every node


Point = namedtuple("Point", "x y")
NESTED = {"b": [1, (2, None)], "a": Point(3, 4)}


def test_the_order_of_a_visit():
    """`enter` comes before the children, `leave` after them, with path and parent."""
    visits = []

    def note(when):
        def visitor(node, path, parent):
            visits.append((when, str(path), parent is None or node is not parent))
            return node

        return visitor

    assert lw.tree_visit([1, (2,)], note("enter"), note("leave")) == [1, (2,)]
    assert [entry[:2] for entry in visits] == [
        ("enter", ""),
        ("enter", "[0]"),
        ("leave", "[0]"),
        ("enter", "[1]"),
        ("enter", "[1][0]"),
        ("leave", "[1][0]"),
        ("leave", "[1]"),
        ("leave", ""),
    ]


def test_what_is_not_touched_is_shared():
    """Only the nodes above a change are built anew."""
    changed = lw.tree_visit(NESTED, lambda n, p, q: 30 if n == 3 else n)
    assert changed == {"b": [1, (2, None)], "a": Point(30, 4)}
    assert list(changed) == ["b", "a"]
    assert changed["b"] is NESTED["b"]


def test_skip_and_stop():
    """SKIP keeps a subtree unseen, STOP keeps all that follows."""
    visits = []

    def enter(node, path, parent):
        visits.append(str(path))
        if isinstance(node, Point):
            return lw.SKIP
        return lw.STOP if node == 1 else node

    assert lw.tree_visit(NESTED, enter) is NESTED
    assert visits == ["", "['a']", "['b']", "['b'][0]"]

    def negate_up_to_2(node, path, parent):
        if node == 2:
            return lw.STOP
        return -node if isinstance(node, int) else node

    assert lw.tree_visit([1, 2, [3]], negate_up_to_2) == [-1, 2, [3]]

    def replace_3_after_a_stop(node, path, parent):
        if node == [2]:
            return lw.STOP
        return 0 if node == 3 else node

    assert lw.tree_visit([1, [2], 3], None, replace_3_after_a_stop) == [1, [2], 3]


@pytest.mark.parametrize(
    ("tree", "result"),
    [
        ([1, 0, 2], [1, 2]),
        ((0, 1), (1,)),
        ({"b": 0, "c": 1, "a": 2}, {"c": 1, "a": 2}),
        (OrderedDict(b=0, a=1), OrderedDict(a=1)),
        ([[0], {"k": 0}], [[], {}]),
    ],
)
def test_deleting(tree, result):
    """Children of lists, tuples and dicts can be left out, on the way down or up."""

    def drop(node, path, parent):
        return lw.DELETE if type(node) is int and node == 0 else node

    assert lw.tree_visit(tree, drop) == result
    assert lw.tree_visit(tree, None, drop) == result


def test_deleting_where_it_cannot_be():
    """A named tuple has a fixed number of children; a root has no parent."""

    def drop(node, path, parent):
        return lw.DELETE if node == 3 else node

    with pytest.raises(lw.StructureError) as error:
        lw.tree_visit(NESTED, drop)
    assert str(error.value) == (
        "a child of the Point at ['a'] cannot be deleted: only lists, tuples, deques "
        "and dicts can change their number of children"
    )
    with pytest.raises(lw.StructureError, match="the root of a tree cannot be"):
        lw.tree_visit(3, drop)


def test_is_leaf_stops_both():
    """Nodes that count as leaves are not entered."""
    assert [str(p) for p, _ in lw.tree_walk(NESTED, is_leaf=(list, Point))] == [
        "",
        "['a']",
        "['b']",
    ]
    assert lw.tree_visit([(1,)], lambda n, p, q: 0 if n == 1 else n, is_leaf=tuple) == [
        (1,)
    ]
    assert repr(lw.DELETE) == "DELETE"


@pytest.mark.parametrize(
    "enter",
    [
        lambda node, path, parent: [node],
        lambda node, path, parent: {"a": node, "b": node},
        lambda node, path, parent: [1] if node == 1 else node,
    ],
    ids=["each node", "twice", "a leaf"],
)
def test_a_visitor_that_always_goes_deeper_is_an_error(enter):
    """What `enter` returns is visited as well; the error says what to do instead."""
    with pytest.raises(lw.errors.CycleError) as caught:
        lw.tree_visit([1], enter)
    text = str(caught.value)
    assert text.startswith("the visit would never end: below [")
    assert text.endswith(
        "what it returns is visited as well; to replace a node without visiting what "
        "replaces it, use `leave`"
    )


def test_what_leave_returns_is_not_visited():
    """A node that `enter` skips is handed to `leave`; None can be put anywhere."""
    entered = []
    left = []

    def enter(node, path, parent):
        entered.append(node)
        return lw.SKIP if isinstance(node, tuple) else node

    def leave(node, path, parent):
        left.append(node)
        return [node, None] if isinstance(node, tuple) else node

    tree = {"a": (1,), "b": 2}
    assert lw.tree_visit(tree, enter, leave) == {"a": [(1,), None], "b": 2}
    assert entered == [tree, (1,), 2]
    assert left == [(1,), 2, {"a": [(1,), None], "b": 2}]
    assert lw.tree_visit([1, 2], leave=lambda node, path, parent: None) is None
    assert lw.tree_visit([1], leave=lambda node, path, parent: lw.SKIP) == [1]


def test_a_deep_tree_may_be_replaced_at_every_level():
    """What stood there before is not counted; so may some levels be added."""
    deep = 1
    for _ in range(1500):
        deep = [deep]
    replaced = lw.tree_visit(
        deep, lambda n, p, q: list(n) if isinstance(n, list) else n
    )
    assert replaced is not deep
    assert lw.tree_structure(replaced) == lw.tree_structure(deep)
    counted = lw.tree_visit(
        500, lambda n, p, q: [n - 1] if isinstance(n, int) and n else n
    )
    assert len(lw.tree_paths(counted)[0]) == 500


def test_a_cycle_that_a_visitor_copies_is_an_error():
    """Each copy is another object, and the tree contains itself all the same."""
    knot = [1]
    knot.append(knot)
    with pytest.raises(
        lw.errors.CycleError, match="the list at the root occurs again at"
    ):
        lw.tree_visit(knot, lambda n, p, q: list(n) if isinstance(n, list) else n)
    with pytest.raises(lw.errors.CycleError):
        lw.tree_visit([[1]], lambda n, p, q: q if len(p) == 2 else n)

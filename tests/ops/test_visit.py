"""The visitor and the walk over all nodes."""

from collections import OrderedDict, namedtuple

import pytest

import leafwise as lw


Point = namedtuple("Point", "x y")
TREE = {"b": [1, (2, None)], "a": Point(3, 4)}


def test_the_order_of_a_visit():
    """`enter` comes before the children, `leave` after them, with path and parent."""
    seen = []

    def note(when):
        def visitor(node, path, parent):
            seen.append((when, str(path), parent is None or node is not parent))
            return node

        return visitor

    assert lw.tree_visit([1, (2,)], note("enter"), note("leave")) == [1, (2,)]
    assert [entry[:2] for entry in seen] == [
        ("enter", ""),
        ("enter", "[0]"),
        ("leave", "[0]"),
        ("enter", "[1]"),
        ("enter", "[1][0]"),
        ("leave", "[1][0]"),
        ("leave", "[1]"),
        ("leave", ""),
    ]


def test_parents():
    """A visitor gets the node above, None at the root."""
    parents = {}

    def enter(node, path, parent):
        parents[str(path)] = parent
        return node

    lw.tree_visit(TREE, enter)
    assert parents[""] is None
    assert parents["['b']"] is TREE
    assert parents["['b'][1][0]"] is TREE["b"][1]


def test_replacing():
    """What `enter` returns is walked on; what `leave` returns stands."""
    grown = lw.tree_visit(
        [1, 2], lambda n, p, q: [n, n] if n == 1 and len(p) == 1 else n
    )
    assert grown == [[1, 1], 2]
    assert lw.tree_visit(
        TREE, None, lambda n, p, q: sum(n) if isinstance(n, Point) else n
    ) == {"b": [1, (2, None)], "a": 7}


def test_what_is_not_touched_is_shared():
    """Only the nodes above a change are built anew."""
    changed = lw.tree_visit(TREE, lambda n, p, q: 30 if n == 3 else n)
    assert changed == {"b": [1, (2, None)], "a": Point(30, 4)}
    assert list(changed) == ["b", "a"]
    assert changed["b"] is TREE["b"]


def test_skip_and_stop():
    """SKIP keeps a subtree unseen, STOP keeps all that follows."""
    seen = []

    def enter(node, path, parent):
        seen.append(str(path))
        if isinstance(node, Point):
            return lw.SKIP
        return lw.STOP if node == 1 else node

    assert lw.tree_visit(TREE, enter) is TREE
    assert seen == ["", "['a']", "['b']", "['b'][0]"]
    halted = lw.tree_visit(
        [1, 2, [3]],
        lambda n, p, q: lw.STOP if n == 2 else -n if isinstance(n, int) else n,
    )
    assert halted == [-1, 2, [3]]
    stopped = lw.tree_visit(
        [1, [2], 3], None, lambda n, p, q: lw.STOP if n == [2] else n if n != 3 else 0
    )
    assert stopped == [1, [2], 3]


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
        lw.tree_visit(TREE, drop)
    assert str(error.value) == (
        "a child of the Point at ['a'] cannot be deleted: only lists, tuples, deques "
        "and dicts can change their number of children"
    )
    with pytest.raises(lw.StructureError, match="the root of a tree cannot be"):
        lw.tree_visit(3, drop)


def test_deep_trees_and_cycles():
    """Neither depth nor a cycle harms a visit."""
    tree = 1
    for _ in range(5000):
        tree = [tree]
    assert lw.tree_visit(tree, lambda n, p, q: n) is tree
    assert sum(1 for _ in lw.tree_walk(tree)) == 5001
    knot = [1]
    knot.append(knot)
    with pytest.raises(lw.CycleError, match=r"\[1\] is its own ancestor"):
        lw.tree_visit(knot)
    with pytest.raises(lw.CycleError):
        [*lw.tree_walk(knot)]
    with pytest.raises(lw.CycleError):
        lw.tree_visit([[1]], lambda n, p, q: q if len(p) == 2 else n)


def test_is_leaf_stops_both():
    """Nodes that count as leaves are not entered."""
    assert [str(p) for p, _ in lw.tree_walk(TREE, is_leaf=(list, Point))] == [
        "",
        "['a']",
        "['b']",
    ]
    assert lw.tree_visit([(1,)], lambda n, p, q: 0 if n == 1 else n, is_leaf=tuple) == [
        (1,)
    ]
    assert repr(lw.DELETE) == "DELETE"


def test_is_leaf_may_take_the_path():
    """The predicate sees the path of each node, as in all other functions."""

    def stop(path, node):
        return str(path) == "['b']"

    walked = lw.tree_walk(TREE, is_leaf=stop, is_leaf_takes_path=True)
    assert [str(path) for path, _ in walked] == [
        "",
        "['a']",
        "['a'].x",
        "['a'].y",
        "['b']",
    ]
    visited = lw.tree_visit(
        {"b": [1], "a": [1]},
        lambda n, p, q: 0 if n == 1 else n,
        is_leaf=stop,
        is_leaf_takes_path=True,
    )
    assert visited == {"b": [1], "a": [0]}


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
    with pytest.raises(lw.CycleError) as caught:
        lw.tree_visit([1], enter)
    text = str(caught.value)
    assert text.startswith("the visit would never end: below [")
    assert text.endswith(
        "what it returns is visited as well; to replace a node without visiting what "
        "replaces it, return SKIP from enter and the new node from leave"
    )


def test_replacing_without_visiting_what_was_put_there():
    """`SKIP` going down, and the new node going up."""
    seen = []

    def enter(node, path, parent):
        seen.append(node)
        return lw.SKIP if node == [1] else node

    def leave(node, path, parent):
        return [[1]] if node == [1] else node

    assert lw.tree_visit({"a": [1], "b": 2}, enter, leave) == {"a": [[1]], "b": 2}
    assert seen == [{"a": [1], "b": 2}, [1], 2]


def test_a_deep_tree_may_be_replaced_at_every_level():
    """What stood there before is not counted; so may some levels be added."""
    deep = 1
    for _ in range(2500):
        deep = [deep]
    found = lw.tree_visit(deep, lambda n, p, q: [*n] if isinstance(n, list) else n)
    assert found is not deep
    assert lw.tree_structure(found) == lw.tree_structure(deep)
    counted = lw.tree_visit(
        500, lambda n, p, q: [n - 1] if isinstance(n, int) and n else n
    )
    assert len(lw.tree_paths(counted)[0]) == 500


def test_a_cycle_that_a_visitor_copies_is_an_error():
    """Each copy is another object, and the tree contains itself all the same."""
    knot = [1]
    knot.append(knot)
    with pytest.raises(lw.CycleError, match="the list at the root occurs again at"):
        lw.tree_visit(knot, lambda n, p, q: [*n] if isinstance(n, list) else n)

"""Leaves with their key paths: `leafwise.ops.paths`."""

from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import leafwise as lw


Point = namedtuple("Point", "x y")


class Odd(Exception):
    """An exception of the user's own."""


def texts(tree, *args, **options):
    """Return the key paths of a tree as text."""
    return [str(path) for path in lw.tree_paths(tree, *args, **options)]


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (3, [""]),
        (None, []),
        ([], []),
        ([1, (2, [3])], ["[0]", "[1][0]", "[1][1][0]"]),
        ({"b": 1, "a": [2]}, ["['a'][0]", "['b']"]),
        (OrderedDict(b=1, a=2), ["['b']", "['a']"]),
        (defaultdict(int, b=1, a=2), ["['a']", "['b']"]),
        (deque([1, 2]), ["[0]", "[1]"]),
        (Point(1, [2]), [".x", ".y[0]"]),
        ({1: "x", (2, 3): "y"}, ["[1]", "[(2, 3)]"]),
        (lw.Partial(max, 1, key=2), [".args[0]", ".keywords['key']"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_all_functions_give_the_same_paths(tree, expected):
    """Paths, leaves and structure agree among the three readers."""
    assert texts(tree) == expected
    pairs, treedef = lw.tree_flatten_with_path(tree)
    assert [str(path) for path, _ in pairs] == expected
    assert [leaf for _, leaf in pairs] == lw.tree_leaves(tree)
    assert treedef == lw.tree_structure(tree)
    assert lw.tree_leaves_with_path(tree) == pairs
    assert lw.tree_paths(tree) == [path for path, _ in pairs]
    assert all(type(path) is lw.KeyPath for path, _ in pairs)


def test_a_path_is_a_tuple_of_keys():
    """The key objects say which kind of node they lead through."""
    (path,) = lw.tree_paths({"a": [Point(1, None)]})
    assert path == (lw.DictKey("a"), lw.SequenceKey(0), lw.GetAttrKey("x"))
    assert lw.keystr(path) == "['a'][0].x"


def test_paths_through_registered_classes():
    """Keys of a class are used; without any, children are counted."""

    class Keyed:
        def __init__(self, *kids):
            self.kids = kids

    class Plain(Keyed):
        pass

    name = "ops-paths"
    lw.registry.register_pytree_with_keys(
        Keyed,
        lambda node: ([*zip(("p", 7, lw.DictKey("q")), node.kids, strict=True)], None),
        lambda _, kids: Keyed(*kids),
        namespace=name,
    )
    lw.register_pytree_node(
        Plain,
        lambda node: (node.kids, None),
        lambda _, kids: Plain(*kids),
        namespace=name,
    )
    assert texts([Keyed(1, [2], 3)], namespace=name) == [
        "[0].p",
        "[0][7][0]",
        "[0]['q']",
    ]
    assert texts([Plain(1, [2])], namespace=name) == [
        "[0][<flat index 0>]",
        "[0][<flat index 1>][0]",
    ]
    tree = [Keyed(1, [2], 3)]
    assert texts(tree) == ["[0]"]
    assert len(lw.tree_leaves_with_path(tree, namespace=name)) == 3
    assert len(lw.tree_flatten_with_path(tree, namespace=name)[0]) == 3
    mapped = lw.tree_map_with_path(lambda p, x: str(p), tree, namespace=name)
    assert mapped[0].kids == ("[0].p", ["[0][7][0]"], "[0]['q']")


def test_options_of_the_readers():
    """`is_leaf` stops the walk, `none_is_leaf` gives None a path."""
    tree = [(1,), {"a": None}]
    for stop in (tuple, (tuple, set), lambda x: type(x) is tuple):
        assert texts(tree, stop) == ["[0]"]
        assert lw.tree_leaves_with_path(tree, stop)[0][1] == (1,)
        assert repr(lw.tree_flatten_with_path(tree, is_leaf=stop)[1]) == (
            "PyTreeDef([*, {'a': None}])"
        )
    assert texts(tree, none_is_leaf=True) == ["[0][0]", "[1]['a']"]
    assert [x for _, x in lw.tree_leaves_with_path(tree, none_is_leaf=True)] == [
        1,
        None,
    ]
    treedef = lw.tree_flatten_with_path(tree, none_is_leaf=True)[1]
    assert treedef.none_is_leaf


@pytest.mark.parametrize(
    "function",
    [
        lw.tree_paths,
        lw.tree_leaves_with_path,
        lw.tree_flatten_with_path,
        lambda tree, stop=None: lw.tree_map_with_path(max, tree, is_leaf=stop),
    ],
)
def test_errors_of_the_arguments_and_of_the_tree(function):
    """A wrong `is_leaf` and a cycle have the same texts as everywhere."""
    with pytest.raises(TypeError) as caught:
        function([1], 3)
    assert str(caught.value) == (
        "is_leaf must be a predicate, a type or a tuple of types, got int: 3"
    )
    knot = {"k": []}
    knot["k"].append(knot)
    with pytest.raises(lw.errors.CycleError) as caught:
        function(knot)
    assert str(caught.value) == (
        "the tree contains itself: the dict at the root occurs again at ['k'][0]"
    )
    assert caught.value.first == ()
    assert str(caught.value.again) == "['k'][0]"


# ------------------------------------------------------------------------- map


def test_map_with_path():
    """The path comes first, then the leaf; dict keys keep their order."""
    tree = {"b": [1, None], "a": Point(2, ())}
    mapped = lw.tree_map_with_path(lambda path, x: f"{path}={x}", tree)
    assert mapped == {"b": ["['b'][0]=1", None], "a": Point("['a'].x=2", ())}
    assert [*mapped] == ["b", "a"]
    assert lw.tree_map_with_path(lambda path, x: (path, x), 3) == (lw.KeyPath(), 3)


def test_map_with_path_is_called_in_leaf_order():
    """Paths and leaves come in the order of `tree_leaves`."""
    seen = []
    lw.tree_map_with_path(lambda p, x: seen.append((str(p), x)), {"b": 1, "a": [2, 3]})
    assert seen == [("['a'][0]", 2), ("['a'][1]", 3), ("['b']", 1)]


def test_map_with_path_over_several_trees():
    """Further trees may be deeper, unless `strict` is asked for."""
    mapped = lw.tree_map_with_path(
        lambda p, x, y, z: (str(p), x, y, z), {"a": 1}, {"a": [2]}, OrderedDict(a=3)
    )
    assert mapped == {"a": ("['a']", 1, [2], 3)}
    with pytest.raises(lw.StructureError) as caught:
        lw.tree_map_with_path(max, {"a": 1}, {"a": [2]}, strict=True)
    assert str(caught.value) == (
        "tree 1 does not have the structure of the first tree, in 1 place:\n"
        "  at ['a']: expected a leaf, got list of length 1\n"
        "hint: strict=True accepts no tree that is deeper than the first"
    )


def test_map_with_path_with_options():
    """`is_leaf` and `none_is_leaf` choose what gets a path."""
    tree = [(1, 2), None]
    assert lw.tree_map_with_path(lambda p, x: x, tree, is_leaf=tuple) == tree
    assert lw.tree_map_with_path(lambda p, x: str(p), tree, none_is_leaf=True) == [
        ("[0][0]", "[0][1]"),
        "[1]",
    ]


@pytest.mark.parametrize("kind", [Odd, StopIteration])
@pytest.mark.parametrize("more", [0, 1])
def test_an_exception_in_map_with_path(kind, more):
    """The type is kept, and one note has the path that the function was given."""
    paths = []

    def fail(path, x, *_others):
        paths.append(path)
        if x == 2:
            raise kind("oops")

    tree = {"b": 3, "a": (1, [2])}
    with pytest.raises(kind, match="oops") as caught:
        lw.tree_map_with_path(fail, tree, *[tree] * more)
    assert caught.value.__notes__ == [f"at key path {paths[-1]}"]
    assert str(paths[-1]) == "['a'][1][0]"


def test_a_tree_that_changes_under_the_function():
    """The leaves and paths of the tree as it was are used."""
    tree = {"a": [1, 2], "b": 3}

    def change(path, x):
        tree.clear()
        return f"{path}{x}"

    assert lw.tree_map_with_path(change, tree) == {
        "a": ["['a'][0]1", "['a'][1]2"],
        "b": "['b']3",
    }

"""Leaves with their key paths: `leafwise.ops.paths`."""

from collections import namedtuple

import pytest

import leafwise as lw


Point = namedtuple("Point", "x y")


def texts(tree, *args, **options):
    """Return the key paths of a tree as text."""
    return [str(path) for path in lw.tree_paths(tree, *args, **options)]


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

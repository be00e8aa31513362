"""The operations: arguments, folds, questions, names, namespaces."""

import inspect
from collections import OrderedDict

import numpy as np
import pytest

import leafwise as lw
from leafwise.binding import BOUND


TREE = {"b": [1, (2, None)], "a": "x"}


def test_is_leaf_takes_a_predicate_a_type_or_types():
    """All three stop the walk at the same place."""
    expected = ["x", 1, (2, None)]
    for stop in (tuple, (tuple, set), lambda x: isinstance(x, tuple)):
        assert lw.tree_leaves(TREE, stop) == expected
        assert lw.tree_leaves(TREE, is_leaf=stop) == expected
        assert lw.tree_flatten(TREE, stop)[0] == expected
        assert repr(lw.tree_structure(TREE, stop)) == "PyTreeDef({'a': *, 'b': [*, *]})"
        assert [*lw.tree_iter(TREE, stop)] == expected
        assert lw.tree_map(type, TREE, is_leaf=stop) == {"b": [int, tuple], "a": str}


def test_is_leaf_may_answer_with_any_truth_value():
    """NumPy bools, counts and None are answers like any other."""
    assert lw.tree_leaves([(1,)], lambda x: np.bool_(type(x) is tuple)) == [(1,)]
    assert lw.tree_leaves([(1,)], lambda x: None) == [1]


@pytest.mark.parametrize("stop", [3, "tuple", (int, 3)])
def test_is_leaf_must_be_one_of_these(stop):
    """Anything else is refused, by type and value."""
    with pytest.raises(TypeError) as error:
        lw.tree_leaves([1], stop)
    assert str(error.value) == (
        "is_leaf must be a predicate, a type or a tuple of types, "
        f"got {type(stop).__name__}: {stop!r}"
    )


def test_is_leaf_sees_every_value_from_the_root_down():
    """The predicate is asked of nodes, leaves and None alike."""
    seen = []
    lw.tree_leaves(TREE, lambda x: seen.append(x))
    assert seen == [TREE, "x", [1, (2, None)], 1, (2, None), 2, None]


def test_tree_iter_looks_no_further_than_it_must():
    """A lazy walk does not touch what comes later."""
    knot = [1]
    knot.append(knot)
    leaves = lw.tree_iter(knot)
    assert next(leaves) == 1
    with pytest.raises(lw.CycleError):
        next(leaves)


def test_tree_unflatten_says_which_argument_is_wrong():
    """Swapped arguments are recognised."""
    treedef = lw.tree_structure([1])
    with pytest.raises(TypeError) as error:
        lw.tree_unflatten([1], treedef)
    assert str(error.value) == (
        "tree_unflatten takes the treedef first and the leaves second, got list: [1] "
        "(swap the two arguments)"
    )
    with pytest.raises(TypeError, match=r"got int: 3$"):
        lw.tree_unflatten(3, [1])


def test_nothing_is_called_before_all_trees_are_checked():
    """With a tree that does not fit, the function is never called."""
    called = []
    for each in (lw.tree_map, lw.tree_map_, lw.tree_map_with_path):
        with pytest.raises(lw.StructureError):
            each(lambda *args: called.append(args), [1, [2]], [1, [2]], [1, (2,)])
    assert called == []


def test_later_trees_may_be_deeper():
    """The function gets whole subtrees, unless `strict` is asked for."""
    assert lw.tree_map(lambda x, y: y, [0, 0], [[1, 2], {"a": 3}]) == [[1, 2], {"a": 3}]
    assert lw.tree_map(lambda x, y: y, 0, [1]) == [1]
    with pytest.raises(lw.StructureError):
        lw.tree_map(lambda x, y: y, 0, [1], strict=True)
    assert lw.tree_map(lambda x, y: y, [0], [None], none_is_leaf=True, strict=True) == [
        None
    ]


def test_tree_map_for_its_effect():
    """`tree_map_` returns the very tree and calls in leaf order."""
    seen = []
    assert lw.tree_map_(seen.append, TREE) is TREE
    assert seen == ["x", 1, 2]


def test_map_only():
    """Types, unions and predicates choose the leaves."""
    tree = [1, "a", 2.5, {"k": True}]
    assert lw.tree_map_only(str, str.upper, tree) == [1, "A", 2.5, {"k": True}]
    assert lw.tree_map_only((int, str), str, tree) == ["1", "a", 2.5, {"k": "True"}]
    assert lw.tree_map_only(int | float, float, tree) == [1.0, "a", 2.5, {"k": 1.0}]
    assert lw.tree_map_only(lambda x: x == 1, str, tree) == [
        "1", "a", 2.5, {"k": "True"},
    ]  # fmt: skip
    for wrong in (3, list[int], (int, 3)):
        with pytest.raises(TypeError, match="tree_map_only"):
            lw.tree_map_only(wrong, str, tree)


def test_replace_nones():
    """Each None is replaced, a bare one too."""
    assert lw.tree_replace_nones(0, [None, {"a": (None, 1)}]) == [0, {"a": (0, 1)}]
    assert lw.tree_replace_nones(0, None) == 0


def test_reduce():
    """The fold goes from left to right, and None is an initializer like any other."""
    assert lw.tree_reduce(lambda a, b: f"({a}{b})", ["x", ("y", "z")]) == "((xy)z)"
    assert lw.tree_reduce(lambda a, b: [a, b], {"k": 1}, None) == [None, 1]
    with pytest.raises(TypeError) as error:
        lw.tree_reduce(max, [])
    assert str(error.value) == (
        "tree_reduce of a tree without leaves needs an initializer"
    )


def test_reduce_associative():
    """Halves are folded on their own, split where jax splits them."""

    def pair(a, b):
        return f"({a},{b})"

    assert lw.tree_reduce_associative(pair, [1, 2, 3, 4, 5]) == "((1,2),(3,(4,5)))"
    assert lw.tree_reduce_associative(pair, [], identity="none") == "none"
    with pytest.raises(TypeError, match="needs an identity"):
        lw.tree_reduce_associative(pair, None)


def test_all_and_any_stop_early():
    """What comes after the answer is not walked."""
    knot = [0, 1]
    knot.append(knot)
    assert lw.tree_all(knot) is False
    assert lw.tree_any(knot) is True
    assert lw.tree_all([]) is True
    assert lw.tree_any([]) is False


def test_sum_max_min():
    """The folds of the standard library, over leaves."""
    tree = {"a": 3, "b": [1, -4]}
    assert lw.tree_sum(tree) == 0
    assert lw.tree_sum(tree, 10) == 10
    assert lw.tree_sum([b"x", (b"y",)], b"") == b"xy"
    assert lw.tree_sum(["b", "c"], "a") == "abc"
    assert (lw.tree_max(tree), lw.tree_min(tree)) == (3, -4)
    assert lw.tree_max(tree, key=abs) == -4
    assert lw.tree_min([], default=None) is None
    for fold in (lw.tree_max, lw.tree_min):
        with pytest.raises(ValueError, match=f"{fold.__name__} of a tree without"):
            fold(())


def test_questions_about_leaves():
    """A value is a leaf by its type, or because `is_leaf` says so."""
    assert lw.tree_is_leaf(3)
    assert not lw.tree_is_leaf(())
    assert lw.tree_is_leaf((), tuple)
    assert lw.tree_is_leaf(None, none_is_leaf=True)
    assert lw.all_leaves([1, (2,)], tuple)
    assert not lw.all_leaves([1, None])
    assert lw.all_leaves("ab")


def test_one_level():
    """A node comes apart into children, keys and what rebuilds it."""
    node = lw.tree_flatten_one_level(OrderedDict(b=[1], a=2))
    assert node.children == [[1], 2]
    assert node.keys == (lw.DictKey("b"), lw.DictKey("a"))
    assert (node.type, node.aux) == (OrderedDict, ("b", "a"))
    assert node.unflatten("xy") == OrderedDict(b="x", a="y")
    assert lw.tree_children(None) == lw.tree_children(3) == []
    assert lw.tree_children([1, [2]], list) == []
    with pytest.raises(lw.StructureError) as error:
        lw.tree_flatten_one_level(3)
    assert str(error.value) == "a leaf has no children to take apart: 3 (int)"


def test_equality_of_trees():
    """Structures and leaves count; arrays compare by content; nothing raises."""
    assert lw.tree_equal({"a": np.ones(2), "b": 1}, {"b": 1, "a": np.ones(2)})
    assert not lw.tree_equal([np.ones(2)], [np.zeros(2)])
    assert not lw.tree_equal([1], (1,))
    assert not lw.tree_equal([1, 2], [1])
    assert lw.tree_equal([None], [None], none_is_leaf=True)


class Config(dict):
    """A subclass of a built-in node."""


@pytest.mark.parametrize(
    ("value", "options", "reason"),
    [
        ([1], {}, "a node: list is a built-in node type"),
        (1, {}, "a leaf: int is not registered"),
        (
            Config(),
            {},
            "a leaf: Config is a subclass of dict, and subclasses are leaves unless "
            "they are registered",
        ),
        (None, {"none_is_leaf": True}, "a leaf: none_is_leaf=True was given"),
        ([1], {"is_leaf": list}, "a leaf: is_leaf says so"),
    ],
)
def test_explain_leaf(value, options, reason):
    """One sentence says why."""
    assert lw.explain_leaf(value, **options) == reason


def test_explain_leaf_of_registered_classes():
    """Other namespaces, opted-out and unregistered dataclasses are told apart."""
    import dataclasses
    from typing import NamedTuple

    space = lw.namespace("explained")

    @space.dataclass
    class Here:
        x: int

    @dataclasses.dataclass
    class Bare:
        x: int

    class Name(NamedTuple):
        x: int

    lw.register_leaf(Name, namespace="explained")
    local = "test_explain_leaf_of_registered_classes.<locals>."
    assert lw.explain_leaf(Here(1)) == (
        f"a leaf: {local}Here is registered in namespace 'explained' only"
    )
    assert space.explain_leaf(Here(1)).startswith(
        f"a node: {local}Here was registered in namespace 'explained' at "
    )
    assert lw.explain_leaf(Bare(1)).endswith(
        "Bare is a dataclass that is not registered; use leafwise.dataclass or "
        "leafwise.register_dataclass"
    )
    assert lw.explain_leaf(Name(1)) == f"a node: {local}Name is a namedtuple"
    assert space.explain_leaf(Name(1)) == (
        f"a leaf: {local}Name was registered as a leaf"
    )


def test_paths():
    """Leaves come with their paths, and maps can use them."""
    pairs, treedef = lw.tree_flatten_with_path(TREE)
    assert [(str(path), leaf) for path, leaf in pairs] == [
        ("['a']", "x"),
        ("['b'][0]", 1),
        ("['b'][1][0]", 2),
    ]
    assert treedef == lw.tree_structure(TREE)
    assert lw.tree_leaves_with_path(TREE) == pairs
    assert lw.tree_paths(TREE) == [path for path, _ in pairs]
    mapped = lw.tree_map_with_path(lambda p, x, y: (str(p), x, y), [1], [[2]])
    assert mapped == [("[0]", 1, [2])]
    assert lw.tree_paths(3) == [lw.KeyPath()]
    assert lw.tree_paths(None) == []


def test_an_exception_in_a_map_with_path_has_the_path():
    """The note is the same as in `tree_map`."""
    with pytest.raises(ZeroDivisionError) as error:
        lw.tree_map_with_path(lambda p, x: 1 / x, {"a": [1, 0]})
    assert error.value.__notes__ == ["at key path ['a'][1]"]


def test_treedef_helpers():
    """The functions of jax on treedefs."""
    treedef = lw.tree_structure([1, (2,)])
    assert lw.treedef_children(treedef) == treedef.children()
    assert not lw.treedef_is_leaf(lw.tree_structure(()))
    assert lw.treedef_is_leaf(lw.tree_structure(()), strict=False)


@pytest.mark.parametrize("name", lw.tree.__all__)
def test_short_names(name):
    """`tree.X` is the function `tree_X`."""
    assert getattr(lw.tree, name) is getattr(lw, f"tree_{name}")


def takes_a_namespace(name):
    value = getattr(lw, name)
    if not callable(value) or isinstance(value, type):
        return False
    return "namespace" in inspect.signature(value).parameters


def test_a_namespace_binds_every_function_that_takes_one():
    """Nothing public is missing from a namespace object."""
    assert {*filter(takes_a_namespace, lw.__all__)} == {*BOUND}
    space = lw.namespace("bound")
    assert repr(space) == "<leafwise namespace 'bound'>"
    assert space.tree_map.__name__ == "tree_map"
    assert space.tree_map(abs, [-1]) == [1]
    with pytest.raises(AttributeError, match="has no function 'tree_unflatten'"):
        _ = space.tree_unflatten

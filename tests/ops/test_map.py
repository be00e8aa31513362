"""Flatten, unflatten, iterate and map: errors, laziness, trees that change."""

import dataclasses
from collections import OrderedDict, defaultdict, deque
from itertools import count

import pytest

import leafwise as lw


pytestmark = pytest.mark.usefixtures("sampling")


def iterated(*args, **options):
    """Return the leaves, one after the other."""
    return list(lw.tree.iter(*args, **options))


READERS = [
    lw.tree_leaves,
    lw.tree_flatten,
    lw.tree_structure,
    iterated,
]
MAPS = [lw.tree_map, lw.tree_map_, lw.tree_map_with_path]


def raiser(error, when=None):
    """Return a function that raises when its last argument is `when`, or always."""

    def function(*args):
        if when is None or args[-1] == when:
            raise error
        return False

    return function


def default_dict(items):
    return defaultdict(int, items)


def failure(function, *args, **options):
    """Return type, text and notes of what a call raises."""
    try:
        function(*args, **options)
    except Exception as error:
        return type(error), str(error), getattr(error, "__notes__", [])
    raise AssertionError("nothing was raised")


# ------------------------------------------------------------------- flattening


@pytest.mark.parametrize("function", [*READERS, *MAPS])
def test_an_undeclared_namespace(function):
    """The message names the namespace and those that there are."""
    name = "ops-basic-nobody-declared-this"
    args = (abs, [1]) if function in MAPS else ([1],)
    declared = [repr(each) for each in lw.registry.namespaces() if each][:5]
    assert failure(function, *args, namespace=name) == (
        lw.errors.NamespaceError,
        f"no namespace {name!r} was declared; register a class in it or call "
        f"leafwise.namespace({name!r}) first"
        + (f" (declared: {', '.join(declared)})" if declared else ""),
        [],
    )


def test_tree_iter_is_lazy():
    """The leaves come one by one, with `is_leaf` asked no sooner than needed."""
    asked = []
    leaves = lw.tree.iter([1, 2, 3], lambda x: asked.append(x))
    assert asked == []
    assert next(leaves) == 1
    assert asked == [[1, 2, 3], 1]
    assert list(leaves) == [2, 3]


@pytest.mark.parametrize("function", READERS)
def test_a_cycle_is_named_by_both_paths(function):
    """A tree that contains itself is refused by all readers."""
    knot = [1]
    knot.append({"k": knot})
    assert failure(function, knot) == (
        lw.errors.CycleError,
        "the tree contains itself: the list at the root occurs again at [1]['k']",
        [],
    )


# ------------------------------------------------------------------- unflatten


@pytest.mark.parametrize(
    ("make_leaves", "number"),
    [
        pytest.param(list, "0", id="none"),
        pytest.param(lambda: [1, 2], "2", id="a list of 2"),
        pytest.param(lambda: [1, 2, 3, 4], "4", id="a list of 4"),
        pytest.param(lambda: (1, 2, 3, 4, 5), "5", id="a tuple of 5"),
        pytest.param(lambda: "ab", "2", id="a str of 2"),
        pytest.param(lambda: range(9), "9", id="a range of 9"),
        pytest.param(lambda: iter([1, 2]), "2", id="an iterator of 2"),
        pytest.param(lambda: iter([1, 2, 3, 4, 5]), "more", id="an iterator of 5"),
        pytest.param(count, "more", id="an endless iterator"),
    ],
)
def test_too_few_and_too_many_leaves(make_leaves, number):
    """Both numbers and the treedef are in the error; generators are not exhausted."""
    leaves = make_leaves()
    treedef = lw.tree_structure([1, (2, 3)])
    with pytest.raises(lw.StructureError) as caught:
        lw.tree_unflatten(treedef, leaves)
    assert str(caught.value) == (
        f"expected 3 leaves, got {number}\n  treedef: PyTreeDef([*, (*, *)])"
    )
    assert (caught.value.expected, caught.value.actual) == ("3 leaves", number)
    assert caught.value.path is None
    assert caught.value.tree_index is None


def test_an_exception_of_the_leaves_passes_through():
    """What a generator of leaves raises is left as it is."""

    def leaves():
        yield 1
        raise KeyError("lost")

    treedef = lw.tree_structure([1, 2])
    assert failure(lw.tree_unflatten, treedef, leaves()) == (KeyError, "'lost'", [])


# ------------------------------------------------------------------------- map


@pytest.mark.parametrize("function", MAPS)
def test_strict_refuses_deeper_trees(function):
    """With `strict` every tree has exactly the structure of the first."""
    text = (
        "the second tree does not have the structure of the first tree, in 1 place:\n"
        "  at [1]: expected a leaf, got list of length 1\n"
        "hint: strict=True accepts no tree that is deeper than the first"
    )
    called = []
    failed = failure(
        function, lambda *args: called.append(args), [1, 2], [1, [2]], strict=True
    )
    assert failed == (lw.StructureError, text, [])
    assert called == []
    function(lambda *args: called.append(args), [1, 2], [1, 3], strict=True)
    assert len(called) == 2


# ------------------------------------------------------- exceptions of users


class Odd(Exception):
    """An exception of the user's own."""


@pytest.mark.parametrize("function", MAPS)
@pytest.mark.parametrize("more", [0, 1, 2])
@pytest.mark.parametrize("kind", [Odd, StopIteration, KeyError, lw.LeafwiseError])
@pytest.mark.parametrize(
    ("tree", "note"),
    [
        (7, "at the root of the tree"),
        ([7], "at key path [0]"),
        ({"b": 1, "a": (2, [7])}, "at key path ['a'][1][0]"),
        ([0, 1, 2, 3, 4, 7, 6], "at key path [5]"),
        ([None, {"k": 1, "j": deque([1, 7])}], "at key path [1]['j'][1]"),
        (OrderedDict(b=1, a=7), "at key path ['a']"),
    ],
    ids=["root", "list", "dict", "long", "deque", "ordered"],
)
def test_an_exception_keeps_its_type_and_gains_one_note(
    function, more, kind, tree, note
):
    """The same object comes out, StopIteration too, with one note of the path."""
    error = kind("oops")
    with pytest.raises(kind) as caught:
        function(raiser(error, 7), tree, *[tree] * more)
    assert caught.value is error
    assert error.__notes__ == [note]


@pytest.mark.parametrize("kind", [Odd, StopIteration, KeyError])
@pytest.mark.parametrize(
    "function",
    [
        *READERS[:3],
        lw.tree_paths,
        lw.tree_leaves_with_path,
        lw.tree_flatten_with_path,
        pytest.param(
            lambda tree, is_leaf: lw.tree_map(abs, tree, is_leaf=is_leaf),
            id="tree_map",
        ),
        pytest.param(
            lambda tree, is_leaf: lw.tree_map(max, tree, tree, is_leaf=is_leaf),
            id="tree_map of two trees",
        ),
        pytest.param(
            lambda tree, is_leaf: lw.tree_map_(abs, tree, is_leaf=is_leaf),
            id="tree_map_",
        ),
        pytest.param(
            lambda tree, is_leaf: lw.tree_map_only(int, abs, tree, is_leaf=is_leaf),
            id="tree_map_only",
        ),
        pytest.param(
            lambda tree, is_leaf: lw.tree.replace_nones(0, tree, is_leaf=is_leaf),
            id="replace_nones",
        ),
    ],
)
def test_an_exception_of_is_leaf(function, kind):
    """What `is_leaf` raises is treated as what the function raises."""
    error = kind("oops")
    with pytest.raises(kind) as caught:
        function({"b": 1, "a": [2, (7,)]}, raiser(error, (7,)))
    assert caught.value is error
    assert error.__notes__ == ["at key path ['a'][1]"]


def test_an_exception_of_is_leaf_in_tree_iter():
    """A lazy walk raises it when it gets there, with one note."""
    error = Odd("oops")
    leaves = lw.tree.iter([1, [7]], raiser(error, 7))
    with pytest.raises(Odd) as caught:
        list(leaves)
    assert caught.value is error
    assert error.__notes__ == ["at key path [1][0]"]


def test_what_is_no_function():
    """The error of calling it has the path of the first leaf."""
    assert failure(lw.tree_map, 3, {"a": 1}) == (
        TypeError,
        "'int' object is not callable",
        [
            "the first argument is the function, and the tree comes after it; got "
            "the int 3 as the function",
            "at key path ['a']",
        ],
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda f, tree: lw.tree_reduce(tree, f),
        lambda f, tree: lw.parallel().tree_map(tree, f),
        lambda f, tree: lw.parallel().tree_map_with_path(tree, f),
        lambda f, tree: lw.tree_map_only(int, tree, f),
        lambda f, tree: lw.tree_map_only(f, int, tree),
        lambda f, tree: lw.parallel().tree_map_only(int, tree, f),
    ],
)
def test_swapped_arguments_are_refused(call):
    """Also where no call of the function would fail."""
    with pytest.raises(TypeError, match=r"(the tree comes after it|then the tree); "):
        call(lambda x: x * 2, {"a": 1})


def test_a_class_may_be_the_function_of_a_predicate():
    """It is not taken for swapped arguments."""
    tree = ["1", 2, True]
    assert lw.tree_map_only(lambda x: x == "1", int, tree) == [1, 2, True]
    assert lw.tree_map_only(lambda x: type(x) is bool, bool, tree) == tree


@dataclasses.dataclass
class Unregistered:
    x: int


class Config(dict):
    pass


@pytest.mark.parametrize(
    ("leaf", "reason"),
    [
        (Unregistered(1), "Unregistered is a dataclass that is not registered; use "
         "leafwise.dataclass or leafwise.register_dataclass"),
        (Config(), "Config is a subclass of dict, and subclasses are leaves unless "
         "they are registered"),
        ((x for x in [1]), "generator is an iterator; make a list of it"),
        ({1}, "set is not registered"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
@pytest.mark.parametrize("function", [*MAPS, lw.tree.map_shared])
def test_a_failure_at_an_unexpected_leaf_says_why_it_is_one(function, leaf, reason):
    """Where users expect a node; not for numbers, text and arrays."""
    error = Odd("oops")
    with pytest.raises(Odd):
        function(raiser(error), {"a": [leaf]})
    assert error.__notes__ == [f"at key path ['a'][0], a leaf: {reason}"]
    error = Odd("oops")
    with pytest.raises(Odd):
        function(raiser(error), leaf)
    assert error.__notes__ == [f"at the root of the tree, a leaf: {reason}"]


@pytest.mark.parametrize("where", ["flatten", "unflatten"])
@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda tree: lw.tree_map(lambda x: x, tree), id="tree_map"),
        pytest.param(
            lambda tree: lw.tree_map(lambda x, y: x, tree, tree),
            id="tree_map of two trees",
        ),
        pytest.param(
            lambda tree: lw.tree_map(lambda x: x, tree, is_leaf=set),
            id="tree_map with is_leaf",
        ),
        pytest.param(
            lambda tree: lw.tree_map_with_path(lambda path, x: x, tree),
            id="tree_map_with_path",
        ),
    ],
)
def test_an_exception_of_a_registered_function(function, where):
    """The note has the path of the node that could not be taken apart or rebuilt."""

    class Fragile:
        pass

    def broken(*_args):
        raise Odd(where)

    lw.register_pytree_node(
        Fragile,
        broken if where == "flatten" else lambda node: ((1, 2), None),
        broken,
    )
    assert failure(function, [0, {"k": Fragile()}]) == (
        Odd,
        where,
        ["at key path [1]['k']"],
    )


# --------------------------------------------- trees that change during a walk


@pytest.mark.parametrize("options", [{}, {"is_leaf": tuple}])
@pytest.mark.parametrize("more", [0, 1])
def test_a_list_that_shrinks_under_the_function(options, more):
    """The old values are mapped; nothing is skipped or read twice."""
    tree = [1, 2, 3, 4, 5, 6]
    others = [[0] * 6] * more

    def shrink(x, *_others):
        tree.clear()
        return x * 10

    assert lw.tree_map(shrink, tree, *others, **options) == [10, 20, 30, 40, 50, 60]
    assert tree == []


@pytest.mark.parametrize("options", [{}, {"is_leaf": tuple}])
@pytest.mark.parametrize("kind", [dict, OrderedDict, default_dict])
def test_a_dict_that_changes_under_the_function(kind, options):
    """Keys that come and go during the map are not seen."""
    tree = kind({"b": 1, "a": 2, "c": 3})

    def change(x):
        tree.pop("c", None)
        tree[f"new {x}"] = x
        return x * 10

    assert lw.tree_map(change, tree, **options) == {"b": 10, "a": 20, "c": 30}
    assert set(tree) == {"a", "b", "new 1", "new 2", "new 3"}


# -------------------------------------------------------------------- map only


def test_map_only_chooses_leaves():
    """The chosen leaves are mapped, the others are the same objects."""
    other = object()
    tree = [1, True, "a", other, {"k": 2.0}]
    assert lw.tree_map_only(int, lambda x: -x, tree) == [
        -1, -1, "a", other, {"k": 2.0},
    ]  # fmt: skip
    assert lw.tree_map_only((str, float), lambda x: x * 2, tree) == [
        1, True, "aa", other, {"k": 4.0},
    ]  # fmt: skip
    assert lw.tree_map_only(int | str, type, tree) == [
        int, bool, str, other, {"k": 2.0},
    ]  # fmt: skip
    assert lw.tree_map_only(lambda x: x == "a", str.upper, tree)[2] == "A"
    assert lw.tree_map_only((), raiser(Odd()), tree) == tree

"""Flatten, unflatten, iterate and map: `leafwise.ops.basic`."""

from collections import OrderedDict, defaultdict, deque, namedtuple
from itertools import count

import pytest

import leafwise as lw


TREE = {"b": [1, (2, None)], "a": "x"}
READERS = [
    lw.tree_leaves,
    lw.tree_flatten,
    lw.tree_structure,
    lambda *args, **options: [*lw.tree.iter(*args, **options)],
]
MAPS = [lw.tree_map, lw.tree_map_, lw.tree_map_with_path]


def raiser(error, when=None):
    """Return a function that raises when its last argument is `when`, or always."""

    def function(*args):
        if when is None or args[-1] == when:
            raise error
        return False

    return function


def failure(function, *args, **options):
    """Return type, text and notes of what a call raises."""
    try:
        function(*args, **options)
    except Exception as error:
        return type(error), str(error), getattr(error, "__notes__", [])
    raise AssertionError("nothing was raised")


def registered(space):
    """Return a fresh class with one child, registered in a namespace."""

    class Box:
        def __init__(self, x):
            self.x = x

    lw.register_pytree_node(
        Box, lambda box: ((box.x,), None), lambda _, kids: Box(*kids), namespace=space
    )
    return Box


# ------------------------------------------------------------------- flattening


@pytest.mark.parametrize(
    ("tree", "leaves", "text"),
    [
        (3, [3], "PyTreeDef(*)"),
        (None, [], "PyTreeDef(None)"),
        ((1,), [1], "PyTreeDef((*,))"),
        ([], [], "PyTreeDef([])"),
        ({}, [], "PyTreeDef({})"),
        ([(), {"a": []}], [], "PyTreeDef([(), {'a': []}])"),
        (deque([1, 2], 3), [1, 2], "PyTreeDef(CustomNode(deque[3], [*, *]))"),
        (
            OrderedDict(b=1, a=2),
            [1, 2],
            "PyTreeDef(CustomNode(OrderedDict[('b', 'a')], [*, *]))",
        ),
        ({2: "b", 1: "a"}, ["a", "b"], "PyTreeDef({1: *, 2: *})"),
        ({1, 2}, [{1, 2}], "PyTreeDef(*)"),
    ],
    ids=str,
)
def test_flatten_leaves_structure_iter_agree(tree, leaves, text):
    """Four functions see the same leaves and the same structure."""
    found, treedef = lw.tree_flatten(tree)
    assert found == leaves
    assert repr(treedef) == text
    assert lw.tree_leaves(tree) == leaves
    assert [*lw.tree.iter(tree)] == leaves
    assert lw.tree_structure(tree) == treedef
    assert lw.tree_unflatten(treedef, found) == tree


@pytest.mark.parametrize(
    ("tree", "leaves", "text"),
    [
        (None, [None], "PyTreeDef(*, none_is_leaf=True)"),
        (
            [None, (1, None)],
            [None, 1, None],
            "PyTreeDef([*, (*, *)], none_is_leaf=True)",
        ),
    ],
    ids=str,
)
def test_none_as_a_leaf(tree, leaves, text):
    """With `none_is_leaf` a None is a leaf, and the treedef says so."""
    found, treedef = lw.tree_flatten(tree, none_is_leaf=True)
    assert found == leaves
    assert repr(treedef) == text
    assert lw.tree_leaves(tree, none_is_leaf=True) == leaves
    assert [*lw.tree.iter(tree, none_is_leaf=True)] == leaves
    assert lw.tree_structure(tree, none_is_leaf=True) == treedef
    assert treedef != lw.tree_structure(tree)


def test_a_new_list_of_leaves_each_time():
    """Changing the list of leaves changes no tree."""
    tree = [1, 2]
    leaves = lw.tree_leaves(tree)
    leaves.append(3)
    assert tree == [1, 2]
    assert lw.tree_leaves(tree) == [1, 2]


def test_is_leaf_is_positional_in_the_readers():
    """The second argument is `is_leaf`, as in jax."""
    assert lw.tree_leaves([(1,), [2]], tuple) == [(1,), 2]
    assert lw.tree_flatten([(1,), [2]], (tuple, list))[0] == [[(1,), [2]]]
    assert [*lw.tree.iter([(1,)], lambda x: x == (1,))] == [(1,)]
    assert repr(lw.tree_structure([(1,)], tuple)) == "PyTreeDef([*])"


def test_a_type_as_is_leaf_takes_subclasses():
    """A type stops the walk at instances of subclasses too."""
    point = namedtuple("point", "x")(1)
    assert lw.tree_leaves([point, (2,)], tuple) == [point, (2,)]


def test_is_leaf_on_the_root():
    """A root that `is_leaf` accepts is the only leaf."""
    for read in (lw.tree_leaves, lambda *args: [*lw.tree.iter(*args)]):
        assert read([1, 2], list) == [[1, 2]]
    assert lw.tree_map(len, [1, 2], is_leaf=list) == 2


@pytest.mark.parametrize("function", [*READERS])
def test_a_wrong_is_leaf_in_the_readers(function):
    """A tuple that holds more than types is no `is_leaf`, and the error names it."""
    assert failure(function, [1], (int, "str")) == (
        TypeError,
        "is_leaf must be a predicate, a type or a tuple of types, "
        "got tuple: (<class 'int'>, 'str')",
        [],
    )


def test_a_wrong_is_leaf_is_refused_before_iteration():
    """`tree_iter` checks its arguments when it is called."""
    with pytest.raises(TypeError, match=r"^is_leaf must be a predicate"):
        lw.tree.iter([1], 3)
    with pytest.raises(lw.errors.NamespaceError):
        lw.tree.iter([1], namespace="ops-basic-nobody-declared-this")


@pytest.mark.parametrize("function", [*READERS, *MAPS])
def test_an_undeclared_namespace(function):
    """The message names the namespace and those that there are."""
    name = "ops-basic-nobody-declared-this"
    args = (abs, [1]) if function in MAPS else ([1],)
    known = [repr(each) for each in lw.registry.namespaces() if each][:5]
    assert failure(function, *args, namespace=name) == (
        lw.errors.NamespaceError,
        f"no namespace {name!r} was declared; register a class in it or call "
        f"leafwise.namespace({name!r}) first"
        + (f" (declared: {', '.join(known)})" if known else ""),
        [],
    )


def test_a_namespace_that_is_no_string():
    """None is no namespace."""
    assert failure(lw.tree_leaves, [1], namespace=None) == (
        lw.errors.NamespaceError,
        "a namespace is a string, got NoneType: None",
        [],
    )


def test_a_class_of_a_namespace_is_a_node_there_only():
    """Each function looks classes up in the namespace that it is given."""
    space = "ops-basic-local"
    box = registered(space)
    tree = [box(1)]
    assert lw.tree_leaves(tree) == tree
    assert lw.tree_leaves(tree, namespace=space) == [1]
    assert [*lw.tree.iter(tree, namespace=space)] == [1]
    assert lw.tree_flatten(tree, namespace=space)[0] == [1]
    assert lw.tree_structure(tree, namespace=space).num_nodes == 3
    assert lw.tree_map(lambda x: x + 1, tree, namespace=space)[0].x == 2
    assert lw.tree_map_only(int, str, tree, namespace=space)[0].x == "1"
    assert lw.tree.replace_nones(0, [box(None)], namespace=space)[0].x == 0
    seen = []
    lw.tree_map_(seen.append, tree, namespace=space)
    assert seen == [1]


def test_tree_iter_is_lazy():
    """The leaves come one by one, with `is_leaf` asked no sooner than needed."""
    asked = []
    leaves = lw.tree.iter([1, 2, 3], lambda x: asked.append(x))
    assert asked == []
    assert next(leaves) == 1
    assert asked == [[1, 2, 3], 1]
    assert [*leaves] == [2, 3]


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


def test_shared_nodes_are_no_cycle():
    """The same list may stand in two places."""
    shared = [1]
    assert lw.tree_leaves([shared, shared]) == [1, 1]
    assert [*lw.tree.iter((shared, {"k": shared}))] == [1, 1]


# ------------------------------------------------------------------- unflatten


@pytest.mark.parametrize(
    ("leaves", "got"),
    [
        ([], "0"),
        ([1, 2], "2"),
        ([1, 2, 3, 4], "4"),
        ((1, 2, 3, 4, 5), "5"),
        ("ab", "2"),
        (range(9), "9"),
        (iter([1, 2]), "2"),
        (iter([1, 2, 3, 4, 5]), "more"),
        (count(), "more"),
    ],
    ids=str,
)
def test_too_few_and_too_many_leaves(leaves, got):
    """Both numbers and the treedef are in the error; generators are not exhausted."""
    treedef = lw.tree_structure([1, (2, 3)])
    with pytest.raises(lw.StructureError) as caught:
        lw.tree_unflatten(treedef, leaves)
    assert str(caught.value) == (
        f"expected 3 leaves, got {got}\n  treedef: PyTreeDef([*, (*, *)])"
    )
    assert (caught.value.expected, caught.value.actual) == ("3 leaves", got)
    assert caught.value.path is None
    assert caught.value.tree_index is None


def test_a_number_of_leaves_in_the_singular():
    """One leaf is one leaf; a bare leaf is counted too."""
    assert failure(lw.tree_unflatten, lw.tree_structure(1), []) == (
        lw.StructureError,
        "expected 1 leaf, got 0\n  treedef: PyTreeDef(*)",
        [],
    )
    assert failure(lw.tree_unflatten, lw.tree_structure(None), [1]) == (
        lw.StructureError,
        "expected 0 leaves, got 1\n  treedef: PyTreeDef(None)",
        [],
    )


def test_leaves_from_any_iterable():
    """Tuples, generators, strings and dict views give leaves like a list."""
    treedef = lw.tree_structure({"a": 1, "b": (2,)})
    for leaves in (("x", "y"), iter("xy"), "xy", {"x": 1, "y": 2}.keys()):
        assert lw.tree_unflatten(treedef, leaves) == {"a": "x", "b": ("y",)}


def test_the_list_of_leaves_is_not_kept():
    """A rebuilt list is another list than that of the leaves."""
    leaves = [1, 2]
    rebuilt = lw.tree_unflatten(lw.tree_structure([0, 0]), leaves)
    assert rebuilt == leaves
    assert rebuilt is not leaves


def test_any_object_may_stand_for_a_leaf():
    """Subtrees, None and classes are put in as they are."""
    treedef = lw.tree_structure([1, {"a": 2}])
    assert lw.tree_unflatten(treedef, [None, [3, 4]]) == [None, {"a": [3, 4]}]


def test_no_leaves_are_needed_for_an_empty_tree():
    """Trees without leaves are rebuilt from an empty iterable."""
    for tree in (None, [], {}, ((), [None])):
        assert lw.tree_unflatten(lw.tree_structure(tree), iter(())) == tree


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (
            [1],
            lw.tree_structure([0]),
            "got list: [1] (swap the two arguments)",
        ),
        (None, [1], "got NoneType: None"),
        ("*", [1], "got str: '*'"),
    ],
)
def test_unflatten_without_a_treedef(first, second, message):
    """What is no treedef is named, and a swap is pointed out."""
    assert failure(lw.tree_unflatten, first, second) == (
        TypeError,
        f"tree_unflatten takes the treedef first and the leaves second, {message}",
        [],
    )


def test_leaves_that_cannot_be_iterated():
    """A number is not taken for a list of leaves."""
    assert failure(lw.tree_unflatten, lw.tree_structure([1]), 5) == (
        TypeError,
        "'int' object is not iterable",
        [],
    )


def test_an_exception_of_the_leaves_passes_through():
    """What a generator of leaves raises is left as it is."""

    def leaves():
        yield 1
        raise KeyError("lost")

    treedef = lw.tree_structure([1, 2])
    assert failure(lw.tree_unflatten, treedef, leaves()) == (KeyError, "'lost'", [])


# ------------------------------------------------------------------------- map


def test_map_keeps_types_and_insertion_order():
    """Every container is rebuilt as it was, dict keys in their order."""
    point = namedtuple("point", "x y")
    tree = {
        "z": [1, (2,)],
        "a": OrderedDict(d=3, c=4),
        "m": deque([5], 2),
        "b": point(6, None),
        "k": defaultdict(list, y=7, x=8),
    }
    mapped = lw.tree_map(lambda x: x * 10, tree)
    assert mapped == {
        "z": [10, (20,)],
        "a": OrderedDict(d=30, c=40),
        "m": deque([50]),
        "b": point(60, None),
        "k": {"y": 70, "x": 80},
    }
    assert [*mapped] == ["z", "a", "m", "b", "k"]
    assert [*mapped["k"]] == ["y", "x"]
    assert mapped["k"].default_factory is list
    assert mapped["m"].maxlen == 2
    assert type(mapped["b"]) is point


def test_insertion_order_is_kept_with_several_trees_and_is_leaf():
    """The order of the first tree's keys is kept on every way through the code."""
    tree = {"c": 1, "a": 2, "b": {"y": 3, "x": 4}}
    other = {"a": 2, "b": {"x": 4, "y": 3}, "c": 1}
    for mapped in (
        lw.tree_map(str, tree),
        lw.tree_map(str, tree, is_leaf=tuple),
        lw.tree_map(max, tree, other),
        lw.tree_map_with_path(lambda path, x: x, tree),
        lw.tree_unflatten(lw.tree_structure(tree), "1234"),
    ):
        assert [*mapped] == ["c", "a", "b"]
        assert [*mapped["b"]] == ["y", "x"]


@pytest.mark.parametrize("options", [{}, {"is_leaf": set}])
@pytest.mark.parametrize("more", [0, 1, 2])
def test_the_function_is_called_in_leaf_order(options, more):
    """One tree or several, with `is_leaf` or without: keys are walked sorted."""
    tree = {"c": 1, "a": [2, {"y": 3, "x": 4}], "b": (5, 6, 7, 8, 9, 10)}
    seen = []
    lw.tree_map(lambda *args: seen.append(args), tree, *[tree] * more, **options)
    leaves = [2, 4, 3, 5, 6, 7, 8, 9, 10, 1]
    assert seen == [(leaf,) * (more + 1) for leaf in leaves]
    seen.clear()
    lw.tree_map_(lambda *args: seen.append(args), tree, *[tree] * more, **options)
    assert seen == [(leaf,) * (more + 1) for leaf in leaves]


@pytest.mark.parametrize("tree", [None, (), [], {}, [(), {"a": None}]], ids=str)
def test_empty_trees_never_call_the_function(tree):
    """Without leaves there is nothing to call, and the tree comes back equal."""
    never = raiser(AssertionError("called"))
    assert lw.tree_map(never, tree) == tree
    assert lw.tree_map(never, tree, tree) == tree
    assert lw.tree_map_(never, tree) is tree
    assert lw.tree_map_only(int, never, tree) == tree
    assert lw.tree_map(never, tree, is_leaf=int) == tree


def test_a_map_makes_new_containers():
    """The result shares no container with the tree."""
    tree = [[1], {"a": [2]}]
    mapped = lw.tree_map(lambda x: x, tree)
    assert mapped == tree
    assert mapped is not tree
    assert mapped[0] is not tree[0]
    assert mapped[1]["a"] is not tree[1]["a"]


def test_the_results_may_be_anything():
    """Containers and None that the function returns are not walked again."""
    assert lw.tree_map(lambda x: [x, None], (1, {"a": 2})) == (
        [1, None],
        {"a": [2, None]},
    )


def test_the_first_tree_gives_the_structure():
    """Swapping two trees changes what is a leaf and which type comes back."""
    assert lw.tree_map(lambda x, y: (x, y), [1, 2], [[3], {"a": 4}]) == [
        (1, [3]),
        (2, {"a": 4}),
    ]
    assert failure(lw.tree_map, max, [[3], 2], [1, 2]) == (
        lw.StructureError,
        "tree 1 does not have the structure of the first tree, in 1 place:\n"
        "  at [0]: expected list of length 1, got leaf 1 (int)",
        [],
    )


@pytest.mark.parametrize("kind", [dict, OrderedDict, lambda d: defaultdict(int, d)])
@pytest.mark.parametrize("other", [dict, OrderedDict, lambda d: defaultdict(int, d)])
def test_dicts_of_all_kinds_pair_by_key(kind, other):
    """Whatever the kinds and the orders are, the first tree's kind comes back."""
    first, second = kind({"b": 1, "a": 2}), other({"a": 20, "b": 10})
    for mapped in (
        lw.tree_map(lambda x, y: (x, y), first, second),
        lw.tree_map(lambda x, y: (x, y), first, second, strict=True),
    ):
        assert mapped == kind({"b": (1, 10), "a": (2, 20)})
        assert type(mapped) is type(first)
        assert [*mapped] == ["b", "a"]


def test_dicts_with_other_keys_do_not_pair():
    """Missing and extra keys are named, and a defaultdict makes none up."""
    other = defaultdict(int, a=1)
    assert failure(lw.tree_map, max, {"a": 1, "b": 2}, other) == (
        lw.StructureError,
        "tree 1 does not have the structure of the first tree, in 1 place:\n"
        "  at the root: expected dict with keys 'a', 'b', got defaultdict with keys "
        "'a' (missing 'b')",
        [],
    )
    assert other == {"a": 1}
    assert failure(lw.tree_map, max, {"a": 1}, {"a": 1, "c": 2})[1] == (
        "tree 1 does not have the structure of the first tree, in 1 place:\n"
        "  at the root: expected dict with keys 'a', got dict with keys 'a', 'c' "
        "(extra 'c')"
    )


def test_sequences_of_another_kind_do_not_pair():
    """A list and a tuple differ, and the hint says what to do."""
    assert failure(lw.tree_map, max, [1, (2,)], [1, [2]]) == (
        lw.StructureError,
        "tree 1 does not have the structure of the first tree, in 1 place:\n"
        "  at [1]: expected tuple of length 1, got list of length 1\n"
        "hint: a list and a tuple are different nodes; convert one of them",
        [],
    )


def test_none_does_not_pair_with_a_leaf():
    """None is a node on either side, and the hint names the option."""
    subject = "tree 1 does not have the structure of the first tree, in 1 place:\n"
    assert failure(lw.tree_map, max, [None], [3])[1] == (
        f"{subject}  at [0]: expected None, got leaf 3 (int)\n"
        "hint: the expected None is a node without children; none_is_leaf=True makes "
        "it a leaf"
    )
    assert failure(lw.tree_map, max, [(1,)], [None])[1] == (
        f"{subject}  at [0]: expected tuple of length 1, got None\n"
        "hint: None is a node without children; none_is_leaf=True makes it a leaf"
    )
    pair = lw.tree_map(lambda x, y: (x, y), [None, 1], [3, None], none_is_leaf=True)
    assert pair == [(None, 3), (1, None)]
    assert lw.tree_map(lambda x, y: y, [1], [None]) == [None]


def test_all_differences_are_kept_and_five_are_shown():
    """The text is short, the list on the error is whole."""
    with pytest.raises(lw.StructureError) as caught:
        lw.tree_map(max, [[0]] * 7, [[0]] * 7, [()] * 7)
    lines = str(caught.value).splitlines()
    assert lines[0] == (
        "tree 2 does not have the structure of the first tree, in 7 places:"
    )
    assert lines[1:6] == [
        f"  at [{i}]: expected list of length 1, got tuple of length 0"
        for i in range(5)
    ]
    assert lines[6:] == [
        "  and 2 more",
        "hint: a list and a tuple are different nodes; convert one of them",
    ]
    assert [str(each.path) for each in caught.value.differences] == [
        f"[{i}]" for i in range(7)
    ]
    assert str(caught.value.path) == "[0]"
    assert caught.value.expected == "list of length 1"
    assert caught.value.actual == "tuple of length 0"
    assert caught.value.tree_index == 2


@pytest.mark.parametrize("function", MAPS)
@pytest.mark.parametrize("wrong", [1, 2, 3])
def test_the_function_is_not_called_when_a_tree_does_not_fit(function, wrong):
    """Which of three further trees is wrong makes no difference."""
    trees = [[1, (2, 3)] for _ in range(4)]
    trees[wrong] = [1, (2,)]
    called = []
    with pytest.raises(lw.StructureError) as caught:
        function(lambda *args: called.append(args), *trees)
    assert called == []
    assert caught.value.tree_index == wrong


@pytest.mark.parametrize("function", MAPS)
def test_strict_refuses_deeper_trees(function):
    """With `strict` every tree has exactly the structure of the first."""
    text = (
        "tree 1 does not have the structure of the first tree, in 1 place:\n"
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


def test_strict_with_bare_leaves_and_none():
    """A bare first tree is strict too, and None follows `none_is_leaf`."""
    assert lw.tree_map(max, 1, 2, strict=True) == 2
    assert failure(lw.tree_map, max, 1, None, strict=True)[1] == (
        "tree 1 does not have the structure of the first tree, in 1 place:\n"
        "  at the root: expected a leaf, got None\n"
        "hint: strict=True accepts no tree that is deeper than the first"
    )
    pair = lw.tree_map(lambda x, y: (x, y), 1, None, strict=True, none_is_leaf=True)
    assert pair == (1, None)


def test_is_leaf_is_asked_of_the_first_tree_only():
    """Further trees are taken as they come."""
    asked = []
    lw.tree_map(max, [1, 2], [3, 4], is_leaf=lambda x: asked.append(x))
    assert asked == [[1, 2], 1, 2]


def test_is_leaf_lets_the_function_see_nodes():
    """A node that `is_leaf` accepts is handed over whole."""
    seen = lw.tree_map(lambda x: x, [(1, 2), [3]], is_leaf=tuple)
    assert seen == [(1, 2), [3]]
    pair = lw.tree_map(lambda x, y: (x, y), [(1, 2)], [3], is_leaf=(tuple, set))
    assert pair == [((1, 2), 3)]


def test_a_cycle_in_the_first_tree():
    """All maps refuse a tree that contains itself; further trees may."""
    knot = [1]
    knot.append(knot)
    text = "the tree contains itself: the list at the root occurs again at [1]"
    for function in MAPS:
        assert failure(function, lambda *args: 0, knot)[:2] == (
            lw.errors.CycleError,
            text,
        )
    assert lw.tree_map(lambda x, y: y is knot, [1, 2], knot) == [False, True]


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
        lw.tree_leaves,
        lw.tree_flatten,
        lw.tree_structure,
        lw.tree_paths,
        lw.tree_leaves_with_path,
        lw.tree_flatten_with_path,
        lambda tree, is_leaf: lw.tree_map(abs, tree, is_leaf=is_leaf),
        lambda tree, is_leaf: lw.tree_map(max, tree, tree, is_leaf=is_leaf),
        lambda tree, is_leaf: lw.tree_map_(abs, tree, is_leaf=is_leaf),
        lambda tree, is_leaf: lw.tree_map_only(int, abs, tree, is_leaf=is_leaf),
        lambda tree, is_leaf: lw.tree.replace_nones(0, tree, is_leaf=is_leaf),
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


def test_an_answer_of_is_leaf_whose_truth_value_raises():
    """An exception of `bool(answer)` has the path as well."""

    class Undecided:
        def __bool__(self):
            raise Odd("truth")

    assert failure(lw.tree_leaves, [1], lambda x: Undecided()) == (
        Odd,
        "truth",
        ["at the root of the tree"],
    )


def test_a_map_inside_a_map_notes_both_paths():
    """The inner path comes first, the outer one after it."""

    def inner(x):
        return lw.tree_map(raiser(Odd("oops")), {"i": x})

    assert failure(lw.tree_map, inner, [3]) == (
        Odd,
        "oops",
        ["at key path ['i']", "at key path [0]"],
    )


def test_what_is_no_function():
    """The error of calling it has the path of the first leaf."""
    assert failure(lw.tree_map, 3, {"a": 1}) == (
        TypeError,
        "'int' object is not callable",
        [
            "the first argument is the function, the tree comes after",
            "at key path ['a']",
        ],
    )


def test_a_stop_iteration_is_not_taken_for_the_end():
    """No shortened result is returned when the function raises StopIteration."""
    for trees in ([[1, 2, 3, 4, 5, 6]], [[1, 2, 3, 4, 5, 6]] * 2, [[1]] * 3):
        with pytest.raises(StopIteration, match="end"):
            lw.tree_map(raiser(StopIteration("end"), trees[0][-1]), *trees)


def test_an_interrupt_is_not_touched():
    """What is no `Exception` passes through without a note."""
    error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        lw.tree_map(raiser(error), [1])
    assert not hasattr(error, "__notes__")


@pytest.mark.parametrize("where", ["flatten", "unflatten"])
@pytest.mark.parametrize(
    "function",
    [
        lambda tree: lw.tree_map(lambda x: x, tree),
        lambda tree: lw.tree_map(lambda x, y: x, tree, tree),
        lambda tree: lw.tree_map(lambda x: x, tree, is_leaf=set),
        lambda tree: lw.tree_map_with_path(lambda path, x: x, tree),
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
@pytest.mark.parametrize("kind", [dict, OrderedDict, lambda d: defaultdict(int, d)])
def test_a_dict_that_changes_under_the_function(kind, options):
    """Keys that come and go during the map are not seen."""
    tree = kind({"b": 1, "a": 2, "c": 3})

    def change(x):
        tree.pop("c", None)
        tree[f"new {x}"] = x
        return x * 10

    assert lw.tree_map(change, tree, **options) == {"b": 10, "a": 20, "c": 30}
    assert {*tree} == {"a", "b", "new 1", "new 2", "new 3"}


def test_a_list_that_shrinks_under_is_leaf():
    """The children are those that the list had when the walk came to it."""
    tree = [1, 2, 3]

    def shrink(x):
        if x == 1:
            tree.clear()
        return False

    assert lw.tree_leaves(tree, shrink) == [1, 2, 3]
    tree = [1, 2, 3]
    assert lw.tree_map(lambda x: -x, tree, is_leaf=shrink) == [-1, -2, -3]
    tree = [1, 2, 3]
    assert [*lw.tree.iter(tree, shrink)] == [1, 2, 3]


def test_a_dict_that_changes_under_is_leaf():
    """New keys and lost keys do not disturb the walk."""
    tree = {"a": 1, "b": 2}

    def change(x):
        if x == 1:
            del tree["b"]
            tree["c"] = 3
        return False

    assert lw.tree_leaves(tree, change) == [1, 2]
    tree = {"a": 1, "b": 2}
    assert lw.tree_map(lambda x: -x, tree, is_leaf=change) == {"a": -1, "b": -2}


def test_a_list_that_is_changed_between_two_leaves_of_an_iterator():
    """`tree_iter` reads a node once, all children at a time."""
    tree = [1, [2, 3], 4]
    leaves = lw.tree.iter(tree)
    assert next(leaves) == 1
    tree[2] = "new"
    tree[1].append("new")
    assert [*leaves] == [2, 3, "new", 4]


# ----------------------------------------------------------------- for effect


def test_map_for_effect_with_several_trees():
    """The first tree is returned, the function sees all of them."""
    tree, seen = [1, {"a": None}], []
    result = lw.tree_map_(
        lambda *args: seen.append(args), tree, [2, {"a": 3}], none_is_leaf=True
    )
    assert result is tree
    assert seen == [(1, 2), (None, 3)]
    lw.tree_map_(seen.append, [(1,)], is_leaf=tuple)
    assert seen[-1] == (1,)


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


def test_map_only_never_maps_nodes():
    """A type that is a node chooses nothing unless `is_leaf` makes it a leaf."""
    assert lw.tree_map_only(tuple, len, [(1, 2)]) == [(1, 2)]
    assert lw.tree_map_only(tuple, len, [(1, 2)], is_leaf=tuple) == [2]
    assert lw.tree_map_only(type(None), str, [None]) == [None]
    assert lw.tree_map_only(type(None), str, [None], none_is_leaf=True) == ["None"]


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (
            3,
            "tree_map_only selects by a type, a tuple of types, a union or a "
            "predicate, got int: 3",
        ),
        (
            list[int],
            "tree_map_only selects by a type, a tuple of types, a union or a "
            "predicate, got GenericAlias: list[int]",
        ),
        (
            (int, 3),
            "tree_map_only selects by a type, a tuple of types, a union or a "
            "predicate, got tuple: (<class 'int'>, 3)",
        ),
    ],
    ids=str,
)
def test_map_only_with_something_else(chosen, message):
    """What chooses no leaves is refused, in an empty tree too."""
    assert failure(lw.tree_map_only, chosen, abs, []) == (TypeError, message, [])


def test_exceptions_in_map_only():
    """Function and predicate fail with one note each."""
    for failed in (
        failure(lw.tree_map_only, int, raiser(Odd("f")), {"a": ["x", 1]}),
        failure(lw.tree_map_only, raiser(Odd("f"), 1), abs, {"a": ["x", 1]}),
    ):
        assert failed == (Odd, "f", ["at key path ['a'][1]"])


# --------------------------------------------------------------- replace nones


def test_replacing_nones():
    """Every None is replaced by the very object, nothing else is touched."""
    sentinel = object()
    assert lw.tree.replace_nones(sentinel, None) is sentinel
    replaced = lw.tree.replace_nones(sentinel, {"b": None, "a": (0, [None])})
    assert replaced == {"b": sentinel, "a": (0, [sentinel])}
    assert [*replaced] == ["b", "a"]
    assert lw.tree.replace_nones(0, [(None,), [None]], is_leaf=tuple) == [
        (None,),
        [0],
    ]
    assert lw.tree.replace_nones(None, [None]) == [None]


def test_replacing_nones_takes_no_none_mode():
    """`none_is_leaf` is no option there: None must be a leaf to be replaced."""
    with pytest.raises(TypeError, match="none_is_leaf"):
        lw.tree.replace_nones(0, [None], none_is_leaf=False)

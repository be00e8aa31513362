"""What is a leaf: `is_leaf` and the None of a namespace, in every function.

The tests go through all public functions. Add a call of a new one to the tables here.
"""

import inspect
import io
import tempfile
from collections import OrderedDict, deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

import leafwise as lw
from helpers.random_trees import Box, Layer, Point, trees
from leafwise.errors import PathError


EXECUTOR = ThreadPoolExecutor(1)


def row(*values):
    return values


def of_one(function, *before, **options):
    """Call a function with the first tree, after some arguments."""
    return lambda a, b, c, how: function(*before, a, **options, **how)


def of_all(function, *before, **options):
    """Call a function with three trees, after some arguments."""
    return lambda a, b, c, how: function(*before, a, b, c, **options, **how)


def of_two(function, **options):
    """Call a function with two trees."""
    return lambda a, b, c, how: function(a, b, **options, **how)


def visited(a, b, c, how):
    """Visit with functions that keep what they see."""
    visits = []

    def enter(node, path, parent):
        return visits.append((str(path), node)) or node

    return lw.tree_visit(a, enter, enter, **how), visits


def printed(a, **how):
    """Return what is printed."""
    out = io.StringIO()
    lw.pprint(a, file=out, **how)
    return out.getvalue()


CALLS = {
    "tree_flatten": of_one(lw.tree_flatten),
    "tree_leaves": of_one(lw.tree_leaves),
    "tree_structure": of_one(lw.tree_structure),
    "tree_iter": of_one(lw.tree.iter),
    "tree_paths": of_one(lw.tree_paths),
    "tree_flatten_with_path": of_one(lw.tree_flatten_with_path),
    "tree_leaves_with_path": of_one(lw.tree_leaves_with_path),
    "tree_walk": of_one(lw.tree_walk),
    "tree_walk, bottom up": of_one(lw.tree_walk, bottom_up=True),
    "tree_visit": visited,
    "tree_is_leaf": of_one(lw.tree.is_leaf),
    "all_leaves": of_two(lambda a, b, **how: lw.tree.all_leaves([a, b], **how)),
    "explain_leaf": of_one(lw.explain_leaf),
    "tree_children": of_one(lw.tree.children),
    "pformat": of_one(lw.pformat),
    "pprint": of_one(printed),
    "tree_flatten_one_level": of_one(
        lambda a, **how: lw.tree.flatten_one_level(a, **how)[:4]
    ),
    "tree_reduce": of_one(lambda a, **how: lw.tree_reduce(row, a, 0, **how)),
    "tree_all": of_one(lw.tree_all),
    "tree_any": of_one(lw.tree_any),
    "tree_sum": of_one(lw.tree_sum),
    "tree_summary": of_one(lambda a, **how: lw.tree_summary(a, **how).rows),
    "tree_max": of_one(lw.tree.max, key=repr),
    "tree_min": of_one(lw.tree.min, key=repr),
    "tree_map": of_all(lw.tree_map, row),
    "tree_map, one tree": of_one(lw.tree_map, row),
    "tree_map, strict": of_all(lw.tree_map, row, strict=True),
    "tree_map_shared": of_all(lw.tree.map_shared, row),
    "tree_map_shared, strict": of_all(lw.tree.map_shared, row, strict=True),
    "tree_map, elsewhere": of_all(lw.parallel(EXECUTOR).tree_map, row),
    "tree_map_": of_all(lw.tree_map_, row),
    "tree_map_, strict": of_all(lw.tree_map_, row, strict=True),
    "tree_map_with_path": of_all(lw.tree_map_with_path, row),
    "tree_map_with_path, strict": of_all(lw.tree_map_with_path, row, strict=True),
    "tree_map_only": of_one(lw.tree_map_only, int, str),
    "tree_replace_nones": of_one(lw.tree.replace_nones, 0),
    "tree_unzip": of_one(lambda a, **how: lw.tree.unzip(a, 2, **how)),
    "tree_zip": lambda a, b, c, how: lw.tree_zip([a, b], **how),
    "tree_stack": lambda a, b, c, how: lw.tree_stack([a, b], None, **how),
    "tree_concatenate": lambda a, b, c, how: lw.tree_concatenate([a, b], None, **how),
    "tree_unstack": of_one(lw.tree_unstack),
    "fingerprint": of_one(lw.fingerprint),
    "tree_size": of_one(lw.tree_size),
    "tree_nbytes": of_one(lw.tree.nbytes),
    "tree_broadcast_prefix": of_two(lw.tree_broadcast_prefix),
    "broadcast_leaves": of_two(lw.tree.broadcast_leaves),
    "tree_broadcast_common": of_two(lw.tree.broadcast_common),
    "tree_broadcast_map": of_all(lw.tree.broadcast_map, row),
    "tree_broadcast_map_with_path": of_all(lw.tree.broadcast_map_with_path, row),
    "prefix_errors": of_two(lw.tree.prefix_errors),
    "equality_errors": of_two(lw.tree.equality_errors),
    "tree_equal": of_two(lw.tree_equal),
    "tree_transpose": lambda a, b, c, how: lw.tree_transpose(
        lw.tree_structure((0, 0)), None, (a, b), **how
    ),
    "tree_transpose_map": of_all(lw.tree.transpose_map, row),
    "tree_transpose_map, inner": of_all(
        lw.tree.transpose_map, row, inner_treedef=lw.tree_structure((0, 0, 0))
    ),
    "tree_transpose_map_with_path": of_one(lw.tree.transpose_map_with_path, row),
    "tree_diff": of_two(lw.tree_diff),
    "assert_trees_equal": of_two(lw.testing.assert_trees_equal),
    "assert_trees_close": of_two(lw.testing.assert_trees_close),
    "assert_same_structure": of_two(lw.testing.assert_same_structure),
    "tree_partition": of_one(lambda a, **how: lw.tree_partition(a, int, **how)),
    "tree_combine": of_two(
        lambda a, b, **how: lw.tree_combine(
            a, lw.tree_map(lambda _: lw.MISSING, b, **how), **how
        )
    ),
    "tree_filter": of_one(
        lambda a, **how: lw.selection.tree_filter(a, int, missing_ok=True, **how)
    ),
    "tree_labels": of_one(
        lambda a, **how: lw.selection.tree_labels(
            a, {"*": 0, "**": 1}, default=2, **how
        )
    ),
    "tree_update": of_one(
        lambda a, **how: lw.selection.tree_update(a, {"*": row}, missing_ok=True, **how)
    ),
    "tree_at": of_one(lambda a, **how: lw.selection.tree_at(lambda t: t, a, 0, **how)),
    "at": of_one(lambda a, **how: lw.at(a, missing_ok=True, **how)["**"].apply(row)),
    "at, places": of_one(
        lambda a, **how: lw.at(a, missing_ok=True, **how)["**.*"].items()
    ),
    "at, types": of_one(
        lambda a, **how: lw.at(a, missing_ok=True, **how)[int, tuple].items()
    ),
    "at, mask": of_one(lambda a, **how: lw.at(a, missing_ok=True, **how)["*"].mask()),
    "to_mermaid": of_one(lw.show.to_mermaid),
    "to_html": of_one(lw.show.to_html),
    "to_svg": of_one(lw.show.to_svg),
    "draw": of_one(lw.draw),
    "to_flat": of_one(lw.selection.to_flat, strict=False),
    "from_flat": of_two(
        lambda a, b, **how: lw.selection.from_flat(
            lw.selection.to_flat(a, strict=False, **how), like=b, **how
        )
    ),
}
"""A call of each function that takes `is_leaf`; each takes three trees and options."""

FUNCTIONS = {
    function.__name__: function
    for room in (
        lw.testing,
        lw.files,
        lw.selection,
        lw.show,
        lw.registry,
        lw.tree,
        lw,
    )
    for function in (getattr(room, name) for name in room.__all__)
    if inspect.isroutine(function)
}

CLASSES = [list, tuple, dict, OrderedDict, deque, Point, Layer, Box, type(None), object]


def outcome(call, a, b, c, how):
    """Return what a call comes to, as text: its result, or its error."""
    try:
        result = call(a, b, c, how)
        if inspect.isgenerator(result):
            result = list(result)
    except Exception as error:
        notes = getattr(error, "__notes__", [])
        return f"{type(error).__name__}: {error} {notes} {error.__dict__.keys()}"
    return f"{result!r}\n{result}"


def takes_paths(name):
    """Return whether a function of the table takes `is_leaf_takes_path`."""
    if name == "tree_map, elsewhere":
        return False
    function = FUNCTIONS[name.partition(",")[0]]
    return "is_leaf_takes_path" in inspect.signature(function).parameters


def test_every_function_that_takes_is_leaf_is_called():
    """The table above has a call of each."""
    called = {name.partition(",")[0] for name in CALLS}
    functions = {
        name
        for name, function in FUNCTIONS.items()
        if "is_leaf" in inspect.signature(function).parameters
    }
    functions -= {"trees_like"}
    assert functions - called == set(), "add calls to the table CALLS"
    assert called - functions == set(), "these are no public functions with is_leaf"


@settings(max_examples=15)
@given(
    st.data(),
    trees(max_leaves=10),
    st.lists(st.sampled_from(CLASSES), min_size=1, max_size=2),
)
@pytest.mark.parametrize("part", range(4))
def test_a_class_does_as_its_predicate(part, data, tree, classes):
    """A class, a tuple of classes, and a predicate give one result or one error."""
    others = st.just(tree) | st.just(lw.tree_map(row, tree)) | trees(max_leaves=5)
    other = data.draw(others)
    third = data.draw(others)
    types = tuple(classes)
    asked = [
        {"is_leaf": types[0] if len(types) == 1 else types},
        {"is_leaf": types},
        {"is_leaf": lambda node: isinstance(node, types)},
        {
            "is_leaf": lambda path, node: isinstance(node, types),
            "is_leaf_takes_path": True,
        },
    ]
    for name, call in list(CALLS.items())[part::4]:
        options = asked if takes_paths(name) else asked[:-1]
        outcomes = [outcome(call, tree, other, third, how) for how in options]
        assert outcomes == outcomes[:1] * len(outcomes)


WALKS = [
    "tree_leaves",
    "tree_iter",
    "tree_walk",
    "tree_visit",
    "tree_map",
    "tree_map, strict",
    "tree_map_shared",
    "tree_map_shared, strict",
    "tree_map_with_path",
    "tree_broadcast_prefix",
    "tree_broadcast_common",
    "prefix_errors",
    "equality_errors",
    "tree_equal",
    "tree_unzip",
]


@settings(max_examples=15)
@given(trees(max_leaves=10))
def test_a_predicate_is_told_the_path_of_what_it_is_asked_of(tree):
    """Each path that a predicate gets leads to the node that it gets."""
    asked = []

    def stop(path, node):
        asked.append((path, node))
        return isinstance(node, list)

    twin = lw.tree_map(lambda leaf: leaf, tree)
    for name in filter(takes_paths, WALKS):
        outcome(
            CALLS[name], tree, twin, tree, {"is_leaf": stop, "is_leaf_takes_path": True}
        )
    for path, node in asked:
        assert repr(node) in (repr(_at(root, path)) for root in (tree, twin))


def _at(tree, path):
    try:
        return path(tree)
    except PathError:
        return path


# -------------------------------------------------------------------- wrong values


@pytest.mark.parametrize("is_leaf", [list[int], (object, 3), (type(None), 3)], ids=str)
def test_anything_but_types_and_predicates_is_refused(is_leaf):
    """Generic aliases, and tuples that have other items than types."""
    with pytest.raises(TypeError, match="is_leaf must be"):
        lw.tree_leaves([[1]], is_leaf)
    with pytest.raises(TypeError, match="tree_map_only selects by"):
        lw.tree_map_only(is_leaf, str, [1])


# ------------------------------------------------- which trees are asked, one by one


def is_list(node):
    return isinstance(node, list)


EITHER_WAY = [list, (list, set), is_list]


@pytest.mark.parametrize("is_leaf", EITHER_WAY)
def test_a_prefix_alone_is_asked(is_leaf):
    """What a prefix is spread over keeps all its leaves."""
    full = (["a", "b"], "c")
    assert lw.tree.broadcast_leaves(True, full, is_leaf=is_leaf) == [True] * 3
    assert lw.tree.broadcast_leaves(([0, 1], 2), full, is_leaf=is_leaf) == [
        [0, 1]
    ] * 2 + [2]
    assert lw.tree_broadcast_prefix(0, full, is_leaf=is_leaf) == ([0, 0], 0)
    assert lw.tree.prefix_errors(([0], 1), full, is_leaf=is_leaf) == []


# ------------------------------------------- None is a leaf where a namespace says so


NONES = lw.namespace("nones", none_is_leaf=True)
Nothing = type("NoneType", (), {"__repr__": lambda self: "None"})
Nothing.__bool__ = lambda self: False
NOTHING = Nothing()
"""A leaf that looks like None in texts."""

WITHOUT_IS_LEAF = {
    "check_node": of_one(lambda a, **how: lw.testing.check_node(list, [[a]], **how)),
    "override": of_one(lambda a, **how: lw.override({"x": a}, ["+y=1"], **how)),
    "tree_merge": of_two(lw.tree_merge),
    "tree_move": of_one(
        lambda a, **how: lw.selection.tree_move({"x": a}, "x", "y", **how)
    ),
    "tree_rename": of_one(
        lambda a, **how: lw.selection.tree_rename({"x": a}, "x", "y", **how)
    ),
    "trees_like": of_one(
        lambda a, **how: find(
            lw.testing.trees_like(a, st.just(0), **how), lambda _: True
        )
    ),
}
"""Calls as above, of functions that take a namespace and cannot stop early."""


def saved(**how):
    """Save a tree, and load it without its structure."""
    with tempfile.TemporaryDirectory() as folder:
        name = Path(folder) / "tree.json"
        lw.save(name, {"a": [None]}, **how)
        return lw.load(name, **how), lw.load(name, treedef=False, **how)


NONE_ITSELF = {
    "explain_leaf": (
        lambda **how: lw.explain_leaf(None, **how),
        "a leaf: namespace 'nones' was declared with none_is_leaf=True",
    ),
    "fingerprint": (
        lambda **how: lw.fingerprint([None], **how) == lw.fingerprint([None]),
        False,
    ),
    "is_registered": (lambda **how: lw.is_registered(type(None), **how), False),
    "load": (saved, ({"a": [None]}, {"a": [None]})),
    "lookup": (lambda **how: lw.registry.lookup(type(None), **how), None),
    "save": (saved, ({"a": [None]}, {"a": [None]})),
    "to_html": (
        lambda **how: (
            lw.show.to_html([None], **how)
            == lw.show.to_html([None], is_leaf=type(None))
        ),
        True,
    ),
    "tree_replace_nones": (
        lambda **how: lw.tree.replace_nones(0, [None, 1], **how),
        [0, 1],
    ),
    "treedefs": (
        lambda **how: find(lw.testing.treedefs(**how), lambda _: True).none_is_leaf,
        True,
    ),
}
"""Calls of functions for which None is unlike all other leaves, and their results."""

NO_TREES = {
    "dataclass",
    "register_codec",
    "register_dataclass",
    "register_leaf",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_static",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "selector",
    "trees",
    "unregister_pytree_node",
}
"""Functions whose results do not depend on what None is."""


def takes_namespace(name):
    """Return whether a function of the table takes a namespace."""
    return "namespace" in inspect.signature(FUNCTIONS[name]).parameters


def test_every_function_that_takes_a_namespace_is_called():
    """The tables above have a call of each."""
    called = {name.partition(",")[0] for name in CALLS}
    called |= WITHOUT_IS_LEAF.keys() | NONE_ITSELF.keys() | NO_TREES
    functions = {name for name in FUNCTIONS if takes_namespace(name)}
    assert functions - called == set(), "add calls to one of the tables above"


def without_none(tree):
    """Return a tree with another leaf wherever None is."""
    return lw.tree_map(lambda x: NOTHING if x is None else x, tree, none_is_leaf=True)


@settings(max_examples=15)
@given(st.data(), trees(max_leaves=10))
@pytest.mark.parametrize("part", range(4))
def test_none_is_a_leaf_like_others(part, data, tree):
    """In a namespace that declares it, it makes no difference what it is."""
    others = st.just(tree) | st.just(lw.tree_map(row, tree)) | trees(max_leaves=5)
    family = tree, data.draw(others), data.draw(others)
    calls = {
        name: call
        for name, call in {**CALLS, **WITHOUT_IS_LEAF}.items()
        if takes_namespace(name.partition(",")[0]) and name not in NONE_ITSELF
    }
    how = {"namespace": NONES.name}
    for name, call in list(calls.items())[part::4]:
        expected = outcome(call, *map(without_none, family), how)
        assert outcome(call, *family, how) == expected, name


@pytest.mark.parametrize("name", NONE_ITSELF)
def test_none_is_a_leaf_by_itself(name):
    """Where a function tells None from other leaves, or takes no such trees."""
    call, expected = NONE_ITSELF[name]
    assert call(namespace=NONES.name) == expected


@pytest.mark.needs("threads")
def test_none_is_a_leaf_in_maps_on_an_executor():
    """Those of `parallel` take the namespace as well."""
    maps = lw.parallel(EXECUTOR)
    how = {"namespace": NONES.name}
    assert maps.tree_map(row, [None], **how) == [(None,)]
    assert maps.tree_map_only(type(None), str, [None], **how) == ["None"]
    paths = maps.tree_map_with_path(lambda path, leaf: str(path), [None], **how)
    assert paths == ["[0]"]

"""`compat.jax_tree_util` and `compat.jax_tree`, beside what they stand in for."""

import copy
import dataclasses
import os
import subprocess
import sys
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from compat.binding import missing
from compat.programs import (
    SEEDS,
    Asked,
    Raised,
    likenesses_of_named_tuples,
    make_classes,
    outcome_of,
    pairs,
)
from helpers.processes import run_in_process
from leafwise.compat import jax_tree, jax_tree_util


Point = namedtuple("Point", "x y")


def test_every_public_name_takes_the_same_calls(jax_tree):
    """Of functions, classes and their methods; one says of itself what is not so."""
    left_out = [
        "PyTreeDef.from_node_data_and_children",  # it takes no `self`
        "PyTreeDef.serialize_using_proto",
        "PyTreeDef.deserialize_using_proto",
        "PyTreeDef.make_from_node_data_and_children",  # of older versions
        "PyTreeDef.from_iterable_tree",  # it is for jax's own code
    ]
    assert missing(jax_tree, jax_tree_util, but=left_out) == []
    assert set(dir(jax_tree)) - set(dir(jax_tree_util)) <= {"_deprecations", "typing"}


def test_every_short_name_takes_the_same_calls(jax):
    assert missing(jax.tree, jax_tree) == []


def test_names_of_attributes_are_not_quoted_in_paths(jax_tree):
    """Whatever is in them."""
    for module in (jax_tree, jax_tree_util):
        keys = (module.GetAttrKey("layer.0"), module.DictKey("a b"))
        assert module.keystr(keys) == ".layer.0['a b']"
        assert module.keystr(keys, separator="/") == ".layer.0/['a b']"
        assert module.keystr(keys, simple=True, separator="/") == "layer.0/a b"


@pytest.mark.parametrize("result", [((1,), None, ("x",)), ((1,),), [(1,), None]])
def test_a_flatten_function_returns_two_values(jax_tree, result):
    """Keys come from another function, not as a third value."""
    for module in (jax_tree, jax_tree_util):

        class Row:
            """Flattened in another way than it should be."""

        module.register_pytree_node(Row, lambda row: result, lambda _, kids: Row())
        for function in (module.tree_leaves, module.tree_structure):
            with pytest.raises(ValueError, match=r"\(children, aux_data\)"):
                function(Row())


def test_classes_that_only_jax_knows_are_nodes(jax, jax_tree):
    """Those of libraries that imported it before, and those of jax itself."""

    class Known:
        def __init__(self, x, y):
            self.x = x
            self.y = y

    jax_tree.register_pytree_with_keys(
        Known,
        lambda k: (((jax_tree.GetAttrKey("x"), k.x), ("y", k.y)), None),
        lambda _, kids: Known(*kids),
    )
    tree = [Known(1, (2,)), jax_tree.Partial(max, 3)]
    assert jax_tree_util.tree_leaves(tree) == jax_tree.tree_leaves(tree) == [1, 2, 3]
    mapped = jax_tree_util.tree_map(lambda x: -x, tree)
    assert type(mapped[0]) is Known
    assert jax_tree.tree_leaves(mapped) == [-1, -2, -3]
    assert jax_tree_util.is_tree_node(Known)
    _, pullback = jax.vjp(lambda x: x * 3.0, 2.0)
    counts = (len(m.tree_leaves(pullback)) for m in (jax_tree, jax_tree_util))
    assert len(set(counts)) == 1


def test_jax_may_be_loaded_later(jax):
    """Then it learns of our classes, and we of those that only it knows."""
    code = (
        "import leafwise.compat.jax_tree_util as jtu\n"
        "import jax\n"
        "theirs = jax.tree_util\n"
        "print(jtu.tree_leaves([theirs.Partial(max, 1)]),"
        " theirs.tree_leaves([jtu.Partial(max, 2)]))\n"
    )
    source = str(Path(lw.__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": source, "JAX_PLATFORMS": "cpu"}
    output = subprocess.check_output([sys.executable, "-c", code], text=True, env=env)
    assert output == "[1] [2]\n"


LOOKS_LIKE_A_CONTAINER = {
    "generator": lambda: (i for i in ()),
    "zip": lambda: zip((), (), strict=True),
    "map": lambda: map(abs, ()),
    "filter": lambda: filter(None, ()),
    "enumerate": lambda: enumerate(()),
    "list iterator": lambda: iter([]),
    "tuple iterator": lambda: iter(()),
    "dict iterator": lambda: iter({}),
    "set iterator": lambda: iter(set()),
    "string iterator": lambda: iter("a"),
    "range": lambda: range(2),
    "set": lambda: {1},
    "keys": lambda: {}.keys(),
    "values": lambda: {}.values(),
    "items": lambda: {}.items(),
    "iterator of items": lambda: iter({}.items()),
    "ordered values": lambda: OrderedDict().values(),
    "deque": lambda: deque([1]),
}


@pytest.mark.parametrize("name", LOOKS_LIKE_A_CONTAINER)
@pytest.mark.parametrize("predicate", ["none", "never", "always"])
def test_leaves_that_look_like_containers_warn(jax_tree, name, predicate):
    """As in jax, unless the predicate says that they are leaves."""
    make = LOOKS_LIKE_A_CONTAINER[name]
    is_leaf = None
    if predicate != "none":

        def is_leaf(node):
            return predicate == "always"

    def warnings_of(module):
        functions = [
            lambda: module.tree_leaves([make(), make()], is_leaf),
            lambda: module.tree_structure({"a": make()}, is_leaf),
            lambda: module.tree_flatten(make(), is_leaf),
            lambda: module.tree_map(lambda *leaves: 0, make(), make(), is_leaf=is_leaf),
            lambda: module.tree_leaves_with_path(make(), is_leaf),
            lambda: module.tree_all([make()], is_leaf=is_leaf),
        ]
        categories = []
        for function in functions:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                function()
            categories.append([warning.category for warning in caught])
        return categories

    assert warnings_of(jax_tree_util) == warnings_of(jax_tree)


# ---------------------------------------------------------------------- random programs


def flatten(module, source, tree, other):
    leaves, treedef = module.tree_flatten(tree)
    again = module.tree_unflatten(treedef, leaves)
    return leaves, treedef, _unordered(again), module.tree_structure(other) == treedef


def treedefs(module, source, tree, other):
    one = module.tree_structure(tree)
    two = module.tree_structure(other)
    both = module.treedef_tuple([one, two])
    data = one.node_data()
    again = type(one).from_node_data_and_children(
        module.default_registry, data, one.children()
    )
    return (
        both,
        one.compose(two),
        one.num_leaves,
        one.num_nodes,
        module.treedef_children(both),
        data,
        again == one,
        module.treedef_is_leaf(two),
        copy.deepcopy(one) == one,
    )


def up_to(module, source, tree, other):
    return module.tree_structure(tree).flatten_up_to(other)


def unflatten(module, source, tree, other):
    treedef = module.tree_structure(tree)
    count = treedef.num_leaves + source.choice((-1, 0, 0, 0, 1))
    leaves = [source.choice((0, None, (1, 2))) for _ in range(max(count, 0))]
    some_leaves = source.choice((tuple, list, iter))(leaves)
    return _unordered(treedef.unflatten(some_leaves))


def map_one(module, source, tree, other):
    f = Asked(lambda *leaves: leaves)
    is_leaf = source.choice((None, None, _is_pair, _is_none))
    return _unordered(module.tree_map(f, tree, is_leaf=is_leaf)), f.calls


def map_two(module, source, tree, other):
    f = Asked(lambda *leaves: leaves)
    is_leaf = source.choice((None, None, _is_pair, _is_none))
    trees = source.choice(((tree, other), (other, tree), (tree, tree, other)))
    return _unordered(module.tree_map(f, *trees, is_leaf=is_leaf)), f.calls


def predicates(module, source, tree, other):
    asked = Asked(source.choice((_is_pair, _is_none, lambda node: False)))
    result = module.tree_leaves(tree, asked)
    structure = module.tree_structure(tree, is_leaf=_is_pair)
    return result, asked.calls, structure


def paths(module, source, tree, other):
    pairs, treedef = module.tree_flatten_with_path(tree)
    texts = [
        (module.keystr(path), module.keystr(path, simple=True, separator="/"))
        for path, _ in pairs
    ]
    names = module.tree_map_with_path(lambda path, *x: (str(path), *x), tree, tree)

    def long(path, node):
        return len(path) > 1

    cut = module.tree_leaves_with_path(tree, long, is_leaf_takes_path=True)
    return pairs, treedef, texts, _unordered(names), cut


def folds(module, source, tree, other):
    join = "({}{})".format
    names = [repr(leaf) for leaf in module.tree_leaves(tree)]
    return (
        module.tree_reduce(join, names, ""),
        module.tree_reduce_associative(join, names, identity=""),
        module.tree_all(tree),
        module.tree_all(tree, is_leaf=_is_pair),
        module.all_leaves([tree, other]),
        module.all_leaves([tree, other], _is_pair),
    )


def empty_folds(module, source, tree, other):
    fold = source.choice((module.tree_reduce, module.tree_reduce_associative))
    return fold(lambda a, b: (a, b), tree)


def broadcast(module, source, tree, other):
    is_leaf = source.choice((None, _is_none))
    return _unordered(module.tree_broadcast(tree, other, is_leaf=is_leaf))


def transpose(module, source, tree, other):
    outer = module.tree_structure(tree)
    inner = module.tree_structure(other)
    composed = outer.compose(inner)
    nested = composed.unflatten(range(composed.num_leaves))
    which = source.choice((inner, inner, None))
    some_tree = source.choice((nested, nested, other))
    return _unordered(module.tree_transpose(outer, which, some_tree))


def one_level(module, source, tree, other):
    children, data = module.flatten_one_level(tree)
    pairs, again = module.flatten_one_level_with_keys(tree)
    keys = [key for key, _ in pairs] if not hasattr(tree, "_fields") else []
    kinds = list(map(module.is_tree_node, (type(tree), int, list, Point, deque)))
    return list(children), data, keys, again, kinds


def walk(module, source, tree, other):
    treedef = module.tree_structure(tree)
    return treedef.walk(
        lambda kids, data: ("node", kids, data),
        lambda leaf: ("leaf", leaf),
        range(treedef.num_leaves),
    )


PROGRAMS = [
    flatten,
    treedefs,
    up_to,
    unflatten,
    map_one,
    map_two,
    predicates,
    paths,
    folds,
    empty_folds,
    broadcast,
    transpose,
    one_level,
    walk,
]


def _is_pair(node):
    return isinstance(node, tuple) and len(node) == 2


def _is_none(node):
    return node is None


def _unordered(tree):
    """Return a tree whose dicts are in sorted order: ours keep that of insertion."""
    kind = type(tree)
    if kind is dict:
        return {key: _unordered(tree[key]) for key in sorted(tree)}
    if kind is defaultdict:
        items = ((key, _unordered(tree[key])) for key in sorted(tree))
        return defaultdict(tree.default_factory, items)
    if kind is OrderedDict:
        return OrderedDict((key, _unordered(item)) for key, item in tree.items())
    if kind in (list, tuple):
        return kind(map(_unordered, tree))
    if hasattr(tree, "_fields"):
        return kind(*map(_unordered, tree))
    if dataclasses.is_dataclass(tree):
        kids = {f.name: getattr(tree, f.name) for f in dataclasses.fields(tree)}
        return kind(**{name: _unordered(kid) for name, kid in kids.items()})
    if hasattr(tree, "kids"):
        return kind(list(map(_unordered, tree.kids)), tree.aux)
    return tree


@pytest.fixture(scope="module")
def classes(jax_tree):
    """Return two classes that both know, in jax first, which ours tells of them."""
    box, record = make_classes()
    for module in (jax_tree, jax_tree_util):
        module.register_pytree_node(
            box, lambda b: (tuple(b.kids), b.aux), lambda aux, kids: box(kids, aux)
        )
        module.register_dataclass(record, ["x", "y"], ["tag"])
    return box, record


def _plain(tree):
    """Return a tree with dicts in the place of dicts of other kinds."""
    if isinstance(tree, dict):
        return {key: _plain(item) for key, item in tree.items()}
    leaves, treedef = lw.tree_flatten(tree, is_leaf=lambda node: node is not tree)
    return treedef.unflatten(map(_plain, leaves)) if treedef.num_children else tree


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@given(data=st.data(), seed=SEEDS)
def test_random_programs(jax_tree, classes, program, data, seed):
    """They give the same, but that dicts of all kinds pair by key with us."""
    trees = data.draw(pairs(classes))
    expected = outcome_of(program, jax_tree, seed, *trees)
    if isinstance(expected, Raised) and program in (
        map_two,
        broadcast,
        up_to,
        transpose,
    ):
        again = outcome_of(program, jax_tree, seed, *map(_plain, trees))
        if not isinstance(again, Raised):
            return
    assert expected == outcome_of(program, jax_tree_util, seed, *trees)


def test_named_tuples_are_those_of_jax(jax_tree):
    """Tuples with `_fields`, whatever else they have."""
    for cls in likenesses_of_named_tuples():
        node = cls((1, 2))
        assert jax_tree_util.tree_leaves(node) == jax_tree.tree_leaves(node)


def test_named_tuples_are_those_of_jax_where_it_is_not_loaded():
    """The stand-in knows it by itself."""
    run_in_process("""
from leafwise.compat import jax_tree_util
cls = type("Like", (tuple,), {"_fields": ("x", "y")})
leaves, treedef = jax_tree_util.tree_flatten([cls((1, 2))])
assert leaves == [1, 2]
assert type(treedef.unflatten([3, 4])[0]) is cls
""")

"""`compat.optree` and its modules, beside what they stand in for."""

import copy
import dataclasses
import importlib
import inspect
import pickle
import re
import time
import warnings
from collections import deque, namedtuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.binding import missing
from compat.programs import (
    NODES,
    SEEDS,
    Asked,
    Raised,
    facts_of,
    likenesses_of_named_tuples,
    make_classes,
    outcome_of,
    pairs,
)
from leafwise.compat import optree as ours


Point = namedtuple("Point", "x y")
NEVER_CALLED = {
    f"PyTree.{name}"
    for name in ("count", "get", "index", "items", "keys", "mro", "values")
}
"""Methods that optree has for type checkers; they raise."""
STANDARD = {
    "P",
    "Children",
    "DefaultDict",
    "Deque",
    "Dict",
    "F",
    "Iterable",
    "KT",
    "List",
    "MetaData",
    "NamedTuple",
    "OrderedDict",
    "S",
    "Sequence",
    "T",
    "Tuple",
    "U",
    "VT",
    *(name for name in ours.accessors.__all__),
    "StructSequence",
}
"""What `optree.typing` passes on of the standard library and of other modules."""
MODULES = {
    "accessors": (),
    "dataclasses": (),
    "functools": (),
    "ops": (),
    "pytree": (),
    "registry": (),
    "treespec": (),
    "typing": {*NEVER_CALLED, *STANDARD, "FrozenDict"},
}
"""The modules of optree that programs import, with what is left out of each."""


def test_every_public_name_takes_the_same_calls(optree):
    assert missing(optree, ours, but=NEVER_CALLED) == []


@pytest.mark.parametrize("name", MODULES)
def test_the_names_of_each_module_take_the_same_calls(optree, name):
    theirs = importlib.import_module(f"optree.{name}")
    standin = importlib.import_module(f"leafwise.compat.optree.{name}")
    assert missing(theirs, standin, but=MODULES[name]) == []


def test_the_methods_of_a_structure_take_the_same_calls(optree):
    """pybind11 shows no signatures; names and arity are checked by the programs."""
    theirs = {name for name in dir(optree.PyTreeSpec) if not name.startswith("_")}
    assert theirs <= set(dir(ours.PyTreeSpec))
    assert list(map(str, ours.PyTreeKind)) == list(map(str, optree.PyTreeKind))
    assert ours.PyTreeKind.NUM_KINDS == optree.PyTreeKind.NUM_KINDS
    assert ours.__version__ == optree.__version__


# ---------------------------------------------------------------------- random programs


def is_pair(node):
    return isinstance(node, list | tuple) and len(node) == 2


def is_none(node):
    return node is None


def options(source, *, is_leaf=True):
    """Return what most functions take, at random."""
    chosen = {}
    if source.random() < 0.3:
        chosen["none_is_leaf"] = True
    if source.random() < 0.6:
        chosen["namespace"] = source.choice(("compat-x", "compat-y", "compat-nobody"))
    if is_leaf and source.random() < 0.3:
        chosen["is_leaf"] = source.choice((is_pair, is_none, bool, lambda node: 0))
    return chosen


def flatten(module, source, tree, other):
    keywords = options(source)
    leaves, spec = module.tree_flatten(tree, **keywords)
    again = module.tree_unflatten(spec, leaves)
    return (
        leaves,
        spec,
        again,
        len(spec),
        bool(spec),
        list(module.tree_iter(tree, **keywords)),
        module.tree_structure(other, **keywords) == spec,
        module.tree_leaves(other, **keywords),
    )


def structures(module, source, tree, other):
    keywords = options(source)
    more = options(source)
    one = module.tree_structure(tree, **keywords)
    two = module.tree_structure(other, **more)
    return [
        one,
        two,
        one.num_leaves,
        one.num_nodes,
        one.num_children,
        one.none_is_leaf,
        one.namespace,
        one.type,
        one.kind,
        one.children(),
        one.entries(),
        one.one_level(),
        one.is_one_level(),
        one.is_leaf(),
        one.is_leaf(strict=False),
        one == two,
        one != two,
        one < two,
        one <= two,
        one > two,
        one >= two,
        one.is_prefix(two, strict=source.random() < 0.5),
        one.is_suffix(two, strict=source.random() < 0.5),
        copy.deepcopy(one) == one,
        hash(one) == hash(copy.copy(one)),
        tried(one.compose, two),
        tried(one.broadcast_to_common_suffix, two),
        *(tried(one.entry, place) for place in (0, -1, 3, 1.0, "a")),
        *(tried(one.child, place) for place in (0, -1, 3, 1.0, "a")),
        tried(one.compose, 1),
        tried(one.is_prefix, tree),
        one == tree,
        tried(lambda: one < tree),
    ]


def functions_of_structures(module, source, tree, other):
    one = module.tree_structure(tree, **options(source))
    two = module.tree_structure(other, none_is_leaf=one.none_is_leaf)
    return (
        module.treespec_paths(one),
        module.treespec_accessors(one),
        module.treespec_entries(one),
        module.treespec_children(one),
        tried(module.treespec_entry, one, 1),
        tried(module.treespec_child, one, -1),
        module.treespec_one_level(one),
        module.treespec_is_one_level(one),
        module.treespec_is_leaf(one, strict=source.random() < 0.5),
        module.treespec_is_strict_leaf(one),
        module.treespec_is_prefix(one, two),
        module.treespec_is_suffix(one, two, strict=True),
    )


def pickles(module, source, tree, other):
    spec = module.tree_structure(tree, **options(source))
    again = pickle.loads(pickle.dumps(spec))
    return spec, again, spec == again


def up_to(module, source, tree, other):
    return module.tree_structure(tree, **options(source)).flatten_up_to(other)


def unflatten(module, source, tree, other):
    spec = module.tree_structure(tree, **options(source))
    count = spec.num_leaves + source.choice((-1, 0, 0, 0, 1))
    leaves = [source.choice((0, None, (1, 2))) for _ in range(max(count, 0))]
    some_leaves = source.choice((tuple, list, iter))(leaves)
    return source.choice((spec.unflatten, lambda x: module.tree_unflatten(spec, x)))(
        some_leaves
    )


def folds_of_structures(module, source, tree, other):
    spec = module.tree_structure(tree, **options(source))
    count = max(spec.num_leaves + source.choice((-1, 0, 0, 0, 0)), 0)
    f_node = source.choice((None, lambda *given: ("node", *given)))
    f_leaf = source.choice((None, lambda leaf: ("leaf", leaf)))
    walk = source.choice((spec.walk, spec.traverse))
    return walk(range(count), f_node, f_leaf)


def transform(module, source, tree, other):
    keywords = options(source)
    spec = module.tree_structure(tree, **keywords)
    replacement = module.tree_structure(other, none_is_leaf=spec.none_is_leaf)
    specs = []

    def f_node(node):
        specs.append(node)
        return source.choice(
            (node, node, replacement, module.treespec_tuple([leaf] * len(node)))
        )

    leaf = module.treespec_leaf(none_is_leaf=spec.none_is_leaf)
    nodes = source.choice((None, f_node))
    leaves = source.choice(
        (None, lambda leaf: replacement, lambda leaf: leaf, lambda leaf: 3)
    )
    return spec.transform(nodes, leaves), specs


def map_one(module, source, tree, other):
    f = Asked(lambda *leaves: leaves)
    return module.tree_map(f, tree, **options(source)), f.calls


def map_two(module, source, tree, other):
    f = Asked(lambda *leaves: leaves)
    trees = source.choice(((tree, other), (other, tree), (tree, tree, other)))
    return module.tree_map(f, *trees, **options(source)), f.calls


def map_with_paths(module, source, tree, other):
    f = Asked(lambda *leaves: leaves)
    trees = source.choice(((tree,), (tree, other), (tree, tree)))
    mapped = source.choice((module.tree_map_with_path, module.tree_map_with_accessor))
    return mapped(f, *trees, **options(source)), f.calls


def effects(module, source, tree, other):
    f = Asked(lambda *leaves: None)
    trees = source.choice(((tree,), (tree, other), (tree, tree)))
    names = ("tree_map_", "tree_map_with_path_", "tree_map_with_accessor_")
    same = getattr(module, source.choice(names))(f, *trees, **options(source)) is tree
    return same, f.calls


def predicates(module, source, tree, other):
    asked = Asked(source.choice((is_pair, is_none, lambda node: False)))
    keywords = options(source, is_leaf=False)
    return (
        module.tree_leaves(tree, asked, **keywords),
        asked.calls,
        module.tree_is_leaf(tree, **options(source)),
        module.all_leaves([tree, other], **options(source)),
        tried(module.tree_leaves, tree, 3),
        tried(module.tree_leaves, tree, namespace=3),
    )


def paths(module, source, tree, other):
    keywords = options(source)
    accessors = module.tree_accessors(tree, **keywords)
    return (
        module.tree_flatten_with_path(tree, **keywords),
        accessors,
        module.tree_flatten_with_accessor(tree, **keywords),
        module.tree_paths(tree, **keywords),
        [a.codify("tree") for a in accessors],
        [a.path for a in accessors],
        list(map(repr, accessors)),
        [tried(accessor, tree) for accessor in accessors],
        [a[:1] for a in accessors],
        [a + a for a in accessors],
    )


def folds(module, source, tree, other):
    keywords = options(source)
    join = "({}{})".format
    names = module.tree_map(repr, tree, **keywords)
    return (
        module.tree_all(tree, **keywords),
        module.tree_any(tree, **keywords),
        tried(module.tree_reduce, join, names, **keywords),
        module.tree_reduce(join, names, "!", **keywords),
        tried(module.tree_sum, names, start="", **keywords),
        tried(module.tree_max, names, **keywords),
        tried(module.tree_min, names, key=len, **keywords),
        tried(module.tree_max, (), default=3),
        tried(module.tree_min, []),
    )


def parts(module, source, tree, other):
    keywords = options(source)
    return (
        module.tree_partition(lambda leaf: repr(leaf) < "5", tree, **keywords),
        module.tree_partition(bool, tree, fillvalue="?", **keywords),
        module.tree_replace_nones("none", tree, keywords.get("namespace", "")),
    )


def broadcast(module, source, tree, other):
    keywords = options(source)
    names = ("tree_broadcast_prefix", "broadcast_prefix")
    names += ("tree_broadcast_common", "broadcast_common")
    return getattr(module, source.choice(names))(tree, other, **keywords)


def broadcast_maps(module, source, tree, other):
    f = Asked(lambda *leaves: leaves)
    names = ("", "_with_path", "_with_accessor")
    function = getattr(module, "tree_broadcast_map" + source.choice(names))
    trees = source.choice(((tree,), (tree, other), (tree, other, 1)))
    return function(f, *trees, **options(source)), f.calls


def transpose(module, source, tree, other):
    keywords = options(source)
    mode = keywords.get("none_is_leaf", False)
    outer = module.tree_structure(tree, **keywords)
    inner = module.tree_structure(other, none_is_leaf=mode)
    composed = outer.compose(inner)
    nested = composed.unflatten(range(composed.num_leaves))
    return module.tree_transpose(outer, inner, source.choice((nested, nested, other)))


def transpose_maps(module, source, tree, other):
    names = ("", "_with_path", "_with_accessor")
    function = getattr(module, "tree_transpose_map" + source.choice(names))
    result = source.choice(((1, [2]), other, other, {"b": 3, "a": 4}, [], 5))
    keywords = options(source)
    if source.random() < 0.4:
        spec = module.tree_structure(
            result, none_is_leaf=keywords.get("none_is_leaf", False)
        )
        keywords["inner_treespec"] = spec
    return function(
        lambda *leaves: source.choice((result, result, result, tree)), tree, **keywords
    )


def one_level(module, source, tree, other):
    node = module.tree_flatten_one_level(tree, **options(source))
    children, data, entries, make = node
    again = make(data, source.choice((children, [0] * len(children))))
    return children, data, entries, again, node.type, node.kind, node._fields[:3]


def reports(module, source, tree, other):
    """Tell the places that errors name; their other words are those of leafwise."""
    functions = module.prefix_errors(tree, other, **options(source, is_leaf=False))
    return [re.search(r"here\S*", str(make("here")))[0] for make in functions]


def makers(module, source, tree, other):
    """Make structures of structures."""
    keywords = options(source, is_leaf=False)
    children = [module.tree_structure(one, **options(source)) for one in (tree, other)]
    word = source.choice("abc")
    return [
        module.treespec_leaf(**keywords),
        module.treespec_none(**keywords),
        tried(module.treespec_tuple, children, **keywords),
        tried(module.treespec_list, iter(children), **keywords),
        tried(
            module.treespec_dict, {"b": children[0]}, **keywords, **{word: children[1]}
        ),
        tried(module.treespec_dict, [("b", children[0])], **keywords),
        tried(
            module.treespec_ordereddict, {"b": children[0]}, **keywords, a=children[1]
        ),
        tried(module.treespec_defaultdict, int, {"b": children[0]}, **keywords),
        tried(module.treespec_deque, children, source.choice((None, 1, 2)), **keywords),
        tried(module.treespec_namedtuple, Point(*children), **keywords),
        tried(module.treespec_namedtuple, children, **keywords),
        tried(
            module.treespec_structseq, time.struct_time(children[:1] * 9), **keywords
        ),
        tried(module.treespec_structseq, Point(*children), **keywords),
        tried(module.treespec_from_collection, [children[0], *children], **keywords),
        tried(module.treespec_from_collection, [1], **keywords),
        tried(module.treespec_from_collection, 1, **keywords),
        tried(module.treespec_frozendict, {}, **keywords),
    ]


def insertion_order(module, source, tree, other):
    everywhere = importlib.import_module(f"{module.__name__}.registry")
    namespace = source.choice(
        ("compat-x", "compat-nobody", vars(everywhere)["__GLOBAL_NAMESPACE"])
    )
    keywords = options(source)
    with module.dict_insertion_ordered(source.random() < 0.8, namespace=namespace):
        leaves, spec = module.tree_flatten(tree, **keywords)
        inside = module.tree_structure(other, **keywords)
    return leaves, spec, inside, spec == inside, module.tree_leaves(tree, **keywords)


PROGRAMS = [
    flatten,
    structures,
    functions_of_structures,
    up_to,
    unflatten,
    folds_of_structures,
    transform,
    map_one,
    map_two,
    map_with_paths,
    effects,
    predicates,
    paths,
    folds,
    parts,
    broadcast,
    broadcast_maps,
    transpose,
    transpose_maps,
    one_level,
    reports,
    makers,
    insertion_order,
]


def tried(function, *args, **keywords):
    """Return what is told of a call, warnings included."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = facts_of(function(*args, **keywords))
        except Exception as error:
            outcome = Raised(error)
    return outcome, [one.category.__name__ for one in caught]


def struct(children):
    """Return what draws a struct sequence."""
    return st.lists(children, min_size=9, max_size=9).map(time.struct_time)


def in_both(optree, register):
    """Call a function with both modules and the object for their global registries."""
    for module in (optree, ours):
        room = importlib.import_module(f"{module.__name__}.registry")
        register(module, vars(room)["__GLOBAL_NAMESPACE"])


@pytest.fixture(scope="module")
def classes(optree):
    """Return two classes: one is a node everywhere, each also in a namespace."""
    box, record = make_classes()
    without = (lambda node: (node.kids, node.aux), lambda aux, kids: box(kids, aux))
    with_names = (
        lambda node: ((node.x, node.y), node.tag, ("x", "y")),
        lambda tag, kids: record(*kids, tag),
    )
    reversed_ = (
        lambda node: (
            list(node.kids)[::-1],
            None,
            list(map(str, range(len(node.kids)))),
        ),
        lambda aux, kids: box(kids[::-1], aux),
    )

    def register(module, everywhere):
        put = module.register_pytree_node
        put(box, *without, namespace=everywhere)
        put(box, *reversed_, namespace="compat-y", path_entry_type=module.GetItemEntry)
        entry = module.DataclassEntry
        put(record, *with_names, namespace="compat-x", path_entry_type=entry)

    def forget(module, everywhere):
        drop = module.unregister_pytree_node
        drop(box, namespace=everywhere)
        drop(box, namespace="compat-y")
        drop(record, namespace="compat-x")

    in_both(optree, register)
    yield box, record
    in_both(optree, forget)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@given(data=st.data(), seed=SEEDS)
def test_random_programs(optree, classes, program, data, seed):
    """They give the same: results, types of exceptions and warnings, texts, calls."""
    trees = data.draw(pairs(classes, nodes=(*NODES, deque, struct)))
    expected = outcome_of(program, optree, seed, *trees)
    assert expected == outcome_of(program, ours, seed, *trees)


@given(trees=pairs(), seed=SEEDS)
def test_structures_are_pickled(optree, trees, seed):
    """Without classes, since those of a test have no names to be found by."""
    expected = outcome_of(pickles, optree, seed, *trees)
    assert expected == outcome_of(pickles, ours, seed, *trees)


# ------------------------------------------------------------------- particular calls


def made_class(module, **options):
    """Return a dataclass of a library with a child and a static field."""
    room = importlib.import_module(f"{module.__name__}.dataclasses")
    fields = [("x", int), ("y", int, room.field(default=3, pytree_node=False))]
    options = {"namespace": "compat-made", **options}
    return room.make_dataclass("Made", fields, **options)


def in_room(module, name, *args, **options):
    room, _, function = name.partition(".")
    home = importlib.import_module(f"{module.__name__}.{room}")
    return getattr(home, function)(*args, **options)


class WithInitVar:
    x: int
    y: dataclasses.InitVar[int]


CALLS = {
    "a field": lambda m: dict(in_room(m, "dataclasses.field", default=1).metadata),
    "a static field": lambda m: dict(
        in_room(m, "dataclasses.field", pytree_node=False, metadata={"a": 1}).metadata
    ),
    "the signature of a field": lambda m: list(inspect.signature(
        importlib.import_module(f"{m.__name__}.dataclasses").field
    ).parameters),
    "a made class": lambda m: m.tree_flatten(
        made_class(m)(1), namespace="compat-made"
    ),
    "a map": lambda m: vars(
        m.tree_map(str, made_class(m, frozen=True)(1), namespace="compat-made")
    ),
    "twice": lambda m: in_room(
        m, "dataclasses.register_node", made_class(m), namespace="compat-more"
    ),
    "no dataclass": lambda m: in_room(
        m, "dataclasses.register_node", int, namespace="compat-more"
    ),
    "an InitVar": lambda m: in_room(
        m, "dataclasses.dataclass", type("New", (WithInitVar,), {
            "__annotations__": WithInitVar.__annotations__
        }), namespace="compat-more",
    ),
    "no namespace": lambda m: made_class(m, ns=1, namespace=None),
    "a namespace that is no string": lambda m: made_class(m, namespace=1),
    "a module of no namespace": lambda m: in_room(m, "pytree.reexport", namespace=1),
    "a module of no name": lambda m: in_room(
        m, "pytree.reexport", namespace="compat-more", module="a.1"
    ),
    "an index": lambda m: [
        tried(m.tree_structure([1, (2, 3)]).child, index)
        for index in (0, True, 1.0, "1", 2, -2, -3)
    ],
    "trees of trees": lambda m: [
        m.PyTree[m.PyTree[kind]] == m.PyTree[kind] for kind in (int, int | str)
    ],
    "a partial": lambda m: m.tree_paths(
        in_room(m, "functools.partial", max, 1, key=abs)
    ),
    "of a partial": lambda m: m.tree_leaves(
        in_room(m, "functools.partial", in_room(m, "functools.partial", max, 1), 2)
    ),
    "a call of it": lambda m: m.tree_map(
        lambda x: -x, in_room(m, "functools.partial", max, 1)
    )(-3, 0),
    "reduce": lambda m: in_room(m, "functools.reduce", max, {"a": [1, 5]}),
    "a path of a path": lambda m: [
        (a + a, a * 2, a[:1], len(a), a == a, a != a[:1], list(a), a[0].field)
        if hasattr(a[0], "field")
        else (a + a, a * 2, a[:1], len(a), a == a, a != a[:1], list(a), repr(a[0]))
        for a in m.tree_accessors({"a": [1, (2,)], "b": Point(1, 2)})
    ],
    "hashes": lambda m: len({*m.tree_accessors([1, 2]), *m.tree_accessors([1, 2])}),
    "entries": lambda m: [
        (e.entry, e.type, str(e.kind), e.codify("t"), e == e, hash(e) == hash(e))
        for a in m.tree_accessors([{"a": Point(1, deque([2]))}])
        for e in a
    ],
    "a wrong tree": lambda m: m.tree_accessors([1])[0]({}),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_particular_calls(optree, call):
    """Results, or the types of errors."""
    assert tried(CALLS[call], optree) == tried(CALLS[call], ours)


def test_named_tuples_are_those_of_optree(optree):
    """Tuples with all that named tuples have."""
    for cls in likenesses_of_named_tuples():
        node = cls((1, 2))
        assert ours.tree_leaves(node) == optree.tree_leaves(node)
        assert ours.is_namedtuple_class(cls) == optree.is_namedtuple_class(cls)

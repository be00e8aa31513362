"""`PyTreeDef` as a value: reading, comparing, printing, using (L6, L11)."""

import copy
import importlib.util
import pickle
import time
from collections import OrderedDict, defaultdict, deque, namedtuple
from contextlib import nullcontext

import pytest

import leafwise as lw


Point = namedtuple("Point", "x y")


def structure(tree, **options):
    return lw.tree_structure(tree, **options)


def test_reading():
    """Counts, type and modes of a treedef."""
    treedef = structure({"b": (1, None), "a": 2})
    assert (treedef.num_leaves, treedef.num_nodes, treedef.num_children) == (2, 5, 2)
    assert treedef.type is dict
    assert treedef.none_is_leaf is False
    assert treedef.namespace == ""
    leaf = structure(1)
    assert (leaf.num_leaves, leaf.num_nodes, leaf.num_children) == (1, 1, 0)
    assert leaf.type is None
    assert leaf.node_data() is None
    assert leaf.children() == []


def test_it_is_immutable_and_not_made_by_hand():
    """A treedef comes from a tree, and stays as it is."""
    with pytest.raises(TypeError, match=r"use leafwise\.tree_structure\(tree\)"):
        lw.PyTreeDef()
    with pytest.raises(AttributeError):
        structure([1]).num_leaves = 3
    with pytest.raises(AttributeError):
        structure([1]).other = 3


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([1], (1,)),
        ([1], [1, 2]),
        ([[1], 2], [1, [2]]),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, OrderedDict(a=1)),
        (OrderedDict(a=1, b=2), OrderedDict(b=2, a=1)),
        ((1, 2), Point(1, 2)),
        (None, ()),
        (None, 1),
        ([], 1),
        ([1, [2]], [[1], 2]),
    ],
    ids=repr,
)
def test_different_structures(a, b):
    """Type, arity, keys and nesting all count."""
    assert structure(a) != structure(b)
    assert structure(a) == structure(a)
    assert structure(a) != a
    assert (structure(a) == "text") is False
    assert (structure(a) == None) is False  # noqa: E711


def test_hashes_tell_structures_apart():
    """Keys, classes and aux data all go into the hash."""
    trees = [{"a": 1}, {"b": 1}, [1], (1,), Point(1, 2), OrderedDict(a=1), None, 1]
    assert len({hash(structure(tree)) for tree in trees}) == len(trees)


def test_keys_are_not_part_of_the_structure():
    """Nodes of equal aux data have equal treedefs, under any keys of theirs."""

    class Named:
        def __init__(self, *names):
            self.names = names

    lw.register_pytree_node(
        Named,
        lambda node: (node.names, "aux", node.names),
        lambda aux, children: Named(*children),
    )
    one = structure(Named("x", "y"))
    other = structure(Named("a", "b"))
    assert one == other
    assert hash(one) == hash(other)
    assert one.paths() != other.paths()


class BadEquality:
    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("never")


def test_comparing_never_raises():
    """Aux data whose `==` raises or cannot be hashed means "different"."""

    class Holder:
        def __init__(self, aux):
            self.aux = aux

    lw.register_pytree_node(
        Holder, lambda node: ((), node.aux), lambda aux, _: Holder(aux)
    )
    bad = BadEquality()
    assert structure(Holder(bad)) == structure(Holder(bad))
    assert structure(Holder(bad)) != structure(Holder(BadEquality()))
    assert hash(structure(Holder(bad))) == hash(structure(Holder(bad)))
    nan = float("nan")
    assert structure(Holder(nan)) == structure(Holder(nan))
    assert structure(Holder({"training": True})) == structure(Holder({"training": 1}))


def test_text():
    """Treedefs print as jax prints them."""
    assert repr(structure(1)) == "PyTreeDef(*)"
    assert str(structure([{"a": 1, "b": (2, None)}])) == (
        "PyTreeDef([{'a': *, 'b': (*, None)}])"
    )
    assert repr(structure(1, none_is_leaf=True)) == "PyTreeDef(*, none_is_leaf=True)"
    assert repr(structure(lw.Partial(max, 1))) == (
        "PyTreeDef(CustomNode(Partial[<built-in function max>], [(*,), {}]))"
    )
    red = type("Red", (), {"__call__": max, "__repr__": lambda _: "\x1b[31m\u202e"})
    assert repr(structure(lw.Partial(red(), 1))).isprintable()


def endless():
    while True:
        yield 0


@pytest.mark.parametrize(
    ("leaves", "actual"),
    [([1], "1"), ([1, 2, 3, 4], "4"), ([], "0"), (endless(), "more"), (iter([1]), "1")],
    ids=["too few", "too many", "none", "endless", "iterator"],
)
def test_a_wrong_number_of_leaves(leaves, actual):
    """The error says how many were wanted and given, and shows the treedef."""
    with pytest.raises(lw.StructureError) as error:
        structure([1, {"a": 2}]).unflatten(leaves)
    assert str(error.value) == (
        f"expected 2 leaves, got {actual}\n  treedef: PyTreeDef([*, {{'a': *}}])"
    )
    assert (error.value.expected, error.value.actual) == ("2 leaves", actual)


def test_compose_and_treedef_tuple_take_treedefs_of_one_mode():
    """Anything else is refused with both sides named."""
    leaf = structure(1)
    with pytest.raises(
        lw.errors.TreeDefError, match="compose takes treedefs, got int: 3"
    ):
        leaf.compose(3)
    with pytest.raises(lw.errors.TreeDefError, match="of one None mode"):
        leaf.compose(structure(1, none_is_leaf=True))
    with pytest.raises(
        lw.errors.TreeDefError, match="treedef_tuple takes treedefs, got int"
    ):
        lw.tree.treedef_tuple([leaf, 3])
    assert lw.tree.treedef_tuple([]) == structure(())
    none = structure(None, none_is_leaf=True)
    assert lw.tree.treedef_tuple([none]) == structure((None,), none_is_leaf=True)


def test_treedefs_of_two_namespaces_are_equal_if_their_rules_are():
    """What counts is how the nodes were taken apart, not the name."""
    lw.namespace("other")
    assert structure([1], namespace="other") == structure([1])


# ------------------------------------------- namespaces that make None a leaf


NONES = lw.namespace("nones", none_is_leaf=True)
modes = [nullcontext]
if importlib.util.find_spec("leafwise.engine") is not None:
    modes = [lw.engine.disabled, lw.engine.enabled, lw.engine.eager]


@pytest.mark.parametrize("mode", modes)
def test_a_namespace_that_makes_none_a_leaf(mode):
    """Its treedefs are those of `none_is_leaf=True`, however they were made."""
    tree = {"b": [1, None], "a": None}
    with mode():
        expected = structure(tree, none_is_leaf=True)
        for _ in range(6):  # the engine takes over
            leaves, treedef = NONES.tree_flatten(tree)
            assert leaves == [None, 1, None]
            assert treedef == expected
            assert hash(treedef) == hash(expected)
            assert repr(treedef) == repr(expected)
            assert lw.fingerprint(treedef) == lw.fingerprint(expected)
            assert treedef != structure(tree)
            assert (treedef.none_is_leaf, treedef.namespace) == (True, "nones")
            assert treedef.unflatten("xyz") == {"b": ["y", "z"], "a": "x"}
            assert treedef.flatten_up_to({"b": [2, 3], "a": {}}) == [{}, 2, 3]
            assert NONES.tree_leaves(tree, is_leaf=list) == [None, [1, None]]
            assert NONES.tree_map(lambda x: x is None, None) is True
            for copied in (
                pickle.loads(pickle.dumps(treedef)),
                lw.PyTreeDef.from_json(treedef.to_json()),
                copy.deepcopy(treedef),
                NONES.tree_structure(treedef.unflatten("xyz")),
            ):
                assert copied == expected
                assert (copied.none_is_leaf, copied.namespace) == (True, "nones")


def test_treedefs_that_are_made_in_such_a_namespace():
    """They are composed of others that take None as a leaf."""
    leaf = lw.PyTreeDef.leaf(namespace="nones")
    assert leaf == structure(None, none_is_leaf=True)
    pair = NONES.tree_structure([None, 1])
    other = structure((None,), none_is_leaf=True)
    list_of_two = lw.PyTreeDef.from_children([leaf, leaf], namespace="nones")
    data = lw.PyTreeDef.from_node_data(
        pair.node_data(), pair.children(), namespace="nones"
    )
    assert list_of_two == data == pair
    assert pair.compose(other) == structure([(None,), (1,)], none_is_leaf=True)
    assert other.compose(pair).namespace == "nones"
    assert pair.explain([1, None]) == []
    with pytest.raises(lw.errors.TreeDefError, match="of one None mode"):
        pair.compose(structure((1,)))
    with pytest.raises(lw.errors.TreeDefError, match="is not a node class"):
        lw.PyTreeDef.from_node_data((type(None), None), [], namespace="nones")


def test_the_argument_can_only_add_to_what_the_namespace_says():
    """False is the default, so it is not told from an omitted argument."""
    for mode in (False, True):
        assert lw.tree_leaves([None], none_is_leaf=mode, namespace="nones") == [None]
    assert lw.tree_leaves([None]) == []
    assert lw.tree_leaves([None], none_is_leaf=True) == [None]


def test_an_error_does_not_advise_what_the_namespace_does_already():
    """None is a leaf that stands where a node should."""
    with pytest.raises(lw.StructureError) as caught:
        NONES.tree_structure([{"a": 1}]).flatten_up_to([None])
    assert str(caught.value) == (
        "the tree does not have the structure of the treedef, in 1 place:\n"
        "  at [0]: expected dict with keys 'a', got leaf None (NoneType)"
    )


# ---------------------------------------------------------------- joined namespaces


class Tagged:
    def __init__(self, x, y):
        self.x = x
        self.y = y


lw.register_dataclass(Tagged, ["x", "y"], [])
lw.register_dataclass(Tagged, ["y", "x"], [], namespace="treedef.named")
lw.namespace("treedef.other")

JOINS = {
    "compose": lambda a, b: a.compose(b),
    "from_children": lambda a, b: lw.PyTreeDef.from_children([a, b]),
    "common_suffix": lambda a, b: a.common_suffix(b),
    "treedef_tuple": lambda a, b: lw.tree.treedef_tuple([a, b]),
}


def in_namespace(name):
    return lw.tree_structure((0, 0), namespace=name)


@pytest.mark.parametrize("join", JOINS.values(), ids=JOINS)
def test_a_namespace_wins_over_the_global_registry(join):
    """Whichever comes first, a structure made of both is one of the namespace."""
    plain = in_namespace("")
    named = in_namespace("treedef.named")
    assert join(plain, plain).namespace == ""
    for parts in ((plain, named), (named, plain), (named, named)):
        joined = join(*parts)
        assert joined.namespace == "treedef.named"
        tree = joined.unflatten(range(joined.num_leaves))
        assert joined.flatten_up_to(tree) == list(range(joined.num_leaves))
        assert joined.explain(tree) == []


@pytest.mark.parametrize(("name", "join"), JOINS.items(), ids=JOINS)
def test_two_namespaces_cannot_be_joined(name, join):
    """What they say of one class may differ; the error names both."""
    one = in_namespace("treedef.named")
    other = in_namespace("treedef.other")
    with pytest.raises(lw.errors.TreeDefError) as error:
        join(one, other)
    assert str(error.value) == (
        f"{name} takes treedefs of one namespace: PyTreeDef((*, *)) is of "
        "'treedef.other', what comes before it of 'treedef.named'"
    )


def test_a_structure_is_explained_where_its_namespace_is_unknown():
    """A pickled structure of plain nodes matches and is explained anywhere."""
    state = (2, "treedef.nowhere", False, 2, ((2, "tuple", 2, None),))
    function, _ = lw.tree_structure(0).__reduce__()
    read = function(state)
    assert read.namespace == "treedef.nowhere"
    assert read.flatten_up_to((1, 2)) == [1, 2]
    assert read.explain((1, 2)) == []
    assert list(map(str, read.explain([1, 2]))) == [
        "at the root: expected tuple of length 2, got list of length 2"
    ]
    with pytest.raises(lw.StructureError):
        read.flatten_up_to([1, 2])
    assert lw.tree_transpose(read, None, ([1], [2])) == [(1, 2)]


class TestOfNodeData:
    """A treedef is put together again of what its root says, and its children."""

    TREES = [
        1,
        None,
        (1, [2]),
        [],
        {"b": 1, "a": (2,)},
        OrderedDict(b=1, a=2),
        defaultdict(int, b=1, a=[2]),
        deque([1, 2], maxlen=3),
        Point(1, [2]),
        time.gmtime(0),
        lw.Partial(len, 1, b=2),
    ]

    @pytest.mark.parametrize("tree", TREES, ids=lambda tree: type(tree).__name__)
    def test_it_is_the_same(self, tree):
        treedef = lw.tree_structure(tree)
        again = lw.PyTreeDef.from_node_data(treedef.node_data(), treedef.children())
        if type(tree) is not time.struct_time:  # its hidden fields are not told
            assert again == treedef
        assert again.paths() == treedef.paths()

    def test_of_registered_classes_with_their_keys(self):
        class Box:
            def __init__(self, x, tag):
                self.x = x
                self.tag = tag

        lw.registry.register_pytree_with_keys(
            Box,
            lambda box: ((("x", box.x),), box.tag),
            lambda tag, kids: Box(*kids, tag),
        )
        treedef = lw.tree_structure(Box([1], "t"))
        again = lw.PyTreeDef.from_node_data((Box, "t"), treedef.children())
        assert again == treedef
        assert [str(path) for path in again.paths()] == [".x[0]"]
        other = lw.PyTreeDef.from_node_data((Box, "u"), [lw.PyTreeDef.leaf()])
        assert str(other) == "PyTreeDef(CustomNode(Box[u], [*]))"

    def test_keys_and_children_go_in_pairs(self):
        leaf = lw.PyTreeDef.leaf()
        pair = lw.tree_structure((1, 2))
        treedef = lw.PyTreeDef.from_node_data((dict, ["b", "a"]), [leaf, pair])
        assert treedef == lw.tree_structure({"a": (1, 2), "b": 3})

    def test_what_does_not_fit_is_refused(self):
        leaf = lw.PyTreeDef.leaf()
        with pytest.raises(lw.errors.TreeDefError, match="int'> is not a node class"):
            lw.PyTreeDef.from_node_data((int, None), [leaf])
        with pytest.raises(ValueError, match="zip"):
            lw.PyTreeDef.from_node_data((dict, ["a"]), [leaf, leaf])
        with pytest.raises(lw.errors.TreeDefError, match="takes treedefs"):
            lw.PyTreeDef.from_node_data((list, None), [1])


@pytest.mark.needs("stack")
@pytest.mark.parametrize("depth", [300, 900, 5000])
def test_aux_data_may_be_nested_deep(depth):
    """Treedefs of equal trees are equal: no limit of Python's stack decides."""

    class Deep:
        def __init__(self, x, aux):
            self.x = x
            self.aux = aux

    def nested():
        aux = []
        for _ in range(depth):
            aux = [aux]
        return Deep(1, aux)

    lw.register_pytree_node(
        Deep, lambda node: ((node.x,), node.aux), lambda aux, xs: Deep(*xs, aux)
    )
    try:
        one = nested()
        other = nested()
        assert lw.tree_structure(one) == lw.tree_structure(other)
        assert lw.tree_map(lambda x, y: x + y, one, other).x == 2
    finally:
        lw.unregister_pytree_node(Deep)

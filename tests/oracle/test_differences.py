"""The differences in `docs/explanation/why.md` are true of leafwise and the others.

A case is named after the first column of its row.
"""

import dataclasses
import enum
import functools
import inspect
import operator
import sys
import time
import types
import warnings
from collections import Counter, OrderedDict, UserDict, defaultdict, deque, namedtuple
from pathlib import Path

import numpy as np
import pytest

import leafwise as lw
from leafwise.errors import RegistryError


PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "why.md"
CASES = {}
SPACE = "tests.differences"  # of optree, which has no global registry for users
Pair = namedtuple("Pair", "x y")


def case(what):
    """Name a case after the first column of its row."""

    def keep(function):
        assert what not in CASES
        CASES[what] = function
        return function

    return keep


@pytest.fixture(scope="module")
def peers(jax_tree, optree, torch_tree, dm_tree, equinox):
    """Return the peers, by short names."""
    return types.SimpleNamespace(
        jax=jax_tree, op=optree, torch=torch_tree, dm=dm_tree, eqx=equinox
    )


def rows_of_the_page():
    """Return the first column of each row."""
    page = PAGE.read_text(encoding="utf-8")
    lines = page.partition("\n## Differences from other libraries\n")[2].splitlines()
    rows = [line[2:].split(" | ")[0] for line in lines if line.startswith("| ")]
    return [what for what in rows if what != "what"]


def test_every_row_has_its_case():
    """One that runs all libraries."""
    assert set(rows_of_the_page()) == set(CASES)


@pytest.mark.parametrize("what", CASES)
def test_the_row(peers, what):
    """What leafwise does, and what the others do, is as the row says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        CASES[what](peers)


# ---------------------------------------------------------------------------- helpers


def leaves(p, tree):
    """Return the leaves for leafwise, jax, optree, torch, dm-tree."""
    return (
        lw.tree_leaves(tree), p.jax.tree_leaves(tree), p.op.tree_leaves(tree),
        p.torch.tree_leaves(tree), p.dm.flatten(tree),
    )  # fmt: skip


def structures(p, tree):
    """Return the structure for leafwise, jax, optree, torch."""
    return (
        lw.tree_structure(tree), p.jax.tree_structure(tree),
        p.op.tree_structure(tree, namespace=SPACE), p.torch.tree_structure(tree),
    )  # fmt: skip


def same(p, first, second, compare):
    """Compare two structures in leafwise, jax, optree, torch."""
    pairs = zip(structures(p, first), structures(p, second), strict=True)
    return [outcome(compare, *pair) for pair in pairs]


def maps(p, *trees):
    """Return a map of trees, or the class of its error, for all five."""
    return tuple(
        outcome(tree_map, lambda *x: x[0] if len(trees) == 1 else x, *trees)
        for tree_map in (
            lw.tree_map, p.jax.tree_map, p.op.tree_map, p.torch.tree_map,
            p.dm.map_structure,
        )
    )  # fmt: skip


def outcome(function, *args, **kwargs):
    """Return the result of a call, or the class of its error."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return type(error)


def register(p, cls, flatten, unflatten):
    """Register a class in leafwise, jax, optree and torch."""
    lw.register_pytree_node(cls, flatten, unflatten, bridge=False)
    p.jax.register_pytree_node(cls, flatten, unflatten)
    p.op.register_pytree_node(cls, flatten, unflatten, namespace=SPACE)
    p.torch.register_pytree_node(cls, flatten, lambda c, aux: unflatten(aux, c))
    return cls


def all_equal(found, expected):
    """Compare tuples of results, with their types and the order of dicts."""
    assert [repr(x) for x in found] == [repr(x) for x in expected]


class Holder:
    """A node that keeps what it is given as aux data, or as children."""

    def __init__(self, value):
        self.value = value


# ---------------------------------------------------------------------- what is a node


@case("`None`")
def _(p):
    assert leaves(p, None) == ([], [], [], [None], [None])
    assert lw.tree_leaves(None, none_is_leaf=True) == [None]
    assert p.op.tree_leaves(None, none_is_leaf=True) == [None]
    with pytest.raises(TypeError):
        p.jax.tree_leaves(None, none_is_leaf=True)


@case("`deque`")
def _(p):
    tree = deque([1, 2])
    assert leaves(p, tree) == ([1, 2], [tree], [1, 2], [1, 2], [1, 2])


@case("struct sequences")
def _(p):
    now = time.gmtime(0)
    counts = [len(found) for found in leaves(p, now)]
    assert counts == [9, 1, 9, 1, 9]
    zones = [made.tm_zone for made in maps(p, now)]
    assert zones == [now.tm_zone, now.tm_zone, None, now.tm_zone, None]
    assert maps(p, sys.flags)[::2] == (sys.flags, TypeError, TypeError)
    torch = pytest.importorskip("torch")
    found = torch.max(torch.ones(1, 2), dim=0)
    assert len(p.torch.tree_leaves(found)) == 2


@case("other `Mapping`s and `Sequence`s, attrs classes")
def _(p):
    attr = pytest.importorskip("attr")
    point = attr.make_class("Point", ["x", "y"])(1, 2)
    for tree in (range(2), Counter("aab"), UserDict(a=1), point):
        assert leaves(p, tree)[:4] == ([tree],) * 4
        assert p.dm.flatten(tree) != [tree]
    assert maps(p, range(2))[4] is TypeError
    assert p.dm.map_structure(lambda x: x, Counter("aab")) != Counter("aab")


@case("subclasses of list, dict, ...")
def _(p):
    class Config(dict):
        pass

    config = Config(a=1)
    assert leaves(p, config) == ([config],) * 4 + ([1],)
    assert maps(p, {"a": 1}, config) == (
        lw.StructureError, ValueError, ValueError, ValueError, {"a": (1, 1)}
    )  # fmt: skip
    assert "subclass" in str(lw.explain_leaf(config))


# -------------------------------------------------------------------------------- dicts


@case("order of leaves")
def _(p):
    found = leaves(p, {"b": 1, "a": 2})
    assert found == ([2, 1], [2, 1], [2, 1], [1, 2], [2, 1])


@case("order of a rebuilt dict")
def _(p):
    kept = {"b": 1, "a": 2}
    is_sorted = {"a": 2, "b": 1}
    all_equal(maps(p, kept), (kept, is_sorted, kept, kept, kept))


@case("keys of several types")
def _(p):
    tree = {"b": 1, 1: 2}
    assert lw.tree_leaves(tree) == p.op.tree_leaves(tree) == [2, 1]
    assert maps(p, tree) == (tree, ValueError, tree, tree, TypeError)
    assert p.torch.tree_leaves(tree) == [1, 2]


@case("Enum keys")
def _(p):
    Letter = enum.Enum("Letter", "B A")
    tree = {Letter.A: 1, Letter.B: 2}
    other = {Letter.B: 2, Letter.A: 1}
    assert lw.tree_leaves(tree) == [2, 1]
    assert lw.tree_structure(tree) == lw.tree_structure(other)
    for peer in (p.op, p.torch):
        assert peer.tree_leaves(tree) == [1, 2]
        assert peer.tree_structure(tree) != peer.tree_structure(other)
    assert outcome(p.jax.tree_leaves, tree) is ValueError
    assert outcome(p.dm.flatten, tree) is TypeError


@case("maps over dicts with unordered keys")
def _(p):
    one = frozenset([1])
    two = frozenset([2])
    by_key = {one: (1, 10), two: (2, 20)}
    found = maps(p, {one: 1, two: 2}, {two: 20, one: 10})
    assert found[:4] == (by_key, ValueError, by_key, by_key)
    assert found[4] == {one: (1, 20), two: (2, 10)}


@case("`dict`, `OrderedDict`, `defaultdict` in one map")
def _(p):
    made = {"a": (1, 10), "b": (2, 20)}
    for other in (OrderedDict(b=20, a=10), defaultdict(int, b=20, a=10)):
        found = maps(p, {"a": 1, "b": 2}, other)
        assert found == (made, ValueError, made, made, made)


# --------------------------------------------------------------------------- rebuilding


@case("registered dataclasses")
def _(p):
    assert constructions(lw.register_dataclass, lw.tree_map) == 0
    with_init = functools.partial(lw.register_dataclass, init=True)
    assert constructions(with_init, lw.tree_map) == 1
    assert constructions(p.jax.register_dataclass, p.jax.tree_map) == 1
    assert constructions(p.torch.register_dataclass, p.torch.tree_map) == 1

    def register_in_optree(cls):
        p.op.dataclasses.register_node(cls, namespace=SPACE)

    def map_in_optree(function, tree):
        return p.op.tree_map(function, tree, namespace=SPACE)

    assert constructions(register_in_optree, map_in_optree) == 1


def constructions(register_class, tree_map):
    """Return how often a map constructs a registered dataclass."""

    @dataclasses.dataclass
    class Counted:
        x: int

        def __post_init__(self):
            runs.append(self)

    register_class(Counted)
    runs = []
    tree = Counted(1)
    tree_map(lambda x: x, tree)
    return len(runs) - 1


@case("named tuples")
def _(p):
    class Twice(Pair):
        def __new__(cls, both):
            return super().__new__(cls, both, both)

    tree = Twice(1)
    assert maps(p, tree) == (tree, TypeError, TypeError, TypeError, TypeError)
    assert type(lw.tree_map(lambda x: x, tree)) is Twice


@case("dataclass fields that are `None`")
def _(p):
    @dataclasses.dataclass
    class Layer:
        weight: object
        bias: object = None

    lw.register_dataclass(Layer, bridge=False)
    p.torch.register_dataclass(Layer)
    assert lw.tree_leaves(Layer(1), none_is_leaf=True) == [1, None]
    assert lw.tree_structure(Layer(1)).num_children == 2
    assert p.torch.tree_structure(Layer(1)).num_children == 1


@case("children as str, dict or set")
def _(p):
    cls = register(
        p, type("Node", (Holder,), {}), lambda x: (x.value, None), lambda a, c: None
    )
    for value, items in (("ab", ["a", "b"]), ({"k": 1}, ["k"]), ({1}, [1])):
        with pytest.raises(lw.errors.FlattenError):
            lw.tree_leaves(cls(value))
        assert p.jax.tree_leaves(cls(value)) == items
        assert p.op.tree_leaves(cls(value), namespace=SPACE) == items
        assert p.torch.tree_leaves(cls(value)) == items


# ----------------------------------------------------------------------------- treedefs


@case("hash")
def _(p):
    cls = register(
        p, type("Node", (Holder,), {}), lambda x: ((), x.value), lambda a, c: None
    )

    def hash_alike(a, b):
        return hash(a) == hash(b)

    assert same(p, {"a": 1}, {"b": 1}, hash_alike) == [False, True, False, False]
    assert same(p, cls("a"), cls("b"), hash_alike) == [False, True, True, True]


@case("arrays as aux data")
def _(p):
    cls = register(
        p, type("Node", (Holder,), {}), lambda x: ((), x.value), lambda a, c: None
    )
    found = same(p, cls(np.zeros(2)), cls(np.zeros(2)), operator.eq)
    assert found == [True, ValueError, ValueError, ValueError]
    doubles = cls(np.zeros(2))
    floats = cls(np.zeros(2, np.float32))
    assert lw.tree_structure(doubles) != lw.tree_structure(floats)


@case("classes of the same name")
def _(p):
    def make():
        class Local:
            pass

        return register(p, Local, lambda x: ((), None), lambda a, c: None)()

    assert same(p, make(), make(), operator.eq) == [False, False, False, True]


@case("None mode")
def _(p):
    for peer, shown in ((lw, "none_is_leaf=True"), (p.op, "NoneIsLeaf")):
        mode = peer.tree_structure(1, none_is_leaf=True)
        assert mode != peer.tree_structure(1)
        assert shown in str(mode)
    for peer in (p.jax, p.torch):
        assert "none_is_leaf" not in inspect.signature(peer.tree_structure).parameters


@case("treedefs as JSON")
def _(p):
    spec = {(1, 2): 0}
    ours = lw.tree_structure(spec)
    assert ours.to_json().startswith('{"leafwise":1,')
    assert lw.PyTreeDef.from_json(ours.to_json()) == ours
    torchs = p.torch.tree_structure(spec)
    assert p.torch.treespec_loads(p.torch.treespec_dumps(torchs)) != torchs
    text = p.torch.treespec_dumps(p.torch.tree_structure([0]))
    assert outcome(lw.PyTreeDef.from_json, text) is lw.errors.TreeDefError
    jaxs = p.jax.tree_structure(Pair(1, 2))
    assert type(p.jax.tree_structure([0]).serialize_using_proto()) is bytes
    assert outcome(jaxs.serialize_using_proto) is ValueError
    assert not hasattr(p.op.tree_structure([0]), "to_json")


# -------------------------------------------------------------------- errors and limits


@case("trees of different structures")
def _(p):
    with pytest.raises(lw.StructureError, match=r"at \['a'\]") as ours:
        lw.tree_map(max, {"a": [1], "b": 1}, {"a": (1,), "b": 1})
    assert isinstance(ours.value, ValueError)
    assert len(ours.value.differences) == 1
    assert str(ours.value.path) == "['a']"
    found = maps(p, {"a": [1]}, {"a": (1,)})
    assert found == (lw.StructureError, ValueError, ValueError, ValueError, TypeError)
    with pytest.raises(ValueError, match=r"\['a'\]"):
        p.jax.tree_map(max, {"a": [1]}, {"a": (1,)})
    for peer in (p.op, p.torch):
        with pytest.raises(ValueError) as error:  # noqa: PT011
            peer.tree_map(max, {"a": [1]}, {"a": (1,)})
        assert "'a'" not in str(error.value)
    with pytest.raises(TypeError, match=r"(?s)'a': \[1\].*'a': \(1,\)"):
        p.dm.map_structure(max, {"a": [1]}, {"a": (1,)})


@case("an exception raised by your function")
def _(p):
    def fail(*_):
        raise KeyError("mine")

    for tree_map in (lw.tree_map, p.jax.tree_map, p.op.tree_map, p.torch.tree_map,
                     p.dm.map_structure):  # fmt: skip
        with pytest.raises(KeyError, match="mine") as error:
            tree_map(fail, {"a": 1})
        notes = "".join(getattr(error.value, "__notes__", []))
        assert ("['a']" in notes) == (tree_map is lw.tree_map)


@case("`StopIteration` raised by a mapped function")
def _(p):
    def stop(_):
        raise StopIteration

    found = [
        outcome(f, stop, [1, 2])
        for f in (lw.tree_map, p.jax.tree_map, p.op.tree_map, p.torch.tree_map)
    ]
    assert found == [StopIteration, RuntimeError, ValueError, ValueError]
    with pytest.raises(ValueError, match="Too few leaves"):
        p.op.tree_map(stop, [1, 2])
    with pytest.raises(ValueError, match=r"length 0 but .* holds 2 items"):
        p.torch.tree_map(stop, [1, 2])


@case("a tree that contains itself")
def _(p):
    knot = []
    knot.append(knot)
    found = [
        outcome(f, knot)
        for f in (lw.tree_leaves, p.jax.tree_leaves, p.op.tree_leaves,
                  p.torch.tree_leaves, p.dm.flatten)
    ]  # fmt: skip
    assert found == [lw.errors.CycleError, SystemError] + [RecursionError] * 3
    with pytest.raises(lw.errors.CycleError, match=r"the root.*\[0\]"):
        lw.tree_leaves(knot)


@case("depth")
def _(p):
    tree = 1
    for _ in range(100_000):
        tree = [tree]
    assert lw.tree_leaves(tree) == [1]
    tree = 1
    for _ in range(20_000):  # newer Pythons let functions in C go deeper
        tree = [tree]
    found = [outcome(f, tree) for f in (
        p.jax.tree_leaves, p.op.tree_leaves, p.torch.tree_leaves, p.dm.flatten
    )]  # fmt: skip
    assert found == [SystemError] + [RecursionError] * 3


@case("a later tree that is deeper")
def _(p):
    deeper = [(1, [2])]
    assert maps(p, [1], [[2]])[:4] == (deeper,) * 4
    assert maps(p, [1], [[2]])[4] is ValueError
    with pytest.raises(lw.StructureError):
        lw.tree_map(max, [1], [[2]], strict=True)


# ---------------------------------------------------------------------------- arguments


@case("`is_leaf`")
def _(p):
    tree = [(1,), {"a": 2}]
    assert lw.tree_leaves(tree, is_leaf=tuple) == [(1,), 2]
    assert lw.tree_leaves(tree, is_leaf=(tuple, dict)) == tree
    for peer in (p.jax, p.op, p.torch):
        assert outcome(peer.tree_leaves, tree, is_leaf=tuple) != [(1,), 2]
        assert outcome(peer.tree_leaves, tree, is_leaf=(tuple, dict)) is TypeError
    assert "is_leaf" not in str(inspect.signature(p.dm.flatten))


@case("result of `is_leaf`")
def _(p):
    flattens = lw.tree_leaves, p.jax.tree_leaves, p.op.tree_leaves, p.torch.tree_leaves
    for answer, expected in (
        ("yes", ([1], ValueError, RuntimeError, [1])),
        ([0], ([1], ValueError, RuntimeError, [1])),
        (1, ([1], ValueError, [1], [1])),
    ):

        def is_leaf(x, answer=answer):
            return type(x) is int and answer

        def is_tuple(x, answer=answer):
            return type(x) is tuple and answer

        assert tuple(outcome(f, 1, is_leaf=is_leaf) for f in flattens) == expected
        assert lw.tree_leaves([(1,)], is_leaf=is_tuple) == [(1,)]
    assert p.jax.tree_leaves([(1,)], is_leaf=lambda x: None) == [1]


@case("`tree_unflatten`")
def _(p):
    structure = p.torch.tree_structure([0])
    assert p.torch.tree_unflatten([1], structure) == [1]
    assert p.torch.tree_unflatten(structure, [1]) == [1]
    with pytest.raises(TypeError, match="treedef first and the leaves second"):
        lw.tree_unflatten([1], lw.tree_structure([0]))


@case("arguments of unflatten functions")
def _(p):
    cls = type("Node", (), {})
    arguments = cls, lambda x: ((1,), "aux"), lambda *given: given
    lw.register_pytree_node(*arguments, bridge=False)
    p.jax.register_pytree_node(*arguments)
    p.torch.register_pytree_node(*arguments)
    assert lw.tree_map(lambda x: x, cls()) == ("aux", (1,))
    assert p.jax.tree_map(lambda x: x, cls()) == ("aux", (1,))
    assert p.torch.tree_map(lambda x: x, cls()) == ([1], "aux")


@case("`tree_flatten_with_path`")
def _(p):
    tree = {"a": 1}
    ours, treedef = lw.tree_flatten_with_path(tree)
    assert (ours, treedef) == ([((lw.DictKey("a"),), 1)], lw.tree_structure(tree))
    assert p.op.tree_flatten_with_path(tree) == (
        [("a",)], [1], p.op.tree_structure(tree)
    )  # fmt: skip


@case("`tree_transpose`")
def _(p):
    tree = [(1, 2, 3), (4, 5, 6)]  # not three pairs
    outer = structures(p, [0, 0, 0])
    inner = structures(p, (0, 0))
    assert outcome(lw.tree_transpose, outer[0], inner[0], tree) is lw.StructureError
    for transpose, *treedefs in (
        (p.jax.tree_transpose, outer[1], inner[1]),
        (p.op.tree_transpose, outer[2], inner[2]),
    ):
        assert transpose(*treedefs, tree) == ([1, 3, 5], [2, 4, 6])


# --------------------------------------------------------------------- comparing leaves


def numpy_says(a, b, **options):
    """Say whether `numpy.testing` takes two values for equal."""
    try:
        np.testing.assert_equal(a, b, **options)
    except AssertionError:
        return False
    return True


def ours(a, b, **options):
    """Say whether two leaves are the same, in all three ways that there are."""
    answers = {lw.tree_equal(a, b, **options), not lw.tree_diff(a, b, **options)}
    try:
        lw.testing.assert_trees_equal(a, b, **options)
        answers.add(True)
    except AssertionError:
        answers.add(False)
    (answer,) = answers
    return answer


@case("NaN")
def _(p):
    for a, b in (
        (float("nan"), float("nan")),
        (np.array([np.nan]), np.array([np.nan])),
    ):
        assert ours(a, b)
        assert not ours(a, b, equal_nan=False)
        assert not p.eqx.tree_equal(a, b)
        assert not np.array_equal(a, b)
        assert numpy_says(a, b)


@case("numbers of two types")
def _(p):
    assert (ours(1, 1.0), ours(1, True)) == (True, False)
    for b in (1.0, True):
        assert p.eqx.tree_equal(1, b)
        assert numpy_says(1, b)


@case("dtypes and shapes")
def _(p):
    a = np.ones(2)
    for b in (np.ones(2, "f4"), np.ones((1, 2))):
        assert not ours(a, b)
        assert not ours(a, b, rtol=0.5)
        assert not p.eqx.tree_equal(a, b)
        assert not numpy_says(a, b, strict=True)
    assert numpy_says(a, np.ones(2, "f4"))
    assert numpy_says(a, 1.0)


@case("arrays of numpy, jax and torch")
def _(p):
    numpy = np.ones(2, "f4")
    jax = p.eqx.filter_jit(lambda x: x)(np.ones(2, "f4"))
    torch = sys.modules["torch"].ones(2)
    for a, b in ((numpy, jax), (numpy, torch), (torch, jax)):
        assert ours(a, b)
        assert ours(b, a)
        assert not ours(a, b, typematch=True)
    assert p.eqx.tree_equal(numpy, jax)


@case("tolerance")
def _(p):
    a = np.array([100.0])
    b = np.array([110.0])
    assert ours(a, b, rtol=0.095)
    assert ours(b, a, rtol=0.095)
    assert np.allclose(a, b, rtol=0.095, atol=0)
    assert not np.allclose(b, a, rtol=0.095, atol=0)
    assert p.eqx.tree_equal(a, b, rtol=0.095)
    assert not p.eqx.tree_equal(b, a, rtol=0.095)


# -------------------------------------------------------------------------- registering


@case("the global registry")
def _(p):
    cls = type("Node", (), {})
    arguments = cls, lambda x: ((), None), lambda a, c: cls()
    lw.register_pytree_node(*arguments, bridge=False)
    assert lw.tree_leaves(cls()) == []
    assert outcome(p.op.register_pytree_node, *arguments, namespace="") is ValueError
    assert outcome(p.op.register_pytree_node, *arguments) is TypeError
    for peer in (p.jax, p.torch):
        parameters = inspect.signature(peer.register_pytree_node).parameters
        assert "namespace" not in parameters


@case("an undeclared namespace")
def _(p):
    assert (
        outcome(lw.tree_leaves, [1], namespace="tests.nobody")
        is lw.errors.NamespaceError
    )
    assert p.op.tree_leaves([1], namespace="tests.nobody") == [1]


@case("a class registered twice")
def _(p):
    cls = type("Node", (), {})
    arguments = cls, lambda x: ((), None), lambda a, c: cls()
    lw.register_pytree_node(*arguments, bridge=False)
    with pytest.raises(RegistryError, match=r"test_differences\.py:\d+"):
        lw.register_pytree_node(*arguments, bridge=False)
    lw.register_pytree_node(*arguments, bridge=False, exist_ok=True)
    for peer, extra in ((p.jax, {}), (p.op, {"namespace": SPACE}), (p.torch, {})):
        peer.register_pytree_node(*arguments, **extra)
        assert outcome(peer.register_pytree_node, *arguments, **extra) is ValueError


# ---------------------------------------------------------------------------- key paths


@case("`SequenceKey(1)` and `DictKey(1)`")
def _(p):
    assert lw.SequenceKey(1) == lw.DictKey(1)
    assert str(lw.SequenceKey(1)) == str(lw.DictKey(1)) == "[1]"
    assert p.jax.SequenceKey(1) != p.jax.DictKey(1)
    assert str(p.jax.SequenceKey(1)) == str(p.jax.DictKey(1))

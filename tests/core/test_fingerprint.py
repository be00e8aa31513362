"""Fingerprints: the same wherever they are made, another one for each change."""

import copy
import dataclasses
import datetime
import decimal
import enum
import functools
import os
import pathlib
import pickle
import subprocess
import sys
from collections import OrderedDict
from itertools import zip_longest
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from helpers import fingerprint_trees
from helpers.fingerprint_trees import Color, Level, Mode, Plain, increment
from helpers.random_trees import trees
from leafwise.errors import CompareError, TreeDefError


TABLE = Path(__file__).with_name("fingerprints.txt")


@pytest.fixture(autouse=True)
def sets_are_leaves():
    """As they are unless an example registered them, which ran before."""
    if lw.is_registered(set):
        lw.unregister_pytree_node(set)


def recorded_digests(sort):
    """Return the digests in the table, of trees of one sort."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return [line.split()[1] for line in lines if line.startswith(f"{sort} ")]


def changed_digests(sort, digests):
    """Return a line for each example whose digest is not that of the table."""
    lines = []
    examples = fingerprint_trees.examples(sort)
    for example, old, new in zip_longest(examples, recorded_digests(sort), digests):
        if old is None:
            lines.append(f"add the line '{sort} {new}' for {example!r} to {TABLE.name}")
        elif old != new:
            lines.append(
                f"the fingerprint of {example!r} was {old} and is {new}: users store "
                "fingerprints, so only that of a type that becomes a node may change"
            )
    return lines


def as_leaf(value, **how):
    """Return the fingerprint of a list with a value as its leaf, whatever it is."""
    tree = [value]
    return lw.fingerprint(tree, is_leaf=lambda node: node is not tree, **how)


def same(a, b):
    """Return whether two values have one fingerprint, as leaves and static ones."""
    leaves = as_leaf(a) == as_leaf(b)
    static = [lw.fingerprint(fingerprint_trees.Box((), [value])) for value in (a, b)]
    assert leaves == (static[0] == static[1])
    return leaves


# ------------------------------------------------------------------ the same everywhere


@pytest.mark.parametrize("sort", ["values", "static", "trees"])
def test_the_same_on_each_python(sort):
    """What stands in the table; and no two are the same."""
    digests = fingerprint_trees.short_fingerprints(sort)
    assert changed_digests(sort, digests) == []
    assert len(set(digests)) == len(digests)


@pytest.mark.needs("processes")
def test_the_same_for_each_seed_of_hashes():
    """The order of sets and of what hangs on hashes does not matter."""
    code = (
        "from helpers.fingerprint_trees import short_fingerprints\n"
        "print(*short_fingerprints('values'))"
    )
    folders = [str(Path(fingerprint_trees.__file__).parents[1]), *sys.path]
    env = os.environ | {"PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(folders)}
    output = subprocess.check_output([sys.executable, "-c", code], text=True, env=env)
    assert changed_digests("values", output.split()) == []


def test_what_does_not_count():
    """The order of dicts, sharing, identity, the interning of strings, copies."""
    one = ["x"]
    other = ["x"]
    assert lw.fingerprint([one, one]) == lw.fingerprint([one, other])
    assert lw.fingerprint(["aa", "aa"]) == lw.fingerprint(["aa", "aaZ"[:-1]])
    assert lw.fingerprint([{"a": one}, one]) == lw.fingerprint([{"a": other}, one])
    assert lw.fingerprint({"a": 1, "b": 2}) == lw.fingerprint({"b": 2, "a": 1})
    assert lw.fingerprint({1: 0, "a": 1}) == lw.fingerprint({"a": 1, 1: 0})
    left = {"static": {"p": 1, "q": {2, "r"}}}
    right = {"static": {"q": {"r", 2}, "p": 1}}
    assert same(left, right)
    for tree in fingerprint_trees.TREES:
        again = lw.tree_map(lambda leaf: leaf, tree)
        assert lw.fingerprint(again) == lw.fingerprint(tree)


def test_what_may_not_be_mixed_up():
    """Values of two types, and sequences whose parts run together."""
    alike = [
        [1, 2],
        (1, 2),
        {1: 2},
        {1, 2},
        frozenset({1, 2}),
        "[1, 2]",
        [12],
        ["12"],
        ["1", "2"],
        ["1", ["2"]],
        [["1"], "2"],
        ["1 2"],
        ["1", "2", ""],
        [b"1", b"2"],
        [[], []],
        [[[]]],
        [[], [], []],
        {},
        OrderedDict(),
        set(),
        (),
        [None],
        [],
        [()],
        [[None]],
        [False],
        [0],
        [0.0],
        [0j],
        [""],
        [b""],
        ["\0"],
        {"a": {}},
        {"a": []},
        {"a": None},
        {"b": None},
        {"a": {"b": None}},
    ]
    digests = {lw.fingerprint(tree) for tree in alike}
    assert len(digests) == len(alike)
    nested = {lw.fingerprint(fingerprint_trees.Box((), tree)) for tree in alike}
    assert len(nested) == len(alike)
    assert not nested & digests


@given(trees(), trees())
def test_equal_trees_and_no_others(one, other):
    """As `tree_equal` has it, if types count."""
    have_one_digest = lw.fingerprint(one) == lw.fingerprint(other)
    equal = lw.tree_equal(one, other, typematch=True)
    assert not have_one_digest or equal
    assert have_one_digest or not equal or repr(one) != repr(other)
    assert lw.fingerprint(lw.tree_map(lambda x: x, one)) == lw.fingerprint(one)
    assert lw.fingerprint(pickle.loads(pickle.dumps(one))) == lw.fingerprint(one)
    first = lw.tree_structure(one)
    second = lw.tree_structure(other)
    assert lw.fingerprint(first) != lw.fingerprint(second) or first == second
    again = lw.tree_structure(lw.tree_map(lambda _: object(), one))
    assert lw.fingerprint(again) == lw.fingerprint(first)


ZONES = st.none() if sys.platform == "emscripten" else st.none() | st.timezones()
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.floats()
    | st.complex_numbers()
    | st.text(max_size=3)
    | st.binary(max_size=3)
    | st.decimals()
    | st.fractions(max_denominator=9)
    | st.datetimes(timezones=ZONES)
    | st.dates()
    | st.timedeltas()
    | st.sampled_from(list(fingerprint_trees.VALUES))
)


@given(scalars, scalars)
def test_values_are_the_same_if_they_are_equal_and_of_one_type(one, other):
    """Whatever the values are."""
    equal = lw.tree_equal([one], [other], typematch=True)
    assert (lw.fingerprint([one]) == lw.fingerprint([other])) == equal


# -------------------------------------------------------------------------- values


class Size(int):
    pass


class Row(tuple):
    __slots__ = ()


class Shade(enum.StrEnum):
    DARK = "dark"


NAN = float("nan")
DECIMAL = decimal.Decimal
NOON = datetime.datetime(2026, 1, 1, 12)
EAST = datetime.timezone(datetime.timedelta(hours=2))
SAME = [
    (0.0, -0.0), (NAN, -NAN), (complex(0.0, -0.0), 0j), (complex(NAN), complex(-NAN)),
    (DECIMAL("1.50"), DECIMAL("1.5")), (DECIMAL("-0E+3"), DECIMAL(0)),
    (DECIMAL("100"), DECIMAL("1E2")), (NOON, NOON.replace(fold=1)),
    (NOON.replace(tzinfo=datetime.UTC), NOON.replace(hour=14, tzinfo=EAST)),
    *((edge.replace(tzinfo=zone), edge.replace(tzinfo=zone))
      for edge in (datetime.datetime.min, datetime.datetime.max)
      for zone in (datetime.UTC, EAST, datetime.timezone(-EAST.utcoffset(None)))),
    (Path("a/b"), pathlib.Path("a", "b")), (Size(3), Size(3)),
    (Row([1, 2]), Row([1, 2])), (Plain(1, "a"), Plain(1, "a")), (len, len),
    (functools.partial(increment, 1), functools.partial(increment, 1)),
]  # fmt: skip
DIFFERENT = [
    (1, 1.0), (1, True), (0, False), (1.0, 1 + 0j), (0, None), (1 << 63, -(1 << 63)),
    (127, -129), (DECIMAL("0.1"), DECIMAL("0.2")), (DECIMAL("1"), DECIMAL("10")),
    (DECIMAL("1"), DECIMAL("-1")), (NOON, NOON.replace(tzinfo=datetime.UTC)),
    (NOON, NOON.date()),
    (Path("a/b"), pathlib.PurePosixPath("a/b")), (Path("a/b"), "a/b"),
    (Size(3), 3),
    (Row([1, 2]), (1, 2)), (Plain(1, "a"), Plain(1, "b")), (len, max), (int, float),
    (increment, fingerprint_trees.short_fingerprints), (Shade.DARK, "dark"),
    (functools.partial(increment, 1), functools.partial(increment, 2)),
    (Color.RED, Level.LOW), (Mode(3), Mode(5)),
]  # fmt: skip


@pytest.mark.parametrize("pairs", [SAME, DIFFERENT], ids=["same", "different"])
def test_values_by_type_and_content(pairs):
    """As `tree_equal` has it, for leaves and static values; classes by name."""
    for one, other in pairs:
        assert same(one, other) == (pairs is SAME), (one, other)


# ------------------------------------------------------------------------------- errors


class Opaque:
    """Says nothing of itself but where it is."""

    def __init__(self, content=0):
        self.content = content


def test_a_type_that_is_not_known():
    """Is an error with its path; a function may give bytes."""
    tree = {"a": 1, "b": [Opaque(1)]}
    with pytest.raises(CompareError) as caught:
        lw.fingerprint(tree)
    assert str(caught.value.path) == "['b'][0]"
    assert "Opaque is not a type that has one; leaf_bytes can give" in str(caught.value)

    def by_content(value):
        return b"%d" % value.content

    digests = [
        lw.fingerprint({"a": 1, "b": [Opaque(n)]}, leaf_bytes=by_content)
        for n in (1, 2, 1)
    ]
    assert digests[0] == digests[2] != digests[1]
    inside = ({"a": {1: Opaque(n)}} for n in (1, 2))
    first, second = (as_leaf(value, leaf_bytes=by_content) for value in inside)
    assert first != second
    assert lw.fingerprint([1], leaf_bytes=by_content) == lw.fingerprint([1])

    def local():
        return 1

    with pytest.raises(CompareError):
        lw.fingerprint([[Opaque(1)], local])

    def named(value):
        return b"%d" % getattr(value, "content", 7)

    assert lw.fingerprint([local], leaf_bytes=named) != lw.fingerprint([7])


def test_what_leaf_bytes_does_wrong():
    """Passes through, with the path; or is told."""

    def fail(value):
        raise KeyError(value.content)

    with pytest.raises(KeyError) as caught:
        lw.fingerprint({"a": [Opaque(7)]}, leaf_bytes=fail)
    assert caught.value.__notes__ == ["at key path ['a'][0]"]
    with pytest.raises(
        TypeError, match="leaf_bytes must return bytes, got str"
    ) as excinfo:
        lw.fingerprint({"a": [Opaque(7)]}, leaf_bytes=lambda _: "text")
    assert excinfo.value.__notes__ == ["at key path ['a'][0]"]


def test_aux_data_without_a_fingerprint():
    """Is an error with its path, for a tree and its structure."""
    box = fingerprint_trees.Box
    tree = {"x": [box((1, 2), Opaque())]}
    note = "at key path ['x'][0]"

    def of_structure(tree):
        return lw.fingerprint(lw.tree_structure(tree))

    for make, notes in (
        (lw.fingerprint, [note]),
        (of_structure, [note, "at the root of the tree"]),
    ):
        with pytest.raises(TreeDefError, match="the aux data of Box has no") as caught:
            make(tree)
        assert caught.value.__notes__ == notes
        with pytest.raises(TreeDefError, match="no module contains it under its name"):
            make(box((), lambda: 1))
        loop = []
        loop.append(loop)
        with pytest.raises(TreeDefError, match="nested too deeply, or contains itself"):
            make(box((), loop))


class Coded:
    def __init__(self, item, opaque):
        self.item = item
        self.opaque = opaque


def test_codecs_are_asked():
    """Where aux data has nothing else; the order of keys in JSON does not count."""
    lw.register_pytree_node(
        Coded, lambda c: ((c.item,), c.opaque), lambda aux, xs: Coded(*xs, aux)
    )
    with pytest.raises(TreeDefError, match="register_codec tells how aux data is"):
        lw.fingerprint(Coded(1, Opaque(1)))
    plain = lw.fingerprint(Coded(1, 2))
    lw.files.register_codec(Coded, lambda o: o.content, lambda text: Opaque(text))
    contents = {"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 3}
    digests = [lw.fingerprint(Coded(1, Opaque(content))) for content in contents]
    assert digests[0] == digests[1] != digests[2]
    assert lw.fingerprint(Coded(1, 2)) == plain


@lw.register_static
class Held:
    def __init__(self, content):
        self.content = content


@lw.register_static
@dataclasses.dataclass(frozen=True)
class Settings:
    depth: int


def test_static_instances():
    """By their fields, if they have any that `==` compares."""
    digests = {lw.fingerprint([Settings(depth)]) for depth in (1, 2, 1)}
    assert len(digests) == 2
    with pytest.raises(TreeDefError, match="Held is not a type that has one"):
        lw.fingerprint([Held(1)])


# ------------------------------------------------------------------------------- arrays


def test_arrays_on_each_python():
    """What stands in the table."""
    pytest.importorskip("numpy")
    assert fingerprint_trees.short_fingerprints("arrays") == recorded_digests("arrays")


def fp(array):
    return lw.fingerprint([array])


def groups_of_arrays():
    """Yield arrays that are the same, and others that are not."""
    np = pytest.importorskip("numpy")
    array = np.arange(24, dtype="f4").reshape(2, 3, 4)
    wide = np.zeros((4, 3, 8), "f4")
    wide[::2, :, ::2] = array
    same = [array, array.copy("F"), array.T.copy().T, wide[::2, :, ::2]]
    same += [array.astype(">f4"), array.astype(">f4").copy("F"), array[::-1][::-1]]
    same += [array[:, :, ::-1][:, :, ::-1], np.broadcast_to(array, (1, 2, 3, 4))[0]]
    others = [array + 1, array.reshape(3, 2, 4), array.astype("f8"), array.astype("i4")]
    others += [array.ravel(), array.tolist(), array.T, array[:, :, :3]]
    yield same, [*others, array.view("i4")]
    large = np.arange(1_500_000, dtype="i4").reshape(3, 500, 1000)
    others = [large.copy() for _ in range(5)]
    for one, place in zip(others, (0, 262_143, 262_144, 777_777, 1_499_999)):  # noqa: B905
        one.flat[place] += 1
    stacked = np.stack([large, large], -1)[..., 0]
    yield [large, large.copy("F"), large.astype(">i4"), stacked], others
    for dtype in ("f2", "f4", "f8", "c8", "c16", ">f8"):
        one = np.array([1, 0, float("nan"), float("inf")], dtype)
        other = np.array([1, -0.0, -float("nan"), float("inf")], dtype)
        yield [one, other], [one[:3], one[::-1]]
    texts = [["a", "bc"], ["ab", "c"], ["abc", ""], ["a-bc", "x"], ["a", "bc-x"]]
    for kind in ("U9", "S9", object):
        yield [np.array(texts[0], kind)] * 2, [np.array(x, kind) for x in texts[1:]]
    mixed = np.array([1, "a", None, (2, [3])], object)
    yield [mixed, copy.deepcopy(mixed)], [np.array([1, "a", None, (2, [4])], object)]
    scalars = [np.array(1.0), np.array([1.0]), 1.0, np.float32(1), np.int64(1)]
    scalars += [np.str_("1"), np.bytes_(b"1"), np.bool_(True), np.ma.array(1.0)]
    yield [np.float64(1)], scalars
    masked = [np.ma.array([1, n, 3], mask=[0, 1, 0]) for n in (2, 9)]
    yield masked, [np.ma.array([1, 2, 3], mask=[0, 0, 1])]
    zeros = [np.zeros(shape, dtype) for shape in (3, 0) for dtype in DTYPES]
    yield [np.zeros((3, 0))] * 2, [*zeros, np.zeros(())]
    dtypes = [np.dtype(dtype) for dtype in DTYPES]
    again = pickle.loads(pickle.dumps(dtypes[4]))
    yield [dtypes[4], again], [x for x in dtypes if x != again]


DTYPES = [
    "bool",
    "u1",
    "i8",
    "f2",
    "f4",
    "c8",
    "S3",
    "U3",
    "M8[s]",
    "M8[ns]",
    "m8[s]",
    "V4",
    "O",
    [("a", "i4"), ("b", "f8")],
    [("b", "i4"), ("a", "f8")],
    [("a", ">i4"), ("b", "f8", (2,))],
    [("a", "O"), ("b", "U2")],
    {"names": ["a"], "formats": ["i4"], "offsets": [4]},
]


def test_elements_count_wherever_they_stand():
    """Strides, the order of bytes, zeros and NaN are one; dtypes and shapes are not."""
    for alike, others in groups_of_arrays():
        assert len(set(map(fp, alike))) == 1
        assert len({fp(alike[0]), *map(fp, others)}) == len(others) + 1


def test_arrays_without_a_fingerprint():
    """Wide floats, in which machines differ; subclasses; objects of unknown types."""
    np = pytest.importorskip("numpy")

    class Quantity(np.ndarray):
        pass

    refused = [
        (np.zeros(2).view(Quantity), "a subclass of ndarray may be more than"),
        (np.array([Opaque()], object), "Opaque is not a type that has one"),
    ]
    if np.dtype("longdouble").itemsize > 8:
        refused.append((np.array([1], "longdouble"), "machines differ in what"))
    for array, text in refused:
        with pytest.raises(CompareError, match=text):
            fp(array)


def test_arrays_that_are_not_known():
    """Are refused with their path, as sparse ones are."""
    sparse = pytest.importorskip("scipy.sparse")
    array = sparse.csr_array([[1.0, 0.0]])
    with pytest.raises(CompareError, match="a library that is not known here"):
        fp(array)
    digests = [
        lw.fingerprint([matrix], leaf_bytes=lambda x: x.toarray().tobytes())
        for matrix in (array, array.copy(), array * 2)
    ]
    assert digests[0] == digests[1] != digests[2]

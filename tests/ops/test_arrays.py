"""Trees of numpy arrays, stacked and taken apart; sizes."""

import sys
from collections import OrderedDict, namedtuple
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from leafwise.show import tree_summary


np = pytest.importorskip("numpy")

Point = namedtuple("Point", "x y")
DTYPES = ["bool", "int8", "uint16", "int64", "float16", "float32", "complex64", "<U3"]
DTYPES += ["datetime64[s]", "object", ">i4", [("a", "i4"), ("b", "f8", (2,))]]


def array(seed, shape, dtype="float32"):
    """Return an array of arbitrary elements."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 100, shape).astype(dtype)


def trees_of(shape, count, dtype="float32"):
    """Return trees of all kinds of nodes with arrays at the leaves."""
    return [
        {
            "w": array(seed, shape, dtype),
            "more": [Point(array(seed + 50, shape, dtype), None), ()],
            "od": OrderedDict(b=array(seed + 90, shape, dtype)),
        }
        for seed in range(count)
    ]


def same(a, b):
    """Return whether trees of arrays are the same, dtypes too."""
    return lw.tree_equal(a, b, typematch=True)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_stack_is_that_of_numpy(dtype, axis):
    """Leaf by leaf, with the dtype that was there."""
    trees = trees_of((2, 3), 4, dtype)
    stacked = lw.tree_stack(trees, axis)
    assert same(stacked, lw.tree_map(lambda *xs: np.stack(xs, axis), *trees))
    dtypes = {leaf.dtype for leaf in lw.tree_leaves(trees)}
    assert {leaf.dtype for leaf in lw.tree_leaves(stacked)} <= {
        *dtypes,
        *(d.newbyteorder("=") for d in dtypes),
    }
    native = lw.tree_map(lambda x: x.astype(x.dtype.newbyteorder("=")), trees)
    assert same(lw.tree_unstack(stacked, axis), native)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concatenate_is_that_of_numpy(axis):
    """The arrays may differ in length on that axis."""
    shapes = [(2, 3), (2, 3)]
    shapes[1] = (5, 3) if axis == 0 else (2, 5)
    trees = [trees_of(shape, 1)[0] for shape in shapes]
    joined = lw.tree_concatenate(trees, axis)
    assert same(joined, lw.tree_map(lambda *xs: np.concatenate(xs, axis), *trees))


@given(st.integers(1, 4), st.lists(st.integers(0, 3), max_size=3), st.data())
def test_unstack_undoes_stack(count, shape, data):
    """For any shape, also of no elements, and any axis."""
    trees = trees_of(tuple(shape), count)
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    parts = lw.tree_unstack(lw.tree_stack(trees, axis), axis)
    assert lw.tree_equal(parts, trees)
    assert lw.tree_structure(parts) == lw.tree_structure(trees)
    assert lw.tree_unstack(lw.tree_stack(trees[:0] + trees, axis), axis=axis)


def test_numbers_that_no_dtype_holds():
    """Are refused, with the path of the leaf, rather than rounded."""
    for numbers in ([1, 1 << 80], [-1, 1 << 63]):
        with pytest.raises(
            OverflowError, match="no integer dtype can hold all"
        ) as caught:
            lw.tree_stack([{"n": n} for n in numbers])
        assert caught.value.__notes__ == ["at key path ['n']"]


def test_without_numpy(monkeypatch):
    """Numbers cannot be stacked; the error says what to do."""
    monkeypatch.setitem(sys.modules, "numpy", None)
    hint = r"needs numpy, .* pip install 'leafwise\[arrays\]'"
    with pytest.raises(ModuleNotFoundError, match=hint) as caught:
        lw.tree_stack([{"a": 1}, {"a": 2}])
    assert caught.value.name == "numpy"
    assert caught.value.__notes__ == ["at key path ['a']"]
    assert lw.tree_stack([{"a": 1}, {"a": 1}], axis=None) == {"a": 1}


def test_shapes_and_dtypes_that_differ_are_named():
    """All places, with the number of the tree."""
    trees = trees_of((2, 3), 3)
    trees[1]["w"] = np.zeros((2, 4), "f4")
    trees[2]["more"][0] = Point(np.zeros((2, 3), "f8"), None)
    with pytest.raises(lw.StructureError) as caught:
        lw.tree_stack(trees)
    error = caught.value
    assert str(error) == (
        "the trees cannot be stacked, in 2 places:\n"
        "  at ['more'][0].x: expected float32[2,3] as in the first tree, "
        "got float64[2,3] in the third tree\n"
        "  at ['w']: expected float32[2,3] as in the first tree, "
        "got float32[2,4] in the second tree"
    )
    assert (str(error.path), error.tree_index) == ("['more'][0].x", 2)
    with pytest.raises(
        lw.StructureError, match=r"expected float32\[2,\*\] as in the first tree"
    ):
        lw.tree_concatenate([{"w": np.zeros((n, n), "f4")} for n in (2, 3)], 1)
    with pytest.raises(
        lw.StructureError, match="expected number as in the first tree, got bool"
    ):
        lw.tree_stack([1, True])
    with pytest.raises(
        lw.StructureError, match=r"float32\[\] as in the first tree, got number"
    ):
        lw.tree_stack([np.float32(1), 1])


@pytest.mark.parametrize("function", [lw.tree_stack, lw.tree_concatenate, lw.tree_zip])
def test_no_trees(function):
    """Nothing says what the structure is."""
    with pytest.raises(ValueError, match="expected at least one tree to be"):
        function([])
    with pytest.raises(TypeError):
        function(3)


def test_axes_by_leaf():
    """A prefix of the trees; None leaves what is the same in all trees."""
    trees = trees_of((2, 3), 3)
    axes = {"w": 2, "more": [0, ()], "od": None}
    for tree in trees:
        tree["od"] = OrderedDict(b="same", c=Fraction(1, 2))
    stacked = lw.tree_stack(trees, axes)
    assert stacked["w"].shape == (2, 3, 3)
    assert stacked["more"][0].x.shape == (3, 2, 3)
    assert stacked["od"] == OrderedDict(b="same", c=Fraction(1, 2))
    assert lw.tree_equal(lw.tree_unstack(stacked, axes), trees)
    joined = lw.tree_concatenate(trees, {"w": 1, "more": 0, "od": None})
    assert joined["w"].shape == (2, 9)
    assert joined["more"][0].x.shape == (6, 3)


def test_what_is_not_stacked_must_be_the_same():
    """By value, as everywhere."""
    axis = {"a": None, "b": 0}
    nan = [{"a": float("nan"), "b": 1}, {"a": np.float64("nan"), "b": 2}]
    assert lw.tree_stack(nan, axis)["a"] is nan[0]["a"]
    with pytest.raises(lw.StructureError) as caught:
        lw.tree_stack([{"a": "x", "b": 1}, {"a": "y", "b": 2}], axis)
    expected = "at ['a']: expected 'x' as in the first tree (axis None), got 'y' in"
    assert expected in str(caught.value)


def test_axes_that_do_not_fit():
    """Are refused with the path."""
    tree = {"a": np.zeros((2, 3)), "b": [np.zeros(2)]}
    with pytest.raises(lw.StructureError, match="axis is not a prefix of the tree"):
        lw.tree_unstack(tree, {"a": 0})
    for axis in ("0", True, 1.0, {"a": 0, "b": "x"}, {"a": 0, "b": [False]}):
        with pytest.raises(TypeError, match="an axis is an int or None, or a tree of"):
            lw.tree_stack([tree, tree], axis)
    with pytest.raises(TypeError, match=r"got str: 'x' at \['b'\]"):
        lw.tree_stack([tree, tree], {"a": 0, "b": "x"})
    for axis in (2, -3):
        with pytest.raises(lw.StructureError, match=r"\['b'\]\[0\]: expected an array"):
            lw.tree_concatenate([tree, tree], axis)
    with pytest.raises(lw.StructureError, match="that can have axis 1, got number"):
        lw.tree_stack([1, 2], 1)


def test_ragged_trees_are_not_taken_apart():
    """The error names two leaves."""
    with pytest.raises(lw.StructureError) as caught:
        lw.tree_unstack(
            {"a": np.zeros((2, 3)), "b": np.zeros((4, 3)), "c": np.zeros(2)}
        )
    assert str(caught.value) == (
        "the tree cannot be unstacked, in 1 place:\n"
        "  at ['b']: expected length 2 as at ['a'], got length 4 on axis 0"
    )
    with pytest.raises(lw.StructureError, match=r"with axis 0, got float64\[\]"):
        lw.tree_unstack([np.zeros(())])
    for tree, axis in (((), 0), ([np.zeros(2)], None)):
        with pytest.raises(ValueError, match="no leaf has an axis"):
            lw.tree_unstack(tree, axis)
    for leaf in (1, "text", None):
        with pytest.raises(TypeError, match=r"leaf at \[0\] cannot be unstacked"):
            lw.namespace("nones", none_is_leaf=True).tree_unstack([leaf])


def test_other_leaves_are_refused():
    """With their path, and the number of the tree."""
    for function in (lw.tree_stack, lw.tree_concatenate):
        with pytest.raises(
            TypeError, match=r"\['a'\] of the second tree cannot be .* str: 'x'"
        ):
            function([{"a": np.zeros(2)}, {"a": "x"}])
    with pytest.raises(TypeError, match="cannot be concatenated: expected an array"):
        lw.tree_concatenate([1, 2])


def test_masks_are_kept():
    """Of masked arrays, which have functions of their own."""
    masked = np.ma.array([1, 2], mask=[True, False])
    stacked = lw.tree_stack([[masked], [np.array([3, 4])]])[0]
    assert stacked.mask.tolist() == [[True, False], [False, False]]
    assert lw.tree_concatenate([masked, masked]).mask.tolist() == [True, False] * 2
    first, second = lw.tree_unstack(masked)
    assert (first.mask, second.mask, first.dtype) == (True, False, masked.dtype)


class Strange:
    """An array of a library that follows the array API."""

    def __init__(self, inside):
        self.inside = np.asarray(inside)
        self.shape = self.inside.shape
        self.dtype = self.inside.dtype

    def __array_namespace__(self, api_version=None):
        return Library

    def __getitem__(self, index):
        return Strange(self.inside[index])

    def __eq__(self, other):
        return bool((self.inside == other.inside).all())

    __hash__ = None


class Library:
    """What the array API has of it, in the names and arguments of the standard."""

    @staticmethod
    def stack(arrays, /, *, axis=0):
        return Strange(np.stack([a.inside for a in arrays], axis))

    @staticmethod
    def concat(arrays, /, *, axis=0):
        return Strange(np.concatenate([a.inside for a in arrays], axis))


def test_any_library_that_follows_the_array_api():
    """Also one without `unstack`, which is new there."""
    trees = [{"a": Strange([[1, 2]])}, {"a": Strange([[3, 4]])}]
    stacked = lw.tree_stack(trees, 1)
    assert stacked["a"].shape == (1, 2, 2)
    assert lw.tree_unstack(stacked, 1) == lw.tree_unstack(stacked, -2) == trees
    assert lw.tree_concatenate(trees)["a"].shape == (2, 2)
    with pytest.raises(
        TypeError, match=r"no library can join .* types: Strange, ndarray"
    ):
        lw.tree_stack([Strange([1]), np.array([1])])


def test_sizes_are_those_of_a_summary():
    """An array in several places counts once; views and other leaves as they are."""
    w = np.zeros((2, 3), "f4")
    tree = {
        "w": w,
        "tied": w,
        "view": w[0],
        "wide": np.broadcast_to(np.float64(1), (1000, 10)),
        "step": 7,
        "name": "text",
        "none": None,
        "scalar": np.int16(3),
        "same": (7, 7),
    }
    assert lw.tree_size(tree) == 6 + 3 + 10_000 + 1 + 1 + 1 + 2
    assert lw.tree.nbytes(tree) == 24 + 12 + 80_000 + 2
    total = tree_summary(tree).rows[0]
    assert (lw.tree_size(tree), lw.tree.nbytes(tree)) == (total.count, total.bytes)
    nones = lw.namespace("nones", none_is_leaf=True)
    assert nones.tree_size(tree) == lw.tree_size(tree) + 1
    assert lw.tree_size([[1, 2], [3]], is_leaf=list) == 1
    assert (lw.tree_size(()), lw.tree.nbytes(())) == (0, 0)


leaves = st.integers() | st.text() | st.just(())
structures = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(structures, st.integers(1, 4))
def test_unzip_undoes_zip(tree, count):
    """Whatever the structure, if it has no tuples of that length."""
    trees = [lw.tree_map(lambda x, k=k: f"{x}{k}", tree) for k in range(count)]
    zipped = lw.tree_zip(trees)
    assert lw.tree.unzip(zipped, count) == tuple(trees)
    assert zipped == lw.tree_map(lambda *xs: xs, *trees)
    assert lw.tree_zip(lw.tree.unzip(zipped, count)) == zipped


@pytest.mark.parametrize("join", [lw.tree_stack, lw.tree_concatenate])
def test_trees_that_are_not_in_a_list(join):
    """The second one would be the axis."""
    tree = {"a": np.ones(2)}
    with pytest.raises(TypeError, match=r"are given as one list, \[a, b\]; got dict"):
        join(tree, tree)
    for pair in ((tuple(tree.values()), [tree["a"]]), (tree["a"], tree["a"])):
        with pytest.raises((TypeError, lw.StructureError)) as caught:
            join(*pair)
        (note,) = caught.value.__notes__
        assert note.endswith("come in the first argument, a list")

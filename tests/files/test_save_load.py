"""Trees that are saved and loaded: what comes back, and what is refused."""

import datetime
import enum
import functools
import io
import json
import math
import pathlib
import zipfile
from collections import OrderedDict, defaultdict, deque
from importlib.util import find_spec

import pytest

import leafwise as lw
from helpers.peers import peer
from helpers.processes import run_in_process
from helpers.random_trees import Box, Color, Layer, Net, Point
from leafwise import nn
from leafwise.errors import CycleError, FileError


np = pytest.importorskip("numpy")
ALL = [".npz", ".safetensors", ".json"]
ARRAYS = ALL[:2]


@pytest.fixture(params=ALL)
def suffix(request):
    """Each format; what reads it may not be installed."""
    if request.param == ".safetensors":
        pytest.importorskip("safetensors")
    return request.param


@pytest.fixture(params=ARRAYS)
def of_arrays(request):
    """Each format that has arrays."""
    if request.param == ".safetensors":
        pytest.importorskip("safetensors")
    return request.param


def same(a, b):
    """Return whether two leaves are the same in type and value, NaN as well."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray | np.generic):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return a is b or a == b or repr(a) == repr(b)


def assert_same(a, b):
    leaves, treedef = lw.tree_flatten(a)
    others, other = lw.tree_flatten(b)
    assert treedef == other
    assert [pair for pair in zip(leaves, others, strict=True) if not same(*pair)] == []


class Word(enum.StrEnum):
    A = "a"


class Mode(enum.Enum):
    FAST = "fast"


VALUES = [
    0, -1, 2**53 + 1, 10**400, -(10**6000), True, False, 0.1, -0.0, 5e-324, math.inf,
    -math.inf, math.nan, 1 + 2j, complex(-0.0, math.nan), "", "a\nb\0\u2028", "\ud800",
    "\ud83d\ude00", "\U0001f600", b"", b"\0\xff", {1, "a"}, frozenset({(1, 2)}), set(),
    Mode.FAST, Color.RED, int, Layer, len, lw.tree_map, ..., NotImplemented,
    datetime.date(2024, 2, 29), datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC),
    pathlib.Path("a/b"), np.dtype("f4"), np.dtype(">i8"),
    np.dtype([("a", "<f8"), ("b", "i4", (2,))]), np.float32(0.1), np.float64("nan"),
    np.int8(-3), np.bool_(True), np.complex64(1 + 2j), np.str_("abc"), np.str_(""),
    np.str_("a\0"), np.bytes_(b"a\0"), np.void(b"\0\0"), np.str_("\ud800"),
    np.bytes_(b"ab"), np.datetime64("2024-01-02T03", "h"), np.timedelta64(5, "s"),
    np.datetime64("2024-01-02", "ns"), np.timedelta64(5, "ns"),
    np.longdouble(1) / 3, np.float16("inf"),
]  # fmt: skip
KEPT = [v for v in VALUES if v is not ... and v is not NotImplemented]


def test_all_values_in_each_format(again, suffix):
    for tree in (list(KEPT) if suffix == ".json" else []) + [KEPT]:
        assert_same(again(tree, suffix), tree)


DTYPES = ["?", "i1", "u8", "<f2", "f4", "f8", "c8", "c16", ">f8", "M8[ns]", "m8[D]"]
DTYPES += ["U3", "S2", "V5", "g", [("a", "f4"), ("b", "S2", (2,))]]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_arrays_of_all_dtypes_of_numpy(again, dtype):
    values = [
        np.zeros(shape, dtype)
        for shape in [(), (0,), (3,), (2, 3), (2, 0, 4), (1,) * 6]
    ]
    values.append(np.zeros((6, 4), dtype)[::2, ::-1])
    values.append(np.asfortranarray(np.zeros((3, 2), dtype)))
    assert_same(again(values), values)


def test_bfloat16(again, of_arrays):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    tree = [np.arange(3).astype(ml_dtypes.bfloat16), np.ones((), ml_dtypes.float8_e5m2)]
    shapes = [(0, 4), (2, 0, 3), (0,), (4, 0)]
    tree += [np.ones(shape, ml_dtypes.bfloat16) for shape in shapes]
    assert_same(again(tree, of_arrays), tree)
    assert_same(again([ml_dtypes.bfloat16(1.5)]), [ml_dtypes.bfloat16(1.5)])
    assert_same(again([np.ones(2, ml_dtypes.int4)]), [np.ones(2, ml_dtypes.int4)])


NODES = [
    {"b": 1, "a": {}}, [], (), {"": 0, "a.b": 1, "['x']": 2, "a b\n": 3},
    {1: 0, "1": 1}, OrderedDict(b=1, a=2), defaultdict(list, a=1),
    deque([1, 2], maxlen=3), Point(1, 2),
    Layer(1.5, None, name="x"), Box(1, [2], tag="t"), None, [None, [None]],
    lw.Partial(len, 1, key=2), {(1, "a"): 1, None: 2, 1.5: 3, b"x": 4},
    {Color.RED: 1}, 5, "bare",
]  # fmt: skip


@pytest.mark.parametrize("tree", NODES, ids=lambda tree: type(tree).__name__)
def test_nodes_come_back_as_they_were(again, suffix, tree):
    assert_same(again(tree, suffix), tree)


# --------------------------------------------------------------------------- refusals


class Odd:
    def __repr__(self):
        return "an odd one"


@pytest.mark.parametrize(
    ("tree", "path", "text"),
    [
        ({"a": [1, Odd()]}, "['a'][1]", "an odd one"),
        ({"a": lambda: 0}, "['a']", "lambda"),
        ([datetime.datetime(1, 1, 1, fold=1)], "[0]", "fold=1"),
        ({"a": np.ma.masked_array([1])}, "['a']", "MaskedArray"),
        ({"a": np.array(["x"], "O")}, "['a']", "only dense arrays of plain"),
        (
            [np.dtype({"names": "ab", "formats": ["i4"] * 2, "offsets": [0, 2]})],
            "[0]",
            "descr",
        ),
        ({"a": [Odd]}, None, ""),
        ({"a": {1, Odd()}}, "['a']", "an odd one"),
        (Odd(), "", "the leaf at the root"),
        (iter([]), "", "iterator"),
    ],
)
def test_leaves_that_cannot_be_saved(tmp_path, suffix, tree, path, text):
    file = tmp_path / f"x{suffix}"
    file.write_bytes(b"old")
    if path is None:
        lw.save(file, tree)
        assert lw.load(file) == tree
        return
    with pytest.raises(FileError) as caught:
        lw.save(file, tree)
    assert str(caught.value.path) == path
    if suffix != ".json":
        assert text in str(caught.value)
    assert file.read_bytes() == b"old"


def test_arrays_that_a_format_does_not_have(tmp_path):
    text = (
        r"x.json: the leaf at \['a'\] cannot be saved: .json files cannot hold arrays"
    )
    with pytest.raises(FileError, match=text):
        lw.save(tmp_path / "x.json", {"a": np.ones(2)})
    for dtype in ("c16", ">f8", "U2"):
        with pytest.raises(FileError, match=r"\['a'\].*safetensors has no arrays of"):
            lw.save(tmp_path / "x.safetensors", {"a": np.ones(2, dtype)})
    with pytest.raises(FileError, match="__metadata__"):
        lw.save(tmp_path / "x.safetensors", {"__metadata__": np.ones(2)})
    assert list(tmp_path.iterdir()) == []


def test_structures_that_cannot_be_saved(tmp_path, of_arrays):
    path = tmp_path / f"x{of_arrays}"
    tree = {"in": [Box(np.ones(2), tag=Odd())]}
    text = r"structure of the tree.*odd one.*at key path \['in'\]\[0\].*treedef=False"
    with pytest.raises(FileError, match=text):
        lw.save(path, tree)
    lw.save(path, tree, treedef=False)
    assert lw.load(path)["in"][0]["item_0"].tolist() == [1, 1]
    like = {"in": [Box(np.zeros(2), tag=Odd())]}
    loaded = lw.load(path, like)
    assert loaded["in"][0].items[0].tolist() == [1, 1]
    assert loaded["in"][0].tag is like["in"][0].tag


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(lambda: 0, id="a function"),
        pytest.param([1, {"f": len, "g": lambda: 0}], id="functions in containers"),
        pytest.param((type("Local", (), {}), 2), id="a class in a tuple"),
    ],
)
def test_functions_without_a_name_come_from_like(tmp_path, suffix, code):
    """The file says so when it is loaded; nothing else is left out."""
    path = tmp_path / f"x{suffix}"
    trees = Box(5, tag=code), lw.Partial(lambda x: x, 5), defaultdict(lambda: 0, a=5)
    likes = Box(0, tag=code), lw.Partial(lambda x: -x, 0), defaultdict(int, a=0)
    for tree, like in zip(trees, likes, strict=True):
        lw.save(path, tree)
        with pytest.raises(FileError, match=r"is code without a name.* as `like`"):
            lw.load(path)
        assert lw.tree_leaves(lw.load(path, treedef=False)) == [5]
        assert_same(lw.load(path, like), lw.tree_map(lambda _: 5, like))
    lw.save(path, Box(5, tag=functools.partial(max, 1)))
    with pytest.raises(FileError, match=r": partial\(...\) is code without a name"):
        lw.load(path)
    with pytest.raises(FileError, match="an odd one"):
        lw.save(path, Box(5, tag=[code, Odd()]))


def test_trees_that_contain_themselves(tmp_path):
    knot = [1]
    knot.append(knot)
    with pytest.raises(CycleError):
        lw.save(tmp_path / "x.json", knot)
    net = Net(1, None, "a")
    net.weight = nn.List([net])
    with pytest.raises(CycleError):
        lw.save(tmp_path / "x.npz", [net, net])


def test_two_leaves_of_one_name_are_refused(tmp_path):
    class Twice:
        pass

    lw.registry.register_pytree_with_keys(
        Twice, lambda t: ([("a", 1), ("a", 2)], None), lambda aux, xs: Twice()
    )
    with pytest.raises(FileError, match="another leaf has the same name, 'a'"):
        lw.save(tmp_path / "x.json", Twice(), treedef=False)


@pytest.mark.parametrize("name", ["model", "model.bin", "model.npz.bak", ".npz"])
def test_other_ends_of_names(name):
    text = "must end in .json, .npz or .safetensors"
    for act in (lambda: lw.save(name, {}), lambda: lw.load(name)):
        with pytest.raises(FileError, match=text):
            act()


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".ckpt", ".PT"])
def test_files_of_torch_say_what_converts_them(suffix):
    text = r"leafwise.save\('x.safetensors', torch.load\(path, weights_only=True\)\)"
    for act in (lw.load, lambda path: lw.save(path, {})):
        with pytest.raises(FileError, match=text):
            act(f"model{suffix}")


@pytest.mark.parametrize("suffix", [".pkl", ".pickle"])
def test_pickles_say_what_converts_them(suffix):
    text = r"may run any code.*leafwise.save\('x.npz', pickle.load\(file\)\)"
    with pytest.raises(FileError, match=text):
        lw.load(f"model{suffix}")


def test_a_file_of_torch_is_converted_as_the_error_says(tmp_path):
    torch = peer("torch")
    pytest.importorskip("safetensors")
    state = torch.nn.Linear(3, 2).state_dict()
    path = tmp_path / "x.pt"
    torch.save(state, path)
    converted = tmp_path / "x.safetensors"
    lw.save(converted, torch.load(path, weights_only=True))
    assert lw.tree_equal(lw.load(converted, like=state), state)


@pytest.mark.parametrize("path", ["x.npz", b"x.npz", pathlib.Path("x.npz")])
def test_swapped_arguments_are_named(path):
    """torch.save has them in the other order."""
    tree = {"a": 1}
    with pytest.raises(TypeError, match=r"are swapped: leafwise.save\(path, tree\)"):
        lw.save(tree, path)
    with pytest.raises(TypeError, match=r"are swapped: leafwise.load\(path, like\)"):
        lw.load(tree, path)
    for act in (lw.load, lambda file: lw.save(file, {})):
        with pytest.raises(TypeError, match=r"path must be a str.*got dict") as caught:
            act(tree)
        assert "swapped" not in str(caught.value)


# ------------------------------------------------------------------------------ paths


def test_no_message_has_raw_escapes_of_a_file_name(tmp_path, suffix):
    folder = tmp_path / "a\x1b[31m\u202eb"
    folder.mkdir()
    for act in (
        lambda: lw.load(folder / "x.txt"),
        lambda: lw.save(folder / f"x{suffix}", {"a": lambda: 0}),
        lambda: lw.save(folder / f"x{suffix}", [Box(1, tag=Odd())]),
        lambda: lw.load(folder / f"bad{suffix}"),
        lambda: lw.load(folder / f"good{suffix}", {"a": 1.5}),
    ):
        (folder / f"bad{suffix}").write_bytes(b"\x1b[31m")
        lw.save(folder / f"good{suffix}", {"a": (1,)})
        with pytest.raises((FileError, lw.StructureError)) as caught:
            act()
        assert str(caught.value).replace("\n", "").isprintable()


def test_files_that_are_not_there(tmp_path, suffix):
    with pytest.raises(FileNotFoundError, match="none"):
        lw.load(tmp_path / f"none{suffix}")
    with pytest.raises(FileNotFoundError, match="none"):
        lw.save(tmp_path / "none" / f"x{suffix}", {})
    (tmp_path / f"folder{suffix}").mkdir()
    with pytest.raises(OSError, match="folder"):
        lw.load(tmp_path / f"folder{suffix}")
    with pytest.raises(OSError, match="folder"):
        lw.save(tmp_path / f"folder{suffix}", {})


def test_the_same_tree_gives_the_same_bytes(tmp_path, suffix):
    tree = {"a": [1, 2.5], "b": {"x": {"s", "t", "u"}}}
    paths = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for path in paths:
        lw.save(path, tree)
    assert paths[0].read_bytes() == paths[1].read_bytes()


# ------------------------------------------------------------------------------- JSON


@pytest.mark.parametrize(
    "tree",
    [
        {"leafwise": {"format": 1}},
        {"a": {1: 2}},
        {"a": {Word.A: 2}},
        {"a": OrderedDict(b=1)},
        {"a": (1,)},
        [math.nan],
        ["\ud83d\ude00"],
        [10**5000],
        7,
        {"leafwise": {"format": 1}, "leaves": {}, "treedefs": []},
    ],
)
def test_what_could_be_taken_for_something_else_has_a_header(again, tmp_path, tree):
    assert_same(again(tree, ".json"), tree)
    data = json.loads((tmp_path / "tree.json").read_text(encoding="utf-8"))
    assert data.keys() == {"leafwise", "leaves", "treedefs"}


def test_a_plain_tree_is_written_as_json_that_people_read(tmp_path):
    """With two blanks for each level, letters as they are, and a line break."""
    path = tmp_path / "config.json"
    lw.save(path, {"name": "學", "sizes": [1, 2]})
    expected = '{\n  "name": "學",\n  "sizes": [\n    1,\n    2\n  ]\n}\n'
    assert path.read_text(encoding="utf-8") == expected


def test_people_may_edit_a_json_file(tmp_path):
    path = tmp_path / "x.json"
    lw.save(path, {"a": (1, 2)})
    text = path.read_text(encoding="utf-8").replace('"a[0]": 1', '"a[0]":  "one"')
    path.write_text(text, encoding="utf-8")
    assert lw.load(path) == {"a": ("one", 2)}


def test_depth_is_no_problem(again, suffix):
    tree = 1
    for _ in range(3_000):
        tree = [tree]
    assert lw.tree_structure(again(tree, suffix)) == lw.tree_structure(tree)


# ------------------------------------------------------------------------------- ties


class Tied(lw.Pytree):
    def __init__(self):
        self.embed = nn.Param(np.ones((2, 3)), sharding=("a", None))
        self.head = nn.Dict(w=self.embed)
        self.calls = nn.BatchStat(0)
        self.name = "tied"


def test_variables_in_several_places_are_stored_once(tmp_path, of_arrays):
    path = tmp_path / f"x{of_arrays}"
    lw.save(path, {"model": Tied()})
    model = lw.load(path)["model"]
    assert model.embed is model.head.w
    assert type(model.embed) is nn.Param
    assert model.embed.sharding == ("a", None)
    assert model.embed.value.tolist() == [[1, 1, 1]] * 2
    assert (model.calls.value, model.name) == (0, "tied")
    assert path.stat().st_size < 3_000


def test_arrays_in_several_places_are_stored_once(tmp_path, of_arrays):
    path = tmp_path / f"x{of_arrays}"
    array = np.ones(1000)
    lw.save(path, {"a": array, "b": [array, array.view(), array[:500]]})
    assert path.stat().st_size < 14_000
    loaded = lw.load(path)
    assert loaded["a"] is loaded["b"][0] is loaded["b"][1]
    assert loaded["b"][2].tolist() == [1.0] * 500


def test_views_of_one_memory_come_back_as_themselves(again, of_arrays):
    base = np.arange(4, dtype="u2")
    tree = [base, base.view("i2"), base[::-1], base.reshape(2, 2), base.T, base[:2]]
    if find_spec("ml_dtypes"):
        import ml_dtypes

        bytes_ = np.arange(4, dtype="u1")
        names = ("float8_e5m2", "float8_e4m3fn")
        tree += [bytes_, *(bytes_.view(getattr(ml_dtypes, name)) for name in names)]
    if of_arrays == ".npz":
        fields = np.zeros(3, [("a", "i2"), ("b", "i2")])
        fields["b"] = 1
        tree += [fields, fields.view([("b", "i2"), ("a", "i2")]), fields["a"]]
        tree += [fields.view([("a", "u2"), ("b", "i2")]), fields.view("V4")]
    assert_same(again(tree, of_arrays), tree)


def test_views_of_tensors_come_back_as_themselves(tmp_path, of_arrays):
    torch = peer("torch")
    base = torch.tensor([1 + 2j, 3 - 4j], dtype=torch.complex64)
    tree = [base, base.conj(), torch._neg_view(base), base.conj().imag, base.imag]
    path = tmp_path / f"x{of_arrays}"
    lw.save(path, tree)
    expected = [x.resolve_conj().resolve_neg().tolist() for x in tree]
    assert [x.tolist() for x in lw.load(path)] == expected
    assert [x.tolist() for x in lw.load(path, tree)] == expected


def test_members_of_npz_whose_names_differ_by_the_end(tmp_path):
    path = tmp_path / "x.npz"
    plain = io.BytesIO()
    np.save(plain, np.zeros(2))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", plain.getvalue())
        plain.seek(0)
        np.save(plain, np.ones(2))
        archive.writestr("a.npy", plain.getvalue())
    loaded = lw.load(path)
    assert {name: x.tolist() for name, x in loaded.items()} == {
        "a": [0, 0],
        "a.npy": [1, 1],
    }  # not nested: one name is the beginning of the other
    tree = {"a": np.zeros(2), "a.npy": np.ones(2)}
    lw.save(path, tree)
    assert_same(lw.load(path), tree)
    lw.save(path, tree, treedef=False)
    assert set(lw.load(path)) == {"a", "a.npy"}


# ---------------------------------------------------------- names without a structure


@pytest.mark.parametrize(
    ("names", "tree"),
    [
        (["model.l1.w", "model.l1.b"], {"model": {"l1": {"w": 0, "b": 1}}}),
        (["h.0.w", "h.1.w"], {"h": {"0": {"w": 0}, "1": {"w": 1}}}),
        (["h[1].w", "h[0].w"], {"h": [{"w": 1}, {"w": 0}]}),
        (["h[1].w", "h[2].w"], {"h": {1: {"w": 0}, 2: {"w": 1}}}),
        (["a", "a.b"], {"a": 0, "a.b": 1}),
        (["a.b", "a"], {"a.b": 0, "a": 1}),
        (["a.x", "['a'].x"], {"a.x": 0, "['a'].x": 1}),
        (["['a.b'].c", "[(1, 'x')]"], {"a.b": {"c": 0}, (1, "x"): 1}),
        (["params/dense/w", "a..b"], {"params/dense/w": 0, "a..b": 1}),
        (["*.w", "[:]", "x[y=1]", ""], {"*.w": 0, "[:]": 1, "x[y=1]": 2, "": 3}),
        ([f"[{10**9}]"], {10**9: 0}),
        ([], {}),
    ],
)
def test_names_are_paths(tmp_path, names, tree):
    path = tmp_path / "x.npz"
    np.savez(path, **{name: np.array(n) for n, name in enumerate(names)})
    loaded = lw.tree_map(lambda x: x.item(), lw.load(path))
    assert loaded == tree
    assert list(loaded) == list(tree)


def test_a_tree_without_its_structure_is_found_by_its_paths(tmp_path, suffix):
    """Nodes without leaves leave no gap, and values that are dicts stay values."""
    path = tmp_path / f"x{suffix}"
    tree = {"model": Layer(1.5, None, name="x"), "opt": [(), {"mu": 2}], "n": [3]}
    lw.save(path, tree, treedef=False)
    loaded = lw.load(path)
    assert loaded == {"model": {"weight": 1.5}, "opt": {1: {"mu": 2}}, "n": [3]}
    assert lw.at(loaded)["model.weight"].get() == 1.5
    assert lw.at(loaded)["opt[1].mu"].get() == 2


# ------------------------------------------------------------------------- namespaces


def test_namespaces(tmp_path):
    space = lw.namespace("files")

    class Own:
        def __init__(self, a):
            self.a = a

    globals()["Own"] = Own
    Own.__qualname__ = "Own"
    space.register_pytree_node(Own, lambda o: ((o.a,), None), lambda _, xs: Own(*xs))
    path = tmp_path / "x.json"
    space.save(path, [Own(3)])
    assert space.load(path)[0].a == 3
    assert lw.load(path)[0].a == 3
    with pytest.raises(FileError, match="Own"):
        lw.save(path, [Own(3)])


@pytest.mark.needs("processes")
def test_a_file_with_a_state_needs_no_import_of_its_classes(tmp_path):
    path = str(tmp_path / "state.json")
    lw.save(path, nn.State({"a": nn.Param(1.0)}))
    output = run_in_process(f"import leafwise as lw; print(lw.load({path!r}))")
    assert output == "State({'a': Param(value=1.0)})\n"

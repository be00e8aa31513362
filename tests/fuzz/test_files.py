"""Saving and loading: the tree comes back; of a damaged file, it or an error."""

import contextlib
import io
import json
import tracemalloc
import warnings
import zipfile
from collections import deque
from importlib.util import find_spec
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import leafwise as lw
from helpers.confusable_trees import Pair, Tree
from helpers.containers import CONTAINERS
from helpers.peers import peer
from leafwise import nn


np = pytest.importorskip("numpy")
nps = pytest.importorskip("hypothesis.extra.numpy")

SUFFIXES = (".npz", ".json", *[".safetensors"] * bool(find_spec("safetensors")))
DTYPES = ("?", "i1", "u2", "f2", "i4", "f4", "c8", "i8", ">f8", "M8[ns]", "U2", "S3")
DTYPES += ("V4", [("a", "i2"), ("b", "f4")], [("x", "i4", (2,)), ("y", "S2")])
VALUES = (
    0,
    10**400,
    True,
    0.1,
    -0.0,
    float("inf"),
    float("nan"),
    1 + 2j,
    "",
    "a\n\0\u2028",
    "\ud800",
    b"\0\xff",
    {1, "a"},
    frozenset(),
    int,
    len,
    np.dtype("f4"),
    np.float32(0.1),
    np.str_("a\0"),
    np.datetime64("NaT", "s"),
    np.bool_(True),
)
VIEWS = (
    lambda x: x,
    lambda x: x,
    lambda x: x.T,
    lambda x: x[::-1],
    lambda x: x[..., None],
    lambda x: x.view(f"V{x.itemsize}"),
    lambda x: x["a"],
    lambda x: x.real,
    lambda x: x.view(x.dtype.newbyteorder()),
    np.asfortranarray,
    lambda x: x[::2],
    lambda x: np.broadcast_to(x, (2, *x.shape)),
)
ENOUGH = 30_000_000
"""Bytes that any of these files may take while it is read."""


@st.composite
def trees_of_arrays(draw, suffix, nodes):
    """Draw a tree of arrays, often views of each other, of values and of objects."""
    pool = []
    objects = [nn.Param(0.5), nn.Param((1, "a")), Tree([1, nn.Param(2)], "t", "ab")]

    def array():
        if pool and draw(st.booleans()):
            try:
                return draw(st.sampled_from(VIEWS))(draw(st.sampled_from(pool)))
            except (IndexError, TypeError, ValueError):
                pass  # it has no such view
        shape = draw(nps.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
        dtype = np.dtype(draw(st.sampled_from(DTYPES)))
        size = int(np.prod(shape)) * dtype.itemsize
        new_array = np.zeros(shape, dtype)
        new_array.reshape(-1).view("u1")[:] = list(
            draw(st.binary(min_size=size, max_size=size))
        )
        pool.append(new_array)
        return new_array

    def leaf(_):
        kind = draw(st.integers(0, 9))
        if kind < 5 and suffix != ".json":
            return array()
        return draw(
            st.sampled_from(objects if kind == 5 and deque in nodes else VALUES)
        )

    words = st.sampled_from(["a", "b", "x-y", "10"])
    forms = lw.testing.trees(st.just(0), nodes=nodes, keys=words, max_leaves=6)
    return lw.tree_map(leaf, draw(forms))


def facts_of(tree):
    """Return what tells a tree with arrays from another one."""
    return lw.fingerprint(tree), repr(lw.tree_structure(tree))


def loaded(path, like=None):
    """Return what is loaded, None for an error that may be raised."""
    tracemalloc.start()
    try:
        return lw.load(path, like)
    except lw.errors.FileError:
        return None
    except lw.StructureError:
        assert like is not None
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < ENOUGH


def save(path, tree):
    """Save a tree; return whether that was possible. Nothing else is left."""
    path.unlink(missing_ok=True)
    with contextlib.suppress(lw.errors.FileError):
        lw.save(path, tree)
    files = list(path.parent.iterdir())
    assert files in ([], [path])
    return bool(files)


fixtures = settings(suppress_health_check=list(HealthCheck))
ALL = [*CONTAINERS, Pair]


@pytest.mark.parametrize("suffix", SUFFIXES)
@fixtures
@given(data=st.data())
def test_what_is_loaded_is_the_tree(tmp_path, suffix, data):
    """Also like itself; arrays that are written to change no others."""
    tree = data.draw(trees_of_arrays(suffix, ALL))
    path = tmp_path / f"tree{suffix}"
    if not save(path, tree):
        return
    loaded = lw.load(path)
    same = lw.load(path, tree)
    assert facts_of(loaded) == facts_of(same) == facts_of(tree)
    arrays = [x for x in lw.tree_leaves(loaded) if isinstance(x, np.ndarray) and x.size]
    for one in [x for x in arrays if x.flags.writeable][:1]:
        others = [x for x in arrays if x is not one]
        before = facts_of(others)
        one.reshape(-1).view("u1")[:] ^= 255
        assert facts_of(others) == before


# ------------------------------------------------------------------------- other files

WORDS = (
    None,
    True,
    0.5,
    "",
    "x",
    [],
    [1],
    {},
    10**15,
    2**63,
    10**30,
    -1,
    0,
    2,
    {"object": 1},
    {"same": "a"},
    {"array": ["float64", [2]]},
    {"array": []},
    {"array": ["bfloat16", [2**40]]},
    {"array": ["int8", [10**15, 0]]},
    "F64",
    "F4",
    ["numpy", "|V8", 10**8],
    ["numpy", "<U100000000", "a"],
    ["numpy", "<f8", "x"],
    ["dtype", "(100000000,)f8"],
    ["literal", "(" * 300],
    ["literal", "b''"],
    ["class", "os:system"],
    ["object", ":"],
    ["set", ["list"]],
    ["time", "x"],
    [10**15, "list", 10**15, None],
    [0, "deque", 0, 10**15],
)


def places(node):
    """Yield all places of JSON as a container and a key."""
    keys = node if isinstance(node, dict) else range(len(node))
    for key in keys:
        yield node, key
        if isinstance(node[key], dict | list):
            yield from places(node[key])


def rewritten(random, text):
    """Return a text of JSON with another value at a place."""
    data = [json.loads(text)]
    node, key = random.choice(list(places(data)))
    node[key] = random.choice(WORDS)
    return json.dumps(data[0]).encode()


def with_other_words(random, suffix, data):
    """Return a file that says something else of what it has."""
    if suffix == ".json":
        return rewritten(random, data)
    if suffix == ".safetensors":
        length = int.from_bytes(data[:8], "little")
        table = json.loads(data[8 : 8 + length])
        about = table["__metadata__"]
        about["leafwise"] = rewritten(random, about["leafwise"]).decode()
        text = random.choice(
            (json.dumps(table).encode(), rewritten(random, data[8 : 8 + length]))
        )
        size = random.choice((len(text), len(text), 2**40, 2**63, length + 1))
        return size.to_bytes(8, "little") + text + data[8 + length :]
    archive_bytes = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(archive_bytes, "w") as new,
    ):
        chosen = random.choice(old.infolist())
        for info in old.infolist():
            content = old.read(info)
            if info is chosen and info.filename == "leafwise.json":
                content = rewritten(random, content)
            elif info is chosen:
                place = random.randrange(min(len(content), 128))
                content = content[:place] + b"9" * 30 + content[place:]
            if info is not chosen or random.random() < 0.95:
                new.writestr(info.filename, content, random.choice((0, 8)))
        if random.random() < 0.2:
            for info in new.infolist():
                info.file_size = random.choice((2**40, 2**31, 0))
    return archive_bytes.getvalue()


def with_other_bytes(random, suffix, data):
    """Return a file of which bytes were flipped, cut out or repeated."""
    start = random.randrange(len(data))
    size = random.randrange(8)
    middle = random.choice((b"", b"\0", bytes([data[start] ^ 1]), data[start:][:99]))
    return data[:start] + middle + data[start + size :]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("change", [with_other_words, with_other_bytes])
@fixtures
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_another_file_is_a_tree_or_an_error(tmp_path, suffix, change, data, seed):
    """In little memory, whatever is in the file."""
    random = Random(seed)
    path = tmp_path / f"tree{suffix}"
    tree = data.draw(trees_of_arrays(suffix, [list, tuple, Pair]))
    if not save(path, tree):
        return
    content = path.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numpy, for what old versions wrote
        for _ in range(4):
            path.write_bytes(change(random, suffix, content))
            loaded(path, like=random.choice((None, tree)))


# ------------------------------------------------------------- arrays of all libraries

LIBRARIES = ["numpy", *(name for name in ("torch", "jax") if find_spec(name))]
TIED_DTYPES = ("bool", "uint8", "int32", "float16", "float32", "complex64")


def intact(array):
    return array


def last_half(array):
    return array[len(array) // 2 :]


def row_of_itself(array):
    return array[None]


def every_second(array):
    return array[::2]


def transposed(array):
    return array.T if array.ndim == 2 else array


def detached(array):
    """Return another array of the same elements, where a library has such."""
    if hasattr(array, "detach"):
        return array.detach()
    return array.view() if isinstance(array, np.ndarray) else array


def parameter(array):
    """Return a parameter of torch with the memory of a tensor."""
    if not hasattr(array, "is_floating_point"):
        return array
    torch = peer("torch")
    return torch.nn.Parameter(array.detach(), requires_grad=array.is_floating_point())


def as_bfloat16(array):
    """Return a new array of a dtype that numpy does not have."""
    if str(array.dtype).endswith("float32"):
        if hasattr(array, "detach"):
            return array.bfloat16()
        if not isinstance(array, np.ndarray):
            return array.astype("bfloat16")
    return array


TIED_VIEWS = (
    intact,
    intact,
    intact,
    last_half,
    row_of_itself,
    every_second,
    transposed,
    detached,
    parameter,
    as_bfloat16,
)


@st.composite
def arrays_of(draw, libraries):
    """Draw arrays of libraries, some of which are others, or views of them."""
    arrays = []
    for _ in range(draw(st.integers(1, 8))):
        if arrays and draw(st.integers(0, 3)):
            view = draw(st.sampled_from(TIED_VIEWS))
            arrays.append(view(draw(st.sampled_from(arrays))))
            continue
        shape = draw(nps.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=3))
        dtype = np.dtype(draw(st.sampled_from(TIED_DTYPES)))
        values = draw(nps.arrays("i1", shape, elements=st.integers(0, 100)))
        array = values.astype(dtype)
        library = draw(st.sampled_from(libraries))
        if library == "torch":
            array = peer("torch").from_numpy(array)
        elif library == "jax":
            array = pytest.importorskip("jax").numpy.asarray(array)
        arrays.append(array)
    return arrays


def ties(leaves):
    """Return for each leaf the first one that is the same object."""
    first = {}
    return [first.setdefault(id(leaf), n) for n, leaf in enumerate(leaves)]


def elements_of(array):
    """Return the elements of an array of any library, and what else there is to it."""
    detail = getattr(array, "requires_grad", None)
    if hasattr(array, "detach"):
        array = array.detach()
    values = array.tolist()
    return str(array.dtype), tuple(array.shape), values, detail


def memory_of(array):
    """Return where the elements of an array that can be written to are."""
    if isinstance(array, np.ndarray):
        return array.ctypes.data
    return array.data_ptr() if hasattr(array, "data_ptr") else id(array)


@pytest.mark.parametrize("suffix", [x for x in SUFFIXES if x != ".json"])
@fixtures
@given(data=st.data())
def test_arrays_of_all_libraries_come_back_with_their_ties(tmp_path, suffix, data):
    """One array in two places is one again; two of one memory share theirs."""
    path = tmp_path / f"tree{suffix}"
    libraries = data.draw(st.sampled_from([LIBRARIES, *([x] for x in LIBRARIES)]))
    arrays = data.draw(arrays_of(libraries))
    words = st.sampled_from(["a", "b", "x-y", "10"])
    forms = lw.testing.trees(st.just(0), nodes=ALL, keys=words, max_leaves=8)
    tree = lw.tree_map(lambda _: data.draw(st.sampled_from(arrays)), data.draw(forms))
    lw.save(path, tree)
    leaves, treedef = lw.tree_flatten(tree)

    plain = lw.load(path)
    assert lw.tree_structure(plain) == treedef
    plain_leaves = lw.tree_leaves(plain)
    for leaf, other in zip(leaves, plain_leaves, strict=True):
        dtype, shape, values, _ = elements_of(leaf)
        assert (dtype.removeprefix("torch."), shape, values) == elements_of(other)[:3]

    loaded = lw.load(path, tree)
    assert lw.tree_structure(loaded) == treedef
    loaded_leaves = lw.tree_leaves(loaded)
    assert list(map(type, loaded_leaves)) == list(map(type, leaves))
    assert list(map(elements_of, loaded_leaves)) == list(map(elements_of, leaves))
    for others in (plain_leaves, loaded_leaves):
        for first, number in zip(ties(leaves), ties(others), strict=True):
            assert others[first] is others[number]
    pairs = zip(leaves, loaded_leaves, strict=True)
    tied = {id(one): memory_of(other) for one, other in pairs}
    for one in leaves:  # arrays with other elements have memory of their own
        for other in leaves:
            if elements_of(one)[:3] != elements_of(other)[:3] and 0 not in one.shape:
                assert tied[id(one)] != tied[id(other)]

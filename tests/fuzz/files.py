"""Saving and loading: what comes back is the tree; of a damaged file, it or an error.

The model of a file is the tree itself, with arrays of numpy in place of tensors.
"""

import copy
import io
import json
import tempfile
import tracemalloc
import warnings
import zipfile
from collections import OrderedDict, deque
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import leafwise as lw
from leafwise import nn

from . import odd
from .runner import Round
from .tell import told
from .trees import Trees, only


FORMATS = (".npz", ".safetensors", ".json")
READ = FORMATS if find_spec("safetensors") else (".npz", ".json")
DTYPES = ("?", "i1", "u1", "i2", "u2", "f2", "i4", "f4", "c8", "i8", "f8", "u8")
ODD_DTYPES = (
    *(">f8", ">i2", "c16", "g", "M8[ns]", "m8[D]", "U2", "S3", "V4", "V0"),
    [("a", "i2"), ("b", "f4")],
    [("b", "i2"), ("a", "f4")],
    [("x", "i4", (2,)), ("y", "S2")],
)
EXTENSIONS = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "int4")
VALUES = (
    *(0, -1, 10**400, True, False, 0.1, -0.0, float("inf"), float("nan"), 1 + 2j),
    *("", "a\n\0\u2028", "\ud800", "\U0001f600", b"\0\xff", {1, "a"}, frozenset()),
    *(int, len, np.dtype("f4"), np.float32(0.1), np.str_("a\0"), np.bytes_(b"\0")),
    *(np.longdouble(1) / 3, np.datetime64("NaT", "s"), np.void(b"\0a"), np.bool_(True)),
)
NODES = only(list, tuple, dict, OrderedDict, deque, odd.Pair)
SIMPLE = only(list, tuple, odd.Pair)
ENOUGH = 30_000_000
"""Bytes that any of these files may take while it is read."""


def play(one: Round) -> None:
    """Save a tree and load it; damage the file, or write what another one says."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numpy, for what old versions wrote
        act = one.random.choice((whole, whole, damaged, damaged, hostile))
        one.step(act.__name__)
        act(one, Path(folder) / f"tree{one.random.choice(READ)}")


# ------------------------------------------------------------------------------- trees


def array(random: Random, pool: list[Any]) -> Any:
    """Return an array, often a view of one that is in the pool."""
    if pool and random.random() < 0.6:
        return view(random, random.choice(pool))
    shape = tuple(random.choice((0, 1, 2, 3)) for _ in range(random.randrange(4)))
    kind = random.random()
    if kind < 0.2 and find_spec("torch"):
        made = tensor(random, shape)
    elif kind < 0.4 and find_spec("ml_dtypes"):
        dtype = getattr(import_module("ml_dtypes"), random.choice(EXTENSIONS))
        made = np.ones(shape, dtype)
    else:
        dtype = np.dtype(random.choice(DTYPES if kind < 0.8 else ODD_DTYPES))
        size = int(np.prod(shape)) * dtype.itemsize
        data = bytes(random.choice((0, 1, 65)) for _ in range(size))
        made = np.frombuffer(bytearray(data), dtype) if size else np.empty(0, dtype)
        made = made.reshape(shape) if size else np.zeros(shape, dtype)
    pool.append(made)
    return made


def tensor(random: Random, shape: tuple[int, ...]) -> Any:
    torch = import_module("torch")
    names = ("float32", "bfloat16", "complex64", "int16", "bool", "float8_e5m2")
    made = torch.arange(100)[: int(np.prod(shape))].reshape(shape)
    made = made.to(getattr(torch, random.choice(names)))
    return torch.nn.Parameter(made) if made.is_floating_point() else made


def view(random: Random, base: Any) -> Any:
    """Return an array itself, or another one of the same memory."""
    views = VIEWS if isinstance(base, np.ndarray) else TORCH_VIEWS
    try:
        made = random.choice(views)(base)
        plain(made)  # torch cannot negate all that it has negative views of
        return made
    except (IndexError, RuntimeError, TypeError, ValueError, NotImplementedError):
        return base  # it has no such view


VIEWS: tuple[Callable[[Any], Any], ...] = (
    *(lambda x: x, lambda x: x, lambda x: x.view(), lambda x: x.T, lambda x: x[::-1]),
    *(lambda x: x.reshape(-1), lambda x: x[..., None], lambda x: x[1:]),
    *(lambda x: x.view(f"i{x.itemsize}"), lambda x: x.view(f"V{x.itemsize}")),
    *(lambda x: x.view(f"f{x.itemsize}"), lambda x: x.view(x.dtype.newbyteorder())),
    *(lambda x: x.view([("a", "i2"), ("b", "i2")]), lambda x: x.view("i2,i2")),
    *(lambda x: x["a"], lambda x: np.broadcast_to(x, (2, *x.shape))),
    *(lambda x: x[::2], lambda x: x.real, lambda x: np.asfortranarray(x)),
)
TORCH_VIEWS: tuple[Callable[[Any], Any], ...] = (
    *(lambda x: x, lambda x: x.detach(), lambda x: x.conj(), lambda x: x.conj().imag),
    *(lambda x: import_module("torch")._neg_view(x), lambda x: x.T, lambda x: x[1:]),
)


def tree_for(random: Random, suffix: str, nodes: Any) -> Any:
    """Return a tree of nodes, arrays and values; some objects are in several places."""
    pool: list[Any] = []
    objects = [nn.Param(0.5), nn.Param((1, "a")), odd.Tree(1, nn.Param(2))]

    def leaf(_: Any) -> Any:
        kind = random.random()
        if kind < 0.5 and suffix != ".json":
            return array(random, pool)
        if kind < 0.6 and nodes is not SIMPLE:
            return random.choice(objects)
        return random.choice(VALUES)

    return lw.tree_map(leaf, Trees(random, nodes).node())


def plain(leaf: Any) -> Any:
    """Return what a leaf is loaded as without `like`."""
    if not hasattr(leaf, "resolve_conj"):
        return leaf
    torch, found = import_module("torch"), leaf.detach().resolve_conj().resolve_neg()
    name = str(found.dtype).removeprefix("torch.")
    if name not in EXTENSIONS:
        return found.numpy()
    bits = found.contiguous().view({1: torch.uint8, 2: torch.int16}[found.itemsize])
    return bits.numpy().view(getattr(import_module("ml_dtypes"), name))


def shown(tree: Any) -> Any:
    """Return what tells a tree with arrays from another one, and what it shares."""
    leaves, treedef = lw.tree_flatten(tree)
    return told([plain(leaf) for leaf in leaves]), repr(treedef)


def saved(one: Round, path: Path, tree: Any) -> bool:
    """Save a tree; return whether that was possible, else compare what is left."""
    try:
        lw.save(path, tree)
    except lw.errors.FileError as error:
        one.step(f"refused: {error}")
        one.holds("the error has a path", error.path is not None)
        one.holds("nothing is left", not [*path.parent.iterdir()])
        return False
    one.same("files", [path.name], [x.name for x in path.parent.iterdir()])
    return True


# --------------------------------------------------------------------- three programs


def whole(one: Round, path: Path) -> None:
    """What is loaded is the tree."""
    tree = tree_for(one.random, path.suffix, NODES)
    one.step(f"{path.suffix} of {shown(tree)}")
    if not saved(one, path, tree):
        return
    found = lw.load(path)
    one.same("loaded", shown(tree), shown(found))
    same = lw.load(path, tree)
    one.same("loaded like itself", shown(tree), shown(same))
    types = [type(leaf).__name__ for leaf in lw.tree_leaves(tree)]
    one.same("types", types, [type(leaf).__name__ for leaf in lw.tree_leaves(same)])
    for a in lw.tree_leaves(found):
        if isinstance(a, np.ndarray) and a.flags.writeable and a.size:
            before = shown([x for x in lw.tree_leaves(found) if x is not a])
            a.reshape(-1).view("u1")[:] ^= 255
            after = shown([x for x in lw.tree_leaves(found) if x is not a])
            one.same("an array is written to", before, after)
            break


def damaged(one: Round, path: Path) -> None:
    """Bytes are flipped, cut off, moved: the tree, or an error."""
    random = one.random
    tree = tree_for(random, path.suffix, SIMPLE)
    one.step(f"{path.suffix} of {shown(tree)}")
    if not saved(one, path, tree):
        return
    data = path.read_bytes()
    for number in range(8):
        start, length = random.randrange(len(data)), random.randrange(1, 40)
        made = bytearray(data)
        kind = random.choice(("flip", "byte", "cut", "splice", "drop", "swap"))
        if kind == "flip":
            made[start] ^= 1 << random.randrange(8)
        elif kind == "byte":
            made[start] = random.randrange(256)
        elif kind == "cut":
            del made[start:]
        elif kind == "drop":
            del made[start : start + length]
        else:
            other = random.randrange(len(data))
            end = start if kind == "splice" else start + length
            made[start:end] = data[other : other + length]
        one.step(f"damage {number}: {kind} at {start}, {length}")
        path.write_bytes(made)
        found = loaded(one, path, like=tree if random.random() < 0.3 else None)
        if path.suffix == ".npz" and found is not None and kind in ("flip", "cut"):
            one.same("what is loaded all the same", shown(tree), shown(found))


def hostile(one: Round, path: Path) -> None:
    """Somebody wrote other things into the tables of a file."""
    random = one.random
    tree = tree_for(random, path.suffix, SIMPLE)
    one.step(f"{path.suffix} of {shown(tree)}")
    if not saved(one, path, tree):
        return
    data = path.read_bytes()
    for _ in range(8):
        made = REWRITTEN[path.suffix](random, data)
        one.step(f"{made[:1500]!r}")
        path.write_bytes(made)
        loaded(one, path, like=tree if random.random() < 0.3 else None)


def loaded(one: Round, path: Path, like: Any) -> Any:
    """Return what is loaded, None for an error that may be raised."""
    is_measured = one.random.random() < 0.2
    if is_measured:
        tracemalloc.start()
    try:
        found = lw.load(path, like)
        one.holds("it is no tree", lw.tree_structure(found) is not None)
        return found
    except lw.errors.FileError:
        return None
    except lw.StructureError:
        one.holds("an error about `like`", like is not None)
        return None
    finally:
        if is_measured:
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            one.holds(f"{peak} bytes of memory", peak < ENOUGH)


# ------------------------------------------------------------------------- other files

HUGE = (10**15, 2**31, 2**63, 10**30, -1, 0, 1, 2)
WORDS = (
    *(None, True, 0.5, "", "x", "a", [], [1], {}, {"object": 1}, {"object": 0}),
    *({"same": "a"}, {"array": ["float64", [2]]}, {"array": ["bfloat16", [2**40]]}),
    *({"array": ["int8", [10**15, 0]]}, {"array": []}, {"array": ["", [-1]]}),
    *(["numpy", "|V8", 10**8], ["numpy", "<U100000000", "a"], ["numpy", "<f8", "x"]),
    *(["numpy", "|V100000000", ["bytes", ""]], ["dtype", "(100000000,)f8"]),
    *(["literal", "(" * 300], ["literal", "-" * 9000 + "1"], ["literal", "b''"]),
    *(["class", "os:system"], ["object", ":"], ["set", ["list"]], ["decimal", "x"]),
    *(["time", "x"], ["complex", 1, "a"], ["float", "x"], ["text", "1"], ["key", "["]),
    *([10**15, "list", 10**15, None], [0, "deque", 0, 10**15], "F64", "BF16", "F4"),
)


def rewritten(random: Random, text: str) -> str:
    """Return a text of JSON with another value at one or two places."""
    data = [json.loads(text)]
    for _ in range(random.randrange(1, 3)):
        node, key = random.choice([*places(data)])
        word = random.choice((random.choice(HUGE), random.choice(WORDS)))
        node[key] = copy.deepcopy(word)
    return json.dumps(data[0])


def places(node: Any) -> Any:
    """Yield all places of JSON as a container and a key."""
    for key in node if isinstance(node, dict) else range(len(node)):
        yield node, key
        if isinstance(node[key], dict | list):
            yield from places(node[key])


def rewritten_json(random: Random, data: bytes) -> bytes:
    return rewritten(random, data.decode()).encode()


def rewritten_safetensors(random: Random, data: bytes) -> bytes:
    length = int.from_bytes(data[:8], "little")
    table = json.loads(data[8 : 8 + length])
    about = table["__metadata__"]
    if random.random() < 0.5:
        about["leafwise"] = rewritten(random, about["leafwise"])
        text = json.dumps(table)
    else:
        text = rewritten(random, json.dumps(table))
    if random.random() < 0.1:
        length = random.choice((2**40, 2**63, 0, length + 1))
    else:
        length = len(text.encode())
    return length.to_bytes(8, "little") + text.encode() + data[8 + length :]


def rewritten_npz(random: Random, data: bytes) -> bytes:
    made = io.BytesIO()
    method = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w") as new:
        infos = old.infolist()
        wanted = random.choice(infos)
        for info in infos:
            content = old.read(info)
            if info is wanted and info.filename == "leafwise.json":
                content = rewritten(random, content.decode()).encode()
            elif info is wanted:
                content = other_npy(random, content)
            if info is not wanted or random.random() < 0.95:
                new.writestr(info.filename, content, method)
        for info in new.infolist() if random.random() < 0.2 else ():
            info.file_size = random.choice((2**40, 2**31, 0, info.file_size + 1))
    return made.getvalue()


def other_npy(random: Random, data: bytes) -> bytes:
    """Return an array whose header has other words in it."""
    length = int.from_bytes(data[8:10], "little")
    text = data[10 : 10 + length].decode("latin1")
    for _ in range(random.randrange(1, 3)):
        start = random.randrange(len(text))
        words = ("(", ")", "-" * 9000, "9" * 30, ",", "'", "{", "|V", "O", "<U", "1L")
        text = text[:start] + random.choice(words) + text[start + random.randrange(3) :]
    size = len(text).to_bytes(2, "little")
    version = random.choice((data[6:8], data[6:8], b"\2\0", b"\3\0", b"\4\0"))
    return data[:6] + version + size + text.encode("latin1") + data[10 + length :]


REWRITTEN = {
    ".json": rewritten_json,
    ".npz": rewritten_npz,
    ".safetensors": rewritten_safetensors,
}

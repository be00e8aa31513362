"""Files that are loaded like another tree: what fits, and all that does not."""

import json

import pytest

import leafwise as lw
from helpers.peers import peer
from helpers.random_trees import Box, Layer
from leafwise import nn
from leafwise.errors import FileError


np = pytest.importorskip("numpy")


@pytest.fixture(params=[".npz", ".safetensors"])
def path(request, tmp_path):
    """A file of each format with arrays."""
    if request.param == ".safetensors":
        pytest.importorskip("safetensors")
    return tmp_path / f"tree{request.param}"


def state(fill=1.0, width=3, steps=7):
    return {
        "step": steps,
        "layers": [Layer(np.full((2, width), fill), None, name="first"), {"b": "x"}],
        "scale": np.float32(fill),
    }


def test_leaves_are_of_the_file_and_the_rest_of_like(path):
    lw.save(path, state())
    like = state(0, steps=0)
    like["layers"][0] = Layer(np.zeros((2, 3)), None, name="other")
    loaded = lw.load(path, like)
    assert loaded["step"] == 7
    assert type(loaded["step"]) is int
    assert loaded["scale"] == np.float32(1)
    assert loaded["layers"][0].name == "other"
    assert loaded["layers"][0].weight.tolist() == [[1] * 3] * 2
    assert like["step"] == 0


def differences(path, like, **options):
    with pytest.raises(lw.StructureError) as caught:
        lw.load(path, like, **options)
    return list(map(str, caught.value.differences))


def test_all_differences_are_told_at_once(path):
    lw.save(path, state())
    like = {
        "step": 0.0,
        "layers": (Layer(np.zeros((2, 4)), np.zeros(2)), {"c": "x"}),
        "scale": np.zeros((), "f4"),
    }
    assert differences(path, like) == [
        "at ['layers'][0].weight: expected float64[2,4], got float64[2,3]",
        "at ['layers'][0].bias: expected float64[2], got nothing",
        "at ['layers'][1]['c']: expected str, got nothing",
        "at ['scale']: expected float32[], got numpy.float32",
        "at ['step']: expected float, got int",
        "at ['layers[1].b']: expected nothing, got str",
    ]


@pytest.mark.parametrize(
    ("saved", "like", "text"),
    [
        (1, True, "expected bool, got int"),
        (1.0, 1, "expected int, got float"),
        (np.float64(1), 1.0, "expected float, got numpy.float64"),
        (np.int64(1), np.int32(1), "expected numpy.int32, got numpy.int64"),
        (np.zeros(2), 1, "expected int, got float64[2]"),
        (np.zeros(()), 1.0, "expected float, got float64[]"),
        (1, np.zeros(2), "expected float64[2], got int"),
        (np.zeros(2, "f4"), np.zeros(2), "expected float64[2], got float32[2]"),
        (int, 1, "expected int, got the class int"),
        (None, 1, "expected int, got nothing"),
    ],
)
def test_types_count(tmp_path, saved, like, text):
    path = tmp_path / "x.npz"
    lw.save(path, {"a": saved})
    assert text in " ".join(differences(path, {"a": like}))


def test_not_strict_takes_what_there_is(path):
    lw.save(path, state())
    like = {"step": 0, "layers": (Layer(None, 3.5),), "seed": "kept"}
    loaded = lw.load(path, like, strict=False)
    assert loaded == {"step": 7, "layers": (Layer(None, 3.5),), "seed": "kept"}
    like["step"] = 0.5
    assert len(differences(path, like, strict=False)) == 1


def test_names_may_be_changed(path):
    lw.save(path, {"h": [{"w": np.ones(2)}, {"w": np.zeros(2)}], "old": 1, "x": 2})
    like = {"layers": [{"kernel": np.empty(2)}] * 2, "x": 0}
    rename = {f"h[{n}].w": f"layers[{n}].kernel" for n in range(2)}
    text = "at ['layers'][0]['kernel']: expected float64[2], got nothing"
    assert text in differences(path, like)
    loaded = lw.load(path, like, rename={"h": "layers", "old": None}, strict=False)
    assert loaded["x"] == 2
    for new in (rename, {**rename, "h": "nowhere"}):
        with pytest.raises(lw.StructureError):
            lw.load(path, like, rename={**new, "old": "layers"})

    def rename(name):
        return {"old": None}.get(name, name.replace(".w", ".kernel"))

    loaded = lw.load(path, {"h": like["layers"], "x": 0}, rename=rename)
    assert loaded["h"][0]["kernel"].tolist() == [1, 1]
    with pytest.raises(FileError, match="two leaves have the name 'x'"):
        lw.load(path, like, rename={"old": "x"})
    with pytest.raises(TypeError, match="rename needs `like`"):
        lw.load(path, rename={"old": "new"})


class Gone:
    """A class that is registered for a while."""

    def __init__(self, w):
        self.w = w


def test_classes_that_are_not_here_do_not_matter_with_like(path):
    lw.register_pytree_node(
        Gone, lambda gone: ((gone.w,), None, ("w",)), lambda _, xs: Gone(*xs)
    )
    lw.save(path, {"m": Gone(np.ones(2))})
    lw.unregister_pytree_node(Gone)
    with pytest.raises(FileError, match=r"Gone.*as `like`"):
        lw.load(path)
    loaded = lw.load(path, {"m": Layer(None, 1.5)}, strict=False)
    assert loaded["m"].bias == 1.5


# ------------------------------------------------------------------------------- ties


class Model(lw.Pytree):
    def __init__(self, tied, fill=0.0):
        self.embed = nn.Param(np.full(2, fill), axes="d")
        self.head = nn.List([self.embed if tied else nn.Param(np.full(2, fill))])


def test_ties_are_those_of_like(path):
    lw.save(path, Model(True, 1.0))
    loaded = lw.load(path, Model(True))
    assert loaded.embed is loaded.head[0]
    assert loaded.embed.value.tolist() == [1, 1]
    assert differences(path, Model(False)) == [
        "at .head[0].value: expected float64[2], got nothing"
    ]
    lw.save(path, Model(False, 2.0))
    assert differences(path, Model(True)) == [
        "at ['head[0].value']: expected nothing, got float64[2]"
    ]
    assert lw.load(path, Model(True), strict=False).head[0].value.tolist() == [2, 2]


def test_arrays_of_jax_in_several_places_stay_one(path):
    """Also where `like` only describes them, and keys of random numbers."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    array = jnp.arange(1000.0)
    key = jax.random.key(3)
    tree = {"a": array, "b": [array, jnp.arange(1000.0)], "c": key, "d": key}
    lw.save(path, tree)
    assert path.stat().st_size < 10_000
    for like in (tree, jax.eval_shape(lambda: tree)):
        loaded = lw.load(path, like)
        assert loaded["a"] is loaded["b"][0]
        assert loaded["a"] is not loaded["b"][1]
        if like is tree:
            assert loaded["c"] is loaded["d"]
            assert loaded["c"].dtype == key.dtype


def test_tensors_in_several_places_stay_one(path):
    """As one tensor, and as tensors of one memory, which `state_dict` has for ties."""
    torch = peer("torch")
    weight = torch.nn.Parameter(torch.ones(1000, 2))
    view = weight.detach()
    tree = {"a": weight, "b": weight, "view": view, "again": view, "t": view.t()}
    lw.save(path, tree)
    assert path.stat().st_size < 20_000
    loaded = lw.load(path, tree)
    assert loaded["a"] is loaded["b"]
    assert type(loaded["a"]) is torch.nn.Parameter
    assert loaded["view"] is loaded["again"]
    assert type(loaded["view"]) is torch.Tensor
    assert loaded["view"].data_ptr() == loaded["a"].data_ptr()
    assert loaded["t"].tolist() == view.t().tolist()

    model = torch.nn.ModuleDict({"in": torch.nn.Linear(50, 50, bias=False)})
    model["out"] = torch.nn.Linear(50, 50, bias=False)
    model["out"].weight = model["in"].weight
    lw.save(path, model.state_dict())
    assert path.stat().st_size < 12_000
    state = lw.load(path, model.state_dict())
    assert state["in.weight"] is state["out.weight"]
    model.load_state_dict(state)


def test_places_of_one_array_may_be_of_two_libraries(path):
    torch = peer("torch")
    jax = pytest.importorskip("jax")
    array = np.ones(3, "f4")
    lw.save(path, [array] * 5)
    grad = torch.zeros(3, requires_grad=True)
    like = [array, jax.numpy.zeros(3), torch.zeros(3), grad, torch.zeros(3)]
    loaded = lw.load(path, like)
    assert list(map(type, loaded)) == list(map(type, like))
    assert [x.requires_grad for x in loaded[2:]] == [False, True, False]
    assert loaded[2] is loaded[4]
    assert [x.tolist() for x in loaded] == [[1, 1, 1]] * 5


# ----------------------------------------------------------------- files from elsewhere


def test_npz_of_numpy(tmp_path):
    path = tmp_path / "x.npz"
    arrays = {"a.w": np.ones(2), "a.b": np.zeros(()), "n": np.int64(3)}
    for save in (np.savez, np.savez_compressed):
        save(path, **arrays)
        loaded = lw.load(path)
        assert lw.tree_map(lambda x: x.tolist(), loaded) == {
            "a": {"w": [1, 1], "b": 0},
            "n": 3,
        }
        like = {"a": {"w": np.zeros(2), "b": np.zeros(())}, "n": 0}
        assert lw.load(path, like)["n"] == 3
        assert type(lw.load(path, like)["n"]) is int
        renamed = lw.load(path, rename={"a": "b"})
        assert list(lw.to_flat(renamed)) == ["b.w", "b.b", "n"]
    np.savez(path, a=np.array([None]))
    with pytest.raises(FileError, match="contains Python objects"):
        lw.load(path)


def test_numpy_reads_ours(tmp_path):
    path = tmp_path / "x.npz"
    lw.save(path, state())
    with np.load(path, allow_pickle=False) as arrays:
        assert arrays["layers[0].weight"].tolist() == [[1] * 3] * 2
        assert json.loads(arrays["leafwise.json"])["leaves"]["step"] == 7


def test_safetensors_of_the_package(tmp_path):
    package = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "x.safetensors"
    arrays = {"h.0.w": np.ones((2, 2), "f2"), "h.1.w": np.zeros(3, "i1")}
    arrays["n"] = np.ones(())
    package.save_file(arrays, path, metadata={"format": "np"})
    loaded = lw.load(path)
    assert {name: x.dtype for name, x in lw.to_flat(loaded).items()} == {
        name: x.dtype for name, x in arrays.items()
    }
    assert list(loaded["h"]) == ["0", "1"]
    like = {"h": [{"w": np.empty((2, 2), "f2")}, {"w": np.empty(3, "i1")}], "n": 0.0}
    rename = {"h.0": "h[0]", "h.1": "h[1]"}
    loaded = lw.load(path, like, rename=rename)
    assert loaded["n"] == 1.0
    assert loaded["h"][0]["w"].tolist() == [[1, 1]] * 2


def test_the_package_reads_ours(tmp_path):
    package = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "x.safetensors"
    arrays = {
        name: np.arange(6).astype(name).reshape(2, 3)
        for name in ("bool", "uint8", "int64", "float16", "float32", "complex64")
    }
    lw.save(path, {**arrays, "empty": np.zeros((0, 2)), "one": np.ones(()), "n": 3})
    read_arrays = package.load_file(path)
    assert set(read_arrays) == {*arrays, "empty", "one"}
    for name, array in arrays.items():
        assert read_arrays[name].tolist() == array.tolist()
        assert read_arrays[name].dtype == array.dtype


def test_without_a_structure_names_are_paths(path):
    tree = {"in": [Box(np.ones(2), 3)], "v": Model(True)}
    lw.save(path, tree, treedef=False)
    names = ["in[0].item_0", "in[0].item_1", "v.embed.value"]
    assert list(lw.to_flat(lw.load(path))) == names
    loaded = lw.load(path, tree)
    assert loaded["v"].embed is loaded["v"].head[0]
    assert lw.load(path, {"in": [[0, 1]]}, strict=False) == {"in": [[0, 1]]}


# -------------------------------------------------------------------- other libraries


def test_arrays_of_jax(path):
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    tree = {"w": jnp.ones((2, 3), jnp.bfloat16), "n": jnp.int32(3), "s": jnp.zeros(2)}
    lw.save(path, tree)
    assert set(map(type, lw.load(path).values())) == {np.ndarray}
    for like in (tree, jax.eval_shape(lambda: tree)):
        loaded = lw.load(path, like)
        assert all(isinstance(x, jax.Array) for x in loaded.values())
        assert loaded["w"].dtype == jnp.bfloat16
        assert loaded["w"].sharding == tree["w"].sharding
        assert loaded["n"] == 3
    text = "at ['w']: expected float32[2,3], got bfloat16[2,3]"
    assert differences(path, {**tree, "w": jnp.ones((2, 3))}) == [text]


def test_keys_of_jax(path):
    """They are keys again where `like` has keys, else their numbers."""
    jax = pytest.importorskip("jax")
    for impl in ("threefry2x32", "rbg"):
        keys = {"a": [jax.random.split(jax.random.key(3, impl=impl), 2)]}
        lw.save(path, keys)
        (key,) = lw.tree_leaves(lw.load(path, keys))
        (words,) = lw.tree_leaves(lw.load(path))
        assert key.dtype == keys["a"][0].dtype
        assert (words == np.asarray(jax.random.key_data(key))).all()
        assert (jax.random.bits(key[0]) == jax.random.bits(keys["a"][0][0])).all()
    path.unlink()


def test_arrays_that_are_refused(path):
    """Without memory here, or sparse: the error has the path."""
    jax = pytest.importorskip("jax")
    torch = peer("torch")
    deleted = jax.numpy.ones(2)
    deleted.delete()
    sparse = torch.eye(2).to_sparse()
    meta = torch.empty(2, device="meta")
    for leaf in (deleted, sparse, meta):
        with pytest.raises(
            FileError, match=r"\['a'\]\[0\].*only dense arrays of plain"
        ):
            lw.save(path, {"a": [leaf]})
    with pytest.raises(FileError, match="only dense arrays of plain elements"):
        jax.jit(lambda x: lw.save(path, [x]))(1.0)
    assert not path.exists()


def test_states_of_optax(path):
    optax = pytest.importorskip("optax")
    params = {"w": np.ones((2, 3), "f4"), "b": np.zeros(3, "f4")}
    tx = optax.chain(optax.clip(1.0), optax.adamw(optax.linear_schedule(1e-3, 0, 9)))
    saved = tx.init(params)
    lw.save(path, saved)
    for loaded in (lw.load(path), lw.load(path, saved)):
        assert lw.tree_structure(loaded) == lw.tree_structure(saved)
        assert lw.tree_equal(loaded, saved)
    assert type(lw.load(path)) is type(saved)


def test_tensors_of_torch(path):
    torch = peer("torch")
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    tree = {
        "model": model.state_dict(),
        "half": torch.arange(6).reshape(2, 3).to(torch.bfloat16).t(),
        "param": torch.nn.Parameter(torch.ones(2), requires_grad=False),
        "grad": torch.ones(2, requires_grad=True),
    }
    lw.save(path, tree)
    loaded = lw.load(path, tree)
    assert type(loaded["model"]) is type(tree["model"])
    assert loaded["half"].dtype == torch.bfloat16
    assert loaded["half"].tolist() == tree["half"].tolist()
    assert type(loaded["param"]) is torch.nn.Parameter
    assert not loaded["param"].requires_grad
    assert loaded["grad"].requires_grad
    model.load_state_dict(loaded["model"])
    loaded["half"] += 1
    meta = {"half": torch.empty((3, 2), dtype=torch.bfloat16, device="meta")}
    loaded = lw.load(path, meta, strict=False)
    assert loaded["half"].tolist() == tree["half"].tolist()


def test_parameters_in_several_places_are_stored_once(path):
    torch = peer("torch")
    weight = torch.nn.Parameter(torch.ones(1000, 2))
    tree = {"a": weight, "b": weight, "c": weight[:10]}
    lw.save(path, tree)
    assert path.stat().st_size < 10_500
    loaded = lw.load(path, tree)
    assert loaded["b"].tolist() == weight.tolist()
    assert loaded["c"].tolist() == weight[:10].tolist()


def test_a_safetensors_file_of_torch(tmp_path):
    peer("torch")
    package = pytest.importorskip("safetensors.torch")
    import torch

    path = tmp_path / "model.safetensors"
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 2))
    package.save_file(model.state_dict(), path, metadata={"format": "pt"})
    bias = np.empty(2, "f4")
    like = [{"kernel": np.empty(s, "f4"), "b": bias} for s in ((2, 3), (2, 2))]
    kinds = {"weight": "kernel", "bias": "b"}

    def rename(name):
        number, kind = name.split(".")
        return f"[{number}].{kinds[kind]}"

    loaded = lw.load(path, like, rename=rename)
    assert loaded[0]["kernel"].tolist() == model[0].weight.tolist()
    assert loaded[1]["b"].tolist() == model[1].bias.tolist()
    lw.save(path, model.state_dict())
    again = package.load_file(path)
    assert set(again) == {"['0.weight']", "['0.bias']", "['1.weight']", "['1.bias']"}

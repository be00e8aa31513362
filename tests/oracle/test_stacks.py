"""Stacking trees beside jax, torch and numpy themselves."""

import pytest

import leafwise as lw
from leafwise import nn


np = pytest.importorskip("numpy")


@pytest.fixture
def jnp(jax):
    return jax.numpy


@pytest.fixture
def torch(need):
    return need("torch")


@pytest.fixture
def key(jax):
    return jax.random.key


@pytest.fixture
def many(jax):
    """Return a function that makes trees of jax arrays."""

    def make(number, dtype):
        one = jax.random.normal(jax.random.key(number), (2, 3)) * 10
        return {
            "w": one.astype(dtype),
            "more": [(one[0] > 0, None), one[1].astype(dtype)],
        }

    return make


DTYPES = ["bfloat16", "float16", "float32", "int8", "uint32", "bool", "float8_e4m3fn"]


def same(a, b):
    """Return whether trees are the same, types and dtypes too."""
    return lw.tree_equal(a, b, typematch=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_jax(jax, jnp, many, dtype, axis):
    """As `jnp.stack` and `jnp.concatenate` in a map."""
    trees = [many(number, dtype) for number in range(3)]
    stacked = lw.tree_stack(trees, axis)
    wanted = jax.tree.map(lambda *xs: jnp.stack(xs, axis), *trees)
    assert same(stacked, wanted)
    assert stacked["w"].dtype == dtype
    assert same(lw.tree_unstack(stacked, axis), trees)
    joined = lw.tree_concatenate(trees, {"w": axis, "more": 0})
    assert same(joined["w"], jnp.concatenate([tree["w"] for tree in trees], axis))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "int8", "bool"])
def test_torch(torch, dtype):
    """As `torch.stack` and `torch.cat`, gradients included."""
    made = [
        {
            "w": (torch.arange(6).reshape(2, 3) + k).to(getattr(torch, dtype)),
            "b": [None],
        }
        for k in range(3)
    ]
    for axis in (0, 2, -2):
        stacked = lw.tree_stack(made, axis)
        assert torch.equal(stacked["w"], torch.stack([t["w"] for t in made], axis))
        assert same(lw.tree_unstack(stacked, axis), made)
    assert torch.equal(
        lw.tree_concatenate(made, 1)["w"], torch.cat([t["w"] for t in made], 1)
    )
    with pytest.raises(
        lw.StructureError, match=rf"{dtype}\[2,3\] as in tree 0, got uint8"
    ):
        lw.tree_stack([made[0], lw.tree_map(lambda x: x.to(torch.uint8), made[1])])


def test_gradients_of_torch(torch):
    """Flow through, also of parameters."""
    leaves = [torch.nn.Parameter(torch.ones(2)) for _ in range(2)]
    stacked = lw.tree_stack([[leaf] for leaf in leaves])[0]
    (stacked * torch.tensor([[1.0], [2.0]])).sum().backward()
    assert [leaf.grad.tolist() for leaf in leaves] == [[1.0, 1.0], [2.0, 2.0]]


def test_keys_of_jax(jax, key):
    """Stay keys."""
    trees = [{"key": key(number)} for number in range(3)]
    stacked = lw.tree_stack(trees)
    assert stacked["key"].dtype == key(0).dtype
    assert stacked["key"].shape == (3,)
    parts = lw.tree_unstack(stacked)
    assert [jax.random.key_data(part["key"]).tolist() for part in parts] == [
        jax.random.key_data(tree["key"]).tolist() for tree in trees
    ]
    assert lw.tree_concatenate([stacked, stacked])["key"].shape == (6,)
    assert (lw.tree_size(stacked), lw.tree.nbytes(stacked)) == (3, 24)


def test_inside_transforms(jax, jnp):
    """Under jit, grad and vmap of jax; constants of numpy beside what is traced."""

    @jax.jit
    def stacked(trees):
        return lw.tree_stack([*trees, {"w": np.ones(2, "f4")}])

    trees = [{"w": jnp.arange(2.0)}, {"w": jnp.ones(2)}]
    assert stacked(trees)["w"].tolist() == [[0, 1], [1, 1], [1, 1]]

    def loss(trees):
        first, second = lw.tree_unstack(lw.tree_stack(trees, -1), -1)
        return (first["w"] * 2 + second["w"] * 3).sum()

    grads = jax.grad(loss)(trees)
    assert [grad["w"].tolist() for grad in grads] == [[2, 2], [3, 3]]
    batch = lw.tree_stack([trees, trees])
    mapped = jax.vmap(lambda pair: lw.tree_concatenate(pair, 0))(batch)
    assert mapped["w"].shape == (2, 4)
    assert same(lw.tree_unstack(mapped)[0], lw.tree_concatenate(trees))


def test_what_is_not_stacked_inside_jit(jax):
    """Has to be the very same value: two traced ones cannot be compared."""

    def keep(a, b):
        return lw.tree_stack([{"a": a, "b": b}, {"a": a, "b": b}], {"a": None, "b": 0})

    assert jax.jit(keep)(1.0, 2.0)["b"].shape == (2,)
    with pytest.raises(
        lw.StructureError, match=r"at \['a'\]: expected .* \(axis None\)"
    ):
        jax.jit(lambda a, b: lw.tree_stack([{"a": a}, {"a": b}], None))(1.0, 2.0)


def test_libraries_do_not_mix(jax, jnp, torch):
    """But those of numpy and jax, which jax mixes itself."""
    mixed = lw.tree_stack([[np.ones(2, "f4")], [jnp.ones(2)]])[0]
    assert isinstance(mixed, jax.Array)
    with pytest.raises(TypeError, match="no library can join") as caught:
        lw.tree_stack([[np.ones(2, "f4")], [torch.ones(2)]])
    assert caught.value.__notes__ == ["at key path [0]"]
    with pytest.raises(lw.StructureError, match=r"float32\[2\] as in .* got float64"):
        lw.tree_stack([jnp.ones(2), np.ones(2)])


def test_an_ensemble_of_models(jax, jnp, key, optax):
    """What is vmapped over: modules, trees, states of optax."""

    class Linear(nn.Module):
        def __init__(self, number):
            self.w = nn.Param(jax.random.normal(key(number), (3, 2)))
            self.name = "linear"

        def __call__(self, x):
            return x @ self.w

    class Tree(lw.Pytree):
        def __init__(self, number):
            self.w = lw.data(jnp.full((3,), float(number)))
            self.name = "tree"

    x = jnp.ones((4, 3))
    graphs, states = zip(
        *(nn.split(Linear(number)) for number in range(3)), strict=True
    )
    stacked = lw.tree_stack(states)
    out = jax.vmap(lambda state: nn.merge(graphs[0], state)(x))(stacked)
    assert out.shape == (3, 4, 2)
    assert jnp.allclose(out[1], Linear(1)(x))
    models = [Tree(number) for number in range(3)]
    assert lw.tree_equal(lw.tree_unstack(lw.tree_stack(models)), models)
    optimizer = optax.adam(1e-3)
    states = [optimizer.init({"w": jnp.ones(n)}) for n in (2, 2)]
    both = lw.tree_stack(states)
    assert both[0].mu["w"].shape == (2, 2)
    assert both[0].count.dtype == states[0][0].count.dtype
    assert same(lw.tree_unstack(both), states)


def test_sizes(jax, torch, many):
    """Those that jax and torch tell themselves."""
    tree = many(0, "bfloat16")
    leaves = jax.tree.leaves(tree)
    assert lw.tree_size(tree) == sum(x.size for x in leaves)
    assert lw.tree.nbytes(tree) == sum(x.nbytes for x in leaves)
    shapes = jax.eval_shape(lambda: tree)
    assert (lw.tree_size(shapes), lw.tree.nbytes(shapes)) == (
        lw.tree_size(tree),
        lw.tree.nbytes(tree),
    )
    tensor = torch.zeros(2, 3, dtype=torch.bfloat16)
    assert (lw.tree_size([tensor, tensor]), lw.tree.nbytes([tensor])) == (6, 12)

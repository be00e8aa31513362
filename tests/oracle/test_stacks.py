"""Stacking trees beside jax, torch and numpy themselves."""

import pytest

import leafwise as lw


np = pytest.importorskip("numpy")


@pytest.fixture
def jnp(jax):
    return jax.numpy


@pytest.fixture
def torch(need):
    return need("torch")


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
    expected = jax.tree.map(lambda *xs: jnp.stack(xs, axis), *trees)
    assert same(stacked, expected)
    assert stacked["w"].dtype == dtype
    assert same(lw.tree_unstack(stacked, axis), trees)
    joined = lw.tree_concatenate(trees, {"w": axis, "more": 0})
    assert same(joined["w"], jnp.concatenate([tree["w"] for tree in trees], axis))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "int8", "bool"])
def test_torch(torch, dtype):
    """As `torch.stack` and `torch.cat`, gradients included."""
    tensors = [
        {
            "w": (torch.arange(6).reshape(2, 3) + k).to(getattr(torch, dtype)),
            "b": [None],
        }
        for k in range(3)
    ]
    for axis in (0, 2, -2):
        stacked = lw.tree_stack(tensors, axis)
        assert torch.equal(stacked["w"], torch.stack([t["w"] for t in tensors], axis))
        assert same(lw.tree_unstack(stacked, axis), tensors)
    assert torch.equal(
        lw.tree_concatenate(tensors, 1)["w"], torch.cat([t["w"] for t in tensors], 1)
    )
    with pytest.raises(
        lw.StructureError, match=rf"{dtype}\[2,3\] as in the first tree, got uint8"
    ):
        lw.tree_stack(
            [tensors[0], lw.tree_map(lambda x: x.to(torch.uint8), tensors[1])]
        )


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

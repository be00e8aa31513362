"""Fingerprints of trees of jax, flax, optax and torch; beside dask's `tokenize`."""

import pytest

import leafwise as lw
from leafwise.errors import CompareError


np = pytest.importorskip("numpy")


@pytest.fixture
def jnp(jax):
    return jax.numpy


@pytest.fixture
def torch(need):
    return need("torch")


def fp(value):
    return lw.fingerprint([value])


def test_arrays_of_jax(jax, jnp):
    """By dtype, shape and elements; small floats included."""
    names = ["bfloat16", "float16", "float32", "float8_e4m3fn", "float8_e5m2", "int8"]
    names += ["bool", "complex64", "int4", "uint32", "float8_e4m3fnuz"]
    arrays = [jnp.array([1, 0, 2, 3]).astype(name) for name in names]
    arrays += [
        jnp.arange(4),
        jnp.arange(4).reshape(2, 2),
        jnp.zeros((0,)),
        jnp.zeros(()),
    ]
    assert len(set(map(fp, arrays))) == len(arrays)
    for array in arrays:
        assert fp(array + 0 if array.dtype != bool else array | False) == fp(array)
        assert fp(np.asarray(array)) != fp(array)
        if array.size > 1:
            assert fp(array.at[0].set(array[1])) != fp(array)
    view = jnp.arange(12.0).reshape(3, 4).T
    assert fp(view) == fp(jnp.array(np.asarray(view)))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float8_e5m2"])
def test_zeros_and_nan_of_jax(jax, jnp, dtype):
    """One of each, as in `tree_equal`."""
    one = jnp.array([1.0, 0.0, float("nan"), float("inf")], dtype)
    other = jnp.array([1.0, -0.0, -float("nan"), float("inf")], dtype)
    assert fp(one) == fp(other)
    assert fp(one) != fp(-one)


def test_keys_of_jax(jax):
    """By their data and their algorithm."""
    keys = [jax.random.key(0), jax.random.key(1), jax.random.key(0, impl="rbg")]
    keys += [jax.random.key_data(keys[0]), jax.random.split(keys[0])]
    assert len(set(map(fp, keys))) == 5
    assert fp(jax.random.key(0)) == fp(keys[0])


def test_what_is_traced_has_none(jax):
    """Its elements are not known; nor are those of a shape."""
    with pytest.raises(CompareError, match=r"leaf at \[0\] .* jax is tracing"):
        jax.jit(fp)(1.0)
    with pytest.raises(CompareError, match="a library that is not known"):
        fp(jax.ShapeDtypeStruct((2,), "float32"))
    deleted = jax.numpy.arange(3)
    deleted.delete()
    with pytest.raises(RuntimeError, match="Array has been deleted") as caught:
        fp(deleted)
    assert "at key path [0]" in caught.value.__notes__


def test_tensors(torch):
    """By dtype, shape and elements, wherever they stand."""
    kinds = ["bfloat16", "float16", "float32", "float64", "int8", "bool", "complex64"]
    kinds += ["float8_e4m3fn", "float8_e5m2"]
    tensors = [torch.tensor([1, 0, 2]).to(getattr(torch, kind)) for kind in kinds]
    tensors += [torch.arange(3), torch.zeros(()), torch.zeros(0), torch.zeros(2, 2)]
    tensors += [torch.nn.Parameter(torch.zeros(2))]
    assert len(set(map(fp, tensors))) == len(tensors)
    assert {fp(tensor.clone()) for tensor in tensors[:-1]} == set(map(fp, tensors[:-1]))
    cube = torch.arange(24.0).reshape(2, 3, 4)
    for other in (
        cube.mT.contiguous().mT,
        torch.stack([cube, cube], -1)[..., 0],
        cube.clone().requires_grad_(),
        cube.to(memory_format=torch.preserve_format),
    ):
        assert fp(other) == fp(cube)
    turned = torch.tensor([1 + 2j]).conj()
    assert fp(turned) == fp(turned.resolve_conj()) != fp(torch.tensor([1 + 2j]))
    assert fp(torch.float32) != fp(torch.float64)
    assert fp(torch.Size([1, 2])) != fp((1, 2))


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "float64", "float8_e5m2"])
def test_zeros_and_nan_of_torch(torch, kind):
    """One of each."""
    dtype = getattr(torch, kind)
    one = torch.tensor([1.0, 0.0, float("nan"), float("inf")]).to(dtype)
    other = torch.tensor([1.0, -0.0, -float("nan"), float("inf")]).to(dtype)
    assert fp(one) == fp(other)
    assert fp(one) != fp(torch.tensor([2.0, 0.0, 0.0, float("inf")]).to(dtype))

"""Leaves of jax and torch are compared by their content."""

import warnings

import numpy as np
import pytest

import leafwise as lw
from helpers.exact_forms import agreed_equality
from leafwise.equality import exact


NAN = float("nan")


@lw.dataclass
class Static:
    x: object
    info: object = lw.static()


def agreed(a, b, **options):
    """Return the one answer of all functions that compare, both ways round."""
    return agreed_equality({"x": a}, {"x": b}, **options)


def test_arrays_of_jax(jax):
    """By shape, dtype and content, bfloat16 and keys as well."""
    jnp = jax.numpy
    assert agreed(jnp.ones(3), jnp.ones(3))
    assert not agreed(jnp.ones(3), jnp.ones(2))
    assert not agreed(jnp.ones(3), jnp.ones(3, "bfloat16"))
    assert agreed(jnp.array([1, NAN], "bfloat16"), jnp.array([1, NAN], "bfloat16"))
    assert not agreed(jnp.array([NAN]), jnp.array([NAN]), equal_nan=False)
    assert agreed(jnp.ones(3), jnp.ones(3) * 1.001, rtol=0.01)
    assert agreed(jnp.ones(3, "bfloat16"), jnp.ones(3, "bfloat16") * 1.01, rtol=0.05)
    assert agreed(jax.random.key(0), jax.random.key(0))
    assert not agreed(jax.random.key(0), jax.random.key(1))
    assert agreed(jnp.array(2), 2)
    assert not agreed(jnp.int8(1), 1000)
    assert not agreed(jnp.array(True), 1)
    shape = jax.ShapeDtypeStruct((3,), jnp.float32)
    assert agreed(shape, jax.ShapeDtypeStruct((3,), jnp.float32))
    assert not agreed(shape, jnp.ones(3))
    zeros = np.zeros(2, jax.dtypes.float0)
    assert agreed(zeros, zeros.copy())


def test_arrays_of_several_libraries(jax, torch_tree, need):
    """They are the same if shape, dtype and content are, unless types are asked for."""
    torch = need("torch")
    kinds = [np.ones(3, "f4"), jax.numpy.ones(3), torch.ones(3), torch.ones(3)]
    kinds[-1].requires_grad_(True)
    kinds += [torch.nn.Parameter(torch.ones(3))]
    for one in kinds:
        for other in kinds:
            assert agreed(one, other)
            assert agreed(one, other, typematch=True) is (type(one) is type(other))
            assert not agreed(one, other * 2)
            assert agreed(one, other * 1.001, rtol=0.01)
    assert not agreed(np.ones(3), torch.ones(3))
    half = jax.numpy.ones(3, "bfloat16"), torch.ones(3, dtype=torch.bfloat16)
    assert agreed(*half)
    assert not agreed(half[0], half[1] * 2)


def test_tensors_of_torch(need):
    """Wherever they are, with or without gradients, conjugated or sparse."""
    torch = need("torch")
    assert agreed(torch.tensor([1, NAN]), torch.tensor([1, NAN]))
    assert agreed(torch.tensor([1 + 2j]).conj(), torch.tensor([1 - 2j]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of some sparse layouts
        sparse = torch.eye(3).to_sparse()
    assert agreed(sparse, torch.eye(3))
    assert not agreed(torch.ones(2), torch.ones(2, dtype=torch.float64))
    assert agreed(torch.tensor(2.5), 2.5)
    nowhere = torch.ones(3, device="meta")
    assert lw.tree_equal([nowhere], [nowhere])
    assert not lw.tree_equal([nowhere], [torch.ones(2, device="meta")])
    with pytest.raises(
        lw.errors.CompareError, match=r"^at \[1\] cannot tell .* \(two Tensor"
    ):
        lw.tree_equal([1, nowhere], [1, torch.ones(3, device="meta")])


def test_a_traced_comparison_is_a_traced_bool(jax):
    """In jit and vmap; what is known anyway is a plain bool; in grad all is known."""
    jnp = jax.numpy
    answers = []

    def equal(x, y, **options):
        answer = lw.tree_equal({"a": [x, 1]}, {"a": [y, 1]}, **options)
        answers.append(type(answer) is bool)
        return answer

    nan = jnp.array([1, NAN])
    assert bool(jax.jit(equal)(nan, nan + 0)) is True
    assert bool(jax.jit(equal)(nan, jnp.ones(2))) is False
    assert bool(jax.jit(lambda x, y: equal(x, y, equal_nan=False))(nan, nan)) is False
    assert bool(jax.jit(lambda x, y: equal(x, y, atol=0.2))(nan, nan + 0.1)) is True
    assert bool(jax.jit(lambda x, y: equal(x, y, atol=1))(3, 4)) is True
    assert bool(jax.jit(lambda x: equal(x, np.ones(2, "f4")))(jnp.ones(2))) is True
    assert bool(jax.jit(lambda x: equal(x, 1.0))(1.0)) is True
    assert jax.vmap(lambda x: equal(x, 1.0))(jnp.arange(2.0)).tolist() == [False, True]
    assert not any(answers)
    answers.clear()
    assert bool(jax.jit(equal)(nan, jnp.ones(3))) is False
    assert bool(jax.jit(lambda x: equal(x, x))(nan)) is True
    assert bool(jax.jit(lambda x: equal(x, True))(1.0)) is False
    assert bool(jax.jit(lambda x: equal(x, "a"))(1.0)) is False
    assert jax.grad(lambda x: x * equal(x, 2.0))(2.0) == 1.0
    assert all(answers)


def test_a_diff_of_traced_values_is_an_error_with_the_path(jax):
    """It has to know them; so has an assertion."""
    for compare in (lw.tree_diff, lw.testing.assert_trees_equal):
        with pytest.raises(lw.errors.CompareError) as caught:
            jax.jit(lambda x, compare=compare: compare({"a": x}, {"a": 1.0}))(1.0)
        assert str(caught.value) == (
            "at ['a'] cannot tell whether the leaves are equal "
            "(DynamicJaxprTracer and float): jax is tracing, so the values are not "
            "known yet; tree_equal returns a traced bool"
        )
        assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda jax, n: jax.ShapeDtypeStruct((n,), "f4"), id="description"),
        pytest.param(
            lambda jax, n: jax.core.ShapedArray((n,), np.dtype("f4")),
            id="abstract value",
        ),
        pytest.param(lambda jax, n: jax.random.key(n), id="key"),
        pytest.param(lambda jax, n: jax.numpy.array([NAN, n]), id="nan"),
    ],
)
def test_static_values_of_jax(jax, make):
    """Equal ones are equal structure, and a compiled function is traced once."""
    one, same, different = (Static(1.0, make(jax, n)) for n in (1, 1, 2))
    assert lw.tree_map(max, one, same).x == 1.0
    assert lw.tree_structure(one) == lw.tree_structure(same)
    assert hash(lw.tree_structure(one)) == hash(lw.tree_structure(same))
    assert lw.tree_structure(one) != lw.tree_structure(different)
    traced = []
    double = jax.jit(lambda node: traced.append(1) or node.x * 2)
    assert double(one) == double(same) == 2.0
    assert len(traced) == 1
    double(different)
    assert len(traced) == 2


TENSORS = {
    "meta": lambda torch, x: torch.empty(int(x) + 2, device="meta"),
    "coo": lambda torch, x: (torch.eye(2) * x).to_sparse(),
    "csr": lambda torch, x: (torch.eye(2) * x).to_sparse_csr(),
    "csc": lambda torch, x: (torch.eye(2) * x).to_sparse_csc(),
    "bsr": lambda torch, x: (torch.eye(2) * x).to_sparse_bsr((1, 1)),
    "nan": lambda torch, x: torch.tensor([float("nan"), x]),
}


@pytest.mark.filterwarnings("ignore:Sparse .* tensor support is in beta")
@pytest.mark.parametrize("kind", TENSORS)
def test_static_tensors_of_torch(need, kind):
    """Those without elements, with few of them, and with NaN are equal structure."""
    torch = need("torch")
    one, same, different = (
        lw.tree_structure(Static(1, TENSORS[kind](torch, x))) for x in (1.0, 1.0, 3.0)
    )
    assert one == same
    assert hash(one) == hash(same)
    assert one != different


def test_a_tensor_is_not_the_same_as_one_stored_in_another_way(need):
    """Though both have the same elements, or the same shape and dtype."""
    torch = need("torch")
    dense = torch.zeros(2)
    for other in (dense.to_sparse(), torch.zeros(2, device="meta")):
        assert not exact.same(dense, other)
        assert not exact.same(other, dense)


def test_static_sparse_arrays_of_scipy(need):
    """They are compared by their elements."""
    sparse = need("scipy.sparse")
    one, same = (sparse.csr_array(np.eye(2)) for _ in range(2))
    assert exact.same(one, same)
    assert not exact.same(one, sparse.csr_array(np.ones((2, 2))))

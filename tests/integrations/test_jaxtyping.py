"""jaxtyping and beartype look at our trees: annotations of functions and of fields."""

import copy

import pytest

import leafwise as lw
from leafwise import nn


pytest.importorskip("jaxtyping")
pytest.importorskip("beartype")
pytest.importorskip("jax")

import jax
import jax.numpy as jnp
from beartype import beartype
from jaxtyping import (
    Array,
    Float,
    PyTree,
    TypeCheckError,
    jaxtyped,
)


checked = jaxtyped(typechecker=beartype)


class Plain(lw.Pytree):
    def __init__(self, *sizes):
        self.first, self.second = map(jnp.ones, sizes)
        self.name = "plain"


class Model(nn.Module):
    def __init__(self, *sizes):
        self.first, self.second = (nn.Param(jnp.ones(size)) for size in sizes)

    @checked
    def __call__(self, x: Float[Array, "b n"]) -> Float[Array, " b"]:
        return x @ self.first.value


@lw.dataclass
class Affine:
    first: jax.Array
    second: jax.Array
    name: str = lw.static(default="affine")


TREES = {
    "Pytree": Plain,
    "Module": Model,
    "dataclass": lambda *sizes: Affine(*map(jnp.ones, sizes)),
    "List": lambda *sizes: nn.List(map(jnp.ones, sizes)),
    "Dict": lambda a, b: nn.Dict(a=jnp.ones(a), b=jnp.ones(b)),
    "State": lambda *sizes: nn.state(Model(*sizes)),
    "nested": lambda a, b: {"a": [Model(a, b)], "b": (Plain(b, a), None)},
}


@checked
def total(tree: PyTree[Float[Array, " n"]]) -> Float[Array, " n"]:
    return sum(lw.tree_leaves(tree))


@checked
def doubled(tree: PyTree[Float[Array, " n"], "T"]) -> PyTree[Float[Array, " n"], "T"]:
    return lw.tree_map(lambda x: 2 * x, tree)


@pytest.mark.parametrize("make", TREES.values(), ids=TREES)
def test_a_tree_of_ours_is_a_tree_in_annotations(make):
    """Its leaves are looked at, and the names of axes bind across them."""
    assert total(make(3, 3)).shape == (3,)
    assert type(doubled(make(3, 3))) is type(make(3, 3))
    with pytest.raises(TypeCheckError):
        total(make(3, 4))
    assert isinstance(make(3, 4), PyTree[Float[Array, "_"]])
    assert not isinstance(make(3, 3), PyTree[Float[Array, "_ _"]])


@pytest.mark.parametrize("make", TREES.values(), ids=TREES)
def test_structures_are_compared_where_they_have_a_name(make):
    """By jax, so by what is static in an object, too."""

    @checked
    def same(a: PyTree[Float[Array, "..."], "T"], b: PyTree[Float[Array, "..."], "T"]):
        return True

    assert same(make(1, 2), make(3, 4))
    with pytest.raises(TypeCheckError):
        same(make(1, 2), [make(1, 2)])


@pytest.mark.parametrize("base", [object, lw.Pytree, nn.Module])
def test_fields_of_dataclasses_are_checked_when_an_object_is_made(base):
    """And only then: what is rebuilt may have leaves of any type."""

    @checked
    @lw.dataclass
    class Layer(base):
        weight: Float[Array, " n"]
        bias: Float[Array, " n"]
        steps: int = lw.static(default=3)

    instance = Layer(jnp.ones(2), jnp.ones(2))
    assert lw.tree_map(str, instance).weight == str(instance.weight)
    assert jax.tree_util.tree_map(lambda x: None, instance).bias is None
    assert jax.vmap(lambda layer: layer.weight + layer.bias)(instance).shape == (2,)
    assert copy.deepcopy(instance).steps == 3
    with pytest.raises(TypeCheckError):
        Layer(jnp.ones(2), jnp.ones(3))
    with pytest.raises(TypeCheckError):
        Layer(jnp.ones(2), jnp.ones(2), "3")


def test_methods_and_transforms():
    """Decorated in either order; in a transform the tracers are looked at."""
    model = Model(3, 3)
    assert model(jnp.ones((2, 3))).shape == (2,)
    with pytest.raises(TypeCheckError):
        model(jnp.ones(3))

    def loss(model: Model, x: Float[Array, " n"]) -> Float[Array, ""]:
        return (model.first.value * x).sum()

    for step in (nn.jit(checked(loss)), checked(nn.jit(loss))):
        assert step(model, jnp.ones(3)) == 3
        with pytest.raises(TypeCheckError):
            step(model, jnp.ones((3, 3)))
    value, gradients = nn.value_and_grad(checked(loss))(model, jnp.ones(3))
    assert value == 3
    assert gradients.first.value.shape == (3,)

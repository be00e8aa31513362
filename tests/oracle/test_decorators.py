"""Fields that are declared here, in classes that other libraries decorate."""

import dataclasses

import pytest

import leafwise as lw
from leafwise import nn


def body():
    """Return a class with a field of each sort, not decorated yet."""

    class Layer:
        weight: object
        size: int = lw.static(default=3)
        bias: object = lw.data(default=2.0)
        name: str = lw.field(default="a", pytree_node=False)
        scale: float = nn.parameter(default=0.5)
        count: int = nn.state_value(default_factory=lambda: 7)
        label: str = lw.field(default="b", metadata={"static": True, "unit": "m"})
        plain: object = lw.field(default=9)

    return Layer


LEAVES = ["w", 2.0, 0.5, 7, 9]
STATIC = (3, "a", "b")


def by_jax(need):
    util = need("jax.tree_util")
    return lambda cls: util.register_dataclass(dataclasses.dataclass(cls)), util


def by_flax(need):
    return need("flax.struct").dataclass, need("jax.tree_util")


def by_optree(need):
    optree = need("optree")

    class Bound:
        @staticmethod
        def tree_leaves(tree):
            return optree.tree_leaves(tree, namespace="decorated")

        @staticmethod
        def tree_map(f, tree):
            return optree.tree_map(f, tree, namespace="decorated")

    return optree.dataclasses.dataclass(namespace="decorated"), Bound


def by_leafwise(_need):
    return lw.dataclass, lw


@pytest.mark.parametrize("decorated", [by_leafwise, by_jax, by_flax, by_optree])
def test_one_definition_under_each_decorator(need, decorated):
    """The same children, the same static values, the same defaults."""
    decorate, functions = decorated(need)
    cls = decorate(body())
    layer = cls("w")
    assert functions.tree_leaves(layer) == LEAVES
    mapped = functions.tree_map(lambda x: (x,), layer)
    assert type(mapped) is cls
    assert (mapped.size, mapped.name, mapped.label) == STATIC
    assert (mapped.weight, mapped.count) == (("w",), (7,))
    other = cls("w", size=4)
    if hasattr(functions, "tree_structure"):
        structures = map(functions.tree_structure, (layer, other))
        assert len(set(structures)) == 2


def test_under_equinox(equinox, jax):
    """As the base class, where fields are declared in the same way."""

    class Layer(equinox.Module):
        weight: object
        size: int = lw.static(default=3)
        bias: object = lw.data(default=2.0)

    leaves, treedef = jax.tree_util.tree_flatten(Layer("w"))
    assert leaves == ["w", 2.0]
    assert jax.tree_util.tree_unflatten(treedef, leaves).size == 3


@pytest.mark.parametrize("plain", [False, True])
def test_under_flax_nnx(nnx, jax, plain):
    """In a dataclass that is a Pytree there, by its decorator or the plain one."""
    decorate = dataclasses.dataclass if plain else nnx.dataclass

    @decorate
    class Layer(nnx.Pytree):
        weight: object
        size: int = lw.static(default=3)
        bias: object = lw.data(default=2.0)

    ones = jax.numpy.ones(2)
    leaves = jax.tree_util.tree_leaves(Layer(ones))
    assert len(leaves) == 2
    assert 2.0 in leaves

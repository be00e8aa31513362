"""Reading single objects by generated functions: the same as without, always."""

from operator import is_

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from leafwise.core.registry import lookup


class Layer(lw.Pytree):
    def __init__(self):
        self.weight = lw.data(1.0)
        self.size = 2
        self.name = "layer"


def slow(layer):
    """What the object comes apart into without the engine."""
    with lw.engine.disabled():
        return lookup(Layer).flatten(layer)


def change(layer, action, value):
    """Do one of the things that happen to objects."""
    if action == "assign":
        layer.size = value
    elif action == "weight":
        layer.weight = value
    elif action == "write":
        vars(layer)["size"] = value
    elif action == "new":
        layer.extra = lw.data(value)
    elif action == "unseen":
        vars(layer)["other"] = value
    elif action == "delete" and "extra" in vars(layer):
        del layer.extra
    elif action == "kind":
        layer.size = lw.data(value)
    elif action == "back":
        layer.size = lw.static(value)
    elif action == "unlike":
        layer.size = [value]
    elif action == "inside" and type(layer.size) is list:
        layer.size.append(value)


ACTIONS = [
    "assign",
    "weight",
    "write",
    "new",
    "unseen",
    "delete",
    "kind",
    "back",
    "unlike",
    "inside",
    "flatten",
]
VALUES = [1, True, 1.0, 0.0, -0.0, float("nan"), "a", None, (1, 2), (1, [2]), len]


@pytest.mark.parametrize("mode", ["enabled", "eager"])
@given(
    steps=st.lists(st.tuples(st.sampled_from(ACTIONS), st.sampled_from(VALUES))),
    repeat=st.sampled_from([1, 20]),
)
def test_as_without_the_engine(mode, steps, repeat):
    """Whatever was done to an object, it comes apart as the walk says."""
    layers = [Layer(), Layer()]
    with getattr(lw.engine, mode)():
        for action, value in steps:
            change(layers[0], action, value)
            for layer in layers:
                expected = slow(layer)
                for _ in range(repeat):
                    children, aux = lookup(Layer).flatten(layer)
                    assert len(children) == len(expected[0])
                    assert all(map(is_, children, expected[0]))
                    assert aux == expected[1]
                    assert hash(aux) == hash(expected[1])
                    assert repr(aux) == repr(expected[1])


def test_off_means_off():
    """What was made before the engine is switched off is not used."""
    layer = Layer()
    with lw.engine.eager():
        for _ in range(3):
            lookup(Layer).flatten(layer)
    layer._leafwise.fields.read = lambda node: pytest.fail("was used")
    with lw.engine.disabled():
        assert lookup(Layer).flatten(layer)[0] == (1.0,)
    layer._leafwise.fields.read = None

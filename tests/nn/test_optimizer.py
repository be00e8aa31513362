"""`nn.Optimizer` with transformations of one's own, and nothing else installed."""

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn


class Momentum:
    """A transformation that needs no library: as `optax.sgd(rate, momentum)`."""

    def __init__(self, rate=0.5, momentum=0.5):
        self.rate, self.momentum = rate, momentum

    def init(self, params):
        return {"trace": lw.tree_map(lambda x: 0 * x, params), "count": 0}

    def update(self, grads, state, params=None, **extra):
        assert set(extra) <= {"value"}
        trace = lw.tree_map(lambda g, t: g + self.momentum * t, grads, state["trace"])
        updates = lw.tree_map(lambda t: -self.rate * t, trace)
        return updates, {"trace": trace, "count": state["count"] + 1}


class Model(nn.Module):
    def __init__(self):
        self.w = nn.Param(np.ones(2, np.float32))
        self.layers = nn.List([nn.Param(2.0), nn.BatchStat(5.0)])
        self.tied = self.w
        self.register_state("bare", 3.0)


GRADS = {"w": np.array([1.0, 2.0]), "layers": {0: 4.0}}


def values(model):
    return [np.asarray(leaf).tolist() for leaf in lw.tree_leaves(model)]


def test_steps():
    """Values, the state and the count change in place; all else stays."""
    model = Model()
    variable = model.w
    optimizer = nn.Optimizer(model, Momentum(), wrt=nn.Param)
    updates = optimizer.update(model, nn.State(GRADS))
    assert nn.to_pure_dict(updates)["w"].tolist() == [-0.5, -1.0]
    assert model.w is model.tied is variable
    assert model.w.value.tolist() == [0.5, 0.0]
    assert model.w.value.dtype == np.float32
    assert model.layers[0].value == 0.0
    optimizer.update(model, nn.State(GRADS))
    assert model.w.value.tolist() == [-0.25, -1.5]
    assert (model.layers[1].value, model.bare) == (5.0, 3.0)
    assert (int(optimizer.step), optimizer.opt_state["count"].value) == (2, 2)


@pytest.mark.parametrize(
    "grads",
    [
        GRADS,
        nn.State(GRADS),
        nn.State({"w": nn.Param(GRADS["w"]), "layers": {0: nn.Param(4.0)}}),
        {**GRADS, "bare": 7.0, "seen": 1},
    ],
)
def test_gradients_in_all_forms(grads):
    """States, nested dicts, with variables or without; others are passed over."""
    model = Model()
    nn.Optimizer(model, Momentum(), wrt=nn.Param).update(model, grads)
    assert model.w.value.tolist() == [0.5, 0.0]


def test_gradients_as_an_object():
    """One like the model, as a transform of jax returns it."""
    model, grads = Model(), Model()
    grads.w[...], grads.layers[0] = GRADS["w"], nn.Param(4.0)
    nn.Optimizer(model, Momentum(), wrt=nn.Param).update(model, grads)
    assert model.w.value.tolist() == [0.5, 0.0]


def test_what_is_trained():
    """By any filter: kinds, paths, names; bare values too."""
    for wrt in (nn.OfKind(nn.Kind.PARAMETER), nn.Param):
        model = Model()
        model.register_parameter("more", 3.0)
        optimizer = nn.Optimizer(model, Momentum(), wrt=wrt)
        optimizer.update(model, {**GRADS, "more": 2.0})
        assert (model.more, model.bare) == (2.0, 3.0)
    model = Model()
    optimizer = nn.Optimizer(model, Momentum(), wrt=nn.PathContains("layers"))
    optimizer.update(model, {"layers": {0: 2.0, 1: 2.0}})
    assert values(model.layers) == [1.0, 4.0]
    with pytest.raises(ValueError, match=r"wrt=.*Cache.* matches no value in Model"):
        nn.Optimizer(model, Momentum(), wrt=nn.Cache)
    with pytest.raises(ValueError, match=r"for a name use nn.PathContains\('param'\)$"):
        nn.Optimizer(model, Momentum(), wrt="param")


def test_frozen_parameters_are_left_out():
    """As everywhere: they are no parameters for the filter."""
    model = nn.freeze(Model(), nn.filters.PathContains("layers"))
    nn.Optimizer(model, Momentum(), wrt=nn.Param).update(model, {"w": GRADS["w"]})
    assert model.layers[0].value == 2.0
    assert model.w.value.tolist() == [0.5, 0.0]


def test_variables_that_hold_trees():
    """Each number of a list is updated; a dict is none of these and is refused."""

    class Holder(nn.Module):
        def __init__(self, value):
            self.p = nn.Param(value)

    model = Holder([1.0, (2.0,)])
    optimizer = nn.Optimizer(model, Momentum(), wrt=nn.Param)
    optimizer.update(model, {"p": [2.0, (4.0,)]})
    assert model.p.value == [0.0, (0.0,)]
    with pytest.raises(ValueError, match=r"variable at \('p',\) holds a dict"):
        nn.Optimizer(Holder({"a": 1.0}), Momentum(), wrt=nn.Param)


def test_the_state_is_made_of_variables():
    """Of their own types, with the metadata of the parameter."""
    model = Model()
    model.w = nn.Param(np.ones(1), unit="m")
    model.tied = model.w
    optimizer = nn.Optimizer(model, Momentum(), wrt=nn.Param)
    found = nn.to_flat_state(nn.state(optimizer, nn.OptState))
    assert {path: type(held) for path, held in found} == {
        ("opt_state", "count"): nn.OptArray,
        ("opt_state", "trace", "layers", 0): nn.OptVariable,
        ("opt_state", "trace", "w"): nn.OptVariable,
        ("step",): nn.OptState,
    }
    assert optimizer.opt_state["trace"].w.unit == "m"


class Failing(Momentum):
    """A transformation that goes wrong in one way or another."""

    def __init__(self, way):
        super().__init__()
        self.way = way

    def update(self, grads, state, params=None, **extra):
        updates, after = super().update(grads, state, params)
        return {
            "raises": lambda: 1 / 0,
            "state": lambda: (updates, {"trace": after["trace"]}),
            "deeper": lambda: (updates, {**after, "trace": {"w": 1}}),
            "updates": lambda: ({"w": updates["w"]}, after),
            "shape": lambda: ({**updates, "layers": {0: "text"}}, after),
        }[self.way]()


@pytest.mark.parametrize(
    ("way", "error"),
    [
        ("raises", ZeroDivisionError),
        ("state", lw.StructureError),
        ("deeper", lw.StructureError),
        ("updates", lw.StructureError),
        ("shape", TypeError),
    ],
)
def test_nothing_is_changed_if_a_step_fails(way, error):
    """Neither the model nor the state nor the count."""
    model = Model()
    optimizer = nn.Optimizer(model, Failing(way), wrt=nn.Param)
    before = values((model, optimizer))
    with pytest.raises(error):
        optimizer.update(model, GRADS)
    assert values((model, optimizer)) == before


@pytest.mark.parametrize("was", ["trained", "not trained"])
def test_parameters_that_were_frozen_or_unfrozen_since(was):
    """The error says which, and what to do; a step without a state goes on."""
    model = Model()
    frozen = nn.freeze(model, nn.filters.PathContains("w"))
    made_for, now = (model, frozen) if was == "trained" else (frozen, model)
    is_now = "not trained" if was == "trained" else "trained"
    optimizer = nn.Optimizer(made_for, Momentum(), wrt=nn.Param)
    text = rf"\('w',\) was {was} when .*, and is {is_now} now; make a new nn.Optimizer"
    with pytest.raises(lw.StructureError, match=text) as caught:
        optimizer.update(now, GRADS)
    assert caught.value.path == ("w",)
    assert caught.value.__cause__ is not None


def test_a_gradient_that_is_missing():
    """It is named by its path."""
    model = Model()
    optimizer = nn.Optimizer(model, Momentum(), wrt=nn.Param)
    with pytest.raises(lw.StructureError) as caught:
        optimizer.update(model, {"w": GRADS["w"]})
    assert str(caught.value) == (
        "there is no gradient for ('layers', 0); there are: ('w',)"
    )
    assert caught.value.path == ("layers", 0)


def test_what_is_no_transformation():
    """It is told what is missing; and `wrt` has to be said."""
    with pytest.raises(AttributeError, match="has no attribute 'init'"):
        nn.Optimizer(Model(), lambda: 0, wrt=nn.Param)
    with pytest.raises(TypeError, match="wrt"):
        nn.Optimizer(Model(), Momentum())


def test_further_arguments():
    """They are passed on, states as bare values."""
    seen = {}

    class Seeing(Momentum):
        def update(self, grads, state, params=None, **extra):
            seen.update(extra, params=params)
            return super().update(grads, state, params)

    model = Model()
    optimizer = nn.Optimizer(model, Seeing(), wrt=nn.Param)
    optimizer.update(model, GRADS, value=3.0, kept=nn.state(model, nn.BatchStat))
    assert seen["value"] == 3.0
    assert seen["kept"].layers[1] == 5.0
    assert seen["params"].w.tolist() == [1.0, 1.0]

"""Capture: what is stored on the way is returned, and nothing of it stays."""

import dataclasses
import functools

import pytest

import leafwise as lw
from leafwise import nn


class Special(nn.Intermediate):
    pass


class Inner(nn.Module):
    def __call__(self, x):
        self.sow(nn.Intermediate, "seen", x)
        self.sow(Special, "special", -x)
        return self.perturb("at", x) * 2


class Model(nn.Module):
    def __init__(self):
        self.inner = Inner()
        self.w = nn.Param(3.0)

    def __call__(self, x):
        self.sow(nn.Intermediate, "x", x)
        return self.inner(x) * self.w

    def twice(self, x):
        return self(x) + self(x)


def pure(state):
    return nn.to_pure_dict(state)


def whole(model):
    """Return everything that a model is, to compare."""
    return nn.graphdef(model), pure(nn.state(model)), repr(model)


def test_perturbations_that_go_in_do_not_come_out():
    """They are a type of their own, and used where they stand."""
    model = Model()
    before = whole(model)
    out, perturbations = nn.capture(model, nn.Perturbation)(1.0)
    assert (out, pure(perturbations)) == (6.0, {"inner": {"at": 0.0}})
    assert whole(model) == before
    perturbations.inner.at.value = 0.5
    out, seen = nn.capture(model, nn.Intermediate, init=perturbations)(1.0)
    assert out == 9.0
    assert pure(seen) == {"inner": {"seen": (1.0,)}, "x": (1.0,)}
    assert whole(model) == before
    assert perturbations.inner.at.value == 0.5


def test_types_are_told_apart_exactly():
    """A subclass of a type that is wanted is captured where it is wanted itself."""
    model = Model()
    _, seen, special = nn.capture(model, nn.Intermediate, Special)(1.0)
    assert "special" not in seen.inner
    assert pure(special) == {"inner": {"special": (-1.0,)}}
    assert type(special.inner.special) is Special
    _, special = nn.capture(model, "special of captures")(1.0)
    assert pure(special) == {"inner": {"special": (-1.0,)}}


nn.register_variable_name("special of captures", Special, exist_ok=True)


def test_what_was_stored_before_stays():
    """Sown values and perturbations outside of captures are not touched or returned."""
    model = Model()
    model(1.0)
    model.inner.at.value = 0.5
    before = whole(model)
    out, seen = nn.capture(model.twice)(2.0)
    assert out == 30.0  # the perturbation of the model counts: none is captured
    assert pure(seen)["inner"]["seen"] == (2.0, 2.0)
    assert whole(model) == before
    out, made = nn.capture(model, nn.Perturbation)(2.0)
    assert (out, pure(made)) == (12.0, {"inner": {"at": 0.0}})


def test_nothing_stays_if_the_function_fails():
    """Not of the sown values, not of those that were put in."""

    class Failing(Model):
        def __call__(self, x):
            super().__call__(x)
            raise RuntimeError("failed")

    model = Failing()
    before = whole(model)
    with pytest.raises(RuntimeError, match="failed"):
        nn.capture(model, init={"inner": {"at": 1.0}})(1.0)
    assert whole(model) == before


def test_captures_inside_captures():
    """Each has values of its own; the outer one goes on after the inner one."""

    class Outer(nn.Module):
        def __init__(self):
            self.model = Model()

        def __call__(self, x):
            self.sow(nn.Intermediate, "before", x)
            _, inside = nn.capture(self.model)(x)
            self.sow(nn.Intermediate, "count", len(inside))
            return self.model(x + 1)

    outer = Outer()
    _, seen = nn.capture(outer)(1.0)
    assert pure(seen) == {
        "before": (1.0,),
        "count": (2,),
        "model": {"x": (2.0,), "inner": {"seen": (2.0,)}},
    }
    assert pure(nn.state(outer)) == {"model": {"w": 3.0}}


def test_functions_of_a_module():
    """Directly, or with a type as a decorator; the module is the first argument."""

    @nn.capture(nn.Intermediate, nn.Perturbation)
    def run(model, x, *, by):
        """Run it."""
        return model(x) * by

    model = Model()
    out, seen, perturbations = run(model, 1.0, by=2)
    assert (out, [*seen], pure(perturbations)) == (
        12.0,
        ["inner", "x"],
        {"inner": {"at": 0.0}},
    )
    assert run.__doc__ == "Run it."
    out, _ = nn.capture(lambda model: model(1.0))(model)
    assert out == 6.0
    with pytest.raises(TypeError, match=r"first argument .* a module, got list"):
        nn.capture(len)([])
    with pytest.raises(TypeError, match=r"first argument .* a module, got NoneType"):
        nn.capture(len)()
    with pytest.raises(TypeError, match="takes variable types, got Ellipsis"):
        nn.capture(model, ...)
    with pytest.raises(ValueError, match="no type of variables is named 'nothing'"):
        nn.capture(model, "nothing")


def test_a_value_for_no_module_is_refused_before_anything_runs():
    """With its path, and what there is."""
    model, ran = Model(), []
    model.hook = lw.static(ran.append)
    with pytest.raises(lw.StructureError) as caught:
        nn.capture(lambda model: ran.append(1), init={"iner": {"at": 1.0}})(model)
    assert str(caught.value) == (
        "init has a value at ('iner', 'at'), but there is no module at ('iner',): "
        "no item ('iner',); there are: ('inner',), ()"
    )
    assert not ran


def test_modules_that_stand_twice_or_in_a_cycle():
    """They are captured once, with their first path."""
    model = Model()
    model.again = model.inner
    model.me = model
    _, seen = nn.capture(model)(1.0)
    assert pure(seen) == {"x": (1.0,), "inner": {"seen": (1.0,)}}


def test_modules_in_containers_and_objects():
    """Wherever they stand, with the positions and keys that lead there."""

    class Net(nn.Module, pytree=False):
        def __init__(self):
            self.layers = [("first", Inner()), ("second", Inner())]

        def __call__(self, x):
            for _, layer in self.layers:
                x = layer(x)
            return x

    _, seen = nn.capture(Net())(1.0)
    assert pure(seen) == {
        "layers": {0: {1: {"seen": (1.0,)}}, 1: {1: {"seen": (2.0,)}}}
    }


def test_frozen_dataclasses():
    """A module that refuses to be changed can be captured."""

    @dataclasses.dataclass(frozen=True)
    class Frozen(nn.Module):
        size: int

        def __call__(self, x):
            self.sow(nn.Intermediate, "seen", x)
            return self.perturb("p", x)

    model = Frozen(1)
    out, seen = nn.capture(model, nn.Intermediate, init={"p": 2})(1)
    assert (out, pure(seen)) == (3, {"seen": (1,)})
    assert [*vars(model)] == ["size"]
    assert nn.capture(model, init={"p": 2})(1) == 3  # no types: the result alone


def test_functions_of_ones_own_for_sowing():
    """`init_fn` and `reduce_fn` count as ever; names may be those of methods."""

    class Sums(nn.Module):
        def __call__(self, x):
            for value in (x, x):
                stored = self.sow(
                    nn.Intermediate,
                    "sow",
                    value,
                    init_fn=lambda: 10,
                    reduce_fn=lambda a, b: a + b,
                )
            return stored, self.sow(nn.Cache, "other", 1)

    (stored, other), seen = nn.capture(Sums())(2)
    assert (stored, other) == (True, False)
    assert pure(seen) == {"sow": 14}


def test_through_a_transform():
    """What a function stores on objects made for it comes back."""
    pytest.importorskip("jax")
    run = nn.jit(lambda model, x: model(x))
    model = Model()
    before = whole(model)
    out, seen = nn.capture(run)(model, 1.0)
    assert (out, pure(seen)) == (6.0, {"inner": {"seen": (1.0,)}, "x": (1.0,)})
    assert whole(model) == before


def test_functions_of_trees_and_with_bound_arguments():
    """The first argument holds modules, was bound by `partial`, or is named."""
    model = Model()

    def run(models, x):
        return models["a"][0](x)

    expected = {"a": {0: {"inner": {"seen": (1.0,)}, "x": (1.0,)}}}
    for out, seen in (
        nn.capture(run)({"a": [model]}, 1.0),
        nn.capture(run)(models={"a": [model]}, x=1.0),
        nn.capture(functools.partial(run, {"a": [model]}))(1.0),
    ):
        assert (out, pure(seen)) == (6.0, expected)

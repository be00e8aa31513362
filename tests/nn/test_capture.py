"""Capture: what is stored on the way is returned, and nothing of it stays."""

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
    with pytest.raises(TypeError, match="expected a type of variables, got Ellipsis"):
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
        "no item ('iner',); did you mean ('inner',)?"
    )
    assert not ran


def test_through_a_transform():
    """What a function stores on objects made for it comes back."""
    pytest.importorskip("jax")
    run = nn.jit(lambda model, x: model(x))
    model = Model()
    before = whole(model)
    out, seen = nn.capture(run)(model, 1.0)
    assert (out, pure(seen)) == (6.0, {"inner": {"seen": (1.0,)}, "x": (1.0,)})
    assert whole(model) == before

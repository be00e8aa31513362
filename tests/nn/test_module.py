"""`nn.Module`: its methods, its mode, and that its names are free for others."""

import copy
import functools
import inspect
import pickle

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn


class Layer(nn.Module):
    def __init__(self, size, *inner):
        self.size = size
        self.weight = nn.Param(np.full(size, 2.0))
        self.inner = nn.List(inner)


# ------------------------------------------------------------------- the mode


def test_a_module_is_training_unless_something_else_is_said():
    """For all modules inside, in place; a module there and back is as it was."""
    model = Layer(1, Layer(2), Layer(3))
    before = lw.tree_structure(model)
    assert model.is_training
    assert model.eval() is model
    modules = [module for _, module in nn.iter_modules(model)]
    assert not any(module.is_training for module in modules)
    assert "[is_training=False, size=1]" in str(lw.tree_structure(model))
    assert model.eval().train() is model
    assert all(module.is_training for module in modules)
    assert lw.tree_structure(model) == before


@pytest.mark.parametrize(
    "copied",
    [
        copy.copy,
        copy.deepcopy,
        nn.clone,
        lambda model: pickle.loads(pickle.dumps(model)),
        lambda model: lw.tree_map(lambda x: x, model),
        lambda model: nn.merge(*nn.split(model)),
        lambda model: nn.replace(model, size=5),
        lambda model: nn.recursive_map(lambda path, node: node, model),
    ],
)
def test_the_mode_goes_along(copied):
    """It is structure, so it is in every copy, and a copy has a mode of its own."""
    model = Layer(1).eval()
    made = copied(model)
    assert not made.is_training
    assert made.train().is_training
    assert not model.is_training


def test_a_flag_of_ones_own_goes_first():
    """As an attribute, as a field, or in the body of a class."""

    class Own(nn.Module):
        def __init__(self):
            self.is_training = False

    @lw.dataclass
    class Field(nn.Module):
        is_training: bool
        rate: float = 0.5

    class Body(nn.Module):
        is_training = False

    for model in (Own(), Field(False), Body()):
        assert model.is_training is False
        assert model.train().is_training is True
        fresh = lw.tree_structure(model)
        assert model.eval().is_training is False
        model.is_training = True
        assert lw.tree_structure(model) == fresh
        assert not [name for name in vars(model) if name.startswith("_leafwise")]


def test_a_failure_changes_no_mode():
    """An attribute that cannot have its value is found before anything is set."""
    model = Layer(1)
    with pytest.raises(lw.errors.KindError):
        model.eval(size=lw.static(np.ones(1)))
    assert model.is_training
    assert model.size == 1


# ------------------------------------------------------------------- as a tree


def test_what_cannot_be_unflattened():
    """Other numbers of children, the rest of another class, or anything."""
    children, aux = Layer(2).tree_flatten()
    other = type("Other", (nn.Module,), {})()
    for rest, kids in ((aux, children[:1]), (other.tree_flatten()[1], []), (3, [])):
        with pytest.raises(lw.errors.TreeDefError, match="Layer cannot be built from"):
            Layer.tree_unflatten(rest, kids)


# ----------------------------------------------------------------- pure functions


class Counter(nn.Module):
    def __init__(self):
        self.register_state("count", 0)
        self.log = []

    def step(self, by=1):
        self.count += by
        self.log.append(by)
        return self

    def __call__(self, by):
        return self.step(by).count, self


def test_pure_methods_functions_and_modules():
    """The caller's objects are as they were, whatever is called."""
    counter = Counter()

    def stepped(models, by, *, other):
        models["a"].step(by)
        other.step(by)
        return models["a"], other

    made = nn.pure(counter.step)(by=3)
    assert (made.count, made.log) == (3, [3])
    count, made = nn.pure(counter)(4)
    assert (count, made.count) == (4, 4)
    one, other = nn.pure(stepped)({"a": counter}, 5, other=counter)
    assert one is other  # as it was one among the arguments
    assert one.count == 10
    made = nn.pure(functools.partial(Counter.step, counter, by=6))()
    assert made.count == 6
    made = nn.pure(functools.partial(counter.step, by=7))()
    assert made.count == 7
    assert (counter.count, counter.log) == (0, [])


def test_pure_functions_of_other_things():
    """Containers and arrays of NumPy are copied; what is named is passed as it is."""
    array, items, opaque = np.zeros(2), [1], object()

    def change(array, items, opaque):
        array += 1
        items.append(2)
        return array, items, opaque

    made = nn.pure(change)(array, items, opaque)
    assert (made[0].tolist(), made[1], made[2]) == ([1.0, 1.0], [1, 2], opaque)
    assert (array.tolist(), items) == ([0.0, 0.0], [1])


def test_pure_functions_look_as_they_did():
    """Names, docstrings and errors; what cannot be called is refused at once."""

    @nn.pure
    def failing(module):
        """Fail."""
        module.step()
        raise RuntimeError("failed")

    counter = Counter()
    with pytest.raises(RuntimeError, match="failed"):
        failing(counter)
    assert counter.count == 0
    assert (failing.__name__, failing.__doc__) == ("failing", "Fail.")
    with pytest.raises(TypeError, match="takes a function, got int"):
        nn.pure(3)


def test_the_signature_of_a_class_is_that_of_init():
    class Model(nn.Module):
        def __init__(self, size, bias=True):
            self.size = size

    assert str(inspect.signature(Model)) == "(size, bias=True)"
    assert "in_features" in str(inspect.signature(nn.Linear))

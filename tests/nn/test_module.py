"""`nn.Module`: its methods, its mode, and that its names are free for others."""

import copy
import functools
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
    before, text = lw.tree_structure(model), repr(model)
    assert model.is_training
    assert model.eval() is model
    assert [m.is_training for _, m in nn.iter_modules(model)] == [False] * 3
    assert repr(model) == text
    assert lw.tree_structure(model) != before
    assert model.eval().train() is model
    assert [m.is_training for _, m in nn.iter_modules(model)] == [True] * 3
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
        lambda model: model.replace(size=5),
        lambda model: model.apply(lambda module: module),
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
        assert vars(model)["is_training"] is True
        assert model.eval().is_training is False
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


# ------------------------------------------------------- replace, apply, values


def test_apply():
    """Inner modules first, on copies, and what the function returns takes the place."""
    model = Layer(1, Layer(2), Layer(3))
    seen = []

    def grown(module):
        seen.append(module.size)
        module.size += 10
        return module

    made = model.apply(grown)
    assert seen == [2, 3, 1]
    assert [m.size for m in made.inner] == [12, 13]
    assert [m.size for m in model.inner] == [2, 3]
    assert made.weight is not model.weight
    replaced = model.apply(lambda m: "leaf" if m.size == 3 else m)
    assert replaced.inner[1] == "leaf"


def test_apply_wants_a_module_back():
    """A function that changes the copy and forgets to return it is told so."""
    model = Layer(1, Layer(2))
    with pytest.raises(TypeError, match="returned None for a Layer; return the module"):
        model.apply(lambda module: None)


def test_shared_modules_are_applied_once():
    """As they stay one module in the copy."""
    inner = Layer(2)
    model = Layer(1, inner, inner)
    calls = []
    made = model.apply(lambda module: calls.append(module.size) or module)
    assert calls == [2, 1]
    assert made.inner[0] is made.inner[1]


def test_values_out_and_in():
    """Nested dicts by name and position, also with positions as text."""
    model, other = Layer(1, Layer(2)), Layer(1, Layer(2))
    model.weight[...] = np.array([7.0])
    values = model.state_dict()
    assert [*values] == ["weight", "inner"]
    weight = other.weight
    assert other.load_state_dict(values) is other
    assert other.weight is weight
    assert other.weight.value.tolist() == [7.0]
    texts = {"weight": np.zeros(1), "inner": {"0": {"weight": np.ones(2)}}}
    other.load_state_dict(texts)
    assert other.inner[0].weight.value.tolist() == [1.0, 1.0]


def test_values_that_do_not_fit():
    """A missing name, one too many: with its path, and nothing is changed."""
    model = Layer(1, Layer(2))
    before = model.state_dict()
    with pytest.raises(lw.StructureError, match="no value for") as caught:
        model.load_state_dict({"weight": np.zeros(1)})
    assert caught.value.path == ("inner", 0, "weight")
    wrong = {**before, "weight": np.zeros(1), "bias": 1.0}
    with pytest.raises(ValueError, match="bias"):
        model.load_state_dict(wrong)
    assert model.weight.value.tolist() == [2.0]
    assert not hasattr(model, "bias")


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
    assert nn.pure(change, static_argnums=1)(array, items, 3)[1] is items
    assert nn.pure(change, static_argnums=(-2, 7))(array, items, 3)[1] is items
    assert items == [1, 2, 2]
    assert array.tolist() == [0.0, 0.0]


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
    with pytest.raises(TypeError, match="pure takes something to call, got int"):
        nn.pure(3)

"""`nn.Module`: its methods, its mode, and that its names are free for others."""

import copy
import dataclasses
import functools
import pickle

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn


FREE = {
    "eval",
    "is_training",
    "train",
    "tree_flatten",
    "tree_unflatten",
}


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


def test_other_flags_are_set_too():
    """Those of NNX, and further attributes that are given."""

    class Dropout(nn.Module):
        def __init__(self):
            self.deterministic = False
            self.rate = 0.5

    model = Layer(1, Dropout())
    model.eval(rate=0.0)
    dropout = model.inner[0]
    assert (dropout.deterministic, dropout.rate) == (True, 0.0)
    assert (dropout.is_training, model.is_training) == (False, False)
    model.train(is_training=False)
    assert (dropout.deterministic, dropout.is_training) == (False, False)


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


def test_flattening_by_methods():
    """The children in order; a module of any children again."""
    model = Layer(2)
    children, aux = model.tree_flatten()
    assert children == [model.weight, model.inner]
    made = Layer.tree_unflatten(aux, [None, "anything"])
    assert (made.size, made.weight, made.inner) == (2, None, "anything")
    assert type(model).tree_unflatten(aux, iter(children)).weight is model.weight


def test_what_cannot_be_unflattened():
    """Other numbers of children, the rest of another class, or anything."""
    children, aux = Layer(2).tree_flatten()
    other = type("Other", (nn.Module,), {})()
    for rest, kids in ((aux, children[:1]), (other.tree_flatten()[1], []), (3, [])):
        with pytest.raises(lw.errors.TreeDefError, match="Layer cannot be built from"):
            Layer.tree_unflatten(rest, kids)


# ------------------------------------------------------------ names are free


@pytest.mark.parametrize("name", sorted(FREE))
def test_attributes_of_such_names(name):
    """Numbers, arrays, modules and functions, as under any other name."""
    for value, is_data in ((3, False), (np.ones(1), True), (Layer(1), True)):
        model = nn.Module()
        setattr(model, name, value)
        assert getattr(model, name) is value
        assert model.name_to_kind[name].is_data is is_data
        made = lw.tree_map(lambda x: x, model)
        assert type(getattr(made, name)) is type(value)
        assert nn.merge(*nn.split(model)).name_to_kind[name].is_data is is_data
        nn.eval(model)
        nn.train(model)
        assert nn.replace(model, **{name: value}).name_to_kind == model.name_to_kind
        delattr(model, name)
        assert callable(getattr(model, name)) or name == "is_training"


@pytest.mark.parametrize("name", sorted(FREE))
def test_fields_of_such_names(name):
    """A field without a default has none, and may stand before others."""
    namespace = {"__annotations__": {name: object, "x": object}}
    cls = lw.dataclass(type("Fields", (nn.Module,), namespace))
    assert getattr(cls("value", 1), name) == "value"
    with pytest.raises(TypeError, match=f"missing 1 required .*'{name}'"):
        cls(x=1)
    below = lw.dataclass(type("Below", (cls,), {"__annotations__": {"y": object}}))
    assert getattr(below("value", 1, 2), name) == "value"
    assert [f.name for f in dataclasses.fields(below)] == [name, "x", "y"]


def test_calling_the_method_that_is_hidden():
    """By `super()`, or from the class."""

    class Loud(nn.Module):
        def __init__(self):
            self.train = self.size = 3

        def eval(self):
            return "loud", super().eval()

    model = Loud()
    assert model.eval() == ("loud", model)
    assert not model.is_training
    assert nn.Module.train(model).is_training
    assert model.train == 3


# --------------------------------------------------- what an attribute becomes


class Lazy(nn.Module):
    """A module whose parts are numbers and None until it is called."""

    def __init__(self):
        self.layer, self.weight, self.label = None, 0, "none"


def test_what_held_a_number_becomes_what_the_value_is():
    """A module, an array, a variable: with its kind, and in the order it came."""
    model = Lazy()
    assert lw.tree_leaves(model) == []
    model.weight = np.ones(2)
    model.layer = Layer(1)
    model.label = nn.Param(0.5)
    assert {name: kind.name for name, kind in model.name_to_kind.items()} == {
        "layer": "MODULE",
        "weight": "DATA",
        "label": "PARAMETER",
    }
    assert len(lw.tree_leaves(model)) == 3
    model.layer = 3
    assert model.name_to_kind["layer"] is nn.Kind.MODULE


@pytest.mark.parametrize(
    "copied",
    [
        lambda model: model,
        copy.copy,
        copy.deepcopy,
        nn.clone,
        lambda model: pickle.loads(pickle.dumps(model)),
        lambda model: lw.tree_map(lambda x: x, model),
        lambda model: nn.merge(*nn.split(model)),
        lambda model: nn.merge(*pickle.loads(pickle.dumps(nn.split(model)))),
        lambda model: lw.tree_unflatten(
            pickle.loads(pickle.dumps(lw.tree_structure(model))), []
        ),
        lambda model: lw.PyTreeDef.from_json(
            lw.tree_structure(model).to_json()
        ).unflatten([]),
    ],
)
def test_what_was_said_to_be_static_stays_so(copied):
    """By a mark, at first or later, also in copies; what was not said changes."""
    model = Marked()
    model.late = lw.static(model.late)
    made = copied(model)
    for name in ("said", "late"):
        with pytest.raises(
            lw.errors.KindError, match=f"Cannot assign data to Marked.{name}"
        ):
            setattr(made, name, np.ones(1))
        with pytest.raises(lw.errors.KindError):
            nn.set_attributes(made, **{name: np.ones(1)})
    made.open = np.ones(1)
    assert made.name_to_kind["open"] is nn.Kind.DATA
    made.said = lw.data(np.ones(1))
    made.said = 3
    assert made.name_to_kind["said"] is nn.Kind.DATA
    del made.late
    made.late = 3
    made.late = np.ones(1)


class Marked(nn.Module):
    def __init__(self):
        self.said, self.late, self.open = lw.static(3), 4, 5


def test_structures_do_not_ask_how_it_was_said():
    """Two modules with the same static values have the same structure."""
    one, other = Lazy(), Lazy()
    one.weight = lw.static(0)
    assert lw.tree_structure(one) == lw.tree_structure(other)
    assert hash(lw.tree_structure(one)) == hash(lw.tree_structure(other))


def test_what_is_declared_stays_so():
    """By an annotation, or a field."""

    class Annotated(nn.Module):
        size: nn.Static[int]

        def __init__(self):
            self.size = 3

    @lw.dataclass
    class Field(nn.Module):
        size: int = lw.static(default=3)

    for model in (Annotated(), Field()):
        with pytest.raises(lw.errors.KindError, match="static by declaration"):
            model.size = np.ones(1)
        assert model.size == 3


def test_what_becomes_data_in_many_attributes():
    """Also where an object has a layout of its own."""
    model = nn.Module()
    for i in range(300):
        setattr(model, f"a{i}", lw.static(i) if i % 2 else i)
    model.a0 = np.ones(1)
    with pytest.raises(lw.errors.KindError):
        model.a1 = np.ones(1)
    again = lw.tree_map(lambda x: x, model)
    again.a2 = np.ones(1)
    with pytest.raises(lw.errors.KindError):
        again.a3 = np.ones(1)
    assert len(lw.tree_leaves(again)) == 2


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

"""`nn.Module`: its methods, its mode, and that its names are free for others."""

import copy
import dataclasses
import pickle
from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn


FREE = {
    "apply",
    "eval",
    "is_training",
    "load_state_dict",
    "replace",
    "state_dict",
    "summary",
    "train",
    "tree_flatten",
    "tree_unflatten",
}


class Layer(nn.Module):
    def __init__(self, size, *inner):
        self.size = size
        self.weight = nn.Param(np.full(size, 2.0))
        self.inner = lw.List(inner)


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


def test_functions_and_methods_are_the_same():
    """`nn.eval` and `nn.train` go through any tree."""
    tree = {"a": [Layer(1)], "b": Layer(2)}
    nn.eval(tree)
    assert not tree["a"][0].is_training
    nn.train(tree["b"])
    assert tree["b"].is_training
    assert not tree["a"][0].is_training


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
    with pytest.raises(lw.KindError):
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
        with pytest.raises(lw.TreeDefError, match="Layer cannot be made of"):
            Layer.tree_unflatten(rest, kids)


# ------------------------------------------------------- replace, apply, values


def test_replace():
    """A copy; kinds are kept and values checked."""
    model = Layer(1)
    made = model.replace(size=9)
    assert (made.size, model.size) == (9, 1)
    assert made.weight is model.weight
    with pytest.raises(AttributeError, match=r"no attribute 'sizes'; did you mean 'si"):
        model.replace(sizes=1)


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


def test_summary():
    """The text of the function."""
    model = Layer(1, Layer(2))
    assert model.summary() == nn.summary(model)


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
    with pytest.raises(lw.StructureError, match="no values for: ") as caught:
        model.load_state_dict({"weight": np.zeros(1)})
    assert caught.value.path == ("inner", 0, "weight")
    wrong = {**before, "weight": np.zeros(1), "bias": 1.0}
    with pytest.raises(ValueError, match="bias"):
        model.load_state_dict(wrong)
    assert model.weight.value.tolist() == [2.0]
    assert not hasattr(model, "bias")


# ------------------------------------------------------------ names are free


def test_which_names_give_way():
    """All that Module adds, but those that were always there."""
    kept = {"name_to_kind", "perturb", "sow"}
    added = {name for name in vars(nn.Module) if not name.startswith("_")}
    registering = {name for name in added if name.startswith("register_")}
    assert added - registering == FREE | kept


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
def test_names_in_classes_and_their_bases(name):
    """A method, a value, a property, also of a base after `Module`."""
    theirs = {name: lambda self: "theirs"}
    mixin = type("Mixin", (), theirs)
    for cls in (
        type("Defines", (nn.Module,), theirs),
        type("Inherits", (nn.Module, mixin), {}),
        type("Before", (mixin, nn.Module), {}),
        type("Below", (type("Inherits", (nn.Module, mixin), {}),), {}),
    ):
        assert getattr(cls(), name)() == "theirs"
        assert getattr(cls, name)(None) == "theirs"
    for held, expected in (
        (7, 7),
        (property(lambda self: "of a property"), "of a property"),
        (classmethod(lambda cls: cls), None),
    ):
        cls = type("Has", (nn.Module, type("Mixin", (), {name: held})), {})
        found = getattr(cls(), name)
        assert found == expected if expected is not None else found() is cls


@pytest.mark.parametrize("decorate", [lw.dataclass, dataclasses.dataclass])
@pytest.mark.parametrize("name", sorted(FREE))
def test_fields_of_such_names(decorate, name):
    """A field without a default has none, and may stand before others."""
    namespace = {"__annotations__": {name: object, "x": object}}
    cls = decorate(type("Fields", (nn.Module,), namespace))
    assert getattr(cls("value", 1), name) == "value"
    with pytest.raises(TypeError, match=f"missing 1 required .*'{name}'"):
        cls(x=1)
    below = decorate(type("Below", (cls,), {"__annotations__": {"y": object}}))
    assert getattr(below("value", 1, 2), name) == "value"
    assert [f.name for f in dataclasses.fields(below)] == [name, "x", "y"]


def test_annotated_names_are_the_users():
    """An attribute that is not there yet is not there."""

    class Lazy(nn.Module):
        summary: object
        apply: object

        def build(self):
            if not hasattr(self, "summary"):
                self.summary = Layer(1)
            return self.summary

    lazy = Lazy()
    assert not hasattr(lazy, "apply")
    assert not hasattr(Lazy, "apply")
    assert lazy.build() is lazy.summary
    with pytest.raises(AttributeError, match="Lazy has no value for 'apply'"):
        lazy.apply  # noqa: B018


def test_abstract_methods_are_asked_for():
    """An abstract base after `Module` is not satisfied by the method of that name."""

    class Applies(ABC):
        @abstractmethod
        def apply(self): ...

    with pytest.raises(TypeError, match="abstract"):
        type("Forgets", (nn.Module, Applies), {})()
    made = type("Does", (nn.Module, Applies), {"apply": lambda self: 3})()
    assert made.apply() == 3


def test_protocols_with_such_names():
    """What a protocol defines is the user's, and comes first."""

    class Sums(Protocol):
        def summary(self) -> str:
            return "of the protocol"

    assert type("Model", (nn.Module, Sums), {})().summary() == "of the protocol"


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
    assert nn.Module.summary(model) == nn.summary(model)


@pytest.mark.parametrize("name", sorted(FREE))
def test_sowing_under_such_names(name):
    """As under any name that is free, twice; also while it is captured."""

    class Sower(nn.Module):
        def __call__(self, x):
            self.sow(nn.Intermediate, name, x)
            return self.perturb(name, x) if x is None else x

    module = Sower()
    module(1)
    module(2)
    assert getattr(module, name).value == (1, 2)
    _, seen = nn.capture(Sower())(3)
    assert nn.to_pure_dict(seen) == {name: (3,)}


def test_names_that_are_taken_stay_taken():
    """Methods of the user, and those that modules always had."""

    class Sower(nn.Module):
        def train(self): ...

    for name in ("train", "sow", "register_state"):
        with pytest.raises(ValueError, match=f"Expected '{name}' of Sower to be a Var"):
            Sower().sow(nn.Intermediate, name, 1)


def test_help_sees_methods():
    """Documentation, signatures, and types that have them."""
    assert nn.Module.train.__doc__.startswith("Put this module")
    assert "replace" in dir(nn.Module)
    assert nn.Module.is_training.__doc__.startswith("Return whether")
    assert not hasattr(lw.Pytree, "train")

"""Classes of trees with protocols, abstract and generic classes as further bases."""

import abc
import copy
import typing

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn


T = typing.TypeVar("T")
BASES = [lw.Pytree, nn.Object, nn.Module, nn.List, nn.Dict, nn.Sequential]


class Callable(typing.Protocol):
    def __call__(self, x): ...


@typing.runtime_checkable
class Sized(typing.Protocol):
    size: int

    def area(self) -> int:
        return self.size * self.size


class Generic(typing.Protocol[T]):
    def get(self) -> T: ...


class Abstract(abc.ABC):
    @abc.abstractmethod
    def area(self): ...


class Square(lw.Pytree, Sized):
    def __init__(self, size):
        self.size = size
        self.w = np.ones(1)


class First(Sized, lw.Pytree):
    """The protocol comes first."""

    def __init__(self, size):
        self.size = lw.data(size)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("further", [Callable, Sized, Generic, Generic[int]])
def test_a_protocol_can_be_a_base(base, further):
    """Whichever comes first; the class makes instances as ever."""
    for bases in ((base, further), (further, base)):

        class Made(*bases):
            pass

        made = Made()
        assert isinstance(made, base)
        assert lw.tree_structure(made) == lw.tree_structure(Made())
        assert not getattr(Made, "_is_protocol", False)


def test_methods_of_a_protocol_are_inherited():
    """And the class answers for the protocol, structurally or by its base."""
    square = Square(3)
    assert square.area() == 9
    assert isinstance(square, Sized)
    assert [str(path) for path in lw.tree_paths(square)] == [".w"]
    assert [str(path) for path in lw.tree_paths(First(3))] == [".size"]
    assert First(3).area() == 9


def test_abstract_methods_must_be_there():
    """With `ABC` as a base, and without."""

    class Missing(lw.Pytree, Abstract):
        pass

    class Own(lw.Pytree):
        @abc.abstractmethod
        def area(self): ...

    class Whole(nn.Module, Abstract):
        def area(self):
            return 1

    for cls in (Missing, Own):
        with pytest.raises(TypeError, match="abstract"):
            cls()
    assert Whole().area() == 1


def test_generic_classes():
    """Subscripted or not, of one's own or of a protocol; dataclasses too."""

    class Box(lw.Pytree, typing.Generic[T]):
        def __init__(self, content: T):
            self.content = lw.data(content)

    @lw.dataclass
    class Field(lw.Pytree, typing.Generic[T]):
        content: T = lw.data()

    class Sub(Box[int], Generic[int]):
        pass

    for cls in (Box, Box[int], Field, Field[int], Sub):
        assert lw.tree_leaves(cls(1.5)) == [1.5]
        assert "__orig_class__" not in vars(cls(1.5))


# --------------------------------------------------------------------- subscripts


@pytest.mark.parametrize(
    "cls",
    [
        nn.Variable,
        nn.Param,
        nn.BatchStat,
        nn.Cache,
        nn.Intermediate,
        nn.Perturbation,
        nn.GraphDef,
        nn.FlatState,
        nn.List,
        nn.Dict,
    ],
)
def test_a_class_can_say_what_is_in_it(cls):
    """`Param[float]` is an annotation, and stands for the class."""
    alias = cls[float]
    assert typing.get_origin(alias) is cls
    assert typing.get_args(alias) == (float,)


def test_states_say_what_is_in_them():
    """Keys and values; making one by the alias adds no item."""
    assert typing.get_args(nn.State[str, nn.Param]) == (str, nn.Param)
    assert dict(nn.State[str, int]({"a": 1})) == {"a": 1}


def test_variables_made_by_a_subscripted_type():
    """They are of the type itself, and have no metadata of it."""
    made = nn.Param[float](1.0, unit="m")
    assert type(made) is nn.Param
    assert made.get_metadata() == {"unit": "m"}
    assert lw.tree_structure(made) == lw.tree_structure(nn.Param(2.0, unit="m"))


def test_a_subscripted_type_is_a_filter():
    """As the type without it."""
    model = nn.Dict(w=nn.Param(1.0), n=nn.Cache(2))
    assert [*nn.state(model, nn.Param[float])] == ["w"]
    assert nn.filters.predicate(nn.Param[int]) == nn.filters.OfType(nn.Param)
    module = nn.Module()
    module.sow(nn.Intermediate[float], "seen", 1.0)
    assert type(module.seen) is nn.Intermediate


class Delegating(nn.Module):
    """Asks another object for what it has not."""

    def __init__(self):
        self.inner = nn.Dict(a=1)

    def __getattr__(self, name):
        return getattr(self.inner, name)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, nn.clone])
def test_an_object_that_delegates_is_copied(copied):
    """Nothing is asked of the copy before it has its attributes."""
    assert copied(Delegating()).a == 1

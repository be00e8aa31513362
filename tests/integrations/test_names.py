"""Classes are named in errors whatever their metaclass says of their names."""

import pytest

from leafwise import integrations, nn
from leafwise.errors import RegistryError
from leafwise.integrations import numpy


class Meta(type):
    """Its classes do not tell their names."""

    __name__ = property(lambda cls: cls.__qualname__)

    def __getattribute__(cls, name):
        if name == "__qualname__":
            raise AttributeError(name)
        return super().__getattribute__(name)


Odd = Meta("Odd", (), {"__repr__": lambda self: "odd"})


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: integrations.register_mapping(Odd),
            "Odd is not a subclass of Mapping",
        ),
        (lambda: integrations.register_sequence(Odd), "is not a subclass of Sequence"),
        (lambda: integrations.register_attrs(Odd), "Odd is not an attrs class"),
        (lambda: integrations.register_model(Odd), "Odd is not a pydantic model"),
        (lambda: integrations.treedef_from(Odd()), "no treedef of .*: Odd"),
        (
            lambda: nn.jit(Odd()),
            "takes a function, got Odd: odd",
        ),
        (lambda: numpy.ravel([Odd()]), "neither a number nor an array of numbers: Odd"),
    ],
)
def test_it_is_named(call, text):
    """Short, as errors say it."""
    with pytest.raises((TypeError, RegistryError), match=text):
        call()

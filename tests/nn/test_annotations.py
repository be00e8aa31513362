"""Kinds declared as text, as every annotation of this module is."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Annotated, Final, Optional, Union

import numpy as np
import pytest

import leafwise as lw
import leafwise.nn as trees
from leafwise import nn
from leafwise.nn import Data, Kind, Static
from leafwise.nn import Data as D


if TYPE_CHECKING:
    from somewhere import Nothing

    from leafwise.nn import Data as Hidden

    Data_ = Hidden

Weight = Annotated[float, Kind.PARAMETER]


class Known(lw.Pytree):
    a: nn.Data[int]
    b: Data[int]
    c: trees.Data[Nothing]
    d: D[list[Nothing]]
    e: "Data[int]"
    f: Data[int] | None
    g: Optional[nn.Data[Nothing]]
    h: Union[None, Data[int]]
    i: Final[Data[int]]
    j: Annotated[int, Kind.DATA]
    k: typing.Annotated[Nothing, "note", nn.Kind.STATE]
    l: Weight  # noqa: E741
    m: elsewhere.Data[int]
    n: Data


class Unknown(lw.Pytree):
    a: Static[int]
    b: Nothing
    c: int
    d: list[Data[int]]
    e: Nothing[Data[int]]
    g: Data_


@pytest.mark.parametrize("name", "abcdefghijklmn")
def test_declared(name):
    """Each of these says that the attribute is data."""
    obj = Known()
    setattr(obj, name, 1)
    assert lw.tree_leaves(obj) == [1]


@pytest.mark.parametrize("name", "abcdeg")
def test_not_declared(name):
    """None of these does."""
    obj = Unknown()
    setattr(obj, name, 1)
    assert lw.tree_leaves(obj) == []


def test_finer_kinds():
    """`Annotated` with a kind says which."""
    obj = Known()
    obj.k = obj.l = 1
    assert nn.name_to_kind(obj) == {"k": Kind.STATE, "l": Kind.PARAMETER}


def test_dataclasses_with_text():
    """Dataclasses read the same annotations."""

    @lw.dataclass
    class Layer(lw.Pytree):
        w: Data[Nothing]
        name: str = "n"
        x: Static[Nothing] = 0

    layer = Layer(1)
    assert lw.tree_leaves(layer) == [1]
    with pytest.raises(lw.errors.KindError):
        layer.x = np.ones(1)

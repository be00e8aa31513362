"""Dataclasses as nodes."""

import dataclasses
import functools
import re
from dataclasses import InitVar
from typing import Generic, TypeVar

import pytest

import leafwise as lw
from leafwise import nn
from leafwise.errors import RegistryError


T = TypeVar("T")


def message(error):
    return str(error.value)


def test_rebuilding_runs_no_constructor():
    """A `__post_init__` that would refuse placeholders does not see them."""

    @lw.dataclass(frozen=True)
    class Checked:
        x: float

        def __post_init__(self):
            if not isinstance(self.x, float):
                raise TypeError("x must be a float")

    mark = object()
    assert lw.tree_map(lambda _: mark, Checked(1.0)).x is mark
    assert lw.tree_map(lambda _: None, [Checked(1.0)])[0].x is None


def test_init_can_be_asked_for():
    """`init=True` rebuilds through the constructor, checks included."""

    @dataclasses.dataclass
    class Checked:
        x: int
        name: str = dataclasses.field(default="a", metadata={"static": True})

        def __post_init__(self):
            if self.x < 0:
                raise ValueError("negative")

    lw.register_dataclass(Checked, init=True)
    assert lw.tree_map(lambda x: x + 1, Checked(1, "b")) == Checked(2, "b")
    with pytest.raises(ValueError, match="negative") as error:
        lw.tree_map(lambda x: -x, [Checked(1)])
    assert error.value.__notes__ == ["at key path [0]"]


def test_fields_without_init_and_init_vars():
    """An `init=False` field is a child like any other; an InitVar is no field."""

    @lw.dataclass
    class Scaled:
        x: float
        scale: InitVar[float]
        scaled: float = dataclasses.field(init=False)

        def __post_init__(self, scale):
            self.scaled = self.x * scale

    node = Scaled(2.0, 10.0)
    assert lw.tree_leaves(node) == [2.0, 20.0]
    assert lw.tree_map(lambda x: x + 1, node).scaled == 21.0


@pytest.mark.parametrize(
    ("field", "text"),
    [
        pytest.param(
            lambda: lw.static(metadata={"static": False}),
            "kind=Kind.STATIC, metadata={'static': False}",
            id="static, not static",
        ),
        pytest.param(
            lambda: lw.data(metadata={"pytree_node": False}),
            "kind=Kind.DATA, metadata={'pytree_node': False}",
            id="data, no node",
        ),
        pytest.param(
            lambda: lw.field(metadata={"pytree_node": True, "static": True}),
            "metadata that disagrees: {'pytree_node': True, 'static': True}",
            id="a node, and static",
        ),
        pytest.param(
            lambda: nn.parameter(metadata={"kind": nn.Kind.STATE}),
            "kind=Kind.PARAMETER, metadata={'kind': <Kind.STATE: 'state'>}",
            id="two kinds",
        ),
        pytest.param(
            lambda: lw.field(metadata={"kind": "unit"}),
            "metadata 'kind' is the kind of the field, a Kind, got 'unit'",
            id="not a kind",
        ),
    ],
)
def test_metadata_that_disagrees_is_refused(field, text):
    """Both sides are named."""
    with pytest.raises(ValueError, match=re.escape(text)):
        field()


@pytest.mark.parametrize("decorate", [lw.dataclass, lw.register_dataclass])
def test_a_mark_is_no_default(decorate):
    """It marks a value of a `Pytree`; the error has the declaration to write."""

    @dataclasses.dataclass
    class Length:
        metres: float
        unit: str = lw.static("m")

    with pytest.raises(RegistryError, match=r"Length .*write static\(default='m'\)$"):
        decorate(Length)

    @lw.dataclass
    class Module(lw.Pytree):
        unit: str = lw.static("m")

    assert Module().unit == "m"


@dataclasses.dataclass
class Three:
    x: int = 1
    y: list[int] = dataclasses.field(default_factory=list)
    z: int = 3


@pytest.mark.parametrize(
    ("lists", "text"),
    [
        (
            {"data_fields": ["x"]},
            "register_dataclass of Three was given only one of the two lists; give "
            "meta_fields too, an empty one if there are no such fields",
        ),
        (
            {"data_fields": ["x"], "meta_fields": []},
            "register_dataclass of Three was not given fields 'y', 'z'; add them to "
            "data_fields, meta_fields or drop_fields",
        ),
        (
            {"data_fields": ["x", "x"], "meta_fields": ["y", "z"]},
            "register_dataclass of Three was given field 'x' twice; a field is either "
            "data, meta or dropped",
        ),
        (
            {"data_fields": ["x", "y", "w"], "meta_fields": ["z"]},
            "Three has no field 'w'; its fields are: x, y, z",
        ),
        (
            {"data_fields": ["x", "y", 3], "meta_fields": ["z"]},
            "data_fields of Three must be names of fields, got 3",
        ),
        (
            {"data_fields": ["x", "y z"], "meta_fields": []},
            "data_fields of Three must be names of fields, got 'y z'",
        ),
        (
            {"drop_fields": ["w"]},
            "Three has no field 'w'; its fields are: x, y, z",
        ),
    ],
    ids=str,
)
def test_wrong_lists_of_fields_are_refused(lists, text):
    """Missing, unknown and doubled fields are refused, and nothing is stored."""
    with pytest.raises(RegistryError) as error:
        lw.register_dataclass(Three, **lists)
    assert message(error) == text
    assert not lw.is_registered(Three)


def test_dropped_fields_get_their_defaults():
    """A dropped field is neither child nor aux data, and fresh when rebuilt."""
    lw.register_dataclass(Three, ["x"], ["z"], drop_fields="y", namespace="dropping")
    node = Three(1, [5], 7)
    again = lw.tree_map(lambda x: x + 1, node, namespace="dropping")
    assert again == Three(2, [], 7)


def test_other_classes_need_lists():
    """A class that is no dataclass is told so; with lists it is a node."""

    class Plain:
        def __init__(self, x, name):
            self.x = x
            self.name = name

    with pytest.raises(RegistryError, match="is not a dataclass; make it one, or give"):
        lw.register_dataclass(Plain)
    lw.register_dataclass(Plain, ["x"], ["name"])
    assert lw.tree_map(lambda x: x + 1, Plain(1, "n")).x == 2


def test_a_decorator_with_arguments():
    """Instead of the class, as `lw.dataclass` takes them."""

    @lw.register_dataclass(meta_fields=["name"], data_fields=["x"])
    @dataclasses.dataclass
    class Named:
        x: int
        name: str

    @lw.register_dataclass(init=True)
    @dataclasses.dataclass
    class Checked:
        x: int

    @lw.register_dataclass()
    @dataclasses.dataclass
    class Bare:
        x: int

    assert lw.tree_flatten(Named(1, "a"))[0] == [1]
    assert lw.tree_leaves([Checked(2), Bare(3)]) == [2, 3]
    with pytest.raises(RegistryError, match="only one of the two"):
        lw.register_dataclass(data_fields=["x"])(Named)


@pytest.mark.parametrize("options", [{}, {"frozen": True}, {"unsafe_hash": True}])
def test_attributes_outside_of_fields_are_lost_with_one_warning(options):
    """At the first flatten of the class, in the line of the caller."""

    @lw.dataclass(**options)
    class Total:
        x: int
        start: InitVar[int] = 0

        def __post_init__(self, start):
            object.__setattr__(self, "total", self.x + start)
            object.__setattr__(self, "_hidden", 1)

    node = Total(1, 2)
    text = "Total sets attributes that are not fields, .* lacks them: total, _hidden;"
    with pytest.warns(UserWarning, match=text) as warnings:
        again = lw.tree_map(abs, [node])[0]
    assert [warning.filename for warning in warnings] == [__file__]
    assert not hasattr(again, "total")
    for _ in range(100):
        assert lw.tree_leaves([Total(1, 2)]) == [1]


def test_attributes_that_are_not_lost():
    """Fields, cached properties, what Python sets, and with `init=True` all."""

    @lw.dataclass
    class Generous(Generic[T]):
        x: T
        total: T = dataclasses.field(init=False)

        def __post_init__(self):
            self.total = self.x

        @functools.cached_property
        def double(self):
            return 2 * self.x

    node = Generous[int](3)
    assert node.double == 6
    assert lw.tree_map(abs, node).double == 6

    @lw.register_dataclass(init=True)
    @dataclasses.dataclass
    class Made:
        x: int

        def __post_init__(self):
            self.total = self.x

    assert lw.tree_map(lambda x: -x, Made(1)).total == -1


def test_classes_with_listed_attributes_warn_too():
    class Box:
        def __init__(self, x, label):
            self.x = x
            self.label = label

    lw.register_dataclass(Box, ["x"], [])
    with pytest.warns(UserWarning, match="Box sets attributes .*: label;"):
        lw.tree_leaves(Box(1, "b"))


def test_init_vars_cannot_be_rebuilt_by_init():
    @dataclasses.dataclass
    class Scaled:
        x: int
        by: InitVar[int] = 2

        def __post_init__(self, by):
            self.x *= by

    with pytest.raises(RegistryError, match="does not keep its InitVar 'by'"):
        lw.register_dataclass(Scaled, init=True)
    lw.register_dataclass(Scaled)
    assert lw.tree_map(lambda x: x, Scaled(3)).x == 6


def test_a_field_that_was_never_set_is_named():
    """By whatever reads it; what a property raises is no such field."""

    @lw.dataclass
    class Half:
        a: int
        b: int = lw.field(init=False)

    note = (
        "'b' is a field of test_a_field_that_was_never_set_is_named.<locals>.Half that "
        "was never set: flattening reads all fields, so __init__ or __post_init__ has "
        "to set it"
    )
    for f in (lw.tree_leaves, lw.tree_structure, lambda tree: lw.at(tree)["**"].get()):
        with pytest.raises(AttributeError) as error:
            f({"x": [Half(1)]})
        assert error.value.__notes__[0] == note

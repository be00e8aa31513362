"""Overrides of attributes that have a declared type."""

import dataclasses
import datetime
import enum
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NewType,
    Optional,
    TypedDict,
    TypeVar,
    Union,
)

import numpy as np
import pytest

import leafwise as lw
from leafwise import override
from leafwise.errors import EditError


class Mode(enum.Enum):
    """How to run."""

    FAST = "fast"
    EXACT = 2


class Table(TypedDict, total=False):
    """A typed dict."""

    size: float
    names: list[str]


T = TypeVar("T")
Count = NewType("Count", int)


@lw.dataclass
class Typed:
    """A field for each sort of annotation."""

    i: int = 1
    f: float = 1.0
    c: complex = 1j
    b: bool = False
    s: str = "x"
    maybe: int | None = None
    old: Optional[float] = None  # noqa: UP045  # as many still write it
    either: Union[int, str] = "auto"  # noqa: UP007
    number: float | int = 1.5
    flag: bool | int = 0
    lit: Literal["a", 3, None] = "a"
    mode: Mode = Mode.FAST
    modes: list[Mode] = dataclasses.field(default_factory=lambda: [Mode.FAST])
    path: PurePosixPath | None = None
    day: datetime.date | None = None
    ints: list[int] = dataclasses.field(default_factory=lambda: [1])
    floats: tuple[float, ...] = (1.0,)
    pair: tuple[int, str] = (1, "a")
    table: dict[str, float] = dataclasses.field(default_factory=lambda: {"a": 1.0})
    typed: Table = dataclasses.field(default_factory=lambda: {"size": 1.0})
    names: set[str] = dataclasses.field(default_factory=set)
    wide: Sequence[float] | None = None
    deep: Mapping[str, list[float]] = dataclasses.field(default_factory=dict)
    count: Count = Count(1)
    noted: Annotated[float, "of some unit"] = 1.0
    mixed: list[float] | dict = dataclasses.field(default_factory=list)
    plain: list = dataclasses.field(default_factory=list)
    null: int = None
    anything: Any = 1
    unknown: T = 1
    static: float = lw.static(default=1.0)
    shared: ClassVar[int] = 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("i=3", 3), ("f=1", 1.0), ("f=nan", float("nan")), ("c=2", 2 + 0j),
        ("b=1", True), ("b=off", False), ("s=[a]", "[a]"), ("s=5", "5"),
        ("s=null", "null"), ("maybe=3", 3), ("maybe=null", None), ("old=2", 2.0),
        ("either=5", 5), ("either=five", "five"), ("either='5'", "5"),
        ("number=1", 1), ("number=0.5", 0.5), ("flag=1", 1), ("flag=true", True),
        ("flag=yes", True), ("lit=3", 3), ("lit=a", "a"), ("lit=null", None),
        ("mode=EXACT", Mode.EXACT), ("mode=fast", Mode.FAST), ("mode=2", Mode.EXACT),
        ("modes=[EXACT, fast]", [Mode.EXACT, Mode.FAST]),
        ("path=a/b", PurePosixPath("a/b")),
        ("day=2026-11-22", datetime.date(2026, 11, 22)),
        ("ints=[1, 2]", [1, 2]), ("ints[0]=5", [5]), ("floats=[1, 2]", (1.0, 2.0)),
        ("floats[0]=3", (3.0,)), ("pair=[2, b]", (2, "b")), ("pair[1]=7", (1, "7")),
        ("table={b: 1}", {"b": 1.0}), ("table.a=2", {"a": 2.0}),
        ("typed={size: 1, names: [a, b]}", {"size": 1.0, "names": ["a", "b"]}),
        ("typed.size=2", {"size": 2.0}), ("names=[a, b]", {"a", "b"}),
        ("wide=[1]", [1.0]), ("wide=null", None), ("deep={a: [1]}", {"a": [1.0]}),
        ("count=2", 2), ("noted=2", 2.0), ("null=null", None), ("null=1", 1),
        ("mixed={a: 1}", {"a": 1}), ("mixed=[1]", [1.0]), ("plain=[1, a]", [1, "a"]),
        ("anything=0.5", 0.5), ("unknown=0.5", 0.5), ("static=2", 2.0),
    ],
)  # fmt: skip
def test_a_declared_type_decides(text, value):
    """In objects, and below them in containers; of several types, the one that fits."""
    changed = override([Typed()], f"[0].{text}")[0]
    attribute = getattr(
        changed, text.partition("=")[0].partition("[")[0].partition(".")[0]
    )
    assert repr(attribute) == repr(value) or attribute == value != value
    assert type(attribute) is type(value)


@pytest.mark.parametrize(
    ("text", "declared"),
    [
        ("i=0.5", "int"), ("i=null", "int"), ("i=true", "int"), ("f=x", "float"),
        ("b=2", "bool"), ("b=null", "bool"), ("maybe=abc", "int | None"),
        ("maybe=0.5", "int | None"), ("lit=b", "['a', 3, None]"), ("mode=q", "Mode"),
        ("modes=[q]", "list[<enum 'Mode'>]"), ("day=x", "date | None"),
        ("ints=[0.5]", "list[int]"), ("ints=5", "list[int]"), ("ints[0]=0.5", "int"),
        ("table.a=x", "float"), ("table={a: x}", "dict[str, float]"),
        ("pair[0]=a", "int"), ("wide=x", "Sequence[float]"),
        ("deep={a: 1}", "Mapping[str, list[float]]"),
        ("noted=x", "float"), ("static=x", "float"),
    ],
)  # fmt: skip
def test_what_is_not_of_the_declared_type(text, declared):
    """Is an error with the place, the type and the value that is there."""
    with pytest.raises(EditError) as error:
        override([Typed()], f"[0].{text}")
    message = str(error.value)
    where = f"[0].{text.partition('=')[0]}"
    assert f"; the value at {where} is " in message
    assert "is not of the declared type " in message
    if "[<" not in declared:
        assert declared in message


def test_types_that_say_nothing_leave_it_to_the_value():
    """Names that are not there at run time, arrays, classes of others."""
    types = {"a": "Missing", "b": int, "c": np.ndarray, "d": Plainly}
    fields = [(name, sort, 1) for name, sort in types.items()]
    plain = dataclasses.make_dataclass("Plain", fields)
    cls = lw.register_dataclass(plain)
    changed = override(cls(), ["a=0.5", "b=2", "c=0.5", "d=3"])
    assert (changed.a, changed.b, changed.c, changed.d) == (0.5, 2, 0.5, 3)
    assert override(cls(), "b=0.5").b == 0.5  # one name is not there
    lw.unregister_pytree_node(cls)


class Plainly:
    """A class that says nothing about texts."""


def test_a_dtype_is_a_declared_type():
    """A scalar of numpy stays what it is."""
    assert override({"a": np.int64(1)}, "a=2")["a"].dtype == np.int64
    with pytest.raises(EditError, match=r"'0\.5' is not an int64"):
        override({"a": np.int64(1)}, "a=0.5")


@pytest.mark.parametrize(
    ("tree", "text", "value"),
    [
        ({"python": ["3.9", "3.10"]}, "+python[2]=3.20", 3.2),
        ({"python": ["3.9", "3.10"]}, "+python[2]='3.20'", "3.20"),
        ({"optim": {"name": "adam"}}, "+optim.lr=0.1", 0.1),
        ({"optim": {"name": "adam"}}, "++optim.lr=0.1", 0.1),
        ({"optim": {"name": "adam"}}, "+optim.lr='0.1'", "0.1"),
        ({"deps": {"serde": "1.0"}}, "+deps.rand=true", True),
        ({"deps": {"serde": 1}}, "+deps.rand=0.8", 0.8),
        ({"deps": {}}, "+deps.rand=0.8", 0.8),
        ({"name": "x"}, "+deps.rand=0.8", 0.8),
        ({"python": ["3.9", "3.10"]}, "+python[2]=[3]", [3]),
    ],
)
def test_an_added_number_is_a_number(tree, text, value):
    """Whatever is beside it; a string in quotes is a string."""
    changed = override(tree, text)
    where = text.lstrip("+").partition("=")[0]
    assert lw.tree_equal(lw.at(changed)[where].get(), value, typematch=True)

"""Dicts merged onto objects, and overrides of what has a declared type."""

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
    NamedTuple,
    NewType,
    Optional,
    TypedDict,
    TypeVar,
    Union,
)

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from leafwise.errors import EditError, PathError


DELETE = lw.DELETE
merge = lw.tree_merge
override = lw.configs.override


@lw.dataclass(frozen=True)
class Optim:
    """A frozen dataclass with a static field."""

    lr: float = 0.1
    betas: tuple = (0.9, 0.99)
    name: str = lw.static(default="adam")


@lw.dataclass(slots=True)
class Run:
    """A dataclass with slots, whose constructor takes more than its fields."""

    optim: Optim = dataclasses.field(default_factory=Optim)
    steps: int = 10
    extra: dict = dataclasses.field(default_factory=dict)
    none: Any = None
    scale: dataclasses.InitVar[int] = 1

    def __post_init__(self, scale):
        self.steps *= scale


class Pair(NamedTuple):
    """A named tuple."""

    left: Any
    right: Any = 2


# ------------------------------------------------------------- dicts onto objects


@pytest.mark.parametrize(
    ("overlay", "path", "said"),
    [
        ({"optim": {"rl": 1}}, ".optim.rl", r"Optim at \.optim has no field 'rl'; it"),
        ({3: 1}, "[3]", "the Run at the root has no field 3; it has "),
        ({"steps": DELETE}, "", "the Run at the root has a fixed number of children"),
        ({"scale": 2}, ".scale", "has no field 'scale'"),
        ({"steps": {"a": 1}}, ".steps", r"a dict onto the leaf 10 at \.steps"),
        ({"optim": 3}, ".optim", r"cannot merge the leaf 3 onto an Optim at \.optim"),
        ({"optim": [3]}, ".optim", r"cannot merge a list onto an Optim at \.optim"),
    ],
)  # fmt: skip
def test_what_cannot_be_merged(overlay, path, said):
    """Says where, and the names that there are, the nearest first."""
    run = Run()
    with pytest.raises(EditError, match=said) as error:
        merge(run, overlay)
    assert str(error.value.path) == path
    assert run == Run()


def test_policies_apply_to_fields():
    """An object keeps its fields; which value wins, and what else remains, is said."""
    run, overlay = Run(steps=1), {"steps": 2, "unknown": 3, "optim": {"lr": 9.0}}
    for join in ("left", "inner"):
        made = merge(run, overlay, join=join)
        assert (made.steps, made.optim.lr, made.extra) == (2, 9.0, {})
    for join in ("outer", "right"):
        with pytest.raises(EditError, match="has no field 'unknown'"):
            merge(run, overlay, join=join)
        assert merge(run, {"steps": 2}, join=join) == Run(steps=2)
    del overlay["unknown"]
    assert merge(run, overlay, conflict="base") is run
    with pytest.raises(EditError, match=r"0\.1 and 9\.0 differ at \.optim\.lr"):
        merge(run, overlay, conflict="error")
    made = merge(run, overlay, rules={"steps": lambda a, b: a + b, "optim": "base"})
    assert made == Run(steps=3)
    assert merge(run, {"a": 1}, rules={"": "overlay"}) == {"a": 1}
    assert merge(run, {"a": 1}, rules={"": "base"}) is run
    made = merge(run, {"optim": {"betas": (1,)}}, lists="extend")
    assert made.optim.betas == (0.9, 0.99, 1)


def test_a_leaf_with_fields_says_how_to_register():
    """In edits and overrides; a dict is merged into it nevertheless."""

    @dataclasses.dataclass
    class Plain:
        x: int = 1

    for edit in (
        lambda: merge(Plain(), [2]),
        lambda: lw.at(Plain())["x"].set(2),
        lambda: override(Plain(), "x=2"),
    ):
        with pytest.raises(
            (EditError, PathError),
            match=r"Plain is a dataclass that is not registered; use leafwise\.datacl",
        ) as error:
            edit()
        assert "to add it" not in str(error.value)
    assert merge(Plain(), {"x": 2}) == Plain(2)


@lw.dataclass(frozen=True)
class Loose:
    """A dataclass whose fields may be anything."""

    lr: Any = 0.1
    betas: Any = ()
    name: Any = lw.static(default="adam")


values = st.recursive(
    st.integers() | st.text(max_size=2) | st.none(),
    lambda inner: (
        st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
        | st.builds(Pair, inner, inner)
        | st.builds(Loose, inner, inner, st.sampled_from("xy"))
    ),
    max_leaves=6,
)


def as_dict(tree):
    """Return a tree with dicts in place of objects."""
    if isinstance(tree, Pair):
        return {"left": as_dict(tree.left), "right": as_dict(tree.right)}
    if isinstance(tree, Loose):
        names = ("lr", "betas", "name")
        return {name: as_dict(getattr(tree, name)) for name in names}
    if isinstance(tree, dict):
        return {key: as_dict(value) for key, value in tree.items()}
    return tree


def overlaid(base, overlay):
    """Merge dicts plainly, where there are only dicts."""
    if not (isinstance(base, dict) and isinstance(overlay, dict)):
        return overlay
    both = {**base, **overlay}
    shared = base.keys() & overlay.keys()
    return {k: overlaid(base[k], overlay[k]) if k in shared else both[k] for k in both}


@given(values, st.data())
def test_merging_onto_objects_is_merging_onto_their_dicts(tree, data):
    """Whatever is changed; the classes stay."""
    full = as_dict(tree)

    def some(node):
        if not isinstance(node, dict):
            same = st.sampled_from([7, "new", None])
            return data.draw(same)
        kept = data.draw(st.sets(st.sampled_from([*node] or ["a"]), max_size=2))
        return {key: some(node[key]) for key in sorted(kept & node.keys())}

    overlay = some(full)
    merged = merge(tree, overlay)
    assert as_dict(merged) == overlaid(full, overlay)
    if isinstance(full, dict):
        assert type(merged) is type(tree)
        again = merge(tree, full)
        assert (again, type(again)) == (tree, type(tree))


# ----------------------------------------------------------------- declared types


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
    made = override([Typed()], f"[0].{text}")[0]
    found = getattr(made, text.partition("=")[0].partition("[")[0].partition(".")[0])
    assert repr(found) == repr(value) or found == value != value
    assert type(found) is type(value)


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
    where = f"[0].{text.partition('=')[0]}".replace(".a", "['a']").replace(
        ".size", "['size']"
    )
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
    made = override(cls(), ["a=0.5", "b=2", "c=0.5", "d=3"])
    assert (made.a, made.b, made.c, made.d) == (0.5, 2, 0.5, 3)
    assert override(cls(), "b=0.5").b == 0.5  # one name is not there
    lw.unregister_pytree_node(cls)


class Plainly:
    """A class that says nothing about texts."""


def test_what_a_constructor_refuses_says_where():
    """Where rebuilding calls it."""

    @dataclasses.dataclass
    class Strict:
        size: int

        def __post_init__(self):
            if self.size < 0:
                raise ValueError("too small")

    lw.register_dataclass(Strict, init=True)
    for edit in (
        lambda: lw.at([Strict(1)])["[0].size"].set(-1),
        lambda: merge([Strict(1)], [{"size": -1}], lists="position"),
        lambda: override([Strict(1)], "[0].size=-1"),
    ):
        with pytest.raises(ValueError, match="too small") as error:
            edit()
        assert error.value.__notes__ == ["at key path [0]"]
    lw.unregister_pytree_node(Strict)


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
    made = lw.configs.override(tree, text)
    where = text.lstrip("+").partition("=")[0]
    assert lw.tree_equal(lw.at(made)[where].get(), value, typematch=True)

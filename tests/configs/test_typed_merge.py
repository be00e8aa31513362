"""Files merged into objects whose classes declare types."""

import collections
import dataclasses
import datetime
import enum
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Optional

import numpy as np
import pytest

import leafwise as lw
from leafwise.errors import EditError


merge = lw.tree_merge


class Mode(enum.Enum):
    FAST = "fast"
    EXACT = 2


@lw.dataclass
class Optim:
    lr: float = 0.1
    name: str = lw.static(default="adam")


@dataclasses.dataclass
class Plain:  # which is not registered
    size: int = 1
    optim: Optim = dataclasses.field(default_factory=Optim)
    derived: int = dataclasses.field(default=0, init=False)

    def __post_init__(self):
        self.derived = self.size + 1


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:  # which is not registered
    size: int = 1
    names: tuple[str, ...] = ()


@lw.dataclass
class Config:
    steps: int = 10
    opt: Optim = dataclasses.field(default_factory=Optim)
    other: Optional[Optim] = None  # noqa: UP045  # as many write it
    either: int | Optim = 3
    optims: list[Optim] = dataclasses.field(default_factory=list)
    by_name: dict[str, Optim] = dataclasses.field(default_factory=dict)
    by_rank: dict[int, str] = dataclasses.field(default_factory=lambda: {0: "a"})
    sizes: dict[str, int] = dataclasses.field(default_factory=dict)
    pair: tuple[int, str] = (1, "a")
    floats: Sequence[float] = (1.0,)
    names: set[str] = dataclasses.field(default_factory=set)
    queue: collections.deque[int] = dataclasses.field(default_factory=collections.deque)
    plain: Plain = dataclasses.field(default_factory=Plain)
    frozen: Frozen | None = None
    mode: Mode = Mode.FAST
    word: Literal["a", 2] = "a"
    path: PurePosixPath = PurePosixPath("a")
    day: datetime.date | None = None
    flag: bool = False
    anything: Any = 1
    thing: object = 1
    array: float = 0.0


@pytest.mark.parametrize(
    ("overlay", "value"),
    [
        ({"steps": 20}, 20),
        ({"steps": "20"}, 20),
        ({"opt": {"lr": 1}}, Optim(1.0)),
        ({"opt": {"lr": "1e-3", "name": "sgd"}}, Optim(0.001, "sgd")),
        ({"opt": Optim(2.0)}, Optim(2.0)),
        ({"other": {"lr": 1}}, Optim(1.0)),
        ({"other": None}, None),
        ({"either": {"lr": 1}}, Optim(1.0)),
        ({"either": "4"}, 4),
        ({"optims": [{"lr": 1}, {}, Optim(3.0)]}, [Optim(1.0), Optim(), Optim(3.0)]),
        ({"by_name": {"a": {"lr": 1}}}, {"a": Optim(1.0)}),
        ({"by_rank": {"1": "b"}}, {0: "a", 1: "b"}),
        ({"by_rank": {"0": "b"}}, {0: "b"}),
        ({"sizes": {1: "2"}}, {"1": 2}),
        ({"pair": ["2", "b"]}, (2, "b")),
        ({"floats": [1, 2]}, [1.0, 2.0]),
        ({"names": ["a", "b"]}, {"a", "b"}),
        ({"queue": [1, "2"]}, collections.deque([1, 2])),
        ({"plain": {"size": "3"}}, dataclasses.replace(Plain(), size=1)),
        ({"frozen": {"size": 3, "names": ["a"]}}, Frozen(3, ("a",))),
        ({"mode": "EXACT"}, Mode.EXACT),
        ({"mode": 2}, Mode.EXACT),
        ({"word": 2}, 2),
        ({"path": "b/c"}, PurePosixPath("b/c")),
        ({"day": "2026-11-22"}, datetime.date(2026, 11, 22)),
        ({"flag": "yes"}, True),
        ({"anything": {"a": [1]}}, {"a": [1]}),
        ({"thing": "x"}, "x"),
    ],
)
def test_values_are_cast_to_declared_types(overlay, value):
    """Objects are made of dicts, also in lists, dicts and optional fields."""
    config = Config()
    (name,) = overlay
    if name == "plain":
        value.size = 3  # not `derived`: nothing runs its `__post_init__`
    merged_value = getattr(merge(config, overlay), name)
    assert merged_value == value
    assert type(merged_value) is type(value)
    deep = merge({"run": {"a": config}}, {"run": {"a": overlay}})
    assert getattr(deep["run"]["a"], name) == value
    assert config.steps == 10
    assert config.plain == Plain()


@pytest.mark.parametrize(
    ("overlay", "path", "message"),
    [
        ({"steps": "fast"}, ".steps", "'fast' at steps is not of the declared type "),
        ({"steps": 0.5}, ".steps", "0.5 at steps is not of the declared type int"),
        ({"steps": True}, ".steps", "True at steps is not of the declared type int"),
        ({"steps": None}, ".steps", "None at steps is not of the declared type int"),
        (
            {"opt": {"lr": "fast"}}, ".opt.lr",
            "'fast' at opt.lr is not of the declared type float",
        ),
        ({"opt": {"name": 1}}, ".opt.name", "1 at opt.name is not of the declared ty"),
        ({"opt": {"rl": 1}}, ".opt.rl", "the Optim at opt has no field 'rl'; it has "),
        (
            {"other": {"lr": "x"}}, ".other.lr",
            "'x' at other.lr is not of the declared type float",
        ),
        (
            {"other": {"rl": 1}}, ".other",
            "{'rl': 1} at other is not of the declared type Optim: it has no field",
        ),
        (
            {"optims": [{}, {"lr": "x"}]}, ".optims[1].lr",
            "'x' at optims[1].lr is not of the declared type float",
        ),
        ({"optims": {"lr": 1}}, ".optims", "cannot merge a dict onto a list at optim"),
        ({"optims": [3]}, ".optims[0]", "3 at optims[0] is not of the declared type "),
        (
            {"by_name": {"a": {"lr": "x"}}}, ".by_name['a'].lr",
            "'x' at by_name.a.lr is not of the declared type float",
        ),
        (
            {"by_rank": {"x": "b"}}, ".by_rank['x']",
            "'x' at by_rank.x is not of the declared type int",
        ),
        ({"sizes": {"a": "x"}}, ".sizes['a']", "'x' at sizes.a is not of the decl"),
        ({"pair": [1]}, ".pair", "[1] at pair is not of the declared type tuple[int, s"
                                 "tr]: it has 1 item, not 2"),
        ({"pair": ["x", "a"]}, ".pair[0]", "'x' at pair[0] is not of the declared ty"),
        ({"floats": "x"}, ".floats", "cannot merge the leaf 'x' onto a tuple at flo"),
        ({"plain": {"size": "x"}}, ".plain.size", "'x' at plain.size is not of the d"),
        ({"plain": {"x": 1}}, ".plain.x", "the Plain at plain has no field 'x'; it h"),
        ({"mode": "slow"}, ".mode", "'slow' at mode is not of the declared type Mo"),
        ({"word": "b"}, ".word", "'b' at word is not of the declared type typing.Lit"),
        ({"day": "x"}, ".day", "'x' at day is not of the declared type date | None"),
        ({"flag": 1}, ".flag", "1 at flag is not of the declared type bool"),
    ],
)  # fmt: skip
def test_what_is_not_of_the_declared_type(overlay, path, message):
    """It is an error with the path."""
    with pytest.raises(EditError) as error:
        merge({"run": Config()}, {"run": overlay})
    assert str(error.value.path) == f"['run']{path}"
    where = message.replace(" at ", " at run.", 1)
    assert str(error.value).startswith(where)


def test_a_tuple_keeps_its_declared_length():
    """However lists are merged."""
    for lists in ("extend", "position"):
        with pytest.raises(EditError, match=r"at pair .* items, not 2"):
            merge(Config(), {"pair": [1, "b", 3]}, lists=lists)
    assert merge(Config(), {"pair": [3]}, lists="position").pair == (3, "a")


def test_lists_of_objects():
    """Items are merged or made, as the lists are."""
    config = Config(optims=[Optim(1.0, "a"), Optim(2.0, "b")])
    overlay = {"optims": [{"name": "b", "lr": "3"}, {"name": "c", "lr": 4}]}
    assert merge(config, overlay, lists="extend").optims == [
        *config.optims, Optim(3.0, "b"), Optim(4.0, "c"),
    ]  # fmt: skip
    assert merge(config, overlay, lists="position").optims == [
        Optim(3.0, "b"), Optim(4.0, "c"),
    ]  # fmt: skip
    assert merge(config, overlay, lists={"optims": "name"}).optims == [
        Optim(1.0, "a"), Optim(3.0, "b"), Optim(4.0, "c"),
    ]  # fmt: skip


def test_arrays_and_objects_of_the_class_are_taken_as_they_are():
    """Anything may be a leaf of an object, as after a map."""
    array = np.zeros(2)
    assert merge(Config(), {"array": array}).array is array
    assert merge(Config(array=array), {"array": "x"}).array == "x"
    marks = lw.tree_map(lambda _: object(), Optim())
    assert merge(Optim(), marks) == marks
    assert merge({"a": Optim()}, {"a": Optim("x")}) == {"a": Optim("x")}


def test_a_rule_that_decides_takes_any_value():
    """A value that fits is cast nevertheless, as by `++` in an override."""
    rules = {"opt": "overlay"}
    assert merge(Config(), {"opt": {"lr": "fast"}}, rules=rules).opt.lr == "fast"
    assert merge(Config(), {"opt": {"lr": 1}}, rules=rules).opt == Optim(1.0)
    assert merge(Config(), {"opt": 3}, rules=rules).opt == 3
    rules = {"steps": max}
    assert merge(Config(), {"steps": 30}, rules=rules).steps == 30


def test_the_base_wins_and_errors():
    """The other words for conflicts."""
    config = Config()
    assert merge(config, {"steps": "x"}, conflict="base") is config
    assert merge(config, {"steps": "10"}, conflict="error") is config
    with pytest.raises(EditError, match=r"10 and 11 differ at steps"):
        merge(config, {"steps": 11}, conflict="error")


def test_dataclasses_that_are_not_registered():
    """They are nodes where a mapping is merged into them; no code of theirs runs."""
    plain = Plain(optim=Optim(3.0))
    merged = merge(plain, {"size": 5, "optim": {"name": "sgd"}})
    assert (merged.size, merged.derived, merged.optim) == (5, 2, Optim(3.0, "sgd"))
    assert plain == Plain(optim=Optim(3.0))
    assert merge({"a": Frozen()}, {"a": {"names": ["x"]}}) == {"a": Frozen(1, ("x",))}
    other = Plain(7)
    assert merge({"a": plain}, {"a": other})["a"] is other
    assert merge(plain, {}) is plain
    assert merge(plain, {"size": 2}, {"size": 3}).size == 3


@lw.dataclass
class Tree:
    below: "Tree | None" = None
    size: int = 1


@pytest.mark.parametrize("rules", [None, {"**": "overlay"}, {"**.size": max}])
def test_objects_at_any_depth(rules):
    """With rules as well; the time grows with the depth and not with its square."""
    depth = 20_000
    tree = None
    for _ in range(depth):
        tree = Tree(tree)
    overlay = {"size": 3}
    for _ in range(depth - 1):
        overlay = {"below": overlay, "size": 2}
    merged = merge(tree, overlay, rules=rules)
    sizes = []
    while merged is not None:
        sizes.append(merged.size)
        merged = merged.below
    assert sizes == [2] * (depth - 1) + [3]


def test_a_new_object_that_is_too_deep():
    """Constructors are called from the inside out, as deep as Python allows."""
    overlay = {}
    for _ in range(100_000):
        overlay = {"below": overlay}
    with pytest.raises(EditError, match="it is nested too deeply"):
        merge(Tree(), overlay)


def test_the_error_names_the_file(tmp_path, monkeypatch):
    """Of the overlay that has the value, or of a part of it; a copy has no file."""
    monkeypatch.chdir(tmp_path)
    Path("a.json").write_text('{"lr": 0.2}')
    Path("b.json").write_text('{"opt": {"lr": "fast"}, "more": [1, "x"]}')
    good = lw.read("a.json")
    bad = lw.read("b.json")
    problem = "'fast' at lr is not of the declared type float"
    with pytest.raises(EditError) as error:
        merge(Optim(), good, bad["opt"])
    assert str(error.value) == f"b.json: {problem}"
    assert str(error.value.path) == ".lr"
    with pytest.raises(EditError, match=r"^b\.json: cannot merge a list onto the"):
        merge({"more": 1}, bad)
    with pytest.raises(EditError, match=f"^{problem}"):
        merge(Optim(), dict(bad["opt"]))
    merge(Optim(), good)

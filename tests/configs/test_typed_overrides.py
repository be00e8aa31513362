"""Overrides of trees whose classes declare types."""

import collections
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Optional, TypedDict

import pytest

import leafwise as lw
from leafwise.errors import EditError, PathError


@lw.dataclass
class Optim:
    lr: float = 0.1
    name: str = lw.static(default="adam")


@dataclasses.dataclass
class Job:  # which is not registered
    command: str
    retries: int = 0
    done: bool = dataclasses.field(default=False, init=False)


class Size(NamedTuple):
    width: int
    height: int = 1


class Limits(TypedDict):
    low: int


@lw.dataclass
class Config:
    opt: Optim = dataclasses.field(default_factory=Optim)
    other: Optional[Optim] = None  # noqa: UP045  # as many write it
    either: Optim | Job | None = None
    optims: list[Optim] = dataclasses.field(default_factory=list)
    jobs: dict[str, Job] = dataclasses.field(default_factory=dict)
    sizes: dict[str, int] = dataclasses.field(default_factory=dict)
    by_rank: Mapping[int, str] = dataclasses.field(default_factory=dict)
    pair: tuple[int, str] = (1, "a")
    empty: tuple[()] = ()
    size: Size | None = None
    limits: Limits = dataclasses.field(default_factory=lambda: Limits(low=0))
    mode: Literal["fast", "slow"] = "fast"
    anything: Any = 1
    thing: object = 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("opt={lr: 0.2, name: sgd}", Optim(0.2, "sgd")),
        ("opt={lr: 1}", Optim(1.0, "adam")),
        ("opt={name: sgd}", Optim(0.3, "sgd")),
        ("opt={}", Optim(0.3, "adam")),
        ("other={lr: 0.2}", Optim(0.2)),
        ("other=null", None),
        ("either={name: b}", Optim(0.1, "b")),
        ("either={command: ls, retries: 2}", Job("ls", 2)),
        ("optims=[{lr: 1}, {}]", [Optim(1.0), Optim()]),
        ("+optims[0]={lr: 1}", [Optim(1.0)]),
        ("optims[+]={lr: 1}", [Optim(1.0)]),
        ("jobs={a: {command: ls}}", {"a": Job("ls")}),
        ("+jobs.a={command: ls}", {"a": Job("ls")}),
        ("sizes={a: 1}", {"a": 1}),
        ("sizes={1: 1}", {"1": 1}),
        ("+sizes.a=1", {"a": 1}),
        ("by_rank={1: a, '2': b}", {1: "a", 2: "b"}),
        ("+by_rank.3=c", {3: "c"}),
        ("+by_rank[3]=4", {3: "4"}),
        ("pair=[2, '3']", (2, "3")),
        ("size={width: 3}", Size(3)),
        ("limits={low: 1}", {"low": 1}),
        ("mode=slow", "slow"),
        ("anything=x", "x"),
        ("anything=[1, {a: b}]", [1, {"a": "b"}]),
        ("thing=x", "x"),
        ("++opt=3", 3),
    ],
)
def test_a_value_of_the_declared_type(text, value):
    """It is made of what the text says; dicts set fields, or make an object."""
    config = Config(opt=Optim(0.3))
    changed = lw.override(config, text)
    name = text.lstrip("+").replace("[", "=").replace(".", "=").partition("=")[0]
    attribute = getattr(changed, name)
    assert attribute == value
    assert lw.tree_map(type, lw.to_flat(attribute, strict=False)) == lw.tree_map(
        type, lw.to_flat(value, strict=False)
    )
    assert config == Config(opt=Optim(0.3))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "opt={lr: fast}",
            "'fast' is not of the declared type float; the value at opt.lr is 0.1",
        ),
        (
            "opt={rl: 1}",
            "'{rl: 1}' is not of the declared type Optim: it has no field 'rl'; it has "
            "lr, name; the value at opt is Optim(lr=0.1, name='adam')",
        ),
        ("opt=3", "'3' is not of the declared type Optim; the value at opt is"),
        (
            "optims=[{}, {lr: fast}]",
            "is not of the declared type list[Optim]",
        ),
        ("optims=[{}, {lr: fast}]", "'fast' at [1].lr is not of the declared type flo"),
        ("jobs={a: {}}", "missing 1 required positional argument: 'command'"),
        ("jobs={a: {command: ls, done: true}}", "it has no field 'done'; it has"),
        ("+sizes.a=x", "'x' at sizes.a is not of the declared type int"),
        ("sizes={a: x}", "'x' at a is not of the declared type int"),
        ("by_rank={a: b}", "'a' at a is not of the declared type int"),
        ("+by_rank.a=b", "'a' at by_rank.a is not of the declared type int"),
        ("pair=[1]", "it has 1 item, not 2; the value at pair"),
        ("pair=[1, b, c]", "it has 3 items, not 2"),
        ("pair=[a, b]", "'a' at [0] is not of the declared type int"),
        ("empty=[1]", "it has 1 item, not 0"),
        ("limits={}", "it has no key 'low'"),
        ("limits={low: x}", "'x' at low is not of the declared type int"),
        ("mode=quick", "is not of the declared type typing.Literal['fast', 'slow']"),
        ("+optims[0]={lr: fast}", "'fast' at optims[0].lr is not of the declared typ"),
    ],
)
def test_what_is_not_of_the_declared_type(text, message):
    """It is an error with the place inside of the value."""
    config = Config()
    with pytest.raises(EditError) as error:
        lw.override(config, text)
    assert message in str(error.value)
    assert config == Config()


def test_an_object_without_a_declared_type():
    """A dict sets its fields, at the root and in lists as well."""
    assert lw.override([Optim()], "[0]={lr: 1}") == [Optim(1.0)]
    assert lw.override([Optim()], "[*]={lr: 2, name: b}") == [Optim(2.0, "b")]
    with pytest.raises(EditError, match="has no field 'rl'; it has lr, name"):
        lw.override([Optim()], "[0]={rl: 1}")


def test_a_dataclass_that_is_not_registered():
    """Paths lead into it, at any place; a dict sets its fields."""
    tree = {"job": Job("ls", 3)}
    assert lw.override(tree, "job={retries: '4'}") == {"job": Job("ls", 4)}
    assert lw.override(tree, "job.retries=4") == {"job": Job("ls", 4)}
    assert lw.override(tree, "**.retries=4") == {"job": Job("ls", 4)}
    assert lw.override(Job("ls"), ["retries=4", "done=yes"]).done is True
    assert lw.tree_leaves(tree) == [Job("ls", 3)]  # a leaf elsewhere
    for text, message in {
        "job={retries: x}": "'x' is not of the declared type int; the value at job.ret",
        "job.retries=x": "'x' is not of the declared type int; the value at job.retrie",
        "job.retires=1": "did you mean job.retries? the Job at job has retries, don",
        "+job.user=me": "the Job at job has a fixed number of children",
    }.items():
        with pytest.raises((EditError, PathError)) as error:
            lw.override(tree, text)
        assert message in str(error.value)


def test_a_config_of_dataclasses_that_are_not_registered():
    """What is declared holds at the root and below, and is made of dicts."""

    @dataclasses.dataclass(frozen=True, slots=True)
    class Stage:
        name: str = "train"
        job: Job | None = None

    @dataclasses.dataclass
    class Plan:
        stages: list[Stage] = dataclasses.field(default_factory=list)
        limits: dict[str, int] = dataclasses.field(default_factory=dict)
        first: Stage = Stage()

    plan = Plan()
    changed = lw.override(
        plan,
        [
            "stages[+]={name: test}",
            "+stages[0].job.command=ls",
            "+limits.cpu=4",
            "first.name=7",
        ],
    )
    stages = [Stage("test", Job("ls"))]
    assert changed == Plan(stages, {"cpu": 4}, Stage("7"))
    assert plan == Plan()
    with pytest.raises(
        EditError, match=r"'many' at limits\.cpu is not of the declared"
    ):
        lw.override(plan, "+limits.cpu=many")


def test_containers_keep_their_class():
    """As far as it is one of the declared type."""

    @lw.dataclass
    class Containers:
        table: dict[str, int]
        items: Sequence[int]

    config = Containers(collections.OrderedDict(a=1), (1, 2))
    changed = lw.override(config, ["table={b: 2}", "items=[3]"])
    assert repr(changed.table) == repr(collections.OrderedDict(b=2))
    assert changed.items == (3,)


def test_a_recursive_type():
    """A dict may be as deep as Python's recursion allows."""
    changed = lw.override(Tree(), "below={below: {below: null, size: 3}}")
    assert changed == Tree(Tree(Tree(size=3)))


@lw.dataclass
class Tree:
    below: "Tree | None" = None
    size: int = 1

"""JSON Patches of trees with objects in them."""

import dataclasses
import json
from typing import Any, NamedTuple

import pytest

import leafwise as lw
from leafwise.errors import EditError
from leafwise.selection import TreeDiff


@lw.dataclass
class Optim:
    lr: float = 0.1
    name: str = lw.static(default="adam")


class Size(NamedTuple):
    width: int
    height: int = 1


@lw.dataclass
class Config:
    opt: Optim = dataclasses.field(default_factory=Optim)
    optims: list[Optim] = dataclasses.field(default_factory=list)
    sizes: dict[str, int] = dataclasses.field(default_factory=dict)
    size: Size = Size(1)
    extra: Any = None


def patched(tree, *operations, **options):
    """Return a tree after operations."""
    return TreeDiff.from_json_patch(operations, tree, **options).apply(tree)


def op(word, path, *value, **more):
    """Return an operation."""
    return {"op": word, "path": path, **({"value": value[0]} if value else {}), **more}


@pytest.mark.parametrize(
    ("operations", "after"),
    [
        ([op("replace", "/opt/lr", 0.2)], Config(Optim(0.2))),
        ([op("replace", "/opt/lr", 1)], Config(Optim(1.0))),
        ([op("replace", "/opt/lr", "0.5")], Config(Optim(0.5))),
        ([op("add", "/opt/lr", 0.2)], Config(Optim(0.2))),
        ([op("replace", "/opt/name", "sgd")], Config(Optim(name="sgd"))),
        ([op("replace", "/opt", {"lr": 1})], Config(Optim(1.0))),
        ([op("replace", "", {"opt": {"lr": 1}})], Config(Optim(1.0))),
        ([op("add", "/optims/-", {"lr": 1})], Config(optims=[Optim(1.0)])),
        (
            [op("add", "/optims/-", {}), op("replace", "/optims/0/name", "b")],
            Config(optims=[Optim(name="b")]),
        ),
        (
            [op("add", "/optims/0", {}), op("add", "/optims/0", {"lr": 2}),
             op("remove", "/optims/1")],
            Config(optims=[Optim(2.0)]),
        ),
        (
            [op("copy", "/optims/0", **{"from": "/opt"}), op("add", "/opt/lr", 2)],
            Config(Optim(2.0), [Optim()]),
        ),
        ([op("add", "/sizes/a", "3")], Config(sizes={"a": 3})),
        ([op("replace", "/size/width", 3)], Config(size=Size(3))),
        ([op("replace", "/extra", {"a": [1]})], Config(extra={"a": [1]})),
        ([op("test", "/opt/lr", 0.1), op("test", "/opt", {"lr": 0.1})], Config()),
    ],
)  # fmt: skip
def test_operations_go_through_objects(operations, after):
    """Values are of the declared types in the end, and both directions agree."""
    before = Config()
    result = patched(before, *operations)
    assert result == after
    assert type(result.opt.lr) is float
    assert before == Config()
    assert patched({"a": [before]}, *(moved(one) for one in operations)) == {
        "a": [after]
    }
    written = lw.tree_diff(before, after).to_json_patch()
    assert patched(before, *json.loads(written)) == after


def moved(operation):
    """Return an operation on a tree in which the root is elsewhere."""
    paths = {k: f"/a/0{operation[k]}" for k in ("path", "from") if k in operation}
    return {**operation, **paths}


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (op("replace", "/opt/rl", 1), "no match for '/opt/rl': did you mean opt.lr? "
                                      "the Optim at opt has lr, name"),
        (op("add", "/opt/rl", 1), "did you mean opt.lr? the Optim at opt has lr, nam"),
        (op("remove", "/opt/lr"), "the Optim at opt has a fixed number of children"),
        (op("replace", "/opt/lr", "x"), "'x' at opt.lr is not of the declared type f"),
        (op("add", "/optims/-", {"lr": "x"}), "'x' at optims[0].lr is not of the dec"),
        (op("add", "/optims/-", {"rl": 1}), "declared type Optim: it has no field 'rl"),
        (op("replace", "/opt", {"rl": 1}), "declared type Optim: it has no field 'r"),
        (op("add", "/sizes/a", "x"), "'x' at sizes.a is not of the declared typ"),
        (op("remove", "/optims/0"), "for '/optims/0': the list at optims is empty"),
        (op("remove", "/sizes/a"), "match for '/sizes/a': the dict at sizes is em"),
        (op("add", "/opts/lr", 1), "did you mean opt? the Config at the root has opt"),
        (op("add", "/opt/lr/x", 1), "cannot insert at 'x' into the leaf at opt.lr"),
        (op("test", "/opt/lr", 2), "expected 2 at opt.lr, found 0.1"),
    ],
)  # fmt: skip
def test_what_cannot_be_done(operation, message):
    """The error has the path, and the keys that there are."""
    with pytest.raises(EditError) as error:
        TreeDiff.from_json_patch([operation], Config())
    assert str(error.value).startswith("operation 0: ")
    assert message in str(error.value)


def test_all_operations_that_fail_are_listed():
    """Each as it would fail alone; nothing is changed."""
    tree = {"services": [{"name": "web", "image": "a:1"}], "opt": Optim()}
    operations = [
        op("replace", "/services/0/imag", "a:2"),
        op("replace", "/opt/lr", 0.2),
        op("remove", "/services/3"),
        op("replace", "/opt/lr", "fast"),
        op("spam", "/a"),
    ]
    with pytest.raises(EditError) as error:
        TreeDiff.from_json_patch(operations, tree)
    assert str(error.value) == (
        "4 of 5 operations cannot be made\n"
        "  operation 0: no match for '/services/0/imag': did you mean "
        "services.0.image? the dict at services[0] has image, name\n"
        "  operation 2: no match for '/services/3': the list at services has 1 item\n"
        "  operation 3: 'fast' at opt.lr is not of the declared type float\n"
        "  operation 4: unknown operation 'spam'"
    )


def test_attrs_and_pydantic():
    """Models are validated once, with all new values."""
    attrs = pytest.importorskip("attrs")
    pydantic = pytest.importorskip("pydantic")
    app = lw.namespace("typed-patch")
    where = {"namespace": "typed-patch"}

    @attrs.define
    class Layer:
        width: int = 1
        name: str = attrs.field(default="a", metadata={"static": True})

    class Span(pydantic.BaseModel, validate_assignment=True):
        low: int = 0
        high: int = 9

        @pydantic.model_validator(mode="after")
        def check(self):
            assert self.low < self.high, "low must be below high"
            return self

    lw.integrations.support("attrs", **where)
    lw.integrations.support("pydantic", **where)
    tree = {"layer": Layer(), "span": Span()}
    operations = [
        op("replace", "/layer/width", "2"),
        op("replace", "/layer/name", "b"),
        op("replace", "/span/low", "20"),
        op("replace", "/span/high", 30),
    ]
    result = TreeDiff.from_json_patch(operations, tree, **where).apply(tree)
    assert result == {"layer": Layer(2, "b"), "span": Span(low=20, high=30)}
    written = app.tree_diff(tree, result).to_json_patch()
    again = TreeDiff.from_json_patch(written, tree, **where).apply(tree)
    assert again == result
    with pytest.raises(pydantic.ValidationError, match="low must be below high"):
        TreeDiff.from_json_patch([op("replace", "/span/low", 20)], tree, **where)
    with pytest.raises(EditError, match=r"no match for .* has name, width"):
        TreeDiff.from_json_patch([op("add", "/layer/size", 20)], tree, **where)


def test_objects_are_written_as_dicts():
    """With their static fields, and whatever JSON has in them."""
    diff = lw.tree_diff({"a": [Optim(1.0)]}, {"a": [Optim(1.0), Optim(2.0, "b")]})
    (operation,) = json.loads(diff.to_json_patch())
    assert operation == op("add", "/a/1", {"lr": 2.0, "name": "b"})
    diff = lw.tree_diff([Optim()], [Optim({1, 2})])
    with pytest.raises(EditError, match=r"cannot hold {1, 2} \(set\) at \[0\]\.lr"):
        diff.to_json_patch()


def test_a_dataclass_that_is_not_registered():
    """Pointers lead through it, also at the root; a dict sets its fields."""

    @dataclasses.dataclass
    class Optim:
        lr: float = 0.1
        betas: tuple[float, float] = (0.9, 0.99)

    @dataclasses.dataclass(frozen=True)
    class Run:
        optim: Optim = dataclasses.field(default_factory=Optim)
        others: list[Optim] = dataclasses.field(default_factory=list)

    run = Run()
    patch = [
        op("replace", "/optim/lr", 1),
        op("add", "/others/-", {"lr": 2}),
        op("replace", "/others/0/betas/0", 0),
    ]
    diff = TreeDiff.from_json_patch(patch, run)
    assert diff.apply(run) == Run(Optim(1.0), [Optim(2.0, (0.0, 0.99))])
    assert json.loads(TreeDiff.from_json_patch(patch[:1], run).to_json_patch()) == [
        op("replace", "/optim/lr", 1.0)
    ]
    with pytest.raises(EditError, match=r"2 of 2 operations cannot be made") as error:
        TreeDiff.from_json_patch(
            [op("replace", "/optim/rl", 1), op("replace", "/optim/lr", "fast")], run
        )
    assert "did you mean optim.lr? the Optim at optim has lr, betas" in str(error.value)
    assert "'fast' at optim.lr is not of the declared type float" in str(error.value)
    assert run == Run()


def test_a_leaf_has_no_members():
    """A pointer cannot lead on there."""

    class Plain:
        size = 1

    with pytest.raises(EditError, match=r"a is a leaf: .* is not registered"):
        TreeDiff.from_json_patch([op("replace", "/a/size", 2)], {"a": Plain()})

"""Edits of pydantic models and attrs classes, as these validate assignments."""

import functools
from typing import Annotated, Any, Literal, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from leafwise.errors import EditError
from leafwise.integrations import support


APP = lw.namespace("validated")
support("pydantic", "attrs", namespace="validated")


@pytest.fixture(scope="module")
def pydantic(need):
    """Return pydantic, installed."""
    return need("pydantic")


@pytest.fixture(scope="module")
def attrs(need):
    """Return attrs, installed."""
    return need("attrs")


def outcome(make, errors):
    """Return what a function returns, or the text of the error that it raises."""
    try:
        return make()
    except errors as error:
        listed = getattr(error, "errors", None)
        problems = listed() if listed else [{"msg": str(error)}]
        return [(one.get("type"), one.get("loc"), one["msg"]) for one in problems]


# ------------------------------------------------------------------------ pydantic


@functools.cache
def models(pydantic):
    """Return classes of models with the same fields and different configs."""
    between = pydantic.Field

    class Cat(pydantic.BaseModel):
        kind: Literal["cat"] = "cat"
        lives: int = 9

    class Dog(pydantic.BaseModel):
        kind: Literal["dog"] = "dog"
        name: str = "Rex"

    class Base(pydantic.BaseModel):
        count: Annotated[int, between(ge=0, lt=10)] = 1
        ratio: float = 0.5
        label: Annotated[str, pydantic.StringConstraints(strip_whitespace=True)] = "a"
        sizes: list[int] = [1]
        maybe: Optional[int] = None  # noqa: UP045  # as many still write it
        flag: bool = False
        renamed: int = between(1, alias="re-named", ge=0)
        pet: Annotated[Cat | Dog, between(discriminator="kind")] = Cat()
        twice: int = 2
        _hidden: int = pydantic.PrivateAttr(default=7)

        @pydantic.field_validator("twice")
        @classmethod
        def doubled(cls, value):
            return 2 * value

        @pydantic.computed_field
        @property
        def area(self) -> float:
            return self.count * self.ratio

        @functools.cached_property
        def slow(self):
            return self.count + 1

        def model_post_init(self, _context):
            self._hidden += 1

    examples = []
    for number, options in enumerate(
        ({}, {"extra": "allow"}, {"extra": "forbid"}, {"strict": True})
    ):
        config = pydantic.ConfigDict(validate_assignment=True, **options)
        examples.append(type(f"Model{number}", (Base,), {"model_config": config}))
    return examples, Cat, Dog


NAMES = [
    "count", "ratio", "label", "sizes", "maybe", "flag", "renamed", "pet", "twice",
]  # fmt: skip
VALUES = st.sampled_from(
    [
        0, 3, -1, 12, "4", " x ", "no", 0.5, 2.0, True, None, [], [1, "2"], ["a"],
        {"kind": "dog", "name": "Bo"}, {"kind": "bird"}, {"kind": "cat", "lives": "3"},
    ]
)  # fmt: skip


@given(st.integers(0, 3), st.sampled_from(NAMES), VALUES)
def test_an_edit_is_an_assignment(pydantic, number, name, value):
    """The same model, the same set of given fields, or the same errors."""
    cls = models(pydantic)[0][number]
    model = cls(count=2)
    assert model.slow == 3

    def assigned():
        copied = model.model_copy()
        del copied.__dict__["slow"]  # it would become an extra value
        setattr(copied, name, value)
        return copied

    kind = pydantic.ValidationError
    expected = outcome(assigned, kind)
    result = outcome(lambda: APP.at({"m": [model]})[f"m[0].{name}"].set(value), kind)
    if isinstance(expected, list):
        assert result == expected
    else:
        edited = result["m"][0]
        assert edited == expected
        assert repr(edited) == repr(expected)
        assert edited.model_fields_set == expected.model_fields_set
        assert (edited._hidden, edited.slow) == (8, edited.count + 1)
        assert APP.tree_structure(edited).entries() == (
            APP.tree_structure(model).entries()
        )
    assert (model, model.count) == (cls(count=2), 2)


@pytest.fixture(scope="module")
def span(pydantic):
    """Return a model whose fields are validated together."""

    class Span(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(validate_assignment=True)
        low: int = 0
        high: int = 9
        inner: "Span | None" = None
        seen: list[Any] = pydantic.Field(default_factory=list, exclude=True)

        @pydantic.model_validator(mode="after")
        def ordered(self):
            self.seen.append((self.low, self.high))
            if self.low >= self.high:
                raise ValueError("low must be below high")
            return self

    Span.model_rebuild(_types_namespace={"Span": Span})
    return Span


def test_all_new_values_are_validated_together(pydantic, span):
    """Each beside the other new ones; a node that is not changed is not asked."""
    tree = {"a": span(inner=span(low=1)), "b": span()}
    for make in (
        lambda: APP.tree_update(tree, {"a.low": "20", "a.high": 30}),
        lambda: APP.tree_merge(tree, {"a": {"low": "20", "high": 30}}),
        lambda: APP.tree_merge(tree, {"a": {"low": "20"}}, {"a": {"high": 30}}),
        lambda: APP.override(tree, ["a.low=20", "a.high=30"]),
        lambda: APP.tree_at(lambda t: (t["a"].low, t["a"].high), tree, ("20", 30)),
    ):
        tree["a"].seen.clear()
        instance = make()
        assert (instance["a"].low, instance["a"].high) == (20, 30)
        assert set(tree["a"].seen) == {(20, 30)}  # the list is shared
        assert instance["a"].inner is tree["a"].inner
    for make in (
        lambda: APP.tree_update(tree, {"a.inner.low": 20, "a.inner.high": 3}),
        lambda: APP.tree_merge(tree, {"a": {"inner": {"low": 20, "high": 3}}}),
        lambda: APP.override(tree, ["a.inner.low=20", "a.inner.high=3"]),
        lambda: APP.tree_at(lambda t: t["a"].inner.high, tree, 0),
        lambda: APP.at(tree)["a.inner.low"].apply(lambda x: x + 10),
    ):
        with pytest.raises(pydantic.ValidationError) as error:
            make()
        assert error.value.__notes__ == ["at key path ['a'].inner"]
        assert (tree["a"].inner.low, tree["a"].inner.high) == (1, 9)


def test_every_edit_validates(pydantic, span):
    """A text that an override cannot cast is validated by the class, too."""
    tree = [span()]
    for edit in (
        lambda: APP.at(tree)["[0].low"].set("x"),
        lambda: APP.at(tree)["[0].low"].apply(lambda _: "x"),
        lambda: APP.tree_update(tree, {"[0].low": "x"}),
        lambda: APP.tree_at(lambda t: t[0].low, tree, "x"),
        lambda: APP.tree_merge(tree, [{"low": "x"}], lists="position"),
        lambda: APP.override(tree, "[0].low=x"),
    ):
        with pytest.raises(pydantic.ValidationError) as error:
            edit()
        assert error.value.__notes__ == ["at key path [0]"]
    assert tree[0].low == 0


def test_a_class_that_does_not_validate_assignments(pydantic):
    """Its values are set as they are, and noted as given."""

    class Open(pydantic.BaseModel):
        low: int = 0
        high: int = 9

    changed = APP.at([Open()])["[0].low"].set("x")[0]
    assert (changed.low, changed.high) == ("x", 9)
    assert changed.model_fields_set == {"low"}
    with pytest.raises(EditError, match="is not of the declared type int"):
        APP.override([Open()], "[0].low=x")


def test_a_rebuilt_model_is_not_validated(span):
    """Whatever stands at its leaves: maps and unflattening are no edits."""
    marks = APP.tree_map(lambda _: object(), span())
    assert type(marks.low) is object
    leaves, treedef = APP.tree_flatten(span())
    assert treedef.unflatten([None] * len(leaves)).low is None
    before = span()
    after = before.model_copy(update={"low": 50})
    assert APP.tree_diff(before, after, ignore="seen").apply(before).low == 50


def test_extra_values_come_and_go(pydantic):
    """In models that allow them; they are validated as the model says."""

    class Open(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="allow", validate_assignment=True)
        __pydantic_extra__: dict[str, int]
        size: int = 1

    model = Open(a=1, b=2)
    assert APP.at(model)["c"].insert("3") == Open(a=1, b=2, c=3)
    assert APP.at(model)["a"].delete().model_fields_set == {"b"}
    assert APP.tree_rename(model, "a", "z") == Open(b=2, z=1)
    assert APP.tree_merge(model, {"c": "3", "a": lw.DELETE}) == Open(b=2, c=3)
    assert APP.tree_merge(model, Open(size=5, d=4)) == Open(a=1, b=2, d=4, size=5)
    assert APP.tree_merge(model, {"c": 3, "a": 5}, join="left") == Open(a=5, b=2)
    assert APP.override(model, ["a=5", "~a"]) == Open(b=2)
    assert APP.override(model, ["a=5", "~a", "b=3", "+c=4"]) == Open(b=3, c=4)
    with pytest.raises(pydantic.ValidationError, match="unable to parse"):
        APP.at(model)["c"].insert("x")
    for make in (
        lambda: APP.at(model)["size"].delete(),
        lambda: APP.tree_rename(model, "a", "size"),
        lambda: APP.at(model)["size"].insert(1),
        lambda: APP.tree_merge(model, {"size": lw.DELETE}),
    ):
        with pytest.raises(EditError):
            make()
    assert model == Open(a=1, b=2)


def test_models_in_models_are_made_of_dicts(pydantic):
    """By pydantic, where there is none yet; elsewhere a dict is merged into them."""

    class Leaf(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(validate_assignment=True)
        x: int = 0
        y: int = 0

    class Root(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(validate_assignment=True)
        one: Leaf = Leaf(y=5)
        none: Leaf | None = None
        table: dict[str, Leaf] = pydantic.Field(default_factory=dict)
        many: list[Leaf] = pydantic.Field(default_factory=list)

    root = Root(table={"a": Leaf(y=7)})
    merged = APP.tree_merge(
        root,
        {
            "one": {"x": "1"},
            "none": {"x": "2"},
            "table": {"a": {"x": 3}, "b": {"x": "4"}},
            "many": [{"x": 5}],
        },
    )
    assert merged == Root(
        one=Leaf(x=1, y=5),
        none=Leaf(x=2),
        table={"a": Leaf(x=3, y=7), "b": Leaf(x=4)},
        many=[Leaf(x=5)],
    )
    assert APP.override(root, ["one.x=1", "none={x: 2}", "many=[{y: 1}]"]) == Root(
        one=Leaf(x=1, y=5), none=Leaf(x=2), many=[Leaf(y=1)], table=root.table
    )
    with pytest.raises(EditError, match=r"the Leaf at table\.a has no field 'z'"):
        APP.tree_merge(root, {"table": {"a": {"z": 1}}})
    with pytest.raises(pydantic.ValidationError) as error:
        APP.tree_merge([root], [{"one": {"x": "q"}}], lists="position")
    assert error.value.__notes__ == ["at key path [0].one"]


# --------------------------------------------------------------------------- attrs


@functools.cache
def classes(attrs):
    """Return classes of attrs with the same fields, mutable and frozen."""

    def fields(hook):
        def ordered(self, _field, value):
            if isinstance(self.low, int) and value <= self.low:
                raise ValueError("high must be above low")

        return {
            "low": attrs.field(default=0, converter=int),
            "high": attrs.field(default=9, validator=ordered),
            "label": attrs.field(
                default="a",
                kw_only=True,
                converter=attrs.converters.optional(str.strip),
                validator=attrs.validators.optional(attrs.validators.max_len(3)),
            ),
            "_hidden": attrs.field(
                default=1, validator=attrs.validators.instance_of(int)
            ),
            "shown": attrs.field(
                default="s",
                metadata={"static": True},
                validator=attrs.validators.in_(["s", "t"]),
                on_setattr=hook,
            ),
        }

    return [
        attrs.make_class(name, fields(hook), slots=slots, **options)
        for name, hook, slots, options in (
            ("Open", attrs.setters.frozen, True, {}),
            ("Loose", attrs.setters.NO_OP, False, {"on_setattr": None}),
            ("Frozen", None, True, {"frozen": True}),
        )
    ]


ATTRS_VALUES = st.sampled_from([0, 3, 12, "4", "x", " ab ", "abcd", None, 2.0, "t"])
ALIASES = {"_hidden": "hidden"}


@given(
    st.integers(0, 2),
    st.dictionaries(
        st.sampled_from(["low", "high", "label", "_hidden", "shown"]),
        ATTRS_VALUES,
        min_size=1,
    ),
)
def test_edits_of_attrs_are_those_of_evolve(attrs, number, changes):
    """Converters and validators, those of all fields; the names are the fields'."""
    cls = classes(attrs)[number]
    node = cls(low=1)
    expected = outcome(
        lambda: attrs.evolve(
            node, **{ALIASES.get(name, name): x for name, x in changes.items()}
        ),
        (ValueError, TypeError, AttributeError),
    )
    for way in (
        lambda: APP.tree_update([node], {f"[0].{k}": x for k, x in changes.items()}),
        lambda: APP.tree_merge([node], [changes], lists="position"),
    ):
        result = outcome(way, (ValueError, TypeError, AttributeError))
        if isinstance(expected, list):
            assert result == expected
        else:
            assert repr(result) == repr([expected])
    assert repr(node) == repr(cls(low=1))
    if not isinstance(expected, list):
        return
    with pytest.raises((ValueError, TypeError, AttributeError)) as error:
        APP.tree_update([node], {f"[0].{k}": x for k, x in changes.items()})
    assert error.value.__notes__ == ["at key path [0]"]

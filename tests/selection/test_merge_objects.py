"""Dicts merged onto objects."""

import dataclasses
from typing import (
    Any,
    NamedTuple,
)

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
    ("overlay", "path", "message"),
    [
        ({"optim": {"rl": 1}}, ".optim.rl", r"Optim at optim has no field 'rl'; it"),
        ({3: 1}, "[3]", "the Run at the root has no field 3; it has "),
        ({"steps": DELETE}, "", "the Run at the root has a fixed number of children"),
        ({"scale": 2}, ".scale", "has no field 'scale'"),
        ({"steps": {"a": 1}}, ".steps", r"a dict onto the leaf 10 at steps"),
        ({"optim": 3}, ".optim", r"cannot merge the leaf 3 onto an Optim at optim"),
        ({"optim": [3]}, ".optim", r"cannot merge a list onto an Optim at optim"),
    ],
)  # fmt: skip
def test_what_cannot_be_merged(overlay, path, message):
    """Says where, and the names that there are, the nearest first."""
    run = Run()
    with pytest.raises(EditError, match=message) as error:
        merge(run, overlay)
    assert str(error.value.path) == path
    assert run == Run()


def test_policies_apply_to_fields():
    """An object keeps its fields; which value wins, and what else remains, is said."""
    run = Run(steps=1)
    overlay = {"steps": 2, "unknown": 3, "optim": {"lr": 9.0}}
    for join in ("left", "inner"):
        merged = merge(run, overlay, join=join)
        assert (merged.steps, merged.optim.lr, merged.extra) == (2, 9.0, {})
    for join in ("outer", "right"):
        with pytest.raises(EditError, match="has no field 'unknown'"):
            merge(run, overlay, join=join)
        assert merge(run, {"steps": 2}, join=join) == Run(steps=2)
    del overlay["unknown"]
    assert merge(run, overlay, conflict="base") is run
    with pytest.raises(EditError, match=r"0\.1 and 9\.0 differ at optim\.lr"):
        merge(run, overlay, conflict="error")
    merged = merge(run, overlay, rules={"steps": lambda a, b: a + b, "optim": "base"})
    assert merged == Run(steps=3)
    assert merge(run, {"a": 1}, rules={"": "overlay"}) == {"a": 1}
    assert merge(run, {"a": 1}, rules={"": "base"}) is run
    merged = merge(run, {"optim": {"betas": (1,)}}, lists="extend")
    assert merged.optim.betas == (0.9, 0.99, 1)


def test_a_leaf_with_fields_says_how_to_register():
    """In edits; a dict is merged into it nevertheless, and overrides set its fields."""

    @dataclasses.dataclass
    class Plain:
        x: int = 1

    for edit in (
        lambda: merge(Plain(), [2]),
        lambda: lw.at(Plain())["x"].set(2),
    ):
        with pytest.raises(
            (EditError, PathError),
            match=r"Plain is a dataclass that is not registered; use leafwise\.datacl",
        ) as error:
            edit()
        assert "to add it" not in str(error.value)
    assert merge(Plain(), {"x": 2}) == Plain(2)
    assert override(Plain(), "x=2") == Plain(2)

    class Bare:
        x = 1

    with pytest.raises(PathError, match=r"c is a leaf: .*; .*Bare is not registered"):
        lw.at({"c": Bare()})["c.x"].get()


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
        keys = data.draw(st.sets(st.sampled_from(list(node) or ["a"]), max_size=2))
        return {key: some(node[key]) for key in sorted(keys & node.keys())}

    overlay = some(full)
    merged = merge(tree, overlay)
    assert as_dict(merged) == overlaid(full, overlay)
    if isinstance(full, dict):
        assert type(merged) is type(tree)
        again = merge(tree, full)
        assert (again, type(again)) == (tree, type(tree))


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

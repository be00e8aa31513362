"""Static fields are found by name, however their class is registered."""

import dataclasses
from typing import Any

import pytest

import leafwise as lw


STATIC = {"static": True}


def variant(name, **options):
    """Return a class like `Plain`, with other options of `dataclass`."""
    spec = [
        ("w", Any, dataclasses.field(default=1)),
        ("name", str, dataclasses.field(default="a", metadata=STATIC)),
        ("cache", Any, dataclasses.field(default=None, metadata=STATIC)),
    ]
    return dataclasses.make_dataclass(name, spec, **options)


def by_library(cls=None, **options):
    return lw.dataclass(variant("OfLibrary"), **options)


def as_pytree():
    class OfPytree(lw.Pytree):
        def __init__(self, w=1, name="a"):
            self.w = lw.data(w)
            self.name = name

        def __eq__(self, other):
            return (self.w, self.name) == (other.w, other.name)

        __hash__ = None

    return OfPytree


def as_attrs(**options):
    attrs = pytest.importorskip("attrs")

    @attrs.define(**options)
    class OfAttrs:
        w: Any = 1
        name: str = attrs.field(default="a", metadata=STATIC)

    return lw.integrations.register_attrs(OfAttrs)


def registered(cls, **options):
    return lw.register_dataclass(cls, **options)


def by_lists(cls, **options):
    """Register a class whose fields are listed."""
    return registered(cls, data_fields=["w"], meta_fields=["name", "cache"], **options)


REGISTRATIONS = {
    "plain": lambda: registered(variant("A")),
    "slots": lambda: registered(variant("B", slots=True)),
    "frozen": lambda: registered(variant("C", frozen=True)),
    "init": lambda: registered(variant("D"), init=True),
    "init, frozen, slots": lambda: registered(
        variant("E", frozen=True, slots=True), init=True
    ),
    "dropped field": lambda: registered(variant("F"), drop_fields=["cache"]),
    "dropped field, init": lambda: registered(
        variant("G"), drop_fields=["cache"], init=True
    ),
    "listed": lambda: by_lists(variant("H")),
    "listed, init": lambda: by_lists(variant("I"), init=True),
    "inherited": lambda: type("J", (registered(variant("I2"), inherit=True),), {}),
    "inherited, init": lambda: type(
        "K", (registered(variant("K2"), inherit=True, init=True),), {}
    ),
    "lw.dataclass": by_library,
    "Pytree": as_pytree,
    "attrs": as_attrs,
    "attrs, cached hash": lambda: as_attrs(cache_hash=True, frozen=True),
    "attrs, no slots": lambda: as_attrs(slots=False),
}


@pytest.fixture(params=REGISTRATIONS)
def layer(request):
    """Return a class with a child `w` and a static field `name`."""
    cls = REGISTRATIONS[request.param]()
    yield cls
    for one in cls.__mro__:
        if one is not object and not issubclass(one, lw.Pytree):
            try:
                lw.unregister_pytree_node(one)
            except lw.LeafwiseError:  # a subclass of a registered class
                continue


def test_static_fields_are_found_by_name(layer):
    """By selectors, edits, merges, overrides and diffs."""
    before = {"layer": layer()}
    after = {"layer": layer(name="b")}
    assert lw.at(before)["layer.name"].get() == "a"
    assert lw.at(before)["layer.name"].set("b") == after
    assert lw.tree_update(before, {"layer.name": "b", "layer.w": 2}) == {
        "layer": layer(w=2, name="b")
    }
    assert lw.tree_merge(before, {"layer": {"name": "b"}}) == after
    assert lw.tree_merge(before, after) == after
    assert lw.override(before, "layer.name=b") == after
    diff = lw.tree_diff(before, after)
    assert [str(change) for change in diff] == ["~ layer.name: 'a' -> 'b'"]
    assert diff.apply(before) == after
    assert before == {"layer": layer()}


def test_the_constructor_sees_a_new_static_value():
    """Where a class is registered with `init=True`."""

    @dataclasses.dataclass
    class Checked:
        w: int = 1
        size: int = dataclasses.field(default=1, metadata=STATIC)

        def __post_init__(self):
            if self.size < 0:
                raise ValueError("too small")

    lw.register_dataclass(Checked, init=True)
    with pytest.raises(ValueError, match="too small"):
        lw.at(Checked())["size"].set(-1)
    lw.unregister_pytree_node(Checked)

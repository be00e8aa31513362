"""Random trees of every node type, for the laws and the oracle tests."""

import dataclasses
import enum
import time
from collections import OrderedDict, defaultdict
from functools import cache
from typing import Any, NamedTuple

from hypothesis import strategies as st

import leafwise as lw
from helpers.containers import CONTAINERS
from leafwise import testing


class Color(enum.Enum):
    """Keys that do not compare, and have an order of their own."""

    RED = "r"
    GREEN = "g"
    BLUE = "b"


class Point(NamedTuple):
    x: Any
    y: Any


@lw.dataclass(frozen=True)
class Layer:
    weight: Any
    bias: Any
    name: str = lw.static(default="layer")


@lw.register_dataclass
@dataclasses.dataclass(slots=True)
class Slotted:
    value: Any
    unit: str = dataclasses.field(default="m", metadata={"static": True})


class Node(lw.Pytree):
    """An object with any attributes."""

    def __init__(self, **attributes: Any) -> None:
        for name, value in attributes.items():
            setattr(self, name, value)


class Linear(lw.Pytree):
    def __init__(self, w: Any, size: int) -> None:
        self.w = lw.data(w)
        self.size = size


class Box:
    """A class that is registered with keys of its own and aux data."""

    def __init__(self, *items: Any, tag: Any = None) -> None:
        self.items = list(items)
        self.tag = tag

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is Box and self.items == other.items and self.tag == other.tag
        )

    def __hash__(self) -> int:
        return hash(self.tag)

    def __repr__(self) -> str:
        return f"Box({self.items}, tag={self.tag!r})"


lw.register_pytree_node(
    Box,
    lambda box: (box.items, box.tag, [f"item_{i}" for i in range(len(box.items))]),
    lambda tag, items: Box(*items, tag=tag),
)


def add(*args: Any, **keywords: Any) -> int:
    """Stand in as the function of a `Partial`."""
    return len(args) + len(keywords)


leaves = st.one_of(
    st.integers(-5, 5), st.booleans(), st.text(max_size=3), st.floats(allow_nan=False)
)
names = st.text(alphabet="abcxyz", min_size=1, max_size=3)
keys = st.one_of(
    names,
    st.integers(-3, 3),
    st.none(),
    st.booleans(),
    st.floats(),
    st.binary(max_size=2),
    st.tuples(st.integers(0, 2), names),
    st.sampled_from(Color),
    st.frozensets(st.integers(0, 3), max_size=2),
    st.complex_numbers(max_magnitude=2),
)


def _box(children: Any) -> Any:
    items = st.lists(children, max_size=3)
    return st.builds(lambda items, tag: Box(*items, tag=tag), items, leaves)


def _partial(children: Any) -> Any:
    args = st.lists(children, max_size=3)
    keywords = st.dictionaries(names, children, max_size=2)
    return st.builds(
        lambda args, keywords: lw.Partial(add, *args, **keywords), args, keywords
    )


def _dict_with_any_keys(children: Any) -> Any:
    return st.dictionaries(keys, children, max_size=4)


NODES = (
    type(None),
    *CONTAINERS,
    Point,
    _dict_with_any_keys,
    Layer,
    Slotted,
    _box,
    _partial,
)
"""Nodes of all types, except for objects."""


class Net(lw.Pytree):
    """An object with children and a static attribute."""

    def __init__(self, weight: Any, width: Any, label: str) -> None:
        self.weight = lw.data(weight)
        self.width = lw.data(width)
        self.label = label


def _net(children: Any) -> Any:
    return st.builds(Net, children, children, names)


def _tree_list(children: Any) -> Any:
    items = st.lists(children.map(lw.data) | names, max_size=3)
    return items.map(lw.nn.List)


def _tree_dict(children: Any) -> Any:
    items = st.dictionaries(names, children.map(lw.data), max_size=3)
    return items.map(lambda items: lw.nn.Dict(**items))


def _struct_time(_children: Any) -> Any:
    return st.builds(time.gmtime, st.integers(0, 10**9))


@cache
def every_tree(max_leaves: int = 12) -> Any:
    """Return a strategy for trees of all node types and of objects."""
    nodes = (*NODES, _net, _tree_list, _tree_dict, _struct_time)
    return testing.trees(leaves, nodes=nodes, keys=names, max_leaves=max_leaves)


@cache
def trees(max_leaves: int = 20) -> Any:
    """Return a strategy for trees of all node types, except for objects."""
    return testing.trees(leaves, nodes=NODES, keys=names, max_leaves=max_leaves)


@cache
def common_trees(*, with_none: bool = True, mappings: bool = True) -> Any:
    """Return a strategy for trees of the node types that the peers have, too."""
    nodes: list[Any] = [list, tuple, Point, dict]
    if mappings:
        nodes += [OrderedDict, defaultdict]
    if with_none:
        nodes.append(type(None))
    return testing.trees(leaves, nodes=nodes, keys=names)

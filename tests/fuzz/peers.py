"""What the parts that compare with another library share."""

import dataclasses
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from random import Random
from typing import Any

import leafwise as lw

from . import odd
from .runner import Round
from .tell import told
from .trees import FACTORIES, SORTS, WORDED, WORDS, Sort, Trees, only


class Box(odd.Node):
    """To be registered in both libraries."""


@dataclasses.dataclass
class Record:
    """To be registered in both, as a dataclass."""

    x: Any
    y: Any
    tag: Any = None

    def __call__(self, *args: Any) -> bool:
        return True


def flatten_box(box: Box) -> tuple[Any, Any]:
    """Take a box apart."""
    return tuple(box.kids), box.aux


def make_box(aux: Any, kids: Any) -> Box:
    """Put a box together."""
    return Box(kids, aux)


lw.register_pytree_node(Box, flatten_box, make_box, bridge=False)
lw.register_dataclass(Record, ["x", "y"], ["tag"], bridge=False)

BOX = Sort(
    lambda random, kids: Box(kids, random.choice("tu")),
    lambda node: [*node.kids],
    lambda node, kids: Box(kids, node.aux),
)
RECORD = Sort(
    lambda random, kids: Record(*kids[:2], random.choice("tu")),
    lambda node: [node.x, node.y],
    lambda node, kids: Record(*kids, node.tag),
    free=False,
)
SEQUENCES = only(list, tuple, odd.Pair, odd.Other)
MAPPINGS = {dict: WORDED, **only(OrderedDict)}
DEFAULTDICT = {
    defaultdict: Sort(
        lambda random, kids: defaultdict(
            random.choice(FACTORIES), WORDED.make(random, kids)
        ),
        SORTS[defaultdict].take,
        SORTS[defaultdict].like,
    )
}
DEQUE = only(deque)
CLASSES = {Box: BOX, Record: RECORD}


def value(random: Random) -> Any:
    """Return a leaf that every library takes for one."""
    return random.choice((0, 1, 2.5, "s", True, -1, 0.0, -0.0, 1j, b"x", "", len))


def result(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Return what is to be told of a call: what it gives, or that it fails."""
    try:
        return told(function(*args, **options))
    except (ValueError, TypeError, KeyError):
        return "an error"


def trees_of(one: Round, *tables: dict[Any, Sort], none: bool = True) -> Trees:
    """Return what makes trees of some sorts that all libraries know."""
    sorts = {cls: sort for table in tables for cls, sort in table.items()}
    return Trees(one.random, sorts, value, keys=WORDS, none=none)


def pair_of(one: Round, trees: Trees) -> tuple[Any, Any]:
    """Return two trees: equal, or different in a place, or one deeper, or unlike."""
    first = trees.node(one.random.choice((1, 2, 3)))
    what = one.random.randrange(4)
    if what == 0:
        second = first
    elif what == 1:
        second = trees.changed(first)
    elif what == 2:
        second = deeper(first, trees)
    else:
        second = trees.node(2)
    one.step(f"trees {told(first)} and {told(second)}")
    return first, second


def deeper(tree: Any, trees: Trees) -> Any:
    """Return a tree with small trees at the leaves of another one."""
    return lw.tree_map(lambda _: trees.tree(1), tree, none_is_leaf=True)


class Calls:
    """A function that takes note of what it is called with."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __call__(self, *args: Any) -> Any:
        self.seen.append([*map(told, args)])
        return ["leaf", *args]


def is_pair(node: Any) -> bool:
    """Say whether a node is a tuple of two, of any sort."""
    return isinstance(node, tuple) and len(node) == 2


def unordered(value: Any) -> Any:
    """Return what was told, without the order of dicts."""
    if isinstance(value, tuple) and value and value[0] == "dict":
        pairs = [(key, unordered(item)) for key, item in value[1]]
        return "dict", sorted(pairs, key=repr)
    if isinstance(value, tuple | list):
        return type(value)(map(unordered, value))
    return value

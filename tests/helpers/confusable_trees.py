"""Random trees that are easily mistaken for one another.

Their keys, leaves and aux data are equal but of other types, equal to everything, or
fail when they are compared. `exact_forms` tells them apart.
"""

import dataclasses
import enum
from collections import defaultdict, deque, namedtuple
from typing import Any

from hypothesis import strategies as st

import leafwise as lw
from helpers.containers import SEQUENCES
from leafwise import nn, testing
from leafwise.core.builtins import MAPPINGS


Pair = namedtuple("Pair", "a b")
Other = namedtuple("Other", "a b")


class Text(str):
    """Equal to a plain string, and no plain string."""

    __slots__ = ()


class Name(enum.StrEnum):
    """Equal to plain strings, too."""

    A = "a"
    B = "b"


class Odd:
    """Equal to everything, and without a hash."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        return True

    def __deepcopy__(self, memo: object) -> "Odd":
        return self


class Raising:
    """Fails when it is compared."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    def __deepcopy__(self, memo: object) -> "Raising":
        return self


@lw.dataclass
class Layer:
    x: Any
    y: Any
    tag: Any = lw.static(default="t")


@lw.dataclass(frozen=True)
class Sealed:
    x: Any
    tag: Any = lw.static(default=1)


@lw.register_dataclass
@dataclasses.dataclass(slots=True, kw_only=True)
class Slotted:
    x: Any
    tag: Any = dataclasses.field(default=0, metadata={"static": True})


class Node:
    """A class with children in a list, and any aux data."""

    def __init__(self, kids: Any, aux: Any) -> None:
        self.kids = list(kids)
        self.aux = aux


class Lazy(Node):
    """Gives its children as an iterator, with names."""


class Named(Node):
    """Gives pairs of keys and children."""


class Tree(lw.Pytree):
    """An object whose static part may be anything."""

    def __init__(self, children: Any, aux: Any, names: str) -> None:
        for name, child in zip(names, children, strict=False):
            setattr(self, name, lw.data(child))
        self.aux = lw.static(aux)


class Module(nn.Module):
    """An object whose children come as they were assigned."""

    __init__ = Tree.__init__


class Fixed:
    """Has no children at all."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is Fixed and self.value == other.value

    def __hash__(self) -> int:
        return 1


lw.register_pytree_node(
    Node, lambda n: (n.kids, n.aux), lambda aux, kids: Node(kids, aux)
)
lw.register_pytree_node(
    Lazy,
    lambda n: (iter(n.kids), n.aux, [f"item{i}" for i in range(len(n.kids))]),
    lambda aux, kids: Lazy(kids, aux),
)
lw.registry.register_pytree_with_keys(
    Named,
    lambda n: ([(lw.DictKey(i), kid) for i, kid in enumerate(n.kids)], n.aux),
    lambda aux, kids: Named(kids, aux),
)
lw.register_static(Fixed)
lw.namespace("alike-insertion", dict_order="insertion")
lw.namespace("alike-nones", none_is_leaf=True)

KEYS = (
    "a", "b", "c", Text("a"), Name.A, Name.B,
    1, True, 1.0, 2, 0, False, 0.0, -0.0,
    None, b"a", (1, "a"), (True, "a"), frozenset({1}),
)  # fmt: skip
AUX = (
    "t", Text("t"), Name.A, 1, True, 1.0, 0.0, -0.0, None,
    (1, 2), (1.0, 2), [1], {"a": 1}, len, int,
    Odd(), Odd(), Raising(),
)  # fmt: skip
LEAVES = (1, 2.0, "s", True, Text("z"), Name.B, 1j, b"x", range(3))

leaves = st.sampled_from(LEAVES)
aux = st.sampled_from(AUX)
keys = st.sampled_from(KEYS)
WALKS = (
    {},
    {"namespace": "alike-nones"},
    {"namespace": "alike-insertion"},
    {"is_leaf": tuple},
    {"is_leaf": (Pair, dict)},
    {"is_leaf": lambda node: isinstance(node, Node)},
)
walks = st.sampled_from(WALKS)
_names = st.sampled_from(["abc", "cba", "bca", "abcdefghijklmnop"])


def _items(children: Any) -> Any:
    """Return lists of children, often equal neighbours, sometimes many."""
    return st.one_of(
        st.lists(children, max_size=4),
        st.builds(lambda child, count: [child] * count, children, st.integers(2, 14)),
    )


def _tree_list(items: list[Any]) -> Any:
    return nn.List(lw.data(item) for item in items)


def _tree_list_with_static_head(items: list[Any], head: Any) -> Any:
    return nn.List([head, *(lw.data(item) for item in items)])


RESTS = {defaultdict: (int, list, None, len), deque: (None, 14, 20)}


def _built(node_type: Any, items: Any) -> Any:
    """Return containers of all rests with these items."""
    rests = st.sampled_from(RESTS.get(node_type.cls, (None,)))
    return st.builds(node_type.from_items, rests, items)


def _nodes(children: Any) -> Any:
    items = _items(children)
    short = st.lists(children, max_size=3)
    words = st.lists(st.sampled_from("abcdefghijklmnop"), unique=True)
    plain = st.builds(
        lambda names, values: dict(zip(names, values, strict=False)), words, items
    )
    mixed = st.dictionaries(keys, children, max_size=4)
    return st.one_of(
        *[_built(node_type, items) for node_type in SEQUENCES.values()],
        *[_built(node_type, plain | mixed) for node_type in MAPPINGS.values()],
        st.builds(Pair, children, children),
        st.builds(Other, children, children),
        st.builds(Layer, children, children, aux),
        st.builds(Sealed, children, aux),
        st.builds(Slotted, x=children, tag=aux),
        st.builds(Node, items, aux),
        st.builds(Lazy, short, aux),
        st.builds(Named, short, aux),
        st.builds(Fixed, aux),
        st.builds(Tree, items, aux, _names),
        st.builds(Module, short, aux, _names),
        st.builds(_tree_list, short),
        st.builds(_tree_list_with_static_head, short, aux),
        st.builds(lambda items: lw.Partial(len, *items), short),
    )


trees = testing.trees(leaves, nodes=[type(None), _nodes], max_leaves=16)


@st.composite
def variants(draw: Any, tree: Any) -> Any:
    """Draw a tree that differs from another one in one place, or in its order."""
    if draw(st.integers(0, 3)) == 0:
        return draw(trees)
    cls = type(tree)
    if cls in SEQUENCES and tree:
        return _changed_sequence(draw, tree)
    if cls in MAPPINGS and tree:
        return _changed_mapping(draw, tree)
    if cls is Layer:
        return Layer(draw(variants(tree.x)), tree.y, draw(st.just(tree.tag) | aux))
    if cls is Sealed:
        return Sealed(draw(variants(tree.x)), draw(st.just(tree.tag) | aux))
    if cls in (Tree, Module):
        copy = lw.tree_map(lambda x: x, tree, is_leaf=lambda x: x is not tree)
        copy.aux = lw.static(draw(st.just(tree.aux) | aux))
        if hasattr(tree, "a"):
            copy.a = draw(variants(tree.a))
        return copy
    if cls is Node:
        kids = list(tree.kids)
        if kids:
            kids[-1] = draw(variants(kids[-1]))
        return Node(kids, draw(st.just(tree.aux) | aux))
    if cls in (Pair, Other):
        pair_type = draw(st.sampled_from([Pair, Other]))
        return pair_type(draw(variants(tree[0])), tree[1])
    return draw(leaves)


def _changed_sequence(draw: Any, sequence: Any) -> Any:
    """Draw the same sequence with one item changed or missing."""
    items = list(sequence)
    index = draw(st.integers(0, len(items) - 1))
    if draw(st.booleans()):
        items[index] = draw(variants(items[index]))
    else:
        del items[index]
    node_type = SEQUENCES[type(sequence)]
    return node_type.from_items(node_type.rest(sequence), items)


def _changed_mapping(draw: Any, mapping: Any) -> Any:
    """Draw the same mapping with another value, key, order or type, or one key more."""
    node_type = MAPPINGS[type(mapping)]
    other_data = node_type.rest(mapping)
    pairs = list(mapping.items())
    index = draw(st.integers(0, len(pairs) - 1))
    key, value = pairs[index]
    change = draw(st.sampled_from(["value", "key", "order", "type", "more"]))
    if change == "value":
        pairs[index] = (key, draw(variants(value)))
    elif change == "key":
        pairs[index] = (draw(keys), value)
    elif change == "order":
        pairs = draw(st.permutations(pairs))
    elif change == "type":
        node_type = draw(st.sampled_from(list(MAPPINGS.values())))
        other_data = None  # of none of them is it anything else
    else:
        pairs.append((draw(keys), draw(leaves)))
    return node_type.from_items(other_data, dict(pairs))

"""Random trees of all sorts, and trees that differ from another one in one place.

Owns the table of sorts of nodes: how each is made, taken apart and made like another.
It says so without the library, so that models can be built on it.
"""

import copy
import time
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

import leafwise as lw

from . import odd
from .odd import Backwards, Color, Key, Name, Text


NAN = float("nan")
WORDS = ("a", "b", "c", "d", "x-y", "_z", "10")
FACTORIES = (int, list, None, len)

KEYS = (
    *("a", "b", "c", Text("a"), Text("b"), *Name, *Backwards, *Color),
    *(1, True, 1.0, 2, 0, False, 0.0, -0.0, -1, 2.5, NAN, 1j, complex(0.0, -0.0)),
    *(None, b"a", (1, "a"), (True, "a"), (), frozenset({1}), frozenset(), Key("k")),
    *("", "a.b", "[0]", "'", "\n", "é", 10**25),
)
STATIC = (
    *("t", Text("t"), 1, True, 1.0, 0.0, -0.0, NAN, None, (1, 2), (1.0, 2), [1]),
    *({"a": 1}, len, int, Name.A, odd.EqualToAll("e"), odd.Raising("r")),
)
AUX = (*STATIC, np.array([NAN]), np.array([[NAN]]), np.array([1, 2]))


def leaf(random: Random) -> Any:
    """Return a leaf: plain most of the time, odd often enough."""
    if random.random() < 0.6:
        return random.choice(
            (0, 1, 2.5, "s", True, False, -1, 1.0, 0.0, -0.0, 1j, b"x", "a")
        )
    cls = random.choice((*odd.LEAF_CLASSES, *_ODD_LEAVES))
    return cls(random.choice("pqr"))


_ODD_LEAVES: tuple[Callable[[str], Any], ...] = (
    lambda _: NAN,
    lambda _: Text("t"),
    lambda _: Name.B,
    lambda _: Backwards.C,
    lambda _: len,
    lambda _: int,
    lambda _: range(2),
    lambda _: {1},
    lambda label: odd.Items([label]),
    lambda label: odd.Table(a=label),
    lambda label: odd.LooksNamed([label, 1]),
    lambda label: odd.LooksBuiltIn([label, 1], note=label),
    lambda _: np.array(NAN),
    lambda _: np.array([NAN]),
    lambda _: np.array([[NAN, 1.0]], dtype=np.float32),
    lambda _: np.arange(2),
    lambda _: np.float64("nan"),
    lambda _: np.int64(3),
    lambda label: odd.Later([label], None),
)


# ---------------------------------------------------------------- the sorts of nodes


@dataclass(frozen=True)
class Sort:
    """One sort of nodes.

    Attributes:
        make: Makes a node of random aux data and some children.
        take: Returns the children, in the order that the node has them.
        like: Makes a node like another one, with other children, as many.
        free: Whether a node may have any number of children.
    """

    make: Callable[[Random, list[Any]], Any]
    take: Callable[[Any], list[Any]]
    like: Callable[[Any, list[Any]], Any]
    free: bool = True


def _words(random: Random, children: list[Any]) -> dict[Any, Any]:
    return dict(zip(random.sample(WORDS, len(WORDS)), children, strict=False))


def _mixed(random: Random, children: list[Any]) -> dict[Any, Any]:
    if random.random() < 0.5:
        return _words(random, children)
    return {random.choice(KEYS): child for child in children}


def _rekeyed(node: Any, children: list[Any]) -> dict[Any, Any]:
    return dict(zip([*node], children, strict=True))


def _values(node: Any) -> list[Any]:
    return [*node.values()]


def _two(cls: Any) -> Sort:
    return Sort(
        lambda _, kids: tuple.__new__(cls, kids[:2]),
        list,
        lambda _, kids: tuple.__new__(cls, kids),
        free=False,
    )


def _registered(cls: Any) -> Sort:
    return Sort(
        lambda random, kids: cls(kids, random.choice(AUX)),
        lambda node: [*node.kids],
        lambda node, kids: cls(kids, node.aux),
    )


def _struct_like(node: time.struct_time, kids: list[Any]) -> time.struct_time:
    hidden = {"tm_zone": node.tm_zone, "tm_gmtoff": node.tm_gmtoff}
    return time.struct_time([*kids, *[0] * (9 - len(kids))][:9], hidden)


def _object(random: Random, kids: list[Any], cls: Any = odd.Tree) -> Any:
    made = cls()
    for name, kid in zip(random.sample("abcd", 4), kids, strict=False):
        setattr(made, name, lw.data(kid))
    made.tag = lw.static(random.choice(STATIC))
    return made


def _object_like(node: Any, kids: list[Any]) -> Any:
    made, rest = type(node)(), iter(kids)
    for name, value in vars(node).items():
        is_data = name in "abcd"
        setattr(made, name, lw.data(next(rest)) if is_data else lw.static(value))
    return made


def _object_kids(node: Any) -> list[Any]:
    return [value for name, value in vars(node).items() if name in "abcd"]


WORDED = Sort(_words, _values, _rekeyed)
"""A dict whose keys are words."""

SORTS: dict[Any, Sort] = {
    list: Sort(lambda _, kids: kids, list, lambda _, kids: kids),
    tuple: Sort(lambda _, kids: tuple(kids), list, lambda _, kids: tuple(kids)),
    dict: Sort(_mixed, _values, _rekeyed),
    OrderedDict: Sort(
        lambda random, kids: OrderedDict(_words(random, kids)),
        _values,
        lambda node, kids: OrderedDict(_rekeyed(node, kids)),
    ),
    defaultdict: Sort(
        lambda random, kids: defaultdict(
            random.choice(FACTORIES), _mixed(random, kids)
        ),
        _values,
        lambda node, kids: defaultdict(node.default_factory, _rekeyed(node, kids)),
    ),
    deque: Sort(
        lambda random, kids: deque(kids, random.choice((None, 20))),
        list,
        lambda node, kids: deque(kids, node.maxlen),
    ),
    odd.Pair: _two(odd.Pair),
    odd.Other: _two(odd.Other),
    odd.Noted: _two(odd.Noted),
    time.struct_time: Sort(
        lambda _, kids: _struct_like(time.gmtime(0), kids),
        list,
        _struct_like,
        free=False,
    ),
    odd.Layer: Sort(
        lambda random, kids: odd.Layer(kids[0], kids[1], random.choice(AUX)),
        lambda node: [node.x, node.y],
        lambda node, kids: odd.Layer(*kids, node.tag),
        free=False,
    ),
    odd.Sealed: Sort(
        lambda random, kids: odd.Sealed(x=kids[0], tag=random.choice(AUX)),
        lambda node: [node.x],
        lambda node, kids: odd.Sealed(x=kids[0], tag=node.tag),
        free=False,
    ),
    odd.Node: _registered(odd.Node),
    odd.Lazy: _registered(odd.Lazy),
    odd.Named: _registered(odd.Named),
    odd.Fragile: _registered(odd.Fragile),
    odd.Early: _registered(odd.Early),
    odd.Late: _registered(odd.Late),
    odd.Later: _registered(odd.Later),
    odd.Fixed: Sort(
        lambda random, _: odd.Fixed(random.choice(STATIC[:10])),
        lambda _: [],
        lambda node, _: node,
        free=False,
    ),
    odd.Tree: Sort(_object, _object_kids, _object_like, free=False),
    lw.Partial: Sort(
        lambda _, kids: lw.Partial(
            len, *kids[:2], **dict(zip("ab", kids[2:4], strict=False))
        ),
        lambda node: [*node.args, *node.keywords.values()],
        lambda node, kids: lw.Partial(
            node.func,
            *kids[: len(node.args)],
            **dict(zip(node.keywords, kids[len(node.args) :], strict=True)),
        ),
        free=False,
    ),
    lw.nn.List: Sort(
        lambda _, kids: lw.nn.List(map(lw.data, kids)),
        list,
        lambda _, kids: lw.nn.List(map(lw.data, kids)),
    ),
    lw.nn.Dict: Sort(
        lambda _, kids: lw.nn.Dict(dict(zip("abcd", map(lw.data, kids), strict=False))),
        _values,
        lambda node, kids: lw.nn.Dict(_rekeyed(node, [*map(lw.data, kids)])),
        free=False,
    ),
}
"""The sorts of nodes by their exact type."""


def only(*classes: Any) -> dict[Any, Sort]:
    """Return a part of the table."""
    return {cls: SORTS[cls] for cls in classes}


# ----------------------------------------------------------------------- random trees


_DICTS = (dict, OrderedDict, defaultdict)
_ALIKE = (
    _DICTS,
    (list, tuple, deque, lw.nn.List),
    (odd.Pair, odd.Other, odd.Noted, tuple),
    (odd.Node, odd.Lazy, odd.Named, odd.Early, odd.Late, odd.Later),
)


def near(random: Random, value: Any) -> Any:
    """Return something that can be aux data, equal to a value if there is such."""
    alike = [other for other in STATIC if _seems_equal(other, value)]
    return random.choice(alike if alike and random.random() < 0.7 else STATIC)


def _seems_equal(one: Any, other: Any) -> bool:
    return (
        isinstance(other, str | float | int | tuple)
        and one is not other
        and (isinstance(one, str | float | int | tuple) and one == other)
    )


class Trees:
    """Makes trees.

    Args:
        random: Where choices come from.
        sorts: The sorts of nodes, by type; other nodes count as leaves.
        leaf: Makes leaves.
        keys: The keys that a change may bring into a dict.
        none: Whether there is None in the trees.
    """

    def __init__(
        self,
        random: Random,
        sorts: Mapping[Any, Sort] = SORTS,
        leaf: Callable[[Random], Any] = leaf,
        *,
        keys: Sequence[Any] = KEYS,
        none: bool = True,
    ) -> None:
        self.random = random
        self.keys = keys
        self.sorts = sorts
        self.leaf = leaf
        self.none = none

    def tree(self, depth: int = 3) -> Any:
        """Return a tree of at most that depth; wider near the root."""
        random = self.random
        if depth == 0 or random.random() < 0.15:
            if self.none and random.random() < 0.15:
                return None
            return self.leaf(random)
        return self.node(depth)

    def node(self, depth: int = 3) -> Any:
        """Return a tree whose root is a node."""
        random = self.random
        sort = random.choice([*self.sorts.values()])
        size = random.choice((0, 1, 2, 2, 3, 3, 4, 12 if depth < 3 else 5))
        size = size if sort.free else max(size, 2)
        if random.random() < 0.2:
            children = [self.tree(depth - 1)] * size
        else:
            children = [self.tree(depth - 1) for _ in range(size)]
        return sort.make(random, children)

    def changed(self, tree: Any) -> Any:
        """Return a tree that differs from another one in one place."""
        random, sort = self.random, self.sorts.get(type(tree))
        if sort is None or random.random() < 0.1:
            return self.tree(random.choice((0, 0, 0, 1, 2)))
        children = sort.take(tree)
        if children and random.random() < 0.6:
            place = random.randrange(len(children))
            children[place] = self.changed(children[place])
            return sort.like(tree, children)
        what = random.random()
        if isinstance(tree, dict) and what < 0.6:
            return self.other_keys(tree)
        if what < 0.5:
            return self.other_aux(tree, children)
        if what < 0.75:
            return self.other_sort(tree, children)
        if sort.free and what < 0.9:
            return sort.make(random, children[:-1])
        more = [*children, self.leaf(random), self.leaf(random)]
        return sort.make(random, more) if len(children) < 5 else tree

    def other_aux(self, tree: Any, children: list[Any]) -> Any:
        """Return a node with other aux data, equal to its own if there is such."""
        names = [name for name in ("aux", "tag", "label") if hasattr(tree, name)]
        if not names or type(tree) not in SORTS:
            return self.sorts[type(tree)].make(self.random, children)
        made = copy.copy(tree)
        value = near(self.random, getattr(tree, names[0]))
        if isinstance(made, lw.Pytree):
            setattr(made, names[0], lw.static(value))
        else:
            object.__setattr__(made, names[0], value)
        return made

    def other_sort(self, tree: Any, children: list[Any]) -> Any:
        """Return a node of another sort with the same children."""
        alike = next((group for group in _ALIKE if type(tree) in group), self.sorts)
        sorts = [self.sorts[cls] for cls in alike if cls in self.sorts]
        sort = self.random.choice(sorts)
        if isinstance(tree, dict) and alike is _DICTS:
            kind = self.random.choice([cls for cls in _DICTS if cls in self.sorts])
            return kind(int, tree) if kind is defaultdict else kind(tree)
        if not sort.free and len(children) < 2:
            children = [*children, 0, 1]
        return sort.make(self.random, children)

    def other_keys(self, tree: Any) -> Any:
        """Return a dict with other keys, or another order of the same ones."""
        random, pairs = self.random, [*tree.items()]
        what = random.choice(("key", "same key", "same keys", "order", "less", "more"))
        place = random.randrange(len(pairs)) if pairs else 0
        if what == "order":
            random.shuffle(pairs)
        elif what == "more" or not pairs:
            pairs.append((random.choice(self.keys), self.leaf(random)))
        elif what == "less":
            del pairs[place]
        elif what == "same keys":
            cls = type(random.choice(self.keys))
            table = {key: key for key in self.keys if type(key) is cls}
            pairs = [(table.get(key, key), value) for key, value in pairs]
        else:
            key, value = pairs[place]
            equal = [other for other in self.keys if other == key]
            like = equal if equal and what == "same key" else self.keys
            pairs[place] = (random.choice(like), value)
        if type(tree) is defaultdict:
            return defaultdict(tree.default_factory, pairs)
        return type(tree)(pairs)

    def nodes(self, tree: Any) -> list[Any]:
        """Return all nodes of a tree, by what the table says."""
        found, todo = [], [tree]
        while todo:
            node = todo.pop()
            if type(node) in self.sorts:
                found.append(node)
                todo += self.sorts[type(node)].take(node)
        return found

    def mutated(self, tree: Any) -> None:
        """Change a tree in one place, in place, if something in it can be changed."""
        found = [node for node in self.nodes(tree) if type(node) in _CHANGEABLE]
        if not found:
            return
        node = self.random.choice(found)
        value = self.tree(self.random.choice((0, 1)))
        if type(node) is odd.Tree:
            self._mutate_object(node, value)
        elif isinstance(node, odd.Node):
            node.kids = [*node.kids[1:], value]
        elif isinstance(node, dict):
            self._mutate_dict(node, value)
        else:
            self._mutate_items(node, value)

    def _mutate_object(self, node: Any, value: Any) -> None:
        what, name = self.random.random(), self.random.choice("abcd")
        if what < 0.5:
            setattr(node, name, lw.data(value))
        elif what < 0.6:
            vars(node).pop(name, None)
        elif what < 0.7 and hasattr(node, name):
            delattr(node, name)
        elif what < 0.8 and hasattr(node, name):
            vars(node)[name] = value
        else:
            node.tag = lw.static(self.random.choice(STATIC))

    def _mutate_dict(self, node: Any, value: Any) -> None:
        what = self.random.random()
        if node and what < 0.4:
            node[self.random.choice([*node])] = value
        elif node and what < 0.6:
            node.pop(self.random.choice([*node]), None)
        elif node and what < 0.8:
            key, item = next(iter(node.items()))
            node.pop(key, None)
            node[key] = item
        else:
            node[self.random.choice(self.keys)] = value

    def _mutate_items(self, node: Any, value: Any) -> None:
        what = self.random.random()
        place = self.random.randrange(len(node)) if node else 0
        if node and what < 0.6:
            node[place] = value
        elif node and what < 0.8:
            del node[place]
        else:
            node.append(value)


_CHANGEABLE = frozenset(
    {list, deque, dict, OrderedDict, defaultdict, odd.Tree, odd.Node, odd.Named}
)

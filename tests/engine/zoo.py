"""Nodes of every kind, trees of them, and trees that differ from those a little."""

import dataclasses
import enum
import os
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import numpy as np
from hypothesis import strategies as st

import leafwise as lw


INSERTION = "engine-zoo-insertion"
SWAPPED = "engine-zoo-swapped"

# ------------------------------------------------------------- keys and aux data


class Text(str):
    """Equal to a plain string, and none."""

    __slots__ = ()


class Name(enum.StrEnum):
    """Equal to plain strings, too."""

    A = "a"
    B = "b"


class Whole(int):
    """Equal to an int, and none."""

    __slots__ = ()


class Agreeing:
    """Equal to everything, without a hash."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        return True


class Raising:
    """Fails when it is compared."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")


class Vague:
    """Compares to something that is neither true nor false."""

    __hash__ = None

    def __eq__(self, other: object) -> Any:
        return np.array([True, False])


KEYS = (
    *("a", "b", "c", Text("a"), Name.A, Name.B, 1, True, 1.0, 2, 0, False, 0.0, -0.0),
    *(None, b"a", (1, "a"), (True, "a"), (1.0, "a"), frozenset({1}), Whole(2), int),
)
AUX: tuple[Any, ...] = (
    *("t", "t" * 3, Text("t"), 1, True, 1.0, 0.0, -0.0, None, (1, 2), (1.0, 2)),
    *((True, (2, "x")), float("nan"), [1], [1.0], {"a": 1}, {1: 2, 3: 4}, len, int),
    *(Name.A, Name.B, Whole(1), Agreeing(), Agreeing(), Raising(), Vague()),
    *(np.arange(3), np.arange(3.0), lambda: 1, frozenset({1}), 1j, b"t", range(2)),
)
LEAVES = (1, 2.0, -0.0, "s", True, False, Text("z"), Name.B, 1j, b"x", range(3), int)

# ------------------------------------------------------------------------- nodes


class Kids:
    """Some children and aux data."""

    snap_names = ("kids", "aux")

    def __init__(self, kids: Any, aux: Any = None) -> None:
        self.kids = list(kids)
        self.aux = aux


class InTuple(Kids):
    """Gives its children in a tuple."""


class InList(Kids):
    """Gives its very list of children."""


class InGenerator(Kids):
    """Gives its children one by one."""


class WithKeys(Kids):
    """Gives a key for each child."""


class InPairs(Kids):
    """Gives pairs of keys and children."""


class Fresh(Kids):
    """Makes new aux data each time it is asked."""


class Family(Kids):
    """Registered for its subclasses, too."""


class Cousin(Family):
    """Registered by its base."""


class Stranger(InTuple):
    """A subclass of a node that is no node."""


for cls, flatten in (
    (InTuple, lambda n: (tuple(n.kids), n.aux)),
    (InList, lambda n: (n.kids, n.aux)),
    (InGenerator, lambda n: ((kid for kid in n.kids), n.aux)),
    (WithKeys, lambda n: (n.kids, n.aux, [f"at_{i}" for i in range(len(n.kids))])),
    (Fresh, lambda n: (n.kids, [n.aux, {"deep": n.aux}])),
):
    lw.register_pytree_node(cls, flatten, lambda aux, kids, cls=cls: cls(kids, aux))
lw.register_pytree_node(
    Fresh,
    lambda n: (n.kids, [n.aux, {"deep": n.aux}]),
    lambda aux, kids: Fresh(kids, aux[0]),
    exist_ok=True,
)
lw.register_pytree_with_keys(
    InPairs,
    lambda n: ([(lw.DictKey(i), kid) for i, kid in enumerate(n.kids)], n.aux),
    lambda aux, kids: InPairs(kids, aux),
)
lw.register_pytree_node(
    Family,
    lambda n: (n.kids, (type(n), n.aux)),
    lambda aux, kids: aux[0](kids, aux[1]),
    inherit=True,
)


class Fixed:
    """Has no children at all."""

    snap_names = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is Fixed and self.value == other.value

    def __hash__(self) -> int:
        return 1


lw.register_static(Fixed)


@lw.dataclass
class Plain:
    snap_names = ("x", "y", "tag", "mark")
    x: Any
    y: Any
    tag: Any = lw.static(default="t")
    mark: Any = lw.static(default=0)


@lw.dataclass(frozen=True)
class Sealed:
    snap_names = ("x", "tag")
    x: Any
    tag: Any = lw.static(default=1)


@lw.register_dataclass
@dataclasses.dataclass(slots=True, kw_only=True)
class Slotted:
    x: Any
    tag: Any = dataclasses.field(default=0, metadata={"static": True})


Slotted.snap_names = ("x", "tag")


@dataclasses.dataclass
class Made:
    """Is rebuilt by its `__init__`, which leaves a trace."""

    snap_names = ("x", "tag", "trace")
    x: Any
    tag: Any = dataclasses.field(default=0, metadata={"static": True})

    def __post_init__(self) -> None:
        self.trace = "made"


@dataclasses.dataclass
class Dropping:
    snap_names = ("x", "y", "lost", "gone")
    x: Any
    y: Any = 0
    lost: Any = "default"
    gone: Any = dataclasses.field(default_factory=list)


class Hooked:
    """Has attributes that cannot be written out, and a `__setattr__` of its own."""

    names = ("class", "é", "ſtrange", "_x", "__y")
    snap_names = (*names, "log")

    def __init__(self, *values: Any) -> None:
        for name, value in zip(self.names, values, strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        object.__setattr__(self, "log", name)


lw.register_dataclass(Made, init=True)
lw.register_dataclass(Dropping, ["x", "y"], [], ["lost", "gone"])
lw.register_dataclass(Hooked, ["class", "é", "_x"], ["ſtrange", "__y"])

Pair = namedtuple("Pair", "a b")
Other = namedtuple("Other", "a b")


class Backwards(namedtuple("Backwards", "a b c")):
    """Iterates in its own way."""

    __slots__ = ()

    def __iter__(self) -> Any:
        return iter((self[2], self[1], self[0]))


def add(*args: Any, **keywords: Any) -> int:
    """Stand in as the function of a `Partial`."""
    return len(args) + len(keywords)


lw.namespace(INSERTION, dict_order="insertion")
lw.register_pytree_node(
    InTuple,
    lambda n: (n.kids[::-1], "swapped"),
    lambda aux, kids: InTuple(kids[::-1], aux),
    namespace=SWAPPED,
)
lw.register_leaf(Plain, namespace=SWAPPED)

# ------------------------------------------------------------------- strategies

leaves = st.sampled_from(LEAVES) | st.builds(object)
aux = st.sampled_from(AUX)
keys = st.sampled_from(KEYS)
factories = st.sampled_from([int, list, None, len])
WALKS: tuple[dict[str, Any], ...] = (
    {},
    {"none_is_leaf": True},
    {"namespace": INSERTION},
    {"namespace": SWAPPED},
    {"namespace": INSERTION, "none_is_leaf": True},
    {"is_leaf": tuple},
    {"is_leaf": (Pair, dict, InList), "none_is_leaf": True},
    {"is_leaf": list | InTuple},
    {"is_leaf": lambda node: isinstance(node, Kids)},
    {"is_leaf": lambda path, _: len(path) > 1, "is_leaf_takes_path": True},
)
walks = st.sampled_from(WALKS)
WORDS = "abcdefghijklmnopqrst"


def _nodes(children: Any) -> Any:
    few = st.lists(children, max_size=3)
    many = st.builds(lambda child, n: [child] * n, children, st.integers(2, 30))
    items = few | many
    words = st.permutations(WORDS)
    named = st.builds(lambda ks, xs: dict(zip(ks, xs, strict=False)), words, items)
    mixed = st.dictionaries(keys, children, max_size=4)
    kids = st.sampled_from(
        [InTuple, InList, InGenerator, WithKeys, InPairs, Fresh, Family, Cousin]
    )
    return st.one_of(
        items,
        items.map(tuple),
        named,
        mixed,
        (named | mixed).map(OrderedDict),
        st.builds(defaultdict, factories, named | mixed),
        st.builds(deque, items, st.sampled_from([None, 30, 40])),
        st.builds(Pair, children, children),
        st.builds(Backwards, children, children, children),
        st.builds(lambda a, b: os.terminal_size((a, b)), children, children),
        st.builds(Plain, children, children, aux, aux),
        st.builds(Sealed, children, aux),
        st.builds(Slotted, x=children, tag=aux),
        st.builds(Made, children, aux),
        st.builds(Dropping, children, children, children),
        st.builds(Hooked, children, children, aux, children, aux),
        st.builds(lambda cls, xs, a: cls(xs, a), kids, items, aux),
        st.builds(lambda cls, xs, a: cls(xs, a), kids, few, aux),
        st.builds(Stranger, few, aux),
        st.builds(Fixed, aux),
        st.builds(lambda xs, kw: lw.Partial(add, *xs, **kw), few, named),
    )


trees = st.recursive(leaves | st.none(), _nodes, max_leaves=12)

# ----------------------------------------------------------- trees that differ a bit


def children_of(node: Any) -> list[Any]:
    """Return the children of a node, without asking leafwise."""
    if isinstance(node, dict):
        return [*node.values()]
    if isinstance(node, Kids):
        return [*node.kids]
    if isinstance(node, Plain):
        return [node.x, node.y]
    if isinstance(node, Sealed | Slotted | Made):
        return [node.x]
    if isinstance(node, list | tuple | deque):
        return [*tuple.__iter__(node)] if isinstance(node, tuple) else [*node]
    return []


def with_children(node: Any, kids: list[Any]) -> Any:
    """Return a node with other children and the same aux data."""
    if isinstance(node, defaultdict):
        return defaultdict(node.default_factory, zip(node, kids, strict=True))
    if isinstance(node, dict):
        return type(node)(zip(node, kids, strict=True))
    if isinstance(node, Kids):
        return type(node)(kids, node.aux)
    if isinstance(node, Plain):
        return Plain(*kids, node.tag, node.mark)
    if isinstance(node, Slotted):
        return Slotted(x=kids[0], tag=node.tag)
    if isinstance(node, Sealed | Made):
        return type(node)(*kids, node.tag)
    if isinstance(node, deque):
        return deque(kids, node.maxlen)
    if hasattr(type(node), "_fields"):
        return tuple.__new__(type(node), kids)
    return type(node)(kids)


class SubList(list):
    """A list that is a leaf."""


class SubDict(dict):
    """A dict that is a leaf."""


@st.composite
def edited(draw: Any, tree: Any) -> Any:
    """Draw a tree that differs from another in one place."""
    kids = children_of(tree)
    if kids and draw(st.booleans()):
        place = draw(st.integers(0, len(kids) - 1))
        kids[place] = draw(edited(kids[place]))
        return with_children(tree, kids)
    if draw(st.integers(0, 4)) == 0:
        return draw(trees)
    if isinstance(tree, dict):
        return _edited_mapping(draw, tree)
    if isinstance(tree, Kids):
        change = draw(st.sampled_from([InTuple, InList, Stranger, type(tree), None]))
        return Kids(kids, tree.aux) if change is None else change(kids, draw(aux))
    if isinstance(tree, Plain):
        return Plain(tree.x, tree.y, draw(aux), draw(st.just(tree.mark) | aux))
    if isinstance(tree, Sealed):
        return Sealed(tree.x, draw(aux))
    if isinstance(tree, Pair):
        return draw(st.sampled_from([Other(*tree), tuple(tree), [*tree]]))
    if isinstance(tree, list | tuple | deque):
        return _edited_sequence(draw, tree, kids)
    return draw(leaves | st.none() | st.lists(leaves, max_size=2))


def _edited_sequence(draw: Any, tree: Any, kids: list[Any]) -> Any:
    more = [[*kids, kids[-1] if kids else 0], kids[:-1], kids]
    items = draw(st.sampled_from(more))
    kind = draw(
        st.sampled_from(
            [list, tuple, deque, SubList, lambda xs: deque(xs, 40), InTuple]
        )
    )
    return kind(items)


def _edited_mapping(draw: Any, tree: Any) -> Any:
    pairs = [*tree.items()]
    changes = ["order", "kind", "more"] + ["drop", "key", "key"] * bool(pairs)
    change = draw(st.sampled_from(changes))
    if change == "kind":
        kinds = [dict, OrderedDict, SubDict]
        kinds += [lambda xs, f=f: defaultdict(f, xs) for f in (None, int, list)]
        return draw(st.sampled_from(kinds))(pairs)
    if change == "order":
        pairs = draw(st.permutations(pairs))
    elif change == "more":
        pairs.append((draw(keys), draw(leaves)))
    else:
        place = draw(st.integers(0, len(pairs) - 1))
        key, value = pairs.pop(place)
        if change == "key":
            same = [other for other in KEYS if key == other and type(key) is str]
            pairs.insert(place, (draw(st.sampled_from(same) if same else keys), value))
    if isinstance(tree, defaultdict):
        return defaultdict(tree.default_factory, pairs)
    return type(tree)(pairs)

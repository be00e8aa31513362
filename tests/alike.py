"""Trees that are hard to tell apart, and a text that tells them apart all the same."""

import dataclasses
import enum
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

from hypothesis import strategies as st

import leafwise as lw
from leafwise import nn, testing


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

_FUNCTION = len
KEYS = (
    *("a", "b", "c", Text("a"), Name.A, Name.B, 1, True, 1.0, 2, 0, False, 0.0, -0.0),
    *(None, b"a", (1, "a"), (True, "a"), frozenset({1})),
)
AUX = (
    *("t", Text("t"), 1, True, 1.0, 0.0, -0.0, None, (1, 2), (1.0, 2), [1], {"a": 1}),
    *(_FUNCTION, int, Name.A, Odd(), Odd(), Raising()),
)
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
        st.builds(lambda child, n: [child] * n, children, st.integers(2, 14)),
    )


def _nodes(children: Any) -> Any:
    items = _items(children)
    short = st.lists(children, max_size=3)
    words = st.lists(st.sampled_from("abcdefghijklmnop"), unique=True)
    plain = st.builds(lambda ks, xs: dict(zip(ks, xs, strict=False)), words, items)
    mixed = st.dictionaries(keys, children, max_size=4)
    return st.one_of(
        items,
        items.map(tuple),
        plain,
        mixed,
        plain.map(OrderedDict),
        st.builds(defaultdict, st.sampled_from([int, list, None, _FUNCTION]), mixed),
        st.builds(deque, items, st.sampled_from([None, 14, 20])),
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
        st.builds(lambda xs: nn.List(map(lw.data, xs)), short),
        st.builds(lambda xs, a: nn.List([a, *map(lw.data, xs)]), short, aux),
        st.builds(lambda xs: lw.Partial(_FUNCTION, *xs), short),
    )


trees = testing.trees(leaves, nodes=[type(None), _nodes], max_leaves=16)


@st.composite
def variants(draw: Any, tree: Any) -> Any:
    """Draw a tree that differs from another one in one place, or in its order."""
    if draw(st.integers(0, 3)) == 0:
        return draw(trees)
    kind = type(tree)
    if kind in (list, tuple, deque) and tree:
        items = list(tree)
        place = draw(st.integers(0, len(items) - 1))
        if draw(st.booleans()):
            items[place] = draw(variants(items[place]))
        else:
            del items[place]
        return deque(items, tree.maxlen) if kind is deque else kind(items)
    if kind in (dict, OrderedDict) and tree:
        return _other_mapping(draw, kind, list(tree.items()))
    if kind is Layer:
        return Layer(draw(variants(tree.x)), tree.y, draw(st.just(tree.tag) | aux))
    if kind is Sealed:
        return Sealed(draw(variants(tree.x)), draw(st.just(tree.tag) | aux))
    if kind in (Tree, Module):
        again = lw.tree_map(lambda x: x, tree, is_leaf=lambda x: x is not tree)
        again.aux = lw.static(draw(st.just(tree.aux) | aux))
        if hasattr(tree, "a"):
            again.a = draw(variants(tree.a))
        return again
    if kind is Node:
        kids = [*tree.kids[:-1], *(draw(variants(kid)) for kid in tree.kids[-1:])]
        return Node(kids, draw(st.just(tree.aux) | aux))
    if kind in (Pair, Other):
        return draw(st.sampled_from([Pair, Other]))(draw(variants(tree[0])), tree[1])
    return draw(leaves)


def _other_mapping(draw: Any, kind: Any, pairs: list[Any]) -> Any:
    place = draw(st.integers(0, len(pairs) - 1))
    key, value = pairs[place]
    change = draw(st.sampled_from(["value", "key", "order", "kind", "more"]))
    if change == "value":
        pairs[place] = (key, draw(variants(value)))
    elif change == "key":
        pairs[place] = (draw(keys), value)
    elif change == "order":
        pairs = draw(st.permutations(pairs))
    elif change == "kind":
        return OrderedDict(pairs) if kind is dict else dict(pairs)
    else:
        pairs.append((draw(keys), draw(leaves)))
    return kind(pairs)


def told(value: Any) -> Any:
    """Return a text that differs wherever two values do: types, order, aux data."""
    kind = type(value)
    if kind in (int, str, float, bool):  # most values are: no need to ask further
        return kind.__name__, repr(value)
    if isinstance(value, lw.Partial):
        return "Partial", told(value.args), told(value.keywords)
    if isinstance(value, list | tuple | deque):
        return kind.__name__, getattr(value, "maxlen", 0), [*map(told, value)]
    if kind in (dict, OrderedDict, defaultdict):
        pairs = [(told(key), told(item)) for key, item in value.items()]
        return kind.__name__, repr(getattr(value, "default_factory", 0)), pairs
    if dataclasses.is_dataclass(value):
        fields = [getattr(value, field.name) for field in dataclasses.fields(value)]
        return kind.__name__, [*map(told, fields)]
    if isinstance(value, nn.List):
        keys = [
            path[0].entry
            for path in lw.tree_paths(value, is_leaf=lambda x: x is not value)
        ]
        return kind.__name__, keys, [*map(told, value)]
    if isinstance(value, lw.Pytree):
        kinds = [kind.value for kind in nn.name_to_kind(value).values()]
        pairs = [(name, told(item)) for name, item in vars(value).items()]
        return kind.__name__, kinds, pairs
    if isinstance(value, Node):
        return kind.__name__, [*map(told, value.kids)], told(value.aux)
    if kind is Fixed:
        return "Fixed", told(value.value)
    if kind in (Odd, Raising):
        return id(value)
    if kind is lw.PyTreeDef:
        return told_treedef(value)
    return kind.__name__, repr(value)


def told_treedef(treedef: lw.PyTreeDef) -> Any:
    """Return a text of a treedef, its keys and its aux data."""
    paths = [[told(key._values()) for key in path] for path in treedef.paths()]
    rebuilt = treedef.unflatten(range(treedef.num_leaves))
    return repr(treedef), paths, told(rebuilt)


def holds(check: Any, *args: Any, **options: Any) -> bool:
    """Return whether an assertion holds."""
    try:
        check(*args, **options)
    except AssertionError:
        return False
    return True


def one_answer(one: Any, other: Any, **options: Any) -> bool:
    """Return the one answer of all functions that compare, both ways around."""
    answers = set[bool]()
    tolerance = {name: options.get(name, 0) for name in ("rtol", "atol")}
    for a, b in ((one, other), (other, one)):
        answers.add(lw.tree_equal(a, b, **options))
        diff = lw.tree_diff(a, b, **options)
        answers |= {not diff, len(diff) == 0}
        stops = {"is_leaf": options.get("is_leaf")}
        assert lw.tree_equal(diff.apply(a), b, **stops, **tolerance)
        answers.add(holds(testing.assert_trees_equal, a, b, **options))
    (answer,) = answers
    return answer


def outcome(function: Any, *args: Any, **options: Any) -> Any:
    """Return a text of what a call gives or raises, notes included."""
    try:
        return told(function(*args, **options))
    except Exception as error:
        return type(error), str(error), getattr(error, "__notes__", None)

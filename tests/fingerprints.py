"""Trees that are the same on each Python, made from numbers, and their fingerprints.

Not by Hypothesis, nor by `random`, whose numbers are not the same on all of them. Each
tree can be made with a change in one place: leaf, key, static value, kind of node.
"""

import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import hashlib
import math
import operator
import pathlib
import types
import uuid
from collections import OrderedDict, defaultdict, deque, namedtuple

import leafwise as lw
from leafwise import nn


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mode(enum.Flag):
    READ = 1
    WRITE = 2
    CLOSE = 4


class Name(str):
    __slots__ = ()


Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Plain:
    """A leaf: nobody registered it."""

    size: int
    name: str = "plain"


@lw.dataclass
class Layer:
    weight: object
    bias: object
    name: object = lw.static(default="layer")


class Model(lw.Pytree):
    def __init__(self, first, second, static):
        self.first = lw.data(first)
        self.second = lw.data(second)
        self.static = lw.static(static)


class Box:
    def __init__(self, items, tag):
        self.items, self.tag = items, tag


lw.register_pytree_node(Box, lambda b: (b.items, b.tag), lambda tag, xs: Box(xs, tag))


def increment(x):
    return x + 1


class Dice:
    """Numbers that hang on nothing but the seed (xorshift64*)."""

    def __init__(self, seed):
        self.state = (seed * 2 + 1) * 0x9E3779B97F4A7C15 & (1 << 64) - 1

    def roll(self, sides):
        x = self.state
        x ^= x >> 12
        x ^= x << 25 & (1 << 64) - 1
        x ^= x >> 27
        self.state = x
        return (x * 0x2545F4914F6CDD1D & (1 << 64) - 1) % (1 << 32) % sides

    def pick(self, choices):
        return choices[self.roll(len(choices))]


UTC = datetime.UTC
WEST = datetime.timezone(datetime.timedelta(hours=-5))
NOON = datetime.datetime(2026, 2, 3, 12, 0, 1, 5)

VALUES = [
    *(None, True, False, 0, 1, -1, 255, 256, -(1 << 200), 1 << 63, 10**40),
    *(0.0, 1.0, -1.5, 0.1, math.inf, -math.inf, math.nan, 5e-324, 1e308),
    *(1j, complex(math.nan, 1), complex(0.0, -2.0)),
    *("", "a", "b", "ab", "\0", "é", "e\u0301", "\ud800", "1", "None", "a" * 300),
    *(b"", b"a", b"\0", b"1", bytearray(b"a"), bytearray()),
    *(..., NotImplemented, Color.RED, Color.GREEN, Level.LOW, Level.HIGH),
    *(Mode.READ, Mode.READ | Mode.WRITE, Mode.READ | Mode.CLOSE, Mode(0)),
    *(NOON, NOON.replace(tzinfo=UTC), NOON.replace(tzinfo=WEST), NOON.date()),
    *(NOON.time(), NOON.time().replace(tzinfo=WEST), datetime.timedelta(days=-1)),
    *(UTC, WEST, decimal.Decimal("0.10"), decimal.Decimal("1E+2"), decimal.Decimal(7)),
    *(decimal.Decimal("NaN"), decimal.Decimal("-Infinity"), fractions.Fraction(1, 3)),
    *(uuid.UUID(int=7), uuid.UUID(int=1 << 127)),
    *(pathlib.PurePosixPath("a/b"), pathlib.PureWindowsPath("a/b"), pathlib.Path("a")),
    *(range(3), range(0, 7, 2), range(0), range(1), slice(1, None, 2), slice(None, 2)),
    *(frozenset(), frozenset({1, "a", None}), {1, 2, 3}, {"x", "y", "z"}, {(1,), b"a"}),
    *(int, OrderedDict, pathlib.Path, Plain, Color, list[int], dict[str, int]),
    *(int | None, str | int, tuple[int, ...], math.sin, len, operator.add, increment),
    *(functools.partial(increment, 1), functools.partial(pow, 2, mod=3), str.upper),
    *(types.SimpleNamespace(a=1, b=[2]), types.MappingProxyType({"a": 1})),
    *(Name("a"), Plain(1), Plain(2, "other"), lw.DictKey("a"), lw.MISSING),
    *(lw.KeyPath((lw.SequenceKey(0),)), lw.tree_structure([1, {"a": 2}])),
]
"""Values of which no two are the same, but that all may be leaves or static."""

KEYS = [
    "a",
    "b",
    "c",
    "",
    "é",
    0,
    1,
    2.5,
    -3,
    None,
    (1, "x"),
    Color.RED,
    b"k",
    Level.LOW,
]


class Maker:
    """Makes a tree; counts the places in it, and changes one of them.

    Args:
        seed: A number.
        change: The number of the place that is changed, -1 for none.
    """

    def __init__(self, seed, change=-1):
        self.dice = Dice(seed)
        self.change = change
        self.places = 0

    def at(self, value, changed):
        """Return a value, or the changed one if it is its turn."""
        self.places += 1
        return changed() if self.places - 1 == self.change else value

    def value(self):
        number = self.dice.roll(len(VALUES))
        step = 1 + self.dice.roll(len(VALUES) - 1)
        return self.at(VALUES[number], lambda: VALUES[(number + step) % len(VALUES)])

    def children(self, depth, few=3):
        return [self.tree(depth - 1) for _ in range(self.dice.roll(few + 1))]

    def mapping(self, depth):
        """Return items in any order, with keys of which no two are equal."""
        start = self.dice.roll(len(KEYS))
        keys = [KEYS[(start + 3 * n) % len(KEYS)] for n in range(self.dice.roll(4))]
        keys = [*dict.fromkeys(keys)]
        place = self.dice.roll(len(keys) + 1)
        if keys:
            keys = self.at(keys, lambda: ["new", *keys[:-1]])
        values = [self.tree(depth - 1) for _ in keys]
        items = [*zip(keys, values, strict=True)]
        return dict(items[place:] + items[:place])

    def tree(self, depth=3):
        if depth == 0 or not self.dice.roll(4):
            return self.value()
        kind = self.dice.roll(12)
        return getattr(self, f"make_{kind}")(depth)

    def make_0(self, depth):
        items = self.children(depth)
        return self.at(items, lambda: tuple(items))

    def make_1(self, depth):
        items = self.children(depth)
        return self.at(tuple(items), lambda: (*items, None))

    def make_2(self, depth):
        items = self.mapping(depth)
        return self.at(items, lambda: OrderedDict(items))

    def make_3(self, depth):
        items = self.mapping(depth)
        return self.at(items, lambda: defaultdict(None, items))

    def make_4(self, depth):
        items = OrderedDict(sorted(self.mapping(depth).items(), key=repr))
        return self.at(items, lambda: dict(items))

    def make_5(self, depth):
        items = self.mapping(depth)
        factory = self.at(list, lambda: dict)
        return defaultdict(factory, items)

    def make_6(self, depth):
        items = self.children(depth)
        return deque(items, self.at(9, lambda: None))

    def make_7(self, depth):
        return Point(self.tree(depth - 1), self.tree(depth - 1))

    def make_8(self, depth):
        items = self.children(depth, 2)
        return Box(items, self.at([1, {"tag": (2,)}], lambda: [1, {"tag": (3,)}]))

    def make_9(self, depth):
        parts = self.tree(depth - 1), self.tree(depth - 1)
        return Layer(*parts, name=self.value())

    def make_10(self, depth):
        return Model(self.tree(depth - 1), self.tree(depth - 1), self.value())

    def make_11(self, depth):
        inside = [self.tree(depth - 1)]  # a variable takes the place of one in it
        kind = self.at(nn.Param, lambda: nn.BatchStat)
        return kind(inside, note=self.value())


def digests(start, end, make):
    """Return a digest of the fingerprints of each hundred trees."""
    found = []
    for first in range(start, end, 100):
        texts = (lw.fingerprint(make(seed)) for seed in range(first, first + 100))
        found.append(hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16])
    return found


def plain_tree(seed):
    """Return a tree that needs nothing but the library."""
    return Maker(seed).tree()


DTYPES = [
    "?",
    "u1",
    "<i2",
    ">i4",
    "<i8",
    "<f2",
    ">f4",
    "<f8",
    "<c8",
    "S3",
    "<U2",
    ">U2",
]
DTYPES += [
    "<M8[s]",
    "<m8[ms]",
    "O",
    [("a", "<i4"), ("b", ">f8", 2)],
    "V3",
]


def array_tree(seed):
    """Return a tree of numpy arrays."""
    import numpy as np

    dice = Dice(seed)
    tree = {}
    for name in "abc":
        shape = tuple(dice.roll(4) for _ in range(dice.roll(4)))
        numbers = np.array([dice.roll(9) - 4 for _ in range(math.prod(shape))], "i8")
        dtype = np.dtype(dice.pick(DTYPES))
        if dtype.names or dtype.kind == "V":
            array = np.zeros(len(numbers), dtype)
            if dtype.names:
                array["a"], array["b"] = numbers, numbers[:, None]
        else:
            array = numbers.astype(dtype)
        array = array.reshape(shape)
        if dtype.kind == "f" and array.size:
            array.flat[0] = dice.pick([math.nan, -0.0, math.inf, 1e-5])
        tree[name] = [array, array.T, array[::-1] if shape else array][dice.roll(3)]
    return tree


def table():
    """Return the table of digests, which each Python has to agree with."""
    rows = [("plain", digest) for digest in digests(0, 5_000, plain_tree)]
    rows += [("arrays", digest) for digest in digests(0, 500, array_tree)]
    return "".join(f"{sort} {digest}\n" for sort, digest in rows)

"""Values, trees and arrays whose fingerprints are the same on each Python."""

import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
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
    """A leaf, since it is not registered."""

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
        self.items = items
        self.tag = tag


lw.register_pytree_node(
    Box, lambda box: (box.items, box.tag), lambda tag, items: Box(items, tag)
)


def increment(x):
    return x + 1


UTC = datetime.UTC
WEST = datetime.timezone(datetime.timedelta(hours=-5))
NOON = datetime.datetime(2026, 2, 3, 12, 0, 1, 5)

VALUES = [
    None, True, False, 0, 1, -1, 255, 256, -(1 << 200), 1 << 63, 10**40,
    0.0, 1.0, -1.5, 0.1, math.inf, -math.inf, math.nan, 5e-324, 1e308,
    1j, complex(math.nan, 1), complex(0.0, -2.0),
    "", "a", "b", "ab", "\0", "é", "e\u0301", "\ud800", "1", "None", "a" * 300,
    b"", b"a", b"\0", b"1", bytearray(b"a"), bytearray(),
    ..., Color.RED, Color.GREEN, Level.LOW, Level.HIGH,
    Mode.READ, Mode.READ | Mode.WRITE, Mode.READ | Mode.CLOSE, Mode(0),
    NOON, NOON.replace(tzinfo=UTC), NOON.replace(tzinfo=WEST), NOON.date(),
    datetime.timedelta(days=-1), UTC, WEST,
    decimal.Decimal("0.10"), decimal.Decimal("1E+2"), decimal.Decimal(7),
    decimal.Decimal("NaN"), decimal.Decimal("-Infinity"), fractions.Fraction(1, 3),
    uuid.UUID(int=7), uuid.UUID(int=1 << 127),
    pathlib.PurePosixPath("a/b"), pathlib.PureWindowsPath("a/b"), pathlib.Path("a"),
    frozenset(), frozenset({1, "a", None}), {1, 2, 3}, {"x", "y", "z"}, {(1,), b"a"},
    int, OrderedDict, pathlib.Path, Plain, Color,
    math.sin, len, operator.add, increment,
    functools.partial(increment, 1), functools.partial(pow, 2, mod=3),
    types.MappingProxyType({"a": 1}),
    Name("a"), Plain(1), Plain(2, "other"), lw.DictKey("a"), lw.MISSING,
    lw.KeyPath((lw.SequenceKey(0),)), lw.tree_structure([1, {"a": 2}]),
]  # fmt: skip
"""Values of which no two are the same, but that all may be leaves or static."""

KEYS = ["b", "a", "", "é", 0, 1, 2.5, -3, None, (1, "x"), Color.RED, b"k", Level.LOW]
TREES = [
    [], (), {}, [1], (1,), [(1, 2)], [[1, 2]], [None], {"a": [None]}, {1: 0, "a": 0},
    {"b": 1, "a": 2}, OrderedDict(b=1, a=2), OrderedDict(a=2, b=1),
    defaultdict(None, a=1), defaultdict(list, a=1), defaultdict(dict, a=1),
    deque([1]), deque([1], 9), Point(1, [2]), Point([1], 2),
    Box([1], {"tag": (2,)}), Box([1], {"tag": (3,)}), Box([[1]], {"tag": (2,)}),
    Layer(1, [2]), Layer([1], 2), Layer(1, [2], name=None),
    Model(1, {"a": 2}, "s"), Model(1, {"a": 2}, ["s"]), Model({"a": 2}, 1, "s"),
    nn.Param([1]), nn.Param([1], note="n"), nn.BatchStat([1], note="n"),
    {key: number for number, key in enumerate(KEYS)},
    {key: number for number, key in enumerate(KEYS[1:])},
]  # fmt: skip
"""Trees with nodes of all kinds, of which no two are the same."""

DTYPES = [
    "?", "u1", "<i2", ">i4", "<i8", "<f2", ">f4", "<f8", "<c8", "S3", "<U2", ">U2",
    "<M8[s]", "<m8[ms]", "O", [("a", "<i4"), ("b", ">f8", 2)], "V3",
]  # fmt: skip


def arrays():
    """Return arrays of numpy of several dtypes and shapes."""
    import numpy as np

    floats = np.array([math.nan, -0.0, math.inf, 1e-5])
    examples = [floats, floats.astype(">f4"), np.zeros(()), np.zeros((0, 2))]
    for dtype in DTYPES:
        if dtype == "V3" or isinstance(dtype, list):
            array = np.zeros(6, dtype)
        else:
            array = np.arange(-3, 3).astype(dtype)
        table = array.reshape(2, 3)
        examples += [table, table.T, array[::-1]]
    return examples


def short_fingerprints(group):
    """Return the beginnings of the fingerprints of one group of examples.

    Args:
        group: "values", "static", "trees" or "arrays", as in the first column of
            `tests/core/fingerprints.txt`, which has the same on each Python.
    """
    return [lw.fingerprint(tree)[:20] for tree in examples(group)]


def examples(group):
    """Return the trees of a group, in the order of the table."""
    if group == "values":
        return [[value] for value in VALUES]
    if group == "static":
        return [Box((), value) for value in VALUES]
    if group == "trees":
        return [[tree] for tree in TREES]
    return [[array] for array in arrays()]

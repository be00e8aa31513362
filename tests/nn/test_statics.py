"""Static parts of treedefs: compared to the type, as they were, and never raising."""

import collections
import enum
import itertools
import json
import pickle

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn


class Point(lw.Pytree):
    def __init__(self, s=None, x=0):
        self.s = s
        self.x = lw.data(x)


Named = collections.namedtuple("Named", "x")  # nobody reads its types


@lw.dataclass
class Registered:
    rate: float = 0.5
    names: list = lw.static(default_factory=list)


def treedef(value):
    return lw.tree_structure(Point(value))


class Color(enum.Enum):
    RED = 1


class Odd:
    def __eq__(self, other):
        raise RuntimeError("never ask")

    __hash__ = None


NAN = float("nan")
DIFFERENT = [
    *(1, True, 1.0, 1 + 0j, "1", b"1", None, Color.RED, 2, NAN, complex(0, NAN)),
    *([1], (1,), {1}, frozenset({1}), {1: 1}, {True: 1}, {1: True}, [True], (1.0,)),
    *([[1]], [[True]], {1.0}, frozenset({True}), print, len, int, Odd(), Odd()),
    *(bytearray(b"1"), range(1), slice(1), Ellipsis, {}, [], (), np.float32(1)),
]


def test_static_values_of_other_types_differ():
    """No two of these values are the same static part."""
    for a, b in itertools.combinations(DIFFERENT, 2):
        assert treedef(a) != treedef(b), (a, b)


@pytest.mark.parametrize("value", DIFFERENT, ids=lambda value: type(value).__name__)
def test_the_same_value_is_the_same(value):
    """Each is the same as itself, with an equal hash."""
    assert treedef(value) == treedef(value)
    assert hash(treedef(value)) == hash(treedef(value))


def test_nan_is_itself():
    """Another NaN is the same static value, and hashes alike."""
    one, other = treedef([float("nan")]), treedef([float("nan")])
    assert one == other
    assert hash(one) == hash(other)


def test_static_values_that_hold_themselves():
    """A cycle in a static value does no harm."""
    knot = [1]
    knot.append(knot)
    wide = []
    for _ in range(60):
        wide = [wide, wide]
    point = Point([knot, wide])
    assert lw.tree_leaves(point) == [0]
    assert lw.tree_map(str, point).s is point.s


@pytest.mark.parametrize(
    "change",
    [
        lambda aux: aux.clear(),
        lambda aux: aux[1][0].pop(),
        lambda aux: aux[1][1].append(1),
        lambda aux: aux[1][0].append(["s", "static"]),
        lambda aux: aux[1][0].append([1, "data"]),
        lambda aux: aux[1][0].append(["z", "unknown"]),
        lambda aux: aux[1].append(3),
        lambda aux: aux.append(3),
    ],
    ids=[
        "empty",
        "an attribute less",
        "a value more",
        "a static attribute more",
        "a name that is a number",
        "an unknown kind",
        "a longer record",
        "a longer list",
    ],
)
def test_malformed_json(change):
    """What does not fit is refused, never half read."""
    data = json.loads(treedef(1).to_json())
    change(data["nodes"][0][3])
    with pytest.raises(lw.errors.TreeDefError):
        lw.PyTreeDef.from_json(json.dumps(data))


def test_differences_are_told():
    """An error says which attributes and static values differ."""

    def complaint(a, b):
        with pytest.raises(lw.StructureError) as caught:
            lw.tree_map(lambda x, y: x, [a], [b])
        return str(caught.value).splitlines()[1].strip()

    point, other = Point(1), Point(True)
    assert complaint(point, other) == (
        "at [0]: expected Point with data x; static s=1, "
        "got Point with data x; static s=True"
    )
    other.x = nn.parameter(0)
    other.y = lw.data(1)
    assert complaint(point, other).endswith(
        "got Point with data x (parameter), y; static s=True"
    )
    assert complaint(nn.List([lw.data(1)]), nn.List([2])) == (
        "at [0]: expected List with data 0, got List with static 0=2"
    )


def test_objects_are_explained():
    """Also those that are leaves."""
    assert lw.explain_leaf(Point()) == (
        "a node: Point inherits from Pytree, which was registered globally at leafwise"
    )
    assert lw.explain_leaf(nn.Object()) == (
        "a leaf: Object is a subclass of Pytree that opted to be a leaf"
    )


@pytest.mark.parametrize(
    ("make", "change"),
    [
        (list, lambda value: value.append(1)),
        (dict, lambda value: value.update(a=1)),
        (set, lambda value: value.add(1)),
        (bytearray, lambda value: value.extend(b"x")),
        (lambda: {"a": [1]}, lambda value: value["a"].append(2)),
        (lambda: ([],), lambda value: value[0].append(2)),
        (collections.OrderedDict, lambda value: value.update(a=1)),
        (lambda: collections.defaultdict(list), lambda value: value["a"]),
        (collections.Counter, lambda value: value.update("a")),
        (collections.deque, lambda value: value.append(1)),
        (lambda: ["a", "b"], lambda value: value.__setitem__(0, "b")),
        (lambda: Named([]), lambda value: value.x.append(1)),
        (Registered, lambda value: setattr(value, "rate", 1)),
        (Registered, lambda value: value.names.append("a")),
    ],
    ids=[
        "list",
        "dict",
        "set",
        "bytearray",
        "list in a dict",
        "list in a tuple",
        "OrderedDict",
        "defaultdict",
        "Counter",
        "deque",
        "equal length",
        "named tuple",
        "attribute",
        "list in an attribute",
    ],
)
def test_static_values_that_were_changed_in_place(make, change):
    """What was changed in place since is another structure; the old one stays."""
    value = make()
    point = Point(value)
    before = lw.tree_structure(point)
    assert before == lw.tree_structure(point)
    change(value)
    after = lw.tree_structure(point)
    assert before != after
    assert before == treedef(make())
    assert after.unflatten([1]).s is value


def test_treedefs_travel():
    """By pickle and by JSON, with their kinds and static values."""
    point = Point([1, {"a": (None, 2.5)}], {"k": 1})
    point.w = nn.parameter(3)
    for made in (point, nn.List([point, "s"]), nn.Dict(a=point, b=nn.state_value(1))):
        known = lw.tree_structure(made)
        assert pickle.loads(pickle.dumps(known)) == known
        read = lw.PyTreeDef.from_json(known.to_json())
        assert read == known
        assert repr(read.unflatten([1, 2, 3][: known.num_leaves])) != ""

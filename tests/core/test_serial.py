"""Treedefs as JSON: what comes back, and what is refused."""

import datetime
import enum
import functools
import json
import math
import pathlib
import pickle
import time
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given

import leafwise as lw
from helpers.random_trees import Box, Color, Layer, Point, add, trees
from leafwise.errors import RegistryError


class Name(str):
    """A str of a class of its own."""

    __slots__ = ()


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no text")


def round_trip(treedef):
    """Write a treedef and read it back."""
    return lw.PyTreeDef.from_json(treedef.to_json())


TREES = [
    1,
    None,
    [1, (2, {"b": 3, "a": 4}), ()],
    OrderedDict(b=1, a=2),
    defaultdict(list, b=1, a=2),
    defaultdict(None, a=1),
    deque([1], 5),
    Point(1, [2]),
    time.gmtime(0),
    Layer(1, 2, "n"),
    Layer(1, 2, (1, [2.5, None], {"k": (True,)}, b"x", Color.RED, int)),
    Box(1, 2, tag=-0.0),
    lw.Partial(add, 1, key=2),
    {Color.RED: 1, "a": 2, 3: 4, None: 5, (1, "x"): 6, b"b": 7, 1.5: 8, "\ud800": 9},
    {"'": 1, '"': 2, "\n]": 3},
    {1j: 1, 1 - 2j: 2, complex("infj"): 3},
    {(1, True, 1.0, 2j): 1},
    Layer(1, 2, (math.inf, lw.DictKey(-0.5), lw.DictKey(2))),
    Layer(1, 2, frozenset({(2, "a")})),
    Layer(1, 2, [datetime.date(2026, 1, 2), pathlib.Path("a/\udcff"), -1j]),
    Layer(1, 2, (np.dtype("f4"), np.dtype([("a", ">i2")]), np.float32(0.1))),
    Layer(1, 2, "\ud83d\ude00"),
]


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: type(tree).__name__)
def test_round_trip(tree):
    """A treedef that was written and read equals the old one and rebuilds the same."""
    leaves, treedef = lw.tree_flatten(tree)
    for again in (round_trip(treedef), pickle.loads(pickle.dumps(treedef))):
        assert again == treedef
        assert hash(again) == hash(treedef)
        assert repr(again) == repr(treedef)
        assert repr(again.unflatten(leaves)) == repr(tree)
        assert again.paths() == treedef.paths()


@given(trees())
def test_what_can_be_written_comes_back(tree):
    """Either a treedef is refused before anything is written, or it is lossless."""
    leaves, treedef = lw.tree_flatten(tree)
    try:
        text = treedef.to_json()
    except lw.errors.TreeDefError:
        assume(False)
    again = lw.PyTreeDef.from_json(text)
    assert again == treedef
    assert repr(again.unflatten(leaves)) == repr(tree)
    assert json.loads(text)["leafwise"] == 1


def test_modes_come_back():
    """None mode, namespace and dict policy are written."""
    lw.namespace("as-json", dict_order="insertion")
    treedef = lw.tree_structure(
        {"b": 1, "a": None}, none_is_leaf=True, namespace="as-json"
    )
    for again in (round_trip(treedef), pickle.loads(pickle.dumps(treedef))):
        assert again == treedef
        assert (again.none_is_leaf, again.namespace) == (True, "as-json")
        assert again.unflatten([1, 2]) == {"b": 1, "a": 2}


class Tagged:
    def __init__(self, x, tags):
        self.x = x
        self.tags = tags


lw.register_pytree_node(
    Tagged, lambda t: ((t.x,), t.tags, ("x",)), lambda tags, xs: Tagged(*xs, tags)
)
lw.files.register_codec(Tagged, sorted, frozenset)


@lw.dataclass
class Gridded:
    x: object
    axis: object = lw.static()


lw.files.register_codec(
    Gridded, lambda aux: aux[0].tolist(), lambda written: (np.array(written),)
)


def local_classes():
    """Return classes and functions that no module has by their names."""

    class Inner(NamedTuple):
        x: int

    class Shade(enum.Enum):
        DARK = 1

    return Inner, Shade, lambda *args: args


Inner, Shade, nameless = local_classes()
Renamed = namedtuple("Misnamed", "x")
Taken = namedtuple("Taken", "x")
_taken = Taken
Taken = namedtuple("Taken", "x")


class Holder:
    def __init__(self, x, aux=None):
        self.x = x
        self.aux = aux

    def method(self):
        return self.x


lw.register_dataclass(Holder, ["x"], ["aux"])


NO_NAME = "has no name by which it could be found again"
NO_KEY = "cannot be written as JSON text"
NO_TEXT = "cannot be written as text; register a codec"


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        *((node, NO_NAME) for node in (Inner(1), Renamed(1), _taken(1))),
        *((defaultdict(kind, a=1), NO_NAME) for kind in (nameless, Inner)),
        *((lw.Partial(f, 1), NO_NAME) for f in (nameless, Holder(1).method)),
        (lw.Partial(functools.partial(add, 1), 1), NO_NAME),
        (Holder(1, Inner), ""),
        *(({key: 1}, NO_KEY) for key in (Shade.DARK, frozenset({1}), math.nan)),
        *(({key: 1}, NO_KEY) for key in ((1, complex(math.nan, 0)), Unprintable())),
        (OrderedDict({Name("a"): 1}), "the dict key 'a' cannot be written as JSON"),
        *((Layer(1, 2, aux), NO_TEXT) for aux in (np.ones(2), math.nan, Shade.DARK)),
        (Box(1, tag=bytearray()), NO_TEXT),
        (Box(1, tag=lw.DictKey(object())), NO_KEY),
    ],
)
def test_what_could_not_be_read_is_not_written(node, reason):
    """The error says why, and where."""
    with pytest.raises(lw.errors.TreeDefError) as error:
        lw.tree_structure({"a": [0, node]}).to_json()
    assert reason in str(error.value)
    assert error.value.__notes__ == ["at key path ['a'][1]"]


def registered(**options):
    """Return a node of a class that shares its name with all others made here."""

    class Made:
        def __init__(self, x):
            self.x = x

    lw.register_dataclass(Made, ["x"], [], **options)
    return Made(1)


def test_classes_that_are_not_found_again_are_not_written(monkeypatch):
    """Two of one name, one that is registered anew, one that is registered no longer.

    If the module has one of two under the name, as when a cell of a notebook is run
    again, that one is read.
    """
    nodes = [registered(namespace="json.rerun") for _ in range(2)]
    for cls in map(type, nodes):
        cls.__qualname__ = "Rerun"
    treedef = lw.tree_structure(nodes[1], namespace="json.rerun")
    with pytest.raises(lw.errors.TreeDefError, match="Rerun was registered again, or"):
        treedef.to_json()
    monkeypatch.setitem(globals(), "Rerun", type(nodes[1]))
    assert round_trip(treedef) == treedef
    how = {"namespace": "json.rerun", "exist_ok": True}
    lw.register_dataclass(type(nodes[1]), ["x"], [], **how)
    with pytest.raises(lw.errors.TreeDefError, match="Rerun was registered again, or"):
        treedef.to_json()
    lw.unregister_pytree_node(type(nodes[1]), namespace="json.rerun")
    with pytest.raises(lw.errors.TreeDefError):
        treedef.to_json()


def test_a_codec_that_gives_no_json_is_refused():
    """What `json` says of it is told, with the path."""
    node = registered(namespace="json.codec")
    lw.files.register_codec(type(node), lambda _: {1, 2}, set, namespace="json.codec")
    with pytest.raises(lw.errors.TreeDefError) as error:
        lw.tree_structure([node], namespace="json.codec").to_json()
    assert str(error.value) == (
        "a node cannot be written as JSON: Object of type set is not JSON serializable"
    )
    assert error.value.__notes__ == ["at key path [0]"]


def test_codecs():
    """A codec writes and reads the aux data of its class."""
    tagged = lw.tree_structure(Tagged(1, frozenset("ba")))
    assert round_trip(tagged) == tagged
    assert str(round_trip(tagged).paths()[0]) == ".x"
    gridded = lw.tree_structure(Gridded(1, np.arange(3)))
    assert round_trip(gridded) == gridded
    text = tagged.to_json().replace("Tagged", "Layer")
    with pytest.raises(lw.errors.TreeDefError, match="is registered in this process"):
        lw.PyTreeDef.from_json(text)
    text = gridded.to_json().replace("[0,1,2]", "[[1],[2,3]]")
    with pytest.raises(
        lw.errors.TreeDefError, match="malformed text of a treedef: setting an array"
    ):
        lw.PyTreeDef.from_json(text)
    with pytest.raises(RegistryError, match="the to_json function of Layer must be"):
        lw.files.register_codec(Layer, 3, max)


def text_of(**changes):
    """Return the text of a pair, changed."""
    data = json.loads(lw.tree_structure((1, {"a": 2})).to_json())
    return json.dumps(data | changes)


HOSTILE = [
    [], ["no such word"], [["tuple"]], ["float", "f()"], ["float", ["list"]], ["date"],
    ["date", "today"], ["datetime", 3], ["path", ["tuple"]], ["set", ["list"]],
    ["dict", ["'a'"]], ["dict", ["[]", 1]], ["dict key", "f()"], ["key", ".a.b"],
    ["dtype", "no_such_dtype"], ["dtype", ["list", 1]], ["dtype", "<f4", "<f4"],
    ["numpy", "<f4", "00"], ["numpy", "|O", "00" * 8], ["numpy", "<f4", "zz"],
    ["class", "os:system"], ["object", 3], {"a": 1}, ["literal", "[]"],
    ["codec", 1], ["codec", 1, 2, 3],
]  # fmt: skip


def test_a_text_of_leafwise_0_2_is_read():
    """Of dicts of all kinds, and of a class that gives keys."""
    text = (
        '{"leafwise":1,"namespace":"","none_is_leaf":false,"leaves":6,"nodes":['
        """[2,"dict",2,[["'b'","'a'"],[1,0]]],"""
        """[1,"defaultdict",1,[["'a'"],null,"builtins:int"]],"""
        """[1,"OrderedDict",1,["'a'"]],"""
        f'[1,["{__name__}:Tagged",""],1,["codec",["x"],["tuple",["key",".x"]]]],'
        """[1,"dict",1,[["1j"],null]],[0,"list",5,null]]}"""
    )
    trees = {"b": 1, "a": 2}, defaultdict(int, a=3), OrderedDict(a=4)
    tree = [*trees, Tagged(5, frozenset("x")), {1j: 6}]
    assert lw.PyTreeDef.from_json(text) == lw.tree_structure(tree)
    assert lw.tree_structure(tree).to_json() == text


@pytest.mark.parametrize(
    "text",
    [
        b"{}",
        "",
        "[]",
        "[" * 100_000,
        text_of(leafwise=2),
        text_of(leaves=3),
        text_of(namespace=3),
        text_of(none_is_leaf=1),
        text_of(nodes=[[2, "set", 2, None]]),
        text_of(nodes=[[2, "tuple"]]),
        text_of(nodes=[[2, ["os:system", ""], 2, None]]),
        text_of(nodes=[[2, "namedtuple", 2, "no.such:Name"]]),
        text_of(nodes=[[2, "namedtuple", 2, "os:system"]]),
        text_of(nodes=[[2, "dict", 2, [["'a'", "f()"], None]]]),
        text_of(nodes=[[2, "dict", 2, [["'a'", "'a'"], None]]]),
        text_of(nodes=[[2, "dict", 2, [["'a'", ["b"]], None]]]),
        text_of(nodes=[[2, "deque", 2, 10**30]]),
        *(text_of(nodes=[[2, [f"{__name__}:Layer", ""], 2, aux]]) for aux in HOSTILE),
    ],
)
def test_malformed_texts(text):
    """No treedef comes of them."""
    with pytest.raises(lw.errors.TreeDefError):
        lw.PyTreeDef.from_json(text)


def test_the_limit():
    """A text that is too long is not even parsed."""
    text = lw.tree_structure([0] * 10).to_json()
    assert lw.PyTreeDef.from_json(text, limit=len(text)).num_leaves == 10
    with pytest.raises(lw.errors.TreeDefError, match=r"characters, the limit is 20$"):
        lw.PyTreeDef.from_json(text, limit=20)


def test_a_key_twice_is_refused():
    text = lw.tree_structure([1]).to_json()
    twice = text.replace('"leaves":1', '"leaves":1,"leaves":1')
    assert twice != text
    with pytest.raises(lw.errors.TreeDefError, match="duplicate key 'leaves'"):
        lw.PyTreeDef.from_json(twice)

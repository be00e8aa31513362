"""Treedefs as JSON: what comes back, and what is refused."""

import enum
import functools
import json
import math
import random
import time
import tracemalloc
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given

import leafwise as lw
from leafwise.core.serial import load
from leafwise.errors import RegistryError
from strategies import Box, Color, Layer, Point, add, trees


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
    {complex(-0.0, 1): 1, complex(1, -0.0): 2, complex("-infj"): 3},
    {(1, True, 1.0, complex(-0.0, -0.0)): 1},
    Layer(1, 2, (math.inf, lw.DictKey(-0.5), lw.DictKey(2))),
]


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: type(tree).__name__)
def test_round_trip(tree):
    """A treedef that was written and read equals the old one and rebuilds the same."""
    leaves, treedef = lw.tree_flatten(tree)
    again = round_trip(treedef)
    assert again == treedef
    assert hash(again) == hash(treedef)
    assert repr(again) == repr(treedef)
    assert repr(again.unflatten(leaves)) == repr(tree)
    assert again.paths() == treedef.paths()


def test_integers_of_any_size_come_back():
    """As keys, and as aux data."""
    many = 10**5000
    for tree in ({many: 1, -many: 2, (many,): 3}, Layer(1, 2, (many, -many))):
        treedef = lw.tree_structure(tree)
        assert round_trip(treedef) == treedef
        assert round_trip(treedef).paths() == treedef.paths()


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
    again = round_trip(treedef)
    assert again == treedef
    assert (again.none_is_leaf, again.namespace) == (True, "as-json")


@pytest.mark.slow
def test_depth_is_no_problem():
    """The text is flat, whatever the depth."""
    tree = 1
    for _ in range(100_000):
        tree = [tree]
    treedef = lw.tree_structure(tree)
    assert round_trip(treedef) == treedef


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (
            {frozenset({1}): 1},
            "the dict key frozenset({1}) cannot be written as JSON text",
        ),
        (
            Layer(1, 2, np.ones(2)),
            "the aux data of Layer cannot be written as JSON: array([1., 1.]) "
            "(ndarray) cannot be written as text; register a codec for the class with "
            "leafwise.io.register_codec",
        ),
        ({math.nan: 1}, "the dict key nan cannot be written as JSON text"),
        (
            {(1, complex(math.nan, 0)): 1},
            "the dict key (1, (nan+0j)) cannot be written as JSON text",
        ),
        (
            OrderedDict({Name("a"): 1}),
            "the dict key 'a' cannot be written as JSON text",
        ),
        ({(Name("a"),): 1}, "the dict key ('a',) cannot be written as JSON text"),
        (
            {Unprintable(): 1},
            "the dict key <Unprintable that cannot be printed> cannot be written as "
            "JSON text",
        ),
        (
            Layer(1, 2, math.nan),
            "the aux data of Layer cannot be written as JSON: nan (float) cannot be "
            "written as text; "
            "register a codec for the class with leafwise.io.register_codec",
        ),
        (
            Layer(1, 2, lw.DictKey(frozenset({1}))),
            "the aux data of Layer cannot be written as JSON: the dict key "
            "frozenset({1}) cannot be written as JSON text; register a codec for the "
            "class with leafwise.io.register_codec",
        ),
        (
            Layer(1, 2, lw.SequenceKey(math.nan)),
            "the aux data of Layer cannot be written as JSON: the key "
            "SequenceKey(idx=nan) cannot be written as JSON text; register a codec for "
            "the class with leafwise.io.register_codec",
        ),
        (
            Box(1, tag=frozenset()),
            "the aux data of Box cannot be written as JSON: frozenset() (frozenset) "
            "cannot be written as text; register a codec for the class with "
            "leafwise.io.register_codec",
        ),
    ],
)
def test_what_has_no_text_is_refused(tree, text):
    """The error names what it is, before anything is written."""
    with pytest.raises(lw.errors.TreeDefError) as error:
        lw.tree_structure(tree).to_json()
    assert str(error.value) == text


def test_functions_without_a_name_are_refused():
    """A lambda cannot be found again."""
    with pytest.raises(
        lw.errors.TreeDefError, match="only module-level functions and classes"
    ):
        lw.tree_structure(lw.Partial(lambda: 0)).to_json()
    with pytest.raises(
        lw.errors.TreeDefError, match="has no name by which it could be found"
    ):
        lw.tree_structure(defaultdict(lambda: 0)).to_json()


class Tagged:
    def __init__(self, x, tags):
        self.x, self.tags = x, tags


lw.register_pytree_node(
    Tagged, lambda t: ((t.x,), t.tags, ("x",)), lambda tags, xs: Tagged(*xs, tags)
)
lw.io.register_codec(Tagged, sorted, frozenset)


@lw.dataclass
class Gridded:
    x: object
    axis: object = lw.static()


lw.io.register_codec(
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
_taken, Taken = Taken, namedtuple("Taken", "x")


def functools_partial(tree):
    return lw.Partial(functools.partial(add, tree), 1)


class Holder:
    def __init__(self, x, aux=None):
        self.x, self.aux = x, aux

    def method(self):
        return self.x


lw.register_dataclass(Holder, ["x"], ["aux"])


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (Inner(1), "has no name by which it could be found again"),
        (Renamed(1), f"{Renamed!r} has no name by which it could be found again"),
        (_taken(1), f"{_taken!r} has no name by which it could be found again"),
        (defaultdict(nameless, a=1), "has no name by which it could be found again"),
        (defaultdict(Inner, a=1), "has no name by which it could be found again"),
        (lw.Partial(nameless, 1), "has no name by which it could be found again"),
        (lw.Partial(Holder(1).method, 1), "has no name by which it could be found"),
        (functools_partial(1), "has no name by which it could be found again"),
        (
            {Shade.DARK: 1},
            "the dict key <Shade.DARK: 1> cannot be written as JSON text",
        ),
        (Holder(1, Inner), "has no name by which it could be found again"),
        (
            Holder(1, Shade.DARK),
            "(local_classes.<locals>.Shade) cannot be written as text",
        ),
        (Holder(1, lw.DictKey(object())), "cannot be written as JSON text"),
    ],
)
def test_what_could_not_be_read_is_not_written(node, reason):
    """The error says why, and where."""
    treedef = lw.tree_structure({"a": [0, node]})
    with pytest.raises(lw.errors.TreeDefError) as error:
        treedef.to_json()
    assert reason in str(error.value)
    assert error.value.__notes__ == ["at key path ['a'][1]"]
    with pytest.raises(lw.errors.TreeDefError) as error:
        lw.tree_structure(node).to_json()
    assert error.value.__notes__ == ["at the root of the tree"]


def registered(**options):
    """Return a node of a class that shares its name with all others made here."""

    class Made:
        def __init__(self, x):
            self.x = x

    lw.register_dataclass(Made, ["x"], [], **options)
    return Made(1)


def test_classes_that_share_a_name_are_not_written():
    """It would be left to chance which of them is read."""
    node = registered(namespace="json.shared")
    treedef = lw.tree_structure([node], namespace="json.shared")
    assert round_trip(treedef) == treedef
    other = lw.tree_structure(
        [registered(namespace="json.shared")], namespace="json.shared"
    )
    with pytest.raises(lw.errors.TreeDefError) as error:
        other.to_json()
    assert str(error.value) == (
        f"more than one class 'registered.<locals>.Made' of module {__name__!r} is "
        "registered in this process, so it is not known which one would be read"
    )
    assert error.value.__notes__ == ["at key path [0]"]


def test_the_class_that_the_module_has_is_the_one_that_is_read(monkeypatch):
    """As when a cell of a notebook is run again: the class of the last run counts."""
    nodes = [registered(namespace="json.rerun") for _ in range(2)]
    for cls in map(type, nodes):
        cls.__qualname__ = "Rerun"
    with pytest.raises(lw.errors.TreeDefError, match="more than one class 'Rerun'"):
        lw.tree_structure(nodes[1], namespace="json.rerun").to_json()
    monkeypatch.setitem(globals(), "Rerun", type(nodes[1]))
    treedef = lw.tree_structure(nodes[1], namespace="json.rerun")
    assert round_trip(treedef) == treedef


def test_a_class_that_is_registered_no_longer_or_anew_is_not_written():
    """The structure that is read would be another one, or none."""
    node = registered(namespace="json.anew")
    treedef = lw.tree_structure(node, namespace="json.anew")
    lw.register_dataclass(type(node), ["x"], [], namespace="json.anew", exist_ok=True)
    with pytest.raises(lw.errors.TreeDefError, match="was registered again since this"):
        treedef.to_json()
    lw.unregister_pytree_node(type(node), namespace="json.anew")
    with pytest.raises(lw.errors.TreeDefError) as error:
        treedef.to_json()
    assert str(error.value) == (
        f"no class 'registered.<locals>.Made' of module {__name__!r} is registered in "
        "this process, so it could not be read again"
    )


def test_a_codec_that_gives_no_json_is_refused():
    """What `json` says of it is told, with the path."""
    node = registered(namespace="json.codec")
    lw.io.register_codec(type(node), lambda _: {1, 2}, set, namespace="json.codec")
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
        lw.errors.TreeDefError, match="the codec of Gridded cannot read"
    ):
        lw.PyTreeDef.from_json(text)
    with pytest.raises(RegistryError, match="the to_json function of Layer must be"):
        lw.io.register_codec(Layer, 3, max)


def text_of(**changes):
    """Return the text of a pair, changed."""
    data = json.loads(lw.tree_structure((1, {"a": 2})).to_json())
    return json.dumps(data | changes)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"{}", "a treedef is read from a str, got bytes"),
        ("", "malformed text of a treedef: Expecting value: line 1 column 1 (char 0)"),
        ("[]", "malformed text of a treedef: no object of version 1"),
        (text_of(leafwise=2), "malformed text of a treedef: no object of version 1"),
        (text_of(leaves=3), "malformed state of a treedef: its entries do not form "
         "one tree"),
        (text_of(nodes=[[2, "set", 2, None]]), "malformed state of a treedef: an entry "
         "does not name a rule"),
        (text_of(nodes=[[2, "tuple"]]), None),
        (text_of(nodes=[[2, ["os:system", ""], 2, None]]),
         "malformed text of a treedef: no class 'system' of module 'os' is registered "
         "in this process"),
        (text_of(nodes=[[2, "namedtuple", 2, "no.such:Name"]]),
         "'no.such:Name' is not in any module that is loaded"),
        (text_of(nodes=[[2, "namedtuple", 2, "os:system"]]),
         "malformed state of a treedef: aux data does not fit a namedtuple: it is not "
         "a named tuple"),
        (text_of(nodes=[[2, "dict", 2, [["'a'", "f()"], None]]]), "malformed text of a "
         "treedef: 'f()' is not a path: this is not a literal, at character 0"),
        ("[" * 100_000, None),
        (text_of(namespace=3), None),
        (text_of(nodes=[[2, "deque", 2, 10**30]]), "malformed state of a treedef: aux "
         "data does not fit a deque: it is not a valid maxlen"),
        (text_of(none_is_leaf=1), None),
    ],
)  # fmt: skip
def test_malformed_texts(text, reason):
    """Whatever is wrong with a text is said, and no treedef comes of it."""
    with pytest.raises(lw.errors.TreeDefError) as error:
        lw.PyTreeDef.from_json(text)
    if reason is not None:
        assert str(error.value) == reason


def test_the_limit():
    """A text that is too long is not even parsed."""
    text = lw.tree_structure([0] * 10).to_json()
    assert lw.PyTreeDef.from_json(text, limit=len(text)).num_leaves == 10
    with pytest.raises(lw.errors.TreeDefError, match=r"characters, the limit is 20$"):
        lw.PyTreeDef.from_json(text, limit=20)


# ------------------------------------------------------------------------ fuzz


def mutated_text(text, draw):
    """Change a few characters of a text."""
    chars = list(text)
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(chars))
        change = draw.choice(["drop", "swap", "put", "double"])
        if change == "drop":
            del chars[place]
        elif change == "put":
            chars.insert(place, draw.choice('[]{}",:0123456789-.eE\\nulltruefalse'))
        elif change == "double":
            chars[place:place] = chars[place : place + draw.randint(1, 20)]
        else:
            chars[place] = draw.choice('[]{}",:0189-\\x')
        if not chars:
            break
    return "".join(chars)


ODD = [
    None,
    -1,
    0,
    1,
    2**70,
    1.5,
    "",
    "dict",
    "tuple",
    (),
    (1,),
    [],
    {},
    True,
    int,
    Box,
]


def mutated(value, draw):
    """Change something inside nested tuples."""
    if type(value) is tuple and value and draw.random() < 0.8:
        place = draw.randrange(len(value))
        inner = mutated(value[place], draw)
        cut = (
            draw.choice([(inner,), (inner, inner), ()]) if draw.random() < 0.2 else None
        )
        return value[:place] + (cut or (inner,)) + value[place + 1 :]
    return draw.choice(ODD)


SOURCES = [lw.tree_structure(tree) for tree in TREES]


def outcomes(make, count):
    """Count how many inputs were read and how many were refused as documented."""
    read = refused = 0
    for _ in range(count):
        try:
            treedef = make()
        except lw.errors.TreeDefError:
            refused += 1
        else:
            read += 1
            assert isinstance(treedef, lw.PyTreeDef | tuple)
    return read, refused


@pytest.mark.slow
def test_twenty_thousand_mutated_inputs():
    """Mutated text and state raise only what is documented, in little memory."""
    draw = random.Random(20261123)
    texts = [treedef.to_json() for treedef in SOURCES]
    states = [treedef.__reduce__()[1][0] for treedef in SOURCES]
    tracemalloc.start()
    try:
        from_text = outcomes(
            lambda: lw.PyTreeDef.from_json(mutated_text(draw.choice(texts), draw)),
            12_000,
        )
        from_state = outcomes(lambda: load(mutated(draw.choice(states), draw)), 12_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sum(from_text) == sum(from_state) == 12_000
    assert min(*from_text, *from_state) > 20
    assert peak < 32 * 2**20

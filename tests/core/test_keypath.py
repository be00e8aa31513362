"""Keys and key paths."""

import enum
import math
from collections import OrderedDict, namedtuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import leafwise as lw
from leafwise.core.keys import sequence_keys
from leafwise.errors import PathError


def test_keys_are_equal_if_they_read_the_same_place():
    """`[1]` is one place, whether of a list or a dict; other classes differ."""
    assert lw.SequenceKey(1) != lw.registry.FlattenedIndexKey(1)
    assert lw.SequenceKey(1) == lw.DictKey(1)
    assert lw.DictKey(1) == lw.SequenceKey(1)
    assert hash(lw.SequenceKey(1)) == hash(lw.DictKey(1))
    assert lw.DictKey(1) == lw.DictKey(1.0)
    assert lw.SequenceKey(1) != lw.DictKey(True)
    assert lw.SequenceKey(1) != lw.DictKey("1")
    assert lw.GetAttrKey("a") != lw.DictKey("a")
    assert (
        len({lw.SequenceKey(1), lw.registry.FlattenedIndexKey(1), lw.DictKey(1)}) == 2
    )


def test_keys_read_a_child():
    """A key reads what it names."""
    assert lw.SequenceKey(1).get("ab") == "b"
    assert lw.DictKey("k").get({"k": 1}) == 1
    assert lw.GetAttrKey("real").get(3) == 3
    with pytest.raises(LookupError, match="needs a key path"):
        lw.registry.FlattenedIndexKey(0).get([1])


def test_long_sequences_have_keys_too():
    """The shared keys and the others follow each other without a gap."""
    assert [key.idx for key in sequence_keys(200)] == list(range(200))


# ------------------------------------------------------------- text and parsing


class Color(enum.Enum):
    RED = "r"
    BLUE = 2


class Holder:
    """A registered class without names for its children."""

    def __init__(self, *items):
        self.items = items


lw.register_pytree_node(
    Holder, lambda node: (node.items, None), lambda _, items: Holder(*items)
)

hostile = st.text(st.characters(codec=None), max_size=6) | st.sampled_from(
    ["'", '"', "]", "['a']", ".", "a.b", "\n", "\\", "", "[0]", "\ud800", "a'\"b", "//"]
)
literals = st.one_of(
    hostile,
    st.integers(),
    st.booleans(),
    st.none(),
    st.floats(allow_nan=False),
    st.complex_numbers(allow_nan=False, allow_infinity=False),
    st.binary(max_size=3),
    st.sampled_from(Color),
    st.tuples(hostile),
    st.tuples(st.integers(), st.sampled_from(Color), st.tuples()),
)
Point = namedtuple("Point", "x y")
trees = lw.testing.trees(
    st.integers(),
    nodes=[
        list,
        dict,
        Point,
        lambda children: st.dictionaries(hostile, children).map(OrderedDict),
        lambda children: st.builds(Holder, children, children),
    ],
    keys=literals,
    max_leaves=12,
)


@given(trees)
@example({complex(0.0, -0.0): 0, complex(-0.0, 1): [0]})
def test_the_text_of_a_path_says_one_thing(tree):
    """Paths are read back, read the tree, and are never two for one text."""
    pairs = lw.tree_leaves_with_path(tree)
    texts = [str(path) for path, _ in pairs]
    assert len(set(texts)) == len(texts)
    for (path, leaf), text in zip(pairs, texts, strict=True):
        again = lw.KeyPath.parse(text)
        assert again == path
        assert hash(again) == hash(path)
        assert str(again) == text
        assert path(tree) == again(tree) == leaf


@given(trees)
def test_the_code_of_a_path_reads_the_tree(tree):
    """`path.code` is Python that evaluates to the leaf."""
    names = {"tree": tree, "leafwise": lw}
    for path, leaf in lw.tree_leaves_with_path(tree):
        code = path.code().replace(f"{Color.__module__}.Color", "Color")
        assert eval(code, names | {"Color": Color}) == leaf


@pytest.mark.parametrize(
    ("key", "code"),
    [
        (lw.GetAttrKey("class"), "getattr(tree, 'class')"),
        (lw.GetAttrKey("None"), "getattr(tree, 'None')"),
        (lw.GetAttrKey("match"), "tree.match"),
        (lw.GetAttrKey("\N{LATIN SMALL LIGATURE FI}"), "getattr(tree, 'ﬁ')"),
        (lw.GetAttrKey("größe"), "tree.größe"),
        (lw.GetAttrKey("gro\u0308\u00dfe"), "getattr(tree, 'gro\u0308\u00dfe')"),
        (lw.GetAttrKey("a b"), "getattr(tree, 'a b')"),
        (lw.DictKey(math.inf), "tree[float('inf')]"),
        (lw.DictKey((-math.inf, 1)), "tree[(float('-inf'), 1)]"),
        (lw.DictKey(complex(1, math.inf)), "tree[complex('(1+infj)')]"),
        (lw.registry.FlattenedIndexKey(1), "leafwise.tree.children(tree)[1]"),
    ],
    ids=str,
)
def test_code_reads_what_the_key_means(key, code):
    """Keywords, names that Python would read as others, and numbers without names."""
    assert lw.KeyPath((key,)).code() == code
    compile(code, "<code>", "eval")


RAN = []


class Hostile:
    """A key whose text is code."""

    def __repr__(self):
        return f"__import__({__name__!r}).RAN.append('ran')"


class HostileName(str):
    """A name whose text is code."""

    __slots__ = ()

    def __repr__(self):
        return "RAN.append('ran')"

    def __str__(self):
        return "a][RAN.append('ran')"


HostileEnum = enum.Enum(
    "HostileEnum",
    ["A"],
    module=__name__,
    qualname="Color or RAN.append('ran') or Color",
)
HiddenEnum = enum.Enum("HiddenEnum", ["A"], module=__name__, qualname="Color.BLUE.RED")


class HostileKey:
    """A key object of a user's own."""

    def __str__(self):
        return "[RAN.append('ran')]"


@pytest.mark.parametrize(
    "key",
    [
        lw.DictKey(Hostile()),
        lw.DictKey((1, Hostile())),
        lw.DictKey(frozenset({Hostile()})),
        lw.DictKey(HostileName("a")),
        lw.DictKey(HostileEnum.A),
        lw.DictKey(HiddenEnum.A),
        lw.SequenceKey(Hostile()),
        lw.registry.FlattenedIndexKey(Hostile()),
        lw.DictKey(math.nan),
        HostileKey(),
    ],
    ids=lambda key: type(key).__name__,
)
def test_a_key_without_safe_code_is_refused(key):
    """What an object prints is never code; the error names the key."""
    path = lw.KeyPath((lw.SequenceKey(0), key, lw.SequenceKey(1)))
    with pytest.raises(PathError, match=" cannot be written as code: ") as caught:
        path.code()
    assert caught.value.path == path[:2]
    assert str(caught.value).endswith("only literals and Enum members can")
    assert not RAN


def test_the_name_of_an_attribute_is_never_code():
    """Nor is that of a class of str with a text of its own."""
    code = lw.KeyPath((lw.GetAttrKey(HostileName("a b")),)).code()
    assert code == "getattr(tree, 'a b')"


def test_reading_a_path_runs_no_code():
    """Nor does it print what a dotted name leads to."""
    with pytest.raises(PathError, match="this is not a literal"):
        lw.KeyPath.parse(f"[{__name__}.hostile_object]")
    assert not RAN


class _Loud:
    def __repr__(self):
        RAN.append("repr")
        return ""


hostile_object = _Loud()


def test_integers_of_any_size_are_keys():
    """Python writes 4300 digits at most; more stand there in hexadecimal."""
    many = 10**5000
    for key in (many, -many, (many, "a")):
        path = lw.KeyPath((lw.DictKey(key),))
        again = lw.KeyPath.parse(str(path))
        assert again == path
        assert eval(path.code(), {"tree": {key: 1}}) == path({key: 1}) == 1
    assert lw.keystr(lw.KeyPath((lw.DictKey(many),)), simple=True) == hex(many)
    with pytest.raises(PathError, match=r"no match for '\*\*\.x'"):
        lw.at({many: 1})["**.x"].get()


@pytest.mark.parametrize("real", [0.0, 1.5, -1.5, math.inf, -math.inf])
@pytest.mark.parametrize("imag", [0.0, -0.0, 1.5, -1.5, math.inf, -math.inf])
def test_every_complex_key_is_read_back(real, imag):
    """As an equal one."""
    key = complex(real, imag)
    for value in (key, (key, 1)):
        (again,) = lw.KeyPath.parse(str(lw.KeyPath((lw.DictKey(value),))))
        assert again.key == value


PIECES = ["[", "]", "'", '"', ".", "a", "1", "-", "+", "j", "(", ")", ",", "inf", "nan"]
PIECES += ["9" * 5000, "<flat index ", ">", "\\", "\0", "\ud800", " ", "ﬁ", "²", "f''"]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_any_text_is_a_path_or_an_error(text):
    """Nothing but `PathError` is raised, and what is read is written again."""
    for path_text in (text, f"[{text}]", f"[<flat index {text}>]"):
        try:
            path = lw.KeyPath.parse(path_text)
        except PathError:
            continue
        again = lw.KeyPath.parse(str(path))
        assert str(again) == str(path)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (lw.DictKey(Color.RED), f"[{Color.__module__}.Color.RED]"),
        (lw.DictKey((1, Color.BLUE)), f"[(1, {Color.__module__}.Color.BLUE)]"),
        (lw.DictKey(()), "[()]"),
        (lw.DictKey(-1.5), "[-1.5]"),
        (lw.DictKey(math.inf), "[inf]"),
        (lw.DictKey(-math.inf), "[-inf]"),
        (lw.DictKey(1 - 2j), "[(1-2j)]"),
        (lw.DictKey(b"\x00]"), "[b'\\x00]']"),
        (lw.GetAttrKey("a-b"), ".'a-b'"),
        (lw.GetAttrKey(""), ".''"),
        (lw.GetAttrKey("größe"), ".größe"),
        (lw.registry.FlattenedIndexKey(12), "[<flat index 12>]"),
        (lw.SequenceKey(-1), "[-1]"),
    ],
)
def test_texts_that_are_read_back(key, text):
    """Every kind of key prints as shown and is read back."""
    assert str(key) == text
    assert lw.KeyPath.parse(text) == (key,)
    assert lw.KeyPath.parse(f".a{text}['z']")[1] == key


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a", "a key is like [0], ['a'] or .name, at character 0"),
        ("['a'", "a key is like [0], ['a'] or .name, at character 0"),
        ("['a", "a key is like [0], ['a'] or .name, at character 0"),
        ("[]", "this is not a literal, at character 1"),
        ("[f()]", "this is not a literal, at character 1"),
        ("[__import__('os')]", "this is not a literal, at character 1"),
        ("[...]", "this is not a literal, at character 1"),
        ("[{1}]", "this is not a literal, at character 1"),
        ("[os.path.join]", "this is not a literal, at character 1"),
        ("[nowhere.Color.RED]", "this is not a literal, at character 1"),
        ("['a']x", "a key is like [0], ['a'] or .name, at character 5"),
        (".", "a key is like [0], ['a'] or .name, at character 0"),
        (".a-b", "a name after . is an identifier or quoted, at character 1"),
        ("[<flat index x>]", "this is not a literal, at character 1"),
        ("[1 + 'a']", "this is not a literal, at character 1"),
        ("[-'a']", "this is not a literal, at character 1"),
        ("[1+2]", "this is not a literal, at character 1"),
        ("[-True]", "this is not a literal, at character 1"),
        ("[1+1j+1j]", "this is not a literal, at character 1"),
        ("[" + "9" * 5000 + "]", None),
    ],
)
def test_texts_that_are_no_paths(text, why):
    """What cannot be read is refused, with the place."""
    with pytest.raises(PathError) as error:
        lw.KeyPath.parse(text)
    if why is not None:
        assert str(error.value) == f"{text!r} is not a path: {why}"


def test_simple_text():
    """The simple text drops all marks."""
    path = lw.KeyPath.parse("['a'][0].x[<flat index 2>]")
    assert lw.keystr(path, simple=True, separator="/") == "a/0/x/2"
    assert lw.keystr(path, separator=" ") == "['a'] [0] .x [<flat index 2>]"


def test_paths_join_and_split():
    """Sums, slices and parents are paths; an item is a key."""
    path = lw.KeyPath.parse("['a'][0].x")
    assert type(path[:1] + path[1:]) is lw.KeyPath
    assert path[:1] + path[1:] == path
    assert path[-1] == lw.GetAttrKey("x")
    assert str(path.parent) == "['a'][0]"
    assert lw.KeyPath().parent == ()
    assert str(path + path[1:2]) == "['a'][0].x[0]"


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        (
            "['optim']['rl']",
            "no ['rl'] at ['optim']; the dict there has ['lr'], ['wd']",
            "['optim']",
        ),
        ("['layers'][3]", "no [3] at ['layers']; the list there has [0], [1]",
         "['layers']"),
        ("['layers'][0]['w']", "no ['w'] at ['layers'][0]; the int there has no "
         "children: 1", "['layers'][0]"),
        (".x", "no .x at the root; the dict there has ['layers'], ['optim']", ""),
        ("['point'].z", "no .z at ['point']; the Point there has .x, .y", "['point']"),
        ("['held'][<flat index 5>]", "no [<flat index 5>] at ['held']; the Holder "
         "there has [<flat index 0>]", "['held']"),
    ],
)  # fmt: skip
def test_reading_what_is_not_there(path, text, message):
    """The error names the longest part that exists, and the nearest keys there."""
    tree = {"optim": {"lr": 1, "wd": 2}, "layers": [1, 2]}
    if "point" in path or "held" in path:
        tree = {"point": Point(1, 2), "held": Holder(1)}
    with pytest.raises(PathError) as error:
        lw.KeyPath.parse(path)(tree)
    assert str(error.value) == text
    assert str(error.value.path) == path
    assert str(error.value.found) == message
    assert isinstance(error.value, LookupError)


def test_a_path_of_a_deep_tree_is_a_tuple_of_its_keys():
    """To C code as well, which reads tuples without asking their methods."""
    tree = 1
    for _ in range(150):
        tree = [tree]
    walked = [path for path, _ in lw.tree_walk(tree)][-1]
    paths = []
    lw.tree_visit(tree, lambda node, path, _: paths.append(path) or node)
    for path in (walked, paths[-1]):
        assert type(path) is lw.KeyPath
        assert tuple.__len__(path) == 150
        assert "%s" * 150 % path == "[0]" * 150
        assert tuple(path) == path == lw.KeyPath([lw.SequenceKey(0)] * 150)

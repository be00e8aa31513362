"""JSON Patches: written, read, and applied by another library."""

import json
from collections import OrderedDict, deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from leafwise.errors import EditError
from leafwise.selection import TreeDiff


WORDS = ("a", "b", "c/d", "~e", "~1", "", "0", "m~n/o")
SCALARS = (0, 1, 2, "a", "b", "~/x", None, True, False, 2.5)
TREES = st.recursive(
    st.sampled_from(SCALARS),
    lambda below: (
        st.lists(below, max_size=5)
        | st.dictionaries(st.sampled_from(WORDS), below, max_size=4)
    ),
    max_leaves=12,
)


def random_tree(random, depth):
    """Return a random tree of what JSON has."""
    if depth == 0 or random.random() < 0.25:
        return random.choice(SCALARS)
    size = random.randrange(6)
    if random.random() < 0.6:
        return [random_tree(random, depth - 1) for _ in range(size)]
    return {key: random_tree(random, depth - 1) for key in random.sample(WORDS, size)}


@given(TREES, TREES)
def test_there_and_back(a, b):
    diff = TreeDiff.from_json_patch(lw.tree_diff(a, b).to_json_patch(), a)
    assert lw.tree_equal(diff.apply(a), b)
    assert lw.tree_equal(diff.invert().apply(b), a)


@given(st.permutations(range(9)), st.integers(0, 8), st.integers(0, 8))
def test_moves_in_one_list(places, start, end):
    """Two operations for each item that has moved, one for any other."""
    a = {"x": list(range(9))[start:]}
    b = {"x": places[: end + 1]}
    diff = lw.tree_diff(a, b)
    patch = json.loads(diff.to_json_patch())
    assert len(patch) <= 2 * len(diff)
    assert TreeDiff.from_json_patch(patch, a).apply(a) == b


def patched(document, *operations):
    """Return a document after operations."""
    return TreeDiff.from_json_patch(operations, document).apply(document)


def op(word, path, value=lw.MISSING, **more):
    """Return an operation."""
    value = {} if value is lw.MISSING else {"value": value}
    return {"op": word, "path": path, **value, **more}


APPENDIX = {  # of RFC 6902: what goes in, the operations, what comes out
    "A.1": ({"foo": "bar"}, [op("add", "/baz", "qux")], {"baz": "qux", "foo": "bar"}),
    "A.2": (
        {"foo": ["bar", "baz"]},
        [op("add", "/foo/1", "qux")],
        {"foo": ["bar", "qux", "baz"]},
    ),
    "A.3": ({"baz": "qux", "foo": "bar"}, [op("remove", "/baz")], {"foo": "bar"}),
    "A.4": (
        {"foo": ["bar", "qux", "baz"]},
        [op("remove", "/foo/1")],
        {"foo": ["bar", "baz"]},
    ),
    "A.5": (
        {"baz": "qux", "foo": "bar"},
        [op("replace", "/baz", "boo")],
        {"baz": "boo", "foo": "bar"},
    ),
    "A.6": (
        {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
        [op("move", "/qux/thud", **{"from": "/foo/waldo"})],
        {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
    ),
    "A.7": (
        {"foo": ["all", "grass", "cows", "eat"]},
        [op("move", "/foo/3", **{"from": "/foo/1"})],
        {"foo": ["all", "cows", "eat", "grass"]},
    ),
    "A.8": (
        {"baz": "qux", "foo": ["a", 2, "c"]},
        [op("test", "/baz", "qux"), op("test", "/foo/1", 2)],
        {"baz": "qux", "foo": ["a", 2, "c"]},
    ),
    "A.9": ({"baz": "qux"}, [op("test", "/baz", "bar")], "expected 'bar' at"),
    "A.10": (
        {"foo": "bar"},
        [op("add", "/child", {"grandchild": {}})],
        {"foo": "bar", "child": {"grandchild": {}}},
    ),
    "A.11": (
        {"foo": "bar"},
        [op("add", "/baz", "qux", xyz=123)],
        {"foo": "bar", "baz": "qux"},
    ),
    "A.12": ({"foo": "bar"}, [op("add", "/baz/bat", "qux")], "no match for"),
    "A.14": (
        {"/": 9, "~1": 10},
        [op("test", "/~01", 10)],
        {"/": 9, "~1": 10},
    ),
    "A.15": ({"/": 9, "~1": 10}, [op("test", "/~01", "10")], "expected '10'"),
    "A.16": (
        {"foo": ["bar"]},
        [op("add", "/foo/-", ["abc", "def"])],
        {"foo": ["bar", ["abc", "def"]]},
    ),
}
OTHERS = {
    "the root": ({"a": 1}, [op("replace", "", [1])], [1]),
    "the root, added": ([1], [op("add", "", {"a": 1})], {"a": 1}),
    "no name": ({}, [op("add", "/", 1)], {"": 1}),
    "an old one": ({"a": None}, [op("add", "/a", 1)], {"a": 1}),
    "null": ({"a": 1}, [op("add", "/a", None), op("test", "/a", None)], {"a": None}),
    "at the end": ([1], [op("add", "/1", 2)], [1, 2]),
    "copied": ({"a": [1]}, [op("copy", "/b", **{"from": "/a"}), op("add", "/b/0", 0)],
               {"a": [1], "b": [0, 1]}),
    "onto itself": ({"a": 1}, [op("move", "/a", **{"from": "/a"})], {"a": 1}),
    "equal numbers": ({"a": 1}, [op("test", "/a", 1.0)], {"a": 1}),
    "true is not one": ({"a": 1}, [op("test", "/a", True)], "expected True"),
    "order of keys": ({"a": 1, "b": 2}, [op("test", "", {"b": 2, "a": 1})],
                      {"a": 1, "b": 2}),
    "a tuple": ({"a": (1, 2)}, [op("add", "/a/1", 9), op("remove", "/a/0")],
                {"a": (9, 2)}),
    "beyond the end": ([1], [op("add", "/2", 2)], "the list at the root has 1 item"),
    "no position": ([1], [op("add", "/x", 2)], "cannot insert at 'x'"),
    "a negative one": ([1], [op("add", "/-1", 2)], "cannot insert at '-1'"),
    "an exponent": ([1, 2], [op("remove", "/1e0")], "no match for '/1e0'"),
    "leading zeros": ([1, 2], [op("replace", "/01", 2)], "no match for '/01'"),
    "zeros, added": ([1, 2], [op("add", "/01", 2)], "cannot insert at '01'"),
    "a hyphen": ({"-": 1}, [op("test", "/-", 1), op("move", "/b", **{"from": "/-"}),
                           op("add", "/-", 2)], {"b": 1, "-": 2}),
    "after the end": ([1], [op("remove", "/-")], "no match for"),
    "nothing there": ({}, [op("remove", "/a")], "the dict at the root is empty"),
    "not replaced": ({}, [op("replace", "/a", 1)], "no match for"),
    "into a leaf": ({"a": 1}, [op("add", "/a/b", 1)], "into the leaf at a"),
    "the root, removed": ({}, [op("remove", "")], "the root cannot be removed"),
    "into itself": ({"a": {"b": 1}}, [op("move", "/a/b/c", **{"from": "/a"})],
                    "cannot be moved into itself"),
    "no pointer": ({"a": 1}, [op("remove", "a")], "not a JSON Pointer"),
    "an escape": ({"a~b": 1}, [op("remove", "/a~b")], "not a JSON Pointer"),
    "no path": ({}, [{"op": "remove"}], "not a JSON Pointer: None"),
    "no source": ({}, [op("copy", "/a")], "not a JSON Pointer: None"),
    "no value": ({}, [op("add", "/a")], "it has no 'value'"),
    "no operation": ({}, [op("spam", "/a")], "unknown operation 'spam'"),
    "no object": ({}, [1], "it is not an object"),
    "the second": ([1], [op("add", "/0", 0), op("remove", "/5")], "operation 1: "),
}  # fmt: skip


@pytest.mark.parametrize("case", APPENDIX | OTHERS)
def test_operations(case):
    """The examples of the RFC, and what else can be asked; all or nothing."""
    document, operations, expected = (APPENDIX | OTHERS)[case]
    before = json.dumps(document)
    for patch in (operations, json.dumps(operations), json.dumps(operations).encode()):
        if isinstance(expected, str):
            with pytest.raises(EditError, match=expected):
                TreeDiff.from_json_patch(patch, document)
        else:
            assert patched(document, *operations) == expected
            assert TreeDiff.from_json_patch(patch, document).apply(document) == expected
    assert json.dumps(document) == before


def test_what_is_no_patch():
    with pytest.raises(EditError, match="a JSON Patch is a list of operations"):
        TreeDiff.from_json_patch("{}", {})
    with pytest.raises(ValueError, match="Expecting"):
        TreeDiff.from_json_patch("[", {})


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [
        ({"a": 1}, {"a": {1, 2}}, r"cannot hold {1, 2} \(set\) at a"),
        ([1], [1, {"x": ({2},)}], r"cannot hold \{2\} \(set\) at \[1\]\.x\[0\]"),
        ({"a": 1}, {"a": float("nan")}, r"cannot hold nan \(float\) at a"),
        ({}, {"a": [{2: 1}]}, r"the key 2 at a\[0\]\[2\]"),
        ({1: [1]}, {1: [2]}, r"the key 1 at \[1\]$"),
        (lw.KeyPath, {}, "KeyPath"),
    ],
)
def test_what_json_cannot_hold(a, b, text):
    """It is refused, with the path."""
    pair = (b, a) if isinstance(a, type) else (a, b)
    with pytest.raises(EditError, match=text):
        lw.tree_diff(*pair).to_json_patch()


def test_containers_are_lists_and_objects():
    """A tuple has the form that other programs read."""
    after = {"a": (1, (2,)), "b": deque([3]), "c": OrderedDict(d=4)}
    patch = lw.tree_diff({}, after).to_json_patch()
    assert TreeDiff.from_json_patch(patch, {}).apply({}) == {
        "a": [1, [2]],
        "b": [3],
        "c": {"d": 4},
    }


def test_a_patch_that_changes_only_the_type():
    """As a replacement of 1.0 by 1, which `==` does not see."""
    for old, new in ((1.0, 1), (1, True), (0, False)):
        patch = [{"op": "replace", "path": "/a", "value": new}]
        random_tree = TreeDiff.from_json_patch(patch, {"a": old}).apply({"a": old})
        assert repr(random_tree) == repr({"a": new})

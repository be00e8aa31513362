"""The texts of errors about structures that do not fit (L8)."""

from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import leafwise as lw


Point = namedtuple("Point", "x y")


@lw.dataclass
class Layer:
    weight: object
    name: str = lw.static(default="layer")


class Missing:
    """A leaf whose repr is long."""

    def __repr__(self):
        return "Missing(" + "x" * 100 + ")"


def error_of(first, *rest, **options):
    """Return the error of mapping these trees."""
    with pytest.raises(lw.StructureError) as error:
        lw.tree_map(lambda *_: None, first, *rest, **options)
    return error.value


@pytest.mark.parametrize(
    ("first", "second", "lines"),
    [
        (
            [1, 2],
            [1],
            ["at the root: expected list of length 2, got list of length 1"],
        ),
        (
            {"a": [1]},
            {"a": (1,)},
            [
                "at ['a']: expected list of length 1, got tuple of length 1",
                "hint: a list and a tuple are different nodes; convert one of them",
            ],
        ),
        (
            {"a": 1, "b": 2},
            {"a": 1, "c": 2, "d": 3},
            [
                "at the root: expected dict with keys 'a', 'b', got dict with keys "
                "'a', 'c', 'd' (missing 'b'; extra 'c', 'd')"
            ],
        ),
        (
            {"a": 1},
            OrderedDict(b=1),
            [
                "at the root: expected dict with keys 'a', got OrderedDict with keys "
                "'b' (missing 'a'; extra 'b')"
            ],
        ),
        (
            {"weight": 1, "bias": 2},
            {"weight": 1, "bais": 2},
            [
                "at the root: expected dict with keys 'bias', 'weight', got dict with "
                "keys 'bais', 'weight' (missing 'bias'; extra 'bais')",
                "hint: perhaps 'bais' is meant to be 'bias'",
            ],
        ),
        ({}, {"a": 1}, [
            "at the root: expected empty dict, got dict with keys 'a' (extra 'a')"
        ]),
        (
            {"w": {"a": 1}},
            {"w": None},
            [
                "at ['w']: expected dict with keys 'a', got None",
                "hint: None is a node without children; none_is_leaf=True makes it a "
                "leaf",
            ],
        ),
        (
            [None],
            [1],
            [
                "at [0]: expected None, got leaf 1 (int)",
                "hint: the expected None is a node without children; "
                "none_is_leaf=True makes it a leaf",
            ],
        ),
        (
            Point(1, [2]),
            Point(1, 2),
            ["at .y: expected list of length 1, got leaf 2 (int)"],
        ),
        (
            Point(1, 2),
            (1, 2),
            ["at the root: expected namedtuple Point with 2 children, got tuple of "
             "length 2"],
        ),
        (
            Layer(1, "a"),
            Layer(1, "b"),
            ["at the root: expected Layer with 1 child and aux data ('a',), got Layer "
             "with 1 child and aux data ('b',)"],
        ),
        (
            deque([1]),
            [1],
            ["at the root: expected deque of length 1, got list of length 1"],
        ),
        (
            {"a": [1]},
            {"a": type("Sub", (list,), {})([1])},
            [
                "at ['a']: expected list of length 1, got leaf [1] (Sub)",
                "hint: Sub is a subclass of list, and subclasses are leaves unless "
                "they are registered",
            ],
        ),
        (
            [[1]],
            [Missing()],
            ["at [0]: expected list of length 1, got leaf Missing("
             + "x" * 49 + "... (Missing)"],
        ),
        (
            dict.fromkeys("abcdefgh", 0),
            {},
            ["at the root: expected dict with keys 'a', 'b', 'c', 'd', 'e', 'f' and 2 "
             "more, got empty dict (missing 'a', 'b', 'c', 'd', 'e', 'f' and 2 more)"],
        ),
        (
            defaultdict(int, a=[1]),
            {"a": 2},
            ["at ['a']: expected list of length 1, got leaf 2 (int)"],
        ),
    ],
)  # fmt: skip
def test_one_difference(first, second, lines):
    """The whole text: where, what was expected, what was found, what to do."""
    places, *hints = lines
    expected = "\n".join(
        [
            "tree 1 does not have the structure of the first tree, in 1 place:",
            f"  {places}",
            *hints,
        ]
    )
    assert str(error_of(first, second)) == expected


def test_all_differences_are_found_and_five_are_shown():
    """The text has five, the rest is counted, and the error holds them all."""
    first = {name: [0] for name in "abcdefg"}
    second = dict.fromkeys("abcdefg", 0) | {"c": [0]}
    error = error_of(first, [first, second][1])
    assert str(error) == "\n".join(
        [
            "tree 1 does not have the structure of the first tree, in 6 places:",
            "  at ['a']: expected list of length 1, got leaf 0 (int)",
            "  at ['b']: expected list of length 1, got leaf 0 (int)",
            "  at ['d']: expected list of length 1, got leaf 0 (int)",
            "  at ['e']: expected list of length 1, got leaf 0 (int)",
            "  at ['f']: expected list of length 1, got leaf 0 (int)",
            "  and 1 more",
        ]
    )
    assert [str(d.path) for d in error.differences] == [
        f"['{name}']" for name in "abdefg"
    ]
    assert str(error.path) == "['a']"
    assert (error.expected, error.actual) == ("list of length 1", "leaf 0 (int)")


def test_the_wrong_tree_is_named():
    """With several trees, the error says which one does not fit."""
    error = error_of([1], [1], [1], (1,))
    assert error.tree_index == 3
    assert str(error).startswith("tree 3 does not have the structure of the first tree")


def test_below_a_difference_nothing_is_reported():
    """A subtree that is wrong at its root is one difference."""
    error = error_of([[1, [2]], 3, [4]], [{"x": 0}, 3, 5])
    assert [str(d.path) for d in error.differences] == ["[0]", "[2]"]


def test_strict_names_what_is_deeper():
    """With `strict=True`, a deeper tree is a difference."""
    error = error_of([1, 2], [1, (2, 3)], strict=True)
    assert str(error) == "\n".join(
        [
            "tree 1 does not have the structure of the first tree, in 1 place:",
            "  at [1]: expected a leaf, got tuple of length 2",
            "hint: strict=True takes no tree that is deeper than the first",
        ]
    )
    assert lw.tree_map(lambda x, y: y, [1, 2], [1, (2, 3)]) == [1, (2, 3)]


def test_a_node_that_cannot_be_flattened_is_still_described():
    """Explaining a failure never fails itself."""

    class Broken:
        pass

    lw.register_pytree_node(Broken, lambda _: 3, lambda _, kids: Broken())
    assert error_of([[1]], [Broken()]).actual == (
        f"a {Broken.__qualname__} that cannot be flattened"
    )


def test_differences_are_records():
    """A difference compares, hashes and prints."""
    error = error_of([[1]], [2])
    (difference,) = error.differences
    assert difference == error_of([[1]], [2]).differences[0]
    assert difference.hint == ""
    assert str(difference) == "at [0]: expected list of length 1, got leaf 2 (int)"

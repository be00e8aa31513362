"""The texts of errors about structures that do not fit (L8)."""

from collections import OrderedDict, defaultdict, deque, namedtuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


SECOND_TREE = "the second tree does not have the structure of the first tree"
BROADCAST = (
    "hint: the second tree is a prefix of the first; if each of its leaves is meant "
    "for all that is below, call tree_broadcast_prefix first, or tree.broadcast_map"
)


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
                "hint: perhaps 'bais' is a misspelling of 'bias'",
            ],
        ),
        (
            {"W": 1},
            {"w": 1},
            [
                "at the root: expected dict with keys 'W', got dict with keys 'w' "
                "(missing 'W'; extra 'w')",
                "hint: perhaps 'w' is a misspelling of 'W'",
            ],
        ),
        (
            {1: 0, "b": 0, b"c": 0},
            {"1": 0, "b": 0, "c": 0},
            [
                "at the root: expected dict with keys b'c', 1, 'b', got dict with keys "
                "'1', 'b', 'c' (missing b'c', 1; extra '1', 'c'; the bytes b'c' is not "
                "the str 'c'; the int 1 is not the str '1')"
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
            ],
        ),
        (
            [None],
            [1],
            [
                "at [0]: expected None, got leaf 1 (int)",
                "hint: the expected None is a node without children; "
                "none_is_leaf=True, of a call or a namespace, makes it a leaf",
            ],
        ),
        (
            Point(1, [2]),
            Point(1, 2),
            ["at .y: expected list of length 1, got leaf 2 (int)", BROADCAST],
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
             + "x" * 49 + "... (Missing)", BROADCAST],
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
            ["at ['a']: expected list of length 1, got leaf 2 (int)", BROADCAST],
        ),
    ],
)  # fmt: skip
def test_one_difference(first, second, lines):
    """The whole text: where, what was expected, what was found, what to do."""
    places, *hints = lines
    expected = "\n".join(
        [
            f"{SECOND_TREE}, in 1 place:",
            f"  {places}",
            *hints,
        ]
    )
    assert str(error_of(first, second)) == expected


def test_all_differences_are_found_and_five_are_shown():
    """The text has five, the rest is counted, and the error holds them all."""
    first = {name: [0] for name in "abcdefg"}
    second = dict.fromkeys("abcdefg", 0) | {"c": [0]}
    error = error_of(first, second)
    assert str(error) == "\n".join(
        [
            f"{SECOND_TREE}, in 6 places:",
            "  at ['a']: expected list of length 1, got leaf 0 (int)",
            "  at ['b']: expected list of length 1, got leaf 0 (int)",
            "  at ['d']: expected list of length 1, got leaf 0 (int)",
            "  at ['e']: expected list of length 1, got leaf 0 (int)",
            "  at ['f']: expected list of length 1, got leaf 0 (int)",
            "  and 1 more",
            BROADCAST,
        ]
    )
    assert [str(d.path) for d in error.differences] == [
        f"['{name}']" for name in "abdefg"
    ]
    assert str(error.path) == "['a']"
    assert (error.expected, error.actual) == ("list of length 1", "leaf 0 (int)")


def test_what_differing_nodes_have_in_common_is_compared():
    """Other keys, lengths, types and aux data hide nothing below them."""
    error = error_of(
        {"a": {"x": 1, "y": [1]}, "b": [[1], 2, 3], "c": Layer([1], "one"), "d": [[1]]},
        {"a": {"x": 1, "y": (1,)}, "b": [(1,), 2], "c": Layer(1, "two"), "d": ((1,),)}
        | {"e": 4},
    )
    assert [(d.path.where(), d.actual) for d in error.differences] == [
        ("the root", "dict with keys 'a', 'b', 'c', 'd', 'e' (extra 'e')"),
        ("['a']['y']", "tuple of length 1"),
        ("['b']", "list of length 2"),
        ("['b'][0]", "tuple of length 1"),
        ("['c']", "Layer with 1 child and aux data ('two',)"),
        ("['c'].weight", "leaf 1 (int)"),
        ("['d']", "tuple of length 1"),
        ("['d'][0]", "tuple of length 1"),
    ]


def test_positions_without_names_say_nothing_about_another_class():
    """What is first in one class need not be what is first in another."""
    first, second = (type(name, (), {}) for name in ("First", "Second"))
    for cls, children in ((first, ([1],)), (second, ((1,),))):
        lw.register_pytree_node(
            cls, lambda _, children=children: (children, None), lambda _, __: None
        )
    (difference,) = lw.tree.equality_errors(first(), second())
    assert difference.path == ()


class NoHash:
    """A key that cannot be looked up."""

    __hash__ = None

    def __eq__(self, other):
        return True


def test_keys_that_cannot_be_looked_up_are_passed_over():
    """The node is reported, and nothing below it."""

    class Odd:
        pass

    lw.register_pytree_node(
        Odd, lambda _: (([1],), None, (NoHash(),)), lambda _, __: Odd()
    )
    assert len(error_of([Odd()], [(1,)]).differences) == 1


def expected_places(one, other):
    """Return the paths of all differences, by recursion; leaves cover anything."""
    if lw.tree.is_leaf(one):
        return []
    if lw.tree.is_leaf(other):
        return [()]
    levels = [lw.tree.flatten_one_level(node) for node in (one, other)]
    children = [dict(zip(x.keys, x.children, strict=True)) for x in levels]
    shallow = [
        lw.tree_structure(node, is_leaf=lambda x, node=node: x is not node)
        for node in (one, other)
    ]
    places = [] if shallow[0] <= shallow[1] else [()]
    for key, child in children[0].items():
        if key in children[1]:
            places += [(key, *p) for p in expected_places(child, children[1][key])]
    return places


TREES = st.recursive(
    st.just(0),
    lambda children: (
        st.lists(children, max_size=3)
        | st.lists(children, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from(["a", "b", 1, "1"]), children, max_size=3)
        | st.builds(Layer, children, st.sampled_from("xy"))
        | st.builds(Point, children, children)
    ),
    max_leaves=12,
)


@given(TREES, TREES)
def test_all_differences_are_those_of_a_recursion(one, other):
    """In the order of paths, each node before what is in it."""
    places = expected_places(one, other)
    assert [d.path for d in lw.tree.prefix_errors(one, other)] == places
    structures = lw.tree_structure(one), lw.tree_structure(other)
    exact = [d.path for d in structures[0].explain(structures[1])]
    assert set(places) <= set(exact)
    assert (exact == []) == (structures[0] == structures[1])


@pytest.mark.parametrize("of_call", [False, True])
def test_no_hint_contradicts_its_line(of_call):
    """`none_is_leaf` is proposed where it helps: where None is what is expected."""
    for first, second in (([1], None), ({"a": [1]}, {"a": None}), ((1, 2), None)):
        error = error_of({"w": first}, {"w": second}, none_is_leaf=of_call)
        assert "none_is_leaf" not in str(error)
    assert "none_is_leaf=True" in str(error_of([None], [1]))


def test_the_wrong_tree_is_named():
    """With several trees, the error says which one does not fit."""
    error = error_of([1], [1], [1], (1,))
    assert error.tree_index == 3
    assert str(error).startswith(
        "tree number 4 does not have the structure of the first tree"
    )


def test_what_looks_like_a_prefix_and_contains_itself():
    """The error is about the place that differs; the hint is left out."""
    endless = [0, 0]
    endless[1] = endless
    error = error_of([[1], [[2], 3]], endless)
    assert str(error.path) == "[0]"
    assert "hint" not in str(error)


def test_strict_names_what_is_deeper():
    """With `strict=True`, a deeper tree is a difference."""
    error = error_of([1, 2], [1, (2, 3)], strict=True)
    assert str(error) == "\n".join(
        [
            f"{SECOND_TREE}, in 1 place:",
            "  at [1]: expected a leaf, got tuple of length 2",
            "hint: strict=True accepts no tree that is deeper than the first",
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


# ------------------------------------------------- nodes that look the same, and differ


def pair_class(cls):
    """Return a class that has the name of others."""
    if cls == "dataclass":

        @lw.dataclass
        class Pair:
            a: object
            b: object

    elif cls == "Pytree":

        class Pair(lw.Pytree):
            def __init__(self, a, b):
                self.a = lw.data(a)
                self.b = b

    else:
        Pair = namedtuple("Pair", "a b")
    return Pair


@pytest.mark.parametrize("cls", ["dataclass", "Pytree", "named tuple"])
def test_classes_of_one_name_are_told_apart(cls):
    """In the error of a map, and where treedefs are compared."""
    one = pair_class(cls)(1, 2)
    other = pair_class(cls)(1, 2)
    with pytest.raises(lw.StructureError) as caught:
        lw.tree_map(lambda x, y: x, one, other)
    (difference,) = lw.tree.equality_errors(one, other)
    assert caught.value.differences == (difference,)
    assert (
        difference.actual
        == f"{difference.expected} (a different class with the same name)"
    )
    type(other).__module__ = "elsewhere"
    (difference,) = lw.tree.equality_errors(one, other)
    name = type(one).__qualname__
    assert difference.expected.endswith(f" ({__name__}.{name})")
    assert difference.actual.endswith(f" (elsewhere.{name})")


SAME_TEXT = {
    "maxlen": (
        deque([1], 2),
        deque([1], 3),
        ("deque of length 1 and maxlen 2", "deque of length 1 and maxlen 3"),
    ),
    "it is not a maxlen": (
        deque([1]),
        deque([1], 3),
        ("deque of length 1", "deque of length 1 and maxlen 3"),
    ),
    "factory": (
        defaultdict(int, a=1),
        defaultdict(list, a=1),
        (
            "defaultdict with keys 'a' and factory <class 'int'>",
            "defaultdict with keys 'a' and factory <class 'list'>",
        ),
    ),
    "many keys": (
        dict.fromkeys("abcdefgh", 0),
        dict.fromkeys("abcdefgi", 0),
        (
            "dict with keys 'a', 'b', 'c', 'd', 'e', 'f' and 2 more",
            "dict with keys 'a', 'b', 'c', 'd', 'e', 'f' and 2 more "
            "(missing 'h'; extra 'i')",
        ),
    ),
    "order of many keys": (
        OrderedDict.fromkeys("abcdefgh", 0),
        OrderedDict.fromkeys("abcdefhg", 0),
        (
            "OrderedDict with keys 'a', 'b', 'c', 'd', 'e', 'f' and 2 more",
            "OrderedDict with keys 'a', 'b', 'c', 'd', 'e', 'f' and 2 more "
            "(in another order)",
        ),
    ),
}


@pytest.mark.parametrize("case", SAME_TEXT)
def test_what_a_short_description_leaves_out_is_added(case):
    """Where both sides would be the same text."""
    one, other, texts = SAME_TEXT[case]
    (difference,) = lw.tree.equality_errors(one, other)
    assert (difference.expected, difference.actual) == texts


def test_factories_that_print_the_same():
    """They are other ones all the same."""

    class Factory:
        def __call__(self):
            return 0

        def __repr__(self):
            return "zero"

    nodes = (defaultdict(Factory(), a=1) for _ in range(2))
    (difference,) = lw.tree.equality_errors(*nodes)
    assert difference.actual == (
        "defaultdict with keys 'a' and factory zero (a different value with the same "
        "repr)"
    )


@lw.dataclass
class Static:
    x: object
    info: object = lw.static()


@pytest.mark.parametrize(
    ("one", "other", "endings"),
    [
        (np.zeros(99), np.zeros(99, "f4"), (" (float64)", " (float32)")),
        (np.zeros(99), np.zeros(98), (" (shape (99,))", " (shape (98,))")),
        (np.zeros(99), np.arange(99) // 60 * 1.0, ("...", "differ further on)")),
        ("x" * 99, "x" * 98, ("...", "differ further on)")),
    ],
)
def test_aux_data_that_prints_the_same_is_told_apart(one, other, endings):
    """By dtype, by shape, or by where the texts begin to differ."""
    (difference,) = lw.tree.equality_errors(Static(1, one), Static(1, other))
    assert difference.expected.endswith(endings[0])
    assert difference.actual.endswith(endings[1])
    assert difference.expected != difference.actual


def test_a_class_that_was_registered_anew():
    """Its old treedefs are not equal to new ones: it says where both are from."""

    class Pair:
        def __init__(self, *items):
            self.items = items

    def register(namespace=""):
        lw.register_pytree_node(
            Pair,
            lambda p: (p.items, None),
            lambda _, items: Pair(*items),
            namespace=namespace,
        )

    register()
    old = lw.tree_structure(Pair(1))
    lw.unregister_pytree_node(Pair)
    (difference,) = old.explain(lw.tree_structure(Pair(1)))
    assert difference.actual == "a leaf"
    with pytest.raises(lw.StructureError) as caught:
        old.flatten_up_to(Pair(1, 2))
    name = Pair.__qualname__
    assert str(caught.value).endswith(
        f"hint: {name} was registered when the structure was made, and is not "
        "registered now"
    )
    assert f"{name} is a subclass" not in str(caught.value)
    register()
    (difference,) = old.explain(lw.tree_structure(Pair(1)))
    where = lw.registry.lookup(Pair).where
    assert difference.expected == f"{name} with 1 child (registered at {where})"
    assert (
        difference.actual
        == f"{name} with 1 child (registered at {where}, in another registration)"
    )
    lw.namespace("mismatch-anew")
    register("mismatch-anew")
    (difference,) = lw.tree_structure(Pair(1)).explain(
        lw.tree_structure(Pair(1), namespace="mismatch-anew")
    )
    assert difference.actual == (
        f"{name} with 1 child (registered in namespace 'mismatch-anew' at {where})"
    )


def test_a_subclass_of_the_same_name():
    """The hint, and the reason of a leaf, say which of them is which."""
    base = lw.dataclass(type("Pair", (), {"__annotations__": {"x": int}}))
    cls = type("Pair", (base,), {})
    with pytest.raises(lw.StructureError) as caught:
        lw.tree_map(lambda x, y: x, base(1), cls(1))
    assert str(caught.value).endswith(
        "hint: Pair is a subclass of another class named Pair, and subclasses are "
        "leaves unless they are registered"
    )
    assert lw.explain_leaf(cls(1)) == (
        "a leaf: Pair is a subclass of another class named Pair, and subclasses are "
        "leaves unless they are registered"
    )


def test_order_as_structure_is_told_from_order_that_is_none():
    """A dict of a namespace with insertion order is another sort of node."""
    lw.namespace("mismatch-given", dict_order="insertion")
    ordered = lw.tree_structure({"a": 1}, namespace="mismatch-given")
    (difference,) = lw.tree_structure({"a": 1}).explain(ordered)
    assert difference.expected == "dict with keys 'a' (keys sorted)"
    assert difference.actual == "dict with keys 'a' (keys as inserted)"

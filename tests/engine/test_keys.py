"""Keys in generated functions: constants, and dicts with many of them."""

import linecache
import sys
from collections import OrderedDict, defaultdict
from types import CodeType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from alike import Text, told
from leafwise.engine.emit import _FREE_THREADED, SPREAD, Constants
from leafwise.engine.emit import Text as Lines
from leafwise.engine.flatten import string_sizes
from leafwise.engine.plan import FEW, FEW_KEYS, FEW_LEAVES, STORED, WIDE


EDGES = sorted(
    {n + by for n in (FEW, WIDE, FEW_KEYS, FEW_LEAVES, STORED) for by in (-1, 0, 1)}
)
"""How many keys a dict has just before, at and after each change of the text."""


def met(tree):
    """Let the engine know a tree, and return what its functions make of it."""
    for _ in range(5):
        leaves, treedef = lw.tree_flatten(tree)
        up_to = treedef.flatten_up_to(tree)
        rebuilt = treedef.unflatten([*range(len(leaves))])
    return leaves, treedef, up_to, rebuilt


def check(tree):
    """Compare what the engine makes of a tree with what the walk does."""
    with lw.engine.disabled():
        expected = met(tree)
    found = met(tree)
    assert [told(part) for part in found] == [told(part) for part in expected]
    return found


def constants(code):
    """Yield all constants of a code, and of the code in it."""
    for constant in code.co_consts:
        yield from constants(constant) if type(constant) is CodeType else (constant,)


@pytest.mark.parametrize("count", EDGES)
@pytest.mark.parametrize("kind", [dict, OrderedDict, lambda d: defaultdict(list, d)])
def test_dicts_of_any_width(eager, count, kind):
    """Of leaves alone, with nodes between them, and of equal nodes; any order."""
    keys = [f"key {number * 7 % count}" for number in range(count)]
    keys = [*dict.fromkeys(keys)]
    for make in (
        lambda place: place,
        lambda place: [place] if place % 5 == 0 else place,
        lambda place: {"a": place, "b": (place, None)},
    ):
        tree = kind({key: make(place) for place, key in enumerate(keys)})
        _, _, _, rebuilt = check(tree)
        assert [*rebuilt] == keys
        check([tree, 1, tree])


@pytest.mark.parametrize("count", [2, SPREAD + 1, FEW + 1, FEW_KEYS + 1])
@pytest.mark.parametrize("odd", [Text, lambda key: hash(key)])
def test_equal_keys_of_another_type_are_another_structure(eager, count, odd):
    """Wherever the key stands that only seems to be the same."""
    keys = [f"k{number}" for number in range(count)]
    check(dict.fromkeys(keys, 1))
    for place in (0, count - 1):
        other = [odd(key) if at == place else key for at, key in enumerate(keys)]
        _, treedef, _, rebuilt = check(dict.fromkeys(other, 1))
        types = [type(key) for key in other]
        assert [type(key) for key in rebuilt] == types
        assert [type(key) for key in treedef._code[0][3][0]] == types


@pytest.mark.parametrize("count", [3, 8, 20, 40])
def test_equal_keys_that_are_other_objects_are_the_same_structure(eager, count):
    def fresh():
        return {"".join(["layer_", str(at)]): 1.0 for at in range(count)}

    _, first, _, _ = met(fresh())
    assert lw.tree_structure(fresh()) is first
    assert lw.tree_flatten(fresh())[1] is first


def test_rebuilt_dicts_have_the_keys_of_the_first_tree(eager):
    """The same objects, also where another equal string was interned before."""
    spelled = [sys.intern("rather_a_key"), "a key, in words"]
    keys = ["".join([*key]) for key in spelled] + ["".join(["made", "_once"])]
    assert keys[0] is not spelled[0]
    _, _, _, rebuilt = met(dict.fromkeys(keys, 1))
    assert [one is other for one, other in zip(rebuilt, keys, strict=True)] == [
        True
    ] * 3


def test_keys_are_not_taken_for_names_in_the_text(eager):
    """Whatever the text calls things: those are names, these are objects."""
    names = [
        "K1",
        "K2",
        "C1",
        "F1",
        "T1",
        "TREEDEF",
        "known_leaves",
        "leaves",
        "leaf1",
        "tree",
        "strict",
        "flatten",
    ]
    check(dict.fromkeys(names, 1))
    check({name: {"K1": 1, "C1": (1, 2)} for name in reversed(names)})
    check(dict.fromkeys([*range(20), -1, 2**70], 1.0))


def test_nothing_but_keys_is_a_constant(eager):
    """The garbage collector does not look into code, torch's compiler cannot."""
    tree = [{"a": lw.Partial(print, 1), 5: {"x": (1, OrderedDict(c=1))}}, 1.0] * 3
    _, treedef, _, _ = met(tree)
    functions = [treedef._runner.unflatten, treedef._runner.flatten_up_to]
    found = {type(one) for f in functions for one in constants(f.__code__)}
    assert found <= {str, int, tuple, type(None), bool}


def test_constants_are_shown_by_name(eager):
    """In `source` and in tracebacks, which read the lines from `linecache`."""
    _, treedef, _, _ = met({"some key": 1, "other key": (1, 2)})
    file = treedef._runner.unflatten.__code__.co_filename
    lines = "".join(linecache.getlines(file))
    assert lines in lw.engine.source(treedef)
    assert "key" not in lines
    assert "# K1 = 'some key'" in lw.engine.source(treedef)


@pytest.mark.skipif(_FREE_THREADED, reason="keeps all constants of code forever")
def test_what_may_be_a_constant_is_written_as_one():
    """Only strings and ints, and no string that would become another one."""
    text = Lines(Constants())
    assert text.constant("a b") != text.key("a b")
    same = ["".join(["dup", "licate_of"]), (1, "a"), dict, len, 1.5, None, True]
    kept = sys.intern("".join(["duplicate", "_of"]))
    assert kept == same[0]
    assert all(text.constant(value) == text.key(value) for value in same)
    text.add(f"{text.key(1)} {text.constant(dict)}")
    assert str(text).strip().startswith("K")


# ------------------------------------------------------------------ what sizes tell


@given(
    st.lists(
        st.tuples(st.booleans(), st.sampled_from(range(200)), st.booleans()),
        max_size=300,
    ),
    st.booleans(),
)
def test_the_size_of_a_dict_never_lies(changes, ordered):
    """Whatever was put in and taken out before."""
    held = OrderedDict() if ordered else {}
    for add, number, odd in changes:
        if add:
            held[
                number if odd and number % 2 else Text(number) if odd else str(number)
            ] = 1
        else:
            held.pop(str(number), None)
    for one in (held, dict.copy(held), dict.fromkeys(held)):
        if dict.__sizeof__(one) in string_sizes(len(one)):
            assert {type(key) for key in one} <= {str}


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="of CPython")
def test_the_size_of_a_dict_tells_that_its_keys_are_strings():
    for count in (5, 6, 10, 11, 20, 33, 85, 86, 100, 1000):
        made = {f"k{number}": number for number in range(count)}
        for one in (made, made.copy(), dict(**made), dict.fromkeys(made)):
            assert dict.__sizeof__(one) in string_sizes(count)


# ------------------------------------------------------------------ types of leaves


@pytest.mark.parametrize("count", [FEW_LEAVES, FEW_LEAVES + 1])
@pytest.mark.parametrize("first", [1.0, "mixed"])
def test_leaves_that_were_alike_may_be_others(eager, count, first):
    """Another type of leaf changes nothing, a node changes the structure."""
    tree = [1.0] * (count - 1) + [first]
    others = []
    for odd in (1, "x", b"x", None, (), [1, 2], {"a": 1}):
        for place in (0, count // 2, count - 1):
            others.append([*tree])
            others[-1][place] = odd
    with lw.engine.disabled():
        expected = [told([*met(other)]) for other in others]
    treedef = met(tree)[1]
    assert [told([*met(other)]) for other in others] == expected
    kept = [lw.tree_structure(other) is treedef for other in others]
    assert kept == [True] * 9 + [False] * 12

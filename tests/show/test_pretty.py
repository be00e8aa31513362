"""Trees as text for people: what is written, what is left out, and for any tree."""

import ast
import io
import re
import textwrap
from collections import OrderedDict, defaultdict, deque
from decimal import Decimal
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from helpers.peers import peer
from helpers.random_trees import Box, Layer, every_tree
from leafwise import nn
from leafwise.core.context import context_of
from leafwise.nn.pytree import PytreeSpec
from leafwise.show.outline import outline


def text(tree):
    """Return a text that is indented in the source."""
    return textwrap.dedent(tree).strip("\n ")


class Point(NamedTuple):
    x: object
    y: object


# -------------------------------------------------------------------------------- whole


def test_nodes_are_written_as_they_are_made():
    """By name, with the brackets of the built-in class that they are like."""
    tree = {
        "empty": [{}, [], (), None, OrderedDict(), deque(), int],
        "one": (1,),
        "named": Point(1, y="two"),
        "ordered": OrderedDict(b=1, a=2),
        "default": defaultdict(int, a=2),
        "deque": deque([1, 2]),
        "own": Box(1, [2], tag="t"),
        "dataclass": Layer(1.5, 0),
        3: Decimal("1.5"),
        (4, "x"): ...,
    }
    assert lw.pformat(tree) == text("""
    {
      3: Decimal('1.5'),
      'dataclass': Layer(weight=1.5, bias=0, name='layer'),
      'default': defaultdict({'a': 2}),
      'deque': deque([1, 2]),
      'empty': [{}, [], (), None, OrderedDict(), deque(), <class 'int'>],
      'named': Point(x=1, y='two'),
      'one': (1,),
      'ordered': OrderedDict({'b': 1, 'a': 2}),
      'own': Box(item_0=1, item_1=[2]),
      (4, 'x'): Ellipsis
    }
    """)


def test_treedefs():
    """Over lines if they are long; their `repr`, which names the mode, is one line."""
    treedef = lw.tree_structure({f"layer{i}": Layer(1, 2) for i in range(3)})
    layer = "CustomNode(Layer[('layer',)], [*, *])"
    inside = ", ".join(f"'layer{i}': {layer}" for i in range(3))
    assert repr(treedef) == f"PyTreeDef({{{inside}}})"
    assert lw.pformat(treedef) == text("""
    {
      'layer0': Layer(weight=*, bias=*),
      'layer1': Layer(weight=*, bias=*),
      'layer2': Layer(weight=*, bias=*)
    }
    """)
    assert lw.pformat(treedef, depth=1, width=40) == text("""
    {
      'layer0': Layer(... 2),
      'layer1': Layer(... 2),
      'layer2': Layer(... 2)
    }
    """)
    long = lw.tree_structure([None, *range(40)], none_is_leaf=True)
    assert repr(long).endswith("*, *, *], none_is_leaf=True)")
    assert max(map(len, lw.pformat(long).splitlines())) <= 80
    assert repr(lw.tree_structure(3)) == "PyTreeDef(*)"


def test_treedefs_of_stand_ins_are_one_line():
    """Programs read them."""
    jax = pytest.importorskip("leafwise.compat.jax_tree_util")
    optree = pytest.importorskip("leafwise.compat.optree")
    tree = {f"layer{i}": [1, 2, 3] for i in range(9)}
    for treedef in (jax.tree_structure(tree), optree.tree_structure(tree)):
        assert "\n" not in repr(treedef)
        assert len(repr(treedef)) > 150


# ----------------------------------------------------------------------- what is shared


def test_what_occurs_again():
    """Objects with something inside are numbered as they come; constants are not."""
    inner = [1, 2]
    constant = (1, (2, 3))
    tree = {"a": [inner], "b": inner, "c": [constant, constant], "d": [[], []]}
    tree["e"] = tree["a"]
    assert lw.pformat(tree) == text("""
    {
      'a': #1 [#2 [1, 2]],
      'b': → #2,
      'c': [(1, (2, 3)), (1, (2, 3))],
      'd': [[], []],
      'e': → #1
    }
    """)


def test_cycles_end():
    """Through nodes of any sort, and objects."""
    tree = {"a": [1]}
    tree["a"].append(tree)
    assert lw.pformat(tree) == "#1 {'a': [1, → #1]}"
    model = nn.List([nn.Dict()])
    model[0].up = lw.data(Point(model, 1))
    assert repr(model) == "#1 List([Dict({'up': Point(x=→ #1, y=1)})])"
    assert lw.pformat(tree, depth=0) == "{... 1}"  # of leaves nobody can tell


# --------------------------------------------------------------------- what is left out


def test_max_leaves():
    """A level is shown as a whole if it can be; no list hides what is beside it."""
    assert (
        lw.pformat(list(range(1234)), max_leaves=5) == "[0, 1, 2, 3, 4, ... 1,229 more]"
    )
    tree = {"long": list(range(100)), "deep": [[[3], 4], 5]}
    assert lw.pformat(tree, max_leaves=8) == (
        "{'deep': [[... 2], 5], 'long': [0, 1, 2, 3, 4, 5, ... 94 more]}"
    )
    for most in (-1, 0, 1, 2):
        assert lw.pformat([1, 2, 3], max_leaves=most) == "[1, 2, ... 1 more]"
    assert lw.pformat([[1, [2]], 3, [4]], max_leaves=2) == ("[[... 2], 3, ... 1 more]")
    text = lw.pformat(list(range(3_000)), max_leaves=3_000)
    assert ast.literal_eval(text) == list(range(3_000))


def test_options_that_mean_nothing():
    """Are refused."""
    with pytest.raises(ValueError, match="arrays must be 'short' or 'values', not 'x'"):
        lw.pformat([], arrays="x")
    with pytest.raises(ValueError, match="arrays must be"):
        lw.pprint([], arrays=["short"])
    with pytest.raises(TypeError):
        lw.pformat([], 40)


# ------------------------------------------------------------------------------- arrays


def test_arrays_of_numpy():
    """By dtype and shape; with values if they are four at most, in a row."""
    np = pytest.importorskip("numpy")
    ones = np.ones((2, 3), np.float32)
    tree = {
        "again": ones,
        "few": np.array([1, 2]),
        "masked": np.ma.ones(9),
        "none": np.zeros(0, bool),
        "nothing": np.zeros((0, 3)),
        "objects": np.array(["a", None], object),
        "one": np.float64(1 / 3),
        "text": np.array("\x1b"),
        "whole": ones,
        "wild": np.array([np.nan, 1e-30, 123456789.0]),
    }
    assert lw.pformat(tree) == text(r"""
    {
      'again': #1 f32[2,3],
      'few': i64[2]([1, 2]),
      'masked': f64[9],
      'none': bool[0]([]),
      'nothing': f64[0,3]([]),
      'objects': object[2](['a', None]),
      'one': f64[](0.333333),
      'text': <U1[]('\x1b'),
      'whole': → #1,
      'wild': f64[3]([nan, 1e-30, 1.23457e+08])
    }
    """)
    assert lw.pformat({"x": ones, "y": [1]}, arrays="values") == text("""
    {
      'x': array([[1., 1., 1.],
                  [1., 1., 1.]], dtype=float32),
      'y': [1]
    }
    """)


def test_arrays_of_torch():
    """On any device, with a gradient or not."""
    torch = peer("torch")
    shared = torch.nn.Parameter(torch.ones(3, 4))
    tree = [shared, torch.tensor([1, 2]), torch.ones(2, device="meta"), shared]
    assert lw.pformat(tree) == "[#1 f32[3,4], i64[2]([1, 2]), f32[2], → #1]"


# ----------------------------------------------------------------------- hostile values


class Raising:
    def __repr__(self):
        raise ValueError("no")


class Endless:
    def __repr__(self):
        return "x" * 10_000_000


class Lines:
    def __repr__(self):
        return "Lines(\n    1\n)\r\x1b[31m\u202e"


class MuteSpec(PytreeSpec):
    def outline(self, obj):
        raise ValueError("no")


class Mute(lw.Pytree, spec=MuteSpec):
    pass


class Fails:
    """A node that cannot be flattened."""

    def __repr__(self):
        return "Fails"


lw.register_pytree_node(Fails, lambda node: 1 / 0, lambda _, children: Fails())


def test_values_that_misbehave():
    """Each has a line; none can make it fail, or act upon a terminal."""
    tree = [
        Raising(), Endless(), Lines(), Mute(), Fails(),
        "\x1b[31m\u202e</script>\n", "  two  spaces  ", "<f at 0x1f>", "x" * 10**7,
        b"\x00" * 1000, 10**5000, object(), test_cycles_end, {Raising(): Raising()},
        {"\u202e": 1}, {"k" * 10**6: 1},
    ]  # fmt: skip
    zeros = r"\x00" * 100
    expected = text(rf"""
    [
      <Raising that cannot be printed>,
      {"x" * 197}...,
      Lines( 1 )\r\x1b[31m\u202e,
      <Mute that cannot be printed>,
      Fails,
      '\x1b[31m\u202e</script>\n',
      '  two  spaces  ',
      '<f at 0x1f>',
      '{"x" * 100}...' (10,000,000 characters),
      b'{zeros}...' (1,000 bytes),
      {hex(10**5000)[:197]}...,
      <object object>,
      <function test_cycles_end>,
      {{<Raising that cannot be printed>: <Raising that cannot be printed>}},
      {{'\u202e': 1}},
      {{
        '{"k" * 100}...' (1,000,000 characters): 1
      }}
    ]
    """)
    assert lw.pformat(tree) == expected
    assert lw.pformat(tree, depth=0) == "[... 16]"


def test_an_interrupt_is_no_failure():
    """Who wants to stop is let."""

    class Stop:
        def __repr__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lw.pformat([Stop()])


# ------------------------------------------------------------------------------- pprint


class Terminal(io.StringIO):
    encoding = "ascii"


def test_pprint(capsys):
    """To the standard output or a file; what that cannot represent is escaped."""
    shared = [1]
    lw.pprint([shared, shared])
    assert capsys.readouterr().out == "[#1 [1], → #1]\n"
    out = Terminal()
    lw.pprint([shared, shared, "é"], file=out, width=16)
    assert out.getvalue() == "[\n  #1 [1],\n  \\u2192 #1,\n  '\\xe9'\n]\n"


# ----------------------------------------------------------------------- linear in size


class Counted:
    """A node that counts how often it is taken apart, and a leaf how often printed."""

    flattened = 0
    printed = 0

    def __init__(self, *children):
        self.children = children

    def __repr__(self):
        type(self).printed += 1
        return "counted"


class CountedLeaf(Counted):
    pass


def _flatten(node):
    Counted.flattened += 1
    return node.children, None


lw.register_pytree_node(Counted, _flatten, lambda _, children: Counted(*children))


def chain(size):
    """Return nodes inside one another, a leaf beside each."""
    tree = Counted(CountedLeaf())
    for _ in range(size):
        tree = Counted(tree, CountedLeaf())
    return tree


def wide(size):
    return Counted(*[Counted(CountedLeaf()) for _ in range(size)])


def ladder(size):
    """Return nodes of which each holds the one before twice."""
    tree = Counted(CountedLeaf())
    for _ in range(size):
        tree = Counted(tree, tree)
    return tree


@pytest.mark.parametrize("make", [chain, wide, ladder])
def test_work_grows_as_the_tree_does(make):
    """Each node is taken apart twice at most; only what is shown is printed."""
    for size in (50, 500, 5_000):
        tree = make(size)
        Counted.flattened = CountedLeaf.printed = 0
        text = lw.pformat(tree, max_leaves=100)
        assert Counted.flattened <= 2 * (size + 1)
        assert CountedLeaf.printed <= 101
        assert len(text) < 20_000
        while make is not wide and tree.children:  # or freeing it needs a deep stack
            tree.children, tree = (), tree.children[0]


# ----------------------------------------------------------------------------- any tree

scalars = st.one_of(st.integers(-1000, 1000), st.text(max_size=2))


def _nodes(inner):
    lists = st.lists(inner, max_size=6)
    return lists | lists.map(tuple) | st.dictionaries(scalars, inner, max_size=4)


plain = st.recursive(scalars, _nodes, max_leaves=40)
values = st.one_of(scalars, st.builds(Raising), st.builds(Lines))


@given(plain, st.integers(100, 150))
def test_plain_trees_are_read_back(tree, width):
    """If nothing is left out, the text is Python's; and it is as wide as it may be."""
    text = lw.pformat(tree, width=width)
    assert ast.literal_eval(text) == tree
    assert max(map(len, text.splitlines())) <= width
    if len(repr(tree)) <= width - 2:
        assert "\n" not in text


@given(
    every_tree(),
    st.integers(-1, 200),
    st.none() | st.integers(-1, 5),
    st.integers(0, 20),
    st.sampled_from(["short", "values"]),
)
def test_any_tree_has_a_text(tree, width, depth, most, arrays):
    """One that can be printed, whatever is in it, with as many values as were asked."""
    text = lw.pformat(tree, width=width, depth=depth, max_leaves=most, arrays=arrays)
    assert text.replace("\n", "").isprintable()
    treedef_text = lw.pformat(lw.tree_structure(tree), width=width, max_leaves=10**6)
    assert "..." not in treedef_text


@given(st.recursive(values, st.lists, max_leaves=20))
def test_any_value_has_a_text(tree):
    """Also the odd ones; the layout changes nothing but white space."""
    text = lw.pformat(tree, width=20)
    assert text.replace("\n", "").isprintable()
    one_line = lw.pformat(tree, width=10**6)
    assert "\n" not in one_line
    assert re.sub(r"\s", "", text) == re.sub(r"\s", "", one_line)


@given(plain, st.integers(0, 10))
def test_what_is_shown_and_what_is_left_out_make_up_the_tree(tree, most):
    """The leaves of an outline and those it leaves out are those of the tree."""
    root = outline(tree, context_of(), most=most)
    shown_leaves = left_out = 0
    stack = [(root, lw.KeyPath())]
    while stack:
        item, path = stack.pop()
        stack += [(inner, lw.KeyPath([*path, inner.key])) for inner in item.items]
        shown_leaves += item.role == "leaf"
        left_out += item.leaves
        if item.role in ("leaf", "node"):
            assert path(tree) is item.value
    assert shown_leaves + left_out == len(lw.tree_leaves(tree))
    assert shown_leaves <= max(most, 2)

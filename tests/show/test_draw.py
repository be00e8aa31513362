"""Trees drawn with box characters, whole."""

import dataclasses
import textwrap

import pytest

import leafwise as lw
from leafwise import nn
from leafwise.errors import PathError
from leafwise.show import draw
from leafwise.show.text import columns


def text(tree):
    """Return a drawing that is indented in the source."""
    return textwrap.dedent(tree).strip("\n")


@lw.dataclass(frozen=True)
class Layer:
    weight: object
    bias: object
    name: str = lw.static(default="layer")


@dataclasses.dataclass
class Plain:
    x: int


def test_keys_types_and_values():
    """Of attributes, string keys, indices; empty nodes and leaves as they are."""
    tree = {"layer": Layer([1.5, None], ()), "plain": Plain(3), 7: {}, "text": "a\nb"}
    assert draw(tree) == text("""
        dict
        ├── 7: {}
        ├── 'layer': Layer
        │   ├── weight: list
        │   │   ├── [0]: 1.5
        │   │   └── [1]: None
        │   ├── bias: ()
        │   └── name: 'layer'  # static
        ├── 'plain': Plain(x=3)
        └── 'text': 'a\\nb'
        """)
    assert draw(3) == "3"
    assert draw([]) == "[]"


def test_equal_neighbours_have_one_line():
    """Without loss, but for the elements of arrays and numbers in long lists."""
    blocks = [{"size": 4, "act": "relu"} for _ in range(3)]
    tree = {
        "blocks": blocks,
        "hosts": ["a", "b", "c"],
        "ones": [1] * 200,
        "other": [{"size": n} for n in range(3)],
        "steps": list(range(200)),
    }
    assert draw(tree) == text("""
        dict
        ├── 'blocks': list
        │   └── [0] … [2]: dict x 3
        │       ├── 'act': 'relu'
        │       └── 'size': 4
        ├── 'hosts': list
        │   ├── [0]: 'a'
        │   ├── [1]: 'b'
        │   └── [2]: 'c'
        ├── 'ones': list
        │   └── [0] … [199]: 200 ints  # each 1
        ├── 'other': list
        │   ├── [0]: dict
        │   │   └── 'size': 0
        │   ├── [1]: dict
        │   │   └── 'size': 1
        │   └── [2]: dict
        │       └── 'size': 2
        └── 'steps': list
            └── [0] … [199]: 200 ints
        """)
    assert draw([1, 1, 1], collapse=0).count("1\n") == 2
    assert draw([7] * 5000).splitlines()[1] == "└── [0] … [4999]: 5,000 ints  # each 7"
    assert "x 3" not in draw({"train": {"n": 1}, "test": {"n": 1}, "val": {"n": 1}})
    assert "x 3" in draw({f"block_{n}": {"n": 1} for n in range(3)})


def test_shared_objects_and_cycles():
    """Are drawn once."""
    loop = [1]
    loop.append(loop)
    assert draw({"a": loop, "b": loop}) == text("""
        dict
        ├── 'a': #1 list
        │   ├── [0]: 1
        │   └── [1]: → #1
        └── 'b': → #1
        """)


@pytest.mark.parametrize("how", ["selector", "selection"])
def test_what_a_selector_picks(how):
    """With what leads there; the rest is counted."""
    tree = {"enc": [{"w": 1, "bias": 2}, {"w": 3, "bias": 4}], "head": {"bias": 5}}
    if how == "selector":
        drawn = draw(tree, select="enc.*.bias")
    else:
        drawn = draw(lw.at(tree)["enc"], select="*.bias")
    assert drawn == text("""
        dict
        ├── 'enc': list
        │   ├── [0]: dict
        │   │   ├── 'bias': 2
        │   │   └── ... 1 more
        │   └── [1]: dict
        │       ├── 'bias': 4
        │       └── ... 1 more
        └── ... 1 more
        """)
    with pytest.raises(PathError, match="no match"):
        draw(tree, select="enc.*.wieght")


def test_differences():
    """As the tree of their paths, with signs."""
    old = {"lr": 0.1, "sizes": [64, 32], "tags": {"x": 1}, "same": 0}
    new = {"lr": 0.2, "sizes": [64], "tags": {"y": 1}, "same": 0}
    diff = lw.tree_diff(old, new)
    assert draw(diff) == text("""
        TreeDiff: 4 changes
        ├── ~ 'lr': 0.1 -> 0.2
        ├── 'sizes'
        │   └── - [1]: 32
        └── 'tags'
            ├── - 'x': 1
            └── + 'y': 1
        """)
    assert draw(diff, depth=1).splitlines()[2] == "├── 'sizes'"
    assert "... 2 changes more" in draw(diff, depth=1)
    assert draw(diff, max_leaves=1).splitlines()[-1] == "└── ... 3 changes more"
    assert draw(lw.tree_diff(1, 2)).splitlines()[-1] == "└── ~ 1 -> 2"
    assert draw(lw.tree_diff(1, 1)) == "TreeDiff: 0 changes"
    with pytest.raises(ValueError, match="select is not supported for a TreeDiff"):
        draw(diff, select="lr")


def test_treedefs_and_objects():
    """A treedef is drawn as what it makes; a variable with its value in one line."""
    assert draw(lw.tree_structure({"a": [1, (2,)], "b": None})) == text("""
        dict
        ├── 'a': list
        │   ├── [0]: *
        │   └── [1]: tuple
        │       └── [0]: *
        └── 'b': None
        """)

    class Dense(nn.Module):
        def __init__(self):
            self.w = nn.Param(0.5)
            self.tied = self.w

    lines = [line.split("  #")[0] for line in draw(Dense()).splitlines()]
    assert lines == ["Dense", "├── w: #1 Param(value=0.5)", "└── tied: → #1"]


def test_lines_are_cut_at_the_width():
    """By columns: wide letters take two, marks none; each line keeps some text."""
    tree = {"name": "x" * 100, "学習": "率" * 60, "deep": [[[[[[["value" * 9]]]]]]]}
    assert draw(tree, width=30) == text("""
        dict
        ├── 'deep': list
        │   └── [0]: list
        │       └── [0]: list
        │           └── [0]: list
        │               └── [0]: list
        │                   └── [0]: list
        │                       └── [0]: list
        │                           └── [0]: 'valuevalueval…
        ├── 'name': 'xxxxxxxxxxxxxxxx…
        └── '学習': '率率率率率率率率…
        """)
    assert {columns(line) for line in draw(tree, width=30).splitlines()[-2:]} <= {
        29,
        30,
    }


def test_colours_only_if_asked():
    """And the text is the same without them."""
    tree = {"a": [1], "b": 2}
    drawn = draw(tree, color="always")
    assert "\033[36m'a'\033[0m" in drawn
    assert "\033[2m├── \033[0m" in drawn
    assert draw(tree) == "dict\n├── 'a': list\n│   └── [0]: 1\n└── 'b': 2"
    signs = draw(lw.tree_diff(tree, {"a": [2], "b": 2}), color="always")
    assert "\033[33m1 -> 2\033[0m" in signs
    with pytest.raises(ValueError, match="color must be"):
        draw(tree, color="sometimes")

"""Random programs that run on a library and on its stand-in, and whether they differ.

A program is a function of a module, a source of choices and two trees. It runs twice,
with the same choices and the same objects; what it returns, or the type of what it
raises, is told and compared.
"""

import builtins
import itertools
import re
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, fields, is_dataclass
from random import Random
from typing import Any

from hypothesis import strategies as st

import leafwise as lw


Pair = namedtuple("Pair", "a b")
Other = namedtuple("Other", "a b")
WORDS = st.sampled_from(["a", "b", "c", "d", "x-y", "_z", "10"])
VALUES = st.sampled_from([0, 1, 2.5, "s", True, -1, 0.0, -0.0, 1j, b"x", "", len])
NODES = (list, tuple, Pair, Other, dict, OrderedDict, defaultdict, type(None))
SEEDS = st.integers(0, 2**32)


class Raised:
    """What is told of an exception; one equals another if who catches it catches both.

    The library's own stands on the left. Of ours the class counts, else the built-in.
    """

    def __init__(self, error):
        bases = type(error).__mro__
        built_in_bases = (base for base in bases if hasattr(builtins, base.__name__))
        ours = bases[0].__module__.startswith("leafwise")
        self.kind = bases[0] if ours else next(built_in_bases)

    def __eq__(self, other):
        return isinstance(other, Raised) and issubclass(other.kind, self.kind)

    __hash__ = None

    def __repr__(self):
        return f"Raised({self.kind.__name__})"


class Asked:
    """A function that notes what it is called with, as told."""

    def __init__(self, function):
        self.function = function
        self.calls = []

    def __call__(self, *args):
        self.calls.append(list(map(facts_of, args)))
        return self.function(*args)


def facts_of(value):
    """Return what to compare of a value: types, order, text; the same for all keys.

    Keys of paths and treedefs, whose classes differ, are told by their text.
    """
    kind = type(value)
    if kind in (dict, OrderedDict):
        return kind.__name__, [
            (facts_of(key), facts_of(item)) for key, item in value.items()
        ]
    if kind is defaultdict:
        return kind.__name__, value.default_factory, facts_of(dict(value))
    if isinstance(value, list | tuple | deque):
        return kind.__name__, getattr(value, "maxlen", None), list(map(facts_of, value))
    if kind is Raised:
        return value
    if isinstance(value, str | bytes | int | float | complex | type | None):
        return kind.__name__, repr(value)
    if is_dataclass(value):
        return kind.__name__, [facts_of(getattr(value, f.name)) for f in fields(value)]
    if getattr(value, "__dict__", {}) and kind.__module__.startswith("compat"):
        return kind.__name__, facts_of(vars(value))
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def outcome_of(program, module, seed, *trees):
    """Return what is told of one run of a program."""
    try:
        return facts_of(program(module, Random(seed), *trees))
    except Exception as error:
        return Raised(error)


@st.composite
def pairs(draw, classes=(), *, nodes=NODES):
    """Draw two trees: one and the same, nearly equal, one deeper, or unlike."""
    sorts = [*nodes, *map(nodes_of, classes)]
    trees = lw.testing.trees(VALUES, nodes=sorts, keys=WORDS, max_leaves=8)
    first = draw(trees)
    what = draw(st.integers(0, 3))
    if what == 0:
        return first, first
    if what == 1:
        return first, changed(draw, first, VALUES | trees)
    if what == 2:
        return first, lw.tree_map(lambda _: draw(trees), first, none_is_leaf=True)
    return first, draw(trees)


def changed(draw, tree, parts):
    """Draw a tree of built-in containers that differs from another one in one place."""
    kind = type(tree)
    is_dict = kind in (dict, OrderedDict, defaultdict)
    if not tree or not (is_dict or kind in (list, tuple, deque)):
        return draw(parts)
    items = list(tree.items()) if is_dict else list(tree)
    place = draw(st.integers(0, len(items) - 1))
    what = draw(st.sampled_from(["deeper", "deeper", "less", "more", "key", "kind"]))
    if what == "less":
        del items[place]
    elif what == "more":
        items.append((draw(WORDS), draw(parts)) if is_dict else draw(parts))
    elif not is_dict:
        items[place] = changed(draw, items[place], parts)
    else:
        key, value = items[place]
        deeper = what == "deeper"
        value = changed(draw, value, parts) if deeper else value
        items[place] = (draw(WORDS) if what == "key" else key, value)
    if what == "kind":
        kind = OrderedDict if is_dict else draw(st.sampled_from([list, tuple]))
    return (
        defaultdict(tree.default_factory, items) if kind is defaultdict else kind(items)
    )


def nodes_of(cls):
    """Return what draws objects of a class of `make_classes`."""
    aux = st.sampled_from("tu")
    if is_dataclass(cls):
        return lambda children: st.builds(cls, children, children, aux)
    return lambda children: st.builds(cls, st.lists(children, max_size=3), aux)


def make_classes():
    """Return a class with children and aux data, and a dataclass; registered nowhere.

    Each test makes its own, since ours are all registered in one place.
    """

    class Box:
        def __init__(self, kids, aux):
            self.kids = list(kids)
            self.aux = aux

    @dataclass
    class Record:
        x: Any
        y: Any
        tag: Any = None

    return Box, Record


def likenesses_of_named_tuples():
    """Yield subclasses of tuple that have a part of what named tuples have."""
    members = {"_fields": ("x", "y"), "_make": classmethod(list), "_asdict": dict}
    for count in range(len(members) + 1):
        for names in itertools.combinations(members, count):
            yield type("Like", (tuple,), {name: members[name] for name in names})

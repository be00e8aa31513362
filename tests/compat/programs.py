"""Random programs that run on a library and on its stand-in, and what differs.

A program is a function of a module, a source of choices and two trees. It runs twice,
with the same choices and the same objects; what it returns, or the type of what it
raises, is told and compared.
"""

import builtins
import re
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass, fields, is_dataclass
from random import Random
from typing import Any

import leafwise as lw
from fuzz.peers import DEFAULTDICT, DEQUE, MAPPINGS, SEQUENCES, value
from fuzz.trees import WORDS, Sort, Trees


@dataclass(frozen=True)
class Raised:
    """What is told of an exception; one equals another if who catches it catches both.

    The library's own stands on the left.
    """

    kind: type

    @classmethod
    def of(cls, error):
        """Return what is told of an exception: of ours the class, else the built-in."""
        kind = type(error)
        if kind.__module__.startswith("leafwise"):
            return cls(kind)
        return cls(
            next(base for base in kind.__mro__ if hasattr(builtins, base.__name__))
        )

    def __eq__(self, other):
        if not isinstance(other, Raised):
            return NotImplemented
        return issubclass(other.kind, self.kind)

    __hash__ = None


class Asked:
    """A function that notes what it is called with, as told."""

    def __init__(self, function):
        self.function = function
        self.calls = []

    def __call__(self, *args):
        self.calls.append([*map(told, args)])
        return self.function(*args)


def told(value):
    """Return what to compare of a value: types, order, text; the same for all keys.

    Keys of paths and treedefs, whose classes differ, are told by their text.
    """
    kind = type(value)
    if kind in (dict, OrderedDict):
        return kind.__name__, [(told(key), told(item)) for key, item in value.items()]
    if kind is defaultdict:
        return kind.__name__, value.default_factory, told(dict(value))
    if isinstance(value, list | tuple | deque):
        return kind.__name__, getattr(value, "maxlen", None), [*map(told, value)]
    if kind is Raised:
        return value
    if isinstance(value, str | bytes | int | float | complex | type | None):
        return kind.__name__, repr(value)
    if is_dataclass(value):
        return kind.__name__, [told(getattr(value, f.name)) for f in fields(value)]
    if vars_of(value) and kind.__module__.startswith("compat"):
        return kind.__name__, told(vars(value))
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def vars_of(value):
    """Return the attributes of an instance, empty if it has no dict."""
    return getattr(value, "__dict__", {})


def ran(program, module, source, *trees):
    """Return what is told of one run of a program."""
    try:
        return told(program(module, source, *trees))
    except Exception as error:
        return Raised.of(error)


def differences(programs, theirs, ours, trees_of, calls, *, seed=0, but=None):
    """Run random programs on both modules, and return what differs, as text.

    Args:
        programs: The functions to choose from.
        theirs: A module of a library, or a table of several.
        ours: What stands in for it.
        trees_of: Makes `Trees` from a source.
        calls: How many programs to run.
        seed: Names the run.
        but: Whether a difference is one that is meant: takes the program, its name,
            the two trees, what the library gave, and what we gave.
    """
    found = []
    for number in range(calls):
        name = f"{seed}-{number}"
        source = Random(name)
        program = programs[number % len(programs)]
        pair = pair_of(source, trees_of(source))
        expected = ran(program, theirs, Random(name), *pair)
        got = ran(program, ours, Random(name), *pair)
        if expected != got and not (
            but is not None and but(program, name, pair, expected, got)
        ):
            found.append(_text(program, name, pair, expected, got))
            if len(found) == 5:
                break
    return found


def _text(program, name, pair, expected, got):
    one, other = str(expected), str(got)
    letters = enumerate(zip(one, other, strict=False))
    same = next((place for place, (a, b) in letters if a != b), 0)
    near = slice(max(same - 200, 0), same + 400)
    return (
        f"{program.__name__} of round {name!r} on {str(pair)[:600]}\n"
        f"  theirs: {one[near]}\n  ours:   {other[near]}"
    )


def pair_of(source, trees):
    """Return two trees: one and the same, nearly equal, one deeper, or unlike."""
    first = trees.tree(source.choice((0, 1, 2, 3)))
    what = source.randrange(4)
    if what == 0:
        return first, first
    if what == 1:
        return first, trees.changed(first)
    if what == 2:
        spread = lw.tree_map(lambda _: trees.tree(1), first, none_is_leaf=True)
        return first, spread
    return first, trees.tree(2)


def trees_of(classes=(), *, deque=False, none=True, leaf=value, keys=WORDS):
    """Return what makes trees of built-in containers and of some classes."""
    sorts = {**SEQUENCES, **MAPPINGS, **DEFAULTDICT, **(DEQUE if deque else {})}
    for cls in classes:
        sorts[cls] = sort_of(cls)
    return lambda source: Trees(source, sorts, leaf, keys=keys, none=none)


def sort_of(cls):
    """Return how a class of `make_classes` is made, and taken apart."""
    if is_dataclass(cls):
        return Sort(
            lambda source, kids: cls(kids[0], kids[1], source.choice("tu")),
            lambda node: [node.x, node.y],
            lambda node, kids: cls(kids[0], kids[1], node.tag),
            free=False,
        )
    return Sort(
        lambda source, kids: cls(kids, source.choice("tu")),
        lambda node: [*node.kids],
        lambda node, kids: cls(kids, node.aux),
    )


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

"""Paths of single keys are followed without a search; the answers are the same."""

import collections
from typing import NamedTuple

import pytest

import leafwise as lw
from leafwise.core.context import context_of
from leafwise.selection.patterns import Automaton, parse
from leafwise.selection.select import _Search


class Point(NamedTuple):
    x: int
    y: int


@lw.dataclass
class Layer:
    w: int
    sub: dict
    name: str = lw.static(default="n")


TREE = {
    "a": [1, (2, 3), collections.deque([4, 5])],
    "1": "text",
    1: "number",
    "p": Point(6, 7),
    "l": Layer(8, {"w": 9, "0": 10}),
    "o": collections.OrderedDict(z=11),
}
PATHS = (
    "",
    "a",
    "a[0]",
    "a.0",
    "a[-1]",
    "a[-1][0]",
    "a.1.1",
    "a[1].01",
    "a[9]",
    "a.9",
    "a.b",
    "1",
    "[1]",
    "['1']",
    "p",
    "p.x",
    "p[0]",
    "p.z",
    "@p",
    "l.w",
    "l.@w",
    "l['w']",
    "l.name",
    "l.sub.w",
    "l.sub.0",
    "l.sub[0]",
    "l.other",
    "l.w.x",
    "o.z",
    "o[0]",
    "x.y",
)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_leads_where_a_search_leads(path):
    context = context_of()
    places = _Search(Automaton(parse(path)), context).places(TREE)
    selection = lw.at(TREE, missing_ok=True)[path]
    assert selection.items() == [(place.path, place.value) for place in places]
    if places:
        assert lw.at(selection.set("new"))[path].get() == "new"

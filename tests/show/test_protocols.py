"""What IPython and rich make of our objects."""

import copy
import io
import pickle
import subprocess
import sys

import pytest

import leafwise as lw
from helpers.peers import peer
from leafwise import nn


class Layer(lw.Pytree):
    def __init__(self, size=2):
        self.weight = nn.Param(1.5)
        self.size = size


SHARED = nn.List([nn.Param(1.0)])
OBJECTS = {
    "treedef": (lw.tree_structure({"a": [1, 2]}), "'a': ["),
    "pytree": (Layer(), "Layer("),
    "state": (nn.state(Layer()), "State({"),
    "graphdef": (nn.graphdef(Layer()), "GraphDef("),
    "variable": (nn.Param(2.5), "Param("),
    "list": (SHARED, "List(["),
    "diff": (lw.tree_diff({"a": 1}, {"a": 2}), "~ a: 1"),
    "selection": (lw.at({"a": 1})["a"], "<selection [a] in dict>"),
}


@pytest.fixture(params=OBJECTS)
def example(request):
    """Return an object of ours, and a part of its text."""
    return OBJECTS[request.param]


# ---------------------------------------------------------------------- notebooks


@pytest.fixture(scope="module")
def format_object():
    """Return what IPython sends to a notebook for an object, by types."""
    formatters = peer("IPython.core.formatters")
    return lambda value: formatters.DisplayFormatter().format(value)[0]


def test_ipython_has_text_and_html(format_object, example):
    value, _ = example
    formatted = format_object(value)
    assert formatted["text/html"] == value._repr_html_()
    assert formatted["text/plain"] == repr(value)


def test_classes_have_no_html_of_their_own(format_object):
    assert "text/html" not in format_object(Layer)


def test_a_class_may_say_itself_how_it_looks(format_object):
    class Own(Layer):
        def _repr_html_(self):
            return "<b>own</b>"

    class Plain(Layer):
        _repr_html_ = None

    assert format_object(Own())["text/html"] == "<b>own</b>"
    assert "text/html" not in format_object(Plain())


def test_what_is_registered_for_a_class_counts_more():
    formatters = peer("IPython.core.formatters").DisplayFormatter()
    formatters.formatters["text/html"].for_type(Layer, lambda value: "<i>it</i>")
    assert formatters.format(Layer())[0]["text/html"] == "<i>it</i>"


@pytest.mark.needs("processes")
def test_nothing_is_loaded_before_it_is_asked_for():
    """Neither what draws pages, with the library, nor what others own, with a page."""
    code = (
        "import sys, leafwise as lw; from leafwise import nn; "
        "known = {'leafwise.show.html', 'rich', 'IPython', 'numpy'}; "
        "assert not known & {*sys.modules}; "
        "lw.tree_structure([1])._repr_html_(); "
        "assert known & {*sys.modules} == {'leafwise.show.html'}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --------------------------------------------------------------------------- rich


@pytest.fixture(scope="module")
def rich_text():
    """Return what rich prints of an object on a terminal of some width."""
    console = peer("rich.console").Console

    def rich_text(value, width=60, **options):
        out = console(width=width, record=True, file=io.StringIO(), **options)
        out.print(value)
        return out.export_text(styles=options.get("force_terminal", False))

    return rich_text


def test_rich_prints_text_as_wide_as_it_may_be(rich_text, example):
    value, part = example
    assert part in rich_text(value)
    tree = nn.Param({f"key{i}": i for i in range(9)})
    for width in (30, 60, 300):
        lines = rich_text(tree, width).splitlines()
        assert max(map(len, lines)) <= width
        assert (len(lines) > 1) == (width < 300)


def test_rich_prints_differences_in_colour(rich_text):
    diff = lw.tree_diff({"a": 1, "b": 2}, {"a": 2, "c": "\x1b[31m"})
    text = rich_text(diff, force_terminal=True)
    assert "\x1b[32m+" in text
    assert "\x1b[31m-" in text
    assert "'\\x1b[31m'" in text
    assert rich_text(diff).splitlines() == str(diff).splitlines()
    assert "no differences" in rich_text(lw.tree_diff(1, 1))


@pytest.mark.parametrize("value", ["\x1b[31m", "</script>", "\u202e"])
def test_hostile_texts_stay_texts(rich_text, value):
    treedef = lw.tree_structure({value: 1})
    for tree in (treedef, nn.Dict({"a": value}), lw.tree_diff({value: 1}, {})):
        text = rich_text(tree)
        assert "\x1b" not in text
        assert "\u202e" not in text


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lw.show.to_svg, "image/svg+xml"),
        (lw.show.to_html, "text/html"),
        (lw.show.to_mermaid, "text/vnd.mermaid"),
        (lw.draw, "text/plain"),
    ],
)
def test_what_is_drawn_is_shown_by_notebooks(make, kind):
    """The last expression of a cell; a copy of the string is a picture, too."""
    picture = make({"a": [1, 2]})
    text = str(picture)
    assert isinstance(picture, str)
    assert type(text) is str
    for one in (picture, copy.deepcopy(picture), pickle.loads(pickle.dumps(picture))):
        bundle = one._repr_mimebundle_()
        assert bundle["text/plain"] == bundle[kind] == text == one
        assert one._repr_svg_() == (text if make is lw.show.to_svg else None)
        assert one._repr_html_() == (text if make is lw.show.to_html else None)


def test_ipython_takes_the_picture(format_object):
    """And not the string in quotes."""
    assert format_object(lw.draw({"a": 1}))["text/plain"] == "dict\n└── 'a': 1"
    assert format_object(lw.show.to_svg([1]))["image/svg+xml"].startswith("<svg")
    fenced = format_object(lw.show.to_mermaid([1]))["text/markdown"]
    assert fenced.startswith("```mermaid\nflowchart")

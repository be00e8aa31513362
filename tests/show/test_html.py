"""Trees, differences and selections as HTML, read with a parser of browsers."""

import re
import sys
from collections import namedtuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from helpers import hostile_text, random_trees
from helpers.peers import peer
from leafwise._text import escape_controls
from leafwise.show import to_html
from leafwise.show.sketch import leaf_text


ELEMENTS = {
    "div",
    "style",
    "ul",
    "li",
    "details",
    "summary",
    "span",
    "code",
    "pre",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
}
ATTRIBUTES = {"class", "open", "title", "dir", "colspan", "scope"}


@pytest.fixture(scope="module")
def read():
    """Return what reads HTML, and refuses all that is not well-formed."""
    html5lib = peer("html5lib")

    def read(text, document=False):
        parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
        return (parser.parse if document else parser.parseFragment)(text)

    return read


def checked(root):
    """Return the text of what was parsed, once its elements are known to be ours."""
    words = []
    for element in root.iter():
        if element is root:
            continue
        assert element.tag in ELEMENTS
        assert set(element.attrib) <= ATTRIBUTES
        assert re.fullmatch(r"(leafwise|lw-[a-z]+| )*", element.get("class", ""))
        if element.tag == "style":
            assert not re.search(r"url|@import|http|<", element.text)
        else:
            words.append(element.text or "")
        words.append(element.tail or "")
    return "".join(words)


def paths_in(root):
    """Return the key paths that can be copied."""
    codes = root.iter("code")
    return [code.text for code in codes if code.get("class") == "lw-path"]


def test_a_tree_is_nested_lists_that_fold(read):
    tree = {"lr": 0.1, "layers": [{"w": (1, 2)}, {"w": None}], "name": "mlp"}
    root = read(to_html(tree))
    checked(root)
    assert [code.text for code in root.iter("code")] == [
        "['layers']",
        "['layers'][0]",
        "['layers'][0]['w']",
        "['layers'][0]['w'][0]",
        "['layers'][0]['w'][1]",
        "['layers'][1]",
        "['layers'][1]['w']",
        "['lr']",
        "['name']",
    ]
    lines = ["".join(part.itertext()) for part in root.iter("summary")]
    assert lines == [
        "{…} 3 items",
        "'layers': […] 2 items",
        "[0] {…} 1 item",
        "'w': (…) 2 items",
        "[1] {…} 1 item",
    ]
    assert all("open" in part.attrib for part in root.iter("details"))
    for path in paths_in(root):
        lw.KeyPath.parse(path)(tree)


def test_an_object_that_occurs_again_is_drawn_once(read):
    shared = {"a": 1, "b": 2}
    text = checked(read(to_html([shared, shared])))
    assert text.count("#1") == 2
    assert "[1] → #1" in text


def test_large_trees_are_folded_and_say_what_is_left_out(read):
    root = read(to_html({f"k{i}": list(range(i, i + 9)) for i in range(30)}))
    opened = ["open" in part.attrib for part in root.iter("details")]
    assert opened == [True] + [False] * 30
    text = checked(read(to_html(list(range(5000)), max_leaves=100)))
    assert "... 4,900 more" in text
    assert "[... 3]" in checked(read(to_html({"a": [1, 2, 3]}, depth=1)))


def test_equal_neighbours_have_a_line_that_unfolds(read):
    root = read(to_html({"same": [5] * 200, "steps": list(range(12))}))
    text = checked(root)
    assert "[0] … [199] 200 ints · each 5" in text
    assert "[0] … [11] 12 ints" in text
    assert {"['same'][199]", "['steps'][11]"} <= set(paths_in(root))


def test_a_document_is_whole_and_forbids_all_requests(read):
    page = to_html({"a": "<b>"}, document=True)
    root = read(page, document=True)
    meta = [part.attrib for part in root.iter("meta")]
    assert meta[0] == {"charset": "utf-8"}
    assert meta[2]["content"] == "default-src 'none'; style-src 'unsafe-inline'"
    assert root.find("head/title").text == "dict"
    assert not list(root.iter("script"))


# ----------------------------------------------------------------- hostile values


@given(
    tree=st.recursive(
        hostile_text.leaves | random_trees.leaves, hostile_text.nodes, max_leaves=15
    )
)
def test_nothing_in_a_tree_becomes_an_element(read, tree):
    text = checked(read(to_html(tree)))
    for leaf in lw.tree_leaves(tree):
        if type(leaf) in (str, int, hostile_text.Broken, hostile_text.Loud):
            assert leaf_text(leaf)[:290] in text
    checked(read(to_html(lw.tree_structure(tree))))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e]", text)


@given(tree=random_trees.every_tree())
def test_every_tree_has_all_its_leaves(read, tree):
    nones = lw.namespace("nones", none_is_leaf=True)
    root = read(nones.to_html(tree))
    text = checked(root)
    for leaf in nones.tree_leaves(tree):
        assert leaf_text(leaf) in text
    paths = nones.tree_paths(tree)
    copied = {*paths_in(root), ""}
    for path in paths:  # or that of its variable, which has it in its own line
        assert copied & {escape_controls(str(path)), escape_controls(str(path[:-1]))}


@given(
    a=st.recursive(hostile_text.leaves, hostile_text.nodes, max_leaves=6),
    b=st.recursive(hostile_text.leaves, hostile_text.nodes, max_leaves=6),
)
def test_nothing_in_a_diff_becomes_an_element(read, a, b):
    diff = lw.tree_diff({"a": a, "x": 1}, {"a": b, "y": "</td>"})
    text = checked(read(to_html(diff)))
    assert "'</td>'" in text


def test_cycles_and_depth(read):
    cycle = [1]
    cycle.append(cycle)
    assert "→ #1" in checked(read(to_html(cycle)))
    deep = 1
    for _ in range(5000):
        deep = {"key": deep}
    assert "'key': {... 1}" in checked(read(to_html(deep)))


def wide(n, text):
    return [{f"{text}{i}": text} for i in range(n)]


def chain(n, key):
    tree = 1
    for _ in range(n):
        tree = {key: tree, "x": [key] * 3}
    return tree


@pytest.mark.parametrize(
    "make",
    [
        lambda: wide(3000, "\u202e" * 150),
        lambda: wide(3000, "&" * 1000),
        lambda: wide(2000, "\U0001f600" * 300),
        lambda: chain(300, "é" * 1000),
        lambda: chain(300, "\u202e" * 9),
        lambda: ["x" * 10_000_000] * 3,
        lambda: {"k" * 10_000_000: b"b" * 10_000_000},
        lambda: type("C" * 3_000_000, (), {})(),
        lambda: [namedtuple("N" * 100_000, "a b")(1, 2) for _ in range(500)],
    ],
    ids=range(9),
)
def test_pages_are_of_moderate_size(read, make):
    tree = make()
    page = to_html(tree)
    assert len(page.encode()) < 8_000_000
    checked(read(page))
    assert len(to_html(lw.tree_diff(tree, [0]))) < 8_000_000


def test_values_of_arrays(read):
    np = pytest.importorskip("numpy")
    root = read(to_html({"w": np.eye(3)}, arrays="values"))
    (block,) = root.iter("pre")
    assert block.text == repr(np.eye(3))
    with np.printoptions(threshold=sys.maxsize):
        page = to_html([np.zeros((300, 300))] * 1, arrays="values")
    assert len(page) < 30_000


# ------------------------------------------------- treedefs, differences, selections


def test_what_is_no_tree_has_all_its_lines(read):
    class Poem:
        def __repr__(self):
            return "roses\n  </pre>\n\x1b[31m"

    (block,) = read(to_html(Poem())).iter("pre")
    assert block.text == "roses\n  </pre>\n\\x1b[31m"
    assert "roses </pre>" in checked(read(to_html([Poem()])))
    assert not list(read(to_html("a\nb")).iter("pre"))


def cells(root):
    return [
        [cell.text or "" for cell in row.iter("td")]
        for row in root.iter("tr")
        if row.find("td") is not None
    ]


def test_a_diff_has_old_and_new_side_by_side(read):
    np = pytest.importorskip("numpy")
    old = np.zeros((64, 64), "f4")
    new = np.zeros((64, 64), "f4")
    new[3, 5] = 0.5
    diff = lw.tree_diff(
        {"w": old, "s": {1, 2}, "gone": 1, "t": "x" * 80 + "a", "n": "1"},
        {"w": new, "s": {2, 3}, "new": 2, "t": "x" * 80 + "b", "n": 1},
    )
    root = read(to_html(diff))
    text = checked(root)
    assert text.startswith("6 changes")
    assert "1 of 4096 elements differs: largest error 0.5, relative 1" in text
    assert "differ from character 81 on" in text
    assert cells(root) == [
        ["", "f32[64,64]", "f32[64,64]"],
        ["[3, 5]", "0.0", "0.5"],
        ["", "{1, 2}", "{2, 3}"],
        ["", "1", ""],
        ["", "81 characters", "81 characters"],
        ["", f"...'{'x' * 20}a'", f"...'{'x' * 20}b'"],
        ["", "'1' (str)", "1 (int)"],
        ["", "", "2"],
    ]
    assert "and 4 more" in checked(read(to_html(diff, max_leaves=2)))
    assert "no differences" in checked(read(to_html(lw.tree_diff(1, 1))))


def test_a_selection_shows_its_places(read):
    tree = {"a": {"w": 1, "b": 2}, "c": [{"w": 3, "d": 4}], "e": 5}
    text = checked(read(to_html(lw.at(tree)["**.w"])))
    assert text.startswith("<selection [**.w] in dict>: 2 places")
    assert "'w': 1" in text
    assert "'w': 3" in text
    assert "'b'" not in text
    assert "'e'" not in text
    assert "no match for 'zzz'" in checked(read(to_html(lw.at(tree)["zzz"])))
    none = lw.at(tree, missing_ok=True)["zzz"]
    assert "0 places" in checked(read(to_html(none)))

"""Trees as Mermaid and as SVG, read again by parsers of others."""

import re
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import leafwise as lw
from helpers import random_trees
from leafwise._text import escape_controls
from leafwise.core.context import context_of
from leafwise.show import draw, to_mermaid, to_svg
from leafwise.show.diagram import boxes_of, scene
from leafwise.show.fold import path_text


# ----------------------------------------------------------------- hostile trees

PIECES = [
    '"',
    "\\",
    "'",
    "`",
    "\\n",
    "\\N",
    "<b>",
    "</script>",
    "]]>",
    "-->",
    "--",
    "<!--",
    "&quot;",
    "&#34;",
    "#quot;",
    "#35;",
    "&amp;",
    "&",
    "%%",
    "%%{init}%%",
    ";",
    ":::x",
    "\n",
    "\r",
    "\t",
    "\x00",
    "\x1b[31m",
    "\x7f",
    "\u202e",
    "\u2028",
    "\ud800",
    "\ufffe",
    "[",
    "](x)",
    "{",
    "}",
    "(",
    "|",
    "*",
    "__",
    "1. ",
    "- ",
    "+ ",
    "> ",
    "---",
    "$$",
    "end",
    "graph",
    "http://example.org",
    "www.",
    "学習",
    "e\u0301",
    "\u05d0",
    "😀",
    "@{",
]
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=4).map("".join)


class Said:
    """An object whose repr is any text."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        if not self.text:
            raise ValueError("nothing to say")
        return self.text


class Key:
    """A key of which nothing can be printed."""

    def __repr__(self):
        raise ValueError("no")


def knot(tree):
    """Return a tree that has another one in two places, and contains itself."""
    loop = [tree, {"again": tree}]
    loop.append(loop)
    return loop


Odd = lw.dataclass(type('"]]></b><b \\', (), {"__annotations__": {"x": "object"}}))


def _inner(children):
    return st.one_of(
        st.dictionaries(texts | st.builds(Key), children, max_size=4),
        st.lists(children, max_size=4),
        st.builds(random_trees.Layer, children, children, texts),
        st.builds(Odd, children),
        st.builds(knot, children),
    )


leaves = texts | st.builds(Said, texts) | st.integers()
trees = random_trees.every_tree() | st.recursive(leaves, _inner, max_leaves=12)


# ------------------------------------------------------------------------ Mermaid

TEXT = r"""(?:[^"&<>`;%\\#]|\#\d+;)*"""
LINE = re.compile(
    rf"""    n\d+(\["{TEXT}"\]|\(\["{TEXT}"\]\))(:::[a-z]+)?"""
    rf"""|    n\d+ (-->|-\.->)(\|"{TEXT}"\|)? n\d+"""
    r"""|    classDef [a-z]+ stroke[a-z-]*: [#0-9a-f ]+"""
)


@given(tree=trees)
def test_mermaid_has_no_text_but_between_quotes(tree):
    first, *lines = to_mermaid(tree).split("\n")
    assert first == "flowchart LR"
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    assert all(line.isprintable() for line in lines)


# --------------------------------------------------------------------------- SVG

SVG = "{http://www.w3.org/2000/svg}"
PARTS = {
    "svg": {"class", "width", "height", "viewBox", "style"},
    "style": set(),
    "g": {"id", "class"},
    "title": set(),
    "rect": {"x", "y", "width", "height", "rx"},
    "text": {"x", "y"},
    "tspan": {"class"},
    "path": {"class", "d"},
    "circle": {"class", "cx", "cy", "r"},
}


def read_svg(text):
    """Return the root of a picture, once it is known to have nothing but our parts."""
    root = ElementTree.fromstring(text)
    for element in root.iter():
        name = element.tag.removeprefix(SVG)
        assert set(element.attrib) <= PARTS[name]
    style = root.find(f"{SVG}style").text
    assert not re.search(r"url|@import|http|<", style)
    return root


def box_texts(root):
    """Return what the boxes say, and their tooltips."""
    return [
        ("".join(group.find(f"{SVG}text").itertext()), group.find(f"{SVG}title").text)
        for group in root.iter(f"{SVG}g")
    ]


def places(root):
    """Return where the boxes stand: left, top, right, bottom."""
    for group in root.iter(f"{SVG}g"):
        rect = group.findall(f"{SVG}rect")[-1]
        x, y, width, height = (
            float(rect.get(name)) for name in ("x", "y", "width", "height")
        )
        yield x, y, x + width, y + height


@given(tree=trees, collapse=st.sampled_from([0, 2]))
def test_pictures_are_xml_of_known_parts(tree, collapse):
    text = to_svg(tree, collapse=collapse)
    root = read_svg(text)
    boxes = boxes_of(scene(tree, context_of(None), collapse=collapse))
    texts = box_texts(root)
    assert len(texts) == len(boxes)
    for box, (_, title) in zip(boxes, texts, strict=True):
        where = path_text(box).replace("\xa0", " ")
        assert title.replace("\xa0", " ").startswith(where)
    assert re.sub("[\n\xa0]", "", text).isprintable()


@given(tree=trees)
def test_boxes_stand_beside_each_other(tree):
    """None over another one, all in the picture, each right of the one it is in."""
    root = read_svg(to_svg(tree))
    positions = list(places(root))
    for number, (left, top, right, bottom) in enumerate(positions):
        for x, y, end, floor in positions[:number]:
            assert end <= left or right <= x or floor <= top or bottom <= y
        assert left >= 0 <= top
        assert right <= float(root.get("width"))
        assert bottom <= float(root.get("height"))
    boxes = boxes_of(scene(tree, context_of(None)))
    for box in boxes:
        for inner in box.children:
            assert positions[boxes.index(box)][2] < positions[boxes.index(inner)][0]


@given(tree=random_trees.every_tree())
@example(tree=random_trees.Box(0))
def test_all_leaves_are_drawn(tree):
    """With their paths, if they are few; one may be in the box of its node."""
    texts = box_texts(read_svg(to_svg(tree, collapse=0)))
    places = {title.split("\n")[0].replace("\xa0", " ") for _, title in texts}
    for path in lw.tree_paths(tree):
        wheres = [path.where(), lw.KeyPath(path[:-1]).where()]
        assert {
            escape_controls(where).replace("\xa0", " ") for where in wheres
        } & places


# -------------------------------------------------------------------- all of them


def test_equal_siblings_are_one_box():
    """If at least three of them stand side by side; keys say which they are."""

    def block():
        return {"w": 1.5, "sizes": [2, 3]}

    tree = {"blocks": [block() for _ in range(12)], "last": block()}
    text = to_mermaid(tree)
    assert '["dict x 12"]' in text
    assert '-->|"[0] … [11]"|' in text
    assert to_mermaid(tree, collapse=0).count('["dict"]') == 14
    assert to_mermaid(tree, collapse=13) == to_mermaid(tree, collapse=0)
    assert "and 11 of equal structure" in to_svg(tree).replace("\xa0", " ")


def test_equal_leaves_are_one_box():
    text = to_mermaid([5] * 200)
    assert '(["200 ints"])' in text
    assert '-->|"[0] … [199]"|' in text
    assert len(text.splitlines()) == 4
    read = read_svg(to_svg({"a": [5] * 200}))
    assert box_texts(read)[-1] == (
        "[0]\xa0…\xa0[199]:\xa0200\xa0ints",
        "['a'][0]\xa0…\xa0[199]\n200\xa0ints\neach\xa05",
    )
    assert to_mermaid([1, 2, 3]).count("-->") == 3


def test_what_is_not_equal_is_drawn_apart():
    """Another static value, another shape, an object that is shared."""
    np = pytest.importorskip("numpy")
    layers = [random_trees.Layer(1.5, 2.5, f"layer {n % 2}") for n in range(6)]
    assert " x " not in to_mermaid(layers)
    arrays = [np.zeros((8, 8))] + [np.zeros((8, 9)) for _ in range(4)]
    assert to_mermaid(arrays).count("f64[8,9] x 4") == 1
    one = {"w": 1}
    assert to_mermaid([one, one, one, one]).count('["dict"]') == 1
    assert '-.->|"[1] … [3]"|' in to_mermaid([one, one, one, one])


def test_what_is_left_out_is_counted():
    text = to_mermaid({f"k{n}": n for n in range(1000)}, max_leaves=10)
    assert text.count("-->") == 11
    assert '(["... 990 more"]):::more' in text
    assert "... 1,000" in to_mermaid({f"k{n}": n for n in range(1000)}, depth=0)


def test_differences_have_their_colours():
    diff = lw.tree_diff(
        {"a": 1, "b": [1], "c": [2]}, {"a": 2, "b": [], "d": 3, "c": (2,)}
    )
    text = to_mermaid(diff)
    assert re.findall(r":::(\w+)", text) == ["changed", "removed", "retyped", "added"]
    assert text.count("classDef") == 4
    read = read_svg(to_svg(diff))
    sorts = {group.get("class") for group in read.iter(f"{SVG}g")}
    assert {"added", "removed", "retyped", "changed"} <= sorts


@pytest.mark.slow
@pytest.mark.needs("stack")
@pytest.mark.parametrize("write", [draw, to_mermaid, to_svg])
def test_large_and_deep_trees(write):
    """What is written stays small, whatever there is."""
    deep = 1
    laughs = 1
    for _ in range(20_000):
        deep = [deep]
    for _ in range(90):
        laughs = [laughs] * 50
    for tree in (
        {"k" * 1_000_000: ["x" * 10_000_000, b"y" * 10_000_000]},
        [[n] for n in range(100_000)],
        deep,
        laughs,
    ):
        assert len(write(tree)) < 200_000

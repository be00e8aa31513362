"""Edits in place of TOML: headers in any order, dotted keys, arrays of tables."""

import copy
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from leafwise.configs.formats import FormatError, load
from leafwise.configs.revision import RevisionError, revise


pytest.importorskip("tomlkit")

HEADERS = ["p", "q", "q.r", "s.t", "p.d.e", "l.m", "[l]", "[l]", "[l]", "[q.n]"]
SCALARS = ["1", '"a#b"', "'q'", "0x1F", "1_000", "true", "1979-05-27", "1.50"]
NEW_VALUES = [1, "n", [1], {}, {"z": 1}, [{"z": 1}], {"z": {"y": [{"w": 1}]}}]
VALUES = st.recursive(
    st.sampled_from([*SCALARS, '"""m\nn"""', "[\n  1,\n  2, # last\n]"]),
    lambda inner: (
        st.lists(inner, max_size=2).map(lambda items: f"[{', '.join(items)}]")
        | inner.filter(lambda text: "\n" not in text).map(lambda x: f"{{x = {x}}}")
    ),
    max_leaves=3,
)
COMMENT = re.compile(r"# c\d+")


@st.composite
def texts(draw):
    """Draw a text; it may be malformed."""
    lines = []

    def comment():
        number = sum(line.count("# c") for line in lines)
        return f"# c{number}"

    def add(line):
        if draw(st.integers(0, 3)) == 0:
            lines.append(comment())
        lines.append(line)
        if draw(st.integers(0, 3)) == 0:
            lines[-1] += f"  {comment()}"
        if draw(st.integers(0, 5)) == 0:
            lines.append("")

    def add_pairs(names):
        for name in draw(st.lists(st.sampled_from(names), max_size=2, unique=True)):
            add(f"{name}{draw(st.sampled_from(['', '.u', '.v']))} = {draw(VALUES)}")

    add_pairs("abc")
    for header in draw(st.lists(st.sampled_from(HEADERS), max_size=4)):
        add(f"[{header}]")
        add_pairs("ghk")
    return "\n".join([*lines, ""])


def containers(tree, path=()):
    """Yield the dicts and lists of a tree."""
    if isinstance(tree, dict | list):
        yield tree
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from containers(item)


def edit(draw, tree):
    """Change one container of a tree."""
    node = draw(st.sampled_from(list(containers(tree))))
    word = draw(st.sampled_from(["set", "add", "delete", "rename"]))
    value = copy.deepcopy(draw(st.sampled_from(NEW_VALUES)))
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    if word == "add" or not keys:
        if isinstance(node, dict):
            node["new"] = value
        else:
            node.insert(draw(st.integers(0, len(node))), value)
        return
    key = draw(st.sampled_from(keys))
    if word == "set":
        node[key] = value
    elif word == "delete":
        del node[key]
    elif isinstance(node, dict):
        items = [("renamed" if name == key else name, node[name]) for name in keys]
        node.clear()
        node.update(items)


@given(texts(), st.data())
def test_edits_are_made_unless_a_comment_would_be_lost(text, data):
    """Whatever the form of the file; what is written has exactly the values."""
    try:
        document = load(text, "toml")
    except FormatError:
        assume(False)
    tree = copy.deepcopy(document.tree)
    for _ in range(data.draw(st.integers(1, 2))):
        edit(data.draw, tree)
    try:
        new_text = revise(text, document, tree)
    except RevisionError as error:
        assert re.fullmatch("the comment .* would be lost", str(error))  # noqa: PT017
        return
    assert load(new_text, "toml").tree == tree
    assert set(COMMENT.findall(new_text)) <= set(COMMENT.findall(text))

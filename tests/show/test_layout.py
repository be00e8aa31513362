"""Nested text over lines of a given width."""

import pytest

from leafwise.layout import Part, lay_out


def parts(*texts, around="[]", **more):
    return Part(around[0], [Part(text) for text in texts], around[1], **more)


def test_it_stands_in_one_line_if_it_fits():
    """To the column: the width is what a line may have."""
    whole = Part("{", [parts("1", "2", label="a="), Part("3", label="b=")], "}")
    assert lay_out(whole, 15) == "{a=[1, 2], b=3}"
    assert lay_out(whole, 14) == "{\n  a=[1, 2],\n  b=3\n}"
    assert lay_out(whole, 10) == "{\n  a=[\n    1,\n    2\n  ],\n  b=3\n}"


def test_a_comma_counts():
    """What follows a part in its line is in the line, too."""
    inner = [parts("1", "2", label="a="), parts("1", "2", label="b=")]
    assert lay_out(Part("{", inner, "}"), 11) == "{\n  a=[1, 2],\n  b=[1, 2]\n}"
    assert lay_out(Part("{", inner, "}"), 10) == (
        "{\n  a=[\n    1,\n    2\n  ],\n  b=[1, 2]\n}"
    )


def test_bare_texts_fill_lines():
    """Five or more; fewer have lines of their own."""
    assert lay_out(parts(*"123456"), 10) == "[\n  1, 2, 3,\n  4, 5, 6\n]"
    assert lay_out(parts("1" * 10, *"2345"), 10) == (
        "[\n  1111111111,\n  2, 3, 4,\n  5\n]"
    )
    assert lay_out(parts(*"1234"), 8) == "[\n  1,\n  2,\n  3,\n  4\n]"


def test_comments_end_their_lines():
    """Behind the comma; of what is broken, behind the opening."""
    first = parts("1", "2", label="a=", comment="two")
    second = parts("3", label="b=", comment="one")
    assert lay_out(first) == "a=[1, 2]  # two"
    assert lay_out(Part("{", [first, second], "}")) == (
        "{\n  a=[1, 2],  # two\n  b=[3]  # one\n}"
    )
    assert lay_out(first, 10) == "a=[  # two\n  1,\n  2\n]"
    assert lay_out(Part("x", comment="a leaf")) == "x  # a leaf"
    assert lay_out(parts(*"123456", comment="row"), 10) == (
        "[  # row\n  1, 2, 3,\n  4, 5, 6\n]"
    )


def test_texts_of_several_lines_are_aligned():
    """Below where they begin; nothing shares a line with them."""
    array = Part("array([1,\n       2])", label="x=")
    assert lay_out(Part("P(", [array, Part("3")], ")")) == (
        "P(\n  x=array([1,\n           2]),\n  3\n)"
    )


@pytest.mark.parametrize("width", [-3, 0, 1, 2])
def test_no_width_is_too_small(width):
    """Then each text has a line of its own."""
    whole = Part("{", [parts(*"123456", label="a="), Part("3", label="b=")], "}")
    assert "".join(lay_out(whole, width).split()) == "{a=[1,2,3,4,5,6],b=3}"


def test_deep_parts_are_indented_up_to_the_middle():
    """A chain has a text as long as itself, and needs no stack."""
    chain = Part("x")
    for _ in range(20_000):
        chain = Part("[", [chain], "]")
    lines = lay_out(chain, 40).splitlines()
    assert len(lines) == 2 * 19_991 + 1  # the last nine fit in one
    assert lines[19_991] == " " * 20 + "[" * 9 + "x" + "]" * 9
    assert max(map(len, lines)) <= 40
    while chain.parts:  # or freeing it would need a deep stack
        (chain,) = chain.parts

"""Texts of users are read without a warning, and alike where warnings are errors."""

import ast
import warnings

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import leafwise as lw
from leafwise.core.literals import NO_LITERAL, parse
from leafwise.errors import PathError


PIECES = (
    *"\\\\\\\\''\"\"[]{}(),:.#abfnrtuxNUzd0137 \n\r\t",
    "'''",
    '"""',
    "\\d",
    "\\'",
    "\\777",
    "\\u0041",
    "\\N{DASH}",
    "rb",
    "or ",
    "é",
    "'\\d'",
    '"\\777"',
    "b'\\u'",
    "R'\\d'",
    "1in ",
    "0xf",
    "1.5if ",
    "f'{1}\\d'",
)
texts = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


def value_of(text, read, filters):
    """Return the `repr` of what a text means, or None if it is no literal."""
    with warnings.catch_warnings():
        warnings.simplefilter(filters)
        try:
            return repr(ast.literal_eval(read(text)))
        except NO_LITERAL:
            return None


@given(texts)
@example("'\\d'")
@example("b'\\777' b'\\u0041'")
@example('"\\777"')
@example("'\\\r\n'")
@example("1or'\\d'")
@example("[1if 2else 3]")
@example("_r'\\d'")
@example("'\\d'#a'\\d'")
def test_reading_is_that_of_python_without_warnings(text):
    """The model is Python with its warnings off; here each of them is an error."""
    theirs = value_of(text, lambda text: ast.parse(text, mode="eval").body, "ignore")
    assert value_of(text, parse, "error") == theirs


LONG = ["1.", "3or ", '"', "a.", "-", 'r"""x', "u'\\' "]


@pytest.mark.parametrize("text", LONG)
def test_long_texts_of_keys_are_refused_at_once(text):
    """Many characters, which nothing reads by the square of their number."""
    long = text * (200_000 // len(text) + 1)
    with pytest.raises(PathError):
        lw.KeyPath.parse(f"[{long}]")
    with pytest.raises(NO_LITERAL):
        ast.literal_eval(parse(f"{long}("))

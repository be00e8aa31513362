"""Lists and dicts without quotes, and what any text becomes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from leafwise.configs.overrides import guess
from leafwise.errors import EditError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[a,b]", ["a", "b"]),
        ("{x:2}", {"x": 2}),
        ("[]", []),
        ("{}", {}),
        ("[a, b c , {x: 1, y: null}]", ["a", "b c", {"x": 1, "y": None}]),
        ("[[a], [[]], {k: []}]", [["a"], [[]], {"k": []}]),
        ("[a,]", ["a"]),
        ("[1, 1e3, .5, -2, 0x10, a]", [1, 1000.0, 0.5, -2, 16, "a"]),
        ("[true, True, null, None, a]", [True, True, None, None, "a"]),
        ("[yes, on, 007, 1.2.3, 10%]", ["yes", "on", "007", "1.2.3", "10%"]),
        ("['a, b', \"c]\", it's, '1']", ["a, b", "c]", "it's", "1"]),
        (r"[a\,b, c\:d, \[e\], f\ , C:\dir]", ["a,b", "c:d", "[e]", "f ", r"C:\dir"]),
        ("{url: http://a:80/b, 'k 2': v w}", {"url": "http://a:80/b", "k 2": "v w"}),
        ("{1: a, 2.5: b}", {1: "a", 2.5: "b"}),
        ("[${a.b}, {x: ${c:d}}]", ["${a.b}", {"x": "${c:d}"}]),
        ("[a=b, x@y, /p/q.r, *.py, $HOME]", ["a=b", "x@y", "/p/q.r", "*.py", "$HOME"]),
        ("\n[ a ,\n\tb ]\n", ["a", "b"]),
    ],
)  # fmt: skip
def test_words_need_no_quotes(text, value):
    """In lists and dicts, nested as well."""
    assert guess(text) == value
    assert repr(guess(text)) == repr(value)
    assert lw.configs.override({}, f"+a={text}") == {"a": value}
    assert lw.configs.override({"a": None}, f"a={text}") == {"a": value}


DEEP = pytest.mark.needs("stack")


@pytest.mark.parametrize(
    "text",
    [
        "[a", "a]", "[a]b", "[,]", "[a,,b]", "[,a]", "{a}", "{a:}", "{:a}", "{a b}",
        "[a}", "{a:[}]", "[f(x)]", "['a' b]", "['a]", "[a[0]]", "{a:b,}c", "[a-z]+",
        "['\\x']", "[\\",
        pytest.param("[" * 20_000, marks=DEEP), pytest.param("[a," * 5_000, marks=DEEP),
        pytest.param("{a:" * 5_000 + "}", marks=DEEP),
    ],
)  # fmt: skip
def test_anything_else_is_a_string(text):
    """As it is written, when it is added; an error where a list is to be replaced."""
    assert guess(text) == text
    with pytest.raises(EditError, match="cannot replace the list;"):
        lw.configs.override({"a": ["b"]}, f"a={text}")


words = st.text("abcxyz_-/.$%@+*", min_size=1).filter(
    lambda word: type(guess(word)) is str
)
plain = st.recursive(
    words | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3)
    ),
)


def written(value):
    """Write a value without quotes."""
    if isinstance(value, dict):
        return f"{{{','.join(f'{k}: {written(x)}' for k, x in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    return value if isinstance(value, str) else json.dumps(value)


@given(plain)
def test_what_is_written_without_quotes_is_read(value):
    """Words, numbers, lists and dicts; with quotes they are the same."""
    assert repr(guess(written(value))) == repr(value)
    assert repr(guess(json.dumps(value))) == repr(value)


@given(st.text("[]{},:'\"\\ a1$(\n", max_size=12))
def test_any_text_is_a_value(text):
    """Of JSON's types, or the text itself; or a dict has equal keys."""
    try:
        value = guess(text)
    except EditError:
        return
    assert isinstance(value, str | int | list | dict | tuple | set)
    if isinstance(value, list | dict) and "\\" not in text:
        assert repr(guess(f"[{text}]")) == repr([value])


def test_a_text_is_no_function():
    """Where a value is a function, an override by its name is refused."""
    with pytest.raises(EditError, match="is not a builtin_function"):
        lw.override({"function": len}, ["function=print"])


@pytest.mark.parametrize(
    "text",
    [
        *("1", "-2", "+3", "0.1", ".5", "1.", "1e3", "1e-3", "-0.5E+2", "0x10", "0o17"),
        *("true", "false", "True", "null", ".inf", "-.inf", ".nan", "1_000", "3.10"),
        *("a", "a b", "a-b", "1.2.3", "yes", "on", "off", "10%", "http://a:80/b"),
        *("'1'", '"1"', "'a, b'", "[]", "{}", "[a, 1]", "[[1], {a: b c}]", "{a: [x]}"),
        *("[null, true, 1.5, '1']", "{a: {b: 1}}", "[\"x\", 'y']"),
    ],
)
def test_an_added_value_is_read_as_in_yaml(text, tmp_path):
    """Numbers, constants, lists and dicts are; anything else is a string."""
    pytest.importorskip("ruamel.yaml")
    file = tmp_path / "a.yaml"
    file.write_text(f"a: {text}\n")
    assert repr(lw.override({"b": "x"}, f"+a={text}")["a"]) == repr(lw.read(file)["a"])

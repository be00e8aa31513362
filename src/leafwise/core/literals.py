"""Literals: the texts of dict keys, read back and written as Python code.

Owns what may stand for a key in a text. `keys.literal` writes such a text; here it is
read, without running any code and without importing anything, and here is decided
which keys have code that is safe to run. Knows nothing of paths.
"""

from __future__ import annotations

import ast
import enum
import keyword
import math
import unicodedata
import warnings
from typing import Any, Final

from .._runtime import Guard, named_object
from .keys import literal


NO_LITERAL: Final = (
    SyntaxError,
    ValueError,
    TypeError,
    ArithmeticError,
    RecursionError,
    MemoryError,
)
"""What reading a text that is not a literal raises."""


# --------------------------------------------------------------------- reading


def read_literal(text: str) -> Any:
    """Return the value of a text.

    Raises:
        Exception: One of `NO_LITERAL`: the text is not a literal.

    Example:
        >>> from leafwise.core.literals import read_literal
        >>> read_literal("(1, 'a')"), read_literal("2j"), read_literal("-inf")
        ((1, 'a'), 2j, -inf)
    """
    value = ast.literal_eval(_Named().visit(parse(text)))
    if value is ...:
        raise ValueError("no literal")
    hash(value)  # or it is no key
    return value


_guard: Final = Guard()


def parse(text: str) -> ast.expr:
    r"""Return the syntax tree of an expression; Python's warnings are not shown.

    Python warns of `\d` in a string, and of `1or 2`. A user who writes a key or a value
    would be warned of a file `<unknown>`; and where warnings are errors, the text would
    mean something else.

    Raises:
        SyntaxError: The text is not an expression.
        ValueError: It has a null character.

    Example:
        >>> import ast
        >>> from leafwise.core.literals import parse
        >>> ast.literal_eval(parse(r"['\d', '\x41']"))
        ['\\d', 'A']
    """
    with _guard.lock, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, mode="eval").body


_NUMBERS: Final = {name: complex(name) for name in ("infj", "nanj")} | {
    name: float(name) for name in ("inf", "nan")
}


class _Named(ast.NodeTransformer):
    """Puts values in place of names: of numbers without digits, and of Enum members."""

    def visit_Name(self, node: ast.Name) -> ast.Constant:
        if node.id not in _NUMBERS:
            raise ValueError("no literal")
        return ast.Constant(_NUMBERS[node.id])

    def visit_Attribute(self, node: ast.Attribute) -> ast.Constant:
        return ast.Constant(_find_member(ast.unparse(node)))


def _find_member(name: str) -> Any:
    """Find an Enum member by its qualified name, in a module that is loaded.

    Raises:
        ValueError: There is no such code.
    """
    parts = name.split(".")
    for split in range(len(parts) - 2, 0, -1):
        found = named_object(".".join(parts[:split]), ".".join(parts[split:]))
        if isinstance(found, enum.Enum) and literal(found) == name:
            return found
    raise ValueError(f"{name} is not a member of an Enum that is loaded")


# ------------------------------------------------------------------------ code


def is_plain_name(name: str) -> bool:
    """Return whether Python code reads an attribute of this name after a dot.

    Keywords do not stand there, and of other names Python reads the NFKC form, which
    may be that of another attribute.

    Example:
        >>> from leafwise.core.literals import is_plain_name
        >>> [is_plain_name(name) for name in ("w", "class", "ﬁ", "a b")]
        [True, False, False, False]
    """
    return (
        name.isidentifier()
        and not keyword.iskeyword(name)
        and unicodedata.normalize("NFKC", name) == name
    )


def code_of(value: Any) -> str:
    """Return Python code for a key, which is safe to run.

    Code is made for what has a literal, never from the `repr` of any other object,
    which may be any text.

    Raises:
        ValueError: There is no code for the key.

    Example:
        >>> from leafwise.core.literals import code_of
        >>> code_of((1, float("inf"), "a"))
        "(1, float('inf'), 'a')"
    """
    cls = type(value)
    if value is None or cls in (bool, int, str, bytes):
        return literal(value)
    if (cls is float or cls is complex) and value == value:  # no lookup finds NaN
        is_finite = math.isfinite(value.real) and math.isfinite(value.imag)
        return repr(value) if is_finite else f"{cls.__name__}({repr(value)!r})"
    if cls is tuple:
        inside = ", ".join(map(code_of, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, enum.Enum):
        name = literal(value)
        if all(map(is_plain_name, name.split("."))) and _find_member(name) is value:
            return name
    raise ValueError(f"no code for a {cls.__name__}")

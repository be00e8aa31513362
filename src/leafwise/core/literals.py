"""Literals: the texts of dict keys, read back and written as Python code.

`keys.literal` writes such a text. Reading one runs no code and imports nothing; code
is written only for keys with which it is safe to run.
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


# ----------------------------------------------------------------------------- reading


def read_literal(text: str) -> Any:
    """Return the value of a text.

    Raises:
        Exception: One of `NO_LITERAL`: the text is not a literal.

    Example:
        >>> from leafwise.core.literals import read_literal
        >>> read_literal("(1, 'a')"), read_literal("2j"), read_literal("-inf")
        ((1, 'a'), 2j, -inf)
    """
    expression = _NamedValues().visit(parse(text))
    value = ast.literal_eval(expression)
    if value is ...:
        raise ValueError("no literal")
    hash(value)  # a key has a hash
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
    with _guard.lock, warnings.catch_warnings():  # the filters are shared by threads
        warnings.simplefilter("ignore")
        return ast.parse(text, mode="eval").body


_NUMBERS: Final = {
    "inf": math.inf,
    "nan": math.nan,
    "infj": complex("infj"),
    "nanj": complex("nanj"),
}


class _NamedValues(ast.NodeTransformer):
    """Replaces the names of numbers without digits, and of Enum members, by values."""

    def visit_Name(self, node: ast.Name) -> ast.Constant:  # of ast
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
    for split in range(len(parts) - 2, 0, -1):  # the longest name of a module first
        module = ".".join(parts[:split])
        member = named_object(module, ".".join(parts[split:]))
        if isinstance(member, enum.Enum) and literal(member) == name:
            return member
    raise ValueError(f"{name} is not a member of an Enum that is loaded")


# -------------------------------------------------------------------------------- code


def is_plain_name(name: str) -> bool:
    """Return whether Python code reads an attribute of this name after a dot.

    Keywords cannot be written there, and of other names Python reads the NFKC form,
    which may be that of another attribute.

    Example:
        >>> from leafwise.core.literals import is_plain_name
        >>> [is_plain_name(name) for name in ("w", "class", "ﬁ", "a b")]
        [True, False, False, False]
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        return False
    return unicodedata.normalize("NFKC", name) == name


def python_code(key: Any) -> str:
    """Return Python code for a key, which is safe to run.

    There is code only for keys with a literal: the `repr` of another object may be any
    text.

    Raises:
        ValueError: There is no code for the key.

    Example:
        >>> from leafwise.core.literals import python_code
        >>> python_code((1, float("inf"), "a"))
        "(1, float('inf'), 'a')"
    """
    cls = type(key)
    if key is None or cls in (bool, int, str, bytes):
        return literal(key)
    if (cls is float or cls is complex) and key == key:  # no lookup finds NaN
        if math.isfinite(key.real) and math.isfinite(key.imag):
            return repr(key)
        return f"{cls.__name__}({repr(key)!r})"
    if cls is tuple:
        items = [python_code(item) for item in key]
        end = ",)" if len(items) == 1 else ")"
        return f"({', '.join(items)}{end}"
    if isinstance(key, enum.Enum):
        name = literal(key)
        is_code = all(is_plain_name(part) for part in name.split("."))
        if is_code and _find_member(name) is key:
            return name
    raise ValueError(f"no code for a {cls.__name__}")

"""Generated Python: lines of text, and the objects that names in them stand for.

Objects have names in a text (classes `C1`, functions `F1`, keys and other values `K1`),
which are globals of the function, and the names of locals come from counters. Of user
data only ints and strings that look like names are written out, and the names of
attributes. No other string may be: an equal one would stand for it, but keys have to be
the same objects everywhere, so that most of them compare by identity.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from .._runtime import late_imports
from .._text import short_repr
from .settings import settings


_files: Final[dict[str, None]] = {}
"""The names of generated files that `linecache` knows."""


class Text:
    """Lines of Python, with the objects that names in them stand for.

    Example:
        >>> from leafwise.engine.text import Text
        >>> text = Text()
        >>> text.add("def double(x): return x * 2")
        >>> text.compiled("double")(4)
        8
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.indent = ""
        self.values: dict[str, Any] = {}  # by name
        self.tools: dict[str, Any] = {}  # the same, for names that need no comment
        self._names: dict[int, str] = {}  # by the id of the value
        self._counts: dict[str, int] = {}

    def name(self, value: Any) -> str:
        """Return the name of an object."""
        name = self._names.get(id(value))
        if name is None:
            prefix = "K"
            if isinstance(value, type):
                prefix = "C"
            elif callable(value):
                prefix = "F"
            name = self.fresh(prefix)
            self._names[id(value)] = name
            self.values[name] = value
        return name

    def literal(self, value: Any) -> str:
        """Return what to write for an object that is not compared by identity."""
        is_written = type(value) is int and value.bit_length() < 64
        if (
            type(value) is str
            and len(value) <= settings.max_literal_length
            and value.isascii()
        ):
            is_word = value.replace("_", "a").isalnum()
            is_written = is_word and sys.intern(value) is value
        return repr(value) if is_written else self.name(value)

    def fresh(self, prefix: str) -> str:
        """Return a name that is not used yet: what it stands for, and a number."""
        count = self._counts.get(prefix, 0) + 1
        self._counts[prefix] = count
        return f"{prefix}{count}"

    def add(self, *lines: str) -> None:
        """Write lines at the current indentation."""
        self.lines += [self.indent + line for line in lines]

    def assign(self, expression: str, prefix: str = "node") -> str:
        """Write that a value gets a name, and return the name."""
        name = self.fresh(prefix)
        self.add(f"{name} = {expression}")
        return name

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Indent what is written meanwhile, below a line."""
        self.add(head)
        self.indent += "    "
        yield
        self.indent = self.indent[:-4]

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"

    def explained(self) -> str:
        """Return the text below a comment for each name of an object."""
        comments = [
            f"# {name} = {short_repr(value)}" for name, value in self.values.items()
        ]
        return "\n".join([*comments, str(self)])

    def compiled(self, name: str) -> Callable[..., Any]:
        """Return the function of that name.

        The lines are put into `linecache`, by which tracebacks, `inspect.getsource` and
        debuggers find them.
        """
        with late_imports:
            import linecache  # not loaded before the first function is compiled

        source = str(self)
        file = f"<leafwise {name} {hash(source) & 0xFFFFFFFFFF:x}>"
        # There is no `__name__`, since torch's compiler would import that module.
        namespace = {**self.tools, **self.values}
        exec(compile(source, file, "exec", dont_inherit=True), namespace)
        if len(_files) >= settings.max_files:
            forget_files()
        _files[file] = None
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        return namespace[name]  # type: ignore[no-any-return]  # a function


def forget_files() -> None:
    """Take the lines of generated functions out of `linecache`."""
    linecache: Any = sys.modules.get("linecache")
    for file in list(_files):
        _files.pop(file, None)
        linecache.cache.pop(file, None)


def targets(names: Sequence[str]) -> str:
    """Return what a sequence is unpacked to."""
    if len(names) == 1:
        return f"{names[0]},"
    return ", ".join(names)


def tuple_of(items: Sequence[str]) -> str:
    """Return an expression for a tuple."""
    return f"({targets(items)})"

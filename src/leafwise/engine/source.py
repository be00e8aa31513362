"""From text to functions that a debugger can step through.

Owns the names of generated files and their entries in `linecache`, by which
tracebacks, `inspect.getsource` and debuggers find the lines.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable
from typing import Any

from ..core.safely import Guard
from .emit import Text


__all__ = ["compile_text", "forget_files"]

_numbers = itertools.count(1)
_guard = Guard()


def compile_text(text: Text, name: str) -> tuple[Callable[..., Any], str]:
    """Return the function of that name, and the name of the file it is shown in.

    Args:
        text: The text, with an object for each global name in it.
        name: The name of the function.

    Example:
        >>> from leafwise.engine.emit import Text
        >>> from leafwise.engine.source import compile_text, forget_files
        >>> text = Text()
        >>> text.add("def double(x): return x * 2")
        >>> function, file = compile_text(text, "double")
        >>> function(4), function.__code__.co_filename == file
        (8, True)
        >>> forget_files([file])
    """
    import linecache  # before the first function it is of no use

    source = str(text)
    with _guard.lock:  # a counter alone would do, but for builds without the GIL
        number = next(_numbers)
    file = f"<leafwise {name} {number}>"
    names = {**text.names}  # and no `__name__`: torch's compiler would import it
    exec(compile(source, file, "exec", dont_inherit=True), names)
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    return names[name], file


def forget_files(files: Iterable[str]) -> None:
    """Take the lines of generated files out of `linecache`."""
    linecache: Any = sys.modules.get("linecache")
    if linecache is not None:
        for file in files:
            linecache.cache.pop(file, None)

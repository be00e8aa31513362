"""Text: what generated functions are written with, and how they are compiled.

This module, `flatten` and `unflatten` write every line of generated code. There are
three functions for a structure:

    flatten(tree): the leaves and the treedef of a tree of just this structure, None
        for any other. Reads and checks types and keys in one pass, and the types of
        all leaves at once.
    flatten_up_to(treedef, tree): what a tree has at the leaves; None if it may differ.
    unflatten(treedef, leaves): a tree.

User data never enters the text: classes (`C1`), functions (`F1`), keys and other
values (`K1`) have names there, and the names of locals come from counters. Attribute
names are written out where they are ASCII identifiers.

These names are those of globals, except for keys and the like, which are constants of
the code: they are read faster, and all keys of a display are one tuple. The compiler
gets a text with strings in their place, which are replaced in the code that it makes.
Nothing else may be a constant: neither the garbage collector nor torch's compiler can
deal with classes or functions there.
"""

from __future__ import annotations

import itertools
import keyword
import sys
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import countOf
from types import CodeType
from typing import Any, Final

from ..core.walk import Failed
from ..safely import FAULTS, Guard, class_name, clip
from .plan import exactly


SPREAD: Final = 4
"""How many neighbouring leaves make a sequence."""

_MARKS: Final = (("\1", "('"), ("\2", "'if 1 else 0)"), ("\3", "'"), ("\4", "'"))
"""What the names of constants are marked with, and what the compiler gets to see.

It makes the same of both: of a string alone it says that nothing is identical to it.
"""

_FREE_THREADED: Final = "free-threading" in sys.version
"""Whether this interpreter keeps all constants of code forever."""

_FLAGS: Final = 0x10 if _FREE_THREADED and sys.version_info < (3, 14) else 0
"""What is added to the flags of code: there, once a second thread was started,
functions are kept forever, with their globals, unless they are `CO_NESTED`."""


class Constants:
    """The objects that names in generated functions stand for.

    Attributes:
        names: The objects, by name.
    """

    __slots__ = ("_known", "_numbers", "names")

    def __init__(self) -> None:
        self.names: dict[str, Any] = dict(_TOOLS)
        self._known: dict[int, str] = {}
        self._numbers: dict[str, int] = {}

    def name(self, value: Any) -> str:
        """Return the name of an object."""
        name = self._known.get(id(value))
        if name is None:
            letter = "C" if isinstance(value, type) else "F" if callable(value) else "K"
            number = self._numbers[letter] = self._numbers.get(letter, 0) + 1
            name = self._known[id(value)] = f"{letter}{number}"
            self.names[name] = value
        return name

    def comments(self) -> list[str]:
        """Return a comment for each constant that says what it is."""
        return [
            f"# {name} = {_shown(self.names[name])}" for name in self._known.values()
        ]


FAILURES: Final = (
    AttributeError,
    KeyError,
    TypeError,
    ValueError,
    RecursionError,
)
"""What reading a tree of another structure raises, or one for which the stack is short.

Anything else is the caller's: what a signal handler raises, for one."""

CATCH: Final = f"except ({', '.join(error.__name__ for error in FAILURES)}):"
"""The line that catches these."""


def is_miss(error: Exception, calls: list[Any]) -> bool:
    """Return whether the walk deals with an error of a function that flattens.

    What a function of the user raised is noted, for the walk to raise where it gets
    there. Three things are noted of each call: the node, the result, and what it was
    checked to be.
    """
    state = len(calls) % 3
    raised: Any = error.__traceback__
    while raised.tb_next is not None:
        raised = raised.tb_next
    is_ours = raised.tb_frame.f_code.co_filename.startswith("<leafwise ")
    if state == 0 or (state == 2 and is_ours):
        return isinstance(error, FAILURES)
    failed = Failed()
    failed.__cause__ = error
    calls += (None, failed) if state == 1 else (failed,)
    return True


_TOOLS: Final[dict[str, Any]] = {
    "exactly": exactly,
    "is_miss": is_miss,
    "copy_dict": dict.copy,
    "countOf": countOf,
    "OrderedDict": OrderedDict,
    "defaultdict": defaultdict,
    "deque": deque,
    "new_tuple": tuple.__new__,
    "size_of": dict.__sizeof__,
}


def _shown(value: Any) -> str:
    """Return a class or a function as one refers to it, anything else as it is."""
    try:
        name = class_name(value) if isinstance(value, type) else value.__qualname__
        module = value.__module__ or "builtins"
        if type(name) is type(module) is str:
            return one_line(name if module == "builtins" else f"{module}.{name}")
    except FAULTS:  # of a metaclass
        pass
    return one_line(clip(value))


def one_line(text: str) -> str:
    """Return a text with nothing in it that would end a comment."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode()
        for char in text
    )


class Text:
    """Lines of Python.

    Args:
        constants: Where the constants are kept; by default, with this text alone.

    Attributes:
        lines: The lines.
        indent: What the next line begins with.
        names: The objects that names stand for.
    """

    __slots__ = ("_counts", "_name", "indent", "lines", "names")

    def __init__(self, constants: Constants | None = None) -> None:
        constants = constants or Constants()
        self.lines: list[str] = []
        self.indent = ""
        self.names = constants.names
        self._name = constants.name
        self._counts: dict[str, int] = {}

    def constant(self, value: Any) -> str:
        """Return what to write for an object."""
        name = self._name(value)
        return f"\1{name}\2" if _may_be_constant(value) else name

    def key(self, value: Any) -> str:
        """Return what to write for an object that is a key of a display or a lookup."""
        name = self._name(value)
        return f"\3{name}\4" if _may_be_constant(value) else name

    def add(self, line: str) -> None:
        """Write a line at the current indentation."""
        self.lines.append(self.indent + line)

    def fresh(self, what: str) -> str:
        """Return a name for a local variable, by what it holds."""
        count = self._counts[what] = self._counts.get(what, 0) + 1
        return f"{what}{count}"

    def deeper(self) -> None:
        """Indent what follows."""
        self.indent += "    "

    def back(self) -> None:
        """End a block."""
        self.indent = self.indent[:-4]

    def __str__(self) -> str:
        return self.with_constants(shown=True)

    def with_constants(self, *, shown: bool) -> str:
        """Return the text with constants by their names, or as strings."""
        text = "\n".join(self.lines) + "\n"
        for mark, literal in _MARKS:
            text = text.replace(mark, "" if shown else literal)
        return text


def _may_be_constant(value: Any) -> bool:
    """Return whether an object may be a constant of code.

    The interpreter interns constants that look like names: an equal string may come in
    the place of one. But keys have to be the same objects wherever the engine writes
    or reads them, so that most of them compare by identity.
    """
    if _FREE_THREADED or type(value) is not str:
        return type(value) is int and not _FREE_THREADED
    is_like_a_name = value.isascii() and value.replace("_", "a").isalnum()
    return not is_like_a_name or sys.intern(value) is value


def is_plain_name(name: str) -> bool:
    """Return whether an attribute may be written out."""
    reserved = keyword.iskeyword(name) or name == "__debug__"
    return name.isascii() and name.isidentifier() and not reserved


def tuple_of(items: Sequence[str]) -> str:
    """Return a tuple display."""
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


# ----------------------------------------------------------------- from text to code

_numbers = itertools.count(1)
_guard = Guard()


def compile_text(text: Text, name: str) -> tuple[Callable[..., Any], str]:
    """Return the function of that name, and the name of the file it is shown in.

    The lines are put into `linecache`, by which tracebacks, `inspect.getsource` and
    debuggers find them.

    Args:
        text: The text, with an object for each global name in it.
        name: The name of the function.

    Example:
        >>> from leafwise.engine.emit import Text, compile_text, forget_files
        >>> text = Text()
        >>> text.add("def double(x): return x * 2")
        >>> function, file = compile_text(text, "double")
        >>> function(4), function.__code__.co_filename == file
        (8, True)
        >>> forget_files([file])
    """
    import linecache  # before the first function it is of no use

    shown = str(text)
    with _guard.lock:  # a counter alone would do, but for builds without the GIL
        number = next(_numbers)
    file = f"<leafwise {name} {number}>"
    names = {**text.names}  # and no `__name__`: torch's compiler would import it
    source = text.with_constants(shown=False)
    code = compile(source, file, "exec", dont_inherit=True)
    exec(_filled_in(code, names), names)
    linecache.cache[file] = (len(shown), None, shown.splitlines(True), file)
    return names[name], file


def _filled_in(constant: Any, names: Mapping[str, Any]) -> Any:
    """Return a constant of a code, or a code, with objects in place of their names."""
    cls = type(constant)
    if cls is str:
        return names.get(constant, constant)
    if cls is tuple:
        return tuple([_filled_in(item, names) for item in constant])
    if cls is CodeType:
        filled = _filled_in(constant.co_consts, names)
        return constant.replace(co_consts=filled, co_flags=constant.co_flags | _FLAGS)
    return constant


def forget_files(files: Iterable[str]) -> None:
    """Take the lines of generated files out of `linecache`."""
    linecache: Any = sys.modules.get("linecache")
    if linecache is not None:
        for file in files:
            linecache.cache.pop(file, None)


# ------------------------------------------------------------------- single objects
#
# `flatten` reads whole trees. A framework that knows our classes calls the flatten
# function of each object in a tree by itself; a reader makes such a call cheap for
# objects of a shape that is met often, as long as their static values are those of
# the last time.

_Reader = Callable[[Any], "tuple[tuple[Any, ...], Any] | None"]


def reader_after(meetings: int) -> Callable[[Any, str], _Reader | None]:
    """Return a function that gives a shape its reader when it was met so often."""

    def offer(shape: Any, memory: str) -> _Reader | None:
        shape.sights += 1
        if shape.sights < meetings:
            return None
        try:
            return _make_reader(shape.field_layout, memory)
        except RecursionError:  # the caller is deep in a stack of its own
            return None

    return offer


def _make_reader(field_layout: Any, memory: str) -> _Reader:
    """Return a function that flattens objects of a shape, or returns None.

    Args:
        field_layout: The field layout of the shape; see `Shaped`.
        memory: The attribute in which an object keeps its aux data of the last time.

    Returns:
        A function from an object to its children and aux data, or to None if the object
        is not just as expected.
    """
    text = Text()
    data, static = (
        [f"values[{text.key(name)}]" for name in names]
        for names in (field_layout.data, field_layout.static)
    )
    same = [f"{value} is known[{place}]" for place, value in enumerate(static)]
    expected = [
        f"aux.field_layout is {text.constant(field_layout)}",
        f"len(values) == {len(field_layout.names)}",
    ]
    text.lines += [
        "def read(node):",
        "    try:",
        "        values = node.__dict__",
        f"        aux = node.{memory}",
        "        known = aux.values",
        f"        if {' and '.join(expected + same)}:",
        f"            return {tuple_of(data)}, aux",
        "    except (AttributeError, KeyError):",
        "        pass",
        "    return None",
    ]
    read, file = compile_text(text, "read")
    weakref.finalize(read, forget_files, [file]).atexit = False
    return read

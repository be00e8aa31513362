"""Text: what generated functions are written with, and how they are compiled.

There are four functions for a structure:

    flatten(tree): the leaves and the treedef of a tree of just this structure, None
        for any other. Reads and checks types and keys in one pass, and the types of
        all leaves at once.
    flatten(tree, ask): the same, asking a predicate of each node and leaf on the way.
    flatten_up_to(treedef, tree): what a tree has at the leaves; None if it may differ.
    unflatten(treedef, leaves): a tree.

Objects have names in the text (classes `C1`, functions `F1`, keys and other values
`K1`), which are globals of the function, and the names of locals come from counters. Of
user data only ints and strings that look like names are written out, and the names of
attributes. No other string may be: an equal one would come in its place, but keys have
to be the same objects everywhere, so that most of them compare by identity.
"""

from __future__ import annotations

import keyword
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import length_hint
from typing import Any, Final

from ..core.walk import Failed
from ..safely import clip
from .plan import exactly


SPREAD: Final = 4
"""How many neighbouring leaves make a sequence."""

_MOST_FILES = 2_000
_LONGEST = 64

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


class Constants:
    """The objects that names in generated functions stand for.

    Attributes:
        names: The objects, by name.
    """

    __slots__ = ("_known", "names")

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self._known: dict[int, str] = {}

    def name(self, value: Any) -> str:
        """Return the name of an object."""
        name = self._known.get(id(value))
        if name is None:
            letter = "C" if isinstance(value, type) else "F" if callable(value) else "K"
            name = self._known[id(value)] = f"{letter}{len(self._known) + 1}"
            self.names[name] = value
        return name

    def comments(self) -> list[str]:
        """Return a comment for each constant that says what it is."""
        return [f"# {name} = {clip(value)}" for name, value in self.names.items()]


class Text:
    """Lines of Python.

    Args:
        constants: Where the constants are kept; by default, with this text alone.

    Attributes:
        lines: The lines.
        indent: What the next line begins with.
        name: Returns the name of an object.
        names: The objects that names stand for.
    """

    __slots__ = ("_counts", "indent", "lines", "name", "names")

    def __init__(self, constants: Constants | None = None) -> None:
        constants = constants or Constants()
        self.lines: list[str] = []
        self.indent = ""
        self.name = constants.name
        self.names = constants.names
        self._counts: dict[str, int] = {}

    def written(self, value: Any) -> str:
        """Return what to write for an object that is not compared by identity."""
        if type(value) is str:
            is_like_a_name = value.isascii() and value.replace("_", "a").isalnum()
            is_short = is_like_a_name and len(value) <= _LONGEST
            is_plain = is_short and sys.intern(value) is value
        else:
            is_plain = type(value) is int and value.bit_length() < 64
        return repr(value) if is_plain else self.name(value)

    def add(self, *lines: str) -> None:
        """Write lines at the current indentation."""
        self.lines += [self.indent + line for line in lines]

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Indent what is written meanwhile, below a line."""
        self.add(head)
        before, self.indent = self.indent, self.indent + "    "
        yield
        self.indent = before

    def fresh(self, what: str) -> str:
        """Return a name for a local variable, by what it holds."""
        count = self._counts[what] = self._counts.get(what, 0) + 1
        return f"{what}{count}"

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"


def is_plain_name(name: str) -> bool:
    """Return whether an attribute may be written out."""
    reserved = keyword.iskeyword(name) or name == "__debug__"
    return name.isascii() and name.isidentifier() and not reserved


def tuple_of(items: Sequence[str]) -> str:
    """Return a tuple display."""
    return f"({targets(items)})"


def targets(names: Sequence[str]) -> str:
    """Return what a sequence is unpacked to."""
    return f"{', '.join(names)}{',' if len(names) == 1 else ''}"


# ------------------------------------------------------------- errors while reading


class Missed(Exception):
    """A tree has another structure than the function that reads it."""


def is_miss(error: Exception, calls: Any, node: Any) -> bool:
    """Return whether the walk deals with an error of a function that flattens.

    What a function of the user raised is noted, for the walk to raise where it gets
    there.

    Args:
        error: The error.
        calls: The calls of flatten functions so far, as `flatten` of the walk has them.
        node: The node that such a function was called with, None if all is read of it.
    """
    if type(error) is Missed or node is None:
        return isinstance(error, (*FAILURES, Missed))
    raised: Any = error.__traceback__
    while raised.tb_next is not None:
        raised = raised.tb_next
    has_returned = bool(calls) and calls[-1][0] is node
    if has_returned and raised.tb_frame.f_code.co_filename.startswith("<leafwise "):
        return isinstance(error, FAILURES)
    failed = Failed()
    failed.__cause__ = error
    calls[len(calls) - has_returned :] = [(node, failed, True)]
    return True


def answers_of(
    leaves: list[bool], error: Exception, at: int, before: int, calls: Any, node: Any
) -> list[Any] | None:
    """Return what a predicate answered, until a generated function had to give up.

    Of what was a leaf in any case, the answer is said to be yes.

    Args:
        leaves: For each node and leaf of the structure whether it is a leaf.
        error: What was raised.
        at: Twice the number of the question that was asked last, and one more once the
            answer was no.
        before: What is to be added to the number of the question.
        calls: The calls of flatten functions.
        node: As in `is_miss`.

    Returns:
        The answers; the last is the error, if the predicate raised it. None if the
        error is somebody else's.
    """
    number, is_answered = divmod(at, 2)
    number += before
    if type(error) is not Missed and not is_answered:
        return [*leaves[:number], error]
    if not is_miss(error, calls, node):
        return None
    return [*leaves[:number], not is_answered and not leaves[number]]


_TOOLS: Final[dict[str, Any]] = {
    "Missed": Missed,
    "exactly": exactly,
    "is_miss": is_miss,
    "copy_dict": dict.copy,
    "length_hint": length_hint,
    "OrderedDict": OrderedDict,
    "defaultdict": defaultdict,
    "deque": deque,
    "new_tuple": tuple.__new__,
}


# ----------------------------------------------------------------- from text to code

_files: Final[dict[str, None]] = {}
"""The names of generated files that `linecache` knows, oldest first."""


def compile_text(text: Text, name: str) -> Callable[..., Any]:
    """Return the function of that name.

    The lines are put into `linecache`, by which tracebacks, `inspect.getsource` and
    debuggers find them.

    Args:
        text: The text, with an object for each global name in it.
        name: The name of the function.

    Example:
        >>> from leafwise.engine.emit import Text, compile_text
        >>> text = Text()
        >>> text.add("def double(x): return x * 2")
        >>> compile_text(text, "double")(4)
        8
    """
    import linecache  # before the first function it is of no use

    source = str(text)
    file = f"<leafwise {name} {hash(source) & 0xFFFFFFFFFF:x}>"
    names = {**_TOOLS, **text.names}  # and no `__name__`: torch's compiler imports it
    exec(compile(source, file, "exec", dont_inherit=True), names)
    if len(_files) >= _MOST_FILES:
        forget_files()
    _files[file] = None
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    return names[name]  # type: ignore[no-any-return]  # a function


def forget_files() -> None:
    """Take the lines of generated functions out of `linecache`."""
    linecache: Any = sys.modules.get("linecache")
    for file in [*_files]:
        _files.pop(file, None)
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
        [f"values[{text.written(name)}]" for name in names]
        for names in (field_layout.data, field_layout.static)
    )
    same = [f"{value} is known[{place}]" for place, value in enumerate(static)]
    expected = [
        f"aux.field_layout is {text.name(field_layout)}",
        f"len(values) == {len(field_layout.names)}",
    ]
    text.add(
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
    )
    return compile_text(text, "read")

"""Generated functions that read graphs of objects: `collect`.

Owns how a description of a graph becomes text. What the objects are, and what must hold
for them, is said by whoever describes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final

from ..core.node import AGAIN, VALUE, Check, Child, Collect, GraphReading, Reading
from .emit import CATCH, Text, compile_text, tuple_of


_MAX_LINES: Final = 10_000
_MAX_LOOPS: Final = 8
_UNROLLED: Final = 4
_PIECE: Final = 50


def collector_after(
    meetings: int,
) -> Callable[[int, Callable[[], GraphReading | None]], Collect | None]:
    """Return a function that reads graphs which were met so often.

    Returns:
        A function of how often a graph was met, and of what describes it; it returns
        None where there is to be no such function, or not yet.
    """

    def offer(met: int, describe: Callable[[], GraphReading | None]) -> Collect | None:
        if met != meetings:
            return None
        try:
            reading = describe()
            text = None if reading is None else emit_collect(reading)
        except RecursionError:  # nested too deeply, or the caller is
            return None
        if text is None:
            return None
        return compile_text(text, "collect")

    return offer


def emit_collect(graph: GraphReading) -> Text | None:
    """Return the text of `collect`, None if it were too long.

    Example:
        >>> from leafwise.core.node import VALUE, Check, GraphReading, Reading
        >>> from leafwise.engine.collect import emit_collect
        >>> cell = Reading(list, (Check((), "len", 1),), whole=(), children=(VALUE,))
        >>> two = Reading(tuple, (Check((), "len", 2),), whole=(), children=(cell,) * 2)
        >>> print(emit_collect(GraphReading(two, 0, 2, (), {int})))
        def collect(root):
            leaves, counted, again = [], [], []
            try:
                if type(root) is not C1: return None
                if len(root) != 2: return None
                node1, node2 = root
                if type(node1) is not C2: return None
                if len(node1) != 1: return None
                leaf1, = node1
                if type(leaf1) not in K1: return None
                if type(node2) is not C2: return None
                if len(node2) != 1: return None
                leaf2, = node2
                if type(leaf2) not in K1: return None
                leaves += (leaf1, leaf2)
                if len(leaves) != 2: return None
            except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
                return None
            return leaves, counted
        <BLANKLINE>
    """
    writer = _Writer(graph)
    try:
        writer.write()
    except _TooLongError:
        return None
    return writer.text


class _TooLongError(Exception):
    """There are too many lines."""


class _Writer:
    """Writes a function.

    Attributes:
        text: The text.
        graph: The description.
        waiting: What goes into the lists of the function next, by their names.
        loops: How many loops are around.
    """

    def __init__(self, graph: GraphReading) -> None:
        self.text = Text()
        self.graph = graph
        self.waiting: dict[str, list[str]] = {"leaves": [], "counted": [], "again": []}
        self.loops = 0

    def write(self) -> None:
        """Write the whole function."""
        text, graph = self.text, self.graph
        text.lines += [
            "def collect(root):",
            "    leaves, counted, again = [], [], []",
            "    try:",
        ]
        text.indent = "        "
        self.node(graph.root, "root")
        self.flush()
        self.refuse_if(f"len(leaves) != {graph.values}")
        if graph.counted:
            self.refuse_if(f"len({{*map(id, counted)}}) != {graph.counted}")
        if graph.again:
            text.add(f"for node, number in zip(again, {text.name(graph.again)}):")
            text.add("    if node is not counted[number]: return None")
        text.indent = "    "
        text.add(CATCH)
        text.add("    return None")
        text.add("return leaves, counted")

    def refuse_if(self, condition: str) -> None:
        """Write that a graph is another one under a condition."""
        self.text.add(f"if {condition}: return None")

    def keep(self, name: str, value: str) -> None:
        """Let a value go into one of the lists."""
        self.waiting[name].append(value)
        if len(self.waiting[name]) > _PIECE:
            self.flush()

    def flush(self) -> None:
        """Write that what waits goes into the lists."""
        if len(self.text.lines) > _MAX_LINES:
            raise _TooLongError
        for name, values in self.waiting.items():
            if len(values) == 1:
                self.text.add(f"{name}.append({values[0]})")
            elif values:
                self.text.add(f"{name} += {tuple_of(values)}")
            values.clear()

    # --------------------------------------------------------------------- nodes

    def node(self, reading: Reading, var: str) -> None:
        """Read a node."""
        self.refuse_if(f"type({var}) is not {self.text.name(reading.cls)}")
        names: dict[str, str] = {}

        def at(source: Sequence[object]) -> str:
            if not source:
                return var
            attribute = str(source[0])
            if attribute not in names:
                names[attribute] = self.text.fresh("attribute")
                self.text.add(f"{names[attribute]} = {var}.{attribute}")
            if len(source) == 1:
                return names[attribute]
            return f"{names[attribute]}[{self.text.written(source[1])}]"

        for check in reading.checks:
            self.check(check, at(check.source))
        if reading.is_counted:
            self.keep("counted", var)
        if reading.value is not None:
            value = self.text.fresh("leaf")
            self.text.add(f"{value} = {at(reading.value)}")
            self.keep("leaves", value)
        if callable(reading.whole):
            items = self.text.fresh("children")
            self.text.add(f"{items} = {self.text.name(reading.whole)}({var})")
            self.refuse_if(f"{items} is None")
            self.sequence(reading.children, items)
        elif reading.whole is not None:
            self.sequence(reading.children, at(reading.whole))
        for child, source in zip(reading.children, reading.sources, strict=False):
            name = self.name_of(child)
            self.text.add(f"{name} = {at(source)}")
            self.child(child, name)

    def check(self, check: Check, value: str) -> None:
        """Write what must hold."""
        if check.test == "len":
            self.refuse_if(f"len({value}) != {check.known}")
            return
        known = self.text.name(check.known)
        if check.test == "is":
            self.refuse_if(f"{value} is not {known}")
        elif check.test == "==":
            self.refuse_if(f"{value} != {known}")
        else:
            name = self.text.fresh("static")
            test = self.text.name(check.test)
            self.text.add(f"{name} = {value}")
            self.refuse_if(f"{name} is not {known} and not {test}({name}, {known})")

    def name_of(self, child: Child) -> str:
        """Return a new name for a child."""
        return self.text.fresh("leaf" if child == VALUE else "node")

    def child(self, child: Child, name: str) -> None:
        """Read a child that has a name."""
        if isinstance(child, Reading):
            self.node(child, name)
        elif child == AGAIN:
            self.keep("again", name)
        else:
            known = self.text.name(self.graph.leaf_types)
            self.refuse_if(f"type({name}) not in {known}")
            self.keep("leaves", name)

    def sequence(self, children: Sequence[Child], items: str) -> None:
        """Read the children in a sequence, equal neighbours in a loop."""
        if 0 < len(children) <= _UNROLLED:
            names = [*map(self.name_of, children)]
            self.text.add(f"{', '.join(names)}{',' * (len(names) == 1)} = {items}")
            for child, name in zip(children, names, strict=True):
                self.child(child, name)
            return
        start = 0
        for _, same in groupby(children, key=id):
            child, *more = same
            count = 1 + len(more)
            end = start + count
            if count > _UNROLLED and self.loops < _MAX_LOOPS:
                whole = count == len(children)
                self.loop(child, items if whole else f"{items}[{start}:{end}]")
            else:
                for place in range(start, end):
                    name = self.name_of(child)
                    self.text.add(f"{name} = {items}[{place}]")
                    self.child(child, name)
            start = end

    def loop(self, child: Child, items: str) -> None:
        """Read equal neighbours."""
        self.flush()
        name = self.name_of(child)
        self.text.add(f"for {name} in {items}:")
        self.text.indent += "    "
        self.loops += 1
        self.child(child, name)
        self.flush()
        self.loops -= 1
        self.text.indent = self.text.indent[:-4]

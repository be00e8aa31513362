"""Generated functions that ask a predicate: `flatten(tree, ask)`.

Such a function reads the trees of one structure, whatever the predicate, and asks it of
each node and each leaf in the order of the walk. A leaf is what the predicate says is
one, or what has the type of one, so it may answer either way there; of a node it must
say no.

Where a tree turns out to be another one, what was asked cannot be asked again. So the
function raises, and the line and the local variables tell where the walk would be by
now: which leaves it would have, and what is left of the nodes above. It goes on from
there. The path in an error that the predicate raises is found in the same way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import CodeType, TracebackType
from typing import Any, Final, TypeAlias

from ..core.walk import Begun, Code, locate
from ..safely import Record
from .emit import FAILURES, SPREAD, Constants, Text
from .flatten import Writer, expanded
from .plan import Part, Plan, Run, is_loop


Asking: TypeAlias = "Callable[[Any, Any], tuple[list[Any], Any] | None]"

MAX_DEPTH: Final = 50
"""How deep a structure may be: so deep the walk goes by recursion alone."""


class Missed(Exception):
    """A tree has another structure than the function it is read by."""


class _Open(Record):
    """A node of which a child is looked at, with what comes after this child.

    Attributes:
        part: The node.
        above: The node above in the same function, if any.
        source: The names of the children, or that of the sequence of them.
        place: The place of the child; in a loop, that of the last child of the loop.
        rest: The name of the loop's iterator, if there is a loop.
        aux: The name of the aux data, if it varies.
    """

    __slots__ = __match_args__ = ("part", "above", "source", "place", "rest", "aux")

    part: Part
    above: _Open | None
    source: str | list[str]
    place: int
    rest: str
    aux: str

    def position(self) -> str:
        """Return an expression for the place of the child."""
        if not self.rest:
            return str(self.place)
        return f"{self.place} - {self.rest}.__length_hint__()"

    def following(self) -> str:
        """Return an expression for the children that come after it."""
        after = self.place + 1
        if isinstance(self.source, str):
            left = f"*{self.source}[{after}:]"
        else:
            left = ", ".join(self.source[after:])
        return f"[*{self.rest}, {left}]" if self.rest else f"[{left}]"


_Chain: TypeAlias = "tuple[Any, str] | None"
"""What waits to be collected, the last first."""


class _Mark:
    """What a line of a generated function is about.

    Attributes:
        kind: `ask`: the predicate is asked of a variable; `read`: what it was asked of
            is looked at; `call`: the same, in a function of its own.
        var: The variable, with a node or a leaf.
        above: The node above, in the same function.
        leaves: The leaves that are not collected yet.
        varying: Aux data that is not collected yet.
        state: An expression for all this, once it was wanted.
    """

    __slots__ = ("above", "kind", "leaves", "state", "var", "varying")

    def __init__(
        self, kind: str, var: str, above: _Open | None, leaves: _Chain, varying: _Chain
    ) -> None:
        self.kind = kind
        self.var = var
        self.above = above
        self.leaves = leaves
        self.varying = varying
        self.state: CodeType | None = None

    def opened(self) -> list[_Open]:
        """Return the nodes above in the same function, from the root down."""
        nodes, node = [], self.above
        while node is not None:
            nodes.append(node)
            node = node.above
        return nodes[::-1]

    def evaluated(self, names: dict[str, Any]) -> Any:
        """Return the value, the leaves, the aux data, and what is left of each node."""
        if self.state is None:
            above = [
                f"({node.position()}, {node.following()}, {node.aux})"
                for node in self.opened()
            ]
            lists = map(_listed, (self.leaves, self.varying, above))
            text = f"({self.var}, {', '.join(lists)})"
            self.state = compile(text, "<leafwise state>", "eval")
        return eval(self.state, {"__builtins__": {}}, names)


def _listed(items: Any) -> str:
    """Return a list display of expressions, or of a chain of them."""
    if not isinstance(items, list):
        chain, items = items, []
        while chain is not None:
            chain, item = chain
            items.append(item)
        items.reverse()
    return f"[{', '.join(items)}]"


class _MarkedText(Text):
    """Lines of Python, with what each is about."""

    __slots__ = ("mark", "marks")

    def __init__(self, constants: Constants | None) -> None:
        super().__init__(constants)
        self.mark: _Mark | None = None
        self.marks: list[_Mark | None] = []

    def add(self, line: str) -> None:
        super().add(line)
        self.marks.append(self.mark)


class _Asker(Writer):
    """Writes the function that reads a tree and asks a predicate.

    Attributes:
        open: The node whose children are read.
        chains: What waits to be collected, by the name of the list.
        aux: The name of the aux data of the node that is read, if it varies.
    """

    text: _MarkedText

    def __init__(self, plan: Plan, constants: Constants | None) -> None:
        super().__init__(plan, constants, exact=True)
        self.text = _MarkedText(constants)
        self.at_once = True
        self.records = False
        self.missed = "raise Missed"
        self.open: _Open | None = None
        self.chains: dict[str, _Chain] = {"leaves": None, "varying": None}
        self.aux = "None"

    # ---------------------------------------------------------------- functions

    def write(self) -> None:
        """Write the function for the whole tree, and those that it calls."""
        text = self.text
        text.names["Missed"] = Missed
        text.add("def flatten(tree, ask):")
        text.deeper()
        text.add("try:")
        text.deeper()
        self.ask(self.plan.root, "tree", inside=False)
        self.flush()
        made = "treedef_with(varying)" if self.plan.varying else "TREEDEF"
        text.add(f"return leaves, {made}")
        text.back()
        text.add("except Exception as error:")
        text.add("    begun = where(error)")
        text.add("    if begun is None: raise")
        text.add("return go_on(begun, tree, ask)")
        self.write_functions()

    def write_functions(self) -> None:
        self.text.indent = ""
        while self.to_write:
            part = self.to_write.pop()
            self.text.add(
                f"def {self.functions[id(part)]}(node, ask, leaves, varying):"
            )
            self.text.deeper()
            self.started = True
            self.mark("read", "node")
            self.node(part, "node", inside=False)
            self.text.mark = None
            self.flush()
            self.text.back()

    def mark(self, kind: str, var: str, more: str = "") -> None:
        """Take note of what the lines that follow are about."""
        leaves, varying = self.chains["leaves"], self.chains["varying"]
        if more:
            leaves = leaves, more
        self.text.mark = _Mark(kind, var, self.open, leaves, varying)

    # ---------------------------------------------------------------- collecting

    def flush(self) -> None:
        super().flush()
        self.chains = {"leaves": None, "varying": None}
        mark = self.text.mark
        if mark is not None:
            self.text.mark = _Mark(mark.kind, mark.var, mark.above, None, None)

    def wait(self, name: str, *items: str) -> None:
        super().wait(name, *items)
        for item in items:
            self.chains[name] = self.chains[name], item

    def name_leaves(self) -> None:
        """Leave the leaves as they are: each has been asked for its type."""

    def varying_aux(self, part: Part, aux: str) -> list[str]:
        names = super().varying_aux(part, aux)
        self.aux = names[0] if names else "None"
        return names

    # ---------------------------------------------------------------- nodes, leaves

    def ask(self, part: Part | None, var: str, *, inside: bool = True) -> None:
        """Write that the predicate is asked of a node or leaf, and how it is read."""
        if part is None:
            self.ask_leaf(var)
            self.wait("leaves", var)
            return
        self.mark("ask", var)
        self.refuse_if(f"ask({var})")
        self.mark("read", var)
        self.node(part, var, inside=inside)
        self.text.mark = None

    def ask_leaf(self, var: str, before: str = "") -> None:
        """Write that the predicate is asked of a leaf, and then the leaf for its type.

        Args:
            var: The leaf.
            before: The leaves before it, where they are not collected yet.
        """
        self.mark("ask", var, before)
        self.text.add(f"if not ask({var}) and type({var}) is not T:")
        self.text.deeper()
        self.mark("read", var, before)
        self.refuse_if(f"type({var}) not in leaf_types")
        self.text.back()
        self.text.mark = None

    def node(self, part: Part, var: str, *, inside: bool = True) -> None:
        if inside and part.own:
            self.flush()
            self.mark("call", var)
            function = self.function_of(part)
            self.text.add(f"{function}({var}, ask, leaves, {self.varying})")
        else:
            super().node(part, var, inside=False)

    def may_append(self, part: Part) -> bool:
        """Return False: leaves are asked about one by one."""
        return False

    def is_read_once(self, part: Part) -> bool:
        """Return False: what is left of the children is asked for, too."""
        return False

    # ------------------------------------------------------------------- children

    def children(self, part: Part, values: list[str]) -> None:
        names = [*values]
        for place, (child, value) in enumerate(
            zip(expanded(part.runs), values, strict=True)
        ):
            if not value.isidentifier():
                names[place] = self.text.fresh("leaf" if child is None else "node")
                self.text.add(f"{names[place]} = {value}")
        self.ask_children(part, names)

    def spread(self, part: Part, items: str) -> None:
        self.ask_children(part, items)

    def ask_children(self, part: Part, source: str | list[str]) -> None:
        """Write what is done with each child.

        Args:
            part: The node.
            source: The names of the children, or that of a sequence which has them and
                which nobody changes.
        """
        above, aux, self.aux = self.open, self.aux, "None"
        self.text.mark = None
        start = 0
        for child, count in part.runs:
            end = start + count
            if _in_turn(child, count, source):
                self.open = _Open(
                    part, above, source, end - 1, self.text.fresh("rest"), aux
                )
                self.ask_in_turn(child, start, end)
            else:
                for place in range(start, end):
                    self.open = _Open(part, above, source, place, "", aux)
                    self.ask(child, self.name_of(child, place))
            start = end
        self.open = above

    def name_of(self, child: Part | None, place: int) -> str:
        """Return the name of a child; it gets one if it has none."""
        node: Any = self.open
        source = node.source
        if not isinstance(source, str):
            return str(source[place])
        name = self.text.fresh("leaf" if child is None else "node")
        self.text.add(f"{name} = {source}[{place}]")
        return name

    def ask_in_turn(self, child: Part | None, start: int, end: int) -> None:
        """Write a loop over equal neighbours."""
        node: Any = self.open
        source, rest = node.source, node.rest
        if not isinstance(source, str):
            piece = f"[{', '.join(source[start:end])}]"
        else:
            piece = (
                source if end - start == node.part.arity else f"{source}[{start}:{end}]"
            )
        if child is not None:
            self.flush()
        self.text.add(f"{rest} = iter({piece})")
        name = self.text.fresh("leaf" if child is None else "node")
        self.text.add(f"for {name} in {rest}:")
        self.text.deeper()
        if child is None:
            self.ask_leaf(name, f"*{source}[{start}:{node.position()}]")
        else:
            self.ask(child, name)
            self.flush()
        self.text.back()
        if child is None:
            self.wait("leaves", f"*{piece}")


def _in_turn(child: Part | None, count: int, source: str | list[str]) -> bool:
    """Return whether neighbours are asked about in a loop."""
    if child is None:
        return isinstance(source, str) and count >= SPREAD
    return is_loop(child, count)


def emit_asking(plan: Plan, constants: Constants | None = None) -> _MarkedText:
    """Return the text of a `flatten` that takes a predicate.

    To be filled in are: `ask`'s helpers `where`, which takes an error and returns what
    `go_on` takes, or None if the error is one of the user; `T`, a type of leaves;
    `leaf_types`, all of them that are known; and `TREEDEF` or `treedef_with`, as in
    the function without a predicate.
    """
    writer = _Asker(plan, constants)
    writer.write()
    return writer.text


class _NoLeaf:
    """A type that no leaf has."""


def commonest(leaves: list[Any], known: set[type]) -> type:
    """Return the type that most leaves have, of the types that are known as leaves."""
    counts: dict[type, int] = {}
    for cls in map(type, leaves):
        if cls in known:
            counts[cls] = counts.get(cls, 0) + 1
    return max(counts, key=counts.__getitem__, default=_NoLeaf)


# --------------------------------------------------------------------------- going on


class Places:
    """Where a generated function was when it raised.

    Args:
        plan: The plan that it was made of.
        file: The name of its file.
        marks: What its lines are about.
        code: The code of the structure.
    """

    __slots__ = ("_code", "_entries", "_file", "_marks", "_plan")

    def __init__(
        self, plan: Plan, file: str, marks: list[_Mark | None], code: Code
    ) -> None:
        self._plan = plan
        self._file = file
        self._marks = marks
        self._code = code
        self._entries: dict[int, int] = {}
        for part in plan.parts:  # children before parents
            below = (_entries_in(run, self._entries) for run in part.runs)
            self._entries[id(part)] = 1 + sum(below)

    def where(self, error: Exception) -> Begun | None:
        """Return how far a walk would be, None if the error is not of the tree.

        Called while the error is handled; if it is the predicate's, it is told where
        that was. In lines that are about nothing only somebody else can raise, such as
        the handler of a signal.
        """
        steps = [*self._steps(sys.exc_info()[2])]  # whatever the class says it is
        mark = steps[-1][0]
        if mark is None:
            return None
        is_asking = mark.kind == "ask"
        is_miss = type(error) is Missed
        if not (is_asking or is_miss or isinstance(error, FAILURES)):
            return None
        begun = self._begun(steps)
        begun.stopped = is_asking  # and it said yes
        if is_asking and not is_miss:
            locate(error, begun.trail())
            return None
        return begun

    def _steps(
        self, at: TracebackType | None
    ) -> Iterator[tuple[_Mark | None, dict[str, Any]]]:
        """Yield the lines of our functions that were under way, and their variables."""
        while at is not None and at.tb_frame.f_code.co_filename == self._file:
            line: int | None = at.tb_lineno  # None between the lines
            mark = None if line is None else self._marks[line - 1]
            names = at.tb_frame.f_locals
            yield mark, dict(names)
            if type(names) is dict:  # kept by the frame, with the error: a cycle
                names.clear()
            at = at.tb_next if mark is not None and mark.kind == "call" else None

    def _begun(self, steps: Any) -> Begun:
        """Return how far a walk would be."""
        begun = Begun()
        varying: list[Any] = []
        done = 0
        for mark, names in steps:
            begun.node, leaves, waiting, above = mark.evaluated(names)
            begun.leaves = [*names.get("leaves", ()), *leaves]
            varying = [*(names.get("varying") or ()), *waiting]
            for node, (position, rest, aux) in zip(mark.opened(), above, strict=True):
                part = node.part
                begun.above.append(
                    (
                        iter(rest),
                        part.rule,
                        part.arity,
                        aux if part.varies else part.aux,
                    )
                )
                done += self._entries_before(part, position)
        begun.code = [*self._code[:done]]
        for place, aux in zip(self._plan.varying, varying, strict=False):
            if place >= done:  # a signal's handler raised before it was counted
                break
            run, rule, arity, _ = begun.code[place]
            begun.code[place] = (run, rule, arity, aux)
        return begun

    def _entries_before(self, part: Part, position: int) -> int:
        """Return how many nodes are below the children before one."""
        entries = 0
        for child, count in part.runs:
            entries += _entries_in((child, min(count, position)), self._entries)
            position -= count
            if position <= 0:
                break
        return entries


def _entries_in(run: Run, entries: dict[int, int]) -> int:
    child, count = run
    return 0 if child is None else count * entries[id(child)]

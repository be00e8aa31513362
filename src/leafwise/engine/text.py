"""Texts: what is generated for a structure, from its plan to Python.

A plan is a graph of `Part`s, one for each kind of subtree: equal subtrees are one
part, and equal neighbours are one run of it. So its size is that of what differs in
a structure, not that of the structure. There are four functions for a plan:

    flatten(tree): the leaves and the treedef of a tree of just this structure, None
        for any other. Reads and checks types and keys in one pass, and the types of
        all leaves at once.
    flatten(tree, ask): the same, asking a predicate of each node and leaf on the way.
    flatten_up_to(treedef, tree): what a tree has at the leaves; None if it may differ.
    unflatten(treedef, leaves): a tree.

One more, `read`, reads an object. What is needed at run time besides is filled in by
whoever compiles the texts.

Objects have names in a text (classes `C1`, functions `F1`, keys and other values
`K1`), which are globals of the function, and the names of locals come from counters. Of
user data only ints and strings that look like names are written out, and the names of
attributes. No other string may be: an equal one would stand for it, but keys have
to be the same objects everywhere, so that most of them compare by identity.
"""

from __future__ import annotations

import enum
import keyword
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, groupby, repeat
from operator import itemgetter, length_hint
from typing import Any, Final, NamedTuple

from .._runtime import late_imports
from .._text import short_repr
from ..core import builtins, keys
from ..core import node as nodes
from ..core.builtins import DICT, MappingRule
from ..core.walk import Code, Failed, reference


_MAX_ENTRIES, _MAX_DEPTH, _MAX_LOOPS, _MAX_WEIGHT = 1_000_000, 250, 16, 2_000
_MAX_FILES, _LONGEST_NAME = 2_000, 64
_SPREAD, _FEW, _FEW_KEYS = 4, 12, 32
_WIDE, _STORED, _NESTED = 16, 256, 12
UNROLLED: Final = 80
"""How much text equal neighbours may take, if each is written out."""
FEW_LEAVES: Final = 128
"""How many leaves are asked for their types one by one, if all have names."""


# ------------------------------------------------------- values, to the last bit

_SCALARS: Final = frozenset({bool, bytes, int, str, type(None)})
_KEYS: Final = (keys.DictKey, keys.FlattenedIndexKey, keys.GetAttrKey, keys.SequenceKey)
_ALL_STR: Final = frozenset({str})


class _NotInertError(Exception):
    """A value is mutable, is compared by its class's own rules, or is not known."""


def _exact_key(value: Any) -> Hashable:
    """Return a key that two values share only if one can stand for the other.

    Raises:
        _NotInertError: The value is not inert.
    """
    cls = type(value)
    if cls in _SCALARS:
        return cls, value
    if cls is float and value == value:
        return cls, value.hex()
    if cls is tuple:
        return cls, tuple(map(_exact_key, value))
    if cls in _KEYS:
        return cls, tuple(map(_exact_key, value._values()))
    if issubclass(cls, type | enum.Enum):
        return cls, id(value)
    raise _NotInertError


def exactly(value: Any, known: Any) -> bool:
    """Return whether a value can stand for an inert one.

    Example:
        >>> from leafwise.engine.text import exactly
        >>> exactly((1, 2.0), (1, 2.0)), exactly((1, 2), (1, 2.0)), exactly(-0.0, 0.0)
        (True, False, False)
    """
    if value is known:
        return True
    try:
        return _exact_key(value) == _exact_key(known)
    except _NotInertError:
        return False


# ------------------------------------------------------------------------- plans


_PLAIN: Final = {builtins.LIST, builtins.TUPLE, builtins.NONE, builtins.NAMEDTUPLE}
_MAPPINGS: Final = ("dict", "defaultdict", "OrderedDict")


class _Varies(tuple[Any, ...]):
    """Stands for aux data that is read anew; holds what of it does not vary."""

    __slots__ = ()


class Part:
    """One kind of subtree.

    Attributes:
        kind: How the node is read: `list`, `tuple`, `None`, `dict`, `defaultdict`,
            `OrderedDict`, `namedtuple`, `record` (attributes), `shaped`
            (attributes that the node tells), `custom` (two functions), `keyed` (two
            functions, which give keys as well) or `called` (the rule itself).
        rule: The rule of the node.
        cls: The class that a node must have.
        aux: Its aux data, None where it varies.
        shape: The shape of a `shaped` node, None for all others.
        runs: Its children, equal neighbours together.
        arity: The number of its children.
        varies: Whether its aux data is read anew each time.
        leaves: How many leaves are below it.
        weight: How much text it takes.
        depth: How many nodes are on the longest way down.
        loops: How many loops are in one another.
        calls_user: Whether reading it, or something below it, runs functions that
            were registered.
    """

    def __init__(
        self, kind: str, rule: nodes.Rule, aux: Any, runs: Any, *, varies: bool
    ) -> None:
        self.kind = kind
        self.rule = rule
        self.cls: type = rule.class_of(aux)
        self.aux: Any = None if varies else aux
        self.shape: Any = aux.fields if kind == "shaped" else None
        self.runs = runs
        self.arity = sum(count for _, count in runs)
        self.varies = varies
        self.leaves = self.loops = 0
        self.weight = self.depth = 1
        self.calls_user = isinstance(rule.form, nodes.Functions)
        for part, count in runs:
            if part is None:
                self.leaves += count
                self.weight += min(count, 4)
                continue
            loop = is_loop(part, count)
            self.leaves += count * part.leaves
            self.weight += 2 + part.weight if loop else count * part.weight
            self.depth = max(self.depth, 1 + part.depth)
            self.loops = max(self.loops, part.loops + loop)
            self.calls_user |= part.calls_user

    def children(self) -> Iterator[Part | None]:
        """Return an iterator over the children."""
        return chain.from_iterable(repeat(part, count) for part, count in self.runs)

    @property
    def keys(self) -> keys.DictKeys:
        """The keys of a mapping."""
        return self.rule.keys_in(self.aux)  # type: ignore[attr-defined,no-any-return]


class Plan(NamedTuple):
    """What the engine knows about one structure.

    Attributes:
        root: The part of the root.
        parts: All parts, children before parents.
        varying: For each node whose aux data varies, its index in the code.
    """

    root: Part
    parts: tuple[Part, ...]
    varying: tuple[int, ...]


def is_loop(part: Part | None, count: int) -> bool:
    """Return whether a run is a loop, rather than the same text again and again."""
    return part is not None and count > 1 and part.weight * count > UNROLLED


def _kind_of(rule: nodes.Rule, aux: Any) -> str:
    form = rule.form
    if isinstance(form, nodes.Fields) and all(map(_is_plain, (*form.data, *form.meta))):
        return "record"
    if isinstance(form, nodes.Shaped):
        return "shaped"
    if isinstance(form, nodes.Functions):
        return "custom" if aux[1] is None else "keyed"
    is_known = rule in _PLAIN or isinstance(rule, MappingRule)
    return rule.name.partition(" ")[0] if is_known else "called"


def _identify(rule: nodes.Rule, aux: Any) -> tuple[str, Hashable]:
    """Return the kind of a node, and a key for its aux data."""
    if rule is DICT and _ALL_STR.issuperset(map(type, aux.inserted)):
        return "dict", aux.inserted  # the commonest, with fewer calls
    kind = _kind_of(rule, aux)
    try:
        if kind == "shaped":
            return kind, (aux.fields, _exact_key(aux.values))
        if kind == "defaultdict":  # the order follows from the keys
            return kind, _exact_key((aux[0].inserted, aux[1]))
        if kind in _MAPPINGS:
            return kind, _exact_key(aux.inserted)
        return kind, _exact_key(aux)
    except (_NotInertError, RecursionError):
        if kind == "shaped":
            return kind, _Varies((_Varies, aux.fields))
        known = kind if kind in ("record", "custom") else "called"
        return known, _Varies((_Varies, rule.class_of(aux)))


def structure_key(code: Code) -> tuple[Any, ...]:
    """Return a key that structures share only if one plan serves all of them.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.engine.text import structure_key
        >>> one, other = lw.tree_structure({1: 0}), lw.tree_structure({True: 0})
        >>> one == other, structure_key(one._code) == structure_key(other._code)
        (True, False)
    """
    return tuple(
        [
            (run, rule, arity, None if aux is None else _identify(rule, aux)[1])
            for run, rule, arity, aux in code
        ]
    )


def make_plan(code: Code) -> Plan | None:
    """Return the plan of a structure, None if it is best left to the walk.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.engine.text import make_plan
        >>> treedef = lw.tree_structure({"layers": [(0, 0)] * 100, "step": 0})
        >>> [part.kind for part in make_plan(treedef._code).parts]
        ['tuple', 'list', 'dict']
    """
    if not 0 < len(code) <= _MAX_ENTRIES:
        return None
    known: dict[Hashable, Part] = {}
    stack: list[Part | None] = []
    varying: list[int] = []
    for index, (run, rule, arity, aux) in enumerate(code):
        stack += [None] * run
        children = stack[len(stack) - arity :]
        del stack[len(stack) - arity :]
        kind, identity = _identify(rule, aux)
        varies = type(identity) is _Varies
        if varies:
            varying.append(index)
        runs = tuple((part, len([*same])) for part, same in groupby(children))
        key = (rule, identity, runs)
        part = known.get(key)
        if part is None:
            part = known[key] = Part(kind, rule, aux, runs, varies=varies)
            if part.depth > _MAX_DEPTH or part.loops > _MAX_LOOPS:
                return None
            if part.weight > _MAX_WEIGHT:
                return None
        stack.append(part)
    parts = tuple(known.values())
    return Plan(parts[-1], parts, tuple(varying))


# ------------------------------------------------------- what runs beside the text

FAILURES: Final = (AttributeError, KeyError, TypeError, ValueError, RecursionError)
"""What reading a tree of another structure raises, or one for which the stack is short.

Anything else is the caller's: what a signal handler raises, for one."""

_CATCH: Final = f"except ({', '.join(error.__name__ for error in FAILURES)}):"


_HAND_OVER: Final = (
    "except Exception as error:",
    "    index = before - length_hint(rest)",
    "    answers = answers_of(error, at, index, calls)",
    "    if answers is None: raise",
    "return go_on(tree, calls, ask, answers)",
)


class _Missed(Exception):
    """A tree has another structure than the function that reads it."""


def _answers_of(
    leaves: list[bool], error: Exception, at: int, before: int, calls: Any
) -> list[Any] | None:
    """Return what a predicate answered, until a generated function had to give up.

    Of what was a leaf in any case, the answer is said to be yes. What a function of the
    user raised that flattens is noted, for the walk to raise where it gets there.

    Args:
        leaves: For each node and leaf of the structure whether it is a leaf.
        error: What was raised.
        at: Twice the number of the question that was asked last, and one more once the
            answer was no.
        before: What is to be added to the number of the question.
        calls: The calls of flatten functions so far, as `flatten` of the walk has them.

    Returns:
        The answers; the last is the error, if the predicate raised it. None if the
        error is somebody else's.
    """
    number, is_answered = divmod(at, 2)
    number += before
    if type(error) is not _Missed and not is_answered:
        return [*leaves[:number], error]
    if len(calls) % 2:  # it was called, and has not returned
        failed = Failed()
        failed.__cause__ = error
        calls.append(failed)
    elif not isinstance(error, (*FAILURES, _Missed)):
        return None
    if number < 0:
        return []
    return [*leaves[:number], leaves[number] is bool(is_answered)]


def _explain_failure(treedef: Any, leaves: list[Any], error: Exception) -> Any:
    """Rebuild by the code, to learn where it fails; raise what failed in any case.

    Running out of stack is no failure of the tree: the code needs none.
    """
    # the frame of its traceback holds the error: a cycle, with the leaves
    BaseException.with_traceback(error, None)
    tree = reference.unflatten(treedef, leaves)
    if isinstance(error, RecursionError):
        return tree
    raise error


_TOOLS: Final[dict[str, Any]] = {
    "Missed": _Missed,
    "copy_dict": dict.copy,
    "exactly": exactly,
    "explain_failure": _explain_failure,
    "length_hint": length_hint,
}


# ------------------------------------------------------------------------- texts

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
        self.names: dict[str, Any] = {}
        self._known: dict[int, str] = {}
        self._counts: dict[str, int] = {}

    def name(self, value: Any) -> str:
        """Return the name of an object."""
        name = self._known.get(id(value))
        if name is None:
            letter = "C" if isinstance(value, type) else "F" if callable(value) else "K"
            name = self._known[id(value)] = self.fresh(letter)
            self.names[name] = value
        return name

    def written(self, value: Any) -> str:
        """Return what to write for an object that is not compared by identity."""
        is_plain = type(value) is int and value.bit_length() < 64
        if type(value) is str and len(value) <= _LONGEST_NAME and value.isascii():
            is_like_a_name = value.replace("_", "a").isalnum()
            is_plain = is_like_a_name and sys.intern(value) is value
        return repr(value) if is_plain else self.name(value)

    def fresh(self, what: str) -> str:
        """Return a name that is not used yet, by what it stands for."""
        count = self._counts[what] = self._counts.get(what, 0) + 1
        return f"{what}{count}"

    def add(self, *lines: str) -> None:
        """Write lines at the current indentation."""
        self.lines += [self.indent + line for line in lines]

    def kept(self, value: str, what: str = "node") -> str:
        """Write that a value gets a name, and return the name."""
        name = self.fresh(what)
        self.add(f"{name} = {value}")
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
            f"# {name} = {short_repr(value)}" for name, value in self.names.items()
        ]
        return "\n".join([*comments, str(self)])

    def compiled(self, name: str) -> Callable[..., Any]:
        """Return the function of that name.

        The lines are put into `linecache`, by which tracebacks, `inspect.getsource` and
        debuggers find them.
        """
        with late_imports:
            import linecache  # before the first function it is of no use

        source = str(self)
        file = f"<leafwise {name} {hash(source) & 0xFFFFFFFFFF:x}>"
        names = {**_TOOLS, **self.names}  # no `__name__`: torch's compiler imports it
        exec(compile(source, file, "exec", dont_inherit=True), names)
        if len(_files) >= _MAX_FILES:
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


def _targets(names: Sequence[str]) -> str:
    """Return what a sequence is unpacked to."""
    return f"{', '.join(names)}{',' if len(names) == 1 else ''}"


def _tuple_of(items: Sequence[str]) -> str:
    return f"({_targets(items)})"


# ---------------------------------------------------------------- reading trees


class Reader(Text):
    """The text of a function that reads a tree.

    All that is read is of one time, as far as the walk promises it: what others may
    change meanwhile is copied in one step. What a tree yields is collected in two
    lists, a whole piece at a time: `leaves` and `varying` (aux data that varies).

    With a predicate, the tree may have just this structure, whatever the answers: a
    leaf is what the predicate says is one, or what has the type of one; of a node it
    must say no. The question that the function is at is noted. Where a tree turns out
    to be another one, the walk begins anew, and is given the answers that there are.

    Args:
        plan: The plan.
        exact: Whether the tree must have just this structure, else only as far down.
        asks: Whether a predicate is asked.
    """

    def __init__(self, plan: Plan, *, exact: bool = True, asks: bool = False) -> None:
        super().__init__()
        self._plan = plan
        self._exact = exact
        self._asks = asks
        self._records = exact and plan.root.calls_user
        self._missed = "raise Missed" if asks or self._records else "return None"
        self._started = False  # whether the two lists are there already
        self._named: list[str] = []  # the leaves, if each has a name
        self._waiting: dict[str, list[str]] = {"leaves": [], "varying": []}
        self._asked = 0  # questions since `before` was counted up
        self._steps: list[tuple[Any, ...]] = [(self._child, plan.root, "tree")]
        self._write()

    def _write(self) -> None:
        plan, hands_over = self._plan, self._asks or self._records
        head, result = "flatten_up_to(treedef, tree)", "leaves"
        if self._exact:
            asked = ", ask" if self._asks else ", ask=None" if hands_over else ""
            made = "treedef_with(varying)" if plan.varying else "TREEDEF"
            head, result = f"flatten(tree{asked})", f"leaves, {made}"
        with self.block(f"def {head}:"):
            if hands_over:
                made = "[]" if self._records else "()"
                self.add(f"at, before, rest, calls = -1, 0, (), {made}")
            with self.block("try:"):
                while self._steps:  # the last comes first: no recursion, at any depth
                    step, *given = self._steps.pop()
                    step(*given)
                self._flush()
                if self._exact and not self._asks and plan.root.leaves:
                    self._check_leaves()
                self.add(f"return {result}")
            if not hands_over:
                self.add(_CATCH, "    return None")
                return
            leaves = [*_leaves_of(plan.root)] if self._asks else []
            self.names["answers_of"] = partial(_answers_of, leaves)
            self.add(*_HAND_OVER)

    def _refuse_if(self, condition: str) -> None:
        """Write that a tree of which this holds is another one."""
        self.add(f"if {condition}: {self._missed}")

    def _record(self, value: str) -> None:
        """Write that a function of the user is called with a value, or returned it."""
        if self._records:
            self.add(f"calls.append({value})")

    # ---------------------------------------------------------------- collecting

    def _flush(self) -> None:
        """Write what waits to be collected."""
        leaves = self._waiting["leaves"]
        if not self._started and len(leaves) <= FEW_LEAVES:
            self._named = [name for name in leaves if name.isidentifier()]
        for name, items in self._waiting.items():
            if not self._started:
                is_copy = len(items) == 1 and items[0].startswith("*items")
                made = items[0][1:] if is_copy else f"[{', '.join(items)}]"
                if name == "leaves" or self._plan.varying:
                    self.add(f"{name} = {made}")
            elif len(items) < _SPREAD and all(map(str.isidentifier, items)):
                self.add(*[f"{name}.append({item})" for item in items])
            else:
                self.add(f"{name} += {_tuple_of(items)}")
            items.clear()
        self._started = True

    def _check_leaves(self) -> None:
        """Write that all leaves must be of types that are known to be leaves.

        They are mostly of the types that they had at first, or all of one type.
        """
        total = self._plan.root.leaves
        unknown = "not known_leaves(map(type, leaves))"
        if len(self._named) == total:
            named = enumerate(self._named, start=1)
            others = [f"type({name}) is not T{number}" for number, name in named]
            with self.block(f"if {' or '.join(others)}:"):
                self._refuse_if(unknown)
            return
        self.add("global ALIKE", "first = type(leaves[0])")
        mixed = f"[*map(type, leaves)].count(first) != {total}"
        with self.block(f"if ALIKE is None or {mixed}:"):
            self._refuse_if(unknown)
            self.add("ALIKE = None")
        self.add("elif first is not ALIKE and not known_leaves((first,)):")
        self.add(f"    {self._missed}")

    # ------------------------------------------------------------------ children

    def _child(self, part: Part | None, var: str) -> None:
        """Write how a node or a leaf in a variable is read, with all below it."""
        if self._asks:
            number, self._asked = self._asked, self._asked + 1
            self.add(f"at = {2 * number}")
            if part is None:
                self._ask_leaf(var)
            else:
                self._refuse_if(f"ask({var})")
                self.add(f"at = {2 * number + 1}")
        if part is None:
            self._waiting["leaves"].append(var)
        elif part.kind == "None":
            self._refuse_if(f"{var} is not None")
        else:
            self._refuse_if(f"type({var}) is not {self.name(part.cls)}")
            is_matched = part.kind in ("defaultdict", "keyed", "called")
            if is_matched and not self._exact:
                self._read_matched(part, var)
            else:
                getattr(self, f"_read_{part.kind}")(part, var)

    def _ask_leaf(self, leaf: str) -> None:
        other = f"type({leaf}) is not T and type({leaf}) not in leaf_types"
        self._refuse_if(f"not ask({leaf}) and {other}")

    def _item(self, child: Part | None, value: str) -> None:
        """Give a name to a child, and read it."""
        self._child(child, self.kept(value, "leaf" if child is None else "node"))

    def _sequence(self, part: Part, var: str, more: Sequence[str] = ()) -> None:
        """Read the children in a sequence: into names, or from a copy of it."""
        source: Any = var
        has_loop = any(is_loop(child, count) for child, count in part.runs)
        if 0 < part.arity <= _FEW and not has_loop:
            source = self._named_values(part, [])
            self.add(f"{_targets(source)} = {var}")
        else:
            if part.arity and part.kind != "tuple":  # others may change it meanwhile
                source = self.kept(f"[*{var}]", "items")
            self._refuse_if(f"len({source}) != {part.arity}")
        self._children(part, source, more)

    def _named_values(self, part: Part, values: Sequence[str]) -> list[str]:
        """Return a new name for each child, which is given to its value, if any."""
        kinds = ["leaf" if child is None else "node" for child in part.children()]
        names = [*map(self.fresh, kinds)]
        self.add(*[f"{name} = {value}" for name, value in zip(names, values)])  # noqa: B905
        return names

    def _children(
        self, part: Part, source: str | list[str], more: Sequence[str] = ()
    ) -> None:
        """Write what is done with each child, run by run, later.

        Args:
            part: The node.
            source: The names of the children, or that of a sequence which has them and
                which nobody changes.
            more: What is collected of the node itself, after its children.
        """
        start = 0
        steps: list[tuple[Any, ...]] = []
        for child, count in part.runs:
            end = start + count
            step: Any = self._item
            if isinstance(source, str):
                piece = source if count == part.arity else f"{source}[{start}:{end}]"
                single = [f"{source}[{index}]" for index in range(start, end)]
            else:
                single, step = source[start:end], self._child
                piece = _tuple_of(single)
            if is_loop(child, count):
                steps.append((self._loop, child, piece))
            elif child is None and count >= _SPREAD and isinstance(source, str):
                steps.append((self._leaves, count, piece))
            else:
                steps += [(step, child, value) for value in single]
            start = end
        steps.append((self._waiting["varying"].extend, more))
        self._steps += reversed(steps)

    def _leaves(self, count: int, items: str) -> None:
        """Read neighbouring leaves."""
        if self._asks:
            self._asked += count
            leaf = self.fresh("leaf")
            self.add(f"at, rest = {2 * self._asked - 2}, iter({items})")
            with self.block(f"for {leaf} in rest:"):
                self._ask_leaf(leaf)
        self._waiting["leaves"].append(f"*{items}")

    def _loop(self, child: Part, items: str) -> None:
        """Read equal neighbours."""
        self._flush()
        self._count_questions()
        name = self.fresh("node")
        self.add(f"for {name} in {items}:")
        self.indent += "    "
        self._steps += ((self._end_loop,), (self._child, child, name))

    def _end_loop(self) -> None:
        self._flush()
        self._count_questions()
        self.indent = self.indent[:-4]

    def _count_questions(self) -> None:
        """Write that the questions so far are all answered."""
        if self._asks:
            self.add("at = -1", f"before += {self._asked}")
        self._asked = 0

    # ---------------------------------------------------------- sequences, mappings

    _read_list = _read_tuple = _read_namedtuple = _sequence

    def _read_dict(self, part: Part, var: str) -> None:
        """Read a mapping: its keys, and each value by its key.

        Others may change it meanwhile, so keys and values that are to be paired by
        their order come from a copy, which is made in one step.
        """
        ordered = part.keys.ordered
        is_short = part.arity <= _FEW_KEYS
        by_order = ordered is part.keys.inserted and part.kind != "OrderedDict"
        if self._exact:
            if by_order and not is_short and part.kind == "dict":
                var = self.kept(f"copy_dict({var})", "copy")
            self._compare_keys(part.keys.inserted, var)
        else:
            self._refuse_if(f"len({var}) != {part.arity}")
        if is_short:
            values = [f"{var}[{self.written(key)}]" for key in ordered]
            self._children(part, self._named_values(part, values))
            return
        by_key = f"{self.name(itemgetter(*ordered))}({var})"
        items = f"[*{var}.values()]" if self._exact and by_order else by_key
        self._children(part, self.kept(items, "values"))

    _read_OrderedDict = _read_dict  # named after the kind

    def _read_defaultdict(self, part: Part, var: str) -> None:
        """Read a defaultdict by a copy: a missing key would be made."""
        self._refuse_if(f"{var}.default_factory is not {self.name(part.aux[1])}")
        self._read_dict(part, self.kept(f"copy_dict({var})", "copy"))

    def _compare_keys(self, keys: tuple[Any, ...], var: str) -> None:
        """Write that a mapping must have just these keys, in this order.

        They are mostly the very same objects, as names in a program are. If there are
        too many to look at each, they are compared at once, and their types.
        """
        types = [*map(type, keys)]
        if not keys or not _SCALARS.issuperset(types):
            differ = f"not exactly(tuple({var}), {self.name(keys)})"
            self._refuse_if(differ if keys else var)
            return
        differ, found, same = "", f"[*{var}]", self.fresh("keys")
        if len(keys) <= _FEW_KEYS:
            names = [self.fresh("key") for _ in keys]
            self.add(f"{_targets(names)} = {var}")
            if len(keys) <= _SPREAD:
                self._refuse_if(" or ".join(map(self._differs, names, keys)))
                return
            others = map("{} is not {}".format, names, map(self.name, keys))
            differ, found = f"({' or '.join(others)}) and ", f"[{', '.join(names)}]"
        other = f"[*map(type, {same})] != {self.name(types)}"
        known = self.name([*keys])
        self._refuse_if(f"{differ}(({same} := {found}) != {known} or {other})")

    def _differs(self, value: str, known: Any) -> str:
        """Return a condition: a value is another one, or of another type."""
        constant, cls = self.name(known), self.name(type(known))
        other = f"(type({value}) is not {cls} or {value} != {constant})"
        return f"{value} is not {constant} and {other}"

    # ------------------------------------------------------------------- objects

    def _read_record(self, part: Part, var: str) -> None:
        """Read attributes."""
        form = part.rule.form
        data = [f"{var}.{name}" for name in form.data]
        meta = [f"{var}.{name}" for name in form.meta]
        self._fields(part, data, meta, part.aux, _tuple_of(meta))

    def _read_shaped(self, part: Part, var: str) -> None:
        """Read attributes of a node that tells which it has."""
        form, shape = part.rule.form, part.shape
        layout = self.name(shape)
        self._refuse_if(f"{var}.{form.slot} is not {layout}")
        held = self.kept(f"{var}.__dict__", "attributes")
        self._refuse_if(f"len({held}) != {len(shape.names)}")
        data, static = (
            [f"{held}[{self.written(name)}]" for name in names]
            for names in (shape.data, shape.static)
        )
        aux = f"{self.name(form.aux_of)}({layout}, {_tuple_of(static)})"
        self._fields(part, data, static, part.aux and part.aux.values, aux)

    def _fields(
        self, part: Part, data: list[str], meta: list[str], known: Any, aux: str
    ) -> None:
        """Read children one by one; compare what is static, or collect it."""
        if not part.varies:
            for value, constant in zip(meta, known, strict=True):
                self._compare(value, constant)
        more = [self.kept(aux, "aux")] if part.varies else []
        self._children(part, self._named_values(part, data), more)

    def _compare(self, value: str, known: Any) -> None:
        """Write that a value must be just this one."""
        found = value if value.isidentifier() else self.kept(value, "static")
        differs = f"not exactly({found}, {self.name(known)})"
        if type(known) in _SCALARS:
            differs = self._differs(found, known)
        self._refuse_if(differs)

    def _read_custom(self, part: Part, var: str) -> None:
        """Read a node by the function that was registered.

        The keys that it gives, if it does, are mostly the same objects each time. What
        is not as usual is checked and made into keys as the rule does it.
        """
        form, keyed = part.rule.form, part.kind == "keyed"
        what = ("result", "children", "aux", "given")
        result, items, aux, given = map(self.fresh, what)
        unusual = [f"type({items}) is not tuple and type({items}) is not list"]
        differs = f"{given} is not None"
        if keyed:
            differs = f"not exactly({given}, {self.name(part.aux[1])})"
            unusual += [f"len({items}) != {part.arity}", f"type({given}) is not tuple"]
            unusual += [f"len({given}) != {part.arity}"]
            expected = enumerate(map(self.name, _given_for(part)))
            unusual += [f"{given}[{index}] is not {key}" for index, key in expected]
        self._flush()
        self._record(var)
        self.add(f"{result} = {self.name(form.flatten)}({var})")
        self._record(result)
        self._refuse_if(f"type({result}) is not tuple")
        self.add(f"{items}, {aux}{f', {given}' * keyed} = {result}")
        with self.block(f"if {' or '.join(unusual)}:"):
            if self._records:
                self.add("calls.pop()")
            checked = f"{self.name(form.checked)}({result})"
            self.add(f"{items}, ({aux}, {given}) = {checked}")
            self._record(f"({items}, {aux}, {given})")
            self._refuse_if(differs)
        if not part.varies:
            self._compare(aux, part.aux[0])
        more = [self.kept(f"({aux}, None)", "aux")] if part.varies else []
        self._sequence(part, items, more=more)

    _read_keyed = _read_custom

    def _read_called(self, part: Part, var: str) -> None:
        """Read a node by its rule."""
        items, aux = map(self.fresh, ("children", "aux"))
        call = f"{items}, {aux} = {self.name(part.rule.flatten)}({var})"
        self._flush()
        is_users = isinstance(part.rule.form, nodes.Functions)
        if is_users:
            self._record(var)
        self.add(call)
        if is_users:
            self._record(f"({items}, *{aux})")
        if not part.varies:
            self._refuse_if(f"not exactly({aux}, {self.name(part.aux)})")
        self._sequence(part, items, more=[aux] if part.varies else [])

    def _read_matched(self, part: Part, var: str) -> None:
        """Read a node as its rule matches it with another."""
        self._flush()
        match, aux = self.name(part.rule.match), self.name(part.aux)
        items = self.kept(f"{match}({aux}, {part.arity}, {var})", "children")
        self._refuse_if(f"{items} is None")
        self._sequence(part, items)


def _is_plain(name: str) -> bool:
    """Return whether an attribute may be written out."""
    reserved = keyword.iskeyword(name) or name == "__debug__"
    return name.isascii() and name.isidentifier() and not reserved


def _leaves_of(part: Part) -> Iterator[bool]:
    """Yield for each node and leaf, in the order of a walk, whether it is a leaf."""
    yield False
    for child in part.children():
        yield from [True] if child is None else _leaves_of(child)


def _given_for(part: Part) -> Any:
    """Return what a flatten function gives that gives its keys, most probably."""
    form = part.rule.form
    keys = part.aux[1]
    for given in (tuple([getattr(key, "entry", key) for key in keys]), keys):
        _, (_, found) = form.checked(((None,) * part.arity, None, given))
        if exactly(found, keys):
            return given
    return (object(),) * part.arity  # it is checked each time


# --------------------------------------------------------------- building trees


class _Leaves:
    """The leaves of a scope, a function or the body of a loop.

    Attributes:
        source: The name of the sequence of them.
        total: How many there are.
        at: How many are used by now.
        runs: The names of those that are used one by one, with where they begin.
    """

    def __init__(self, source: str, total: int) -> None:
        self.source = source
        self.total = total
        self.at = 0
        self.runs: list[tuple[int, list[str]]] = []

    def use(self, name: str) -> str:
        """Give a name to the next leaf."""
        start, names = self.runs[-1] if self.runs else (-1, [])
        if start + len(names) == self.at:
            names.append(name)
        else:
            self.runs.append((self.at, [name]))
        self.at += 1
        return name

    def piece(self, count: int) -> str:
        """Return an expression for the next leaves."""
        self.at += count
        if count == self.total:
            return self.source
        return f"{self.source}[{self.at - count}:{self.at}]"

    def unpacked(self) -> list[str]:
        """Return the lines that give the names."""
        return [
            f"{_targets(names)} = {self.source}"
            + (f"[{start}:{start + len(names)}]" if len(names) < self.total else "")
            for start, names in self.runs
        ]


class Builder(Text):
    """The text of a function that builds a tree."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._leaves = _Leaves("leaves", plan.root.leaves)
        with self.block("def unflatten(treedef, leaves):"):
            with self.block("try:"):
                if plan.varying:
                    self.names["VARYING"] = plan.varying
                    self.add("code = treedef._code")
                    self.add("varying = iter([code[index][3] for index in VARYING])")
                begin = len(self.lines)
                self.add(f"return {self._node(plan.root)}")
                head = [self.indent + line for line in self._leaves.unpacked()]
                self.lines[begin:begin] = head
            self.add("except Exception as error:", "    failed = error")
            self.add("return explain_failure(treedef, leaves, failed)")

    def _node(self, part: Part) -> str:
        """Return an expression for a part."""
        items: list[str] = []
        is_named = part.kind in _MAPPINGS and part.arity <= _STORED
        for child, count in part.runs:
            if child is None and count > _SPREAD and not is_named:
                items.append(f"*{self._leaves.piece(count)}")
            elif child is None:
                items += [self._leaves.use(self.fresh("leaf")) for _ in range(count)]
            elif is_loop(child, count):
                items.append(f"*{self._loop(child, count)}")
            else:
                items += [self._node(child) for _ in range(count)]
        value: str = getattr(self, f"_build_{part.kind}")(part, items)
        is_deep = part.depth % _NESTED == 0 and not value.isidentifier()
        return self.kept(value) if is_deep else value

    def _loop(self, part: Part, count: int) -> str:
        """Write how equal neighbours are built; return the name of their list."""
        size, outer = part.leaves, self._leaves
        result = self.fresh("node")
        piece = outer.piece(count * size)
        batch = self.fresh("batch")
        batches = piece if size == 1 else f"zip(*[iter({piece})] * {size})"
        if size == 0:
            batches = f"range({count})"
        inner = self._leaves = _Leaves(batch, size)
        begin, self.indent = len(self.lines), self.indent + "    "
        value = self._node(part)
        body, target = self.lines[begin:], inner.source
        if len(inner.runs) == 1 and len(inner.runs[0][1]) == size:
            names = inner.runs[0][1]
            target = ", ".join(names)
        else:
            body = [self.indent + line for line in inner.unpacked()] + body
        self._leaves, self.indent = outer, self.indent[:-4]
        del self.lines[begin:]
        if not body:
            self.add(f"{result} = [{value} for {target} in {batches}]")
        else:
            self.add(f"{result} = []", f"for {target} in {batches}:")
            self.lines += body
            self.add(f"    {result}.append({value})")
        return result

    def _single(self, part: Part, items: list[str]) -> list[str]:
        """Return an expression for each child, where some stand for many."""
        if len(items) == part.arity:
            return items
        names = [self.fresh("node") for _ in range(part.arity)]
        self.add(f"{_targets(names)} = {_joined(items)}")
        return names

    # --------------------------------------------------------------------- nodes

    def _build_list(self, part: Part, items: list[str]) -> str:
        if len(items) == 1 and items[0].startswith("*node"):  # the list of a loop
            return items[0][1:]
        return f"[{', '.join(items)}]"

    def _build_tuple(self, part: Part, items: list[str]) -> str:
        return _tuple_of(items)

    def _build_None(self, part: Part, items: list[str]) -> str:
        return "None"

    def _build_namedtuple(self, part: Part, items: list[str]) -> str:
        new = self.name(tuple.__new__)
        return f"{new}({self.name(part.cls)}, {_tuple_of(items)})"

    def _build_dict(self, part: Part, items: list[str]) -> str:
        """Write a display, or fill in a copy of a dict that has all the keys.

        CPython makes a display of few keys in one step, of more key by key. Filled in
        takes 0.8 of the time for 16 keys, 0.6 to 0.75 for 20, 0.4 for 200.
        """
        keys = part.keys.inserted
        if part.arity >= _WIDE:
            return self._filled(part, f"{self.name(dict.fromkeys(keys))}.copy()", items)
        ordered = zip(part.keys.ordered, self._single(part, items), strict=True)
        values = {id(key): value for key, value in ordered}
        pairs = [f"{self.written(key)}: {values[id(key)]}" for key in keys]
        return f"{{{', '.join(pairs)}}}"

    def _build_defaultdict(self, part: Part, items: list[str]) -> str:
        made = f"{self.name(defaultdict)}({self.name(part.aux[1])}, "
        return f"{made}{self._build_dict(part, items)})"

    def _build_OrderedDict(self, part: Part, items: list[str]) -> str:
        return self._filled(part, f"{self.name(OrderedDict)}()", items)

    def _filled(self, part: Part, mapping: str, items: list[str]) -> str:
        """Write that the children of a mapping are put into it."""
        ordered = part.keys.ordered
        if part.arity > _STORED:
            node = self.kept(mapping)
            self.add(f"{node}.update(zip({self.name(ordered)}, {_joined(items)}))")
            return node
        items, node = self._single(part, items), self.kept(mapping)
        pairs = zip(map(self.written, ordered), items, strict=True)
        self.add(*[f"{node}[{key}] = {value}" for key, value in pairs])
        return node

    def _build_record(self, part: Part, items: list[str]) -> str:
        form = part.rule.form
        meta = [*map(self.written, () if part.varies else part.aux)]
        if part.varies:
            meta = [self.fresh("static") for _ in form.meta]
            self.add(f"{_targets(meta) or '()'} = next(varying)")
        items = self._single(part, items)
        node = self.kept(f"{self.name(form.new)}({self.name(part.cls)})")
        values = zip((*form.data, *form.meta), (*items, *meta), strict=True)
        for name, value in values:
            if form.put is setattr:
                self.add(f"{node}.{name} = {value}")
            else:
                self.add(f"{self.name(form.put)}({node}, {name!r}, {value})")
        return node

    def _build_shaped(self, part: Part, items: list[str]) -> str:
        form, shape = part.rule.form, part.shape
        static = [*map(self.written, () if part.varies else part.aux.values)]
        if part.varies:
            static = [self.fresh("static") for _ in shape.static]
            self.add(f"{_targets(static) or '()'} = next(varying).values")
        items = self._single(part, items)
        named = dict(zip((*shape.data, *shape.static), (*items, *static), strict=True))
        pairs = [f"{self.written(name)}: {named[name]}" for name in shape.names]
        node = self.kept(f"{self.name(form.new)}({self.name(part.cls)})")
        put, put_shape = self.name(form.put_attributes), self.name(form.put_shape)
        self.add(f"{put}({node}, {{{', '.join(pairs)}}})")
        self.add(f"{put_shape}({node}, {self.name(shape)})")
        return node

    def _build_custom(self, part: Part, items: list[str]) -> str:
        aux = "next(varying)[0]" if part.varies else self.written(part.aux[0])
        made = f"{self.name(part.rule.form.unflatten)}({aux}, {_tuple_of(items)})"
        return self.kept(made)

    _build_keyed = _build_custom

    def _build_called(self, part: Part, items: list[str]) -> str:
        aux = "next(varying)" if part.varies else self.name(part.aux)
        made = f"{self.name(part.rule.unflatten)}({aux}, [{', '.join(items)}])"
        return self.kept(made)


def _joined(items: Sequence[str]) -> str:
    """Return a sequence of children, some of which stand for many."""
    if len(items) == 1 and items[0].startswith("*"):
        return items[0][1:]
    return _tuple_of(items)


# -------------------------------------------------------------- reading objects


def reading_text(fields: Any, memory: str) -> Text:
    """Return the text of `read`, for objects of a shape.

    It returns the children and the aux data of an object, or None if the object is not
    just as expected. A framework that knows our classes flattens each object by itself;
    this makes it cheap as long as the static values are those of the last time.

    Args:
        fields: The field layout of the shape; see `Shaped`.
        memory: The attribute in which an object keeps its aux data of the last time.
    """
    text = Text()
    data, static = (
        [f"values[{text.written(name)}]" for name in names]
        for names in (fields.data, fields.static)
    )
    expected = [
        f"aux.fields is {text.name(fields)}",
        "aux.seen is known",
        f"len(values) == {len(fields.names)}",
        *[f"{value} is known[{index}]" for index, value in enumerate(static)],
    ]
    text.add(
        "def read(node):",
        "    try:",
        f"        values, aux = node.__dict__, node.{memory}",
        "        known = aux.values",
        f"        if {' and '.join(expected)}: return {_tuple_of(data)}, aux",
        "    except (AttributeError, KeyError): pass",
        "    return None",
    )
    return text

"""Graphs as codes: the structure of objects that may share and contain one another.

A graph is flattened in one walk, by an explicit stack: objects and variables are
counted as they are met, and where one is met again there is a reference to its number.
`GraphDef` is what is left without the values. Identity is kept by holding the objects,
never by their bare ids. Owns also what tells of a graph as a whole: the iteration over
it, and what stands twice in it. Paths are tuples of names, positions and
keys.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Literal,
    TypeAlias,
    TypeVar,
)

from ..core.keypath import KeyPath
from ..core.node import Rule
from ..core.register import StaticRule
from ..core.registry import GLOBAL, Mode, install
from ..core.serial import dump, load
from ..core.walk import unlink
from ..errors import CycleError, SharedError
from ..kinds import Kind
from ..layout import Part, Sketch, lay_out, take_apart
from ..lazy import Shown
from ..safely import class_name, clip, module_name, shown, type_name
from .checks import DataNode, holds_data, is_data, looks_like_array
from .filters import Filter, predicate
from .instance import (
    AGAIN,
    CYCLE,
    ENTER,
    LEAVE,
    is_unchecked,
    keys_of,
    rule_of,
    traverse,
)
from .pytree import Pytree
from .spec import Constant, Statics, key_of, kinds_of_children
from .variables import Variable, is_frozen, kind_in, metadata_of


__all__ = [
    "GraphDef",
    "find_duplicates",
    "tree_check",
]

if TYPE_CHECKING:
    import typing_extensions

    M = typing_extensions.TypeVar("M", default=Any)
else:
    M = TypeVar("M")

OnShared = Literal["error", "warn", "allow"]
Entry: TypeAlias = tuple[str, Any, int, Any]
"""`(tag, rule or class, arity or number, aux data)`."""

NODE: Final = "node"
TREE: Final = "tree"
VARIABLE: Final = "variable"
REF: Final = "ref"
LEAF: Final = "leaf"
FIXED: Final = "fixed"
_LEAF: Final[Entry] = (LEAF, None, 0, None)


class GraphDef(Shown, Generic[M]):
    """The structure of a graph of objects, without its values.

    It describes the objects, their static values, the places of the other values, and
    the places where an object occurs again. Graphdefs can be compared, hashed, printed
    and pickled, and are generic in the type of the object: `GraphDef[Model]`.

    Attributes:
        num_leaves: The number of values.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Pair(lw.Pytree):
        ...     def __init__(self):
        ...         self.left = self.right = nn.List([nn.Param(1.0)])
        >>> graphdef, state = nn.split(Pair())
        >>> graphdef
        GraphDef(Pair(left=List([0]=Param(*)), right=#1))
    """

    __slots__ = ("_code", "_hash", "num_leaves")

    num_leaves: int

    def __init__(self, code: tuple[Entry, ...]) -> None:
        self._code = code
        self._hash: int | None = None
        tags = [entry[0] for entry in code]
        self.num_leaves = tags.count(LEAF) + tags.count(VARIABLE)

    def __eq__(self, other: object) -> bool:
        if type(other) is not GraphDef:
            return NotImplemented
        mine, theirs = self._code, other._code
        return self is other or (
            len(mine) == len(theirs) and all(map(same_entry, mine, theirs))
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(tuple(map(_digest, self._code)))
        return self._hash

    def __reduce__(self) -> Any:
        return _read, (tuple(map(_write_entry, self._code)),)

    def __repr__(self) -> str:
        return _text(self._code)

    def _leafwise_sketch(self) -> Sketch:
        return _whole(self._code)._leafwise_sketch()

    def _leafwise_compared(self) -> Any:
        """Return what `==` compares, for a fingerprint."""
        return [*map(_compared, self._code)]


def same_entry(a: Entry, b: Entry) -> bool:
    """Return whether two entries of codes are equal."""
    if a is b:
        return True
    if a[:3] != b[:3]:
        return False
    tag, rule, _, aux = a
    return rule.same_aux(aux, b[3]) if tag in (NODE, TREE) else bool(aux == b[3])


def _digest(entry: Entry) -> int:
    tag, rule, number, aux = entry
    if tag == VARIABLE:
        return hash((tag, rule, aux))
    if tag == FIXED:
        return hash((tag, aux))
    return hash((tag, number, rule.hash_aux(aux) if rule is not None else 0))


def _compared(entry: Entry) -> Any:
    """Return what `same_entry` compares, with a class by its name."""
    tag, rule, number, aux = entry
    if tag == FIXED:
        return tag, number, aux.seen
    if rule is None:
        return tag, number
    is_variable = tag == VARIABLE  # then the rule is the class
    cls = rule if is_variable else rule.class_of(aux)
    fields = aux.field_layout if is_variable else None
    compared = (fields.static, aux.seen) if fields else rule.compared_aux(aux)
    return tag, number, module_name(cls), class_name(cls), compared


def _write_entry(entry: Entry) -> Entry:
    """Return an entry in which a rule is named by what pickle can find."""
    tag, rule, arity, aux = entry
    if tag == NODE:
        return tag, rule.cls, arity, aux
    if tag == TREE:
        return tag, None, arity, dump(((arity, rule, arity, aux),), arity, _MODE)
    return entry


_MODE: Final = Mode(GLOBAL, False)


def _read(entries: tuple[Entry, ...]) -> GraphDef:
    return GraphDef(tuple(map(_read_entry, entries)))


def _read_entry(entry: Entry) -> Entry:
    tag, cls, arity, aux = entry
    if tag == NODE:
        return tag, rule_of(cls), arity, aux
    if tag == TREE:
        ((_, rule, arity, aux),), _, _ = load(aux)
        return tag, rule, arity, aux
    return entry


def _text(code: Iterable[Entry]) -> str:
    """Return a code as text."""
    whole = _whole(code)
    text = lay_out(whole)
    take_apart(whole)
    return text


def _whole(code: Iterable[Entry]) -> Part:
    """Return a code as text that is still to be laid out."""
    top: list[Part] = []
    stack = [(top, [""])]
    for entry in code:
        parts, labels = stack[-1]
        part, inside, below = _part(entry)
        part.label = labels.pop()
        parts.append(part)
        stack.append((inside, below))
        while stack and not stack[-1][1]:
            stack.pop()
    (root,) = top
    return Part(f"GraphDef({root.opening}", root.parts, f"{root.closing})")


def _part(entry: Entry) -> tuple[Part, list[Part], list[str]]:
    """Return an entry as text, its parts, and the labels of more, last one first."""
    tag, rule, number, aux = entry
    inside: list[Part] = []
    labels: list[str] = []
    if tag in (NODE, TREE):
        if type(aux) is Statics:
            inside += [Part(shown(x), label=_label(key_of(name))) for name, x in aux]
        labels = [*map(_label, reversed([*rule.keys(aux, number)]))]
        return Part(f"{_name_of(rule, aux)}(", inside, ")"), inside, labels
    if tag == VARIABLE:
        said = f"*, {shown(aux)}" if aux.values else "*"
        text = f"{class_name(rule, qualified=False)}({said})"
    else:
        text = shown(aux) if tag == FIXED else "*" if tag == LEAF else f"#{number}"
    return Part(text), inside, labels


def _label(key: Any) -> str:
    return f"{key}=".lstrip(".")


def _name_of(rule: Rule, aux: Any) -> str:
    """Return the name of a node's class; named tuples have it in their aux data."""
    return str(class_name(rule.class_of(aux), qualified=False))


# ------------------------------------------------------------------- flattening


class FlatGraph:
    """A flattened graph.

    Attributes:
        code: One entry for each thing that was met.
        leaves: The values.
        links: For each value, its path as a linked list.
        holders: For each value, the object or container that it stands in.
        again: For each reference, the number of what stands there, the path as a
            linked list, and the holder.
        tracked: What was counted, by number.
        first: For each of these, its first path as a linked list.
    """

    __slots__ = ("again", "code", "first", "holders", "leaves", "links", "tracked")

    def __init__(self) -> None:
        self.code: list[Entry] = []
        self.leaves: list[Any] = []
        self.links: list[Any] = []
        self.holders: list[Any] = []
        self.again: list[tuple[int, Any, Any]] = []
        self.tracked: list[Any] = []
        self.first: list[Any] = []

    def add_value(self, value: Any, link: Any, holder: Any) -> None:
        """Add a value with its path and the object or container that holds it."""
        self.leaves.append(value)
        self.links.append(link)
        self.holders.append(holder)


def kinds_of(code: Iterable[Entry]) -> list[Kind]:
    """Return the kind of each value: that of the attribute of the innermost object."""
    found: list[Kind] = []
    stack: list[list[Kind]] = []
    for tag, rule, number, aux in code:
        kind = stack[-1].pop() if stack else Kind.DATA
        if tag == LEAF:
            found.append(kind)
        elif tag == VARIABLE:
            found.append(kind_in(kind, rule, frozen=is_frozen(dict(aux))))
        elif tag in (NODE, TREE):
            given = kinds_of_children(aux)
            stack.append([kind] * number if given is None else given[::-1])
        while stack and not stack[-1]:
            stack.pop()
    return found


def flatten_graph(
    root: Any,
    *,
    on_shared: OnShared = "allow",
    copying: bool = False,
    keep: tuple[type, ...] = (),
) -> FlatGraph:
    """Flatten a graph, visiting each object and each variable once.

    In the plain containers of an object with `pytree=False`, whose attributes nobody
    marks one by one, only what is data is a value, and what is left of an array of one
    number; all else is structure, as it is for attributes.

    Args:
        root: An object, or a container with objects in it.
        on_shared: What to do where something is met again.
        copying: Whether containers are counted too, and variables are nodes.
        keep: Types of what is a value, though it could be flattened.

    Raises:
        CycleError: A container contains itself, with no object in between.
        SharedError: Something is met again, and that is to be an error.
        ValueError: `on_shared` is unknown.
    """
    check_choice(on_shared)
    flat = _Flattening(copying, keep)
    flat.visit(root, (), None, _MARKED)
    for number, link, _ in flat.again if on_shared != "allow" else ():
        first = flat.first[number]
        report_shared(on_shared, first, link, flat.tracked[number], stacklevel=5)
    return flat


class _Flattening(FlatGraph):
    """A graph that is being flattened.

    Attributes:
        entered: The ids of the containers around.
        numbers: The indexes of what was counted, by id.
        sorts: For each type that was met, its rule, None for values, and `NODE`,
            `VARIABLE` or `TREE`.
    """

    def __init__(self, copying: bool, keep: tuple[type, ...]) -> None:
        super().__init__()
        self.entered: set[int] = set()
        self.numbers: dict[int, int] = {}
        self.sorts: dict[type, tuple[Rule | None, str]] = {}
        self._copying = copying
        self._keep = keep

    def visit(self, value: Any, link: Any, holder: Any, place: int) -> None:
        """Add what stands at a path of the graph."""
        cls, copying = type(value), self._copying
        rule, sort = self.sorts.get(cls) or self._sort(cls)
        if rule is None:
            if place == _INSIDE and not copying and not _is_value(value):
                self.code.append((FIXED, None, 0, Constant(value)))
            else:
                self.code.append(_LEAF)
                self.add_value(value, link, holder)
        elif id(value) in self.numbers:
            number = self.numbers[id(value)]
            self.code.append((REF, None, number, None))
            self.again.append((number, link, holder))
        elif sort == VARIABLE:
            self._count(value, link)
            self.code.append((VARIABLE, cls, 0, metadata_of(value)))
            self.add_value(value, link, holder)
        else:
            if sort == TREE and not copying:
                if id(value) in self.entered:
                    raise _cycle(link, value)
                self.entered.add(id(value))
            children, aux = rule.flatten(value)
            arity = len(children)
            if sort == NODE or (copying and _is_counted(rule, arity)):
                self._count(value, link)
            self.code.append((sort, rule, arity, aux))
            inside = _place_in(cls, sort, place)
            for key, child in zip(keys_of(rule, aux, arity), children, strict=True):
                self.visit(child, (link, key), value, inside)
            self.entered.discard(id(value))

    def _sort(self, cls: type) -> tuple[Rule | None, str]:
        rule, sort = rule_of(cls), TREE
        if issubclass(cls, self._keep):
            rule = None
        elif rule is not None and _is_object(cls, rule):
            is_variable = issubclass(cls, Variable) and not self._copying
            sort = VARIABLE if is_variable else NODE
        self.sorts[cls] = rule, sort
        return rule, sort

    def _count(self, value: Any, link: Any) -> None:
        self.numbers[id(value)] = len(self.tracked)
        self.first.append(link)
        self.tracked.append(value)


_MARKED: Final = 0
_UNCHECKED: Final = 1
_INSIDE: Final = 2
"""Where a value stands: under an object that marks its attributes, or nowhere in one;
right in one that does not; in a container in such a one."""


def _place_in(cls: type, sort: str, place: int) -> int:
    """Return where the children of a node stand that stands at some place."""
    if sort == NODE:
        return _UNCHECKED if is_unchecked(cls) else _MARKED
    return _INSIDE if place else _MARKED


def _is_object(cls: type, rule: Rule) -> bool:
    """Return whether a type of nodes is one of objects or variables."""
    return issubclass(cls, DataNode) and rule.unflatten_into is not None


def _is_value(value: Any) -> bool:
    """Return whether something in a container is a value: data, or of numpy."""
    return looks_like_array(type(value)) or holds_data(value)


def _is_counted(rule: Rule, arity: int) -> bool:
    """Return whether a container is one that could stand twice: not None, not ()."""
    return arity > 0 or rule.unflatten_into is not None


def can_be_shared(value: Any) -> bool:
    """Return whether a node can be in two places: None and () cannot."""
    rule = rule_of(type(value))
    return rule is not None and _is_counted(rule, len(rule.flatten(value)[0]))


def check_choice(on_shared: OnShared) -> None:
    """Raise a ValueError unless `on_shared` is one of the known choices."""
    if on_shared not in ("error", "warn", "allow"):
        raise ValueError(
            f"on_shared must be 'error', 'warn' or 'allow', got {clip(on_shared)}"
        )


def report_shared(
    on_shared: OnShared, first: Any, link: Any, value: Any, stacklevel: int = 3
) -> None:
    """Raise an error or a warning about an object that is in two places."""
    paths = unlink(first), unlink(link)
    what = f"the {type_name(value)}" if rule_of(type(value)) else "an array"
    text = f"{what} at {_shown(paths[0])} occurs again at {_shown(paths[1])}"
    if on_shared == "error":
        raise SharedError(text, first=paths[0], again=paths[1])
    warnings.warn(text, stacklevel=stacklevel)


def _shown(path: tuple[Any, ...]) -> str:
    return shown(path) if path else "the root"


def _cycle(link: Any, value: Any) -> CycleError:
    again = unlink(link)
    return CycleError(
        f"the {type_name(value)} at {again} contains itself, with no object in between",
        again=KeyPath(()),
    )


# ----------------------------------------------------------------- unflattening


def unflatten_graph(
    code: Iterable[Entry],
    leaves: Iterable[Any],
    *,
    copying: bool = False,
    tracked: list[Any] | None = None,
    reuse: Mapping[int, Any] = MappingProxyType({}),
) -> Any:
    """Rebuild a graph from its code and its values.

    Args:
        code: The code.
        leaves: The values, variables included, in the order of the code.
        copying: Whether static containers are copied, and containers are counted.
        tracked: A list that gets what was counted, by number.
        reuse: By number, objects and variables that are filled anew rather than made.

    Raises:
        CycleError: A cycle goes through a container that cannot be made empty.
    """
    tracked = [] if tracked is None else tracked
    return _built(iter(code), iter(leaves), copying, tracked, reuse)


def _built(
    code: Iterator[Entry],
    leaves: Iterator[Any],
    copying: bool,
    tracked: list[Any],
    reuse: Mapping[int, Any],
) -> Any:
    """Return what the next entries stand for."""
    tag, rule, number, aux = next(code)
    if tag == LEAF:
        return next(leaves)
    if tag == FIXED:
        return aux.value
    if tag == REF:
        if tracked[number] is _UNMADE:
            raise CycleError("a cycle contains an immutable container")
        return tracked[number]
    index = len(tracked)
    value = reuse.get(index)
    if tag == VARIABLE:
        variable = next(leaves)
        if value is None:
            value = variable
        else:
            value.update_from_state(variable)
        tracked.append(value)
        return value
    if tag == NODE:
        value = object.__new__(rule.cls) if value is None else value
        aux = Statics(aux.field_layout, aux.seen) if copying else aux
    else:
        empty = rule.empty(aux) if copying else None
        value = _UNMADE if empty is None else empty
    is_counted = tag == NODE or (copying and _is_counted(rule, number))
    if is_counted:
        tracked.append(value)
    children = []
    for _ in range(number):  # no comprehension, which is a frame of its own
        children.append(_built(code, leaves, copying, tracked, reuse))  # noqa: PERF401  # see above
    if value is not _UNMADE:
        return rule.unflatten_into(value, aux, children)
    value = rule.unflatten(aux, children)
    if is_counted:
        tracked[index] = value
    return value


_UNMADE: Final = object()


install(GraphDef, StaticRule, bridge=True, where=__name__.partition(".")[0])


# --------------------------------------------------------------- iterating


Path: TypeAlias = tuple[Any, ...]


def is_node(value: Any) -> bool:
    """Return whether a value is an object or a variable."""
    return isinstance(value, Pytree | Variable)


def find_duplicates(
    tree: Any, *, only: Filter = ..., containers: bool = False
) -> list[list[Path]]:
    """Return the paths of objects that occur in several places.

    Objects, variables and arrays are compared by identity. The content of an object
    that occurs again is not reported again.

    Args:
        tree: An object, or nested containers.
        only: A filter for the objects to report.
        containers: Whether to report plain containers, too.

    Returns:
        A list of paths for each object that has more than one.

    Example:
        >>> from leafwise import nn
        >>> weight = nn.Param(0.5)
        >>> nn.find_duplicates({"in": weight, "out": [weight]})
        [[('in',), ('out', 0)]]

    Modelled on `flax.nnx.find_duplicates`.
    """
    meant = predicate(only)
    found: dict[int, tuple[Any, list[Any]]] = {}

    def counts(value: Any) -> bool:
        return is_node(value) or (containers and value is not None)

    for event, link, value in traverse(tree, revisit=lambda value: not counts(value)):
        if event is CYCLE and not counts(value):
            path = unlink(link)
            raise CycleError(f"the {type_name(value)} at {path} contains itself")
        if event is not LEAVE and (is_data if event is LEAF else counts)(value):
            found.setdefault(id(value), (value, []))[1].append(link)
    several = ((value, links) for value, links in found.values() if len(links) > 1)
    return [
        [unlink(link) for link in links]
        for value, links in several
        if meant(unlink(links[0]), value)
    ]


def tree_check(tree: Any, *, on_shared: OnShared = "error") -> None:
    """Check that nested containers are a tree, without cycles or shared objects.

    Args:
        tree: An object, or nested containers.
        on_shared: What to do if a container, an object, a variable or an array occurs
            again: `"error"`, `"warn"` or `"allow"`. A cycle is always an error.

    Raises:
        CycleError: An object contains itself.
        SharedError: An object occurs again.

    Example:
        >>> from leafwise import nn
        >>> row = [1, 2]
        >>> nn.tree_check({"a": row, "b": [3]})
        >>> nn.tree_check({"a": row, "b": row})
        Traceback (most recent call last):
        ...
        leafwise.errors.SharedError: the list at ('a',) occurs again at ('b',)
    """
    check_choice(on_shared)
    first: dict[int, tuple[Any, Any]] = {}  # paths and values, which must not go
    again: list[tuple[Any, Any]] = []
    arrays: list[tuple[Any, Any]] = []
    for event, link, value in traverse(tree):
        if event is CYCLE:
            raise _inside_itself(first[id(value)][0], link, value)
        if event is AGAIN and can_be_shared(value):
            again.append((link, value))
        elif event is LEAF and id(value) in first:
            arrays.append((link, value))
        elif event is ENTER or (event is LEAF and is_data(value)):
            first.setdefault(id(value), (link, value))
    if on_shared != "allow":
        for link, value in again + arrays:
            report_shared(on_shared, first[id(value)][0], link, value)


def _inside_itself(first: Any, again: Any, value: Any) -> CycleError:
    return CycleError(
        f"the {type_name(value)} at {unlink(first) or 'the root'} occurs again at "
        f"{unlink(again)}, inside itself"
    )

"""Graphs as structure and values: objects that may share and contain one another.

A graph is flattened in one walk: objects and variables are counted as they are met, and
where one is met again there is a reference to its number. `GraphDef` is what is left
without the values: a treedef, in which a reference and a static value are nodes without
children. Owns also the iteration over a graph, what stands twice in it, and the
functions of NNX: split and merge, update, pop and clone. What changes an object checks
everything before it writes anything. Paths are tuples of names, positions and keys.

A training loop passes the same model again and again. `KnownGraph` is a list of steps
that read the values of such a graph without a walk, and notice if it has another
structure by now: another class, key, static value, or other shared references.
"""

from __future__ import annotations

import sys
from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    MutableSequence,
    Sequence,
)
from itertools import chain
from operator import is_
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Generic,
    TypeAlias,
    TypeVar,
    overload,
)

from .._hooks import Description, Displayable
from .._records import MISSING
from .._runtime import add_class
from .._text import safe_repr, short_repr
from ..core.builtins import ContainerRule
from ..core.keypath import KeyPath
from ..core.matching import code_text
from ..core.node import Rule
from ..core.register import StaticRule
from ..core.registry import GLOBAL, Mode, current, declare_namespace, install
from ..core.treedef import PyTreeDef
from ..core.walk import Step, iter_steps
from ..core.words import WORDS, Brackets, Words, brackets
from ..equality import exact
from ..equality.leaves import type_names
from ..errors import CycleError, StructureError
from ..fields import COUNT_AS_STATE, Kind
from ..ops.map import tree_flatten
from ..show.sketch import Child, Sketch
from .checks import check_level, holds_data, is_data, looks_like_array, rule_of
from .filters import Filter, partition
from .instance import (
    OBJECTS,
    assign,
    below,
    check,
    drop,
    is_unchecked,
    kinds_in,
    parts_of,
    refill,
)
from .pytree import Pytree
from .spec import spec_of
from .states import (
    State,
    as_state,
    from_flat_state,
    left_over,
    merge_state,
    walk_state,
)
from .statics import Statics, key_of, snapshot
from .variables import (
    FROZEN,
    Variable,
    aux_of,
    bare,
    is_frozen,
    make_variable,
    metadata_in,
    raw_metadata,
)


__all__ = [
    "GraphDef",
    "clone",
    "find_duplicates",
    "graphdef",
    "iter_graph",
    "merge",
    "pop",
    "select_kind",
    "split",
    "state",
    "update",
    "update_kind",
]

if TYPE_CHECKING:
    import typing_extensions

    M = typing_extensions.TypeVar("M", default=Any)
else:
    M = TypeVar("M")
T = TypeVar("T")

Path: TypeAlias = tuple[Any, ...]
Entry: TypeAlias = tuple[str, Any, int, Any]
"""`(tag, rule, arity, aux data)`, in the order of a walk from the root."""

NODE: Final = "node"
TREE: Final = "tree"
VARIABLE: Final = "variable"
REF: Final = "ref"
LEAF: Final = "leaf"
FIXED: Final = "fixed"
_LEAF: Final[Entry] = (LEAF, None, 0, None)


class Constant:
    """A place in a structure without children: a static value, which is aux data."""


class Reference:
    """A place where an object stands again; its number is the aux data."""


class _PlaceRule(Rule):
    """The rule of places without children."""

    def same(self, a: Any, b: Any) -> bool:
        return exact.same(a, b, typed=True)

    def hash(self, aux: Any) -> int:
        return exact.digest(aux, typed=True)


def _place_brackets(rule: Rule, aux: Any, _arity: int) -> Brackets:
    sign = "#" if rule.cls is Reference else ""
    return f"{sign}{safe_repr(aux)}", None, ""


WORDS[_PlaceRule] = Words(brackets=_place_brackets)

_PACKAGE: Final = __name__.partition(".")[0]
for _place in (Constant, Reference):
    install(_place, _PlaceRule, where=_PACKAGE)
declare_namespace(OBJECTS, dispatch=rule_of)  # where treedefs find them again
_CONSTANT: Final = rule_of(Constant)
_REFERENCE: Final = rule_of(Reference)


class _GraphDefDescription(Description):
    """The description of graphdefs, which are shown and compared as treedefs."""

    def outline(self, obj: GraphDef) -> Sketch:
        """Return the sketch of a graphdef."""
        return Sketch([Child(None, obj.treedef)], "GraphDef(", ")")

    def compared(self, obj: GraphDef) -> Any:
        """Return the treedef."""
        return obj.treedef


class GraphDef(Displayable, Generic[M]):
    """The structure of a graph of objects, without its values.

    It describes the objects, their static values, the places of the other values, and
    the places where an object occurs again. Graphdefs can be compared, hashed, printed
    and pickled, and are generic in the type of the object: `GraphDef[Model]`.

    Attributes:
        num_leaves: The number of values.
        paths: The path of each value.
        treedef: The same as a treedef, in which repeated objects are nodes without
            children.

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

    __slots__ = ("_code", "_paths", "_treedef")
    __leafwise__: ClassVar[Description] = _GraphDefDescription()

    def __init__(
        self, code: Iterable[Entry], paths: Iterable[Path] | None = None
    ) -> None:
        self._code = tuple(code)
        self._paths = None if paths is None else tuple(paths)
        self._treedef: PyTreeDef | None = None

    @property
    def paths(self) -> tuple[Path, ...]:
        """The path of each value."""
        if self._paths is None:
            self._paths = tuple(_paths(iter(self._code), ()))
        return self._paths

    @property
    def treedef(self) -> PyTreeDef:
        """The structure as a treedef."""
        if self._treedef is None:
            self._treedef = PyTreeDef._of(_steps(iter(self._code)), Mode(GLOBAL, False))
        return self._treedef

    @property
    def num_leaves(self) -> int:
        """The number of values."""
        return sum(tag in (LEAF, VARIABLE) for tag, *_ in self._code)

    def __eq__(self, other: object) -> bool:
        if type(other) is not GraphDef:
            return NotImplemented
        return self is other or self.treedef == other.treedef

    def __hash__(self) -> int:
        return hash(self.treedef)

    def __reduce__(self) -> Any:
        return _graphdef, (self.treedef,)

    def __repr__(self) -> str:
        return f"GraphDef({code_text(self.treedef._code, _brackets)})"


def _steps(code: Iterator[Entry]) -> Iterator[Step]:
    """Yield the next thing of a code in the order of treedefs."""
    tag, rule, arity, aux = next(code)
    if tag in (LEAF, VARIABLE):
        yield None
    for _ in range(arity if tag != VARIABLE else 0):
        yield from _steps(code)
    if tag != LEAF:
        yield rule, arity, aux


def _paths(code: Iterator[Entry], path: Path) -> Iterator[Path]:
    """Yield the paths of the values in the next thing of a code."""
    tag, rule, arity, aux = next(code)
    if tag in (LEAF, VARIABLE):
        yield path
        return
    for part in parts_of(rule, aux, arity):
        yield from _paths(code, (*path, part))


def entries_of(treedef: PyTreeDef) -> list[Entry]:
    """Return a treedef as a code; a variable with a leaf in it is one entry."""
    found: list[list[Entry]] = []
    for step in iter_steps(treedef._code):
        if step is None:
            found.append([_LEAF])
            continue
        rule, arity, aux = step
        split = len(found) - arity
        inside = [entry for child in found[split:] for entry in child]
        tag = NODE if rule.fill is not None else TREE
        if rule is _REFERENCE or rule is _CONSTANT:
            tag = REF if rule is _REFERENCE else FIXED
        elif issubclass(rule.cls, Variable) and inside == [_LEAF]:
            tag, inside = VARIABLE, []
        found[split:] = [[(tag, rule, arity, aux), *inside]]
    return found[0]


def _graphdef(treedef: PyTreeDef) -> GraphDef:
    return GraphDef(entries_of(treedef))


def _brackets(rule: Rule, aux: Any, arity: int) -> Brackets:
    """Return the text around the children of a node; its class and its keys."""
    if isinstance(rule, _PlaceRule):
        return brackets(rule, aux, arity)
    name = rule.class_of(aux).__name__
    static = f"[{aux}]" if type(aux) is Statics and aux.values else ""
    labels = [f"{key}=".lstrip(".") for key in rule.keys(aux, arity)]
    is_variable = issubclass(rule.cls, Variable)
    return f"{name}{static}(", None if is_variable else labels, ")"


def kinds_of(code: Iterable[Entry]) -> list[Kind]:
    """Return the kind of each value.

    It is that of the attribute, of the innermost object around it, where it is found; a
    variable there may be of a closer kind, which is that of all in it.
    """
    found: list[Kind] = []
    entries = iter(code)

    def add(kind: Kind, is_final: bool) -> None:
        tag, rule, arity, aux = next(entries)
        if tag == LEAF:
            found.append(kind)
            return
        kinds = [kind] * arity
        if type(aux) is Statics and not is_final:
            kinds = rule.cls.__leafwise__.child_kinds(aux, kind)
            is_final = issubclass(rule.cls, Variable) and kinds[0] is not Kind.DATA
        if tag == VARIABLE:
            found.extend(kinds)
            return
        for inner in kinds:
            add(inner, is_final)

    add(Kind.DATA, False)
    return found


# ------------------------------------------------------------------- flattening


class FlatGraph:
    """A flattened graph.

    Attributes:
        code: One entry for each thing that was met.
        leaves: The values.
        paths: The path of each value.
        holders: For each value, the object or container that it stands in.
        again: For each reference, the number of what stands there, the path, and the
            holder.
        tracked: What was counted, by number.
        first: For each of these, its first path.
    """

    def __init__(self, traced: bool) -> None:
        self.code: list[Entry] = []
        self.leaves: list[Any] = []
        self.paths: list[Path] = []
        self.holders: list[Any] = []
        self.again: list[tuple[int, Path, Any]] = []
        self.tracked: list[Any] = []
        self.first: list[Path] = []
        self._entered: set[int] = set()  # the ids of the containers around
        self._numbers: dict[int, int] = {}
        self._sorts: dict[type, tuple[Rule | None, str]] = {}
        self._traced = traced

    @property
    def graphdef(self) -> GraphDef[Any]:
        """The structure."""
        return GraphDef(self.code, self.paths)

    def visit(self, value: Any, path: Path, holder: Any, place: int) -> None:
        """Add what stands at a path of the graph."""
        cls = type(value)
        rule, sort = self._sorts.get(cls) or self._sort(cls)
        if rule is None:
            is_fixed = (self._traced and place and not is_traceable(cls)) or (
                place == _INSIDE and not (looks_like_array(value) or holds_data(value))
            )
            if is_fixed:
                self.code.append((FIXED, _CONSTANT, 0, snapshot(value)))
            else:
                self.code.append(_LEAF)
                self._add_value(value, path, holder)
        elif id(value) in self._numbers:
            number = self._numbers[id(value)]
            self.code.append((REF, _REFERENCE, 0, number))
            self.again.append((number, path, holder))
        elif sort == VARIABLE:
            self._count(value, path)
            self.code.append((VARIABLE, rule, 1, aux_of(value)))
            self._add_value(value, path, holder)
        else:
            if sort == NODE:
                self._count(value, path)
                inside = _UNCHECKED if is_unchecked(cls) else _MARKED
            elif id(value) in self._entered:
                raise CycleError(
                    f"the {type(value).__name__} at {path} contains itself, with no "
                    "object in between",
                    again=KeyPath(()),
                )
            else:
                self._entered.add(id(value))
                inside = place if place < _UNCHECKED else _INSIDE
            children, aux = rule.flatten(value)
            arity = len(children)
            self.code.append((sort, rule, arity, aux))
            for part, child in zip(parts_of(rule, aux, arity), children, strict=True):
                self.visit(child, (*path, part), value, inside)
            self._entered.discard(id(value))

    def _sort(self, cls: type) -> tuple[Rule | None, str]:
        """Return the rule of a type, None for values, and the tag of its nodes."""
        rule, sort = rule_of(cls), TREE
        if rule is not None and rule.fill is not None:
            sort = VARIABLE if issubclass(cls, Variable) else NODE
        self._sorts[cls] = rule, sort
        return rule, sort

    def _count(self, value: Any, path: Path) -> None:
        self._numbers[id(value)] = len(self.tracked)
        self.first.append(path)
        self.tracked.append(value)

    def _add_value(self, value: Any, path: Path, holder: Any) -> None:
        self.leaves.append(value)
        self.paths.append(path)
        self.holders.append(holder)


def flatten_graph(root: Any, *, traced: bool = False) -> FlatGraph:
    """Flatten a graph, visiting each object and each variable once.

    In the plain containers of an object with `pytree=False`, whose attributes nobody
    marks one by one, only what is data is a value, and what is left of an array of one
    number; all else is structure, as it is for attributes.

    Args:
        root: An object, or a container with objects in it.
        traced: Whether what jax cannot trace, such as a text in an object, is
            structure.

    Raises:
        CycleError: A container contains itself, with no object in between.
    """
    flat = FlatGraph(traced)
    flat.visit(root, (), None, _OUTSIDE)
    return flat


_OUTSIDE, _MARKED, _UNCHECKED, _INSIDE = range(4)
"""Where a value stands: in no object; under one that marks its attributes; right in one
that does not; in a container in such a one."""


def is_traceable(cls: type) -> bool:
    """Return whether values of a type are numbers or arrays to jax."""
    return (
        issubclass(cls, int | float | complex)
        or hasattr(cls, "dtype")
        or hasattr(cls, "__jax_array__")
    )


def _is_mutable(node: Any, rule: Rule) -> bool:
    """Return whether a node is one of Python's containers that can change."""
    is_container = isinstance(rule, ContainerRule)
    return is_container and isinstance(node, MutableMapping | MutableSequence)


# ----------------------------------------------------------------- unflattening


def unflatten_graph(
    code: Iterable[Entry],
    leaves: Iterable[Any],
    *,
    tracked: list[Any] | None = None,
    reuse: Mapping[int, Any] = MappingProxyType({}),
) -> Any:
    """Rebuild a graph from its code and its values.

    Args:
        code: The code.
        leaves: The values, variables included, in the order of the code.
        tracked: A list that gets what was counted, by number.
        reuse: By number, objects and variables that are filled anew rather than made.
    """
    entries, values = iter(code), iter(leaves)
    objects: list[Any] = [] if tracked is None else tracked

    def built() -> Any:
        tag, rule, arity, aux = next(entries)
        if tag == LEAF:
            return next(values)
        if tag == FIXED:
            return snapshot(aux)
        if tag == REF:
            return objects[aux]
        node = reuse.get(len(objects))
        if tag == VARIABLE:
            variable = next(values)
            if node is not None:
                node.update_from_state(variable)
            objects.append(variable if node is None else node)
            return objects[-1]
        if tag == NODE:
            aux = aux.renewed(node)
            node = object.__new__(rule.cls) if node is None else node
            objects.append(node)
        children = []
        for _ in range(arity):  # no comprehension, which is a frame of its own
            children.append(built())  # noqa: PERF401  # see above
        if tag == NODE:
            return rule.fill(node, aux, children)
        return rule.unflatten(aux, children)

    return built()


install(GraphDef, StaticRule, bridge=True, where=_PACKAGE)


# --------------------------------------------------------------- iterating


def is_node(value: Any) -> bool:
    """Return whether a value is an object or a variable."""
    return isinstance(value, Pytree | Variable)


def iter_graph(tree: Any) -> Iterator[tuple[Path, Any]]:
    """Yield everything in an object with its path, inner values first.

    Objects, variables and containers are yielded once, bare values at every place.

    Args:
        tree: An object, or a container with objects in it.

    Yields:
        The path, and the object, variable, container or value. The root comes last,
        with the path `()`.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> for path, value in nn.iter_graph(nn.List([nn.Param(1.0)])):
        ...     print(path, type(value).__name__)
        (0, 'value') float
        (0,) Param
        () List

    Modelled on `flax.nnx.iter_graph`.
    """
    seen: dict[int, Any] = {}

    def visit(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
        if rule_of(type(value)) is not None:
            if id(value) in seen:
                return
            seen[id(value)] = value
            for part, child in below(value):
                yield from visit(child, (*path, part))
        yield path, value

    yield from visit(tree, ())


def find_duplicates(tree: Any) -> list[list[Path]]:
    """Return the paths of objects that occur in several places.

    Objects, variables and arrays are compared by identity. The content of an object
    that occurs again is not reported again.

    Args:
        tree: An object, or nested containers.

    Returns:
        A list of paths for each object that has more than one.

    Example:
        >>> from leafwise import nn
        >>> weight = nn.Param(0.5)
        >>> nn.find_duplicates({"in": weight, "out": [weight]})
        [[('in',), ('out', 0)]]

    Modelled on `flax.nnx.find_duplicates`.
    """
    flat = flatten_graph(tree)
    places = [*zip(flat.tracked, flat.first, strict=True)]
    places += [(flat.tracked[number], path) for number, path, _ in flat.again]
    for leaf, path in zip(flat.leaves, flat.paths, strict=True):
        inside = (*path, "value") if isinstance(leaf, Variable) else path
        places += [(bare(leaf), inside)] if is_data(bare(leaf)) else []
    paths_by_id: dict[int, list[Path]] = {}
    for value, path in places:
        paths_by_id.setdefault(id(value), []).append(path)
    return [paths for paths in paths_by_id.values() if len(paths) > 1]


# ------------------------------------------------- graphs that are met again


Place = tuple[int, int]
"""The index of a node among those that are flattened, and the index of a child."""


class KnownGraph:
    """A structure, and the steps that read a graph that has it.

    Attributes:
        graphdef: The structure.
    """

    def __init__(self, graphdef: GraphDef) -> None:
        self.graphdef = graphdef
        self._view = current.view
        self._leaf_types: set[type] = set()
        self._nodes: list[tuple[Place, type, Rule, int, Any]] = []
        self._variables: list[tuple[int, Any, Any]] = []
        self._tracked: list[Place] = []
        self._values: list[tuple[Place, bool]] = []
        self._again: list[tuple[Place, int]] = []
        self._fixed: list[tuple[Place, Any]] = []
        stack = [(0, iter(range(1)))]  # the index of a node, and its children to come
        for tag, rule, number, aux in graphdef._code:
            while (child := next(stack[-1][1], None)) is None:
                stack.pop()
            place = stack[-1][0], child
            if tag in (NODE, TREE):
                cls = rule.class_of(aux)
                self._nodes.append((place, cls, rule, number, aux))
                stack.append((len(self._nodes), iter(range(number))))
            elif tag == VARIABLE:
                self._variables.append((len(self._tracked), rule, aux))
            elif tag == REF:
                self._again.append((place, aux))
            elif tag == FIXED:
                self._fixed.append((place, aux))
            if tag in (NODE, VARIABLE):
                self._tracked.append(place)
            if tag in (LEAF, VARIABLE):
                self._values.append((place, tag == VARIABLE))

    def read(self, root: Any) -> tuple[list[Any], list[Any]] | None:
        """Return the values of a graph and its objects by index.

        Returns:
            None if the graph has, or may have, another structure.
        """
        if current.view is not self._view:
            return None
        children: list[Any] = [(root,)]
        for (parent, index), cls, rule, arity, aux in self._nodes:
            node = children[parent][index]
            if type(node) is not cls:
                return None
            below, found = rule.flatten(node)
            if len(below) != arity or not _is_same(rule, found, aux):
                return None
            children.append(below)
        tracked: list[Any] = [children[i][j] for i, j in self._tracked]
        for number, rule, aux in self._variables:
            variable = tracked[number]
            if type(variable) is not rule.cls:
                return None
            has_metadata = raw_metadata(variable) or aux.values
            if has_metadata and not _is_same(rule, aux_of(variable), aux):
                return None
        if (
            len({*map(id, tracked)}) != len(tracked)
            or any(children[i][j] is not tracked[n] for (i, j), n in self._again)
            or not all(
                exact.same(children[i][j], value, typed=True)
                for (i, j), value in self._fixed
            )
        ):
            return None
        leaves = [(children[i][j], is_variable) for (i, j), is_variable in self._values]
        types = {type(leaf) for leaf, is_variable in leaves if not is_variable}
        if not all(map(self._is_leaf, types - self._leaf_types)):
            return None
        values = [leaf._leafwise.value if boxed else leaf for leaf, boxed in leaves]
        return values, tracked

    def _is_leaf(self, cls: type) -> bool:
        if rule_of(cls) is not None or not is_traceable(cls):
            return False
        add_class(self._leaf_types, cls)
        return True


class LastGraph:
    """The graph that was flattened last, which is known once it was met twice."""

    def __init__(self) -> None:
        self._last = GraphDef(())
        self._known: KnownGraph | None = None

    def flatten(self, root: Any) -> tuple[GraphDef, list[Any], list[Any]]:
        """Return the structure of a graph, its values, and its objects by index."""
        known = self._known  # another thread may replace it
        found = None if known is None else known.read(root)
        if known is not None and found is not None:
            return known.graphdef, *found
        flat = flatten_graph(root, traced=True)
        last, graphdef = self._last, flat.graphdef
        is_same = len(last._code) == len(flat.code) and all(
            map(identical_entry, last._code, flat.code)
        )
        values = [*map(bare, flat.leaves)]
        if not is_same:
            self._last, self._known = graphdef, None
            return graphdef, values, flat.tracked
        is_marked = not any(
            tag == NODE and is_unchecked(rule.cls) for tag, rule, *_ in flat.code
        )
        self._known = KnownGraph(last) if is_marked else None
        return last, values, flat.tracked


# ------------------------------------------------------------- to the last detail


def identical_entry(a: Entry, b: Entry) -> bool:
    """Return whether two entries are equal, with the very values in the same order."""
    tag, rule, arity, aux = a
    return a is b or (
        (tag, rule, arity) == b[:3] and (rule is None or _is_same(rule, aux, b[3]))
    )


def _is_same(rule: Rule, a: Any, b: Any) -> bool:
    """Return whether aux data are the same, with the very values in the same order."""
    if a is b:
        return True
    if not rule.same(a, b):
        return False
    if rule.is_mapping and type(a) is tuple:
        return bool(a[0] == b[0])  # the keys, in their own order
    if type(a) is not Statics:
        return True
    names = a.fields.names
    return names == b.fields.names and all(map(is_, a.values, b.values))


# ------------------------------------------------------------------ split, state


@overload
def split(node: M, first: Filter = ..., /) -> tuple[GraphDef[M], State]: ...


@overload
def split(
    node: M, first: Filter, second: Filter, /
) -> tuple[GraphDef[M], State, State]: ...


@overload
def split(node: Any, /, *filters: Filter) -> tuple[Any, ...]: ...


def split(node: Any, *filters: Filter) -> Any:
    """Split an object into its graphdef and its states.

    Each object and each variable counts once, even if several attributes refer to it.
    The states contain the object's own variables, not copies.

    Args:
        node: An object, or a container with objects in it.
        *filters: The filter of each state; each value goes to the first filter that
            matches it. Without filters there is one state.

    Returns:
        The graphdef and one state for each filter, at least one.

    Raises:
        CycleError: A container contains itself, with no object in between.
        TypeError: `node` is a bare value, or an argument is not a filter.
        ValueError: Some values match no filter.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Model(lw.Pytree):
        ...     def __init__(self):
        ...         self.weight = nn.Param(0.5)
        ...         self.calls = nn.BatchStat(0)
        >>> graphdef, params, rest = nn.split(Model(), nn.Param, ...)
        >>> rest
        State({'calls': BatchStat(value=0)})
        >>> nn.merge(graphdef, params, rest).weight.value
        0.5

    Modelled on `flax.nnx.split`.
    """
    flat = flatten_whole(node)
    chosen, rest = select(flat, filters)
    if rest:
        raise ValueError(left_over([(flat.paths[i], flat.leaves[i]) for i in rest]))
    return flat.graphdef, *(part_of(flat, places) for places in chosen)


@overload
def state(node: Any, first: Filter = ..., /) -> State: ...


@overload
def state(node: Any, first: Filter, /, *filters: Filter) -> tuple[State, ...]: ...


def state(node: Any, *filters: Filter) -> Any:
    """Return the values of an object as a state.

    Args:
        node: An object, or a container with objects in it.
        *filters: Which values to return; all values by default.

    Returns:
        A state, or a tuple with a state for each of several filters.

    Raises:
        CycleError, TypeError: See `split`.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> nn.state(nn.List([nn.Param(1.0), lw.data(2)]), nn.Param)
        State({0: Param(value=1.0)})

    Modelled on `flax.nnx.state`.
    """
    flat = flatten_whole(node)
    states = [part_of(flat, places) for places in select(flat, filters)[0]]
    return tuple(states) if len(states) > 1 else states[0]


def graphdef(node: M) -> GraphDef[M]:
    """Return the graphdef of an object: its structure without its values.

    Args:
        node: An object, or a container with objects in it.

    Raises:
        CycleError, TypeError: See `split`.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> one, other = nn.List([nn.Param(1.0)]), nn.List([nn.Param(2.0)])
        >>> nn.graphdef(one) == nn.graphdef(other)
        True
    """
    return flatten_whole(node).graphdef


def flatten_whole(node: Any) -> FlatGraph:
    """Flatten a graph whose root is not a bare value."""
    require_whole(node)
    return flatten_graph(node)


def require_whole(node: Any) -> None:
    """Raise an error for a bare value.

    Raises:
        TypeError: It is one.
    """
    if rule_of(type(node)) is None:
        raise TypeError(
            "expected an object or a container with objects, got a bare "
            f"{type(node).__name__}"
        )


def select(
    flat: FlatGraph, filters: Sequence[Filter]
) -> tuple[list[list[int]], list[int]]:
    """Return the indexes of the values for each filter, and those of the rest.

    Without filters there is one part, of all values.
    """
    if not filters:
        return [[*range(len(flat.leaves))]], []
    rows = zip(flat.paths, flat.leaves, kinds_of(flat.code), strict=True)
    return partition(rows, filters)


def part_of(flat: FlatGraph, indexes: Sequence[int]) -> Any:
    """Return some values of a graph as a state; a bare variable is its own."""
    if flat.paths == [()] and indexes:
        return flat.leaves[0]
    return from_flat_state((flat.paths[i], flat.leaves[i]) for i in indexes)


# ------------------------------------------------------------------------ merge


def merge(graphdef: GraphDef[M], *states: Mapping[Any, Any], copy: bool = False) -> M:
    """Rebuild an object from its graphdef and its states.

    Args:
        graphdef: The graphdef.
        *states: The states, in any order; no two may have the same path. A bare value
            in place of a variable is put into a new variable.
        copy: Whether to copy variables; otherwise the object uses those of the states.

    Raises:
        StructureError: A value is missing, there is one too many, or it does not fit
            the graphdef.
        TypeError: The first argument is not a graphdef.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> graphdef, state = nn.split(nn.List([nn.Param(1.0)]))
        >>> nn.merge(graphdef, {0: 5.0})[0].value
        5.0

    Modelled on `flax.nnx.merge`.
    """
    if not isinstance(graphdef, GraphDef):
        raise TypeError(f"merge takes a GraphDef first, got {type(graphdef).__name__}")
    given: dict[Path, Any] = {}
    for path, value in chain.from_iterable(map(walk_state, states)):
        if path in given:
            raise StructureError(f"two states have a value at {path}", path=path)
        given[path] = value
    paths = iter(graphdef.paths)
    leaves = []
    for tag, rule, _, aux in graphdef._code:
        if tag not in (LEAF, VARIABLE):
            continue
        path = next(paths)
        value = given.pop(path, MISSING)
        if value is MISSING:
            raise StructureError(f"the state has no value at {path}", path=path)
        if tag == LEAF and isinstance(value, Variable):
            raise wrong(path, "a bare value", value)
        if tag == VARIABLE and not isinstance(value, Variable):
            value = make_variable(rule.cls, value, metadata_in(aux))
        elif tag == VARIABLE and type(value) is not rule.cls:
            expected, found = type_names(rule.cls, type(value))
            raise wrong(path, f"a {expected}", value, found)
        elif tag == VARIABLE and copy:
            value = value.copy()
        leaves.append(value)
    for path in given:
        raise StructureError(
            f"the state has a value at {path}, where the structure has none", path=path
        )
    made: M = unflatten_graph(graphdef._code, leaves)
    return made


def wrong(path: Path, expected: str, found: Any, name: str = "") -> StructureError:
    """Return the error for a value that does not fit what is expected."""
    actual = name or ("a mapping" if type(found) is State else type(found).__name__)
    text = f"at {path}: expected {expected}, got {actual}"
    return StructureError(text, path=path, expected=expected, actual=actual)


# ----------------------------------------------------------------------- update


def update(node: Any, *states: Mapping[Any, Any]) -> None:
    """Write values into an object, in place.

    Objects and variables stay the same, so every object that shares them sees the
    change. Frozen parameters and variables stay frozen. A name that the object does not
    have becomes a new attribute, by the usual rules.

    Args:
        node: The object.
        *states: Some or all of the values; later states take precedence.

    Raises:
        StructureError: A value is given for an object, or an object for a value, or
            there is no such place.
        KindError: An attribute cannot hold a value.

    If an exception is raised, nothing is changed.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> model = nn.List([nn.Param(1.0), lw.data(2)])
        >>> weight = model[0]
        >>> nn.update(model, {0: 5.0, 1: 6})
        >>> weight.value, model[1]
        (5.0, 6)

    Modelled on `flax.nnx.update`.
    """
    require_whole(node)
    if isinstance(node, Variable):
        for value in states:
            write(node, None, value)
        return
    steps: list[tuple[Any, Any, Any]] = []
    given = as_state(states[0]) if len(states) == 1 else merge_state(*states)
    if _plan(node, given, (), steps) is not node:
        raise StructureError(f"a {type(node).__name__} cannot be changed")
    holders = {id(holder): holder for holder, *_ in steps}.values()
    undo = [*map(_undoing, holders)]
    try:
        for holder, part, value in steps:
            write(holder, part, value)
    except BaseException:  # of a setter of the user; it is raised again
        for restore in undo:
            restore()
        raise


def _plan(
    node: Any, level: State, path: Path, steps: list[tuple[Any, Any, Any]]
) -> Any:
    """Check values that are to be brought into a node, and work out the steps.

    Args:
        node: The node.
        level: The values, by name, position or key.
        path: Its path.
        steps: A list that gets what to write: a holder, the part of it, the value.

    Returns:
        The node; if it cannot be changed in place, what takes its place.
    """
    rule: Any = rule_of(type(node))
    children, aux = rule.flatten(node)
    known = dict(zip(parts_of(rule, aux, len(children)), children, strict=True))
    changed = {}
    for part, value in level.items():
        new: Any = value
        where, child = (*path, part), known.get(part, MISSING)
        if isinstance(child, Variable) and type(new) is not State:
            steps.append((child, None, new))
            continue
        has_rule = child is not MISSING and rule_of(type(child)) is not None
        if type(new) is State and has_rule and not isinstance(child, Variable):
            new = _plan(child, new, where, steps)
            if new is child:
                continue
        elif type(new) is State or (has_rule and child is not None):
            raise wrong(where, _expected(child, new), new)
        if isinstance(node, Pytree):
            params = getattr(node, "__dataclass_params__", None)
            if params is not None and params.frozen:
                raise wrong(where, f"no value: a {type(node).__name__} is frozen", new)
            check(node, spec_of(node).entry_name(node, part), new)
        elif child is MISSING and not isinstance(node, dict):
            there = ", ".join(map(short_repr, [*known][:5])) or "nothing"
            text = f"{where} does not exist; available: {there}"
            raise StructureError(text, path=where)
        if rule.fill is not None or _is_mutable(node, rule):
            steps.append((node, part, new))
        else:
            changed[part] = new
    return rule.unflatten(aux, [*{**known, **changed}.values()]) if changed else node


def _expected(child: Any, new: Any) -> str:
    """Return in words what may be given where something stands."""
    if child is MISSING:
        return "no mapping"
    if isinstance(child, Variable):
        return f"a {type(child).__name__}"
    return (
        "a bare value"
        if type(new) is State
        else f"the values of a {type(child).__name__}"
    )


def write(holder: Any, key: Any, value: Any) -> None:
    """Write one value into a variable, an object or a container.

    A variable stays frozen, or not frozen; no `set_value` is called.
    """
    if isinstance(holder, Pytree):
        name = spec_of(holder).entry_name(holder, key)
        check_level(holder, str(key_of(name)))
        assign(holder, name, value)
    elif not isinstance(holder, Variable):
        holder[key] = value
    else:
        if not isinstance(value, Variable):
            value = make_variable(Variable, value, raw_metadata(holder))
        elif is_frozen(value) is not is_frozen(holder):
            metadata = value.get_metadata()
            if metadata.pop(FROZEN, None) is not True:
                metadata[FROZEN] = True
            value = make_variable(Variable, bare(value), metadata)
        holder.update_from_state(value)


def _undoing(holder: Any) -> Callable[[], None]:
    """Return a function that brings back what is in a holder now."""
    if isinstance(holder, Variable):
        before = bare(holder), raw_metadata(holder)
        return lambda: holder.update_from_state(make_variable(Variable, *before))
    if isinstance(holder, Pytree):
        values, kinds = dict(vars(holder)), dict(kinds_in(holder))
        return lambda: refill(holder, values, kinds)
    items = holder.copy()

    def restore() -> None:
        holder.clear()
        (holder.update if isinstance(holder, dict) else holder.extend)(items)

    return restore


# -------------------------------------------------------------------------- pop


@overload
def pop(node: Any, only: Filter, /) -> State: ...


@overload
def pop(
    node: Any, first: Filter, second: Filter, /, *more: Filter
) -> tuple[State, ...]: ...


def pop(node: Any, *filters: Filter) -> Any:
    """Remove values from an object, and return them.

    A popped value is removed from the object under all its names, together with its
    kind. No matching value is left. The state contains a shared variable once, at the
    first path where it occurs.

    Args:
        node: The object.
        *filters: Which values to remove.

    Returns:
        A state, or a tuple with a state for each of several filters.

    Raises:
        ValueError: No filter is given, or a value is in a place from which it cannot be
            removed, such as a list; nothing is changed.
        TypeError: `node` is a bare value, or an argument is not a filter.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> model = nn.Dict(w=nn.Param(1.0), seen=nn.Intermediate(3))
        >>> nn.pop(model, nn.Intermediate).seen.value
        3
        >>> [*model]
        ['w']

    Modelled on `flax.nnx.pop`.
    """
    if not filters:
        raise ValueError("pop takes at least one filter: what to take out")
    flat = flatten_whole(node)
    chosen, _ = select(flat, filters)
    indexes = [index for part in chosen for index in part]
    taken = [flat.leaves[i] for i in indexes]
    popped = {id(value) for value in taken if isinstance(value, Variable)}
    found = [(flat.holders[i], flat.paths[i]) for i in indexes]
    found += [
        (holder, path)
        for number, path, holder in flat.again
        if id(flat.tracked[number]) in popped
    ]
    for holder, path in found:
        is_attribute = isinstance(holder, Pytree) and isinstance(path[-1], str)
        if not isinstance(holder, dict) and not is_attribute:
            raise ValueError(
                f"Cannot pop key {safe_repr(path[-1])} at {path}: it cannot be removed "
                f"from a {type(holder).__name__}"
            )
    states = [part_of(flat, part) for part in chosen]
    for holder, path in found:
        if isinstance(holder, dict):
            del holder[path[-1]]
        else:
            drop(holder, spec_of(holder).entry_name(holder, path[-1]))
    return tuple(states) if len(states) > 1 else states[0]


# ------------------------------------------------------------------------ clone


def clone(tree: T, variables: bool = True) -> T:
    """Return a copy of an object or nested containers; shared references are kept.

    An object that appears in several places is copied once; this includes plain lists
    and dicts. Cycles are copied as cycles. Static containers are copied, too, and so
    are NumPy arrays. Other values are not copied.

    Args:
        tree: An object, or nested containers.
        variables: Whether to copy variables; otherwise the copy shares them.

    Raises:
        CycleError: A cycle passes through an immutable container.

    Example:
        >>> from leafwise import nn
        >>> row = [1, 2]
        >>> copied = nn.clone({"a": row, "b": row})
        >>> copied["a"] is copied["b"], copied["a"] is row
        (True, False)

    Modelled on `flax.nnx.clone`.
    """
    made: T = copy_graph(tree, variables, _copied_leaf if variables else lambda x: x)
    return made


def copy_graph(tree: Any, variables: bool, copy_leaf: Callable[[Any], Any]) -> Any:
    """Return a copy of nested objects and containers; shared references are kept."""
    copies: dict[int, Any] = {}
    kept: list[Any] = []  # so that no id is that of another one later

    def copied(value: Any) -> Any:
        rule = rule_of(type(value))
        if rule is None or (not variables and isinstance(value, Variable)):
            return copy_leaf(value)
        if id(value) in copies:
            if copies[id(value)] is MISSING:
                raise CycleError("a cycle contains an immutable container")
            return copies[id(value)]
        kept.append(value)
        children, aux = rule.flatten(value)
        # What can contain itself is made before its children.
        node: Any
        if rule.fill is not None:
            node = object.__new__(rule.cls)
            copies[id(value)] = node
            return rule.fill(node, aux.renewed(), [*map(copied, children)])
        if _is_mutable(value, rule):
            node = rule.from_items(rule.rest(value), {} if rule.is_mapping else [])
            copies[id(value)] = node
            add_items = node.update if rule.is_mapping else node.extend
            add_items(rule.unflatten(aux, [*map(copied, children)]))
            return node
        copies[id(value)] = MISSING
        copies[id(value)] = rule.unflatten(aux, [*map(copied, children)])
        return copies[id(value)]

    return copied(tree)


def _copied_leaf(leaf: Any) -> Any:
    numpy = sys.modules.get("numpy")
    if numpy is not None and type(leaf) is numpy.ndarray:
        return leaf.copy()
    return bytearray(leaf) if type(leaf) is bytearray else leaf


# ------------------------------------------------------------------ by kind


def _by_kind(
    tree: Any, kinds: Sequence[Kind]
) -> tuple[list[Any], list[bool], PyTreeDef]:
    """Return the leaves of a tree, whether each is of one of the kinds, and the rest.

    Raises:
        TypeError: No kind is given, or an argument is not a kind.
    """
    wrong = [kind for kind in kinds if not isinstance(kind, Kind)]
    if wrong or not kinds:
        found = type(wrong[0]).__name__ if wrong else "none"
        raise TypeError(
            f"give one kind or more, members of leafwise.nn.Kind; got {found}"
        )
    wanted = {*kinds, *(COUNT_AS_STATE if Kind.STATE in kinds else ())}
    leaves, treedef = tree_flatten(tree)
    return leaves, [kind in wanted for kind in kinds_of(entries_of(treedef))], treedef


def select_kind(tree: T, *kinds: Kind) -> T:
    """Return a tree with only the leaves of the given kinds; other leaves become None.

    Args:
        tree: A tree with objects in it.
        *kinds: The kinds. `Kind.STATE` includes frozen parameters.

    Raises:
        TypeError: No kind is given, or an argument is not a kind.

    Example:
        >>> from leafwise import nn
        >>> class Layer(nn.Module):
        ...     def __init__(self):
        ...         self.register_parameter("weight", 0.5)
        ...         self.register_state("calls", 3)
        >>> nn.select_kind([Layer(), Layer()], nn.Kind.PARAMETER)[0]
        Layer(weight=0.5, calls=None)

    Modelled on `select_parameters` and `select_states` in PAX.
    """
    leaves, are_wanted, treedef = _by_kind(tree, kinds)
    rows = zip(leaves, are_wanted, strict=True)
    selected: T = treedef.unflatten(x if wanted else None for x, wanted in rows)
    return selected


def update_kind(tree: T, other: Any, *kinds: Kind) -> T:
    """Return a tree whose leaves of the given kinds are taken from another tree.

    Args:
        tree: A tree with objects in it.
        other: A tree of the same structure. Where it has None, as in the result of
            `select_kind`, the leaf of `tree` is kept.
        *kinds: The kinds. `Kind.STATE` includes frozen parameters.

    Raises:
        StructureError: The two trees have different structures.
        TypeError: No kind is given, or an argument is not a kind.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Layer(nn.Module):
        ...     def __init__(self):
        ...         self.register_parameter("weight", 0.5)
        ...         self.register_state("calls", 3)
        >>> layer = Layer()
        >>> doubled = lw.tree_map(lambda x: x * 2, layer)
        >>> lw.tree_leaves(nn.update_kind(layer, doubled, nn.Kind.PARAMETER))
        [1.0, 3]

    Modelled on `update_parameters` and `update_states` in PAX.
    """
    leaves, are_wanted, treedef = _by_kind(tree, kinds)
    rows = zip(leaves, treedef.flatten_up_to(other), are_wanted, strict=True)
    updated: T = treedef.unflatten(
        theirs if wanted and theirs is not None else mine
        for mine, theirs, wanted in rows
    )
    return updated

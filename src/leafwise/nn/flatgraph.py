"""Graphs of objects, taken apart into a structure and values, and put together again.

A structure is one of `core.reference`, with two more node types that have no children:
a `Reference` stands where an object occurs again, and a `Constant` where a value is
part of the structure. Objects and variables are numbered in the order in which a walk
meets them; a reference has the number of its object. A variable is a node with one
leaf. Paths are tuples of names, positions and keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import is_
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeAlias, TypeVar

from .._hooks import Description, Displayable
from .._text import safe_repr
from ..core.keypath import KeyPath
from ..core.keys import DictKeys
from ..core.matching import code_text
from ..core.node import NodeType
from ..core.reference import Structure, steps_of, structure_of
from ..core.register import ComparableStaticNodeType
from ..core.registry import GLOBAL, Mode, declare_namespace, install
from ..core.treedef import PyTreeDef, code_of, treedef_of
from ..core.words import WORDS, Brackets, Words, brackets
from ..equality import exact
from ..errors import CycleError
from ..fields import Kind
from ..show.sketch import Child, Sketch
from .checks import holds_data, looks_like_array, node_type_of
from .instance import OBJECTS, is_unchecked, parts_of
from .statics import Statics, snapshot
from .variables import Variable, make_variable, metadata_in


__all__ = ["GraphDef"]

if TYPE_CHECKING:
    import typing_extensions

    M = typing_extensions.TypeVar("M", default=Any)
else:
    M = TypeVar("M")

Path: TypeAlias = tuple[Any, ...]
Node: TypeAlias = tuple[Any, Any, list[Structure]]
"""The structure of what is not a leaf: `(node type, aux data, children)`."""

Place: TypeAlias = tuple[Path, Node | None]
"""The path of a value, and the structure of the variable around it, None without."""


# -------------------------------------------------- the node types of structures alone


class Constant:
    """A place in a structure without children: a static value, which is aux data."""


class Reference:
    """A place where an object stands again; its number is the aux data."""


class PlaceNodeType(NodeType):
    """The node type of places without children."""

    def same(self, a: Any, b: Any) -> bool:
        return exact.same(a, b, typed=True)

    def hash(self, aux: Any) -> int:
        return exact.digest(aux, typed=True)


def _place_brackets(node_type: NodeType, aux: Any, _arity: int) -> Brackets:
    sign = "#" if node_type.cls is Reference else ""
    return f"{sign}{safe_repr(aux)}", None, ""


WORDS[PlaceNodeType] = Words(brackets=_place_brackets)

_PACKAGE: Final = __name__.partition(".")[0]
install(Constant, PlaceNodeType, where=_PACKAGE)
install(Reference, PlaceNodeType, where=_PACKAGE)
declare_namespace(OBJECTS, dispatch=node_type_of)  # where treedefs find them again
CONSTANT: Final = node_type_of(Constant)
REFERENCE: Final = node_type_of(Reference)


# --------------------------------------------------------------------------- GraphDef


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

    __slots__ = ("_places", "_structure", "_treedef")
    __leafwise__: ClassVar[Description] = _GraphDefDescription()

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self._places: list[Place] | None = None
        self._treedef: PyTreeDef | None = None

    @property
    def paths(self) -> tuple[Path, ...]:
        """The path of each value."""
        return tuple([path for path, _ in places_in(self)])

    @property
    def treedef(self) -> PyTreeDef:
        """The structure as a treedef."""
        if self._treedef is None:
            steps = steps_of(self._structure)
            self._treedef = treedef_of(steps, Mode(GLOBAL, False))
        return self._treedef

    @property
    def num_leaves(self) -> int:
        """The number of values."""
        return self.treedef.num_leaves

    def __eq__(self, other: object) -> bool:
        if type(other) is not GraphDef:
            return NotImplemented
        return self is other or self.treedef == other.treedef

    def __hash__(self) -> int:
        return hash(self.treedef)

    def __reduce__(self) -> Any:
        return _graphdef_of, (self.treedef,)

    def __repr__(self) -> str:
        return f"GraphDef({code_text(code_of(self.treedef), _brackets)})"


install(GraphDef, ComparableStaticNodeType, bridge=True, where=_PACKAGE)


def structure_in(graphdef: GraphDef[Any]) -> Structure:
    """Return the structure of a graphdef."""
    return graphdef._structure


def places_in(graphdef: GraphDef[Any]) -> list[Place]:
    """Return the places of the values in a graphdef, which are found once."""
    if graphdef._places is None:
        places: list[Place] = []
        _add_places(places, graphdef._structure, ())
        graphdef._places = places
    return graphdef._places


def _graphdef_of(treedef: PyTreeDef) -> GraphDef:
    return GraphDef(structure_of(code_of(treedef)))


def _brackets(node_type: NodeType, aux: Any, arity: int) -> Brackets:
    """Return the text around the children of a node; its class and its keys."""
    if isinstance(node_type, PlaceNodeType):
        return brackets(node_type, aux, arity)
    name = node_type.class_of(aux).__name__
    static = f"[{aux}]" if type(aux) is Statics and aux.values else ""
    labels = [f"{key}=".lstrip(".") for key in node_type.keys(aux, arity)]
    is_variable = issubclass(node_type.cls, Variable)
    return f"{name}{static}(", None if is_variable else labels, ")"


# ------------------------------------------------------------------------- structures


def children_of(structure: Structure) -> list[Structure]:
    """Return the structures of the children; a leaf has none."""
    return [] if structure is None else structure[2]


def count_leaves(structure: Structure) -> int:
    """Return the number of values."""
    if structure is None:
        return 1
    return sum(map(count_leaves, structure[2]))


def _add_places(places: list[Place], structure: Structure, path: Path) -> None:
    """Append the places of the values in a structure to a list."""
    if structure is None:
        places.append((path, None))
        return
    node_type, aux, structures = structure
    if issubclass(node_type.cls, Variable):
        places.append((path, structure))
        return
    parts = parts_of(node_type, aux, len(structures))
    for part, child in zip(parts, structures, strict=True):
        _add_places(places, child, (*path, part))


def kinds_of(structure: Structure) -> list[Kind]:
    """Return the kind of each value.

    It is that of the attribute, of the innermost object around it, where it stands; a
    variable there may be of a closer kind, which is that of all in it.
    """
    kinds: list[Kind] = []

    def add(structure: Structure, kind: Kind, is_final: bool) -> None:
        if structure is None:
            kinds.append(kind)
            return
        node_type, aux, structures = structure
        child_kinds = [kind] * len(structures)
        if type(aux) is Statics and not is_final:
            child_kinds = node_type.cls.__leafwise__.child_kinds(aux, kind)
            is_variable = issubclass(node_type.cls, Variable)
            is_final = is_variable and child_kinds[0] is not Kind.DATA
        for child, child_kind in zip(structures, child_kinds, strict=True):
            add(child, child_kind, is_final)

    add(structure, Kind.DATA, False)
    return kinds


def are_identical(a: Structure, b: Structure) -> bool:
    """Return whether structures are equal, with the very values in the same order."""
    if a is None or b is None:
        return a is b
    node_type, aux, structures = a
    other_node_type, other_aux, other_structures = b
    return (
        node_type is other_node_type
        and len(structures) == len(other_structures)
        and is_identical_aux(node_type, aux, other_aux)
        and all(map(are_identical, structures, other_structures))
    )


def is_identical_aux(node_type: NodeType, a: Any, b: Any) -> bool:
    """Return whether aux data are the same, with the very values in the same order."""
    if a is b:
        return True
    if not node_type.same(a, b):
        return False
    if node_type.is_mapping:
        return _keys_in(a).inserted == _keys_in(b).inserted  # `same` takes any order
    if type(a) is not Statics:
        return True
    names = a.fields.names
    return names == b.fields.names and all(map(is_, a.values, b.values))


def _keys_in(aux: Any) -> DictKeys:
    """Return the keys in the aux data of a mapping, alone or beside what else it is."""
    keys: DictKeys = aux if type(aux) is DictKeys else aux[0]
    return keys


# ------------------------------------------------------------------------- flattening

_OUTSIDE: Final = 0
_CHECKED: Final = 1
_UNCHECKED: Final = 2
_IN_CONTAINER: Final = 3
"""Where a value stands: in no object; under one that marks its attributes; right in one
that does not; in a container in such a one."""


class FlatGraph:
    """A flattened graph.

    Attributes:
        structure: The structure.
        leaves: The values.
        paths: The path of each value.
        holders: For each value, the object or container that it stands in.
        again: For each reference, the number of what stands there, the path, and the
            holder.
        tracked: The objects and variables, by number.
        first: For each of these, its first path.
        statics: For each of these, its static part.
        has_unchecked: Whether one of these does not mark its attributes.
    """

    def __init__(self, root: Any, traced: bool) -> None:
        self.leaves: list[Any] = []
        self.paths: list[Path] = []
        self.holders: list[Any] = []
        self.again: list[tuple[int, Path, Any]] = []
        self.tracked: list[Any] = []
        self.first: list[Path] = []
        self.statics: list[Statics] = []
        self.has_unchecked: bool = False
        self._containers: set[int] = set()  # the ids of those around a value
        self._numbers: dict[int, int] = {}  # of objects by their id
        self._node_types: dict[type, NodeType | None] = {}
        self._traced = traced
        self.structure: Structure = self._visit(root, (), None, _OUTSIDE)

    @property
    def graphdef(self) -> GraphDef[Any]:
        """The structure without the values."""
        return GraphDef(self.structure)

    def _visit(self, value: Any, path: Path, holder: Any, place: int) -> Structure:
        """Add what stands at a path of the graph, and return its structure."""
        cls = type(value)
        try:
            node_type = self._node_types[cls]
        except KeyError:
            node_type = self._node_types[cls] = node_type_of(cls)
        if node_type is None:
            if self._is_constant(value, place):
                return CONSTANT, snapshot(value), []
            self._add_value(value, path, holder)
            return None
        if node_type.fill is None:
            return self._visit_container(value, node_type, path, place)
        count = len(self.tracked)
        number = self._numbers.setdefault(id(value), count)
        if number != count:
            self.again.append((number, path, holder))
            return REFERENCE, number, []
        children, statics = node_type.flatten(value)
        self.tracked.append(value)
        self.first.append(path)
        self.statics.append(statics)
        if issubclass(cls, Variable):
            # as `_add_value`; a call for each variable would take a twentieth of a walk
            self.leaves.append(value)
            self.paths.append(path)
            self.holders.append(holder)
            return node_type, statics, [None]
        place_inside = _CHECKED
        if is_unchecked(cls):
            place_inside = _UNCHECKED
            self.has_unchecked = True
        structures = []
        for part, child in zip(statics.fields.parts, children, strict=True):
            structures.append(self._visit(child, (*path, part), value, place_inside))
        return node_type, statics, structures

    def _visit_container(
        self, container: Any, node_type: NodeType, path: Path, place: int
    ) -> Structure:
        """Add what is in a container or another value that is a node."""
        if id(container) in self._containers:
            raise CycleError(
                f"the {type(container).__name__} at {path} contains itself, with no "
                "object in between",
                again=KeyPath(()),
            )
        # not numbered: a container that stands in two places is not one thing to users
        # of Flax, and its content is there twice
        self._containers.add(id(container))
        place_inside = place if place < _UNCHECKED else _IN_CONTAINER
        children, aux = node_type.flatten(container)
        parts = parts_of(node_type, aux, len(children))
        structures = []
        for part, child in zip(parts, children, strict=True):
            child_path = (*path, part)
            structures.append(self._visit(child, child_path, container, place_inside))
        self._containers.discard(id(container))
        return node_type, aux, structures

    def _is_constant(self, value: Any, place: int) -> bool:
        """Return whether a value is part of the structure."""
        if self._traced and place != _OUTSIDE and not is_traceable(type(value)):
            return True
        if place != _IN_CONTAINER:
            return False
        return not (looks_like_array(value) or holds_data(value))

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
    return FlatGraph(root, traced)


def is_traceable(cls: type) -> bool:
    """Return whether values of a type are numbers or arrays to jax."""
    return (
        issubclass(cls, int | float | complex)
        or hasattr(cls, "dtype")
        or hasattr(cls, "__jax_array__")
    )


# ----------------------------------------------------------------------- unflattening


def unflatten_graph(
    structure: Structure,
    leaves: Iterable[Any],
    *,
    are_bare: bool = False,
    tracked: list[Any] | None = None,
    reuse: Mapping[int, Any] = MappingProxyType({}),
) -> Any:
    """Rebuild a graph from its structure and its values.

    Args:
        structure: The structure.
        leaves: The values in order, variables included.
        are_bare: Whether they are values alone, which are put into new variables.
        tracked: A list of objects that references refer to, by number; what is rebuilt
            is appended to it.
        reuse: By number, objects and variables that are filled anew rather than made.
    """
    values = iter(leaves)
    objects: list[Any] = [] if tracked is None else tracked

    def build(structure: Structure) -> Any:
        if structure is None:
            return next(values)
        node_type, aux, structures = structure
        if node_type is REFERENCE:
            return objects[aux]
        if node_type is CONSTANT:
            return snapshot(aux)
        if node_type.fill is None:
            return node_type.unflatten(aux, list(map(build, structures)))
        node = reuse.get(len(objects))
        if issubclass(node_type.cls, Variable):
            variable = next(values)
            if are_bare:
                metadata = metadata_in(aux.renewed())
                variable = make_variable(node_type.cls, variable, metadata)
            if node is not None:
                node.update_from_state(variable)
                variable = node
            objects.append(variable)
            return variable
        statics = aux.renewed(node)
        if node is None:
            node = object.__new__(node_type.cls)
        objects.append(node)  # before what is in it, which may refer to it
        return node_type.fill(node, statics, list(map(build, structures)))

    return build(structure)

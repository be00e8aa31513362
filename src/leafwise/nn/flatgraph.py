"""Graphs of objects, taken apart into a structure and values, and put together again.

A structure is one of `core.reference`, with two more node types that have no children:
a `Reference` stands where an object occurs again, and a `Constant` where a value is
part of the structure. Objects and variables are numbered in the order in which a walk
meets them; a reference has the number of its object. A variable is a node with one
leaf. Paths are tuples of names, positions and keys.

A training loop passes the same model again and again. So the structure of the last
graph is tried first: `LastGraph` reads the values by it, and notices where the graph
has another class, key or static value by now, or other shared references.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import is_
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeAlias, TypeVar

from .._hooks import Description, Displayable, hooks
from .._runtime import add_class
from .._text import safe_repr
from ..core.keypath import KeyPath
from ..core.matching import code_text
from ..core.node import NodeType
from ..core.reference import Structure, steps_of, structure_of
from ..core.register import ComparableStaticNodeType
from ..core.registry import GLOBAL, Mode, View, current, declare_namespace, install
from ..core.treedef import PyTreeDef, code_of, treedef_of
from ..core.words import WORDS, Brackets, Words, brackets
from ..equality import exact
from ..errors import CycleError
from ..fields import Kind
from ..show.sketch import Child, Sketch
from .checks import holds_data, looks_like_array, node_type_of
from .instance import OBJECTS, is_unchecked, parts_of
from .statics import Statics, snapshot
from .variables import Variable, aux_of, bare, make_variable, metadata_in


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


class _PlaceNodeType(NodeType):
    """The node type of places without children."""

    def same(self, a: Any, b: Any) -> bool:
        return exact.same(a, b, typed=True)

    def hash(self, aux: Any) -> int:
        return exact.digest(aux, typed=True)


def _place_brackets(node_type: NodeType, aux: Any, _arity: int) -> Brackets:
    sign = "#" if node_type.cls is Reference else ""
    return f"{sign}{safe_repr(aux)}", None, ""


WORDS[_PlaceNodeType] = Words(brackets=_place_brackets)

_PACKAGE: Final = __name__.partition(".")[0]
install(Constant, _PlaceNodeType, where=_PACKAGE)
install(Reference, _PlaceNodeType, where=_PACKAGE)
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
    if isinstance(node_type, _PlaceNodeType):
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
        and _is_identical_aux(node_type, aux, other_aux)
        and all(map(are_identical, structures, other_structures))
    )


def _is_identical_aux(node_type: NodeType, a: Any, b: Any) -> bool:
    """Return whether aux data are the same, with the very values in the same order."""
    if a is b:
        return True
    if not node_type.same(a, b):
        return False
    if node_type.is_mapping and type(a) is tuple:
        return bool(a[0] == b[0])  # the keys, in their own order
    if type(a) is not Statics:
        return True
    names = a.fields.names
    return names == b.fields.names and all(map(is_, a.values, b.values))


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
        number = self._numbers.get(id(value))
        if number is not None:
            self.again.append((number, path, holder))
            return REFERENCE, number, []
        if node_type.fill is None:
            return self._visit_container(value, node_type, path, place)
        self._numbers[id(value)] = len(self.tracked)
        self.tracked.append(value)
        self.first.append(path)
        if issubclass(cls, Variable):
            metadata = aux_of(value)
            self.statics.append(metadata)
            self._add_value(value, path, holder)
            return node_type, metadata, [None]
        children, statics = node_type.flatten(value)
        self.statics.append(statics)
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


# ---------------------------------------------------------------------- the last graph


class LastGraph:
    """Flattens graphs that mostly have the structure of the one before."""

    def __init__(self) -> None:
        # One tuple, since other threads replace both at once. At first that of a leaf.
        self._last: tuple[GraphDef[Any], _Reader | None] = (GraphDef(None), None)

    def flatten(self, root: Any) -> tuple[GraphDef[Any], list[Any], list[Any]]:
        """Return the structure of a graph, its values, and its objects by number.

        Args:
            root: A container with objects in it.
        """
        last_graphdef, reader = self._last
        if reader is not None:
            contents = reader.read(root)
            if contents is not None:
                return last_graphdef, *contents
        flat = flatten_graph(root, traced=True)
        values = list(map(bare, flat.leaves))
        if are_identical(structure_in(last_graphdef), flat.structure):
            return last_graphdef, values, flat.tracked
        graphdef = flat.graphdef
        # The containers of unchecked objects are flattened by what is in them.
        reader = None if flat.has_unchecked else _Reader(flat.structure)
        self._last = (graphdef, reader)
        return graphdef, values, flat.tracked


class _Reader:
    """Reads graphs of one structure.

    Args:
        structure: The structure; no object in it is unchecked.
    """

    __slots__ = ("_leaf_types", "_structure", "_view")

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self._view: View = current.view
        self._leaf_types: set[type] = set()

    def read(self, root: Any) -> tuple[list[Any], list[Any]] | None:
        """Return the values of a graph and its objects by number.

        Args:
            root: A container of the class that the structure begins with.

        Returns:
            None if the graph has, or may have, another structure.
        """
        if self._structure is None or current.view is not self._view:
            return None
        values: list[Any] = []
        tracked: list[Any] = []
        if not self._read_below(self._structure, root, values, tracked):
            return None
        if len(set(map(id, tracked))) != len(tracked):  # one stands in two places
            return None
        return values, tracked

    def _read_below(
        self, structure: Node, node: Any, values: list[Any], tracked: list[Any]
    ) -> bool:
        """Append what is below a node; return whether it fits the structure."""
        node_type, aux, structures = structure
        contents = None
        if node_type.fill is not None and hooks.reader is not None:
            # as `node_type.flatten` begins, without two calls for each object
            fields = aux.fields
            if fields.read is not None and node._leafwise.fields is fields:
                contents = fields.read(node)
        children, own_aux = contents or node_type.flatten(node)
        has_same_aux = own_aux is aux or _is_identical_aux(node_type, own_aux, aux)
        if not has_same_aux or len(children) != len(structures):
            return False
        # as many; `strict` would take a tenth of the time
        for child, child_structure in zip(children, structures):  # noqa: B905
            cls = type(child)
            if child_structure is None:
                if cls not in self._leaf_types and not self._is_leaf(cls):
                    return False
                values.append(child)
                continue
            child_node_type, child_aux, _ = child_structure
            if child_node_type.fill is not None:
                if cls is not child_node_type.cls:
                    return False
                tracked.append(child)
                if isinstance(child, Variable):
                    record = child._leafwise
                    has_metadata = record.metadata or child_aux.values
                    if has_metadata and not _is_identical_aux(
                        child_node_type, aux_of(child), child_aux
                    ):
                        return False
                    values.append(record.value)
                    continue
            elif type(child_node_type) is _PlaceNodeType:
                if not _is_in_place(child_node_type, child_aux, child, tracked):
                    return False
                continue
            elif cls is not child_node_type.class_of(child_aux):
                return False
            if not self._read_below(child_structure, child, values, tracked):
                return False
        return True

    def _is_leaf(self, cls: type) -> bool:
        if node_type_of(cls) is not None or not is_traceable(cls):
            return False
        add_class(self._leaf_types, cls)
        return True


def _is_in_place(node_type: NodeType, aux: Any, value: Any, tracked: list[Any]) -> bool:
    """Return whether a value is the object or the constant that a structure has."""
    if node_type is REFERENCE:
        return value is tracked[aux]
    return exact.same(value, aux, typed=True)

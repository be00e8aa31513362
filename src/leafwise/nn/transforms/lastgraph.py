"""Graphs that are flattened by the structure of the one before.

A training loop passes the same model again and again. So the structure of the last
graph is tried first: the values are read by it, and the graph has another one if a
class, a key, a static value or a shared reference is not as it was.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final

from ..._hooks import hooks
from ..._runtime import add_class
from ...core.node import NodeType
from ...core.reference import Structure
from ...core.registry import View, current
from ...equality import exact
from ..checks import node_type_of
from ..flatgraph import (
    REFERENCE,
    GraphDef,
    Node,
    PlaceNodeType,
    are_identical,
    flatten_graph,
    is_identical_aux,
    is_traceable,
    structure_in,
)
from ..statics import Fields, Statics
from ..variables import Variable, aux_of, bare


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
        reader = None
        # The containers of unchecked objects are flattened by what is in them.
        if flat.structure is not None and not flat.has_unchecked:
            reader = _Reader(flat.structure)
        self._last = (graphdef, reader)
        return graphdef, values, flat.tracked


_VARIABLE: Final = object()


@dataclasses.dataclass(slots=True, eq=False)
class _Outline:
    """What a reader expects of a node: its structure, with what is quick to compare.

    Attributes:
        cls: The class; None at a place without children.
        node_type: The node type.
        fields: The description of an object; None of another node.
        aux: The aux data.
        children: For each child an outline, `_VARIABLE`, or None for a bare value.
        has_only_variables: Whether all children are variables.
    """

    cls: type | None
    node_type: NodeType
    fields: Fields | None
    aux: Any
    children: tuple[Any, ...]
    has_only_variables: bool


class _Reader:
    """Reads graphs of one structure.

    Args:
        structure: The structure; no object in it is unchecked.
    """

    __slots__ = (
        "_last_ids",
        "_leaf_types",
        "_outline",
        "_value_count",
        "_variables",
        "_view",
    )

    def __init__(self, structure: Node) -> None:
        self._view: View = current.view
        self._leaf_types: set[type] = set()
        self._value_count = 0
        # The place of each among the values, its node type and its metadata.
        self._variables: list[tuple[int, NodeType, Statics]] = []
        self._outline: _Outline = self._outline_of(structure)
        self._last_ids: list[int] = []

    def _outline_of(self, structure: Structure) -> Any:
        if structure is None:
            self._value_count += 1
            return None
        node_type, aux, structures = structure
        if issubclass(node_type.cls, Variable):
            self._variables.append((self._value_count, node_type, aux))
            self._value_count += 1
            return _VARIABLE
        children = tuple(map(self._outline_of, structures))
        is_place = isinstance(node_type, PlaceNodeType)
        return _Outline(
            cls=None if is_place else node_type.class_of(aux),
            node_type=node_type,
            fields=None if node_type.fill is None else aux.fields,
            aux=aux,
            children=children,
            has_only_variables=set(children) == {_VARIABLE},
        )

    def read(self, root: Any) -> tuple[list[Any], list[Any]] | None:
        """Return the values of a graph and its objects by number.

        Args:
            root: A container of the class that the structure begins with.

        Returns:
            None if the graph has, or may have, another structure.
        """
        if current.view is not self._view:
            return None
        values: list[Any] = []
        tracked: list[Any] = []
        if not self._read_node(self._outline, root, values, tracked):
            return None
        if not self._take_from_variables(values) or self._is_shared(tracked):
            return None
        return values, tracked

    def _read_node(
        self, outline: _Outline, node: Any, values: list[Any], tracked: list[Any]
    ) -> bool:
        """Append what is in a node; return whether it fits.

        Variables are appended as they are, and not looked at yet.
        """
        node_type = outline.node_type
        fields = outline.fields
        aux = outline.aux
        outlines = outline.children
        contents = None
        if fields is not None:
            tracked.append(node)
            # as `node_type.flatten` begins, without two calls for each object
            read = fields.read if node._leafwise.fields is fields else None
            if read is not None and hooks.reader is not None:
                contents = read(node)
        children, own_aux = contents or node_type.flatten(node)
        has_same_aux = own_aux is aux or is_identical_aux(node_type, own_aux, aux)
        if not has_same_aux or len(children) != len(outlines):
            return False
        if (
            outline.has_only_variables
        ):  # as in most layers; a loop would take twice the time
            values += children
            tracked += children
            return True
        # as many; `strict` would take a tenth of the time
        for child, child_outline in zip(children, outlines):  # noqa: B905
            if child_outline is _VARIABLE:
                values.append(child)
                tracked.append(child)
            elif child_outline is None:
                cls = type(child)
                if cls not in self._leaf_types and not self._is_leaf(cls):
                    return False
                values.append(child)
            elif child_outline.cls is None:
                if not _is_in_place(child_outline, child, tracked):
                    return False
            else:
                has_same_class = type(child) is child_outline.cls
                if not has_same_class or not self._read_node(
                    child_outline, child, values, tracked
                ):
                    return False
        return True

    def _take_from_variables(self, values: list[Any]) -> bool:
        """Replace variables by their values; return whether they fit."""
        for index, node_type, metadata in self._variables:
            variable = values[index]
            cls: Any = node_type.cls
            if type(variable) is not cls:
                return False
            record = variable._leafwise
            has_metadata = record.metadata or metadata.values
            if has_metadata and not is_identical_aux(
                node_type, aux_of(variable), metadata
            ):
                return False
            values[index] = record.value
        return True

    def _is_shared(self, tracked: list[Any]) -> bool:
        """Return whether an object stands in two places."""
        ids = list(map(id, tracked))
        # Mostly the objects of the last call, which were all different. Where their ids
        # belong to others by now, these are different, too.
        if ids == self._last_ids:
            return False
        if len(set(ids)) != len(ids):
            return True
        self._last_ids = ids
        return False

    def _is_leaf(self, cls: type) -> bool:
        if node_type_of(cls) is not None or not is_traceable(cls):
            return False
        add_class(self._leaf_types, cls)
        return True


def _is_in_place(outline: _Outline, value: Any, tracked: list[Any]) -> bool:
    """Return whether a value is the object or the constant that a structure has."""
    if outline.node_type is REFERENCE:
        return value is tracked[outline.aux]
    return exact.same(value, outline.aux, typed=True)

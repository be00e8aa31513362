"""The functions of NNX on graphs of objects: split and merge, update, pop, clone.

`flatgraph` takes graphs apart and puts them together. Here are what users do with that,
the iteration over a graph, and what stands twice in it. What changes an object checks
everything before it writes anything. Paths are tuples of names, positions and keys.
"""

from __future__ import annotations

import sys
from collections.abc import (
    Callable,
    Iterator,
    Mapping,
    MutableMapping,
    MutableSequence,
    Sequence,
)
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from .._records import MISSING
from .._text import (
    escape_controls,
    is_similar,
    join_names,
    nearest_names,
    other_type,
    safe_repr,
    safe_str,
    short_repr,
)
from ..core.builtins import ContainerNodeType
from ..core.keypath import KeyPath
from ..core.keys import DictKey, GetAttrKey
from ..core.node import NodeType
from ..core.reference import structure_of
from ..core.treedef import PyTreeDef, code_of
from ..equality.leaves import type_names
from ..errors import CycleError, StructureError
from ..fields import COUNT_AS_STATE, Kind
from ..ops.map import tree_flatten
from .checks import check_level, is_data, node_type_of
from .filters import Filter, partition
from .flatgraph import (
    FlatGraph,
    GraphDef,
    Node,
    Path,
    flatten_graph,
    kinds_of,
    places_in,
    structure_in,
    unflatten_graph,
)
from .instance import assign, below, check, drop, kinds_in, parts_of, refill
from .pytree import Pytree
from .spec import spec_of
from .states import (
    State,
    as_state,
    from_flat_state,
    items_of,
    left_over,
    merge_state,
    walk_state,
)
from .statics import key_of
from .variables import (
    FROZEN,
    Variable,
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

_MAX_LISTED = 5


# -------------------------------------------------------------------------- iterating


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
    visited: dict[int, Any] = {}  # by id; they stay, so that no id is used again

    def visit(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
        if node_type_of(type(value)) is not None:
            if id(value) in visited:
                return
            visited[id(value)] = value
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
    places = list(zip(flat.tracked, flat.first, strict=True))
    places += [(flat.tracked[number], path) for number, path, _ in flat.again]
    for leaf, path in zip(flat.leaves, flat.paths, strict=True):
        value = bare(leaf)
        if is_data(value):
            # What is in a variable has a path of its own, as in `iter_graph`.
            value_path = (*path, "value") if isinstance(leaf, Variable) else path
            places.append((value, value_path))
    paths_by_id: dict[int, list[Path]] = {}
    for value, path in places:
        paths_by_id.setdefault(id(value), []).append(path)
    return [paths for paths in paths_by_id.values() if len(paths) > 1]


# ----------------------------------------------------------------------- split, state


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
    parts, unmatched = select(flat, filters)
    if unmatched:  # what is left over would be missing in `merge`
        pairs = [(flat.paths[index], flat.leaves[index]) for index in unmatched]
        raise ValueError(left_over(pairs))
    return flat.graphdef, *[part_of(flat, indexes) for indexes in parts]


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
    parts, _ = select(flat, filters)
    states = [part_of(flat, indexes) for indexes in parts]
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
    if node_type_of(type(node)) is None:
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
        return [list(range(len(flat.leaves)))], []
    rows = zip(flat.paths, flat.leaves, kinds_of(flat.structure), strict=True)
    return partition(rows, filters)


def part_of(flat: FlatGraph, indexes: Sequence[int]) -> Any:
    """Return some values of a graph as a state; a bare variable is its own."""
    if flat.paths == [()] and indexes:
        return flat.leaves[0]
    pairs = [(flat.paths[index], flat.leaves[index]) for index in indexes]
    return from_flat_state(pairs)


# ------------------------------------------------------------------------------ merge


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
    values: dict[Path, Any] = {}
    for path, value in chain.from_iterable(map(walk_state, states)):
        if path in values:
            raise StructureError(f"two states have a value at {path}", path=path)
        values[path] = value
    leaves = []
    for path, variable in places_in(graphdef):
        value = values.pop(path, MISSING)
        if value is MISSING:
            raise StructureError(f"the state has no value at {path}", path=path)
        if variable is None:
            if isinstance(value, Variable):
                raise _misfit(path, "a bare value", value)
        # Mostly the state has the variable itself, which needs no call.
        elif copy or type(value) is not variable[0].cls:
            value = _variable_for(variable, value, path, copy=copy)
        leaves.append(value)
    for path in values:
        raise StructureError(
            f"the state has a value at {path}, where the structure has none", path=path
        )
    node: M = unflatten_graph(structure_in(graphdef), leaves)
    return node


def _variable_for(
    structure: Node, value: Any, path: Path, *, copy: bool
) -> Variable[Any]:
    """Return a variable of a state, or a new one for a bare value.

    Args:
        structure: The structure of the variable.
        value: What the state has.
        path: Its path.
        copy: Whether to copy a variable.

    Raises:
        StructureError: It is a variable of another type.
    """
    node_type, metadata, _ = structure
    if not isinstance(value, Variable):
        variable: Variable[Any] = make_variable(
            node_type.cls, value, metadata_in(metadata)
        )
        return variable
    if type(value) is not node_type.cls:
        expected, actual = type_names(node_type.cls, type(value))
        raise _misfit(path, f"a {expected}", value, actual)
    return value.copy() if copy else value


def _misfit(
    path: Path, expected: str, value: Any, type_name: str = ""
) -> StructureError:
    """Return the error for a value that does not fit what is expected.

    Args:
        path: Its path.
        expected: What is expected, in words.
        value: The value.
        type_name: The name of its type, if that alone would be ambiguous.
    """
    if type_name:
        actual = type_name
    elif type(value) is State:
        actual = "a mapping"
    else:
        actual = type(value).__name__
    text = f"at {path}: expected {expected}, got {actual}"
    return StructureError(text, path=path, expected=expected, actual=actual)


# ----------------------------------------------------------------------------- update


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
    new_values = as_state(states[0]) if len(states) == 1 else merge_state(*states)
    writes: list[_Write] = []
    if _plan(node, new_values, (), writes) is not node:
        raise StructureError(f"a {type(node).__name__} cannot be changed")
    # All values were checked, but a property or `update_from_state` of the user's may
    # still raise, when some are written already.
    holders = {id(holder): holder for holder, _, _ in writes}
    restorers = [_restorer(holder) for holder in holders.values()]
    try:
        for holder, part, value in writes:
            write(holder, part, value)
    except BaseException:
        for restore in restorers:
            restore()
        raise


_Write: TypeAlias = tuple[Any, Any, Any]
"""What is written: the variable, object or container that holds the value, the name,
position or key in it (None in a variable), and the value."""


def _plan(node: Any, values: State, path: Path, writes: list[_Write]) -> Any:
    """Check values that are to be written into a node, and list the writes.

    Args:
        node: The node.
        values: The values, by name, position or key.
        path: Its path.
        writes: A list to which the writes are appended.

    Returns:
        The node; if it cannot be changed in place, what takes its place.
    """
    node_type: Any = node_type_of(type(node))
    children, aux = node_type.flatten(node)
    parts = parts_of(node_type, aux, len(children))
    children_by_part = dict(zip(parts, children, strict=True))
    replacements = {}
    for part, new in items_of(values).items():
        child_path = (*path, part)
        child = children_by_part.get(part, MISSING)
        if isinstance(child, Variable) and type(new) is not State:
            writes.append((child, None, new))
            continue
        is_node = child is not MISSING and node_type_of(type(child)) is not None
        if type(new) is State and is_node and not isinstance(child, Variable):
            new = _plan(child, new, child_path, writes)  # noqa: PLW2901
            if new is child:
                continue
        elif type(new) is State or (is_node and child is not None):
            if child is MISSING and not _has_static(node, part):
                raise _nothing_there(node, part, child_path, list(children_by_part))
            # None is a node, but a place that holds nothing may get a value
            raise _misfit(child_path, _expected(child, new), new)
        if isinstance(node, Pytree):
            _check_attribute(node, part, new, child_path)
        elif child is MISSING and not isinstance(node, dict):
            names = list(map(short_repr, children_by_part))[:_MAX_LISTED]
            available = ", ".join(names) or "nothing"
            raise StructureError(
                f"{child_path} does not exist; available: {available}", path=child_path
            )
        if node_type.fill is not None or _is_mutable(node, node_type):
            writes.append((node, part, new))
        else:  # a tuple, say: a new one is written where this one stands
            replacements[part] = new
    if not replacements:
        return node
    children_by_part |= replacements
    return node_type.unflatten(aux, list(children_by_part.values()))


def _check_attribute(node: Pytree, part: Any, value: Any, path: Path) -> None:
    """Raise an error if an object cannot get a value under a name or position."""
    params = getattr(node, "__dataclass_params__", None)
    if params is not None and params.frozen:
        raise _misfit(path, f"no value: a {type(node).__name__} is frozen", value)
    check(node, spec_of(node).entry_name(node, part), value)


def _expected(child: Any, new: Any) -> str:
    """Return in words what may be written where something stands."""
    if isinstance(child, Variable):
        return f"a {type(child).__name__}"
    if type(new) is State:
        return "a bare value"
    return f"the values of a {type(child).__name__}"


def _has_static(node: Any, part: Any) -> bool:
    """Return whether a place in an object holds a static value, which is no child."""
    if not isinstance(node, Pytree):
        return False
    return part in [key_of(name).entry for name in vars(node)]


def _nothing_there(
    node: Any, part: Any, path: Path, parts: Sequence[Any]
) -> StructureError:
    """Return the error for a mapping where there is nothing to update.

    Args:
        node: The object or container.
        part: The name, position or key that it lacks.
        path: The path of that place.
        parts: The names, positions or keys that it has.
    """
    name = safe_str(part)
    nearest = nearest_names(name, map(safe_str, parts))
    listing = join_names(map(escape_controls, nearest[:_MAX_LISTED])) or "nothing"
    if len(nearest) > _MAX_LISTED:
        listing += f" and {len(nearest) - _MAX_LISTED} more"
    text = (
        f"at {_selector_of(path)}: the {type(node).__name__} has no {short_repr(part)} "
        f"that a mapping could update; it has {listing}"
    )
    type_hint = other_type(part, parts)
    if type_hint:
        text += f"; {type_hint}"
    elif nearest and is_similar(name, nearest[0]):
        text += f"; did you mean {short_repr(nearest[0])}?"
    return StructureError(text, path=path, expected="no mapping", actual="a mapping")


def _selector_of(path: Path) -> str:
    """Return a path in the form of a selector, such as `layers[0].w`."""
    keys: list[Any] = []
    for part in path:
        is_name = isinstance(part, str) and part.isidentifier()
        # a selector reads all that is no name only in brackets
        keys.append(GetAttrKey(part) if is_name else DictKey(part))
    return escape_controls(str(KeyPath(keys))).removeprefix(".")


def _is_mutable(node: Any, node_type: NodeType) -> bool:
    """Return whether a node is one of Python's containers that can change."""
    is_container = isinstance(node_type, ContainerNodeType)
    return is_container and isinstance(node, MutableMapping | MutableSequence)


def write(holder: Any, part: Any, value: Any) -> None:
    """Write one value into a variable, an object or a container.

    A variable stays frozen, or not frozen; no `set_value` is called.
    """
    if isinstance(holder, Pytree):
        name = spec_of(holder).entry_name(holder, part)
        check_level(holder, str(key_of(name)))
        assign(holder, name, value)
    elif isinstance(holder, Variable):
        holder.update_from_state(_as_frozen_as(holder, value))
    else:
        holder[part] = value


def _as_frozen_as(variable: Variable[Any], value: Any) -> Variable[Any]:
    """Return a value as a variable that is frozen if another one is."""
    if not isinstance(value, Variable):
        return make_variable(Variable, value, raw_metadata(variable))
    if is_frozen(value) is is_frozen(variable):
        return value
    metadata = value.get_metadata()
    if metadata.pop(FROZEN, None) is not True:
        metadata[FROZEN] = True
    return make_variable(Variable, bare(value), metadata)


def _restorer(holder: Any) -> Callable[[], None]:
    """Return a function that brings back what is in a holder now."""
    if isinstance(holder, Variable):
        before = make_variable(Variable, bare(holder), raw_metadata(holder))
        return lambda: holder.update_from_state(before)
    if isinstance(holder, Pytree):
        values = dict(vars(holder))
        kinds = dict(kinds_in(holder))
        return lambda: refill(holder, values, kinds)
    items = holder.copy()

    def restore() -> None:
        holder.clear()
        if isinstance(holder, dict):
            holder.update(items)
        else:
            holder.extend(items)

    return restore


# -------------------------------------------------------------------------------- pop


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
    parts, _ = select(flat, filters)
    indexes = list(chain.from_iterable(parts))
    places = [(flat.holders[index], flat.paths[index]) for index in indexes]
    popped = {id(flat.leaves[index]) for index in indexes}
    for number, path, holder in flat.again:
        if id(flat.tracked[number]) in popped:  # a variable's other names
            places.append((holder, path))
    for holder, path in places:  # all, before anything is removed
        is_attribute = isinstance(holder, Pytree) and isinstance(path[-1], str)
        if not isinstance(holder, dict) and not is_attribute:
            raise ValueError(
                f"Cannot pop key {safe_repr(path[-1])} at {path}: it cannot be removed "
                f"from a {type(holder).__name__}"
            )
    states = [part_of(flat, part) for part in parts]
    for holder, path in places:
        if isinstance(holder, dict):
            del holder[path[-1]]
        else:
            drop(holder, spec_of(holder).entry_name(holder, path[-1]))
    return tuple(states) if len(states) > 1 else states[0]


# ------------------------------------------------------------------------------ clone


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
    if variables:
        copied: T = copy_graph(tree, copy_leaf=_copy_array)
        return copied
    shared: T = copy_graph(tree, is_leaf=_is_variable)
    return shared


def copy_graph(
    tree: Any,
    copy_leaf: Callable[[Any], Any] | None = None,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """Return a copy of nested objects and containers; shared references are kept.

    Args:
        tree: The objects and containers.
        copy_leaf: Takes a value that is neither, and returns what the copy has.
        is_leaf: Whether a node stays as it is; by default, none does.

    Raises:
        CycleError: A cycle passes through an immutable container.
    """
    copies: dict[int, Any] = {}
    originals: list[Any] = []  # so that no id is that of another one later

    def copy(value: Any) -> Any:
        node_type = node_type_of(type(value))
        if node_type is None or (is_leaf is not None and is_leaf(value)):
            return value if copy_leaf is None else copy_leaf(value)
        if id(value) in copies:
            node = copies[id(value)]
            if node is MISSING:
                raise CycleError("a cycle contains an immutable container")
            return node
        originals.append(value)
        children, aux = node_type.flatten(value)
        # What can contain itself is made before its children.
        if node_type.fill is not None:
            node = object.__new__(node_type.cls)
            copies[id(value)] = node
            return node_type.fill(node, aux.renewed(), list(map(copy, children)))
        if _is_mutable(value, node_type):
            node = node_type.from_items(
                node_type.rest(value), {} if node_type.is_mapping else []
            )
            copies[id(value)] = node
            items = node_type.unflatten(aux, list(map(copy, children)))
            if node_type.is_mapping:
                node.update(items)
            else:
                node.extend(items)
            return node
        copies[id(value)] = MISSING
        node = node_type.unflatten(aux, list(map(copy, children)))
        copies[id(value)] = node
        return node

    return copy(tree)


def _is_variable(value: Any) -> bool:
    return isinstance(value, Variable)


def _copy_array(leaf: Any) -> Any:
    """Return a leaf; an array that can be changed in place is copied."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and type(leaf) is numpy.ndarray:
        return leaf.copy()
    return bytearray(leaf) if type(leaf) is bytearray else leaf


# ---------------------------------------------------------------------------- by kind


def _by_kind(
    tree: Any, kinds: Sequence[Kind]
) -> tuple[list[Any], list[bool], PyTreeDef]:
    """Return the leaves of a tree, whether each is of these kinds, and the treedef.

    Raises:
        TypeError: No kind is given, or an argument is not a kind.
    """
    others = [kind for kind in kinds if not isinstance(kind, Kind)]
    if others or not kinds:
        actual = type(others[0]).__name__ if others else "none"
        raise TypeError(
            f"give one kind or more, members of leafwise.nn.Kind; got {actual}"
        )
    selected = set(kinds)
    if Kind.STATE in selected:
        selected |= set(COUNT_AS_STATE)
    leaves, treedef = tree_flatten(tree)
    leaf_kinds = kinds_of(structure_of(code_of(treedef)))
    return leaves, [kind in selected for kind in leaf_kinds], treedef


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
    leaves, are_selected, treedef = _by_kind(tree, kinds)
    selected: T = treedef.unflatten(
        leaf if is_selected else None
        for leaf, is_selected in zip(leaves, are_selected, strict=True)
    )
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
    leaves, are_selected, treedef = _by_kind(tree, kinds)
    other_leaves = treedef.flatten_up_to(other)
    new_leaves = []
    for leaf, other_leaf, is_selected in zip(
        leaves, other_leaves, are_selected, strict=True
    ):
        is_replaced = is_selected and other_leaf is not None
        new_leaves.append(other_leaf if is_replaced else leaf)
    updated: T = treedef.unflatten(new_leaves)
    return updated

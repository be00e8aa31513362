"""Split and merge, update, pop and clone: an object as structure and state, and back.

Sharing and cycles survive, for objects and variables. What changes an object checks
everything before it writes anything, and takes back what it wrote if that fails.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar, overload

from ..core.treedef import PyTreeDef
from ..equality.leaves import type_names
from ..errors import StructureError
from ..kinds import COUNT_AS_STATE, Kind
from ..ops.map import tree_flatten
from ..safely import MISSING, clip, shown, type_name
from .checks import check_level
from .filters import FROZEN, Filter, partition
from .graph import (
    LEAF,
    VARIABLE,
    FlatGraph,
    GraphDef,
    M,
    Path,
    entries_of,
    flatten_graph,
    kinds_of,
    unflatten_graph,
)
from .instance import assign, check, drop, key_of, kinds_in, parts_of, refill, rule_of
from .pytree import Pytree
from .states import State, as_state, from_flat_state, left_over, merge_state, walk_state
from .variables import Variable, make_variable, metadata_in


__all__ = [
    "clone",
    "graphdef",
    "merge",
    "pop",
    "select_kind",
    "split",
    "state",
    "update",
    "update_kind",
]

T = TypeVar("T")


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
    """Raise an error for a bare value or a bare variable.

    Raises:
        TypeError: It is one.
    """
    if rule_of(type(node)) is None or isinstance(node, Variable):
        raise TypeError(
            "expected an object or a container with objects, got a bare "
            f"{type_name(node)}"
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


def part_of(flat: FlatGraph, indexes: Iterable[int]) -> State:
    """Return some values of a graph as a state."""
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
        raise TypeError(f"merge takes a GraphDef first, got {type_name(graphdef)}")
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
            near = next((p for p in given if [*map(str, p)] == [*map(str, path)]), None)
            hint = f"; did you mean {near}?" if near else ""
            raise StructureError(f"the state has no value at {path}{hint}", path=path)
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
    actual = name or ("a mapping" if type(found) is dict else type_name(found))
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
    steps: list[tuple[Any, Any, Any]] = []
    given = as_state(states[0]) if len(states) == 1 else merge_state(*states)
    if _plan(node, given._leafwise_items, (), steps) is not node:
        raise StructureError(f"a {type_name(node)} cannot be changed")
    holders = {id(holder): holder for holder, *_ in steps}.values()
    before = [*map(_content, holders)]
    try:
        for holder, part, value in steps:
            write(holder, part, value)
    except BaseException:  # of a setter of the user; it is raised again
        for holder, content in zip(holders, before, strict=True):
            _restore(holder, content)
        raise


def _plan(
    node: Any, level: dict[Any, Any], path: Path, steps: list[tuple[Any, Any, Any]]
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
        if isinstance(child, Variable) and type(new) is not dict:
            steps.append((child, None, new))
            continue
        has_rule = child is not MISSING and rule_of(type(child)) is not None
        if type(new) is dict and has_rule and not isinstance(child, Variable):
            new = _plan(child, new, where, steps)
            if new is child:
                continue
        elif type(new) is dict or (has_rule and child is not None):
            raise wrong(where, _expected(child, new), new)
        if isinstance(node, Pytree):
            params = getattr(node, "__dataclass_params__", None)
            if params is not None and params.frozen:
                raise wrong(where, f"no value: a {type_name(node)} is frozen", new)
            check(node, node._leafwise_name(part), new)
        elif child is MISSING and not isinstance(node, dict):
            there = ", ".join(map(clip, [*known][:5])) or "nothing"
            text = f"{where} does not exist; available: {there}"
            raise StructureError(text, path=where)
        if rule.unflatten_into is None:  # it cannot change in place
            changed[part] = new
        else:
            steps.append((node, part, new))
    return rule.unflatten(aux, [*{**known, **changed}.values()]) if changed else node


def _expected(child: Any, new: Any) -> str:
    """Return in words what may be given where something stands."""
    if child is MISSING:
        return "no mapping"
    if isinstance(child, Variable):
        return f"a {type_name(child)}"
    return (
        "a bare value" if type(new) is dict else f"the values of a {type_name(child)}"
    )


def write(holder: Any, key: Any, value: Any) -> None:
    """Write one value into a variable, an object or a container.

    A variable stays frozen, or not frozen; no hook is called.
    """
    if isinstance(holder, Pytree):
        name = holder._leafwise_name(key)
        check_level(holder, str(key_of(name)))
        assign(holder, name, value)
    elif not isinstance(holder, Variable):
        holder[key] = value
    elif not isinstance(value, Variable):
        metadata = holder._leafwise_metadata
        holder.update_from_state(make_variable(Variable, value, metadata))
    elif holder._leafwise_metadata or value._leafwise_metadata:
        frozen = {FROZEN: True} if holder._leafwise_is_frozen else {}
        metadata = {n: x for n, x in value.get_metadata().items() if n != FROZEN}
        raw = value.get_raw_value()
        holder.update_from_state(make_variable(Variable, raw, metadata | frozen))
    else:
        holder.update_from_state(value)


def _content(holder: Any) -> Any:
    """Return what is in a variable, an object or a container."""
    if isinstance(holder, Variable):
        return holder._leafwise_value, holder._leafwise_metadata
    if isinstance(holder, Pytree):
        return dict(vars(holder)), dict(kinds_in(holder))
    return dict(holder) if isinstance(holder, dict) else [*holder]


def _restore(holder: Any, content: Any) -> None:
    """Bring back what was in a variable, an object or a container."""
    if isinstance(holder, Variable):
        holder.update_from_state(make_variable(Variable, *content))
    elif isinstance(holder, Pytree):
        refill(holder, *content)
    else:
        holder.clear()
        (holder.update if isinstance(holder, dict) else holder.extend)(content)


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
    popped = {id(flat.leaves[i]) for i in indexes if _is_variable(flat.leaves[i])}
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
                f"Cannot pop key {shown(path[-1])} at {path}: it cannot be removed "
                f"from a {type_name(holder)}"
            )
    states = [part_of(flat, part) for part in chosen]
    for holder, path in found:
        if isinstance(holder, dict):
            del holder[path[-1]]
        else:
            drop(holder, holder._leafwise_name(path[-1]))
    return tuple(states) if len(states) > 1 else states[0]


def _is_variable(value: Any) -> bool:
    return isinstance(value, Variable)


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
    flat = flatten_graph(tree, copying=True, keep=() if variables else (Variable,))
    leaves = map(_copied_leaf, flat.leaves) if variables else flat.leaves
    made: T = unflatten_graph(flat.code, leaves, copying=True)
    return made


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
        found = type_name(wrong[0]) if wrong else "none"
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
    selected: T = treedef.unflatten(
        leaf if wanted else None
        for leaf, wanted in zip(leaves, are_wanted, strict=True)
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
    leaves, are_wanted, treedef = _by_kind(tree, kinds)
    rows = zip(leaves, treedef.flatten_up_to(other), are_wanted, strict=True)
    updated: T = treedef.unflatten(
        theirs if wanted and theirs is not None else mine
        for mine, theirs, wanted in rows
    )
    return updated

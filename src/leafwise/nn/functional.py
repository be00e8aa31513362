"""Split and merge, update, pop and clone: an object as structure and state, and back.

Sharing and cycles survive, for objects and variables. What changes an object checks
everything before it writes anything, and takes back what it wrote if that fails.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar, overload

from ..core.treedef import PyTreeDef
from ..core.walk import unlink
from ..equality.leaves import type_names
from ..errors import StructureError
from ..kinds import COUNT_AS_STATE, Kind
from ..ops.map import tree_flatten
from ..safely import MISSING, class_name, clip, shown, type_name
from .checks import check_level, is_data
from .filters import FROZEN, Filter, judge, needs_kind, needs_path, predicates
from .graph import (
    FIXED,
    LEAF,
    REF,
    VARIABLE,
    FlatGraph,
    GraphDef,
    M,
    OnShared,
    flatten_graph,
    kinds_of,
    unflatten_graph,
)
from .instance import (
    assign,
    check,
    drop,
    keys_of,
    kinds_in,
    refill,
    rule_of,
)
from .pytree import Pytree
from .spec import key_of, kinds_of_children
from .states import State, left_over, stored, unknown, view
from .variables import (
    Variable,
    VariableRule,
    is_frozen,
    kind_in,
    make_variable,
    metadata_in,
)


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

Selected = list[list[int]]


# ------------------------------------------------------------------ split, state


@overload
def split(
    node: M, first: Filter = ..., /, *, on_shared: OnShared = ...
) -> tuple[GraphDef[M], State]: ...


@overload
def split(
    node: M, first: Filter, second: Filter, /, *, on_shared: OnShared = ...
) -> tuple[GraphDef[M], State, State]: ...


@overload
def split(
    node: M, a: Filter, b: Filter, c: Filter, /, *, on_shared: OnShared = ...
) -> tuple[GraphDef[M], State, State, State]: ...


@overload
def split(
    node: Any, /, *filters: Filter, on_shared: OnShared = ...
) -> tuple[Any, ...]: ...


def split(node: Any, *filters: Filter, on_shared: OnShared = "allow") -> Any:
    """Split an object into its graphdef and its states.

    Each object and each variable counts once, even if several attributes refer to it.
    The states contain the object's own variables, not copies.

    Args:
        node: An object, or a container with objects in it.
        *filters: The filter of each state; each value goes to the first filter that
            matches it. Without filters there is one state.
        on_shared: What to do if an object occurs again: `"allow"`, `"warn"` or
            `"error"`.

    Returns:
        The graphdef and one state for each filter, at least one.

    Raises:
        CycleError: A container contains itself, with no object in between.
        SharedError: An object occurs again, and `on_shared` is `"error"`.
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
    flat = flatten_whole(node, on_shared)
    chosen, rest = select(flat, filters)
    if rest:
        raise ValueError(
            left_over([(unlink(flat.links[i]), flat.leaves[i]) for i in rest])
        )
    return GraphDef(tuple(flat.code)), *(nested(flat, places) for places in chosen)


@overload
def state(node: Any, first: Filter = ..., /, *, on_shared: OnShared = ...) -> State: ...


@overload
def state(
    node: Any, first: Filter, second: Filter, /, *, on_shared: OnShared = ...
) -> tuple[State, State]: ...


@overload
def state(
    node: Any, a: Filter, b: Filter, c: Filter, /, *, on_shared: OnShared = ...
) -> tuple[State, State, State]: ...


@overload
def state(node: Any, /, *filters: Filter, on_shared: OnShared = ...) -> Any: ...


def state(node: Any, *filters: Filter, on_shared: OnShared = "allow") -> Any:
    """Return the values of an object as a state.

    Args:
        node: An object, or a container with objects in it.
        *filters: Which values to return; all values by default.
        on_shared: What to do if an object occurs again; see `split`.

    Returns:
        A state, or a tuple with a state for each of several filters.

    Raises:
        CycleError, SharedError, TypeError: See `split`.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> nn.state(nn.List([nn.Param(1.0), lw.data(2)]), nn.Param)
        State({0: Param(value=1.0)})

    Modelled on `flax.nnx.state`.
    """
    flat = flatten_whole(node, on_shared)
    chosen, _ = select(flat, filters)
    states = [nested(flat, places) for places in chosen]
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
    return GraphDef(tuple(flatten_whole(node, "allow").code))


def flatten_whole(node: Any, on_shared: OnShared) -> FlatGraph:
    """Flatten a graph whose root is not a bare value."""
    require_whole(node)
    return flatten_graph(node, on_shared=on_shared)


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


def select(flat: FlatGraph, filters: Sequence[Filter]) -> tuple[Selected, list[int]]:
    """Return the places of the values for each filter, and those of the rest.

    Without filters there is one part, of all values.
    """
    if not filters:
        return [[*range(len(flat.leaves))]], []
    tests = predicates(filters)
    chosen: Selected = [[] for _ in tests]
    rest: list[int] = []
    look = any(map(needs_path, tests))
    kinds = kinds_of(flat.code) if any(map(needs_kind, tests)) else None
    for place, value in enumerate(flat.leaves):
        path = unlink(flat.links[place]) if look else ()
        for test, places in zip(tests, chosen, strict=True):
            if (
                test(path, value)
                if kinds is None
                else judge(test, path, value, kinds[place])
            ):
                places.append(place)
                break
        else:
            rest.append(place)
    return chosen, rest


def nested(flat: FlatGraph, places: Iterable[int]) -> State:
    """Return values as nested dicts; each level is made once."""
    root: dict[Any, Any] = {}
    levels: dict[int, dict[Any, Any]] = {id(()): root}
    for place in places:
        link, key = flat.links[place]
        missing = []
        while link and id(link) not in levels:
            missing.append(link)
            link = link[0]
        level = levels[id(link)] if link else root
        for inner in reversed(missing):
            level = level.setdefault(inner[1], {})
            levels[id(inner)] = level
        level[key] = flat.leaves[place]
    return view(root)


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
    level = joined(states)
    leaves = _leaves_for(graphdef, level)
    if copy:
        leaves = [x.copy() if isinstance(x, Variable) else x for x in leaves]
    made: M = unflatten_graph(graphdef._code, leaves)
    return made


def _items(state: Mapping[Any, Any]) -> dict[Any, Any]:
    if not isinstance(state, Mapping):
        raise TypeError(f"expected a state or nested mappings, got {clip(state)}")
    items: dict[Any, Any] = stored(state)
    return items


def joined(states: Sequence[Mapping[Any, Any]], *, later_wins: bool = False) -> Any:
    """Return several states as one nested dict.

    Raises:
        StructureError: Two have a value at the same path.
    """
    if len(states) == 1:
        return _items(states[0])
    root: dict[Any, Any] = {}
    stack: list[tuple[Any, Any, Any]] = [(_items(s), root, ()) for s in states]
    stack.reverse()
    while stack:
        source, target, link = stack.pop()
        for key, value in source.items():
            if type(value) is dict and type(target.setdefault(key, {})) is dict:
                stack.append((value, target[key], (link, key)))
            elif key in target and not later_wins:
                path = unlink((link, key))
                raise StructureError(f"two states have a value at {path}", path=path)
            else:
                target[key] = value
    return root


def _leaves_for(graphdef: GraphDef, level: Any) -> list[Any]:
    """Return the values that a structure needs, in its order, from nested dicts."""
    leaves: list[Any] = []
    _take(iter(graphdef._code), leaves, level, (), level)
    return leaves


def _take(
    code: Iterator[Any], leaves: list[Any], slot: Any, link: Any, level: Any
) -> bool:
    """Take the values that the next entries of a code need.

    Args:
        code: The code.
        leaves: A list that gets the values.
        slot: What the state has at the place.
        link: The path of the place.
        level: The dict that the state has the slot in.

    Returns:
        Whether the slot was needed.
    """
    tag, rule, arity, aux = next(code)
    if tag in (REF, FIXED):
        return False
    if tag == VARIABLE:
        leaves.append(_variable_for(rule, aux, slot, link, level))
    elif tag == LEAF:
        if slot is MISSING:
            raise _missing(link, level)
        if type(slot) is dict or isinstance(slot, Variable):
            raise wrong(link, "a bare value", slot)
        leaves.append(slot)
    else:
        inner = {} if slot is MISSING else slot
        if type(inner) is not dict:
            name = class_name(rule.cls, qualified=False)
            raise wrong(link, f"the values of a {name}", slot)
        extra = dict(inner)
        for part in keys_of(rule, aux, arity):
            if _take(code, leaves, inner.get(part, MISSING), (link, part), inner):
                del extra[part]
        for part in extra:
            path = unlink((link, part))
            raise StructureError(
                f"the state has a value at {path}, where the structure has none",
                path=path,
            )
    return slot is not MISSING


def _variable_for(cls: Any, aux: Any, slot: Any, link: Any, level: Any) -> Variable:
    if slot is MISSING:
        raise _missing(link, level)
    if isinstance(slot, Variable):
        if type(slot) is not cls:
            expected, what = type_names(cls, type(slot))
            raise wrong(link, f"a {expected}", slot, what)
        return slot
    if type(slot) is dict:
        raise wrong(link, f"a {class_name(cls, qualified=False)}", slot)
    made: Variable = make_variable(cls, slot, metadata_in(aux))
    return made


def _missing(link: Any, level: Any) -> StructureError:
    path = unlink(link)
    known = level if type(level) is dict else {}
    return StructureError(
        f"the state has no value at {path}: {unknown(path[-1], known)}", path=path
    )


def wrong(link: Any, expected: str, found: Any, what: str = "") -> StructureError:
    """Return the error for a value that does not fit what is expected."""
    path = unlink(link)
    if not what:
        what = "a mapping" if type(found) is dict else type_name(found)
    return StructureError(
        f"at {path}: expected {expected}, got {what}",
        path=path,
        expected=expected,
        actual=what,
    )


T = TypeVar("T")


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
    if _plan(node, joined(states, later_wins=True), (), steps) is not node:
        raise StructureError(f"a {type_name(node)} cannot be changed")
    holders = {id(holder): holder for holder, *_ in steps}.values()
    before = [*map(_content, holders)]
    try:
        for holder, part, value in steps:
            write(holder, part, value)
    except BaseException:  # of a hook or a setter of the user; it is raised again
        for holder, content in zip(holders, before, strict=True):
            _restore(holder, content)
        raise


def _plan(
    node: Any, level: dict[Any, Any], link: Any, steps: list[tuple[Any, Any, Any]]
) -> Any:
    """Check values that are to be brought into a node, and work out the steps.

    Args:
        node: The node.
        level: The values, by name, position or key.
        link: Its path.
        steps: A list that gets what to write: a holder, the part of it, the value.

    Returns:
        The node; if it cannot be changed in place, what takes its place.
    """
    rule: Any = rule_of(type(node))
    children, aux = rule.flatten(node)
    known = dict(zip(keys_of(rule, aux, len(children)), children, strict=True))
    parts, is_new = [*known], False
    for part, value in level.items():
        new: Any = value
        below, child = (link, part), known.get(part, MISSING)
        if isinstance(child, Variable):
            if type(new) is dict:
                raise wrong(below, f"a {type_name(child)}", new)
            steps.append((child, None, new))
            continue
        is_value = child is MISSING or rule_of(type(child)) is None
        if type(new) is dict and not is_value:
            made = _plan(child, new, below, steps)
            if made is child:
                continue
            new = made
        elif type(new) is dict:
            raise wrong(
                below, "no mapping" if child is MISSING else "a bare value", new
            )
        elif not is_value and child is not None:
            raise wrong(below, f"the values of a {type_name(child)}", new)
        if rule.unflatten_into is None:  # it cannot change in place
            if child is MISSING:
                raise _missing_place(below, parts)
            known[part], is_new = new, True
            continue
        if isinstance(node, Pytree):
            params = getattr(node, "__dataclass_params__", None)
            if params is not None and params.frozen:
                raise wrong(below, f"no value: a {type_name(node)} is frozen", new)
            check(node, node._leafwise_name(part), new)
        elif child is MISSING and not isinstance(node, dict):
            raise _missing_place(below, range(len(node)))
        steps.append((node, part, new))
    return rule.unflatten(aux, [*known.values()]) if is_new else node


def _missing_place(link: Any, parts: Iterable[Any]) -> StructureError:
    path = unlink(link)
    there = ", ".join(map(clip, [*parts][:5])) or "nothing"
    return StructureError(f"{path} does not exist; available: {there}", path=path)


def write(holder: Any, key: Any, value: Any) -> None:
    """Write one value into a variable, an object or a container."""
    if isinstance(holder, Pytree):
        name = holder._leafwise_name(key)
        check_level(holder, str(key_of(name)))
        assign(holder, name, value)
    elif not isinstance(holder, Variable):
        holder[key] = value
    elif isinstance(value, Variable):
        if holder._leafwise_metadata or value._leafwise_metadata:
            value = _frozen_as(holder, value)
        holder.update_from_state(value)
    else:
        holder.set_value(value)


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
    elif isinstance(holder, dict):
        holder.clear()
        holder.update(content)
    else:
        holder[:] = content


def _frozen_as(holder: Variable, value: Variable) -> Variable:
    """Return a variable with the mark of another one that says if it is frozen."""
    frozen = holder._leafwise_is_frozen
    if frozen == value._leafwise_is_frozen:
        return value
    metadata = value.get_metadata()
    metadata.pop(FROZEN, None)
    if frozen:
        metadata[FROZEN] = True
    return make_variable(Variable, value.get_raw_value(), metadata)


# -------------------------------------------------------------------------- pop


@overload
def pop(node: Any, first: Filter, /) -> State: ...


@overload
def pop(node: Any, first: Filter, second: Filter, /) -> tuple[State, State]: ...


@overload
def pop(
    node: Any, a: Filter, b: Filter, c: Filter, /
) -> tuple[State, State, State]: ...


@overload
def pop(node: Any, /, *filters: Filter) -> Any: ...


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
    flat = flatten_whole(node, "allow")
    chosen, _ = select(flat, filters)
    places = {place for part in chosen for place in part}
    popped = {id(flat.leaves[place]) for place in places}
    found = [(flat.holders[place], flat.links[place]) for place in places]
    found += [
        (holder, link)
        for number, link, holder in flat.again
        if id(flat.tracked[number]) in popped
        and isinstance(flat.tracked[number], Variable)
    ]
    for holder, link in found:
        if not isinstance(holder, dict) and not _drops(holder, link[1]):
            path = unlink(link)
            raise ValueError(
                f"Cannot pop key {shown(path[-1])} at {path}: it cannot be removed "
                f"from a {type_name(holder)}"
            )
    states = [nested(flat, part) for part in chosen]
    for holder, link in found:
        if isinstance(holder, dict):
            del holder[link[1]]
        else:
            drop(holder, holder._leafwise_name(link[1]))
    return tuple(states) if len(states) > 1 else states[0]


def _drops(holder: Any, key: Any) -> bool:
    return isinstance(key, str) and isinstance(holder, Pytree)


# ------------------------------------------------------------------------ clone


def clone(tree: T, variables: bool = True, *, arrays: bool = False) -> T:
    """Return a copy of an object or nested containers; shared references are kept.

    An object that appears in several places is copied once; this includes plain lists
    and dicts. Cycles are copied as cycles. Static containers are copied, too, and so
    are NumPy arrays. Other values are not copied.

    Args:
        tree: An object, or nested containers.
        variables: Whether to copy variables; otherwise the copy shares them.
        arrays: Whether to copy the arrays of all libraries, each at every place where
            it occurs. You can then donate the memory of the copy to a function.

    Raises:
        CycleError: A cycle passes through an immutable container.
        ValueError: `arrays` is true and `variables` is false.

    Example:
        >>> from leafwise import nn
        >>> row = [1, 2]
        >>> copied = nn.clone({"a": row, "b": row})
        >>> copied["a"] is copied["b"], copied["a"] is row
        (True, False)

    Modelled on `flax.nnx.clone`.
    """
    if arrays and not variables:
        raise ValueError(
            "arrays=True needs variables=True, since it also copies the arrays in "
            "variables"
        )
    flat = flatten_graph(tree, copying=True, keep=() if variables else (Variable,))
    copied = _copied_array if arrays else _copied_leaf
    leaves = map(copied, flat.leaves) if variables else flat.leaves
    made: T = unflatten_graph(flat.code, leaves, copying=True)
    return made


def _copied_leaf(leaf: Any) -> Any:
    numpy = sys.modules.get("numpy")
    if numpy is not None and type(leaf) is numpy.ndarray:
        return leaf.copy()
    return bytearray(leaf) if type(leaf) is bytearray else leaf


def _copied_array(leaf: Any) -> Any:
    """Return a copy of an array in memory of its own, by the method that it has."""
    if is_data(leaf):
        for name in ("copy", "clone"):
            method = getattr(leaf, name, None)
            if method is not None:
                return method()
    return _copied_leaf(leaf)


# ------------------------------------------------------------------ by kind


_ALSO: Final = {Kind.STATE: COUNT_AS_STATE}


# ----------------------------------------------------------------- kinds of leaves


def leaf_kinds(treedef: PyTreeDef) -> list[Kind]:
    """Return the kind of each leaf of a structure.

    It is that of the attribute, of the innermost object around it, where it is found; a
    variable there may be of a closer kind.
    """
    stack: list[Kind | _Held] = [Kind.DATA]  # of what is still to come, from the end
    found: list[Kind | _Held] = []
    for run, rule, arity, aux in reversed(treedef._code):
        kind = stack.pop()
        if isinstance(rule, VariableRule):
            stack.append(_in_variable(kind, rule.cls, frozen=is_frozen(dict(aux))))
        else:
            stack += kinds_of_children(aux) or (kind,) * arity
        if run:
            found += stack[: -run - 1 : -1]
            del stack[-run:]
    found = found[::-1] if treedef._code else stack
    return [kind[1] if isinstance(kind, tuple) else kind for kind in found]


_Held: TypeAlias = tuple[Kind, Kind]
"""The kinds of the attribute that holds a variable, and of what is in the variable."""


def _in_variable(around: Kind | _Held, cls: type[Variable], *, frozen: bool) -> _Held:
    """Return the kinds inside of a variable; one that is inside another is closer."""
    attribute, outer = around if isinstance(around, tuple) else (around, Kind.DATA)
    own = kind_in(attribute, cls, frozen=frozen)
    return attribute, outer if outer is Kind.FROZEN or own is Kind.DATA else own


def _wanted(kinds: Sequence[Kind]) -> set[Kind]:
    wrong = [kind for kind in kinds if not isinstance(kind, Kind)]
    if wrong or not kinds:
        found = type_name(wrong[0]) if wrong else "none"
        raise TypeError(
            f"give one kind or more, members of leafwise.nn.Kind; got {found}"
        )
    return {one for kind in kinds for one in _ALSO.get(kind, (kind,))}


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
    wanted = _wanted(kinds)
    leaves, treedef = tree_flatten(tree)
    found = zip(leaves, leaf_kinds(treedef), strict=True)
    selected: T = treedef.unflatten(
        leaf if kind in wanted else None for leaf, kind in found
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
    wanted = _wanted(kinds)
    leaves, treedef = tree_flatten(tree)
    rows = zip(leaves, treedef.flatten_up_to(other), leaf_kinds(treedef), strict=True)
    updated: T = treedef.unflatten(
        theirs if kind in wanted and theirs is not None else mine
        for mine, theirs, kind in rows
    )
    return updated

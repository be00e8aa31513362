"""Changing objects in place: update, pop; and cloning them whole.

What changes objects checks everything before it writes anything, and takes back what
it wrote if writing fails.
"""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from ..core.auxdata import clip
from ..core.node import Rule
from ..core.safely import shown
from ..core.walk import unlink
from ..errors import StructureError
from ..sentinel import MISSING
from .arrays import DataNode
from .filters import FROZEN, Filter
from .graph import joined, nested, require_whole, select, take_whole, wrong
from .graphs import build, take
from .traverse import keys_of, rule_of
from .variables import Variable, make_variable


__all__ = ["clone", "pop", "update", "write"]

T = TypeVar("T")
_CHANGEABLE: Final = (list, dict, OrderedDict, defaultdict, deque)


# ----------------------------------------------------------------------- update


def update(node: Any, *states: Mapping[Any, Any]) -> None:
    """Write values into an object, in place.

    Objects and variables stay the same, and what shares them sees the change; what is
    frozen stays frozen. A name that the object does not have becomes a new attribute,
    by the usual rules.

    Args:
        node: The object.
        *states: The values, all of them or some; later ones win.

    Raises:
        StructureError: A value stands where an object is, or the other way round, or
            there is no such place.
        KindError: An attribute cannot have a value.

    Nothing is changed if anything is raised.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> model = lw.List([nn.Param(1.0), lw.data(2)])
        >>> weight = model[0]
        >>> nn.update(model, {0: 5.0, 1: 6})
        >>> weight.value, model[1]
        (5.0, 6)

    The idea is that of `flax.nnx.update`.
    """
    require_whole(node)
    plan = _Plan()
    plan.read(node, joined(states, later_wins=True))
    plan.carry_out()


class _Rebuilt:
    """A container that cannot be changed, and what takes its place."""

    __slots__ = ("aux", "children", "holder", "key", "old", "parts", "rule")

    def __init__(self, old: Any, holder: Any, key: Any) -> None:
        rule: Any = rule_of(type(old))
        children, self.aux = rule.flatten(old)
        self.rule: Rule = rule
        self.old = old
        self.children = [*children]
        self.parts = [*keys_of(rule, self.aux, len(children))]
        self.holder = holder
        self.key = key


class _Plan:
    """What an update will write, worked out before anything is written."""

    def __init__(self) -> None:
        self.steps: list[tuple[Any, Any, Any]] = []  # holder, key, value
        self.rebuilt: list[_Rebuilt] = []

    def read(self, node: Any, level: Any) -> None:
        """Work out the steps that bring values into an object."""
        stack: list[tuple[Any, Any, Any, Any, Any]] = [(node, level, (), None, None)]
        while stack:
            value, level, link, holder, key = stack.pop()
            rule: Any = rule_of(type(value))
            children, aux = rule.flatten(value)
            parts = keys_of(rule, aux, len(children))
            known = dict(zip(parts, children, strict=True))
            target: Any = value
            if not _can_change(value):
                target = _Rebuilt(value, holder, key)
                self.rebuilt.append(target)
            for part, new in level.items():
                below = (link, part)
                child = known.get(part, MISSING)
                if child is MISSING or rule_of(type(child)) is None:
                    self.set(target, part, new, below, exists=child is not MISSING)
                elif isinstance(child, Variable):
                    if type(new) is dict:
                        raise wrong(below, f"a {type(child).__name__}", new)
                    self.steps.append((child, None, new))
                elif type(new) is dict:
                    stack.append((child, new, below, target, part))
                elif child is None:
                    self.set(target, part, new, below, exists=True)
                else:
                    raise wrong(below, f"the values of a {type(child).__name__}", new)

    def set(
        self, holder: Any, key: Any, value: Any, link: Any, *, exists: bool
    ) -> None:
        """Plan to put a value where there is a bare one, or none."""
        if type(value) is dict:
            raise wrong(link, "a bare value" if exists else "no mapping", value)
        if isinstance(holder, _Rebuilt):
            if key not in holder.parts:
                raise _missing_place(link, holder.parts)
            holder.children[holder.parts.index(key)] = value
            return
        check = getattr(type(holder), "_leafwise_check", None)
        if check is not None:
            check(holder, key, value)
        elif not exists and not isinstance(holder, dict):
            raise _missing_place(link, range(len(holder)))
        self.steps.append((holder, key, value))

    def carry_out(self) -> None:
        """Write everything, or nothing."""
        for made in reversed(self.rebuilt):
            value = made.rule.unflatten(made.aux, made.children)
            if made.holder is None:
                raise StructureError(f"a {type(made.old).__name__} cannot be changed")
            if isinstance(made.holder, _Rebuilt):
                place = made.holder.parts.index(made.key)
                made.holder.children[place] = value
            else:
                self.steps.append((made.holder, made.key, value))
        undo: list[Callable[[], None]] = []
        try:
            for holder, key, value in self.steps:
                undo.append(write(holder, key, value))
        except BaseException:
            for take_back in reversed(undo):
                take_back()
            raise


def _missing_place(link: Any, parts: Iterable[Any]) -> StructureError:
    path = unlink(link)
    there = ", ".join(map(clip, [*parts][:5])) or "nothing"
    return StructureError(f"there is no place at {path}; there are: {there}", path=path)


def _can_change(value: Any) -> bool:
    return type(value) in _CHANGEABLE or isinstance(value, DataNode)


def write(holder: Any, key: Any, value: Any) -> Callable[[], None]:
    """Write one value; return what takes it back."""
    if isinstance(holder, Variable):
        before = holder.get_raw_value(), holder.get_metadata()
        if isinstance(value, Variable):
            holder.update_from_state(_frozen_as(holder, value))
        else:
            holder.set_value(value)
        return lambda: holder.update_from_state(
            make_variable(Variable, before[0], before[1])
        )
    store = getattr(type(holder), "_leafwise_store", None)
    if store is not None:
        return store(holder, key, value)  # type: ignore[no-any-return]  # what undoes it
    old = MISSING
    if not isinstance(holder, dict) or key in holder:
        old = holder[key]
    holder[key] = value

    def take_back() -> None:
        if old is MISSING:
            del holder[key]
        else:
            holder[key] = old

    return take_back


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


def pop(node: Any, *filters: Filter) -> Any:
    """Take values out of an object, and return them.

    What is popped is gone from the object, under all its names, and so is its kind:
    no value is left that a filter means. The state has a shared variable once, at the
    path at which it is met first.

    Args:
        node: The object.
        *filters: What to take out.

    Returns:
        A state, or a tuple of as many states as filters if there are several.

    Raises:
        ValueError: No filter was given, or a value stands in a list or another place
            that cannot be taken away; nothing is changed then.
        TypeError: `node` is a bare value, or a filter is none.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> model = lw.Dict(w=nn.Param(1.0), seen=nn.Intermediate(3))
        >>> nn.pop(model, nn.Intermediate).seen.value
        3
        >>> [*model]
        ['w']

    The idea is that of `flax.nnx.pop`.
    """
    if not filters:
        raise ValueError("pop takes at least one filter: what to take out")
    taken = take_whole(node, "allow")
    chosen, _ = select(taken, filters)
    places = {place for part in chosen for place in part}
    popped = {id(taken.leaves[place]) for place in places}
    found = [(taken.holders[place], taken.links[place]) for place in places]
    found += [
        (holder, link)
        for number, link, holder in taken.again
        if id(taken.tracked[number]) in popped
        and isinstance(taken.tracked[number], Variable)
    ]
    for holder, link in found:
        if not isinstance(holder, dict) and not _drops(holder, link[1]):
            path = unlink(link)
            raise ValueError(
                f"Cannot pop key {shown(path[-1])} at {path}: it stands in a "
                f"{type(holder).__name__}"
            )
    states = [nested(taken, part) for part in chosen]
    for holder, link in found:
        if isinstance(holder, dict):
            del holder[link[1]]
        else:
            holder._leafwise_drop(link[1])
    return tuple(states) if len(states) > 1 else states[0]


def _drops(holder: Any, key: Any) -> bool:
    return isinstance(key, str) and hasattr(holder, "_leafwise_drop")


# ------------------------------------------------------------------------ clone


def clone(tree: T, *, variables: bool = True) -> T:
    """Return a copy of an object or a nested container, sharing and cycles included.

    What was one object stays one, also plain lists and dicts. Containers that are
    static are copied too, and arrays of numpy; other values are not.

    Args:
        tree: An object, or nested containers.
        variables: Whether variables are copied, rather than taken over.

    Raises:
        CycleError: A cycle goes through a container that cannot be changed.

    Example:
        >>> from leafwise import nn
        >>> row = [1, 2]
        >>> copied = nn.clone({"a": row, "b": row})
        >>> copied["a"] is copied["b"], copied["a"] is row
        (True, False)

    The idea is that of `flax.nnx.clone`.
    """
    taken = take(tree, copying=True, keep=() if variables else (Variable,))
    leaves = map(_copied_leaf, taken.leaves) if variables else taken.leaves
    made: T = build(taken.code, leaves, copying=True)
    return made


def _copied_leaf(leaf: Any) -> Any:
    numpy = sys.modules.get("numpy")
    if numpy is not None and type(leaf) is numpy.ndarray:
        return leaf.copy()
    return bytearray(leaf) if type(leaf) is bytearray else leaf

"""Freezing: parameters that count as state for a while.

A bare parameter is frozen by the kind of its attribute, a variable by its metadata, so
that it is frozen wherever it stands, in a state as well. Nothing here changes what it
is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ..core.keypath import KeyPath
from ..core.node import Rule
from ..core.registry import current
from ..core.walk import unlink
from ..kinds import Kind, Marked
from ..selection.edit import Selection, at
from ..selection.pattern import Region
from ..sentinel import MISSING
from .filters import FROZEN, is_filter, judge, predicate
from .graphs import build, kinds_of_children, take
from .pytree import Pytree
from .traverse import keys_of, rule_of
from .variables import Variable, kind_in


__all__ = ["freeze", "unfreeze"]

T = TypeVar("T")
Meant = Callable[["_Owner", Any, Any], bool]
"""Takes an owner, a linked path below the root and what stands there."""


def freeze(tree: T, selector: Any = MISSING, /) -> T:
    """Return a tree in which parameters count as state.

    Parameters are attributes of kind `PARAMETER` and variables such as `Param`, in
    attributes, containers and states. Frozen ones are of kind `FROZEN`: `select_kind`
    has them with the state, the filter `Param` does not mean them, and
    `integrations.value_and_grad` does not differentiate for them. References within
    the tree are kept, and what stands in several places is frozen in all.

    Args:
        tree: An object, a variable, or a container with these in it.
        selector: Which parameters; all by default. A selector as
            :func:`~leafwise.at` takes it, a selection, or one of
            :mod:`leafwise.nn.filters`.

    Raises:
        PathError: The selector means nothing.
        TypeError: `tree` is a bare value, or it is no selector.
        ValueError: No parameter is selected, or only a part of one.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Layer(nn.Module):
        ...     def __init__(self):
        ...         self.register_parameter("weight", 0.5)
        ...         self.bias = nn.Param(0.0)
        >>> frozen = nn.freeze(Layer())
        >>> [kind.name for kind in frozen.name_to_kind.values()]
        ['FROZEN', 'FROZEN']
        >>> partly = nn.freeze([Layer(), Layer()], "[0]")
        >>> lw.tree_leaves(nn.select_kind(partly, nn.Kind.PARAMETER))
        [0.5, 0.0]
        >>> nn.to_flat_state(nn.state(partly, nn.Param)).paths
        ((1, 'bias'),)

    The idea is that of `freeze_parameters` in PAX.
    """
    return _changed(tree, selector, _freeze, "freeze")


def unfreeze(tree: T, selector: Any = MISSING, /) -> T:
    """Return a tree in which what was frozen is a parameter again.

    Args:
        tree: An object, a variable, or a container with these in it.
        selector: Which parameters, as for `freeze`; all by default.

    Raises:
        PathError, TypeError, ValueError: As `freeze`.

    Example:
        >>> from leafwise import nn
        >>> class Layer(nn.Module):
        ...     def __init__(self):
        ...         self.register_parameter("weight", 0.5)
        ...         self.register_state("calls", 0)
        >>> again = nn.unfreeze(nn.freeze(Layer()))
        >>> [kind.name for kind in again.name_to_kind.values()]
        ['PARAMETER', 'STATE']

    The idea is that of `unfreeze_parameters` in PAX.
    """
    return _changed(tree, selector, _unfreeze, "unfreeze")


def _changed(tree: T, what: Any, change: Callable[[_Owner], bool], name: str) -> T:
    """Return a tree in which the parameters that are meant are changed."""
    if rule_of(type(tree)) is None:
        raise TypeError(
            f"{name} takes an object, a variable or a container with these, got a bare "
            f"{type(tree).__name__}; for an attribute write {name}(obj, 'attribute')"
        )
    resolve, meant = _reading(tree, what)
    taken = take(tree, copying=True)
    fresh: T = build(taken.code, taken.leaves, copying=True)
    chosen = [*_chosen(fresh, resolve, meant)]
    found = [change(owner) for owner in chosen]
    if what is not MISSING and not any(found):
        raise ValueError(f"there is no parameter to {name} in what is selected")
    return fresh


def _freeze(owner: _Owner) -> bool:
    """Freeze a parameter; say whether it is one."""
    held, kind = owner.holder, owner.kind
    if isinstance(held, Variable):
        if kind is Kind.PARAMETER or type(held)._leafwise_kind is Kind.PARAMETER:
            held.set_metadata(FROZEN, True)
            return True
    elif kind is Kind.PARAMETER:
        held._leafwise_store(owner.part, Marked(Kind.FROZEN, owner.value))
        return True
    return kind is Kind.FROZEN


def _unfreeze(owner: _Owner) -> bool:
    """Unfreeze a parameter; say whether it is one."""
    held, kind = owner.holder, owner.kind
    if isinstance(held, Variable):
        if held._leafwise_is_frozen:
            held.del_metadata(FROZEN)
            return True
        return type(held)._leafwise_kind is Kind.PARAMETER
    if kind is Kind.FROZEN:
        held._leafwise_store(owner.part, Marked(Kind.PARAMETER, owner.value))
        return True
    return kind is Kind.PARAMETER


# --------------------------------------------------------------- what has a kind


class _Owner:
    """A variable, or a bare attribute of an object: what can be frozen as a whole.

    Attributes:
        holder: The variable, or the object.
        part: The name, position or key of the attribute.
        value: What it holds.
        kind: The kind.
        keys: Its path, a linked list of keys.
        names: The same of names, positions and keys.
        leaves: How many leaves it has.
        chosen: How many of them are meant.
        whole: Whether it is meant as a whole.
    """

    __slots__ = (
        "chosen",
        "holder",
        "keys",
        "kind",
        "leaves",
        "names",
        "part",
        "value",
        "whole",
    )

    def __init__(
        self, holder: Any, part: Any, value: Any, kind: Kind, keys: Any, names: Any
    ) -> None:
        self.holder = holder
        self.part = part
        self.value = value
        self.kind = kind
        self.keys = keys
        self.names = names
        self.leaves = self.chosen = 0
        self.whole = False


def _reading(tree: Any, what: Any) -> tuple[Callable[[Any], Rule | None] | None, Meant]:
    """Return how far to look into a tree, and what says of something if it is meant.

    A selector looks at the tree, and at each place where something stands; all else
    looks at the graph, where each thing stands once, and at objects that are no trees.
    """
    if what is MISSING:
        return None, lambda _owner, _link, _value: True
    if is_filter(what):
        test = predicate(what)
        return None, lambda owner, link, value: judge(
            test, unlink(link[1]), value, owner.kind
        )
    selection = what if isinstance(what, Selection) else at(tree)[what]
    region = Region(selection.places())
    return (
        current.view.resolve,
        lambda _owner, link, _value: KeyPath(unlink(link[0])) in region,
    )


def _chosen(
    tree: Any, resolve: Callable[[Any], Rule | None] | None, meant: Meant
) -> Iterator[_Owner]:
    """Yield what is meant as a whole.

    Raises:
        ValueError: Only a part of something is meant.
    """
    for owner in _owners(tree, resolve, meant):
        if owner.whole or (owner.leaves and owner.chosen == owner.leaves):
            yield owner
        elif owner.chosen and owner.kind in (Kind.PARAMETER, Kind.FROZEN):
            raise ValueError(
                f"only a part of the parameter at {KeyPath(unlink(owner.keys))} is "
                f"selected: {owner.chosen} of {owner.leaves} leaves"
            )


def _owners(
    tree: Any, resolve: Callable[[Any], Rule | None] | None, meant: Meant
) -> list[_Owner]:
    """Return what has a kind of its own, with how much of it is meant."""
    owners: list[_Owner] = []
    none = _Owner(None, None, None, Kind.DATA, (), ())
    seen: dict[int, Any] = {}
    stack: list[tuple[Any, Any, Any, _Owner]] = [(tree, (), (), none)]
    while stack:
        value, keys, names, owner = stack.pop()
        rule = (resolve or rule_of)(type(value))
        is_variable = isinstance(value, Variable)
        if rule is None:
            if isinstance(value, Pytree) and meant(owner, (keys, names), value):
                owners += _owners(value, None, lambda _owner, _link, _value: True)
            owner.leaves += 1
            if resolve is not None or not isinstance(owner.holder, Variable):
                owner.chosen += meant(owner, (keys, names), value)
            continue
        if resolve is None and isinstance(value, Variable | Pytree):
            if id(value) in seen:
                continue
            seen[id(value)] = value
        if is_variable:
            kind = kind_in(owner.kind, type(value), frozen=value._leafwise_is_frozen)
            owner = _Owner(value, None, value, kind, keys, names)
            owner.whole = meant(owner, (keys, names), value)
            owners.append(owner)
        children, aux = rule.flatten(value)
        kinds = kinds_of_children(aux)
        parts = keys_of(rule, aux, len(children))
        below = []
        for place, (key, part, child) in enumerate(
            zip(rule.keys(aux, len(children)), parts, children, strict=True)
        ):
            held, link = owner, ((keys, key), (names, part))
            if kinds is not None:
                held = _Owner(value, part, child, kinds[place], *link)
                if not isinstance(child, Variable):
                    held.whole = meant(held, link, child)
                    owners.append(held)
            below.append((child, *link, held))
        stack += reversed(below)
    return owners

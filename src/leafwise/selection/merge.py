"""Deep merges of trees, with a rule for each place.

Owns `tree_merge`: which values win, and what cannot be merged. Mappings are merged key
by key, other nodes of one type child by child.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from ..core.keypath import KeyPath
from ..core.node import Rule
from ..core.registry import GLOBAL
from ..core.walk import flatten
from ..equality.leaves import Values, type_names
from ..errors import EditError
from ..ops.context import Context, context_of
from ..ops.visit import DELETE
from ..safely import MISSING, class_name, clip, printed
from .diff import differ
from .find import DEEP, find
from .join import (
    Joint,
    Parts,
    Spot,
    by_key,
    by_place,
    by_shape,
    called,
    extended,
    is_items,
    is_mapping,
    join,
    shown,
)
from .pattern import read_selector
from .rebuild import Delete, rebuild


__all__ = ["tree_merge"]

JOINS: Final = ("outer", "left", "inner", "right")
LISTS: Final = ("replace", "extend", "index")
CONFLICTS: Final = ("overlay", "base", "error")


class _Policy:
    """How to merge at one place, and below it unless a rule says otherwise.

    Attributes:
        join: Which keys remain.
        lists: How lists are merged.
        conflict: Which value wins.
        function: A function from two values to the new one, at this place only.
        decides: Whether a rule said which value wins, even if their types differ.
    """

    __slots__ = ("conflict", "decides", "function", "join", "lists")

    def __init__(self, join: str, lists: str, conflict: str) -> None:
        self.join = join
        self.lists = lists
        self.conflict = conflict
        self.function: Callable[[Any, Any], Any] | None = None
        self.decides = False

    def below(self) -> _Policy:
        """Return the policy for the children."""
        return self if self.function is None else self.changed(None)

    def changed(self, rule: Any) -> _Policy:
        """Return the policy changed by a rule.

        Raises:
            ValueError: The rule is unknown.
        """
        made = _Policy(self.join, self.lists, self.conflict)
        made.decides = self.decides
        if rule is None or callable(rule):
            made.function = rule
        elif rule in JOINS:
            made.join = rule
        elif rule in LISTS:
            made.lists = rule
        elif rule in CONFLICTS:
            made.conflict, made.decides = rule, True
        else:
            known = ", ".join(map(repr, (*JOINS, *LISTS, *CONFLICTS)))
            raise ValueError(
                f"a rule must be one of {known}, or a function; got {clip(rule)}"
            )
        return made


class _Rules:
    """The rules for a place, and below it.

    Attributes:
        here: The rules for the place itself.
        below: The places below that have rules, by key.
    """

    __slots__ = ("below", "here")

    def __init__(self) -> None:
        self.here: list[Any] = []
        self.below: dict[Any, _Rules] = {}

    def add(self, path: KeyPath, rule: Any) -> None:
        """Add a rule for a place."""
        rules = self
        for key in path:
            rules = rules.below.setdefault(key, _Rules())
        rules.here.append(rule)

    def at(self, joint: Joint, slot: int) -> _Rules | None:
        """Return the rules for a child of a joint, which these are for."""
        return self.below.get(joint.key_of(slot))

    def applied(self, policy: _Policy) -> _Policy:
        """Return the policy for the place."""
        for rule in self.here:
            policy = policy.changed(rule)
        return policy


def tree_merge(
    base: Any,
    *overlays: Any,
    join: str = "outer",
    lists: str = "replace",
    conflict: str = "overlay",
    rules: Mapping[Any, Any] | None = None,
    namespace: str = GLOBAL,
) -> Any:
    """Merge trees deeply into a tree; later ones win.

    `DELETE` as a value in an overlay deletes what is there. None is a value like any
    other. A leaf and a container, or containers of different types, cannot be merged:
    that is an error, unless one of them is None, or a rule for the place says which one
    wins.

    Args:
        base: The tree to merge into. It is not changed.
        *overlays: The trees to merge into it, one after another. What an overlay does
            not touch is shared with the base.
        join: Which keys of two mappings remain: `"outer"` all, `"left"` those of the
            base, `"inner"` those of both, `"right"` those of the overlay.
        lists: How two lists or tuples are merged: `"replace"` takes that of the
            overlay, `"extend"` concatenates them, `"index"` merges item by item.
        conflict: Which of two leaves wins: that of the `"overlay"`, or of the `"base"`;
            or `"error"`, unless they are equal.
        rules: For each selector one of these words, for what it picks in the base or an
            overlay, and below; it also decides whether a place that only one of them
            has remains. Or a function from both values to the new one. The last
            selector that picks a place counts. The selector `""` picks the root.
        namespace: The namespace to look up classes in.

    Raises:
        EditError: Two values cannot be merged, or differ where that is an error; or a
            child is deleted that its node must have.
        CycleError: A tree contains itself.
        ValueError: A word is unknown.

    Example:
        >>> import leafwise as lw
        >>> base = {"optim": {"lr": 0.1, "betas": [0.9, 0.99]}, "tags": ["a"]}
        >>> mine = {"optim": {"lr": 0.2, "betas": lw.DELETE}, "tags": ["b"]}
        >>> lw.tree_merge(base, mine, rules={"tags": "extend"})
        {'optim': {'lr': 0.2}, 'tags': ['a', 'b']}
        >>> lw.tree_merge(base, {"optim": 3})
        Traceback (most recent call last):
        ...
        leafwise.errors.EditError: cannot merge the leaf 3 onto a dict at ['optim']; a \
rule for this path, "overlay" or "base", decides which one wins
        >>> lw.tree_merge(base, {"optim": 3}, rules={"optim": "overlay"})
        {'optim': 3, 'tags': ['a']}
    """
    policy = _Policy("outer", "replace", "overlay")
    for word, known in ((join, JOINS), (lists, LISTS), (conflict, CONFLICTS)):
        if word not in known:
            raise ValueError(
                f"{clip(word)} is not one of {', '.join(map(repr, known))}"
            )
        policy = policy.changed(word)
    policy.decides = False
    for rule in (rules or {}).values():
        policy.changed(rule)
    context = context_of(none_is_leaf=True, namespace=namespace)
    merged = base
    for overlay in overlays:
        placed = _placed(rules, (merged, overlay), context) if rules else None
        merged = _Merging(context, merged, overlay).run(policy, placed)
        if merged is MISSING:
            raise EditError("the root cannot be deleted", path=KeyPath())
    return merged


def _placed(
    rules: Mapping[Any, Any], trees: tuple[Any, Any], context: Context
) -> _Rules:
    """Return the rules by the places that they are for, in the order of the rules."""
    root = _Rules()
    for what, rule in rules.items():
        chosen = read_selector(what, context.view)
        places = [place for tree in trees for place in chosen.targets(tree, context)]
        for path in dict.fromkeys(place.path for place in places):
            root.add(path, rule)
    return root


class _Merging:
    """The merge of one overlay into a tree."""

    def __init__(self, context: Context, base: Any, overlay: Any) -> None:
        self.context = context
        self.trees = base, overlay

    def run(self, policy: _Policy, rules: _Rules | None) -> Any:
        """Return the merged tree; MISSING if all of it was deleted."""
        return join(self.trees, self.context, self.settle, (policy, rules))

    def settle(
        self, joint: Joint, state: tuple[_Policy, _Rules | None]
    ) -> Iterator[tuple[Joint, Any]]:
        """Settle the children of a joint, by a policy and the rules from there on."""
        policy, rules = state
        rows = zip(*joint.parts.columns, strict=True)
        keeps = rules is None and policy.join in ("outer", "left")
        for slot, (below, above) in enumerate(rows):
            if below is above or (above is MISSING and keeps):
                joint.values[slot] = below
                continue
            here, inner = policy, rules
            if rules is not None:
                inner = rules if joint.above is None else rules.at(joint, slot)
                here = policy if inner is None else inner.applied(policy)
            found = self.settled(Spot(joint, slot), below, above, here)
            if type(found) is Parts:
                yield Joint(found, joint, slot), (here.below(), inner)
            else:
                joint.values[slot] = found

    def settled(self, spot: Spot, below: Any, above: Any, policy: _Policy) -> Any:
        """Return the value of a place, or the parts to merge."""
        if below is MISSING:
            keeps = policy.join in ("outer", "right")
            return self.cleaned(spot, above) if keeps else MISSING
        if above is MISSING:
            return below if policy.join in ("outer", "left") else MISSING
        if above is DELETE:
            return MISSING
        if policy.function is not None:
            return called(policy.function, (below, above), spot)
        rule, other = self.context.rule_of(below), self.context.rule_of(above)
        if rule is None or other is None:
            fits = rule is other or below is None or above is None
            return self.chosen(spot, below, above, policy, fits=fits)
        if is_mapping(below, rule) and is_mapping(above, other):
            return by_key((below, above), (rule, other))
        if is_items(below, rule) and is_items(above, other):
            return self.items(spot, (below, above), (rule, other), policy)
        if rule is other:
            parts = by_shape((below, above), rule, _picker(spot, rule, policy))
            if parts is not None:
                return parts
        return self.chosen(spot, below, above, policy, fits=False)

    def items(
        self,
        spot: Spot,
        nodes: tuple[Any, Any],
        rules: tuple[Rule, Rule],
        policy: _Policy,
    ) -> Any:
        """Return the merge of two sequences, or the parts to merge."""
        if policy.lists == "index":
            return by_place(nodes, rules)
        if policy.lists == "extend":
            return extended(nodes[0], rules[0], self.cleaned(spot, nodes[1]), rules[1])
        return self.chosen(spot, *nodes, policy, fits=True)

    def chosen(
        self, spot: Spot, below: Any, above: Any, policy: _Policy, *, fits: bool
    ) -> Any:
        """Return one of two values.

        Raises:
            EditError: It is undecided which.
        """
        if not (fits or policy.decides):
            raise _misfit(spot, below, above, self.context)
        if policy.conflict == "base":
            return below
        if policy.conflict == "overlay":
            return self.cleaned(spot, above)
        path = spot.path
        if differ(below, above, self.context, Values(), path):
            raise EditError(
                f"{clip(below)} and {clip(above)} differ at {path.where()}", path=path
            )
        return below

    def cleaned(self, spot: Spot, value: Any) -> Any:
        """Return a value of an overlay without what is marked as deleted."""
        if value is DELETE:
            return MISSING
        if self.context.rule_of(value) is None:
            return value
        leaves = flatten(value, self.context.view)[0]
        if not any(leaf is DELETE for leaf in leaves):
            return value
        places = find(value, (DEEP,), self.context)
        edits = [(p.path, Delete()) for p in places if p.value is DELETE]
        try:
            return rebuild(value, edits, self.context)
        except EditError as error:
            path = spot.path
            raise EditError(f"in {path.where()}: {printed(error)}", path=path) from None


def _picker(spot: Spot, rule: Rule, policy: _Policy) -> Callable[[Sequence[Any]], Any]:
    """Return a function that picks the aux data of the merged node."""

    def pick(auxes: Sequence[Any]) -> Any:
        below, above = auxes
        if policy.conflict == "base" or rule.same_aux(below, above):
            return below
        if policy.conflict == "overlay":
            return above
        path = spot.path
        raise EditError(
            f"the static fields of two {class_name(rule.cls, qualified=False)} nodes "
            f"differ at {path.where()}",
            path=path,
        )

    return pick


def _misfit(spot: Spot, below: Any, above: Any, context: Context) -> EditError:
    over, under = (shown(node, context) for node in (above, below))
    if over == under and type(above) is not type(below):
        names = type_names(type(above), type(below))
        over, under = f"{over} ({names[0]})", f"{under} ({names[1]})"
    other = " with other children" if type(below) is type(above) else ""
    path = spot.path
    return EditError(
        f"cannot merge {over} onto {under}{other} at {path.where()}; a rule for this "
        'path, "overlay" or "base", decides which one wins',
        path=path,
    )

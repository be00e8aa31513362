"""How trees are merged, place by place: the words, and the rules for some places.

Owns which policy counts at a place and below it; what it means for two nodes is the
affair of `merge`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..core.keypath import KeyPath
from ..ops.context import Context
from ..safely import clip
from .pattern import Selector, read_selector, selector


if TYPE_CHECKING:
    from .merge import Joint


JOINS: Final = ("outer", "left", "inner", "right")
LISTS: Final = ("replace", "extend", "position")
CONFLICTS: Final = ("overlay", "base", "error")


class Policy(NamedTuple):
    """How to merge at one place, and below it unless a rule says otherwise.

    Attributes:
        join: Which keys remain.
        lists: How lists are merged.
        conflict: Which value wins.
        function: A function from two values to the new one, at this place only.
        pairs: Picks in the items of two lists what pairs them, at this place only.
        decides: Whether a rule said which value wins, even if their types differ.
    """

    join: str
    lists: str
    conflict: str
    function: Callable[[Any, Any], Any] | None = None
    pairs: Selector | None = None
    decides: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it keeps all keys, and the overlay wins."""
        plain = self.join == "outer" and self.conflict == "overlay"
        return plain and self.function is None

    def below(self) -> Policy:
        """Return the policy for the children."""
        is_for_all = self.function is None is self.pairs
        return self if is_for_all else self.changed(None)

    def changed(self, rule: Any) -> Policy:
        """Return the policy changed by a rule.

        Raises:
            ValueError: The rule is unknown.
        """
        here = self._replace(function=None, pairs=None)
        if rule is None:
            return here
        if callable(rule):
            return here._replace(function=rule)
        if isinstance(rule, Selector):
            return here._replace(pairs=rule)
        if rule in LISTS:
            return here._replace(lists=rule)
        if rule in JOINS:
            return here._replace(join=rule, pairs=self.pairs)
        if rule in CONFLICTS:
            return here._replace(conflict=rule, decides=True, pairs=self.pairs)
        known = ", ".join(map(repr, (*JOINS, *LISTS, *CONFLICTS)))
        raise ValueError(
            f"a rule must be one of {known}, or a function; got {clip(rule)}"
        )


class _Trie:
    """The rules for a place in one tree, and below it.

    Attributes:
        here: The rules for the place itself, with their numbers.
        below: The places below that have rules, by key.
    """

    __slots__ = ("below", "here")

    def __init__(self) -> None:
        self.here: list[tuple[int, Any]] = []
        self.below: dict[Any, _Trie] = {}

    def add(self, path: KeyPath, number: int, rule: Any) -> None:
        """Add a rule for a place."""
        trie = self
        for key in path:
            trie = trie.below.setdefault(key, _Trie())
        trie.here.append((number, rule))


class Rules:
    """The rules for a place in two trees, which may be at another position in each."""

    __slots__ = ("tries",)

    def __init__(self, tries: Sequence[_Trie | None]) -> None:
        self.tries = tries

    def at(self, joint: Joint, slot: int) -> Rules | None:
        """Return the rules for a child of a joint, which these are for."""
        places = joint.parts.places
        keys = (joint.key_of(slot),) * 2 if places is None else places[slot]
        pairs = zip(self.tries, keys, strict=True)
        found = [None if trie is None else trie.below.get(key) for trie, key in pairs]
        return None if found == [None, None] else Rules(found)

    def applied(self, policy: Policy) -> Policy:
        """Return the policy for the place."""
        rules = [rule for trie in self.tries if trie is not None for rule in trie.here]
        for _, rule in sorted(rules, key=itemgetter(0)):
            policy = policy.changed(rule)
        return policy


def placed(
    rules: Mapping[Any, Any],
    keyed: Mapping[Any, str],
    trees: tuple[Any, Any],
    context: Context,
) -> Rules:
    """Return the rules by the places that they are for, in the order of the rules."""
    pairs = [(what, selector(key)) for what, key in keyed.items()]
    roots = _Trie(), _Trie()
    for number, (what, rule) in enumerate([*pairs, *rules.items()]):
        chosen = read_selector(what, context.view)
        for root, tree in zip(roots, trees, strict=True):
            for place in chosen.targets(tree, context):
                root.add(place.path, number, rule)
    return Rules(roots)

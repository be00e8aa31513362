"""The algebra of structures: prefixes, common suffixes, grafts, children.

Owns what can be said and built about codes without any tree. Every function
works on the steps of a structure in post-order with the start of each subtree
beside them, so that depth costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from .node import Rule
from .walk import Code, Step, iter_steps


__all__ = ["Steps", "align", "common_suffix", "coverage", "covering", "is_prefix"]


class Steps:
    """The steps of a structure, and where the subtree of each step begins.

    Attributes:
        steps: The steps in post-order.
        starts: For each step, the place of the first step of its subtree.
    """

    __slots__ = ("starts", "steps")

    def __init__(self, code: Code) -> None:
        self.steps: list[Step] = [*iter_steps(code)]
        self.starts: list[int] = []
        open_starts: list[int] = []
        for place, step in enumerate(self.steps):
            arity = 0 if step is None else step[1]
            start = open_starts[-arity] if arity else place
            del open_starts[len(open_starts) - arity :]
            open_starts.append(start)
            self.starts.append(start)

    @property
    def root(self) -> int:
        """The place of the root: the last step."""
        return len(self.steps) - 1

    def children(self, place: int) -> list[int]:
        """Return the places of a node's children, from left to right."""
        step = self.steps[place]
        found: list[int] = []
        below = place - 1
        for _ in range(0 if step is None else step[1]):
            found.append(below)
            below = self.starts[below] - 1
        return found[::-1]

    def subtree(self, place: int) -> list[Step]:
        """Return the steps of a subtree."""
        return self.steps[self.starts[place] : place + 1]


def align(
    rule: Rule, arity: int, aux: Any, other: Rule, other_arity: int, other_aux: Any
) -> Sequence[int] | None:
    """Return which child of another node goes with each child of a node.

    Dicts of all kinds pair by key; a deque's maxlen does not matter; any other
    nodes pair if their rules and aux data are the same.

    Returns:
        The positions of the other's children in the order of the first, or None
        if the two nodes do not pair.
    """
    if arity != other_arity:
        return None
    if rule.pairs_by_key and other.pairs_by_key:
        places = {
            key.key: place for place, key in enumerate(other.keys(other_aux, arity))
        }
        wanted = [key.key for key in rule.keys(aux, arity)]
        return [places[k] for k in wanted] if places.keys() == {*wanted} else None
    if rule is not other:
        return None
    if aux is other_aux or rule.match_aux(aux, other_aux):
        return range(arity)
    return None


def _paired(a: Steps, i: int, b: Steps, j: int) -> list[tuple[int, int]] | None:
    """Return the pairs of children of two nodes, None if the nodes do not pair."""
    first, second = a.steps[i], b.steps[j]
    if first is None or second is None:
        return None
    positions = align(*first, *second)
    if positions is None:
        return None
    others = b.children(j)
    ours = a.children(i)
    return [(child, others[at]) for child, at in zip(ours, positions, strict=True)]


def is_prefix(a: Code, b: Code) -> bool:
    """Return whether a structure is a prefix of another: leaves match anything."""
    first, second = Steps(a), Steps(b)
    stack = [(first.root, second.root)]
    while stack:
        i, j = stack.pop()
        if first.steps[i] is None:
            continue
        pairs = _paired(first, i, second, j)
        if pairs is None:
            return False
        stack += pairs
    return True


def common_suffix(a: Code, b: Code) -> Iterator[Step] | None:
    """Return the smallest structure that both are prefixes of, None if there is none.

    Where both have a node, it is the node of the first.
    """
    first, second = Steps(a), Steps(b)
    stack = [(first.root, second.root)]
    backwards: list[Step] = []
    while stack:
        i, j = stack.pop()
        if first.steps[i] is None:
            backwards += reversed(second.subtree(j))
        elif second.steps[j] is None:
            backwards += reversed(first.subtree(i))
        else:
            pairs = _paired(first, i, second, j)
            if pairs is None:
                return None
            backwards.append(first.steps[i])
            stack += pairs
    return reversed(backwards)


def coverage(prefix: Code, full: Code) -> list[int] | None:
    """Return how many leaves of a structure each leaf of a prefix covers.

    None if it is no prefix, or if its nodes are not the very same ones: a prefix
    may pair with nodes of other kinds, whose leaves stand in another order.
    """
    counts: list[int] = []
    rest = iter_steps(full, backwards=True)
    for step in iter_steps(prefix, backwards=True):
        if step is None:
            counts.append(_leaves_of_next(rest))
        elif not _same_step(step, next(rest)):
            return None
    counts.reverse()
    return counts


def covering(prefix: Code, full: Code) -> list[int] | None:
    """Return for each leaf of a structure which leaf of a prefix covers it.

    None if it is no prefix. Nodes may pair that are not the very same, see `align`.
    """
    first, second = Steps(prefix), Steps(full)
    ours, theirs = (
        [*accumulate((step is None for step in steps), initial=0)]
        for steps in (first.steps, second.steps)
    )
    found = [0] * theirs[-1]
    stack = [(first.root, second.root)]
    while stack:
        i, j = stack.pop()
        if first.steps[i] is None:
            start, end = theirs[second.starts[j]], theirs[j + 1]
            found[start:end] = [ours[i]] * (end - start)
            continue
        pairs = _paired(first, i, second, j)
        if pairs is None:
            return None
        stack += pairs
    return found


def _same_step(step: Any, other: Any) -> bool:
    if other is None or step[0] is not other[0] or step[1] != other[1]:
        return False
    return bool(step[0].same_aux(step[2], other[2]))


def _leaves_of_next(steps: Iterator[Step]) -> int:
    """Take one subtree off the steps of a structure, and count its leaves."""
    subtrees, leaves = 1, 0
    while subtrees:
        step = next(steps)
        subtrees += -1 if step is None else step[1] - 1
        leaves += step is None
    return leaves

"""Codes: the structure of a tree as one flat list.

A *code* has one entry for each node, in post-order, `(run, rule, arity,
aux_data)`, where `run` is the number of leaves that stand between the node
before and this one. So it says everything in one list, whatever the depth, and
holds nothing for a leaf. Owns what can be done with a code alone: rebuild a
tree, match another one, name the leaves. Making codes is the affair of `walk`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from ..errors import FlattenError
from .builtins import DICT, LIST
from .keypath import KeyPath
from .node import Rule
from .safely import add_note


__all__ = [
    "ROOT",
    "Code",
    "Entry",
    "Step",
    "flatten_up_to",
    "iter_steps",
    "leaf_paths",
    "locate",
    "node_path",
    "pack",
    "rebuild",
    "unlink",
]

Entry: TypeAlias = "tuple[int, Rule, int, Any]"
Code: TypeAlias = "Sequence[Entry]"
Step: TypeAlias = "tuple[Rule, int, Any] | None"
"""A node of a structure, or None for a leaf."""


# --------------------------------------------------------------------- rebuild


def rebuild(code: Code, leaves: list[Any]) -> Any:
    """Put a tree together from its code and as many leaves as the code has.

    The commonest nodes are written out, because a call for each is what costs.

    Args:
        code: The code.
        leaves: The leaves, left to right; the number is not checked.
    """
    if not code:
        return leaves[0]
    stack: list[Any] = []
    start = done = 0
    try:
        for run, rule, arity, aux in code:
            end = start + run
            if run == arity:
                children = leaves[start:end]
            elif run > arity:
                stack += leaves[start : end - arity]
                children = leaves[end - arity : end]
            else:
                stack += leaves[start:end]
                children = stack[-arity:]
                del stack[-arity:]
            start = end
            if rule is DICT:
                keys, order = aux
                if order is not None:
                    children = order.scatter(children)
                stack.append(dict(zip(keys, children)))  # noqa: B905  # as many
            elif rule is LIST:
                stack.append(children)
            else:
                stack.append(rule.unflatten(aux, children))
            done += 1
    except Exception as error:
        locate(error, [*reversed(node_path(code, done))])
        raise
    return stack[0]


# --------------------------------------------------------------- flatten_up_to


def flatten_up_to(
    code: Code, tree: Any, nodes: list[Any] | None = None
) -> list[Any] | None:
    """Return what stands in a tree at each leaf of a code, None if it differs.

    The tree must have the structure of the code and may go deeper. Dicts of
    all kinds pair by key.

    Args:
        code: The code.
        tree: The tree.
        nodes: Where to put the nodes of the tree that were met, from the last
            entry of the code to the first.
    """
    stack = [tree]
    found: list[Any] = []
    for run, rule, arity, aux in reversed(code):
        node = stack.pop()
        children = rule.match(aux, arity, node)
        if children is None:
            return None
        if nodes is not None:
            nodes.append(node)
        stack += children
        if run:
            found += stack[: -run - 1 : -1]
            del stack[-run:]
    if not code:
        return stack
    found.reverse()
    return found


# ----------------------------------------------------------- steps of a structure


def iter_steps(code: Code, *, backwards: bool = False) -> Iterator[Step]:
    """Yield a structure step by step in post-order: a node, or None for a leaf."""
    if not code:
        yield None
    elif backwards:
        for run, rule, arity, aux in reversed(code):
            yield rule, arity, aux
            yield from (None,) * run
    else:
        for run, rule, arity, aux in code:
            yield from (None,) * run
            yield rule, arity, aux


def pack(steps: Iterable[Step]) -> tuple[Entry, ...]:
    """Make a code of steps in post-order."""
    code: list[Entry] = []
    run = 0
    for step in steps:
        if step is None:
            run += 1
        else:
            code.append((run, *step))
            run = 0
    return tuple(code)


# ----------------------------------------------------------------------- paths

ROOT = KeyPath()
Slot: TypeAlias = "tuple[Any, ...]"


def leaf_paths(code: Code, count: int) -> list[KeyPath]:
    """Return the key path of each leaf, in leaf order.

    Args:
        code: The code.
        count: The number of leaves.
    """
    if not code:
        return [ROOT] * count
    paths: list[KeyPath] = []
    stack: list[Slot] = [()]
    parent: Slot | None = None
    prefix: tuple[Any, ...] = ()
    for run, rule, arity, aux in reversed(code):
        slot = stack.pop()
        keys = rule.keys(aux, arity)
        left = run - arity
        if left >= 0:
            prefix = unlink(slot)
            paths += [KeyPath((*prefix, key)) for key in keys[::-1]]
            parent = slot
        else:
            left = run
            stack += [(slot, key) for key in keys]
        if left:
            for above, key in stack[: -left - 1 : -1]:
                if above is not parent:
                    parent, prefix = above, unlink(above)
                paths.append(KeyPath((*prefix, key)))
            del stack[-left:]
    paths.reverse()
    return paths


def unlink(slot: Slot) -> tuple[Any, ...]:
    """Turn a linked list `(above, key)` into the keys from the root down."""
    keys: list[Any] = []
    while slot:
        slot, key = slot
        keys.append(key)
    return tuple(reversed(keys))


def node_path(code: Code, position: int) -> tuple[Any, ...]:
    """Return the key path of the node at that position of the code."""
    stack: list[Slot] = [()]
    for run, rule, arity, aux in [*reversed(code)][: len(code) - 1 - position]:
        slot = stack.pop()
        stack += [(slot, key) for key in rule.keys(aux, arity)]
        if run:
            del stack[-run:]
    return unlink(stack[-1])


# -------------------------------------------------------------------- failures


def locate(error: Exception, trail: list[Any]) -> None:
    """Tell an error where it happened: its path, or one note."""
    path = KeyPath(reversed(trail))
    if isinstance(error, FlattenError) and error.path is None:
        error.path = path
    add_note(error, f"at key path {path}" if path else "at the root of the tree")

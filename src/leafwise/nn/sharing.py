"""Sharing: what stands in several places of an object or of nested containers."""

from __future__ import annotations

from typing import Any, TypeAlias

from ..core.walk import unlink
from ..errors import CycleError
from .arrays import is_data
from .filters import Filter, predicate
from .graphs import OnShared, can_be_shared, check_choice, report_shared
from .pytree import Pytree
from .traverse import AGAIN, CYCLE, ENTER, LEAF, LEAVE, traverse
from .variables import Variable


__all__ = ["find_duplicates", "is_node", "tree_check"]

Path: TypeAlias = tuple[Any, ...]


def is_node(value: Any) -> bool:
    """Say whether a value is an object or a variable."""
    return isinstance(value, Pytree | Variable)


def find_duplicates(
    tree: Any, *, only: Filter = ..., containers: bool = False
) -> list[list[Path]]:
    """Return the paths of what stands in several places.

    Objects, variables and arrays count, by identity. What is below something that
    was met before is not reported again.

    Args:
        tree: An object, or nested containers.
        only: A filter for what is to be reported.
        containers: Whether plain containers count, too.

    Returns:
        A list of paths for each thing that has more than one.

    Example:
        >>> from leafwise import nn
        >>> weight = nn.Param(0.5)
        >>> nn.find_duplicates({"in": weight, "out": [weight]})
        [[('in',), ('out', 0)]]

    The idea is that of `flax.nnx.find_duplicates`.
    """
    meant = predicate(only)
    found: dict[int, tuple[Any, list[Any]]] = {}

    def counts(value: Any) -> bool:
        return is_node(value) or (containers and value is not None)

    for event, link, value in traverse(tree, revisit=lambda value: not counts(value)):
        if event is CYCLE and not counts(value):
            path = unlink(link)
            raise CycleError(f"the {type(value).__name__} at {path} contains itself")
        if event is not LEAVE and (is_data if event is LEAF else counts)(value):
            found.setdefault(id(value), (value, []))[1].append(link)
    several = ((value, links) for value, links in found.values() if len(links) > 1)
    return [
        [unlink(link) for link in links]
        for value, links in several
        if meant(unlink(links[0]), value)
    ]


def tree_check(tree: Any, *, on_shared: OnShared = "error") -> None:
    """Check that nested containers are a tree: no cycles, nothing twice.

    Args:
        tree: An object, or nested containers.
        on_shared: What to do where a container, an object, a variable or an array
            stands again: `"error"`, `"warn"` or `"allow"`; a cycle is always an error.

    Raises:
        CycleError: Something contains itself.
        SharedError: Something stands again.

    Example:
        >>> from leafwise import nn
        >>> row = [1, 2]
        >>> nn.tree_check({"a": row, "b": [3]})
        >>> nn.tree_check({"a": row, "b": row})
        Traceback (most recent call last):
        ...
        leafwise.errors.SharedError: the list at ('a',) stands again at ('b',)
    """
    check_choice(on_shared)
    first: dict[int, tuple[Any, Any]] = {}  # paths and values, which must not go
    again: list[tuple[Any, Any]] = []
    arrays: list[tuple[Any, Any]] = []
    for event, link, value in traverse(tree):
        if event is CYCLE:
            raise _inside_itself(first[id(value)][0], link, value)
        if event is AGAIN and can_be_shared(value):
            again.append((link, value))
        elif event is LEAF and id(value) in first:
            arrays.append((link, value))
        elif event is ENTER or (event is LEAF and is_data(value)):
            first.setdefault(id(value), (link, value))
    if on_shared != "allow":
        for link, value in again + arrays:
            report_shared(on_shared, first[id(value)][0], link, value)


def _inside_itself(first: Any, again: Any, value: Any) -> CycleError:
    return CycleError(
        f"the {type(value).__name__} at {unlink(first) or 'the root'} stands again at "
        f"{unlink(again)}, inside itself"
    )

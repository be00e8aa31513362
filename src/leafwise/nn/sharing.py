"""Sharing: what stands in several places of an object or of nested containers."""

from __future__ import annotations

from typing import Any, TypeAlias

from ..errors import CycleError, SharedError
from .arrays import is_data
from .filters import Filter, predicate
from .graphs import OnShared, parts_of, take
from .pytree import Pytree
from .sizes import rule_of
from .states import unlink
from .variables import Variable


__all__ = ["below", "find_duplicates", "is_node", "tree_check"]

Path: TypeAlias = tuple[Any, ...]


def below(value: Any) -> list[tuple[Any, Any]]:
    """Return the children of a value with their names, positions or keys."""
    rule = rule_of(type(value))
    if rule is None:
        return []
    children, aux = rule.flatten(value)
    return [*zip(parts_of(rule, aux, len(children)), children, strict=True)]


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
    open_: set[int] = set()
    stack: list[tuple[Any, Any, bool]] = [(tree, (), False)]
    while stack:
        value, link, done = stack.pop()
        if done:
            open_.discard(id(value))
            continue
        rule = rule_of(type(value))
        counts = is_node(value) or (
            is_data(value) if rule is None else containers and value is not None
        )
        if counts:
            links = found.setdefault(id(value), (value, []))[1]
            links.append(link)
            if len(links) > 1:
                continue
        elif rule is not None:
            if id(value) in open_:
                raise _contains_itself(value, link)
            open_.add(id(value))
            stack.append((value, link, True))
        inside = below(value)
        stack += [(child, (link, part), False) for part, child in reversed(inside)]
    several = ((value, links) for value, links in found.values() if len(links) > 1)
    return [
        [unlink(link) for link in links]
        for value, links in several
        if meant(unlink(links[0]), value)
    ]


def _contains_itself(value: Any, link: Any) -> CycleError:
    return CycleError(f"the {type(value).__name__} at {unlink(link)} contains itself")


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
    open_: dict[int, Any] = {}
    stack: list[tuple[Any, Any, bool]] = [(tree, (), False)]
    finished: set[int] = set()
    while stack:
        value, link, done = stack.pop()
        if done:
            del open_[id(value)]
            finished.add(id(value))
            continue
        if id(value) in open_:
            first, again = unlink(open_[id(value)]), unlink(link)
            raise CycleError(
                f"the {type(value).__name__} at {first or 'the root'} stands again at "
                f"{again}, inside itself"
            )
        if rule_of(type(value)) is None or id(value) in finished:
            continue
        open_[id(value)] = link
        stack.append((value, link, True))
        inside = below(value)
        stack += [(child, (link, part), False) for part, child in reversed(inside)]
    if on_shared != "allow":
        take(tree, on_shared=on_shared, copying=True)
        for paths in find_duplicates(tree):
            raise SharedError(
                f"an array at {paths[0]} stands again at {paths[1]}",
                first=paths[0],
                again=paths[1],
            )

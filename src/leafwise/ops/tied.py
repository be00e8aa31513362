"""Maps that keep ties: what is one object in the tree is one in the result.

A node, or a leaf that is no plain scalar, is mapped once, together with what stands
at its places in further trees; wherever just these stand again, the result does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..core.code import ROOT, locate, unlink
from ..core.keypath import KeyPath
from ..core.view import View
from ..core.walk import PathPredicate, Predicate
from ..errors import CycleError
from .outlook import asks_to_stop, columns_of


__all__ = ["map_tied"]

_SCALARS: Final = frozenset({bool, bytes, complex, float, int, str, type(None)})
_PENDING: Final = object()


def map_tied(
    function: Callable[..., Any],
    trees: tuple[Any, ...],
    view: View,
    stop: Predicate,
    *,
    strict: bool,
) -> Any:
    """Map a function over trees, and tie in the result what is tied in them.

    Raises:
        CycleError: The first tree contains itself.
        StructureError: A further tree does not have the structure of the first.
    """
    columns_of(trees[0], trees[1:], view, stop, strict=strict)  # checks them
    memo: dict[tuple[int, ...], Any] = {}
    kept: list[Any] = []  # so that no id is given away
    values: list[Any] = []
    stack: list[tuple[Any, Any, Any]] = [(trees, (), None)]
    while stack:
        row, link, node = stack.pop()
        key = tuple(map(id, row))
        if node is not None:
            rule, aux, arity = node
            done = values[len(values) - arity :]
            del values[len(values) - arity :]
            memo[key] = rule.unflatten(aux, done)
            values.append(memo[key])
            continue
        found = memo.get(key)
        if found is _PENDING:
            raise CycleError("the tree contains itself")
        if found is not None:
            values.append(found)
            continue
        first = row[0]
        path = KeyPath(unlink(link)) if isinstance(stop, PathPredicate) else ROOT
        rule = None if asks_to_stop(stop, first, path) else view.resolve(type(first))
        if rule is None:
            value = _call(function, row, link)
            values.append(value)
            if type(first) not in _SCALARS and value is not None:
                memo[key] = value
            continue
        children, aux = rule.flatten(first)
        arity = len(children)
        columns = [children, *(rule.match(aux, arity, other) for other in row[1:])]
        kept.append(columns)
        memo[key] = _PENDING
        stack.append((row, link, (rule, aux, arity)))
        keys = rule.keys(aux, arity)
        rows = zip(zip(*columns, strict=True), keys, strict=True)
        stack += reversed([(below, (link, part), None) for below, part in rows])
    return values[0]


def _call(function: Callable[..., Any], row: tuple[Any, ...], link: Any) -> Any:
    try:
        return function(*row)
    except Exception as error:
        locate(error, [*reversed(unlink(link))])
        raise

"""Transforms that keep shared references and write changes back.

A transform of functions sees a graph of objects as a structure without leaves and a
list of values. Inside, the objects are put together, the function runs, and everything
is taken apart again; outside, the caller's own objects are filled with what came out,
and only after all has gone well. Knows no framework.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.frozen import Frozen
from ..core.registry import install
from ..core.rule import static_rule
from ..core.view import GLOBAL
from ..objects.graphdef import GraphDef, Taken, build, take
from ..objects.variables import Variable


__all__ = ["Outline", "put_back", "run", "share"]


class Outline(Frozen):
    """What came out of a function, without the values; a node without leaves.

    Attributes:
        graphdef: The structure of what went in and of what came out, together.
        links: Which objects of it are which of those that went in, by number.
        groups: For each value, the name of the list that it stands in.
    """

    __slots__ = ("graphdef", "groups", "links")
    __match_args__ = ("graphdef", "links", "groups")

    graphdef: GraphDef
    links: tuple[tuple[int, int], ...]
    groups: tuple[str, ...]

    def __init__(
        self,
        graphdef: GraphDef,
        links: tuple[tuple[int, int], ...],
        groups: tuple[str, ...],
    ) -> None:
        self._set(graphdef, links, groups)


install(
    Outline,
    lambda _where: static_rule(Outline, where=__name__.partition(".")[0]),
    namespace=GLOBAL,
    inherit=False,
    exist_ok=False,
    bridge=True,
)


def run(
    function: Callable[..., Any],
    graphdef: GraphDef,
    leaves: list[Any],
    group_of: Callable[[Any], str],
    split_result: Callable[[Any], tuple[Any, Any]] | None = None,
) -> tuple[Any, Outline, dict[str, list[Any]]]:
    """Run a function on objects that are put together for it.

    Args:
        function: The function.
        graphdef: The structure of `(args, kwargs)`.
        leaves: Its values.
        group_of: Takes the linked path of a value in `(args, kwargs, result)`, returns
            the name of the list that it is put into.
        split_result: Takes what the function returns, returns what is not taken apart
            and the rest; by default nothing and all of it.

    Returns:
        What is not taken apart, the outline of the rest, and its values by group.
    """
    before: list[Any] = []
    fresh = [leaf.copy() if isinstance(leaf, Variable) else leaf for leaf in leaves]
    args, kwargs = build(graphdef._code, fresh, tracked=before)
    result = function(*args, **kwargs)
    bare, result = (None, result) if split_result is None else split_result(result)
    taken = take((args, kwargs, result))
    known = {id(obj): number for number, obj in enumerate(before)}
    links = tuple(
        (number, known[id(obj)])
        for number, obj in enumerate(taken.tracked)
        if id(obj) in known
    )
    groups = tuple(map(group_of, taken.links))
    values: dict[str, list[Any]] = {}
    for group, leaf in zip(groups, taken.leaves, strict=True):
        values.setdefault(group, []).append(leaf)
    return bare, Outline(GraphDef(tuple(taken.code)), links, groups), values


def put_back(taken: Taken, outline: Outline, values: dict[str, list[Any]]) -> Any:
    """Fill the caller's objects with what came out, and return the result.

    Args:
        taken: What the caller's arguments were taken apart into.
        outline: What came out.
        values: Its values by group.
    """
    rests = {group: iter(listed) for group, listed in values.items()}
    leaves = [next(rests[group]) for group in outline.groups]
    reuse = {number: taken.tracked[old] for number, old in outline.links}
    return build(outline.graphdef._code, leaves, reuse=reuse)[2]


def _one_group(_link: Any) -> str:
    return "all"


def share(
    transform: Callable[[Callable[..., Any]], Callable[..., Any]],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a transform that keeps shared references and writes changes back.

    Args:
        transform: Takes a function of trees, returns one, such as `jax.jit`. Structures
            come to it as nodes without leaves, so it has to know our classes, as jax
            does.

    Returns:
        A decorator: the decorated function gets objects in which what was one object
        is one, and whatever it changes is changed in the caller's objects, once it has
        returned. If it raises, nothing is changed.

    Example:
        >>> import leafwise as lw
        >>> @lw.integrations.share(lambda function: function)
        ... def double(model):
        ...     model.left.x *= 2
        ...     return model.right
        >>> inner = lw.Dict(x=lw.data(1))
        >>> model = lw.Dict(left=inner, right=inner)
        >>> double(model) is inner, inner.x
        (True, 2)

    The idea is that of the transforms of Flax NNX.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def pure(graphdef: GraphDef, leaves: list[Any]) -> Any:
            return run(function, graphdef, leaves, _one_group)[1:]

        transformed = transform(pure)

        @functools.wraps(function)
        def shared(*args: Any, **kwargs: Any) -> Any:
            taken = take((args, kwargs))
            graphdef = GraphDef(tuple(taken.code))
            return put_back(taken, *transformed(graphdef, taken.leaves))

        return shared

    return decorate

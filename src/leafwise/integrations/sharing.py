"""Transforms that keep shared references and write changes back.

A transform of functions sees a graph of objects as a structure without leaves and a
list of values. Inside, the objects are put together, the function runs, and everything
is taken apart again; outside, the caller's own objects are filled with what came out,
and only after all has gone well. Knows no framework.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from ..core.frozen import Frozen
from ..core.registered import StaticRule
from ..core.registry import install
from ..core.view import GLOBAL
from ..errors import TraceError
from ..nn.graphs import GraphDef, Taken, build, take
from ..nn.states import unlink
from ..nn.trace import check, levels
from ..nn.variables import Variable
from .calls import Call, dressed, unbind
from .prefixes import RESULT, Groups, Option, Path, named


__all__ = ["ONE_GROUP", "Outline", "Ran", "put_back", "run", "share"]


class Outline(Frozen):
    """What came out of a function, without the values; a node without leaves.

    Attributes:
        graphdef: The structure of what went in and of what came out, together.
        links: Which objects of it are which of those that went in, by number.
        groups: For each value, the number of the list that it stands in.
    """

    __slots__ = ("graphdef", "groups", "links")
    __match_args__ = ("graphdef", "links", "groups")

    graphdef: GraphDef
    links: tuple[tuple[int, int], ...]
    groups: tuple[int, ...]

    def __init__(
        self,
        graphdef: GraphDef,
        links: tuple[tuple[int, int], ...],
        groups: tuple[int, ...],
    ) -> None:
        self._set(graphdef, links, groups)


install(
    Outline,
    lambda _where: StaticRule(Outline, where=__name__.partition(".")[0]),
    namespace=GLOBAL,
    inherit=False,
    exist_ok=False,
    bridge=True,
)


class Ran(NamedTuple):
    """What came out of a function.

    Attributes:
        bare: What is not taken apart.
        outline: The outline of the rest.
        values: Its values, in lists.
        name: Takes the number of a list and a position in it, says in words where the
            value stands.
    """

    bare: Any
    outline: Outline
    values: list[list[Any]]
    name: Callable[[int, int], str]


ONE_GROUP: Final = Groups(Option("", None), Option("", None))
"""No options for arguments or results."""


def run(
    call: Call,
    graphdef: GraphDef,
    leaves: list[Any],
    groups: Groups = ONE_GROUP,
    split_result: Callable[[Any], tuple[Any, Any]] | None = None,
) -> Ran:
    """Run a function on objects that are put together for it.

    Args:
        call: The function; it takes what it is bound to before the arguments.
        graphdef: The structure of `(args, kwargs, held)`.
        leaves: Its values.
        groups: The lists that values are put into.
        split_result: Takes what the function returns, returns what is not taken apart
            and the rest; by default nothing and all of it.
    """
    fresh = [leaf.copy() if isinstance(leaf, Variable) else leaf for leaf in leaves]
    roots = args, kwargs, held = build(graphdef._code, fresh)
    before = take(roots)
    owners = [*map(unlink, before.first)]
    group_of_call = groups.of_call(roots)
    result = call(held, *args, **kwargs)
    bare, result = (None, result) if split_result is None else split_result(result)
    group_of_result = groups.of_result(result)
    after = _take_again(before.tracked, _outermost(owners), result)
    known = {id(obj): number for number, obj in enumerate(before.tracked)}
    links = tuple(
        (number, known[id(obj)])
        for number, obj in enumerate(after.tracked)
        if id(obj) in known
    )

    def place_of(link: Any) -> Path:
        kind, *rest = unlink(link)
        return (RESULT, *rest) if kind == 1 else (*owners[rest[0]], *rest[1:])

    everything = (*roots, result)
    _refuse_captured(after, known, lambda link: named(place_of(link), everything))
    numbers = []
    count = len(groups.inputs) + len(groups.outputs)
    values: list[list[Any]] = [[] for _ in range(count)]
    places: list[list[Path]] = [[] for _ in range(count)]
    for link, leaf in zip(after.links, after.leaves, strict=True):
        place = place_of(link)
        number = (group_of_result if place[0] == RESULT else group_of_call)(place)
        numbers.append(number)
        values[number].append(leaf)
        places[number].append(place)
    outline = Outline(GraphDef(tuple(after.code)), links, tuple(numbers))
    return Ran(
        bare, outline, values, lambda number, n: named(places[number][n], everything)
    )


def _outermost(paths: list[Path]) -> list[int]:
    """Return the numbers of the objects that stand in no other object."""
    known = {*paths}
    return [
        number
        for number, path in enumerate(paths)
        if not any(path[:end] in known for end in range(1, len(path)))
    ]


def _take_again(tracked: list[Any], roots: list[int], result: Any) -> Taken:
    """Take the objects of the arguments, by number, and the result apart.

    Also those that do not stand in another one any more: they are the caller's.
    """
    taken = take(({number: tracked[number] for number in roots}, result))
    reached = {*map(id, taken.tracked)}
    lost = [number for number, obj in enumerate(tracked) if id(obj) not in reached]
    if not lost:
        return taken
    return take(({number: tracked[number] for number in (*roots, *lost)}, result))


def _refuse_captured(
    taken: Taken, known: dict[int, int], name_of: Callable[[Any], str]
) -> None:
    """Refuse objects from outside of the transform that are no arguments.

    Raises:
        TraceError: There is one; only a copy of it could come back.
    """
    if levels.token is None:
        return
    level, base = levels.token(), levels.base
    for obj, link in zip(taken.tracked, taken.first, strict=True):
        if id(obj) not in known and getattr(obj, "_leafwise_stamp", base) != level:
            raise TraceError(
                f"the {type(obj).__qualname__} in {name_of(link)} is captured: "
                "it was made outside of the function that is being traced (by jit, "
                "grad, vmap, ...), and only a copy of it could come back.\n"
                "Do one of these:\n"
                "  1. pass the object to the function as an argument\n"
                "  2. return its values, or a copy: leafwise.nn.clone(...)"
            )


def _check_levels(objects: Iterable[Any]) -> None:
    """Refuse to write to objects at another level of tracing than they were made at.

    Raises:
        TraceError: One was; none is written to then.
    """
    if levels.token is None:
        return
    level, base = levels.token(), levels.base
    for obj in objects:
        if getattr(obj, "_leafwise_stamp", base) != level:
            check(obj, "")


def put_back(found: tuple[Outline, list[list[Any]]], taken: Taken | None = None) -> Any:
    """Fill the caller's objects with what came out, and return the result.

    Args:
        found: The outline of what came out, and its values.
        taken: What the caller's arguments were taken apart into; without it the
            objects are left alone, and the result has new ones.
    """
    outline, values = found
    rests = [*map(iter, values)]
    leaves = [next(rests[number]) for number in outline.groups]
    tracked = [] if taken is None else taken.tracked
    links = outline.links if tracked else ()
    reuse = {number: tracked[old] for number, old in links}
    _check_levels(reuse.values())
    return build(outline.graphdef._code, leaves, reuse=reuse)[1]


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

    def decorate(function: Call) -> Call:
        call, held = unbind(function)

        def pure(graphdef: GraphDef, leaves: list[Any]) -> Any:
            _, outline, values, _ = run(call, graphdef, leaves)
            return outline, values

        transformed = transform(pure)

        @dressed(function)
        def shared(*args: Any, **kwargs: Any) -> Any:
            taken = take((args, kwargs, held))
            graphdef = GraphDef(tuple(taken.code))
            return put_back(transformed(graphdef, taken.leaves), taken)

        return shared

    return decorate

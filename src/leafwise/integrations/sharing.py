"""Transforms that keep shared references and write changes back.

A transform of functions sees a graph of objects as a structure without leaves and a
list of values. Inside, the objects are unflattened, the function runs, and everything
is flattened again; outside, the caller's own objects are filled with what came out,
and only after all has gone well. Objects in bound methods and partials are arguments
like others. Knows no framework.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import FunctionType, MethodType
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from ..core.auxdata import clip
from ..core.node import Rule
from ..core.registered import StaticRule
from ..core.registry import GLOBAL, install
from ..core.safely import Frozen
from ..core.walk import unlink
from ..errors import TraceError
from ..nn.checks import DataNode, check_level, levels
from ..nn.graph import FlatGraph, GraphDef, flatten_graph, unflatten_graph
from ..nn.spec import digest, same
from ..nn.variables import Variable
from .options import ARGS, KWARGS, RESULT, Call, Groups, Option, Path, Which, named


__all__ = [
    "ONE_GROUP",
    "Fixed",
    "Outline",
    "Ran",
    "dressed",
    "has_objects",
    "in_lists",
    "put_back",
    "put_static",
    "run",
    "share",
    "take_static",
    "unbind",
]

T = TypeVar("T")
Static: TypeAlias = "dict[tuple[Any, ...], Any]"


def has_objects(value: Any) -> bool:
    """Return whether a value is, or contains, objects or variables."""
    return bool(flatten_graph([value]).tracked)


def dressed(function: Call) -> Callable[[Call], Call]:
    """Return a decorator that makes a function look like another one."""
    if not callable(function):
        raise TypeError(
            f"a transform takes a function, got {type(function).__name__}: "
            f"{clip(function)}"
        )
    updated = ("__dict__",) if isinstance(function, FunctionType) else ()
    return functools.wraps(function, updated=updated)


# ------------------------------------------------------------------ bound functions


def unbind(function: Call) -> tuple[Call, Any]:
    """Take the objects out of a bound method, a partial, or an object to be called.

    Args:
        function: Any function.

    Returns:
        A function that takes, before the arguments, what was taken out, and that.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.integrations.sharing import unbind
        >>> items = lw.List([1])
        >>> function, held = unbind(items.append)
        >>> held is items, function(held, 2), [*items]
        (True, None, [1, 2])
    """
    if isinstance(function, MethodType) and has_objects(function.__self__):
        return function.__func__, function.__self__
    if isinstance(function, functools.partial):
        return _unbind_partial(function)
    if isinstance(function, DataNode):
        return lambda held, *args, **kwargs: held(*args, **kwargs), function
    return lambda _held, *args, **kwargs: function(*args, **kwargs), None


def _unbind_partial(function: functools.partial[Any]) -> tuple[Call, Any]:
    inner, inside = unbind(function.func)
    pairs: list[tuple[Any, Any]] = [
        *enumerate(function.args),
        *function.keywords.items(),
    ]
    flat = [name for name, value in pairs if has_objects(value)]
    known: dict[Any, Any] = dict(pairs)
    count = len(function.args)

    def call(held: Any, *args: Any, **kwargs: Any) -> Any:
        now = known | dict(zip(flat, held[1], strict=True))
        first = [now.pop(place) for place in range(count)]
        return inner(held[0], *first, *args, **{**now, **kwargs})

    return call, (inside, [known[name] for name in flat])


# ---------------------------------------------------------------- static arguments


class Fixed:
    """What a compiled function depends on beside structures; a node without leaves.

    Attributes:
        order: For each value, the number of the list that it is in; None for one list.
        static: The static arguments, by place.
    """

    __slots__ = ("order", "static")

    def __init__(self, order: tuple[int, ...] | None, static: Static) -> None:
        self.order = order
        self.static = static

    def __eq__(self, other: object) -> bool:
        if type(other) is not Fixed:
            return NotImplemented
        return self.order == other.order and same(self.static, other.static)

    def __hash__(self) -> int:
        return hash((self.order, digest(self.static)))


def take_static(
    which: Which, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Static, tuple[Any, ...], dict[str, Any]]:
    """Take the static arguments out of a call.

    Returns:
        The static arguments by place, and the call with None in their places.

    Raises:
        ValueError: One cannot be hashed, or has objects in it.
    """
    if not which:
        return {}, args, kwargs
    count = len(args)
    static: Static = {}
    pairs = [((ARGS, n), value) for n, value in enumerate(args)]
    pairs += [((KWARGS, name), value) for name, value in kwargs.items()]  # type: ignore[misc]  # other places
    for place, value in pairs:
        if which.means(place, count):
            _check_static(place, value)
            static[place] = value
    return (
        static,
        tuple(None if (ARGS, n) in static else value for n, value in enumerate(args)),
        {
            name: None if (KWARGS, name) in static else value
            for name, value in kwargs.items()
        },
    )


def put_static(
    static: Static, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Put the static arguments back into a call."""
    return (
        tuple(static.get((ARGS, n), value) for n, value in enumerate(args)),
        {name: static.get((KWARGS, name), value) for name, value in kwargs.items()},
    )


def _check_static(place: tuple[Any, ...], value: Any) -> None:
    try:
        hash(value)
    except TypeError as error:
        raise ValueError(
            f"{named(place)} is static and cannot be hashed: {error}"
        ) from None
    if has_objects(value):
        raise ValueError(
            f"{named(place)} is static, but its values may change: it is or contains "
            f"objects ({clip(value)}). Pass it as an ordinary argument; what is static "
            "in an object stays static"
        )


# ------------------------------------------------------------- running a function


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


class Ran(NamedTuple):
    """What came out of a function.

    Attributes:
        bare: What is not flattened.
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
    """Run a function on objects that are unflattened for it.

    Args:
        call: The function; it takes what it is bound to before the arguments.
        graphdef: The structure of `(args, kwargs, held)`.
        leaves: Its values.
        groups: The lists that values are put into.
        split_result: Takes what the function returns, returns what is not flattened
            and the rest; by default nothing and all of it.
    """
    fresh = [leaf.copy() if isinstance(leaf, Variable) else leaf for leaf in leaves]
    roots = args, kwargs, held = unflatten_graph(graphdef._code, fresh)
    before = flatten_graph(roots)
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
    paths = [*map(place_of, after.links)]
    numbers = [
        (group_of_result if path[0] == RESULT else group_of_call)(path)
        for path in paths
    ]
    count = len(groups.inputs) + len(groups.outputs)
    values = in_lists(after.leaves, numbers, count)
    places = in_lists(paths, numbers, count)
    outline = Outline(GraphDef(tuple(after.code)), links, tuple(numbers))
    return Ran(
        bare, outline, values, lambda number, n: named(places[number][n], everything)
    )


def in_lists(values: Iterable[T], numbers: Iterable[int], count: int) -> list[list[T]]:
    """Return values in lists, by the number of the list that each is put into."""
    lists: list[list[T]] = [[] for _ in range(count)]
    for number, value in zip(numbers, values, strict=True):
        lists[number].append(value)
    return lists


def _outermost(paths: list[Path]) -> list[int]:
    """Return the numbers of the objects that stand in no other object."""
    known = {*paths}
    return [
        number
        for number, path in enumerate(paths)
        if not any(path[:end] in known for end in range(1, len(path)))
    ]


def _take_again(tracked: list[Any], roots: list[int], result: Any) -> FlatGraph:
    """Take the objects of the arguments, by number, and the result apart.

    Also those that do not stand in another one any more: they are the caller's.
    """
    flat = flatten_graph(({number: tracked[number] for number in roots}, result))
    reached = {*map(id, flat.tracked)}
    lost = [number for number, obj in enumerate(tracked) if id(obj) not in reached]
    if not lost:
        return flat
    return flatten_graph(
        ({number: tracked[number] for number in (*roots, *lost)}, result)
    )


def _refuse_captured(
    flat: FlatGraph, known: dict[int, int], name_of: Callable[[Any], str]
) -> None:
    """Refuse objects from outside of the transform that are not arguments.

    Raises:
        TraceError: There is one; only a copy of it could come back.
    """
    if levels.token is None:
        return
    level, base = levels.token(), levels.base
    for obj, link in zip(flat.tracked, flat.first, strict=True):
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
            check_level(obj, "")


def put_back(
    found: tuple[Outline, list[list[Any]]], flat: FlatGraph | None = None
) -> Any:
    """Fill the caller's objects with what came out, and return the result.

    Args:
        found: The outline of what came out, and its values.
        taken: What the caller's arguments were flattened into; without it the
            objects are left alone, and the result has new ones.
    """
    outline, values = found
    rests = [*map(iter, values)]
    leaves = [next(rests[number]) for number in outline.groups]
    tracked = [] if flat is None else flat.tracked
    links = outline.links if tracked else ()
    reuse = {number: tracked[old] for number, old in links}
    _check_levels(reuse.values())
    return unflatten_graph(outline.graphdef._code, leaves, reuse=reuse)[1]


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
            flat = flatten_graph((args, kwargs, held))
            graphdef = GraphDef(tuple(flat.code))
            return put_back(transformed(graphdef, flat.leaves), flat)

        return shared

    return decorate


def _make_rule(cls: type, _where: str) -> Rule:
    return StaticRule(cls, where=__name__.partition(".")[0])


for _node in (Fixed, Outline):
    install(
        _node,
        functools.partial(_make_rule, _node),
        namespace=GLOBAL,
        inherit=False,
        exist_ok=False,
        bridge=True,
    )

"""Transforms that keep shared references and write changes back.

A transform of functions sees a graph of objects as a structure without leaves and a
list of values. Inside, the objects are unflattened, the function runs, and everything
is flattened again; outside, the caller's own objects are filled with what came out,
and only after all has gone well. Objects in bound methods and partials are arguments
like others. Knows no framework.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import is_
from types import FunctionType, MethodType
from typing import Any, NamedTuple, ParamSpec, TypeVar

from ..core.keypath import KeyPath
from ..core.register import StaticRule
from ..core.registry import install
from ..core.walk import unlink
from ..errors import TraceError
from ..nn.checks import DataNode, check_level, levels
from ..nn.graph import (
    NODE,
    TREE,
    Entry,
    FlatGraph,
    GraphDef,
    flatten_graph,
    unflatten_graph,
)
from ..nn.instance import keys_of
from ..nn.template import identical_entry
from ..nn.variables import Variable
from ..safely import Record, class_name, described
from .options import ARGS, KWARGS, ONE_GROUP, RESULT, Call, Groups, Path, named


__all__ = [
    "Outline",
    "Ran",
    "bare",
    "check_levels",
    "dressed",
    "entries_of",
    "has_objects",
    "in_lists",
    "keys_at",
    "numbered",
    "outermost_of",
    "placing",
    "put_back",
    "run",
    "share",
    "titled",
    "unbind",
]

T = TypeVar("T")
P = ParamSpec("P")


# --------------------------------------------------------------- functions and objects


def has_objects(value: Any) -> bool:
    """Return whether a value is, or contains, objects or variables."""
    return bool(flatten_graph([value]).tracked)


def dressed(function: Call) -> Callable[[Call], Call]:
    """Return a decorator that makes a function look like another one."""
    if not callable(function):
        raise TypeError(f"a transform takes a function, got {described(function)}")
    updated = ("__dict__",) if isinstance(function, FunctionType) else ()
    return functools.wraps(function, updated=updated)


def titled(inner: Call, function: Call) -> Call:
    """Give a function the name of another one, which is shown in jax's logs."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", None) or type(function).__name__
    inner.__name__ = inner.__qualname__ = name
    return inner


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


# ------------------------------------------------------------- running a function


def bare(leaf: Any) -> Any:
    """Return a value, without the variable around it."""
    return leaf._leafwise_value if isinstance(leaf, Variable) else leaf


class Outline(Record):
    """What came out of a function, without the values; a node without leaves.

    Attributes:
        graphdef: The structure of what went in and of what came out, together.
        links: Which objects of it are which of those that went in, by number.
        groups: For each value, the number of the list that it stands in.
        start: Where in the code of the structure the result begins, if all that went in
            is as it was; None if it is not, or nobody asked.
    """

    __slots__ = ("graphdef", "groups", "links", "start")
    __match_args__ = ("graphdef", "links", "groups", "start")

    graphdef: GraphDef
    links: tuple[tuple[int, int], ...]
    groups: tuple[int, ...]
    start: int | None


class Ran(NamedTuple):
    """What came out of a function.

    Attributes:
        bare: What is not flattened.
        outline: The outline of the rest.
        values: Its values, in lists.
        name: Takes the number of a list and a position in it, says in words where the
            value stands.
        before: What was flattened before: arguments, keywords, what is held.
        after: What was flattened after: the objects of all that, and the result.
        start: Where in the code of `after` the result begins, if everything before is
            as it was, but for values; None if it is not, or nobody asked.
    """

    bare: Any
    outline: Outline
    values: list[list[Any]]
    name: Callable[[int, int], str]
    before: FlatGraph
    after: FlatGraph
    start: int | None


def run(
    call: Call,
    graphdef: GraphDef,
    leaves: list[Any],
    groups: Groups = ONE_GROUP,
    split_result: Callable[[Any], tuple[Any, Any]] | None = None,
    *,
    compare: bool = False,
) -> Ran:
    """Run a function on objects that are unflattened for it.

    Args:
        call: The function; it takes what it is bound to before the arguments.
        graphdef: The structure of `(args, kwargs, held)`.
        leaves: Its values.
        groups: The lists that values are put into.
        split_result: Takes what the function returns, returns what is not flattened
            and the rest; by default nothing and all of it.
        compare: Whether to find out if the objects are as they were, but for values.
    """
    fresh = [leaf.copy() if isinstance(leaf, Variable) else leaf for leaf in leaves]
    roots = args, kwargs, held = unflatten_graph(graphdef._code, fresh)
    before = flatten_graph(roots)
    owners = [*map(unlink, before.first)]
    of_call = groups.of_call(roots)
    outermost = outermost_of(owners)
    watched = numbered(before.tracked, outermost if compare else [])
    values_before = [*map(bare, watched.leaves)]
    result = call(held, *args, **kwargs)
    alone, result = (None, result) if split_result is None else split_result(result)
    of_result = groups.of_result(result)
    after = _take_again(before.tracked, outermost, result)
    known = {id(obj): number for number, obj in enumerate(before.tracked)}
    everything = (*roots, result)
    place_of = placing(owners)
    _refuse_captured(after, known, lambda path: named(place_of(path), everything))
    paths = [*map(place_of, map(unlink, after.links))]
    objects = {*map(place_of, map(unlink, after.first))}
    numbers = groups.numbers(
        after, paths, objects, lambda path: of_result if path[0] == RESULT else of_call
    )
    count = len(groups.inputs) + len(groups.outputs)
    links = _links(known, after.tracked)
    start = _start_of_result(watched, after) if compare else None
    is_same = all(map(is_, values_before, map(bare, after.leaves)))
    untouched = start if is_same else None
    graphdef = GraphDef(tuple(after.code))
    outline = Outline(graphdef, links, tuple(numbers), untouched)
    values = in_lists(after.leaves, numbers, count)
    name = _teller(owners, before, after, in_lists(after.links, numbers, count))
    return Ran(alone, outline, values, name, before, after, start)


def placing(owners: list[Path]) -> Callable[[Path], Path]:
    """Return what makes paths in a call, or its result, of paths in what came out.

    Args:
        owners: The paths of the objects that went in, by number.
    """

    def place_of(path: Path) -> Path:
        kind, *rest = path
        return (RESULT, *rest) if kind == 1 else (*owners[rest[0]], *rest[1:])

    return place_of


# -------------------------------------------------------------------- keys in a graph


def keys_at(path: Path, codes: Iterable[Iterable[Entry]]) -> tuple[Any, ...]:
    """Return the keys on the way to a place, from the first code that has it."""
    found = (
        keys for code in codes for known, _, keys in entries_of(code) if known == path
    )
    return next(found, ())


def entries_of(
    code: Iterable[Entry],
) -> Iterator[tuple[Path, Entry, tuple[Any, ...]]]:
    """Yield the entries of a code with their paths and keys."""
    stack: list[tuple[Path, tuple[Any, ...], list[tuple[Any, Any]]]] = []
    for entry in code:
        tag, rule, number, aux = entry
        path: Path = ()
        keys: tuple[Any, ...] = ()
        if stack:
            above, keys_above, rest = stack[-1]
            part, key = rest.pop()
            path, keys = (*above, part), (*keys_above, key)
        yield path, entry, keys
        if tag in (NODE, TREE):
            pairs = zip(keys_of(rule, aux, number), rule.keys(aux, number), strict=True)
            stack.append((path, keys, [*pairs][::-1]))
        while stack and not stack[-1][2]:
            stack.pop()


def _teller(
    owners: list[Path], before: FlatGraph, after: FlatGraph, links: list[list[Any]]
) -> Callable[[int, int], str]:
    """Return what says in words where a value stands; it holds no values.

    Args:
        owners: The paths of the objects that went in, by number.
        before: What went in.
        after: What came out.
        links: Where the values that came out stand, in lists.
    """
    code_before, code_after = before.code, after.code

    def name(number: int, position: int) -> str:
        path = unlink(links[number][position])
        keys = keys_at(path, [code_after])
        if path[0] == 1:
            return _with_keys(named((RESULT,)), keys[1:])
        owner = owners[path[1]]
        depth = 2 if owner[0] in (ARGS, KWARGS) else 1
        above = keys_at(owner, [code_before])[depth:]
        return _with_keys(named(owner[:depth]), above + keys[2:])

    return name


def _with_keys(where: str, keys: tuple[Any, ...]) -> str:
    return f"{where} at {KeyPath(keys)}" if keys else where


# ------------------------------------------------------------------- what came out


def _links(known: dict[int, int], tracked: list[Any]) -> tuple[tuple[int, int], ...]:
    """Return which objects are known by which numbers, by their own."""
    return tuple(
        (number, known[id(obj)])
        for number, obj in enumerate(tracked)
        if id(obj) in known
    )


def in_lists(values: Iterable[T], numbers: Iterable[int], count: int) -> list[list[T]]:
    """Return values in lists, by the number of the list that each is put into."""
    lists: list[list[T]] = [[] for _ in range(count)]
    for number, value in zip(numbers, values, strict=True):
        lists[number].append(value)
    return lists


def outermost_of(paths: list[Path]) -> list[int]:
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
    flat = numbered(tracked, roots, result)
    reached = {*map(id, flat.tracked)}
    lost = [number for number, obj in enumerate(tracked) if id(obj) not in reached]
    if not lost:
        return flat
    return numbered(tracked, [*roots, *lost], result)


def numbered(
    tracked: Sequence[Any], roots: Iterable[int], result: Any = None
) -> FlatGraph:
    """Take some objects, by number, and a result apart, together."""
    return flatten_graph(({number: tracked[number] for number in roots}, result))


def _start_of_result(before: FlatGraph, after: FlatGraph) -> int | None:
    """Return where the result begins in a code; None if what is before it changed.

    Values may have changed, and nothing else: no object stands in another place, has
    another attribute or another static value, not even an equal one.
    """
    start = len(before.code) - 1
    is_same = all(map(is_, before.tracked, after.tracked)) and all(
        map(identical_entry, before.code[:start], after.code)
    )
    return start if is_same else None


def _refuse_captured(
    flat: FlatGraph, known: dict[int, int], name_of: Callable[[Path], str]
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
                f"the {class_name(type(obj))} in {name_of(unlink(link))} is captured: "
                "it was made outside of the function that is being traced (by jit, "
                "grad, vmap, ...), and the function could only return a copy of it.\n"
                "Do one of these:\n"
                "  1. pass the object to the function as an argument\n"
                "  2. return its values, or a copy: leafwise.nn.clone(...)"
            )


def check_levels(objects: Iterable[Any]) -> None:
    """Refuse to write to objects at another level of tracing than they were made at.

    Those of the level outside of all transforms have the very same stamp afterwards.

    Raises:
        TraceError: One was; none is written to then.
    """
    if levels.token is None:
        return
    level, base = levels.token(), levels.base
    is_outside = level == base
    for obj in objects:
        stamp = getattr(obj, "_leafwise_stamp", None)
        if stamp is base and is_outside:
            continue
        if (base if stamp is None else stamp) != level:
            check_level(obj, "")
        elif is_outside:
            object.__setattr__(obj, "_leafwise_stamp", base)


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
    if outline.start is not None and tracked:  # nothing is to be written
        code = outline.graphdef._code[outline.start :]
        count = GraphDef(code).num_leaves
        rest = leaves[len(leaves) - count :]
        return unflatten_graph(code, rest, tracked=[*tracked])
    links = outline.links if tracked else ()
    reuse = {number: tracked[old] for number, old in links}
    check_levels(reuse.values())
    return unflatten_graph(outline.graphdef._code, leaves, reuse=reuse)[1]


def share(
    transform: Callable[[Callable[..., Any]], Callable[..., Any]],
) -> Callable[[Callable[P, Any]], Callable[P, Any]]:
    """Make a transform keep shared references and write changes back to objects.

    Args:
        transform: Takes a function of trees and returns one, such as `jax.jit`. It
            receives structures as nodes without leaves, so it has to know the classes
            of leafwise, as jax does.

    Returns:
        A decorator. The decorated function receives objects with their shared
        references intact. After it returns, its changes are applied to your objects. If
        it raises, nothing is changed.

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

    Modelled on the transforms of Flax NNX.
    """

    def decorate(function: Callable[P, Any]) -> Callable[P, Any]:
        call, held = unbind(function)

        def pure(graphdef: GraphDef, leaves: list[Any]) -> Any:
            ran = run(call, graphdef, leaves, compare=True)
            return ran.outline, ran.values

        transformed = transform(pure)

        @dressed(function)
        def shared(*args: Any, **kwargs: Any) -> Any:
            flat = flatten_graph((args, kwargs, held))
            graphdef = GraphDef(tuple(flat.code))
            return put_back(transformed(graphdef, flat.leaves), flat)

        return shared

    return decorate


install(Outline, StaticRule, bridge=True, where=__name__.partition(".")[0])

"""Calls of functions on copies of objects: the protocol of all transforms.

A transform sees a graph of objects as a `GraphDef` without leaves and a list of values.
Inside, `call_on_copies` rebuilds the objects, calls the function, flattens everything
again and returns what changed. A value that the function did not change is not
returned but taken from what went in. Outside, `put_back` writes the changes into
the caller's objects, after everything has gone well. Objects in bound methods and
partials are arguments like others. Knows no framework.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from operator import is_
from types import FunctionType, MethodType
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar

from ..._hooks import hooks
from ..._text import safe_repr, typed_repr
from ...core.register import ComparableStaticNodeType
from ...core.registry import install
from ...errors import TraceError
from ..checks import DataNode, check_level, find_data, set_stamp, stamp_of
from ..flatgraph import (
    FlatGraph,
    GraphDef,
    are_identical,
    children_of,
    count_leaves,
    flatten_graph,
    structure_in,
    unflatten_graph,
)
from ..graph import clone
from ..pytree import Pytree
from ..spec import spec_of
from ..variables import Variable, bare, set_raw_value


__all__ = ["pure"]

P = ParamSpec("P")
R = TypeVar("R")
Call: TypeAlias = Callable[..., Any]
Path: TypeAlias = tuple[Any, ...]
Roots: TypeAlias = tuple[tuple[Any, ...], dict[str, Any], Any]

ARGS: Final = 0
KWARGS: Final = 1
BOUND: Final = 2
RESULT: Final = 3
"""What a path begins with: before a position, a name, and what is in the object that
the function is bound to, and in the result."""


def place_name(path: Path) -> str:
    """Return in words where a value stands.

    Example:
        >>> from leafwise.nn.transforms.calls import place_name
        >>> place_name((0, 1, "k"))
        "argument 1 at ('k',)"
    """
    root, *parts = path
    if root == ARGS:
        name = f"argument {parts.pop(0)}" if parts else "argument "
    elif root == KWARGS:
        name = f"keyword {parts.pop(0)}" if parts else "keyword "
    elif root == BOUND:
        name = "the object that the function is bound to"
    else:
        name = "the result"
    return f"{name} at {tuple(parts)}" if parts else name


# --------------------------------------------------------------- functions and objects


def has_objects(value: Any) -> bool:
    """Return whether a value is, or contains, objects or variables."""
    return bool(flatten_graph([value]).tracked)


def wraps(function: Call) -> Callable[[Call], Call]:
    """Return a decorator that makes a function look like another one."""
    if not callable(function):
        raise TypeError(f"a transform takes a function, got {typed_repr(function)}")
    updated = ("__dict__",) if isinstance(function, FunctionType) else ()
    return functools.wraps(function, updated=updated)


def check_options(name: str, options: Mapping[str, Any], option_types: Any) -> None:
    """Refuse options that a transform does not have, as Python does.

    Raises:
        TypeError: There is one.
    """
    for option in options:
        if option not in option_types.__annotations__:
            raise TypeError(
                f"{name}() got an unexpected keyword argument {option!r}; its options "
                f"are {', '.join(option_types.__annotations__)}"
            )


def with_value(leaf: Any, value: Any) -> Any:
    """Return a gradient or an axis; in a variable if the leaf is one."""
    return leaf.replace(value) if isinstance(leaf, Variable) else value


# ------------------------------------------------------------------ bound functions


def unbind(function: Call) -> tuple[Call, Any]:
    """Take the objects out of a bound method, a partial, or an object to be called.

    Args:
        function: Any function.

    Returns:
        A function that takes, before the arguments, what was taken out, and that.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.nn.transforms.calls import unbind
        >>> items = lw.nn.List([1])
        >>> function, bound = unbind(items.append)
        >>> bound is items, function(bound, 2), [*items]
        (True, None, [1, 2])
    """
    if isinstance(function, MethodType) and has_objects(function.__self__):
        return function.__func__, function.__self__
    if isinstance(function, functools.partial):
        return _unbind_partial(function)
    if isinstance(function, DataNode):
        return lambda bound, *args, **kwargs: bound(*args, **kwargs), function
    return lambda _held, *args, **kwargs: function(*args, **kwargs), None


def _unbind_partial(function: functools.partial[Any]) -> tuple[Call, Any]:
    inner, inner_bound = unbind(function.func)
    pairs: list[Any] = list(enumerate(function.args))
    pairs += function.keywords.items()
    names = [name for name, value in pairs if has_objects(value)]
    arguments: dict[Any, Any] = dict(pairs)
    count = len(function.args)

    def call(bound: Any, *args: Any, **kwargs: Any) -> Any:
        filled = arguments | dict(zip(names, bound[1], strict=True))
        positional = [filled.pop(index) for index in range(count)]
        return inner(bound[0], *positional, *args, **{**filled, **kwargs})

    return call, (inner_bound, [arguments[name] for name in names])


def pure(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that works on copies of its arguments.

    The caller sees changes to objects, variables, lists, dicts and NumPy arrays only in
    the result. References shared among the arguments are kept in the copies. A module
    that is called is copied as well, and so are the object that a method is bound to
    and the objects in a `functools.partial`. Other values, such as instances of classes
    that are not nodes, are not copied.

    Args:
        function: A function, a method, or a callable module.

    Raises:
        TypeError: `function` is not callable.

    Example:
        >>> from leafwise import nn
        >>> class Counter(nn.Module):
        ...     def __init__(self):
        ...         self.register_state("count", 0)
        ...     def step(self, by):
        ...         self.count += by
        ...         return self
        >>> counter = Counter()
        >>> nn.pure(counter.step)(3).count, counter.count
        (3, 0)

    Modelled on `pax.pure`.
    """
    call, bound = unbind(function)

    @wraps(function)
    def on_copies(*args: P.args, **kwargs: P.kwargs) -> R:
        copies = clone((bound, args, kwargs))
        result: R = call(copies[0], *copies[1], **copies[2])
        return result

    return on_copies


# -------------------------------------------------------------- calling on copies


Store = tuple[int, Any, int]
"""A value to be written: the index of the object, the name of the entry (None for a
variable), and the source of the new value."""


@dataclasses.dataclass(frozen=True)
class Changes:
    """The changes of a function to its arguments, and the structure of its result.

    A node without leaves. The values are apart: a source is the index of a value among
    those that came out, or `~index` of one that went in.

    Attributes:
        graphdef: The structure of a pair: the objects that went in, and the result.
        links: Pairs of indexes: of an object in the graph, and of the one that went in.
        sources: The source of each value of the graph.
        stores: The values to be written, if nothing else has changed; None if the
            objects have to be filled anew.
    """

    graphdef: GraphDef
    links: tuple[tuple[int, int], ...]
    sources: tuple[int, ...]
    stores: tuple[Store, ...] | None


class Groups:
    """The lists that the values of a call are put into; here one for all.

    Attributes:
        count: The number of lists.
    """

    count = 1

    def of_call(self, roots: Any, /) -> Callable[[Path], int]:
        """Return which list each value of a call is put into, by its path."""
        return lambda _path: 0

    of_result = of_call


ONE_GROUP: Final = Groups()

Named = OrderedDict[tuple[int, str], Any]
"""A list of values that came out, each with a number and its name, for jax's errors."""

Keep = Callable[[int, int], bool]
"""Takes the index of a value that went in and the index of the list that it would be
put into, and returns whether the value may stay in the caller's hands."""


def call_on_copies(
    call: Call,
    graphdef: GraphDef,
    values: Sequence[Any],
    *,
    keep: Keep,
    groups: Groups = ONE_GROUP,
    split_result: Callable[[Any], tuple[Any, Any]] | None = None,
) -> tuple[Any, Changes, list[Named]]:
    """Call a function on objects that are rebuilt for it.

    Args:
        call: The function; it takes what it is bound to before the arguments.
        graphdef: The structure of `(args, kwargs, bound)`.
        values: Its values, without variables.
        keep: Says which values that were not changed need not come out.
        groups: The lists that values are put into.
        split_result: Takes what the function returns, and returns what is not
            flattened, and the rest; by default None and all of it.

    Returns:
        What is not flattened, the changes, and the values that came out, in lists.

    Raises:
        TraceError: The function returns an object that is captured, or leaves a
            traced value in something static.
    """
    roots: Roots = unflatten_graph(structure_in(graphdef), values, are_bare=True)
    args, kwargs, bound = roots
    before = flatten_graph(roots, traced=True)
    watched = flatten_graph((before.tracked, None), traced=True)
    list_of_call = groups.of_call(roots)

    result = call(bound, *args, **kwargs)

    unflattened = None
    if split_result is not None:
        unflattened, result = split_result(result)
    list_of_result = groups.of_result(result)
    after = flatten_graph((before.tracked, result), traced=True)

    def call_path(path: Path) -> Path:
        """Return the path in the arguments, or in the result."""
        is_result, *parts = path
        if is_result:
            return (RESULT, *parts)
        return (*before.first[parts[0]], *parts[1:])

    indexes = {id(obj): index for index, obj in enumerate(before.tracked)}
    _refuse_leaks(after, indexes, lambda path: place_name(call_path(path)))
    paths = list(map(call_path, after.paths))
    lists_of = [
        (list_of_result if path[0] == RESULT else list_of_call)(path) for path in paths
    ]
    objects_before, _ = children_of(watched.structure)
    objects_after, _ = children_of(after.structure)
    is_same = all(map(is_, watched.tracked, after.tracked)) and are_identical(
        objects_before, objects_after
    )
    lists: list[Named] = [OrderedDict() for _ in range(groups.count)]
    inputs: list[int | None] = []
    for index, leaf, path, number in zip(
        _unchanged(values, before, after), after.leaves, paths, lists_of, strict=True
    ):
        is_kept = index is not None and keep(index, number)
        inputs.append(index if is_kept else None)
        if not is_kept:
            lists[number][len(inputs), place_name(path)] = bare(leaf)
    # The values that come out are numbered through all lists, one after the other.
    positions = list(accumulate(map(len, lists), initial=0))
    sources: list[int] = []
    for index, number in zip(inputs, lists_of, strict=True):
        if index is None:
            sources.append(positions[number])
            positions[number] += 1
        else:
            sources.append(~index)
    links = tuple(
        (index, indexes[id(obj)])
        for index, obj in enumerate(after.tracked)
        if id(obj) in indexes
    )
    is_same = is_same and all(map(_is_writable, before.tracked))
    stores = _stores(after, sources, indexes) if is_same else None
    graphdef = GraphDef(after.structure)
    changes = Changes(graphdef, links, tuple(sources), stores)
    return unflattened, changes, lists


def _refuse_leaks(
    flat: FlatGraph,
    indexes: dict[int, int],
    name_of: Callable[[Any], str],
) -> None:
    """Refuse objects from outside that are no arguments, and static traced values.

    Raises:
        TraceError: There is one; only a copy, or a tracer, could come back.
    """
    if hooks.trace_level is None:
        return
    level = hooks.trace_level()
    for obj, path, statics in zip(flat.tracked, flat.first, flat.statics, strict=True):
        kind = type(obj).__qualname__
        if id(obj) not in indexes and stamp_of(obj) != level:
            raise TraceError(
                f"the {kind} in {name_of(path)} is captured: "
                "it was made outside of the function that is being traced (by jit, "
                "grad, vmap, ...), and the function could only return a copy of it.\n"
                "Do one of these:\n"
                "  1. pass the object to the function as an argument\n"
                "  2. return its values, or a copy: leafwise.nn.clone(...)"
            )
        for name, value in statics:
            tracer = sys.modules["jax"].core.Tracer
            if any(isinstance(data.value, tracer) for data in find_data(value)):
                raise TraceError(
                    f"{safe_repr(name)} of the {kind} in {name_of(path)} is static, or "
                    "metadata, and holds a value that is being traced. Return the "
                    "value, or store it in a variable or another attribute"
                )


def _locations(graph: FlatGraph) -> list[Any]:
    """Return where each value is: the id of its variable, or of its object and the key.

    The ids are those of objects that the graph holds.
    """
    return [
        id(leaf) if isinstance(leaf, Variable) else (id(holder), path[-1:])
        for leaf, path, holder in zip(
            graph.leaves, graph.paths, graph.holders, strict=True
        )
    ]


def _unchanged(
    values: Sequence[Any], before: FlatGraph, after: FlatGraph
) -> list[int | None]:
    """Return for each value the index of the one that went in and is still there.

    One that moved is not kept: an array in two places could not be donated afterwards.
    """
    index_at = {location: index for index, location in enumerate(_locations(before))}
    indexes = [index_at.get(location) for location in _locations(after)]
    return [
        index if index is not None and values[index] is bare(leaf) else None
        for index, leaf in zip(indexes, after.leaves, strict=True)
    ]


def _stores(
    after: FlatGraph, sources: list[int], indexes: dict[int, int]
) -> tuple[Store, ...] | None:
    """Return the values to be written; None if objects have to be filled anew."""
    stores: list[Store] = []
    for leaf, path, holder, source in zip(
        after.leaves, after.paths, after.holders, sources, strict=True
    ):
        if path[0] == 1 or source < 0:
            continue
        if isinstance(leaf, Variable):
            stores.append((indexes[id(leaf)], None, source))
        elif id(holder) in indexes:
            name = spec_of(holder).entry_name(holder, path[-1])
            stores.append((indexes[id(holder)], name, source))
        else:
            return None
    return tuple(stores)


def _is_writable(obj: Any) -> bool:
    """Return whether values can be written into an object one by one."""
    if isinstance(obj, Variable):
        return type(obj).update_from_state is Variable.update_from_state
    if not isinstance(obj, Pytree):
        return False
    spec = spec_of(obj)
    return spec.pytree and not spec.hidden


# ------------------------------------------------------------------- putting back


def check_levels(objects: Iterable[Any]) -> None:
    """Refuse to write to objects at another level of tracing than they were made at.

    Those of the level outside of all transforms have the very same stamp afterwards.

    Raises:
        TraceError: One was; none is written to then.
    """
    if hooks.trace_level is None:
        return
    level = hooks.trace_level()
    base = hooks.outer_level
    is_outside = level == base
    for obj in objects:
        stamp = stamp_of(obj)
        if stamp is base and is_outside:
            continue
        if stamp != level:
            check_level(obj, "")
        elif is_outside:
            set_stamp(obj, base)


def put_back(
    changes: Changes,
    lists: Iterable[Mapping[Any, Any]],
    inputs: Any,
    tracked: Sequence[Any],
) -> Any:
    """Write what changed into the caller's objects, and return the result.

    Args:
        changes: The changes.
        lists: The values that came out.
        inputs: The values that went in, by index.
        tracked: The caller's objects, by index; if empty, the result has new objects.

    Raises:
        TraceError: An object is of another level of tracing; nothing is written then.
    """
    outputs = [value for named in lists for value in named.values()]
    structure = structure_in(changes.graphdef)
    sources = changes.sources
    if changes.stores is None or not tracked:
        reuse = {index: tracked[old] for index, old in changes.links if tracked}
        check_levels(reuse.values())
        values = [_at(source, outputs, inputs) for source in sources]
        _, result = unflatten_graph(structure, values, are_bare=True, reuse=reuse)
        return result
    if changes.stores:
        check_levels([tracked[index] for index, _, _ in changes.stores])
    for index, name, source in changes.stores:
        value = _at(source, outputs, inputs)
        if name is None:
            set_raw_value(tracked[index], value)
        else:
            vars(tracked[index])[name] = value
    _, result_structure = children_of(structure)
    first = len(sources) - count_leaves(result_structure)
    values = [_at(source, outputs, inputs) for source in sources[first:]]
    return unflatten_graph(
        result_structure, values, are_bare=True, tracked=list(tracked)
    )


def _at(source: int, outputs: Sequence[Any], inputs: Any) -> Any:
    return outputs[source] if source >= 0 else inputs[~source]


install(
    Changes, ComparableStaticNodeType, bridge=True, where=__name__.partition(".")[0]
)

"""Calls of functions on copies of objects: the protocol of all transforms.

A transform sees a graph of objects as a `GraphDef` without leaves and a list of values.
Inside, `call_on_copies` rebuilds the objects, calls the function, flattens everything
again and returns what changed. A value that the function did not change is not
returned but taken from what went in. Outside, `put_back` writes the changes into
the caller's objects, after everything has gone well. Knows no framework.
"""

from __future__ import annotations

import dataclasses
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from operator import is_
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar

from ..._hooks import hooks
from ..._text import safe_repr
from ...core.keys import GetAttrKey
from ...core.node import NodeType
from ...core.register import ComparableStaticNodeType
from ...core.registry import install
from ...equality import exact
from ...errors import TraceError
from ..checks import check_level, find_data, set_stamp, stamp_of
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
from .functions import (
    ARGS,
    KWARGS,
    RESULT,
    Path,
    UserFunction,
    path_text,
    unbind,
    wraps,
)


__all__ = ["pure"]

P = ParamSpec("P")
R = TypeVar("R")
Roots: TypeAlias = tuple[tuple[Any, ...], dict[str, Any], Any]
Static: TypeAlias = dict[Path, Any]


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


def put_static(
    static: Static, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Put static arguments, which were taken out, back into a call."""
    return (
        tuple(static.get((ARGS, n), value) for n, value in enumerate(args)),
        {name: static.get((KWARGS, name), value) for name, value in kwargs.items()},
    )


class CallKey:
    """The static part of a call: what decides whether jax compiles again.

    Attributes:
        function: The function, which names the values; it is not compared.
        graphdef: The structure of `(args, kwargs, bound)`.
        donated: The indexes of the values that are donated.
        static: The static arguments, by place.
        whole: Whether all values come out, also those that are as they were.
    """

    __slots__ = ("_hash", "donated", "function", "graphdef", "static", "whole")

    def __init__(
        self,
        function: UserFunction,
        graphdef: GraphDef[Any],
        donated: tuple[int, ...] = (),
        static: Static | None = None,
        whole: bool = False,
    ) -> None:
        self.function: UserFunction = function
        self.graphdef: GraphDef[Any] = graphdef
        self.donated: tuple[int, ...] = donated
        self.static: Static = static or {}
        self.whole: bool = whole
        self._hash: int | None = None

    def __eq__(self, other: object) -> bool:
        if type(other) is not CallKey:
            return NotImplemented
        if self is other:
            return True
        return (
            self.graphdef == other.graphdef
            and self.donated == other.donated
            and self.whole == other.whole
            and exact.same(self.static, other.static, typed=True)
        )

    def __hash__(self) -> int:
        if self._hash is None:
            digest = exact.digest(self.static, typed=True)
            self._hash = hash((self.graphdef, self.donated, self.whole, digest))
        return self._hash

    def names(self, is_donated: bool) -> list[GetAttrKey]:
        """Return keys for the values, by which jax's messages name them."""
        structure = structure_in(self.graphdef)
        donated = set(self.donated)
        return [
            GetAttrKey(self.function.place_name(path, structure))
            for index, path in enumerate(self.graphdef.paths)
            if (index in donated) is is_donated
        ]


class CallValues:
    """The values of a call with its static part: a node that jax flattens.

    Attributes:
        key: The static part.
        is_donated: Whether these are the values that are donated, or the others.
        values: The values.
    """

    __slots__ = ("is_donated", "key", "values")

    def __init__(self, key: CallKey, is_donated: bool, values: Any) -> None:
        self.key: CallKey = key
        self.is_donated: bool = is_donated
        self.values: Any = values


class _CallValuesNodeType(NodeType):
    """The node type of `CallValues`."""

    aux_compares_itself = True

    def flatten(self, node: CallValues) -> tuple[Sequence[Any], Any]:
        return node.values, (node.key, node.is_donated)

    def unflatten(self, aux: Any, children: Any) -> CallValues:
        key, is_donated = aux
        return CallValues(key, is_donated, children)

    def keys(self, aux: Any, _arity: int) -> Sequence[Any]:
        key, is_donated = aux
        names: Sequence[Any] = key.names(is_donated)
        return names


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
    function: UserFunction,
    graphdef: GraphDef,
    values: Sequence[Any],
    *,
    keep: Keep,
    groups: Groups = ONE_GROUP,
    static: Static | None = None,
    split_result: Callable[[Any], tuple[Any, Any]] | None = None,
) -> tuple[Any, Changes, list[Named]]:
    """Call a function on objects that are rebuilt for it.

    Args:
        function: The function.
        graphdef: The structure of `(args, kwargs, bound)`.
        values: Its values, without variables.
        keep: Says which values that were not changed need not come out.
        groups: The lists that values are put into.
        static: Arguments that are not in the graph.
        split_result: Takes what the function returns, and returns what is not
            flattened, and the rest; by default None and all of it.

    Returns:
        What is not flattened, the changes, and the values that came out, in lists.

    Raises:
        TraceError: The function returns an object that is captured, or leaves a
            traced value in something static.
    """
    structure = structure_in(graphdef)
    roots: Roots = unflatten_graph(structure, values, are_bare=True)
    args, kwargs, bound = roots
    before = flatten_graph(roots, traced=True)
    # in the form of `after` below, with which it is compared
    watched = flatten_graph((before.tracked, None), traced=True)
    list_of_call = groups.of_call(roots)

    if static:
        args, kwargs = put_static(static, args, kwargs)
    result = function.call(bound, *args, **kwargs)

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

    objects_after, result_after = children_of(after.structure)

    def name_of(path: Path) -> str:
        """Return the name of a place in the arguments, or in the result."""
        is_result, *parts = path
        if is_result:
            return f"the result{path_text(parts, result_after)}"
        number, *parts = parts
        name = function.place_name(before.first[number], structure)
        return name + path_text(parts, children_of(objects_after)[number])

    indexes = {id(obj): index for index, obj in enumerate(before.tracked)}
    _refuse_leaks(after, indexes, name_of)
    numbers = []
    for path in map(call_path, after.paths):
        list_of = list_of_result if path[0] == RESULT else list_of_call
        numbers.append(list_of(path))
    kept = [
        index if index is not None and keep(index, number) else None
        for index, number in zip(
            _unchanged(values, before, after), numbers, strict=True
        )
    ]
    lists = _lists_of_outputs(after, kept, numbers, groups.count, name_of)
    sources = _sources(kept, numbers, lists)
    links = tuple(
        (index, indexes[id(obj)])
        for index, obj in enumerate(after.tracked)
        if id(obj) in indexes
    )
    stores = None
    if _is_same_graph(watched, after) and all(map(_is_writable, before.tracked)):
        stores = _stores(after, sources, indexes)
    changes = Changes(GraphDef(after.structure), links, tuple(sources), stores)
    return unflattened, changes, lists


def _lists_of_outputs(
    after: FlatGraph,
    kept: list[int | None],
    numbers: list[int],
    count: int,
    name_of: Callable[[Path], str],
) -> list[Named]:
    """Put the values that come out into lists.

    Args:
        after: The objects and the result after the call.
        kept: For each value, its index among those that went in; None if it comes out.
        numbers: For each value, the number of its list.
        count: How many lists there are.
        name_of: Takes a path, and returns the name of the place.
    """
    lists: list[Named] = [OrderedDict() for _ in range(count)]
    rows = zip(kept, numbers, after.paths, after.leaves, strict=True)
    for place, (index, number, path, leaf) in enumerate(rows):
        if index is None:
            # The place makes the key unique: two values may have one name.
            lists[number][place, name_of(path)] = bare(leaf)
    return lists


def _sources(
    kept: list[int | None], numbers: list[int], lists: list[Named]
) -> list[int]:
    """Return the source of each value, see `Changes`."""
    # The values that come out are numbered through all lists, one after the other.
    positions = list(accumulate(map(len, lists), initial=0))
    sources = []
    for index, number in zip(kept, numbers, strict=True):
        if index is None:
            sources.append(positions[number])
            positions[number] += 1
        else:
            sources.append(~index)
    return sources


def _is_same_graph(before: FlatGraph, after: FlatGraph) -> bool:
    """Return whether a call left the structure of its arguments as it was.

    Args:
        before: The objects, and None.
        after: The objects, and the result.
    """
    objects_before, _ = children_of(before.structure)
    objects_after, _ = children_of(after.structure)
    # An object in another one's place makes an equal structure. What is only in the
    # result comes after those of the arguments, so `map` may end before it.
    is_same = all(map(is_, before.tracked, after.tracked))
    return is_same and are_identical(objects_before, objects_after)


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


_PACKAGE: Final = __name__.partition(".")[0]
install(Changes, ComparableStaticNodeType, bridge=True, where=_PACKAGE)
install(CallValues, _CallValuesNodeType, bridge=True, where=_PACKAGE)

"""Dispatch: how the calls of a function that jax compiles are split, and written back.

Into the compiled function go the structure of the arguments, which is static, and bare
values; out come the values that the function made. A value that it left as it was, or
only moved, is not returned but taken from what went in, so it is never copied. Where
nothing but values changed, only these are written into the caller's objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias

from ..core.register import StaticRule
from ..core.registry import install
from ..core.walk import unlink
from ..equality import exact
from ..nn.containers import Container
from ..nn.graph import (
    LEAF,
    VARIABLE,
    Entry,
    FlatGraph,
    GraphDef,
    flatten_graph,
    unflatten_graph,
)
from ..nn.pytree import Pytree
from ..nn.spec import picker
from ..nn.template import Templates
from ..nn.variables import Variable, make_variable
from ..safely import clip
from .options import ARGS, KWARGS, Call, Groups, Roots, Which, named
from .sharing import (
    Ran,
    bare,
    check_levels,
    has_objects,
    in_lists,
    run,
    titled,
    unbind,
)


__all__ = [
    "Dispatch",
    "Outcome",
    "Taken",
    "boxed",
    "chosen",
    "homes",
    "rebuild",
    "standings",
    "stores_of",
    "write_back",
]

Static: TypeAlias = "dict[tuple[Any, ...], Any]"
Store: TypeAlias = tuple[int, str, Any, int]
"""The number of an object, the attribute that holds its values, the name, position or
key of one of them, None for that of a variable; and the source of the new value."""

_ITEMS: Final = "_leafwise_items"
_set_value: Final[Callable[[Any, Any], None]] = vars(Variable)[
    "_leafwise_value"
].__set__


# ---------------------------------------------------------------- static arguments


class Fixed:
    """What a compiled function depends on beside structures; a node without leaves.

    Attributes:
        order: For each value, the number of the list that it is in; None for one list.
        static: The static arguments, by place.
        whole: Whether all values come out, also those that are as they were.
    """

    __slots__ = ("order", "static", "whole")

    def __init__(
        self, order: tuple[int, ...] | None, static: Static, whole: bool
    ) -> None:
        self.order = order
        self.static = static
        self.whole = whole

    def __eq__(self, other: object) -> bool:
        if type(other) is not Fixed:
            return NotImplemented
        return self is other or (
            self.order == other.order
            and self.whole == other.whole
            and exact.same(self.static, other.static, typed=True)
        )

    def __hash__(self) -> int:
        return hash((self.order, self.whole, exact.digest(self.static, typed=True)))


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
            f"objects ({clip(value)}). Pass it as an ordinary argument; its static "
            "fields stay static"
        )


Lists: TypeAlias = tuple[
    tuple[int, ...] | None, Callable[[Sequence[Any]], Iterable[Any]], Fixed | None
]
"""For each value, the number of the list that it is put into, None for one list; what
puts values into the lists; and what says so to the compiled function."""


# ------------------------------------------------------- what goes in, what comes out


class Taken(NamedTuple):
    """What a call was flattened into.

    Attributes:
        tracked: The objects and variables, by number.
        values: The values, without variables around them.
        is_checked: Whether the objects are known to be of the level of the call.
    """

    tracked: Sequence[Any]
    values: Sequence[Any]
    is_checked: bool


class Outcome:
    """What came out of a compiled function, without the values; a node without leaves.

    A source says where a value is: its number among those that came out, or `~n` for
    the n-th of those that went in.

    Attributes:
        graphdef: The structure of what went in and of what came out, together.
        links: Which objects of it are which of those that went in, by number.
        sources: The source of each value.
        stores: What is to be written, if nothing else has changed in the objects; None
            if something has.
        start: Where in the code of the structure the result begins then.
        kept: Takes the values that went in, returns those that are in the outcome.
        result: The code of the result, and the sources of its values.
    """

    __slots__ = ("graphdef", "kept", "links", "result", "sources", "start", "stores")

    def __init__(
        self,
        graphdef: GraphDef,
        links: tuple[tuple[int, int], ...],
        sources: tuple[int, ...],
        stores: tuple[Store, ...] | None,
        start: int,
    ) -> None:
        self.graphdef = graphdef
        self.links = links
        self.sources = sources
        self.stores = stores
        self.start = start
        kept = dict.fromkeys(~source for source in sources if source < 0)
        self.kept: Callable[[Sequence[Any]], tuple[Any, ...]] = picker(kept)
        code = graphdef._code[start:]
        count = sum(tag in (LEAF, VARIABLE) for tag, *_ in code)
        self.result = code, sources[len(sources) - count :]

    def _fields(self) -> tuple[Any, ...]:
        return self.graphdef, self.links, self.sources, self.stores, self.start

    def __eq__(self, other: object) -> bool:
        if type(other) is not Outcome:
            return NotImplemented
        return self is other or self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self._fields())


class Dispatch:
    """How the calls of a function are split for jax, and unflattened inside.

    Args:
        jax: The module.
        function: The function.
        static: The arguments that are static.
        donated: The arguments that are donated.
        groups: The lists that values are put into, by their shardings.
        keep: Whether values that the function leaves alone may stay what they are;
            those that are donated or placed somewhere never do.
    """

    __slots__ = (
        "call",
        "donated",
        "groups",
        "held",
        "is_sharded",
        "jax",
        "kept_groups",
        "static",
        "templates",
    )

    def __init__(
        self,
        jax: Any,
        function: Call,
        static: Which,
        donated: Which,
        groups: Groups,
        *,
        keep: bool,
    ) -> None:
        self.jax = jax
        self.call, self.held = unbind(function)
        self.static = static
        self.donated = donated
        self.groups = groups
        self.templates = Templates()
        self.is_sharded = any(leaf is not None for leaf in groups.inputs)
        self.kept_groups = {
            number for number, leaf in enumerate(groups.inputs) if keep and leaf is None
        }

    def options(self) -> dict[str, Any]:
        """Return the options of `jax.jit` for `run`, by what `split` returns."""
        inputs = self.groups.inputs
        found: dict[str, Any] = {}
        if self.donated:
            found["donate_argnums"] = range(2 + len(inputs), 2 + 2 * len(inputs))
        if self.is_sharded:
            found["in_shardings"] = (None, None, *inputs, *inputs)
        outputs = [*inputs, *self.groups.outputs]
        if any(leaf is not None for leaf in outputs):
            found["out_shardings"] = (None, outputs)
        return found

    def inside(self, function: Call) -> Call:
        """Return `run` under the name of a function, which jax shows in its logs."""

        def inside(*inputs: Any) -> Any:
            return self.run(*inputs)

        return titled(inside, function)

    # -------------------------------------------------------------------- before

    def split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], *, whole: bool = False
    ) -> tuple[Taken, tuple[Any, ...]]:
        """Return what a call was flattened into, and the arguments of `run`.

        Args:
            args: The positional arguments.
            kwargs: The keywords.
            whole: Whether all values are to come out, also those that are kept.
        """
        static: Static = {}
        if self.static:
            static, args, kwargs = take_static(self.static, args, kwargs)
        roots = args, kwargs, self.held
        found = self.templates.read(roots)
        if found is not None:
            template, (values, tracked) = found
            graphdef, taken = template.graphdef, Taken(tracked, values, True)
            if template.note is None:
                template.note = self.lists_of(roots, flatten_graph(roots).links)
            lists = template.note
        else:
            graphdef, flat = self.templates.flatten(roots)
            values = [*map(bare, flat.leaves)]
            taken = Taken(flat.tracked, values, False)
            lists = self.lists_of(roots, flat.links)
        order, pick, fixed = lists
        if static or whole:
            fixed = Fixed(order, static, whole)
        return taken, (graphdef, fixed, *pick(values))

    def lists_of(self, roots: Roots, links: Iterable[Any]) -> Lists:
        """Return which lists the values of a call are put into, by their paths."""
        if not self.donated and not self.is_sharded:
            return None, _in_one_list, None
        group_of = self.groups.of_call(roots)
        half, count = len(self.groups.inputs), len(roots[0])
        order = tuple(
            group_of(path) + half * self.donated.means(path, count)
            for path in map(unlink, links)
        )
        places = in_lists(range(len(order)), order, 2 * half)
        pickers = [*map(picker, places)]

        def pick(values: Sequence[Any]) -> Iterator[list[Any]]:
            return ([*choose(values)] for choose in pickers)

        return order, pick, Fixed(order, {}, False)

    # -------------------------------------------------------------------- inside

    def run(
        self, graphdef: GraphDef, fixed: Fixed | None, /, *lists: list[Any]
    ) -> tuple[Outcome, list[list[Any]]]:
        """Run the function on what `split` returned; jax compiles this."""
        call, values = self.call, lists[0]
        order = None if fixed is None else fixed.order
        if order is not None:
            rests = [*map(iter, lists)]
            values = [next(rests[number]) for number in order]
        if fixed is not None and fixed.static:
            static = fixed.static

            def call(held: Any, *args: Any, **kwargs: Any) -> Any:
                args, kwargs = put_static(static, args, kwargs)
                return self.call(held, *args, **kwargs)

        leaves = [*boxed(graphdef._code, values)]
        ran = run(call, graphdef, leaves, self.groups, compare=True)
        is_whole = fixed is not None and fixed.whole
        places = {} if is_whole else self.places(values, order)
        return _outcome(ran, places, getattr(self.jax, "Ref", ()))

    def places(
        self, values: Sequence[Any], order: tuple[int, ...] | None
    ) -> dict[int, int]:
        """Return the places of the values that may be kept, by their ids."""
        tracer = self.jax.core.Tracer
        groups = self.kept_groups
        return {
            id(value): place
            for place, value in enumerate(values)
            if isinstance(value, tracer) and (order or groups)
            if (groups if order is None else order[place] in groups)
        }

    # --------------------------------------------------------------------- after

    def put_back(
        self, found: tuple[Outcome, list[list[Any]]], taken: Taken | None = None
    ) -> Any:
        """Write what came out into the caller's objects, and return the result.

        Args:
            found: What `run` returned.
            taken: What the call was flattened into; without it the objects are left
                alone, and the result has new ones.
        """
        outcome, lists = found
        made = [*chain.from_iterable(lists)]
        if taken is None:
            return rebuild(outcome, made, (), ())
        tracked, given, is_checked = taken
        are_arrays = _are_arrays(self.jax, outcome.kept(given))
        if outcome.stores is None or not are_arrays:
            kept = given if are_arrays else self.as_arrays(outcome, given)
            return rebuild(outcome, made, kept, tracked)
        if not is_checked:
            check_levels([tracked[number] for number, *_ in outcome.stores])
        return _write(outcome, made, given, tracked)

    def as_arrays(self, outcome: Outcome, given: Sequence[Any]) -> Mapping[int, Any]:
        """Return the values that are kept, numbers and others as arrays of jax.

        They come out of a compiled function as such.
        """
        places = outcome.kept(range(len(given)))
        kept = dict(zip(places, outcome.kept(given), strict=True))
        others = {n: x for n, x in kept.items() if not _is_array(self.jax, x)}
        return {**kept, **self.jax.jit(_itself)(others)}


def _in_one_list(values: Sequence[Any]) -> Iterable[Any]:
    return (values,)


def _itself(values: dict[int, Any]) -> dict[int, Any]:
    return values


_arrays: Final[set[type]] = set()


def _are_arrays(jax: Any, values: tuple[Any, ...]) -> bool:
    """Return whether all values are arrays of jax."""
    types = {*map(type, values)}
    if types <= _arrays:
        return True
    if not all(_is_array(jax, value) for value in values):
        return False
    _arrays.update(cls for cls in types if not issubclass(cls, jax.core.Tracer))
    return True


def _is_array(jax: Any, value: Any) -> bool:
    """Return whether a value is an array of jax, or a reference to one."""
    return isinstance(value, (jax.Array, getattr(jax, "Ref", jax.Array)))


def boxed(code: Iterable[Entry], values: Iterable[Any]) -> Iterator[Any]:
    """Yield the leaves of a graph: values, those of variables in new ones."""
    rest = iter(values)
    for tag, cls, _, aux in code:
        if tag == LEAF:
            yield next(rest)
        elif tag == VARIABLE:
            yield make_variable(cls, next(rest), dict(aux.values))


def chosen(sources: Iterable[int], made: Sequence[Any], given: Any) -> list[Any]:
    """Return values by their sources."""
    return [made[n] if n >= 0 else given[~n] for n in sources]


def rebuild(
    outcome: Outcome, made: Sequence[Any], given: Any, tracked: Sequence[Any]
) -> Any:
    """Fill the caller's objects anew, all of them, and return the result."""
    code = outcome.graphdef._code
    links = outcome.links if tracked else ()
    reuse = {number: tracked[old] for number, old in links}
    check_levels(reuse.values())
    leaves = boxed(code, chosen(outcome.sources, made, given))
    return unflatten_graph(code, leaves, reuse=reuse)[1]


def write_back(
    outcome: Outcome, made: Sequence[Any], given: Any, tracked: Sequence[Any]
) -> Any:
    """Write what changed into the caller's objects, and return the result.

    Args:
        outcome: What came out.
        made: The values that did.
        given: Those that went in.
        tracked: The caller's objects, by number; none, and they are left alone.

    Raises:
        TraceError: One that changed is of another level of tracing.
    """
    if outcome.stores is None or not tracked:
        return rebuild(outcome, made, given, tracked)
    check_levels([tracked[number] for number, *_ in outcome.stores])
    return _write(outcome, made, given, tracked)


def _write(
    outcome: Outcome, made: Sequence[Any], given: Any, tracked: Sequence[Any]
) -> Any:
    """Write values into objects in which nothing else has changed."""
    for number, slot, key, source in outcome.stores or ():
        value = made[source] if source >= 0 else given[~source]
        if slot:
            getattr(tracked[number], slot)[key] = value
        else:
            _set_value(tracked[number], value)
    code, sources = outcome.result
    rest = chosen(sources, made, given)
    return unflatten_graph(code, boxed(code, rest), tracked=[*tracked])


def _outcome(
    ran: Ran, places: dict[int, int], references: Any
) -> tuple[Outcome, list[list[Any]]]:
    """Return what came out of a function, without the values that are kept.

    Args:
        ran: What came out.
        places: The places of the values that may be kept, by their ids.
        references: The type of references to arrays, which never come out.
    """
    after, outline = ran.after, ran.outline
    lists: list[list[Any]] = [[] for _ in ran.values]
    found: list[tuple[int, int]] = []  # a list and a place in it, or -1 and a place
    values = [*map(bare, after.leaves)]
    kept = [
        None if unlink(link)[0] == 1 else places.get(id(value))
        for value, link in zip(values, after.links, strict=True)
    ]
    is_shared = [isinstance(value, references) for value in values]
    _keep_once(kept, is_shared, ran)
    for value, place, number in zip(values, kept, outline.groups, strict=True):
        if place is None:
            found.append((number, len(lists[number])))
            lists[number].append(value)
        else:
            found.append((-1, place))
    ends = [0]
    for values in lists:
        ends.append(ends[-1] + len(values))
    sources = tuple(
        ~place if number < 0 else ends[number] + place for number, place in found
    )
    stores = None if ran.start is None else stores_of(ran, sources)
    graphdef, links = outline.graphdef, outline.links
    return Outcome(graphdef, links, sources, stores, ran.start or 0), lists


def _keep_once(kept: list[int | None], is_shared: list[bool], ran: Ran) -> None:
    """Let each value that is kept stand in one place: where it was, if it still does.

    An array in two places could not be donated afterwards.

    Args:
        kept: For each value, the place of the one that it is; None if it comes out.
        is_shared: For each value, whether it may stand in several places.
        ran: What came out.
    """
    known = homes(ran.before)
    has_moved = [
        known.get(standing) != place
        for standing, place in zip(standings(ran.after), kept, strict=True)
    ]
    used: set[int | None] = {None}
    for number in sorted(range(len(kept)), key=has_moved.__getitem__):
        if kept[number] in used and not is_shared[number]:
            kept[number] = None
        used.add(kept[number])


def standings(graph: FlatGraph) -> Iterator[Any]:
    """Yield for each value what it stands in: a variable, or an object at a key."""
    for leaf, link, holder in zip(
        graph.leaves, graph.links, graph.holders, strict=True
    ):
        is_variable = isinstance(leaf, Variable)
        yield id(leaf) if is_variable else (id(holder), (link or ((), None))[1])


def homes(graph: FlatGraph) -> dict[Any, int]:
    """Return the places of values by what these stand in."""
    return {home: place for place, home in enumerate(standings(graph))}


def stores_of(ran: Ran, sources: tuple[int, ...]) -> tuple[Store, ...] | None:
    """Return what is to be written; None if that is not all there is to do."""
    before, after = ran.before, ran.after
    if not all(map(_is_writable, before.tracked)):
        return None
    numbers = {id(obj): number for number, obj in enumerate(before.tracked)}
    places = homes(before)
    stores: list[Store] = []
    count = len(after.leaves) - len(_leaves_of(after.code[ran.start :]))
    for place, leaf in enumerate(after.leaves[:count]):
        holder, key = after.holders[place], after.links[place][1]
        slot: str | None = ""
        if isinstance(leaf, Variable):
            holder, key = leaf, None
        place_before = places.get(id(leaf) if key is None else (id(holder), key))
        if place_before is not None and sources[place] == ~place_before:
            continue
        if key is not None:
            slot = _slot_of(holder)
        if slot is None or id(holder) not in numbers:
            return None
        stores.append((numbers[id(holder)], slot, key, sources[place]))
    return tuple(stores)


def _leaves_of(code: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in code if entry[0] in (LEAF, VARIABLE)]


def _is_writable(obj: Any) -> bool:
    """Return whether nothing of an object depends on its values but these."""
    if isinstance(obj, Variable):
        return type(obj).update_from_state is Variable.update_from_state
    if not isinstance(obj, Pytree):
        return False
    spec = type(obj)._leafwise_spec
    return spec.pytree and not spec.hidden


def _slot_of(holder: Any) -> str | None:
    """Return the attribute that holds the values of an object, by name or position."""
    if not isinstance(holder, Pytree):
        return None
    if not isinstance(holder, Container):
        return "__dict__"
    has_more = holder._leafwise_layout.fixed.field_layout.data
    return _ITEMS if hasattr(holder, _ITEMS) and not has_more else None


for _node in (Fixed, Outcome):
    install(_node, StaticRule, bridge=True, where=__name__.partition(".")[0])

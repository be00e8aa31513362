"""jax's loops, so that they keep shared references: `scan`, `while_loop`, `fori_loop`.

A loop is traced once, so what goes from step to step has to be of one structure: the
same objects in the same places, with the same static values. Objects that are scanned
over are others in each step, and may change as they like. After the loop the caller's
objects are filled, and a value that no step changed stays the one it was.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ..core.register import StaticRule
from ..core.registry import install
from ..core.walk import unlink
from ..errors import StructureError
from ..nn.graph import FlatGraph, GraphDef, flatten_graph, unflatten_graph
from ..safely import Frozen, described, shown, type_name
from .changes import (
    OBJECTS,
    Difference,
    Opaque,
    identity_difference,
    settled,
    structure_difference,
    unwrap,
    value_difference,
    wrap,
)
from .dispatch import Outcome, boxed, homes, standings, stores_of, write_back
from .options import (
    ARGS,
    ONE_GROUP,
    Call,
    Carry,
    Groups,
    Option,
    Path,
    Places,
    Roots,
    StateAxes,
    key_path,
    named,
)
from .sharing import (
    Ran,
    bare,
    dressed,
    in_lists,
    numbered,
    outermost_of,
    run,
    titled,
    unbind,
)
from .signatures import as_scan
from .transforms import check_axes, mapped_lists


__all__ = ["fori_loop", "scan", "while_loop"]

T = TypeVar("T")
Axes: TypeAlias = Any
Parts: TypeAlias = Callable[[Any], tuple[Any, Any]]
"""Takes a result, returns what goes to the next step, and the rest."""


# ------------------------------------------------------------------- what goes around


class Plan(Frozen):
    """The structure of a loop; a node without leaves.

    Attributes:
        graphdef: That of `(args, kwargs, held)`.
        order: For each value, its place among those that go from step to step, or `~n`
            for the n-th of those that are scanned over.
        fixed: The numbers of the outermost objects that go from step to step.
        carry: The position of the argument that does, if any.
        is_value: Whether this is no argument, but called the value of the loop.
    """

    __slots__ = ("carry", "fixed", "graphdef", "is_value", "order")
    __match_args__ = ("graphdef", "order", "fixed", "carry", "is_value")

    graphdef: GraphDef
    order: tuple[int, ...]
    fixed: tuple[int, ...]
    carry: int | None
    is_value: bool

    def __init__(
        self,
        graphdef: GraphDef,
        order: tuple[int, ...],
        fixed: tuple[int, ...],
        carry: int | None,
        is_value: bool,
    ) -> None:
        self._set(graphdef, order, fixed, carry, is_value)

    def named(self, path: Path, roots: Roots) -> str:
        """Return in words where a value stands."""
        text = named(path, roots)
        return text.replace("argument 0", "the value", 1) if self.is_value else text


install(Plan, StaticRule, bridge=True, where=__name__.partition(".")[0])


class Carried(NamedTuple):
    """What goes from one step to the next.

    Attributes:
        objects: The objects, by number.
        shell: The tree, in which objects are values.
    """

    objects: FlatGraph
    shell: FlatGraph


def _carried(plan: Plan, tracked: Sequence[Any], tree: Any) -> Carried:
    return Carried(numbered(tracked, plan.fixed), _shell(tree))


def _shell(tree: Any) -> FlatGraph:
    return flatten_graph((None, tree), keep=OBJECTS)


def _tree_of(plan: Plan, roots: Roots) -> Any:
    return None if plan.carry is None else roots[0][plan.carry]


def _refuse_other(
    plan: Plan, before: Carried, after: Carried, flat: FlatGraph, roots: Roots
) -> None:
    """Refuse a step that changes the structure of what goes to the next one.

    Raises:
        StructureError: Something is new, is gone, or is another object.
    """

    def in_tree(path: Path) -> Path:
        return (ARGS, plan.carry, *path[1:])

    def in_object(path: Path) -> Path:
        return (*unlink(flat.first[path[1]]), *path[2:])

    found = (
        structure_difference(before.shell, after.shell, in_tree)
        or _other_object(before.shell, after.shell, in_tree)
        or structure_difference(before.objects, after.objects, in_object)
        or identity_difference(before.objects, after.objects, in_object)
    )
    if found is not None:
        where = plan.named(found.path, roots)
        raise StructureError(
            f"{where} was {found.was} and is {found.now} after a step: the carry must "
            "keep the same objects with the same structure. Write new values into the "
            "objects, for example with leafwise.nn.update",
            path=key_path(found.path, roots),
            expected=found.was,
            actual=found.now,
        )


def _other_object(
    before: FlatGraph, after: FlatGraph, place: Callable[[Path], Path]
) -> Difference | None:
    """Return the first object in a tree that something else has replaced."""
    for link, mine, theirs in zip(
        before.links, before.leaves, after.leaves, strict=True
    ):
        if mine is theirs or not isinstance(mine, OBJECTS):
            was = "a value"
        else:
            was = f"the {type_name(mine)} that was passed in"
        is_other = mine is not theirs and isinstance(theirs, OBJECTS)
        now = f"another {type_name(theirs)}" if is_other else "a value"
        if was != now:
            return Difference(place(unlink(link)), was, now)
    return None


# -------------------------------------------------------------------------- one step


class Came(NamedTuple):
    """What came out of a step.

    Attributes:
        values: What goes to the next one.
        outcome: What came out beside it, without the values; a value that goes to the
            next step counts before these.
        lists: The values.
    """

    values: list[Any]
    outcome: Outcome
    lists: list[list[Any]]


class Step:
    """One step of a loop, as jax sees it.

    Args:
        jax: The module.
        groups: The lists that values are put into, by their axes.
        parts: Takes what the function returns apart; without it, all of that goes on.
    """

    __slots__ = ("groups", "is_value", "jax", "parts")

    def __init__(
        self, jax: Any, groups: Groups = ONE_GROUP, parts: Parts | None = None
    ) -> None:
        self.jax = jax
        self.groups = groups
        self.is_value = parts is None
        self.parts: Parts = parts or (lambda result: (result, None))

    def plan(
        self, roots: Roots, flat: FlatGraph, axes: Sequence[Any], carry: int | None
    ) -> Plan:
        """Return the structure of a loop.

        Args:
            roots: The call.
            flat: What it was flattened into.
            axes: For each value, the axis that is scanned over; None, or `Carry`.
            carry: The position of the argument that goes from step to step.
        """
        places = self.groups.of_call(roots)
        owners = [*map(unlink, flat.first)]
        fixed = tuple(
            number
            for number in outermost_of(owners)
            if not self._is_scanned(owners[number], places)
        )
        counts = [0, 0]
        order = []
        for axis in axes:
            is_scanned = _is_axis(axis)
            place = counts[is_scanned]
            order.append(~place if is_scanned else place)
            counts[is_scanned] += 1
        graphdef = GraphDef(tuple(flat.code))
        return Plan(graphdef, tuple(order), fixed, carry, self.is_value)

    def _is_scanned(self, path: Path, places: Places) -> bool:
        """Return whether an object is another one in each step, with all there is."""
        said = [
            axis
            for value in self.groups.said_below(places, path).values()
            for axis in (value.axes if isinstance(value, StateAxes) else [value])
        ]
        return bool(said) and all(map(_is_axis, said))

    def run(
        self, call: Call, plan: Plan, values: Sequence[Any], scanned: Sequence[Any]
    ) -> Came:
        """Run the function once.

        Args:
            call: It takes what it is bound to before the arguments.
            plan: The structure.
            values: What goes from step to step.
            scanned: What is scanned over.

        Raises:
            StructureError: It changes the structure of what goes to the next step.
        """
        given = unwrap(values[n] if n >= 0 else scanned[~n] for n in plan.order)
        seen: list[tuple[Roots, FlatGraph, Carried, Carried]] = []

        def watched(held: Any, *args: Any, **kwargs: Any) -> Any:
            roots = args, kwargs, held
            flat = flatten_graph(roots)
            before = _carried(plan, flat.tracked, _tree_of(plan, roots))
            tree, rest = self.parts(call(held, *args, **kwargs))
            after = _carried(plan, flat.tracked, tree)
            _refuse_other(plan, before, after, flat, roots)
            seen.append((roots, flat, before, after))
            return rest

        leaves = [*boxed(plan.graphdef._code, given)]
        ran = run(watched, plan.graphdef, leaves, self.groups, compare=True)
        ((roots, flat, before, after),) = seen
        slots = _slots(plan, flat, before)
        goes_on = dict(zip(slots, _values_in(after), strict=True))
        nexts = wrap(
            self.jax, [goes_on.get(n, value) for n, value in enumerate(values)]
        )
        nexts = [value if n in goes_on else values[n] for n, value in enumerate(nexts)]
        _refuse_other_constants(plan, flat, roots, values, nexts)
        stands = dict(zip(standings(after.objects), slots, strict=False))
        return Came(nexts, *self._outcome(ran, plan, given, stands, len(values)))

    def _outcome(
        self, ran: Ran, plan: Plan, given: list[Any], stands: dict[Any, int], count: int
    ) -> tuple[Outcome, list[list[Any]]]:
        """Return what came out beside what goes to the next step.

        Args:
            ran: What came out.
            plan: The structure.
            given: The values that went in.
            stands: The places of values that go on, by what they stand in.
            count: How many values go on.
        """
        keeps = not self.jax.config.jax_disable_jit  # else each step may differ
        kept = settled(ran, given) if keeps else [None] * len(ran.after.leaves)
        lists: list[list[Any]] = [[] for _ in ran.values]
        found: list[tuple[int, int]] = []
        for leaf, standing, place, group in zip(
            ran.after.leaves,
            standings(ran.after),
            kept,
            ran.outline.groups,
            strict=True,
        ):
            if place is not None:
                found.append((-1, ~place))
            elif standing in stands:
                found.append((-1, stands[standing]))
            else:
                found.append((group, len(lists[group])))
                lists[group].append(bare(leaf))
        starts = [count]
        for values in lists:
            starts.append(starts[-1] + len(values))
        sources = tuple(n if group < 0 else starts[group] + n for group, n in found)
        stores = None if ran.start is None else stores_of(ran, sources)
        graphdef, links = ran.outline.graphdef, ran.outline.links
        outcome = Outcome(graphdef, links, sources, stores, ran.start or 0)
        return outcome, [wrap(self.jax, values) for values in lists]


def _refuse_other_constants(
    plan: Plan,
    flat: FlatGraph,
    roots: Roots,
    values: Sequence[Any],
    nexts: Sequence[Any],
) -> None:
    """Refuse to let something else that is no array go to the next step."""
    for place, n in enumerate(plan.order):
        was, now = (values[n], nexts[n]) if n >= 0 else (None, None)
        if Opaque in (type(was), type(now)) and was != now:
            where = plan.named(unlink(flat.links[place]), roots)
            raise StructureError(
                f"{where} was {shown(was)} and is {shown(now)} after a step: only "
                "arrays can change in a loop"
            )


def _slots(plan: Plan, flat: FlatGraph, before: Carried) -> list[int]:
    """Return where among the values that go on those of objects and tree are."""
    known = homes(flat)
    places = [known[standing] for standing in standings(before.objects)]
    found = [plan.order[place] for place in places]
    return found + _slots_of_shell(plan, flat, before.shell)


def _slots_of_shell(plan: Plan, flat: FlatGraph, shell: FlatGraph) -> list[int]:
    """Return the same for the tree alone."""
    by_path = {unlink(link): place for place, link in enumerate(flat.links)}
    return [
        plan.order[by_path[ARGS, plan.carry, *unlink(link)[1:]]]
        for link, leaf in zip(shell.links, shell.leaves, strict=True)
        if not isinstance(leaf, OBJECTS)
    ]


def _values_in(carried: Carried) -> list[Any]:
    """Return the values of objects and tree, those of variables bare."""
    rest = (leaf for leaf in carried.shell.leaves if not isinstance(leaf, OBJECTS))
    return [*map(bare, carried.objects.leaves), *rest]


def _is_axis(axis: Any) -> bool:
    return axis is not None and axis is not Carry


class Round(NamedTuple):
    """A call of a loop.

    Attributes:
        roots: Arguments, keywords, and what the functions are bound to.
        flat: What that was flattened into.
        plan: The structure.
        values: What goes into the first step.
        shell: The tree that goes from step to step, in which objects are values.
    """

    roots: Roots
    flat: FlatGraph
    plan: Plan
    values: list[Any]
    shell: FlatGraph

    @classmethod
    def of(cls, roots: Roots, flat: FlatGraph, plan: Plan, values: list[Any]) -> Round:
        """Return one."""
        return cls(roots, flat, plan, values, _shell(_tree_of(plan, roots)))

    def finish(
        self, values: Sequence[Any], outcome: Outcome, made: Any
    ) -> tuple[Any, Any]:
        """Fill the caller's objects, and return what the last step let go on.

        Args:
            values: What went on after the last step.
            outcome: What came out beside it.
            made: The values of that.

        Returns:
            That, and the rest of the result.
        """
        flat, plan = self.flat, self.plan
        final = unwrap(values)
        given = [*map(bare, flat.leaves)]
        rest = write_back(outcome, [*final, *unwrap(made)], given, flat.tracked)
        ends = iter(_slots_of_shell(plan, flat, self.shell))
        leaves = (
            leaf if isinstance(leaf, OBJECTS) else final[next(ends)]
            for leaf in self.shell.leaves
        )
        return unflatten_graph(self.shell.code, leaves)[1], rest

    def explain(self, jax: Any, step: Callable[[list[Any]], Any]) -> None:
        """Say which value is of another type after a step, if one is.

        Raises:
            TypeError: One is.
        """
        try:
            after = jax.eval_shape(step, self.values)
        except Exception:  # what was raised before is the function's own error
            return
        paths = [
            unlink(link)
            for link, n in zip(self.flat.links, self.plan.order, strict=True)
            if n >= 0
        ]
        found = value_difference(jax, self.values, after, paths)
        if found is not None:
            where = self.plan.named(found.path, self.roots)
            raise TypeError(
                f"{where} was {found.was} and is {found.now} after a step: the carry "
                "must keep its shape and type"
            )


# ------------------------------------------------------------------------------ scan


@as_scan
def scan(
    function: Call | None = None,
    /,
    *,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
    in_axes: Axes = (Carry, 0),
    out_axes: Axes = (Carry, 0),
) -> Any:
    """Call a function in a jax loop, once for each position along an axis.

    Args:
        function: The function; without it, a decorator is returned.
        length: The number of steps, required if no argument is scanned over.
        reverse: Whether to start at the end of the axis.
        unroll: How many steps form one step of the compiled loop; True for all.
        _split_transpose: See `jax.lax.scan`.
        in_axes: How each positional argument is passed. `Carry` is passed on from step
            to step, an int is the axis that is scanned over, and None is the same in
            each step. Pass one for all arguments, or a tuple with a prefix tree for
            each. The trees may contain objects of axes, and `StateAxes`. `Carry` is
            only valid for a whole argument, or in `StateAxes`.
        out_axes: How each part of the result is returned. `Carry` is passed on to the
            next step, and an int is the axis along which the results of all steps are
            stacked. Pass one for the result, or a tuple with a prefix tree for each
            part.

    Returns:
        A function of the same arguments that returns the carry of the last step and the
        stacked results of all steps. Keyword arguments are passed by position. Changes
        of a step to an object are visible in the next step. If the object is scanned
        over, each step changes its own position along the axis. An object that the
        function is bound to is the same in each step, and changes to it carry over as
        well.

    Raises:
        StructureError: The axes do not match, or a step changes the structure of what
            it passes on: other objects, attributes or static values.
        TypeError: A value has another shape or type after a step, or an axis is not an
            int.
        ValueError: An object is in two places with different axes; `Carry` is in only
            one of the two options, in one of them twice, or inside an argument; a
            result has no axis; the axes have different sizes, or no axis is scanned.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> import pytest
        >>> jnp = pytest.importorskip("jax.numpy")
        >>> layers = lw.Dict(w=nn.Param(jnp.arange(1.0, 4.0)), seen=nn.BatchStat(0))
        >>> axes = nn.StateAxes({nn.Param: 0, ...: nn.Carry})
        >>> @nn.scan(in_axes=(nn.Carry, axes), out_axes=(nn.Carry, 0))
        ... def forward(x, layer):
        ...     layer.seen[...] += 1
        ...     return x * layer.w, x
        >>> last, before = forward(2.0, layers)
        >>> float(last), before.tolist(), int(layers.seen)
        (12.0, [2.0, 2.0, 4.0], 3)

    Modelled on `flax.nnx.scan`.
    """
    options: dict[str, Any] = {"length": length, "reverse": reverse, "unroll": unroll}
    if _split_transpose:
        options["_split_transpose"] = True
    if function is None:
        return functools.partial(scan, in_axes=in_axes, out_axes=out_axes, **options)
    if isinstance(in_axes, list) or in_axes is Carry:
        in_axes = tuple(in_axes) if isinstance(in_axes, list) else (in_axes,)
    ins, outs = Option("in_axes", in_axes), Option("out_axes", out_axes)
    carries = _carry_place(ins), _carry_place(outs)
    _check_options(ins, outs)
    if (carries[0] is None) != (carries[1] is None):
        raise ValueError(
            "in_axes and out_axes must either both contain Carry or neither: got "
            f"{_said(in_axes)} and {_said(out_axes)}"
        )
    call, held = unbind(function)
    step = Step(importlib.import_module("jax"), Groups(ins, outs), _parts_by(out_axes))

    def body(carry: tuple[Plan, list[Any]], scanned: list[Any]) -> Any:
        plan, values = carry
        came = step.run(call, plan, values, scanned)
        return (plan, came.values), (came.outcome, came.lists)

    titled(body, function)

    @dressed(function)
    def scanned(*args: Any, **kwargs: Any) -> Any:
        args = _by_position(function, args, kwargs)
        roots: Roots = args, {}, held
        last, rest = _scanned(step, body, roots, _place_of(carries[0], args), options)
        return _together(out_axes, last, rest)

    return scanned


def _scanned(
    step: Step, body: Call, roots: Roots, carry: int | None, options: dict[str, Any]
) -> tuple[Any, Any]:
    """Run a loop over axes; return what went on after the last step, and the rest."""
    jax, groups = step.jax, step.groups
    flat = flatten_graph(roots)
    axes = [groups.inputs[number] for number in mapped_lists(flat, roots, groups)]
    if check_axes(flat, roots, axes, "length", options["length"]) is None:
        raise ValueError("scan needs length or at least one array to scan over")
    plan = step.plan(roots, flat, axes, carry)
    values, over = in_lists(wrap(jax, map(bare, flat.leaves)), map(_is_axis, axes), 2)
    moved = [axis for axis in axes if _is_axis(axis)]
    over = [_moved(jax, x, axis, 0) for x, axis in zip(over, moved, strict=True)]
    round = Round.of(roots, flat, plan, values)
    try:
        (_, last), (outcome, lists) = jax.lax.scan(
            body, (plan, values), over, **options
        )
    except TypeError:
        first = functools.partial(jax.tree.map, lambda x: x[0])
        round.explain(jax, lambda values: body((plan, values), first(over))[0][1])
        raise
    said = [*groups.inputs, *groups.outputs]
    made = [
        _moved(jax, value, 0, axis)
        for axis, listed in zip(said, lists, strict=True)
        for value in listed
    ]
    return round.finish(last, outcome, made)


def _moved(jax: Any, value: Any, start: Any, end: Any) -> Any:
    """Move an axis in all arrays of a value."""
    if start == end:
        return value
    return jax.tree.map(lambda array: jax.numpy.moveaxis(array, start, end), value)


def _by_position(
    function: Call, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """Return the arguments of a call by position.

    Raises:
        TypeError: One is a keyword only.
    """
    if not kwargs:
        return args
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        names = ", ".join(bound.kwargs)
        raise TypeError(f"scan takes arguments by position; {names} has none")
    return bound.args


# ---------------------------------------------------------------- the options of scan


def _check_options(ins: Option, outs: Option) -> None:
    """Refuse what is no axis, and results without one."""
    for option in ins, outs:
        for leaf, path in zip(option.leaves, option.paths, strict=True):
            for axis in leaf.axes if isinstance(leaf, StateAxes) else [leaf]:
                where = f"{option.name}{_shown(path)}"
                if _is_axis(axis) and not hasattr(axis, "__index__"):
                    raise TypeError(
                        f"the axes in {option.name} must be ints, None or Carry, got "
                        f"{described(axis)}"
                    )
                if option is outs and axis is None:
                    raise ValueError(
                        f"{where} is None, but the output of each step needs an axis "
                        "or must be Carry"
                    )
                if option is outs and axis is Carry and leaf is not Carry:
                    raise ValueError(f"{where} has Carry in StateAxes, for a result")


def _carry_place(option: Option) -> tuple[Any, ...] | None:
    """Return where an option has `Carry`; None if it has none.

    Raises:
        ValueError: It has two, or one inside an argument or a part of the result.
    """
    pairs = zip(option.leaves, option.paths, strict=True)
    found = [path for leaf, path in pairs if leaf is Carry]
    for path in found:
        if len(path) > 1 or (path and not isinstance(option.spec, tuple)):
            raise ValueError(
                "Carry must stand for a whole argument or a part of the result: it is "
                f"at {option.name}{_shown(path)}"
            )
    if len(found) > 1:
        places = " and ".join(f"{option.name}{_shown(path)}" for path in found)
        raise ValueError(f"only one Carry is allowed, found at {places}")
    return found[0] if found else None


def _shown(path: tuple[Any, ...]) -> str:
    return "".join(f"[{part!r}]" for part in path)


def _said(spec: Any) -> str:
    if isinstance(spec, tuple):
        return f"({', '.join(map(_said, spec))}{',' * (len(spec) == 1)})"
    return "Carry" if spec is Carry else shown(spec)


def _place_of(path: tuple[Any, ...] | None, args: tuple[Any, ...]) -> int | None:
    """Return the position of the argument that goes on, if there is one."""
    return path[0] if path and path[0] < len(args) else None


def _parts_by(out_axes: Any) -> Parts:
    """Return what takes a result apart, into what goes on and the rest."""
    if out_axes is Carry:
        return lambda result: (result, None)
    if not isinstance(out_axes, tuple) or Carry not in out_axes:
        return lambda result: (None, result)
    place = out_axes.index(Carry)

    def parts(result: Any) -> tuple[Any, Any]:
        if not isinstance(result, tuple) or len(result) != len(out_axes):
            raise StructureError(
                f"out_axes is {_said(out_axes)}, so the function must return a tuple "
                f"of {len(out_axes)}; it returned {described(result)}"
            )
        return result[place], (*result[:place], None, *result[place + 1 :])

    return parts


def _together(out_axes: Any, last: Any, rest: Any) -> Any:
    """Return a result, of what went on and the rest."""
    if out_axes is Carry:
        return last
    if not isinstance(out_axes, tuple) or Carry not in out_axes:
        return rest
    place = out_axes.index(Carry)
    return (*rest[:place], last, *rest[place + 1 :])


# ------------------------------------------------------------- while_loop, fori_loop


def while_loop(
    cond_fun: Callable[[T], Any], body_fun: Callable[[T], T], init_val: T
) -> T:
    """Call a function in a jax loop as long as a condition holds.

    Args:
        cond_fun: Takes the value and returns whether to continue. It must not change
            objects.
        body_fun: Takes the value and returns the next value. The next value must have
            the same structure and contain the same objects.
        init_val: The first value: a tree, which may contain objects.

    Returns:
        The last value. Changes to objects, including those that the function is bound
        to, are applied to your objects.

    Raises:
        StructureError: A step changes the structure of the value: other objects,
            attributes or static values.
        TypeError: A value has another shape or type after a step.
        ValueError: `cond_fun` changes an object.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> import pytest
        >>> jax = pytest.importorskip("jax")
        >>> counter = lw.Dict(count=nn.Variable(3))
        >>> def step(value):
        ...     counter, x = value
        ...     counter.count[...] -= 1
        ...     return counter, x * 2
        >>> again, x = nn.while_loop(lambda v: v[0].count > 0, step, (counter, 1.0))
        >>> again is counter, int(counter.count), float(x)
        (True, 0, 8.0)

    Modelled on `flax.nnx.while_loop`.
    """
    jax = importlib.import_module("jax")
    (ask, of_cond), (body, of_body) = unbind(cond_fun), unbind(body_fun)
    round = _round(jax, init_val, (of_cond, of_body))

    def cond(values: list[Any]) -> Any:
        return _asked(lambda held, value: ask(held[0], value), round, values)

    def step(once: Once, values: list[Any]) -> list[Any]:
        return once(lambda held, value: body(held[1], value), values)

    def loop(once: Once) -> Any:
        def inside(values: list[Any]) -> list[Any]:
            return step(once, values)

        titled(inside, body_fun)
        return jax.lax.while_loop(titled(cond, cond_fun), inside, round.values)

    last: T = _looped(jax, round, loop, step)
    return last


def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, T], T],
    init_val: T,
    *,
    unroll: int | bool | None = None,
) -> T:
    """Call a function in a jax loop with each integer of a range.

    Args:
        lower: The first number.
        upper: The number after the last one.
        body_fun: Takes the number and the value, and returns the next value. The next
            value must have the same structure and contain the same objects.
        init_val: The first value: a tree, which may contain objects.
        unroll: See `jax.lax.fori_loop`.

    Returns:
        The last value; changes to objects are applied as for `while_loop`.

    Raises:
        StructureError: A step changes the structure of the value: other objects,
            attributes or static values.
        TypeError: A value has another shape or type after a step.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> import pytest
        >>> jax = pytest.importorskip("jax")
        >>> total = lw.Dict(sum=nn.Variable(0))
        >>> def step(i, total):
        ...     total.sum[...] += i
        ...     return total
        >>> nn.fori_loop(0, 5, step, total) is total, int(total.sum)
        (True, 10)

    Modelled on `flax.nnx.fori_loop`.
    """
    jax = importlib.import_module("jax")
    body, held = unbind(body_fun)
    round = _round(jax, init_val, held)

    def step(once: Once, values: list[Any], i: Any = lower) -> list[Any]:
        return once(lambda held, value: body(held, i, value), values)

    def loop(once: Once) -> Any:
        def inside(i: Any, values: list[Any]) -> list[Any]:
            return step(once, values, i)

        titled(inside, body_fun)
        return jax.lax.fori_loop(lower, upper, inside, round.values, unroll=unroll)

    last: T = _looped(jax, round, loop, step)
    return last


Once: TypeAlias = Callable[[Call, list[Any]], list[Any]]
"""Runs a function of what is held and of the value once, with what goes on."""


def _round(jax: Any, value: Any, held: Any) -> Round:
    roots: Roots = (value,), {}, held
    flat = flatten_graph(roots)
    plan = Step(jax).plan(roots, flat, [None] * len(flat.leaves), 0)
    return Round.of(roots, flat, plan, wrap(jax, map(bare, flat.leaves)))


def _looped(
    jax: Any, round: Round, loop: Callable[[Once], Any], step: Callable[..., Any]
) -> Any:
    """Run a loop, and return the last value.

    Args:
        jax: The module.
        round: The call.
        loop: Runs the loop, by what runs a function once.
        step: One step of it.
    """
    inner = Step(jax)
    outcomes: list[Outcome] = []

    def once(call: Call, values: list[Any]) -> list[Any]:
        came = inner.run(call, round.plan, values, ())
        outcomes.append(came.outcome)
        return came.values

    try:
        last = loop(once)
    except TypeError:
        round.explain(jax, functools.partial(step, once))
        raise
    if not outcomes:  # not traced, and no step
        return round.roots[0][0]
    return round.finish(last, outcomes[-1], ())[0]


def _asked(call: Call, round: Round, values: list[Any]) -> Any:
    """Return what the condition of a loop says.

    Raises:
        ValueError: It changed an object.
    """
    graphdef = round.plan.graphdef
    given = unwrap(values)
    leaves = [*boxed(graphdef._code, given)]
    ran = run(
        call, graphdef, leaves, split_result=lambda said: (said, None), compare=True
    )
    kept = settled(ran, given)
    if ran.start is None or None in kept:
        place = kept.index(None) if None in kept else -1
        where = ""
        if place >= 0:
            path = unlink(round.flat.links[place])
            where = f": {round.plan.named(path, round.roots)}"
        raise ValueError(
            f"the condition of a loop must not change objects{where}; only the body may"
        )
    return bare(ran.bare)

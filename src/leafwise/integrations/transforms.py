"""jax's transforms, so that they keep shared references and write changes back."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Generic, ParamSpec, TypeAlias, TypeVar

from ..core.walk import unlink
from ..kinds import Kind
from ..nn.filters import Filter, judge, predicate
from ..nn.graph import FlatGraph, GraphDef, flatten_graph, kinds_of, unflatten_graph
from ..nn.states import from_flat_state
from ..nn.variables import Param, Variable
from ..ops.map import tree_leaves
from ..safely import described, shown, type_name
from .dispatch import Dispatch
from .options import (
    Call,
    Carry,
    DiffState,
    Groups,
    Names,
    Numbers,
    Option,
    Path,
    Roots,
    StateAxes,
    Which,
    named,
)
from .sharing import (
    dressed,
    in_lists,
    put_back,
    run,
    unbind,
)
from .signatures import as_grad, as_jit, as_value_and_grad, as_vmap


__all__ = ["Stage", "grad", "jit", "value_and_grad", "vmap"]

Axes: TypeAlias = int | Sequence[Any] | None
Argnums: TypeAlias = int | DiffState | Sequence[int | DiffState]
P = ParamSpec("P")
R = TypeVar("R")


# -------------------------------------------------------------------------- jit


@as_jit
def jit(
    function: Call | None = None,
    /,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: Numbers = None,
    static_argnames: Names = None,
    donate_argnums: Numbers = None,
    donate_argnames: Names = None,
    **options: Any,
) -> Any:
    """Compile a function with jax; shared references between objects are kept.

    The object of a bound method (`jit(model.step)`), the objects in a
    `functools.partial` and an object that is called itself are arguments, too. No
    option refers to them. A call sees their current values, and changes of the function
    are written back to them. An array that the function does not change stays the same
    array, and is not copied, unless it is donated or has a sharding.

    Args:
        function: The function; without it, a decorator is returned.
        in_shardings: The shardings of arguments: one sharding, or a tuple with a prefix
            tree for each positional argument that is not static. None leaves the choice
            to jax.
        out_shardings: The shardings of results, as a prefix tree of the result. A value
            that is written back to an argument has the sharding of the argument.
        static_argnums: Positions of the arguments that are constants; they must be
            hashable. Negative positions count from the end of the function's
            parameters.
        static_argnames: Names of such arguments. If you give only positions or only
            names, the others are inferred from the signature.
        donate_argnums: Positions of arguments whose memory may be reused for the
            result. Arrays in objects are replaced by the new values; other arrays are
            deleted.
        donate_argnames: Names of such arguments.
        **options: Other options of `jax.jit`, such as `keep_unused`, `inline`,
            `device`.

    Returns:
        A function of the same arguments; see `share`. It has the methods `lower`,
        `trace`, `eval_shape` and `clear_cache`, like a function returned by `jax.jit`.

    Raises:
        TypeError: An option is unknown to jax, or of the wrong type.
        ValueError: There is no argument of a given position or name, or it cannot be
            static.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> import pytest
        >>> jax = pytest.importorskip("jax")
        >>> counter = lw.Dict(count=nn.Variable(0))
        >>> @lw.integrations.jit(static_argnames="by")
        ... def step(counter, by):
        ...     counter.count[...] += by
        ...     return counter
        >>> step(counter, by=2) is counter, int(counter.count)
        (True, 2)

    Modelled on `flax.nnx.jit`.
    """
    if function is None:
        return functools.partial(
            jit,
            in_shardings=in_shardings,
            out_shardings=out_shardings,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            **options,
        )
    shape = dressed(function)
    static = Which("static", function, static_argnums, static_argnames)
    donated = Which("donate", function, donate_argnums, donate_argnames)
    static.refuse_common(donated)
    ins = Option("in_shardings", static.leave_out(in_shardings))
    outs = Option("out_shardings", out_shardings)
    groups = Groups(ins, outs, may_lack=static.numbers)
    jax = importlib.import_module("jax")
    keep = _HARMLESS.issuperset(options)
    plan = Dispatch(jax, function, static, donated, groups, keep=keep)
    transformed = jax.jit(plan.inside(function), **plan.options(), **options)

    @shape
    def compiled(*args: Any, **kwargs: Any) -> Any:
        taken, inputs = plan.split(args, kwargs)
        return plan.put_back(transformed(*inputs), taken)

    vars(compiled).update(_stages(plan, transformed))
    return compiled


_HARMLESS: Final = frozenset({"compiler_options", "inline", "keep_unused"})
"""Options of `jax.jit` that do not say where values are to be."""


def _in_order(lists: Iterable[list[Any]], order: Iterable[int]) -> list[Any]:
    rests = [*map(iter, lists)]
    return [next(rests[number]) for number in order]


def _stages(plan: Dispatch, transformed: Any) -> dict[str, Call]:
    """Return what a function compiled by jax can do beside being called."""

    def lower(*args: Any, **kwargs: Any) -> Stage[Any, Any]:
        return Stage(transformed.lower(*plan.split(args, kwargs)[1]), plan)

    def trace(*args: Any, **kwargs: Any) -> Stage[Any, Any]:
        return Stage(transformed.trace(*plan.split(args, kwargs)[1]), plan)

    def eval_shape(*args: Any, **kwargs: Any) -> Any:
        inputs = plan.split(args, kwargs, whole=True)[1]
        return plan.put_back(transformed.eval_shape(*inputs))

    clear_cache = transformed.clear_cache
    return {
        "lower": lower,
        "trace": trace,
        "eval_shape": eval_shape,
        "clear_cache": clear_cache,
    }


class Stage(Generic[P, R]):
    """A stage of a function in `jax.jit`: traced, lowered or compiled.

    A stage has all attributes of jax's own object. `lower` and `compile` return the
    next stage. You call a compiled stage like the function itself.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> import pytest
        >>> jnp = pytest.importorskip("jax.numpy")
        >>> counter = lw.Dict(count=nn.Variable(jnp.zeros(())))
        >>> @lw.integrations.jit
        ... def step(counter):
        ...     counter.count[...] += 1
        >>> compiled = step.lower(counter).compile()
        >>> compiled(counter)
        >>> float(counter.count)
        1.0
    """

    __slots__ = ("_plan", "_stage")

    def __init__(self, stage: Any, plan: Dispatch) -> None:
        self._stage = stage
        self._plan = plan

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stage, name)

    def lower(self, *args: Any, **kwargs: Any) -> Stage[P, R]:
        """Lower a traced function; the arguments are those of jax."""
        return Stage(self._stage.lower(*args, **kwargs), self._plan)

    def compile(self, *args: Any, **kwargs: Any) -> Stage[P, R]:
        """Compile a lowered function; the arguments are those of jax."""
        return Stage(self._stage.compile(*args, **kwargs), self._plan)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call what was compiled, as the function is called."""
        taken, inputs = self._plan.split(args, kwargs)
        return self._plan.put_back(self._stage(*inputs), taken)  # type: ignore[no-any-return]  # an R


# ------------------------------------------------------------------------- vmap


@as_vmap
def vmap(
    function: Call | None = None,
    /,
    in_axes: Axes = 0,
    out_axes: Any = 0,
    *,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
) -> Any:
    """Map a function over an axis with jax; shared references are kept.

    Args:
        function: The function; without it, a decorator is returned.
        in_axes: The axis along which each array is mapped, or None for arrays that are
            not: one axis for all positional arguments, or a tuple with a prefix tree
            for each. Trees of axes may contain objects, such as
            `prefix(model, {Param: 0})`, and `StateAxes`, which choose the axes of
            objects by filter. Keyword arguments are mapped over axis 0. The object that
            the function is bound to is not mapped.
        out_axes: The axis of the results, as a prefix tree of the function's result.
            None for results that are the same for every position.
        axis_name: A name for the axis, for `jax.lax.psum` and similar functions.
        axis_size: The length of the axis, required if no argument is mapped.
        spmd_axis_name: See `jax.vmap`.

    Returns:
        A function of the same arguments. Changes to an argument are written back along
        the axis of the argument. An argument that the function returns keeps its axis;
        see `share`.

    Raises:
        StructureError: The axes are not a prefix of the arguments or results.
        TypeError: An axis is neither an int nor None.
        ValueError: An object is in two arguments with different axes; the mapped axes
            have different sizes, or no axis is mapped; or a value without an axis
            differs between positions.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> import pytest
        >>> jnp = pytest.importorskip("jax.numpy")
        >>> layers = lw.Dict(w=nn.Param(jnp.arange(3.0)))
        >>> times = lw.integrations.vmap(lambda l, x: l.w * x["k"], (0, {"k": None}))
        >>> times(layers, {"k": 2.0}).tolist()
        [0.0, 2.0, 4.0]

    Modelled on `flax.nnx.vmap`.
    """
    names = {
        "axis_name": axis_name,
        "axis_size": axis_size,
        "spmd_axis_name": spmd_axis_name,
    }
    if function is None:
        return functools.partial(vmap, in_axes=in_axes, out_axes=out_axes, **names)
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    if not isinstance(in_axes, int | tuple | None):
        raise TypeError(
            "in_axes must be an int, None or a tuple with an entry for each positional "
            f"argument, got {described(in_axes)}"
        )
    axes = _axes("in_axes", in_axes), _axes("out_axes", out_axes)
    groups = Groups(*axes, kwargs=0)
    call, held = unbind(function)

    @dressed(function)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        return _mapped(call, (args, kwargs, held), groups, names)

    return mapped


def _axes(name: str, spec: Any) -> Option:
    """Return an option whose values are axes.

    Raises:
        TypeError: One is neither an int nor None.
    """
    option = Option(name, spec)
    for leaf in option.leaves:
        for axis in leaf.axes if isinstance(leaf, StateAxes) else [leaf]:
            if axis is not None and not hasattr(axis, "__index__"):
                raise TypeError(
                    f"the axes in {name} must be ints or None, got {described(axis)}"
                )
    return option


def _mapped(call: Call, roots: Roots, groups: Groups, names: dict[str, Any]) -> Any:
    """Return the result of a mapped function, and write back what it changed."""
    jax = importlib.import_module("jax")
    flat = flatten_graph(roots)
    order = mapped_lists(flat, roots, groups)
    axes = [groups.inputs[number] for number in order]
    if check_axes(flat, roots, axes, "axis_size", names["axis_size"]) is None:
        raise ValueError(
            "vmap needs at least one array that is mapped over an axis, or axis_size"
        )
    names_of: list[Callable[[int, int], str]] = []

    def pure(graphdef: GraphDef, lists: list[list[Any]]) -> Any:
        ran = run(call, graphdef, _in_order(lists, order), groups, compare=True)
        names_of.append(ran.name)
        return ran.outline, ran.values

    transformed = jax.vmap(
        pure,
        in_axes=(None, groups.inputs),
        out_axes=(None, [*groups.inputs, *groups.outputs]),
        **names,
    )
    lists = in_lists(flat.leaves, order, len(groups.inputs))
    try:
        found = transformed(GraphDef(tuple(flat.code)), lists)
    except ValueError as error:
        place = _OUT_AXES.search(str(error))
        if place is None or "None but" not in str(error):
            raise
        number, position = map(int, place.groups())
        option = "out_axes" if number >= len(groups.inputs) else "in_axes"
        raise ValueError(
            f"{names_of[-1](number, position)} differs along the mapped axis, but it "
            f"has no axis in {option}"
        ) from error
    return put_back(found, flat)


_OUT_AXES = re.compile(r"out_axes\[1\]\[(\d+)\]\[(\d+)\]")


def mapped_lists(flat: FlatGraph, roots: Roots, groups: Groups) -> list[int]:
    """Return the number of the list that each value of a call is put into.

    Raises:
        StructureError: The axes do not fit the arguments.
        ValueError: An object is in two places with different axes.
    """
    places = groups.of_call(roots)
    paths = [*map(unlink, flat.links)]
    objects = {*map(unlink, flat.first)}
    order = groups.numbers(flat, paths, objects, lambda _: places)
    for number, link, _ in flat.again:
        first, again = unlink(flat.first[number]), unlink(link)
        one, other = (groups.said_below(places, path) for path in (first, again))
        if not other or one == other:
            continue
        kinds = kinds_of(flat.code)
        for rest, n in _values_below(flat, paths, number):
            there = places((*again, *rest), flat.leaves[n], kinds[n], {again, *objects})
            axes = groups.inputs[order[n]], groups.inputs[there]
            if axes[0] != axes[1]:
                texts = zip((first, again), (one, other), axes, strict=True)
                place, there_too = (
                    f"{named(path, roots)} ({_said(said, axis)})"
                    for path, said, axis in texts
                )
                raise ValueError(
                    f"the {type_name(flat.tracked[number])} at {place} is the same "
                    f"object as the one at {there_too}, and can only be mapped in one "
                    "way" + _where_they_differ(one, other, (*first, *rest), roots)
                )
    return order


def _where_they_differ(
    one: dict[Path, Any], other: dict[Path, Any], path: Path, roots: Roots
) -> str:
    """Return that in words, unless it is all of an object."""
    wholes = [said.get((), Carry) for said in (one, other) if () in said]
    is_plain = len(wholes) == 2 and not any(isinstance(x, StateAxes) for x in wholes)
    return "" if is_plain else f"; they differ at {named(path, roots)}"


def _values_below(
    flat: FlatGraph, paths: list[Path], number: int
) -> Iterator[tuple[Path, int]]:
    """Yield the values in an object, by their paths from it, and by number."""
    again = [(unlink(link), other) for other, link, _ in flat.again]
    done: set[int] = set()
    stack: list[tuple[Path, int]] = [((), number)]
    while stack:
        start, number = stack.pop()
        if number in done:
            continue
        done.add(number)
        first = unlink(flat.first[number])
        depth = len(first)
        for n, path in enumerate(paths):
            if path[:depth] == first:
                yield (*start, *path[depth:]), n
        stack += [
            ((*start, *path[depth:]), other)
            for path, other in again
            if path[:depth] == first
        ]


def _said(axes: dict[Any, Any], axis: Any) -> str:
    if () not in axes:
        return f"axes of its own, {_axis_text(axis)}"
    said = axes[()]
    return shown(said) if isinstance(said, StateAxes) else _axis_text(said)


def _axis_text(axis: Any) -> str:
    return "Carry" if axis is Carry else f"axis {axis}"


def check_axes(
    flat: FlatGraph, roots: Roots, axes: list[Any], name: str, size: int | None
) -> int | None:
    """Refuse arrays without the axis that is mapped, and axes of different sizes.

    Args:
        flat: What a call was flattened into.
        roots: The call.
        axes: For each value, what is said of it.
        name: The name of the option that may say how long the axes are.
        size: What it says.

    Returns:
        How long they are, None if there are none.
    """
    first = name
    for link, leaf, axis in zip(flat.links, flat.leaves, axes, strict=True):
        if axis is None or axis is Carry:
            continue
        raw = leaf.get_raw_value() if isinstance(leaf, Variable) else leaf
        shapes: list[Any] = [getattr(value, "shape", ()) for value in tree_leaves(raw)]
        for shape in shapes:
            where = named(unlink(link), roots)
            if not -len(shape) <= axis < len(shape):
                raise ValueError(
                    f"{where} has shape {shape}, so there is no axis {axis} to map"
                )
            if size is None:
                first, size = where, shape[axis]
            elif shape[axis] != size:
                raise ValueError(
                    f"the mapped axes have different sizes: {size} in {first}, "
                    f"{shape[axis]} in {where}"
                )
    return size


# ------------------------------------------------------------------------- grad


@as_value_and_grad
def value_and_grad(
    function: Call | None = None,
    /,
    argnums: Argnums = 0,
    *,
    wrt: Filter | tuple[Filter, ...] = Param,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Any:
    """Differentiate a function with jax; shared references are kept.

    Args:
        function: Returns a number or, with `has_aux`, a number and any other value.
            Without it, a decorator is returned.
        argnums: The position of the argument to differentiate, or several positions. A
            `DiffState` combines a position with a filter.
        wrt: The values of an object to differentiate, see :mod:`leafwise.nn.filters`:
            one filter for all arguments, or a tuple with one for each. Frozen
            parameters are not differentiated. An argument without objects, such as an
            array or a `State`, is differentiated as a whole.
        has_aux: Whether the function returns another value besides the number.
        holomorphic: Whether the function is promised to be holomorphic.
        allow_int: Whether to allow integer inputs, whose gradients are trivial.

    Returns:
        A function of the same arguments that returns the number and the gradients. With
        `has_aux`, a pair of the number and the other value takes the place of the
        number. The gradients of an object are a `State`; those of any other argument
        have the structure of the argument. Several `argnums` give a tuple. Changes of
        the function are applied to your objects; see `share`.

    Raises:
        ValueError: A filter matches no value, or there is no such argument.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> import pytest
        >>> jnp = pytest.importorskip("jax.numpy")
        >>> model = lw.Dict(w=nn.Param(jnp.ones(2)), offset=lw.data(3.0))
        >>> loss = lambda model, x: (model.w * x).sum() + model.offset
        >>> value, gradients = lw.integrations.value_and_grad(loss)(model, jnp.ones(2))
        >>> float(value), gradients.w.value.tolist(), [*gradients]
        (5.0, [1.0, 1.0], ['w'])

    Modelled on `flax.nnx.value_and_grad`.
    """
    options = {
        "has_aux": has_aux,
        "holomorphic": holomorphic,
        "allow_int": allow_int,
    }
    if function is None:
        return functools.partial(value_and_grad, argnums=argnums, wrt=wrt, **options)
    several = not isinstance(argnums, int | DiffState)
    pairs = _meant(argnums, wrt)
    call, held = unbind(function)
    options["has_aux"] = True

    @dressed(function)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        value, aux, gradients = _differentiated(
            call, (args, kwargs, held), pairs, _pair if has_aux else _alone, options
        )
        return (value, aux) if has_aux else value, (
            gradients if several else gradients[0]
        )

    return differentiated


def _meant(argnums: Argnums, wrt: Any) -> list[tuple[int, Callable[[Any, Any], bool]]]:
    """Return the positions of arguments, and which values of each are meant.

    Raises:
        TypeError: A position is none, or a filter is none.
        ValueError: There are not as many filters.
    """
    listed: Any = (argnums,) if isinstance(argnums, int | DiffState) else argnums
    numbers = [n if isinstance(n, DiffState) else DiffState(n, ...) for n in listed]
    filters = wrt if isinstance(wrt, tuple) else (wrt,) * len(numbers)
    if len(filters) != len(numbers):
        raise ValueError(f"wrt has {len(filters)} filters for {len(numbers)} argnums")
    return [
        (meant.argnum, predicate(meant.filter if meant is given else filter))
        for given, meant, filter in zip(listed, numbers, filters, strict=True)
    ]


def _alone(result: Any) -> tuple[Any, Any]:
    return result, None


def _pair(result: Any) -> tuple[Any, Any]:
    """Return what a function with `has_aux` returns.

    Raises:
        TypeError: It is not a pair.
    """
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError(
            "with has_aux=True the function must return a pair of a number and "
            f"auxiliary data; it returned {described(result)}"
        )
    return result


def _differentiated(
    call: Call,
    roots: Roots,
    pairs: list[tuple[int, Callable[[Any, Any], bool]]],
    split_result: Callable[[Any], tuple[Any, Any]],
    options: dict[str, bool],
) -> tuple[Any, Any, tuple[Any, ...]]:
    """Return the number, what is beside it, and the gradients; write back changes."""
    jax = importlib.import_module("jax")
    args = roots[0]
    flat = flatten_graph(roots)
    graphdef = GraphDef(tuple(flat.code))
    targets = [_target(flat, args, number, meant) for number, meant in pairs]
    if len({number % len(args) for number, _ in pairs}) != len(pairs):
        raise ValueError("argnums contains an argument twice")
    chosen = [*dict.fromkeys(place for places, _ in targets for place in places)]

    def pure(wanted: list[Any], leaves: list[Any]) -> Any:
        leaves = [*leaves]
        for place, value in zip(chosen, wanted, strict=True):
            leaves[place] = value
        ran = run(call, graphdef, leaves, split_result=split_result, compare=True)
        return ran.bare, (ran.outline, ran.values)

    wanted = [flat.leaves[place] for place in chosen]
    (value, rest), found = jax.value_and_grad(pure, **options)(wanted, flat.leaves)
    aux = put_back(rest, flat)
    by_place = dict(zip(chosen, found, strict=True))
    gradients = tuple(
        together([by_place[place] for place in places]) for places, together in targets
    )
    return value, aux, gradients


Target = tuple[list[int], Callable[[list[Any]], Any]]


def _target(
    flat: FlatGraph,
    args: tuple[Any, ...],
    number: int,
    meant: Callable[[Any, Any], bool],
) -> Target:
    """Return which values are differentiated for an argument.

    Returns:
        Their places, and what makes the gradient of the argument of their gradients.
    """
    if not -len(args) <= number < len(args):
        raise ValueError(f"argnums has {number}, but there are {len(args)} arguments")
    number %= len(args)
    alone = flatten_graph([args[number]])
    if all(isinstance(obj, Variable) for obj in alone.tracked):
        return _whole(flat, alone, number)
    paths = [unlink(link) for link in flat.links]
    kinds = kinds_of(flat.code)
    places = [
        place
        for place, path in enumerate(paths)
        if path[:2] == (0, number)
        and kinds[place] is not Kind.FROZEN
        and judge(meant, path[2:], flat.leaves[place], kinds[place])
    ]
    if not places:
        frozen = sum(
            path[:2] == (0, number) and kinds[place] is Kind.FROZEN
            for place, path in enumerate(paths)
        )
        more = f" ({frozen} of its values are frozen)" if frozen else ""
        raise ValueError(
            f"{shown(meant)} matches no value of argument {number}: there is nothing "
            f"to differentiate{more}"
        )
    names = [paths[place][2:] for place in places]
    return places, lambda found: from_flat_state(zip(names, found, strict=True))


def _whole(flat: FlatGraph, alone: FlatGraph, number: int) -> Target:
    """Return all values of an argument without objects; its gradient is like it."""
    by_path = {unlink(link): place for place, link in enumerate(flat.links)}
    by_id = {id(leaf): place for place, leaf in enumerate(flat.leaves)}
    places = [
        by_id[id(leaf)]
        if isinstance(leaf, Variable)
        else by_path[0, number, *unlink(link)[1:]]
        for leaf, link in zip(alone.leaves, alone.links, strict=True)
    ]
    return places, lambda found: unflatten_graph(alone.code, found)[0]


@as_grad
def grad(
    function: Call | None = None,
    /,
    argnums: Argnums = 0,
    *,
    wrt: Filter | tuple[Filter, ...] = Param,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Any:
    """Differentiate a function with jax; like `value_and_grad`, without the value.

    Args:
        function, argnums, wrt, has_aux, holomorphic, allow_int: See `value_and_grad`.

    Returns:
        A function of the same arguments that returns the gradients. With `has_aux`, it
        returns the gradients and the other value.

    Raises:
        ValueError: A filter matches no value, or there is no such argument.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> import pytest
        >>> jnp = pytest.importorskip("jax.numpy")
        >>> model = lw.Dict(w=nn.Param(jnp.ones(2)), offset=lw.data(3.0))
        >>> gradients = lw.integrations.grad(lambda m: (m.w ** 2).sum())(model)
        >>> gradients.w.value.tolist()
        [2.0, 2.0]

    Modelled on `flax.nnx.grad`.
    """
    options = {
        "has_aux": has_aux,
        "holomorphic": holomorphic,
        "allow_int": allow_int,
    }
    if function is None:
        return functools.partial(grad, argnums=argnums, wrt=wrt, **options)
    differentiate: Call = value_and_grad
    both = differentiate(function, argnums, wrt=wrt, **options)

    @dressed(function)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        value, gradients = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return differentiated

"""Functions of objects that are mapped over an axis: `vmap`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeAlias, TypedDict, TypeVar, Unpack, overload

from ...lazy import need
from ...safely import type_name
from ..graph import FlatGraph, GraphDef, flatten_graph
from .calls import bare, call_on_copies, dressed, put_back, unbind
from .options import Call, Groups, Places, Roots, named


__all__ = ["vmap"]

P = ParamSpec("P")
R = TypeVar("R")
Axes: TypeAlias = int | Sequence[Any] | None


class Options(TypedDict, total=False):
    """The options of `vmap` beside the axes."""

    axis_name: Any
    axis_size: int | None
    spmd_axis_name: Any


@overload
def vmap(
    function: Callable[P, R],
    /,
    in_axes: Axes = ...,
    out_axes: Any = ...,
    **options: Unpack[Options],
) -> Callable[P, R]: ...


@overload
def vmap(
    function: None = ...,
    /,
    in_axes: Axes = ...,
    out_axes: Any = ...,
    **options: Unpack[Options],
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


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
            `prefix(model, {Param: 0})`. A positional parameter has its axis also if its
            argument is given by keyword; other keyword arguments are mapped over axis
            0. The object that the function is bound to is not mapped.
        out_axes: The axis of the results, as a prefix tree of the function's result.
            None for results that are the same for every position.
        axis_name: A name for the axis, for `jax.lax.psum` and similar functions.
        axis_size: The length of the axis, required if no argument is mapped.
        spmd_axis_name: See `jax.vmap`.

    Returns:
        A function of the same arguments. Changes to an argument are written back along
        the axis of the argument. An argument that the function returns keeps its axis.

    Raises:
        StructureError: The axes are not a prefix of the arguments or results.
        ValueError: An object is in two arguments with different axes, or see
            `jax.vmap`.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> import pytest
        >>> jnp = pytest.importorskip("jax.numpy")
        >>> layers = nn.Dict(w=nn.Param(jnp.arange(3.0)))
        >>> times = nn.vmap(lambda l, x: l.w * x["k"], (0, {"k": None}))
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
    groups = Groups(in_axes, out_axes, kwargs=0)
    call, held = unbind(function)

    @dressed(function)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if kwargs and isinstance(in_axes, tuple) and len(args) < len(in_axes):
            bound = inspect.signature(function).bind(*args, **kwargs)
            args, kwargs = bound.args, bound.kwargs
        return _mapped(call, (args, kwargs, held), groups, names)

    return mapped


def _mapped(call: Call, roots: Roots, groups: Groups, names: dict[str, Any]) -> Any:
    """Return the result of a mapped function, and write back what it changed."""
    jax = need("jax", "nn.vmap")
    flat = flatten_graph(roots)
    given = [*map(bare, flat.leaves)]
    places = groups.of_call(roots)
    axes = [groups.inputs[places(path)] for path in flat.paths]
    _refuse_two_ways(flat, places, groups)
    axes_of_lists = [*groups.inputs, *groups.outputs]

    def keep(index: int, number: int) -> bool:
        return bool(axes[index] == axes_of_lists[number])

    def pure(graphdef: GraphDef, values: list[Any]) -> Any:
        return call_on_copies(call, graphdef, values, keep=keep, groups=groups)[1:]

    transformed = jax.vmap(
        pure, in_axes=(None, axes), out_axes=(None, axes_of_lists), **names
    )
    changes, lists = transformed(flat.graphdef, given)
    return put_back(changes, lists, given, flat.tracked)


def _refuse_two_ways(flat: FlatGraph, places: Places, groups: Groups) -> None:
    """Refuse objects that occur in two places with different axes.

    Raises:
        ValueError: There is one.
    """
    for number, again, _ in flat.again:
        first = flat.first[number]
        for path in flat.paths:
            other = (*again, *path[len(first) :])
            index = places.find(other) if path[: len(first)] == first else None
            if index is None:  # a prefix has each object once
                continue
            axis, axis_again = groups.inputs[places(path)], groups.inputs[index]
            if axis != axis_again:
                raise ValueError(
                    f"the {type_name(flat.tracked[number])} at {named(first)} is the "
                    f"same object as the one at {named(again)}, and can only be mapped "
                    f"in one way: {named(path)} has axis {axis}, and {named(other)} "
                    f"has axis {axis_again}"
                )

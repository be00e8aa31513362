"""Functions of objects that are mapped over an axis: `vmap`, and `prefix` for axes.

An option such as `in_axes` is one value for all, or a tree of values, each of which
stands for whatever is below its place.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import (
    Any,
    Final,
    ParamSpec,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

from ...core.matching import describe
from ...core.registry import current
from ...errors import StructureError
from ...lazy import need
from ...safely import type_name
from ..checks import DataNode
from ..filters import Filter, partition
from ..graph import FlatGraph, GraphDef, flatten_graph, kinds_of, unflatten_graph
from ..instance import below, rule_of
from ..variables import Variable
from .calls import (
    ARGS,
    HELD,
    KWARGS,
    RESULT,
    Call,
    Groups,
    Path,
    Roots,
    bare,
    call_on_copies,
    dressed,
    named,
    put_back,
    unbind,
)


__all__ = ["prefix", "vmap"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Pairs: TypeAlias = Mapping[Any, Any] | Iterable[tuple[Filter, Any]]
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
    **options: Unpack[Options],
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
    if function is None:
        return functools.partial(vmap, in_axes=in_axes, out_axes=out_axes, **options)
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    groups = AxisGroups(in_axes, out_axes, kwargs=0)
    call, held = unbind(function)

    @dressed(function)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if kwargs and isinstance(in_axes, tuple) and len(args) < len(in_axes):
            bound = inspect.signature(function).bind(*args, **kwargs)
            args, kwargs = bound.args, bound.kwargs
        return _mapped(call, (args, kwargs, held), groups, options)

    return mapped


def _mapped(call: Call, roots: Roots, groups: AxisGroups, options: Options) -> Any:
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
        pure, in_axes=(None, axes), out_axes=(None, axes_of_lists), **options
    )
    changes, lists = transformed(flat.graphdef, given)
    return put_back(changes, lists, given, flat.tracked)


def _refuse_two_ways(flat: FlatGraph, places: Places, groups: AxisGroups) -> None:
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


# ------------------------------------------------------------------- prefix trees


_ANY: Final = object()


def prefix(tree: T, axes: Pairs | Callable[[Path, Any], Any], /) -> T:
    """Return a tree with objects in it, with an axis in place of each value.

    Args:
        tree: An object, or containers with objects in them.
        axes: Axes by filter: a mapping, or pairs of filters and axes; the first filter
            that matches a value applies. Or a function that takes the path and the
            value or variable, and returns the axis.

    Returns:
        A new tree of the same structure, for `in_axes` and `out_axes`.

    Raises:
        TypeError: A filter is not valid.
        ValueError: No filter matches a value, or a filter comes after `...`.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> model = nn.Dict(w=nn.Param(2.0), seen=nn.BatchStat(3.0))
        >>> axes = nn.prefix(model, {nn.Param: 0, ...: None})
        >>> axes.w.get_raw_value(), axes.seen.get_raw_value()
        (0, None)

    Modelled on `flax.nnx.prefix`.
    """
    flat = flatten_graph(tree)
    rows = [*zip(flat.paths, flat.leaves, kinds_of(flat.code), strict=True)]
    axis_of: dict[int, Any] = {}
    if callable(axes):
        axis_of = {n: axes(path, leaf) for n, (path, leaf, _) in enumerate(rows)}
    else:
        pairs = [*(axes.items() if isinstance(axes, Mapping) else axes)]
        chosen, rest = partition(rows, [only for only, _ in pairs])
        for index in rest:
            path = flat.paths[index]
            raise ValueError(f"no filter of prefix matches the value at {path}")
        for indexes, (_, axis) in zip(chosen, pairs, strict=True):
            axis_of |= dict.fromkeys(indexes, axis)
    leaves = [
        leaf.replace(axis_of[n]) if isinstance(leaf, Variable) else axis_of[n]
        for n, leaf in enumerate(flat.leaves)
    ]
    made: T = unflatten_graph(flat.code, leaves)
    return made


def prefix_leaves(
    name: str,
    spec: Any,
    value: Any = _ANY,
    path: Path = (),
    seen: set[int] | None = None,
) -> Iterator[tuple[Path, Any]]:
    """Yield the paths and the leaves of a prefix tree.

    None is a leaf. Objects of axes may be shared, and may contain one another.

    Args:
        name: The name of the option.
        spec: The prefix tree.
        value: The tree that it has to be a prefix of; by default any.
        path: The path of `value`.
        seen: The ids of the objects that were visited.

    Raises:
        StructureError: It is not a prefix.
    """
    seen = set() if seen is None else seen
    rule = None if spec is None else rule_of(type(spec))
    if rule is None or isinstance(spec, Variable):
        yield path, spec.get_raw_value() if isinstance(spec, Variable) else spec
        return
    if isinstance(spec, DataNode):
        if id(spec) in seen:
            return
        seen.add(id(spec))
    children = dict(below(spec))
    there = dict.fromkeys(children, _ANY)
    if value is not _ANY:
        there, theirs = dict(below(value)), rule_of(type(value))
        alike = type(spec) is type(value) or (
            theirs is not None and rule.pairs_by_key and theirs.pairs_by_key
        )
        if not alike or there.keys() != children.keys():
            expected, actual = (describe(tree, current.view) for tree in (spec, value))
            where = f" at {named(path)}" if len(path) > 1 else ""
            raise StructureError(
                f"{name} is not a prefix of the structure it applies to{where}: "
                f"expected {expected}, got {actual}",
                expected=expected,
                actual=actual,
            )
    for part, child in children.items():
        yield from prefix_leaves(name, child, there[part], (*path, part), seen)


class Places:
    """The list that each value is put into, by the longest prefix of its path.

    Args:
        name: The name of the option.
        paths: The paths that the lists stand for.
        start: The index of the first list.
    """

    def __init__(self, name: str, paths: Iterable[Path], start: int) -> None:
        self._name = name
        self._indexes = {path: start + index for index, path in enumerate(paths)}

    def __call__(self, path: Path) -> int:
        """Return the index of the list that a value is put into.

        Raises:
            StructureError: The option has no entry for the value.
        """
        index = self.find(path)
        if index is None:
            raise StructureError(f"{self._name} has no entry for {named(path)}")
        return index

    def find(self, path: Path) -> int | None:
        """Return the index of the list of a value, None if there is no entry for it."""
        known = (self._indexes.get(path[:end]) for end in range(len(path), 0, -1))
        return next((index for index in known if index is not None), None)


class AxisGroups(Groups):
    """The lists that values are put into: one for each leaf of `in_axes`, `out_axes`.

    Args:
        args: The axes of positional arguments; if it is a tuple, with an entry for
            each.
        out: The axes of results.
        kwargs: The axis of keyword arguments.

    Attributes:
        inputs: For each list of values from arguments, the axis.
        outputs: For each list of values from results, the axis.
    """

    def __init__(self, args: Any, out: Any, *, kwargs: Any = None) -> None:
        self._args = args
        self._out = out
        self.inputs = [leaf for _, leaf in prefix_leaves("in_axes", args)]
        self.inputs += [kwargs, None]
        self.outputs = [leaf for _, leaf in prefix_leaves("out_axes", out)]
        self.count = len(self.inputs) + len(self.outputs)

    def of_call(self, roots: Roots) -> Places:
        """Return which list each value of a call is put into.

        Args:
            roots: Arguments, keywords and what the function is bound to.

        Raises:
            StructureError: The option does not fit.
        """
        args, spec = roots[0], self._args
        if isinstance(spec, tuple) and len(spec) != len(args):
            raise StructureError(
                f"in_axes is of length {len(spec)}, and there are {len(args)} arguments"
            )
        paths = [path for path, _ in prefix_leaves("in_axes", spec, args, (ARGS,))]
        return Places("in_axes", [*paths, (KWARGS,), (HELD,)], 0)

    def of_result(self, result: Any) -> Places:
        """Return which list each value of a result is put into."""
        leaves = prefix_leaves("out_axes", self._out, result, (RESULT,))
        return Places("out_axes", [path for path, _ in leaves], len(self.inputs))

"""`vmap` maps a function over an axis of arrays, and `prefix` makes trees of axes.

`in_axes` and `out_axes` are one axis for all values, or a tree of axes, each of which
applies to all values below its place. The values of a call are put into one list for
each axis, since jax takes one axis for a whole list.
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

from ..._lazy import need
from ..._text import add_note, typed_repr
from ...core.builtins import MappingNodeType
from ...core.matching import describe
from ...core.registry import current
from ...errors import StructureError
from ..checks import DataNode, node_type_of
from ..filters import Filter, partition
from ..flatgraph import (
    FlatGraph,
    flatten_graph,
    kinds_of,
    unflatten_graph,
)
from ..instance import below
from ..variables import Variable, bare
from .calls import (
    CallKey,
    CallValues,
    Groups,
    Roots,
    call_on_copies,
    put_back,
)
from .functions import (
    ARGS,
    BIND,
    BOUND,
    KWARGS,
    RESULT,
    Call,
    Path,
    UserFunction,
    check_options,
    path_text,
    with_value,
    wraps,
)


__all__ = ["prefix", "vmap"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Pairs: TypeAlias = Mapping[Any, Any] | Iterable[tuple[Filter, Any]]
Axes: TypeAlias = int | Sequence[Any] | None


class VmapOptions(TypedDict, total=False):
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
    **options: Unpack[VmapOptions],
) -> Callable[P, R]: ...


@overload
def vmap(
    function: None = ...,
    /,
    in_axes: Axes = ...,
    out_axes: Any = ...,
    **options: Unpack[VmapOptions],
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def vmap(
    function: Call | None = None,
    /,
    in_axes: Axes = 0,
    out_axes: Any = 0,
    **options: Unpack[VmapOptions],
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
    check_options("vmap", options, VmapOptions)
    if function is None:
        return functools.partial(vmap, in_axes=in_axes, out_axes=out_axes, **options)
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    user_function = UserFunction(function)
    groups = AxisGroups(user_function, in_axes, out_axes)

    @wraps(function)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if kwargs and isinstance(in_axes, tuple) and len(args) < len(in_axes):
            arguments = inspect.signature(function).bind(*args, **kwargs)
            args = arguments.args
            kwargs = arguments.kwargs
        roots = (args, kwargs, user_function.bound)
        return _mapped(user_function, roots, groups, options)

    return mapped


def _mapped(
    function: UserFunction, roots: Roots, groups: AxisGroups, options: VmapOptions
) -> Any:
    """Return the result of a mapped function, and write back what it changed."""
    jax = need("jax", "nn.vmap")
    flat = flatten_graph(roots, traced=True)
    inputs = list(map(bare, flat.leaves))
    places = groups.of_call(roots)
    axes = [groups.inputs[places(path)] for path in flat.paths]
    _refuse_two_ways(function, flat, places, groups)
    axes_of_lists = groups.inputs + groups.outputs
    key = CallKey(function, flat.graphdef)

    def keep(index: int, number: int) -> bool:
        return bool(axes[index] == axes_of_lists[number])

    def pure(arguments: CallValues) -> Any:
        _, changes, lists = call_on_copies(
            function, key.graphdef, arguments.values, keep=keep, groups=groups
        )
        return changes, lists

    transformed = jax.vmap(
        function.named(pure),
        in_axes=(CallValues(key, False, axes),),
        out_axes=(None, axes_of_lists),
        **options,
    )
    try:
        changes, lists = transformed(CallValues(key, False, inputs))
    except TypeError as error:
        function.note_untraceable(error, key.graphdef, inputs, BIND)
        raise
    except ValueError as error:
        _note_axes(error, function, flat, inputs, axes)
        raise
    return put_back(changes, lists, inputs, flat.tracked)


_MAX_NOTED: Final = 8
"""How many values a note on an error lists."""


def _note_axes(
    error: ValueError,
    function: UserFunction,
    flat: FlatGraph,
    values: Sequence[Any],
    axes: Sequence[Any],
) -> None:
    """Note the shapes and axes of the mapped values on an error, if they do not fit.

    jax names no value that has too few axes.
    """
    lines = []
    sizes = set()
    for path, value, axis in zip(flat.paths, values, axes, strict=True):
        if axis is None:
            continue
        shape = tuple(getattr(value, "shape", ()))
        if isinstance(axis, int) and -len(shape) <= axis < len(shape):
            sizes.add(shape[axis])
        else:
            sizes.add(None)  # there is no such axis
        name = function.place_name(path, flat.structure)
        lines.append(f"  {name}: shape {shape}, axis {axis}")
    if len(sizes) < 2 and None not in sizes:  # an error of the function
        return
    if len(lines) > _MAX_NOTED:
        lines[_MAX_NOTED:] = [f"  and {len(lines) - _MAX_NOTED} more"]
    title = f"vmap maps these values of {function}:"
    add_note(error, "\n".join([title, *lines]))


def _refuse_two_ways(
    function: UserFunction, flat: FlatGraph, places: Places, groups: AxisGroups
) -> None:
    """Refuse objects that occur in two places with different axes.

    Raises:
        ValueError: There is one.
    """

    def name_of(path: Path) -> str:
        return function.place_name(path, flat.structure)

    for number, again, _ in flat.again:
        first = flat.first[number]
        for path in flat.paths:
            other = (*again, *path[len(first) :])
            index = places.find(other) if path[: len(first)] == first else None
            if index is None:  # a prefix has each object once
                continue
            axis = groups.inputs[places(path)]
            axis_again = groups.inputs[index]
            if axis != axis_again:
                cls = type(flat.tracked[number])
                place = name_of(path).removeprefix(name_of(first))
                raise ValueError(
                    f"{name_of(first)} and {name_of(again)} are the same "
                    f"{cls.__name__}, which can only be mapped in one way: "
                    f"{name_of(path)} has axis {axis}, and {name_of(again)}{place} "
                    f"has axis {axis_again}"
                )


# ------------------------------------------------------------------- prefix trees


_ANY: Final = object()


def prefix(tree: T, axes: Pairs, /) -> T:
    """Return a tree with objects in it, with an axis in place of each value.

    Args:
        tree: An object, or containers with objects in them.
        axes: Axes by filter: a mapping, or pairs of filters and axes; the first filter
            that matches a value applies.

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
    rows = zip(flat.paths, flat.leaves, kinds_of(flat.structure), strict=True)
    pairs = list(axes.items() if isinstance(axes, Mapping) else axes)
    groups, unmatched = partition(rows, [filter for filter, _ in pairs])
    if unmatched:
        path = flat.paths[unmatched[0]]
        raise ValueError(f"no filter of prefix matches the value at {path}")
    axis_of = {
        index: axis
        for indexes, (_, axis) in zip(groups, pairs, strict=True)
        for index in indexes
    }
    leaves = [
        with_value(leaf, axis_of[index]) for index, leaf in enumerate(flat.leaves)
    ]
    tree_of_axes: T = unflatten_graph(flat.structure, leaves)
    return tree_of_axes


def prefix_leaves(
    name: str,
    spec: Any,
    value: Any = _ANY,
    path: Path = (),
    name_of: Callable[[Path], str] = str,
    visited: set[int] | None = None,
) -> Iterator[tuple[Path, Any]]:
    """Yield the paths and the leaves of a prefix tree.

    None is a leaf. Objects of axes may be shared, and may contain one another.

    Args:
        name: The name of the option.
        spec: The prefix tree.
        value: The tree that it has to be a prefix of; by default any.
        path: The path of `value`.
        name_of: Takes a path, and returns what stands there in words.
        visited: The ids of the objects that were visited.

    Raises:
        StructureError: It is not a prefix.
    """
    visited = set() if visited is None else visited
    node_type = None if spec is None else node_type_of(type(spec))
    if isinstance(spec, Variable):
        yield path, spec.get_raw_value()
        return
    if node_type is None:
        yield path, spec
        return
    if isinstance(spec, DataNode):
        if id(spec) in visited:
            return
        visited.add(id(spec))
    children = dict(below(spec))
    values = dict.fromkeys(children, _ANY)
    if value is not _ANY:
        values = dict(below(value))
        value_node_type = node_type_of(type(value))
        are_mappings = isinstance(node_type, MappingNodeType) and isinstance(
            value_node_type, MappingNodeType
        )
        is_same_type = type(spec) is type(value) or are_mappings
        if not is_same_type or values.keys() != children.keys():
            expected = describe(spec, current.view)
            actual = describe(value, current.view)
            where = f" at {name_of(path)}" if len(path) > 1 else ""
            raise StructureError(
                f"{name} is not a prefix of the structure it applies to{where}: "
                f"expected {expected}, got {actual}",
                expected=expected,
                actual=actual,
            )
    for part, child in children.items():
        child_path = (*path, part)
        yield from prefix_leaves(
            name, child, values[part], child_path, name_of, visited
        )


class Places:
    """The list that each value is put into, by the longest prefix of its path.

    Args:
        name: The name of the option.
        paths: The paths that the lists stand for.
        start: The index of the first list.
        name_of: Takes a path, and returns what stands there in words.
    """

    def __init__(
        self,
        name: str,
        paths: Iterable[Path],
        start: int,
        name_of: Callable[[Path], str],
    ) -> None:
        self._name = name
        self._name_of = name_of
        self._indexes = {path: start + index for index, path in enumerate(paths)}

    def __call__(self, path: Path) -> int:
        """Return the index of the list that a value is put into.

        Raises:
            StructureError: The option has no entry for the value.
        """
        index = self.find(path)
        if index is None:
            raise StructureError(f"{self._name} has no entry for {self._name_of(path)}")
        return index

    def find(self, path: Path) -> int | None:
        """Return the index of the list of a value, None if there is no entry for it."""
        for length in range(len(path), 0, -1):
            index = self._indexes.get(path[:length])
            if index is not None:
                return index
        return None


def _axes_in(option: str, spec: Any) -> list[Any]:
    """Return the axes in an option of `vmap`.

    Raises:
        TypeError: There is something else in it.
    """
    axes = []
    for path, axis in prefix_leaves(option, spec):
        if axis is not None and not isinstance(axis, int):
            raise TypeError(
                f"an axis is an int or None, got {typed_repr(axis)} in {option}"
                f"{path_text(path)}"
            )
        axes.append(axis)
    return axes


class AxisGroups(Groups):
    """The lists that values are put into: one for each leaf of `in_axes`, `out_axes`.

    Args:
        function: The function that is mapped.
        args: The axes of positional arguments; if it is a tuple, with an entry for
            each.
        out: The axes of results.

    Attributes:
        inputs: For each list of values from arguments, the axis.
        outputs: For each list of values from results, the axis.
    """

    def __init__(self, function: UserFunction, args: Any, out: Any) -> None:
        self._function = function
        self._args = args
        self._out = out
        self.inputs: list[Any] = _axes_in("in_axes", args)
        self.inputs += [0, None]  # of keyword arguments, and of what is bound
        self.outputs: list[Any] = _axes_in("out_axes", out)
        self.count: int = len(self.inputs) + len(self.outputs)

    def of_call(self, roots: Any, /) -> Places:
        """Return which list each value of a call is put into.

        Args:
            roots: Arguments, keywords and what the function is bound to.

        Raises:
            StructureError: The option does not fit.
        """
        args = roots[0]
        spec = self._args
        if isinstance(spec, tuple) and len(spec) != len(args):
            raise StructureError(
                f"in_axes is of length {len(spec)}, and there are {len(args)} arguments"
            )

        def name_of(path: Path) -> str:
            # for errors alone, so the structure is not needed before
            return self._function.place_name(path, flatten_graph(roots).structure)

        leaves = prefix_leaves("in_axes", spec, args, (ARGS,), name_of)
        paths = [path for path, _ in leaves]
        return Places("in_axes", [*paths, (KWARGS,), (BOUND,)], 0, name_of)

    def of_result(self, result: Any, /) -> Places:
        """Return which list each value of a result is put into."""

        def name_of(path: Path) -> str:
            return f"the result{path_text(path[1:], flatten_graph(result).structure)}"

        leaves = prefix_leaves("out_axes", self._out, result, (RESULT,), name_of)
        paths = [path for path, _ in leaves]
        return Places("out_axes", paths, len(self.inputs), name_of)

"""What options of transforms say of the values in objects: by filter, or one by one.

`StateAxes` gives axes, `DiffState` what is differentiated, `Carry` what goes from one
step of a loop to the next; `prefix` makes an object of axes. Knows no framework, and
nothing of transforms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar

from ..core.walk import unlink
from ..kinds import Kind
from ..nn.filters import Filter, PathIn, judge, predicates
from ..nn.graph import flatten_graph, kinds_of, unflatten_graph
from ..nn.states import State, to_flat_state
from ..nn.variables import Variable
from ..safely import Frozen, clip, described, shown


__all__ = ["Carry", "DiffState", "StateAxes", "prefix"]

T = TypeVar("T")
Path: TypeAlias = tuple[Any, ...]
Pairs: TypeAlias = Mapping[Any, Any] | Iterable[tuple[Filter, Any]]


class Carry:
    """Stands in the axes of `scan` for what goes from one step to the next.

    Written as the class: `in_axes=(Carry, 0)`.

    Example:
        >>> from leafwise import nn
        >>> nn.StateAxes({nn.Param: 0, ...: nn.Carry})
        StateAxes({Param: 0, ...: Carry})

    The idea is that of `flax.nnx.Carry`.
    """


class StateAxes(Frozen, Mapping[Filter, Any]):
    """Axes for the values in objects, by filter; the first that means a value counts.

    It stands in the axes of `vmap` and `scan` where an object does, or a tree with
    objects in it. Filters see paths from the outermost object on.

    Args:
        axes: A mapping of filters and axes, their pairs, or a `State` of axes.

    Attributes:
        filters: The filters, see :mod:`leafwise.nn.filters`.
        axes: For each, an int, None, or `Carry`.

    Raises:
        TypeError: A filter is none, or an axis is none.
        ValueError: A filter comes after `...`.

    Example:
        >>> from leafwise import nn
        >>> axes = nn.StateAxes({nn.Param: 0, ...: None})
        >>> axes[nn.Param], axes.axes
        (0, (0, None))

    The idea is that of `flax.nnx.StateAxes`.
    """

    __slots__ = ("_meant", "axes", "filters")
    __match_args__ = ("filters", "axes")

    filters: tuple[Filter, ...]
    axes: tuple[Any, ...]
    _meant: tuple[Callable[[Path, Any], bool], ...]

    def __init__(self, axes: Pairs | State) -> None:
        pairs = _pairs(axes)
        filters = tuple(filter for filter, _ in pairs)
        self._set(filters, tuple(axis for _, axis in pairs))
        for axis in self.axes:
            if axis is not None and axis is not Carry and not _is_index(axis):
                raise TypeError(
                    f"the axes in StateAxes must be ints, None or Carry, got "
                    f"{described(axis)}"
                )
        object.__setattr__(self, "_meant", predicates(filters))

    def place(self, path: Path, value: Any, kind: Kind = Kind.DATA) -> int | None:
        """Return the number of the first filter that means a value, or None."""
        for number, meant in enumerate(self._meant):
            if judge(meant, path, value, kind):
                return number
        return None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(zip(self.filters, self.axes, strict=True)),)

    def __getitem__(self, filter: Filter) -> Any:
        for known, axis in zip(self.filters, self.axes, strict=True):
            if known is filter or known == filter:
                return axis
        raise KeyError(filter)

    def __iter__(self) -> Iterator[Filter]:
        return iter(self.filters)

    def __len__(self) -> int:
        return len(self.filters)

    __eq__ = Frozen.__eq__
    __hash__ = Frozen.__hash__

    def __repr__(self) -> str:
        pairs = zip(self.filters, self.axes, strict=True)
        return (
            f"StateAxes({{{', '.join(f'{_said(a)}: {_said(b)}' for a, b in pairs)}}})"
        )


class DiffState(Frozen):
    """Says in `argnums` which values of an object are differentiated.

    Args:
        argnum: The position of the argument.
        filter: A filter, see :mod:`leafwise.nn.filters`.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> import pytest
        >>> jnp = pytest.importorskip("jax.numpy")
        >>> model = lw.Dict(w=nn.Param(2.0), seen=nn.BatchStat(3.0))
        >>> by_seen = nn.grad(lambda m: m.w * m.seen, nn.DiffState(0, nn.BatchStat))
        >>> float(by_seen(model).seen)
        2.0

    The idea is that of `flax.nnx.DiffState`.
    """

    __slots__ = ("argnum", "filter")
    __match_args__ = ("argnum", "filter")

    argnum: int
    filter: Filter

    def __init__(self, argnum: int, filter: Filter) -> None:
        if not _is_index(argnum):
            raise TypeError(f"argnum must be an int, got {described(argnum)}")
        self._set(argnum, filter)


def prefix(tree: T, axes: Pairs | StateAxes | Callable[[Path, Any], Any], /) -> T:
    """Return a tree with objects in it, with an axis in place of each value.

    Args:
        tree: An object, or containers with objects in them.
        axes: By filter, as `StateAxes` takes them; or a function that takes the path
            and the value or variable, and returns the axis.

    Returns:
        A new tree of the same structure, for `in_axes` and `out_axes`.

    Raises:
        ValueError: No filter means a value.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> model = lw.Dict(w=nn.Param(2.0), seen=nn.BatchStat(3.0))
        >>> axes = nn.prefix(model, {nn.Param: 0, ...: None})
        >>> axes.w.get_raw_value(), axes.seen.get_raw_value()
        (0, None)

    The idea is that of `flax.nnx.prefix`.
    """
    known = axes if callable(axes) or isinstance(axes, StateAxes) else StateAxes(axes)
    flat = flatten_graph((tree,))

    def axis_of(path: Path, leaf: Any, kind: Kind) -> Any:
        if not isinstance(known, StateAxes):
            return known(path, leaf)
        place = known.place(path, leaf, kind)
        if place is None:
            raise ValueError(f"{shown(known)} says nothing of the value at {path}")
        return known.axes[place]

    found = [
        axis_of(unlink(link)[1:], leaf, kind)
        for link, leaf, kind in zip(
            flat.links, flat.leaves, kinds_of(flat.code), strict=True
        )
    ]
    leaves = (
        leaf.replace(axis) if isinstance(leaf, Variable) else axis
        for leaf, axis in zip(flat.leaves, found, strict=True)
    )
    made: T = unflatten_graph(flat.code, leaves)[0]
    return made


def _pairs(axes: Any) -> list[tuple[Filter, Any]]:
    """Return filters with axes; those of a `State` are paths."""
    if isinstance(axes, State):
        return [
            (
                PathIn(path),
                leaf.get_raw_value() if isinstance(leaf, Variable) else leaf,
            )
            for path, leaf in to_flat_state(axes).items()
        ]
    pairs = axes.items() if isinstance(axes, Mapping) else axes
    try:
        return [(filter, axis) for filter, axis in pairs]
    except (TypeError, ValueError):
        raise TypeError(
            "StateAxes takes a mapping of filters and axes, or pairs of them, got "
            f"{clip(axes)}"
        ) from None


def _is_index(value: Any) -> bool:
    return hasattr(value, "__index__")


def _said(value: Any) -> str:
    if value is ...:
        return "..."
    return value.__name__ if isinstance(value, type) else shown(value)

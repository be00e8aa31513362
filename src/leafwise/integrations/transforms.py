"""jax's transforms, so that they keep shared references and write changes back."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

from ..core.safely import shown
from ..objects.filters import Filter, predicate
from ..objects.graphdef import GraphDef, Taken, build, take
from ..objects.state import from_flat_state, unlink
from ..objects.variable_types import Param
from ..objects.variables import Variable
from .share import put_back, run, share


__all__ = ["grad", "jit", "value_and_grad", "vmap"]

Axes = int | None | Sequence[int | None]


def jit(function: Callable[..., Any], /, **options: Any) -> Callable[..., Any]:
    """Compile a function with jax; objects keep their references.

    Args:
        function: The function.
        **options: Those of `jax.jit` that name no arguments.

    Returns:
        A function of the same arguments; see `share`.

    Example:
        >>> import leafwise as lw
        >>> import pytest
        >>> jax = pytest.importorskip("jax")
        >>> counter = lw.Dict(count=lw.Variable(0))
        >>> @lw.integrations.jit
        ... def step(counter):
        ...     counter.count[...] += 1
        ...     return counter
        >>> step(counter) is counter, int(counter.count)
        (True, 1)

    The idea is that of `flax.nnx.jit`.
    """
    jax = importlib.import_module("jax")
    made = share(functools.partial(jax.jit, **options))
    return made(function)


def _part(link: Any) -> tuple[Any, ...]:
    """Return where a value stands: `(0, position)`, `(1, keyword)` or `(2, ...)`."""
    return unlink(link)[:2]


# ------------------------------------------------------------------------- vmap


def vmap(
    function: Callable[..., Any], /, *, in_axes: Axes = 0, out_axes: int | None = 0
) -> Callable[..., Any]:
    """Map a function over an axis with jax; objects keep their references.

    Args:
        function: The function.
        in_axes: The axis of each positional argument that is mapped, None for those
            that are not; one for all, or one for each. Keywords are mapped over axis 0.
        out_axes: The axis of the results.

    Returns:
        A function of the same arguments. What it changes in an argument is written back
        along the axis of the argument; see `share`.

    Raises:
        ValueError: An object stands in two arguments with different axes, or there are
            not as many axes as arguments.

    Example:
        >>> import leafwise as lw
        >>> import pytest
        >>> jnp = pytest.importorskip("jax.numpy")
        >>> layers = lw.Dict(w=lw.Param(jnp.arange(3.0)))
        >>> times = lw.integrations.vmap(lambda l, x: l.w * x, in_axes=(0, None))
        >>> times(layers, 2.0).tolist()
        [0.0, 2.0, 4.0]

    The idea is that of `flax.nnx.vmap`.
    """
    jax = importlib.import_module("jax")

    @functools.wraps(function)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        one_for_all = in_axes is None or isinstance(in_axes, int)
        axes: Any = [in_axes] * len(args) if one_for_all else in_axes
        if len(axes) != len(args):
            raise ValueError(f"in_axes has {len(axes)} axes for {len(args)} arguments")

        def axis_of(link: Any) -> int | None:
            kind, name = _part(link)
            found: int | None = axes[name] if kind == 0 else 0
            return found

        taken = take((args, kwargs))
        _refuse_mixed(taken, axis_of)
        groups: dict[str, int | None] = {f"axis {axis}": axis for axis in [*axes, 0]}

        def group_of(link: Any) -> str:
            return "result" if unlink(link)[0] == 2 else f"axis {axis_of(link)}"

        def pure(graphdef: GraphDef, leaves: list[Any]) -> Any:
            _, outline, values = run(function, graphdef, leaves, group_of)
            return outline, {name: values.get(name, []) for name in (*groups, "result")}

        leaf_axes = [axis_of(link) for link in taken.links]
        transformed = jax.vmap(
            pure,
            in_axes=(None, leaf_axes),
            out_axes=(None, {**groups, "result": out_axes}),
        )
        graphdef = GraphDef(tuple(taken.code))
        return put_back(taken, *transformed(graphdef, taken.leaves))

    return mapped


def _refuse_mixed(taken: Taken, axis_of: Callable[[Any], int | None]) -> None:
    """Refuse an object that stands in arguments with different axes."""
    for number, link, _ in taken.again:
        first = taken.first[number]
        if axis_of(first) != axis_of(link):
            name = type(taken.tracked[number]).__name__
            raise ValueError(
                f"the {name} at {unlink(first)} is mapped over axis {axis_of(first)}, "
                f"and stands again at {unlink(link)}, which is mapped over axis "
                f"{axis_of(link)}"
            )


# ------------------------------------------------------------------------- grad


def value_and_grad(
    function: Callable[..., Any],
    /,
    *,
    argnums: int | Sequence[int] = 0,
    wrt: Filter | tuple[Filter, ...] = Param,
    has_aux: bool = False,
) -> Callable[..., Any]:
    """Differentiate a function with jax; objects keep their references.

    Args:
        function: Returns a number, or, with `has_aux`, a number and anything.
        argnums: The position of the argument that is differentiated, or of several.
        wrt: Which values of an object are differentiated, see
            :mod:`leafwise.filters`; one filter for all arguments, or a tuple with one
            for each. Of an argument without objects, such as an array or a `State`,
            all is.
        has_aux: Whether the function returns something beside the number.

    Returns:
        A function of the same arguments that returns the number, or the number and what
        is beside it, and the gradients: a `State` for an object, what the argument is
        for anything else; a tuple of these if `argnums` are several. What the function
        changes is changed in the caller's objects; see `share`.

    Raises:
        ValueError: A filter means no value, or there is no such argument.

    Example:
        >>> import leafwise as lw
        >>> import pytest
        >>> jnp = pytest.importorskip("jax.numpy")
        >>> model = lw.Dict(w=lw.Param(jnp.ones(2)), offset=lw.data(3.0))
        >>> loss = lambda model, x: (model.w * x).sum() + model.offset
        >>> value, gradients = lw.integrations.value_and_grad(loss)(model, jnp.ones(2))
        >>> float(value), gradients.w.value.tolist(), [*gradients]
        (5.0, [1.0, 1.0], ['w'])

    The idea is that of `flax.nnx.value_and_grad`.
    """
    jax = importlib.import_module("jax")
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    filters = wrt if isinstance(wrt, tuple) else (wrt,) * len(numbers)
    pairs = [*zip(numbers, map(predicate, filters), strict=True)]

    def split_result(result: Any) -> tuple[Any, Any]:
        return result if has_aux else (result, None)

    def group_of(_link: Any) -> str:
        return "all"

    @functools.wraps(function)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        taken = take((args, kwargs))
        graphdef = GraphDef(tuple(taken.code))
        targets = [_target(taken, args, number, meant) for number, meant in pairs]
        chosen = [*dict.fromkeys(place for places, _ in targets for place in places)]

        def pure(wanted: list[Any], leaves: list[Any]) -> Any:
            leaves = [*leaves]
            for place, value in zip(chosen, wanted, strict=True):
                leaves[place] = value
            value, *rest = run(function, graphdef, leaves, group_of, split_result)
            return value, tuple(rest)

        wanted = [taken.leaves[place] for place in chosen]
        transformed = jax.value_and_grad(pure, has_aux=True)
        (value, rest), found = transformed(wanted, taken.leaves)
        aux = put_back(taken, *rest)
        by_place = dict(zip(chosen, found, strict=True))
        gradients = tuple(
            together([by_place[place] for place in places])
            for places, together in targets
        )
        several = not isinstance(argnums, int)
        return ((value, aux) if has_aux else value), (
            gradients if several else gradients[0]
        )

    return differentiated


Target = tuple[list[int], Callable[[list[Any]], Any]]


def _target(
    taken: Taken, args: tuple[Any, ...], number: int, meant: Callable[[Any, Any], bool]
) -> Target:
    """Return which values are differentiated for an argument.

    Returns:
        Their places, and what makes the gradient of the argument of their gradients.
    """
    if not -len(args) <= number < len(args):
        raise ValueError(f"argnums has {number}, but there are {len(args)} arguments")
    number %= len(args)
    alone = take([args[number]])
    if all(isinstance(obj, Variable) for obj in alone.tracked):
        return _whole(taken, alone, number)
    paths = [unlink(link) for link in taken.links]
    places = [
        place
        for place, path in enumerate(paths)
        if path[:2] == (0, number) and meant(path[2:], taken.leaves[place])
    ]
    if not places:
        raise ValueError(
            f"{shown(meant)} means no value of argument {number}: there is nothing to "
            "differentiate"
        )
    names = [paths[place][2:] for place in places]
    return places, lambda found: from_flat_state(zip(names, found, strict=True))


def _whole(taken: Taken, alone: Taken, number: int) -> Target:
    """Return all values of an argument without objects; its gradient is like it."""
    by_path = {unlink(link): place for place, link in enumerate(taken.links)}
    by_id = {id(leaf): place for place, leaf in enumerate(taken.leaves)}
    places = [
        by_id[id(leaf)]
        if isinstance(leaf, Variable)
        else by_path[0, number, *unlink(link)[1:]]
        for leaf, link in zip(alone.leaves, alone.links, strict=True)
    ]
    return places, lambda found: build(alone.code, found)[0]


def grad(
    function: Callable[..., Any],
    /,
    *,
    argnums: int | Sequence[int] = 0,
    wrt: Filter | tuple[Filter, ...] = Param,
    has_aux: bool = False,
) -> Callable[..., Any]:
    """Differentiate a function with jax; as `value_and_grad`, without the value.

    Args:
        function, argnums, wrt, has_aux: As for `value_and_grad`.

    Returns:
        A function of the same arguments that returns the gradients, or, with `has_aux`,
        these and what is beside the number.

    Raises:
        ValueError: A filter means no value, or there is no such argument.

    Example:
        >>> import leafwise as lw
        >>> import pytest
        >>> jnp = pytest.importorskip("jax.numpy")
        >>> model = lw.Dict(w=lw.Param(jnp.ones(2)), offset=lw.data(3.0))
        >>> gradients = lw.integrations.grad(lambda m: (m.w ** 2).sum())(model)
        >>> gradients.w.value.tolist()
        [2.0, 2.0]

    The idea is that of `flax.nnx.grad`.
    """
    both = value_and_grad(function, argnums=argnums, wrt=wrt, has_aux=has_aux)

    @functools.wraps(function)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        value, gradients = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return differentiated

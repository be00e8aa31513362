"""jax's transforms, so that they keep shared references and write changes back."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

from ..objects.filters import Filter, predicate
from ..objects.graphdef import GraphDef, Taken, take
from ..objects.state import from_flat_state, unlink
from ..objects.variable_types import Param
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
        >>> lw.integrations.jit.__name__
        'jit'

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
        >>> lw.integrations.vmap.__name__
        'vmap'

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
    argnums: int = 0,
    wrt: Filter = Param,
    has_aux: bool = False,
) -> Callable[..., Any]:
    """Differentiate a function with jax; objects keep their references.

    Args:
        function: Returns a number, or, with `has_aux`, a number and anything.
        argnums: The position of the argument that is differentiated.
        wrt: Which of its values are differentiated; see :mod:`leafwise.filters`.
        has_aux: Whether the function returns something beside the number.

    Returns:
        A function of the same arguments that returns the number, or the number and what
        is beside it, and a `State` of gradients. What the function changes is changed
        in the caller's objects; see `share`.

    Raises:
        ValueError: The filter means no value.

    Example:
        >>> import leafwise as lw
        >>> lw.integrations.value_and_grad.__name__
        'value_and_grad'

    The idea is that of `flax.nnx.value_and_grad`.
    """
    jax = importlib.import_module("jax")
    meant = predicate(wrt)

    def split_result(result: Any) -> tuple[Any, Any]:
        return result if has_aux else (result, None)

    def group_of(_link: Any) -> str:
        return "all"

    @functools.wraps(function)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        taken = take((args, kwargs))
        graphdef = GraphDef(tuple(taken.code))
        paths = [unlink(link) for link in taken.links]
        chosen = [
            place
            for place, path in enumerate(paths)
            if path[:2] == (0, argnums) and meant(path[2:], taken.leaves[place])
        ]
        if not chosen:
            raise ValueError(
                f"{meant!r} means no value of argument {argnums}: there is nothing to "
                "differentiate"
            )

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
        pairs = zip(chosen, found, strict=True)
        gradients = from_flat_state((paths[place][2:], g) for place, g in pairs)
        return ((value, aux) if has_aux else value), gradients

    return differentiated


def grad(
    function: Callable[..., Any],
    /,
    *,
    argnums: int = 0,
    wrt: Filter = Param,
    has_aux: bool = False,
) -> Callable[..., Any]:
    """Differentiate a function with jax; as `value_and_grad`, without the value.

    Args:
        function, argnums, wrt, has_aux: As for `value_and_grad`.

    Returns:
        A function of the same arguments that returns a `State` of gradients, or, with
        `has_aux`, that and what is beside the number.

    Raises:
        ValueError: The filter means no value.

    Example:
        >>> import leafwise as lw
        >>> lw.integrations.grad.__name__
        'grad'

    The idea is that of `flax.nnx.grad`.
    """
    both = value_and_grad(function, argnums=argnums, wrt=wrt, has_aux=has_aux)

    @functools.wraps(function)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        value, gradients = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return differentiated

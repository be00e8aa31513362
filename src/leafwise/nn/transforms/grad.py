"""`grad` and `value_and_grad`: derivatives of functions of objects.

A function is differentiated by the values that filters select in its arguments. All
other values, and the changes that the function makes, pass through unchanged.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import (
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

from ..._lazy import need
from ..._text import add_note, safe_repr, typed_repr
from ...fields import Kind
from ..filters import Filter, judge, predicate, tag_hint
from ..flatgraph import FlatGraph, flatten_graph, kinds_of, unflatten_graph
from ..pytree import Pytree
from ..states import State, from_flat_state
from ..variables import Param, Variable, bare
from .calls import (
    call_on_copies,
    put_back,
)
from .functions import (
    ARGS,
    Call,
    UserFunction,
    check_options,
    dtype_of,
    with_value,
    wraps,
)


__all__ = ["grad", "value_and_grad"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
ObjectT = TypeVar("ObjectT", bound=Pytree)
R_co = TypeVar("R_co", covariant=True)
Argnums: TypeAlias = int | Sequence[int]

Loose = TypeVar("Loose", bound="Callable[Concatenate[object, ...], Any]")
"""A function whose first argument may be anything, such as a lambda.

It is a type variable so that no checker takes the parameter of a lambda for an `object`
that has no attributes.
"""


class Unchecked(Protocol[R_co]):
    """A function of which only the result is known."""

    def __call__(self, *args: Any, **kwargs: Any) -> R_co:
        """Call the function."""
        ...


class GradOptions(TypedDict, total=False):
    """The options of `grad` and `value_and_grad` that do not change the types."""

    wrt: Filter | tuple[Filter, ...]
    holomorphic: bool
    allow_int: bool


class AllGradOptions(GradOptions, total=False):
    """The same, and whether the function returns a pair."""

    has_aux: bool


Of: TypeAlias = Callable[Concatenate[T, P], R]
"""A function whose first argument is of a type."""

No: TypeAlias = Literal[False]


@overload
def value_and_grad(
    f: Loose, /, *, has_aux: bool = ..., **options: Unpack[GradOptions]
) -> Unchecked[tuple[Any, Any]]: ...
@overload
def value_and_grad(
    f: Of[ObjectT, P, R], /, *, has_aux: bool = ..., **options: Unpack[GradOptions]
) -> Of[ObjectT, P, tuple[R, State]]: ...
@overload
def value_and_grad(
    f: Of[T, P, R], /, *, has_aux: bool = ..., **options: Unpack[GradOptions]
) -> Of[T, P, tuple[R, T]]: ...
@overload
def value_and_grad(
    f: Call | None = ..., /, argnums: Argnums = ..., **options: Unpack[AllGradOptions]
) -> Any: ...


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
        argnums: The position of the argument to differentiate, or several positions.
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
        the function are applied to your objects.

    Raises:
        ValueError: The filters match no value of any argument, or there is no such
            argument.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> import pytest
        >>> jnp = pytest.importorskip("jax.numpy")
        >>> model = nn.Dict(w=nn.Param(jnp.ones(2)), offset=lw.data(3.0))
        >>> loss = lambda model, x: (model.w * x).sum() + model.offset
        >>> value, gradients = nn.value_and_grad(loss)(model, jnp.ones(2))
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
    is_single = isinstance(argnums, int)
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    filters = wrt if isinstance(wrt, tuple) else (wrt,) * len(numbers)
    if len(filters) != len(numbers):
        raise ValueError(f"wrt has {len(filters)} filters for {len(numbers)} argnums")
    selections = list(zip(numbers, map(predicate, filters), strict=True))
    user_function = UserFunction(function)
    options["has_aux"] = True  # the changes to objects are auxiliary data to jax

    def split_result(result: Any) -> tuple[Any, Any]:
        if not has_aux:
            return result, None
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(
                "with has_aux=True the function must return a pair of a number and "
                f"auxiliary data; it returned {typed_repr(result)}"
            )
        return result

    @wraps(function)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        jax = need("jax", "nn.grad")
        flat = flatten_graph((args, kwargs, user_function.bound), traced=True)
        graphdef = flat.graphdef
        inputs = list(map(bare, flat.leaves))
        targets = _targets(flat, args, selections)
        # A variable that two arguments share is differentiated once.
        shared = {index for indexes, _ in targets for index in indexes}
        indexes = sorted(shared)

        def pure(variables: list[Any]) -> Any:
            values = list(inputs)
            for index, value in zip(indexes, variables, strict=True):
                values[index] = value
            number, changes, lists = call_on_copies(
                user_function,
                graphdef,
                values,
                keep=lambda _index, _list: True,
                split_result=split_result,
            )
            return number, (changes, lists)

        differentiate = jax.value_and_grad(user_function.named(pure), **options)
        try:
            output, derivatives = differentiate([inputs[index] for index in indexes])
        except TypeError as error:
            if not allow_int:
                _note_type(error, user_function, flat, indexes)
            raise
        value, (changes, lists) = output
        aux = put_back(changes, lists, inputs, flat.tracked)
        by_index = dict(zip(indexes, derivatives, strict=True))
        gradients = tuple(
            join([with_value(flat.leaves[index], by_index[index]) for index in target])
            for target, join in targets
        )
        result = (value, aux) if has_aux else value
        return result, gradients[0] if is_single else gradients

    return differentiated


def _note_type(
    error: TypeError, function: UserFunction, flat: FlatGraph, indexes: Sequence[int]
) -> None:
    """Note on an error which value jax cannot differentiate, if there is one.

    Args:
        error: The error.
        function: The function.
        flat: The arguments.
        indexes: The indexes of what is differentiated.
    """
    numpy = sys.modules["jax"].numpy
    for index in indexes:
        value = bare(flat.leaves[index])
        dtype = dtype_of(value)
        if dtype is None or not numpy.issubdtype(dtype, numpy.inexact):
            name = function.place_name(flat.paths[index], flat.structure)
            type_name = type(value).__name__ if dtype is None else dtype.name
            add_note(
                error,
                f"{name} of {function} is of type {type_name}, by which jax cannot "
                "differentiate: choose other arguments (argnums), or some values of "
                "this one (wrt)",
            )
            return


Target: TypeAlias = tuple[list[int], Callable[[list[Any]], Any]]
"""The indexes of the values that are differentiated for an argument, and a function
from their gradients to the gradient of the argument."""


def _targets(
    flat: FlatGraph, args: tuple[Any, ...], selections: list[tuple[int, Call]]
) -> list[Target]:
    """Return what is differentiated for each argument.

    Raises:
        ValueError: There is no such argument, or nothing to differentiate.
    """
    count = len(args)
    for number, _ in selections:
        if not -count <= number < count:
            raise ValueError(f"argnums has {number}, but there are {count} arguments")
    numbers = [number % count for number, _ in selections]
    if len(set(numbers)) != len(numbers):
        raise ValueError("argnums contains an argument twice")
    kinds = kinds_of(flat.structure)
    targets = [
        _target(flat, kinds, args[number], number, filter)
        for number, (_, filter) in zip(numbers, selections, strict=True)
    ]
    if not any(indexes for indexes, _ in targets):
        frozen = kinds.count(Kind.FROZEN)
        note = f" ({frozen} of its values are frozen)" if frozen else ""
        filters = " or ".join(
            dict.fromkeys(safe_repr(filter) for _, filter in selections)
        )
        raise ValueError(
            f"{filters} matches no value of argument {', '.join(map(str, numbers))}: "
            f"there is nothing to differentiate{note}"
            f"{tag_hint(*(filter for _, filter in selections))}"
        )
    return targets


def _target(
    flat: FlatGraph,
    kinds: list[Kind],
    arg: Any,
    number: int,
    filter: Call,
) -> Target:
    """Return what is differentiated for one argument."""
    own = flatten_graph(arg)
    if not all(isinstance(obj, Variable) for obj in own.tracked):
        indexes = [
            index
            for index, path in enumerate(flat.paths)
            if path[:2] == (ARGS, number)
            and kinds[index] is not Kind.FROZEN
            and judge(filter, path[2:], flat.leaves[index], kinds[index])
        ]
        paths = [flat.paths[index][2:] for index in indexes]
        return indexes, lambda values: from_flat_state(zip(paths, values, strict=True))

    # There is no object in it, so all of it is differentiated. A variable may stand
    # in an earlier argument as well, where its path is another one.
    index_at: dict[Any, int] = {path: n for n, path in enumerate(flat.paths)}
    index_at.update((id(leaf), n) for n, leaf in enumerate(flat.leaves))
    indexes = [
        index_at[id(leaf) if isinstance(leaf, Variable) else (ARGS, number, *path)]
        for leaf, path in zip(own.leaves, own.paths, strict=True)
    ]
    return indexes, lambda values: unflatten_graph(own.structure, values)


@overload
def grad(
    f: Loose, /, *, has_aux: bool = ..., **options: Unpack[GradOptions]
) -> Unchecked[Any]: ...
@overload
def grad(
    f: Of[ObjectT, P, Any], /, *, has_aux: No = ..., **options: Unpack[GradOptions]
) -> Of[ObjectT, P, State]: ...
@overload
def grad(
    f: Of[T, P, Any], /, *, has_aux: No = ..., **options: Unpack[GradOptions]
) -> Of[T, P, T]: ...
@overload
def grad(
    f: Call | None = ..., /, argnums: Argnums = ..., **options: Unpack[AllGradOptions]
) -> Any: ...


def grad(
    function: Call | None = None,
    /,
    argnums: Argnums = 0,
    **options: Unpack[AllGradOptions],
) -> Any:
    """Differentiate a function with jax; like `value_and_grad`, without the value.

    Args:
        function, argnums, wrt, has_aux, holomorphic, allow_int: See `value_and_grad`.

    Returns:
        A function of the same arguments that returns the gradients. With `has_aux`, it
        returns the gradients and the other value.

    Raises:
        ValueError: See `value_and_grad`.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> import pytest
        >>> jnp = pytest.importorskip("jax.numpy")
        >>> model = nn.Dict(w=nn.Param(jnp.ones(2)), offset=lw.data(3.0))
        >>> gradients = nn.grad(lambda m: (m.w ** 2).sum())(model)
        >>> gradients.w.value.tolist()
        [2.0, 2.0]

    Modelled on `flax.nnx.grad`.
    """
    check_options("grad", options, AllGradOptions)
    if function is None:
        return functools.partial(grad, argnums=argnums, **options)
    differentiate: Call = value_and_grad
    both = differentiate(function, argnums, **options)

    @wraps(function)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        value, gradients = both(*args, **kwargs)
        return (gradients, value[1]) if options.get("has_aux") else gradients

    return differentiated

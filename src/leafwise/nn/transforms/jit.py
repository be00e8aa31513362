"""`jit`, `remat` and `eval_shape`: transforms that see only structures and values.

Into a function that jax compiles go the structure of the arguments, which is static,
and bare values; out come the values that changed. An array that the function did not
change stays in the caller's object, and is never copied.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterable, Iterator
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
from ..._text import add_note, short_repr
from ...core.register import ComparableStaticNodeType
from ...core.registry import install
from ...equality import exact
from ..flatgraph import GraphDef, LastGraph
from .calls import (
    ARGS,
    KWARGS,
    Call,
    Changes,
    Path,
    call_on_copies,
    check_options,
    has_objects,
    place_name,
    put_back,
    unbind,
    wraps,
)


__all__ = ["eval_shape", "jit", "remat"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Numbers: TypeAlias = int | Iterable[int] | None
Names: TypeAlias = str | Iterable[str] | None
Static: TypeAlias = dict[Path, Any]


class ArgumentSelection:
    """The arguments that an option means, by number and by name.

    Where only numbers, or only names, are given, the signature of the function says
    what else they mean, as in jax. Negative numbers count from the end of the
    positional parameters; of the arguments, if the function takes any number of them.

    Args:
        word: `"static"` or `"donate"`, the beginning of the options' names.
        function: The function.
        options: A dict, from which `..._argnums` and `..._argnames` are taken out.

    Raises:
        TypeError: They are not numbers, or not names.
        ValueError: The function has no such argument.
    """

    __slots__ = ("names", "numbers")

    def __init__(self, word: str, function: Call, options: dict[str, Any]) -> None:
        numbers = options.pop(f"{word}_argnums", None)
        names = options.pop(f"{word}_argnames", None)
        self.numbers: set[int] = _as_numbers(numbers)
        self.names: set[Any] = _as_names(names)
        if not self:
            return
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):  # such as a function that is written in C
            return
        parameters = list(signature.parameters.values())
        kinds = {parameter.kind for parameter in parameters}
        positional = [p for p in parameters if p.kind in _POSITIONAL]
        if inspect.Parameter.VAR_POSITIONAL not in kinds:
            count = len(positional)
            for number in self.numbers:
                if not -count <= number < count:
                    raise ValueError(
                        f"{word}_argnums has {number}, but the function takes only "
                        f"{count} positional arguments"
                    )
            self.numbers = {number % count for number in self.numbers}
        if inspect.Parameter.VAR_KEYWORD not in kinds:
            keywords = {p.name for p in parameters if p.kind in _NAMED}
            for name in self.names - keywords:
                raise ValueError(
                    f"{word}_argnames has {name!r}, but the function takes no such "
                    "argument"
                )
        if names is None:
            self.names = {
                parameter.name
                for number, parameter in enumerate(positional)
                if number in self.numbers and parameter.kind in _NAMED
            }
        if numbers is None:
            self.numbers = {
                number
                for number, parameter in enumerate(positional)
                if parameter.name in self.names
            }

    def __bool__(self) -> bool:
        return bool(self.numbers or self.names)

    def means(self, path: Path, count: int) -> bool:
        """Return whether an argument is meant.

        Args:
            path: The path of something in it.
            count: How many positional arguments there are.
        """
        if path[0] == ARGS:
            return path[1] in self.numbers or path[1] - count in self.numbers
        return path[0] == KWARGS and path[1] in self.names


def _as_numbers(numbers: Any) -> set[int]:
    """Return an option that is None, one number or several numbers as a set."""
    if numbers is None:
        return set()
    if hasattr(numbers, "__index__"):
        return {operator.index(numbers)}
    return set(map(operator.index, numbers))


def _as_names(names: Any) -> set[Any]:
    """Return an option that is None, one name or several names as a set."""
    if names is None:
        return set()
    if isinstance(names, str):
        return {names}
    return set(names)


_NAMED: Final = (
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)
_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, _NAMED[0])


class CallKey:
    """The static part of a call beside the structures; a node without leaves.

    Together with the structures and shapes it decides whether jax compiles again.

    Attributes:
        donated: The indexes of the values that are donated.
        static: The static arguments, by place.
        whole: Whether all values come out, also those that are as they were.
    """

    __slots__ = ("donated", "static", "whole")

    def __init__(self, donated: tuple[int, ...], static: Static, whole: bool) -> None:
        self.donated: tuple[int, ...] = donated
        self.static: Static = static
        self.whole: bool = whole

    def __iter__(self) -> Iterator[Any]:
        """Yield what `==` compares."""
        yield self.donated
        yield self.static
        yield self.whole

    def __eq__(self, other: object) -> bool:
        if type(other) is not CallKey:
            return NotImplemented
        return exact.same(tuple(self), tuple(other), typed=True)

    def __hash__(self) -> int:
        return exact.digest(tuple(self), typed=True)


install(
    CallKey, ComparableStaticNodeType, bridge=True, where=__name__.partition(".")[0]
)


def take_static(
    selection: ArgumentSelection, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Static, tuple[Any, ...], dict[str, Any]]:
    """Take the static arguments out of a call.

    Returns:
        The static arguments by place, and the call with None in their places.

    Raises:
        ValueError: One cannot be hashed, or has objects in it.
    """
    if not selection:
        return {}, args, kwargs
    pairs: list[Any] = [((ARGS, n), value) for n, value in enumerate(args)]
    pairs += [((KWARGS, name), value) for name, value in kwargs.items()]
    static = {
        place: value for place, value in pairs if selection.means(place, len(args))
    }
    for place, value in static.items():
        try:
            hash(value)
        except TypeError as error:
            raise ValueError(
                f"{place_name(place)} is static and cannot be hashed: {error}"
            ) from None
        if has_objects(value):
            raise ValueError(
                f"{place_name(place)} is static, but its values may change: it is or "
                f"contains objects ({short_repr(value)}). Pass it as an ordinary "
                "argument; its static fields stay static"
            )
    return static, *put_static(dict.fromkeys(static), args, kwargs)


def put_static(
    static: Static, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Put the static arguments back into a call."""
    return (
        tuple(static.get((ARGS, n), value) for n, value in enumerate(args)),
        {name: static.get((KWARGS, name), value) for name, value in kwargs.items()},
    )


class _Plan:
    """How the calls of a function are split for jax, and put back.

    Args:
        function: The function.
        static: The arguments that are static.
        donated: The arguments that are donated; their values always come out.
    """

    def __init__(
        self, function: Call, static: ArgumentSelection, donated: ArgumentSelection
    ) -> None:
        call, bound = unbind(function)
        self.call = call
        self.bound = bound
        self.static = static
        self.donated = donated
        self.last = LastGraph()
        # The graphdef of the last call, and the indexes of its donated values.
        self._donated_in: tuple[GraphDef[Any] | None, tuple[int, ...]] = (None, ())

        def inside(graphdef: Any, key: Any, values: Any, donated: Any) -> Any:
            return self.run(graphdef, key, values, donated)

        # jax's messages name the wrapped function, and its file and line. The
        # signature must stay ours: jax resolves `donate_argnums` by it.
        renamed: Any = wraps(function)(inside)
        renamed.__signature__ = inspect.Signature.from_callable(
            inside, follow_wrapped=False
        )
        self.inside: Call = renamed

    def split(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        whole: bool = False,
    ) -> tuple[tuple[list[Any], list[Any]], tuple[Any, ...]]:
        """Return the values and the objects of a call, and the arguments of `inside`.

        Args:
            args: The positional arguments.
            kwargs: The keyword arguments.
            whole: Whether all values are to come out, also those that are kept.
        """
        static, args, kwargs = take_static(self.static, args, kwargs)
        graphdef, values, tracked = self.last.flatten((args, kwargs, self.bound))
        inputs = (values, tracked)
        donated = self._donated_indexes(graphdef, len(args))
        key = None
        if donated or static or whole:
            key = CallKey(donated, static, whole)
        donated_values = [values[index] for index in donated]
        if donated:
            others = set(range(len(values))).difference(donated)
            values = [values[index] for index in sorted(others)]
        return inputs, (graphdef, key, values, donated_values)

    def _donated_indexes(self, graphdef: GraphDef[Any], count: int) -> tuple[int, ...]:
        """Return the indexes of the values in donated arguments.

        Args:
            graphdef: The structure of the call.
            count: How many positional arguments there are.
        """
        if not self.donated:
            return ()
        last_graphdef, indexes = self._donated_in
        if last_graphdef is not graphdef:
            indexes = tuple(
                index
                for index, path in enumerate(graphdef.paths)
                if self.donated.means(path, count)
            )
            self._donated_in = (graphdef, indexes)
        return indexes

    def run(
        self,
        graphdef: GraphDef,
        key: CallKey | None,
        others: list[Any],
        donated_values: list[Any],
    ) -> tuple[Changes, list[Any]]:
        """Run the function on what `split` returned; jax compiles this."""
        key = CallKey((), {}, False) if key is None else key
        donated = dict(zip(key.donated, donated_values, strict=True))
        static = key.static
        whole = key.whole
        remaining = iter(others)
        count = len(others) + len(donated)
        values = [
            donated[index] if index in donated else next(remaining)
            for index in range(count)
        ]

        def call(bound: Any, *args: Any, **kwargs: Any) -> Any:
            args, kwargs = put_static(static, args, kwargs)
            return self.call(bound, *args, **kwargs)

        def keep(index: int, _list: int) -> bool:
            return not whole and index not in donated

        return call_on_copies(call, graphdef, values, keep=keep)[1:]

    def around(self, transformed: Call) -> Call:
        """Return the function of objects for what jax made of `inside`."""

        def call(*args: Any, **kwargs: Any) -> Any:
            (values, tracked), inputs = self.split(args, kwargs)
            try:
                changes, lists = transformed(*inputs)
            except TypeError as error:
                _note_untraceable(error, self.inside, inputs[0].paths, values)
                raise
            return put_back(changes, lists, values, tracked)

        return call


def _note_untraceable(
    error: TypeError,
    function: Call,
    paths: Iterable[Path],
    values: Iterable[Any],
) -> None:
    """Note on an error which argument has a value that jax cannot trace, if any has."""
    eval_shape = need("jax", "nn.jit").eval_shape
    for path, value in zip(paths, values, strict=True):
        try:
            eval_shape(_identity, value)
        except TypeError:
            name = function.__qualname__
            add_note(
                error,
                f"{place_name(path)} of {name} is a {type(value).__name__}, "
                "which jax cannot trace: name the argument in static_argnames, or put "
                "the value into a static attribute of a leafwise.Pytree",
            )
            return


def _identity(value: T) -> T:
    return value


# -------------------------------------------------------------------------------- jit


class JitOptions(TypedDict, total=False):
    """The options of `jit`."""

    static_argnums: Numbers
    static_argnames: Names
    donate_argnums: Numbers
    donate_argnames: Names
    keep_unused: bool
    inline: bool
    compiler_options: dict[str, Any] | None


@overload
def jit(
    function: Callable[P, R], /, **options: Unpack[JitOptions]
) -> Callable[P, R]: ...


@overload
def jit(
    function: None = ..., /, **options: Unpack[JitOptions]
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def jit(function: Call | None = None, /, **options: Unpack[JitOptions]) -> Any:
    """Compile a function with jax; shared references between objects are kept.

    The object of a bound method (`jit(model.step)`), the objects in a
    `functools.partial` and an object that is called itself are arguments, too. No
    option refers to them. A call sees their current values, and changes of the function
    are written back to them. A value that the function does not change stays the same
    object, and is not copied, unless it is donated. Arrays are computed where they are:
    place them with `jax.device_put`, and `jax.lax.with_sharding_constraint` inside.

    Args:
        function: The function; without it, a decorator is returned.
        static_argnums: Positions of the arguments that are constants; they must be
            hashable. Negative positions count from the end of the function's
            parameters.
        static_argnames: Names of such arguments. If you give only positions or only
            names, the others are inferred from the signature.
        donate_argnums: Positions of arguments whose memory may be reused for the
            result. Arrays in objects are replaced by the new values; other arrays are
            deleted.
        donate_argnames: Names of such arguments.
        keep_unused, inline, compiler_options: See `jax.jit`.

    Returns:
        A function of the same arguments. After it returns, its changes are applied to
        your objects; if it raises, nothing is changed. For stages such as `lower`, use
        `jax.jit`, which takes modules as they are.

    Raises:
        TypeError: An option is of the wrong type.
        ValueError: There is no argument of a given position or name, or it cannot be
            static.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> import pytest
        >>> jax = pytest.importorskip("jax")
        >>> counter = nn.Dict(count=nn.Variable(0))
        >>> @nn.jit(static_argnames="by")
        ... def step(counter, by):
        ...     counter.count[...] += by
        ...     return counter
        >>> step(counter, by=2) is counter, int(counter.count)
        (True, 2)

    Modelled on `flax.nnx.jit`.
    """
    check_options("jit", options, JitOptions)
    if function is None:
        return functools.partial(jit, **options)
    wrap = wraps(function)
    jax_options = dict[str, Any](options)
    static = ArgumentSelection("static", function, jax_options)
    donated = ArgumentSelection("donate", function, jax_options)
    common = static.names & donated.names or static.numbers & donated.numbers
    if common:
        names = ", ".join(map(repr, sorted(common, key=str)))
        raise ValueError(f"an argument cannot be static and donated at once: {names}")
    plan = _Plan(function, static, donated)
    number = 3 if donated else None  # of the argument of `inside` with donated values
    jax = need("jax", "nn.jit")
    compiled = jax.jit(plan.inside, donate_argnums=number, **jax_options)
    return wrap(plan.around(compiled))


# ----------------------------------------------------------------- remat, eval_shape


class RematOptions(TypedDict, total=False):
    """The options of `remat`."""

    prevent_cse: bool
    static_argnums: Numbers
    policy: Callable[..., bool] | None


@overload
def remat(
    function: Callable[P, R], /, **options: Unpack[RematOptions]
) -> Callable[P, R]: ...


@overload
def remat(
    function: None = ..., /, **options: Unpack[RematOptions]
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def remat(function: Call | None = None, /, **options: Unpack[RematOptions]) -> Any:
    """Recompute intermediate values for the gradient instead of storing them.

    Args:
        function: The function; without it, a decorator is returned.
        prevent_cse: See `jax.checkpoint`.
        static_argnums: Positions of the arguments that are constants; they must be
            hashable.
        policy: Decides which values are stored; see `jax.checkpoint_policies`.

    Returns:
        A function of the same arguments and results, which changes your objects as the
        function does. An array that it does not change stays the same array.

    Raises:
        TypeError: An option is of the wrong type.
        ValueError: There is no argument at a static position, or it cannot be static.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> import pytest
        >>> jnp = pytest.importorskip("jax.numpy")
        >>> layer = nn.Dict(w=nn.Param(3.0), calls=nn.BatchStat(0))
        >>> @nn.remat
        ... def forward(layer, x):
        ...     layer.calls[...] += 1
        ...     return jnp.sin(layer.w * x)
        >>> gradients = nn.grad(forward)(layer, 0.0)
        >>> float(gradients.w), int(layer.calls)
        (0.0, 1)

    Modelled on `flax.nnx.remat`.
    """
    check_options("remat", options, RematOptions)
    if function is None:
        return functools.partial(remat, **options)
    wrap = wraps(function)
    jax = need("jax", "nn.remat")
    jax_options = dict[str, Any](options)
    static = ArgumentSelection("static", function, jax_options)
    donated = ArgumentSelection("donate", function, {})
    plan = _Plan(function, static, donated)
    recomputed = jax.checkpoint(plan.inside, **jax_options)
    return wrap(plan.around(recomputed))


def eval_shape(function: Callable[..., R], /, *args: Any, **kwargs: Any) -> R:
    """Return the result of a function with shapes and dtypes in place of arrays.

    Args:
        function: The function. Its changes to objects do not affect your objects.
        *args: Its arguments; `jax.ShapeDtypeStruct` may take the place of arrays.
        **kwargs: Its keyword arguments.

    Returns:
        The result. Objects in it are new; shared references are kept.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> import pytest
        >>> jnp = pytest.importorskip("jax.numpy")
        >>> make = lambda size: nn.Dict(w=nn.Param(jnp.ones(size.shape)))
        >>> nn.eval_shape(make, jnp.ones((2, 3))).w.value
        ShapeDtypeStruct(shape=(2, 3), dtype=float32)

    Modelled on `flax.nnx.eval_shape`.
    """
    no_arguments = ArgumentSelection("static", function, {})
    plan = _Plan(function, no_arguments, no_arguments)
    _, inputs = plan.split(args, kwargs, whole=True)
    jax = need("jax", "nn.eval_shape")
    changes, lists = jax.eval_shape(plan.inside, *inputs)
    result: R = put_back(changes, lists, (), ())
    return result

"""`jit`, `remat` and `eval_shape`: transforms that see only structures and values.

Into a function that jax compiles go the structure of the arguments, which is static,
and bare values; out come the values that changed. An array that the function did not
change stays in the caller's object, and is never copied.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterable
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
from ..._text import short_repr
from ..flatgraph import GraphDef
from .calls import (
    CallKey,
    CallValues,
    Changes,
    Static,
    call_on_copies,
    put_back,
    put_static,
)
from .functions import (
    ARGS,
    BIND,
    KWARGS,
    Call,
    Path,
    UserFunction,
    check_options,
    has_objects,
    wraps,
)
from .lastgraph import LastGraph


__all__ = ["eval_shape", "jit", "remat"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Numbers: TypeAlias = int | Iterable[int] | None
Names: TypeAlias = str | Iterable[str] | None


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


def take_static(
    function: UserFunction,
    selection: ArgumentSelection,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
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
                f"{function.place_name(place)} of {function} is static and cannot be "
                f"hashed: {error}"
            ) from None
        if has_objects(value):
            raise ValueError(
                f"{function.place_name(place)} of {function} is static, but its values "
                f"may change: it is or contains objects ({short_repr(value)}). Pass it "
                "as an ordinary argument; its static fields stay static"
            )
    return static, *put_static(dict.fromkeys(static), args, kwargs)


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
        self.function = UserFunction(function)
        self.static = static
        self.donated = donated
        self._last_graph = LastGraph()
        self._last_key = CallKey(self.function, GraphDef(None))

        def inside(arguments: CallValues, donated: CallValues | None) -> Any:
            return self.run(arguments, donated)

        self.inside: Call = self.function.named(inside)

    def split(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        whole: bool = False,
    ) -> tuple[tuple[list[Any], list[Any]], tuple[CallValues, CallValues | None]]:
        """Return the values and the objects of a call, and the arguments of `inside`.

        Args:
            args: The positional arguments.
            kwargs: The keyword arguments.
            whole: Whether all values are to come out, also those that are kept.
        """
        static: Static = {}
        if self.static:
            static, args, kwargs = take_static(self.function, self.static, args, kwargs)
        roots = (args, kwargs, self.function.bound)
        graphdef, values, tracked = self._last_graph.flatten(roots)
        key = self._last_key
        if key.graphdef is not graphdef:
            donated = self._donated_indexes(graphdef, len(args))
            key = CallKey(self.function, graphdef, donated)
            self._last_key = key
        if static or whole:
            key = CallKey(self.function, graphdef, key.donated, static, whole)
        if not key.donated:
            return (values, tracked), (CallValues(key, False, values), None)
        others = sorted(set(range(len(values))).difference(key.donated))
        return (values, tracked), (
            CallValues(key, False, [values[index] for index in others]),
            CallValues(key, True, [values[index] for index in key.donated]),
        )

    def _donated_indexes(self, graphdef: GraphDef[Any], count: int) -> tuple[int, ...]:
        """Return the indexes of the values in donated arguments.

        Args:
            graphdef: The structure of the call.
            count: How many positional arguments there are.
        """
        if not self.donated:
            return ()
        return tuple(
            index
            for index, path in enumerate(graphdef.paths)
            if self.donated.means(path, count)
        )

    def run(
        self, arguments: CallValues, donated: CallValues | None
    ) -> tuple[Changes, list[Any]]:
        """Run the function on what `split` returned; jax compiles this."""
        key = arguments.key
        values = list(arguments.values)
        if donated is not None:
            # in ascending order, so that each is in its place when it is inserted
            for index, value in zip(key.donated, donated.values, strict=True):
                values.insert(index, value)

        donated_indexes = set(key.donated)

        def keep(index: int, _list: int) -> bool:
            return not key.whole and index not in donated_indexes

        _, changes, lists = call_on_copies(
            self.function, key.graphdef, values, keep=keep, static=key.static
        )
        return changes, lists

    def around(self, transformed: Call, option: str) -> Call:
        """Return the function of objects for what jax made of `inside`.

        Args:
            transformed: What jax made.
            option: The option that names static arguments.
        """

        def call(*args: Any, **kwargs: Any) -> Any:
            (values, tracked), inputs = self.split(args, kwargs)
            try:
                changes, lists = transformed(*inputs)
            except TypeError as error:
                graphdef = inputs[0].key.graphdef
                way = f"name the argument in {option}"
                self.function.note_untraceable(error, graphdef, values, way)
                raise
            return put_back(changes, lists, values, tracked)

        return call


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
    number = 1 if donated else None  # of the argument of `inside` with donated values
    jax = need("jax", "nn.jit")
    compiled = jax.jit(plan.inside, donate_argnums=number, **jax_options)
    return wrap(plan.around(compiled, "static_argnames"))


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
    return wrap(plan.around(recomputed, "static_argnums"))


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
    (values, _), inputs = plan.split(args, kwargs, whole=True)
    jax = need("jax", "nn.eval_shape")
    try:
        changes, lists = jax.eval_shape(plan.inside, *inputs)
    except TypeError as error:
        graphdef = inputs[0].key.graphdef
        plan.function.note_untraceable(error, graphdef, values, BIND)
        raise
    result: R = put_back(changes, lists, (), ())
    return result

"""Compiled functions of objects: `jit`, `remat` and `eval_shape`.

Into the function that jax compiles go the structure of the arguments, which is static,
and bare values; out come the values that changed. An array that the function did not
change stays in the caller's object, and is never copied.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from operator import index
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

from ...core.register import StaticRule
from ...core.registry import install
from ...equality import exact
from ...lazy import need
from ...safely import clip
from ..graph import GraphDef, LastGraph
from ..pytree import Pytree
from .calls import (
    ARGS,
    KWARGS,
    Call,
    Changes,
    Path,
    call_on_copies,
    dressed,
    has_objects,
    named,
    put_back,
    titled,
    unbind,
)


__all__ = ["eval_shape", "jit", "remat"]

P = ParamSpec("P")
R = TypeVar("R")
ObjectT = TypeVar("ObjectT", bound=Pytree)
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
        several: Any = (numbers,) if hasattr(numbers, "__index__") else numbers or ()
        self.numbers = {*map(index, several)}
        self.names = {*((names,) if isinstance(names, str) else names or ())}
        if not self:
            return
        try:
            parameters = [*inspect.signature(function).parameters.values()]
        except (TypeError, ValueError):  # nobody knows what it takes
            return
        kinds = {one.kind for one in parameters}
        places = [one for one in parameters if one.kind in _POSITIONAL]
        if inspect.Parameter.VAR_POSITIONAL not in kinds:
            for number in self.numbers:
                if not -len(places) <= number < len(places):
                    raise ValueError(
                        f"{word}_argnums has {number}, but the function takes only "
                        f"{len(places)} positional arguments"
                    )
            self.numbers = {number % len(places) for number in self.numbers}
        known = [one.name for one in parameters if one.kind in _NAMED]
        for name in self.names.difference(known):
            if inspect.Parameter.VAR_KEYWORD not in kinds:
                raise ValueError(
                    f"{word}_argnames has {name!r}, but the function takes no such "
                    "argument"
                )
        if names is None:
            meant = [one for n, one in enumerate(places) if n in self.numbers]
            self.names = {one.name for one in meant if one.kind in _NAMED}
        if numbers is None:
            self.numbers = {n for n, p in enumerate(places) if p.name in self.names}

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


_NAMED: Final = (
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)
_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, _NAMED[0])


class CallKey:
    """What a compiled function depends on beside structures; a node without leaves.

    Attributes:
        donated: The indexes of the values that are donated.
        static: The static arguments, by place.
        whole: Whether all values come out, also those that are as they were.
    """

    __slots__ = ("donated", "static", "whole")

    def __init__(self, donated: tuple[int, ...], static: Static, whole: bool) -> None:
        self.donated = donated
        self.static = static
        self.whole = whole

    def _compared(self) -> Any:
        return self.donated, self.static, self.whole

    def __eq__(self, other: object) -> bool:
        if type(other) is not CallKey:
            return NotImplemented
        return exact.same(self._compared(), other._compared(), typed=True)

    def __hash__(self) -> int:
        return exact.digest(self._compared(), typed=True)


install(CallKey, StaticRule, bridge=True, where=__name__.partition(".")[0])


def take_static(
    which: ArgumentSelection, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Static, tuple[Any, ...], dict[str, Any]]:
    """Take the static arguments out of a call.

    Returns:
        The static arguments by place, and the call with None in their places.

    Raises:
        ValueError: One cannot be hashed, or has objects in it.
    """
    if not which:
        return {}, args, kwargs
    pairs: list[Any] = [((ARGS, n), value) for n, value in enumerate(args)]
    pairs += [((KWARGS, name), value) for name, value in kwargs.items()]
    static = {place: x for place, x in pairs if which.means(place, len(args))}
    for place, value in static.items():
        try:
            hash(value)
        except TypeError as error:
            raise ValueError(
                f"{named(place)} is static and cannot be hashed: {error}"
            ) from None
        if has_objects(value):
            raise ValueError(
                f"{named(place)} is static, but its values may change: it is or "
                f"contains objects ({clip(value)}). Pass it as an ordinary argument; "
                "its static fields stay static"
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
        self.call, self.held = unbind(function)
        self.static = static
        self.donated = donated
        self.last = LastGraph()
        self._indexes: tuple[GraphDef[Any] | None, tuple[int, ...]] = None, ()

        def inside(*inputs: Any) -> Any:
            return self.run(*inputs)

        self.inside = titled(inside, function)

    def split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], *, whole: bool = False
    ) -> tuple[tuple[list[Any], list[Any]], tuple[Any, ...]]:
        """Return the values and the objects of a call, and the arguments of `inside`.

        Args:
            args: The positional arguments.
            kwargs: The keyword arguments.
            whole: Whether all values are to come out, also those that are kept.
        """
        static, args, kwargs = take_static(self.static, args, kwargs)
        graphdef, values, tracked = self.last.flatten((args, kwargs, self.held))
        taken = values, tracked
        donated: tuple[int, ...] = ()
        if self.donated:
            known, donated = self._indexes
            if known is not graphdef:
                means, count = self.donated.means, len(args)
                paths = enumerate(graphdef.paths)
                donated = tuple(index for index, path in paths if means(path, count))
                self._indexes = graphdef, donated
        key = CallKey(donated, static, whole) if donated or static or whole else None
        given = [values[index] for index in donated]
        if donated:
            gone = {*donated}
            values = [value for n, value in enumerate(values) if n not in gone]
        return taken, (graphdef, key, values, given)

    def run(
        self, graphdef: GraphDef, key: CallKey | None, kept: list[Any], given: list[Any]
    ) -> tuple[Changes, list[Any]]:
        """Run the function on what `split` returned; jax compiles this."""
        key = CallKey((), {}, False) if key is None else key
        donated = dict(zip(key.donated, given, strict=True))
        static, whole = key.static, key.whole
        rest = iter(kept)
        count = len(kept) + len(given)
        values = [donated[n] if n in donated else next(rest) for n in range(count)]

        def call(held: Any, *args: Any, **kwargs: Any) -> Any:
            args, kwargs = put_static(static, args, kwargs)
            return self.call(held, *args, **kwargs)

        def keep(index: int, _list: int) -> bool:
            return not whole and index not in donated

        return call_on_copies(call, graphdef, values, keep=keep)[1:]

    def around(self, transformed: Call) -> Call:
        """Return the function of objects for what jax made of `inside`."""

        def called(*args: Any, **kwargs: Any) -> Any:
            taken, inputs = self.split(args, kwargs)
            changes, lists = transformed(*inputs)
            return put_back(changes, lists, *taken)

        return called


# -------------------------------------------------------------------------------- jit


class Options(TypedDict, total=False):
    """The options of `jit`."""

    static_argnums: Numbers
    static_argnames: Names
    donate_argnums: Numbers
    donate_argnames: Names
    keep_unused: bool
    inline: bool
    compiler_options: dict[str, Any] | None


@overload
def jit(function: Callable[P, R], /, **options: Unpack[Options]) -> Callable[P, R]: ...


@overload
def jit(
    function: None = ..., /, **options: Unpack[Options]
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def jit(function: Call | None = None, /, **options: Unpack[Options]) -> Any:
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
    if function is None:
        return functools.partial(jit, **options)
    like, rest = dressed(function), dict[str, Any](options)
    static = ArgumentSelection("static", function, rest)
    donated = ArgumentSelection("donate", function, rest)
    common = static.names & donated.names or static.numbers & donated.numbers
    if common:
        said = ", ".join(map(repr, sorted(common, key=str)))
        raise ValueError(f"an argument cannot be static and donated at once: {said}")
    plan = _Plan(function, static, donated)
    numbers = 3 if donated else None
    compiled = need("jax", "nn.jit").jit(plan.inside, donate_argnums=numbers, **rest)
    return like(plan.around(compiled))


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
    if function is None:
        return functools.partial(remat, **options)
    like = dressed(function)
    jax = need("jax", "nn.remat")
    rest = dict[str, Any](options)
    static = ArgumentSelection("static", function, rest)
    donated = ArgumentSelection("donate", function, {})
    plan = _Plan(function, static, donated)
    again = jax.checkpoint(plan.inside, **rest)
    return like(plan.around(again))


@overload
def eval_shape(
    function: Callable[..., ObjectT], /, *args: Any, **kwargs: Any
) -> ObjectT: ...


@overload
def eval_shape(function: Call, /, *args: Any, **kwargs: Any) -> Any: ...


def eval_shape(function: Call, /, *args: Any, **kwargs: Any) -> Any:
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
    nothing = ArgumentSelection("static", function, {})
    plan = _Plan(function, nothing, nothing)
    inputs = plan.split(args, kwargs, whole=True)[1]
    changes, lists = need("jax", "nn.eval_shape").eval_shape(plan.inside, *inputs)
    return put_back(changes, lists, (), ())

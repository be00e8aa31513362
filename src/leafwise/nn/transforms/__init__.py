"""Transforms of jax for functions of objects.

Functions receive objects with their shared references intact, and their changes are
written back to the caller's objects. jax's own control flow, such as `jax.lax.scan` and
`jax.lax.cond`, takes modules as they are, since they are pytrees. jax is imported when
a transform is first used.

Into a function that jax compiles go the structure of the arguments, which is static,
and bare values; out come the values that changed. An array that the function did not
change stays in the caller's object, and is never copied. An option such as `in_axes` is
one value for all, or a tree of values, each of which stands for whatever is below its
place.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import (
    Any,
    Concatenate,
    Final,
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
from ..._text import add_note, safe_repr, short_repr, typed_repr
from ...core.builtins import MappingRule
from ...core.matching import describe
from ...core.register import StaticRule
from ...core.registry import current, install
from ...equality import exact
from ...errors import StructureError
from ...fields import Kind
from ..checks import DataNode
from ..filters import Filter, judge, partition, predicate
from ..graph import (
    FlatGraph,
    GraphDef,
    LastGraph,
    flatten_graph,
    kinds_of,
    unflatten_graph,
)
from ..instance import below, rule_of
from ..pytree import Pytree
from ..states import State, from_flat_state
from ..variables import Param, Variable, bare
from .calls import (
    ARGS,
    HELD,
    KWARGS,
    RESULT,
    Call,
    Changes,
    Groups,
    Path,
    Roots,
    call_on_copies,
    dressed,
    has_objects,
    named,
    pure,
    put_back,
    unbind,
)


__all__ = [
    "eval_shape",
    "grad",
    "jit",
    "prefix",
    "pure",
    "remat",
    "value_and_grad",
    "vmap",
]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
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
        self.numbers: set[int] = {*map(operator.index, several)}
        self.names: set[Any] = {*((names,) if isinstance(names, str) else names or ())}
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
        self.donated: tuple[int, ...] = donated
        self.static: Static = static
        self.whole: bool = whole

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
                f"contains objects ({short_repr(value)}). Pass it as an ordinary "
                "argument; "
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

        def inside(graphdef: Any, key: Any, values: Any, donated: Any) -> Any:
            return self.run(graphdef, key, values, donated)

        # jax's messages name the function of the user and say where it is
        named_inside: Any = dressed(function)(inside)
        named_inside.__signature__ = inspect.Signature.from_callable(
            inside, follow_wrapped=False
        )
        self.inside: Call = named_inside

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
            try:
                changes, lists = transformed(*inputs)
            except TypeError as error:
                values, _ = taken
                _note_untraceable(error, self.inside, inputs[0].paths, values)
                raise
            return put_back(changes, lists, *taken)

        return called


def _note_untraceable(
    error: TypeError, function: Call, paths: Iterable[Path], values: Iterable[Any]
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
                f"{named(path)} of {name} is a {type(value).__name__}, "
                "which jax cannot trace: name the argument in static_argnames, or put "
                "the value into a static attribute of a leafwise.Pytree",
            )
            return


def _identity(value: T) -> T:
    return value


def _check_options(name: str, options: Mapping[str, Any], known: Any) -> None:
    """Refuse options that a transform does not have, as Python does.

    Raises:
        TypeError: There is one.
    """
    for option in options:
        if option not in known.__annotations__:
            raise TypeError(
                f"{name}() got an unexpected keyword argument {option!r}; its options "
                f"are {', '.join(known.__annotations__)}"
            )


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
    _check_options("jit", options, JitOptions)
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
    _check_options("remat", options, RematOptions)
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
    nothing = ArgumentSelection("static", function, {})
    plan = _Plan(function, nothing, nothing)
    inputs = plan.split(args, kwargs, whole=True)[1]
    changes, lists = need("jax", "nn.eval_shape").eval_shape(plan.inside, *inputs)
    result: R = put_back(changes, lists, (), ())
    return result


# -------------------------------------------------------------------------- gradients


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
    is_one = isinstance(argnums, int)
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    filters = wrt if isinstance(wrt, tuple) else (wrt,) * len(numbers)
    if len(filters) != len(numbers):
        raise ValueError(f"wrt has {len(filters)} filters for {len(numbers)} argnums")
    chosen = [*zip(numbers, map(predicate, filters), strict=True)]
    call, held = unbind(function)
    options["has_aux"] = True

    def split_result(result: Any) -> tuple[Any, Any]:
        if not has_aux:
            return result, None
        if not isinstance(result, tuple) or len(result) != 2:
            raise TypeError(
                "with has_aux=True the function must return a pair of a number and "
                f"auxiliary data; it returned {typed_repr(result)}"
            )
        return result

    @dressed(function)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        jax = need("jax", "nn.grad")
        flat = flatten_graph((args, kwargs, held), traced=True)
        graphdef = flat.graphdef
        given = [*map(bare, flat.leaves)]
        targets = _targets(flat, args, chosen)
        indexes = [*dict.fromkeys(index for found, _ in targets for index in found)]

        def pure(wanted: list[Any]) -> Any:
            values = [*given]
            for index, value in zip(indexes, wanted, strict=True):
                values[index] = value
            number, changes, lists = call_on_copies(
                call,
                graphdef,
                values,
                keep=lambda _index, _list: True,
                split_result=split_result,
            )
            return number, (changes, lists)

        wanted = [given[index] for index in indexes]
        (value, (changes, lists)), found = jax.value_and_grad(pure, **options)(wanted)
        aux = put_back(changes, lists, given, flat.tracked)
        by_index = dict(zip(indexes, found, strict=True))
        gradients = tuple(
            join([_like(flat.leaves[index], by_index[index]) for index in some])
            for some, join in targets
        )
        return (value, aux) if has_aux else value, gradients[0] if is_one else gradients

    return differentiated


def _like(leaf: Any, value: Any) -> Any:
    """Return a gradient or axis, in a variable if that is what the leaf is."""
    return leaf.replace(value) if isinstance(leaf, Variable) else value


Target: TypeAlias = tuple[list[int], Callable[[list[Any]], Any]]
"""The indexes of the values that are differentiated for an argument, and a function
that makes the gradient of the argument of theirs."""


def _targets(
    flat: FlatGraph, args: tuple[Any, ...], chosen: list[tuple[int, Call]]
) -> list[Target]:
    """Return what is differentiated for each argument.

    Raises:
        ValueError: There is no such argument, or nothing to differentiate.
    """
    count = len(args)
    for number, _ in chosen:
        if not -count <= number < count:
            raise ValueError(f"argnums has {number}, but there are {count} arguments")
    numbers = [number % count for number, _ in chosen]
    if len({*numbers}) != len(numbers):
        raise ValueError("argnums contains an argument twice")
    kinds = kinds_of(flat.code)
    targets = [
        _target(flat, kinds, args[number], number, meant)
        for number, (_, meant) in zip(numbers, chosen, strict=True)
    ]
    if not any(indexes for indexes, _ in targets):
        frozen = kinds.count(Kind.FROZEN)
        more = f" ({frozen} of its values are frozen)" if frozen else ""
        filters = " or ".join({safe_repr(meant): 0 for _, meant in chosen})
        raise ValueError(
            f"{filters} matches no value of argument {', '.join(map(str, numbers))}: "
            f"there is nothing to differentiate{more}"
        )
    return targets


def _target(
    flat: FlatGraph, kinds: list[Kind], arg: Any, number: int, meant: Call
) -> Target:
    alone = flatten_graph(arg)
    if all(isinstance(obj, Variable) for obj in alone.tracked):  # no objects: all of it
        index_at: dict[Any, int] = {path: n for n, path in enumerate(flat.paths)}
        index_at |= {id(leaf): n for n, leaf in enumerate(flat.leaves)}
        indexes = [
            index_at[id(leaf) if isinstance(leaf, Variable) else (ARGS, number, *path)]
            for leaf, path in zip(alone.leaves, alone.paths, strict=True)
        ]
        return indexes, lambda found: unflatten_graph(alone.code, found)
    indexes = [
        index
        for index, path in enumerate(flat.paths)
        if path[:2] == (ARGS, number)
        and kinds[index] is not Kind.FROZEN
        and judge(meant, path[2:], flat.leaves[index], kinds[index])
    ]
    names = [flat.paths[index][2:] for index in indexes]
    return indexes, lambda found: from_flat_state(zip(names, found, strict=True))


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
    _check_options("grad", options, AllGradOptions)
    if function is None:
        return functools.partial(grad, argnums=argnums, **options)
    differentiate: Call = value_and_grad
    both = differentiate(function, argnums, **options)

    @dressed(function)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        value, gradients = both(*args, **kwargs)
        return (gradients, value[1]) if options.get("has_aux") else gradients

    return differentiated


# ------------------------------------------------------------------------------- vmap


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
    _check_options("vmap", options, VmapOptions)
    if function is None:
        return functools.partial(vmap, in_axes=in_axes, out_axes=out_axes, **options)
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    groups = AxisGroups(in_axes, out_axes)
    call, held = unbind(function)

    @dressed(function)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if kwargs and isinstance(in_axes, tuple) and len(args) < len(in_axes):
            bound = inspect.signature(function).bind(*args, **kwargs)
            args, kwargs = bound.args, bound.kwargs
        return _mapped(call, (args, kwargs, held), groups, options)

    return mapped


def _mapped(call: Call, roots: Roots, groups: AxisGroups, options: VmapOptions) -> Any:
    """Return the result of a mapped function, and write back what it changed."""
    jax = need("jax", "nn.vmap")
    flat = flatten_graph(roots, traced=True)
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
                    f"the {type(flat.tracked[number]).__name__} at {named(first)} is "
                    "the "
                    f"same object as the one at {named(again)}, and can only be mapped "
                    f"in one way: {named(path)} has axis {axis}, and {named(other)} "
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
    rows = [*zip(flat.paths, flat.leaves, kinds_of(flat.code), strict=True)]
    pairs = [*(axes.items() if isinstance(axes, Mapping) else axes)]
    chosen, rest = partition(rows, [only for only, _ in pairs])
    if rest:
        where = flat.paths[rest[0]]
        raise ValueError(f"no filter of prefix matches the value at {where}")
    found = zip(chosen, pairs, strict=True)
    axis_of = {index: axis for some, (_, axis) in found for index in some}
    leaves = [_like(leaf, axis_of[n]) for n, leaf in enumerate(flat.leaves)]
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
            isinstance(rule, MappingRule) and isinstance(theirs, MappingRule)
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

    Attributes:
        inputs: For each list of values from arguments, the axis.
        outputs: For each list of values from results, the axis.
    """

    def __init__(self, args: Any, out: Any) -> None:
        self._args = args
        self._out = out
        self.inputs: list[Any] = [leaf for _, leaf in prefix_leaves("in_axes", args)]
        self.inputs += [0, None]  # of keyword arguments, and of what is bound
        self.outputs: list[Any] = [leaf for _, leaf in prefix_leaves("out_axes", out)]
        self.count: int = len(self.inputs) + len(self.outputs)

    def of_call(self, roots: Any, /) -> Places:
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

    def of_result(self, result: Any, /) -> Places:
        """Return which list each value of a result is put into."""
        leaves = prefix_leaves("out_axes", self._out, result, (RESULT,))
        return Places("out_axes", [path for path, _ in leaves], len(self.inputs))

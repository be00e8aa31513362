"""Compiled functions of objects: `jit`, `remat` and `eval_shape`.

Into the function that jax compiles go the structure of the arguments, which is static,
and bare values; out come the values that changed. An array that the function did not
change stays in the caller's object, and is never copied.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import (
    Any,
    Concatenate,
    Final,
    Generic,
    NamedTuple,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    overload,
)

from ...core.register import StaticRule
from ...core.registry import install
from ...core.walk import unlink
from ...equality import exact
from ...lazy import need
from ...safely import clip
from ..graph import GraphDef, flatten_graph
from ..known import LastGraph
from ..pytree import Pytree
from ..spec import picker
from .calls import (
    Changes,
    bare,
    call_on_copies,
    dressed,
    has_objects,
    put_back,
    titled,
    unbind,
)
from .options import (
    ARGS,
    KWARGS,
    ONE_GROUP,
    ArgumentSelection,
    Call,
    Groups,
    Names,
    Numbers,
    Option,
    Roots,
    named,
)


__all__ = ["eval_shape", "jit", "remat"]

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")
ObjectT = TypeVar("ObjectT", bound=Pytree)
Static: TypeAlias = "dict[tuple[Any, ...], Any]"


# ---------------------------------------------------------------- static arguments


class CallKey:
    """What a compiled function depends on beside structures; a node without leaves.

    Attributes:
        order: For each value, the number of the list that it is in; None for one list.
        static: The static arguments, by place.
        whole: Whether all values come out, also those that are as they were.
    """

    __slots__ = ("order", "static", "whole")

    def __init__(
        self, order: tuple[int, ...] | None, static: Static, whole: bool
    ) -> None:
        self.order = order
        self.static = static
        self.whole = whole

    def __eq__(self, other: object) -> bool:
        if type(other) is not CallKey:
            return NotImplemented
        return self is other or (
            self.order == other.order
            and self.whole == other.whole
            and exact.same(self.static, other.static, typed=True)
        )

    def __hash__(self) -> int:
        return hash((self.order, self.whole, exact.digest(self.static, typed=True)))


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
    count = len(args)
    static: Static = {}
    pairs = [((ARGS, n), value) for n, value in enumerate(args)]
    pairs += [((KWARGS, name), value) for name, value in kwargs.items()]  # type: ignore[misc]  # other places
    for place, value in pairs:
        if which.means(place, count):
            _check_static(place, value)
            static[place] = value
    return (
        static,
        tuple(None if (ARGS, n) in static else value for n, value in enumerate(args)),
        {
            name: None if (KWARGS, name) in static else value
            for name, value in kwargs.items()
        },
    )


def put_static(
    static: Static, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Put the static arguments back into a call."""
    return (
        tuple(static.get((ARGS, n), value) for n, value in enumerate(args)),
        {name: static.get((KWARGS, name), value) for name, value in kwargs.items()},
    )


def _check_static(place: tuple[Any, ...], value: Any) -> None:
    try:
        hash(value)
    except TypeError as error:
        raise ValueError(
            f"{named(place)} is static and cannot be hashed: {error}"
        ) from None
    if has_objects(value):
        raise ValueError(
            f"{named(place)} is static, but its values may change: it is or contains "
            f"objects ({clip(value)}). Pass it as an ordinary argument; its static "
            "fields stay static"
        )


install(CallKey, StaticRule, bridge=True, where=__name__.partition(".")[0])


# ------------------------------------------------------------- the calls of a function


Lists: TypeAlias = tuple[
    tuple[int, ...] | None, Callable[[Sequence[Any]], Iterable[Any]], CallKey | None
]
"""For each value, the index of the list that it is put into, None for one list; a
function that puts values into the lists; and what says so to the compiled function."""


class FlatCall(NamedTuple):
    """The arguments of a call, flattened.

    Attributes:
        tracked: The objects and variables, by index.
        values: The values, without variables around them.
    """

    tracked: Sequence[Any]
    values: Sequence[Any]


class _Plan:
    """How the calls of a function are split for jax, and put back.

    Args:
        jax: The module.
        function: The function.
        static: The arguments that are static.
        donated: The arguments that are donated.
        groups: The lists that values are put into, by their shardings.
        keep: Whether values that the function leaves alone may stay what they are;
            those that are donated or placed somewhere never do.
    """

    def __init__(
        self,
        jax: Any,
        function: Call,
        static: ArgumentSelection,
        donated: ArgumentSelection,
        groups: Groups = ONE_GROUP,
        *,
        keep: bool = True,
    ) -> None:
        self.jax = jax
        self.call, self.held = unbind(function)
        self.static = static
        self.donated = donated
        self.groups = groups
        self.last = LastGraph()
        self.is_sharded = any(leaf is not None for leaf in groups.inputs)
        self.kept_groups = {
            index for index, leaf in enumerate(groups.inputs) if keep and leaf is None
        }
        self.references: Any = getattr(jax, "Ref", ())

        def inside(*inputs: Any) -> Any:
            return self.run(*inputs)

        self.inside = titled(inside, function)

    def options(self) -> dict[str, Any]:
        """Return the options of `jax.jit` for `inside`, by what `split` returns."""
        inputs = self.groups.inputs
        found: dict[str, Any] = {}
        if self.donated:
            found["donate_argnums"] = range(2 + len(inputs), 2 + 2 * len(inputs))
        if self.is_sharded:
            found["in_shardings"] = (None, None, *inputs, *inputs)
        outputs = [*inputs, *self.groups.outputs]
        if any(leaf is not None for leaf in outputs):
            found["out_shardings"] = (None, outputs)
        return found

    def split(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], *, whole: bool = False
    ) -> tuple[FlatCall, tuple[Any, ...]]:
        """Return a call flattened, and the arguments of `inside`.

        Args:
            args: The positional arguments.
            kwargs: The keyword arguments.
            whole: Whether all values are to come out, also those that are kept.
        """
        static: Static = {}
        if self.static:
            static, args, kwargs = take_static(self.static, args, kwargs)
        roots = args, kwargs, self.held
        found = self.last.read(roots)
        if found is not None:
            known, (values, tracked) = found
            graphdef = known.graphdef
            if known.note is None:
                known.note = self.lists_of(roots, flatten_graph(roots).links)
            lists = known.note
        else:
            graphdef, flat = self.last.flatten(roots)
            values, tracked = [*map(bare, flat.leaves)], flat.tracked
            lists = self.lists_of(roots, flat.links)
        taken = FlatCall(tracked, values)
        order, pick, key = lists
        if static or whole:
            key = CallKey(order, static, whole)
        return taken, (graphdef, key, *pick(values))

    def lists_of(self, roots: Roots, links: Iterable[Any]) -> Lists:
        """Return which lists the values of a call are put into, by their paths."""
        if not self.donated and not self.is_sharded:
            return None, lambda values: (values,), None
        list_of = self.groups.of_call(roots)
        half, count = len(self.groups.inputs), len(roots[0])
        order = tuple(
            list_of(path) + half * self.donated.means(path, count)
            for path in map(unlink, links)
        )
        pickers = [
            picker([index for index, number in enumerate(order) if number == one])
            for one in range(2 * half)
        ]

        def pick(values: Sequence[Any]) -> Iterator[list[Any]]:
            return ([*choose(values)] for choose in pickers)

        return order, pick, CallKey(order, {}, False)

    def run(
        self, graphdef: GraphDef, key: CallKey | None, /, *lists: list[Any]
    ) -> tuple[Changes, list[Any]]:
        """Run the function on what `split` returned; jax compiles this."""
        call, values, order = self.call, lists[0], None
        if key is not None and key.order is not None:
            order = key.order
            rests = [*map(iter, lists)]
            values = [next(rests[number]) for number in order]
        if key is not None and key.static:
            static = key.static

            def call(held: Any, *args: Any, **kwargs: Any) -> Any:
                args, kwargs = put_static(static, args, kwargs)
                return self.call(held, *args, **kwargs)

        keeps_none = key is not None and key.whole

        def keep(index: int, number: int) -> bool:
            groups = {number} if order is None else {number, order[index]}
            return not keeps_none and groups <= self.kept_groups

        return call_on_copies(
            call,
            graphdef,
            values,
            groups=self.groups,
            keep=keep,
            references=self.references,
        )[1:]

    def put_back(
        self, found: tuple[Changes, list[Any]], taken: FlatCall | None = None
    ) -> Any:
        """Write what came out into the caller's objects, and return the result.

        Numbers and arrays of NumPy that were kept become arrays of jax, as if they had
        come out of the compiled function.

        Args:
            found: What `run` returned.
            taken: The call; without it the objects are left alone, and the result has
                new ones.
        """
        changes, lists = found
        if taken is None:
            return put_back(changes, lists, (), ())
        tracked, given = taken
        arrays = self.jax.Array, getattr(self.jax, "Ref", self.jax.Array)
        types = {type(given[index]): given[index] for index in changes.kept}
        if not all(isinstance(value, arrays) for value in types.values()):
            kept = {index: given[index] for index in changes.kept}
            others = {n: x for n, x in kept.items() if not isinstance(x, arrays)}
            kept.update(self.jax.jit(lambda values: values)(others))
            links, sources = changes.links, changes.sources
            changes = Changes(changes.graphdef, links, sources, None, changes.start)
            return put_back(changes, lists, kept, tracked)
        return put_back(changes, lists, given, tracked)


# -------------------------------------------------------------------------------- jit


class Compiled(Protocol[P, R]):
    """A function that is compiled by jax, as `jit` returns it."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function."""
        ...

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Stage[P, R]:
        """Trace and lower the function for these arguments."""
        ...

    def trace(self, *args: P.args, **kwargs: P.kwargs) -> Stage[P, R]:
        """Trace the function for these arguments."""
        ...

    def eval_shape(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Return the result with shapes and dtypes in place of arrays."""
        ...

    def clear_cache(self) -> None:
        """Forget what was compiled."""
        ...

    @overload
    def __get__(self, instance: None, owner: Any = ..., /) -> Compiled[P, R]: ...

    @overload
    def __get__(
        self: Compiled[Concatenate[S, Q], R], instance: S, owner: Any = ..., /
    ) -> Callable[Q, R]: ...

    @overload  # for checkers that cannot take the first parameter away
    def __get__(self, instance: object, owner: Any = ..., /) -> Callable[..., R]: ...


@overload
def jit(function: Callable[P, R], /, **options: Any) -> Compiled[P, R]: ...


@overload
def jit(
    function: None = ..., /, **options: Any
) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...


def jit(
    function: Call | None = None,
    /,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: Numbers = None,
    static_argnames: Names = None,
    donate_argnums: Numbers = None,
    donate_argnames: Names = None,
    **options: Any,
) -> Any:
    """Compile a function with jax; shared references between objects are kept.

    The object of a bound method (`jit(model.step)`), the objects in a
    `functools.partial` and an object that is called itself are arguments, too. No
    option refers to them. A call sees their current values, and changes of the function
    are written back to them. An array that the function does not change stays the same
    array, and is not copied, unless it is donated or has a sharding.

    Args:
        function: The function; without it, a decorator is returned.
        in_shardings: The shardings of arguments: one sharding, or a tuple with a prefix
            tree for each positional argument that is not static. None leaves the choice
            to jax.
        out_shardings: The shardings of results, as a prefix tree of the result. A value
            that is written back to an argument has the sharding of the argument.
        static_argnums: Positions of the arguments that are constants; they must be
            hashable. Negative positions count from the end of the function's
            parameters.
        static_argnames: Names of such arguments. If you give only positions or only
            names, the others are inferred from the signature.
        donate_argnums: Positions of arguments whose memory may be reused for the
            result. Arrays in objects are replaced by the new values; other arrays are
            deleted.
        donate_argnames: Names of such arguments.
        **options: Other options of `jax.jit`, such as `keep_unused`, `inline`,
            `device`.

    Returns:
        A function of the same arguments; see `share`. It has the methods `lower`,
        `trace`, `eval_shape` and `clear_cache`, like a function returned by `jax.jit`.

    Raises:
        TypeError: An option is unknown to jax, or of the wrong type.
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
        return functools.partial(
            jit,
            in_shardings=in_shardings,
            out_shardings=out_shardings,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            **options,
        )
    like = dressed(function)
    static = ArgumentSelection("static", function, static_argnums, static_argnames)
    donated = ArgumentSelection("donate", function, donate_argnums, donate_argnames)
    static.refuse_common(donated)
    ins = Option("in_shardings", static.leave_out(in_shardings))
    outs = Option("out_shardings", out_shardings)
    groups = Groups(ins, outs, may_lack=static.numbers)
    jax = need("jax", "nn.jit")
    keep = _HARMLESS.issuperset(options)
    plan = _Plan(jax, function, static, donated, groups, keep=keep)
    transformed = jax.jit(plan.inside, **plan.options(), **options)

    @like
    def compiled(*args: Any, **kwargs: Any) -> Any:
        taken, inputs = plan.split(args, kwargs)
        return plan.put_back(transformed(*inputs), taken)

    def lower(*args: Any, **kwargs: Any) -> Stage[Any, Any]:
        return Stage(transformed.lower(*plan.split(args, kwargs)[1]), plan)

    def trace(*args: Any, **kwargs: Any) -> Stage[Any, Any]:
        return Stage(transformed.trace(*plan.split(args, kwargs)[1]), plan)

    def eval_shape(*args: Any, **kwargs: Any) -> Any:
        inputs = plan.split(args, kwargs, whole=True)[1]
        return plan.put_back(transformed.eval_shape(*inputs))

    vars(compiled).update(
        lower=lower,
        trace=trace,
        eval_shape=eval_shape,
        clear_cache=transformed.clear_cache,
    )
    return compiled


_HARMLESS: Final = frozenset({"compiler_options", "inline", "keep_unused"})
"""Options of `jax.jit` that do not say where values are to be."""


class Stage(Generic[P, R]):
    """A stage of a function in `jax.jit`: traced, lowered or compiled.

    A stage has all attributes of jax's own object. `lower` and `compile` return the
    next stage. You call a compiled stage like the function itself.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> import pytest
        >>> jnp = pytest.importorskip("jax.numpy")
        >>> counter = nn.Dict(count=nn.Variable(jnp.zeros(())))
        >>> @nn.jit
        ... def step(counter):
        ...     counter.count[...] += 1
        >>> compiled = step.lower(counter).compile()
        >>> compiled(counter)
        >>> float(counter.count)
        1.0
    """

    __slots__ = ("_plan", "_stage")

    def __init__(self, stage: Any, plan: _Plan) -> None:
        self._stage = stage
        self._plan = plan

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stage, name)

    def lower(self, *args: Any, **kwargs: Any) -> Stage[P, R]:
        """Lower a traced function; the arguments are those of jax."""
        return Stage(self._stage.lower(*args, **kwargs), self._plan)

    def compile(self, *args: Any, **kwargs: Any) -> Stage[P, R]:
        """Compile a lowered function; the arguments are those of jax."""
        return Stage(self._stage.compile(*args, **kwargs), self._plan)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call what was compiled, as the function is called."""
        taken, inputs = self._plan.split(args, kwargs)
        result: R = self._plan.put_back(self._stage(*inputs), taken)
        return result


# ----------------------------------------------------------------- remat, eval_shape


@overload
def remat(
    function: Callable[P, R],
    /,
    *,
    prevent_cse: bool = ...,
    static_argnums: Numbers = ...,
    policy: Callable[..., bool] | None = ...,
) -> Callable[P, R]: ...


@overload
def remat(
    function: None = ...,
    /,
    *,
    prevent_cse: bool = ...,
    static_argnums: Numbers = ...,
    policy: Callable[..., bool] | None = ...,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def remat(
    function: Call | None = None,
    /,
    *,
    prevent_cse: bool = True,
    static_argnums: Numbers = None,
    policy: Callable[..., bool] | None = None,
) -> Any:
    """Recompute intermediate values for the gradient instead of storing them.

    Args:
        function: The function; without it, a decorator is returned.
        prevent_cse: See `jax.checkpoint`.
        static_argnums: Positions of the arguments that are constants; they must be
            hashable.
        policy: Decides which values are stored; see `jax.checkpoint_policies`.

    Returns:
        A function of the same arguments and results; see `share`. An array that the
        function does not change stays the same array.

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
        return functools.partial(
            remat,
            prevent_cse=prevent_cse,
            static_argnums=static_argnums,
            policy=policy,
        )
    like = dressed(function)
    jax = need("jax", "nn.remat")
    static = ArgumentSelection("static", function, static_argnums, None)
    donated = ArgumentSelection("donate", function, None, None)
    plan = _Plan(jax, function, static, donated)
    transformed = jax.checkpoint(plan.inside, prevent_cse=prevent_cse, policy=policy)

    @like
    def again(*args: Any, **kwargs: Any) -> Any:
        taken, inputs = plan.split(args, kwargs)
        return plan.put_back(transformed(*inputs), taken)

    return again


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
    return jit(function).eval_shape(*args, **kwargs)

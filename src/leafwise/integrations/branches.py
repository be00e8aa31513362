"""jax's branches, and functions that are computed again, so that they keep references.

`cond` and `switch` choose a function, `remat` computes one again for its gradient, and
`eval_shape` does not compute at all. All branches must leave the objects that they are
given with the same structure.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Final, NamedTuple, TypeVar, TypeVarTuple, overload

from ..core.keypath import KeyPath
from ..core.walk import unlink
from ..errors import StructureError
from ..nn.graph import FlatGraph, GraphDef, flatten_graph
from ..safely import described
from .changes import (
    Difference,
    settled,
    structure_difference,
    unwrap,
    value_difference,
    wrap,
)
from .dispatch import Dispatch, Outcome, boxed, stores_of, write_back
from .options import (
    ONE_GROUP,
    RESULT,
    Call,
    Numbers,
    Path,
    Roots,
    Which,
    key_path,
    named,
)
from .sharing import (
    Outline,
    Ran,
    bare,
    dressed,
    keys_at,
    placing,
    run,
    titled,
    unbind,
)
from .signatures import ObjectT, as_remat
from .transforms import jit


__all__ = ["cond", "eval_shape", "remat", "switch"]

T = TypeVar("T")
Operands = TypeVarTuple("Operands")


def cond(
    pred: Any,
    true_fun: Callable[[*Operands], T],
    false_fun: Callable[[*Operands], T],
    /,
    *operands: *Operands,
) -> T:
    """Call one of two functions, chosen by a condition that jax may trace.

    Args:
        pred: The condition, one truth value or number.
        true_fun: The function to call if the condition is true.
        false_fun: The function to call if the condition is false.
        *operands: The arguments of both functions: trees, which may contain objects.

    Returns:
        The result of the function. Its changes to objects, including those that the
        function is bound to, are applied to your objects. A value that neither function
        changes stays the same object.

    Raises:
        StructureError: The functions return results of different structures, or leave
            objects with different structures. For example, one function sets an
            attribute and the other does not.
        TypeError: A value has different shapes or types after the two functions.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> import pytest
        >>> jax = pytest.importorskip("jax")
        >>> counter = lw.Dict(count=nn.Variable(0))
        >>> def up(counter, by):
        ...     counter.count[...] += by
        >>> def down(counter, by):
        ...     counter.count[...] -= by
        >>> nn.cond(False, up, down, counter, 2)
        >>> int(counter.count)
        -2

    Modelled on `flax.nnx.cond`.
    """
    _check_callable(true_fun)
    _check_callable(false_fun)

    def choose(jax: Any, true: Call, false: Call, values: list[Any]) -> Any:
        return jax.lax.cond(bare(pred), true, false, values)

    result: T = _branched(choose, (true_fun, false_fun), _TWO, operands)
    return result


_TWO: Final = ("true_fun", "false_fun")


def switch(
    index: Any,
    branches: Sequence[Callable[[*Operands], T]],
    /,
    *operands: *Operands,
) -> T:
    """Call one of several functions, chosen by an index that jax may trace.

    Args:
        index: The index of the function; an index out of range is clamped to the first
            or last function.
        branches: The functions.
        *operands: The arguments of each function: trees, which may contain objects.

    Returns:
        The result of the function. Changes to objects are applied as for `cond`.

    Raises:
        StructureError: The functions return results of different structures, or leave
            objects with different structures.
        TypeError: A value has different shapes or types after two of the functions.
        ValueError: `branches` is empty.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> import pytest
        >>> jax = pytest.importorskip("jax")
        >>> plus = lambda x: x + 1
        >>> times = lambda x: x * 10
        >>> int(nn.switch(1, [plus, times], 3))
        30

    Modelled on `flax.nnx.switch`.
    """
    listed = [*branches]
    if not listed:
        raise ValueError("switch needs at least one function")
    for one in listed:
        _check_callable(one)
    names = [f"branch {n}" for n in range(len(listed))]

    def choose(jax: Any, *functions: Any) -> Any:
        *inner, values = functions
        return jax.lax.switch(bare(index), inner, values)

    result: T = _branched(choose, listed, names, operands)
    return result


def _check_callable(function: Call) -> None:
    if not callable(function):
        raise TypeError(f"a branch must be a function, got {described(function)}")


# ------------------------------------------------------------------- running a branch


class Branch(NamedTuple):
    """What came out of a branch when it was traced, without the values.

    Attributes:
        name: What it is called in messages.
        graph: The graph of the objects and the result, without what is in it.
        outline: Its structure, and which objects came in.
        paths: The path of each value.
        kept: For each value, the place of the one that came in and that it still is.
        stores: How each value is written, if nothing else has changed; None if it has.
        start: Where the result begins in the structure then.
    """

    name: str
    graph: FlatGraph
    outline: Outline
    paths: tuple[Path, ...]
    kept: list[int | None]
    stores: tuple[Any, ...] | None
    start: int | None


class _Branches:
    """The branches of one call.

    Args:
        jax: The module.
        names: What they are called.
        roots: The call.
    """

    def __init__(self, jax: Any, names: Sequence[str], roots: Roots) -> None:
        self.jax = jax
        self.names = names
        self.roots = roots
        self.flat = flatten_graph(roots)
        self.graphdef = GraphDef(tuple(self.flat.code))
        self.owners = [*map(unlink, self.flat.first)]
        self.place = placing(self.owners)
        self.given = [*map(bare, self.flat.leaves)]
        self.values = wrap(jax, self.given)
        self.traced: dict[int, Branch] = {}

    def function(self, number: int, call: Call) -> Call:
        """Return a branch for jax: of values, it returns all that came out."""

        def branch(values: list[Any]) -> list[Any]:
            given = unwrap(values)
            leaves = [*boxed(self.graphdef._code, given)]
            ran = run(call, self.graphdef, leaves, compare=True)
            self.traced[number] = self.look_at(self.names[number], ran, given)
            return wrap(self.jax, map(bare, ran.after.leaves))

        return branch

    def look_at(self, name: str, ran: Ran, given: list[Any]) -> Branch:
        """Return what came out of a branch."""
        graph = FlatGraph()
        graph.code, graph.first = ran.after.code, ran.after.first
        paths = tuple(self.place(unlink(link)) for link in ran.after.links)
        kept = settled(ran, given)
        every = tuple(range(len(kept)))
        stores = None if ran.start is None else stores_of(ran, every)
        return Branch(name, graph, ran.outline, paths, kept, stores, ran.start)

    def check(self, types: list[list[Any]]) -> None:
        """Refuse branches that differ in what comes out.

        Args:
            types: For each branch, the types of the values.

        Raises:
            StructureError: The structures differ.
            TypeError: The types do.
        """
        first, *others = (self.traced[number] for number in range(len(types)))
        for other, found in zip(others, types[1:], strict=True):
            differs = structure_difference(first.graph, other.graph, self.place)
            differs = differs or self.other_object(first, other)
            if differs is None and _structure(first) != _structure(other):
                differs = Difference((RESULT,), "of one structure", "of another")
            if differs is not None:
                raise StructureError(
                    self.told(differs, first, other)
                    + ": all branches must leave the objects, and return results, with "
                    "the same structure",
                    path=self.keys(differs.path, first, other),
                    expected=differs.was,
                    actual=differs.now,
                )
            differs = value_difference(self.jax, types[0], found, first.paths)
            if differs is not None:
                raise TypeError(
                    self.told(differs, first, other)
                    + ": all branches must give a value the same shape and type"
                )

    def keys(self, path: Path, first: Branch, other: Branch) -> KeyPath:
        """Return the key path of a place, in an argument or in the result."""
        if path[0] != RESULT:
            return key_path(path, self.roots)
        codes = (branch.graph.code for branch in (first, other))
        return KeyPath(keys_at((1, *path[1:]), codes)[1:])

    def told(self, differs: Difference, first: Branch, other: Branch) -> str:
        """Return a difference in words."""
        path = differs.path
        where = named(path, self.roots)
        if path[0] == RESULT:
            keys = self.keys(path, first, other)
            where = f"{named((RESULT,))}{f' at {keys}' if keys else ''}"
        return (
            f"{where} is {differs.was} after {first.name}, and {differs.now} after "
            f"{other.name}"
        )

    def other_object(self, first: Branch, other: Branch) -> Difference | None:
        """Return the first object that is the caller's after one branch only."""
        mine, theirs = (
            {
                link: known.get(number)
                for number, link in enumerate(map(unlink, branch.graph.first))
            }
            for branch in (first, other)
            for known in [dict(branch.outline.links)]
        )
        for path, number in mine.items():
            if theirs.get(path, number) != number:
                texts = map(self.object_text, (number, theirs[path]))
                return Difference(self.place(path), *texts)
        return None

    def object_text(self, number: int | None) -> str:
        """Return in words which object something is."""
        if number is None:
            return "a new object"
        return f"the object of {named(self.owners[number], self.roots)}"

    def kept(self) -> list[int | None]:
        """Return for each value the one that it is after all branches."""
        rows = [self.traced[number].kept for number in sorted(self.traced)]
        found = [
            row[0] if len({*row}) == 1 else None for row in zip(*rows, strict=True)
        ]
        # without compilation a function may do otherwise than when it was traced
        return [None for _ in found] if self.jax.config.jax_disable_jit else found

    def outcome(self, kept: list[int | None]) -> Outcome:
        """Return what comes out of any branch, without the values that are kept."""
        rest = count()
        sources = tuple(next(rest) if n is None else ~n for n in kept)
        first, *others = self.traced.values()
        stores = first.stores
        if stores is None or any(other.stores != stores for other in others):
            stores, start = None, 0
        else:
            start = first.start or 0
            listed = ((*store[:3], sources[store[3]]) for store in stores)
            stores = tuple(store for store in listed if store[3] >= 0)
        outline = first.outline
        return Outcome(outline.graphdef, outline.links, sources, stores, start)


def _structure(branch: Branch) -> tuple[Any, ...]:
    return branch.outline.graphdef, branch.outline.links


def _branched(
    choose: Call, functions: Sequence[Call], names: Sequence[str], operands: Any
) -> Any:
    """Run what is chosen of several functions, and write back what it changed.

    Each function is traced once, to find out what it leaves alone.
    """
    jax = importlib.import_module("jax")
    calls, helds = zip(*map(unbind, functions), strict=True)
    all_ = _Branches(jax, names, (operands, {}, helds))

    def call_of(number: int) -> Call:
        return lambda held, *args: calls[number](held[number], *args)

    traced = [
        jax.jit(titled(all_.function(number, call_of(number)), one), inline=True)
        for number, one in enumerate(functions)
    ]
    all_.check([one.eval_shape(all_.values) for one in traced])
    kept = all_.kept()

    def only_new(branch: Call) -> Call:
        return lambda values: [
            value
            for value, place in zip(branch(values), kept, strict=True)
            if place is None
        ]

    made = choose(jax, *map(only_new, traced), all_.values)
    outcome = all_.outcome(kept)
    return write_back(outcome, unwrap(made), all_.given, all_.flat.tracked)


# ----------------------------------------------------------------- remat, eval_shape


@as_remat
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
        >>> layer = lw.Dict(w=nn.Param(3.0), calls=nn.BatchStat(0))
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
    shape = dressed(function)
    jax = importlib.import_module("jax")
    static = Which("static", function, static_argnums, None)
    donated = Which("donate", function, None, None)
    plan = Dispatch(jax, function, static, donated, ONE_GROUP, keep=True)
    transformed = jax.checkpoint(
        plan.inside(function), prevent_cse=prevent_cse, policy=policy
    )

    @shape
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
        >>> make = lambda size: lw.Dict(w=nn.Param(jnp.ones(size.shape)))
        >>> nn.eval_shape(make, jnp.ones((2, 3))).w.value
        ShapeDtypeStruct(shape=(2, 3), dtype=float32)

    Modelled on `flax.nnx.eval_shape`.
    """
    return jit(function).eval_shape(*args, **kwargs)

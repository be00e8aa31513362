"""`Optimizer`: what trains a model, with its own state, as an object.

Owns the step: values and gradients of a model as plain states, to a transformation and
back into the model and the optimizer, into both or neither. The transformation is
anything with the two functions of optax's; optax is not needed for it, nor is jax.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from ..errors import StructureError
from ..kinds import Kind, data
from ..lazy import real
from ..ops.map import tree_flatten, tree_map
from ..safely import add_note, clip, type_name
from .checks import check_level
from .filters import Filter
from .functional import state
from .functional import update as write
from .pytree import Pytree
from .states import State, as_state, from_flat_state, to_flat_state
from .variables import Variable


__all__ = ["OptArray", "OptState", "OptVariable", "Optimizer", "Transformation"]

M = TypeVar("M")

Path: TypeAlias = tuple[Any, ...]


class OptState(Variable[Any]):
    """What an optimizer remembers.

    Example:
        >>> from leafwise import nn
        >>> issubclass(nn.OptArray, nn.OptState)
        True
    """

    _leafwise_kind: ClassVar[Kind] = Kind.STATE


class OptArray(OptState):
    """What an optimizer remembers of no variable in particular, such as a count.

    Example:
        >>> from leafwise import nn
        >>> nn.OptArray(0).value
        0
    """


class OptVariable(OptState):
    """What an optimizer remembers of one variable, with the metadata of that.

    Example:
        >>> from leafwise import nn
        >>> nn.OptVariable(0.0, unit="m").unit
        'm'
    """


class Transformation(Protocol):
    """What turns gradients into updates, as the transformations of optax do.

    Example:
        >>> from leafwise.nn.optimizer import Transformation
        >>> callable(Transformation.update)
        True
    """

    def init(self, params: Any, /) -> Any:
        """Return a state for parameters."""

    def update(self, updates: Any, state: Any, params: Any = None, /) -> Any:
        """Return what gradients become, and the next state."""


class Optimizer(Pytree, Generic[M]):
    """A transformation of gradients, with its state and the number of steps.

    It does not hold the model, which is given to each `update`. The state is a tree
    of variables, so `split`, `merge`, `jit` and all else carry it.

    Args:
        model: The model.
        tx: A transformation of optax, or anything with its `init` and `update`. It is
            given states, with variables at first and with bare values then.
        wrt: A filter that says which values are trained.

    Attributes:
        step: How many updates there were, a variable.
        tx: The transformation.
        opt_state: Its state.
        wrt: The filter.

    Raises:
        TypeError: `tx` has no `init` or no `update`.
        ValueError: The filter means nothing in the model, or a variable that holds a
            mapping.

    Example:
        >>> from leafwise import nn
        >>> class Descent:
        ...     def init(self, params):
        ...         return ()
        ...     def update(self, grads, state, params):
        ...         return grads.map(lambda path, x: -0.5 * x), state
        >>> class Model(nn.Module):
        ...     def __init__(self):
        ...         self.w, self.seen = nn.Param(3.0), nn.BatchStat(0)
        >>> model = Model()
        >>> optimizer = nn.Optimizer(model, Descent(), wrt=nn.Param)
        >>> _ = optimizer.update(model, nn.State({"w": 2.0}))
        >>> model.w.value, int(optimizer.step)
        (2.0, 1)

    The idea is that of `flax.nnx.Optimizer`.
    """

    def __init__(self, model: M, tx: Transformation, *, wrt: Filter) -> None:
        for name in ("init", "update"):
            if not callable(getattr(tx, name, None)):
                raise TypeError(
                    "an optimizer takes a transformation with init and update, got "
                    f"{type_name(tx)}, which has no {name}"
                )
        params = state(model, wrt)
        if not len(params):
            raise ValueError(f"wrt={clip(wrt)} matches no value in {type_name(model)}")
        for path, held in to_flat_state(params).items():
            if isinstance(_bare(held), Mapping):
                raise ValueError(
                    f"the variable at {path} holds a {type_name(_bare(held))}, which a "
                    "state reads as nested names; store each value in its own variable"
                )
        self.step: OptState = OptState(_zero())
        self.tx = tx
        self.opt_state: Any = data(_remembered(tx.init(params)))
        self.wrt = wrt

    def update(self, model: M, grads: Any, /, **extra: Any) -> State[Any, Any]:
        """Change the trained values of the model, and the state, by one step in place.

        Args:
            model: The model.
            grads: The gradients: a state as `nn.grad` returns it, nested dicts, or an
                object like the model. Those of other values are passed over.
            **extra: Further arguments of the transformation's `update`.

        Returns:
            What was added to the values.

        Raises:
            StructureError: A gradient is missing, or the transformation returned an
                update or a state of another structure.
            TraceError: The model or this was made at another level of tracing.

        Nothing is changed if anything is raised.
        """
        params = _bare(state(model, self.wrt))
        known = to_flat_state(params)
        wanted = _at_paths(_bare(_state_of(grads)), known, "gradient")
        variables, treedef = tree_flatten(self.opt_state, is_leaf=_is_variable)
        before = treedef.unflatten([held.get_value() for held in variables])
        given = {name: _bare(value) for name, value in extra.items()}
        updates, after = self.tx.update(wanted, before, params, **given)
        changes = to_flat_state(_at_paths(_state_of(updates), known, "update"))
        new = {path: _added(known[path], changes[path]) for path in known}
        try:
            values = treedef.flatten_up_to(after)
        except StructureError as error:
            add_note(error, "the transformation changed the structure of its state")
            raise
        for held in (self.step, *variables):
            check_level(held, ".value")
        write(model, from_flat_state(new))
        for held, value in zip(variables, values, strict=True):
            held.set_value(value)
        self.step.set_value(self.step.get_value() + 1)
        made: State[Any, Any] = updates
        return made


# ----------------------------------------------------------------------- values


def _zero() -> Any:
    """Return a count that a function of jax is not compiled anew for."""
    if real("jax") is None:
        return 0
    numpy = importlib.import_module("jax.numpy")
    return numpy.zeros((), dtype=numpy.uint32)


def _is_variable(value: Any) -> bool:
    return isinstance(value, Variable)


def _remembered(tree: Any) -> Any:
    """Return the state of a transformation with a variable for each of its values."""
    leaves, treedef = tree_flatten(tree, is_leaf=_is_variable)
    return treedef.unflatten(map(_opt_state, leaves))


def _opt_state(leaf: Any) -> OptState:
    if not isinstance(leaf, Variable):
        return OptArray(leaf)
    metadata = {
        name: value
        for name, value in leaf.get_metadata().items()
        if not name.startswith("on_")  # what is done to values of the model
    }
    if "optimizer_sharding" in metadata:
        metadata["out_sharding"] = metadata.pop("optimizer_sharding")
    return OptVariable(leaf.get_value(), **metadata)


def _bare(value: Any) -> Any:
    """Return a state with bare values in place of variables, and those of one."""
    if isinstance(value, State):
        return value.map(lambda _, held: _bare(held))
    return value.get_value() if isinstance(value, Variable) else value


def _state_of(tree: Any) -> State[Any, Any]:
    """Return values by name, however they came."""
    if isinstance(tree, Mapping):
        return as_state(tree)
    found: State[Any, Any] = state(tree)
    return found


def _at_paths(
    given: State[Any, Any], known: Mapping[Path, Any], what: str
) -> State[Any, Any]:
    """Return the values for the trained ones, in the order of these.

    Raises:
        StructureError: One is missing.
    """
    found = to_flat_state(given)
    for path in known:
        if path not in found:
            raise StructureError(
                f"there is no {what} for {path}; there are: "
                f"{', '.join(map(str, found.paths[:5])) or 'none'}",
                path=path,
            )
    return from_flat_state((path, found[path]) for path in known)


def _added(value: Any, change: Any) -> Any:
    """Return a value with its update, each number of the type that it had."""
    return value if change is None else tree_map(_sum, value, change)


def _sum(value: Any, change: Any) -> Any:
    made = value + change
    dtype = getattr(value, "dtype", None)
    if dtype is not None and made.dtype != dtype:
        made = made.astype(dtype)
    return made

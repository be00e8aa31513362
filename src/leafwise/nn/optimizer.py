"""`Optimizer`: trains a model with a gradient transformation, whose state it keeps.

A step computes all new values before it writes the first one, so that an error leaves
both the model and the optimizer unchanged. A transformation is any object with the two
methods of optax's; neither optax nor jax is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypeVar

from .._lazy import real
from .._text import short_repr
from ..errors import StructureError
from ..fields import Kind, data
from ..ops.map import tree_flatten, tree_leaves, tree_map
from .checks import check_level
from .filters import Filter, Path, tag_hint
from .graph import state
from .graph import update as write
from .pytree import Pytree, PytreeSpec
from .states import State, as_state, from_flat_state, walk_state
from .variables import Variable


__all__ = [
    "OptArray",
    "OptState",
    "OptVariable",
    "Optimizer",
]

M = TypeVar("M")


class OptState(Variable[Any], kind=Kind.STATE):
    """Base class of the variables in the state of an optimizer.

    Example:
        >>> from leafwise import nn
        >>> issubclass(nn.OptArray, nn.OptState)
        True
    """


class OptArray(OptState):
    """A value in an optimizer's state that belongs to no variable, such as a count.

    Example:
        >>> from leafwise import nn
        >>> nn.OptArray(0).value
        0
    """


class OptVariable(OptState):
    """A value in an optimizer's state for one variable, with the variable's metadata.

    Example:
        >>> from leafwise import nn
        >>> nn.OptVariable(0.0, unit="m").unit
        'm'
    """


class Transformation(Protocol):
    """An object that turns gradients into updates, such as a transformation of optax.

    Example:
        >>> from leafwise.nn.optimizer import Transformation
        >>> callable(Transformation.update)
        True
    """

    def init(self, params: Any, /) -> Any:
        """Return the initial state for parameters."""

    def update(
        self,
        updates: Any,
        state: Any,
        params: Any = None,
        /,
    ) -> Any:
        """Return the updates for gradients, and the next state."""


class _OptimizerSpec(PytreeSpec):
    """The description of optimizers: files have the name of the transformation only."""

    code_names = frozenset({"tx"})


class Optimizer(Pytree, Generic[M], spec=_OptimizerSpec):
    """A gradient transformation with its state and a step counter.

    The optimizer does not hold the model; you pass it to each `update`. The state is a
    tree of variables, so `split`, `merge`, `jit` and the other transforms handle it.

    Args:
        model: The model.
        tx: A transformation of optax, or any object with the methods `init` and
            `update`. `init` receives a state with variables, `update` receives states
            with bare values.
        wrt: A filter for the values to train.

    Attributes:
        step: The number of updates so far, a variable.
        tx: The transformation.
        opt_state: Its state.
        wrt: The filter.

    Raises:
        ValueError: The filter matches nothing in the model, or it matches a variable
            that holds a mapping.

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

    Modelled on `flax.nnx.Optimizer`.
    """

    def __init__(
        self,
        model: M,
        tx: Transformation,
        *,
        wrt: Filter,
    ) -> None:
        params = state(model, wrt)
        if not len(params):
            raise ValueError(
                f"wrt={short_repr(wrt)} matches no value in {type(model).__name__}"
                f"{tag_hint(wrt)}"
            )
        for path, variable in walk_state(params):
            value = _bare(variable)
            if isinstance(value, Mapping):
                raise ValueError(
                    f"the variable at {path} holds a {type(value).__name__}, which a "
                    "state reads as nested names; store each value in its own variable"
                )
        jax = real("jax")
        # The first step turns a number into an array: jax would compile a step twice.
        zero = 0 if jax is None else jax.numpy.zeros((), dtype="uint32")
        self.step: OptState = OptState(zero)
        self.tx = tx
        leaves, treedef = tree_flatten(tx.init(params), is_leaf=Variable)
        variables = [_opt_state(leaf) for leaf in leaves]
        self.opt_state: Any = data(treedef.unflatten(variables))
        self.wrt = wrt

    def update(
        self,
        model: M,
        grads: Any,
        /,
        **extra: Any,
    ) -> State[Any, Any]:
        """Update the trained values of the model and the optimizer's state, in place.

        Args:
            model: The model.
            grads: The gradients: a state as `nn.grad` returns it, nested dicts, or an
                object like the model. Gradients of other values are ignored.
            **extra: Further arguments for the `update` of the transformation.

        Returns:
            The increments that were added to the values.

        Raises:
            StructureError: A gradient is missing; parameters were frozen or added after
                the optimizer was made; or the transformation returned an update or a
                state of a different structure.
            TraceError: The model or the optimizer was created at another trace level.

        If an exception is raised, nothing is changed.
        """
        params = _bare(state(model, self.wrt))
        old_values = dict(walk_state(params))
        gradients = _at_paths(_bare(_state_of(grads)), old_values, "gradient")
        variables, treedef = tree_flatten(self.opt_state, is_leaf=Variable)
        old_state = treedef.unflatten([variable.get_value() for variable in variables])
        options = {name: _bare(value) for name, value in extra.items()}
        try:
            updates, new_state = self.tx.update(gradients, old_state, params, **options)
            state_values = treedef.flatten_up_to(new_state)
        except Exception as error:  # a transformation may raise anything
            _check_trained_paths(old_state, old_values, error)
            raise
        checked_updates = _at_paths(_state_of(updates), old_values, "update")
        changes = dict(walk_state(checked_updates))
        new_values = {}
        for path, old in old_values.items():
            change = changes[path]
            # As in optax, None means that there is no update.
            new_values[path] = old if change is None else tree_map(_sum, old, change)
        # All that can fail comes before the first change, and `update` of the model
        # itself changes all or nothing.
        for variable in (self.step, *variables):
            check_level(variable, ".value")
        write(model, from_flat_state(new_values))
        for variable, value in zip(variables, state_values, strict=True):
            variable.set_value(value)
        self.step.set_value(self.step.get_value() + 1)
        return updates  # type: ignore[no-any-return]


# ----------------------------------------------------------------------- values


def _opt_state(leaf: Any) -> OptState:
    if not isinstance(leaf, Variable):
        return OptArray(leaf)
    metadata = leaf.get_metadata()
    # As Flax: a parameter may be sharded in another way than its moments.
    if "optimizer_sharding" in metadata:
        metadata["out_sharding"] = metadata.pop("optimizer_sharding")
    return OptVariable(leaf.get_value(), **metadata)


def _bare(value: Any) -> Any:
    """Return a state with bare values in place of variables, and those of one."""
    if isinstance(value, State):
        return value.map(lambda _, item: _bare(item))
    return value.get_value() if isinstance(value, Variable) else value


def _state_of(tree: Any) -> State[Any, Any]:
    """Return the values of an object, a state or nested dicts as a state."""
    if isinstance(tree, Mapping):
        return as_state(tree)
    values: State[Any, Any] = state(tree)
    return values


def _at_paths(
    values: State[Any, Any],
    trained: Mapping[Path, Any],
    what: str,
) -> State[Any, Any]:
    """Return the values at the paths of the trained ones, in the order of these.

    Raises:
        StructureError: One is missing.
    """
    flat = dict(walk_state(values))
    for path in trained:
        if path not in flat:
            raise StructureError(
                f"there is no {what} for {path}; there are: "
                f"{', '.join(map(str, list(flat)[:5])) or 'none'}",
                path=path,
            )
    return from_flat_state((path, flat[path]) for path in trained)


def _check_trained_paths(
    opt_state: Any,
    trained: Mapping[Path, Any],
    cause: Exception,
) -> None:
    """Raise an error if an optimizer was made for other values than are trained now.

    Raises:
        StructureError: Its state has values for other ones.
    """
    for part in tree_leaves(opt_state, is_leaf=State):
        if not isinstance(part, State):
            continue
        paths = dict(walk_state(part))
        for path in sorted(paths.keys() ^ trained.keys(), key=str):
            if path in paths:
                change = "was trained when the optimizer was made, and is not trained"
            else:
                change = "was not trained when the optimizer was made, and is trained"
            raise StructureError(
                f"the value at {path} {change} now; make a new nn.Optimizer whenever "
                "you freeze, unfreeze, add or remove parameters",
                path=path,
            ) from cause


def _sum(value: Any, change: Any) -> Any:
    """Return a number with its update, of the type that it had."""
    total = value + change
    # An update of a wider type must not change the type of the parameter.
    dtype = getattr(value, "dtype", None)
    if dtype is None or total.dtype == dtype:
        return total
    return total.astype(dtype)

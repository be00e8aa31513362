"""What is done to whole models: map them, set attributes, train, freeze, call copies.

Owns the functions that go through all objects of a model, or call it. Most stand for a
method of modules in NNX or PAX, and are functions so that classes keep their names for
themselves. Each object is met once, whatever refers to it. A bare parameter is frozen
by the kind of its attribute, a variable by its metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, TypeVar

from ..kinds import Kind, Marked
from ..safely import clip, shown, type_name
from .checks import DataNode
from .filters import FROZEN, Filter, judge, predicate
from .functional import clone, merge, split, write
from .graph import (
    GraphDef,
    M,
    Path,
    flatten_graph,
    is_node,
    iter_graph,
    kinds_of,
    unflatten_graph,
)
from .instance import assign, below, check, drop, kinds_in, rule_of, set_kind
from .pytree import EVALUATING, Pytree
from .spec import part_of
from .states import State
from .variables import Variable


__all__ = [
    "call",
    "eval",
    "freeze",
    "iter_children",
    "recursive_map",
    "set_attributes",
    "set_metadata",
    "train",
    "unfreeze",
    "with_attributes",
]

T = TypeVar("T")


def iter_children(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the objects and variables directly in an object, with their names.

    Args:
        node: An object.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> [key for key, _ in nn.iter_children(nn.Dict(a=nn.List(), b=lw.data(1)))]
        ['a']

    Modelled on `flax.nnx.iter_children`.
    """
    yield from ((part, child) for part, child in below(node) if is_node(child))


def recursive_map(function: Callable[[Path, Any], Any], tree: T) -> T:
    """Return a copy of an object with a function applied to each object and variable.

    Inner objects are mapped first, so the function receives objects with mapped
    contents.

    Args:
        function: Called with the path and the object or variable; returns its
            replacement.
        tree: An object, or nested lists and dicts; it is not changed.

    Raises:
        TypeError: An object is in an immutable container.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> model = nn.List([nn.Param(1.0)])
        >>> nn.recursive_map(
        ...     lambda path, x: x.value if isinstance(x, nn.Param) else x, model)
        List([1.0])

    Modelled on `flax.nnx.recursive_map`.
    """
    copied = clone(tree)
    results: dict[int, Any] = {}
    kept: list[Any] = []
    for path, value in [*iter_graph(copied)]:
        for part, child in below(value):
            if id(child) in results and results[id(child)] is not child:
                if not isinstance(value, list | dict | DataNode):
                    raise TypeError(
                        f"{clip(child)} is in a {type_name(value)}, which cannot be "
                        "changed"
                    )
                write(
                    value,
                    None if isinstance(value, Variable) else part,
                    results[id(child)],
                )
        if is_node(value):
            kept.append(value)
            results[id(value)] = function(path, value)
    made: T = results.get(id(copied), copied)
    return made


def set_attributes(
    tree: Any, *filters: Filter, raise_if_not_found: bool = True, **attributes: Any
) -> None:
    """Set attributes of all objects in a tree that have them, in place.

    Args:
        tree: An object, or a container with objects in it.
        *filters: Which objects to change; all by default.
        raise_if_not_found: Whether each attribute must exist on at least one object.
        **attributes: The values, by name.

    Raises:
        ValueError: No object has an attribute of a given name; nothing is changed.
        KindError: An attribute cannot hold its value; nothing is changed.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Dropout(nn.Module):
        ...     def __init__(self):
        ...         self.active = True
        >>> model = nn.List([Dropout(), Dropout()])
        >>> nn.set_attributes(model, active=False)
        >>> [layer.active for layer in model]
        [False, False]

    Modelled on `flax.nnx.Module.set_attributes`.
    """
    meant = predicate(filters or ...)
    steps = []
    missing = {*attributes}
    for path, value in iter_graph(tree):
        if not isinstance(value, Pytree) or not meant(path, value):
            continue
        for name, new in attributes.items():
            if name in kinds_in(value):
                check(value, name, new)
                missing.discard(name)
                steps.append((value, name, new))
    if missing and raise_if_not_found:
        raise ValueError(
            "Could not find at least one instance of the following attributes: "
            f"{', '.join(sorted(missing))}"
        )
    for holder, name, new in steps:
        write(holder, name, new)


def set_metadata(tree: Any, /, only: Filter = ..., **metadata: Any) -> None:
    """Set metadata of all variables in a tree, in place.

    Args:
        tree: An object, or a container with objects in it.
        only: A filter for the variables to change.
        **metadata: The metadata, by name.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> model = nn.List([nn.Param(1.0)])
        >>> nn.set_metadata(model, nn.Param, unit="m")
        >>> model[0].unit
        'm'
    """
    meant = predicate(only)
    for path, value in iter_graph(tree):
        if isinstance(value, Variable) and meant(path, value):
            value.set_metadata(**metadata)


_TRAINING: Final = ("training", "is_training")
_EVALUATING: Final = ("deterministic", "use_running_average")


def train(tree: Any, **attributes: Any) -> None:
    """Switch all objects in a tree to training mode, in place.

    Sets `training` and `is_training` to True, and `deterministic` and
    `use_running_average` to False, on all objects that have these attributes. Modules
    that do not define `is_training` are in training mode unless you called `eval`.

    Args:
        tree: An object, or a container with objects in it.
        **attributes: Further attributes to set.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Dropout(nn.Module):
        ...     def __init__(self):
        ...         self.deterministic = True
        >>> model = nn.List([Dropout()])
        >>> nn.train(model)
        >>> model[0].deterministic
        False

    Modelled on `flax.nnx.Module.train`.
    """
    _set_modes(tree, True, attributes)


def eval(tree: Any, **attributes: Any) -> None:
    """Switch all objects in a tree to evaluation mode, in place.

    This is the opposite of `train`.

    Args:
        tree: An object, or a container with objects in it.
        **attributes: Further attributes to set.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Dropout(nn.Module):
        ...     def __init__(self):
        ...         self.deterministic = False
        >>> model = nn.List([Dropout()])
        >>> nn.eval(model)
        >>> model[0].deterministic
        True

    Modelled on `flax.nnx.Module.eval`.
    """
    _set_modes(tree, False, attributes)


def _set_modes(tree: Any, training: bool, attributes: dict[str, Any]) -> None:
    modes = dict.fromkeys(_TRAINING, training) | dict.fromkeys(
        _EVALUATING, not training
    )
    modes |= attributes
    set_attributes(tree, raise_if_not_found=False, **modes)
    is_training = bool(modes["is_training"])
    for _, value in [*iter_graph(tree)]:
        if isinstance(value, Pytree) and value._leafwise_is_module:
            _set_mode(value, is_training)


def _set_mode(module: Any, is_training: bool) -> None:
    """Put a module into a mode, if it has no attribute of its own for it."""
    held, bodies = vars(module), map(vars, type(module).__mro__)
    said = next(body["is_training"] for body in bodies if "is_training" in body)
    if not hasattr(said, "__get__"):  # a value in the body of the class
        assign(module, "is_training", is_training)
    if is_training or "is_training" in held:
        if EVALUATING in held:
            drop(module, EVALUATING)
    elif EVALUATING not in held:
        assign(module, EVALUATING, Marked(Kind.STATIC, True))


def with_attributes(tree: T, *filters: Filter, **attributes: Any) -> T:
    """Return a copy of an object with other attributes; the copy shares its variables.

    Args:
        tree: An object, or a container with objects in it; it is not changed.
        *filters: Which objects to change; all by default.
        **attributes: The values, by name.

    Raises:
        ValueError: No object has an attribute of a given name.

    Example:
        >>> from leafwise import nn
        >>> class Layer(nn.Module):
        ...     def __init__(self):
        ...         self.weight, self.active = nn.Param(1.0), True
        >>> layer = Layer()
        >>> other = nn.with_attributes(layer, active=False)
        >>> layer.active, other.active, other.weight is layer.weight
        (True, False, True)

    Modelled on `flax.nnx.with_attributes`.
    """
    made = clone(tree, variables=False)
    set_attributes(made, *filters, **attributes)
    return made


class _Caller(Generic[M]):
    """Calls a method of an object that exists as structure and state only."""

    __slots__ = ("_pair", "_path")

    def __init__(self, pair: tuple[GraphDef[M], Any], path: Path = ()) -> None:
        self._pair = pair
        self._path = path

    def __getattr__(self, name: str) -> _Caller[M]:
        return _Caller(self._pair, (*self._path, name))

    def __getitem__(self, key: Any) -> _Caller[M]:
        return _Caller(self._pair, (*self._path, (key,)))

    def __call__(
        self, *args: Any, **kwargs: Any
    ) -> tuple[Any, tuple[GraphDef[M], State]]:
        """Call it; return the result, and structure and state afterwards."""
        graphdef, state = self._pair
        model = merge(graphdef, state, copy=True)
        method: Any = model
        for part in self._path:
            method = method[part[0]] if type(part) is tuple else getattr(method, part)
        result = method(*args, **kwargs)
        return result, split(model)


def call(pair: tuple[GraphDef[M], Any]) -> _Caller[M]:
    """Call a method of an object that is given as graphdef and state.

    Args:
        pair: The graphdef and one state, as `split` returns them.

    Returns:
        A proxy for the object. Access attributes and items to reach a method, and call
        it. The call returns a pair: the result, and a pair of the graphdef and the
        state afterwards.

    Example:
        >>> from leafwise import nn
        >>> class Counter(nn.Module):
        ...     def __init__(self):
        ...         self.count = nn.BatchStat(0)
        ...     def step(self, by):
        ...         self.count[...] += by
        ...         return "done"
        >>> result, (graphdef, state) = nn.call(nn.split(Counter())).step(3)
        >>> result, state.count.value
        ('done', 3)

    Modelled on `flax.nnx.call`.
    """
    return _Caller(pair)


def freeze(tree: T, only: Filter = ..., /) -> T:
    """Return a tree in which parameters count as state.

    Parameters are attributes of kind `PARAMETER` and variables such as `Param`, in
    attributes, containers and states. Frozen parameters are of kind `FROZEN`.
    `select_kind` returns them with the state, the filter `Param` does not match them,
    and `nn.value_and_grad` does not differentiate with respect to them.
    References within the tree are kept: a parameter in several places is frozen in all
    of them.

    Args:
        tree: An object, a variable, or a container with these in it.
        only: A filter for the parameters to freeze; all by default.

    Raises:
        TypeError: `tree` is a bare value, or `only` is not a filter.
        ValueError: The filter matches no parameter.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Layer(nn.Module):
        ...     def __init__(self):
        ...         self.register_parameter("weight", 0.5)
        ...         self.bias = nn.Param(0.0)
        >>> frozen = nn.freeze(Layer())
        >>> [kind.name for kind in frozen.name_to_kind.values()]
        ['FROZEN', 'FROZEN']
        >>> partly = nn.freeze([Layer(), Layer()], nn.filters.PathContains(0))
        >>> lw.tree_leaves(nn.select_kind(partly, nn.Kind.PARAMETER))
        [0.5, 0.0]
        >>> nn.to_flat_state(nn.state(partly, nn.Param)).paths
        ((1, 'weight'), (1, 'bias'))

    Modelled on `freeze_parameters` in PAX.
    """
    return _changed(tree, only, Kind.FROZEN, "freeze")


def unfreeze(tree: T, only: Filter = ..., /) -> T:
    """Return a tree in which frozen parameters are parameters again.

    Args:
        tree: An object, a variable, or a container with these in it.
        only: A filter for the parameters to unfreeze; all by default.

    Raises:
        TypeError, ValueError: See `freeze`.

    Example:
        >>> from leafwise import nn
        >>> class Layer(nn.Module):
        ...     def __init__(self):
        ...         self.register_parameter("weight", 0.5)
        ...         self.register_state("calls", 0)
        >>> again = nn.unfreeze(nn.freeze(Layer()))
        >>> [kind.name for kind in again.name_to_kind.values()]
        ['PARAMETER', 'STATE']

    Modelled on `unfreeze_parameters` in PAX.
    """
    return _changed(tree, only, Kind.PARAMETER, "unfreeze")


def _changed(tree: T, only: Filter, wanted: Kind, verb: str) -> T:
    """Return a tree in which the chosen parameters are of a kind."""
    if rule_of(type(tree)) is None:
        raise TypeError(
            f"{verb} takes an object, a variable or a container with these, got a bare "
            f"{type_name(tree)}"
        )
    meant, is_found = predicate(only), only is ...
    copied = flatten_graph(tree, copying=True)
    fresh: T = unflatten_graph(copied.code, copied.leaves, copying=True)
    flat = flatten_graph(fresh)
    for value, path, kind in zip(
        flat.leaves, flat.paths, kinds_of(flat.code), strict=True
    ):
        if (
            isinstance(value, Variable)
            and not {kind, value._leafwise_kind}.isdisjoint(_PARAMETERS)
            and judge(meant, path, value, kind)
        ):
            is_found = True
            if wanted is Kind.FROZEN:
                value.set_metadata(FROZEN, True)
            elif value.has_metadata(FROZEN):
                value.del_metadata(FROZEN)
    for obj, path in zip(flat.tracked, flat.first, strict=True):
        for name, value in vars(obj).items() if isinstance(obj, Pytree) else ():
            kind = kinds_in(obj).get(name) or Kind.STATIC
            if (
                kind in _PARAMETERS
                and not isinstance(value, Variable)
                and judge(meant, (*path, part_of(name)), value, kind)
            ):
                is_found = True
                set_kind(obj, name, wanted)
    if not is_found:
        raise ValueError(f"{shown(meant)} matches no parameter to {verb}")
    return fresh


_PARAMETERS: Final = (Kind.PARAMETER, Kind.FROZEN)

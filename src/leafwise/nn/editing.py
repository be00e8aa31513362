"""Changes of whole models: set attributes, switch modes, map, freeze.

Each object is visited once, whatever refers to it. Modules are recognized by the
description of their class, since `module` builds upon the functions here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from .._text import safe_repr
from ..fields import Kind
from .checks import node_type_of
from .filters import Filter, Path, Predicate, judge, predicate, tag_hint
from .flatgraph import FlatGraph, flatten_graph, kinds_of
from .graph import clone, copy_graph, is_node, iter_graph, write
from .instance import assign, below, check, decide, drop, kinds_in, record_of, set_kind
from .pytree import MODE, Pytree, is_module
from .statics import part_of
from .variables import FROZEN, Variable, kind_of_variable


__all__ = [
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


# ---------------------------------------------------------------- attributes, metadata


def set_attributes(tree: Any, *filters: Filter, **attributes: Any) -> None:
    """Set attributes of all objects in a tree that have them, in place.

    Args:
        tree: An object, or a container with objects in it.
        *filters: Which objects to change; all by default.
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
    writes = _attribute_writes(tree, filters, attributes)
    missing = attributes.keys() - {name for _, name, _ in writes}
    if missing:
        raise ValueError(
            "Could not find at least one instance of the following attributes: "
            f"{', '.join(sorted(missing))}"
        )
    for owner, name, value in writes:
        write(owner, name, value)


def _attribute_writes(
    tree: Any,
    filters: tuple[Filter, ...],
    attributes: dict[str, Any],
) -> list[tuple[Pytree, str, Any]]:
    """Return owner, name and value for each attribute to set, without setting it.

    Raises:
        KindError: An attribute cannot hold its value.
    """
    matches = predicate(filters or ...)
    writes = []
    for path, owner in iter_graph(tree):
        if not isinstance(owner, Pytree) or not matches(path, owner):
            continue
        for name, value in attributes.items():
            if name in kinds_in(owner):
                check(owner, name, value)
                writes.append((owner, name, value))
    return writes


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
    copied = clone(tree, variables=False)
    set_attributes(copied, *filters, **attributes)
    return copied


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
    matches = predicate(only)
    for path, value in iter_graph(tree):
        if isinstance(value, Variable) and matches(path, value):
            value.set_metadata(**metadata)


# --------------------------------------------------------------------------- modes


class Mode:
    """Whether a module is in training mode, which is the default, and is not stored.

    A flag that the `__init__` of a module sets is an attribute as any other, and is
    stored; that of a module without one is marked as static.
    """

    def __get__(self, obj: Any, _cls: Any = None) -> Any:
        return self if obj is None else vars(obj).get(MODE, True)

    def __set__(self, obj: Any, value: Any) -> None:
        is_new = MODE not in vars(obj)
        if is_new:
            is_own = record_of(obj).is_building
        else:
            is_own = kinds_in(obj)[MODE] is not Kind.STATIC
        if is_own or value is not True:
            kind = decide(obj, MODE, value)
            if kind is None and not is_own:
                kind = Kind.STATIC
            vars(obj)[MODE] = value
            set_kind(obj, MODE, kind)
        elif not is_new:
            # Not stored, so that a module that was switched back has the structure of
            # one that never was: nothing is compiled again.
            drop(obj, MODE)


def train(tree: T, **attributes: Any) -> T:
    """Switch all objects in a tree to training mode, in place.

    Sets `training` and `is_training` to True, and `deterministic` and
    `use_running_average` to False, on all objects that have these attributes. Modules
    that do not define `is_training` are in training mode unless you called `eval`.

    Args:
        tree: An object, or a container with objects in it.
        **attributes: Further attributes to set.

    Returns:
        The tree itself.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Dropout(nn.Module):
        ...     def __init__(self):
        ...         self.deterministic = True
        >>> nn.train([Dropout()])[0].deterministic
        False

    Modelled on `flax.nnx.train`.
    """
    set_modes(tree, True, attributes)
    return tree


def eval(tree: T, **attributes: Any) -> T:
    """Switch all objects in a tree to evaluation mode, in place.

    This is the opposite of `train`.

    Args:
        tree: An object, or a container with objects in it.
        **attributes: Further attributes to set.

    Returns:
        The tree itself.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Dropout(nn.Module):
        ...     def __init__(self):
        ...         self.deterministic = False
        >>> nn.eval([Dropout()])[0].deterministic
        True

    Modelled on `flax.nnx.eval`.
    """
    set_modes(tree, False, attributes)
    return tree


def set_modes(tree: Any, training: bool, attributes: dict[str, Any]) -> None:
    """Set the flags of all objects in a tree, and the mode of all modules.

    Args:
        tree: The tree.
        training: Whether to switch to training mode.
        attributes: Further attributes to set.
    """
    flags = {"training": training, MODE: training, **attributes}
    flags.setdefault("deterministic", not training)
    flags.setdefault("use_running_average", not training)
    for owner, name, value in _attribute_writes(tree, (), flags):
        write(owner, name, value)
    is_training = bool(flags[MODE])
    for _, value in list(iter_graph(tree)):
        if is_module(value):
            attribute = inspect.getattr_static(type(value), MODE)
            # A property of the user's own is not assigned.
            if type(attribute) is Mode or not hasattr(attribute, "__get__"):
                assign(value, MODE, is_training)


# --------------------------------------------------------------------- one by one


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
    for part, child in below(node):
        if is_node(child):
            yield part, child


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
    originals: list[Any] = []  # kept alive, so that no id is used twice
    for path, value in list(iter_graph(copied)):
        for part, child in below(value):
            result = results.get(id(child), child)
            if result is not child:
                # A variable has one value, and no name for it.
                name = None if isinstance(value, Variable) else part
                write(value, name, result)
        if is_node(value):
            originals.append(value)
            results[id(value)] = function(path, value)
    mapped_root: T = results.get(id(copied), copied)
    return mapped_root


# -------------------------------------------------------------------------- freezing


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
    return _with_parameters(tree, only, Kind.FROZEN, "freeze")


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
    return _with_parameters(tree, only, Kind.PARAMETER, "unfreeze")


def _with_parameters(
    tree: T,
    only: Filter,
    new_kind: Kind,
    verb: str,
) -> T:
    """Return a tree in which the parameters that a filter matches are of a kind.

    Raises:
        TypeError: The tree is a bare value.
        ValueError: The filter matches no parameter.
    """
    if node_type_of(type(tree)) is None:
        raise TypeError(
            f"{verb} takes an object, a variable or a container with these, got a bare "
            f"{type(tree).__name__}"
        )
    matches = predicate(only)
    fresh: T = copy_graph(tree)
    flat = flatten_graph(fresh)
    count = _change_variables(flat, matches, new_kind)
    count += _change_attributes(flat, matches, new_kind)
    if not count and only is not ...:
        raise ValueError(
            f"{safe_repr(matches)} matches no parameter to {verb}{tag_hint(matches)}"
        )
    return fresh


def _change_variables(flat: FlatGraph, matches: Predicate, new_kind: Kind) -> int:
    """Freeze or unfreeze the variables that a filter matches; return how many.

    A variable says by its metadata that it is frozen, so it is in all places.
    """
    count = 0
    kinds = kinds_of(flat.structure)
    for value, path, kind in zip(flat.leaves, flat.paths, kinds, strict=True):
        if not isinstance(value, Variable):
            continue
        own_kind = kind_of_variable(Kind.DATA, value)
        if kind not in _PARAMETERS and own_kind not in _PARAMETERS:
            continue
        if judge(matches, path, value, kind):
            count += 1
            if new_kind is Kind.FROZEN:
                value.set_metadata(FROZEN, True)
            elif value.has_metadata(FROZEN):
                value.del_metadata(FROZEN)
    return count


def _change_attributes(flat: FlatGraph, matches: Predicate, new_kind: Kind) -> int:
    """Freeze or unfreeze bare parameters that a filter matches; return how many.

    It is the kind of the attribute that says that they are frozen.
    """
    count = 0
    for obj, path in zip(flat.tracked, flat.first, strict=True):
        if not isinstance(obj, Pytree):
            continue
        for name, value in vars(obj).items():
            kind = kinds_in(obj).get(name) or Kind.STATIC
            if kind not in _PARAMETERS or isinstance(value, Variable):
                continue
            if judge(matches, (*path, part_of(name)), value, kind):
                count += 1
                set_kind(obj, name, new_kind)
    return count


_PARAMETERS: Final = (Kind.PARAMETER, Kind.FROZEN)

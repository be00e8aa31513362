"""Iterating over objects: list them, find what stands twice, change many at once.

Each object is met once, whatever refers to it. Paths are tuples of names, positions and
keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias, TypeVar

from ..core.walk import unlink
from ..errors import CycleError
from ..safely import clip
from .checks import DataNode, is_data
from .filters import Filter, predicate
from .functional import clone, merge, split, write
from .graph import OnShared, can_be_shared, check_choice, report_shared
from .pytree import Pytree
from .traverse import AGAIN, CYCLE, ENTER, LEAF, LEAVE, below, traverse
from .variables import Variable


__all__ = [
    "call",
    "eval",
    "find_duplicates",
    "is_node",
    "iter_children",
    "iter_graph",
    "recursive_map",
    "set_attributes",
    "set_metadata",
    "train",
    "tree_check",
    "with_attributes",
]

Path: TypeAlias = tuple[Any, ...]


def is_node(value: Any) -> bool:
    """Return whether a value is an object or a variable."""
    return isinstance(value, Pytree | Variable)


def find_duplicates(
    tree: Any, *, only: Filter = ..., containers: bool = False
) -> list[list[Path]]:
    """Return the paths of what stands in several places.

    Objects, variables and arrays count, by identity. What is below something that
    was met before is not reported again.

    Args:
        tree: An object, or nested containers.
        only: A filter for what is to be reported.
        containers: Whether plain containers count, too.

    Returns:
        A list of paths for each thing that has more than one.

    Example:
        >>> from leafwise import nn
        >>> weight = nn.Param(0.5)
        >>> nn.find_duplicates({"in": weight, "out": [weight]})
        [[('in',), ('out', 0)]]

    The idea is that of `flax.nnx.find_duplicates`.
    """
    meant = predicate(only)
    found: dict[int, tuple[Any, list[Any]]] = {}

    def counts(value: Any) -> bool:
        return is_node(value) or (containers and value is not None)

    for event, link, value in traverse(tree, revisit=lambda value: not counts(value)):
        if event is CYCLE and not counts(value):
            path = unlink(link)
            raise CycleError(f"the {type(value).__name__} at {path} contains itself")
        if event is not LEAVE and (is_data if event is LEAF else counts)(value):
            found.setdefault(id(value), (value, []))[1].append(link)
    several = ((value, links) for value, links in found.values() if len(links) > 1)
    return [
        [unlink(link) for link in links]
        for value, links in several
        if meant(unlink(links[0]), value)
    ]


def tree_check(tree: Any, *, on_shared: OnShared = "error") -> None:
    """Check that nested containers are a tree: no cycles, nothing twice.

    Args:
        tree: An object, or nested containers.
        on_shared: What to do where a container, an object, a variable or an array
            occurs again: `"error"`, `"warn"` or `"allow"`; a cycle is always an error.

    Raises:
        CycleError: Something contains itself.
        SharedError: Something occurs again.

    Example:
        >>> from leafwise import nn
        >>> row = [1, 2]
        >>> nn.tree_check({"a": row, "b": [3]})
        >>> nn.tree_check({"a": row, "b": row})
        Traceback (most recent call last):
        ...
        leafwise.errors.SharedError: the list at ('a',) occurs again at ('b',)
    """
    check_choice(on_shared)
    first: dict[int, tuple[Any, Any]] = {}  # paths and values, which must not go
    again: list[tuple[Any, Any]] = []
    arrays: list[tuple[Any, Any]] = []
    for event, link, value in traverse(tree):
        if event is CYCLE:
            raise _inside_itself(first[id(value)][0], link, value)
        if event is AGAIN and can_be_shared(value):
            again.append((link, value))
        elif event is LEAF and id(value) in first:
            arrays.append((link, value))
        elif event is ENTER or (event is LEAF and is_data(value)):
            first.setdefault(id(value), (link, value))
    if on_shared != "allow":
        for link, value in again + arrays:
            report_shared(on_shared, first[id(value)][0], link, value)


def _inside_itself(first: Any, again: Any, value: Any) -> CycleError:
    return CycleError(
        f"the {type(value).__name__} at {unlink(first) or 'the root'} occurs again at "
        f"{unlink(again)}, inside itself"
    )


T = TypeVar("T")


# --------------------------------------------------------------------- iterating


def iter_graph(tree: Any) -> Iterator[tuple[Path, Any]]:
    """Yield everything in an object with its path, inner things first.

    Objects, variables and containers come once, bare values wherever they stand.

    Args:
        tree: An object, or a container with objects in it.

    Yields:
        The path and the object, variable, container or value; the root comes last,
        with the path `()`.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> for path, value in nn.iter_graph(lw.List([nn.Param(1.0)])):
        ...     print(path, type(value).__name__)
        (0, 'value') float
        (0,) Param
        () List

    The idea is that of `flax.nnx.iter_graph`.
    """
    for link, value in _inside_out(tree):
        yield unlink(link), value


def _inside_out(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield everything once with linked paths, inner things first; leaves each time."""
    for event, link, value in traverse(tree):
        if event is LEAVE or event is LEAF:
            yield link, value


def iter_children(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the objects and variables right in an object, with their names.

    Args:
        node: An object.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> [key for key, _ in nn.iter_children(lw.Dict(a=lw.List(), b=lw.data(1)))]
        ['a']

    The idea is that of `flax.nnx.iter_children`.
    """
    yield from ((part, child) for part, child in below(node) if is_node(child))


# ---------------------------------------------------------------------- changing


def recursive_map(function: Callable[[Path, Any], Any], tree: T) -> T:
    """Return a copy of an object in which each object and variable is mapped.

    Inner ones come first, so the function sees what became of them.

    Args:
        function: Called with the path and the object or variable; returns what takes
            its place.
        tree: An object, or nested lists and dicts; it is not changed.

    Raises:
        TypeError: Something stands in a container that cannot be changed.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> model = lw.List([nn.Param(1.0)])
        >>> nn.recursive_map(
        ...     lambda path, x: x.value if isinstance(x, nn.Param) else x, model)
        List([
          1.0
        ])

    The idea is that of `flax.nnx.recursive_map`.
    """
    copied = clone(tree)
    results: dict[int, Any] = {}
    kept: list[Any] = []
    for link, value in [*_inside_out(copied)]:
        for part, child in below(value):
            if id(child) in results and results[id(child)] is not child:
                if not isinstance(value, list | dict | DataNode):
                    raise TypeError(
                        f"{clip(child)} stands in a {type(value).__name__}, which "
                        "cannot be changed"
                    )
                write(
                    value,
                    None if isinstance(value, Variable) else part,
                    results[id(child)],
                )
        if is_node(value):
            kept.append(value)
            results[id(value)] = function(unlink(link), value)
    made: T = results.get(id(copied), copied)
    return made


def set_attributes(
    tree: Any, *filters: Filter, raise_if_not_found: bool = True, **attributes: Any
) -> None:
    """Set attributes of all objects in a tree that have them, in place.

    Args:
        tree: An object, or a container with objects in it.
        *filters: Which objects; all without a filter.
        raise_if_not_found: Whether each attribute must be found at least once.
        **attributes: The values, by name.

    Raises:
        ValueError: No object has an attribute of some name; nothing is changed then.
        KindError: An attribute cannot have its value; nothing is changed then.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Dropout(nn.Module):
        ...     def __init__(self):
        ...         self.active = True
        >>> model = lw.List([Dropout(), Dropout()])
        >>> nn.set_attributes(model, active=False)
        >>> [layer.active for layer in model]
        [False, False]

    The idea is that of `flax.nnx.Module.set_attributes`.
    """
    meant = predicate(filters or ...)
    steps = []
    missing = {*attributes}
    for link, value in _inside_out(tree):
        if not isinstance(value, Pytree) or not meant(unlink(link), value):
            continue
        for name, new in attributes.items():
            if name in value._leafwise_layout.kinds:
                value._leafwise_check(name, new)
                missing.discard(name)
                steps.append((value, name, new))
    if missing and raise_if_not_found:
        raise ValueError(
            "Could not find at least one instance of the following attributes: "
            f"{', '.join(sorted(missing))}"
        )
    for holder, name, new in steps:
        holder._leafwise_store(name, new)


def set_metadata(tree: Any, only: Filter = ..., /, **metadata: Any) -> None:
    """Set pieces of metadata of all variables in a tree, in place.

    Args:
        tree: An object, or a container with objects in it.
        only: Which variables.
        **metadata: The metadata, by name.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> model = lw.List([nn.Param(1.0)])
        >>> nn.set_metadata(model, nn.Param, unit="m")
        >>> model[0].unit
        'm'
    """
    meant = predicate(only)
    for link, value in _inside_out(tree):
        if isinstance(value, Variable) and meant(unlink(link), value):
            value.set_metadata(**metadata)


_TRAINING: Final = {"training": True, "is_training": True}
_EVALUATING: Final = {"deterministic": True, "use_running_average": True}


def train(tree: Any, **attributes: Any) -> None:
    """Put all objects in a tree into the mode for training, in place.

    Sets `training` and `is_training` to True, `deterministic` and
    `use_running_average` to False, wherever there are such attributes.

    Args:
        tree: An object, or a container with objects in it.
        **attributes: Further attributes to set.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Dropout(nn.Module):
        ...     def __init__(self):
        ...         self.deterministic = True
        >>> model = lw.List([Dropout()])
        >>> nn.train(model)
        >>> model[0].deterministic
        False

    The idea is that of `flax.nnx.Module.train`.
    """
    modes = {**_TRAINING, **dict.fromkeys(_EVALUATING, False), **attributes}
    set_attributes(tree, raise_if_not_found=False, **modes)


def eval(tree: Any, **attributes: Any) -> None:
    """Put all objects in a tree into the mode for evaluation, in place.

    The opposite of `train`.

    Args:
        tree: An object, or a container with objects in it.
        **attributes: Further attributes to set.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Dropout(nn.Module):
        ...     def __init__(self):
        ...         self.deterministic = False
        >>> model = lw.List([Dropout()])
        >>> nn.eval(model)
        >>> model[0].deterministic
        True

    The idea is that of `flax.nnx.Module.eval`.
    """
    modes = {**dict.fromkeys(_TRAINING, False), **_EVALUATING, **attributes}
    set_attributes(tree, raise_if_not_found=False, **modes)


def with_attributes(tree: T, *filters: Filter, **attributes: Any) -> T:
    """Return an object with other attributes that shares the variables.

    Args:
        tree: An object, or a container with objects in it; it is not changed.
        *filters: Which objects; all without a filter.
        **attributes: The values, by name.

    Raises:
        ValueError: No object has an attribute of some name.

    Example:
        >>> from leafwise import nn
        >>> class Layer(nn.Module):
        ...     def __init__(self):
        ...         self.weight, self.active = nn.Param(1.0), True
        >>> layer = Layer()
        >>> other = nn.with_attributes(layer, active=False)
        >>> layer.active, other.active, other.weight is layer.weight
        (True, False, True)

    The idea is that of `flax.nnx.with_attributes`.
    """
    made = clone(tree, variables=False)
    set_attributes(made, *filters, **attributes)
    return made


class _Caller:
    """Calls a method of an object that exists as structure and state only."""

    __slots__ = ("_pair", "_path")

    def __init__(self, pair: tuple[Any, Any], path: Path = ()) -> None:
        self._pair = pair
        self._path = path

    def __getattr__(self, name: str) -> _Caller:
        return _Caller(self._pair, (*self._path, name))

    def __getitem__(self, key: Any) -> _Caller:
        return _Caller(self._pair, (*self._path, (key,)))

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Call it; return the result, and structure and state afterwards."""
        model = merge(*self._pair, copy=True)
        method = model
        for part in self._path:
            method = method[part[0]] if type(part) is tuple else getattr(method, part)
        result = method(*args, **kwargs)
        return result, split(model)


def call(pair: tuple[Any, Any]) -> Any:
    """Call a method of an object that exists as structure and state only.

    Args:
        pair: What `split` returned, of one state.

    Returns:
        Something that stands for the object: attributes and items lead to a method,
        and calling it returns the result, and structure and state afterwards.

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

    The idea is that of `flax.nnx.call`.
    """
    return _Caller(pair)

"""The types of variables that everybody knows, and the names of types."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from ..kinds import Kind
from .variables import T, Variable


__all__ = [
    "BatchStat",
    "Cache",
    "Intermediate",
    "Param",
    "Perturbation",
    "register_variable_name",
    "variable_type",
]

V = TypeVar("V", bound=Variable[Any])


class Param(Variable[T]):
    """A variable that is trained.

    Example:
        >>> from leafwise import nn
        >>> class Layer(nn.Module):
        ...     def __init__(self):
        ...         self.weight = nn.Param(0.5)
        >>> Layer().name_to_kind["weight"].name
        'PARAMETER'
    """

    __slots__ = ()
    _leafwise_kind = Kind.PARAMETER


class BatchStat(Variable[T]):
    """A variable that holds a running statistic.

    Example:
        >>> from leafwise import nn
        >>> nn.BatchStat(0.0).tag
        'batch_stats'
    """

    __slots__ = ()
    _leafwise_kind = Kind.STATE


class Cache(Variable[T]):
    """A variable that holds what was computed before.

    Example:
        >>> from leafwise import nn
        >>> nn.Cache([1]).tag
        'cache'
    """

    __slots__ = ()
    _leafwise_kind = Kind.STATE


class Intermediate(Variable[T]):
    """A variable that holds what came up on the way, as `Module.sow` stores it.

    Example:
        >>> from leafwise import nn
        >>> nn.Intermediate((1.0,)).tag
        'intermediates'
    """

    __slots__ = ()


class Perturbation(Intermediate[T]):
    """A variable that is added to a value, to get the gradient there.

    Example:
        >>> from leafwise import nn
        >>> isinstance(nn.Perturbation(0.0), nn.Intermediate)
        True
    """

    __slots__ = ()


_types: Final[dict[str, type[Variable]]] = {}


def register_variable_name(
    name: str, cls: type[V], *, exist_ok: bool = False
) -> type[V]:
    """Give a type of variables a name, which is then its `tag`.

    Args:
        name: The name.
        cls: The type.
        exist_ok: Whether the name may go from another type to this one.

    Returns:
        The type.

    Raises:
        ValueError: The name belongs to another type.

    Example:
        >>> from leafwise import nn
        >>> class Mask(nn.Variable): ...
        >>> _ = nn.register_variable_name("masks", Mask)
        >>> nn.variable_type("masks").__name__, Mask(1).tag
        ('Mask', 'masks')
    """
    known = _types.setdefault(name, cls)  # in one step: another thread may ask, too
    if known is not cls:
        if not exist_ok:
            raise ValueError(f"the name {name!r} belongs to {known!r} already")
        _types[name] = cls
    cls.tag = name
    return cls


def variable_type(name: str, *, allow_register: bool = False) -> type[Variable]:
    """Return the type of variables that has a name.

    Args:
        name: The name.
        allow_register: Whether to make a type of an unknown name.

    Raises:
        ValueError: Nothing has that name.

    Example:
        >>> from leafwise import nn
        >>> nn.variable_type("params").__name__
        'Param'
    """
    if name not in _types:
        if not allow_register:
            known = ", ".join(map(repr, _types))
            raise ValueError(f"no type of variables is named {name!r}; known: {known}")
        body = {"__slots__": (), "tag": name}
        made = type(name.title().replace("_", ""), (Variable,), body)
        return _types.setdefault(name, made)
    return _types[name]


for _name, _cls in (
    ("params", Param),
    ("batch_stats", BatchStat),
    ("cache", Cache),
    ("intermediates", Intermediate),
    ("perturbations", Perturbation),
):
    register_variable_name(_name, _cls)

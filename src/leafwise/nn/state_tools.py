"""What can be done with a state: pure dicts and back, map, filter, split."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ..core.auxdata import clip
from .filters import Filter
from .states import State, divide, from_flat_state, unknown, walk_state
from .variables import Variable


__all__ = [
    "filter_state",
    "map_state",
    "replace_by_pure_dict",
    "restore_int_paths",
    "split_state",
    "to_pure_dict",
]

Path: TypeAlias = tuple[Any, ...]


def to_pure_dict(state: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return a state as nested dicts, with bare values in place of variables.

    Args:
        state: A state.

    Example:
        >>> from leafwise import nn
        >>> nn.to_pure_dict(nn.State({"a": {0: nn.Param(1.0)}}))
        {'a': {0: 1.0}}
    """
    return map_state(lambda _, value: _pure(value), state)._leafwise_items


def _pure(value: Any) -> Any:
    return value.get_raw_value() if isinstance(value, Variable) else value


def replace_by_pure_dict(state: State, pure: Mapping[Any, Any]) -> None:
    """Set the values of a state from nested dicts of bare values, in place.

    Variables stay and get new values. A text such as `"0"`, as checkpoints have it,
    stands for the position `0` where there is no item of just that key.

    Args:
        state: The state.
        pure: Nested dicts; they need not have all values.

    Raises:
        ValueError: There is no value at some path; nothing was changed then.

    Example:
        >>> from leafwise import nn
        >>> state = nn.State({"a": {0: nn.Param(1.0)}})
        >>> nn.replace_by_pure_dict(state, {"a": {"0": 2.0}})
        >>> state.a[0].value
        2.0
    """
    changes = []
    for path, value in walk_state(pure):
        level: Any = state._leafwise_items
        holder, last = level, None
        for place, key in enumerate(path):
            found = _key_in(level, key)
            if found is None:
                known = level if type(level) is dict else {}
                raise ValueError(f"at {path[: place + 1]}: {unknown(key, known)}")
            holder, last, level = level, found[0], level[found[0]]
        if type(level) is dict:
            raise ValueError(f"at {path}: expected a mapping, got {clip(value)}")
        changes.append((holder, last, level, value))
    for holder, key, old, value in changes:
        if isinstance(old, Variable):
            old.set_value(value)
        else:
            holder[key] = value


def _key_in(level: Any, key: Any) -> tuple[Any] | None:
    """Return the key of a level that a key stands for, in a tuple."""
    if type(level) is not dict:
        return None
    if key in level:
        return (key,)
    number = _number_of(key)
    return (number,) if number in level else None


def _number_of(key: Any) -> Any:
    """Return the number that a key is in text, else the key."""
    if isinstance(key, str) and key.isascii() and key.isdecimal():
        with contextlib.suppress(ValueError):  # it may have too many digits
            return int(key)
    return key


def restore_int_paths(pure: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return nested dicts in which keys that are numbers in text are numbers.

    Args:
        pure: Nested dicts, as read from a file.

    Example:
        >>> from leafwise import nn
        >>> nn.restore_int_paths({"layers": {"0": 1.0}})
        {'layers': {0: 1.0}}
    """
    pairs = ((tuple(map(_number_of, path)), value) for path, value in walk_state(pure))
    return from_flat_state(pairs)._leafwise_items


# ------------------------------------------------------------ whole states


def map_state(function: Callable[[Path, Any], Any], state: Mapping[Any, Any]) -> State:
    """Return a state with the results of a function of path and value.

    Args:
        function: Called with each path and value.
        state: The state.

    Example:
        >>> from leafwise import nn
        >>> nn.map_state(lambda path, x: x * 2, {"a": {"b": 1}}).a.b
        2
    """
    return from_flat_state(
        (path, function(path, value)) for path, value in walk_state(state)
    )


def filter_state(state: Mapping[Any, Any], *filters: Filter) -> Any:
    """Return the part of a state that a filter means, or one for each of several.

    Args:
        state: The state.
        *filters: One filter or more; see :mod:`leafwise.nn.filters`.

    Raises:
        ValueError: No filter was given.
        TypeError: One is no filter.

    Example:
        >>> from leafwise import nn
        >>> nn.filter_state({"a": 1, "b": 2.0}, float)
        State({
          'b': 2.0
        })
    """
    parts = divide(walk_state(state), filters, exhaustive=False)
    made = tuple(map(from_flat_state, parts))
    return made[0] if len(filters) == 1 else made


def split_state(state: Mapping[Any, Any], *filters: Filter) -> tuple[State, ...]:
    """Return one part of a state for each filter; each value goes to the first.

    Args:
        state: The state.
        *filters: One filter or more, which together mean everything.

    Raises:
        ValueError: Values are left over, or no filter was given.
        TypeError: One is no filter.

    Example:
        >>> from leafwise import nn
        >>> numbers, rest = nn.split_state({"a": 1, "b": "x"}, int, ...)
        >>> rest.b
        'x'
    """
    return tuple(
        map(from_flat_state, divide(walk_state(state), filters, exhaustive=True))
    )

"""Small immutable records, and `MISSING`, the sentinel that the package shares.

Frozen dataclasses would do, but creating each of their classes takes about a
millisecond, which would double the time of `import leafwise`.
"""

from __future__ import annotations

import enum
from typing import Any, ClassVar, Final, Literal, dataclass_transform

from ._text import safe_repr


class Sealed:
    """A record whose slots are set once. It is equal only to itself."""

    __slots__: tuple[str, ...] = ()
    # Any, because a declared `tuple[str, ...]` would not allow the narrower types of
    # subclasses, from which type checkers read what a positional pattern matches.
    __match_args__: ClassVar[Any] = ()

    def _set(self, *values: Any) -> None:
        """Set the slots, in their order; called once, by `__init__`."""
        for name, value in zip(self.__match_args__, values, strict=True):
            # past our own `__setattr__`
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, *value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a {type(self).__name__} cannot be changed")


class Frozen(Sealed):
    """An immutable record: equal, hashed, printed and pickled by its slots."""

    __slots__: tuple[str, ...] = ()

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__match_args__)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return bool(self._values() == other._values())

    def __hash__(self) -> int:
        # with the class, as `==` asks for it: records of other classes differ
        return hash((type(self), *self._values()))

    def __repr__(self) -> str:
        pairs = zip(self.__match_args__, self._values(), strict=True)
        inside = ", ".join(f"{name}={safe_repr(value)}" for name, value in pairs)
        return f"{type(self).__name__}({inside})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._values()


@dataclass_transform(frozen_default=True)
class Record(Frozen):
    """A record whose `__init__` takes the values of its slots, in their order."""

    __slots__ = ()

    def __init__(self, *values: Any) -> None:
        self._set(*values)


class Missing(enum.Enum):
    """The type of `MISSING`, which means that no value was given.

    Example:
        >>> from leafwise._records import MISSING
        >>> MISSING, bool(MISSING)
        (MISSING, False)
    """

    MISSING = "MISSING"

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> Literal[False]:
        return False  # type checkers then narrow `if value:` to a value that was given


MISSING: Final = Missing.MISSING
"""Stands for an omitted value where None is a value like any other."""

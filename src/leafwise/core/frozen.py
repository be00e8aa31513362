"""`Frozen`: the base of small immutable records.

A record with slots that are set once. The standard library's dataclasses would
do, but making each class costs about a millisecond at import, and this package
has a budget for its import.
"""

from __future__ import annotations

from typing import Any

from .safely import shown


__all__ = ["Frozen", "Sealed"]


class Sealed:
    """A record whose slots are set once; it is equal to nothing but itself."""

    __slots__: tuple[str, ...] = ()
    __match_args__: tuple[str, ...] = ()

    def _set(self, *values: Any) -> None:
        """Set the slots, in their order; called once, by `__init__`."""
        for name, value in zip(self.__match_args__, values, strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
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
        return hash((type(self), *self._values()))

    def __repr__(self) -> str:
        pairs = zip(self.__match_args__, self._values(), strict=True)
        inside = ", ".join(f"{name}={shown(value)}" for name, value in pairs)
        return f"{type(self).__name__}({inside})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._values()

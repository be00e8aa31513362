"""The check that the functions of `numpy` and `torch` make of a vector."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import StructureError


__all__ = ["check_vector"]


def check_vector(shape: Iterable[int], size: int) -> None:
    """Raise an error for an array that is not a vector of a size.

    Raises:
        StructureError: It is not.
    """
    expected = str((size,))
    actual = str(tuple(shape))
    if actual != expected:
        raise StructureError(
            f"a vector of shape {expected} is needed, got shape {actual}",
            expected=expected,
            actual=actual,
        )

"""What is data? The one question behind every inferred status.

A value is data if it is an array, an instance of one of our classes, or of a class
that was registered as data. It is asked once for each type and then known. Frameworks
are never imported: they are looked up among the modules that are loaded.

An array is never told by `typing.Union`, `functools.singledispatch` or `issubclass`
of an abstract array class: since jax 0.8.2 a tracer is an instance of `jax.Array`
whose type is no subclass of it, and all of these ask for the type.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final, TypeVar

from ..core.registry import check_class, on_change
from ..kinds import Marked


__all__ = [
    "DataNode",
    "is_data",
    "learned",
    "looks_like_array",
    "register_data_type",
    "sort",
]

C = TypeVar("C", bound=type)

_MAX_TYPES: Final = 4096


class _Learned:
    """What is known of types, all of which is dropped as soon as it may be wrong.

    The sets are replaced, never cleared: whoever classifies a value notes down the
    answer in the sets that were there before, so that an answer from before a
    registration is lost with them.

    Attributes:
        plain: Types known to be no data, whose instances hold no other values.
        data: Types known to be data.
        settled: All of both.
    """

    __slots__ = ("data", "plain", "settled")

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget all of it."""
        self.plain: set[type] = set()
        self.data: set[type] = set()
        self.settled: set[type] = set()


learned: Final = _Learned()
"""What is known of the types that were met so far."""

_exact: Final[dict[type, bool]] = {}
_with_subclasses: Final[dict[type, bool]] = {}


class DataNode:
    """Base of our own classes whose instances are data wherever they stand."""

    __slots__ = ()


def is_data(value: Any) -> bool:
    """Say whether a value that is assigned to an attribute makes it data.

    Arrays, our own classes (`Pytree` and what builds on it) and types registered
    with `register_data_type` do; all else is static, containers of arrays included.

    Args:
        value: Anything.

    Example:
        >>> import leafwise as lw
        >>> lw.is_data(lw.List([])), lw.is_data([]), lw.is_data(42), lw.is_data("a")
        (True, False, False, False)

    The idea is that of `flax.nnx.is_data`.
    """
    cls = type(value)
    if cls in learned.data:
        return True
    return cls not in learned.plain and _classify(value)[0]


def register_data_type(cls: C, *, subclasses: bool = False, data: bool = True) -> C:
    """Say that instances of a class are data.

    Args:
        cls: The class.
        subclasses: Whether that holds for subclasses, too; the nearest base counts.
        data: False says the opposite: that they are static, though they look like
            arrays.

    Returns:
        The class, so that this can be a decorator.

    Raises:
        RegistryError: Not a class, or a built-in node type.

    Example:
        >>> import leafwise as lw
        >>> @lw.register_data_type
        ... class Celsius(float): ...
        >>> lw.is_data(Celsius(20)), lw.is_data(20.0)
        (True, False)

    The idea is that of `flax.nnx.register_data_type`.
    """
    check_class(cls)
    (_with_subclasses if subclasses else _exact)[cls] = data
    learned.forget()
    return cls


on_change.append(learned.forget)


def sort(value: Any, holds_others: Callable[[Any], bool]) -> str:
    """Return `"data"`, `"plain"` or `"container"`, and remember it for the type.

    Args:
        value: Anything.
        holds_others: Says of a value that is no data whether values of its type
            hold others that could be.
    """
    cls = type(value)
    plain, known, settled = learned.plain, learned.data, learned.settled
    if cls in plain:
        return "plain"
    if cls in known:
        return "data"
    data, lasting = _classify(value)
    if not data and holds_others(value):
        return "container"
    if lasting:
        if len(settled) > _MAX_TYPES:
            learned.forget()
        (known if data else plain).add(cls)
        settled.add(cls)
    return "data" if data else "plain"


# ------------------------------------------------------------------ the decision


def _classify(value: Any) -> tuple[bool, bool]:
    """Say whether a value is data, and whether that holds for its whole type."""
    cls = type(value)
    if cls is Marked:
        return False, False
    if cls in _exact:
        return _exact[cls], True
    for base in cls.__mro__:
        if base in _with_subclasses:
            return _with_subclasses[base], True
    if issubclass(cls, DataNode):
        return True, True
    if cls.__module__ == "builtins" or issubclass(cls, type):
        return False, True
    for module, name, data in _IS:
        known = getattr(sys.modules.get(module), name, None)
        if isinstance(known, type) and isinstance(value, known):
            return data, known in cls.__mro__
    return looks_like_array(cls), _is_loaded(cls)


_IS: Final = (
    ("jax.core", "Tracer", True),
    ("jax", "Array", True),
    ("jax", "Ref", True),
    ("jax.core", "Ref", True),
    ("jax", "ShapeDtypeStruct", False),
    ("numpy", "ndarray", True),
    ("numpy", "generic", False),
    ("torch", "Tensor", True),
    ("tensorflow", "Tensor", True),
    ("tensorflow", "Variable", True),
    ("cupy", "ndarray", True),
    ("mlx.core", "array", True),
    ("pandas", "DataFrame", False),
    ("pandas", "Series", False),
    ("pandas", "Index", False),
)
"""Classes by module and name, and whether their instances are data."""


def looks_like_array(cls: type) -> bool:
    """Say whether a type has what arrays have, be it for one number only."""
    return (
        hasattr(cls, "shape")
        and hasattr(cls, "dtype")
        and any(
            hasattr(cls, name)
            for name in ("__array_namespace__", "__dlpack__", "__array__")
        )
    )


def _is_loaded(cls: type) -> bool:
    """Say whether the package of a type is loaded, and not only half of it."""
    package = sys.modules.get(cls.__module__.partition(".")[0])
    return not getattr(getattr(package, "__spec__", None), "_initializing", False)

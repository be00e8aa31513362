"""Types for annotations: `PyTree[T]`, and the types of arguments and results.

Owns `PyTree` and the module that exports these names. Nothing in the package imports
it, so that `import leafwise` stays cheap: write `from leafwise.typing import PyTree`.
The classes of results are imported on first access.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from typing_extensions import TypeAliasType

from .core.node import FlattenFunc as FlattenFunc
from .core.node import IsLeaf as IsLeaf
from .core.node import UnflattenFunc as UnflattenFunc
from .lazy import later


if TYPE_CHECKING:
    from .binding import Namespace as Namespace
    from .core.matching import Difference as Difference
    from .core.node import Rule as Rule
    from .ops.inspect import OneLevel as OneLevel
    from .ops.traversal import Visit as Visit


__all__ = [
    "Difference",
    "FlattenFunc",
    "IsLeaf",
    "Namespace",
    "OneLevel",
    "PyTree",
    "Registered",
    "Rule",
    "UnflattenFunc",
    "Visit",
]

_HOMES: Final = {
    "binding": "Namespace",
    "core.matching": "Difference",
    "core.node": "Rule",
    "ops.inspect": "OneLevel",
    "ops.traversal": "Visit",
}
"""The modules that are loaded when one of their names is first asked for."""

if not TYPE_CHECKING:
    __getattr__, __dir__ = later(__name__, _HOMES)

T = TypeVar("T")


class Registered:
    """Placeholder in `PyTree[T]` for nodes that only the registry knows.

    No value is an instance. The class keeps the union apart from classes that have a
    hash.
    """

    __hash__: ClassVar[None]  # type: ignore[assignment]  # that is the point


PyTree = TypeAliasType(
    "PyTree",
    "T | Sequence[PyTree[T]] | Mapping[Any, PyTree[T]] | Registered | None",
    type_params=(T,),
)
"""`PyTree[T]`: a leaf of type `T`, or nested containers of such leaves.

An annotation for people and type checkers. Classes that you register are trees
too, which no type system can express; annotate them by their own name.
"""

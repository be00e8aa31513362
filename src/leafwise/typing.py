"""Types for annotations: `PyTree[T]`, and the types of arguments and results.

Owns `PyTree` and the module that exports these names. Nothing in the package imports
it, so that `import leafwise` stays cheap: write `from leafwise.typing import PyTree`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from typing_extensions import TypeAliasType

from .binding import Namespace
from .core.matching import Difference
from .core.node import FlattenFunc, IsLeaf, Rule, UnflattenFunc
from .ops.inspect import OneLevel
from .ops.traversal import Visit


# fmt: off
__all__ = [
    "Difference", "FlattenFunc", "IsLeaf", "Namespace", "OneLevel", "PyTree",
    "Registered", "Rule", "UnflattenFunc", "Visit",
]
# fmt: on

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

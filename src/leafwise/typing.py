"""Types for annotations: `PyTree[T]`, and the types of arguments and results.

Nothing in the package imports this module, so that `import leafwise` stays cheap: write
`from leafwise.typing import PyTree`.
"""

from __future__ import annotations

from ._typing import IsLeaf, PyTree, Registered
from .core.matching import Difference
from .core.node import FlattenFunc, NodeType, UnflattenFunc
from .namespaces import Namespace
from .ops.inspect import OneLevel
from .ops.traversal import Visit


# fmt: off
__all__ = [
    "Difference", "FlattenFunc", "IsLeaf", "Namespace", "NodeType", "OneLevel",
    "PyTree", "Registered", "UnflattenFunc", "Visit",
]
# fmt: on

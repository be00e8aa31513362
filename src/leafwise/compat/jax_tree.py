"""A stand-in for `jax.tree`: the functions of `jax.tree_util` by short names.

Example:
    >>> import leafwise.compat.jax_tree as tree
    >>> tree.map(lambda x: x * 2, {"a": 1, "b": [2]})
    {'a': 2, 'b': [4]}
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from . import jax_tree_util


_TREES = (
    *("all", "broadcast", "flatten", "flatten_with_path", "leaves", "leaves_with_path"),
    *("map", "map_with_path", "reduce", "reduce_associative", "structure"),
    *("transpose", "unflatten"),
)
globals().update({name: getattr(jax_tree_util, f"tree_{name}") for name in _TREES})
__all__ = [*_TREES, "static"]  # pyright: ignore[reportUnsupportedDunderAll]

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


def static(**kwargs: Any) -> Any:
    """Declare a dataclass field that is aux data; see `dataclasses.field`.

    Example:
        >>> import dataclasses
        >>> from leafwise.compat import jax_tree, jax_tree_util
        >>> @jax_tree_util.register_dataclass
        ... @dataclasses.dataclass
        ... class Layer:
        ...     weight: float
        ...     name: str = jax_tree.static(default="first")
        >>> jax_tree.leaves(Layer(0.5))
        [0.5]
    """
    metadata = {"static": True, **(kwargs.pop("metadata", None) or {})}
    return dataclasses.field(metadata=metadata, **kwargs)

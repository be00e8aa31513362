"""A stand-in for `jax.tree`: the functions of `jax.tree_util` by short names.

Example:
    >>> import leafwise.compat.jax_tree as tree
    >>> tree.map(lambda x: x * 2, {"a": 1, "b": [2]})
    {'a': 2, 'b': [4]}
"""

from __future__ import annotations

import dataclasses
from typing import Any

from .jax_tree_util import tree_all as all
from .jax_tree_util import tree_broadcast as broadcast
from .jax_tree_util import tree_flatten as flatten
from .jax_tree_util import tree_flatten_with_path as flatten_with_path
from .jax_tree_util import tree_leaves as leaves
from .jax_tree_util import tree_leaves_with_path as leaves_with_path
from .jax_tree_util import tree_map as map
from .jax_tree_util import tree_map_with_path as map_with_path
from .jax_tree_util import tree_reduce as reduce
from .jax_tree_util import tree_reduce_associative as reduce_associative
from .jax_tree_util import tree_structure as structure
from .jax_tree_util import tree_transpose as transpose
from .jax_tree_util import tree_unflatten as unflatten


__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]


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
    metadata = kwargs.pop("metadata", None) or {}
    return dataclasses.field(metadata={"static": True, **metadata}, **kwargs)

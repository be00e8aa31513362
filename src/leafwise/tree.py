"""All operations on trees, by short names: `tree.map`, `tree.flatten`, `tree.leaves`.

Each name is that of a function without the prefix `tree_`. `leafwise` has the most used
ones as well, with the prefix.

Example:
    >>> import leafwise as lw
    >>> lw.tree.map(lambda x: x + 1, {"a": 1})
    {'a': 2}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._lazy import HOMES as _NAMES
from ._lazy import later as _later
from .ops.inspect import all_leaves as all_leaves
from .ops.inspect import tree_children as children
from .ops.inspect import tree_equal as equal
from .ops.inspect import tree_flatten_one_level as flatten_one_level
from .ops.inspect import tree_is_leaf as is_leaf
from .ops.map import tree_flatten as flatten
from .ops.map import tree_flatten_with_path as flatten_with_path
from .ops.map import tree_iter as iter
from .ops.map import tree_leaves as leaves
from .ops.map import tree_leaves_with_path as leaves_with_path
from .ops.map import tree_map as map
from .ops.map import tree_map_ as map_
from .ops.map import tree_map_only as map_only
from .ops.map import tree_map_shared as map_shared
from .ops.map import tree_map_with_path as map_with_path
from .ops.map import tree_paths as paths
from .ops.map import tree_replace_nones as replace_nones
from .ops.map import tree_structure as structure
from .ops.map import tree_unflatten as unflatten
from .ops.map import treedef_tuple as treedef_tuple
from .ops.reshape import broadcast_leaves as broadcast_leaves
from .ops.reshape import equality_errors as equality_errors
from .ops.reshape import prefix_errors as prefix_errors
from .ops.reshape import tree_broadcast_common as broadcast_common
from .ops.reshape import tree_broadcast_map as broadcast_map
from .ops.reshape import tree_broadcast_map_with_path as broadcast_map_with_path
from .ops.reshape import tree_broadcast_prefix as broadcast_prefix
from .ops.reshape import tree_transpose as transpose
from .ops.reshape import tree_transpose_map as transpose_map
from .ops.reshape import tree_transpose_map_with_path as transpose_map_with_path
from .ops.reshape import tree_unzip as unzip
from .ops.reshape import tree_zip as zip
from .ops.traversal import tree_all as all
from .ops.traversal import tree_any as any
from .ops.traversal import tree_max as max
from .ops.traversal import tree_min as min
from .ops.traversal import tree_reduce as reduce
from .ops.traversal import tree_sum as sum
from .ops.traversal import tree_visit as visit
from .ops.traversal import tree_walk as walk


if TYPE_CHECKING:
    from .ops.arrays import tree_concatenate as concatenate
    from .ops.arrays import tree_nbytes as nbytes
    from .ops.arrays import tree_size as size
    from .ops.arrays import tree_stack as stack
    from .ops.arrays import tree_unstack as unstack
    from .selection.diff import tree_diff as diff
    from .selection.edit import tree_update as update
    from .selection.merge import tree_merge as merge
    from .selection.partition import tree_combine as combine
    from .selection.partition import tree_partition as partition
    from .show.summary import tree_summary as summary
else:
    _HOMES = {
        name.removeprefix("tree_"): home
        for name, home in _NAMES.items()
        if name.startswith("tree_")
    }
    _HOMES["nbytes"] = "ops.arrays"
    __getattr__, __dir__ = _later(__name__, _HOMES, prefix="tree_")

# fmt: off
__all__ = [
    "all", "all_leaves", "any", "broadcast_common", "broadcast_leaves", "broadcast_map",
    "broadcast_map_with_path", "broadcast_prefix", "children", "combine", "concatenate",
    "diff", "equal", "equality_errors", "flatten", "flatten_one_level",
    "flatten_with_path", "is_leaf", "iter", "leaves", "leaves_with_path",
    "map", "map_", "map_only", "map_shared", "map_with_path", "max",
    "merge", "min", "nbytes", "partition", "paths", "prefix_errors", "reduce",
    "replace_nones", "size", "stack", "structure", "sum",
    "summary", "transpose", "transpose_map", "transpose_map_with_path", "treedef_tuple",
    "unflatten", "unstack", "unzip", "update", "visit", "walk", "zip",
]
# fmt: on

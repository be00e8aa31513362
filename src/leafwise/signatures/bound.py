"""What type checkers see of a namespace: every function that it binds.

Owns the base class of `Namespace` that they see; a test compares it with what there is
at run time. See `words`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform, overload

from ..core.register import register_leaf as _register_leaf
from ..core.register import register_pytree_node as _register_pytree_node
from ..core.register import register_pytree_with_keys as _register_pytree_with_keys
from ..core.register import register_static as _register_static
from ..core.registry import is_registered as _is_registered
from ..core.registry import lookup as _lookup
from ..core.registry import unregister_pytree_node as _unregister_pytree_node
from ..core.serial import register_codec as _register_codec
from ..dataclasses import dataclass as _dataclass
from ..dataclasses import register_dataclass as _register_dataclass
from ..kinds import data, field, parameter, state_value, static
from ..ops.inspect import all_leaves as _all_leaves
from ..ops.inspect import explain_leaf as _explain_leaf
from ..ops.inspect import tree_equal as _tree_equal
from ..ops.inspect import tree_flatten_one_level as _tree_flatten_one_level
from ..ops.inspect import tree_is_leaf as _tree_is_leaf
from ..ops.map import tree_paths as _tree_paths
from ..ops.map import tree_unflatten as _tree_unflatten
from ..ops.reshape import equality_errors as _equality_errors
from ..ops.reshape import prefix_errors as _prefix_errors
from ..ops.traversal import tree_all as _tree_all
from ..ops.traversal import tree_any as _tree_any
from ..ops.traversal import tree_visit as _tree_visit
from ..ops.traversal import tree_walk as _tree_walk
from ..selection.diff import assert_trees_equal as _assert_trees_equal
from ..selection.diff import tree_diff as _tree_diff
from ..selection.edit import at as _at
from ..selection.edit import tree_at as _tree_at
from ..selection.edit import tree_move as _tree_move
from ..selection.edit import tree_rename as _tree_rename
from ..selection.edit import tree_update as _tree_update
from ..selection.names import from_flat as _from_flat
from ..selection.names import override as _override
from ..selection.pattern import selector as _selector
from .folds import (
    Children,
    Extreme,
    Gather,
    MapOnly,
    Reduce,
    ReduceAssociative,
    ReplaceNones,
    Sum,
)
from .leaves import (
    BroadcastPrefix,
    Flatten,
    FlattenWithPath,
    Iter,
    Leaves,
    LeavesWithPath,
    Structure,
    ToFlat,
)
from .maps import BroadcastMap, Each, Map, TransposeMap
from .parts import (
    ClassDecorator,
    Combine,
    Filter,
    GroupBy,
    Labels,
    MapOuter,
    Mask,
    Merge,
    Partition,
    Unmask,
    ZipOuter,
)
from .path_maps import (
    BroadcastMapWithPath,
    EachWithPath,
    MapWithPath,
    TransposeMapWithPath,
)
from .shapes import (
    BroadcastCommon,
    BroadcastTree,
    BroadcastTrees,
    Transpose,
    Unzip,
)


__all__ = ["Bound"]

T = TypeVar("T")


class Bound:
    """The functions of a namespace."""

    all = staticmethod(_tree_all)
    all_leaves = staticmethod(_all_leaves)
    any = staticmethod(_tree_any)
    assert_trees_equal = staticmethod(_assert_trees_equal)
    at = staticmethod(_at)
    broadcast_common: BroadcastCommon
    broadcast_map: BroadcastMap
    broadcast_map_with_path: BroadcastMapWithPath
    broadcast_prefix: BroadcastPrefix
    children: Children
    combine: Combine
    diff = staticmethod(_tree_diff)
    equal = staticmethod(_tree_equal)
    equality_errors = staticmethod(_equality_errors)
    explain_leaf = staticmethod(_explain_leaf)
    flatten: Flatten
    flatten_one_level = staticmethod(_tree_flatten_one_level)
    flatten_with_path: FlattenWithPath
    from_flat = staticmethod(_from_flat)
    gather: Gather
    is_leaf = staticmethod(_tree_is_leaf)
    is_registered = staticmethod(_is_registered)
    iter: Iter
    leaves: Leaves
    leaves_with_path: LeavesWithPath
    lookup = staticmethod(_lookup)
    map: Map
    map_: Each
    map_only: MapOnly
    map_shared: Map
    map_with_path: MapWithPath
    map_with_path_: EachWithPath
    max: Extreme
    merge: Merge
    min: Extreme
    override = staticmethod(_override)
    partition: Partition
    paths = staticmethod(_tree_paths)
    prefix_errors = staticmethod(_prefix_errors)
    reduce: Reduce
    reduce_associative: ReduceAssociative
    register_codec = staticmethod(_register_codec)
    register_dataclass = staticmethod(_register_dataclass)
    register_leaf = staticmethod(_register_leaf)
    register_pytree_node = staticmethod(_register_pytree_node)
    register_pytree_node_class: ClassDecorator
    register_pytree_with_keys = staticmethod(_register_pytree_with_keys)
    register_pytree_with_keys_class: ClassDecorator
    register_static = staticmethod(_register_static)
    replace_nones: ReplaceNones
    selector = staticmethod(_selector)
    structure: Structure
    sum: Sum
    to_flat: ToFlat
    transpose: Transpose
    transpose_map: TransposeMap
    transpose_map_with_path: TransposeMapWithPath
    tree_all = staticmethod(_tree_all)
    tree_any = staticmethod(_tree_any)
    tree_at = staticmethod(_tree_at)
    tree_broadcast_common: BroadcastTrees
    tree_broadcast_map: BroadcastMap
    tree_broadcast_map_with_path: BroadcastMapWithPath
    tree_broadcast_prefix: BroadcastTree
    tree_children: Children
    tree_combine: Combine
    tree_diff = staticmethod(_tree_diff)
    tree_equal = staticmethod(_tree_equal)
    tree_filter: Filter
    tree_flatten: Flatten
    tree_flatten_one_level = staticmethod(_tree_flatten_one_level)
    tree_flatten_with_path: FlattenWithPath
    tree_gather: Gather
    tree_group_by: GroupBy
    tree_is_leaf = staticmethod(_tree_is_leaf)
    tree_iter: Iter
    tree_labels: Labels
    tree_leaves: Leaves
    tree_leaves_with_path: LeavesWithPath
    tree_map: Map
    tree_map_: Each
    tree_map_only: MapOnly
    tree_map_outer: MapOuter
    tree_map_shared: Map
    tree_map_with_path: MapWithPath
    tree_map_with_path_: EachWithPath
    tree_mask: Mask
    tree_max: Extreme
    tree_merge: Merge
    tree_min: Extreme
    tree_move = staticmethod(_tree_move)
    tree_partition: Partition
    tree_paths = staticmethod(_tree_paths)
    tree_reduce: Reduce
    tree_reduce_associative: ReduceAssociative
    tree_rename = staticmethod(_tree_rename)
    tree_replace_nones: ReplaceNones
    tree_structure: Structure
    tree_sum: Sum
    tree_transpose: Transpose
    tree_transpose_map: TransposeMap
    tree_transpose_map_with_path: TransposeMapWithPath
    tree_unflatten = staticmethod(_tree_unflatten)
    tree_unmask: Unmask
    tree_unzip: Unzip
    tree_update = staticmethod(_tree_update)
    tree_visit = staticmethod(_tree_visit)
    tree_walk = staticmethod(_tree_walk)
    tree_zip_outer: ZipOuter
    unflatten = staticmethod(_tree_unflatten)
    unregister_pytree_node = staticmethod(_unregister_pytree_node)
    unzip: Unzip
    visit = staticmethod(_tree_visit)
    walk = staticmethod(_tree_walk)

    @overload
    @dataclass_transform(field_specifiers=(field, data, static, parameter, state_value))
    def dataclass(self, cls: type[T], /) -> type[T]: ...
    @overload
    @dataclass_transform(field_specifiers=(field, data, static, parameter, state_value))
    def dataclass(
        self,
        *,
        inherit: bool = ...,
        exist_ok: bool = ...,
        bridge: bool = ...,
        init: bool = ...,
        repr: bool = ...,
        eq: bool = ...,
        order: bool = ...,
        unsafe_hash: bool = ...,
        frozen: bool = ...,
        match_args: bool = ...,
        kw_only: bool = ...,
        slots: bool = ...,
        weakref_slot: bool = ...,
    ) -> Callable[[type[T]], type[T]]: ...
    def dataclass(self, *cls: Any, **options: Any) -> Any:
        """Make a class a dataclass and its instances nodes of the namespace."""
        return _dataclass(*cls, **options)

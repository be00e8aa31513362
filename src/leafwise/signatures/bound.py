"""What type checkers see of a namespace: every function that it binds.

Owns the base class of `Namespace` that they see; a test compares it with what there is
at run time. See `words`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform, overload

from .. import dataclasses as _dataclasses
from ..core import register as _register
from ..core import registry as _registry
from ..core import serial as _serial
from ..io import files as _files
from ..io import fingerprint as _fingerprint
from ..kinds import data, field, parameter, state_value, static
from ..ops import arrays as _arrays
from ..ops import inspect as _inspect
from ..ops import map as _map
from ..ops import parallel as _parallel
from ..ops import reshape as _reshape
from ..ops import traversal as _traversal
from ..selection import diff as _diff
from ..selection import edit as _edit
from ..selection import merge as _merge
from ..selection import names as _names
from ..selection import partition as _partition
from ..selection import pattern as _pattern
from ..show import diagram as _diagram
from ..show import pretty as _pretty
from ..show import summary as _summary
from ..testing import asserts as _asserts
from ..testing import registrations as _registrations
from ..testing import strategies as _strategies


__all__ = ["Bound"]

T = TypeVar("T")


class Bound:
    """The functions of a namespace."""

    all = tree_all = staticmethod(_traversal.tree_all)
    all_leaves = staticmethod(_inspect.all_leaves)
    any = tree_any = staticmethod(_traversal.tree_any)
    assert_same_structure = staticmethod(_asserts.assert_same_structure)
    assert_trees_close = staticmethod(_asserts.assert_trees_close)
    assert_trees_equal = staticmethod(_asserts.assert_trees_equal)
    at = staticmethod(_edit.at)
    broadcast_common = _reshape.broadcast_common
    broadcast_map = tree_broadcast_map = _reshape.tree_broadcast_map
    broadcast_map_with_path = tree_broadcast_map_with_path = (
        _reshape.tree_broadcast_map_with_path
    )
    broadcast_prefix = _reshape.broadcast_prefix
    check_node = staticmethod(_registrations.check_node)
    children = tree_children = _inspect.tree_children
    combine = tree_combine = _partition.tree_combine
    concatenate = tree_concatenate = _arrays.tree_concatenate
    diff = tree_diff = staticmethod(_diff.tree_diff)
    equal = tree_equal = staticmethod(_inspect.tree_equal)
    equality_errors = staticmethod(_reshape.equality_errors)
    explain_leaf = staticmethod(_inspect.explain_leaf)
    fingerprint = staticmethod(_fingerprint.fingerprint)
    flatten = tree_flatten = _map.tree_flatten
    flatten_one_level = tree_flatten_one_level = staticmethod(
        _inspect.tree_flatten_one_level
    )
    flatten_with_path = tree_flatten_with_path = _map.tree_flatten_with_path
    from_flat = staticmethod(_names.from_flat)
    gather = tree_gather = _parallel.tree_gather
    is_leaf = tree_is_leaf = staticmethod(_inspect.tree_is_leaf)
    is_registered = staticmethod(_registry.is_registered)
    iter = tree_iter = _map.tree_iter
    leaves = tree_leaves = _map.tree_leaves
    leaves_with_path = tree_leaves_with_path = _map.tree_leaves_with_path
    load = staticmethod(_files.load)
    lookup = staticmethod(_registry.lookup)
    map = tree_map = _map.tree_map
    map_ = tree_map_ = _map.tree_map_
    map_only = tree_map_only = _map.tree_map_only
    map_shared = tree_map_shared = _map.tree_map_shared
    map_with_path = tree_map_with_path = _map.tree_map_with_path
    map_with_path_ = tree_map_with_path_ = _map.tree_map_with_path_
    max = tree_max = _traversal.tree_max
    merge = tree_merge = _merge.tree_merge
    min = tree_min = _traversal.tree_min
    nbytes = tree_nbytes = staticmethod(_arrays.tree_nbytes)
    override = staticmethod(_names.override)
    partition = tree_partition = _partition.tree_partition
    paths = tree_paths = staticmethod(_map.tree_paths)
    pformat = staticmethod(_pretty.pformat)
    pprint = staticmethod(_pretty.pprint)
    prefix_errors = staticmethod(_reshape.prefix_errors)
    reduce = tree_reduce = _traversal.tree_reduce
    reduce_associative = tree_reduce_associative = _traversal.tree_reduce_associative
    register_codec = staticmethod(_serial.register_codec)
    register_dataclass = staticmethod(_dataclasses.register_dataclass)
    register_leaf = staticmethod(_register.register_leaf)
    register_pytree_node = staticmethod(_register.register_pytree_node)
    register_pytree_node_class = _register.register_pytree_node_class
    register_pytree_with_keys = staticmethod(_register.register_pytree_with_keys)
    register_pytree_with_keys_class = _register.register_pytree_with_keys_class
    register_static = staticmethod(_register.register_static)
    replace_nones = tree_replace_nones = _map.tree_replace_nones
    save = staticmethod(_files.save)
    selector = staticmethod(_pattern.selector)
    size = tree_size = staticmethod(_arrays.tree_size)
    stack = tree_stack = _arrays.tree_stack
    structure = tree_structure = _map.tree_structure
    sum = tree_sum = _traversal.tree_sum
    summary = tree_summary = staticmethod(_summary.tree_summary)
    to_dot = staticmethod(_diagram.to_dot)
    to_flat = _names.to_flat
    to_mermaid = staticmethod(_diagram.to_mermaid)
    transpose = tree_transpose = _reshape.tree_transpose
    transpose_map = tree_transpose_map = _reshape.tree_transpose_map
    transpose_map_with_path = tree_transpose_map_with_path = (
        _reshape.tree_transpose_map_with_path
    )
    tree_at = staticmethod(_edit.tree_at)
    tree_broadcast_common = _reshape.tree_broadcast_common
    tree_broadcast_prefix = _reshape.tree_broadcast_prefix
    tree_filter = _partition.tree_filter
    tree_group_by = _partition.tree_group_by
    tree_labels = _partition.tree_labels
    tree_map_outer = _merge.tree_map_outer
    tree_mask = _partition.tree_mask
    tree_move = staticmethod(_edit.tree_move)
    tree_rename = staticmethod(_edit.tree_rename)
    tree_unflatten = unflatten = staticmethod(_map.tree_unflatten)
    tree_unmask = _partition.tree_unmask
    tree_unstack = unstack = staticmethod(_arrays.tree_unstack)
    tree_unzip = unzip = _reshape.tree_unzip
    tree_update = staticmethod(_edit.tree_update)
    tree_visit = visit = staticmethod(_traversal.tree_visit)
    tree_walk = walk = staticmethod(_traversal.tree_walk)
    tree_zip = zip = _reshape.tree_zip
    tree_zip_outer = _merge.tree_zip_outer
    treedefs = staticmethod(_strategies.treedefs)
    trees = staticmethod(_strategies.trees)
    trees_like = staticmethod(_strategies.trees_like)
    unregister_pytree_node = staticmethod(_registry.unregister_pytree_node)

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
        return _dataclasses.dataclass(*cls, **options)

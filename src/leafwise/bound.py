"""What type checkers see of a namespace: every function that it binds.

Owns the base class of `Namespace` that they see; a test compares it with what there is
at run time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform, overload

from . import dataclasses as _dataclasses
from .core import register as _register
from .core import registry as _registry
from .core import serial as _serial
from .io import files as _files
from .io import fingerprint as _fingerprint
from .kinds import data, field, parameter, state_value, static
from .ops import arrays as _arrays
from .ops import inspect as _inspect
from .ops import map as _map
from .ops import parallel as _parallel
from .ops import reshape as _reshape
from .ops import traversal as _traversal
from .selection import diff as _diff
from .selection import edit as _edit
from .selection import merge as _merge
from .selection import names as _names
from .selection import partition as _partition
from .selection import select as _select
from .show import diagram as _diagram
from .show import html as _html
from .show import pretty as _pretty
from .show import summary as _summary
from .show import svg as _svg
from .testing import asserts as _asserts
from .testing import registrations as _registrations
from .testing import strategies as _strategies


__all__ = ["Bound"]

T = TypeVar("T")


class Bound:
    """The functions of a namespace."""

    def __init__(self) -> None:
        self.all = self.tree_all = _traversal.tree_all
        self.all_leaves = _inspect.all_leaves
        self.any = self.tree_any = _traversal.tree_any
        self.assert_same_structure = _asserts.assert_same_structure
        self.assert_trees_close = _asserts.assert_trees_close
        self.assert_trees_equal = _asserts.assert_trees_equal
        self.at = _edit.at
        self.broadcast_common = _reshape.tree_broadcast_common
        self.broadcast_map = _reshape.tree_broadcast_map
        self.broadcast_map_with_path = _reshape.tree_broadcast_map_with_path
        self.broadcast_leaves = _reshape.broadcast_leaves
        self.broadcast_prefix = self.tree_broadcast_prefix = (
            _reshape.tree_broadcast_prefix
        )
        self.check_node = _registrations.check_node
        self.children = _inspect.tree_children
        self.combine = self.tree_combine = _partition.tree_combine
        self.concatenate = self.tree_concatenate = _arrays.tree_concatenate
        self.diff = self.tree_diff = _diff.tree_diff
        self.draw = _diagram.draw
        self.equal = self.tree_equal = _inspect.tree_equal
        self.equality_errors = _reshape.equality_errors
        self.explain_leaf = _inspect.explain_leaf
        self.fingerprint = _fingerprint.fingerprint
        self.flatten = self.tree_flatten = _map.tree_flatten
        self.flatten_one_level = _inspect.tree_flatten_one_level
        self.flatten_with_path = self.tree_flatten_with_path = (
            _map.tree_flatten_with_path
        )
        self.from_flat = _names.from_flat
        self.gather = _parallel.tree_gather
        self.is_leaf = _inspect.tree_is_leaf
        self.is_registered = _registry.is_registered
        self.iter = _map.tree_iter
        self.leaves = self.tree_leaves = _map.tree_leaves
        self.leaves_with_path = self.tree_leaves_with_path = _map.tree_leaves_with_path
        self.load = _files.load
        self.lookup = _registry.lookup
        self.map = self.tree_map = _map.tree_map
        self.map_ = self.tree_map_ = _map.tree_map_
        self.map_only = self.tree_map_only = _map.tree_map_only
        self.map_shared = _map.tree_map_shared
        self.map_with_path = self.tree_map_with_path = _map.tree_map_with_path
        self.map_with_path_ = _map.tree_map_with_path_
        self.max = _traversal.tree_max
        self.merge = self.tree_merge = _merge.tree_merge
        self.min = _traversal.tree_min
        self.nbytes = _arrays.tree_nbytes
        self.override = _names.override
        self.partition = self.tree_partition = _partition.tree_partition
        self.paths = self.tree_paths = _map.tree_paths
        self.pformat = _pretty.pformat
        self.pprint = _pretty.pprint
        self.prefix_errors = _reshape.prefix_errors
        self.reduce = self.tree_reduce = _traversal.tree_reduce
        self.reduce_associative = _traversal.tree_reduce_associative
        self.register_codec = _serial.register_codec
        self.register_dataclass = _dataclasses.register_dataclass
        self.register_leaf = _register.register_leaf
        self.register_pytree_node = _register.register_pytree_node
        self.register_pytree_node_class = _register.register_pytree_node_class
        self.register_pytree_with_keys = _register.register_pytree_with_keys
        self.register_pytree_with_keys_class = _register.register_pytree_with_keys_class
        self.register_static = _register.register_static
        self.replace_nones = _map.tree_replace_nones
        self.save = _files.save
        self.selector = _select.selector
        self.size = self.tree_size = _arrays.tree_size
        self.stack = self.tree_stack = _arrays.tree_stack
        self.structure = self.tree_structure = _map.tree_structure
        self.sum = self.tree_sum = _traversal.tree_sum
        self.summary = self.tree_summary = _summary.tree_summary
        self.to_dot = _diagram.to_dot
        self.to_flat = _names.to_flat
        self.to_html = _html.to_html
        self.to_mermaid = _diagram.to_mermaid
        self.to_svg = _svg.to_svg
        self.transpose = self.tree_transpose = _reshape.tree_transpose
        self.transpose_map = _reshape.tree_transpose_map
        self.transpose_map_with_path = _reshape.tree_transpose_map_with_path
        self.tree_at = _edit.tree_at
        self.tree_filter = _partition.tree_filter
        self.tree_group_by = _partition.tree_group_by
        self.tree_labels = _partition.tree_labels
        self.tree_map_outer = _merge.tree_map_outer
        self.tree_move = _edit.tree_move
        self.tree_rename = _edit.tree_rename
        self.tree_unflatten = self.unflatten = _map.tree_unflatten
        self.tree_unstack = self.unstack = _arrays.tree_unstack
        self.unzip = _reshape.tree_unzip
        self.tree_update = self.update = _edit.tree_update
        self.tree_visit = self.visit = _traversal.tree_visit
        self.tree_walk = self.walk = _traversal.tree_walk
        self.tree_zip = self.zip = _reshape.tree_zip
        self.treedef_tuple = _map.treedef_tuple
        self.treedefs = _strategies.treedefs
        self.trees = _strategies.trees
        self.trees_like = _strategies.trees_like
        self.unregister_pytree_node = _registry.unregister_pytree_node

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

"""Stands in for optree: its public names, on the trees of leafwise.

A program that uses optree runs with `import leafwise.compat.optree as optree`. Where
the two differ is told in the documentation; in short, here is no limit of depth,
errors say where, and rebuilding a named tuple does not call its class.

There is one registry. A class that is registered here, in a namespace or in the global
registry, is a node for the functions of leafwise in that namespace, too, with the same
paths; and what was registered by leafwise is a node here. A namespace that nobody
registered in is as the global one, and does not become known by being asked for.
"""

from __future__ import annotations

from . import accessors as accessors
from . import dataclasses as dataclasses
from . import functools as functools
from . import integrations as integrations
from . import ops as ops
from . import pytree as pytree
from . import registry as registry
from . import treespec as treespec
from . import typing as typing
from . import utils as utils
from . import version as version
from .accessors import AutoEntry as AutoEntry
from .accessors import DataclassEntry as DataclassEntry
from .accessors import FlattenedEntry as FlattenedEntry
from .accessors import GetAttrEntry as GetAttrEntry
from .accessors import GetItemEntry as GetItemEntry
from .accessors import MappingEntry as MappingEntry
from .accessors import NamedTupleEntry as NamedTupleEntry
from .accessors import PyTreeAccessor as PyTreeAccessor
from .accessors import PyTreeEntry as PyTreeEntry
from .accessors import SequenceEntry as SequenceEntry
from .accessors import StructSequenceEntry as StructSequenceEntry
from .ops import MAX_RECURSION_DEPTH as MAX_RECURSION_DEPTH
from .ops import NONE_IS_LEAF as NONE_IS_LEAF
from .ops import NONE_IS_NODE as NONE_IS_NODE
from .ops import all_leaves as all_leaves
from .ops import broadcast_common as broadcast_common
from .ops import broadcast_prefix as broadcast_prefix
from .ops import prefix_errors as prefix_errors
from .ops import tree_accessors as tree_accessors
from .ops import tree_all as tree_all
from .ops import tree_any as tree_any
from .ops import tree_broadcast_common as tree_broadcast_common
from .ops import tree_broadcast_map as tree_broadcast_map
from .ops import tree_broadcast_map_with_accessor as tree_broadcast_map_with_accessor
from .ops import tree_broadcast_map_with_path as tree_broadcast_map_with_path
from .ops import tree_broadcast_prefix as tree_broadcast_prefix
from .ops import tree_flatten as tree_flatten
from .ops import tree_flatten_one_level as tree_flatten_one_level
from .ops import tree_flatten_with_accessor as tree_flatten_with_accessor
from .ops import tree_flatten_with_path as tree_flatten_with_path
from .ops import tree_is_leaf as tree_is_leaf
from .ops import tree_iter as tree_iter
from .ops import tree_leaves as tree_leaves
from .ops import tree_map as tree_map
from .ops import tree_map_ as tree_map_
from .ops import tree_map_with_accessor as tree_map_with_accessor
from .ops import tree_map_with_accessor_ as tree_map_with_accessor_
from .ops import tree_map_with_path as tree_map_with_path
from .ops import tree_map_with_path_ as tree_map_with_path_
from .ops import tree_max as tree_max
from .ops import tree_min as tree_min
from .ops import tree_partition as tree_partition
from .ops import tree_paths as tree_paths
from .ops import tree_reduce as tree_reduce
from .ops import tree_replace_nones as tree_replace_nones
from .ops import tree_structure as tree_structure
from .ops import tree_sum as tree_sum
from .ops import tree_transpose as tree_transpose
from .ops import tree_transpose_map as tree_transpose_map
from .ops import tree_transpose_map_with_accessor as tree_transpose_map_with_accessor
from .ops import tree_transpose_map_with_path as tree_transpose_map_with_path
from .ops import tree_unflatten as tree_unflatten
from .ops import treespec_accessors as treespec_accessors
from .ops import treespec_child as treespec_child
from .ops import treespec_children as treespec_children
from .ops import treespec_defaultdict as treespec_defaultdict
from .ops import treespec_deque as treespec_deque
from .ops import treespec_dict as treespec_dict
from .ops import treespec_entries as treespec_entries
from .ops import treespec_entry as treespec_entry
from .ops import treespec_from_collection as treespec_from_collection
from .ops import treespec_frozendict as treespec_frozendict
from .ops import treespec_is_leaf as treespec_is_leaf
from .ops import treespec_is_one_level as treespec_is_one_level
from .ops import treespec_is_prefix as treespec_is_prefix
from .ops import treespec_is_strict_leaf as treespec_is_strict_leaf
from .ops import treespec_is_suffix as treespec_is_suffix
from .ops import treespec_leaf as treespec_leaf
from .ops import treespec_list as treespec_list
from .ops import treespec_namedtuple as treespec_namedtuple
from .ops import treespec_none as treespec_none
from .ops import treespec_one_level as treespec_one_level
from .ops import treespec_ordereddict as treespec_ordereddict
from .ops import treespec_paths as treespec_paths
from .ops import treespec_structseq as treespec_structseq
from .ops import treespec_transform as treespec_transform
from .ops import treespec_tuple as treespec_tuple
from .registry import dict_insertion_ordered as dict_insertion_ordered
from .registry import register_pytree_node as register_pytree_node
from .registry import register_pytree_node_class as register_pytree_node_class
from .registry import unregister_pytree_node as unregister_pytree_node
from .typing import CustomTreeNode as CustomTreeNode
from .typing import FlattenFunc as FlattenFunc
from .typing import PyTree as PyTree
from .typing import PyTreeDef as PyTreeDef
from .typing import PyTreeKind as PyTreeKind
from .typing import PyTreeSpec as PyTreeSpec
from .typing import PyTreeTypeVar as PyTreeTypeVar
from .typing import UnflattenFunc as UnflattenFunc
from .typing import is_namedtuple as is_namedtuple
from .typing import is_namedtuple_class as is_namedtuple_class
from .typing import is_namedtuple_instance as is_namedtuple_instance
from .typing import is_structseq as is_structseq
from .typing import is_structseq_class as is_structseq_class
from .typing import is_structseq_instance as is_structseq_instance
from .typing import namedtuple_fields as namedtuple_fields
from .typing import structseq_fields as structseq_fields
from .version import __version__ as __version__


__all__ = [
    "MAX_RECURSION_DEPTH",
    "NONE_IS_LEAF",
    "NONE_IS_NODE",
    "AutoEntry",
    "CustomTreeNode",
    "DataclassEntry",
    "FlattenFunc",
    "FlattenedEntry",
    "GetAttrEntry",
    "GetItemEntry",
    "MappingEntry",
    "NamedTupleEntry",
    "PyTree",
    "PyTreeAccessor",
    "PyTreeDef",
    "PyTreeEntry",
    "PyTreeKind",
    "PyTreeSpec",
    "PyTreeTypeVar",
    "SequenceEntry",
    "StructSequenceEntry",
    "UnflattenFunc",
    "all_leaves",
    "broadcast_common",
    "broadcast_prefix",
    "dict_insertion_ordered",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "namedtuple_fields",
    "prefix_errors",
    "register_pytree_node",
    "register_pytree_node_class",
    "structseq_fields",
    "tree_accessors",
    "tree_all",
    "tree_any",
    "tree_broadcast_common",
    "tree_broadcast_map",
    "tree_broadcast_map_with_accessor",
    "tree_broadcast_map_with_path",
    "tree_broadcast_prefix",
    "tree_flatten",
    "tree_flatten_one_level",
    "tree_flatten_with_accessor",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_with_accessor",
    "tree_map_with_accessor_",
    "tree_map_with_path",
    "tree_map_with_path_",
    "tree_max",
    "tree_min",
    "tree_partition",
    "tree_paths",
    "tree_reduce",
    "tree_replace_nones",
    "tree_structure",
    "tree_sum",
    "tree_transpose",
    "tree_transpose_map",
    "tree_transpose_map_with_accessor",
    "tree_transpose_map_with_path",
    "tree_unflatten",
    "treespec_accessors",
    "treespec_child",
    "treespec_children",
    "treespec_defaultdict",
    "treespec_deque",
    "treespec_dict",
    "treespec_entries",
    "treespec_entry",
    "treespec_from_collection",
    "treespec_frozendict",
    "treespec_is_leaf",
    "treespec_is_one_level",
    "treespec_is_prefix",
    "treespec_is_strict_leaf",
    "treespec_is_suffix",
    "treespec_leaf",
    "treespec_list",
    "treespec_namedtuple",
    "treespec_none",
    "treespec_one_level",
    "treespec_ordereddict",
    "treespec_paths",
    "treespec_structseq",
    "treespec_transform",
    "treespec_tuple",
    "unregister_pytree_node",
]

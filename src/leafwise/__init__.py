"""leafwise: pytrees in pure Python.

    >>> import leafwise as lw
    >>> config = {"optim": {"lr": 0.1, "betas": (0.9, 0.99)}, "seed": 0}
    >>> lw.tree_leaves(config)
    [0.9, 0.99, 0.1, 0]
    >>> lw.tree_map(lambda x: x * 2, config)
    {'optim': {'lr': 0.2, 'betas': (1.8, 1.98)}, 'seed': 0}

This module re-exports the public names and holds no logic.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import tree as tree
from .core.builtins import Partial as Partial
from .core.explain import Difference as Difference
from .core.keypath import KeyPath as KeyPath
from .core.keypath import keystr as keystr
from .core.keys import DictKey as DictKey
from .core.keys import FlattenedIndexKey as FlattenedIndexKey
from .core.keys import GetAttrKey as GetAttrKey
from .core.keys import SequenceKey as SequenceKey
from .core.node import Rule as Rule
from .core.register import register_leaf as register_leaf
from .core.register import register_pytree_node as register_pytree_node
from .core.register import register_pytree_node_class as register_pytree_node_class
from .core.register import register_pytree_with_keys as register_pytree_with_keys
from .core.register import (
    register_pytree_with_keys_class as register_pytree_with_keys_class,
)
from .core.register import register_static as register_static
from .core.registry import announced as _announced
from .core.registry import is_registered as is_registered
from .core.registry import lookup as lookup
from .core.registry import namespaces as namespaces
from .core.registry import unregister_pytree_node as unregister_pytree_node
from .core.runner import hooks as _hooks
from .core.treedef import PyTreeDef as PyTreeDef
from .core.treedef import treedef_tuple as treedef_tuple
from .errors import CompareError as CompareError
from .errors import CycleError as CycleError
from .errors import EditError as EditError
from .errors import FlattenError as FlattenError
from .errors import KindError as KindError
from .errors import LeafwiseError as LeafwiseError
from .errors import NamespaceError as NamespaceError
from .errors import PathError as PathError
from .errors import RegistryError as RegistryError
from .errors import SharedError as SharedError
from .errors import StructureError as StructureError
from .errors import TraceError as TraceError
from .errors import TreeDefError as TreeDefError
from .ops.fold import tree_all as tree_all
from .ops.fold import tree_any as tree_any
from .ops.fold import tree_max as tree_max
from .ops.fold import tree_min as tree_min
from .ops.fold import tree_reduce as tree_reduce
from .ops.fold import tree_reduce_associative as tree_reduce_associative
from .ops.fold import tree_sum as tree_sum
from .ops.inspect import OneLevel as OneLevel
from .ops.inspect import all_leaves as all_leaves
from .ops.inspect import explain_leaf as explain_leaf
from .ops.inspect import tree_children as tree_children
from .ops.inspect import tree_equal as tree_equal
from .ops.inspect import tree_flatten_one_level as tree_flatten_one_level
from .ops.inspect import tree_is_leaf as tree_is_leaf
from .ops.inspect import treedef_children as treedef_children
from .ops.inspect import treedef_is_leaf as treedef_is_leaf
from .ops.map import tree_flatten as tree_flatten
from .ops.map import tree_flatten_with_path as tree_flatten_with_path
from .ops.map import tree_iter as tree_iter
from .ops.map import tree_leaves as tree_leaves
from .ops.map import tree_leaves_with_path as tree_leaves_with_path
from .ops.map import tree_map as tree_map
from .ops.map import tree_map_ as tree_map_
from .ops.map import tree_map_only as tree_map_only
from .ops.map import tree_map_shared as tree_map_shared
from .ops.map import tree_map_with_path as tree_map_with_path
from .ops.map import tree_map_with_path_ as tree_map_with_path_
from .ops.map import tree_paths as tree_paths
from .ops.map import tree_replace_nones as tree_replace_nones
from .ops.map import tree_structure as tree_structure
from .ops.map import tree_unflatten as tree_unflatten
from .ops.parallel import parallel as parallel
from .ops.parallel import tree_gather as tree_gather
from .ops.prefix import broadcast_common as broadcast_common
from .ops.prefix import broadcast_prefix as broadcast_prefix
from .ops.prefix import equality_errors as equality_errors
from .ops.prefix import prefix_errors as prefix_errors
from .ops.prefix import tree_broadcast_common as tree_broadcast_common
from .ops.prefix import tree_broadcast_map as tree_broadcast_map
from .ops.prefix import tree_broadcast_map_with_path as tree_broadcast_map_with_path
from .ops.prefix import tree_broadcast_prefix as tree_broadcast
from .ops.prefix import tree_broadcast_prefix as tree_broadcast_prefix
from .ops.transpose import tree_transpose as tree_transpose
from .ops.transpose import tree_transpose_map as tree_transpose_map
from .ops.transpose import tree_transpose_map_with_path as tree_transpose_map_with_path
from .ops.transpose import tree_unzip as tree_unzip
from .ops.visit import DELETE as DELETE
from .ops.visit import SKIP as SKIP
from .ops.visit import STOP as STOP
from .ops.visit import Visit as Visit
from .ops.visit import tree_visit as tree_visit
from .ops.visit import tree_walk as tree_walk
from .sentinel import MISSING as MISSING


if TYPE_CHECKING:  # what is loaded when it is first asked for, see `__getattr__`
    from . import filters as filters
    from . import integrations as integrations
    from .binding import Namespace as Namespace
    from .binding import namespace as namespace
    from .core.fields import register_dataclass as register_dataclass
    from .core.serial import register_codec as register_codec
    from .dataclasses import dataclass as dataclass
    from .kinds import Data as Data
    from .kinds import Kind as Kind
    from .kinds import Static as Static
    from .kinds import data as data
    from .kinds import field as field
    from .kinds import parameter as parameter
    from .kinds import state_value as state_value
    from .kinds import static as static
    from .objects.arrays import is_data as is_data
    from .objects.arrays import register_data_type as register_data_type
    from .objects.capture import capture as capture
    from .objects.change import clone as clone
    from .objects.change import pop as pop
    from .objects.change import update as update
    from .objects.containers import Dict as Dict
    from .objects.containers import List as List
    from .objects.containers import Sequential as Sequential
    from .objects.freezing import freeze as freeze
    from .objects.freezing import unfreeze as unfreeze
    from .objects.graph import graphdef as graphdef
    from .objects.graph import merge as merge
    from .objects.graph import split as split
    from .objects.graph import state as state
    from .objects.graphdef import GraphDef as GraphDef
    from .objects.module import Module as Module
    from .objects.pytree import Object as Object
    from .objects.pytree import Pytree as Pytree
    from .objects.pytree import check_pytree as check_pytree
    from .objects.pytree import name_to_kind as name_to_kind
    from .objects.roam import call as call
    from .objects.roam import eval as eval
    from .objects.roam import iter_children as iter_children
    from .objects.roam import iter_graph as iter_graph
    from .objects.roam import iter_modules as iter_modules
    from .objects.roam import recursive_map as recursive_map
    from .objects.roam import set_attributes as set_attributes
    from .objects.roam import set_metadata as set_metadata
    from .objects.roam import train as train
    from .objects.roam import with_attributes as with_attributes
    from .objects.sharing import find_duplicates as find_duplicates
    from .objects.sharing import tree_check as tree_check
    from .objects.state import FlatState as FlatState
    from .objects.state import State as State
    from .objects.state import diff_state as diff_state
    from .objects.state import from_flat_state as from_flat_state
    from .objects.state import merge_state as merge_state
    from .objects.state import to_flat_state as to_flat_state
    from .objects.state_tools import filter_state as filter_state
    from .objects.state_tools import map_state as map_state
    from .objects.state_tools import replace_by_pure_dict as replace_by_pure_dict
    from .objects.state_tools import restore_int_paths as restore_int_paths
    from .objects.state_tools import split_state as split_state
    from .objects.state_tools import to_pure_dict as to_pure_dict
    from .objects.surgery import replace as replace
    from .objects.surgery import select_kind as select_kind
    from .objects.surgery import summary as summary
    from .objects.surgery import update_kind as update_kind
    from .objects.trace import unsafe_mutation as unsafe_mutation
    from .objects.variable_types import BatchStat as BatchStat
    from .objects.variable_types import Cache as Cache
    from .objects.variable_types import Intermediate as Intermediate
    from .objects.variable_types import Param as Param
    from .objects.variable_types import Perturbation as Perturbation
    from .objects.variable_types import register_variable_name as register_variable_name
    from .objects.variable_types import variable_type as variable_type
    from .objects.variables import Variable as Variable
    from .selection.diff import Change as Change
    from .selection.diff import TreeDiff as TreeDiff
    from .selection.diff import assert_trees_equal as assert_trees_equal
    from .selection.diff import tree_diff as tree_diff
    from .selection.edit import Selection as Selection
    from .selection.edit import at as at
    from .selection.edit import select as select
    from .selection.edit import tree_at as tree_at
    from .selection.edit import tree_move as tree_move
    from .selection.edit import tree_rename as tree_rename
    from .selection.edit import tree_update as tree_update
    from .selection.flat import FlatReport as FlatReport
    from .selection.flat import from_flat as from_flat
    from .selection.flat import to_flat as to_flat
    from .selection.join import tree_map_outer as tree_map_outer
    from .selection.join import tree_zip_outer as tree_zip_outer
    from .selection.merge import tree_merge as tree_merge
    from .selection.override import override as override
    from .selection.partition import Masked as Masked
    from .selection.partition import tree_combine as tree_combine
    from .selection.partition import tree_filter as tree_filter
    from .selection.partition import tree_group_by as tree_group_by
    from .selection.partition import tree_labels as tree_labels
    from .selection.partition import tree_mask as tree_mask
    from .selection.partition import tree_partition as tree_partition
    from .selection.partition import tree_unmask as tree_unmask
    from .selection.pattern import Selector as Selector
    from .selection.pattern import selector as selector


__version__ = "0.1.0"


try:  # noqa: SIM105  # contextlib would be one more import
    from . import engine as engine
except ImportError:  # all that it does, it only does faster
    pass


def _tell_frameworks() -> None:
    """Begin to wait for frameworks: the first class for them was announced."""
    from .integrations import bridge  # noqa: F401, PLC0415  # it listens from now on


def _tell_compiler() -> None:
    """Begin to wait for torch's compiler: the engine meets its first tree."""
    # a statement, since the compiler runs it for real where it is tracing already
    from .integrations import finder  # noqa: F401, PLC0415


_announced.begin, _hooks.begin = _tell_frameworks, _tell_compiler
if "torch" in sys.modules:
    _tell_compiler()

_HOMES = {
    "binding": "Namespace namespace",
    "core.fields": "register_dataclass",
    "core.serial": "register_codec",
    "dataclasses": "dataclass",
    "kinds": "Data Kind Static data field parameter state_value static",
    "objects.arrays": "is_data register_data_type",
    "objects.capture": "capture",
    "objects.change": "clone pop update",
    "objects.containers": "Dict List Sequential",
    "objects.freezing": "freeze unfreeze",
    "objects.graph": "graphdef merge split state",
    "objects.graphdef": "GraphDef",
    "objects.module": "Module",
    "objects.pytree": "Object Pytree check_pytree name_to_kind",
    "objects.roam": (
        "call eval iter_children iter_graph iter_modules recursive_map "
        "set_attributes set_metadata train with_attributes"
    ),
    "objects.sharing": "find_duplicates tree_check",
    "objects.state": (
        "FlatState State diff_state from_flat_state merge_state to_flat_state"
    ),
    "objects.state_tools": (
        "filter_state map_state replace_by_pure_dict restore_int_paths split_state "
        "to_pure_dict"
    ),
    "objects.surgery": "replace select_kind summary update_kind",
    "objects.trace": "unsafe_mutation",
    "objects.variable_types": (
        "BatchStat Cache Intermediate Param Perturbation register_variable_name "
        "variable_type"
    ),
    "objects.variables": "Variable",
    "selection.diff": "Change TreeDiff assert_trees_equal tree_diff",
    "selection.edit": ("Selection at select tree_at tree_move tree_rename tree_update"),
    "selection.flat": "FlatReport from_flat to_flat",
    "selection.join": "tree_map_outer tree_zip_outer",
    "selection.merge": "tree_merge",
    "selection.override": "override",
    "selection.partition": (
        "Masked tree_combine tree_filter tree_group_by tree_labels tree_mask "
        "tree_partition tree_unmask"
    ),
    "selection.pattern": "Selector selector",
}
"""The modules that are loaded when one of their names is first asked for."""

_LATER = {name: module for module, names in _HOMES.items() for name in names.split()}
_ROOMS = frozenset({"filters", "integrations"})


def __getattr__(name: str) -> Any:
    """Load a name that was not needed so far (PEP 562)."""
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    if name not in _LATER:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}",
            name=name,
            obj=sys.modules[__name__],
        )
    value = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, *_ROOMS})


__all__ = [
    "DELETE",
    "MISSING",
    "SKIP",
    "STOP",
    "BatchStat",
    "Cache",
    "Change",
    "CompareError",
    "CycleError",
    "Data",
    "Dict",
    "DictKey",
    "Difference",
    "EditError",
    "FlatReport",
    "FlatState",
    "FlattenError",
    "FlattenedIndexKey",
    "GetAttrKey",
    "GraphDef",
    "Intermediate",
    "KeyPath",
    "Kind",
    "KindError",
    "LeafwiseError",
    "List",
    "Masked",
    "Module",
    "Namespace",
    "NamespaceError",
    "Object",
    "OneLevel",
    "Param",
    "Partial",
    "PathError",
    "Perturbation",
    "PyTreeDef",
    "Pytree",
    "RegistryError",
    "Rule",
    "Selection",
    "Selector",
    "SequenceKey",
    "Sequential",
    "SharedError",
    "State",
    "Static",
    "StructureError",
    "TraceError",
    "TreeDefError",
    "TreeDiff",
    "Variable",
    "Visit",
    "__version__",
    "all_leaves",
    "assert_trees_equal",
    "at",
    "broadcast_common",
    "broadcast_prefix",
    "call",
    "capture",
    "check_pytree",
    "clone",
    "data",
    "dataclass",
    "diff_state",
    "equality_errors",
    "eval",
    "explain_leaf",
    "field",
    "filter_state",
    "find_duplicates",
    "freeze",
    "from_flat",
    "from_flat_state",
    "graphdef",
    "is_data",
    "is_registered",
    "iter_children",
    "iter_graph",
    "iter_modules",
    "keystr",
    "lookup",
    "map_state",
    "merge",
    "merge_state",
    "name_to_kind",
    "namespace",
    "namespaces",
    "override",
    "parallel",
    "parameter",
    "pop",
    "prefix_errors",
    "recursive_map",
    "register_codec",
    "register_data_type",
    "register_dataclass",
    "register_leaf",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "register_variable_name",
    "replace",
    "replace_by_pure_dict",
    "restore_int_paths",
    "select",
    "select_kind",
    "selector",
    "set_attributes",
    "set_metadata",
    "split",
    "split_state",
    "state",
    "state_value",
    "static",
    "summary",
    "to_flat",
    "to_flat_state",
    "to_pure_dict",
    "train",
    "tree",
    "tree_all",
    "tree_any",
    "tree_at",
    "tree_broadcast",
    "tree_broadcast_common",
    "tree_broadcast_map",
    "tree_broadcast_map_with_path",
    "tree_broadcast_prefix",
    "tree_check",
    "tree_children",
    "tree_combine",
    "tree_diff",
    "tree_equal",
    "tree_filter",
    "tree_flatten",
    "tree_flatten_one_level",
    "tree_flatten_with_path",
    "tree_gather",
    "tree_group_by",
    "tree_is_leaf",
    "tree_iter",
    "tree_labels",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_outer",
    "tree_map_shared",
    "tree_map_with_path",
    "tree_map_with_path_",
    "tree_mask",
    "tree_max",
    "tree_merge",
    "tree_min",
    "tree_move",
    "tree_partition",
    "tree_paths",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_rename",
    "tree_replace_nones",
    "tree_structure",
    "tree_sum",
    "tree_transpose",
    "tree_transpose_map",
    "tree_transpose_map_with_path",
    "tree_unflatten",
    "tree_unmask",
    "tree_unzip",
    "tree_update",
    "tree_visit",
    "tree_walk",
    "tree_zip_outer",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
    "unfreeze",
    "unregister_pytree_node",
    "unsafe_mutation",
    "update",
    "update_kind",
    "variable_type",
    "with_attributes",
]

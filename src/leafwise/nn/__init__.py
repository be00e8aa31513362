"""Modules and pytree classes, with the interfaces of Flax NNX and PAX.

The package has the names of both libraries that leafwise supports: modules, variables,
kinds, states and filters. With `from leafwise import nn as nnx` you can run code that
was written for `flax.nnx`. Names are imported on first access. No framework is
imported: only frameworks that are already imported are asked whether a value is an
array.

    >>> from leafwise import nn
    >>> class Linear(nn.Module):
    ...     def __init__(self, weight):
    ...         self.weight = nn.Param(weight)
    >>> graphdef, state = nn.split(Linear(0.5))
    >>> nn.merge(graphdef, state).weight.value
    0.5
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..lazy import later


if TYPE_CHECKING:
    from ..dataclasses import dataclass as dataclass
    from ..errors import SharedError as SharedError
    from ..errors import TraceError as TraceError
    from ..integrations.branches import cond as cond
    from ..integrations.branches import eval_shape as eval_shape
    from ..integrations.branches import remat as remat
    from ..integrations.branches import switch as switch
    from ..integrations.loops import fori_loop as fori_loop
    from ..integrations.loops import scan as scan
    from ..integrations.loops import while_loop as while_loop
    from ..integrations.options import Carry as Carry
    from ..integrations.options import DiffState as DiffState
    from ..integrations.options import StateAxes as StateAxes
    from ..integrations.options import prefix as prefix
    from ..integrations.transforms import grad as grad
    from ..integrations.transforms import jit as jit
    from ..integrations.transforms import value_and_grad as value_and_grad
    from ..integrations.transforms import vmap as vmap
    from ..kinds import Data as Data
    from ..kinds import Kind as Kind
    from ..kinds import Static as Static
    from ..kinds import data as data
    from ..kinds import field as field
    from ..kinds import parameter as parameter
    from ..kinds import state_value as state_value
    from ..kinds import static as static
    from . import filters as filters
    from .captures import capture as capture
    from .checks import is_data as is_data
    from .checks import register_data_type as register_data_type
    from .checks import unsafe_mutation as unsafe_mutation
    from .containers import Dict as Dict
    from .containers import List as List
    from .containers import Sequential as Sequential
    from .filters import All as All
    from .filters import Any as Any
    from .filters import Everything as Everything
    from .filters import Not as Not
    from .filters import Nothing as Nothing
    from .filters import OfKind as OfKind
    from .filters import OfType as OfType
    from .filters import PathContains as PathContains
    from .filters import PathIn as PathIn
    from .filters import WithTag as WithTag
    from .functional import clone as clone
    from .functional import graphdef as graphdef
    from .functional import merge as merge
    from .functional import pop as pop
    from .functional import select_kind as select_kind
    from .functional import split as split
    from .functional import state as state
    from .functional import update as update
    from .functional import update_kind as update_kind
    from .graph import GraphDef as GraphDef
    from .graph import find_duplicates as find_duplicates
    from .graph import tree_check as tree_check
    from .model import call as call
    from .model import eval as eval
    from .model import freeze as freeze
    from .model import iter_children as iter_children
    from .model import iter_graph as iter_graph
    from .model import pure as pure
    from .model import recursive_map as recursive_map
    from .model import set_attributes as set_attributes
    from .model import set_metadata as set_metadata
    from .model import train as train
    from .model import unfreeze as unfreeze
    from .model import with_attributes as with_attributes
    from .module import Module as Module
    from .module import iter_modules as iter_modules
    from .optimizer import OptArray as OptArray
    from .optimizer import Optimizer as Optimizer
    from .optimizer import OptState as OptState
    from .optimizer import OptVariable as OptVariable
    from .pytree import Object as Object
    from .pytree import Pytree as Pytree
    from .pytree import check_pytree as check_pytree
    from .pytree import name_to_kind as name_to_kind
    from .pytree import replace as replace
    from .rngs import RngCount as RngCount
    from .rngs import RngKey as RngKey
    from .rngs import Rngs as Rngs
    from .rngs import RngState as RngState
    from .rngs import RngStream as RngStream
    from .states import FlatState as FlatState
    from .states import State as State
    from .states import as_pure as as_pure
    from .states import diff_state as diff_state
    from .states import filter_state as filter_state
    from .states import from_flat_state as from_flat_state
    from .states import map_state as map_state
    from .states import merge_state as merge_state
    from .states import replace_by_pure_dict as replace_by_pure_dict
    from .states import restore_int_paths as restore_int_paths
    from .states import split_state as split_state
    from .states import to_flat_state as to_flat_state
    from .states import to_pure_dict as to_pure_dict
    from .variables import BatchStat as BatchStat
    from .variables import Cache as Cache
    from .variables import Intermediate as Intermediate
    from .variables import Param as Param
    from .variables import Perturbation as Perturbation
    from .variables import Variable as Variable
    from .variables import register_variable_name as register_variable_name
    from .variables import variable_type as variable_type


_HOMES: Final = {
    ".dataclasses": "dataclass",
    ".errors": "SharedError TraceError",
    ".integrations.branches": "cond eval_shape remat switch",
    ".integrations.loops": "fori_loop scan while_loop",
    ".integrations.options": "Carry DiffState StateAxes prefix",
    ".integrations.transforms": "grad jit value_and_grad vmap",
    ".kinds": "Data Kind Static data field parameter state_value static",
    "captures": "capture",
    "checks": "is_data register_data_type unsafe_mutation",
    "containers": "Dict List Sequential",
    "filters": (
        "All Any Everything Not Nothing OfKind OfType PathContains PathIn WithTag"
    ),
    "functional": "clone graphdef merge pop select_kind split state update update_kind",
    "graph": "GraphDef find_duplicates tree_check",
    "model": (
        "call eval freeze iter_children iter_graph "
        "pure recursive_map set_attributes set_metadata train unfreeze with_attributes"
    ),
    "module": "Module iter_modules",
    "optimizer": "OptArray OptState OptVariable Optimizer",
    "pytree": "Object Pytree check_pytree name_to_kind replace",
    "rngs": "RngCount RngKey RngState RngStream Rngs",
    "states": (
        "FlatState State as_pure diff_state filter_state from_flat_state map_state "
        "merge_state replace_by_pure_dict restore_int_paths split_state to_flat_state "
        "to_pure_dict"
    ),
    "variables": (
        "BatchStat Cache Intermediate Param Perturbation Variable "
        "register_variable_name variable_type"
    ),
}
"""The modules that are loaded when one of their names is first asked for."""

if not TYPE_CHECKING:
    __getattr__, __dir__ = later(__name__, _HOMES, "filters")


__all__ = [
    "All",
    "Any",
    "BatchStat",
    "Cache",
    "Carry",
    "Data",
    "Dict",
    "DiffState",
    "Everything",
    "FlatState",
    "GraphDef",
    "Intermediate",
    "Kind",
    "List",
    "Module",
    "Not",
    "Nothing",
    "Object",
    "OfKind",
    "OfType",
    "OptArray",
    "OptState",
    "OptVariable",
    "Optimizer",
    "Param",
    "PathContains",
    "PathIn",
    "Perturbation",
    "Pytree",
    "RngCount",
    "RngKey",
    "RngState",
    "RngStream",
    "Rngs",
    "Sequential",
    "SharedError",
    "State",
    "StateAxes",
    "Static",
    "TraceError",
    "Variable",
    "WithTag",
    "as_pure",
    "call",
    "capture",
    "check_pytree",
    "clone",
    "cond",
    "data",
    "dataclass",
    "diff_state",
    "eval",
    "eval_shape",
    "field",
    "filter_state",
    "find_duplicates",
    "fori_loop",
    "freeze",
    "from_flat_state",
    "grad",
    "graphdef",
    "is_data",
    "iter_children",
    "iter_graph",
    "iter_modules",
    "jit",
    "map_state",
    "merge",
    "merge_state",
    "name_to_kind",
    "parameter",
    "pop",
    "prefix",
    "pure",
    "recursive_map",
    "register_data_type",
    "register_variable_name",
    "remat",
    "replace",
    "replace_by_pure_dict",
    "restore_int_paths",
    "scan",
    "select_kind",
    "set_attributes",
    "set_metadata",
    "split",
    "split_state",
    "state",
    "state_value",
    "static",
    "switch",
    "to_flat_state",
    "to_pure_dict",
    "train",
    "tree_check",
    "unfreeze",
    "unsafe_mutation",
    "update",
    "update_kind",
    "value_and_grad",
    "variable_type",
    "vmap",
    "while_loop",
    "with_attributes",
]

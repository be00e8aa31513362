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
from typing import TYPE_CHECKING, Final

from . import errors as errors
from . import tree as tree
from .core.builtins import Partial as Partial
from .core.keypath import KeyPath, keystr
from .core.keys import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey
from .core.register import register_leaf as register_leaf
from .core.register import register_pytree_node as register_pytree_node
from .core.register import register_pytree_node_class as register_pytree_node_class
from .core.register import register_pytree_with_keys as register_pytree_with_keys
from .core.register import (
    register_pytree_with_keys_class as register_pytree_with_keys_class,
)
from .core.register import register_static as register_static
from .core.registry import announced as _announced
from .core.registry import is_registered, lookup, namespaces, unregister_pytree_node
from .core.treedef import PyTreeDef as PyTreeDef
from .core.walk import hooks as _hooks
from .errors import EditError as EditError
from .errors import LeafwiseError as LeafwiseError
from .errors import PathError as PathError
from .errors import RegistryError as RegistryError
from .errors import StructureError as StructureError
from .lazy import later
from .ops.inspect import *
from .ops.map import *
from .ops.reshape import *
from .ops.traversal import *
from .safely import MISSING as MISSING


if TYPE_CHECKING:  # what is loaded when it is first asked for
    from . import compat as compat
    from . import integrations as integrations
    from . import io as io
    from . import nn as nn
    from . import selection as selection
    from . import show as show
    from . import testing as testing
    from . import typing as typing
    from .binding import namespace as namespace
    from .dataclasses import dataclass as dataclass
    from .dataclasses import register_dataclass as register_dataclass
    from .io.files import load as load
    from .io.files import save as save
    from .io.fingerprint import fingerprint as fingerprint
    from .kinds import data as data
    from .kinds import field as field
    from .kinds import static as static
    from .nn.containers import Dict as Dict
    from .nn.containers import List as List
    from .nn.pytree import Pytree as Pytree
    from .ops.arrays import tree_concatenate as tree_concatenate
    from .ops.arrays import tree_nbytes as tree_nbytes
    from .ops.arrays import tree_size as tree_size
    from .ops.arrays import tree_stack as tree_stack
    from .ops.arrays import tree_unstack as tree_unstack
    from .ops.parallel import parallel as parallel
    from .ops.parallel import tree_gather as tree_gather
    from .selection.diff import tree_diff as tree_diff
    from .selection.edit import at as at
    from .selection.merge import tree_merge as tree_merge
    from .selection.partition import tree_combine as tree_combine
    from .selection.partition import tree_partition as tree_partition
    from .show.diagram import to_dot as to_dot
    from .show.diagram import to_mermaid as to_mermaid
    from .show.pretty import pformat as pformat
    from .show.pretty import pprint as pprint
    from .show.summary import tree_summary as tree_summary


__version__ = "0.2.0"


try:  # noqa: SIM105  # contextlib would be one more import
    from . import engine as engine
except ImportError:  # all that it does, it only does faster
    pass


def _tell_frameworks() -> None:
    """Begin to wait for frameworks: the first class for them was announced."""
    from .integrations import bridge  # noqa: PLC0415

    bridge.listen()


def _tell_compiler() -> None:
    """Begin to wait for torch's compiler: the engine meets its first tree."""
    # a statement, since the compiler runs it for real where it is tracing already
    from .integrations import bridge  # noqa: F401, PLC0415


_announced.begin, _hooks.begin = _tell_frameworks, _tell_compiler
if "torch" in sys.modules:
    _tell_compiler()

_HOMES: Final = {
    "binding": "namespace",
    "dataclasses": "dataclass register_dataclass",
    "io.files": "load save",
    "io.fingerprint": "fingerprint",
    "kinds": "data field static",
    "nn.containers": "Dict List",
    "nn.pytree": "Pytree",
    "ops.arrays": "tree_concatenate tree_nbytes tree_size tree_stack tree_unstack",
    "ops.parallel": "parallel tree_gather",
    "selection.diff": "tree_diff",
    "selection.edit": "at",
    "selection.merge": "tree_merge",
    "selection.partition": "tree_combine tree_partition",
    "show.pretty": "pformat pprint",
    "show.summary": "tree_summary",
    "show.diagram": "to_dot to_mermaid",
}
"""The modules that are loaded when one of their names is first asked for."""

if not TYPE_CHECKING:
    __getattr__, __dir__ = later(
        __name__, _HOMES, "compat integrations io nn selection show testing typing"
    )


__all__ = [
    "DELETE",
    "MISSING",
    "SKIP",
    "STOP",
    "Dict",
    "DictKey",
    "EditError",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyPath",
    "LeafwiseError",
    "List",
    "Partial",
    "PathError",
    "PyTreeDef",
    "Pytree",
    "RegistryError",
    "SequenceKey",
    "StructureError",
    "all_leaves",
    "at",
    "broadcast_common",
    "broadcast_prefix",
    "data",
    "dataclass",
    "equality_errors",
    "explain_leaf",
    "field",
    "fingerprint",
    "is_registered",
    "keystr",
    "load",
    "lookup",
    "namespace",
    "namespaces",
    "parallel",
    "pformat",
    "pprint",
    "prefix_errors",
    "register_dataclass",
    "register_leaf",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "save",
    "static",
    "to_dot",
    "to_mermaid",
    "tree_all",
    "tree_any",
    "tree_broadcast_common",
    "tree_broadcast_map",
    "tree_broadcast_map_with_path",
    "tree_broadcast_prefix",
    "tree_children",
    "tree_combine",
    "tree_concatenate",
    "tree_diff",
    "tree_equal",
    "tree_flatten",
    "tree_flatten_one_level",
    "tree_flatten_with_path",
    "tree_gather",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_shared",
    "tree_map_with_path",
    "tree_map_with_path_",
    "tree_max",
    "tree_merge",
    "tree_min",
    "tree_nbytes",
    "tree_partition",
    "tree_paths",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_replace_nones",
    "tree_size",
    "tree_stack",
    "tree_structure",
    "tree_sum",
    "tree_summary",
    "tree_transpose",
    "tree_transpose_map",
    "tree_transpose_map_with_path",
    "tree_unflatten",
    "tree_unstack",
    "tree_unzip",
    "tree_visit",
    "tree_walk",
    "tree_zip",
    "treedef_tuple",
    "unregister_pytree_node",
]

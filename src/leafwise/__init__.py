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

import sys as _sys
from typing import TYPE_CHECKING

from . import errors as errors
from . import tree as tree
from .core.builtins import Partial as Partial
from .core.keypath import KeyPath as KeyPath
from .core.keypath import keystr as keystr
from .core.keys import DictKey as DictKey
from .core.keys import FlattenedIndexKey as FlattenedIndexKey
from .core.keys import GetAttrKey as GetAttrKey
from .core.keys import SequenceKey as SequenceKey
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
from .core.treedef import PyTreeDef as PyTreeDef
from .core.walk import hooks as _hooks
from .errors import EditError as EditError
from .errors import LeafwiseError as LeafwiseError
from .errors import PathError as PathError
from .errors import RegistryError as RegistryError
from .errors import StructureError as StructureError
from .lazy import homes as _homes
from .lazy import later as _later
from .names import HOMES as _HOMES
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
if "torch" in _sys.modules:
    _tell_compiler()

if not TYPE_CHECKING:
    __getattr__, __dir__ = _later(
        __name__,
        _HOMES,
        "compat errors integrations io nn selection show testing tree typing",
    )


__all__ = sorted(  # noqa: PLE0605
    {name for name in vars() if not name.startswith("_")}.union(_homes(_HOMES))
    - {"TYPE_CHECKING", "annotations", "engine", "errors", "tree"}
    - {"core", "equality", "lazy", "names", "ops", "safely"}
)

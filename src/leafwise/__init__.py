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

from collections.abc import Callable as _Callable
from collections.abc import Iterable as _Iterable
from typing import TYPE_CHECKING
from typing import Any as _Any

from . import errors as errors
from . import tree as tree
from ._hooks import hooks as _slots
from ._lazy import HOMES as _HOMES
from ._lazy import later as _later
from ._names import hint_for as _hint_for
from ._records import MISSING
from ._runtime import late_imports as _late_imports
from .core.builtins import Partial
from .core.keypath import KeyPath, keystr
from .core.keys import DictKey, GetAttrKey, SequenceKey
from .core.register import (
    register_leaf,
    register_pytree_node,
    register_pytree_node_class,
    register_static,
)
from .core.registry import is_registered, unregister_pytree_node
from .core.treedef import PyTreeDef
from .errors import LeafwiseError, StructureError
from .ops.inspect import explain_leaf, tree_equal
from .ops.map import (
    tree_flatten,
    tree_flatten_with_path,
    tree_leaves,
    tree_leaves_with_path,
    tree_map,
    tree_map_,
    tree_map_only,
    tree_map_with_path,
    tree_paths,
    tree_structure,
    tree_unflatten,
)
from .ops.reshape import tree_broadcast_prefix, tree_transpose, tree_zip
from .ops.traversal import (
    DELETE,
    SKIP,
    STOP,
    tree_all,
    tree_any,
    tree_reduce,
    tree_sum,
    tree_visit,
    tree_walk,
)


if TYPE_CHECKING:  # what is loaded when it is first asked for
    from . import compat as compat
    from . import configs as configs
    from . import dataclasses as dataclasses
    from . import fields as fields
    from . import files as files
    from . import integrations as integrations
    from . import nn as nn
    from . import registry as registry
    from . import selection as selection
    from . import show as show
    from . import testing as testing
    from . import typing as typing
    from .configs.overrides import override
    from .configs.read_write import read, write
    from .core.fingerprint import fingerprint
    from .dataclasses import dataclass, register_dataclass
    from .fields import data, field, static
    from .files.save_load import load, save
    from .namespaces import namespace
    from .nn.pytree import Pytree
    from .ops.arrays import tree_concatenate, tree_size, tree_stack, tree_unstack
    from .ops.parallel import parallel
    from .selection.diff import tree_diff
    from .selection.edit import at, tree_update
    from .selection.flat import from_flat, to_flat
    from .selection.merge import tree_merge
    from .selection.partition import tree_combine, tree_partition
    from .show.diagram import draw
    from .show.pretty import pformat, pprint
    from .show.summary import tree_summary


__version__ = "0.2.0"


try:  # noqa: SIM105  # contextlib would be one more import
    from . import engine as engine
except ImportError:  # all that it does, it only does faster
    pass

# Not later: a fork may leave a child without the thread that was importing it.
from .integrations import bridge as _bridge  # noqa: F401


def _painter(when: str, file: _Any) -> _Callable[[str, str], str]:
    """Return what adds colours to a text that is printed to a file."""
    with _late_imports:
        from .show.colors import Paint  # noqa: PLC0415

    return Paint(when, file)


def _to_html(value: object) -> str:
    """Return an object of leafwise as HTML, for notebooks."""
    with _late_imports:
        from .show.html import to_html  # noqa: PLC0415

    return to_html(value)


def _to_rich(value: object, options: _Any) -> _Iterable[_Any]:
    """Return the lines of an object of leafwise for rich."""
    with _late_imports:
        from .show.pretty import rich_of  # noqa: PLC0415

    return rich_of(value, options)


_slots.painter = _painter
_slots.to_html = _to_html
_slots.to_rich = _to_rich

if not TYPE_CHECKING:
    __getattr__, __dir__ = _later(
        __name__,
        _HOMES,
        (
            "compat",
            "configs",
            "dataclasses",
            "errors",
            "fields",
            "files",
            "integrations",
            "nn",
            "registry",
            "selection",
            "show",
            "testing",
            "tree",
            "typing",
        ),
        hint_for=_hint_for,
    )

# fmt: off
__all__ = [
    "DELETE", "MISSING", "SKIP", "STOP", "DictKey", "GetAttrKey", "KeyPath",
    "LeafwiseError", "Partial", "PyTreeDef", "Pytree", "SequenceKey", "StructureError",
    "at", "data", "dataclass", "draw", "explain_leaf", "field", "fingerprint",
    "from_flat", "is_registered", "keystr", "load", "namespace", "override", "parallel",
    "pformat", "pprint", "read", "register_dataclass", "register_leaf",
    "register_pytree_node", "register_pytree_node_class", "register_static", "save",
    "static", "to_flat", "tree_all", "tree_any", "tree_broadcast_prefix",
    "tree_combine", "tree_concatenate", "tree_diff", "tree_equal", "tree_flatten",
    "tree_flatten_with_path", "tree_leaves", "tree_leaves_with_path", "tree_map",
    "tree_map_", "tree_map_only", "tree_map_with_path", "tree_merge", "tree_partition",
    "tree_paths", "tree_reduce", "tree_size", "tree_stack", "tree_structure",
    "tree_sum", "tree_summary", "tree_transpose", "tree_unflatten", "tree_unstack",
    "tree_update", "tree_visit", "tree_walk", "tree_zip", "unregister_pytree_node",
    "write",
]
# fmt: on

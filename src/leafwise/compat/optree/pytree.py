"""The functions on trees by the short names of `optree.pytree`, and `reexport`."""

from __future__ import annotations

import builtins
import inspect
import sys
from functools import partial
from types import FunctionType, ModuleType
from typing import Any

from . import dataclasses, functools
from ._nodes import PyTreeKind
from ._treespec import PyTreeSpec
from .accessors import PyTreeEntry
from .ops import tree_accessors as accessors
from .ops import tree_all as all
from .ops import tree_any as any
from .ops import tree_broadcast_common as broadcast_common
from .ops import tree_broadcast_map as broadcast_map
from .ops import tree_broadcast_map_with_accessor as broadcast_map_with_accessor
from .ops import tree_broadcast_map_with_path as broadcast_map_with_path
from .ops import tree_broadcast_prefix as broadcast_prefix
from .ops import tree_flatten as flatten
from .ops import tree_flatten_one_level as flatten_one_level
from .ops import tree_flatten_with_accessor as flatten_with_accessor
from .ops import tree_flatten_with_path as flatten_with_path
from .ops import tree_is_leaf as is_leaf
from .ops import tree_iter as iter
from .ops import tree_leaves as leaves
from .ops import tree_map as map
from .ops import tree_map_ as map_
from .ops import tree_map_with_accessor as map_with_accessor
from .ops import tree_map_with_accessor_ as map_with_accessor_
from .ops import tree_map_with_path as map_with_path
from .ops import tree_map_with_path_ as map_with_path_
from .ops import tree_max as max
from .ops import tree_min as min
from .ops import tree_partition as partition
from .ops import tree_paths as paths
from .ops import tree_reduce as reduce
from .ops import tree_replace_nones as replace_nones
from .ops import tree_structure as structure
from .ops import tree_sum as sum
from .ops import tree_transpose as transpose
from .ops import tree_transpose_map as transpose_map
from .ops import tree_transpose_map_with_accessor as transpose_map_with_accessor
from .ops import tree_transpose_map_with_path as transpose_map_with_path
from .ops import tree_unflatten as unflatten
from .registry import dict_insertion_ordered, name_or_global
from .registry import register_pytree_node as register_node
from .registry import register_pytree_node_class as register_node_class
from .registry import unregister_pytree_node as unregister_node


__all__ = [
    "PyTreeEntry",
    "PyTreeKind",
    "PyTreeSpec",
    "accessors",
    "all",
    "any",
    "broadcast_common",
    "broadcast_map",
    "broadcast_map_with_accessor",
    "broadcast_map_with_path",
    "broadcast_prefix",
    "dict_insertion_ordered",
    "flatten",
    "flatten_one_level",
    "flatten_with_accessor",
    "flatten_with_path",
    "is_leaf",
    "iter",
    "leaves",
    "map",
    "map_",
    "map_with_accessor",
    "map_with_accessor_",
    "map_with_path",
    "map_with_path_",
    "max",
    "min",
    "partition",
    "paths",
    "reduce",
    "reexport",
    "register_node",
    "register_node_class",
    "replace_nones",
    "structure",
    "sum",
    "transpose",
    "transpose_map",
    "transpose_map_with_accessor",
    "transpose_map_with_path",
    "unflatten",
    "unregister_node",
]


def reexport(*, namespace: str, module: str | None = None) -> Any:
    """Make a module with the names of this one, bound to a namespace.

    Its submodules `dataclasses` and `functools` are bound likewise; all three can be
    imported then.

    Args:
        namespace: The namespace.
        module: The name of the new module; that of the caller with `.pytree` appended
            if left out.

    Raises:
        TypeError: The namespace is not a string.
        ValueError: The name is taken, or is none that a module can have.

    Example:
        >>> from leafwise.compat import optree
        >>> tree = optree.pytree.reexport(namespace="doc-app", module="doc_app.tree")
        >>> @tree.dataclasses.dataclass
        ... class State:
        ...     topic: str
        >>> tree.map(str.upper, State("dna"))
        State(topic='DNA')
        >>> tree.structure(State("dna"))
        PyTreeSpec(CustomTreeNode(State[()], [*]), namespace='doc-app')
    """
    name_or_global(namespace)
    if module is None:
        caller = sys._getframe(1).f_globals  # noqa: SLF001  # as `namedtuple` does
        module = f"{caller.get('__name__', '__main__')}.pytree"
    if not builtins.all(part.isidentifier() for part in module.split(".")):
        raise ValueError(f"no module can have the name {module!r}")
    if module in sys.modules:
        raise ValueError(f"the module {module!r} exists already")
    bound: Any = _bound_module(sys.modules[__name__], module, namespace)
    bound.dataclasses = _bound_module(dataclasses, f"{module}.dataclasses", namespace)
    bound.functools = _bound_module(functools, f"{module}.functools", namespace)
    return bound


def _bound_module(original: ModuleType, name: str, namespace: str) -> ModuleType:
    """Make a module whose functions have another default for their namespace."""
    module: Any = ModuleType(name)
    module.__all__ = [public for public in original.__all__ if public != "reexport"]
    for public_name in module.__all__:
        value = getattr(original, public_name)
        setattr(module, public_name, _bound(value, namespace))
    sys.modules[name] = module
    return module  # type: ignore[no-any-return]  # a module


def _bound(value: Any, namespace: str) -> Any:
    """Return a function with another default for its namespace."""
    if not isinstance(value, FunctionType):
        return value
    if "namespace" not in inspect.signature(value).parameters:
        return value
    bound: Any = partial(value, namespace=namespace)  # a default: it may be passed
    bound.__doc__ = value.__doc__
    if value is register_node:  # its attribute takes a namespace, too
        bound.get = _bound(vars(value)["get"], namespace)
    return bound

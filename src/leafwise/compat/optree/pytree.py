"""The functions on trees by the short names of `optree.pytree`, and `reexport`."""

from __future__ import annotations

import functools as _functools
import inspect
import sys
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from . import accessors, dataclasses, functools, ops, registry
from .spec import PyTreeSpec


_TREES: Final = tuple(name for name in ops.__all__ if name.startswith("tree_"))
_NAMES: Final = {
    "PyTreeEntry": accessors.PyTreeEntry,
    "PyTreeKind": accessors.PyTreeKind,
    "PyTreeSpec": PyTreeSpec,
    "dict_insertion_ordered": registry.dict_insertion_ordered,
    "register_node": registry.register_pytree_node,
    "register_node_class": registry.register_pytree_node_class,
    "unregister_node": registry.unregister_pytree_node,
    **{name.removeprefix("tree_"): getattr(ops, name) for name in _TREES},
}
globals().update(_NAMES)
__all__ = [*_NAMES, "reexport"]  # pyright: ignore[reportUnsupportedDunderAll]

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


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
    registry.name_or_global(namespace)
    if module is None:
        module = f"{sys._getframe(1).f_globals.get('__name__', '__main__')}.pytree"
    if not all(map(str.isidentifier, module.split("."))):
        raise ValueError(f"invalid module name: {module!r}")
    if module in sys.modules:
        raise ValueError(f"module {module!r} already exists")
    parts = {"": sys.modules[__name__], "dataclasses": dataclasses}
    parts["functools"] = functools
    whole: Any = None
    for part, original in parts.items():
        made: Any = ModuleType(f"{module}.{part}".rstrip("."))
        made.__all__ = [name for name in original.__all__ if name != "reexport"]
        for name in made.__all__:
            setattr(made, name, _bound(getattr(original, name), namespace))
        sys.modules[made.__name__] = made
        whole = whole or made
        if part:
            setattr(whole, part, made)
    return whole


def _bound(value: Any, namespace: str) -> Any:
    """Return a function with another default for its namespace."""
    is_function = isinstance(value, FunctionType)
    if not is_function or "namespace" not in inspect.signature(value).parameters:
        return value
    made: Any = _functools.partial(value, namespace=namespace)
    made.__doc__ = value.__doc__
    if value is registry.register_pytree_node:
        made.get = _bound(vars(value)["get"], namespace)
    return made

"""The functions on trees by the short names of `optree.pytree`, and `reexport`.

Owns the modules that `reexport` makes: the same names, bound to a namespace.
"""

from __future__ import annotations

import builtins
import functools as _functools
import inspect
import sys
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from . import dataclasses, functools, ops
from .accessors import PyTreeEntry, PyTreeKind
from .registry import GLOBAL_NAMESPACE, dict_insertion_ordered
from .registry import register_pytree_node as register_node
from .registry import register_pytree_node_class as register_node_class
from .registry import unregister_pytree_node as unregister_node
from .spec import PyTreeSpec
from .version import __version__


_TREES: Final = tuple(name for name in ops.__all__ if name.startswith("tree_"))
globals().update({name.removeprefix("tree_"): getattr(ops, name) for name in _TREES})

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    "PyTreeEntry",
    "PyTreeKind",
    "PyTreeSpec",
    "dict_insertion_ordered",
    "reexport",
    "register_node",
    "register_node_class",
    "unregister_node",
    *(name.removeprefix("tree_") for name in _TREES),
]

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


class ReexportedModule(ModuleType):
    """A module with the names of another module, bound to a namespace.

    Args:
        name: Its name.
        namespace: The namespace.
        original: The other module.
        **more: Further attributes.
    """

    def __init__(
        self, /, name: str, *, namespace: str, original: ModuleType, **more: Any
    ) -> None:
        super().__init__(
            name,
            f"The functions of {original.__name__} with namespace {namespace!r}.",
        )
        self.__all__ = sorted({*original.__all__} - {"reexport"})
        self._bound = namespace, original
        vars(self).update(more)

    def __getattr__(self, name: str) -> Any:
        """Bind a function when it is first asked for."""
        if name.startswith("_") or name not in self.__all__:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        namespace, original = self._bound
        found = getattr(original, name)
        if isinstance(found, FunctionType):
            found = bound(found, namespace)
        setattr(self, name, found)
        return found

    def __dir__(self) -> Iterable[str]:
        public = [name for name in vars(self) if not name.startswith("_")]
        return sorted({*self.__all__, *public, "__version__"} & {*dir_of(self)})


def dir_of(module: ReexportedModule) -> set[str]:
    """Return the names that a module has, and those that it makes when asked."""
    return {*vars(module), *module.__all__}


def bound(function: Callable[..., Any], namespace: str) -> Callable[..., Any]:
    """Return a function with another default for its namespace."""
    signature = inspect.signature(function)
    if "namespace" not in signature.parameters:
        return function

    @_functools.wraps(function)
    def call(*args: Any, namespace: str = namespace, **keywords: Any) -> Any:
        return function(*args, namespace=namespace, **keywords)

    parameters = [
        one.replace(default=namespace) if one.name == "namespace" else one
        for one in signature.parameters.values()
    ]
    made: Any = call
    made.__signature__ = signature.replace(parameters=parameters)
    get = getattr(function, "get", None)
    if get is not None:
        made.get = bound(get, namespace)
    return call


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
        ValueError: The name is none of a module, or taken.

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
    if namespace is GLOBAL_NAMESPACE:
        namespace = ""
    if not isinstance(namespace, str):
        raise TypeError(f"The namespace must be a string, got {namespace!r}.")
    if module is None:
        module = f"{sys._getframe(1).f_globals.get('__name__', '__main__')}.pytree"
    if not builtins.all(part.isidentifier() for part in module.split(".")):
        raise ValueError(f"invalid module name: {module!r}")
    rooms = {"dataclasses": dataclasses, "functools": functools}
    for name in (module, *(f"{module}.{room}" for room in rooms)):
        if name in sys.modules:
            raise ValueError(f"module {name!r} already exists")
    made = {
        room: ReexportedModule(
            f"{module}.{room}", namespace=namespace, original=original
        )
        for room, original in rooms.items()
    }
    whole = ReexportedModule(
        module,
        namespace=namespace,
        original=sys.modules[__name__],
        __version__=__version__,
        **made,
    )
    sys.modules[module] = whole
    for room in made.values():
        sys.modules[room.__name__] = room
    return whole

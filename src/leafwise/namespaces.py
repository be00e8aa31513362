"""`namespace("x")`: all functions of the library, bound to one namespace.

A function is imported and bound on first access, by its name in one of the modules
below. The functions are the public ones that take a namespace, and all operations on
trees.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from ._lazy import late_module
from .core.registry import DictOrder, declare_namespace


if TYPE_CHECKING:
    from . import dataclasses
    from .ops import map as maps
    from .selection import edit

__all__ = ["Namespace", "namespace"]

_MODULES: Final = (
    "leafwise",
    "leafwise.tree",
    "leafwise.registry",
    "leafwise.selection",
    "leafwise.show",
    "leafwise.files",
    "leafwise.configs",
    "leafwise.testing",
)
"""The modules whose public functions are bound, if they take a namespace."""


def _takes_namespace(function: Any) -> bool:
    """Return whether a function has a keyword argument `namespace`."""
    return "namespace" in (getattr(function, "__kwdefaults__", None) or ())


def _function(name: str) -> Any:
    """Return the function of a namespace with this name, None if there is none.

    All operations on trees are functions of a namespace. Those without an argument for
    it, such as `tree_unflatten`, take treedefs, which know their namespace.
    """
    for module_name in _MODULES:
        module = late_module(module_name)
        if name not in module.__all__:
            continue
        function = getattr(module, name)
        is_operation = name.startswith("tree_") or module_name == "leafwise.tree"
        return function if is_operation or _takes_namespace(function) else None
    return None


class Namespace:
    """The functions of leafwise with `namespace` filled in.

    Returned by `namespace(name)`. Every function that takes a `namespace` argument is
    an attribute here: `ns.tree_map`, `ns.register_pytree_node`, `ns.dataclass`. The
    operations on trees also have their short names: `ns.map`, `ns.unflatten`.

    Attributes:
        name: The name of the namespace.

    Example:
        >>> import leafwise as lw
        >>> app = lw.namespace("app")
        >>> app.name
        'app'
        >>> leaves, treedef = app.flatten({"a": 1})
        >>> app.unflatten(treedef, [2])
        {'a': 2}
    """

    def __init__(self, name: str) -> None:
        self.name = name
        if TYPE_CHECKING:  # the most used functions; all others are `Any`
            self.at = edit.at
            self.dataclass = dataclasses.dataclass
            self.flatten = self.tree_flatten = maps.tree_flatten
            self.leaves = self.tree_leaves = maps.tree_leaves
            self.map = self.tree_map = maps.tree_map
            self.map_with_path = self.tree_map_with_path = maps.tree_map_with_path
            self.structure = self.tree_structure = maps.tree_structure
            self.unflatten = self.tree_unflatten = maps.tree_unflatten

    def __reduce__(self) -> tuple[Any, ...]:
        return namespace, (self.name,)

    def __getattr__(self, attribute: str) -> Any:
        function = None
        # pickle, copy and notebooks ask for names like this; no module is imported
        if not attribute.startswith("_"):
            function = _function(attribute)
        if function is None:
            raise AttributeError(
                f"namespace {self.name!r} has no function {attribute!r}; functions "
                "that take no namespace are found in leafwise itself",
                name=attribute,
                obj=self,
            )
        bound = function
        if _takes_namespace(function):
            bound = functools.partial(function, namespace=self.name)
            functools.update_wrapper(bound, function)
        # another thread may have bound it meanwhile: all get the same function
        return vars(self).setdefault(attribute, bound)

    def __dir__(self) -> list[str]:
        names = set(super().__dir__())
        for module_name in _MODULES:
            public_names = late_module(module_name).__all__
            names.update(name for name in public_names if _function(name) is not None)
        return sorted(names)

    def __repr__(self) -> str:
        return f"<leafwise namespace {self.name!r}>"


def namespace(
    name: str,
    *,
    dict_order: DictOrder | None = None,
    leaves: tuple[type, ...] | None = None,
    none_is_leaf: bool | None = None,
) -> Namespace:
    """Declare a namespace and return all functions bound to it.

    Classes registered in a namespace are nodes there only. Classes registered globally
    are nodes in every namespace. You can declare a namespace again; the functions then
    refer to the existing one.

    Args:
        name: The name of the namespace.
        dict_order: `"insertion"` walks dicts in insertion order and makes that order
            part of the structure. `"sorted"` is the rule in all other namespaces.
        leaves: Classes whose instances are leaves in this namespace, even if they are
            registered or built-in nodes such as `deque`. Instances of their subclasses
            are leaves, too.
        none_is_leaf: True makes None a leaf in all functions and treedefs of the
            namespace. A call with `none_is_leaf=False` does not make it a node again,
            because that is the default of the argument.

    Returns:
        An object with the functions of leafwise as attributes.

    Raises:
        RegistryError: The policy is unknown, or differs from the declared one.

    Example:
        >>> import leafwise as lw
        >>> shapes = lw.namespace("shapes")
        >>> @shapes.dataclass
        ... class Square:
        ...     side: float
        >>> shapes.tree_leaves(Square(2.0)), lw.tree_leaves(Square(2.0))
        ([2.0], [Square(side=2.0)])
        >>> lw.namespace("as-written", dict_order="insertion").tree_leaves(
        ...     {"b": 1, "a": 2})
        [1, 2]
        >>> lw.namespace("whole-tuples", leaves=(tuple,)).tree_leaves([(1, 2), 3])
        [(1, 2), 3]
        >>> gaps = lw.namespace("gaps", none_is_leaf=True)
        >>> gaps.tree_size([1, None]), gaps.tree_structure([1, None])
        (2, PyTreeDef([*, *], none_is_leaf=True))

    Modelled on `optree.pytree.reexport`.
    """
    declare_namespace(name, dict_order, leaves, none_is_leaf)
    return Namespace(name)

"""`namespace("x")`: every function of the library, bound to one namespace.

Owns the binding alone, and stands high in the tower so that it can bind what
any floor offers. A test checks that no public function with a `namespace`
argument is missing from `BOUND`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from . import dataclasses
from .core import fields, jsonform, register, registry
from .core.registry import declare_namespace
from .core.view import DictOrder
from .ops import fold, inspect, parallel, prefix, transpose, visit
from .ops import map as maps
from .selection import (
    diff,
    edit,
    flat,
    join,
    merge,
    overrides,
    partition,
    pattern,
)


__all__ = ["Namespace", "namespace"]

_MODULES: Final = (
    maps,
    fold,
    inspect,
    parallel,
    prefix,
    transpose,
    visit,
    diff,
    edit,
    flat,
    merge,
    join,
    overrides,
    partition,
    register,
    fields,
)
_UNBOUND: Final = frozenset(
    {
        "Change",
        "FlatReport",
        "guess",
        "Masked",
        "TreeDiff",
        "Selection",
        "tree_transpose",
        "Executor",
        "Parallel",
        "parallel",
        "DELETE",
        "SKIP",
        "STOP",
        "Visit",
        "OneLevel",
        "tree_unflatten",
        "treedef_children",
        "treedef_is_leaf",
    }
)
BOUND: Final[dict[str, Callable[..., Any]]] = {
    name: getattr(module, name)
    for module in _MODULES
    for name in module.__all__
    if name not in _UNBOUND
} | {
    "dataclass": dataclasses.dataclass,
    "is_registered": registry.is_registered,
    "lookup": registry.lookup,
    "register_codec": jsonform.register_codec,
    "selector": pattern.selector,
    "unregister_pytree_node": registry.unregister_pytree_node,
}
"""The functions that take a namespace, by name."""


class Namespace:
    """The functions of leafwise with `namespace` filled in.

    Made by `namespace(name)`. Whatever takes a `namespace` argument is an
    attribute here: `ns.tree_map`, `ns.register_pytree_node`, `ns.dataclass`.

    Attributes:
        name: The name of the namespace.

    Example:
        >>> import leafwise as lw
        >>> lw.namespace("app").name
        'app'
    """

    def __init__(self, name: str) -> None:
        self.name = name
        for attribute, function in BOUND.items():
            bound = functools.partial(function, namespace=name)
            setattr(self, attribute, functools.update_wrapper(bound, function))

    def __reduce__(self) -> tuple[Any, ...]:
        return namespace, (self.name,)

    def __getattr__(self, attribute: str) -> Any:
        raise AttributeError(
            f"namespace {self.name!r} has no function {attribute!r}; functions that "
            "take no namespace are found in leafwise itself"
        )

    def __repr__(self) -> str:
        return f"<leafwise namespace {self.name!r}>"


def namespace(name: str, *, dict_order: DictOrder | None = None) -> Namespace:
    """Declare a namespace and return all functions bound to it.

    Classes registered in a namespace are nodes there only; classes registered
    globally are nodes in every namespace. Declaring a namespace again gives the
    same one.

    Args:
        name: The name of the namespace.
        dict_order: `"insertion"` walks dicts in insertion order and makes that
            order part of the structure; `"sorted"` is the rule everywhere else.

    Returns:
        An object with the functions of leafwise as attributes.

    Raises:
        RegistryError: The policy is unknown or differs from the declared one.

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

    The idea is that of `optree.pytree.reexport`.
    """
    declare_namespace(name, dict_order)
    return Namespace(name)

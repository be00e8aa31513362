"""`namespace("x")`: every function of the library, bound to one namespace.

Owns the binding alone. A function is loaded and bound when it is asked for, wherever
it is defined, by its own name or by the short one that `tree` has for it. A test checks
that no public function with a `namespace` argument is missing from the table, nor any
operation on trees.
"""

from __future__ import annotations

import functools
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .core.registry import DictOrder, declare_namespace
from .lazy import homes


if TYPE_CHECKING:
    from .signatures.bound import Bound
else:
    Bound = object

__all__ = ["Namespace", "namespace"]

_HOMES: Final = {
    "core.serial": "register_codec",
    "core.register": (
        "register_leaf register_pytree_node register_pytree_node_class "
        "register_pytree_with_keys register_pytree_with_keys_class register_static"
    ),
    "core.registry": "is_registered lookup unregister_pytree_node",
    "dataclasses": "dataclass register_dataclass",
    "ops.inspect": (
        "all_leaves explain_leaf tree_children tree_equal tree_flatten_one_level "
        "tree_is_leaf"
    ),
    "ops.map": (
        "tree_flatten tree_flatten_with_path tree_iter tree_leaves "
        "tree_leaves_with_path tree_map tree_map_ tree_map_only tree_map_shared "
        "tree_map_with_path tree_map_with_path_ tree_paths tree_replace_nones "
        "tree_structure"
    ),
    "ops.parallel": "tree_gather",
    "ops.reshape": (
        "broadcast_common broadcast_prefix equality_errors prefix_errors "
        "tree_broadcast_common tree_broadcast_map tree_broadcast_map_with_path "
        "tree_broadcast_prefix tree_transpose_map tree_transpose_map_with_path "
        "tree_unzip"
    ),
    "ops.traversal": (
        "tree_all tree_any tree_max tree_min tree_reduce tree_reduce_associative "
        "tree_sum tree_visit tree_walk"
    ),
    "selection.diff": "assert_trees_equal tree_diff",
    "selection.edit": "at tree_at tree_move tree_rename tree_update",
    "selection.merge": "tree_map_outer tree_merge tree_zip_outer",
    "selection.names": "from_flat override to_flat",
    "selection.partition": (
        "tree_combine tree_filter tree_group_by tree_labels tree_mask tree_partition "
        "tree_unmask"
    ),
    "selection.pattern": "selector",
}
"""The functions that take a namespace, by the module that defines them."""

_AS_THEY_ARE: Final = {"ops.map": "tree_unflatten", "ops.reshape": "tree_transpose"}
"""Operations that take none: the treedefs that they are given know theirs."""

_BOUND: Final = homes(_HOMES)
_FOUND: Final = {**_BOUND, **homes(_AS_THEY_ARE)}


def _short_names() -> list[str]:
    """Return the names that operations have without `tree_` before them."""
    names: list[str] = import_module(".tree", __package__).__all__
    return names


class Namespace(Bound):
    """The functions of leafwise with `namespace` filled in.

    Made by `namespace(name)`. Whatever takes a `namespace` argument is an
    attribute here: `ns.tree_map`, `ns.register_pytree_node`, `ns.dataclass`. All
    operations on trees have their short names, too: `ns.map`, `ns.unflatten`.

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

    def __reduce__(self) -> tuple[Any, ...]:
        return namespace, (self.name,)

    def _bind(self, attribute: str) -> Any:
        """Bind a function when it is first asked for."""
        home = _FOUND.get(attribute)
        if home is None and attribute in _short_names():
            return vars(self).setdefault(attribute, getattr(self, f"tree_{attribute}"))
        if home is None:
            raise AttributeError(
                f"namespace {self.name!r} has no function {attribute!r}; functions "
                "that take no namespace are found in leafwise itself",
                name=attribute,
                obj=self,
            )
        function = getattr(import_module(f".{home[0]}", __package__), attribute)
        if attribute not in _BOUND:
            return vars(self).setdefault(attribute, function)
        bound = functools.partial(function, namespace=self.name)
        functools.update_wrapper(bound, function)
        return vars(self).setdefault(attribute, bound)

    if not TYPE_CHECKING:  # they see each function
        __getattr__ = _bind

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_FOUND, *_short_names()})

    def __repr__(self) -> str:
        return f"<leafwise namespace {self.name!r}>"


def namespace(
    name: str,
    *,
    dict_order: DictOrder | None = None,
    leaves: tuple[type, ...] | None = None,
) -> Namespace:
    """Declare a namespace and return all functions bound to it.

    Classes registered in a namespace are nodes there only; classes registered
    globally are nodes in every namespace. Declaring a namespace again gives the
    same one.

    Args:
        name: The name of the namespace.
        dict_order: `"insertion"` walks dicts in insertion order and makes that
            order part of the structure; `"sorted"` is the rule everywhere else.
        leaves: Classes whose instances are leaves there, also if they are built-in
            nodes such as `deque`, or registered; those of subclasses, too.

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
        >>> lw.namespace("whole-tuples", leaves=(tuple,)).tree_leaves([(1, 2), 3])
        [(1, 2), 3]

    The idea is that of `optree.pytree.reexport`.
    """
    declare_namespace(name, dict_order, leaves)
    return Namespace(name)

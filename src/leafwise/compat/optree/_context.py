"""The options that most functions of optree share, and how a call walks trees."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from inspect import Parameter
from typing import Any, Final, TypeAlias, TypeVar

from ..._text import typed_repr
from ...core.context import Context, plain_context
from ...core.registry import GLOBAL, View, current, view_of
from ...core.treedef import PyTreeDef, code_of, map_leaves
from ...core.walk import iter_leaves
from ...ops.reshape import common_columns
from .._leaves import foreign_nodes
from ._nodes import PyTreeKind, is_node, kind_of
from ._treespec import PyTreeSpec, spec_of


R = TypeVar("R")

Function: TypeAlias = Callable[..., Any]
"""A function of leaves, or of a path or an accessor and leaves."""

Places: TypeAlias = Callable[[PyTreeDef], list[Any]]
"""Returns the paths or the accessors of the leaves of a structure."""

ordered: Final[set[str]] = set()
"""The namespaces whose dicts are walked as inserted; the global one is all of them."""

_LEAVES: Final = (foreign_nodes(is_node),)


def view(none_is_leaf: bool, namespace: str) -> View:
    """Return the view of a namespace; one without registrations is the global one.

    Raises:
        TypeError: The namespace is not a string.
    """
    if not isinstance(namespace, str):
        raise TypeError(f"the namespace must be a string, got {typed_repr(namespace)}")
    # An undeclared namespace is the global one in optree, and an error here.
    is_declared = namespace in current.state.layers
    name = namespace if is_declared else GLOBAL
    dict_order: Any = None
    if namespace in ordered or GLOBAL in ordered:
        dict_order = "insertion"
    return view_of(name, bool(none_is_leaf)).narrowed(_LEAVES, dict_order)


class Walk:
    """How one call walks trees.

    Attributes:
        context: What decides which values are nodes.
        namespace: The namespace that was passed.
    """

    def __init__(self, is_leaf: Any, none_is_leaf: bool, namespace: str) -> None:
        node_types = view(none_is_leaf, namespace)
        if is_leaf is None:
            self.context = plain_context(node_types)
        else:
            self.context = Context(node_types, is_leaf)
        self.namespace = namespace

    def flatten(self, tree: Any) -> tuple[list[Any], PyTreeSpec]:
        """Return the leaves of a tree, and its structure."""
        leaves, treedef = self.context.flatten(tree)
        return leaves, self.spec_of(treedef)

    def leaves(self, tree: Any) -> list[Any]:
        """Return the leaves of a tree."""
        leaves, _ = self.context.flatten(tree)
        return leaves

    def iter_leaves(self, tree: Any) -> Iterable[Any]:
        """Return an iterator that walks the tree only as far as needed."""
        return iter_leaves(tree, self.context.view, self.context.stop)

    def spec_of(self, treedef: PyTreeDef) -> PyTreeSpec:
        """Return the structure that this walk found.

        It depends on the namespace if that has an order of dicts of its own, or if the
        structure has a node of a registered class.
        """
        if self.namespace in ordered:
            return spec_of(treedef, self.namespace)
        for _, node_type, _, _ in code_of(treedef):
            if kind_of(node_type) is PyTreeKind.CUSTOM:
                return spec_of(treedef, self.namespace)
        return spec_of(treedef)

    def map(
        self, func: Function, tree: Any, rests: tuple[Any, ...], places: Places | None
    ) -> tuple[list[Any], PyTreeDef]:
        """Call a function on the leaves of trees; return results and structure.

        Args:
            func: The function.
            tree: The tree that decides the structure.
            rests: Further trees.
            places: What the function takes first, nothing if it is None.
        """
        columns, treedef = self.context.columns(tree, rests)
        return _results(func, columns, treedef, places), treedef

    def broadcast_map(
        self, func: Function, trees: tuple[Any, ...], places: Places | None
    ) -> Any:
        """Call a function on the leaves of trees that are broadcast to each other."""
        columns, treedef = common_columns(trees, self.context)
        return treedef.unflatten(_results(func, columns, treedef, places))

    def transpose_map(
        self,
        func: Function,
        tree: Any,
        rests: tuple[Any, ...],
        inner: PyTreeSpec | None,
        places: Places | None,
    ) -> Any:
        """Call a function on the leaves of trees, and transpose the results.

        Args:
            func: The function.
            tree: The tree that decides the outer structure.
            rests: Further trees.
            inner: The structure of the results, by default that of the first one.
            places: What the function takes first, nothing if it is None.

        Raises:
            ValueError: There are no results to tell their structure, or it has no
                leaves.
        """
        results, outer = self.map(func, tree, rests, places)
        if inner is None:
            if not results:
                raise ValueError(f"the outer structure has no leaves: {outer!r}")
            _, inner = self.flatten(results[0])
        if not inner.num_leaves:
            raise ValueError(f"the inner structure has no leaves: {inner!r}")
        # not `zip(*rows)`: without results there is still a column for each leaf
        columns: list[list[Any]] = [[] for _ in range(inner.num_leaves)]
        for result in results:
            for column, leaf in zip(columns, inner.flatten_up_to(result), strict=True):
                column.append(leaf)
        return inner.unflatten([outer.unflatten(column) for column in columns])


def _results(
    func: Function,
    columns: list[list[Any]],
    treedef: PyTreeDef,
    places: Places | None,
) -> list[Any]:
    if places is not None:
        columns = [places(treedef), *columns]
    return map_leaves(func, columns, treedef)


# ------------------------------------------------------------------- shared options


def signature_of(parameters: Iterable[Parameter]) -> inspect.Signature:
    """Return a signature with these parameters, `none_is_leaf` and `namespace`."""
    none_is_leaf = Parameter("none_is_leaf", Parameter.KEYWORD_ONLY, default=False)
    namespace = Parameter("namespace", Parameter.KEYWORD_ONLY, default="")
    all_parameters = [*parameters, none_is_leaf, namespace]
    all_parameters.sort(key=lambda parameter: parameter.kind)
    return inspect.Signature(all_parameters)


def options(
    function: Callable[..., R], kind: Any = Parameter.POSITIONAL_OR_KEYWORD
) -> Callable[..., R]:
    """Give a function the options `is_leaf`, `none_is_leaf` and `namespace`.

    Args:
        function: Takes a `Walk` that is made of the options first.
        kind: The kind of the parameter `is_leaf`.
    """
    _, *parameters = inspect.signature(function).parameters.values()
    position = len(
        [each for each in parameters if each.kind is Parameter.POSITIONAL_ONLY]
    )
    is_positional = kind is Parameter.POSITIONAL_OR_KEYWORD

    @functools.wraps(function)
    def call(
        *args: Any,
        is_leaf: Any = None,
        none_is_leaf: bool = False,
        namespace: str = "",
        **keywords: Any,
    ) -> R:
        # `Signature.bind` would find it as well, but takes longer than a small map
        if is_positional and is_leaf is None and len(args) == position + 1:
            is_leaf = args[position]
            args = args[:position]
        walk = Walk(is_leaf, none_is_leaf, namespace)
        return function(walk, *args, **keywords)

    parameters.append(Parameter("is_leaf", kind, default=None))
    call.__signature__ = signature_of(parameters)  # type: ignore[attr-defined]
    return call


def options_by_name(function: Callable[..., R]) -> Callable[..., R]:
    """Give a function the options, with `is_leaf` by name only."""
    return options(function, Parameter.KEYWORD_ONLY)

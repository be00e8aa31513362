"""The options that most functions of optree share, and what a call walks by.

Owns the meaning of `namespace`: one without registrations is like the global one.
Owns the modes in which dicts are walked as inserted, which hold for the whole process.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from inspect import Parameter
from typing import Any, Final, NamedTuple, TypeVar

from ..._text import typed_repr
from ...core.context import Context, plain_context
from ...core.registry import GLOBAL, View, current, view_of
from ...core.treedef import PyTreeDef
from .accessors import PyTreeKind
from .kinds import kind_of
from .spec import PyTreeSpec, spec_of


R = TypeVar("R")

ordered: Final[set[str]] = set()
"""The namespaces whose dicts are walked as inserted; the global one is all of them."""


def view(none_is_leaf: bool = False, namespace: str = "") -> View:
    """Return the view of a namespace.

    Raises:
        TypeError: The namespace is not a string.
    """
    if not isinstance(namespace, str):
        raise TypeError(f"the namespace must be a string, got {typed_repr(namespace)}")
    name = namespace if namespace in current.state.layers else GLOBAL
    found = view_of(name, bool(none_is_leaf))
    is_inserted = ordered and (namespace in ordered or GLOBAL in ordered)
    return found.narrowed((), "insertion") if is_inserted else found


def spec_in(treedef: PyTreeDef, namespace: str) -> PyTreeSpec:
    """Return the structure that a call with this namespace found.

    It depends on the namespace if it has a node of a registered class.
    """
    depends = namespace != "" and (
        namespace in ordered
        or any(kind_of(rule) is PyTreeKind.CUSTOM for _, rule, _, _ in treedef._code)
    )
    return spec_of(treedef, namespace if depends else "")


class Walk(NamedTuple):
    """What a call walks by: its context, and its namespace."""

    context: Context
    namespace: str

    def flatten(self, tree: Any) -> tuple[list[Any], PyTreeSpec]:
        """Return the leaves of a tree, and its structure."""
        leaves, treedef = self.context.flatten(tree)
        return leaves, spec_in(treedef, self.namespace)


def _walk(is_leaf: Any, none_is_leaf: bool, namespace: str) -> Walk:
    is_default = namespace == "" and none_is_leaf is False and not ordered
    found = current.view if is_default else view(none_is_leaf, namespace)
    if is_leaf is None:
        return Walk(found.context or plain_context(found), namespace)
    return Walk(Context(found, is_leaf), namespace)


def signature_of(parameters: Iterable[Parameter]) -> inspect.Signature:
    """Return a signature with these parameters, `none_is_leaf` and `namespace`."""
    options = [
        Parameter("none_is_leaf", Parameter.KEYWORD_ONLY, default=False),
        Parameter("namespace", Parameter.KEYWORD_ONLY, default=""),
    ]
    return inspect.Signature(sorted([*parameters, *options], key=lambda p: p.kind))


def options(
    function: Callable[..., R], kind: Any = Parameter.POSITIONAL_OR_KEYWORD
) -> Callable[..., R]:
    """Give a function the options `is_leaf`, `none_is_leaf` and `namespace`.

    Args:
        function: Takes a `Walk` that is made of the options first.
        kind: The kind of the parameter `is_leaf`.
    """
    own = [*inspect.signature(function).parameters.values()][1:]
    stop = Parameter("is_leaf", kind, default=None)
    places = sum(one.kind is Parameter.POSITIONAL_ONLY for one in own)
    by_place = kind is Parameter.POSITIONAL_OR_KEYWORD

    @functools.wraps(function)
    def call(
        *args: Any,
        is_leaf: Any = None,
        none_is_leaf: bool = False,
        namespace: str = "",
        **keywords: Any,
    ) -> R:
        if by_place and is_leaf is None and len(args) == places + 1:
            *args, is_leaf = args  # type: ignore[assignment]  # a list will do
        return function(_walk(is_leaf, none_is_leaf, namespace), *args, **keywords)

    made: Any = call
    made.__signature__ = signature_of([*own, stop])
    return call


options_by_name = functools.partial(options, kind=Parameter.KEYWORD_ONLY)

"""Nodes one level at a time: what one is made of, and where two trees differ.

For the arguments that most functions share see `ops`.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from ...core.node import Rule
from ...ops.context import Context
from ...safely import clip
from .accessors import PyTreeAccessor, PyTreeEntry, PyTreeKind
from .context import context
from .kinds import entry_class, kind_of, metadata
from .registry import unflatten_by


__all__ = [
    "FlattenOneLevelOutput",
    "FlattenOneLevelOutputEx",
    "prefix_errors",
    "tree_flatten_one_level",
]

IsLeaf = Callable[[Any], Any] | None


# -------------------------------------------------------------------------- one level


class FlattenOneLevelOutput(NamedTuple):
    """The result of `tree_flatten_one_level`, a tuple."""

    children: list[Any]
    metadata: Any
    entries: tuple[Any, ...]
    unflatten_func: Callable[[Any, Any], Any]


class FlattenOneLevelOutputEx(FlattenOneLevelOutput):
    """The result of `tree_flatten_one_level`, with the node's type and kind.

    Attributes:
        type: The class of the node.
        path_entry_type: The class of the entries of its children.
        kind: Its kind.
    """

    type: builtins.type
    path_entry_type: builtins.type[PyTreeEntry]
    kind: PyTreeKind


def tree_flatten_one_level(
    tree: Any,
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> FlattenOneLevelOutputEx:
    """Return the children of a node, with its metadata and its unflatten function.

    Raises:
        ValueError: It is a leaf.

    Example:
        >>> from leafwise.compat import optree
        >>> node = optree.tree_flatten_one_level({"b": [1], "a": 2})
        >>> node.children, node.metadata, node.entries
        ([2, [1]], ['a', 'b'], ('a', 'b'))
        >>> node.unflatten_func(node.metadata, ["x", "y"])
        {'b': 'y', 'a': 'x'}
    """
    rule = context(is_leaf, none_is_leaf, namespace).rule_of(tree)
    if rule is None:
        raise ValueError(f"Cannot flatten leaf-type: {type(tree)} (node: {tree!r}).")
    children, aux = rule.flatten(tree)
    arity = len(children)
    found = FlattenOneLevelOutputEx(
        [*children],
        metadata(rule, aux),
        tuple(rule.bare_keys(aux, arity)),
        unflatten_by(rule, aux),
    )
    found.type = type(tree)
    found.path_entry_type = (
        PyTreeEntry if tree is None else entry_class(rule, aux, arity)
    )
    found.kind = kind_of(rule)
    return found


# ---------------------------------------------------------------------------- reports


def prefix_errors(
    prefix_tree: Any,
    full_tree: Any,
    /,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> list[Callable[[str], ValueError]]:
    """Return functions that make an error for each place where a tree is not a prefix.

    Returns:
        For each place a function from a name for the trees to an error.

    Example:
        >>> from leafwise.compat import optree
        >>> (make,) = optree.prefix_errors({"a": [0]}, {"a": (0,)})
        >>> print(make("in_axes"))
        pytree structure error: different types at key path
            in_axes['a']
        prefix: list of length 1
        full tree: tuple of length 1
    """
    walked = context(is_leaf, none_is_leaf, namespace)
    found: list[Callable[[str], ValueError]] = []
    stack = [(PyTreeAccessor(), prefix_tree, full_tree)]
    while stack:
        accessor, prefix, full = stack.pop()
        rule = walked.rule_of(prefix)
        if rule is None:
            continue
        children, aux = rule.flatten(prefix)
        arity = len(children)
        others = rule.match(aux, arity, full)
        if others is None:
            expected = rule.describe(aux, arity)
            what = _difference(rule, arity, aux, full, walked)
            found.append(functools.partial(_prefix_error, accessor, expected, *what))
            continue
        make, kind, cls = entry_class(rule, aux, arity), kind_of(rule), type(prefix)
        below = [accessor + make(e, cls, kind) for e in rule.bare_keys(aux, arity)]
        stack += reversed([*zip(below, children, others, strict=True)])
    return found


def _difference(
    rule: Rule, arity: int, aux: Any, full: Any, walked: Context
) -> tuple[str, str]:
    """Return in which respect a node differs from one of a rule, and what it is."""
    other = walked.view.resolve(type(full))
    if other is None:
        return "types", f"leaf {clip(full)}"
    children, other_aux = other.flatten(full)
    said = other.describe(other_aux, len(children))
    if rule.pairs_by_key and other.pairs_by_key:
        return "pytree keys", said
    if other is not rule or rule.class_of(aux) is not other.class_of(other_aux):
        return "types", said
    if len(children) != arity:
        return "numbers of pytree children", said
    return "pytree metadata", said


def _prefix_error(
    accessor: PyTreeAccessor, expected: str, what: str, said: str, name: str
) -> ValueError:
    where = accessor.codify(name) if accessor else f"{name} tree root"
    return ValueError(
        f"pytree structure error: different {what} at key path\n    {where}\n"
        f"prefix: {expected}\nfull tree: {said}"
    )

"""Partitions: trees split into parts by leaf, and combined again.

A part is the whole tree with `MISSING` in place of leaves that are in other parts. So
None stays a value like any other, and parts can be combined without further data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

from .._records import MISSING
from .._text import add_note, short_repr
from ..core.context import Context, context_of
from ..core.keypath import KeyPath
from ..core.registry import GLOBAL
from ..core.treedef import PyTreeDef
from ..errors import EditError, PathError, StructureError
from .patterns import place_text
from .select import is_function, read_selector
from .targets import find_targets


if TYPE_CHECKING:
    from .._typing import IsLeaf, TreeT


def flags_of(
    tree: Any,
    selectors: Iterable[Any],
    context: Context,
    missing_ok: bool,
) -> tuple[list[Any], PyTreeDef, list[Sequence[bool]]]:
    """Return the leaves and the treedef, and which leaves each selector picks."""
    flat = context.flatten(tree)
    leaves, treedef = flat
    flags: list[Sequence[bool]] = []
    try:
        chain = [read_selector(what, context.view) for what in selectors]
        for selector in chain:
            targets = find_targets(
                tree, (selector,), context, missing_ok=missing_ok, flat=flat
            )
            flags.append(targets.flags(treedef))
    except (PathError, StructureError, TypeError) as error:
        if not is_function(tree, context.view):
            raise
        order = "the first argument is the tree, and selectors come after it"
        if isinstance(error, PathError):  # an object that can be called may be a leaf
            add_note(error, order)
            raise
        raise TypeError(f"{order}; got {short_repr(tree)} as the tree") from error
    return leaves, treedef, flags


def tree_partition(
    tree: TreeT,
    *selectors: Any,
    missing_ok: bool = False,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> tuple[TreeT, ...]:
    """Split a tree into one part for each selector, and a part with the rest.

    Args:
        tree: Any tree.
        *selectors: Each leaf goes to the first selector that picks it.
        missing_ok: Whether a selector may have no match.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Returns:
        A tree for each selector, and the rest. All have the structure of `tree`, with
        `MISSING` in place of leaves that are in other parts.

    Raises:
        PathError: A selector has no match.

    Example:
        >>> import leafwise as lw
        >>> model = {"w": 1.5, "bias": 2.5, "steps": 3}
        >>> bias, floats, rest = lw.tree_partition(model, "bias", float)
        >>> floats, rest
        ({'w': 1.5, 'bias': MISSING, 'steps': MISSING}, {'w': MISSING, \
'bias': MISSING, 'steps': 3})
        >>> lw.tree_combine(bias, floats, rest) == model
        True

    Modelled on `equinox.partition`, for any number of parts.
    """
    context = context_of(is_leaf, namespace=namespace)
    leaves, treedef, flags = flags_of(tree, selectors, context, missing_ok)
    others = list(leaves)
    parts: list[TreeT] = []
    for picked in flags:
        part: list[Any] = [MISSING] * len(leaves)
        for number in compress(range(len(leaves)), picked):
            part[number] = others[number]  # MISSING if an earlier part has it
            others[number] = MISSING
        parts.append(treedef.unflatten(part))
    parts.append(treedef.unflatten(others))
    return tuple(parts)


def tree_combine(
    *trees: TreeT,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> TreeT:
    """Combine the parts of a tree, such as those of `tree_partition`.

    Args:
        *trees: Trees of one structure, with `MISSING` where a leaf is in another tree.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Raises:
        EditError: A leaf is in none of the parts, or in more than one.
        StructureError: The parts have different structures.
        TypeError: There are no parts.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_combine([1, lw.MISSING], [lw.MISSING, 2])
        [1, 2]
        >>> lw.tree_combine([1, 2], [lw.MISSING, 3])
        Traceback (most recent call last):
        ...
        leafwise.errors.EditError: the leaf at [1] is in parts 0 and 1

    Modelled on `equinox.combine`.
    """
    if not trees:
        raise TypeError("tree_combine takes at least one tree")
    context = context_of(is_leaf, namespace=namespace)
    columns, treedef = context.columns(trees[0], trees[1:], strict=True)
    combined: list[Any] = []
    for number, row in enumerate(zip(*columns, strict=True)):
        leaves = [leaf for leaf in row if leaf is not MISSING]
        if len(leaves) != 1:
            raise _not_in_one_part(treedef.paths()[number], row)
        combined += leaves
    whole: TreeT = treedef.unflatten(combined)
    return whole


def _not_in_one_part(path: KeyPath, row: Sequence[Any]) -> EditError:
    numbers = [str(number) for number, leaf in enumerate(row) if leaf is not MISSING]
    holders = "no part"
    if numbers:
        holders = f"parts {' and '.join(numbers)}"
    return EditError(f"the leaf at {place_text(path)} is in {holders}", path=path)


def tree_filter(
    tree: TreeT,
    what: Any,
    *,
    fill: Any = MISSING,
    missing_ok: bool = False,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> TreeT:
    """Keep the leaves that a selector picks, and replace the others with a filler.

    Args:
        tree: Any tree.
        what: A selector.
        fill: The replacement for the other leaves.
        missing_ok: Whether the selector may have no match.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Raises:
        PathError: The selector has no match.

    Example:
        >>> import leafwise as lw
        >>> lw.selection.tree_filter({"w": 1.5, "n": 3}, float, fill=None)
        {'w': 1.5, 'n': None}
    """
    context = context_of(is_leaf, namespace=namespace)
    leaves, treedef, [picked] = flags_of(tree, [what], context, missing_ok)
    pairs = zip(leaves, picked, strict=True)
    filtered: TreeT = treedef.unflatten(
        [leaf if is_picked else fill for leaf, is_picked in pairs]
    )
    return filtered


# --------------------------------------------------------------------------- labels


def tree_labels(
    tree: Any,
    rules: Mapping[Any, Any],
    *,
    default: Any = MISSING,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> Any:
    """Return a tree with a label for each leaf.

    Args:
        tree: Any tree.
        rules: A label for each selector; the first selector that picks a leaf counts. A
            selector may match nothing, so that rules can serve several trees.
        default: The label of leaves that no selector picks.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Raises:
        EditError: A leaf is not picked by any selector, and there is no default.

    Example:
        >>> import leafwise as lw
        >>> model = {"layers": [{"w": 1, "bias": 2}], "head": {"w": 3}}
        >>> rules = {"**.bias": "no decay", "layers": "slow"}
        >>> lw.selection.tree_labels(model, rules, default="fast")
        {'layers': [{'w': 'slow', 'bias': 'no decay'}], 'head': {'w': 'fast'}}
    """
    context = context_of(is_leaf, namespace=namespace)
    leaves, treedef, flags = flags_of(tree, rules, context, True)
    labels = [default] * len(leaves)
    rows = list(zip(rules.values(), flags, strict=True))
    for label, picked in reversed(rows):  # so that the first rule counts
        for number in compress(range(len(leaves)), picked):
            labels[number] = label
    if default is MISSING and MISSING in labels:
        path = treedef.paths()[labels.index(MISSING)]
        raise EditError(f"no rule matches the leaf at {place_text(path)}", path=path)
    return treedef.unflatten(labels)

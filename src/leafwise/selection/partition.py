"""Partitions: trees split into parts by leaf, and combined again.

A part is the whole tree with `MISSING` in place of leaves that are in other parts. So
None stays a value like any other, and parts can be combined without further data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .._records import MISSING
from ..core.context import Context, context_of
from ..core.registry import GLOBAL
from ..core.treedef import PyTreeDef
from ..errors import EditError
from .select import Region, place_text, read_selector, require


if TYPE_CHECKING:
    from .._typing import IsLeaf, TreeT


def _numbered(
    tree: Any, selectors: Iterable[Any], context: Context, missing_ok: bool
) -> tuple[list[Any], PyTreeDef, list[int]]:
    """Return the leaves, the treedef, and the first selector that picks each leaf.

    The selector is given by its number; that of no selector is the number of all.
    """
    chosen = [read_selector(what, context.view) for what in selectors]
    found = [require(what, tree, context, missing_ok=missing_ok) for what in chosen]
    regions = [*map(Region, found)]
    leaves, treedef = context.flatten(tree)
    numbers = [
        next((n for n, region in enumerate(regions) if path in region), len(regions))
        for path in treedef.paths()
    ]
    return leaves, treedef, numbers


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
    leaves, treedef, numbers = _numbered(tree, selectors, context, missing_ok)
    count = len(selectors) + 1
    parts: list[list[Any]] = [[MISSING] * len(leaves) for _ in range(count)]
    for place, (leaf, number) in enumerate(zip(leaves, numbers, strict=True)):
        parts[number][place] = leaf
    return tuple(treedef.unflatten(part) for part in parts)


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
    combined = []
    for place, row in enumerate(zip(*columns, strict=True)):
        parts = [number for number, leaf in enumerate(row) if leaf is not MISSING]
        if len(parts) != 1:
            said = f"parts {' and '.join(map(str, parts))}" if parts else "no part"
            path = treedef.paths()[place]
            raise EditError(f"the leaf at {place_text(path)} is in {said}", path=path)
        combined.append(row[parts[0]])
    whole: TreeT = treedef.unflatten(combined)
    return whole


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
    leaves, treedef, numbers = _numbered(tree, [what], context, missing_ok)
    pairs = zip(leaves, numbers, strict=True)
    kept: TreeT = treedef.unflatten(
        [fill if number else leaf for leaf, number in pairs]
    )
    return kept


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
    _, treedef, numbers = _numbered(tree, rules, context, True)
    labels = [[*rules.values(), default][number] for number in numbers]
    for path, label in zip(treedef.paths(), labels, strict=True):
        if label is MISSING:
            raise EditError(
                f"no rule matches the leaf at {place_text(path)}", path=path
            )
    return treedef.unflatten(labels)

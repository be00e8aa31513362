"""Trees side by side that need not have the same keys.

Owns `tree_map_outer` and `tree_zip_outer`: an outer join, in which no tree wins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..core.rule import Rule
from ..core.view import GLOBAL
from ..errors import EditError
from ..ops.outlook import outlook
from ..sentinel import MISSING
from .find import DEPTH_IN_DOUBT, CycleCheck, Scope, has_kinds
from .join import (
    Joint,
    Parts,
    Spot,
    by_key,
    by_place,
    by_shape,
    called,
    finished,
    is_items,
    is_mapping,
    root_joint,
    shown,
)


if TYPE_CHECKING:
    from ..typing import IsLeaf

__all__ = ["tree_map_outer", "tree_zip_outer"]


def tree_map_outer(
    f: Callable[..., Any],
    *trees: Any,
    fill: Any = MISSING,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Map a function over trees that need not have the same keys.

    The result has each key that one of the trees has, in the order in which they bring
    them; a subtree that comes out as it was is shared.

    Args:
        f: Takes as many values as there are trees: the leaf of each tree at a place,
            or `fill`. Its exceptions get a note of the path.
        *trees: One tree or more.
        fill: What stands for a leaf that a tree does not have.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        EditError: Nodes of different sorts, or a leaf and a node, are at one place.
        CycleError: A tree contains itself.
        TypeError: There is no tree.

    Example:
        >>> import leafwise as lw
        >>> lw.selection.tree_map_outer(lambda x, y: x + y, {"a": 1, "b": [2]},
        ...     {"b": [3, 4]}, fill=0)
        {'a': 1, 'b': [5, 4]}
    """
    if not trees:
        raise TypeError("tree_map_outer takes one tree or more")
    scope = Scope(*outlook(is_leaf, is_leaf_takes_path, none_is_leaf, namespace))
    joints = [root_joint(*trees)]
    todo: list[tuple[Joint, int]] = [(joints[0], 0)]
    check_cycles = CycleCheck(scope, *trees)
    while todo:
        joint, slot = todo.pop()
        row, spot = joint.parts.row(slot), Spot(joint, slot)
        parts = _beside(spot, row, scope)
        if parts is None:
            filled = [fill if value is MISSING else value for value in row]
            joint.values[slot] = called(f, filled, spot)
            continue
        opened = Joint(parts, joint, slot)
        if opened.depth == DEPTH_IN_DOUBT:
            check_cycles()
        joints.append(opened)
        todo += [(opened, below) for below in reversed(range(len(parts.keys)))]
    return finished(joints)


def _beside(spot: Spot, row: Sequence[Any], scope: Scope) -> Parts | None:
    """Return the parts of what the trees have at a place; None if it is leaves.

    Raises:
        EditError: It does not fit together.
    """
    nodes = [value for value in row if value is not MISSING]
    link = spot.joint.link_to(spot.slot)
    found = [scope.rule_of(node, link) for node in nodes]
    rules = [rule for rule in found if rule is not None]
    if not rules:
        return None
    parts = _joined(nodes, rules) if len(rules) == len(nodes) else None
    if parts is None:
        path = spot.path
        sorts = " and ".join(dict.fromkeys(shown(node, scope) for node in nodes))
        raise EditError(f"at {path.where()} {sorts} do not fit together", path=path)
    if len(nodes) < len(row):
        nothing = [MISSING] * len(parts.keys)
        there = iter(parts.columns)
        parts.columns = [nothing if x is MISSING else next(there) for x in row]
    return parts


def _joined(nodes: Sequence[Any], rules: Sequence[Rule]) -> Parts | None:
    """Return the parts of nodes; None if they are of different sorts.

    Objects with kinds, whose static items are no leaves, have to be of one shape.
    """
    if not any(map(has_kinds, nodes)):
        if all(map(is_mapping, nodes, rules)):
            return by_key(nodes, rules)
        if all(map(is_items, nodes, rules)):
            return by_place(nodes, rules)
    if any(rule is not rules[0] for rule in rules):
        return None
    return by_shape(nodes, rules[0], lambda auxes: auxes[0])


def tree_zip_outer(
    *trees: Any,
    fill: Any = MISSING,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Put the leaves of several trees side by side, in tuples.

    Args:
        *trees: One tree or more, which need not have the same keys.
        fill: What stands for a leaf that a tree does not have.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        EditError: Nodes of different sorts, or a leaf and a node, are at one place.

    Example:
        >>> import leafwise as lw
        >>> lw.selection.tree_zip_outer({"a": 1, "b": 2}, {"b": 3, "c": 4})
        {'a': (1, MISSING), 'b': (2, 3), 'c': (MISSING, 4)}
    """
    return tree_map_outer(
        lambda *row: row,
        *trees,
        fill=fill,
        is_leaf=is_leaf,
        is_leaf_takes_path=is_leaf_takes_path,
        none_is_leaf=none_is_leaf,
        namespace=namespace,
    )

"""Whole trees by kind: select, update, replace, summarise.

These are functions, so that classes keep their names for themselves. The kind of a
leaf is that of the attribute, of the innermost object around it, where it is found; a
variable there may be of a closer kind. Nothing here changes an object that it is given.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeVar

from ..core.code import unlink
from ..core.keypath import KeyPath
from ..core.near import nearest
from ..core.treedef import PyTreeDef
from ..kinds import COUNT_AS_STATE, Kind
from ..ops.basic import tree_flatten
from ..show.summary import Row, draw
from ..show.text import options
from .graphdef import kinds_of_children
from .instance import assign
from .pytree import Pytree, name_to_kind
from .sizes import bytes_text, size_of
from .variables import Metadata, Variable, is_frozen, kind_in


__all__ = [
    "replace",
    "select_kind",
    "summary",
    "update_kind",
]

T = TypeVar("T")
P = TypeVar("P", bound=Pytree)

_ALSO: Final = {Kind.STATE: COUNT_AS_STATE}


# ----------------------------------------------------------------- kinds of leaves


def leaf_kinds(treedef: PyTreeDef) -> list[Kind]:
    """Return the kind of each leaf of a structure."""
    kinds = [Kind.DATA] * treedef.num_leaves
    stack: list[list[int]] = []  # of each subtree, the leaves outside any object
    done = 0
    held: list[tuple[int, type[Variable], bool]] = []  # leaves in variables
    for run, rule, arity, aux in treedef._code:
        stack += [[leaf] for leaf in range(done, done + run)]
        done += run
        below = stack[len(stack) - arity :]
        del stack[len(stack) - arity :]
        given = kinds_of_children(aux)
        if given is None:
            stack.append(_joined(below))
            if type(aux) is Metadata:
                held += [(leaf, rule.cls, is_frozen(aux.values)) for leaf in stack[-1]]
            continue
        for kind, leaves in zip(given, below, strict=True):
            for leaf in leaves:
                kinds[leaf] = kind
        stack.append([])
    for leaf, cls, frozen in held:
        kinds[leaf] = kind_in(kinds[leaf], cls, frozen=frozen)
    return kinds


def _joined(parts: list[list[int]]) -> list[int]:
    """Return the items of lists in any order, at the cost of the shorter ones."""
    if not parts:
        return []
    longest = max(parts, key=len)
    for part in parts:
        if part is not longest:
            longest += part
    return longest


def _wanted(kinds: Sequence[Kind]) -> set[Kind]:
    wrong = [kind for kind in kinds if not isinstance(kind, Kind)]
    if wrong or not kinds:
        found = type(wrong[0]).__name__ if wrong else "none"
        raise TypeError(f"give one kind or more, members of leafwise.Kind; got {found}")
    return {one for kind in kinds for one in _ALSO.get(kind, (kind,))}


def select_kind(tree: T, *kinds: Kind) -> T:
    """Return a tree with the leaves of some kinds alone, and None for the others.

    Args:
        tree: A tree with objects in it.
        *kinds: The kinds. `Kind.STATE` includes frozen parameters.

    Raises:
        TypeError: No kind was given, or something else.

    Example:
        >>> import leafwise as lw
        >>> class Layer(lw.Module):
        ...     def __init__(self):
        ...         self.register_parameter("weight", 0.5)
        ...         self.register_state("calls", 3)
        >>> lw.select_kind([Layer(), Layer()], lw.Kind.PARAMETER)[0]
        Layer(
          weight=0.5,
          calls=None
        )

    The idea is that of `select_parameters` and `select_states` in PAX.
    """
    wanted = _wanted(kinds)
    leaves, treedef = tree_flatten(tree)
    found = zip(leaves, leaf_kinds(treedef), strict=True)
    selected: T = treedef.unflatten(
        leaf if kind in wanted else None for leaf, kind in found
    )
    return selected


def update_kind(tree: T, other: Any, *kinds: Kind) -> T:
    """Return a tree with the leaves of some kinds taken from another one.

    Args:
        tree: A tree with objects in it.
        other: A tree of the same structure; where it has None, as in what
            `select_kind` returns, the leaf of `tree` stays.
        *kinds: The kinds. `Kind.STATE` includes frozen parameters.

    Raises:
        StructureError: The two have different structures.
        TypeError: No kind was given, or something else.

    Example:
        >>> import leafwise as lw
        >>> class Layer(lw.Module):
        ...     def __init__(self):
        ...         self.register_parameter("weight", 0.5)
        ...         self.register_state("calls", 3)
        >>> layer = Layer()
        >>> doubled = lw.tree_map(lambda x: x * 2, layer)
        >>> lw.tree_leaves(lw.update_kind(layer, doubled, lw.Kind.PARAMETER))
        [1.0, 3]

    The idea is that of `update_parameters` and `update_states` in PAX.
    """
    wanted = _wanted(kinds)
    leaves, treedef = tree_flatten(tree)
    rows = zip(leaves, treedef.flatten_up_to(other), leaf_kinds(treedef), strict=True)
    updated: T = treedef.unflatten(
        theirs if kind in wanted and theirs is not None else mine
        for mine, theirs, kind in rows
    )
    return updated


# ---------------------------------------------------------------------- replacing


def replace(obj: P, /, **changes: Any) -> P:
    """Return a copy of an object with other values of some attributes.

    Attributes keep their kinds, unless a mark stands around the new value, and are
    checked as in any assignment. `__init__` does not run.

    Args:
        obj: An instance of a `Pytree` class.
        **changes: The new values, by name.

    Raises:
        AttributeError: The object has no attribute of such a name.
        KindError: An attribute cannot have the new value.
        TypeError: `obj` is no instance of a `Pytree` class.

    Example:
        >>> import leafwise as lw
        >>> class Layer(lw.Pytree):
        ...     def __init__(self, size):
        ...         self.size = size
        >>> layer = Layer(3)
        >>> lw.replace(layer, size=4).size, layer.size
        (4, 3)
    """
    known = name_to_kind(obj)
    for name in changes:
        if name not in known and not isinstance(
            getattr(type(obj), name, None), property
        ):
            near = nearest(name, known)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise AttributeError(
                f"{type(obj).__qualname__} has no attribute {name!r}{hint}"
            )
    made = copy.copy(obj)
    for name, value in changes.items():
        assign(made, name, value)
    return made


# ----------------------------------------------------------------------- summary


def summary(tree: Any) -> str:
    """Return a text that shows the objects in a tree, and what they hold by kind.

    For each object it says how many numbers its arrays and other leaves have, those
    of the objects inside included, and how many bytes its arrays take.

    Args:
        tree: A tree with objects in it.

    Example:
        >>> import leafwise as lw
        >>> class Layer(lw.Module):
        ...     def __init__(self):
        ...         self.register_parameter("weight", [0.5, 0.5])
        ...         self.register_state("calls", 3)
        >>> class Model(lw.Module):
        ...     def __init__(self):
        ...         self.layers = lw.List([Layer(), Layer()])
        >>> print(lw.summary(Model()))
        Model               parameter: 4, state: 2
        └── .layers: List   parameter: 4, state: 2
            ├── [0]: Layer  parameter: 2, state: 1
            └── [1]: Layer  parameter: 2, state: 1
    """
    leaves, treedef = tree_flatten(tree)
    kinds = leaf_kinds(treedef)
    rows: list[Row] = []
    root = _outline(treedef)
    stack: list[tuple[Any, Any, int]] = [] if root is None else [(root, (), 0)]
    while stack:
        node, path, depth = stack.pop()
        if node is root or issubclass(node.cls, Pytree):
            name = f"{KeyPath(unlink(path))}: " if path else ""
            tally = _tally(leaves[node.start : node.end], kinds[node.start : node.end])
            rows.append(Row(depth, f"{name}{node.cls.__name__}", tally))
            path, depth = (), depth + 1
        if depth <= options.max_depth:
            stack += reversed(
                [(child, (path, key), depth) for key, child in node.below]
            )
    return draw(rows)


class _Node(NamedTuple):
    """A node of a structure, with the nodes right below it and their keys."""

    cls: type
    start: int
    end: int
    below: Sequence[tuple[Any, Any]]


def _outline(treedef: PyTreeDef) -> _Node | None:
    """Return the nodes of a structure, each with the leaves that it spans."""
    stack: list[_Node | int] = []
    done = 0
    for run, rule, arity, aux in treedef._code:
        stack += range(done, done + run)
        done += run
        children = stack[len(stack) - arity :]
        del stack[len(stack) - arity :]
        keyed = zip(rule.keys(aux, arity), children, strict=True)
        below = [(key, child) for key, child in keyed if isinstance(child, _Node)]
        first = children[0] if children else done
        start = first.start if isinstance(first, _Node) else first
        stack.append(_Node(rule.cls, start, done, below))
    return stack[0] if stack and isinstance(stack[0], _Node) else None


def _tally(leaves: Sequence[Any], kinds: Sequence[Kind]) -> str:
    """Return how many numbers there are of each kind, and how many bytes."""
    counts: dict[Kind, list[int]] = {}
    for leaf, kind in zip(leaves, kinds, strict=True):
        size, width = size_of(leaf)
        count = counts.setdefault(kind, [0, 0])
        count[0] += size
        count[1] += size * width
    return ", ".join(
        f"{kind.value}: {counts[kind][0]:,}{bytes_text(counts[kind][1])}"
        for kind in Kind
        if kind in counts
    )

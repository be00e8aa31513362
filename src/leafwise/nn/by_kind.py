"""Whole trees by kind: select, update, freeze, replace, summarise.

These are functions, so that classes keep their names for themselves. The kind of a leaf
is that of the attribute, of the innermost object around it, where it is found; a
variable there may be of a closer kind. A bare parameter is frozen by the kind of its
attribute, a variable by its metadata. Nothing here changes what it is given.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from ..core.keypath import KeyPath
from ..core.node import Rule
from ..core.registry import current
from ..core.treedef import PyTreeDef
from ..core.walk import unlink
from ..kinds import COUNT_AS_STATE, Kind, Marked
from ..ops.map import tree_flatten, tree_leaves
from ..safely import MISSING, nearest
from ..selection.edit import Selection, at
from ..selection.pattern import Region
from ..show.text import Row, draw, options
from .filters import FROZEN, is_filter, judge, predicate
from .graph import (
    FIXED,
    LEAF,
    NODE,
    REF,
    TREE,
    VARIABLE,
    FlatGraph,
    flatten_graph,
    kinds_of,
    kinds_of_children,
    unflatten_graph,
)
from .instance import assign
from .pytree import Pytree, name_to_kind
from .traverse import bytes_text, keys_of, rule_of, size_of
from .variables import Metadata, Variable, is_frozen, kind_in


__all__ = [
    "freeze",
    "replace",
    "select_kind",
    "summary",
    "unfreeze",
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
        raise TypeError(
            f"give one kind or more, members of leafwise.nn.Kind; got {found}"
        )
    return {one for kind in kinds for one in _ALSO.get(kind, (kind,))}


def select_kind(tree: T, *kinds: Kind) -> T:
    """Return a tree with the leaves of some kinds alone, and None for the others.

    Args:
        tree: A tree with objects in it.
        *kinds: The kinds. `Kind.STATE` includes frozen parameters.

    Raises:
        TypeError: No kind was given, or something else.

    Example:
        >>> from leafwise import nn
        >>> class Layer(nn.Module):
        ...     def __init__(self):
        ...         self.register_parameter("weight", 0.5)
        ...         self.register_state("calls", 3)
        >>> nn.select_kind([Layer(), Layer()], nn.Kind.PARAMETER)[0]
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
        >>> from leafwise import nn
        >>> class Layer(nn.Module):
        ...     def __init__(self):
        ...         self.register_parameter("weight", 0.5)
        ...         self.register_state("calls", 3)
        >>> layer = Layer()
        >>> doubled = lw.tree_map(lambda x: x * 2, layer)
        >>> lw.tree_leaves(nn.update_kind(layer, doubled, nn.Kind.PARAMETER))
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
        >>> from leafwise import nn
        >>> class Layer(lw.Pytree):
        ...     def __init__(self, size):
        ...         self.size = size
        >>> layer = Layer(3)
        >>> nn.replace(layer, size=4).size, layer.size
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
    of the objects inside included, and how many bytes its arrays take. An object or a
    variable that stands in several places counts where it stands first; the other
    places of an object say which that is.

    Args:
        tree: A tree with objects in it.

    Raises:
        CycleError: A container contains itself, with no object in between.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Layer(nn.Module):
        ...     def __init__(self):
        ...         self.register_parameter("weight", [0.5, 0.5])
        ...         self.register_state("calls", 3)
        >>> class Model(nn.Module):
        ...     def __init__(self):
        ...         self.layers = lw.List([Layer(), Layer()])
        ...         self.tied = self.layers[0]
        >>> print(nn.summary(Model()))
        Model               parameter: 4, state: 2
        ├── .layers: List   parameter: 4, state: 2
        │   ├── [0]: Layer  parameter: 2, state: 1
        │   └── [1]: Layer  parameter: 2, state: 1
        └── .tied: Layer    as .layers[0]
    """
    lines = _lines(flatten_graph(tree))
    for line in reversed(lines):
        if line.above is not None:
            line.above.add(line.counts)
    rows = [Row(line.depth, line.label, line.note or _tally(line)) for line in lines]
    return draw([row for row in rows if row.depth <= options.max_depth])


class _Line:
    """An object, or the root, as a row in the making.

    Attributes:
        above: The line of the object that it stands in.
        depth: How many there are above.
        label: What it is, and where below the line above.
        note: What there is to say of it, other than what it holds.
        counts: By kind, how many numbers it holds, and how many bytes.
    """

    __slots__ = ("above", "counts", "depth", "label", "note")

    def __init__(
        self, above: _Line | None, path: Any, cls: type, note: str = ""
    ) -> None:
        self.above = above
        self.depth: int = 0 if above is None else above.depth + 1
        name = f"{KeyPath(unlink(path))}: " if path else ""
        self.label = f"{name}{cls.__name__}"
        self.note = note
        self.counts: dict[Kind, tuple[int, int]] = {}

    def add(self, counts: Mapping[Kind, tuple[int, int]]) -> None:
        """Count what something inside holds."""
        for kind, (size, width) in counts.items():
            known = self.counts.get(kind, (0, 0))
            self.counts[kind] = known[0] + size, known[1] + width

    def add_value(self, value: Any, kind: Kind) -> None:
        """Count a bare value, or a variable."""
        held = value.get_raw_value() if isinstance(value, Variable) else value
        for leaf in tree_leaves(held):
            size, width = size_of(leaf)
            self.add({kind: (size, size * width)})


class _Open(NamedTuple):
    """A node whose children come next.

    Attributes:
        keys: Those of the children that are still to come.
        path: Its path, a linked list.
        local: The part of it below the line.
        line: The line that its values count for.
    """

    keys: Any
    path: Any
    local: Any
    line: _Line


def _lines(flat: FlatGraph) -> list[_Line]:
    """Return a line for each object, and for the root if it is no bare value."""
    lines: list[_Line] = []
    first: list[tuple[Any, type]] = []  # path and class of what is counted, by number
    values = zip(flat.leaves, kinds_of(flat.code), strict=True)
    stack: list[_Open] = []
    for tag, rule, number, aux in flat.code:
        path: Any = ()
        local: Any = ()
        line: _Line | None = None
        if stack:
            key = next(stack[-1].keys)
            path, local = (stack[-1].path, key), (stack[-1].local, key)
            line = stack[-1].line
        cls = rule if tag in (VARIABLE, LEAF, REF, FIXED) else rule.cls
        if tag in (NODE, VARIABLE):
            first.append((path, cls))
        if tag == NODE or (line is None and tag in (TREE, VARIABLE)):
            line, local = _Line(line, local, cls), ()
            lines.append(line)
        if tag in (LEAF, VARIABLE):
            value, kind = next(values)
            if line is not None:
                line.add_value(value, kind)
        elif tag == REF and issubclass(first[number][1], Pytree):
            there, cls = first[number]
            note = f"as {KeyPath(unlink(there)) if there else 'the root'}"
            lines.append(_Line(line, local, cls, note))
        elif tag in (NODE, TREE) and line is not None:
            stack.append(_Open(iter([*rule.keys(aux, number)]), path, local, line))
        while stack and not stack[-1].keys.__length_hint__():
            stack.pop()
    return lines


def _tally(line: _Line) -> str:
    """Return how many numbers there are of each kind, and how many bytes."""
    return ", ".join(
        f"{kind.value}: {line.counts[kind][0]:,}{bytes_text(line.counts[kind][1])}"
        for kind in Kind
        if kind in line.counts
    )


Meant = Callable[["_Owner", Any, Any], bool]
"""Takes an owner, a linked path below the root and what stands there."""


def freeze(tree: T, selector: Any = MISSING, /) -> T:
    """Return a tree in which parameters count as state.

    Parameters are attributes of kind `PARAMETER` and variables such as `Param`, in
    attributes, containers and states. Frozen ones are of kind `FROZEN`: `select_kind`
    has them with the state, the filter `Param` does not mean them, and
    `integrations.value_and_grad` does not differentiate for them. References within
    the tree are kept, and what stands in several places is frozen in all.

    Args:
        tree: An object, a variable, or a container with these in it.
        selector: Which parameters; all by default. A selector as
            :func:`~leafwise.at` takes it, a selection, or one of
            :mod:`leafwise.nn.filters`.

    Raises:
        PathError: The selector means nothing.
        TypeError: `tree` is a bare value, or it is no selector.
        ValueError: No parameter is selected, or only a part of one.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Layer(nn.Module):
        ...     def __init__(self):
        ...         self.register_parameter("weight", 0.5)
        ...         self.bias = nn.Param(0.0)
        >>> frozen = nn.freeze(Layer())
        >>> [kind.name for kind in frozen.name_to_kind.values()]
        ['FROZEN', 'FROZEN']
        >>> partly = nn.freeze([Layer(), Layer()], "[0]")
        >>> lw.tree_leaves(nn.select_kind(partly, nn.Kind.PARAMETER))
        [0.5, 0.0]
        >>> nn.to_flat_state(nn.state(partly, nn.Param)).paths
        ((1, 'bias'),)

    The idea is that of `freeze_parameters` in PAX.
    """
    return _changed(tree, selector, _freeze, "freeze")


def unfreeze(tree: T, selector: Any = MISSING, /) -> T:
    """Return a tree in which what was frozen is a parameter again.

    Args:
        tree: An object, a variable, or a container with these in it.
        selector: Which parameters, as for `freeze`; all by default.

    Raises:
        PathError, TypeError, ValueError: As `freeze`.

    Example:
        >>> from leafwise import nn
        >>> class Layer(nn.Module):
        ...     def __init__(self):
        ...         self.register_parameter("weight", 0.5)
        ...         self.register_state("calls", 0)
        >>> again = nn.unfreeze(nn.freeze(Layer()))
        >>> [kind.name for kind in again.name_to_kind.values()]
        ['PARAMETER', 'STATE']

    The idea is that of `unfreeze_parameters` in PAX.
    """
    return _changed(tree, selector, _unfreeze, "unfreeze")


def _changed(tree: T, what: Any, change: Callable[[_Owner], bool], name: str) -> T:
    """Return a tree in which the selected parameters are changed."""
    if rule_of(type(tree)) is None:
        raise TypeError(
            f"{name} takes an object, a variable or a container with these, got a bare "
            f"{type(tree).__name__}; for an attribute write {name}(obj, 'attribute')"
        )
    resolve, meant = _reading(tree, what)
    flat = flatten_graph(tree, copying=True)
    fresh: T = unflatten_graph(flat.code, flat.leaves, copying=True)
    chosen = [*_chosen(fresh, resolve, meant)]
    found = [change(owner) for owner in chosen]
    if what is not MISSING and not any(found):
        raise ValueError(f"there is no parameter to {name} in what is selected")
    return fresh


def _freeze(owner: _Owner) -> bool:
    """Freeze a parameter; say whether it is one."""
    held, kind = owner.holder, owner.kind
    if isinstance(held, Variable):
        if kind is Kind.PARAMETER or type(held)._leafwise_kind is Kind.PARAMETER:
            held.set_metadata(FROZEN, True)
            return True
    elif kind is Kind.PARAMETER:
        held._leafwise_store(owner.part, Marked(Kind.FROZEN, owner.value))
        return True
    return kind is Kind.FROZEN


def _unfreeze(owner: _Owner) -> bool:
    """Unfreeze a parameter; say whether it is one."""
    held, kind = owner.holder, owner.kind
    if isinstance(held, Variable):
        if held._leafwise_is_frozen:
            held.del_metadata(FROZEN)
            return True
        return type(held)._leafwise_kind is Kind.PARAMETER
    if kind is Kind.FROZEN:
        held._leafwise_store(owner.part, Marked(Kind.PARAMETER, owner.value))
        return True
    return kind is Kind.PARAMETER


# --------------------------------------------------------------- what has a kind


class _Owner:
    """A variable, or a bare attribute of an object: what can be frozen as a whole.

    Attributes:
        holder: The variable, or the object.
        part: The name, position or key of the attribute.
        value: What it holds.
        kind: The kind.
        keys: Its path, a linked list of keys.
        names: The same of names, positions and keys.
        leaves: How many leaves it has.
        chosen: How many of them are selected.
        whole: Whether it is selected as a whole.
    """

    __slots__ = (
        "chosen",
        "holder",
        "keys",
        "kind",
        "leaves",
        "names",
        "part",
        "value",
        "whole",
    )

    def __init__(
        self, holder: Any, part: Any, value: Any, kind: Kind, keys: Any, names: Any
    ) -> None:
        self.holder = holder
        self.part = part
        self.value = value
        self.kind = kind
        self.keys = keys
        self.names = names
        self.leaves = self.chosen = 0
        self.whole = False


def _reading(tree: Any, what: Any) -> tuple[Callable[[Any], Rule | None] | None, Meant]:
    """Return how far to look into a tree, and what tells whether something is selected.

    A selector looks at the tree, and at each place where something stands; all else
    looks at the graph, where each thing stands once, and at objects that are no trees.
    """
    if what is MISSING:
        return None, lambda _owner, _link, _value: True
    if is_filter(what):
        test = predicate(what)
        return None, lambda owner, link, value: judge(
            test, unlink(link[1]), value, owner.kind
        )
    selection = what if isinstance(what, Selection) else at(tree)[what]
    region = Region(selection.places())
    return (
        current.view.resolve,
        lambda _owner, link, _value: KeyPath(unlink(link[0])) in region,
    )


def _chosen(
    tree: Any, resolve: Callable[[Any], Rule | None] | None, meant: Meant
) -> Iterator[_Owner]:
    """Yield what is selected as a whole.

    Raises:
        ValueError: Only a part of something is selected.
    """
    for owner in _owners(tree, resolve, meant):
        if owner.whole or (owner.leaves and owner.chosen == owner.leaves):
            yield owner
        elif owner.chosen and owner.kind in (Kind.PARAMETER, Kind.FROZEN):
            raise ValueError(
                f"only a part of the parameter at {KeyPath(unlink(owner.keys))} is "
                f"selected: {owner.chosen} of {owner.leaves} leaves"
            )


def _owners(
    tree: Any, resolve: Callable[[Any], Rule | None] | None, meant: Meant
) -> list[_Owner]:
    """Return what has a kind of its own, with how much of it is selected."""
    owners: list[_Owner] = []
    none = _Owner(None, None, None, Kind.DATA, (), ())
    seen: dict[int, Any] = {}
    stack: list[tuple[Any, Any, Any, _Owner]] = [(tree, (), (), none)]
    while stack:
        value, keys, names, owner = stack.pop()
        rule = (resolve or rule_of)(type(value))
        is_variable = isinstance(value, Variable)
        if rule is None:
            if isinstance(value, Pytree) and meant(owner, (keys, names), value):
                owners += _owners(value, None, lambda _owner, _link, _value: True)
            owner.leaves += 1
            if resolve is not None or not isinstance(owner.holder, Variable):
                owner.chosen += meant(owner, (keys, names), value)
            continue
        if resolve is None and isinstance(value, Variable | Pytree):
            if id(value) in seen:
                continue
            seen[id(value)] = value
        if is_variable:
            kind = kind_in(owner.kind, type(value), frozen=value._leafwise_is_frozen)
            owner = _Owner(value, None, value, kind, keys, names)
            owner.whole = meant(owner, (keys, names), value)
            owners.append(owner)
        below = []
        for link, child, of_kind in _children(rule, value, keys, names):
            held = owner
            if of_kind is not None:
                held = _Owner(value, link[1][1], child, of_kind, *link)
                if not isinstance(child, Variable):
                    held.whole = meant(held, link, child)
                    owners.append(held)
            below.append((child, *link, held))
        stack += reversed(below)
    return owners


def _children(
    rule: Rule, value: Any, keys: Any, names: Any
) -> Iterator[tuple[tuple[Any, Any], Any, Kind | None]]:
    """Yield for each child its two linked paths, itself, and its kind in an object."""
    children, aux = rule.flatten(value)
    kinds: Any = kinds_of_children(aux) or [None] * len(children)
    parts = keys_of(rule, aux, len(children))
    known = rule.keys(aux, len(children))
    for key, part, child, kind in zip(known, parts, children, kinds, strict=True):
        yield ((keys, key), (names, part)), child, kind

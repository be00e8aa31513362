"""How two structures match, and where they do not.

Owns what can be said and built about codes without any tree: prefixes, common suffixes,
which leaf of a prefix covers each leaf. It works on the steps of a structure in
post-order with the start of each subtree beside them, so that depth costs nothing.

Owns as well the text of a code, the `Difference` record and the texts of
`StructureError`. These are made only once something did not match, so they may be slow,
and never decide whether things match: they look again at what `walk` refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, product
from typing import Any, NamedTuple, TypeAlias

from .._text import FAULTS, escape_lines, is_similar, other_type, safe_repr, short_repr
from ..equality.leaves import contrast, contrast_classes, type_names
from ..errors import StructureError
from .builtins import NONE, MappingRule, SequenceRule, bare_keys
from .keypath import KeyPath
from .keys import FlattenedIndexKey
from .node import Rule
from .registry import View
from .walk import Code, Step, iter_steps, unlink
from .words import (
    Brackets,
    brackets,
    description,
    listed,
    node_data,
    origin,
)


class Steps:
    """The steps of a structure, and where the subtree of each step begins.

    Attributes:
        steps: The steps in post-order.
        starts: For each step, the index of the first step of its subtree.
        root: The index of the root: the last step.
    """

    def __init__(self, code: Code) -> None:
        self.steps: list[Step] = [*iter_steps(code)]
        self.starts: list[int] = []
        open_starts: list[int] = []
        for index, step in enumerate(self.steps):
            arity = 0 if step is None else step[1]
            start = open_starts[-arity] if arity else index
            del open_starts[len(open_starts) - arity :]
            open_starts.append(start)
            self.starts.append(start)
        self.root: int = len(self.steps) - 1

    def children(self, index: int) -> list[int]:
        """Return the indices of a node's children, from left to right."""
        step = self.steps[index]
        found: list[int] = []
        below = index - 1
        for _ in range(0 if step is None else step[1]):
            found.append(below)
            below = self.starts[below] - 1
        return found[::-1]

    def subtree(self, index: int) -> list[Step]:
        """Return the steps of a subtree."""
        return self.steps[self.starts[index] : index + 1]


def align(
    rule: Rule, arity: int, aux: Any, other: Rule, other_arity: int, other_aux: Any
) -> Sequence[int] | None:
    """Return which child of another node goes with each child of a node.

    Dicts of all kinds pair by key; a deque's maxlen does not matter; any other
    nodes pair if their rules and aux data are the same.

    Returns:
        The positions of the other's children in the order of the first, or None
        if the two nodes do not pair.
    """
    if arity != other_arity:
        return None
    if isinstance(rule, MappingRule) and isinstance(other, MappingRule):
        keys = rule.keys_in(aux).ordered
        other_keys = other.keys_in(other_aux).ordered
        positions = {key: position for position, key in enumerate(other_keys)}
        if positions.keys() != set(keys):
            return None
        return [positions[key] for key in keys]
    if rule is not other:
        return None
    if aux is other_aux or isinstance(rule, SequenceRule) or rule.same(aux, other_aux):
        return range(arity)
    return None


def _pairs(
    first: Steps,
    second: Steps,
    pair: Callable[..., Sequence[int] | None] = align,
    past_differences: bool = False,
) -> Iterator[tuple[Any, int, int, bool]]:
    """Yield what stands at the same place of two structures, from right to left.

    Each time: the slot, see `_path`; the places of both steps; whether these are nodes
    that pair, in which case their children follow. With `past_differences`, those
    children of other nodes follow whose keys both nodes have.
    """
    stack: list[tuple[Any, int, int]] = [((), first.root, second.root)]
    while stack:
        slot, i, j = stack.pop()
        one, other = first.steps[i], second.steps[j]
        positions: Sequence[int | None] | None = None
        if one is not None and other is not None:
            positions = pair(*one, *other)
            yield slot, i, j, positions is not None
            if positions is None and past_differences:
                positions = _common_positions(one, other)
        else:
            yield slot, i, j, False
        if positions is not None:
            theirs = second.children(j)
            for number, child in enumerate(first.children(i)):
                position = positions[number]
                if position is not None:
                    below = slot, (one, number)
                    stack.append((below, child, theirs[position]))


def _common_positions(one: Node, other: Node) -> list[int | None]:
    """Return which child of a node has the key of each child of a differing one.

    Positions of classes that name no keys say nothing about another class.
    """
    (rule, arity, aux), (other_rule, other_arity, other_aux) = one, other
    nothing: list[int | None] = [None] * arity
    try:
        keys = rule.keys(aux, arity)
        positions: dict[Any, int] = {}
        for position, key in enumerate(other_rule.keys(other_aux, other_arity)):
            if type(key) is not FlattenedIndexKey or rule is other_rule:
                positions.setdefault(key, position)
        return [positions.get(key) for key in keys]
    except FAULTS:  # of a key of the user's that has no hash, for one
        return nothing


def same_code(a: Code, b: Code) -> bool:
    """Return whether two codes of one length are those of equal structures."""
    for first, second in zip(a, b, strict=True):
        if first is not second:
            run, rule, arity, aux = first
            if run != second[0] or rule is not second[1] or arity != second[2]:
                return False
            if aux is not second[3] and not rule.same(aux, second[3]):
                return False
    return True


def is_prefix(a: Code, b: Code) -> bool:
    """Return whether a structure is a prefix of another: leaves match anything."""
    first, second = Steps(a), Steps(b)
    return all(
        paired or first.steps[i] is None for _, i, _, paired in _pairs(first, second)
    )


def common_suffix(a: Code, b: Code) -> Iterator[Step] | None:
    """Return the smallest structure that both are prefixes of, None if there is none.

    Where both have a node, it is the node of the first.
    """
    first, second = Steps(a), Steps(b)
    backwards: list[Step] = []
    for _, i, j, paired in _pairs(first, second):
        if paired:
            backwards.append(first.steps[i])
        elif first.steps[i] is None:
            backwards += reversed(second.subtree(j))
        elif second.steps[j] is None:
            backwards += reversed(first.subtree(i))
        else:
            return None
    return reversed(backwards)


def covering(prefix: Code, full: Code) -> list[int] | None:
    """Return for each leaf of a structure which leaf of a prefix covers it.

    None if it is no prefix. Nodes may pair that are not the very same, see `align`.
    """
    first, second = Steps(prefix), Steps(full)
    ours, theirs = (
        [*accumulate((step is None for step in steps), initial=0)]
        for steps in (first.steps, second.steps)
    )
    found = [0] * theirs[-1]
    for _, i, j, paired in _pairs(first, second):
        if first.steps[i] is None:
            start, end = theirs[second.starts[j]], theirs[j + 1]
            found[start:end] = [ours[i]] * (end - start)
        elif not paired:
            return None
    return found


Node: TypeAlias = "tuple[Rule, int, Any]"
"""A node of a structure."""

_SHOWN = 5
_MAX_FOUND = 1000


class Difference(NamedTuple):
    """One difference between a tree and an expected structure.

    Attributes:
        path: Key path of the difference.
        expected: What the structure has there, in words.
        actual: What the tree has there, in words.
        hint: How to fix it, empty if there is no hint.

    Example:
        >>> import leafwise as lw
        >>> try:
        ...     lw.tree_map(max, [1, (2, 3)], [1, [2, 3]])
        ... except lw.StructureError as error:
        ...     print(error.differences[0])
        at [1]: expected tuple of length 2, got list of length 2
    """

    path: KeyPath
    expected: str
    actual: str
    hint: str = ""

    def __str__(self) -> str:
        return escape_lines(
            f"at {self.path.where()}: expected {self.expected}, got {self.actual}"
        )


_SKIP = object()


def differences(
    code: Code,
    tree: Any,
    view: View,
    is_leaf: Callable[[KeyPath, Any], bool] | None = None,
    hint: str = "",
) -> list[Difference]:
    """Return where a tree does not have the structure of a code.

    Below nodes that differ, the children are compared whose keys both nodes have.

    Args:
        code: The structure that was asked for.
        tree: What was given.
        view: The view to name the nodes of `tree` by.
        is_leaf: Says which nodes may stand at a leaf of the structure; if omitted, all.
        hint: What to do about others.
    """
    found: list[tuple[Any, Difference]] = []
    stack: list[tuple[Any, Any]] = [((), tree)]
    for step in iter_steps(code, backwards=True):
        slot, node = stack.pop()
        if step is None:
            if is_leaf is None or node is _SKIP or view.resolve(type(node)) is None:
                continue
            if not is_leaf(_path(slot), node):
                actual = describe(node, view)
                found.append((slot, Difference(_path(slot), "a leaf", actual, hint)))
            continue
        rule, arity, aux = step
        if node is _SKIP:
            stack += [((), _SKIP)] * arity
            continue
        children = rule.match(aux, arity, node)
        if children is None:
            if len(found) < _MAX_FOUND:
                found.append((slot, _difference(_path(slot), step, node, view)))
            children = _common_children(step, node, view)
        stack += [
            ((slot, (step, number)), child) for number, child in enumerate(children)
        ]
    return _in_order(found)


def _common_children(one: Node, node: Any, view: View) -> list[Any]:
    """Return the children of a differing node at the keys of a structure's node.

    `_SKIP` stands for those that it does not have.
    """
    level = _one_level(node, view)
    if level is None:
        return [_SKIP] * one[1]
    other, children = level
    return [
        _SKIP if position is None else children[position]
        for position in _common_positions(one, other)
    ]


def _in_order(found: list[tuple[Any, Difference]]) -> list[Difference]:
    """Sort differences: those in a node come after it, from left to right."""

    def numbers(pair: tuple[Any, Difference]) -> list[int]:
        return [number for _, number in unlink(pair[0])]

    return [difference for _, difference in sorted(found, key=numbers)]


def code_differences(a: Code, b: Code, *, exact: bool = True) -> list[Difference]:
    """Return where two structures differ, none if they are equal.

    Args:
        a, b: The structures.
        exact: Whether nodes have to be the same, not only to pair, and a leaf differs
            from a node.
    """
    first, second = Steps(a), Steps(b)
    found: list[tuple[Any, Difference]] = []
    pair = _same_step if exact else align
    for slot, i, j, paired in _pairs(first, second, pair, past_differences=True):
        one, other = first.steps[i], second.steps[j]
        if one is not None and other is not None:
            if not paired:
                texts = _told_apart(one, other)
                found.append((slot, Difference(_path(slot), *texts)))
        elif exact and one is not other:
            found.append((slot, Difference(_path(slot), _say(one), _say(other))))
    return _in_order(found)


def _same_step(
    rule: Rule, arity: int, aux: Any, other: Rule, other_arity: int, other_aux: Any
) -> Sequence[int] | None:
    """Return the positions of the children of a node that is the very same."""
    is_same = rule is other and arity == other_arity and rule.same(aux, other_aux)
    return range(arity) if is_same else None


def _say(step: Step) -> str:
    """Describe what a structure has at a place."""
    if step is None:
        return "a leaf"
    rule, arity, aux = step
    return description(rule, aux, arity)


def _path(slot: Any) -> KeyPath:
    """Return the path to a slot: pairs of the slot above, and of a node and a number.

    The number is that of the child among those of the node.
    """
    return KeyPath(
        rule.keys(aux, arity)[number] for (rule, arity, aux), number in unlink(slot)
    )


def _difference(path: KeyPath, one: Node, node: Any, view: View) -> Difference:
    other = step_of(node, view)
    hint = _hint(one[0], node, view)
    if other is None:
        return Difference(path, _say(one), describe(node, view), hint)
    return Difference(path, *_told_apart(one, other), hint or _misspelt(one, other))


def _key_changes(one: Node, other: Node) -> tuple[list[Any], list[Any]]:
    """Return the missing and the extra keys, where both sides are mappings."""
    if not (one[0].is_mapping and other[0].is_mapping):
        return [], []
    expected, actual = (
        dict.fromkeys(bare_keys(rule, aux, arity)) for rule, arity, aux in (one, other)
    )
    missing = [key for key in expected if key not in actual]
    extra = [key for key in actual if key not in expected]
    return missing, extra


# ------------------------------------------------------- nodes that look the same


def _told_apart(one: Node, other: Node) -> tuple[str, str]:
    """Describe two different nodes; add the difference if the descriptions match."""
    expected, actual = _say(one), _say(other)
    missing, extra = _key_changes(one, other)
    if missing or extra:
        parts = [f"missing {listed(missing)}"] if missing else []
        parts += [f"extra {listed(extra)}"] if extra else []
        for key in missing[:_SHOWN]:
            likeness = other_type(key, extra)
            parts += [likeness] if likeness else []
        return expected, f"{actual} ({'; '.join(parts)})"
    if expected != actual:
        return expected, actual
    said = _contrast(one, other)
    if isinstance(said, str):
        return expected, f"{actual} ({said})"
    return f"{expected} ({said[0]})", f"{actual} ({said[1]})"


def _contrast(one: Node, other: Node) -> tuple[str, str] | str:
    """Return the difference between two nodes with the same description."""
    (rule, _, aux), (other_rule, _, other_aux) = one, other
    classes = rule.class_of(aux), other_rule.class_of(other_aux)
    if classes[0] is not classes[1]:
        return contrast_classes(*classes)
    if rule is not other_rule:
        origins = origin(rule), origin(other_rule)
        if origins[0] != origins[1]:
            return origins
        return origins[0], f"{origins[1]}, in another registration"
    if rule.is_mapping and [*rule.keys(aux, 0)] != [*rule.keys(other_aux, 0)]:
        return "in another order"
    return contrast(node_data(rule, aux), node_data(rule, other_aux))


def _misspelt(one: Node, other: Node) -> str:
    """Return which extra key looks like a missing one, "" if none does."""
    for key, extra in product(*_key_changes(one, other)):
        if type(key) is str and type(extra) is str and is_similar(key, extra):
            return f"perhaps {safe_repr(extra)} is a misspelling of {safe_repr(key)}"
    return ""


def _one_level(node: Any, view: View) -> tuple[Node, Sequence[Any]] | None:
    """Return a node and its children; None for a leaf and where that fails."""
    rule = view.resolve(type(node))
    if rule is None:
        return None
    try:
        children, aux = rule.flatten(node)
    except FAULTS:
        return None
    return (rule, len(children), aux), children


def step_of(node: Any, view: View) -> Node | None:
    """Return the step of a node; None for a leaf and where that fails."""
    level = _one_level(node, view)
    return None if level is None else level[0]


def describe(node: Any, view: View) -> str:
    """Return a description of a value, as a node or as a leaf."""
    rule = view.resolve(type(node))
    if rule is None:
        return f"leaf {short_repr(node)} ({type(node).__qualname__})"
    step = step_of(node, view)
    if step is None:
        return f"a {type(node).__qualname__} that cannot be flattened"
    return _say(step)


def _hint(rule: Rule, node: Any, view: View) -> str:
    """Return how a node may come to be where one of another type is expected."""
    cls = type(node)
    if rule is NONE:
        return (
            "the expected None is a node without children; none_is_leaf=True, of a "
            "call or a namespace, makes it a leaf"
        )
    if {cls, rule.cls} == {list, tuple}:
        return "a list and a tuple are different nodes; convert one of them"
    if view.resolve(cls) is not None or not isinstance(node, rule.cls):
        return ""
    if cls is not rule.cls:
        names = cls.__qualname__, rule.cls.__qualname__
        if names[0] == names[1]:
            names = type_names(cls, rule.cls)
        return (
            f"{names[0]} is a subclass of {names[1]}, and subclasses are leaves unless "
            "they are registered"
        )
    if not rule.where:
        return ""
    scope = f" in namespace {rule.namespace!r}" if rule.namespace else ""
    return (
        f"{cls.__qualname__} was registered{scope} when the structure was made, and is "
        "not registered now"
    )


# ----------------------------------------------------------------- the errors


def mismatch_error(
    found: Sequence[Difference], *, subject: str, tree_index: int | None = None
) -> StructureError:
    """Return the error that shows the first few differences and has them all.

    Args:
        found: The differences, in leaf order.
        subject: The beginning of the message, which tree does not match what.
        tree_index: Which tree was wrong, where there are several.
    """
    if not found:
        return StructureError(subject, tree_index=tree_index)
    count = len(found)
    places = "1 place" if count == 1 else f"{count} places"
    lines = [f"{subject}, in {places}:"]
    lines += [f"  {difference}" for difference in found[:_SHOWN]]
    if count > _SHOWN:
        lines.append(f"  and {count - _SHOWN} more")
    hints = [difference.hint for difference in found[:_SHOWN] if difference.hint]
    lines += [f"hint: {escape_lines(hint)}" for hint in dict.fromkeys(hints)]
    first = found[0]
    return StructureError(
        "\n".join(lines),
        path=first.path,
        expected=first.expected,
        actual=first.actual,
        tree_index=tree_index,
        differences=tuple(found),
    )


def leaf_count_error(expected: int, actual: str, treedef: object) -> StructureError:
    """Return the error for a number of leaves that a treedef does not have.

    Args:
        expected: How many leaves the treedef has.
        actual: How many were given.
        treedef: The treedef.
    """
    wanted = "1 leaf" if expected == 1 else f"{expected} leaves"
    return StructureError(
        f"expected {wanted}, got {actual}\n  treedef: {short_repr(treedef)}",
        expected=wanted,
        actual=actual,
    )


def code_text(
    code: Code, brackets_of: Callable[[Rule, Any, int], Brackets] = brackets
) -> str:
    """Return a code as text, in one line.

    Args:
        code: The code.
        brackets_of: Returns the texts around the children of a node; by default, as
            in the text of a treedef.
    """
    # Steps come from the leaves up. Read backwards, a node comes before its children
    # and the last child first, so the text is written from its end to its beginning.
    # Joining the texts of children at each node would be quadratic in depth.
    pieces: list[str] = []
    open_nodes: list[tuple[str, Sequence[str] | None, Iterator[int]]] = []
    for step in reversed(list(iter_steps(code))):
        if step is None:
            pieces.append("*")
        else:
            rule, arity, aux = step
            opening, labels, closing = brackets_of(rule, aux, arity)
            pieces.append(escape_lines(closing))
            if arity:
                open_nodes.append((opening, labels, iter(range(arity - 1, -1, -1))))
                continue
            pieces.append(escape_lines(opening))
        while open_nodes:  # a child is complete
            opening, labels, indices = open_nodes[-1]
            index = next(indices)
            if labels is not None:
                pieces.append(escape_lines(labels[index]))
            if index:
                pieces.append(", ")
                break
            pieces.append(escape_lines(opening))
            open_nodes.pop()
    return "".join(reversed(pieces))

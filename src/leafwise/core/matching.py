"""How two structures match, and where they do not.

Prefixes, common suffixes, and which leaf of a prefix covers each leaf are found from
codes alone, without a tree. That works on the steps of a structure in post-order, with
the start of each subtree beside them, so that depth costs nothing.

`Difference`, the text of a code and the texts of `StructureError` are here as well.
These are made only once something did not match, so they may be slow, and never decide
whether things match: they look again at what `walk` refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, product
from typing import Any, NamedTuple, TypeAlias

from .._text import FAULTS, escape_lines, is_similar, other_type, safe_repr, short_repr
from ..equality.leaves import contrast, contrast_classes, type_names
from ..errors import StructureError
from .builtins import NONE, MappingNodeType, SequenceNodeType, bare_keys
from .keypath import KeyPath
from .keys import FlattenedIndexKey
from .node import NodeType
from .registry import View
from .walk import Code, Step, iter_steps
from .words import (
    Brackets,
    brackets,
    description,
    listed,
    node_data,
    origin,
)


Node: TypeAlias = "tuple[NodeType, int, Any]"
"""A node of a structure: its node type, the number of its children, its aux data."""

Pairing: TypeAlias = "Callable[[Node, Node], Sequence[int] | None]"
"""Returns which child of another node goes with each child of a node; see `align`."""


class Steps:
    """The steps of a structure, and where the subtree of each step begins.

    Attributes:
        steps: The steps in post-order.
        starts: For each step, the index of the first step of its subtree.
        root: The index of the root: the last step.
    """

    def __init__(self, code: Code) -> None:
        self.steps: list[Step] = list(iter_steps(code))
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
        indices: list[int] = []
        below = index - 1
        for _ in range(0 if step is None else step[1]):
            indices.append(below)
            below = self.starts[below] - 1
        return indices[::-1]

    def subtree(self, index: int) -> list[Step]:
        """Return the steps of a subtree."""
        return self.steps[self.starts[index] : index + 1]

    def path(self, index: int) -> KeyPath:
        """Return the key path of a step."""
        keys: list[Any] = []
        while index != self.root:
            parent, position = self._parents[index]
            node_type, arity, aux = self.steps[parent]  # type: ignore[misc]  # a node
            keys.append(node_type.keys(aux, arity)[position])
            index = parent
        return KeyPath(reversed(keys))

    def in_order(
        self, differences: Iterable[tuple[int, Difference]]
    ) -> list[Difference]:
        """Sort differences by their steps: a node before those in it."""

        def order(pair: tuple[int, Difference]) -> tuple[int, int]:
            index, _ = pair
            return self.starts[index], -index

        return [difference for _, difference in sorted(differences, key=order)]

    @cached_property
    def _parents(self) -> list[tuple[int, int]]:
        """For each step its parent, and its position among the children."""
        parents = [(self.root, 0)] * len(self.steps)
        for index in range(len(self.steps)):
            for position, child in enumerate(self.children(index)):
                parents[child] = (index, position)
        return parents


def align(node: Node, other: Node) -> Sequence[int] | None:
    """Return which child of another node goes with each child of a node.

    Dicts of all kinds pair by key; a deque's maxlen does not matter; any other
    nodes pair if their node types and aux data are the same.

    Returns:
        The positions of the other's children in the order of the first, or None
        if the two nodes do not pair.
    """
    node_type, arity, aux = node
    other_node_type, other_arity, other_aux = other
    if arity != other_arity:
        return None
    if isinstance(node_type, MappingNodeType) and isinstance(
        other_node_type, MappingNodeType
    ):
        keys = node_type.keys_in(aux).ordered
        other_keys = other_node_type.keys_in(other_aux).ordered
        positions = {key: position for position, key in enumerate(other_keys)}
        # as sets: keys of the two may be equal and have another order, as 1 and 1.0
        if positions.keys() != set(keys):
            return None
        return [positions[key] for key in keys]
    if node_type is not other_node_type:
        return None
    if (
        aux is other_aux
        or isinstance(node_type, SequenceNodeType)  # a maxlen does not count
        or node_type.same(aux, other_aux)
    ):
        return range(arity)
    return None


def _pairs(
    first: Steps,
    second: Steps,
    pair: Pairing = align,
    past_differences: bool = False,
) -> Iterator[tuple[int, int, bool]]:
    """Yield what stands at the same place of two structures, from right to left.

    Each time: the indices of both steps, and whether these are nodes that pair, in
    which case their children follow. With `past_differences`, those children of other
    nodes follow whose keys both nodes have.
    """
    stack = [(first.root, second.root)]
    while stack:
        index, other_index = stack.pop()
        step = first.steps[index]
        other = second.steps[other_index]
        if step is None or other is None:
            yield index, other_index, False
            continue
        positions: Sequence[int | None] | None = pair(step, other)
        yield index, other_index, positions is not None
        if positions is None:
            if not past_differences:
                continue
            positions = _common_positions(step, other)
        # from left to right onto the stack, so the last child comes first
        others = second.children(other_index)
        for child, position in zip(first.children(index), positions, strict=True):
            if position is not None:
                stack.append((child, others[position]))


def _common_positions(node: Node, other: Node) -> list[int | None]:
    """Return which child of a node has the key of each child of a differing one.

    Positions of classes that name no keys say nothing about another class.
    """
    node_type, arity, aux = node
    other_node_type, other_arity, other_aux = other
    nothing: list[int | None] = [None] * arity
    try:
        keys = node_type.keys(aux, arity)
        positions: dict[Any, int] = {}
        for position, key in enumerate(other_node_type.keys(other_aux, other_arity)):
            if type(key) is not FlattenedIndexKey or node_type is other_node_type:
                positions.setdefault(key, position)
        return [positions.get(key) for key in keys]
    except FAULTS:  # of a key of the user's that has no hash, for one
        return nothing


def same_code(a: Code, b: Code) -> bool:
    """Return whether two codes of one length are those of equal structures."""
    for entry, other in zip(a, b, strict=True):
        if entry is not other:  # codes may share entries
            run, node_type, arity, aux = entry
            if run != other[0] or node_type is not other[1] or arity != other[2]:
                return False
            if aux is not other[3] and not node_type.same(aux, other[3]):
                return False
    return True


def is_prefix(a: Code, b: Code) -> bool:
    """Return whether a structure is a prefix of another: leaves match anything."""
    first = Steps(a)
    for index, _, is_pair in _pairs(first, Steps(b)):
        if not is_pair and first.steps[index] is not None:
            return False
    return True


def common_suffix(a: Code, b: Code) -> Iterator[Step] | None:
    """Return the smallest structure that both are prefixes of, None if there is none.

    Where both have a node, it is the node of the first.
    """
    first = Steps(a)
    second = Steps(b)
    backwards: list[Step] = []  # as `_pairs` yields them, and as steps are not
    for index, other_index, is_pair in _pairs(first, second):
        if is_pair:
            backwards.append(first.steps[index])
        elif first.steps[index] is None:
            backwards += reversed(second.subtree(other_index))
        elif second.steps[other_index] is None:
            backwards += reversed(first.subtree(index))
        else:
            return None
    return reversed(backwards)


def covering(prefix: Code, full: Code) -> list[int] | None:
    """Return for each leaf of a structure which leaf of a prefix covers it.

    None if it is no prefix. Nodes may pair that are not the very same, see `align`.
    """
    first = Steps(prefix)
    second = Steps(full)
    prefix_leaves = _leaves_before(first)
    full_leaves = _leaves_before(second)
    indices = [0] * full_leaves[-1]
    for index, other_index, is_pair in _pairs(first, second):
        if first.steps[index] is None:
            start = full_leaves[second.starts[other_index]]
            end = full_leaves[other_index + 1]
            indices[start:end] = [prefix_leaves[index]] * (end - start)
        elif not is_pair:
            return None
    return indices


def _leaves_before(steps: Steps) -> list[int]:
    """Return for each step how many leaves come before it, and at last their number."""
    is_leaf = [step is None for step in steps.steps]
    return list(accumulate(is_leaf, initial=0))


_MAX_SHOWN = 5
_MAX_NODES = 1000
"""How many differing nodes of a tree are described."""


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
        code: The expected structure.
        tree: The tree.
        view: The view to name the nodes of `tree` by.
        is_leaf: Says which nodes may stand at a leaf of the structure; if omitted, all.
        hint: What to do about others.
    """
    steps = Steps(code)
    at_steps: list[tuple[int, Difference]] = []
    stack = [tree]
    for index in range(steps.root, -1, -1):
        step = steps.steps[index]
        node = stack.pop()
        if step is None:
            if is_leaf is None or node is _SKIP or view.resolve(type(node)) is None:
                continue
            path = steps.path(index)
            if not is_leaf(path, node):
                difference = Difference(path, "a leaf", describe(node, view), hint)
                at_steps.append((index, difference))
            continue
        node_type, arity, aux = step
        if node is _SKIP:  # nothing below can be compared, yet the steps go on
            stack += [_SKIP] * arity
            continue
        children = node_type.match(aux, arity, node)
        if children is None:
            # to describe one takes its path, which takes longer the deeper it is
            if len(at_steps) < _MAX_NODES:
                difference = _difference(steps.path(index), step, node, view)
                at_steps.append((index, difference))
            children = _common_children(step, node, view)
        stack += children
    return steps.in_order(at_steps)


def _common_children(step: Node, node: Any, view: View) -> list[Any]:
    """Return the children of a differing node at the keys of a structure's node.

    `_SKIP` stands for those that it does not have.
    """
    level = _one_level(node, view)
    if level is None:
        return [_SKIP] * step[1]
    other, children = level
    return [
        _SKIP if position is None else children[position]
        for position in _common_positions(step, other)
    ]


def code_differences(a: Code, b: Code, *, exact: bool = True) -> list[Difference]:
    """Return where two structures differ, none if they are equal.

    Args:
        a, b: The structures.
        exact: Whether nodes have to be the same, not only to pair, and a leaf differs
            from a node.
    """
    first = Steps(a)
    second = Steps(b)
    at_steps: list[tuple[int, Difference]] = []
    pair = _same_node if exact else align
    for index, other_index, is_pair in _pairs(first, second, pair, True):
        step = first.steps[index]
        other = second.steps[other_index]
        if step is None or other is None:
            if not exact or step is other:
                continue
            texts = (_step_text(step), _step_text(other))
        elif is_pair:
            continue
        else:
            texts = _contrast_nodes(step, other)
        at_steps.append((index, Difference(first.path(index), *texts)))
    return first.in_order(at_steps)


def _same_node(node: Node, other: Node) -> Sequence[int] | None:
    """Return the positions of the children of a node that is the very same."""
    node_type, arity, aux = node
    other_node_type, other_arity, other_aux = other
    if node_type is not other_node_type or arity != other_arity:
        return None
    return range(arity) if node_type.same(aux, other_aux) else None


def _step_text(step: Step) -> str:
    """Describe what a structure has at a place."""
    if step is None:
        return "a leaf"
    node_type, arity, aux = step
    return description(node_type, aux, arity)


def _difference(path: KeyPath, step: Node, node: Any, view: View) -> Difference:
    """Return the difference between a node of a structure and what a tree has there."""
    hint = _hint(step[0], node, view)
    other = step_of(node, view)
    if other is None:
        return Difference(path, _step_text(step), describe(node, view), hint)
    if not hint:
        hint = _misspelling(step, other)
    return Difference(path, *_contrast_nodes(step, other), hint)


def _key_changes(node: Node, other: Node) -> tuple[list[Any], list[Any]]:
    """Return the missing and the extra keys, where both sides are mappings."""
    node_type, arity, aux = node
    other_node_type, other_arity, other_aux = other
    if not (node_type.is_mapping and other_node_type.is_mapping):
        return [], []
    keys = dict.fromkeys(bare_keys(node_type, aux, arity))
    other_keys = dict.fromkeys(bare_keys(other_node_type, other_aux, other_arity))
    missing = [key for key in keys if key not in other_keys]
    extra = [key for key in other_keys if key not in keys]
    return missing, extra


# ------------------------------------------------------- nodes that look the same


def _contrast_nodes(node: Node, other: Node) -> tuple[str, str]:
    """Describe two different nodes; add the difference if the descriptions match."""
    expected = _step_text(node)
    actual = _step_text(other)
    missing, extra = _key_changes(node, other)
    if missing or extra:
        parts: list[str] = []
        if missing:
            parts.append(f"missing {listed(missing)}")
        if extra:
            parts.append(f"extra {listed(extra)}")
        for key in missing[:_MAX_SHOWN]:
            likeness = other_type(key, extra)
            if likeness:
                parts.append(likeness)
        return expected, f"{actual} ({'; '.join(parts)})"
    if expected != actual:
        return expected, actual
    reason = _hidden_difference(node, other)
    if isinstance(reason, str):
        return expected, f"{actual} ({reason})"
    return f"{expected} ({reason[0]})", f"{actual} ({reason[1]})"


def _hidden_difference(node: Node, other: Node) -> tuple[str, str] | str:
    """Return the difference between two nodes with the same description."""
    node_type, _, aux = node
    other_node_type, _, other_aux = other
    cls = node_type.class_of(aux)
    other_cls = other_node_type.class_of(other_aux)
    if cls is not other_cls:
        return contrast_classes(cls, other_cls)
    if node_type is not other_node_type:
        node_type_origin = origin(node_type)
        other_origin = origin(other_node_type)
        if node_type_origin != other_origin:
            return node_type_origin, other_origin
        return node_type_origin, f"{other_origin}, in another registration"
    if node_type.is_mapping and list(node_type.keys(aux, 0)) != list(
        node_type.keys(other_aux, 0)
    ):
        return "in another order"
    return contrast(node_data(node_type, aux), node_data(node_type, other_aux))


def _misspelling(node: Node, other: Node) -> str:
    """Return which extra key looks like a missing one, "" if none does."""
    for key, extra in product(*_key_changes(node, other)):
        if type(key) is str and type(extra) is str and is_similar(key, extra):
            return f"perhaps {safe_repr(extra)} is a misspelling of {safe_repr(key)}"
    return ""


def _one_level(node: Any, view: View) -> tuple[Node, Sequence[Any]] | None:
    """Return a node and its children; None for a leaf and where that fails."""
    node_type = view.resolve(type(node))
    if node_type is None:
        return None
    try:
        children, aux = node_type.flatten(node)
    except FAULTS:
        return None
    return (node_type, len(children), aux), children


def step_of(node: Any, view: View) -> Node | None:
    """Return the step of a node; None for a leaf and where that fails."""
    level = _one_level(node, view)
    return None if level is None else level[0]


def describe(node: Any, view: View) -> str:
    """Return a description of a value, as a node or as a leaf."""
    node_type = view.resolve(type(node))
    if node_type is None:
        return f"leaf {short_repr(node)} ({type(node).__qualname__})"
    step = step_of(node, view)
    if step is None:
        return f"a {type(node).__qualname__} that cannot be flattened"
    return _step_text(step)


def _hint(node_type: NodeType, node: Any, view: View) -> str:
    """Return how a node may come to be where one of another type is expected."""
    cls = type(node)
    if node_type is NONE:
        return (
            "the expected None is a node without children; none_is_leaf=True, of a "
            "call or a namespace, makes it a leaf"
        )
    if {cls, node_type.cls} == {list, tuple}:
        return "a list and a tuple are different nodes; convert one of them"
    # From here on, the node is a leaf of the class that was expected.
    if view.resolve(cls) is not None or not isinstance(node, node_type.cls):
        return ""
    if cls is not node_type.cls:
        name = cls.__qualname__
        base_name = node_type.cls.__qualname__
        if name == base_name:
            name, base_name = type_names(cls, node_type.cls)
        return (
            f"{name} is a subclass of {base_name}, and subclasses are leaves unless "
            "they are registered"
        )
    if not node_type.where:
        return ""
    scope = f" in namespace {node_type.namespace!r}" if node_type.namespace else ""
    return (
        f"{cls.__qualname__} was registered{scope} when the structure was made, and is "
        "not registered now"
    )


# ----------------------------------------------------------------- the errors


def mismatch_error(
    places: Sequence[Difference],
    *,
    subject: str,
    tree_index: int | None = None,
    hint: str = "",
) -> StructureError:
    """Return the error that shows the first few differences and has them all.

    Args:
        places: The differences, in leaf order.
        subject: The beginning of the message, which tree does not match what.
        tree_index: Which tree was wrong, where there are several.
        hint: How to fix all of them, after the hints of the single ones.
    """
    if not places:
        return StructureError(subject, tree_index=tree_index)
    count = len(places)
    number = "1 place" if count == 1 else f"{count} places"
    lines = [f"{subject}, in {number}:"]
    lines += [f"  {difference}" for difference in places[:_MAX_SHOWN]]
    if count > _MAX_SHOWN:
        lines.append(f"  and {count - _MAX_SHOWN} more")
    hints = [difference.hint for difference in places[:_MAX_SHOWN]]
    hints.append(hint)
    lines += [f"hint: {escape_lines(text)}" for text in dict.fromkeys(hints) if text]
    first = places[0]
    return StructureError(
        "\n".join(lines),
        path=first.path,
        expected=first.expected,
        actual=first.actual,
        tree_index=tree_index,
        differences=tuple(places),
    )


_ORDINALS = ("first", "second", "third")


def nth_tree(index: int) -> str:
    """Return what a message calls one of several trees.

    Example:
        >>> from leafwise.core.matching import nth_tree
        >>> nth_tree(1), nth_tree(3)
        ('the second tree', 'tree number 4')
    """
    if index < len(_ORDINALS):
        return f"the {_ORDINALS[index]} tree"
    return f"tree number {index + 1}"


def leaf_count_error(expected: int, actual: str, treedef: object) -> StructureError:
    """Return the error for a number of leaves that a treedef does not have.

    Args:
        expected: How many leaves the treedef has.
        actual: How many there are.
        treedef: The treedef.
    """
    number = "1 leaf" if expected == 1 else f"{expected} leaves"
    return StructureError(
        f"expected {number}, got {actual}\n  treedef: {short_repr(treedef)}",
        expected=number,
        actual=actual,
    )


def code_text(
    code: Code,
    brackets_of: Callable[[NodeType, Any, int], Brackets] = brackets,
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
            node_type, arity, aux = step
            opening, labels, closing = brackets_of(node_type, aux, arity)
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

"""Outlines: what is shown of a tree, in any format.

An outline is a tree of `Item`s: the nodes and leaves that are shown, what is left out
as numbers, and references where an object occurs again. Texts, diagrams and pages are
made from outlines; they do not read trees themselves.

Reading takes time linear in what is shown, and one flattening of what is not. It never
fails: what cannot be read is an item that says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, TypeAlias

from .._text import FAULTS, escape_controls
from ..core.context import Context
from ..core.keypath import KeyPath
from ..core.keys import GetAttrKey
from ..core.treedef import PyTreeDef
from ..equality.arrays import is_array
from ..fields import Kind
from ..selection.explain import has_few_elements
from .sketch import Arrays, Child, Sketch, label_of, leaf_text, sketch_of
from .text import leaves_text


Role: TypeAlias = Literal["node", "leaf", "static", "again", "more"]

DEPTH: Final = 100
"""How many levels of a tree are read at most."""
BRANCH: Final = object()
"""The value of an item that only leads to changes."""
_FEWEST: Final = 2
_ENDLESS: Final = 10**15  # more leaves are not counted


class Item:
    """A part of a tree as it is shown.

    Attributes:
        role: `node`; `leaf`; `static`, a value that belongs to the structure; `again`,
            an object that is shown elsewhere; `more`, what is left out.
        value: The value, None for what is left out.
        above: The item that it belongs to.
        key: The key in the item above, None at the root.
        depth: How many items are above.
        label: The text before it in Python source: `'lr': ` or `x=`.
        opening: Its text, or the text before its items.
        closing: The text after them.
        items: The items inside.
        kind: The kind of data, if an object declares it.
        comment: A note of its object.
        number: The number by which others refer to it, 0 if none does; of an `again`,
            the number that it refers to.
        nodes: How many values are left out.
        leaves: How many leaves are left out, None if that is not known.
        members: The equal neighbours for which this item stands; none for most items.
    """

    label = opening = closing = comment = ""
    kind: Kind | None = None
    number = nodes = 0
    leaves: int | None = 0
    members: Sequence[Item] = ()

    def __init__(
        self,
        role: Role,
        value: Any,
        above: Item | None,
        key: Any,
    ) -> None:
        self.role: Role = role
        self.value = value
        self.above = above
        self.key = key
        self.depth: int = 0 if above is None else above.depth + 1
        self.items: list[Item] = []

    @property
    def text(self) -> str:
        """The text before the items, with the number or the reference."""
        if self.role == "again":
            return f"→ #{self.number}"
        return f"#{self.number} {self.opening}" if self.number else self.opening

    @property
    def kind_above(self) -> Kind | None:
        """The kind of the item above."""
        return None if self.above is None else self.above.kind

    @property
    def children(self) -> list[Item]:
        """The items inside that have a line or a box of their own.

        The value of a variable stands in its line, and so does what is left out of a
        node that shows nothing else.
        """
        if len(self.items) != 1 or self.value is BRANCH:
            return self.items
        inner = self.items[0]
        is_attribute = inner.role == "leaf" and type(inner.key) is GetAttrKey
        is_value = is_attribute and not inner.number and not inner.members
        return [] if is_value or inner.role == "more" else self.items


# ------------------------------------------------------------------------- reading


def outline(
    tree: Any,
    context: Context,
    *,
    depth: int | None = None,
    most: int = 1000,
    arrays: Arrays = "short",
    only: Iterable[KeyPath] | None = None,
) -> Item:
    """Return the outline of a tree.

    Values near the root come first: a level is opened as a whole if possible, and its
    nodes share what may still be shown, so that one long list hides nothing else.

    Args:
        tree: The tree.
        context: Which values are nodes.
        depth: How many levels to open below the root; None for all, up to 100.
        most: How many values without visible children to show.
        arrays: Whether to write arrays as dtype and shape, or with all elements.
        only: The paths of the subtrees to show; None for all.
    """
    trie = None
    if only is not None:
        trie = _as_trie(only)
    levels = DEPTH
    if depth is not None:
        levels = min(depth, DEPTH)
    reader = _Reader(context, arrays, max(most, _FEWEST))
    reader.plan(tree, trie, levels)
    root = reader.item(Child(None, tree), None)
    reader.open(root, trie)
    reader.assign_numbers()
    return root


_Trie: TypeAlias = "dict[Any, _Trie | None] | None"
"""What to show below a place, by key; None for all."""

_Visit: TypeAlias = tuple[int, int]
"""The identities of a value and of its `_Trie`."""


def _below(trie: _Trie, child: Child) -> _Trie:
    """Return what to show below a child that is shown."""
    return None if trie is None else trie[child.key]


def _as_trie(paths: Iterable[KeyPath]) -> _Trie:
    root: dict[Any, Any] = {}
    for path in paths:
        if not path:
            return None
        node: dict[Any, Any] | None = root
        for key in path[:-1]:
            if node is not None:  # else a path above picks all of this
                node = node.setdefault(key, {})
        if node is not None:
            node[path[-1]] = None
    return root


class _Reader:
    """The reading of one tree.

    Attributes:
        most: How many values without visible children to show.
        shown: How many items there are so far.
        sketches: The sketches of `plan`, which `open` uses again: some objects make
            their children anew each time, and identities would not match. With the
            values, whose ids another object could get otherwise.
        shares: How many children of a node to show.
        firsts: The item that shows an object first.
        references: The items that refer to an object, and its first item.
        counts: The objects whose leaves were counted, and how many these are.
    """

    def __init__(self, context: Context, arrays: Arrays, most: int) -> None:
        self.context = context
        self.arrays: Arrays = arrays
        self.most = most
        self.shown = 0
        self.sketches: dict[_Visit, tuple[Any, Sketch | None]] = {}
        self.shares: dict[_Visit, int] = {}
        self.firsts: dict[_Visit, Item] = {}
        self.references: list[tuple[Item, Item]] = []
        self.counts: dict[int, tuple[Any, int]] = {}

    def plan(self, tree: Any, trie: _Trie, levels: int) -> None:
        """Choose how many children of each node to show, level by level."""
        spare = self.most - 1
        level = [(tree, trie)]
        while level and levels > 0 and spare >= 0:
            levels -= 1
            nodes: dict[_Visit, tuple[Sequence[Child], _Trie]] = {}
            for value, node_trie in level:
                visit = id(value), id(node_trie)
                sketch = self.sketch(value, node_trie)
                if sketch is not None and sketch.children and visit not in self.shares:
                    self.shares[visit] = 0
                    nodes[visit] = sketch.children, node_trie
            sizes = [len(children) for children, _ in nodes.values()]
            most = max(fair_share(sizes, spare), _FEWEST)
            level = []
            for visit, (children, node_trie) in nodes.items():
                share = min(len(children), most)
                # a node replaces itself by its children, so it costs one less
                cost = share - 1
                if cost <= spare:
                    self.shares[visit] = share
                    spare -= cost
                    for child in children[:share]:
                        level.append((child.value, _below(node_trie, child)))

    def sketch(self, value: Any, trie: _Trie) -> Sketch | None:
        """Return the sketch of a value, with the children that a trie has."""
        visit = id(value), id(trie)
        if visit not in self.sketches:
            sketch = sketch_of(value, self.context)
            if sketch is not None and trie is not None:
                children = [child for child in sketch.children if child.key in trie]
                hidden = len(sketch.children) - len(children)
                sketch = sketch._replace(children=children, hidden=hidden)
            self.sketches[visit] = value, sketch
        _, sketch = self.sketches[visit]
        return sketch

    def item(self, child: Child, above: Item | None) -> Item:
        """Return the item of a value, as a leaf without text."""
        role: Role = "leaf"
        if above is not None and (child.key is None or above.role == "static"):
            role = "static"
        item = Item(role, child.value, above, child.key)
        item.label = escape_controls(child.label) or label_of(child.key)
        item.kind = child.kind_in(item.kind_above)
        return item

    def open(self, item: Item, trie: _Trie) -> None:
        """Add the text of an item and the items inside it."""
        sketch = self.sketch(item.value, trie)
        if self.refers(item, sketch, trie):
            return
        if sketch is None:
            item.opening = leaf_text(item.value, self.arrays)
            return
        item.opening = escape_controls(sketch.opening)
        item.closing = sketch.closing
        item.comment = escape_controls(sketch.comment)
        if item.role == "leaf":
            item.role = "node"
        share = self.shares.get((id(item.value), id(trie)), 0)
        self.shown += share
        for child in sketch.children[:share]:
            inner = self.item(child, item)
            item.items.append(inner)
            self.open(inner, _below(trie, child))
        self.leave_out(item, sketch, share)

    def refers(self, item: Item, sketch: Sketch | None, trie: _Trie) -> bool:
        """Make an item a reference if its object is shown elsewhere.

        Arrays count, since tied weights are one array, and objects with something
        inside. Equal tuples are often one object, which nobody intends: they are
        repeated as long as there is room. So is an object of which another part is
        picked.
        """
        value = item.value
        if sketch is None:
            can_be_shared = is_array(value) and not has_few_elements(value)
        else:
            is_empty = not sketch.children and not sketch.hidden
            can_be_shared = type(value) is not PyTreeDef and not is_empty
        if not can_be_shared:
            return False
        first = self.firsts.setdefault((id(value), id(trie)), item)
        if first is item or (type(value) is tuple and self.shown < self.most):
            return False
        first.number = 1
        item.role = "again"
        self.references.append((item, first))
        return True

    def assign_numbers(self) -> None:
        """Number the objects that occur again, in the order in which they are shown."""
        shared = [item for item in self.firsts.values() if item.number]
        for number, item in enumerate(shared, 1):
            item.number = number
        for item, first in self.references:
            item.number = first.number

    def leave_out(self, item: Item, sketch: Sketch, share: int) -> None:
        """Count what is left out of a node, and add an item that says so."""
        hidden = sketch.children[share:]
        left_out = len(hidden) + sketch.hidden
        if not left_out:
            return
        item.closing = item.closing.lstrip(",")  # of a tuple of one child
        num_leaves = None
        values = [child.value for child in hidden if child.key is not None]
        if values and not sketch.hidden:
            num_leaves = self.count(values)
        more = Item("more", None, item, None)
        more.nodes = left_out
        more.leaves = num_leaves
        more.opening = f"... {left_out:,}"
        if share:
            more.opening += " more"
        if num_leaves is not None and num_leaves != left_out:
            more.opening += f" with {leaves_text(num_leaves)}"
        item.items.append(more)

    def count(self, values: Sequence[Any]) -> int | None:
        """Return how many leaves values have, None if that cannot be told."""
        try:
            number = self.count_leaves(values)
        except FAULTS:  # a flatten function fails, or the values are too deep
            return None
        return number if number < _ENDLESS else None

    def count_leaves(self, values: Sequence[Any]) -> int:
        """Return how many leaves values have, at most `_ENDLESS`.

        Each object is flattened once, and counts wherever it stands: what is shared on
        many levels has more leaves than a walk could visit.
        """
        total = 0
        for value in values:
            if type(value) is PyTreeDef:
                total += value.num_leaves
                continue
            node_type = self.context.node_type_of(value)
            if node_type is None:
                total += 1
                continue
            if id(value) not in self.counts:
                self.counts[id(value)] = value, _ENDLESS  # for what contains itself
                children, _ = node_type.flatten(value)
                self.counts[id(value)] = value, self.count_leaves(children)
            _, number = self.counts[id(value)]
            total = min(total + number, _ENDLESS)
        return total


def fair_share(sizes: Iterable[int], spare: int) -> int:
    """Return how many children each node may show.

    A node with fewer leaves what it does not need to the others.

    Args:
        sizes: How many children each node has.
        spare: How many children may be shown beyond one for each node.
    """
    remaining = sorted(sizes, reverse=True)
    while remaining:
        share = spare // len(remaining) + 1
        smallest = remaining.pop()
        if smallest > share:  # and so are all others
            return share
        spare -= smallest - 1
    return _ENDLESS

"""Outlines: what of a tree is drawn, before anybody decides how.

Owns the reading of a tree for people: its nodes and leaves as `Item`s, with what is
left out counted, and with marks where an object occurs again. Texts, tables, diagrams
and pages are made of outlines; none of them reads a tree itself.

Reading takes time linear in what is shown, and one flattening of what is not. It never
fails: what cannot be read is an item that says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Final, Literal, TypeAlias

from .._text import FAULTS, escape_controls, safe_repr
from ..core.context import Context
from ..core.keypath import KeyPath
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.treedef import PyTreeDef
from ..equality.arrays import is_array, is_traced, shape_of, size_of
from ..selection.diff import form_of
from .doc import Child, Sketch
from .text import leaves_text


Role: TypeAlias = Literal["node", "leaf", "static", "again", "more"]
Arrays: TypeAlias = Literal["short", "values"]

DEPTH: Final = 100
"""How deep a tree is read, if nobody says."""
BRANCH: Final = object()
"""The value of an item that only leads to changes."""
_FEWEST: Final = 2
_ENDLESS: Final = 10**15  # so many leaves, or those of what contains itself


class Item:
    """A part of a tree as it is drawn.

    Attributes:
        role: `node`; `leaf`; `static`, a value that belongs to the structure; `again`,
            an object that is drawn elsewhere; `more`, what is left out.
        value: The value, None for what is left out.
        key: The key in the item above, None at the root.
        above: The item that it belongs to.
        label: What stands before it in Python text: `'lr': ` or `x=`.
        opening: Its text, or what stands before its items.
        closing: What stands after them.
        items: The items inside.
        kind: What sort of data it is, as `parameter`, if its object says so.
        comment: What its object says beside it.
        number: The number by which others refer to it, 0 if none does; of an `again`,
            the number that it refers to.
        nodes: How many values are left out.
        leaves: How many leaves are left out, None if that is not known.
    """

    label = opening = closing = kind = comment = ""
    number = nodes = 0
    leaves: int | None = 0

    def __init__(self, role: Role, value: Any, above: Item | None, key: Any) -> None:
        self.role: Role = role
        self.value = value
        self.above = above
        self.key = key
        self.items: list[Item] = []

    @property
    def path(self) -> KeyPath:
        """The path from the root."""
        keys: list[Any] = []
        item: Item | None = self
        while item is not None and item.key is not None:
            keys.append(item.key)
            item = item.above
        return KeyPath(reversed(keys))

    @property
    def type(self) -> str:
        """The name of the class of the value."""
        return type(self.value).__name__

    @property
    def is_closed(self) -> bool:
        """Whether what is inside stands in its own line or box.

        That is how much there is, if no more is shown, and the value of a variable.
        """
        if len(self.items) != 1 or self.value is BRANCH:
            return False
        (inner,) = self.items
        is_value = inner.role == "leaf" and type(inner.key) is GetAttrKey
        return inner.role == "more" or (is_value and not inner.number)


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

    What is near the root comes first: a level is opened as a whole if it can be, and
    its nodes share what may still be shown, so that one long list hides nothing else.

    Args:
        tree: The tree.
        context: Which values are nodes.
        depth: How many levels to open below the root; None for all, up to 100.
        most: How many values to show at the ends, leaves or nodes that are not opened.
        arrays: Whether to write what arrays are, or also their values.
        only: The paths of what is to be shown, with all that is inside; None for all.
    """
    wanted = None if only is None else _as_trie(only)
    reader = _Reader(context, arrays, max(most, _FEWEST))
    reader.plan(tree, wanted, DEPTH if depth is None else min(depth, DEPTH))
    root = reader.item(Child("", None, tree), None)
    reader.open(root, wanted)
    reader.assign_numbers()
    return root


_Trie: TypeAlias = "dict[Any, _Trie | None] | None"
"""What is wanted below a place: by key, None for all of it."""


def _as_trie(paths: Iterable[KeyPath]) -> _Trie:
    root: dict[Any, Any] = {}
    for path in paths:
        if not path:
            return None
        inner: dict[Any, Any] | None = root
        for key in path[:-1]:
            if inner is not None:
                inner = inner.setdefault(key, {})
        if inner is not None:
            inner[path[-1]] = None
    return root


_Named: TypeAlias = tuple[int, int]
"""A value, and what is wanted of it, by identity."""


class _Reader:
    """The reading of one tree.

    What a value is made of is asked once, and kept: some objects make their children
    anew each time.
    """

    def __init__(self, context: Context, arrays: Arrays, most: int) -> None:
        self.context = context
        self.arrays: Arrays = arrays
        self.most = most
        self.shown = 0
        self.sketches: dict[_Named, tuple[Any, Sketch | None, list[_Trie]]] = {}
        self.shares: dict[_Named, int] = {}
        self.seen: dict[tuple[int, int], Item] = {}
        self.again: list[tuple[Item, Item]] = []
        self.counts: dict[int, tuple[Any, int]] = {}

    def plan(self, tree: Any, wanted: _Trie, levels: int) -> None:
        """Find out how many children of each node are shown, level by level."""
        spare = self.most - 1
        level = [(tree, wanted)]
        while level and levels > 0 and spare >= 0:
            levels -= 1
            nodes: dict[_Named, tuple[Sequence[Child], list[_Trie]]] = {}
            for value, trie in level:
                name = id(value), id(trie)
                sketch, tries = self.sketch(value, trie)
                if sketch is not None and sketch.children and name not in self.shares:
                    self.shares[name] = 0
                    nodes[name] = sketch.children, tries
            sizes = [len(children) for children, _ in nodes.values()]
            fair = max(fair_share(sizes, spare), _FEWEST)
            level = []
            for name, (children, tries) in nodes.items():
                share = min(len(children), fair)
                if share - 1 <= spare:
                    self.shares[name] = share
                    spare -= share - 1
                    values = [child.value for child in children[:share]]
                    level += zip(values, tries, strict=False)

    def sketch(self, value: Any, wanted: _Trie) -> tuple[Sketch | None, list[_Trie]]:
        """Return what a value is made of, as far as it is wanted."""
        name = id(value), id(wanted)
        if name not in self.sketches:
            sketch = sketch_of(value, self.context)
            tries: list[_Trie] = []
            if sketch is not None and wanted is None:
                tries = [None] * len(sketch.children)
            elif sketch is not None and wanted is not None:
                kept = [child for child in sketch.children if child.key in wanted]
                tries = [wanted[child.key] for child in kept]
                hidden = len(sketch.children) - len(kept)
                sketch = sketch._replace(children=kept, hidden=hidden)
            self.sketches[name] = value, sketch, tries
        return self.sketches[name][1:]

    def item(self, child: Child, above: Item | None) -> Item:
        """Return the item of a value, without its text, as if it were a leaf."""
        is_static = above is not None and (child.key is None or above.role == "static")
        item = Item("static" if is_static else "leaf", child.value, above, child.key)
        item.label = escape_controls(child.label) or label_of(child.key)
        kind, around = child.kind, "" if above is None else above.kind
        item.kind = (kind or around) if isinstance(kind, str) else kind(around)
        return item

    def open(self, item: Item, wanted: _Trie) -> None:
        """Find out the text of an item and the items inside it."""
        sketch, tries = self.sketch(item.value, wanted)
        if self.is_again(item, sketch, wanted):
            return
        if sketch is None:
            item.opening = leaf_text(item.value, self.arrays)
            return
        item.opening, item.closing = escape_controls(sketch.opening), sketch.closing
        with suppress(*FAULTS):  # something inside cannot be looked through
            said = sketch.comment
            nested = item.above is not None
            item.comment = escape_controls(
                said if isinstance(said, str) else said(nested)
            )
        if item.role == "leaf":
            item.role = "node"
        share = self.shares.get((id(item.value), id(wanted)), 0)
        item.items = [self.item(child, item) for child in sketch.children[:share]]
        self.shown += share
        for inner, trie in zip(item.items, tries, strict=False):
            self.open(inner, trie)
        self.leave_out(item, sketch, share)

    def is_again(self, item: Item, sketch: Sketch | None, wanted: _Trie) -> bool:
        """Return whether an object was met before, and make a reference of its item.

        Of objects with something inside it means something, and of arrays: weights are
        tied so. An object of which something else is wanted than before is shown again.
        So are bare tuples: often they are one object and nobody can tell. But not for
        ever.
        """
        value = item.value
        if sketch is None:
            can_be_shared = is_array(value) and not _is_small(value)
        else:
            is_empty = not sketch.children and not sketch.hidden
            can_be_shared = type(value) is not PyTreeDef and not is_empty
        if not can_be_shared:
            return False
        first = self.seen.setdefault((id(value), id(wanted)), item)
        if first is item or (type(value) is tuple and self.shown < self.most):
            return False
        first.number = 1
        item.role = "again"
        self.again.append((item, first))
        return True

    def assign_numbers(self) -> None:
        """Number what occurs again, in the order in which it is written."""
        numbered = [item for item in self.seen.values() if item.number]
        for number, item in enumerate(numbered, 1):
            item.number = number
        for item, first in self.again:
            item.number = first.number

    def leave_out(self, item: Item, sketch: Sketch, share: int) -> None:
        """Count what is left out of a node, and add an item that says so."""
        rest = sketch.children[share:]
        left_out = len(rest) + sketch.hidden
        if not left_out:
            return
        item.closing = item.closing.lstrip(",")  # of a tuple of one child
        more = Item("more", None, item, None)
        more.nodes, more.leaves = left_out, None
        inside = [child.value for child in rest if child.key is not None]
        if inside and not sketch.hidden:
            with suppress(*FAULTS):  # a flatten function fails
                if type(item.value) is PyTreeDef:
                    more.leaves = sum([int(child.num_leaves) for child in inside])
                else:
                    number = self.count(inside)
                    more.leaves = number if number < _ENDLESS else None
        more.opening = f"... {left_out:,}{' more' if share else ''}"
        if more.leaves not in (None, left_out):
            more.opening += f" with {leaves_text(more.leaves or 0)}"
        item.items.append(more)

    def count(self, values: Sequence[Any]) -> int:
        """Return how many leaves values have, `_ENDLESS` if nobody can tell.

        Each object is gone through once, and counts wherever it stands: what is shared
        on many levels has more leaves than anybody could go through.

        Raises:
            RecursionError: They are too deep, maybe without an end.
        """
        total, rule_of = 0, self.context.rule_of
        for child in values:
            rule = rule_of(child)
            if rule is None:
                total += 1
                continue
            if id(child) not in self.counts:
                self.counts[id(child)] = child, _ENDLESS
                number = self.count(rule.flatten(child)[0])
                self.counts[id(child)] = child, number
            total = min(total + self.counts[id(child)][1], _ENDLESS)
        return total


def fair_share(sizes: Iterable[int], spare: int) -> int:
    """Return how many children each node may show, if so many more can be shown in all.

    A node with fewer leaves the rest to the others.
    """
    left = sorted(sizes, reverse=True)
    while left:
        share = spare // len(left) + 1
        if left[-1] > share:
            return share
        spare -= left.pop() - 1
    return _ENDLESS


# ----------------------------------------------------------- what values are made of


def sketch_of(value: Any, context: Context) -> Sketch | None:
    """Return what a value is made of, None for a leaf.

    Args:
        value: The value.
        context: Which values are nodes.
    """
    try:
        if type(value) is PyTreeDef:
            if value.is_leaf():
                return None
            cls = type(None) if value.type is None else value.type
            return _sketched(cls, value.entries(), value.children(), [])
        rule = context.rule_of(value)
        describe = getattr(type(value), "_leafwise_sketch", None)
        if describe is not None:
            return describe(value)  # type: ignore[no-any-return]
        if rule is None:
            return None
        children, aux = rule.flatten(value)
        static = [
            Child(f"{name}=", None, getattr(value, name), "static")
            for name in rule.static_names(value)
        ]
        keys = rule.keys(aux, len(children))
        return _sketched(type(value), keys, children, static)
    except FAULTS:  # a flatten function fails: then it is shown as a leaf is
        return None


def _sketched(
    cls: type, keys: Sequence[Any], values: Sequence[Any], static: list[Child]
) -> Sketch:
    """Return what a node of a class is made of."""
    pairs = zip(keys, values, strict=True)
    children = [*[Child("", key, value) for key, value in pairs], *static]
    if cls in _PLAIN:
        opening, closing = _PLAIN[cls]
        return Sketch(
            children, opening, ",)" if cls is tuple and len(keys) == 1 else closing
        )
    kinds = {type(key) for key in keys}
    inner = "{}" if kinds == {DictKey} else "[]" if kinds == {SequenceKey} else ""
    name = cls.__name__
    return Sketch(children, f"{name}({inner[:1]}", f"{inner[1:]})")


_PLAIN: Final = {dict: "{}", list: "[]", tuple: "()", type(None): ("None", "")}


def label_of(key: Any) -> str:
    """Return the text before a child in Python source.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.show.outline import label_of
        >>> label_of(lw.DictKey("lr")), label_of(lw.GetAttrKey("x"))
        ("'lr': ", 'x=')
    """
    if type(key) is DictKey:
        return f"{_short(key.key)}: "
    if type(key) is GetAttrKey:
        return f"{escape_controls(key.name)}="
    return ""


# -------------------------------------------------------------------------- leaves

_LONGEST: Final = 200
_SMALL: Final = 4
_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+(?=>)")
_NEW_LINE: Final = re.compile(r"\s*\n\s*")


def leaf_text(value: Any, arrays: Arrays = "short") -> str:
    """Return a leaf as one line of text that is safe to print. Never raises.

    An array is written as its dtype and shape; with its values if they are few.

    Args:
        value: The leaf.
        arrays: `values` to write arrays by their `repr`, over several lines.

    Example:
        >>> from leafwise.show.outline import leaf_text
        >>> leaf_text("adam"), leaf_text("x" * 1000)[-24:]
        ("'adam'", "x...' (1,000 characters)")
    """
    if type(value) is PyTreeDef:
        return "*"
    if hasattr(type(value), "_leafwise_sketch"):  # which failed, and so would its repr
        return f"<{type(value).__name__} that cannot be printed>"
    if not is_array(value):
        return _short(value)
    if arrays == "values":
        return "\n".join(map(escape_controls, safe_repr(value).splitlines()))
    try:
        form = escape_controls(str(form_of(value)))
    except FAULTS:
        return f"<{type(value).__name__}>"
    with suppress(*FAULTS):  # it only says what it would be, or where no one can read
        return f"{form}({_numbers(value.tolist())})" if _is_small(value) else form
    return form


def _is_small(array: Any) -> bool:
    """Return whether the values of an array are few, and there."""
    shape = shape_of(array)
    is_short = shape is not None and len(shape) <= _SMALL
    return is_short and size_of(array)[0] <= _SMALL and not is_traced(array)


def _numbers(values: Any) -> str:
    if isinstance(values, list):
        return f"[{', '.join(map(_numbers, values))}]"
    return f"{values:.6g}" if type(values) is float else _short(values)


def _short(value: Any) -> str:
    """Return the `repr` of a value in one line, cut if it is long."""
    if type(value) not in (str, bytes):
        text = _NEW_LINE.sub(" ", safe_repr(value)[: 2 * _LONGEST])
        text = escape_controls(_ADDRESS.sub("", text))
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    if len(value) <= _LONGEST:
        return escape_controls(repr(value))
    what = "characters" if isinstance(value, str) else "bytes"
    text = repr(value[: _LONGEST // 2])
    return escape_controls(f"{text[:-1]}...{text[-1]} ({len(value):,} {what})")

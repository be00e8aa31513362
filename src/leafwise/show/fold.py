"""Equal neighbours of an outline, folded into one item.

Twelve layers that are built alike, or a list of 200 numbers, say more as one line or
box than as many. Items can be folded if they stand side by side, under keys that differ
only in numbers (`[0]` and `[1]`, `block_0` and `block_1`), and are equal.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from .._text import FAULTS, escape_controls, safe_str
from ..core.keypath import KeyPath
from ..core.keys import DictKey, GetAttrKey
from ..core.treedef import PyTreeDef
from ..equality.arrays import is_array
from ..selection.explain import SIGNS, Change, form_of
from .outline import BRANCH, Item
from .sketch import label_of
from .text import clipped


_LONGEST_NAME: Final = 60
_LONGEST_PATH: Final = 200
_MANY: Final = 10  # so many numbers are folded although they differ
_DIGITS: Final = re.compile(r"\d+")


def fold(root: Item, fewest: int, *, by_value: bool) -> None:
    """Fold equal neighbours in an outline, in place.

    Leaves are equal if their texts are. Ten and more numbers of one type in a sequence
    are folded although they differ.

    Args:
        root: The outline.
        fewest: How many neighbours it takes to fold them, at least 2; 0 to fold none.
        by_value: Whether the leaves inside equal nodes have to be equal as well, so
            that the fold hides nothing; by default it takes leaves of the same types.
    """
    if fewest:
        _Folder(max(fewest, 2), by_value).fold(root)


class _Folder:
    """Folds one outline, from its leaves up.

    Attributes:
        forms: Numbers that equal items share, by what makes them equal. A nested tuple
            instead of numbers would be hashed again on each level.
    """

    def __init__(self, fewest: int, by_value: bool) -> None:
        self.fewest = fewest
        self.by_value = by_value
        self.forms: dict[Any, int] = {}

    def fold(self, item: Item) -> int:
        """Fold the items inside an item, and return the number of its form."""
        forms = [self.fold(inner) for inner in item.items]
        if item.children:
            forms = self.fold_items(item, forms)
        names = [key_text(inner) for inner in item.items]
        inside = tuple(zip(names, forms, strict=True))
        text = self.compared_text(item)
        return self.number_of(
            (item.role, item.number, item.kind, type(item.value), text, inside)
        )

    def fold_items(self, item: Item, forms: Sequence[int]) -> list[int]:
        """Fold the neighbours in an item, and return the forms of what is left."""
        items: list[Item] = []
        folded_forms: list[int] = []
        for positions in self.runs(item.items, forms):
            form = forms[positions[0]]
            if len(positions) > 1:
                form = self.number_of(("run", len(positions), form))
            items.append(self.run([item.items[position] for position in positions]))
            folded_forms.append(form)
        item.items = items
        return folded_forms

    def number_of(self, form: Any) -> int:
        return self.forms.setdefault(form, len(self.forms))

    def compared_text(self, item: Item) -> Any:
        """Return the text in which equal items agree."""
        if self.by_value:
            return item.opening, item.closing, item.comment
        if item.role in ("static", "more") or item.value is BRANCH:
            return item.opening
        if isinstance(item.value, PyTreeDef) or not item.items:
            return type_text(item), form_text(item)
        return ""

    def runs(self, items: Sequence[Item], forms: Sequence[int]) -> Iterator[list[int]]:
        """Yield the positions of neighbours to fold; those of other items alone."""

        def loosely(position: int) -> Any:
            item = items[position]
            series: Any = position  # what has no key stays alone
            if item.key is not None:
                series = _DIGITS.sub("#", key_text(item))
            if _is_number(item):
                return series, type(item.value)
            return series, forms[position]

        def exactly(position: int) -> Any:
            # the form of a leaf may be its type; side by side, values have to be equal
            item = items[position]
            text = ""
            if item.role == "leaf" and not is_array(item.value):
                text = item.opening
            return forms[position], text

        for _, neighbours in groupby(range(len(items)), loosely):
            positions = list(neighbours)
            if len(positions) >= _MANY and _is_number(items[positions[0]]):
                yield positions
                continue
            for _, equals in groupby(positions, exactly):
                run = list(equals)
                if len(run) >= self.fewest:
                    yield run
                    continue
                for position in run:
                    yield [position]

    def run(self, members: Sequence[Item]) -> Item:
        """Return the item that stands for neighbours."""
        first = members[0]
        if len(members) == 1:
            return first
        item = copy.copy(first)  # the first one is a member, and shown in HTML
        item.members = members
        if is_plain_leaf(item):
            item.comment = ""
            if all(member.opening == first.opening for member in members):
                item.comment = f"each {first.opening}"
            item.opening = f"{len(members):,} {type_text(first)}s"
        elif not self.by_value:
            _merge(item, members[1:])
        return item


def _merge(first: Item, others: Sequence[Item]) -> None:
    """Write in an item, and inside it, types for the texts in which others differ."""
    if any(item.opening != first.opening for item in others) and not first.items:
        first.opening = form_text(first)
        first.closing = ""
    if any(item.comment != first.comment for item in others):
        first.comment = ""
    columns = zip(first.items, *[item.items for item in others], strict=True)
    for inner, *inner_others in columns:
        _merge(inner, inner_others)


def _is_number(item: Item) -> bool:
    """Return whether an item is a number in a sequence, where it has no name."""
    if item.role != "leaf" or type(item.key) in (DictKey, GetAttrKey):
        return False
    return type(item.value) in (int, float, complex)


def is_plain_leaf(item: Item) -> bool:
    """Return whether an item is a leaf that is counted by its type: `200 ints`."""
    is_change = isinstance(item.value, Change)
    return item.role == "leaf" and not is_change and not is_array(item.value)


# --------------------------------------------------------------------------- texts


def key_text(item: Item) -> str:
    """Return the key of an item, or the first and the last key of equal neighbours.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.show.fold import key_text
        >>> from leafwise.show.outline import Item
        >>> keys = lw.DictKey("lr"), lw.GetAttrKey("x"), lw.SequenceKey(0)
        >>> [key_text(Item("leaf", 1, None, key)) for key in keys]
        ["'lr'", 'x', '[0]']
    """
    if item.members:
        return f"{_key_text(item)} … {_key_text(item.members[-1])}"
    return _key_text(item)


def _key_text(item: Item) -> str:
    key = item.key
    if key is None:
        return escape_controls(item.label.rstrip(":= "))
    if type(key) is DictKey:
        return label_of(key).removesuffix(": ")
    text = key.name if type(key) is GetAttrKey else safe_str(key)
    return clipped(escape_controls(text), _LONGEST_NAME)


def type_text(item: Item) -> str:
    """Return the class name of a value; for a treedef, that of the node it builds."""
    value = item.value
    if value is BRANCH or isinstance(value, Change):
        return item.opening
    cls = type(value)
    if isinstance(value, PyTreeDef):
        cls = type(None) if value.type is None else value.type
    return clipped(escape_controls(cls.__name__), _LONGEST_NAME)


def form_text(item: Item) -> str:
    """Return the dtype and shape of an array, the class name of another value."""
    if is_array(item.value):
        try:
            return str(form_of(item.value))
        except FAULTS:  # it only looks like an array
            pass
    return type_text(item)


def value_text(item: Item) -> str:
    """Return the text of an item without its key: the class of a node, or a value."""
    if item.role == "again":
        return item.text
    if item.children:
        number = f"#{item.number} " if item.number else ""
        return f"{number}{type_text(item)}"
    inside = "".join(f"{inner.label}{inner.opening}" for inner in item.items)
    return f"{item.text}{inside}{item.closing}"


def count_text(item: Item) -> str:
    """Return the number of neighbours, ` x 12`, unless the text has it."""
    if not item.members or is_plain_leaf(item):
        return ""
    return f" x {len(item.members):,}"


def path_text(item: Item) -> str:
    """Return the place of an item, for tooltips."""
    if item.above is None:
        return "the root"
    if item.key is None and item.role != "static":
        return value_text(item)
    steps: list[str] = []
    place = item
    while place.above is not None:
        key = place.key
        if key is None:  # a static attribute
            key = GetAttrKey(key_text(place))
        steps.append(escape_controls(safe_str(KeyPath([key]))))
        place = place.above
    path = clipped("".join(reversed(steps)), _LONGEST_PATH)
    if item.members:
        path += f" … {safe_str(KeyPath([item.members[-1].key]))}"
    return path


def sign_of(item: Item) -> str:
    """Return the sign of the change that an item shows, "" for other items."""
    if not isinstance(item.value, Change):
        return ""
    return SIGNS[item.value.kind]

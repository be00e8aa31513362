"""The comparison of two trees, from which diffs come.

Containers are compared key by key; where two nodes are of different types, a `Change`
holds both. `align` says which items of two lists belong together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import starmap, zip_longest
from typing import Any, Final, NamedTuple

from .._records import MISSING
from .._text import short_repr
from ..core.context import Context
from ..core.keypath import KeyPath, Link
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import NodeType
from ..core.register import ItemsNodeType
from ..equality import exact
from ..equality.arrays import UndecidedError
from ..equality.leaves import (
    Comparison,
    are_equal_scalars,
    are_same,
    cannot_compare,
    compare_scalars,
)
from ..errors import CycleError, EditError
from .align import Numbering, aligned, paired_items
from .descent import Descent
from .explain import Change
from .pairs import (
    MarksPair,
    PairKey,
    key_of,
    mark_places,
    marked_values,
    marks_below,
    paths_of,
)
from .patterns import place_text
from .select import selector


def changes_between(
    a: Any,
    b: Any,
    context: Context,
    values: Comparison,
    ignore: Any = None,
    lists: str | Mapping[Any, str] = "align",
) -> list[Change]:
    """Return the changes that turn one tree into another.

    Args:
        a, b: The trees.
        context: What is a leaf.
        values: Which leaves are the same.
        ignore, lists: As for `tree_diff`.

    Raises:
        CompareError: Two leaves cannot be compared.
        EditError: An item lacks the key that pairs it, or two items have the same key.
        ValueError: `lists` has an invalid value.
    """
    if not isinstance(lists, Mapping) and lists not in ("align", "position"):
        raise ValueError(
            "lists must be one of 'align', 'position', or a mapping from selectors to "
            f"keys; got {short_repr(lists)}"
        )
    marks: list[tuple[Any, Any]] = []
    if isinstance(lists, Mapping):
        marks += [(what, selector(key)) for what, key in lists.items()]
    if ignore is not None:
        marks.append((ignore, _IGNORED))
    start = _Pair(Link(), a, b)
    if marks:
        start = start._replace(marks=mark_places(marks, (a, b), context))
    comparing = _Comparing(context, values, aligns=lists != "position")
    return list(comparing.walk(start))


def differ(
    a: Any,
    b: Any,
    context: Context,
    values: Comparison,
) -> bool:
    """Return whether two trees differ; stops at the first difference.

    Args:
        a, b: The trees.
        context: What is a leaf.
        values: Which leaves are the same.

    Raises:
        CompareError: Two leaves cannot be compared.
    """
    comparing = _Comparing(context, values, aligns=False)
    return any(comparing.walk(_Pair(Link(), a, b)))


def mismatch(
    path: KeyPath,
    expected: Any,
    value: Any,
) -> EditError:
    """Return the error about a value that is not there, but another one."""
    text = f"expected {short_repr(expected)} at {place_text(path)}"
    return EditError(f"{text}, found {short_repr(value)}", path=path)


# -------------------------------------------------------------------- the comparison


class _Pair(NamedTuple):
    """What two trees have at a place, MISSING for nothing.

    Attributes:
        link: The place.
        before: What the first tree has there.
        after: What the second tree has there.
        marks: Which places are ignored, and by which key the items of lists are paired.
        kind: The kind of difference; "" before they are compared.
        position: The `index` of a `Change`.
        is_in_list: Whether the place is inside of a list.
    """

    link: Link
    before: Any
    after: Any
    marks: MarksPair = None
    kind: str = ""
    position: int | None = None
    is_in_list: bool = False

    def child(
        self,
        key: Any,
        before: Any,
        after: Any,
        kind: str = "",
        position: int | None = None,
    ) -> _Pair:
        """Return what they have below."""
        marks = self.marks
        if marks is not None:
            marks = marks_below(marks, key, before, after)
        is_in_list = self.is_in_list or type(key) in _ITEM_KEYS
        link = Link(self.link, key)
        return _Pair(link, before, after, marks, kind, position, is_in_list)


_ITEM_KEYS: Final = frozenset({SequenceKey, PairKey})
_IGNORED: Final = object()
"""The mark of a place that is ignored."""
_NOTHING: Final = object()


class _Comparing:
    """One comparison of two trees.

    Attributes:
        aligns: Whether lists are compared after equal items are matched.
    """

    def __init__(
        self,
        context: Context,
        values: Comparison,
        *,
        aligns: bool,
    ) -> None:
        self.context = context
        self.values = values
        self.aligns = aligns
        self.numbering = Numbering(context, values.criteria)
        self.by_position = self
        if aligns:
            self.by_position = _Comparing(context, values, aligns=False)
        # by the ids of two items, with both, so that the ids stay theirs
        self._verdicts: dict[tuple[int, int], tuple[Any, Any, bool]] = {}

    def walk(self, start: _Pair) -> Iterator[Change]:
        """Yield the changes at a place and below.

        Raises:
            CycleError: A tree contains itself.
        """
        steps = Descent(start, (start.before, start.after), self.context)
        for pair in steps:
            kind, pairs_below = self.compare(pair)
            if pairs_below:
                steps.go_on(pairs_below)
            if kind:
                path, other_path = self.paths(pair.link)
                before = pair.before
                after = pair.after
                criteria = self.values.criteria_for(before, after)
                yield Change(
                    kind, path, before, after, pair.position, other_path, criteria
                )

    def paths(self, link: Link) -> tuple[KeyPath, KeyPath]:
        """Return the path of a place in the first tree and in the second."""
        return paths_of(link, self.context.root)

    def same_at_sight(
        self,
        a: Any,
        b: Any,
    ) -> bool:
        """Return whether two values are the same, without looking into them."""
        return (a is b and self.values.equal_nan) or are_equal_scalars(a, b)

    def compare(self, pair: _Pair) -> tuple[str, list[_Pair]]:
        """Return the kind of difference at a place, "" for none, and what is below."""
        if pair.marks is not None and _IGNORED in marked_values(pair.marks):
            return "", []
        a = pair.before
        b = pair.after
        if pair.kind or self.same_at_sight(a, b):
            return pair.kind, []
        node_type = self.context.node_type_of(a)
        other_node_type = self.context.node_type_of(b)
        try:
            if node_type is None and other_node_type is None:
                return ("" if self.values.same(a, b) else "value"), []
            if node_type is not other_node_type or node_type is None:
                return "type", []
            if node_type.item_key is None:
                return self.objects(pair, node_type)
            # what is in containers of other libraries beside items does not count
            if not isinstance(node_type, ItemsNodeType):
                aux = node_type.rest(a)
                other_aux = node_type.rest(b)
                if aux is not other_aux and not exact.same(aux, other_aux):
                    return "aux", []
            if node_type.is_mapping:
                return self.mappings(pair, node_type)
            return self.sequences(pair, node_type)
        except UndecidedError as why:
            path, _ = self.paths(pair.link)
            raise cannot_compare(path, a, b, why) from why.__cause__

    # -------------------------------------------------------------- kinds of nodes

    def mappings(
        self,
        pair: _Pair,
        node_type: NodeType,
    ) -> tuple[str, list[_Pair]]:
        """Compare two mappings: first the old keys in their order, then the new ones.

        Where the order of keys is structure, and those of both are in another order,
        the change holds both as a whole.
        """
        items = node_type.items(pair.before)
        other_items = node_type.items(pair.after)
        if not _is_order_same(items, other_items, pair, node_type):
            return "aux", []
        pairs: list[_Pair] = []
        skips = self.values.equal_nan
        for index, (key, x) in enumerate(items.items()):
            y = other_items.get(key, _NOTHING)
            if y is _NOTHING:
                pairs.append(pair.child(DictKey(key), x, MISSING, "removed", index))
            elif (x is not y or not skips) and not are_equal_scalars(x, y):
                pairs.append(pair.child(DictKey(key), x, y))
        if items.keys() >= other_items.keys():
            return "", pairs
        for index, (key, y) in enumerate(other_items.items()):
            if key not in items:
                pairs.append(pair.child(DictKey(key), MISSING, y, "added", index))
        return "", pairs

    def objects(
        self,
        pair: _Pair,
        node_type: NodeType,
    ) -> tuple[str, list[_Pair]]:
        """Compare two nodes with a fixed number of children."""
        a = pair.before
        b = pair.after
        children, aux = node_type.flatten(a)
        other_children, other_aux = node_type.flatten(b)
        keys = node_type.keys(aux, len(children))
        if keys != node_type.keys(other_aux, len(other_children)):
            return ("type" if isinstance(a, tuple) else "aux"), []
        rows = zip(keys, children, other_children, strict=True)
        pairs = [pair.child(*row) for row in rows if not self.same_at_sight(*row[1:])]
        if node_type.same(aux, other_aux):
            return "", pairs
        names = node_type.attributes.static_names(a)
        if not names or names != node_type.attributes.static_names(b):
            return "aux", []
        is_explained = False
        for name in names:
            x = getattr(a, name)
            y = getattr(b, name)
            if x is y or (type(x) is type(y) and are_same(x, y, typematch=True)):
                continue
            is_explained = True
            pairs.append(pair.child(GetAttrKey(name), x, y, "aux"))
        # else the kinds differ, or something inside of static values
        return ("", pairs) if is_explained else ("aux", [])

    def sequences(
        self,
        pair: _Pair,
        node_type: NodeType,
    ) -> tuple[str, list[_Pair]]:
        """Compare two sequences: after equal items are matched, or by position."""
        items = node_type.items(pair.before)
        other_items = node_type.items(pair.after)
        keys = self.aligned(items, other_items, pair) if self.aligns else None
        if keys is None and node_type.is_fixed:
            return self.objects(pair, node_type)
        if keys is None:
            positions = range(len(items))
            other_positions = range(len(other_items))
            by_position = zip_longest(positions, other_positions, fillvalue=-1)
            keys = starmap(PairKey, by_position)
        pairs: list[_Pair] = []
        for i, j, has_moved in keys:
            key = key_of(i, j)
            x = items[i] if i >= 0 else MISSING
            y = other_items[j] if j >= 0 else MISSING
            if has_moved:
                pairs.append(pair.child(key, x, y, "moved", j))
            if i < 0:
                pairs.append(pair.child(key, x, y, "added", j))
            elif j < 0:
                pairs.append(pair.child(key, x, y, "removed", i))
            elif not self.same_at_sight(x, y):
                pairs.append(pair.child(key, x, y))
        return "", pairs

    # ------------------------------------------------------------------ items of lists

    def aligned(
        self,
        items: list[Any],
        other_items: list[Any],
        pair: _Pair,
    ) -> Iterable[PairKey] | None:
        """Return the items of two lists that may differ, and their counterparts.

        None if they are to be compared by position: some of them are ignored, or at
        most one pair of them differs.
        """
        sizes = len(items), len(other_items)
        if pair.marks is not None:
            keys = marked_values(pair.marks)
            if keys:
                path, other_path = self.paths(pair.link)
                numbers = self.numbering.by_key(items, keys[-1], path)
                other_numbers = self.numbering.by_key(other_items, keys[-1], other_path)
                return paired_items(sizes, *aligned(numbers, other_numbers))
            if _has_ignored_items(pair.marks):
                return None
        same_count = sum(map(self.same_at_sight, items, other_items))
        if sizes[0] == sizes[1] and same_count >= sizes[0] - 1:
            return None

        def is_same(i: int, j: int) -> bool:
            x = items[i]
            y = other_items[j]
            if pair.marks is not None:  # then places count, and not just values
                item = pair.child(key_of(i, j), x, y)
                return not any(self.by_position.walk(item))
            if self.same_at_sight(x, y):
                return True
            if not pair.is_in_list and self.have_same_leaves(x, y):
                return True
            return self.is_same_inside(pair.child(key_of(i, j), x, y))

        # What both lists begin and end with takes no numbers, which cost more.
        start = 0
        stop, other_stop = sizes
        while start < min(sizes) and is_same(start, start):
            start += 1
        while start < min(stop, other_stop) and is_same(stop - 1, other_stop - 1):
            stop -= 1
            other_stop -= 1
        middle = items[start:stop]
        other_middle = other_items[start:other_stop]
        numbers = [self.numbering.of(item) for item in middle]
        other_numbers = [self.numbering.of(item) for item in other_middle]

        def count_shared(i: int, j: int) -> int:
            return self.numbering.shared(middle[i], other_middle[j])

        sizes = (len(middle), len(other_middle))
        pairs = aligned(numbers, other_numbers)
        return paired_items(sizes, *pairs, start, count_shared)

    def have_same_leaves(
        self,
        a: Any,
        b: Any,
    ) -> bool:
        """Return whether two trees surely have one structure and the same leaves.

        This takes a part of the time of a walk, above all where structures recur. It is
        asked of items of outermost lists only: if it was asked at each level of lists
        in lists, the time would grow with their depth, too.
        """
        if not self.values.equal_nan:
            return False
        try:
            leaves, treedef = self.context.flatten(a)
            other_leaves, other_treedef = self.context.flatten(b)
        except CycleError:  # the walk says where
            return False
        if treedef is not other_treedef and treedef != other_treedef:
            return False
        return compare_scalars(leaves, other_leaves) is True

    def is_same_inside(self, start: _Pair) -> bool:
        """Return whether two items are the same, from a walk through both.

        The items of a list in a list were compared so before, when those of the outer
        list were aligned. So it is noted which are the same, and nothing is compared
        twice.
        """
        pairs: list[_Pair] = []
        link: Link | None = None  # the place of the first difference
        steps = Descent(start, (start.before, start.after), self.context)
        for pair in steps:
            verdict = None
            if type(pair.link.key) in _ITEM_KEYS:
                verdict = self._verdicts.get((id(pair.before), id(pair.after)))
                if verdict is not None and verdict[-1]:
                    continue
                pairs.append(pair)
            is_different = verdict is not None
            if verdict is None:
                kind, pairs_below = self.by_position.compare(pair)
                is_different = kind != ""
                if pairs_below:
                    steps.go_on(pairs_below)
            if is_different:
                link = pair.link
                break
        is_same = link is None
        different: set[Link] = set()  # the place of the difference, and those above
        while link is not None:
            different.add(link)
            link = link.above
        for pair in pairs:
            ids = (id(pair.before), id(pair.after))
            self._verdicts[ids] = (pair.before, pair.after, pair.link not in different)
        return is_same


def _has_ignored_items(marks: MarksPair) -> bool:
    """Return whether an item of one of two lists is ignored."""
    for one in marks or ():
        if one is None:
            continue
        if any(_IGNORED in below.values for below in one.below.values()):
            return True
    return False


def _is_order_same(
    items: dict[Any, Any],
    other_items: dict[Any, Any],
    pair: _Pair,
    node_type: NodeType,
) -> bool:
    """Return whether two mappings have their common keys in one order, if it counts."""
    keys = tuple(items)
    other_keys = tuple(other_items)
    if items.keys() == other_items.keys():
        if keys == other_keys and {str}.issuperset(map(type, keys)):
            return True
        # keys that are equal may be of two types, which the aux data tells apart
        _, aux = node_type.flatten(pair.before)
        _, other_aux = node_type.flatten(pair.after)
        return node_type.same(aux, other_aux)
    common = [key for key in items if key in other_items]
    if common == [key for key in other_items if key in items]:
        return True
    return not (_counts_order(keys, node_type) or _counts_order(other_keys, node_type))


def _counts_order(keys: tuple[Any, ...], node_type: NodeType) -> bool:
    """Return whether other keys come first if the keys are inserted backwards."""
    order = node_type.order(keys)
    other_order = node_type.order(keys[::-1])
    return not exact.same(order, other_order)

"""Numbers that stand for values, the same ones for values that are the same.

Owns what of nodes and leaves a number hangs on, so that long lists can be compared
without comparing each item with each; which leaves are the same is decided in
`equality.leaves`, and what is done with the numbers in `align`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Any, Final

from ..core.builtins import DictRule
from ..core.keypath import KeyPath
from ..core.keys import DictKey, SequenceKey
from ..core.node import Rule
from ..core.walk import unlink
from ..equality import exact
from ..equality.content import as_numpy, is_array, is_table, is_traced
from ..equality.leaves import Values
from ..ops.context import Context
from .find import DEPTH_IN_DOUBT, keys_of


__all__ = ["Classes", "plain_classes"]


class Classes:
    """Gives a number to each value: values that are the same have the same number.

    The converse holds for numbers that are not in `loose`. Time and memory are
    proportional to the size of the values; each value is read once.

    Args:
        rule_of: Takes a node, the linked list of its keys, and 0 or 1 for the tree;
            returns its rule, None for a leaf.
        values: Which leaves are the same.
        numbers: Returns all numbers of the trees.
        is_ignored: Takes a linked list of keys and the number of the tree.
        by_path: Whether the meaning of a value depends on its path.
        leaf_types: Types that are known to be leaves.
        check_cycles: Called where trees are deep.

    Attributes:
        loose: The numbers that different values may share.
        in_doubt: Whether there are values for which only their class decides what
            equals them.
    """

    def __init__(
        self,
        rule_of: Callable[[Any, Any, int], Rule | None],
        values: Values,
        numbers: Callable[[], Iterable[Any]],
        is_ignored: Callable[[Any, int], bool] | None,
        by_path: bool,
        leaf_types: Iterable[type],
        check_cycles: Callable[[], None],
    ) -> None:
        self.rule_of = rule_of
        self.asked = values.asked
        self.numbers = numbers
        self.is_ignored = is_ignored
        self.by_path = by_path
        self.check_cycles = check_cycles
        self.loose: set[int] = set()
        self.in_doubt = is_ignored is not None
        self.table: dict[Any, int] = {}
        self.known: dict[Any, tuple[int, Any]] = {}
        self.layouts: dict[Any, tuple[tuple[Any, ...], list[int] | None]] = {}
        self.opened: dict[Any, tuple[Rule, Sequence[Any], Sequence[Any]]] = {}
        self.starts: list[float] | None = None
        themselves = {str} if self.asked.tolerant else {str, int}
        self.quick = themselves.intersection(() if self.asked.typematch else leaf_types)

    def of(self, root: Any, link: Any = (), side: int = 0) -> int:
        """Return the number of a value.

        Args:
            root: The value.
            link: The linked list of its keys.
            side: Which tree it is in.

        Raises:
            CycleError: It contains itself.
        """
        if type(root) in self.quick:
            return self.table.setdefault(root, len(self.table))
        known, todo = self.known, [(root, link)]
        while todo:
            node, at = todo[-1]
            name = self._name(node, at, side)
            number = None
            if name not in known:
                number = self._made(node, at, side, name, todo)
            if number is not None:
                known[name] = number, node  # which keeps its id
            if name in known:
                todo.pop()
            elif len(todo) > DEPTH_IN_DOUBT:
                self.check_cycles()
        return known[self._name(root, link, side)][0]

    def parts(self, node: Any, link: Any, side: int) -> Counter[Any]:
        """Return the parts of a node, keys with numbers; none for a leaf."""
        rule = self.rule_of(node, link, side)
        if rule is None:
            return Counter()
        keys, children = self._children(node, rule, link, side)
        numbers = (
            self.of(child, (link, key), side)
            for key, child in zip(keys, children, strict=True)
        )
        pairs = zip(keys, numbers, strict=True)
        return Counter(pairs if not rule.is_sequence else (n for _, n in pairs))

    def _name(self, node: Any, link: Any, side: int) -> Hashable:
        return (side, KeyPath(unlink(link))) if self.by_path else id(node)

    def _put(self, key: Hashable, *, loose: bool) -> int:
        number = self.table.setdefault(key, len(self.table))
        if loose:
            self.loose.add(number)
        return number

    def _made(
        self,
        node: Any,
        link: Any,
        side: int,
        name: Hashable,
        todo: list[tuple[Any, Any]],
    ) -> int | None:
        """Return the number of a value; None if nodes below it have to be done."""
        if name in self.opened:
            rule, keys, children = self.opened.pop(name)
        else:
            found = self.rule_of(node, link, side)
            if found is None:
                return self._leaf(node)
            rule = found
            keys, children = self._children(node, rule, link, side)
        quick, table, known, by_path = self.quick, self.table, self.known, self.by_path
        if quick.issuperset(map(type, children)):
            numbers = [table.setdefault(child, len(table)) for child in children]
            return self._node(node, rule, keys, numbers)
        numbers = []
        missing: list[tuple[Any, Any]] = []
        for key, child in zip(keys, children, strict=True):
            if type(child) in quick:
                numbers.append(table.setdefault(child, len(table)))
                continue
            below = (link, key) if by_path else ()
            there = known.get(self._name(child, below, side))
            if there is None:
                missing.append((child, below))
            else:
                numbers.append(there[0])
        if missing:
            self.opened[name] = rule, keys, children  # a class may make them anew
            todo += missing
            return None
        return self._node(node, rule, keys, numbers)

    def _children(
        self, node: Any, rule: Rule, link: Any, side: int
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return the keys and the children of a node, without what is ignored."""
        keys: Sequence[Any]
        children: Sequence[Any]
        if rule.is_mapping:
            items = rule.items(node)
            keys = [*map(DictKey, items)] if self.by_path else [*items]
            children = [*items.values()]
        elif rule.is_sequence:
            children = rule.items(node)
            keys = range(len(children))
            keys = [*map(SequenceKey, keys)] if self.by_path else keys
        else:
            keys, children = keys_of(node, rule), rule.flatten(node)[0]
        ignored = self.is_ignored
        if ignored is None:
            return keys, children
        rows = zip(keys, children, strict=True)
        kept = [(k, child) for k, child in rows if not ignored((link, k), side)]
        return [k for k, _ in kept], [child for _, child in kept]

    def _node(
        self, node: Any, rule: Rule, keys: Sequence[Any], numbers: list[int]
    ) -> int:
        loose = not self.loose.isdisjoint(numbers) if self.loose else False
        if rule.is_mapping:
            rest = rule.rest(node)
            is_plain = type(rule) is DictRule and _STR.issuperset(map(type, node))
            content = self._by_layout(tuple(keys), numbers)
            loose = loose or not is_plain
            digest = None if rest is None else exact.digest(rest)
            return self._put((rule, digest, content), loose=loose)
        if rule.is_sequence:
            rest = rule.rest(node)
            digest = None if rest is None else exact.digest(rest)
            is_plain = digest is None
        else:
            aux = rule.flatten(node)[1]
            digest = None if aux is None else rule.hash_aux(aux)
            is_plain = node is None
        loose = loose or not is_plain
        return self._put((rule, digest, tuple(numbers)), loose=loose)

    def _by_layout(self, keys: tuple[Any, ...], numbers: list[int]) -> Hashable:
        """Return what stands for items: the same whatever the order of their keys."""
        known = self.layouts.get(keys)
        if known is None:
            first = self.layouts.setdefault(frozenset(keys), (keys, None))[0]
            places = {key: place for place, key in enumerate(keys)}
            order = None if first == keys else [places[key] for key in first]
            known = self.layouts[keys] = first, order
        first, order = known
        ordered = numbers if order is None else [numbers[place] for place in order]
        return first, tuple(ordered)

    # ----------------------------------------------------------------------- leaves

    def _leaf(self, leaf: Any) -> int:
        cls = type(leaf)
        key: Any
        loose = False
        if cls is str or leaf is None:
            key = leaf
        elif cls is bool or cls is bytes:
            key = cls, leaf
        elif cls is int or cls is float:
            key, loose = self._number(leaf)
        else:
            try:
                return self._put(self._odd(leaf), loose=True)
            except Exception:  # its class does not like to be looked at
                self.in_doubt = True
                return self._put(_OTHER, loose=True)
        return self._put((cls, key) if self.asked.typematch else key, loose=loose)

    def _number(self, number: Any) -> tuple[Hashable, bool]:
        """Return the key of a number, and whether others have it, too."""
        if number != number:
            return _NAN, not self.asked.equal_nan
        if not self.asked.tolerant:
            return number, False
        if self.starts is None:
            self.starts = _starts(self.numbers(), self.asked)
        return ("about", bisect_right(self.starts, _as_float(number))), True

    def _odd(self, leaf: Any) -> Hashable:
        """Return the key of a leaf that is of no plain type."""
        if is_traced(leaf) or is_table(leaf):
            return _OTHER
        if is_array(leaf):
            if tuple(leaf.shape):
                return self._array(leaf)
            leaf = as_numpy(leaf).item()
            if type(leaf) is bool:
                return bool, leaf
        elif not isinstance(leaf, str | bytes | int | float):
            self.in_doubt = True
        if isinstance(leaf, str):
            return str.__str__(leaf)
        if isinstance(leaf, bytes):
            return bytes, bytes(leaf)
        if isinstance(leaf, complex) or hasattr(type(leaf), "as_integer_ratio"):
            if isinstance(leaf, complex) and self.asked.tolerant:
                return _OTHER
            return self._number(leaf)[0]
        if isinstance(leaf, set | frozenset):
            return frozenset, hash(frozenset(leaf))
        return "hash", hash(leaf)

    def _array(self, array: Any) -> Hashable:
        shape = tuple(array.shape)
        if self.asked.tolerant:
            return "array", shape
        held = as_numpy(array).reshape(-1)
        if held.dtype.kind not in "biufcSUmM":
            return "array", shape
        few = held[:: max(1, held.size // _MOST_SEEN)]
        if held.dtype.kind in "fc":
            few = few + 0  # no negative zeros
            few[few != few] = 0
        return "array", shape, str(held.dtype), few.tobytes()


def plain_classes(context: Context) -> Classes:
    """Return the `Classes` for a comparison without special options."""
    resolve = context.view.resolve
    return Classes(
        lambda node, _link, _side: resolve(type(node)),
        Values(),
        tuple,
        None,
        by_path=False,
        leaf_types=context.view.leaf_types,
        check_cycles=lambda: None,
    )


_STR: Final = frozenset({str})
_NAN: Final = ("nan",)
_OTHER: Final = ("other",)
_MOST_SEEN: Final = 1_000


def _as_float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _starts(numbers: Iterable[Any], asked: Any) -> list[float]:
    """Return where groups of numbers start that are farther apart than allowed.

    Numbers that are the same are in one group, since those between them are, too.
    """
    values = sorted({_as_float(x) for x in numbers if x == x})
    if asked.rtol >= 1 or not values:
        return []
    starts = [values[0]]
    for x, y in pairwise(values):
        if y - x > asked.allowed(max(abs(x), abs(y))) * (1 + 1e-9):
            starts.append(y)
    return starts

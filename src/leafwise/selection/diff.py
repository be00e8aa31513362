"""What is different between two trees: found, shown, applied, turned around.

Owns `tree_diff` and its records. Containers are compared key by key; where two nodes
are of different sorts, the record holds both whole.
"""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from ..core import auxdata
from ..core.auxdata import clip
from ..core.code import unlink
from ..core.forms import Items
from ..core.frozen import Frozen
from ..core.keypath import KeyPath
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.rule import Rule
from ..core.safely import shown, type_name
from ..core.view import GLOBAL
from ..errors import EditError
from ..ops.outlook import outlook
from ..sentinel import MISSING
from .find import DEPTH_IN_DOUBT, CycleCheck, Scope, keys_of, static_names
from .join import items_of, table_of
from .pattern import selector
from .rebuild import Delete, Edit, Insert, Set, rebuild


__all__ = ["Change", "TreeDiff", "assert_trees_equal", "tree_diff"]

_SIGNS: Final = {"added": "+", "removed": "-", "type": "!", "aux": "~", "value": "~"}
_OPPOSITE: Final = {"added": "removed", "removed": "added"}


class Change(Frozen):
    """One difference.

    Attributes:
        kind: `added`, `removed`, `type` (another sort of node, or a leaf where there
            was a node), `aux` (another static value or other aux data), or `value`.
        path: The key path.
        before: What was there; MISSING if it was added.
        after: What is there now; MISSING if it was removed.

    Example:
        >>> import leafwise as lw
        >>> print(lw.tree_diff({"a": 1}, {"a": 2})[0])
        ~ ['a']: 1 -> 2
    """

    __slots__ = ("after", "before", "kind", "path")
    __match_args__ = ("kind", "path", "before", "after")

    kind: str
    path: KeyPath
    before: Any
    after: Any

    def __init__(self, kind: str, path: KeyPath, before: Any, after: Any) -> None:
        self._set(kind, path, before, after)

    def __str__(self) -> str:
        sign, where = _SIGNS[self.kind], self.path.where()
        if self.kind == "added":
            return f"{sign} {where}: {clip(self.after)}"
        if self.kind == "removed":
            return f"{sign} {where}: {clip(self.before)}"
        before, after = clip(self.before), clip(self.after)
        if before == after or type(self.before) is not type(self.after):
            before = f"{before} ({type_name(self.before)})"
            after = f"{after} ({type_name(self.after)})"
        return f"{sign} {where}: {before} -> {after}"


class TreeDiff(Sequence[Change]):
    """The differences between two trees, in leaf order.

    A sequence of changes that is true if there are some.

    Example:
        >>> import leafwise as lw
        >>> diff = lw.tree_diff({"lr": 0.1, "sizes": [1]}, {"lr": 0.2, "sizes": [1, 2]})
        >>> print(diff)
        ~ ['lr']: 0.1 -> 0.2
        + ['sizes'][1]: 2
        >>> diff.apply({"lr": 0.1, "sizes": [1]})
        {'lr': 0.2, 'sizes': [1, 2]}
    """

    __slots__ = ("_changes", "_scope")

    def __init__(self, changes: Iterable[Change], scope: Scope) -> None:
        self._changes = tuple(changes)
        self._scope = scope

    def __len__(self) -> int:
        return len(self._changes)

    def __getitem__(self, index: Any) -> Any:
        return self._changes[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeDiff) and self._changes == other._changes

    def __hash__(self) -> int:
        return hash(self._changes)

    def __str__(self) -> str:
        return "\n".join(map(str, self._changes)) or "no differences"

    def __repr__(self) -> str:
        return f"<TreeDiff of {len(self)} changes>"

    def invert(self) -> TreeDiff:
        """Return the differences the other way round.

        Example:
            >>> import leafwise as lw
            >>> print(lw.tree_diff([1], [1, 2]).invert())
            - [1]: 2
        """
        turned = (
            Change(_OPPOSITE.get(c.kind, c.kind), c.path, c.after, c.before)
            for c in self._changes
        )
        return TreeDiff(turned, self._scope)

    def apply(self, tree: Any) -> Any:
        """Return a tree with the changes made.

        Args:
            tree: The tree that the differences were found in, or one like it.

        Raises:
            EditError: The tree has something else where a change begins.
            PathError: It does not have the place of a change.

        Example:
            >>> import leafwise as lw
            >>> diff = lw.tree_diff({"a": 1, "b": 2}, {"a": 1, "c": 3})
            >>> diff.apply({"a": 1, "b": 2})
            {'a': 1, 'c': 3}
            >>> diff.apply({"a": 1, "b": 9})
            Traceback (most recent call last):
            ...
            leafwise.errors.EditError: at ['b'] there is 9, not 2
        """
        for change in self._changes:
            if change.kind != "added":
                _expect(change, tree, self._scope)
        return rebuild(tree, map(_edit_of, self._changes), self._scope)

    def to_json(self, *, indent: int | None = None) -> str:
        r"""Return the changes as JSON text: a list of objects.

        Each has `kind`, `path`, and `before` and `after` as far as there are some;
        values that JSON has no form for are their `repr`.

        Args:
            indent: As for `json.dumps`.

        Example:
            >>> import leafwise as lw
            >>> lw.tree_diff({"a": 1}, {"a": 2}).to_json()
            '[{"kind": "value", "path": "[\'a\']", "before": 1, "after": 2}]'
        """
        return json.dumps([*map(_as_json, self._changes)], indent=indent)


def _as_json(change: Change) -> dict[str, Any]:
    sides = {"before": change.before, "after": change.after}
    shown = {name: _plain(x) for name, x in sides.items() if x is not MISSING}
    return {"kind": change.kind, "path": str(change.path), **shown}


def _plain(value: Any) -> Any:
    """Return a value if JSON has a form for it, else its `repr`."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return shown(value)
    return value


def _expect(change: Change, tree: Any, scope: Scope) -> None:
    """Refuse to change what is not as it was.

    Raises:
        EditError: Something else is there.
        PathError: Nothing is there.
    """
    found = change.path(tree, namespace=scope.view.mode.namespace)
    if found is not change.before and tree_diff(change.before, found):
        raise EditError(
            f"at {change.path.where()} there is {clip(found)}, "
            f"not {clip(change.before)}",
            path=change.path,
        )


def _edit_of(change: Change) -> tuple[KeyPath, Edit]:
    if change.kind == "removed":
        return change.path, Delete()
    made = Insert if change.kind == "added" else Set
    return change.path, made(change.after)


# ------------------------------------------------------------------------- comparing


def tree_diff(
    a: Any,
    b: Any,
    *,
    rtol: float = 0.0,
    atol: float = 0.0,
    ignore: Any = None,
    is_leaf: Any = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> TreeDiff:
    """Find all differences between two trees.

    Dicts are compared key by key, lists position by position, objects of one class
    attribute by attribute. Leaves are the same if `==` says so; arrays by shape, dtype
    and content; NaN is the same as NaN, and True is not the same as 1.

    Args:
        a: The first tree.
        b: The second tree.
        rtol, atol: Numbers, and arrays of one shape, are the same if
            `|a - b| <= atol + rtol * |b|` everywhere.
        ignore: A selector; what it means in either tree is not compared.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Returns:
        The changes that lead from `a` to `b`, in the order of `a`.

    Raises:
        CycleError: A tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> a = {"optim": {"lr": 0.1}, "sizes": (1, 2), "old": None}
        >>> b = {"optim": {"lr": 0.1 + 1e-12, "wd": 0}, "sizes": (1, 3)}
        >>> print(lw.tree_diff(a, b, rtol=1e-6))
        + ['optim']['wd']: 0
        ~ ['sizes'][1]: 2 -> 3
        - ['old']: None
    """
    scope = Scope(*outlook(is_leaf, is_leaf_takes_path, none_is_leaf, namespace))
    compare: Callable[[Any, Any], bool] = same_leaf
    if rtol or atol:
        compare = _within(rtol, atol)
    ignored: set[KeyPath] = set()
    if ignore is not None:
        chosen = selector(ignore)
        for tree in (a, b):
            ignored |= {place.path for place in chosen.targets(tree, scope)}
    return TreeDiff(_Comparing(scope, compare, ignored).run(a, b), scope)


def same_leaf(a: Any, b: Any) -> bool:
    """Say whether two leaves are the same. Never raises."""
    if a is b:
        return True
    if (type(a) is bool) is not (type(b) is bool):
        return False
    if auxdata.same(a, b):
        return True
    try:
        return bool(a != a and b != b)
    except Exception:
        return False


def _within(rtol: float, atol: float) -> Callable[[Any, Any], bool]:
    def compare(a: Any, b: Any) -> bool:
        if same_leaf(a, b):
            return True
        try:
            if getattr(a, "shape", ()) != getattr(b, "shape", ()):
                return False
            close = abs(a - b) <= atol + rtol * abs(b)
            return bool(getattr(close, "all", lambda: close)())
        except Exception:
            return False

    return compare


class _Comparing:
    """One comparison of two trees, with a stack of what is still to be looked at."""

    def __init__(
        self, scope: Scope, same: Callable[[Any, Any], bool], ignored: set[KeyPath]
    ) -> None:
        self.scope = scope
        self.same = same
        self.ignored = ignored

    def run(self, a: Any, b: Any) -> Iterator[Change]:
        """Yield the changes."""
        check_cycles = CycleCheck(self.scope, a, b)
        stack: list[Any] = [((), a, b, 0)]
        while stack:
            link, one, two, depth = stack.pop()
            if one is two or (self.ignored and KeyPath(unlink(link)) in self.ignored):
                continue
            if depth == DEPTH_IN_DOUBT:
                check_cycles()
            if type(one) is _Aux:
                path = KeyPath(unlink(link))
                yield Change("aux", path, one.value, two.value)
                continue
            kind, pairs = self.compare(one, two)
            if kind:
                yield Change(kind, KeyPath(unlink(link)), one, two)
            stack += [((link, key), x, y, depth + 1) for key, x, y in reversed(pairs)]

    def compare(self, a: Any, b: Any) -> tuple[str, Pairs]:
        """Say what is different here, "" if nothing, and what is to be looked at."""
        if a is MISSING or b is MISSING:
            return ("added" if a is MISSING else "removed"), ()
        rule, other = self.scope.rule_of(a), self.scope.rule_of(b)
        if rule is None and other is None:
            return ("" if self.same(a, b) else "value"), ()
        if rule is not other or rule is None:
            return "type", ()
        form = rule.form
        if isinstance(form, Items):
            if form.is_mapping:
                return _by_key(table_of(a, rule), table_of(b, rule), rule)
            return _by_position(items_of(a, rule), items_of(b, rule), rule)
        shape = _SHAPES.get(rule.cls, _compare_nodes)
        return shape(a, b, rule)


Pairs = Sequence[tuple[Any, Any, Any]]


class _Aux(NamedTuple):
    """A static value that is known to differ."""

    value: Any


def _by_key(a: Any, b: Any, _rule: Rule) -> tuple[str, Pairs]:
    """Compare two mappings: what was there in the old order, then what was added."""
    pairs = [(DictKey(key), value, b.get(key, MISSING)) for key, value in a.items()]
    if len(b) != len(a) or any(y is MISSING for _, _, y in pairs):
        new = ((DictKey(key), MISSING, b[key]) for key in b if key not in a)
        pairs += new
    return "", [(key, x, y) for key, x, y in pairs if x is not y]


def _by_key_in_order(a: Any, b: Any, rule: Rule) -> tuple[str, Pairs]:
    kept, new = [k for k in a if k in b], [k for k in b if k not in a]
    return _by_key(a, b, rule) if kept + new == [*b] else ("aux", ())


def _with_factory(a: Any, b: Any, rule: Rule) -> tuple[str, Pairs]:
    same = auxdata.same(a.default_factory, b.default_factory)
    return _by_key(a, b, rule) if same else ("aux", ())


def _by_position(a: Any, b: Any, _rule: Rule) -> tuple[str, Pairs]:
    rows = zip_longest(a, b, fillvalue=MISSING)
    return "", [(SequenceKey(i), x, y) for i, (x, y) in enumerate(rows) if x is not y]


def _with_limit(a: Any, b: Any, rule: Rule) -> tuple[str, Pairs]:
    return _by_position(a, b, rule) if a.maxlen == b.maxlen else ("aux", ())


def _compare_nodes(a: Any, b: Any, rule: Rule) -> tuple[str, Pairs]:
    """Compare two nodes that have as many children as their class or aux data says."""
    (mine, aux), (others, other_aux) = rule.flatten(a), rule.flatten(b)
    keys = keys_of(a, rule)
    if keys != keys_of(b, rule):
        return ("type" if isinstance(a, tuple) else "aux"), ()
    pairs = [*zip(keys, mine, others, strict=True)]
    if rule.same(aux, other_aux):
        return "", pairs
    names = static_names(a, rule)
    if not names or names != static_names(b, rule):
        return "aux", ()
    statics = [(name, getattr(a, name), getattr(b, name)) for name in names]
    differing = [row for row in statics if not same_leaf(row[1], row[2])]
    if not differing:  # the kinds differ
        return "aux", ()
    return "", pairs + [(GetAttrKey(k), _Aux(x), _Aux(y)) for k, x, y in differing]


_SHAPES: Final[dict[type, Callable[[Any, Any, Rule], tuple[str, Pairs]]]] = {
    dict: _by_key,
    OrderedDict: _by_key_in_order,
    defaultdict: _with_factory,
    list: _by_position,
    deque: _with_limit,
}


# ------------------------------------------------------------------------ for tests


def assert_trees_equal(
    actual: Any,
    expected: Any,
    *,
    rtol: float = 0.0,
    atol: float = 0.0,
    ignore: Any = None,
    is_leaf: Any = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> None:
    """Raise an error that shows what differs, if two trees do.

    Args:
        actual: The tree to test.
        expected: What it should be.
        rtol, atol, ignore: As for `tree_diff`.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        AssertionError: The trees differ.

    Example:
        >>> import leafwise as lw
        >>> lw.assert_trees_equal({"a": [1, 2]}, {"a": [1, 3]})
        Traceback (most recent call last):
        ...
        AssertionError: the trees differ in 1 place (actual -> expected):
          ~ ['a'][1]: 2 -> 3
    """
    found = tree_diff(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        ignore=ignore,
        is_leaf=is_leaf,
        is_leaf_takes_path=is_leaf_takes_path,
        none_is_leaf=none_is_leaf,
        namespace=namespace,
    )
    if found:
        shown = [f"  {change}" for change in found[:_SHOWN]]
        if len(found) > _SHOWN:
            shown.append(f"  and {len(found) - _SHOWN} more")
        places = "1 place" if len(found) == 1 else f"{len(found)} places"
        raise AssertionError(
            "\n".join([f"the trees differ in {places} (actual -> expected):", *shown])
        )


_SHOWN: Final = 20

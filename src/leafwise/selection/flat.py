"""Trees as flat tables from names to leaves, and back.

Owns the names: keys joined by a separator, positions in brackets, and every ambiguous
key quoted. Trees whose names would still be ambiguous are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, overload

from ..core.keypath import KeyPath, end_of_quote, parse_literal
from ..core.keys import DictKey, GetAttrKey, SequenceKey, literal
from ..core.registry import GLOBAL
from ..core.walk import unlink
from ..errors import EditError, PathError
from ..ops.context import Context, context_of
from ..safely import clip, printed, shown, type_name
from .find import DEPTH_IN_DOUBT, CycleCheck, keys_of
from .rebuild import Set, rebuild


if TYPE_CHECKING:
    from ..core.node import IsLeaf

__all__ = ["FlatReport", "from_flat", "to_flat"]

_QUOTES: Final = "[]'\""


# ---------------------------------------------------------------------------- names


def _checked(sep: str) -> str:
    if not sep or any(letter in _QUOTES for letter in sep):
        raise ValueError(
            f"a separator is not empty and has no quotes or brackets, got {clip(sep)}"
        )
    return sep


def _part(key: Any, sep: str) -> str:
    """Return the text of a key: a name with the separator before it, or brackets."""
    match key:
        case SequenceKey(place):
            return f"[{place}]"
        case DictKey(name) | GetAttrKey(name) if type(name) is str:
            return f"{sep}{name}" if _is_plain(name, sep) else f"[{shown(name)}]"
        case DictKey(name):
            return f"[{literal(name)}]"
    return printed(key)


def _is_plain(name: str, sep: str) -> bool:
    """Return whether a name needs no quotes between separators."""
    is_open = name.isprintable() and name != "" and "[" not in name
    return is_open and (name + sep).find(sep) == len(name)


def _parts(name: str, sep: str) -> Iterator[Any]:
    """Yield the keys of a name: strings, or ints for positions.

    Raises:
        PathError: The name cannot be read.
    """
    place = 0
    while place < len(name):
        if name[place] == "[":
            end = _closing(name, place)
            key = parse_literal(name[place + 1 : end])
            if type(key) not in (int, str):
                raise PathError(
                    f"{name!r} has the key {clip(key)}; without `like`, keys are "
                    "strings or positions"
                )
            yield key
            place = end + 1
            continue
        if place:
            if not name.startswith(sep, place):
                raise PathError(f"{name!r}: expected {sep!r} or [ at character {place}")
            place += len(sep)
        ends = (name.find(mark, place) for mark in (sep, "["))
        end = min((end for end in ends if end >= 0), default=len(name))
        if end == place:
            raise PathError(
                f"{name!r} has an empty key at character {place}; write it as ['']"
            )
        yield name[place:end]
        place = end


def _closing(name: str, start: int) -> int:
    place = start + 1
    if name.startswith(("'", '"'), place):
        place = end_of_quote(name, place)
    end = name.find("]", place) if place > 0 else -1
    if end < 0:
        raise PathError(f"{name!r}: the [ at character {start} is not closed")
    return end


# ---------------------------------------------------------------------- to flat tables


class _Row(NamedTuple):
    """A leaf or empty node of a tree."""

    name: str
    path: KeyPath
    value: Any


def to_flat(
    tree: Any,
    sep: str = ".",
    *,
    strict: bool = True,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    namespace: str = GLOBAL,
) -> dict[str, Any]:
    """Flatten a tree into a dict with a name for each leaf.

    Names are as people write them: `optim.lr`, `layers[0].w`. A key that is not a plain
    name is quoted, `['a.b']`; None and empty containers are values. `from_flat`
    restores the tree.

    Args:
        tree: Any tree. Dicts are walked in their own order.
        sep: The separator between names.
        strict: Whether to refuse what `from_flat` could restore only with `like`: nodes
            other than dicts and lists, keys other than strings.
        is_leaf, is_leaf_takes_path, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        EditError: Something could not be restored; or two leaves have one name.
        CycleError: The tree contains itself.
        ValueError: The separator has brackets or quotes, or is empty.

    Example:
        >>> import leafwise as lw
        >>> config = {"optim": {"lr": 0.1, "betas": [0.9, 0.99]}, "a.b": {}}
        >>> lw.selection.to_flat(config)
        {'optim.lr': 0.1, 'optim.betas[0]': 0.9, 'optim.betas[1]': 0.99, "['a.b']": {}}
        >>> lw.selection.to_flat({"size": (1, 2)})
        Traceback (most recent call last):
        ...
        leafwise.errors.EditError: from_flat could not restore the tuple at ['size']; \
pass strict=False if it will be given a tree like this one
    """
    context = context_of(is_leaf, is_leaf_takes_path, True, namespace)
    flat: dict[str, Any] = {}
    for row in _rows(tree, _checked(sep), context, strict=strict):
        if row.name in flat:
            raise EditError(
                f"two leaves have the name {row.name!r}; one is at {row.path.where()}",
                path=row.path,
            )
        flat[row.name] = row.value
    return flat


def _rows(tree: Any, sep: str, context: Context, *, strict: bool) -> Iterator[_Row]:
    """Yield the leaves and empty nodes of a tree, in its own order."""
    if type(tree) is dict and not tree:
        return
    check_cycles = CycleCheck(context, tree)
    stack: list[tuple[Any, Any, int]] = [((), tree, 0)]
    while stack:
        link, node, depth = stack.pop()
        if depth == DEPTH_IN_DOUBT:
            check_cycles()
        pairs = _children(link, node, context, strict=strict)
        if pairs:
            stack += [((link, key), x, depth + 1) for key, x in reversed(pairs)]
            continue
        path = KeyPath(unlink(link))
        name = "".join([_part(key, sep) for key in path]).removeprefix(sep)
        yield _Row(name, path, node)


def _children(
    link: Any, node: Any, context: Context, *, strict: bool
) -> list[tuple[Any, Any]]:
    """Return keys and children, in the node's own order.

    Raises:
        EditError: `strict` is set, and it is neither a dict with string keys nor a
            list.
    """
    rule = context.rule_of(node, link)
    if rule is None:
        return []
    if type(node) is dict:
        wrong = [key for key in node if type(key) is not str] if strict else ()
        if wrong:
            raise _refused(link, f"the key {clip(wrong[0])} of the dict")
        return [(DictKey(key), value) for key, value in node.items()]
    if strict and type(node) is not list:
        raise _refused(link, f"the {type_name(node)}")
    return [*zip(keys_of(node, rule), rule.flatten(node)[0], strict=True)]


def _refused(link: Any, what: str) -> EditError:
    path = KeyPath(unlink(link))
    return EditError(
        f"from_flat could not restore {what} at {path.where()}; pass strict=False if "
        "it will be given a tree like this one",
        path=path,
    )


# -------------------------------------------------------------------- from flat tables


class FlatReport(NamedTuple):
    """Which names of a flat table and of a tree matched.

    Attributes:
        matched: The names whose values were used.
        missing: The names of the tree that the table does not have.
        extra: The names of the table that the tree does not have.
        changed: The names whose values have another shape, dtype or type of node than
            in the tree; they were not used.

    Example:
        >>> import leafwise as lw
        >>> like = {"a": 0, "b": 0}
        >>> tree, report = lw.selection.from_flat({"a": 1, "c": 2}, like, partial=True)
        >>> tree
        {'a': 1, 'b': 0}
        >>> report
        FlatReport(matched=('a',), missing=('b',), extra=('c',), changed=())
    """

    matched: tuple[str, ...]
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    changed: tuple[str, ...]


Renaming = Mapping[str, str | None] | Callable[[str], str | None]
Items = Mapping[str, Any] | Iterable[tuple[str, Any]]
_NO_TREE: Final = object()


@overload
def from_flat(
    items: Items,
    like: Any = ...,
    *,
    sep: str = ...,
    rename: Renaming | None = ...,
    partial: Literal[False] = ...,
    is_leaf: IsLeaf = ...,
    is_leaf_takes_path: bool = ...,
    namespace: str = ...,
) -> Any: ...


@overload
def from_flat(
    items: Items,
    like: Any,
    *,
    sep: str = ...,
    rename: Renaming | None = ...,
    partial: Literal[True],
    is_leaf: IsLeaf = ...,
    is_leaf_takes_path: bool = ...,
    namespace: str = ...,
) -> tuple[Any, FlatReport]: ...


def from_flat(
    items: Items,
    like: Any = _NO_TREE,
    *,
    sep: str = ".",
    rename: Renaming | None = None,
    partial: bool = False,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    namespace: str = GLOBAL,
) -> Any:
    """Restore the tree of a flat table.

    Args:
        items: Names and values, as from `to_flat`: a mapping, or pairs.
        like: A tree of the wanted structure; its leaves are replaced. Without it, dicts
            and lists are made.
        sep: The separator between names.
        rename: A table from names, or prefixes of names, to those in `like`; or a
            function. None drops a value. The longest prefix counts.
        partial: Whether names may be missing or extra, or values may not match those of
            `like`: what matches is used, and a report is returned with the tree.
        is_leaf, is_leaf_takes_path, namespace: See
            :ref:`common arguments <common>`.

    Returns:
        The tree; with `partial` the tree and a `FlatReport`.

    Raises:
        EditError: The names contradict each other, or do not match `like`.
        PathError: A name cannot be read.
        TypeError: `partial` is given without `like`.

    Example:
        >>> import leafwise as lw
        >>> lw.selection.from_flat({"optim.lr": 0.1, "sizes[0]": 1, "sizes[1]": 2})
        {'optim': {'lr': 0.1}, 'sizes': [1, 2]}
        >>> like = {"encoder": {"w": 0}, "step": 0}
        >>> lw.selection.from_flat({"enc.w": 1, "step": 7}, like,
        ...     rename={"enc": "encoder"})
        {'encoder': {'w': 1}, 'step': 7}
        >>> lw.selection.from_flat({"a.w": 1, "a.c": 2}, {"a": {"w": 0, "b": 0}})
        Traceback (most recent call last):
        ...
        leafwise.errors.EditError: the items do not match the tree: missing: 'a.b'; \
extra: 'a.c'; partial=True takes what matches
    """
    table = _table(items, _renaming(rename, _checked(sep)))
    if like is _NO_TREE:
        if partial:
            raise TypeError("partial=True needs a tree to compare with: give `like`")
        return _grown(table, sep)
    context = context_of(is_leaf, is_leaf_takes_path, True, namespace)
    tree, report = _filled(table, like, sep, context)
    if partial:
        return tree, report
    if report.missing or report.extra or report.changed:
        raise EditError(f"the items do not match the tree: {_described(report)}")
    return tree


def _table(items: Items, renamed: Callable[[str], str | None]) -> dict[str, Any]:
    """Return the items with their new names.

    Raises:
        EditError: Two have one name.
    """
    pairs: Any = items.items() if isinstance(items, Mapping) else items
    table: dict[str, Any] = {}
    for old, value in pairs:
        name = renamed(old)
        if name is None:
            continue
        if name in table:
            raise EditError(f"two items have the name {name!r}")
        table[name] = value
    return table


def _renaming(rename: Renaming | None, sep: str) -> Callable[[str], str | None]:
    if rename is None:
        return lambda name: name
    if callable(rename):
        return rename
    table = dict(rename)
    lengths = sorted({*map(len, table)}, reverse=True)

    def renamed(name: str) -> str | None:
        for length in lengths:
            begin, rest = name[:length], name[length:]
            if begin in table and (not rest or rest.startswith((sep, "["))):
                new = table[begin]
                return None if new is None else (new + rest).removeprefix(sep)
        return name

    return renamed


class _Branch(dict[Any, Any]):
    """The children of a name, by key, before it is known to be a dict or a list."""


def _grown(table: Mapping[str, Any], sep: str) -> Any:
    """Return dicts and lists built from names and values."""
    root = _Branch()
    for name, value in table.items():
        branch, keys = root, ["", *_parts(name, sep)]
        for key in keys[:-1]:
            below = branch.setdefault(key, _Branch())
            if type(below) is not _Branch:
                raise EditError(f"{name!r} is below a name that has a value itself")
            branch = below
        if keys[-1] in branch:
            raise EditError(f"{name!r} has a value, and so have names below it")
        branch[keys[-1]] = value
    if not root:
        return {}
    order = [root]
    for branch in order:
        order += [below for below in branch.values() if type(below) is _Branch]
    made: dict[int, Any] = {}
    for branch in reversed(order):
        children = {
            key: made[id(x)] if type(x) is _Branch else x for key, x in branch.items()
        }
        made[id(branch)] = _container(children, table)
    return made[id(root)][""]


def _container(children: dict[Any, Any], table: Mapping[str, Any]) -> Any:
    """Return a dict, or a list if the keys are positions.

    Raises:
        EditError: There are both names and positions, or a position is missing.
    """
    if all(type(key) is str for key in children):
        return children
    if any(type(key) is str for key in children):
        shown = ", ".join(map(clip, [*children][:4]))
        raise EditError(f"names and positions are mixed at one level: {shown}")
    for place in range(len(children)):
        if place not in children:
            shown = ", ".join(map(str, sorted(children)[:4]))
            raise EditError(f"position {place} is missing in a list that has {shown}")
    return [children[place] for place in range(len(children))]


def _filled(
    table: Mapping[str, Any], like: Any, sep: str, context: Context
) -> tuple[Any, FlatReport]:
    """Return the tree with the values that match, and a report."""
    matched, missing, changed, edits = [], [], [], []
    known = {row.name: row for row in _rows(like, sep, context, strict=False)}
    for name, row in known.items():
        if name not in table:
            missing.append(name)
        elif _matches(row, table[name], context):
            matched.append(name)
            edits.append((row.path, Set(table[name])))
        else:
            changed.append(name)
    extra = [name for name in table if name not in known]
    report = FlatReport(*map(tuple, (matched, missing, extra, changed)))
    return rebuild(like, edits, context), report


def _matches(row: _Row, new: Any, context: Context) -> bool:
    """Return whether a value can replace another one."""
    old, path = row.value, row.path
    if context.rule_of(old, path) is not None or (
        context.rule_of(new, path) is not None and old is not None
    ):
        return type(old) is type(new)
    return all(
        getattr(old, name, None) == getattr(new, name, None)
        for name in ("shape", "dtype")
    )


_SHOWN: Final = 5


def _described(report: FlatReport) -> str:
    told = []
    for what in ("missing", "extra", "changed"):
        names = getattr(report, what)
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            told.append(f"{what}: {', '.join(map(repr, names[:_SHOWN]))}{more}")
    return f"{'; '.join(told)}; partial=True takes what matches"

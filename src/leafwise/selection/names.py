"""Names: trees as flat tables from names to leaves, and overrides, `name=value`.

Owns the names of flat tables: keys joined by a separator, positions in brackets, every
ambiguous key quoted (trees whose names would still be ambiguous are refused). And
changes written as text, as on a command line, `optim.lr=3e-4`: how such a text is
parsed, and how its value is cast to the type of the value that it replaces.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar, overload

from ..core.keypath import KeyPath, end_of_quote, parse_literal
from ..core.keys import DictKey, GetAttrKey, SequenceKey, literal
from ..core.node import Rule
from ..core.registry import GLOBAL
from ..core.walk import unlink
from ..errors import EditError, PathError
from ..lazy import unchanged
from ..ops.context import Context, context_of
from ..safely import clip, printed, shown, type_name
from .edit import Selection
from .find import DEPTH_IN_DOUBT, CycleCheck, Place, Step, find, keys_of, parse
from .pattern import Selector, along, require, selector, with_article
from .rebuild import (
    Set,
    is_items,
    is_mapping,
    items_like,
    items_of,
    mapping_like,
    rebuild,
    same_items,
    table_of,
)


if TYPE_CHECKING:
    from ..core.node import IsLeaf
    from ..signatures.leaves import as_to_flat
else:
    as_to_flat = unchanged

__all__ = [
    "FlatReport",
    "from_flat",
    "guess",
    "name_of",
    "override",
    "renaming",
    "to_flat",
]


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


@as_to_flat
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
        yield _Row(name_of(path, sep), path, node)


def name_of(path: Iterable[Any], sep: str = ".") -> str:
    """Return the name that flat tables have for a path."""
    return "".join([_part(key, sep) for key in path]).removeprefix(sep)


_MADE: Final = (dict, list)
"""The types that `from_flat` makes if it is not given a tree."""


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
    if strict and type(node) not in _MADE:
        raise _refused(link, f"the {type_name(node)}")
    if rule.is_mapping:
        items = rule.items(node)
        wrong = [key for key in items if type(key) is not str] if strict else ()
        if wrong:
            raise _refused(link, f"the key {clip(wrong[0])} of the dict")
        return [(DictKey(key), value) for key, value in items.items()]
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

Tree = TypeVar("Tree")


@overload
def from_flat(
    items: Items,
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
    like: Tree,
    *,
    sep: str = ...,
    rename: Renaming | None = ...,
    partial: Literal[False] = ...,
    is_leaf: IsLeaf = ...,
    is_leaf_takes_path: bool = ...,
    namespace: str = ...,
) -> Tree: ...


@overload
def from_flat(
    items: Items,
    like: Tree,
    *,
    sep: str = ...,
    rename: Renaming | None = ...,
    partial: Literal[True],
    is_leaf: IsLeaf = ...,
    is_leaf_takes_path: bool = ...,
    namespace: str = ...,
) -> tuple[Tree, FlatReport]: ...


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
            function. None drops a value. The longest prefix counts. Each `*` stands for
            one key, and for the same key on the other side.
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
        >>> lw.selection.from_flat({"h.0.w": 1, "h.1.w": 2}, {"layers": [{"w": 0}] * 2},
        ...     rename={"h.*": "layers[*]"})
        {'layers': [{'w': 1}, {'w': 2}]}
        >>> lw.selection.from_flat({"a.w": 1, "a.c": 2}, {"a": {"w": 0, "b": 0}})
        Traceback (most recent call last):
        ...
        leafwise.errors.EditError: the items do not match the tree: missing: 'a.b'; \
extra: 'a.c'; partial=True takes what matches
    """
    table = _table(items, renaming(rename, _checked(sep)))
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


def renaming(rename: Renaming | None, sep: str = ".") -> Callable[[str], str | None]:
    """Return the function from old names to new ones that `rename` stands for.

    See `from_flat`.
    """
    if rename is None:
        return lambda name: name
    if callable(rename):
        return rename
    table = dict(rename)
    plain = {len(old) for old in table if "*" not in old}
    steps: list[tuple[int, Any]] = [(length, None) for length in plain]
    steps += [(len(old), old) for old in table if "*" in old]
    order = [
        (length, old and (old, _beginning(old, sep)))
        for length, old in sorted(steps, key=itemgetter(0), reverse=True)
    ]

    def renamed(name: str) -> str | None:
        for length, pattern in order:
            begin, rest = name[:length], name[length:]
            words: tuple[str | Any, ...] = ()
            if pattern is not None:
                begin, found = pattern[0], pattern[1].match(name)
                if found is None:
                    continue
                rest, words = name[found.end() :], found.groups()
            elif begin not in table or (rest and not rest.startswith((sep, "["))):
                continue
            new = table[begin]
            return None if new is None else (_put(new, words) + rest).removeprefix(sep)
        return name

    return renamed


def _beginning(old: str, sep: str) -> re.Pattern[str]:
    """Return an expression for names that begin with one that has `*` in it."""
    end = rf"(?=\Z|{re.escape(sep)}|\[)"
    word = rf"((?:(?!{re.escape(sep)})[^\[\]])+)"
    return re.compile(word.join(map(re.escape, old.split("*"))) + end, re.DOTALL)


def _put(name: str, words: Iterable[str]) -> str:
    """Return a name with words for its `*`; those beyond the words stay."""
    first, *rest = name.split("*")
    filled = zip([*words, *"*" * len(rest)], rest, strict=False)
    return first + "".join(word + piece for word, piece in filled)


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


# ---------------------------------------------------------------------------- overrides


def override(
    tree: Tree, overrides: Iterable[str] | str, *, namespace: str = GLOBAL
) -> Tree:
    """Return a tree with changes that are written as text.

    `optim.lr=3e-4` replaces a value, and casts the new one to the type of the old;
    `+optim.wd=0.1` adds a value, `++optim.wd=0.1` adds or replaces it, and `~optim.wd`
    deletes it. Instead of a path there may be any pattern. Overrides apply one after
    another.

    A new value for a string needs no quotes. `null` is None, whatever the old
    value is. Lists and dicts are written as in JSON or Python. A value that is added is
    read as JSON, then as a Python literal; anything else is a string.

    Args:
        tree: Any tree; None counts as a leaf.
        overrides: The texts, or a single one.
        namespace: The namespace in which classes are looked up.

    Returns:
        The changed tree, which shares what did not change with the old one.

    Raises:
        EditError: A value cannot be cast, a dict in it has equal keys, the text is not
            an override, or there is a value already where one would be added.
        PathError: A pattern has no match or is malformed.

    Example:
        >>> import leafwise as lw
        >>> config = {"optim": {"lr": 0.1, "nesterov": False}, "widths": [64, 32]}
        >>> lw.selection.override(config,
        ...     ["optim.lr=1", "optim.nesterov=yes", "widths[0]=128"])
        {'optim': {'lr': 1.0, 'nesterov': True}, 'widths': [128, 32]}
        >>> lw.selection.override(config, ["~optim", "+seed=7"])
        {'widths': [64, 32], 'seed': 7}
        >>> lw.selection.override(config, "widths[0]=wide")
        Traceback (most recent call last):
        ...
        leafwise.errors.EditError: override 'widths[0]=wide': 'wide' is not an int; \
the value at ['widths'][0] is 64
    """
    context = context_of(none_is_leaf=True, namespace=namespace)
    for text in [overrides] if isinstance(overrides, str) else overrides:
        try:
            tree = _applied(tree, text, context)
        except (EditError, PathError) as error:
            made = type(error)(f"override {clip(text)}: {error}")
            made.path = error.path
            raise made from None
    return tree


def _applied(tree: Any, text: str, context: Context) -> Any:
    if text.startswith("~"):
        return _selection(tree, selector(text[1:]), context).delete()
    where, value = _split(text)
    if where.startswith("++"):
        there = find(tree, parse(where[2:]), context)
        if not there:
            return _added(tree, where[2:], value, context)
        return _replaced(tree, there, value, context)
    if where.startswith("+"):
        return _added(tree, where[1:], value, context)
    chosen = selector(where)
    try:
        there = require(chosen, tree, context)
    except PathError as error:
        if not chosen.is_single:
            raise
        raise PathError(f"{error}; use +{text} to add it") from None
    return _replaced(tree, there, value, context)


def _selection(tree: Tree, what: Selector, context: Context) -> Selection[Tree]:
    return Selection(tree, (what,), context, missing_ok=False)


def _split(text: str) -> tuple[str, str]:
    """Split a text at the first `=` outside of quotes and brackets.

    Raises:
        EditError: There is no such `=`.
    """
    depth = place = 0
    while 0 <= place < len(text):
        letter = text[place]
        if letter in "'\"" and depth:
            place = end_of_quote(text, place)
            continue
        if letter == "=" and not depth:
            return text[:place].strip(), text[place + 1 :].strip()
        depth += {"[": 1, "]": -1}.get(letter, 0)
        place += 1
    raise EditError("expected path=value, +path=value, ++path=value or ~path")


def _replaced(tree: Any, places: Iterable[Place], text: str, context: Context) -> Any:
    edits = [(place.path, Set(_cast(place, text, context))) for place in places]
    return rebuild(tree, edits, context)


def _added(tree: Any, where: str, text: str, context: Context) -> Any:
    """Insert a value, and dicts for the missing parents; None is an empty dict."""
    steps = parse(where)
    value = guess(text)
    for count in range(len(steps) - 1, -1, -1):
        holders = find(tree, steps[:count], context)
        if holders:
            for step in reversed(steps[count + 1 :]):
                value = {_name(step): value}
            if all(holder.value is None for holder in holders):
                made = {_name(steps[count]): value}
                return rebuild(tree, [(h.path, Set(made)) for h in holders], context)
            there = along(steps[: count + 1])
            return _selection(tree, there, context).insert(value)
    raise EditError("the root already exists; name what to add: +name=value")


def _name(step: Step) -> str:
    if step.name is None:
        raise EditError(
            f"{clip(step.text)} has no match and is not a name for a new key"
        )
    return step.name


# ------------------------------------------------------------------------------ values


def _cast(place: Place, text: str, context: Context) -> Any:
    """Return a text as a value of the type of the one that it replaces.

    Raises:
        EditError: It cannot be cast.
    """
    old, path = place.value, place.path
    rule = context.rule_of(old)
    try:
        if rule is None:
            return _leaf_like(old, text)
        return _node_like(old, rule, _literal(text))
    except EditError:
        raise
    except Exception as error:  # whatever the type of a leaf says of the text
        where, name, shown = path.where(), type_name(old), clip(old)
        raise EditError(
            f"{clip(text)} is not {with_article(name)}; the value at {where} is {shown}"
            if rule is None
            else f"{clip(text)} cannot replace the {name} at {where}, {shown}",
            path=path,
        ) from error


_NULL: Final = ("null", "None")
_FLAGS: Final = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


def _flag(text: str) -> bool:
    if text.lower() not in _FLAGS:
        raise ValueError(text)
    return _FLAGS[text.lower()]


def _integer(text: str) -> int:
    return int(text) if text.strip("+-").isdigit() else int(text, 0)


def _text(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return str(parse_literal(text))
    return text


_CASTS: Final[dict[type, Callable[[str], Any]]] = {
    bool: _flag,
    int: _integer,
    float: float,
    complex: complex,
    str: _text,
}


def _leaf_like(old: Any, text: str) -> Any:
    """Return a text as a leaf of the type of another one.

    Raises:
        Exception: The text does not represent such a leaf, as its type says; or the
            type has no values written as text.
    """
    cls = type(old)
    if old is None:
        return guess(text)
    if text in _NULL:
        return None
    if cls in _CASTS:
        return _CASTS[cls](text)
    if isinstance(old, enum.Enum):
        return _member(cls, text)
    if cls in _SETS:
        return cls(_items(_literal(text)))
    if isinstance(old, type):  # of which one argument makes no other class
        raise TypeError(text)
    if hasattr(old, "dtype"):
        if getattr(old, "shape", ()) != ():
            raise TypeError(text)
        return cls(_leaf_like(old.item(), text))
    if hasattr(cls, "fromisoformat"):
        return cls.fromisoformat(text)
    return cls(text)


_SETS: Final = (set, frozenset)


def _items(value: Any) -> Any:
    if not isinstance(value, list | tuple | set):
        raise TypeError(value)
    return value


def _member(cls: Any, text: str) -> Any:
    """Return the member of an enum with a name, or else a value."""
    if text in cls.__members__:
        return cls[text]
    for member in cls:
        if str(member.value) == text:
            return member
    raise ValueError(text)


def _node_like(old: Any, rule: Rule, new: Any) -> Any:
    """Return a value as a node of the type of another one.

    Raises:
        ValueError: The value is not such a container, or a child is of another type.
    """
    if new is None:
        return None
    if is_mapping(old, rule) and isinstance(new, Mapping):
        table = table_of(old, rule)
        items = new.items()
        values = [_of_type(type(table[k]), x) if k in table else x for k, x in items]
        if same_items([*new], values, table):
            return old
        return mapping_like(old, rule, [*new], values, [old])
    if is_items(old, rule) and isinstance(new, list | tuple):
        sorts = {type(item) for item in items_of(old, rule)}
        sort = sorts.pop() if len(sorts) == 1 else None
        return items_like(old, rule, [_of_type(sort, item) for item in new], [old])
    raise ValueError(new)


def _of_type(sort: type | None, value: Any) -> Any:
    """Return a value if it is of a type, or an int as a float.

    Raises:
        ValueError: It is of another type.
    """
    if sort is None or sort is type(None) or value is None or type(value) is sort:
        return value
    if sort is float and type(value) is int:
        return float(value)
    raise ValueError(value)


def _literal(text: str) -> Any:
    """Read a value as JSON or a Python literal.

    Raises:
        ValueError: It is neither.
        EditError: A dict in it has equal keys.
    """
    try:
        return json.loads(text, object_pairs_hook=_dict_of)
    except EditError:
        raise
    except (ValueError, RecursionError):
        return _python_literal(text)


def _python_literal(text: str) -> Any:
    from ..core.literals import read_python  # and with it ast

    try:
        return read_python(text, _dict_of)
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(text) from error


def _dict_of(items: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return items as a dict.

    Raises:
        EditError: Two keys are equal.
    """
    known: dict[Any, Any] = {}
    for key, _ in items:
        if key in known:
            pair = f"{clip(known[key])} and {clip(key)}"
            raise EditError(f"the value has a dict with equal keys, {pair}")
        known[key] = key
    return dict(items)


def guess(text: str) -> Any:
    """Read a value as JSON, as a Python literal, or else as a string.

    Raises:
        EditError: It is a literal in which a dict has equal keys.
    """
    try:
        return _literal(text)
    except EditError:
        raise
    except ValueError:
        return text

"""Names: trees as flat tables from names to leaves.

Owns the names of flat tables: keys joined by a separator, positions in brackets, every
ambiguous key quoted (trees whose names would still be ambiguous are refused).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, Unpack, overload

from .._records import MISSING
from .._text import short_repr
from ..core.context import Context, context_of
from ..core.keys import GetAttrKey
from ..core.node import Rule
from ..core.registry import GLOBAL
from ..errors import EditError, PathError
from .edit import Set, rebuild
from .select import (
    DEPTH_IN_DOUBT,
    Place,
    check_cycles,
    children_of,
    few,
    name_of,
    parse,
    place_text,
)


if TYPE_CHECKING:
    from .._typing import IsLeaf, Tree


class FlatOptions(TypedDict, total=False):
    """The options of `from_flat`."""

    sep: str
    rename: Mapping[str, str | None] | Callable[[str], str | None] | None
    is_leaf: IsLeaf
    namespace: str


# ---------------------------------------------------------------------------- names


def _checked(sep: str) -> str:
    if not sep or any(letter in "[]'\"" for letter in sep):
        rule = "a separator must not be empty or contain quotes or brackets"
        raise ValueError(f"{rule}, got {short_repr(sep)}")
    return sep


# ---------------------------------------------------------------------- to flat tables


def to_flat(
    tree: Any,
    sep: str = ".",
    *,
    strict: bool = True,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> dict[str, Any]:
    """Flatten a tree into a dict with a name for each leaf.

    Names look like `optim.lr` and `layers[0].w`. A key that is not a plain name is
    quoted: `['a.b']`. With the default separator, each name is a selector that picks
    the leaf. None and empty containers are values. `from_flat` restores the tree; it
    needs `like` for a tree with objects, such as dataclasses, of which the table has
    the children and no static fields.

    Args:
        tree: Any tree. Dicts are walked in their own order.
        sep: The separator between names.
        strict: Whether to raise an error for containers that `from_flat` could restore
            only with `like`: those that are neither dicts nor lists, and dicts with
            keys other than strings. In objects they are no error.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Raises:
        EditError: A container or key could not be restored, or two leaves have the same
            name.
        CycleError: The tree contains itself.
        ValueError: The separator contains brackets or quotes, or is empty.

    Example:
        >>> import leafwise as lw
        >>> config = {"optim": {"lr": 0.1, "betas": [0.9, 0.99]}, "a.b": {}}
        >>> lw.selection.to_flat(config)
        {'optim.lr': 0.1, 'optim.betas[0]': 0.9, 'optim.betas[1]': 0.99, "['a.b']": {}}
        >>> lw.selection.to_flat({"size": (1, 2)})
        Traceback (most recent call last):
        ...
        leafwise.errors.EditError: from_flat could not restore the tuple at size; \
pass strict=False if from_flat will get a tree like this one
    """
    context = context_of(is_leaf, none_is_leaf=True, namespace=namespace)
    flat: dict[str, Any] = {}
    for name, place in _rows(tree, _checked(sep), context, strict=strict):
        if name in flat:
            where = place_text(place.path)
            raise EditError(
                f"two leaves have the name {name!r}; one is at {where}", path=place.path
            )
        flat[name] = place.value
    return flat


def _rows(
    tree: Any, sep: str, context: Context, *, strict: bool = False
) -> Iterator[tuple[str, Place]]:
    """Yield the leaves and empty nodes of a tree by name, in its own order.

    Raises:
        EditError: `strict` is set, and a container is neither a dict with string keys
            nor a list, which `from_flat` makes, nor inside of an object.
    """
    if type(tree) is dict and not tree:
        return
    unchecked = [tree]
    stack: list[tuple[Any, Any, int, bool]] = [((), tree, 0, strict)]
    while stack:
        link, node, depth, is_strict = stack.pop()
        if depth == DEPTH_IN_DOUBT:
            check_cycles(unchecked, context)
        rule = context.rule_of(node)
        place = Place(link, node)
        children = {} if rule is None else children_of(node, rule)
        if is_strict and rule is not None:
            is_strict = not _is_object(rule, children)
            if is_strict:
                _check_restorable(place)
        for key, child in reversed(children.items()):
            stack.append(((link, key), child, depth + 1, is_strict))
        if not children:
            yield name_of(place.path, sep), place


def _is_object(rule: Rule, children: Mapping[Any, Any]) -> bool:
    """Return whether a node has attributes; a named tuple counts as a container."""
    if rule.is_mapping or rule.is_sequence or issubclass(rule.cls, tuple):
        return False
    return bool(children) and all(type(key) is GetAttrKey for key in children)


def _check_restorable(place: Place) -> None:
    """Check that `from_flat` would make a container like the one at a place.

    Raises:
        EditError: It would not.
    """
    node = place.value
    has_names = type(node) is dict and {str}.issuperset(map(type, node))
    if has_names or type(node) is list:
        return
    what = type(node).__name__
    if type(node) is dict:
        what += " with keys that are no strings"
    raise EditError(
        f"from_flat could not restore the {what} at {place_text(place.path)}; pass "
        "strict=False if from_flat will get a tree like this one",
        path=place.path,
    )


# -------------------------------------------------------------------- from flat tables


class FlatReport(NamedTuple):
    """Which names of a flat dict and of a tree matched.

    Attributes:
        matched: The names whose values were used.
        missing: The names of the tree that are not in the flat dict.
        extra: The names of the flat dict that are not in the tree.
        changed: The names whose values have another shape, dtype or node type than in
            the tree; these values were not used.

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


@overload
def from_flat(
    items: Items, *, partial: Literal[False] = ..., **options: Unpack[FlatOptions]
) -> Any: ...
@overload
def from_flat(
    items: Items,
    like: Tree,
    *,
    partial: Literal[False] = ...,
    **options: Unpack[FlatOptions],
) -> Tree: ...
@overload
def from_flat(
    items: Items, like: Tree, *, partial: Literal[True], **options: Unpack[FlatOptions]
) -> tuple[Tree, FlatReport]: ...
def from_flat(
    items: Items,
    like: Any = MISSING,
    *,
    sep: str = ".",
    rename: Renaming | None = None,
    partial: bool = False,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> Any:
    """Restore a tree from a flat dict of names and values.

    Args:
        items: Names and values, as from `to_flat`: a mapping, or pairs.
        like: A tree of the desired structure; its leaves are replaced. Without it,
            dicts and lists are made.
        sep: The separator between names.
        rename: A mapping from names, or prefixes of names, to the names in `like`; or a
            function from names to names. None drops a value. The longest matching
            prefix counts.
        partial: Whether names may be missing or extra, or values may not match those of
            `like`. If True, only matching values are used, and a report is returned
            with the tree.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Returns:
        The tree; with `partial` the tree and a `FlatReport`.

    Raises:
        EditError: The names contradict each other, or do not match `like`.
        PathError: A name cannot be parsed.
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
    renamed = renaming(rename, _checked(sep))
    pairs: Any = items.items() if isinstance(items, Mapping) else items
    table: dict[str, Any] = {}
    for old, value in pairs:
        name = renamed(old)
        if name in table:
            raise EditError(f"two items have the name {name!r}")
        if name is not None:
            table[name] = value
    if like is MISSING:
        if partial:
            raise TypeError("partial=True needs a tree to compare with: give `like`")
        return nest(table, sep)
    context = context_of(is_leaf, none_is_leaf=True, namespace=namespace)

    def fits(old: Any, new: Any) -> bool:
        nodes = [x for x in (old, new) if context.rule_of(x) is not None]
        if nodes and not (old is None and nodes == [None]):
            return type(old) is type(new)
        forms = [(getattr(old, x, 0), getattr(new, x, 0)) for x in ("shape", "dtype")]
        return all(one == other for one, other in forms)

    known = dict(_rows(like, sep, context))
    both = [name for name in known if name in table]
    matched = {x: None for x in both if fits(known[x].value, table[x])}
    report = FlatReport(
        matched=(*matched,),
        missing=tuple(name for name in known if name not in table),
        extra=tuple(name for name in table if name not in known),
        changed=tuple(name for name in both if name not in matched),
    )
    edits = [(known[name].path, Set(table[name])) for name in matched]
    tree = rebuild(like, edits, context)
    if partial:
        return tree, report
    told = [
        f"{what}: {few([*map(repr, names)])}"
        for what, names in report._asdict().items()
        if names and what != "matched"
    ]
    if told:
        raise EditError(
            f"the items do not match the tree: {'; '.join(told)}; partial=True takes "
            "what matches"
        )
    return tree


def renaming(rename: Renaming | None, sep: str = ".") -> Callable[[str], str | None]:
    """Return the function from old names to new ones that `rename` stands for.

    See `from_flat`.
    """
    if callable(rename):
        return rename
    prefixes = dict(rename or {})
    longest_first = sorted(prefixes, key=len, reverse=True)

    def new_name(name: str) -> str | None:
        for prefix in longest_first:
            end = name[len(prefix) :]
            ends_a_key = not end or end.startswith((sep, "["))
            if name.startswith(prefix) and ends_a_key:
                new = prefixes[prefix]
                return None if new is None else (new + end).removeprefix(sep)
        return name

    return new_name


class _Branch(dict[Any, Any]):
    """The children of a name, by key, before it is known to be a dict or a list."""


def nest(table: Mapping[str, Any], sep: str = ".", *, strict: bool = True) -> Any:
    """Return dicts and lists built from names and values.

    Args:
        table: Values by name.
        sep: The separator between names.
        strict: Whether to raise an error for what `from_flat` could not have got from
            `to_flat`. If not, positions with gaps and keys of other types become keys
            of a dict.

    Raises:
        EditError: One name is the beginning of another; or `strict`, and not all
            positions are there.
        PathError: A name is not a path; or `strict`, and a key is neither a string nor
            a position.

    Example:
        >>> from leafwise.selection.names import nest
        >>> nest({"model.w": 1, "sizes[0]": 2, "opt[1].mu": 3}, strict=False)
        {'model': {'w': 1}, 'sizes': [2], 'opt': {1: {'mu': 3}}}
    """
    root = _Branch()
    children: list[tuple[_Branch, Any]] = []
    for name, value in table.items():
        branch = root
        last_key: Any = ""
        for step in parse(name, sep):
            key = getattr(step.key, "entry", step.key)
            is_restored = type(step.key) is not GetAttrKey and type(key) in (int, str)
            if key is None or (strict and not is_restored):
                raise PathError(
                    f"{name!r} has the key {step.text}; without `like`, keys must be "
                    "strings or positions"
                )
            if last_key not in branch:
                branch[last_key] = _Branch()
                children.append((branch, last_key))
            branch = branch[last_key]
            last_key = key
            if type(branch) is not _Branch:
                raise EditError(f"{name!r} is below a name that already has a value")
        if last_key in branch:
            raise EditError(f"{name!r} has a value, but names below it have one, too")
        branch[last_key] = value
    for parent, key in reversed(children):  # a branch comes after the one above it
        parent[key] = _container(parent[key], strict)
    return root.get("", {})


def _container(branch: _Branch, strict: bool) -> dict[Any, Any] | list[Any]:
    """Return the dict or list that has the children of a branch.

    Raises:
        EditError: `strict` is set, and the children have other keys.
    """
    positions = range(len(branch))
    has_positions = {int}.issuperset(map(type, branch))
    if has_positions and set(branch) == set(positions):
        return [branch[position] for position in positions]
    if strict and not {str}.issuperset(map(type, branch)):
        keys = ", ".join(map(short_repr, list(branch)[:4]))
        raise EditError(f"expected names, or all positions from 0 on: {keys}")
    return dict(branch)

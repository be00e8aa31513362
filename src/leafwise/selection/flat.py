"""Flat tables: a name for each leaf of a tree, and trees from such tables.

A name is made of keys with a separator between them, of positions in brackets, and of
quoted keys where plain ones would be ambiguous.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Literal,
    NamedTuple,
    TypedDict,
    Unpack,
    cast,
    overload,
)

from .._records import MISSING
from .._text import short_repr
from ..core.context import Context, context_of
from ..core.keypath import ROOT, KeyPath, path_below
from ..core.keys import GetAttrKey
from ..core.node import NodeType
from ..core.registry import GLOBAL
from ..errors import EditError, PathError
from .changes import NodeEdits, Set, apply_edits
from .descent import Descent
from .patterns import Step, parse, place_text, step_text
from .select import few, own_children


if TYPE_CHECKING:
    from .._typing import IsLeaf, Tree


class FlatOptions(TypedDict, total=False):
    """The options of `from_flat`."""

    sep: str
    rename: Mapping[str, str | None] | Callable[[str], str | None] | None
    is_leaf: IsLeaf
    namespace: str


# ---------------------------------------------------------------------------- names


def _checked_separator(sep: str) -> str:
    if not sep or any(letter in "[]'\"" for letter in sep):
        raise ValueError(
            "a separator must not be empty or contain quotes or brackets, "
            f"got {short_repr(sep)}"
        )
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
    for siblings in _siblings(tree, _checked_separator(sep), context, strict=strict):
        for name, value in zip(siblings.names, siblings.values, strict=True):
            if name in flat:
                path = siblings.path_of(name)
                raise EditError(
                    f"two leaves have the name {name!r}; one is at {place_text(path)}",
                    path=path,
                )
            flat[name] = value
    return flat


class _NamedNode(NodeEdits):
    """A node with children in a tree that is a flat table.

    Attributes:
        name: The name of its place, made when a leaf below it needs it.
        is_strict: Whether it is a container that `from_flat` must be able to make.
    """

    __slots__ = ("is_strict", "name")

    def __init__(
        self,
        above: _NamedNode | None,
        key: Any,
        node: Any,
        node_type: NodeType,
        *,
        is_strict: bool,
    ) -> None:
        super().__init__(node, node_type, above, key)
        self.name: str | None = "" if above is None else None
        self.is_strict: bool = is_strict

    def full_name(self, sep: str) -> str:
        """Return the name of its place.

        The names of nodes above are used, so this takes no longer than the name is.
        """
        unnamed: list[_NamedNode] = []
        node: Any = self
        while node.name is None:
            unnamed.append(node)
            node = node.above
        texts: list[str] = [node.name]
        texts += [step_text(below.link.key, sep) for below in reversed(unnamed)]
        name = "".join(texts)
        if not node.name:
            name = name.removeprefix(sep)
        self.name = name
        return name


class _Siblings(NamedTuple):
    """Leaves and empty nodes that are children of one node.

    Attributes:
        names: Their names.
        values: The leaves and nodes.
        above: The node, None for a tree that is a leaf itself.
        keys: The keys of the children.
    """

    names: Sequence[str]
    values: Sequence[Any]
    above: _NamedNode | None
    keys: Sequence[Any]

    def path_of(self, name: str) -> KeyPath:
        """Return the path of one of them."""
        if self.above is None:
            return ROOT
        return path_below(self.above.path, self.keys[self.names.index(name)])


def _siblings(
    tree: Any,
    sep: str,
    context: Context,
    *,
    strict: bool = False,
    nodes: list[_NamedNode] | None = None,
) -> Iterator[_Siblings]:
    """Yield the leaves and empty nodes of a tree with their names, in its own order.

    Args:
        tree: The tree.
        sep: The separator between names.
        context: What is a leaf.
        strict: Whether containers must be those that `from_flat` makes.
        nodes: Collects the nodes with children, each after the one above it.

    Raises:
        EditError: `strict` is set, and a container is neither a dict with string keys
            nor a list, nor inside of an object.
    """
    if type(tree) is dict and not tree:  # whose table is empty, too
        return
    leaf_types: Any = frozenset()
    if context.stop is None:
        leaf_types = context.view.leaf_types
    names = _Names(sep)
    steps: Descent[tuple[_NamedNode | None, Any, Any]] = Descent(
        (None, None, tree), [tree], context
    )
    for above, key, value in steps:
        node_type = None if type(value) in leaf_types else context.node_type_of(value)
        keys: Sequence[Any] = ()
        children: Sequence[Any] = ()
        if node_type is not None:
            keys, children = own_children(value, node_type)
        is_strict = strict if above is None else above.is_strict
        if is_strict and node_type is not None:
            is_strict = not _is_object(node_type, keys)
            if is_strict and not _is_restorable(value):
                path = ROOT if above is None else path_below(above.path, key)
                raise _not_restorable(value, path)
        if node_type is None or not children:
            yield _Siblings(names.below(above, [key]), [value], above, [key])
            continue
        node = _NamedNode(above, key, value, node_type, is_strict=is_strict)
        if nodes is not None:
            nodes.append(node)
        if leaf_types.issuperset(map(type, children)):  # in one go
            yield _Siblings(names.below(node, keys), children, node, keys)
            continue
        pairs = zip(keys, children, strict=True)
        steps.go_on([(node, child_key, child) for child_key, child in pairs])


class _Names:
    """Makes the names of children of nodes.

    Nodes of one kind share the tuple of their keys, whose texts are kept.
    """

    def __init__(self, sep: str) -> None:
        self._sep = sep
        self._texts: dict[int, tuple[Any, list[str]]] = {}  # by id of the keys

    def below(
        self,
        above: _NamedNode | None,
        keys: Sequence[Any],
    ) -> list[str]:
        """Return the names of children of a node."""
        if above is None:
            return [""]
        sep = self._sep
        known_keys, texts = self._texts.get(id(keys), (None, []))
        if known_keys is not keys:
            texts = [step_text(key, sep) for key in keys]
            if len(self._texts) >= _MOST_KEYS:
                self._texts.clear()
            self._texts[id(keys)] = (keys, texts)
        prefix = above.name
        if prefix is None:
            prefix = above.full_name(sep)
        if not prefix:
            return [text.removeprefix(sep) for text in texts]
        return [prefix + text for text in texts]


_MOST_KEYS: Final = 1024


def _is_object(node_type: NodeType, keys: Sequence[Any]) -> bool:
    """Return whether a node has attributes; a named tuple counts as a container."""
    if (
        node_type.is_mapping
        or node_type.is_sequence
        or issubclass(node_type.cls, tuple)
    ):
        return False
    return bool(keys) and all(type(key) is GetAttrKey for key in keys)


def _is_restorable(node: Any) -> bool:
    """Return whether `from_flat` would make a container like this one."""
    if type(node) is dict:
        return {str}.issuperset(map(type, node))
    return type(node) is list


def _not_restorable(node: Any, path: KeyPath) -> EditError:
    container = type(node).__name__
    if type(node) is dict:
        container += " with keys that are no strings"
    return EditError(
        f"from_flat could not restore the {container} at {place_text(path)}; pass "
        "strict=False if from_flat will get a tree like this one",
        path=path,
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
    items: Items,
    *,
    partial: Literal[False] = ...,
    **options: Unpack[FlatOptions],
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
    items: Items,
    like: Tree,
    *,
    partial: Literal[True],
    **options: Unpack[FlatOptions],
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
    table = _renamed(items, rename, _checked_separator(sep))
    if like is MISSING:
        if partial:
            raise TypeError("partial=True needs a tree to compare with: give `like`")
        return nest(table, sep)
    context = context_of(is_leaf, none_is_leaf=True, namespace=namespace)
    nodes: list[_NamedNode] = []
    tree = like
    matched: list[str] = []
    missing: list[str] = []
    changed: list[str] = []
    for names, values, above, keys in _siblings(like, sep, context, nodes=nodes):
        new_values = [table.get(name, _NOTHING) for name in names]
        types = {*map(type, values), *map(type, new_values)}
        if above is not None and types <= _WITHOUT_FORM:  # most of them, in one go
            matched += names
            above.edits += zip(keys, map(Set, new_values), strict=True)
            continue
        for name, old, key in zip(names, values, keys, strict=True):
            value = table.get(name, _NOTHING)
            if value is _NOTHING:
                missing.append(name)
            elif not _fits(old, value, context):
                changed.append(name)
            else:
                matched.append(name)
                if above is None:  # the tree is a leaf
                    tree = value
                else:
                    above.edits.append((key, Set(value)))
    extra: list[str] = []
    if len(matched) + len(changed) < len(table):
        used_names = {*matched, *changed}
        extra = [name for name in table if name not in used_names]
    report = FlatReport(tuple(matched), tuple(missing), tuple(extra), tuple(changed))
    if not partial:
        _check_all_matched(report)
    if nodes:
        tree = apply_edits(nodes)
    return (tree, report) if partial else tree


def _renamed(
    items: Items,
    rename: Renaming | None,
    sep: str,
) -> Mapping[str, Any]:
    """Return a table of values by their new names.

    Raises:
        EditError: Two of them have the same name.
    """
    if not rename and isinstance(items, Mapping):
        return cast("Mapping[str, Any]", items)
    new_name_of = renaming(rename, sep)
    pairs: Any = items.items() if isinstance(items, Mapping) else items
    table: dict[str, Any] = {}
    for old_name, value in pairs:
        name = new_name_of(old_name)
        if name in table:
            raise EditError(f"two items have the name {name!r}")
        if name is not None:
            table[name] = value
    return table


_NOTHING: Final = object()


def _fits(
    old: Any,
    new: Any,
    context: Context,
) -> bool:
    """Return whether a value may stand in place of another one."""
    if type(old) in _WITHOUT_FORM and type(new) in _WITHOUT_FORM:
        return True
    nodes = [value for value in (old, new) if context.node_type_of(value) is not None]
    if nodes and not (old is None and nodes == [None]):
        return type(old) is type(new)
    for attribute in ("shape", "dtype"):
        if getattr(old, attribute, 0) != getattr(new, attribute, 0):
            return False
    return True


_WITHOUT_FORM: Final = frozenset({bool, bytes, float, int, str, type(None)})
"""Types of leaves that have neither shape nor dtype."""


def _check_all_matched(report: FlatReport) -> None:
    """Check that a flat table and a tree have the same names, and values that fit.

    Raises:
        EditError: They do not.
    """
    problems: list[str] = []
    for field in ("missing", "extra", "changed"):
        names = getattr(report, field)
        if names:
            problems.append(f"{field}: {few([repr(name) for name in names])}")
    if problems:
        raise EditError(
            f"the items do not match the tree: {'; '.join(problems)}; partial=True "
            "takes what matches"
        )


def renaming(rename: Renaming | None, sep: str = ".") -> Callable[[str], str | None]:
    """Return the function from old names to new ones that `rename` stands for.

    See `from_flat`.
    """
    if callable(rename):
        return rename
    if not rename:
        return lambda name: name
    prefixes = dict(rename)
    lengths = {len(prefix) for prefix in prefixes}
    key_ends = re.compile(rf"(?={re.escape(sep)}|\[|\Z)")

    def new_name(name: str) -> str | None:
        # a prefix ends where a key does: "enc" is none of "encoder.w"
        ends = [match.start() for match in key_ends.finditer(name)]
        for end in reversed(ends):  # the longest prefix first
            if end in lengths and name[:end] in prefixes:
                new_prefix = prefixes[name[:end]]
                if new_prefix is None:
                    return None
                return (new_prefix + name[end:]).removeprefix(sep)
        return name

    return new_name


class _Branch(dict[Any, Any]):
    """The children of a name, by key, before it is known to be a dict or a list."""


class _GrowingTree:
    """Dicts and lists that grow from names and values; see `nest`."""

    def __init__(
        self,
        sep: str,
        *,
        strict: bool,
    ) -> None:
        self._sep = sep
        self._strict = strict
        self._holder = _Branch()  # has the tree under the key ""
        self._below: list[tuple[_Branch, Any]] = []  # each after the branch above it
        self._branches: dict[str, _Branch] = {}  # by name

    def add(self, table: Mapping[str, Any]) -> None:
        """Put values where their names lead.

        Raises:
            EditError: There is something already, or a value on the way.
            PathError: A name cannot be parsed, or has other keys.
        """
        # Most names share what comes before their last key with others, and have a last
        # key that takes no parser.
        sep = self._sep
        branches = self._branches
        branch: _Branch | None
        for name, value in table.items():
            above, _, key = name.rpartition(sep)
            branch = branches.get(above) if key.isidentifier() else None
            if branch is None:
                branch, key = self._place(name)
            if key in branch:
                text = f"{name!r} has a value, but names below it have one, too"
                raise EditError(text)
            branch[key] = value

    def _place(self, name: str) -> tuple[_Branch, Any]:
        """Return the branch and the key that a name leads to."""
        if not name:
            return self._holder, ""
        above, key = _split_name(name, self._sep)
        try:
            if key is not None:
                return self._branch(name, above), key
        except PathError:  # the message is to be about the whole name
            pass
        steps = parse(name, self._sep)
        return self._branch_at(name, steps[:-1]), self._entry(name, steps[-1])

    def _branch(
        self,
        name: str,
        above: str,
    ) -> _Branch:
        """Return the branch with the name `above`, on the way to a name."""
        new_names: list[tuple[str, Any]] = []
        branch = self._branches.get(above)
        while branch is None:
            shorter, key = _split_name(above, self._sep)
            if key is None:
                branch = self._branch_at(name, parse(above, self._sep))
                self._branches[above] = branch
            else:
                new_names.append((above, key))
                above = shorter
                branch = self._branches.get(above)
        for new_name, key in reversed(new_names):
            branch = self._child(name, branch, key)
            self._branches[new_name] = branch
        return branch

    def _branch_at(
        self,
        name: str,
        steps: Sequence[Step],
    ) -> _Branch:
        """Return the branch that steps lead to, on the way to a name."""
        branch = self._child(name, self._holder, "")
        for step in steps:
            branch = self._child(name, branch, self._entry(name, step))
        return branch

    def _child(
        self,
        name: str,
        branch: _Branch,
        key: Any,
    ) -> _Branch:
        if key not in branch:
            branch[key] = _Branch()
            self._below.append((branch, key))
        child = branch[key]
        if type(child) is not _Branch:
            raise EditError(f"{name!r} is below a name that already has a value")
        return child

    def _entry(
        self,
        name: str,
        step: Step,
    ) -> Any:
        """Return what is under the key of a step.

        Raises:
            PathError: It is no single key; or it must be a string or a position, and is
                neither.
        """
        entry = getattr(step.key, "entry", step.key)
        is_restored = type(step.key) is not GetAttrKey and type(entry) in (int, str)
        if entry is None or (self._strict and not is_restored):
            raise PathError(
                f"{name!r} has the key {step.text}; without `like`, keys must be "
                "strings or positions"
            )
        return entry

    def finish(self) -> Any:
        """Return the tree, of which branches become dicts and lists.

        Raises:
            EditError: A branch must have names or all positions, and has neither.
        """
        for above, key in reversed(self._below):
            above[key] = self._container(above[key])
        return self._holder.get("", {})

    def _container(self, branch: _Branch) -> dict[Any, Any] | list[Any]:
        """Return the dict or list that has the children of a branch."""
        has_names = {str}.issuperset(map(type, branch))
        if has_names and branch:
            return dict(branch)
        positions = range(len(branch))
        if {int}.issuperset(map(type, branch)) and branch.keys() == set(positions):
            return [branch[position] for position in positions]
        if self._strict and not has_names:
            keys = ", ".join([short_repr(key) for key in list(branch)[:4]])
            raise EditError(f"expected names, or all positions from 0 on: {keys}")
        return dict(branch)


def _split_name(name: str, sep: str) -> tuple[str, str | int | None]:
    """Return the name of the node above and the last key of a name.

    The key is None if it takes a parser to tell.
    """
    if len(sep) > 1:
        return name, None
    above, _, last = name.rpartition(sep)
    if last.isidentifier():
        return above, last
    if name.endswith("]"):
        above, bracket, last = name[:-1].rpartition("[")
        if bracket and _INDEX.fullmatch(last):
            return above, int(last)
    return name, None


_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,9}")


def nest(
    table: Mapping[str, Any],
    sep: str = ".",
    *,
    strict: bool = True,
) -> Any:
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
        >>> from leafwise.selection.flat import nest
        >>> nest({"model.w": 1, "sizes[0]": 2, "opt[1].mu": 3}, strict=False)
        {'model': {'w': 1}, 'sizes': [2], 'opt': {1: {'mu': 3}}}
    """
    tree = _GrowingTree(sep, strict=strict)
    tree.add(table)
    return tree.finish()

"""JSON Patches: changes as operations of RFC 6902, and trees after such operations.

Owns the operations and the pointers of RFC 6901 that they have. Operations come one
after another, each for the tree that the last one left; changes are all those of one
tree. How nodes are edited is known to `rebuild`.
"""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from ..core.keypath import KeyPath, path_below
from ..core.keys import DictKey, SequenceKey
from ..errors import EditError
from ..ops.context import Context, context_of
from ..safely import MISSING, clip, type_name
from .edit import Delete, Edit, Insert, Move, Set, rebuild


if TYPE_CHECKING:
    from .diff import Change


# ------------------------------------------------------------------------ writing


def operations(changes: Iterable[Change]) -> list[dict[str, Any]]:
    """Return changes as operations, in an order in which they can be made.

    Operations that do not depend on list positions come first, then lists from the
    deepest up, so paths above stay valid. In a list, items are removed from the end,
    and then added; an item that moves is removed and added.

    Raises:
        EditError: JSON has no such key or value.
    """
    made: list[tuple[Any, ...]] = []
    lists: dict[KeyPath, int] = {}
    for change in changes:
        kind, path = change.kind, change.path
        if change.index is None or type(path[-1]) is not SequenceKey:
            word = {"added": "add", "removed": "remove"}.get(kind, "replace")
            made.append(((0,), word, path, change.after))
            continue
        order = 1, -len(path), lists.setdefault(path.parent, len(lists))
        if kind != "added":
            made.append(((*order, 0, -path[-1].idx), "remove", path, MISSING))
        if kind != "removed":
            place = path_below(path.parent, SequenceKey(change.index))
            made.append(((*order, 1, change.index), "add", place, change.after))
    is_leaf = lambda node: type(node) not in (dict, list) or not node  # noqa: E731
    context = context_of(is_leaf, none_is_leaf=True)
    found: list[dict[str, Any]] = []
    for _, word, path, value in sorted(made, key=itemgetter(0)):
        found.append({"op": word, "path": _pointer(path)})
        if value is MISSING:
            continue
        leaves, treedef = context.flatten(value)
        for below, leaf in zip(treedef.paths(), leaves, strict=True):
            where = KeyPath(path + below)
            _pointer(where)
            is_finite = type(leaf) is not float or math.isfinite(leaf)
            if type(leaf) not in _JSON_TYPES or not is_finite:
                text = f"{clip(leaf)} ({type_name(leaf)}) at {where.where()}"
                raise EditError(f"JSON cannot hold {text}", path=where)
        found[-1]["value"] = value
    return found


_JSON_TYPES: Final = frozenset({str, int, float, bool, type(None), dict, list})


def _pointer(path: KeyPath) -> str:
    """Return a path as a JSON Pointer.

    Raises:
        EditError: It has a key that JSON has not.
    """
    parts = [""]
    for depth, key in enumerate(path):
        if type(key) is SequenceKey:
            parts.append(str(key.idx))
        elif type(key) is DictKey and type(key.key) is str:
            parts.append(key.key.replace("~", "~0").replace("/", "~1"))
        else:
            what, place = clip(getattr(key, "entry", key)), path[: depth + 1]
            text = f"JSON cannot hold the key {what} at {place.where()}"
            raise EditError(text, path=place)
    return "/".join(parts)


# ------------------------------------------------------------------------ applying


def patched(
    tree: Any, patch: Any, context: Context, same: Callable[[Any, Any], bool]
) -> Any:
    """Return a tree to which a JSON Patch is applied.

    Args:
        tree: The tree.
        patch: The patch: a text, or the list of operations.
        context: What is a leaf.
        same: Says whether two values are the same, for `test`.

    Raises:
        EditError: An operation is not one, or cannot be made.
    """
    listed = json.loads(patch) if isinstance(patch, str | bytes) else patch
    if not isinstance(listed, Sequence):
        raise EditError(f"a JSON Patch is a list of operations, got {clip(listed)}")
    for number, operation in enumerate(listed):
        try:
            tree = _applied(tree, operation, context, same)
        except EditError as error:
            raise EditError(f"operation {number}: {error}", path=error.path) from None
    return tree


def _applied(
    tree: Any, operation: Any, context: Context, same: Callable[[Any, Any], bool]
) -> Any:
    """Return a tree after one operation."""
    if not isinstance(operation, dict):
        raise EditError(f"it is not an object: {clip(operation)}")
    word, pointer = operation.get("op"), operation.get("path")
    value = copy.deepcopy(operation.get("value", MISSING))
    if word in ("add", "replace", "test") and value is MISSING:
        raise EditError("it has no 'value'")
    if word not in ("add", "copy", "move", "remove", "replace", "test"):
        raise EditError(f"unknown operation {clip(word)}")
    if word == "add":
        return _added(tree, pointer, value, context)
    source = operation.get("from") if word in ("copy", "move") else pointer
    path, found = _read(tree, source, context)
    if found is MISSING:
        raise EditError(f"no value at {path.where()}", path=path)
    if word == "replace":
        return rebuild(tree, [(path, Set(value))], context)
    if word == "test":
        if same(found, value):
            return tree
        raise mismatch(path, value, found)
    if word == "copy":
        return _added(tree, pointer, copy.deepcopy(found), context)
    if not path:
        raise EditError("the root cannot be removed", path=path)
    if word == "move" and str(pointer).startswith(f"{source}/"):
        raise EditError(f"{source!r} cannot be moved into itself")
    is_item = type(path[-1]) is SequenceKey
    rest = rebuild(tree, [(path, Move(None) if is_item else Delete())], context)
    return rest if word == "remove" else _added(rest, pointer, found, context)


def _added(tree: Any, pointer: Any, value: Any, context: Context) -> Any:
    """Return a tree with a value added, or set where something is in a mapping."""
    path, old = _read(tree, pointer, context)
    edit: Edit = Insert(value) if old is MISSING else Set(value)
    if path and type(path[-1]) is SequenceKey:
        edit = Insert(value, path[-1].idx)
    return rebuild(tree, [(path, edit)], context)


def mismatch(path: KeyPath, wanted: Any, found: Any) -> EditError:
    """Return the error about a value that is not there, but another one."""
    text = f"expected {clip(wanted)} at {path.where()}, found {clip(found)}"
    return EditError(text, path=path)


def _read(tree: Any, pointer: Any, context: Context) -> tuple[KeyPath, Any]:
    """Return the path of a JSON Pointer in a tree, and the value there.

    The value is MISSING where nothing is, and something can be added.

    Raises:
        EditError: It is not a pointer, or leads nowhere.
    """
    if type(pointer) is not str or not re.fullmatch("(/([^~/]|~[01])*)*", pointer):
        raise EditError(f"not a JSON Pointer: {clip(pointer)}")
    path, node = KeyPath(), tree
    for part in pointer.split("/")[1:]:
        where, token = path.where(), part.replace("~1", "/").replace("~0", "~")
        if node is MISSING:
            raise EditError(f"no value at {where}", path=path)
        rule = context.rule_of(node, path)
        if rule is None or not (rule.is_mapping or rule.is_sequence):
            raise EditError(
                f"{clip(token)} goes into {clip(node)} ({type_name(node)}), which has "
                f"no members, at {where}",
                path=path,
            )
        entries = rule.entries(node)
        key: Any = DictKey(token)
        if rule.is_sequence:
            if token != "-" and not re.fullmatch("0|[1-9][0-9]*", token):
                raise EditError(f"{token!r} is not a position, at {where}", path=path)
            key = SequenceKey(len(entries) if token == "-" else int(token))
            if key.idx > len(entries):
                text = f"position {token} is beyond the end of the list at {where}"
                raise EditError(text, path=path)
        path = path_below(path, key)
        node = entries.get(key.entry, MISSING)
    return path, node

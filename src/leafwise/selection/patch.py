"""JSON Patches: changes as operations of RFC 6902, and trees after such operations.

Owns the operations and the pointers of RFC 6901 that they have. Operations come one
after another, each for the tree that the last one left; changes are all those of one
tree. How nodes are edited is known to `rebuild`.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NoReturn

from ..core.keypath import KeyPath, path_below
from ..core.keys import DictKey, SequenceKey
from ..errors import EditError
from ..ops.context import Context, context_of
from ..safely import clip, type_name
from .edit import Delete, Edit, Insert, Move, Set, entries_of, rebuild


if TYPE_CHECKING:
    from .diff import Change


# ------------------------------------------------------------------------ writing


def operations(changes: Iterable[Change]) -> list[dict[str, Any]]:
    """Return changes as operations, in an order in which they can be made.

    Operations that do not depend on list positions come first, then lists from the
    deepest up, so paths above stay valid.

    Raises:
        EditError: JSON has no such key or value.
    """
    made: list[dict[str, Any]] = []
    lists: dict[KeyPath, list[Change]] = {}
    for change in changes:
        path, kind = change.path, change.kind
        if kind in _OF_ITEMS and type(path[-1]) is SequenceKey:
            lists.setdefault(path.parent, []).append(change)
        elif kind == "removed":
            made.append(_operation("remove", path))
        else:
            word = "add" if kind == "added" else "replace"
            made.append(_operation(word, path, change.after))
    for path in sorted(lists, key=len, reverse=True):
        made += _of_list(path, lists[path])
    return made


_OF_ITEMS: Final = {"added", "removed", "moved"}


def _operation(word: str, path: KeyPath, *value: Any) -> dict[str, Any]:
    made = {"op": word, "path": _pointer(path)}
    return {**made, "value": _checked(value[0], path)} if value else made


def _of_list(path: KeyPath, changes: Sequence[Change]) -> Iterator[dict[str, Any]]:
    """Yield the operations on one list: removals from the end, then additions.

    An item that moves is removed and added.
    """
    gone = [c.path[-1].idx for c in changes if c.kind != "added"]
    for place in sorted(gone, reverse=True):
        yield _operation("remove", path_below(path, SequenceKey(place)))
    new = [
        (c.path[-1].idx if c.kind == "added" else c.index or 0, c.after)
        for c in changes
        if c.kind != "removed"
    ]
    for place, value in sorted(new, key=itemgetter(0)):
        yield _operation("add", path_below(path, SequenceKey(place)), value)


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
            what = f"the key {clip(getattr(key, 'entry', key))}"
            _refuse(what, path[: depth + 1])
    return "/".join(parts)


def _checked(value: Any, path: KeyPath) -> Any:
    """Return a value that JSON can hold.

    Raises:
        EditError: JSON has no such value.
    """
    is_leaf = lambda node: type(node) not in (dict, list) or not node  # noqa: E731
    leaves, treedef = context_of(is_leaf, none_is_leaf=True).flatten(value)
    for below, leaf in zip(treedef.paths(), leaves, strict=True):
        place = KeyPath(path + below)
        _pointer(place)
        is_finite = type(leaf) is not float or math.isfinite(leaf)
        if type(leaf) not in _JSON_TYPES or not is_finite:
            _refuse(f"{clip(leaf)} ({type_name(leaf)})", place)
    return value


_JSON_TYPES: Final = frozenset({str, int, float, bool, type(None), dict, list})


def _refuse(what: str, path: KeyPath) -> NoReturn:
    raise EditError(f"JSON cannot hold {what} at {path.where()}", path=path)


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
    word, pointer = operation.get("op"), _member(operation, "path")
    if word == "add":
        return _put(tree, pointer, _value(operation), context)
    if word in ("move", "copy"):
        source = _member(operation, "from")
        if word == "move" and pointer.startswith(f"{source}/"):
            raise EditError(f"{source!r} cannot be moved into itself")
        path, value = _found(tree, source, context)
        if word == "copy":
            return _put(tree, pointer, copy.deepcopy(value), context)
        if pointer == source:
            return tree
        return _put(_removed(tree, path, context), pointer, value, context)
    if word not in ("remove", "replace", "test"):
        raise EditError(f"unknown operation {clip(word)}")
    path, value = _found(tree, pointer, context)
    if word == "remove":
        return _removed(tree, path, context)
    wanted = _value(operation)
    if word == "replace":
        return rebuild(tree, [(path, Set(wanted))], context)
    if not same(value, wanted):
        raise EditError(
            f"expected {clip(wanted)} at {path.where()}, found {clip(value)}",
            path=path,
        )
    return tree


def _member(operation: dict[str, Any], name: str) -> str:
    found = operation.get(name)
    if type(found) is not str:
        raise EditError(f"its {name!r} is not a JSON Pointer: {clip(found)}")
    return found


def _value(operation: dict[str, Any]) -> Any:
    if "value" not in operation:
        raise EditError("it has no 'value'")
    return copy.deepcopy(operation["value"])


def _tokens(pointer: str) -> list[str]:
    """Return the parts of a JSON Pointer.

    Raises:
        EditError: It is none.
    """
    first, *parts = pointer.split("/")
    unescaped = pointer.replace("~0", "").replace("~1", "")
    if first or "~" in unescaped:
        raise EditError(f"not a JSON Pointer: {clip(pointer)}")
    return [part.replace("~1", "/").replace("~0", "~") for part in parts]


def _found(tree: Any, pointer: str, context: Context) -> tuple[KeyPath, Any]:
    """Return the path of a JSON pointer in a tree, and the value there.

    Raises:
        EditError: Nothing is there.
    """
    path, node = KeyPath(), tree
    for token in _tokens(pointer):
        key, children = _step(node, token, path, context)
        path = path_below(path, key)
        if key.entry not in children:
            raise EditError(f"no value at {path.where()}", path=path)
        node = children[key.entry]
    return path, node


def _step(node: Any, token: str, path: KeyPath, context: Context) -> tuple[Any, Any]:
    """Return the key that a token means in a node, and the children by such keys."""
    rule = context.rule_of(node, path)
    if rule is None or not (rule.is_mapping or rule.is_sequence):
        raise EditError(
            f"{clip(token)} goes into {clip(node)} ({type_name(node)}), which has no "
            f"members, at {path.where()}",
            path=path,
        )
    children = entries_of(node, rule)
    if rule.is_mapping:
        return DictKey(token), children
    is_index = token.isascii() and token.isdigit() and str(int(token)) == token
    if not is_index and token != "-":
        raise EditError(f"{token!r} is not a position, at {path.where()}", path=path)
    return SequenceKey(int(token) if is_index else len(children)), children


def _put(tree: Any, pointer: str, value: Any, context: Context) -> Any:
    """Return a tree with a value added.

    Raises:
        EditError: Nothing can be added there.
    """
    if not pointer:
        return value
    above, _, last = pointer.rpartition("/")
    path, node = _found(tree, above, context)
    key, children = _step(node, _tokens(f"/{last}")[0], path, context)
    edit: Edit = Insert(value)
    if type(key) is SequenceKey:
        edit = Insert(value, key.idx)
        if key.idx > len(children):
            raise EditError(
                f"position {key.idx} is beyond the end of the list at {path.where()}",
                path=path,
            )
    elif key.key in children:
        edit = Set(value)
    return rebuild(tree, [(path_below(path, key), edit)], context)


def _removed(tree: Any, path: KeyPath, context: Context) -> Any:
    """Return a tree without the node or leaf at a place.

    Raises:
        EditError: It is the tree itself.
    """
    if not path:
        raise EditError("the root cannot be removed", path=path)
    edit = Move(None) if type(path[-1]) is SequenceKey else Delete()
    return rebuild(tree, [(path, edit)], context)

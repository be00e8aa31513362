"""JSON Patch (RFC 6902): changes written as operations, and operations applied.

A pointer is a pattern of names and positions, and an operation is an edit like any
other: so both go through dicts, lists and the fields of objects, as selectors do, and
the classes of objects decide what they allow.
"""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from .._records import MISSING
from .._text import short_repr
from ..core.context import Context
from ..core.keypath import ROOT, KeyPath, path_below
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.registry import View
from ..equality.leaves import Comparison
from ..errors import EditError
from .changes import (
    Delete,
    Edit,
    Edited,
    Insert,
    Move,
    Set,
    entries_of,
    insertions,
    item_key,
    rebuild,
)
from .compare import differ, mismatch
from .convert import Converter, Declared, text_of
from .explain import Change
from .patterns import Step, place_text, token_step
from .select import Place, along, fields_of, find, require


# ------------------------------------------------------------------------- written


def operations(changes: Iterable[Change], view: View) -> list[dict[str, Any]]:
    """Return changes as operations, in an order in which they can be made.

    Operations that do not depend on list positions come first, then lists from the
    deepest up, so paths above stay valid. In a list, items are removed from the end,
    and then added; an item that moves is removed and added.

    Raises:
        EditError: JSON has no such key or value.
    """
    rows: list[tuple[str, KeyPath, Any]] = []
    by_list: dict[KeyPath, list[Change]] = {}
    for change in changes:
        if change.index is not None and type(change.path[-1]) is SequenceKey:
            by_list.setdefault(change.path.parent, []).append(change)
        else:
            word = {"added": "add", "removed": "remove"}.get(change.kind, "replace")
            rows.append((word, change.path, change.after))
    for path in sorted(by_list, key=len, reverse=True):
        removed = [change.path for change in by_list[path] if change.kind != "added"]
        removed.sort(key=lambda item_path: item_path[-1].idx, reverse=True)
        rows += [("remove", item_path, MISSING) for item_path in removed]
        added = [change for change in by_list[path] if change.kind != "removed"]
        for change in sorted(added, key=attrgetter("index")):
            key = SequenceKey(change.index)  # type: ignore[arg-type]  # it has one
            rows.append(("add", path_below(path, key), change.after))
    result: list[dict[str, Any]] = []
    for word, path, value in rows:
        operation = {"op": word, "path": _pointer(path)}
        if value is not MISSING:
            operation["value"] = _json_value(value, path, view)
        result.append(operation)
    return result


def _pointer(path: KeyPath) -> str:
    pointer = ""
    for depth, key in enumerate(path):
        token = str(_token(key, path[: depth + 1]))
        escaped = token.replace("~", "~0").replace("/", "~1")
        pointer += f"/{escaped}"
    return pointer


def _token(key: Any, path: KeyPath) -> str | int:
    """Return the name or position that JSON has for a key, the last one of a path.

    Raises:
        EditError: It has none.
    """
    entry = getattr(key, "entry", key)
    is_name = type(key) in (DictKey, GetAttrKey) and type(entry) is str
    if is_name or type(key) is SequenceKey:
        return entry  # type: ignore[no-any-return]  # as was tested
    text = f"JSON cannot hold the key {short_repr(entry)} at {place_text(path)}"
    raise EditError(text, path=path)


def _json_value(value: Any, path: KeyPath, view: View) -> Any:
    """Return a value as JSON has it: a tuple is a list, an object has its fields.

    Raises:
        EditError: It has none.
    """
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    node_type = view.resolve(type(value))
    key_class: Any = None
    members = {}
    if node_type is not None:
        key_class = item_key(value, node_type)
        if key_class is None:
            members = fields_of(value, node_type)
        else:
            entries = entries_of(value, node_type)
            members = {key_class(entry): item for entry, item in entries.items()}
    if key_class is None and not members:
        text = f"JSON cannot hold {short_repr(value)} ({type(value).__name__})"
        raise EditError(f"{text} at {place_text(path)}", path=path)
    table: dict[Any, Any] = {}
    for key, member in members.items():
        place = path_below(path, key)
        table[_token(key, place)] = _json_value(member, place, view)
    return list(table.values()) if key_class is SequenceKey else table


# ------------------------------------------------------------------------- applied


def patched(tree: Any, patch: Any, context: Context) -> Any:
    """Return a tree to which a JSON Patch is applied.

    Args:
        tree: The tree.
        patch: The patch: a text, or the list of operations.
        context: What is a leaf.

    Raises:
        EditError: The patch is no list, or some operations cannot be made. The message
            has each of them; the other operations are tried as if these were not there.
        Exception: What the validation of a class raises, with a note of the path.
    """
    operations = json.loads(patch) if isinstance(patch, str | bytes) else patch
    if not isinstance(operations, Sequence):
        text = short_repr(operations)
        raise EditError(f"a JSON Patch is a list of operations, got {text}")
    patching = _Patching(tree, context)
    errors: list[EditError] = []
    lines: list[str] = []
    for number, operation in enumerate(operations):
        try:
            patching.apply(operation)
        except EditError as error:
            errors.append(error)
            lines.append(f"operation {number}: {error}")
    if len(errors) > 1:
        lines.insert(0, f"{len(errors)} of {len(operations)} operations cannot be made")
    if errors:
        raise EditError("\n  ".join(lines), path=errors[0].path)
    patching.record.validate()
    return patching.tree


class _Patching:
    """A tree to which the operations of one patch are applied.

    Attributes:
        tree: The tree.
        record: The objects that were made.
    """

    def __init__(self, tree: Any, context: Context) -> None:
        self.tree = tree
        self.record = Edited()
        self._context = context
        self._converter = Converter(context.view)
        self._copies: dict[int, Any] = {}  # see `changes.rebuild`

    def apply(self, operation: Any) -> None:
        """Apply one operation.

        Raises:
            EditError: It is no operation, or cannot be made.
        """
        if not isinstance(operation, Mapping):
            raise EditError(f"it is not an object: {short_repr(operation)}")
        word = operation.get("op")
        pointer = operation.get("path")
        source = operation.get("from")
        if word in ("add", "replace", "test") and "value" not in operation:
            raise EditError("it has no 'value'")
        value = copy.deepcopy(operation.get("value"))
        match word:
            case "add":
                self.add(pointer, value)
            case "copy":
                self.add(pointer, copy.deepcopy(self.find(source).value))
            case "move":
                place = self.find(source)
                if str(pointer).startswith(f"{source}/"):
                    raise EditError(f"{source!r} cannot be moved into itself")
                self.remove(place)
                self.add(pointer, place.value)
            case "remove":
                self.remove(self.find(pointer))
            case "replace":
                place = self.find(pointer)
                self.edit(place, Set(self.typed(place, value)))
            case "test":
                place = self.find(pointer)
                expected = self.typed(place, value)
                if differ(place.value, expected, self._context, Comparison()):
                    raise mismatch(place.path, value, place.value)
            case _:
                raise EditError(f"unknown operation {short_repr(word)}")

    def find(self, pointer: Any) -> Place:
        """Return the place that a pointer leads to.

        Raises:
            EditError: It is not a pointer, or leads nowhere.
        """
        selector = along(pointer, _steps(pointer))
        return require(selector, self.tree, self._context)[0]

    def add(self, pointer: Any, value: Any) -> None:
        """Insert a value, or set it where something has a name."""
        steps = _steps(pointer)
        places = find(self.tree, steps, self._context)
        if places and type(places[0].link.key) is not SequenceKey:
            self.edit(places[0], Set(self.typed(places[0], value)))
            return
        parents = require(along(pointer, steps[:-1]), self.tree, self._context)
        [(path, _)] = insertions(parents[:1], steps[-1], value, self._context)
        place = Place(path, MISSING)
        insert = Insert(self.typed(place, value), getattr(path[-1], "idx", None))
        try:
            self.edit(place, insert)
        except EditError:
            if type(path[-1]) is GetAttrKey:  # the names that there are say more
                require(along(pointer, steps), self.tree, self._context)
            raise

    def remove(self, place: Place) -> None:
        """Remove what is at a place."""
        if place.link.above is None:
            raise EditError("the root cannot be removed", path=ROOT)
        is_item = type(place.link.key) is SequenceKey
        self.edit(place, Move(None) if is_item else Delete())

    def edit(self, place: Place, edit: Edit) -> None:
        """Make an edit, which copies the nodes above it, but each only once."""
        edits = [(place.where, edit)]
        self.tree = rebuild(self.tree, edits, self._context, self.record, self._copies)

    def typed(self, place: Place, value: Any) -> Any:
        """Return a value of JSON as the declared type, or the class there, asks."""
        declared = self._converter.declared_at(self.tree, place.path)
        cls = type(place.value)
        is_record = isinstance(value, dict) and self._converter.is_record(cls)
        if declared.type is MISSING and is_record:
            declared = Declared(cls)
        if hasattr(place.value, "dtype"):
            declared = declared._replace(converts=True)  # arrays take what they like
        return self._converter.convert_at(place, value, text_of(value), declared)


def _steps(pointer: Any) -> list[Step]:
    """Return the steps of a pattern that a pointer is.

    Raises:
        EditError: It is not a pointer.
    """
    if type(pointer) is not str or not re.fullmatch("(/([^~/]|~[01])*)*", pointer):
        raise EditError(f"not a JSON Pointer: {short_repr(pointer)}")
    tokens = pointer.split("/")[1:]
    return [token_step(token.replace("~1", "/").replace("~0", "~")) for token in tokens]

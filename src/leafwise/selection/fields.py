"""Fields of objects: their names, and the types that they are declared with.

Owns what a mapping that is merged onto an object means, and which type a place in a
tree has by the annotations above it. How an object is made of values is defined in
`rebuild`, which values win in `merge`, how a text is read as a type in `values`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from ..core.keypath import KeyPath
from ..core.keys import DictKey, GetAttrKey
from ..core.node import Rule
from ..errors import EditError
from ..ops.context import Context
from ..safely import MISSING, brief, clip, nearest, type_name
from .find import keys_of, static_names
from .rebuild import (
    Delete,
    Edit,
    Insert,
    Set,
    children_by_key,
    with_children,
    with_extras,
)
from .values import child_hint, hints_of


__all__ = ["Laid", "declared_at", "fields_of", "laid_over"]


class Laid:
    """An object with a mapping that is merged onto it.

    Attributes:
        keys: The keys of its fields, and the added keys.
        columns: The values of the object and of the mapping at these keys. For fields
            that the mapping does not have, both values are the same.
        is_fixed: Whether all keys must remain.
    """

    __slots__ = ("_node", "_rule", "_spot", "columns", "is_fixed", "keys")

    def __init__(
        self,
        spot: Any,
        node: Any,
        rule: Rule,
        fields: Mapping[str, Any],
        table: Mapping[Any, Any],
    ) -> None:
        self._spot = spot
        self._node = node
        self._rule = rule
        names = dict.fromkeys([*fields, *table])
        old = [fields.get(name, MISSING) for name in names]
        new = [table.get(name, value) for name, value in zip(names, old, strict=True)]
        self.keys = [*map(GetAttrKey, names)]
        self.columns = old, new
        self.is_fixed = rule.extras is None or rule.extras(node) is None

    def made(self, keys: Sequence[Any], values: Sequence[Any]) -> Any:
        """Return the object with the values that remain."""
        kept = dict(zip(keys, values, strict=True))
        edits: list[tuple[Any, Edit]] = []
        for key, old in zip(self.keys, self.columns[0], strict=True):
            value = kept.get(key, MISSING)
            if value is old:
                continue
            if value is MISSING:
                edits.append((key, Delete()))
            else:
                edits.append((key, Insert(value) if old is MISSING else Set(value)))
        if not edits:
            return self._node
        if self.is_fixed:
            return with_children(self._node, self._rule, edits)
        return with_extras(self._spot.link, self._node, self._rule, edits)


def fields_of(node: Any, rule: Rule) -> dict[str, Any]:
    """Return the fields of an object by name; none if its children have other keys."""
    keys = keys_of(node, rule)
    if any(type(key) is not GetAttrKey for key in keys):
        return {}
    children = rule.flatten(node)[0]
    fields = {key.name: child for key, child in zip(keys, children, strict=True)}
    fields.update((name, getattr(node, name)) for name in static_names(node, rule))
    return fields


def laid_over(
    spot: Any,
    node: Any,
    rule: Rule,
    table: Mapping[Any, Any],
    *,
    join: str,
    is_decided: bool,
) -> Laid | None:
    """Return an object with a mapping merged into it; None if one of them wins.

    Args:
        spot: The place of the object.
        node: The object.
        rule: Its rule.
        table: The values of the mapping.
        join: Which keys remain: names that are no fields are dropped where those of
            the object decide.
        is_decided: Whether a rule says which wins if a name is no field.

    Raises:
        EditError: A name is no field, and no rule decides.
    """
    fields = fields_of(node, rule)
    if not fields:
        return None
    unknown = [name for name in table if name not in fields]
    if unknown:
        if join in ("left", "inner"):
            table = {name: x for name, x in table.items() if name in fields}
        elif rule.extras is None or rule.extras(node) is None:
            if is_decided:
                return None
            raise _no_field(spot.path, node, unknown[0], fields)
    return Laid(spot, node, rule, fields, table)


_SHOWN: Final = 5


def _no_field(
    path: KeyPath, node: Any, name: Any, fields: Mapping[str, Any]
) -> EditError:
    near = nearest(str(name), fields)
    more = f" and {len(near) - _SHOWN} more" if len(near) > _SHOWN else ""
    key = GetAttrKey(name) if isinstance(name, str) else DictKey(name)
    return EditError(
        f"the {type_name(node)} at {path.where()} has no field {clip(name)}; it has "
        f"{brief(near[:_SHOWN])}{more}",
        path=KeyPath((*path, key)),
    )


# ------------------------------------------------------------------- declared types


Declared: TypeAlias = dict[str, tuple[Any, bool]]


def declared_at(
    tree: Any, path: KeyPath, context: Context, known: dict[type, Declared]
) -> tuple[Any, bool]:
    """Return the annotation for a place in a tree, `Any` if there is none.

    Args:
        tree: The tree.
        path: The place.
        context: What is a leaf.
        known: A cache of facts about classes, which is extended.

    Returns:
        The annotation, and whether the class of the parent converts its arguments.
    """
    node, hint, converts = tree, Any, False
    for key in path:
        rule: Any = context.view.resolve(type(node))
        if isinstance(key, GetAttrKey):
            cls = type(node)
            if cls not in known:
                known[cls] = _declared(cls, rule)
            hint, converts = known[cls].get(key.name, (Any, False))
        else:
            hint, converts = child_hint(hint, key.entry), False
        node = children_by_key(node, context)(key)
    return hint, converts


def _declared(cls: Any, rule: Rule) -> Declared:
    """Return the annotations of a class, as far as they can be read."""
    found = {name: (hint, False) for name, hint in hints_of(cls).items()}
    if rule.declared is not None:
        found.update(rule.declared(cls))
    return found

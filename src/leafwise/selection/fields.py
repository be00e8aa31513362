"""Fields of objects: their names, and the types that they are declared with.

Owns which fields an object has, and which type a place in a tree has by the annotations
above it. How an object is made of values is defined in `rebuild`, how a text is read as
a type in `values`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from ..core.keypath import KeyPath
from ..core.keys import DictKey, GetAttrKey
from ..core.node import Rule
from ..errors import EditError
from ..ops.context import Context
from ..safely import brief, clip, nearest, type_name
from .find import keys_of, static_names
from .rebuild import children_by_key
from .values import child_hint, hints_of


def fields_of(node: Any, rule: Rule) -> dict[str, Any]:
    """Return the fields of an object by name; none if its children have other keys."""
    keys = keys_of(node, rule)
    if any(type(key) is not GetAttrKey for key in keys):
        return {}
    children = rule.flatten(node)[0]
    fields = {key.name: child for key, child in zip(keys, children, strict=True)}
    fields.update((name, getattr(node, name)) for name in static_names(node, rule))
    return fields


_SHOWN: Final = 5


def no_field(
    path: KeyPath, node: Any, name: Any, fields: Mapping[str, Any]
) -> EditError:
    """Return the error for a name that an object has no field for."""
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

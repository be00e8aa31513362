"""A TOML text with other values, written by tomlkit.

Owns how the containers of tomlkit are changed so that comments, order, dotted keys and
the forms of tables stay.
"""

from __future__ import annotations

import importlib
from typing import Any

from .parts import GONE, LEAF, Entry, Part, Unkept, same, steps


__all__ = ["rewrite"]


def rewrite(text: str, old: Any, new: Any) -> str:
    """Return a TOML text with another tree.

    Args:
        text: The text.
        old: What it is read as.
        new: A dict.
    """
    tomlkit = importlib.import_module("tomlkit")
    document = tomlkit.parse(text)
    _change(document, old, new)
    return str(tomlkit.dumps(document))


def _change(node: Any, old: Any, new: Any) -> None:
    is_list = type(old) is list
    entries = [
        Entry(None if is_list else key, 0, 0, 0, _ANY, 0)
        for key in (range(len(old)) if is_list else old)
    ]
    part = Part(LEAF, 0, 0, entries, is_list)
    plan = steps(part, old, new)
    (_change_list if is_list else _change_table)(node, old, new, plan)


_ANY = Part(LEAF, 0, 0)


def _change_table(node: Any, old: Any, new: Any, plan: Any) -> None:
    keys = list(old)
    for place, key in plan:
        if place is None:
            node[key] = new[key]
        elif key is GONE:
            del node[keys[place]]
        elif key != keys[place]:
            raise Unkept
        else:
            _replace(node, key, old[key], key, new[key])


def _replace(node: Any, at: Any, old: Any, key: Any, new: Any) -> None:
    if same(old, new):
        return
    if type(old) is type(new) and isinstance(old, dict | list):
        _change(node[at], old, new)
    else:
        node[at] = new


def _change_list(node: Any, old: Any, new: Any, plan: Any) -> None:
    at = 0
    for place, key in plan:
        if place is None:
            node.insert(at, new[key])
        elif key is GONE:
            del node[at]
            continue
        else:
            _replace(node, at, old[place], key, new[key])
        at += 1

"""A value for anything that comes out of a call, different wherever two results are.

Owns the comparison of results: by exact type, order, aux data and bits, never by what
the values themselves say about `==`.
"""

import dataclasses
import math
import time
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np

import leafwise as lw
from leafwise import nn
from leafwise.typing import Difference

from . import odd


def told(value: Any) -> Any:
    """Return tuples of texts that differ wherever two values do."""
    kind = type(value)
    tell = _TELLERS.get(kind)
    if tell is not None:
        return tell(value)
    for base, tell in _BASES:
        if isinstance(value, base):
            return (kind.__name__, *tell(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _dataclass(value)
    if isinstance(value, type) or callable(value):
        return "named", getattr(value, "__qualname__", kind.__name__)
    return kind.__name__, repr(value)


def _bare(value: Any) -> Any:
    return type(value).__name__, repr(value)


def _number(value: float) -> Any:
    if math.isnan(value):
        return ("float", "nan")
    return "float", repr(value)


def _items(value: Any) -> Any:
    return type(value).__name__, [*map(told, value)]


def _pairs(value: Any) -> Any:
    return [(told(key), told(item)) for key, item in value.items()]


def _array(value: Any) -> Any:
    return "array", str(value.dtype), value.shape, value.tobytes()


def _struct(value: time.struct_time) -> Any:
    return (
        "struct_time",
        [*map(told, value)],
        told(value.tm_zone),
        told(value.tm_gmtoff),
    )


def _dataclass(value: Any) -> Any:
    fields = dataclasses.fields(value)
    return type(value).__name__, [told(getattr(value, f.name, None)) for f in fields]


def _object(value: lw.Pytree) -> Any:
    kinds = [(name, kind.value) for name, kind in nn.name_to_kind(value).items()]
    return kinds, _pairs(vars(value))


def _treedef(value: lw.PyTreeDef) -> Any:
    paths = [[told_key(key) for key in path] for path in value.paths()]
    try:
        rebuilt = told(value.unflatten(range(value.num_leaves)))
    except Exception as error:
        rebuilt = failure(error)
    counts = value.num_leaves, value.num_nodes, value.num_children
    mode = value.none_is_leaf, value.namespace
    return "PyTreeDef", repr(value), counts, mode, paths, rebuilt


def told_key(key: Any) -> Any:
    """Return the class of a key and what it holds."""
    values = getattr(key, "_values", None)
    return type(key).__name__, told(values()[0]) if values else repr(key)


_TELLERS: dict[type, Callable[[Any], Any]] = {
    **dict.fromkeys((int, str, bool, bytes, complex, type(None), range), _bare),
    float: _number,
    **dict.fromkeys((list, tuple, odd.Items, odd.LooksNamed), _items),
    **dict.fromkeys((odd.Pair, odd.Other, odd.Noted), _items),
    dict: lambda value: ("dict", _pairs(value)),
    OrderedDict: lambda value: ("OrderedDict", _pairs(value)),
    odd.Table: lambda value: ("Table", _pairs(value)),
    defaultdict: lambda value: (
        "defaultdict",
        told(value.default_factory),
        _pairs(value),
    ),
    deque: lambda value: ("deque", value.maxlen, [*map(told, value)]),
    frozenset: lambda value: ("frozenset", sorted(map(repr, value))),
    set: lambda value: ("set", sorted(map(repr, value))),
    odd.LooksBuiltIn: lambda value: (*_items(value), told(value.note)),
    np.ndarray: _array,
    time.struct_time: _struct,
    lw.KeyPath: lambda value: ("KeyPath", [*map(told_key, value)]),
    lw.PyTreeDef: _treedef,
    lw.Partial: lambda value: (
        "Partial",
        told(value.func),
        told(value.args),
        told(value.keywords),
    ),
}
_BASES: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (odd.Labelled, lambda value: (told(value.label),)),
    (odd.Node, lambda value: ([*map(told, value.kids)], told(value.aux))),
    (nn.List, lambda value: ([*map(told, value)], _kinds(value))),
    (nn.Dict, lambda value: (_pairs(value), _kinds(value))),
    (nn.Variable, lambda value: (told(value.get_raw_value()), value.get_metadata())),
    (lw.Pytree, _object),
    (Difference, lambda value: (str(value), told(value.path))),
    (np.generic, lambda value: (str(value.dtype), value.tobytes())),
)


def _kinds(value: Any) -> Any:
    leaves, treedef = lw.tree_flatten(value, is_leaf=lambda node: node is not value)
    return [*map(str, treedef.paths())], len(leaves)


def failure(error: BaseException) -> Any:
    """Return the type of an error, its text and its notes."""
    return type(error).__name__, str(error), getattr(error, "__notes__", None)


def outcome(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Return what is to be told of what a call gives or raises."""
    try:
        return told(function(*args, **options))
    except Exception as error:
        return failure(error)

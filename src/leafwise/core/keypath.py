"""Keys and key paths: how a place in a tree is named.

Owns the four key classes and `KeyPath`, the tuple of keys from the root down
to a node. The names and the text are those of `jax.tree_util`, so that a path
reads the same in both. Knows nothing of nodes or registries.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .frozen import Frozen


__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyPath",
    "SequenceKey",
    "as_key",
    "keystr",
    "sequence_keys",
]


class SequenceKey(Frozen):
    """The place of a child in a list, tuple or deque.

    Args:
        idx: The position, counted from 0.

    Example:
        >>> import leafwise as lw
        >>> str(lw.SequenceKey(2))
        '[2]'
    """

    __slots__ = ("idx",)
    __match_args__ = ("idx",)

    idx: int

    def __init__(self, idx: int) -> None:
        self._set(idx)

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


class DictKey(Frozen):
    """The key of a child in a dict, `OrderedDict` or `defaultdict`.

    Args:
        key: Any hashable object.

    Example:
        >>> import leafwise as lw
        >>> str(lw.DictKey("a"))
        "['a']"
    """

    __slots__ = ("key",)
    __match_args__ = ("key",)

    key: Any

    def __init__(self, key: Any) -> None:
        self._set(key)

    def __str__(self) -> str:
        return f"[{self.key!r}]"


class GetAttrKey(Frozen):
    """The attribute that holds a child.

    Args:
        name: The attribute's name.

    Example:
        >>> import leafwise as lw
        >>> str(lw.GetAttrKey("weight"))
        '.weight'
    """

    __slots__ = ("name",)
    __match_args__ = ("name",)

    name: str

    def __init__(self, name: str) -> None:
        self._set(name)

    def __str__(self) -> str:
        return f".{self.name}"


class FlattenedIndexKey(Frozen):
    """The place of a child in a class that was registered without keys.

    Args:
        key: The position among the children, counted from 0.

    Example:
        >>> import leafwise as lw
        >>> str(lw.FlattenedIndexKey(0))
        '[<flat index 0>]'
    """

    __slots__ = ("key",)
    __match_args__ = ("key",)

    key: int

    def __init__(self, key: int) -> None:
        self._set(key)

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


def keystr(keys: Iterable[Any]) -> str:
    """Return the text of a key path: the text of its keys, joined.

    Args:
        keys: The keys from the root down.

    Example:
        >>> import leafwise as lw
        >>> lw.keystr((lw.DictKey("layers"), lw.SequenceKey(0), lw.GetAttrKey("w")))
        "['layers'][0].w"
    """
    return "".join(map(str, keys))


class KeyPath(tuple[Any, ...]):
    """The keys that lead from the root of a tree to one of its nodes.

    A tuple with a text: `str(path)` is what `keystr` gives.

    Example:
        >>> import leafwise as lw
        >>> path = lw.KeyPath((lw.DictKey("a"), lw.SequenceKey(1)))
        >>> print(path)
        ['a'][1]
    """

    __slots__ = ()

    def __str__(self) -> str:
        return keystr(self)

    def __repr__(self) -> str:
        return f"KeyPath({tuple.__repr__(self)})"

    def where(self) -> str:
        """Return the place in words, for messages.

        Example:
            >>> import leafwise as lw
            >>> lw.KeyPath(()).where(), lw.KeyPath((lw.SequenceKey(0),)).where()
            ('the root', '[0]')
        """
        return keystr(self) or "the root"


def as_key(key: Any) -> Any:
    """Turn what a flatten function gave as a key into a key object.

    A string names an attribute and an int a position; anything else is a key
    object of its class already, with a text of its own.
    """
    if type(key) is str:
        return GetAttrKey(key)
    if type(key) is int:
        return SequenceKey(key)
    return key


_SHARED = tuple(map(SequenceKey, range(64)))


def sequence_keys(length: int) -> tuple[SequenceKey, ...]:
    """Return the keys of a sequence of that length."""
    if length <= len(_SHARED):
        return _SHARED[:length]
    return _SHARED + tuple(map(SequenceKey, range(len(_SHARED), length)))

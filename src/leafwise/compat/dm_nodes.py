"""Which values are nodes in dm-tree, and when two structures are the same there.

Owns the rules of the namespace that `dm_tree` walks by, and the comparisons of
structures that its functions make.

What a value is depends on its type: mappings, with their keys sorted; sequences other
than text and bytes; views of mappings; named tuples; classes of attrs; and proxies of
wrapt, which are what they wrap. Everything else is a leaf, None included.
"""

from __future__ import annotations

import sys
from collections import ChainMap, Counter, UserString, defaultdict
from collections.abc import (
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    MappingView,
    Sequence,
)
from types import MappingProxyType
from typing import Any, Final

from .._text import clip, described, type_name
from ..core.context import Context
from ..core.keys import DictKey, GetAttrKey, sequence_keys
from ..core.node import Rule
from ..core.registry import declare_namespace, remembering, view_of


__all__ = ["check_pair", "check_same", "context", "rule_of", "values_up_to"]

NAMESPACE: Final = "leafwise.compat.dm_tree"
Path = tuple[Any, ...]


# ------------------------------------------------------------------------- rules


class _MappingNode(Rule):
    """Mappings. The aux data: the keys as inserted, the sorted keys, the factory."""

    name = "mapping"

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        own = tuple(node)
        keys = tuple(sorted(own))
        factory = node.default_factory if isinstance(node, defaultdict) else None
        return [node[key] for key in keys], (own, keys, factory)

    def unflatten(self, aux: Any, children: Any) -> Any:
        own, keys, factory = aux
        table = dict(zip(keys, children, strict=True))
        pairs = [(key, table[key]) for key in own]
        if issubclass(self.cls, defaultdict):
            return self.cls(factory, pairs)
        make: Any = self.cls
        return make(dict(pairs) if issubclass(self.cls, _FROM_DICTS) else pairs)

    def keys(self, aux: Any, _arity: int) -> Sequence[Any]:
        return [*map(DictKey, aux[1])]


_FROM_DICTS: Final = (MappingProxyType, ChainMap, Counter)


class _SequenceNode(Rule):
    """Sequences, made by a call with a list of the children; views become lists."""

    name = "sequence"

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        return [*node], None

    def unflatten(self, _aux: Any, children: Any) -> Any:
        make: Any = self.cls
        return children if issubclass(self.cls, MappingView) else make(children)

    def keys(self, _aux: Any, arity: int) -> Sequence[Any]:
        return sequence_keys(arity)


class FieldsNode(Rule):
    """Named tuples and classes of attrs, made by a call with all fields.

    Args:
        cls: The class.
        names: The names of the fields.
        words: The names of the arguments, None where they are passed by position.
    """

    name = "fields"
    names: tuple[str, ...]
    words: tuple[str, ...] | None

    def __init__(
        self, cls: type, names: tuple[str, ...], words: tuple[str, ...] | None = None
    ) -> None:
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "words", words)
        super().__init__(cls)

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        return [getattr(node, name) for name in self.names], None

    def unflatten(self, _aux: Any, children: Any) -> Any:
        if self.words is None:
            return self.cls(*children)
        return self.cls(**dict(zip(self.words, children, strict=True)))

    def keys(self, _aux: Any, _arity: int) -> Sequence[Any]:
        return [*map(GetAttrKey, self.names)]


class _ProxyNode(Rule):
    """Proxies of wrapt around a node. The aux data: the rule of that, and its aux."""

    name = "proxy"

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        rule: Any = rule_of(node.__wrapped__)  # not None: see `context`
        children, aux = rule.flatten(node.__wrapped__)
        return children, (rule, aux)

    def unflatten(self, aux: Any, children: Any) -> Any:
        rule, inner = aux
        made = rule.unflatten(inner, children)
        make: Any = self.cls
        return made if isinstance(rule, FieldsNode) else make(made)

    def keys(self, aux: Any, arity: int) -> Sequence[Any]:
        rule, inner = aux
        return rule.keys(inner, arity)  # type: ignore[no-any-return]  # keys

    def same_aux(self, a: Any, b: Any) -> bool:
        return a[0] is b[0] and bool(a[0].same_aux(a[1], b[1]))

    def hash_aux(self, aux: Any) -> int:
        return hash(aux[0].hash_aux(aux[1]))


# --------------------------------------------------------- which rule a type has


_TEXT: Final = (str, bytes, bytearray, UserString)


def _rule_of_class(cls: Any) -> Rule | None:
    """Return the rule of a type that was not met before, one of its own."""
    if issubclass(cls, _TEXT):
        return None
    if _is_proxy(cls):
        return _ProxyNode(cls)
    if issubclass(cls, Mapping):
        return _MappingNode(cls)
    attributes = getattr(cls, "__attrs_attrs__", None)
    if isinstance(attributes, tuple):
        words = tuple(getattr(one, "alias", None) or one.name for one in attributes)
        return FieldsNode(cls, tuple(one.name for one in attributes), words)
    if _fields_of(cls):
        return FieldsNode(cls, tuple(cls._fields))
    return _SequenceNode(cls) if issubclass(cls, Sequence | MappingView) else None


declare_namespace(NAMESPACE, dispatch=remembering(_rule_of_class))


def _is_proxy(cls: type) -> bool:
    wrapt = sys.modules.get("wrapt")
    proxy = getattr(wrapt, "ObjectProxy", None)
    return isinstance(proxy, type) and issubclass(cls, proxy)


def _fields_of(cls: Any) -> bool:
    """Return whether a class is a named tuple, by its form."""
    fields = getattr(cls, "_fields", None)
    return (
        issubclass(cls, tuple)
        and isinstance(fields, Sequence)
        and all(isinstance(name, str) for name in fields)
    )


# ------------------------------------------------------------------------- walking


def rule_of(node: Any) -> Rule | None:
    """Return the rule of a node, None for a leaf."""
    rule = view_of(NAMESPACE, True).resolve(type(node))
    if type(rule) is _ProxyNode and rule_of(node.__wrapped__) is None:
        return None
    return rule


def context() -> Context:
    """Return the context of the rules of dm-tree; a proxy of a leaf is a leaf."""
    return Context(
        view_of(NAMESPACE, True),
        lambda node: _is_proxy(type(node)) and rule_of(node) is None,
    )


def _items(node: Any) -> Iterable[tuple[Any, Any]]:
    """Return keys and children of a node, or of whatever can be iterated over."""
    rule = rule_of(node)
    if rule is None or isinstance(rule, _SequenceNode):
        return enumerate(node)
    children, aux = rule.flatten(node)
    keys = rule.keys(aux, len(children))
    return zip([key.entry for key in keys], children, strict=True)


def values_up_to(
    shallow: Any, tree: Any, check: Callable[[Path, Any, Any], None] | None = None
) -> Generator[tuple[Path, Any]]:
    """Yield the path and subtree of a tree at each leaf of a shallow one.

    The tree may be of other types, deeper and wider. It is looked at no earlier than it
    has to be, so what comes before an error was yielded.

    Args:
        shallow: The shallow structure.
        tree: The tree.
        check: Refuses nodes: takes the path, a node of the structure, one of the tree.

    Raises:
        KeyError: The tree has no child under a key of the shallow one.
        TypeError: A part of the tree has no children at all.
    """
    if rule_of(shallow) is None:
        yield (), tree
        return
    frames: list[tuple[Path, Iterator[Any], dict[Any, Any]]] = []
    pending: Any = (), shallow, tree
    while pending or frames:
        if pending:
            if check is not None:
                check(*pending)
            at, node, value = pending
            frames.append((at, iter([*_items(node)]), dict(_items(value))))
            pending = None
        above, rest, table = frames[-1]
        for key, below in rest:
            path, value = (*above, key), table[key]
            if rule_of(below) is not None:
                pending = path, below, value
                break
            yield path, value
        else:
            frames.pop()


# ------------------------------------------------------------ the same structure


def check_same(a: Any, b: Any, check_types: bool) -> None:
    """Raise an error unless two structures are nested in the same way.

    Args:
        a: One structure.
        b: The other.
        check_types: Whether the types of sequences and the keys of mappings count.

    Raises:
        ValueError: One is nested where the other is not, they have other numbers of
            children, or other keys.
        TypeError: They have sequences of different types, and `check_types` is set.
    """
    stack: list[Any] = [((), a, b)]
    while stack:
        found = stack.pop()
        if isinstance(found, Exception):
            raise found
        path, one, other = found
        first, second = rule_of(one), rule_of(other)
        if first is None and second is None:
            continue
        if first is None or second is None:
            raise _differ(path, "one is a sequence and the other is not", one, other)
        if check_types and not _same_type(one, other):
            told = "they don't have the same sequence type"
            raise _differ(path, told, one, other, TypeError)
        if check_types and isinstance(one, Mapping) and {*one} != {*other}:
            raise _differ(path, "they don't have the same set of keys", one, other)
        children, others = first.flatten(one)[0], second.flatten(other)[0]
        paths = [(*path, key) for key, _ in _items(one)]
        below: list[Any] = [*zip(paths, children, others)]  # noqa: B905  # checked next
        if len(children) != len(others):
            below.append(_differ(path, "not the same number of elements", one, other))
        stack += reversed(below)


def _same_type(node: Any, shallow: Any) -> bool:
    """Return whether two nodes are lists, mappings, or of one class or form."""
    cls, its = _class_of(node), _class_of(shallow)
    if _fields_of(cls) and _fields_of(its):
        return bool(cls.__name__ == its.__name__ and cls._fields == its._fields)
    both = (list, Mapping)
    return cls is its or any(issubclass(cls, k) and issubclass(its, k) for k in both)


def _class_of(node: Any) -> Any:
    return type(node.__wrapped__) if _is_proxy(type(node)) else type(node)


def _differ(
    path: Path, why: str, one: Any, other: Any, cls: type[Exception] = ValueError
) -> Exception:
    where = f"at path {path}" if path else "at the root"
    texts = [f"{where}, type={type_name(x)} str={clip(x)}" for x in (one, other)]
    return cls(
        "The two structures don't have the same nested structure.\n\n"
        f"First structure: {texts[0]}\n\nSecond structure: {texts[1]}\n\n"
        f"More specifically: {why}"
    )


# ----------------------------------------------------------------- shallow structures


def check_pair(check_types: bool, path: Path, shallow: Any, node: Any) -> None:
    """Raise an error unless a node matches that of a shallow structure.

    Args:
        check_types: Whether the types of nodes count.
        path: The path.
        shallow: The node of the structure.
        node: The node.

    Raises:
        TypeError: It is a leaf, or of another type.
        ValueError: It has another number of children.
    """
    where = f" at path {[*path]}"
    why = f"the input{where} is {described(node)}, the shallow one {described(shallow)}"
    if rule_of(node) is None:
        told = "If shallow structure is a sequence, input must also be a sequence"
        raise TypeError(f"{told}: {why}")
    fits = isinstance(node, _class_of(shallow)) or _same_type(node, shallow)
    if check_types and not fits:
        raise TypeError(f"The two structures don't have the same sequence type: {why}")
    counts = [len([*_items(x)]) for x in (node, shallow)]
    if counts[0] != counts[1]:
        told = f"the input{where} has length {counts[0]}, the shallow one {counts[1]}"
        what = "The two structures don't have the same sequence length"
        raise ValueError(f"{what}: {told}")

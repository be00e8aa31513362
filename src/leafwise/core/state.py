"""What a pickled treedef is made of, and the checks on the way back in.

Owns the state: plain tuples, one for each node, in which a node's rule is named
by its kind, or by the class and the namespace it was registered in. Reading a
state calls no function that the state could name and trusts nothing in it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from ..errors import NamespaceError, TreeDefError
from .code import Code, Entry
from .containers import (
    BUILTINS,
    INSERTION_ORDERED,
    NAMEDTUPLE,
    OPEN_NAMEDTUPLE,
    STRUCTSEQ,
    has_attributes,
    is_namedtuple_class,
    is_structseq_class,
)
from .keyorder import AS_GIVEN, KeyOrder
from .registry import view_of
from .rule import Rule
from .safely import class_name, printed, shown
from .view import Mode


__all__ = ["dump", "load"]

_VERSION: Final = 1
_NAMED: Final[dict[str, Rule]] = {
    rule.name: rule
    for rule in (
        *(*BUILTINS.values(), *INSERTION_ORDERED.values()),
        *(NAMEDTUPLE, OPEN_NAMEDTUPLE, STRUCTSEQ),
    )
}


def dump(code: Code, count: int, mode: Mode) -> tuple[Any, ...]:
    """Return the state of a treedef: nested tuples of plain values and aux data."""
    entries = tuple(
        (run, *_name(rule), arity, _dump_aux(rule, aux))
        for run, rule, arity, aux in code
    )
    return _VERSION, mode.namespace, mode.none_is_leaf, count, entries


def _name(rule: Rule) -> tuple[Any, ...]:
    return (rule.name,) if rule.name in _NAMED else ((rule.cls, rule.namespace),)


def _dump_aux(rule: Rule, aux: Any) -> Any:
    if "dict" in rule.name and rule.name in _NAMED:
        return (aux[0], _dump_order(aux[1]), *aux[2:])
    return aux


def _dump_order(order: KeyOrder | None) -> Any:
    return None if order is None else "as given" if order.is_structure else order.perm


def load(state: Any) -> tuple[tuple[Entry, ...], int, Mode]:
    """Return code, number of leaves and mode of a state.

    Raises:
        TreeDefError: The state is malformed, or names a class that is not
            registered in this process.
    """
    match state:
        case (int(version), str(namespace), bool(none_is_leaf), int(count), entries):
            pass
        case _:
            raise _malformed("it is no tuple of version, mode, count and entries")
    if version != _VERSION:
        raise _malformed(f"version {version} is unknown, only {_VERSION} is read")
    if type(entries) is not tuple or type(count) is not int:
        raise _malformed("its count or its entries are of a wrong type")
    code = tuple(map(_load_entry, entries))
    _check_arities(code, count)
    return code, count, Mode(namespace, none_is_leaf)


def _load_entry(entry: Any) -> Entry:
    if type(entry) is not tuple or len(entry) != 4:
        raise _malformed("an entry is no tuple of four")
    run, name, arity, aux = entry
    if type(run) is not int or type(arity) is not int or run < 0 or arity < 0:
        raise _malformed("a count in an entry is no natural number")
    rule = _find_rule(name)
    try:
        if rule.name in _LOADERS:
            return run, rule, arity, _LOADERS[rule.name](arity, aux)
        _require(rule.fits(arity, aux), "another number of children or values")
        return run, rule, arity, aux
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        raise _malformed(
            f"aux data does not fit a {rule.name}: {printed(error)}"
        ) from None


def _find_rule(name: Any) -> Rule:
    if type(name) is str and name in _NAMED:
        return _NAMED[name]
    if type(name) is not tuple or len(name) != 2 or not isinstance(name[0], type):
        raise _malformed("an entry names no rule")
    cls, namespace = name
    if type(namespace) is not str:
        raise _malformed("an entry names no namespace")
    try:
        rule = view_of(namespace).resolve(cls)
    except NamespaceError as error:
        raise TreeDefError(printed(error)) from None
    if rule is None or rule.name in _NAMED:
        scope = f"in namespace {shown(namespace)}" if namespace else "globally"
        raise TreeDefError(
            f"this treedef has a node of {class_name(cls)}, which is not registered "
            f"{scope} in this process; register the class before reading it"
        )
    return rule


def _check_arities(code: Sequence[Entry], count: int) -> None:
    """Check that the entries make up exactly one tree with that many leaves."""
    held = total = 0
    for run, _, arity, _ in code:
        held += run
        total += run
        if arity > held:
            raise _malformed("a node has more children than there are")
        held += 1 - arity
    if count != (total if code else 1) or (code and held != 1):
        raise _malformed("its entries do not make up one tree")


def _malformed(why: str) -> TreeDefError:
    return TreeDefError(f"malformed state of a treedef: {why}")


# ------------------------------------------------------------- aux data, by kind


def _require(condition: bool, why: str) -> None:
    if not condition:
        raise ValueError(why)


def _load_nothing(_arity: int, aux: Any) -> None:
    _require(aux is None, "it has none")


def _load_none(arity: int, aux: Any) -> None:
    _require(aux is None and arity == 0, "it has neither children nor aux data")


def _load_keys(arity: int, keys: Any) -> tuple[Any, ...]:
    _require(type(keys) is tuple and len(keys) == arity, "one key for each child")
    _require(all(map(_is_hashable, keys)), "a key is not hashable")
    _require(len(set(keys)) == arity, "a key stands twice")
    return keys  # type: ignore[no-any-return]  # checked above


def _is_hashable(key: Any) -> bool:
    try:
        hash(key)
    except TypeError:
        return False
    return True


def _load_dict(arity: int, aux: Any) -> tuple[Any, ...]:
    keys, order = aux
    return _load_keys(arity, keys), _load_order(arity, order)


def _load_defaultdict(arity: int, aux: Any) -> tuple[Any, ...]:
    keys, order, factory = aux
    _require(factory is None or callable(factory), "the factory is not callable")
    return _load_keys(arity, keys), _load_order(arity, order), factory


def _load_order(arity: int, order: Any) -> KeyOrder | None:
    if order is None:
        return None
    if order == "as given":
        return AS_GIVEN
    _require(type(order) is tuple, "no order of keys")
    _require(all(type(place) is int for place in order), "no order of keys")
    _require(sorted(order) == [*range(arity)], "no order of keys")
    return KeyOrder(order)


def _load_maxlen(arity: int, maxlen: Any) -> int | None:
    fits = type(maxlen) is int and arity <= maxlen <= sys.maxsize
    _require(maxlen is None or fits, "no maxlen")
    return maxlen  # type: ignore[no-any-return]  # checked above


def _load_func(arity: int, func: Any) -> Any:
    _require(arity == 2 and callable(func), "no function with args and keywords")
    return func


def _load_namedtuple(arity: int, cls: Any) -> Any:
    _require(isinstance(cls, type) and is_namedtuple_class(cls), "no named tuple")
    _require(len(cls._fields) == arity, "one child for each field")
    _require(not has_attributes(cls), "its instances have attributes")
    return cls


def _load_open_namedtuple(arity: int, aux: Any) -> Any:
    cls, attributes = aux
    _require(isinstance(cls, type) and is_namedtuple_class(cls), "no named tuple")
    _require(len(cls._fields) == arity, "one child for each field")
    _require(has_attributes(cls), "its instances have no attributes")
    names = [name for name, _ in attributes]
    _require(set(map(type, names)) <= {str}, "no attributes")
    return cls, tuple(attributes)


def _load_structseq(arity: int, aux: Any) -> Any:
    cls, hidden = aux
    _require(isinstance(cls, type) and is_structseq_class(cls), "no struct sequence")
    _require(type(hidden) is dict and set(map(type, hidden)) <= {str}, "no fields")
    _require(cls.n_sequence_fields == arity, "one child for each field")
    return cls, hidden


_LOADERS: Final[dict[str, Callable[[int, Any], Any]]] = {
    "None": _load_none,
    "tuple": _load_nothing,
    "list": _load_nothing,
    "dict": _load_dict,
    "dict as given": _load_dict,
    "OrderedDict": _load_keys,
    "defaultdict": _load_defaultdict,
    "defaultdict as given": _load_defaultdict,
    "deque": _load_maxlen,
    "Partial": _load_func,
    "namedtuple": _load_namedtuple,
    "namedtuple with attributes": _load_open_namedtuple,
    "structseq": _load_structseq,
}

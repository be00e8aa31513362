"""What a pickled treedef is made of, and the checks on the way back in.

Owns the state: plain tuples, one for each node, in which a node's rule is named
by its kind, or by the class and the namespace it was registered in. Reading a
state calls no function that the state could name and trusts nothing in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..errors import NamespaceError, TreeDefError
from .builtins import BY_NAME
from .code import Code, Entry
from .node import Rule
from .registry import view_of
from .safely import class_name, printed, shown
from .view import Mode


__all__ = ["dump", "load"]

_VERSION: Final = 1


def dump(code: Code, count: int, mode: Mode) -> tuple[Any, ...]:
    """Return the state of a treedef: nested tuples of plain values and aux data."""
    entries = tuple(
        (run, *_name(rule), arity, rule.dump_aux(aux)) for run, rule, arity, aux in code
    )
    return _VERSION, mode.namespace, mode.none_is_leaf, count, entries


def _name(rule: Rule) -> tuple[Any, ...]:
    if BY_NAME.get(rule.name) is rule:
        return (rule.name,)
    return ((rule.cls, rule.namespace),)


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
        return run, rule, arity, rule.load_aux(arity, aux)
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        raise _malformed(
            f"aux data does not fit a {rule.name}: {printed(error)}"
        ) from None


def _find_rule(name: Any) -> Rule:
    if type(name) is str and name in BY_NAME:
        return BY_NAME[name]
    if type(name) is not tuple or len(name) != 2 or not isinstance(name[0], type):
        raise _malformed("an entry names no rule")
    cls, namespace = name
    if type(namespace) is not str:
        raise _malformed("an entry names no namespace")
    try:
        rule = view_of(namespace).resolve(cls)
    except NamespaceError as error:
        raise TreeDefError(printed(error)) from None
    if rule is None or BY_NAME.get(rule.name) is rule:
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

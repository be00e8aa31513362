"""Explains, after a failure, where two structures differ.

Owns the `Difference` record and the texts of `StructureError`. It runs only
once something did not fit, so it may be slow; it never decides whether things
fit, it looks again at what `walk` refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ..errors import StructureError
from .algebra import Steps, align
from .auxdata import clip
from .code import Code, Step, iter_steps, unlink
from .containers import BUILTINS
from .frozen import Frozen
from .keypath import KeyPath
from .near import is_near
from .rule import Rule
from .safely import class_name, shown
from .view import View


__all__ = [
    "Difference",
    "code_differences",
    "deeper",
    "differences",
    "leaf_count_error",
    "mismatch_error",
    "suffix_clashes",
]

_SHOWN = 5
_MAX_FOUND = 1000
_MAX_KEYS = 6
_MAX_SHAPE = 200


class Difference(Frozen):
    """One place where a tree is not what a structure asks for.

    Attributes:
        path: Key path of the place.
        expected: What the structure has there, in words.
        actual: What the tree has there, in words.
        hint: What to do about it, empty if nothing can be said.

    Example:
        >>> import leafwise as lw
        >>> try:
        ...     lw.tree_map(max, [1, (2, 3)], [1, [2, 3]])
        ... except lw.StructureError as error:
        ...     print(error.differences[0])
        at [1]: expected tuple of length 2, got list of length 2
    """

    __slots__ = ("actual", "expected", "hint", "path")
    __match_args__ = ("path", "expected", "actual", "hint")

    path: KeyPath
    expected: str
    actual: str
    hint: str

    def __init__(
        self, path: KeyPath, expected: str, actual: str, hint: str = ""
    ) -> None:
        self._set(path, expected, actual, hint)

    def __str__(self) -> str:
        return f"at {self.path.where()}: expected {self.expected}, got {self.actual}"


_SKIP = object()


def differences(code: Code, tree: Any, view: View) -> list[Difference]:
    """Return where a tree does not have the structure of a code.

    Below a difference nothing further is reported.

    Args:
        code: The structure that was asked for.
        tree: What was given.
        view: The view to name the nodes of `tree` by.
    """
    return _compare(code, tree, lambda path, node: None, view)


def deeper(code: Code, tree: Any, view: View) -> list[Difference]:
    """Return where a tree goes deeper than a code that is a prefix of it."""

    def refuse(path: KeyPath, node: Any) -> Difference | None:
        rule = view.resolve(type(node))
        if rule is None:
            return None
        hint = "strict=True takes no tree that is deeper than the first"
        return Difference(path, "a leaf", describe(node, view), hint)

    return _compare(code, tree, refuse, view)


def _compare(
    code: Code,
    tree: Any,
    at_leaf: Callable[[KeyPath, Any], Difference | None],
    view: View,
) -> list[Difference]:
    found: list[Difference] = []
    stack: list[tuple[Any, Any]] = [((), tree)]
    for step in iter_steps(code, backwards=True):
        slot, node = stack.pop()
        if step is None:
            if node is not _SKIP:
                found += filter(None, (at_leaf(_path(slot), node),))
            continue
        rule, arity, aux = step
        children = None if node is _SKIP else rule.pair(aux, arity, node)
        if children is not None:
            keys = rule.keys(aux, arity)
            stack += [
                ((slot, k), child) for k, child in zip(keys, children, strict=True)
            ]
            continue
        if node is not _SKIP and len(found) < _MAX_FOUND:
            found.append(_difference(_path(slot), rule, arity, aux, node, view))
        stack += [((), _SKIP)] * arity
    return found[::-1]


def code_differences(a: Code, b: Code) -> list[Difference]:
    """Return where two structures differ, none if they are equal."""
    return _compare_codes(a, b, _unequal, between_leaves=True)


def suffix_clashes(a: Code, b: Code) -> list[Difference]:
    """Return where both structures have nodes that do not pair."""
    return _compare_codes(a, b, _unpaired, between_leaves=False)


Paired: TypeAlias = "Callable[[Any, Any], Sequence[int] | None]"


def _unequal(first: Any, second: Any) -> Sequence[int] | None:
    rule, arity, aux = first
    other, other_arity, other_aux = second
    if rule is not other or arity != other_arity or not rule.same(aux, other_aux):
        return None
    return align(*first, *second)


def _unpaired(first: Any, second: Any) -> Sequence[int] | None:
    return align(*first, *second)


def _compare_codes(
    a: Code, b: Code, pair: Paired, *, between_leaves: bool
) -> list[Difference]:
    """Compare two structures node by node; a leaf against a node may count or not."""
    first, second = Steps(a), Steps(b)
    found: list[Difference] = []
    stack: list[tuple[Any, int, int]] = [((), first.root, second.root)]
    while stack:
        slot, i, j = stack.pop()
        one, other = first.steps[i], second.steps[j]
        if one is None or other is None:
            if between_leaves and one is not other:
                found.append(Difference(_path(slot), _say(one), _say(other)))
            continue
        places = pair(one, other)
        if places is None:
            found.append(Difference(_path(slot), _say(one), _say(other)))
            continue
        keys = one[0].keys(one[2], one[1])
        ours, theirs = first.children(i), second.children(j)
        children = [
            ((slot, key), child, theirs[place])
            for key, child, place in zip(keys, ours, places, strict=True)
        ]
        stack += reversed(children)
    return found


def _say(step: Step) -> str:
    if step is None:
        return "a leaf"
    rule, arity, aux = step
    return describe_node(rule, arity, aux)


def _path(slot: Any) -> KeyPath:
    return KeyPath(unlink(slot))


def _difference(
    path: KeyPath, rule: Rule, arity: int, aux: Any, node: Any, view: View
) -> Difference:
    expected = describe_node(rule, arity, aux)
    actual = describe(node, view)
    missing, extra = _key_changes(rule, arity, aux, node, view)
    parts = [f"missing {_listed(missing)}"] if missing else []
    parts += [f"extra {_listed(extra)}"] if extra else []
    if parts:
        actual += f" ({'; '.join(parts)})"
    hint = _hint(rule, node, view) or _misspelt(missing, extra)
    return Difference(path, expected, actual, hint)


def _key_changes(
    rule: Rule, arity: int, aux: Any, node: Any, view: View
) -> tuple[list[Any], list[Any]]:
    """Return the missing and the extra keys, where both sides are dicts."""
    other = view.resolve(type(node))
    if other is None or not (_has_keys(rule) and _has_keys(other)):
        return [], []
    wanted = [key.key for key in rule.keys(aux, arity)]
    known = {*wanted}
    missing = [key for key in wanted if key not in node]
    return missing, [key for key in node if key not in known]


def _misspelt(missing: list[Any], extra: list[Any]) -> str:
    """Say which extra key looks like a missing one, if one does."""
    for key in missing:
        for other in extra:
            if type(key) is str and type(other) is str and is_near(key, other):
                return f"perhaps {shown(other)} is meant to be {shown(key)}"
    return ""


def _has_keys(rule: Rule) -> bool:
    return "dict" in rule.name.lower() and rule.cls in BUILTINS


def _listed(keys: Sequence[Any]) -> str:
    shown = ", ".join(clip(key) for key in keys[:_MAX_KEYS])
    more = len(keys) - _MAX_KEYS
    return f"{shown} and {more} more" if more > 0 else shown


def describe(node: Any, view: View) -> str:
    """Say in words what a value is, as a node or as a leaf."""
    rule = view.resolve(type(node))
    if rule is None:
        return f"leaf {clip(node)} ({class_name(type(node))})"
    try:
        children, aux = rule.flatten(node)
    except Exception:
        return f"a {class_name(type(node))} that cannot be flattened"
    return describe_node(rule, len(children), aux)


def describe_node(rule: Rule, arity: int, aux: Any) -> str:
    """Say in words what a node of a structure is."""
    if rule.name == "None":
        return "None"
    if _has_keys(rule):
        keys = [key.key for key in rule.keys(aux, arity)]
        name = class_name(rule.cls)
        return f"{name} with keys {_listed(keys)}" if keys else f"empty {name}"
    if rule.name in ("list", "tuple", "deque"):
        return f"{rule.name} of length {arity}"
    if rule.name in ("namedtuple", "structseq"):
        return f"{rule.name} {class_name(rule.data(aux))} with {_count(arity)}"
    if rule.words is not None:
        return f"{class_name(rule.cls)} with {rule.words(aux)}"
    data = rule.data(aux)
    said = "" if data is None else f" and aux data {clip(data)}"
    return f"{class_name(rule.cls)} with {_count(arity)}{said}"


def _count(arity: int) -> str:
    return "1 child" if arity == 1 else f"{arity} children"


def _hint(rule: Rule, node: Any, view: View) -> str:
    if node is None:
        return "None is a node without children; none_is_leaf=True makes it a leaf"
    if rule.name == "None":
        return (
            "the expected None is a node without children; none_is_leaf=True makes "
            "it a leaf"
        )
    if view.resolve(type(node)) is None and isinstance(node, rule.cls):
        return (
            f"{class_name(type(node))} is a subclass of {class_name(rule.cls)}, and "
            "subclasses are leaves unless they are registered"
        )
    if {rule.cls, type(node)} == {list, tuple}:
        return "a list and a tuple are different nodes; convert one of them"
    return ""


# ----------------------------------------------------------------- the errors


def mismatch_error(
    found: Sequence[Difference], *, subject: str, tree_index: int | None = None
) -> StructureError:
    """Return the error that shows the first few differences and has them all.

    Args:
        found: The differences, in leaf order.
        subject: The beginning of the message, which tree does not match what.
        tree_index: Which tree was wrong, where there are several.
    """
    if not found:
        return StructureError(subject, tree_index=tree_index)
    count = len(found)
    places = "1 place" if count == 1 else f"{count} places"
    lines = [f"{subject}, in {places}:"]
    lines += [f"  {difference}" for difference in found[:_SHOWN]]
    if count > _SHOWN:
        lines.append(f"  and {count - _SHOWN} more")
    hints = [difference.hint for difference in found[:_SHOWN] if difference.hint]
    lines += [f"hint: {hint}" for hint in dict.fromkeys(hints)]
    first = found[0]
    return StructureError(
        "\n".join(lines),
        path=first.path,
        expected=first.expected,
        actual=first.actual,
        tree_index=tree_index,
        differences=tuple(found),
    )


def leaf_count_error(
    expected: int, given: list[Any], leaves: Any, shape: str
) -> StructureError:
    """Return the error for a number of leaves that a treedef does not have.

    Args:
        expected: How many leaves the treedef has.
        given: What was read of the leaves, at most one more than expected.
        leaves: Where they came from.
        shape: The text of the treedef.
    """
    wanted = "1 leaf" if expected == 1 else f"{expected} leaves"
    sized = len(given) < expected or not hasattr(leaves, "__len__")
    actual = str(len(given) if sized else len(leaves))
    if len(given) > expected and sized:
        actual = "more"
    if len(shape) > _MAX_SHAPE:
        shape = shape[: _MAX_SHAPE - 3] + "..."
    return StructureError(
        f"the treedef has {wanted}, got {actual}\n  treedef: {shape}",
        expected=wanted,
        actual=actual,
    )

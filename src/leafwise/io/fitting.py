"""Compare the content of a file with a tree that defines the expected content.

Owns all differences between the two, found before anything is read or built, and what
becomes of a value that fits. Knows nothing of formats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from ..core.keypath import KeyPath
from ..core.keys import DictKey
from ..core.matching import Difference, Steps
from ..core.treedef import PyTreeDef
from ..equality.content import instance_of, is_array
from ..safely import class_name, clip, type_name
from .arrays import as_array_like, form_of
from .header import Held


__all__ = ["Wanted", "class_differences", "fill", "leaf_differences"]


Wanted: TypeAlias = tuple[KeyPath, Any]
"""A leaf of the tree that defines the expected content of a file, after its path."""

_HINT: Final = (
    "strict=False ignores unexpected leaves and keeps the leaves of `like` for missing "
    "ones"
)


def leaf_differences(
    wanted: Mapping[str, Wanted],
    found: Mapping[str, Any],
    *,
    strict: bool,
    whole: bool,
    foreign: bool,
) -> list[Difference]:
    """Return where the leaves of a file differ from those that are wanted.

    Args:
        wanted: By name, the leaves that are wanted.
        found: By name, the leaves of the file: values, and arrays not yet read.
        strict: Whether it matters which names there are.
        whole: Whether the file should have nothing else.
        foreign: Whether the file has no types of its own, so that an array of one
            number may stand for the number.
    """
    told = []
    for name, (path, like) in wanted.items():
        if name in found:
            if not _fits(like, found[name], foreign):
                told.append(Difference(path, _told(like), _told(found[name])))
        elif strict:
            told.append(Difference(path, _told(like), "nothing", _HINT))
    if strict and whole:
        told += [
            Difference(KeyPath((DictKey(name),)), "nothing", _told(leaf), _HINT)
            for name, leaf in found.items()
            if name not in wanted
        ]
    return told


def _fits(like: Any, found: Any, foreign: bool) -> bool:
    if type(found) is Held:
        if _is_plain_array(like):
            return form_of(like) == found.form
        return foreign and found.shape == () and _can_be(like, found.dtype)
    if _is_scalar(like):
        return type(like) is type(found) and form_of(like) == form_of(found)
    if foreign and type(like) is float and type(found) is int:
        return True
    return type(like) is type(found) and not _is_plain_array(like)


def _is_scalar(value: Any) -> bool:
    return instance_of(value, "numpy", "generic")


def _is_plain_array(value: Any) -> bool:
    return is_array(value) and not _is_scalar(value)


_KINDS: Final = {bool: ("bool",), int: ("int", "uint"), float: ("float", "bfloat")}


def _can_be(like: Any, dtype: str) -> bool:
    """Return whether one number of a dtype is read as a number like another one."""
    if _is_scalar(like):
        return form_of(like).dtype == dtype
    return dtype.startswith(_KINDS.get(type(like), ()))


def _told(value: Any) -> str:
    """Return a description of a leaf."""
    if type(value) is Held:
        return str(value.form)
    if is_array(value):
        form = form_of(value)
        return f"numpy.{form.dtype}" if _is_scalar(value) else str(form)
    if isinstance(value, type):
        return f"the class {class_name(value)}"
    return type_name(value)


def fill(found: Any, like: Any, read: Callable[..., Any]) -> Any:
    """Return the replacement of a leaf, with the type of the leaf.

    Args:
        found: What the file has, which fits.
        like: The leaf.
        read: Reads an array: itself, or the bits of a dtype of torch.
    """
    if type(found) is not Held:
        return type(like)(found) if type(like) is float else found
    if not _is_plain_array(like):
        return type(like)(read(found).item())
    is_torch = instance_of(like, "torch", "Tensor")
    return as_array_like(read(found, like.dtype if is_torch else None), like)


# ------------------------------------------------------------------------------- nodes


def class_differences(
    found: PyTreeDef, like: PyTreeDef, above: KeyPath
) -> list[Difference]:
    """Return where two structures have nodes of two classes.

    Which leaves there are is not compared, nor what is static in a node: `like` says
    that.
    """
    ours, theirs = Steps(like._code), Steps(found._code)
    told: list[Difference] = []
    stack = [(above, ours.root, theirs.root)]
    while stack:
        path, place, other = stack.pop()
        step, other_step = ours.steps[place], theirs.steps[other]
        if step is None or other_step is None:
            continue
        cls, other_cls = (rule.class_of(aux) for rule, _, aux in (step, other_step))
        if cls is not other_cls:
            told.append(Difference(path, _name(cls), _name(other_cls)))
            continue
        children = _children(theirs, other)
        stack += [
            (KeyPath((*path, key)), child, children[key])
            for key, child in reversed(_children(ours, place).items())
            if key in children
        ]
    return told


def _children(steps: Steps, place: int) -> dict[Any, int]:
    rule, arity, aux = steps.steps[place]  # type: ignore[misc]  # it is no leaf
    return dict(zip(rule.keys(aux, arity), steps.children(place), strict=True))


def _name(cls: type) -> str:
    return clip(cls) if cls is None else class_name(cls)

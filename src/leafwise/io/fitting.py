"""Load a file like a tree that defines the expected content.

Owns all differences between the two, found before any array is read, and what becomes
of a leaf that fits.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from ..core.keypath import KeyPath
from ..core.keys import DictKey
from ..core.matching import Difference, mismatch_error
from ..core.treedef import PyTreeDef
from ..core.walk import iter_steps
from ..equality.content import dtype_name, instance_of, is_array
from ..errors import FileError
from ..ops.context import Context
from ..safely import class_name, clip, printable, type_name
from ..selection.names import name_of
from ..selection.pattern import Region, Selector, require
from .arrays import (
    Part,
    Shared,
    Stored,
    as_array_like,
    form_of,
    put_together,
    take_apart,
)
from .content import Content, Rename


__all__ = ["fitted"]

Wanted: TypeAlias = dict[str, tuple[KeyPath, Any]]
"""By name, the leaves of `like` that are to come from the file, with their paths."""


def fitted(
    content: Content,
    like: Any,
    chosen: Selector | None,
    renamed: Rename,
    strict: bool,
    has_classes: bool,
    context: Context,
) -> Any:
    """Return a tree like another one, with the leaves of a file.

    Args:
        content: The file.
        like: The other tree.
        chosen: Which leaves to take from the file; None for all.
        renamed: Returns the new name of a leaf.
        strict: Whether the names must be the same.
        has_classes: Whether the node classes must be the same as well.
        context: The context of the tree.

    Raises:
        StructureError: The file does not fit.
    """
    parts = take_apart(like, context)
    region = None if chosen is None else Region(require(chosen, like, context))
    wanted = _wanted(parts, region)
    found = content.by_name(renamed)
    _add_other_names(content, renamed, wanted, found)
    told = _leaf_differences(wanted, found, strict, region is None, content.is_foreign)
    if has_classes:
        told += _class_differences(content, parts)
    if told:
        raise mismatch_error(
            told, subject=f"{printable(content.path)} does not fit `like`"
        )
    leaves = [
        [
            _filled(found[name], leaf, content)
            if name in wanted and name in found and type(leaf) is not Shared
            else leaf
            for name, leaf in zip(map(name_of, part.paths()), part.leaves, strict=True)
        ]
        for part in parts
    ]
    return put_together([part.treedef for part in parts], leaves)


def _wanted(parts: list[Part], region: Region | None) -> Wanted:
    """Return the leaves in a region, None for everywhere.

    A part is in several places; its leaves are in the region if one of these is.
    """
    places = [[part.path] for part in parts]
    wanted: Wanted = {}
    rows = [[*zip(part.paths(), part.leaves, strict=True)] for part in parts]
    for path, leaf in itertools.chain(*rows):
        if type(leaf) is Shared:
            places[leaf.number].append(path)
    for part, above, pairs in zip(parts, places, rows, strict=True):
        for path, leaf in pairs:
            below = path[len(part.path) :]
            is_in = region is None or any(place + below in region for place in above)
            if is_in and type(leaf) is not Shared:
                wanted[name_of(path)] = path, leaf
    return wanted


def _add_other_names(
    content: Content, renamed: Rename, wanted: Wanted, found: dict[str, Any]
) -> None:
    """Make an object in several places of the file available at each of them."""
    for table in content.tables:
        for name, leaf in table.leaves.items():
            first = content.tables[leaf.number].at if type(leaf) is Shared else name
            new, old = renamed(name), renamed(first)
            if first == name or new is None or old is None:
                continue
            for other in wanted.keys() - found.keys():
                rest = other.removeprefix(new)
                if rest != other and f"{old}{rest}" in found:
                    found[other] = found[f"{old}{rest}"]


# ------------------------------------------------------------------------- differences

_HINT: Final = (
    "strict=False ignores unexpected leaves and keeps the leaves of `like` for missing "
    "ones"
)


def _leaf_differences(
    wanted: Wanted, found: Mapping[str, Any], strict: bool, whole: bool, foreign: bool
) -> list[Difference]:
    """Return where the leaves of a file differ from those that are wanted.

    Args:
        wanted: The leaves that are wanted.
        found: By name, the leaves of the file.
        strict: Whether names may neither be missing nor unexpected.
        whole: Whether all leaves are wanted.
        foreign: Whether the file has no types of its own, so that an array of one
            number may stand for the number.
    """
    told = []
    for name, (path, like) in wanted.items():
        if name in found and not _fits(like, found[name], foreign):
            told.append(Difference(path, _told(like), _told(found[name])))
        elif name not in found and strict:
            told.append(Difference(path, _told(like), "nothing", _HINT))
    if strict and whole:
        told += [
            Difference(KeyPath((DictKey(name),)), "nothing", _told(leaf), _HINT)
            for name, leaf in found.items()
            if name not in wanted
        ]
    return told


def _fits(like: Any, found: Any, foreign: bool) -> bool:
    is_array_like = is_array(like) and not _is_scalar(like)
    if type(found) is not Stored:
        if foreign and type(like) is float and type(found) is int:
            return True
        is_same = type(like) is type(found) and not is_array_like
        return is_same and (not _is_scalar(like) or like.dtype == found.dtype)
    if is_array_like:
        return form_of(like) == form_of(found)
    if not foreign or found.shape != ():
        return False
    if _is_scalar(like):
        return dtype_name(like.dtype) == found.dtype
    return found.dtype.startswith(_DTYPES.get(type(like), ()))


_DTYPES: Final = {bool: ("bool",), int: ("int", "uint"), float: ("float", "bfloat")}
"""By type of a number, how the dtypes begin whose numbers are read as it."""


def _is_scalar(value: Any) -> bool:
    return instance_of(value, "numpy", "generic")


def _told(value: Any) -> str:
    """Return a description of a leaf."""
    if _is_scalar(value):
        return f"numpy.{value.dtype}"
    if type(value) is Stored or is_array(value):
        return form_of(value)
    if isinstance(value, type):
        return f"the class {class_name(value)}"
    return type_name(value)


def _class_differences(content: Content, parts: list[Part]) -> list[Difference]:
    """Return where the file has nodes of other classes, as far as that is known.

    Which leaves there are is not compared, nor what is static in a node: `like` says
    that.
    """
    if content.is_foreign or not content.is_nested or len(content.tables) != len(parts):
        return []
    try:
        treedefs = content.treedefs()
    except FileError:  # a class that is not here, which `like` stands for
        return []
    told = []
    for part, treedef in zip(parts, treedefs, strict=True):
        theirs = dict(_classes(treedef, part.path))
        for path, cls in _classes(part.treedef, part.path):
            other = theirs.get(path, cls)
            if other is not cls:
                told.append(Difference(path, _name(cls), _name(other)))
    return told


def _classes(treedef: PyTreeDef, root: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """Yield the paths and classes of the nodes of a structure, from the root on."""
    stack = [root]
    for step in iter_steps(treedef._code, backwards=True):
        path = stack.pop()
        if step is not None:
            rule, arity, aux = step
            yield path, rule.class_of(aux)
            stack += [KeyPath((*path, key)) for key in rule.keys(aux, arity)]


def _name(cls: Any) -> str:
    return clip(cls) if cls is None else class_name(cls)


# ----------------------------------------------------------------------------- leaves


def _filled(found: Any, like: Any, content: Content) -> Any:
    """Return the replacement of a leaf, with the type of the leaf, which it fits."""
    if type(found) is not Stored:
        return float(found) if type(like) is float else found
    if _is_scalar(like) or not is_array(like):
        return type(like)(content.read(found).item())
    is_torch = instance_of(like, "torch", "Tensor")
    return as_array_like(content.read(found, like.dtype if is_torch else None), like)

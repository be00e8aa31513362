"""The leaves of a file in a tree like another one.

All differences between the two are found before any array is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .._records import MISSING
from ..core.context import Context
from ..core.keypath import KeyPath
from ..core.keys import DictKey
from ..core.matching import Difference, mismatch_error
from ..equality.arrays import instance_of, is_array
from ..selection.patterns import name_of
from .arrays import Stored, array_text, converter_to
from .content import Content
from .parts import Shared, leaves_with_paths, put_together, take_apart


_HINT: Final = (
    "strict=False ignores unexpected leaves and keeps the leaves of `like` for missing "
    "ones"
)


def load_like(
    content: Content,
    like: Any,
    new_name: Callable[[str], str | None],
    strict: bool,
    context: Context,
) -> Any:
    """Return a tree like another one, with the leaves of a file.

    Raises:
        StructureError: The file does not fit; the error has all differences.
    """
    parts = take_apart(like, context)
    unexpected = content.leaves_by_name(new_name)
    differences: list[Difference] = []
    leaves: list[Any] = []
    templates: list[Any] = []
    for path, template in leaves_with_paths(parts):
        leaf = template
        if type(template) is not Shared:
            leaf = unexpected.pop(name_of(path), MISSING)
        if leaf is MISSING:
            leaf = template
            if strict:
                expected = _leaf_text(template)
                differences.append(Difference(path, expected, "nothing", _HINT))
        elif not _fits(leaf, template, content.is_foreign):
            expected = _leaf_text(template)
            differences.append(Difference(path, expected, _leaf_text(leaf)))
        leaves.append(leaf)
        templates.append(template)
    if strict:
        for name, leaf in unexpected.items():
            path = KeyPath((DictKey(name),))
            differences.append(Difference(path, "nothing", _leaf_text(leaf), _HINT))
    if differences:
        subject = f"{content.name} does not fit `like`"
        raise mismatch_error(differences, subject=subject)
    arrays: dict[Any, Any] = {}  # an array in several places stays one
    converted = [
        _convert(content, leaf, template, arrays)
        for leaf, template in zip(leaves, templates, strict=True)
    ]
    return put_together([part.treedef for part in parts], converted)


def _convert(
    content: Content,
    leaf: Any,
    template: Any,
    arrays: dict[Any, Any],
) -> Any:
    """Return a leaf of a file as a leaf like another one.

    Args:
        content: The file.
        leaf: The leaf of the file.
        template: The other leaf.
        arrays: The arrays so far, by name and converter.
    """
    if type(leaf) is not Stored:
        # another program writes 1.0 as 1 in JSON
        return float(leaf) if type(template) is float else leaf
    if not is_array(template):  # a number, in a file that has only arrays
        return type(template)(content.read(leaf).item())
    converter = converter_to(template)
    key = leaf.name, converter
    if key not in arrays:
        convert, *options = converter
        arrays[key] = convert(content.read(leaf), *options)
    return arrays[key]


def _fits(leaf: Any, template: Any, is_foreign: bool) -> bool:
    is_stored = is_array(template) and not instance_of(template, "numpy", "generic")
    if type(leaf) is not Stored:
        if type(leaf) is type(template):
            return not is_stored
        return is_foreign and type(template) is float and type(leaf) is int
    if is_stored:
        return array_text(template) == array_text(leaf)
    if not is_foreign or leaf.shape != ():
        return False
    return leaf.dtype.startswith(_DTYPES.get(type(template), ()))


_DTYPES: Final = {bool: ("bool",), int: ("int", "uint"), float: ("float", "bfloat")}
"""By type of a number, how the dtypes begin whose numbers are read as it."""


def _leaf_text(leaf: Any) -> str:
    """Return a description of a leaf."""
    if isinstance(leaf, type):
        return f"the class {leaf.__qualname__}"
    if instance_of(leaf, "numpy", "generic"):
        return f"numpy.{leaf.dtype}"
    if type(leaf) is Stored or is_array(leaf):
        return array_text(leaf)
    return type(leaf).__name__

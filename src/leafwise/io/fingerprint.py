"""Fingerprints of trees: short strings that identify their content.

Owns the arguments, and errors about leaves. What is written of a structure and of a
value is the affair of `core.fingerprint`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.fingerprint import Writer
from ..core.registry import GLOBAL
from ..core.walk import locate
from ..equality.content import Undecided
from ..errors import CompareError
from ..ops.context import context_of
from ..safely import described


if TYPE_CHECKING:
    from ..core.node import IsLeaf

__all__ = ["fingerprint"]


def fingerprint(
    tree: Any,
    *,
    leaf_bytes: Callable[[Any], bytes] | None = None,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> str:
    """Return a short string that identifies the content of a tree.

    Equal trees have the same fingerprint in every process, on every machine and Python
    version, whatever the order of their dicts. The fingerprint changes if anything
    differs: structure, keys, aux data and static values, types, dtypes, shapes,
    elements. So it can name a file, or a result that was computed from the tree.

    Trees are equal in the sense of `tree_equal(a, b, typematch=True)`: 1, 1.0 and True
    differ; 0.0 and -0.0 do not, and all NaNs are the same. Classes and functions count
    by name, not by what they do. Array elements are read in place if they are
    contiguous and little-endian, and have neither zeros nor NaN; else they are copied.

    Args:
        tree: A tree. Its leaves are numbers, strings, bytes, enums, dates, paths, and
            containers and dataclasses of these; arrays of numpy, jax and torch;
            classes and functions of a module.
        leaf_bytes: Called with each leaf value that has no fingerprint otherwise;
            returns bytes that distinguish it from other values of its class.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Returns:
        A version and 64 hexadecimal digits. The version changes when a new algorithm
        gives the same tree another fingerprint.

    Raises:
        CompareError: A leaf has nothing that is the same everywhere, such as an object
            of an unknown type or a lambda.
        TreeDefError: Aux data has nothing that is the same everywhere. A note names the
            key path.

    Example:
        >>> import leafwise as lw
        >>> lw.fingerprint({"lr": 0.1, "layers": [64, 64]})[:16]
        'lw1-0024f6d07a65'
        >>> name = lw.fingerprint({"layers": [64, 64], "lr": 0.1})
        >>> name == lw.fingerprint({"lr": 0.1, "layers": [64, 64]})
        True
        >>> class Point:
        ...     def __init__(self, x): self.x = x
        >>> lw.fingerprint([Point(1)])
        Traceback (most recent call last):
        ...
        leafwise.errors.CompareError: the leaf at [0] has no fingerprint \
(Point: <...Point object at ...>): Point is not a type that has one; leaf_bytes can \
give its bytes
        >>> by_repr = lambda value: repr(vars(value)).encode()
        >>> len(lw.fingerprint([Point(1)], leaf_bytes=by_repr))
        68
    """
    context = context_of(is_leaf, namespace=namespace)
    leaves, treedef = context.flatten(tree)
    writer = Writer()
    writer.put("tree")  # that of a structure alone begins otherwise
    writer.structure(treedef._code, treedef._mode)
    writer.give_bytes = leaf_bytes
    for place, leaf in enumerate(leaves):
        try:
            writer.value(leaf)
        except Undecided as why:
            path = treedef.paths()[place]
            raise CompareError(
                f"the leaf at {path.where()} has no fingerprint ({described(leaf)}): "
                f"{why}; leaf_bytes can give its bytes",
                path=path,
            ) from why
        except Exception as error:  # of leaf_bytes, or of the library of an array
            locate(error, [*reversed(treedef.paths()[place])])
            raise
    return writer.text()

"""Fingerprints: short strings that identify trees and structures on any machine.

A fingerprint is the hash of the canonical text of a structure and of the content of the
leaves. Each value adds the name of its class, its length and its content (`codec`), so
no two sequences of values give the same text. Nothing in it depends on the process
(addresses, hashes of strings, the order of sets), on the machine or on the version of
Python. Values that are equal and of one type give the same; other values are refused.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Callable, Iterable, Set
from typing import TYPE_CHECKING, Any, Final

from .._hooks import description_of
from .._records import Frozen
from .._runtime import named_object
from .._text import typed_repr
from ..equality.arrays import (
    UndecidedError,
    describe_array,
    feed_elements,
    is_array,
)
from ..equality.exact import is_partial, partial_parts
from ..equality.leaves import field_names
from ..errors import CompareError, TreeDefError
from .codec import (
    Writer,
    aux_form_of,
    class_name,
    codec_of,
    form_of,
    public_module,
)
from .context import context_of
from .registry import GLOBAL
from .serial import is_built_in, json_text
from .treedef import PyTreeDef, code_of
from .walk import locate, node_path


if TYPE_CHECKING:
    from .._typing import IsLeaf

__all__ = ["fingerprint"]

_VERSION: Final = "lw1"
_MAX_DEPTH: Final = 100


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
    hasher = Hasher()
    hasher.add("tree")  # that of a structure alone begins otherwise
    hasher.add_structure(treedef)
    hasher.leaf_bytes = leaf_bytes
    for index, leaf in enumerate(leaves):
        try:
            hasher.add_value(leaf)
        except UndecidedError as error:
            path = treedef.paths()[index]
            raise CompareError(
                f"the leaf at {path.where()} has no fingerprint ({typed_repr(leaf)}): "
                f"{error}; leaf_bytes can give its bytes",
                path=path,
            ) from error
        except Exception as error:  # of leaf_bytes, or of the library of an array
            locate(error, treedef.paths()[index])
            raise
    return f"{_VERSION}-{hasher.digest().hex()}"


class Hasher:
    """The hash of a sequence of values.

    Args:
        leaf_bytes: Called with values that have no content otherwise; may be set later.
        depth: The number of containers around the values.
    """

    def __init__(
        self, leaf_bytes: Callable[[Any], bytes] | None = None, depth: int = 0
    ) -> None:
        self.leaf_bytes = leaf_bytes
        self._hash = hashlib.sha256(usedforsecurity=False)
        self._depth = depth

    def digest(self) -> bytes:
        """Return the hash of all that was added."""
        return self._hash.digest()

    def add(self, data: bytes | str) -> None:
        """Add bytes, or a text, with their length."""
        if isinstance(data, str):
            data = data.encode("utf-8", "surrogatepass")
        self._hash.update(b"%d " % len(data) + data)

    def add_value(self, value: Any) -> None:
        """Add a value: the name of its class, and its content.

        Raises:
            UndecidedError: It has no content that is the same everywhere.
        """
        name = class_name(type(value))
        checkpoint = self._hash.copy()
        self.add(name)
        self._depth += 1
        try:
            if self._depth > _MAX_DEPTH:
                raise UndecidedError("it is nested too deeply, or contains itself")
            self._add_content(value)
        except UndecidedError:
            if self.leaf_bytes is None:
                raise
            data = self.leaf_bytes(value)
            if not isinstance(data, bytes | bytearray | memoryview):
                raise TypeError(
                    f"leaf_bytes must return bytes, got {type(data).__name__}"
                ) from None
            self._hash = checkpoint
            self.add(f"bytes of {name}")
            self.add(bytes(data))
        finally:
            self._depth -= 1

    def _add_content(self, value: Any) -> None:
        form = form_of(type(value))
        if form is not None and form.content is not None:
            content = form.content(value)
        elif type(value) is PyTreeDef:
            self.add_structure(value)
            return
        elif is_array(value):
            self.add(" ".join(map(str, describe_array(value))))
            feed_elements(value, self._hash.update, self.add_value)
            return
        else:
            content = _content_of(value)
        if isinstance(content, bytes | str):
            self.add(content)
        elif isinstance(content, Set):
            self._add_unordered(content)
        elif content is not None:
            self.add(b"%d" % len(content))
            for item in content:
                self.add_value(item)

    def _add_unordered(self, values: Iterable[Any]) -> None:
        digests = []
        for value in values:
            hasher = Hasher(self.leaf_bytes, self._depth)
            hasher.add_value(value)
            digests.append(hasher.digest())
        self.add(b"".join(sorted(digests)))

    def add_structure(self, treedef: PyTreeDef) -> None:
        """Add a structure: the node types, their arities and what they compare.

        Raises:
            TreeDefError: Aux data has no content that is the same everywhere; with a
                note of the key path.
        """
        code = code_of(treedef)
        self.add(b"treedef %d %d" % (len(code), treedef.none_is_leaf))
        for index, (run, node_type, arity, aux) in enumerate(code):
            cls = node_type.class_of(aux)
            self.add(f"{node_type.name} {run} {arity}")
            if not is_built_in(node_type):
                self.add(node_type.namespace)
            if (
                not is_built_in(node_type) or cls is not node_type.cls
            ):  # one of a family
                self.add(class_name(cls))
            checkpoint = self._hash.copy()
            try:
                self.add_value(node_type.compared_aux(aux))
            except UndecidedError as error:
                if codec_of(node_type) is not None:
                    data = aux_form_of(node_type).write(node_type, aux, Writer())
                    self._hash = checkpoint
                    self.add(json_text(data, sorts_keys=True))
                    continue
                refusal = TreeDefError(
                    f"the aux data of {cls.__qualname__} has no fingerprint: {error}; "
                    "leafwise.files.register_codec tells how aux data is written"
                )
                locate(refusal, node_path(code, index))
                raise refusal from error


# ---------------------------------------------------- content of values without a form


def _content_of(value: Any) -> Any:
    """Return the content of a value, as `Form.content` does.

    Raises:
        UndecidedError: Nothing is known about its type.
    """
    cls = type(value)
    if isinstance(value, enum.Enum):
        return str(value._value_ if isinstance(value, enum.Flag) else value._name_)
    if is_partial(value):
        return partial_parts(value)
    if callable(value) and hasattr(value, "__qualname__"):
        return _name_of(value)
    if isinstance(value, Frozen):
        return [getattr(value, name) for name in value.__match_args__]
    description = description_of(cls)
    if description is not None:
        compared = description.compared(value)
        if compared is not NotImplemented:
            return [compared]
    for base in cls.__mro__[1:]:
        form = form_of(base)
        if form is None or form.content is None:
            continue
        if cls.__eq__ is base.__eq__:
            return form.content(value)
    names = field_names(cls)
    if names is not None:
        return [(name, getattr(value, name)) for name in names]
    raise UndecidedError(f"{cls.__qualname__} is not a type that has one")


def _name_of(value: Any) -> str:
    """Return the name of a class or function, by which any process finds it.

    Raises:
        UndecidedError: There is none.
    """
    module = getattr(value, "__module__", None)
    name = value.__qualname__
    if type(module) is not str or named_object(module, name) is not value:
        raise UndecidedError(
            "no module contains it under its name, for example because it was created "
            "inside a function"
        )
    return f"{public_module(module, value)}:{name}"

"""Trees in files: saved, and loaded.

Owns the two functions, and what a file is before its arrays are read. The formats are
modules of their own with the same functions: `write` and `opened`.
"""

from __future__ import annotations

import errno
import os
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any, Final, NamedTuple, TypeVar, overload

from ..core.keypath import KeyPath
from ..core.matching import Difference
from ..core.registry import GLOBAL
from ..core.treedef import PyTreeDef
from ..errors import FileError, TreeDefError
from ..ops.context import Context, context_of
from ..safely import MISSING, printed, type_name
from ..selection.names import Renaming, from_flat, name_of, renaming
from ..selection.pattern import Region, Selector, require, selector
from . import npz, safetensors, text
from .arrays import (
    as_buffer,
    checksum,
    form_of,
    is_stored_as_array,
    memory_of,
    real_dtype,
)
from .atomic import replace_file
from .fitting import Wanted, differences, fill, node_differences, refusal
from .header import Held, Table, loads, read_header, write_header
from .parts import Part, Shared, order, put_together, take_apart
from .values import write_leaf


__all__ = ["Path", "load", "save"]

Path = str | bytes | os.PathLike[Any]
Tree = TypeVar("Tree")
_FORMATS: Final = {module.SUFFIX: module for module in (text, npz, safetensors)}


def _format_of(path: Path) -> tuple[str, ModuleType]:
    """Return a path as text, and the module of its format.

    Raises:
        FileError: It is none of the three.
    """
    given = os.fsdecode(path)
    suffix = os.path.splitext(given)[1].lower()
    if suffix not in _FORMATS:
        raise FileError(
            f"{given}: the file name must end in .json, .npz or .safetensors"
        )
    return given, _FORMATS[suffix]


# ------------------------------------------------------------------------------ saving


def save(
    path: Path, tree: Any, *, treedef: bool = True, namespace: str = GLOBAL
) -> None:
    """Save a tree to a file; an existing file is replaced atomically.

    The extension of the name selects the format: `.npz` for arrays of all numpy dtypes,
    `.safetensors` for arrays that other programs read, too, and `.json` for
    configurations, which have no arrays. The leaves are stored under the names of
    `to_flat`, together with the structure of the tree. No format ever runs code.

    Numbers, strings, dtypes, dates, sets, Enum members, and functions and classes (by
    name) are restored as they were; arrays are restored as numpy arrays. An array,
    object or variable in several places is stored once, and is shared after loading.

    Args:
        path: The file; see `replace_file` for what happens to an existing file.
        tree: Any tree.
        treedef: Whether to store the structure. Without it, `load` needs `like`, or
            returns the leaves by name.
        namespace: The namespace in which classes are looked up.

    Raises:
        FileError: A leaf or node cannot be saved, and its key path is the `path` of the
            error; or the name has an unknown extension. The old file is unchanged.
        OSError: The file cannot be written. The old file is unchanged.
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise as lw
        >>> import os, tempfile
        >>> config = {"optim": {"lr": 0.1, "betas": (0.9, 0.99)}, "steps": 10**6}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     name = os.path.join(folder, "config.json")
        ...     lw.save(name, config)
        ...     lw.load(name) == config
        True
        >>> lw.save("config.json", {"model": {"init": lambda: 0}})
        ... # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        leafwise.errors.FileError: config.json: the leaf at ['model']['init'] cannot \
be saved: <function <lambda> at ...> (function) cannot be written as text
    """
    given, form = _format_of(path)
    plain = text.plain_text(tree) if form is text else None
    writing = _Writing(given, form)
    if plain is None:
        parts = take_apart(tree, context_of(namespace=namespace))
        plain = write_header([writing.table(part, treedef) for part in parts])
    with replace_file(given) as file:
        form.write(file, plain, writing.arrays)


class _Writing:
    """The leaves of a tree on their way into a file.

    Attributes:
        arrays: The arrays, each once, by name.
    """

    def __init__(self, path: str, form: ModuleType) -> None:
        self._path = path
        self._form = form
        self._known: dict[Any, Held] = {}
        self.arrays: dict[str, Any] = {}

    def table(self, part: Part, with_treedef: bool) -> Table:
        """Return a part of a tree as a table."""
        leaves: dict[str, Any] = {}
        for path, leaf in zip(part.paths(), part.leaves, strict=True):
            name = name_of(path)
            if name in leaves or name in self.arrays:
                raise self._refused(path, f"another leaf has the same name, {name!r}")
            leaves[name] = self._leaf(name, path, leaf)
        return Table(name_of(part.path), leaves, self._treedef(part, with_treedef))

    def _leaf(self, name: str, path: KeyPath, leaf: Any) -> Any:
        try:
            if type(leaf) is Shared:
                return leaf
            if is_stored_as_array(leaf):
                return self._array(name, path, leaf)
            return write_leaf(leaf)
        except TreeDefError as error:
            raise self._refused(path, str(error)) from None

    def _array(self, name: str, path: KeyPath, leaf: Any) -> Held:
        reason = self._form.why_not(name, leaf)
        if reason:
            raise self._refused(path, f"{self._form.SUFFIX} {reason}")
        memory = memory_of(leaf)
        if memory not in self._known:
            check = "" if self._form.HAS_CHECKSUMS else checksum(as_buffer(leaf))
            self._known[memory] = Held(name, form_of(leaf), check)
            self.arrays[name] = leaf
        return self._known[memory]

    def _treedef(self, part: Part, with_treedef: bool) -> str | None:
        if not with_treedef:
            return None
        try:
            return part.treedef.to_json()
        except TreeDefError as error:
            notes = "; ".join([str(error), *getattr(error, "__notes__", ())])
            raise FileError(
                f"{self._path}: the structure of the tree cannot be saved: {notes}; "
                "pass treedef=False to save only the leaves; `load` then needs `like`",
                path=part.path,
            ) from error

    def _refused(self, path: KeyPath, reason: str) -> FileError:
        return FileError(
            f"{self._path}: the leaf at {path.where()} cannot be saved: {reason}",
            path=path,
        )


# ----------------------------------------------------------------------------- loading


class _Content(NamedTuple):
    """The content of a file before its arrays are read.

    Attributes:
        path: Where it is.
        tables: The parts of the tree in it.
        tree: The tree, if that is all that there is: JSON without a header.
        is_foreign: Whether it has no header: types and structure are unknown.
        read: Reads an array; the same one twice is one object.
    """

    path: str
    tables: list[Table]
    tree: Any
    is_foreign: bool
    read: Callable[[Held], Any]

    @property
    def has_structure(self) -> bool:
        """Whether the structure of the tree stands in the file."""
        return all(table.treedef is not None for table in self.tables)

    def array(self, leaf: Any) -> Any:
        """Return a leaf, with an array of numpy in place of one not yet read."""
        if type(leaf) is not Held:
            return leaf
        buffer = self.read(leaf)
        with _reading(self.path):
            return real_dtype(leaf.dtype, buffer)

    def treedefs(self) -> list[PyTreeDef]:
        """Return the structures of the parts.

        Raises:
            FileError: One cannot be read.
        """
        try:
            return [*map(_structure, self.tables)]
        except TreeDefError as error:
            raise FileError(
                f"{self.path}: the structure of the tree cannot be read: {error}; pass "
                "a tree of that structure as `like` to load without it"
            ) from error

    def leaves(self) -> Iterator[tuple[str, Any]]:
        """Yield the leaves with their names, each once."""
        for table in self.tables:
            for name, leaf in table.leaves.items():
                if type(leaf) is not Shared:
                    yield name, leaf

    def second_names(self) -> Iterator[tuple[str, str]]:
        """Yield the names of repeated objects, each with the name of the first one."""
        for table in self.tables:
            for name, leaf in table.leaves.items():
                if type(leaf) is Shared and name != self.tables[leaf.number].at:
                    yield name, self.tables[leaf.number].at


def _structure(table: Table) -> PyTreeDef:
    written = table.treedef or ""
    treedef = PyTreeDef.from_json(written, limit=len(written))
    if treedef.num_leaves != len(table.leaves):
        raise TreeDefError(
            "its number of leaves differs from the number of stored leaves"
        )
    return treedef


_DAMAGE: Final = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    RuntimeError,
    SyntaxError,
    TypeError,
    UserWarning,
    ValueError,
    struct.error,
    zlib.error,
)
"""What the modules that read files raise if these are damaged."""
_DAMAGE_OF_OTHERS: Final = ("BadZipFile", "SafetensorError")
"""The same, of modules that may not be loaded."""


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Report errors while reading as a damaged file.

    Raises:
        FileError: The file is damaged.
        OSError: The operating system does not allow reading the file.
    """
    try:
        yield
    except TreeDefError as error:
        raise FileError(f"{path}: {printed(error)}") from error
    except (FileError, ImportError):
        raise
    except Exception as error:
        is_ours = isinstance(error, _DAMAGE) or type_name(error) in _DAMAGE_OF_OTHERS
        if isinstance(error, OSError):
            is_ours = error.errno in (None, errno.EINVAL)
        if not is_ours:
            raise
        reason = " ".join(printed(error).split()) or type_name(error)
        raise FileError(
            f"{path} is damaged, or its format does not match its name: {reason}"
        ) from error


@contextmanager
def _content(path: str, form: ModuleType, context: Context) -> Iterator[_Content]:
    """Open a file, and compare its header with the arrays that it has."""
    with ExitStack() as stack:
        with _reading(path):
            opened = stack.enter_context(form.opened(path))
            tree = MISSING if opened.header else getattr(opened, "tree", MISSING)
            if opened.header is not None:
                tables = read_header(loads(opened.header))
                _check_names(tables, opened.names)
            elif tree is MISSING:
                held = {name: Held(name, opened.form(name)) for name in opened.names}
                tables = [Table("", held, None)]
            else:
                (part,) = take_apart(tree, context)
                names = map(name_of, part.paths())
                tables = [Table("", dict(zip(names, part.leaves, strict=True)), None)]
        made: dict[str, Any] = {}

        def read(held: Held) -> Any:
            if held.name not in made:
                with _reading(path):
                    made[held.name] = _read(opened, held)
            return made[held.name]

        yield _Content(path, tables, tree, opened.header is None, read)


def _read(opened: Any, held: Held) -> Any:
    """Return an array of a file, if it matches the header.

    Raises:
        ValueError: The array does not match the header.
    """
    there = opened.form(held.name)
    is_same = there.dtype == held.dtype or there.dtype in _BITS
    if not is_same or there.shape != held.shape:
        raise ValueError(f"the array {held.name!r} is {there}, expected {held.form}")
    buffer = opened.read(held.name)
    if held.checksum and checksum(buffer) != held.checksum:
        raise ValueError(f"the array {held.name!r} does not match its checksum")
    return buffer


_BITS: Final = ("uint8", "uint16")
"""What stands for dtypes that numpy does not have."""


def _check_names(tables: list[Table], names: Iterable[str]) -> None:
    """Compare which arrays the header names with those that there are.

    Raises:
        ValueError: They differ.
    """
    leaves = [leaf for table in tables for leaf in table.leaves.values()]
    if {leaf.name for leaf in leaves if type(leaf) is Held} != {*names}:
        raise ValueError("the array names in its header do not match its arrays")


@overload
def load(
    path: Path,
    like: None = ...,
    *,
    select: Any = ...,
    rename: Renaming | None = ...,
    strict: bool = ...,
    namespace: str = ...,
) -> Any: ...


@overload
def load(
    path: Path,
    like: Tree,
    *,
    select: Any = ...,
    rename: Renaming | None = ...,
    strict: bool = ...,
    namespace: str = ...,
) -> Tree: ...


def load(
    path: Path,
    like: Any = None,
    *,
    select: Any = None,
    rename: Renaming | None = None,
    strict: bool = True,
    namespace: str = GLOBAL,
) -> Any:
    """Load a tree from a file.

    Without `like`, a tree that `save` wrote is restored as it was, with numpy arrays;
    its classes must be imported and registered. For a file from another program, the
    arrays are returned in a dict by name, and JSON is returned as it is.

    With `like`, the leaves come from the file, by name. Everything else comes from
    `like`: static data, and the library and the device of the arrays.

    Args:
        path: The file.
        like: A tree of the same structure. Its leaves define what the file must
            contain: arrays, or objects with a shape and a dtype, and values of a type.
        select: A selector, see `leafwise.selection.selector`; only what it picks is
            read. With `like`, the other leaves are those of `like`. Without it, the
            picked part is returned, as `at(tree)[select].get()` returns it.
        rename: How to turn the names in the file into the names in `like`; see
            `leafwise.selection.from_flat`.
        strict: Whether the file must have the same names and node classes. If False,
            unexpected entries are ignored, and missing leaves are kept from `like`;
            shapes, dtypes and types must still be the same.
        namespace: The namespace in which classes are looked up.

    Raises:
        FileError: The file is damaged, has an unknown extension, or has a structure
            that cannot be read here.
        StructureError: The file does not fit `like`; the error lists all differences.
        PathError: `select` has no match.
        OSError: The file cannot be read.
        ModuleNotFoundError: A package that reads the format is not installed.

    Example:
        >>> import leafwise as lw
        >>> import os, tempfile
        >>> state = {"step": 7, "layers": [{"w": 0.5}, {"w": 0.25}]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     name = os.path.join(folder, "state.json")
        ...     lw.save(name, state)
        ...     lw.load(name, select="layers[1]")
        ...     lw.load(name, like={"step": 0, "blocks": [{"w": 0.0}, {"w": 0.0}]},
        ...         rename={"layers": "blocks"})
        {'w': 0.25}
        {'step': 7, 'blocks': [{'w': 0.5}, {'w': 0.25}]}
    """
    given, form = _format_of(path)
    context = context_of(namespace=namespace)
    chosen = None if select is None else selector(select, namespace=namespace)
    with _content(given, form, context) as content:
        if like is not None:
            return _fitted(content, like, chosen, rename, strict, context)
        is_nested = content.has_structure or content.tree is not MISSING
        if rename is not None and is_nested:
            raise TypeError("rename needs `like`: the file has its own structure")
        if chosen is None:
            return _whole(content, renaming(rename), content.array)
        tree = _whole(content, renaming(rename), lambda leaf: leaf)
        if not is_nested:
            tree = from_flat(tree)
        return _picked(content, tree, chosen, context)


def _whole(
    content: _Content,
    renamed: Callable[[str], str | None],
    read: Callable[[Any], Any],
) -> Any:
    """Return the content of a file.

    Args:
        content: The file.
        renamed: Returns the new name of a leaf, if there is no structure.
        read: Returns a leaf, given one that may be an array not yet read.
    """
    if content.tree is not MISSING:
        return content.tree
    if not content.has_structure:
        found = _renamed(content, renamed)
        return {name: read(leaf) for name, leaf in found.items()}
    treedefs = content.treedefs()
    leaves = [[*map(read, table.leaves.values())] for table in content.tables]
    with _reading(content.path):
        order(leaves)
    return put_together(treedefs, leaves)


def _renamed(content: _Content, renamed: Callable[[str], str | None]) -> dict[str, Any]:
    """Return the leaves of a file by their new names.

    Raises:
        FileError: Two have one name.
    """
    found: dict[str, Any] = {}
    for old, leaf in content.leaves():
        name = renamed(old)
        if name in found:
            raise FileError(f"{content.path}: two leaves have the name {name!r}")
        if name is not None:
            found[name] = leaf
    return found


def _picked(content: _Content, tree: Any, chosen: Selector, context: Context) -> Any:
    """Return what a selector picks in a tree, without reading other arrays.

    Raises:
        PathError: Nothing.
    """
    places = require(chosen, tree, context)
    inside = [context.flatten(place.value)[0] for place in places]
    names = {x.name for leaves in inside for x in leaves if type(x) is Held}
    parts = take_apart(tree, context)
    leaves = [
        [
            content.array(leaf) if type(leaf) is Held and leaf.name in names else leaf
            for leaf in part.leaves
        ]
        for part in parts
    ]
    filled = put_together([part.treedef for part in parts], leaves)
    found = [place.path(filled) for place in places]
    return found[0] if chosen.is_single else found


# ------------------------------------------------------------------------- fitted


def _fitted(
    content: _Content,
    like: Any,
    chosen: Selector | None,
    rename: Renaming | None,
    strict: bool,
    context: Context,
) -> Any:
    """Return a tree like another one, with the leaves of a file.

    Raises:
        StructureError: The file does not fit.
    """
    parts = take_apart(like, context)
    renamed = renaming(rename)
    wanted = _wanted(parts, _region(chosen, like, context))
    found = _renamed(content, renamed)
    _add_second_names(content, renamed, wanted, found)
    told = differences(
        wanted,
        found,
        strict=strict,
        whole=chosen is None,
        is_foreign=content.is_foreign,
    )
    if strict and rename is None and chosen is None:
        told += _other_classes(content, parts)
    if told:
        raise refusal(content.path, told)
    leaves = []
    for part in parts:
        names = map(name_of, part.paths())
        leaves.append(
            [
                fill(found[name], leaf, content.read)
                if name in wanted and name in found and type(leaf) is not Shared
                else leaf
                for name, leaf in zip(names, part.leaves, strict=True)
            ]
        )
    return put_together([part.treedef for part in parts], leaves)


def _region(chosen: Selector | None, like: Any, context: Context) -> Any:
    return None if chosen is None else Region(require(chosen, like, context))


def _wanted(parts: list[Part], region: Any) -> dict[str, Wanted]:
    """Return by name the leaves that are to be taken from the file.

    Args:
        parts: The parts of the tree that says so.
        region: Where they are; None for everywhere. What is in several places is in it
            if one of them is.
    """
    places = [[part.path] for part in parts]
    for part in parts:
        for path, leaf in zip(part.paths(), part.leaves, strict=True):
            if type(leaf) is Shared:
                places[leaf.number].append(path)
    return {
        name_of(path): Wanted(path, leaf)
        for part, above in zip(parts, places, strict=True)
        for path, leaf in zip(part.paths(), part.leaves, strict=True)
        if type(leaf) is not Shared
        and (
            region is None
            or any(place + path[len(part.path) :] in region for place in above)
        )
    }


def _add_second_names(
    content: _Content,
    renamed: Callable[[str], str | None],
    wanted: Mapping[str, Wanted],
    found: dict[str, Any],
) -> None:
    """Make an object in several places of the file available at each of them."""
    for second, first in content.second_names():
        new, old = renamed(second), renamed(first)
        if new is None or old is None:
            continue
        for name in wanted:
            rest = name.removeprefix(new)
            if name not in found and rest != name and f"{old}{rest}" in found:
                found[name] = found[f"{old}{rest}"]


def _other_classes(content: _Content, parts: list[Part]) -> list[Difference]:
    """Return where the file has nodes of other classes, as far as that is known."""
    if not content.has_structure or len(content.tables) != len(parts):
        return []
    try:
        treedefs = content.treedefs()
    except FileError:  # a class that is not here, which `like` stands for
        return []
    pairs = zip(parts, treedefs, strict=True)
    return [d for p, t in pairs for d in node_differences(t, p.treedef, p.path)]

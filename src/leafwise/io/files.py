"""Trees in files: saved, and loaded.

Owns the two functions, and what a file is before its arrays are read. The formats are
modules of their own with the same functions: `write` and `opened`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any, Final, TypeVar, overload

from ..core.matching import Difference, mismatch_error
from ..core.registry import GLOBAL
from ..core.treedef import PyTreeDef
from ..errors import FileError, TreeDefError
from ..ops.context import Context, context_of
from ..safely import MISSING, printable, printed, type_name
from ..selection.names import Renaming, from_flat, name_of, renaming
from ..selection.pattern import Region, Selector, require, selector
from . import npz, safetensors, text
from .arrays import elements, form_of, identity, is_stored
from .atomic import Replacement
from .fitting import Wanted, class_differences, fill, leaf_differences
from .header import Held, Table, read_header, write_header
from .parts import Part, Shared, order, put_together, take_apart
from .values import write_leaf


__all__ = ["Path", "load", "save"]

Path = str | bytes | os.PathLike[Any]
Tree = TypeVar("Tree")
_FORMATS: Final = {module.SUFFIX: module for module in (text, npz, safetensors)}


def _format_of(path: Path) -> tuple[str, ModuleType]:
    """Return a path as a string, and the module of its format.

    Raises:
        FileError: It is none of the three.
    """
    given = os.fsdecode(path)
    suffix = os.path.splitext(given)[1].lower()
    if suffix not in _FORMATS:
        raise FileError(
            f"{printable(given)}: the file name must end in .json, .npz or .safetensors"
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
    arrays: dict[str, Any] = {}
    header = text.plain_text(tree) if form is text else None
    if header is None:
        parts = take_apart(tree, context_of(namespace=namespace))
        tables = [*_tables(given, form, parts, arrays, treedef)]
        header = write_header(tables)
    new = Replacement(given)
    try:
        form.write(new.open("b"), header, arrays)
        new.finish()
    except BaseException:
        new.abandon()
        raise


def _tables(
    given: str,
    form: ModuleType,
    parts: list[Part],
    arrays: dict[str, Any],
    with_treedef: bool,
) -> Iterator[Table]:
    """Yield the parts of a tree as tables, and add their arrays by name to `arrays`.

    Raises:
        FileError: A leaf or a structure cannot be saved.
    """
    known: dict[Any, Held] = {}
    file = printable(given)
    for part in parts:
        leaves: dict[str, Any] = {}
        for path, leaf in zip(part.paths(), part.leaves, strict=True):
            name = name_of(path)
            try:
                if name in leaves or name in arrays:
                    raise TreeDefError(f"another leaf has the same name, {name!r}")
                if type(leaf) is Shared:
                    leaves[name] = leaf
                elif not is_stored(leaf):
                    leaves[name] = write_leaf(leaf)
                else:
                    if reason := form.why_not(name, leaf):
                        raise TreeDefError(f"{form.SUFFIX} {reason}")
                    if identity(leaf) not in known:
                        known[identity(leaf)] = Held(name, form_of(leaf))
                        arrays[name] = leaf
                    leaves[name] = known[identity(leaf)]
            except TreeDefError as error:
                raise FileError(
                    f"{file}: the leaf at {path.where()} cannot be saved: {error}",
                    path=path,
                ) from None
        try:
            structure = part.treedef.to_json() if with_treedef else None
        except TreeDefError as error:
            notes = "; ".join([str(error), *getattr(error, "__notes__", ())])
            raise FileError(
                f"{file}: the structure of the tree cannot be saved: {notes}; "
                "pass treedef=False to save only the leaves; `load` then needs `like`",
                path=part.path,
            ) from error
        yield Table(name_of(part.path), leaves, structure)


# ----------------------------------------------------------------------------- loading


_READERS: Final = (
    *("builtins", "decimal", "json", "leafwise", "lzma", "_lzma", "numpy"),
    *("safetensors", "safetensors_rust", "struct", "tokenize", "zipfile", "zlib"),
)
"""The modules whose code reads files, each with exceptions of its own for damage."""


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Report what is raised while a file is read as damage of it.

    Raises:
        FileError: The file is damaged, or says what is not here.
        OSError: The operating system does not allow reading the file.
    """
    try:
        yield
    except (FileError, ImportError, MemoryError):
        raise
    except TreeDefError as error:
        raise FileError(f"{printable(path)}: {printed(error)}") from error
    except Exception as error:  # any of the readers' own; others are not about the file
        is_reader = type(error).__module__.partition(".")[0] in _READERS
        if isinstance(error, OSError):  # EINVAL is of a place before the beginning
            is_reader = type(error) is OSError and error.errno in (None, errno.EINVAL)
        if not is_reader:
            raise
        reason = " ".join(printed(error).split()) or type_name(error)
        raise FileError(
            f"{printable(path)} is damaged, or its format does not match its name: "
            f"{printable(reason[:500])}"
        ) from error


class _Content:
    """The content of a file before its arrays are read.

    Args:
        path: Where it is.
        opened: The file, as the module of its format opened it.
        context: The context of the tree.

    Attributes:
        path: Where it is.
        tables: The parts of the tree in it.
        tree: The tree, if that is all that there is: JSON without a header.
        is_foreign: Whether it has no header: types and structure are unknown.
    """

    def __init__(self, path: str, opened: Any, context: Context) -> None:
        self.path = path
        self.tree = opened.tree
        self.is_foreign = opened.header is None
        self._opened = opened
        self._read: dict[tuple[str, Any], Any] = {}
        if not self.is_foreign:
            self.tables = read_header(opened.header)
        elif self.tree is MISSING:
            held = {name: Held(name, opened.form(name)) for name in opened.names}
            self.tables = [Table("", held, None)]
        else:
            (part,) = take_apart(self.tree, context)
            names = map(name_of, part.paths())
            leaves = dict(zip(names, part.leaves, strict=True))
            self.tables = [Table("", leaves, None)]

    @property
    def is_nested(self) -> bool:
        """Whether the file has a structure, or is one."""
        has_structure = all(table.treedef is not None for table in self.tables)
        return has_structure or self.tree is not MISSING

    def read(self, leaf: Any, of_torch: Any = None) -> Any:
        """Return a leaf; for an array not yet read, the array, each time the same.

        Args:
            leaf: The leaf.
            of_torch: See `elements`.
        """
        if type(leaf) is not Held:
            return leaf
        key = leaf.name, of_torch
        if key not in self._read:
            with _reading(self.path):
                buffer = self._opened.read(leaf.name)
                self._read[key] = elements(buffer, leaf.form, of_torch)
        return self._read[key]

    def treedefs(self) -> list[PyTreeDef]:
        """Return the structures of the parts.

        Raises:
            FileError: One cannot be read.
        """
        try:
            return [*map(_structure, self.tables)]
        except TreeDefError as error:
            raise FileError(
                f"{printable(self.path)}: the structure of the tree cannot be read: "
                f"{error}; pass a tree of that structure as `like` to load without it"
            ) from error


def _structure(table: Table) -> PyTreeDef:
    written = table.treedef or ""
    treedef = PyTreeDef.from_json(written, limit=len(written))
    if treedef.num_leaves != len(table.leaves):
        raise TreeDefError(
            "its number of leaves differs from the number of stored leaves"
        )
    return treedef


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
    renamed = renaming(rename)
    with ExitStack() as stack:
        with _reading(given):
            opened = stack.enter_context(form.opened(given))
            content = _Content(given, opened, context)
        if like is not None:
            is_same = rename is None and chosen is None
            return _fitted(content, like, chosen, renamed, strict, is_same, context)
        if rename is not None and content.is_nested:
            raise TypeError("rename needs `like`: the file has its own structure")
        if chosen is None:
            return _whole(content, renamed, content.read)
        tree = _nested(content, renamed, lambda leaf: leaf)
        places = require(chosen, tree, context)
        inside = [x for place in places for x in context.flatten(place.value)[0]]
        names = {x.name for x in inside if type(x) is Held}
        tree = _nested(
            content,
            renamed,
            lambda x: content.read(x) if type(x) is Held and x.name in names else x,
        )
        found = [place.path(tree) for place in places]
        return found[0] if chosen.is_single else found


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
    if not content.is_nested:
        found = _by_name(content, renamed)
        return {name: read(leaf) for name, leaf in found.items()}
    treedefs = content.treedefs()
    leaves = [[*map(read, table.leaves.values())] for table in content.tables]
    with _reading(content.path):
        numbers = order(leaves)
    return put_together(treedefs, leaves, numbers)


def _nested(
    content: _Content,
    renamed: Callable[[str], str | None],
    read: Callable[[Any], Any],
) -> Any:
    """Return the content of a file, as a nested tree even if it has only names."""
    tree = _whole(content, renamed, read)
    return tree if content.is_nested else from_flat(tree)


def _by_name(content: _Content, renamed: Callable[[str], str | None]) -> dict[str, Any]:
    """Return the leaves of a file by their new names, each once.

    Raises:
        FileError: Two have one name.
    """
    found: dict[str, Any] = {}
    for table in content.tables:
        for old, leaf in table.leaves.items():
            name = None if type(leaf) is Shared else renamed(old)
            if name in found:
                raise FileError(
                    f"{printable(content.path)}: two leaves have the name {name!r}"
                )
            if name is not None:
                found[name] = leaf
    return found


# ------------------------------------------------------------------------- fitted


def _fitted(
    content: _Content,
    like: Any,
    chosen: Selector | None,
    renamed: Callable[[str], str | None],
    strict: bool,
    is_same: bool,
    context: Context,
) -> Any:
    """Return a tree like another one, with the leaves of a file.

    Args:
        content: The file.
        like: The other tree.
        chosen: Which leaves to take from the file; None for all.
        renamed: Returns the new name of a leaf.
        strict: Whether the names must be the same.
        is_same: Whether the file is to have the same structure as a whole.
        context: The context of the tree.

    Raises:
        StructureError: The file does not fit.
    """
    parts = take_apart(like, context)
    region = None if chosen is None else Region(require(chosen, like, context))
    wanted = _wanted(parts, region)
    found = _by_name(content, renamed)
    _add_second_names(content, renamed, wanted, found)
    told = leaf_differences(
        wanted, found, strict=strict, whole=region is None, foreign=content.is_foreign
    )
    if strict and is_same:
        told += _other_classes(content, parts)
    if told:
        subject = f"{printable(content.path)} does not fit `like`"
        raise mismatch_error(told, subject=subject)
    leaves = [
        [
            fill(found[name], leaf, content.read)
            if name in wanted and name in found and type(leaf) is not Shared
            else leaf
            for name, leaf in zip(map(name_of, part.paths()), part.leaves, strict=True)
        ]
        for part in parts
    ]
    return put_together([part.treedef for part in parts], leaves, order(leaves))


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
        name_of(path): (path, leaf)
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


def _other_classes(content: _Content, parts: list[Part]) -> list[Difference]:
    """Return where the file has nodes of other classes, as far as that is known."""
    if content.is_foreign or not content.is_nested or len(content.tables) != len(parts):
        return []
    try:
        treedefs = content.treedefs()
    except FileError:  # a class that is not here, which `like` stands for
        return []
    pairs = zip(parts, treedefs, strict=True)
    return [d for p, t in pairs for d in class_differences(t, p.treedef, p.path)]

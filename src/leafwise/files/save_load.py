"""Trees in files: saved, and loaded, as they were or like another tree.

Owns the two functions, and all differences between a file and the tree that it is to be
like, which are found before any array is read. The formats are modules of their own
with the same functions: `write`, `opened` and `why_not`. What is raised for damage is
always a `FileError`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from .._records import MISSING
from .._text import escape_controls, safe_str
from ..core.context import Context, context_of
from ..core.keypath import KeyPath
from ..core.keys import DictKey
from ..core.matching import Difference, mismatch_error
from ..core.registry import GLOBAL
from ..core.serial import write_json
from ..core.treedef import PyTreeDef
from ..equality.arrays import dtype_name, instance_of, is_array
from ..errors import FileError, TreeDefError
from ..selection.names import Renaming, renaming
from ..selection.select import name_of
from . import arrays, header, npz, safetensors
from .arrays import Part, Shared, Stored, form_of
from .atomic import replace_file


if TYPE_CHECKING:
    import typing_extensions

    Tree = typing_extensions.TypeVar("Tree", default=Any)

__all__ = ["Path", "load", "save"]

Path = str | bytes | os.PathLike[Any]
_Rename = Callable[[str], str | None]
_FORMATS: Final = {".json": header, ".npz": npz, ".safetensors": safetensors}


def _format_of(path: Path) -> tuple[str, ModuleType]:
    """Return a path as a string, and the module of its format.

    Raises:
        FileError: It is none of the three.
    """
    given = os.fsdecode(path)
    suffix = os.path.splitext(given)[1].lower()
    if suffix not in _FORMATS:
        raise FileError(
            f"{escape_controls(given)}: the name must end in .json, .npz or "
            ".safetensors; "
            "leafwise.read and leafwise.write are for YAML and TOML"
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

    Code is stored by name. Where the structure has functions or classes that no module
    has a name for, or the transformation of an `nn.Optimizer`, they are left out. Then
    `load` needs `like`, from which they come; without it, it raises an error that says
    so. Nothing else is left out: other static values that cannot be saved are errors.

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
be saved: <function <lambda> at ...> has no name by which it could be found ...
    """
    given, form = _format_of(path)
    stored: dict[str, Any] = {}
    text = header.plain_text(tree) if form is header else None
    if text is None:
        parts = arrays.take_apart(tree, context_of(namespace=namespace))
        leaves = _written_leaves(given, form, parts, stored)
        treedefs = [_written_treedef(given, part) for part in parts if treedef]
        text = header.write_header(leaves, treedefs)
    with replace_file(given) as file:
        form.write(file, text, stored)


def _written_leaves(
    file: str, form: ModuleType, parts: list[Part], stored: dict[str, Any]
) -> dict[str, Any]:
    """Return the leaves of a tree as JSON, and add their arrays by name to `stored`.

    Raises:
        FileError: A leaf cannot be saved.
    """
    known: dict[Any, str] = {}
    written: dict[str, Any] = {}
    for path, given in _leaves_of(parts):
        name, leaf = name_of(path), arrays.words_of(given)
        try:
            if name in written:
                raise TreeDefError(f"another leaf has the same name, {name!r}")
            if type(leaf) is Shared:
                written[name] = {"object": leaf.number}
            elif not arrays.is_stored(leaf):
                written[name] = header.write_leaf(leaf)
            elif reason := form.why_not(name, leaf):
                raise TreeDefError(reason)
            elif (first := known.setdefault(arrays.identity(leaf), name)) != name:
                written[name] = {"same": first}
            else:
                written[name] = {"array": [dtype_name(leaf.dtype), [*leaf.shape]]}
                stored[name] = leaf
        except ValueError as error:  # that of a leaf, or of the text of a dtype
            where = f"{escape_controls(file)}: the leaf at {path.where()}"
            raise FileError(f"{where} cannot be saved: {error}", path=path) from None
    return written


def _leaves_of(parts: list[Part]) -> Iterator[tuple[KeyPath, Any]]:
    """Return the leaves of all parts with their paths."""
    return chain(*(zip(part.paths(), part.leaves, strict=True) for part in parts))


def _written_treedef(file: str, part: Part) -> str:
    """Return the JSON text of a structure.

    Raises:
        FileError: It cannot be saved.
    """
    try:
        treedef = part.treedef
        return write_json(treedef._code, treedef._count, treedef._mode, gaps=True)
    except TreeDefError as error:
        notes = "; ".join([str(error), *getattr(error, "__notes__", ())])
        raise FileError(
            f"{escape_controls(file)}: the structure of the tree cannot be saved: "
            f"{notes}; "
            "pass treedef=False to save only the leaves; `load` then needs `like`",
            path=part.path,
        ) from error


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
        FileError: The file is damaged, or names what is not here.
        OSError: The operating system does not allow reading the file.
    """
    try:
        yield
    except (FileError, ImportError, MemoryError):
        raise
    except TreeDefError as error:
        raise FileError(f"{escape_controls(path)}: {safe_str(error)}") from error
    except Exception as error:  # any of the readers' own; others are not about the file
        is_reader = type(error).__module__.partition(".")[0] in _READERS
        if isinstance(error, OSError):  # EINVAL is of an offset before the beginning
            is_reader = type(error) is OSError and error.errno in (None, errno.EINVAL)
        if not is_reader:
            raise
        reason = " ".join(safe_str(error).split()) or type(error).__name__
        raise FileError(
            f"{escape_controls(path)} is damaged, or its format does not match its "
            "name: "
            f"{escape_controls(reason[:500])}"
        ) from error


def load(
    path: Path,
    like: Tree | None = None,
    *,
    rename: Renaming | None = None,
    strict: bool = True,
    treedef: bool = True,
    namespace: str = GLOBAL,
) -> Tree:
    """Load a tree from a file.

    Without `like`, a tree that `save` wrote is restored as it was, with numpy arrays;
    its classes must be imported and registered. For a file from another program, the
    arrays are returned in a dict by name, and JSON is returned as it is.

    With `like`, the leaves come from the file, by name. Everything else comes from
    `like`: classes, static data, and the library and the device of the arrays.

    Args:
        path: The file.
        like: A tree. Its leaves define what the file must contain: arrays, or objects
            with a shape and a dtype, and values of a type.
        rename: How to turn the names in the file into the names in `like`; see
            `leafwise.selection.from_flat`.
        strict: Whether the file must have the same names. If False, unexpected entries
            are ignored, and missing leaves are kept from `like`; shapes, dtypes and
            types must still be the same.
        treedef: Whether to restore the structure. Without it and without `like`, the
            leaves are returned in a dict by name.
        namespace: The namespace in which classes are looked up.

    Raises:
        FileError: The file is damaged, has an unknown extension, or has a structure
            that cannot be read here, such as one with functions without a name.
        StructureError: The file does not fit `like`; the error lists all differences.
        OSError: The file cannot be read.
        ModuleNotFoundError: A package that reads the format is not installed.

    Example:
        >>> import leafwise as lw
        >>> import os, tempfile
        >>> state = {"step": 7, "layers": [{"w": 0.5}, {"w": 0.25}]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     name = os.path.join(folder, "state.json")
        ...     lw.save(name, state)
        ...     lw.load(name, like={"step": 0, "blocks": [{"w": 0.0}, {"w": 0.0}]},
        ...         rename={"layers": "blocks"})
        {'step': 7, 'blocks': [{'w': 0.5}, {'w': 0.25}]}
    """
    given, form = _format_of(path)
    context = context_of(namespace=namespace)
    renamed = renaming(rename)
    with ExitStack() as stack:
        with _reading(given):
            file = _File(given, stack.enter_context(form.opened(given)), context)
        found: Any
        if like is not None:
            found = _load_like(file, like, renamed, strict, context)
        elif not (file.treedefs and treedef):
            named = file.by_name(renamed).items()
            found = {name: file.read(leaf) for name, leaf in named}
        elif rename is not None:
            raise TypeError("rename needs `like`: the file has its own structure")
        else:
            found = file.tree()
        tree: Tree = found
        return tree


class _File:
    """The content of a file, with `Stored` leaves for arrays that are not read yet.

    Args:
        path: The path of the file.
        opened: The file, as the module of its format opened it.
        context: The context of the tree.

    Attributes:
        name: The path, for messages.
        is_foreign: Whether another program wrote it, without types: an array of one
            number may stand for the number.
        leaves: The leaves by name.
        treedefs: The structures of the parts, or their texts; empty if it has none.
    """

    def __init__(self, path: str, opened: arrays.Opened, context: Context) -> None:
        self.path, self.name = path, escape_controls(path)
        self.is_foreign = opened.header is None
        self._opened = opened
        self._arrays: dict[str, Any] = {}
        self.treedefs: list[Any] = []
        if not self.is_foreign:
            self.leaves, self.treedefs = header.read_header(opened.header)
        elif opened.tree is MISSING:
            self.leaves = {name: opened.describe(name) for name in opened.names}
        else:
            leaves, treedef = context.flatten(opened.tree)
            names = map(name_of, treedef.paths())
            self.leaves = dict(zip(names, leaves, strict=True))
            self.treedefs = [treedef]

    def read(self, leaf: Any) -> Any:
        """Return a leaf; for a `Stored`, its array, each time the same."""
        if type(leaf) is not Stored:
            return leaf
        if leaf.name not in self._arrays:
            with _reading(self.path):
                buffer = self._opened.read(leaf.name)
                self._arrays[leaf.name] = arrays.elements(buffer, leaf)
        return self._arrays[leaf.name]

    def tree(self) -> Any:
        """Return the tree.

        Raises:
            FileError: Its structure cannot be read.
        """
        treedefs = self.treedefs
        try:
            if not self.is_foreign:
                treedefs = [PyTreeDef.from_json(x, limit=len(x)) for x in treedefs]
            rows = arrays.in_order(treedefs, [*self.leaves.values()])
        except TreeDefError as error:
            raise FileError(
                f"{self.name}: the structure of the tree cannot be read: {error}; "
                "pass a tree of that structure as `like`, or treedef=False for the "
                "leaves by name"
            ) from error
        return arrays.put_together(treedefs, rows, self.read)

    def by_name(self, renamed: _Rename) -> dict[str, Any]:
        """Return the leaves by their new names, each once.

        Raises:
            FileError: Two have one name.
        """
        found: dict[str, Any] = {}
        for old, leaf in self.leaves.items():
            name = None if type(leaf) is Shared else renamed(old)
            if name in found:
                raise FileError(f"{self.name}: two leaves have the name {name!r}")
            if name is not None:
                found[name] = leaf
        return found


# ----------------------------------------------------------------- like another tree


_HINT: Final = (
    "strict=False ignores unexpected leaves and keeps the leaves of `like` for missing "
    "ones"
)


def _load_like(
    file: _File, like: Any, renamed: _Rename, strict: bool, context: Context
) -> Any:
    """Return a tree like another one, with the leaves of a file.

    Raises:
        StructureError: The file does not fit; all differences are told.
    """
    parts = arrays.take_apart(like, context)
    rows = [*_leaves_of(parts)]
    unexpected = file.by_name(renamed)
    differences: list[Difference] = []
    leaves: list[Any] = []
    for path, wanted in rows:
        found = wanted
        if type(wanted) is not Shared:
            found = unexpected.pop(name_of(path), MISSING)
        leaves.append(wanted if found is MISSING else found)
        if found is MISSING and strict:
            differences.append(Difference(path, _told(wanted), "nothing", _HINT))
        elif found is not MISSING and not _fits(wanted, found, file.is_foreign):
            differences.append(Difference(path, _told(wanted), _told(found)))
    if strict:
        differences += [
            Difference(KeyPath((DictKey(name),)), "nothing", _told(leaf), _HINT)
            for name, leaf in unexpected.items()
        ]
    if differences:
        raise mismatch_error(differences, subject=f"{file.name} does not fit `like`")
    for n, (_, wanted) in enumerate(rows):
        found = leaves[n]
        if type(found) is not Stored:
            leaves[n] = float(found) if type(wanted) is float else found
        elif is_array(wanted):
            leaves[n] = arrays.as_array_like(file.read(found), wanted)
        else:
            leaves[n] = type(wanted)(file.read(found).item())
    treedefs = [part.treedef for part in parts]
    return arrays.put_together(treedefs, arrays.in_order(treedefs, leaves))


def _fits(like: Any, found: Any, foreign: bool) -> bool:
    is_stored = is_array(like) and not instance_of(like, "numpy", "generic")
    if type(found) is not Stored:
        is_int = foreign and type(like) is float and type(found) is int
        return is_int or (type(like) is type(found) and not is_stored)
    if is_stored:
        return form_of(like) == form_of(found)
    kinds = _DTYPES.get(type(like), ())
    return foreign and found.shape == () and found.dtype.startswith(kinds)


_DTYPES: Final = {bool: ("bool",), int: ("int", "uint"), float: ("float", "bfloat")}
"""By type of a number, how the dtypes begin whose numbers are read as it."""


def _told(value: Any) -> str:
    """Return a description of a leaf."""
    if isinstance(value, type):
        return f"the class {value.__qualname__}"
    if instance_of(value, "numpy", "generic"):
        return f"numpy.{value.dtype}"
    is_form = type(value) is Stored or is_array(value)
    return form_of(value) if is_form else type(value).__name__

"""Save trees to files, and load them: as they were, or into the structure of another.

Each format is a module with the functions of `Format`, which is imported with the first
file of that format.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from .._lazy import late_module
from .._text import escape_controls
from ..core.codec import Writer
from ..core.context import Context, context_of
from ..core.registry import GLOBAL, Mode
from ..core.serial import write_json
from ..core.treedef import code_of
from ..equality.arrays import dtype_name
from ..errors import EditError, FileError, PathError, TreeDefError
from ..selection.flat import Renaming, nest, renaming
from ..selection.patterns import name_of
from .arrays import Format, identity, is_stored, without_key_type
from .atomic import decoded_path, replace_file
from .content import Content, damage_as_file_error
from .fitting import load_like
from .header import write_header
from .json_files import plain_text
from .parts import Part, Shared, leaves_with_paths, take_apart


if TYPE_CHECKING:
    import typing_extensions

    Tree = typing_extensions.TypeVar("Tree", default=Any)

__all__ = ["Path", "load", "save"]

Path = str | bytes | os.PathLike[Any]

_FORMATS: Final = {
    ".json": ".json_files",
    ".npz": ".npz",
    ".safetensors": ".safetensors",
}
"""The modules of the formats, by the end of the name of a file."""

_TORCH: Final = (
    "torch reads it, and leafwise.save converts it: "
    "leafwise.save('x.safetensors', torch.load(path, weights_only=True))"
)
_PICKLE: Final = (
    "it may run any code when it is read; if you trust it, leafwise.save converts it: "
    "leafwise.save('x.npz', pickle.load(file))"
)
CONVERTERS: Final = {
    ".ckpt": _TORCH,
    ".pkl": _PICKLE,
    ".pickle": _PICKLE,
    ".pt": _TORCH,
    ".pth": _TORCH,
}
"""For files of other programs: what converts them."""


def _format_of(path: str) -> Format:
    """Return the module of the format of a file.

    Raises:
        FileError: It is none of the three.
    """
    suffix = os.path.splitext(path)[1].lower()
    if suffix in _FORMATS:
        module: Format = late_module(_FORMATS[suffix], __package__)
        return module
    hint = "leafwise.read and leafwise.write are for YAML and TOML"
    if suffix in CONVERTERS:
        hint = f"{suffix} is a format of another program: {CONVERTERS[suffix]}"
    raise FileError(
        f"{escape_controls(path)}: the name must end in .json, .npz or .safetensors; "
        f"{hint}"
    )


# ------------------------------------------------------------------------------ saving


def save(
    path: Path,
    tree: Any,
    *,
    treedef: bool = True,
    namespace: str = GLOBAL,
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
            returns dicts and lists.
        namespace: The namespace in which classes are looked up.

    Raises:
        FileError: A leaf or node cannot be saved, and its key path is the `path` of the
            error; or the name has an unknown extension. The old file is unchanged.
        TypeError: `path` is not a path; the message says if the arguments are swapped.
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
    path_text = decoded_path(path, tree, "save(path, tree)")
    file_format = _format_of(path_text)
    arrays: dict[str, Any] = {}
    text = None
    if path_text.lower().endswith(".json"):
        text = plain_text(tree)  # None if it needs a header
    if text is None:
        parts = take_apart(tree, context_of(namespace=namespace))
        entries = _write_leaves(path_text, file_format, parts, arrays)
        treedefs = []
        if treedef:
            treedefs = [_write_treedef(path_text, part) for part in parts]
        text = write_header(entries, treedefs)
    with replace_file(path_text) as file:
        file_format.write(file, text, arrays)


def _write_leaves(
    path: str,
    file_format: Format,
    parts: list[Part],
    arrays: dict[str, Any],
) -> dict[str, Any]:
    """Return the leaves of a tree as JSON, and add their arrays by name to `arrays`.

    Raises:
        FileError: A leaf cannot be saved.
    """
    first_names: dict[Any, str] = {}
    entries: dict[str, Any] = {}
    for key_path, leaf in leaves_with_paths(parts):
        name = name_of(key_path)
        array = without_key_type(leaf)
        try:
            if name in entries:
                raise TreeDefError(f"another leaf has the same name, {name!r}")
            if type(leaf) is Shared:
                entries[name] = {"object": leaf.number}
            elif not is_stored(array):
                entries[name] = Writer().value(leaf)
            elif reason := file_format.why_not(name, array):
                raise TreeDefError(reason)
            else:
                # by the leaf: `array` is a new object for each place of a random key
                first_name = first_names.setdefault(identity(leaf), name)
                if first_name != name:
                    entries[name] = {"same": first_name}
                    continue
                form = [dtype_name(array.dtype), list(array.shape)]
                entries[name] = {"array": form}
                arrays[name] = array
        except ValueError as error:  # of a leaf, or of the text of a dtype
            where = f"{escape_controls(path)}: the leaf at {key_path.where()}"
            raise FileError(
                f"{where} cannot be saved: {error}", path=key_path
            ) from None
    return entries


def _write_treedef(path: str, part: Part) -> str:
    """Return the JSON text of a structure.

    Raises:
        FileError: It cannot be saved.
    """
    treedef = part.treedef
    mode = Mode(treedef.namespace, treedef.none_is_leaf)
    try:
        return write_json(code_of(treedef), treedef.num_leaves, mode, gaps=True)
    except TreeDefError as error:
        notes = "; ".join([str(error), *getattr(error, "__notes__", ())])
        raise FileError(
            f"{escape_controls(path)}: the structure of the tree cannot be saved: "
            f"{notes}; pass treedef=False to save only the leaves; `load` then needs "
            "`like`",
            path=part.path,
        ) from error


# ----------------------------------------------------------------------------- loading


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
    its classes must be imported and registered. In a file from another
    program, the names of the arrays are read as paths: `model.l1.w` is in a dict in a
    dict. JSON is returned as it is.

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
            names of the leaves are read as paths in dicts and lists.
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
    path_text = decoded_path(path, like, "load(path, like)")
    file_format = _format_of(path_text)
    context = context_of(namespace=namespace)
    new_name = renaming(rename)
    loaded: Any
    with _open_content(path_text, file_format, context) as content:
        if like is not None:
            loaded = load_like(content, like, new_name, strict, context)
        elif not (content.has_structure and treedef):
            leaves = content.leaves_by_name(new_name)
            loaded = _nested(
                {name: content.read(leaf) for name, leaf in leaves.items()}
            )
        elif rename is not None:
            raise TypeError("rename needs `like`: the file has its own structure")
        else:
            loaded = content.tree()
    tree: Tree = loaded
    return tree


@contextmanager
def _open_content(
    path: str, file_format: Format, context: Context
) -> Iterator[Content]:
    """Open a file for reading; errors of opening it are reported as damage.

    Not by an `ExitStack`, which in Python 3.15 imports a module when it is entered: if
    another thread imports it at that moment, the child of a fork waits for ever.
    """
    opening = file_format.opened(path)
    with damage_as_file_error(path):
        opened = opening.__enter__()
    try:
        with damage_as_file_error(path):
            content = Content(path, opened, context)
        yield content
    finally:
        opening.__exit__(None, None, None)


def _nested(leaves: dict[str, Any]) -> Any:
    """Return leaves by name as nested dicts and lists, if the names allow that."""
    try:
        return nest(leaves, strict=False)
    except (EditError, PathError):  # a name that is no path, or the beginning of others
        return leaves

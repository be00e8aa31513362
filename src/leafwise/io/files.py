"""Trees in files: saved, and loaded.

Owns the two functions. The formats are modules of their own with the same functions:
`write`, `opened` and `why_not`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from types import ModuleType
from typing import Any, Final, TypeVar, overload

from ..core.registry import GLOBAL
from ..errors import FileError, TreeDefError
from ..ops.context import context_of
from ..safely import printable
from ..selection.names import Renaming, from_flat, name_of, renaming
from ..selection.pattern import require, selector
from . import header, npz, safetensors
from .arrays import Part, Shared, Stored, identity, is_stored, take_apart
from .atomic import Replacement
from .content import Content, reading
from .fitting import fitted


__all__ = ["Path", "load", "save"]

Path = str | bytes | os.PathLike[Any]
Tree = TypeVar("Tree")
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
            f"{printable(given)}: the file name must end in .json, .npz or .safetensors"
        )
    return given, _FORMATS[suffix]


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
    text = header.plain_text(tree) if form is header else None
    if text is None:
        known: dict[Any, Stored] = {}
        tables = [
            _table(part, printable(given), form, arrays, known, treedef)
            for part in take_apart(tree, context_of(namespace=namespace))
        ]
        text = header.write_header(tables)
    new = Replacement(given)
    try:
        form.write(new.open("b"), text, arrays)
        new.finish()
    except BaseException:
        new.abandon()
        raise


def _table(
    part: Part,
    file: str,
    form: ModuleType,
    arrays: dict[str, Any],
    known: dict[Any, Stored],
    with_treedef: bool,
) -> header.Table:
    """Return a part of a tree as a table of the header; add its arrays to `arrays`.

    Args:
        part: The part.
        file: The path of the file, for errors.
        form: The module of the format.
        arrays: The arrays of the file by name.
        known: The same arrays by their identity.
        with_treedef: Whether the table has the structure.

    Raises:
        FileError: A leaf or the structure cannot be saved.
    """
    leaves: dict[str, Any] = {}
    for path, leaf in zip(part.paths(), part.leaves, strict=True):
        name = name_of(path)
        try:
            if name in leaves or name in arrays:
                raise TreeDefError(f"another leaf has the same name, {name!r}")
            if type(leaf) is Shared:
                leaves[name] = leaf
            elif not is_stored(leaf):
                leaves[name] = header.write_leaf(leaf)
            else:
                if reason := form.why_not(name, leaf):
                    raise TreeDefError(reason)
                if identity(leaf) not in known:
                    known[identity(leaf)] = Stored.of(name, leaf)
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
    return header.Table(name_of(part.path), leaves, structure)


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
        with reading(given):
            opened = stack.enter_context(form.opened(given))
            content = Content(given, opened, context)
        if like is not None:
            has_classes = strict and rename is None and chosen is None
            return fitted(content, like, chosen, renamed, strict, has_classes, context)
        if rename is not None and content.is_nested:
            raise TypeError("rename needs `like`: the file has its own structure")
        if chosen is None:
            return content.build(renamed, content.read)

        def nested(read: Callable[[Any], Any]) -> Any:
            tree = content.build(renamed, read)
            return tree if content.is_nested else from_flat(tree)

        places = require(chosen, nested(lambda leaf: leaf), context)
        leaves = [x for place in places for x in context.flatten(place.value)[0]]
        names = {leaf.name for leaf in leaves if type(leaf) is Stored}
        is_chosen = lambda leaf: type(leaf) is Stored and leaf.name in names  # noqa: E731
        tree = nested(lambda leaf: content.read(leaf) if is_chosen(leaf) else leaf)
        found = [place.path(tree) for place in places]
        return found[0] if chosen.is_single else found

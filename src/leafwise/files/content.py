"""The content of a file that is open: its leaves by name, and its structure.

Whatever is raised for damage is a `FileError`.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from .._records import MISSING
from .._text import escape_controls, safe_str
from ..core.context import Context
from ..core.registry import view_of
from ..core.serial import read_json_value
from ..core.treedef import PyTreeDef, make_treedef
from ..errors import FileError, NamespaceError, TreeDefError
from ..selection.patterns import name_of
from .arrays import OpenFile, Stored, elements
from .header import read_header
from .parts import Shared, put_together


_READERS: Final = frozenset(
    {
        "builtins",
        "decimal",
        "json",
        "leafwise",
        "lzma",
        "_lzma",
        "numpy",
        "safetensors",
        "safetensors_rust",
        "struct",
        "tokenize",
        "zipfile",
        "zlib",
    }
)
"""The modules whose code reads files, each with exceptions of its own for damage."""


@contextmanager
def damage_as_file_error(path: str) -> Iterator[None]:
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
    except Exception as error:
        if not _is_about_content(error):
            raise
        reason = " ".join(safe_str(error).split()) or type(error).__name__
        raise FileError(
            f"{escape_controls(path)} is damaged, or its format does not match its "
            f"name: {escape_controls(reason[:500])}"
        ) from error


def _is_about_content(error: Exception) -> bool:
    """Return whether a reader raised an error; signal handlers raise others."""
    if isinstance(error, OSError):
        # EINVAL is of an offset before the beginning
        return type(error) is OSError and error.errno in (None, errno.EINVAL)
    return type(error).__module__.partition(".")[0] in _READERS


class Content:
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
        has_structure: Whether the file has the structure of the tree.
    """

    def __init__(self, path: str, opened: OpenFile, context: Context) -> None:
        self.name = escape_controls(path)
        self.is_foreign = opened.header is None
        self.leaves: dict[str, Any] = {}
        self._path = path
        self._opened = opened
        self._arrays: dict[str, Any] = {}
        self._treedefs: list[Any] = []
        if not self.is_foreign:
            self.leaves, self._treedefs = read_header(opened.header)
        elif opened.tree is MISSING:
            self.leaves = opened.arrays()
        self.has_structure = bool(self._treedefs) or opened.tree is not MISSING
        self._context = context

    def read(self, leaf: Any) -> Any:
        """Return a leaf; for a `Stored`, its array, each time the same."""
        if type(leaf) is not Stored:
            return leaf
        if leaf.name not in self._arrays:
            with damage_as_file_error(self._path):
                buffer = self._opened.read(leaf.name)
                self._arrays[leaf.name] = elements(buffer, leaf)
        return self._arrays[leaf.name]

    def tree(self) -> Any:
        """Return the tree.

        Raises:
            FileError: Its structure cannot be read.
        """
        if self._opened.tree is not MISSING:
            return self._opened.tree
        try:
            treedefs = [_read_treedef(data) for data in self._treedefs]
            return put_together(treedefs, list(self.leaves.values()), self.read)
        except (NamespaceError, TreeDefError) as error:
            raise FileError(
                f"{self.name}: the structure of the tree cannot be read: {error}; "
                "pass a tree of that structure as `like`, or treedef=False for the "
                "leaves by name"
            ) from error

    def leaves_by_name(
        self, new_name: Callable[[str], str | None] = str
    ) -> dict[str, Any]:
        """Return the leaves by their new names, each once.

        Raises:
            FileError: Two have one name.
        """
        leaves = self.leaves
        if self._opened.tree is not MISSING:
            values, treedef = self._context.flatten(self._opened.tree)
            names = map(name_of, treedef.paths())
            leaves = dict(zip(names, values, strict=True))
        renamed: dict[str, Any] = {}
        for old_name, leaf in leaves.items():
            # what stands for an object is no leaf; the object's leaves are here as well
            name = None if type(leaf) is Shared else new_name(old_name)
            if name in renamed:
                raise FileError(f"{self.name}: two leaves have the name {name!r}")
            if name is not None:
                renamed[name] = leaf
        return renamed


def _read_treedef(data: Any) -> PyTreeDef:
    code, num_leaves, mode = read_json_value(data)
    return make_treedef(code, num_leaves, view_of(*mode))

"""A file that is open for reading: its leaves by name, and its structure.

Owns what the formats have in common when they are read, and that all damage is reported
as a `FileError`. The arrays are read one by one, when they are asked for.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from ..core.treedef import PyTreeDef
from ..errors import FileError, TreeDefError
from ..ops.context import Context
from ..safely import MISSING, printable, printed, type_name
from ..selection.names import name_of
from .arrays import Opened, Shared, Stored, elements, put_together, take_apart
from .header import Table, read_header


__all__ = ["Content", "Rename", "reading"]

Rename = Callable[[str], str | None]
_READERS: Final = (
    *("builtins", "decimal", "json", "leafwise", "lzma", "_lzma", "numpy"),
    *("safetensors", "safetensors_rust", "struct", "tokenize", "zipfile", "zlib"),
)
"""The modules whose code reads files, each with exceptions of its own for damage."""


@contextmanager
def reading(path: str) -> Iterator[None]:
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
        raise FileError(f"{printable(path)}: {printed(error)}") from error
    except Exception as error:  # any of the readers' own; others are not about the file
        is_reader = type(error).__module__.partition(".")[0] in _READERS
        if isinstance(error, OSError):  # EINVAL is of an offset before the beginning
            is_reader = type(error) is OSError and error.errno in (None, errno.EINVAL)
        if not is_reader:
            raise
        reason = " ".join(printed(error).split()) or type_name(error)
        raise FileError(
            f"{printable(path)} is damaged, or its format does not match its name: "
            f"{printable(reason[:500])}"
        ) from error


class Content:
    """The content of a file, with `Stored` leaves for arrays that are not read yet.

    Args:
        path: The path of the file.
        opened: The file, as the module of its format opened it.
        context: The context of the tree.

    Attributes:
        path: The path of the file.
        tables: The parts of the tree in it.
        tree: The tree, if that is all there is: JSON without a header.
        is_foreign: Whether it has no header: types and structure are unknown.
    """

    def __init__(self, path: str, opened: Opened, context: Context) -> None:
        self.path = path
        self.tree = opened.tree
        self.is_foreign = opened.header is None
        self._read_array = opened.read
        self._arrays: dict[tuple[str, Any], Any] = {}
        if not self.is_foreign:
            self.tables = read_header(opened.header)
        elif self.tree is MISSING:
            arrays = {name: opened.describe(name) for name in opened.names}
            self.tables = [Table("", arrays, None)]
        else:
            (part,) = take_apart(self.tree, context)
            leaves = zip(map(name_of, part.paths()), part.leaves, strict=True)
            self.tables = [Table("", dict(leaves), None)]

    @property
    def is_nested(self) -> bool:
        """Whether the file has a structure, or is one."""
        has_structure = all(table.treedef is not None for table in self.tables)
        return has_structure or self.tree is not MISSING

    def read(self, leaf: Any, of_torch: Any = None) -> Any:
        """Return a leaf; for a `Stored`, its array, each time the same.

        Args:
            leaf: The leaf.
            of_torch: See `elements`.
        """
        if type(leaf) is not Stored:
            return leaf
        key = leaf.name, of_torch
        if key not in self._arrays:
            with reading(self.path):
                buffer = self._read_array(leaf.name)
                self._arrays[key] = elements(buffer, leaf, of_torch)
        return self._arrays[key]

    def treedefs(self) -> list[PyTreeDef]:
        """Return the structures of the parts.

        Raises:
            FileError: One cannot be read.
        """
        found = []
        try:
            for table in self.tables:
                text = table.treedef or ""
                found.append(PyTreeDef.from_json(text, limit=len(text)))
                if found[-1].num_leaves != len(table.leaves):
                    raise TreeDefError(
                        "its number of leaves differs from the number of stored leaves"
                    )
        except TreeDefError as error:
            raise FileError(
                f"{printable(self.path)}: the structure of the tree cannot be read: "
                f"{error}; pass a tree of that structure as `like` to load without it"
            ) from error
        return found

    def by_name(self, renamed: Rename) -> dict[str, Any]:
        """Return the leaves by their new names, each once.

        Raises:
            FileError: Two have one name.
        """
        found: dict[str, Any] = {}
        for table in self.tables:
            for old, leaf in table.leaves.items():
                name = None if type(leaf) is Shared else renamed(old)
                if name in found:
                    raise FileError(
                        f"{printable(self.path)}: two leaves have the name {name!r}"
                    )
                if name is not None:
                    found[name] = leaf
        return found

    def build(self, renamed: Rename, read: Callable[[Any], Any]) -> Any:
        """Return the tree, or the leaves by their new names if there is no structure.

        Args:
            renamed: Returns the new name of a leaf.
            read: Returns a leaf, given one that may be a `Stored`.
        """
        if self.tree is not MISSING:
            return self.tree
        if not self.is_nested:
            return {name: read(leaf) for name, leaf in self.by_name(renamed).items()}
        leaves = [[*map(read, table.leaves.values())] for table in self.tables]
        return put_together(self.treedefs(), leaves)

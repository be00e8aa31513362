"""Arrays in `.npz` files: zip archives with one `.npy` file for each array.

Owns how such a file is written and read by zipfile and numpy, one array at a time, and
what is checked before memory is taken. The header is a file of its own in the archive,
which `numpy.load` shows as bytes. Damage is found by the checksums of zip.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import IO, Any, Final

from ..equality.content import dtype_name
from ..lazy import need
from ..safely import MISSING
from .arrays import Form, as_buffer
from .header import loads


__all__ = ["SUFFIX", "opened", "why_not", "write"]

SUFFIX: Final = ".npz"
_HEADER: Final = "leafwise.json"
_END: Final = ".npy"
_MAX_DEFLATE_RATIO: Final = 1040
_MAX_NPY_HEADER: Final = 1 << 20


def why_not(_name: str, _array: Any) -> str:
    """Return why an array cannot be in such a file; it always can."""
    return ""


def write(file: IO[bytes], header: str, arrays: Mapping[str, Any]) -> None:
    """Write arrays and header into a file."""
    numpy = need("numpy", "saving .npz files", "arrays")
    zipfile = import_module("zipfile")  # it loads what there may not be: threads

    class Archive(zipfile.ZipFile):  # type: ignore[name-defined,misc]
        """An archive that is not completed after an exception.

        To complete it would raise a ValueError instead, if a file in it is open.
        """

        def __exit__(self, kind: Any, *_: object) -> None:
            if kind is None:
                self.close()

        # nothing, and not in Python: what a signal handler raises there is lost
        __del__ = staticmethod(bool)

    with Archive(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER), header)
        for name, array in arrays.items():
            info = zipfile.ZipInfo("array")
            info.filename = f"{name}{_END}"  # as it is, without what the class changes
            with archive.open(info, "w", force_zip64=True) as member:
                numpy.lib.format.write_array(
                    member, as_buffer(array), allow_pickle=False
                )


class _Opened:
    """An archive that is open for reading.

    Attributes:
        header: The header; None if it has none.
        tree: Missing: the archive has arrays only.
        names: The names of its arrays.
    """

    tree = MISSING

    def __init__(self, archive: Any, size: int) -> None:
        self._archive = archive
        self._format = need("numpy", "loading .npz files", "arrays").lib.format
        members = {info.orig_filename: info for info in archive.infolist()}
        if len(members) != len(archive.infolist()):
            raise ValueError("it has two files with the same name")
        for info in members.values():
            most = info.compress_size
            if info.compress_type != 0 and info.orig_filename != _HEADER:
                most = _MAX_DEFLATE_RATIO * (most + 1)
            if info.compress_size > size or info.file_size > max(most, size):
                raise ValueError(f"{info.filename!r} is larger than the file")
        found = members.pop(_HEADER, None)
        self.header = None if found is None else loads(archive.read(found).decode())
        self._members = {}
        for full, info in members.items():
            name = full.removesuffix(_END)
            is_taken = found is None and name in members
            self._members[full if is_taken else name] = info
        self.names = [*self._members]

    def form(self, name: str) -> Form:
        """Return the form of an array."""
        with self._archive.open(self._members[name]) as member:
            shape, dtype = self._checked(member, self._members[name])
        return Form(dtype_name(dtype), shape)

    def read(self, name: str) -> Any:
        """Return an array."""
        with self._archive.open(self._members[name]) as member:
            self._checked(member, self._members[name])
            member.seek(0)
            found = self._format.read_array(
                member, allow_pickle=False, max_header_size=_MAX_NPY_HEADER
            )
            member.read(1)  # the end, where the checksum is compared
            return found

    def _checked(self, member: Any, info: Any) -> tuple[tuple[int, ...], Any]:
        """Return shape and dtype of an array, which must fit its size in the archive.

        Raises:
            ValueError: They do not, or the array contains Python objects.
        """
        version = self._format.read_magic(member)
        read = self._format.read_array_header_1_0
        if version != (1, 0):
            read = self._format.read_array_header_2_0
        try:
            shape, _, dtype = read(member, max_header_size=_MAX_NPY_HEADER)
        except MemoryError:  # of Python's parser, for a text of many brackets
            raise ValueError(f"{info.filename!r} has a malformed header") from None
        if dtype.hasobject:
            raise ValueError(f"{info.filename!r} contains Python objects")
        size = math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or info.file_size - size != member.tell():
            raise ValueError(f"{info.filename!r} differs from its header in size")
        return shape, dtype


@contextmanager
def opened(path: str) -> Iterator[_Opened]:
    """Open a file for reading."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        with import_module("zipfile").ZipFile(file) as archive:
            yield _Opened(archive, size)

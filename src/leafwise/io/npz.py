"""Arrays in `.npz` files: zip archives with one `.npy` file for each array.

Owns how such a file is written and read by numpy's own functions, one array at a time,
and what is checked before memory is taken. The header is a file of its own in the
archive, which `numpy.load` shows as bytes.
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
from .arrays import Form, as_buffer


__all__ = ["HAS_CHECKSUMS", "SUFFIX", "opened", "why_not", "write"]

SUFFIX: Final = ".npz"
HAS_CHECKSUMS: Final = True
_HEADER: Final = "leafwise.json"
_COMMENT: Final = b"leafwise"
"""A second sign that the file is ours, should the name of the header be damaged."""
_END: Final = ".npy"
_STORED: Final = 0
"""The number of what is not compressed."""
_DEFLATED: Final = 1040
"""How much larger what is compressed can be, with something to spare."""
_MOST_OF_NPY: Final = 1 << 20


def why_not(_name: str, _array: Any) -> str:
    """Return why an array cannot be in such a file; it always can."""
    return ""


def write(file: IO[bytes], header: str, arrays: Mapping[str, Any]) -> None:
    """Write arrays and header into a file."""
    numpy = need("numpy", "saving .npz files", "arrays")
    zipfile = import_module("zipfile")  # it loads what there may not be: threads
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        archive.comment = _COMMENT
        archive.writestr(zipfile.ZipInfo(_HEADER), header)
        for name, array in arrays.items():
            info = zipfile.ZipInfo("array")
            info.filename = f"{name}{_END}"  # as it is, without what the class changes
            with archive.open(info, "w", force_zip64=True) as member:
                numpy.lib.format.write_array(
                    member, as_buffer(array), allow_pickle=False
                )


class _Archive:
    """An archive that is open for reading.

    Attributes:
        header: The text of the header; None if it has none.
        names: The names of its arrays.
    """

    def __init__(self, archive: Any, size: int) -> None:
        self._archive = archive
        self._size = size
        self._numpy = need("numpy", "loading .npz files", "arrays")
        infos = {info.orig_filename: info for info in archive.infolist()}
        if len(infos) != len(archive.infolist()):
            raise ValueError("it has two files with the same name")
        for info in infos.values():
            self._check(info)
        found = infos.pop(_HEADER, None)
        if (found is None) != (archive.comment != _COMMENT):
            raise ValueError("its header is damaged")
        self.header = None if found is None else archive.read(found).decode()
        self._infos = {name.removesuffix(_END): info for name, info in infos.items()}
        self.names = self._infos.keys()

    def _check(self, info: Any) -> None:
        """Raise an error if a file in the archive cannot be as large as stated."""
        most = _DEFLATED * info.compress_size + _DEFLATED
        if info.compress_type == _STORED:
            most = info.compress_size
        if info.compress_size > self._size or info.file_size > most:
            raise ValueError(f"{info.filename!r} is larger than the file")

    def form(self, name: str) -> Form:
        """Return the form of an array, which is checked against its size."""
        info, form = self._infos[name], self._numpy.lib.format
        with self._archive.open(info) as member:
            version = form.read_magic(member)
            read = form.read_array_header_1_0
            if version != (1, 0):
                read = form.read_array_header_2_0
            shape, _, dtype = read(member, max_header_size=_MOST_OF_NPY)
            if dtype.hasobject:
                raise ValueError(f"{info.filename!r} contains Python objects")
            start = info.file_size - math.prod(shape) * dtype.itemsize
            if any(length < 0 for length in shape) or start != member.tell():
                raise ValueError(f"{info.filename!r} differs from its header in size")
        return Form(dtype_name(dtype), tuple(shape))

    def read(self, name: str) -> Any:
        """Return an array."""
        with self._archive.open(self._infos[name]) as member:
            found = self._numpy.lib.format.read_array(
                member, allow_pickle=False, max_header_size=_MOST_OF_NPY
            )
            if member.read(1):  # which also compares the checksum
                raise ValueError(f"{name!r} is larger than its header says")
            return found


@contextmanager
def opened(path: str) -> Iterator[_Archive]:
    """Open a file for reading."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        with import_module("zipfile").ZipFile(file) as archive:
            yield _Archive(archive, size)

"""Arrays in `.npz` files: zip archives with one `.npy` file for each array.

They are written and read by zipfile and numpy, one array at a time. The header is a
file of its own in the archive, which `numpy.load` shows as bytes. Damage is found by
the checksums of zip; sizes are checked before memory is allocated.
"""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, Final

from .._lazy import need
from ..equality.arrays import dtype_name
from .arrays import OpenFile, Stored, as_buffer
from .header import parse_json


_HEADER: Final = "leafwise.json"
_SUFFIX: Final = ".npy"
_MAX_DEFLATE_RATIO: Final = 1040
"""Deflate makes data at most 1032 times smaller."""
_MAX_NPY_HEADER: Final = 1 << 20
"""The default of numpy is too small for dtypes of many fields."""


def why_not(_name: str, _array: Any) -> str:
    """Return why an array cannot be in such a file; it always can."""
    return ""


class _Archive(zipfile.ZipFile):
    """An archive that is not completed after an exception.

    To complete it would raise a ValueError instead, if a file in it is open.
    """

    # nothing, and not in Python: what a signal handler raises there is lost
    __del__ = staticmethod(bool)  # type: ignore[assignment]


def write(file: IO[bytes], header: str, arrays: Mapping[str, Any]) -> None:
    """Write arrays and header into a file."""
    numpy = need("numpy", "saving .npz files", "arrays")
    archive = _Archive(file, "w", zipfile.ZIP_STORED)
    archive.writestr(zipfile.ZipInfo(_HEADER), header)
    for name, array in arrays.items():
        info = zipfile.ZipInfo("array")
        info.filename = f"{name}{_SUFFIX}"  # as it is, without what the class changes
        with archive.open(info, "w", force_zip64=True) as member:
            numpy.lib.format.write_array(member, as_buffer(array), allow_pickle=False)
    archive.close()


@contextmanager
def opened(path: str) -> Iterator[OpenFile]:
    """Open a file for reading.

    Raises:
        ValueError: A member is larger than the file allows, or two have one name.
    """
    with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
        members = {info.orig_filename: info for info in archive.infolist()}
        if len(members) != len(archive.infolist()):
            raise ValueError("it has two files with the same name")
        _check_sizes(members, os.fstat(file.fileno()).st_size)
        header = None
        if _HEADER in members:
            header = parse_json(archive.read(members.pop(_HEADER)))
        arrays: dict[str, zipfile.ZipInfo] = {}
        for member_name, info in members.items():
            name = member_name.removesuffix(_SUFFIX)
            # another program may have written "a" and "a.npy"
            if header is None and name in members:
                name = member_name
            arrays[name] = info
        yield _OpenArchive(header, archive, arrays)


def _check_sizes(members: Mapping[str, zipfile.ZipInfo], file_size: int) -> None:
    """Raise an error for a member that claims more bytes than the file can hold.

    Arrays are not decompressed into memory at once, but may be compressed if another
    program wrote them. A header is read as a whole.
    """
    for name, info in members.items():
        max_size = file_size
        if info.compress_type != zipfile.ZIP_STORED and name != _HEADER:
            max_size *= _MAX_DEFLATE_RATIO
        if info.file_size > max_size:
            raise ValueError(f"{name!r} is larger than the file")


class _OpenArchive(OpenFile):
    """An archive that is open for reading."""

    def __init__(
        self,
        header: Any,
        archive: zipfile.ZipFile,
        members: Mapping[str, zipfile.ZipInfo],
    ) -> None:
        super().__init__(header)
        self._archive = archive
        self._members = members

    def arrays(self) -> dict[str, Stored]:
        """Return dtypes and shapes of the arrays by name."""
        arrays: dict[str, Stored] = {}
        for name, info in self._members.items():
            with self._archive.open(info) as member:
                arrays[name] = _read_form(name, member, info.file_size)
        return arrays

    def read(self, name: str) -> Any:
        """Return the elements of the array of a name."""
        numpy = need("numpy", "loading .npz files", "arrays")
        info = self._members[name]
        with self._archive.open(info) as member:
            _read_form(name, member, info.file_size)
            member.seek(0)
            array = numpy.lib.format.read_array(
                member, allow_pickle=False, max_header_size=_MAX_NPY_HEADER
            )
            member.read(1)  # the end, where the checksum is compared
            return array


def _read_form(name: str, member: Any, file_size: int) -> Stored:
    """Return dtype and shape of an array, which must fit its size in the archive.

    Raises:
        ValueError: They do not, or the array contains Python objects.
    """
    npy = need("numpy", "loading .npz files", "arrays").lib.format
    # numpy writes version 3 like version 2, but for names of fields beyond latin-1
    read_header = npy.read_array_header_2_0
    if npy.read_magic(member) == (1, 0):
        read_header = npy.read_array_header_1_0
    try:
        shape, _, dtype = read_header(member, max_header_size=_MAX_NPY_HEADER)
    except MemoryError:  # of Python's parser, for a text of many brackets
        raise ValueError(f"{name!r} has a malformed header") from None
    if dtype.hasobject:
        raise ValueError(f"{name!r} contains Python objects")
    # two negative lengths have a positive product
    is_shape = all(length >= 0 for length in shape)
    size = math.prod(shape) * dtype.itemsize
    if not is_shape or member.tell() + size != file_size:
        raise ValueError(f"{name!r} differs from its header in size")
    return Stored(name, dtype_name(dtype), shape)

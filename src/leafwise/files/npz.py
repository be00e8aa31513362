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
from typing import IO, Any, Final

from .._lazy import late_module, need
from ..equality.arrays import dtype_name
from .arrays import Opened, Stored, as_buffer
from .header import loads


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
    zipfile = late_module("zipfile")  # it loads what there may not be: threads

    class Archive(zipfile.ZipFile):  # type: ignore[name-defined,misc]
        """An archive that is not completed after an exception.

        To complete it would raise a ValueError instead, if a file in it is open.
        """

        # nothing, and not in Python: what a signal handler raises there is lost
        __del__ = staticmethod(bool)

    archive = Archive(file, "w", zipfile.ZIP_STORED)
    archive.writestr(zipfile.ZipInfo(_HEADER), header)
    for name, array in arrays.items():
        info = zipfile.ZipInfo("array")
        info.filename = f"{name}{_END}"  # as it is, without what the class changes
        with archive.open(info, "w", force_zip64=True) as member:
            numpy.lib.format.write_array(member, as_buffer(array), allow_pickle=False)
    archive.close()


@contextmanager
def opened(path: str) -> Iterator[Opened]:
    """Open a file for reading.

    Raises:
        ValueError: A member is larger than the file allows, or two have one name.
    """
    read_array = need("numpy", "loading .npz files", "arrays").lib.format.read_array
    with open(path, "rb") as file, late_module("zipfile").ZipFile(file) as archive:
        size = os.fstat(file.fileno()).st_size
        members = {info.orig_filename: info for info in archive.infolist()}
        if len(members) != len(archive.infolist()):
            raise ValueError("it has two files with the same name")
        for name, info in members.items():
            is_plain = info.compress_type == 0 or name == _HEADER
            if info.file_size > size * (1 if is_plain else _MAX_DEFLATE_RATIO):
                raise ValueError(f"{name!r} is larger than the file")
        about = members.pop(_HEADER, None)
        header = None if about is None else loads(archive.read(about))
        arrays = {}
        for full, info in members.items():
            name = full.removesuffix(_END)
            arrays[full if header is None and name in members else name] = info

        def describe(name: str) -> Stored:
            with archive.open(arrays[name]) as member:
                return _described(name, member, arrays[name].file_size)

        def read(name: str) -> Any:
            with archive.open(arrays[name]) as member:
                _described(name, member, arrays[name].file_size)
                member.seek(0)
                found = read_array(
                    member, allow_pickle=False, max_header_size=_MAX_NPY_HEADER
                )
                member.read(1)  # the end, where the checksum is compared
                return found

        yield Opened(header, [*arrays], describe, read)


def _described(name: str, member: Any, file_size: int) -> Stored:
    """Return dtype and shape of an array, which must fit its size in the archive.

    Raises:
        ValueError: They do not, or the array contains Python objects.
    """
    npy = need("numpy", "loading .npz files", "arrays").lib.format
    is_old = npy.read_magic(member) == (1, 0)
    read = npy.read_array_header_1_0 if is_old else npy.read_array_header_2_0
    try:
        shape, _, dtype = read(member, max_header_size=_MAX_NPY_HEADER)
    except MemoryError:  # of Python's parser, for a text of many brackets
        raise ValueError(f"{name!r} has a malformed header") from None
    if dtype.hasobject:
        raise ValueError(f"{name!r} contains Python objects")
    size = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or file_size - size != member.tell():
        raise ValueError(f"{name!r} differs from its header in size")
    return Stored(name, dtype_name(dtype), shape)

"""Arrays in `.safetensors` files: a table in JSON, then the bytes of all arrays.

The arrays are written from where they are: the functions of the package would copy all
of them, or replace the file themselves. On reading, the package checks the table; the
arrays are read by numpy, since the package has no numpy arrays of 8-bit floats.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, Final

from .._lazy import need
from ..equality.arrays import dtype_name
from .arrays import OpenFile, Stored, as_buffer, is_known_to_numpy
from .header import parse_json


_METADATA: Final = "__metadata__"
_HEADER: Final = "leafwise"
_CODES: Final = {
    "bool": "BOOL",
    "bfloat16": "BF16",
    "complex64": "C64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "float8_e8m0fnu": "F8_E8M0",
    "float16": "F16",
    "float32": "F32",
    "float64": "F64",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "uint8": "U8",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
}
_DTYPES: Final = {code: dtype for dtype, code in _CODES.items()}


def why_not(name: str, array: Any) -> str:
    """Return why an array cannot be in such a file, empty if it can."""
    dtype = dtype_name(array.dtype)
    if name == _METADATA:
        return f".safetensors has no array of the name {name}"
    if dtype not in _CODES:
        return f".safetensors has no arrays of dtype {dtype}"
    return ""


def write(file: IO[bytes], header: str, arrays: Mapping[str, Any]) -> None:
    """Write arrays and header into a file.

    Arrays of large elements stand before others, so that all are aligned.
    """
    numpy = need("numpy", "saving .safetensors files", "arrays")
    table: dict[str, Any] = {_METADATA: {_HEADER: header}}
    # the package writes them in this order, too
    names = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    begin = 0
    for name in names:
        array = arrays[name]
        shape = tuple(array.shape)
        end = begin + array.dtype.itemsize * math.prod(shape)
        table[name] = {
            "dtype": _CODES[dtype_name(array.dtype)],
            "shape": shape,
            "data_offsets": [begin, end],
        }
        begin = end
    text = json.dumps(table, separators=(",", ":")).encode()
    padding = -len(text) % 8  # so that the arrays begin at a multiple of 8 bytes
    text = text.ljust(len(text) + padding)
    file.write(len(text).to_bytes(8, "little"))
    file.write(text)
    for name in names:
        buffer = numpy.ascontiguousarray(as_buffer(arrays[name]))
        file.write(buffer.reshape(-1).view("u1"))


@contextmanager
def opened(path: str) -> Iterator[OpenFile]:
    """Open a file for reading."""
    package = need("safetensors", "loading .safetensors files", "arrays")
    with open(path, "rb") as file:
        with package.safe_open(path, "numpy"):
            pass  # it checks all lengths against the size of the file
        length = int.from_bytes(file.read(8), "little")
        table = parse_json(file.read(length))
        header = table.pop(_METADATA, {}).get(_HEADER)
        if header is not None:
            header = parse_json(header)
        yield _OpenTable(header, file, table, start=8 + length)


class _OpenTable(OpenFile):
    """A file that is open for reading, with its table and where the arrays start."""

    def __init__(
        self, header: Any, file: IO[bytes], table: Mapping[str, Any], start: int
    ) -> None:
        super().__init__(header)
        self._file = file
        self._table = table
        self._start = start

    def arrays(self) -> dict[str, Stored]:
        """Return dtypes and shapes of the arrays by name."""
        return {name: self._describe(name) for name in self._table}

    def _describe(self, name: str) -> Stored:
        row = self._table[name]
        code: str = row["dtype"]
        return Stored(name, _DTYPES.get(code, code), tuple(row["shape"]))

    def read(self, name: str) -> Any:
        """Return the elements of the array of a name."""
        numpy = need("numpy", "loading .safetensors files", "arrays")
        array = self._describe(name)
        dtype = array.dtype
        if dtype == "bfloat16":  # then its bits, which `elements` converts
            dtype = "uint16"
        elif not is_known_to_numpy(dtype):  # a float of 8 bits
            dtype = "uint8"
        self._file.seek(self._start + self._table[name]["data_offsets"][0])
        buffer = numpy.fromfile(self._file, dtype, math.prod(array.shape))
        return buffer.reshape(array.shape)

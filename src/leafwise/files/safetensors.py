"""Arrays in `.safetensors` files: a table in JSON, then the bytes of all arrays.

Owns how such a file is written: the arrays go from where they are into the file, since
the functions of the package take a copy of all of them, or replace the file themselves.
On reading, the package checks the table; the arrays are read by numpy, since the
package has no numpy arrays of dtypes of eight bits.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, Final

from .._lazy import need
from ..equality.arrays import dtype_name
from .arrays import Opened, Stored, as_buffer, is_known_to_numpy
from .header import loads


_ABOUT: Final = "__metadata__"
_HEADER: Final = "leafwise"
_CODES: Final = {
    "bool": "BOOL",
    "bfloat16": "BF16",
    "complex64": "C64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "float8_e8m0fnu": "F8_E8M0",
    **{
        f"{kind}{bits}": f"{kind[0].upper()}{bits}"
        for kind in ("float", "int", "uint")
        for bits in (8, 16, 32, 64)
    },
}
_NAMES: Final = {code: name for name, code in _CODES.items()}


def why_not(name: str, array: Any) -> str:
    """Return why an array cannot be in such a file, empty if it can."""
    dtype = dtype_name(array.dtype)
    if name == _ABOUT:
        return f".safetensors has no array of the name {name}"
    return "" if dtype in _CODES else f".safetensors has no arrays of dtype {dtype}"


def write(file: IO[bytes], header: str, arrays: Mapping[str, Any]) -> None:
    """Write arrays and header into a file.

    Arrays of large elements stand before others, so that all are aligned.
    """
    numpy = need("numpy", "saving .safetensors files", "arrays")
    table: dict[str, Any] = {_ABOUT: {_HEADER: header}}
    order = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    end = 0
    for name in order:
        dtype, shape, begin = arrays[name].dtype, tuple(arrays[name].shape), end
        end += dtype.itemsize * math.prod(shape)
        table[name] = {
            "dtype": _CODES[dtype_name(dtype)],
            "shape": shape,
            "data_offsets": [begin, end],
        }
    text = json.dumps(table, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little"))
    file.write(text)
    for name in order:
        buffer = numpy.ascontiguousarray(as_buffer(arrays[name]))
        file.write(buffer.reshape(-1).view("u1"))


@contextmanager
def opened(path: str) -> Iterator[Opened]:
    """Open a file for reading."""
    package = need("safetensors", "loading .safetensors files", "arrays")
    numpy = need("numpy", "loading .safetensors files", "arrays")
    with open(path, "rb") as file:
        with package.safe_open(path, "numpy"):
            pass  # it checks all lengths against the size of the file
        length = int.from_bytes(file.read(8), "little")
        table = loads(file.read(length))
        header = table.pop(_ABOUT, {}).get(_HEADER)

        def describe(name: str) -> Stored:
            code: str = table[name]["dtype"]
            return Stored(name, _NAMES.get(code, code), tuple(table[name]["shape"]))

        def read(name: str) -> Any:
            array = describe(name)
            dtype, shape = array.dtype, array.shape
            if not is_known_to_numpy(dtype):
                dtype = "uint16" if dtype == "bfloat16" else "uint8"
            file.seek(8 + length + table[name]["data_offsets"][0])
            return numpy.fromfile(file, dtype, math.prod(shape)).reshape(shape)

        yield Opened(header and loads(header), [*table], describe, read)

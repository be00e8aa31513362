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

from ..equality.content import dtype_name
from ..lazy import need
from ..safely import MISSING
from .arrays import Form, as_buffer, form_of, is_known_to_numpy
from .header import loads


__all__ = ["SUFFIX", "opened", "why_not", "write"]

SUFFIX: Final = ".safetensors"
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
        if (kind, bits) != ("float", 8)
    },
}
_NAMES: Final = {code: name for name, code in _CODES.items()}
_ALIGNMENT: Final = 8


def why_not(name: str, array: Any) -> str:
    """Return why an array cannot be in such a file, empty if it can."""
    dtype = dtype_name(array.dtype)
    if name == _ABOUT:
        return f"has no array of the name {name}"
    return "" if dtype in _CODES else f"has no arrays of dtype {dtype}"


def write(file: IO[bytes], header: str, arrays: Mapping[str, Any]) -> None:
    """Write arrays and header into a file.

    Arrays of large elements stand before others, so that all are aligned.
    """
    numpy = need("numpy", "saving .safetensors files", "arrays")
    table: dict[str, Any] = {_ABOUT: {_HEADER: header}}
    order = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    end = 0
    for name in order:
        form, begin = form_of(arrays[name]), end
        end += arrays[name].dtype.itemsize * math.prod(form.shape)
        table[name] = {
            "dtype": _CODES[form.dtype],
            "shape": form.shape,
            "data_offsets": [begin, end],
        }
    text = json.dumps(table, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    file.write(len(text).to_bytes(8, "little"))
    file.write(text)
    for name in order:
        buffer = numpy.ascontiguousarray(as_buffer(arrays[name]))
        file.write(buffer.reshape(-1).view("u1"))


class _Opened:
    """A file that is open for reading.

    Attributes:
        header: The header; None if it has none.
        tree: Missing: the file has arrays only.
        names: The names of its arrays.
    """

    tree = MISSING

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        length = int.from_bytes(file.read(8), "little")
        self._start = 8 + length
        self._table = loads(file.read(length).decode())
        header = self._table.pop(_ABOUT, {}).get(_HEADER)
        self.header = None if header is None else loads(header)
        self.names = [*self._table]

    def form(self, name: str) -> Form:
        """Return the form of an array."""
        code: str = self._table[name]["dtype"]
        return Form(_NAMES.get(code, code), tuple(self._table[name]["shape"]))

    def read(self, name: str) -> Any:
        """Return an array; for a dtype that numpy does not have, of unsigned ints."""
        numpy = need("numpy", "loading .safetensors files", "arrays")
        dtype, shape = self.form(name)
        begin, _ = self._table[name]["data_offsets"]
        if not is_known_to_numpy(dtype):
            dtype = "uint16" if dtype == "bfloat16" else "uint8"
        self._file.seek(self._start + begin)
        return numpy.fromfile(self._file, dtype, math.prod(shape)).reshape(shape)


@contextmanager
def opened(path: str) -> Iterator[_Opened]:
    """Open a file for reading."""
    package = need("safetensors", "loading .safetensors files", "arrays")
    with open(path, "rb") as file:
        with package.safe_open(path, "numpy"):
            pass  # it checks all lengths against the size of the file
        yield _Opened(file)

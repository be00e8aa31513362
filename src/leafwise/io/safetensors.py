"""Arrays in `.safetensors` files.

Owns how such a file is written: a table in JSON, then the bytes of all arrays. They go
from where they are into the file, since the writers of the package take either a copy
of all of them, or a path that they replace themselves. Files are read by the package,
which maps them into memory.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, Final

from ..equality.content import dtype_name
from ..lazy import need
from .arrays import Form, as_buffer, form_of


__all__ = ["HAS_CHECKSUMS", "SUFFIX", "opened", "why_not", "write"]

SUFFIX: Final = ".safetensors"
HAS_CHECKSUMS: Final = False
_ABOUT: Final = "__metadata__"
_HEADER: Final = "leafwise"
_VERSION: Final = "leafwise_format"
"""A second sign that the file is ours, should the first be damaged."""
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
    table: dict[str, Any] = {_ABOUT: {_HEADER: header, _VERSION: "1"}}
    sizes = {name: _size(array) for name, array in arrays.items()}
    order = sorted(arrays, key=lambda name: (-sizes[name][0], name))
    end = 0
    for name in order:
        form, (_, size) = form_of(arrays[name]), sizes[name]
        table[name] = {
            "dtype": _CODES[form.dtype],
            "shape": form.shape,
            "data_offsets": [end, end := end + size],
        }
    text = json.dumps(table, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    file.write(len(text).to_bytes(8, "little"))
    file.write(text)
    numpy = need("numpy", "saving .safetensors files", "arrays")
    for name in order:
        buffer = numpy.ascontiguousarray(as_buffer(arrays[name]))
        file.write(buffer.reshape(-1).view("u1"))


def _size(array: Any) -> tuple[int, int]:
    """Return how many bytes an element has, and the array."""
    width = array.dtype.itemsize
    return width, width * math.prod(array.shape)


class _Opened:
    """A file that is open for reading.

    Attributes:
        header: The text of the header; None if it has none.
        names: The names of its arrays.
    """

    def __init__(self, mapped: Any, raw: IO[bytes]) -> None:
        self._mapped = mapped
        self._raw = raw
        about = mapped.metadata() or {}
        if (_HEADER in about) != (_VERSION in about):
            raise ValueError("its header is damaged")
        self.header: str | None = about.get(_HEADER)
        self.names = {*mapped.keys()}

    def form(self, name: str) -> Form:
        """Return the form of an array."""
        part = self._mapped.get_slice(name)
        code: str = part.get_dtype()
        return Form(_NAMES.get(code, code), tuple(part.get_shape()))

    def read(self, name: str) -> Any:
        """Return an array; for a dtype that numpy does not have, of unsigned ints."""
        numpy = need("numpy", "loading .safetensors files", "arrays")
        form = self.form(name)
        if hasattr(numpy, form.dtype):
            return self._mapped.get_tensor(name)
        self._raw.seek(0)
        length = int.from_bytes(self._raw.read(8), "little")
        start, end = json.loads(self._raw.read(length))[name]["data_offsets"]
        self._raw.seek(8 + length + start)
        width = (end - start) // max(1, math.prod(form.shape))
        found = numpy.fromfile(self._raw, f"u{width or 1}", math.prod(form.shape))
        return found.reshape(form.shape)


@contextmanager
def opened(path: str) -> Iterator[_Opened]:
    """Open a file for reading."""
    package = need("safetensors", "loading .safetensors files", "arrays")
    with open(path, "rb") as raw, package.safe_open(path, "numpy") as mapped:
        yield _Opened(mapped, raw)

"""The elements of arrays as bytes, the same for equal arrays on every machine.

Owns how an array of numpy, jax or torch is described, and in which order and form its
elements are given out: in C order, little-endian, one zero and one NaN. Nothing is
copied but a chunk at a time: where the elements do not stand so in memory. (Masked
arrays are filled, whole.) Knows nothing of other values, which a caller gets as they
are, where an array holds objects.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from .content import Undecided, as_numpy, is_jax_array, is_traced, library_of, quiet


__all__ = ["describe_array", "describe_dtype", "feed_elements"]

Feed: TypeAlias = "Callable[[Any], object]"

_CHUNK: Final = 1 << 20
"""How many bytes are copied at a time."""

_NUMPY, _JAX, _TORCH = range(3)  # see `library_of`
_OBJECTS: Final = "OT"  # kinds of dtypes whose elements are objects, or strings
_WIDE: Final = "gG"  # dtypes whose size differs between machines, with gaps
_FLOATS: Final = ("float", "bfloat")
_FLATTENED: Final = ("memmap", "recarray", "matrix", "ndarray")


# -------------------------------------------------------------------------- description


def describe_array(array: Any) -> tuple[str, str, tuple[int, ...]]:
    """Return what an array is, its dtype and its shape.

    The order of bytes is not told: it is that of a machine, or of a file.

    Raises:
        Undecided: It is not known here, or has no elements yet.

    Example:
        >>> import pytest
        >>> np = pytest.importorskip("numpy")
        >>> from leafwise.equality.elements import describe_array
        >>> describe_array(np.zeros((2, 3), ">f4")), describe_array(np.int8(1))
        (('ndarray', 'f4', (2, 3)), ('scalar', 'i1', ()))
    """
    if is_traced(array):
        raise Undecided("jax is tracing, so its elements are not known yet")
    shape = tuple(map(int, array.shape))
    library = library_of(array)
    if library == _NUMPY:
        return _sort_of(array), describe_dtype(array.dtype), shape
    if library == _JAX:
        return "jax.Array", _jax_dtype(array.dtype), shape
    if library == _TORCH:
        return _sort_of_tensor(array), str(array.dtype), shape
    raise Undecided("it is an array of a library that is not known here")


def _sort_of(array: Any) -> str:
    numpy: Any = sys.modules["numpy"]
    if isinstance(array, numpy.generic):
        return "scalar"
    if type(array) is numpy.ma.MaskedArray:
        return "masked"
    for name in _FLATTENED:
        if type(array) is getattr(numpy, name):
            return name
    raise Undecided("a subclass of ndarray may be more than its elements")


def _sort_of_tensor(tensor: Any) -> str:
    torch: Any = sys.modules["torch"]
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        raise Undecided("a subclass of Tensor may be more than its elements")
    is_plain = tensor.layout is torch.strided and not tensor.is_quantized
    if not is_plain or tensor.is_meta:
        raise Undecided("a tensor that is not dense has no plain elements")
    return f"torch.{type(tensor).__name__}"


def _jax_dtype(dtype: Any) -> str:
    return describe_dtype(dtype) if hasattr(dtype, "newbyteorder") else str(dtype)


def describe_dtype(dtype: Any) -> str:
    """Return the text of a dtype of numpy, which does not tell the order of bytes.

    Example:
        >>> import pytest
        >>> np = pytest.importorskip("numpy")
        >>> from leafwise.equality.elements import describe_dtype
        >>> describe_dtype(np.dtype("M8[ns]")), describe_dtype(np.dtype(object))
        ('M8[ns]', 'O')
        >>> describe_dtype(np.dtype([("a", "f4"), ("b", ">i8")]))
        "(12, [('a', 'f4', 0, None), ('b', 'i8', 4, None)])"
    """
    if dtype.names is not None:
        fields = [(name, *dtype.fields[name]) for name in dtype.names]
        told = [
            (name, describe_dtype(inner), int(offset), title[0] if title else None)
            for name, inner, offset, *title in fields
        ]
        return repr((int(dtype.itemsize), told))
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return repr((describe_dtype(base), tuple(map(int, shape))))
    if dtype.kind in _OBJECTS:
        return str(dtype.kind)
    if _is_wide(dtype):
        return "longdouble" if dtype.kind == "f" else "clongdouble"
    is_named = dtype.kind == "V" and not dtype.name.startswith("void")
    return str(dtype.name if is_named else dtype.str[1:])


def _is_wide(dtype: Any) -> bool:
    return dtype.char in _WIDE and dtype.itemsize > (16 if dtype.kind == "c" else 8)


# ----------------------------------------------------------------------------- elements


def feed_elements(array: Any, feed: Feed, take: Feed) -> None:
    """Give out the elements of an array that has a description.

    Args:
        array: The array.
        feed: Called with parts of the elements, as bytes.
        take: Called with each element that is an object.

    Raises:
        Undecided: They cannot be read.
    """
    library = library_of(array)
    if library == _TORCH:
        for piece in _pieces_of_tensor(array.detach()):
            _feed_tensor(piece, feed)
        return
    if is_jax_array(array):
        if not hasattr(array.dtype, "newbyteorder"):  # a key
            array = sys.modules["jax"].random.key_data(array)
        array = as_numpy(array)
    _feed_numpy(array, feed, take)


def _feed_numpy(array: Any, feed: Feed, take: Feed) -> None:
    numpy: Any = sys.modules["numpy"]
    dtype = array.dtype
    if isinstance(array, numpy.ma.MaskedArray):
        _feed_numpy(numpy.ma.getmaskarray(array), feed, take)
        array = numpy.ma.filled(array, numpy.zeros((), dtype))
    array = numpy.asarray(array)
    if dtype.names is not None:
        for name in dtype.names:
            _feed_numpy(array[name], feed, take)
    elif dtype.kind in _OBJECTS:
        for item in array.flat:
            take(item)
    elif array.nbytes:
        for make in _parts_of(dtype):
            for piece in _pieces(array):
                feed(make(piece).view("u1").data)


def _parts_of(dtype: Any) -> tuple[Callable[[Any], Any], ...]:
    """Return functions that make of a piece what counts, one after the other."""
    if _is_wide(dtype):
        return _first, _second, _exponent
    if dtype.kind == "f" or dtype.kind == "c" or dtype.name.startswith(_FLOATS):
        return (lambda piece: _settled(_in_order(piece)),)
    return (_in_order,)


def _in_order(piece: Any) -> Any:
    """Return a piece with its bytes in little-endian order."""
    order = piece.dtype.newbyteorder("<")
    return piece if piece.dtype == order else piece.astype(order)


def _settled(piece: Any) -> Any:
    """Return a piece in which there is one zero and one NaN."""
    if piece.dtype.kind == "c":
        piece = piece.view(f"<f{piece.dtype.itemsize // 2}")
    with quiet():
        if piece.all() and (piece == piece).all():
            return piece
        made = piece.copy()
        made[made == 0] = 0
        made[made != made] = float("nan")
    return made


def _first(piece: Any) -> Any:
    """Return the leading half of the significands of wide numbers, as doubles."""
    numpy: Any = sys.modules["numpy"]
    return _settled(numpy.frexp(_real(piece))[0].astype("<f8"))


def _second(piece: Any) -> Any:
    """Return the rest of their significands."""
    numpy: Any = sys.modules["numpy"]
    with quiet():
        significand = numpy.frexp(_real(piece))[0]
        return _settled((significand - significand.astype("<f8")).astype("<f8"))


def _exponent(piece: Any) -> Any:
    numpy: Any = sys.modules["numpy"]
    real = _real(piece)
    return numpy.where(numpy.isfinite(real), numpy.frexp(real)[1], 0).astype("<i4")


def _real(piece: Any) -> Any:
    """Return wide numbers in the order of this machine, complex ones as pairs."""
    numpy: Any = sys.modules["numpy"]
    native = piece.astype(piece.dtype.newbyteorder("="), copy=False)
    return native.view(numpy.longdouble) if native.dtype.kind == "c" else native


def _pieces(array: Any) -> Iterator[Any]:
    """Yield the elements of a numpy array in C order, in flat contiguous pieces."""
    if array.flags.c_contiguous:
        flat, step = array.reshape(-1), max(1, _CHUNK // array.itemsize)
        for start in range(0, len(flat), step):
            yield flat[start : start + step]
    elif array.nbytes <= _CHUNK:
        yield array.flatten()
    elif len(array) == 1:
        yield from _pieces(array[0])
    else:
        step = max(1, _CHUNK * len(array) // array.nbytes)
        for start in range(0, len(array), step):
            yield from _pieces(array[start : start + step])


def _pieces_of_tensor(tensor: Any) -> Iterator[Any]:
    """Yield the elements of a tensor as `_pieces` does those of an array."""
    size = tensor.numel() * tensor.element_size()
    if size <= _CHUNK or tensor.is_contiguous():
        flat, step = tensor.reshape(-1), max(1, _CHUNK // tensor.element_size())
        for start in range(0, len(flat), step):
            yield flat[start : start + step]
    elif len(tensor) == 1:
        yield from _pieces_of_tensor(tensor[0])
    else:
        step = max(1, _CHUNK * len(tensor) // size)
        for start in range(0, len(tensor), step):
            yield from _pieces_of_tensor(tensor[start : start + step])


def _feed_tensor(piece: Any, feed: Feed) -> None:
    """Give out a piece of a tensor; numpy lacks some of its dtypes."""
    torch: Any = sys.modules["torch"]
    here = piece.cpu().resolve_conj().resolve_neg().contiguous()
    try:
        found = here.numpy()
    except TypeError:
        bits = torch.int16 if here.element_size() == 2 else torch.uint8
        raw, wide = here.view(bits).clone(), here.float()
        nan = torch.full((), float("nan")).to(here.dtype).view(bits)
        raw[wide == 0] = 0
        raw[wide.isnan()] = nan
        found = raw.numpy()
    _feed_numpy(found, feed, feed)

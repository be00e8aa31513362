"""The elements of arrays as bytes, the same for equal arrays on every machine.

Owns how an array of numpy, jax or torch is described, and in which order and form its
elements are given out: in C order, little-endian, one zero and one NaN. An array whose
elements are not so in memory is copied. Elements that are objects are given out as they
are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeAlias

from .content import Undecided, as_numpy, is_jax_array, is_traced, library_of, quiet


Feed: TypeAlias = "Callable[[Any], object]"


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
    if library < 0:
        raise Undecided("it is an array of a library that is not known here")
    sort = (_sort_of, lambda _: "jax.Array", _sort_of_tensor)[library](array)
    return sort, describe_dtype(array.dtype), shape


def _sort_of(array: Any) -> str:
    numpy: Any = sys.modules["numpy"]
    if isinstance(array, numpy.generic):
        return "scalar"
    if type(array) is numpy.ma.MaskedArray:
        return "masked"
    if type(array) not in (numpy.ndarray, numpy.memmap):
        raise Undecided("a subclass of ndarray may be more than its elements")
    return type(array).__name__


def _sort_of_tensor(tensor: Any) -> str:
    torch: Any = sys.modules["torch"]
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        raise Undecided("a subclass of Tensor may be more than its elements")
    is_plain = tensor.layout is torch.strided and not tensor.is_quantized
    if not is_plain or tensor.is_meta:
        raise Undecided("a tensor that is not dense has no plain elements")
    return f"torch.{type(tensor).__name__}"


def describe_dtype(dtype: Any) -> str:
    """Return the text of a dtype, which does not tell the order of bytes.

    Example:
        >>> import pytest
        >>> np = pytest.importorskip("numpy")
        >>> from leafwise.equality.elements import describe_dtype
        >>> describe_dtype(np.dtype("M8[ns]")), describe_dtype(np.dtype(object))
        ('M8[ns]', 'O')
        >>> describe_dtype(np.dtype([("a", "f4"), ("b", ">i8")]))
        "(12, [('a', 'f4', 0, None), ('b', 'i8', 4, None)])"
    """
    if not hasattr(dtype, "newbyteorder"):  # of torch, or of a key of jax
        return str(dtype)
    if dtype.names is not None:
        fields = [(name, *dtype.fields[name][:2]) for name in dtype.names]
        told = [
            (name, describe_dtype(inner), int(offset), None)
            for name, inner, offset in fields
        ]
        return repr((int(dtype.itemsize), told))
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return repr((describe_dtype(base), tuple(map(int, shape))))
    if dtype.kind in "OT":  # the elements are objects, or strings
        return str(dtype.kind)
    if dtype.char in "gG" and dtype.itemsize > (16 if dtype.kind == "c" else 8):
        raise Undecided(f"machines differ in what {dtype.name} is")
    is_named = dtype.kind == "V" and not dtype.name.startswith("void")
    return str(dtype.name if is_named else dtype.str[1:])


# ----------------------------------------------------------------------------- elements


def feed_elements(array: Any, feed: Feed, take: Feed) -> None:
    """Give out the elements of an array that has a description.

    Args:
        array: The array.
        feed: Called with parts of the elements, as bytes.
        take: Called with each element that is an object.
    """
    if is_jax_array(array) and not hasattr(array.dtype, "newbyteorder"):  # a key
        array = sys.modules["jax"].random.key_data(array)
    _feed_numpy(as_numpy(array), feed, take)


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
    elif dtype.kind in "OT":
        for item in array.flat:
            take(item)
    elif array.nbytes:
        flat = numpy.ascontiguousarray(array, dtype.newbyteorder("<")).reshape(-1)
        if dtype.kind in "fc" or dtype.name.startswith(("float", "bfloat")):
            flat = _settled(flat)
        feed(flat.view("u1").data)


def _settled(flat: Any) -> Any:
    """Return floats in which there is one zero and one NaN."""
    if flat.dtype.kind == "c":
        flat = flat.view(f"<f{flat.dtype.itemsize // 2}")
    with quiet():
        if flat.all() and (flat == flat).all():
            return flat
        made = flat.copy()
        made[made == 0] = 0
        made[made != made] = float("nan")
    return made

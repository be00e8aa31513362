"""What is known about arrays: libraries, sizes, comparisons, and elements as bytes.

No array library is imported here: a program that has an array has loaded its library.
Arrays of one library are compared by their own operators where possible, arrays of two
libraries or devices as numpy arrays. `leaves` compares Python's own values.

For fingerprints, the elements of equal arrays give the same bytes on every machine: in
C order, little-endian, with one zero and one NaN.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final, NamedTuple, TypeAlias

from .._lazy import need
from .._text import FAULTS, short_repr
from ..errors import TreeDefError
from .exact import is_array_like


Pairs: TypeAlias = "Sequence[tuple[Any, Any]]"
"""Values that have to be the same, one by one."""

Feed: TypeAlias = "Callable[[Any], object]"
"""Takes an element of an array, or the bytes of some."""

_NUMBERS: Final = ("int", "uint", "float", "bfloat", "complex")


class UndecidedError(ValueError):
    """Whether two values are the same cannot be determined; the text says why."""


class Criteria(NamedTuple):
    """What counts when values are compared, by default as little as possible.

    Attributes:
        typematch: Whether values of two types differ.
        rtol, atol: How far apart numbers may be.
        equal_nan: Whether NaN is the same as NaN.
    """

    typematch: bool = False
    rtol: float = 0.0
    atol: float = 0.0
    equal_nan: bool = True

    @property
    def is_tolerant(self) -> bool:
        """Whether numbers may be apart."""
        return self.rtol > 0 or self.atol > 0

    def allowed(self, size: Any) -> Any:
        """Return how far apart numbers of this size may be."""
        return self.atol + self.rtol * size


# ------------------------------------------------------------------ what is an array


def instance_of(value: Any, module: str, *names: str) -> bool:
    """Return whether a value is an instance of classes of a module that is loaded."""
    library = sys.modules.get(module)
    if library is None:
        return False
    for name in names:
        cls = getattr(library, name, None)
        if isinstance(cls, type) and isinstance(value, cls):
            return True
    return False


def is_array(value: Any) -> bool:
    """Return whether a value is an array, or a scalar with a dtype. Never raises."""
    try:
        return not isinstance(value, type) and is_array_like(value)
    except FAULTS:  # it fails when it is criteria for an attribute, or its class
        return False


def is_jax_array(value: Any) -> bool:
    """Return whether a value is an array of jax, traced or not."""
    return instance_of(value, "jax", "Array")


def is_tracer(value: Any) -> bool:
    """Return whether a value stands for an array in a function that jax traces."""
    return instance_of(value, "jax.core", "Tracer")


_LIBRARIES: Final = (
    ("numpy", "ndarray", "generic"),
    ("jax", "Array"),
    ("torch", "Tensor"),
)
_NUMPY, _JAX, _TORCH = range(3)


def library_of(value: Any) -> int:
    """Return the number of the library that an array is of, -1 if none is known."""
    for number, names in enumerate(_LIBRARIES):
        if instance_of(value, *names):
            return number
    return -1


def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype, which is the same in all libraries."""
    return str(dtype).removeprefix("torch.")


REGISTERED: Final = 2
"""The `isbuiltin` of dtypes that a package adds to numpy, as ml_dtypes does."""


def extension_dtype(name: str) -> Any:
    """Return the dtype of ml_dtypes that has a name.

    Raises:
        ModuleNotFoundError: ml_dtypes is not installed.
        TreeDefError: It has no such dtype.
    """
    package = need("ml_dtypes", f"the dtype {short_repr(name)}", "arrays")
    cls = getattr(package, name, None)
    if not isinstance(cls, type) or not hasattr(cls, "dtype"):
        raise TreeDefError(f"there is no dtype {short_repr(name)}")
    return need("numpy", "loading arrays", "arrays").dtype(cls)


def is_number_dtype(dtype: Any) -> bool:
    """Return whether the elements of a dtype are numbers; a bool is none."""
    kind = getattr(dtype, "kind", "V")
    if kind == "V":  # of torch, or of ml_dtypes
        return dtype_name(dtype).startswith(_NUMBERS)
    return kind in "iufc"


def _same_form(a: Any, b: Any) -> bool:
    """Return whether two arrays, maybe of two libraries, share shape and dtype."""
    if tuple(a.shape) != tuple(b.shape):
        return False
    if library_of(a) == library_of(b):
        return bool(a.dtype == b.dtype)
    return dtype_name(a.dtype) == dtype_name(b.dtype)


# -------------------------------------------------------------- how large an array is


def has_memory(leaf: Any) -> bool:
    """Return whether a leaf is an array, and not only the description of one."""
    if not is_array(leaf) or instance_of(leaf, "numpy", "generic"):
        return False
    return hasattr(type(leaf), "__array__") or hasattr(type(leaf), "__dlpack__")


def size_of(leaf: Any) -> tuple[int, int]:
    """Return how many numbers a leaf has, and how many bytes they take, if known.

    Example:
        >>> import pytest
        >>> np = pytest.importorskip("numpy")
        >>> from leafwise.equality.arrays import size_of
        >>> size_of(np.zeros((2, 3))), size_of("text")
        ((6, 48), (1, 0))
    """
    shape = shape_of(leaf)
    if shape is None:
        return 1, 0
    size = prod(shape)
    width = getattr(leaf.dtype, "itemsize", 0)
    if type(width) is not int:
        return size, 0
    return size, size * width


def shape_of(leaf: Any) -> tuple[int, ...] | None:
    """Return the shape of an array, None if it has none that can be read."""
    if not is_array(leaf):
        return None
    try:
        return tuple([int(length) for length in leaf.shape])
    except FAULTS:  # of the class of the array
        return None


# ------------------------------------------------------------------ comparing arrays


def compare_arrays(a: Any, b: Any, criteria: Criteria) -> bool | Pairs:
    """Return whether two arrays are the same, or what has to be the same for it.

    Args:
        a, b: Two arrays, neither of them traced.
        criteria: What counts.

    Raises:
        Exception: Their elements cannot be read.
    """
    if type(a) is type(b) and are_equal_arrays(a, b):
        return True
    if not _same_form(a, b):
        return False
    library = library_of(a)
    is_one_library = library == library_of(b)
    if is_one_library and library == _NUMPY:
        parts = _parts(a, b)
        if parts is not None:
            return parts
    elif not (is_readable(a) and is_readable(b)):
        return says_equal(a, b) and says_equal(b, a)
    operators: list[Any] = [type(a).__eq__, type(b).__eq__]
    if is_one_library and object.__eq__ not in operators:
        with contextlib.suppress(*FAULTS):  # on two devices, for one
            return _same_elements(a, b, criteria)
    return _same_elements(as_numpy(a), as_numpy(b), criteria)


def are_equal_arrays(a: Any, b: Any) -> bool:
    """Return whether two arrays of one class of numpy are equal everywhere."""
    dtype = a.dtype
    return (
        type(a).__module__ == "numpy"
        and dtype.kind in "biufSUmM"
        and a.shape == b.shape
        and (dtype is b.dtype or dtype == b.dtype)
        and bool((a == b).all())
    )


def is_readable(value: Any) -> bool:
    """Return whether there are elements; the shape alone may be all there is."""
    if library_of(value) >= 0:
        return True
    return any(hasattr(value, name) for name in ("__array__", "toarray", "all"))


def says_equal(value: Any, other: Any) -> bool:
    """Return whether the `==` of a value's own class, and nobody else's, gives True."""
    eq: Any = type(value).__eq__
    try:
        return eq(value, other) is True
    except FAULTS:  # of a class that cannot be compared with the other one
        return False


def is_masked(array: Any) -> bool:
    """Return whether an array of numpy has masked elements, or could have some."""
    return type(array).__module__ != "numpy" and instance_of(
        array, "numpy.ma", "MaskedArray"
    )


def _parts(a: Any, b: Any) -> Pairs | None:
    """Return the parts of numpy arrays that cannot be compared as a whole."""
    if is_masked(a) or is_masked(b):  # what is under a mask does not count
        ma: Any = sys.modules["numpy"].ma
        return [
            (ma.getmaskarray(a), ma.getmaskarray(b)),
            (_without_masked(a), _without_masked(b)),
        ]
    if a.dtype.names is not None:
        return [(a[name], b[name]) for name in a.dtype.names]
    if a.dtype == object:
        return list(zip(a.flat, b.flat, strict=True))
    return None


def _without_masked(array: Any) -> Any:
    """Return the elements of an array of numpy, with zeros where they are masked."""
    numpy: Any = sys.modules["numpy"]
    return numpy.ma.filled(array, numpy.zeros((), array.dtype))


def _same_elements(a: Any, b: Any, criteria: Criteria) -> bool:
    with quiet():
        if bool((a == b).all()):
            return True
    if criteria.is_tolerant:
        a = as_numpy(a)
        b = as_numpy(b)
    return bool(same_places(a, b, criteria).all())


def quiet() -> Any:
    """Silence numpy's warnings about NaN and infinity."""
    numpy: Any = sys.modules.get("numpy")
    if numpy is None:
        return contextlib.nullcontext()
    return numpy.errstate(all="ignore")


def _agreement(a: Any, b: Any, *, equal_nan: bool) -> Any:
    """Return for each element whether it is the same; of complex ones, part by part."""
    if not equal_nan:
        return a == b
    if _is_complex(a) or _is_complex(b):
        real_agreement = _agreement(a.real, b.real, equal_nan=True)
        return real_agreement & _agreement(a.imag, b.imag, equal_nan=True)
    return (a == b) | ((a != a) & (b != b))


def _is_complex(value: Any) -> bool:
    if isinstance(value, complex):
        return True
    return dtype_name(getattr(value, "dtype", "")).startswith("complex")


def _close(a: Any, b: Any, criteria: Criteria) -> Any:
    """Return for each element of numpy arrays whether it is within the tolerance."""
    numpy: Any = sys.modules["numpy"]
    agreement = _agreement(a, b, equal_nan=criteria.equal_nan)
    distance, sizes = distances(a, b)
    is_near = distance <= criteria.allowed(sizes)
    return agreement | (is_near & (distance < numpy.inf))


def distances(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the distances of numbers, and the size of the larger of each two.

    The distance of integers is exact, and unsigned. Other numbers are converted to
    double precision first, if they have less.

    Args:
        a, b: Numpy arrays of numbers.
    """
    numpy: Any = sys.modules["numpy"]
    if a.dtype.kind in "iu" and a.dtype == b.dtype:
        high = numpy.maximum(a, b).astype("u8")
        low = numpy.minimum(a, b).astype("u8")
        distance = high - low
        a = a.astype("f8")
        b = b.astype("f8")
    else:
        a = _with_double_precision(a)
        b = _with_double_precision(b)
        distance = abs(a - b)
    return distance, numpy.maximum(abs(a), abs(b))


def same_places(a: Any, b: Any, criteria: Criteria) -> Any:
    """Return for each element of two numpy arrays whether it is the same.

    Args:
        a, b: Arrays of one shape, without fields, masks or objects.
        criteria: What counts.

    Raises:
        UndecidedError: Their elements are of two sorts, which are not compared.
    """
    are_numbers = is_number_dtype(a.dtype) and is_number_dtype(b.dtype)
    if not are_numbers and a.dtype != b.dtype and a.dtype.kind != b.dtype.kind:
        raise UndecidedError("the element types differ")
    with quiet():
        if criteria.is_tolerant and are_numbers:
            return _close(a, b, criteria)
        return _agreement(a, b, equal_nan=criteria.equal_nan)


def _with_double_precision(array: Any) -> Any:
    """Return an array of numbers, converted if it has less than double precision."""
    is_complex = array.dtype.kind == "c"
    if array.dtype.itemsize >= (16 if is_complex else 8):
        return array
    return array.astype("c16" if is_complex else "f8")


def as_numpy(array: Any) -> Any:
    """Return the elements of an array as a numpy array.

    Raises:
        Exception: It cannot be made one.
    """
    numpy: Any = sys.modules.get("numpy")
    if numpy is None:
        raise TypeError("numpy is not loaded")
    if library_of(array) == _TORCH:
        elements = _from_torch(array)
    elif hasattr(array, "toarray"):  # a sparse array of scipy
        elements = numpy.asanyarray(array.toarray())
    else:
        elements = numpy.asanyarray(array)
    if elements.shape != tuple(array.shape):
        raise TypeError(
            f"{type(array).__qualname__} cannot be converted to a numpy array"
        )
    return elements


def _from_torch(tensor: Any) -> Any:
    tensor = tensor.detach().to_dense().cpu().resolve_conj().resolve_neg()
    try:
        return tensor.numpy()
    except TypeError:  # numpy has no such dtype, and those of torch fit into these
        torch: Any = sys.modules["torch"]
        dtype = torch.complex64 if tensor.is_complex() else torch.float32
        return tensor.to(dtype).numpy()


# ------------------------------------------------------- arrays beside other values


def compare_scalar(array: Any, value: Any, criteria: Criteria) -> bool | Pairs:
    """Return whether an array without dimensions is the same as a Python scalar.

    A Python number has no dtype: it counts as one of the array's, as it does in the
    array's own operators.

    Args:
        array: An array that is not traced.
        value: A number, a str or bytes.
        criteria: What counts.

    Returns:
        The answer, or what has to be the same for it.
    """
    if tuple(array.shape) or not _takes(array.dtype, value):
        return False
    with quiet(), contextlib.suppress(*FAULTS):  # as of an int beyond the dtype
        if bool(_agreement(array, value, equal_nan=criteria.equal_nan)):
            return True
    if criteria.is_tolerant and is_number_dtype(array.dtype):
        return [(_item(array), value)]
    return False


def _item(array: Any) -> Any:
    """Return the number in an array without dimensions, as one of Python's."""
    number = array.item()
    if type(number) in (int, float, complex):
        return number
    return complex(number) if _is_complex(array) else float(number)


def _takes(dtype: Any, value: Any) -> bool:
    """Return whether a Python scalar can be one of a dtype; a bool is not a number."""
    if isinstance(value, bool):
        return dtype_name(dtype) == "bool"
    if isinstance(value, str):
        return getattr(dtype, "kind", "") == "U"
    if isinstance(value, bytes):
        return getattr(dtype, "kind", "") == "S"
    return is_number_dtype(dtype)


def traced_agreement(a: Any, b: Any, criteria: Criteria) -> Any:
    """Return whether two values are the same, one of them traced, as a traced bool.

    Args:
        a: A traced array.
        b: An array, traced or not, or a Python number.
        criteria: What counts.

    Returns:
        False if the shapes or dtypes differ, otherwise an array.
    """
    if is_array(b):
        if not _same_form(a, b):
            return False
    elif tuple(a.shape) or not _takes(a.dtype, b):
        return False
    agreement = _agreement(a, b, equal_nan=criteria.equal_nan)
    if criteria.is_tolerant and is_number_dtype(a.dtype):
        if dtype_name(a.dtype).startswith(("int", "uint")):
            a = a.astype(float)
            b = b.astype(float) if is_array(b) else float(b)
        distance = abs(a - b)
        is_near = distance <= criteria.allowed(abs(a))
        is_near = is_near | (distance <= criteria.allowed(abs(b)))
        agreement = agreement | (is_near & (distance < float("inf")))
    return agreement.all()


# --------------------------------------------- what an array is, the same everywhere


def describe_array(array: Any) -> tuple[str, str, tuple[int, ...]]:
    """Return the sort of an array, its dtype and its shape.

    The order of bytes is left out: it is that of a machine, or of a file.

    Raises:
        UndecidedError: It is not known here, or has no elements yet.

    Example:
        >>> import pytest
        >>> np = pytest.importorskip("numpy")
        >>> from leafwise.equality.arrays import describe_array
        >>> describe_array(np.zeros((2, 3), ">f4")), describe_array(np.int8(1))
        (('ndarray', 'f4', (2, 3)), ('scalar', 'i1', ()))
    """
    if is_tracer(array):
        raise UndecidedError("jax is tracing, so its elements are not known yet")
    shape = tuple([int(length) for length in array.shape])
    library = library_of(array)
    if library == _NUMPY:
        sort = _sort_of(array)
    elif library == _JAX:
        sort = "jax.Array"
    elif library == _TORCH:
        sort = _sort_of_tensor(array)
    else:
        raise UndecidedError("it is an array of a library that is not known here")
    return sort, describe_dtype(array.dtype), shape


def _sort_of(array: Any) -> str:
    numpy: Any = sys.modules["numpy"]
    if isinstance(array, numpy.generic):
        return "scalar"
    if type(array) is numpy.ma.MaskedArray:
        return "masked"
    if type(array) not in (numpy.ndarray, numpy.memmap):
        raise UndecidedError("a subclass of ndarray may be more than its elements")
    return type(array).__name__


def _sort_of_tensor(tensor: Any) -> str:
    torch: Any = sys.modules["torch"]
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        raise UndecidedError("a subclass of Tensor may be more than its elements")
    is_plain = tensor.layout is torch.strided and not tensor.is_quantized
    if not is_plain or tensor.is_meta:
        raise UndecidedError("a tensor that is not dense has no plain elements")
    return f"torch.{type(tensor).__name__}"


def describe_dtype(dtype: Any) -> str:
    """Return the text of a dtype, without the order of bytes.

    Example:
        >>> import pytest
        >>> np = pytest.importorskip("numpy")
        >>> from leafwise.equality.arrays import describe_dtype
        >>> describe_dtype(np.dtype("M8[ns]")), describe_dtype(np.dtype(object))
        ('M8[ns]', 'O')
        >>> describe_dtype(np.dtype([("a", "f4"), ("b", ">i8")]))
        "(12, [('a', 'f4', 0, None), ('b', 'i8', 4, None)])"
    """
    if not hasattr(dtype, "newbyteorder"):  # of torch, or of a key of jax
        return str(dtype)
    if dtype.names is not None:
        fields = []
        for name in dtype.names:
            inner, offset, *_ = dtype.fields[name]
            fields.append((name, describe_dtype(inner), int(offset), None))
        return repr((int(dtype.itemsize), fields))
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return repr((describe_dtype(base), tuple([int(length) for length in shape])))
    if dtype.kind in "OT":  # the elements are objects, or strings
        return str(dtype.kind)
    if dtype.char in "gG" and dtype.itemsize > (16 if dtype.kind == "c" else 8):
        raise UndecidedError(f"machines differ in what {dtype.name} is")
    if dtype.kind == "V" and not dtype.name.startswith("void"):  # of ml_dtypes
        return str(dtype.name)
    return str(dtype.str[1:])


# ------------------------------------------------------------- elements, as bytes


def feed_elements(array: Any, feed: Feed, feed_object: Feed) -> None:
    """Pass the elements of an array that has a description to a function.

    Args:
        array: The array.
        feed: Called with parts of the elements, as bytes.
        feed_object: Called with each element that is an object.
    """
    if is_jax_array(array) and not hasattr(array.dtype, "newbyteorder"):  # a key
        array = sys.modules["jax"].random.key_data(array)
    _feed_numpy(as_numpy(array), feed, feed_object)


def _feed_numpy(array: Any, feed: Feed, feed_object: Feed) -> None:
    numpy: Any = sys.modules["numpy"]
    dtype = array.dtype
    if isinstance(array, numpy.ma.MaskedArray):
        _feed_numpy(numpy.ma.getmaskarray(array), feed, feed_object)
        array = _without_masked(array)
    array = numpy.asarray(array)
    if dtype.names is not None:
        for name in dtype.names:
            _feed_numpy(array[name], feed, feed_object)
    elif dtype.kind in "OT":
        for item in array.flat:
            feed_object(item)
    elif array.nbytes:
        elements = numpy.ascontiguousarray(array, dtype.newbyteorder("<")).reshape(-1)
        if dtype.kind in "fc" or dtype.name.startswith(("float", "bfloat")):
            elements = _with_one_zero(elements)
        feed(elements.view("u1").data)


def _with_one_zero(floats: Any) -> Any:
    """Return a flat array of floats in which there is one zero and one NaN."""
    if floats.dtype.kind == "c":
        floats = floats.view(f"<f{floats.dtype.itemsize // 2}")
    with quiet():
        if floats.all() and (floats == floats).all():
            return floats
        floats = floats.copy()
        floats[floats == 0] = 0
        floats[floats != floats] = float("nan")
    return floats

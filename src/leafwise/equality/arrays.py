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
"""Takes a part of the elements of an array."""

_NUMBERS: Final = ("int", "uint", "float", "bfloat", "complex")


class Undecided(ValueError):
    """Whether two values are the same cannot be determined; the text says why."""


class Asked(NamedTuple):
    """What counts when values are compared.

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
    def tolerant(self) -> bool:
        """Whether numbers may be apart."""
        return self.rtol > 0 or self.atol > 0

    def allowed(self, size: Any) -> Any:
        """Return how far apart numbers of this size may be."""
        return self.atol + self.rtol * size


# ------------------------------------------------------------------ what is an array


def instance_of(value: Any, module: str, *names: str) -> bool:
    """Return whether a value is an instance of classes of a module that is loaded."""
    found = sys.modules.get(module)
    for name in names if found is not None else ():
        cls = getattr(found, name, None)
        if isinstance(cls, type) and isinstance(value, cls):
            return True
    return False


def is_array(value: Any) -> bool:
    """Return whether a value is an array, or a scalar with a dtype. Never raises."""
    try:
        return not isinstance(value, type) and is_array_like(value)
    except FAULTS:  # it fails when it is asked for an attribute, or its class
        return False


def is_jax_array(value: Any) -> bool:
    """Return whether a value is an array of jax, traced or not."""
    return instance_of(value, "jax", "Array")


def is_traced(value: Any) -> bool:
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
    found = (n for n, names in enumerate(_LIBRARIES) if instance_of(value, *names))
    return next(found, -1)


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
    return kind in "iufc" or (kind == "V" and dtype_name(dtype).startswith(_NUMBERS))


def _same_form(a: Any, b: Any, libraries: tuple[int, int]) -> bool:
    if tuple(a.shape) != tuple(b.shape):
        return False
    if libraries[0] == libraries[1]:
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
    width = getattr(leaf.dtype, "itemsize", 0)
    return prod(shape), prod(shape) * width if type(width) is int else 0


def shape_of(leaf: Any) -> tuple[int, ...] | None:
    """Return the shape of an array, None if it has none that can be read."""
    try:
        return tuple([int(length) for length in leaf.shape]) if is_array(leaf) else None
    except FAULTS:  # of the class of the array
        return None


# ------------------------------------------------------------------ comparing arrays


def compare_arrays(a: Any, b: Any, asked: Asked) -> bool | Pairs:
    """Return whether two arrays are the same, or what has to be the same for it.

    Args:
        a, b: Two arrays, neither of them traced.
        asked: What counts.

    Raises:
        Exception: Their elements cannot be read.
    """
    if type(a) is type(b) and same_arrays_at_sight(a, b):
        return True
    libraries = library_of(a), library_of(b)
    if not _same_form(a, b, libraries):
        return False
    if libraries == (_NUMPY, _NUMPY):
        parts = _parts(a, b)
        if parts is not None:
            return parts
    elif not (is_readable(a) and is_readable(b)):
        return says_equal(a, b) and says_equal(b, a)
    operators: Any = type(a).__eq__, type(b).__eq__
    if libraries[0] == libraries[1] and object.__eq__ not in operators:
        with contextlib.suppress(*FAULTS):  # on two devices, for one
            return _same_elements(a, b, asked)
    return _same_elements(as_numpy(a), as_numpy(b), asked)


def same_arrays_at_sight(a: Any, b: Any) -> bool:
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
    ask: Any = type(value).__eq__
    try:
        return ask(value, other) is True
    except FAULTS:  # of a class that cannot be compared with the other one
        return False


def is_masked(array: Any) -> bool:
    """Return whether an array of numpy has masked elements, or could have some."""
    return type(array).__module__ != "numpy" and instance_of(
        array, "numpy.ma", "MaskedArray"
    )


def _parts(a: Any, b: Any) -> Pairs | None:
    """Return the parts of numpy arrays whose elements alone do not tell."""
    if is_masked(a) or is_masked(b):  # what is under a mask does not count
        numpy: Any = sys.modules["numpy"]
        masks = numpy.ma.getmaskarray(a), numpy.ma.getmaskarray(b)
        fill = numpy.zeros((), a.dtype)
        return [masks, (numpy.ma.filled(a, fill), numpy.ma.filled(b, fill))]
    if a.dtype.names is not None:
        return [(a[name], b[name]) for name in a.dtype.names]
    if a.dtype == object:
        return [*zip(a.flat, b.flat, strict=True)]
    return None


def _same_elements(a: Any, b: Any, asked: Asked) -> bool:
    with quiet():
        if bool((a == b).all()):
            return True
    if asked.tolerant:
        a, b = as_numpy(a), as_numpy(b)
    return bool(same_places(a, b, asked).all())


def quiet() -> Any:
    """Silence numpy's warnings about NaN and infinity."""
    numpy: Any = sys.modules.get("numpy")
    return contextlib.nullcontext() if numpy is None else numpy.errstate(all="ignore")


def _agreement(a: Any, b: Any, *, equal_nan: bool) -> Any:
    """Return for each element whether it is the same; of complex ones, part by part."""
    if not equal_nan:
        return a == b
    if _is_complex(a) or _is_complex(b):
        real = _agreement(a.real, b.real, equal_nan=True)
        return real & _agreement(a.imag, b.imag, equal_nan=True)
    return (a == b) | ((a != a) & (b != b))


def _is_complex(value: Any) -> bool:
    if isinstance(value, complex):
        return True
    return dtype_name(getattr(value, "dtype", "")).startswith("complex")


def _close(a: Any, b: Any, asked: Asked) -> Any:
    """Return for each element of numpy arrays whether it is within the tolerance."""
    numpy: Any = sys.modules["numpy"]
    same = _agreement(a, b, equal_nan=asked.equal_nan)
    apart, sizes = distances(a, b)
    near = apart <= asked.allowed(sizes)
    return same | (near & (apart < numpy.inf))


def distances(a: Any, b: Any) -> tuple[Any, Any]:
    """Return how far apart numbers are, and the size of the larger of each two.

    Of integers it is the exact distance, as an unsigned one; other numbers are
    at least of double precision first.

    Args:
        a, b: Numpy arrays of numbers.
    """
    numpy: Any = sys.modules["numpy"]
    if a.dtype.kind in "iu" and a.dtype == b.dtype:
        high, low = numpy.maximum(a, b), numpy.minimum(a, b)
        apart = high.astype("u8") - low.astype("u8")
        a, b = a.astype("f8"), b.astype("f8")
    else:
        a, b = _widened(a), _widened(b)
        apart = abs(a - b)
    return apart, numpy.maximum(abs(a), abs(b))


def same_places(a: Any, b: Any, asked: Asked) -> Any:
    """Return for each element of two numpy arrays whether it is the same.

    Args:
        a, b: Arrays of one shape, without fields, masks or objects.
        asked: What counts.

    Raises:
        Undecided: Their elements are of two sorts, which are not compared.
    """
    numbers = is_number_dtype(a.dtype) and is_number_dtype(b.dtype)
    if not numbers and a.dtype != b.dtype and a.dtype.kind != b.dtype.kind:
        raise Undecided("the element types differ")
    with quiet():
        if asked.tolerant and numbers:
            return _close(a, b, asked)
        return _agreement(a, b, equal_nan=asked.equal_nan)


def _widened(array: Any) -> Any:
    wide, size = ("c16", 16) if array.dtype.kind == "c" else ("f8", 8)
    return array.astype(wide) if array.dtype.itemsize < size else array


def as_numpy(array: Any) -> Any:
    """Return the elements of an array as a numpy array.

    Raises:
        Exception: It cannot be made one.
    """
    numpy: Any = sys.modules.get("numpy")
    if numpy is None:
        raise TypeError("numpy is not loaded")
    if library_of(array) == _TORCH:
        made = _from_torch(array)
    else:
        made = numpy.asanyarray(array.toarray() if hasattr(array, "toarray") else array)
    if made.shape != tuple(array.shape):
        raise TypeError(
            f"{type(array).__qualname__} cannot be converted to a numpy array"
        )
    return made


def _from_torch(tensor: Any) -> Any:
    here = tensor.detach().to_dense().cpu().resolve_conj().resolve_neg()
    try:
        return here.numpy()
    except TypeError:  # numpy has no such dtype; all that torch has beside fit
        torch: Any = sys.modules["torch"]
        wide = torch.complex64 if here.is_complex() else torch.float32
        return here.to(wide).numpy()


# ------------------------------------------------------- arrays beside other values


def compare_scalar(array: Any, value: Any, asked: Asked) -> bool | Pairs:
    """Return whether an array without dimensions is the same as a Python scalar.

    A Python number has no dtype: it counts as one of the array's, as it does in the
    array's own operators.

    Args:
        array: An array that is not traced.
        value: A number, a str or bytes.
        asked: What counts.

    Returns:
        The answer, or what has to be the same for it.
    """
    if tuple(array.shape) or not _takes(array.dtype, value):
        return False
    with quiet(), contextlib.suppress(*FAULTS):  # as of an int beyond the dtype
        if bool(_agreement(array, value, equal_nan=asked.equal_nan)):
            return True
    is_near = asked.tolerant and is_number_dtype(array.dtype)
    return is_near and [(_item(array), value)]


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
    if isinstance(value, str | bytes):
        return getattr(dtype, "kind", "") == ("U" if isinstance(value, str) else "S")
    return is_number_dtype(dtype)


def traced_agreement(a: Any, b: Any, asked: Asked) -> Any:
    """Return whether two values are the same, one of them traced, as a traced bool.

    Args:
        a: A traced array.
        b: An array, traced or not, or a Python number.
        asked: What counts.

    Returns:
        False where the shapes or dtypes say it, else an array.
    """
    if is_array(b):
        if not _same_form(a, b, (library_of(a), library_of(b))):
            return False
    elif tuple(a.shape) or not _takes(a.dtype, b):
        return False
    same = _agreement(a, b, equal_nan=asked.equal_nan)
    if asked.tolerant and is_number_dtype(a.dtype):
        if dtype_name(a.dtype).startswith(("int", "uint")):
            a, b = a.astype(float), b.astype(float) if is_array(b) else float(b)
        apart = abs(a - b)
        near = (apart <= asked.allowed(abs(a))) | (apart <= asked.allowed(abs(b)))
        same = same | (near & (apart < float("inf")))
    return same.all()


# --------------------------------------------- what an array is, the same everywhere


def describe_array(array: Any) -> tuple[str, str, tuple[int, ...]]:
    """Return what an array is, its dtype and its shape.

    The order of bytes is not told: it is that of a machine, or of a file.

    Raises:
        Undecided: It is not known here, or has no elements yet.

    Example:
        >>> import pytest
        >>> np = pytest.importorskip("numpy")
        >>> from leafwise.equality.arrays import describe_array
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
        >>> from leafwise.equality.arrays import describe_dtype
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


# ------------------------------------------------------------- elements, as bytes


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

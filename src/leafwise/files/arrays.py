"""Arrays on their way into a file and out of it.

Which arrays can be saved and which of them are stored as one; their elements as numpy
arrays without a copy; and their conversion to the library of another array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import IO, Any, Protocol

from .._lazy import need
from .._records import MISSING, Record
from .._text import short_repr, typed_repr
from ..equality.arrays import (
    REGISTERED,
    dtype_name,
    extension_dtype,
    instance_of,
    is_jax_array,
    is_tracer,
)
from ..errors import TreeDefError


class Stored(Record):
    """An array of a file that is not read yet; a leaf, wherever it is in a tree.

    Attributes:
        name: Its name in the file.
        dtype: The name of its dtype.
        shape: Its shape.
    """

    __slots__ = __match_args__ = ("name", "dtype", "shape")

    name: str
    dtype: str
    shape: tuple[int, ...]


class OpenFile:
    """A file that is open for reading; formats that have arrays derive from it.

    Attributes:
        header: The header as `json.loads` returned it; None if the file has none.
        tree: The tree, if that is all there is: JSON without a header.
    """

    def __init__(self, header: Any, tree: Any = MISSING) -> None:
        self.header = header
        self.tree = tree

    def arrays(self) -> dict[str, Stored]:
        """Return dtypes and shapes of the arrays by name."""
        return {}

    def read(self, name: str) -> Any:
        """Return the elements of the array of a name, as `elements` takes them."""
        raise TreeDefError(f"there is no array {short_repr(name)}")


class Format(Protocol):
    """A module that writes and reads files of one format.

    Attributes:
        why_not: Takes the name of an array and the array; returns why they cannot be in
            such a file, empty if they can.
        write: Writes a header and arrays by name into a file.
        opened: Opens the file at a path for reading.
    """

    why_not: Callable[[str, Any], str]
    write: Callable[[IO[bytes], str, Mapping[str, Any]], None]
    opened: Callable[[str], AbstractContextManager[OpenFile]]


def is_known_to_numpy(dtype: str) -> bool:
    """Return whether numpy itself has the dtype of a name; ml_dtypes adds others."""
    numpy = need("numpy", "arrays in files", "arrays")
    try:
        return not dtype.isidentifier() or numpy.dtype(dtype).isbuiltin != REGISTERED
    except TypeError:
        return False


def _is_like_jax(value: Any) -> bool:
    """Return whether a value is an array of jax, or describes one."""
    return instance_of(value, "jax", "Array", "ShapeDtypeStruct")


def _is_random_key(value: Any) -> bool:
    """Return whether a value is an array of typed keys of `jax.random`."""
    return _is_like_jax(value) and not hasattr(value.dtype, "kind")


def without_key_type(value: Any) -> Any:
    """Return the numbers in an array of random keys; any other value as it is."""
    if not _is_random_key(value):
        return value
    jax = need("jax", "a key")
    if is_jax_array(value):
        return jax.random.key_data(value)
    return jax.eval_shape(jax.random.key_data, value)


def array_text(array: Any) -> str:
    """Return dtype and shape of an array, or of what describes one: `int8[2,3]`."""
    array = without_key_type(array)
    shape = ",".join(map(str, array.shape))
    return f"{dtype_name(array.dtype)}[{shape}]"


# ------------------------------------------------------------------------ into a file


def is_stored(value: Any) -> bool:
    """Return whether a leaf is stored as an array.

    Raises:
        TreeDefError: It is an array that cannot be saved: one of Python objects or of a
            subclass, which may mean more than its elements; a sparse one; one that
            jax is tracing, or whose elements are elsewhere.
    """
    if instance_of(value, "numpy", "ndarray"):
        is_dense = _is_dense_in_numpy(value)
    elif is_tracer(value):
        is_dense = False
    elif is_jax_array(value):
        is_dense = not value.is_deleted() and value.is_fully_addressable
    elif instance_of(value, "torch", "Tensor"):
        is_dense = _is_dense_in_torch(value)
    else:
        return False
    if not is_dense:
        raise TreeDefError(
            f"{typed_repr(value)}: only dense arrays of plain elements are saved"
        )
    return True


def _is_dense_in_numpy(array: Any) -> bool:
    if type(array).__qualname__ not in ("ndarray", "memmap"):
        return False
    dtype = array.dtype
    # "T" are strings of any length, which the array only refers to
    if dtype.hasobject or dtype.kind == "T":
        return False
    # .npy has only the name of such a dtype, without the order of its bytes
    return bool(dtype.isbuiltin != REGISTERED or dtype.isnative)


def _is_dense_in_torch(tensor: Any) -> bool:
    if type(tensor).__qualname__ not in ("Tensor", "Parameter", "Buffer"):
        return False
    if str(tensor.layout) != "torch.strided" or tensor.is_nested:
        return False
    return not (tensor.is_meta or tensor.is_quantized)


def identity(array: Any) -> Any:
    """Return a key that two arrays share if they are stored as one.

    These are the same object, or arrays that show the same memory in the same way, such
    as the tied weights in a `state_dict` of torch.
    """
    if instance_of(array, "numpy", "ndarray") and array.nbytes:
        start = array.__array_interface__["data"][0]
        # dtypes of one text can have other fields, so the dtype is the same object
        return start, array.shape, array.strides, id(array.dtype)
    if instance_of(array, "torch", "Tensor") and array.numel():
        return (
            array.data_ptr(),
            array.device,
            array.dtype,
            array.shape,
            array.stride(),
            array.is_conj(),
            array.is_neg(),
        )
    return id(array)


def as_buffer(value: Any) -> Any:
    """Return an array of numpy with the elements of an array.

    Those of dtypes that numpy does not have are in unsigned ints of the same size.
    """
    numpy = need("numpy", "saving arrays", "arrays")
    if instance_of(value, "torch", "Tensor"):
        tensor = value.detach().cpu().resolve_conj().resolve_neg()
        if is_known_to_numpy(dtype_name(tensor.dtype)):
            return tensor.numpy()
        torch = need("torch", "a tensor")
        size = tensor.element_size()
        # torch has no other unsigned ints that it can convert to numpy
        int_dtype = {1: torch.uint8, 2: torch.int16}[size]
        return tensor.contiguous().view(int_dtype).numpy().view(f"u{size}")
    array = numpy.asarray(value)
    if array.dtype.isbuiltin == REGISTERED:
        return array.view(f"u{array.dtype.itemsize}")
    return array


# ------------------------------------------------------------------------ out of a file


def elements(buffer: Any, stored: Stored) -> Any:
    """Return an array of numpy in the dtype that it was saved with.

    Args:
        buffer: The array, or unsigned ints for a dtype that numpy does not have.
        stored: What the file says of the array.

    Raises:
        ModuleNotFoundError: It is such a dtype, and ml_dtypes is not installed.
        TreeDefError: There is no such dtype, or the array has another dtype or shape.
    """
    dtype = buffer.dtype
    if is_known_to_numpy(stored.dtype):
        is_same = bool(dtype.names) or dtype_name(dtype) == stored.dtype
    else:
        dtype = extension_dtype(stored.dtype)
        is_same = dtype.itemsize == buffer.dtype.itemsize
    if not is_same or buffer.shape != stored.shape:
        raise TreeDefError(
            f"an array is {array_text(buffer)}, expected {array_text(stored)}"
        )
    return buffer.view(dtype)


def converter_to(like: Any) -> tuple[Any, ...]:
    """Return how an array of numpy becomes one of the library of another array.

    Args:
        like: An array, or what describes one.

    Returns:
        A function and its arguments after the first, which is the array. Two places
        with equal converters can have one array.
    """
    if _is_like_jax(like):
        key_type = None
        if _is_random_key(like):
            jax = need("jax", "a key")
            # jax does not tell it of a description
            key_type = jax.random.key_impl(jax.numpy.zeros((), like.dtype))
        return _as_jax_array, key_type, getattr(like, "sharding", None)
    if instance_of(like, "torch", "Tensor"):
        is_parameter = instance_of(like, "torch.nn", "Parameter")
        device = None if like.is_meta else like.device
        return _as_tensor, like.dtype, is_parameter, like.requires_grad, device
    return (_as_it_is,)


def _as_it_is(array: Any) -> Any:
    return array


def _as_jax_array(array: Any, key_type: Any, sharding: Any) -> Any:
    jax = need("jax", "an array")
    array = jax.numpy.asarray(array)
    if key_type is not None:
        array = jax.random.wrap_key_data(array, impl=key_type)
    return jax.device_put(array, sharding)


def _as_tensor(
    array: Any,
    dtype: Any,
    is_parameter: bool,
    requires_grad: bool,
    device: Any,
) -> Any:
    torch = need("torch", "a tensor")
    numpy = need("numpy", "loading arrays", "arrays")
    if array.dtype.isbuiltin == REGISTERED:
        array = array.view({1: "u1", 2: "i2"}[array.itemsize])
    tensor = torch.from_numpy(numpy.require(array, requirements=["C", "W"]))
    tensor = tensor.view(dtype)
    if device is not None:
        tensor = tensor.to(device)
    if is_parameter:
        return torch.nn.Parameter(tensor, requires_grad=requires_grad)
    return tensor.requires_grad_(requires_grad)

"""Arrays on their way into a file and out of it.

Owns which arrays can be saved and how their bytes are reached without a copy, what
becomes of them when another array says what they should be, and the checksum. Knows
nothing of formats, and nothing of trees.
"""

from __future__ import annotations

import zlib
from typing import Any, Final, NamedTuple

from ..equality.content import dtype_name, instance_of, is_jax_array, is_traced
from ..errors import TreeDefError
from ..lazy import need
from ..safely import class_name


__all__ = [
    "Form",
    "as_array_like",
    "as_buffer",
    "checksum",
    "form_of",
    "is_stored_as_array",
    "memory_of",
    "real_dtype",
]

_FROM_ELSEWHERE: Final = 2
"""What numpy says of dtypes that are not its own, as bfloat16."""
_BLOCK: Final = 8192
"""Words of eight bytes."""


class Form(NamedTuple):
    """The description of an array, without its elements.

    Attributes:
        dtype: The name of its dtype.
        shape: Its shape.
    """

    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


def form_of(array: Any) -> Form:
    """Return the form of an array, or of something that describes one."""
    return Form(dtype_name(array.dtype), tuple(array.shape))


# ------------------------------------------------------------------------ into a file


def is_stored_as_array(value: Any) -> bool:
    """Return whether a leaf is an array that can be saved.

    Raises:
        TreeDefError: It is an array that cannot be saved.
    """
    if instance_of(value, "numpy", "ndarray"):
        wrong = _wrong_in_numpy(value)
    elif is_jax_array(value):
        wrong = _wrong_in_jax(value)
    elif instance_of(value, "torch", "Tensor"):
        wrong = _wrong_in_torch(value)
    else:
        return False
    if wrong:
        raise TreeDefError(f"{wrong} cannot be saved")
    return True


def _wrong_in_numpy(value: Any) -> str:
    if class_name(type(value)) not in ("ndarray", "memmap"):
        return f"an array of the class {class_name(type(value))}"
    if value.dtype.hasobject or value.dtype.kind == "T":
        return f"an array of Python objects, of dtype {value.dtype},"
    return ""


def _wrong_in_jax(value: Any) -> str:
    if is_traced(value):
        return "an array that jax is tracing"
    if not hasattr(value.dtype, "kind"):
        return "a key of jax's random numbers (save jax.random.key_data of it)"
    if value.is_deleted():
        return "an array whose memory was donated"
    if not value.is_fully_addressable:
        return "an array that is not fully addressable from this host"
    return ""


def _wrong_in_torch(value: Any) -> str:
    if class_name(type(value)) not in ("Tensor", "Parameter", "Buffer"):
        return f"a tensor of the class {class_name(type(value))}"
    if value.is_meta:
        return "a tensor without memory"
    if str(value.layout) != "torch.strided" or value.is_quantized or value.is_nested:
        return "a tensor that is sparse, quantized or nested"
    return ""


def memory_of(value: Any) -> Any:
    """Return a key that two arrays share if they are the same elements in memory."""
    if instance_of(value, "numpy", "ndarray") and value.nbytes:
        start = value.__array_interface__["data"][0]
        return start, value.shape, value.strides, value.dtype.str
    if instance_of(value, "torch", "Tensor") and value.numel():
        place = value.data_ptr(), str(value.device)
        return *place, tuple(value.shape), value.stride(), str(value.dtype)
    return id(value)


def as_buffer(value: Any) -> Any:
    """Return an array of numpy with the elements of an array.

    Those of dtypes that numpy does not have are in unsigned ints of the same size.
    """
    numpy = need("numpy", "saving arrays", "arrays")
    if instance_of(value, "torch", "Tensor"):
        found = value.detach().cpu().resolve_conj().resolve_neg()
        if _numpy_name(value.dtype) is None:
            return _bits_of_torch(found)
        return found.numpy()
    found = numpy.asarray(value)
    if found.dtype.isbuiltin == _FROM_ELSEWHERE:
        return numpy.asarray(found, order="C").view(f"u{found.dtype.itemsize}")
    return found


def _numpy_name(dtype: Any) -> str | None:
    numpy = need("numpy", "saving arrays", "arrays")
    name = dtype_name(dtype)
    return name if hasattr(numpy, name) else None


def _bits_of_torch(tensor: Any) -> Any:
    torch = need("torch", "a tensor", "interop")
    size = tensor.element_size()
    bits = tensor.contiguous().view({1: torch.uint8, 2: torch.int16}[size])
    return bits.numpy().view(f"u{size}")


def checksum(buffer: Any) -> str:
    """Return a checksum of an array's bytes, at about the speed of memory.

    The sums of the words of each block, and of these the CRC-32: any one bit counts,
    and so does where it stands, within a block of 64 KiB. The standard library has
    nothing that takes less time than writing a file does.
    """
    numpy = need("numpy", "saving arrays", "arrays")
    flat = numpy.ascontiguousarray(buffer).reshape(-1).view("u1")
    size = len(flat) // (8 * _BLOCK) * 8 * _BLOCK
    blocks = flat[:size].view("<u8").reshape(-1, _BLOCK)
    sums = numpy.add.reduce(blocks, axis=1, dtype="<u8")
    return f"{zlib.crc32(flat[size:], zlib.crc32(sums.astype('<u8'))):08x}"


# ------------------------------------------------------------------------ out of a file


def real_dtype(name: str, buffer: Any) -> Any:
    """Return an array of numpy in the dtype that it was saved with.

    Args:
        name: The name of the dtype.
        buffer: The array, or unsigned ints for a dtype that numpy does not have.

    Raises:
        ModuleNotFoundError: It is such a dtype, and ml_dtypes is not installed.
        TreeDefError: There is no such dtype.
    """
    if dtype_name(buffer.dtype) == name:
        return buffer
    package = need("ml_dtypes", f"the dtype {name}", "arrays")
    found = getattr(package, name, None)
    if not isinstance(found, type) or not hasattr(found, "dtype"):
        raise TreeDefError(f"there is no dtype {name}")
    return buffer.view(found)


def as_array_like(buffer: Any, name: str, like: Any) -> Any:
    """Convert an array read from a file to the array library of another array.

    Args:
        buffer: An array of numpy, perhaps of unsigned ints; see `real_dtype`.
        name: The name of its dtype.
        like: The other array, or what describes one.
    """
    if instance_of(like, "torch", "Tensor"):
        return _as_torch(buffer, name, like)
    array = real_dtype(name, buffer)
    if is_jax_array(like) or instance_of(like, "jax", "ShapeDtypeStruct"):
        jax = need("jax", "an array", "interop")
        sharding = getattr(like, "sharding", None)
        return jax.device_put(jax.numpy.asarray(array), sharding)
    if instance_of(like, "numpy", "generic"):
        return array[()]
    return array


def _as_torch(buffer: Any, name: str, like: Any) -> Any:
    torch = need("torch", "a tensor", "interop")
    numpy = need("numpy", "loading arrays", "arrays")
    if buffer.dtype.isbuiltin == _FROM_ELSEWHERE or not hasattr(numpy, name):
        buffer = buffer.view({1: "u1", 2: "i2"}[buffer.dtype.itemsize])
    tensor = torch.from_numpy(numpy.require(buffer, requirements=["C", "W"]))
    tensor = tensor.view(like.dtype)
    if not like.is_meta:
        tensor = tensor.to(like.device)
    if instance_of(like, "torch.nn", "Parameter"):
        return torch.nn.Parameter(tensor, requires_grad=like.requires_grad)
    return tensor.requires_grad_(like.requires_grad)

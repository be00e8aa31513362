"""Arrays on their way into a file and out of it.

Owns which arrays can be saved and how their bytes are reached without a copy, which are
stored as one, and what becomes of them when another array says what they should be.
Knows nothing of formats, and nothing of trees.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from ..equality.content import dtype_name, instance_of, is_jax_array, is_traced
from ..errors import TreeDefError
from ..lazy import need
from ..safely import class_name, clip


__all__ = [
    "REGISTERED",
    "Form",
    "as_array_like",
    "as_buffer",
    "elements",
    "form_of",
    "identity",
    "is_known_to_numpy",
    "is_stored",
]

REGISTERED: Final = 2
"""The `isbuiltin` of dtypes that a package adds to numpy, as ml_dtypes does."""


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


def is_known_to_numpy(dtype: str) -> bool:
    """Return whether numpy itself has the dtype of a name; ml_dtypes adds others."""
    numpy = need("numpy", "arrays in files", "arrays")
    try:
        return not dtype.isidentifier() or numpy.dtype(dtype).isbuiltin != REGISTERED
    except TypeError:
        return False


def form_of(array: Any) -> Form:
    """Return the form of an array, or of something that describes one."""
    return Form(dtype_name(array.dtype), tuple(array.shape))


# ------------------------------------------------------------------------ into a file


def is_stored(value: Any) -> bool:
    """Return whether a leaf is stored as an array.

    Raises:
        TreeDefError: It is an array that cannot be saved.
    """
    wrong = ""
    if instance_of(value, "numpy", "ndarray"):
        if class_name(type(value)) not in ("ndarray", "memmap"):
            wrong = f"an array of the class {class_name(type(value))}"
        elif value.dtype.hasobject or value.dtype.kind == "T":
            wrong = f"an array of Python objects, of dtype {value.dtype},"
        elif value.dtype.isbuiltin == REGISTERED and not value.dtype.isnative:
            wrong = "an array of a dtype of ml_dtypes in another byte order"
    elif is_jax_array(value):
        if is_traced(value):
            wrong = "an array that jax is tracing"
        elif not hasattr(value.dtype, "kind"):
            wrong = "a key of jax's random numbers (save jax.random.key_data of it)"
        elif value.is_deleted():
            wrong = "an array whose memory was donated"
        elif not value.is_fully_addressable:
            wrong = "an array that is not fully addressable from this host"
    elif instance_of(value, "torch", "Tensor"):
        if class_name(type(value)) not in ("Tensor", "Parameter", "Buffer"):
            wrong = f"a tensor of the class {class_name(type(value))}"
        elif value.is_meta:
            wrong = "a tensor without memory"
        elif (
            str(value.layout) != "torch.strided"
            or value.is_quantized
            or value.is_nested
        ):
            wrong = "a tensor that is sparse, quantized or nested"
    else:
        return False
    if wrong:
        raise TreeDefError(f"{wrong} cannot be saved")
    return True


def identity(array: Any) -> Any:
    """Return a key that two arrays share if they are stored as one.

    These are the same object, or arrays of numpy that show the same memory in the same
    way. The dtype must be the same object: dtypes of one text can have other fields.
    """
    if instance_of(array, "numpy", "ndarray") and array.nbytes:
        start = array.__array_interface__["data"][0]
        return start, array.shape, array.strides, id(array.dtype)
    return id(array)


def as_buffer(value: Any) -> Any:
    """Return an array of numpy with the elements of an array.

    Those of dtypes that numpy does not have are in unsigned ints of the same size.
    """
    numpy = need("numpy", "saving arrays", "arrays")
    if instance_of(value, "torch", "Tensor"):
        found = value.detach().cpu().resolve_conj().resolve_neg()
        if not is_known_to_numpy(dtype_name(found.dtype)):
            torch, size = need("torch", "a tensor", "interop"), found.element_size()
            bits = found.contiguous().view({1: torch.uint8, 2: torch.int16}[size])
            return bits.numpy().view(f"u{size}")
        return found.numpy()
    found = numpy.asarray(value)
    if found.dtype.isbuiltin == REGISTERED:
        return found.view(f"u{found.dtype.itemsize}")
    return found


# ------------------------------------------------------------------------ out of a file


def elements(buffer: Any, form: Form, of_torch: Any = None) -> Any:
    """Return an array of numpy in the dtype that it was saved with.

    Args:
        buffer: The array, or unsigned ints for a dtype that numpy does not have.
        form: The form of the array.
        of_torch: A dtype of torch; for one that numpy does not have, the ints are
            returned.

    Raises:
        ModuleNotFoundError: It is such a dtype, and ml_dtypes is not installed.
        TreeDefError: There is no such dtype, or the array has another form.
    """
    dtype = buffer.dtype
    is_same = buffer.shape == form.shape
    if is_known_to_numpy(form.dtype):
        is_same = is_same and (dtype.names or dtype_name(dtype) == form.dtype)
    elif of_torch is not None:
        is_same = is_same and dtype.itemsize == of_torch.itemsize
    else:
        package = need("ml_dtypes", f"the dtype {form.dtype}", "arrays")
        found = getattr(package, form.dtype, None)
        if not isinstance(found, type) or not hasattr(found, "dtype"):
            raise TreeDefError(f"there is no dtype {clip(form.dtype)}")
        dtype = need("numpy", "loading arrays", "arrays").dtype(found)
        is_same = is_same and dtype.itemsize == buffer.dtype.itemsize
    if not is_same:
        raise TreeDefError(f"an array is {form_of(buffer)}, expected {form}")
    return buffer.view(dtype)


def as_array_like(array: Any, like: Any) -> Any:
    """Convert an array of a file to the library of another array.

    Args:
        array: An array of numpy; for a tensor of a dtype that numpy does not have, of
            unsigned ints.
        like: The other array, or what describes one.
    """
    if instance_of(like, "torch", "Tensor"):
        return _as_torch(array, like)
    if is_jax_array(like) or instance_of(like, "jax", "ShapeDtypeStruct"):
        jax = need("jax", "an array", "interop")
        sharding = getattr(like, "sharding", None)
        return jax.device_put(jax.numpy.asarray(array), sharding)
    return array


def _as_torch(array: Any, like: Any) -> Any:
    torch = need("torch", "a tensor", "interop")
    numpy = need("numpy", "loading arrays", "arrays")
    if not is_known_to_numpy(dtype_name(like.dtype)):
        array = array.view({1: "u1", 2: "i2"}[like.dtype.itemsize])
    tensor = torch.from_numpy(numpy.require(array, requirements=["C", "W"]))
    tensor = tensor.view(like.dtype)
    if not like.is_meta:
        tensor = tensor.to(like.device)
    if instance_of(like, "torch.nn", "Parameter"):
        return torch.nn.Parameter(tensor, requires_grad=like.requires_grad)
    return tensor.requires_grad_(like.requires_grad)

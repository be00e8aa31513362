"""Arrays and objects on their way into a file and out of it.

Owns which arrays can be saved and how their bytes are reached without a copy, which are
stored as one, and what becomes of them when another array says what they should be.

Owns as well the parts of a tree: an object or variable of `leafwise.nn` that appears in
several places is a part of its own, stored once. Other nodes are values.
"""

from __future__ import annotations

import graphlib
from collections.abc import Callable, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from .._lazy import need, real
from .._records import MISSING, Record
from .._text import typed_repr
from ..core.context import Context
from ..core.keypath import KeyPath
from ..core.treedef import PyTreeDef
from ..core.walk import flatten
from ..equality.arrays import (
    REGISTERED,
    dtype_name,
    extension_dtype,
    instance_of,
    is_jax_array,
    is_traced,
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


class Opened(NamedTuple):
    """A file that is open for reading, as its format gives it.

    Attributes:
        header: The header as `json.loads` returned it; None if the file has none.
        names: The names of the arrays.
        describe: Returns the `Stored` of a name.
        read: Returns the elements of the array of a name, see `elements`.
        tree: The tree, if that is all there is: JSON without a header.
    """

    header: Any
    names: Sequence[str] = ()
    describe: Callable[[str], Stored] = lambda name: Stored(name, "", ())
    read: Callable[[str], Any] = lambda name: None
    tree: Any = MISSING


def is_known_to_numpy(dtype: str) -> bool:
    """Return whether numpy itself has the dtype of a name; ml_dtypes adds others."""
    numpy = need("numpy", "arrays in files", "arrays")
    try:
        return not dtype.isidentifier() or numpy.dtype(dtype).isbuiltin != REGISTERED
    except TypeError:
        return False


def words_of(value: Any) -> Any:
    """Return the numbers in a key of jax's random numbers; all else as it is."""
    if is_jax_array(value) and not hasattr(value.dtype, "kind"):
        return need("jax", "a key").random.key_data(value)
    return value


def form_of(array: Any) -> str:
    """Return dtype and shape of an array, or of what describes one: `int8[2,3]`."""
    array = words_of(array)
    return f"{dtype_name(array.dtype)}[{','.join(map(str, array.shape))}]"


# ------------------------------------------------------------------------ into a file


def is_stored(value: Any) -> bool:
    """Return whether a leaf is stored as an array.

    Raises:
        TreeDefError: It is an array that cannot be saved: one of Python objects or of a
            subclass, which may mean more than its elements; a sparse one; one that
            jax is tracing, or whose elements are elsewhere.
    """
    name = type(value).__qualname__
    dtype: Any = getattr(value, "dtype", None)
    if instance_of(value, "numpy", "ndarray"):
        is_plain = name in ("ndarray", "memmap") and not dtype.hasobject
        is_plain &= dtype.kind != "T"
        is_plain &= dtype.isbuiltin != REGISTERED or dtype.isnative
    elif is_traced(value):
        is_plain = False
    elif is_jax_array(value):
        is_plain = not value.is_deleted() and value.is_fully_addressable
    elif instance_of(value, "torch", "Tensor"):
        is_plain = name in ("Tensor", "Parameter", "Buffer")
        is_plain &= str(value.layout) == "torch.strided" and not value.is_nested
        is_plain &= not (value.is_meta or value.is_quantized)
    else:
        return False
    if not is_plain:
        raise TreeDefError(
            f"{typed_repr(value)}: only dense arrays of plain elements are saved"
        )
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
            torch, size = need("torch", "a tensor"), found.element_size()
            bits = found.contiguous().view({1: torch.uint8, 2: torch.int16}[size])
            return bits.numpy().view(f"u{size}")
        return found.numpy()
    found = numpy.asarray(value)
    if found.dtype.isbuiltin == REGISTERED:
        return found.view(f"u{found.dtype.itemsize}")
    return found


# ------------------------------------------------------------------------ out of a file


def elements(buffer: Any, stored: Stored) -> Any:
    """Return an array of numpy in the dtype that it was saved with.

    Args:
        buffer: The array, or unsigned ints for a dtype that numpy does not have.
        stored: What the file says of the array.

    Raises:
        ModuleNotFoundError: It is such a dtype, and ml_dtypes is not installed.
        TreeDefError: There is no such dtype, or the array has another form.
    """
    dtype = buffer.dtype
    if is_known_to_numpy(stored.dtype):
        is_same = bool(dtype.names) or dtype_name(dtype) == stored.dtype
    else:
        dtype = extension_dtype(stored.dtype)
        is_same = dtype.itemsize == buffer.dtype.itemsize
    if not is_same or buffer.shape != stored.shape:
        raise TreeDefError(f"an array is {form_of(buffer)}, expected {form_of(stored)}")
    return buffer.view(dtype)


def as_array_like(array: Any, like: Any) -> Any:
    """Convert an array of numpy to the library of another array, or a description."""
    if is_jax_array(like) or instance_of(like, "jax", "ShapeDtypeStruct"):
        jax = need("jax", "an array")
        if words_of(like) is not like:
            impl = jax.random.key_impl(like)
            return jax.random.wrap_key_data(jax.numpy.asarray(array), impl=impl)
        sharding = getattr(like, "sharding", None)
        return jax.device_put(jax.numpy.asarray(array), sharding)
    if not instance_of(like, "torch", "Tensor"):
        return array
    torch, numpy = need("torch", "a tensor"), need("numpy", "loading arrays", "arrays")
    if array.dtype.isbuiltin == REGISTERED:
        array = array.view({1: "u1", 2: "i2"}[array.itemsize])
    tensor = torch.from_numpy(numpy.require(array, requirements=["C", "W"]))
    tensor = tensor.view(like.dtype)
    if not like.is_meta:
        tensor = tensor.to(like.device)
    if instance_of(like, "torch.nn", "Parameter"):
        return torch.nn.Parameter(tensor, requires_grad=like.requires_grad)
    return tensor.requires_grad_(like.requires_grad)


# ------------------------------------------------------- objects in several places


class Shared(NamedTuple):
    """Stands for a node in several places, which is a part of its own.

    Attributes:
        number: The number of the part.
    """

    number: int


class Part(NamedTuple):
    """A tree, or a node in several places of it.

    Attributes:
        path: The path from the root of the tree to where it is first.
        leaves: Its leaves, with a `Shared` for each node that is a part itself.
        treedef: Its structure, with a leaf for each such node.
    """

    path: KeyPath
    leaves: list[Any]
    treedef: PyTreeDef

    def paths(self) -> list[KeyPath]:
        """Return the paths of its leaves, from the root of the tree."""
        return [self.path + path for path in self.treedef.paths()]


def take_apart(tree: Any, context: Context) -> list[Part]:
    """Return a tree as parts, itself first.

    Raises:
        CycleError: The tree contains itself.
    """
    again = _in_several_places(tree, context)
    whole = Part(KeyPath(), *context.flatten(tree))  # raises if it contains itself
    if not again:
        return [whole]
    numbers: dict[int, int] = {}
    roots: list[tuple[KeyPath, Any]] = [(KeyPath(), tree)]
    parts: list[Part] = []
    for path, root in roots:
        stops = lambda node, root=root: node is not root and id(node) in again  # noqa: E731
        part = Part(path, *context.also_stopping(stops).flatten(root))
        for index, at in enumerate(part.paths()):
            leaf = part.leaves[index]
            if id(leaf) in again:
                if id(leaf) not in numbers:
                    numbers[id(leaf)] = len(roots)
                    roots.append((at, leaf))
                part.leaves[index] = Shared(numbers[id(leaf)])
        parts.append(part)
    return parts


def _in_several_places(tree: Any, context: Context) -> dict[int, Any]:
    """Return the objects that a tree has in several places, by their ids."""
    checks = real("leafwise.nn.checks")
    if checks is None:  # then there are none
        return {}
    seen: dict[int, Any] = {}
    again: dict[int, Any] = {}

    def is_seen(node: Any) -> bool:
        """Stop at an object that was walked through before."""
        if id(node) in seen:
            again[id(node)] = node
            return True
        if isinstance(node, checks.DataNode):
            rule = context.view.resolve(type(node))
            if rule is not None and rule.unflatten_into is not None:
                seen[id(node)] = node
        return False

    flatten(tree, context.view, is_seen)
    return again


def put_together(
    treedefs: Sequence[PyTreeDef],
    rows: dict[int, list[Any]],
    read: Callable[[Any], Any] = lambda leaf: leaf,
) -> Any:
    """Return the tree of parts.

    Args:
        treedefs: Their structures.
        rows: By number, their leaves, as `in_order` returns them.
        read: Returns what is to stand for a leaf.
    """
    made: dict[int, Any] = {}
    for number, row in rows.items():
        filled = [made[x.number] if type(x) is Shared else read(x) for x in row]
        made[number] = treedefs[number].unflatten(filled)
    return made[0]


def in_order(
    treedefs: Sequence[PyTreeDef], leaves: Sequence[Any]
) -> dict[int, list[Any]]:
    """Return the leaves of each part by its number, each after those inside it.

    Raises:
        TreeDefError: A part is inside itself, or is not there; or there are more or
            fewer leaves.
    """
    if sum(treedef.num_leaves for treedef in treedefs) != len(leaves):
        raise TreeDefError("its number of leaves is not that of stored leaves")
    rest = iter(leaves)
    rows = {n: [*islice(rest, x.num_leaves)] for n, x in enumerate(treedefs)}
    inside = {
        number: [leaf.number for leaf in row if type(leaf) is Shared]
        for number, row in rows.items()
    }
    if not {*chain(*inside.values())} <= {*range(1, len(treedefs))}:
        raise TreeDefError("an object is not there")
    try:
        order = [*graphlib.TopologicalSorter(inside).static_order()]
    except graphlib.CycleError:
        raise TreeDefError("an object in several places contains itself") from None
    return {number: rows[number] for number in order}

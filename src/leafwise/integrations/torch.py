"""torch: registration of classes, support for its compiler, and `ravel`.

The compiler looks into the functions that it compiles. It cannot trace how the engine
counts and compiles structures, and should not guard it; so it is given the functions of
`core/reference.py` in its place, which remember nothing. Functions that write to
objects, and the one that reads selectors by their signatures, are left to Python: the
compiler breaks the graph there.
"""

from __future__ import annotations

import functools
import importlib
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType, MethodWrapperType, ModuleType, WrapperDescriptorType
from typing import TYPE_CHECKING, Any, Final

from .._lazy import real
from ..core import reference
from ..core.context import (
    Context,
    context_of,
    flatten_by,
    flatten_compiled,
    leaves_by,
    map_by,
    predicate,
    stopping_context,
)
from ..core.keypath import KeyPath
from ..core.keys import GetAttrKey, SequenceKey, arranged, dict_keys
from ..core.registry import GLOBAL, View, view_of
from ..core.treedef import (
    PyTreeDef,
    checked_leaves,
    code_of,
    leaf_runner,
    set_runner,
    treedef_of,
)
from ..core.treedef import reference as reference_runner
from ..core.walk import Code, flatten_up_to, leaf_paths
from ..ops.map import tree_flatten_with_path, tree_unflatten
from .bridge import Target
from .nodes import make_node, pair_flattener, qualified_name, read_aux, write_aux
from .vectors import check_vector


if TYPE_CHECKING:
    from .._typing import IsLeaf
    from ..core.node import NodeType

__all__ = ["TARGET", "configure_compiler", "pending", "ravel"]


# ------------------------------------------------------------------ registration


def _register(torch: Any, cls: type, node_type: NodeType) -> None:
    """Register a class in torch's Python pytree module, with key paths.

    `torch.export.save` has it under its qualified name.
    """
    pytree = real("torch.utils._pytree") or importlib.import_module(
        "torch.utils._pytree"
    )
    node = make_node(cls, node_type)

    def torch_key(key: Any) -> Any:
        if isinstance(key, GetAttrKey):
            return pytree.GetAttrKey(key.name)
        if isinstance(key, SequenceKey):
            return pytree.SequenceKey(key.idx)
        return pytree.MappingKey(key.entry)

    def flatten(value: Any) -> tuple[list[Any], Any]:
        children, aux = node.flatten(value)
        return list(children), aux

    def unflatten(children: Any, aux: Any) -> Any:
        return node.unflatten(aux, children)

    pytree.register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=qualified_name(cls),
        to_dumpable_context=functools.partial(write_aux, node_type),
        from_dumpable_context=functools.partial(read_aux, node_type),
        flatten_with_keys_fn=pair_flattener(node, torch_key),
    )


TARGET: Final = Target(_register)


# ------------------------------------------------------------------------- ravel


def ravel(tree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return all tensors of a tree as one vector, and a function that undoes it.

    Both ways are differentiable.

    Args:
        tree: A tree of tensors on one device, and of numbers.

    Returns:
        A tensor of shape `(size,)`, of the type that all leaves fit into, and a
        function from such a tensor to a tree: tensors have the shapes and types that
        they had, numbers have become tensors without axes.

    Raises:
        TypeError: A leaf is neither a tensor nor a number.

    Example:
        >>> import pytest
        >>> torch = pytest.importorskip("torch")
        >>> from leafwise.integrations.torch import ravel
        >>> vector, unravel = ravel({"w": torch.ones(2, 2), "b": torch.zeros(1)})
        >>> vector
        tensor([0., 1., 1., 1., 1.])
        >>> unravel(vector * 2)["b"]
        tensor([0.])

    Modelled on `jax.flatten_util.ravel_pytree`.
    """
    torch = importlib.import_module("torch")
    pairs, treedef = tree_flatten_with_path(tree)
    tensors = []
    for path, leaf in pairs:
        if not isinstance(leaf, torch.Tensor | bool | int | float | complex):
            raise TypeError(
                f"the leaf at {path.where()} is neither a tensor nor a number: "
                f"{type(leaf).__name__}"
            )
        tensors.append(torch.as_tensor(leaf))
    dtypes = [tensor.dtype for tensor in tensors] or [torch.get_default_dtype()]
    dtype = functools.reduce(torch.promote_types, dtypes)
    parts = [tensor.reshape(-1).to(dtype) for tensor in tensors]
    vector = torch.cat(parts) if parts else torch.zeros(0, dtype=dtype)
    formats = [(tensor.shape, tensor.dtype) for tensor in tensors]
    return vector, functools.partial(_unravel, treedef, formats)


def _unravel(treedef: PyTreeDef, formats: Sequence[Any], vector: Any) -> Any:
    """Return the tree of a vector.

    Raises:
        StructureError: The vector has another shape.
    """
    sizes = [shape.numel() for shape, _ in formats]
    check_vector(vector.shape, sum(sizes))
    parts = zip(vector.split(sizes), formats, strict=True)
    leaves = [part.reshape(shape).to(dtype) for part, (shape, dtype) in parts]
    return treedef.unflatten(leaves)


# ------------------------------------------------------------ what the compiler traces


def configure_compiler(name: str) -> None:
    """Tell torch's compiler what to trace in place of what asks the engine.

    If torch has no such functions, `fullgraph=True` fails, and a warning says so.

    Args:
        name: A module of ours that is loaded; the compiler is told of it once.
    """
    configure = pending.pop(name, None)
    if configure is None:
        return
    try:
        configure(sys.modules[name])
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        pending.clear()
        warnings.warn(f"torch's compiler cannot trace trees: {error}", stacklevel=2)


def _substitute(ops_map: ModuleType) -> None:
    replace = sys.modules["torch"].compiler.substitute_in_graph
    replace(dict_keys)(arranged)
    replace(leaf_paths)(_leaf_paths)
    replace(flatten_up_to)(_flatten_up_to)
    replace(context_of)(_context_of)
    replace(stopping_context)(_stopping_context)
    replace(flatten_by)(_flatten_by)
    replace(flatten_compiled)(_flatten_compiled)
    replace(leaves_by)(_leaves_by)
    replace(map_by)(reference.map_tree)
    replace(ops_map.tree_flatten)(_tree_flatten)
    replace(tree_unflatten)(_tree_unflatten)


def _skip(functions: Iterable[Any]) -> None:
    """Have the compiler leave functions to Python, with a graph break."""
    skip = importlib.import_module("torch._dynamo.decorators").skip
    for function in functions:
        skip(function)


def _skip_writers(module: ModuleType) -> None:
    _skip(_writers(module))


def _skip_writers_of_entries(module: ModuleType) -> None:
    # `assign` as well: the entries of a container may have keys that are no strings,
    # and the compiler knows no others in a `__dict__`
    _skip([*_writers(module), module.assign])


_PACKAGE: Final = __name__.partition(".")[0]
_WRITERS: Final = ("nn.instance", "nn.pytree", "nn.states", "nn.variables")
"""The modules that write to objects past `__setattr__`."""

pending: Final[dict[str, Callable[[ModuleType], None]]] = {
    f"{_PACKAGE}.ops.map": _substitute,
    f"{_PACKAGE}.selection.select": lambda module: _skip([module.read_selector]),
    f"{_PACKAGE}.selection.partition": lambda module: _skip([module.flags_of]),
    **{f"{_PACKAGE}.{name}": _skip_writers for name in _WRITERS},
    f"{_PACKAGE}.nn.instance": _skip_writers_of_entries,
}
"""What the compiler has not learned yet, by the name of the module it is about."""


def _writers(module: ModuleType) -> Iterator[FunctionType]:
    """Yield the functions of a module that write to objects past `__setattr__`.

    The module has `object.__setattr__`, or that of a slot, under a name of its own. The
    compiler takes that for `setattr`, calls our `__setattr__` for it, and never ends.
    """
    setters = {
        name
        for name, value in vars(module).items()
        if isinstance(value, WrapperDescriptorType | MethodWrapperType)
        and value.__name__ in {"__set__", "__setattr__"}
    }
    classes = [value for value in vars(module).values() if isinstance(value, type)]
    for owner in (module, *classes):
        for member in list(vars(owner).values()):
            function = getattr(member, "__func__", member)
            if (
                isinstance(function, FunctionType)
                and function.__module__ == module.__name__
                and not setters.isdisjoint(function.__code__.co_names)
            ):
                yield function


def _flatten_by(tree: Any, view: View, stop: Any) -> tuple[list[Any], PyTreeDef]:
    context = Context(view, stop)

    def is_leaf(path: KeyPath, node: Any) -> bool:
        return context.stops_at(node, path)

    leaves, structure = reference.flatten(tree, view, None if stop is None else is_leaf)
    treedef = treedef_of(reference.steps_of(structure), view.mode)
    set_runner(treedef, leaf_runner if structure is None else reference_runner)
    return leaves, treedef


def _flatten_compiled(
    tree: Any,
    view: View,
    stop: Any,
) -> tuple[list[Any], PyTreeDef] | None:
    """Return None: the compiler traces nothing that the engine compiled."""
    return None


def _leaves_by(tree: Any, view: View) -> list[Any]:
    leaves, _ = reference.flatten(tree, view)
    return leaves


def _tree_flatten(
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> tuple[list[Any], PyTreeDef]:
    context = _context_of(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    return _flatten_by(tree, context.view, context.stop)


def _context_of(
    is_leaf: IsLeaf = None,
    takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Context:
    return _stopping_context(view_of(namespace, none_is_leaf), is_leaf, takes_path)


def _stopping_context(view: View, is_leaf: IsLeaf, takes_path: bool = False) -> Context:
    return Context(view, predicate(is_leaf, takes_path))


def _tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    structure = reference.structure_of(code_of(treedef))
    return reference.unflatten(structure, iter(checked_leaves(treedef, leaves)))


def _leaf_paths(code: Code, count: int) -> list[KeyPath]:
    return reference.leaf_paths(reference.structure_of(code))


def _flatten_up_to(code: Code, tree: Any) -> list[Any] | None:
    return reference.flatten_up_to(reference.structure_of(code), tree)

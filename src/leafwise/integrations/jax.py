"""jax: registration of classes, trace levels, and `ravel`.

A class is registered with key paths, and with aux data that jax can compare; as one of
jax's own dataclass nodes where that makes no difference.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable
from enum import EnumType
from types import FunctionType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from .._lazy import real
from .._runtime import late_imports
from ..core.keys import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey
from ..core.node import Fields, NodeType
from ..ops.map import tree_flatten
from .bridge import Target
from .nodes import (
    PLAIN_TYPES,
    Node,
    make_node,
    pair_flattener,
    qualified_name,
    read_aux,
    write_aux,
)


__all__ = ["TARGET", "ravel", "register_serialization"]


def _watch_trace_levels() -> None:
    """Make objects record the trace level at which they are changed.

    If jax has no function for this, trace levels are not recorded and a warning is
    issued.
    """
    # here, since classes of `nn` are registered in jax while `nn` is imported
    with late_imports:
        from ..nn.checks import watch  # noqa: PLC0415

    try:
        core = importlib.import_module("jax.extend.core")
        watch(core.get_opaque_trace_state)
    except (ImportError, AttributeError, TypeError) as error:
        warnings.warn(
            f"objects cannot tell jax's trace levels apart: {error}", stacklevel=2
        )


_node_types: Final[dict[type, NodeType]] = {}
"""The classes that jax knows from here, with the node types they were registered by.
They are held strongly, since jax never drops a class either."""


def _register(jax: Any, cls: type, node_type: NodeType) -> None:
    """Register a class in jax.

    A class for which jax's own dataclass nodes give the same results becomes one: they
    are read and rebuilt in C++.
    """
    util = real("jax.tree_util") or jax.tree_util
    form = node_type.form
    register_dataclass = getattr(util, "register_dataclass", None)  # since jax 0.4.26
    if register_dataclass is not None and _is_rebuilt_by_jax(cls, form):
        register_dataclass(cls, form.data, form.meta)
        _dataclass_nodes.add(cls)
        _node_types[cls] = node_type
        return
    if node_type.aux_compares_itself:
        # An object or a state of `nn`. It is flattened so often that looking for a
        # newer node type would cost a quarter: jax keeps this one.
        node = Node(node_type.flatten, node_type.unflatten, node_type.keys)
    else:
        node = make_node(cls, node_type)

    key_classes = {
        GetAttrKey: util.GetAttrKey,
        DictKey: util.DictKey,
        SequenceKey: util.SequenceKey,
        FlattenedIndexKey: util.FlattenedIndexKey,
    }

    def jax_key(key: Any) -> Any:
        key_class = key_classes.get(type(key))
        return key if key_class is None else key_class(key.entry)

    util.register_pytree_with_keys(
        cls, pair_flattener(node, jax_key), node.unflatten, node.flatten
    )
    _node_types[cls] = node_type


def _register_again(cls: type, node_type: NodeType | None) -> None:
    """Warn of a class that jax goes on to flatten by its first registration.

    The functions of `nodes` use the new node type by themselves; one of jax's own
    dataclass nodes cannot.
    """
    if cls not in _dataclass_nodes:
        return
    data, meta, *_ = _node_types[cls].form
    form = None if node_type is None else node_type.form
    if isinstance(form, Fields) and (form.data, form.meta) == (data, meta):
        return
    warnings.warn(
        f"jax keeps the first registration of {cls.__qualname__}, with the children "
        f"{data} and the static fields {meta}; it has no way to replace it",
        stacklevel=2,
    )


TARGET: Final = Target(_register, _register_again, _watch_trace_levels)


# -------------------------------------------------------------------- saved programs

_serialized: Final[dict[str, type]] = {}
"""The classes that `jax.export` saves by functions of ours, by their names there."""

_refused: Final[set[type]] = set()
"""Classes whose names are those of other classes there, each with a warning."""


def register_serialization() -> None:
    """Let `jax.export` save programs that take or return classes of leafwise.

    Each class that leafwise has registered in jax is registered with `jax.export`: by
    its qualified name, and with its aux data as JSON, by its codec if there is one. A
    class with a serialization of its own keeps it. Call it after your classes are
    defined, both where programs are saved and where they are read.

    Warns:
        UserWarning: A class was defined anew under the name of one that is registered
            with `jax.export`, which cannot replace it.

    Example:
        >>> import pytest
        >>> _ = pytest.importorskip("jax")
        >>> from leafwise.integrations.jax import register_serialization
        >>> register_serialization()
    """
    export = importlib.import_module("jax.export")
    names = set()
    # The newest class of a name first: it is the one that programs use, if the cell of
    # a notebook that defines the class was run several times.
    for cls, node_type in reversed(list(_node_types.items())):
        name = qualified_name(cls)
        if name in names:
            continue
        names.add(name)
        if name not in _serialized:
            _register_with_export(export, name, cls, node_type)
        elif _serialized[name] is not cls and cls not in _refused:
            _refused.add(cls)
            warnings.warn(
                f"jax.export keeps the first class {name}; it has no way to replace it",
                stacklevel=2,
            )


def _register_with_export(
    export: Any, name: str, cls: type, node_type: NodeType
) -> None:
    is_bare = node_type.aux_compares_itself or cls in _dataclass_nodes

    def serialize(aux: Any) -> bytes:
        return write_aux(node_type, aux).encode()

    def deserialize(text: bytes) -> Any:
        return read_aux(node_type, bytes(text).decode(), is_bare)

    try:
        export.register_pytree_node_serialization(
            cls,
            serialized_name=name,
            serialize_auxdata=serialize,
            deserialize_auxdata=deserialize,
        )
    except ValueError:  # the user has registered the class or the name
        return
    _serialized[name] = cls


# ----------------------------------------------------------- jax's own dataclass nodes

_dataclass_nodes: Final[set[type]] = set()
"""The classes that became dataclass nodes of jax."""

_TYPE_CHECKERS: Final = ("beartype", "typeguard")

_GENERATED: Final = "__create_fn__.<locals>."
"""The function of `dataclasses` inside which it defines methods. If that gets another
name, classes are registered with functions of ours, which takes more time only."""


def _is_rebuilt_by_jax(cls: Any, form: Any) -> bool:
    """Return whether jax's dataclass nodes give the results of ours.

    jax calls the class with all fields as keywords, and compares static values with
    `==`. So the call must set the fields and do nothing else, whatever the values, and
    no static value may need more than `==`.

    A decorator above ours may still replace `__init__`, by one that checks types. Its
    module is loaded by now, since decorators are evaluated before the class.
    """
    return (
        isinstance(form, Fields)
        and not any(name in sys.modules for name in _TYPE_CHECKERS)
        and _is_init_generated(cls, form)
        and not hasattr(cls, "__post_init__")
        and cls.__new__ is object.__new__
        and type(cls).__call__ is type.__call__
        and all(_is_plain_field(cls, name) for name in form.meta)
    )


def _is_init_generated(cls: Any, form: Fields) -> bool:
    """Return whether `dataclasses` wrote an `__init__` that takes these fields alone.

    An `InitVar` is one argument more, and a field with `init=False` one less.
    """
    init = vars(cls).get("__init__")
    if not isinstance(init, FunctionType):
        return False
    code = init.__code__
    if not code.co_qualname.startswith(_GENERATED):
        return False
    names = form.data + form.meta
    if not all(type(name) is str for name in names):
        return False
    arguments = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    if set(arguments) != set(names):
        return False
    # that of a frozen class does not ask `__setattr__`
    is_frozen: bool = cls.__dataclass_params__.frozen
    return is_frozen or cls.__setattr__ is object.__setattr__


def _is_plain_field(cls: Any, name: str) -> bool:
    """Return whether a field is annotated with a plain type."""
    annotation = cls.__dataclass_fields__[name].type
    if isinstance(annotation, str):
        module = sys.modules.get(cls.__module__)
        try:
            annotation = eval(annotation, vars(module))  # as `typing` does
        except (NameError, AttributeError, TypeError, SyntaxError):
            return False  # a name of a function, or one for checkers only
    return _is_plain_type(annotation)


def _is_plain_type(annotation: Any) -> bool:
    """Return whether `==` and `hash` are all that its values are compared by."""
    origin = get_origin(annotation)
    if origin is Literal:
        return True
    if origin in (Union, UnionType, tuple):
        arguments = get_args(annotation)
        return all(
            argument is ... or _is_plain_type(argument) for argument in arguments
        )
    if isinstance(annotation, EnumType):
        compare: Any = annotation.__eq__
        return compare is object.__eq__
    if annotation is None:
        return True
    return isinstance(annotation, type) and annotation in PLAIN_TYPES


# ------------------------------------------------------------------------- ravel


def ravel(tree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return all arrays of a tree as one vector, and a function that undoes it.

    Both directions can be traced and differentiated.

    Args:
        tree: A tree of arrays and numbers.

    Returns:
        An array of shape `(size,)` and a function from such an array to a tree. The
        array has a dtype that can represent all leaves. The function restores the
        shapes and dtypes of arrays; numbers become arrays without axes.

    Raises:
        TypeError: A leaf is neither a number nor an array, or the array has a different
            dtype from the vector.
        ValueError: The array has another shape.

    Example:
        >>> import pytest
        >>> jnp = pytest.importorskip("jax.numpy")
        >>> from leafwise.integrations.jax import ravel
        >>> vector, unravel = ravel({"w": jnp.ones((2, 2)), "b": jnp.zeros(1)})
        >>> vector
        Array([0., 1., 1., 1., 1.], dtype=float32)
        >>> unravel(vector * 2)["b"]
        Array([0.], dtype=float32)

    This is `jax.flatten_util.ravel_pytree` with the nodes and leaves of leafwise.
    """
    leaves, treedef = tree_flatten(tree)
    util = importlib.import_module("jax.flatten_util")
    vector, unravel = util.ravel_pytree(leaves)
    return vector, lambda changed: treedef.unflatten(unravel(changed))

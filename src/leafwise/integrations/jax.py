"""jax: registration of classes, trace levels, and `ravel`.

A class is registered with key paths, and with aux data that jax can compare; as one of
jax's own dataclass nodes where that makes no difference. `jax.export` can save programs
with it, by its qualified name.
"""

from __future__ import annotations

import functools
import importlib
import sys
import warnings
from collections.abc import Callable, Sequence
from enum import EnumType
from types import FunctionType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin
from weakref import WeakKeyDictionary, WeakSet

from .._lazy import real
from .._runtime import late_imports
from ..core.keys import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey
from ..core.node import Fields, NodeType
from ..ops.map import tree_flatten
from .nodes import (
    PLAIN_TYPES,
    bare_aux,
    key_converter,
    make_node,
    qualified_name,
    read_aux,
    write_aux,
)


__all__ = ["begin", "ravel", "register", "register_again"]


def begin(jax: Any) -> None:
    """Make objects record the trace level at which they are changed.

    If jax has no function for this, trace levels are not recorded and a warning is
    issued. Also lets users replace how `jax.export` saves classes of leafwise.

    Args:
        jax: The module.
    """
    _let_users_save()
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


def register(jax: Any, cls: type, node_type: NodeType) -> None:
    """Register a class in jax.

    A class for which jax's own dataclass nodes give the same results becomes one: they
    are read and rebuilt in C++.

    Args:
        jax: The module.
        cls: The class.
        node_type: Its node type here.

    Raises:
        ValueError: jax knows the class already.
    """
    util = real("jax.tree_util") or jax.tree_util
    register_dataclass = getattr(util, "register_dataclass", None)  # since jax 0.4.26
    if register_dataclass is not None and _is_rebuilt_by_jax(cls, node_type.form):
        register_dataclass(cls, node_type.form.data, node_type.form.meta)
        _dataclasses[cls] = node_type.form.data, node_type.form.meta
        _make_savable(cls, node_type, is_bare=True)
        return

    flatten: Callable[[Any], tuple[Sequence[Any], Any]]
    unflatten: Callable[[Any, Any], Any]
    keys_of: Callable[[Any, int], Sequence[Any]]
    if node_type.aux_compares_itself:
        # An object or a state of `nn`. It is flattened so often that looking for a
        # newer node type would cost a quarter: jax keeps this one.
        flatten = node_type.flatten
        unflatten = node_type.unflatten
        keys_of = node_type.keys
    else:
        flatten, unflatten, keys_of = make_node(cls, node_type)

    key_classes = {
        GetAttrKey: util.GetAttrKey,
        DictKey: util.DictKey,
        SequenceKey: util.SequenceKey,
        FlattenedIndexKey: util.FlattenedIndexKey,
    }

    def jax_key(key: Any) -> Any:
        key_class = key_classes.get(type(key))
        return key if key_class is None else key_class(key.entry)

    jax_keys = key_converter(jax_key)

    def flatten_with_keys(value: Any) -> tuple[list[tuple[Any, Any]], Any]:
        children, aux = flatten(value)
        keys = jax_keys(keys_of(aux, len(children)))
        return list(zip(keys, children, strict=True)), aux

    util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    _make_savable(cls, node_type, is_bare=node_type.fill is not None)


def register_again(cls: type, node_type: NodeType | None) -> None:
    """Warn of a class that jax goes on to flatten by its first registration.

    The functions of `nodes` use the new node type by themselves; one of jax's own
    dataclass nodes cannot.

    Args:
        cls: A class that jax knows from here.
        node_type: Its node type now, None if it is a leaf.
    """
    names = _dataclasses.get(cls)
    form = None if node_type is None else node_type.form
    if names is None or (isinstance(form, Fields) and (form.data, form.meta) == names):
        return
    warnings.warn(
        f"jax keeps the first registration of {cls.__qualname__}, with the children "
        f"{names[0]} and the static fields {names[1]}; it has no way to replace it",
        stacklevel=2,
    )


# -------------------------------------------------------------------- saved programs

_savable: Final[WeakSet[type]] = WeakSet()
"""The classes that `jax.export` saves by functions of ours."""


def _make_savable(cls: type, node_type: NodeType, is_bare: bool) -> None:
    """Let `jax.export` save programs with a class, by its qualified name.

    Of several classes of one name, the last one is read. A name that a user has given
    to a class stays with that class.

    Args:
        cls: The class, which jax knows.
        node_type: Its node type here.
        is_bare: Whether jax has its aux data as it is, never in an `Aux`.
    """
    tables = _tables_of_export()
    if tables is None:
        return
    _, by_name = tables
    name = qualified_name(cls)
    if name in by_name:
        other, *_ = by_name[name]
        if other not in _savable:
            return
        _forget_saving(other)

    def serialize(aux: Any) -> bytes:
        return write_aux(node_type, aux).encode()

    def deserialize(text: bytes) -> Any:
        return read_aux(node_type, bytes(text).decode(), is_bare)

    _register_saving(
        cls,
        serialized_name=name,
        serialize_auxdata=serialize,
        deserialize_auxdata=deserialize,
    )
    _savable.add(cls)


def _tables_of_export() -> tuple[dict[Any, Any], dict[str, Any]] | None:
    """Return the tables of `jax.export`, by class and by name; None if it has others.

    An entry can only be replaced in the tables: jax has no function for it. Where that
    is not possible, nothing is registered, so that users can.
    """
    module = sys.modules.get("jax._src.export._export")
    by_class = getattr(module, "serialization_registry", None)
    by_name = getattr(module, "deserialization_registry", None)
    if type(by_class) is not dict or type(by_name) is not dict:
        return None
    return by_class, by_name


def _forget_saving(cls: type) -> None:
    """Remove a class of ours from the tables of `jax.export`."""
    tables = _tables_of_export()
    _savable.discard(cls)
    if tables is not None:
        by_class, by_name = tables
        name, *_ = by_class.pop(cls)
        del by_name[name]


_register_saving: Callable[..., Any]
"""jax's own `register_pytree_node_serialization`."""


def _let_users_save() -> None:
    """Replace jax's function that registers how a class is saved.

    jax's own one refuses a class that it has already. The function of a user gets the
    aux data that the user's flatten function returned.
    """
    global _register_saving
    try:
        export: Any = importlib.import_module("jax.export")
        _register_saving = export.register_pytree_node_serialization
    except (ImportError, AttributeError):
        return

    @functools.wraps(_register_saving)
    def register_pytree_node_serialization(
        nodetype: Any, *, serialize_auxdata: Callable[[Any], bytes], **options: Any
    ) -> Any:
        if nodetype in _savable:
            _forget_saving(nodetype)
        return _register_saving(
            nodetype,
            serialize_auxdata=lambda aux: serialize_auxdata(bare_aux(aux)),
            **options,
        )

    replacement: Any = register_pytree_node_serialization
    export.register_pytree_node_serialization = replacement


# ----------------------------------------------------------- jax's own dataclass nodes

_Names = tuple[tuple[str, ...], tuple[str, ...]]
_dataclasses: Final[WeakKeyDictionary[type, _Names]] = WeakKeyDictionary()
"""The classes that became dataclass nodes of jax, with their children and statics."""

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

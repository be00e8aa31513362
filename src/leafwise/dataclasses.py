"""Dataclasses as nodes: which fields are children, and which are aux data.

`register_dataclass` registers a standard dataclass, or any other class with named
attributes. `dataclass` makes a class a dataclass and registers it. Subclasses of
`Pytree` read their own fields.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar, dataclass_transform, overload

from ._hooks import description_of
from ._text import safe_repr, short_repr
from .core.node import NodeType
from .core.register import DataclassNodeType
from .core.registry import GLOBAL, check_class, install
from .errors import RegistryError
from .fields import (
    Kind,
    Marked,
    data,
    field,
    kind_in,
    mark_name,
    parameter,
    state_value,
    static,
)


__all__ = ["dataclass", "register_dataclass"]

C = TypeVar("C", bound=type)
T = TypeVar("T")


@overload
def dataclass(cls: type[T], /) -> type[T]: ...
@overload
def dataclass(
    *,
    namespace: str = ...,
    inherit: bool = ...,
    exist_ok: bool = ...,
    bridge: bool = ...,
    **options: Any,
) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(
    field_specifiers=(field, data, static, parameter, state_value, dataclasses.field)
)
def dataclass(
    cls: type[Any] | None = None,
    /,
    *,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
    bridge: bool = True,
    **options: Any,
) -> Any:
    """Make a class a dataclass and its instances nodes.

    Fields are children unless they are declared with `static()` or
    `field(pytree_node=False)`. Unflattening sets the attributes of an empty instance:
    `__init__` and `__post_init__` do not run.

    A subclass of `Pytree` remains a node in every namespace. Its fields have the kinds
    that they are declared with. The kind of a field without a declaration is inferred
    from its values.

    Args:
        cls: The class; omitted when you pass options to the decorator.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether subclasses without the decorator are nodes, too.
        exist_ok: Whether to replace an earlier class of the same qualified name, as
            when you run a notebook cell again.
        bridge: Whether to register the class in jax, optree and torch as well, once
            they are imported. Classes in a namespace are not.
        **options: Options of `dataclasses.dataclass`: `frozen`, `slots`, `kw_only`,
            `eq`, ...

    Returns:
        The class, or a decorator.

    Raises:
        RegistryError: It is not a class, the markers of a field contradict each other,
            or the class is already registered.

    Example:
        >>> import leafwise as lw
        >>> @lw.dataclass(frozen=True)
        ... class Model:
        ...     weight: float
        ...     activation: str = lw.static(default="relu")
        >>> lw.tree_map(lambda w: w * 2, Model(0.5))
        Model(weight=1.0, activation='relu')
    """

    def decorate(cls: Any) -> Any:
        check_class(cls)
        description = description_of(cls)
        if description is not None and description.has_kinds:
            if namespace != GLOBAL:
                raise TypeError(
                    f"{cls.__qualname__} is a Pytree and therefore a node in every "
                    "namespace; omit namespace"
                )
            return description.make_dataclass(options)
        return register_dataclass(
            dataclasses.dataclass(cls, **options),
            namespace=namespace,
            inherit=inherit,
            exist_ok=exist_ok,
            bridge=bridge,
        )

    return decorate if cls is None else decorate(cls)


@overload
def register_dataclass(
    cls: C,
    data_fields: Iterable[str] | None = ...,
    meta_fields: Iterable[str] | None = ...,
    drop_fields: Iterable[str] = ...,
    *,
    init: bool = ...,
    namespace: str = ...,
    inherit: bool = ...,
    exist_ok: bool = ...,
    bridge: bool = ...,
) -> C: ...
@overload
def register_dataclass(
    cls: None = ...,
    data_fields: Iterable[str] | None = ...,
    meta_fields: Iterable[str] | None = ...,
    drop_fields: Iterable[str] = ...,
    *,
    init: bool = ...,
    namespace: str = ...,
    inherit: bool = ...,
    exist_ok: bool = ...,
    bridge: bool = ...,
) -> Callable[[C], C]: ...
def register_dataclass(
    cls: C | None = None,
    data_fields: Iterable[str] | None = None,
    meta_fields: Iterable[str] | None = None,
    drop_fields: Iterable[str] = (),
    *,
    init: bool = False,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
    bridge: bool = True,
) -> Any:
    """Register a class so that its instances are nodes with its fields as children.

    Without field lists, the fields of the dataclass decide. A field with
    `metadata["static"]` true or `metadata["pytree_node"]` false is aux data, and every
    other field is a child. With field lists, `cls` can be any class with attributes.

    Unflattening sets the attributes of an empty instance. `__init__` and
    `__post_init__` do not run, so leaves can be anything. What they set outside of the
    fields is lost; a warning says so when the first instance is flattened.

    Args:
        cls: The class; omitted when you pass options to the decorator.
        data_fields: The fields that are children, in leaf order.
        meta_fields: The fields that are aux data.
        drop_fields: Fields that are neither; a rebuilt instance has their default
            value, or lacks them.
        init: Whether to rebuild by calling the class with all fields as keywords
            instead.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether subclasses without a registration of their own are nodes, too.
            Without field lists, each subclass uses its own fields.
        exist_ok: Whether to replace an earlier registration.
        bridge: Whether to register the class in jax, optree and torch as well, once
            they are imported.

    Returns:
        The class, or a decorator.

    Raises:
        RegistryError: Only one of the two lists is given; a field is missing, unknown
            or listed twice; `init` cannot rebuild the class; it is a model of pydantic
            or a `msgspec.Struct`; or any error of `register_pytree_node`.

    Example:
        >>> import dataclasses, leafwise as lw
        >>> @lw.register_dataclass
        ... @dataclasses.dataclass
        ... class Layer:
        ...     weight: float
        ...     name: str = dataclasses.field(metadata={"static": True})
        >>> lw.tree_flatten(Layer(0.5, "first"))
        ([0.5], PyTreeDef(CustomNode(Layer[('first',)], [*])))
    """
    if cls is None:
        return functools.partial(
            register_dataclass,
            data_fields=data_fields,
            meta_fields=meta_fields,
            drop_fields=drop_fields,
            init=init,
            namespace=namespace,
            inherit=inherit,
            exist_ok=exist_ok,
            bridge=bridge,
        )
    check_class(cls)
    _refuse_class_of_library(cls)
    drop = _names(cls, "drop_fields", drop_fields)
    listed_fields: _Fields | None = None
    if data_fields is not None and meta_fields is not None:
        listed_fields = _Fields(
            _names(cls, "data_fields", data_fields),
            _names(cls, "meta_fields", meta_fields),
            drop,
        )
    elif data_fields is not None or meta_fields is not None:
        missing = "data_fields" if data_fields is None else "meta_fields"
        raise RegistryError(
            f"register_dataclass of {cls.__qualname__} was given only one of the two "
            f"lists; give {missing} too, an empty one if there are no such fields"
        )
    _check(cls, listed_fields or _declared_fields(cls, drop), init)

    def make_node_type(node_class: type, **options: Any) -> NodeType:
        fields = listed_fields or _declared_fields(node_class, drop)
        return DataclassNodeType(
            node_class,
            fields.data,
            fields.meta,
            fields.drop,
            rebuild=_constructor(node_class, fields) if init else None,
            set_dropped=_default_setter(node_class, drop),
            **options,
        )

    return install(cls, make_node_type, namespace, inherit, exist_ok, bridge)


def _refuse_class_of_library(cls: type) -> None:
    """Raise an error for a class whose instances are made in another way.

    Raises:
        RegistryError: It is a model of pydantic, or a `msgspec.Struct`.
    """
    if hasattr(cls, "__pydantic_fields__") and not dataclasses.is_dataclass(cls):
        kind = "a model of pydantic"
        function = "register_model"
    elif hasattr(cls, "__struct_fields__"):
        kind = "a msgspec.Struct"
        function = "register_struct"
    else:
        return
    raise RegistryError(
        f"{cls.__qualname__} is {kind}; register it with "
        f"leafwise.integrations.{function}"
    )


class _Fields(NamedTuple):
    """Which attributes of a class are children, aux data, or neither."""

    data: tuple[str, ...]
    meta: tuple[str, ...]
    drop: tuple[str, ...]


def _declared_fields(cls: type, drop: tuple[str, ...]) -> _Fields:
    """Return the fields of a dataclass, divided as their metadata declares.

    Raises:
        RegistryError: The class is not a dataclass, or the metadata of a field
            contradicts itself.
    """
    if not dataclasses.is_dataclass(cls):
        remedy = "make it one, or give data_fields and meta_fields"
        if hasattr(cls, "__attrs_attrs__"):
            remedy = "register it with leafwise.integrations.register_attrs"
        raise RegistryError(f"{cls.__qualname__} is not a dataclass; {remedy}")
    data: list[str] = []
    meta: list[str] = []
    for attribute in dataclasses.fields(cls):
        if attribute.name not in drop:
            names = meta if _is_static(cls, attribute) else data
            names.append(attribute.name)
    return _Fields(tuple(data), tuple(meta), drop)


def _check(cls: type, fields: _Fields, init: bool) -> None:
    """Check that the lists have each field once, and that `init` can rebuild.

    Raises:
        RegistryError: A field is listed twice, is missing or unknown, or `__init__`
            does not set it.
    """
    names = (*fields.data, *fields.meta, *fields.drop)
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise RegistryError(
            f"register_dataclass of {cls.__qualname__} was given "
            f"{_field_list(repeated)} twice; a field is either data, meta or dropped"
        )
    if not dataclasses.is_dataclass(cls):  # it does not say which fields it has
        return
    declared = {attribute.name: attribute for attribute in dataclasses.fields(cls)}
    for name, attribute in declared.items():
        mark = attribute.default
        if type(mark) is Marked:  # of a Pytree, the mark would be off already
            declaration = f"{mark_name(mark.kind)}(default={safe_repr(mark.value)})"
            raise RegistryError(
                f"the default of field {name!r} of {cls.__qualname__} is "
                f"{short_repr(mark)}, which marks a value of a Pytree; for a dataclass "
                f"write {declaration}"
            )
    missing = [name for name in declared if name not in names]
    if missing:
        raise RegistryError(
            f"register_dataclass of {cls.__qualname__} was not given "
            f"{_field_list(missing)}; add them to data_fields, meta_fields or "
            "drop_fields"
        )
    unknown = [name for name in names if name not in declared]
    if unknown:
        raise RegistryError(
            f"{cls.__qualname__} has no {_field_list(unknown)}; its fields are: "
            f"{', '.join(declared) or 'none'}"
        )
    unset = [
        name
        for name, attribute in declared.items()
        if not attribute.init and name not in fields.drop
    ]
    if init and unset:
        raise RegistryError(
            f"init=True cannot rebuild {cls.__qualname__}: {_field_list(unset)} has "
            "init=False; drop it, or leave init out"
        )
    # an `InitVar` is a parameter that is among the fields, and no field
    init_vars = [
        name
        for name in inspect.signature(cls.__init__).parameters
        if name in cls.__dataclass_fields__ and name not in declared
    ]
    if init and init_vars:
        raise RegistryError(
            f"init=True cannot rebuild {cls.__qualname__}: an instance does not keep "
            f"its InitVar {', '.join(map(safe_repr, init_vars))}; leave init out, and "
            "declare what __post_init__ computes as fields with init=False"
        )


def _names(cls: type, argument: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of an argument; a single string is one name.

    Raises:
        RegistryError: It contains something else.
    """
    # the letters of a string would be its items
    fields = (names,) if isinstance(names, str) else tuple(names)
    for name in fields:
        if not isinstance(name, str) or not name.isidentifier():
            raise RegistryError(
                f"{argument} of {cls.__qualname__} must be names of fields, got "
                f"{short_repr(name)}"
            )
    return fields


def _field_list(names: Sequence[str]) -> str:
    word = "field" if len(names) == 1 else "fields"
    return f"{word} {', '.join(map(safe_repr, names))}"


def _is_static(cls: type, field: dataclasses.Field[Any]) -> bool:
    """Return whether the metadata of a field declares it static.

    Raises:
        RegistryError: The declarations in the metadata disagree.
    """
    try:
        return kind_in(field.metadata) is Kind.STATIC
    except ValueError as error:
        raise RegistryError(
            f"field {field.name!r} of {cls.__qualname__} has {error}"
        ) from None


def _constructor(cls: Any, fields: _Fields) -> Callable[[Any, Any], Any]:
    """Return a function that rebuilds a node by calling its class."""
    names = fields.data + fields.meta

    def rebuild(aux: Any, children: Any) -> Any:
        return cls(**dict(zip(names, (*children, *aux), strict=True)))

    return rebuild


def _default_setter(cls: Any, drop: tuple[str, ...]) -> Callable[[Any], None] | None:
    """Return a function that gives dropped fields their defaults, if any have one."""
    if not drop or not dataclasses.is_dataclass(cls):
        return None
    with_default = [
        attribute
        for attribute in dataclasses.fields(cls)
        if attribute.name in drop and _has_default(attribute)
    ]

    def set_defaults(node: Any) -> None:
        for attribute in with_default:
            value = attribute.default
            if attribute.default_factory is not dataclasses.MISSING:
                value = attribute.default_factory()
            # past the `__setattr__` of a frozen class
            object.__setattr__(node, attribute.name, value)

    return set_defaults if with_default else None


def _has_default(attribute: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    has_value = attribute.default is not missing
    return has_value or attribute.default_factory is not missing

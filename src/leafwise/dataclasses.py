"""Dataclasses as nodes: which fields are children, and which are aux data.

Owns `register_dataclass`, the reading of fields, and the decorator `dataclass`.
`register_dataclass` takes any standard dataclass, and other classes with named
attributes. `dataclass` makes a dataclass and registers it. The class `Pytree` itself
handles the fields of its subclasses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar, dataclass_transform, overload

from ._text import class_name, clip, shown
from .core.node import Rule
from .core.register import DataclassRule
from .core.registry import GLOBAL, check_class, install
from .errors import RegistryError
from .fields import Kind, data, field, kind_in, parameter, state_value, static


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
        become = getattr(cls, "_leafwise_dataclass", None)
        if become is not None:
            if namespace != GLOBAL:
                raise TypeError(
                    f"{cls.__qualname__} is a Pytree and therefore a node in every "
                    "namespace; omit namespace"
                )
            return become(options)
        made = dataclasses.dataclass(cls, **options)
        return register_dataclass(
            made, namespace=namespace, inherit=inherit, exist_ok=exist_ok, bridge=bridge
        )

    return decorate if cls is None else decorate(cls)


def register_dataclass(
    cls: C,
    data_fields: Iterable[str] | None = None,
    meta_fields: Iterable[str] | None = None,
    drop_fields: Iterable[str] = (),
    *,
    init: bool = False,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
    bridge: bool = True,
) -> C:
    """Register a class so that its instances are nodes with its fields as children.

    Without field lists, the fields of the dataclass decide. A field with
    `metadata["static"]` true or `metadata["pytree_node"]` false is aux data, and every
    other field is a child. With field lists, `cls` can be any class with attributes.

    Unflattening sets the attributes of an empty instance. `__init__` and
    `__post_init__` do not run, so leaves can be anything.

    Args:
        cls: The class.
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
        The class.

    Raises:
        RegistryError: Only one of the two lists is given; a field is missing, unknown
            or listed twice; or any error of `register_pytree_node`.

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
    check_class(cls)
    drop = _names(cls, "drop_fields", drop_fields)
    given: _Fields | None = None
    if data_fields is not None and meta_fields is not None:
        data = _names(cls, "data_fields", data_fields)
        given = _Fields(data, _names(cls, "meta_fields", meta_fields), drop)
    elif data_fields is not None or meta_fields is not None:
        missing = "data_fields" if data_fields is None else "meta_fields"
        raise RegistryError(
            f"register_dataclass of {class_name(cls)} was given only one of the two "
            f"lists; give {missing} too, an empty one if there are no such fields"
        )
    _check(cls, given or _declared(cls, drop), init)

    def make(of: type, **rest: Any) -> Rule:
        fields = given or _declared(of, drop)
        rebuild = _by_init(of, fields) if init else None
        dropped = _default_setter(of, drop)
        return DataclassRule(
            of, fields.data, fields.meta, rebuild=rebuild, dropped=dropped, **rest
        )

    return install(cls, make, namespace, inherit, exist_ok, bridge)


class _Fields(NamedTuple):
    """Which attributes of a class are children, aux data, or neither."""

    data: tuple[str, ...]
    meta: tuple[str, ...]
    drop: tuple[str, ...]


def _declared(of: type, drop: tuple[str, ...]) -> _Fields:
    """Read what the fields of a dataclass say about themselves."""
    if not dataclasses.is_dataclass(of):
        raise RegistryError(
            f"{class_name(of)} is not a dataclass; make it one, or give "
            "data_fields and meta_fields"
        )
    is_static = {
        field.name: _is_static(of, field)
        for field in dataclasses.fields(of)
        if field.name not in drop
    }
    data = tuple([name for name, static in is_static.items() if not static])
    return _Fields(data, tuple([n for n, static in is_static.items() if static]), drop)


def _check(of: type, given: _Fields, init: bool) -> None:
    """Refuse fields that are given twice, missing or unknown, or not set by `init`."""
    names = (*given.data, *given.meta, *given.drop)
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise RegistryError(
            f"register_dataclass of {class_name(of)} was given {_quoted(twice)} "
            "twice; a field is either data, meta or dropped"
        )
    if not dataclasses.is_dataclass(of):
        return
    known = {field.name: field for field in dataclasses.fields(of)}
    if missing := [name for name in known if name not in names]:
        raise RegistryError(
            f"register_dataclass of {class_name(of)} was not given "
            f"{_quoted(missing)}; add them to data_fields, meta_fields or "
            "drop_fields"
        )
    if unknown := [name for name in names if name not in known]:
        raise RegistryError(
            f"{class_name(of)} has no {_quoted(unknown)}; its fields are: "
            f"{', '.join(known) or 'none'}"
        )
    unset = [name for name in known if not known[name].init and name not in given.drop]
    if init and unset:
        raise RegistryError(
            f"init=True cannot rebuild {class_name(of, qualified=False)}: "
            f"{_quoted(unset)} has init=False; drop it, or leave init out"
        )


def _names(of: type, what: str, names: Iterable[str]) -> tuple[str, ...]:
    found = (names,) if isinstance(names, str) else tuple(names)
    for name in found:
        if not isinstance(name, str) or not name.isidentifier():
            raise RegistryError(
                f"{what} of {class_name(of)} must be names of fields, got {clip(name)}"
            )
    return found


def _quoted(names: Sequence[str]) -> str:
    word = "field" if len(names) == 1 else "fields"
    return f"{word} {', '.join(map(shown, names))}"


def _is_static(of: type, field: dataclasses.Field[Any]) -> bool:
    """Read the two markers that the field knows; refuse them if they disagree."""
    try:
        return kind_in(field.metadata) is Kind.STATIC
    except ValueError as error:
        raise RegistryError(
            f"field {field.name!r} of {class_name(of)} has {error}"
        ) from None


def _by_init(cls: Any, fields: _Fields) -> Callable[[Any, Any], Any]:
    def rebuild(aux: Any, children: Any) -> Any:
        values = zip(fields.data + fields.meta, (*children, *aux), strict=True)
        return cls(**dict(values))

    return rebuild


def _default_setter(cls: Any, drop: tuple[str, ...]) -> Callable[[Any], None] | None:
    """Return a function that gives dropped fields their defaults, if any have one."""
    if not drop or not dataclasses.is_dataclass(cls):
        return None
    makers: dict[str, Callable[[], Any]] = {}
    for one in dataclasses.fields(cls):
        if one.name in drop and one.default_factory is not dataclasses.MISSING:
            makers[one.name] = one.default_factory
        elif one.name in drop and one.default is not dataclasses.MISSING:
            makers[one.name] = lambda default=one.default: default  # type: ignore[misc]

    def put_defaults(node: Any) -> None:
        for name, make in makers.items():
            object.__setattr__(node, name, make())

    return put_defaults if makers else None

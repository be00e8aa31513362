"""Classes of attrs, models of pydantic and structs of msgspec as nodes.

Rebuilding runs no validation, so that a leaf can be anything. An edit does what an
assignment would do in a model with `validate_assignment`, and what `attrs.evolve` would
do. None of the libraries is imported: whoever has such a class has loaded it.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import sys
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, Final

from .._text import safe_repr
from ..core.codec import Form, Writer, add_form, read_value
from ..core.keys import GetAttrKey
from ..core.node import Attributes, NodeType
from ..core.register import DataclassNodeType, FunctionNodeType
from ..equality import exact
from ..fields import Kind, kind_among


__all__ = [
    "attrs_node_type",
    "is_attrs_class",
    "is_model",
    "is_struct",
    "model_node_type",
    "struct_node_type",
]


# ---------------------------------------------------------------------------- attrs


def is_attrs_class(cls: type) -> bool:
    """Return whether a class was made by attrs, or is derived from such a class."""
    return getattr(cls, "__attrs_attrs__", None) is not None


def attrs_node_type(cls: Any, **options: Any) -> NodeType | None:
    """Return the node type of a class of attrs, None for any other class."""
    if not is_attrs_class(cls):
        return None
    data: list[str] = []
    static: list[str] = []
    for field in cls.__attrs_attrs__:
        names = static if field.metadata.get("static", False) else data
        names.append(field.name)
    # A rebuilt node may have another hash. Its class expects the attribute to be None
    # until the hash is computed, which only `__init__` and unpickling see to.
    caches_hash = _caches_hash(cls)
    return DataclassNodeType(
        cls,
        tuple(data),
        tuple(static),
        (_HASH,) if caches_hash else (),
        set_dropped=_forget_hash if caches_hash else None,
        attributes=Attributes(validate=_validate_attrs, declared=_types_of_attrs),
        **options,
    )


_HASH: Final = "_attrs_cached_hash"
"""Where a class with `cache_hash=True` keeps the hash, None at first."""


def _caches_hash(cls: Any) -> bool:
    code = getattr(cls.__hash__, "__code__", None)
    return _HASH in getattr(code, "co_names", ())


def _forget_hash(node: Any) -> None:
    object.__setattr__(node, _HASH, None)


def _validate_attrs(node: Any, names: Set[str]) -> None:
    """Convert the new values, then run all validators, as `attrs.evolve` would."""
    for field in type(node).__attrs_attrs__:
        if field.name in names and field.converter is not None:
            value = _convert(node, field, getattr(node, field.name))
            object.__setattr__(node, field.name, value)  # a frozen class, too
    sys.modules["attr"].validate(node)


def _convert(node: Any, field: Any, value: Any) -> Any:
    """Return what the converter of a field makes of a value."""
    converter = field.converter
    if not hasattr(converter, "takes_self"):  # a function, not an `attrs.Converter`
        return converter(value)
    arguments = [value]
    if converter.takes_self:
        arguments.append(node)
    if converter.takes_field:
        arguments.append(field)
    return converter.converter(*arguments)


def _types_of_attrs(cls: Any) -> dict[str, tuple[Any, bool]]:
    return {
        field.name: (field.type, field.converter is not None)
        for field in cls.__attrs_attrs__
        if field.type is not None and not isinstance(field.type, str)
    }


# ------------------------------------------------------------------------- pydantic


def is_model(cls: type) -> bool:
    """Return whether a class is a model of pydantic 2."""
    base = getattr(sys.modules.get("pydantic"), "BaseModel", None)
    return base is not None and issubclass(cls, base) and hasattr(cls, "model_fields")


def model_node_type(cls: Any, **options: Any) -> NodeType | None:
    """Return the node type of a pydantic model, None for any other class.

    It works by the `__getstate__` of the model. What the model has cached beside its
    fields is computed again.
    """
    if not is_model(cls):
        return None

    @functools.cache
    def static_fields() -> tuple[str, ...]:
        # not before the first instance: annotations in quotes may not be resolved yet
        return tuple(
            name
            for name, field in cls.model_fields.items()
            if kind_among(field.metadata) is Kind.STATIC
        )

    def flatten(node: Any) -> tuple[Any, Any, Any]:
        state = node.__getstate__()
        fields = cls.model_fields
        values = {n: x for n, x in state["__dict__"].items() if n in fields}
        order = tuple(values)
        extra = state.get("__pydantic_extra__")
        values.update(extra or {})
        static = {name: values.pop(name) for name in static_fields() if name in values}
        aux = _RestOfModel(
            order=order,
            names=tuple(values),
            static=static,
            extra=None if extra is None else tuple(extra),
            fields_set=frozenset(state["__pydantic_fields_set__"]),
            private=state.get("__pydantic_private__"),
        )
        keys = [GetAttrKey(name) for name in values]  # extra values have names, too
        return tuple(values.values()), aux, keys

    def unflatten(aux: _RestOfModel, children: Any) -> Any:
        node = cls.__new__(cls)
        node.__setstate__(aux.state_with(children))
        return node

    return FunctionNodeType(
        cls,
        flatten,
        unflatten,
        attributes=Attributes(
            static_names=lambda _node: static_fields(),
            with_static=_with_static,
            validate=_validate_model,
            extras=lambda node: node.__pydantic_extra__,
            declared=_types_of_model,
        ),
        **options,
    )


def _types_of_model(cls: Any) -> dict[str, tuple[Any, bool]]:
    converts = bool(cls.model_config.get("validate_assignment"))
    fields = cls.model_fields.items()
    return {name: (field.annotation, converts) for name, field in fields}


@dataclasses.dataclass(frozen=True, eq=False, repr=False, slots=True)
class _RestOfModel:
    """What a model is beside its children.

    Two are equal if their models have the same children by name, equal static fields
    and equal private attributes.

    Attributes:
        order: The names of the fields that have a value, static ones too.
        names: The names of the children.
        static: The static fields.
        extra: The names of those children that are no fields; None if the model cannot
            have any, as a model of one value.
        fields_set: The names of the fields that were given explicitly.
        private: The private attributes, or None.
    """

    order: tuple[str, ...]
    names: tuple[str, ...]
    static: dict[str, Any]
    extra: tuple[str, ...] | None
    fields_set: frozenset[str]
    private: dict[str, Any] | None

    def state_with(self, values: Iterable[Any]) -> dict[str, Any]:
        """Return the state of a model with these children."""
        table = dict(zip(self.names, values, strict=True)) | self.static
        extra = None
        if self.extra is not None:
            extra = {name: table[name] for name in self.extra}
        return {
            "__dict__": {name: table[name] for name in self.order},
            "__pydantic_extra__": extra,
            "__pydantic_fields_set__": set(self.fields_set),
            "__pydantic_private__": copy.copy(self.private),
        }

    def __eq__(self, other: object) -> bool:
        if type(other) is not _RestOfModel:
            return NotImplemented
        return (
            self.names == other.names
            and exact.same(self.static, other.static)
            and self.private == other.private  # as pydantic's own `==` compares them
        )

    def __hash__(self) -> int:
        return hash((self.names, exact.digest(self.static)))

    def __repr__(self) -> str:
        static = [f"{name}={safe_repr(value)}" for name, value in self.static.items()]
        return ", ".join([*self.names, *static])


def _json_of_rest(rest: _RestOfModel, writer: Writer) -> list[Any]:
    return [
        list(rest.order),
        list(rest.names),
        writer.value(rest.static),
        None if rest.extra is None else list(rest.extra),
        sorted(rest.fields_set),
        writer.value(rest.private),
    ]


def _rest_from_json(
    order: Any, names: Any, static: Any, extra: Any, fields_set: Any, private: Any
) -> _RestOfModel:
    return _RestOfModel(
        tuple(order),
        tuple(names),
        read_value(static),
        None if extra is None else tuple(extra),
        frozenset(fields_set),
        read_value(private),
    )


add_form(
    _RestOfModel,
    Form(
        lambda rest: [rest.names, rest.static, rest.private],
        "model",
        _json_of_rest,
        _rest_from_json,
    ),
)


def _with_static(aux: Any, values: Mapping[str, Any]) -> Any:
    """Return the aux data of a model with other values of static fields."""
    rest_of_model, keys = aux
    static = {
        name: values.get(name, value) for name, value in rest_of_model.static.items()
    }
    return dataclasses.replace(rest_of_model, static=static), keys


def _validate_model(node: Any, names: Set[str]) -> None:
    """Assign the new values one by one, in the order of the fields, as pydantic does.

    Each is validated beside all other new values. A frozen field cannot be assigned to,
    so it keeps the new value as it is; it is a new model.
    """
    cls = type(node)
    config = cls.model_config
    values = {**node.__dict__, **(node.__pydantic_extra__ or {})}
    if config.get("validate_assignment") and not config.get("frozen"):
        frozen = {name for name, field in cls.model_fields.items() if field.frozen}
        for name, value in values.items():
            if name in names and name not in frozen:
                cls.__pydantic_validator__.validate_assignment(node, name, value)
    fields_set = node.__pydantic_fields_set__
    fields_set.update(names)
    fields_set.intersection_update(values)


# -------------------------------------------------------------------------- msgspec


def is_struct(cls: type) -> bool:
    """Return whether a class is a `msgspec.Struct` with fields."""
    base = getattr(sys.modules.get("msgspec"), "Struct", None)
    return base is not None and issubclass(cls, base) and cls is not base


def struct_node_type(cls: Any, **options: Any) -> NodeType | None:
    """Return the node type of a `msgspec.Struct`, None for any other class."""
    if not is_struct(cls):
        return None
    structs = sys.modules["msgspec"].structs
    data: list[str] = []
    static: list[str] = []
    for field in structs.fields(cls):
        names = static if _is_static_type(field.type) else data
        names.append(field.name)

    @functools.cache
    def template() -> Any:
        return _struct_without_values(cls)

    def new(_cls: Any) -> Any:
        return copy.copy(template())

    return DataclassNodeType(
        cls,
        tuple(data),
        tuple(static),
        new=new,
        put=structs.force_setattr,  # which frozen structs allow
        **options,
    )


def _is_static_type(annotation: Any) -> bool:
    """Return whether the annotation of a field has a mark that makes it static."""
    marks: Sequence[Any] = getattr(annotation, "__metadata__", ())
    for mark in marks:
        extra = getattr(mark, "extra", None)  # of `msgspec.Meta`
        if isinstance(extra, Mapping) and extra.get("static"):
            return True
    return kind_among(marks) is Kind.STATIC


def _struct_without_values(cls: Any) -> Any:
    """Return a struct whose `__post_init__` did not run; its fields are None.

    A struct can only be made by calling a class. `__post_init__` might refuse None, so
    a subclass is called that has an empty one; the instance then gets its class.
    """
    fields = dict.fromkeys(cls.__struct_fields__)
    if not hasattr(cls, "__post_init__"):
        return cls(**fields)
    methods = {"__post_init__": lambda _struct: None, "__module__": cls.__module__}
    # `frozen=False`, or the instance could not get another class
    subclass = type(cls)(cls.__name__, (cls,), methods, frozen=False)
    struct = subclass(**fields)
    struct.__class__ = cls
    return struct

"""Models of pydantic and classes of attrs: how they are taken apart, and validated.

Owns the rules of both. Rebuilding runs no validation, so that anything may stand at a
leaf; an edit does what an assignment would do in a model with `validate_assignment`,
and what `attrs.evolve` would do. Neither library is imported: who has an instance has
loaded it.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterable, Mapping, Set
from typing import Any, Final

from ..core.keys import GetAttrKey
from ..core.node import Attributes, Rule
from ..core.register import DataclassRule, FunctionRule


__all__ = ["attrs_rule", "model_rule"]


# ---------------------------------------------------------------------------- attrs


def attrs_rule(cls: Any, **given: Any) -> Rule | None:
    """Return the rule of a class of attrs, None for any other class."""
    fields = getattr(cls, "__attrs_attrs__", None)
    if fields is None:
        return None
    static = [f.name for f in fields if f.metadata.get("static", False)]
    data = [f.name for f in fields if f.name not in static]
    return DataclassRule(
        cls,
        tuple(data),
        tuple(static),
        dropped=_without_hash if _caches_hash(cls) else None,
        attributes=Attributes(validate=_validate_attrs, declared=_types_of_attrs),
        **given,
    )


_HASH: Final = "_attrs_cached_hash"
"""Where a class with `cache_hash=True` keeps the hash, None at first."""


def _caches_hash(cls: Any) -> bool:
    code = getattr(cls.__hash__, "__code__", None)
    return _HASH in getattr(code, "co_names", ())


def _without_hash(node: Any) -> None:
    object.__setattr__(node, _HASH, None)


def _validate_attrs(node: Any, names: Set[str]) -> None:
    """Convert the new values, then run all validators, as `attrs.evolve` would."""
    attr = sys.modules["attr"]
    for field in type(node).__attrs_attrs__:
        if field.name in names and field.converter is not None:
            value = _converted(node, field, getattr(node, field.name))
            object.__setattr__(node, field.name, value)
    attr.validate(node)


def _converted(node: Any, field: Any, value: Any) -> Any:
    """Return what the converter of a field makes of a value."""
    convert = field.converter
    if not hasattr(convert, "takes_self"):
        return convert(value)
    more = [node] * convert.takes_self + [field] * convert.takes_field
    return convert.converter(value, *more)


def _types_of_attrs(cls: Any) -> dict[str, tuple[Any, bool]]:
    return {
        field.name: (field.type, field.converter is not None)
        for field in cls.__attrs_attrs__
        if field.type is not None and not isinstance(field.type, str)
    }


# ------------------------------------------------------------------------- pydantic


def model_rule(cls: Any, **given: Any) -> Rule:
    """Return the rule of a pydantic model, which works by its `__getstate__`.

    What it has cached beside its fields is computed again.
    """
    fields = frozenset(cls.model_fields)

    def flatten(node: Any) -> tuple[Any, Any, Any]:
        state = node.__getstate__()
        table = {n: x for n, x in state["__dict__"].items() if n in fields}
        table.update(state.get("__pydantic_extra__") or {})
        return tuple(table.values()), _Model(state, table), map(GetAttrKey, table)

    def unflatten(aux: _Model, children: Any) -> Any:
        node = cls.__new__(cls)
        node.__setstate__(aux.state_with(children))
        return node

    return FunctionRule(
        cls,
        flatten,
        unflatten,
        attributes=Attributes(
            validate=_validate_model,
            extras=lambda node: node.__pydantic_extra__,
            declared=_types_of_model,
        ),
        **given,
    )


def _types_of_model(cls: Any) -> dict[str, tuple[Any, bool]]:
    converts = bool(cls.model_config.get("validate_assignment"))
    fields = cls.model_fields.items()
    return {name: (field.annotation, converts) for name, field in fields}


class _Model:
    """What a model is beside its values; equal for equal names and private values."""

    __slots__ = ("extra", "given", "names", "private")

    def __init__(self, state: Mapping[str, Any], names: Iterable[str]) -> None:
        self.names = tuple(names)
        extra = state.get("__pydantic_extra__")  # a model of one value has none
        self.extra = None if extra is None else tuple(extra)
        self.given = frozenset(state["__pydantic_fields_set__"])
        self.private = state.get("__pydantic_private__")

    def state_with(self, values: Iterable[Any]) -> dict[str, Any]:
        """Return the state of a model with these values."""
        table = dict(zip(self.names, values, strict=True))
        extra = None
        if self.extra is not None:
            extra = {name: table.pop(name) for name in self.extra}
        return {
            "__dict__": table,
            "__pydantic_extra__": extra,
            "__pydantic_fields_set__": {*self.given},
            "__pydantic_private__": copy.copy(self.private),
        }

    def __eq__(self, other: object) -> bool:
        if type(other) is not _Model:
            return NotImplemented
        return (self.names, self.private) == (other.names, other.private)

    def __hash__(self) -> int:
        return hash(self.names)

    def __repr__(self) -> str:
        return ", ".join(self.names)


# ---------------------------------------------------------------------- assignments


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

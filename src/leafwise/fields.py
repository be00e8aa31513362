"""Declare attributes as static or as data, and which kind of data.

An attribute is declared by a mark around the assigned value, by a dataclass field, or
by an annotation. `dataclasses` reads the declarations of plain dataclasses, `nn` those
of `Pytree`s.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, TypeVar

from ._records import Record
from ._runtime import late_imports
from ._text import safe_repr, short_repr


# fmt: off
__all__ = [
    "Data", "Kind", "Static", "data", "field", "parameter", "state_value", "static",
]
# fmt: on

T = TypeVar("T")


class Kind(enum.Enum):
    """The kind of a `Pytree` attribute: static, or a kind of data.

    A `STATIC` attribute is part of the structure. All other kinds are data, so their
    attributes are children. `PARAMETER` is data that is trained, and `STATE` is data
    that changes without training. `FROZEN` is a parameter that counts as state until it
    is unfrozen. `MODULE` is a tree that has kinds of its own. `DATA` is anything else.

    Attributes:
        is_data: Whether attributes of this kind are children.

    Example:
        >>> from leafwise import nn
        >>> [kind.name for kind in nn.Kind if kind.is_data]
        ['DATA', 'PARAMETER', 'STATE', 'FROZEN', 'MODULE']

    The kinds of data come from PAX; the split into data and static comes from Flax NNX.
    """

    STATIC = "static"
    DATA = "data"
    PARAMETER = "parameter"
    STATE = "state"
    FROZEN = "frozen"
    MODULE = "module"

    # members are unique; the hash of `Enum` is a function in Python, ten times as slow
    __hash__ = object.__hash__

    @property
    def is_data(self) -> bool:
        """Return whether attributes of this kind are children."""
        return self is not Kind.STATIC


COUNT_AS_STATE: Final = frozenset({Kind.STATE, Kind.FROZEN})
"""The kinds that count as state."""

Data: TypeAlias = Annotated[T, Kind.DATA]
"""Annotation in a class body that declares an attribute as data."""

Static: TypeAlias = Annotated[T, Kind.STATIC]
"""Annotation in a class body that declares an attribute as static."""

KIND: Final = "kind"
"""The key of the kind in the metadata of a dataclass field."""


def mark_name(kind: Kind) -> str:
    """Return the name of the function that marks values with a kind."""
    return "state_value" if kind is Kind.STATE else kind.value


class Marked(Record):
    """A value with a kind, for the attribute that it is assigned to.

    Attributes:
        kind: The kind that the attribute gets.
        value: The value.
    """

    __slots__ = ("kind", "value")
    __match_args__: ClassVar[tuple[Literal["kind"], Literal["value"]]] = (
        "kind",
        "value",
    )

    kind: Kind
    value: Any

    def __repr__(self) -> str:
        return f"{mark_name(self.kind)}({safe_repr(self.value)})"


def field(
    *,
    pytree_node: bool | None = None,
    kind: Kind | None = None,
    metadata: Mapping[Any, Any] | None = None,
    **options: Any,
) -> Any:
    """Declare a dataclass field as a child or as aux data.

    Args:
        pytree_node: True for a child, False for aux data. If omitted, a field of a
            plain dataclass is a child; the kind of a field of a `Pytree` is inferred
            from its values.
        kind: The `Kind` of the field, for a dataclass that is a `Pytree`.
        metadata: Further metadata of the field. If it also declares what the field is
            (`static`, `pytree_node`, `kind`), all declarations must agree.
        **options: Options of `dataclasses.field`: `default`, `default_factory`,
            `init`, `repr`, `hash`, `compare`, `kw_only`.

    The kind is stored in the metadata under the keys that other libraries read:
    `pytree_node` for flax and optree, `static` for jax, flax.nnx and equinox. So if one
    of these libraries decorates the class, it finds the same children.

    Raises:
        ValueError: `pytree_node`, `kind` and `metadata` disagree.

    Example:
        >>> import leafwise as lw
        >>> @lw.dataclass
        ... class Layer:
        ...     weight: float
        ...     name: str = lw.field(default="linear", pytree_node=False)
        >>> lw.tree_leaves(Layer(0.5))
        [0.5]

    Modelled on `flax.struct.field` and `optree.dataclasses.field`.
    """
    entries = dict(metadata or {})
    declarations = {kind, kind_in(entries)}
    if pytree_node is not None:
        declarations.add(Kind.DATA if pytree_node else Kind.STATIC)
    declared_kind = _common_kind(
        declarations,
        f"a field has declarations that disagree: pytree_node={pytree_node}, "
        f"kind={kind}, metadata={short_repr(entries)}",
    )
    if declared_kind is not None:
        entries["pytree_node"] = declared_kind.is_data  # read by flax and optree
        entries.setdefault("static", not declared_kind.is_data)  # by jax and equinox
        if declared_kind not in (Kind.DATA, Kind.STATIC):
            entries[KIND] = declared_kind
    with late_imports:
        import dataclasses  # late: it imports inspect

    return dataclasses.field(metadata=entries, **options)


def kind_in(metadata: Mapping[Any, Any]) -> Kind | None:
    """Return the kind that the metadata of a field declares, None if it declares none.

    Raises:
        ValueError: Two declarations disagree, or the entry of the kind is not a `Kind`.
    """
    kind = metadata.get(KIND)
    if not isinstance(kind, Kind | None):
        raise ValueError(
            f"metadata {KIND!r} is the kind of the field, a Kind, got {safe_repr(kind)}"
        )
    declarations = {kind}
    if "pytree_node" in metadata:
        is_data = bool(metadata["pytree_node"])
        declarations.add(Kind.DATA if is_data else Kind.STATIC)
    if "static" in metadata:
        is_static = bool(metadata["static"])
        declarations.add(Kind.STATIC if is_static else Kind.DATA)
    return _common_kind(
        declarations, f"metadata that disagrees: {short_repr(dict(metadata))}"
    )


def kind_among(marks: Iterable[Any]) -> Kind | None:
    """Return the kind that marks in `Annotated[...]` declare, None if none does.

    Args:
        marks: What stands behind the type: a `Kind`, or `static()` and the like, which
            are dataclass fields.

    Raises:
        ValueError: The declarations of a mark disagree.
    """
    for mark in marks:
        if isinstance(mark, Kind):
            return mark
        # anything may stand in an annotation; what has metadata may be a field
        metadata = getattr(mark, "metadata", None)
        if isinstance(metadata, Mapping):
            kind = kind_in(metadata)
            if kind is not None:
                return kind
    return None


def _common_kind(declarations: set[Kind | None], message: str) -> Kind | None:
    """Return the kind that all declarations allow; `DATA` allows any kind of data.

    Raises:
        ValueError: There is no such kind; with the message.
    """
    is_data = Kind.DATA in declarations
    kinds = declarations - {None, Kind.DATA}
    if len(kinds) > 1 or (is_data and Kind.STATIC in kinds):
        raise ValueError(message)
    if kinds:
        return kinds.pop()
    return Kind.DATA if is_data else None


def _declare(kind: Kind, values: tuple[T, ...], options: dict[str, Any]) -> T:
    """Mark a value, or declare a field."""
    if len(values) > 1 or (values and options):
        raise TypeError(
            f"{mark_name(kind)} takes either a single positional argument, the value "
            "that is assigned, or keyword arguments, those of dataclasses.field"
        )
    declaration: Any = Marked(kind, *values) if values else field(kind=kind, **options)
    return declaration  # type: ignore[no-any-return]  # checkers take it for the value


def data(*value: T, **options: Any) -> T:
    """Declare an attribute as data: a child of its object.

    Wrap a value that you assign to an attribute of a `Pytree`, or call it without a
    value to declare a dataclass field.

    Args:
        *value: The value to assign.
        **options: Options of `dataclasses.field`.

    Raises:
        TypeError: Both a value and options were given.

    Example:
        >>> import leafwise as lw
        >>> class Scale(lw.Pytree):
        ...     def __init__(self, by):
        ...         self.by = lw.data(by)
        >>> lw.tree_leaves(Scale(2.0))
        [2.0]
        >>> @lw.dataclass
        ... class Point:
        ...     x: float = lw.data(default=0.0)
        >>> lw.tree_leaves(Point())
        [0.0]

    Modelled on `flax.nnx.data`.
    """
    return _declare(Kind.DATA, value, options)


def static(*value: T, **options: Any) -> T:
    """Declare an attribute as static: part of the structure of its object.

    Wrap a value that you assign to an attribute of a `Pytree`, or call it without a
    value to declare a dataclass field.

    Args:
        *value: The value to assign; it must not contain data.
        **options: Options of `dataclasses.field`.

    Raises:
        TypeError: Both a value and options were given.

    Example:
        >>> import leafwise as lw
        >>> class Named(lw.Pytree):
        ...     def __init__(self, name):
        ...         self.name = lw.static(name)
        >>> lw.tree_leaves(Named("linear"))
        []
        >>> @lw.dataclass
        ... class Scaled:
        ...     x: float
        ...     unit: str = lw.static(default="m")
        >>> lw.tree_structure(Scaled(1.0))
        PyTreeDef(CustomNode(Scaled[('m',)], [*]))

    Modelled on `flax.nnx.static`.
    """
    return _declare(Kind.STATIC, value, options)


def parameter(*value: T, **options: Any) -> T:
    """Declare an attribute as a parameter: data that is trained.

    Args:
        *value: The value to assign.
        **options: Options of `dataclasses.field`.

    Raises:
        TypeError: Both a value and options were given.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Linear(lw.Pytree):
        ...     def __init__(self):
        ...         self.weight = nn.parameter(0.5)
        >>> nn.name_to_kind(Linear())["weight"]
        <Kind.PARAMETER: 'parameter'>
    """
    return _declare(Kind.PARAMETER, value, options)


def state_value(*value: T, **options: Any) -> T:
    """Declare an attribute as state: data that changes, but is not trained.

    Args:
        *value: The value to assign.
        **options: Options of `dataclasses.field`.

    Raises:
        TypeError: Both a value and options were given.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Counter(lw.Pytree):
        ...     def __init__(self):
        ...         self.count = nn.state_value(0)
        >>> nn.name_to_kind(Counter())["count"]
        <Kind.STATE: 'state'>
    """
    return _declare(Kind.STATE, value, options)

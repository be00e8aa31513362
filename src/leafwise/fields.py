"""Kinds: whether an attribute of a pytree class is static or data, and which data.

Owns the kinds and the ways to declare them: around an assigned value, as a dataclass
field, as an annotation. The readers decide what a kind means: `dataclasses` for plain
dataclasses, `nn` for `Pytree`s.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeAlias, TypeVar

from ._records import Record
from ._text import clip, shown


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

    @property
    def is_data(self) -> bool:
        """Return whether attributes of this kind are children."""
        return self is not Kind.STATIC


COUNT_AS_STATE: Final = frozenset({Kind.STATE, Kind.FROZEN})
"""The kinds that count as state."""

Data: TypeAlias = Annotated[T, Kind.DATA]
"""As an annotation in a class body, says that an attribute is data."""

Static: TypeAlias = Annotated[T, Kind.STATIC]
"""As an annotation in a class body, says that an attribute is static."""

KIND: Final = "kind"
"""The key of a dataclass field's metadata under which its kind stands."""


def _specifier(kind: Kind) -> str:
    """Return the name of the function that marks values with a kind."""
    return "state_value" if kind is Kind.STATE else kind.value


class Marked(Record):
    """A value on its way to an attribute, together with the kind that it gets.

    Attributes:
        kind: The kind.
        value: The value.
    """

    __slots__ = __match_args__ = ("kind", "value")

    kind: Kind
    value: Any

    def __repr__(self) -> str:
        return f"{_specifier(self.kind)}({shown(self.value)})"


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
    known = dict(metadata or {})
    said = {kind, kind_in(known)}
    if pytree_node is not None:
        said.add(Kind.DATA if pytree_node else Kind.STATIC)
    told = f"pytree_node={pytree_node}, kind={kind}, metadata={clip(known)}"
    found = _agreed(said, f"a field has declarations that disagree: {told}")
    if found is not None:  # in the words of flax and optree, of jax and equinox
        known["pytree_node"] = found.is_data
        known.setdefault("static", not found.is_data)
        if found not in (Kind.DATA, Kind.STATIC):
            known[KIND] = found
    import dataclasses  # and with it inspect

    return dataclasses.field(metadata=known, **options)


def kind_in(metadata: Mapping[Any, Any]) -> Kind | None:
    """Return the kind that the metadata of a field declares, None if it declares none.

    Raises:
        ValueError: Two declarations disagree, or what is there is no kind.
    """
    said = {metadata.get(KIND)}
    if not isinstance(metadata.get(KIND), Kind | None):
        wanted = f"metadata {KIND!r} is the kind of the field, a Kind"
        raise ValueError(f"{wanted}, got {shown(metadata[KIND])}")
    for mark in ("pytree_node", "static"):
        if mark in metadata:
            is_data = bool(metadata[mark]) is (mark == "pytree_node")
            said.add(Kind.DATA if is_data else Kind.STATIC)
    return _agreed(said, f"metadata that disagrees: {clip(dict(metadata))}")


def _agreed(said: set[Kind | None], text: str) -> Kind | None:
    """Return the kind that was said, the finer one of two that are data."""
    finer = {kind for kind in said if kind not in (None, Kind.DATA)}
    if len(finer) > 1 or (Kind.DATA in said and Kind.STATIC in said):
        raise ValueError(text)
    return finer.pop() if finer else Kind.DATA if Kind.DATA in said else None


def _specify(kind: Kind, values: tuple[T, ...], options: dict[str, Any]) -> T:
    """Mark a value, or declare a field."""
    if len(values) > 1 or (values and options):
        raise TypeError(
            f"{_specifier(kind)} takes either a single positional argument, the value "
            "that is assigned, or keyword arguments, those of dataclasses.field"
        )
    made: Any = Marked(kind, *values) if values else field(kind=kind, **options)
    return made  # type: ignore[no-any-return]  # of the type of what it stands for


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
    return _specify(Kind.DATA, value, options)


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
    return _specify(Kind.STATIC, value, options)


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
    return _specify(Kind.PARAMETER, value, options)


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
    return _specify(Kind.STATE, value, options)

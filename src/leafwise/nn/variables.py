"""Variables: mutable boxes around values, distinguished by their types.

A variable is a node with the one child `value`; its metadata are part of the
structure. Operators work on the value and give bare values. The types that everybody
knows stand at the end.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Mapping
from types import EllipsisType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Generic,
    NoReturn,
    Self,
    TypeAlias,
    TypeVar,
    overload,
)

from .._hooks import hooks
from .._records import MISSING
from .._text import escape_controls
from ..core.keys import GetAttrKey
from ..core.registry import install
from ..equality.arrays import size_of
from ..fields import Kind
from ..show.doc import Child, Sketch
from ..show.pretty import pformat
from ..show.text import bytes_text
from .checks import DataNode, check_level
from .filters import FROZEN
from .instance import Kinds, ObjectRule, Statics, fields_of, statics_for


__all__ = [
    "BatchStat",
    "Cache",
    "Intermediate",
    "Param",
    "Perturbation",
    "Variable",
    "register_variable_name",
    "variable_type",
]

if TYPE_CHECKING:
    import typing_extensions

    T = typing_extensions.TypeVar("T", default=Any)
else:
    T = TypeVar("T")
V = TypeVar("V", bound="Variable[Any]")

_put: Final = object.__setattr__
_KEY: Final = GetAttrKey("value")


def _bare(value: Any) -> Any:
    return value.get_value() if isinstance(value, Variable) else value


Unary: TypeAlias = Callable[..., Any]
Binary: TypeAlias = Callable[[Any, Any], Any]
InPlace: TypeAlias = Callable[[Any, Any], NoReturn]


def _unary(function: Unary) -> Unary:
    return lambda self, *args: function(self.get_value(), *args)


def _binary(function: Binary) -> Binary:
    return lambda self, other: function(self.get_value(), _bare(other))


def _reflected(function: Binary) -> Binary:
    return lambda self, other: function(_bare(other), self.get_value())


def _in_place(symbol: str) -> InPlace:
    """Return an operator that refuses: it could mean two things."""

    def refuse(_self: Any, _other: Any) -> NoReturn:
        raise NotImplementedError(
            f"`variable {symbol}= x` could change the value or replace the variable; "
            f"write `variable[...] {symbol}= x` for the first"
        )

    return refuse


_FLAX_HOOKS: Final = frozenset({"on_create_value", "on_get_value", "on_set_value"})
"""Metadata that Flax calls; as plain metadata it would silently have no effect."""


class Variable(DataNode, Generic[T]):
    """A mutable box for one value, with metadata; `Variable[T]` holds a `T`.

    Objects that hold the same variable see each other's changes. Operators, indexing
    and calls use the value, and `==` compares values. Unknown attributes are looked up
    in the metadata, then in the value.

    `v[...] = x` and `v[i] = x` change the value in place; an array keeps its shape and
    dtype. `v += x` raises an error because it is ambiguous: it could change the value,
    or replace the variable with a bare value.

    Args:
        value: The value. If you pass a variable, its value is used.
        **metadata: Metadata entries of any kind, which are part of the structure. With
            `frozen=True` the variable counts as state, see :func:`~leafwise.nn.freeze`.

    Attributes:
        value: The value.
        tag: A name for filters: the registered name of the class, or None.

    Raises:
        AttributeError: The assigned attribute is not a metadata entry.
        TypeError: A metadata entry has the name of a hook of Flax, such as
            `on_get_value`, which would never be called: override `get_value` or
            `set_value` in a subclass instead.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> scale = nn.Param(2.0, unit="m")
        >>> scale * 3, scale.unit, lw.tree_leaves(scale)
        (6.0, 'm', [2.0])
        >>> scale.value = 5.0
        >>> scale
        Param(value=5.0, unit='m')

    Modelled on `flax.nnx.Variable`.
    """

    __slots__ = (
        "__weakref__",
        "_leafwise_metadata",
        "_leafwise_stamp",
        "_leafwise_value",
    )

    _leafwise_bare: ClassVar[Statics]
    _leafwise_known: ClassVar[dict[Any, Any]]
    _leafwise_has_items: ClassVar[bool] = False
    _leafwise_counts: ClassVar[bool] = True
    _leafwise_is_narrow: ClassVar[bool] = False
    _leafwise_kind: ClassVar[Kind] = Kind.DATA
    tag: ClassVar[str | None] = None

    _leafwise_metadata: dict[str, Any]
    _leafwise_value: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._leafwise_is_narrow = True
        _adopt(cls)
        hooks.announce(cls)

    def __init__(self, value: T | Variable[T] = None, **metadata: Any) -> None:  # type: ignore[assignment]  # a box may be empty
        if isinstance(value, Variable):
            metadata = {**value._leafwise_metadata, **metadata}
            value = value._leafwise_value
        if metadata and not _FLAX_HOOKS.isdisjoint(metadata):
            hooks = ", ".join(sorted(_FLAX_HOOKS.intersection(metadata)))
            raise TypeError(
                f"{type(self).__name__} does not call hooks ({hooks}); override "
                "get_value "
                "or set_value in a subclass"
            )
        _put(self, "_leafwise_metadata", metadata)
        _put(self, "_leafwise_value", value)
        _stamp(self)

    @property
    def _leafwise_is_frozen(self) -> bool:
        return self._leafwise_metadata.get(FROZEN) is True

    # ------------------------------------------------------------------ the value

    @property
    def value(self) -> T:
        """The value, as returned by `get_value`."""
        return self.get_value()

    @value.setter
    def value(self, value: T | Variable[T]) -> None:
        self.set_value(value)

    def get_value(self) -> T:
        """Return the value; subclasses may override this method."""
        return self._leafwise_value  # type: ignore[no-any-return]  # a T

    def set_value(self, value: T | Variable[T]) -> None:
        """Set the value; subclasses may override this method."""
        check_level(self, ".value")
        if isinstance(value, Variable):
            value = value.get_value()
        _put(self, "_leafwise_value", value)

    def get_raw_value(self) -> T:
        """Return the stored value, also where a subclass overrides `get_value`."""
        return self._leafwise_value  # type: ignore[no-any-return]  # a T

    # ------------------------------------------------------------------- metadata

    def get_metadata(self, name: str | None = None, default: Any = MISSING) -> Any:
        """Return all metadata as a new dict, or the value of one entry.

        Raises:
            KeyError: There is no such entry, and no default is given.
        """
        if name is None:
            return dict(self._leafwise_metadata)
        if default is MISSING:
            return self._leafwise_metadata[name]
        return self._leafwise_metadata.get(name, default)

    def set_metadata(self, *args: Any, **metadata: Any) -> None:
        """Set metadata entries from a name and a value, keywords, or a dict of all.

        Raises:
            TypeError: The arguments have none of these forms.
        """
        check_level(self, ".set_metadata")
        if len(args) == 1:
            _put(self, "_leafwise_metadata", {**args[0], **metadata})
        else:
            given = {**dict([args] if args else ()), **metadata}
            _put(self, "_leafwise_metadata", {**self._leafwise_metadata, **given})

    def has_metadata(self, name: str) -> bool:
        """Return whether there is a metadata entry with this name."""
        return name in self._leafwise_metadata

    def del_metadata(self, name: str) -> None:
        """Delete a metadata entry.

        Raises:
            KeyError: There is no metadata entry with this name.
        """
        check_level(self, f".{name}")
        rest = dict(self._leafwise_metadata)
        del rest[name]
        _put(self, "_leafwise_metadata", rest)

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_leafwise", "__")):
            raise AttributeError(name)
        metadata = self._leafwise_metadata
        return metadata[name] if name in metadata else getattr(self.get_value(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "value" or hasattr(type(self), name):
            _put(self, name, value)
        elif name in self._leafwise_metadata:
            self.set_metadata(name, value)
        else:
            raise AttributeError(
                f"{type(self).__name__} has no metadata {name!r}; write "
                f"variable.set_metadata({name}=...) to add some"
            )

    def __delattr__(self, name: str) -> None:
        if name not in self._leafwise_metadata:
            raise AttributeError(f"{type(self).__name__} has no metadata {name!r}")
        self.del_metadata(name)

    # -------------------------------------------------------------------- copying

    def copy(self) -> Self:
        """Return a new variable with the same type, value and metadata."""
        return self.replace()

    def replace(self, value: Any = MISSING, **metadata: Any) -> Self:
        """Return a new variable with another value or additional metadata."""
        if isinstance(value, Variable):
            value = value._leafwise_value
        kept = self._leafwise_value if value is MISSING else value
        return make_variable(type(self), kept, {**self._leafwise_metadata, **metadata})

    def update_from_state(self, other: Variable) -> None:
        """Copy the value and metadata from a variable of any type."""
        check_level(self, ".value")
        _put(self, "_leafwise_value", other._leafwise_value)
        _put(self, "_leafwise_metadata", dict(other._leafwise_metadata))

    @classmethod
    def _leafwise_kinds(cls, aux: Statics, around: Kind) -> list[Kind]:
        """Return the kind of the value, in an attribute of some kind."""
        return [kind_in(around, cls, dict(aux))]

    def __copy__(self) -> Self:
        return self.copy()

    def __reduce__(self) -> Any:
        args = (type(self), None, dict(self._leafwise_metadata))
        return make_variable, args, (self._leafwise_value,)

    def __setstate__(self, state: Any) -> None:
        _put(self, "_leafwise_value", state[0])

    # ------------------------------------------------------------------ the content

    @overload
    def __getitem__(self, key: EllipsisType) -> T: ...

    @overload
    def __getitem__(self, key: Any) -> Any: ...

    def __getitem__(self, key: Any) -> Any:
        value: Any = self.get_value()
        return value if key is ... else value[key]

    def __setitem__(self, key: Any, item: Any) -> None:
        if isinstance(item, Variable):
            item = item.get_value()
        if key is ...:
            self.set_value(_filled(self.get_raw_value(), item))
            return
        value: Any = self.get_value()
        if hasattr(type(value), "__setitem__") and not hasattr(value, "at"):
            value[key] = item
            self.set_value(value)
        else:
            self.set_value(value.at[key].set(item))

    def __delitem__(self, key: Any) -> None:
        value: Any = self.get_value()
        del value[key]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the value."""
        function: Any = self.get_value()
        return function(*args, **kwargs)

    def __bool__(self) -> bool:
        """Return True, as for other objects: the value is not asked."""
        return True

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the value as a NumPy array."""
        array: Any = sys.modules["numpy"].asarray(self.get_value())
        return array.__array__(*args, **kwargs)

    def __jax_array__(self) -> Any:
        """Return the value, for functions of jax."""
        return self.get_value()

    def __format__(self, spec: str) -> str:
        return format(self.get_value(), spec) if spec else str(self)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # equality is of values

    # ---------------------------------------------------------------- operators

    __add__: ClassVar[Binary] = _binary(operator.add)
    __radd__: ClassVar[Binary] = _reflected(operator.add)
    __iadd__: ClassVar[InPlace] = _in_place("+")
    __sub__: ClassVar[Binary] = _binary(operator.sub)
    __rsub__: ClassVar[Binary] = _reflected(operator.sub)
    __isub__: ClassVar[InPlace] = _in_place("-")
    __mul__: ClassVar[Binary] = _binary(operator.mul)
    __rmul__: ClassVar[Binary] = _reflected(operator.mul)
    __imul__: ClassVar[InPlace] = _in_place("*")
    __matmul__: ClassVar[Binary] = _binary(operator.matmul)
    __rmatmul__: ClassVar[Binary] = _reflected(operator.matmul)
    __imatmul__: ClassVar[InPlace] = _in_place("@")
    __truediv__: ClassVar[Binary] = _binary(operator.truediv)
    __rtruediv__: ClassVar[Binary] = _reflected(operator.truediv)
    __itruediv__: ClassVar[InPlace] = _in_place("/")
    __floordiv__: ClassVar[Binary] = _binary(operator.floordiv)
    __rfloordiv__: ClassVar[Binary] = _reflected(operator.floordiv)
    __ifloordiv__: ClassVar[InPlace] = _in_place("//")
    __mod__: ClassVar[Binary] = _binary(operator.mod)
    __rmod__: ClassVar[Binary] = _reflected(operator.mod)
    __imod__: ClassVar[InPlace] = _in_place("%")
    __pow__: ClassVar[Binary] = _binary(operator.pow)
    __rpow__: ClassVar[Binary] = _reflected(operator.pow)
    __ipow__: ClassVar[InPlace] = _in_place("**")
    __lshift__: ClassVar[Binary] = _binary(operator.lshift)
    __rlshift__: ClassVar[Binary] = _reflected(operator.lshift)
    __ilshift__: ClassVar[InPlace] = _in_place("<<")
    __rshift__: ClassVar[Binary] = _binary(operator.rshift)
    __rrshift__: ClassVar[Binary] = _reflected(operator.rshift)
    __irshift__: ClassVar[InPlace] = _in_place(">>")
    __and__: ClassVar[Binary] = _binary(operator.and_)
    __rand__: ClassVar[Binary] = _reflected(operator.and_)
    __iand__: ClassVar[InPlace] = _in_place("&")
    __xor__: ClassVar[Binary] = _binary(operator.xor)
    __rxor__: ClassVar[Binary] = _reflected(operator.xor)
    __ixor__: ClassVar[InPlace] = _in_place("^")
    __or__: ClassVar[Binary] = _binary(operator.or_)
    __ror__: ClassVar[Binary] = _reflected(operator.or_)
    __ior__: ClassVar[InPlace] = _in_place("|")
    __divmod__: ClassVar[Binary] = _binary(divmod)
    __rdivmod__: ClassVar[Binary] = _reflected(divmod)
    __eq__: ClassVar[Binary] = _binary(operator.eq)
    __ne__: ClassVar[Binary] = _binary(operator.ne)
    __lt__: ClassVar[Binary] = _binary(operator.lt)
    __le__: ClassVar[Binary] = _binary(operator.le)
    __gt__: ClassVar[Binary] = _binary(operator.gt)
    __ge__: ClassVar[Binary] = _binary(operator.ge)
    __contains__: ClassVar[Binary] = _binary(operator.contains)
    __neg__: ClassVar[Unary] = _unary(operator.neg)
    __pos__: ClassVar[Unary] = _unary(operator.pos)
    __abs__: ClassVar[Unary] = _unary(abs)
    __invert__: ClassVar[Unary] = _unary(operator.invert)
    __int__: ClassVar[Unary] = _unary(int)
    __float__: ClassVar[Unary] = _unary(float)
    __complex__: ClassVar[Unary] = _unary(complex)
    __index__: ClassVar[Unary] = _unary(operator.index)
    __len__: ClassVar[Unary] = _unary(len)
    __round__: ClassVar[Unary] = _unary(round)
    __iter__: ClassVar[Unary] = _unary(iter)

    def _leafwise_sketch(self) -> Sketch:
        metadata = self._leafwise_metadata
        children = [
            Child("", _KEY, self._leafwise_value, self._leafwise_kind_at),
            *[
                Child(f"{escape_controls(name)}=", None, value, Kind.STATIC.value)
                for name, value in metadata.items()
            ],
        ]
        return Sketch(children, f"{type(self).__name__}(", ")", self._leafwise_size())

    def _leafwise_size(self) -> str:
        """Return how many numbers there are, with the bytes; nothing for one."""
        value = self._leafwise_value
        held = value if type(value) in (list, tuple) else (value,)
        sizes = [size_of(item) for item in held]
        count, size = (sum(part) for part in zip((0, 0), *sizes, strict=True))
        text = f"{count:,} ({bytes_text(size)})" if size else f"{count:,}"
        return "" if held is not value and count == 1 else text

    def _leafwise_kind_at(self, around: str) -> str:
        """Return the kind of the value where the place of the variable has one."""
        kind = Kind(around) if around else Kind.DATA
        return kind_in(kind, type(self), self._leafwise_metadata).value

    def __repr__(self) -> str:
        return pformat(self)


def _filled(value: Any, item: Any) -> Any:
    """Return what `variable[...] = item` makes of a value; an array keeps its form."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and type(value) is numpy.ndarray:
        if not hasattr(item, "at"):
            value[...] = item
            return value
        value = sys.modules["jax"].numpy.asarray(value)  # it can hold what is traced
    elif not hasattr(value, "at") or _form(value) == _form(item):
        return item
    if hasattr(item, "astype") and value.dtype.kind not in "iub":
        item = item.astype(value.dtype)  # floats of one precision become another
    return value.at[...].set(item)


def _form(value: Any) -> Any:
    return getattr(value, "shape", None), getattr(value, "dtype", None)


def _adopt(cls: Any) -> None:
    """Give a type of variables its fields, and the aux data without metadata."""
    cls._leafwise_known = {}
    cls._leafwise_bare = Statics(fields_of(cls, {"value": Kind.DATA}), ())


_adopt(Variable)


def make_variable(cls: type[V], value: Any, metadata: dict[str, Any]) -> V:
    """Return a variable of a type, without running its `__init__`."""
    made = object.__new__(cls)
    _put(made, "_leafwise_metadata", metadata)
    _put(made, "_leafwise_value", value)
    _stamp(made)
    return made


def bare(value: Any) -> Any:
    """Return a value, without the variable around it; no `get_value` is called."""
    return value._leafwise_value if isinstance(value, Variable) else value


def kind_in(attribute: Kind, cls: type[Variable], metadata: Mapping[str, Any]) -> Kind:
    """Return the kind of a variable that an attribute of some kind holds.

    Args:
        attribute: The kind of the attribute; `DATA` without one. That it was
            frozen once does not freeze a variable that is assigned to it.
        cls: The type of the variable.
        metadata: Its metadata.
    """
    if metadata.get(FROZEN) is True:
        return Kind.FROZEN
    if attribute in (Kind.DATA, Kind.MODULE):
        return cls._leafwise_kind
    return Kind.PARAMETER if attribute is Kind.FROZEN else attribute


def _stamp(variable: Variable) -> None:
    if hooks.trace_level is not None:
        _put(variable, "_leafwise_stamp", hooks.trace_level())


# ------------------------------------------------------------------------- node


def metadata_of(variable: Variable) -> Statics:
    """Return the metadata of a variable as aux data."""
    metadata = variable._leafwise_metadata
    if not metadata:
        return type(variable)._leafwise_bare
    kinds: Kinds = {"value": Kind.DATA, **dict.fromkeys(metadata)}
    fields = fields_of(type(variable), kinds)
    return statics_for(fields, fields.statics(metadata))


def metadata_in(aux: Statics) -> dict[str, Any]:
    """Return the metadata in aux data."""
    if not aux.values:
        return {}
    values = dict(zip(aux.fields.static, aux.values, strict=True))
    return {name: values[name] for name in aux.fields.names if name in values}


def _fill(node: Any, aux: Statics, children: Any) -> Any:
    _put(node, "_leafwise_metadata", metadata_in(aux))
    _put(node, "_leafwise_value", children[0])
    _stamp(node)
    return node


def _flatten(node: Any) -> tuple[tuple[Any], Statics]:
    return (node._leafwise_value,), metadata_of(node)


class _VariableRule(ObjectRule):
    def compared_aux(self, aux: Statics) -> Any:
        return aux.fields.static, aux.seen  # as fingerprints always had it


def _rule(cls: type, **given: Any) -> ObjectRule:
    return _VariableRule(cls, _flatten, _fill, **given)


_PACKAGE: Final = __name__.partition(".")[0]
install(Variable, _rule, inherit=True, bridge=True, where=_PACKAGE)


class Param(Variable[T]):
    """A variable for a trained parameter.

    Example:
        >>> from leafwise import nn
        >>> class Layer(nn.Module):
        ...     def __init__(self):
        ...         self.weight = nn.Param(0.5)
        >>> Layer().name_to_kind["weight"].name
        'PARAMETER'
    """

    __slots__ = ()
    _leafwise_kind = Kind.PARAMETER


class BatchStat(Variable[T]):
    """A variable for a running statistic.

    Example:
        >>> from leafwise import nn
        >>> nn.BatchStat(0.0).tag
        'batch_stats'
    """

    __slots__ = ()
    _leafwise_kind = Kind.STATE


class Cache(Variable[T]):
    """A variable for values that were computed earlier.

    Example:
        >>> from leafwise import nn
        >>> nn.Cache([1]).tag
        'cache'
    """

    __slots__ = ()
    _leafwise_kind = Kind.STATE


class Intermediate(Variable[T]):
    """A variable for intermediate values, as `Module.sow` stores them.

    Example:
        >>> from leafwise import nn
        >>> nn.Intermediate((1.0,)).tag
        'intermediates'
    """

    __slots__ = ()


class Perturbation(Intermediate[T]):
    """A variable that is added to a value, to compute the gradient at that value.

    Example:
        >>> from leafwise import nn
        >>> isinstance(nn.Perturbation(0.0), nn.Intermediate)
        True
    """

    __slots__ = ()


_types: Final[dict[str, type[Variable]]] = {}


def register_variable_name(
    name: str, cls: type[V], *, exist_ok: bool = False
) -> type[V]:
    """Register a name for a type of variables; the name becomes its `tag`.

    Args:
        name: The name.
        cls: The type.
        exist_ok: Whether to reassign a name that belongs to another type.

    Returns:
        The type.

    Raises:
        ValueError: The name belongs to another type.

    Example:
        >>> from leafwise import nn
        >>> class Mask(nn.Variable): ...
        >>> _ = nn.register_variable_name("masks", Mask)
        >>> nn.variable_type("masks").__name__, Mask(1).tag
        ('Mask', 'masks')
    """
    known = _types.setdefault(name, cls)  # in one step: another thread may ask, too
    if known is not cls:
        if not exist_ok:
            raise ValueError(f"the name {name!r} is already registered for {known!r}")
        _types[name] = cls
    cls.tag = name
    return cls


def variable_type(name: str, *, allow_register: bool = False) -> type[Variable]:
    """Return the type of variables with a registered name.

    Args:
        name: The name.
        allow_register: Whether to create a type for an unknown name.

    Raises:
        ValueError: No type has this name.

    Example:
        >>> from leafwise import nn
        >>> nn.variable_type("params").__name__
        'Param'
    """
    if name not in _types:
        if not allow_register:
            known = ", ".join(map(repr, _types))
            raise ValueError(f"no type of variables is named {name!r}; known: {known}")
        body = {"__slots__": (), "tag": name}
        made = type(name.title().replace("_", ""), (Variable,), body)
        return _types.setdefault(name, made)
    return _types[name]


for _name, _cls in (
    ("params", Param),
    ("batch_stats", BatchStat),
    ("cache", Cache),
    ("intermediates", Intermediate),
    ("perturbations", Perturbation),
):
    register_variable_name(_name, _cls)

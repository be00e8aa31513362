"""Variables: mutable boxes around values, distinguished by their types.

A variable is a node with the one child `value`; its metadata are part of the
structure. Operators work on the value and give bare values. The types of Flax come
last.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Mapping, Sequence
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
from ..show.pretty import pformat
from ..show.sketch import Child, Contents, Sketch
from ..show.text import bytes_text
from .checks import DataNode, check_level, new_stamp
from .instance import ObjectNodeType
from .spec import NodeSpec
from .statics import Kinds, Statics, fields_of, statics_for


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

_KEY: Final = GetAttrKey("value")

FROZEN: Final = "frozen"
"""The metadata of a variable that is frozen."""


class VariableSpec(NodeSpec):
    """The description of a type of variables.

    Attributes:
        plain_aux: The aux data of variables without metadata.
    """

    plain_aux: Statics

    def outline(self, obj: Any) -> Sketch:
        """Return the sketch of a variable: its value and metadata."""

        def kind_of_value(kind: Kind | None) -> Kind:
            return kind_of_variable(kind or Kind.DATA, obj)

        record: VariableRecord = obj._leafwise
        children = [Child(_KEY, record.value, kind=kind_of_value)]
        for name, value in record.metadata.items():
            label = f"{escape_controls(name)}="
            children.append(Child(None, value, label, Kind.STATIC))
        return Sketch(children, f"{type(obj).__name__}(", ")", _size_text(record.value))

    def contents(self, obj: Any, kind: Kind) -> Contents:
        """Return the value of a variable with its kind."""
        kinds = (kind_of_variable(kind, obj),)
        return Contents((bare(obj),), _keys, None, kinds, "value")

    def child_kinds(self, aux: Statics, kind: Kind) -> Sequence[Kind]:
        """Return the kind of the value, in an attribute of some kind."""
        return (_kind_of_value(kind, self.kind, metadata_in(aux)),)


class VariableRecord:
    """What a variable keeps.

    Attributes:
        value: Its value.
        metadata: Its metadata; replaced as a whole, never changed.
        stamp: The trace level at which it was made; None for the level outside of all
            transforms.
    """

    __slots__ = ("metadata", "stamp", "value")

    def __init__(
        self,
        value: Any,
        metadata: dict[str, Any],
        stamp: Any,
    ) -> None:
        self.value = value
        self.metadata = metadata
        self.stamp = stamp


def _operand(value: Any) -> Any:
    """Return what an operator works on: a value, or that of a variable."""
    return value.get_value() if isinstance(value, Variable) else value


Unary: TypeAlias = Callable[..., Any]
Binary: TypeAlias = Callable[[Any, Any], Any]
InPlace: TypeAlias = Callable[[Any, Any], NoReturn]


def _unary(function: Unary) -> Unary:
    return lambda self, *args: function(self.get_value(), *args)


def _binary(function: Binary) -> Binary:
    return lambda self, other: function(self.get_value(), _operand(other))


def _reflected(function: Binary) -> Binary:
    return lambda self, other: function(_operand(other), self.get_value())


def _in_place(symbol: str) -> InPlace:
    """Return an operator that refuses: it could mean two things."""

    def refuse(_self: Any, _other: Any) -> NoReturn:
        raise NotImplementedError(
            f"`variable {symbol}= x` could change the value or replace the variable; "
            f"write `variable[...] {symbol}= x` for the first"
        )

    return refuse


_FLAX_HOOKS: Final = frozenset(
    {
        "on_create_value",
        "on_get_value",
        "on_set_value",
    }
)
"""Metadata that Flax calls; as plain metadata it would silently have no effect."""


def _refuse_hooks(cls: type, metadata: Mapping[str, Any]) -> None:
    """Raise an error for hooks of Flax among metadata.

    Raises:
        TypeError: There are some.
    """
    names = sorted(_FLAX_HOOKS.intersection(metadata))
    if names:
        raise TypeError(
            f"{cls.__name__} does not call hooks ({', '.join(names)}); override "
            "get_value or set_value in a subclass"
        )


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

    A subclass passes its `Kind` in the class statement, such as `kind=nn.Kind.STATE`;
    by default it is that of its base, and `Kind.DATA` for `Variable` itself.

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

    __slots__ = ("__weakref__", "_leafwise")

    tag: ClassVar[str | None] = None

    _leafwise: VariableRecord

    def __init_subclass__(cls, *, kind: Kind | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if kind is None:
            base_spec: NodeSpec = cls.__leafwise__  # it has none of its own yet
            kind = base_spec.kind
        _describe(cls, kind)
        hooks.announce(cls)

    def __init__(self, value: T | Variable[T] = None, **metadata: Any) -> None:  # type: ignore[assignment]  # a box may be empty
        if isinstance(value, Variable):
            metadata = {**raw_metadata(value), **metadata}
            value = value.get_raw_value()
        if metadata:
            _refuse_hooks(type(self), metadata)
        _set_record(self, VariableRecord(value, metadata, new_stamp()))

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
        return self._leafwise.value  # type: ignore[no-any-return]  # a T

    def set_value(self, value: T | Variable[T]) -> None:
        """Set the value; subclasses may override this method."""
        check_level(self, ".value")
        if isinstance(value, Variable):
            value = value.get_value()
        self._leafwise.value = value

    def get_raw_value(self) -> T:
        """Return the stored value, also where a subclass overrides `get_value`."""
        return self._leafwise.value  # type: ignore[no-any-return]  # a T

    # ------------------------------------------------------------------- metadata

    def get_metadata(self, name: str | None = None, default: Any = MISSING) -> Any:
        """Return all metadata as a new dict, or the value of one entry.

        Raises:
            KeyError: There is no such entry, and no default is given.
        """
        metadata = self._leafwise.metadata
        if name is None:
            return dict(metadata)
        if default is MISSING:
            return metadata[name]
        return metadata.get(name, default)

    def set_metadata(self, *args: Any, **metadata: Any) -> None:
        """Set metadata entries from a name and a value, keywords, or a dict of all.

        Raises:
            TypeError: The arguments have none of these forms.
        """
        check_level(self, ".set_metadata")
        record = self._leafwise
        if len(args) == 1:
            record.metadata = {**args[0], **metadata}
            return
        entries = dict([args]) if args else {}
        record.metadata = {**record.metadata, **entries, **metadata}

    def has_metadata(self, name: str) -> bool:
        """Return whether there is a metadata entry with this name."""
        return name in self._leafwise.metadata

    def del_metadata(self, name: str) -> None:
        """Delete a metadata entry.

        Raises:
            KeyError: There is no metadata entry with this name.
        """
        check_level(self, f".{name}")
        metadata = dict(self._leafwise.metadata)
        del metadata[name]
        self._leafwise.metadata = metadata

    def __getattr__(self, name: str) -> Any:
        # The record is missing while `copy` and `pickle` make a variable. Methods with
        # underscores are protocols, which the value has, but not the variable.
        if name.startswith(("_leafwise", "__")):
            raise AttributeError(name)
        metadata = self._leafwise.metadata
        if name in metadata:
            return metadata[name]
        return getattr(self.get_value(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "value" or hasattr(type(self), name):
            object.__setattr__(self, name, value)
        elif name in self._leafwise.metadata:
            self.set_metadata(name, value)
        else:
            raise AttributeError(
                f"{type(self).__name__} has no metadata {name!r}; write "
                f"variable.set_metadata({name}=...) to add some"
            )

    def __delattr__(self, name: str) -> None:
        if name not in self._leafwise.metadata:
            raise AttributeError(f"{type(self).__name__} has no metadata {name!r}")
        self.del_metadata(name)

    # -------------------------------------------------------------------- copying

    def copy(self) -> Self:
        """Return a new variable with the same type, value and metadata."""
        return self.replace()

    def replace(self, value: Any = MISSING, **metadata: Any) -> Self:
        """Return a new variable with another value or additional metadata."""
        if isinstance(value, Variable):
            value = value.get_raw_value()
        if value is MISSING:
            value = self.get_raw_value()
        return make_variable(type(self), value, {**raw_metadata(self), **metadata})

    def update_from_state(self, other: Variable) -> None:
        """Copy the value and metadata from a variable of any type."""
        check_level(self, ".value")
        record = other._leafwise
        self._leafwise.value = record.value
        self._leafwise.metadata = dict(record.metadata)

    def __copy__(self) -> Self:
        return self.copy()

    def __reduce__(self) -> Any:
        # The value comes as state, after the variable: it may refer to the variable.
        args = (type(self), None, self.get_metadata())
        return make_variable, args, (self._leafwise.value,)

    def __setstate__(self, state: Any) -> None:
        (self._leafwise.value,) = state

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
        # An array of jax has `__setitem__`, too, to say that one has to use `at`.
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

    def __repr__(self) -> str:
        return pformat(self)


def _size_text(value: Any) -> str:
    """Return how many numbers there are, with the bytes; nothing for one."""
    is_container = type(value) in (list, tuple)
    items = value if is_container else (value,)
    count = 0
    size = 0
    for item in items:
        item_count, item_size = size_of(item)
        count += item_count
        size += item_size
    if count == 1 and not is_container:
        return ""
    return f"{count:,} ({bytes_text(size)})" if size else f"{count:,}"


def _keys(_aux: object, _count: int) -> tuple[GetAttrKey]:
    return (_KEY,)


def _filled(value: Any, item: Any) -> Any:
    """Return what `variable[...] = item` makes of a value; an array keeps its form."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and type(value) is numpy.ndarray:
        if not hasattr(item, "at"):
            value[...] = item
            return value
        # The item is an array of jax and may be a tracer, which numpy cannot hold.
        value = sys.modules["jax"].numpy.asarray(value)
    elif not hasattr(value, "at"):
        return item  # a number, or an array of a library without `at`
    elif _form(value) == _form(item):
        return item  # the usual step of training, at no cost
    is_inexact = value.dtype.kind not in "iub"
    if is_inexact and hasattr(item, "astype"):
        # Floats of one precision become another. Floats for integers are left to jax,
        # which warns of them.
        item = item.astype(value.dtype)
    return value.at[...].set(item)


def _form(value: Any) -> Any:
    return getattr(value, "shape", None), getattr(value, "dtype", None)


_new: Final = object.__new__
_set_record: Final = vars(Variable)["_leafwise"].__set__


def _describe(cls: Any, kind: Kind) -> None:
    """Give a type of variables its description."""
    spec = VariableSpec(cls, kind)
    cls.__leafwise__ = spec
    spec.plain_aux = Statics(fields_of(cls, {"value": Kind.DATA}), ())


_describe(Variable, Kind.DATA)


def make_variable(cls: type[V], value: Any, metadata: dict[str, Any]) -> V:
    """Return a variable of a type, without running its `__init__`."""
    variable = _new(cls)
    _set_record(variable, VariableRecord(value, metadata, new_stamp()))
    return variable


def bare(value: Any) -> Any:
    """Return a value, without the variable around it; no `get_value` is called."""
    return value._leafwise.value if isinstance(value, Variable) else value


def set_raw_value(variable: Variable, value: Any) -> None:
    """Set the stored value; no `set_value` is called and no trace level is checked."""
    variable._leafwise.value = value


def raw_metadata(variable: Variable) -> dict[str, Any]:
    """Return the metadata of a variable, not to be changed."""
    return variable._leafwise.metadata


def is_frozen(value: Any) -> bool:
    """Return whether a value is a frozen variable."""
    return isinstance(value, Variable) and raw_metadata(value).get(FROZEN) is True


def kind_of_variable(attribute: Kind, variable: Variable) -> Kind:
    """Return the kind of a variable in an attribute of some kind; `DATA` without one.

    That an attribute was frozen once does not freeze a variable that is assigned to it.
    """
    spec: NodeSpec = type(variable).__leafwise__
    return _kind_of_value(attribute, spec.kind, raw_metadata(variable))


def _kind_of_value(attribute: Kind, own: Kind, metadata: Mapping[str, Any]) -> Kind:
    """Return the kind of a variable's value.

    Args:
        attribute: The kind of the attribute that holds the variable.
        own: The kind of the type of variables.
        metadata: The metadata of the variable.
    """
    if metadata.get(FROZEN) is True:
        return Kind.FROZEN
    if attribute in (Kind.DATA, Kind.MODULE):
        return own
    if attribute is Kind.FROZEN:
        return Kind.PARAMETER  # the variable says itself whether it is frozen
    return attribute


# ------------------------------------------------------------------------- node


def aux_of(variable: Variable) -> Statics:
    """Return the metadata of a variable as aux data."""
    metadata = raw_metadata(variable)
    if not metadata:
        spec: VariableSpec = type(variable).__leafwise__
        return spec.plain_aux
    kinds: Kinds = {"value": Kind.DATA, **dict.fromkeys(metadata)}
    fields = fields_of(type(variable), kinds)
    return statics_for(fields, fields.statics(metadata))


def metadata_in(aux: Statics) -> dict[str, Any]:
    """Return the metadata in aux data."""
    if not aux.values:
        return {}
    values = dict(zip(aux.fields.static, aux.values, strict=True))
    # The static names are sorted, metadata keep their order.
    return {name: values[name] for name in aux.fields.names if name in values}


def _fill(node: Any, aux: Statics, children: Any) -> Any:
    # Frameworks rebuild node by node, so each call of a function counts here.
    record = _new(VariableRecord)
    record.value = children[0]
    record.metadata = metadata_in(aux) if aux.values else {}
    trace_level = hooks.trace_level
    record.stamp = None if trace_level is None else trace_level()
    _set_record(node, record)
    return node


def _flatten(node: Any) -> tuple[tuple[Any], Statics]:
    record = node._leafwise
    if record.metadata:
        return (record.value,), aux_of(node)
    # As `aux_of` does, without a call: most variables have no metadata.
    return (record.value,), type(node).__leafwise__.plain_aux


class _VariableNodeType(ObjectNodeType):
    def compared_aux(self, aux: Statics) -> Any:
        return aux.fields.static, aux.seen  # as fingerprints always had it


def _node_type(cls: type, **options: Any) -> ObjectNodeType:
    return _VariableNodeType(cls, _flatten, _fill, **options)


_PACKAGE: Final = __name__.partition(".")[0]
install(Variable, _node_type, inherit=True, bridge=True, where=_PACKAGE)


class Param(Variable[T], kind=Kind.PARAMETER):
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


class BatchStat(Variable[T], kind=Kind.STATE):
    """A variable for a running statistic.

    Example:
        >>> from leafwise import nn
        >>> nn.BatchStat(0.0).tag
        'batch_stats'
    """

    __slots__ = ()


class Cache(Variable[T], kind=Kind.STATE):
    """A variable for values that were computed earlier.

    Example:
        >>> from leafwise import nn
        >>> nn.Cache([1]).tag
        'cache'
    """

    __slots__ = ()


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
    owner = _types.setdefault(name, cls)  # in one step: another thread may ask, too
    if owner is not cls:
        if not exist_ok:
            raise ValueError(f"the name {name!r} is already registered for {owner!r}")
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
            names = ", ".join([repr(name) for name in _types])
            raise ValueError(f"no type of variables is named {name!r}; known: {names}")
        class_name = name.title().replace("_", "")
        cls = type(class_name, (Variable,), {"__slots__": (), "tag": name})
        return _types.setdefault(name, cls)
    return _types[name]


register_variable_name("params", Param)
register_variable_name("batch_stats", BatchStat)
register_variable_name("cache", Cache)
register_variable_name("intermediates", Intermediate)
register_variable_name("perturbations", Perturbation)

"""`Pytree` and `Object`: the bases of classes whose instances are trees.

Owns the classes, what their subclasses may say, and how instances are made, copied,
pickled and printed. They add no names to objects. What is done to one
object, which kind an attribute gets and how objects are flattened is owned by
`instance`.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
from abc import ABCMeta
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self, TypeVar

from .._hooks import hooks
from .._text import add_note
from ..core.keypath import KeyPath
from ..core.node import Rule
from ..core.registry import install, remembering
from ..errors import KindError
from ..fields import Kind
from ..show.doc import Child, Sketch
from ..show.outline import label_of
from ..show.pretty import pformat
from .checks import check_level, items_in, learned, sort
from .instance import (
    OBJECTS,
    ClassSpec,
    Order,
    Shell,
    assign,
    blank,
    finish,
    key_of,
    kinds_in,
    look_through,
    object_rule,
    put,
    put_fields,
    set_building,
    set_fields,
    set_kind,
    settle,
)
from .variables import Variable, kind_in


__all__ = [
    "Object",
    "Pytree",
    "check_pytree",
    "name_to_kind",
    "replace",
]

MODE: Final = "is_training"
"""The attribute that a module has in the mode for evaluation."""

_STATIC: Final = Kind.STATIC
_NEW: Final = object()
_OWN_SLOTS: Final = "_leafwise_"


if TYPE_CHECKING:
    _MetaOfProtocols = ABCMeta
else:
    _MetaOfProtocols = type(Protocol)


class PytreeMeta(_MetaOfProtocols):
    """Metaclass that checks an object once its outermost `__init__` is done.

    It derives from the metaclass of protocols, so that a class may have one as a base,
    and behaves as `ABCMeta` itself does: a `Pytree` is never a protocol, and may well
    be generic.
    """

    if not TYPE_CHECKING:  # so that type checkers see the signature of `__init__`
        __new__ = ABCMeta.__new__
        __init__ = ABCMeta.__init__
        __instancecheck__ = ABCMeta.__instancecheck__
        __subclasscheck__ = ABCMeta.__subclasscheck__

        @property
        def __signature__(cls) -> inspect.Signature:
            """What `help` shows: the arguments of `__init__`, not those below."""
            made = inspect.signature(cls.__init__)
            return made.replace(parameters=[*made.parameters.values()][1:])

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            made = super().__call__(*args, **kwargs)
            if type(made) is cls:
                finish(made)
            return made


class Pytree(Shell, metaclass=PytreeMeta):
    """Base class of objects that are trees, with a kind for each attribute.

    Each attribute has a kind. Arrays, objects of leafwise (such as another `Pytree`)
    and instances of types registered with `register_data_type` become data when you
    assign them; data are children. All other values are static, which means part of the
    structure. The first assignment determines the kind. To choose it yourself, wrap the
    value in `data(...)` or `static(...)`, or use an annotation or a dataclass field. A
    container that holds data cannot be static: wrap it in `data(...)`, or use `List`
    and `Dict`.

    Flattening returns the data attributes in the order of their names. Unflattening
    does not call `__init__` and checks nothing, so leaves can be anything.

    Class options are passed in the class statement and inherited:

    Args:
        pytree: False makes instances leaves and disables all checks.
        order: `"name"` sorts children by name, `"insertion"` keeps the order of
            assignment.
        strict: False makes an attribute data when you assign a container that holds
            data. Otherwise this raises an error.
        kind: The kind of an attribute that holds an instance of the class; `Kind.DATA`
            by default.

    Raises:
        KindError: An attribute cannot hold a value; nothing is written.
        TypeError: The class has `__slots__`.

    Example:
        >>> import leafwise as lw
        >>> class Linear(lw.Pytree):
        ...     def __init__(self, size):
        ...         self.size = size
        ...         self.weight = lw.data([0.5] * size)
        >>> layer = Linear(2)
        >>> lw.tree_structure(layer)
        PyTreeDef(CustomNode(Linear[size=2], [weight=[*, *]]))
        >>> lw.tree_map(lambda x: x + 1, layer)
        Linear(size=2, weight=[1.5, 1.5])

    Modelled on `flax.nnx.Pytree`.
    """

    __slots__ = ()

    _leafwise_is_module: ClassVar[bool] = False
    _leafwise_has_items: ClassVar[bool] = False
    _leafwise_brackets: ClassVar[tuple[str, str]] = "(", ")"

    if TYPE_CHECKING:  # what `_adopt` puts in
        _leafwise_spec: ClassSpec

    if not TYPE_CHECKING:  # it takes what `__init__` takes, and checkers ask that

        def __new__(cls, *_args: Any, **_kwargs: Any) -> Self:
            """Make an object that has no attributes yet, and knows it."""
            made = object.__new__(cls)
            put_fields(made, {})
            set_building(made, True)
            return made

    def __init_subclass__(
        cls,
        *,
        pytree: bool | None = None,
        order: Order | None = None,
        strict: bool | None = None,
        kind: Kind | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init_subclass__(**kwargs)
        _adopt(cls, {"pytree": pytree, "order": order, "strict": strict, "kind": kind})

    @classmethod
    def _leafwise_rule(cls, where: str) -> Rule:
        """Return the rule by which instances are flattened."""

        def adapt(sub: Any) -> Rule | None:
            return sub._leafwise_rule(where) if sub._leafwise_spec.pytree else None

        namespace = "" if cls._leafwise_spec.pytree else OBJECTS
        return object_rule(
            cls, where=where, adapt=remembering(adapt), namespace=namespace
        )

    @classmethod
    def _leafwise_dataclass(cls, options: dict[str, Any]) -> type[Any]:
        """Make the class a dataclass that keeps its own `repr`.

        A method that is inherited is not the default of a field.
        """
        for name in inspect.get_annotations(cls):
            if name not in vars(cls) and hasattr(getattr(cls, name, None), "__get__"):
                setattr(cls, name, dataclasses.field())
        made = dataclasses.dataclass(cls, **{"repr": False, **options})
        made._leafwise_spec.forget()
        _ = made._leafwise_spec.declared
        return made

    # ------------------------------------------------------------------ attributes

    if not TYPE_CHECKING:  # so that type checkers see which attributes there are

        def __setattr__(self, name: str, value: Any) -> None:
            if hooks.trace_level is not None:
                check_level(self, f".{name}")
            try:
                fields = self._leafwise_fields
            except AttributeError:  # it was created without `__new__`
                set_fields(self, fields := {})
            kinds = fields if type(fields) is dict else fields.kinds
            kind = kinds.get(name, _NEW)
            cls = type(value)
            if kind is _NEW:
                special = type(self)._leafwise_spec.special
                if cls in learned.plain and name not in special:
                    self.__dict__[name] = value
                    set_kind(self, name, None)
                    return
            elif name != MODE and cls in (
                learned.plain if kind is None or kind is _STATIC else learned.settled
            ):
                self.__dict__[name] = value
                return
            assign(self, name, value)

        def __delattr__(self, name: str) -> None:
            check_level(self, f".{name}")
            object.__delattr__(self, name)
            settle(self)

    def _leafwise_name(self, part: Any) -> Any:
        """Return the name of the entry of an attribute or item."""
        return part

    # ------------------------------------------------------- copying and printing

    def __getstate__(self) -> Any:
        return dict(settle(self)[0])

    def __setstate__(self, state: Any) -> None:
        put(self, "__dict__", dict(state))

    @staticmethod
    def _leafwise_kinds(aux: Any, _around: Kind) -> list[Kind]:
        """Return the kinds of the children of an object with some aux data."""
        return [*aux.fields.child_kinds]

    def __reduce_ex__(self, protocol: Any) -> Any:
        if type(self).__reduce__ is not object.__reduce__:
            return self.__reduce__()
        state = self.__getstate__()
        return blank, (type(self), tuple(kinds_in(self).items())), state

    def _leafwise_sketch(self) -> Sketch:
        values, fields = settle(self)
        children = []
        for name in sorted(values, key=lambda name: type(name) is str):  # items first
            key, kind = key_of(name), fields.kind_of(name)
            if kind.is_data or type(name) is not str or name[0] != "_":
                at = key if kind.is_data else None
                children.append(Child(label_of(key), at, values[name], kind.value))
        opening, closing = self._leafwise_brackets
        return Sketch(children, f"{type(self).__name__}{opening}", closing)

    def __repr__(self) -> str:
        return pformat(self)


# --------------------------------------------------------------------- classes


def _adopt(cls: Any, options: Mapping[str, Any]) -> None:
    """Read what a new class says of its objects."""
    slots = vars(cls).get("__slots__", ())
    listed = (slots,) if isinstance(slots, str) else slots
    if not all(slot.startswith(_OWN_SLOTS) for slot in listed):
        raise TypeError(
            f"{cls.__qualname__} has __slots__, but the attributes of a Pytree are "
            "kept in its __dict__; leave __slots__ (or slots=True) out"
        )
    bases = (vars(base).get("_leafwise_spec") for base in cls.__mro__[1:])
    base = next((spec for spec in bases if spec is not None), None)
    cls._leafwise_spec = ClassSpec(cls, base, options)
    if cls._leafwise_spec.pytree:
        hooks.announce(cls)


_PACKAGE: Final = __name__.partition(".")[0]


_adopt(Pytree, dict.fromkeys(("pytree", "order", "strict", "kind")))
install(Pytree, lambda cls, **given: cls._leafwise_rule(_PACKAGE), inherit=True)


class Object(Pytree, pytree=False):
    """Base class of objects that are leaves, but known to `split` and `state`.

    Equivalent to `Pytree` with `pytree=False`.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Store(nn.Object):
        ...     def __init__(self):
        ...         self.items = [nn.List([]), nn.List([])]
        >>> lw.tree.all_leaves([Store()])
        True

    Modelled on `flax.nnx.Object`.
    """


# ------------------------------------------------------------------- functions


def name_to_kind(obj: Pytree) -> Mapping[str, Kind]:
    """Return the kind of each attribute of an object, in order of assignment.

    The mapping is read-only and does not reflect later changes to the object. An
    attribute is `FROZEN` as long as it holds a frozen variable.

    Args:
        obj: An instance of a `Pytree` class.

    Raises:
        TypeError: `obj` is not an instance of a `Pytree` class.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Model(lw.Pytree):
        ...     def __init__(self):
        ...         self.name = "m"
        ...         self.rate = lw.data(0.1)
        >>> {name: kind.value for name, kind in nn.name_to_kind(Model()).items()}
        {'name': 'static', 'rate': 'data'}
    """
    _require_pytree("name_to_kind", obj)
    values, fields = settle(obj)
    kinds: Mapping[str, Kind] = fields.mapping
    held = {
        name: kind_in(kinds[name], type(value), value._leafwise_metadata)
        for name, value in values.items()
        if name in kinds
        and isinstance(value, Variable)
        and (value._leafwise_is_frozen or kinds[name] is Kind.FROZEN)
    }
    return MappingProxyType({**kinds, **held}) if held else kinds


def check_pytree(obj: Pytree, *, recursive: bool = True) -> None:
    """Check an object for data in static attributes and for misplaced markers.

    Objects are checked once when they are created. This function also finds later
    changes to their containers, and values that became data later because their class
    was registered in leafwise or in a framework. A marker, `data(...)` or
    `static(...)`, is misplaced inside another value.

    Args:
        obj: An instance of a `Pytree` class.
        recursive: Whether to check the objects inside, too.

    Raises:
        KindError: There is an error; only the first one is reported.
        TypeError: `obj` is not an instance of a `Pytree` class.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Model(lw.Pytree):
        ...     def __init__(self):
        ...         self.layers = []
        >>> model = Model()
        >>> model.layers.append(Model())
        >>> try:
        ...     nn.check_pytree(model)
        ... except lw.errors.KindError as error:
        ...     print(error.path)
        .layers[0]

    Modelled on `flax.nnx.check_pytree`.
    """
    _require_pytree("check_pytree", obj)
    learned.forget()
    seen: dict[int, Any] = {}

    def visit(value: Any, path: tuple[Any, ...]) -> None:
        if id(value) in seen:
            return
        seen[id(value)] = value
        if not isinstance(value, Pytree):
            items = items_in(value) if sort(value) == "container" else ()
        elif value._leafwise_spec.pytree or value is obj:
            try:
                settle(value)
                look_through(value)
            except KindError as error:
                if path:
                    add_note(error, f"the object is at {KeyPath(path)}")
                raise
            if not recursive:
                return
            rule = value._leafwise_spec.rule
            children, aux = rule.flatten(value)
            items = zip(rule.keys(aux, len(children)), children, strict=True)
        else:
            return
        for key, child in items:
            visit(child, (*path, key))

    visit(obj, ())


def _require_pytree(what: str, obj: object) -> None:
    if not isinstance(obj, Pytree):
        raise TypeError(
            f"{what} takes an instance of a Pytree class, got {type(obj).__qualname__}"
        )


# ---------------------------------------------------------------------- replacing

P = TypeVar("P", bound=Pytree)


def replace(obj: P, /, **changes: Any) -> P:
    """Return a copy of an object with new values for some attributes.

    Attributes keep their kinds unless you wrap the new value in a marker, and are
    checked as in any assignment. `__init__` does not run.

    Args:
        obj: An instance of a `Pytree` class.
        **changes: The new values, by name.

    Raises:
        AttributeError: The object has no attribute with a given name.
        KindError: An attribute cannot hold the new value.
        TypeError: `obj` is not an instance of a `Pytree` class.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> class Layer(lw.Pytree):
        ...     def __init__(self, size):
        ...         self.size = size
        >>> layer = Layer(3)
        >>> nn.replace(layer, size=4).size, layer.size
        (4, 3)
    """
    known = name_to_kind(obj)
    for name in changes:
        if name not in known and not isinstance(
            getattr(type(obj), name, None), property
        ):
            raise AttributeError(f"{type(obj).__qualname__} has no attribute {name!r}")
    made = copy.copy(obj)
    for name, value in changes.items():
        assign(made, name, value)
    return made

"""`Pytree` and `Object`: the bases of classes whose instances are trees.

Here is what their subclasses can choose, and how instances are made, copied, pickled
and printed; the classes have no public attributes. `instance` keeps the entries of an
object and flattens it.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
from abc import ABCMeta
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, Self, TypeVar

from .._hooks import description_of, hooks
from .._records import MISSING
from .._text import add_note
from ..core.keypath import KeyPath
from ..core.node import NodeType
from ..core.registry import install, remembering
from ..errors import KindError
from ..fields import Kind, Marked
from ..show.pretty import pformat
from ..show.sketch import Child, Contents, Sketch, label_of
from .checks import check_level, items_in, learned, new_stamp, sort
from .instance import (
    OBJECTS,
    Shell,
    UnfinishedRecord,
    assign,
    blank,
    check_entries,
    finish,
    kinds_in,
    object_node_type,
    record_of,
    set_kind,
    set_record,
    set_table,
    settle,
)
from .spec import ClassSpec, Order, spec_of
from .statics import key_of, name_of
from .variables import Variable, is_frozen, kind_of_variable


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


if TYPE_CHECKING:
    _MetaOfProtocols = ABCMeta
else:
    _MetaOfProtocols = type(Protocol)


class PytreeSpec(ClassSpec):
    """The description of a class of pytrees, with what is shown of its objects."""

    def outline(self, obj: Any) -> Sketch:
        """Return the sketch of an object: its entries, but not private static ones."""
        values, fields = settle(obj)
        children = []
        # Items first: they are what a container is about.
        for name in sorted(values, key=lambda name: type(name) is str):
            key = key_of(name)
            kind = fields.kind_of(name)
            if kind.is_data:
                children.append(Child(key, values[name], kind=kind))
            elif type(name) is not str or name[0] != "_":
                children.append(Child(None, values[name], label_of(key), kind))
        opening, closing = self.brackets
        return Sketch(children, f"{type(obj).__name__}{opening}", closing)

    def contents(self, obj: Any, kind: Kind) -> Contents:
        """Return the children of an object with their kinds."""
        children, aux = self.node_type.flatten(obj)
        holds: Literal["leaves", "arrays"] = "leaves" if self.pytree else "arrays"
        return Contents(
            children, self.node_type.keys, aux, aux.fields.child_kinds, holds
        )

    def marked(
        self,
        obj: Any,
        key: Any,
        value: Any,
    ) -> Any:
        """Return a value of an object, marked with the kind that it was given there."""
        kind = kinds_in(obj).get(name_of(key))
        return value if kind is None else Marked(kind, value)

    def make_node_type(self, where: str) -> NodeType:
        """Make the node type of the class; a subclass that is a pytree gets its own."""

        def adapt(subclass: Any) -> NodeType | None:
            spec: ClassSpec = subclass.__leafwise__
            return spec.make_node_type(where) if spec.pytree else None

        namespace = "" if self.pytree else OBJECTS
        return object_node_type(
            self.cls, where=where, adapt=remembering(adapt), namespace=namespace
        )

    def make_dataclass(self, options: dict[str, Any]) -> type[Any]:
        """Make the class a dataclass that keeps its own `repr`.

        A method that is inherited is not the default of a field.
        """
        cls = self.cls
        for name in inspect.get_annotations(cls):
            inherited = getattr(cls, name, None)
            if name not in vars(cls) and hasattr(inherited, "__get__"):
                setattr(cls, name, dataclasses.field())
        decorated = dataclasses.dataclass(cls, **{"repr": False, **options})
        spec: ClassSpec = decorated.__leafwise__
        spec.forget()
        _ = spec.declared  # refuses declarations that disagree
        return decorated  # type: ignore[no-any-return]


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
        def __signature__(cls) -> inspect.Signature:  # noqa: N805  # of a metaclass
            """The signature for `help`: that of `__init__`, not of `__call__` below."""
            signature = inspect.signature(cls.__init__)
            _, *parameters = signature.parameters.values()
            return signature.replace(parameters=parameters)

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
            obj = super().__call__(*args, **kwargs)
            if type(obj) is cls:
                finish(obj)
            return obj


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

    if not TYPE_CHECKING:  # it takes what `__init__` takes, and checkers ask that

        def __new__(cls, *_args: Any, **_kwargs: Any) -> Self:
            """Make an object without attributes, whose `__init__` runs next."""
            obj = object.__new__(cls)
            set_record(obj, UnfinishedRecord({}, None, new_stamp()))
            return obj

    def __init_subclass__(
        cls,
        *,
        pytree: bool | None = None,
        order: Order | None = None,
        strict: bool | None = None,
        kind: Kind | None = None,
        spec: type[PytreeSpec] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init_subclass__(**kwargs)
        options = {"pytree": pytree, "order": order, "strict": strict, "kind": kind}
        _describe(cls, spec, options)

    # ------------------------------------------------------------------ attributes

    if not TYPE_CHECKING:  # so that type checkers see which attributes there are

        def __setattr__(self, name: str, value: Any) -> None:
            # The usual cases are written out, since models assign attributes all the
            # time; `assign` covers all cases, with several calls for each.
            if hooks.trace_level is not None:
                check_level(self, f".{name}")
            try:
                fields = self._leafwise.fields
            except AttributeError:  # it was created without `__new__`
                fields = record_of(self).fields
            kinds = fields if type(fields) is dict else fields.kinds
            kind = kinds.get(name, MISSING)
            cls = type(value)
            if kind is MISSING:
                special = type(self).__leafwise__.special
                if cls in learned.plain and name not in special:
                    self.__dict__[name] = value
                    set_kind(self, name, None)
                    return
            elif name != MODE:
                is_static = kind is None or kind is _STATIC
                fitting_types = learned.plain if is_static else learned.settled
                if cls in fitting_types:
                    self.__dict__[name] = value
                    return
            assign(self, name, value)

        def __delattr__(self, name: str) -> None:
            check_level(self, f".{name}")
            object.__delattr__(self, name)
            settle(self)

    # ------------------------------------------------------- copying and printing

    def __getstate__(self) -> Any:
        return dict(settle(self)[0])

    def __setstate__(self, state: Any) -> None:
        set_table(self, dict(state))

    def __reduce_ex__(self, protocol: Any) -> Any:
        if type(self).__reduce__ is not object.__reduce__:
            return self.__reduce__()
        state = self.__getstate__()
        return blank, (type(self), tuple(kinds_in(self).items())), state

    def __repr__(self) -> str:
        return pformat(self)


# --------------------------------------------------------------------- classes


def _describe(
    cls: Any, spec_type: type[PytreeSpec] | None, options: Mapping[str, Any]
) -> None:
    """Give a new class its description.

    Args:
        cls: The class.
        spec_type: The type of the description; by default, that of the base.
        options: The options of the class; None for those of the base.
    """
    if vars(cls).get("__slots__", ()):
        raise TypeError(
            f"{cls.__qualname__} has __slots__, but the attributes of a Pytree are "
            "kept in its __dict__; leave __slots__ (or slots=True) out"
        )
    base: Any = description_of(cls)  # it has none of its own yet
    base_spec = base if isinstance(base, PytreeSpec) else None
    if spec_type is None:
        spec_type = PytreeSpec if base_spec is None else type(base_spec)
    cls.__leafwise__ = spec_type(cls, base_spec, options)
    if cls.__leafwise__.pytree:
        hooks.announce(cls)


_PACKAGE: Final = __name__.partition(".")[0]


def _node_type_for(cls: Any, **_options: Any) -> NodeType:
    spec: ClassSpec = cls.__leafwise__
    return spec.make_node_type(_PACKAGE)


_NO_OPTIONS: Final[dict[str, Any]] = dict.fromkeys(
    ("pytree", "order", "strict", "kind")
)
_describe(Pytree, PytreeSpec, _NO_OPTIONS)
install(Pytree, _node_type_for, inherit=True)


class Object(Pytree, pytree=False):
    """Base class of objects that are leaves, but known to `split` and `state`.

    Equivalent to `Pytree` with `pytree=False`.

    Raises:
        ValueError: A subclass has `pytree=True`; derive it from `Pytree`.

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

    def __init_subclass__(cls, *, pytree: bool | None = None, **options: Any) -> None:
        if pytree:
            raise ValueError(
                f"{cls.__qualname__} is an Object, which is no pytree; derive it from "
                "Pytree, or leave pytree=True out"
            )
        super().__init_subclass__(pytree=pytree, **options)


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
    kinds: dict[str, Kind] = {}
    for name in fields.names:
        if type(name) is not str:  # an item of a container
            continue
        kind = fields.kind_of(name)
        value = values[name]
        if isinstance(value, Variable) and (is_frozen(value) or kind is Kind.FROZEN):
            kind = kind_of_variable(kind, value)
        kinds[name] = kind
    return MappingProxyType(kinds)


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
    visited: dict[int, Any] = {}  # by id; kept alive, so that no id is used twice

    def visit(value: Any, path: tuple[Any, ...]) -> None:
        if id(value) in visited:
            return
        visited[id(value)] = value
        if not isinstance(value, Pytree):
            items = items_in(value) if sort(value) == "container" else ()
        elif spec_of(value).pytree or value is obj:
            try:
                settle(value)
                check_entries(value)
            except KindError as error:
                if path:
                    add_note(error, f"the object is at {KeyPath(path)}")
                raise
            if not recursive:
                return
            node_type = spec_of(value).node_type
            children, aux = node_type.flatten(value)
            items = zip(node_type.keys(aux, len(children)), children, strict=True)
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


def is_module(value: Any) -> bool:
    """Return whether a value is a module."""
    return isinstance(value, Pytree) and spec_of(value).is_module


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
    names = name_to_kind(obj).keys()
    for name in changes:
        is_property = isinstance(getattr(type(obj), name, None), property)
        if name not in names and not is_property:
            raise AttributeError(f"{type(obj).__qualname__} has no attribute {name!r}")
    copied = copy.copy(obj)
    for name, value in changes.items():
        assign(copied, name, value)
    return copied

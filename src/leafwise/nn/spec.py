"""What a class of `nn` says of its objects: its options, and the kinds it declares."""

from __future__ import annotations

import builtins
import dataclasses
import functools
import inspect
import re
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal

from .._hooks import Description
from .._text import short_repr
from ..core.node import NodeType
from ..fields import Kind, Marked, kind_in
from .statics import Fields, Statics


Order = Literal["name", "insertion"]

_DEFAULTS: Final[dict[str, Any]] = {
    "pytree": True,
    "order": "name",
    "strict": True,
    "kind": Kind.DATA,
}
_BY_NAME: Final = {"Data": Kind.DATA, "Static": Kind.STATIC}


class NodeSpec(Description):
    """What objects of one class have in common, whether these are pytrees or variables.

    Attributes:
        cls: The class.
        kind: The kind of an attribute that holds such an object.
        order: Whether children come in the order of names or of assignment.
        descriptions: The descriptions of the objects so far, by their entries; see
            `fields_of`.
        has_items: Whether the table of an object has items beside attributes.
        code_names: The names of static attributes whose values are code, of which files
            keep the name.
    """

    has_items: ClassVar[bool] = False
    code_names: ClassVar[frozenset[str]] = frozenset()
    order: Order = "name"

    def __init__(self, cls: Any, kind: Kind) -> None:
        self.cls: Any = cls
        self.kind: Kind = kind
        self.descriptions: dict[Any, Fields] = {}

    def child_kinds(self, aux: Statics, kind: Kind) -> Sequence[Kind]:
        """Return the kinds of the children of an object with some aux data.

        Args:
            aux: The aux data.
            kind: The kind of the attribute that holds the object.
        """
        return aux.fields.child_kinds


class ClassSpec(NodeSpec):
    """What the objects of one class of pytrees have in common.

    Attributes:
        is_module: Whether the objects are modules, which have a mode and whose static
            attributes may become data.
        brackets: The text around the entries of an object.
        pytree: Whether the objects are nodes.
        strict: Whether a container that holds data is refused where it would be
            static, rather than made data.
        hidden: The names of cached properties, whose values are not part of trees.
    """

    is_module: ClassVar[bool] = False
    brackets: ClassVar[tuple[str, str]] = ("(", ")")
    has_kinds = True

    pytree: bool
    strict: bool

    def __init__(
        self,
        cls: type,
        base: ClassSpec | None,
        options: Mapping[str, Any],
    ) -> None:
        if options["order"] not in (None, "name", "insertion"):
            raise ValueError(
                "order must be 'name' or 'insertion', got "
                f"{short_repr(options['order'])}"
            )
        super().__init__(cls, Kind.DATA)
        for name, default in _DEFAULTS.items():
            inherited = default if base is None else getattr(base, name)
            option = options[name]
            setattr(self, name, inherited if option is None else option)
        # A cached property writes its value into `__dict__`, beside the attributes.
        self.hidden: frozenset[str] = frozenset(
            name
            for base_cls in cls.__mro__
            for name, value in vars(base_cls).items()
            if isinstance(value, functools.cached_property)
        )
        # When the class is made: a decorator should see the values without marks.
        self._marks: dict[str, Kind] = {}
        for name, annotation in inspect.get_annotations(cls).items():
            kind = _kind_of_annotation(annotation, cls)
            if kind is not None:
                self._marks[name] = kind
        self._marks |= _unwrap_marks(cls)

    def entry_name(self, obj: Any, part: Any) -> Any:
        """Return the name of an entry from the name, position or key in a path."""
        return part

    def make_node_type(self, where: str) -> NodeType:
        """Make the node type of the class.

        Args:
            where: The package that registers it.
        """
        raise NotImplementedError

    @functools.cached_property
    def descriptors(self) -> frozenset[str]:
        """The names that are assigned by a property, or the like, of the class."""
        has_setter: dict[str, bool] = {"__orig_class__": True}  # see `assign`
        for base in self.cls.__mro__:
            for name, value in vars(base).items():
                # The first base with the name decides, as in any lookup.
                if value is not None:
                    has_setter.setdefault(name, hasattr(type(value), "__set__"))
        return frozenset(name for name, is_set in has_setter.items() if is_set)

    @functools.cached_property
    def special(self) -> frozenset[str]:
        """The names that a class declares, or assigns by a property."""
        return self.descriptors | self.declared.keys()

    @property
    def node_type(self) -> Any:
        """How objects are flattened, whether they are nodes of trees or not."""
        cache = vars(self)
        if "_node_type" not in cache:
            # If another thread's node type comes first, that one is the node type.
            cache.setdefault("_node_type", self.make_node_type(""))
        return cache["_node_type"]

    @functools.cached_property
    def declared(self) -> Mapping[str, Kind]:
        """The kinds that the bodies of the class and its bases declare."""
        declared: dict[str, Kind] = {}
        # Not from one description to the next: with several bases, the order is that of
        # the method resolution.
        for base in reversed(self.cls.__mro__):
            spec = vars(base).get("__leafwise__")
            if isinstance(spec, ClassSpec):
                declared |= spec.read_body()
        return declared

    def forget(self) -> None:
        """Read the declarations again after the class was decorated."""
        for name in ("declared", "special", "_node_type"):
            vars(self).pop(name, None)

    def read_body(self) -> dict[str, Kind]:
        """Return the kinds that the body of this class alone declares."""
        fields = _fields_of(self.cls)
        for name, kind in fields.items():
            if self._marks.get(name, kind) is not kind:
                raise ValueError(
                    f"{self.cls.__qualname__}.{name} is annotated as "
                    f"{self._marks[name].value} but its field is declared as "
                    f"{kind.value}; declare its kind only once"
                )
        return {**self._marks, **fields}


def spec_of(obj: Any) -> ClassSpec:
    """Return the description of a pytree's class."""
    spec: ClassSpec = type(obj).__leafwise__
    return spec


# ------------------------------------------------------------- values and fields


def _unwrap_marks(cls: Any) -> dict[str, Kind]:
    """Take the marks off values in a class body, and return their kinds."""
    kinds = {}
    for name, value in list(vars(cls).items()):
        if type(value) is Marked:
            type.__setattr__(cls, name, value.value)
            kinds[name] = value.kind
    return kinds


def _fields_of(cls: type) -> dict[str, Kind]:
    """Return the kinds that fields declare, if the class itself is a dataclass."""
    body = vars(cls)
    if "__dataclass_fields__" in body:
        kinds = {}
        for name, field in body["__dataclass_fields__"].items():
            kind = _kind_of_field(cls, field)
            if kind is not None:
                kinds[name] = kind
        return kinds
    for name, value in body.items():
        if isinstance(value, dataclasses.Field):
            raise TypeError(
                f"{cls.__qualname__}.{name} is declared as a dataclass field, but "
                f"{cls.__qualname__} is not a dataclass; decorate it with "
                "leafwise.dataclass, or give a value: data(value), static(value)"
            )
    return {}


def _kind_of_field(cls: type, field: dataclasses.Field[Any]) -> Kind | None:
    """Read the markers of one field; refuse them if they disagree."""
    for mark in ("static", "pytree_node"):
        flag = field.metadata.get(mark, True)
        if type(flag) is not bool:
            raise ValueError(
                f"field {field.name!r} of {cls.__qualname__} has metadata "
                f"{{{mark!r}: {short_repr(flag)}}}; expected bool, got "
                f"{type(flag).__name__}"
            )
    try:
        return kind_in(field.metadata)
    except ValueError as error:
        raise ValueError(
            f"field {field.name!r} of {cls.__qualname__} has {error}"
        ) from None


# ------------------------------------------------------------------ annotations


def _kind_of_annotation(annotation: Any, cls: type) -> Kind | None:
    """Return the kind that an annotation declares, None if it declares none."""
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        return _kind_in_text(annotation, cls)
    for metadata in getattr(annotation, "__metadata__", ()):
        if isinstance(metadata, Kind):
            return metadata
    if typing.get_origin(annotation) in (typing.Union, types.UnionType, typing.Final):
        for inner in typing.get_args(annotation):
            kind = _kind_of_annotation(inner, cls)
            if kind is not None:
                return kind
    return None


def _kind_in_text(annotation: str, cls: type) -> Kind | None:
    """Return the kind that an annotation in quotes declares."""
    module = vars(sys.modules.get(cls.__module__, types))
    names = _Names({**module, **vars(cls)})
    try:
        value = eval(annotation.strip(), {}, names)  # as `typing` does
    except Exception:  # whatever the code in an annotation raises
        match = _KIND_IN_TEXT.search(annotation)
        return None if match is None else _BY_NAME[match[1]]
    return _kind_of_annotation(value, cls)


class _Names(dict[str, Any]):
    """The names in an annotation; one that only type checkers know is anything."""

    def __missing__(self, name: str) -> Any:
        return vars(builtins).get(name, Any)


_KIND_IN_TEXT: Final = re.compile(
    r"(?:^|\||Optional\[|Union\[)\s*(?:\w+\.)*(Data|Static)\b"
)
"""A kind in an annotation that cannot be evaluated."""

"""Traits: what a class says about the attributes of its objects.

Owns the options of a class and the kinds that its body declares: by annotations,
dataclass fields, and values around which `data(...)` or `static(...)` stands.
Annotations are read one by one, and of those that are text only the part that could
declare something, so that a name that nobody can resolve costs nothing but itself.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..core.auxdata import clip
from ..core.safely import type_name
from ..kinds import KIND, Data, Kind, Marked, Static
from .layout import Family, Order


__all__ = ["Traits"]

_ORDERS: Final = ("name", "insertion")
_BY_NAME: Final = {"Data": Kind.DATA, "Static": Kind.STATIC}


class Traits:
    """What holds for all objects of one class.

    Attributes:
        cls: The class.
        pytree: Whether its objects are nodes.
        order: Whether children come in the order of names or of assignment.
        strict: Whether a container that holds data is refused where it would be
            static, rather than made data.
        kind: The kind of an attribute that holds such an object.
        family: The layouts of its objects.
        hidden: Names under which values are kept that belong to no tree: those of
            cached properties.
    """

    __slots__ = (
        "_declared",
        "_made",
        "_marks",
        "cls",
        "family",
        "hidden",
        "kind",
        "order",
        "pytree",
        "strict",
    )

    def __init__(
        self,
        cls: type,
        base: Traits | None,
        *,
        pytree: bool | None,
        order: Order | None,
        strict: bool | None,
        kind: Kind | None,
        scope: Mapping[str, Any],
    ) -> None:
        def chosen(value: Any, name: str, default: Any) -> Any:
            if value is not None:
                return value
            return default if base is None else getattr(base, name)

        if order not in (None, *_ORDERS):
            raise ValueError(f"order must be 'name' or 'insertion', got {clip(order)}")
        self.cls = cls
        self.pytree: bool = chosen(pytree, "pytree", True)
        self.order: Order = chosen(order, "order", "name")
        self.strict: bool = chosen(strict, "strict", True)
        self.kind: Kind = chosen(kind, "kind", Kind.DATA)
        self.family = Family(cls, self.order)
        self.hidden = frozenset(
            name
            for base_cls in cls.__mro__
            for name, value in vars(base_cls).items()
            if isinstance(value, functools.cached_property)
        )
        self._marks = {**_annotated(cls, scope), **_unwrapped(cls)}
        self._made: dict[str, Any] = {}
        self._declared: dict[str, Kind] | None = None

    @property
    def rule(self) -> Any:
        """The rule by which objects come apart, whether they are nodes or not."""
        made = self._made
        if "rule" not in made:  # another thread's may come first, and is the rule then
            made.setdefault("rule", self.cls._leafwise_rule(""))  # type: ignore[attr-defined]  # a Pytree
        return made["rule"]

    @property
    def declared(self) -> Mapping[str, Kind]:
        """The kinds that the bodies of the class and its bases declare."""
        declared = self._declared
        if declared is None:
            declared = self._declared = self._read()
        return declared

    def forget(self) -> None:
        """Read the declarations again, because the class was decorated since."""
        self._declared, self._made = None, {}
        self.family = Family(self.cls, self.order)

    def _read(self) -> dict[str, Kind]:
        declared: dict[str, Kind] = {}
        for base in reversed(self.cls.__mro__):
            traits = vars(base).get("_leafwise_traits")
            if isinstance(traits, Traits):
                declared |= traits._own()
        return declared

    def _own(self) -> dict[str, Kind]:
        """Return what the body of this class alone declares."""
        fields = _fields_of(self.cls)
        for name, kind in fields.items():
            if self._marks.get(name, kind) is not kind:
                raise ValueError(
                    f"{self.cls.__qualname__}.{name} is annotated as "
                    f"{self._marks[name].value} and its field is declared as "
                    f"{kind.value}; these disagree, say it once"
                )
        return {**self._marks, **fields}


# ------------------------------------------------------------- values and fields


def _unwrapped(cls: Any) -> dict[str, Kind]:
    """Take the marks off values in a class body, and return what they said."""
    marked = {name: value for name, value in vars(cls).items() if type(value) is Marked}
    for name, mark in marked.items():
        type.__setattr__(cls, name, mark.value)
    return {name: mark.kind for name, mark in marked.items()}


def _fields_of(cls: type) -> dict[str, Kind]:
    """Return what the fields say, if the class itself is a dataclass."""
    body = vars(cls)
    if "__dataclass_fields__" in body:
        own = body["__dataclass_fields__"]
        kinds = {name: _kind_of_field(cls, field) for name, field in own.items()}
        return {name: kind for name, kind in kinds.items() if kind is not None}
    for name, value in body.items():
        if isinstance(value, dataclasses.Field):
            raise TypeError(
                f"{cls.__qualname__}.{name} is declared as a dataclass field, but "
                f"{cls.__qualname__} is no dataclass; decorate it with "
                "leafwise.dataclass, or give a value: data(value), static(value)"
            )
    return {}


def _kind_of_field(cls: type, field: dataclasses.Field[Any]) -> Kind | None:
    """Read the markers of one field; refuse them if they disagree."""
    metadata = field.metadata
    kinds = set()
    if KIND in metadata:
        kinds.add(metadata[KIND])
    for mark, when in (("static", Kind.STATIC), ("pytree_node", Kind.DATA)):
        if mark not in metadata:
            continue
        value = metadata[mark]
        if type(value) is not bool:
            raise ValueError(
                f"field {field.name!r} of {cls.__qualname__} has metadata "
                f"{{{mark!r}: {clip(value)}}}; expected bool, got {type_name(value)}"
            )
        other = Kind.DATA if when is Kind.STATIC else Kind.STATIC
        kinds.add(when if value else other)
    if KIND in metadata and metadata[KIND].is_data:
        kinds.discard(Kind.DATA)
        kinds.add(metadata[KIND])
    if len(kinds) > 1:
        raise ValueError(
            f"field {field.name!r} of {cls.__qualname__} has metadata that disagrees: "
            f"{clip(dict(metadata))}"
        )
    return kinds.pop() if kinds else None


# ------------------------------------------------------------------ annotations


def _annotated(cls: type, scope: Mapping[str, Any]) -> dict[str, Kind]:
    """Return the kinds that the annotations of a class body declare."""
    found = {
        name: _kind_of_annotation(annotation, cls, scope)
        for name, annotation in inspect.get_annotations(cls).items()
    }
    return {name: kind for name, kind in found.items() if kind is not None}


def _kind_of_annotation(
    annotation: Any, cls: type, scope: Mapping[str, Any]
) -> Kind | None:
    if isinstance(annotation, str):
        return _kind_of_text(annotation, cls, scope)
    for said in getattr(annotation, "__metadata__", ()):
        if isinstance(said, Kind):
            return said
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType, typing.Final):
        for inner in typing.get_args(annotation):
            kind = _kind_of_annotation(inner, cls, scope)
            if kind is not None:
                return kind
    return None


def _kind_of_text(text: str, cls: type, scope: Mapping[str, Any]) -> Kind | None:
    """Read an annotation that is text, without evaluating what is inside."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return None
    names = (vars(cls), scope, vars(sys.modules.get(cls.__module__, types)))
    for node in _alternatives(tree):
        kind = _kind_of_node(node, cls, names)
        if kind is not None:
            return kind
    return None


def _alternatives(node: ast.expr) -> Iterator[ast.expr]:
    """Yield what an annotation is, or could be: the parts of unions."""
    if isinstance(node, ast.BinOp):
        yield from _alternatives(node.left)
        yield from _alternatives(node.right)
        return
    if isinstance(node, ast.Subscript):
        name = ast.unparse(node.value).rpartition(".")[2]
        if name in ("Optional", "Union", "Final"):
            inner = node.slice
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            for part in parts:
                yield from _alternatives(part)
            return
    yield node


def _kind_of_node(
    node: ast.expr, cls: type, names: tuple[Mapping[str, Any], ...]
) -> Kind | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _kind_of_text(node.value, cls, names[1])
    inside: list[ast.expr] = []
    whole = node
    if isinstance(node, ast.Subscript):
        inner = node.slice
        inside = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        node = node.value
    head = _look_up(node, names)
    if head is Data or head is Static:
        return Kind.DATA if head is Data else Kind.STATIC
    if head is typing.Annotated:
        said = (_look_up(part, names) for part in inside[1:])
        return next((kind for kind in said if isinstance(kind, Kind)), None)
    if head is None and node is not whole:  # imported for type checkers only
        return _BY_NAME.get(ast.unparse(node).rpartition(".")[2])
    return _kind_of_annotation(head, cls, names[1])


def _look_up(node: ast.expr, names: tuple[Mapping[str, Any], ...]) -> Any:
    """Return what a dotted name stands for, None if nobody knows."""
    if isinstance(node, ast.Attribute):
        return getattr(_look_up(node.value, names), node.attr, None)
    if isinstance(node, ast.Name):
        for scope in names:
            if node.id in scope:
                return scope[node.id]
    return None

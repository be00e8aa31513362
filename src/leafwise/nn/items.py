"""Items: what containers keep beside their attributes, each with a kind of its own.

Owns the base of the containers: how their nodes are flattened, how an item gets its
kind, and how the items of a list come apart.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..core.keys import SequenceKey
from ..core.node import Brackets, Rule
from ..core.safely import class_name
from ..kinds import Kind, Marked
from .arrays import learned
from .assign import Attribute, decide, recheck
from .layout import picker
from .node import write_statics
from .pytree import Pytree
from .statics import Statics, same_statics


__all__ = ["Container", "Positions", "positions"]

_STATIC: Final = Kind.STATIC
_FEW: Final = 256


def _container_rule(cls: Any, base: Any) -> Rule:
    """Return the rule of a class whose objects have items beside attributes."""

    def flatten(node: Any) -> tuple[Sequence[Any], Any]:
        children, aux = base.flatten(node)
        items, more = node._leafwise_take()
        return (*children, *items) if children else items, (aux, more)

    def fill(node: Any, aux: Any, children: Any) -> Any:
        start = len(aux[0].anatomy.data)
        base.unflatten_into(node, aux[0], children[:start])
        node._leafwise_put(aux[1], children[start:])
        return node

    def unflatten(aux: Any, children: Any) -> Any:
        return fill(object.__new__(cls), aux, children)

    def keys(aux: Any, _arity: int) -> Sequence[Any]:
        return (*aux[0].anatomy.keys, *aux[1].anatomy.keys)

    def brackets(aux: Any, _arity: int) -> Brackets:
        inside = ", ".join(filter(None, map(repr, aux)))
        return f"CustomNode({cls.__name__}[{inside}], [", None, "])"

    return Rule(
        cls=cls,
        name="custom",
        flatten=flatten,
        unflatten=unflatten,
        keys=keys,
        brackets=brackets,
        same_aux=_same_pairs,
        hash_aux=hash,
        describe=lambda aux, _arity: (
            f"{class_name(cls)} with items: {aux[1].words()}; "
            f"attributes: {aux[0].words()}"
        ),
        validate=lambda arity, aux: _fits(base, arity, aux),
        where=base.where,
        adapt=base.adapt,
        unflatten_into=fill,
        codec=(
            lambda aux: [write_statics(aux[0]), cls._leafwise_write_items(aux[1])],
            lambda written: (
                base.codec[1](written[0]),
                cls._leafwise_read_items(written[1]),
            ),
        ),
    )


def _same_pairs(a: Any, b: Any) -> bool:
    return same_statics(a[0], b[0]) and same_statics(a[1], b[1])


def _fits(base: Rule, arity: int, aux: Any) -> bool:
    if type(aux) is not tuple or len(aux) != 2 or type(aux[1]) is not Statics:
        return False
    items = len(aux[1].anatomy.data)
    return items <= arity and base.validate(arity - items, aux[0])


class Container(Pytree):
    """Base of objects with items beside their attributes."""

    if TYPE_CHECKING:

        def _leafwise_take(self) -> tuple[Sequence[Any], Statics]: ...

        def _leafwise_put(self, aux: Statics, children: Sequence[Any]) -> None: ...

    _leafwise_item_key: Callable[[Any], Any]

    @classmethod
    def _leafwise_rule(cls, where: str) -> Rule:
        return _container_rule(cls, super()._leafwise_rule(where))

    def _leafwise_decide(
        self, name: Any, value: Any, kind: Kind | None
    ) -> tuple[Any, Kind]:
        """Return an item without its mark, and the kind that it gets."""
        mark = None
        if type(value) is Marked:
            mark, value = value.kind, value.value
        key = type(self)._leafwise_item_key
        attribute = Attribute(self._leafwise_traits, name, kind, True, key)
        return value, decide(attribute, value, mark)

    def _leafwise_recheck(self, name: Any, value: Any, kind: Kind) -> Kind:
        """Look through an item that is there; return its kind."""
        if type(value) in (learned.plain if kind is _STATIC else learned.settled):
            return kind
        key = type(self)._leafwise_item_key
        return recheck(Attribute(self._leafwise_traits, name, kind, False, key), value)


class Positions:
    """How the items of a `List` come apart: an `Anatomy` for positions.

    Attributes:
        kinds: The kind of each item.
        data: The positions of the children.
        static: The positions of the rest.
        keys: The key of each child.
        mark: What two of them share if they are the same.
        children: Takes the items, returns the children.
        statics: Takes the items, returns the rest.
    """

    __slots__ = ("children", "data", "kinds", "mark", "static", "statics")

    def __init__(self, mark: tuple[str, ...]) -> None:
        self.mark = mark
        self.kinds = tuple(map(_KINDS.__getitem__, mark))
        self.data = tuple(i for i, kind in enumerate(mark) if kind != "static")
        self.static = tuple(i for i, kind in enumerate(mark) if kind == "static")
        self.children = picker(self.data) if self.static else tuple
        self.statics = picker(self.static)

    @property
    def keys(self) -> tuple[Any, ...]:
        """The key of each child."""
        return tuple(map(SequenceKey, self.data))

    def kind_of(self, place: int) -> Kind:
        """Return the kind of an item."""
        return self.kinds[place]

    def __reduce__(self) -> tuple[Any, ...]:
        return Positions, (self.mark,)


_KINDS: Final = {kind._value_: kind for kind in Kind}
_known_positions = functools.lru_cache(maxsize=256)(Positions)


def positions(kinds: Sequence[Kind]) -> Positions:
    """Return how a list of items of these kinds comes apart."""
    mark = tuple([kind._value_ for kind in kinds])
    return _known_positions(mark) if len(mark) <= _FEW else Positions(mark)

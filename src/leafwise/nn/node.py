"""Objects as nodes: the rule by which instances of a `Pytree` class are flattened.

Children are the data attributes, aux data is a `Statics`. Rebuilding makes an empty
instance and fills in its attributes in the order in which they were assigned; no
`__init__` runs and nothing is checked, so leaves may be anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.node import Brackets, Rule, Shaped
from ..core.runner import hooks
from ..core.safely import class_name
from ..core.serial import read_value, write_value
from ..kinds import Kind
from .layout import Anatomy, Family, layout_of
from .statics import Statics, same_statics, statics_for


__all__ = ["object_rule", "read_statics", "statics_of", "write_statics"]


def object_rule(
    cls: Any,
    settle: Callable[[Any], Any],
    put_layout: Callable[[Any, Any], None],
    remember: Callable[[Any, Statics], None],
    reconsider: Callable[[Any], None] | None,
    where: str,
    adapt: Callable[[type], Rule | None],
) -> Rule:
    """Return the rule of a class.

    Args:
        cls: The class.
        settle: Takes an object whose attributes are not those of its layout,
            because somebody wrote to its `__dict__`; puts the layout right and
            returns the attributes that count.
        put_layout: Gives a new object its layout.
        remember: Told of aux data that holds as long as an object's static values are
            the same ones.
        reconsider: Called with an object before it is taken apart, if nobody checks
            its attributes, to find out what is data in it by now.
        where: File and line that registered the class.
        adapt: Makes the rule of a subclass.
    """
    new = object.__new__
    put_attributes = attributes_slot(cls).__set__

    def flatten(node: Any) -> tuple[Sequence[Any], Statics]:
        try:
            layout = node._leafwise_layout
            read = layout.read
            if read is not None and hooks.reader is not None:
                found: tuple[Sequence[Any], Statics] | None = read(node)
                if found is not None:
                    return found
            values = node.__dict__
            anatomy = layout.fixed.anatomy
            if len(values) == len(anatomy.names):
                children = anatomy.children(values)
                aux = statics_for(anatomy, anatomy.statics(values))
                if hooks.reader is not None and aux.is_lasting:
                    remember(node, aux)
                return children, aux
        except (AttributeError, KeyError):
            pass
        values = settle(node)
        anatomy = node._leafwise_layout.fixed.anatomy
        return anatomy.children(values), statics_for(anatomy, anatomy.statics(values))

    def flatten_unchecked(node: Any) -> tuple[Sequence[Any], Statics]:
        if reconsider is not None:
            reconsider(node)
        return flatten(node)

    def fill(node: Any, aux: Statics, children: Any) -> Any:
        anatomy = aux.anatomy
        values = anatomy.ordered((*children, *aux.values))
        put_attributes(node, dict(zip(anatomy.names, values, strict=True)))
        put_layout(node, anatomy.layout)
        return node

    def unflatten(aux: Statics, children: Any) -> Any:
        return fill(new(cls), aux, children)

    return Rule(
        cls=cls,
        name="custom",
        flatten=flatten if reconsider is None else flatten_unchecked,
        unflatten=unflatten,
        keys=lambda aux, _arity: aux.anatomy.keys,
        brackets=_brackets(cls.__name__),
        same_aux=same_statics,
        hash_aux=hash,
        describe=lambda aux, _arity: f"{class_name(cls)} with {aux.words()}",
        node_data=lambda aux: dict(zip(aux.anatomy.static, aux.seen, strict=True)),
        validate=lambda arity, aux: _fits(cls, arity, aux),
        where=where,
        adapt=adapt,
        codec=(
            write_statics,
            lambda written: read_statics(cls._leafwise_traits.family, written),
        ),
        unflatten_into=fill,
        form=Shaped("_leafwise_layout", new, put_attributes, put_layout, statics_of),
    )


def attributes_slot(cls: type) -> Any:
    """Return the descriptor through which the `__dict__` of an object is set."""
    return next(
        vars(base)["__dict__"] for base in cls.__mro__ if "__dict__" in vars(base)
    )


def statics_of(layout: Any, values: tuple[Any, ...]) -> Statics:
    """Return aux data for static values in the order of the layout's anatomy."""
    return Statics(layout.anatomy, values)


def write_statics(aux: Statics) -> Any:
    """Return aux data as what JSON can hold."""
    kinds = aux.anatomy.layout.kinds.items()
    return [
        [[name, kind.value] for name, kind in kinds],
        [*map(write_value, aux.seen)],
    ]


def read_statics(family: Family, written: Any) -> Statics:
    """Return aux data from what JSON held.

    Raises:
        ValueError: It is malformed.
    """
    named, values = written
    kinds = [(name, Kind(kind)) for name, kind in named]
    if not all(type(name) is str for name, _ in kinds):
        raise ValueError("an attribute has no name")
    anatomy = layout_of(family, kinds).fixed.anatomy
    if len(anatomy.names) != len(kinds) or len(anatomy.static) != len(values):
        raise ValueError("as many values as there are static attributes")
    return Statics(anatomy, tuple(map(read_value, values)))


def _fits(cls: type, arity: int, aux: Any) -> bool:
    return (
        type(aux) is Statics
        and type(aux.anatomy) is Anatomy
        and aux.anatomy.layout.family.cls is cls
        and len(aux.anatomy.data) == arity
    )


def _brackets(name: str) -> Callable[[Any, int], Brackets]:
    """Print a node as jax prints a custom one, with the names of its children."""

    def brackets(aux: Statics, _arity: int) -> Brackets:
        labels = [f"{child}=" for child in aux.anatomy.data]
        return f"CustomNode({name}[{aux}], [", labels, "])"

    return brackets

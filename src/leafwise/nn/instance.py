"""One object: how its attributes get their kinds, and keep them.

Owns what every object has beside its attributes, its layout, and what is done to it:
assigning, putting the layout right after others wrote to the `__dict__`, looking it
through, making it anew from a pickle.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ..core.runner import hooks
from ..kinds import Kind, Marked
from .arrays import DataNode, learned
from .assign import Attribute, decide, recheck
from .layout import Layout, OwnLayout, layout_of
from .statics import Statics
from .trace import levels


__all__ = [
    "Shell",
    "assign",
    "blank",
    "check",
    "finish",
    "is_unchecked",
    "look_through",
    "put",
    "put_layout",
    "reconsider",
    "remember",
    "set_building",
    "set_layout",
    "settle",
    "start",
    "store",
]

_STATIC: Final = Kind.STATIC
put: Final = object.__setattr__


class Shell(DataNode):
    """What an object has beside its attributes."""

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_leafwise_building",
        "_leafwise_layout",
        "_leafwise_stamp",
        "_leafwise_statics",
    )

    if TYPE_CHECKING:
        _leafwise_building: bool
        _leafwise_layout: Layout | OwnLayout


set_layout: Final = vars(Shell)["_leafwise_layout"].__set__
set_stamp: Final = vars(Shell)["_leafwise_stamp"].__set__
set_statics: Final = vars(Shell)["_leafwise_statics"].__set__
set_building: Final = vars(Shell)["_leafwise_building"].__set__


def put_layout(obj: Any, layout: Layout | OwnLayout) -> None:
    """Give a new object its layout, and the stamp of the trace level."""
    set_layout(obj, layout)
    if levels.token is not None:
        set_stamp(obj, levels.token())


def remember(obj: Any, aux: Statics) -> None:
    """Let an object keep its aux data, and its layout learn to read it fast."""
    set_statics(obj, aux)
    layout = obj._leafwise_layout
    reader = hooks.reader
    if type(layout) is Layout and layout.read is None and reader is not None:
        layout.read = reader(layout, "_leafwise_statics")


def start(obj: Any) -> Layout:
    """Give an object that was made without our `__new__` its first layout."""
    layout: Layout = type(obj)._leafwise_traits.family.root
    set_layout(obj, layout)
    return layout


def assign(obj: Any, name: str, value: Any) -> None:
    """Assign an attribute: decide its kind, write the value, then the kind.

    Raises:
        KindError: The attribute cannot have this value.
    """
    cls = type(obj)
    known = obj._leafwise_layout.kinds.get(name)
    mark = None
    if type(value) is Marked:
        mark, value = value.kind, value.value
    if known is None and _is_kept_elsewhere(cls, name):
        put(obj, name, value)
        return
    building = getattr(obj, "_leafwise_building", False)
    attribute = Attribute(cls._leafwise_traits, name, known, building)
    plain, data = learned.plain, learned.data
    kind = decide(attribute, value, mark)
    put(obj, name, value)
    if kind is not known:
        before = obj._leafwise_layout
        after = before.having(name, kind)
        set_layout(obj, after)
        is_current = plain is learned.plain and data is learned.data
        if known is None and mark is None and is_current:
            step = _step(name, type(value), kind, plain, data)
            _remember(before, after, step)


def _step(
    name: str, cls: type, kind: Kind, plain: set[type], data: set[type]
) -> Hashable:
    """Return the key of an assignment in `Layout.quick`, None if it has none."""
    if cls in plain:
        return name
    return (name, cls) if cls in data and kind is not _STATIC else None


def _remember(before: Layout | OwnLayout, after: Layout | OwnLayout, step: Any) -> None:
    """Remember where a first assignment led, if it always leads there."""
    if step is not None and type(before) is Layout and type(after) is Layout:
        before.quick[step] = after


def _is_kept_elsewhere(cls: type, name: str) -> bool:
    """Say whether the class has a property, or the like, of this name."""
    if name == "__orig_class__":  # typing sets it, and does not mind if it cannot
        raise AttributeError(name)
    for base in cls.__mro__:
        found = vars(base).get(name)
        if found is not None:
            return hasattr(type(found), "__set__")
    return False


def settle(obj: Any) -> Mapping[str, Any]:
    """Put the layout right where somebody wrote to the `__dict__`.

    Returns:
        The attributes that count: all but the values of cached properties.
    """
    values: dict[str, Any] = obj.__dict__
    traits = type(obj)._leafwise_traits
    try:
        layout = obj._leafwise_layout
    except AttributeError:
        layout = start(obj)
    for name in [name for name in layout.kinds if name not in values]:
        layout = layout.lacking(name)
    for name in [name for name in values if name not in layout.kinds]:
        if name not in traits.hidden:
            layout = layout.having(name, _infer(obj, name, values))
    set_layout(obj, layout)
    if len(values) == len(layout.kinds):
        return values
    return {name: values[name] for name in layout.kinds}


def _infer(obj: Any, name: str, values: dict[str, Any]) -> Kind:
    """Return the kind of an attribute that is there without one."""
    value, mark = values[name], None
    if type(value) is Marked:
        mark, value = value.kind, value.value
        values[name] = value
    traits = type(obj)._leafwise_traits
    return decide(Attribute(traits, name, None, building=True), value, mark)


def finish(obj: Any) -> None:
    """Look through a new object: nothing static may hold data by now."""
    set_building(obj, False)
    values = obj.__dict__
    if len(values) != len(obj._leafwise_layout.kinds):
        settle(obj)
    traits = type(obj)._leafwise_traits
    if traits.pytree and (traits.declared or values):
        look_through(obj)


def look_through(obj: Any) -> None:
    """Look through the attributes of an object, and then through its items."""
    traits = type(obj)._leafwise_traits
    layout = before = obj._leafwise_layout
    values = obj.__dict__
    kinds = layout.kinds
    for name in [name for name, v in values.items() if type(v) not in learned.plain]:
        value, kind = values[name], kinds.get(name)
        if kind is None or (kind is not _STATIC and type(value) in learned.settled):
            continue
        now = recheck(Attribute(traits, name, kind, building=False), value)
        if now is not kind:
            layout = layout.having(name, now)
    if layout is not before:
        set_layout(obj, layout)
    obj._leafwise_recheck_items()


def check(obj: Any, name: Any, value: Any) -> None:
    """Refuse a value that an attribute cannot have; write nothing.

    Raises:
        KindError: It cannot.
    """
    cls = type(obj)
    known = obj._leafwise_layout.kinds.get(name)
    if known is not None or not _is_kept_elsewhere(cls, name):
        decide(
            Attribute(cls._leafwise_traits, name, known, building=False), value, None
        )


def store(obj: Any, name: Any, value: Any) -> Callable[[], None]:
    """Assign an attribute; return a function that takes it back."""
    kind = obj._leafwise_layout.kinds.get(name)
    old = vars(obj)[name] if kind is not None else None
    assign(obj, name, value)

    def take_back() -> None:
        layout = obj._leafwise_layout
        if kind is not None:
            vars(obj)[name] = old
            set_layout(obj, layout.having(name, kind))
        elif name in layout.kinds:
            del vars(obj)[name]
            set_layout(obj, layout.lacking(name))

    return take_back


def reconsider(obj: Any) -> None:
    """Let what is static in an unchecked object be data, if it holds some by now."""
    traits = type(obj)._leafwise_traits
    settle(obj)
    layout = obj._leafwise_layout
    for name, kind in [*layout.kinds.items()]:
        value = vars(obj)[name]
        if kind is _STATIC and type(value) not in learned.plain:
            attribute = Attribute(traits, name, None, building=False)
            layout = layout.having(name, decide(attribute, value, None))
    set_layout(obj, layout)


def is_unchecked(cls: type) -> bool:
    """Say whether nobody checks the attributes of a class's objects."""
    traits = getattr(cls, "_leafwise_traits", None)
    return traits is not None and not traits.pytree


def blank(cls: Any, kinds: Iterable[tuple[str, Kind]]) -> Any:
    """Return an object without values that knows the kinds they will have."""
    made = object.__new__(cls)
    put_layout(made, layout_of(cls._leafwise_traits.family, kinds))
    return made

"""`List`, `Dict` and `Sequential`: containers that know which items are data.

Owns what a container keeps beside its attributes, each item with a kind of its own, and
the methods of lists and dicts on it.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    MutableSequence,
    Sequence,
)
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar, overload

from ..core.keys import DictKey, SequenceKey
from ..core.node import BoundRule, Brackets, Rule
from ..core.serial import read_value, write_value
from ..kinds import Kind, Marked
from ..layout import Sketch
from ..safely import class_name, described, shown, type_name
from .checks import check_level, learned, levels
from .instance import (
    Attribute,
    compared_statics,
    decide,
    read_statics,
    recheck,
    write_statics,
)
from .pytree import Pytree, child_of
from .spec import (
    Family,
    FieldLayout,
    Layout,
    OwnLayout,
    StaticMetadata,
    layout_of,
    picker,
    same_statics,
)


__all__ = [
    "Dict",
    "List",
    "Sequential",
]

_STATIC: Final = Kind.STATIC
_FEW: Final = 256


def _container_rule(cls: Any, base: Any) -> Rule:
    """Return the rule of a class whose objects have items beside attributes."""

    def flatten(node: Any) -> tuple[Sequence[Any], Any]:
        children, aux = base.flatten(node)
        items, more = node._leafwise_take()
        return (*children, *items) if children else items, (aux, more)

    def fill(node: Any, aux: Any, children: Any) -> Any:
        start = len(aux[0].field_layout.data)
        base.unflatten_into(node, aux[0], children[:start])
        node._leafwise_put(aux[1], children[start:])
        return node

    def unflatten(aux: Any, children: Any) -> Any:
        return fill(object.__new__(cls), aux, children)

    return _ContainerRule(
        cls, base, flatten=flatten, unflatten=unflatten, unflatten_into=fill
    )


class _ContainerRule(BoundRule):
    """The rule of such a class; the aux data is that of attributes and of items."""

    cls: Any
    base: Any

    def __init__(self, cls: type, base: Rule, **given: Any) -> None:
        object.__setattr__(self, "base", base)
        super().__init__(
            cls,
            where=base.where,
            adapt=base.adapt,
            codec=(self._write, self._read),
            **given,
        )

    def _write(self, aux: Any) -> Any:
        return [write_statics(aux[0]), self.cls._leafwise_write_items(aux[1])]

    def _read(self, written: Any) -> Any:
        attributes = self.base.codec[1](written[0])
        return attributes, self.cls._leafwise_read_items(written[1])

    def keys(self, aux: Any, _arity: int) -> Sequence[Any]:
        return (*aux[0].field_layout.keys, *aux[1].field_layout.keys)

    def same_aux(self, a: Any, b: Any) -> bool:
        return same_statics(a[0], b[0]) and same_statics(a[1], b[1])

    def hash_aux(self, aux: Any) -> int:
        return hash(aux)

    def compared_aux(self, aux: Any) -> Any:
        return [*map(compared_statics, aux)]

    def brackets(self, aux: Any, _arity: int) -> Brackets:
        inside = ", ".join(filter(None, map(repr, aux)))
        return (
            f"CustomNode({class_name(self.cls, qualified=False)}[{inside}], [",
            None,
            "])",
        )

    def describe(self, aux: Any, _arity: int) -> str:
        items, attributes = aux[1].describe(), aux[0].describe()
        return f"{class_name(self.cls)} with items: {items}; attributes: {attributes}"

    def validate(self, arity: int, aux: Any) -> bool:
        if type(aux) is not tuple or len(aux) != 2:
            return False
        if type(aux[1]) is not StaticMetadata:
            return False
        items = len(aux[1].field_layout.data)
        return items <= arity and self.base.validate(arity - items, aux[0])


class Container(Pytree):
    """Base of objects that have items besides their attributes."""

    if TYPE_CHECKING:

        def _leafwise_take(self) -> tuple[Sequence[Any], StaticMetadata]: ...

        def _leafwise_put(
            self, aux: StaticMetadata, children: Sequence[Any]
        ) -> None: ...

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
        attribute = Attribute(self._leafwise_spec, name, kind, True, key)
        return value, decide(attribute, value, mark)

    def _leafwise_recheck(self, name: Any, value: Any, kind: Kind) -> Kind:
        """Look through an item that is there; return its kind."""
        if type(value) in (learned.plain if kind is _STATIC else learned.settled):
            return kind
        key = type(self)._leafwise_item_key
        return recheck(Attribute(self._leafwise_spec, name, kind, False, key), value)


class Positions:
    """How the items of a `List` are flattened: a `FieldLayout` for positions.

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
    """Return how a list of items of these kinds is flattened."""
    mark = tuple([kind._value_ for kind in kinds])
    return _known_positions(mark) if len(mark) <= _FEW else Positions(mark)


T = TypeVar("T")
_put: Final = object.__setattr__


class List(Container, MutableSequence[T], Generic[T]):
    """A list whose items are data or static, like attributes of a `Pytree`.

    Arrays and other data are children, and everything else is static. Wrap an item in
    `data(...)` or `static(...)` to choose otherwise. Inserting and deleting items moves
    values and kinds together.

    Args:
        items: The items.

    Raises:
        KindError: An item holds data but would be static.
        IndexError: A position is out of bounds.
        TypeError: A position is not an integer.
        ValueError: A slice is assigned a different number of items.

    Example:
        >>> import leafwise as lw
        >>> layers = lw.nn.List([lw.data(1.0), "tanh"])
        >>> layers.insert(0, lw.data(0.5))
        >>> [(str(path), leaf) for path, leaf in lw.tree_leaves_with_path(layers)]
        [('[0]', 0.5), ('[1]', 1.0)]
        >>> layers[:]
        [0.5, 1.0, 'tanh']

    Modelled on `flax.nnx.List`.
    """

    __slots__ = ("_leafwise_item_kinds", "_leafwise_items")

    _leafwise_item_key = SequenceKey

    if TYPE_CHECKING:
        _leafwise_items: list[Any]
        _leafwise_item_kinds: list[Kind]

    if not TYPE_CHECKING:

        def __new__(cls, *args: Any, **kwargs: Any) -> Self:
            """Make a list without items."""
            made = super().__new__(cls, *args, **kwargs)
            _put(made, "_leafwise_items", [])
            _put(made, "_leafwise_item_kinds", [])
            return made

    def __init__(self, items: Iterable[T] = ()) -> None:
        self.extend(items)

    def __len__(self) -> int:
        return len(self._leafwise_items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._leafwise_items)

    def append(self, value: T) -> None:
        """Append an item."""
        self.insert(len(self), value)

    def insert(self, index: int, value: T) -> None:
        """Insert an item before a position; the items after it keep their kinds."""
        if levels.token is not None:
            check_level(self, f"[{index}]")
        place = slice(operator.index(index), None).indices(len(self))[0]
        bare, kind = self._leafwise_decide(place, value, None)
        self._leafwise_items.insert(place, bare)
        self._leafwise_item_kinds.insert(place, kind)

    def reverse(self) -> None:
        """Reverse the items in place, each with its kind."""
        check_level(self, "")
        self._leafwise_items.reverse()
        self._leafwise_item_kinds.reverse()

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> list[T]: ...

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._leafwise_items[index]
        return self._leafwise_items[self._place(index)]

    @overload
    def __setitem__(self, index: int, value: T) -> None: ...

    @overload
    def __setitem__(self, index: slice, value: Iterable[T]) -> None: ...

    def __setitem__(self, index: Any, value: Any) -> None:
        if levels.token is not None:
            check_level(self, f"[{index}]")
        if isinstance(index, slice):
            places = range(*index.indices(len(self)))
            values = [*value]
            if len(values) != len(places):
                raise ValueError(
                    f"Length mismatch: {len(values)} items for a slice of "
                    f"{len(places)}; use del and insert to change the length"
                )
        else:
            places, values = [self._place(index)], [value]  # type: ignore[assignment]  # both are sequences
        kinds = self._leafwise_item_kinds
        decided = [
            self._leafwise_decide(place, item, kinds[place])
            for place, item in zip(places, values, strict=True)
        ]
        for place, (bare, kind) in zip(places, decided, strict=True):
            self._leafwise_items[place] = bare
            kinds[place] = kind

    def __delitem__(self, index: int | slice) -> None:
        if levels.token is not None:
            check_level(self, f"[{index}]")
        place = index if isinstance(index, slice) else self._place(index)
        del self._leafwise_items[place]
        del self._leafwise_item_kinds[place]

    def _place(self, index: Any) -> int:
        """Return a position counted from the start."""
        try:
            place = operator.index(index)
        except TypeError:
            raise TypeError(
                f"{type_name(self)} takes integers and slices, got {described(index)}"
            ) from None
        size = len(self)
        if not -size <= place < size:
            raise IndexError(
                f"position {place} is out of bounds for a {type_name(self)} of "
                f"{size} items"
            )
        return place + size if place < 0 else place

    def _leafwise_take(self) -> tuple[Sequence[Any], StaticMetadata]:
        fields: Any = positions(self._leafwise_item_kinds)
        items = self._leafwise_items
        return fields.children(items), StaticMetadata(fields, fields.statics(items))

    def _leafwise_put(self, aux: Any, children: Sequence[Any]) -> None:
        fields = aux.field_layout
        items: list[Any] = [*children]
        for place, value in zip(fields.static, aux.values, strict=True):
            items.insert(place, value)
        _put(self, "_leafwise_items", items)
        _put(self, "_leafwise_item_kinds", [*fields.kinds])

    def _leafwise_check(self, key: Any, value: Any) -> None:
        if not isinstance(key, int):
            super()._leafwise_check(key, value)
        elif key == len(self):
            self._leafwise_decide(key, value, None)
        else:
            place = self._place(key)
            self._leafwise_decide(place, value, self._leafwise_item_kinds[place])

    def _leafwise_store(self, key: Any, value: Any) -> Any:
        if not isinstance(key, int):
            return super()._leafwise_store(key, value)
        items, kinds = self._leafwise_items, self._leafwise_item_kinds
        place = slice(key, key + 1)
        before = items[place], kinds[place]
        if key == len(items):
            self.append(value)
        else:
            self[key] = value

        def take_back() -> None:
            items[place], kinds[place] = before

        return take_back

    @classmethod
    def _leafwise_write_items(cls, aux: Any) -> Any:
        return [[*aux.field_layout.mark], [*map(write_value, aux.seen)]]

    @classmethod
    def _leafwise_read_items(cls, written: Any) -> StaticMetadata:
        mark, values = written
        fields: Any = Positions(tuple(mark))
        if len(fields.static) != len(values):
            raise ValueError("as many values as there are static items")
        return StaticMetadata(fields, tuple(map(read_value, values)))

    def _leafwise_recheck_items(self) -> None:
        kinds = self._leafwise_item_kinds
        for place, value in enumerate([*self._leafwise_items]):
            kinds[place] = self._leafwise_recheck(place, value, kinds[place])

    def __getstate__(self) -> Any:
        items, kinds = [*self._leafwise_items], [*self._leafwise_item_kinds]
        return super().__getstate__(), items, kinds

    def __setstate__(self, state: Any) -> None:
        attributes, items, kinds = state
        _put(self, "__dict__", attributes)
        _put(self, "_leafwise_items", items)
        _put(self, "_leafwise_item_kinds", kinds)

    def _leafwise_sketch(self) -> Sketch:
        pairs = zip(self._leafwise_items, self._leafwise_item_kinds, strict=True)
        items = [
            child_of(SequenceKey(place), value, kind)
            for place, (value, kind) in enumerate(pairs)
        ]
        rest = super()._leafwise_sketch().children
        return Sketch([*items, *rest], f"{type_name(self)}([", "])")


class Sequential(List[Any]):
    """A list of functions to call in order, each with the result of the previous one.

    A tuple is passed on as positional arguments, a dict as keyword arguments. An empty
    `Sequential` returns its argument.

    Args:
        *functions: The functions; an item that is a `Pytree` is data.

    Raises:
        TypeError: An item is not callable.

    Example:
        >>> from leafwise import nn
        >>> chain = nn.Sequential(lambda x: (x, x + 1), lambda a, b: a * b)
        >>> chain(3)
        12

    Modelled on `flax.nnx.Sequential`.
    """

    def __init__(self, *functions: Any) -> None:
        super().__init__(functions)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the functions, one after another."""
        result: Any = _handed_back(args, kwargs)
        for place, function in enumerate(self):
            if not callable(function):
                raise TypeError(
                    f"item {place} of {type_name(self)} cannot be called: it is "
                    f"{type_name(function)}"
                )
            result = function(*args, **kwargs)
            args, kwargs = (result,), {}
            if type(result) is tuple:
                args = result
            elif type(result) is dict:
                args, kwargs = (), result
        return result


def _handed_back(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what a chain without functions returns."""
    if kwargs and not args:
        return kwargs
    return args[0] if len(args) == 1 else args or None


# ------------------------------------------------------------------------- Dict


class Dict(Container, MutableMapping[str, T], Generic[T]):
    """A dict whose items are data or static, like attributes of a `Pytree`.

    You can access items by key and, unless a method has the same name, as attributes.
    Arrays and other data are children, and everything else is static. Wrap a value in
    `data(...)` or `static(...)` to choose otherwise.

    Args:
        *items: A mapping, or pairs of keys and values.
        **more: Further items.

    Raises:
        KindError: An item holds data but would be static.
        KeyError: There is no item with this key.
        TypeError: A key is not a string.
        AttributeError: The name of an assigned attribute is that of a method.

    Example:
        >>> import leafwise as lw
        >>> weights = lw.nn.Dict(keys=lw.data(1.0), name="w")
        >>> lw.tree_leaves(weights), weights["keys"], weights.name
        ([1.0], 1.0, 'w')
        >>> str(lw.tree_paths(weights)[0])
        "['keys']"

    Modelled on `flax.nnx.Dict`.
    """

    __slots__ = ("_leafwise_item_layout", "_leafwise_items")

    _leafwise_item_key = DictKey
    _leafwise_family: Family

    if TYPE_CHECKING:
        _leafwise_items: dict[str, Any]
        _leafwise_item_layout: Layout | OwnLayout

    def __eq__(self, other: object) -> bool:
        return self is other or NotImplemented

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._leafwise_family = Family(cls, cls._leafwise_spec.order, DictKey)

    def __init__(
        self, *items: Mapping[str, T] | Iterable[tuple[str, T]], **more: T
    ) -> None:
        self.update(*items, **more)

    def __len__(self) -> int:
        return len(self._leafwise_items)

    def __iter__(self) -> Iterator[str]:
        return iter(self._leafwise_items)

    def __getitem__(self, key: str) -> T:
        return self._leafwise_items[key]  # type: ignore[no-any-return]  # items are T

    def __setitem__(self, key: str, value: T) -> None:
        if levels.token is not None:
            check_level(self, f"[{shown(key)}]")
        if not isinstance(key, str):
            raise TypeError(
                f"the keys of a {type_name(self)} are strings, got {described(key)}"
            )
        layout = self._leafwise_item_layout
        known = layout.kinds.get(key)
        bare, kind = self._leafwise_decide(key, value, known)
        self._leafwise_items[key] = bare
        if kind is not known:
            _put(self, "_leafwise_item_layout", layout.having(key, kind))

    def __delitem__(self, key: str) -> None:
        if levels.token is not None:
            check_level(self, f"[{shown(key)}]")
        del self._leafwise_items[key]
        _put(self, "_leafwise_item_layout", self._leafwise_item_layout.lacking(key))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> T: ...

        def __setattr__(self, name: str, value: T) -> None: ...

    else:

        def __new__(cls, *args: Any, **kwargs: Any) -> Self:
            """Make a dict without items."""
            made = super().__new__(cls, *args, **kwargs)
            _put(made, "_leafwise_items", {})
            _put(made, "_leafwise_item_layout", cls._leafwise_family.root)
            return made

        def __getattr__(self, name: str) -> Any:
            try:
                return object.__getattribute__(self, "_leafwise_items")[name]
            except (KeyError, AttributeError):
                raise AttributeError(
                    f"{type_name(self)} has no item or attribute {shown(name)}"
                ) from None

        def __setattr__(self, name: str, value: Any) -> None:
            if name.startswith("_"):
                super().__setattr__(name, value)
            elif hasattr(type(self), name):
                raise AttributeError(
                    f"{shown(name)} is a reserved name of {type_name(self)}; write "
                    f"obj[{shown(name)}] = ... for an item"
                )
            else:
                self[name] = value

        def __delattr__(self, name: str) -> None:
            if name in self._leafwise_items:
                del self[name]
            else:
                super().__delattr__(name)

    def _leafwise_fields(self) -> FieldLayout:
        return self._leafwise_item_layout.fixed.field_layout

    def _leafwise_take(self) -> tuple[Sequence[Any], StaticMetadata]:
        fields, items = self._leafwise_fields(), self._leafwise_items
        return fields.children(items), StaticMetadata(fields, fields.statics(items))

    def _leafwise_put(self, aux: StaticMetadata, children: Sequence[Any]) -> None:
        fields = aux.field_layout
        values = fields.ordered((*children, *aux.values))
        _put(self, "_leafwise_items", dict(zip(fields.names, values, strict=True)))
        _put(self, "_leafwise_item_layout", fields.layout)

    def _leafwise_check(self, key: Any, value: Any) -> None:
        if key in self._leafwise_layout.kinds:
            super()._leafwise_check(key, value)
        else:
            known = self._leafwise_item_layout.kinds.get(key)
            self._leafwise_decide(key, value, known)

    def _leafwise_store(self, key: Any, value: Any) -> Any:
        if key in self._leafwise_layout.kinds:
            return super()._leafwise_store(key, value)
        layout, items = self._leafwise_item_layout, self._leafwise_items
        kind, old = layout.kinds.get(key), items.get(key)
        self[key] = value

        def take_back() -> None:
            layout = self._leafwise_item_layout
            if kind is None:
                del self[key]
            else:
                items[key] = old
                _put(self, "_leafwise_item_layout", layout.having(key, kind))

        return take_back

    def _leafwise_drop(self, key: Any) -> None:
        if key in self._leafwise_items:
            del self[key]
        else:
            super()._leafwise_drop(key)

    @classmethod
    def _leafwise_write_items(cls, aux: StaticMetadata) -> Any:
        return write_statics(aux)

    @classmethod
    def _leafwise_read_items(cls, written: Any) -> StaticMetadata:
        return read_statics(cls._leafwise_family, written)

    def _leafwise_recheck_items(self) -> None:
        layout = self._leafwise_item_layout
        for key, value in [*self._leafwise_items.items()]:
            kind = self._leafwise_recheck(key, value, layout.kinds[key])
            if kind is not layout.kinds[key]:
                layout = layout.having(key, kind)
        _put(self, "_leafwise_item_layout", layout)

    def __getstate__(self) -> Any:
        kinds = tuple(self._leafwise_item_layout.kinds.items())
        return super().__getstate__(), dict(self._leafwise_items), kinds

    def __setstate__(self, state: Any) -> None:
        attributes, items, kinds = state
        _put(self, "__dict__", attributes)
        _put(self, "_leafwise_items", items)
        layout = layout_of(type(self)._leafwise_family, kinds)
        _put(self, "_leafwise_item_layout", layout)

    def _leafwise_sketch(self) -> Sketch:
        kinds = self._leafwise_item_layout.kinds
        items = [
            child_of(DictKey(key), value, kinds[key])
            for key, value in self._leafwise_items.items()
        ]
        rest = super()._leafwise_sketch().children
        return Sketch([*items, *rest], f"{type_name(self)}({{", "})")


Dict._leafwise_family = Family(Dict, Dict._leafwise_spec.order, DictKey)

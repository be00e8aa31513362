"""`List`, `Dict` and `Sequential`: containers that know which items are data.

The items are in the same table as the attributes, each with a kind of its own.
"""

from __future__ import annotations

from collections.abc import (
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    MutableSequence,
    Sequence,
)
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from .._hooks import hooks
from .._text import safe_repr, typed_repr
from ..errors import StructureError
from .checks import check_level
from .instance import assign, decide, drop, kinds_in, record_of, unmarked
from .module import Module, ModuleSpec
from .statics import Kinds


__all__ = ["Dict", "List", "Sequential"]

T = TypeVar("T")


def _place_of(items: Sequence[Any], index: Any) -> int:
    """Return a position counted from the start."""
    try:
        place: int = range(len(items))[index]
    except IndexError:
        raise IndexError(
            f"position {index} is out of bounds for a {type(items).__name__} of "
            f"{len(items)} items"
        ) from None
    return place


class _ListSpec(ModuleSpec):
    """The description of lists, whose items have their positions as names."""

    has_items = True
    brackets = ("([", "])")

    def entry_name(self, obj: Any, part: Any) -> Any:
        """Return the name of an attribute, or a position counted from the start.

        The position after the last one is that of a new item.
        """
        if isinstance(part, str) and part.isdecimal():
            raise StructureError(f"the positions of a List are ints, got {part!r}")
        is_old_place = isinstance(part, int) and part != len(obj)
        return _place_of(obj, part) if is_old_place else part


class List(Module, MutableSequence[T], Generic[T], spec=_ListSpec):
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

    def __init__(self, items: Iterable[T] = ()) -> None:
        self.extend(items)

    def __len__(self) -> int:
        # The items are at 0, 1, 2 and so on, beside attributes. No count is stored,
        # because rebuilding an object sets its table alone.
        values: dict[Any, Any] = vars(self)
        size = len(values)
        while size and size - 1 not in values:
            size -= 1
        return size

    def __eq__(self, other: object) -> bool:
        if isinstance(other, list | List):
            return self is other or list(self) == list(other)
        return NotImplemented

    def __hash__(self) -> int:  # `__eq__` alone would make lists unhashable
        return object.__hash__(self)

    def append(self, value: T) -> None:
        """Append an item."""
        if hooks.trace_level is not None:
            check_level(self, f"[{len(self)}]")
        assign(self, len(self), value)

    def insert(self, index: int, value: T) -> None:
        """Insert an item before a position; the items after it keep their kinds."""
        check_level(self, f"[{index}]")
        bare, mark = unmarked(value)
        # As a new item: the kind of the item that is at this place now moves with it.
        kind = decide(self, len(self), bare, mark)
        pairs = self._pairs()
        pairs.insert(index, (bare, kind))
        self._refill(pairs)

    def reverse(self) -> None:
        """Reverse the items in place, each with its kind."""
        check_level(self, "")
        self._refill(self._pairs()[::-1])

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> list[T]: ...

    def __getitem__(self, index: Any) -> Any:
        values: dict[Any, Any] = vars(self)
        if isinstance(index, slice):
            return [values[place] for place in range(len(self))[index]]
        if type(index) is not int or index not in values:
            index = _place_of(self, index)
        return values[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        check_level(self, f"[{index}]")
        if not isinstance(index, slice):
            assign(self, _place_of(self, index), value)
            return
        places = range(len(self))[index]
        values = list(value)
        if len(values) != len(places):
            raise ValueError(
                f"Length mismatch: {len(values)} items for a slice of {len(places)}"
            )
        # All are checked before the first one is assigned.
        for place, item in zip(places, values, strict=True):
            bare, mark = unmarked(item)
            decide(self, place, bare, mark)
        for place, item in zip(places, values, strict=True):
            assign(self, place, item)

    def __delitem__(self, index: int | slice) -> None:
        check_level(self, f"[{index}]")
        pairs = self._pairs()
        del pairs[index]
        self._refill(pairs)

    def _pairs(self) -> list[tuple[Any, Any]]:
        """Return the items with their kinds."""
        values: dict[Any, Any] = vars(self)
        kinds = kinds_in(self)
        return [(values[place], kinds[place]) for place in range(len(self))]

    def _refill(self, pairs: Sequence[tuple[Any, Any]]) -> None:
        """Replace all items."""
        values: dict[Any, Any] = vars(self)
        kinds: Kinds = {}
        for name, kind in kinds_in(self).items():
            if type(name) is str:
                kinds[name] = kind
        for place in range(len(self)):
            del values[place]
        for place, (value, kind) in enumerate(pairs):
            values[place] = value
            kinds[place] = kind
        record_of(self).fields = kinds


class Sequential(List[Any]):
    """A list of functions to call in order, each with the result of the previous one.

    A tuple is passed on as positional arguments, a dict as keyword arguments. An empty
    `Sequential` returns its argument.

    Args:
        *functions: The functions; an item that is a `Pytree` is data.

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
        # What an empty one returns: its argument, or its arguments in one value.
        result: Any = args[0] if len(args) == 1 else args or kwargs or None
        for function in self:
            result = function(*args, **kwargs)
            args = (result,)
            kwargs = {}
            if type(result) is tuple:
                args = result
            elif type(result) is dict:
                args = ()
                kwargs = result
        return result


# ------------------------------------------------------------------------- Dict


class _DictSpec(ModuleSpec):
    """The description of dicts, whose items have their keys as names, in tuples."""

    has_items = True
    brackets = ("({", "})")

    def entry_name(self, obj: Any, part: Any) -> Any:
        """Return the name of an attribute if there is one, else that of an item."""
        return part if part in kinds_in(obj) else (part,)


class Dict(Module, MutableMapping[str, T], Generic[T], order="name", spec=_DictSpec):
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

    def __eq__(self, other: object) -> bool:
        if isinstance(other, dict | Dict):
            return self is other or dict(self) == dict(other)
        return NotImplemented

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __init__(
        self, *items: Mapping[str, T] | Iterable[tuple[str, T]], **more: T
    ) -> None:
        self.update(*items, **more)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[str]:
        names: dict[Any, Any] = vars(self)
        return (name[0] for name in names if type(name) is tuple)

    def __getitem__(self, key: str) -> T:
        values: dict[Any, T] = vars(self)
        try:
            return values[(key,)]
        except KeyError:
            raise KeyError(key) from None

    def __setitem__(self, key: str, value: T) -> None:
        if hooks.trace_level is not None:
            check_level(self, f"[{safe_repr(key)}]")
        if not isinstance(key, str):
            raise TypeError(
                f"the keys of a {type(self).__name__} are strings, got "
                f"{typed_repr(key)}"
            )
        assign(self, (key,), value)

    def __delitem__(self, key: str) -> None:
        _ = self[key]
        drop(self, (key,))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> T: ...

        def __setattr__(self, name: str, value: T) -> None: ...

    else:

        def __getattr__(self, name: str) -> Any:
            try:
                return self.__dict__[(name,)]
            except KeyError:
                raise AttributeError(
                    f"{type(self).__name__} has no item or attribute {safe_repr(name)}"
                ) from None

        def __setattr__(self, name: str, value: Any) -> None:
            if name.startswith("_"):  # as attributes of a subclass usually do
                super().__setattr__(name, value)
            elif hasattr(type(self), name):
                # Reading `obj.items` would give the method, not the item.
                raise AttributeError(
                    f"{safe_repr(name)} is a reserved name of {type(self).__name__}; "
                    f"write obj[{safe_repr(name)}] = ... for an item"
                )
            else:
                self[name] = value

        def __delattr__(self, name: str) -> None:
            if name in self:
                del self[name]
            else:
                super().__delattr__(name)

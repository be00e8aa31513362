"""`State`: the values of an object, nested by the names that lead to them.

Owns the mapping, its flat form, and what operators do. Further functions are in
`state_tools`; how it is taken out of objects and put back says `graph`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from ..core.auxdata import clip
from ..core.builtins import DICT
from ..core.node import Brackets, Rule
from ..core.registry import GLOBAL, install
from ..core.safely import printed, shown
from ..core.suggestions import is_near
from ..core.values import alike
from ..show.text import Block, render
from . import statics
from .arrays import DataNode
from .filters import Filter, predicates
from .variables import Variable


__all__ = [
    "FlatState",
    "State",
    "diff_state",
    "divide",
    "from_flat_state",
    "left_over",
    "merge_state",
    "stored",
    "to_flat_state",
    "unknown",
    "unlink",
    "view",
    "walk_state",
]

if TYPE_CHECKING:
    import typing_extensions

    K = typing_extensions.TypeVar("K", default=Any)
    V = typing_extensions.TypeVar("V", default=Any)
else:
    K, V = TypeVar("K"), TypeVar("V")

Path: TypeAlias = tuple[Any, ...]
_put: Final = object.__setattr__


class State(MutableMapping[K, V], DataNode, Generic[K, V]):
    """Values nested by names, positions and keys: what an object holds.

    A mutable mapping, by items and by attributes. A mapping inside comes as a `State`
    that shares its storage, so changes through it are seen. As a tree it is like a
    dict, and its values are children.

    Args:
        items: A mapping, or pairs; nested mappings are taken as they are.

    Raises:
        KeyError: There is no such item; the text has the nearest ones.

    Example:
        >>> import leafwise as lw
        >>> state = lw.State({"layers": {0: {"w": 1.0}}, "step": 3})
        >>> state.layers[0].w = 2.0
        >>> state
        State({
          'layers': {
            0: {
              'w': 2.0
            }
          },
          'step': 3
        })
        >>> lw.tree_leaves(state)
        [2.0, 3]

    The idea is that of `flax.nnx.State`.
    """

    __slots__ = ("__weakref__", "_leafwise_items")

    _leafwise_items: dict[Any, Any]

    def __init__(
        self, items: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = ()
    ) -> None:
        pairs = items.items() if isinstance(items, Mapping) else items
        _put(self, "_leafwise_items", {key: stored(value) for key, value in pairs})

    def __getitem__(self, key: Any) -> Any:
        items = self._leafwise_items
        if key not in items:
            raise KeyError(unknown(key, items))
        value = items[key]
        return view(value) if type(value) is dict else value

    def __setitem__(self, key: Any, value: Any) -> None:
        self._leafwise_items[key] = stored(value)

    def __delitem__(self, key: Any) -> None:
        if key not in self._leafwise_items:
            raise KeyError(unknown(key, self._leafwise_items))
        del self._leafwise_items[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._leafwise_items)

    def __len__(self) -> int:
        return len(self._leafwise_items)

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_leafwise", "__")):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(*error.args) from None

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "__orig_class__":  # typing sets it, and does not mind if it cannot
            raise AttributeError(name)
        if hasattr(type(self), name):
            raise AttributeError(
                f"{name!r} is a name that State itself uses; write "
                f"state[{name!r}] = ..."
            )
        self[name] = value

    def __delattr__(self, name: str) -> None:
        try:
            del self[name]
        except KeyError as error:
            raise AttributeError(*error.args) from None

    def __or__(self, other: Mapping[Any, Any]) -> State:
        return merge_state(self, other)

    def __sub__(self, other: Mapping[Any, Any]) -> State:
        return diff_state(self, other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        mine, theirs = ([*walk_state(state)] for state in (self, other))
        if len(mine) != len(theirs):
            return False
        known = {_exact(path): value for path, value in theirs}
        return all(
            _exact(path) in known and _same_value(value, known[_exact(path)])
            for path, value in mine
        )

    __hash__ = None  # type: ignore[assignment]  # it can be changed

    def __copy__(self) -> State:
        return from_flat_state(dict(walk_state(self)))

    def __reduce__(self) -> Any:
        return State, (self._leafwise_items,)

    def _leafwise_block(self, *, nested: bool) -> Block:
        return _block(self._leafwise_items, "State(", ")")

    def __repr__(self) -> str:
        return render(self)

    def __str__(self) -> str:
        return render(self, whole=True)


class _Level:
    """A mapping inside a state, for printing."""

    __slots__ = ("items",)

    def __init__(self, items: dict[Any, Any]) -> None:
        self.items = items

    def _leafwise_block(self, *, nested: bool) -> Block:
        return _block(self.items, "", "")


def _block(items: dict[Any, Any], opening: str, closing: str) -> Block:
    pairs = [
        (f"{shown(key)}: ", _Level(value) if type(value) is dict else value)
        for key, value in items.items()
    ]
    return Block(f"{opening}{{", pairs, f"}}{closing}")


def view(items: dict[Any, Any]) -> State:
    """Return a state that shares its storage with a dict."""
    made = object.__new__(State)
    _put(made, "_leafwise_items", items)
    return made


def stored(value: Any) -> Any:
    """Return a value as it is stored: mappings inside as dicts of their own."""
    if isinstance(value, State):
        return value._leafwise_items
    if not isinstance(value, Mapping) or isinstance(value, DataNode):
        return value
    root: dict[Any, Any] = {}
    stack = [(value, root)]
    while stack:
        source, target = stack.pop()
        for key, item in source.items():
            if isinstance(item, State):
                target[key] = item._leafwise_items
            elif isinstance(item, Mapping) and not isinstance(item, DataNode):
                target[key] = {}
                stack.append((item, target[key]))
            else:
                target[key] = item
    return root


def unknown(key: Any, known: Mapping[Any, Any]) -> str:
    """Return what to say of a key that is not there."""
    near = [
        other
        for other in known
        if printed(other) == printed(key)
        or (isinstance(other, str) and isinstance(key, str) and is_near(key, other))
    ]
    if near:
        return f"no item {shown(key)}; did you mean {shown(near[0])}?"
    listed = ", ".join(map(clip, [*known][:5])) or "none"
    return f"no item {shown(key)}; there are: {listed}"


def _exact(path: Path) -> Path:
    return tuple((type(key), key) for key in path)


def _same_value(a: Any, b: Any) -> bool:
    if isinstance(a, Variable) and type(a) is type(b):
        if not statics.same(a.get_metadata(), b.get_metadata()):
            return False
        a, b = a.get_raw_value(), b.get_raw_value()
    return alike(a, b, typematch=True)


# -------------------------------------------------------------------- flat forms


def walk_state(state: Mapping[Any, Any]) -> Iterator[tuple[Path, Any]]:
    """Yield the values of a state with their paths, in the order of insertion.

    Raises:
        TypeError: It is no state, and no mapping; an object is neither.
    """
    root = stored(state)
    if type(root) is not dict:
        raise TypeError(
            "a state or nested mappings are needed, got "
            f"{type(state).__name__}; leafwise.state gives the state of an object"
        )
    stack: list[tuple[Any, Any]] = [(root, ())]
    while stack:
        value, link = stack.pop()
        if type(value) is dict:
            stack += [(value[key], (link, key)) for key in reversed([*value])]
        else:
            yield unlink(link), value


def unlink(link: Any) -> Path:
    """Return a linked path as a tuple, from the root on."""
    keys = []
    while link:
        link, key = link
        keys.append(key)
    return tuple(reversed(keys))


class FlatState(Mapping[Path, V], Generic[V]):
    """The values of a state by whole paths.

    A mapping from paths to values, in the order of the state; a value that stands at
    two paths of the state stands at both here, and of two values for one path the
    later counts.

    Args:
        items: A mapping from paths to values, or pairs of these.

    Attributes:
        paths: The paths.
        leaves: The values, in the same order.

    Example:
        >>> import leafwise as lw
        >>> flat = lw.to_flat_state(lw.State({"a": {0: 1.0}, "b": "x"}))
        >>> flat.paths, flat.leaves
        ((('a', 0), ('b',)), (1.0, 'x'))
        >>> [len(part) for part in flat.split(float, ...)]
        [1, 1]
    """

    __slots__ = ("_items",)

    def __init__(
        self, items: Mapping[Path, Any] | Iterable[tuple[Path, Any]] = ()
    ) -> None:
        self._items = dict(items)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the paths."""
        return tuple(self._items)

    @property
    def leaves(self) -> tuple[Any, ...]:
        """Return the values, in the order of the paths."""
        return tuple(self._items.values())

    def __getitem__(self, path: Path) -> V:
        return self._items[path]  # type: ignore[no-any-return]  # a V

    def __iter__(self) -> Iterator[Path]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"FlatState({shown(self._items)})"

    def split(self, *filters: Filter) -> tuple[FlatState, ...]:
        """Return one part for each filter; together they must mean everything."""
        parts = divide(self._items.items(), filters, exhaustive=True)
        return tuple(map(FlatState, parts))

    def filter(self, *filters: Filter) -> Any:
        """Return the part that a filter means, or one for each of several."""
        parts = divide(self._items.items(), filters, exhaustive=False)
        made = tuple([FlatState(part) for part in parts])
        return made[0] if len(filters) == 1 else made

    def merge(self, *others: Mapping[Path, Any]) -> FlatState:
        """Return all values together; later ones win."""
        merged = dict(self._items)
        for other in others:
            merged.update(other)
        return FlatState(merged)


def divide(
    items: Iterable[tuple[Path, Any]], filters: tuple[Filter, ...], *, exhaustive: bool
) -> list[list[tuple[Path, Any]]]:
    """Put each value to the first filter that means it.

    Raises:
        ValueError: No filter was given, or, if they must be exhaustive, some values
            are left over.
        TypeError: One is no filter.
    """
    if not filters:
        raise ValueError("give at least one filter")
    tests = predicates(filters)
    parts: list[list[tuple[Path, Any]]] = [[] for _ in tests]
    rest = []
    for path, value in items:
        for test, part in zip(tests, parts, strict=True):
            if test(path, value):
                part.append((path, value))
                break
        else:
            rest.append((path, value))
    if rest and exhaustive:
        raise ValueError(left_over(rest))
    return parts


def left_over(rest: list[tuple[Path, Any]]) -> str:
    """Return what to say of values that no filter means."""
    shown = "\n".join(f"  {path}: {type(value).__name__}" for path, value in rest[:5])
    more = f"\n  and {len(rest) - 5} more" if len(rest) > 5 else ""
    return (
        f"the filters leave {len(rest)} over; add ... as the last filter for the "
        f"rest:\n{shown}{more}"
    )


def to_flat_state(state: Mapping[Any, Any]) -> FlatState:
    """Return the values of a state by whole paths.

    Args:
        state: A state, or nested mappings.

    Raises:
        TypeError: It is an object, or anything else.

    Example:
        >>> import leafwise as lw
        >>> lw.to_flat_state({"a": {0: 1.0}})
        FlatState({('a', 0): 1.0})
    """
    return FlatState(walk_state(state))


def from_flat_state(
    flat: Mapping[Path, Any] | Iterable[tuple[Path, Any]],
) -> State:
    """Return a state from values by whole paths.

    Args:
        flat: A mapping from paths to values, or pairs of these.

    Raises:
        ValueError: A path leads through a value.

    Example:
        >>> import leafwise as lw
        >>> lw.from_flat_state({("a", 0): 1.0})["a"]
        State({
          0: 1.0
        })
    """
    root: dict[Any, Any] = {}
    pairs = flat.items() if isinstance(flat, Mapping) else flat
    for path, value in pairs:
        level = root
        for key in path[:-1]:
            level = level.setdefault(key, {})
            if type(level) is not dict:
                raise ValueError(f"path {path} leads through a value")
        if not path or type(level.get(path[-1])) is dict:
            raise ValueError(f"path {path} leads to no single value")
        level[path[-1]] = value
    return view(root)


def merge_state(*states: Mapping[Any, Any]) -> State:
    """Return several states as one; where two have the same path, the later wins.

    Args:
        *states: The states.

    Example:
        >>> import leafwise as lw
        >>> lw.merge_state({"a": {"x": 1}}, {"a": {"y": 2}}).a.y
        2
    """
    merged: dict[Path, Any] = {}
    for state in states:
        merged.update(walk_state(state))
    return from_flat_state(merged)


def diff_state(state: Mapping[Any, Any], other: Mapping[Any, Any]) -> State:
    """Return what a state has at paths that another one has not.

    Args:
        state: The state.
        other: The other one.

    Example:
        >>> import leafwise as lw
        >>> lw.diff_state({"a": 1, "b": 2}, {"a": 0})
        State({
          'b': 2
        })
    """
    known = {_exact(path) for path, _ in walk_state(other)}
    return from_flat_state(
        (path, value) for path, value in walk_state(state) if _exact(path) not in known
    )


# ------------------------------------------------------------------------- node


def _flatten(node: State) -> Any:
    return DICT.flatten(node._leafwise_items)


def _unflatten(aux: Any, children: Any) -> State:
    return view(DICT.unflatten(aux, children))


def _brackets(aux: Any, arity: int) -> Brackets:
    opening, labels, closing = DICT.brackets(aux, arity)
    return f"CustomNode(State[{opening}", labels, f"{closing}])"


install(
    State,
    lambda _where: Rule(
        cls=State,
        name="custom",
        flatten=_flatten,
        unflatten=_unflatten,
        keys=DICT.keys,
        brackets=_brackets,
        same_aux=DICT.same_aux,
        hash_aux=DICT.hash_aux,
        node_data=DICT.node_data,
        validate=lambda arity, aux: False,
        where=__name__.partition(".")[0],
    ),
    namespace=GLOBAL,
    inherit=False,
    exist_ok=False,
    bridge=True,
)

"""`State`: the values of an object, nested by names, positions and keys.

Owns the mapping, its flat form, and the functions of NNX, which are its methods, too.
How a state is taken out of an object and put back is owned by `graph`.
"""

from __future__ import annotations

from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Generic,
    TypeAlias,
    TypeVar,
    overload,
)

from .._text import is_similar, safe_repr, safe_str, short_repr
from ..core.builtins import DICT, MappingRule
from ..core.codec import AUX_FORMS
from ..core.keys import dict_keys
from ..core.node import Rule
from ..core.registry import install
from ..core.words import WORDS, Brackets, Words, brackets, node_data
from ..equality.leaves import are_same
from ..ops.map import tree_flatten, tree_map
from ..show.pretty import pformat
from .checks import DataNode
from .filters import Filter, partition
from .variables import Variable, bare


__all__ = [
    "FlatState",
    "State",
    "as_pure",
    "diff_state",
    "filter_state",
    "from_flat_state",
    "map_state",
    "merge_state",
    "replace_by_pure_dict",
    "restore_int_paths",
    "split_state",
    "to_flat_state",
    "to_pure_dict",
]

T = TypeVar("T")

if TYPE_CHECKING:
    import typing_extensions

    K = typing_extensions.TypeVar("K", default=Any)
    V = typing_extensions.TypeVar("V", default=Any)
else:
    K, V = TypeVar("K"), TypeVar("V")

Path: TypeAlias = tuple[Any, ...]
_put: Final = object.__setattr__


# ------------------------------------------------------------------------ functions


def walk_state(state: Mapping[Any, Any]) -> Iterator[tuple[Path, Any]]:
    """Return the values of a state with their paths, in the order of insertion.

    Raises:
        TypeError: It is no state, and no mapping; an object is neither.
    """
    if isinstance(state, Variable):
        return iter([((), state)])
    found: list[tuple[Path, Any]] = []
    _add_values(found, as_state(state)._leafwise_items, ())
    return iter(found)


def _add_values(
    found: list[tuple[Path, Any]], items: dict[Any, Any], path: Path
) -> None:
    for key, value in items.items():
        if type(value) is dict:
            _add_values(found, value, (*path, key))
        else:
            found.append(((*path, key), value))


class FlatState(tuple[tuple[Path, V], ...], Generic[V]):
    """The values of a state with their full paths: a sequence of pairs.

    The pairs are in the order of the state. A value that is at two paths of the state
    is at both paths here. `dict(flat)` finds values by path.

    Args:
        pairs: Pairs of a path, which is a tuple of names and positions, and a value.

    Attributes:
        paths: The paths.
        leaves: The values, in the same order.

    Example:
        >>> from leafwise import nn
        >>> flat = nn.to_flat_state(nn.State({"a": {0: 1.0}, "b": "x"}))
        >>> for path, value in flat:
        ...     print(path, value)
        ('a', 0) 1.0
        ('b',) x
        >>> flat.paths, flat.leaves
        ((('a', 0), ('b',)), (1.0, 'x'))

    Modelled on `flax.nnx.FlatState`.
    """

    __slots__ = ()

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the paths."""
        return tuple([path for path, _ in self])

    @property
    def leaves(self) -> tuple[V, ...]:
        """Return the values, in the order of the paths."""
        return tuple([value for _, value in self])


def divide(
    items: Iterable[tuple[Path, Any]], filters: tuple[Filter, ...], *, exhaustive: bool
) -> list[list[tuple[Path, Any]]]:
    """Assign each value to the first filter that matches it.

    Raises:
        ValueError: No filter was given, or, if they must be exhaustive, some values
            are left over.
        TypeError: One is not a filter.
    """
    if not filters:
        raise ValueError("give at least one filter")
    rows = [*items]
    chosen, rest = partition(rows, filters)
    if rest and exhaustive:
        raise ValueError(left_over([rows[index] for index in rest]))
    return [[rows[index] for index in part] for part in chosen]


def left_over(rest: list[tuple[Path, Any]]) -> str:
    """Return the message for values that no filter matches."""
    lines = "\n".join(f"  {path}: {type(value).__name__}" for path, value in rest[:5])
    more = f"\n  and {len(rest) - 5} more" if len(rest) > 5 else ""
    return (
        f"no filter matches {len(rest)} of the values; add ... as the last filter for "
        f"the rest:\n{lines}{more}"
    )


def as_state(state: Mapping[Any, Any]) -> State:
    """Convert nested mappings to a state; a state is returned unchanged.

    Raises:
        TypeError: It is neither; an object is not.
    """
    if isinstance(state, State):
        return state
    root = stored(state)
    if type(root) is not dict:
        raise TypeError(
            f"expected a state or nested mappings, got {type(state).__name__}; "
            "leafwise.nn.state gives the state of an object"
        )
    return view(root)


def to_flat_state(state: Mapping[Any, Any]) -> FlatState:
    """Return the values of a state with their full paths, as a sequence of pairs.

    Args:
        state: A state, or nested mappings.

    Raises:
        TypeError: The argument is an object, or another value that is not a mapping.

    Example:
        >>> from leafwise import nn
        >>> nn.to_flat_state({"a": {0: 1.0}})
        ((('a', 0), 1.0),)
    """
    return FlatState(walk_state(state))


def from_flat_state(
    flat: Mapping[Path, Any] | Iterable[tuple[Path, Any]],
) -> State:
    """Return a state from values by full path.

    Args:
        flat: A mapping from paths to values, or pairs of paths and values.

    Raises:
        ValueError: A path continues below a value.

    Example:
        >>> from leafwise import nn
        >>> nn.from_flat_state({("a", 0): 1.0})["a"]
        State({0: 1.0})
    """
    root: dict[Any, Any] = {}
    for path, value in flat.items() if isinstance(flat, Mapping) else flat:
        level = root
        for key in path[:-1]:
            level = level.setdefault(key, {})
            if type(level) is not dict:
                raise ValueError(f"path {path} continues below a value")
        if not path or type(level.get(path[-1])) is dict:
            raise ValueError(f"path {path} does not name a single value")
        level[path[-1]] = value
    return view(root)


def to_pure_dict(state: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return a state as nested dicts with bare values in place of variables.

    Args:
        state: A state.

    Example:
        >>> from leafwise import nn
        >>> nn.to_pure_dict(nn.State({"a": {0: nn.Param(1.0)}}))
        {'a': {0: 1.0}}
    """
    return map_state(lambda _, value: bare(value), state)._leafwise_items


def as_pure(tree: T) -> T:
    """Return a tree with the values of variables in place of the variables.

    Args:
        tree: A state, an object, or any tree; it is not changed.

    Example:
        >>> from leafwise import nn
        >>> nn.as_pure(nn.State({"a": nn.Param(1.0)}))
        State({'a': 1.0})

    Modelled on `flax.nnx.as_pure`.
    """
    made: T = tree_map(
        lambda x: as_pure(x.get_raw_value()) if isinstance(x, Variable) else x,
        tree,
        is_leaf=Variable,
    )
    return made


def replace_by_pure_dict(state: State, pure: Mapping[Any, Any]) -> None:
    """Set the values of a state from nested dicts of bare values, in place.

    Variables are kept and receive the new values. A string such as `"0"`, as in
    checkpoints, denotes the position `0` unless there is an item with that exact key.

    Args:
        state: The state.
        pure: Nested dicts; they may contain only some of the values.

    Raises:
        ValueError: There is no value at a given path; nothing is changed.

    Example:
        >>> from leafwise import nn
        >>> state = nn.State({"a": {0: nn.Param(1.0)}})
        >>> nn.replace_by_pure_dict(state, {"a": {"0": 2.0}})
        >>> state.a[0].value
        2.0
    """
    flat = dict(walk_state(state))
    by_text = {tuple(map(str, path)): path for path in flat}
    changes = []
    for given, value in walk_state(pure):
        path = given if given in flat else by_text.get(tuple(map(str, given)))
        if path is None:
            raise ValueError(f"there is no value at {given}: {unknown(given, flat)}")
        changes.append((path, value))
    for path, value in changes:
        level, old = state._leafwise_items, flat[path]
        if isinstance(old, Variable):
            old.set_value(value)
            continue
        for key in path[:-1]:
            level = level[key]
        level[path[-1]] = value


def map_state(function: Callable[[Path, Any], Any], state: Mapping[Any, Any]) -> State:
    """Return a state with the results of a function of path and value.

    Args:
        function: Called with each path and value.
        state: The state.

    Example:
        >>> from leafwise import nn
        >>> nn.map_state(lambda path, x: x * 2, {"a": {"b": 1}}).a.b
        2
    """
    return from_flat_state(
        (path, function(path, value)) for path, value in walk_state(state)
    )


@overload
def filter_state(state: Mapping[Any, Any], only: Filter, /) -> State: ...


@overload
def filter_state(
    state: Mapping[Any, Any], first: Filter, second: Filter, /, *more: Filter
) -> tuple[State, ...]: ...


def filter_state(state: Mapping[Any, Any], *filters: Filter) -> Any:
    """Return the part of a state that a filter matches, or one part for each filter.

    Args:
        state: The state.
        *filters: One filter or more; see :mod:`leafwise.nn.filters`.

    Raises:
        ValueError: No filter is given.
        TypeError: An argument is not a filter.

    Example:
        >>> from leafwise import nn
        >>> nn.filter_state({"a": 1, "b": 2.0}, float)
        State({'b': 2.0})
    """
    parts = divide(walk_state(state), filters, exhaustive=False)
    made = tuple(map(from_flat_state, parts))
    return made[0] if len(filters) == 1 else made


def split_state(state: Mapping[Any, Any], *filters: Filter) -> tuple[State, ...]:
    """Return one part of a state for each filter; the first matching filter applies.

    Args:
        state: The state.
        *filters: One filter or more; each value must match one of them.

    Raises:
        ValueError: Some values match no filter, or no filter is given.
        TypeError: An argument is not a filter.

    Example:
        >>> from leafwise import nn
        >>> numbers, rest = nn.split_state({"a": 1, "b": "x"}, int, ...)
        >>> rest.b
        'x'
    """
    parts = divide(walk_state(state), filters, exhaustive=True)
    return tuple(map(from_flat_state, parts))


def merge_state(*states: Mapping[Any, Any]) -> State:
    """Return several states merged; at equal paths the last value wins.

    Args:
        *states: The states.

    Example:
        >>> from leafwise import nn
        >>> nn.merge_state({"a": {"x": 1}}, {"a": {"y": 2}}).a.y
        2
    """
    return from_flat_state(pair for state in states for pair in walk_state(state))


def diff_state(state: Mapping[Any, Any], other: Mapping[Any, Any]) -> State:
    """Return the values of a state at paths that another state does not have.

    Args:
        state: The state.
        other: The other state.

    Example:
        >>> from leafwise import nn
        >>> nn.diff_state({"a": 1, "b": 2}, {"a": 0})
        State({'b': 2})
    """
    paths = {path for path, _ in walk_state(other)}
    return from_flat_state(pair for pair in walk_state(state) if pair[0] not in paths)


def restore_int_paths(pure: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return nested dicts in which string keys that are integers become ints.

    Args:
        pure: Nested dicts, as read from a file.

    Example:
        >>> from leafwise import nn
        >>> nn.restore_int_paths({"layers": {"0": 1.0}})
        {'layers': {0: 1.0}}
    """
    pairs = ((tuple(map(_number_of, path)), value) for path, value in walk_state(pure))
    return from_flat_state(pairs)._leafwise_items


def view(items: dict[Any, Any]) -> State:
    """Return a state that shares its storage with a dict."""
    made = object.__new__(State)
    _put(made, "_leafwise_items", items)
    return made


def stored(value: Any) -> Any:
    """Return a value as it is stored: other mappings are copied to new dicts."""
    if isinstance(value, State):
        return value._leafwise_items
    if not isinstance(value, Mapping) or isinstance(value, DataNode):
        return value
    return {key: stored(item) for key, item in value.items()}


def unknown(key: Any, known: Mapping[Any, Any]) -> str:
    """Return the message for a missing key."""
    name = safe_str(key)
    near = [x for x in known if safe_str(x) == name or is_similar(safe_str(x), name)]
    if near:
        return f"no item {safe_repr(key)}; did you mean {safe_repr(near[0])}?"
    listed = ", ".join(map(short_repr, [*known][:5])) or "none"
    return f"no item {safe_repr(key)}; there are: {listed}"


def _number_of(key: Any) -> Any:
    """Return the number that a key is in text, else the key."""
    is_number = isinstance(key, str) and key.isascii() and key.isdecimal()
    return int(key) if is_number else key


# ------------------------------------------------------------------------ the mapping


class State(MutableMapping[K, V], DataNode, Generic[K, V]):
    """A mapping of an object's values, nested by names, positions and keys.

    A state is mutable, with access by items and by attributes. A nested mapping is
    returned as a `State` that shares its storage, so changes through it are visible. As
    a tree, a state is like a dict: its values are children.

    Args:
        items: A mapping, or pairs of keys and values; nested mappings are accepted.

    Raises:
        KeyError: There is no such item; the message suggests similar keys.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> state = nn.State({"layers": {0: {"w": 1.0}}, "step": 3})
        >>> state.layers[0].w = 2.0
        >>> state
        State({'layers': {0: {'w': 2.0}}, 'step': 3})
        >>> lw.tree_leaves(state)
        [2.0, 3]
        >>> state.to_flat_state().paths
        (('layers', 0, 'w'), ('step',))
        >>> state.map(lambda path, x: x * 2).split(int, ...)[0].to_pure_dict()
        {'step': 6}

    Modelled on `flax.nnx.State`.
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
        _ = self[key]  # which says what there is
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
                f"{name!r} is a reserved name of State; write state[{name!r}] = ..."
            )
        self[name] = value

    def __delattr__(self, name: str) -> None:
        try:
            del self[name]
        except KeyError as error:
            raise AttributeError(*error.args) from None

    to_flat_state, to_pure_dict = to_flat_state, to_pure_dict
    replace_by_pure_dict = replace_by_pure_dict
    from_flat_state = staticmethod(from_flat_state)
    filter, split = filter_state, split_state
    merge = __or__ = merge_state
    diff = __sub__ = diff_state

    def map(self, function: Callable[[Path, Any], Any]) -> State[K, Any]:
        """Return a state with the results of a function of path and value."""
        return map_state(function, self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        leaves, treedef = tree_flatten(self)
        others, structure = tree_flatten(other)
        return treedef == structure and are_same(leaves, others, typematch=True)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # it can be changed

    def __copy__(self) -> State[K, V]:
        return from_flat_state(dict(walk_state(self)))

    def __reduce__(self) -> Any:
        return State, (self._leafwise_items,)

    def __repr__(self) -> str:
        return pformat(self)


# ------------------------------------------------------------------------- node


_dict: Final[Any] = DICT  # its methods are bound, and taken as they are


class _StateRule(Rule):
    """The rule of states, which are flattened as dicts are."""

    keys = _dict.keys
    same = _dict.same
    hash = _dict.hash
    compared_aux = _dict.compared_aux
    arrange = staticmethod(dict_keys)

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        return DICT.flatten(node._leafwise_items)

    def unflatten(self, aux: Any, children: Any) -> Any:
        return view(DICT.unflatten(aux, children))


def _data(_rule: Rule, aux: Any) -> Any:
    return node_data(DICT, aux)


def _brackets(_rule: Rule, aux: Any, arity: int) -> Brackets:
    opening, labels, closing = brackets(DICT, aux, arity)
    return f"CustomNode(State[{opening}", labels, f"{closing}])"


WORDS[_StateRule] = Words(data=_data, brackets=_brackets)
AUX_FORMS[_StateRule] = AUX_FORMS[MappingRule]
install(State, _StateRule, bridge=True, where=__name__.partition(".")[0])

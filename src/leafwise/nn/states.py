"""`State`: the values of an object, nested by names, positions and keys.

A state has its items in a dict, and what is nested in it are states again. The
functions of NNX on states are here, too; most of them are also methods of `State`.
`graph` takes states out of objects and puts them back.
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
from operator import attrgetter
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Generic,
    Self,
    TypeAlias,
    TypeVar,
    overload,
)

from .._hooks import Description
from .._records import MISSING
from .._text import is_similar, safe_repr, safe_str, short_repr
from ..core.builtins import INSERTION_ORDERED
from ..core.codec import AUX_FORMS, AuxForm, Writer, aux_form_of
from ..core.keys import DictKey, given_keys
from ..core.node import NodeType
from ..core.registry import install
from ..core.words import WORDS, Brackets, Words, brackets
from ..equality.leaves import are_same
from ..ops.map import tree_flatten, tree_map
from ..show.pretty import pformat
from ..show.sketch import Child, Sketch
from .checks import DataNode
from .filters import Filter, Path, partition
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
    K = TypeVar("K")
    V = TypeVar("V")

StateLike: TypeAlias = Mapping[Any, Any]
"""A state, or nested mappings in its place."""

Pair: TypeAlias = tuple[Path, Any]
"""A value with its full path."""

_new: Final = object.__new__

items_of: Final[Callable[[Any], dict[Any, Any]]] = attrgetter("_leafwise")
"""Returns the dict that a state keeps its items in."""


# ------------------------------------------------------------------------ functions


def walk_state(state: StateLike) -> Iterator[Pair]:
    """Return the values of a state with their paths, in the order of insertion.

    Raises:
        TypeError: It is no state, and no mapping; an object is neither.
    """
    if isinstance(state, Variable):  # the state of a bare variable is the variable
        return iter([((), state)])
    # All at once, because the caller may change the state while it reads the pairs.
    pairs: list[Pair] = []
    _add_values(pairs, as_state(state), ())
    return iter(pairs)


def _add_values(
    pairs: list[Pair],
    state: State,
    path: Path,
) -> None:
    """Append the values of a state, with their paths, to a list of pairs."""
    for key, value in items_of(state).items():
        if type(value) is State:
            _add_values(pairs, value, (*path, key))
        else:
            pairs.append(((*path, key), value))


def _pairs_of(items: Any) -> Iterable[tuple[Any, Any]]:
    """Return the items of a mapping, or the pairs that were given in its place."""
    return items.items() if isinstance(items, Mapping) else items


class FlatState(tuple[tuple[Path, V], ...], Generic[V]):
    """The values of a state with their full paths: a sequence of pairs.

    The pairs are in the order of the state. A value that is at two paths of the state
    is at both paths here. `dict(flat)` finds values by path.

    Args:
        items: A mapping from paths to values, or pairs of a path, which is a tuple of
            names and positions, and a value.

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

    def __new__(cls, items: Mapping[Path, V] | Iterable[tuple[Path, V]] = ()) -> Self:
        """Make a flat state of a mapping or of pairs."""
        return super().__new__(cls, _pairs_of(items))

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the paths."""
        return tuple([path for path, _ in self])

    @property
    def leaves(self) -> tuple[V, ...]:
        """Return the values, in the order of the paths."""
        return tuple([value for _, value in self])


def divide(
    pairs: Iterable[Pair],
    filters: tuple[Filter, ...],
    *,
    exhaustive: bool,
) -> list[list[Pair]]:
    """Assign each value to the first filter that matches it.

    Raises:
        ValueError: No filter was given, or, if they must be exhaustive, some values
            are left over.
        TypeError: One is not a filter.
    """
    if not filters:
        raise ValueError("give at least one filter")
    pairs = list(pairs)
    parts, unmatched = partition(pairs, filters)
    if unmatched and exhaustive:
        unmatched_pairs = [pairs[index] for index in unmatched]
        raise ValueError(left_over(unmatched_pairs))
    return [[pairs[index] for index in part] for part in parts]


_MAX_LISTED: Final = 5


def left_over(pairs: list[Pair]) -> str:
    """Return the message for values that no filter matches."""
    lines = [
        f"no filter matches {len(pairs)} of the values; add ... as the last filter for "
        "the rest:"
    ]
    for path, value in pairs[:_MAX_LISTED]:
        lines.append(f"  {path}: {type(value).__name__}")
    if len(pairs) > _MAX_LISTED:
        lines.append(f"  and {len(pairs) - _MAX_LISTED} more")
    return "\n".join(lines)


def as_state(state: StateLike) -> State:
    """Convert nested mappings to a state; a state is returned unchanged.

    Raises:
        TypeError: It is neither; an object is not.
    """
    root = _nested(state)
    if type(root) is not State:
        raise TypeError(
            f"expected a state or nested mappings, got {type(state).__name__}; "
            "leafwise.nn.state gives the state of an object"
        )
    return root


def to_flat_state(state: StateLike) -> FlatState:
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
    flat: Mapping[Path, Any] | Iterable[Pair],
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
    for path, value in _pairs_of(flat):
        if not path:
            raise ValueError("path () does not name a single value")
        items = root
        for parent in path[:-1]:
            nested = items.get(parent, MISSING)
            if nested is MISSING:
                nested = _state_of({})
                items[parent] = nested
            elif type(nested) is not State:
                raise ValueError(f"path {path} continues below a value")
            items = items_of(nested)
        key = path[-1]
        if type(items.get(key)) is State:  # made for a longer path
            raise ValueError(f"path {path} does not name a single value")
        items[key] = value
    return _state_of(root)


def to_pure_dict(state: StateLike) -> dict[Any, Any]:
    """Return a state as nested dicts with bare values in place of variables.

    Args:
        state: A state.

    Example:
        >>> from leafwise import nn
        >>> nn.to_pure_dict(nn.State({"a": {0: nn.Param(1.0)}}))
        {'a': {0: 1.0}}
    """
    return _to_dicts(as_state(state), bare)


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

    def to_value(leaf: Any) -> Any:
        if isinstance(leaf, Variable):
            # A variable may hold a tree with more variables.
            return as_pure(leaf.get_raw_value())
        return leaf

    pure_tree: T = tree_map(to_value, tree, is_leaf=Variable)
    return pure_tree


def replace_by_pure_dict(state: State, pure: StateLike) -> None:
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
    path_of_text = {_as_text(path): path for path in flat}
    changes: list[Pair] = []
    for pure_path, value in walk_state(pure):
        text_path = _as_text(pure_path)
        if pure_path in flat:
            changes.append((pure_path, value))
        elif text_path in path_of_text:
            changes.append((path_of_text[text_path], value))
        else:
            raise ValueError(
                f"there is no value at {pure_path}: {no_such_item(pure_path, flat)}"
            )
    # Only now, when every path is known: an error must not leave half of the values.
    for path, value in changes:
        variable = flat[path]
        if isinstance(variable, Variable):
            variable.set_value(value)
            continue
        *parents, key = path
        parent = state
        for parent_key in parents:
            parent = parent[parent_key]
        parent[key] = value


def _as_text(path: Path) -> tuple[str, ...]:
    return tuple([str(part) for part in path])


def map_state(function: Callable[[Path, Any], Any], state: StateLike) -> State:
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
def filter_state(state: StateLike, only: Filter, /) -> State: ...


@overload
def filter_state(
    state: StateLike,
    first: Filter,
    second: Filter,
    /,
    *more: Filter,
) -> tuple[State, ...]: ...


def filter_state(state: StateLike, *filters: Filter) -> Any:
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
    states = tuple(map(from_flat_state, parts))
    return states[0] if len(filters) == 1 else states


def split_state(state: StateLike, *filters: Filter) -> tuple[State, ...]:
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


def diff_state(state: StateLike, other: StateLike) -> State:
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


def restore_int_paths(pure: StateLike) -> dict[Any, Any]:
    """Return nested dicts in which string keys that are integers become ints.

    Args:
        pure: Nested dicts, as read from a file.

    Example:
        >>> from leafwise import nn
        >>> nn.restore_int_paths({"layers": {"0": 1.0}})
        {'layers': {0: 1.0}}
    """
    pairs = []
    for path, value in walk_state(pure):
        int_path = tuple([_number_of(key) for key in path])
        pairs.append((int_path, value))
    return _to_dicts(from_flat_state(pairs))


def _to_dicts(
    state: State, convert: Callable[[Any], Any] | None = None
) -> dict[Any, Any]:
    """Return a state as nested dicts.

    Args:
        state: The state.
        convert: Takes a value and returns what the dicts have in its place.
    """
    dicts: dict[Any, Any] = {}
    for key, value in items_of(state).items():
        if type(value) is State:
            dicts[key] = _to_dicts(value, convert)
        else:
            dicts[key] = value if convert is None else convert(value)
    return dicts


def _number_of(key: Any) -> Any:
    """Return the number that a key denotes in text, or the key."""
    if isinstance(key, str) and key.isascii() and key.isdecimal():
        return int(key)
    return key


def _state_of(items: dict[Any, Any]) -> State:
    """Return a state that keeps its items in this dict."""
    state = _new(State)
    _put_items(state, items)
    return state


def _nested(value: Any) -> Any:
    """Return a value as a state holds it: mappings become states."""
    if type(value) is State:
        return value
    if isinstance(value, State):  # of a subclass: its items are shared
        return _state_of(items_of(value))
    # `nn.Dict` is a mapping, but an object: it stays a value.
    if not isinstance(value, Mapping) or isinstance(value, DataNode):
        return value
    items = {key: _nested(item) for key, item in value.items()}
    return _state_of(items)


def no_such_item(key: Any, items: Mapping[Any, Any]) -> str:
    """Return the message for a missing key."""
    key_text = safe_str(key)
    for other in items:
        other_text = safe_str(other)
        if other_text == key_text or is_similar(other_text, key_text):
            return f"no item {safe_repr(key)}; did you mean {safe_repr(other)}?"
    first_keys = list(items)[:_MAX_LISTED]
    listing = ", ".join(map(short_repr, first_keys)) or "none"
    return f"no item {safe_repr(key)}; there are: {listing}"


# ------------------------------------------------------------------------ the mapping


class _StateDescription(Description):
    """The description of states: nested dicts, printed within `State(...)`."""

    def outline(self, obj: Any) -> Sketch:
        """Return the sketch of a state."""
        children = _shown_items(items_of(obj))
        if not children:
            return Sketch((), "State(", ")")
        return Sketch(children, "State({", "})")


class State(MutableMapping[K, V], DataNode, Generic[K, V]):
    """A mapping of an object's values, nested by names, positions and keys.

    A state is mutable, with access by items and by attributes. A nested mapping becomes
    a `State`, so changes through it are visible. As a tree, a state is like a dict, but
    its values are children in the order in which they stand. States with equal items
    are equal in any order.

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

    __slots__ = ("__weakref__", "_leafwise")
    __leafwise__ = _StateDescription()

    _leafwise: dict[Any, Any]

    def __init__(
        self, items: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = ()
    ) -> None:
        own_items = {key: _nested(value) for key, value in _pairs_of(items)}
        _put_items(self, own_items)

    def __getitem__(self, key: Any) -> Any:
        items = self._leafwise
        if key not in items:
            raise KeyError(no_such_item(key, items))
        return items[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._leafwise[key] = _nested(value)

    def __delitem__(self, key: Any) -> None:
        _ = self[key]  # raises an error that lists the keys
        del self._leafwise[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._leafwise)

    def __len__(self) -> int:
        return len(self._leafwise)

    def __getattr__(self, name: str) -> Any:
        # The dict is missing while `copy` and `pickle` make a state, and names with
        # underscores are protocols, which nobody means as items.
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

    to_flat_state = to_flat_state
    to_pure_dict = to_pure_dict
    replace_by_pure_dict = replace_by_pure_dict
    from_flat_state = staticmethod(from_flat_state)
    filter = filter_state
    split = split_state
    merge = merge_state
    __or__ = merge_state
    diff = diff_state
    __sub__ = diff_state

    def map(self, function: Callable[[Path, Any], Any]) -> State[K, Any]:
        """Return a state with the results of a function of path and value."""
        return map_state(function, self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        # As plain dicts, which are sorted by key, so that the order does not count.
        leaves, treedef = tree_flatten(_to_dicts(self))
        other_leaves, other_treedef = tree_flatten(_to_dicts(other))
        if treedef != other_treedef:
            return False
        return are_same(leaves, other_leaves, typematch=True)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # it can be changed

    def __copy__(self) -> State[K, V]:
        return from_flat_state(dict(walk_state(self)))

    def __reduce__(self) -> Any:
        return State, (self._leafwise,)

    def __repr__(self) -> str:
        return pformat(self)


class _ShownDictDescription(Description):
    def outline(self, obj: Any) -> Sketch:
        return Sketch(_shown_items(obj.items), "{", "}")


class _ShownDict:
    """A nested state, for texts: in its own order, and without a type."""

    __slots__ = ("items",)
    __leafwise__: ClassVar[Description] = _ShownDictDescription()

    def __init__(self, items: dict[Any, Any]) -> None:
        self.items: dict[Any, Any] = items


def _shown_items(items: dict[Any, Any]) -> list[Child]:
    """Return the items of a state as they are shown."""
    children = []
    for key, value in items.items():
        shown = _ShownDict(items_of(value)) if type(value) is State else value
        children.append(Child(DictKey(key), shown))
    return children


# ------------------------------------------------------------------------- node


_DICT: Final = INSERTION_ORDERED[dict]


class _StateNodeType(NodeType):
    """The node type of states, whose children come in the order in which they stand.

    The aux data is a tuple of the keys. Frameworks call `flatten` and `unflatten` for
    every nested state, so both do no more than they have to.
    """

    aux_compares_itself = True

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        # A copy in one step, because another thread may change the state meanwhile.
        items = items_of(node).copy()
        return list(items.values()), tuple(items)

    def unflatten(self, aux: Any, children: Any) -> Any:
        state = _new(State)  # as `_state_of`, without a call
        items = dict(zip(aux, children))  # noqa: B905  # as many; `strict` takes time
        _put_items(state, items)
        for child in children:  # a loop is faster here than `any` or a set of types
            if type(child) is dict:  # a map has put it in place of a value
                state.update(items)  # which makes a nested state of it
                break
        return state

    def keys(self, aux: Any, _arity: int) -> Sequence[Any]:
        return given_keys(aux).objects

    def match(
        self,
        aux: Any,
        arity: int,
        node: Any,
    ) -> Sequence[Any] | None:
        """Return the children of another state in the order of the keys of this one."""
        if type(node) is not State:
            return None
        items = items_of(node).copy()
        if len(items) != arity:
            return None
        try:
            return [items[key] for key in aux]
        except KeyError:  # as many items, but others
            return None


# `setattr` would set an item: the slot is set by its own function.
_put_items: Final = vars(State)["_leafwise"].__set__


def _keys_as_data(_node_type: NodeType, aux: Any) -> Any:
    return list(aux)


def _brackets(_node_type: NodeType, aux: Any, arity: int) -> Brackets:
    opening, labels, closing = brackets(_DICT, given_keys(aux), arity)
    return f"CustomNode(State[{opening}", labels, f"{closing}])"


WORDS[_StateNodeType] = Words(data=_keys_as_data, brackets=_brackets)

_DICT_FORM: Final = aux_form_of(_DICT)


def _keys_fit(_node_type: NodeType, arity: int, aux: Any) -> bool:
    return type(aux) is tuple and len(set(aux)) == arity


def _write_keys(_node_type: NodeType, aux: Any, writer: Writer) -> Any:
    return _DICT_FORM.write(_DICT, given_keys(aux), writer)


def _read_keys(_node_type: NodeType, data: Any) -> Any:
    return _DICT_FORM.read(_DICT, data).ordered


# As the keys of a dict: a state in a file is a dict to other programs.
AUX_FORMS[_StateNodeType] = AuxForm(_keys_fit, _write_keys, _read_keys)
install(State, _StateNodeType, bridge=True, where=__name__.partition(".")[0])

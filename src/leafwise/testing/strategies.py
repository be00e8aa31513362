"""Random trees, as strategies of Hypothesis.

Owns how nodes of each class are drawn, values of the sort that a leaf has, and trees
that differ from a given one in one place. Hypothesis is loaded when the first strategy
is made, and its strategies for arrays when the first array is to be drawn.
"""

from __future__ import annotations

import enum
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING
from importlib import import_module
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, get_type_hints

from ..core.keypath import KeyPath
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import Fields, Rule
from ..core.registry import GLOBAL, View, view_of
from ..core.treedef import PyTreeDef
from ..equality.content import is_array, is_number_dtype, library_of
from ..equality.leaves import alike
from ..ops.context import Context, context_of
from ..safely import class_name
from ..selection.difference import form_of
from ..selection.find import keys_of, static_names
from ..selection.rebuild import Delete, Insert, Set, rebuild


if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["Changed", "changed_in_one_place", "treedefs", "trees", "trees_like"]

Nodes: TypeAlias = (
    "Iterable[type | Callable[[SearchStrategy[Any]], SearchStrategy[Any]]]"
)
"""Classes of nodes, and functions from a strategy for children to one for nodes."""

_MOST: Final = 4
"""How many children a list or dict has at most."""


def _strategies() -> Any:
    """Return the strategies of Hypothesis.

    Raises:
        ImportError: It is not installed.
    """
    try:
        return import_module("hypothesis.strategies")
    except ImportError as error:
        raise ImportError(
            "random trees need hypothesis, which is not installed: "
            "pip install hypothesis"
        ) from error


# ------------------------------------------------------------------------------- trees


class Pair(NamedTuple):
    """The named tuple that is drawn if nobody says otherwise."""

    first: Any
    second: Any


DEFAULT: Final = (
    *(type(None), list, tuple, dict, OrderedDict, defaultdict, deque),
    Pair,
)
"""The classes of nodes that are drawn if nobody says otherwise."""


def trees(
    leaves: SearchStrategy[Any] | None = None,
    *,
    max_leaves: int = 20,
    nodes: Nodes | None = None,
    keys: SearchStrategy[Any] | None = None,
    namespace: str = GLOBAL,
) -> SearchStrategy[Any]:
    """Return a Hypothesis strategy that generates trees.

    A tree that makes a test fail shrinks to a small one: a leaf in place of a node,
    fewer children, simpler leaves and keys.

    Args:
        leaves: A strategy for leaves. The default is integers, bools, strings, and
            floats except NaN.
        max_leaves: The approximate maximum number of leaves.
        nodes: The node types to generate; the default is all built-in ones. A class may
            be a built-in node type, a named tuple, or a registered dataclass, whose
            static fields are drawn by type. A function takes the strategy for children
            and returns a strategy for nodes.
        keys: A strategy for dict keys. The default is short strings, and sometimes
            integers, bools, None and tuples.
        namespace: Where the classes are registered.

    Raises:
        ImportError: Hypothesis is not installed.
        TypeError: It is not known how to draw instances of a class.

    Example:
        >>> import leafwise as lw
        >>> from hypothesis import given
        >>> @given(lw.testing.trees())
        ... def test_a_round_trip(tree):
        ...     leaves, treedef = lw.tree_flatten(tree)
        ...     lw.testing.assert_trees_equal(lw.tree_unflatten(treedef, leaves), tree)
        >>> test_a_round_trip()
    """
    st = _strategies()
    view = view_of(namespace)
    sorts = [*(DEFAULT if nodes is None else nodes)]
    ends: Any = _leaves(st) if leaves is None else leaves
    keys = _keys(st) if keys is None else keys
    makers = [_maker(sort, view, keys) for sort in sorts if sort is not type(None)]
    ends = ends | st.none() if type(None) in sorts else ends

    def extend(children: Any) -> Any:
        return st.one_of([make(children) for make in makers])

    found: SearchStrategy[Any] = ends
    if makers:
        found = st.recursive(ends, extend, max_leaves=max_leaves)
    return found


def treedefs(
    *,
    max_leaves: int = 20,
    nodes: Nodes | None = None,
    keys: SearchStrategy[Any] | None = None,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> SearchStrategy[PyTreeDef[Any]]:
    """Return a Hypothesis strategy that generates the treedefs of `trees`.

    Args:
        max_leaves, nodes, keys: As for `trees`.
        none_is_leaf, namespace: See :ref:`common arguments <common>`.

    Raises:
        ImportError: Hypothesis is not installed.
        TypeError: It is not known how to draw instances of a class.

    Example:
        >>> import leafwise as lw
        >>> from hypothesis import given
        >>> @given(lw.testing.treedefs(nodes=[list, dict]))
        ... def test_the_text(treedef):
        ...     assert lw.PyTreeDef.from_json(treedef.to_json()) == treedef
        >>> test_the_text()
    """
    context = context_of(None, False, none_is_leaf, namespace)
    drawn = trees(
        _strategies().just(0),
        max_leaves=max_leaves,
        nodes=nodes,
        keys=keys,
        namespace=namespace,
    )
    return drawn.map(lambda tree: context.flatten(tree)[1])


def _leaves(st: Any) -> Any:
    return st.one_of(
        st.integers(), st.booleans(), st.text(max_size=5), st.floats(allow_nan=False)
    )


def _keys(st: Any) -> Any:
    names = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=4)
    small = st.integers(-3, 3)
    return st.one_of(
        names,
        small,
        st.booleans(),
        st.none(),
        st.tuples(names),
        st.tuples(small, names),
    )


def _maker(sort: Any, view: View, keys: Any) -> Callable[[Any], Any]:
    """Return a function from a strategy for children to one for nodes of a sort.

    Raises:
        TypeError: Nobody says how that is done.
    """
    if not isinstance(sort, type):
        made: Callable[[Any], Any] = sort
        return made
    known = _BUILT_IN.get(sort)
    if known is not None:
        return lambda children: known(_strategies(), children, keys)
    rule = view.resolve(sort)
    fields = getattr(sort, "_fields", None)
    if rule is not None and isinstance(rule.form, Fields):
        return _maker_by_fields(sort, rule, rule.form)
    if rule is not None and issubclass(sort, tuple) and isinstance(fields, tuple):
        like = tuple.__new__(sort, (None,) * len(fields))
        aux = rule.flatten(like)[1]
        return lambda children: (
            _strategies()
            .tuples(*[children] * len(fields))
            .map(lambda items: rule.unflatten(aux, [*items]))
        )
    raise TypeError(
        f"no strategy is known for the node class {class_name(sort)}: pass a function "
        "that takes a strategy for children and returns one for nodes, such as lambda "
        f"children: st.builds({class_name(sort, qualified=False)}, children)"
    )


_BUILT_IN: Final[Mapping[type, Callable[[Any, Any, Any], Any]]] = {
    list: lambda st, children, _: st.lists(children, max_size=_MOST),
    tuple: lambda st, children, _: st.lists(children, max_size=_MOST).map(tuple),
    dict: lambda st, children, keys: st.dictionaries(keys, children, max_size=_MOST),
    OrderedDict: lambda st, children, keys: st.dictionaries(
        keys, children, dict_class=OrderedDict, max_size=_MOST
    ),
    defaultdict: lambda st, children, keys: st.builds(
        defaultdict,
        st.sampled_from([None, int, list]),
        st.dictionaries(keys, children, max_size=_MOST),
    ),
    deque: lambda st, children, _: st.builds(
        deque, st.lists(children, max_size=_MOST), st.sampled_from([None, _MOST + 2])
    ),
}


def _maker_by_fields(cls: type, rule: Rule, form: Fields) -> Callable[[Any], Any]:
    """Return the maker of a dataclass, which does not run its `__init__`."""
    try:
        hints = get_type_hints(cls)
    except Exception:  # a name that is not there at run time
        hints = {}

    def make(children: Any) -> Any:
        st = _strategies()
        return st.builds(
            lambda aux, items: rule.unflatten(aux, [*items]),
            st.tuples(*(_static(cls, name, hints) for name in form.meta)),
            st.tuples(*[children] * len(form.data)),
        )

    return make


def _static(cls: type, name: str, hints: Mapping[str, Any]) -> Any:
    """Return a strategy for a static field: its default, and values of its type."""
    st = _strategies()
    field = getattr(cls, "__dataclass_fields__", {}).get(name)
    default = getattr(field, "default", MISSING)
    hint = hints.get(name, Any)
    values = st.text(max_size=3) if hint is Any else st.from_type(hint)
    return values if default is MISSING else st.just(default) | values


# ------------------------------------------------------------------ the same structure


def trees_like(
    tree: Any,
    leaves: SearchStrategy[Any] | Callable[[Any], SearchStrategy[Any]] | None = None,
    *,
    is_leaf: Any = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> SearchStrategy[Any]:
    """Return a Hypothesis strategy for trees with a given structure and other leaves.

    Args:
        tree: The tree.
        leaves: A strategy for all leaves, or a function from a leaf of the tree to the
            strategy for its replacement. By default, a leaf is drawn like the existing
            one: arrays of numpy, jax and torch with its shape and dtype, numbers,
            strings, bytes and Enum members. A leaf of any other type is kept. NaN is
            not drawn.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        ImportError: Hypothesis is not installed.

    Example:
        >>> import leafwise as lw
        >>> from hypothesis import given
        >>> @given(lw.testing.trees_like({"name": "a", "sizes": [1, 2]}))
        ... def test_sizes(config):
        ...     assert len(config["sizes"]) == 2
        ...     assert isinstance(config["sizes"][0], int)
        >>> test_sizes()
    """
    st = _strategies()
    context = context_of(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    found, treedef = context.flatten(tree)
    if isinstance(leaves, st.SearchStrategy):
        drawn = st.tuples(*[leaves] * len(found))
    else:
        of: Any = _kept_or_like if leaves is None else leaves
        drawn = st.tuples(*map(of, found))
    made: SearchStrategy[Any] = drawn.map(treedef.unflatten)
    return made


def _kept_or_like(leaf: Any) -> Any:
    like = _like(leaf)
    return _strategies().just(leaf) if like is None else like


def _like(leaf: Any) -> Any:
    """Return a strategy for values of the sort of a leaf, None if none is known."""
    st = _strategies()
    if is_array(leaf):
        return _arrays_like(leaf)
    if isinstance(leaf, enum.Enum):
        return st.sampled_from(type(leaf))
    make = _VALUES.get(type(leaf))
    return None if make is None else make(st)


_VALUES: Final[Mapping[type, Callable[[Any], Any]]] = {
    bool: lambda st: st.booleans(),
    bytes: lambda st: st.binary(max_size=8),
    complex: lambda st: st.complex_numbers(allow_nan=False),
    float: lambda st: st.floats(allow_nan=False),
    int: lambda st: st.integers(),
    str: lambda st: st.text(max_size=8),
}


def _arrays_like(leaf: Any) -> Any:
    """Return a strategy for arrays of the library, shape and dtype of an array."""
    convert = next((make for knows, make in _LIBRARIES if knows(leaf)), None)
    form = form_of(leaf)
    if convert is None:
        return None
    numpy, extra = map(import_module, ("numpy", "hypothesis.extra.numpy"))
    dtype = numpy.dtype("f4")
    elements = _strategies().floats(-100, 100, width=16)  # all that bfloat16 and so on
    if not form.dtype.startswith(("bfloat", "float8", "float4", "float6")):
        try:
            dtype = numpy.dtype(leaf.dtype if library_of(leaf) == 0 else form.dtype)
        except TypeError:  # keys of random numbers, for one
            return None
        if dtype.kind not in "biufcSUmM":
            return None
        elements = extra.from_dtype(dtype, allow_nan=False, allow_subnormal=False)
    drawn = extra.arrays(dtype, form.shape, elements=elements)
    return drawn.map(lambda made: convert(made, leaf))


def _of_numpy(made: Any, leaf: Any) -> Any:
    made = made.astype(leaf.dtype)
    return made if hasattr(leaf, "__setitem__") else made[()]


def _of_jax(made: Any, leaf: Any) -> Any:
    return import_module("jax.numpy").asarray(made, dtype=leaf.dtype)


def _of_torch(made: Any, leaf: Any) -> Any:
    tensor = import_module("torch").from_numpy(made.copy())
    return tensor.to(dtype=leaf.dtype, device=leaf.device)


_LIBRARIES: Final[Sequence[tuple[Callable[[Any], bool], Callable[[Any, Any], Any]]]] = (
    (lambda leaf: type(leaf).__module__ == "numpy", _of_numpy),
    (lambda leaf: library_of(leaf) == 1, _of_jax),
    (lambda leaf: library_of(leaf) == 2, _of_torch),
)


# ---------------------------------------------------------------- a change in one place


class Changed(NamedTuple):
    """A tree that differs from another tree in one place.

    Attributes:
        tree: The tree.
        path: The key path of the difference.
        kind: The kind of difference, as in `Change`: `value`, `added`, `removed`,
            `type` or `aux`.

    Example:
        >>> import leafwise as lw
        >>> lw.testing.Changed([2], lw.KeyPath.parse("[0]"), "value").kind
        'value'
    """

    tree: Any
    path: KeyPath
    kind: str


def changed_in_one_place(
    tree: Any,
    leaves: SearchStrategy[Any] | None = None,
    *,
    is_leaf: Any = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> SearchStrategy[Changed]:
    """Return a Hypothesis strategy for trees that differ from a tree in one place.

    The change is one of these: a leaf has another value, shape or dtype; an item is
    added to a dict or list, or removed; a node has another type, or is replaced by a
    leaf; a static value differs, or the order of an `OrderedDict`, the factory of a
    `defaultdict`, or the maximum length of a `deque`. `tree_diff` finds this difference
    and no other.

    Args:
        tree: The tree, which is not changed; unchanged parts are shared with it.
        leaves: What a changed leaf may be, as for `trees_like`. By default, a leaf is
            replaced with a similar one.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Returns:
        A strategy for `Changed` objects: the tree, the path and the kind of the change.

    Raises:
        ImportError: Hypothesis is not installed.

    Example:
        >>> import leafwise as lw
        >>> from hypothesis import given
        >>> config = {"lr": 0.1, "sizes": [1, 2]}
        >>> @given(lw.testing.changed_in_one_place(config))
        ... def test_each_change_is_found(changed):
        ...     (change,) = lw.tree_diff(config, changed.tree)
        ...     assert (change.path, change.kind) == (changed.path, changed.kind)
        >>> test_each_change_is_found()
    """
    st = _strategies()
    context = context_of(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    options = [*_options(tree, leaves, context)]

    def edited(option: _Option) -> Any:
        path, kind, edits = option
        made = edits.map(lambda edit: rebuild(tree, [(path, edit)], context))
        return made.map(lambda new: Changed(new, path, kind))

    found: SearchStrategy[Changed] = st.sampled_from(options).flatmap(edited)
    return found


class _Option(NamedTuple):
    """One way to change a tree.

    Attributes:
        path: The key path of the place.
        kind: The kind of the change.
        edits: A strategy for the edit.
    """

    path: KeyPath
    kind: str
    edits: Any


def _options(tree: Any, leaves: Any, context: Context) -> Iterator[_Option]:
    """Yield all that can be changed in a tree, the root first."""
    todo = deque([(KeyPath(), tree)])
    while todo:
        path, node = todo.popleft()
        rule = context.rule_of(node, path)
        if rule is None:
            yield from _at_leaf(path, node, leaves, context)
            continue
        yield from _at_node(path, node, rule, leaves, context)
        yield from _at_statics(path, node, rule)
        keys, children = keys_of(node, rule), rule.flatten(node)[0]
        for key, child in zip(keys, children, strict=True):
            todo.append((KeyPath((*path, key)), child))


def _at_leaf(
    path: KeyPath, leaf: Any, leaves: Any, context: Context
) -> Iterator[_Option]:
    others = _other_leaves(leaf, leaves, context, path)
    yield _Option(path, "value", others.map(Set))
    if context.rule_of([leaf], path) is not None:
        yield _Option(path, "type", _strategies().just(Set([leaf])))


def _other_leaves(leaf: Any, leaves: Any, context: Context, path: KeyPath) -> Any:
    """Return a strategy for leaves that are not the same as one."""
    st = _strategies()
    is_only = is_array(leaf) and 0 in leaf.shape
    is_only |= isinstance(leaf, enum.Enum) and len(type(leaf)) == 1
    like = None if is_only else _like(leaf)
    others = [st.integers() if like is None else like, *map(st.just, _forms_of(leaf))]
    return (st.one_of(others) if leaves is None else leaves).filter(
        lambda new: not alike(leaf, new) and context.rule_of(new, path) is None
    )


def _forms_of(leaf: Any) -> Iterator[Any]:
    """Yield an array in another shape, and as one of another dtype."""
    library = library_of(leaf)
    if library < 0:
        return
    yield leaf[None]
    if is_number_dtype(leaf.dtype):
        is_torch = hasattr(leaf, "numel")
        wide = import_module("torch").complex64 if is_torch else "complex64"
        yield leaf.to(wide) if is_torch else leaf.astype(wide if library else "c16")


def _at_node(
    path: KeyPath, node: Any, rule: Rule, leaves: Any, context: Context
) -> Iterator[_Option]:
    """Yield how a node can be changed itself, and which items it can have or lack."""
    st = _strategies()
    items = st.integers() if leaves is None else leaves
    items = items.filter(lambda new: context.rule_of(new, path) is None)
    yield _Option(path, "type", items.map(Set))
    other = _OTHER_CLASS.get(type(node))
    if other is not None and context.rule_of(other(node), path) not in (None, rule):
        yield _Option(path, "type", st.just(Set(other(node))))
    for made in _others(node):
        yield _Option(path, "aux", st.just(Set(made)))
    new, old = _item_keys(node, rule)
    if new is not None:
        yield _Option(KeyPath((*path, new)), "added", items.map(Insert))
    for key in old:
        yield _Option(KeyPath((*path, key)), "removed", st.just(Delete()))


def _item_keys(node: Any, rule: Rule) -> tuple[Any, list[Any]]:
    """Return the key of an item to add, or None, and those of items to remove.

    Of a sequence that is the last one: another one would move those behind it.
    """
    if rule.is_mapping:
        known = rule.items(node)
        new = next(name for name in map("new{}".format, count()) if name not in known)
        return DictKey(new), [*map(DictKey, known)]
    if not rule.is_sequence or rule.is_fixed:
        return None, []
    size = len(node)
    is_full = getattr(node, "maxlen", None) == size
    last = [SequenceKey(size - 1)] if size else []
    return None if is_full else SequenceKey(size), last


_OTHER_CLASS: Final[Mapping[type, Callable[[Any], Any]]] = {
    list: tuple,
    tuple: list,
    dict: OrderedDict,
    OrderedDict: dict,
    defaultdict: dict,
    deque: list,
}


def _others(node: Any) -> Iterator[Any]:
    """Yield nodes with the same items that are not the same beside these."""
    if type(node) is defaultdict:
        yield defaultdict(int if node.default_factory is not int else list, node)
    elif type(node) is deque:
        yield deque(node, (node.maxlen or len(node)) + 1)
    elif type(node) is OrderedDict and len(node) > 1:
        yield OrderedDict(reversed(node.items()))


def _at_statics(path: KeyPath, node: Any, rule: Rule) -> Iterator[_Option]:
    for name in static_names(node, rule):
        value = getattr(node, name)
        others = None if is_array(value) else _like(value)
        if others is not None:
            differing = others.filter(lambda new, old=value: new != old)
            where = KeyPath((*path, GetAttrKey(name)))
            yield _Option(where, "aux", differing.map(Set))

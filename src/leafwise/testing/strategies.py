"""Random trees, as strategies of Hypothesis.

Owns how nodes of each class are drawn, and leaves like a given one. Hypothesis is
loaded when the first strategy is made, and its strategies for arrays when the first
array is drawn.
"""

from __future__ import annotations

import enum
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, get_type_hints

from ..core.context import context_of
from ..core.node import Fields, Rule
from ..core.registry import GLOBAL, View, view_of
from ..core.treedef import PyTreeDef
from ..equality.arrays import is_array, library_of
from ..selection.diff import form_of


if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


Nodes: TypeAlias = (
    "Iterable[type | Callable[[SearchStrategy[Any]], SearchStrategy[Any]]]"
)
"""Classes of nodes, and functions from a strategy for children to one for nodes."""

_MOST: Final = 4
"""How many children a list or dict has at most."""
_LETTERS: Final = (
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    "_-./ '\"\\[]{}(),:*@#\n\t\0\x85éßİ\u0301中\U0001f333"
)


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


_NODES: Final = (type(None), list, tuple, dict, OrderedDict, defaultdict, deque, Pair)
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
    sorts = [*(_NODES if nodes is None else nodes)]
    if keys is None:
        names, small = _strings(st, 4, _LETTERS[:26], 1), st.integers(-3, 3)
        pairs = st.tuples(names) | st.tuples(small, names)
        keys = names | small | st.booleans() | st.none() | pairs
    ends: Any = leaves
    if leaves is None:
        floats = st.floats(allow_nan=False)
        ends = st.integers() | st.booleans() | _strings(st, 5) | floats
    makers = [_maker(sort, view, keys) for sort in sorts if sort is not type(None)]
    ends = ends | st.none() if type(None) in sorts else ends
    if not makers:
        return ends  # type: ignore[no-any-return]
    extend = lambda inner: st.one_of([make(inner) for make in makers])  # noqa: E731
    return st.recursive(ends, extend, max_leaves=max_leaves)  # type: ignore[no-any-return]


def treedefs(
    *,
    max_leaves: int = 20,
    nodes: Nodes | None = None,
    keys: SearchStrategy[Any] | None = None,
    namespace: str = GLOBAL,
) -> SearchStrategy[PyTreeDef[Any]]:
    """Return a Hypothesis strategy that generates the treedefs of `trees`.

    Args:
        max_leaves, nodes, keys: As for `trees`.
        namespace: Where classes are looked up before the global registry.

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
    context = context_of(namespace=namespace)
    drawn = trees(
        _strategies().just(0), max_leaves=max_leaves, nodes=nodes, keys=keys,
        namespace=namespace,
    )  # fmt: skip
    return drawn.map(lambda tree: context.flatten(tree)[1])


def _strings(st: Any, most: int, letters: str = _LETTERS, least: int = 0) -> Any:
    """Return a strategy for strings.

    `st.text` builds a table of all of Unicode when it is first used, for a second.
    """
    drawn = st.lists(st.sampled_from(letters), min_size=least, max_size=most)
    return drawn.map("".join)


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
        count = len(fields)
        _, aux = rule.flatten(tuple.__new__(sort, (None,) * count))
        unflatten = lambda items: rule.unflatten(aux, [*items])  # noqa: E731
        tuples = _strategies().tuples
        return lambda children: tuples(*[children] * count).map(unflatten)
    raise TypeError(
        f"no strategy is known for the node class {sort.__qualname__}: pass a function "
        "that takes a strategy for children and returns one for nodes, such as lambda "
        f"children: st.builds({sort.__name__}, children)"
    )


def _list(st: Any, children: Any, _keys: Any = None) -> Any:
    return st.lists(children, max_size=_MOST)


def _dict(st: Any, children: Any, keys: Any) -> Any:
    return st.dictionaries(keys, children, max_size=_MOST)


_BUILT_IN: Final[Mapping[type, Callable[[Any, Any, Any], Any]]] = {
    list: _list,
    tuple: lambda *args: _list(*args).map(tuple),
    dict: _dict,
    OrderedDict: lambda *args: _dict(*args).map(OrderedDict),
    defaultdict: lambda st, *args: st.builds(
        defaultdict, st.sampled_from([None, int, list]), _dict(st, *args)
    ),
    deque: lambda st, *args: st.builds(
        deque, _list(st, *args), st.sampled_from([None, _MOST + 2])
    ),
}


def _maker_by_fields(cls: type, rule: Rule, form: Fields) -> Callable[[Any], Any]:
    """Return the maker of a dataclass, which does not run its `__init__`.

    A static field gets its default, and values of its type.
    """
    try:
        hints = get_type_hints(cls)
    except Exception:  # a name that is not there at run time
        hints = {}

    def static(name: str) -> Any:
        field = getattr(cls, "__dataclass_fields__", {}).get(name)
        default = getattr(field, "default", MISSING)
        hint = hints.get(name, Any)
        known = _VALUES.get(str if hint is Any else hint)
        st = _strategies()
        values = st.from_type(hint) if known is None else known(st)
        return values if default is MISSING else st.just(default) | values

    def make(children: Any) -> Any:
        st = _strategies()
        return st.builds(
            lambda aux, items: rule.unflatten(aux, [*items]),
            st.tuples(*map(static, form.meta)),
            st.tuples(*[children] * len(form.data)),
        )

    return make


# ------------------------------------------------------------------ the same structure


def trees_like(
    tree: Any,
    leaves: SearchStrategy[Any] | Callable[[Any], SearchStrategy[Any]] | None = None,
    *,
    is_leaf: Any = None,
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
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

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
    found, treedef = context_of(is_leaf, namespace=namespace).flatten(tree)
    of: Any = _like if leaves is None else leaves
    drawn = [of if isinstance(of, st.SearchStrategy) else of(leaf) for leaf in found]
    made: SearchStrategy[Any] = st.tuples(*drawn).map(treedef.unflatten)
    return made


def _like(leaf: Any) -> Any:
    """Return a strategy for values of the sort of a leaf, else for the leaf itself.

    That of an array is its library, its shape and its dtype.
    """
    st = _strategies()
    if not is_array(leaf):
        if isinstance(leaf, enum.Enum):
            return st.sampled_from(type(leaf))
        make = _VALUES.get(type(leaf))
        return st.just(leaf) if make is None else make(st)
    if library_of(leaf) not in (1, 2) and type(leaf).__module__ != "numpy":
        return st.just(leaf)
    form = form_of(leaf)
    numpy, extra = map(import_module, ("numpy", "hypothesis.extra.numpy"))
    dtype = numpy.dtype("f4")
    elements = st.floats(-100, 100, width=16)  # all that bfloat16 and so on
    if not form.dtype.startswith(("bfloat", "float8", "float4", "float6")):
        try:
            dtype = numpy.dtype(leaf.dtype if library_of(leaf) == 0 else form.dtype)
        except TypeError:  # keys of random numbers, for one
            return st.just(leaf)
        if dtype.kind not in "biufcSUmM":
            return st.just(leaf)
        elements = extra.from_dtype(dtype, allow_nan=False, allow_subnormal=False)

    def converted(made: Any) -> Any:
        if library_of(leaf) == 1:
            return import_module("jax.numpy").asarray(made, dtype=leaf.dtype)
        if library_of(leaf) == 2:
            tensor = import_module("torch").from_numpy(made.copy())
            return tensor.to(dtype=leaf.dtype, device=leaf.device)
        made = made.astype(leaf.dtype)
        return made if hasattr(leaf, "__setitem__") else made[()]

    return extra.arrays(dtype, form.shape, elements=elements).map(converted)


_VALUES: Final[Mapping[type, Callable[[Any], Any]]] = {
    bool: lambda st: st.booleans(),
    bytes: lambda st: st.binary(max_size=8),
    complex: lambda st: st.complex_numbers(allow_nan=False),
    float: lambda st: st.floats(allow_nan=False),
    int: lambda st: st.integers(),
    str: lambda st: _strings(st, 8),
}

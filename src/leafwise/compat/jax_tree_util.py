"""A stand-in for `jax.tree_util`: its names, signatures, defaults and exceptions.

Nodes and leaves are those of jax: the same as in leafwise, except that deques and
struct sequences are leaves. This is the policy of the namespace `"jax.tree_util"`.
Classes are registered in the global registry of leafwise, and in jax once it is
imported. Classes that only jax knows are nodes here, too.

Example:
    >>> import leafwise.compat.jax_tree_util as jtu
    >>> jtu.tree_flatten({"b": 1, "a": (2, None)})
    ([2, 1], PyTreeDef({'a': (*, None), 'b': *}))
    >>> jtu.tree_map(lambda x: x + 1, [1, {"k": 2}])
    [2, {'k': 3}]
"""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from operator import methodcaller
from types import GeneratorType, SimpleNamespace
from typing import Any, Final, TypeAlias, TypeVar, final

from .. import integrations
from .._records import MISSING
from .._text import typed_repr
from ..core import keypath, register
from ..core.builtins import MAPPINGS, NAMEDTUPLE, has_field_names
from ..core.builtins import Partial as LeafwisePartial
from ..core.context import Context, context_of
from ..core.keys import DictKey as DictKey
from ..core.keys import FlattenedIndexKey as FlattenedIndexKey
from ..core.keys import GetAttrKey as GetAttrKey
from ..core.keys import SequenceKey as SequenceKey
from ..core.node import NodeType
from ..core.registry import (
    add_adopter,
    declare_namespace,
    is_built_in_leaf,
    is_registered,
    lookup,
)
from ..core.treedef import PyTreeDef as LeafwiseTreeDef
from ..core.treedef import map_leaves
from ..core.words import node_data
from ..dataclasses import register_dataclass as register_fields
from ..errors import FlattenError
from ..integrations.bridge import once_loaded
from ..ops import map as maps
from ..ops import reshape
from ._leaves import foreign_nodes


__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "default_registry",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]

NAMESPACE: Final = "jax.tree_util"
"""The namespace in which trees are what they are in jax."""

T = TypeVar("T")
C = TypeVar("C", bound=type)
KeyEntry = TypeVar("KeyEntry", bound=Any)
KeyPath = tuple[KeyEntry, ...]
Predicate: TypeAlias = Callable[..., bool] | None


_NODES: Final = frozenset(
    {
        "None",
        "tuple",
        "list",
        "dict",
        "OrderedDict",
        "defaultdict",
        "frozendict",
        "namedtuple",
        "Partial",
    }
)
"""The names of the built-in nodes that jax has; not each Python has all of them."""


def _is_node(node_type: NodeType, cls: type) -> bool:
    return node_type.name in _NODES


def _named_tuple_node_type(cls: type) -> NodeType | None:
    """Return that of named tuples for a tuple with `_fields`, which is one for jax."""
    return NAMEDTUPLE if has_field_names(cls) else None


declare_namespace(NAMESPACE, leaves=(foreign_nodes(_is_node),))
add_adopter(_named_tuple_node_type, namespace=NAMESPACE)


# ------------------------------------------------------------------------- treedefs


@final
class PyTreeDef:
    """The structure of a tree, with the methods that it has in jax.

    Attributes:
        treedef: The treedef of leafwise.

    Example:
        >>> import leafwise.compat.jax_tree_util as jtu
        >>> treedef = jtu.tree_structure([1, (2, 3)])
        >>> treedef.children()
        [PyTreeDef(*), PyTreeDef((*, *))]
    """

    __slots__ = ("__weakref__", "treedef")

    treedef: LeafwiseTreeDef

    def __init__(self) -> None:
        raise TypeError("a PyTreeDef is made from a tree: use tree_structure(tree)")

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return self.treedef.num_leaves

    @property
    def num_nodes(self) -> int:
        """The number of nodes, leaves included."""
        return self.treedef.num_nodes

    def unflatten(self, leaves: Iterable[Any], /) -> Any:
        """Build a tree from its leaves."""
        return self.treedef.unflatten(leaves)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Return the subtrees of a tree at the leaves of this structure."""
        return self.treedef.flatten_up_to(tree)

    def children(self) -> list[PyTreeDef]:
        """Return the treedefs of the root's children."""
        return [_wrap(child) for child in self.treedef.children()]

    def node_data(self) -> tuple[type, Any] | None:
        """Return the class and the aux data of the root, None for a leaf."""
        return self.treedef.node_data()

    @staticmethod
    def from_node_data_and_children(
        registry: Any, node_data: tuple[type, Any] | None, children: Iterable[PyTreeDef]
    ) -> PyTreeDef:
        """Make a treedef from the results of `node_data` and `children`."""
        parts = [_unwrap(child) for child in children]
        treedef = LeafwiseTreeDef.from_node_data(node_data, parts, namespace=NAMESPACE)
        return _wrap(treedef)

    def compose(self, inner: PyTreeDef, /) -> PyTreeDef:
        """Return this structure with another one in place of each leaf."""
        return _wrap(self.treedef.compose(_unwrap(inner)))

    def walk(
        self,
        f_node: Callable[[tuple[Any, ...], Any], Any],
        f_leaf: Callable[[Any], Any],
        leaves: Iterable[Any],
        /,
    ) -> Any:
        """Fold the leaves from the bottom up; `f_node` takes children and aux data."""

        def fold(_cls: type, data: Any, children: tuple[Any, ...]) -> Any:
            return f_node(children, data)

        return self.treedef.walk(leaves, fold, f_leaf)

    def __eq__(self, other: object) -> bool:
        # a treedef of leafwise is equal, too; it may be aux data of the same node
        return self.treedef == getattr(other, "treedef", other)

    def __hash__(self) -> int:
        return hash(self.treedef)

    def __repr__(self) -> str:
        return repr(self.treedef)

    def __reduce__(self) -> tuple[Any, ...]:
        return _wrap, (self.treedef,)


def _wrap(treedef: LeafwiseTreeDef) -> PyTreeDef:
    """Return a treedef of leafwise with the methods that it has in jax."""
    wrapper = object.__new__(PyTreeDef)
    wrapper.treedef = treedef
    return wrapper


def _unwrap(treedef: object) -> LeafwiseTreeDef:
    """Return the treedef of leafwise in one of this module, or the same one.

    Raises:
        TypeError: It is not a treedef.
    """
    unwrapped = getattr(treedef, "treedef", treedef)
    if not isinstance(unwrapped, LeafwiseTreeDef):
        raise TypeError(f"expected a PyTreeDef, got {typed_repr(treedef)}")
    return unwrapped


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Return the treedef of a tuple whose children have these treedefs."""
    return _wrap(maps.treedef_tuple(map(_unwrap, treedefs)))


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Return the treedefs of the root's children."""
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Return whether a treedef has one node: a leaf, or a node without children."""
    return bool(treedef.num_nodes == 1)


# ------------------------------------------------------------------------- leaves

_ITERABLES: Final = frozenset(
    {
        GeneratorType,
        enumerate,
        filter,
        map,
        zip,
        type({}.values()),
        type(OrderedDict().values()),
        type(iter([])),
        type(iter(())),
        type(iter(set())),
        type(iter({})),
        type(iter({}.values())),
        type(iter({}.items())),
    }
)
"""The types of leaves that jax warns of, since they look like containers."""


def _context(is_leaf: Predicate, takes_path: bool = False) -> Context:
    return context_of(is_leaf, takes_path, namespace=NAMESPACE)


def _warn_of_iterables(leaves: list[Any], context: Context) -> None:
    # All types of leaves seen so far are in this set, mostly none of these: so a call
    # without such leaves does not look at each of its leaves.
    if _ITERABLES.isdisjoint(context.view.leaf_types):
        return
    for leaf in leaves:
        if type(leaf) in _ITERABLES and not context.stops_at(leaf):
            message = f"a {type(leaf).__name__} is a leaf; `is_leaf` can say that"
            # 4: the line that called the function of this module, as jax has it
            warnings.warn(message, DeprecationWarning, stacklevel=4)


def _flatten(tree: Any, context: Context) -> tuple[list[Any], LeafwiseTreeDef]:
    leaves, treedef = context.flatten(tree)
    _warn_of_iterables(leaves, context)
    return leaves, treedef


def tree_flatten(tree: Any, is_leaf: Predicate = None) -> tuple[list[Any], PyTreeDef]:
    """Return the leaves of a tree, and its structure."""
    leaves, treedef = _flatten(tree, _context(is_leaf))
    return leaves, _wrap(treedef)


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Build a tree from its structure and its leaves."""
    return treedef.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: Predicate = None) -> list[Any]:
    """Return the leaves of a tree."""
    leaves, _ = _flatten(tree, _context(is_leaf))
    return leaves


def tree_structure(tree: Any, is_leaf: Predicate = None) -> PyTreeDef:
    """Return the structure of a tree."""
    _, treedef = _flatten(tree, _context(is_leaf))
    return _wrap(treedef)


def tree_flatten_with_path(
    tree: Any, is_leaf: Predicate = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[tuple[Any, ...], Any]], PyTreeDef]:
    """Return pairs of key path and leaf, and the structure."""
    leaves, treedef = _flatten(tree, _context(is_leaf, is_leaf_takes_path))
    paths = map(tuple, treedef.paths())  # programs add tuples to them
    return list(zip(paths, leaves, strict=True)), _wrap(treedef)


def tree_leaves_with_path(
    tree: Any, is_leaf: Predicate = None, is_leaf_takes_path: bool = False
) -> list[tuple[tuple[Any, ...], Any]]:
    """Return pairs of key path and leaf."""
    pairs, _ = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    return pairs


def all_leaves(iterable: Iterable[Any], is_leaf: Predicate = None) -> bool:
    """Return whether each item is a leaf by itself."""
    context = _context(is_leaf)
    return all(context.node_type_of(item) is None for item in iterable)


# ------------------------------------------------------------------ maps and folds


def tree_map(
    f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Predicate = None
) -> Any:
    """Call a function on the leaves of trees, and build a tree of the results."""
    context = _context(is_leaf)
    columns, treedef = context.columns(tree, rest)
    _warn_of_iterables(columns[0], context)
    return treedef.unflatten(map_leaves(f, columns, treedef))


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Predicate = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Call a function on the key path of each leaf and the leaf."""
    context = _context(is_leaf, is_leaf_takes_path)
    columns, treedef = context.columns(tree, rest)
    _warn_of_iterables(columns[0], context)
    paths = [tuple(path) for path in treedef.paths()]
    return treedef.unflatten(map_leaves(f, [paths, *columns], treedef))


def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = MISSING,
    is_leaf: Predicate = None,
) -> Any:
    """Fold the leaves from left to right."""
    leaves = tree_leaves(tree, is_leaf)
    if initializer is MISSING:
        return functools.reduce(function, leaves)
    return functools.reduce(function, leaves, initializer)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = MISSING,
    is_leaf: Predicate = None,
) -> Any:
    """Fold the leaves in halves, with an associative operation.

    Raises:
        TypeError: There are no leaves and no identity.
    """
    leaves = tree_leaves(tree, is_leaf)
    if leaves:
        return _fold_halves(operation, leaves)
    if identity is MISSING:
        raise TypeError("a tree without leaves cannot be reduced without an identity")
    return identity


# in halves, not from left to right, so that the operations may run beside each other
def _fold_halves(operation: Callable[[Any, Any], Any], values: list[Any]) -> Any:
    if len(values) == 1:
        return values[0]
    middle = len(values) // 2
    first_half = _fold_halves(operation, values[:middle])
    second_half = _fold_halves(operation, values[middle:])
    return operation(first_half, second_half)


def tree_all(tree: Any, *, is_leaf: Predicate = None) -> bool:
    """Return whether all leaves are true."""
    return all(tree_leaves(tree, is_leaf))


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: Predicate = None) -> Any:
    """Broadcast each leaf of a tree over the subtree of another tree at its place."""
    return reshape.tree_broadcast_prefix(
        prefix_tree, full_tree, is_leaf, namespace=NAMESPACE
    )


def keystr(keys: Iterable[Any], *, simple: bool = False, separator: str = "") -> str:
    """Return the text of a key path; names of attributes are not quoted.

    Example:
        >>> import leafwise.compat.jax_tree_util as jtu
        >>> jtu.keystr((jtu.GetAttrKey("layer.0"), jtu.DictKey("w")))
        ".layer.0['w']"
    """
    if simple:
        return keypath.keystr(keys, simple=True, separator=separator)
    return separator.join(map(_key_text, keys))


def _key_text(key: Any) -> str:
    return f".{key.name}" if type(key) is GetAttrKey else str(key)


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """Transpose a tree of trees; only the number of leaves is checked.

    Raises:
        TypeError: It is not the product of the numbers of the two structures.
    """
    leaves = tree_leaves(pytree_to_transpose)
    if inner_treedef is None:
        subtrees = outer_treedef.flatten_up_to(pytree_to_transpose)
        inner_treedef = tree_structure(subtrees[0])
    outer_size = outer_treedef.num_leaves
    inner_size = inner_treedef.num_leaves
    # As in jax, only the numbers have to fit: structures inside may differ.
    if len(leaves) != outer_size * inner_size:
        raise TypeError(f"expected {outer_size * inner_size} leaves, got {len(leaves)}")
    columns: list[list[Any]] = []
    if outer_size:
        columns = [leaves[index::inner_size] for index in range(inner_size)]
    return inner_treedef.unflatten(map(outer_treedef.unflatten, columns))


# -------------------------------------------------------------------------- one level


def is_tree_node(typ: type) -> bool:
    """Return whether instances of a class are nodes."""
    if typ is None:  # easily passed in the place of its type
        raise TypeError("is_tree_node takes a class, got None")
    return isinstance(typ, type) and lookup(typ, namespace=NAMESPACE) is not None


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Any]:
    """Return the children of a node, and its aux data.

    Raises:
        ValueError: It is a leaf.
    """
    children, data, _ = _one_level(tree)
    return children, data


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Any]:
    """Return pairs of key and child of a node, and its aux data.

    Raises:
        ValueError: It is a leaf.
    """
    children, data, keys = _one_level(tree)
    return list(zip(keys, children, strict=True)), data


def _one_level(tree: Any) -> tuple[Sequence[Any], Any, Sequence[Any]]:
    """Return children, aux data as jax shows it, and keys."""
    node_type = lookup(type(tree), namespace=NAMESPACE)
    if node_type is None:
        raise ValueError(f"can't tree-flatten type: {type(tree)}")
    children, aux = node_type.flatten(tree)
    data = node_data(node_type, aux)
    # jax has the keys in a tuple, and the children in a list; None has a tuple, ().
    if type(tree) in MAPPINGS and type(data) is list:
        data = tuple(data)
    if tree is not None:
        children = list(children)
    return children, data, node_type.keys(aux, len(children))


# ----------------------------------------------------------------------- registering


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Any, Any]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_with_keys_func: Callable[[Any], tuple[Any, Any]] | None = None,
) -> None:
    """Make instances of a class nodes, by two functions.

    Raises:
        TypeError: A function cannot be called.
        ValueError: It is no class, or one that is registered already.
    """
    for function in (flatten_func, unflatten_func):
        if not callable(function):
            raise TypeError(f"expected a function, got {typed_repr(function)}")
    with_keys = None
    if flatten_with_keys_func is not None:
        with_keys = _with_tuples(_checked(flatten_with_keys_func))
    register.register_pytree_node(
        nodetype,
        _checked(flatten_func),
        unflatten_func,
        with_keys,
        exist_ok=_is_new_built_in(nodetype),
        bridge=True,
    )


def _is_new_built_in(cls: object) -> bool:
    """Return whether a class is a built-in leaf, which jax lets one register once."""
    return isinstance(cls, type) and is_built_in_leaf(cls) and not is_registered(cls)


def _checked(flatten: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, Any]]:
    """Return a flatten function that refuses keys as a third value, as jax does."""

    @functools.wraps(flatten)
    def flatten_checked(node: Any) -> tuple[Any, Any]:
        result = flatten(node)
        if isinstance(result, tuple) and len(result) == 2:
            return result
        raise FlattenError(
            f"the flatten function of {type(node).__qualname__} must return a tuple "
            f"(children, aux_data), got {typed_repr(result)}"
        )

    return flatten_checked


def _with_tuples(
    flatten: Callable[[Any], tuple[Any, Any]],
) -> Callable[[Any], tuple[Any, Any]]:
    """Return a flatten function with tuples for pairs; jax takes lists as well."""

    @functools.wraps(flatten)
    def flatten_with_tuples(node: Any) -> tuple[Any, Any]:
        pairs, aux = flatten(node)
        return [tuple(pair) for pair in pairs], aux

    return flatten_with_tuples


def register_pytree_node_class(cls: C) -> C:
    """Make instances of a class nodes, by its `tree_flatten` and `tree_unflatten`."""
    unflatten: Any = cls.tree_unflatten  # type: ignore[attr-defined]  # it has to have it
    register_pytree_node(cls, methodcaller("tree_flatten"), unflatten)
    return cls


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Any, Any]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_func: Callable[[Any], tuple[Any, Any]] | None = None,
) -> None:
    """Make instances of a class nodes whose children have keys."""
    # `flatten_with_keys` in both places: the registry calls it alone if it is there
    register_pytree_node(
        nodetype, flatten_func or flatten_with_keys, unflatten_func, flatten_with_keys
    )


def register_pytree_with_keys_class(cls: C) -> C:
    """Make instances nodes, by `tree_flatten_with_keys` and `tree_unflatten`."""
    unflatten: Any = cls.tree_unflatten  # type: ignore[attr-defined]  # it has to have it
    register_pytree_with_keys(cls, methodcaller("tree_flatten_with_keys"), unflatten)
    return cls


def register_static(cls: C) -> C:
    """Make instances of a class part of the structure."""
    return register.register_static(cls, exist_ok=_is_new_built_in(cls), bridge=True)


def register_dataclass(
    nodetype: C,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> C:
    """Make instances of a dataclass nodes that are rebuilt by `__init__`.

    Raises:
        TypeError: One list is given without the other, or none for a class that is no
            dataclass.
        ValueError: A field that `__init__` takes is in neither list, or in both, or a
            name is no such field.
    """
    if (data_fields is None) != (meta_fields is None):
        raise TypeError("register_dataclass takes both data_fields and meta_fields")
    cls: Any = nodetype
    is_dataclass = dataclasses.is_dataclass(cls)
    fields = dataclasses.fields(cls) if is_dataclass else ()
    data_names = list(data_fields or ())
    meta_names = list(meta_fields or ())
    if data_fields is None and not is_dataclass:
        raise TypeError(
            f"{nodetype.__qualname__} is not a dataclass, and has no fields"
        )
    if data_fields is None:
        data_names, meta_names = _names_by_metadata(fields, drop_fields)
    used = {*data_names, *meta_names}
    expected = {field.name for field in fields if field.init}.difference(drop_fields)
    # a class that is no dataclass may take any arguments
    if is_dataclass and expected != used:
        raise ValueError(
            f"data_fields and meta_fields of {nodetype.__qualname__} must be all "
            f"fields with init=True; missing fields: {sorted(expected - used)}, to be "
            f"added to drop_fields; unexpected fields: {sorted(used - expected)}"
        )
    # the constructor, which jax calls to rebuild a node, sets these anew
    unused = [field.name for field in fields if field.name not in used]
    register_fields(nodetype, data_names, meta_names, unused, init=True, bridge=True)
    return nodetype


def _names_by_metadata(
    fields: Sequence[Any], drop_fields: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the names of the children, and of the static fields."""
    data_names: list[str] = []
    meta_names: list[str] = []
    for field in fields:
        if field.name in drop_fields:
            continue
        names = meta_names if field.metadata.get("static", False) else data_names
        names.append(field.name)
    return data_names, meta_names


class Partial(LeafwisePartial[Any]):
    """A `functools.partial` whose arguments are leaves and whose function is not.

    Example:
        >>> import leafwise.compat.jax_tree_util as jtu
        >>> jtu.tree_leaves(jtu.Partial(pow, 2, mod=7))
        [2, 7]
    """

    def __new__(cls, func: Callable[..., Any], *args: Any, **kw: Any) -> Any:
        """Fill in the arguments; a partial is wrapped, not absorbed."""
        return super().__new__(cls, func, *args, **kw)


def _flatten_partial(node: Partial) -> tuple[Any, Any]:
    return (node.args, node.keywords), node.func


def _unflatten_partial(func: Any, children: Any) -> Any:
    args, keywords = children
    return Partial(func, *args, **keywords)


# its base is a node of leafwise, but dispatch is on the exact class
register_pytree_node(Partial, _flatten_partial, _unflatten_partial)


default_registry: Final = SimpleNamespace(
    flatten=tree_flatten,
    flatten_one_level=flatten_one_level,
    flatten_one_level_with_keys=flatten_one_level_with_keys,
    is_node=is_tree_node,
    register_node=register_pytree_node,
    register_dataclass_node=register_dataclass,
)
"""The registry of classes, as an object."""


def _adopt_jax() -> None:
    """Make classes that only jax knows nodes here as well."""
    integrations.adopt("jax", namespace=NAMESPACE)


# Not at once: jax is slow to import, and the program may not need it.
once_loaded("jax", _adopt_jax)

"""A stand-in for `jax.tree_util`: its names, signatures, defaults and exceptions.

Nodes and leaves are those of jax: the same as in leafwise, except that deques and
struct sequences are leaves. This is the policy of the namespace `"jax.tree_util"`.
Classes are registered in the global registry of leafwise, and in jax once it is
imported. Classes that only jax knows are nodes here, too.

Besides the public names it has the names of jax's own module that other libraries use.

Example:
    >>> import leafwise.compat.jax_tree_util as jtu
    >>> jtu.tree_flatten({"b": 1, "a": (2, None)})
    ([2, 1], PyTreeDef({'a': (*, None), 'b': *}))
    >>> jtu.tree_map(lambda x: x + 1, [1, {"k": 2}])
    [2, {'k': 3}]
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import methodcaller
from typing import Any, Final, TypeVar, final

from .. import integrations
from ..core import builtins as nodes
from ..core import register as registering
from ..core import treedef as treedefs
from ..core.keypath import keystr
from ..core.keys import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey
from ..core.registry import declare_namespace, lookup
from ..dataclasses import register_dataclass as register_fields
from ..integrations.bridge import once_loaded
from ..ops import inspect as looking
from ..ops import map as mapping
from ..ops import reshape as reshaping
from ..ops import traversal as folding
from ..safely import MISSING, Sealed, class_name, described


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

C = TypeVar("C", bound=type)
KeyEntry = TypeVar("KeyEntry", bound=Any)
KeyPath = tuple[KeyEntry, ...]
Predicate = Callable[..., bool] | None


class _LeafClass(type):
    """The class of classes that have as subclasses what they say."""

    def __subclasscheck__(cls, other: type) -> bool:
        return other is deque or nodes.is_structseq_class(other)


class _Leaves(metaclass=_LeafClass):
    """What is a node elsewhere in leafwise and a leaf in jax."""


declare_namespace(NAMESPACE, leaves=(_Leaves,))


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

    treedef: treedefs.PyTreeDef

    def __init__(self) -> None:
        raise TypeError("a PyTreeDef is made from a tree: use tree_structure(tree)")

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return self.treedef.num_leaves

    @property
    def num_nodes(self) -> int:
        """The number of nodes, leaves and None included."""
        return self.treedef.num_nodes

    def unflatten(self, leaves: Iterable[Any], /) -> Any:
        """Build a tree from its leaves."""
        return self.treedef.unflatten(leaves)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """Return the subtrees of a tree at the leaves of this structure."""
        return self.treedef.flatten_up_to(tree)

    def children(self) -> list[PyTreeDef]:
        """Return the treedefs of the root's children."""
        return [*map(_own, self.treedef.children())]

    def node_data(self) -> tuple[type, Any] | None:
        """Return the class and the aux data of the root, None for a leaf."""
        return self.treedef.node_data()

    @staticmethod
    def from_node_data_and_children(
        registry: Any,
        node_data: tuple[type, Any] | None,
        children: Iterable[PyTreeDef],
    ) -> PyTreeDef:
        """Make a treedef from the results of `node_data` and `children`."""
        return make_from_node_data_and_children(registry, node_data, children)

    def compose(self, inner: PyTreeDef, /) -> PyTreeDef:
        """Return this structure with another one in place of each leaf."""
        return _own(self.treedef.compose(_ours(inner)))

    def walk(
        self,
        f_node: Callable[[tuple[Any, ...], Any], Any],
        f_leaf: Callable[[Any], Any],
        leaves: Iterable[Any],
        /,
    ) -> Any:
        """Fold the leaves from the bottom up; `f_node` takes children and aux data."""
        return self.treedef.walk(
            leaves, lambda _cls, data, kids: f_node(kids, data), f_leaf
        )

    def from_iterable_tree(self, tree: Any, /) -> Any:
        """Build a tree from one of the same form with any iterables as nodes.

        Raises:
            ValueError: A node has more or fewer items.
        """
        leaves: list[Any] = []
        todo = [(self.treedef, tree)]
        while todo:
            treedef, part = todo.pop()
            if treedef.is_leaf():
                leaves.append(part)
                continue
            items, children = [*part], treedef.children()
            if len(items) != len(children):
                raise ValueError(
                    f"Arity mismatch between trees: {type(part).__name__} has "
                    f"{len(items)} items, expected {len(children)}"
                )
            todo += zip(reversed(children), reversed(items), strict=True)
        return self.treedef.unflatten(leaves)

    def serialize_using_proto(self) -> bytes:
        """Return bytes for `deserialize_using_proto`: the treedef as leafwise JSON."""
        return self.treedef.to_json().encode()

    @staticmethod
    def deserialize_using_proto(registry: Any, data: bytes) -> PyTreeDef:
        """Make a treedef from the bytes of `serialize_using_proto`."""
        return _own(treedefs.PyTreeDef.from_json(data.decode()))

    def __eq__(self, other: object) -> bool:
        return self.treedef == getattr(other, "treedef", other)

    def __hash__(self) -> int:
        return hash(self.treedef)

    def __repr__(self) -> str:
        return self.treedef._text(None)

    def __copy__(self) -> PyTreeDef:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> PyTreeDef:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _own, (self.treedef,)


_new: Final = object.__new__
_tuple_of: Final = mapping.treedef_tuple


def _own(treedef: treedefs.PyTreeDef) -> PyTreeDef:
    """Return a treedef of leafwise with the methods that it has in jax."""
    made = _new(PyTreeDef)
    made.treedef = treedef
    return made


def _ours(treedef: Any) -> treedefs.PyTreeDef:
    """Return the treedef of leafwise in one of the stand-in.

    Raises:
        TypeError: It is not a treedef.
    """
    found = getattr(treedef, "treedef", treedef)
    if not isinstance(found, treedefs.PyTreeDef):
        raise TypeError(f"a PyTreeDef is wanted, got {described(treedef)}")
    return found


def make_from_node_data_and_children(
    registry: Any, node_data: tuple[type, Any] | None, children: Iterable[Any]
) -> PyTreeDef:
    """Make a treedef from the results of `node_data` and `children`."""
    parts = [*map(_ours, children)]
    make = treedefs.PyTreeDef.from_node_data
    return _own(make(node_data, parts, namespace=NAMESPACE))


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Return the treedef of a tuple whose children have these treedefs."""
    return _own(_tuple_of(map(_ours, treedefs)))


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Return the treedefs of the root's children."""
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Return whether a treedef has one node: a leaf, or a node without children."""
    return treedef.num_nodes == 1


def treedef_is_strict_leaf(treedef: PyTreeDef) -> bool:
    """Return whether a treedef is that of a leaf."""
    return treedef.num_nodes == 1 and treedef.num_leaves == 1


# ----------------------------------------------------------------- flatten and map


def tree_flatten(tree: Any, is_leaf: Predicate = None) -> tuple[list[Any], PyTreeDef]:
    """Return the leaves of a tree, and its structure."""
    leaves, treedef = mapping.tree_flatten(tree, is_leaf, namespace=NAMESPACE)
    return leaves, _own(treedef)


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Build a tree from its structure and its leaves."""
    return treedef.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: Predicate = None) -> list[Any]:
    """Return the leaves of a tree."""
    return mapping.tree_flatten(tree, is_leaf, namespace=NAMESPACE)[0]


def tree_structure(tree: Any, is_leaf: Predicate = None) -> PyTreeDef:
    """Return the structure of a tree."""
    return _own(mapping.tree_flatten(tree, is_leaf, namespace=NAMESPACE)[1])


def tree_map(
    f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Predicate = None
) -> Any:
    """Call a function on each leaf, and return the results in the same structure.

    Raises:
        ValueError: A further tree does not have the structure of the first.
    """
    return mapping.tree_map(f, tree, *rest, is_leaf=is_leaf, namespace=NAMESPACE)


def tree_flatten_with_path(
    tree: Any, is_leaf: Predicate = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[tuple[Any, ...], Any]], PyTreeDef]:
    """Return pairs of key path and leaf, and the structure."""
    pairs, treedef = mapping.tree_flatten_with_path(
        tree, is_leaf, is_leaf_takes_path=is_leaf_takes_path, namespace=NAMESPACE
    )
    return [(tuple(path), leaf) for path, leaf in pairs], _own(treedef)


def tree_leaves_with_path(
    tree: Any, is_leaf: Predicate = None, is_leaf_takes_path: bool = False
) -> list[tuple[tuple[Any, ...], Any]]:
    """Return pairs of key path and leaf."""
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


generate_key_paths: Final = tree_leaves_with_path


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Predicate = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Call a function on the key path of each leaf and the leaf."""
    return mapping.tree_map_with_path(
        lambda path, *leaves: f(tuple(path), *leaves),
        tree,
        *rest,
        is_leaf=is_leaf,
        is_leaf_takes_path=is_leaf_takes_path,
        namespace=NAMESPACE,
    )


def all_leaves(iterable: Iterable[Any], is_leaf: Predicate = None) -> bool:
    """Return whether each item is a leaf by itself."""
    items = [*iterable]
    if is_leaf is None:
        return looking.all_leaves(items, namespace=NAMESPACE)
    leaves = tree_leaves(items, is_leaf)
    return len(leaves) == len(items) and all(map(_is, items, leaves))


def _is(one: Any, other: Any) -> bool:
    return one is other


# -------------------------------------------------------- folds, broadcast, transpose


def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = MISSING,
    is_leaf: Predicate = None,
) -> Any:
    """Fold the leaves from the left."""
    return folding.tree_reduce(
        function, tree, initializer, is_leaf, namespace=NAMESPACE
    )


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = MISSING,
    is_leaf: Predicate = None,
) -> Any:
    """Fold the leaves pairwise, by halves."""
    return folding.tree_reduce_associative(
        operation, tree, identity=identity, is_leaf=is_leaf, namespace=NAMESPACE
    )


def tree_all(tree: Any, *, is_leaf: Predicate = None) -> bool:
    """Return whether all leaves are true."""
    return folding.tree_all(tree, is_leaf=is_leaf, namespace=NAMESPACE)


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: Predicate = None) -> Any:
    """Repeat each leaf of a prefix over the subtree that it covers."""
    return reshaping.tree_broadcast_prefix(
        prefix_tree, full_tree, is_leaf, namespace=NAMESPACE
    )


def broadcast_prefix(
    prefix_tree: Any, full_tree: Any, is_leaf: Predicate = None
) -> list[Any]:
    """Repeat each leaf of a prefix over the subtree that it covers, as a flat list."""
    return reshaping.broadcast_prefix(
        prefix_tree, full_tree, is_leaf, namespace=NAMESPACE
    )


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """Transpose a tree of trees; only the number of leaves is checked.

    Raises:
        TypeError: It is not the product of the numbers of the two structures.
    """
    leaves, treedef = tree_flatten(pytree_to_transpose)
    if inner_treedef is None:
        inner_treedef = tree_structure(
            outer_treedef.flatten_up_to(pytree_to_transpose)[0]
        )
    outer, inner = outer_treedef.num_leaves, inner_treedef.num_leaves
    if len(leaves) != outer * inner:
        whole = outer_treedef.compose(inner_treedef)
        raise TypeError(
            f"Mismatch\n{treedef}\n != \n{whole}\nexpected {outer * inner} leaves, "
            f"got {len(leaves)}"
        )
    columns = [leaves[place::inner] for place in range(inner)] if outer else []
    return inner_treedef.unflatten([*map(outer_treedef.unflatten, columns)])


def prefix_errors(
    prefix_tree: Any, full_tree: Any, is_leaf: Predicate = None
) -> list[Callable[[str], ValueError]]:
    """Return, for each difference, a function from a name to an error."""
    found = reshaping.prefix_errors(
        prefix_tree, full_tree, is_leaf, namespace=NAMESPACE
    )

    def named(difference: Any) -> Callable[[str], ValueError]:
        return lambda name: ValueError(
            "pytree structure error: at key path\n"
            f"    {name}{keystr(difference.path)}\n"
            f"expected {difference.expected}, got {difference.actual}"
        )

    return [*map(named, found)]


def equality_errors(
    tree1: Any, tree2: Any, is_leaf: Predicate = None
) -> Iterator[tuple[tuple[Any, ...], str, str, str]]:
    """Yield the path, both sides and the reason for each difference."""
    for one in reshaping.equality_errors(tree1, tree2, is_leaf, namespace=NAMESPACE):
        yield tuple(one.path), one.expected, one.actual, one.hint or "they differ"


def equality_errors_pytreedef(
    tree1: PyTreeDef, tree2: PyTreeDef
) -> Iterator[tuple[tuple[Any, ...], str, str, str]]:
    """Yield the differences of two structures, like `equality_errors`."""
    for one in _ours(tree1).explain(_ours(tree2)):
        yield tuple(one.path), one.expected, one.actual, one.hint or "they differ"


def build_tree(treedef: PyTreeDef, xs: Any) -> Any:
    """Build a tree from one of the same form with any iterables as nodes."""
    return treedef.from_iterable_tree(xs)


# -------------------------------------------------------------------------- one level


def is_tree_node(typ: type) -> bool:
    """Return whether instances of a class are nodes."""
    if typ is None:
        raise TypeError("is_tree_node takes a class, got None")
    return isinstance(typ, type) and lookup(typ, namespace=NAMESPACE) is not None


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Any]:
    """Return the children of a node, and its aux data.

    Raises:
        ValueError: It is a leaf.
    """
    children, aux, _ = _one_level(tree)
    if type(tree) in (list, tuple):
        return tree, None
    return (tuple(children), tuple(aux)) if type(tree) is dict else (children, aux)


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Any]:
    """Return pairs of key and child of a node, and its aux data.

    Raises:
        ValueError: It is a leaf.
    """
    children, aux, keys = _one_level(tree)
    pairs = [*zip(keys, children, strict=True)]
    if type(tree) is dict:
        return tuple(pairs), tuple(aux)
    return (tuple(pairs), aux) if type(tree) in (list, tuple) else (pairs, aux)


def _one_level(tree: Any) -> tuple[Sequence[Any], Any, Sequence[Any]]:
    """Return children, aux data as jax shows it, and keys."""
    rule = lookup(type(tree), namespace=NAMESPACE)
    if rule is None:
        raise ValueError(f"can't tree-flatten type: {type(tree)}")
    children, aux = rule.flatten(tree)
    data, keys = rule.node_data(aux), rule.keys(aux, len(children))
    return () if tree is None else [*children], data, keys


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
            raise TypeError(f"a function is wanted, got {described(function)}")
    registering.register_pytree_node(
        nodetype, flatten_func, unflatten_func, flatten_with_keys_func, bridge=True
    )


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
    return registering.register_static(cls, bridge=True)


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
    data, meta = _fields_of(nodetype, data_fields, meta_fields)
    rest = _other_fields(nodetype, {*data, *meta}, drop_fields)
    register_fields(nodetype, data, meta, rest, init=True, bridge=True)
    return nodetype


def _fields_of(
    cls: type, data: Sequence[str] | None, meta: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the two lists, or what a dataclass says of its fields."""
    if data is not None and meta is not None:
        return tuple(data), tuple(meta)
    if data is not None or meta is not None:
        raise TypeError(
            "register_dataclass: data_fields and meta_fields must both be specified "
            "when either is specified"
        )
    if not dataclasses.is_dataclass(cls):
        raise TypeError(
            "register_dataclass: data_fields and meta_fields are required when "
            f"nodetype is not a dataclass, got {class_name(cls)}"
        )
    names: tuple[list[str], list[str]] = [], []
    for field in dataclasses.fields(cls):
        names[bool(field.metadata.get("static", False))].append(field.name)
    return tuple(names[0]), tuple(names[1])


def _other_fields(cls: type, used: set[str], drop: Iterable[str]) -> list[str]:
    """Return the fields of a dataclass that are not used.

    Raises:
        ValueError: `__init__` takes one of them that is not dropped, or does not take
            one that is used.
    """
    if not dataclasses.is_dataclass(cls):
        return []
    fields = dataclasses.fields(cls)
    wanted = {field.name for field in fields if field.init}.difference(drop)
    if wanted != used:
        raise ValueError(
            f"data_fields and meta_fields of {class_name(cls)} must be all fields with "
            f"init=True and only them; Missing fields: {sorted(wanted - used)}, to be "
            f"added to drop_fields; Unexpected fields: {sorted(used - wanted)}"
        )
    return [field.name for field in fields if field.name not in used]


class Partial(nodes.Partial[Any]):
    """A `functools.partial` whose arguments are leaves and whose function is not.

    Example:
        >>> import leafwise.compat.jax_tree_util as jtu
        >>> jtu.tree_leaves(jtu.Partial(pow, 2, mod=7))
        [2, 7]
    """

    def __new__(cls, func: Callable[..., Any], *args: Any, **kw: Any) -> Any:
        """Fill in the arguments; a partial is wrapped, not absorbed."""
        return super().__new__(cls, func, *args, **kw)


def _unflatten_partial(func: Any, children: Any) -> Any:
    return Partial(func, *children[0], **children[1])


register_pytree_node(
    Partial, lambda node: ((node.args, node.keywords), node.func), _unflatten_partial
)


class PyTreeRegistry(Sealed):
    """The interface of jax's registry of classes, on the registry of leafwise."""

    def flatten(
        self, tree: Any, leaf_predicate: Predicate = None
    ) -> tuple[list[Any], PyTreeDef]:
        """Return the leaves of a tree, and its structure."""
        return tree_flatten(tree, leaf_predicate)

    def flatten_with_path(
        self, tree: Any, leaf_predicate: Predicate = None
    ) -> tuple[list[tuple[tuple[Any, ...], Any]], PyTreeDef]:
        """Return pairs of path and leaf; the predicate takes the path as well."""
        return tree_flatten_with_path(tree, leaf_predicate, is_leaf_takes_path=True)

    def flatten_one_level(self, tree: Any) -> tuple[Iterable[Any], Any] | None:
        """Return the children of a node, and its aux data; None for a leaf."""
        return flatten_one_level(tree) if self.is_node(type(tree)) else None

    def flatten_one_level_with_keys(
        self, tree: Any
    ) -> tuple[Iterable[tuple[Any, Any]], Any] | None:
        """Return pairs of key and child, and the aux data; None for a leaf."""
        return flatten_one_level_with_keys(tree) if self.is_node(type(tree)) else None

    def is_node(self, type: type) -> bool:
        """Return whether instances of a class are nodes."""
        return is_tree_node(type)

    def register_node(
        self,
        type: type,
        to_iterable: Callable[[Any], tuple[Any, Any]],
        from_iterable: Callable[[Any, Any], Any],
        to_iterable_with_keys: Callable[[Any], tuple[Any, Any]] | None = None,
    ) -> None:
        """Make instances of a class nodes, by two functions."""
        register_pytree_node(type, to_iterable, from_iterable, to_iterable_with_keys)

    def register_dataclass_node(
        self, type: type, data_fields: Sequence[str], meta_fields: Sequence[str], /
    ) -> None:
        """Make instances of a dataclass nodes that are rebuilt by `__init__`."""
        register_dataclass(type, data_fields, meta_fields)


default_registry: Final = PyTreeRegistry()


# ------------------------------------------------------------- what jax itself knows


def _adopt() -> None:
    integrations.adopt("jax", namespace=NAMESPACE)


once_loaded("jax", _adopt)

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
import inspect
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from operator import methodcaller
from types import SimpleNamespace
from typing import Any, Final, TypeVar, final

from .. import integrations
from .._records import MISSING, Missing
from .._text import typed_repr
from ..core import builtins as nodes
from ..core import keypath
from ..core import register as registering
from ..core import treedef as treedefs
from ..core.keys import DictKey as DictKey
from ..core.keys import FlattenedIndexKey as FlattenedIndexKey
from ..core.keys import GetAttrKey as GetAttrKey
from ..core.keys import SequenceKey as SequenceKey
from ..core.registry import declare_namespace, lookup
from ..dataclasses import register_dataclass as register_fields
from ..errors import FlattenError
from ..integrations.bridge import once_loaded
from ..ops import inspect as looking
from ..ops import map as mapping
from ..ops import reshape as reshaping
from ..ops import traversal as folding


__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    *("DictKey", "FlattenedIndexKey", "GetAttrKey", "KeyEntry", "KeyPath", "Partial"),
    *("PyTreeDef", "SequenceKey", "all_leaves", "default_registry"),
    *("flatten_one_level", "flatten_one_level_with_keys", "is_tree_node", "keystr"),
    *("register_dataclass", "register_pytree_node", "register_pytree_node_class"),
    *("register_pytree_with_keys", "register_pytree_with_keys_class"),
    *("register_static", "tree_all", "tree_broadcast", "tree_flatten"),
    *("tree_flatten_with_path", "tree_leaves", "tree_leaves_with_path", "tree_map"),
    *("tree_map_with_path", "tree_reduce", "tree_reduce_associative"),
    *("tree_structure", "tree_transpose", "tree_unflatten", "treedef_children"),
    *("treedef_is_leaf", "treedef_tuple"),
]

NAMESPACE: Final = "jax.tree_util"
"""The namespace in which trees are what they are in jax."""

T = TypeVar("T")
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

    num_leaves = property(lambda self: self.treedef.num_leaves)
    num_nodes = property(lambda self: self.treedef.num_nodes)

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
        registry: Any, node_data: tuple[type, Any] | None, children: Iterable[PyTreeDef]
    ) -> PyTreeDef:
        """Make a treedef from the results of `node_data` and `children`."""
        make, parts = treedefs.PyTreeDef.from_node_data, [*map(_ours, children)]
        return _own(make(node_data, parts, namespace=NAMESPACE))

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

    def __eq__(self, other: object) -> bool:
        return self.treedef == getattr(other, "treedef", other)

    def __hash__(self) -> int:
        return hash(self.treedef)

    def __repr__(self) -> str:
        return repr(self.treedef)

    def __reduce__(self) -> tuple[Any, ...]:
        return _own, (self.treedef,)


def _own(treedef: treedefs.PyTreeDef) -> PyTreeDef:
    """Return a treedef of leafwise with the methods that it has in jax."""
    made = object.__new__(PyTreeDef)
    made.treedef = treedef
    return made


def _ours(treedef: Any) -> treedefs.PyTreeDef:
    """Return the treedef of leafwise in one of the stand-in.

    Raises:
        TypeError: It is not a treedef.
    """
    found = getattr(treedef, "treedef", treedef)
    if not isinstance(found, treedefs.PyTreeDef):
        raise TypeError(f"a PyTreeDef is wanted, got {typed_repr(treedef)}")
    return found


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Return the treedef of a tuple whose children have these treedefs."""
    return _own(mapping.treedef_tuple(map(_ours, treedefs)))


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Return the treedefs of the root's children."""
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Return whether a treedef has one node: a leaf, or a node without children."""
    return bool(treedef.num_nodes == 1)


# ----------------------------------------------------------------- flatten and map


def tree_flatten(tree: Any, is_leaf: Predicate = None) -> tuple[list[Any], PyTreeDef]:
    """Return the leaves of a tree, and its structure."""
    leaves, treedef = mapping.tree_flatten(tree, is_leaf, namespace=NAMESPACE)
    return leaves, _own(treedef)


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """Build a tree from its structure and its leaves."""
    return treedef.unflatten(leaves)


def tree_structure(tree: Any, is_leaf: Predicate = None) -> PyTreeDef:
    """Return the structure of a tree."""
    return _own(mapping.tree_flatten(tree, is_leaf, namespace=NAMESPACE)[1])


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


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Predicate = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Call a function on the key path of each leaf and the leaf."""
    options: Any = {"is_leaf_takes_path": is_leaf_takes_path, "namespace": NAMESPACE}

    def call(path: Any, *leaves: Any) -> Any:
        return f(tuple(path), *leaves)

    return mapping.tree_map_with_path(call, tree, *rest, is_leaf=is_leaf, **options)


def keystr(keys: Iterable[Any], *, simple: bool = False, separator: str = "") -> str:
    """Return the text of a key path; names of attributes are not quoted.

    Example:
        >>> import leafwise.compat.jax_tree_util as jtu
        >>> jtu.keystr((jtu.GetAttrKey("layer.0"), jtu.DictKey("w")))
        ".layer.0['w']"
    """
    if simple:
        return keypath.keystr(keys, simple=True, separator=separator)
    texts = (f".{k.name}" if type(k) is GetAttrKey else str(k) for k in keys)
    return separator.join(texts)


# -------------------------------------------------------- folds, broadcast, transpose


def _in_jax(function: Callable[..., T]) -> Callable[..., T]:
    """Return a function of leafwise with the arguments that it has in jax."""
    ours = ("is_leaf_takes_path", "none_is_leaf", "namespace", "strict")

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> T:
        return function(*args, **options, namespace=NAMESPACE)

    signature = inspect.signature(function)
    theirs = [one for name, one in signature.parameters.items() if name not in ours]
    call.__signature__ = signature.replace(parameters=theirs)  # type: ignore[attr-defined]
    call.__module__, call.__doc__ = __name__, (call.__doc__ or "").partition("\n")[0]
    return call


all_leaves = _in_jax(looking.all_leaves)
tree_leaves = _in_jax(mapping.tree_leaves)
tree_map = _in_jax(mapping.tree_map)
tree_reduce = _in_jax(folding.tree_reduce)
tree_all = _in_jax(folding.tree_all)
tree_broadcast = _in_jax(reshaping.tree_broadcast_prefix)


def tree_reduce_associative(
    operation: Callable[[T, T], T],
    tree: Any,
    *,
    identity: T | Missing = MISSING,
    is_leaf: Predicate = None,
) -> T:
    """Fold the leaves in halves, in the order of jax, with an associative operation.

    Raises:
        TypeError: There are no leaves and no identity.
    """
    leaves: list[T] = tree_leaves(tree, is_leaf)
    if leaves:
        return _fold_halves(operation, leaves)
    if isinstance(identity, Missing):
        raise TypeError(
            "tree_reduce_associative of a tree without leaves needs an identity"
        )
    return identity


def _fold_halves(operation: Callable[[T, T], T], values: list[T]) -> T:
    if len(values) == 1:
        return values[0]
    middle = len(values) // 2
    first_half = _fold_halves(operation, values[:middle])
    second_half = _fold_halves(operation, values[middle:])
    return operation(first_half, second_half)


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """Transpose a tree of trees; only the number of leaves is checked.

    Raises:
        TypeError: It is not the product of the numbers of the two structures.
    """
    leaves = tree_leaves(pytree_to_transpose)
    if inner_treedef is None:
        first = outer_treedef.flatten_up_to(pytree_to_transpose)[0]
        inner_treedef = tree_structure(first)
    outer, inner = outer_treedef.num_leaves, inner_treedef.num_leaves
    if len(leaves) != outer * inner:
        raise TypeError(f"expected {outer * inner} leaves, got {len(leaves)}")
    columns = [leaves[place::inner] for place in range(inner)] if outer else []
    return inner_treedef.unflatten([*map(outer_treedef.unflatten, columns)])


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
    return _one_level(tree)[:2]


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Any]:
    """Return pairs of key and child of a node, and its aux data.

    Raises:
        ValueError: It is a leaf.
    """
    children, aux, keys = _one_level(tree)
    return [*zip(keys, children, strict=True)], aux


def _one_level(tree: Any) -> tuple[Sequence[Any], Any, Sequence[Any]]:
    """Return children, aux data as jax shows it, and keys."""
    rule = lookup(type(tree), namespace=NAMESPACE)
    if rule is None:
        raise ValueError(f"can't tree-flatten type: {type(tree)}")
    children, aux = rule.flatten(tree)
    data, keys = rule.node_data(aux), rule.keys(aux, len(children))
    data = tuple(data) if type(tree) is dict else data
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
            raise TypeError(f"a function is wanted, got {typed_repr(function)}")
    with_keys = flatten_with_keys_func and _checked(flatten_with_keys_func, pairs=True)
    registering.register_pytree_node(
        nodetype, _checked(flatten_func), unflatten_func, with_keys, bridge=True
    )


def _checked(flatten: Callable[[Any], Any], pairs: bool = False) -> Any:
    """Return a flatten function that refuses other results than children and aux data.

    leafwise takes keys as a third value, which jax does not, and no lists as pairs of
    key and child, which jax does.
    """

    @functools.wraps(flatten)
    def call(node: Any) -> tuple[Any, Any]:
        result = flatten(node)
        if not isinstance(result, tuple) or len(result) != 2:
            who = f"the flatten function of {type(node).__qualname__}"
            told = f"must return a tuple (children, aux_data), got {typed_repr(result)}"
            raise FlattenError(f"{who} {told}")
        if not pairs:
            return result
        return [tuple(p) if type(p) is list else p for p in result[0]], result[1]

    return call


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
    if (data_fields is None) != (meta_fields is None):
        raise TypeError("register_dataclass takes both data_fields and meta_fields")
    is_dataclass = dataclasses.is_dataclass(nodetype)
    if data_fields is None and not is_dataclass:
        raise TypeError(
            f"{nodetype.__qualname__} is not a dataclass, and has no fields"
        )
    cls: Any = nodetype
    fields = dataclasses.fields(cls) if is_dataclass else ()
    names: tuple[list[str], list[str]] = [*(data_fields or ())], [*(meta_fields or ())]
    for field in fields if data_fields is None else ():
        names[bool(field.metadata.get("static", False))].append(field.name)
    used = {*names[0], *names[1]}
    wanted = {field.name for field in fields if field.init}.difference(drop_fields)
    if is_dataclass and wanted != used:
        told = f"missing fields: {sorted(wanted - used)}, to be added to drop_fields"
        raise ValueError(
            f"data_fields and meta_fields of {nodetype.__qualname__} must be all "
            "fields "
            f"with init=True; {told}; unexpected fields: {sorted(used - wanted)}"
        )
    rest = [field.name for field in fields if field.name not in used]
    register_fields(nodetype, *names, rest, init=True, bridge=True)
    return nodetype


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


default_registry: Final = SimpleNamespace(
    flatten=tree_flatten,
    flatten_one_level=flatten_one_level,
    flatten_one_level_with_keys=flatten_one_level_with_keys,
    is_node=is_tree_node,
    register_node=register_pytree_node,
    register_dataclass_node=register_dataclass,
)
"""The registry of classes, as an object."""


# ------------------------------------------------------------- what jax itself knows


once_loaded("jax", lambda: integrations.adopt("jax", namespace=NAMESPACE))

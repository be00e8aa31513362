"""A stand-in for `torch.utils._pytree`.

    >>> import leafwise.compat.torch_pytree as pytree
    >>> pytree.tree_map(lambda x: x is None, {"x": 7, "y": (42, None)})
    {'x': False, 'y': (False, True)}

Names, arguments, results and types of exceptions are those of torch 2.13; error
messages are more detailed and name the place. Owns the functions on trees, where
`is_leaf` makes leaves of nodes. `torch_nodes` defines which values are nodes and how
classes are registered, and `torch_spec` defines specs.

Trees of any depth are walked, and a tree that contains itself raises a `CycleError`.
Types that torch itself registers, such as `torch.Size`, are leaves here until you
register them.
"""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, UnionType
from typing import Any, Final, NoReturn, Protocol, TypeAlias, TypeVar

from typing_extensions import deprecated

from ..core.keys import GetAttrKey as _Attribute
from ..core.keys import SequenceKey as _Position
from ..core.treedef import PyTreeDef
from ..core.walk import map_leaves
from ..errors import CycleError
from ..ops.context import context_of
from ..ops.map import tree_iter as _tree_iter
from ..ops.map import tree_map as _tree_map
from ..ops.map import tree_map_ as _tree_map_
from ..safely import described
from .common import kept_by_treedef
from .forms import is_namedtuple as is_namedtuple
from .forms import is_namedtuple_class as is_namedtuple_class
from .forms import is_namedtuple_instance as is_namedtuple_instance
from .forms import is_structseq as is_structseq
from .forms import is_structseq_class as is_structseq_class
from .forms import is_structseq_instance as is_structseq_instance
from .torch_nodes import *
from .torch_nodes import FunctionsNode
from .torch_spec import *
from .torch_spec import _LEAF_SPEC as _LEAF_SPEC
from .torch_spec import TreeSpec, spec_of


__all__ = [
    "Context",
    "DumpableContext",
    "FlattenFn",
    "FromDumpableContextFn",
    "LeafSpec",
    "PyTree",
    "PyTreeSpec",
    "ToDumpableContextFn",
    "TreeSpec",
    "UnflattenFn",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "key_get",
    "keystr",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_loads",
    "treespec_pprint",
]

T = TypeVar("T")
S = TypeVar("S")
U = TypeVar("U")
R = TypeVar("R")
K = TypeVar("K")


class KeyEntry(Protocol):
    """The interface of a key in a key path."""

    def __hash__(self) -> int: ...

    def __eq__(self, other: object) -> bool: ...

    def __str__(self) -> str: ...

    def get(self, parent: Any) -> Any:
        """Return the child of a node at this key."""


Context = Any
PyTree = Any
PyTreeSpec: TypeAlias = TreeSpec
DumpableContext = Any
FlattenFn = Callable[[PyTree], tuple[list[Any], Context]]
UnflattenFn = Callable[[Iterable[Any], Context], PyTree]
ToDumpableContextFn = Callable[[Context], DumpableContext]
FromDumpableContextFn = Callable[[DumpableContext], Context]
ToStrFunc = Callable[[TreeSpec, list[str]], str]
MaybeFromStrFunc = Callable[[str], tuple[Any, Context, str] | None]
KeyPath = tuple[KeyEntry, ...]
FlattenWithKeysFn = Callable[[PyTree], tuple[list[tuple[KeyEntry, Any]], Any]]
FlattenFunc = FlattenFn
UnflattenFunc = UnflattenFn
FlattenWithKeysFunc = FlattenWithKeysFn
Fn = Callable[[T], R]
Fn2 = Callable[[T | S], R]
Fn3 = Callable[[T | S | U], R]
FnAny = Callable[[Any], R]
MapOnlyFn = Callable[[T], Callable[[Any], Any]]
Type2 = tuple[type[T], type[S]]
Type3 = tuple[type[T], type[S], type[U]]
TypeAny = type[Any] | tuple[type[Any], ...] | UnionType

IsLeaf: TypeAlias = Callable[[PyTree], bool] | None
Py_TPFLAGS_BASETYPE: Final = 1 << 10


# ------------------------------------------------------------------- sorts of classes


class structseq(tuple[Any, ...]):  # its name in torch
    """A type for annotations that stands for all struct sequences."""

    __slots__ = ()

    n_fields: Final[int]  # type: ignore[misc]  # each type has its own
    n_sequence_fields: Final[int]  # type: ignore[misc]  # as above
    n_unnamed_fields: Final[int]  # type: ignore[misc]  # as above

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError("type 'structseq' is not an acceptable base type")

    def __new__(cls, sequence: Iterable[Any], dict: Any = ...) -> NoReturn:
        """Refuse to make one."""
        raise NotImplementedError("structseq stands for types, it has no instances")


@deprecated(
    "`_is_namedtuple_instance` is deprecated, use `is_namedtuple_instance` instead.",
    category=FutureWarning,
)
def _is_namedtuple_instance(tree: Any) -> bool:
    return is_namedtuple_instance(tree)


def _get_node_type(tree: Any) -> Any:
    return namedtuple if is_namedtuple_instance(tree) else type(tree)


# ------------------------------------------------------------------ flatten, unflatten


def _asked(is_leaf: Any) -> Any:
    """Return a predicate as it is called in torch: a class is called, too."""
    if is_leaf is None or type(is_leaf) is FunctionType:
        return is_leaf
    return lambda node: is_leaf(node)  # noqa: PLW0108  # a class has to be called


def _flatten(tree: PyTree, is_leaf: Any) -> tuple[list[Any], PyTreeDef]:
    return context_of(_asked(is_leaf), False, True, NAMESPACE).flatten(tree)


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether a value is a leaf.

    Example:
        >>> import leafwise.compat.torch_pytree as pytree
        >>> pytree.tree_is_leaf(None), pytree.tree_is_leaf([])
        (True, False)
    """
    if is_leaf is not None and is_leaf(tree):
        return True
    return rule_of(tree) is None


@deprecated(
    "`_is_leaf` is deprecated, use `tree_is_leaf` instead.", category=FutureWarning
)
def _is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    return tree_is_leaf(tree, is_leaf=is_leaf)


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a tree and its spec.

    Raises:
        CycleError: The tree contains itself.

    Example:
        >>> import leafwise.compat.torch_pytree as pytree
        >>> pytree.tree_flatten([1, (None,)])
        ([1, None], TreeSpec(list, None, [*,
          TreeSpec(tuple, None, [*])]))
    """
    leaves, treedef = _flatten(tree, is_leaf)
    return leaves, spec_of(treedef)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Build a tree from its leaves and its spec, in either order of arguments.

    Raises:
        TypeError: None of them is a spec.
        ValueError: There are too few leaves or too many.

    Example:
        >>> import leafwise.compat.torch_pytree as pytree
        >>> pytree.tree_unflatten([1, 2], pytree.tree_structure({"b": 0, "a": 0}))
        {'b': 1, 'a': 2}
    """
    if isinstance(treespec, TreeSpec):
        return treespec._treedef.unflatten(leaves)
    if isinstance(leaves, TreeSpec):
        return leaves.unflatten(treespec)
    raise TypeError(
        "Expected `treespec` to be an instance of PyTreeSpec but got "
        f"{described(treespec)}"
    )


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """Return an iterator over the leaves of a tree.

    Raises:
        CycleError: The tree contains itself; raised when the walk gets there.
    """
    options: Any = {"none_is_leaf": True, "namespace": NAMESPACE}
    return _tree_iter(tree, _asked(is_leaf), **options)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves of a tree.

    Raises:
        CycleError: The tree contains itself.
    """
    return _flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """Return the spec of a tree.

    Raises:
        CycleError: The tree contains itself.
    """
    return spec_of(_flatten(tree, is_leaf)[1])


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """Return the leaves of all arguments of a call.

    Example:
        >>> import leafwise.compat.torch_pytree as pytree
        >>> pytree.arg_tree_leaves([1, 2], x=(3,))
        [1, 2, 3]
    """
    return _flatten((args, kwargs), None)[0]


# -------------------------------------------------------------------------- with paths


def tree_flatten_with_path(
    tree: PyTree, is_leaf: IsLeaf = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """Return pairs of key path and leaf, and the spec.

    Raises:
        ValueError: A class was registered without `flatten_with_keys_fn`.

    Example:
        >>> import leafwise.compat.torch_pytree as pytree
        >>> pytree.tree_flatten_with_path({"a": [1]})[0]
        [((MappingKey(key='a'), SequenceKey(idx=0)), 1)]
    """
    leaves, treedef = _flatten(tree, is_leaf)
    paths = _paths(treedef)
    if paths is None:
        return [*_generate_key_paths((), tree, is_leaf)], spec_of(treedef)
    return [*zip(paths, leaves, strict=True)], spec_of(treedef)


def tree_leaves_with_path(
    tree: PyTree, is_leaf: IsLeaf = None
) -> list[tuple[KeyPath, Any]]:
    """Return pairs of key path and leaf.

    Raises:
        ValueError: A class was registered without `flatten_with_keys_fn`.
    """
    return tree_flatten_with_path(tree, is_leaf)[0]


def tree_map_with_path(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Map a function that takes the key path first; otherwise like `tree_map`.

    Raises:
        ValueError: A further tree has another structure, or a class was registered
            without `flatten_with_keys_fn`.

    Example:
        >>> import leafwise.compat.torch_pytree as pytree
        >>> pytree.tree_map_with_path(lambda path, x: pytree.keystr(path), {"a": [1]})
        {'a': ["['a'][0]"]}
    """
    leaves, treedef = _flatten(tree, is_leaf)
    paths: Any = _paths(treedef)
    if paths is None:
        pairs = [*_generate_key_paths((), tree, is_leaf)]
        paths, leaves = [path for path, _ in pairs], [leaf for _, leaf in pairs]
    columns = [paths, leaves, *map(treedef.flatten_up_to, rests)]
    return treedef.unflatten(map_leaves(func, columns, treedef._code))


@kept_by_treedef
def _paths(treedef: PyTreeDef) -> list[KeyPath] | None:
    """Return the key path of each leaf, None if functions for nodes know them."""
    if any(isinstance(entry[1], FunctionsNode) for entry in treedef._code):
        return None
    return [tuple(map(_key_of, path)) for path in treedef.paths()]


def _key_of(key: Any) -> Any:
    """Return a key of leafwise as torch has it."""
    if isinstance(key, _Attribute):
        return GetAttrKey(key.name)
    if isinstance(key, _Position):
        return SequenceKey(key.idx)
    return MappingKey(key.entry)


def _generate_key_paths(
    key_path: KeyPath, tree: PyTree, is_leaf: IsLeaf = None
) -> Iterator[tuple[KeyPath, Any]]:
    """Yield pairs of key path and leaf as the functions for nodes give them.

    Raises:
        ValueError: A class has no function that gives keys.
        CycleError: The tree contains itself.
    """
    on_path: list[Any] = []
    frames: list[Iterator[Any]] = [iter([(key_path, tree)])]
    while frames:
        for path, node in frames[-1]:
            if (is_leaf and is_leaf(node)) or rule_of(node) is None:
                yield path, node
                continue
            if any(node is above for above in on_path):
                raise CycleError(f"the tree contains itself, at {keystr(path)}")
            on_path.append(node)
            frames.append(iter([((*path, key), child) for key, child in _keyed(node)]))
            break
        else:
            frames.pop()
            if on_path:
                on_path.pop()


def _keyed(node: Any) -> list[tuple[Any, Any]]:
    """Return keys and children of a node."""
    rule: Any = rule_of(node)
    if isinstance(rule, FunctionsNode):
        function = rule.node_def.flatten_with_keys_fn
        if not function:
            raise ValueError(
                f"Did not find a flatten_with_keys_fn for type: {rule.cls}. Pass one "
                "to register_pytree_node."
            )
        return [(key, child) for key, child in function(node)[0]]
    children, aux = rule.flatten(node)
    keys = map(_key_of, rule.keys(aux, len(children)))
    return [*zip(keys, children, strict=True)]


def keystr(kp: KeyPath) -> str:
    """Return a key path as text.

    Example:
        >>> import leafwise.compat.torch_pytree as pytree
        >>> pytree.keystr((pytree.SequenceKey(0), pytree.GetAttrKey("x")))
        '[0].x'
    """
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """Return the value of a tree at a key path.

    Example:
        >>> import leafwise.compat.torch_pytree as pytree
        >>> pytree.key_get([{"a": 1}], (pytree.SequenceKey(0), pytree.MappingKey("a")))
        1
    """
    for key in kp:
        obj = key.get(obj)
    return obj


# --------------------------------------------------------------------------------- map


def tree_map(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Map a function over the leaves of a tree.

    Raises:
        ValueError: A further tree has another structure.

    Example:
        >>> import leafwise.compat.torch_pytree as pytree
        >>> pytree.tree_map(lambda x, y: [x] + y, [5, 6], [[7, 9], [1, 2]])
        [[5, 7, 9], [6, 1, 2]]
    """
    return _tree_map(
        func,
        tree,
        *rests,
        is_leaf=_asked(is_leaf),
        none_is_leaf=True,
        namespace=NAMESPACE,
    )


def tree_map_(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Call a function on the leaves for its effects, and return the tree itself.

    Raises:
        ValueError: A further tree has another structure.
    """
    return _tree_map_(
        func,
        tree,
        *rests,
        is_leaf=_asked(is_leaf),
        none_is_leaf=True,
        namespace=NAMESPACE,
    )


def map_only(type_or_types_or_pred: Any, /) -> MapOnlyFn[Any]:
    """Return a decorator that applies a function to some values only, keeping others.

    Raises:
        TypeError: The argument is neither a type, a tuple of types nor a predicate.

    Example:
        >>> import leafwise.compat.torch_pytree as pytree
        >>> @pytree.map_only(int)
        ... def doubled(x):
        ...     return 2 * x
        >>> doubled(2), doubled("a")
        (4, 'a')
    """
    which = type_or_types_or_pred
    if isinstance(which, type | tuple | UnionType):

        def pred(x: Any) -> object:
            return isinstance(x, which)

    elif callable(which):
        pred = which
    else:
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")

    def wrapper(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(func)
        def wrapped(x: Any) -> Any:
            return func(x) if pred(x) else x

        return wrapped

    return wrapper


def tree_map_only(
    type_or_types_or_pred: Any,
    /,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: IsLeaf = None,
) -> PyTree:
    """Map the leaves of some types, or those that pass a test; keep the others.

    Raises:
        TypeError: It is neither a class, nor classes, nor a predicate.

    Example:
        >>> import leafwise.compat.torch_pytree as pytree
        >>> pytree.tree_map_only(int, lambda x: 2 * x, [1, "a", None])
        [2, 'a', None]
    """
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any,
    /,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: IsLeaf = None,
) -> PyTree:
    """Call a function on some leaves for its effects, and return the tree itself.

    Raises:
        TypeError: It is neither a class, nor classes, nor a predicate.
    """
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether all leaves pass a test."""
    return all(map(pred, tree_iter(tree, is_leaf=is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Return whether any leaf passes a test."""
    return any(map(pred, tree_iter(tree, is_leaf=is_leaf)))


def tree_all_only(
    type_or_types: TypeAny,
    /,
    pred: Callable[[Any], bool],
    tree: PyTree,
    is_leaf: IsLeaf = None,
) -> bool:
    """Return whether all leaves of some types pass a test."""
    leaves = tree_iter(tree, is_leaf=is_leaf)
    return all(pred(x) for x in leaves if isinstance(x, type_or_types))


def tree_any_only(
    type_or_types: TypeAny,
    /,
    pred: Callable[[Any], bool],
    tree: PyTree,
    is_leaf: IsLeaf = None,
) -> bool:
    """Return whether any leaf of some types passes a test."""
    leaves = tree_iter(tree, is_leaf=is_leaf)
    return any(pred(x) for x in leaves if isinstance(x, type_or_types))


# ------------------------------------------------------------ what torch calls private


def _broadcast_to_and_flatten(
    tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf = None
) -> list[Any] | None:
    """Return the leaves of a prefix, each as often as it covers leaves of a spec.

    None if it is no prefix.
    """
    result: list[Any] = []

    def add(x: Any, subtree: PyTree) -> None:
        result.extend([x] * tree_structure(subtree, is_leaf=is_leaf).num_leaves)

    whole = treespec.unflatten([0] * treespec.num_leaves)
    try:
        tree_map_(add, tree, whole, is_leaf=is_leaf)
    except ValueError:
        return None
    return result


def _is_constant_holder(spec: TreeSpec) -> bool:
    return isinstance(spec.context, ConstantNode)


def _retrieve_constant(spec: TreeSpec) -> Any:
    if not _is_constant_holder(spec):
        raise AssertionError("the spec is not that of a registered constant")
    return spec.unflatten([])

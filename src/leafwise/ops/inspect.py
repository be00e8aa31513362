"""Looking at trees without changing them: leaves, children, equality, reasons.

For the arguments that most functions share see `map`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from operator import is_, length_hint
from typing import TYPE_CHECKING, Any, Final, NamedTuple, overload

from .._records import MISSING
from .._text import FAULTS, safe_repr, short_repr
from ..core.context import context_of
from ..core.reasons import why_leaf
from ..core.registry import GLOBAL
from ..core.treedef import make_treedef
from ..equality.arrays import UndecidedError
from ..equality.leaves import Comparison, cannot_compare, compare_scalars
from ..errors import StructureError


if TYPE_CHECKING:
    from .._typing import IsLeaf, T

__all__ = [
    "all_leaves",
    "explain_leaf",
    "tree_children",
    "tree_equal",
    "tree_flatten_one_level",
    "tree_is_leaf",
]


def tree_is_leaf(
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> bool:
    """Return whether a value is a leaf.

    Args:
        tree: Any value.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Example:
        >>> import leafwise as lw
        >>> lw.tree.is_leaf(1), lw.tree.is_leaf([1]), lw.tree.is_leaf(None)
        (True, False, False)
    """
    context = context_of(is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    return context.node_type_of(tree) is None


def all_leaves(
    iterable: Iterable[Any],
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> bool:
    """Return whether all items of an iterable are leaves.

    Args:
        iterable: The items.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Example:
        >>> import leafwise as lw
        >>> lw.tree.all_leaves([1, "a"]), lw.tree.all_leaves([1, [2]])
        (True, False)
    """
    context = context_of(is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    return all(context.node_type_of(item) is None for item in iterable)


class OneLevel(NamedTuple):
    """A node flattened by one level: its children, and a function that rebuilds it.

    Attributes:
        children: The children, in leaf order.
        aux: The aux data, as `PyTreeDef.node_data` shows it.
        keys: A key object for each child.
        type: The class of the node.
        unflatten: Takes new children, returns a node like the original.

    Example:
        >>> import leafwise as lw
        >>> node = lw.tree.flatten_one_level({"b": [1], "a": 2})
        >>> node.children, node.aux
        ([2, [1]], ['a', 'b'])
        >>> node.unflatten(["x", "y"])
        {'b': 'y', 'a': 'x'}
    """

    children: list[Any]
    aux: Any
    keys: tuple[Any, ...]
    type: type
    unflatten: Callable[[Iterable[Any]], Any]


def tree_flatten_one_level(
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> OneLevel:
    """Flatten a node into its direct children, and a function that rebuilds it.

    Args:
        tree: A node.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        none_is_leaf: Whether None is a leaf and not a node without children.
        namespace: Where classes are looked up before the global registry.

    Raises:
        StructureError: The value is a leaf.

    Example:
        >>> import leafwise as lw
        >>> lw.tree.flatten_one_level([1, (2, 3)]).children
        [1, (2, 3)]
    """
    context = context_of(is_leaf, none_is_leaf=none_is_leaf, namespace=namespace)
    node_type = context.node_type_of(tree)
    if node_type is None:
        raise StructureError(
            f"a leaf has no children to flatten: {short_repr(tree)} "
            f"({type(tree).__qualname__})"
        )
    children, aux = node_type.flatten(tree)
    arity = len(children)
    treedef = make_treedef(((arity, node_type, arity, aux),), arity, context.view)
    data = treedef.node_data()
    return OneLevel(
        children=list(children),
        aux=None if data is None else data[1],
        keys=tuple(node_type.keys(aux, arity)),
        type=type(tree),
        unflatten=treedef.unflatten,
    )


@overload
def tree_children(tree: Sequence[T], *, namespace: str = ...) -> list[T]: ...
@overload
def tree_children(tree: Mapping[Any, T], *, namespace: str = ...) -> list[T]: ...
@overload
def tree_children(
    tree: Any, is_leaf: IsLeaf = ..., *, namespace: str = ...
) -> list[Any]: ...
def tree_children(
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    namespace: str = GLOBAL,
) -> list[Any]:
    """Return the direct children of a node; a leaf has none.

    Args:
        tree: Any value.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Example:
        >>> import leafwise as lw
        >>> lw.tree.children({"b": [1], "a": 2}), lw.tree.children(3)
        ([2, [1]], [])
    """
    context = context_of(is_leaf, namespace=namespace)
    node_type = context.node_type_of(tree)
    if node_type is None:
        return []
    children, _ = node_type.flatten(tree)
    return list(children)


def tree_equal(
    a: Any,
    b: Any,
    *,
    typematch: bool = False,
    rtol: float = 0.0,
    atol: float = 0.0,
    equal_nan: bool = True,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> bool:
    """Return whether two trees have equal structures and the same leaves.

    Arrays are compared by shape, dtype and content, and all other leaves by `==`. NaN
    is the same as NaN, and True is not the same as 1. A tree is equal to itself, and
    so is a subtree that both trees share: its leaves are looked at only if `equal_nan`
    is false, since one may be NaN. For details, see
    :ref:`which leaves are the same <same-value>`.

    Args:
        a: A tree.
        b: Another tree.
        typematch: Whether leaves of different types differ, such as 1 and 1.0, or a
            numpy array and a jax array.
        rtol, atol: Numbers `x` and `y`, also in arrays of one shape and dtype, are the
            same if `|x - y| <= atol + rtol * max(|x|, |y|)`.
        equal_nan: Whether NaN is the same as NaN.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Returns:
        A bool. In a function that jax traces, a traced bool if the result depends on
        traced leaves.

    Raises:
        CompareError: Two leaves cannot be compared, and no earlier leaves differ.
        CycleError: A tree contains itself, unless the other one has the same object
            there.
        ValueError: A tolerance is negative or not finite.

    Example:
        >>> import leafwise as lw
        >>> lw.tree_equal({"a": 1, "b": [2]}, {"b": [2], "a": 1})
        True
        >>> lw.tree_equal([1], (1,))
        False
        >>> lw.tree_equal([1], [1.0]), lw.tree_equal([1], [1.0], typematch=True)
        (True, False)
    """
    values = None
    if not (rtol == 0.0 == atol and equal_nan is True and typematch is False):
        values = Comparison(
            typematch=typematch, rtol=rtol, atol=atol, equal_nan=equal_nan, traces=True
        )
    context = context_of(is_leaf, namespace=namespace)
    if equal_nan:
        if a is b:
            return True
        try:
            if _share_children(a, b) and context.stop is None:
                a, b = _without_shared(a, b, context.view.leaf_types)
        except FAULTS:  # of a key's `==`; the comparison of the structures handles it
            pass
    leaves, treedef = context.flatten(a)
    others, other = context.flatten(b)
    if treedef is not other and treedef != other:
        return False
    if values is None:
        is_same = compare_scalars(leaves, others)
        if is_same is not None:
            return is_same
        values = Comparison(traces=True)
    leaves_left = iter(leaves)
    try:
        equal = all(map(values.same, leaves_left, others))
    except UndecidedError as why:
        index = len(leaves) - 1 - length_hint(leaves_left)
        path = treedef.paths()[index]
        raise cannot_compare(path, leaves[index], others[index], why) from why.__cause__
    return values.outcome() if equal else False


_MAX_SHARED_DEPTH: Final = 64


def _share_children(a: Any, b: Any) -> bool:
    """Return whether two dicts, lists or tuples have the same object at one place."""
    cls = type(a)
    if cls is not type(b):
        return False
    if cls is dict:
        return True in map(is_, a.values(), map(b.get, a))
    return (cls is list or cls is tuple) and True in map(is_, a, b)


def _without_shared(
    a: Any, b: Any, leaf_types: Set[type], depth: int = 0
) -> tuple[Any, Any]:
    """Return two trees, with None in place of subtrees that are the same objects.

    They are equal if the trees are, and all else has the same paths. An edit shares all
    nodes but those on the way to what it changes, so nodes are looked into only if they
    have siblings that are shared: trees that share nothing lose no time.

    Args:
        a, b: The trees, of one type, with a child that is the same object.
        leaf_types: Types of leaves, which take no time to compare.
        depth: How deep in the whole trees they are.
    """
    is_dict = type(a) is dict
    ours = dict(a) if is_dict else dict(enumerate(a))
    others = dict(b) if is_dict else dict(enumerate(b))
    shared = [
        key
        for key, child in ours.items()
        if child is others.get(key, MISSING) and type(child) not in leaf_types
    ]
    if not shared:
        return a, b
    for key in shared:
        ours[key] = others[key] = None
    if depth < _MAX_SHARED_DEPTH:
        for key, child in ours.items():
            other = others.get(key)
            if _share_children(child, other):
                ours[key], others[key] = _without_shared(
                    child, other, leaf_types, depth + 1
                )
    if is_dict:
        return ours, others
    return type(a)(ours.values()), type(b)(others.values())


# ---------------------------------------------------------------------- reasons


def explain_leaf(
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    namespace: str = GLOBAL,
) -> str:
    """Explain in one sentence why a value is a leaf, or what kind of node it is.

    Args:
        tree: Any value.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Example:
        >>> import leafwise as lw
        >>> class Config(dict): ...
        >>> lw.explain_leaf(Config())
        'a leaf: Config is a subclass of dict, and subclasses are leaves unless they \
are registered'
        >>> lw.explain_leaf([1])
        'a node: list is a built-in node type'
    """
    cls = type(tree)
    context = context_of(is_leaf, namespace=namespace)
    if context.stops_at(tree):
        return "a leaf: is_leaf matches it"
    view = context.view
    node_type = view.resolve(cls)
    if node_type is None:
        return f"a leaf: {why_leaf(cls, view)}"
    if node_type.cls is not cls:  # one node type for all classes of a form
        return f"a node: {cls.__qualname__} is a {node_type.name.partition(' ')[0]}"
    if not node_type.where:
        return f"a node: {cls.__qualname__} is a built-in node type"
    scope = (
        f"in namespace {safe_repr(node_type.namespace)}"
        if node_type.namespace
        else "globally"
    )
    name = cls.__qualname__
    if view.registered(cls) is None:
        base = next(b for b in cls.__mro__[1:] if view.registered(b) is not None)
        name = f"{name} inherits from {base.__qualname__}, which"
    return f"a node: {name} was registered {scope} at {node_type.where}"

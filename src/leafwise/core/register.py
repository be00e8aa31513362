"""Putting classes into the registry, in each of the ways that the field knows.

Owns the public functions for functions and class protocols, and the checks that
a registration must pass before anything is stored. What a rule is says `rule`,
where it is kept `registry`; dataclasses are read in `fields`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import RegistryError
from .node import Rule
from .registered import FunctionRule, KeyedRule, StaticRule
from .registry import GLOBAL, check_callable, check_class, install
from .safely import class_name


if TYPE_CHECKING:
    from .aliases import FlattenFunc, UnflattenFunc

__all__ = [
    "register_leaf",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
]

C = TypeVar("C", bound=type)
KeyedFlatten = Callable[[Any], "tuple[Iterable[tuple[Any, Any]], Any]"]


def _given(make: Callable[..., Rule], namespace: str, where: str) -> dict[str, Any]:
    """Return what a rule knows of its registration, and how subclasses follow."""
    return {
        "namespace": namespace,
        "where": where,
        "adapt": lambda cls: make(where, cls),
    }


def register_pytree_node(
    cls: C,
    flatten: FlattenFunc,
    unflatten: UnflattenFunc,
    flatten_with_keys: KeyedFlatten | None = None,
    *,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
    bridge: bool = False,
) -> C:
    """Make instances of a class nodes, by two functions.

    Args:
        cls: The class; dispatch is on the exact class.
        flatten: Takes a node, returns `(children, aux_data)`, or
            `(children, aux_data, keys)` with a key for each child: a key
            object, a str for an attribute or an int for a position.
        unflatten: Takes `(aux_data, children)`, returns a node. The children
            come as a tuple and may be any objects.
        flatten_with_keys: Takes a node, returns `((key, child) pairs,
            aux_data)`. Where given it is used instead of `flatten`, so that
            keys and children cannot disagree.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether subclasses without a registration of their own follow.
            The functions get the instance and the aux data, so put the class
            into the aux data if it matters for rebuilding.
        exist_ok: Whether to replace an earlier registration of this class, or
            of the class that had its qualified name before.
        bridge: Whether jax, optree and torch are to know the class, once they are
            loaded.

    Returns:
        The class.

    Raises:
        RegistryError: Not a class, a built-in node type, a duplicate, or a
            object that is not callable. The registry is unchanged then.

    Example:
        >>> import leafwise as lw
        >>> class Interval:
        ...     def __init__(self, low, high): self.low, self.high = low, high
        >>> _ = lw.register_pytree_node(
        ...     Interval,
        ...     lambda i: ((i.low, i.high), None, ("low", "high")),
        ...     lambda aux, children: Interval(*children))
        >>> lw.tree_map(lambda x: x + 1, Interval(1, 2)).high
        3
        >>> [str(path) for path in lw.tree_paths({"i": Interval(1, 2)})]
        ["['i'].low", "['i'].high"]
    """
    check_class(cls)
    check_callable(flatten, "the flatten function", cls)
    check_callable(unflatten, "the unflatten function", cls)
    if flatten_with_keys is not None:
        check_callable(flatten_with_keys, "the flatten_with_keys function", cls)

    def make(where: str, of: type = cls) -> Rule:
        given = _given(make, namespace, where)
        if flatten_with_keys is not None:
            return KeyedRule(of, flatten_with_keys, unflatten, **given)
        return FunctionRule(of, flatten, unflatten, **given)

    install(
        cls,
        make,
        namespace=namespace,
        inherit=inherit,
        exist_ok=exist_ok,
        bridge=bridge,
    )
    return cls


def register_pytree_with_keys(
    cls: C,
    flatten_with_keys: KeyedFlatten,
    unflatten: UnflattenFunc,
    flatten: FlattenFunc | None = None,
    *,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
    bridge: bool = False,
) -> C:
    """Make instances of a class nodes whose children have keys.

    Args:
        cls: The class.
        flatten_with_keys: Takes a node, returns `((key, child) pairs,
            aux_data)`; a key is a key object, a str for an attribute or an
            int for a position.
        unflatten: Takes `(aux_data, children)`, returns a node.
        flatten: Accepted for the sake of code written for jax, and checked;
            keys and children both come from `flatten_with_keys`.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether subclasses without a registration of their own follow.
        exist_ok: Whether to replace an earlier registration.
        bridge: Whether jax, optree and torch are to know the class, once they are
            loaded.

    Returns:
        The class.

    Raises:
        RegistryError: As `register_pytree_node`.

    Example:
        >>> import leafwise as lw
        >>> class Pair:
        ...     def __init__(self, x, y): self.x, self.y = x, y
        >>> _ = lw.register_pytree_with_keys(
        ...     Pair,
        ...     lambda p: ((("x", p.x), ("y", p.y)), None),
        ...     lambda aux, children: Pair(*children))
        >>> [str(path) for path in lw.tree_paths(Pair(1, [2]))]
        ['.x', '.y[0]']
    """
    check_class(cls)
    check_callable(flatten_with_keys, "the flatten_with_keys function", cls)
    return register_pytree_node(
        cls,
        flatten_with_keys if flatten is None else flatten,
        unflatten,
        flatten_with_keys,
        namespace=namespace,
        inherit=inherit,
        exist_ok=exist_ok,
        bridge=bridge,
    )


# -------------------------------------------------------------- class protocols

_PROTOCOLS = (
    ("__tree_flatten__", "__tree_unflatten__"),
    ("tree_flatten", "tree_unflatten"),
)
_KEYED = ("tree_flatten_with_keys", "tree_unflatten")


def register_pytree_node_class(
    cls: C | None = None,
    *,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
    bridge: bool = False,
) -> Any:
    """Make instances of a class nodes, by two methods of its own.

    The class has `tree_flatten(self)`, which returns `(children, aux_data)` or
    `(children, aux_data, keys)`, and a classmethod
    `tree_unflatten(cls, aux_data, children)`; or the same two with double
    underscores, which win where both are there.

    Args:
        cls: The class; left out when options are given to the decorator.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether subclasses without a registration of their own follow;
            their own methods are used then.
        exist_ok: Whether to replace an earlier registration.
        bridge: Whether jax, optree and torch are to know the class, once they are
            loaded.

    Returns:
        The class, or a decorator.

    Raises:
        RegistryError: A method is missing, or as `register_pytree_node`.

    Example:
        >>> import leafwise as lw
        >>> @lw.register_pytree_node_class
        ... class Pair:
        ...     def __init__(self, x, y): self.x, self.y = x, y
        ...     def tree_flatten(self): return (self.x, self.y), None
        ...     @classmethod
        ...     def tree_unflatten(cls, aux_data, children): return cls(*children)
        >>> lw.tree_leaves(Pair(1, [2]))
        [1, 2]
    """
    return _by_protocol(cls, _PROTOCOLS, namespace, inherit, exist_ok, bridge)


def register_pytree_with_keys_class(
    cls: C | None = None,
    *,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
    bridge: bool = False,
) -> Any:
    """Make instances of a class nodes with keys, by two methods of its own.

    The class has `tree_flatten_with_keys(self)`, which returns
    `((key, child) pairs, aux_data)`, and a classmethod
    `tree_unflatten(cls, aux_data, children)`.

    Args:
        cls: The class; left out when options are given to the decorator.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether subclasses without a registration of their own follow.
        exist_ok: Whether to replace an earlier registration.
        bridge: Whether jax, optree and torch are to know the class, once they are
            loaded.

    Returns:
        The class, or a decorator.

    Raises:
        RegistryError: A method is missing, or as `register_pytree_node`.

    Example:
        >>> import leafwise as lw
        >>> @lw.register_pytree_with_keys_class
        ... class Box:
        ...     def __init__(self, x): self.x = x
        ...     def tree_flatten_with_keys(self):
        ...         return ((lw.GetAttrKey("x"), self.x),), None
        ...     @classmethod
        ...     def tree_unflatten(cls, aux_data, children): return cls(*children)
        >>> [str(path) for path in lw.tree_paths(Box([1]))]
        ['.x[0]']
    """
    return _by_protocol(cls, (_KEYED,), namespace, inherit, exist_ok, bridge)


def _by_protocol(
    cls: Any,
    protocols: Sequence[tuple[str, str]],
    namespace: str,
    inherit: bool,
    exist_ok: bool,
    bridge: bool,
) -> Any:
    """Register a class by the first protocol that it has, or return a decorator."""
    if cls is None:
        return lambda cls: _by_protocol(
            cls, protocols, namespace, inherit, exist_ok, bridge
        )
    check_class(cls)
    flatten_name, unflatten_name = _find_protocol(cls, protocols)
    kind = KeyedRule if protocols == (_KEYED,) else FunctionRule

    def make(where: str, of: Any = cls) -> Rule:
        return kind(
            of,
            lambda node: getattr(node, flatten_name)(),
            getattr(of, unflatten_name),
            **_given(make, namespace, where),
        )

    install(
        cls,
        make,
        namespace=namespace,
        inherit=inherit,
        exist_ok=exist_ok,
        bridge=bridge,
    )
    return cls


def _find_protocol(cls: type, protocols: Sequence[tuple[str, str]]) -> tuple[str, str]:
    for names in protocols:
        if all(callable(getattr(cls, name, None)) for name in names):
            return names
    wanted = " or ".join(f"{first} and {second}" for first, second in protocols)
    raise RegistryError(
        f"{class_name(cls)} must have the methods {wanted} to be registered as a node"
    )


# -------------------------------------------------------------- static and leaf


def register_static(
    cls: C,
    *,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
    bridge: bool = False,
) -> C:
    """Make instances of a class part of the structure: nodes without leaves.

    The instance itself is the aux data, compared by `==`.

    Args:
        cls: The class.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether subclasses without a registration of their own follow.
        exist_ok: Whether to replace an earlier registration.
        bridge: Whether jax, optree and torch are to know the class, once they are
            loaded.

    Returns:
        The class.

    Raises:
        RegistryError: As `register_pytree_node`.

    Example:
        >>> import leafwise as lw
        >>> @lw.register_static
        ... class Name(str): ...
        >>> lw.tree_flatten([Name("relu"), 1])
        ([1], PyTreeDef([CustomNode(Name[relu], []), *]))
    """

    def make(where: str, of: type = cls) -> Rule:
        return StaticRule(of, **_given(make, namespace, where))

    install(
        cls,
        make,
        namespace=namespace,
        inherit=inherit,
        exist_ok=exist_ok,
        bridge=bridge,
    )
    return cls


def register_leaf(
    cls: C,
    *,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
) -> C:
    """Make instances of a class leaves, whatever else they would be.

    For a named tuple that is one value, say, or to hide a global registration
    in a namespace.

    Args:
        cls: The class.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether subclasses without a registration of their own follow.
        exist_ok: Whether to replace an earlier registration.

    Returns:
        The class.

    Raises:
        RegistryError: As `register_pytree_node`.

    Example:
        >>> import leafwise as lw
        >>> from typing import NamedTuple
        >>> @lw.register_leaf
        ... class Color(NamedTuple):
        ...     red: int
        ...     blue: int
        >>> lw.tree_leaves([Color(1, 2), 3])
        [Color(red=1, blue=2), 3]
    """
    install(
        cls, lambda where: None, namespace=namespace, inherit=inherit, exist_ok=exist_ok
    )
    return cls

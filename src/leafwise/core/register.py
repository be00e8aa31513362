"""Registering classes: the public functions, and the node types that they make.

There is one class of node types for each way of registering. It calls the functions of
the user and checks what they return. Node types are defined in `node` and stored in
`registry`; `leafwise.dataclasses` decides which fields of a dataclass are children.
"""

from __future__ import annotations

import warnings
from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    KeysView,
    Mapping,
    Sequence,
    Set,
)
from functools import partial
from operator import attrgetter, methodcaller
from types import BuiltinFunctionType
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, overload

from .._text import add_note, typed_repr
from ..equality import exact
from ..errors import FlattenError, RegistryError
from .keys import as_key, attribute_keys, dict_keys, sequence_keys
from .node import (
    Attributes,
    BoundNodeType,
    Fields,
    FlattenFunc,
    Functions,
    NodeType,
    UnflattenFunc,
)
from .registry import GLOBAL, caller, check_callable, check_class, install


if TYPE_CHECKING:
    from .._typing import T

    class Registration(TypedDict, total=False):
        """The common arguments of functions that register a class."""

        namespace: str
        inherit: bool
        exist_ok: bool
        bridge: bool


# ------------------------------------------------------- node types: by two functions


class FunctionNodeType(BoundNodeType):
    """The node type of a class that came with its own two functions.

    Its aux data is `(aux_data, keys or None)`: keys that the flatten function gave
    belong to exactly the children it gave them with.

    Args:
        cls: The class.
        flatten: Takes a node, returns `(children, aux_data)` or `(children, aux_data,
            keys)`.
        unflatten: Takes aux data and a tuple of children, returns a node.
        **options: Other attributes of the node type.
    """

    def __init__(
        self, cls: type, flatten: FlattenFunc, unflatten: UnflattenFunc, **options: Any
    ) -> None:
        def flatten_checked(node: Any) -> tuple[Sequence[Any], Any]:
            result = flatten(node)
            if type(result) is tuple and len(result) == 2:
                children, aux = result
                if type(children) is tuple:  # what most functions return
                    return children, (aux, None)
            return self.checked(result)

        def unflatten_all(aux: Any, children: Any) -> Any:
            return unflatten(aux[0], tuple(children))

        super().__init__(
            cls,
            flatten=flatten_checked,
            unflatten=unflatten_all,
            form=Functions(flatten, unflatten, self.checked),
            **options,
        )

    def checked(self, result: Any) -> tuple[Sequence[Any], Any]:
        """Check the result of the flatten function, and copy it.

        Returns:
            The children, and `(aux_data, keys or None)`.
        """
        name = self.cls.__qualname__
        if type(result) is not tuple or len(result) not in (2, 3):
            raise FlattenError(
                f"the flatten function of {name} must return a tuple (children, "
                f"aux_data) or (children, aux_data, keys), got {typed_repr(result)}"
            )
        children = _checked_iterable(self.cls, result[0], "children")
        if len(result) == 2 or result[2] is None:
            return children, (result[1], None)
        keys = _checked_iterable(self.cls, result[2], "keys")
        if len(keys) != len(children):
            raise FlattenError(
                f"the flatten function of {name} gave {len(keys)} keys "
                f"for {len(children)} children; give one key for each child"
            )
        if set(map(type, keys)) == {str}:  # mostly the same few each time
            return children, (result[1], attribute_keys(keys))
        return children, (result[1], tuple(map(as_key, keys)))

    def keys(self, aux: Any, arity: int) -> Sequence[Any]:
        own_keys: tuple[Any, ...] | None = aux[1]
        return super().keys(aux, arity) if own_keys is None else own_keys

    def same(self, a: Any, b: Any) -> bool:
        return exact.same(a[0], b[0])

    def hash(self, aux: Any) -> int:
        return exact.digest(aux[0])

    def compared_aux(self, aux: Any) -> Any:
        return aux[0]


_NOT_CHILDREN = (str, bytes, bytearray, Mapping, Set)
_VIEWS = (KeysView, ItemsView)  # sets by their methods, and ordered


def _checked_iterable(cls: type, items: Any, what: str) -> tuple[Any, ...]:
    """Return ordered items as a tuple; keys or letters are no children."""
    is_unfit = isinstance(items, _NOT_CHILDREN) and not isinstance(items, _VIEWS)
    if is_unfit or not isinstance(items, Iterable):
        raise FlattenError(
            f"the flatten function of {cls.__qualname__} must give its {what} as a "
            f"tuple, a list or another ordered iterable, got {typed_repr(items)}"
        )
    return tuple(items)


def _split_pairs(
    cls: type, flatten_with_keys: Callable[[Any], Any], node: Any
) -> tuple[Any, Any, Any]:
    """Return children, aux data and keys, from a function that gives pairs."""
    result = flatten_with_keys(node)
    if type(result) is tuple and len(result) == 2:
        pairs = _checked_iterable(cls, result[0], "(key, child) pairs")
        if all(type(pair) is tuple and len(pair) == 2 for pair in pairs):
            keys, children = zip(*pairs, strict=True) if pairs else ((), ())
            return children, result[1], keys
    raise FlattenError(
        f"the flatten_with_keys function of {cls.__qualname__} must return a tuple "
        f"((key, child) pairs, aux_data), got {typed_repr(result)}"
    )


# -------------------------------------------------------------------- by attributes


class DataclassNodeType(BoundNodeType):
    """The node type of a class whose children are named attributes.

    The aux data is the tuple of the meta fields' values. Unflattening makes an empty
    instance and sets the attributes, unless `rebuild` is given.

    Args:
        cls: The class.
        data_fields: The names of the children.
        meta_fields: The names of what is aux data.
        drop_fields: The names of attributes that are neither.
        rebuild: Takes aux data and children, returns a node.
        set_dropped: Takes a new node, sets what is neither child nor aux data.
        new: Makes an empty instance of the class; by default, that of the built-in
            class that instances are made of.
        put: Sets an attribute of it; by default, past the class's own `__setattr__`.
        attributes: What edits ask about the attributes, but for the static ones.
        **options: Other attributes of the node type.

    Attributes:
        data_fields: The names of the children.
        meta_fields: The names of what is aux data.
    """

    data_fields: tuple[str, ...] = ()
    meta_fields: tuple[str, ...] = ()

    def __init__(
        self,
        cls: type,
        data_fields: tuple[str, ...],
        meta_fields: tuple[str, ...],
        drop_fields: tuple[str, ...] = (),
        rebuild: Callable[[Any, Any], Any] | None = None,
        set_dropped: Callable[[Any], None] | None = None,
        new: Callable[[Any], Any] | None = None,
        put: Callable[[Any, str, Any], None] | None = None,
        attributes: Attributes = NodeType.attributes,
        **options: Any,
    ) -> None:
        children_of = _getter(data_fields)
        aux_of = _getter(meta_fields)
        new_instance: Any = new or _built_in_new(cls)
        if put is None:
            is_plain = getattr(cls, "__setattr__", None) is object.__setattr__
            put = setattr if is_plain else object.__setattr__
        put_attribute = put  # a name of which type checkers know that it is not None
        names = (*data_fields, *meta_fields)

        def flatten(node: Any) -> tuple[Sequence[Any], Any]:
            try:
                return children_of(node), aux_of(node)
            except AttributeError as error:
                if error.obj is node and error.name in names:
                    _note_unset(error)
                raise

        def flatten_first(node: Any) -> tuple[Sequence[Any], Any]:
            # the check costs more than the flattening, and once is enough for a class
            object.__setattr__(self, "flatten", flatten)
            _warn_of_lost(node, {*names, *drop_fields})
            return flatten(node)

        def static_names(_node: Any) -> Sequence[str]:
            return meta_fields

        def with_static(aux: Any, values: Mapping[str, Any]) -> Any:
            pairs = zip(meta_fields, aux, strict=True)
            return tuple(values.get(name, value) for name, value in pairs)

        def unflatten(aux: Any, children: Any) -> Any:
            node = new_instance(cls)
            values = (*children, *aux) if aux else children
            for name, value in zip(names, values):  # noqa: B905  # as many, always
                put_attribute(node, name, value)
            if set_dropped is not None:
                set_dropped(node)
            return node

        form = Fields(data_fields, meta_fields, new_instance, put_attribute)
        super().__init__(
            cls,
            flatten=flatten if rebuild else flatten_first,
            unflatten=rebuild or unflatten,
            form=form if rebuild is None and set_dropped is None else None,
            attributes=attributes._replace(
                static_names=static_names, with_static=with_static
            ),
            data_fields=data_fields,
            meta_fields=meta_fields,
            **options,
        )

    def keys(self, _aux: Any, _arity: int) -> Sequence[Any]:
        return attribute_keys(self.data_fields)

    def compared_aux(self, aux: Any) -> Any:
        return self.data_fields, aux


def _note_unset(error: AttributeError) -> None:
    """Note on an error that an object has no value for one of its fields."""
    name = type(error.obj).__qualname__
    add_note(
        error,
        f"{error.name!r} is a field of {name} that was never set: flattening reads all "
        "fields, so __init__ or __post_init__ has to set it",
    )


def _built_in_new(cls: type) -> Any:
    """Return `__new__` of the built-in class that instances of a class are made of."""
    for base in cls.__mro__:
        if isinstance(vars(base).get("__new__"), BuiltinFunctionType):
            return base.__new__
    raise AssertionError("object is the last class of each")


def _warn_of_lost(node: Any, registered: Set[str]) -> None:
    """Warn of attributes that are not registered, so that a rebuilt node lacks them.

    What a descriptor of the class caches in the instance, as `cached_property` does, is
    computed again, and names with two underscores are Python's.
    """
    cls = type(node)
    names = [
        name
        for name in getattr(node, "__dict__", ())
        if name not in registered
        and not name.startswith("__")
        and not _is_cached(cls, name)
    ]
    if not names:
        return
    file, line = caller()
    warnings.warn_explicit(
        f"{cls.__qualname__} sets attributes that are not fields, and a rebuilt "
        f"{cls.__qualname__} lacks them: {', '.join(names)}; declare them as fields, "
        "with init=False if __post_init__ sets them",
        UserWarning,
        file,
        line,
    )


def _is_cached(cls: type, name: str) -> bool:
    """Return whether a descriptor of a class computes an attribute."""
    for base in cls.__mro__:
        if name in vars(base):
            return hasattr(vars(base)[name], "__get__")
    return False


def _getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that reads these attributes into a tuple."""
    if not names:
        return lambda _node: ()
    read = attrgetter(*names)
    return read if len(names) > 1 else lambda node: (read(node),)


# ------------------------------------------------------------------ static instances


class StaticNodeType(NodeType):
    """A class whose instances have no leaves: they are their aux data."""

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        return (), node

    def unflatten(self, aux: Any, _children: Any) -> Any:
        return aux


class ComparableStaticNodeType(StaticNodeType):
    """The same for classes with `==` and `hash` that never raise."""

    aux_compares_itself = True


# -------------------------------------------------------------- containers of items


class ItemsNodeType(NodeType):
    """A node type of containers, whose children are their items.

    A subclass sets `item_key` and has `items`, `from_items` and, if a container is more
    than its items, `rest`. Keys are in leaf order as those of a
    dict are; an unflattened mapping has the order of the one it came from.

    The aux data is `(keys, rest)`, with the `DictKeys` of a mapping or the length of a
    sequence. The rest does not count when structures are compared.
    """

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        items = self.items(node)
        rest = self.rest(node)
        if not self.is_mapping:
            return items, (len(items), rest)
        keys = dict_keys(tuple(items))
        return keys.read(items), (keys, rest)

    def unflatten(self, aux: Any, children: Any) -> Any:
        keys, rest = aux
        items = keys.build(children) if self.is_mapping else list(children)
        return self.from_items(rest, items)

    def keys(self, aux: Any, _arity: int) -> Sequence[Any]:
        return aux[0].objects if self.is_mapping else sequence_keys(aux[0])

    def same(self, a: Any, b: Any) -> bool:
        return bool(self.keys(a, 0) == self.keys(b, 0))

    def hash(self, aux: Any) -> int:
        return hash(self.keys(aux, 0))

    def compared_aux(self, aux: Any) -> Any:
        return self.keys(aux, 0)


C = TypeVar("C", bound=type)
KeyedFlatten = Callable[[Any], "tuple[Iterable[tuple[Any, Any]], Any]"]


def register_pytree_node(
    cls: C,
    flatten_func: FlattenFunc,
    unflatten_func: UnflattenFunc,
    flatten_with_keys_func: KeyedFlatten | None = None,
    *,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
    bridge: bool = True,
) -> C:
    """Register a class as a node type, with two functions.

    Args:
        cls: The class; dispatch is on the exact class.
        flatten_func: Takes a node, returns `(children, aux_data)`, or
            `(children, aux_data, keys)` with a key for each child: a key
            object, a str for an attribute or an int for a position.
        unflatten_func: Takes `(aux_data, children)`, returns a node. The children
            are passed as a tuple and may be any objects.
        flatten_with_keys_func: Takes a node, returns `((key, child) pairs,
            aux_data)`. If given, it is used instead of `flatten_func`, so that
            keys and children cannot disagree.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether this also registers subclasses without a registration of their
            own. The functions receive the instance and the aux data, so put the
            class into the aux data if it matters for rebuilding.
        exist_ok: Whether to replace an earlier registration of this class, or of a
            class that had the same qualified name before. A built-in type such as `int`
            also needs it, outside of namespaces.
        bridge: Whether jax, optree and torch learn of the class, too, once they are
            imported; one that knows it already is left alone.

    Returns:
        The class.

    Raises:
        RegistryError: `cls` is not a class, is a built-in type or is already
            registered; or a function is not callable. The registry is unchanged.

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
    how = namespace, inherit, exist_ok, bridge
    return _by_functions(
        cls, flatten_func, unflatten_func, flatten_with_keys_func, *how
    )


def register_pytree_with_keys(
    cls: C,
    flatten_with_keys: KeyedFlatten,
    unflatten_func: UnflattenFunc,
    flatten_func: FlattenFunc | None = None,
    *,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
    bridge: bool = True,
) -> C:
    """Register a class as a node type whose children have keys.

    Args:
        cls: The class.
        flatten_with_keys: Takes a node, returns `((key, child) pairs,
            aux_data)`; a key is a key object, a str for an attribute or an
            int for a position.
        unflatten_func: Takes `(aux_data, children)`, returns a node.
        flatten_func: Accepted for compatibility with jax, and checked; keys and
            children both come from `flatten_with_keys`.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether this also registers subclasses without a registration of their
            own.
        exist_ok: Whether to replace an earlier registration.
        bridge: Whether jax, optree and torch learn of the class, too, once they are
            imported; one that knows it already is left alone.

    Returns:
        The class.

    Raises:
        RegistryError: As for `register_pytree_node`.

    Example:
        >>> import leafwise as lw
        >>> class Pair:
        ...     def __init__(self, x, y): self.x, self.y = x, y
        >>> _ = lw.registry.register_pytree_with_keys(
        ...     Pair,
        ...     lambda p: ((("x", p.x), ("y", p.y)), None),
        ...     lambda aux, children: Pair(*children))
        >>> [str(path) for path in lw.tree_paths(Pair(1, [2]))]
        ['.x', '.y[0]']
    """
    how = namespace, inherit, exist_ok, bridge
    reads = flatten_func or flatten_with_keys
    return _by_functions(cls, reads, unflatten_func, flatten_with_keys, *how)


def _by_functions(
    cls: C, flatten: Any, unflatten: Any, flatten_with_keys: Any, *how: Any
) -> C:
    """Register a class by functions; those with keys are used if there are any."""
    check_class(cls)
    if flatten_with_keys is not None:
        check_callable(flatten_with_keys, "the flatten_with_keys function", cls)
    check_callable(flatten, "the flatten function", cls)
    check_callable(unflatten, "the unflatten function", cls)

    def make(of: type, **options: Any) -> NodeType:
        read = flatten
        if flatten_with_keys is not None:
            read = partial(_split_pairs, of, flatten_with_keys)
        return FunctionNodeType(of, read, unflatten, **options)

    return install(cls, make, *how)


# -------------------------------------------------------------- class protocols

_PROTOCOLS = (
    ("__tree_flatten__", "__tree_unflatten__"),
    ("tree_flatten", "tree_unflatten"),
)
_KEYED = ("tree_flatten_with_keys", "tree_unflatten")


@overload
def register_pytree_node_class(
    cls: type[T], **how: Unpack[Registration]
) -> type[T]: ...
@overload
def register_pytree_node_class(
    **how: Unpack[Registration],
) -> Callable[[type[T]], type[T]]: ...
def register_pytree_node_class(
    cls: C | None = None,
    *,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
    bridge: bool = True,
) -> Any:
    """Register a class as a node type, with two methods of the class.

    The class has `tree_flatten(self)`, which returns `(children, aux_data)` or
    `(children, aux_data, keys)`, and a classmethod
    `tree_unflatten(cls, aux_data, children)`. The same two names with double
    underscores also work, and take precedence.

    Args:
        cls: The class; omit it to pass options to the decorator.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether this also registers subclasses without a registration of their
            own; their own methods are then used.
        exist_ok: Whether to replace an earlier registration.
        bridge: Whether jax, optree and torch learn of the class, too, once they are
            imported; one that knows it already is left alone.

    Returns:
        The class, or a decorator.

    Raises:
        RegistryError: A method is missing, or as for `register_pytree_node`.

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


@overload
def register_pytree_with_keys_class(
    cls: type[T], **how: Unpack[Registration]
) -> type[T]: ...
@overload
def register_pytree_with_keys_class(
    **how: Unpack[Registration],
) -> Callable[[type[T]], type[T]]: ...
def register_pytree_with_keys_class(
    cls: C | None = None,
    *,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
    bridge: bool = True,
) -> Any:
    """Register a class as a node type with keys, with two methods of the class.

    The class has `tree_flatten_with_keys(self)`, which returns
    `((key, child) pairs, aux_data)`, and a classmethod
    `tree_unflatten(cls, aux_data, children)`.

    Args:
        cls: The class; omit it to pass options to the decorator.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether this also registers subclasses without a registration of their
            own.
        exist_ok: Whether to replace an earlier registration.
        bridge: Whether jax, optree and torch learn of the class, too, once they are
            imported; one that knows it already is left alone.

    Returns:
        The class, or a decorator.

    Raises:
        RegistryError: A method is missing, or as for `register_pytree_node`.

    Example:
        >>> import leafwise as lw
        >>> @lw.registry.register_pytree_with_keys_class
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


def _by_protocol(cls: Any, protocols: Sequence[tuple[str, str]], *how: Any) -> Any:
    """Register a class by the first protocol that it has, or return a decorator.

    Args:
        cls: The class, None for a decorator.
        protocols: Names of the methods that flatten and unflatten.
        *how: What `install` takes beside a class and its node type.
    """
    if cls is None:
        return lambda cls: _by_protocol(cls, protocols, *how)
    check_class(cls)
    for flatten_name, unflatten_name in protocols:
        methods = (getattr(cls, flatten_name, None), getattr(cls, unflatten_name, None))
        if all(map(callable, methods)):
            break
    else:
        names = " or ".join(f"{first} and {second}" for first, second in protocols)
        raise RegistryError(
            f"{cls.__qualname__} must have the methods {names} to be registered as a "
            "node"
        )

    def make(of: Any, **options: Any) -> NodeType:
        flatten: Any = methodcaller(flatten_name)
        if protocols == (_KEYED,):
            flatten = partial(_split_pairs, of, flatten)
        return FunctionNodeType(of, flatten, getattr(of, unflatten_name), **options)

    return install(cls, make, *how)


# -------------------------------------------------------------- static and leaf


def register_static(
    cls: C,
    *,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
    bridge: bool = True,
) -> C:
    """Register a class as static: its instances are nodes without leaves.

    They are part of the structure: the instance itself is the aux data, which is
    compared by `==`.

    Args:
        cls: The class.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether this also registers subclasses without a registration of their
            own.
        exist_ok: Whether to replace an earlier registration.
        bridge: Whether jax, optree and torch learn of the class, too, once they are
            imported; one that knows it already is left alone.

    Returns:
        The class.

    Raises:
        RegistryError: As for `register_pytree_node`.

    Example:
        >>> import leafwise as lw
        >>> @lw.register_static
        ... class Name(str): ...
        >>> lw.tree_flatten([Name("relu"), 1])
        ([1], PyTreeDef([CustomNode(Name[relu], []), *]))
    """
    return install(cls, StaticNodeType, namespace, inherit, exist_ok, bridge)


def register_leaf(
    cls: C,
    *,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
) -> C:
    """Register a class as a leaf type, even if its instances would be nodes.

    Use it for a named tuple that is a single value, or to hide a global registration
    in a namespace.

    Args:
        cls: The class.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether this also registers subclasses without a registration of their
            own.
        exist_ok: Whether to replace an earlier registration.

    Returns:
        The class.

    Raises:
        RegistryError: As for `register_pytree_node`.

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
    return install(cls, lambda cls, **options: None, namespace, inherit, exist_ok)

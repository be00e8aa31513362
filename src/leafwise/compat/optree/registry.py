"""Registration by optree's names, in the registry of leafwise.

Owns how a class is registered with a flatten function of optree's kind, what that may
return, what is told of a registered class, and the context manager that changes the
order of dicts.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import inspect
import warnings
from collections import namedtuple
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from operator import methodcaller
from typing import Any, Final

from ..._text import typed_repr
from ...core.builtins import BUILTINS, BY_NAME
from ...core.keys import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey
from ...core.node import Rule
from ...core.register import FunctionRule
from ...core.registry import EMPTY, GLOBAL, current, install, is_built_in_leaf
from ...core.registry import unregister_pytree_node as unregister
from . import accessors
from .accessors import AutoEntry, PyTreeEntry, PyTreeKind, auto_class
from .context import ordered, view
from .forms import is_namedtuple_class, is_structseq_class
from .kinds import ENTRIES, UNFLATTEN, kind_of, metadata
from .kinds import DictMetaData as DictMetaData


__all__ = [
    "dict_insertion_ordered",
    "register_pytree_node",
    "register_pytree_node_class",
    "unregister_pytree_node",
]


GLOBAL_NAMESPACE: Final[Any] = object()
globals()["__GLOBAL_NAMESPACE"] = GLOBAL_NAMESPACE  # its name in optree


# ------------------------------------------------------------------------------- rules


class OptreeRule(FunctionRule):
    """The rule of a class that was registered by optree's names.

    Attributes:
        path_entry_type: The class of the entries of its children.
        names: The entries of its children, where these are always the same, so that
            the flatten function does not return them.
    """

    path_entry_type: type[PyTreeEntry]
    names: tuple[str, ...] | None

    def __init__(
        self,
        cls: type,
        flatten: Any,
        unflatten: Any,
        path_entry_type: type[PyTreeEntry],
        names: tuple[str, ...] | None = None,
        **given: Any,
    ) -> None:
        object.__setattr__(self, "path_entry_type", path_entry_type)
        object.__setattr__(self, "names", names)
        super().__init__(cls, flatten, unflatten, **given)

    def keys(self, aux: Any, arity: int) -> Sequence[Any]:
        """Return the keys that leafwise has for the entries."""
        entries = aux[1]
        if entries is None:
            entries = range(arity) if self.names is None else self.names
        return [*map(self._key, entries)]

    def _key(self, entry: Any) -> Any:
        chosen = self.path_entry_type
        chosen = auto_class(self.cls) if chosen is AutoEntry else chosen
        if issubclass(chosen, accessors.GetAttrEntry) and type(entry) is str:
            return GetAttrKey(entry)
        if issubclass(chosen, accessors.GetItemEntry):
            return SequenceKey(entry) if type(entry) is int else DictKey(entry)
        return FlattenedIndexKey(entry)

    def checked(self, result: Any) -> tuple[Sequence[Any], Any]:
        """Return children, metadata and keys of what the flatten function returned.

        Raises:
            RuntimeError: They are not two or three things, or not as many entries as
                children.
        """
        parts = tuple(result)
        if len(parts) not in (2, 3):
            told = f"{self.cls!r} should return a 2- or 3-tuple, got {len(parts)}."
            raise RuntimeError(f"PyTree custom flatten function for type {told}")
        children, given = tuple(parts[0]), parts[2] if len(parts) == 3 else None
        keys = None if given is None else tuple(given)
        if keys is not None and len(keys) != len(children):
            told = f"children ({len(children)}) and number of entries ({len(keys)})"
            told = f"{self.cls!r} returned inconsistent number of {told}."
            raise RuntimeError(f"PyTree custom flatten function for type {told}")
        return children, (parts[1], keys)


# ------------------------------------------------------------------------------ entries


@dataclasses.dataclass(frozen=True, slots=True)
class PyTreeNodeRegistryEntry:
    """The registration of a class of nodes.

    Attributes:
        type: The class.
        flatten_func: Takes a node, returns children, metadata and entries.
        unflatten_func: Takes metadata and children, returns a node.
        path_entry_type: The class of the entries of its children.
        kind: The kind of its nodes.
        namespace: The namespace that it is registered in.
    """

    type: Any
    flatten_func: Callable[[Any], Any]
    unflatten_func: Callable[[Any, Any], Any]
    _: dataclasses.KW_ONLY
    path_entry_type: builtins.type[PyTreeEntry] = AutoEntry
    kind: PyTreeKind = PyTreeKind.CUSTOM
    namespace: str = ""


@dataclasses.dataclass(frozen=True)
class _FlattenBy:
    """Flattens nodes by a rule, as a flatten function of optree does."""

    rule: Rule

    def __call__(self, node: Any) -> tuple[Any, Any, Any]:
        children, aux = self.rule.flatten(node)
        keys = self.rule.bare_keys(aux, len(children))
        return children, metadata(self.rule, aux), tuple(keys)


@dataclasses.dataclass(frozen=True)
class _UnflattenBy:
    """Rebuilds nodes by a rule, with this aux data if metadata does not suffice."""

    rule: Rule
    aux: Any = None

    def __call__(self, data: Any, children: Iterable[Any]) -> Any:
        return self.rule.unflatten(data if self.aux is None else self.aux, [*children])


def unflatten_by(rule: Rule, aux: Any = None) -> Callable[[Any, Any], Any]:
    """Return a function from metadata and children to a node.

    Args:
        rule: The rule.
        aux: The aux data of a node, which is used where metadata is not enough.
    """
    if isinstance(rule, FunctionRule):
        return rule.form.unflatten  # type: ignore[no-any-return]  # a function
    return UNFLATTEN.get(kind_of(rule)) or _UnflattenBy(rule, aux)


def _entry_of(rule: Rule) -> PyTreeNodeRegistryEntry:
    """Return what optree tells of a rule."""
    kind = kind_of(rule)
    is_custom = kind is PyTreeKind.CUSTOM
    is_given = isinstance(rule, FunctionRule) and getattr(rule, "names", None) is None
    default: Any = AutoEntry if is_custom else ENTRIES.get(kind, PyTreeEntry)
    return PyTreeNodeRegistryEntry(
        rule.cls,
        rule.form.flatten if is_given else _FlattenBy(rule),
        unflatten_by(rule),
        path_entry_type=getattr(rule, "path_entry_type", default),
        kind=kind,
        namespace=rule.namespace if is_custom else "",
    )


def _get(
    cls: type | None = None, /, *, namespace: str = ""
) -> dict[Any, PyTreeNodeRegistryEntry] | PyTreeNodeRegistryEntry | None:
    """Return what is known of a class, or of all classes.

    Args:
        cls: The class; None for all.
        namespace: Where to look before the global registry.

    Returns:
        An entry, None for a class of leaves; or all entries by their classes.
    """
    by_form = BY_NAME["namedtuple"] if cls is namedtuple else None
    if cls is not None:
        rule = by_form or view(False, namespace).resolve(cls)
        return None if rule is None else _entry_of(rule)
    rules = [one for one in BUILTINS.values() if kind_of(one) is not PyTreeKind.CUSTOM]
    for name in dict.fromkeys((GLOBAL, namespace)):
        rules += filter(None, _rules(name).values())
    return {rule.cls: _entry_of(rule) for rule in rules}


# ------------------------------------------------------------------------- registration


def name_of(namespace: Any) -> str:
    """Return the name of a namespace that is registered in.

    Raises:
        TypeError: It is not a string.
        ValueError: It is empty; the global registry has to be asked for.
    """
    if namespace is GLOBAL_NAMESPACE:
        return GLOBAL
    if not isinstance(namespace, str):
        raise TypeError(f"The namespace must be a string, got {namespace!r}.")
    if namespace == "":
        raise ValueError("The namespace cannot be an empty string.")
    return namespace


def name_or_global(namespace: Any) -> str:
    """Return the name of a namespace, where an empty one is the global registry.

    Raises:
        TypeError: It is not a string.
    """
    return GLOBAL if namespace == "" else name_of(namespace)


def class_and_namespace(cls: Any, namespace: Any) -> tuple[Any, Any]:
    """Return class and namespace; the first argument may be the namespace.

    Raises:
        TypeError: The first argument is neither.
        ValueError: The namespace is missing, empty or given twice.
    """
    if cls is GLOBAL_NAMESPACE or isinstance(cls, str):
        if namespace is not None:
            told = "Cannot specify `namespace` when the first argument is a string."
            raise ValueError(told)
        name_of(cls)
        return None, cls
    if namespace is None:
        raise ValueError("Must specify `namespace` when the first argument is a class.")
    if cls is not None:
        check_class(cls)
    return cls, namespace


def check_class(cls: object, base: type = object) -> None:
    """Refuse what is not a class, or not one derived from `base`."""
    if not isinstance(cls, type) or not issubclass(cls, base):
        what = "class" if base is object else f"subclass of {base.__name__}"
        raise TypeError(f"Expected a {what}, got {cls!r}.")


def register_pytree_node(
    cls: Any,
    /,
    flatten_func: Callable[[Any], Any],
    unflatten_func: Callable[[Any, Any], Any],
    *,
    path_entry_type: type[PyTreeEntry] = AutoEntry,
    namespace: str,
) -> Any:
    """Make instances of a class nodes in a namespace, by two functions.

    Args:
        cls: The class.
        flatten_func: Takes a node, returns children and metadata, and if it likes, an
            entry for each child.
        unflatten_func: Takes metadata and a tuple of children, returns a node.
        path_entry_type: The class of the entries of its children.
        namespace: The namespace. Here and in leafwise's own functions it is the same.

    Returns:
        The class.

    Raises:
        TypeError: One of the arguments is of the wrong type.
        ValueError: The namespace is empty, or the class is a node there already.

    Example:
        >>> from leafwise.compat import optree
        >>> class Pair:
        ...     def __init__(self, x, y): self.x, self.y = x, y
        >>> _ = optree.register_pytree_node(
        ...     Pair, lambda p: ((p.x, p.y), None, ("x", "y")),
        ...     lambda _, children: Pair(*children),
        ...     path_entry_type=optree.GetAttrEntry, namespace="doc-pairs")
        >>> optree.tree_structure(Pair(1, 2), namespace="doc-pairs")
        PyTreeSpec(CustomTreeNode(Pair[None], [*, *]), namespace='doc-pairs')
    """
    check_class(cls)
    check_class(path_entry_type, PyTreeEntry)
    name = name_of(namespace)
    for function in (flatten_func, unflatten_func):
        if not callable(function):
            raise TypeError(f"Expected a function, got {typed_repr(function)}")

    check_new(cls, name)
    if is_namedtuple_class(cls) or is_structseq_class(cls):
        told = "is a subclass of `collections.namedtuple` or `PyStructSequence`"
        warnings.warn(f"{cls!r} {told}, a node already.", UserWarning, stacklevel=2)
    return put(cls, name, flatten_func, unflatten_func, path_entry_type)


def put(cls: Any, name: str, *how: Any) -> Any:
    """Put the rule of a class into the registry.

    Args:
        cls: The class.
        name: The namespace.
        *how: What `OptreeRule` takes beside the class.
    """

    def make(of: type, **given: Any) -> Rule:
        return OptreeRule(of, *how, **given)

    return install(cls, make, name, exist_ok=is_built_in_leaf(cls))  # new: see above


def check_new(cls: type, name: str) -> None:
    """Raise an error for a class that cannot be registered.

    Raises:
        ValueError: It is a node already.
    """
    if cls in BUILTINS:
        raise _error(cls, "is a built-in type and cannot be re-registered")
    rule = _rules(name).get(cls)
    if rule is not None:
        told = f"is already registered in {_place(name)}. It was {rule.origin()}"
        raise _error(cls, told)


def _error(cls: type, told: str) -> ValueError:
    return ValueError(f"PyTree type {cls!r} {told}.")


def _place(name: str) -> str:
    return f"namespace {name!r}" if name else "the global namespace"


def _rules(name: str) -> Mapping[type, Rule | None]:
    """Return the rules that were registered in a namespace, by their classes."""
    return current.state.layers.get(name, EMPTY).rules


register_pytree_node.get = _get  # type: ignore[attr-defined]  # as optree's has


def register_pytree_node_class(
    cls: Any = None,
    /,
    *,
    path_entry_type: type[PyTreeEntry] | None = None,
    namespace: str | None = None,
) -> Any:
    """Make instances nodes, by `__tree_flatten__` and `__tree_unflatten__`.

    Args:
        cls: The class; a decorator is returned without one, or for a namespace.
        path_entry_type: The class of the entries; else `TREE_PATH_ENTRY_TYPE` of `cls`.
        namespace: The namespace.

    Raises:
        TypeError: A method is missing, or an argument is of the wrong type.
        ValueError: The namespace is missing, empty or given twice, or the class is a
            node there already.

    Example:
        >>> from leafwise.compat import optree
        >>> @optree.register_pytree_node_class("doc-boxes")
        ... class Box:
        ...     def __init__(self, x): self.x = x
        ...     def __tree_flatten__(self): return (self.x,), None
        ...     @classmethod
        ...     def __tree_unflatten__(cls, metadata, children): return cls(*children)
        >>> optree.tree_leaves(Box([1, 2]), namespace="doc-boxes")
        [1, 2]
    """
    cls, where = class_and_namespace(cls, namespace)
    name_of(where)
    if cls is None:
        return functools.partial(
            register_pytree_node_class, path_entry_type=path_entry_type, namespace=where
        )
    chosen: Any = path_entry_type or getattr(cls, "TREE_PATH_ENTRY_TYPE", AutoEntry)
    names = ("tree_flatten", "tree_unflatten")
    if not all(hasattr(cls, f"__{name}__") for name in names):
        if not all(hasattr(cls, name) for name in names):
            wanted = "both `__tree_flatten__` and `__tree_unflatten__` methods"
            raise TypeError(f"{cls!r} must define {wanted}.")
        for name in names:
            setattr(cls, f"__{name}__", inspect.getattr_static(cls, name))
    return register_pytree_node(
        cls,
        methodcaller("__tree_flatten__"),
        cls.__tree_unflatten__,
        path_entry_type=chosen,
        namespace=where,
    )


def unregister_pytree_node(cls: type, /, *, namespace: str) -> PyTreeNodeRegistryEntry:
    """Remove a registration.

    Structures that were made before keep what they were made with.

    Args:
        cls: The class.
        namespace: The namespace that it was registered in.

    Returns:
        What was registered.

    Raises:
        TypeError: One of the arguments is of the wrong type.
        ValueError: The class is not registered there.
    """
    check_class(cls)
    name = name_of(namespace)
    if cls in BUILTINS:
        raise _error(cls, "is a built-in type and cannot be unregistered")
    rule = _rules(name).get(cls)
    if rule is None:
        raise _error(cls, f"is not registered in {_place(name)}")
    unregister(cls, namespace=name)
    return _entry_of(rule)


# --------------------------------------------------------------------- order of dicts


@contextmanager
def dict_insertion_ordered(mode: bool, /, *, namespace: str) -> Generator[None]:
    """Return a context manager that walks dicts in insertion or sorted order.

    As in optree, this affects the whole process with all its threads. It changes only
    the calls of this module, not those of leafwise itself. `leafwise.namespace` can
    declare the order of a namespace permanently.

    Args:
        mode: True for insertion order, False for sorted order.
        namespace: The namespace in which the order applies; the global one applies
            everywhere.

    Example:
        >>> from leafwise.compat import optree
        >>> with optree.dict_insertion_ordered(True, namespace="doc-order"):
        ...     optree.tree_leaves({"b": 1, "a": 2}, namespace="doc-order")
        [1, 2]
    """
    name = name_of(namespace)
    before = name in ordered
    (ordered.add if mode else ordered.discard)(name)
    try:
        yield
    finally:
        (ordered.add if before else ordered.discard)(name)

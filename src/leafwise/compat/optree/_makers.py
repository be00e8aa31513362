"""The functions that make structures of structures: `treespec_list` and others."""

from __future__ import annotations

import builtins
import inspect
import sys
import warnings
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

from ..._text import typed_repr
from ...core.walk import Step
from ._context import ordered, signature_of, view
from ._nodes import PyTreeKind, is_namedtuple_instance, is_structseq_instance, kind_of
from ._treespec import PyTreeSpec, joined_namespace, spec_of_steps, steps_in


def treespec_from_collection(
    collection: Any, /, *, none_is_leaf: bool = False, namespace: str = ""
) -> PyTreeSpec:
    """Return the structure of any node whose children are structures.

    Something else gives the structure of a leaf, with a `UserWarning`.

    Raises:
        ValueError: A child is no structure, or they cannot be joined.

    Example:
        >>> from leafwise.compat import optree
        >>> leaf = optree.treespec_leaf()
        >>> optree.treespec_from_collection({"b": leaf, "a": optree.treespec_none()})
        PyTreeSpec({'a': None, 'b': *})
    """
    spec = _spec_of_node(collection, none_is_leaf, namespace)
    if spec.is_leaf():
        message = f"the structure of a leaf: {typed_repr(collection)} is no node"
        warnings.warn(message, UserWarning, stacklevel=2)
    return spec


def _spec_of_node(collection: Any, none_is_leaf: bool, namespace: str) -> PyTreeSpec:
    node_types = view(none_is_leaf, namespace)
    none_is_leaf = node_types.mode.none_is_leaf
    node_type = node_types.resolve(type(collection))
    if node_type is None:
        return spec_of_steps([None], none_is_leaf, "")
    # one level only: the children are structures, which are leaves for a walk
    children, aux = node_type.flatten(collection)
    steps: list[Step] = []
    for child in children:
        if not isinstance(child, PyTreeSpec):
            raise ValueError(f"expected PyTreeSpecs in {typed_repr(collection)}")
        if child.none_is_leaf != none_is_leaf:
            raise ValueError(f"{child!r} does not have none_is_leaf={none_is_leaf}")
        steps.extend(steps_in(child))
    steps.append((node_type, len(children), aux))
    own_namespace = ""
    if kind_of(node_type) is PyTreeKind.CUSTOM or namespace in ordered:
        own_namespace = namespace
    joined = joined_namespace(children, namespace)
    return spec_of_steps(steps, none_is_leaf, joined or own_namespace)


def _maker(name: str, make: Callable[..., Any]) -> Callable[..., PyTreeSpec]:
    """Return the function that makes the structure of a container of structures.

    Args:
        name: What it makes, in its name and its docstring.
        make: Takes the arguments of the function, returns the container.
    """

    def treespec(
        *args: Any, none_is_leaf: bool = False, namespace: str = "", **keywords: Any
    ) -> PyTreeSpec:
        return _spec_of_node(make(*args, **keywords), none_is_leaf, namespace)

    # what `help` shows, and what `reexport` reads
    signature = signature_of(inspect.signature(make).parameters.values())
    treespec.__signature__ = signature  # type: ignore[attr-defined]
    treespec.__name__ = treespec.__qualname__ = f"treespec_{name}"
    treespec.__doc__ = f"Return the structure of a {name}, whose children are given."
    return treespec


def _none() -> None:
    return None


def _dict(mapping: Any = (), /, **kwargs: PyTreeSpec) -> dict[Any, Any]:
    return dict(mapping, **kwargs)


def _ordereddict(mapping: Any = (), /, **kwargs: PyTreeSpec) -> OrderedDict[Any, Any]:
    return OrderedDict(mapping, **kwargs)


def _defaultdict(
    default_factory: Any = None, mapping: Any = (), /, **kwargs: PyTreeSpec
) -> defaultdict[Any, Any]:
    return defaultdict(default_factory, mapping, **kwargs)


def _deque(iterable: Any = (), /, maxlen: int | None = None) -> deque[Any]:
    return deque(iterable, maxlen)


def _namedtuple(namedtuple: Any, /) -> Any:
    if not is_namedtuple_instance(namedtuple):
        raise ValueError(f"expected a named tuple, got {typed_repr(namedtuple)}")
    return namedtuple


def _structseq(structseq: Any, /) -> Any:
    if not is_structseq_instance(structseq):
        raise ValueError(f"expected a struct sequence, got {typed_repr(structseq)}")
    return structseq


def _frozendict(mapping: Any = (), /, **kwargs: PyTreeSpec) -> Any:
    if sys.version_info < (3, 15):
        raise RuntimeError("optree has frozendict from Python 3.15 on")
    return builtins.frozendict(mapping, **kwargs)


treespec_leaf = _maker("leaf", object)
treespec_none = _maker("none", _none)
treespec_tuple = _maker("tuple", tuple)
treespec_list = _maker("list", list)
treespec_dict = _maker("dict", _dict)
treespec_ordereddict = _maker("ordereddict", _ordereddict)
treespec_defaultdict = _maker("defaultdict", _defaultdict)
treespec_deque = _maker("deque", _deque)
treespec_namedtuple = _maker("namedtuple", _namedtuple)
treespec_structseq = _maker("structseq", _structseq)
treespec_frozendict = _maker("frozendict", _frozendict)

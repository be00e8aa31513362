"""The functions on structures: what one is asked for, and how one is made.

Owns how a structure is made of a container of structures.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from ...core.registry import GLOBAL, Mode
from ...core.treedef import PyTreeDef
from ...core.walk import Step, iter_steps
from ..forms import is_namedtuple_instance, is_structseq_instance
from .accessors import PyTreeKind
from .context import ordered, spec_in, view
from .kinds import kind_of
from .spec import PyTreeSpec, merged


__all__ = [
    "treespec_accessors",
    "treespec_child",
    "treespec_children",
    "treespec_defaultdict",
    "treespec_deque",
    "treespec_dict",
    "treespec_entries",
    "treespec_entry",
    "treespec_from_collection",
    "treespec_frozendict",
    "treespec_is_leaf",
    "treespec_is_one_level",
    "treespec_is_prefix",
    "treespec_is_strict_leaf",
    "treespec_is_suffix",
    "treespec_leaf",
    "treespec_list",
    "treespec_namedtuple",
    "treespec_none",
    "treespec_one_level",
    "treespec_ordereddict",
    "treespec_paths",
    "treespec_structseq",
    "treespec_transform",
    "treespec_tuple",
]

Specs: TypeAlias = Iterable[PyTreeSpec]
Items: TypeAlias = "Mapping[Any, PyTreeSpec] | Iterable[tuple[Any, PyTreeSpec]]"


# ----------------------------------------------------------------------------- asking


treespec_paths = PyTreeSpec.paths
treespec_accessors = PyTreeSpec.accessors
treespec_entries = PyTreeSpec.entries
treespec_entry = PyTreeSpec.entry
treespec_children = PyTreeSpec.children
treespec_child = PyTreeSpec.child
treespec_one_level = PyTreeSpec.one_level
treespec_transform = PyTreeSpec.transform
treespec_is_leaf = PyTreeSpec.is_leaf
treespec_is_one_level = PyTreeSpec.is_one_level
treespec_is_prefix = PyTreeSpec.is_prefix
treespec_is_suffix = PyTreeSpec.is_suffix


def treespec_is_strict_leaf(treespec: PyTreeSpec, /) -> bool:
    """Return whether this is a leaf."""
    return treespec.is_leaf(strict=True)


# ----------------------------------------------------------------------------- making


def _make(collection: Any, what: str, none_is_leaf: bool, namespace: str) -> PyTreeSpec:
    """Return the structure of a container whose children are structures.

    Raises:
        ValueError: They are not, or cannot be joined.
    """
    found = view(none_is_leaf, namespace)
    rule = found.resolve(type(collection))
    mode = Mode(GLOBAL, bool(none_is_leaf))
    if rule is None:
        return spec_in(PyTreeDef._make((), 1, mode), namespace)
    children, aux = rule.flatten(collection)
    steps: list[Step] = []
    adopted = ""
    for child in children:
        _check_child(child, collection, what, mode.none_is_leaf)
        adopted = _adopted(child.namespace, adopted, namespace)
        steps += iter_steps(child._treedef._code)
    steps.append((rule, len(children), aux))
    treedef = PyTreeDef._of(steps, mode)
    if adopted:
        return merged(treedef, adopted)
    depends = kind_of(rule) is PyTreeKind.CUSTOM  # the children do not, it is said
    return spec_in(treedef, namespace if depends or namespace in ordered else "")


def _check_child(child: Any, collection: Any, what: str, none_is_leaf: bool) -> None:
    if not isinstance(child, PyTreeSpec):
        raise ValueError(f"Expected a(n) {what} of PyTreeSpec(s), got {collection!r}.")
    if child.none_is_leaf != none_is_leaf:
        raise ValueError(f"Expected treespec(s) with `none_is_leaf={none_is_leaf}`.")


def _adopted(name: str, adopted: str, given: str) -> str:
    """Return the namespace of a structure and of one more child.

    Raises:
        ValueError: They differ.
    """
    if name and given and name != given:
        raise ValueError(
            f"Expected treespec(s) with namespace {given!r}, got {name!r}."
        )
    if name and adopted and name != adopted:
        raise ValueError(
            f"Expected treespecs with the same namespace, got {adopted!r} vs. {name!r}."
        )
    return name or adopted


def treespec_leaf(*, none_is_leaf: bool = False, namespace: str = "") -> PyTreeSpec:
    """Return the structure of a leaf."""
    return _make(object(), "leaf", none_is_leaf, namespace)


def treespec_none(*, none_is_leaf: bool = False, namespace: str = "") -> PyTreeSpec:
    """Return the structure of None, which may be a leaf."""
    return _make(None, "None", none_is_leaf, namespace)


def treespec_tuple(
    iterable: Specs = (), /, *, none_is_leaf: bool = False, namespace: str = ""
) -> PyTreeSpec:
    """Return the structure of a tuple of these structures."""
    return _make(tuple(iterable), "tuple", none_is_leaf, namespace)


def treespec_list(
    iterable: Specs = (), /, *, none_is_leaf: bool = False, namespace: str = ""
) -> PyTreeSpec:
    """Return the structure of a list of these structures."""
    return _make([*iterable], "list", none_is_leaf, namespace)


def treespec_dict(
    mapping: Items = (),
    /,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
    **kwargs: PyTreeSpec,
) -> PyTreeSpec:
    """Return the structure of a dict of these structures.

    Example:
        >>> from leafwise.compat import optree
        >>> leaf = optree.treespec_leaf()
        >>> optree.treespec_dict(b=leaf, a=optree.treespec_tuple([leaf, leaf]))
        PyTreeSpec({'a': (*, *), 'b': *})
    """
    return _make(dict(mapping, **kwargs), "dict", none_is_leaf, namespace)


def treespec_namedtuple(
    namedtuple: Any, /, *, none_is_leaf: bool = False, namespace: str = ""
) -> PyTreeSpec:
    """Return the structure of a named tuple of structures."""
    if not is_namedtuple_instance(namedtuple):
        raise ValueError(f"Expected a namedtuple of PyTreeSpec(s), got {namedtuple!r}.")
    return _make(namedtuple, "namedtuple", none_is_leaf, namespace)


def treespec_ordereddict(
    mapping: Items = (),
    /,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
    **kwargs: PyTreeSpec,
) -> PyTreeSpec:
    """Return the structure of an ordered dict of these structures."""
    made = OrderedDict(mapping, **kwargs)
    return _make(made, "OrderedDict", none_is_leaf, namespace)


def treespec_defaultdict(
    default_factory: Callable[[], Any] | None = None,
    mapping: Items = (),
    /,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
    **kwargs: PyTreeSpec,
) -> PyTreeSpec:
    """Return the structure of a default dict of these structures."""
    made = defaultdict(default_factory, mapping, **kwargs)
    return _make(made, "defaultdict", none_is_leaf, namespace)


def treespec_deque(
    iterable: Specs = (),
    /,
    maxlen: int | None = None,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
) -> PyTreeSpec:
    """Return the structure of a deque of these structures."""
    return _make(deque(iterable, maxlen=maxlen), "deque", none_is_leaf, namespace)


def treespec_structseq(
    structseq: Any, /, *, none_is_leaf: bool = False, namespace: str = ""
) -> PyTreeSpec:
    """Return the structure of a struct sequence of structures."""
    if not is_structseq_instance(structseq):
        raise ValueError(
            f"Expected a PyStructSequence of PyTreeSpec(s), got {structseq!r}."
        )
    return _make(structseq, "PyStructSequence", none_is_leaf, namespace)


def treespec_frozendict(
    mapping: Items = (),
    /,
    *,
    none_is_leaf: bool = False,
    namespace: str = "",
    **kwargs: PyTreeSpec,
) -> PyTreeSpec:
    """Raise an error: frozen dicts are not nodes here.

    Raises:
        RuntimeError: Always.
    """
    raise RuntimeError(
        "`optree.treespec_frozendict` requires Python 3.15+ with `frozendict` support."
    )


def treespec_from_collection(
    collection: Any, /, *, none_is_leaf: bool = False, namespace: str = ""
) -> PyTreeSpec:
    """Return the structure of any node whose children are structures.

    Something else gives the structure of a leaf, with a `UserWarning`.
    """
    rule = view(none_is_leaf, namespace).resolve(type(collection))
    if rule is None:
        warnings.warn(
            "PyTreeSpec::MakeFromCollection() is called on a leaf.",
            UserWarning,
            stacklevel=2,
        )
    return _make(collection, type(collection).__name__, none_is_leaf, namespace)

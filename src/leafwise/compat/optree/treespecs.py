"""The functions on structures: what one is asked for, and how one is made."""

from __future__ import annotations

import inspect
import warnings
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any, Final

from ...core.registry import GLOBAL, Mode
from ...core.treedef import PyTreeDef
from ...core.walk import iter_steps
from .accessors import PyTreeKind
from .context import ordered, signature_of, view
from .forms import is_namedtuple_instance, is_structseq_instance
from .kinds import kind_of
from .spec import PyTreeSpec, merged, one_namespace, spec_of


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
    walked = view(none_is_leaf, namespace)
    rule = walked.resolve(type(collection))
    mode = Mode(GLOBAL, walked.mode.none_is_leaf)
    if rule is None:
        return spec_of(PyTreeDef.leaf(none_is_leaf=mode.none_is_leaf))
    children, aux = rule.flatten(collection)
    for child in children:
        _checked(isinstance(child, PyTreeSpec), f"a(n) {what}", collection)
        if child.none_is_leaf != mode.none_is_leaf:
            told = f"`none_is_leaf={mode.none_is_leaf}`"
            raise ValueError(f"Expected treespec(s) with {told}.")
    names = {child.namespace for child in children}
    one_namespace({*names, namespace})
    steps = [step for child in children for step in iter_steps(child._treedef._code)]
    steps.append((rule, len(children), aux))
    treedef = PyTreeDef._of(steps, mode)
    if any(names):
        return merged(treedef, max(names))
    depends = kind_of(rule) is PyTreeKind.CUSTOM or namespace in ordered
    return spec_of(treedef, namespace if depends else "")


def _maker(name: str, make: Callable[..., Any]) -> Callable[..., PyTreeSpec]:
    """Return the function that makes the structure of a container of structures.

    Args:
        name: The name of the function, without `treespec_`.
        make: Takes the arguments of the function, returns the container.
    """

    def treespec(
        *args: Any, none_is_leaf: bool = False, namespace: str = "", **keywords: Any
    ) -> PyTreeSpec:
        made = make(*args, **keywords)
        return _make(made, name, none_is_leaf, namespace)

    made: Any = treespec
    made.__signature__ = signature_of(inspect.signature(make).parameters.values())
    made.__name__ = made.__qualname__ = f"treespec_{name}"
    made.__doc__ = f"Return the structure of a {name}, whose children are structures."
    return treespec


def _checked(fits: bool, what: str, node: Any) -> Any:
    if not fits:
        raise ValueError(f"Expected {what} of PyTreeSpec(s), got {node!r}.")
    return node


def _namedtuple(namedtuple: Any, /) -> Any:
    return _checked(is_namedtuple_instance(namedtuple), "a namedtuple", namedtuple)


def _structseq(structseq: Any, /) -> Any:
    return _checked(is_structseq_instance(structseq), "a PyStructSequence", structseq)


def _frozendict(mapping: Any = (), /, **kwargs: PyTreeSpec) -> Any:
    needs = "requires Python 3.15+ with `frozendict` support"
    raise RuntimeError(f"`optree.treespec_frozendict` {needs}.")


treespec_leaf = _maker("leaf", object)
treespec_none = _maker("none", lambda: None)
treespec_tuple = _maker("tuple", lambda iterable=(), /: tuple(iterable))
treespec_list = _maker("list", lambda iterable=(), /: [*iterable])
treespec_dict = _maker("dict", lambda mapping=(), /, **kwargs: dict(mapping, **kwargs))
treespec_ordereddict = _maker(
    "ordereddict", lambda mapping=(), /, **kwargs: OrderedDict(mapping, **kwargs)
)
treespec_defaultdict = _maker(
    "defaultdict",
    lambda default_factory=None, mapping=(), /, **kwargs: defaultdict(
        default_factory, mapping, **kwargs
    ),
)
treespec_deque = _maker(
    "deque", lambda iterable=(), /, maxlen=None: deque(iterable, maxlen)
)
treespec_namedtuple = _maker("namedtuple", _namedtuple)
treespec_structseq = _maker("structseq", _structseq)
treespec_frozendict = _maker("frozendict", _frozendict)


def treespec_from_collection(
    collection: Any, /, *, none_is_leaf: bool = False, namespace: str = ""
) -> PyTreeSpec:
    """Return the structure of any node whose children are structures.

    Something else gives the structure of a leaf, with a `UserWarning`.

    Example:
        >>> from leafwise.compat import optree
        >>> leaf = optree.treespec_leaf()
        >>> optree.treespec_from_collection({"b": leaf, "a": optree.treespec_none()})
        PyTreeSpec({'a': None, 'b': *})
    """
    rule = view(none_is_leaf, namespace).resolve(type(collection))
    if rule is None:
        told = "PyTreeSpec::MakeFromCollection() is called on a leaf."
        warnings.warn(told, UserWarning, stacklevel=2)
    return _make(collection, type(collection).__name__, none_is_leaf, namespace)


MAKERS: Final = (
    *("defaultdict", "deque", "dict", "from_collection", "frozendict", "leaf", "list"),
    *("namedtuple", "none", "ordereddict", "structseq", "tuple"),
)
"""The short names of the functions that make structures."""
__all__ = [*sorted(name for name in globals() if name.startswith("treespec_"))]  # pyright: ignore[reportUnsupportedDunderAll]

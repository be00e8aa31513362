"""Checks: what is asked before an object changes: is it data, and from where?

Owns the one question behind every inferred status, what is learned of types on the way,
the walk through static values in search of data and of stray marks, and the texts of
what is found. The walk goes through what trees are made of, here, in any namespace or
in a framework that is loaded, and through what they cannot see into: unregistered
dataclasses and attrs classes, `functools.partial`, simple namespaces, subclasses of the
built-in containers.

Owns trace levels as well: no change of an object inside a transform that merely
captured it. A framework that traces functions may put a provider here, which says at
which level of tracing the program is. Objects and variables are stamped with the level
at which they are made, and refuse to be changed at another one. Without a provider this
costs one look at an attribute.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import types
from collections import UserList, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from .._hooks import Displayable, hooks
from .._lazy import is_loading
from .._runtime import add_class
from .._text import FAULTS, safe_repr, safe_str, short_repr
from ..core.keypath import KeyPath
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import Rule
from ..core.registry import check_class, current, namespaces, view_of
from ..equality.exact import is_array_like
from ..errors import KindError, TraceError
from ..fields import Marked


__all__ = [
    "is_data",
    "register_data_type",
]

C = TypeVar("C", bound=type)

_MAX_TYPES: Final = 4096


class _Learned:
    """What is known of types, all of which is dropped as soon as it may be wrong.

    The sets are replaced, never cleared: whoever classifies a value notes down the
    answer in the sets that were there before, so that an answer from before a
    registration is lost with them.

    Attributes:
        plain: Types known to be no data, whose instances hold no other values.
        data: Types known to be data.
        settled: All of both.
    """

    __slots__ = ("data", "plain", "settled")

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget all of it."""
        self.plain: set[type] = set()
        self.data: set[type] = set()
        self.settled: set[type] = set()


learned: Final = _Learned()
"""What is known of the types that were met so far."""

_exact: Final[dict[type, bool]] = {}
_with_subclasses: Final[dict[type, bool]] = {}


class DataNode(Displayable):
    """Base of the classes of leafwise whose instances are always data."""

    __slots__ = ()

    if TYPE_CHECKING:  # by this method the signatures of `tree_map` know a node

        @classmethod
        def _leafwise_rule(cls, where: str) -> Rule: ...


def is_data(value: Any) -> bool:
    """Return whether a value becomes data when it is assigned to an attribute.

    Arrays, objects of leafwise (such as a `Pytree`, a variable or a state) and
    instances of types registered with `register_data_type` are data. Everything else is
    static, including containers of arrays.

    Args:
        value: Any value.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> nn.is_data(nn.List([])), nn.is_data([]), nn.is_data(42), nn.is_data("a")
        (True, False, False, False)

    Modelled on `flax.nnx.is_data`.
    """
    cls = type(value)
    if cls in learned.data:
        return True
    return cls not in learned.plain and _classify(value)[0]


def register_data_type(cls: C, *, subclasses: bool = False, data: bool = True) -> C:
    """Register a class whose instances are data when assigned to an attribute.

    Args:
        cls: The class.
        subclasses: Whether the registration includes subclasses; the nearest base
            applies.
        data: False declares instances static even if they look like arrays.

    Returns:
        The class, so you can use this function as a decorator.

    Raises:
        RegistryError: It is not a class, or it is a built-in node type.

    Example:
        >>> from leafwise import nn
        >>> @nn.register_data_type
        ... class Celsius(float): ...
        >>> nn.is_data(Celsius(20)), nn.is_data(20.0)
        (True, False)

    Modelled on `flax.nnx.register_data_type`.
    """
    check_class(cls)
    (_with_subclasses if subclasses else _exact)[cls] = data
    learned.forget()
    return cls


hooks.registry_changed.append(learned.forget)


def sort(value: Any) -> str:
    """Return `"data"`, `"plain"` or `"container"`, and remember it for the type."""
    cls = type(value)
    plain, known, settled = learned.plain, learned.data, learned.settled
    if cls in plain:
        return "plain"
    if cls in known:
        return "data"
    data, lasting = _classify(value)
    if not data and _inside(value) is not None:
        return "container"
    if lasting:
        if len(settled) > _MAX_TYPES:
            learned.forget()
        add_class(known if data else plain, cls)
        add_class(settled, cls)
    return "data" if data else "plain"


# ------------------------------------------------------------------ the decision


def _classify(value: Any) -> tuple[bool, bool]:
    """Return whether a value is data, and whether that holds for its whole type."""
    cls = type(value)
    if cls is Marked:
        return False, False
    if cls in _exact:
        return _exact[cls], True
    for base in cls.__mro__:
        if base in _with_subclasses:
            return _with_subclasses[base], True
    if issubclass(cls, DataNode):
        return True, True
    if cls.__module__ == "builtins" or issubclass(cls, type):
        return False, True
    for module, name, data in _IS:
        known = getattr(sys.modules.get(module), name, None)
        if isinstance(known, type) and isinstance(value, known):
            return data, known in cls.__mro__
    is_lasting = not _speaks_array(cls) or is_array_like(cls)
    is_whole = not is_loading(cls.__module__.partition(".")[0])
    return looks_like_array(value), is_lasting and is_whole


_IS: Final = (
    ("jax.core", "Tracer", True),
    ("jax", "Array", True),
    ("jax", "Ref", True),
    ("jax.core", "Ref", True),
    ("jax", "ShapeDtypeStruct", False),
    ("numpy", "generic", False),
)
"""Classes that look like arrays and are none, or the other way round, by module and
name, and whether their instances are data."""


def looks_like_array(value: Any) -> bool:
    """Return whether a value has what arrays have, even if it is a single number."""
    return _speaks_array(type(value)) and is_array_like(value)


def _speaks_array(cls: type) -> bool:
    """Return whether a class has one of the protocols of arrays."""
    return any(hasattr(cls, name) for name in _PROTOCOLS)


_PROTOCOLS: Final = ("__array_namespace__", "__dlpack__", "__array__")

_SEQUENCES: Final = (list, tuple, set, frozenset, deque, UserList)

Apart = Callable[[Any], tuple[Sequence[Any], Sequence[Any]]]
"""Flattens a value one level deep: returns what it holds, and the keys."""


class Found(NamedTuple):
    """A value that a walk was looking for.

    Attributes:
        path: The keys that lead to it.
        value: What it is.
    """

    path: tuple[Any, ...]
    value: Any


# --------------------------------------------------------------------- walking


def _rule_of(cls: type) -> Rule | None:
    """Return the rule of a type, be it in some namespace only."""
    rule = current.view.resolve(cls)
    others = () if rule is not None else namespaces()
    found = (view_of(name).known_elsewhere(cls) for name in others)
    return next(filter(None, found), rule)


def framework_of(value: Any) -> tuple[str, Apart] | None:
    """Return the framework that knows a value as a node, and how it is flattened."""
    for find in hooks.foreign_nodes:
        framework_and_flatten = find(value)
        if framework_and_flatten is not None:
            return framework_and_flatten
    return None


def _inside(value: Any) -> tuple[Sequence[Any], Callable[[], Iterable[Any]]] | None:
    """Return what a container holds, and a function for the keys of it.

    Returns:
        None if the value is of a type that holds no others.
    """
    cls = type(value)
    if isinstance(value, Mapping):
        return [*value.values()], lambda: map(DictKey, value)
    if isinstance(value, functools.partial):
        places = map(SequenceKey, range(len(value.args)))
        keys = [GetAttrKey("func"), *places, *map(DictKey, value.keywords)]
        return [value.func, *value.args, *value.keywords.values()], lambda: keys
    is_builtin = cls.__module__ == "builtins" or issubclass(cls, type)
    rule = None if is_builtin else _rule_of(cls)
    if rule is not None:
        try:
            children, aux = rule.flatten(value)
        except FAULTS:  # what another namespace does with it is not needed here
            if current.view.resolve(cls) is rule:
                raise
        else:
            return children, lambda: rule.keys(aux, len(children))
    if isinstance(value, _SEQUENCES):
        items = value if isinstance(value, list | tuple) else [*value]
        return items, lambda: map(SequenceKey, range(len(items)))
    known = None if is_builtin else framework_of(value)
    if known is not None:
        children, names = known[1](value)
        return children, lambda: names
    if isinstance(value, types.SimpleNamespace):
        return [*vars(value).values()], lambda: map(GetAttrKey, vars(value))
    fields = dataclasses.fields(value) if dataclasses.is_dataclass(cls) else ()
    fields = fields or getattr(cls, "__attrs_attrs__", ())
    there = [field.name for field in fields if hasattr(value, field.name)]
    if not there:
        return None
    return [getattr(value, name) for name in there], lambda: map(GetAttrKey, there)


def have_types(values: Iterable[Any], known: Set[Any]) -> bool:
    """Return whether all values are of known types; fast where they have but one."""
    found = [*map(type, values)]
    if found and found.count(found[0]) == len(found):
        return found[0] in known
    return known >= {*found}


def items_in(value: Any) -> Iterable[tuple[Any, Any]]:
    """Return what a container holds with the keys, but nothing if none can be data."""
    held, keys = _inside(value) or ((), tuple)
    if have_types(held, learned.plain):
        return ()
    return zip(keys(), held, strict=True)


def find(value: Any) -> Iterator[Found]:
    """Yield the data and the marks that a value is or contains, each once."""
    seen: dict[int, Any] = {}

    def visit(value: Any, path: tuple[Any, ...]) -> Iterator[Found]:
        found = sort(value)
        if found == "data" or type(value) is Marked:
            yield Found(path, value)
        elif found == "container" and id(value) not in seen:
            seen[id(value)] = value
            for key, child in items_in(value):
                if type(child) not in learned.plain:
                    yield from visit(child, (*path, key))

    return visit(value, ())


def find_data(value: Any) -> Iterator[Found]:
    """Yield the data that a value is or contains, each once, with its path."""
    return (found for found in find(value) if type(found.value) is not Marked)


def holds_data(value: Any) -> bool:
    """Return whether a value is data or contains data."""
    return any(find_data(value))


def find_foreign(value: Any) -> Found | None:
    """Return the first node of another framework that is a leaf here, None if none is.

    Args:
        value: A container with data in it.
    """
    seen: set[int] = set()

    def visit(value: Any, path: tuple[Any, ...]) -> Found | None:
        if sort(value) != "container" or id(value) in seen:
            return None
        seen.add(id(value))
        if _rule_of(type(value)) is None and framework_of(value) is not None:
            return Found(path, value)
        for key, child in items_in(value):
            foreign = visit(child, (*path, key))
            if foreign is not None:
                return foreign
        return None

    return visit(value, ())


# ----------------------------------------------------------------------- texts


def describe(value: Any) -> str:
    """Describe a value in a few words: its type, shape and dtype."""
    cls = type(value)
    name = cls.__qualname__
    if is_array_like(value):
        shape, dtype = safe_str(tuple(value.shape)), safe_str(value.dtype)
        return f"{name} of shape {shape} and dtype {dtype}"
    if cls.__module__ == "builtins" and not isinstance(value, type):
        return f"{name}: {short_repr(value)}"
    return name


def refusal(owner: type, key: Any, value: Any, before: str, after: str) -> KindError:
    """Return the error for a value with data in it: what is wrong, where, and ways out.

    Args:
        owner: The class of the object.
        key: The key of the attribute or item.
        value: The value.
        before: What was tried, or found, up to the name of the attribute or item.
        after: The rest of that.
    """
    found, kind = [*find_data(value)], type(value).__name__
    is_whole = not found[0].path
    path, known = KeyPath((key, *found[0].path)), framework_of(value)
    whole = "it" if is_whole else f"the whole {kind}"
    ways = [f"mark {whole} as data:  obj{key} = data(...)"]
    if is_whole:
        ways.append(f"mark it from the start, even if None:  self{key} = data(None)")
    elif isinstance(value, (*_SEQUENCES, Mapping)):
        ours = "Dict" if isinstance(value, Mapping) else "List"
        ways.append(f"use a container that accepts data:  obj{key} = {ours}(...)")
    elif known is not None:
        adopt = f"leafwise.integrations.adopt({known[0]!r}), and data(...)"
        ways.append(f"adopt the node types of {known[0]}:  {adopt}")
    if isinstance(key, GetAttrKey):
        said = "..." if is_whole else kind
        ways.append(f"declare it in the class:  {key.name}: Data[{said}]")
    if isinstance(key, GetAttrKey) and not is_whole:
        name = f"class {owner.__name__}"
        ways.append(f"treat such containers as data:  {name}(..., strict=False)")
        ways.append(f"disable pytree for the class:  {name}(..., pytree=False)")
    ways.append(f"assign a value without data:  obj{key} = static(...)")
    others = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    what = f"{before}{owner.__qualname__}{key}{after}"
    where = f"{owner.__qualname__}{path} is {describe(found[0].value)}{others}"
    lines = [f"  {number}. {way}" for number, way in enumerate(ways, 1)]
    return KindError(
        "\n".join([f"{what}: {where}.", "Do one of these:", *lines]),
        owner=owner,
        attribute=_name(key),
        path=path,
    )


def foreign_refusal(owner: type, key: Any, foreign: Found) -> KindError:
    """Return the error for a node of another framework: a leaf here, left out of all.

    Args:
        owner: The class of the object.
        key: The key of the attribute or item.
        foreign: The node, and its path in the assigned value.
    """
    cls = type(foreign.value)
    framework, _ = framework_of(foreign.value) or ("another framework", None)
    path = KeyPath((key, *foreign.path))
    return KindError(
        f"{owner.__qualname__}{path} is a {cls.__module__}.{cls.__qualname__}, which "
        f"{framework} knows as a node and leafwise does not: as a leaf, it would be "
        "left out when the object is differentiated, trained, saved or switched by "
        "eval.\n"
        "Do one of these:\n"
        f"  1. call leafwise.integrations.adopt({framework!r}) before, and mark it as "
        "data(...): its arrays become leaves, which nn.Param does not match\n"
        "  2. use the class of leafwise.nn that corresponds to it\n"
        f"  3. store its arrays:  obj{key} = Param(...)",
        owner=owner,
        attribute=_name(key),
        path=path,
    )


def stray_marks(owner: type, key: Any, found: Found) -> KindError:
    """E5: `data(...)` or `static(...)` inside another value."""
    path = KeyPath((key, *found.path))
    mark = safe_repr(found.value).partition("(")[0]
    return KindError(
        f"Found {mark}(...) inside the value of {owner.__qualname__}{key}, at "
        f"{owner.__qualname__}{path}. A mark applies to a whole "
        "attribute, so wrap the assigned value instead:\n"
        f"  obj{key} = {mark}(...)",
        owner=owner,
        attribute=_name(key),
        path=path,
    )


def _name(key: Any) -> str:
    return safe_str(key).removeprefix(".")


# ------------------------------------------------------------------ trace levels


Provider = Callable[[], Any]


def watch(provider: Provider) -> None:
    """Set a framework's function that returns the current trace level.

    Args:
        provider: Returns a token that is equal at the same level, and only there.

    Example:
        >>> from leafwise.nn.checks import watch
        >>> callable(watch)
        True
    """
    hooks.outer_level = provider()
    hooks.trace_level = provider


def check_level(obj: Any, what: str) -> None:
    """Raise an error if an object is changed at another trace level than its own.

    Raises:
        TraceError: It was made at another level.
    """
    token = hooks.trace_level
    if token is None or getattr(obj, "_leafwise_stamp", hooks.outer_level) == token():
        return
    name = type(obj).__qualname__
    raise TraceError(
        f"Cannot mutate {name}{what} from a different trace level: the object was made "
        "outside of the function that is being traced (by jit, grad, vmap, ...), or "
        "inside another one.\n"
        "Do one of these:\n"
        "  1. pass the object to the function as an argument, and return it\n"
        "  2. make it inside the function\n"
        "  3. return the value, and assign it outside",
        attribute=what.removeprefix("."),
    )

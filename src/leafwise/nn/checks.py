"""Whether a value is data, and whether an object may be changed at a trace level.

`sort` answers for one value and remembers the answer for its type. `contents_of` walks
through values in search of data and of misplaced marks. It looks into all nodes, be
they registered here, in any namespace, or in a framework that is loaded, and also into
values that trees do not look into: unregistered dataclasses and attrs classes,
`functools.partial`, simple namespaces, and subclasses of the built-in containers.

`check_level` refuses to change an object inside a transform that merely captured it.
Objects and variables are stamped with the trace level at which they are made. Without
a framework that traces, the check costs one look at an attribute.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import types
from collections import UserList, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeVar

from .._hooks import Displayable, description_of, hooks
from .._lazy import is_loading
from .._runtime import add_class
from .._text import FAULTS
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import NodeType
from ..core.registry import check_class, current, namespaces, view_of
from ..equality.exact import is_array_like
from ..errors import TraceError
from ..fields import Kind, Marked


__all__ = [
    "is_data",
    "register_data_type",
]

C = TypeVar("C", bound=type)

_MAX_TYPES: Final = 4096


class _Learned:
    """Answers of `sort` by type, which a registration may make wrong.

    The sets are replaced, never cleared. A thread that classifies a value adds the
    answer to the sets that were there when it began, so that an answer from before a
    registration is lost with them.

    Attributes:
        plain: Types whose instances are not data and hold no other values.
        data: Types whose instances are data.
        settled: The types in either set.
    """

    __slots__ = ("data", "plain", "settled")

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget all answers."""
        self.plain: set[type] = set()
        self.data: set[type] = set()
        self.settled: set[type] = set()


learned: Final = _Learned()
"""The answers so far."""

_registered: Final[dict[type, bool]] = {}
_registered_bases: Final[dict[type, bool]] = {}


class DataNode(Displayable):
    """Base of the classes of leafwise whose instances are always data."""

    __slots__ = ()

    if TYPE_CHECKING:  # by this attribute the signatures of `tree_map` know a node
        __leafwise__: ClassVar[Any]


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
    registrations = _registered_bases if subclasses else _registered
    registrations[cls] = data
    learned.forget()
    return cls


hooks.registry_changed.append(learned.forget)


def sort(value: Any) -> str:
    """Return `"data"`, `"plain"` or `"container"`, and remember it for the type."""
    cls = type(value)
    # Read first: if another thread replaces the sets meanwhile, an answer from before
    # the registration must be lost with the old ones.
    plain_types = learned.plain
    data_types = learned.data
    settled_types = learned.settled
    if cls in plain_types:
        return "plain"
    if cls in data_types:
        return "data"
    is_data, is_lasting = _classify(value)
    is_container = not is_data and (
        _contents(value) is not None or module_library(value) is not None
    )
    if is_container:
        return "container"  # not by its type: what is in it is asked each time
    if is_lasting:
        if len(settled_types) > _MAX_TYPES:
            learned.forget()
        add_class(data_types if is_data else plain_types, cls)
        add_class(settled_types, cls)
    return "data" if is_data else "plain"


# ------------------------------------------------------------------ the decision


def _classify(value: Any) -> tuple[bool, bool]:
    """Return whether a value is data, and whether that holds for its whole type."""
    cls = type(value)
    if cls is Marked:
        return False, False
    if cls in _registered:
        return _registered[cls], True
    for base in cls.__mro__:
        if base in _registered_bases:
            return _registered_bases[base], True
    if issubclass(cls, DataNode):
        return True, True
    if cls.__module__ == "builtins" or issubclass(cls, type):
        return False, True
    for module, name, data in _EXCEPTIONS:
        other = _loaded_class(module, name)
        if other is not None and isinstance(value, other):
            # jax's tracers only claim to be arrays, by `__instancecheck__`: what holds
            # for one of them need not hold for its class.
            return data, other in cls.__mro__
    # Where only the instance has a shape, another instance may have none.
    is_same_for_all = not _has_array_protocol(cls) or is_array_like(cls)
    # A module that is still being imported may give the class more attributes.
    is_complete = not is_loading(cls.__module__.partition(".")[0])
    return looks_like_array(value), is_same_for_all and is_complete


_EXCEPTIONS: Final = (
    ("jax.core", "Tracer", True),
    ("jax", "Array", True),
    ("jax", "Ref", True),
    ("jax.core", "Ref", True),
    ("jax", "ShapeDtypeStruct", False),
    ("numpy", "generic", False),
)
"""Classes that look like arrays and are none, or the other way round, by module and
name, and whether their instances are data."""


def _loaded_class(module: str, name: str) -> type | None:
    """Return a class of a module; None if the module is not imported."""
    cls = getattr(sys.modules.get(module), name, None)
    return cls if isinstance(cls, type) else None


def module_library(value: Any) -> str | None:
    """Return the library of which a value is a module, a layer or a whole model.

    Such a value has a mode, and usually parameters, that a model of ours would never
    look at.
    """
    # Not flax.linen, whose modules hold neither. Not equinox, either: what has arrays
    # is a node of jax, and what has none may well be a solver or a setting.
    for library, module, name in _MODULES_ELSEWHERE:
        cls = _loaded_class(module, name)
        if cls is not None and isinstance(value, cls):
            return library
    return None


_MODULES_ELSEWHERE: Final = (
    ("torch", "torch.nn", "Module"),
    ("flax.nnx", "flax.nnx", "Module"),
    ("keras", "keras", "Layer"),
    ("haiku", "haiku", "Module"),
    ("mlx", "mlx.nn", "Module"),
)
"""The base classes of modules of other libraries: library, module and name."""


def looks_like_array(value: Any) -> bool:
    """Return whether a value has what arrays have, even if it is a single number."""
    return _has_array_protocol(type(value)) and is_array_like(value)


def _has_array_protocol(cls: type) -> bool:
    """Return whether a class has one of the protocols of arrays."""
    return any(hasattr(cls, name) for name in _PROTOCOLS)


_PROTOCOLS: Final = ("__array_namespace__", "__dlpack__", "__array__")

SEQUENCES: Final = (list, tuple, set, frozenset, deque, UserList)

Apart = Callable[[Any], tuple[Sequence[Any], Sequence[Any]]]
"""Flattens a value one level deep: returns its children and their keys."""


class Occurrence(NamedTuple):
    """A value in another one, with its path.

    Attributes:
        path: The keys that lead to it.
        value: The value.
    """

    path: tuple[Any, ...]
    value: Any


# --------------------------------------------------------------------- walking


def node_type_of(cls: Any) -> NodeType | None:
    """Return the node type of a class, objects that are no nodes of trees included."""
    node_type = current.view.node_types.get(cls) or current.view.resolve(cls)
    if node_type is None and issubclass(cls, DataNode):
        description = description_of(cls)
        return getattr(description, "node_type", None)
    return node_type


def _node_type_in_any_namespace(cls: type) -> NodeType | None:
    """Return the node type of a class, be it in some namespace only."""
    node_type = current.view.resolve(cls)
    if node_type is not None:
        return node_type
    for name in namespaces():
        node_type = view_of(name).known_elsewhere(cls)
        if node_type is not None:
            return node_type
    return None


def framework_of(value: Any) -> tuple[str, Apart] | None:
    """Return the framework that knows a value as a node, and how it is flattened."""
    for find in hooks.foreign_nodes:
        framework_and_flatten = find(value)
        if framework_and_flatten is not None:
            return framework_and_flatten
    return None


Contents = tuple[Sequence[Any], Callable[[], Iterable[Any]]]
"""The values in a container, and a function that returns their keys, which are needed
for few containers."""


def _contents(value: Any) -> Contents | None:
    """Return what a container holds; None for a value that holds no others."""
    cls = type(value)
    if isinstance(value, Mapping):
        return list(value.values()), lambda: map(DictKey, value)
    if isinstance(value, functools.partial):
        return _contents_of_partial(value)
    is_builtin = cls.__module__ == "builtins" or issubclass(cls, type)
    if not is_builtin:  # a namespace may say anything of `list`: see `SEQUENCES`
        contents = _contents_of_node(value)
        if contents is not None:
            return contents
    if isinstance(value, SEQUENCES):
        items = value if isinstance(value, list | tuple) else list(value)
        return items, lambda: map(SequenceKey, range(len(items)))
    framework = None if is_builtin else framework_of(value)
    if framework is not None:
        _, flatten = framework
        children, keys = flatten(value)
        return children, lambda: keys
    if isinstance(value, types.SimpleNamespace):
        attributes = vars(value)
        return list(attributes.values()), lambda: map(GetAttrKey, attributes)
    return _contents_of_record(value)


def _contents_of_partial(value: functools.partial[Any]) -> Contents:
    """Return the function and the arguments of a partial."""
    keys: list[Any] = [GetAttrKey("func")]
    keys += map(SequenceKey, range(len(value.args)))
    keys += map(DictKey, value.keywords)
    values: list[Any] = [value.func]
    values += value.args
    values += value.keywords.values()
    return values, lambda: keys


def _contents_of_node(value: Any) -> Contents | None:
    """Return the children of a node; None for another value."""
    cls = type(value)
    node_type = _node_type_in_any_namespace(cls)
    if node_type is None:
        return None
    try:
        children, aux = node_type.flatten(value)
    except FAULTS:
        if current.view.resolve(cls) is node_type:
            raise
        return None  # a function of a namespace that this value may not be meant for
    return children, lambda: node_type.keys(aux, len(children))


def _contents_of_record(value: Any) -> Contents | None:
    """Return the fields of an instance of a dataclass or attrs class; else None."""
    cls = type(value)
    fields = dataclasses.fields(value) if dataclasses.is_dataclass(cls) else ()
    fields = fields or getattr(cls, "__attrs_attrs__", ())
    names = [field.name for field in fields if hasattr(value, field.name)]
    if not names:
        return None
    values = [getattr(value, name) for name in names]
    return values, lambda: map(GetAttrKey, names)


def have_types(values: Iterable[Any], types: Set[Any]) -> bool:
    """Return whether the types of all values are in a set."""
    value_types = list(map(type, values))
    # Most containers have one type only, and counting it is faster than a set.
    if value_types and value_types.count(value_types[0]) == len(value_types):
        return value_types[0] in types
    return types >= set(value_types)


def items_in(value: Any) -> Iterable[tuple[Any, Any]]:
    """Return what a container holds with the keys, but nothing if none can be data."""
    contents = _contents(value)
    if contents is None:
        return ()
    values, keys = contents
    if have_types(values, learned.plain):
        return ()  # without the keys, which take longer than the types
    return zip(keys(), values, strict=True)


def contents_of(value: Any) -> Iterator[tuple[str, Occurrence]]:
    """Yield a value and what it contains, each after what it is.

    That is `"data"`, `"mark"` or `"container"`. Data and marks are not looked into,
    plain values are left out, and a container in several places comes once.
    """
    containers: dict[int, Any] = {}  # by id; kept alive, so that no id is used twice

    def visit(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[str, Occurrence]]:
        answer = "mark" if type(value) is Marked else sort(value)
        if answer == "data" or answer == "mark":
            yield answer, Occurrence(path, value)
        elif answer == "container" and id(value) not in containers:
            containers[id(value)] = value
            yield answer, Occurrence(path, value)
            for key, child in items_in(value):
                if type(child) not in learned.plain:
                    yield from visit(child, (*path, key))

    return visit(value, ())


def find_data(value: Any) -> Iterator[Occurrence]:
    """Yield the data that a value is or contains, each once, with its path."""
    return (part for answer, part in contents_of(value) if answer == "data")


def holds_data(value: Any) -> bool:
    """Return whether a value is data or contains data."""
    return any(find_data(value))


def find_foreign(
    containers: Iterable[Occurrence],
    kind: Kind | None,
    *,
    has_data: bool,
) -> Occurrence | None:
    """Return the first value of another framework that a model would leave out.

    Args:
        containers: A value and the containers in it.
        kind: The kind that was chosen for the attribute, None without a choice.
        has_data: Whether there is data in the value.
    """
    for container in containers:
        cls = type(container.value)
        if cls.__module__ == "builtins":
            continue
        is_leaf = current.view.resolve(cls) is None
        if module_library(container.value) is not None:
            if kind is None:
                return container
            is_choice = not has_data if kind is Kind.STATIC else not is_leaf
            if not is_choice:
                return container
        elif has_data and is_leaf and framework_of(container.value) is not None:
            return container
    return None


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


def new_stamp() -> Any:
    """Return the current trace level, None without a framework that traces."""
    return None if hooks.trace_level is None else hooks.trace_level()


def stamp_of(obj: Any) -> Any:
    """Return the trace level at which an object was made."""
    stamp = obj._leafwise.stamp if hasattr(obj, "_leafwise") else None
    return hooks.outer_level if stamp is None else stamp


def set_stamp(obj: Any, stamp: Any) -> None:
    """Set the trace level at which an object counts as made."""
    obj._leafwise.stamp = stamp


def check_level(obj: Any, what: str) -> None:
    """Raise an error if an object is changed at another trace level than its own.

    Raises:
        TraceError: It was made at another level.
    """
    if hooks.trace_level is None or stamp_of(obj) == hooks.trace_level():
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

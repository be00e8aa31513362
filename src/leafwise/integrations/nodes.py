"""Node types as functions that a framework can register.

A framework calls these functions for each node, so they are as direct as the node type
allows. For a class whose children and aux data are attributes they are generated, and
read and set the attributes by name. The two functions of a user are called with one
check around them.

A framework compares aux data with `==` and hashes it. Where that gives the answers of
`equality.exact`, it gets the aux data as it is, otherwise inside an `Aux`.

A framework keeps the functions that it was given first: neither jax nor torch has a
public way to replace them. So each call compares the serial number of the registry, and
if the class has another node type by now, that one is used.
"""

from __future__ import annotations

import functools
import json
import keyword
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any, Final, NamedTuple

from .._lazy import late_module
from .._text import safe_repr
from ..core.node import Fields, Functions, NodeType
from ..core.registry import current, lookup
from ..core.words import node_data


__all__ = [
    "PLAIN_TYPES",
    "Aux",
    "Node",
    "key_converter",
    "make_node",
    "pair_flattener",
    "qualified_name",
    "read_aux",
    "write_aux",
]

PLAIN_TYPES: Final = frozenset(
    {
        bool,
        bytes,
        complex,
        float,
        int,
        str,
        type,
        type(None),
        BuiltinFunctionType,
        FunctionType,
    }
)
"""The types of values that `==` compares and `hash` hashes as `exact` does."""


class Aux:
    """Aux data as a framework may keep it: its node type compares and hashes it.

    Attributes:
        node_type: The node type that flattened the node.
        aux: The aux data, as that node type has it.
    """

    __slots__ = ("aux", "node_type")

    def __init__(self, node_type: NodeType, aux: Any) -> None:
        self.node_type: NodeType = node_type
        self.aux: Any = aux

    def __eq__(self, other: object) -> bool:
        if type(other) is not Aux:
            return NotImplemented
        return self.node_type is other.node_type and self.node_type.same(
            self.aux, other.aux
        )

    def __hash__(self) -> int:
        return self.node_type.hash(self.aux)

    def __repr__(self) -> str:
        return safe_repr(self.data)

    @property
    def data(self) -> Any:
        """The aux data that a user knows: what the flatten function returned."""
        return node_data(self.node_type, self.aux)


class Node(NamedTuple):
    """A node type as functions.

    Attributes:
        flatten: Takes a node, returns its children and aux data for a framework.
        unflatten: Takes such aux data and the children, returns a node.
        keys: Takes such aux data and the number of children, returns their keys.
    """

    flatten: Callable[[Any], tuple[Sequence[Any], Any]]
    unflatten: Callable[[Any, Any], Any]
    keys: Callable[[Any, int], Sequence[Any]]


def make_node(cls: type, node_type: NodeType) -> Node:
    """Return a node type as functions.

    Args:
        cls: The class.
        node_type: Its node type at present.
    """
    registration = _Registration(cls, node_type)
    form = node_type.form
    if _has_fields(node_type):
        return _node_of_fields(registration, form)
    if isinstance(form, Functions):
        return _node_of_functions(registration, form)
    return Node(registration.flatten, registration.unflatten, registration.keys)


_NEVER: Final = -1
"""A serial number that no registry has."""


class _Registration:
    """A class with the node type that it has in leafwise now.

    What was flattened is rebuilt by the node type that flattened it: the first one, if
    its aux data was plain, otherwise the one in the `Aux`.

    Args:
        cls: The class.
        node_type: Its node type when it was registered in the framework.

    Attributes:
        first: That node type.
        latest: The node type of the last call; it stays after
            `unregister_pytree_node`.
        serial: The registry in which the first one was found last.
    """

    __slots__ = ("cls", "first", "latest", "serial")

    def __init__(self, cls: type, node_type: NodeType) -> None:
        self.cls = cls
        self.first = node_type
        self.latest = node_type
        self.serial = _NEVER

    def refresh(self, node: Any) -> bool:
        """Look up the node type of the class; return whether it is not the first.

        Args:
            node: The instance that is to be flattened.
        """
        if self.serial == _NEVER:
            self.first.flatten(node)  # which warns of attributes that are no fields
        serial = current.state.serial
        self.latest = lookup(self.cls) or self.latest
        if self.latest is not self.first:
            return True
        self.serial = serial
        return False

    def flatten(self, node: Any) -> tuple[Sequence[Any], Aux]:
        """Flatten a node by the latest node type."""
        if current.state.serial != self.serial:
            self.refresh(node)
        node_type = self.latest
        children, aux = node_type.flatten(node)
        return children, Aux(node_type, aux)

    def unflatten(self, aux: Any, children: Any) -> Any:
        """Rebuild a node by the node type that flattened it.

        Aux data that is not in an `Aux` was read by a function of a user.
        """
        if type(aux) is not Aux:
            return self.latest.unflatten(aux, list(children))
        return aux.node_type.unflatten(aux.aux, list(children))

    def keys(self, aux: Aux, count: int) -> Sequence[Any]:
        """Return the keys by the node type that flattened the node."""
        return aux.node_type.keys(aux.aux, count)


# -------------------------------------------------------------------- saved programs


def qualified_name(cls: type) -> str:
    """Return the name under which saved programs have a class."""
    return f"{cls.__module__}.{cls.__qualname__}"


def write_aux(node_type: NodeType, aux: Any) -> str:
    """Return aux data as JSON, for a program that a framework saves.

    Args:
        node_type: The node type that the class had when it was registered there.
        aux: Aux data as the framework has it.

    Raises:
        TreeDefError: It has a value that cannot be written, and the class no codec.
    """
    if type(aux) is Aux:
        node_type = aux.node_type
        data = aux.aux
    elif isinstance(node_type.form, Functions):
        data = (aux, None)
    else:
        data = aux
    codec = late_module(".core.codec", _PACKAGE)
    serial = late_module(".core.serial", _PACKAGE)
    text: str = serial.json_text(serial.write_aux(node_type, data, codec.Writer()))
    return text


def read_aux(node_type: NodeType, text: str, is_bare: bool = False) -> Any:
    """Return the aux data that `write_aux` wrote, as a framework has it.

    Args:
        node_type: The node type that the class had when it was registered there.
        text: The JSON.
        is_bare: Whether the framework never has it in an `Aux`.

    Raises:
        TreeDefError: It names what is not there.
    """
    latest = lookup(node_type.cls) or node_type
    form = late_module(".core.codec", _PACKAGE).aux_form_of(latest)
    aux = form.read(latest, json.loads(text))
    if is_bare:
        return aux
    if latest is not node_type:
        return Aux(latest, aux)
    if _has_fields(node_type):
        return _pack_fields(node_type, aux)
    if isinstance(node_type.form, Functions):
        return _pack(node_type, *aux)
    return Aux(node_type, aux)


_PACKAGE: Final = __name__.partition(".")[0]


# ------------------------------------------------------------------------------- keys


def key_converter(
    convert: Callable[[Any], Any],
) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Return a function that converts the keys of a node to those of a framework.

    It caches what it returns for tuples, since the nodes of a class share a few.

    Args:
        convert: Converts one key.
    """
    # by the id of the tuple, which is kept, so that no other tuple gets the id
    results: dict[int, tuple[Any, tuple[Any, ...]]] = {}

    def convert_all(keys: Sequence[Any]) -> tuple[Any, ...]:
        cached = results.get(id(keys))
        if cached is not None:
            return cached[1]
        converted = tuple(map(convert, keys))
        if type(keys) is tuple:  # a list could change until the next call
            if len(results) >= _MAX_CONVERTED:
                results.clear()
            results[id(keys)] = (keys, converted)
        return converted

    return convert_all


_MAX_CONVERTED: Final = 64
"""How many tuples of keys a `key_converter` caches."""


def pair_flattener(
    node: Node, convert: Callable[[Any], Any]
) -> Callable[[Any], tuple[list[tuple[Any, Any]], Any]]:
    """Return a function from a value to pairs of key and child, and aux data.

    Args:
        node: How the values are flattened.
        convert: Converts one key to one of the framework.
    """
    flatten, _, keys_of = node
    convert_all = key_converter(convert)

    def flatten_to_pairs(value: Any) -> tuple[list[tuple[Any, Any]], Any]:
        children, aux = flatten(value)
        keys = convert_all(keys_of(aux, len(children)))
        return list(zip(keys, children, strict=True)), aux

    return flatten_to_pairs


# ------------------------------------------------------------ the functions of a user


def _node_of_functions(registration: _Registration, form: Functions) -> Node:
    node_type = registration.first

    def flatten(node: Any) -> tuple[Sequence[Any], Any]:
        if current.state.serial != registration.serial and registration.refresh(node):
            return registration.flatten(node)
        result: Any = form.flatten(node)
        if type(result) is tuple and len(result) == 2 and type(result[0]) is tuple:
            children, aux = result  # what most functions return
            keys = None
        else:
            children, (aux, keys) = form.checked(result)
        if keys is None and type(aux) in PLAIN_TYPES:  # without another call
            return children, aux
        return children, _pack(node_type, aux, keys)

    def unflatten(aux: Any, children: Any) -> Any:
        if type(aux) is Aux:
            return registration.unflatten(aux, children)
        return form.unflatten(aux, tuple(children))

    def keys(aux: Any, count: int) -> Sequence[Any]:
        if type(aux) is Aux:
            return registration.keys(aux, count)
        return node_type.keys((aux, None), count)

    return Node(flatten, unflatten, keys)


def _pack(node_type: NodeType, aux: Any, keys: Any) -> Any:
    """Return the aux data of a user's functions as a framework gets it."""
    if keys is None and _is_plain(aux):
        return aux
    return Aux(node_type, (aux, keys))


def _is_plain(value: Any) -> bool:
    """Return whether `==` compares a value, or the items of a tuple, as `exact` does.

    Tuples in tuples are not looked into: that would need a limit of depth.
    """
    if type(value) is not tuple:
        return type(value) in PLAIN_TYPES
    for item in value:  # noqa: SIM110  # `all` takes twice the time for a few items
        if type(item) not in PLAIN_TYPES:
            return False
    return True


# ------------------------------------------------------------------------- attributes

# Attributes that are written out are read in half the time that `attrgetter` takes,
# since the interpreter remembers where it found them.

_FUNCTIONS: Final = """\
def flatten(node):
    if current.state.serial != registration.serial and registration.refresh(node):
        return registration.flatten(node)
    aux = ({read_meta})
    is_plain = {is_plain}
    return ({read_data}), aux if is_plain else pack(aux)

def unflatten(aux, children):
    if type(aux) is not tuple:
        return registration.unflatten(aux, children)
    node = new(cls)
    ({data}) = children
    ({meta}) = aux
    {put_all}
    return node
"""


def _can_be_written(name: str) -> bool:
    """Return whether a name in a program means the attribute of just this name.

    A subclass of `str` may have any text, and a program has no attribute `class`.
    """
    return (
        type(name) is str
        and name.isascii()
        and name.isidentifier()
        and not keyword.iskeyword(name)
        and name != "__debug__"  # which no program may set
    )


def _has_fields(node_type: NodeType) -> bool:
    """Return whether functions can be generated that read and set attributes."""
    form = node_type.form
    if not isinstance(form, Fields):
        return False
    return all(_can_be_written(name) for name in form.data + form.meta)


def _pack_fields(node_type: NodeType, aux: tuple[Any, ...]) -> Any:
    """Return the values of static fields as a framework gets them."""
    return aux if all(map(_is_plain, aux)) else Aux(node_type, aux)


def _node_of_fields(registration: _Registration, form: Fields) -> Node:
    """Generate functions that read and set attributes.

    For the children `x` and `y` and the aux data `name`, after the checks that the
    class has still its first node type:

        def flatten(node):
            aux = (node.name,)
            is_plain = type(aux[0]) in PLAIN_TYPES
            return (node.x, node.y), aux if is_plain else pack(aux)

        def unflatten(aux, children):
            node = new(cls)
            (node.x, node.y,) = children
            (node.name,) = aux
            return node
    """
    node_type = registration.first

    def keys(aux: Any, count: int) -> Sequence[Any]:
        if type(aux) is Aux:
            return registration.keys(aux, count)
        return node_type.keys(aux, count)

    # frozen classes, and those with a `__setattr__`, need a function that sets
    target = "node.{}"
    put_all = "pass"
    if form.put is not setattr:
        target = "value_{}"
        calls = [f"put(node, {name!r}, value_{name})" for name in form.data + form.meta]
        put_all = "; ".join(calls) or "pass"
    plain_tests = [
        f"type(aux[{index}]) in PLAIN_TYPES" for index in range(len(form.meta))
    ]

    text = _FUNCTIONS.format(
        read_data=_items("node.{}", form.data),
        read_meta=_items("node.{}", form.meta),
        is_plain=" and ".join(plain_tests) or "True",
        data=_items(target, form.data),
        meta=_items(target, form.meta),
        put_all=put_all,
    )
    namespace: dict[str, Any] = {
        "PLAIN_TYPES": PLAIN_TYPES,
        "pack": functools.partial(_pack_fields, node_type),
        "cls": node_type.cls,
        "current": current,
        "new": form.new,
        "put": form.put,
        "registration": registration,
    }
    exec(_compile(text), namespace)
    return Node(namespace["flatten"], namespace["unflatten"], keys)


@functools.lru_cache(maxsize=32)  # the same for each framework
def _compile(text: str) -> CodeType:
    """Compile a text that has no names but those that `_can_be_written` allows."""
    return compile(text, "<leafwise node>", "exec")


def _items(template: str, names: tuple[str, ...]) -> str:
    """Return the inside of a tuple, with a comma after each item."""
    return "".join([f"{template.format(name)}, " for name in names])

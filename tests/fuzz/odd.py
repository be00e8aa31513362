"""Classes that are hard to tell apart, to compare, to print: leaves, nodes and keys.

All of them say who they are by a label, which a comparison can rely on.
"""

import contextlib
import dataclasses
import enum
from collections import namedtuple
from typing import Any

import leafwise as lw
from leafwise import nn
from leafwise.errors import RegistryError


# ------------------------------------------------------------------------- leaves


class Labelled:
    """Says who it is, whatever `==`, `hash` and `repr` say."""

    def __init__(self, label: Any) -> None:
        self.label = label

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.label!r})"


class Plain(Labelled):
    """Compares by identity."""


class EqualToAll(Labelled):
    """Equal to everything, and without a hash."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        return True


class EqualToNone(Labelled):
    """Not even equal to itself."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return True


class Raising(Labelled):
    """Fails when it is compared, hashed, or asked for its truth or length."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    def __hash__(self) -> int:
        raise RuntimeError("no hash")

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")

    def __len__(self) -> int:
        raise RuntimeError("no length")


class Mute(Labelled):
    """Cannot be printed."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")


class Caller(Labelled):
    """Can be called, as a function can."""

    def __call__(self, *args: Any) -> bool:
        return False


class Items(list):
    """A list of its own class, so a leaf."""


class Table(dict):
    """A dict of its own class, so a leaf."""


class LooksNamed(tuple):
    """Has fields, and is no named tuple."""

    __slots__ = ()
    _fields = ("a", "b")


class LooksBuiltIn(tuple):  # noqa: SLOT001  # its attributes are the point
    """Has the counts of a struct sequence, and is none."""

    n_fields = n_sequence_fields = 2
    n_unnamed_fields = 0

    def __new__(cls, items: Any = (), note: Any = None) -> "LooksBuiltIn":
        made = tuple.__new__(cls, items)
        made.note = note
        return made


LEAF_CLASSES = (Plain, EqualToAll, EqualToNone, Raising, Mute, Caller)


# --------------------------------------------------------------------------- keys


class Text(str):
    """Equal to a plain string, and no plain string."""

    __slots__ = ()


class Name(enum.StrEnum):
    """Equal to plain strings, too."""

    A = "a"
    B = "b"
    C = "c"


class Backwards(str, enum.Enum):  # noqa: UP042  # has another text than StrEnum
    """Equal to plain strings, and ordered the other way round."""

    A = "a"
    B = "b"
    C = "c"

    def __lt__(self, other: Any) -> bool:
        return str.__gt__(self, other)


class Color(enum.Enum):
    """Without an order of its own."""

    RED = "r"
    GREEN = "g"


class Key:
    """A key without an order."""

    def __init__(self, label: str) -> None:
        self.label = label

    def __repr__(self) -> str:
        return f"Key({self.label!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is Key and other.label == self.label

    def __hash__(self) -> int:
        return 7


# -------------------------------------------------------------------------- nodes

Pair = namedtuple("Pair", "a b")
Other = namedtuple("Other", "a b")


class Noted(namedtuple("Noted", "a b")):
    """A named tuple with a class of its own, and a constructor of its own."""

    __slots__ = ()

    def __new__(cls, both: Any) -> "Noted":
        return super().__new__(cls, *both)


@lw.dataclass
class Layer:
    """A dataclass with children and a static field."""

    x: Any
    y: Any
    tag: Any = lw.static(default="t")

    def __call__(self, *args: Any) -> bool:
        return True


@lw.register_dataclass
@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sealed:
    """A frozen dataclass with slots, which compares by identity."""

    x: Any
    tag: Any = dataclasses.field(default=0, metadata={"static": True})


class Node:
    """A class with children in a list, and any aux data; equal to everything."""

    def __init__(self, kids: Any, aux: Any) -> None:
        self.kids = list(kids)
        self.aux = aux

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.kids)})"


class Lazy(Node):
    """Gives its children as an iterator, with names."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        return True


class Named(Node):
    """Gives pairs of keys and children, and can be called."""

    def __call__(self, *args: Any) -> bool:
        return True


class Fragile(Node):
    """Cannot be put together from a None."""


class Fixed(Labelled):
    """Registered without children."""

    def __eq__(self, other: object) -> bool:
        return type(other) is Fixed and self.label == other.label

    def __hash__(self) -> int:
        return 1


class Early(Node):
    """Registered and unregistered while a program runs."""


class Late(Node):
    """Another one of these."""


class Later(Late):
    """A subclass, which `inherit=True` covers."""


class Tree(lw.Pytree):
    """An object with any attributes."""

    def __call__(self, *args: Any) -> bool:
        return True


class Free(nn.Object):
    """An object that others may change."""


def _not_none(aux: Any, kids: Any) -> Fragile:
    if any(kid is None for kid in kids):
        raise ValueError("a Fragile holds no None")
    return Fragile(kids, aux)


lw.register_pytree_node(
    Node, lambda n: (n.kids, n.aux), lambda aux, kids: Node(kids, aux)
)
lw.register_pytree_node(
    Lazy,
    lambda n: (iter(n.kids), n.aux, [f"item{i}" for i in range(len(n.kids))]),
    lambda aux, kids: Lazy(kids, aux),
)
lw.registry.register_pytree_with_keys(
    Named,
    lambda n: ([(lw.DictKey(i), kid) for i, kid in enumerate(n.kids)], n.aux),
    lambda aux, kids: Named(kids, aux),
)
lw.register_pytree_node(Fragile, lambda n: (tuple(n.kids), n.aux), _not_none)
lw.register_static(Fixed)

INSERTION = "fuzz-insertion"
OWN = "fuzz-own"
lw.namespace(INSERTION, dict_order="insertion")
lw.namespace(OWN)

LATE_CLASSES = (Early, Late)


def _reversed(cls: type) -> tuple[Any, Any]:
    return (
        lambda n: (n.kids[::-1], n.aux),
        lambda aux, kids: cls([*kids][::-1], aux),
    )


def _with_keys(cls: type) -> tuple[Any, Any]:
    return (
        lambda n: (n.kids, n.aux, [lw.GetAttrKey(f"k{i}") for i in range(len(n.kids))]),
        lambda aux, kids: cls(kids, aux),
    )


def register(
    cls: type, *, way: int, namespace: str = "", inherit: bool = False
) -> None:
    """Register one of the late classes, in one of two ways."""
    flatten, unflatten = (_reversed, _with_keys)[way](cls)
    lw.register_pytree_node(
        cls, flatten, unflatten, namespace=namespace, inherit=inherit, exist_ok=True
    )


def unregister(cls: type, *, namespace: str = "") -> None:
    """Take a registration back, if there is one."""
    with contextlib.suppress(RegistryError):
        lw.unregister_pytree_node(cls, namespace=namespace)


def unregister_all() -> None:
    """Take back all that programs register."""
    for cls in LATE_CLASSES:
        for namespace in ("", OWN):
            unregister(cls, namespace=namespace)

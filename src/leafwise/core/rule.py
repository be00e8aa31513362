"""What a rule is: everything leafwise knows about one node type.

A `Rule` says how a node comes apart and is put together again, which keys its
children have, when another node pairs with it, and how it is compared and
printed. The rules of the built-in types are in `containers`; this module makes
those of registered classes. Rules are compared by identity: two treedefs agree
on a node only if the same registration took it apart.
"""

from __future__ import annotations

from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    KeysView,
    Mapping,
    Sequence,
    Set,
)
from operator import attrgetter
from types import BuiltinFunctionType
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from weakref import WeakValueDictionary

from ..errors import FlattenError
from . import auxdata
from .forms import Fields, Functions, Items, Shaped
from .frozen import Sealed
from .keys import FlattenedIndexKey, GetAttrKey, as_key
from .safely import class_name, shown


if TYPE_CHECKING:
    from ..typing import FlattenFunc, UnflattenFunc

__all__ = [
    "Brackets",
    "Rule",
    "aux_keyed_rule",
    "custom_rule",
    "dataclass_rule",
    "flat_keys",
    "keyed_rule",
    "static_rule",
]

Brackets: TypeAlias = "tuple[str, Sequence[str] | None, str]"
"""Text before the children, before each child, and after the children."""


class Rule(Sealed):
    """How nodes of one type are taken apart, rebuilt, paired and printed.

    Attributes:
        cls: The class of the nodes.
        name: What kind of node it is: `list`, `dict`, ..., `custom`.
        flatten: Takes a node, returns `(children, aux_data)`; the children are
            a list or tuple that nobody else changes.
        unflatten: Takes `(aux_data, children)`, returns a node; the children are
            a list that it may keep.
        keys: Takes `(aux_data, arity)`, returns a key for each child.
        pair: Takes `(aux_data, arity, node)`, returns the children of that
            node in this rule's order, or None if it does not pair.
        text: Takes `(aux_data, arity)`, returns the `Brackets` of a treedef.
        same: Says whether two pieces of aux data are the same.
        digest: The hash that goes with `same`.
        words: Says in words what aux data is, where its text would not tell.
        data: What `PyTreeDef.node_data` shows of the aux data.
        family: Where classes of one form share the rule: takes aux data, returns the
            class of the node.
        fits: Takes `(arity, aux_data)` of foreign origin, says whether they
            could be those of a node.
        leaf_keys: Where a node is a mapping that a copy of it can stand for:
            takes the node, returns its keys in leaf order.
        namespace: The namespace of the registration, `""` for the global one.
        where: File and line that registered the class, `""` for built-ins.
        adapt: Makes the rule of a subclass, when registered with `inherit`; None
            makes its instances leaves.
        fill: Where a node can be made before its children: takes an empty instance,
            aux data and children, fills it in and returns it.
        codec: How aux data is written as JSON: a function to what `json.dumps`
            takes and one back, if nobody registers others; None for plain values.
        form: What the functions of the rule are made of, where that is simple:
            `Fields`, `Shaped`, `Items`, `Functions` or None.

    Example:
        >>> import leafwise as lw
        >>> lw.lookup(list).name
        'list'
    """

    __match_args__ = (
        "cls",
        "name",
        "flatten",
        "unflatten",
        "keys",
        "pair",
        "text",
        "same",
        "digest",
        "words",
        "data",
        "family",
        "fits",
        "leaf_keys",
        "namespace",
        "where",
        "adapt",
        "fill",
        "codec",
        "form",
        "derived",
    )
    __slots__ = ("__weakref__", *__match_args__)

    cls: type
    name: str
    flatten: Callable[[Any], tuple[Sequence[Any], Any]]
    unflatten: Callable[[Any, Any], Any]
    keys: Callable[[Any, int], Sequence[Any]]
    pair: Callable[[Any, int, Any], Sequence[Any] | None]
    text: Callable[[Any, int], Brackets]
    same: Callable[[Any, Any], bool]
    digest: Callable[[Any], int]
    words: Callable[[Any], str] | None
    data: Callable[[Any], Any]
    family: Callable[[Any], type] | None
    fits: Callable[[int, Any], bool]
    leaf_keys: Callable[[Any], Iterable[Any]] | None
    namespace: str
    where: str
    adapt: Callable[[type], Rule | None] | None
    fill: Callable[[Any, Any, Any], Any] | None
    codec: tuple[Callable[[Any], Any], Callable[[Any], Any]] | None
    form: Fields | Shaped | Items | Functions | None
    derived: WeakValueDictionary[type, Rule]

    def __init__(self, **values: Any) -> None:
        values = _DEFAULTS | values | {"derived": WeakValueDictionary()}
        self._set(*(values.pop(name) for name in self.__match_args__))
        if values:
            raise TypeError(f"a rule has no {', '.join(values)}")

    def class_of(self, aux: Any) -> type:
        """Return the class of a node with this aux data.

        It is that of the rule, but for families of classes that share one rule.
        """
        return self.cls if self.family is None else self.family(aux)

    def __repr__(self) -> str:
        scope = f" in namespace {shown(self.namespace)}" if self.namespace else ""
        origin = f", registered at {self.where}" if self.where else ""
        return f"<Rule {self.name} for {class_name(self.cls)}{scope}{origin}>"


def _as_it_is(aux: Any) -> Any:
    return aux


def _anything(_arity: int, _aux: Any) -> bool:
    return True


_DEFAULTS: Final[dict[str, Any]] = {
    "same": auxdata.same,
    "digest": auxdata.digest,
    "words": None,
    "data": _as_it_is,
    "family": None,
    "fits": _anything,
    "leaf_keys": None,
    "namespace": "",
    "where": "",
    "adapt": None,
    "fill": None,
    "codec": None,
    "form": None,
}


def flat_keys(_aux: Any, arity: int) -> Sequence[Any]:
    """Return the keys of children that have no names."""
    return tuple(map(FlattenedIndexKey, range(arity)))


def exact_pair(
    cls: type,
    flatten: Callable[[Any], tuple[Sequence[Any], Any]],
    same: Callable[[Any, Any], bool],
) -> Callable[[Any, int, Any], Sequence[Any] | None]:
    """Pair with nodes of the very same class, aux data and arity."""

    def pair(aux: Any, arity: int, node: Any) -> Sequence[Any] | None:
        if type(node) is not cls:
            return None
        children, other = flatten(node)
        return children if len(children) == arity and same(aux, other) else None

    return pair


def aux_keyed_rule(
    cls: type,
    aux_cls: Any,
    flatten: Callable[[Any], tuple[Sequence[Any], Any]],
    unflatten: Callable[[Any, Any], Any],
    same: Callable[[Any, Any], bool],
    **more: Any,
) -> Rule:
    """Return the rule of a class whose aux data has the `keys` of the children.

    Args:
        cls: The class.
        aux_cls: The class of the aux data.
        flatten, unflatten, same: As in `Rule`.
        more: Other attributes of the rule.
    """

    def fits(arity: int, aux: Any) -> bool:
        return type(aux) is aux_cls and len(aux.keys) == arity

    return Rule(
        cls=cls,
        name="custom",
        flatten=flatten,
        unflatten=unflatten,
        keys=lambda aux, _arity: aux.keys,
        pair=exact_pair(cls, flatten, same),
        text=bracketed(class_name(cls, qualified=False)),
        same=same,
        digest=lambda aux: hash(aux.keys),
        fits=fits,
        **more,
    )


def bracketed(name: str) -> Callable[[Any, int], Brackets]:
    """Print a node as jax prints a custom one."""

    def brackets(aux: Any, _arity: int) -> Brackets:
        return f"CustomNode({name}[{auxdata.text(aux)}], [", None, "])"

    return brackets


def custom_rule(
    cls: type,
    flatten_func: FlattenFunc,
    unflatten_func: UnflattenFunc,
    namespace: str = "",
    where: str = "",
    adapt: Callable[[type], Rule | None] | None = None,
) -> Rule:
    """Return the rule of a class that came with its own two functions.

    The aux data that the rule carries is `(aux_data, keys or None)`: keys that
    the flatten function gave belong to exactly the children it gave them with.
    """

    def flatten(node: Any) -> tuple[Sequence[Any], Any]:
        return _checked(cls, flatten_func(node))

    def unflatten(aux: Any, children: Any) -> Any:
        return unflatten_func(aux[0], tuple(children))

    def keys(aux: Any, arity: int) -> Sequence[Any]:
        return flat_keys(aux, arity) if aux[1] is None else aux[1]

    brackets = bracketed(class_name(cls, qualified=False))
    return Rule(
        cls=cls,
        name="custom",
        flatten=flatten,
        unflatten=unflatten,
        keys=keys,
        pair=exact_pair(cls, flatten, _same_first),
        text=lambda aux, arity: brackets(aux[0], arity),
        same=_same_first,
        digest=lambda aux: auxdata.digest(aux[0]),
        data=lambda aux: aux[0],
        fits=_fits_custom,
        namespace=namespace,
        where=where,
        adapt=adapt,
        form=Functions(flatten_func, unflatten_func),
    )


def _fits_custom(arity: int, aux: Any) -> bool:
    if type(aux) is not tuple or len(aux) != 2:
        return False
    return aux[1] is None or (type(aux[1]) is tuple and len(aux[1]) == arity)


def _same_first(a: Any, b: Any) -> bool:
    return auxdata.same(a[0], b[0])


_NOT_CHILDREN = (str, bytes, bytearray, Mapping, Set)
_VIEWS = (KeysView, ItemsView)  # sets by their methods, and ordered


def _checked(cls: type, result: Any) -> tuple[Sequence[Any], Any]:
    """Check what a flatten function returned, and take a copy of it."""
    if type(result) is not tuple or len(result) not in (2, 3):
        raise FlattenError(
            f"the flatten function of {class_name(cls)} must return a tuple "
            "(children, aux_data) or (children, aux_data, keys), "
            f"got {auxdata.described(result)}"
        )
    children = _checked_iterable(cls, result[0], "children")
    if len(result) == 2 or result[2] is None:
        return children, (result[1], None)
    keys = tuple(map(as_key, _checked_iterable(cls, result[2], "keys")))
    if len(keys) != len(children):
        raise FlattenError(
            f"the flatten function of {class_name(cls)} gave {len(keys)} keys "
            f"for {len(children)} children; give one key for each child"
        )
    return children, (result[1], keys)


def _checked_iterable(cls: type, items: Any, what: str) -> tuple[Any, ...]:
    if type(items) is tuple:
        return items
    if type(items) is list or not _is_unfit(items):
        try:
            iterator = iter(items)
        except TypeError:
            pass
        else:
            return tuple(iterator)
    raise FlattenError(
        f"the flatten function of {class_name(cls)} must give its {what} as a tuple, "
        f"a list or another ordered iterable, got {auxdata.described(items)}"
    )


def _is_unfit(items: Any) -> bool:
    """Say whether items are keys or letters rather than children, or in no order."""
    return isinstance(items, _NOT_CHILDREN) and not isinstance(items, _VIEWS)


def keyed_rule(
    cls: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_func: UnflattenFunc,
    namespace: str = "",
    where: str = "",
    adapt: Callable[[type], Rule | None] | None = None,
) -> Rule:
    """Return the rule of a class whose function gives `(key, child)` pairs."""

    def flatten(node: Any) -> tuple[Any, Any, Any]:
        result = flatten_with_keys(node)
        if type(result) is not tuple or len(result) != 2:
            raise FlattenError(
                f"the flatten_with_keys function of {class_name(cls)} must return a "
                "tuple (pairs, aux_data), "
                f"got {auxdata.described(result)}"
            )
        pairs = _checked_iterable(cls, result[0], "(key, child) pairs")
        for pair in pairs:
            if type(pair) is not tuple or len(pair) != 2:
                raise FlattenError(
                    f"the flatten_with_keys function of {class_name(cls)} must give "
                    f"(key, child) pairs, got "
                    f"{auxdata.described(pair)}"
                )
        return [child for _, child in pairs], result[1], [key for key, _ in pairs]

    return custom_rule(cls, flatten, unflatten_func, namespace, where, adapt)


def dataclass_rule(
    cls: type,
    data_fields: tuple[str, ...],
    meta_fields: tuple[str, ...],
    rebuild: Callable[[Any, Any], Any] | None = None,
    namespace: str = "",
    where: str = "",
    adapt: Callable[[type], Rule | None] | None = None,
    dropped: Callable[[Any], None] | None = None,
) -> Rule:
    """Return the rule of a class whose children are named attributes.

    The aux data is the tuple of the meta fields' values. Rebuilding makes an
    empty instance and sets the attributes, unless `rebuild` is given; `dropped`
    sets what is neither child nor aux data.
    """
    children_of, aux_of = _getter(data_fields), _getter(meta_fields)
    form = _fields_form(cls, data_fields, meta_fields)
    simple = rebuild is None and dropped is None
    keys = tuple(map(GetAttrKey, data_fields))

    def flatten(node: Any) -> tuple[Sequence[Any], Any]:
        return children_of(node), aux_of(node) if meta_fields else ()

    return Rule(
        cls=cls,
        name="custom",
        flatten=flatten,
        unflatten=rebuild or _setter(cls, form, dropped),
        keys=lambda _aux, _arity: keys,
        pair=exact_pair(cls, flatten, auxdata.same),
        text=bracketed(class_name(cls, qualified=False)),
        fits=lambda arity, aux: (
            arity == len(data_fields)
            and type(aux) is tuple
            and len(aux) == len(meta_fields)
        ),
        namespace=namespace,
        where=where,
        adapt=adapt,
        form=form if simple else None,
    )


def _getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that reads these attributes into a tuple."""
    if not names:
        return lambda _node: ()
    read = attrgetter(*names)
    return read if len(names) > 1 else lambda node: (read(node),)


def _maker(cls: type) -> Any:
    """Return the `__new__` of the built-in class that an instance is made of."""
    return next(
        base.__new__
        for base in cls.__mro__
        if isinstance(vars(base).get("__new__"), BuiltinFunctionType)
    )


def _fields_form(cls: type, data: tuple[str, ...], meta: tuple[str, ...]) -> Fields:
    plain = getattr(cls, "__setattr__", None) is object.__setattr__
    return Fields(data, meta, _maker(cls), setattr if plain else object.__setattr__)


def _setter(
    cls: type, form: Fields, dropped: Callable[[Any], None] | None
) -> Callable[[Any, Any], Any]:
    """Return a function that makes an instance without calling `__init__`."""
    new, put, names = form.new, form.put, (*form.data, *form.meta)

    def make(aux: Any, children: Any) -> Any:
        node = new(cls)
        for name, value in zip(names, (*children, *aux)):  # noqa: B905
            put(node, name, value)
        if dropped is not None:
            dropped(node)
        return node

    if form.meta or dropped is not None or len(form.data) != 2:
        return make
    first, second = form.data  # two children are so common that a loop costs

    def make_pair(_aux: Any, children: Any) -> Any:
        node = new(cls)
        one, two = children
        put(node, first, one)
        put(node, second, two)
        return node

    return make_pair


def static_rule(
    cls: type,
    namespace: str = "",
    where: str = "",
    adapt: Callable[[type], Rule | None] | None = None,
) -> Rule:
    """Return the rule of a class whose instances have no leaves at all."""

    def flatten(node: Any) -> tuple[Sequence[Any], Any]:
        return (), node

    return Rule(
        cls=cls,
        name="custom",
        flatten=flatten,
        unflatten=lambda aux, _children: aux,
        keys=lambda _aux, _arity: (),
        pair=exact_pair(cls, flatten, auxdata.same),
        text=bracketed(class_name(cls, qualified=False)),
        fits=lambda arity, aux: arity == 0 and type(aux) is cls,
        namespace=namespace,
        where=where,
        adapt=adapt,
    )

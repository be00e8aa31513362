"""`check_node`: whether a class is registered right, and in words what is wrong.

Owns the checks, each a generator of faults, and what to do about each fault. It asks
the rule of the class as walks do, with the examples and with other children, and looks
at the attributes of the examples beside; nothing is asked of the engine.
"""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import combinations
from operator import is_
from typing import Any, Final, TypeAlias

from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import Functions, Rule
from ..core.register import DataclassRule, FunctionRule, StaticRule
from ..core.registry import GLOBAL, View, view_of
from ..equality import exact
from ..equality.content import is_array
from ..equality.leaves import alike
from ..lazy import real
from ..ops.context import Context
from ..ops.inspect import explain_leaf
from ..safely import class_name, clip, described, is_lasting, printed, type_name
from ..selection.find import static_names


__all__ = ["check_node"]


def check_node(cls: type, examples: Iterable[Any], *, namespace: str = GLOBAL) -> None:
    """Assert that a class is registered correctly; the error lists all faults.

    It works for classes registered with functions, by methods, or as dataclasses, and
    for all other nodes. The examples, and nodes made from them with other children, are
    flattened and unflattened. The page on testing lists what is checked.

    Args:
        cls: The class.
        examples: Instances of the class. Pass two or more if instances can differ: with
            different static values, with few and with many children. They should be
            as they were created, and are not changed.
        namespace: Where the class is registered.

    Raises:
        AssertionError: Something is wrong; the message has a line for each fault.
        TypeError: An example is not an instance of the class itself.
        ValueError: There is no example.

    Warns:
        UserWarning: Aux data holds an array, which jax and torch cannot compare there.

    Example:
        >>> import leafwise as lw
        >>> class Interval:
        ...     def __init__(self, low, high):
        ...         if not low <= high:
        ...             raise ValueError("low must not be above high")
        ...         self.low, self.high = low, high
        >>> _ = lw.register_pytree_node(
        ...     Interval,
        ...     lambda node: ((node.low, node.high), None),
        ...     lambda aux, children: Interval(*children))
        >>> try:
        ...     lw.testing.check_node(Interval, [Interval(1, 2)])
        ... except AssertionError as error:
        ...     print(error)  # doctest: +ELLIPSIS
        the registration of Interval, registered at ..., has 1 fault:
          - unflatten fails if the children are replaced by object(): \
TypeError: '<=' not supported between instances of 'object' and 'object'; unflatten \
must accept any children, so create the object without the checks of __init__, for \
example with object.__new__(cls)
    """
    __tracebackhide__ = True
    given = [*examples]
    if not given:
        raise ValueError("check_node needs at least one example")
    for example in given:
        if type(example) is not cls:
            raise TypeError(
                f"an example must be an instance of {class_name(cls)} itself, got "
                f"{described(example)}"
            )
    view = view_of(namespace)
    rule = view.resolve(cls)
    if rule is None:
        why = explain_leaf(given[0], namespace=namespace)
        raise AssertionError(
            f"{class_name(cls)} is not a node: an instance is {why}; register the class"
        )
    found = dict.fromkeys(_faults(rule, given, view))
    faults = [fault for fault in found if not isinstance(fault, _Doubt)]
    for doubt in found.keys() - {*faults}:
        warnings.warn(str(doubt), stacklevel=2)
    if faults:
        number = f"{len(faults)} fault{'s' * (len(faults) > 1)}"
        origin = f", {rule.origin()}," if rule.where else ""
        first = f"the registration of {class_name(cls)}{origin} has {number}:"
        raise AssertionError("\n  - ".join([first, *faults]))


class _Doubt(str):
    """What may be meant so, and is only a warning."""

    __slots__ = ()


class _Fault(Exception):
    """What is wrong, where nothing that follows can be asked."""


def _faults(rule: Rule, examples: list[Any], view: View) -> Iterator[str]:
    cases = []
    for example in examples:
        try:
            cases.append(_Case(rule, example, view))
        except Exception as error:
            yield _said(error)
    for case in cases:
        yield from _faults_of(case)
    for one, other in combinations(cases, 2):
        yield from _are_told_apart(one, other)


def _faults_of(case: _Case) -> Iterator[str]:
    for check in _ALONE:
        yield from _found(check, case)
    for check in _IN_TURN:
        found = [*_found(check, case)]
        yield from found
        if any(not isinstance(fault, _Doubt) for fault in found):
            return
    for check in _AT_LAST:
        yield from _found(check, case)


def _found(check: Check, case: _Case) -> Iterator[str]:
    try:
        yield from check(case)
    except Exception as error:
        yield _said(error)


def _said(error: Exception) -> str:
    """Return a fault that was raised, or what the class raised where it should not."""
    if isinstance(error, _Fault):
        return str(error)
    return f"an example cannot be inspected: {type_name(error)}: {printed(error)}"


# ------------------------------------------------------------------------- one example


class _Case:
    """One example, taken apart.

    Attributes:
        rule: The rule of its class.
        node: The example.
        view: The rules of the namespace.
        before: Its attributes.
        children, aux, keys: What the rule makes of it.

    Raises:
        _Fault: It cannot be taken apart.
    """

    def __init__(self, rule: Rule, node: Any, view: View) -> None:
        self.rule = rule
        self.node = node
        self.view = view
        self.before = _attributes(node)
        self.children, self.aux = self.flatten(node)
        self.keys = _attempt(
            "its keys cannot be read", rule.keys, self.aux, len(self.children)
        )

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        """Return children and aux data of a node."""
        found: tuple[Sequence[Any], Any] = _attempt(
            "flatten fails", self.rule.flatten, node
        )
        return found

    def rebuilt(self, children: Iterable[Any], said: str = "") -> Any:
        """Return the example with other children."""
        what = said or "unflatten fails with what flatten returned"
        return _attempt(what, self.rule.unflatten, self.aux, [*children], hint=_INIT)

    def same(self, a: Sequence[Any], b: Sequence[Any]) -> bool:
        """Return whether the same objects are children, or leaves of our own nodes."""
        if _same(a, b) or self.is_open or len(a) != len(b):
            return _same(a, b)
        (mine, one), (others, other) = map(Context(self.view).flatten, ([*a], [*b]))
        return one == other and _same(mine, others)

    @property
    def data(self) -> Any:
        """The aux data as the user knows it."""
        names = static_names(self.node, self.rule)
        if names:
            return tuple(getattr(self.node, name) for name in names)
        return self.rule.node_data(self.aux)

    @property
    def is_open(self) -> bool:
        """Whether its functions and aux data are of a user."""
        return isinstance(self.rule, FunctionRule | DataclassRule | StaticRule)


_INIT: Final = "unflatten is called with aux data and a tuple of the children"


def _attempt(what: str, function: Any, *args: Any, hint: str = "") -> Any:
    """Return what a function returns.

    Raises:
        _Fault: It fails.
    """
    try:
        return function(*args)
    except Exception as error:
        told = f"{what}: {type_name(error)}: {printed(error)}"
        raise _Fault(f"{told}; {hint}" if hint else told) from error


def _attributes(node: Any) -> dict[str, Any]:
    """Return the attributes of an object, but those that a cache keeps."""
    cls = type(node)
    found = dict(getattr(node, "__dict__", {}))
    for base in cls.__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(node, name):
                found[name] = getattr(node, name)
    return {
        name: value
        for name, value in found.items()
        if not isinstance(getattr(cls, name, None), cached_property)
    }


def _same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Return whether the same objects are in two sequences."""
    return len(a) == len(b) and all(map(is_, a, b))


def _numbers(count: int) -> str:
    return "1 child" if count == 1 else f"{count} children"


# ------------------------------------------------------------------------------ checks


def _stays_as_it_is(case: _Case) -> Iterator[str]:
    """Flatten twice: the same children and aux data, and the object is not changed."""
    children, aux = case.flatten(case.node)
    if len(children) != len(case.children):
        yield (
            f"flatten returns {_numbers(len(case.children))} on the first call and "
            f"{len(children)} on the second; an iterator is exhausted after one pass: "
            "keep the children in a list or tuple"
        )
    elif not case.same(children, case.children):
        yield (
            "flatten returns different child objects on each call; return the objects "
            "that the node stores, not copies or computed values"
        )
    if not case.rule.same_aux(aux, case.aux):
        yield (
            f"flatten returns aux data {clip(case.data)} that is not equal to the aux "
            "data of a second call, so no two treedefs are equal; aux data must "
            "compare by value: define __eq__ and __hash__ on its class"
        )
    after = _attributes(case.node)
    changed = [
        name
        for name in {**case.before, **after}
        if case.before.get(name, _NOTHING) is not after.get(name, _NOTHING)
    ]
    if changed and case.is_open:
        yield f"flatten changes the node: .{', .'.join(changed)}; it must only read it"


_NOTHING: Final = object()


def _has_sound_children(case: _Case) -> Iterator[str]:
    if any(child is case.node for child in case.children):
        yield "the node is its own child, so a walk would never end"
    if case.children and _holds(case.data, lambda value: value is case.node):
        yield (
            "aux data contains the node itself, so each treedef keeps the node's "
            "leaves alive; aux data must not contain children"
        )
        return
    hidden = [
        child
        for child in case.children
        if not _is_shared(child) and _holds(case.data, partial(is_, child))
    ]
    if hidden:
        yield (
            f"aux data contains a child: {clip(hidden[0])}; treedefs would then depend "
            "on the leaves: remove the child from aux data"
        )
    elif _holds(case.data, is_array):
        yield _Doubt(
            f"aux data of {class_name(type(case.node))} holds an array; leafwise "
            "compares it by its contents, but jax and torch cannot: make it a child, "
            "or a tuple of numbers"
        )


def _is_shared(value: Any) -> bool:
    """Return whether two places may have the same object by chance."""
    return value is None or isinstance(
        value, str | bytes | int | float | complex | type
    )


def _holds(value: Any, test: Callable[[Any], bool], depth: int = 3) -> bool:
    """Return whether a value, or what its containers hold, passes a test."""
    if test(value):
        return True
    if depth == 0:
        return False
    if isinstance(value, dict):
        return any(_holds(x, test, depth - 1) for x in (*value, *value.values()))
    if isinstance(value, tuple | list | set | frozenset):
        return any(_holds(x, test, depth - 1) for x in value)
    return False


def _has_fitting_keys(case: _Case) -> Iterator[str]:
    if len(case.keys) != len(case.children):
        yield (
            f"there are {len(case.keys)} keys for {_numbers(len(case.children))}; "
            "give one key for each child"
        )
        return
    texts = [printed(key) for key in case.keys]
    twice = [text for text in dict.fromkeys(texts) if texts.count(text) > 1]
    if twice:
        yield f"several children have the key {twice[0]}; give each child a unique key"
    for key, child in zip(case.keys, case.children, strict=True):
        yield from _fits(key, child, case)


def _fits(key: Any, child: Any, case: _Case) -> Iterator[str]:
    """Compare a child with what its key reads."""
    is_item = isinstance(key, DictKey | SequenceKey)
    if not (is_item or isinstance(key, GetAttrKey)):
        return
    if is_item and not hasattr(type(case.node), "__getitem__"):
        return  # a label
    try:
        found = key.get(case.node)
    except Exception:
        yield (
            f"the key {key} cannot be read: {class_name(type(case.node))} has no such "
            f"{'item' if is_item else 'attribute'}; give the name under which the "
            "child is stored, or a FlattenedIndexKey"
        )
        return
    if found is not child and not alike(found, child):
        others = [
            k for k, c in zip(case.keys, case.children, strict=True) if c is found
        ]
        where = f", which has the key {others[0]}" if others else ""
        yield (
            f"the key {key} reads {clip(found)}{where}, not its child {clip(child)}; "
            "give keys in the order of the children"
        )


def _agrees_with_its_keys(case: _Case) -> Iterator[str]:
    """Compare the two methods of a class that has both, as jax asks for them."""
    cls = type(case.node)
    if not (hasattr(cls, "tree_flatten") and hasattr(cls, "tree_flatten_with_keys")):
        return
    children, aux = _attempt("tree_flatten fails", case.node.tree_flatten)[:2]
    pairs, other = _attempt(
        "tree_flatten_with_keys fails", case.node.tree_flatten_with_keys
    )
    if not _same([*children], [child for _, child in pairs]):
        yield (
            "tree_flatten and tree_flatten_with_keys return different children; return "
            "the same children in the same order"
        )
    if not exact.same(aux, other):
        yield "tree_flatten and tree_flatten_with_keys return different aux data"


def _has_comparable_aux(case: _Case) -> Iterator[str]:
    """Aux data is a part of treedefs, which are compared and are keys of caches."""
    data = case.data
    if not case.is_open or _holds(data, is_array):
        return
    fault = _fault_of_equality(data)
    if fault:
        yield fault
        return
    try:
        hash(data)
    except Exception as error:
        yield (
            f"aux data cannot be hashed: {printed(error)}; treedefs are used as cache "
            f"keys, for example by jax.jit: build {clip(data)} from tuples, frozensets "
            "and frozen dataclasses"
        )


def _fault_of_equality(data: Any) -> str:
    """Return what is wrong with the `==` of aux data, "" if it gives an answer."""
    try:
        equal = data == data
    except Exception as error:
        return (
            f"aux data cannot be compared: {type_name(error)}: {printed(error)}; "
            "treedefs are compared by its =="
        )
    if isinstance(equal, bool):
        return ""
    return (
        f"the == of aux data must return a bool, got {described(equal)}; treedefs are "
        "compared with it: return True or False"
    )


def _comes_back(case: _Case) -> Iterator[str]:
    """Unflatten what was flattened: the same class, children and attributes."""
    before = _copy_of(case.data)
    made = _NOTHING if _takes_children_first(case) else case.rebuilt(case.children)
    if before is not _NOTHING and not exact.same(before, case.data):
        yield "unflatten changes aux data, which other trees share"
    elif made is _NOTHING:
        yield (
            "unflatten takes the children first and aux data second, as in torch; "
            "leafwise passes aux data first: unflatten(aux_data, children)"
        )
    elif type(made) is not type(case.node):
        returned = "None" if made is None else f"a {class_name(type(made))}"
        yield (
            f"unflatten returns {returned} instead of a {class_name(type(case.node))}; "
            "return an instance of the class that was flattened"
        )
    elif made is case.node and case.children:
        yield "unflatten returns the node that was flattened; it must make a new one"
    else:
        yield from _is_the_same(made, case)


def _copy_of(data: Any) -> Any:
    """Return an equal copy of aux data, if there is one."""
    try:
        made = copy.deepcopy(data)
    except Exception:
        return _NOTHING
    return made if exact.same(made, data) else _NOTHING


def _is_the_same(made: Any, case: _Case) -> Iterator[str]:
    """Compare a node that was rebuilt with its own children to the example."""
    children, aux = case.flatten(made)
    if not case.same(children, case.children):
        yield _other_children(case.children, children)
    elif not case.rule.same_aux(aux, case.aux):
        yield (
            f"aux data {clip(case.data)} becomes {clip(case.rule.node_data(aux))} in a "
            "round trip; unflatten must restore all of it"
        )
    elif isinstance(case.rule, FunctionRule):
        yield from _lost(case.before, _attributes(made))


def _takes_children_first(case: _Case) -> bool:
    """Return whether unflatten works only with its arguments swapped."""
    if not isinstance(case.rule.form, Functions):
        return False
    unflatten: Any = case.rule.form.unflatten
    data, children = case.rule.node_data(case.aux), tuple(case.children)
    ways = (data, children), (children, data)
    return [_gives_back(unflatten, args, case) for args in ways] == [False, True]


def _gives_back(unflatten: Any, args: tuple[Any, Any], case: _Case) -> bool:
    """Return whether a node is made that has the children of the example."""
    try:
        made = unflatten(*args)
        children, _ = case.rule.flatten(made)
        return type(made) is type(case.node) and _same(children, case.children)
    except Exception:
        return False


def _other_children(before: Sequence[Any], after: Sequence[Any]) -> str:
    """Return what became of children that came back as others."""
    if len(before) != len(after):
        return (
            f"{_numbers(len(before))} became {len(after)} in a round trip; "
            "unflatten must restore every child, and flatten must return every child"
        )
    if {*map(id, before)} == {*map(id, after)}:
        return (
            "a round trip changes the order of the children; flatten and unflatten "
            "must use the same order"
        )
    old, new = next((a, b) for a, b in zip(before, after, strict=True) if a is not b)
    return (
        f"a round trip replaces a child by another object: {described(old)} becomes "
        f"{described(new)}; neither flatten nor unflatten may copy or convert it"
    )


def _lost(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    missing = [name for name in before if name not in after]
    if missing:
        yield (
            f"a round trip loses .{', .'.join(missing)}; each attribute must be a "
            "child, aux data, or set by unflatten"
        )
    for name, value in before.items():
        if (
            name in after
            and after[name] is not value
            and not _alike(value, after[name])
        ):
            yield (
                f"a round trip changes .{name} from {clip(value)} to "
                f"{clip(after[name])}; it must be a child, aux data, or set by "
                "unflatten"
            )


def _has_no_equality(value: Any) -> bool:
    """Return whether a value is equal to nothing but itself."""
    compare: Any = type(value).__eq__
    return compare is object.__eq__


def _alike(a: Any, b: Any) -> bool:
    """Return whether two attributes are the same, as far as that can be said."""
    return alike(a, b) or (_has_no_equality(a) and type(a) is type(b))


class _Stranger:
    """A child that is like nothing that a class may expect."""

    def __repr__(self) -> str:
        return "<a child>"


def _numpy_array() -> Any:
    """Return an array if numpy is loaded, else None."""
    numpy = real("numpy")
    return None if numpy is None else numpy.zeros((0, 3, 1))


_CHILDREN: Final[Sequence[tuple[str, Callable[[], Any]]]] = (
    ("object()", object),
    ("None", lambda: None),
    ("bools", lambda: False),
    ("texts", lambda: "leaf"),
    ("lists", list),
    ("empty arrays", _numpy_array),
)
"""What may stand for a child: jax puts `object()`, bools and None into trees."""


def _takes_any_children(case: _Case) -> Iterator[str]:
    for name, make in _CHILDREN:
        given = [make() for _ in case.children]
        what = f"unflatten fails if the children are replaced by {name}"
        try:
            made = _attempt(
                what, case.rule.unflatten, case.aux, [*given], hint=_NO_INIT
            )
        except _Fault as fault:
            yield str(fault)
            return
        children, aux = case.flatten(made)
        if len(children) != len(given):
            yield (
                f"flatten returns {_numbers(len(given))}, but {len(children)} if they "
                f"are {name}; the number of children must not depend on their values"
            )
            return
        if not case.same(children, given):
            yield (
                f"a child that is replaced by {name} comes back as "
                f"{clip(_first_other(given, children))}; neither flatten nor unflatten "
                "may copy, convert or check it"
            )
            return
        if not case.rule.same_aux(aux, case.aux):
            yield (
                f"aux data depends on the children: it is {clip(case.data)}, and "
                f"{clip(case.rule.node_data(aux))} if the children are {name}; a map "
                "would change the structure"
            )
            return


_NO_INIT: Final = (
    "unflatten must accept any children, so create the object without the checks of "
    "__init__, for example with object.__new__(cls)"
)


def _first_other(before: Sequence[Any], after: Sequence[Any]) -> Any:
    return next(b for a, b in zip(before, after, strict=True) if a is not b)


def _is_shown(case: _Case) -> Iterator[str]:
    for name, make in _CHILDREN:
        made = case.rebuilt(make() for _ in case.children)
        try:
            repr(made)
        except Exception as error:
            yield (
                f"repr fails if the children are {name}: {type_name(error)}: "
                f"{printed(error)}; error messages print nodes with such children"
            )
            return


def _is_new(case: _Case) -> Iterator[str]:
    """Unflatten twice, with children that can be changed: nothing is shared."""
    if not case.children:
        return
    given = [[_Stranger()] for _ in case.children]
    kept = [[*child] for child in given]
    first = case.rebuilt(given)
    second = case.rebuilt([_Stranger() for _ in case.children])
    if first is second:
        yield (
            "unflatten returns the same object on every call; it must make a new one, "
            "since a map may be called twice"
        )
    elif _keeps(case, given) and not case.same(case.flatten(first)[0], given):
        yield "unflatten changes a node that it made before; it must make a new one"
    if any(not _same(a, b) for a, b in zip(given, kept, strict=True)):
        yield "unflatten changes the children that it is given"
    if not case.same(case.flatten(case.node)[0], case.children):
        yield "unflatten changes the node that was flattened; it must make a new one"


def _keeps(case: _Case, given: list[Any]) -> bool:
    """Return whether a rebuilt node has its children as long as nobody else is made."""
    return case.same(case.flatten(case.rebuilt(given))[0], given)


_NUMBERED: Final = "unflatten fails if the children are integers"


def _is_copied(case: _Case) -> Iterator[str]:
    """Copies and pickles are nodes of equal structure, and so are their treedefs."""
    plain = case.rebuilt(range(len(case.children)), said=_NUMBERED)
    ways: list[tuple[str, Callable[[Any], Any]]] = [
        ("copy.copy", copy.copy),
        ("copy.deepcopy", copy.deepcopy),
    ]
    if is_lasting(type(plain)):  # of others, pickle finds no name
        ways.append(("pickle", lambda node: pickle.loads(pickle.dumps(node))))
    for name, copied in ways:
        try:
            other = copied(plain)
        except Exception as error:
            yield (
                f"{name} fails: {type_name(error)}: {printed(error)}; static values "
                "must support it, and __getattr__ must not read attributes that are "
                "not set yet"
            )
            continue
        children, aux = case.flatten(other)
        if [*children] != [*range(len(case.children))]:
            yield f"{name} returns a node with different children"
        elif not case.rule.same_aux(aux, case.aux):
            yield _fault_of_equality(case.data) or (
                f"{name} changes the structure: aux data {clip(case.data)} is not "
                "equal to its copy; define __eq__ and __hash__ on its class"
            )
        elif case.rule.hash_aux(aux) != case.rule.hash_aux(case.aux):
            yield (
                f"aux data {clip(case.data)} and its copy are equal but have different "
                "hashes; __hash__ must agree with __eq__"
            )


def _has_one_order(case: _Case) -> Iterator[str]:
    """Turn sets round that the node has: the order of the children must not change."""
    for name, value in case.before.items():
        turned = _TURNED.get(type(value))
        if turned is None or len(value) < 2:
            continue
        try:
            node = copy.copy(case.node)
            object.__setattr__(node, name, turned(value))
            children, aux = case.rule.flatten(node)
            keys = [*case.rule.keys(aux, len(children))]
        except Exception:  # it asks for the very class, or cannot be copied
            continue
        found = (*children, *keys), aux
        if not exact.same(found, ((*case.children, *case.keys), case.aux)):
            yield (
                f"flatten iterates over the set .{name} in its own order, which "
                "differs from process to process; sort the set"
            )


class _TurnedSet(set[Any]):
    """A set in another order."""

    def __iter__(self) -> Iterator[Any]:
        yield from reversed([*super().__iter__()])


class _TurnedFrozenSet(frozenset[Any]):
    """A frozen set in another order."""

    def __iter__(self) -> Iterator[Any]:
        yield from reversed([*super().__iter__()])


_TURNED: Final[dict[type, Callable[[Any], Any]]] = {
    set: _TurnedSet,
    frozenset: _TurnedFrozenSet,
}


def _is_equal_by_order(case: _Case) -> Iterator[str]:
    """Turn dicts round that the node has: equal nodes need equal treedefs."""
    if _has_no_equality(case.node):
        return
    for name, value in case.before.items():
        if type(value) is not dict or len(value) < 2:
            continue
        try:
            node = copy.copy(case.node)
            object.__setattr__(node, name, dict(reversed(value.items())))
            if (node == case.node) is not True:
                continue
            aux = case.rule.flatten(node)[1]
        except Exception:
            continue
        if not case.rule.same_aux(aux, case.aux):
            yield (
                "two equal nodes have different treedefs if the keys of the dict "
                f".{name} are in a different order; sort the keys in flatten"
            )


Check: TypeAlias = Callable[[_Case], Iterator[str]]

_ALONE: Final[Sequence[Check]] = (
    _has_comparable_aux,
    _has_fitting_keys,
    _agrees_with_its_keys,
    _has_one_order,
    _is_equal_by_order,
)
_IN_TURN: Final[Sequence[Check]] = (
    _stays_as_it_is,
    _has_sound_children,
    _comes_back,
    _takes_any_children,
)
"""Each of these takes it for granted that those before it found nothing."""
_AT_LAST: Final[Sequence[Check]] = (_is_new, _is_shown, _is_copied)


# ------------------------------------------------------------------------ two examples


def _are_told_apart(one: _Case, other: _Case) -> Iterator[str]:
    """Compare two examples: their treedefs are equal if and only if they should be."""
    same = one.rule.same_aux(one.aux, other.aux)
    if same != one.rule.same_aux(other.aux, one.aux):
        yield "the == of aux data is not symmetric"
        return
    same = same and len(one.children) == len(other.children)
    try:
        equal = one.node == other.node
    except Exception:
        equal = False
    if equal is True and not same and not _has_no_equality(one.node):
        yield (
            f"two examples are equal, {clip(one.node)} and {clip(other.node)}, but "
            "their treedefs are not: aux data contains something that == of the nodes "
            "ignores"
        )
    if not same or not isinstance(one.rule, FunctionRule):
        return
    try:
        made = one.rule.unflatten(one.aux, [*other.children])
    except Exception:  # is said for one of the two
        return
    for a, b in zip(*map(_parts, (one.data, other.data)), strict=False):
        yield from _differ_all_the_same(a, b)
    for fault in _lost(other.before, _attributes(made)):
        yield (
            "the treedefs of two examples are equal, but one example cannot be rebuilt "
            f"with the treedef of the other: {fault}"
        )
    if one.rule.hash_aux(one.aux) != one.rule.hash_aux(other.aux):
        yield (
            "equal aux data of two examples has different hashes; __hash__ must agree "
            "with __eq__"
        )


def _parts(data: Any) -> tuple[Any, ...]:
    return data if isinstance(data, tuple) else (data,)


def _differ_all_the_same(a: Any, b: Any) -> Iterator[str]:
    """Look into two pieces of aux data that are equal."""
    if type(a) is not type(b) or isinstance(a, type):
        return
    before, after = _attributes(a), _attributes(b)
    for name in before:
        if not alike(before[name], after.get(name, _NOTHING)):
            yield (
                f"two pieces of aux data of class {class_name(type(a))} are equal, but "
                f"their .{name} is not; a function compiled for one would be used for "
                "the other: compare it in __eq__"
            )

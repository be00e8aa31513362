"""`check_node`: finds the faults that users make when they register a class.

Owns the table of faults. A row has the stage of the check, a function that returns what
is wrong with an example, and a string that says what to do. The rule of the class is
called as walks call it, with the children of the example and with others; the engine is
not used.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from operator import is_
from typing import Any, Final

from .._lazy import real
from .._text import safe_str, short_repr, typed_repr
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import Functions, Rule, count_of_children
from ..core.register import DataclassRule, FunctionRule, StaticRule
from ..core.registry import GLOBAL, view_of
from ..equality import exact
from ..equality.arrays import is_array
from ..equality.leaves import alike
from ..ops.inspect import explain_leaf


def check_node(cls: type, examples: Iterable[Any], *, namespace: str = GLOBAL) -> None:
    """Assert that a class is registered correctly; the error lists the faults.

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
                f"an example must be an instance of {cls.__qualname__} itself, got "
                f"{typed_repr(example)}"
            )
    rule = view_of(namespace).resolve(cls)
    if rule is None:
        why = explain_leaf(given[0], namespace=namespace)
        raise AssertionError(
            f"{cls.__qualname__} is not a node: an instance is {why}; register the "
            "class"
        )
    faults: dict[str, None] = {}
    for node in given:
        # the first fault of each stage: those behind it may be its consequences
        found: set[str] = set()
        try:
            example = _Example(rule, node)
            for stage, check, advice in _CHECKS:
                if stage not in found and (fault := check(example)):
                    found.add(stage)
                    faults[f"{fault}; {advice}"] = None
        except _Failure as failure:
            faults[str(failure)] = None
    if faults:
        number = f"{len(faults)} fault{'s' * (len(faults) > 1)}"
        origin = f", {rule.origin()}," if rule.where else ""
        first = f"the registration of {cls.__qualname__}{origin} has {number}:"
        raise AssertionError("\n  - ".join([first, *faults]))


class _Failure(Exception):
    """A function of the registration raised an exception."""


def _call(what: str, function: Any, *args: Any) -> Any:
    """Return what a function of the registration returns.

    Raises:
        _Failure: It raises.
    """
    try:
        return function(*args)
    except Exception as error:  # of the user's flatten, unflatten and methods
        raise _Failure(f"{what}: {type(error).__name__}: {safe_str(error)}") from error


class _Example:
    """One example, flattened.

    Attributes:
        node: The example.
        rule: The rule of its class.
        is_users: Whether its functions and aux data are the user's.
        before: Its attributes before flatten was called.
        children, aux, keys: What the rule returns for it.
        data: The aux data as the user knows it.

    Raises:
        _Failure: It cannot be flattened.
    """

    def __init__(self, rule: Rule, node: Any) -> None:
        self.node = node
        self.rule = rule
        self.is_users = isinstance(rule, FunctionRule | DataclassRule | StaticRule)
        self.before = _attributes(node)
        self.children, self.aux = self.flatten(node)
        count = len(self.children)
        self.keys = _call("its keys cannot be read", rule.keys, self.aux, count)
        names = rule.static_names(node)
        self.data: Any = tuple(getattr(node, name) for name in names)
        if not names:
            self.data = rule.node_data(self.aux)

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        """Return children and aux data of a node."""
        return _call("flatten fails", self.rule.flatten, node)  # type: ignore[no-any-return]

    @property
    def made(self) -> Any:
        """A node made of its own children."""
        what = "unflatten fails with what flatten returned"
        return _call(what, self.rule.unflatten, self.aux, [*self.children])

    def same(self, a: Sequence[Any], b: Sequence[Any]) -> bool:
        """Return whether the same objects are children; our own nodes may wrap them."""
        return len(a) == len(b) and (not self.is_users or all(map(is_, a, b)))


def _attributes(node: Any) -> dict[str, Any]:
    """Return the attributes of an object, without cached properties."""
    cls = type(node)
    found = dict(getattr(node, "__dict__", {}))
    for base in cls.__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(node, name):
                found[name] = getattr(node, name)
    cached = {name for base in cls.__mro__ for name, value in vars(base).items()
              if isinstance(value, cached_property)}  # fmt: skip
    return {name: value for name, value in found.items() if name not in cached}


def _holds(value: Any, test: Callable[[Any], bool], depth: int = 3) -> bool:
    """Return whether a value, or an element of its containers, passes a test."""
    inside: list[Any] = []
    if depth and isinstance(value, dict | tuple | list | set | frozenset):
        inside = [*value, *(value.values() if isinstance(value, dict) else ())]
    return test(value) or any(_holds(x, test, depth - 1) for x in inside)


# ------------------------------------------------------------------------------ checks


def _compared(example: _Example) -> str:
    """Ask aux data and a copy of it, as another process has, for `==` and `hash`."""
    data = example.data
    if not example.is_users or _holds(data, is_array):  # arrays: compared by content
        return ""
    try:
        equal = data == data
    except Exception as error:  # of the user's __eq__
        return f"aux data cannot be compared: {type(error).__name__}: {safe_str(error)}"
    if not isinstance(equal, bool):
        return f"the == of aux data must return a bool, got {typed_repr(equal)}"
    try:
        number = hash(data)
    except Exception as error:  # of the user's __hash__
        return f"aux data cannot be hashed: {safe_str(error)}"
    try:
        copied = copy.deepcopy(data)
    except Exception:  # of the user's class: not all aux data can be copied
        return ""
    if not exact.same(copied, data):
        return f"aux data {short_repr(data)} is not equal to its copy"
    if hash(copied) == number:
        return ""
    return (
        f"aux data {short_repr(data)} and its copy are equal but have different hashes"
    )


def _keys_counted(example: _Example) -> str:
    keys, count = len(example.keys), len(example.children)
    told = f"there are {keys} keys for {count_of_children(count)}"
    return told if keys != count else ""


def _keys_read(example: _Example) -> str:
    """Compare each child with what its key reads."""
    node, keys = example.node, example.keys
    texts = [safe_str(key) for key in keys]
    for key, child, text in zip(keys, example.children, texts, strict=True):
        if texts.count(text) > 1:
            return f"several children have the key {text}"
        is_item = isinstance(key, DictKey | SequenceKey)
        is_label = is_item and not hasattr(type(node), "__getitem__")
        if is_label or not (is_item or isinstance(key, GetAttrKey)):
            continue
        try:
            found = key.get(node)
        except Exception:  # of the user's __getitem__ or property
            lacks = f"{type(node).__qualname__} has no such"
            what = "item" if is_item else "attribute"
            return f"the key {text} cannot be read: {lacks} {what}"
        if found is not child and not alike(found, child):
            return (
                f"the key {text} reads {short_repr(found)}, "
                f"not its child {short_repr(child)}"
            )
    return ""


def _repeated(example: _Example) -> str:
    """Flatten a second time: the same children and equal aux data."""
    children, aux = example.flatten(example.node)
    if len(children) != len(example.children):
        first = count_of_children(len(example.children))
        told = f"flatten returns {first} on the first call and {len(children)} on the"
        return f"{told} second; an iterator is exhausted after one pass"
    if not example.same(children, example.children):
        return "flatten returns different child objects on each call"
    if not example.rule.same_aux(aux, example.aux):
        return (
            f"flatten returns aux data {short_repr(example.data)} that is not equal "
            "to the "
            "aux data of a second call, so no two treedefs are equal"
        )
    return ""


def _unchanged(example: _Example) -> str:
    a, b = example.before, _attributes(example.node)
    names = {**a, **b} if example.is_users else {}
    changed = [n for n in names if a.get(n, example) is not b.get(n, example)]
    return f"flatten changes the node: .{', .'.join(changed)}" if changed else ""


def _separate(example: _Example) -> str:
    """Look for the node and its children where they must not be."""
    node, data = example.node, example.data
    if any(child is node for child in example.children):
        return "the node is its own child, so a walk would never end"
    if example.children and _holds(data, partial(is_, node)):
        return "aux data contains the node itself, so treedefs keep its leaves alive"
    simple = str | bytes | int | float | complex | type | None  # the same by chance
    for child in example.children:
        if not isinstance(child, simple) and _holds(data, partial(is_, child)):
            return f"aux data contains a child: {short_repr(child)}"
    return ""


def _in_order(example: _Example) -> str:
    """Call unflatten both ways, and see whether only the other way works."""
    if not isinstance(example.rule.form, Functions):
        return ""
    unflatten: Any = example.rule.form.unflatten
    data, children = example.rule.node_data(example.aux), tuple(example.children)

    def works(*args: Any) -> bool:
        try:
            made = unflatten(*args)
            found, _ = example.rule.flatten(made)
        except Exception:  # of the user's functions, with the wrong arguments
            return False
        return type(made) is type(example.node) and example.same(found, children)

    if works(data, children) or not works(children, data):
        return ""
    return "unflatten takes the children first and aux data second, as in torch"


def _made_anew(example: _Example) -> str:
    made, cls = example.made, type(example.node)
    if type(made) is not cls:
        returned = "None" if made is None else f"a {type(made).__qualname__}"
        return f"unflatten returns {returned} instead of a {cls.__qualname__}"
    if made is example.node and example.children:
        return "unflatten returns the node that was flattened"
    same = made is example.made and example.children
    return "unflatten returns the same object on every call" if same else ""


def _restored(example: _Example) -> str:
    """Compare the node made of its own children with the example."""
    old, (new, aux) = example.children, example.flatten(example.made)
    if len(old) != len(new):
        return f"{count_of_children(len(old))} became {len(new)} in a round trip"
    if not example.same(old, new):
        if {*map(id, old)} == {*map(id, new)}:
            return "a round trip changes the order of the children"
        a, b = next((a, b) for a, b in zip(old, new, strict=True) if a is not b)
        return (
            "a round trip replaces a child by another object: "
            f"{typed_repr(a)} becomes {typed_repr(b)}; neither flatten nor unflatten "
            "may "
            "copy or convert it"
        )
    if not example.rule.same_aux(aux, example.aux):
        other = short_repr(example.rule.node_data(aux))
        return f"aux data {short_repr(example.data)} becomes {other} in a round trip"
    return ""


def _attributes_restored(example: _Example) -> str:
    before, after = example.before, _attributes(example.made)
    for name in before if isinstance(example.rule, FunctionRule) else ():
        if name not in after:
            return f"a round trip loses .{name}"
        a, b = before[name], after[name]
        compare: Any = type(a).__eq__
        by_identity = compare is object.__eq__ and type(a) is type(b)
        if not (a is b or by_identity or alike(a, b)):
            return (
                f"a round trip changes .{name} from {short_repr(a)} to {short_repr(b)}"
            )
    return ""


def _takes_any(example: _Example) -> str:
    """Unflatten with other children: jax puts `object()`, bools and None into trees."""
    makes: dict[str, Callable[[], Any]] = {"object()": object, "lists": list}
    makes |= {"None": lambda: None, "bools": lambda: False, "texts": lambda: "leaf"}
    numpy: Any = real("numpy")
    if numpy is not None:
        makes["empty arrays"] = lambda: numpy.zeros((0, 3, 1))
    for name, make in makes.items():
        given = [make() for _ in example.children]
        what = f"unflatten fails if the children are replaced by {name}"
        try:
            made = _call(what, example.rule.unflatten, example.aux, [*given])
        except _Failure as failure:
            return str(failure)
        children, aux = example.flatten(made)
        if len(children) != len(given):
            return (
                f"flatten returns {count_of_children(len(given))}, but {len(children)} "
                f"if they are {name}; the number of children must not depend on their "
                "values"
            )
        if not example.same(children, given):
            other = next(b for a, b in zip(given, children, strict=True) if a is not b)
            return (
                f"a child that is replaced by {name} comes back as "
                f"{short_repr(other)}; "
                "neither flatten nor unflatten may copy, convert or check it"
            )
        if not example.rule.same_aux(aux, example.aux):
            return (
                f"aux data depends on the children: it is {short_repr(example.data)}, "
                "and "
                f"{short_repr(example.rule.node_data(aux))} if the children are {name}"
            )
    return ""


# fmt: off
_CHECKS: Final[Sequence[tuple[str, Callable[[_Example], str], str]]] = (
    ("aux data", _compared,
     "treedefs are compared with it, and are cache keys, for example in jax.jit: build "
     "it from tuples, frozensets, and classes with an __eq__ and __hash__ by value"),
    ("keys", _keys_counted, "give one key for each child"),
    ("keys", _keys_read,
     "give keys in the order of the children: the unique names under which they are "
     "stored, or a FlattenedIndexKey"),
    ("functions", _repeated,
     "return the objects that the node stores, in a list or tuple, and aux data "
     "that compares by value"),
    ("functions", _unchanged, "it must only read it"),
    ("functions", _separate, "children are children only, never aux data"),
    ("functions", _in_order, "leafwise calls unflatten(aux_data, children)"),
    ("functions", _made_anew, "it must make a new instance of the class each time"),
    ("functions", _restored,
     "flatten and unflatten must use the same order, and restore every child and "
     "all aux data"),
    ("functions", _attributes_restored,
     "it must be a child, aux data, or set by unflatten"),
    ("functions", _takes_any,
     "unflatten must accept any children, so create the object without the checks "
     "of __init__, for example with object.__new__(cls)"),
)
"""The faults that users make: stage, what finds the fault, what to do about it."""
# fmt: on

"""`check_node`: finds the faults that users make when they register a class.

Each fault has a row in a table at the end: the stage of the check, a function that
returns what is wrong with an example, and advice. The checks call the node type of the
class as walks do, with the children of the example and with others. They do not use the
engine.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from .._lazy import real
from .._text import counted, safe_str, short_repr, typed_repr
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import Functions, NodeType
from ..core.register import DataclassNodeType, FunctionNodeType, StaticNodeType
from ..core.registry import GLOBAL, view_of
from ..core.words import count_of_children, node_data, origin
from ..equality import exact
from ..equality.arrays import is_array
from ..equality.leaves import are_same
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
        TypeError: An example is not an instance of the class itself, or the examples
            cannot be iterated over.
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
    if not isinstance(examples, Iterable):
        raise TypeError(
            "examples must be a list of instances of the class: check_node(cls, "
            f"[example, ...]), got {typed_repr(examples)}"
        )
    nodes = list(examples)
    if not nodes:
        raise ValueError("check_node needs at least one example")
    for node in nodes:
        if type(node) is not cls:
            raise TypeError(
                f"an example must be an instance of {cls.__qualname__} itself, got "
                f"{typed_repr(node)}"
            )
    node_type = view_of(namespace).resolve(cls)
    if node_type is None:
        reason = explain_leaf(nodes[0], namespace=namespace)
        raise AssertionError(
            f"{cls.__qualname__} is not a node: an instance is {reason}; register the "
            "class"
        )
    faults: dict[str, None] = {}  # a set in order: several examples may share a fault
    for node in nodes:
        faults.update(dict.fromkeys(_faults(node_type, node)))
    if faults:
        registered = f", {origin(node_type)}," if node_type.where else ""
        number = counted(len(faults), "fault")
        title = f"the registration of {cls.__qualname__}{registered} has {number}:"
        raise AssertionError("\n  - ".join([title, *faults]))


def _faults(node_type: NodeType, node: Any) -> list[str]:
    """Return what is wrong with one example, with advice.

    Only the first fault of each stage is returned, since the next ones may be its
    consequences.
    """
    faults: list[str] = []
    stages: set[str] = set()
    try:
        example = _Example(node_type, node)
        for check in _CHECKS:
            if check.stage in stages:
                continue
            fault = check.find_fault(example)
            if fault:
                stages.add(check.stage)
                faults.append(f"{fault}; {check.advice}")
    except _CallError as error:
        faults.append(str(error))
    return faults


class _CallError(Exception):
    """A function of the registration raised an exception."""


def _call(failure: str, function: Any, *args: Any) -> Any:
    """Call a function of the registration and return its result.

    Raises:
        _CallError: It raises. The message begins with `failure`.
    """
    try:
        return function(*args)
    except Exception as error:  # of the user's flatten, unflatten and methods
        reason = f"{type(error).__name__}: {safe_str(error)}"
        raise _CallError(f"{failure}: {reason}") from error


class _Example:
    """One example, flattened.

    Attributes:
        node: The example.
        node_type: The node type of its class.
        is_user_defined: Whether the user wrote its functions and chose its aux data.
        attributes: Its attributes before flatten was called.
        children, aux, keys: The results of the node type for it.
        data: The aux data as the user knows it.

    Raises:
        _CallError: It cannot be flattened.
    """

    def __init__(self, node_type: NodeType, node: Any) -> None:
        self.node = node
        self.node_type = node_type
        user_node_types = (FunctionNodeType, DataclassNodeType, StaticNodeType)
        self.is_user_defined = isinstance(node_type, user_node_types)
        self.attributes = _attributes(node)
        self.children, self.aux = self.flatten(node)
        arity = len(self.children)
        self.keys = _call("its keys cannot be read", node_type.keys, self.aux, arity)
        names = node_type.attributes.static_names(node)
        self.data: Any
        if names:
            self.data = tuple(getattr(node, name) for name in names)
        else:
            self.data = node_data(node_type, self.aux)

    def flatten(self, node: Any) -> tuple[Sequence[Any], Any]:
        """Return children and aux data of a node."""
        children, aux = _call("flatten fails", self.node_type.flatten, node)
        return children, aux

    def rebuild(self) -> Any:
        """Return a node with the aux data and the children of the example."""
        failure = "unflatten fails with what flatten returned"
        return _call(failure, self.node_type.unflatten, self.aux, list(self.children))

    def same_children(self, a: Sequence[Any], b: Sequence[Any]) -> bool:
        """Return whether two lists of children consist of the same objects.

        Our own nodes may wrap their children, so for them only the number counts.
        """
        if len(a) != len(b):
            return False
        if not self.is_user_defined:
            return True
        return all(x is y for x, y in zip(a, b, strict=True))


def _attributes(node: Any) -> dict[str, Any]:
    """Return the attributes of an object, except cached properties."""
    attributes = dict(getattr(node, "__dict__", {}))
    for base in type(node).__mro__:
        slots = vars(base).get("__slots__", ())
        if isinstance(slots, str):
            slots = (slots,)
        for name in slots:
            if name not in ("__dict__", "__weakref__") and hasattr(node, name):
                attributes[name] = getattr(node, name)
        for name, value in vars(base).items():
            if isinstance(value, cached_property):
                attributes.pop(name, None)
    return attributes


def _contains(value: Any, test: Callable[[Any], bool], depth: int = 3) -> bool:
    """Return whether a value, or an element of its containers, passes a test."""
    if test(value):
        return True
    if not depth or not isinstance(value, dict | tuple | list | set | frozenset):
        return False
    elements = list(value)
    if isinstance(value, dict):
        elements += value.values()
    return any(_contains(element, test, depth - 1) for element in elements)


def _contains_object(value: Any, target: Any) -> bool:
    """Return whether a value, or an element of its containers, is an object."""
    return _contains(value, lambda element: element is target)


# ------------------------------------------------------------------------------ checks


def _compare_aux(example: _Example) -> str:
    """Compare aux data with itself and with a copy, as another process has."""
    data = example.data
    if not example.is_user_defined or _contains(data, is_array):
        return ""  # arrays are compared by content
    try:
        is_equal = data == data
    except Exception as error:  # of the user's __eq__
        return f"aux data cannot be compared: {type(error).__name__}: {safe_str(error)}"
    if not isinstance(is_equal, bool):
        return f"the == of aux data must return a bool, got {typed_repr(is_equal)}"
    try:
        hash_value = hash(data)
    except Exception as error:  # of the user's __hash__
        return f"aux data cannot be hashed: {safe_str(error)}"
    try:
        data_copy = copy.deepcopy(data)
    except Exception:  # of the user's class: not all aux data can be copied
        return ""
    text = short_repr(data)
    if not exact.same(data_copy, data):
        return f"aux data {text} is not equal to its copy"
    if hash(data_copy) != hash_value:
        return f"aux data {text} and its copy are equal but have different hashes"
    return ""


def _count_keys(example: _Example) -> str:
    """Compare the numbers of keys and children."""
    num_keys = len(example.keys)
    arity = len(example.children)
    if num_keys == arity:
        return ""
    return f"there are {num_keys} keys for {count_of_children(arity)}"


def _read_keys(example: _Example) -> str:
    """Compare each child with the value under its key."""
    node = example.node
    has_items = hasattr(type(node), "__getitem__")
    texts = [safe_str(key) for key in example.keys]
    for key, child, text in zip(example.keys, example.children, texts, strict=True):
        if texts.count(text) > 1:
            return f"several children have the key {text}"
        if isinstance(key, DictKey | SequenceKey):
            word = "item"
            if not has_items:  # then such a key is just a label
                continue
        elif isinstance(key, GetAttrKey):
            word = "attribute"
        else:
            continue
        try:
            value = key.get(node)
        except Exception:  # of the user's __getitem__ or property
            name = type(node).__qualname__
            return f"the key {text} cannot be read: {name} has no such {word}"
        if value is not child and not are_same(value, child):
            return (
                f"the key {text} reads {short_repr(value)}, "
                f"not its child {short_repr(child)}"
            )
    return ""


def _flatten_again(example: _Example) -> str:
    """Flatten a second time: the same children and equal aux data."""
    children, aux = example.flatten(example.node)
    if len(children) != len(example.children):
        first = count_of_children(len(example.children))
        return (
            f"flatten returns {first} on the first call and {len(children)} on the "
            "second; an iterator is exhausted after one pass"
        )
    if not example.same_children(children, example.children):
        return "flatten returns different child objects on each call"
    if not example.node_type.same(aux, example.aux):
        return (
            f"flatten returns aux data {short_repr(example.data)} that is not equal to "
            "the aux data of a second call, so no two treedefs are equal"
        )
    return ""


def _compare_attributes(example: _Example) -> str:
    """Compare the attributes of the example from before and after it was flattened."""
    if not example.is_user_defined:
        return ""
    before = example.attributes
    after = _attributes(example.node)
    missing = object()
    changed = [
        f".{name}"
        for name in before | after
        if before.get(name, missing) is not after.get(name, missing)
    ]
    return f"flatten changes the node: {', '.join(changed)}" if changed else ""


def _look_for_children(example: _Example) -> str:
    """Look for the node among its children, and for both in the aux data."""
    node = example.node
    data = example.data
    if any(child is node for child in example.children):
        return "the node is its own child, so a walk would never end"
    if example.children and _contains_object(data, node):
        return "aux data contains the node itself, so treedefs keep its leaves alive"
    # Small values are the same object in both by chance.
    plain_types = str | bytes | int | float | complex | type | None
    for child in example.children:
        if not isinstance(child, plain_types) and _contains_object(data, child):
            return f"aux data contains a child: {short_repr(child)}"
    return ""


def _swap_arguments(example: _Example) -> str:
    """Find out whether unflatten works only with its arguments swapped."""
    if not isinstance(example.node_type.form, Functions):
        return ""
    unflatten: Any = example.node_type.form.unflatten
    data = node_data(example.node_type, example.aux)
    children = tuple(example.children)

    def works(*args: Any) -> bool:
        try:
            node = unflatten(*args)
            new_children, _ = example.node_type.flatten(node)
        except Exception:  # of the user's functions, with the wrong arguments
            return False
        is_instance = type(node) is type(example.node)
        return is_instance and example.same_children(new_children, children)

    if works(data, children) or not works(children, data):
        return ""
    return "unflatten takes the children first and aux data second, as in torch"


def _unflatten_twice(example: _Example) -> str:
    """Rebuild the node twice: two new instances of the class."""
    cls = type(example.node)
    node = example.rebuild()
    if type(node) is not cls:
        result = "None" if node is None else f"a {type(node).__qualname__}"
        return f"unflatten returns {result} instead of a {cls.__qualname__}"
    if not example.children:  # such nodes may be shared
        return ""
    if node is example.node:
        return "unflatten returns the node that was flattened"
    if node is example.rebuild():
        return "unflatten returns the same object on every call"
    return ""


def _flatten_rebuilt(example: _Example) -> str:
    """Flatten the rebuilt node: the same children and equal aux data."""
    old = example.children
    new, aux = example.flatten(example.rebuild())
    if len(old) != len(new):
        return f"{count_of_children(len(old))} became {len(new)} in a round trip"
    if not example.same_children(old, new):
        if {id(child) for child in old} == {id(child) for child in new}:
            return "a round trip changes the order of the children"
        before, after = _first_different(old, new)
        return (
            "a round trip replaces a child by another object: "
            f"{typed_repr(before)} becomes {typed_repr(after)}; "
            "neither flatten nor unflatten may copy or convert it"
        )
    if not example.node_type.same(aux, example.aux):
        old_data = short_repr(example.data)
        new_data = short_repr(node_data(example.node_type, aux))
        return f"aux data {old_data} becomes {new_data} in a round trip"
    return ""


def _first_different(a: Sequence[Any], b: Sequence[Any]) -> tuple[Any, Any]:
    """Return the first pair of children that are not the same object."""
    pairs = zip(a, b, strict=True)
    return next((x, y) for x, y in pairs if x is not y)


def _compare_rebuilt(example: _Example) -> str:
    """Compare the attributes of the example with those of the rebuilt node."""
    if not isinstance(example.node_type, FunctionNodeType):
        return ""
    after = _attributes(example.rebuild())
    for name, old in example.attributes.items():
        if name not in after:
            return f"a round trip loses .{name}"
        new = after[name]
        # Without an __eq__, it is unknown whether a new object has the same content.
        compare: Any = type(old).__eq__
        is_unknown = compare is object.__eq__ and type(old) is type(new)
        if old is not new and not is_unknown and not are_same(old, new):
            before = short_repr(old)
            return f"a round trip changes .{name} from {before} to {short_repr(new)}"
    return ""


def _replace_children(example: _Example) -> str:
    """Unflatten with other children: jax puts `object()`, bools and None into trees."""
    factories: dict[str, Callable[[], Any]] = {
        "object()": object,
        "lists": list,
        "None": lambda: None,
        "bools": lambda: False,
        "texts": lambda: "leaf",
    }
    numpy: Any = real("numpy")
    if numpy is not None:
        factories["empty arrays"] = lambda: numpy.zeros((0, 3, 1))
    for name, factory in factories.items():
        children = [factory() for _ in example.children]
        fault = _fault_with(example, name, children)
        if fault:
            return fault
    return ""


def _fault_with(example: _Example, name: str, children: list[Any]) -> str:
    """Unflatten and flatten with other children: the same children, equal aux data.

    Args:
        example: The example.
        name: What the children are, for messages.
        children: The children.
    """
    unflatten = example.node_type.unflatten
    failure = f"unflatten fails if the children are replaced by {name}"
    try:
        node = _call(failure, unflatten, example.aux, list(children))
    except _CallError as error:
        return str(error)
    new_children, aux = example.flatten(node)
    if len(new_children) != len(children):
        number = count_of_children(len(children))
        return (
            f"flatten returns {number}, but {len(new_children)} if they are {name}; "
            "the number of children must not depend on their values"
        )
    if not example.same_children(new_children, children):
        _, child = _first_different(children, new_children)
        return (
            f"a child that is replaced by {name} comes back as {short_repr(child)}; "
            "neither flatten nor unflatten may copy, convert or check it"
        )
    if not example.node_type.same(aux, example.aux):
        new_data = short_repr(node_data(example.node_type, aux))
        return (
            f"aux data depends on the children: it is {short_repr(example.data)}, "
            f"and {new_data} if the children are {name}"
        )
    return ""


class _Check(NamedTuple):
    """A fault that users make.

    Attributes:
        stage: What is checked: a fault hides later ones of the same stage.
        find_fault: Returns what is wrong with an example, "" if nothing is.
        advice: What to do about it.
    """

    stage: str
    find_fault: Callable[[_Example], str]
    advice: str


_CHECKS: Final = (
    _Check(
        "aux data",
        _compare_aux,
        "treedefs are compared with it, and are cache keys, for example in jax.jit: "
        "build it from tuples, frozensets, and classes with an __eq__ and __hash__ by "
        "value",
    ),
    _Check("keys", _count_keys, "give one key for each child"),
    _Check(
        "keys",
        _read_keys,
        "give keys in the order of the children: the unique names under which they are "
        "stored, or a FlattenedIndexKey",
    ),
    _Check(
        "functions",
        _flatten_again,
        "return the objects that the node stores, in a list or tuple, and aux data "
        "that compares by value",
    ),
    _Check("functions", _compare_attributes, "it must only read it"),
    _Check(
        "functions",
        _look_for_children,
        "children are children only, never aux data",
    ),
    _Check(
        "functions",
        _swap_arguments,
        "leafwise calls unflatten(aux_data, children)",
    ),
    _Check(
        "functions",
        _unflatten_twice,
        "it must make a new instance of the class each time",
    ),
    _Check(
        "functions",
        _flatten_rebuilt,
        "flatten and unflatten must use the same order, and restore every child and "
        "all aux data",
    ),
    _Check(
        "functions",
        _compare_rebuilt,
        "it must be a child, aux data, or set by unflatten",
    ),
    _Check(
        "functions",
        _replace_children,
        "unflatten must accept any children, so create the object without the checks "
        "of __init__, for example with object.__new__(cls)",
    ),
)
"""The faults that users make, in the order of the checks."""

"""Treedefs written down: what a pickle of one is made of, and its text as JSON.

Owns the state: plain tuples, one for each node, in which a node's rule is named by its
kind, or by the class and the namespace it was registered in. Reading a state calls no
function that the state could name and trusts nothing in it.

Owns the JSON form: one object with the version, the modes and a flat list of entries.
Classes are named by module and qualified name, keys by their text, aux data by JSON
where that is enough, or by a codec that was registered for the class. What has no text
is refused before anything is written. Reading imports nothing, calls nothing that the
text names, and passes through the same checks as unpickling.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, Final, TypeAlias

from .._runtime import named_object
from .._text import safe_repr, safe_str, short_repr
from ..errors import NamespaceError, PathError, RegistryError, TreeDefError
from .builtins import BY_NAME
from .keypath import KeyPath, parse_literal
from .keys import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey, literal
from .node import Rule
from .registry import Mode, check_callable, check_class, registered_class, view_of
from .walk import Code, Entry, locate, node_path


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the dict of a JSON object, as `object_pairs_hook` of `json.loads`.

    Raises:
        ValueError: A key occurs twice.
    """
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise ValueError(f"duplicate key {short_repr(key)}")
        members[key] = value
    return members


# ------------------------------------------------------------------------------- states


_STATE_VERSION: Final = 2


def dump(code: Code, count: int, mode: Mode) -> tuple[Any, ...]:
    """Return the state of a treedef: nested tuples of plain values and aux data."""
    entries = tuple((run, _name(rule), arity, aux) for run, rule, arity, aux in code)
    return _STATE_VERSION, mode.namespace, mode.none_is_leaf, count, entries


def _name(rule: Rule) -> Any:
    return rule.name if BY_NAME.get(rule.name) is rule else (rule.cls, rule.namespace)


def load(state: Any) -> tuple[tuple[Entry, ...], int, Mode]:
    """Return code, number of leaves and mode of a state.

    Raises:
        TreeDefError: The state is malformed, or names a class that is not
            registered in this process.
    """
    try:
        version, namespace, none_is_leaf, count, entries = state
        if version != _STATE_VERSION:
            raise _malformed(f"only version {_STATE_VERSION} is read, got {version!r}")
        types = type(namespace), type(none_is_leaf), type(count)
        if types != (str, bool, int):
            raise _malformed("a part has the wrong type")
        code = tuple(_load_entry(*entry) for entry in entries)
    except TreeDefError:
        raise
    except (TypeError, ValueError, AttributeError, LookupError) as error:
        raise _malformed(safe_str(error)) from None
    _check_arities(code, count)
    return code, count, Mode(namespace, none_is_leaf)


def _load_entry(run: int, name: Any, arity: int, aux: Any) -> Entry:
    if type(run) is not int or type(arity) is not int or run < 0 or arity < 0:
        raise _malformed("a count in an entry is not a natural number")
    rule = BY_NAME[name] if isinstance(name, str) else _find_rule(*name)
    if not rule.validate(arity, aux):
        raise _malformed(f"aux data does not fit a {rule.name}")
    return run, rule, arity, aux


def _find_rule(cls: Any, namespace: str) -> Rule:
    """Return the rule that a class was registered with.

    Raises:
        TreeDefError: There is none.
    """
    try:
        rule = view_of(namespace).resolve(cls)
    except NamespaceError as error:
        raise TreeDefError(safe_str(error)) from None
    if rule is None or BY_NAME.get(rule.name) is rule:
        scope = f"in namespace {safe_repr(namespace)}" if namespace else "globally"
        raise TreeDefError(
            f"this treedef has a node of {cls.__qualname__}, which is not registered "
            f"{scope} in this process; register the class before reading it"
        )
    return rule


def _check_arities(code: Sequence[Entry], count: int) -> None:
    """Check that the entries make up exactly one tree with that many leaves."""
    held = total = 0
    for run, _, arity, _ in code:
        held += run
        total += run
        if arity > held:
            raise _malformed("a node has more children than there are entries for them")
        held += 1 - arity
    if count != (total if code else 1) or (code and held != 1):
        raise _malformed("its entries do not form one tree")


def _malformed(why: str) -> TreeDefError:
    return TreeDefError(f"malformed state of a treedef: {why}")


# --------------------------------------------------------------------------------- JSON


_VERSION: Final = 1
_DEPTH: Final = 64
Codec: TypeAlias = "tuple[Callable[[Any, Any], Any], Callable[[Any], Any]]"
codecs: dict[tuple[type, str], Codec] = {}
"""By class and namespace: the functions that `register_codec` was given."""


def register_codec(
    cls: type,
    to_json: Callable[[Any], Any],
    from_json: Callable[[Any], Any],
    *,
    namespace: str = "",
) -> None:
    """Register functions that convert the aux data of a class to JSON and back.

    Args:
        cls: The class.
        to_json: Takes the aux data, returns a value that `json.dumps` accepts.
        from_json: Takes the value from `json.loads`, returns the aux data.
        namespace: The namespace that the class is registered in.

    Raises:
        RegistryError: `cls` is not a class, or a function is not callable.

    Example:
        >>> import leafwise as lw
        >>> class Tagged:
        ...     def __init__(self, x, tags): self.x, self.tags = x, tags
        >>> _ = lw.register_pytree_node(
        ...     Tagged, lambda t: ((t.x,), t.tags), lambda tags, xs: Tagged(*xs, tags))
        >>> lw.files.register_codec(Tagged, sorted, frozenset)
        >>> treedef = lw.tree_structure(Tagged(1, frozenset({"b", "a"})))
        >>> lw.PyTreeDef.from_json(treedef.to_json()) == treedef
        True
    """
    check_class(cls)
    check_callable(to_json, "the to_json function", cls)
    check_callable(from_json, "the from_json function", cls)
    codecs[cls, namespace] = (lambda aux, _write: to_json(aux), from_json)


# --------------------------------------------------------------------- writing


def write_json(code: Code, count: int, mode: Mode, *, gaps: bool = False) -> str:
    """Return the text of a structure.

    Args:
        code: Its code.
        count: Its number of leaves.
        mode: Its mode.
        gaps: Whether to leave out functions that have no name. Such a text cannot be
            read; the error says what is missing.

    Raises:
        TreeDefError: Something in it has no text, or none that could be read again;
            with a note of the key path of the node.
    """
    nodes: list[str] = []
    names: dict[Rule, Any] = {}
    write = _writer(gaps=gaps)
    try:
        for run, rule, arity, aux in code:
            if rule not in names:
                names[rule] = _json_name(rule)
            nodes.append(_json_of([run, names[rule], arity, _aux_of(rule, aux, write)]))
    except Exception as error:  # of a codec too; it is raised with the place
        locate(error, node_path(code, len(nodes)))
        raise
    head = {
        "leafwise": _VERSION,
        "namespace": mode.namespace,
        "none_is_leaf": mode.none_is_leaf,
        "leaves": count,
    }
    return f'{_json_of(head)[:-1]},"nodes":[{",".join(nodes)}]}}'


def _json_of(value: Any, *, in_order: bool = False) -> str:
    """Return the text of what a codec, or this module, made.

    Args:
        value: What it made.
        in_order: Whether the keys of objects are sorted.

    Raises:
        TreeDefError: It is not made of JSON values.
    """
    try:
        how: Any = {"separators": (",", ":"), "sort_keys": in_order}
        return json.dumps(value, allow_nan=False, **how)
    except (TypeError, ValueError, RecursionError) as error:
        raise TreeDefError(f"a node cannot be written as JSON: {error}") from None


def _json_name(rule: Rule) -> Any:
    """Return the name of a rule, by which it is found again.

    Raises:
        TreeDefError: It would not be.
    """
    name = _name(rule)
    if isinstance(name, str):
        return name
    cls, namespace = name
    module, qualname = cls.__module__, cls.__qualname__
    try:
        found = registered_class(module, qualname, namespace)
    except RegistryError as error:
        raise TreeDefError(f"{error}, so it could not be read again") from None
    if found is not cls or view_of(namespace).resolve(cls) is not rule:
        raise TreeDefError(
            f"{module}:{qualname} was registered again, or is the name of more than "
            "one class, so another structure would be read"
        )
    return [f"{module}:{qualname}", namespace]


def _aux_of(rule: Rule, aux: Any, write: Any) -> Any:
    try:
        return rule.aux_to_json(aux, write)
    except TreeDefError as error:
        if BY_NAME.get(rule.name) is rule:
            raise
        raise TreeDefError(
            f"the aux data of {rule.cls.__qualname__} cannot be written as JSON: "
            f"{error}; register a codec for the class: leafwise.files.register_codec"
        ) from None


def _write_key(key: Any) -> str:
    """Return the text of a dict key, if that is read back as the very same key.

    NaN is refused, which is not equal to the NaN that is read back.

    Raises:
        TreeDefError: The key has no such text.
    """
    text = literal(key)
    try:
        again = parse_literal(text)
        if type(again) is type(key) and again == key:
            return text
    except (PathError, RecursionError):
        pass
    raise TreeDefError(f"the dict key {short_repr(key)} cannot be written as JSON text")


def _object_name(value: Any, *, gaps: bool = False) -> Any:
    """Return the name of a function or class; a list if it has none.

    Raises:
        TreeDefError: It has none, and there are to be no gaps.
    """
    if value is None:
        return None
    names = (getattr(value, f"__{of}__", "") for of in ("module", "qualname"))
    name = ":".join(map(str, names))
    if named_object(*_split(name)) is not value:
        if gaps:
            return [short_repr(value)]
        raise TreeDefError(
            f"{short_repr(value)} has no name by which it could be found again; only "
            "module-level functions and classes can be written as JSON"
        )
    return name


def codec_of(rule: Rule) -> Codec | None:
    """Return the two functions that a class was registered with, or its own."""
    return codecs.get((rule.cls, rule.namespace), rule.codec)


def written_by_codec(rule: Rule, aux: Any) -> str:
    """Return the text of aux data by the codec of its class.

    Raises:
        TreeDefError: The codec does not give what JSON can hold.
    """
    return _json_of(rule.aux_to_json(aux, _writer(gaps=False)), in_order=True)


def write_value(value: Any, depth: int = 0, *, gaps: bool = False) -> Any:
    """Write a value so that each type comes back as itself.

    Args:
        value: The value.
        depth: In how many containers it is.
        gaps: See `write_json`.

    Raises:
        TreeDefError: It has no text.
    """
    cls = type(value)
    if cls is int and value.bit_length() > 2_000:  # Python may refuse its digits
        return ["literal", hex(value)]
    if value is None or cls in (bool, int, str):
        return value
    if cls is float and math.isfinite(value):
        return value
    if depth >= _DEPTH:
        raise TreeDefError("it is nested too deeply")
    inside = partial(write_value, depth=depth + 1, gaps=gaps)
    if cls in (tuple, list):
        return [cls.__name__, *map(inside, value)]
    if cls is dict:
        return ["dict", *([_write_key(k), inside(v)] for k, v in value.items())]
    if cls is DictKey:
        return ["dict key", _write_key(value.key)]
    if cls in (SequenceKey, GetAttrKey, FlattenedIndexKey):
        return ["key", str(value)]
    if callable(value):
        kind = "class" if isinstance(value, type) else "object"
        return [kind, _object_name(value, gaps=gaps)]
    try:
        return ["literal", _write_key(value)]
    except TreeDefError:
        raise TreeDefError(
            f"{short_repr(value)} ({cls.__qualname__}) cannot be written as text"
        ) from None


def _writer(*, gaps: bool) -> SimpleNamespace:
    """Return what rules write aux data with; see `Rule.aux_to_json`."""
    value, named = (partial(write, gaps=gaps) for write in (write_value, _object_name))
    return SimpleNamespace(key=_write_key, named=named, value=value, codec=codec_of)


# --------------------------------------------------------------------- reading


def read_json(text: str, limit: int) -> tuple[tuple[Entry, ...], int, Mode]:
    """Return code, number of leaves and mode of a text.

    Raises:
        TreeDefError: The text is malformed, too long, or names what is not here.
    """
    if len(text) > limit:
        raise TreeDefError(f"the text has {len(text)} characters, the limit is {limit}")
    try:
        data = json.loads(text)
        return load(_read_state(data))
    except TreeDefError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
        reason = " ".join(safe_str(error).split()) or type(error).__name__
        raise TreeDefError(f"malformed text of a treedef: {reason}") from None


def _read_state(data: Any) -> tuple[Any, ...]:
    if type(data) is not dict or data.get("leafwise") != _VERSION:
        raise TreeDefError(
            f"malformed text of a treedef: no object of version {_VERSION}"
        )
    entries = tuple(_read_entry(*node) for node in data["nodes"])
    head = (data[name] for name in ("namespace", "none_is_leaf", "leaves"))
    return _STATE_VERSION, *head, entries


def _read_entry(run: Any, name: Any, arity: Any, aux: Any) -> tuple[Any, ...]:
    if type(name) is str:
        return run, name, arity, BY_NAME[name].aux_from_json(aux, _READ)
    qualified, namespace = name
    cls = registered_class(*_split(qualified), namespace)
    rule = _find_rule(cls, namespace)
    return run, (cls, namespace), arity, rule.aux_from_json(aux, _READ)


def _decode(rule: Rule, written: Any) -> Any:
    """Read the output of a codec.

    Raises:
        TreeDefError: There is no codec.
        Exception: It cannot read this.
    """
    codec = codec_of(rule)
    if not codec:
        raise TreeDefError(f"no codec is registered for {rule.cls.__qualname__}")
    return codec[1](written)


def read_value(value: Any) -> Any:
    """Read a value that `write_value` wrote.

    Raises:
        TreeDefError: It is malformed.
    """
    if type(value) is not list:
        if type(value) is dict:
            raise TreeDefError("malformed text of a treedef: a bare object")
        return value
    kind, *items = value
    if kind == "tuple":
        return tuple(map(read_value, items))
    if kind == "list":
        return [*map(read_value, items)]
    if kind == "dict":
        return {parse_literal(key): read_value(item) for key, item in items}
    (item,) = items
    if kind == "literal":
        return parse_literal(item)
    if kind == "dict key":
        return DictKey(parse_literal(item))
    if kind == "key":
        (key,) = KeyPath.parse(item)
        return key
    if kind in ("class", "object"):
        return _find_named(item)
    raise TreeDefError(
        f"malformed text of a treedef: a value of kind {short_repr(kind)}"
    )


def _split(name: Any) -> tuple[str, str]:
    if type(name) is list:  # a gap
        raise TreeDefError(f"{name[0]} is code without a name, which no file holds")
    module, _, qualname = str(name).partition(":")
    return module, qualname


def _find_named(name: Any) -> Any:
    """Find the object of a name in the loaded modules."""
    if name is None:
        return None
    found = named_object(*_split(name))
    if found is None:
        raise TreeDefError(f"{short_repr(name)} is not in any module that is loaded")
    return found


_READ: Final = SimpleNamespace(
    key=parse_literal, named=_find_named, value=read_value, decoded=_decode
)
"""What rules read aux data with; see `Rule.aux_from_json`."""

"""Treedefs as pickles and as JSON.

A pickle holds a state: plain tuples, one for each node, in which a node type is named
by its kind, or by its class and the namespace of the registration. The JSON is one
object with the version, the modes and a flat list of entries, in which classes are
named by module and qualified name. `codec` writes the aux data.

What could not be read again is refused before anything is written. Nothing in a state
or a text is trusted: reading imports and calls nothing that it names, and checks that
the entries make up one tree.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from .._text import FAULTS, safe_repr, safe_str, short_repr
from ..errors import NamespaceError, RegistryError, TreeDefError
from .builtins import BY_NAME
from .codec import Writer, aux_form_of, split_name
from .node import NodeType
from .registry import Mode, registered_class, view_of
from .walk import Code, Entry, locate, node_path


def is_built_in(node_type: NodeType) -> bool:
    """Return whether a node type is built in, so that its name identifies it."""
    return BY_NAME.get(node_type.name) is node_type


# ------------------------------------------------------------------------------- states

_STATE_VERSION: Final = 2


def dump(code: Code, count: int, mode: Mode) -> tuple[Any, ...]:
    """Return the state of a treedef: nested tuples of plain values and aux data."""
    entries = tuple(
        [(run, _name_of(node_type), arity, aux) for run, node_type, arity, aux in code]
    )
    return _STATE_VERSION, mode.namespace, mode.none_is_leaf, count, tuple(entries)


def _name_of(node_type: NodeType) -> Any:
    return (
        node_type.name
        if is_built_in(node_type)
        else (node_type.cls, node_type.namespace)
    )


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
        types = (type(namespace), type(none_is_leaf), type(count))
        if types != (str, bool, int):
            raise _malformed("a part has the wrong type")
        code = tuple([_load_entry(*entry) for entry in entries])
    except TreeDefError:
        raise
    except (TypeError, ValueError, AttributeError, LookupError) as error:
        raise _malformed(safe_str(error)) from None
    _check_arities(code, count)
    return code, count, Mode(namespace, none_is_leaf)


def _load_entry(run: int, name: Any, arity: int, aux: Any) -> Entry:
    if type(run) is not int or type(arity) is not int or run < 0 or arity < 0:
        raise _malformed("a count in an entry is not a natural number")
    node_type = BY_NAME[name] if isinstance(name, str) else _find_node_type(*name)
    if not aux_form_of(node_type).fits(node_type, arity, aux):
        raise _malformed(f"aux data does not fit a {node_type.name}")
    return run, node_type, arity, aux


def _find_node_type(cls: Any, namespace: str) -> NodeType:
    """Return the node type that a class was registered with.

    Raises:
        TreeDefError: There is none.
    """
    try:
        node_type = view_of(namespace).resolve(cls)
    except NamespaceError as error:
        raise TreeDefError(safe_str(error)) from None
    if node_type is None or is_built_in(node_type):
        scope = f"in namespace {safe_repr(namespace)}" if namespace else "globally"
        raise TreeDefError(
            f"this treedef has a node of {cls.__qualname__}, which is not registered "
            f"{scope} in this process; register the class before reading it"
        )
    return node_type


def _check_arities(code: Sequence[Entry], count: int) -> None:
    """Check that the entries make up exactly one tree with that many leaves."""
    num_leaves = 0
    num_subtrees = 0  # leaves and nodes that are no children yet
    for run, _, arity, _ in code:
        num_leaves += run
        num_subtrees += run
        if arity > num_subtrees:
            raise _malformed("a node has more children than there are entries for them")
        num_subtrees += 1 - arity
    if not code:  # the tree is a leaf
        num_leaves = 1
        num_subtrees = 1
    if count != num_leaves or num_subtrees != 1:
        raise _malformed("its entries do not form one tree")


def _malformed(why: str) -> TreeDefError:
    return TreeDefError(f"malformed state of a treedef: {why}")


# ------------------------------------------------------------------------ writing JSON

_JSON_VERSION: Final = 1


def write_json(code: Code, count: int, mode: Mode, *, gaps: bool = False) -> str:
    """Return the text of a structure.

    Args:
        code: Its code.
        count: Its number of leaves.
        mode: Its mode.
        gaps: Whether functions that have no name are left out; see `Writer`.

    Raises:
        TreeDefError: Something in it has no text, or none that could be read again;
            with a note of the key path of the node.
    """
    writer = Writer(gaps=gaps, keeps_equal=True)
    names: dict[NodeType, Any] = {}
    entries: list[str] = []
    try:
        for run, node_type, arity, aux in code:
            if node_type not in names:
                names[node_type] = _json_name(node_type)
            entry = [run, names[node_type], arity, write_aux(node_type, aux, writer)]
            entries.append(json_text(entry))
    except Exception as error:  # of a codec too; it is raised with the place
        locate(error, node_path(code, len(entries)))
        raise
    head = {
        "leafwise": _JSON_VERSION,
        "namespace": mode.namespace,
        "none_is_leaf": mode.none_is_leaf,
        "leaves": count,
    }
    return f'{json_text(head)[:-1]},"nodes":[{",".join(entries)}]}}'


def json_text(data: Any, *, sorts_keys: bool = False) -> str:
    """Return the text of what a codec, or this package, made.

    Raises:
        TreeDefError: It is not made of JSON values.
    """
    try:
        return json.dumps(
            data, allow_nan=False, separators=(",", ":"), sort_keys=sorts_keys
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise TreeDefError(f"a node cannot be written as JSON: {error}") from None


def _json_name(node_type: NodeType) -> Any:
    """Return the name of a node type, by which it is found again.

    Raises:
        TreeDefError: It would not be.
    """
    if is_built_in(node_type):
        return node_type.name
    module = node_type.cls.__module__
    qualname = node_type.cls.__qualname__
    try:
        registered = registered_class(module, qualname, node_type.namespace)
    except RegistryError as error:
        raise TreeDefError(f"{error}, so it could not be read again") from None
    if (
        registered is not node_type.cls
        or view_of(node_type.namespace).resolve(node_type.cls) != node_type
    ):
        raise TreeDefError(
            f"{module}:{qualname} was registered again, or is the name of more than "
            "one class, so another structure would be read"
        )
    return [f"{module}:{qualname}", node_type.namespace]


def write_aux(node_type: NodeType, aux: Any, writer: Writer) -> Any:
    """Return the JSON of the aux data of a node.

    Raises:
        TreeDefError: It has a value that cannot be written; names the class.
    """
    try:
        return aux_form_of(node_type).write(node_type, aux, writer)
    except TreeDefError as error:
        if is_built_in(node_type):
            raise
        raise TreeDefError(
            f"the aux data of {node_type.cls.__qualname__} cannot be written as JSON: "
            f"{error}; register a codec for the class: leafwise.files.register_codec"
        ) from None


# ------------------------------------------------------------------------ reading JSON


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the dict of a JSON object, as `object_pairs_hook` of `json.loads`.

    Raises:
        ValueError: A key occurs twice.
    """
    members = dict(pairs)
    if len(members) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        duplicate_key, _ = counts.most_common(1)[0]
        raise ValueError(f"duplicate key {short_repr(duplicate_key)}")
    return members


def read_json(text: str, limit: int) -> tuple[tuple[Entry, ...], int, Mode]:
    """Return code, number of leaves and mode of a text.

    Raises:
        TreeDefError: The text is malformed, too long, or names what is not here.
    """
    if len(text) > limit:
        raise TreeDefError(f"the text has {len(text)} characters, the limit is {limit}")
    try:
        data = json.loads(text, object_pairs_hook=unique_keys)
    except (ValueError, TypeError, RecursionError) as error:
        raise _malformed_text(error) from None
    return read_json_value(data)


def read_json_value(data: Any) -> tuple[tuple[Entry, ...], int, Mode]:
    """Return code, number of leaves and mode of a text that is parsed already.

    Raises:
        TreeDefError: It is malformed, or names what is not here.
    """
    try:
        if type(data) is not dict or data.get("leafwise") != _JSON_VERSION:
            raise ValueError(f"no object of version {_JSON_VERSION}")
        return load(
            (
                _STATE_VERSION,
                data["namespace"],
                data["none_is_leaf"],
                data["leaves"],
                tuple([_read_entry(*entry) for entry in data["nodes"]]),
            )
        )
    except TreeDefError:
        raise
    except FAULTS as error:  # what the text made a codec or a class raise, as well
        raise _malformed_text(error) from None


def _malformed_text(error: Exception) -> TreeDefError:
    reason = " ".join(safe_str(error).split()) or type(error).__name__
    return TreeDefError(f"malformed text of a treedef: {reason}")


def _read_entry(run: Any, name: Any, arity: Any, data: Any) -> tuple[Any, ...]:
    if type(name) is str:
        node_type = BY_NAME[name]
    else:
        class_name, namespace = name
        cls = registered_class(*split_name(class_name), namespace)
        node_type = _find_node_type(cls, namespace)
        name = (cls, namespace)
    return run, name, arity, aux_form_of(node_type).read(node_type, data)

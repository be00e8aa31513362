"""The content of a file besides arrays: the leaves by name, and the structure.

Owns the JSON of it, its version and its checksum. For each part of a tree (see `parts`)
it has a table from the names of leaves to what they are: a value, an array of the file,
the same array as another leaf, or another part. Reading trusts nothing: whatever is not
as it was written is an error. Knows nothing of formats.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ..errors import TreeDefError
from ..safely import Frozen, clip
from .arrays import Form
from .parts import Shared
from .values import read_leaf


__all__ = ["Held", "Table", "is_header", "loads", "read_header", "write_header"]

VERSION: Final = 1
_WHAT: Final = "leafwise"
_OURS: Final = ("leaves", "treedef", "objects")


class Held(Frozen):
    """An array of a file; a leaf, wherever it stands in a tree.

    Attributes:
        name: Its name there.
        form: Its dtype and shape.
        checksum: Of its bytes; empty where the format has its own.
    """

    __slots__ = __match_args__ = ("name", "form", "checksum")

    name: str
    form: Form
    checksum: str

    def __init__(self, name: str, form: Form, checksum: str = "") -> None:
        self._set(name, form, checksum)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, by which predicates choose."""
        return self.form.shape

    @property
    def dtype(self) -> str:
        """The name of the dtype."""
        return self.form.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.form.shape)


class Table(NamedTuple):
    """A part of a tree, as a file has it.

    Attributes:
        at: The name of the place where it is first.
        leaves: By name, in the order of the leaves: values, `Held` or `Shared`.
        treedef: The text of its structure; None if the file has none.
    """

    at: str
    leaves: dict[str, Any]
    treedef: str | None


# ----------------------------------------------------------------------------- writing


def write_header(tables: list[Table]) -> str:
    """Return the text for tables whose values are written already."""
    data: dict[str, Any] = {_WHAT: {"format": VERSION}}
    main, *objects = map(_as_object, tables)
    data |= {"leaves": main["leaves"], "treedef": main["treedef"], "objects": objects}
    data[_WHAT]["check"] = _check(data)
    rows = ",\n".join(
        f"    {_text(name)}: {_text(leaf)}" for name, leaf in data["leaves"].items()
    )
    leaves = f"{{\n{rows}\n  }}" if rows else "{}"
    lines = [
        f'  "{_WHAT}": {_text(data[_WHAT])}',
        f'  "leaves": {leaves}',
        *(f'  "{key}": {_text(data[key])}' for key in _OURS[1:]),
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _as_object(table: Table) -> dict[str, Any]:
    treedef = None if table.treedef is None else json.loads(table.treedef)
    leaves: dict[str, Any] = {}
    for name, leaf in table.leaves.items():
        if type(leaf) is Shared:
            leaves[name] = {"object": leaf.number}
        elif type(leaf) is not Held:
            leaves[name] = leaf
        elif leaf.name != name:
            leaves[name] = {"same": leaf.name}
        else:
            leaves[name] = {"array": [leaf.dtype, [*leaf.shape], leaf.checksum]}
    return {"at": table.at, "leaves": leaves, "treedef": treedef}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _check(data: Mapping[str, Any]) -> str:
    """Return the checksum of a header, however its text is laid out."""
    rest = [VERSION, *(data[key] for key in _OURS)]
    text = json.dumps(rest, allow_nan=False, separators=(",", ":"))
    return f"{zlib.crc32(text.encode()):08x}"


# ----------------------------------------------------------------------------- reading


def loads(text: str) -> Any:
    """Parse a JSON text.

    Raises:
        ValueError: It is not JSON, or an object in it has a key twice.
        RecursionError: It is nested too deeply.
    """
    return json.loads(text, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        keys = [key for key, _ in pairs]
        again = next(key for key, times in Counter(keys).items() if times > 1)
        raise ValueError(f"an object has the key {clip(again)} twice")
    return made


def is_header(data: Any) -> bool:
    """Return whether an object of JSON is one that `write_header` wrote.

    By two signs, so that it is not taken for another one if one of them is damaged.
    """
    return type(data) is dict and (_WHAT in data or data.keys() >= {*_OURS})


def read_header(data: Any) -> list[Table]:
    """Return the tables of a header.

    Args:
        data: What `loads` returned.

    Raises:
        TreeDefError: It is malformed, or was changed.
    """
    if not is_header(data) or data.keys() != {_WHAT, *_OURS}:
        raise TreeDefError("its header is malformed")
    about = data[_WHAT]
    if type(about) is not dict or not about.keys() <= {"format", "check"}:
        raise TreeDefError("its header is malformed")
    if about.get("format") != VERSION:
        raise TreeDefError(
            f"its format version is {clip(about.get('format'))}, this library reads "
            f"version {VERSION}"
        )
    if about.get("check", _check(data)) != _check(data):
        raise TreeDefError(
            "it was changed since it was saved; if the change was intended, remove "
            'the entry "check"'
        )
    main = {"at": "", "leaves": data["leaves"], "treedef": data["treedef"]}
    parts = [main, *data["objects"]]
    held: dict[str, Held] = {}
    for part in parts:
        held |= {n: _held(n, x["array"]) for n, x in _entries(part) if "array" in x}
    tables = [_table(part, held) for part in parts]
    for table in tables:
        _check_objects(table, len(tables))
    return tables


def _check_objects(table: Table, count: int) -> None:
    """Raise an error if a table names a part that does not exist.

    Raises:
        TreeDefError: The part does not exist.
    """
    numbers = [x.number for x in table.leaves.values() if type(x) is Shared]
    if type(table.at) is not str or any(not 0 < n < count for n in numbers):
        raise TreeDefError("its header is malformed")


def _entries(part: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return the entries of a table that are objects: no values."""
    return [(name, x) for name, x in part["leaves"].items() if type(x) is dict]


def _held(name: str, written: Any) -> Held:
    dtype, shape, checksum = written
    is_form = type(dtype) is str and all(type(size) is int for size in shape)
    if not is_form or type(checksum) is not str:
        raise TreeDefError(
            f"the array {clip(name)} has a malformed description: {clip(written)}"
        )
    return Held(name, Form(dtype, tuple(shape)), checksum)


def _table(part: Any, held: Mapping[str, Held]) -> Table:
    treedef = part["treedef"]
    text = None if treedef is None else json.dumps(treedef)
    leaves = {name: _leaf(name, x, held) for name, x in part["leaves"].items()}
    return Table(part["at"], leaves, text)


def _leaf(name: str, written: Any, held: Mapping[str, Held]) -> Any:
    if type(written) is not dict:
        return read_leaf(written)
    ((word, value),) = written.items()
    if word == "object" and type(value) is int:
        return Shared(value)
    if word in ("array", "same"):
        return held[name if word == "array" else value]
    raise TreeDefError(f"the leaf {clip(name)} is {clip(written)}")

"""The content of a file besides arrays: the leaves by name, and the structure.

Owns the JSON of it, and its version. For each part of a tree (see `parts`) it has a
table from the names of leaves to what they are: a value, an array of the file, the same
array as another leaf, or another part. Knows nothing of formats.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ..errors import TreeDefError
from ..safely import Record, clip
from .arrays import Form
from .parts import Shared
from .values import read_leaf


__all__ = ["Held", "Table", "is_header", "loads", "read_header", "write_header"]

VERSION: Final = 2
_WHAT: Final = "leafwise"
_KEYS: Final = {_WHAT, "leaves", "treedef", "objects"}


class Held(Record):
    """An array of a file; a leaf, wherever it stands in a tree.

    Attributes:
        name: Its name there.
        form: Its dtype and shape.
    """

    __slots__ = __match_args__ = ("name", "form")

    name: str
    form: Form

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
    main, *objects = map(_written, tables)
    rows = ",\n".join(
        f"    {_text(name)}: {_text(leaf)}" for name, leaf in main["leaves"].items()
    )
    leaves = f"{{\n{rows}\n  }}" if rows else "{}"
    return (
        f'{{\n  "{_WHAT}": {_text({"format": VERSION})},\n'
        f'  "leaves": {leaves},\n'
        f'  "treedef": {_text(main["treedef"])},\n'
        f'  "objects": {_text(objects)}\n}}\n'
    )


def _written(table: Table) -> dict[str, Any]:
    treedef = None if table.treedef is None else json.loads(table.treedef)
    leaves = {name: _leaf(name, leaf) for name, leaf in table.leaves.items()}
    return {"at": table.at, "leaves": leaves, "treedef": treedef}


def _leaf(name: str, leaf: Any) -> Any:
    if type(leaf) is Shared:
        return {"object": leaf.number}
    if type(leaf) is not Held:
        return leaf
    return {"array": leaf.form} if leaf.name == name else {"same": leaf.name}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


# ----------------------------------------------------------------------------- reading


def loads(text: str) -> Any:
    """Parse a JSON text.

    Raises:
        ValueError: It is not JSON, or an object in it has a key twice.
        RecursionError: It is nested too deeply.
    """
    return json.loads(text, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise ValueError(f"an object has the key {clip(key)} twice")
        made[key] = value
    return made


def is_header(data: Any) -> bool:
    """Return whether an object of JSON is one that `write_header` wrote."""
    about = data.get(_WHAT) if type(data) is dict else None
    return type(about) is dict and "format" in about


def read_header(data: Any) -> list[Table]:
    """Return the tables of a header.

    Args:
        data: What `loads` returned.

    Raises:
        TreeDefError: It is malformed.
        Exception: It is malformed: what is there is of another type.
    """
    version = data[_WHAT]["format"]
    if version != VERSION:
        raise TreeDefError(
            f"its format version is {clip(version)}, this library reads version "
            f"{VERSION}"
        )
    if data.keys() != _KEYS:
        raise TreeDefError("its header is malformed")
    parts = [{**data, "at": ""}, *data["objects"]]
    held = {
        name: Held(name, _form(leaf["array"]))
        for part in parts
        for name, leaf in part["leaves"].items()
        if type(leaf) is dict and "array" in leaf
    }
    return [_table(part, held, len(parts)) for part in parts]


def _form(written: Any) -> Form:
    dtype, shape = written
    if type(dtype) is not str or any(type(size) is not int for size in shape):
        raise TreeDefError(f"an array has a malformed description: {clip(written)}")
    return Form(dtype, tuple(shape))


def _table(part: Any, held: Mapping[str, Held], count: int) -> Table:
    leaves: dict[str, Any] = {}
    for name, written in part["leaves"].items():
        match written:
            case {"object": int(number)} if 0 < number < count:
                leaves[name] = Shared(number)
            case {"same": first}:
                leaves[name] = held[first]
            case {"array": _}:
                leaves[name] = held[name]
            case dict():
                raise TreeDefError(f"the leaf {clip(name)} is {clip(written)}")
            case _:
                leaves[name] = read_leaf(written)
    treedef = None if part["treedef"] is None else json.dumps(part["treedef"])
    if type(part["at"]) is not str:
        raise TreeDefError("its header is malformed")
    return Table(part["at"], leaves, treedef)

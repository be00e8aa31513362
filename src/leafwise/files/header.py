"""The header of a file: its leaves besides arrays, and its structure, as JSON.

A table has the leaves by name, and a list has the structures of the parts of the tree
(see `parts`), whose leaves follow one another. `codec` writes the leaves; JSON objects
stand for arrays and parts. Reading imports and calls nothing that the file names.
"""

from __future__ import annotations

import json
from typing import Any, Final

from .._lazy import real
from .._text import escape_controls, short_repr
from ..core.codec import read_value
from ..core.serial import unique_keys
from ..errors import TreeDefError
from .arrays import Stored
from .parts import Shared


FORMAT: Final = 2


# ----------------------------------------------------------------------------- header


def write_header(entries: dict[str, Any], treedefs: list[str]) -> str:
    """Return the text of a header, with a line for each leaf.

    Args:
        entries: The leaves by name, as JSON.
        treedefs: The structures of the tree and of objects in several places.
    """
    about = {"format": FORMAT, "version": _library_version()}
    lines = [f"    {_dumps(name)}: {_dumps(leaf)}" for name, leaf in entries.items()]
    leaves = "{}"
    if lines:
        leaves = "{\n" + ",\n".join(lines) + "\n  }"
    return (
        f'{{\n  "leafwise": {_dumps(about)},\n'
        f'  "leaves": {leaves},\n'
        f'  "treedefs": [{", ".join(treedefs)}]\n}}\n'
    )


def _library_version() -> str:
    # not imported: the package imports this module
    version: str = real("leafwise").__version__
    return version


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def parse_json(text: str | bytes) -> Any:
    """Parse a JSON text.

    Raises:
        ValueError: It is not JSON, or an object in it has a key twice.
        RecursionError: It is nested too deeply.
    """
    return json.loads(text, object_pairs_hook=unique_keys)


def read_header(data: Any) -> tuple[dict[str, Any], list[Any]]:
    """Return the leaves of a header by name, and the structures as JSON.

    Raises:
        TreeDefError: It is malformed.
        Exception: It is malformed: something in it is of another type.
    """
    _check_format(data["leafwise"])
    leaves: dict[str, Any] = {}
    for name, entry in data["leaves"].items():
        if type(entry) is not dict:
            leaves[name] = read_value(entry)
            continue
        match entry:
            case {"object": int(number)}:
                leaves[name] = Shared(number)
            case {"array": [str(dtype), list(shape)]} if _are_lengths(shape):
                leaves[name] = Stored(name, dtype, tuple(shape))
            case {"same": str(first_name)}:
                leaves[name] = leaves[first_name]
            case _:
                raise TreeDefError(
                    f"the leaf {short_repr(name)} is {short_repr(entry)}"
                )
    return leaves, list(data["treedefs"])


def _are_lengths(shape: list[Any]) -> bool:
    return all(type(length) is int for length in shape)


def _check_format(about: dict[str, Any]) -> None:
    """Raise an error that says which version wrote a file that cannot be read.

    Raises:
        TreeDefError: The file has another format.
    """
    number = about["format"]
    is_number = type(number) is int  # True is equal to 1
    if is_number and number == FORMAT:
        return
    writer = "another version of leafwise"
    if is_number and number == 1:
        writer = "a version before the first release"
    elif type(about.get("version")) is str:
        writer = f"leafwise {escape_controls(about['version'][:40])}"
    raise TreeDefError(
        f"it has format {short_repr(number)}, which {writer} wrote; this is leafwise "
        f"{_library_version()}, which reads format {FORMAT}"
    )

"""The errors for values that an attribute cannot hold: what is wrong, and ways out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._text import safe_repr, safe_str, short_repr
from ..core.keypath import KeyPath
from ..core.keys import GetAttrKey
from ..core.registry import current
from ..equality.exact import is_array_like
from ..errors import KindError
from .checks import SEQUENCES, Occurrence, find_data, framework_of, module_library


def _summary(value: Any) -> str:
    """Describe a value in a few words: its type, shape and dtype."""
    cls = type(value)
    name = cls.__qualname__
    if is_array_like(value):
        shape = safe_str(tuple(value.shape))
        dtype = safe_str(value.dtype)
        return f"{name} of shape {shape} and dtype {dtype}"
    if cls.__module__ == "builtins" and not isinstance(value, type):
        return f"{name}: {short_repr(value)}"
    return name


def refusal(
    owner: type,
    key: Any,
    value: Any,
    before: str,
    after: str,
) -> KindError:
    """Return the error for a value with data in it: what is wrong, where, and ways out.

    Args:
        owner: The class of the object.
        key: The key of the attribute or item.
        value: The value.
        before: The text before the name of the attribute or item.
        after: The text after it.
    """
    # The caller only asked whether there is data; the error needs to know where.
    data = list(find_data(value))
    path = KeyPath((key, *data[0].path))
    subject = f"{before}{owner.__qualname__}{key}{after}"
    place = f"{owner.__qualname__}{path} is {_summary(data[0].value)}"
    if len(data) > 1:
        place = f"{place} (and {len(data) - 1} more)"
    ways = _ways_out(owner, key, value, is_whole=not data[0].path)
    return KindError(
        f"{subject}: {place}.\n{_list_of_ways(ways)}",
        owner=owner,
        attribute=_name(key),
        path=path,
    )


def _ways_out(
    owner: type,
    key: Any,
    value: Any,
    *,
    is_whole: bool,
) -> list[str]:
    """Return what one can do about a value with data in it.

    Args:
        owner: The class of the object.
        key: The key of the attribute or item.
        value: The value.
        is_whole: Whether the value is data itself, rather than a container.
    """
    type_name = type(value).__name__
    # What was adopted before is a node here, and needs no second adoption.
    is_leaf = current.view.resolve(type(value)) is None
    framework = framework_of(value) if is_leaf else None
    whole = "it" if is_whole else f"the whole {type_name}"
    ways = [f"mark {whole} as data:  obj{key} = data(...)"]
    if is_whole:
        ways.append(f"mark it from the start, even if None:  self{key} = data(None)")
    elif isinstance(value, (*SEQUENCES, Mapping)):
        ours = "Dict" if isinstance(value, Mapping) else "List"
        ways.append(f"use a container that accepts data:  obj{key} = {ours}(...)")
    elif framework is not None:
        name, _ = framework
        adopt = f"leafwise.integrations.adopt({name!r}), and data(...)"
        ways.append(f"adopt the node types of {name}:  {adopt}")
    if isinstance(key, GetAttrKey):
        annotation = "..." if is_whole else type_name
        ways.append(f"declare it in the class:  {key.name}: Data[{annotation}]")
    if isinstance(key, GetAttrKey) and not is_whole:
        statement = f"class {owner.__name__}"
        ways.append(f"treat such containers as data:  {statement}(..., strict=False)")
        ways.append(f"disable pytree for the class:  {statement}(..., pytree=False)")
    ways.append(f"assign a value without data:  obj{key} = static(...)")
    return ways


def foreign_refusal(
    owner: type,
    key: Any,
    foreign: Occurrence,
    *,
    has_data: bool,
) -> KindError:
    """Return the error for a value of another framework that a model would leave out.

    Args:
        owner: The class of the object.
        key: The key of the attribute or item.
        foreign: The value, and its path in what is assigned.
        has_data: Whether there is data in what is assigned.
    """
    cls = type(foreign.value)
    is_leaf = current.view.resolve(cls) is None
    framework_and_flatten = framework_of(foreign.value)
    as_data = (
        "mark it as data(...): its arrays become leaves, which nn.Param does not match "
        "and eval does not switch"
    )
    ways = []
    if framework_and_flatten is not None and is_leaf:
        framework, _ = framework_and_flatten
        reason = f"which {framework} knows as a node and leafwise does not: as a leaf,"
        ways.append(
            f"call leafwise.integrations.adopt({framework!r}) before, and {as_data}"
        )
    else:
        library = module_library(foreign.value)
        reason = f"a module of {library}:"
        if not is_leaf:
            ways.append(as_data)
    ways.append("use the class of leafwise.nn that corresponds to it")
    ways.append(f"store its arrays:  obj{key} = Param(...)")
    if not has_data:
        ways.append(f"if it is no part of the model:  obj{key} = static(...)")
    path = KeyPath((key, *foreign.path))
    type_name = f"{cls.__module__}.{cls.__qualname__}"
    problem = (
        f"{owner.__qualname__}{path} is a {type_name}, {reason} it would be left out "
        "when the object is differentiated, trained, saved or switched by eval."
    )
    return KindError(
        f"{problem}\n{_list_of_ways(ways)}",
        owner=owner,
        attribute=_name(key),
        path=path,
    )


def stray_marks(owner: type, key: Any, stray: Occurrence) -> KindError:
    """Return the error for `data(...)` or `static(...)` inside another value."""
    path = KeyPath((key, *stray.path))
    mark = safe_repr(stray.value).partition("(")[0]
    return KindError(
        f"Found {mark}(...) inside the value of {owner.__qualname__}{key}, at "
        f"{owner.__qualname__}{path}. A mark applies to a whole "
        "attribute, so wrap the assigned value instead:\n"
        f"  obj{key} = {mark}(...)",
        owner=owner,
        attribute=_name(key),
        path=path,
    )


def _name(key: Any) -> str:
    return safe_str(key).removeprefix(".")


def _list_of_ways(ways: list[str]) -> str:
    """Return the end of a message: a numbered list of what one can do."""
    lines = ["Do one of these:"]
    for number, way in enumerate(ways, 1):
        lines.append(f"  {number}. {way}")
    return "\n".join(lines)

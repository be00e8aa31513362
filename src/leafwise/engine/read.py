"""Generated functions that read one object, for frameworks that ask node by node.

`take` reads whole trees. A framework that knows our classes calls the flatten function
of each object in a tree by itself; this makes such a call cheap for objects of a
shape that is met often, as long as their static values are those of the last time.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .emit import Text, tuple_of
from .source import compile_text, forget_files


__all__ = ["make_reader", "reader_after"]

Reader = Callable[[Any], tuple[tuple[Any, ...], Any] | None]


def reader_after(sights: int) -> Callable[[Any, str], Reader | None]:
    """Return a function that gives a shape its reader when it was met so often."""

    def offer(shape: Any, memory: str) -> Reader | None:
        shape.sights += 1
        if shape.sights < sights:
            return None
        try:
            return make_reader(shape.field_layout, memory)
        except RecursionError:  # the caller is deep in a stack of its own
            return None

    return offer


def make_reader(field_layout: Any, memory: str) -> Reader:
    """Return a function that takes objects of a shape apart, or gives None.

    Args:
        field_layout: The field_layout of the shape; see `Shaped`.
        memory: The attribute in which an object keeps its aux data of the last time.

    Returns:
        A function from an object to its children and aux data, or to None if the object
        is not just as expected.
    """
    text = Text()
    data, static = (
        [f"values[{text.constant(name)}]" for name in names]
        for names in (field_layout.data, field_layout.static)
    )
    same = [f"{value} is known[{place}]" for place, value in enumerate(static)]
    text.add("def read(node):")
    text.deeper()
    text.add("try:")
    text.deeper()
    text.add("values = node.__dict__")
    text.add(f"aux = node.{memory}")
    text.add("known = aux.values")
    expected = [
        f"aux.field_layout is {text.constant(field_layout)}",
        f"len(values) == {len(field_layout.names)}",
    ]
    text.add(f"if {' and '.join(expected + same)}:")
    text.deeper()
    text.add(f"return {tuple_of(data)}, aux")
    text.back()
    text.back()
    text.add("except (AttributeError, KeyError):")
    text.add("    pass")
    text.add("return None")
    read, file = compile_text(text, "read")
    weakref.finalize(read, forget_files, [file]).atexit = False
    return read

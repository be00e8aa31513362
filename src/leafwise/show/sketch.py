"""What objects say of themselves: how they are shown, and what data they hold.

Texts, diagrams and pages are made from the `Sketch` of each object, summaries from its
`Contents`. The descriptions of our own classes return them, see `Description`; for all
other nodes they follow from the registration. `Contents` leaves out what only a text
needs, since a summary asks every object of a tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from .._hooks import description_of
from .._text import FAULTS, escape_controls, safe_repr
from ..core.context import Context
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.treedef import PyTreeDef
from ..equality.arrays import is_array
from ..fields import Kind
from ..selection.explain import array_text


Arrays: TypeAlias = Literal["short", "values"]
"""Whether arrays are written as dtype and shape, or by their `repr`."""


class Child(NamedTuple):
    """A value inside an object, as it is shown.

    Attributes:
        key: Its key; None if it is no child of the tree.
        value: The value.
        label: The text before it, such as `x=`; by default, that of its key.
        kind: Its kind, or a function from the kind of the object to it; None for the
            kind of the object.
    """

    key: Any
    value: Any
    label: str = ""
    kind: Kind | Callable[[Kind | None], Kind] | None = None

    def kind_in(self, kind: Kind | None) -> Kind | None:
        """Return the kind of the value in an object of some kind."""
        if self.kind is None or isinstance(self.kind, Kind):
            return self.kind or kind
        return self.kind(kind)


class Sketch(NamedTuple):
    """What an object is made of, as it is shown.

    Attributes:
        children: The values inside.
        opening: The text before them, such as `Linear(`.
        closing: The text after them.
        comment: A note shown after the object.
        hidden: How many children are left out of `children`.
    """

    children: Sequence[Child]
    opening: str
    closing: str
    comment: str = ""
    hidden: int = 0


class Contents(NamedTuple):
    """The data in an object, for sums.

    Attributes:
        values: The children.
        keys: Returns their keys for the aux data and the number of children, since a
            summary needs few; None if these are the positions in a sequence.
        aux: The aux data.
        kinds: The kind of each child; None for that of the object.
        holds: What counts as data in it: `leaves` for all leaves, `arrays` for arrays
            alone, `value` if it stands for its only child, "" for what counts as data
            in the object around it.
    """

    values: Sequence[Any]
    keys: Callable[[Any, int], Sequence[Any]] | None = None
    aux: Any = None
    kinds: Sequence[Kind] | None = None
    holds: Literal["", "leaves", "arrays", "value"] = ""


def sketch_of(value: Any, context: Context) -> Sketch | None:
    """Return what a value is made of, None for a leaf. Never raises.

    Args:
        value: The value.
        context: Which values are nodes.
    """
    try:
        if type(value) is PyTreeDef:
            if value.is_leaf():
                return None
            cls = type(None) if value.type is None else value.type
            return _sketch(cls, value.entries(), value.children())
        node_type = context.node_type_of(value)
        description = description_of(type(value))
        sketch: Sketch | None = None
        if description is not None:
            sketch = description.outline(value)
        if sketch is not None or node_type is None:
            return sketch
        children, aux = node_type.flatten(value)
        static = [
            Child(None, getattr(value, name), f"{name}=", Kind.STATIC)
            for name in node_type.attributes.static_names(value)
        ]
        return _sketch(
            type(value), node_type.keys(aux, len(children)), children, static
        )
    except FAULTS:  # a flatten function fails: the node is shown as a leaf
        return None


def _sketch(
    cls: type, keys: Sequence[Any], values: Sequence[Any], static: Sequence[Child] = ()
) -> Sketch:
    """Return the sketch of a node of a class."""
    children = [Child(key, value) for key, value in zip(keys, values, strict=True)]
    children.extend(static)
    if cls in _BRACKETS:
        opening, closing = _BRACKETS[cls]
        if cls is tuple and len(keys) == 1:
            closing = ",)"
        return Sketch(children, opening, closing)
    opening = f"{cls.__name__}("
    key_types = {type(key) for key in keys}
    if key_types == {DictKey}:
        return Sketch(children, f"{opening}{{", "})")
    if key_types == {SequenceKey}:
        return Sketch(children, f"{opening}[", "])")
    return Sketch(children, opening, ")")


_BRACKETS: Final = {
    dict: ("{", "}"),
    list: ("[", "]"),
    tuple: ("(", ")"),
    type(None): ("None", ""),
}


def contents_of(value: Any, context: Context, kind: Kind) -> Contents | None:
    """Return the data in a value, None for a leaf.

    Args:
        value: The value.
        context: Which values are nodes.
        kind: The kind of the value.

    Raises:
        Exception: What the predicate of the context raises.
    """
    cls = type(value)
    try:
        node_type = context.view.resolve(cls)
        description = None
        if cls not in _BRACKETS:  # attributes that are not there are slow to look up
            description = description_of(cls)
    except FAULTS:  # a class may answer anything
        return None
    if node_type is None and description is None:
        return None
    if context.stop is not None and context.stops_at(value):
        return None
    try:
        contents: Contents | None = None
        if description is not None:
            contents = description.contents(value, kind)
        if contents is not None or node_type is None:
            return contents
        values, aux = node_type.flatten(value)
    except FAULTS:  # a flatten function fails: the node counts as a leaf
        return None
    if node_type.is_sequence:
        return Contents(values)
    return Contents(values, node_type.keys, aux)


# -------------------------------------------------------------------------- texts

_LONGEST: Final = 200
_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+(?=>)")
_LINE_BREAK: Final = re.compile(r"\s*\n\s*")


def label_of(key: Any) -> str:
    """Return the text before a child in Python source.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.show.sketch import label_of
        >>> label_of(lw.DictKey("lr")), label_of(lw.GetAttrKey("x"))
        ("'lr': ", 'x=')
    """
    if type(key) is DictKey:
        return f"{_short(key.key)}: "
    if type(key) is GetAttrKey:
        return f"{escape_controls(key.name)}="
    return ""


def leaf_text(value: Any, arrays: Arrays = "short") -> str:
    """Return a leaf as text that is safe to print. Never raises.

    Args:
        value: The leaf.
        arrays: `values` to write arrays by their `repr`, over several lines.

    Example:
        >>> from leafwise.show.sketch import leaf_text
        >>> leaf_text("adam"), leaf_text("x" * 1000)[-24:]
        ("'adam'", "x...' (1,000 characters)")
    """
    if type(value) is PyTreeDef:
        return "*"
    if description_of(type(value)) is not None:  # it failed, and so would its repr
        return f"<{type(value).__name__} that cannot be printed>"
    if not is_array(value):
        return _short(value)
    if arrays == "short":
        return array_text(value)
    lines = safe_repr(value).splitlines()
    return "\n".join(escape_controls(line) for line in lines)


def _short(value: Any) -> str:
    """Return the `repr` of a value in one line, cut if it is long."""
    if type(value) not in (str, bytes):
        # twice as much as is shown, since addresses and line breaks go
        text = _LINE_BREAK.sub(" ", safe_repr(value)[: 2 * _LONGEST])
        text = escape_controls(_ADDRESS.sub("", text))
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    if len(value) <= _LONGEST:
        return escape_controls(repr(value))
    unit = "characters" if isinstance(value, str) else "bytes"
    text = repr(value[: _LONGEST // 2])
    return escape_controls(f"{text[:-1]}...{text[-1]} ({len(value):,} {unit})")

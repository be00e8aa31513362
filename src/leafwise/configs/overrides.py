"""Changes to a tree written as text: `optim.lr=3e-4`, `+seed=7`, `~optim`.

`Overrides` splits a text into a path and a value and finds the edits that it stands
for. `guess` reads a value whose type is unknown; `selection.convert` makes it fit the
declared type, or else the type of the value that it replaces.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .._records import MISSING
from .._runtime import late_imports
from .._text import short_repr, typed_repr
from ..core.context import Context, context_of
from ..core.keypath import KeyPath, parse_literal, path_below
from ..core.keys import DictKey, GetAttrKey, SequenceKey
from ..core.node import NodeType
from ..core.registry import GLOBAL
from ..errors import EditError, PathError
from ..selection import changes, patterns, select
from ..selection.changes import Delete, Insert, Set
from ..selection.convert import (
    UNDECLARED,
    Converter,
    Declared,
    TypeMismatch,
    class_of,
    members_of,
    opening_dataclasses,
    origin_of,
    text_of,
    type_name,
    unknown_field,
)
from ..selection.patterns import END, QUOTED, place_text
from ..selection.select import Place, Selector


if TYPE_CHECKING:
    from .._typing import Tree


# ---------------------------------------------------------------------------- overrides


def override(
    tree: Tree,
    overrides: Iterable[str] | str,
    *,
    namespace: str = GLOBAL,
) -> Tree:
    """Apply changes written as text, such as `optim.lr=0.1`, and return the new tree.

    `optim.lr=3e-4` replaces a value, and casts the new value to the type of the old
    one. `+optim.wd=0.1` adds a value, `++optim.wd=0.1` adds or replaces it, also by a
    value of another type, and `~optim.wd` deletes it. You can write any pattern in
    place of a path. Overrides are applied in order. Then each changed object whose
    class validates is validated once, see :ref:`objects that validate <validated>`.

    If the class of an object or the annotation of a container declares a type, the
    value is cast to that type; `Any` and `object` take every value. Elsewhere a number
    replaces a number, whether it is an int or a float, and `null` is None, whatever the
    old value is. A dict that is written for an object sets some of its fields. The
    fields of a dataclass can be changed whether or not the class is registered.

    A value without a type is read as in YAML: numbers, `true`, `false` and `null`,
    lists and dicts as in `[a, b]` and `{x: 2}`; anything else is a string, and so is
    what stands in quotes. Dates, numbers that begin with a zero, and nothing at all are
    strings, too.

    Args:
        tree: Any tree; None counts as a leaf.
        overrides: A list of strings, or a single string.
        namespace: The namespace in which classes are looked up.

    Returns:
        The changed tree, which shares unchanged subtrees with the old one.

    Raises:
        EditError: A value cannot be cast, a string is not an override, or a value to
            add exists already.
        PathError: A pattern has no match or is malformed.
        TypeError: `overrides` is a mapping.

    Example:
        >>> import leafwise as lw
        >>> config = {"optim": {"lr": 0.1, "nesterov": False}, "widths": [64, 32]}
        >>> lw.configs.override(config,
        ...     ["optim.lr=1", "optim.nesterov=yes", "widths[0]=128"])
        {'optim': {'lr': 1.0, 'nesterov': True}, 'widths': [128, 32]}
        >>> lw.configs.override(config, ["~optim", "+seed=7"])
        {'widths': [64, 32], 'seed': 7}
        >>> lw.configs.override(config, "widths[0]=wide")
        Traceback (most recent call last):
        ...
        leafwise.errors.EditError: override 'widths[0]=wide': 'wide' is not an int; \
the value at widths[0] is 64
    """
    if isinstance(overrides, Mapping):
        raise TypeError(
            "overrides are texts such as 'optim.lr=0.1', got "
            f"{typed_repr(overrides)}; tree_update(config, {{...}}) takes a mapping"
        )
    texts = [overrides] if isinstance(overrides, str) else overrides
    context = context_of(none_is_leaf=True, namespace=namespace)
    return Overrides(guess, opening_dataclasses(context)).apply(tree, texts)


_OVERRIDE: Final = re.compile(
    rf"""
    \s* (?P<operator> \+{{0,2}} )
    (?P<path> (?: [^=\[]                              # a name
                | \[ (?: [^\]'\"] | {QUOTED} )* \]    # brackets, which may quote a "="
              )* )
    =
    (?P<value> .* )
    """,
    re.VERBOSE | re.DOTALL,
)


class Overrides:
    """How overrides are read and applied.

    Args:
        reader: Reads a value whose type is unknown, as `guess` does.
        context: Which values are nodes.
    """

    def __init__(self, reader: Callable[[str], Any], context: Context) -> None:
        self.reader = reader
        self.context = context
        self.converter = Converter(context.view)

    def apply(self, tree: Tree, texts: Iterable[str]) -> Tree:
        """Return the changed tree; see `override`."""
        record = changes.Edited()
        for text in texts:
            try:
                edits = self._edits(tree, text)
                tree = changes.rebuild(tree, edits, self.context, record)
            except (EditError, PathError) as error:
                full_error = type(error)(f"override {short_repr(text)}: {error}")
                full_error.path = error.path
                raise full_error from None
        record.validate()  # not sooner: two fields may be valid only together
        return tree

    def _edits(self, tree: Any, text: str) -> changes.Edits:
        """Return the edits that an override stands for."""
        if text.startswith("~"):
            selector = select.read_selector(text[1:], self.context.view)
            places = select.require(selector, tree, self.context)
            return [(place.path, Delete()) for place in places]
        match = _OVERRIDE.fullmatch(text)
        if match is None:
            raise EditError("expected path=value, +path=value, ++path=value or ~path")
        operator = match["operator"]
        path = match["path"].strip()
        value = match["value"].strip()
        if operator == "+" or (path.endswith("[+]") and not operator):
            return self._insertions(tree, path, value)
        selector = select.read_selector(path, self.context.view)
        places = selector.targets(tree, self.context)
        if not places and operator == "++":
            return self._insertions(tree, path, value)
        if not places:
            raise self._no_match(tree, selector, value)
        edits: list[tuple[KeyPath, changes.Edit]] = []
        for place in places:
            # the text is read for each place, so that two do not share one list
            declared = self.converter.declared_at(tree, place.path)
            replacement = _Replacement(
                old=place.value,
                path=place.path,
                declared=declared,
                value=self.reader(value),
                text=value,
                takes_all=operator == "++",
            )
            edits += self._replacements(replacement)
        return edits

    # --------------------------------------------------------------------- adding

    def _insertions(
        self,
        tree: Any,
        path: str,
        text: str,
    ) -> changes.Edits:
        """Return the edits that insert a value, and dicts for parents that are missing.

        A parent that is None is replaced by a dict.
        """
        steps = patterns.parse(path)
        value = self.reader(text)
        # from the inside out: the deepest parent that exists gets the missing ones
        for depth, step in reversed(list(enumerate(steps))):
            parents = select.find(tree, steps[:depth], self.context)
            if any(parent.value is not None for parent in parents):
                edits = changes.insertions(parents, step, value, self.context)
                own_text = text if depth + 1 == len(steps) else None
                return [self._typed(tree, own_text, *one) for one in edits]
            if step.key is END:
                value = [value]
            elif step.name is not None:
                value = {step.name: value}
            else:
                name = short_repr(step.text)
                raise EditError(f"{name} has no match and is not a name for a new key")
            if parents:
                new = Set(value)
                paths = [parent.path for parent in parents]
                return [self._typed(tree, None, path, new) for path in paths]
        raise EditError("the root already exists; name what to add: +name=value")

    def _typed(
        self,
        tree: Any,
        text: str | None,
        path: KeyPath,
        change: Any,
    ) -> tuple[KeyPath, changes.Edit]:
        """Return an insertion with key and value of the types declared for them.

        Raises:
            EditError: The key or the value cannot be cast.
        """
        declared = self.converter.declared_at(tree, path)
        if declared.type is MISSING:
            return path, change
        above = self.converter.declared_at(tree, path.parent)
        key = path[-1]
        try:
            if type(key) is DictKey and above.type is not MISSING:
                key_type = self.converter.key_type(above.type)
                key = DictKey(self.converter.convert_key(key.key, key_type))
        except TypeMismatch as error:
            if declared.converts:
                return path, change
            raise error.at(path) from error
        value = change.value
        text = text_of(value) if text is None else text
        place = Place(path, value)
        value = self.converter.convert_at(place, value, text, declared)
        new_path = path_below(path.parent, key)
        if type(change) is Set:
            return new_path, Set(value)
        return new_path, Insert(value)

    def _no_match(
        self,
        tree: Any,
        selector: Selector,
        value: str,
    ) -> PathError:
        """Return the error for a path without a match; suggest `+` if that works."""
        root = Place(KeyPath(), tree)
        error = select.no_match(selector, root, self.context)
        try:
            edits = self._insertions(tree, selector.text, value)
            changes.rebuild(tree, edits, self.context)
        except (EditError, PathError):
            return error
        return PathError(f"{error}; use +{selector.text}={value} to add it")

    # ------------------------------------------------------------------ replacing

    def _replacements(self, replacement: _Replacement) -> changes.Edits:
        """Return the edits that replace a value.

        A dict that is written for an object sets the fields that it names.

        Raises:
            EditError: A value does not fit.
        """
        old = replacement.old
        value = replacement.value
        node_type = self.context.node_type_of(old)
        fields: dict[GetAttrKey, Any] = {}
        if node_type is not None and isinstance(value, dict):
            fields = select.fields_of(old, node_type)
        names = {key.name for key in fields}
        if not fields or not names.issuperset(value):
            new = self._fit(replacement, node_type)
            return [(replacement.path, Set(new))]
        types = self.converter.attribute_types(type(old))
        edits: list[tuple[KeyPath, changes.Edit]] = []
        for name, item in value.items():
            key = GetAttrKey(name)
            field = _Replacement(
                old=fields[key],
                path=path_below(replacement.path, key),
                declared=types.get(name, UNDECLARED),
                value=item,
                text=text_of(item),
                takes_all=replacement.takes_all,
            )
            edits += self._replacements(field)
        return edits

    def _fit(self, replacement: _Replacement, node_type: NodeType | None) -> Any:
        """Return the new value, as the declared type or that of the old value asks.

        Raises:
            EditError: The value does not fit.
        """
        old = replacement.old
        value = replacement.value
        text = replacement.text
        hint = replacement.declared.type
        is_declared = self.converter.is_readable(hint)
        if hasattr(old, "dtype"):
            is_declared = False  # an array, or a scalar of numpy, keeps its dtype
        if not is_declared and (old is None or value is None):
            return value
        try:
            if not is_declared:
                return self._fit_like(old, node_type, value, text)
            if old is None and value is None:
                return None
            new = self.converter.convert(value, text, hint)
        except ValueError as error:
            is_anything = hint is Any or hint is object
            if replacement.takes_all or replacement.declared.converts or is_anything:
                return value
            raise replacement.error(
                node_type, error, is_declared=is_declared
            ) from error
        return new if node_type is None else _with_class_of(old, node_type, new, hint)

    def _fit_like(
        self,
        old: Any,
        node_type: NodeType | None,
        value: Any,
        text: str | None,
    ) -> Any:
        """Return a value of the type of an old one.

        A container may be replaced by one with other items, if these are like the old
        ones; it stays of its class.

        Raises:
            ValueError: The value is of another type.
        """
        if node_type is None:
            return self.converter.convert(value, text, _type_like(old))
        key_class = changes.item_key(old, node_type)
        old_items = {} if key_class is None else changes.entries_of(old, node_type)
        new_items: dict[Any, Any] = {}
        if key_class is DictKey and isinstance(value, dict):
            for key, item in value.items():
                new_items[key] = self._item_like(old_items.get(key), item)
        elif key_class is SequenceKey and isinstance(value, list | tuple):
            types = {_type_like(item) for item in old_items.values()}
            example = None
            if len(types) == 1:
                example = next(iter(old_items.values()))
            for position, item in enumerate(value):
                new_items[position] = self._item_like(example, item)
        else:
            raise ValueError(value)
        return changes.with_entries(old, node_type, new_items)

    def _item_like(self, example: Any, item: Any) -> Any:
        if example is None:
            return item
        hint = _type_like(example) | None
        if not self.converter.is_readable(hint):
            return item
        return self.converter.convert(item, text_of(item), hint)


def _with_class_of(
    old: Any,
    node_type: NodeType,
    new: Any,
    hint: Any,
) -> Any:
    """Return new items in a container of the class of the old one, if it is declared.

    A mapping stays what it is, such as an `OrderedDict` where a dict is declared.
    """
    key_class = changes.item_key(old, node_type)
    if key_class is DictKey and type(new) is dict:
        items = new
    elif key_class is SequenceKey and type(new) in (list, tuple):
        classes = [origin_of(member) for member in members_of(hint)]
        if not any(isinstance(cls, type) and isinstance(old, cls) for cls in classes):
            return new
        items = dict(enumerate(new))
    else:
        return new
    return changes.with_entries(old, node_type, items)


def _type_like(example: Any) -> Any:
    """Return the type of what may replace a value where no type is declared."""
    cls = class_of(example)
    return int | float if cls is int else cls


class _Replacement(NamedTuple):
    """A value that is to replace another one.

    Attributes:
        old: The old value.
        path: Where it is.
        declared: The type that is declared for it.
        value: The new value, read without knowing the type.
        text: The text of the new value; None if it is a part of a text.
        takes_all: Whether a value that does not fit is no error.
    """

    old: Any
    path: KeyPath
    declared: Declared
    value: Any
    text: str | None
    takes_all: bool

    def error(
        self,
        node_type: NodeType | None,
        cause: ValueError,
        *,
        is_declared: bool,
    ) -> EditError:
        """Return the error for a value that does not fit."""
        text = self.value if self.text is None else self.text
        fields = {} if node_type is None else select.fields_of(self.old, node_type)
        if is_declared:
            problem = f"is not of the declared type {type_name(self.declared.type)}"
            problem += _detail(cause)
        elif node_type is None:
            problem = _not_of_class(text, class_of(self.old))
        else:
            problem = f"cannot replace the {type(self.old).__name__}"
            if fields and isinstance(self.value, dict):
                names = [key.name for key in fields]
                unknown = [name for name in self.value if name not in names]
                problem += f": it {unknown_field(unknown[0], names)}"
        where = f"the value at {place_text(self.path)} is {short_repr(self.old)}"
        return EditError(f"{short_repr(text)} {problem}; {where}", path=self.path)


def _detail(error: ValueError) -> str:
    """Return what is wrong inside of a value, or beside its type."""
    if not isinstance(error, TypeMismatch):
        return ""
    if error.keys:
        return f": {error.at(KeyPath())}"
    return f": {error.reason}" if error.reason else ""


def _not_of_class(text: Any, cls: type) -> str:
    problem = f"is not {select.with_article(cls.__qualname__)}"
    if cls is int and isinstance(text, str) and re.fullmatch("0[0-7]+", text):
        problem += f" (write 0o{text[1:]} for an octal number)"
    return problem


# ---------------------------------------------------------------- values without a type


def guess(text: str) -> Any:
    """Read a value whose type is unknown, as in YAML.

    JSON, literals of Python, and `[a, b]` and `{a: b}` are read; else it is a string.

    Lists and dicts may be as deep as Python's recursion allows; else it is a string.

    Example:
        >>> from leafwise.configs.overrides import guess
        >>> guess("1e-3"), guess("[a, {x: 2, y: 'b, c'}]"), guess("a b")
        (0.001, ['a', {'x': 2, 'y': 'b, c'}], 'a b')
    """
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _NAME.fullmatch(text):
        return text  # the usual case: none of the readers has to fail first
    for reader in (json.loads, _parse_python, _parse_words):
        try:
            return reader(text)
        except _UNREADABLE:
            continue
    return text


_NAME: Final = re.compile(r"[^\W\d][\w.-]*")
_SPELLINGS: Final[tuple[tuple[Any, str], ...]] = (
    (None, "~ null Null NULL None"),
    (True, "true True TRUE"),
    (False, "false False FALSE"),
    (math.inf, ".inf .Inf .INF +.inf +.Inf +.INF Infinity"),
    (-math.inf, "-.inf -.Inf -.INF -Infinity"),
    (math.nan, ".nan .NaN .NAN NaN"),
)
_CONSTANTS: Final[Mapping[str, Any]] = {
    text: value for value, texts in _SPELLINGS for text in texts.split()
}
"""The constants of YAML, JSON and Python."""
_UNREADABLE: Final = (
    ValueError,
    TypeError,  # a key that is a list
    SyntaxError,
    PathError,  # a string with a wrong escape
    RecursionError,
    MemoryError,  # of Python's parser, for a text that is too deep
)


def _parse_python(text: str) -> Any:
    with late_imports:
        import ast

        from ..core.literals import parse

    return ast.literal_eval(parse(text.lstrip(" \t")))


def _parse_words(text: str) -> Any:
    """Read a list or dict in which strings need no quotes.

    They are written as on the command line of Hydra: `[a, b c, {x: 1, y: null}]`. A
    backslash makes the next bracket, comma, colon, quote or space a part of a word.

    Raises:
        ValueError: It is not such a text.
    """
    reader = _WordReader(text)
    value = reader.read_value()
    if text[reader.position :].strip():
        raise ValueError(text)
    return value


class _WordReader:
    """Reads a text from left to right.

    Attributes:
        text: The text.
        position: Where the next token begins.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def read_value(self) -> Any:
        if self.skip("["):
            return list(self.read_items("]", self.read_value))
        if self.skip("{"):
            return dict(self.read_items("}", self.read_pair))
        return self.read_word(_VALUE)

    def read_items(self, bracket: str, read_item: Callable[[], Any]) -> Iterator[Any]:
        """Yield items up to a closing bracket; a comma may stand after the last one."""
        while not self.skip(bracket):
            yield read_item()
            if self.skip(","):
                continue
            if not self.text.startswith(bracket, self.position):
                raise ValueError(self.text)

    def read_pair(self) -> tuple[Any, Any]:
        key = self.read_word(_KEY)
        return key, self.read_value()

    def read_word(self, pattern: re.Pattern[str]) -> Any:
        match = pattern.match(self.text, self.position)
        if match is None:
            raise ValueError(self.text)
        self.position = match.end()
        if match["quoted"]:
            return parse_literal(match["quoted"])
        word = match["word"]
        return _ESCAPED.sub(r"\1", word) if "\\" in word else guess(word)

    def skip(self, mark: str) -> bool:
        """Skip blanks, and a mark; return whether it was there."""
        while self.text[self.position : self.position + 1].isspace():
            self.position += 1
        has_mark = self.text.startswith(mark, self.position)
        if has_mark:
            self.position += len(mark)
        return has_mark


_KEY: Final = re.compile(
    rf"""
    \s*
    (?: (?P<quoted> {QUOTED} )
      | (?P<word> (?! ['"\s] )
            (?: \\.                         # an escaped character
              | \$\{{ [^}}]* \}}              # an interpolation: ${{a.b}}
              | [^\\,:\[\]{{}}()]
            )+? ) )
    \s* :
    """,
    re.VERBOSE | re.DOTALL,
)
"""A key of a dict and its colon."""
_VALUE: Final = re.compile(
    rf"""
    \s*
    (?: (?P<quoted> {QUOTED} )
      | (?P<word> (?! ['"\s] )
            (?: \\.
              | \$\{{ [^}}]* \}}
              | [^\\,\[\]{{}}()]           # a colon as well: http://a
            )+? ) )
    (?= \s* [,\]}}] )
    """,
    re.VERBOSE | re.DOTALL,
)
"""A value, which ends before a comma or a closing bracket."""
_ESCAPED: Final = re.compile(r"\\([\\()\[\]{}:=, \t'\"])")

"""Key paths: how a place in a tree is named, read and written down.

`KeyPath` is the path that users see, with its text and the parser of that text: for
every key that has a literal, `KeyPath.parse(str(path)) == path`. `Link` is what walks
have in place of a path. Reading a path asks the node types of node types only for
children that have no name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, SupportsIndex, TypeVar, overload

from .._runtime import late_imports
from .._text import (
    escape_lines,
    join_names,
    nearest_names,
    other_type,
    safe_str,
    short_repr,
)
from ..errors import PathError
from .keys import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey, literal
from .registry import GLOBAL, View, view_of


T = TypeVar("T")


def keystr(keys: Iterable[Any], *, simple: bool = False, separator: str = "") -> str:
    """Return a key path as a string: the strings of its keys, joined.

    Args:
        keys: The keys from the root down.
        simple: Whether to omit brackets, quotes and dots. The result is for display:
            it cannot be parsed.
        separator: The string between two keys.

    Example:
        >>> import leafwise as lw
        >>> path = (lw.DictKey("layers"), lw.SequenceKey(0), lw.GetAttrKey("w"))
        >>> lw.keystr(path)
        "['layers'][0].w"
        >>> lw.keystr(path, simple=True, separator="/")
        'layers/0/w'
    """
    return separator.join(map(_simple if simple else safe_str, keys))


def _simple(key: Any) -> str:
    match key:
        case SequenceKey(value) | DictKey(value) | FlattenedIndexKey(value):
            return literal(value) if type(value) is int else safe_str(value)
        case GetAttrKey(value):
            return safe_str(value)
    return safe_str(key)


class KeyPath(tuple[Any, ...]):
    """The keys that lead from the root of a tree to one of its nodes.

    A tuple of keys. Call it to read the node (`path(tree)`). You can also print and
    slice it, parse it from a string, and join it with `+`.

    Example:
        >>> import leafwise as lw
        >>> path = lw.KeyPath((lw.DictKey("a"), lw.SequenceKey(1)))
        >>> print(path)
        ['a'][1]
        >>> path({"a": [10, 20]})
        20
        >>> print(path.parent + path[1:])
        ['a'][1]
        >>> lw.KeyPath.parse("['a'][1]") == path
        True
    """

    __slots__ = ()

    def __str__(self) -> str:
        return keystr(self)

    def __repr__(self) -> str:
        return f"KeyPath({tuple.__repr__(self)})"

    def __add__(self, other: Any) -> KeyPath:
        return KeyPath(tuple.__add__(self, tuple(other)))

    @overload
    def __getitem__(self, index: SupportsIndex) -> Any: ...

    @overload
    def __getitem__(self, index: slice) -> KeyPath: ...

    def __getitem__(self, index: Any) -> Any:
        keys = tuple.__getitem__(self, index)
        return KeyPath(keys) if isinstance(index, slice) else keys

    @property
    def parent(self) -> KeyPath:
        """The path without its last key; the root is its own parent.

        Example:
            >>> import leafwise as lw
            >>> print(lw.KeyPath.parse(".a['b']").parent)
            .a
        """
        return self[:-1]

    def where(self) -> str:
        """Return the path for use in a message; the empty path is "the root".

        Control characters are escaped.

        Example:
            >>> import leafwise as lw
            >>> lw.KeyPath(()).where(), lw.KeyPath((lw.SequenceKey(0),)).where()
            ('the root', '[0]')
        """
        return escape_lines(keystr(self)) or "the root"

    def __call__(self, tree: Any, *, namespace: str = GLOBAL) -> Any:
        """Read the node or leaf at this path in a tree.

        Args:
            tree: The tree.
            namespace: Where to look up classes whose children have no keys.

        Raises:
            PathError: The path does not exist in the tree.

        Example:
            >>> import leafwise as lw
            >>> lw.KeyPath.parse("['a'][0]")({"a": [1]})
            1
        """
        view = view_of(namespace)
        for depth, key in enumerate(self):
            try:
                tree = read(key, tree, view)
            except (LookupError, AttributeError, TypeError) as error:
                raise _no_such_path(self, depth, tree, view) from error
        return tree

    def code(self, name: str = "tree") -> str:
        """Return Python code that reads this path.

        The code is safe to run: it reads attributes and items, and calls nothing but
        `getattr`, `float`, `complex` and `leafwise.tree.children`. Keys are written as
        literals, and Enum members by their qualified name. So the module of an Enum
        must be imported where the code runs.

        Args:
            name: The expression for the tree.

        Raises:
            PathError: A key is an object that cannot be written as such code. The path
                itself can still read it: `path(tree)`.

        Example:
            >>> import leafwise as lw
            >>> lw.KeyPath.parse("['a'][0].w").code("model")
            "model['a'][0].w"
            >>> lw.KeyPath((lw.GetAttrKey("class"), lw.DictKey(float("inf")))).code()
            "getattr(tree, 'class')[float('inf')]"
        """
        for depth, key in enumerate(self):
            try:
                name = _code(key, name)
            except (ValueError, RecursionError):
                path = self[: depth + 1]
                raise PathError(
                    f"{short_repr(key)} cannot be written as code: only literals and "
                    "Enum members can",
                    path=path,
                ) from None
        return name

    @classmethod
    def parse(cls, text: str) -> KeyPath:
        """Parse a path from its string.

        Enum members are looked up in modules that are already imported. Nothing is
        imported, and no code runs.

        Args:
            text: The result of `str(path)`.

        Raises:
            PathError: The string is not a valid path.

        Example:
            >>> import leafwise as lw
            >>> lw.KeyPath.parse(".layers[0]['w']")
            KeyPath((GetAttrKey(name='layers'), SequenceKey(idx=0), DictKey(key='w')))
        """
        keys = []
        start = 0
        while start < len(text):
            match = _KEY.match(text, start)
            if match is None:
                raise _syntax_error(text, start, "a key is like [0], ['a'] or .name")
            keys.append(_read_key(text, match))
            start = match.end()
        return cls(keys)


ROOT: Final = KeyPath()
"""The path of a tree itself."""


class Link:
    """A place in a tree, as a walk gets there: the place above it, and one more key.

    A new link takes the same time at any depth, but a path has to copy all keys. So
    walks make links, and paths of the few places that somebody asks about.

    Attributes:
        above: The link of the parent; None at the place where the walk began.
        key: The key in the parent; None where the walk began.
    """

    __slots__ = ("above", "key")

    def __init__(self, above: Link | None = None, key: Any = None) -> None:
        self.above: Link | None = above
        self.key: Any = key

    def path(self, root: KeyPath = ROOT) -> KeyPath:
        """Return the path of the place.

        Args:
            root: The path of the place where the walk began.
        """
        keys: list[Any] = []
        link = self
        while link.above is not None:
            keys.append(link.key)
            link = link.above
        keys.reverse()
        if root:
            keys[:0] = root
        return KeyPath(keys)


def follow_link(
    link: Link,
    start: T,
    step: Callable[[T, Any], T],
    results: dict[Link, T],
) -> T:
    """Return where steps along the keys of a link lead to.

    Places share the links of the nodes above them, so each step is made once.

    Args:
        link: The link.
        start: What stands where the walk began.
        step: Takes what stands at a link and a key, returns what stands below.
        results: What stands at the links that were followed before; added to.
    """
    new_links: list[Link] = []
    result = results.get(link)
    while result is None and link.above is not None:
        new_links.append(link)
        link = link.above
        result = results.get(link)
    if result is None:
        result = start
    for new_link in reversed(new_links):
        result = step(result, new_link.key)
        results[new_link] = result
    return result


def path_below(path: KeyPath, key: Any) -> KeyPath:
    """Return the path to a child."""
    return KeyPath(tuple.__add__(path, (key,)))


def _code(key: Any, name: str) -> str:
    """Return the code that reads a key of what other code stands for.

    Raises:
        ValueError: There is no such code.
    """
    with late_imports:
        from .literals import is_plain_name, python_code  # and with it ast

    match key:
        case FlattenedIndexKey(index):
            return f"leafwise.tree.children({name})[{python_code(index)}]"
        case GetAttrKey(str(attribute)):
            exact = str.__str__(attribute)
            if is_plain_name(exact):
                return f"{name}.{exact}"
            return f"getattr({name}, {exact!r})"
        case SequenceKey(value) | DictKey(value):
            return f"{name}[{python_code(value)}]"
    raise ValueError("no code for a key of this class")


# --------------------------------------------------------------------- reading


def read(key: Any, node: Any, view: View) -> Any:
    """Read one child, by the key's own way or by the node type of the node.

    Raises:
        LookupError: The node has no such child.
    """
    if type(key) in (SequenceKey, DictKey, GetAttrKey):
        try:
            return key.get(node)
        except (LookupError, AttributeError, TypeError):
            return _by_node_type(key, node, view)
    return _by_node_type(key, node, view)


def _by_node_type(key: Any, node: Any, view: View) -> Any:
    """Read one child with the node type of the class."""
    node_type = view.resolve(type(node))
    if node_type is None:
        raise LookupError(key)
    children, aux = node_type.flatten(node)
    if type(key) is FlattenedIndexKey:
        return children[key.key]
    for child_key, child in zip(
        node_type.keys(aux, len(children)), children, strict=True
    ):
        if child_key == key or safe_str(child_key) == safe_str(key):
            return child
    raise LookupError(key)


def _no_such_path(path: KeyPath, depth: int, node: Any, view: View) -> PathError:
    """Return the error for a path of which a tree has the first keys only.

    Args:
        path: The path.
        depth: The number of the keys that it has.
        node: What it has there.
        view: The view to look up the type of the node in.
    """
    parent = path[:depth]
    key = path[depth]
    node_type = view.resolve(type(node))
    keys: Sequence[Any] = ()
    if node_type is not None:
        children, aux = node_type.flatten(node)
        keys = node_type.keys(aux, len(children))
    kind = type(node).__name__
    if keys:
        texts = list(map(safe_str, keys))
        names = join_names(nearest_names(safe_str(key), texts)[:_MAX_NAMES])
        reason = f"the {kind} there has {names}"
        if len(texts) > _MAX_NAMES:
            reason += f" and {len(texts) - _MAX_NAMES} more"
        entries = [getattr(child_key, "entry", child_key) for child_key in keys]
        likeness = other_type(getattr(key, "entry", key), entries)
        if likeness:
            reason += f"; {likeness}"
    else:
        reason = f"the {kind} there has no children: {short_repr(node)}"
    message = escape_lines(f"no {safe_str(key)} at {parent.where()}; {reason}")
    return PathError(message, path=path, found=parent)


_MAX_NAMES: Final = 5


# --------------------------------------------------------------------- parsing

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_KEY = re.compile(
    r"\[<flat index (?P<index>[0-9]{1,4000})>\]"
    rf"|\[(?P<item>(?:[^\]'\"]|{_QUOTED})*)\]"
    rf"|\.(?P<quoted>{_QUOTED})|\.(?P<name>[^.\[]+)",
    re.DOTALL,
)


def _read_key(text: str, match: re.Match[str]) -> Any:
    """Return the key object of a piece of a path."""
    kind: Any = match.lastgroup
    start, end = match.span(kind)
    if kind == "index":
        return FlattenedIndexKey(int(match[kind]))
    if kind == "name":
        if not match[kind].isidentifier():
            reason = "a name after . is an identifier or quoted"
            raise _syntax_error(text, start, reason)
        return GetAttrKey(match[kind])
    value = _value(text, start, end)
    if kind == "quoted":
        return GetAttrKey(value)
    return SequenceKey(value) if type(value) is int else DictKey(value)


def _value(text: str, start: int, end: int) -> Any:
    """Read the literal between two places."""
    with late_imports:
        from .literals import NO_LITERAL, read_literal  # and with it ast

    try:
        return read_literal(text[start:end])
    except NO_LITERAL:
        raise _syntax_error(text, start, "this is not a literal") from None


def parse_literal(text: str) -> Any:
    """Read the text of a dict key.

    Raises:
        PathError: The text is not a literal.
    """
    return _value(text, 0, len(text))


def _syntax_error(text: str, position: int, reason: str) -> PathError:
    return PathError(
        f"{short_repr(text)} is not a path: {reason}, at character {position}"
    )

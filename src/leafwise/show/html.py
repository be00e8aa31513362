"""Trees, differences and selections as HTML that needs no other files.

A page is made from an outline, or from the changes of a diff.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Final

from .._text import counted, escape_controls, escape_lines, safe_repr, safe_str
from ..core.context import context_of
from ..core.keys import GetAttrKey, SequenceKey
from ..core.registry import GLOBAL
from ..core.treedef import PyTreeDef
from ..equality.arrays import is_array
from ..errors import PathError
from ..fields import Kind
from ..selection.diff import TreeDiff
from ..selection.edit import Selection
from ..selection.explain import SIGNS, explain
from ..selection.patterns import place_text
from .colors import LOOKS
from .fold import fold, is_plain_leaf, key_text, type_text
from .outline import Item, outline
from .page import caption, framed, safe, span
from .picture import Picture
from .sketch import Arrays
from .text import leaves_text


if TYPE_CHECKING:
    from .._typing import IsLeaf


_ROWS: Final = 40
_FEWEST: Final = 3  # equal neighbours to fold
_LONGEST_PATH: Final = 1000
_LONGEST_VALUES: Final = 10_000


def to_html(
    tree: Any,
    *,
    depth: int | None = None,
    max_leaves: int = 1000,
    arrays: Arrays = "short",
    document: bool = False,
    is_leaf: IsLeaf = None,
    namespace: str = GLOBAL,
) -> str:
    """Return a tree as HTML with nodes that can be folded and unfolded.

    Notebooks display treedefs, objects, states, differences and selections this way.
    The HTML is self-contained: it loads nothing, runs no script, and follows the light
    or dark theme of the surrounding page. The key path of a value appears when you
    point at its line; one click selects all of it for copying. Three and more equal
    neighbours, and ten and more numbers, have one line that unfolds. Omitted values are
    counted.

    A `TreeDiff` shows old and new values side by side. A `Selection` is shown as the
    tree around the selected places.

    Args:
        tree: A tree, a treedef, an object, differences or a selection.
        depth: How many levels to show below the root; None for all, up to 100.
        max_leaves: About how many values, or changes, to write at most; values near the
            root come first.
        arrays: `"values"` to write the values of arrays, too.
        document: Whether to return a complete document, to be written to a file.
        is_leaf: Where to stop: a type, a tuple of types, or a predicate.
        namespace: Where classes are looked up before the global registry.

    Example:
        >>> from leafwise.show import to_html
        >>> page = to_html({"lr": 0.1, "name": "<adam>"}, document=True)
        >>> page[:15], "&lt;adam&gt;" in page
        ('<!doctype html>', True)
    """
    context = context_of(is_leaf, namespace=namespace)
    title = type(tree).__name__ if document else None
    if issubclass(type(tree), TreeDiff):
        body = _of_diff(tree, max_leaves)
    elif issubclass(type(tree), Selection):
        body = _of_selection(tree, depth, max_leaves, arrays)
    else:
        root = outline(tree, context, depth=depth, most=max_leaves, arrays=arrays)
        # a text has quotes, and an array its dtype, instead of the lines of a repr
        is_text = issubclass(type(tree), str | bytes)
        if root.role == "leaf" and not is_text and not is_array(tree):
            root.opening = _lines_of(tree) or root.opening
        body = _treedef_caption(tree) + _of_outline(root)
    text = framed(body, title=title)
    return Picture(text, {"text/html": text})


def _of_selection(
    selection: Selection[Any],
    depth: int | None,
    most: int,
    arrays: Arrays,
) -> str:
    """Return the tree around the selected places."""
    try:
        only = selection.paths()
    except PathError as error:
        return caption(f"{selection!r}: {error}")
    text = caption(f"{selection!r}: {counted(len(only), 'place')}")
    if not only:
        return text
    tree = selection.tree
    context = selection.context
    root = outline(tree, context, depth=depth, most=most, arrays=arrays, only=only)
    return text + _of_outline(root)


def _treedef_caption(tree: Any) -> str:
    if type(tree) is not PyTreeDef:
        return ""
    mode = ", None is a leaf" if tree.none_is_leaf else ""
    leaves = leaves_text(tree.num_leaves)
    return caption(f"PyTreeDef: {leaves}, {tree.num_nodes:,} in all{mode}")


def _lines_of(value: Any) -> str:
    """Return the text of a value if it has several lines."""
    lines = safe_repr(value).splitlines()
    return "\n".join(lines) if len(lines) > 1 else ""


# -------------------------------------------------------------------------- trees


def _of_outline(root: Item) -> str:
    """Return an outline as nested lists."""
    fold(root, _FEWEST, by_value=True)
    return f"<ul>{_row(root, _opened(root))}</ul>"


def _row(item: Item, opened: set[Item], path: str = "") -> str:
    """Return an item, and all inside, as elements of a list, with paths."""
    if item.members:
        rows = [
            _row(member, opened, _inner_path(member, path)) for member in item.members
        ]
        return f"<li>{_details(_run(item), rows, is_open=False)}</li>"
    code = f'<code class="lw-path">{escape(path)}</code>' if path else ""
    if not item.children:
        return f"<li>{code}<div>{_line(item)}</div></li>"
    rows = []
    for inner in item.children:
        # a path of members is added to each of them
        inner_path = path if inner.members else _inner_path(inner, path)
        rows.append(_row(inner, opened, inner_path))
    return f"<li>{code}{_details(_line(item), rows, is_open=item in opened)}</li>"


def _inner_path(item: Item, path: str) -> str:
    """Return the path of an item, "" for what has none or a very long one.

    Args:
        item: The item.
        path: The path of the item above.
    """
    is_below = bool(path) or item.above is None or item.above.above is None
    if item.key is None or not is_below:
        return ""
    text = f"{path}{escape_controls(safe_str(item.key))}"
    return text if len(text) <= _LONGEST_PATH else ""


def _details(line: str, rows: list[str], *, is_open: bool) -> str:
    attribute = " open" if is_open else ""
    summary = f"<summary>{line}</summary><ul>{''.join(rows)}</ul>"
    return f"<details{attribute}>{summary}</details>"


def _opened(root: Item) -> set[Item]:
    """Return the items that are open at first: whole levels of them."""
    opened: set[Item] = set()
    level = [root]
    count = 1
    while level:
        below = [inner for item in level for inner in item.children]
        count += len(below)
        if count > _ROWS and opened:
            break
        opened.update(level)
        level = [item for item in below if item.children]
    return opened


def _is_node(item: Item) -> bool:
    """Return whether an item has something inside, or could; it may be static."""
    return item.role == "node" or bool(item.items or item.closing)


def _run(item: Item) -> str:
    """Return the line of equal neighbours."""
    key = span("index", key_text(item))
    if is_plain_leaf(item):
        text = span("num", item.opening)
    else:
        name = item.text if item.role == "again" else type_text(item)
        if is_array(item.value):
            name = item.opening
        text = f"{span('type', name)} {span('dim', f'x {len(item.members):,}')}"
    return f"{key} {text}{_comment(item)}"


def _line(item: Item) -> str:
    """Return the text of an item in its own line."""
    if item.role == "more":
        return span("dim", item.opening)
    if item.role == "again":
        return f"{_label(item)}{span('number', item.text)}"
    text = _label(item)
    if item.number:
        text += f"{span('number', f'#{item.number}')} "
    text += _node(item) if _is_node(item) else _leaf(item)
    is_variable = _is_node(item) and not item.children  # whose class says its kind
    if item.kind not in (*_PLAIN_KINDS, item.kind_above) and not is_variable:
        text += f" {span('kind', item.kind.value)}"
    return text + _comment(item)


def _comment(item: Item) -> str:
    """Return the note of an item."""
    return span("dim", f" · {item.comment}") if item.comment else ""


_PLAIN_KINDS: Final = (None, Kind.DATA, Kind.STATIC, Kind.MODULE)
"""The kinds that are not written."""


def _label(item: Item) -> str:
    """Return the text before a value: its key."""
    if item.label:
        name = item.label.rstrip()
        space = item.label[len(name) :]
        return f"{span('key', name[:-1])}{span('dim', name[-1])}{space}"
    if item.key is None or item.above is None:
        return ""
    style = "dim"
    if isinstance(item.key, SequenceKey | GetAttrKey):
        style = "index"
    return f"{span(style, safe_str(item.key))} "


def _node(item: Item) -> str:
    """Return the name of a node's class, its brackets and the number of its items."""
    opening = item.opening
    name = opening.rstrip("([{")
    style = "type" if opening != name or item.closing else "atom"
    text = ""
    if name:
        text = f'<span class="lw-{style}"{_title(item.value)}>{safe(name)}</span>'
    text += safe(opening[len(name) :])
    if not item.children:
        inside = "".join(_line(inner) for inner in item.items)
        return f"{text}{inside}{safe(item.closing)}"
    count = sum(_count(inner) for inner in item.items)
    note = span("dim", counted(count, "item"))
    return f"{text}{span('dim', '…')}{safe(item.closing)} {note}"


def _count(item: Item) -> int:
    """Return for how many values an item stands."""
    if item.role == "more":
        return item.nodes
    return len(item.members) or 1


def _leaf(item: Item) -> str:
    """Return the text of a leaf or of a static value, in the colour of its type."""
    value = item.value
    style = "array" if is_array(value) else "object"
    for classes, name in _STYLES:
        # not `isinstance`, which asks the `__class__` of the value
        if issubclass(type(value), classes):
            style = name
            break
    text = item.opening
    if "\n" not in text:
        if item.role == "static":
            style += " lw-static"
        return f'<span class="lw-{style}"{_title(value)}>{safe(text)}</span>'
    if len(text) > _LONGEST_VALUES:
        text = f"{text[:_LONGEST_VALUES]}\n..."
    lines = escape(escape_lines(text))
    return f'<pre class="lw-{style}"{_title(value)}>{lines}</pre>'


_STYLES: Final[tuple[tuple[type | tuple[type, ...], str], ...]] = (
    ((str, bytes), "text"),
    ((bool, type(None)), "atom"),
    ((int, float, complex), "num"),
    (PyTreeDef, "leaf"),
)
"""The styles of leaves by class; the first that fits is used."""


def _title(value: Any) -> str:
    """Return the attribute with the class of a value, unless it is a built-in one."""
    cls = type(value)
    module = cls.__module__
    if module in ("", "builtins"):
        return ""
    return f' title="{safe(f"{module}.{cls.__qualname__}")}"'


# ---------------------------------------------------------------------- differences


def _of_diff(diff: TreeDiff, most: int) -> str:
    """Return changes as a table with old and new side by side."""
    if not diff:
        return caption("no differences")
    columns = '<th></th><th scope="col">old</th><th scope="col">new</th>'
    parts = [
        caption(counted(len(diff), "change")),
        f'<table class="lw-diff"><thead><tr>{columns}</tr></thead>',
    ]
    for change in diff[:most]:
        text = explain(change)
        sign = SIGNS[change.kind]
        note = f"to [{change.index}]" if change.kind == "moved" else text.note
        if text.more:
            note += f" (and {text.more} more places)"
        path = safe(place_text(change.path), _LONGEST_PATH)
        parts.append(
            f'<tbody class="lw-{LOOKS[sign].word}"><tr><th colspan="3" '
            f'scope="rowgroup">{span("sign", sign)} <code>{path}</code> '
            f"{span('dim', note)}</th></tr>"
        )
        for where, *texts in text.rows:
            parts.append(f'<tr><td class="lw-dim">{safe(where)}</td>')
            for side, cell in zip(("old", "new"), texts, strict=True):
                if cell is None:
                    parts.append('<td class="lw-none"></td>')
                else:
                    parts.append(f'<td class="lw-{side}">{safe(cell)}</td>')
            parts.append("</tr>")
        parts.append("</tbody>")
    parts.append("</table>")
    if len(diff) > most:
        parts.append(caption(f"and {len(diff) - most:,} more"))
    return "".join(parts)

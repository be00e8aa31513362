"""Trees, differences and selections as HTML that stands on its own.

Owns the elements of a page, and how large it may be. What is drawn comes from outlines
and from the changes of a diff; no tree is read here.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, Final

from .._text import escape_controls, safe_repr, safe_str
from ..core.context import context_of
from ..core.keys import GetAttrKey, SequenceKey
from ..core.registry import GLOBAL
from ..core.treedef import PyTreeDef
from ..equality.arrays import is_array
from ..errors import PathError
from ..selection.diff import SIGNS as KINDS
from ..selection.diff import TreeDiff, counted, told
from ..selection.edit import Selection
from ..selection.select import place_text
from .colors import SIGNS
from .doc import Part
from .outline import Arrays, Item, outline
from .page import caption, framed, safe, span
from .picture import Picture
from .text import leaves_text


if TYPE_CHECKING:
    from .._typing import IsLeaf


_ROWS: Final = 40
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
    point at its line; one click selects all of it for copying. Omitted values are
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
    said, only = "", None
    if issubclass(type(tree), TreeDiff):
        body = _of_diff(tree, max_leaves)
    else:
        if type(tree) is PyTreeDef:
            mode = ", None is a leaf" if tree.none_is_leaf else ""
            leaves = leaves_text(tree.num_leaves)
            said = f"PyTreeDef: {leaves}, {tree.num_nodes:,} in all{mode}"
        elif issubclass(type(tree), Selection):
            said = repr(tree)
            try:
                tree, context, only = tree._leafwise_chosen()
                said = f"{said}: {counted(len(only), 'place')}"
            except PathError as error:
                said, only = f"{said}: {error}", []
        body = caption(said)
        if only != []:
            root = outline(
                tree, context, depth=depth, most=max_leaves, arrays=arrays, only=only
            )
            if root.role == "leaf" and not issubclass(type(tree), str | bytes):
                lines = [] if is_array(tree) else safe_repr(tree).splitlines()
                if len(lines) > 1:
                    root.opening = "\n".join(lines)
            body += f"<ul>{_rows(root, _opened(root))}</ul>"
    text = framed(body, title=title)
    return Picture(text, {"text/html": text})


# -------------------------------------------------------------------------- trees


def _rows(item: Item, opened: set[int], path: str = "") -> str:
    """Return an item, and all inside, as elements of a list, with paths."""
    code = f'<code class="lw-path">{escape(path)}</code>' if path else ""
    if not _folds(item):
        return f"<li>{code}<div>{_line(item)}</div></li>"
    rows = []
    for inner in item.items:
        where = ""
        if inner.key is not None and (path or item.above is None):
            where = f"{path}{escape_controls(safe_str(inner.key))}"
        rows.append(_rows(inner, opened, where if len(where) <= _LONGEST_PATH else ""))
    is_open = " open" if id(item) in opened else ""
    summary = f"<summary>{_line(item)}</summary><ul>{''.join(rows)}</ul>"
    return f"<li>{code}<details{is_open}>{summary}</details></li>"


def _folds(item: Item) -> bool:
    """Return whether what is inside an item has lines of its own."""
    return bool(item.items) and not item.is_closed


def _is_node(item: Item) -> bool:
    """Return whether an item has something inside, or could; it may be static."""
    return item.role == "node" or bool(item.items or item.closing)


def _opened(root: Item) -> set[int]:
    """Return the items that are open at first, by identity: whole levels of them."""
    opened: set[int] = set()
    level, rows = [root], 1
    while level:
        below = [inner for item in level for inner in item.items]
        rows += len(below)
        if rows > _ROWS and opened:
            break
        opened.update(map(id, level))
        level = [item for item in below if _folds(item)]
    return opened


def _line(item: Item) -> str:
    """Return what there is to say of an item in its own line."""
    number = f"#{item.number}" if item.number else ""
    if item.role == "more":
        return span("dim", item.opening)
    if item.role == "again":
        return f"{_label(item)}{span('number', f'→ {number}')}"
    mark = f"{span('number', number)} " if number else ""
    said = _node(item) if _is_node(item) else _leaf(item)
    around = "" if item.above is None else item.above.kind
    is_variable = _is_node(item) and not _folds(item)  # whose class says its kind
    if item.kind not in ("", "data", "static", "module", around) and not is_variable:
        said += f" {span('kind', item.kind)}"
    comment = span("dim", f" · {item.comment}") if item.comment else ""
    return f"{_label(item)}{mark}{said}{comment}"


def _label(item: Item) -> str:
    """Return what stands before a value; of one in a sequence, its place."""
    if item.label:
        name = item.label.rstrip()
        space = " " if item.label.endswith(" ") else ""
        return f"{span('key', name[:-1])}{span('dim', name[-1])}{space}"
    if item.key is None or item.above is None:
        return ""
    is_known = isinstance(item.key, SequenceKey | GetAttrKey)
    return f"{span('index' if is_known else 'dim', safe_str(item.key))} "


def _node(item: Item) -> str:
    """Return the name of a node's class, its brackets and the number of its items."""
    opening = item.opening
    name = opening.rstrip("([{")
    kind = "type" if opening != name or item.closing else "atom"
    title = _title(item.value)
    said = f'<span class="lw-{kind}"{title}>{safe(name)}</span>' if name else ""
    said += safe(opening[len(name) :])
    if not _folds(item):
        return said + "".join(map(_line, item.items)) + safe(item.closing)
    count = sum(inner.nodes if inner.role == "more" else 1 for inner in item.items)
    dots, told = span("dim", "…"), span("dim", counted(count, "item"))
    return f"{said}{dots}{safe(item.closing)} {told}"


def _leaf(item: Item) -> str:
    """Return the text of a leaf or of a static value, in the colour of its sort."""
    value, text = item.value, item.opening
    sort = next((n for classes, n in _SORTS if issubclass(type(value), classes)), "")
    name = sort or ("array" if is_array(value) else "object")
    if "\n" not in text:
        name += " lw-static" if item.role == "static" else ""
        return f'<span class="lw-{name}"{_title(value)}>{safe(text)}</span>'
    if len(text) > _LONGEST_VALUES:
        text = f"{text[:_LONGEST_VALUES]}\n..."
    said = "\n".join(escape(escape_controls(line)) for line in text.split("\n"))
    return f'<pre class="lw-{name}"{_title(value)}>{said}</pre>'


_SORTS: Final[tuple[tuple[type | tuple[type, ...], str], ...]] = (
    ((str, bytes), "text"),
    ((bool, type(None)), "atom"),
    ((int, float, complex), "num"),
    (PyTreeDef, "leaf"),
)
"""What sort of leaf a value is, whatever it says of its class."""


def _title(value: Any) -> str:
    """Return the attribute that has the class of a value; none of a plain one."""
    cls = type(value)
    module = cls.__module__
    if module in ("", "builtins") or cls is Part:
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
        found, sign = told(change), KINDS[change.kind]
        note = f"to [{change.index}]" if change.kind == "moved" else found.note
        note += f" (and {found.more} more places)" if found.more else ""
        path = safe(place_text(change.path), _LONGEST_PATH)
        parts.append(
            f'<tbody class="lw-{SIGNS[sign].word}"><tr><th colspan="3" '
            f'scope="rowgroup">{span("sign", sign)} <code>{path}</code> '
            f"{span('dim', note)}</th></tr>"
        )
        for where, *texts in found.rows:
            cells = [
                '<td class="lw-none"></td>'
                if text is None
                else f'<td class="lw-{side}">{safe(text)}</td>'
                for side, text in zip(("old", "new"), texts, strict=True)
            ]
            parts += [f'<tr><td class="lw-dim">{safe(where)}</td>', *cells, "</tr>"]
        parts.append("</tbody>")
    rest = caption(f"and {len(diff) - most:,} more") if len(diff) > most else ""
    return "".join([*parts, "</table>", rest])

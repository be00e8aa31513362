"""Trees, differences and selections as HTML that stands on its own.

Owns the page: its elements, its colours, how large it may be. It asks nothing of the
network, needs no script, and every text in it is escaped. What is drawn comes from
outlines and from the changes of a diff; no tree is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from typing import TYPE_CHECKING, Any, Final

from ..core.keys import GetAttrKey, SequenceKey
from ..core.registry import GLOBAL
from ..core.treedef import PyTreeDef
from ..equality.content import is_array
from ..errors import PathError
from ..ops.context import Context, context_of
from ..safely import class_name, module_name, printable, printed, type_name
from ..selection.diff import Change, TreeDiff
from ..selection.difftext import SIGNS, counted, sides_of
from ..selection.edit import Selection
from .outline import Arrays, Item, outline


if TYPE_CHECKING:
    from ..core.node import IsLeaf

__all__ = ["to_html"]

LARGEST: Final = 2_000_000
"""How many bytes a page may have, if nobody says."""
_SMALLEST: Final = 20_000
_FEWEST: Final = 2
_FLAT: Final = 3  # levels that are left of a tree whose page is too large all the same
_ROWS: Final = 40
_LONGEST: Final = 300
_LONGEST_PATH: Final = 1000
_LONGEST_VALUES: Final = 10_000


def to_html(
    tree: Any,
    *,
    depth: int | None = None,
    max_leaves: int = 1000,
    arrays: Arrays = "short",
    max_bytes: int = LARGEST,
    document: bool = False,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> str:
    """Return a tree as HTML, with nodes that fold and unfold.

    Notebooks show treedefs, objects, states, differences and selections so. The HTML
    stands on its own: it loads nothing, runs no script, and follows the light or dark
    theme of what is around it. The key path of a value appears when the pointer is on
    its line; one click selects all of it, to be copied. What is left out is counted.

    A `TreeDiff` has old and new side by side; a `Selection` is shown as the tree
    around its places.

    Args:
        tree: A tree, a treedef, an object, differences, a selection.
        depth: How many levels there are below the root; None for all, up to 100.
        max_leaves: How many values, or changes, to write at most, about; what is near
            the root comes first.
        arrays: `"values"` to write the values of arrays, too.
        max_bytes: How large it may be, at least 20 000; fewer values are written then.
        document: Whether to return a whole document, to be written to a file.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.

    Raises:
        ValueError: `max_bytes` is too small.

    Example:
        >>> from leafwise.show import to_html
        >>> page = to_html({"lr": 0.1, "name": "<adam>"}, document=True)
        >>> page[:15], "&lt;adam&gt;" in page
        ('<!doctype html>', True)
    """
    if max_bytes < _SMALLEST:
        raise ValueError(f"max_bytes must be at least {_SMALLEST:,}, not {max_bytes}")
    context = context_of(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    if issubclass(type(tree), TreeDiff):
        body = _fitting(lambda most, _: _of_diff(tree, most), max_leaves, max_bytes)
    elif issubclass(type(tree), Selection):
        body = _of_selection(tree, depth, max_leaves, arrays, max_bytes)
    else:
        body = _of_tree(tree, context, depth, max_leaves, arrays, max_bytes)
    page = f'<div class="leafwise" dir="ltr"><style>{_STYLE}</style>{body}</div>'
    return _as_document(page, tree) if document else page


def _fitting(write: Callable[[int, bool], str], most: int, largest: int) -> str:
    """Return what is written of so many values that it is not too large.

    Args:
        write: Takes how many values to write, and whether to leave out what is deep.
        most: How many values to begin with.
        largest: How many bytes there may be.
    """
    largest -= 2 * len(_STYLE)
    most = max(most, _FEWEST)
    while True:
        text = write(most, False)
        size = len(text) if text.isascii() else len(text.encode())
        if size <= largest:
            return text
        if most == _FEWEST:
            return write(most, True)
        most = max(_FEWEST, min(most // 2, most * largest // size))


def _as_document(page: str, tree: Any) -> str:
    title = _text(type_name(tree))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{_AROUND}</style></head>"
        f"<body>{page}</body></html>\n"
    )


def _text(text: str, longest: int = _LONGEST) -> str:
    """Return a text that shows every character that is not seen, cut and escaped."""
    if len(text) > longest:
        text = f"{text[: longest - 3]}..."
    return escape(printable(text))


def _span(name: str, text: str) -> str:
    """Return a text in an element of a class, nothing if there is no text."""
    return f'<span class="lw-{name}">{_text(text)}</span>' if text else ""


def _caption(text: str) -> str:
    return f'<div class="lw-caption">{_text(text)}</div>' if text else ""


# -------------------------------------------------------------------------- trees


def _of_tree(
    tree: Any,
    context: Context,
    depth: int | None,
    most: int,
    arrays: Arrays,
    largest: int,
    *,
    only: Any = None,
    caption: str = "",
) -> str:
    """Return the HTML of a tree, which is not too large."""

    def write(most: int, flat: bool) -> str:
        levels = _FLAT if flat and (depth is None or depth > _FLAT) else depth
        shown = "short" if flat else arrays
        root = outline(tree, context, depth=levels, most=most, arrays=shown, only=only)
        return f"{_caption(caption or _about(tree))}<ul>{_rows(root)}</ul>"

    return _fitting(write, most, largest)


def _about(tree: Any) -> str:
    """Return what is said above a tree, of a treedef."""
    if type(tree) is not PyTreeDef:
        return ""
    leaves = f"{tree.num_leaves:,} {'leaf' if tree.num_leaves == 1 else 'leaves'}"
    mode = ", None is a leaf" if tree.none_is_leaf else ""
    return f"PyTreeDef: {leaves}, {tree.num_nodes:,} in all{mode}"


def _of_selection(
    selection: Selection[Any],
    depth: int | None,
    most: int,
    arrays: Arrays,
    largest: int,
) -> str:
    """Return the tree around the places of a selection, or why there are none."""
    try:
        tree, context, paths = selection._leafwise_chosen()
    except PathError as error:
        return _caption(f"{selection!r}: {error}")
    said = f"{selection!r}: {counted(len(paths), 'place')}"
    if not paths:
        return _caption(said)
    return _of_tree(
        tree,
        context,
        depth,
        most,
        arrays,
        largest,
        only=paths,
        caption=said,
    )


def _rows(root: Item) -> str:
    """Return an item, and all inside, as elements of a list."""
    opened = _opened(root)
    pieces: list[str] = []
    stack: list[Any] = [(root, "")]
    while stack:
        top = stack.pop()
        if type(top) is str:
            pieces.append(top)
            continue
        item, path = top
        shown = f'<code class="lw-path">{escape(path)}</code>' if path else ""
        if not _folds(item):
            pieces.append(f"<li>{shown}<div>{_line(item)}</div></li>")
            continue
        is_open = " open" if id(item) in opened else ""
        pieces.append(
            f"<li>{shown}<details{is_open}><summary>{_line(item)}</summary><ul>"
        )
        stack.append("</ul></details></li>")
        is_lost = not path and item.above is not None
        stack += [
            (inner, "" if is_lost else _path(path, inner))
            for inner in reversed(item.items)
        ]
    return "".join(pieces)


def _path(above: str, item: Item) -> str:
    """Return the text of a path, "" if there is none, or if it is very long."""
    if item.key is None:
        return ""
    path = f"{above}{printable(printed(item.key))}"
    return path if len(path) <= _LONGEST_PATH else ""


def _folds(item: Item) -> bool:
    """Return whether what is inside an item has lines of its own."""
    match item.items:
        case []:
            return False
        case [only]:  # a count, or the value of a variable
            return bool(only.items) or only.role == "node"
    return True


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
        return _span("dim", item.opening)
    if item.role == "again":
        return f"{_label(item)}{_span('number', f'→ {number}')}"
    parts = [_label(item), _span("number", number), " " if number else ""]
    if item.role == "node":
        parts.append(_node(item))
    else:
        parts.append(_leaf(item))
    if item.kind not in _PLAIN:
        parts.append(f" {_span('kind', item.kind)}")
    if item.comment:
        parts.append(f" {_span('dim', f'# {item.comment}')}")
    return "".join(parts)


_PLAIN: Final = ("", "data", "static")


def _label(item: Item) -> str:
    """Return what stands before a value; of one in a sequence, its place."""
    if item.label:
        name = item.label.rstrip()
        return (
            _span("key", name[:-1])
            + _span("dim", name[-1])
            + (" " if item.label.endswith(" ") else "")
        )
    if item.key is None or item.above is None:
        return ""
    is_known = isinstance(item.key, SequenceKey | GetAttrKey)
    return f"{_span('index' if is_known else 'dim', printed(item.key))} "


def _node(item: Item) -> str:
    """Return the name of a node's class, its brackets and the number of its items."""
    opening = item.opening
    name = opening.rstrip("([{")
    kind = "type" if opening != name or item.closing else "atom"
    title = _title(item.value)
    said = f'<span class="lw-{kind}"{title}>{_text(name)}</span>' if name else ""
    said += _text(opening[len(name) :])
    if not _folds(item):
        return said + "".join(map(_line, item.items)) + _text(item.closing)
    count = sum(inner.nodes if inner.role == "more" else 1 for inner in item.items)
    dots, told = _span("dim", "…"), _span("dim", counted(count, "item"))
    return f"{said}{dots}{_text(item.closing)} {told}"


def _leaf(item: Item) -> str:
    """Return the text of a leaf or of a static value, in the colour of its sort."""
    if "\n" in item.opening:
        text = item.opening
        if len(text) > _LONGEST_VALUES:
            text = f"{text[:_LONGEST_VALUES]}\n..."
        said = "\n".join(escape(printable(line)) for line in text.split("\n"))
        return f'<pre class="lw-array"{_title(item.value)}>{said}</pre>'
    name = _sort(item.value)
    if item.role == "static":
        name += " lw-static"
    return f'<span class="lw-{name}"{_title(item.value)}>{_text(item.opening)}</span>'


_SORTS: Final[tuple[tuple[type | tuple[type, ...], str], ...]] = (
    ((str, bytes), "text"),
    ((bool, type(None)), "atom"),
    ((int, float, complex), "num"),
    (PyTreeDef, "leaf"),
)


def _sort(value: Any) -> str:
    """Return what sort of leaf a value is, whatever it says of its class."""
    for classes, name in _SORTS:
        if issubclass(type(value), classes):
            return name
    return "array" if is_array(value) else "object"


def _title(value: Any) -> str:
    """Return the attribute that has the class of a value; none of a plain one."""
    cls = type(value)
    module = module_name(cls)
    if module in ("", "builtins"):
        return ""
    return f' title="{_text(f"{module}.{class_name(cls)}")}"'


# ---------------------------------------------------------------------- differences


def _of_diff(diff: TreeDiff, most: int) -> str:
    """Return changes as a table with old and new side by side."""
    if not diff:
        return _caption("no differences")
    caption = _caption(counted(len(diff), "change"))
    rows = "".join(row for change in diff[:most] for row in _of_change(change))
    rest = _caption(f"and {len(diff) - most:,} more") if len(diff) > most else ""
    head = '<thead><tr><th></th><th scope="col">old</th><th scope="col">new</th></tr>'
    return f"{caption}<table>{head}</thead>{rows}</table>{rest}"


def _of_change(change: Change) -> Iterator[str]:
    """Yield the rows of a change."""
    sides = sides_of(change)
    sign = SIGNS[change.kind]
    path = printable(change.path.where())
    if len(path) > _LONGEST_PATH:
        path = f"{path[: _LONGEST_PATH - 3]}..."
    yield (
        f'<tbody class="lw-{change.kind}"><tr><th colspan="3" scope="rowgroup">'
        f"{_span('sign', sign)} <code>{escape(path)}</code> "
        f"{_span('dim', sides.note)}</th></tr>"
    )
    for where, old, new in sides.lines:
        sides_told = (_side("old", old), _side("new", new))
        yield f'<tr><td class="lw-dim">{_text(where)}</td>{"".join(sides_told)}</tr>'
    yield "</tbody>"


def _side(name: str, text: str | None) -> str:
    if text is None:
        return '<td class="lw-none"></td>'
    return f'<td class="lw-{name}">{_text(text)}</td>'


# --------------------------------------------------------------------------- style

_STYLE: Final = "".join(
    line.strip()
    for line in """
.leafwise.leafwise {
  --lw-text: var(--jp-content-font-color1, var(--vscode-editor-foreground,
    light-dark(#1f2328, #e6edf3)));
  --lw-back: var(--jp-layout-color0, var(--vscode-editor-background,
    light-dark(#fff, #0d1117)));
  --lw-dim: light-dark(#59636e, #9198a1);
  --lw-line: light-dark(#d1d9e0, #3d444d);
  --lw-old: light-dark(#ffebe9, #4b1a1e);
  --lw-new: light-dark(#dafbe1, #12391f);
  color-scheme: light dark;
  color: var(--lw-text);
  background: var(--lw-back);
  font: 13px/1.55 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono",
    monospace;
  padding: 4px 8px;
  overflow-x: auto;
  text-align: left;
}
[data-jp-theme-light=true] .leafwise.leafwise, .vscode-light .leafwise.leafwise,
[data-theme=light] .leafwise.leafwise {
  color-scheme: light;
}
[data-jp-theme-light=false] .leafwise.leafwise, .vscode-dark .leafwise.leafwise,
[data-theme=dark] .leafwise.leafwise, [theme=dark] .leafwise.leafwise {
  color-scheme: dark;
}
.leafwise.leafwise ul {
  list-style: none;
  margin: 0;
  padding: 0;
}
.leafwise.leafwise ul ul {
  margin-left: 5px;
  padding-left: 16px;
  border-left: 1px solid var(--lw-line);
}
.leafwise.leafwise li {
  margin: 0;
  padding: 0;
  position: relative;
  min-width: 14em;
}
.leafwise.leafwise summary, .leafwise.leafwise li > div {
  display: block;
  overflow-wrap: anywhere;
  padding-left: 14px;
  text-indent: -14px;
}
.leafwise.leafwise summary {
  cursor: pointer;
}
.leafwise.leafwise summary::-webkit-details-marker {
  display: none;
}
.leafwise.leafwise summary::before {
  content: "▸";
  display: inline-block;
  width: 14px;
  text-indent: 0;
  color: var(--lw-dim);
}
.leafwise.leafwise details[open] > summary::before {
  content: "▾";
}
.leafwise.leafwise li > div {
  padding-left: 28px;
}
.leafwise.leafwise summary:hover, .leafwise.leafwise li > div:hover {
  background: light-dark(#0000000d, #ffffff12);
}
.leafwise.leafwise span {
  unicode-bidi: isolate;
}
.leafwise.leafwise pre {
  margin: 0 0 0 14px;
  padding: 0;
  font: inherit;
  overflow-x: auto;
  text-indent: 0;
}
.leafwise.leafwise code {
  font: inherit;
  color: inherit;
  background: none;
  padding: 0;
  overflow-wrap: anywhere;
  white-space: pre-wrap;
  user-select: all;
  -webkit-user-select: all;
}
.leafwise.leafwise .lw-path {
  position: absolute;
  right: 0;
  top: 0;
  z-index: 1;
  max-width: 80%;
  padding: 0 6px;
  border-radius: 4px;
  color: var(--lw-dim);
  background: var(--lw-back);
  box-shadow: 0 0 0 1px var(--lw-line);
  cursor: copy;
}
@supports selector(:has(a)) {
  .leafwise.leafwise .lw-path {
    opacity: 0;
    pointer-events: none;
  }
  .leafwise.leafwise li:hover:not(:has(li:hover)) > .lw-path {
    opacity: 1;
    pointer-events: auto;
  }
}
.leafwise .lw-key {
  color: light-dark(#0550ae, #79c0ff);
}
.leafwise .lw-index, .leafwise .lw-dim, .leafwise .lw-caption, .leafwise .lw-leaf {
  color: var(--lw-dim);
}
.leafwise .lw-type {
  color: light-dark(#953800, #ffa657);
  font-weight: 600;
}
.leafwise .lw-array {
  color: light-dark(#0a6470, #56d4dd);
}
.leafwise .lw-text {
  color: light-dark(#116329, #7ee787);
}
.leafwise .lw-num {
  color: light-dark(#0550ae, #a5d6ff);
}
.leafwise .lw-atom {
  color: light-dark(#8250df, #d2a8ff);
}
.leafwise .lw-static {
  font-style: italic;
}
.leafwise .lw-number {
  color: light-dark(#bf3989, #ff9bce);
  font-weight: 600;
}
.leafwise .lw-kind {
  color: var(--lw-dim);
  border: 1px solid var(--lw-line);
  border-radius: 8px;
  padding: 0 6px;
  font-size: 11px;
}
.leafwise.leafwise table {
  border-collapse: collapse;
  width: 100%;
  margin: 4px 0;
  font: inherit;
  border: 0;
  table-layout: auto;
}
.leafwise.leafwise tr, .leafwise.leafwise th {
  background: none;
  text-align: left;
  font-weight: inherit;
}
.leafwise.leafwise td, .leafwise.leafwise th {
  padding: 1px 8px;
  border: 0;
  text-align: left;
  vertical-align: top;
  overflow-wrap: anywhere;
  white-space: normal;
  max-width: none;
}
.leafwise.leafwise thead th {
  color: var(--lw-dim);
}
.leafwise.leafwise tbody {
  border-top: 1px solid var(--lw-line);
}
.leafwise.leafwise td {
  width: 50%;
  unicode-bidi: isolate;
}
.leafwise.leafwise td:first-child {
  width: 1%;
  white-space: nowrap;
}
.leafwise.leafwise .lw-old {
  background: var(--lw-old);
}
.leafwise.leafwise .lw-new {
  background: var(--lw-new);
}
.leafwise .lw-sign {
  color: var(--lw-dim);
  font-weight: 600;
}
.leafwise .lw-added .lw-sign {
  color: light-dark(#116329, #7ee787);
}
.leafwise .lw-removed .lw-sign {
  color: light-dark(#a40e26, #ff7b72);
}
""".splitlines()
)

_AROUND: Final = (
    "body{margin:0;background:light-dark(#fff,#0d1117);color-scheme:light dark}"
)

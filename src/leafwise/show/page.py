"""Pages of HTML that stand on their own: the frame, the colours, texts that are safe.

Owns what all pages share: they ask nothing of the network, need no script, and follow
the theme around them. It knows nothing of what is shown on them.
"""

from __future__ import annotations

from html import escape
from typing import Final

from ..safely import printable


__all__ = ["STYLE", "caption", "framed", "safe", "span"]

_LONGEST: Final = 300


def framed(body: str, *, title: str | None = None) -> str:
    """Return HTML with the style of leafwise, isolated from the rest of a notebook.

    The classes of elements are those of `STYLE`; `lw-caption`, `lw-dim`, `lw-key`,
    `lw-type`, `lw-array`, `lw-text` and `lw-num` are for all. Tables need none.

    Args:
        body: The HTML; all text in it is escaped.
        title: The title of a whole document, None to return a part of one.
    """
    inside = f'<div class="leafwise" dir="ltr"><style>{STYLE}</style>{body}</div>'
    if title is None:
        return inside
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{safe(title)}</title><style>{_AROUND}</style></head>"
        f"<body>{inside}</body></html>\n"
    )


def safe(said: str, longest: int = _LONGEST) -> str:
    """Return a text with invisible characters made visible, shortened and escaped."""
    if len(said) > longest:
        said = f"{said[: longest - 3]}..."
    return escape(printable(said))


def span(name: str, said: str) -> str:
    """Return a text in an element with a CSS class; an empty text gives no element."""
    return f'<span class="lw-{name}">{safe(said)}</span>' if said else ""


def caption(said: str) -> str:
    """Return a caption element; an empty text gives no element."""
    return f'<div class="lw-caption">{safe(said)}</div>' if said else ""


# --------------------------------------------------------------------------- style

STYLE: Final = "".join(
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
  max-height: 60em;
  overflow: auto;
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
  color: inherit;
  border: 0;
  table-layout: auto;
}
.leafwise.leafwise tr:nth-child(n), .leafwise.leafwise th {
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
  unicode-bidi: isolate;
}
.leafwise.leafwise .lw-diff td {
  width: 50%;
}
.leafwise.leafwise .lw-diff td:first-child {
  width: 1%;
  white-space: nowrap;
}
.leafwise.leafwise .lw-summary {
  width: auto;
}
.leafwise.leafwise .lw-summary th, .leafwise.leafwise .lw-summary td {
  max-width: 40em;
  padding: 1px 12px 1px 0;
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: pre;
}
.leafwise.leafwise .lw-summary tbody th {
  padding-left: calc(var(--depth, 0) * 1.5em);
}
.leafwise.leafwise .lw-summary .lw-row-node th {
  font-weight: 600;
}
.leafwise.leafwise .lw-summary .lw-row-again,
.leafwise.leafwise .lw-summary .lw-row-more {
  color: var(--lw-dim);
}
.leafwise.leafwise .lw-summary .lw-right {
  text-align: right;
}
.leafwise.leafwise .lw-summary td:last-child {
  background: linear-gradient(90deg,
    light-dark(#0969da33, #388bfd55) var(--share, 0), transparent 0);
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
    "body>.leafwise.leafwise{max-height:none}"
)

"""The frame of HTML pages, and texts that are safe in them.

Pages load no other files, need no script, and follow the theme of the surrounding page.
The rules of `style.css` are in each page, those of `picture.css` in each picture.
"""

from __future__ import annotations

from html import escape
from pkgutil import get_data
from typing import Final

from .._text import escape_controls
from .colors import LOOKS
from .text import clipped


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


def safe(text: str, longest: int = _LONGEST) -> str:
    """Return a text with invisible characters made visible, shortened and escaped."""
    # cut first, to one letter too much: only the beginning of a long text is read
    visible = escape_controls(text[: longest + 1])
    return escape(clipped(visible, longest))


def span(name: str, text: str) -> str:
    """Return a text in an element with a CSS class; an empty text gives no element."""
    return f'<span class="lw-{name}">{safe(text)}</span>' if text else ""


def caption(text: str) -> str:
    """Return a caption element; an empty text gives no element."""
    return f'<div class="lw-caption">{safe(text)}</div>' if text else ""


# --------------------------------------------------------------------------- style


def rules_of(name: str) -> str:
    """Return the rules of CSS in a file of this package, in one line."""
    text = (get_data(__name__, name) or b"").decode()
    return "".join(map(str.strip, text.splitlines()))


_CHANGES: Final = "".join(
    f".leafwise .lw-{look.word} .lw-sign{{color:light-dark({look.light},{look.dark})}}"
    for look in LOOKS.values()
)
STYLE: Final = rules_of("style.css") + _CHANGES

_AROUND: Final = (
    "body{margin:0;background:light-dark(#fff,#0d1117);color-scheme:light dark}"
    "body>.leafwise.leafwise{max-height:none}"
)

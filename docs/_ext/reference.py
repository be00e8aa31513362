"""What the site has beyond the plain Markdown of the pages.

Owns the directives in comments that begin with `rst`, the tables of names of the
reference, a page for each public name with a link to its source, and links of names in
the text. `listing` knows the names.
"""

from __future__ import annotations

import inspect
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from listing import BLOCK, PAGES, Entry, entries
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx


ROOT = Path(__file__).parents[2]
REPOSITORY = "https://github.com/leafwise/leafwise"
_RST = re.compile(r"<!-- rst\n(.*?)-->\n", re.DOTALL)


def write_pages(app: Sphinx) -> None:
    """Write the page of each name."""
    folder = Path(app.srcdir) / PAGES
    folder.mkdir(parents=True, exist_ok=True)
    for entry in entries():
        file = folder / f"{Path(entry.page).name}.rst"
        file.write_text(page(entry), encoding="utf-8")


def remove_pages(app: Sphinx, exception: Exception | None) -> None:
    """Leave nothing behind among the sources."""
    shutil.rmtree(Path(app.srcdir) / PAGES, ignore_errors=True)


def page(entry: Entry) -> str:
    """Return the text of the page of one name."""
    value, sort = entry.value(), "function"
    if inspect.isclass(value):
        sort = "exception" if issubclass(value, BaseException) else "class"
    call = "()" if entry.short == "Parallel" else ""  # made by a function, not by hand
    options = [f"   :{one.strip()}:" for one in entry.options.split(";") if one]
    options = [re.sub(r":(members): (.+):$", r":\1: \2", one) for one in options]
    lines = [":orphan:", "", entry.name, "=" * len(entry.name), ""]
    lines += [f"From :doc:`/reference/{entry.topic}`.", ""]
    lines += [f".. auto{sort}:: {entry.name}{call}", *options, ""]
    return "\n".join(lines)


def add_directives(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put directives in the place of comments, and tables in that of lists of names."""
    known = {entry.name: entry for entry in entries()}

    def table(found: re.Match[str]) -> str:
        rows = ["````{container} names", "| | |", "|---|---|"]
        for short in re.findall(r"`([\w.]+)`", found[2]):
            name = f"{found[1]}.{short}"
            told = known[name].summary().replace("|", "\\|")
            said = name.removeprefix("leafwise.")
            rows.append(f"| {{py:obj}}`{said} <{name}>` | {told} |")
        return "\n".join([*rows, "````"]) + "\n"

    text = _RST.sub(r"```{eval-rst}\n\1```\n", source[0])
    source[0] = BLOCK.sub(table, text)


_SHORT = re.compile(
    r"^lw\.|^(?=(?:nn|show|selection|integrations|files|configs|testing|tree|registry|errors)\.)"
)
_OF_PYTHON = {"Any", "typing.Any", "type"}
_NO_LINKS = nodes.reference, nodes.title, nodes.entry, pending_xref


def link_names(app: Sphinx, doctree: nodes.document) -> None:
    """Make links of the names that a page mentions as code: of each the first one.

    The tables of `start/migrating` have hundreds; those in tables stay as they are.
    """
    for xref in [*doctree.findall(pending_xref)]:
        if xref["reftarget"] in _OF_PYTHON:  # and not what has this name here
            xref.replace_self(nodes.Text(xref["reftarget"].rpartition(".")[2]))
    known = {entry.name: entry.name for entry in entries()}
    for entry in entries():
        if "_" in entry.short or re.match(r"[A-Z]\w*[a-z][A-Z]", entry.short):
            known.setdefault(entry.short, entry.name)
    known.pop("is_leaf", None)  # which is a parameter, as a rule
    for code in [*doctree.findall(nodes.literal)]:
        name = code.astext().partition("(")[0]
        whole = known.pop(_SHORT.sub("leafwise.", name), None)
        around = code.parent, code.parent.parent
        if whole and not any(isinstance(one, _NO_LINKS) for one in around):
            link = pending_xref(
                "", refdomain="py", reftype="obj", reftarget=whole, refexplicit=True,
                refwarn=False, refdoc=app.env.docname,
            )  # fmt: skip
            code.replace_self(link)
            link += code


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """Return where the source of an object stands in the repository."""
    value: Any = sys.modules.get(info["module"])
    try:
        for part in info["fullname"].split("."):
            value = inspect.getattr_static(value, part)
            value = getattr(value, "fget", None) or getattr(value, "__func__", value)
        value = inspect.unwrap(value)
        file = Path(inspect.getsourcefile(value) or "")
        source, first = inspect.getsourcelines(value)
        where = file.relative_to(ROOT).as_posix()
    except (AttributeError, TypeError, OSError, ValueError):  # not ours, or no source
        return None
    return f"{REPOSITORY}/blob/main/{where}#L{first}-L{first + len(source) - 1}"


_PLAIN = re.compile(r'<span class="(?:n|p|w|o|pre)">([^<]*)</span>')
_CODE = re.compile(r'<code class="docutils literal notranslate">')
_CELL = re.compile(r"<td><p>((?:(?!</?p>).)*)</p>\s*</td>", re.DOTALL)
_ROW = re.compile(r'<tr class="row-\w+">')


def slim(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Drop elements and classes that have no look, up to half of a page."""
    if "body" in context:
        body = _PLAIN.sub(r"\1", context["body"])
        body = _CELL.sub(r"<td>\1</td>", _CODE.sub("<code>", body))
        context["body"] = _ROW.sub("<tr>", body)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register all of it."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", add_directives)
    app.connect("doctree-read", link_names)
    app.connect("html-page-context", slim)
    app.connect("build-finished", remove_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

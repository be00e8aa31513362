"""Build the reference, and link names to it.

The pages are plain Markdown. This extension adds, when the site is built:

- a page for each public name that `listing` finds, with a link to its source;
- tables of these names in place of their lists;
- directives, which stand in comments that begin with `rst`;
- links of names that the text mentions.
"""

from __future__ import annotations

import inspect
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from listing import BLOCK, LISTED_NAME, PAGES, RESULT, Entry, entries
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer


ROOT = Path(__file__).parents[2]
REPOSITORY = "https://github.com/leafwise/leafwise"

RST_COMMENT = re.compile(r"<!-- rst\n(.*?)-->\n", re.DOTALL)
"""A comment with directives, and their text."""

MEMBERS_OPTION = re.compile(r":(members): (.+):$")
"""The option `members` with names of members, between the colons of an option."""

MARKDOWN_LINK = re.compile(r"\[([^]]+)\]\(([\w./-]+)\.md(#[\w-]+)?\)")
"""A link to another page: its text, the page, and an anchor on it."""

PYTHON_NAMES = {"Any", "typing.Any", "type"}
"""Names in signatures that mean those of Python, although leafwise has them as well."""

MODULES = {
    "configs",
    "errors",
    "files",
    "integrations",
    "nn",
    "registry",
    "selection",
    "show",
    "testing",
    "tree",
}
"""The modules that the text mentions without `leafwise` before them."""

NOT_LINKED = (nodes.reference, nodes.title, nodes.entry, pending_xref)
"""Nodes in which a name is not linked. The tables of one page have hundreds of them."""


# ----------------------------------------------------------------- a page for each name


def write_pages(app: Sphinx) -> None:
    """Write the page of each name, which shows one signature.

    Of functions that have them, autodoc would show all overloads instead, in which
    defaults and options are not to be seen.
    """
    for module in {entry.value().__module__ for entry in entries()}:
        analyzer = ModuleAnalyzer.for_module(module)
        analyzer.analyze()
        analyzer.overloads.clear()
    folder = Path(app.srcdir) / PAGES
    folder.mkdir(parents=True, exist_ok=True)
    for entry in entries():
        file = folder / f"{Path(entry.page).name}.rst"
        file.write_text(page_text(entry), encoding="utf-8")


def remove_pages(app: Sphinx, exception: Exception | None) -> None:
    """Remove the pages again, so that nothing is left among the sources."""
    shutil.rmtree(Path(app.srcdir) / PAGES, ignore_errors=True)


def page_text(entry: Entry) -> str:
    """Return the text of the page of one name."""
    options = [option for option in entry.options.split("; ") if option]
    # without a signature autodoc would write down that of the class
    call = "()" if RESULT in options else ""
    guide = MARKDOWN_LINK.sub(r"`\1 <../\2.html\3>`__", entry.guide)
    lines = [
        ":orphan:",
        "",
        entry.name,
        "=" * len(entry.name),
        "",
        f"From :doc:`/reference/{entry.topic}`. Guide: {guide}.",
        "",
        f".. auto{kind_of(entry.value())}:: {entry.name}{call}",
    ]
    lines += [
        MEMBERS_OPTION.sub(r":\1: \2", f"   :{option}:")
        for option in options
        if option != RESULT
    ]
    return "\n".join([*lines, "", ""])


def kind_of(value: Any) -> str:
    """Return how autodoc calls the kind of an object."""
    if not inspect.isclass(value):
        return "function"
    if issubclass(value, BaseException):
        return "exception"
    return "class"


# ----------------------------------------------------------------- tables and directive


def add_directives(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace comments by directives, and lists of names by tables."""
    text = RST_COMMENT.sub(r"```{eval-rst}\n\1```\n", source[0])
    source[0] = BLOCK.sub(table_of_names, text)  # Sphinx takes the new text from here


def table_of_names(match: re.Match[str]) -> str:
    """Return the table of a list of names."""
    _, module, names = match.groups()
    summaries = {entry.name: entry.summary() for entry in entries()}
    lines = ["````{container} names", "| | |", "|---|---|"]
    for short, _ in LISTED_NAME.findall(names):
        name = f"{module}.{short}"
        title = name.removeprefix("leafwise.")
        summary = summaries[name].replace("|", "\\|")
        lines.append(f"| {{py:obj}}`{title} <{name}>` | {summary} |")
    return "\n".join([*lines, "````"]) + "\n"


# -------------------------------------------------------------------------------- links


def full_name(name: str) -> str:
    """Return a name as the reference lists it, if it begins with `lw` or a module."""
    first, _, remainder = name.partition(".")
    if not remainder:
        return name
    if first == "lw":
        return f"leafwise.{remainder}"
    if first in MODULES:
        return f"leafwise.{name}"
    return name


def linkable_names() -> dict[str, str]:
    """Return the names that are linked in the text, each with its full name.

    Short names are linked if they cannot be words of English: `tree_map`, `PyTreeDef`.
    """
    names = {entry.name: entry.name for entry in entries()}
    for entry in entries():
        is_camel_case = re.match(r"[A-Z]\w*[a-z][A-Z]", entry.short)
        if "_" in entry.short or is_camel_case:
            names.setdefault(entry.short, entry.name)
    names.pop("is_leaf", None)  # mostly it is the parameter that is meant
    return names


def link_names(app: Sphinx, doctree: nodes.document) -> None:
    """Link the names that a page mentions as code, each where it comes first."""
    for xref in list(doctree.findall(pending_xref)):
        target = xref["reftarget"]
        if target in PYTHON_NAMES:
            xref.replace_self(nodes.Text(target.rpartition(".")[2]))
    names = linkable_names()
    for code in list(doctree.findall(nodes.literal)):
        text, _, _ = code.astext().partition("(")
        # removed once it is met, also where it is not linked, such as in a title
        target = names.pop(full_name(text), None)
        is_excluded = isinstance(code.parent, NOT_LINKED)
        is_excluded |= isinstance(code.parent.parent, NOT_LINKED)
        if target is not None and not is_excluded:
            link = pending_xref(
                "",
                refdomain="py",
                reftype="obj",
                reftarget=target,
                refexplicit=True,
                refwarn=False,
                refdoc=app.env.docname,
            )
            code.replace_self(link)
            link += code


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """Return the address of the source of an object, or None if it is not ours."""
    value: Any = sys.modules.get(info["module"])
    try:
        for name in info["fullname"].split("."):
            value = inspect.getattr_static(value, name)
            # the function of a property, a class method or a static method
            value = getattr(value, "fget", None) or getattr(value, "__func__", value)
        value = inspect.unwrap(value)
        file = Path(inspect.getsourcefile(value) or "")
        lines, first = inspect.getsourcelines(value)
        path = file.relative_to(ROOT).as_posix()
    except (AttributeError, TypeError, OSError, ValueError):
        return None
    last = first + len(lines) - 1
    return f"{REPOSITORY}/blob/main/{path}#L{first}-L{last}"


# ------------------------------------------------------------------------ smaller pages

_HTML_CHANGES = [
    # spans of the highlighter that have no color
    (re.compile(r'<span class="(?:n|p|w|o|pre)">([^<]*)</span>'), r"\1"),
    # classes without rules in any stylesheet
    (re.compile(r'<code class="docutils literal notranslate">'), "<code>"),
    # paragraphs that are all of a cell
    (re.compile(r"<td><p>((?:(?!</?p>).)*)</p>\s*</td>", re.DOTALL), r"<td>\1</td>"),
    (re.compile(r'<tr class="row-\w+">'), "<tr>"),
]


def shrink_html(
    app: Sphinx,
    pagename: str,
    template: str,
    context: dict[str, Any],
    doctree: Any,
) -> None:
    """Drop elements and classes that change nothing to see: up to half of a page."""
    if "body" not in context:
        return
    for pattern, replacement in _HTML_CHANGES:
        context["body"] = pattern.sub(replacement, context["body"])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", add_directives)
    app.connect("doctree-read", link_names)
    app.connect("html-page-context", shrink_html)
    app.connect("build-finished", remove_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

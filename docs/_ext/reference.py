"""A page for each public name, with a link to its source.

Owns the directive `names`, which lists names with what they do, and the pages that are
written for them before Sphinx reads its sources. `listing` knows the names.
"""

from __future__ import annotations

import inspect
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from listing import PAGES, Entry, entries
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


ROOT = Path(__file__).parents[2]
_SHORT = re.compile(
    r"^lw\.|^(?=(?:nn|show|selection|integrations|io|testing|tree|registry|errors)\.)"
)


# -------------------------------------------------------------------------- writing


def write_pages(app: Sphinx) -> None:
    """Write the page of each name, as old as what it is made from."""
    folder = Path(app.srcdir) / PAGES
    folder.mkdir(parents=True, exist_ok=True)
    newest = max(file.stat().st_mtime for file in Path(app.srcdir).rglob("*.md"))
    for entry in entries():
        file = folder / f"{Path(entry.page).name}.rst"
        file.write_text(page(entry), encoding="utf-8")
        os.utime(file, (newest, newest))  # Sphinx reads again what is newer


def remove_pages(app: Sphinx, exception: Exception | None) -> None:
    """Leave nothing behind among the sources."""
    shutil.rmtree(Path(app.srcdir) / PAGES, ignore_errors=True)


def page(entry: Entry) -> str:
    """Return the text of the page of one name."""
    title = entry.name
    options = [f"   :{option}:" for option in entry.options]
    options = [re.sub(r":(members): (.+):$", r":\1: \2", one) for one in options]
    call = "()" if entry.short == "Parallel" else ""  # made by a function, not by hand
    lines = [
        *(":orphan:", "", title, "=" * len(title), ""),
        f"From :doc:`/reference/{entry.topic}`, {entry.section}.",
        "",
        f".. auto{entry.sort()}:: {entry.name}{call}",
        *options,
    ]
    return "\n".join(lines) + "\n"


# ------------------------------------------------------------------------- listing


class Names(SphinxDirective):
    """A table of names, each with its page and the first sentence of its docstring."""

    has_content = True
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Make the table."""
        rows = ["| | |", "|---|---|"]
        for line in self.content:
            name = f"{self.arguments[0]}.{line}"
            entry = next(one for one in entries() if one.name == name)
            summary = entry.summary().replace("|", "\\|")
            said = name.removeprefix("leafwise.")
            rows.append(f"| {{py:obj}}`{said} <{name}>` | {summary} |")
        table = nodes.container(classes=["names"])
        source, line = self.get_source_info()
        self.state.nested_parse(StringList(rows, source), line or 0, table)
        return [table]


def name_role(
    name: str, raw: str, text: str, line: int, inliner: Any, *_: Any
) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """Turn what docstrings write as code into code, and names of ours into links."""
    env = inliner.document.settings.env
    code = nodes.literal(raw, text)
    known = _names(env)
    if text not in known:
        return [code], []
    link = pending_xref(
        raw, code, refdomain="py", reftype="obj", reftarget=known[text],
        refexplicit=True, refwarn=False, refdoc=env.docname,
    )  # fmt: skip
    return [link], []


def _names(env: Any) -> dict[str, str]:
    """Return what is a name of ours wherever it stands, with the whole name."""
    if not hasattr(env, "_leafwise_names"):
        known: dict[str, str] = {}
        for entry in entries():
            known[entry.name] = entry.name
            if "_" in entry.short or re.match(r"[A-Z]\w*[a-z][A-Z]", entry.short):
                known.setdefault(entry.short, entry.name)
        env._leafwise_names = known
    return env._leafwise_names  # type: ignore[no-any-return]


def link_names(app: Sphinx, doctree: nodes.document) -> None:
    """Make links of the names that a page mentions as code: of each the first one."""
    env = app.env
    if env.docname.startswith(("reference/", "changelog")):
        return
    known, seen = _names(env), set()
    for code in [*doctree.findall(nodes.literal)]:
        name = code.astext().partition("(")[0]
        whole = known.get(_SHORT.sub("leafwise.", name))
        inside = isinstance(code.parent, nodes.reference | nodes.title)
        if env.docname == "start/migrating":  # its tables have hundreds
            inside |= isinstance(code.parent.parent, nodes.entry)
        if whole is None or whole in seen or inside:
            continue
        seen.add(whole)
        link = pending_xref(
            "", refdomain="py", reftype="obj", reftarget=whole, refexplicit=True,
            refwarn=False, refdoc=env.docname,
        )  # fmt: skip
        code.replace_self(link)
        link += code


# ---------------------------------------------------------------------- docstrings

LABELS = {
    "same-value": ("guide/trees", "comparing-trees", "Comparing trees"),
    "validated": ("guide/selecting", "validation", "Validation"),
}
"""What docstrings refer to: the page, the section there, its title."""


def name_sections(app: Sphinx, env: Any) -> list[str]:
    """Give the sections that docstrings refer to their labels."""
    domain = env.domains.standard_domain
    domain.labels.update(LABELS)
    domain.anonlabels.update({name: place[:2] for name, place in LABELS.items()})
    return []


# -------------------------------------------------------------------------- source


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """Return where the source of an object stands in the repository."""
    if domain != "py" or not info["module"]:
        return None
    value: Any = sys.modules.get(info["module"])
    try:
        for part in info["fullname"].split("."):
            value = inspect.getattr_static(value, part)
            value = getattr(value, "fget", None) or getattr(value, "__func__", value)
        file = inspect.getsourcefile(inspect.unwrap(value))
        source, first = inspect.getsourcelines(inspect.unwrap(value))
    except (AttributeError, TypeError, OSError):
        return None
    if file is None or not Path(file).is_relative_to(ROOT / "src"):
        return None
    where = Path(file).relative_to(ROOT).as_posix()
    return f"{REPOSITORY}/blob/main/{where}#L{first}-L{first + len(source) - 1}"


REPOSITORY = "https://github.com/leafwise/leafwise"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register all of it."""
    app.setup_extension("sphinx.ext.autodoc")
    app.add_directive("names", Names)
    app.add_role("name", name_role)
    app.connect("builder-inited", write_pages)
    app.connect("build-finished", remove_pages)
    app.connect("doctree-read", link_names)
    app.connect("env-updated", name_sections)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

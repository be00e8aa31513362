"""Pictures of trees in the pages, drawn by `leafwise.show` when the site is built.

Owns the directive `pictures`. Its content is Python, in which `draw(tree, caption)`
puts a picture on the page; the pictures of one block stand beside one another:

    ```{pictures} What a reader who cannot see them should know
    draw({"a": 1, "b": [2, 3]}, "the tree")
    ```

They are part of the page, and light or dark as the page is, whatever the system is.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


STYLE = re.compile(
    r"<style>(.*?)@media \(prefers-color-scheme:dark\)\{(.*)\}</style>\n"
)


class Pictures(SphinxDirective):
    """Pictures of trees, beside one another."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Run the code, and put what it draws on the page."""
        import leafwise as lw
        from leafwise import nn, show

        drawn: list[str] = []

        def draw(tree: Any, caption: str = "", **options: Any) -> None:
            drawn.append(figure(show.to_svg(tree, **options), caption))

        source, line = self.get_source_info()
        code = compile("\n" * line + "\n".join(self.content), source, "exec")
        exec(code, {"lw": lw, "nn": nn, "draw": draw})
        said = nodes.Text(self.arguments[0].replace("\n", " ")).astext()
        label = said.replace("&", "&amp;").replace('"', "&quot;")
        page = f'<div class="tree-pictures" role="group" aria-label="{label}">'
        page += "".join(drawn) + "</div>"
        return [nodes.raw("", page, format="html")]


def figure(picture: str, caption: str) -> str:
    """Return an SVG as part of a page: no style of its own, for the page has it.

    On a narrow screen it shrinks as far as its texts can be read, then it scrolls.
    """
    width = int(re.search(r'width="(\d+)"', picture)[1])
    size = f"max-width:100%;min-width:{round(0.7 * width)}px;height:auto"
    picture = STYLE.sub("", picture).replace("color-scheme:light dark", size)
    said = f"<figcaption>{caption}</figcaption>" if caption else ""
    return f'<figure class="tree-picture">{picture}{said}</figure>'


def write_style(app: Sphinx) -> None:
    """Write the look of the diagrams: by the theme that the reader chose."""
    from leafwise import show

    found = STYLE.search(show.to_svg(1))
    if found is None:
        raise RuntimeError("the pictures have another style than expected")
    light, dark = found.groups()
    text = (
        f"{light}\n{scoped('body[data-theme=light]', light)}\n"
        "@media (prefers-color-scheme: dark) {\n"
        f"{scoped('body:not([data-theme=light])', dark)}\n}}\n"
        f"{scoped('body[data-theme=dark]', dark)}\n"
    )
    target = Path(app.outdir) / "_static" / "diagrams.css"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def scoped(scope: str, rules: str) -> str:
    """Return rules that hold only inside a scope."""
    made = []
    for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", rules):
        inside = ",".join(f"{scope} {one}" for one in selectors.split(","))
        made.append(f"{inside}{{{body}}}")
    return "\n".join(made)


def style_once(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Drop the styles that the page has already, or that follow the system."""
    seen: set[str] = set()

    def first(found: re.Match[str]) -> str:
        repeated = found[0] in seen or "leafwise-diagram" in found[0]
        seen.add(found[0])
        return "" if repeated else found[0]

    if "body" in context:
        styles = r"<style>\.leafwise.*?</style>\n?"
        context["body"] = re.sub(styles, first, context["body"], flags=re.DOTALL)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Write the style after the theme's files."""
    if exception is None and app.builder.format == "html":
        write_style(app)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register all of it."""
    app.add_directive("pictures", Pictures)
    app.add_css_file("diagrams.css")
    app.connect("html-page-context", style_once)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Examples that run in the page: what `run.js` needs beside it.

Owns which pages have the script, where Pyodide is loaded from, and the wheels that are
built into the site: leafwise as it is here, and the one package that it needs.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from sphinx.application import Sphinx


ROOT = Path(__file__).parents[2]
PARTS = re.compile(r"^(index$|start/|tutorials/|how-to/)")


def build_wheels(folder: Path) -> None:
    """Put leafwise and what it needs into a folder, under names without versions."""
    import typing_extensions

    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
        subprocess.run(
            [*command, "-d", scratch], cwd=ROOT, check=True, capture_output=True
        )
        (wheel,) = Path(scratch).glob("leafwise-*.whl")
        (folder / "leafwise.whl").write_bytes(wheel.read_bytes())
    with ZipFile(folder / "typing_extensions.whl", "w") as archive:
        archive.write(typing_extensions.__file__, "typing_extensions.py")


def add_script(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Tell the pages with examples where to load Python from."""
    if not PARTS.match(pagename) or doctree is None:
        return
    wheels = "typing_extensions.whl leafwise.whl"
    context["metatags"] = context.get("metatags", "") + (
        f'<meta name="leafwise-pyodide" content="{app.config.pyodide_url}">\n'
        f'<meta name="leafwise-wheels" content="{wheels}">\n'
    )
    app.add_js_file("run.js", loading_method="defer")


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Build the wheels when the pages are there."""
    if exception is None and app.builder.name == "html":
        build_wheels(Path(app.outdir) / "_static" / "pyodide")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register all of it."""
    app.add_config_value("pyodide_url", "", "html")
    app.connect("html-page-context", add_script)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Let readers run examples in the page: what the script `run.js` needs.

The pages with examples get the script, and are told from where it loads Pyodide and the
wheels. These are built into the site: leafwise as it is here, and the one package that
it needs.
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

PAGES_WITH_EXAMPLES = re.compile(r"^(index$|start/|tutorials/|how-to/)")

WHEELS = "typing_extensions.whl leafwise.whl"
"""The wheels in the order in which they are installed."""


def build_wheels(folder: Path) -> None:
    """Put leafwise and what it needs into a folder, under names without versions."""
    import typing_extensions

    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
        command += ["-d", scratch]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        (wheel,) = Path(scratch).glob("leafwise-*.whl")
        (folder / "leafwise.whl").write_bytes(wheel.read_bytes())
    # `run.js` only unpacks wheels, so that a module without metadata is one
    with ZipFile(folder / "typing_extensions.whl", "w") as archive:
        archive.write(typing_extensions.__file__, "typing_extensions.py")


def add_script(
    app: Sphinx,
    pagename: str,
    template: str,
    context: dict[str, Any],
    doctree: Any,
) -> None:
    """Add the script to a page with examples, and the addresses that it reads."""
    if doctree is None or not PAGES_WITH_EXAMPLES.match(pagename):
        return
    context["metatags"] = context.get("metatags", "") + (
        f'<meta name="leafwise-pyodide" content="{app.config.pyodide_url}">\n'
        f'<meta name="leafwise-wheels" content="{WHEELS}">\n'
    )
    app.add_js_file("run.js", loading_method="defer")


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Build the wheels once the pages are written."""
    if exception is None and app.builder.name == "html":
        build_wheels(Path(app.outdir) / "_static" / "pyodide")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_config_value("pyodide_url", "", "html")
    app.connect("html-page-context", add_script)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

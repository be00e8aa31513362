"""What must hold of the built site in a browser: nothing clipped, all pictures shown.

Usage: python tests/docs/check_pages.py SITE PYODIDE [SCREENSHOTS]

Serves the folder SITE from this machine, and Pyodide from the folder PYODIDE (of its
npm package), and looks at the main pages in Chromium: wide and narrow, light and dark.
Then runs examples in the page. Nothing else is asked of the network.
"""

import functools
import http.server
import io
import os
import re
import shutil
import sys
import threading
from pathlib import Path

from playwright.sync_api import sync_playwright


PAGES = [
    "index",
    "start/quickstart",
    "start/migrating",
    "tutorials/training",
    "tutorials/configs",
    "how-to/recipes",
    "guide/trees",
    "guide/configs",
    "guide/show",
    "guide/objects",
    "guide/commands",
    "explanation/why",
    "performance",
    "measurements",
    "changelog",
    "reference/index",
    "reference/selecting",
    "reference/api/leafwise.tree_map",
    "reference/api/leafwise.PyTreeDef",
]
WIDTHS = (1300, 400)
SCHEMES = ("light", "dark")

LOOK = Path(__file__).with_name("look.js").read_text(encoding="utf-8")


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site, and Pyodide below `/pyodide/`."""

    def __init__(self, *args, pyodide, **named):
        self.pyodide = pyodide
        super().__init__(*args, **named)

    def translate_path(self, path):
        if path.startswith("/pyodide/"):
            return str(self.pyodide / path.removeprefix("/pyodide/").partition("?")[0])
        return super().translate_path(path)

    def send_head(self):
        """Tell pages to load Pyodide from here."""
        path = Path(self.translate_path(self.path))
        if path.suffix != ".html" or not path.is_file():
            return super().send_head()
        text = path.read_text(encoding="utf-8")
        setting = r'(<meta name="leafwise-pyodide" content=")[^"]*'
        data = re.sub(setting, r"\1/pyodide/", text).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        return io.BytesIO(data)

    def log_message(self, *args):
        pass


Handler.extensions_map = {
    **http.server.SimpleHTTPRequestHandler.extensions_map,
    ".mjs": "text/javascript",
    ".wasm": "application/wasm",
}


def serve(site, pyodide):
    """Serve both from a free port; return the server and its address."""
    handler = functools.partial(Handler, directory=str(site), pyodide=pyodide)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}"


def look(browser, address, screenshots):
    """Yield what is wrong with the pages, at each width, light and dark."""
    for width in WIDTHS:
        for scheme in SCHEMES:
            page = browser.new_page(
                viewport={"width": width, "height": 900}, color_scheme=scheme
            )
            for name in PAGES:
                failed = []
                page.on("requestfailed", lambda one, failed=failed: failed.append(one))
                answer = page.goto(f"{address}/{name}.html", wait_until="load")
                where = f"{name}, {width} pixels, {scheme}"
                if answer.status != 200:
                    yield f"{where}: status {answer.status}"
                for fault in page.evaluate(LOOK):
                    yield f"{where}: {fault}"
                for request in failed:
                    # the icon is given up if the next page is asked for first
                    if request.failure != "net::ERR_ABORTED":
                        yield f"{where}: not loaded: {request.url}"
                if screenshots:
                    file = f"{name.replace('/', '_')}-{width}-{scheme}.png"
                    page.screenshot(path=screenshots / file, full_page=True)
            page.close()


EXAMPLES = [
    ("index", 0, "[{'width': 16}, {'width': 16}]"),
    ("start/quickstart", 2, ""),
    ("tutorials/library", 4, "a page about dna"),
]


def run_examples(browser, address, examples=EXAMPLES):
    """Yield what is wrong with the examples that run in the page."""
    for name, number, expected in examples:
        page = browser.new_page()
        page.goto(f"{address}/{name}.html")
        button = page.locator(".run-bar button").nth(number)
        button.click()
        outputs = page.locator(".run-output[data-done]")
        outputs.wait_for(state="attached", timeout=120_000)
        text = outputs.inner_text()
        if expected not in text or "Traceback" in text or "could not be" in text:
            yield f"{name}, example {number}, printed: {text}"
        edit = page.locator("article textarea")
        edit.fill("print(6 * 7)")
        button.click()
        page.wait_for_function(
            "document.querySelector('.run-output').textContent === '42\\n'"
        )
        page.close()


def wrong(site, pyodide, screenshots=None):
    """Return all that is wrong with the site in a browser."""
    server, address = serve(site, pyodide)
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    chromium = chromium or shutil.which("google-chrome")
    try:
        with sync_playwright() as driver:
            browser = driver.chromium.launch(
                executable_path=chromium, args=["--no-sandbox"]
            )
            faults = list(look(browser, address, screenshots))
            faults += run_examples(browser, address)
            browser.close()
    finally:
        server.shutdown()
        server.server_close()
    return faults


if __name__ == "__main__":
    site, pyodide, *rest = map(Path, sys.argv[1:])
    for folder in rest:
        folder.mkdir(parents=True, exist_ok=True)
    all_faults = wrong(site.resolve(), pyodide.resolve(), *rest)
    print("\n".join(all_faults) or "the pages are as they should be")
    sys.exit(bool(all_faults))

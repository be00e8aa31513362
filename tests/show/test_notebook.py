"""A notebook with each kind of object, run, and looked at in a browser."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

import leafwise as lw
from helpers.peers import peer
from leafwise.show import to_html


pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("processes"),
    # of the loop by which the browser is driven, when the interpreter ends it
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

SETUP = """\
import numpy as np
import leafwise as lw
from leafwise import nn

class Block(lw.Pytree):
    def __init__(self, size):
        self.weight = nn.Param(np.zeros((size, size), "f4"))
        self.mean = nn.BatchStat(np.zeros(size, "f4"))
        self.activation = "relu"

class Model(lw.Pytree):
    def __init__(self):
        self.embed = nn.Param(np.zeros((1000, 64), "f4"))
        self.blocks = nn.List([Block(64), Block(64)])
        self.head = self.embed

old = {"w": np.zeros((64, 64), "f4"), "lr": 0.1, "gone": 1, "path": "/data" * 40}
new = {"w": old["w"].copy(), "lr": 0.01, "new": [1, 2], "path": "/home" * 40}
new["w"][3, 5] = 0.5
"""
CELLS = {
    "Model()": ["Model", "embed=", "f32[1000,64]", "→ #1", "'relu'", "BatchStat"],
    "nn.state(Model())": ["State", "'embed'", "Param", "f32[64,64]"],
    "lw.tree_structure(Model())": ["PyTreeDef: 6 leaves", "blocks=", "*"],
    "lw.tree_diff(old, new)": ["5 changes", "[3, 5]", "0.5", "differ from character 2"],
    "lw.at(Model())['**.weight']": ["2 places", "weight=", "... 2 more"],
    "nn.graphdef(Model())": ["GraphDef", "Model", "blocks=", "weight=", "*"],
    "lw.tree_summary(Model())": ["blocks", "float32", "64, 64"],
    "nn.Dict({'</script>': nn.Param('\\u202e')})": ["'</script>'", "\\u202e"],
    "nn.Param(np.arange(3.0))": ["Param", "f64[3]([0, 1, 2])"],
    "lw.tree_structure({'deep': [list(range(9))] * 9})": ["9 items"],
}
SOURCE = str(Path(lw.__file__).parents[1])
LOOKS = [(theme, width) for theme in ("light", "dark") for width in (1300, 400)]
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """Return the folder with a notebook that was run, as pages in both themes."""
    peer("ipykernel")
    peer("nbconvert")
    pytest.importorskip("numpy")
    folder = tmp_path_factory.mktemp("notebook")
    kernel = {"name": "python3", "display_name": "Python", "language": "python"}
    cells = [
        {
            "cell_type": "code",
            "id": f"cell{number}",
            "source": source,
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        }
        for number, source in enumerate([SETUP, *CELLS])
    ]
    metadata = {"kernelspec": kernel}
    content = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    (folder / "objects.ipynb").write_text(json.dumps(content), encoding="utf-8")
    convert(folder, "--to", "notebook", "--execute", "--inplace")
    for theme in ("light", "dark"):
        convert(folder, "--to", "html", "--output", theme, f"--theme={theme}")
    return folder


def convert(folder, *options):
    """Run nbconvert, without the addresses of scripts that its pages may load."""
    scripts = ("require_js", "mathjax", "jquery", "mermaid_js")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "nbconvert",
            "objects.ipynb",
            *options,
            *(f"--HTMLExporter.{name}_url=" for name in scripts),
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": SOURCE, "JUPYTER_PLATFORM_DIRS": "1"},
        check=True,
        timeout=300,
    )


def test_each_object_has_html_in_the_notebook(notebook):
    content = json.loads((notebook / "objects.ipynb").read_text(encoding="utf-8"))
    for cell in content["cells"][1:]:
        (output,) = cell["outputs"]
        assert set(output["data"]) == {"text/html", "text/plain"}


@pytest.fixture(scope="module")
def browser():
    """Return a browser without a window."""
    drive = peer("playwright.sync_api").sync_playwright
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        if os.environ.get("LEAFWISE_PEERS") == "required":
            pytest.fail("there is no chromium")
        pytest.skip("there is no chromium")
    with drive() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def opened(browser, path, theme, width):
    """Open a page, and see to it that it asks for nothing else."""
    view = {"width": width, "height": 900}
    context = browser.new_context(viewport=view, color_scheme=theme)
    page = context.new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: asked.append(str(error)))
    page.goto(path.as_uri())
    try:
        yield page
        assert asked == [path.as_uri()]
    finally:
        context.close()


FADED = """
(root) => {
  const canvas = document.createElement("canvas").getContext("2d");
  const read = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const light = ([r, g, b]) => {
    const part = (x) =>
      (x /= 255) <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = (element) => {
    for (; element; element = element.parentElement) {
      const color = read(getComputedStyle(element).backgroundColor);
      if (color[3] == 255) return color;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of root.querySelectorAll("span, td, code, .lw-caption")) {
    if (!element.innerText) continue;
    const two = [light(read(getComputedStyle(element).color)), light(behind(element))];
    const contrast = (Math.max(...two) + 0.05) / (Math.min(...two) + 0.05);
    if (contrast < 4.5) found.push([element.className, element.innerText, contrast]);
  }
  return found;
}
"""
"""Which texts can hardly be read: less contrast than WCAG 2 asks for (AA)."""
STRIPED = """
(root) => [...root.querySelectorAll(".lw-diff tr")]
  .map((row) => getComputedStyle(row).backgroundColor)
  .filter((color) => color != "rgba(0, 0, 0, 0)")
"""
"""Colours of rows, which are those of the notebook."""


FITS = "e => e.scrollWidth <= e.clientWidth || e.querySelector('.lw-summary')"
"""Whether all can be seen; wide tables are moved under the frame."""


@pytest.mark.parametrize(("theme", "width"), LOOKS)
def test_each_object_can_be_read_in_the_notebook(browser, notebook, theme, width):
    with opened(browser, notebook / f"{theme}.html", theme, width) as page:
        pictures = page.locator(".leafwise")
        assert pictures.count() == len(CELLS)
        for number, texts in enumerate(CELLS.values()):
            picture = pictures.nth(number)
            visible_text = picture.inner_text()
            assert [text for text in texts if text not in visible_text] == []
            assert picture.evaluate(FADED) == []
            assert picture.evaluate(STRIPED) == []
            assert picture.evaluate(FITS)
            box = picture.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width


def test_nodes_fold(browser, tmp_path):
    path = tmp_path / "tree.html"
    tree = {"closed": {f"k{i}": [i, i] for i in range(50)}}
    path.write_text(to_html(tree, document=True), encoding="utf-8")
    with opened(browser, path, "light", 1300) as page:
        inside = page.get_by_text("'k7'", exact=True)
        assert not inside.is_visible()
        page.get_by_text("'closed'", exact=True).click()
        assert inside.is_visible()
        page.keyboard.press("Enter")  # the line has the focus
        assert not inside.is_visible()
        page.locator("summary").first.click()
        assert not page.get_by_text("'closed'", exact=True).is_visible()

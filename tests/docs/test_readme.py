"""The README: its picture is what the library draws, its links lead to files."""

import re
from pathlib import Path

from helpers.repository import load_module


ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PLACES = re.findall(
    r"https://(?:github\.com/leafwise/leafwise/blob|raw\.githubusercontent\.com/leafwise/leafwise)"
    r"/main/([^)\"#]+)",
    README,
)


def test_the_picture_is_drawn_by_the_library(tmp_path):
    """And that of the page on showing trees."""
    picture = load_module("docs/examples/picture.py")
    picture.draw(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"tree.svg", "tree-dark.svg", "model.svg"}
    for name in names:
        drawn = (tmp_path / name).read_text(encoding="utf-8")
        assert drawn == (picture.STATIC / name).read_text(encoding="utf-8")
    assert str(picture.CONFIG) in README.replace('"', "'")


def test_it_has_links():
    """Absolute ones, so that they work on the package index; to files that exist."""
    assert PLACES
    assert [place for place in PLACES if not (ROOT / place).is_file()] == []
    assert not re.search(r"\]\((?!https://)", README)

"""What the source may grow to.

Lines of code are those with code on them: neither blank, nor a comment, nor part of a
docstring.
"""

import ast
import re

import pytest

import leafwise as lw
from sources import MODULES, SOURCE, TEXTS, TREES


MAX_SOURCE = 23_174
"""Lines of code in all of the source; it falls with each simplification."""

BUDGETS = {
    "core ops engine equality": 6_900,
    "engine": 1_200,
    "": 1_050,
    "io": 1_850,
    "nn": 4_400,
    "selection": 3_100,
    "show": 1_650,
    "testing": 650,
    "cli": 430,
    "compat": 2_200,
}
"""Lines of code in packages; those of no package are the modules beside them."""


def code_lines(path):
    """Return the numbers of the lines of a module that have code."""
    return numbers(TEXTS[path], TREES[path])


def numbers(text, tree):
    """Return the numbers of the lines with code."""
    docs = set()
    for node in ast.walk(tree):
        match node:
            case ast.Expr(ast.Constant(str())):
                docs.update(range(node.lineno, node.end_lineno + 1))
    return {
        number
        for number, line in enumerate(text.splitlines(), 1)
        if number not in docs and line.strip() and not line.lstrip().startswith("#")
    }


def test_lines_of_code_are_counted():
    """Not blanks, comments, docstrings; a string that is used counts."""
    text = '"""Doc."""\n\n# why\ndef f():\n    """Doc\n    more."""\n'
    text += '    return """\nx"""\n'
    tree = ast.parse(text)
    assert numbers(text, tree) == {4, 7, 8}


def test_modules_say_what_they_own():
    """Each module has a docstring."""
    assert [path.stem for path in MODULES if not ast.get_docstring(TREES[path])] == []


def test_the_source_is_small():
    """All packages together, the stand-ins for other libraries among them."""
    assert sum(len(code_lines(path)) for path in MODULES) <= MAX_SOURCE


@pytest.mark.parametrize("rooms", BUDGETS)
def test_packages_are_small(rooms):
    """Those of a row together."""
    found = [
        path
        for path in MODULES
        if (path.relative_to(SOURCE).parts[:-1] or ("",))[0] in rooms.split(" ")
    ]
    assert sum(len(code_lines(path)) for path in found) <= BUDGETS[rooms]


def test_the_engine_is_three_modules():
    """It can be deleted."""
    assert len([path for path in MODULES if path.parent.name == "engine"]) <= 3


def test_the_page_on_the_architecture_names_files_that_exist():
    """Relative to the package, or to the root of the repository."""
    root = SOURCE.parents[1]
    page = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = {*re.findall(r"\b[\w/]+/\w+\.(?:py|md)\b", page)} - {
        "integrations/NAME.py",
        "io/NAME.py",
        "compat/NAME.py",
    }
    assert len(named) > 10
    if not hasattr(lw, "engine"):
        named = {name for name in named if not name.startswith("engine/")}
    missing = [n for n in named if not any((r / n).exists() for r in (SOURCE, root))]
    assert missing == []

"""What the source may grow to: modules, functions, the tree library as a whole.

Lines of code are those with code on them: neither blank, nor a comment, nor part of a
docstring.
"""

import ast
import re

import pytest

import leafwise as lw
from sources import MODULES, SOURCE, TEXTS, TREES


PARTS = {"core", "engine", "ops", ""}
"""The packages of the tree library proper; the empty one is the top level."""
NO_TREES = {"cli", "layout", "paint"}
"""Modules of the top level that are not part of it."""

MAX_LINES = 900
MAX_FUNCTION = 40
MAX_MODULES = 139
MAX_SIGNATURES = 9
MAX_SIGNATURE_LINES = 2_453
"""Of code, without the module that a test makes from another one."""
MAX_STANDINS = 40
MAX_TREES = 10_143


def package_of(path):
    """Return the name of the package that a module is in, empty for the top level."""
    return "".join(path.relative_to(SOURCE).parts[:-1])


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


def functions(node, name=""):
    """Yield the functions below a node of the syntax tree, with qualified names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{name}.{child.name}" if name else child.name
            if not isinstance(child, ast.ClassDef):
                yield inner, child
            yield from functions(child, inner)
        else:
            yield from functions(child, name)


def test_lines_of_code_are_counted():
    """Not blanks, comments, docstrings; a string that is used counts."""
    text = '"""Doc."""\n\n# why\ndef f():\n    """Doc\n    more."""\n'
    text += '    return """\nx"""\n'
    tree = ast.parse(text)
    assert numbers(text, tree) == {4, 7, 8}
    assert [name for name, _ in functions(tree)] == ["f"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_modules_are_small_and_say_what_they_own(path):
    """Each module has a docstring and at most 900 lines."""
    assert ast.get_docstring(TREES[path])
    assert len(TEXTS[path].splitlines()) <= MAX_LINES


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_functions_are_short(path):
    """A function has at most 40 lines of code."""
    lines = code_lines(path)
    long = {
        name
        for name, node in functions(TREES[path])
        if len(lines.intersection(range(node.lineno, node.end_lineno + 1)))
        > MAX_FUNCTION
    }
    assert long == set()


def test_there_are_few_modules():
    """In all, with those that make a folder a package; these are counted apart."""
    standins = [path for path in MODULES if "compat" in path.parts]
    signatures = [path for path in MODULES if "signatures" in path.parts]
    assert len(MODULES) - len(standins) - len(signatures) <= MAX_MODULES
    assert len(standins) <= MAX_STANDINS
    assert len(signatures) <= MAX_SIGNATURES
    written = [path for path in signatures if path.stem != "path_maps"]
    lines = sum(len(code_lines(path)) for path in written)
    assert lines <= MAX_SIGNATURE_LINES


def test_the_tree_library_is_small():
    """Core, engine, operations and the top level together."""
    parts = [p for p in MODULES if package_of(p) in PARTS and p.stem not in NO_TREES]
    sizes = [len(code_lines(path)) for path in parts]
    assert sum(sizes) <= MAX_TREES


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

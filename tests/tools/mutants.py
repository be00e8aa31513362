"""Do the tests notice one wrong line? Mutants of the source, the same for each seed.

Usage: python tests/tools/mutants.py [--count 60] [--seed 0]

Each mutant is one changed expression in a copy of the source; the tests of its package
and the laws run first, then all others, up to the first failure. leafwise has to be
installed with the group `test`, since some tests run its command.
"""

import argparse
import ast
import copy
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import NamedTuple


ROOT = Path(__file__).parents[2]
PACKAGES = ("core", "ops", "engine", "selection", "nn", "files", "configs")
OPPOSITES = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add,
}  # fmt: skip


class Mutant(NamedTuple):
    """A changed expression on one line of a file."""

    path: Path  # relative to the root of the repository
    line: int  # counted from 0
    start: int  # of the expression on its line, in bytes
    end: int
    new_text: str

    def write_to(self, folder):
        """Change the file in a copy of the repository."""
        file = folder / self.path
        lines = file.read_bytes().split(b"\n")
        line = lines[self.line]
        before = line[: self.start]
        after = line[self.end :]
        lines[self.line] = before + self.new_text.encode() + after
        file.write_bytes(b"\n".join(lines))


def changed_expression(node):
    """Return an expression with another value, or None if we know no such change."""
    node = copy.deepcopy(node)
    match node:
        case ast.Compare(ops=[op]):
            node.ops = [OPPOSITES[type(op)]()]
        case ast.BoolOp() | ast.BinOp(op=ast.Add() | ast.Sub()):
            node.op = OPPOSITES[type(node.op)]()
        case ast.UnaryOp(op=ast.Not()):
            return node.operand
        case ast.Constant(value=bool() as value):
            node.value = not value
        case ast.Constant(value=int() as value):
            node.value = value + 1
        case _:
            return None
    return node


def nodes_inside_functions(tree):
    """Return the syntax nodes in the bodies of functions, each once."""
    nodes = {}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for statement in function.body:
                nodes.update((id(node), node) for node in ast.walk(statement))
    return nodes.values()


def mutants_of(package):
    """Return all mutants of a package."""
    mutants = []
    for path in sorted((ROOT / "src" / "leafwise" / package).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in nodes_inside_functions(tree):
            new = changed_expression(node)
            if new is not None and node.lineno == node.end_lineno:
                mutants.append(
                    Mutant(
                        path=path.relative_to(ROOT),
                        line=node.lineno - 1,
                        start=node.col_offset,
                        end=node.end_col_offset,
                        new_text=f"({ast.unparse(new)})",
                    )
                )
    return mutants


def failing_test(mutant):
    """Return the first test that fails with a mutant, or None if all pass."""
    package = mutant.path.parts[2]
    test_files = ROOT.glob("tests/*/test_*")
    all_folders = sorted(file.parent.relative_to(ROOT) for file in test_files)
    folders = dict.fromkeys([Path("tests", package), Path("tests/laws"), *all_folders])
    pytest = ["timeout", "900", sys.executable, "-m", "pytest", "-qx", *folders]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "copy")
        # not all of ".*": a test follows links to files in .github
        ignored = shutil.ignore_patterns(".git", ".*_cache", "__pycache__")
        shutil.copytree(ROOT, folder, ignore=ignored)
        mutant.write_to(folder)
        process = subprocess.run(
            pytest,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder / "src")},
            capture_output=True,
            text=True,
        )
    if process.returncode == 0:
        return None
    failure = re.search(r"^(?:FAILED|ERROR) (\S+)", process.stdout, re.MULTILINE)
    return failure[1] if failure else "an error, or no end"


def main():
    """Try mutants of all packages in turn, and count those that no test notices."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    random = Random(arguments.seed)
    survivors = 0
    for number in range(arguments.count):
        package = PACKAGES[number % len(PACKAGES)]
        mutant = random.choice(mutants_of(package))
        test = failing_test(mutant)
        if test is None:
            survivors += 1
            verdict = "SURVIVES"
        else:
            verdict = f"found by {test}"
        place = f"{mutant.path}:{mutant.line + 1}"
        print(f"{number} {place} {mutant.new_text}: {verdict}", flush=True)
    print(f"{survivors} of {arguments.count} survive")


if __name__ == "__main__":
    main()

"""Do the tests notice one wrong line? Mutants of the source, the same for each seed.

Usage: python tests/mutants.py [--count 60] [--seed 0]

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


ROOT = Path(__file__).parents[1]
PACKAGES = ("core", "ops", "engine", "selection", "nn", "files", "configs")
SWAPPED = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add,
}  # fmt: skip


def changed(node):
    """Return an expression that does something else, None if there is none."""
    node = copy.deepcopy(node)
    match node:
        case ast.Compare(ops=[op]):
            node.ops = [SWAPPED[type(op)]()]
        case ast.BoolOp() | ast.BinOp(op=ast.Add() | ast.Sub()):
            node.op = SWAPPED[type(node.op)]()
        case ast.UnaryOp(op=ast.Not()):
            return node.operand
        case ast.Constant(value=bool() | int() as value):
            node.value = not value if isinstance(value, bool) else value + 1
        case _:
            return None
    return node


def mutants(package):
    """Return the mutants of a package: path, place of an expression, its new text."""
    found = []
    for path in sorted((ROOT / "src" / "leafwise" / package).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
        inside = {
            id(n): n for f in functions for part in f.body for n in ast.walk(part)
        }
        for node in inside.values():
            new = changed(node)
            if new is not None and node.lineno == node.end_lineno:
                place = node.lineno - 1, node.col_offset, node.end_col_offset
                found.append((path.relative_to(ROOT), place, f"({ast.unparse(new)})"))
    return found


def finder(path, place, new):
    """Return the test that fails with a mutant, None if none does."""
    room = path.parts[2]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "copy")
        hidden = shutil.ignore_patterns(".*", "__pycache__")
        shutil.copytree(ROOT, folder, ignore=hidden)
        line, start, end = place
        lines = (folder / path).read_text(encoding="utf-8").split("\n")
        old = lines[line].encode()
        lines[line] = (old[:start] + new.encode() + old[end:]).decode()
        (folder / path).write_text("\n".join(lines), encoding="utf-8")
        rooms = sorted(p.parent.relative_to(ROOT) for p in ROOT.glob("tests/*/test_*"))
        rooms = dict.fromkeys([Path("tests", room), Path("tests/laws"), *rooms])
        run = ["timeout", "900", sys.executable, "-m", "pytest", "-qx", *rooms]
        env = {**os.environ, "PYTHONPATH": str(folder / "src")}
        done = subprocess.run(run, cwd=folder, env=env, capture_output=True, text=True)
        failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
        return [*failed, "an error, or no end"][0] if done.returncode else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    random, alive = Random(given.seed), 0
    for number in range(given.count):
        path, place, new = random.choice(mutants(PACKAGES[number % len(PACKAGES)]))
        found = finder(path, place, new)
        alive += found is None
        told = f"found by {found}" if found else "SURVIVES"
        print(f"{number} {path}:{place[0] + 1} {new}: {told}", flush=True)
    print(f"{alive} of {given.count} survive")


if __name__ == "__main__":
    main()

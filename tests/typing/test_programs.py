"""The programs of this folder under mypy and pyright, as strict as can be, and run."""

import importlib.util
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import leafwise as lw


PROGRAMS = sorted(
    path
    for path in Path(__file__).parent.glob("*.py")
    if path.stem != "conftest" and not path.stem.startswith("test_")
)
FILES = [str(path) for path in PROGRAMS]
SOURCE = Path(lw.__file__).parents[1]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_of_the_type_checkers_runs(path: Path) -> None:
    """With the frameworks that it imports."""
    text = path.read_text(encoding="utf-8")
    for name, use in (("numpy", "import numpy"), ("jax", "import jax|    @nn.jit")):
        if re.search(f"^(?:{use})", text, re.MULTILINE):
            pytest.importorskip(name)
    assert "assert_type(" in text or "# type: ignore[" in text or "seen(" in text
    runpy.run_path(str(path))


def test_there_is_as_much_to_check_as_promised() -> None:
    """Lines of users' code, and what is said of their types."""
    texts = [path.read_text(encoding="utf-8") for path in PROGRAMS]
    assert sum(len(text.splitlines()) for text in texts) >= 300
    assert sum(text.count("assert_type(") for text in texts) >= 150


def run(command: list[str]) -> str:
    """Run a checker that finds the source, and return what it says."""
    env = {**os.environ, "MYPYPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, env=env
    )
    return done.stdout


def require(checker: str) -> None:
    """Skip the test if the checker, or what the programs import, is not there."""
    for name in (checker, "numpy", "jax"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")


@pytest.mark.slow
def test_mypy_accepts_the_programs(tmp_path: Path) -> None:
    """With `--strict`, and no comment that ignores nothing."""
    require("mypy")
    options = ["--strict", "--config-file=", f"--cache-dir={tmp_path}"]
    said = run(["mypy", *options, *FILES])
    assert f"Success: no issues found in {len(FILES)} source files" in said, said


@pytest.mark.slow
def test_pyright_accepts_the_programs(tmp_path: Path) -> None:
    """In its strict mode, and with no comment that ignores nothing."""
    require("pyright")
    for path in PROGRAMS:
        shutil.copy(path, tmp_path)
    settings = {
        "extraPaths": [str(SOURCE)],
        "typeCheckingMode": "strict",
        "reportUnnecessaryTypeIgnoreComment": True,
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    options = ["--pythonpath", sys.executable, "--outputjson"]
    told = json.loads(run(["pyright", "-p", str(tmp_path), *options]))
    assert told["generalDiagnostics"] == []
    assert told["summary"]["filesAnalyzed"] == len(PROGRAMS)

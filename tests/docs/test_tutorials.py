"""Who follows a tutorial from an empty folder gets what the page shows.

A page is followed to the letter: files are written as it shows them, and its commands
are run; once by this Python on the source, and once by a fresh virtual environment, in
which leafwise is the built wheel and everything else is what the page says to install.
The latter is for CI, which sets LEAFWISE_TUTORIALS.
"""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import leafwise


ROOT = Path(__file__).parents[2]
SOURCE = Path(leafwise.__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
STEP = re.compile(
    r"^\*\*`(?P<file>[\w.]+)`\*\*\n\n```\w+\n(?P<text>.*?)^```$"
    r"|^```console\n(?P<shown>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
INSTALLED = re.compile(r"^pip install (.*)$", re.MULTILINE)

pytestmark = [
    pytest.mark.needs("processes"),
    pytest.mark.skipif(os.name == "nt", reason="the commands are for a POSIX shell"),
]
each_page = pytest.mark.parametrize(
    "page", [pytest.param(page, id=page.stem) for page in PAGES]
)


def packages(page):
    """Return what the page installs, without quotes."""
    (line,) = INSTALLED.findall(page.read_text(encoding="utf-8"))
    return [word.strip("'\"") for word in line.split()]


def untimed(text):
    """Return what a program printed, whatever time it says that it took."""
    return re.sub(r"\bin \d+\.\d+s\b", "in 0.01s", text)


def follow(page, folder, programs):
    """Do what the page says in a folder; return the number of commands that were run.

    Args:
        page: The file of the tutorial.
        folder: Where to work, empty.
        programs: The folder of `python` and `leafwise`.
    """
    plain = {"NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1", "JAX_PLATFORMS": "cpu"}
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    environment = {**os.environ, **plain, "PATH": path}
    environment.pop("COLUMNS", None)
    steps = 0
    for step in STEP.finditer(page.read_text(encoding="utf-8")):
        if step["file"]:
            (folder / step["file"]).write_text(step["text"], encoding="utf-8")
            continue
        for command in re.split(r"^\$ ", step["shown"], flags=re.MULTILINE)[1:]:
            line, _, expected = command.partition("\n")
            process = subprocess.run(
                line,
                shell=True,
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
                encoding="utf-8",
                timeout=300,
                check=False,
            )
            text = process.stdout
            if process.returncode:  # else it is the progress, or a word of a library
                text += f"{process.stderr}[exit status {process.returncode}]\n"
            assert untimed(text) == untimed(expected), f"{line}\n{process.stderr}"
            steps += 1
    return steps


def imported(name):
    """Return the name of the module in a distribution that a tutorial installs."""
    name = name.partition("[")[0].partition("=")[0]
    return "leafwise" if name == "./clone" else name


@pytest.mark.slow
@each_page
def test_here(page, tmp_path, monkeypatch):
    """Its commands print what it shows, run by this Python on the source."""
    for name in packages(page):
        if not find_spec(imported(name)):
            pytest.skip(f"no {name}")
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, run in (("python", ""), ("leafwise", "-m leafwise ")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {run}"$@"\n')
        program.chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    folder = tmp_path / "empty"
    folder.mkdir()
    assert follow(page, folder, programs) >= 4


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The built wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip"]
    subprocess.run(
        [*pip, "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)], check=True
    )
    (path,) = folder.glob("leafwise-*.whl")
    return path


@pytest.mark.slow
@pytest.mark.skipif(
    "LEAFWISE_TUTORIALS" not in os.environ,
    reason="takes minutes to install things; LEAFWISE_TUTORIALS=1 asks for it",
)
@each_page
def test_from_nothing(page, wheel, tmp_path, monkeypatch):
    """Its commands print what it shows, with the wheel in a fresh environment."""
    import venv  # which browsers lack

    monkeypatch.delenv("PYTHONPATH", raising=False)
    venv.create(tmp_path / "venv", with_pip=True)
    programs = tmp_path / "venv" / "bin"
    requirements = [re.sub(r"^\./clone\b", str(wheel), name) for name in packages(page)]
    pip = [programs / "python", "-m", "pip"]
    subprocess.run([*pip, "install", "-q", "--no-compile", *requirements], check=True)
    folder = tmp_path / "empty"
    folder.mkdir()
    assert follow(page, folder, programs) >= 4

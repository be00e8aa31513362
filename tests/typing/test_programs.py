"""The programs of this folder under four type checkers, as strict as can be, and run.

pyrefly and ty find an error in each line that a comment excepts for one of them, as
`# not ty`, and in no other. `lambda_cases.py` is not for mypy.

`nn_names.py` has an example of each name of `leafwise.nn`, `seen(...)`: checkers are
asked for its type. If that has an `Any` or `Unknown` in it, a comment on the line says
why: it begins with `# Any:`. A comment without such a type is an error.
"""

import ast
import importlib.util
import inspect
import json
import os
import re
import runpy
import subprocess
import sys
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import leafwise as lw
from leafwise import _typing as hints
from leafwise import namespaces as binding
from leafwise import nn


FOLDER = Path(__file__).parent
PROGRAMS = [p for p in sorted(FOLDER.glob("*.py")) if p.stem[:2] in ("nn", "tr")]
LAMBDAS = FOLDER / "lambda_cases.py"
SOURCE = str(Path(lw.__file__).parents[1])
USUAL = r"Mapping\[Any, |State\[Any, Any\]|FlatState\[Any\]"
"""What stands in many types: keys of the mappings in a `PyTree[T]`, variables."""


@pytest.mark.parametrize("path", [*PROGRAMS, LAMBDAS], ids=lambda path: path.stem)
def test_a_program_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the frameworks that it imports; values are of the types that are told."""
    if path.stem.startswith("nn"):
        pytest.importorskip("jax")

    def check(value: Any, form: Any) -> Any:
        kind = typing.get_origin(form) or form
        kinds = (
            typing.get_args(form) if kind in (typing.Union, types.UnionType) else [kind]
        )
        if Any not in kinds and not typing.is_typeddict(kind):
            wanted = tuple(typing.get_origin(one) or one for one in kinds)
            assert isinstance(value, (int, *wanted) if float in wanted else wanted)
        return value

    monkeypatch.setattr(typing, "assert_type", check)
    runpy.run_path(str(path))


def run(checker: str, folder: Path, *paths: Path) -> str:
    """Copy programs into a folder, run a checker there, and return what it says."""
    for name in (checker, "numpy", "jax"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    for path in paths:
        text = path.read_text(encoding="utf-8")
        asked = re.sub(r"^( *)seen\(", r"\1reveal_type(", text, flags=re.MULTILINE)
        (folder / path.name).write_text(asked, encoding="utf-8")
    settings = {
        "extraPaths": [SOURCE],
        "typeCheckingMode": "strict",
        "reportUnnecessaryTypeIgnoreComment": True,
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    options = {
        "mypy": ["--strict", "--config-file=", f"--cache-dir={folder / 'cache'}"],
        "pyright": ["-p", str(folder), "--pythonpath", sys.executable],
    }
    files = [str(folder / path.name) for path in paths] if checker == "mypy" else []
    return subprocess.run(
        [sys.executable, "-m", checker, *options[checker], *files],
        capture_output=True,
        text=True,
        env={**os.environ, "MYPYPATH": SOURCE},
    ).stdout


def examples(path: Path) -> Iterator[tuple[int, str]]:
    """Yield each line of a `seen(...)` in a program, and the whole of its text."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and ast.unparse(node).startswith("seen("):
            last = node.end_lineno or node.lineno
            whole = "\n".join(lines[node.lineno - 1 : last])
            yield from ((n, whole) for n in range(node.lineno, last + 1))


@pytest.mark.slow
def test_checkers_accept_the_programs(tmp_path: Path) -> None:
    """No comment ignores nothing, and no type is Any without a reason."""
    names = FOLDER / "nn_names.py"
    asked, vague = dict(examples(names)), set[str]()
    place = re.compile(r"(\w+\.py):(\d+)(?::\d+)?(?: -|:) (\w+): ?(.*)")
    for checker in ("mypy", "pyright"):
        (tmp_path / checker).mkdir()
        said = run(checker, tmp_path / checker, *PROGRAMS)
        assert re.search(r"^Success|\b0 errors", said, re.MULTILINE), said
        seen = set[str]()
        for file, line, sort, text in place.findall(said):
            assert (file, sort in ("note", "information")) == (names.name, True), text
            plain = re.sub(r"\b(\w+\.)+(?=\w)", "", text.rpartition(" is ")[2])
            seen.add(asked[int(line)])
            if re.search(r"\b(Any|Unknown|Never)\b", re.sub(USUAL, "", plain)):
                vague.add(asked[int(line)])
        assert seen == {*asked.values()}
    assert vague == {text for text in asked.values() if "  # Any: " in text}


COMMANDS = {
    "pyright": ["-p", "."],
    "pyrefly": ["check", "--output-format", "min-text", "--min-severity", "info"],
    "ty": ["check", "--output-format", "concise", "--python", sys.prefix],
}
"""Other checkers: the module to run, and its arguments."""

CONFIGS = {
    "pyright": (
        "pyrightconfig.json",
        '{"extraPaths": ["SOURCE"], "typeCheckingMode": "strict"}',
    ),
    "pyrefly": (
        "pyrefly.toml",
        'search-path = ["SOURCE"]\npython-interpreter-path = "PYTHON"\n',
    ),
    "ty": ("ty.toml", '[environment]\nextra-paths = ["SOURCE"]\n'),
}
"""The names and texts of their configuration files."""


@pytest.mark.slow
@pytest.mark.parametrize("checker", COMMANDS)
def test_other_checkers_infer_the_same(checker: str, tmp_path: Path) -> None:
    """But in lines that a comment excepts; pyright reads here what mypy does not."""
    for name in (checker, "numpy", "jax"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    file, text = CONFIGS[checker]
    text = text.replace("SOURCE", SOURCE).replace("PYTHON", sys.executable)
    (tmp_path / file).write_text(text, encoding="utf-8")
    paths = [LAMBDAS]
    if checker != "pyright":
        paths += [FOLDER / "nn_cases.py", FOLDER / "tree_cases.py"]
        paths.append(FOLDER / "nn_names.py")
    lines = dict[tuple[str, int], str]()
    for path in paths:
        program = path.read_text(encoding="utf-8")
        asked = re.sub(r"^( *)seen\(", r"\1reveal_type(", program, flags=re.MULTILINE)
        (tmp_path / path.name).write_text(asked, encoding="utf-8")
        for number, line in enumerate(program.splitlines(), 1):
            lines[path.name, number] = line
        lines |= {(path.name, number): text for number, text in examples(path)}
    output = subprocess.run(
        [sys.executable, "-m", checker, *COMMANDS[checker]],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    ).stdout
    errors = set[str]()
    for name, number, text in re.findall(r"(\w+\.py):(\d+):([^\n]*)", output):
        line = lines[name, int(number)]
        if "reveal_type` " in text:  # that nobody imported it
            continue
        _, is_type, form = text.partition("evealed type: ")
        is_vague = re.search(r"\b(Any|Unknown|Never)\b", re.sub(USUAL, "", form))
        if not is_type or (is_vague and "  # Any: " not in line):
            errors.add(line)
    expected = {line for line in lines.values() if f"not {checker}" in line}
    assert errors == expected, output


def test_each_public_name_has_an_example() -> None:
    """By the name under which it is imported."""
    text = (FOLDER / "nn_names.py").read_text(encoding="utf-8")
    used = {*re.findall(r"\bnn\.(\w+)", text)}
    assert [name for name in nn.__all__ if name not in used] == []


def test_an_overload_takes_what_the_function_takes() -> None:
    """Its parameters have the same names; together the overloads have all of them."""
    functions: list[Any] = [
        getattr(home, n) for home in (lw, lw.selection) for n in home.__all__
    ]
    has_overloads = False
    for function in functions:
        is_function = isinstance(function, types.FunctionType)
        overloads: list[Any] = [*typing.get_overloads(function)] if is_function else []
        if not overloads or not function.__name__.startswith(("tree_", "to_flat")):
            continue
        has_overloads = True
        taken, told = inspect.signature(function).parameters, set[str]()
        for overload in overloads:
            seen = dict(inspect.signature(overload).parameters)
            if options := seen.pop("options", None):
                name = options.annotation.removeprefix("Unpack[").removesuffix("]")
                home = sys.modules[function.__module__]
                told |= {
                    *getattr(home, name, getattr(hints, name, None)).__annotations__
                }
            for name, parameter in seen.items():
                kinds = (taken[name].kind, inspect.Parameter.KEYWORD_ONLY)
                assert parameter.kind in kinds, function
            told |= {*seen}
        assert told == {*taken}, function
    assert has_overloads


def test_what_checkers_see_of_a_namespace_is_there() -> None:
    """The most used functions, by both of their names."""
    text = Path(binding.__file__).read_text(encoding="utf-8")
    seen = {*re.findall(r"self\.(\w+) = ", text)}
    assert seen
    assert seen <= {*dir(lw.namespace("tests.typing.seen"))}


@pytest.mark.slow
def test_no_public_name_is_unknown_to_checkers() -> None:
    """By what pyright says of a package that others are to use."""
    pytest.importorskip("pyright")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--ignoreexternal"]
    done = subprocess.run(
        [*command, "--verifytypes", "leafwise"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )
    symbols = json.loads(done.stdout)["typeCompleteness"]["symbols"]
    known = {s["name"]: s["isTypeKnown"] or s["isTypeAmbiguous"] for s in symbols}
    rooms = [lw, lw.selection, lw.tree, lw.typing]
    wanted = [f"{room.__name__}.{name}" for room in rooms for name in room.__all__]
    assert [name for name in wanted if not known[name]] == []

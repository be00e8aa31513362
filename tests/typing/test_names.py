"""No name of `leafwise.nn` infers `Any`: both checkers are asked for the types.

The program `nn_names.py` has an example of each, `seen(...)`. Where a type has an `Any`
or `Unknown` in it, a comment on the line says why: it begins with `# Any:`. A comment
without such a type is an error, too.
"""

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import leafwise as lw
from leafwise import nn


FOLDER = Path(__file__).parent
NAMES = {
    "nn_names.py": [f"nn.{name}" for name in nn.__all__],
}
USUAL = {
    "Mapping[Any, ": "the keys of the mappings in a `PyTree[T]` are of any type",
    "State[Any, Any]": "a state has variables of every sort",
    "FlatState[Any]": "the same, flat",
}
"""What stands in many types, and why."""


def examples(path: Path) -> Iterator[tuple[int, str]]:
    """Yield each line of a `seen(...)` in a program, and the whole of its text."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and ast.unparse(node).startswith("seen("):
            last = node.end_lineno or node.lineno
            whole = "\n".join(lines[node.lineno - 1 : last])
            yield from ((n, whole) for n in range(node.lineno, last + 1))


def told(checker: str, path: Path, folder: Path) -> Iterator[tuple[int, str]]:
    """Yield what a checker says of the lines of a program: number, and text."""
    text = path.read_text(encoding="utf-8")
    asked = re.sub(r"^( *)seen\(", r"\1reveal_type(", text, flags=re.MULTILINE)
    (folder / path.name).write_text(asked, encoding="utf-8")
    source = str(Path(lw.__file__).parents[1])
    settings = {"extraPaths": [source], "typeCheckingMode": "strict"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    options = {
        "mypy": ["--strict", "--config-file=", f"--cache-dir={folder / 'cache'}"],
        "pyright": ["-p", str(folder), "--pythonpath", sys.executable],
    }
    files = [str(folder / path.name)] if checker == "mypy" else []
    done = subprocess.run(
        [sys.executable, "-m", checker, *options[checker], *files],
        capture_output=True,
        text=True,
        env={**os.environ, "MYPYPATH": source},
    )
    place = re.compile(rf"{path.name}:(\d+)(?::\d+)?(?: -|:) (\w+): ?(.*)")
    for line in done.stdout.splitlines():
        if found := place.search(line):
            number, sort, said = found.groups()
            assert sort in ("note", "information"), line
            is_type = re.search('Revealed type is "(.*)"|" is "(.*)"$', said)
            assert is_type, line
            yield int(number), is_type[1] or is_type[2]


def is_vague(inferred: str) -> bool:
    """Return whether there is an `Any` in a type, besides the usual ones."""
    plain = re.sub(r"\b(\w+\.)+(?=\w)", "", inferred)
    for usual in USUAL:
        plain = plain.replace(usual, "")
    return re.search(r"\b(Any|Unknown|Never)\b", plain) is not None


def test_vague_types_are_told_apart() -> None:
    """Otherwise the next tests would say nothing."""
    assert is_vague("Any")
    assert is_vague("tuple[list[int], leafwise.core.treedef.PyTreeDef[Any]]")
    assert is_vague("dict[str, Unknown]")
    assert is_vague("Never")
    assert not is_vague("list[leafwise.ops.inspect.AnyLeaf]")
    assert not is_vague("typing.Sequence[str | typing.Mapping[Any, ...] | None]")


@pytest.mark.parametrize("program", NAMES)
def test_each_public_name_has_an_example(program: str) -> None:
    """By the name under which it is imported."""
    text = (FOLDER / program).read_text(encoding="utf-8")
    used = {*re.findall(r"\b(?:lw|nn|selection|testing)(?:\.\w+)+", text)}
    used |= {name.rpartition(".")[0] for name in used}
    assert [name for name in NAMES[program] if name not in used] == []


@pytest.mark.slow
@pytest.mark.parametrize("program", NAMES)
def test_no_type_is_any_without_a_reason(program: str, tmp_path: Path) -> None:
    """In either checker; and no reason stands where none is needed."""
    for name in ("mypy", "pyright", "numpy", "jax"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    asked = dict(examples(FOLDER / program))
    assert len({*asked.values()}) > 80
    vague: dict[str, str] = {}
    for checker in ("mypy", "pyright"):
        types = dict(told(checker, FOLDER / program, tmp_path))
        assert {asked[number] for number in types} == {*asked.values()}
        vague |= {asked[n]: text for n, text in types.items() if is_vague(text)}
    excused = {text for text in asked.values() if "  # Any: " in text}
    assert {text: vague[text] for text in vague.keys() - excused} == {}
    assert sorted(excused - vague.keys()) == []

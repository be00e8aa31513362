"""What commands print and write, line by line, as `transcripts` has it.

A transcript has cases, `=== name`; files that a command finds, `<<< name`; commands,
`$ leafwise ...`, with what they print and their status; and files afterwards,
`>>> name`. A command with another status than 0 changes no file. Those without cases
begin with the files in `configs`. To write all of them anew, for review:
`PYTHONPATH=tests python tests/cli/test_transcripts.py`.
"""

import contextlib
import re
import shutil
import tempfile
from pathlib import Path

import pytest

from helpers.command_line import output_of


HERE = Path(__file__).parent
BLOCK = re.compile(r"^(?=<<< |>>> |\$ leafwise )", re.MULTILINE)


def cases():
    """Yield the names of the file and of the case, and its text."""
    for file in sorted((HERE / "transcripts").iterdir()):
        first, *more = re.split("^=== ", file.read_text("utf-8"), flags=re.MULTILINE)
        if first:
            yield file.stem, "", first
        for text in more:
            name, _, blocks = text.partition("\n")
            yield file.stem, name, blocks


def content():
    """Return all files of this folder."""
    return {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}


def played(text):
    """Return a case with what its commands print and write now, in this folder."""
    lines = []
    for block in BLOCK.split(text):
        head, _, body = block.partition("\n")
        mark, _, word = head.partition(" ")
        if mark == "<<<":
            Path(word).write_text(body, encoding="utf-8")
        elif mark == ">>>":
            body = Path(word).read_text(encoding="utf-8")
        elif mark == "$":
            before = content()
            output = output_of(word.removeprefix("leafwise "))
            assert "[exit status" not in output or content() == before
            body = f"{output}\n\n" if output else "\n"
        lines.append(f"{head}\n{body}" if block else "")
    return "".join(lines)


@pytest.mark.parametrize(
    ("name", "text"),
    [pytest.param(*case[::2], id=": ".join(case[:2])) for case in cases()],
)
def test_commands_print_and_write_what_they_did(name, text, tmp_path, monkeypatch):
    """Each case, in a folder of its own."""
    pytest.importorskip("ruamel.yaml")
    pytest.importorskip("tomlkit")
    monkeypatch.chdir(tmp_path)
    if "<<<" not in text:
        shutil.copytree(HERE / "configs", ".", dirs_exist_ok=True)
    assert played(text) == text


if __name__ == "__main__":
    transcripts = {}
    for name, case, text in list(cases()):
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            if "<<<" not in text:
                shutil.copytree(HERE / "configs", ".", dirs_exist_ok=True)
            transcripts[name] = (
                transcripts.get(name, "")
                + (f"=== {case}\n" if case else "")
                + played(text)
            )
    for name, text in transcripts.items():
        (HERE / "transcripts" / f"{name}.txt").write_text(text, encoding="utf-8")

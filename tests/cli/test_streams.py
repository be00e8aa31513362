"""What is read and written where streams are closed, or files are not in UTF-8."""

import os
import subprocess
import sys

import pytest

from leafwise.configs.formats import load


pytestmark = pytest.mark.needs("processes")
TEXT = "Zürich € 😀"
FILES = {
    "json": f'{{"name": "{TEXT}", "clé": 1}}',
    "yaml": f"name: {TEXT}\nclé: 1\n",
    "toml": f'name = "{TEXT}"\n"clé" = 1\n',
}
LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
COMMAND = [sys.executable, "-m", "leafwise"]


def run(*arguments, env=None, **options):
    """Run the command as a user does; return status and both outputs as bytes."""
    command = [*COMMAND, *map(str, arguments)]
    process = subprocess.run(
        command, capture_output=True, env={**os.environ, **(env or {})}, **options
    )
    return process.returncode, process.stdout, process.stderr


@pytest.fixture
def files(tmp_path):
    """Return a function from a format to a file of it."""
    for kind, text in FILES.items():
        (tmp_path / f"a.{kind}").write_text(text, encoding="utf-8")
    return lambda kind: tmp_path / f"a.{kind}"


@pytest.mark.parametrize(
    ("kind", "mark", "env"),
    [
        ("json", b"\xef\xbb\xbf", LOCALE),
        ("yaml", b"", LOCALE),
        ("toml", b"\xef\xbb\xbf", {"PYTHONIOENCODING": "cp1252"}),
    ],
)
def test_pipes_are_utf_8_whatever_the_locale(files, kind, mark, env):
    """What is read and written has no escape, with or without a byte order mark."""
    status, out, err = run("set", files(kind), "+more=1", env=env)
    assert (status, err) == (0, b"")
    assert load(out.decode(), kind).tree == load(FILES[kind], kind).tree | {"more": 1}
    data = mark + FILES[kind].encode()
    output = run("get", "-", "name", "--format", kind, input=data, env=env)
    assert output == (0, f"{TEXT}\n".encode(), b"")


def test_a_tree_in_a_pipe_is_utf_8_whatever_the_locale(files):
    """Characters are escaped only on a terminal that does not have them."""
    status, out, err = run(files("json"), env={"PYTHONIOENCODING": "ascii"})
    assert (status, err) == (0, b"")
    assert TEXT in out.decode()


@pytest.mark.parametrize(
    ("kind", "charset"),
    [("json", "utf-16"), ("yaml", "utf-16-le"), ("toml", "utf-32-be")],
)
def test_files_in_utf_16_and_utf_32(files, kind, charset):
    """Are told by their first bytes; what is written is UTF-8, its lines those here."""
    text = FILES[kind].replace("\n", "\r\n")
    files(kind).write_bytes(text.encode(charset))
    status, out, err = run("set", files(kind), "clé=2")
    assert (status, err) == (0, b"")
    assert out.decode() == f"{FILES[kind].replace('1', '2').rstrip()}\n"


@pytest.mark.skipif(os.name != "posix", reason="closes streams by their number")
@pytest.mark.parametrize(
    ("arguments", "closed", "status", "expected"),
    [
        ("{}", ">&-", 2, "leafwise: there is no standard output to write to\n"),
        ("get - x --format json", "<&-", 2, "-: there is no standard input"),
        ("{}.none", "2>&-", 2, ""),
        ("{}.none", "2>/dev/full", 2, ""),
        ("{}", ">/dev/full", 2, "cannot write: No space left on device"),
        ("{}", "| true", 0, ""),
    ],
)
def test_streams_that_are_closed_or_full(files, arguments, closed, status, expected):
    """A line where it can be written; never a traceback."""
    if "/dev/full" in closed and not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    files("json").write_text(str(list(range(100_000))))
    command = f"{' '.join(COMMAND)} {arguments.format(files('json'))} {closed}"
    process = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert (process.returncode, process.stdout) == (status, "")
    assert process.stderr.count("\n") <= 1
    assert expected in process.stderr
    assert expected or not process.stderr or "none" in process.stderr


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("folder.json", None, "Is a directory"),
        ("bytes.json", b"\xff\xfe\x00", "not valid JSON: "),
        ("bytes.toml", b'a = "\xff"', "not valid TOML: 'utf-8' codec can't decode"),
        ("deep.json", b"[" * 100_000, "nested too deeply for its reader"),
        ("long.json", b"1" * 5000, "not valid JSON: Exceeds the limit"),
    ],
)
def test_what_cannot_be_read(tmp_path, name, content, reason):
    """One clear line on stderr, exit status 2, no traceback."""
    path = tmp_path / name
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    status, out, err = run(path)
    assert (status, out, err.count(b"\n")) == (2, b"", 1)
    assert err.decode().startswith(f"python -m leafwise: {path}: {reason}")


def test_a_file_name_with_a_line_end(tmp_path):
    """The message is one line all the same."""
    status, out, err = run(tmp_path / "a\nb.json")
    assert (status, out, err.count(b"\n")) == (2, b"", 1)

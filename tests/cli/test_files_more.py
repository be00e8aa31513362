"""`python -m leafwise FILE`: endings, encodings, depth and pipes."""

import os
import subprocess
import sys

import pytest

from leafwise.__main__ import main


pytestmark = pytest.mark.needs("processes")


ENDING = (
    "unknown format: use --format, or a file that ends in .json, .toml, .yaml, .yml, "
    ".npz, .safetensors"
)
COMMAND = [sys.executable, "-m", "leafwise"]


def run(*arguments, **options):
    """Run the command as a user does; return status, lines of stdout and stderr."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, text=True, **options
    )
    return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("plain.toml", b"a = 1\n", ["['a'] = 1", "1 leaf, 2 nodes"]),
        (
            "mark.toml",
            b"\xef\xbb\xbfa = 1\n",
            ["['a'] = 1", "1 leaf, 2 nodes"],
        ),
        ("MARK.Json", b"\xef\xbb\xbf[1]", ["[0] = 1", "1 leaf, 2 nodes"]),
        ("empty.toml", b"", ["0 leaves, 1 node"]),
        ("empty.json", b"[{}, []]", ["0 leaves, 3 nodes"]),
        (
            "order.json",
            b'{"b": 1, "a": {"d": null, "c": [true]}}',
            [
                "['a']['c'][0] = True",
                "['a']['d'] = None",
                "['b'] = 1",
                "3 leaves, 6 nodes",
            ],
        ),
        ("two.dots.json", b'"x"', ["'x'", "1 leaf, 1 node"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_files_that_can_be_read(tmp_path, name, content, lines):
    """Status 0, the leaves in leaf order, the counts, no stderr."""
    path = tmp_path / name
    path.write_bytes(content)
    assert run(path) == (0, lines, [])


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("missing.json", None, "No such file or directory"),
        ("folder.toml", ..., "Is a directory"),
        ("config.ini", None, ENDING),
        (".json", b"1", ENDING),
        (
            "bad.toml",
            b"a = 1\nb = \n",
            "not valid TOML: Invalid value (at line 2, column 5)",
        ),
        (
            "bytes.toml",
            b'a = "\xff"',
            "not valid TOML: 'utf-8' codec can't decode byte 0xff in position 5: "
            "invalid start byte",
        ),
        (
            "bytes.json",
            b'"\xff"',
            "not valid JSON: 'utf-8' codec can't decode byte 0xff in position 1: "
            "invalid start byte",
        ),
        (
            "empty.json",
            b"",
            "not valid JSON: Expecting value: line 1 column 1 (char 0)",
        ),
        ("more.json", b"1\n2", "not valid JSON: Extra data: line 2 column 1 (char 2)"),
        (
            "deep.json",
            b"[" * 100_000 + b"]" * 100_000,
            "nested too deeply for its reader",
        ),
        ("keys.json", b'{"a":' * 100_000, "nested too deeply for its reader"),
        (
            "deep.toml",
            b"a = " + b"[" * 50_000 + b"]" * 50_000,
            "nested too deeply for its reader",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_files_that_cannot_be_read(tmp_path, name, content, reason):
    """Status 2, nothing on stdout, exactly one line on stderr."""
    path = tmp_path / name
    if content is ...:
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    assert run(path) == (2, [], [f"python -m leafwise: {path}: {reason}"])


def test_a_number_that_is_too_long(tmp_path):
    """The limit of the interpreter is reported in one line."""
    path = tmp_path / "long.json"
    path.write_text("1" * 5000)
    status, out, err = run(path)
    assert (status, out, len(err)) == (2, [], 1)
    assert err[0].startswith(f"python -m leafwise: {path}: not valid JSON: Exceeds the")


def test_a_file_nested_as_deeply_as_its_reader_allows(tmp_path):
    """What can be read can be printed, far beyond a hundred levels."""
    path = tmp_path / "deep.json"
    path.write_text("[" * 900 + "1" + "]" * 900)
    assert run(path) == (
        0,
        [
            "[0]" * 900 + " = 1",
            "1 leaf, 901 nodes",
        ],
        [],
    )


@pytest.mark.parametrize(
    "arguments", [[], ["diff", "a.json"], ["--nothing", "a.json"], ["show"]]
)
def test_wrong_arguments(arguments):
    """The usage and the error are shown, with status 2 and no traceback."""
    status, out, err = run(*arguments)
    assert (status, out) == (2, [])
    assert err[0].startswith("usage: python -m leafwise")
    assert ": error: " in err[-1]


def test_help():
    """The help names the program and ends with status 0."""
    status, out, err = run("--help")
    assert (status, err) == (0, [])
    assert out[0].startswith("usage: python -m leafwise [-h] [--version]")


def test_a_pipe_that_is_closed_from_the_start(tmp_path):
    """Without a reader the command ends with status 0 and is silent."""
    path = tmp_path / "long.json"
    path.write_text("[" + ",".join(["1"] * 100_000) + "]")
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = subprocess.run(
            [*COMMAND, str(path)], stdout=write_end, stderr=subprocess.PIPE, text=True
        )
    finally:
        os.close(write_end)
    assert done.stderr == ""
    assert done.returncode == 0


def test_the_function_returns_the_status(tmp_path, capsys):
    """`main` takes the arguments, prints, and returns the exit status."""
    path = tmp_path / "a.json"
    assert main([str(path)]) == 2
    path.write_text("[1]")
    assert main([str(path)]) == 0
    captured = capsys.readouterr()
    assert captured.out == "[0] = 1\n1 leaf, 2 nodes\n"
    assert captured.err == (f"python -m leafwise: {path}: No such file or directory\n")

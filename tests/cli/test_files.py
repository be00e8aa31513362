"""`python -m leafwise FILE`: what is read and printed, what is refused."""

import subprocess
import sys

import pytest

from leafwise.__main__ import main


pytestmark = pytest.mark.needs("processes")


def run(*arguments, **options):
    """Run the command as a user does."""
    command = [sys.executable, "-m", "leafwise", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, **options)


def test_a_toml_file(tmp_path):
    """Each leaf with its path, then the counts."""
    path = tmp_path / "config.toml"
    path.write_text('title = "x"\n[optim]\nlr = 0.1\nbetas = [0.9, 0.99]\n')
    done = run(path)
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "['optim']['betas'][0] = 0.9",
        "['optim']['betas'][1] = 0.99",
        "['optim']['lr'] = 0.1",
        "['title'] = 'x'",
        "4 leaves, 7 nodes",
    ]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("3", ["3", "1 leaf, 1 node"]),
        ("null", ["None", "1 leaf, 1 node"]),
        ('{"a": [null, "\\ud800"]}', [
            "['a'][0] = None", "['a'][1] = '\\ud800'", "2 leaves, 4 nodes",
        ]),
    ],
)  # fmt: skip
def test_json_files(tmp_path, capsys, text, lines):
    """Any JSON value is a tree, bare values and lone surrogates included."""
    path = tmp_path / "value.JSON"
    path.write_text(text)
    assert main([str(path)]) == 0
    assert capsys.readouterr().out.splitlines() == lines


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("missing.toml", None, "No such file or directory"),
        ("folder.json", ..., "Is a directory"),
        (
            "config.ini",
            b"a: 1",
            "unknown format: use --format, or a file that ends in ",
        ),
        (
            "config",
            b"",
            "unknown format: use --format, or a file that ends in ",
        ),
        ("bad.toml", b"a = \n", "not valid TOML: "),
        ("bad.json", b"{'a': 1}", "not valid JSON: "),
        ("bytes.json", b"\xff\xfe\x00", "not valid JSON: "),
        ("deep.json", b"[" * 100_000, "nested too deeply for its reader"),
    ],
)
def test_what_cannot_be_read(tmp_path, name, content, reason):
    """One clear line on stderr, exit status 2, no traceback."""
    path = tmp_path / name
    if content is ...:
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    done = run(path)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"python -m leafwise: {path}: {reason}")


def test_a_reader_that_goes_away(tmp_path):
    """A closed pipe ends the command quietly."""
    path = tmp_path / "long.json"
    path.write_text("[" + ",".join(["1"] * 100_000) + "]")
    command = f"{sys.executable} -m leafwise {path} | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stdout == "[0] = 1\n"
    assert done.stderr == ""


def test_without_a_file():
    """The usage is shown, and the status is 2."""
    done = run()
    assert done.returncode == 2
    assert "usage: python -m leafwise" in done.stderr

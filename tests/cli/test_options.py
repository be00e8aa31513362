"""Options, help, standard input and other environments of the command line."""

import io
import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import leafwise as lw
from helpers.command_line import output_of
from leafwise.cli import COMMANDS, main


TREE = {"lr": 0.1, "sizes": [64, 32], "data": {"path": None, "name": "a"}}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Go to a folder with a file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["leafwise"])
    Path("a.json").write_text(
        '{"lr": 0.1, "sizes": [64, 32], "data": {"path": null, "name": "a"}}'
    )


def refusal(capsys, *arguments):
    """Return what the parser says before it ends the command, and the status."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    return caught.value.code, "".join(capsys.readouterr())


def test_the_version(capsys):
    """As the package has it."""
    assert refusal(capsys, "--version") == (0, f"{lw.__version__}\n")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "usage: leafwise"),
        ("show", "the following arguments are required: FILE"),
        ("diff a.json", "the following arguments are required: FILE"),
        ("--nothing a.json", "unrecognized arguments: --nothing"),
        ("show a.json --depth x", "argument --depth"),
        ("show a.json --mermaid --json", "argument --json: not allowed with"),
        ("set a.json lr=1 -i --to json", "argument --to: not allowed with"),
        ("show a.json --mermaid --summary", "argument --summary: not allowed with"),
        ("shw a.json", "neither a command nor a file; did you mean 'show'?"),
    ],
)
def test_wrong_arguments(capsys, line, message):
    """The usage and the error are shown, with status 2 and no traceback."""
    status, text = refusal(capsys, *line.split())
    assert status == 2
    assert message in text


def test_the_help_of_each_command_has_examples(capsys):
    """Which are calls of that command."""
    assert refusal(capsys, "--help")[1].startswith("usage: leafwise [-h] [--version]")
    for name in COMMANDS:
        _, _, examples = refusal(capsys, name, "--help")[1].partition("Examples:\n")
        examples, _, _ = examples.partition("\n\n")
        assert examples
        for line in examples.splitlines():
            assert line.startswith(f"  leafwise {name} ")


def test_colours_as_the_environment_says(capsys, monkeypatch):
    """`FORCE_COLOR` wins over a pipe, `NO_COLOR` over all, `--color` over both."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    for name, options, expected in (
        ("FORCE_COLOR", (), "\033[36mlr\033[0m\n"),
        ("FORCE_COLOR", ("--color", "never"), "lr\n"),
        ("NO_COLOR", (), "lr\n"),
        ("NO_COLOR", ("--color", "always"), "\033[36mlr\033[0m\n"),
    ):
        monkeypatch.setenv(name, "1")
        main(["paths", "a.json", "lr", *options])
        assert capsys.readouterr().out == expected


@pytest.mark.parametrize(
    "line",
    ["- --format json", "--format json -", "--format=json - x", "show - --format json"],
)
def test_the_standard_input_is_read(monkeypatch, line):
    """For `-`; wherever the format stands."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"x": 1}')))
    assert output_of(line).startswith("x = 1")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"x": 1}')))
    assert output_of("set - x=2 -i --format json") == (
        "leafwise: -: the standard input cannot be written in place\n[exit status 2]"
    )


@pytest.mark.parametrize(
    ("option", "name", "more"),
    [("svg", "to_svg", {}), ("html", "to_html", {"document": True})],
)
def test_pictures_and_pages_are_written_into_files(option, name, more):
    """Or to the standard output."""
    assert output_of(f"show a.json --{option} a.out --depth 1") == ""
    text = Path("a.out").read_text(encoding="utf-8")
    nones = lw.namespace("nones", none_is_leaf=True)
    picture = getattr(nones, name)(TREE, depth=1, **more)
    assert text == f"{picture}\n"
    assert output_of(f"show a.json --{option} - --depth 1") == text.rstrip("\n")
    assert option == "html" or ElementTree.fromstring(text).tag.endswith("svg")


class Gone:
    """A class that is registered for a while."""

    w = 1


def test_files_of_arrays():
    """They are shown and compared, and not edited."""
    numpy = pytest.importorskip("numpy")
    lw.save("a.npz", {"w": numpy.zeros((2, 3)), "steps": 10})
    lw.save("b.npz", {"w": numpy.ones((2, 3)), "steps": 10})
    refused = "leafwise: a.npz: files of arrays cannot be edited\n[exit status 2]"
    for line, expected in (
        ("show a.npz w steps", "w = float64[2, 3]\nsteps = 10"),
        ("get a.npz steps", "10"),
        ("diff a.npz a.npz", ""),
        ("set a.npz steps=1", refused),
        ("merge a.npz b.npz", refused),
    ):
        assert output_of(line) == expected
    assert output_of("diff a.npz b.npz").startswith("~ w: f64[2,3], 6 of 6")
    lw.register_dataclass(Gone, ["w"], [])
    lw.save("c.npz", {"gone": Gone()})
    lw.unregister_pytree_node(Gone)
    assert output_of("get c.npz gone.w") == "1"  # by name, without the class
    assert output_of("paths c.npz") == "gone.w"
    numpy.savez("d.npz", **{"model.l1.w": numpy.zeros(2), "model.l1.b": 3})
    assert output_of("get d.npz model.l1.b") == "3"
    assert output_of("get d.npz model.l1") == "w = float64[2]\nb = int64[]"
    assert output_of("paths d.npz model.l1") == "model.l1"
    assert output_of("show d.npz 'model.*.w'") == "model.l1.w = float64[2]"
    Path("a.pt").write_bytes(b"PK\x80")
    assert "torch reads it, and leafwise.save converts it" in output_of("show a.pt")
    Path("a.npz").write_bytes(b"PK")
    assert output_of("show a.npz").startswith("leafwise: a.npz is damaged")


@pytest.mark.needs("processes")
def test_the_console_script():
    """The installed command is the same one."""
    script = Path(sys.executable).parent / "leafwise"
    process = subprocess.run(
        [script, "get", "a.json", "sizes[1]"], capture_output=True, text=True
    )
    assert (process.returncode, process.stdout, process.stderr) == (0, "32\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions(shell, capsys):
    """A script for the shell, which knows all commands and options."""
    pytest.importorskip("shtab")
    assert main(["--print-completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("rename", "in-place", "lists", "mermaid"):
        assert word in script


def test_completions_without_the_package(monkeypatch, capsys):
    """Which one to install is told."""
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["--print-completion", "bash"]) == 2
    assert "pip install 'leafwise[shell]'" in capsys.readouterr().err


def test_bare_values():
    """One of each selector, or all of them."""
    text = "0.1\na"
    assert output_of("get a.json -r lr data.name") == text
    assert output_of("get a.json -r --all 'data.*'") == "a\nnull"
    assert output_of("get a.json -r 'sizes[*]'") == (
        "leafwise: -r: 'sizes[*]' matches 2 values; with --all, they are all printed\n"
        "[exit status 2]"
    )
    assert output_of("get a.json lr sizes") == "lr = 0.1\nsizes = [64, 32]"
    values = output_of("get a.json lr 'sizes[*]' --json")
    assert json.loads(values) == [0.1, 64, 32]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--json get a.json lr", "[\n  0.1\n]"),
        ("--format json get a.json lr", "0.1"),
        ("--color never paths a.json lr", "lr"),
        ("--depth 1 a.json", None),
    ],
)
def test_options_before_the_command(line, expected):
    """Their values are taken for neither a command nor a file."""
    text = output_of(line)
    assert text == expected or (expected is None and text.startswith("dict\n"))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"x": 1}', "x = 1"),
        ("# c\nx = 1\n", "x = 1"),
        ("x: 1\n", "x = 1"),
        ("[t]\nx = 1", "t.x = 1"),
        ("[1, 2]", "[0] = 1\n[1] = 2"),
        ("nothing but words", "leafwise: a.conf: unknown format, expected json, toml "
                              "or yaml\n[exit status 2]"),
        ('{"x": 1,}', None),
        ("", "leafwise: a.conf: unknown format, expected json, toml or yaml\n"
             "[exit status 2]"),
    ],
)  # fmt: skip
def test_formats_are_recognized_by_content(content, expected, monkeypatch):
    """In files without a known extension, and on the standard input."""
    pytest.importorskip("ruamel.yaml")
    Path("a.conf").write_text(content)
    data = io.BytesIO(content.encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))
    if expected is not None:
        assert output_of("show a.conf") == expected
        assert output_of("show -") == expected.replace("a.conf", "-")


def test_notebooks_locks_and_comments():
    """Known by their extension; comments in JSON are named."""
    Path("a.ipynb").write_text('{"cells": []}')
    assert output_of("show a.ipynb") == "cells = []"
    Path("uv.lock").write_text("version = 1\n")
    assert output_of("get uv.lock version") == "1"
    Path("b.json").write_text('{\n  // why\n  "a": 1\n}')
    assert output_of("show b.json") == (
        "leafwise: b.json: JSON has no comments: line 2\n[exit status 2]"
    )
    assert output_of("show nowhere").endswith(
        "nowhere: No such file or directory\n[exit status 2]"
    )


def test_empty_containers_are_shown():
    """By `show` and `paths` as by `flat`."""
    Path("e.json").write_text('{"a": [], "b": {"c": {}}, "d": 1}')
    assert output_of("show e.json") == "a = []\nb.c = {}\nd = 1"
    assert output_of("paths e.json") == "a\nb.c\nd"
    assert output_of("flat e.json") == output_of("show e.json")


def test_a_file_without_its_comments():
    """Printed or written as a whole if that is asked for, and not otherwise."""
    pytest.importorskip("ruamel.yaml")
    text = "# top\na: &x 1\nb: *x\n"
    Path("f.yaml").write_text(text)
    for line in ("set f.yaml a=2", "set f.yaml a=2 -i"):
        output = output_of(line)
        assert "b uses the anchor &x of a" in output
        assert output.endswith("[exit status 1]")
        assert Path("f.yaml").read_text() == text
    assert output_of("set f.yaml a=2 --reformat") == "a: 2\nb: 1"
    assert output_of("set f.yaml a=2 --reformat -i") == ""
    assert Path("f.yaml").read_text() == "a: 2\nb: 1\n"


def test_tags_are_set_as_they_are_written():
    """A text with an exclamation mark is a tag in YAML."""
    pytest.importorskip("ruamel.yaml")
    Path("t.yaml").write_text("a: !Ref X\nb: 1\n")
    assert output_of("set t.yaml 'a=!Ref Y'") == "a: !Ref Y\nb: 1"
    assert output_of("get t.yaml a") == "!Ref X"

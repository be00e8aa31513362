"""What `leafwise show` draws."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import leafwise as lw
from leafwise import show
from leafwise.cli import main
from transcripts import output_of


TREE = {"lr": 0.1, "sizes": [64, 32], "data": {"path": None, "name": "a\u202eb"}}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Go to a folder with a file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["leafwise"])
    Path("a.json").write_text(
        '{"lr": 0.1, "sizes": [64, 32], "data": {"path": null, "name": "a\\u202eb"}}'
    )


def test_a_pipe_gets_lines_unless_a_tree_is_asked_for():
    """A depth asks for a tree, too."""
    assert output_of("a.json").startswith("['data']['name'] = 'a\\u202eb'\n")
    assert output_of("show a.json --tree") == show.draw(TREE)
    assert output_of("show a.json --depth 1").splitlines() == [
        "dict",
        "├── 'data': {... 2}",
        "├── 'lr': 0.1",
        "└── 'sizes': [... 2]",
    ]


def test_selectors_before_and_behind_an_option():
    """Are one list."""
    assert output_of("show a.json lr --select 'data.*'").splitlines() == [
        "['lr'] = 0.1",
        "['data']['name'] = 'a\\u202eb'",
        "['data']['path'] = None",
    ]
    drawn = output_of("show a.json --tree --select 'data.*' --select lr")
    assert drawn == show.draw(TREE, select=["data.*", "lr"], none_is_leaf=True)
    told = output_of("show a.json --tree --select rl")
    assert told.startswith(
        "leafwise: no match for 'rl': the dict at the root has ['lr'], "
    )


def test_all_leaves_are_drawn():
    """However many, and however long."""
    Path("many.json").write_text(f'[{",".join(map(str, range(3000)))}, "{"x" * 150}"]')
    lines = output_of("show many.json --tree").splitlines()
    assert len(lines) == 3002
    assert lines[-1] == f"└── [3000]: '{'x' * 150}'"


@pytest.mark.parametrize("form", ["mermaid", "dot"])
def test_diagrams(form):
    """As the functions write them."""
    write = getattr(show, f"to_{form}")
    expected = write(TREE, none_is_leaf=True)
    assert output_of(f"show a.json --{form}") == expected
    expected = write(TREE, select="sizes", depth=1, none_is_leaf=True)
    assert output_of(f"show a.json sizes --depth 1 --{form}") == expected


def test_pictures_are_written_into_files():
    """Or to the standard output."""
    assert output_of("show a.json --svg a.svg") == ""
    text = Path("a.svg").read_text(encoding="utf-8")
    assert text == show.to_svg(TREE, none_is_leaf=True) + "\n"
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert output_of("show a.json --svg -") + "\n" == text


@pytest.mark.skipif(not hasattr(show, "to_html"), reason="needs leafwise.show.html")
def test_pages_are_written_into_files():
    """Whole documents."""
    assert output_of("show a.json --html a.html --depth 1 --select data") == ""
    text = Path("a.html").read_text(encoding="utf-8")
    data = lw.at(TREE, none_is_leaf=True)["data"]
    assert text == show.to_html(data, depth=1, document=True) + "\n"
    assert text.startswith("<!doctype html>")


@pytest.mark.skipif(not hasattr(show, "tree_summary"), reason="needs show.summary")
def test_summaries():
    """Of all, or of what selectors pick by its paths."""
    table = str(show.tree_summary(TREE, none_is_leaf=True, depth=1))
    assert output_of("show a.json --summary --depth 1") == table
    lines = output_of("show a.json sizes lr --summary").splitlines()
    assert any("['sizes']" in line and "list" in line for line in lines)
    assert not any("data" in line for line in lines)


def test_what_cannot_be():
    """Is said, with status 2."""
    told = output_of("show a.json --svg no/where.svg")
    assert told == "leafwise: no/where.svg: No such file or directory\n[exit status 2]"
    for form in ("--dot", "--depth 2", "--svg a.svg"):
        told = output_of(f"show a.json --json {form}")
        assert told.startswith(f"leafwise: --json: not allowed with {form[:5]}")


@pytest.mark.parametrize("arguments", [["--depth", "-1"], ["--dot", "--mermaid"]])
def test_what_is_no_option(arguments, capsys):
    """Is said by the parser."""
    with pytest.raises(SystemExit, match="2"):
        main(["show", "a.json", *arguments])
    assert "argument --" in capsys.readouterr().err


def test_colours(monkeypatch, capsys):
    """As the option says, whatever the output is."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    main(["show", "a.json", "--tree", "--color", "always"])
    assert "\033[36m'lr'\033[0m: 0.1" in capsys.readouterr().out
    main(["show", "a.json", "--tree"])
    assert "\033" not in capsys.readouterr().out


def test_anchors_are_drawn_once():
    """An alias of YAML is an object that occurs again."""
    pytest.importorskip("ruamel.yaml")
    Path("a.yaml").write_text("base: &base {lr: 1}\nother: *base\n")
    assert output_of("show a.yaml --tree").splitlines()[1:] == [
        "├── 'base': #1 dict",
        "│   └── 'lr': 1",
        "└── 'other': → #1",
    ]

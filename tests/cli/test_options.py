"""Options, errors and exit statuses of the command line."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

import leafwise as lw
from leafwise.cli import COMMANDS, main
from leafwise.io.formats import Document, FormatError, dump, load
from transcripts import output_of


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Go to an empty folder, and return what writes files there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "argv", ["leafwise"])

    def write_files(**files):
        for name, text in files.items():
            stem, _, ending = name.rpartition("_")
            Path(f"{stem}.{ending}").write_text(text, encoding="utf-8")

    return write_files


def test_a_file_alone_is_shown(write):
    """As are the places that selectors mean, without the counts."""
    write(a_json='{"x": {"lr": 1, "n": null}, "y": "text"}')
    assert output_of("a.json") == output_of("show a.json")
    assert output_of("show a.json '**.lr' y") == "['x']['lr'] = 1\n['y'] = 'text'"
    assert output_of("paths a.json") == "['x']['lr']\n['x']['n']\n['y']"
    assert output_of("get a.json ''").startswith('{\n  "x": {')


def test_values_need_no_quotes(write):
    """Lists and dicts as in YAML; a number replaces a number."""
    write(a_json='{"lr": 1, "tags": ["x"], "a": null}')
    found = output_of("set a.json lr=0.5 'tags=[a, b c]' 'a={x: 2}' '+n=[{k: v}]'")
    assert json.loads(found) == {
        "lr": 0.5,
        "tags": ["a", "b c"],
        "a": {"x": 2},
        "n": [{"k": "v"}],
    }


def test_the_version(capsys):
    """As the package has it."""
    with pytest.raises(SystemExit) as done:
        main(["--version"])
    assert (done.value.code, capsys.readouterr().out) == (0, f"{lw.__version__}\n")


def test_json_for_scripts(write):
    """Every command prints JSON if it is told to."""
    write(a_json='{"x": {"lr": 1, "n": null}}', b_json='{"x": {"lr": 2, "n": null}}')
    assert json.loads(output_of("show a.json --json")) == {
        "['x']['lr']": 1,
        "['x']['n']": None,
    }
    assert json.loads(output_of("paths a.json --json")) == ["['x']['lr']", "['x']['n']"]
    assert json.loads(output_of("get a.json x --json")) == {"lr": 1, "n": None}
    assert json.loads(output_of("get a.json 'x.*' --json")) == {
        "['x']['lr']": 1,
        "['x']['n']": None,
    }
    assert json.loads(output_of("flat a.json --json")) == {"x.lr": 1, "x.n": None}
    assert json.loads(output_of("set a.json x.lr=3 --json")) == {
        "x": {"lr": 3, "n": None}
    }
    assert json.loads(output_of("merge a.json b.json --json"))["x"]["lr"] == 2
    assert output_of("diff a.json a.json --json") == "[]"


def test_diff_says_by_its_status(write):
    """0 and nothing if the files are the same, 1 if they differ, 2 if they fail."""
    write(a_json='{"x": 1.0}', b_toml="x = 1.0001", c_yaml="x: 1.0")
    assert output_of("diff a.json c.yaml") == ""
    assert output_of("diff a.json b.toml") == (
        "~ ['x']: 1.0 -> 1.0001\n[exit status 1]"
    )
    assert output_of("diff a.json b.toml --rtol 1e-3") == ""
    assert output_of("diff a.json b.toml --ignore x") == ""
    assert output_of("diff a.json none.json") == (
        "leafwise: none.json: No such file or directory\n[exit status 2]"
    )


def test_formats_are_kept_or_chosen(write):
    """What comes in as YAML goes out as YAML, unless `--to` says otherwise."""
    write(a_yaml="a: 1\nb: [x, 'on']\n", b_toml="a = 2\n")
    assert output_of("set a.yaml a=5") == "a: 5\nb: [x, 'on']"
    assert output_of("set a.yaml a=5 --to toml") == ('a = 5\nb = ["x", "on"]')
    assert output_of("merge b.toml a.yaml --to yaml") == "a: 1\nb:\n- x\n- 'on'"
    assert output_of("merge a.yaml b.toml --to json") == (
        '{\n  "a": 2,\n  "b": [\n    "x",\n    "on"\n  ]\n}'
    )


def test_the_standard_input(write, monkeypatch):
    """Is read for `-`; `--format` says what it is."""
    write()
    monkeypatch.setattr(sys, "stdin", io.StringIO("a: [1, 2]"))
    assert output_of("get - 'a[-1]' --format yaml") == "2"
    assert output_of("get - a").startswith("leafwise: -: unknown format: use --format")


def test_colours(write, capsys):
    """On a terminal, or as `--color` says."""
    write(a_json='{"x": 1}', b_json='{"x": 2, "y": 3}')
    assert main(["show", "a.json", "--color", "always"]) == 0
    assert capsys.readouterr().out == (
        "\033[36m['x']\033[0m = 1\n\033[2m1 leaf, 2 nodes\033[0m\n"
    )
    assert main(["diff", "a.json", "b.json", "--color", "always"]) == 1
    assert capsys.readouterr().out == (
        "\033[33m~\033[0m \033[36m['x']\033[0m: \033[31m1\033[0m -> \033[32m2\033[0m\n"
        "\033[32m+\033[0m \033[36m['y']\033[0m: \033[32m3\033[0m\n"
    )
    assert main(["diff", "a.json", "b.json"]) == 1
    assert "\033" not in capsys.readouterr().out


def test_diff_shows_where_long_texts_differ(write):
    """Around the first difference, by line and column."""
    text = "first line\\nsecond line\\n" * 5
    write(a_json=f'{{"x": "{text}"}}', b_json=f'{{"x": "{text}third"}}')
    assert output_of("diff a.json b.json --color never") == (
        "~ ['x']: 115 characters -> 120 characters, which differ from character 116 "
        "(line 11, column 1) on\n"
        r"    - ...'st line\nsecond line\n'"
        "\n"
        r"    + ...'st line\nsecond line\nthird'"
        "\n[exit status 1]"
    )


def test_colours_as_the_environment_says(write, capsys, monkeypatch):
    """`FORCE_COLOR` wins over a pipe, `NO_COLOR` over all, `--color` over both."""
    write(a_json='{"x": 1}')
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    main(["paths", "a.json"])
    assert capsys.readouterr().out == "\033[36m['x']\033[0m\n"
    main(["paths", "a.json", "--color", "never"])
    assert capsys.readouterr().out == "['x']\n"
    monkeypatch.setenv("NO_COLOR", "1")
    main(["paths", "a.json"])
    assert capsys.readouterr().out == "['x']\n"


@pytest.mark.needs("processes")
def test_the_console_script(write):
    """The installed command is the same one."""
    write(a_json='{"x": [1, 2]}')
    script = Path(sys.executable).parent / "leafwise"
    done = subprocess.run(
        [script, "get", "a.json", "x[1]"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


# ---------------------------------------------------------------------------- formats


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"), ("no", "no"), ("true", True), ("False", False), ("null", None),
        ("22:22", "22:22"), ("1:30.5", "1:30.5"), ("3e-4", 3e-4), ("1.", 1.0),
        (".5", 0.5), ("-.inf", float("-inf")), ("0x1F", 31), ("0644", 0o644),
        ("1_000", 1000), ("08", "08"), ("1e", "1e"), ("'1'", "1"), ("~", None),
    ],
)  # fmt: skip
def test_plain_scalars_of_yaml(text, value):
    """As YAML 1.2 has them, where 1.1 surprises; written so that they come back."""
    document = load(f"x: {text}\n", "yaml")
    assert document.tree == {"x": value}
    assert type(document.tree["x"]) is type(value)
    assert load(dump(document), "yaml") == document
    quoted = Document({"x": text.strip("'")}, "yaml")
    assert load(dump(quoted), "yaml") == quoted


def test_streams_of_yaml():
    """Several documents are a list, and are written as several again."""
    document = load("a: 1\n---\nb: 2\n", "yaml")
    assert document == ([{"a": 1}, {"b": 2}], "yaml", True)
    assert dump(document) == "---\na: 1\n---\nb: 2\n"
    assert load("", "yaml").tree is None
    assert dump(Document("text", "yaml")) == "text\n"


def test_dates_and_anchors():
    """Dates are written in JSON as text; what anchors share is walked twice."""
    document = load("d: 2026-11-21\na: &x {b: 1}\nc: *x\n", "yaml")
    assert lw.tree_leaves(document.tree) == [1, 1, document.tree["d"]]
    assert json.loads(dump(Document(document.tree, "json")))["d"] == "2026-11-21"
    with pytest.raises(
        FormatError, match=r"as JSON: the value at \['x'\] is a set, \{1\}$"
    ):
        dump(Document({"x": {1}}, "json"))


@pytest.mark.parametrize("kind", ["yaml", "toml"])
def test_packages_that_are_missing(monkeypatch, kind):
    """Are named, with the way to get them."""
    monkeypatch.setitem(sys.modules, "ruamel.yaml", None)
    monkeypatch.setitem(sys.modules, "tomlkit", None)
    with pytest.raises(FormatError) as error:
        dump(Document({}, kind))
    assert str(error.value).endswith(
        'which is not installed: pip install "leafwise[files]"'
    )


def test_yaml_that_is_none():
    """Is told with line and column."""
    with pytest.raises(FormatError, match=r"^not valid YAML: line 2, column 1: "):
        load("a: [1\n", "yaml")
    with pytest.raises(FormatError, match=r"^not valid YAML: line 1, column 4: "):
        load("a: !custom 1", "yaml")


def test_how_lists_are_paired(tmp_path, capsys):
    """By a word, or by keys; of diffs and of merges."""
    base = [{"name": "a", "v": 1}, {"name": "b", "v": 2}]
    over = [{"name": "b", "v": 3}, {"name": "a", "v": 1}]
    files = []
    for name, tree in (("base", base), ("over", over)):
        files.append(str(tmp_path / f"{name}.json"))
        (tmp_path / f"{name}.json").write_text(json.dumps({"x": tree}))
    by_key = ["--lists", "x=name"]
    assert main(["diff", *files, *by_key]) == 1
    assert "~ ['x'][1]['v']: 2 -> 3" in capsys.readouterr().out
    assert main(["diff", *files, "--lists", "position"]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert main(["merge", *files, *by_key, "--json"]) == 0
    merged = json.loads(capsys.readouterr().out)
    assert merged == {"x": [{"name": "a", "v": 1}, {"name": "b", "v": 3}]}
    for command, word in (("diff", "replace"), ("merge", "align")):
        assert main([command, *files, "--lists", word]) == 2
        assert "one of" in capsys.readouterr().err
    assert main(["diff", *files, "--lists", "align", *by_key]) == 2
    assert "--lists takes either one word or only" in capsys.readouterr().err


NUMBERS = "mode: 0644\nversion: 1.20\nsteps: 1_000\nnested: {mode: 0x1F}\n"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("get a.yaml mode", "0644"),
        ("get a.yaml version", "1.20"),
        ("get a.yaml mode --json", "420"),
        ("show a.yaml steps nested", "['steps'] = 1_000\n['nested'] = {'mode': 0x1F}"),
        (
            "show a.yaml --tree nested",
            "dict\n├── 'nested': dict\n│   └── 'mode': 0x1F\n└── ... 3 more",
        ),
        ("get a.yaml '{mode,version}'", "['mode'] = 0644\n['version'] = 1.20"),
        (
            "flat a.yaml",
            "mode = 0644\nversion = 1.20\nsteps = 1_000\nnested.mode = 0x1F",
        ),
        ("get a.yaml nested --to yaml", "mode: 0x1F"),
        ("get a.yaml nested --to toml", "mode = 0x1F"),
        ("get a.yaml nested --to json", '{\n  "mode": 31\n}'),
        (
            "get a.yaml '*' --to json",
            "leafwise: --to: '*' may match several values\n[exit status 2]",
        ),
    ],
)
def test_numbers_are_shown_as_they_are_written(write, line, shown):
    """By every command but for JSON, which has no other numerals."""
    write(a_yaml=NUMBERS)
    assert output_of(line) == shown


@pytest.mark.usefixtures("write")
def test_files_of_arrays():
    """They are shown and compared, and not edited."""
    numpy = pytest.importorskip("numpy")
    lw.save("a.npz", {"w": numpy.zeros((2, 3)), "steps": 10})
    lw.save("b.npz", {"w": numpy.ones((2, 3)), "steps": 10})
    assert output_of("show a.npz w steps") == "['w'] = float64[2, 3]\n['steps'] = 10"
    assert output_of("get a.npz steps") == "10"
    assert output_of("diff a.npz a.npz") == ""
    told = output_of("diff a.npz b.npz")
    assert told.startswith("~ ['w']: f64[2,3], 6 of 6")
    assert told.endswith("[exit status 1]")
    refused = "leafwise: a.npz: files of arrays are not edited here\n[exit status 2]"
    assert output_of("set a.npz steps=1") == refused
    assert output_of("merge a.npz b.npz") == refused
    Path("a.npz").write_bytes(b"PK")
    assert output_of("show a.npz").startswith("leafwise: a.npz is damaged")


def test_a_mistyped_command(write, capsys):
    """It is said to be one, with the command that was meant."""
    write(a_json="{}")
    with pytest.raises(SystemExit) as done:
        main(["shw", "a.json"])
    assert done.value.code == 2
    said = capsys.readouterr().err
    assert "'shw' is neither a command nor a file; did you mean 'show'?" in said
    assert output_of("nothing.json").startswith("leafwise: nothing.json: No such file")


def test_the_help_of_each_command_has_examples(capsys):
    """Which are calls of that command."""
    for name in COMMANDS:
        with pytest.raises(SystemExit):
            main([name, "--help"])
        _, _, examples = capsys.readouterr().out.partition("examples:\n")
        assert examples
        assert all(
            line.startswith(f"  leafwise {name} ") for line in examples.splitlines()
        )

"""What a review found wrong, by paragraph; and how much code an edit enters."""

import dataclasses
import json
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import leafwise as lw
from leafwise.cli import main
from transcripts import output_of


NPM = '{"deps": {"@types/node": "1"}, "a@b": 1}'
KEPT = "the comments and the layout cannot be kept: "
HAZARDS = {
    "1. octal modes stay octal": (
        "yaml", "defaultMode: 0644\n", "set FILE defaultMode=0600 -i",
        "defaultMode: 0600\n",
    ),
    "2. an added item is a text beside texts": (
        "yaml", 'python: ["3.9", "3.10"]\n', "set FILE +python[2]=3.20 -i",
        'python: ["3.9", "3.10", "3.20"]\n',
    ),
    "2. a version is a text beside texts": (
        "toml", '[dependencies]\nserde = "1.0"\n', "set FILE +dependencies.rand=0.8 -i",
        '[dependencies]\nserde = "1.0"\nrand = "0.8"\n',
    ),
    "3. ++ replaces what has another type": (
        "toml", "[p]\nlto = true\n", "set FILE ++p.lto=thin -i", '[p]\nlto = "thin"\n',
    ),
    "6. the only key is deleted": (
        "yaml", "# head\na: 1\n", "delete FILE a -i", "# head\n{}\n",
    ),
    "7. a number keeps its zero": (
        "yaml", "v: 1.10\n", "set FILE v=1.20 -i", "v: 1.20\n",
    ),
    "7. a number keeps its spelling": (
        "toml", "m = 0o644\nn = 1_000\n", "set FILE m=0o600 n=2_000 -i",
        "m = 0o600\nn = 2_000\n",
    ),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    return tmp_path


@pytest.mark.parametrize("name", HAZARDS)
def test_files_after_edits(folder, name):
    kind, text, command, after = HAZARDS[name]
    if kind != "json":
        pytest.importorskip({"yaml": "ruamel.yaml", "toml": "tomlkit"}[kind])
    path = folder / f"a.{kind}"
    path.write_text(text)
    assert output_of(command.replace("FILE", path.name)) == ""
    assert path.read_text() == after


def test_names_of_tables_are_selectors(folder):
    """4. What `flat` prints is what `get` and `set` read."""
    (folder / "e.json").write_text(NPM)
    names = [line.split(" = ")[0] for line in output_of("flat e.json").split("\n")]
    assert names == ["deps['@types/node']", "['a@b']"]
    tree = json.loads(NPM)
    assert [lw.at(tree)[name].get() for name in names] == ["1", 1]
    assert json.loads(output_of(f'set e.json "{names[0]}=2"'))["deps"] == {
        "@types/node": "2"
    }
    assert "write ['@types/node']" in output_of("get e.json deps.@types/node")


@pytest.mark.parametrize(
    ("text", "where", "why"),
    [
        (
            "base: &b\n  t: 1\nx:\n  <<: *b\n  steps: [1]\ny:\n  <<: *b\n  n: 2\n",
            "base", "the new text would be not valid YAML: line 2, column 7: found",
        ),
        ("a: 1\n...\nb: 2\n", "'[1]'", "a document has no --- above it; without"),
        ("a: 1\n---\nb: 2\n", "'[*]'", "no document would be left, delete the file"),
    ],
)  # fmt: skip
def test_refusals_say_why(folder, text, where, why):
    """5 and 6. And the file stays as it was."""
    pytest.importorskip("ruamel.yaml")
    (folder / "f.yaml").write_text(text)
    assert KEPT + why in output_of(f"delete f.yaml {where} -i")
    assert (folder / "f.yaml").read_text() == text


def test_saved_json_may_be_edited_by_people(folder):
    """8."""
    lw.save("k.json", {"lr": 0.1, "betas": (0.9, 0.99)})
    path = Path("k.json")
    path.write_text(path.read_text().replace('"lr": 0.1', '"lr": 0.2'))
    assert lw.load(path) == {"lr": 0.2, "betas": (0.9, 0.99)}


@lw.register_dataclass
@dataclasses.dataclass
class Anything:
    act: object = len


def test_values_selectors_and_reasons():
    """9, 10 and 11."""
    for value in (sum, float):
        assert lw.tree_update({"act": len}, {"act": value}) == {"act": value}
    found = [lw.at([1, 2, 3])[x].get() for x in ("[0:2]", slice(0, 2), (0, 2), ())]
    assert found == [[1, 2], [1, 2], [1, 3], []]
    with pytest.raises(lw.errors.EditError, match="is not a builtin_function"):
        lw.override(Anything(), ["act=print"])


# -------------------------------------------------------- how much code is entered

A = {"optim": {"lr": 0.1, "betas": [0.9, 0.99]}, "sizes": [64, 32, 16], "name": "a"}
B = {"optim": {"lr": 0.2, "betas": [0.9, 0.99]}, "sizes": [64, 16], "name": "b"}
LAYERS = {"layers": [{"w": 1, "b": 2}, {"w": 3, "b": 4}]}


def set_in_file(kind, text):
    if kind != "json":
        pytest.importorskip({"yaml": "ruamel.yaml", "toml": "tomlkit"}[kind])
    Path(f"a.{kind}").write_text(text)
    assert main(["set", f"a.{kind}", "v=2", "-i"]) == 0


@pytest.mark.skipif(not hasattr(lw, "engine"), reason="counts with the engine")
@pytest.mark.parametrize(
    ("run", "files", "functions"),
    [
        (lambda: lw.tree_diff(A, B), 10, 45),
        (lambda: lw.at(LAYERS)["layers[*].w"].set(1), 7, 30),
        (lambda: set_in_file("json", '{"name": "x", "v": 1}\n'), 10, 43),
        (lambda: set_in_file("toml", "# top\nv = 1\n"), 11, 45),
        (lambda: set_in_file("yaml", "# top\nname: x\nv: 1\n"), 11, 59),
    ],
    ids=["diff", "edit", "json", "toml", "yaml"],
)
def test_few_functions_are_entered(folder, monkeypatch, run, files, functions):
    """When modules are loaded, and the engine has made its functions."""
    monkeypatch.setattr(sys, "argv", ["leafwise"])
    for _ in range(5):
        run()
    root, entered = str(Path(lw.__file__).parent), defaultdict(set)

    def note(frame, event, _):
        code = frame.f_code
        is_ours = code.co_filename.startswith(root) and code.co_name[0] != "<"
        if event == "call" and is_ours:
            entered[code.co_filename].add((code.co_name, code.co_firstlineno))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    assert len(entered) <= files
    assert sum(map(len, entered.values())) <= functions

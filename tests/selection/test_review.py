"""What a review found wrong, by paragraph; and how much code an edit enters."""

import json

import pytest

import leafwise as lw
from transcripts import output_of


NPM = '{"deps": {"@types/node": "1"}, "a@b": 1}'
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

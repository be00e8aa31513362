"""Well-known config formats, shown, read, edited, compared and merged.

`configs` holds them, `expected` what each command prints, as a terminal would show it.
"""

import json
from pathlib import Path

import pytest

from transcripts import commands, output_of


HERE = Path(__file__).parent
NAMES = ["pyproject", "workflow", "compose", "deployment", "training", "errors"]


@pytest.mark.parametrize("name", NAMES)
def test_the_whole_output(name, monkeypatch):
    """Every line that each command prints, and its exit status."""
    monkeypatch.chdir(HERE / "configs")
    transcript = (HERE / "expected" / f"{name}.txt").read_text(encoding="utf-8")
    known = {line.split()[0] for line, _ in commands(transcript)}
    assert name == "errors" or {"show", "get", "set", "diff", "merge"} <= known
    for line, shown in commands(transcript):
        assert output_of(line) == shown, line


# ------------------------------------------------------- a lock file of 5 000 leaves

COUNT = 1000


def package(number, version):
    """Return one package of a lock file: five leaves."""
    return {
        "version": version,
        "resolved": f"https://registry.example/p{number}/-/p{number}-{version}.tgz",
        "integrity": f"sha512-{number:064x}",
        "dev": number % 3 == 0,
        "license": "MIT",
    }


def lock(version="1.0.0"):
    """Return a lock file; every hundredth package has the version."""
    packages = {
        f"node_modules/p{n}": package(n, version if n % 100 == 0 else "1.0.0")
        for n in range(COUNT)
    }
    return {"name": "shop", "lockfileVersion": 3, "packages": packages}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Go to a folder with two lock files."""
    monkeypatch.chdir(tmp_path)
    Path("package-lock.json").write_text(json.dumps(lock()))
    Path("newer.json").write_text(json.dumps(lock("2.0.0")))


def path_of(number, name):
    """Return the text of the path to something of a package."""
    return f"['packages']['node_modules/p{number}']['{name}']"


def test_show_a_lock_file(folder):
    """All 5 002 leaves, packages in the order of their names."""
    lines = output_of("show package-lock.json").splitlines()
    names = sorted(range(COUNT), key=lambda n: f"node_modules/p{n}")
    assert lines[:2] == ["['lockfileVersion'] = 3", "['name'] = 'shop'"]
    assert lines[2:-1] == [
        f"{path_of(n, key)} = {value!r}"
        for n in names
        for key, value in sorted(package(n, "1.0.0").items())
    ]
    assert lines[-1] == "5002 leaves, 6004 nodes"


def test_get_from_a_lock_file(folder):
    """By globs in the names of packages."""
    shown = output_of("get package-lock.json 'packages.node_modules/p99?.dev'")
    assert shown.splitlines() == [
        f"{path_of(n, 'dev')} = {'true' if n % 3 == 0 else 'false'}"
        for n in range(990, 1000)
    ]
    assert output_of("get package-lock.json '**.node_modules/p7.version'") == (
        f'{path_of(7, "version")} = "1.0.0"'
    )


def test_set_in_a_lock_file(folder):
    """All of one sort at once; the rest is as it was."""
    shown = output_of("set package-lock.json 'packages.*.license=ISC' name=store")
    expected = lock() | {"name": "store"}
    for known in expected["packages"].values():
        known["license"] = "ISC"
    assert shown == json.dumps(expected)


def test_diff_of_lock_files(folder):
    """Only what changed, with both sides."""
    lines = output_of("diff package-lock.json newer.json").splitlines()
    expected = [
        f"~ {path_of(n, key)}: {package(n, '1.0.0')[key]!r} -> "
        f"{package(n, '2.0.0')[key]!r}"
        for n in range(0, COUNT, 100)
        for key in ("version", "resolved")
    ]
    assert lines == [*expected, "[exit status 1]"]
    text = output_of("diff package-lock.json newer.json --json")
    found = json.loads(text.removesuffix("[exit status 1]"))
    assert len(found) == 20
    assert found[0] == {
        "kind": "value",
        "path": path_of(0, "version"),
        "before": "1.0.0",
        "after": "2.0.0",
    }


@pytest.mark.slow
def test_merge_of_lock_files(folder):
    """The newer one wins; with a rule the older one does in some places."""
    shown = output_of("merge package-lock.json newer.json")
    assert shown == json.dumps(lock("2.0.0"))
    shown = output_of("merge package-lock.json newer.json --rule '**.version=base'")
    expected = lock("2.0.0")
    for known in expected["packages"].values():
        known["version"] = "1.0.0"
    assert shown == json.dumps(expected)

"""Files that are edited in place: layout, spelling and comments stay."""

from pathlib import Path

import pytest

from leafwise.cli import main


pytest.importorskip("ruamel.yaml")
pytest.importorskip("tomlkit")


@pytest.fixture
def edit(tmp_path, monkeypatch, capsys):
    """Return a function that writes a file, edits it in place, and reads it again."""
    monkeypatch.chdir(tmp_path)

    def edited(kind, data, *command):
        file = Path(f"a.{kind}")
        file.write_bytes(data)
        assert main([command[0], str(file), *command[1:], "-i"]) == 0
        assert capsys.readouterr() == ("", "")
        return file.read_bytes()

    return edited


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "\n"])
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("yaml", "%YAML 1.2\n---\na: 1 # é\nb: |-\n  x\n...\n# end"),
        ("yaml", "a: 1\n---\n# second\na: 5\n--- # third\n[a, {b: 1}]"),
        ("toml", "a = 1 # é\n[t]\nb = '''\nx'''"),
        ("json", '{\n\t"a" : 1,\n\t"b": [1,2]}'),
    ],
)
def test_ends_of_lines_and_marks(edit, mark, end, last, kind, text):
    """Byte order marks, line ends, the last one or none, markers of documents."""
    data = mark + (text + last).replace("\n", end).encode()
    where = "[0].a=9" if "---\n#" in text else "a=9"
    first = data.index(b"1", data.index(b"a"))
    expected = data[:first] + b"9" + data[first + 1 :]
    assert edit(kind, data, "set", where) == expected


def test_a_file_that_does_not_change_is_not_written(edit):
    """Not even replaced by the same text."""
    edit("yaml", b"a: 1 # c\n", "set", "a=1")
    before = Path("a.yaml").stat()
    assert main(["set", "a.yaml", "a=1", "-i"]) == 0
    after = Path("a.yaml").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


@pytest.mark.parametrize(
    ("kind", "text", "command", "expected"),
    [
        pytest.param(
            "yaml", "defaultMode: 0644\n", ["set", "defaultMode=0600"],
            "defaultMode: 0600\n", id="an octal mode stays octal",
        ),
        pytest.param(
            "yaml", 'python: ["3.9", "3.10"]\n', ["set", "+python[2]='3.20'"],
            'python: ["3.9", "3.10", "3.20"]\n', id="an item in quotes is a text",
        ),
        pytest.param(
            "toml", '[dependencies]\nserde = "1.0"\n',
            ["set", "+dependencies.rand='0.8'", "+dependencies.n=2"],
            '[dependencies]\nserde = "1.0"\nrand = "0.8"\nn = 2\n',
            id="a version in quotes is a text, and a number is a number",
        ),
        pytest.param(
            "toml", "[p]\nlto = true\n", ["set", "++p.lto=thin"],
            '[p]\nlto = "thin"\n', id="++ replaces a value of another type",
        ),
        pytest.param(
            "yaml", "# head\na: 1\n", ["delete", "a"],
            "# head\n{}\n", id="the only key is deleted",
        ),
        pytest.param(
            "yaml", "v: 1.10\n", ["set", "v=1.20"],
            "v: 1.20\n", id="a number keeps its zero",
        ),
        pytest.param(
            "toml", "m = 0o644\nn = 1_000\n", ["set", "m=0o600", "n=2_000"],
            "m = 0o600\nn = 2_000\n", id="a number keeps its spelling",
        ),
    ],
)  # fmt: skip
def test_new_values_are_written_like_those_of_the_file(
    edit, kind, text, command, expected
):
    """By the values that they replace, or that are beside them."""
    assert edit(kind, text.encode(), *command) == expected.encode()


@pytest.mark.parametrize(
    ("text", "where", "reason"),
    [
        pytest.param(
            "base: &b\n  t: 1\nx:\n  <<: *b\n  steps: [1]\ny:\n  <<: *b\n  n: 2\n",
            "base", "x uses the anchor &b of the deleted part",
            id="an anchor that is used",
        ),
        pytest.param(
            "a: 1\n...\nb: 2\n", "[1]",
            "a document has no --- above it; --reformat", id="a document without ---",
        ),
        pytest.param(
            "a: 1\n---\nb: 2\n", "[*]",
            "no document would be left, delete the file", id="all documents",
        ),
    ],
)  # fmt: skip
def test_deletions_that_are_refused(tmp_path, capsys, text, where, reason):
    """The error says why, and the file is not changed."""
    file = tmp_path / "f.yaml"
    file.write_text(text)
    assert main(["delete", str(file), where, "-i"]) == 1
    expected = f"the comments and the layout cannot be kept: {reason}"
    assert expected in capsys.readouterr().err
    assert file.read_text() == text


def test_a_boolean_of_yaml_1_1_stays_one(edit):
    """Programs that read YAML 1.1 take the quoted word for true."""
    data = b"tls: {enabled: yes}\n"
    assert edit("yaml", data, "set", "tls.enabled=no") == b"tls: {enabled: no}\n"

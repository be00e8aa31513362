"""Edited files keep their form: only the lines change that must."""

import random
import re
from datetime import UTC
from difflib import SequenceMatcher
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from leafwise.cli import main
from leafwise.configs.formats import Document, FormatError, dump, load
from leafwise.configs.revision import RevisionError, revise


pytest.importorskip("ruamel.yaml")
pytest.importorskip("tomlkit")

HERE = Path(__file__).parent
FORMS = sorted(path.name for path in (HERE / "forms").iterdir())
KINDS = {"yml": "yaml", "yaml": "yaml", "toml": "toml", "json": "json"}


def kind_of(name):
    """Return the format of a file."""
    return KINDS[name.rpartition(".")[2]]


def read_as(text, kind, tree):
    """Return whether a text reads as a tree, types and all."""
    try:
        return repr(sorted_(load(text, kind).tree)) == repr(sorted_(tree))
    except FormatError:
        return False


def sorted_(tree):
    """Return a tree with all dicts in one order, and times in one time zone."""
    if isinstance(tree, dict):
        return {key: sorted_(tree[key]) for key in sorted(tree, key=repr)}
    if getattr(tree, "tzinfo", None):
        return tree.astimezone(UTC)
    return [*map(sorted_, tree)] if isinstance(tree, list) else tree


# ------------------------------------------------------------------------ random edits


def nodes(tree, path=()):
    """Yield all nodes and leaves with their paths."""
    yield path, tree
    if isinstance(tree, dict | list):
        pairs = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for key, value in pairs:
            yield from nodes(value, (*path, key))


def text_of(path):
    """Return a selector of a path."""
    return "".join(f"[{key!r}]" for key in path)


def random_edit(rng, tree, is_shared):
    """Return arguments of an edit, and the tree that it gives."""
    found = [(p, v) for p, v in nodes(tree) if p and not is_shared(p)]
    dicts = [(p, v) for p, v in found if isinstance(v, dict)]
    lists = [(p, v) for p, v in found if isinstance(v, list)]
    leaves = [(p, v) for p, v in found if not isinstance(v, dict | list)]
    nones = lw.namespace("nones", none_is_leaf=True)
    chosen = nones.at(tree)
    edit = rng.choice(["set", "add", "delete", "move", "rename", "insert", "drop"])
    if edit == "set":
        path, _ = rng.choice(leaves)
        text = rng.choice(["true", "17", "1e3", "other", "it is: 'so' # really"])
        change = f"{text_of(path)}={text}"
        try:
            return ["set", "FILE", change], lw.configs.override(tree, [change])
        except lw.LeafwiseError:  # not of the type of what is there
            return ["set", "FILE", change], tree
    if edit in ("add", "insert"):
        path, node = rng.choice(dicts if edit == "add" else lists)
        key = "new-key" if edit == "add" else rng.randint(0, len(node))
        is_tables = bool(node) and isinstance(node, list) and isinstance(node[0], dict)
        texts = ["5", '"x: y"', '{"a": 1, "b": {"c": [1, "z"]}}', "[1, 2]", '{"q": 1}']
        text = rng.choice(texts[-1:] if is_tables else texts)
        change = f"+{text_of((*path, key))}={text}"
        return ["set", "FILE", change], lw.configs.override(tree, [change])
    if edit in ("delete", "drop"):
        items = [p for p, _ in found if isinstance(p[-1], int)]
        path = rng.choice(items if edit == "drop" else [p for p, _ in found])
        return ["delete", "FILE", text_of(path)], chosen[text_of(path)].delete()
    path, _ = rng.choice([(p, v) for p, v in found if isinstance(p[-1], str)])
    if edit == "rename":
        new = nones.tree_rename(tree, text_of(path), "renamed")
        return ["rename", "FILE", text_of(path), "renamed"], new
    around = [p for p, _ in dicts if p[: len(path)] != path]
    target = text_of((*rng.choice(around), "moved"))
    new = nones.tree_move(tree, text_of(path), target)
    return ["move", "FILE", text_of(path), target], new


def unneeded(old, new, kind, tree, is_delete):
    """Return the changed lines without whose change the text reads the same.

    Comments and blank lines go with what they belong to.
    """
    one, two = old.splitlines(True), new.splitlines(True)
    found = []
    changes = SequenceMatcher(None, one, two, autojunk=False).get_opcodes()
    for what, start, end, at, stop in changes:
        if what == "equal":
            continue
        undone = [*two[:at], *one[start:end], *two[stop:]]
        if read_as("".join(undone), kind, tree):
            found.append("".join(one[start:end] + two[at:stop]))
        for n in range(start, end) if what == "delete" and is_delete else ():
            if one[n].strip() and not one[n].lstrip().startswith("#"):
                kept = [*two[:at], one[n], *two[at:]]
                if read_as("".join(kept), kind, tree):
                    found.append(one[n])
    return found


def comments(text):
    """Return what stands behind number signs."""
    return sorted(re.findall(r"(?:^|\s)(#.*)", text))


LOST, MERGED = "the comment .* would be lost", "the merge key << also gives the key"
REFUSED = {
    "yaml": {"move": f"{LOST}|{MERGED}", "rename": MERGED, "delete": MERGED},
    "toml": dict.fromkeys(("move", "rename"), f"{LOST}|other values than"),
    "json": {},
}
"""Which edits may be refused, and with what reason."""


def check_edits(name, count, tmp_path, capsys, first=0):
    """Make random edits in place; check what is read, and each changed line."""
    kind, text = kind_of(name), (HERE / "forms" / name).read_text(encoding="utf-8")
    tree, file = load(text, kind).tree, tmp_path / name
    is_compose = name == "compose.yaml"  # see the tests of aliases

    def is_shared(path):
        if not is_compose or path[0] != "services":
            return is_compose and path[0].startswith("x-")
        shared = {"logging", "restart", "cache"}
        return path[-1] == "environment" or not shared.isdisjoint(path)

    changed = 0
    for seed in range(first, first + count):
        command, new = random_edit(random.Random(seed), tree, is_shared)
        file.write_text(text, encoding="utf-8")
        arguments = [str(file) if word == "FILE" else word for word in command]
        status = main([*arguments, "-i"])
        written = file.read_text(encoding="utf-8")
        if status == 1 and (refused := REFUSED[kind].get(command[0])):
            assert re.search(f"not written: .*{refused}", capsys.readouterr().err)
            assert written == text
            continue
        assert status == 0 or new is tree, command
        assert read_as(written, kind, new), command
        assert unneeded(text, written, kind, new, command[0] == "delete") == [], command
        if command[0] in ("move", "rename") or command[-1].startswith("+"):
            assert comments(written) == comments(text), command
        elif command[0] == "set":
            assert [c for c in comments(text) if c not in written] == [], command
        changed += written != text
    assert changed > count * 0.8


@pytest.mark.parametrize("name", FORMS)
def test_a_few_edits_change_the_lines_that_they_must(name, tmp_path, capsys):
    """Values, keys, items: set, added, deleted, moved, named anew."""
    check_edits(name, 4, tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_many_edits_change_the_lines_that_they_must(name, tmp_path, capsys):
    """Two hundred in each file."""
    check_edits(name, 200, tmp_path, capsys, first=100)


TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab:# '\"\n-", max_size=4),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.text("ab.: ", max_size=2), below, max_size=3)
    ),
    max_leaves=8,
)
WITHOUT_NULL = TREES.filter(lambda tree: "None" not in repr(tree))


def revised_or_dumped(text, kind, new):
    """Return a text without comments with a new tree, in its layout if possible."""
    try:
        return revise(text, load(text, kind), new)
    except RevisionError:
        return dump(Document(new, kind))


@given(st.sampled_from(["json", "yaml"]), TREES, TREES)
def test_any_tree_becomes_any_other(kind, old, new):
    """Whatever is written reads as the new tree."""
    text = dump(Document(old, kind))
    assert read_as(revised_or_dumped(text, kind, new), kind, new)


@given(*[st.dictionaries(st.text("ab. ", max_size=2), WITHOUT_NULL, max_size=3)] * 2)
def test_any_tree_in_toml_becomes_any_other(old, new):
    """Tables, arrays of tables, inline tables."""
    text = dump(Document(old, "toml"))
    assert read_as(revised_or_dumped(text, "toml", new), "toml", new)


ITEMS = "- a  # one\n- {n: b, x: 1, y: 2}  # two\n- [c, d]  # three\n"


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ([{"n": "b", "x": 1, "y": 2}, ["c", "d"], "e"],
         "- {n: b, x: 1, y: 2}  # two\n- [c, d]  # three\n- e\n"),
        (["z", "a", {"n": "b", "x": 1, "y": 3}, ["c", "d"]],
         "- z\n- a  # one\n- {n: b, x: 1, y: 3}  # two\n- [c, d]  # three\n"),
        (["a", "new", {"n": "b", "x": 1, "y": 3}, ["c", "e"]],
         "- a  # one\n- new\n- {n: b, x: 1, y: 3}  # two\n- [c, e]  # three\n"),
    ],
)  # fmt: skip
def test_comments_stay_with_their_items(new, expected):
    """Also where others come and go, and where they change a little."""
    assert revise(ITEMS, load(ITEMS, "yaml"), new) == expected


# --------------------------------------------------------------------------- each case


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
            "base", "the new text would be not valid YAML: line 2, column 7: found",
            id="an anchor that is used",
        ),
        pytest.param(
            "a: 1\n...\nb: 2\n", "[1]",
            "a document has no --- above it; without", id="a document without ---",
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


@pytest.mark.parametrize("error", [ValueError, TypeError, KeyError])
def test_a_bug_of_our_own_shows_as_itself(monkeypatch, error):
    """It is not told as a form that cannot be kept."""
    from leafwise.configs.revision import editor

    def broken(*_):
        raise error("a bug")

    monkeypatch.setattr(editor, "scan", broken)
    with pytest.raises(error, match="a bug"):
        revise("[1]", load("[1]", "json"), [2])

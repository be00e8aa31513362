"""Edited files keep their form: only the lines change that must."""

import random
import re
import signal
import subprocess
import sys
import time
from difflib import SequenceMatcher
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from leafwise.cli import main
from leafwise.io.formats import Document, FormatError, dump, load
from leafwise.io.revision import RevisionError, revise
from transcripts import output_of


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
    """Return a tree with all dicts in one order."""
    if isinstance(tree, dict):
        return {key: sorted_(tree[key]) for key in sorted(tree, key=repr)}
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
    chosen = lw.selection.at(tree, none_is_leaf=True)
    edit = rng.choice(["set", "add", "delete", "move", "rename", "insert", "drop"])
    if edit == "set":
        path, _ = rng.choice(leaves)
        text = rng.choice(["true", "17", "1e3", "other", "it is: 'so' # really"])
        change = f"{text_of(path)}={text}"
        try:
            return ["set", "FILE", change], lw.selection.override(tree, [change])
        except lw.LeafwiseError:  # not of the type of what is there
            return ["set", "FILE", change], tree
    if edit in ("add", "insert"):
        path, node = rng.choice(dicts if edit == "add" else lists)
        key = "new-key" if edit == "add" else rng.randint(0, len(node))
        is_tables = bool(node) and isinstance(node, list) and isinstance(node[0], dict)
        texts = ["5", '"x: y"', '{"a": 1, "b": {"c": [1, "z"]}}', "[1, 2]", '{"q": 1}']
        text = rng.choice(texts[-1:] if is_tables else texts)
        change = f"+{text_of((*path, key))}={text}"
        return ["set", "FILE", change], lw.selection.override(tree, [change])
    if edit in ("delete", "drop"):
        items = [p for p, _ in found if isinstance(p[-1], int)]
        path = rng.choice(items if edit == "drop" else [p for p, _ in found])
        return ["delete", "FILE", text_of(path)], chosen[text_of(path)].delete()
    path, _ = rng.choice([(p, v) for p, v in found if isinstance(p[-1], str)])
    if edit == "rename":
        new = lw.selection.tree_rename(
            tree, text_of(path), "renamed", none_is_leaf=True
        )
        return ["rename", "FILE", text_of(path), "renamed"], new
    around = [p for p, _ in dicts if p[: len(path)] != path]
    target = text_of((*rng.choice(around), "moved"))
    new = lw.selection.tree_move(tree, text_of(path), target, none_is_leaf=True)
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
        if status == 1 and command[0] == "move":  # into brackets, with a comment
            assert "not written" in capsys.readouterr().err
            assert written == text
            continue
        if status == 1 and command[0] in ("delete", "rename"):  # what << also gives
            assert "the merge key << also gives" in capsys.readouterr().err
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
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "argv", ["leafwise"])

    def edited(kind, data, *command):
        file = Path(f"a.{kind}")
        file.write_bytes(data if isinstance(data, bytes) else data.encode())
        status = main([command[0], str(file), *command[1:], "-i"])
        told = capsys.readouterr()
        assert told.out == ""
        if status:
            return told.err.rstrip()
        after = file.read_bytes()
        return after if isinstance(data, bytes) else after.decode()

    return edited


YAML = """\
# About the file.
a:   # first
  b: 1   # one

  # above c
  c: 'two'
# above d
d: [x, y]   # flow
"""


@pytest.mark.parametrize(
    ("command", "old", "new"),
    [
        (["set", "a.b=2"], "b: 1 ", "b: 2 "),
        (["set", "a.c=it's"], "'two'", "'it''s'"),
        (["set", "+d[1]=z"], "[x, y]", "[x, z, y]"),
        (["set", "+a.e=text"], "'two'\n", "'two'\n  e: text\n"),
        (["set", '+a.e={"f": [1, {"g": 2}]}'], "'two'\n",
         "'two'\n  e:\n    f:\n    - 1\n    - g: 2\n"),
        (["delete", "a.c"], "  # above c\n  c: 'two'\n", ""),
        (["delete", "a.b"], "  b: 1   # one\n", ""),
        (["delete", "a.*"], "a:   # first\n  b: 1   # one\n\n  # above c\n  c: 'two'\n",
         "a: {}   # first\n"),
        (["delete", "d[*]"], "[x, y]", "[]"),
        (["rename", "a.c", "see"], "c: 'two'", "see: 'two'"),
        (["move", "d[0]", "e"], "[x, y]   # flow\n", "[y]   # flow\ne: x\n"),
    ],
)  # fmt: skip
def test_what_changes(edit, command, old, new):
    """One stretch of the text, comments beside or not."""
    assert YAML.count(old) == 1
    assert edit("yaml", YAML, *command) == YAML.replace(old, new)


def test_what_moves_keeps_its_comments(edit):
    """Those above it and beside it; indentation is that of the new place."""
    assert edit("yaml", YAML, "move", "a", "e") == (
        "# About the file.\n# above d\nd: [x, y]   # flow\n"
        "e:   # first\n  b: 1   # one\n\n  # above c\n  c: 'two'\n"
    )
    text = "x:\n  # why\n  y:\n    # deep\n    - 1 # one\n    - k: v\nz:\n  q: 1\n"
    assert edit("yaml", text, "move", "x.y", "n") == (
        "x: {}\nz:\n  q: 1\n# why\nn:\n  # deep\n  - 1 # one\n  - k: v\n"
    )
    assert "'# why' would be lost" in edit(
        "yaml", text + "l:\n- 1\n", "move", "x.y", "l[0]"
    )


ALIASES = """\
base: &base {lr: 1, deep: &deep {n: 1}}   # the base
one:
  <<: *base
  steps: 5
two: *base
three: *deep
"""


@pytest.mark.parametrize(
    ("command", "old", "new"),
    [
        (["set", "base.lr=2"], "{lr: 1", "{lr: 2"),
        (["set", "one.lr=3"], "steps: 5\n", "steps: 5\n  lr: 3\n"),
        (["set", "two.lr=3"], "two: *base",
         "two:\n  lr: 3\n  deep:\n    n: 1"),
        (["set", "**.n=7"], "{n: 1}", "{n: 7}"),
        (["set", "+three.m=2"], "three: *deep", "three:\n  n: 1\n  m: 2"),
        (["rename", "base", "first"], "base: &", "first: &"),
        (["delete", "three"], "three: *deep\n", ""),
    ],
)  # fmt: skip
def test_aliases(edit, command, old, new):
    """What is changed where the anchor is changes everywhere; elsewhere only there."""
    assert edit("yaml", ALIASES, *command) == ALIASES.replace(old, new)


def test_anchors_that_are_deleted(edit):
    """Are refused while something stands for them."""
    told = edit("yaml", "x: &x\n  a: 1\ny:\n  z: *x\n", "delete", "x")
    assert "cannot be kept: *x stands for what would be removed" in told
    told = edit("yaml", "x: &x {a: 1}\ny:\n  <<: *x\n", "delete", "x")
    assert "cannot be kept: what the merge key << names would be removed" in told


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


@pytest.mark.parametrize("charset", ["utf-16", "utf-16-be", "utf-32-le"])
def test_encodings_stay(edit, charset):
    """With the byte order mark or without, as it was."""
    data = '{"é": 1}'.encode(charset)
    assert edit("json", data, "set", "é=2") == '{"é": 2}'.encode(charset)


def test_a_file_that_does_not_change_is_not_written(edit, tmp_path):
    """Not even replaced by the same text."""
    Path("a.yaml").write_text("a: 1 # c\n")
    before = Path("a.yaml").stat()
    assert main(["set", "a.yaml", "a=1", "-i"]) == 0
    after = Path("a.yaml").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_what_is_not_written_in_place(edit):
    """The standard input, another format, and what would lose comments."""
    for more, told in (
        (["--to", "json"], "--in-place: not allowed with --to"),
        (["--json"], "--in-place: not allowed with --json"),
    ):
        assert edit("yaml", YAML, "set", "a.b=2", *more) == f"leafwise: {told}"
    text = "a:\n  ? x # odd\n  : 1\n"
    told = edit("yaml", text, "set", "a.x=2")
    assert told == (
        "leafwise: a.yaml: not written: the comments and the layout cannot be "
        "kept: the form of the value on line 2 cannot be kept; without --in-place it "
        "is printed"
    )
    assert Path("a.yaml").read_text() == text
    assert output_of("set a.yaml a.x=2") == (
        "a:\n  x: 2\na.yaml: printed without comments and layout: the form of the "
        "value on line 2 cannot be kept"
    )
    assert output_of("set - a=1 -i --format json").startswith("leafwise: -: ")


@pytest.mark.parametrize(
    ("text", "command", "expected"),
    [
        ("[a]\nx = 1 # c\n\n# on b\n[b]\ny = 2\n", ["delete", "a"],
         "\n# on b\n[b]\ny = 2\n"),
        ("[a]\nx = 1 # c\n\n# on b\n[b]\ny = 2\n", ["delete", "b"], "[a]\nx = 1 # c\n"),
        ("[a]\nx = 1 # c\n\n# on b\n[b.c]\ny = 2\n", ["rename", "b", "d.e"],
         '[a]\nx = 1 # c\n\n# on b\n["d.e".c]\ny = 2\n'),
        ("[a]\nx = 1 # c\n\n# on b\n[b]\ny = 2\n", ["move", "a.x", "b.z"],
         "[a]\n\n# on b\n[b]\ny = 2\nz = 1 # c\n"),
        ("a.b = 1 # c\n", ["set", "+a.d=2"], "a.b = 1 # c\na.d = 2\n"),
        ("[[l]]\nn = 1\n\n[[l]]\nn = 2\n", ["set", '+l[1]={"n": 5, "s": {"k": 1}}'],
         "[[l]]\nn = 1\n\n[[l]]\nn = 5\n\n[l.s]\nk = 1\n\n[[l]]\nn = 2\n"),
        ("[[l]]\nn = 1\n\n[[l]]\nn = 2\n", ["delete", "l"], ""),
        ("t = {a = 1, b = [\n  1, # one\n  2,\n]}\n", ["delete", "t.b[1]"],
         "t = {a = 1, b = [\n  1, # one\n]}\n"),
        ("d = 2026-11-22 # day\n[t]\n", ["set", "+s=x"],
         'd = 2026-11-22 # day\ns = "x"\n[t]\n'),
        ("[t]\nx = 'a'\n", ["set", "+t.y=b", "t.x=c"], "[t]\nx = 'c'\ny = 'b'\n"),
    ],
)  # fmt: skip
def test_tables_of_toml(edit, text, command, expected):
    """Headers, dotted keys, arrays of tables, inline tables."""
    assert edit("toml", text, *command) == expected


@pytest.mark.parametrize(
    ("text", "command", "expected"),
    [
        ("", ["set", "=5"], "5\n"),
        ("# only this\n", ["merge", "b.yaml"], "# only this\nx: 1\n"),
        ("a: |  # c\n  x\n   y\n\nb: 1\n", ["set", "a=z"], "a: z  # c\n\nb: 1\n"),
        ("a: x\n", ["set", "a=p\nq\n"], "a: |-\n  p\n  q\n"),
        ("a:\n", ["set", "a=5"], "a: 5\n"),
        ("- a\n-\n- c\n", ["delete", "[1]"], "- a\n- c\n"),
        ("- a: 1\n  b: 2\n- - x\n  - y\n", ["delete", "[0].a", "[1][0]"],
         "- b: 2\n- - y\n"),
        ("a: {}\n", ["set", "+a.b=1"], "a: {b: 1}\n"),
        ("x: !custom 5\n", ["set", "x=1"], None),
        ("s: \"a\"\nt: \"b\"\n", ["set", "+u=c"], "s: \"a\"\nt: \"b\"\nu: \"c\"\n"),
        ("a: &x 1\nb: *x\n", ["set", "a=2"], "a: &x 2\nb: *x\n"),
    ],
)  # fmt: skip
def test_odd_yaml(edit, text, command, expected):
    """Block scalars, empty values, compact blocks, quotes of all the others."""
    Path("b.yaml").write_text("x: 1\n")
    found = edit("yaml", text, *command)
    if expected is None:
        assert found.startswith("leafwise: ")
    else:
        assert found == expected


REFUSED = None
DEFECTS = {
    "an item that is appended": (
        "yaml",
        "args: [a, b] # two\n",
        ["set", "args[+]=c"],
        "args: [a, b, c] # two\n",
    ),
    "a text beside texts that is appended": (
        "yaml",
        "python:\n- '3.9'\n",
        ["set", "python[+]=3.20"],
        "python:\n- '3.9'\n- '3.20'\n",
    ),
    "an item by a value in it": (
        "yaml",
        "c:\n- name: web\n  image: a # the first\n- name: db\n  image: b\n",
        ["set", "c[name=db].image=z"],
        "c:\n- name: web\n  image: a # the first\n- name: db\n  image: z\n",
    ),
    "a deleted key that << also brings": (
        "yaml",
        "b: &b {a: 1, c: 2}\nx:\n  <<: *b\n  a: 5 # five\n  d: 1\n",
        ["delete", "x.a"],
        REFUSED,
    ),
    "a renamed key that << also brings": (
        "yaml",
        "b: &b {a: 1, c: 2}\nx:\n  <<: *b\n  a: 5 # five\n",
        ["rename", "x.a", "z"],
        REFUSED,
    ),
    "a comment on << that would go": (
        "yaml",
        "b: &b {a: 1}\nx:\n  <<: *b # why\n  a: 5\n",
        ["delete", "x.a"],
        REFUSED,
    ),
    "a list beside << when the anchor is deleted": (
        "yaml",
        "b: &b\n  t: 1\nx:\n  <<: *b\n  s: [1]\ny:\n  <<: *b\n  n: 2\n",
        ["delete", "b"],
        REFUSED,
    ),
    "zero without its sign in YAML": (
        "yaml",
        "a: -0.0 # n\n",
        ["set", "a=0.0"],
        "a: 0.0 # n\n",
    ),
    "zero without its sign in TOML": (
        "toml",
        "a = -0.0\n",
        ["set", "a=0.0"],
        "a = 0.0\n",
    ),
    "an item of an array with a comment behind it": (
        "toml",
        "a = [\n  1, # one\n  2, # two\n]\n",
        ["delete", "a[1]"],
        "a = [\n  1, # one\n]\n",
    ),
    "a key added to a table that dotted keys and a header make": (
        "toml",
        "[r]\nlint.a = 1\nx = 2\n\n[r.lint.b]\nc = 3\n",
        ["set", "+r.lint.d=4"],
        "[r]\nlint.a = 1\nlint.d = 4\nx = 2\n\n[r.lint.b]\nc = 3\n",
    ),
    "zero without its sign in JSON": (
        "json",
        '{"a": -0.0}',
        ["set", "a=0.0"],
        '{"a": 0.0}',
    ),
    "a comment after >-": (
        "yaml",
        "a: >- # why\n  text\n  more\nb: 1\n",
        ["set", "a=x"],
        "a: x # why\nb: 1\n",
    ),
    "a comment after | of another block": (
        "yaml",
        "a: |  # why\n  text\nb: 1\n",
        ["set", "a=x\ny"],
        "a: |-  # why\n  x\n  y\nb: 1\n",
    ),
    "the comment of an emptied list": (
        "yaml",
        "a: [\n  # all\n\n  1, # one\n  ]\n",
        ["delete", "a[0]"],
        REFUSED,
    ),
    "the comment behind the bracket of an emptied list": (
        "yaml",
        "a: [ # all\n  1, # one\n  ]\n",
        ["delete", "a[0]"],
        REFUSED,
    ),
    "an empty mapping with a blank": (
        "yaml",
        "a: { }\nb: [ ]\nc: 1\n",
        ["set", "+d={}", "c=2"],
        "a: { }\nb: [ ]\nc: 2\nd: {}\n",
    ),
    "an empty mapping with a blank, renamed": (
        "yaml",
        "x:\n  a: { }\n  b: 1\n",
        ["rename", "x.a", "z"],
        "x:\n  z: { }\n  b: 1\n",
    ),
    "a key after ?": ("yaml", "? a\n: 1\n? b\n: 2\n", ["set", "a=3"], REFUSED),
    "a value beside keys after ?": (
        "yaml",
        "x:\n  ? a\n  : 1\ny: 1\n",
        ["set", "y=3"],
        "x:\n  ? a\n  : 1\ny: 3\n",
    ),
    "the only key under a comment": (
        "yaml",
        "# head\na: 1\n",
        ["delete", "a"],
        "# head\n{}\n",
    ),
    "an octal mode": ("yaml", "m: 0644 # rw\n", ["set", "m=0600"], "m: 0600 # rw\n"),
    "an added octal mode": ("yaml", "a: 1\n", ["set", "+m=0644"], "a: 1\nm: 0644\n"),
    "an octal mode of TOML": ("toml", "m = 0o644\n", ["set", "m=0o600"], "m = 0o600\n"),
    "digits in groups": ("toml", "n = 1_000\n", ["set", "n=2_000"], "n = 2_000\n"),
    "a version with a zero": ("yaml", "v: 1.10\n", ["set", "v=1.20"], "v: 1.20\n"),
    "a version that is text": ("yaml", 'v: "1.10"\n', ["set", "v=1.20"], 'v: "1.20"\n'),
    "an exponent": ("json", '{"a": 1E3}', ["set", "a=1e4"], '{"a": 1e4}'),
    "hexadecimal digits that move": (
        "yaml",
        "a: {x: 0x1F}\nb: [1]\n",
        ["move", "a.x", "b[0]"],
        "a: {}\nb: [0x1F, 1]\n",
    ),
    "a moved alias of a value that changes": (
        "yaml",
        "a: &a {}\nb: *a # b\n",
        ["merge", "c.yaml"],
        "a: &a {n: 1}\nb: *a # b\n",
    ),
    "an item of an array of tables that moves": (
        "toml",
        "[[l]]\nn = 1 # one\n\n[[l]]\nn = 2\n",
        ["move", "l[0]", "t"],
        REFUSED,
    ),
    "a comment in a table that moves into an array above it": (
        "toml",
        "a = [1]\n\n[t]\n# why\nx = 1\n",
        ["move", "t", "a[0]"],
        REFUSED,
    ),
    "a comment behind text with a number sign": (
        "yaml",
        "a: x # why\n",
        ["set", "a=it is # so"],
        "a: 'it is # so' # why\n",
    ),
    "the last item of an array in a line": (
        "toml",
        "a = [1, 2] # c\n",
        ["delete", "a[1]"],
        "a = [1] # c\n",
    ),
    "a renamed key beside blanks": (
        "toml",
        "a   = { x = 1 }\n",
        ["rename", "a", "b"],
        "b   = { x = 1 }\n",
    ),
    "an inline table of flags": (
        "toml",
        "a = {x = true, y = 1}\n",
        ["delete", "a.y"],
        "a = {x = true}\n",
    ),
    "numbers of another file": (
        "json",
        '{"a": 1}',
        ["merge", "b.json"],
        '{"a": 1E2, "b": {"c": 1.10}}',
    ),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_nothing_is_lost_or_written_in_another_way(edit, name):
    """Each was: lost, written elsewhere or as another number, or done by half."""
    kind, text, command, expected = DEFECTS[name]
    Path("c.yaml").write_text("a: {n: 1}\n")
    Path("b.json").write_text('{"a": 1E2, "b": {"c": 1.10}}')
    found = edit(kind, text, *command)
    if expected is REFUSED:
        assert "cannot be kept: " in found
        assert Path(f"a.{kind}").read_text() == text
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("kind", "text"), [("json", '{"a": 5}'), ("toml", "a = 5\n"), ("yaml", "a: 5\n")]
)
def test_a_leading_zero_is_never_dropped(edit, kind, text):
    """Some read 0600 as octal, others as decimal."""
    found = edit(kind, text, "set", "a=0600")
    if kind == "yaml":
        assert found == "a: 0600\n"
    else:
        assert found.endswith("'0600' is not an int; the value at ['a'] is 5")


def test_differences_show_numbers_as_they_are_written(edit):
    """Equal numbers are no difference, however they are written."""
    Path("a.yaml").write_text("m: 0644\nx: 0x1F\nv: 1.10\n")
    Path("b.yaml").write_text("m: 0600\nx: 31\nv: 1.1\n")
    assert output_of("diff a.yaml b.yaml").startswith("~ ['m']: 0644 -> 0600\n")


def test_a_refusal_has_a_status_of_its_own_and_a_reason(edit):
    """Status 1, as for differences; nothing is written."""
    Path("a.yaml").write_text("a: 1\n---\nb: 2\n")
    assert main(["delete", "a.yaml", "[0]", "-i"]) == 1
    assert Path("a.yaml").read_text() == "a: 1\n---\nb: 2\n"


@pytest.mark.parametrize("error", [ValueError, TypeError, RecursionError, KeyError])
def test_a_bug_of_our_own_shows_as_itself(monkeypatch, error):
    """It is not told as a form that cannot be kept."""
    from leafwise.io.revision import of_json

    def broken(*_):
        raise error("a bug")

    monkeypatch.setattr(of_json, "remade", broken)
    with pytest.raises(error, match="a bug"):
        revise("[1]", load("[1]", "json"), [2])


def test_an_anchored_mapping_that_becomes_text():
    """Is refused if `<<` names it."""
    text = "a: &a {x: 1}\nb:\n  <<: *a\n  y: 2\n"
    new = {"a": "text", "b": {"x": 1, "y": 2}}
    with pytest.raises(RevisionError, match="what the merge key << names"):
        revise(text, load(text, "yaml"), new)


def test_merge_keys_that_multiply():
    """Each level has the same keys as the one below, not nine times as many."""
    text = "a0: &a0 {k: 1}\n"
    for n in range(1, 40):
        text += f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n"
    assert load(text, "yaml").tree["a39"] == {"k": 1}
    pairs = ", ".join(f"k{n}: 1" for n in range(1100))
    text = f"a: &a {{{pairs}}}\n" + "".join(f"b{n}: {{<<: *a}}\n" for n in range(1000))
    with pytest.raises(FormatError, match="merge keys bring more than 1000000 values"):
        load(text, "yaml")


# ------------------------------------------------------------------- the whole command


@pytest.mark.slow
@pytest.mark.needs("processes")
def test_a_kill_loses_nothing(tmp_path):
    """Whenever it comes: the file has the old content or the new."""
    file = tmp_path / "values.yaml"
    text = (HERE / "forms" / "values.yaml").read_text(encoding="utf-8")
    file.write_text(text, encoding="utf-8")
    code = (
        "import itertools, sys\nfrom leafwise.cli import main\n"
        "print('ready', flush=True)\n"
        "for n in itertools.count(3):\n"
        "    main(['set', sys.argv[1], f'replicaCount={n}', '-i'])\n"
    )
    seen, rng = set(), random.Random(0)
    for _ in range(60):
        command = [sys.executable, "-c", code, str(file)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert child.stdout.readline() == b"ready\n"
        time.sleep(0.1 + rng.random() * 0.2)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        written = file.read_text(encoding="utf-8")
        (number,) = re.findall(r"^replicaCount: (\d+)", written, re.MULTILINE)
        expected = text.replace("replicaCount: 2 ", f"replicaCount: {number} ")
        assert written == expected
        seen.add(number)
    assert len(seen) > 3


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completions(shell, capsys):
    """A script for the shell, which knows all commands and options."""
    pytest.importorskip("shtab")
    with pytest.raises(SystemExit) as done:
        main(["--print-completion", shell])
    script = capsys.readouterr().out
    assert done.value.code == 0
    for word in ("rename", "--in-place", "--conflict", "mermaid"):
        assert word in script


def test_completions_without_the_package(monkeypatch, capsys):
    """Which one to install is told."""
    monkeypatch.setitem(sys.modules, "shtab", None)
    with pytest.raises(SystemExit) as done:
        main(["--print-completion", "bash"])
    assert done.value.code == 2
    assert 'pip install "leafwise[shell]"' in capsys.readouterr().err


def test_options_may_stand_between_arguments(edit):
    """Behind the file, before the selectors."""
    Path("a.json").write_text('{"x": {"y": 1}, "z": 2}')
    assert output_of("show a.json --depth 1 x") == output_of("show a.json x --depth 1")
    assert output_of("delete a.json --to yaml z") == "x:\n  y: 1"

"""Edited YAML and TOML keep what surrounds the edit: comments, anchors, layout."""

import functools
import re
import sys
from pathlib import Path

import pytest

import leafwise as lw
from helpers.steps import count_steps
from leafwise.configs import Tagged
from leafwise.configs.formats import load
from leafwise.configs.revision import RevisionError, revise


pytest.importorskip("ruamel.yaml")
pytest.importorskip("tomlkit")


def edited(text, kind, change):
    """Return a text with a changed tree."""
    document = load(text, kind)
    return revise(text, document, change(document.tree))


def overridden(text, kind, *changes):
    """Return a text with overrides."""
    return edited(text, kind, lambda tree: lw.override(tree, changes))


def test_entries_whose_key_is_an_alias_stay():
    """They are entries like others."""
    text = "name: &web web\nports:\n  *web : 80\n  db: 5432\n"
    assert overridden(text, "yaml", "ports.db=1") == text.replace("5432", "1")
    assert overridden(text, "yaml", "ports.web=8080") == text.replace("80\n", "8080\n")


def test_own_keys_of_a_mapping_change_where_a_merge_key_brings_them_too():
    """They stand in another order in the text than in the tree."""
    text = "a: &a\n  k: 1\nm:\n  <<: *a\n  l: 2\n  k: *a  # own\n"
    assert list(load(text, "yaml").tree["m"]) == ["k", "l"]
    assert overridden(text, "yaml", "m.l=5") == text.replace("l: 2", "l: 5")
    with pytest.raises(RevisionError, match="is the alias"):
        overridden(text, "yaml", "++m.k=new")
    own = text.replace("*a  #", "3  #")
    assert overridden(own, "yaml", "m.k=5") == own.replace("k: 3", "k: 5")


def test_an_alias_on_the_line_of_its_deleted_anchor_is_named():
    """It does not go with what is deleted before it on that line."""
    text = "l: [[1, &a {b: 2}], *a]\n"
    with pytest.raises(
        RevisionError, match=r"l\[1\] uses the anchor &a of the deleted"
    ):
        overridden(text, "yaml", "~l[0][1]")
    assert overridden(text, "yaml", "~l[1]") == "l: [[1, &a {b: 2}]]\n"
    assert overridden(text, "yaml", "~l[0][1]", "~l[1]") == "l: [[1]]\n"


def test_values_are_added_below_a_last_comment_without_a_newline():
    """The comment does not swallow the first of them."""
    document = load("# about", "yaml")
    assert revise("# about", document, {"a": 1}) == "# about\na: 1\n"


def test_lines_inside_of_values_are_not_taken_for_headers():
    """Of arrays, of strings over several lines, and where line ends are mixed."""
    text = (
        'a = [\n  [1],\n[2]\n]\nb = """\n[c]\n# no comment"""\n[d]\n'
        "e = '''\n[f]\n'''\n\r\nf = '[g]' # [h]\n\"q.r\" = 1\n[[i]]\nj.k = {l = 1}\n"
    )
    assert overridden(text, "toml", "d.f=x") == text.replace("'[g]'", "'x'")
    assert overridden(text, "toml", "i[0].j.k.l=2") == text.replace("l = 1", "l = 2")


def test_comments_stay_with_their_items():
    """Where one item of a list goes and another changes."""
    text = "- {n: a, x: 1}  # one\n- {n: b, x: 2}  # two\n- {n: c}  # three\n"
    new = [{"n": "b", "x": 5}, {"n": "c"}]
    expected = "- {n: b, x: 5}  # two\n- {n: c}  # three\n"
    assert edited(text, "yaml", lambda _: new) == expected
    toml = "a = [\n  {n = 1, x = 1}, # one\n  {n = 2, x = 2}, # two\n]\n"
    expected = "a = [\n  {n = 2, x = 5}, # two\n]\n"
    assert edited(toml, "toml", lambda _: {"a": [{"n": 2, "x": 5}]}) == expected


def test_the_comment_of_a_deleted_first_key_goes_with_it():
    """What is about the file stays."""
    assert overridden("# on a\na: 1\n# on b\nb: 2\n", "yaml", "~a") == "# on b\nb: 2\n"
    head = "# about the file\n\n"
    assert overridden(f"{head}# on a\na: 1\nb: 2\n", "yaml", "~a") == f"{head}b: 2\n"
    schema = "# yaml-language-server: $schema=x.json\n"
    assert overridden(f"{schema}a: 1\nb: 2\n", "yaml", "~a") == f"{schema}b: 2\n"
    assert overridden("# on a\na = 1\nb = 2\n", "toml", "~a") == "b = 2\n"


@pytest.mark.parametrize(
    ("text", "change", "expected"),
    [
        pytest.param(
            "[a]\nx = 1\n\n# on b\n[b]\ny = 2\n", "+a.s={p: 1}",
            "[a]\nx = 1\n\n[a.s]\np = 1\n\n# on b\n[b]\ny = 2\n",
            id="a new sub-table stands above the comment of the next table",
        ),
        pytest.param(
            "# licence\n\n[a]\nx = 1\n", "+q=1",
            "# licence\n\nq = 1\n\n[a]\nx = 1\n",
            id="a new key stands below the header of the file",
        ),
        pytest.param(
            "[b]\nnet.a = 1\nz = 2\n", "~b.net.a",
            "[b]\nnet = {}\nz = 2\n", id="the only dotted key of a table",
        ),
        pytest.param(
            "net.a = 1\nnet.b = 2  # two\n", "~net.a",
            "net.b = 2  # two\n", id="a dotted key",
        ),
        pytest.param(
            "x = 1\n\n[[l]]\nn = 1\n\n[z]\n", "~l[0]",
            "x = 1\nl = []\n\n[z]\n", id="the last item of an array of tables",
        ),
        pytest.param(
            "[[fruit]]\nname = 'a'\n[potato]\nx = 1\n[fruit.apple.texture]\ns = 1\n",
            "**.s=2",
            "[[fruit]]\nname = 'a'\n[potato]\nx = 1\n[fruit.apple.texture]\ns = 2\n",
            id="tables out of order",
        ),
        pytest.param(
            "a = 1\n\nb = 2\n\n[t]\n", "~b", "a = 1\n\n[t]\n",
            id="the blank line of a deleted key goes",
        ),
        pytest.param(
            "# licence\n\n[a]\nx = 1\n", "~a", "# licence\n",
            id="nothing is left behind the last table",
        ),
        pytest.param(
            "x = 1\n\n[a]\ny = 1\n[a.b]\nz = 1\n\n[c]\n", "++a=7",
            "x = 1\na = 7\n\n[c]\n", id="a value in place of a table",
        ),
        pytest.param(
            "net.a = 1\n\n[[l]]\nn = 1\n", ["++net=[1]", "++l=[2]"],
            "net = [1]\nl = [2]\n", id="lists in place of tables",
        ),
        pytest.param(
            "[s.t]\ng = 1\n", ["+new=1", "+s.k=1"],
            "new = 1\n\n[s]\nk = 1\n\n[s.t]\ng = 1\n",
            id="the first keys of two tables",
        ),
        pytest.param(
            "x = 1\n[s.t]\ng = 1\n", ["+s.k=1", "+new=1"],
            "x = 1\nnew = 1\n[s]\nk = 1\n\n[s.t]\ng = 1\n",
            id="a key above the first key of a table",
        ),
        pytest.param(
            "[a]\nx = 1\n[b]\n", ["+a.s={p: 1}", "+a.k=1"],
            "[a]\nx = 1\nk = 1\n\n[a.s]\np = 1\n[b]\n",
            id="a key and a sub-table of one table",
        ),
        pytest.param(
            "[c.d]\nz = 1\n", "+c.w=1", "[c]\nw = 1\n\n[c.d]\nz = 1\n",
            id="a table that only its sub-tables name",
        ),
    ],
)  # fmt: skip
def test_edits_of_toml(text, change, expected):
    """Tables, dotted keys, arrays of tables."""
    changes = [change] if isinstance(change, str) else change
    assert overridden(text, "toml", *changes) == expected


def test_a_renamed_table_stays_where_it_is():
    """With its sub-tables and comments."""
    text = "[a]\nx = 1 # c\n\n# on b\n[b]\ny = 2\n[b.s]\nz = 1\n[c]\n"
    expected = text.replace("[b", '["d.e"', 1).replace("[b.", '["d.e".')
    renamed = edited(
        text, "toml", lambda tree: lw.selection.tree_rename(tree, "b", "d.e")
    )
    assert renamed == expected


def test_wide_tables_are_edited_in_linear_time():
    """Four times as many keys take about four times as many steps."""
    steps = []
    for count in (1000, 4000):
        text = "[t]\n" + "".join(f"k{n} = {n}\n" for n in range(count))
        document = load(text, "toml")
        table = {f"k{n}": n + 1 for n in range(0, count, 2)}
        new = {"t": table | {f"new{n}": n for n in range(count)}}
        steps.append(count_steps(functools.partial(revise, text, document, new)))
    assert steps[1] < 8 * steps[0]


@pytest.mark.parametrize(
    ("text", "change", "reason"),
    [
        ("a: &x {b: 1}\nc: [1, *x]\n", "~a",
         "c[1] uses the anchor &x of the deleted part"),
        ("a: &x {b: 1}\nc: {e: *x}\n", "a.b=2",
         "c.e uses the anchor &x of a and would change with it"),
        ("a: &x {b: 1}\nc: *x\n", "c.b=2", "c is the alias *x, which cannot change al"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n  d: 1\n", "c.b=2", "c.b comes from &x by <<"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n  d: 1\n", "~c.b", "c.b comes from &x by <<"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n  b: 5\n", "~c.b", "c.b comes from &x by <<"),
        ("a:\n  [1,\n   2]\n", "a=[1]",
         "the brackets of a go over several lines (line 2)"),
        ("a: {x: 1,\n  y: 2}\n", "~a.x",
         "the brackets of a go over several lines (line 1)"),
        ("a:\n  ? b\n  : 1\n", "a.b=2", "a is written in a form that cannot be edit"),
        ("a: &x {b: 1}\nc: {<<: *x, d: 1}\n", "c.d=2",
         "c is written in a form that cannot be edited (line 2)"),
    ],
)  # fmt: skip
def test_what_is_refused_in_yaml(text, change, reason):
    """The reason is in the words of the file."""
    with pytest.raises(RevisionError, match=f"^{re.escape(reason)}"):
        overridden(text, "yaml", change)


def test_what_shares_an_anchor_changes_together():
    """The alias stays, and so does `<<`."""
    text = "a: &x {b: 1}\nc:\n  <<: *x\n  d: 1\ne: *x\n"
    assert overridden(text, "yaml", "**.b=2") == text.replace("b: 1", "b: 2")


def test_tags_that_only_their_program_knows():
    """They stay, change and are written anew."""
    text = "a: !Ref X  # x\nb: !If [c, !Ref Y, 1]\nc: !!python/name:m.f\nd: 1\n"
    tree = load(text, "yaml").tree
    assert tree["b"] == Tagged("!If", ["c", Tagged("!Ref", "Y"), 1])
    assert tree["c"] == Tagged("!!python/name:m.f", "")
    assert overridden(text, "yaml", "d=2") == text.replace("d: 1", "d: 2")
    new = tree | {"a": Tagged("!Ref", "Z"), "d": Tagged("!Sub", "${A}")}
    expected = text.replace("X", "Z").replace("d: 1", "d: !Sub '${A}'")
    assert revise(text, load(text, "yaml"), new) == expected


# ------------------------------------------------------------------------------- write


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Go to an empty folder."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.yaml", "a: 1  # c\nb:\n- x\n", "a: 2  # c\nb:\n- x\n- y\n"),
        ("a.toml", "a = 1 # c\nb = ['x']\n", "a = 2 # c\nb = ['x', 'y']\n"),
        ("a.json", '{"a": 1, "b": ["x"]}', '{"a": 2, "b": ["x", "y"]}'),
        ("a.lock", "a = 1 # c\nb = ['x']\n", "a = 2 # c\nb = ['x', 'y']\n"),
    ],
)
def test_a_file_that_exists_is_edited(name, text, expected):
    """Tuples are lists; nothing else changes."""
    Path(name).write_text(text)
    lw.write(name, {"a": 2, "b": ("x", "y")})
    assert Path(name).read_text() == expected
    lw.write(name, {"a": 2, "b": ["x", "y"]})
    assert Path(name).read_text() == expected


def test_numbers_keep_their_notation():
    """Those that `read` gave, and that were not changed."""
    text = "mode: 0644\nsteps: 1_000\nlr: 3e-4\nn: 1\n"
    Path("a.yaml").write_text(text)
    lw.write("a.yaml", lw.read("a.yaml") | {"n": 2})
    assert Path("a.yaml").read_text() == text.replace("n: 1", "n: 2")


def test_a_file_is_written_anew():
    """If there is none, or if nothing of it is to be kept."""
    for name in ("a.yaml", "a.toml", "a.json"):
        lw.write(name, {"a": [1, {"b": "x"}]})
        assert lw.read(name) == {"a": [1, {"b": "x"}]}
    Path("a.yaml").write_text("# top\na: &x 1\nb: *x\n")
    with pytest.raises(lw.errors.FileError, match="not written: b uses the anchor &x"):
        lw.write("a.yaml", {"a": 2, "b": 1})
    assert Path("a.yaml").read_text() == "# top\na: &x 1\nb: *x\n"
    lw.write("a.yaml", {"a": 2, "b": 1}, keep=False)
    assert Path("a.yaml").read_text() == "a: 2\nb: 1\n"


@pytest.mark.parametrize(
    ("text", "change", "expected"),
    [
        ("tls: {enabled: yes}\n", "tls.enabled=no", "tls: {enabled: no}\n"),
        ("a: On  # c\n", "a=off", "a: off  # c\n"),
        ("a:\n- no\n- x\n", "a[0]=YES", "a:\n- YES\n- x\n"),
        ("a: &x yes\n", "a=no", "a: &x no\n"),
        # what was no boolean for YAML 1.1 does not become one
        ("a: 'yes'\n", "a=no", "a: 'no'\n"),
        ('a: "yes"\n', "a=no", 'a: "no"\n'),
        ("a: x\n", "a=no", "a: 'no'\n"),
        ("a: yEs\n", "a=no", "a: 'no'\n"),
        ("a: y\n", "a=no", "a: 'no'\n"),  # a text for PyYAML
        ("a: !!str yes\n", "a=no", "a: 'no'\n"),
        ("a: yes\n", "a=x", "a: x\n"),
        ("a: yes\n", "a='1:30'", "a: '1:30'\n"),
    ],
)
def test_booleans_of_yaml_1_1_stay_booleans(text, change, expected):
    """For us they are texts, but in quotes they would be texts for others, too."""
    assert overridden(text, "yaml", change) == expected


@pytest.mark.parametrize("path", ["a.yaml", b"a.yaml", Path("a.yaml")])
def test_swapped_arguments_are_named(path):
    """As those of save are."""
    with pytest.raises(TypeError, match=r"are swapped: leafwise.write\(path, tree\)"):
        lw.write({"a": 1}, path)
    assert not Path("a.yaml").exists()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "a: [1"),
        ("a.toml", "a = "),
        ("a.json", "{"),
        ("b.yaml", "a: !!int ''"),
        ("c.yaml", "[" * 1000),
    ],
)
def test_errors_of_files_have_no_frames_of_parsers(name, text):
    """What the parser said is in the message."""
    Path(name).write_text(text)
    for act in (lambda: lw.read(name), lambda: lw.write(name, {"a": 2})):
        with pytest.raises(lw.errors.FileError, match=f"^{name}: ") as caught:
            act()
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
    with pytest.raises(lw.errors.FileError) as caught:
        lw.write(name, {"a": object()}, keep=False)
    assert caught.value.__cause__ is None


def test_a_package_that_cannot_be_imported_is_the_cause(monkeypatch):
    """Its message says why; ours only that it is missing."""
    monkeypatch.setitem(sys.modules, "tomlkit", None)
    with pytest.raises(lw.errors.FileError, match="not installed") as caught:
        lw.write("a.toml", {"a": 1})
    assert isinstance(caught.value.__cause__, ImportError)


def test_what_cannot_be_written():
    """The error names the file, and it stays."""
    Path("a.json").write_text('{"a": 1}')
    for name, tree, reason in (
        ("a.json", {"a": {1, 2}}, "a.json: cannot be written as JSON: the value at"),
        ("a.toml", {"a": None}, "a.toml: cannot be written as TOML: the value at"),
        ("a.txt", {}, "a.txt: unknown format, expected json, toml or yaml"),
        ("a.npz", {}, "a.npz: unknown format, expected json, toml or yaml; leafwise."),
    ):
        with pytest.raises(lw.errors.FileError, match=f"^{re.escape(reason)}"):
            lw.write(name, tree)
    assert [path.name for path in Path().iterdir()] == ["a.json"]
    assert Path("a.json").read_text() == '{"a": 1}'
    with pytest.raises(lw.errors.FileError, match="write are for YAML"):
        lw.save("x.yaml", {})

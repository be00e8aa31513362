"""Edited texts keep their layout and comments: only the lines change that must."""

import random
import re
from datetime import UTC
from difflib import SequenceMatcher
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
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
    return list(map(sorted_, tree)) if isinstance(tree, list) else tree


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


class RandomEdit:
    """One random edit of a tree.

    Attributes:
        kind: `set`, `add`, `delete`, `move`, `rename`, `insert` or `drop`.
        new: The tree after the edit; the old one if a value does not fit its type.
        text: A description, for failures.
    """

    def __init__(self, rng, tree, is_shared):
        self.rng = rng
        self.tree = tree
        places = [(p, v) for p, v in nodes(tree) if p and not is_shared(p)]
        self.paths = [path for path, _ in places]
        self.dicts = [(p, v) for p, v in places if isinstance(v, dict)]
        self.lists = [(p, v) for p, v in places if isinstance(v, list)]
        self.leaves = [p for p, v in places if not isinstance(v, dict | list)]
        self.nones = lw.namespace("nones", none_is_leaf=True)
        kinds = ["set", "add", "delete", "move", "rename", "insert", "drop"]
        self.kind = rng.choice(kinds)
        self.text = ""
        self.new = getattr(self, f"_{self.kind}")()

    def __repr__(self):
        return f"{self.kind} {self.text}"

    def _set(self):
        path = self.rng.choice(self.leaves)
        value = self.rng.choice(["true", "17", "1e3", "other", "it is: 'so' # really"])
        self.text = f"{text_of(path)}={value}"
        try:
            return lw.override(self.tree, [self.text])
        except lw.LeafwiseError:  # not of the type of the old value
            return self.tree

    def _add(self):
        path, node = self.rng.choice(self.dicts)
        return self._with_new_item((*path, "new-key"), node)

    def _insert(self):
        path, node = self.rng.choice(self.lists)
        return self._with_new_item((*path, self.rng.randint(0, len(node))), node)

    def _with_new_item(self, path, node):
        values = ["5", '"x: y"', '{"a": 1, "b": {"c": [1, "z"]}}', "[1, 2]", '{"q": 1}']
        if node and isinstance(node, list) and isinstance(node[0], dict):
            values = values[-1:]  # an array of tables of TOML has no other items
        self.text = f"+{text_of(path)}={self.rng.choice(values)}"
        return lw.override(self.tree, [self.text])

    def _delete(self):
        return self._without(self.paths)

    def _drop(self):
        return self._without([path for path in self.paths if isinstance(path[-1], int)])

    def _without(self, paths):
        self.text = text_of(self.rng.choice(paths))
        return self.nones.at(self.tree)[self.text].delete()

    def _rename(self):
        self.text = text_of(self._named_path())
        return self.nones.tree_rename(self.tree, self.text, "renamed")

    def _move(self):
        path = self._named_path()
        self.text = text_of(path)
        parents = [p for p, _ in self.dicts if p[: len(path)] != path]
        target = text_of((*self.rng.choice(parents), "moved"))
        return self.nones.tree_move(self.tree, self.text, target)

    def _named_path(self):
        return self.rng.choice([p for p in self.paths if isinstance(p[-1], str)])


def unneeded_changes(old, new, kind, tree, is_delete):
    """Return the changed lines without whose change the text reads the same.

    Comments and blank lines go with what they belong to.
    """
    old_lines = old.splitlines(True)
    new_lines = new.splitlines(True)
    unneeded = []
    matcher = SequenceMatcher(None, old_lines, new_lines, autojunk=False)
    for what, start, end, at, stop in matcher.get_opcodes():
        if what == "equal":
            continue
        undone = [*new_lines[:at], *old_lines[start:end], *new_lines[stop:]]
        if read_as("".join(undone), kind, tree):
            unneeded.append("".join(old_lines[start:end] + new_lines[at:stop]))
        if what != "delete" or not is_delete:
            continue
        for line in old_lines[start:end]:
            if line.strip() and not line.lstrip().startswith("#"):
                restored = [*new_lines[:at], line, *new_lines[at:]]
                if read_as("".join(restored), kind, tree):
                    unneeded.append(line)
    return unneeded


def comments(text):
    """Return what stands behind number signs."""
    return sorted(re.findall(r"(?:^|\s)(#.*)", text))


LOST = "the comment .* would be lost"
LINES = "the brackets of .* go over several lines"
SHARED = f"comes from .* by <<|is the alias|uses the anchor|{LINES}"
EDIT_KINDS = ("set", "delete", "drop", "move", "rename")
REFUSED = {
    "yaml": {
        **dict.fromkeys(EDIT_KINDS, SHARED),
        "move": f"{LOST}|{SHARED}",
        "add": LINES,
        "insert": LINES,
    },
    "toml": {"move": LOST},
    "json": {},
}
"""The edits that may be refused, and the reasons."""


def check_edits(name, seeds):
    """Make random edits; check the tree that is read, and each changed line."""
    kind = kind_of(name)
    text = (HERE / "forms" / name).read_text(encoding="utf-8")
    document = load(text, kind)
    is_compose = name == "compose.yaml"  # see the tests of aliases

    def is_shared(path):
        if not is_compose or path[0] != "services":
            return is_compose and path[0].startswith("x-")
        shared = {"logging", "restart", "cache"}
        return path[-1] == "environment" or not shared.isdisjoint(path)

    changed = 0
    for seed in seeds:
        edit = RandomEdit(random.Random(seed), document.tree, is_shared)
        try:
            new_text = revise(text, document, edit.new)
        except RevisionError as error:
            reason = str(error)
            if re.search(REFUSED[kind].get(edit.kind, "nothing"), reason):
                continue
            raise
        assert read_as(new_text, kind, edit.new), edit
        is_delete = edit.kind in ("delete", "drop")
        assert unneeded_changes(text, new_text, kind, edit.new, is_delete) == [], edit
        if edit.kind in ("move", "rename", "add", "insert"):
            assert comments(new_text) == comments(text), edit
        elif edit.kind == "set":
            assert [c for c in comments(text) if c not in new_text] == [], edit
        changed += new_text != text
    assert changed > len(seeds) * 0.8


@pytest.mark.parametrize("name", FORMS)
def test_a_few_edits_change_the_lines_that_they_must(name):
    """Values, keys, items: set, added, deleted, moved, renamed."""
    check_edits(name, range(4))


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_many_edits_change_the_lines_that_they_must(name):
    """Two hundred in each file."""
    check_edits(name, range(100, 300))


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


@pytest.mark.parametrize(
    ("text", "new", "expected"),
    [
        ("a: 1  # note\nb: 2\n", {"a": {"c": 3}, "b": 2},
         "a:  # note\n  c: 3\nb: 2\n"),
        ("a: 1  # note", {"a": [3]}, "a:  # note\n- 3"),
        ("- a: 1\n  b: 2\n- c: 1\n", [{"b": 2}, {"c": 1}], "- b: 2\n- c: 1\n"),
        ("- a: 1\n  b: 2\n", [{"z": 0, "a": 1, "b": 2}],
         "- z: 0\n  a: 1\n  b: 2\n"),
        ("- - 1\n  - 2\n", [[2]], "- - 2\n"),
        ("- - 1\n  - 2\n", [[0, 1, 2]], "- - 0\n  - 1\n  - 2\n"),
    ],
)  # fmt: skip
def test_lines_of_yaml_keep_their_ends_and_beginnings(text, new, expected):
    """The comment where a value becomes a block; what stands behind a dash."""
    assert revise(text, load(text, "yaml"), new) == expected


@pytest.mark.parametrize(
    ("text", "new", "expected"),
    [
        ("a = 1\nb = 2\n\nc = 3\n", {"a": 1, "c": 3}, "a = 1\n\nc = 3\n"),
        ("a = 1\n\nb = 2\n\nc = 3\n", {"a": 1, "c": 3}, "a = 1\n\nc = 3\n"),
        ("[b]\nx = 1\ny = 2\n\n[c]\nz = 1\n", {"b": {"x": 1}, "c": {"z": 1}},
         "[b]\nx = 1\n\n[c]\nz = 1\n"),
    ],
)  # fmt: skip
def test_blank_lines_of_toml_stay_where_they_divide(text, new, expected):
    """One that stood between two groups of lines still does."""
    assert revise(text, load(text, "toml"), new) == expected


@pytest.mark.parametrize("error", [ValueError, TypeError, KeyError])
def test_a_bug_of_our_own_shows_as_itself(monkeypatch, error):
    """It is not reported as a layout that cannot be kept."""
    from leafwise.configs.revision import changes

    def broken(*_):
        raise error("a bug")

    monkeypatch.setattr(changes, "aligned", broken)
    with pytest.raises(error, match="a bug"):
        revise("[1]", load("[1]", "json"), [2])

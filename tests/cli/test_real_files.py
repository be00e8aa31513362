"""Files as projects have them: exactly the edit, nothing else, or a refusal.

`PYTHONPATH=tests python tests/cli/test_real_files.py` prints how many edits of each
file are made, and why the others are refused.
"""

import re
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path

import pytest

import leafwise as lw
from leafwise.cli import main
from leafwise.configs.formats import load


pytest.importorskip("ruamel.yaml")
pytest.importorskip("tomlkit")

FILES = sorted((Path(__file__).parent / "real").iterdir())
KINDS = ("set", "add", "delete", "rename")
KNOWN = ("comes from", "is the alias", "uses the anchor", "not a Tagged")
KIND_OF = {".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".json": "json"}
COMMENT = re.compile(r"(?:^|\s)(#(?! not a comment)[^\n]*)")


def places(tree, path=()):
    """Yield all values below the root with their paths."""
    if isinstance(tree, dict | list):
        pairs = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for key, value in pairs:
            yield (*path, key), value
            yield from places(value, (*path, key))


def spread(items, count=5):
    """Return some items, from the first to the last."""
    return [items[n * (len(items) - 1) // (count - 1)] for n in range(count)]


def selector(path):
    """Return a path as a selector."""
    return "".join(f"[{key!r}]" for key in path)


def edits(tree, kind):
    """Yield commands of a kind, as words behind FILE, and the trees that they give."""
    all_places = list(places(tree))
    nones = lw.namespace("nones", none_is_leaf=True)
    if kind == "set":
        leaves = [(p, v) for p, v in all_places if not isinstance(v, dict | list)]
        for path, old in spread(leaves):
            text = {bool: "true", int: "17", float: "0.25"}.get(type(old), "other-1")
            change = f"++{selector(path)}={text}"
            yield [change], lw.override(tree, change)
    elif kind == "add":
        for path in spread([p for p, v in all_places if isinstance(v, dict)]):
            value = '{"a": 1, "b": ["x"]}' if len(path) % 2 else "text"
            change = f"++{selector((*path, 'new-key'))}={value}"
            yield [change], lw.override(tree, change)
    elif kind == "delete":
        for path in spread([p for p, _ in all_places]):
            yield [selector(path)], nones.at(tree)[selector(path)].delete()
    else:
        for path in spread([p for p, _ in all_places if isinstance(p[-1], str)]):
            new = nones.tree_rename(tree, selector(path), "renamed")
            yield [selector(path), "renamed"], new


def exact(tree):
    """Return what tells values apart, types and all; the order does not count."""
    if isinstance(tree, dict):
        return sorted((key, exact(value)) for key, value in tree.items())
    return [exact(item) for item in tree] if isinstance(tree, list) else repr(tree)


def check_lines(kind, old, new):
    """Check that only the lines of the edit are others."""
    old_lines = old.splitlines()
    new_lines = new.splitlines()
    changes = [
        change
        for change in SequenceMatcher(None, old_lines, new_lines, False).get_opcodes()
        if change[0] != "equal"
    ]
    lost = Counter(COMMENT.findall(old)) - Counter(COMMENT.findall(new))
    assert kind == "delete" or not lost
    if kind == "set" and len(old_lines) == len(new_lines):
        assert [end - start for _, start, end, _, _ in changes] in ([], [1])
    # a header of TOML has the name of its table again
    assert kind == "rename" or len(changes) <= 1 + (kind == "add")
    for word, start, end, at, stop in changes:
        assert (
            kind != "add"
            or word == "insert"
            or end - start == stop - at <= 2
            or (old.lstrip()[0] == "{")
        )


def outcomes(file, kind, folder):
    """Yield for each edit "" or the reason of its refusal; check what is written."""
    text = file.read_text(encoding="utf-8")
    form = KIND_OF[file.suffix]
    tree = load(text, form).tree
    for words, new in edits(tree, kind):
        by_command = folder / file.name
        by_function = folder / f"again-{file.name}"
        by_command.write_text(text, encoding="utf-8")
        by_function.write_text(text, encoding="utf-8")
        command = "set" if kind == "add" else kind
        status = main([command, str(by_command), *words, "-i"])
        written = by_command.read_text(encoding="utf-8")
        reason = ""
        try:
            lw.write(by_function, new)
        except lw.errors.FileError as error:
            reason = str(error).partition("not written: ")[2].partition("; keep")[0]
        assert by_function.read_text(encoding="utf-8") == written, words
        if reason:
            assert status == 1, words
            assert written == text, words
        else:
            assert status == 0, words
            assert exact(load(written, form).tree) == exact(new), words
            check_lines(kind, text, written)
        yield reason


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_edits_are_exact_or_refused(file, kind, tmp_path):
    """By the command and by the function alike."""
    for reason in outcomes(file, kind, tmp_path):
        assert not reason or any(words in reason for words in KNOWN), reason


if __name__ == "__main__":
    import contextlib
    import io
    import tempfile

    for file in FILES:
        row = [file.name]
        reasons = []
        for kind in KINDS:
            with (
                tempfile.TemporaryDirectory() as folder,
                contextlib.redirect_stderr(io.StringIO()),
            ):
                counts = list(outcomes(file, kind, Path(folder)))
            row.append(f"{counts.count('')} of {len(counts)}")
            reasons += [f"{kind}: {reason}" for reason in counts if reason]
        print(" | ".join([*row, "; ".join(reasons)]))

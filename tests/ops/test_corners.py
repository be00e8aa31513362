"""Corners of the operations and the command that were found by looking for trouble."""

import subprocess
import sys

import pytest

import leafwise as lw


@pytest.mark.parametrize("wrong", [list[int], (object, 3), (type(None), 3)])
def test_what_is_no_type_is_refused_before_the_walk(wrong):
    """Generic aliases and tuples with other things select nothing."""
    with pytest.raises(TypeError, match="is_leaf must be"):
        lw.tree_leaves([[1]], wrong)
    with pytest.raises(TypeError, match="tree_map_only selects by"):
        lw.tree_map_only(wrong, str, [1])


def shell(path, redirect, **environment):
    """Run the command with its output redirected."""
    command = f"{sys.executable} -m leafwise '{path}' {redirect}"
    return subprocess.run(
        command,
        shell=True,
        capture_output=True,
        encoding="utf-8",
        env=environment or None,
    )


@pytest.mark.needs("processes")
def test_a_pipe_in_a_locale_without_the_characters(tmp_path):
    """Pipes are UTF-8; escapes are for terminals, see tests/cli/test_encodings.py."""
    path = tmp_path / "b.json"
    path.write_text('"größe"', encoding="utf-8")
    done = shell(path, "", PYTHONIOENCODING="ascii", PATH="")
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == '"größe"'


@pytest.mark.needs("processes")
@pytest.mark.parametrize(
    ("redirect", "reason"),
    [
        (">&-", "there is no standard output to write to"),
        ("> /dev/full", "cannot write: No space left on device"),
    ],
)
def test_output_that_goes_nowhere(tmp_path, redirect, reason):
    """One line on stderr, exit status 2."""
    path = tmp_path / "b.json"
    path.write_text("[1]")
    done = shell(path, redirect)
    assert done.returncode == 2
    assert done.stderr == f"python -m leafwise: {reason}\n"


@pytest.mark.needs("processes")
def test_a_name_with_a_line_end(tmp_path):
    """The message stays one line."""
    done = shell(tmp_path / "a\nb.json", "")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1

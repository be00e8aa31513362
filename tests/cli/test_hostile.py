"""Configs that mean harm: an answer or one clear line, in bounded time and memory.

Depth, cycles and keys of any character in trees that are no files are tested with each
function; here they come through the command line.
"""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from helpers.command_line import output_of


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Go to an empty folder."""
    monkeypatch.chdir(tmp_path)


DEEP = 100_000
HOSTILE = {
    "lists.json": "[" * DEEP + "]" * DEEP,
    "dicts.json": '{"a":' * DEEP + "1" + "}" * DEEP,
    "lists.yaml": "[" * DEEP + "]" * DEEP,
    "dicts.yaml": "{a: " * 5000 + "1" + "}" * 5000,
    "block.yaml": "\n".join(" " * n + "a:" for n in range(700)),
    "lists.toml": "a = " + "[" * DEEP + "]" * DEEP,
    "tables.toml": "[" + ".".join(["a"] * 1000) + "]\nx = 1\n",
}
COMMANDS = ["show {}", "show {} --tree", "show {} --svg -", "paths {}",
            "flat {}", "get {} '**'", "set {} '**=1'",
            "diff {} {} --rtol 1", "merge {} {}"]  # fmt: skip


@pytest.mark.needs("stack")
@pytest.mark.parametrize("name", HOSTILE)
def test_depth(name):
    """Deeper than a reader can go is one line; what can be read is walked."""
    Path(name).write_text(HOSTILE[name])
    commands = COMMANDS if name == "tables.toml" else COMMANDS[::4]
    for command in commands:
        output = output_of(command.format(name, name))
        if name != "tables.toml":
            assert output == (
                f"leafwise: {name}: nested too deeply for its reader\n[exit status 2]"
            )
        elif command.startswith("set") and "[exit status 2]" in output:
            assert output.endswith("nested too deeply for its writer\n[exit status 2]")
        else:
            assert "[exit status 2]" not in output


def test_anchors_that_multiply():
    """A billion values in ten lines are refused before anybody walks them."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for n in range(1, 10):
        items = ", ".join([f"*a{n - 1}"] * 10)
        lines.append(f"a{n}: &a{n} [{items}]")
    Path("laughs.yaml").write_text("\n".join(lines))
    for command in COMMANDS:
        assert output_of(command.format("laughs.yaml", "laughs.yaml")) == (
            "leafwise: laughs.yaml: its anchors expand to more than 20000000 values\n"
            "[exit status 2]"
        )


def test_names_that_flat_prints_are_selectors():
    """Names with special characters are quoted; an error shows how to write them."""
    text = '{"deps": {"@types/node": "1"}, "a@b": 1}'
    Path("package.json").write_text(text)
    lines = output_of("flat package.json").split("\n")
    names = [line.split(" = ")[0] for line in lines]
    assert names == ["deps['@types/node']", "['a@b']"]
    tree = json.loads(text)
    assert [lw.at(tree)[name].get() for name in names] == ["1", 1]
    changed = json.loads(output_of(f'set package.json "{names[0]}=2"'))
    assert changed["deps"] == {"@types/node": "2"}
    assert "write ['@types/node']" in output_of("get package.json deps.@types/node")


@given(
    st.dictionaries(st.text(max_size=6), st.text(max_size=6), min_size=1, max_size=4)
)
def test_keys_of_any_character(table):
    """Each leaf is one line, of what a terminal can show, and its path leads to it."""
    Path("any.json").write_text(json.dumps(table))
    lines = output_of("show any.json").split("\n")
    assert len(lines) == len(table)
    assert all(line.isprintable() for line in lines)
    for line in lines:
        path = line.split(" = ")[0]
        if " = " not in repr(table) and r"\x7f" not in line:
            assert lw.at(table)[path].get() == json.loads(line.split(" = ")[1])
    flat = output_of("flat any.json").split("\n")
    assert len(flat) == len(table)

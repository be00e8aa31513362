"""What a command loads: no more than it needs."""

import os
import subprocess
import sys

import pytest


pytestmark = pytest.mark.needs("processes")


def loaded_by(arguments):
    """Return the modules that a process has once a command has run in it."""
    code = (
        "import sys, leafwise\nbefore = {*sys.modules}\n"
        "from leafwise.cli import main\n"
        f"try: main({arguments})\n"
        "except SystemExit: pass\n"
        "print(*{*sys.modules} - before, sep='\\n')\n"
    )
    command = [sys.executable, "-c", code]
    plain = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE")}
    lines = subprocess.check_output(command, text=True, env=plain).splitlines()
    return {
        name for name in lines if name.isidentifier() or name.startswith("leafwise.")
    }


PARSER = {
    "leafwise.cli",
    "leafwise.cli.commands",
    "leafwise.configs",
    "leafwise.files",
    "leafwise.show.colors",
    "leafwise.selection",
    "leafwise.show",
}
"""What the arguments need; the packages have no more than tables of names."""

TEXT = {
    "leafwise.configs.documents",
    "leafwise.configs.formats",
    "leafwise.configs.read_write",
    "leafwise.core.serial",
    "json",
}
HEAVY = {
    "ast",
    "dataclasses",
    "datetime",
    "inspect",
    "pathlib",
    "tomllib",
    "ruamel",
    "tomlkit",
}
COLOURS = {"ast", "dataclasses", "inspect"}
WITH_ARGPARSE = COLOURS if sys.version_info >= (3, 14) else set()
"""What `argparse` loads by itself, to print in colour."""


@pytest.mark.parametrize(
    ("command", "needed"),
    [
        (["--help"], set()),
        (["show"], {*TEXT, "leafwise.selection.patterns"}),
        (["flat"], {*TEXT, "leafwise.selection.select"}),
        (
            ["show", "--tree"],
            {*TEXT, "leafwise.selection.edit", "leafwise.show.diagram"},
        ),
        (["show", "a"], {*TEXT, "leafwise.selection.edit"}),
        (["get", "a"], {*TEXT, "leafwise.selection.edit"}),
        (["diff", "FILE"], {*TEXT, "leafwise.selection.diff"}),
        (["merge", "FILE"], {*TEXT, "leafwise.selection.merge"}),
    ],
    ids=" ".join,
)
def test_what_a_command_loads(command, needed, tmp_path):
    """Selections where something is selected, formats where a file is read."""
    file = tmp_path / "a.json"
    file.write_text('{"a": 1}')
    name, *words = [str(file) if word == "FILE" else word for word in command]
    arguments = [name] if name.startswith("--") else [name, str(file), *words]
    loaded = loaded_by(arguments)
    assert loaded >= PARSER | needed
    assert not loaded & HEAVY - WITH_ARGPARSE
    if not any(module.startswith("leafwise.selection.") for module in needed):
        # the engine has met a tree
        waits = {"leafwise.integrations", "leafwise.integrations.bridge"}
        ours = {module for module in loaded if module.startswith("leafwise.")}
        assert ours - waits == PARSER | needed - {"json"}

"""Stand-ins in the places of modules, and programs that are run so."""

import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import leafwise as lw
from leafwise._hooks import hooks
from leafwise._lazy import is_standin, real
from leafwise.compat import modules


@pytest.fixture
def absent(monkeypatch):
    """Return a function after which a library seems not to be installed."""

    def hide(*roots):
        for name in list(sys.modules):
            if name.partition(".")[0] in roots:
                monkeypatch.delitem(sys.modules, name)
        find = importlib.util.find_spec
        monkeypatch.setattr(
            modules.importlib.util,
            "find_spec",
            lambda name, *more: None if name in roots else find(name, *more),
        )

    before = dict(sys.modules)
    yield hide
    for name in lw.compat.STANDINS:
        if is_standin(name):
            lw.compat.uninstall(name)
    for name in set(sys.modules) - set(before):
        if name.partition(".")[0] in ("jax", "optree", "a_tree_library"):
            del sys.modules[name]


def test_a_module_that_is_not_there_is_stood_in_for(absent):
    absent("jax")
    standin = lw.compat.install("jax.tree_util")
    import jax.tree_util as jtu

    assert jtu is standin is lw.compat.jax_tree_util
    from jax.tree_util import tree_map

    assert tree_map is standin.tree_map
    assert lw.compat.install("jax.tree_util") is standin
    assert lw.compat.install("jax.tree").map is tree_map
    import jax

    assert jax.tree.map is jax.tree_util.tree_map
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'jax\.numpy'"):
        importlib.import_module("jax.numpy")
    assert real("jax") is None
    assert real("jax.tree_util") is None


def test_what_was_installed_can_be_taken_out(absent):
    absent("jax")
    lw.compat.install("jax.tree_util")
    lw.compat.install("jax.tree")
    lw.compat.uninstall("jax.tree_util")
    assert "jax.tree_util" not in sys.modules
    assert not hasattr(sys.modules["jax"], "tree_util")
    lw.compat.uninstall("jax.tree")
    assert not {"jax", "jax.tree", "jax.tree_util"} & set(sys.modules)
    with pytest.raises(ValueError, match=r"for jax\.tree is not installed"):
        lw.compat.uninstall("jax.tree")


def test_a_library_that_is_there_is_left_alone(absent, monkeypatch):
    absent("jax")
    theirs = ModuleType("jax.tree_util")
    package = ModuleType("jax")
    package.tree_util = theirs
    monkeypatch.setitem(sys.modules, "jax", package)
    monkeypatch.setitem(sys.modules, "jax.tree_util", theirs)
    with pytest.raises(ImportError, match=r"jax\.tree_util is installed; with force"):
        lw.compat.install("jax.tree_util")
    assert sys.modules["jax.tree_util"] is theirs

    ours = lw.compat.install("jax.tree_util", force=True)
    assert sys.modules["jax.tree_util"] is package.tree_util is ours
    assert real("jax.tree_util") is theirs
    assert lw.compat.install("jax.tree_util") is ours
    lw.compat.uninstall("jax.tree_util")
    assert sys.modules["jax.tree_util"] is package.tree_util is theirs
    assert real("jax.tree_util") is theirs
    assert hooks.replaced_modules == {}


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"nothing stands in for 'numpy'; there are: "):
        lw.compat.install("numpy")
    with pytest.raises(ValueError, match="nothing stands in for 'numpy'"):
        lw.compat.uninstall("numpy")


# ---------------------------------------------------------------- running programs


def run(*arguments, folder=None):
    """Run the command; return what it printed, or its error."""
    source = Path(lw.__file__).parents[1]
    process = subprocess.run(
        [sys.executable, "-m", "leafwise.compat", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(source)},
        check=False,
    )
    return process.stdout if process.returncode == 0 else process.stderr


PROGRAM = """
import sys
import jax.tree_util as jtu
from jax import tree
import helper
print(__name__, sys.argv[1:], helper.double({"a": 1}), jtu.__name__, tree.leaves((1,)))
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    text = "from jax.tree_util import *\n"
    text += "def double(tree):\n    return tree_map(lambda x: 2 * x, tree)\n"
    (tmp_path / "helper.py").write_text(text)
    return tmp_path


def test_a_script_and_a_module_are_run(folder):
    """With their own arguments, and with the modules beside them."""
    names = "jax.tree,jax.tree_util"
    expected = "__main__ ['--force', '-m'] {'a': 2} leafwise.compat.jax_tree_util [1]\n"
    script = str(folder / "program.py")
    assert run("--force", names, script, "--force", "-m") == expected
    module = ("-m", "program", "--force", "-m")
    assert run("--force", names, *module, folder=folder) == expected


def test_what_cannot_be_run_is_refused():
    assert "give a script" in run("jax.tree")
    assert "or -m and a module" in run("jax.tree", "-m")
    assert "nothing stands in for 'numpy'" in run("numpy", "x.py")
    assert "the following arguments are required: names" in run()


def test_an_installed_library_is_replaced_by_the_option(folder):
    """The command speaks of its own option, not of an argument in Python."""
    (folder / "jax").mkdir()
    (folder / "jax" / "__init__.py").touch()
    error = run("jax.tree", "program.py", folder=folder)
    assert "jax.tree is installed; --force replaces it" in error
    assert "force=True" not in error


def test_stand_ins_import_no_library(tmp_path):
    """None of those that they stand in for, nor what needs them."""
    names = ", ".join(f"leafwise.compat.{home}" for home in lw.compat.STANDINS.values())
    (tmp_path / "program.py").write_text(
        f"import sys\nimport leafwise.compat, {names}\n"
        "roots = {name.partition('.')[0] for name in sys.modules}\n"
        "print({*roots} & {'jax', 'jaxlib', 'numpy', 'optree', 'torch', 'tree'})\n"
    )
    source = str(Path(lw.__file__).parents[1])
    output = subprocess.check_output(
        [sys.executable, str(tmp_path / "program.py")],
        text=True,
        env={**os.environ, "PYTHONPATH": source},
    )
    assert output == "set()\n"

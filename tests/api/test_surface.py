"""The public surface: what is exported, what is imported, what stays below what."""

import ast
import builtins
import inspect
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import leafwise as lw
from helpers.package_source import MODULES, SOURCE, TREES
from leafwise._names import SUBMODULE_NAMES


def test_all_names_are_listed():
    """`__all__` names exactly what the module re-exports."""
    assert len(set(lw.__all__)) == len(lw.__all__)
    public = {
        name
        for name in dir(lw)
        if not name.startswith("_") and not inspect.ismodule(getattr(lw, name))
    }
    helpers = {"annotations", "import_module", "later", "Final", "TYPE_CHECKING"}
    assert public - helpers == set(lw.__all__)


def test_a_star_import_hides_no_builtin():
    """Of the package; its rooms are imported by their names."""
    names = {}
    exec("from leafwise import *", names)
    assert not set(lw.__all__) - set(names)
    assert not set(lw.__all__) & set(vars(builtins))


ROOMS = [lw, lw.files, lw.nn, lw.selection, lw.testing]
LAZY = [
    *(room for room in ROOMS if room is not lw.nn),
    lw.integrations,
    lw.compat,
    lw.tree,
]


@pytest.mark.parametrize("module", LAZY, ids=lambda module: module.__name__)
def test_type_checkers_see_what_is_loaded_later(module):
    """The block for them has the names of the table, and each is what it imports."""
    tree = TREES[Path(module.__file__)]
    (block,) = (
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    checked_names = {
        alias.asname or alias.name: (
            "." * (node.level - 1) + (node.module or ""),
            alias.name,
        )
        for node in block.body
        for alias in node.names
    }
    rooms = {name for name, (home, _) in checked_names.items() if not home}
    assert set(checked_names) - rooms == set(module._HOMES)
    assert set(checked_names) | set(module.__all__) <= set(dir(module))
    for name, (home, original) in checked_names.items():
        value = getattr(module, name)
        if name not in rooms:
            package = module.__spec__.parent
            assert value is getattr(import_module(f".{home}", package), original)
        assert name in module.__all__ or name in rooms
    with pytest.raises(AttributeError, match="has no attribute 'nothing_of_the_kind'"):
        module.nothing_of_the_kind  # noqa: B018


def test_what_two_rooms_have_is_one_thing():
    """What trees in general and NNX's world share; and nothing hides a submodule."""
    for room in (lw.nn, lw.selection, lw.testing):
        for name in room.__all__:
            assert getattr(room, name) is getattr(lw, name, getattr(room, name))
            assert not (Path(room.__file__).parent / f"{name}.py").exists()
    shared = set(lw.__all__) & set(lw.nn.__all__)
    assert shared == {
        "Pytree",
        "data",
        "dataclass",
        "field",
        "static",
    }


@pytest.mark.needs("processes")
def test_what_is_not_asked_for_is_not_loaded():
    """Neither classes that are trees nor selections, nor what these need."""
    code = (
        "import sys, leafwise as lw; lw.tree_map(abs, [1]); before = {*sys.modules};"
        "lw.Pytree, lw.at, lw.nn.jit; print(*{*sys.modules} - before)"
    )
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    later = {"nn.pytree", "selection.edit", "nn.transforms", "fields"}
    assert {f"leafwise.{name}" for name in later} <= set(loaded)


@pytest.mark.needs("processes")
def test_importing_needs_nothing_but_the_standard_library():
    """`import leafwise` pulls in the standard library and typing_extensions at most."""
    code = (
        "import sys; before = set(sys.modules); import leafwise; "
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    foreign = set(loaded) - set(sys.stdlib_module_names)
    assert foreign <= {"leafwise", "typing_extensions"}
    assert "leafwise" in foreign


HEAVY = {
    "ast",
    "dataclasses",
    "difflib",
    "hashlib",
    "inspect",
    "json",
    "shutil",
    "tokenize",
    "tomllib",
    "typing_extensions",
    "leafwise.integrations.libraries",
    "leafwise.show.doc",
    "leafwise.nn",
    "leafwise.selection",
}
"""What is imported where it is needed first, since it brings much with it."""


@pytest.mark.needs("processes")
def test_an_import_brings_little_with_it():
    """What is not needed to flatten and map is loaded when it is."""
    code = (
        "import sys, typing\n"
        "class Kind(typing.NamedTuple):  # on 3.14 this loads ast\n"
        "    name: str\n"
        "before = {*sys.modules}\n"
        "import leafwise\n"
        "print(*{*sys.modules} - before)"
    )
    plain = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE")}
    loaded = subprocess.check_output(
        [sys.executable, "-c", code], text=True, env=plain
    ).split()
    assert not HEAVY & set(loaded)


def test_modules_have_docstrings():
    """They say what is inside."""
    missing = [str(path) for path in MODULES if not ast.get_docstring(TREES[path])]
    assert missing == []


def test_the_package_is_typed():
    """Type checkers are told to read the inline types."""
    assert (SOURCE / "py.typed").exists()


def test_the_version_is_that_of_the_distribution():
    """The version stands in one place twice, and agrees."""
    from importlib.metadata import version

    assert lw.__version__ == version("leafwise")


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("selector", "leafwise.selection.selector"),
        ("tree_max", "leafwise.tree.max"),
        ("lookup", "leafwise.registry.lookup"),
        ("Module", "leafwise.nn.Module"),
        ("to_html", "leafwise.show.to_html"),
        ("check_node", "leafwise.testing.check_node"),
        ("register_codec", "leafwise.files.register_codec"),
    ],
)
def test_a_name_of_a_submodule_is_found(name, there):
    """The error names the submodule that has it."""
    with pytest.raises(AttributeError, match=rf"; there is {re.escape(there)}$"):
        getattr(lw, name)
    with pytest.raises(AttributeError, match=r"no attribute 'nowhere'$"):
        lw.nowhere  # noqa: B018
    assert not hasattr(lw, "_override")


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("tree_flatten_with_accessor", "lw.tree_flatten_with_path"),
        ("PyTreeSpec", "lw.PyTreeDef"),
        ("tree_util", "lw.tree"),
    ],
)
def test_a_name_of_another_library_is_found(name, instead):
    """The error says what to write instead, as the page on migrating does."""
    with pytest.raises(AttributeError, match=rf"; use {re.escape(instead)}$"):
        getattr(lw, name)


@pytest.mark.parametrize("submodule", SUBMODULE_NAMES)
def test_the_table_of_names_is_that_of_the_submodule(submodule):
    """`leafwise._names` has the names of each `__all__`, so that errors import none."""
    names = import_module(f"leafwise.{submodule}").__all__
    listed = set(SUBMODULE_NAMES[submodule])
    assert set(names) - listed == set(), "add to SUBMODULE_NAMES of leafwise/_names.py"
    assert listed - set(names) == set(), "remove from SUBMODULE_NAMES"
    assert list(SUBMODULE_NAMES[submodule]) == sorted(names), "sort SUBMODULE_NAMES"


@pytest.mark.needs("processes")
def test_a_missing_name_imports_nothing():
    """And changes no attribute; modules of the package are there from the start."""
    code = (
        "import sys, leafwise as lw\n"
        "modules = {*sys.modules}\n"
        "names = {*vars(lw)}\n"
        "for name in ('nothing', 'tree_max', 'layout', 'PyTreeSpec', 'selector'):\n"
        "    assert not hasattr(lw, name)\n"
        "assert {*sys.modules} == modules\n"
        "assert {*vars(lw)} == names\n"
        "print(lw.dataclasses.dataclass is lw.dataclass, lw.fields.data is lw.data)\n"
    )
    output = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert output == "True True\n"


def test_dir_has_public_names_only():
    """And names with two underscores, which each module has."""
    names = {name for name in dir(lw) if not name.startswith("__")}
    rooms = {"compat", "errors", "integrations", "nn", "registry", "selection"}
    assert names == set(lw.__all__) | rooms | {
        "configs",
        "dataclasses",
        "fields",
        "files",
        "show",
        "testing",
        "tree",
        "typing",
    }

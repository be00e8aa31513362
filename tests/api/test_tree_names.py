"""The short names: `leafwise.tree`."""

import inspect

import pytest

import leafwise as lw


@pytest.mark.parametrize("name", lw.tree.__all__)
def test_a_short_name_is_the_long_one(name):
    """`tree.X` is the very function `tree_X`, if the package has that, too."""
    function = getattr(lw.tree, name)
    assert function is getattr(lw, f"tree_{name}", function)
    assert function.__name__ in (name, f"tree_{name}")


def test_the_list_of_short_names_is_whole():
    """`tree.__all__` names each function of the module once."""
    functions = {
        name
        for name in dir(lw.tree)
        if inspect.isfunction(getattr(lw.tree, name)) and not name.startswith("_")
    }
    assert functions == set(lw.tree.__all__)
    names = {name for name in lw.__all__ if name.startswith("tree_")}
    missing = {name.removeprefix("tree_") for name in names} - functions
    assert missing == set(), "add these short names to tree.py"

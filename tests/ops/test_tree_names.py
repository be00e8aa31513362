"""The short names: `leafwise.tree`."""

import inspect

import pytest

import leafwise as lw


@pytest.mark.parametrize("name", lw.tree.__all__)
def test_a_short_name_is_the_long_one(name):
    """`tree.X` is the very function `tree_X`."""
    assert getattr(lw.tree, name) is getattr(lw, f"tree_{name}")


def test_the_list_of_short_names_is_whole():
    """`tree.__all__` names each function of the module once."""
    functions = {
        name for name, value in vars(lw.tree).items() if inspect.isfunction(value)
    }
    assert functions == {*lw.tree.__all__}
    assert len(functions) == len(lw.tree.__all__)


def test_short_names_do_not_hide_builtins_elsewhere():
    """A star import is the only way to shadow `map` or `sum`."""
    assert lw.tree.map is not map
    assert not hasattr(lw, "map")
    assert lw.tree.sum([1, (2,)]) == sum([1, 2])
    assert lw.tree.map(len, ["ab", ("c",)]) == [2, (1,)]

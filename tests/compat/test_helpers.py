"""What the tests of all stand-ins use."""

import pytest

from compat.binding import unbound


def test_calls_that_are_not_taken_are_told():
    def theirs(f, tree, *rest, is_leaf=None):
        """Take what `map` takes."""

    def shorter(f, tree, is_leaf=None):
        """Take two trees at most."""

    def other(f, tree, *rest, is_leaf=False):
        """Have another default."""

    assert unbound(theirs, theirs) == []
    assert unbound(theirs, shorter) == ["(5 by place, )"]
    assert unbound(theirs, other) == ["is_leaf=None is False"]


@pytest.mark.parametrize("name", ["a", "both"])
def test_names_of_parameters_count(name):
    ours = eval(f"lambda {name}: 0")
    assert unbound(lambda a: 0, ours) == ([] if name == "a" else ["(0 by place, a)"])

"""What walks through graphs of objects report, and where."""

import re

import pytest

import leafwise as lw
from leafwise import nn


class Node(lw.Pytree):
    """Whatever attributes there are."""

    def __init__(self, **attributes):
        for name, value in attributes.items():
            setattr(self, name, value)


def test_check_pytree_reports_what_comes_first():
    """In the order of the tree, through containers, and once for what is shared."""
    inner = Node(names=[])
    root = Node(a=lw.data([{"x": inner}, inner]), b=Node(late=[]))
    root.a.append(root.a)
    nn.check_pytree(root)
    inner.names.append(nn.List([1]))
    root.b.late.append(nn.List([1]))
    nn.check_pytree(root, recursive=False)
    with pytest.raises(lw.errors.KindError) as caught:
        nn.check_pytree(root)
    assert caught.value.attribute == "names"
    assert caught.value.__notes__ == ["the object is at .a[0]['x']"]


class Odd(type(lw.Pytree)):
    """A metaclass that does not tell names."""

    @property
    def __name__(cls):
        raise ValueError("no name")


def nameless():
    """Return an object of a class whose name is found all the same."""

    class Nameless(lw.Pytree, metaclass=Odd):
        def __init__(self):
            self.size = 3

    return Nameless()


def test_classes_without_a_name_are_named():
    """In texts of objects, structures and errors."""
    one = nameless()
    assert repr(one) == "Nameless(size=3)"
    assert repr(nn.graphdef(nn.List([one]))) == "GraphDef(List([0]=Nameless[size=3]()))"
    assert "Nameless[size=3]" in repr(lw.tree_structure(one))
    assert lw.tree_summary(one).rows[0].type == "Nameless"
    for call, text in (
        (
            lambda: setattr(one, "size", nn.List()),
            "Nameless.size, which is static since",
        ),
        (lambda: nn.replace(one, sise=1), "Nameless has no attribute 'sise'"),
        (lambda: nn.update([one], {0: 1}), "expected the values of a Nameless"),
        (lambda: nn.merge(one), "merge takes a GraphDef first, got Nameless"),
    ):
        with pytest.raises(Exception, match=re.escape(text)):
            call()

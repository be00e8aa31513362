"""What walks through graphs of objects report, and where."""

import pytest

import leafwise as lw
from helpers.random_trees import Node
from leafwise import nn


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

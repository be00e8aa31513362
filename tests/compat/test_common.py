"""What stand-ins share, and that nothing of a program is kept once it is done."""

import gc
import weakref
from collections import UserList, namedtuple

import pytest

import leafwise as lw
import leafwise.compat.dm_tree as dm
import leafwise.compat.keras as keras
import leafwise.compat.torch_pytree as pytree
from leafwise.compat.common import kept_by_treedef
from leafwise.core.registry import forget


class Answer:
    """Something to hold weakly."""


def test_what_follows_from_a_treedef_goes_with_it():
    asked = []

    @kept_by_treedef
    def work_out(treedef):
        asked.append(treedef.num_leaves)
        return Answer()

    whole = lw.tree_structure([{"a": [1], "b": 2}])
    treedef, other = whole.child(0), whole.child(0)  # made for us, so nobody keeps them
    answer = weakref.ref(work_out(treedef))
    assert work_out(treedef) is answer()
    assert treedef == other
    assert work_out(other) is not answer()  # keys of equal ones may print differently
    del treedef
    gc.collect()
    assert answer() is None
    assert asked == [2, 2]


def list_class():
    class Row(list):
        pass

    return Row, Row([1, 2]), (dm.map_structure, dm.map_structure_with_path)


def tuple_class():
    Point = namedtuple("Point", "x y")
    return Point, Point(1, 2), (dm.map_structure, pytree.tree_map, keras.map_structure)


def registered_class():
    class Box:
        def __init__(self, x):
            self.x = x

    pytree.register_pytree_node(
        Box, lambda b: ([b.x], None), lambda kids, _: Box(*kids)
    )
    return Box, Box(1), (pytree.tree_map,)


@pytest.mark.needs("classes that go")
@pytest.mark.parametrize("make", [list_class, tuple_class, registered_class])
def test_classes_are_let_go(make):
    """After any number of calls and 64 other classes; `forget` stands for these."""
    cls, node, functions = make()
    for function in functions:
        for _ in range(60):
            function(lambda *values: values, [node, {"a": node}])
    if make is registered_class:
        pytree._deregister_pytree_node(cls)
    gone = weakref.ref(cls)
    del cls, node
    forget()
    for _ in range(3):
        gc.collect()
    assert gone() is None


def test_what_is_a_node_there_is_not_looked_into_elsewhere():
    """An object looks for arrays in what is a node in some namespace of the user's."""

    class Fields(tuple):
        __slots__ = ()
        _fields = ("x", "y")

    node = Fields((1, 2))
    assert dm.is_nested(node)

    class Model(lw.Pytree):
        def __init__(self):
            self.static = node  # dm-tree would read attributes that there are not
            self.more = UserList([1])

    model = Model()
    assert lw.tree_leaves(model) == []
    assert lw.tree_leaves([node, 1]) == [node, 1]

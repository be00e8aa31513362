"""What stand-ins share, and that nothing of a program is kept once it is done."""

import functools
import gc
import weakref
from collections import namedtuple

import pytest

import leafwise as lw
from leafwise.compat import optree
from leafwise.core.registry import forget


def tuple_class():
    Point = namedtuple("Point", "x y")
    return Point, Point(1, 2), (optree.tree_map,)


def registered_class():
    class Box:
        def __init__(self, x):
            self.x = x

    optree.register_pytree_node(
        Box, lambda b: ([b.x], None), lambda _, kids: Box(*kids), namespace="let-go"
    )
    return Box, Box(1), (functools.partial(optree.tree_map, namespace="let-go"),)


@pytest.mark.needs("collectable classes")
@pytest.mark.parametrize("make", [tuple_class, registered_class])
def test_classes_are_let_go(make):
    """After any number of calls and 64 other classes; `forget` stands for these."""
    forget()  # the collector never frees what the engine had before tests began
    cls, node, functions = make()
    for function in functions:
        for _ in range(60):
            function(lambda *values: values, [node, {"a": node}])
    if make is registered_class:
        optree.unregister_pytree_node(cls, namespace="let-go")
    gone = weakref.ref(cls)
    del cls, node
    forget()
    for _ in range(3):
        gc.collect()
    assert gone() is None


def test_a_namespace_of_leafwise_makes_none_a_leaf_in_optree():
    """Its stand-in has the same namespaces."""
    lw.namespace("nones", none_is_leaf=True)
    assert optree.tree_leaves([None, 1], namespace="nones") == [None, 1]
    spec = optree.tree_structure([None], namespace="nones")
    assert spec == optree.tree_structure([None], none_is_leaf=True)
    assert spec != optree.tree_structure([None])
    leaf = optree.treespec_leaf(namespace="nones")
    assert optree.treespec_list([leaf], namespace="nones") == spec

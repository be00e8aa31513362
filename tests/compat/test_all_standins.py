"""What stand-ins share, and that nothing of a program is kept once it is done."""

import functools
import gc
import subprocess
import sys
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
    reference = weakref.ref(cls)
    del cls, node
    forget()
    for _ in range(3):
        gc.collect()
    assert reference() is None


def test_a_namespace_of_leafwise_makes_none_a_leaf_in_optree():
    """Its stand-in has the same namespaces."""
    lw.namespace("nones", none_is_leaf=True)
    assert optree.tree_leaves([None, 1], namespace="nones") == [None, 1]
    spec = optree.tree_structure([None], namespace="nones")
    assert spec == optree.tree_structure([None], none_is_leaf=True)
    assert spec != optree.tree_structure([None])
    leaf = optree.treespec_leaf(namespace="nones")
    assert optree.treespec_list([leaf], namespace="nones") == spec


NEW_NODE = """
import types
import leafwise as lw
from leafwise.core import builtins, registry

class ProxyNodeType(builtins.NodeType):
    name = "mappingproxy"

    def flatten(self, node):
        return [*node.values()], tuple(node)

    def unflatten(self, aux, children):
        return types.MappingProxyType(dict(zip(aux, children)))

Proxy = types.MappingProxyType
builtins.BUILTINS[Proxy] = ProxyNodeType(Proxy)
registry.declare_namespace("new")
from leafwise.compat import jax_tree_util, optree
tree = [Proxy({"a": 1}), Proxy({"b": 2})]
print(lw.tree_leaves(tree, namespace="new"))
for module in (jax_tree_util, optree):
    print(module.tree_leaves(tree) == tree, module.tree_structure(tree))
print(optree.tree_leaves(tree, namespace="new") == tree)
"""


@pytest.mark.needs("processes")
def test_a_node_type_that_a_library_lacks_is_a_leaf_in_its_stand_in():
    """By itself: a stand-in says which built-in nodes its library has."""
    output = subprocess.check_output([sys.executable, "-c", NEW_NODE], text=True)
    assert output.splitlines() == [
        "[1, 2]",
        "True PyTreeDef([*, *])",
        "True PyTreeSpec([*, *])",
        "True",
    ]

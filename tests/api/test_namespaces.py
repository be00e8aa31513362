"""Namespace objects: `leafwise.namespaces`."""

import copy
import inspect
import pickle

import pytest

import leafwise as lw
from leafwise.errors import RegistryError
from leafwise.typing import Namespace


FOUND = {
    name: getattr(room, name)
    for room in (lw.testing, lw.files, lw.show, lw.selection, lw.registry, lw.tree, lw)
    for name in room.__all__
}


def takes_namespace(name):
    """Return whether a public name is a function with a `namespace` argument."""
    value = FOUND[name]
    return (
        callable(value)
        and not isinstance(value, type)
        and "namespace" in inspect.signature(value).parameters
    )


def repickled(value):
    """Pickle a value, and unpickle it."""
    return pickle.loads(pickle.dumps(value))


NAMES = sorted(filter(takes_namespace, FOUND))
SPACE = lw.namespace("test-namespaces")


class Cell:
    """A class that is a node in the namespace of this file only."""

    def __init__(self, x):
        self.x = x


SPACE.register_pytree_node(
    Cell, lambda cell: ((cell.x,), None), lambda _, kids: Cell(*kids)
)
TREE = [Cell(1), 2]


@pytest.mark.parametrize("name", NAMES)
def test_every_function_with_a_namespace_is_bound(name):
    """The attribute wraps the function and has its name and docstring."""
    bound = getattr(SPACE, name)
    function = FOUND[name]
    assert bound.__wrapped__ is function
    assert bound.__name__ == function.__name__
    assert bound.__doc__ == function.__doc__


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, repickled])
def test_copies_of_a_namespace(copied):
    """They are bound to the namespace of the same name."""
    again = copied(SPACE)
    assert again.name == SPACE.name
    assert again.tree_leaves(TREE) == [1, 2]


AS_THEY_ARE = {"transpose", "tree_transpose", "tree_unflatten", "treedef_tuple"}
AS_THEY_ARE.add("unflatten")


def test_every_operation_on_trees_is_there():
    """Also those that take no namespace, since their treedefs know it."""
    operations = {name for name in FOUND if name.startswith("tree_")}
    operations |= set(lw.tree.__all__)
    assert operations - set(NAMES) == AS_THEY_ARE
    assert operations <= set(dir(SPACE))
    _, treedef = SPACE.tree_flatten(TREE)
    assert SPACE.tree_unflatten is lw.tree_unflatten
    assert SPACE.tree_unflatten(treedef, [3, 4])[0].x == 3
    outer = SPACE.tree_structure(Cell(0))
    inner = SPACE.tree_structure([0, 0])
    turned = SPACE.tree_transpose(outer, inner, Cell([1, 2]))
    assert [cell.x for cell in turned] == [1, 2]


def test_declaring_a_namespace_twice():
    """The second object is bound to the same namespace; the name is kept."""
    again = lw.namespace("test-namespaces")
    assert again.name == SPACE.name == "test-namespaces"
    assert repr(again) == "<leafwise namespace 'test-namespaces'>"
    assert again.tree_leaves(TREE) == [1, 2]
    assert isinstance(again, Namespace)
    assert "test-namespaces" in lw.registry.namespaces()


def test_a_namespace_can_have_leaves_of_its_own():
    """Built-in nodes and registered classes, in both None modes, with predicates."""
    from collections import deque

    class Box:
        def __init__(self, x):
            self.x = x

    class More(Box):
        pass

    for cls in (Box, More):
        lw.register_pytree_node(
            cls, lambda box: ((box.x,), None), lambda aux, kids: Box(*kids)
        )
    ns = lw.namespace("leaves of its own", leaves=(deque, More))
    items = deque([1])
    box = Box(2)
    more = More(3)
    for options in ({}, {"none_is_leaf": True}, {"is_leaf": lambda x: False}):
        for _ in range(6):  # the engine takes over
            assert ns.tree_leaves([items, box, more], **options) == [items, 2, more]
    assert lw.tree_leaves([items, box, more]) == [1, 2, 3]
    treedef = ns.tree_structure([items, more])
    assert treedef == lw.tree_structure([0, 0])
    assert treedef.flatten_up_to([1, items]) == [1, items]
    assert lw.namespace("leaves of its own").tree_leaves(items) == [items]
    ns.register_pytree_node(
        type("Late", (), {"x": 1}), lambda late: ((late.x,), None), lambda a, b: b
    )
    assert ns.tree_leaves([items]) == [items]
    with pytest.raises(RegistryError, match=r"it cannot become \(\)"):
        lw.namespace("leaves of its own", leaves=())
    with pytest.raises(RegistryError, match="a tuple of classes"):
        lw.namespace("another with leaves", leaves=deque)


def test_what_none_is_in_a_namespace_is_declared_once():
    """As a leaf or as a node, by the declaration or by a registration before it."""
    lw.namespace("nones", none_is_leaf=True)
    assert lw.namespace("nones").tree_leaves([None]) == [None]
    with pytest.raises(RegistryError, match="has none_is_leaf=True already; it cannot"):
        lw.namespace("nones", none_is_leaf=False)
    lw.namespace("test-namespaces", none_is_leaf=False)
    for name in ("test-namespaces", ""):
        with pytest.raises(RegistryError, match="none_is_leaf=False already"):
            lw.namespace(name, none_is_leaf=True)
    with pytest.raises(RegistryError, match="none_is_leaf must be a bool, got 1"):
        lw.namespace("nones as a number", none_is_leaf=1)
    assert "nones as a number" not in lw.registry.namespaces()


def test_a_namespace_with_every_policy():
    """Each holds, also once a class is registered."""
    ns = lw.namespace(
        "every policy", dict_order="insertion", leaves=(list,), none_is_leaf=True
    )
    tree = {"b": None, "a": [1]}
    assert ns.tree_leaves(tree) == [None, [1]]
    box = type("Box", (), {"x": None})
    ns.register_pytree_node(box, lambda b: ((b.x,), None), lambda _, kids: box())
    assert ns.tree_leaves((tree, box())) == [None, [1], None]

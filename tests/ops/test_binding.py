"""Namespace objects: `leafwise.binding`."""

import copy
import inspect
import pickle
import subprocess
import sys

import pytest

import leafwise as lw
from leafwise.errors import RegistryError
from leafwise.typing import Namespace


FOUND = {
    name: getattr(room, name)
    for room in (lw.testing, lw.io, lw.show, lw.selection, lw.registry, lw.tree, lw)
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
SPACE = lw.namespace("ops-binding")


class Cell:
    """A class that is a node in the namespace of this file only."""

    def __init__(self, x):
        self.x = x


SPACE.register_pytree_node(
    Cell, lambda cell: ((cell.x,), None), lambda _, kids: Cell(*kids)
)
TREE = [Cell(1), 2]

CALLS = {
    "all_leaves": lambda f: f(TREE) is False,
    "explain_leaf": lambda f: f(TREE[0]).startswith("a node: Cell was registered in "),
    "is_registered": lambda f: f(Cell),
    "lookup": lambda f: f(Cell).cls is Cell,
    "tree_all": lambda f: f([Cell(0)]) is False,
    "tree_any": lambda f: f([Cell(0)]) is False,
    "children": lambda f: f(Cell(1)) == [1],
    "tree_equal": lambda f: f(Cell(1), Cell(1)),
    "tree_flatten": lambda f: f(TREE)[0] == [1, 2],
    "flatten_one_level": lambda f: f(Cell(1)).children == [1],
    "tree_flatten_with_path": lambda f: len(f(TREE)[0][0][0]) == 2,
    "is_leaf": lambda f: f(Cell(1)) is False,
    "iter": lambda f: [*f(TREE)] == [1, 2],
    "tree_leaves": lambda f: f(TREE) == [1, 2],
    "tree_leaves_with_path": lambda f: [x for _, x in f(TREE)] == [1, 2],
    "tree_map": lambda f: f(str, TREE)[0].x == "1",
    "tree_map_": lambda f: f(lambda x: x + 0, TREE) is TREE,
    "tree_map_only": lambda f: f(int, str, TREE)[0].x == "1",
    "tree_map_with_path": lambda f: f(lambda p, x: len(p), TREE)[0].x == 2,
    "max": lambda f: f(TREE) == 2,
    "min": lambda f: f(TREE) == 1,
    "tree_paths": lambda f: [*map(len, f(TREE))] == [2, 1],
    "tree_reduce": lambda f: f(max, TREE) == 2,
    "reduce_associative": lambda f: f(max, TREE) == 2,
    "replace_nones": lambda f: f(0, Cell(None)).x == 0,
    "tree_structure": lambda f: f(TREE).num_nodes == 4,
    "tree_sum": lambda f: f(TREE) == 3,
}
REGISTERING = {
    "dataclass",
    "register_dataclass",
    "register_leaf",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "unregister_pytree_node",
}


def test_the_functions_tried_here_take_a_namespace():
    """The two tables of this file name functions with a `namespace` argument."""
    assert {*CALLS} | REGISTERING <= {*NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_every_function_with_a_namespace_is_bound(name):
    """The attribute wraps the function and has its name and docstring."""
    bound = getattr(SPACE, name)
    function = FOUND[name]
    assert bound.__wrapped__ is function
    assert bound.__name__ == function.__name__
    assert bound.__doc__ == function.__doc__


def test_functions_are_bound_when_they_are_asked_for():
    """Each once, also where `dir` lists what is not there yet."""
    space = lw.namespace("ops-binding-later")
    assert {*NAMES} <= {*dir(space)}
    assert vars(space) == {"name": "ops-binding-later"}
    assert space.tree_map is space.tree_map
    assert [*vars(space)] == ["name", "tree_map"]
    signature = inspect.signature(space.tree_map)
    assert [*signature.parameters] == [*inspect.signature(lw.tree_map).parameters]


@pytest.mark.needs("processes")
def test_a_namespace_loads_what_is_asked_for():
    """Neither selections nor dataclasses for a map."""
    code = (
        "import sys, leafwise as lw; lw.namespace('x').tree_map(abs, [1]);"
        "print(*sys.modules)"
    )
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert "leafwise.binding" in loaded
    assert not any(name.startswith("leafwise.selection") for name in loaded)
    assert "leafwise.dataclasses" not in loaded


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
    operations |= {*lw.tree.__all__}
    assert operations - {*NAMES} == AS_THEY_ARE
    assert operations <= {*dir(SPACE)}
    _, treedef = SPACE.tree_flatten(TREE)
    assert SPACE.tree_unflatten is lw.tree_unflatten
    assert SPACE.tree_unflatten(treedef, [3, 4])[0].x == 3
    outer, inner = SPACE.tree_structure(Cell(0)), SPACE.tree_structure([0, 0])
    turned = SPACE.tree_transpose(outer, inner, Cell([1, 2]))
    assert [cell.x for cell in turned] == [1, 2]


@pytest.mark.parametrize("name", lw.tree.__all__)
def test_short_names(name):
    """Those of `lw.tree` are names of each namespace, too."""
    space = lw.namespace("ops-binding-short")
    assert name in dir(space)
    function, bound = getattr(lw.tree, name), getattr(space, name)
    assert function is getattr(bound, "__wrapped__", bound)


def test_a_short_name_sees_the_classes_of_its_namespace():
    """As the long one does; `lw.tree` does not."""
    assert SPACE.leaves(TREE) == [1, 2]
    assert SPACE.map(str, TREE)[0].x == "1"
    assert lw.tree.leaves(TREE) == TREE


@pytest.mark.parametrize("name", sorted({*FOUND} - {*NAMES} - AS_THEY_ARE))
def test_nothing_else_is_bound(name):
    """What takes no namespace is found in leafwise alone."""
    with pytest.raises(AttributeError) as caught:
        getattr(SPACE, name)
    assert str(caught.value) == (
        f"namespace 'ops-binding' has no function {name!r}; functions that take no "
        "namespace are found in leafwise itself"
    )
    assert not hasattr(SPACE, name)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_bound_function_sees_the_classes_of_its_namespace(name):
    """The attribute and the keyword give the same; without either it differs."""
    assert CALLS[name](getattr(SPACE, name))
    function = FOUND[name]
    assert CALLS[name](
        lambda *args, **options: function(*args, namespace="ops-binding", **options)
    )


def test_the_class_is_a_leaf_elsewhere():
    """Registering in a namespace changes nothing outside of it."""
    assert lw.tree_leaves(TREE) == TREE
    assert not lw.is_registered(Cell)


def test_registering_with_a_namespace_object():
    """Each way to register puts the class into that namespace alone."""
    space = lw.namespace("ops-binding-register")

    @space.dataclass
    class Data:
        x: int

    @space.dataclass(frozen=True)
    class Frozen:
        x: int

    @space.register_pytree_node_class
    class Methods:
        def tree_flatten(self):
            return (), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls()

    @space.register_pytree_with_keys_class
    class Keyed:
        def tree_flatten_with_keys(self):
            return (), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls()

    @space.register_static
    class Static:
        pass

    class Plain:
        x = 1

    class Pairs(Plain):
        pass

    space.register_dataclass(Plain, ["x"], [])
    space.register_pytree_with_keys(
        Pairs, lambda node: ((), None), lambda _, kids: Pairs()
    )
    for cls in (Data, Frozen, Methods, Keyed, Static, Plain, Pairs):
        assert space.is_registered(cls)
        assert not lw.is_registered(cls)
        space.unregister_pytree_node(cls)
        assert not space.is_registered(cls)


def test_hiding_a_global_class_in_a_namespace():
    """`register_leaf` there makes a leaf of what is a node everywhere else."""
    space = lw.namespace("ops-binding-hide")

    @lw.dataclass
    class Both:
        x: int

    space.register_leaf(Both)
    assert lw.tree_leaves(Both(1)) == [1]
    assert space.tree_leaves(Both(1)) == [Both(1)]


def test_global_classes_are_nodes_in_every_namespace():
    """A namespace adds to the global registry."""

    @lw.dataclass
    class Everywhere:
        x: int

    assert SPACE.tree_leaves(Everywhere(1)) == [1]


def test_options_of_bound_functions():
    """The other arguments are passed on as they are."""
    assert SPACE.tree_leaves([(1,), None], tuple, none_is_leaf=True) == [(1,), None]
    pair = SPACE.tree_map(lambda x, y: x + y, [Cell(1)], [Cell(2)], strict=True)
    assert pair[0].x == 3


def test_declaring_a_namespace_twice():
    """The second object is bound to the same namespace; the name is kept."""
    again = lw.namespace("ops-binding")
    assert again.name == SPACE.name == "ops-binding"
    assert repr(again) == "<leafwise namespace 'ops-binding'>"
    assert again.tree_leaves(TREE) == [1, 2]
    assert isinstance(again, Namespace)
    assert "ops-binding" in lw.registry.namespaces()


def test_the_global_registry_as_a_namespace():
    """The empty name is the global registry."""
    assert lw.namespace("").tree_leaves(TREE) == TREE
    assert lw.registry.namespaces()[0] == ""


def test_walking_dicts_as_inserted():
    """With `dict_order="insertion"` order is walked and is structure."""
    space = lw.namespace("ops-binding-insertion", dict_order="insertion")
    one, other = {"b": 1, "a": 2}, {"a": 2, "b": 1}
    assert space.tree_leaves(one) == [1, 2]
    assert [*map(str, space.tree_paths(one))] == ["['b']", "['a']"]
    assert space.tree_structure(one) != space.tree_structure(other)
    assert space.tree_map(lambda x, y: (x, y), one, other) == {"b": (1, 1), "a": (2, 2)}
    seen = []
    space.tree_map_(seen.append, one)
    space.tree_map(seen.append, one)
    assert seen == [1, 2, 1, 2]
    assert lw.tree_leaves(one) == [2, 1]


@pytest.mark.parametrize(
    ("args", "options", "message"),
    [
        ((3,), {}, "a namespace is a string, got int: 3"),
        ((None,), {}, "a namespace is a string, got NoneType: None"),
        (
            ("ops-binding",),
            {"dict_order": "random"},
            "dict_order must be 'sorted' or 'insertion', got 'random'",
        ),
        (
            ("ops-binding",),
            {"dict_order": "insertion"},
            "namespace 'ops-binding' has dict_order='sorted' already; it cannot "
            "become 'insertion', choose another name",
        ),
    ],
)
def test_namespaces_that_cannot_be_declared(args, options, message):
    """The error says what is wrong with the name or the policy."""
    with pytest.raises(RegistryError) as caught:
        lw.namespace(*args, **options)
    assert str(caught.value) == message


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
    items, box, more = deque([1]), Box(2), More(3)
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

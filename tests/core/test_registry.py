"""Registration: what is refused, what is looked up, and where."""

import dataclasses
import re
from collections import OrderedDict, UserDict, defaultdict
from types import MappingProxyType
from typing import NamedTuple

import pytest

import leafwise as lw
from leafwise.core import registry
from leafwise.core.walk import flatten
from leafwise.errors import RegistryError


class Letters(str):
    __slots__ = ()


class Bag(frozenset):
    __slots__ = ()


def box_class(**attributes):
    """Return a fresh class with one attribute."""

    class Box:
        def __init__(self, x):
            self.x = x

    for name, value in attributes.items():
        setattr(Box, name, value)
    return Box


def flatten_box(box):
    return (box.x,), None


def register_box(**options):
    """Return a fresh class, registered."""
    cls = box_class()
    return lw.register_pytree_node(
        cls, flatten_box, lambda _, kids: cls(*kids), **options
    )


def message(error):
    return str(error.value)


# ------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    "cls",
    [3, "list", None, [int]],
    ids=repr,
)
def test_only_classes_are_registered(cls):
    """What is no class is refused, by name and value."""
    with pytest.raises(RegistryError, match="only a class can be registered"):
        lw.register_static(cls)
    with pytest.raises(RegistryError, match="only a class can be registered"):
        lw.register_pytree_node(cls, flatten_box, max)


@pytest.mark.parametrize("cls", [list, dict, tuple, type(None), lw.Partial])
def test_built_in_nodes_are_refused(cls):
    """The meaning of the built-in nodes is fixed, in each namespace."""
    for namespace in ("", "some"):
        with pytest.raises(RegistryError, match="is a built-in node type"):
            lw.register_leaf(cls, namespace=namespace)


@pytest.mark.parametrize("cls", [int, str, bool, bytes, set, frozenset, range, object])
@pytest.mark.parametrize(
    "register",
    [
        lw.register_static,
        lambda cls, **how: lw.register_pytree_node(cls, flatten_box, max, **how),
        lambda cls, **how: lw.registry.register_pytree_with_keys(cls, id, max, **how),
    ],
    ids=["static", "functions", "keys"],
)
def test_built_in_leaves_are_refused(cls, register):
    """As nodes they would change all trees: in a namespace, or on purpose, they may."""
    with pytest.raises(RegistryError) as error:
        register(cls, bridge=False)
    assert f"{cls.__name__} is a built-in type" in message(error)
    assert "register it in a namespace" in message(error)
    assert not lw.is_registered(cls)
    lw.namespace("built-in leaves")
    register(cls, namespace="built-in leaves", bridge=False)
    assert lw.is_registered(cls, namespace="built-in leaves")
    lw.unregister_pytree_node(cls, namespace="built-in leaves")
    register(cls, exist_ok=True, bridge=False)
    assert lw.is_registered(cls)
    lw.unregister_pytree_node(cls)


def test_a_built_in_leaf_can_be_a_leaf():
    """It changes nothing."""
    lw.register_leaf(int)
    assert lw.tree_leaves([1]) == [1]
    lw.unregister_pytree_node(int)


def test_a_duplicate_says_who_registered_the_class_and_where():
    """The error names this file, and the way out."""
    cls = register_box()
    with pytest.raises(RegistryError) as error:
        lw.register_static(cls)
    assert re.fullmatch(
        r".*Box is registered in the global registry already at .*test_registry\.py:"
        r"\d+; pass exist_ok=True to replace that registration",
        message(error),
    )
    assert lw.tree_leaves(cls(1)) == [1]


def test_functions_must_be_callable():
    """A function that is none is refused before anything is stored."""
    cls = box_class()
    with pytest.raises(RegistryError, match=r"the flatten function of .*Box must be"):
        lw.register_pytree_node(cls, None, max)
    with pytest.raises(RegistryError, match="the unflatten function of"):
        lw.register_pytree_node(cls, max, 3)
    with pytest.raises(RegistryError, match="the flatten_with_keys function of"):
        lw.register_pytree_node(cls, max, max, "keys")
    with pytest.raises(RegistryError, match="the flatten_with_keys function of"):
        lw.registry.register_pytree_with_keys(cls, 3, max)
    assert not lw.is_registered(cls)


def test_a_class_without_the_methods_is_refused():
    """The error lists the methods of both protocols."""
    cls = box_class()
    with pytest.raises(RegistryError) as error:
        lw.register_pytree_node_class(cls)
    assert message(error).endswith(
        "Box must have the methods __tree_flatten__ and __tree_unflatten__ or "
        "tree_flatten and tree_unflatten to be registered as a node"
    )
    with pytest.raises(RegistryError, match="tree_flatten_with_keys and"):
        lw.registry.register_pytree_with_keys_class(cls)


def test_a_namespace_is_a_string():
    """Anything else is refused."""
    for namespace in (None, 3):
        with pytest.raises(RegistryError, match="a namespace is a string"):
            register_box(namespace=namespace)
        with pytest.raises(RegistryError, match="a namespace is a string"):
            lw.namespace(namespace)
        with pytest.raises(lw.errors.NamespaceError, match="a namespace is a string"):
            lw.tree_leaves([1], namespace=namespace)


# -------------------------------------------------- flatten functions that lie


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (3, "must return a tuple (children, aux_data) or (children, aux_data, keys), "
            "got int: 3"),
        ([[1], None], "must return a tuple (children, aux_data) or (children, "
            "aux_data, keys), got list: [[1], None]"),
        ((1, 2, 3, 4), "must return a tuple (children, aux_data) or (children, "
            "aux_data, keys), got tuple: (1, 2, 3, 4)"),
        ((5, None), "must give its children as a tuple, a list or another ordered "
            "iterable, got int: 5"),
        (("ab", None), "must give its children as a tuple, a list or another ordered "
            "iterable, got str: 'ab'"),
        (({"a": 1}, None), "must give its children as a tuple, a list or another "
            "ordered iterable, got dict: {'a': 1}"),
        ((OrderedDict(a=1), None), "must give its children as a tuple, a list or "
            f"another ordered iterable, got OrderedDict: {OrderedDict(a=1)!r}"),
        ((defaultdict(int, a=1), None), "must give its children as a tuple, a list or "
            "another ordered iterable, got defaultdict: "
            "defaultdict(<class 'int'>, {'a': 1})"),
        ((MappingProxyType({"a": 1}), None), "must give its children as a tuple, a "
            "list or another ordered iterable, got mappingproxy: "
            "mappingproxy({'a': 1})"),
        ((UserDict(a=1), None), "must give its children as a tuple, a list or "
            "another ordered iterable, got UserDict: {'a': 1}"),
        ((Letters("ab"), None), "must give its children as a tuple, a list or "
            "another ordered iterable, got Letters: 'ab'"),
        ((Bag([1]), None), "must give its children as a tuple, a list or another "
            "ordered iterable, got Bag: Bag({1})"),
        ((bytearray(b"a"), None), "must give its children as a tuple, a list or "
            "another ordered iterable, got bytearray: bytearray(b'a')"),
        (([1], None, {"a"}), "must give its keys as a tuple, a list or another "
            "ordered iterable, got set: {'a'}"),
        (([1, 2], None, ["a"]), "gave 1 keys for 2 children; give one key for each "
            "child"),
        (([1], None, 7), "must give its keys as a tuple, a list or another ordered "
            "iterable, got int: 7"),
    ],
    ids=repr,
)  # fmt: skip
def test_a_wrong_result_names_class_and_path(result, text):
    """What a flatten function got wrong is said, with the path of the node."""
    cls = box_class()
    lw.register_pytree_node(cls, lambda _: result, lambda _, kids: cls(*kids))
    expected = f"the flatten function of {cls.__qualname__} {text}"
    for walk in (lw.tree_leaves, lambda tree: lw.tree_map(repr, tree)):
        with pytest.raises(lw.errors.FlattenError) as error:
            walk({"a": [0, cls(1)]})
        assert message(error) == expected
        assert str(error.value.path) == "['a'][1]"
        assert error.value.__notes__ == ["at key path ['a'][1]"]


@pytest.mark.parametrize(
    "result",
    [
        3,
        ([1], 2, 3),
        ([(1, 2, 3)], None),
        (3, None),
        (OrderedDict(a=1), None),
        ({("a", 1)}, None),
    ],
)
def test_wrong_pairs_are_refused(result):
    """A flatten_with_keys function must give pairs."""
    cls = box_class()
    lw.registry.register_pytree_with_keys(
        cls, lambda _: result, lambda _, kids: cls(*kids)
    )
    with pytest.raises(lw.errors.FlattenError, match=r"of .*Box must"):
        lw.tree_leaves(cls(1))


# ------------------------------------------------------------- classes, keys


def test_both_class_protocols():
    """The two pairs of methods work, and the dunder pair wins."""

    @lw.register_pytree_node_class
    class Both:
        def tree_flatten(self):
            raise AssertionError

        tree_unflatten = tree_flatten

        def __tree_flatten__(self):
            return (1, 2), "aux", ("a", "b")

        @classmethod
        def __tree_unflatten__(cls, aux, children):
            return [cls, aux, children]

    assert [str(path) for path in lw.tree_paths(Both())] == [".a", ".b"]
    assert lw.tree_map(str, Both()) == [Both, "aux", ("1", "2")]


# ------------------------------------------------------- static, leaf, inherit


def test_a_registered_leaf_is_a_leaf():
    """`register_leaf` opts a named tuple out, in its namespace."""

    class Color(NamedTuple):
        red: int
        blue: int

    lw.register_leaf(Color, namespace="paint")
    assert lw.tree_leaves(Color(1, 2)) == [1, 2]
    assert lw.tree_leaves(Color(1, 2), namespace="paint") == [Color(1, 2)]


def test_subclasses_follow_only_when_asked():
    """Dispatch is on the exact class; `inherit=True` extends it to subclasses."""
    plain = register_box()
    family = register_box(inherit=True)

    class Plain(plain):
        pass

    class Family(family):
        pass

    assert lw.tree.is_leaf(Plain(1))
    assert lw.tree_leaves(Family(1)) == [1]
    assert lw.tree_structure(Family(1)) != lw.tree_structure(family(1))
    assert lw.tree_structure(Family(1)) == lw.tree_structure(Family(2))


def test_inherited_methods_and_fields_are_those_of_the_subclass():
    """Protocol classes and dataclasses rebuild the subclass."""

    @lw.register_pytree_node_class(inherit=True)
    class Base:
        def __init__(self, x):
            self.x = x

        def tree_flatten(self):
            return (self.x,), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)

    class Sub(Base):
        pass

    @lw.dataclass(inherit=True)
    class Point:
        x: int

    @dataclasses.dataclass
    class Point3(Point):
        z: int

    assert type(lw.tree_map(lambda x: x, Sub(1))) is Sub
    assert lw.tree_map(lambda x: x + 1, Point3(1, 2)) == Point3(2, 3)


def test_a_leaf_can_be_inherited_too():
    """`register_leaf(inherit=True)` makes leaves of named subclasses."""

    class Base(NamedTuple):
        x: int

    class Sub(Base):
        pass

    lw.register_leaf(Base, inherit=True, namespace="opaque")
    assert lw.tree_leaves(Sub(1), namespace="opaque") == [Sub(1)]


# ------------------------------------------------------ namespaces and replacing


def test_a_namespace_comes_before_the_global_registry():
    """A class may be taken apart differently in a namespace."""
    cls = register_box()
    lw.register_pytree_node(
        cls, lambda box: ((box.x, box.x), None), max, namespace="twice"
    )
    assert lw.tree_leaves(cls(1)) == [1]
    assert lw.tree_leaves(cls(1), namespace="twice") == [1, 1]
    assert lw.tree_leaves([cls(1)], namespace="twice") == [1, 1]


def test_an_undeclared_namespace_is_an_error():
    """A namespace that nobody declared is most likely misspelt."""
    lw.namespace("declared")
    with pytest.raises(lw.errors.NamespaceError) as error:
        lw.tree_leaves([1], namespace="decalred")
    assert message(error).startswith(
        "no namespace 'decalred' was declared; register a class in it or call "
        "leafwise.namespace('decalred') first (declared: "
    )
    assert isinstance(error.value, LookupError)


def test_policies_of_a_namespace_are_fixed():
    """A policy is declared once; saying the same again is harmless."""
    lw.namespace("ordered", dict_order="insertion")
    assert lw.namespace("ordered").tree_leaves({"b": 1, "a": 2}) == [1, 2]
    lw.namespace("ordered", dict_order="insertion")
    with pytest.raises(RegistryError, match="has dict_order='insertion' already"):
        lw.namespace("ordered", dict_order="sorted")
    with pytest.raises(RegistryError, match="must be 'sorted' or 'insertion'"):
        lw.namespace("ordered", dict_order="random")


def test_exist_ok_replaces_the_class_of_the_same_name():
    """Running a cell again replaces its class, and forgets the old one."""

    def cell():
        class Model:
            def __init__(self, x):
                self.x = x

        Model.__qualname__ = "NotebookModel"
        return lw.register_pytree_node(
            Model, flatten_box, lambda _, kids: Model(*kids), exist_ok=True
        )

    first = cell()
    second = cell()
    assert lw.tree_leaves(second(1)) == [1]
    assert not lw.is_registered(first)


def test_lookup_shows_the_node_type():
    """A node type knows its class, its namespace and where it was registered."""
    cls = register_box(namespace="looked-up")
    node_type = lw.registry.lookup(cls, namespace="looked-up")
    assert node_type.cls is cls
    assert node_type.namespace == "looked-up"
    assert "test_registry.py:" in node_type.where
    assert "in namespace 'looked-up', registered at" in repr(node_type)
    assert lw.registry.lookup(cls) is None
    nones = lw.namespace("nones", none_is_leaf=True)
    assert nones.lookup(type(None)) is None
    with pytest.raises(TypeError, match="lookup takes a class, got int: 3"):
        lw.registry.lookup(3)
    with pytest.raises(AttributeError, match="cannot be changed"):
        node_type.name = "other"


def test_a_view_in_which_dicts_are_walked_as_inserted():
    """The same one each time, of the same node types, and with the stops of its own."""
    Box = register_box(namespace="as-inserted")
    view = registry.view_of("as-inserted", True)
    inserted = view.narrowed((), "insertion")
    assert inserted is view.narrowed((), "insertion") is not view
    assert inserted.mode == view.mode
    assert inserted.resolve(Box) is view.resolve(Box)
    tree = {"b": Box(None), "a": defaultdict(int, d=1, c=2)}
    assert flatten(tree, inserted)[0] == [None, 1, 2]
    assert flatten(tree, view)[0] == [2, 1, None]
    stopping = view.narrowed((defaultdict,))
    assert flatten(tree, stopping.narrowed((), "insertion"))[0] == [None, tree["a"]]
    in_order = registry.view_of(lw.namespace("given", dict_order="insertion").name)
    assert flatten({"b": 1, "a": 2}, in_order.narrowed((), "insertion"))[0] == [1, 2]

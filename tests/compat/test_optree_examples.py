"""What is particular to the stand-in for optree."""

import importlib
import inspect
import pickle
import sys
import types
from collections import namedtuple

import pytest

import leafwise as lw
from leafwise.compat import optree as ours


class Pair:
    def __init__(self, x, y):
        self.x = x
        self.y = y


@pytest.fixture
def pairs():
    """Register a class by optree's names in a namespace; return the namespace."""
    ours.register_pytree_node(
        Pair,
        lambda pair: ((pair.x, pair.y), None, ("x", "y")),
        lambda _, children: Pair(*children),
        path_entry_type=ours.GetAttrEntry,
        namespace="compat-pairs",
    )
    yield "compat-pairs"
    ours.unregister_pytree_node(Pair, namespace="compat-pairs")


def test_a_class_is_registered_for_leafwise_as_well(pairs):
    """In the same namespace, with the same paths."""
    tree = {"p": Pair(1, [2])}
    assert lw.tree_leaves(tree, namespace=pairs) == [1, 2]
    paths = map(str, lw.tree_paths(tree, namespace=pairs))
    assert list(paths) == ["['p'].x", "['p'].y[0]"]
    codes = [a.codify("") for a in ours.tree_accessors(tree, namespace=pairs)]
    assert codes == ["['p'].x", "['p'].y[0]"]
    assert lw.tree_leaves(tree) == ours.tree_leaves(tree) == [tree["p"]]


def test_what_leafwise_knows_is_a_node_here():
    """With an entry for each sort of key, and by its own text for its metadata."""

    @lw.dataclass
    class Layer:
        weight: float
        name: str = lw.static(default="a")

    tree = [Layer(0.5), lw.Partial(max, 1)]
    assert ours.tree_map(lambda x: x * 2, tree)[0] == Layer(1.0)
    first, second = ours.tree_accessors(tree)
    assert (first.codify("t"), second.codify("t")) == ("t[0].weight", "t[1].args[0]")
    assert first(tree) == 0.5
    assert type(first[1]) is ours.DataclassEntry
    assert repr(ours.tree_structure(tree[0])) == (
        "PyTreeSpec(CustomTreeNode(Layer[('a',)], [*]))"
    )
    node = ours.tree_flatten_one_level(tree[0])
    assert node.unflatten_func(node.metadata, [3]) == Layer(3)


def test_a_pickle_of_an_unknown_class_is_refused(pairs):
    """As a runtime error, which programs for optree catch, and as leafwise's own."""
    spec = ours.tree_structure(Pair(1, 2), namespace=pairs)
    data = pickle.dumps(spec)
    again = pickle.loads(data)
    assert (again, again.namespace) == (spec, pairs)
    ours.unregister_pytree_node(Pair, namespace=pairs)
    try:
        with pytest.raises(RuntimeError, match="is not registered") as caught:
            pickle.loads(data)
        assert isinstance(caught.value, lw.errors.TreeDefError)
        with pytest.raises(ValueError, match="missing"):
            ours.tree_map(max, {"a": 1}, {"b": 1})
    finally:
        ours.register_pytree_node(
            Pair, lambda pair: ((), None), lambda *_: Pair(0, 0), namespace=pairs
        )


def test_a_tuple_with_fields_alone_is_no_named_tuple():
    """optree and leafwise ask for the methods of named tuples."""

    class Fields(tuple):
        __slots__ = ()
        _fields = ("x", "y")

    node = Fields((1, 2))
    assert lw.tree_leaves(node) == [node]
    assert ours.tree_leaves([node]) == [node]
    assert not ours.is_namedtuple(node)


def test_named_tuples_have_one_registration():
    """They are looked up by the function that makes them, struct sequences by ABC."""
    registrations = ours.register_pytree_node.get()
    for key, kind in (
        (namedtuple, ours.PyTreeKind.NAMEDTUPLE),
        (ours.typing.StructSequence, ours.PyTreeKind.STRUCTSEQUENCE),
    ):
        assert registrations[key].kind is kind
        assert ours.register_pytree_node.get(key).kind is kind


@pytest.mark.skipif(sys.version_info < (3, 14), reason="not on this Python")
def test_partials_have_placeholders():
    """`optree.functools` has what `functools` has."""
    import functools

    assert ours.functools.Placeholder is functools.Placeholder
    partial = ours.functools.partial(pow, ours.functools.Placeholder, 2)
    assert ours.tree_map(lambda leaf: leaf, partial)(3) == 9


def test_reexport_binds_a_namespace(pairs):
    """Functions, their signatures, and modules that can be imported."""
    name = "compat_reexported"
    tree = ours.pytree.reexport(namespace=pairs, module=name)
    try:
        assert sys.modules[name] is importlib.import_module(name) is tree
        assert sys.modules[f"{name}.dataclasses"] is tree.dataclasses
        assert isinstance(tree, types.ModuleType)
        assert tree.leaves([Pair(1, 2)]) == [1, 2]
        assert tree.map is tree.map
        default = inspect.signature(tree.map).parameters["namespace"].default
        assert default == pairs
        assert tree.register_node.get(Pair).type is Pair
        assert tree.functools.reduce(max, Pair(1, 2)) == 2
        assert {"map", "leaves", "dataclasses"} <= set(dir(tree))
        assert "reexport" not in dir(tree)
        assert tree.PyTreeSpec is ours.PyTreeSpec
        with pytest.raises(AttributeError):
            tree.nothing  # noqa: B018
        with pytest.raises(ValueError, match="module"):
            ours.pytree.reexport(namespace=pairs, module=name)
    finally:
        for room in [one for one in sys.modules if one.partition(".")[0] == name]:
            del sys.modules[room]

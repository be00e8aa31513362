"""What the four seed documents show beside the examples of the other files."""

from collections import namedtuple

import pytest

import leafwise as lw


Point = namedtuple("Point", ["x", "y"])


@pytest.mark.parametrize(
    ("tree", "leaves", "text"),
    [
        (123, [123], "*"),
        ([1, 2, 3], [1, 2, 3], "[*, *, *]"),
        ((1, 2, 3), [1, 2, 3], "(*, *, *)"),
        ({"1": 1, "2": 2, "3": 3}, [1, 2, 3], "{'1': *, '2': *, '3': *}"),
    ],
    ids=["number", "list", "tuple", "dict"],
)
def test_plain_pytrees_of_pax(tree, leaves, text):
    """The four small values of the PAX page, taken apart and rebuilt."""
    found, treedef = lw.tree_flatten(tree)
    assert found == leaves
    assert repr(treedef) == f"PyTreeDef({text})"
    assert lw.tree_unflatten(treedef=treedef, leaves=found) == tree


def test_registering_a_class_by_a_call_as_pax_does():
    """The decorator can be called with a finished class, and returns it."""

    class Module:
        def tree_flatten(self):
            return [self.mylist], {"is_training": True}

        @classmethod
        def tree_unflatten(cls, aux_info, children):
            new = cls.__new__(cls)
            (new.mylist,) = children
            return new

    assert lw.register_pytree_node_class(Module) is Module
    module = Module()
    module.mylist = [1, 2, 3]
    again = lw.tree_map(lambda x: x, module)
    assert again.mylist == [1, 2, 3]
    assert again is not module


@pytest.mark.parametrize(
    ("tree", "count"),
    [
        ([1, "a", object()], 3),
        ((1, (2, 3), ()), 3),
        ([1, {"k1": 2, "k2": (3, 4)}, 5], 5),
    ],
    ids=["flat", "nested", "mixed"],
)
def test_the_example_pytrees_of_jax_are_rebuilt(tree, count):
    """Each has the leaves that the note counts, and comes back equal."""
    leaves, treedef = lw.tree_flatten(tree)
    assert treedef.num_leaves == len(leaves) == count
    assert lw.tree_unflatten(treedef, leaves) == tree


def test_the_arguments_of_the_vmap_example_of_jax():
    """A tuple of arguments is a tree; its leaves are the three arrays."""
    arguments = ("a1", {"k1": "a2", "k2": "a3"})
    assert lw.tree_leaves(arguments) == ["a1", "a2", "a3"]
    assert repr(lw.tree_structure(arguments)) == "PyTreeDef((*, {'k1': *, 'k2': *}))"


def test_the_dict_example_of_jax_keeps_its_insertion_order():
    """The leaves come in sorted order, the rebuilt keys as they were written."""
    leaves, treedef = lw.tree_flatten((1.0, {"b": 2.0, "a": 3.0}))
    assert leaves == [1.0, 3.0, 2.0]
    assert [*lw.tree_unflatten(treedef, leaves)[1]] == ["b", "a"]


def test_the_point_example_of_jax_by_name():
    """A named tuple is rebuilt as its own class, with the values by name."""
    leaves, treedef = lw.tree_flatten(Point(1.0, 2.0))
    point = lw.tree_unflatten(treedef, leaves)
    assert type(point) is Point
    assert (point.x, point.y) == (1.0, 2.0)


def test_the_special_example_of_jax_is_one_and_the_same_object():
    """An unregistered object is the only leaf and comes back itself."""

    class Special:
        pass

    special = Special()
    leaves, treedef = lw.tree_flatten(special)
    assert leaves == [special]
    assert lw.tree_unflatten(treedef, leaves) is special


def test_rebuilding_a_custom_node_of_nnx_from_other_leaves():
    """The static string is kept, the nodes are the new leaves."""

    class Foo:
        def __init__(self):
            self.a, self.b, self.c = 1, 2, "hi"

    def unflatten(static, nodes):
        foo = object.__new__(Foo)
        foo.a, foo.b = nodes
        (foo.c,) = static
        return foo

    lw.register_pytree_node(Foo, lambda foo: ([foo.a, foo.b], (foo.c,)), unflatten)
    leaves, treedef = lw.tree.flatten(Foo())
    assert leaves == [1, 2]
    assert repr(treedef) == "PyTreeDef(CustomNode(Foo[('hi',)], [*, *]))"
    foo = lw.tree.unflatten(treedef, ["x", "y"])
    assert (foo.a, foo.b, foo.c) == ("x", "y", "hi")


@pytest.mark.parametrize("bound", [True, False], ids=["object", "keyword"])
def test_autoform_classes_with_either_way_to_name_the_namespace(bound):
    """Dataclass, static fields, functions and methods work both ways."""
    name = "seed-autoform-object" if bound else "seed-autoform-keyword"
    space = lw.namespace(name)

    def call(function, *args):
        if bound:
            return getattr(space, function)(*args)
        return getattr(lw, function)(*args, namespace=name)

    decorate = space.dataclass if bound else lw.dataclass(namespace=name)

    @decorate
    class State:
        topic: str
        draft: str

    @decorate
    class F32Array:
        values: tuple[float, ...]
        shape: tuple[int, ...] = lw.field(pytree_node=False)
        dtype: str = lw.field(default="float32", pytree_node=False)

    @decorate
    class Explainer:
        instruction: str
        style: str

        def __call__(self, topic):
            return f"{self.instruction}\nstyle: {self.style}\ntopic: {topic}"

    class Manual:
        def __init__(self, topic, draft):
            self.topic, self.draft = topic, draft

    call(
        "register_pytree_node",
        Manual,
        lambda state: ((state.topic, state.draft), None),
        lambda metadata, children: Manual(*children),
    )
    state = State(topic="dna", draft="short")
    assert lw.tree_leaves(state) == [state]
    assert call("tree_leaves", state) == ["dna", "short"]
    assert call("tree_map", str.upper, state) == State(topic="DNA", draft="SHORT")
    array = F32Array(values=(1.0, 2.0), shape=(2,))
    assert call("tree_leaves", array) == [1.0, 2.0]
    scaled = call("tree_map", lambda x: x * 10, array)
    assert scaled == F32Array(values=(10.0, 20.0), shape=(2,))
    assert repr(call("tree_structure", array)) == (
        "PyTreeDef(CustomNode(F32Array[((2,), 'float32')], [(*, *)]))"
    )
    upper = call("tree_map", str.upper, Manual("dna", "short"))
    assert (upper.topic, upper.draft) == ("DNA", "SHORT")
    explainer = Explainer(instruction="explain", style="brief")
    assert call("tree_leaves", explainer) == ["explain", "brief"]
    loud = call("tree_map", str.upper, explainer)
    assert loud("dna") == "EXPLAIN\nstyle: BRIEF\ntopic: dna"

"""Test cases after Flax NNX's page "Module & Pytree", for arrays of numpy and of jax.

They cover the sections from "nnx.Pytree" to "Attribute checks", and "Object". The
fixture `xp` makes the arrays, and the fixture `tree_util` has the functions that the
page takes from `jax.tree_util`. `tests/guides` runs the cases with numpy,
`tests/oracle` with jax.
"""

import dataclasses

import pytest

from leafwise import nn as nnx
from leafwise import pformat


def structure(tree_util, tree):
    """Return the paths of the leaves, as the examples print them, and the leaves."""
    pairs = tree_util.tree_flatten_with_path(tree)[0]
    return {f"tree{tree_util.keystr(path)}": leaf for path, leaf in pairs}


LAYERS = [f"tree.layers[{index}].{name}" for index in (0, 1) for name in "bw"]


def check_layers(tree_util, tree):
    leaves = structure(tree_util, tree)
    assert list(leaves) == LAYERS
    assert [leaf.tolist() for leaf in leaves.values()] == [[0.0], [[1.0]]] * 2


def test_everything_annotated(xp, tree_util):
    """`data` and `static` on each attribute: only what is data has paths."""

    class Linear(nnx.Pytree):
        def __init__(self, din, dout):
            self.din = nnx.static(din)
            self.dout = nnx.static(dout)
            self.w = nnx.data(xp.ones((din, dout)))
            self.b = nnx.data(xp.zeros((dout,)))

    class MLP(nnx.Pytree):
        def __init__(self, num_layers, dim):
            self.num_layers = nnx.static(num_layers)
            self.layers = nnx.data([Linear(dim, dim) for _ in range(num_layers)])

    check_layers(tree_util, MLP(2, 1))


def test_inferred(xp, tree_util):
    """Without annotations arrays are data, numbers are static, `List` holds data."""

    class Linear(nnx.Pytree):
        def __init__(self, din, dout):
            self.din = din
            self.dout = dout
            self.w = xp.ones((din, dout))
            self.b = xp.zeros((dout,))

    class MLP(nnx.Pytree):
        def __init__(self, num_layers, dim):
            self.num_layers = num_layers
            self.layers = nnx.List([Linear(dim, dim) for _ in range(num_layers)])

    check_layers(tree_util, MLP(2, 1))


def test_is_data(xp):
    """Arrays and pytree classes are; strings, numbers and plain containers are not."""
    assert nnx.is_data(xp.array(0))
    assert nnx.is_data(nnx.List([]))
    assert nnx.is_data(nnx.Dict())
    assert not nnx.is_data("hello")
    assert not nnx.is_data(42)
    assert not nnx.is_data([1, 2.0, 3j, xp.array(1)])


def test_when_to_annotate(xp, tree_util):
    """Explicit data: an argument of any type, a number, a value that may be None."""

    class Bar(nnx.Pytree):
        def __init__(self, x, use_bias):
            self.x = nnx.data(x)
            self.y = nnx.data(42)
            self.ls = nnx.List([xp.array(i) for i in range(3)])
            self.bias = nnx.data(None)
            if use_bias:
                self.bias = nnx.Dict(value=xp.array(0.0))

    leaves = structure(tree_util, Bar(1.0, use_bias=True))
    assert {path: float(leaf) for path, leaf in leaves.items()} == {
        "tree.bias['value']": 0.0,
        "tree.ls[0]": 0.0,
        "tree.ls[1]": 1.0,
        "tree.ls[2]": 2.0,
        "tree.x": 1.0,
        "tree.y": 42.0,
    }
    assert list(structure(tree_util, Bar(1.0, use_bias=False)))[:1] == ["tree.ls[0]"]


def test_dataclasses(xp, tree_util):
    """Specifiers say what a field is; the others are what their values make them."""

    @nnx.dataclass
    class Foo(nnx.Pytree):
        i: int = nnx.data()
        x: object
        a: int
        s: str = nnx.static(default="hi", kw_only=True)

    @nnx.dataclass
    class Bar(nnx.Pytree):
        ls: list[Foo] = nnx.data()
        shapes: list[int]

    bar = Bar(ls=[Foo(i, xp.array(42 * i), hash(i)) for i in range(2)], shapes=[8, 16])
    leaves = structure(tree_util, bar)
    assert {path: int(leaf) for path, leaf in leaves.items()} == {
        "tree.ls[0].i": 0,
        "tree.ls[0].x": 0,
        "tree.ls[1].i": 1,
        "tree.ls[1].x": 42,
    }


def test_dataclasses_of_the_standard_library(tree_util):
    """The standard decorator reads `metadata={"static": ...}`."""

    @dataclasses.dataclass
    class Bar(nnx.Pytree):
        a: int = dataclasses.field(metadata={"static": False})
        b: str = dataclasses.field(metadata={"static": True})

    bar = Bar(a=10, b="hello")
    assert structure(tree_util, bar) == {"tree.a": 10}
    assert repr(bar).endswith("Bar(a=10, b='hello')")


def test_attribute_updates(xp, tree_util):
    """An attribute keeps its kind until it is assigned with another one."""

    class Foo(nnx.Pytree):
        def __init__(self):
            self.a = xp.array(1.0)
            self.b = "Hello, world!"
            self.c = nnx.data(3.14)

    foo = Foo()
    assert {path: float(leaf) for path, leaf in structure(tree_util, foo).items()} == {
        "tree.a": 1.0,
        "tree.c": 3.14,
    }
    foo.a = "🤔"
    foo.b = nnx.data(42)
    foo.c = nnx.static(0.5)
    assert structure(tree_util, foo) == {"tree.a": "🤔", "tree.b": 42}


def test_arrays_marked_static(xp):
    """`static` around an array is refused."""

    class Foo(nnx.Pytree):
        def __init__(self, name):
            self.name = nnx.static(name)

    with pytest.raises(ValueError, match=r"assigned static\(...\) around data: .*name"):
        Foo(name=xp.array(123))


def test_arrays_for_static_attributes(xp):
    """An array for an attribute that is static is refused."""

    class Foo(nnx.Pytree):
        def __init__(self, name):
            self.name = nnx.static(name)

    foo = Foo(name="mattjj")
    with pytest.raises(ValueError, match=r"Cannot assign data to .*name") as caught:
        foo.name = xp.array(123)
    assert "obj.name = data(...)" in str(caught.value)
    assert foo.name == "mattjj"


def test_arrays_appended_to_a_static_list(xp):
    """They are noticed at the end of `__init__`."""

    class Foo(nnx.Pytree):
        def __init__(self):
            self.ls = []
            for i in range(5):
                self.ls.append(xp.array(i))

    with pytest.raises(ValueError, match=r"Found data in .*ls, a list that") as caught:
        Foo()
    for remedy in ("= data(", "= List(", "Data[list]", "pytree=False", "strict=False"):
        assert remedy in str(caught.value)
    assert "(and 4 more)" in str(caught.value)


def test_annotations_inside_values():
    """Marks inside other structures are refused."""

    class Foo(nnx.Pytree):
        def __init__(self):
            self.a = [nnx.data(1), nnx.static(2)]

    with pytest.raises(ValueError, match=r"Found data\(...\) inside the value of"):
        Foo()


class Store:
    """An object with a list of arrays, and an attribute that changes its type."""

    def fill(self, xp):
        self.a = [xp.array(1), xp.array(2)]
        self.b = "hello"
        self.b = xp.array(3)
        return self


class Off(Store, nnx.Pytree, pytree=False):
    pass


class Never(Store, nnx.Object):
    pass


@pytest.mark.parametrize("cls", [Off, Never])
def test_turning_off_registration(cls, xp, tree_util):
    """Without registration there are no checks, and the object is a leaf."""
    foo = cls().fill(xp)
    assert tree_util.tree_leaves([foo]) == [foo]
    assert tree_util.tree_leaves(foo)[0] is foo


class Shared(nnx.Pytree):
    def __init__(self, xp):
        self.x = xp.array(1.0)


class Parent(nnx.Pytree):
    def __init__(self, xp):
        self.left = Shared(xp)
        self.right = self.left


def test_duplicates(xp):
    """Two names for one object are found, with both paths."""
    assert nnx.find_duplicates(Parent(xp)) == [[("left",), ("right",)]]
    assert nnx.find_duplicates(Shared(xp)) == []


def test_plain_maps_lose_sharing(xp, tree_util):
    """A map rebuilds an object each time that it occurs."""
    parent = Parent(xp)
    assert parent.left is parent.right
    mapped = tree_util.tree_map(lambda x: x, parent)
    assert mapped.left is not mapped.right


def test_split_and_update_keep_sharing(xp):
    """Split, merge and update have one value for the two names."""
    parent = Parent(xp)
    graphdef, state = nnx.split(parent)
    merged = nnx.merge(graphdef, state)
    assert merged.left is merged.right
    merged.left.x = merged.left.x + 1
    state = nnx.state(merged)
    nnx.update(parent, state)
    assert parent.left is parent.right
    assert float(parent.right.x) == 2.0
    text = pformat(parent.left.x)
    assert text.endswith("[](2)")
    assert repr(state) == f"State({{'left': {{'x': {text}}}}})"


@pytest.mark.parametrize("cls", [Off, Never])
def test_state_of_objects_that_are_leaves(cls, xp):
    """State and split work for them; the keys of lists are indices."""
    foo = cls().fill(xp)
    foo.a = [x * 2 for x in foo.a]
    foo.b *= 2
    one, two, six = map(pformat, (*foo.a, foo.b))
    text = f"State({{'a': {{0: {one}, 1: {two}}}, 'b': {six}}})"
    assert repr(nnx.state(foo)) == text
    again = nnx.merge(*nnx.split(foo))
    assert [int(x) for x in (*again.a, again.b)] == [2, 4, 6]


class Block(nnx.Module):
    """A linear layer whose mean output is sown."""

    def __init__(self, xp, size):
        self.weight = nnx.Param(xp.ones((size, size)))

    def __call__(self, x):
        y = x @ self.weight
        self.sow(nnx.Intermediate, "y_mean", y.mean())
        return y


class MLP(nnx.Module):
    def __init__(self, xp, layers, size):
        self.blocks = nnx.List([Block(xp, size) for _ in range(layers)])

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def test_sow_and_pop(xp):
    """Sown values are popped with the path of their module."""
    model = MLP(xp, 3, 2)
    model(xp.ones((1, 2)))
    state = nnx.pop(model, nnx.Intermediate)
    assert list(state.blocks) == [0, 1, 2]
    means = [float(state.blocks[i].y_mean.value[0]) for i in range(3)]
    assert means == [2.0, 4.0, 8.0]
    size = state.blocks[0].y_mean[0].nbytes
    assert str(state).splitlines()[:4] == [
        "State({",
        "  'blocks': {",
        "    0: {",
        f"      'y_mean': Intermediate(value=(f{8 * size}[](2),))  # 1 ({size} B)",
    ]
    assert nnx.pop(model, nnx.Intermediate) == nnx.State({})
    assert not hasattr(model.blocks[0], "y_mean")


class Model(nnx.Module):
    def __init__(self, xp):
        self.first = nnx.Param(xp.ones((2, 3)))
        self.second = nnx.Param(xp.ones((3, 4)))

    def __call__(self, x):
        x = self.perturb("xgrad", x @ self.first)
        return x @ self.second


def test_state_of_perturbations(xp):
    """After the first run there are zeros under the name, which are printed."""
    model = Model(xp)
    model(xp.ones((1, 2)))
    state = nnx.state(model, nnx.Perturbation)
    zeros = xp.zeros((1, 3))
    form = f"f{8 * zeros.itemsize}[1,3]"
    assert str(state) == (
        "State({\n"
        f"  'xgrad': Perturbation(value={form}([[0, 0, 0]]))  # 3 ({zeros.nbytes} B)\n"
        "})"
    )
    out = model(xp.ones((1, 2)))
    nnx.update(model, {"xgrad": zeros + 1})
    assert (model(xp.ones((1, 2))) - out).tolist() == [[3.0] * 4]

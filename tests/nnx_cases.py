"""Flax NNX's "Module & Pytree", from "nnx.Pytree" to "Attribute checks", and "Object".

Each example in our own words, for whatever makes arrays: the fixture `xp`. They run
with numpy in `tests/seeds`, and again with jax in `tests/oracle`.
"""

import dataclasses

import pytest

import leafwise as lw
from leafwise import nn


def structure(tree):
    """Return the paths of the leaves, as the examples print them, and the leaves."""
    pairs = lw.tree_flatten_with_path(tree)[0]
    return {f"tree{path}": leaf for path, leaf in pairs}


LAYERS = [f"tree.layers[{place}].{name}" for place in (0, 1) for name in "bw"]


def check_layers(tree):
    found = structure(tree)
    assert [*found] == LAYERS
    assert [leaf.tolist() for leaf in found.values()] == [[0.0], [[1.0]]] * 2


def test_everything_annotated(xp):
    """`data` and `static` on each attribute: only what is data has paths."""

    class Linear(lw.Pytree):
        def __init__(self, din, dout):
            self.din = lw.static(din)
            self.dout = lw.static(dout)
            self.w = lw.data(xp.ones((din, dout)))
            self.b = lw.data(xp.zeros((dout,)))

    class MLP(lw.Pytree):
        def __init__(self, num_layers, dim):
            self.num_layers = lw.static(num_layers)
            self.layers = lw.data([Linear(dim, dim) for _ in range(num_layers)])

    check_layers(MLP(2, 1))


def test_inferred(xp):
    """Without annotations arrays are data, numbers are static, `List` holds data."""

    class Linear(lw.Pytree):
        def __init__(self, din, dout):
            self.din = din
            self.dout = dout
            self.w = xp.ones((din, dout))
            self.b = xp.zeros((dout,))

    class MLP(lw.Pytree):
        def __init__(self, num_layers, dim):
            self.num_layers = num_layers
            self.layers = lw.List([Linear(dim, dim) for _ in range(num_layers)])

    check_layers(MLP(2, 1))


def test_what_is_data(xp):
    """Arrays and our own trees are; strings, numbers and plain containers are not."""
    assert lw.is_data(xp.array(0))
    assert lw.is_data(lw.List([]))
    assert lw.is_data(lw.Dict())
    assert not lw.is_data("hello")
    assert not lw.is_data(42)
    assert not lw.is_data([1, 2.0, 3j, xp.array(1)])


def test_when_to_annotate(xp):
    """Explicit data: an argument of any type, a number, a value that may be None."""

    class Bar(lw.Pytree):
        def __init__(self, x, use_bias):
            self.x = lw.data(x)
            self.y = lw.data(42)
            self.ls = lw.List([xp.array(i) for i in range(3)])
            self.bias = lw.data(None)
            if use_bias:
                self.bias = lw.Dict(value=xp.array(0.0))

    found = structure(Bar(1.0, use_bias=True))
    assert {path: float(leaf) for path, leaf in found.items()} == {
        "tree.bias['value']": 0.0,
        "tree.ls[0]": 0.0,
        "tree.ls[1]": 1.0,
        "tree.ls[2]": 2.0,
        "tree.x": 1.0,
        "tree.y": 42.0,
    }
    assert [*structure(Bar(1.0, use_bias=False))][:1] == ["tree.ls[0]"]


def test_dataclasses(xp):
    """Specifiers say what a field is; the others are what their values make them."""

    @lw.dataclass
    class Foo(lw.Pytree):
        i: int = lw.data()
        x: object
        a: int
        s: str = lw.static(default="hi", kw_only=True)

    @lw.dataclass
    class Bar(lw.Pytree):
        ls: list[Foo] = lw.data()
        shapes: list[int]

    bar = Bar(ls=[Foo(i, xp.array(42 * i), hash(i)) for i in range(2)], shapes=[8, 16])
    found = structure(bar)
    assert {path: int(leaf) for path, leaf in found.items()} == {
        "tree.ls[0].i": 0,
        "tree.ls[0].x": 0,
        "tree.ls[1].i": 1,
        "tree.ls[1].x": 42,
    }


def test_dataclasses_of_the_standard_library():
    """`metadata={"static": ...}` says it to the standard decorator."""

    @dataclasses.dataclass
    class Bar(lw.Pytree):
        a: int = dataclasses.field(metadata={"static": False})
        b: str = dataclasses.field(metadata={"static": True})

    bar = Bar(a=10, b="hello")
    assert structure(bar) == {"tree.a": 10}
    assert repr(bar).endswith("Bar(a=10, b='hello')")


def test_attribute_updates(xp):
    """A kind stays through assignments, until one says otherwise."""

    class Foo(lw.Pytree):
        def __init__(self):
            self.a = xp.array(1.0)
            self.b = "Hello, world!"
            self.c = lw.data(3.14)

    foo = Foo()
    assert {path: float(leaf) for path, leaf in structure(foo).items()} == {
        "tree.a": 1.0,
        "tree.c": 3.14,
    }
    foo.a = "🤔"
    foo.b = lw.data(42)
    foo.c = lw.static(0.5)
    assert structure(foo) == {"tree.a": "🤔", "tree.b": 42}


def test_arrays_marked_static(xp):
    """`static` around an array is refused."""

    class Foo(lw.Pytree):
        def __init__(self, name):
            self.name = lw.static(name)

    with pytest.raises(ValueError, match=r"assigned static\(...\) around data: .*name"):
        Foo(name=xp.array(123))


def test_arrays_for_static_attributes(xp):
    """So is an array for an attribute that is known to be static."""

    class Foo(lw.Pytree):
        def __init__(self, name):
            self.name = lw.static(name)

    foo = Foo(name="mattjj")
    with pytest.raises(ValueError, match=r"Cannot assign data to .*name") as caught:
        foo.name = xp.array(123)
    assert "obj.name = data(...)" in str(caught.value)
    assert foo.name == "mattjj"


def test_arrays_that_came_by_mutation(xp):
    """A static list that is filled in `__init__` is noticed at its end."""

    class Foo(lw.Pytree):
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

    class Foo(lw.Pytree):
        def __init__(self):
            self.a = [lw.data(1), lw.static(2)]

    with pytest.raises(ValueError, match=r"Found data\(...\) inside the value of"):
        Foo()


class Store:
    """What both ways of turning registration off are tried with."""

    def fill(self, xp):
        self.a = [xp.array(1), xp.array(2)]
        self.b = "hello"
        self.b = xp.array(3)
        return self


class Off(Store, lw.Pytree, pytree=False):
    pass


class Never(Store, nn.Object):
    pass


@pytest.mark.parametrize("cls", [Off, Never])
def test_turning_off_registration(cls, xp):
    """Without registration there are no checks, and the object is a leaf."""
    foo = cls().fill(xp)
    assert lw.all_leaves([foo])
    assert lw.tree_leaves(foo)[0] is foo
    assert not lw.is_registered(cls)


class Shared(lw.Pytree):
    def __init__(self, xp):
        self.x = xp.array(1.0)


class Parent(lw.Pytree):
    def __init__(self, xp):
        self.left = Shared(xp)
        self.right = self.left


def test_duplicates(xp):
    """Two names for one object are found, with both paths."""
    assert nn.find_duplicates(Parent(xp)) == [[("left",), ("right",)]]
    assert nn.find_duplicates(Shared(xp)) == []


def test_plain_maps_lose_sharing(xp):
    """A map rebuilds what it meets, each time it meets it."""
    parent = Parent(xp)
    assert parent.left is parent.right
    mapped = lw.tree_map(lambda x: x, parent)
    assert mapped.left is not mapped.right


def test_split_and_update_keep_sharing(xp):
    """Split, merge and update carry one value for the two names."""
    parent = Parent(xp)
    graphdef, state = nn.split(parent)
    merged = nn.merge(graphdef, state)
    assert merged.left is merged.right
    merged.left.x = merged.left.x + 1
    state = nn.state(merged)
    nn.update(parent, state)
    assert parent.left is parent.right
    assert float(parent.right.x) == 2.0
    text = "State({\n  'left': {\n    'x': " + repr(parent.left.x) + "\n  }\n})"
    assert repr(state) == text


@pytest.mark.parametrize("cls", [Off, Never])
def test_state_of_what_is_no_pytree(cls, xp):
    """State and split work for it, with positions as keys."""
    foo = cls().fill(xp)
    foo.a = [x * 2 for x in foo.a]
    foo.b *= 2
    one, two, six = foo.a[0], foo.a[1], foo.b
    inside = f"    0: {one!r},\n    1: {two!r}\n"
    text = f"State({{\n  'a': {{\n{inside}  }},\n  'b': {six!r}\n}})"
    assert repr(nn.state(foo)) == text
    again = nn.merge(*nn.split(foo))
    assert [int(x) for x in (*again.a, again.b)] == [2, 4, 6]


class Block(nn.Module):
    """A linear layer whose mean output is sown."""

    def __init__(self, xp, size):
        self.weight = nn.Param(xp.ones((size, size)))

    def __call__(self, x):
        y = x @ self.weight
        self.sow(nn.Intermediate, "y_mean", y.mean())
        return y


class MLP(nn.Module):
    def __init__(self, xp, layers, size):
        self.blocks = lw.List([Block(xp, size) for _ in range(layers)])

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def test_sow_and_pop(xp):
    """What was sown comes out under the path of its module, and is gone then."""
    model = MLP(xp, 3, 2)
    model(xp.ones((1, 2)))
    found = nn.pop(model, nn.Intermediate)
    assert [*found.blocks] == [0, 1, 2]
    means = [float(found.blocks[i].y_mean.value[0]) for i in range(3)]
    assert means == [2.0, 4.0, 8.0]
    lines = str(found).splitlines()
    assert lines[:4] == [
        "State({",
        "  'blocks': {",
        "    0: {",
        f"      'y_mean': Intermediate( # 1 ({found.blocks[0].y_mean[0].nbytes} B)",
    ]
    assert nn.pop(model, nn.Intermediate) == nn.State({})
    assert not hasattr(model.blocks[0], "y_mean")


class Model(nn.Module):
    def __init__(self, xp):
        self.first = nn.Param(xp.ones((2, 3)))
        self.second = nn.Param(xp.ones((3, 4)))

    def __call__(self, x):
        x = self.perturb("xgrad", x @ self.first)
        return x @ self.second


def test_state_of_perturbations(xp):
    """After the first run there are zeros under the name; they print as they are."""
    model = Model(xp)
    model(xp.ones((1, 2)))
    state = nn.state(model, nn.Perturbation)
    zeros = xp.zeros((1, 3))
    assert str(state) == (
        "State({\n"
        f"  'xgrad': Perturbation( # 3 ({zeros.nbytes} B)\n"
        f"    value={zeros!r}\n"
        "  )\n"
        "})"
    )
    out = model(xp.ones((1, 2)))
    nn.update(model, {"xgrad": zeros + 1})
    assert (model(xp.ones((1, 2))) - out).tolist() == [[3.0] * 4]

"""Flax NNX's "Module & Pytree", from "nnx.Pytree" to "Attribute checks", and "Object".

Each example in our own words, for whatever makes arrays: the fixture `xp`. They run
with numpy in `tests/seeds`, and again with jax in `tests/oracle`.
"""

import dataclasses

import pytest

import leafwise as lw


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


class Never(Store, lw.Object):
    pass


@pytest.mark.parametrize("cls", [Off, Never])
def test_turning_off_registration(cls, xp):
    """Without registration there are no checks, and the object is a leaf."""
    foo = cls().fill(xp)
    assert lw.all_leaves([foo])
    assert lw.tree_leaves(foo)[0] is foo
    assert not lw.is_registered(cls)

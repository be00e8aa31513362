"""`Pytree` classes: kinds of attributes, dataclasses, checks, copies."""

import copy
import dataclasses
import functools

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn
from leafwise.errors import RegistryError


def paths(tree):
    return [str(path) for path in lw.tree_paths(tree)]


class Point(lw.Pytree):
    def __init__(self, **attributes):
        for name, value in attributes.items():
            setattr(self, name, value)


# ------------------------------------------------------------------------- data, static


def test_the_order_of_attributes_does_not_count():
    """Attributes set in another order make an equal treedef, of their own order."""
    one = Point(a=lw.data(1), s="x", b=lw.data(2))
    other = Point(b=lw.data(2), a=lw.data(1), s="x")
    treedefs = [*map(lw.tree_structure, (one, other))]
    assert treedefs[0] == treedefs[1]
    assert hash(treedefs[0]) == hash(treedefs[1])
    assert lw.tree_leaves(other) == [1, 2]
    assert [*vars(lw.tree_map(str, other))] == ["b", "a", "s"]
    assert lw.tree_map(lambda x, y: (x, y), one, other).b == (2, 2)


# ---------------------------------------------------------------------------- inference


@pytest.mark.parametrize(
    "value",
    [
        *("hello", b"", 42, 1.5, 3j, True, None, ..., slice(2)),
        *(np.float32(1), np.int64(2), np.dtype("int8")),
        *(print, len, int, np.ndarray, lambda: 0, (x for x in ())),
        *([], (), {}, set(), [1, 2.0, 3j], range(3), bytearray(b"x"), memoryview(b"x")),
    ],
)
def test_other_values_are_static(value):
    """Everything else is static, NumPy's scalars and all classes included."""
    assert not nn.is_data(value)
    assert nn.name_to_kind(Point(x=value)) == {"x": nn.Kind.STATIC}


def test_registered_types_are_data():
    """`register_data_type` returns the class; subclasses follow on request only."""

    @nn.register_data_type
    class Mine:
        pass

    class Sub(Mine):
        pass

    mine = Mine()
    assert lw.tree_leaves(Point(a=mine)) == [mine]
    assert not nn.is_data(Sub())
    nn.register_data_type(Mine, subclasses=True)
    assert nn.is_data(Sub())


def test_arrays_that_know_their_form_one_by_one():
    """Each instance says whether it is one."""

    class Lazy:
        def __array__(self, dtype=None, copy=None):
            return np.ones(2)

    one, other = Lazy(), Lazy()
    assert not nn.is_data(other)
    one.shape, one.dtype = (2,), np.dtype(float)
    assert (nn.is_data(one), nn.is_data(other)) == (True, False)
    assert lw.tree_leaves(nn.Dict(a=one, b=other)) == [one]


def test_a_type_can_be_registered_as_static():
    """What looks like an array can be registered as static."""

    class Grid:
        shape, dtype, __array__ = (2,), "f4", None

    assert nn.is_data(Grid())
    nn.register_data_type(Grid, data=False)
    assert not nn.is_data(Grid())
    with pytest.raises(RegistryError, match="only a class"):
        nn.register_data_type(3)


def test_arrays_are_recognized_by_their_protocol():
    """An array is told by shape, dtype and a way to hand its memory over."""

    class Shape:
        shape, dtype = (2,), "f4"

    class Array(Shape):
        def __dlpack__(self):
            raise NotImplementedError

    assert not nn.is_data(Shape())
    assert nn.is_data(Array())


# -------------------------------------------------------------------------- dataclasses


def test_specifiers_take_the_options_of_fields():
    """All options of `dataclasses.field` but `metadata` with the same meaning."""

    @lw.dataclass
    class Full(lw.Pytree):
        a: int = lw.data(default=1, repr=False, compare=False, hash=False)
        b: list = lw.static(default_factory=list, kw_only=True, metadata={"unit": "m"})
        c: int = lw.data(init=False, default_factory=lambda: 3)
        d: float = nn.parameter(default=0.5)

    full = Full(b=[2])
    assert lw.tree_leaves(full) == [1, 3, 0.5]
    assert nn.name_to_kind(full)["d"] is nn.Kind.PARAMETER
    assert dataclasses.fields(Full)[1].metadata["unit"] == "m"
    with pytest.raises(TypeError, match="either a single positional argument"):
        lw.data(1, default=2)
    with pytest.raises(TypeError, match="either a single positional argument"):
        lw.static(1, 2)
    with pytest.raises(ValueError, match=r"Kind.DATA, metadata=\{'static': True"):
        lw.data(metadata={"static": True})
    with pytest.raises(ValueError, match=r"pytree_node=False, kind=Kind.DATA"):
        lw.field(pytree_node=False, kind=nn.Kind.DATA)


def test_options_of_the_decorator():
    """Our repr is kept, order and eq work, slots are refused, frozen works."""

    @lw.dataclass(order=True, kw_only=True)
    class Ordered(lw.Pytree):
        x: int = lw.data()

    assert Ordered(x=1) < Ordered(x=2)
    assert Ordered.__hash__ is None
    assert repr(Ordered(x=1)) == "Ordered(x=1)"

    @lw.dataclass(frozen=True)
    class Frozen(lw.Pytree):
        x: object = lw.data()
        y: object
        name: str = "n"

    frozen = Frozen([1], np.ones(1))
    assert paths(frozen) == [".x[0]", ".y"]
    assert lw.tree_map(lambda x: x * 2, frozen).x == [2]
    with pytest.raises(dataclasses.FrozenInstanceError):
        frozen.x = 3
    with pytest.raises(TypeError, match="has __slots__"):
        lw.dataclass(slots=True)(Undecorated)


def test_metadata_must_be_bool():
    """The standard decorator with metadata works; anything but a bool is refused."""

    @dataclasses.dataclass
    class Bar(lw.Pytree):
        a: int = dataclasses.field(metadata={"static": "yes"})

    with pytest.raises(ValueError, match="expected bool, got str"):
        Bar(1)


def test_an_annotation_and_a_specifier_that_disagree():
    """An annotation and a specifier that disagree are refused at once."""
    with pytest.raises(ValueError, match="annotated as data but its field is declared"):

        @lw.dataclass
        class Foo(lw.Pytree):
            a: nn.Data[int] = lw.static()

    with pytest.raises(ValueError, match="has metadata that disagrees"):

        @lw.dataclass
        class Bar(lw.Pytree):
            a: int = dataclasses.field(metadata={"static": True, "pytree_node": True})


def test_the_tools_of_dataclasses():
    """`replace`, `asdict`, `fields`, `__post_init__` and inheritance work."""

    @lw.dataclass
    class Base(lw.Pytree):
        x: float = lw.data()

    @lw.dataclass
    class Sub(Base):
        y: int = 2

        def __post_init__(self):
            self.z = lw.data(self.y + 1)

    sub = dataclasses.replace(Sub(1.0), x=5.0)
    assert lw.tree_leaves(sub) == [5.0, 3]
    assert dataclasses.asdict(sub) == {"x": 5.0, "y": 2}
    assert [field.name for field in dataclasses.fields(sub)] == ["x", "y"]
    assert Sub(1.0) == Sub(1.0)


def test_marked_values_in_a_class_body():
    """A marked value in the body of a plain class is a default with a kind."""

    class Foo(lw.Pytree):
        x: int = lw.data(7)

    foo = Foo()
    assert foo.x == 7
    foo.x = 8
    assert lw.tree_leaves(foo) == [8]

    class Bar(lw.Pytree):
        x: int = lw.data(default=7)

    with pytest.raises(TypeError, match="is not a dataclass; decorate it"):
        Bar()


# ---------------------------------------------------------------------------- stability


def test_kinds_belong_to_instances_and_end_with_del():
    """Another instance knows nothing of it; after `del` it is asked anew."""
    point = Point(x=lw.data(1))
    assert nn.name_to_kind(Point(x=1)) == {"x": nn.Kind.STATIC}
    del point.x
    assert nn.name_to_kind(point) == {}
    point.x = 1
    assert lw.tree_leaves(point) == []
    with pytest.raises(AttributeError):
        del point.y


def test_cached_properties_are_not_part_of_the_tree():
    """What a cached property keeps is computed anew by a rebuilt object."""

    class Foo(lw.Pytree):
        def __init__(self, x):
            self.x = lw.data(x)

        @functools.cached_property
        def doubled(self):
            return self.x * 2

    foo = Foo(2)
    treedef = lw.tree_structure(foo)
    assert foo.doubled == 4
    assert lw.tree_structure(foo) == treedef
    mapped = lw.tree_map(lambda x: x + 1, foo)
    assert (mapped.doubled, copy.copy(foo).doubled) == (6, 4)
    assert "doubled" not in nn.name_to_kind(foo)


# ------------------------------------------------------------------------------- checks


def test_data_in_static_lists_is_refused_after_the_outermost_init():
    """`super().__init__()` may leave something that the subclass mends."""

    class Base(lw.Pytree):
        def __init__(self):
            self.ls = []
            self.ls.append(np.ones(1))

    class Mended(Base):
        def __init__(self):
            super().__init__()
            self.ls = lw.data(self.ls)

    assert len(lw.tree_leaves(Mended())) == 1
    with pytest.raises(lw.errors.KindError):
        Base()


def test_data_for_a_static_name_may_be_replaced_in_init():
    """Data for a declared name is refused at the end of `__init__` only."""

    class Foo(lw.Pytree):
        x: nn.Static[object]

        def __init__(self, mend):
            self.x = np.ones(1)
            if mend:
                self.x = "fine"

    assert Foo(mend=True).x == "fine"
    with pytest.raises(lw.errors.KindError, match="x, which is static"):
        Foo(mend=False)


def test_check_pytree():
    """It repeats the checks, also below; and wants a Pytree."""

    class Foo(lw.Pytree):
        def __init__(self):
            self.ls = []

    foo = Foo()
    outer = Point(inside=lw.data({"k": [foo]}))
    nn.check_pytree(outer)
    foo.ls.append(np.ones(1))
    with pytest.raises(lw.errors.KindError, match="a list that would") as caught:
        nn.check_pytree(outer)
    assert caught.value.__notes__ == ["the object is at .inside['k'][0]"]
    nn.check_pytree(outer, recursive=False)
    with pytest.raises(TypeError, match="takes an instance of a Pytree class, got"):
        nn.check_pytree([foo])
    foo.ls[:] = [lw.data(1)]
    with pytest.raises(lw.errors.KindError, match="inside the value of"):
        nn.check_pytree(outer)


def test_static_values_with_cycles_and_many_items():
    """A static value that contains itself is looked through once."""
    knot = [1]
    knot.append(knot)
    many = [[i] for i in range(1000)]
    many += many
    assert lw.tree_leaves(Point(knot=knot, many=many)) == []
    knot.append(np.ones(1))
    with pytest.raises(lw.errors.KindError):
        Point(knot=knot)


def test_properties_keep_their_own_state():
    """A property's setter stores what it stores; if it raises, nothing changed."""

    class Foo(lw.Pytree):
        @property
        def x(self):
            return self._x

        @x.setter
        def x(self, value):
            if value is None:
                raise RuntimeError("no")
            self._x = value

        @property
        def fixed(self):
            return 1

    foo = Foo()
    foo.x = np.ones(1)
    assert nn.name_to_kind(foo) == {"_x": nn.Kind.DATA}
    for name, error in (("x", RuntimeError), ("fixed", AttributeError)):
        with pytest.raises(error):
            setattr(foo, name, None)
        with pytest.raises(error):
            setattr(foo, name, lw.data(None))
    assert nn.name_to_kind(foo) == {"_x": nn.Kind.DATA}
    assert foo.x.tolist() == [1.0]


# ------------------------------------------------------------- options of classes


def test_containers_may_be_data_in_a_class_that_is_not_strict():
    """`strict=False` makes data of a container that holds data, also later."""

    class Loose(lw.Pytree, strict=False):
        fixed: nn.Static[object]

        def __init__(self):
            self.layers = [np.ones(1)]
            self.grown = []
            self.grown.append(np.ones(2))
            self.maybe = None

    loose = Loose()
    assert paths(loose) == [".grown[0]", ".layers[0]"]
    loose.maybe = np.ones(1)
    assert paths(loose) == [".grown[0]", ".layers[0]", ".maybe"]
    with pytest.raises(lw.errors.KindError):
        loose.fixed = [np.ones(1)]
    with pytest.raises(lw.errors.KindError):
        loose.name = lw.static(np.ones(1))


def test_pytree_false_is_inherited():
    """A subclass of a class that is no node is none, unless it says so."""

    class Off(lw.Pytree, pytree=False):
        pass

    class Sub(Off):
        pass

    class On(Off, pytree=True):
        pass

    assert (lw.tree.is_leaf(Off()), lw.tree.is_leaf(Sub()), lw.tree.is_leaf(On())) == (
        True,
        True,
        False,
    )


def test_options_are_checked():
    """An unknown order is refused when the class is made."""
    with pytest.raises(ValueError, match="order must be 'name' or 'insertion'"):
        type("Bad", (lw.Pytree,), {}, order="size")


def test_a_pytree_is_a_node_everywhere():
    """So its dataclass takes no namespace."""
    with pytest.raises(TypeError, match="omit namespace"):
        lw.namespace("decorated").dataclass(Undecorated)


class Undecorated(lw.Pytree):
    x: int


# ------------------------------------------------------------------------------ copying


def test_users_may_choose_what_is_pickled():
    """`__getstate__` and `__reduce__` of a class are used."""

    class Small(Point):
        def __getstate__(self):
            return {"x": self.x}

    small = copy.copy(Small(x=lw.data(1), cache=lw.data(2)))
    assert lw.tree_leaves(small) == [1]

    class Other(Point):
        def __reduce__(self):
            return dict, ()

    assert copy.copy(Other(x=1)) == {}


def test_replace():
    """A copy with other values, checked as assignments are; statics included."""
    point = Point(size=3, x=lw.data(1))
    other = nn.replace(point, size=4, x=2)
    assert (other.size, other.x, point.size, point.x) == (4, 2, 3, 1)
    with pytest.raises(AttributeError, match="no attribute 'sise'"):
        nn.replace(point, sise=4)
    with pytest.raises(lw.errors.KindError):
        nn.replace(point, size=np.ones(1))
    with pytest.raises(TypeError):
        nn.replace([], x=1)

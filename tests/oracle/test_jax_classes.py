"""Registered classes inside jax: what is rebuilt, compared and named, and by whom."""

import abc
import dataclasses
import enum
import pickle
import sys
from dataclasses import InitVar, field
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn


jax = pytest.importorskip("jax")

T = TypeVar("T")


class Color(enum.Enum):
    RED = 1


class Checks(type):
    def __call__(cls, *args, **kwargs):
        return super().__call__(*args, **kwargs)


@pytest.fixture
def jax_dataclasses(monkeypatch):
    """The classes that became dataclass nodes of jax."""
    register = jax.tree_util.register_dataclass
    classes = []

    def recording(cls, data, meta):
        classes.append(cls)
        return register(cls, data, meta)

    monkeypatch.setattr(jax.tree_util, "register_dataclass", recording)
    for name in ("beartype", "typeguard"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return classes


# ------------------------------------------------------------- who reads and rebuilds


def plain(**options):
    @lw.dataclass(**options)
    class Plain:
        x: Any
        y: Any = 2.0
        name: str = lw.static(default="m")

    return Plain(x=1.0)


def no_statics():
    @lw.dataclass
    class NoStatics:
        x: Any
        y: Any = None

    return NoStatics(1.0, [2.0, 3.0])


def plain_annotations():
    @lw.dataclass
    class Annotated:
        x: Any
        number: int | None = lw.static(default=None)
        shape: tuple[int, ...] = lw.static(default=(1, 2))
        mode: Literal["a", "b"] = lw.static(default="a")
        color: Color = lw.static(default=Color.RED)
        text: "str | None" = lw.static(default="x")

    return Annotated(1.0)


def abstract():
    @lw.dataclass
    class Abstract(abc.ABC):
        x: Any

    return Abstract(1.0)


def generic():
    @lw.dataclass
    class Box(Generic[T]):
        x: T

    return Box[float](1.0)


def inherited():
    @lw.dataclass
    class Base:
        x: Any
        name: str = lw.static(default="n")

    @lw.dataclass
    class Sub(Base):
        y: Any = 3.0

    return Sub(1.0)


def factory():
    @lw.dataclass
    class Factory:
        x: Any = field(default_factory=lambda: [1.0])

    return Factory()


def other_order():
    @dataclasses.dataclass
    class Point:
        x: Any
        y: Any

    lw.register_dataclass(Point, ["y", "x"], [])
    return Point(1.0, 2.0)


def unknown_static(annotation=Any, value=1):
    def make():
        cls = dataclasses.make_dataclass(
            "Unknown", ["x", ("value", annotation, lw.static())]
        )
        return lw.register_dataclass(cls)(1.0, value)

    return make


def post_init():
    @lw.dataclass
    class Checked:
        x: Any

        def __post_init__(self):
            assert isinstance(self.x, float)

    return Checked(1.0)


def own_init():
    @lw.dataclass
    class Own:
        x: Any

        def __init__(self, x):
            self.x = float(x)

    return Own(1.0)


def init_variable():
    @lw.dataclass
    class Variable:
        x: Any
        scale: InitVar[int] = 3

    return Variable(1.0)


def not_in_init():
    @lw.dataclass
    class Late:
        x: Any
        y: Any = field(init=False, default=2.0)

    return Late(1.0)


def own_setattr():
    @lw.dataclass
    class Converts:
        x: Any

        def __setattr__(self, name, value):
            object.__setattr__(self, name, float(value))

    return Converts(1.0)


def own_new():
    @lw.dataclass
    class New:
        x: Any

        def __new__(cls, *args, **kwargs):
            return object.__new__(cls)

    return New(1.0)


def own_call():
    @lw.dataclass
    class Called(metaclass=Checks):
        x: Any

    return Called(1.0)


def replaced_init():
    @dataclasses.dataclass
    class Wrapped:
        x: Any

    def check(self, x):
        self.x = float(x)

    Wrapped.__init__ = check
    return lw.register_dataclass(Wrapped)(1.0)


def dropped():
    @dataclasses.dataclass
    class Drops:
        x: Any
        y: Any = 3.0

    lw.register_dataclass(Drops, ["x"], [], ["y"])
    return Drops(1.0)


BY_JAX = {
    "plain": plain,
    "frozen": lambda: plain(frozen=True),
    "slots": lambda: plain(slots=True),
    "keywords only": lambda: plain(kw_only=True),
    "no statics": no_statics,
    "plain annotations": plain_annotations,
    "abstract": abstract,
    "generic": generic,
    "inherited": inherited,
    "default_factory": factory,
    "other order": other_order,
}
BY_FUNCTIONS = {
    "static Any": unknown_static(),
    "static array": unknown_static(np.ndarray, np.arange(3)),
    "static list": unknown_static(list, [1]),
    "static that nobody knows": unknown_static("Nobody"),
    "__post_init__": post_init,
    "__init__": own_init,
    "InitVar": init_variable,
    "init=False": not_in_init,
    "__setattr__": own_setattr,
    "__new__": own_new,
    "__call__": own_call,
    "replaced __init__": replaced_init,
    "dropped": dropped,
}


def assert_same_in_jax(obj):
    """Leaves, paths and text are those of leafwise; leaves may be anything."""
    leaves, treedef = jax.tree.flatten(obj)
    assert leaves == lw.tree_leaves(obj)
    jax_paths, _ = jax.tree_util.tree_flatten_with_path(obj)
    paths, _ = lw.tree_flatten_with_path(obj)
    jax_text = [jax.tree_util.keystr(path) for path, _ in jax_paths]
    assert jax_text == [str(path) for path, _ in paths]
    for new in (leaves, [object() for _ in leaves], [None] * len(leaves)):
        rebuilt = jax.tree.unflatten(treedef, new)
        assert type(rebuilt) is type(obj)
        assert lw.tree_structure(rebuilt, none_is_leaf=True).num_leaves >= len(leaves)
    again = jax.tree.structure(jax.tree.unflatten(treedef, leaves))
    assert (again, hash(again)) == (treedef, hash(treedef))


@pytest.mark.parametrize("make", BY_JAX.values(), ids=BY_JAX)
def test_dataclasses_that_jax_rebuilds_as_we_do(make, jax_dataclasses):
    obj = make()
    assert type(obj) in jax_dataclasses
    assert_same_in_jax(obj)


@pytest.mark.parametrize("make", BY_FUNCTIONS.values(), ids=BY_FUNCTIONS)
def test_other_dataclasses_are_rebuilt_by_our_functions(make, jax_dataclasses):
    obj = make()
    assert type(obj) not in jax_dataclasses
    assert_same_in_jax(obj)


def test_a_type_checker_may_replace_init_later(jax_dataclasses, monkeypatch):
    monkeypatch.setitem(sys.modules, "beartype", sys)
    assert type(plain()) not in jax_dataclasses


NAMES = ["self", "aux", "node", "cls", "put", "new", "wrap", "children", "_x", "__y"]


@pytest.mark.parametrize("frozen", [False, True])
def test_fields_may_have_the_names_of_generated_locals(frozen):
    cls = dataclasses.make_dataclass(
        "Names", [*NAMES, ("value", Any, lw.static())], frozen=frozen
    )
    lw.register_dataclass(cls)
    assert_same_in_jax(cls(*range(len(NAMES)), value="v"))


def test_attributes_that_cannot_be_written_in_a_program():
    class Odd:
        pass

    names = ["class", "ﬁ", "é", "__debug__"]
    lw.register_dataclass(Odd, names, [])
    odd = Odd()
    vars(odd).update(zip(names, (1.0, 2.0, 3.0, 4.0), strict=True))
    assert_same_in_jax(odd)


# ----------------------------------------------------------------------- static values


@lw.dataclass
class Holder:
    x: Any
    value: Any = lw.static(default=None)


SAME = {
    "array": lambda: np.arange(3),
    "list": lambda: [1, [2]],
    "dict": lambda: {"a": 1},
    "nested tuple": lambda: (1, (2, np.arange(2))),
    "text": lambda: "text",
    "tuple": lambda: (1, "a"),
    "None": lambda: None,
    "function": lambda: plain,
}


@pytest.mark.parametrize("make", SAME.values(), ids=SAME)
def test_equal_statics_compile_once(make):
    traced = []

    @jax.jit
    def first(holder):
        traced.append(holder)
        return holder.x

    first(Holder(1.0, make()))
    first(Holder(2.0, make()))
    assert len(traced) == 1
    first(Holder(1.0, "another"))
    assert len(traced) == 2


@pytest.mark.parametrize("a", [1, True, 1.0, -0.0, "a", (1,), float("nan"), plain, int])
@pytest.mark.parametrize("b", [1, 0, (True,), [1], None])
def test_statics_are_compared_as_in_leafwise(a, b):
    first = Holder(1.0, a)
    second = Holder(1.0, b)
    is_same = lw.tree_structure(first) == lw.tree_structure(second)
    assert (jax.tree.structure(first) == jax.tree.structure(second)) is is_same


def test_plain_aux_data_is_given_to_jax_as_it_is():
    """So treedefs can be pickled, and `jax.export` can be told how to write it."""
    treedef = jax.tree.structure(Holder(1.0, "text"))
    assert treedef.node_data() == (Holder, ("text",))
    assert pickle.loads(pickle.dumps(treedef)) == treedef


# ------------------------------------------------------------------ functions of users


class Pair:
    def __init__(self, *children, aux=None):
        self.children = children
        self.aux = aux


FLATTEN = {
    "two": lambda pair: (pair.children, pair.aux),
    "list": lambda pair: (list(pair.children), pair.aux),
    "iterator": lambda pair: (iter(pair.children), pair.aux),
    "keys": lambda pair: (pair.children, pair.aux, ("first", "second")),
}


@pytest.mark.parametrize("aux", [None, "a", (1, 2), ((1,),), [1]], ids=repr)
@pytest.mark.parametrize("flatten", FLATTEN.values(), ids=FLATTEN)
def test_functions_of_a_user(flatten, aux):
    class Own(Pair):
        pass

    def unflatten(aux, children):
        assert type(children) is tuple
        return Own(*children, aux=aux)

    lw.register_pytree_node(Own, flatten, unflatten)
    pair = Own(1.0, [2.0], aux=aux)
    assert_same_in_jax(pair)
    assert jax.tree.map(lambda x: -x, pair).children == (-1.0, [-2.0])
    assert jax.tree.map(lambda x: x, pair).aux == aux


WRONG = {
    "a text": lambda pair: ("ab", None),
    "a dict": lambda pair: ({"a": 1}, None),
    "a list": lambda pair: [(1,), None],
    "four": lambda pair: ((1,), None, ("a",), 4),
}


@pytest.mark.parametrize("flatten", WRONG.values(), ids=WRONG)
def test_what_a_function_returns_is_checked(flatten):
    class Own(Pair):
        pass

    lw.register_pytree_node(Own, flatten, lambda aux, children: Own())
    with pytest.raises(lw.errors.FlattenError):
        jax.tree.leaves(Own())


# ------------------------------------------------------------------------------ modules


class Model(nn.Module):
    def __init__(self):
        self.w = jax.numpy.ones(2)
        self.size = 3
        self.b = jax.numpy.zeros(1)


def test_a_rebuilt_module_keeps_the_order_of_its_attributes():
    """Before the engine offers a function that builds the table, and after."""
    for _ in range(40):
        model = Model()
        leaves, treedef = jax.tree.flatten(model)
        rebuilt = jax.tree.unflatten(treedef, leaves)
        assert list(vars(rebuilt)) == ["w", "size", "b"]
        assert (rebuilt.w is model.w, rebuilt.b is model.b) == (True, True)
        rebuilt.size = 4
        assert jax.tree.structure(rebuilt) != treedef


# -------------------------------------------------------------- registered again


def test_jax_keeps_its_own_node_of_a_class_registered_again(jax_dataclasses):
    """Which a warning says, unless the fields are the same."""

    @lw.dataclass
    class Point:
        x: Any
        name: str = lw.static(default="n")

    point = Point(1.0)
    lw.register_dataclass(Point, ["x"], ["name"], exist_ok=True)
    with pytest.warns(UserWarning, match="keeps the first registration of .*Point"):
        lw.register_dataclass(Point, ["x", "name"], [], exist_ok=True)
    assert jax_dataclasses == [Point]
    assert lw.tree_leaves(point) == [1.0, "n"]
    assert jax.tree.leaves(point) == [1.0]
    lw.integrations.enable("jax")  # which does not warn again


def test_generated_functions_follow_a_class_that_is_registered_again():
    @lw.dataclass
    class Point:
        x: Any
        value: Any = lw.static(default="n")

    point = Point(1.0)
    leaves, treedef = jax.tree.flatten(point)
    lw.register_dataclass(Point, ["x", "value"], [], exist_ok=True)
    assert jax.tree.leaves(point) == [1.0, "n"]
    assert jax.tree.structure(point) != treedef
    assert jax.tree.unflatten(treedef, leaves) == point
    assert jax.tree.map(lambda x: x, point) == point

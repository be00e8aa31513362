"""The decision table of `obj.name = value`: each value in each state."""

import functools
import sys
from collections import UserList
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn


ARRAY = np.ones((2, 3), np.float32)
LIST = [1, {"a": (ARRAY, 2)}]

VALUES = {
    "data(x)": lambda: lw.data(1),
    "data(array)": lambda: lw.data(ARRAY),
    "data(list of arrays)": lambda: lw.data([ARRAY]),
    "static(x)": lambda: lw.static(1),
    "static(array)": lambda: lw.static(ARRAY),
    "static(list of arrays)": lambda: lw.static(LIST),
    "array": lambda: ARRAY,
    "tree": lambda: nn.List([]),
    "list of arrays": lambda: LIST,
    "plain": lambda: 42,
    "plain list": lambda: [1, "a", {"b": None}],
}
STATES = ("new", "declared static", "static", "data", "declared data")
ROWS = {  # new, declared static and unset, static, data, declared data and unset
    "data(x)": ("data", "data", "data", "data", "data"),
    "data(array)": ("data", "data", "data", "data", "data"),
    "data(list of arrays)": ("data", "data", "data", "data", "data"),
    "static(x)": ("static", "static", "static", "static", "static"),
    "static(array)": ("static around data",) * 5,
    "static(list of arrays)": ("static around data",) * 5,
    "array": ("data", "static by declaration", "static since set", "data", "data"),
    "tree": ("module", "static by declaration", "static since set", "data", "data"),
    "list of arrays": ("data inside", "data inside", "data inside", "data", "data"),
    "plain": ("static", "static", "static", "data", "data"),
    "plain list": ("static", "static", "static", "data", "data"),
}
TABLE = [
    (value, state, outcome)
    for value, outcomes in ROWS.items()
    for state, outcome in zip(STATES, outcomes, strict=True)
]
ERRORS = {
    "static around data": "Foo.x was assigned static(...) around data: Foo.x",
    "static since set": (
        "Cannot assign data to Foo.x, which is static since it was first set: Foo.x"
    ),
    "data inside": "Found data in Foo.x, a list that would be static: Foo.x",
    "static by declaration": (
        "Cannot assign data to Foo.x, which is static by declaration: Foo.x"
    ),
}
"""How the messages of the outcomes that are errors begin."""


class Undeclared(lw.Pytree):
    pass


class DeclaredStatic(lw.Pytree):
    x: nn.Static[object]


class DeclaredData(lw.Pytree):
    x: nn.Data[object]


def make(state, value):
    """Return a class whose `__init__` brings the attribute into a state and assigns."""
    base = {"declared static": DeclaredStatic, "declared data": DeclaredData}
    before = {"static": lambda: "s", "data": lambda: lw.data("d")}

    class Foo(base.get(state, Undeclared)):
        def __init__(self):
            if state in before:
                self.x = before[state]()
            self.x = value

    Foo.__qualname__ = "Foo"
    return Foo


@pytest.mark.parametrize(("value", "state", "outcome"), TABLE)
def test_during_init(value, state, outcome):
    """Assigned in `__init__`, a value has the outcome that the table says."""
    Foo = make(state, VALUES[value]())
    if outcome in ERRORS:
        with pytest.raises(lw.errors.KindError) as caught:
            Foo()
        assert str(caught.value).startswith(ERRORS[outcome])
        assert caught.value.owner is Foo
        assert caught.value.attribute == "x"
        return
    assert nn.name_to_kind(Foo())["x"].value == outcome


@pytest.mark.parametrize(("value", "state", "outcome"), TABLE)
def test_after_init(value, state, outcome):
    """Later, too; and what is refused leaves value and kind as they were."""
    base = {"declared static": DeclaredStatic, "declared data": DeclaredData}
    obj = base.get(state, Undeclared)()
    if state in ("static", "data"):
        obj.x = lw.data("d") if state == "data" else "s"
    before = (dict(vars(obj)), dict(nn.name_to_kind(obj)))
    if outcome in ERRORS:
        with pytest.raises(lw.errors.KindError) as caught:
            obj.x = VALUES[value]()
        if outcome == "static by declaration":  # refused at once, with this reason
            assert "which is static by declaration: " in str(caught.value)
        assert (dict(vars(obj)), dict(nn.name_to_kind(obj))) == before
        return
    obj.x = VALUES[value]()
    assert nn.name_to_kind(obj)["x"].value == outcome
    assert type(obj.x) is not type(lw.data(1))


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(
    ("value", "mark", "path"),
    [
        (lambda: [lw.data(1), lw.static(2)], "data", ".x[0]"),
        (lambda: {"a": (1, lw.static(2))}, "static", ".x['a'][1]"),
        (lambda: lw.data([1, nn.parameter(3)]), "parameter", ".x[1]"),
        (lambda: lw.data(lw.static(3)), "static", ".x"),
        (lambda: lw.static(lw.data(3)), "data", ".x"),
    ],
    ids=["list", "dict", "data of a list", "data of static", "static of data"],
)
def test_marks_inside(state, value, mark, path):
    """A mark inside another value is refused in every state."""
    with pytest.raises(lw.errors.KindError) as caught:
        make(state, value())()
    assert str(caught.value) == (
        f"Found {mark}(...) inside the value of Foo.x, at Foo{path}. A mark applies to "
        f"a whole attribute, so wrap the assigned value instead:\n  obj.x = {mark}(...)"
    )
    assert str(caught.value.path) == path


def test_whole_texts():
    """The errors say where and what the data is, and what can be done."""

    class Foo(lw.Pytree):
        def __init__(self):
            self.cfg = "none"
            self.grown = []

    foo = Foo()
    with pytest.raises(lw.errors.KindError) as caught:
        foo.name = lw.static(ARRAY)
    assert str(caught.value).replace(Foo.__qualname__, "Foo") == (
        "Foo.name was assigned static(...) around data: Foo.name is ndarray of shape "
        "(2, 3) and dtype float32.\n"
        "Do one of these:\n"
        "  1. mark it as data:  obj.name = data(...)\n"
        "  2. mark it from the start, even if None:  self.name = data(None)\n"
        "  3. declare it in the class:  name: Data[...]\n"
        "  4. assign a value without data:  obj.name = static(...)"
    )
    with pytest.raises(lw.errors.KindError) as caught:
        foo.cfg = ARRAY
    assert str(caught.value).replace(Foo.__qualname__, "Foo") == (
        "Cannot assign data to Foo.cfg, which is static since it was first set: "
        "Foo.cfg is ndarray of shape (2, 3) and dtype float32.\n"
        "Do one of these:\n"
        "  1. mark it as data:  obj.cfg = data(...)\n"
        "  2. mark it from the start, even if None:  self.cfg = data(None)\n"
        "  3. declare it in the class:  cfg: Data[...]\n"
        "  4. assign a value without data:  obj.cfg = static(...)"
    )
    with pytest.raises(lw.errors.KindError) as caught:
        foo.cfg = {"a": [1, ARRAY, ARRAY[0]]}
    assert str(caught.value).replace(Foo.__qualname__, "Foo") == (
        "Found data in Foo.cfg, a dict that would be static: Foo.cfg['a'][1] is "
        "ndarray of shape (2, 3) and dtype float32 (and 1 more).\n"
        "Do one of these:\n"
        "  1. mark the whole dict as data:  obj.cfg = data(...)\n"
        "  2. use a container that accepts data:  obj.cfg = Dict(...)\n"
        "  3. declare it in the class:  cfg: Data[dict]\n"
        "  4. treat such containers as data:  class Foo(..., strict=False)\n"
        "  5. disable pytree for the class:  class Foo(..., pytree=False)\n"
        "  6. assign a value without data:  obj.cfg = static(...)"
    )
    foo.grown.append(ARRAY)
    with pytest.raises(lw.errors.KindError, match="a list that would") as caught:
        nn.check_pytree(foo)
    assert str(caught.value.path) == ".grown[0]"


class InNamespace:
    """A node in one namespace only."""

    def __init__(self, content):
        self.content = content


lw.register_pytree_node(
    InNamespace,
    lambda node: ((node.content,), None),
    lambda _, children: InNamespace(*children),
    namespace="of decisions",
    exist_ok=True,
)


@pytest.mark.parametrize(
    ("make", "path"),
    [
        (InNamespace, ".x[<flat index 0>]"),
        (lambda array: UserList([1, array]), ".x[1]"),
        (lambda array: SimpleNamespace(a=1, b=[array]), ".x.b[0]"),
        (lambda array: [np.array([None], dtype=object)], ".x[0]"),
    ],
    ids=["a node in a namespace", "UserList", "SimpleNamespace", "array of objects"],
)
def test_no_array_is_lost_in_what_is_no_tree(make, path):
    """Records and containers that are no nodes are looked into."""

    class Model(lw.Pytree):
        pass

    model = Model()
    with pytest.raises(lw.errors.KindError) as caught:
        model.x = make(ARRAY)
    assert str(caught.value.path) == path


def test_what_another_namespace_cannot_flatten():
    """Is looked into as if it were not known there; here it would be an error."""
    space = lw.namespace("of sorted sets")
    space.register_pytree_node(
        set, lambda s: (sorted(s), None), lambda _, items: {*items}
    )
    try:
        model = lw.Pytree()
        model.names = {(1,), b"a"}
        assert lw.tree_leaves(model) == []
        with pytest.raises(lw.errors.KindError, match=r"Found data in Pytree\.names"):
            model.names = {(1,), b"a", nn.List([])}
    finally:
        space.unregister_pytree_node(set)


def test_attrs_classes_are_looked_into():
    """As dataclasses are, registered or not."""
    attrs = pytest.importorskip("attrs")
    record = attrs.make_class("Record", ["a", "b"])

    class Model(lw.Pytree):
        pass

    model = Model()
    model.x = record(1, "b")
    with pytest.raises(lw.errors.KindError, match=r"Model\.x\.b is ndarray"):
        model.x = record(1, ARRAY)
    assert model.x == record(1, "b")


def test_modules_of_other_libraries_are_refused(monkeypatch):
    """By their base class, once its library is imported; a mark says otherwise."""

    class Layer:
        """As in keras: a mode, and no values that jax or leafwise sees."""

    monkeypatch.setitem(sys.modules, "keras", SimpleNamespace(Layer=Layer))

    class Dense(Layer):
        def __call__(self):
            return None

    class Model(nn.Module):
        fixed: nn.Static[Any]

        def __init__(self, layer):
            self.layer = layer

    for layer in (Dense(), [Dense()], {"a": Dense()}, functools.partial(Dense())):
        with pytest.raises(lw.errors.KindError, match="a module of keras: it would"):
            Model(layer)
    model = Model(nn.static(Dense()))
    model.fixed = Dense()
    model.layer = Dense()  # static by choice, as before
    nn.check_pytree(model)
    assert lw.tree_leaves(model) == []
    plain = lw.Pytree()
    plain.layer = Dense()  # it is neither trained nor switched, with or without it
    assert lw.tree_leaves(plain) == []

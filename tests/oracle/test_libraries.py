"""Classes of attrs, pydantic and msgspec in jax, optree and torch."""

import os
import subprocess
import sys
from typing import Annotated, Any

import numpy as np
import pytest

import leafwise as lw
from leafwise.errors import RegistryError
from leafwise.fields import Static
from leafwise.integrations import (
    register_attrs,
    register_mapping,
    register_model,
    register_sequence,
    register_struct,
)


def run(code):
    """Run code in a fresh process, and return the lines that it prints."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code]
    return subprocess.check_output(command, text=True, env=env).splitlines()


@pytest.fixture
def classes(need):
    """Return a class of each library; its children are w, its static field name."""
    attrs = need("attrs")
    pydantic = need("pydantic")
    msgspec = need("msgspec")

    @register_attrs
    @attrs.frozen
    class Attrs:
        w: Any
        name: str = attrs.field(default="n", metadata={"static": True})

    @register_model
    class Model(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
        w: Any
        name: Annotated[str, lw.static()] = "n"

    @register_struct
    class Struct(msgspec.Struct, frozen=True):
        w: Any
        name: Annotated[str, lw.static()] = "n"

    return [Attrs, Model, Struct]


def test_each_is_a_node_in_jax(jax, classes):
    """In transforms too; static fields decide whether a function is traced again."""
    for cls in classes:
        names = []

        @jax.jit
        def double(node, names=names):
            names.append(node.name)
            return jax.tree.map(lambda w: 2 * w, node)

        node = cls(w=np.ones(2, np.float32))
        doubled = double(node)
        assert type(doubled) is cls
        assert (doubled.w.tolist(), doubled.name) == ([2.0, 2.0], "n")
        double(cls(w=np.zeros(2, np.float32)))
        double(cls(w=np.zeros(2, np.float32), name="m"))
        assert names == ["n", "m"]
        (path, _), *_ = jax.tree_util.tree_leaves_with_path(node)
        assert jax.tree_util.keystr(path) == ".w"
        gradient = jax.grad(lambda node: (node.w**2).sum())(node)
        assert gradient.w.tolist() == [2.0, 2.0]


def test_each_is_a_node_in_optree_and_torch(optree, torch_tree, classes):
    for cls in classes:
        node = cls(w=3)
        assert optree.tree_leaves(node, namespace="leafwise") == [3]
        doubled = torch_tree.tree_map(lambda w: 2 * w, node)
        assert (type(doubled), doubled.w, doubled.name) == (cls, 6, "n")


def test_without_a_bridge(jax, need):
    """`bridge=False` of each function; `status` says why the class is a leaf."""
    attrs = need("attrs")
    pydantic = need("pydantic")
    msgspec = need("msgspec")

    @attrs.define
    class Attrs:
        w: Any

    class Model(pydantic.BaseModel):
        w: Any

    class Struct(msgspec.Struct):
        w: Any

    class Items(list):
        pass

    class Table(dict):
        pass

    register_attrs(Attrs, bridge=False)
    register_model(Model, bridge=False)
    register_struct(Struct, bridge=False)
    register_sequence(Items, bridge=False)
    register_mapping(Table, bridge=False)
    for cls in (Attrs, Model, Struct, Items, Table):
        assert lw.is_registered(cls)
        reason = lw.integrations.status(cls)["jax"]
        assert reason == "a leaf: it was registered with bridge=False"
    assert (
        len(jax.tree.leaves([Attrs(1), Model(w=1), Struct(1), Items(), Table()])) == 5
    )


def test_containers_that_are_registered_are_nodes_in_jax(jax):
    class Row(list):
        pass

    class Table(dict):
        pass

    register_sequence(Row)
    register_mapping(Table)
    table = jax.tree.map(lambda x: x + 1, Table(b=1, a=Row([2, 3])))
    assert (type(table), table) == (Table, {"b": 2, "a": [3, 4]})
    assert type(table["a"]) is Row


# ---------------------------------------------------------------------- static fields


def test_static_fields_of_models(need):
    """By `static()` or `Static` in the annotation; edits find them by name."""
    pydantic = need("pydantic")

    class Model(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="allow")
        name: Annotated[str, lw.static()]
        w: float
        size: Static[int] = 3
        _cache: int = pydantic.PrivateAttr(default=0)

    register_model(Model)
    model = Model(name="a", w=1.0, more=2.0)
    assert lw.tree_leaves(model) == [1.0, 2.0]
    doubled = lw.tree_map(lambda x: 2 * x, model)
    assert doubled == Model(name="a", w=2.0, more=4.0)
    assert str(doubled) == "name='a' w=2.0 size=3 more=4.0"
    assert doubled.model_fields_set == {"name", "w", "more"}
    assert lw.tree_structure(model) == lw.tree_structure(doubled)
    assert lw.tree_structure(model) != lw.tree_structure(Model(name="b", w=1.0, more=2))
    assert "name='a', size=3" in str(lw.tree_structure(model))
    assert lw.at(model)["name"].set("b") == Model(name="b", w=1.0, more=2.0)
    assert lw.override(model, ["size=4"]).size == 4
    assert str(lw.tree_diff(model, Model(name="b", w=1.0, more=2.0))) == (
        "~ name: 'a' -> 'b'"
    )


def test_annotations_that_are_resolved_later(need):
    """A model is registered while a class in its annotations is missing."""
    pydantic = need("pydantic")

    class Outer(pydantic.BaseModel):
        inner: "Annotated[Inner, lw.static()]"
        w: float

    register_model(Outer)

    class Inner(pydantic.BaseModel):
        x: int = 1

    Outer.model_rebuild(_types_namespace={**globals(), "Inner": Inner})
    assert lw.tree_leaves(Outer(inner=Inner(), w=2.0)) == [2.0]


def test_structs(need):
    """Frozen or not, with statics by annotations; `__post_init__` does not run."""
    msgspec = need("msgspec")

    class Base(msgspec.Struct, kw_only=True):
        w: Any
        name: Annotated[str, msgspec.Meta(extra={"static": True})] = "n"

        def __post_init__(self):
            if self.w is None:
                raise ValueError("w is missing")

    class Frozen(Base, frozen=True, cache_hash=True):
        size: Static[int] = 3

    for cls in (Base, Frozen):
        register_struct(cls)
        node = cls(w=[1.0, 2.0])
        leaves, treedef = lw.tree_flatten(node)
        assert leaves == [1.0, 2.0]
        assert treedef.unflatten(leaves) == node
        assert lw.tree_map(lambda _: None, cls(w=1)).w is None
        renamed = lw.at(node)["name"].set("m")
        assert (renamed, node.name) == (cls(w=[1.0, 2.0], name="m"), "n")
        assert lw.tree_update(node, {"w[0]": 5.0}).w == [5.0, 2.0]
        assert str(lw.tree_diff(node, renamed)) == "~ name: 'n' -> 'm'"
        assert msgspec.json.encode(treedef.unflatten(leaves)) == (
            msgspec.json.encode(node)
        )
        for _ in range(100):  # until the structure is compiled
            assert lw.tree_map(lambda x: x, node) == node
    assert hash(lw.tree_map(lambda x: x, Frozen(w=1))) == hash(Frozen(w=1))


def test_classes_that_need_another_function_are_refused(need):
    """`register_dataclass` names it; a rebuilt model would break on `==`."""
    pydantic = need("pydantic")
    attrs = need("attrs")
    msgspec = need("msgspec")

    class Model(pydantic.BaseModel):
        w: float

    class Struct(msgspec.Struct):
        w: float

    @attrs.define
    class Attrs:
        w: float

    for lists in ({}, {"data_fields": ["w"], "meta_fields": []}):
        with pytest.raises(RegistryError, match=r"model of pydantic.*register_model"):
            lw.register_dataclass(Model, **lists)
        with pytest.raises(RegistryError, match=r"msgspec.Struct.*register_struct"):
            lw.register_dataclass(Struct, **lists)
    with pytest.raises(RegistryError, match=r"not a dataclass.*register_attrs"):
        lw.register_dataclass(Attrs)
    with pytest.raises(RegistryError, match=r"int is not a msgspec.Struct"):
        register_struct(int)

    @lw.register_dataclass
    @pydantic.dataclasses.dataclass
    class Checked:
        w: float

    assert lw.tree_map(str, Checked(1.0)).w == "1.0"


def test_as_json(need):
    """Their treedefs are written and read, with what a model has beside its fields."""
    pydantic = need("pydantic")

    class Model(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="allow")
        name: Annotated[str, lw.static()]
        w: float
        size: int = 3
        _cache: Any = pydantic.PrivateAttr(default=None)

    register_model(Model)
    model = Model(name="a", w=1.0, more=[2.0])
    model._cache = {"x": (1, 2)}
    leaves, treedef = lw.tree_flatten(model)
    copy = lw.PyTreeDef.from_json(treedef.to_json())
    assert copy == treedef
    assert copy.unflatten(leaves) == model
    assert copy.unflatten(leaves).model_fields_set == {"name", "w", "more"}
    assert lw.fingerprint(model) == lw.fingerprint(copy.unflatten(leaves))
    assert lw.fingerprint(model) != lw.fingerprint(Model(name="b", w=1.0, more=[2.0]))


# ------------------------------------------------------------------------- `support`

SUPPORT = """
from typing import Any
import attrs, msgspec, pydantic

@attrs.define
class EarlyAttrs:
    w: Any

class EarlyModel(pydantic.BaseModel):
    w: Any

class EarlyStruct(msgspec.Struct):
    w: Any

import leafwise as lw
{before}
lw.integrations.support("attrs", "pydantic", "msgspec"{options})
{after}

@attrs.define
class LateAttrs:
    w: Any

@attrs.frozen(slots=False)
class LateFrozen:
    w: Any

class LateModel(pydantic.BaseModel):
    w: Any

class LateStruct(msgspec.Struct):
    w: Any

def kinds(*classes):
    return ["leaf" if jax.tree.leaves(c(w=1)) != [1] else "node" for c in classes]

print(*kinds(EarlyAttrs, EarlyModel, EarlyStruct))
print(*kinds(LateAttrs, LateFrozen, LateModel, LateStruct))
lw.tree_leaves(LateStruct(1))
print(*kinds(LateStruct, LateModel))
print(lw.integrations.status(LateModel)["jax"])
lw.integrations.support("attrs", "pydantic", "msgspec"{options})
print(*kinds(LateAttrs, LateFrozen, LateModel, LateStruct))
print(lw.integrations.status(LateModel)["jax"])
print(jax.jit(lambda x: jax.tree.map(lambda w: 2 * w, x))(LateAttrs(3)).w)
"""


@pytest.mark.needs("processes")
@pytest.mark.parametrize("before", ["import jax", ""])
def test_a_supported_library(jax, classes, before):
    """Classes that exist; others when leafwise sees them, or at the next call."""
    after = "" if before else "import jax"
    assert run(SUPPORT.format(before=before, after=after, options="")) == [
        "node node node",
        "leaf leaf leaf leaf",
        "node leaf",
        "a node, since this call: it was defined after support",
        "node node node node",
        "a node",
        "6",
    ]


@pytest.mark.needs("processes")
def test_a_library_that_is_supported_before_it_is_imported(jax, classes, need):
    """Its own classes are nodes at once."""
    need("ml_collections")
    assert run(
        """
import jax
import leafwise as lw
lw.integrations.support("attrs", "pydantic", "ml_collections")
import attrs, ml_collections, pydantic
from typing import Any
@attrs.define
class Attrs:
    w: Any
class Model(pydantic.BaseModel):
    w: Any
print(jax.tree.leaves(ml_collections.ConfigDict({"a": 1})))
print(lw.tree_leaves([Attrs(1), Model(w=2)]))
print(jax.tree.leaves([Attrs(1), Model(w=2)]))
"""
    ) == ["[1]", "[1, 2]", "[1, 2]"]


@pytest.mark.needs("processes")
def test_a_library_that_is_supported_for_leafwise_alone(jax, classes):
    code = SUPPORT.partition("print(")[0] + (
        "print(*kinds(EarlyAttrs, EarlyModel, LateAttrs, LateModel))\n"
        "print(lw.tree_leaves([EarlyAttrs(1), LateModel(w=2)]))\n"
        "print(*kinds(EarlyAttrs, EarlyModel, LateAttrs, LateModel))\n"
        "print(lw.integrations.status(LateModel)['jax'])"
    )
    options = {"before": "import jax", "after": ""}
    assert run(code.format(options=", bridge=False", **options)) == [
        "leaf leaf leaf leaf",
        "[1, 2]",
        "leaf leaf leaf leaf",
        "a leaf: it is a node here by support or adopt; register it",
    ]

"""Configs of OmegaConf and ml_collections, models of pydantic, classes of attrs."""

import copy
from dataclasses import dataclass
from typing import Any

import pytest

import leafwise as lw
from leafwise.errors import EditError
from leafwise.integrations import register_attrs, register_model, support


APP = lw.namespace("configs")
support("omegaconf", "ml_collections", "pydantic", "attrs", namespace="configs")


@dataclass
class Optim:
    """A structured config."""

    lr: float = 0.1
    steps: int = 100


@pytest.fixture
def omegaconf(need):
    """Return OmegaConf, installed."""
    return need("omegaconf")


CONFIG = {
    "optim": {"lr": 0.1, "peak": "${optim.lr}", "missing": "???"},
    "widths": [64, {"deep": 32}],
    "none": None,
    "b": 1,
}


def test_omegaconf_configs_come_back(omegaconf):
    """Equal, of their types, with what is written in them as it is written."""
    config = omegaconf.OmegaConf.create(CONFIG)
    assert lw.tree_leaves(config) == [config]
    leaves, treedef = APP.tree_flatten(config)
    assert leaves == [1, 0.1, "???", "${optim.lr}", 64, 32]
    again = treedef.unflatten(leaves)
    assert type(again) is omegaconf.DictConfig
    assert type(again.widths) is omegaconf.ListConfig
    assert again == config
    assert omegaconf.OmegaConf.to_container(again) == CONFIG
    assert list(again) == list(config)
    assert (again.optim.peak, again.optim._get_parent()) == (0.1, again)
    assert omegaconf.OmegaConf.missing_keys(again) == {"optim.missing"}


def test_what_omegaconf_does_is_done_alike(omegaconf):
    """Merging, selecting and updating agree where both have a meaning."""
    make = omegaconf.OmegaConf
    config = make.create(CONFIG)
    overlay = {"optim": {"lr": 0.2}, "widths": [1], "c": 3}
    assert APP.tree_merge(config, overlay) == make.merge(config, overlay)
    assert APP.at(config)["widths[1].deep"].get() == make.select(
        config, "widths[1].deep"
    )
    changed = copy.deepcopy(config)
    make.update(changed, "optim.lr", 0.5)
    assert APP.override(config, "optim.lr=0.5") == changed
    dotted = ["optim.lr=3", "new.deep=1"]
    assert APP.override(config, ["optim.lr=3", "+new.deep=1"]) == make.merge(
        config, make.from_dotlist(dotted)
    )
    assert make.to_container(config) == CONFIG


def test_omegaconf_flags_types_and_objects(omegaconf):
    """Flags and the type of a structured config stay; leaves may be anything."""
    make = omegaconf.OmegaConf
    config = make.structured(Optim)
    make.set_readonly(config, True)
    mapped = APP.tree_map(lambda x: x * 2, config)
    assert (mapped.lr, mapped.steps) == (0.2, 200)
    assert make.get_type(mapped) is Optim
    assert make.is_readonly(mapped)
    marks = APP.tree_map(lambda _: object(), config)
    assert [type(x) for x in APP.tree_leaves(marks)] == [object, object]
    interpolated = make.create({"a": {"b": 1}, "c": "${a}", "d": None})
    interpolated.d = omegaconf.DictConfig(None)
    assert APP.tree_leaves(interpolated) == [1, "${a}"]
    assert APP.tree_map(lambda x: x, interpolated) == interpolated


def test_ml_collections_configs_come_back(need):
    """Of their types, safe or locked as they were."""
    ml_collections = need("ml_collections")
    config = ml_collections.ConfigDict({"b": 1, "a": {"x": (1, 2)}}, type_safe=False)
    config.lock()
    mapped = APP.tree_map(lambda x: x + 1, config)
    assert mapped.to_dict() == {"b": 2, "a": {"x": (2, 3)}}
    assert (type(mapped), mapped.is_locked, mapped.is_type_safe) == (
        type(config),
        True,
        False,
    )
    frozen = ml_collections.FrozenConfigDict({"a": {"b": 1}})
    assert type(APP.tree_map(abs, frozen)) is ml_collections.FrozenConfigDict
    assert type(APP.tree_map(abs, frozen).a) is ml_collections.FrozenConfigDict
    assert APP.tree_merge(config, {"a": {"y": 5}}).to_dict() == {
        "b": 1,
        "a": {"x": (1, 2), "y": 5},
    }
    assert APP.override(config, "a.x[0]=7").a.x == (7, 2)
    flat = {str(path): leaf for path, leaf in APP.tree_leaves_with_path(config)}
    assert flat == {"['a']['x'][0]": 1, "['a']['x'][1]": 2, "['b']": 1}


def test_pydantic_models_come_back(need):
    """Unvalidated, with extra values, private attributes and the set of fields."""
    pydantic = need("pydantic")

    class Inner(pydantic.BaseModel):
        size: int = 1

    class Model(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="allow", frozen=True)
        name: str
        inner: Inner = Inner()
        _cache: dict[str, Any] = pydantic.PrivateAttr(default_factory=dict)

    model = Model(name="a", more=[1])
    model._cache["x"] = 1
    pairs, treedef = APP.tree_flatten_with_path(model)
    assert [(str(path), leaf) for path, leaf in pairs] == [
        (".name", "a"), (".inner.size", 1), (".more[0]", 1),
    ]  # fmt: skip
    again = treedef.unflatten([leaf for _, leaf in pairs])
    assert again == model
    assert (again.model_fields_set, again._cache) == ({"name", "more"}, {"x": 1})
    marks = APP.tree_map(lambda _: None, model)
    assert (marks.name, marks.inner.size, marks.model_extra) == (
        None,
        None,
        {"more": [None]},
    )
    assert APP.tree_structure(Model(name="b", inner=Inner(), more=[2])) == (
        APP.tree_structure(Model(name="b", more=[2]))
    )
    changed = APP.at(model)["inner.size"].set(5)
    assert (changed.inner.size, model.inner.size) == (5, 1)
    assert str(APP.tree_diff(model, changed)) == "~ inner.size: 1 -> 5"
    register_model(Model)
    assert len(lw.tree_leaves(model)) == 3
    lw.unregister_pytree_node(Model)


def test_attrs_classes_come_back(need):
    """Frozen or slotted, without their validators; static fields are aux data."""
    attrs = need("attrs")

    @attrs.frozen
    class Layer:
        weight: Any = attrs.field(validator=attrs.validators.instance_of(float))
        name: str = attrs.field(default="layer", metadata={"static": True})
        _hidden: int = 0

    layer = Layer(0.5, hidden=2)
    leaves, treedef = APP.tree_flatten([layer])
    assert leaves == [0.5, 2]
    assert treedef.unflatten(leaves) == [layer]
    assert APP.tree_map(lambda _: "any", layer).weight == "any"
    assert treedef != APP.tree_structure([Layer(0.5, "other")])
    changed = APP.tree_update(layer, {"weight": 1.5})
    assert (changed, layer.weight) == (Layer(1.5, hidden=2), 0.5)
    with pytest.raises(EditError, match="has a fixed number of children"):
        APP.at(layer)["weight"].delete()
    register_attrs(Layer)
    assert lw.tree_leaves(layer) == [0.5, 2]

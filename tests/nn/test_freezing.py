"""Freezing: one notion for attributes, variables, filters and selections of kinds."""

import copy
import pickle

import pytest

import leafwise as lw
from leafwise import nn
from leafwise.nn.variables import is_frozen


PARAMETER, STATE, FROZEN = nn.Kind.PARAMETER, nn.Kind.STATE, nn.Kind.FROZEN


class Layer(nn.Module):
    """Has a parameter of each sort, and a state of each."""

    def __init__(self, x=0.0):
        self.register_parameter("bare", x + 0.5)
        self.register_state("calls", 0)
        self.w = nn.Param(x + 1.0)
        self.stat = nn.BatchStat(x + 2.0)


class Net(nn.Module):
    def __init__(self):
        self.encoder = Layer()
        self.head = Layer(10.0)


class LoRA(nn.Param):
    pass


def of_kind(tree, *kinds):
    return lw.tree_leaves(nn.select_kind(tree, *kinds))


def paths(state):
    return nn.to_flat_state(state).paths


def names(model, *filters):
    """Return the paths that filters mean, joined by dots."""
    return [".".join(map(str, path)) for path in paths(nn.state(model, *filters))]


# -------------------------------------------------------------- what frozen means


@pytest.mark.parametrize(
    ("filter", "meant"),
    [
        (nn.Param, False),
        (LoRA, False),
        (nn.Param[float], False),
        ("params", False),
        ([nn.Param, nn.Cache], False),
        (nn.filters.All(nn.Param, nn.filters.PathContains("w")), False),
        (nn.filters.Not(nn.Param), True),
        (nn.Variable, True),
        (..., True),
        (nn.filters.PathContains("w"), True),
        (FROZEN, True),
        (STATE, True),
        (PARAMETER, False),
        (nn.filters.All(FROZEN, nn.filters.PathContains("w")), True),
        ([PARAMETER, nn.Cache], False),
        (nn.filters.Not(FROZEN), False),
    ],
)
def test_which_filters_mean_a_frozen_variable(filter, meant):
    """No type narrower than `Variable` and no tag; in objects and in states."""
    model = nn.Dict(w=LoRA(1.0))
    frozen = nn.freeze(model)
    assert (names(frozen, filter) == ["w"]) == meant
    state = nn.state(frozen)
    assert (paths(nn.filter_state(state, filter)) == (("w",),)) == meant
    assert nn.filters.predicate(filter)(("w",), frozen.w) == meant


def test_structure_tells_frozen_from_not():
    """So a function that was traced for one is not used for the other."""
    net = Net()
    frozen = nn.freeze(net)
    assert lw.tree_structure(frozen) != lw.tree_structure(net)
    assert nn.graphdef(frozen) != nn.graphdef(net)
    assert lw.tree_structure(nn.unfreeze(frozen)) == lw.tree_structure(net)
    assert nn.graphdef(nn.unfreeze(frozen)) == nn.graphdef(net)


def test_it_stays_with_what_is_copied():
    """Copies, pickles, maps, clones, merges."""
    frozen = nn.freeze(Net())
    for again in (
        copy.copy(frozen),
        copy.deepcopy(frozen),
        pickle.loads(pickle.dumps(frozen)),
        lw.tree_map(lambda x: x, frozen),
        nn.clone(frozen),
        nn.merge(*nn.split(frozen), copy=True),
    ):
        assert of_kind(again, PARAMETER) == []
        assert lw.tree_structure(again) == lw.tree_structure(frozen)
    assert is_frozen(nn.Param(1.0, frozen=True))
    assert not is_frozen(nn.freeze(nn.Param(1.0)).replace(2.0, frozen=False))


def test_a_new_variable_in_the_place_of_a_frozen_one_is_not_frozen():
    """A variable says itself if it is; a bare value is what the attribute is."""
    layer = nn.freeze(Layer())
    layer.w = nn.Param(3.0)
    layer.bare = 4.0
    assert (names(layer, nn.Param), of_kind(layer, PARAMETER)) == (["w"], [3.0])
    layer.bare = nn.Param(5.0)
    assert names(layer, nn.Param) == ["bare", "w"]
    assert of_kind(layer, PARAMETER) == [5.0, 3.0]
    assert layer.name_to_kind["bare"] is PARAMETER


# ------------------------------------------------------------------------ filters


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        (nn.Param, ["encoder.bare", "encoder.w", "head.bare", "head.w"]),
        (PARAMETER, ["encoder.bare", "encoder.w", "head.bare", "head.w"]),
        (nn.filters.PathContains("encoder"), ["encoder.bare", "encoder.w"]),
        (lambda path, leaf: path[-1] == "w", ["encoder.w", "head.w"]),
        (nn.filters.PathIn(("head", "bare")), ["head.bare"]),
        ([nn.filters.PathContains("w"), "none"], ["encoder.w", "head.w"]),
    ],
)
def test_a_part_is_frozen_and_unfrozen(what, expected):
    """Just the parameters among what is meant; states are left alone."""
    net = Net()
    structure = lw.tree_structure(net)
    frozen = nn.freeze(net, what)
    assert names(frozen, FROZEN) == expected
    assert len(names(frozen, PARAMETER)) == 4 - len(expected)
    assert lw.tree_structure(net) == structure
    assert lw.tree_structure(nn.unfreeze(frozen, FROZEN)) == structure


def test_freeze_as_a_function_that_is_applied():
    """To variables and objects at places of a tree; a bare value is refused."""
    net = Net()
    frozen = lw.at(net)["**.w"].apply(nn.freeze)
    assert names(frozen, FROZEN) == ["encoder.w", "head.w"]
    frozen = lw.at(net)["encoder"].apply(nn.freeze)
    assert names(frozen, FROZEN) == ["encoder.bare", "encoder.w"]
    assert names(lw.at(frozen)["encoder.w"].apply(nn.unfreeze), nn.Param) == [
        *("encoder.w", "head.bare", "head.w"),
    ]
    with pytest.raises(TypeError, match="with these, got a bare float"):
        lw.at(net)["encoder.bare"].apply(nn.freeze)


def test_what_cannot_be_frozen():
    """Nothing there, or no parameter there."""
    net = Net()
    for meant in ("decoder", nn.BatchStat, nn.filters.PathContains("calls")):
        with pytest.raises(ValueError, match="matches no parameter to freeze"):
            nn.freeze(net, meant)
    with pytest.raises(ValueError, match="matches no parameter to unfreeze"):
        nn.unfreeze(net, nn.filters.PathContains("stat"))
    hint = (
        "; a string is a tag, such as 'params'; for a name use "
        "nn.PathContains('encoder')"
    )
    with pytest.raises(ValueError, match="to freeze") as caught:
        nn.freeze(net, [nn.BatchStat, nn.Not(...), nn.All("encoder")])
    assert str(caught.value).endswith(f"matches no parameter to freeze{hint}")
    with pytest.raises(ValueError, match=r"matches no parameter to freeze$"):
        nn.freeze(net, nn.BatchStat)
    with pytest.raises(TypeError, match="not a filter"):
        nn.freeze(net, lw.at(net)["encoder"])
    assert nn.freeze([1.0]) == [1.0]


# ----------------------------------------------------- references, cycles, containers


def test_what_stands_twice_is_frozen_in_all_places():
    """References are kept; the first of the places counts for filters."""
    weight = nn.Param(1.0)
    net = nn.Dict(a=weight, b=lw.data([weight]), c=Layer())
    net.d = lw.data({"again": net.c})
    for what in ((), (nn.filters.PathContains("a"),)):
        frozen = nn.freeze(net, *what)
        assert frozen.a is frozen.b[0]
        assert is_frozen(frozen.a)
        assert frozen.c is frozen.d["again"]
        assert (frozen.c.name_to_kind["bare"] is FROZEN) == (what == ())
    assert not is_frozen(weight)
    assert net.c.name_to_kind["bare"] is PARAMETER


def test_objects_that_are_no_trees():
    """All that is in them; by a filter, some of it."""

    class Store(nn.Object):
        def __init__(self):
            self.layers = [("first", Layer()), ("second", Layer())]
            self.rate = nn.parameter(0.5)

    frozen = nn.freeze(Store())
    assert names(frozen, PARAMETER) == []
    assert frozen.layers[0][0] == "first"
    assert names(frozen, FROZEN) == [
        "layers.0.1.bare",
        "layers.0.1.w",
        "layers.1.1.bare",
        "layers.1.1.w",
        "rate",
    ]
    partly = nn.freeze(Store(), nn.filters.PathContains(1))
    assert names(partly, PARAMETER)[-1:] == ["rate"]


def test_frozen_dataclasses():
    """A class whose instances refuse changes can be frozen in this sense, too."""

    @lw.dataclass(frozen=True)
    class Point(lw.Pytree):
        x: float = nn.parameter()

    assert of_kind(nn.freeze(Point(1.0)), FROZEN) == [1.0]

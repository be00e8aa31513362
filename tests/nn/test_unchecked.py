"""Objects that are no trees: what is a value in them, and what is structure."""

import functools
import pickle

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn


class Linear(nn.Module):
    def __init__(self):
        self.w = nn.Param(np.ones(2))

    def __call__(self, x):
        return x * self.w


class Net(nn.Object):
    def __init__(self, *, size=3):
        self.layers = [("tanh", Linear()), ("relu", Linear())]
        self.table = {"size": size, "scale": np.ones(1), "deep": [{"name": "x"}]}
        self.labels = ["a", "b"]
        self.marked = lw.data(7)


class Checked(lw.Pytree):
    def __init__(self):
        self.layers = lw.data([("tanh", Linear())])


class Filled(nn.Object):
    def __init__(self):
        self.items = []


def paths(state):
    return nn.to_flat_state(state).paths


def test_the_state_of_an_object_has_no_texts_in_it():
    """In its containers only data are values; an attribute that is marked is one."""
    assert paths(nn.state(Net())) == (
        ("layers", 0, 1, "w"),
        ("layers", 1, 1, "w"),
        ("marked",),
        ("table", "scale"),
    )


def test_what_is_no_value_is_structure():
    """It is shown, compared, hashed and pickled with the structure."""
    graphdef = nn.graphdef(Net())
    assert "[0]='tanh'" in repr(graphdef)
    assert "['size']=3" in repr(graphdef)
    assert graphdef == nn.graphdef(Net())
    assert hash(graphdef) == hash(nn.graphdef(Net()))
    assert pickle.loads(pickle.dumps(graphdef)) == graphdef
    assert graphdef != nn.graphdef(Net(size=4))
    assert graphdef != nn.graphdef(Net(size=3.0))


def test_structure_is_what_it_was_when_it_was_taken():
    """A list in it that is changed later does not change it."""
    net = Filled()
    net.items = [np.ones(1), {"a", "b"}]
    before = nn.graphdef(net)
    net.items[1].add("c")
    assert before != nn.graphdef(net)


def test_what_is_merged_has_its_texts_again():
    """In new containers, beside the values that were given."""
    net = Net()
    again = nn.merge(*nn.split(net))
    assert [name for name, _ in again.layers] == ["tanh", "relu"]
    assert again.table["size"] == 3
    assert again.table["deep"] == [{"name": "x"}]
    assert again.layers is not net.layers
    assert again.layers[0][1].w is net.layers[0][1].w


def test_a_value_for_a_place_of_the_structure_is_refused():
    """As any value that no place takes."""
    graphdef, state = nn.split(Net())
    state["table"]["size"] = 4
    with pytest.raises(lw.StructureError, match=r"has a value at \('table', 'size'\)"):
        nn.merge(graphdef, state)


def test_clones_of_objects_have_everything():
    """Texts and numbers in containers too, and containers of their own."""
    net = Net()
    again = nn.clone(net)
    assert again.layers[0][0] == "tanh"
    assert again.table["deep"] == net.table["deep"]
    assert again.table["deep"][0] is not net.table["deep"][0]


def test_arrays_in_what_nobody_registered_stay_values():
    """A set or a record without data is structure; one with an array is not."""
    net = Filled()
    net.items = [
        np.ones(1),
        functools.partial(max, np.ones(2)),
        functools.partial(max, 1),
    ]
    assert paths(nn.state(net)) == (("items", 0), ("items", 1))
    assert nn.merge(*nn.split(net)).items[2] is net.items[2]


def test_a_number_of_numpy_is_a_value():
    """It is what is left of an array of one number."""
    net = Filled()
    net.items = [np.array(1) * 2, np.array(1), 2]
    assert paths(nn.state(net)) == (("items", 0), ("items", 1))


def test_containers_that_are_marked_as_data_in_a_tree_stay_data():
    """What is a leaf of the tree is a value of the object."""
    assert paths(nn.state(Checked())) == (("layers", 0, 0), ("layers", 0, 1, "w"))


def test_objects_in_objects_each_have_their_own_rule():
    """A tree inside an object keeps its values, an object inside a tree its texts."""
    outer = Filled()
    outer.items = [("text", Checked())]
    assert paths(nn.state(outer)) == (
        ("items", 0, 1, "layers", 0, 0),
        ("items", 0, 1, "layers", 0, 1, "w"),
    )
    tree = nn.List([Net()])
    assert paths(nn.state(tree))[0] == (0, "layers", 0, 1, "w")


@pytest.mark.parametrize("first", ["iter_graph", "update", "find_duplicates", "state"])
def test_a_list_that_was_filled_later_is_seen_by_all(first):
    """Whatever function comes first looks at what the list holds by now."""
    weight, net = nn.Param(1.0), Filled()
    net.items += [weight, "x", weight]
    if first == "iter_graph":
        assert ("items", 0) in [path for path, _ in nn.iter_graph(net)]
    elif first == "update":
        nn.update(net, {"items": {0: 5.0}})
        assert weight.value == 5.0
    elif first == "find_duplicates":
        assert nn.find_duplicates(net) == [[("items", 0), ("items", 2)]]
    else:
        assert paths(nn.state(net)) == (("items", 0),)

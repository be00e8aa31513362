"""Objects that are no trees: what is a value in them, and what is structure."""

import pickle

import numpy as np

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


def test_what_is_merged_has_its_texts_again():
    """In new containers, beside the values that were given."""
    net = Net()
    again = nn.merge(*nn.split(net))
    assert [name for name, _ in again.layers] == ["tanh", "relu"]
    assert again.table["size"] == 3
    assert again.table["deep"] == [{"name": "x"}]
    assert again.layers is not net.layers
    assert again.layers[0][1].w is net.layers[0][1].w


def test_clones_of_objects_have_everything():
    """Texts and numbers in containers too, and containers of their own."""
    net = Net()
    again = nn.clone(net)
    assert again.layers[0][0] == "tanh"
    assert again.table["deep"] == net.table["deep"]
    assert again.table["deep"][0] is not net.table["deep"][0]

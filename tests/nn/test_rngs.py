"""`nn.Rngs`: named streams, and what becomes of their counts."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn


jax = pytest.importorskip("jax")


def drawn(stream):
    """Return a number for the next key."""
    return int(jax.random.bits(stream()))


def test_streams_by_their_names():
    """Each has a key and a count; names without a stream are the default one."""
    rngs = nn.Rngs(0, params=1)
    assert [*rngs] == ["params", "default"]
    assert (len(rngs), "params" in rngs, "noise" in rngs) == (2, True, False)
    assert rngs.noise is rngs.default is rngs["anything"]
    assert rngs["params"] is rngs.params is dict(rngs.items())["params"]
    values = [drawn(rngs), drawn(rngs.noise), drawn(rngs.params), drawn(rngs.params)]
    assert len({*values}) == 4
    assert [int(rngs.default.count), int(rngs.params.count)] == [2, 2]
    again = nn.Rngs({"default": 0}, params=1)
    assert values == [drawn(s) for s in (again, again, again.params, again.params)]


def test_without_a_default():
    """A name without a stream is an error that says which there are."""
    rngs = nn.Rngs(params=0, noise=1)
    text = "No RngStream named 'dropout' found in Rngs; there are: 'params', 'noise'"
    with pytest.raises(AttributeError) as caught:
        rngs.dropout()
    assert str(caught.value) == text
    with pytest.raises(KeyError, match="No RngStream named 'dropout'"):
        rngs["dropout"]
    with pytest.raises(AttributeError, match="named 'default'"):
        rngs()
    with pytest.raises(AttributeError, match="named 'default'"):
        rngs.normal((2,))
    with pytest.raises(AttributeError, match="there are: none"):
        nn.Rngs()()
    assert not hasattr(rngs, "_private")


@pytest.mark.parametrize(
    "wrong", ["a", 1.5, None, np.zeros(3), jax.numpy.zeros(3), [1]]
)
def test_what_is_no_seed(wrong):
    """It is named, and nothing is made."""
    with pytest.raises(
        ValueError, match="a stream is created from an int or a jax key"
    ):
        nn.Rngs(params=0, noise=wrong)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: nn.Linear(4, 16, rngs=0), "rngs must be nn.Rngs, got int: 0"),
        (lambda: nn.Linear(4, 16, rngs=None), "rngs must be nn.Rngs, got NoneType: "),
        (lambda: nn.BatchNorm(4, rngs=0), "rngs must be nn.Rngs, got int: 0"),
        (
            lambda: nn.Dropout(0.5, rngs=0),
            "rngs must be nn.Rngs or nn.RngStream, got int: 0",
        ),
    ],
)
def test_layers_with_something_else_as_rngs(make, text):
    """They say what they take."""
    with pytest.raises(TypeError, match=f"^{text}"):
        make()


def test_seeds_of_all_sorts():
    """A stream and a key give theirs."""
    stream = nn.RngStream(4, tag="a")
    first = drawn(nn.clone(stream))
    drawn(stream)
    assert drawn(nn.Rngs(a=stream).a) == first  # its key, and a count of its own
    assert drawn(nn.RngStream(stream.key.value, tag="b")) == first


@pytest.mark.parametrize(
    "copied",
    [
        copy.copy,
        copy.deepcopy,
        nn.clone,
        lambda rngs: pickle.loads(pickle.dumps(rngs)),
        lambda rngs: nn.merge(*nn.split(rngs), copy=True),
        lambda rngs: lw.tree_map(lambda x: x, rngs),
    ],
)
def test_counts_are_state(copied):
    """Copies go on from where they are, and not together."""
    rngs = nn.Rngs(0, params=1)
    drawn(rngs.params)
    again = nn.clone(rngs)
    made = copied(rngs)
    assert drawn(made.params) == drawn(again.params)
    if copied is not copy.copy:  # which shares the streams
        assert int(rngs.params.count) == 1


def test_as_data_of_a_model():
    """Streams are state: found by type, by kind, and by the tag of a stream."""

    class Dropout(nn.Module):
        def __init__(self, rngs):
            self.rngs = rngs

    model = Dropout(nn.Rngs(noise=0, params=1))
    assert nn.is_data(model.rngs)
    assert nn.to_flat_state(nn.state(model, "noise")).paths == (
        ("rngs", "noise", "count"),
        ("rngs", "noise", "key"),
    )
    assert len(nn.to_flat_state(nn.state(model, nn.RngCount))) == 2
    assert len(nn.to_flat_state(nn.state(model, nn.OfKind(nn.Kind.STATE)))) == 4
    nn.update(model, {"rngs": {"noise": {"count": 7}}})
    assert int(model.rngs.noise.count) == 7


def test_split_fork_and_broadcast():
    """By filters: tags, types, everything; the first that means a stream counts."""
    rngs = nn.Rngs(params=0, noise=1, other=2)
    made = rngs.split({"params": 5, "noise": None, ...: (2, 3)})
    assert {name: stream.count.shape for name, stream in made.items()} == {
        "params": (5,),
        "noise": (),
        "other": (2, 3),
    }
    assert [int(stream.count) for _, stream in rngs.items()] == [1, 0, 1]
    keys = made.params.key.value
    assert len({*map(tuple, jax.random.key_data(keys).tolist())}) == 5
    forked = rngs.fork()
    assert drawn(forked.params) != drawn(rngs.params)
    assert forked.fork(split={"params": 2}).params.key.shape == (2,)
    copied = rngs.broadcast(3)
    assert (copied.params.key.value == copied.params.key.value[0]).all()
    assert copied.params.count.shape == (3,)
    assert {s.count.shape for _, s in rngs.split(2).items()} == {(2,)}
    assert {s.count.shape for _, s in rngs.split((2, 1)).items()} == {(2, 1)}


def test_parts_of_a_stream():
    """Each part of what was split draws for itself; outside there is no one key."""
    rngs = nn.Rngs(0).split(3)
    with pytest.raises(ValueError, match="single key"):
        rngs()

    def draw(key, count):
        stream = nn.RngStream(key, tag="part")
        stream.count.value = count
        return stream.normal((2,))

    default = rngs.default
    found = np.stack([*map(draw, default.key.value, default.count.value)])
    assert found.shape == (3, 2)
    assert len({*found[:, 0].tolist()}) == 3


def test_drawing_by_name():
    """With jax's arguments: the shape first."""
    rngs = nn.Rngs(0)
    assert rngs.normal((2, 3)).shape == (2, 3)
    assert rngs.default.uniform((4,), minval=2.0, maxval=3.0).min() >= 2.0
    assert rngs.he_normal()((2, 2)).shape == (2, 2)
    assert int(rngs.default.count) == 3
    with pytest.raises(AttributeError, match="no attribute 'gaussian'"):
        rngs.default.gaussian()


def test_streams_of_such_names():
    """A stream has the name for itself."""
    rngs = nn.Rngs(normal=0, default=1, items=2)
    assert isinstance(rngs.normal, nn.RngStream)
    assert isinstance(rngs.items, nn.RngStream)
    assert rngs["normal"] is rngs.normal


def test_nothing_is_imported_before_a_stream_is_made():
    """Then jax is."""
    code = (
        "import sys, leafwise as lw; from leafwise import nn; nn.Rngs; nn.Rngs();"
        "print('jax' in sys.modules, end=' '); rngs = nn.Rngs(3, params=4);"
        "print('jax' in sys.modules, float(rngs.uniform()))"
    )
    found = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert found[:2] == ["False", "True"]
    assert float(found[2]) == float(nn.Rngs(3).uniform())

"""`nn.Rngs` over NumPy: named streams, and what becomes of their counts."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn


def seed(number):
    """Return a seed of NumPy, whatever frameworks are loaded."""
    return np.random.SeedSequence(number)


def drawn(stream):
    """Return a number for the next key."""
    return stream().integers(0, 2**32)


def test_streams_by_their_names():
    """Each has a key and a count; names without a stream are the default one."""
    rngs = nn.Rngs(seed(0), params=seed(1))
    assert [*rngs] == ["params", "default"]
    assert (len(rngs), "params" in rngs, "noise" in rngs) == (2, True, False)
    assert rngs.noise is rngs.default is rngs["anything"]
    assert rngs["params"] is rngs.params is dict(rngs.items())["params"]
    values = [drawn(rngs), drawn(rngs.noise), drawn(rngs.params), drawn(rngs.params)]
    assert len({*values}) == 4
    assert [int(rngs.default.count), int(rngs.params.count)] == [2, 2]
    again = nn.Rngs({"default": seed(0)}, params=seed(1))
    assert values == [drawn(s) for s in (again, again, again.params, again.params)]


def test_without_a_default():
    """A name without a stream is an error that says which there are."""
    rngs = nn.Rngs(params=seed(0), noise=seed(1))
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
    "wrong", ["a", 1.5, None, np.zeros(3), np.zeros(3, np.uint32), [1]]
)
def test_what_is_no_seed(wrong):
    """It is named, and nothing is made."""
    with pytest.raises(ValueError, match="a stream is created from an int, a jax key"):
        nn.Rngs(params=seed(0), noise=wrong)


def test_seeds_of_all_sorts():
    """A generator gives a key, and goes on; a stream and a key give theirs."""
    generator = np.random.default_rng(3)
    one, two = nn.Rngs(generator), nn.Rngs(generator)
    assert drawn(one) != drawn(two)
    stream = nn.RngStream(seed(4), tag="a")
    first = drawn(nn.clone(stream))
    drawn(stream)
    assert drawn(nn.Rngs(a=stream).a) == first  # its key, and a count of its own
    assert drawn(nn.RngStream(stream.key.value, tag="b")) == first


def test_keys_are_those_of_numpy():
    """By the key and the count, as spawned sequences of seeds are."""
    stream = nn.RngStream(seed(5), tag="a")
    key = seed(5).generate_state(4)
    for count in range(3):
        words = np.random.SeedSequence(key, spawn_key=(count,)).generate_state(4)
        expected = np.random.default_rng(words).random()
        assert stream().random() == expected


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
    rngs = nn.Rngs(seed(0), params=seed(1))
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

    model = Dropout(nn.Rngs(noise=seed(0), params=seed(1)))
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
    rngs = nn.Rngs(params=seed(0), noise=seed(1), other=seed(2))
    made = rngs.split({"params": 5, "noise": None, ...: (2, 3)})
    assert {name: stream.count.shape for name, stream in made.items()} == {
        "params": (5,),
        "noise": (),
        "other": (2, 3),
    }
    assert [int(stream.count) for _, stream in rngs.items()] == [1, 0, 1]
    keys = made.params.key.value
    assert len({tuple(key) for key in keys}) == 5
    forked = rngs.fork()
    assert drawn(forked.params) != drawn(rngs.params)
    assert forked.fork(split={"params": 2}).params.key.shape == (2, 4)
    copied = rngs.broadcast(3)
    assert (copied.params.key.value == copied.params.key.value[0]).all()
    assert copied.params.count.shape == (3,)
    assert {s.count.shape for _, s in rngs.split(2).items()} == {(2,)}
    assert {s.count.shape for _, s in rngs.split((2, 1)).items()} == {(2, 1)}


def test_parts_of_a_stream():
    """Each part of what was split draws for itself; outside there is no one key."""
    rngs = nn.Rngs(seed(0)).split(3)
    with pytest.raises(ValueError, match=r"split into \(3,\) has a key for each"):
        rngs()

    def draw(key, count):
        stream = nn.RngStream(key, tag="part")
        stream.count.value = count
        return stream.normal((2,))

    default = rngs.default
    found = np.stack([*map(draw, default.key.value, default.count.value)])
    assert found.shape == (3, 2)
    assert len({*found[:, 0]}) == 3


def test_drawing_by_name():
    """With jax's arguments: the shape first."""
    rngs = nn.Rngs(seed(0))
    assert rngs.normal((2, 3)).shape == (2, 3)
    assert rngs.default.uniform((4,), minval=2.0, maxval=3.0).min() >= 2.0
    assert {*rngs.randint((50,), 3, 5)} == {3, 4}
    assert rngs.bernoulli(np.array([0.0, 1.0])).tolist() == [False, True]
    assert rngs.bernoulli(0.0, (3,)).tolist() == [False] * 3
    assert sorted(rngs.permutation(4)) == [0, 1, 2, 3]
    table = rngs.permutation(np.arange(6).reshape(2, 3), axis=1, independent=True)
    assert sorted(table[0]) == [0, 1, 2]
    assert sorted(rngs.choice(3, (3,), replace=False)) == [0, 1, 2]
    for name in ("exponential", "gumbel", "laplace", "logistic"):
        assert getattr(rngs, name)((2,), np.float32).dtype == np.float32
    assert rngs.poisson(3.0, (2,)).shape == (2,)
    assert rngs.uniform((), np.float32).dtype == np.float32
    assert int(rngs.default.count) == 14
    for name in ("he_normal", "categorical", "bits"):
        with pytest.raises(
            AttributeError, match=f"has no method '{name}'; use its gen"
        ):
            getattr(rngs, name)
    with pytest.raises(AttributeError, match="no attribute 'gaussian'"):
        rngs.default.gaussian()


def test_streams_of_such_names():
    """A stream has the name for itself."""
    rngs = nn.Rngs(normal=seed(0), default=seed(1), items=seed(2))
    assert isinstance(rngs.normal, nn.RngStream)
    assert isinstance(rngs.items, nn.RngStream)
    assert rngs["normal"] is rngs.normal


def test_nothing_is_imported_before_a_stream_is_made():
    """NumPy is, for an int, if jax is not there."""
    code = (
        "import sys, leafwise as lw; from leafwise import nn; nn.Rngs; nn.Rngs();"
        "print('numpy' in sys.modules, end=' '); rngs = nn.Rngs(3, params=4);"
        "print('numpy' in sys.modules, 'jax' in sys.modules, rngs().random())"
    )
    found = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert found[:3] == ["False", "True", "False"]
    assert float(found[3]) == nn.Rngs(seed(3))().random()

"""Agreement with Flax NNX on what both do with objects."""

import numpy as np
import pytest

import leafwise as lw


def models(library):
    """Return a class of modules with what both libraries know, of one of them."""

    class Layer(library.Module):
        def __init__(self, size):
            self.size = size
            self.w = library.Param(np.full((size, 2), 3.0))
            self.stat = library.BatchStat(np.zeros(2))
            self.bare = np.ones(1)

    class Model(library.Module):
        def __init__(self):
            self.layers = library.List([Layer(1), Layer(2)])
            self.tied = self.layers[0]
            self.table = library.Dict(b=Layer(3), a=library.Param(np.ones(1)))
            self.also = self.layers[1].w

    return Model()


def flat(library, state):
    """Return paths and bare values of a state."""
    found = library.to_flat_state(state)
    pairs = zip(found.paths, found.leaves, strict=True)
    return {
        path: np.asarray(getattr(leaf, "value", leaf)).tolist() for path, leaf in pairs
    }


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_states(nnx):
    """The same paths and values, for each filter; what is shared comes once."""
    ours, theirs = models(lw), models(nnx)
    for mine, other in (
        (..., ...),
        (lw.Param, nnx.Param),
        (lw.filters.Not(lw.Param), nnx.Not(nnx.Param)),
        (lw.filters.PathContains("stat"), nnx.PathContains("stat")),
        ([lw.BatchStat, "params"], [nnx.BatchStat, nnx.Param]),
    ):
        found = flat(lw, lw.state(ours, mine))
        expected = flat(nnx, nnx.state(theirs, other))
        # of two names for one variable, each library takes the first that it meets
        rename = {("also",): ("layers", 1, "w"), ("tied",): ("layers", 0)}

        def canonical(flat_state, rename=rename):
            return {
                (*rename.get(path[:1], path[:1]), *path[1:]): value
                for path, value in flat_state.items()
            }

        assert canonical(found) == canonical(expected)


def test_duplicates(nnx):
    """The same groups of paths, in whatever order."""

    def groups(found):
        return sorted(sorted(map(repr, group)) for group in found)

    ours = groups(lw.find_duplicates(models(lw)))
    theirs = groups(nnx.find_duplicates(models(nnx)))
    assert ours == theirs
    assert len(ours) == 2


def double(_, value):
    """Return a variable with twice its value; anything else as it is."""
    if not hasattr(value, "get_metadata"):
        return value
    return value.replace(value.get_value() * 2)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_update_and_merge(nnx):
    """Values that go in are those that come out, under all names."""
    for library in (lw, nnx):
        model = models(library)
        graphdef, state = library.split(model)
        doubled = library.map_state(double, state)
        merged = library.merge(graphdef, doubled)
        assert merged.tied is merged.layers[0]
        assert merged.also is merged.layers[1].w
        library.update(model, doubled)
        for found in (model, merged):
            assert np.asarray(found.tied.w[...]).tolist() == [[6.0, 6.0]]

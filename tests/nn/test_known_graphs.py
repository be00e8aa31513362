"""Known graphs: what is read of them is what flattening gives, whatever was changed."""

import collections
import functools
import gc
import random
import weakref

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from leafwise import nn
from leafwise.nn.flatgraph import Reference, flatten_graph
from leafwise.nn.transforms.lastgraph import LastGraph


class Plain(lw.Pytree):
    """Has any attributes."""


class Ordered(nn.Module):
    """Has any attributes."""


class Watched(lw.Pytree):
    """Has a setter of its own, and one that it inherits."""

    def __setattr__(self, name, value):
        super().__setattr__(name, value)

    @property
    def half(self):
        return self.whole

    @half.setter
    def half(self, value):
        self.whole = value


class Cached(lw.Pytree):
    """Keeps what it worked out."""

    @functools.cached_property
    def shape(self):
        return len(vars(self))


class Unchecked(nn.Object):
    """No node of trees."""


class Config:
    """A static value that is equal to others, and can change."""

    def __init__(self, size):
        self.size = size

    def __eq__(self, other):
        return type(other) is Config and other.size == self.size

    def __hash__(self):
        return hash(self.size)


class Mine(nn.Param):
    """A type of variables."""


Pair = collections.namedtuple("Pair", "left right")
CLASSES = (Plain, Plain, Ordered, Watched, Cached, nn.List, nn.Dict, nn.Sequential)
SOME_CLASSES = (*CLASSES, Unchecked)
VARIABLES = (nn.Param, nn.Param, nn.BatchStat, Mine)
STATICS = (1, True, 1.0, 0.5, "x", None, (1, "y"), len, [1], [1], {"a": [2]})


def fresh(static):
    """Return a static value that is equal to another one, and no other object."""
    return [*static] if type(static) is list else static


def add(draw, holder, part):
    """Put something into an object, under a name or at the end, if it fits there."""
    try:
        if isinstance(holder, nn.List):
            holder.append(part)
        else:
            setattr(holder, draw.choice("abcd"), part)
    except (lw.errors.KindError, TypeError):
        pass


def bare(draw, things):
    """Return a value, or a plain container with things in it."""
    some = [draw.choice((1, 2.5, np.arange(2), *things)) for _ in range(3)]
    makers = (lambda: some, lambda: (*some[:2],), lambda: Pair(some[0], 2))
    more = (lambda: dict(zip("xyz", some, strict=True)), lambda: None)
    values = (lambda: 3, lambda: np.ones(3), lambda: some[0])
    return draw.choice((*makers, *more, *values))()


def random_graph(draw, classes=CLASSES):
    """Return the roots of some objects that were put into one another."""
    things = []
    for _ in range(draw.randrange(1, 6)):
        thing = draw.choice(classes)()
        for _ in range(draw.randrange(4)):
            what = draw.randrange(4)
            if what == 0:
                note = (
                    {"note": fresh(draw.choice(STATICS))} if draw.random() < 0.3 else {}
                )
                add(draw, thing, draw.choice(VARIABLES)(np.ones(2), **note))
            elif what == 1 and not isinstance(thing, nn.Sequential):
                add(draw, thing, lw.static(fresh(draw.choice(STATICS))))
            elif what == 2 and things:
                add(draw, thing, lw.data(draw.choice([*things, thing])))
            elif not isinstance(thing, nn.Sequential):
                add(draw, thing, lw.data(bare(draw, things)))
        things.append(thing)
    return (things[-1], *things[: draw.randrange(2)]), {"k": 1.0}, None


def change(draw, roots):
    """Change one place of a graph, or nothing, or put something equal there."""
    flat = flatten_graph(roots)
    thing = draw.choice(flat.tracked)
    if isinstance(thing, nn.Variable):
        changes = (
            lambda: thing.set_metadata(note=fresh(draw.choice(STATICS))),
            lambda: thing.set_value(draw.choice((1, np.ones(1), {"a": 1}))),
            lambda: thing.set_metadata(frozen=True),
            lambda: None,
        )
        draw.choice(changes)()
        return
    values, kinds = vars(thing), nn.name_to_kind(thing)
    static = [name for name in kinds if kinds[name].value == "static"]
    if static and draw.random() < 0.5:
        name = draw.choice(static)
        if type(values[name]) is list:
            draw.choice((values[name].append, lambda _: None))(7)
        else:
            object.__setattr__(thing, name, fresh(draw.choice(STATICS)))
        return
    if isinstance(thing, nn.List) and len(thing) and draw.random() < 0.5:
        draw.choice((thing.reverse, lambda: thing.__delitem__(0)))()
        return
    others = [other for other in flat.tracked if not isinstance(other, nn.Variable)]
    part = draw.choice((*others, nn.Param(3), lw.data(np.ones(2)), lw.data(4)))
    add(draw, thing, part)
    if isinstance(thing, Cached):
        _ = thing.shape


@given(st.integers(0, 1 << 30))
def test_what_is_read_is_what_flattening_gives(seed):
    """On graphs that change in one place between two readings."""
    draw, last = random.Random(seed), LastGraph()
    roots = random_graph(draw, SOME_CLASSES)
    for _ in range(12):
        graphdef, values, tracked = last.flatten(roots)
        flat = flatten_graph(roots, traced=True)
        boxes = flat.leaves
        expected = [
            x.get_raw_value() if isinstance(x, nn.Variable) else x for x in boxes
        ]
        assert graphdef == flat.graphdef
        assert [*map(id, values)] == [*map(id, expected)]
        assert [*map(id, tracked)] == [*map(id, flat.tracked)]
        if draw.random() < 0.4:
            change(draw, roots)


def test_one_graph_is_remembered():
    """Those before it go, with their static values."""
    last, alive = LastGraph(), weakref.WeakSet()
    for size in range(20):
        model = Plain()
        model.config = Config(size)
        alive.add(model.config)
        for _ in range(3):
            last.flatten((model, nn.Param(1.0)))
    del model
    gc.collect()
    assert len(alive) <= 2


def node_types(structure):
    """Yield the class of each node of a structure, None for a leaf."""
    if structure is None:
        yield None
        return
    rule, _, structures = structure
    yield rule.cls
    for child in structures:
        yield from node_types(child)


def test_the_graphs_are_what_they_should_be():
    """Random graphs have all that is looked at."""
    counts = collections.Counter()
    for seed in range(60):
        roots = random_graph(random.Random(seed))
        counts.update(node_types(flatten_graph(roots).structure))
    types = (Plain, tuple, nn.Param, Reference, None)
    assert min(counts[cls] for cls in types) > 10

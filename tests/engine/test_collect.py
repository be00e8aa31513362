"""Functions that read graphs of objects: what they look at, how long they live."""

import linecache

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn
from leafwise.core.node import AGAIN, VALUE, Check, GraphReading, Reading
from leafwise.core.walk import hooks
from leafwise.nn.graph import flatten_graph
from leafwise.nn.template import Templates


class Block(nn.Module):
    """Two variables, and static values of several sorts."""

    def __init__(self, width=4, names=("a",)):
        self.w = nn.Param(np.ones(2))
        self.b = nn.Param(np.ones(2), note=names)
        self.width = width
        self.rate = float(width)
        self.names = [*names]


def model(depth=3):
    """Return blocks in a list, the first of which has two names."""
    made = nn.Dict(blocks=nn.List([Block() for _ in range(depth)]))
    made.first, made.scale = made.blocks[0], lw.data(np.ones(2))
    return made


def learned(root, times=1):
    """Return templates that met a graph."""
    templates = Templates()
    for _ in range(times):
        assert templates.read(root) is None
        templates.flatten(root)
    return templates


def grown(one):
    one.blocks.append(Block())


def removed(one):
    del one.blocks[1]


def renamed(one):
    one.other = one.pop("first")


def moved(one):
    one.first = one.blocks[1]


def turned(one):
    one.blocks.reverse()


def a_number(one):
    one.blocks[1].width = 5


def of_another_type(one):
    one.blocks[1].width = True


def an_equal_float(one):
    one.blocks[1].rate = 4


def inside_a_list(one):
    one.blocks[1].names.append("b")


def another_list(one):
    one.blocks[1].names = ["a"]


def metadata(one):
    one.blocks[2].w.set_metadata(unit="m")


def other_metadata(one):
    one.blocks[2].b.note = ("b",)


def frozen(one):
    one.blocks[2] = nn.freeze(one.blocks[2])


def a_variable_of_another_type(one):
    one.blocks[2].w = nn.BatchStat(1)


def shared_variable(one):
    one.blocks[2].w = one.blocks[1].w


def kind(one):
    one.blocks[2].register_state("w", 1.0)


def attribute(one):
    one.blocks[2].more = 1


def behind_the_scenes(one):
    vars(one.blocks[2])["more"] = 1


def none(one):
    one.scale = None


def a_tree(one):
    one.scale = [one.scale]


def of_another_class(one):
    one.blocks[2] = Special()


class Special(Block):
    """Another class with the same attributes."""


CHANGES = [
    grown,
    removed,
    renamed,
    moved,
    turned,
    a_number,
    of_another_type,
    an_equal_float,
    inside_a_list,
    another_list,
    metadata,
    other_metadata,
    frozen,
    a_variable_of_another_type,
    shared_variable,
    kind,
    attribute,
    behind_the_scenes,
    none,
    a_tree,
    of_another_class,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_changed_is_not_read(change, eager):
    """Whatever is structure is looked at."""
    one = model()
    templates = learned(one)
    assert templates.read(one) is not None
    change(one)
    assert templates.read(one) is None
    templates.flatten(one)
    found = templates.read(one)
    assert found is not None
    assert [*map(id, found[1][1])] == [*map(id, flatten_graph(one).tracked)]


def test_values_may_change(eager):
    """They are read anew, whatever they are."""
    one = model()
    templates = learned(one)
    one.blocks[1].w.value = {"any": "tree"}
    one.scale = np.zeros(3)
    _, (values, tracked) = templates.read(one)
    assert values[2] == {"any": "tree"}
    assert values[-1] is one.scale
    assert tracked[0] is one


def test_a_leaf_of_a_new_type_is_learned(eager):
    """It is flattened once, to see that it is a leaf."""
    one = model()
    templates = learned(one)
    one.scale = 1.5
    assert templates.read(one) is None
    templates.flatten(one)
    assert templates.read(one) is not None


def test_other_objects_of_the_same_structure(eager):
    """One function reads all of them, unless static values may change."""
    one, other = nn.List([nn.Param(1)]), nn.List([nn.Param(2)])
    templates = learned(one)
    templates.flatten(other)  # beside jax, this says at what level of tracing it is
    assert templates.read(other)[1] == ([2], [other, other[0]])
    assert templates.read(one)[1] == ([1], [one, one[0]])
    templates = learned(model())
    assert templates.read(model()) is None


def test_the_second_sight_compiles():
    """With the engine on; and nothing is read while it is off."""
    with lw.engine.enabled():
        one = model()
        templates = learned(one, 2)
        assert templates.read(one) is not None
        with lw.engine.disabled():
            assert templates.read(one) is None
            templates.flatten(one)
        assert templates.read(one) is None  # compiled anew, as all else
        templates.flatten(one)
        templates.flatten(one)
        assert templates.read(one) is not None
        lw.engine.forget()
        assert templates.read(one) is None


def test_registrations_begin_anew(eager):
    """What was a leaf may be a node now."""

    class Later:
        pass

    one = nn.List([nn.Param(1), lw.data(Later())])
    templates = learned(one)
    assert templates.read(one) is not None
    lw.register_pytree_node(Later, lambda later: ((), None), lambda aux, _: Later())
    assert templates.read(one) is None
    assert len(templates.flatten(one)[1].leaves) == 1
    assert templates.read(one)[1][0] == [1]


def test_unchecked_objects_are_flattened(eager):
    """What is data in them may change without a word."""

    class Box(nn.Object):
        pass

    one = Box()
    one.items = [nn.Param(1)]
    templates = learned(one)
    assert templates.read(one) is None


def test_few_are_kept_and_the_last_come_first(eager):
    """A template that left comes back when it is needed."""
    ones = [nn.List([nn.Param(1)] * n) for n in range(1, 14)]
    templates = Templates()
    for _ in range(2):
        for one in ones:
            if templates.read(one) is None:
                templates.flatten(one)
    assert [templates.read(one) is not None for one in ones] == [False] * 5 + [True] * 8


def test_equal_neighbours_are_a_loop(eager):
    """A hundred layers take as much text as five."""

    def lines(depth):
        one = nn.List([nn.Dict(w=nn.Param(1), n=2.5) for _ in range(depth)])
        templates = learned(one)
        template, found = templates.read(one)
        assert len(found[0]) == depth
        code = template.collect.__code__
        return len(linecache.getlines(code.co_filename))

    assert lines(100) == lines(5)


def test_long_texts_and_deep_graphs_are_left_alone(eager):
    """The graph is flattened then, and nobody tries again."""
    wide = nn.List([nn.Dict({f"k{n}": nn.Param(n)}) for n in range(2000)])
    deep = inner = nn.List([])
    for _ in range(3000):
        inner.append(nn.List([]))
        inner = inner[0]
    for one in (wide, deep):
        templates = learned(one)
        assert templates.read(one) is None
        templates.flatten(one)
        assert templates.read(one) is None


def test_any_description_is_read(eager):
    """Attributes, items, functions, tests; a graph that grows while it is read."""
    leaf = Reading(list, (Check((), "len", 2),), whole=(), children=(VALUE, AGAIN))
    node = Reading(
        Block,
        (
            Check(("width",), "==", 4),
            Check(("__dict__", "rate"), lambda rate, known: rate < known, 5.0),
        ),
        sources=(("names",), ("__dict__", "rate")),
        children=(leaf, VALUE),
        is_counted=True,
        value=("w",),
    )
    root = Reading(list, whole=lambda found: found[1:] or None, children=(node,))
    graph = GraphReading(root, 1, 3, (0,), {int, float})
    collect = hooks.collector(1, lambda: graph)
    one = Block(4, (7, 0))
    one.names[1] = one
    assert collect([None, one]) == ([one.w, 7, 4.0], [one])
    assert collect([None]) is None
    one.names[1] = Block()
    assert collect([None, one]) is None
    one.names[:] = [7.5, one, one]
    assert collect([None, one]) is None
    one.names[:], one.rate = [7, one], 5.5
    assert collect([None, one]) is None
    assert hooks.collector(2, lambda: graph) is None

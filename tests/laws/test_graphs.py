"""Laws of object graphs: sharing and cycles survive, and nothing is lost or written."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from leafwise import nn


class Node(lw.Pytree):
    pass


class Off(nn.Object):
    pass


class Chain(nn.Module):
    pass


TYPES = (nn.Param, nn.Cache, nn.Intermediate)


@st.composite
def graphs(draw):
    """Draw objects and variables, put into one another at random; return the first.

    Plain containers stand between them, and never contain one another in a cycle.
    """
    nodes = [
        draw(st.sampled_from([Node, Off, Chain, nn.List, nn.Dict]))()
        for _ in range(draw(st.integers(1, 6)))
    ]
    boxes = [
        draw(st.sampled_from(TYPES))(draw(values(nodes[:0])), note=draw(st.booleans()))
        for _ in range(draw(st.integers(0, 3)))
    ]
    parts = st.sampled_from(nodes) | values([*nodes, *boxes])
    if boxes:
        parts |= st.sampled_from(boxes)
    for node in nodes:
        for name in draw(st.lists(st.sampled_from("abcd"), unique=True, max_size=3)):
            part = lw.data(draw(parts))
            if isinstance(node, nn.List):
                node.append(part)
            else:
                setattr(node, name, part)
        if not isinstance(node, nn.List | nn.Dict):
            node.tag = lw.static(draw(st.sampled_from([1, True, "x", [1]])))
    return nodes[0]


def values(things):
    """Bare values, and plain containers of these and of some things."""
    bare = st.one_of(
        st.integers(0, 3), st.builds(np.full, st.integers(1, 2), st.integers(0, 3))
    )
    if not things:
        return bare
    inside = bare | st.sampled_from(things)
    return st.one_of(
        bare,
        st.lists(inside, max_size=2),
        st.dictionaries(st.sampled_from("xy"), inside, max_size=2),
        st.tuples(inside),
    )


def shape(graph):
    """Return the shape of a graph: what refers to what, by number of first sight."""
    numbers = {}
    objects = []
    keep = []
    stack = [graph]
    while stack:
        value = stack.pop()
        keep.append(value)
        if isinstance(value, Node | Off | Chain | nn.List | nn.Dict | nn.Variable):
            if id(value) in numbers:
                objects.append(numbers[id(value)])
                continue
            numbers[id(value)] = len(numbers)
        kind = type(value).__name__
        if isinstance(value, nn.Variable):
            objects.append((kind, value.get_metadata()))
            stack.append(value.get_raw_value())
        elif isinstance(value, nn.List):
            objects.append((kind, len(value)))
            stack += reversed(list(value))
        elif isinstance(value, nn.Dict):
            objects.append((kind, sorted(value)))
            stack += [value[key] for key in sorted(value, reverse=True)]
        elif isinstance(value, lw.Pytree):
            names = sorted(vars(value))
            objects.append((kind, names))
            stack += [getattr(value, name) for name in reversed(names)]
        elif isinstance(value, list | tuple):
            objects.append((kind, len(value)))
            stack += reversed(value)
        elif isinstance(value, dict):
            objects.append((kind, sorted(value)))
            stack += [value[key] for key in sorted(value, reverse=True)]
        else:
            objects.append((kind, repr(value)))
    return objects


def things(graph):
    """Return the objects and variables of a graph, and its plain containers."""
    return [
        value
        for _, value in nn.iter_graph(graph)
        if isinstance(value, lw.Pytree | nn.Variable | list | dict)
    ]


@given(graphs())
def test_merge_after_split(graph):
    """What is put together again has the same shape, and no object of before."""
    graphdef, state = nn.split(graph)
    again = nn.merge(graphdef, state, copy=True)
    assert shape(again) == shape(graph)
    assert nn.graphdef(again) == graphdef
    assert hash(nn.graphdef(again)) == hash(graphdef)


@given(graphs())
def test_update_with_its_own_state(graph):
    """Nothing changes, and each object stays the one it is."""
    before = shape(graph)
    identities = list(map(id, things(graph)))
    nn.update(graph, nn.state(graph))
    assert shape(graph) == before
    assert list(map(id, things(graph))) == identities


@given(
    graphs(), st.lists(st.sampled_from([*TYPES, int, np.ndarray, "cache"])), st.data()
)
def test_filters_are_a_partition(graph, filters, data):
    """Each value goes to the first filter that means it; merging takes any order."""
    graphdef, *states = nn.split(graph, *filters, ...)
    flat_state = nn.to_flat_state(nn.state(graph))
    flat = [nn.to_flat_state(state) for state in states]
    paths = [path for part in flat for path in part.paths]
    assert sorted(map(repr, paths)) == sorted(map(repr, flat_state.paths))
    for place, (filter, part) in enumerate(zip(filters, flat, strict=False)):
        meant = nn.filters.predicate(filter)
        earlier = list(map(nn.filters.predicate, filters[:place]))
        for path, value in part:
            assert meant(path, value)
            assert not any(test(path, value) for test in earlier)
    mixed = data.draw(st.permutations(states))
    assert shape(nn.merge(graphdef, *mixed)) == shape(graph)


@given(graphs())
def test_clones_share_nothing_that_can_change(graph):
    """Same shape; no object, variable, list, dict or array in common."""
    again = nn.clone(graph)
    assert shape(again) == shape(graph)

    def changeable(root):
        statics = [
            node.tag
            for node in things(root)
            if isinstance(getattr(node, "tag", None), list)
        ]
        arrays = [v for _, v in nn.iter_graph(root) if isinstance(v, np.ndarray)]
        return {id(value) for value in (*things(root), *statics, *arrays)}

    assert not changeable(graph) & changeable(again)


@given(graphs(), st.sampled_from([*TYPES, nn.Variable]))
def test_pop_takes_out_what_it_returns(graph, filter):
    """The rest is as before; what was popped is nowhere any more."""
    before = dict(nn.to_flat_state(nn.state(graph)))
    try:
        popped = nn.pop(graph, filter)
    except ValueError:  # something stands in a list: nothing was popped
        popped = None
    if popped is None:
        assert dict(nn.to_flat_state(nn.state(graph))).keys() == before.keys()
        return
    popped_values = dict(nn.to_flat_state(popped))
    assert all(isinstance(value, filter) for value in popped_values.values())
    assert all(before[path] is value for path, value in popped_values.items())
    assert nn.state(graph, filter) == nn.State({})
    left = dict(nn.to_flat_state(nn.state(graph)))
    assert {id(v) for v in left.values() if isinstance(v, nn.Variable)} == {
        id(v)
        for path, v in before.items()
        if path not in popped_values and isinstance(v, nn.Variable)
    }


@given(graphs(), st.sampled_from([None, *TYPES, *"abcdx", 0, nn.Kind.PARAMETER]))
def test_freezing_is_taken_back(graph, key):
    """References and values stay; no filter of a type means what is frozen."""
    before = shape(graph)
    values = dict(nn.to_flat_state(nn.state(graph)))
    meant = (
        ()
        if key is None
        else (
            nn.filters.PathContains(key)
            if isinstance(key, str | int)
            else nn.filters.predicate(key),
        )
    )
    try:
        frozen = nn.freeze(graph, *meant)
    except (
        lw.errors.CycleError,
        ValueError,
    ):  # through a tuple; no parameter, or a part
        return
    assert shape(graph) == before
    frozen_values = dict(nn.to_flat_state(nn.state(frozen)))
    assert frozen_values.keys() == values.keys()
    for path, value in frozen_values.items():
        if isinstance(value, nn.Param):
            test = meant[0] if meant else nn.filters.Everything()
            is_meant = test(path, values[path])
            assert value.get_metadata("frozen", False) == is_meant
            assert value.get_raw_value() is values[path].get_raw_value()
            assert nn.filters.OfType(nn.Param)(path, value) != is_meant
    assert not list(nn.to_flat_state(nn.state(frozen, nn.Param))) or meant
    assert shape(nn.unfreeze(frozen)) == before
    assert len(nn.find_duplicates(frozen)) == len(nn.find_duplicates(graph))


@given(graphs())
def test_summaries_count_each_value_once(graph):
    """The whole has as many numbers as the state, whatever stands twice."""
    summary = lw.tree_summary(graph)
    variables = nn.to_flat_state(nn.state(graph)).leaves
    sizes = [np.size(getattr(value, "value", value)) for value in variables]
    assert summary.count == sum(sizes) == summary.rows[0].count
    assert sum(amount.count for amount in summary.kinds.values()) == sum(sizes)

"""Laws of objects that are trees, under any sequence of what can be done to them."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import leafwise as lw
from leafwise import nn


class Model(lw.Pytree):
    """A class that pickle can find."""


class Ordered(nn.Module):
    """Its children come in the order of insertion."""


NAMES = st.sampled_from(["a", "b", "c", "_d", "e"])
PLAIN = st.one_of(
    st.none(), st.booleans(), st.integers(0, 2), st.floats(), st.text(max_size=2)
)
STATIC = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.tuples(inner)
        | st.dictionaries(st.sampled_from("xy"), inner, max_size=2)
    ),
    max_leaves=4,
)
ARRAY = st.builds(np.full, st.integers(0, 2), st.integers(0, 3))
DATA = st.one_of(
    ARRAY,
    st.builds(nn.List, st.lists(PLAIN | ARRAY, max_size=3)),
    st.builds(nn.Dict, st.dictionaries(st.sampled_from("pq"), PLAIN | ARRAY)),
)
MARKS = st.sampled_from([lw.data, nn.parameter, nn.state_value])


class Objects(RuleBasedStateMachine):
    """Does things to one object, and keeps a plain record of what it should be."""

    cls = Model

    def __init__(self):
        super().__init__()
        self.obj = self.cls()
        self.values = {}
        self.kinds = {}
        self.said = set()  # names that were said to be static

    def assign(self, name, value, bare, kind):
        """Assign, and record what was there before if it is refused."""
        self.obj.__setattr__(name, value)
        self.values[name] = bare
        self.kinds[name] = kind

    @rule(name=NAMES, value=STATIC)
    def assign_plain(self, name, value):
        self.assign(name, value, value, self.kinds.get(name, "static"))

    @rule(name=NAMES, value=DATA)
    def assign_data(self, name, value):
        inferred = "module" if isinstance(value, nn.Module) else "data"
        kind = self.kinds.get(name, inferred)
        is_open = self.cls is Ordered and name not in self.said
        if kind != "static" or is_open:
            self.assign(name, value, value, inferred if kind == "static" else kind)
            return
        before = (dict(vars(self.obj)), dict(nn.name_to_kind(self.obj)))
        try:
            setattr(self.obj, name, value)
        except lw.errors.KindError:
            assert (dict(vars(self.obj)), dict(nn.name_to_kind(self.obj))) == before
        else:
            raise AssertionError("data was taken for a static attribute")

    @rule(name=NAMES, value=STATIC | DATA, mark=MARKS)
    def mark_as_data(self, name, value, mark):
        marked = mark(value)
        self.assign(name, marked, value, marked.kind.value)
        self.said.discard(name)

    @rule(name=NAMES, value=STATIC)
    def mark_as_static(self, name, value):
        self.assign(name, lw.static(value), value, "static")
        self.said.add(name)

    @rule(name=NAMES)
    def delete(self, name):
        if name in self.values:
            delattr(self.obj, name)
            del self.values[name], self.kinds[name]
            self.said.discard(name)

    @rule(name=NAMES, value=PLAIN)
    def smuggle(self, name, value):
        if name not in self.values:
            vars(self.obj)[name] = value
            self.values[name] = value
            self.kinds[name] = "static"

    @rule(how=st.sampled_from(["copy", "deepcopy", "pickle", "rebuild"]))
    def go_on_with_a_copy(self, how):
        old = self.obj
        kinds = dict(nn.name_to_kind(self.obj))
        ways = {
            "copy": copy.copy,
            "deepcopy": copy.deepcopy,
            "pickle": lambda x: pickle.loads(pickle.dumps(x)),
            "rebuild": lambda x: lw.tree_map(lambda leaf: leaf, x),
        }
        copied = ways[how]
        self.obj = copied(old)
        old.fresh = lw.data(1)
        assert dict(nn.name_to_kind(self.obj)) == kinds

    @invariant()
    def attributes_are_as_recorded(self):
        kinds = nn.name_to_kind(self.obj)
        assert {name: kind.value for name, kind in kinds.items()} == self.kinds
        assert list(vars(self.obj)) == list(self.values)

    @invariant()
    def leaves_are_those_of_data_attributes(self):
        names = [name for name, kind in self.kinds.items() if kind != "static"]
        if self.cls is Model:
            names.sort()
        children = [getattr(self.obj, name) for name in names]
        expected = lw.tree_leaves(children)
        leaves = lw.tree_leaves(self.obj)
        assert len(leaves) == len(expected)
        assert all(a is b for a, b in zip(leaves, expected, strict=True))

    @invariant()
    def round_trip(self):
        leaves, treedef = lw.tree_flatten(self.obj)
        again = treedef.unflatten(leaves)
        assert lw.tree_structure(again) == treedef
        assert hash(lw.tree_structure(again)) == hash(treedef)
        assert list(vars(again)) == list(vars(self.obj))
        assert repr(again) == repr(self.obj)

    @invariant()
    def order_of_assignment_does_not_count(self):
        other = self.cls()
        for name in reversed(list(self.values)):
            kind = nn.Kind(self.kinds[name])
            setattr(other, name, type(lw.data(1))(kind, getattr(self.obj, name)))
        same = lw.tree_structure(other) == lw.tree_structure(self.obj)
        data = [name for name, kind in self.kinds.items() if kind != "static"]
        assert same == (self.cls is Model or len(data) < 2)


class OrderedObjects(Objects):
    cls = Ordered


TestObjects = Objects.TestCase
TestOrderedObjects = pytest.mark.slow(OrderedObjects.TestCase)


class Lists(RuleBasedStateMachine):
    """Does things to a `List`, beside two plain lists: of values and of kinds."""

    def __init__(self):
        super().__init__()
        self.items = nn.List()
        self.values = []
        self.kinds = []

    @rule(place=st.integers(-3, 8), value=PLAIN, kind=st.sampled_from(nn.Kind))
    def insert(self, place, value, kind):
        self.items.insert(place, type(lw.data(1))(kind, value))
        self.values.insert(place, value)
        self.kinds.insert(place, kind)

    @rule(where=st.slices(6))
    def delete(self, where):
        del self.items[where], self.values[where], self.kinds[where]

    @rule(where=st.slices(6), value=PLAIN)
    def assign(self, where, value):
        size = len(self.values[where])
        self.items[where] = [value] * size
        self.values[where] = [value] * size

    @rule()
    def turn(self):
        for sequence in (self.items, self.values, self.kinds):
            sequence.reverse()

    @rule(data=st.data())
    def pop(self, data):
        if self.values:
            place = data.draw(st.integers(-len(self.values), len(self.values) - 1))
            self.kinds.pop(place)
            assert self.items.pop(place) is self.values.pop(place)

    @invariant()
    def as_recorded(self):
        assert list(map(id, self.items)) == list(map(id, self.values))
        pairs = list(zip(self.values, self.kinds, strict=True))
        data = [value for value, kind in pairs if kind.is_data]
        assert list(map(id, lw.tree_leaves(self.items, none_is_leaf=True))) == list(
            map(id, data)
        )
        again = copy.copy(self.items)
        assert lw.tree_structure(again) == lw.tree_structure(self.items)
        for kind in nn.Kind:
            count = sum(1 for value, k in pairs if k is kind and value is not None)
            if kind.is_data and kind is not nn.Kind.STATE:  # it includes FROZEN
                assert len(lw.tree_leaves(nn.select_kind(self.items, kind))) == count


TestLists = Lists.TestCase

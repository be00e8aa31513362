"""Understanding PAX: registered subtrees, kinds, sub-modules.

Each cell of the notebook, with `leafwise.nn.Module` and the same numbers.
"""

import pytest

import leafwise as lw
from leafwise import nn


class Base(nn.Module):
    """The flag that modules of the text have."""

    def __init__(self):
        super().__init__()
        self.is_training = True


class Subtree(Base):
    def __init__(self):
        super().__init__()
        self.register_subtree("count", 0)

    def step(self):
        self.count = self.count + 1

    def __str__(self):
        return f"{type(self).__name__} :: count={self.count}"


def test_register_subtree():
    """A registered attribute is a leaf, also after it was assigned again."""
    counter = Subtree()
    counter.step()
    assert str(counter) == "Subtree :: count=1"
    leaves, treedef = lw.tree_flatten(counter)
    assert leaves == [1]
    text = "PyTreeDef(CustomNode(Subtree[is_training=True], [count=*]))"
    assert repr(treedef) == text
    again = lw.tree_unflatten(treedef, leaves)
    assert str(again) == "Subtree :: count=1"
    assert lw.tree_structure(again) == treedef


class Counter(Base):
    def __init__(self):
        super().__init__()
        self.register_state("count", 0)
        self.register_parameter("bias", 0.0)

    def step(self):
        self.count = self.count + 1

    def __str__(self):
        return f"{type(self).__name__} :: count={self.count}  bias={self.bias}"


def test_parameter_and_state():
    """Leaves come in the order of registration; kinds survive the round trip."""
    counter = Counter()
    counter.step()
    assert str(counter) == "Counter :: count=1  bias=0.0"
    leaves, treedef = lw.tree_flatten(counter)
    assert leaves == [1, 0.0]
    again = lw.tree_unflatten(treedef, leaves)
    assert str(again) == "Counter :: count=1  bias=0.0"
    assert again.name_to_kind == {
        "is_training": nn.Kind.STATIC,
        "count": nn.Kind.STATE,
        "bias": nn.Kind.PARAMETER,
    }
    assert list(again.name_to_kind) == ["is_training", "count", "bias"]


def test_kinds_are_read_only_and_copied_on_write():
    """The mapping cannot be changed, and an old one does not change."""
    counter = Counter()
    before = counter.name_to_kind
    with pytest.raises(TypeError):
        before["count"] = nn.Kind.PARAMETER
    counter.register_parameter("more", 1.0)
    assert "more" not in before
    assert counter.name_to_kind["more"] is nn.Kind.PARAMETER


class Pair(Base):
    """Two counters: one found by itself, one registered."""

    def __init__(self):
        super().__init__()
        self.first = Counter()
        self.register_module("second", Counter())


def test_sub_modules():
    """The last cell, as it is described: sub-modules are detected or registered."""
    pair = Pair()
    assert pair.name_to_kind["first"] is nn.Kind.MODULE
    assert pair.name_to_kind["second"] is nn.Kind.MODULE
    pair.first.step()
    pair.second.step()
    pair.second.step()
    leaves, treedef = lw.tree_flatten(pair)
    assert leaves == [1, 0.0, 2, 0.0]
    again = lw.tree_unflatten(treedef, leaves)
    assert (str(again.first), str(again.second)) == (
        "Counter :: count=1  bias=0.0",
        "Counter :: count=2  bias=0.0",
    )
    assert lw.tree_structure(again) == treedef
    assert again.name_to_kind == pair.name_to_kind


def test_a_registered_name_keeps_its_kind():
    """Assigning a module to a name that has a kind, or something else to any name."""
    pair = Pair()
    pair.register_subtree("third", 0)
    pair.third = Counter()
    pair.first = 5
    assert pair.name_to_kind["third"] is nn.Kind.DATA
    assert pair.name_to_kind["first"] is nn.Kind.MODULE


def test_what_was_never_registered_becomes_a_module():
    """A name that held a number, as the text says of names that are not registered."""
    pair = Pair()
    pair.third = 0
    assert pair.name_to_kind["third"] is nn.Kind.STATIC
    assert lw.tree_leaves(pair) == [0, 0.0, 0, 0.0]
    pair.third = Counter()
    assert pair.name_to_kind["third"] is nn.Kind.MODULE
    assert lw.tree_leaves(pair) == [0, 0.0, 0, 0.0, 0, 0.0]


def test_the_two_methods_of_a_pytree():
    """Children and the rest, and a new module of them; without a call of `__init__`."""
    counter = Counter()
    counter.step()
    children, aux = counter.tree_flatten()
    assert children == [1, 0.0]
    again = Counter.tree_unflatten(aux, children)
    assert str(again) == str(counter)
    assert again.name_to_kind == counter.name_to_kind
    assert Counter.tree_unflatten(aux, ["a", None]).bias is None


def test_the_flag_of_a_module():
    """It is structure; a module without one of its own is training as well."""
    counter = Counter()
    plain = nn.Module()
    assert counter.is_training
    assert plain.is_training
    before = lw.tree_structure([counter, plain])
    counter.eval(), plain.eval()
    assert not counter.is_training
    assert not plain.is_training
    assert lw.tree_structure([counter, plain]) != before
    counter.train(), plain.train()
    assert lw.tree_structure([counter, plain]) == before

"""Several threads at once, each result checked against what is possible.

When threads take turns is not for a seed to say: what fails may pass the next time.
"""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from helpers.confusable_trees import Node, Tree, trees
from helpers.exact_forms import exact_form
from helpers.threads import run_together
from leafwise import nn


pytestmark = pytest.mark.needs("threads")
ENGINE = getattr(lw, "engine", None)
STEPS = 40


class Early(Node):
    """Registered and unregistered all the time."""


class Shared:
    """What the threads work on.

    Attributes:
        tree: A tree that nobody changes, with its leaves, paths and text as told.
        table: A dict that is changed all the time; each value holds its key.
        items: A list that is changed all the time; it holds numbers.
        late: A tree with an object of a class that comes and goes.
        model: An object whose attributes are changed.
    """

    def __init__(self, tree):
        self.tree = tree
        leaves, treedef = lw.tree_flatten(tree)
        self.leaves = exact_form(leaves)
        self.text = repr(treedef)
        self.paths = list(map(str, treedef.paths()))
        self.table = {f"k{n}": (f"k{n}", 0) for n in range(12)}
        self.items = list(range(20))
        self.late = [1, Early([2, (3,)], "t"), {"a": 4}]
        self.model = Tree([(0, 0), [0]], None, "ab")


def unregister():
    if lw.is_registered(Early):
        lw.unregister_pytree_node(Early)


# -------------------------------------------------------------------------- readers


def read_fixed(random, shared):
    """A tree that nobody changes is the same for all."""
    leaves, treedef = lw.tree_flatten(shared.tree)
    assert exact_form(leaves) == shared.leaves
    assert repr(treedef) == shared.text
    for mapped in (
        lw.tree_map(lambda x: [x], shared.tree),
        lw.tree_map(lambda x, y: x, shared.tree, shared.tree),
    ):
        assert exact_form(lw.tree_leaves(mapped)) == shared.leaves
    assert list(map(str, lw.tree_paths(shared.tree))) == shared.paths
    again = lw.tree_structure(shared.tree)
    assert treedef == again
    assert hash(treedef) == hash(again)


def read_table(random, shared):
    """Keys and values of a dict that changes belong together."""
    try:
        what = random.randrange(3)
        if what == 0:
            found = lw.tree_leaves_with_path(shared.table, is_leaf=tuple)
            pairs = [(path[0].key, leaf) for path, leaf in found]
        elif what == 1:
            pairs = lw.tree_map(lambda x: x, shared.table, is_leaf=tuple).items()
        else:
            leaves, treedef = lw.tree_flatten(shared.table)
            pairs = treedef.unflatten(leaves).items()
    except (RuntimeError, lw.LeafwiseError):
        return  # changed while it was read
    assert all(key == leaf[0] for key, leaf in pairs)


def read_items(random, shared):
    """A list that changes gives numbers that it held."""
    try:
        leaves, treedef = lw.tree_flatten([shared.items, (shared.items,)])
    except (RuntimeError, lw.LeafwiseError):
        return
    assert len(leaves) == treedef.num_leaves
    assert set(map(type, leaves)) <= {int}


def read_late(random, shared):
    """An object is a leaf or a node, and never something in between."""
    leaves, treedef = lw.tree_flatten(shared.late)
    texts = [leaf if isinstance(leaf, int) else "Early" for leaf in leaves]
    assert texts in ([1, "Early", 4], [1, 2, 3, 4], [1, 3, 2, 4])
    assert exact_form(treedef.unflatten(leaves)) == exact_form(shared.late)
    try:
        mapped = lw.tree_map(lambda x, _: x, shared.late, shared.late)
    except lw.StructureError:
        return  # registered between the two
    assert exact_form(mapped) == exact_form(shared.late)


def read_model(random, shared):
    """An object that changes gives values that were set together."""
    leaves, treedef = lw.tree_flatten(shared.model)
    assert len(leaves) == treedef.num_leaves
    assert leaves[0] == leaves[1]


def make_models(random, shared):
    """What is data stays data, what is not does not become it; long lists count up."""
    assert lw.tree_leaves(Tree([1.5], "name", "a")) == [1.5]
    assert not nn.is_data("name")
    size = random.randrange(3000)
    assert [path[0].idx for path in lw.tree_paths([0] * size)] == list(range(size))


READERS = (read_fixed, read_table, read_items, read_late, read_model, make_models)

# -------------------------------------------------------------------------- writers


def write(random, shared):
    """Change the dict, the list and the object."""
    for _ in range(20):
        key = f"k{random.randrange(14)}"
        shared.table.pop(key, None)
        if random.random() < 0.8:
            shared.table[key] = (key, random.randrange(100))
        if len(shared.items) > random.randrange(30):
            del shared.items[random.randrange(3) :: 5]
        else:
            shared.items += range(random.randrange(5))
    number = random.randrange(100)
    shared.model.a = lw.data((number, number))
    shared.model.c = lw.data(number)
    shared.model.tag = lw.static(number)


def register(random, shared):
    """Register a class, and take that back."""
    order = random.choice((1, -1))
    lw.register_pytree_node(
        Early,
        lambda node: (node.kids[::order], node.aux),
        lambda aux, kids: Early(list(kids)[::order], aux),
        exist_ok=True,
    )
    if random.random() < 0.8:
        lw.unregister_pytree_node(Early)


def register_other(random, shared):
    """Register classes that no tree holds, as nodes and as data."""
    cls = type("Made", (), {})
    lw.register_pytree_node(cls, lambda _: ((), None), lambda *_: cls())
    nn.register_data_type(type("Data", (), {}))
    lw.tree_leaves([cls()])
    lw.unregister_pytree_node(cls)


def switch(random, shared):
    """Switch the engine for a while, or let it forget what it knows."""
    if ENGINE:
        modes = (ENGINE.disabled, ENGINE.enabled, ENGINE.eager)
        with random.choice(modes)():
            assert exact_form(lw.tree_leaves(shared.tree)) == shared.leaves
        ENGINE.forget()


WRITERS = (write, register_other, switch)
SEEDS = st.integers(0, 2**32)


def steps(act, shared, seed):
    """Return a function that does one thing many times."""

    def run():
        random = Random(seed)
        for _ in range(STEPS):
            act(random, shared)

    return run


@given(trees, st.lists(st.sampled_from(READERS), min_size=2, max_size=2), SEEDS)
def test_threads(tree, readers, seed):
    """Some that read, some that write; one of them alone registers the class."""
    shared = Shared(tree)
    mode = ENGINE and ENGINE.stats()["mode"]
    acts = [*readers, register, Random(seed).choice(WRITERS)]
    try:
        assert run_together(*(steps(act, shared, seed) for act in acts)) == []
    finally:
        unregister()
    assert mode == (ENGINE and ENGINE.stats()["mode"])
    assert exact_form(lw.tree_leaves(shared.tree)) == shared.leaves

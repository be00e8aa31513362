"""What is hot: counting, choosing, bounds, forgetting, threads."""

import gc
import linecache
import os
import subprocess
import sys
import weakref

import pytest

import leafwise as lw
from helpers.confusable_trees import Layer, Node


def generated_files():
    """Return the names of generated files."""
    return {name for name in linecache.cache if str(name).startswith("<leafwise ")}


@pytest.fixture(autouse=True)
def no_lines_of_others():
    """Threads of other tests may have left some."""
    lw.engine.forget()
    for name in generated_files():
        linecache.cache.pop(name, None)


def stranger(number):
    return {f"key{number}": [number, (number,)], "x": {f"inner{number}": None}}


def test_the_number_of_structures_is_bounded():
    """The oldest leave, and their lines with them; those that stay still work."""
    with lw.engine.eager():
        for number in range(600):
            tree = stranger(number)
            for _ in range(2):
                leaves, treedef = lw.tree_flatten(tree)
                assert treedef.unflatten(leaves) == tree
        stats = lw.engine.stats()
        assert stats["structures"] <= 256
        assert stats["dropped"] >= 300
        assert len(generated_files()) <= 2_000
        first = stranger(0)
        assert lw.tree_map(lambda x: x, first) == first
    assert generated_files() == set()


def test_forgetting_leaves_no_lines(eager):
    """`forget` drops everything."""
    for _ in range(3):
        leaves, treedef = lw.tree_flatten([1, {"a": 2}])
        treedef.unflatten(leaves)
    assert generated_files()
    lw.engine.forget()
    assert generated_files() == set()
    assert lw.engine.stats()["structures"] == 0
    assert treedef.unflatten([3, 4]) == [3, {"a": 4}]


class Thing:
    """Can be referred to weakly, and called."""

    def __call__(self):
        """Do nothing."""


def test_nothing_of_the_user_is_kept(eager):
    """Neither the tree, nor a node, nor a leaf, nor aux data that is an object."""
    gc.collect()
    leaf = Thing()
    node = Layer(Thing(), 1, Thing())
    aux = Thing()
    tree = {"a": [leaf, node], "b": Node([leaf], aux), "c": lw.Partial(Thing(), leaf)}
    for _ in range(4):
        leaves, treedef = lw.tree_flatten(tree)
        treedef.unflatten(leaves)
        lw.tree_map(lambda x, y: x, tree, tree)
        lw.tree_leaves_with_path(tree)
    things = (leaf, node.x, node.tag, aux, tree["c"].func)
    watched = [weakref.ref(thing) for thing in (*things, node)]
    del tree, node, leaf, aux, leaves, treedef, things
    gc.collect()
    assert [ref() for ref in watched] == [None] * 6
    assert lw.engine.stats()["structures"] >= 1


# ------------------------------------------------------------------------- switching


def test_switching_nests_and_survives_exceptions():
    """The mode is restored, whatever happens inside."""
    modes = [lw.engine.stats()["mode"]]

    def fail_inside():
        with lw.engine.eager(), lw.engine.disabled():
            modes.append(lw.engine.stats()["mode"])
            with lw.engine.enabled():
                modes.append(lw.engine.stats()["mode"])
            raise KeyError

    with pytest.raises(KeyError):
        fail_inside()
    assert modes[1:] == ["off", "on"]
    assert lw.engine.stats()["mode"] == modes[0]


@pytest.mark.needs("processes")
@pytest.mark.parametrize(
    ("value", "mode"), [("0", "off"), ("", "on"), ("eager", "eager")]
)
def test_the_environment_chooses_the_mode(value, mode):
    """`LEAFWISE_ENGINE` is read once, at import."""
    code = "import leafwise as lw; print(lw.engine.stats()['mode'])"
    env = {**os.environ, "LEAFWISE_ENGINE": value}
    output = subprocess.check_output([sys.executable, "-c", code], env=env, text=True)
    assert output.strip() == mode


# --------------------------------------------------------------------------- threads


class Counted:
    """A node that counts how often it is flattened, and may fail."""

    def __init__(self, *children, failure=None):
        self.children = children
        self.failure = failure
        self.times = 0


def flatten_counted(node):
    node.times += 1
    if node.failure is not None:
        raise node.failure
    return node.children, None


def with_keys(node):
    children, aux = flatten_counted(node)
    return children, aux, tuple(map(str, range(len(children))))


def lazily(node):
    children, aux = flatten_counted(node)
    return iter(children), aux


@pytest.fixture(params=[flatten_counted, with_keys, lazily])
def counted(request):
    lw.register_pytree_node(Counted, request.param, lambda _, xs: Counted(*xs))
    yield
    lw.unregister_pytree_node(Counted)


@pytest.mark.parametrize("size", [1, 20])
def test_a_flatten_function_is_called_once_for_a_node(eager, counted, size):
    """Also where the tree turns out to be another one than expected, after that."""
    good = [[Counted(1, 2), 3] for _ in range(size)]
    for _ in range(4):
        lw.tree_leaves(good)
    node = Counted(1, 2)
    bad = [*([Counted(1, 2), 3] for _ in range(size - 1)), [node, (3, 4)]]
    assert lw.tree_leaves(bad) == [1, 2, 3] * (size - 1) + [1, 2, 3, 4]
    assert node.times == 1
    assert {pair[0].times for pair in bad} == {1}


@pytest.mark.parametrize(
    "error", [OSError("disk"), ValueError("mine"), KeyError("mine"), TimeoutError()]
)
def test_what_a_flatten_function_raises_is_raised(eager, counted, error):
    """With its path, and it is not called again."""
    for _ in range(4):
        lw.tree_leaves([0, {"a": Counted(1)}])
    node = Counted(1, failure=error)
    with pytest.raises(type(error)) as caught:
        lw.tree_leaves([0, {"a": node}])
    assert caught.value is error
    assert error.__notes__ == ["at key path [1]['a']"]
    assert node.times == 1
    del error.__notes__


@pytest.mark.parametrize(
    ("tree", "fewest", "most"),
    [
        ([1, 2], 128, 256),
        ({"a": [1, {"b": (2, 3)}], "c": None}, 128, 256),
        ([0.0] * 1000, 24, 48),
        ([{"w": 1, "b": [2, 3]}] * 100, 24, 96),
    ],
    ids=["small", "all different", "list", "layers"],
)
def test_a_structure_is_compiled_when_it_pays(configure_engine, tree, fewest, most):
    """After more uses where compiling costs more than it saves."""
    configure_engine(min_uses=32, max_uses=256, sample_every=16)
    with lw.engine.enabled():
        uses = 0
        while not lw.engine.stats()["structures"]:
            lw.tree_map(lambda x: x, tree)
            uses += 1
        assert fewest <= uses <= most


@pytest.mark.parametrize("uses", [1, 4])
def test_the_number_of_uses_can_be_configured(configure_engine, uses):
    """It is exact if each tree is counted; also for treedefs without trees."""
    configure_engine(min_uses=uses, max_uses=uses, sample_every=1)
    with lw.engine.enabled():
        treedef = lw.tree_structure([1, 2])
        plans = []
        for _ in range(uses + 1):
            plans.append(lw.engine.stats()["structures"])
            treedef.unflatten([1, 2])
        assert plans[-1] == 1
        assert plans[:-1] == [0] * uses or uses == 1


def test_settings_that_change_drop_what_was_compiled(configure_engine, eager):
    """The same settings again drop nothing."""
    lw.tree_leaves([1, [2]])
    settings = configure_engine()
    assert configure_engine(**settings) == settings
    assert lw.engine.stats()["structures"] == 1
    configure_engine(min_uses=2)
    assert lw.engine.stats()["structures"] == 0
    assert configure_engine() == {**settings, "min_uses": 2}


@pytest.mark.parametrize(
    ("settings", "error", "text"),
    [
        ({"min_uses": 2.0}, TypeError, "min_uses must be an int, got float"),
        ({"sample_every": True}, TypeError, "sample_every must be an int, got bool"),
        ({"sample_every": 0}, ValueError, "sample_every must be at least 1, got 0"),
        ({"min_uses": 9, "max_uses": 8}, ValueError, "more than max_uses, got 9 and 8"),
    ],
)
def test_wrong_settings_change_nothing(configure_engine, settings, error, text):
    """They are refused before any of them applies."""
    before = configure_engine()
    with pytest.raises(error, match=text):
        configure_engine(**settings)
    assert configure_engine() == before


def test_many_structures_behind_one_type_of_root():
    """Config trees and batches of requests: all that the keys tell apart are fast."""
    trees = [{f"k{i}_{j}": [j] for j in range(20)} for i in range(100)]
    with lw.engine.enabled():
        for _ in range(5):
            for tree in trees:
                lw.tree_leaves(tree)
        are_shared = [lw.tree_structure(t) is lw.tree_structure(t) for t in trees]
        assert all(are_shared)

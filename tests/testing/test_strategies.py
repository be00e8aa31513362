"""Random trees: what is drawn, and what a failing one shrinks to."""

import dataclasses
import os
import subprocess
import sys
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

import leafwise as lw
from helpers.containers import CONTAINERS
from helpers.random_trees import Color, Layer, Net, Slotted
from leafwise.testing import treedefs, trees, trees_like


QUICK = settings(derandomize=True, database=None, max_examples=500)
ANY = settings(QUICK, phases=[Phase.generate])
"""Without shrinking."""


def smallest(strategy, condition=lambda _: True):
    """Return what a value that meets a condition shrinks to."""
    return find(strategy, condition, settings=QUICK)


def some(strategy, condition=lambda _: True):
    """Return a value that meets a condition."""
    return find(strategy, condition, settings=ANY)


def nodes(tree):
    """Return all nodes of a tree."""
    inner_nodes = []
    lw.tree_leaves(tree, is_leaf=lambda node: inner_nodes.append(node) or False)
    return inner_nodes


# ------------------------------------------------------------------------------- trees


SORTS = [type(None), *CONTAINERS]


@pytest.mark.slow
@pytest.mark.parametrize("sort", SORTS, ids=lambda cls: cls.__name__)
def test_all_sorts_of_nodes_are_drawn(sort):
    """And a tree that has one shrinks to nothing but that."""
    smallest_tree = smallest(trees(), lambda tree: sort in map(type, nodes(tree)))
    assert type(smallest_tree) is sort
    assert not smallest_tree


@pytest.mark.slow
def test_a_failing_tree_shrinks_to_a_small_one():
    """As small as a person would write it."""
    strategy = trees()
    deep = smallest(strategy, lambda t: any(len(p) > 2 for p in lw.tree_paths(t)))
    assert len(nodes(deep)) <= 5
    assert lw.tree_leaves(deep) == [0]
    total = smallest(
        trees(st.integers(), nodes=[list]), lambda tree: lw.tree_sum(tree) > 100
    )
    assert total == 101
    wide = smallest(strategy, lambda t: len(lw.tree_leaves(t)) >= 3)
    assert lw.tree_leaves(wide) == [0, 0, 0]
    assert len(nodes(wide)) <= 5
    keyed = smallest(strategy, lambda tree: isinstance(tree, dict) and tree)
    (value,) = keyed.values()
    assert not value


@lw.dataclass
class Checked:
    """Would refuse most children, if it were asked."""

    value: Any
    rate: float = lw.static(default=0.5)
    color: Color = lw.static(default=Color.RED)

    def __post_init__(self) -> None:
        raise ValueError("never")


@lw.register_dataclass
@dataclasses.dataclass
class Unknown:
    """Its annotation names nothing that is there."""

    value: Any
    unit: "Nowhere" = dataclasses.field(metadata={"static": True})  # noqa: F821


class ByDefault(NamedTuple):
    x: Any = 0
    y: Any = 0


@pytest.mark.slow
def test_registered_classes_are_drawn_by_their_fields():
    """Static fields by their types, and no checks are run."""
    strategy = trees(nodes=[Checked, Slotted, Layer, ByDefault, Unknown])
    for cls in (Checked, Slotted, Layer, ByDefault, Unknown):
        node = some(strategy, lambda t, cls=cls: type(t) is cls)
        assert type(lw.tree_map(str, node)) is cls
    other = some(strategy, lambda t: getattr(t, "color", 0) is Color.BLUE)
    assert isinstance(other.rate, float)


def test_a_function_says_how_a_class_is_drawn():
    """Where fields do not; a class alone is an error that says so."""
    with pytest.raises(
        TypeError,
        match=r"no strategy is known for the node class Net: .*st.builds\(Net,",
    ):
        trees(nodes=[Net])
    with pytest.raises(
        TypeError, match="no strategy is known for the node class object"
    ):
        trees(nodes=[object])
    strategy = trees(
        nodes=[lambda kids: st.builds(Net, kids, st.just(0), st.just("a"))]
    )
    assert smallest(strategy, lambda t: type(t) is Net).weight == 0


NONES = lw.namespace("nones", none_is_leaf=True).name


@given(treedefs(nodes=[type(None), list], namespace=NONES))
def test_treedefs_have_the_mode_of_the_namespace(treedef):
    """None is no node there."""
    assert treedef.none_is_leaf
    assert "None" not in str(treedef).replace("none_is_leaf", "")


@given(st.data(), trees())
def test_trees_of_one_structure(data, tree):
    """Other leaves of the same sorts, or whatever is given."""
    other = data.draw(trees_like(tree))
    lw.testing.assert_same_structure(other, tree)
    assert list(map(type, lw.tree_leaves(other))) == list(
        map(type, lw.tree_leaves(tree))
    )
    texts = data.draw(trees_like(tree, st.text()))
    lw.testing.assert_same_structure(texts, tree)
    assert all(isinstance(leaf, str) for leaf in lw.tree_leaves(texts))
    leaves = data.draw(trees_like(tree, st.just))
    lw.testing.assert_trees_equal(leaves, tree)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["numpy", "jax.numpy", "torch"])
def test_arrays_keep_their_library_shape_and_dtype(name):
    """Whole numbers, halves, bools and complex ones, and scalars."""
    pytest.importorskip("numpy")
    library = pytest.importorskip(name)
    for dtype in ("float32", "int32", "bool", "complex64", "float16", "bfloat16"):
        if not hasattr(library, dtype):
            continue
        leaf = library.ones((2, 3), dtype=getattr(library, dtype))
        one = some(trees_like({"w": leaf}), lambda _: True)["w"]
        assert type(one) is type(leaf)
        assert (one.shape, one.dtype) == (leaf.shape, leaf.dtype)
        other = some(
            trees_like({"w": leaf}),
            lambda tree, leaf=leaf: not lw.tree_equal(tree["w"], leaf),
        )["w"]
        assert (other.shape, other.dtype) == (leaf.shape, leaf.dtype)


@given(
    trees_like({"a": None}, st.just(1), namespace=NONES),
    trees_like({"a": [2]}, st.just(1), is_leaf=list),
)
def test_leaves_are_those_of_the_call(one, other):
    """None and nodes may be leaves."""
    assert one == other == {"a": 1}


@pytest.mark.needs("processes")
def test_hypothesis_is_loaded_by_the_first_strategy():
    """Neither by the library nor by what else there is for tests."""
    code = (
        "import sys, leafwise as lw\n"
        "assert 'leafwise.testing' not in sys.modules\n"
        "lw.testing.check_node(list, [[1]])\n"
        "lw.testing.assert_trees_close(1, 1)\n"
        "lw.testing.trees\n"
        "print('hypothesis' in sys.modules)"
    )
    plain = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE")}
    text = subprocess.check_output([sys.executable, "-c", code], text=True, env=plain)
    assert text == "False\n"


def test_without_hypothesis_an_error_says_what_to_install(monkeypatch):
    """When a strategy is asked for."""
    monkeypatch.setitem(sys.modules, "hypothesis.strategies", None)
    for make in (trees, treedefs, lambda: trees_like(1)):
        with pytest.raises(ImportError, match="pip install hypothesis"):
            make()


def test_node_types_are_a_list():
    """One function or class alone is refused by an error that says so."""
    with pytest.raises(TypeError, match=r"nodes must be a list .*nodes=\[\.\.\.\]"):
        lw.testing.trees(nodes=lambda children: children)


@pytest.mark.parametrize("name", ["leaves", "keys"])
def test_leaves_and_keys_are_strategies(name):
    """A value, or a class, is refused by an error that names the argument."""
    for value in (1, int):
        with pytest.raises(TypeError, match=rf"{name} must be a strategy, .* got"):
            lw.testing.trees(**{name: value})

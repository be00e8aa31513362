"""What is kept with a structure: bounded, never wrong, and gone when it goes."""

import gc
import weakref
from typing import Any

import pytest

import leafwise as lw
from leafwise import nn
from leafwise.errors import EditError


@pytest.fixture(autouse=True)
def _eager_engine():
    with lw.engine.eager():
        yield


def tree_of(size: int) -> dict[str, Any]:
    return {"items": [{f"k{i}": i, "w": [i]} for i in range(size)], "n": None}


def test_many_selectors_push_no_structure_out():
    """Prefixes have a table of their own."""
    trees = [tree_of(size) for size in range(1, 60)]
    for tree in trees:
        lw.tree_map(abs, tree)
        lw.tree_map(abs, tree)
    before = lw.engine.stats()
    for number in range(300):
        lw.at(trees[-1], missing_ok=True)[f"**.k{number}"].set(0)
        lw.at(trees[number % 59], missing_ok=True)[f"items[:{number}].*"].set(0)
    after = lw.engine.stats()
    assert after["dropped"] == before["dropped"]
    assert after["structures"] == before["structures"]


def test_more_selectors_than_are_kept():
    """What was kept first goes, and nothing else changes."""
    tree = tree_of(50)
    for _ in range(3):
        for number in range(50):
            changed = lw.at(tree)[f"items[*].{{k{number},x}}"].set("new")
            assert changed["items"][number] == {f"k{number}": "new", "w": [number]}
            assert changed["items"][number - 1] is tree["items"][number - 1]


def test_untouched_subtrees_are_shared():
    """And a value that is replaced may be a tree, before and after."""
    tree = {"a": {"w": 1, "b": [2, 3]}, "c": [(3, 4), {"w": {"x": 5}}], "d": [6]}
    for _ in range(3):
        changed = lw.at(tree)["**.w"].set([0, 0])
        assert changed == {
            "a": {"w": [0, 0], "b": [2, 3]},
            "c": [(3, 4), {"w": [0, 0]}],
            "d": [6],
        }
        assert changed["d"] is tree["d"]
        assert changed["c"][0] is tree["c"][0]
        assert changed["a"]["b"] is tree["a"]["b"]
        again = lw.at(changed)["**.w"].set(1)
        assert again["c"][1] == {"w": 1}


def test_names_of_static_fields_and_places_in_one_another():
    """What no prefix can say is searched each time."""

    @lw.dataclass
    class Layer:
        w: Any
        size: int = lw.static(default=1)

    for number in range(3):
        tree = {"layers": [Layer(number, size=number), Layer(2, size=5)]}
        sizes = lw.at(tree)["layers[*].size"]
        assert sizes.get() == [number, 5]
        assert [layer.size for layer in sizes.set(7)["layers"]] == [7, 7]
        assert lw.tree_leaves(sizes.mask()) == [False, False]
        nested = lw.at({"a": {"a": number}})["**.a"]
        assert nested.get() == [{"a": number}, number]
        with pytest.raises(EditError, match="something inside it"):
            nested.set(0)


class Module(nn.Module):
    """An object with a static value that has no equal."""

    def __init__(self, w: Any) -> None:
        self.w = nn.Param(w)
        self.f = lambda: w


def test_objects_whose_static_values_differ():
    """They share what is kept, and each keeps its own values."""
    for number in range(4):
        tree = {"a": Module(number), "b": [Module(2), 3]}
        changed = lw.at(tree)["**.w"].set(9)
        assert changed["a"].f is tree["a"].f
        assert changed["b"][0].f is tree["b"][0].f
        assert (changed["a"].w, changed["b"][0].w) == (9, 9)
        doubled = lw.at(tree)[int].apply(lambda x: 2 * x)
        assert doubled["a"].w[...] == 2 * number
        assert doubled["a"].f is tree["a"].f


class Labelled:
    """A class whose keys are not known from its type."""

    def __init__(self, keys: tuple[str, ...], values: list[Any]) -> None:
        self.keys = keys
        self.values = values


lw.register_pytree_node(
    Labelled,
    lambda node: (node.values, object(), [lw.GetAttrKey(key) for key in node.keys]),
    lambda _, values: Labelled((), list(values)),
)


def test_keys_that_vary_with_the_aux_data():
    """A pattern is looked up for the keys that a tree has."""
    for _ in range(3):
        for keys, expected in ((("w", "b"), 1), (("b", "w"), 2)):
            tree = [Labelled(keys, [1, 2])]
            assert lw.at(tree)["**.w"].get() == [expected]
            assert lw.at(tree)["[*].w"].set(0)[0].values.index(0) == expected - 1


def test_masks_and_types_are_kept_without_classes_of_leaves():
    """A class of a function is not held by what is known of a structure."""

    class Local:
        pass

    reference = weakref.ref(Local)
    tree = {"a": Local(), "b": [1, True]}
    for _ in range(4):
        assert lw.at(tree)[int].count() == 2
        mask = {"a": True, "b": [False, True]}
        assert lw.at(tree)[mask].set(0) == {"a": 0, "b": [1, 0]}
        assert lw.at(tree)[{"a": False, "b": [True, False]}].set(0)["b"] == [0, True]
    del Local, tree
    gc.collect()
    assert reference() is None


def test_what_is_kept_is_forgotten():
    """With the compiled functions, and when the engine is switched off."""
    tree = tree_of(5)
    for _ in range(3):
        assert lw.at(tree)["**.w"].count() == 5
        lw.engine.forget()
        assert lw.at(tree)["**.w"].set(0)["items"][4] == {"k4": 4, "w": 0}
        with lw.engine.disabled():
            assert lw.at(tree)["**.w"].set(0)["items"][4] == {"k4": 4, "w": 0}


def test_a_class_that_is_registered_later():
    """Then other leaves are there."""

    class Late:
        def __init__(self, w: Any) -> None:
            self.w = w

    tree = {"a": Late(1), "b": {"w": 2}}
    for _ in range(3):
        assert lw.at(tree)["**.w"].get() == [2]
    lw.register_pytree_node(
        Late,
        lambda node: ([node.w], None, [lw.GetAttrKey("w")]),
        lambda _, children: Late(*children),
    )
    for _ in range(3):
        assert lw.at(tree)["**.w"].get() == [1, 2]


def test_several_edits_at_once():
    """By patterns, types and paths; overlaps are errors as ever."""
    tree = {"a": {"w": 1, "b": "x"}, "c": [{"w": 2}, 3.5]}
    for _ in range(3):
        edits = {"**.w": 0, float: [1], "a.b": None}
        expected = {"a": {"w": 0, "b": None}, "c": [{"w": 0}, [1]]}
        assert lw.tree_update(tree, edits) == expected
        with pytest.raises(EditError, match=r"cannot edit a\.w twice"):
            lw.tree_update(tree, {"**.w": 0, "a.*": 1})
        with pytest.raises(EditError, match="cannot edit both a and something inside"):
            lw.tree_update(tree, {"a": 0, "**.w": 1})
        pointed = lw.selection.tree_at(
            lambda t: (t["c"][1], t["a"]["w"]), tree, replace_fn=str
        )
        assert pointed == {"a": {"w": "1", "b": "x"}, "c": [{"w": 2}, "3.5"]}


class Squared:
    """A class with an attribute that is not the child of that key."""

    def __init__(self, w: Any, items: Any) -> None:
        self.child = w
        self.items = items

    @property
    def w(self) -> Any:
        return "another value"


lw.register_pytree_node(
    Squared,
    lambda node: (
        [node.child, node.items],
        None,
        [lw.GetAttrKey("w"), lw.GetAttrKey("items")],
    ),
    lambda _, children: Squared(*children),
)


def test_subtrees_without_targets_are_read_by_their_node_type():
    """Not by an attribute of that name."""
    tree = Squared([1], {f"k{i}": i for i in range(100)})
    for _ in range(3):
        changed = lw.at(tree)["items.*"].set(0)
        assert changed.child is tree.child
        assert lw.at([tree])["[*].w"].get() == [[1]]

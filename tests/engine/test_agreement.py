"""The engine is never different: each operation, on and off, on trees that change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from helpers.confusable_trees import Node, Pair, trees, variants, walks
from helpers.exact_forms import exact_form, exact_form_of_treedef, outcome


def both(act):
    """Return what something gives with the engine off, and with it eager."""
    with lw.engine.disabled():
        expected = act()
    with lw.engine.eager():
        outcome = act()
    return expected, outcome


def flattened(tree, walk):
    leaves, treedef = lw.tree_flatten(tree, **walk)
    pairs, again = lw.tree_flatten_with_path(tree, **walk)
    return (
        exact_form(leaves),
        exact_form_of_treedef(treedef),
        treedef == again,
        [(str(path), exact_form(leaf)) for path, leaf in pairs],
    )


walks |= st.just({"none_is_leaf": True})  # beside a namespace that declares it

SINGLE = (
    lambda tree, walk: flattened(tree, walk),
    lambda tree, walk: exact_form(lw.tree_map(lambda x: [x], tree, **walk)),
    lambda tree, walk: exact_form(
        lw.tree_map_with_path(lambda p, x: (str(p), x), tree, **walk)
    ),
    lambda tree, walk: exact_form(lw.tree_reduce(lambda a, b: (a, b), tree, 0, **walk)),
    lambda tree, walk: exact_form(lw.tree_all(tree, **walk)),
)


@given(st.data(), trees, walks)
def test_one_tree_after_another(data, tree, walk):
    """Structures that change between calls, back and forth."""
    second = data.draw(variants(tree))
    third = data.draw(variants(second))

    def act():
        order = (tree, tree, tree, second, tree, second, third, third, tree)
        return [outcome(call, one, walk) for one in order for call in SINGLE]

    expected, actual = both(act)
    assert expected == actual


PAIRED = (
    lambda a, b, walk: lw.tree_map(lambda x, y: (x, y), a, b, **walk),
    lambda a, b, walk: lw.tree_map(lambda x, y: (x, y), a, b, strict=True, **walk),
    lambda a, b, walk: lw.tree_map(lambda x, y, z: (x, y, z), a, b, a, **walk),
    lambda a, b, walk: lw.tree_structure(a, **walk).flatten_up_to(b),
    lambda a, b, walk: lw.tree.broadcast_leaves(a, b, **walk),
    lambda a, b, walk: lw.tree_broadcast_prefix(a, b, **walk),
    lambda a, b, walk: lw.tree.broadcast_common(a, b, **walk),
)


@given(st.data(), trees, walks)
def test_two_trees(data, tree, walk):
    """Further trees that fit, go deeper, or differ; the whole error texts."""
    second = data.draw(variants(tree))

    def act():
        pairs = ((tree, tree), (tree, second), (second, tree), (tree, second))
        return [outcome(call, a, b, walk) for a, b in pairs for call in PAIRED]

    expected, actual = both(act)
    assert expected == actual


# ------------------------------------------------------------------------- failures


class Fragile(Node):
    """Cannot be put together from some children."""


def _rebuilt(aux, kids):
    if "bad" in kids:
        raise ValueError("not this one")
    return Fragile(kids, aux)


@pytest.fixture
def fragile():
    lw.register_pytree_node(Fragile, lambda n: (n.kids, n.aux), _rebuilt)
    yield
    lw.unregister_pytree_node(Fragile)


def test_a_failing_unflatten_function_says_where(fragile, engine_on):
    """The note has the path of the node, and nothing is chained to the error."""
    tree = [{"x": Fragile([1, 2], None)} for _ in range(30)]
    leaves, treedef = lw.tree_flatten(tree)
    leaves[41] = "bad"
    for _ in range(5):
        with pytest.raises(ValueError, match="not this one") as caught:
            treedef.unflatten(leaves)
        assert caught.value.__notes__ == ["at key path [20]['x']"]
        assert caught.value.__context__ is None


# ------------------------------------------------------------ keys that nodes give


class Given:
    """A node whose flatten function returns whatever a function makes."""

    def __init__(self, make):
        self.make = make


def _given_back(aux, kids):
    return Pair(kids, aux)


@pytest.fixture(scope="module")
def given_nodes():
    lw.register_pytree_node(Given, lambda node: node.make(), _given_back)
    yield
    lw.unregister_pytree_node(Given)


class Word(str):
    """A string that is a key of its own class."""

    __slots__ = ()


ENTRIES = (
    "a",
    "b",
    0,
    1,
    True,
    None,
    (1,),
    [1],
    Word("a"),
    lw.GetAttrKey("a"),
    lw.DictKey("a"),
    lw.SequenceKey(0),
    lw.registry.FlattenedIndexKey(0),
)
CONTAINERS = (
    tuple,
    list,
    lambda kids: iter(list(kids)),
    lambda kids: dict(enumerate(kids)).values(),
)


def anew(entry):
    """Return an equal name that is another object."""
    return "".join(list(entry)) if type(entry) is str else entry


@st.composite
def results(draw):
    """Draw a function that makes what a flatten function returns."""
    arity = draw(st.integers(0, 3))
    kids = draw(st.lists(st.integers(), min_size=arity, max_size=arity))
    entries = draw(st.lists(st.sampled_from(ENTRIES), max_size=3))
    if draw(st.booleans()):
        entries = (entries * 3 + ["a", "b", "c"])[:arity]
    aux = draw(st.sampled_from([None, "a", 1.5, (1,)]))
    hold, hold_keys = (draw(st.sampled_from(CONTAINERS)) for _ in range(2))
    is_anew = draw(st.booleans())
    has_keys = draw(st.integers(0, 3))

    def make():
        keys = list(map(anew, entries)) if is_anew else entries
        if has_keys == 0:
            return hold(kids), aux
        return hold(kids), aux, None if has_keys == 1 else hold_keys(keys)

    return make


KEYED = (
    *SINGLE,
    lambda tree, walk: exact_form(lw.tree_map(lambda x, y: (x, y), tree, tree)),
)


@given(first=results(), second=results())
def test_whatever_is_given_for_keys(given_nodes, first, second):
    """Names and key objects, equal ones and the same, too many, none, in any order."""

    def act():
        order = (first, first, first, second, first, second, second, first)
        trees = [[Given(make), Given(make)] for make in order]
        return [outcome(call, tree, {}) for tree in trees for call in KEYED]

    expected, actual = both(act)
    assert expected == actual

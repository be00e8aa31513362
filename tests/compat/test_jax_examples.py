"""The examples of jax's documentation, as they stand, on what stands in for it."""

import collections
import doctest
import inspect

import pytest

import leafwise as lw
from leafwise.compat import jax_tree, jax_tree_util


FLAGS = (
    doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
)
NAMES = [("tree", name) for name in jax_tree.__all__] + [
    ("tree_util", name) for name in jax_tree_util.__all__
]


@pytest.fixture
def stood_in(jax):
    """Return jax's own modules, while ours stand in their places."""
    theirs = {"tree": jax.tree, "tree_util": jax.tree_util}
    for name in theirs:
        lw.compat.install(f"jax.{name}", force=True)
    yield theirs
    for name in theirs:
        lw.compat.uninstall(f"jax.{name}")


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_examples_of_docstrings(jax, stood_in, module, name):
    """Those of jax's function run on ours."""
    text = inspect.getdoc(getattr(stood_in[module], name)) or ""
    known = {key: getattr(jax_tree_util, key) for key in jax_tree_util.__all__}
    names = {"jax": jax, "jnp": jax.numpy, "__name__": "jax.tree_util", **known}
    test = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    told = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append)
    assert told == [], "".join(told)


def test_there_are_examples(jax):
    """Most functions have some."""
    texts = [inspect.getdoc(getattr(getattr(jax, m), n)) for m, n in NAMES]
    assert sum((text or "").count(">>> ") for text in texts) > 100


# ------------------------------------------------------- of the pages about pytrees


def test_key_paths():
    """The page on explicit key paths."""
    named = collections.namedtuple("ATuple", "name")
    tree = [1, {"k1": 2, "k2": (3, 4)}, named("foo")]
    flattened, _ = jax_tree_util.tree_flatten_with_path(tree)
    told = [
        f"Value of tree{jax_tree_util.keystr(key_path)}: {value}"
        for key_path, value in flattened
    ]
    assert told == [
        "Value of tree[0]: 1",
        "Value of tree[1]['k1']: 2",
        "Value of tree[1]['k2'][0]: 3",
        "Value of tree[1]['k2'][1]: 4",
        "Value of tree[2].name: foo",
    ]
    assert [repr(key_path) for key_path, _ in flattened] == [
        "(SequenceKey(idx=0),)",
        "(SequenceKey(idx=1), DictKey(key='k1'))",
        "(SequenceKey(idx=1), DictKey(key='k2'), SequenceKey(idx=0))",
        "(SequenceKey(idx=1), DictKey(key='k2'), SequenceKey(idx=1))",
        "(SequenceKey(idx=2), GetAttrKey(name='name'))",
    ]


def test_a_class_with_keys():
    """The page on custom nodes: a class that is no node, and one that is."""

    class Special:
        def __init__(self, x, y):
            self.x = x
            self.y = y

    class RegisteredSpecial(Special):
        pass

    def special_flatten(v):
        """Specifies a flattening recipe."""
        return (v.x, v.y), None

    def special_unflatten(aux_data, children):
        return RegisteredSpecial(*children)

    leaves = jax_tree_util.tree_leaves
    assert len(leaves([Special(0, 1), Special(2, 4)])) == 2
    jax_tree_util.register_pytree_node(
        RegisteredSpecial, special_flatten, special_unflatten
    )
    special = RegisteredSpecial(0, 1)
    mapped = jax_tree.map(lambda x: x + 1, [special, RegisteredSpecial(2, 4)])
    assert [(one.x, one.y) for one in mapped] == [(1, 2), (3, 5)]
    flat = jax_tree_util.tree_leaves_with_path([special])
    assert [jax_tree_util.keystr(path) for path, _ in flat] == [
        "[0][<flat index 0>]",
        "[0][<flat index 1>]",
    ]


def test_none_and_named_tuples():
    """The parts on what is a leaf."""
    assert jax_tree.leaves([None, None, None]) == []
    assert jax_tree.leaves([None] * 3, is_leaf=lambda x: x is None) == [None] * 3
    point = collections.namedtuple("Point", "x y")
    tree = [(jax_tree.leaves(point(1, 2)))]
    assert tree == [[1, 2]]
    structure = jax_tree.structure([point(1, (2, None))])
    text = "PyTreeDef([CustomNode(namedtuple[Point], [*, (*, None)])])"
    assert str(structure) == text


def test_transposing():
    """A list of pairs becomes a pair of lists, as the page shows with `transpose`."""
    episode_steps = [{"t": t, "obs": 3 * t} for t in range(3)]
    transposed = jax_tree.transpose(
        outer_treedef=jax_tree.structure([0 for _ in episode_steps]),
        inner_treedef=jax_tree.structure(episode_steps[0]),
        pytree_to_transpose=episode_steps,
    )
    assert transposed == {"obs": [0, 3, 6], "t": [0, 1, 2]}

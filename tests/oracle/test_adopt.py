"""Classes that only jax knows, as nodes here; and treedefs of several frameworks."""

import pytest

import leafwise as lw
from leafwise.errors import RegistryError


class Theirs:
    """A class that is registered in jax by functions."""

    def __init__(self, a, b, name):
        self.a = a
        self.b = b
        self.name = name

    def __eq__(self, other):
        return vars(self) == vars(other)

    __hash__ = None


def test_adopted(jax_tree):
    """With its keys; static data tell structures apart."""
    key = jax_tree.GetAttrKey
    jax_tree.register_pytree_with_keys(
        Theirs,
        lambda t: (((key("a"), t.a), (key("b"), t.b)), t.name),
        lambda name, children: Theirs(*children, name),
    )
    app = lw.namespace("adopt-jax")
    lw.integrations.adopt("jax", namespace="adopt-jax")
    tree = {"x": Theirs(1, [2, None], "n")}
    assert lw.tree_leaves(tree) == [tree["x"]]
    assert app.tree_leaves(tree) == [1, 2]
    assert [str(path) for path in app.tree_paths(tree)] == ["['x'].a", "['x'].b[0]"]
    mapped = app.tree_map(lambda x, y: x + y, tree, tree)
    assert mapped == {"x": Theirs(2, [4, None], "n")}
    treedef = app.tree_structure(tree)
    assert treedef == app.tree_structure(tree)
    other = {"x": Theirs(1, [2, None], "m")}
    assert treedef != app.tree_structure(other)
    with pytest.raises(lw.StructureError):
        app.tree_map(lambda x, y: x, tree, other)


def test_only_jax_can_be_adopted():
    with pytest.raises(ValueError, match=r"unknown framework 'torch'; known: 'jax'"):
        lw.integrations.adopt("torch")


def test_treedefs(jax_tree, optree):
    """There and back is the same treedef."""
    tree = {"b": [1, (2, None)], "a": lw.nn.List([lw.data(3), "s"])}
    ours = lw.tree_structure(tree)
    for name, theirs in (
        ("jax", jax_tree.tree_structure(tree)),
        ("optree", optree.tree_structure(tree, namespace="leafwise")),
    ):
        assert lw.integrations.treedef_to(name, ours) == theirs
        assert lw.integrations.treedef_from(theirs) == ours


@pytest.mark.parametrize("name", ["jax", "optree", "torch"])
def test_treedefs_with_nodes_that_are_leaves_there(need, name):
    """The number of leaves would be the same, and what they are another."""
    need({"torch": "torch.utils._pytree"}.get(name, name))

    class Plain:
        def __init__(self, x):
            self.x = x

    lw.register_dataclass(Plain, ["x"], [], bridge=False)
    treedef = lw.tree_structure({"a": [Plain(1), None]})
    with pytest.raises(RegistryError) as caught:
        lw.integrations.treedef_to(name, treedef)
    assert str(caught.value).endswith(
        f"Plain is a node in leafwise but a leaf in {name}; register it in leafwise "
        f"without bridge=False, or in {name} itself"
    )
    again = lw.register_dataclass(Plain, ["x"], [], exist_ok=True, bridge=True)
    treedef = lw.tree_structure({"a": [again(1), None]})
    converted = lw.integrations.treedef_to(name, treedef)
    assert converted.num_leaves == (
        2 if name == "torch" else 1
    )  # None is a leaf in torch


def test_equinox_modules(jax_tree, equinox):
    """Equinox's modules map and flatten as in jax; bound methods and filters, too."""
    import jax

    lw.namespace("adopt-equinox")
    lw.integrations.adopt("jax", namespace="adopt-equinox")
    model = equinox.nn.MLP(2, 3, 4, depth=2, key=jax.random.key(0))
    method = equinox.nn.Linear(2, 2, key=jax.random.key(1)).__call__
    params, static = equinox.partition(model, equinox.is_array)
    for tree in (model, {"b": [model, 1], "a": method}, (params, static)):
        ours = lw.tree_leaves_with_path(tree, namespace="adopt-equinox")
        theirs = jax_tree.tree_flatten_with_path(tree)[0]
        assert [str(path) for path, _ in ours] == [
            jax_tree.keystr(path) for path, _ in theirs
        ]
        assert all(a is b for (_, a), (_, b) in zip(ours, theirs, strict=True))
        negated = lw.tree_map(
            lambda x: -x if equinox.is_array(x) else x, tree, namespace="adopt-equinox"
        )
        expected = jax_tree.tree_map(lambda x: -x if equinox.is_array(x) else x, tree)
        assert equinox.tree_equal(negated, expected)
    deeper = equinox.nn.MLP(2, 3, 5, depth=2, key=jax.random.key(0))
    same = equinox.nn.MLP(2, 3, 4, depth=2, key=jax.random.key(2))
    structure = lw.tree_structure(model, namespace="adopt-equinox")
    assert structure == lw.tree_structure(same, namespace="adopt-equinox")
    assert structure != lw.tree_structure(deeper, namespace="adopt-equinox")


class Stood(Theirs):
    pass


def test_a_stand_in_is_never_asked(jax, jax_tree, monkeypatch):
    """Neither when classes are adopted, nor when ours are told to the framework."""
    jax_tree.register_pytree_node(
        Stood, lambda t: ((t.a, t.b), t.name), lambda name, kids: Stood(*kids, name)
    )
    ours = lw.compat.install("jax.tree_util", force=True)
    try:
        assert jax.tree_util is ours
        lw.integrations.adopt("jax", namespace="adopt-stood")
        app = lw.namespace("adopt-stood")
        assert app.tree_leaves(Stood(1, [2], "n")) == [1, 2]
        converted = lw.integrations.treedef_to("jax", lw.tree_structure([1, 2]))
        assert converted == jax_tree.tree_structure([1, 2])

        @ours.register_pytree_node_class
        class New:
            def __init__(self, x):
                self.x = x

            def tree_flatten(self):
                return (self.x,), None

            @classmethod
            def tree_unflatten(cls, aux, kids):
                return cls(*kids)

        assert jax_tree.tree_leaves(New(3)) == [3]
        assert ours.tree_leaves(New(3)) == [3]
        assert jax.jit(lambda new: New(new.x + 1))(New(3)).x == 4
    finally:
        lw.compat.uninstall("jax.tree_util")
    assert jax.tree_util is jax_tree

"""Classes of ours as trees in jax and optree, with the real libraries."""

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn
from leafwise._hooks import hooks


class Layer(lw.Pytree):
    def __init__(self, size=2):
        self.size = size
        self.weight = np.ones(size, np.float32)
        self.scale = nn.Param(np.full(size, 2.0, np.float32))

    def __call__(self, x):
        return x * self.weight * self.scale


def test_through_transforms(jax):
    """jit, grad, vmap, scan and checkpoint take objects and give objects."""
    layer = Layer()
    x = jax.numpy.arange(2.0)

    def loss(layer, x):
        return layer(x).sum()

    value, gradient = jax.jit(jax.value_and_grad(loss))(layer, x)
    assert type(gradient) is Layer
    assert (float(value), gradient.scale.value.tolist()) == (2.0, [0.0, 1.0])
    assert gradient.weight.tolist() == [0.0, 2.0]
    batched = jax.tree_util.tree_map(lambda a: jax.numpy.stack([a, a * 2]), layer)
    assert jax.vmap(loss, (0, None))(batched, x).tolist() == [2.0, 8.0]
    last, _ = jax.lax.scan(
        lambda layer, _: (jax.tree_util.tree_map(lambda a: a + 1, layer), None),
        layer,
        None,
        length=3,
    )
    assert last.weight.tolist() == [4.0, 4.0]
    assert float(jax.checkpoint(loss)(layer, x)) == 2.0


def test_what_traces_again(jax):
    """Static values are compared to the type, and as they were."""
    traced = []

    @jax.jit
    def f(layer):
        traced.append(layer.size)
        return layer.weight

    layer = Layer(1)
    f(layer)
    layer.weight = np.zeros(1, np.float32)
    f(layer)
    assert traced == [1]
    layer.size = True
    f(layer)
    layer.size = [1]
    f(layer)
    f(layer)
    layer.size.append(2)
    f(layer)
    assert len(traced) == 4
    layer.size = float("nan")
    f(layer)
    f(layer)
    assert len(traced) == 5


def flat(node):
    return (node.x,), node.tag


def keyed(node):
    return [("x", node.x)], node.tag


class Fields:
    def __init__(self, x, tag="t"):
        self.x = x
        self.tag = tag

    @classmethod
    def tree_unflatten(cls, tag, children):
        return cls(*children, tag)


def by_methods(register, name, method):
    cls = type(name, (Fields,), {method.__name__: method})
    register(cls)
    return cls


class TestRegisteredOnce:
    """However a class is registered, frameworks know it, without any option."""

    @staticmethod
    def ways():
        """Yield an instance of a class of each way."""

        def flatten(node):
            return flat(node)

        def tree_flatten(self):
            return flat(self)

        def tree_flatten_with_keys(self):
            return keyed(self)

        cls = type("ByFunctions", (Fields,), {})
        lw.register_pytree_node(cls, flatten, cls.tree_unflatten)
        yield cls(1.0)
        cls = type("ByKeys", (Fields,), {})
        lw.registry.register_pytree_with_keys(cls, keyed, cls.tree_unflatten)
        yield cls(1.0)
        yield by_methods(lw.register_pytree_node_class, "ByMethods", tree_flatten)(1.0)
        yield by_methods(
            lw.registry.register_pytree_with_keys_class,
            "ByKeyMethods",
            tree_flatten_with_keys,
        )(1.0)
        cls = type("ByNames", (Fields,), {})
        lw.register_dataclass(cls, ["x"], ["tag"])
        yield cls(1.0)

        @lw.dataclass
        class ByDecorator:
            x: float
            tag: str = lw.static(default="t")

        yield ByDecorator(1.0)

        class ByBase(lw.Pytree):
            def __init__(self):
                self.x = lw.data(1.0)
                self.tag = "t"

        yield ByBase()
        yield lw.Partial(pow, 1.0)

    def test_jax(self, jax):
        """`jit` takes and returns it."""
        for node in self.ways():
            result = jax.jit(lambda node: jax.tree.map(lambda x: x + 1, node))(node)
            assert type(result) is type(node)
            assert list(map(float, lw.tree_leaves(result))) == [2.0]

        @lw.register_static
        class Mode:
            pass

        assert jax.tree.leaves([Mode(), 1.0]) == [1.0]

    def test_torch(self, need):
        """Its tree functions do."""
        pytree = need("torch.utils._pytree")
        for node in self.ways():
            result = pytree.tree_map(lambda x: x + 1, node)
            assert (type(result), lw.tree_leaves(result)) == (type(node), [2.0])

    def test_optree(self, optree):
        """In the namespace of leafwise."""
        for node in self.ways():
            result = optree.tree_map(lambda x: x + 1, node, namespace="leafwise")
            assert (type(result), lw.tree_leaves(result)) == (type(node), [2.0])


def register_two_ways(cls, **how):
    """Register a class so that one field is a child, or both are."""
    lw.register_pytree_node(
        cls,
        lambda node: ((node.x,), node.tag, ("x",)),
        lambda tag, children: cls(*children, tag),
    )
    yield
    if how.pop("unregister"):
        lw.unregister_pytree_node(cls)
    lw.register_pytree_node(
        cls,
        lambda node: ((node.x, node.tag), None, ("first", "second")),
        lambda _, children: cls(*children),
        **how,
    )
    yield


@pytest.mark.parametrize(
    "how",
    [
        {"exist_ok": True, "unregister": False},
        {"exist_ok": True, "unregister": False, "bridge": False},
        {"unregister": True},
    ],
    ids=["exist_ok", "exist_ok without bridge", "unregister"],
)
@pytest.mark.parametrize("framework", ["jax", "optree", "torch"])
def test_a_class_that_is_registered_again(framework, how, need):
    """Frameworks follow, and rebuild what they flattened before as it was."""
    tree = need("torch.utils._pytree" if framework == "torch" else framework)
    if framework == "jax":
        tree = tree.tree_util
    options = {"namespace": "leafwise"} if framework == "optree" else {}
    cls = type("Again", (Fields,), {})
    node = cls(1.0, "t")
    registration = register_two_ways(cls, **how)
    next(registration)
    leaves, treedef = tree.tree_flatten(node, **options)
    assert leaves == [1.0]
    next(registration)
    assert tree.tree_leaves(node, **options) == [1.0, "t"]
    doubled = tree.tree_map(lambda x: 2 * x, node, **options)
    assert (doubled.x, doubled.tag) == (2.0, "tt")
    arguments = [leaves, treedef] if framework == "torch" else [treedef, leaves]
    rebuilt = tree.tree_unflatten(*arguments)
    assert (rebuilt.x, rebuilt.tag) == (1.0, "t")
    assert tree.tree_structure(node, **options) != treedef
    if framework == "jax":
        paths = [str(path[0]) for path, _ in tree.tree_leaves_with_path(node)]
        assert paths == [".first", ".second"]
    lw.unregister_pytree_node(cls)
    assert tree.tree_leaves(node, **options) == [1.0, "t"]


def test_a_class_that_was_a_leaf_when_it_was_announced(jax):
    """It is registered in jax when it becomes a node."""
    cls = type("Late", (Fields,), {})
    lw.register_static(cls, bridge=False)
    lw.register_leaf(cls, exist_ok=True)
    hooks.announce(cls)
    assert jax.tree.leaves(cls(1.0)) != [1.0]
    register = register_two_ways(cls, unregister=False, exist_ok=True)
    lw.unregister_pytree_node(cls)
    next(register)
    assert jax.tree.leaves(cls(1.0)) == [1.0]


def test_trace_levels_inside(jax):
    """Arguments and what is made inside may be changed; what is inside stays inside."""
    leaked = []

    @jax.jit
    def f(layer, x):
        layer.weight = layer.weight + 1
        layer.scale[...] *= 2
        inner = Layer()
        inner.weight = x

        @jax.vmap
        def g(y):
            inner.weight = y
            return y

        with pytest.raises(nn.TraceError):
            g(x)
        leaked.append(inner)
        return layer, inner

    layer, inner = f(Layer(), jax.numpy.ones(2))
    layer.weight = inner.weight = 0
    with pytest.raises(nn.TraceError):
        leaked[0].weight = 0


def test_jax_has_the_leaves_of_a_state_as_they_stand(jax):
    """With a key of a dict for each level; treedefs differ by the order of the keys."""
    state = nn.State({"b": {"y": 1.0, 0: 2.0}, "a": {}})
    pairs, treedef = jax.tree_util.tree_flatten_with_path(state)
    keys = jax.tree_util.DictKey
    assert pairs == [
        ((keys("b"), keys("y")), 1.0),
        ((keys("b"), keys(0)), 2.0),
    ]
    assert treedef == jax.tree.structure(state)
    other = nn.State({"a": {}, "b": {0: 2.0, "y": 1.0}})
    assert state == other
    assert treedef != jax.tree.structure(other)
    rebuilt = jax.tree.unflatten(treedef, [{"w": 3.0}, 4.0])
    assert rebuilt.to_flat_state().paths == (("b", "y", "w"), ("b", 0))

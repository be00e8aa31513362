"""What users of Flax and Equinox do: run as it is, and on the stand-ins.

Prints what comes out; a run on jax's own module prints the same.
"""

import sys

import equinox
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen, nnx
from flax.training.train_state import TrainState


def show(name, value):
    """Print all leaves with their paths."""
    print(name)
    for path, leaf in jax.tree_util.tree_leaves_with_path(value):
        if isinstance(leaf, int | float | np.ndarray | jax.Array):
            leaf = np.array2string(np.asarray(leaf, dtype=float), precision=4)
        print(" ", jax.tree_util.keystr(path), str(leaf).replace("\n", ""))


def use_linen():
    """A model, its training state, and a compiled step."""
    model = linen.Sequential([linen.Dense(3), linen.relu, linen.Dense(1)])
    inputs = jnp.linspace(0.0, 1.0, 8).reshape(2, 4)
    params = model.init(jax.random.key(0), inputs)
    show("shapes", jax.tree.map(lambda leaf: str(leaf.shape), params))
    state = TrainState.create(apply_fn=model.apply, params=params, tx=optax.adam(0.1))

    @jax.jit
    def step(state):
        grads = jax.grad(lambda params: state.apply_fn(params, inputs).sum())
        return state.apply_gradients(grads=grads(state.params))

    show("trained", step(step(state)).params)
    show("serialized", linen.FrozenDict(params))
    traversed = linen.tabulate(model, jax.random.key(0))(inputs)
    print(len(traversed.splitlines()))


def use_nnx():
    """Objects, their states, and an optimizer."""
    layer = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
    graph, state = nnx.split(layer)
    print(jax.tree.structure(state))
    show("state", nnx.to_pure_dict(state))
    show("merged", nnx.state(nnx.merge(graph, jax.tree.map(lambda x: 2 * x, state))))
    inputs = jnp.ones((1, 2))
    print(nnx.jit(lambda layer, x: layer(x))(layer, inputs).shape)
    optimizer = nnx.Optimizer(layer, optax.sgd(0.1), wrt=nnx.Param)
    grads = nnx.grad(lambda layer: layer(inputs).sum())(layer)
    optimizer.update(layer, grads)
    show("updated", nnx.to_pure_dict(nnx.state(layer)))


def use_equinox():
    """Modules, filters and edits."""
    model = equinox.nn.MLP(2, 2, 4, 1, key=jax.random.key(0))
    arrays, rest = equinox.partition(model, equinox.is_array)
    show("arrays", arrays)
    print(len(jax.tree.leaves(rest)))
    grads = equinox.filter_grad(lambda model, x: model(x).sum())
    show("grads", equinox.filter_jit(grads)(model, jnp.ones(2)))
    where = lambda model: model.layers[0].bias  # noqa: E731
    show("edited", equinox.tree_at(where, model, jnp.zeros(4)).layers[0])
    print(equinox.tree_equal(model, equinox.combine(arrays, rest)))


if __name__ == "__main__":
    use_linen()
    use_nnx()
    use_equinox()
    print("done")
    print("module", jax.tree.map.__module__, file=sys.stderr)

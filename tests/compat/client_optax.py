"""What users of optax do: run as it is, and on the stand-ins.

Prints what comes out; a run on jax's own module prints the same.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np


def show(name, value):
    """Print the structure, and all leaves with their paths."""
    pairs, treedef = jax.tree_util.tree_flatten_with_path(value)
    print(name, treedef)
    for path, leaf in pairs:
        if isinstance(leaf, int | float | np.ndarray | jax.Array):
            leaf = np.array2string(np.asarray(leaf, dtype=float), precision=4)
        print(" ", jax.tree_util.keystr(path), str(leaf).replace("\n", ""))


PARAMS = {
    "layers": [{"w": jnp.ones((2, 3)), "b": jnp.zeros(3)} for _ in range(2)],
    "scale": (jnp.float32(2.0), None),
}


def loss(params):
    """Return a number that depends on all of the parameters."""
    leaves = jax.tree.leaves(params)
    return sum(jnp.sum((leaf - 0.5) ** 2) for leaf in leaves)


def train(optimizer, params, steps=3):
    """Return parameters and state after some steps, compiled and not."""
    state = optimizer.init(params)

    @jax.jit
    def step(params, state):
        grads = jax.grad(loss)(params)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    for _ in range(steps):
        params, state = step(params, state)
    return params, state


def label(params):
    """Return for each leaf the number of its axes, as text."""
    return jax.tree.map(lambda leaf: f"{jnp.ndim(leaf)}", params)


def use_optax():
    """Optimizers, wrappers and functions of trees."""
    mask = jax.tree.map(lambda leaf: jnp.ndim(leaf) > 1, PARAMS)
    optimizers = {
        "adam": optax.adam(0.1),
        "sgd": optax.sgd(0.1, momentum=0.9, nesterov=True),
        "chain": optax.chain(
            optax.clip_by_global_norm(1.0),
            optax.add_decayed_weights(1e-2, mask),
            optax.scale_by_adam(),
            optax.scale_by_schedule(optax.linear_schedule(-0.1, 0.0, 5)),
        ),
        "masked": optax.masked(optax.adamw(0.1), mask),
        "multi": optax.multi_transform(
            {"0": optax.sgd(1.0), "1": optax.adam(0.5), "2": optax.set_to_zero()},
            label,
        ),
        "partition": optax.partition(
            {"0": optax.sgd(1.0), "1": optax.adam(0.5), "2": optax.set_to_zero()},
            label(PARAMS),
        ),
        "steps": optax.MultiSteps(optax.lamb(0.1), every_k_schedule=2),
        "hyper": optax.inject_hyperparams(optax.adam)(learning_rate=0.1),
        "finite": optax.apply_if_finite(optax.rmsprop(0.1), 2),
        "adafactor": optax.adafactor(0.1),
    }
    for name, optimizer in optimizers.items():
        params, state = train(optimizer, PARAMS)
        show(f"{name} params", params)
        show(f"{name} state", state)
    state = optax.adam(0.1).init(PARAMS)
    show("counts", optax.tree.get_all_with_path(state, "count"))
    show("set", optax.tree.set(state, count=jnp.int32(7)))
    show("mapped", optax.tree_map_params(optax.adam(0.1), lambda x: x + 1, state))
    for name in ("add", "sub", "mul"):
        show(name, getattr(optax.tree, name)(PARAMS, PARAMS))
    show("scaled", optax.tree.scale(3.0, PARAMS))
    show("norm", optax.tree.norm(PARAMS))
    show("dot", optax.tree.vdot(PARAMS, PARAMS))
    show("zeros", optax.tree.zeros_like(PARAMS))
    key = jax.random.key(0)
    show("random", optax.tree.random_like(key, PARAMS))
    show("global norm", optax.global_norm(PARAMS))


if __name__ == "__main__":
    import optax

    use_optax()
    print("done")
    print("module", jax.tree.map.__module__, file=sys.stderr)

"""What users of optax and of chex do: run as it is, and on the stand-ins.

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
    fast = optax.lookahead(optax.sgd(0.5), sync_period=2, slow_step_size=0.5)
    show("lookahead", train_lookahead(fast))
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
    show("incremental", optax.incremental_update(PARAMS, mask_of(PARAMS), 0.1))
    refused(lambda: optax.apply_updates(PARAMS, {"layers": 1}))
    refused(lambda: optax.sgd(0.1).update({"a": 1.0}, optax.adam(0.1).init(PARAMS)))


def mask_of(tree):
    """Return zeros in the form of a tree."""
    return jax.tree.map(jnp.zeros_like, tree)


def train_lookahead(optimizer):
    """Return fast and slow parameters after some steps."""
    params = optax.LookaheadParams.init_synced(PARAMS)
    state = optimizer.init(params)
    for _ in range(3):
        grads = jax.grad(loss)(params.fast)
        updates, state = optimizer.update(grads, state, params)
        params = optax.apply_updates(params, updates)
    return params


def refused(function):
    """Print the type of what a call raises."""
    try:
        function()
    except Exception as error:
        kinds = [c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins"]
        print("refused:", kinds[0])
    else:
        print("not refused")


def use_chex():
    """Dataclasses, assertions on trees, and what they say."""

    @chex.dataclass
    class Params:
        w: jax.Array
        b: jax.Array
        rest: object = None

    @chex.dataclass(frozen=True, mappable_dataclass=False)
    class Pair:
        x: object
        y: object

    rest = [Pair(x=jnp.ones(1), y=(jnp.zeros(2), None))]
    params = Params(w=jnp.ones((2, 3)), b=jnp.zeros(3), rest=rest)
    show("params", params)
    show("doubled", jax.jit(lambda p: jax.tree.map(lambda x: 2 * x, p))(params))
    show("grads", jax.grad(lambda p: jnp.sum(p.w) + p.b[0])(params.replace(rest=None)))
    show("items", dict(params.items()))
    other = jax.tree.map(lambda x: x + 0, params)
    chex.assert_trees_all_equal(params, other)
    chex.assert_trees_all_close(params, other)
    chex.assert_trees_all_equal_shapes_and_dtypes(params, other)
    chex.assert_trees_all_equal_structs(params, other)
    chex.assert_tree_all_finite(params)
    chex.assert_tree_shape_prefix({"a": jnp.ones((2, 3)), "b": jnp.ones((2, 1))}, (2,))
    chex.assert_tree_has_only_ndarrays({"a": jnp.ones(2)})
    refused(lambda: chex.assert_trees_all_equal(params, params.replace(b=jnp.ones(3))))
    refused(lambda: chex.assert_trees_all_equal_structs(params, (params,)))
    refused(lambda: chex.assert_trees_all_equal_shapes([jnp.ones(2)], [jnp.ones(3)]))
    refused(lambda: chex.assert_tree_all_finite({"a": jnp.array(jnp.nan)}))
    refused(lambda: chex.assert_tree_shape_prefix([jnp.ones((2, 3))], (3,)))


if __name__ == "__main__":
    import chex
    import optax

    use_optax()
    use_chex()
    print("done")
    print("module", jax.tree.map.__module__, file=sys.stderr)

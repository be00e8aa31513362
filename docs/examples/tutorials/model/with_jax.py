"""Train with jax: the gradient is made by `jax.grad`, and the step is compiled."""

import jax
import jax.numpy as jnp

import leafwise as lw
from data import begin, x, y
from model import descend


jax.config.update("jax_enable_x64", True)  # as precise as numpy


def loss(network):
    a = jnp.tanh(network.hidden(x))
    return jnp.mean((network.out(a) - y) ** 2)


@jax.jit
def one_step(network):
    value, gradients = jax.value_and_grad(loss)(network)
    return value, descend(network, gradients)


def train(steps=300):
    network = lw.tree_map(jnp.asarray, begin())
    for step in range(steps + 1):
        value, network = one_step(network)
        if step % 100 == 0:
            print(f"jax, step {step}: loss {value:.6f}")
    return network


if __name__ == "__main__":
    train()

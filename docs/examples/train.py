"""Train an autoencoder with jax and optax: tied weights, a running mean, one `jit`.

Usage: python docs/examples/train.py [STEPS]

The decoder uses the encoder's weights, transposed: it is one object with two names.
What the model counts and averages is changed in place, and comes back out of `jit`.
"""

from __future__ import annotations

import sys

import jax
import optax
from jax import numpy as jnp

import leafwise as lw
from leafwise import nn
from leafwise.nn import jit, value_and_grad


class Linear(nn.Module):
    """A layer that works in both directions."""

    def __init__(self, inputs: int, outputs: int, key: jax.Array) -> None:
        self.inputs = inputs
        self.outputs = outputs
        kernel = jax.random.normal(key, (inputs, outputs))
        self.kernel = nn.Param(kernel / inputs**0.5)
        self.bias = nn.Param(jnp.zeros(outputs))
        self.back_bias = nn.Param(jnp.zeros(inputs))

    def __call__(self, x: jax.Array) -> jax.Array:
        return x @ self.kernel + self.bias

    def back(self, x: jax.Array) -> jax.Array:
        """Compute inputs from outputs, with the same weights."""
        return x @ self.kernel.T + self.back_bias


class Norm(nn.Module):
    """Normalizes over the batch; at evaluation, by running averages."""

    def __init__(self, size: int) -> None:
        self.scale = nn.Param(jnp.ones(size))
        self.mean = nn.BatchStat(jnp.zeros(size))
        self.var = nn.BatchStat(jnp.ones(size))
        self.training = True

    def __call__(self, x: jax.Array) -> jax.Array:
        if self.training:
            mean = x.mean(axis=0)
            var = x.var(axis=0)
            self.mean[...] = 0.9 * self.mean[...] + 0.1 * mean
            self.var[...] = 0.9 * self.var[...] + 0.1 * var
        else:
            mean = self.mean[...]
            var = self.var[...]
        return (x - mean) / jnp.sqrt(var + 1e-5) * self.scale


class Autoencoder(nn.Module):
    """Encoder and decoder, which are the same layers."""

    def __init__(self, sizes: list[int], key: jax.Array) -> None:
        keys = jax.random.split(key, len(sizes) - 1)
        self.encoder = nn.List()
        for n, layer_key in enumerate(keys):
            self.encoder.append(Linear(sizes[n], sizes[n + 1], layer_key))
        self.norm = Norm(sizes[-1])
        self.decoder = self.encoder  # the same object under a second name

    def __call__(self, x: jax.Array) -> jax.Array:
        for layer in self.encoder:
            x = jnp.tanh(layer(x))
        x = self.norm(x)
        for layer in reversed(self.decoder):
            x = layer.back(x)
        return x


class Training(nn.Module):
    """A model, the state of its optimizer, and the number of steps."""

    def __init__(self, model: Autoencoder, rate: float) -> None:
        self.model = model
        self.optimizer = optax.adam(rate)
        state = self.optimizer.init(nn.state(model, nn.Param))
        self.state = lw.data(state)
        self.steps = nn.Variable(0)


def loss(model: Autoencoder, x: jax.Array) -> jax.Array:
    """Return the mean square error of the output."""
    error = model(x) - x
    return jnp.mean(error**2)


@jit
def train_step(training: Training, x: jax.Array) -> jax.Array:
    """Take one step; everything that it changes is in `training`."""
    model = training.model
    value, gradients = value_and_grad(loss)(model, x)
    params = nn.state(model, nn.Param)
    updates, training.state = training.optimizer.update(gradients, training.state)
    new_params = lw.tree_map(jnp.add, params, updates)
    nn.update(model, new_params)
    training.steps[...] += 1
    return value


def main(steps: int = 200) -> list[float]:
    """Train on points of a curve in five dimensions; return the losses."""
    data_key, model_key = jax.random.split(jax.random.key(0))
    angles = jax.random.uniform(data_key, (256, 1), maxval=6.28)
    frequencies = jnp.arange(1, 6) / 2
    phases = jnp.arange(5)
    x = jnp.sin(angles * frequencies + phases)
    model = Autoencoder([5, 16, 3], model_key)
    training = Training(model, rate=1e-2)
    losses = [float(train_step(training, x)) for _ in range(steps)]
    nn.eval(training)
    last = float(loss(model, x))
    print(f"{steps} steps: loss {losses[0]:.3f} to {losses[-1]:.3f}, then {last:.3f}")
    return losses


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(steps=int(sys.argv[1]))
    else:
        main()

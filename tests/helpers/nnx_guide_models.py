"""The models of Flax NNX's page "Module & Pytree", with `nnx` imported from leafwise.

The same seed makes the same model as in Flax.
"""

from jax import numpy as jnp

from leafwise import nn as nnx


class Block(nnx.Module):
    """Linear, batch norm, dropout; the mean of the output is sown."""

    def __init__(self, din, dout, rngs):
        self.linear = nnx.Linear(din, dout, rngs=rngs)
        self.bn = nnx.BatchNorm(dout, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)

    def __call__(self, x):
        y = nnx.relu(self.dropout(self.bn(self.linear(x))))
        self.sow(nnx.Intermediate, "y_mean", jnp.mean(y))
        return y


class MLP(nnx.Module):
    """Blocks, one after another."""

    def __init__(self, num_layers, dim, rngs):
        self.blocks = nnx.List([Block(dim, dim, rngs) for _ in range(num_layers)])

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return x


class Perturbed(nnx.Module):
    """Two layers, with a perturbation in between."""

    def __init__(self, rngs):
        self.linear1 = nnx.Linear(2, 3, rngs=rngs)
        self.linear2 = nnx.Linear(3, 4, rngs=rngs)

    def __call__(self, x):
        x = nnx.gelu(self.linear1(x))
        x = self.perturb("xgrad", x)
        return self.linear2(x)


def train_step(model, optimizer, x, y):
    """Differentiate by the parameters and by the perturbation, and update."""
    graphdef, params, perturbations = nnx.split(model, nnx.Param, nnx.Perturbation)

    def loss_fn(params, perturbations):
        model = nnx.merge(graphdef, params, perturbations)
        return jnp.mean((model(x) - y) ** 2)

    step = nnx.value_and_grad(loss_fn, argnums=(0, 1))
    loss, (gradients, inner) = step(params, perturbations)
    optimizer.update(model, gradients)
    return loss, inner

"""The models of Flax NNX's "Module & Pytree", made of leafwise classes, for jax.

Layers take keys where those of Flax do, so that the same seed makes the same model.
"""

import jax
from jax import numpy as jnp

from leafwise import nn as nnx


class Linear(nnx.Module):
    """A kernel and a bias."""

    def __init__(self, din, dout, rngs):
        self.din, self.dout = din, dout
        self.kernel = nnx.Param(rngs.params.lecun_normal()((din, dout)))
        rngs.params()  # which Flax takes for the zeros
        self.bias = nnx.Param(jnp.zeros(dout))

    def __call__(self, x):
        return x @ self.kernel + self.bias


class BatchNorm(nnx.Module):
    """Normalizes over the batch, and keeps running statistics."""

    def __init__(self, size, rngs):
        self.scale = nnx.Param(jnp.ones(size))
        self.bias = nnx.Param(jnp.zeros(size))
        rngs.params(), rngs.params()  # which Flax takes for these
        self.mean = nnx.BatchStat(jnp.zeros(size))
        self.var = nnx.BatchStat(jnp.ones(size))
        self.momentum = 0.99

    def __call__(self, x):
        mean = x.mean(axis=0)
        var = jnp.maximum(0.0, (x**2).mean(axis=0) - mean**2)
        for stat, now in ((self.mean, mean), (self.var, var)):
            stat[...] = self.momentum * stat[...] + (1 - self.momentum) * now
        return (x - mean) * jax.lax.rsqrt(var + 1e-5) * self.scale + self.bias


class Dropout(nnx.Module):
    """Sets some values to zero, unless it is deterministic."""

    def __init__(self, rate, rngs):
        self.rate = rate
        self.deterministic = False
        self.rngs = rngs.dropout.fork()

    def __call__(self, x):
        if self.deterministic:
            return x
        keep = self.rngs.bernoulli(1 - self.rate, x.shape)
        return jnp.where(keep, x / (1 - self.rate), 0)


class Block(nnx.Module):
    """Linear, batch norm, dropout; the mean of what comes out is sown."""

    def __init__(self, din, dout, rngs):
        self.linear = Linear(din, dout, rngs)
        self.bn = BatchNorm(dout, rngs)
        self.dropout = Dropout(0.1, rngs)

    def __call__(self, x):
        y = jax.nn.relu(self.dropout(self.bn(self.linear(x))))
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
        self.linear1 = Linear(2, 3, rngs)
        self.linear2 = Linear(3, 4, rngs)

    def __call__(self, x):
        x = jax.nn.gelu(self.linear1(x))
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

"""The layers that the guides of Flax NNX begin with, in its names and conventions.

Owns `Linear`, `BatchNorm`, `Dropout`, `relu` and `gelu`, with the numbers of Flax. jax
is imported when a layer is made or called.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..lazy import need
from .module import Module
from .rngs import Rngs, RngStream
from .variables import BatchStat, Param


__all__ = ["BatchNorm", "Dropout", "Linear", "gelu", "relu"]


def _jax(what: str) -> Any:
    return need("jax", f"nn.{what}")


class Linear(Module):
    """A linear map of the last axis, with a bias.

    Args:
        in_features: The size of the last axis of inputs.
        out_features: The size of the last axis of outputs.
        use_bias: Whether there is a bias.
        kernel_init: Makes the kernel of a key, a shape and a dtype; by default
            `jax.nn.initializers.lecun_normal()`.
        bias_init: Makes the bias; by default zeros.
        param_dtype: The dtype of both; float32 by default.
        rngs: The streams that keys are taken from.

    Attributes:
        kernel: A `Param` of shape `(in_features, out_features)`.
        bias: A `Param` of shape `(out_features,)`, or None.

    Example:
        >>> import pytest
        >>> jnp = pytest.importorskip("jax.numpy")
        >>> from leafwise import nn
        >>> nn.Linear(2, 3, rngs=nn.Rngs(0))(jnp.ones((5, 2))).shape
        (5, 3)

    Modelled on `flax.nnx.Linear`.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        use_bias: bool = True,
        kernel_init: Any = None,
        bias_init: Any = None,
        param_dtype: Any = None,
        rngs: Rngs,
    ) -> None:
        jax = _jax("Linear")
        make, zeros = jax.nn.initializers.lecun_normal(), jax.nn.initializers.zeros
        dtype = param_dtype or jax.numpy.float32
        self.in_features, self.out_features = in_features, out_features
        shape = in_features, out_features
        self.kernel = Param((kernel_init or make)(rngs.params(), shape, dtype))
        self.bias: Param | None = None
        if use_bias:
            self.bias = Param((bias_init or zeros)(rngs.params(), shape[1:], dtype))

    def __call__(self, x: Any) -> Any:
        """Return the outputs for an array of inputs."""
        y = _jax("Linear").numpy.matmul(x, self.kernel[...])
        return y if self.bias is None else y + self.bias[...]


class BatchNorm(Module):
    """Normalize over all axes but one, by the batch or by running averages.

    Args:
        num_features: The size of the axis of features.
        use_running_average: Whether the running averages are used; `eval` sets it.
        axis: The axis of features.
        momentum: How much of a running average is kept in each call.
        epsilon: What is added to the variance.
        use_bias, use_scale: Whether there is a bias, and a scale.
        rngs: The streams that a key is taken from for each parameter, as Flax does.

    Attributes:
        mean, var: The running averages, of type `BatchStat`.
        scale, bias: A `Param` of shape `(num_features,)` each, or None.

    Example:
        >>> import pytest
        >>> jnp = pytest.importorskip("jax.numpy")
        >>> from leafwise import nn
        >>> layer = nn.BatchNorm(2)
        >>> layer(jnp.ones((5, 2))).tolist()[0], float(layer.eval().mean[0]) > 0
        ([0.0, 0.0], True)

    Modelled on `flax.nnx.BatchNorm`.
    """

    def __init__(
        self,
        num_features: int,
        *,
        use_running_average: bool = False,
        axis: int = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-5,
        use_bias: bool = True,
        use_scale: bool = True,
        rngs: Rngs | None = None,
    ) -> None:
        numpy = _jax("BatchNorm").numpy
        zeros, ones = numpy.zeros(num_features), numpy.ones(num_features)
        self.use_running_average = use_running_average
        self.axis, self.momentum, self.epsilon = axis, momentum, epsilon
        self.mean, self.var = BatchStat(zeros), BatchStat(ones)
        self.scale = Param(ones) if use_scale else None
        self.bias = Param(zeros) if use_bias else None
        if rngs is not None:  # so that later layers have the numbers of Flax
            _ = [rngs.params() for _ in range(use_bias + use_scale)]

    def __call__(self, x: Any, use_running_average: bool | None = None) -> Any:
        """Return normalized inputs; the running averages follow, if not used."""
        jax = _jax("BatchNorm")
        feature = self.axis % x.ndim
        axes = tuple(axis for axis in range(x.ndim) if axis != feature)
        shape = [1] * x.ndim
        shape[feature] = x.shape[feature]
        if use_running_average is None:
            use_running_average = self.use_running_average
        if use_running_average:
            mean, var = self.mean[...], self.var[...]
        else:
            mean = x.mean(axes)
            var = jax.numpy.maximum(0.0, (x * x).mean(axes) - mean * mean)
            for average, now in ((self.mean, mean), (self.var, var)):
                average[...] = self.momentum * average + (1 - self.momentum) * now
        factor = jax.lax.rsqrt(var + self.epsilon)
        if self.scale is not None:
            factor = factor * self.scale
        y = (x - mean.reshape(shape)) * factor.reshape(shape)
        return y if self.bias is None else y + self.bias.reshape(shape)


class Dropout(Module):
    """Set a random part of the inputs to zero while training.

    Args:
        rate: The probability of zero.
        broadcast_dims: Axes along which all inputs are kept or dropped together.
        deterministic: Whether nothing is dropped; `eval` sets it.
        rngs: The streams; the layer takes one of its own from `rngs.dropout`.

    Raises:
        ValueError: Called without a stream of random keys.

    Example:
        >>> import pytest
        >>> jnp = pytest.importorskip("jax.numpy")
        >>> from leafwise import nn
        >>> layer = nn.Dropout(0.5, rngs=nn.Rngs(0))
        >>> sorted({*layer(jnp.ones(50)).tolist()}), layer.eval()(jnp.ones(2)).tolist()
        ([0.0, 2.0], [1.0, 1.0])

    Modelled on `flax.nnx.Dropout`.
    """

    def __init__(
        self,
        rate: float,
        *,
        broadcast_dims: Sequence[int] = (),
        deterministic: bool = False,
        rngs: Rngs | RngStream | None = None,
    ) -> None:
        stream = rngs["dropout"] if isinstance(rngs, Rngs) else rngs
        self.rate, self.broadcast_dims = rate, tuple(broadcast_dims)
        self.deterministic = deterministic
        self.rngs = None if stream is None else stream.fork()

    def __call__(
        self,
        x: Any,
        *,
        deterministic: bool | None = None,
        rngs: Rngs | RngStream | None = None,
    ) -> Any:
        """Return the inputs, a part of them zero and the others larger."""
        jax = _jax("Dropout")
        if deterministic is None:
            deterministic = self.deterministic
        if deterministic or self.rate == 0:
            return x
        if self.rate == 1:
            return jax.numpy.zeros_like(x)
        stream = rngs["dropout"] if isinstance(rngs, Rngs) else rngs or self.rngs
        if stream is None:
            raise ValueError("Dropout needs rngs, at creation or in the call")
        shape = [*x.shape]
        for axis in self.broadcast_dims:
            shape[axis] = 1
        kept = jax.random.bernoulli(stream(), 1 - self.rate, shape)
        return jax.numpy.where(kept, x / (1 - self.rate), 0)


def relu(x: Any) -> Any:
    """Return `max(x, 0)`, as `jax.nn.relu`.

    Example:
        >>> import pytest
        >>> jax = pytest.importorskip("jax")
        >>> from leafwise import nn
        >>> float(nn.relu(-1.0))
        0.0
    """
    return _jax("relu").nn.relu(x)


def gelu(x: Any, approximate: bool = True) -> Any:
    """Return the Gaussian error linear unit, as `jax.nn.gelu`.

    Example:
        >>> import pytest
        >>> jax = pytest.importorskip("jax")
        >>> from leafwise import nn
        >>> float(nn.gelu(0.0))
        0.0
    """
    return _jax("gelu").nn.gelu(x, approximate)

"""A few layers with the names and conventions of Flax NNX: those of its first guides.

They compute the same numbers as Flax. jax is imported when a layer is made or called.
"""

from __future__ import annotations

from typing import Any

from .._lazy import need
from .._text import typed_repr
from ..fields import data
from .module import Module
from .rngs import Rngs, RngStream
from .variables import BatchStat, Param


__all__ = ["BatchNorm", "Dropout", "Linear", "gelu", "relu"]


def _jax(what: str) -> Any:
    return need("jax", f"nn.{what}")


def _check_rngs(rngs: Any, *types: type) -> None:
    """Raise an error if what a layer got as `rngs` is none of the types for that.

    A seed in place of `nn.Rngs` is the most common mistake.
    """
    if not isinstance(rngs, types):
        names = " or ".join(f"nn.{cls.__name__}" for cls in types)
        raise TypeError(f"rngs must be {names}, got {typed_repr(rngs)}")


class Linear(Module):
    """A linear map of the last axis.

    Args:
        in_features: The size of the last axis of inputs.
        out_features: The size of the last axis of outputs.
        use_bias: Whether a bias is added.
        rngs: The streams that a key is taken from.

    Raises:
        TypeError: `rngs` is something else, such as a seed.

    Attributes:
        kernel: A `Param` of shape `(in_features, out_features)`.
        bias: A `Param` of shape `(out_features,)`, None without a bias.
        in_features, out_features, use_bias: The arguments.

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
        rngs: Rngs,
    ) -> None:
        _check_rngs(rngs, Rngs)
        jax = _jax("Linear")
        initialize = jax.nn.initializers.lecun_normal()
        shape = (in_features, out_features)
        self.kernel: Param[Any] = Param(initialize(rngs.params(), shape))
        # Data even without a bias, so that one can be assigned later.
        self.bias: Param[Any] | None = data(None)
        if use_bias:
            self.bias = Param(jax.numpy.zeros(out_features))
            _ = rngs.params()  # so that later layers have the numbers of Flax
        self.in_features: int = in_features
        self.out_features: int = out_features
        self.use_bias: bool = use_bias

    def __call__(self, x: Any) -> Any:
        """Return the outputs for an array of inputs."""
        outputs = _jax("Linear").numpy.matmul(x, self.kernel[...])
        if self.bias is None:
            return outputs
        return outputs + self.bias[...]


class BatchNorm(Module):
    """Normalize over all axes but the last, by the batch or by running averages.

    Args:
        num_features: The size of the last axis.
        use_running_average: Whether the running averages are used; `eval` sets it.
        momentum: How much of a running average is kept in each call.
        epsilon: What is added to the variance.
        rngs: The streams that a key is taken from for each parameter, as Flax does.

    Attributes:
        num_features: The size of the last axis.
        mean, var: The running averages, of type `BatchStat`.
        scale, bias: A `Param` of shape `(num_features,)` each.

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
        momentum: float = 0.99,
        epsilon: float = 1e-5,
        rngs: Rngs | None = None,
    ) -> None:
        if rngs is not None:
            _check_rngs(rngs, Rngs)
        numpy = _jax("BatchNorm").numpy
        zeros = numpy.zeros(num_features)
        ones = numpy.ones(num_features)
        self.num_features: int = num_features
        self.use_running_average: bool = use_running_average
        self.momentum: float = momentum
        self.epsilon: float = epsilon
        self.mean: BatchStat[Any] = BatchStat(zeros)
        self.var: BatchStat[Any] = BatchStat(ones)
        self.scale: Param[Any] = Param(ones)
        self.bias: Param[Any] = Param(zeros)
        if rngs is not None:  # so that later layers have the numbers of Flax
            _ = rngs.params()
            _ = rngs.params()

    def __call__(self, x: Any) -> Any:
        """Return normalized inputs, and update running averages that are not used."""
        jax = _jax("BatchNorm")
        if self.use_running_average:
            mean = self.mean[...]
            var = self.var[...]
        else:
            axes = tuple(range(x.ndim - 1))
            mean = x.mean(axes)
            # As in Flax: one pass over the inputs, of which rounding may leave a
            # difference below zero.
            var = jax.numpy.maximum(0.0, (x * x).mean(axes) - mean * mean)
            self._keep_average(self.mean, mean)
            self._keep_average(self.var, var)
        factor = jax.lax.rsqrt(var + self.epsilon) * self.scale
        return (x - mean) * factor + self.bias

    def _keep_average(self, average: BatchStat[Any], value: Any) -> None:
        """Move a running average towards the value in this batch."""
        average[...] = self.momentum * average + (1 - self.momentum) * value


class Dropout(Module):
    """Set a random part of the inputs to zero while training.

    Args:
        rate: The probability of zero.
        deterministic: Whether nothing is dropped; `eval` sets it.
        rngs: The streams; the layer takes one of its own from `rngs.dropout`.

    Raises:
        ValueError: Called in training without a stream of random keys.

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
        deterministic: bool = False,
        rngs: Rngs | RngStream | None = None,
    ) -> None:
        if rngs is not None:
            _check_rngs(rngs, Rngs, RngStream)
        stream = rngs["dropout"] if isinstance(rngs, Rngs) else rngs
        self.rate: float = rate
        self.deterministic: bool = deterministic
        self.rngs: RngStream | None = None
        if stream is not None:
            # Its own, so that the numbers do not depend on what else is called.
            self.rngs = stream.fork()

    def __call__(self, x: Any) -> Any:
        """Return the inputs, some of them set to zero and the others scaled up."""
        jax = _jax("Dropout")
        if self.deterministic or self.rate == 0:
            return x
        if self.rate == 1:  # what is not dropped would be divided by zero
            return jax.numpy.zeros_like(x)
        if self.rngs is None:
            raise ValueError("Dropout needs rngs")
        mask = jax.random.bernoulli(self.rngs(), 1 - self.rate, x.shape)
        return jax.numpy.where(mask, x / (1 - self.rate), 0)


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

"""A network with one hidden layer, in the arrays of any library."""

from typing import Any

import leafwise as lw


@lw.dataclass
class Layer:
    """Weights and biases."""

    w: Any
    b: Any

    def __call__(self, x):
        return x @ self.w + self.b


@lw.dataclass
class Network:
    """Two layers, and the name of the function between them."""

    hidden: Layer
    out: Layer
    activation: str = lw.static(default="tanh")


def descend(network, gradients, rate=0.1):
    """Return the network after one step of gradient descent."""
    return lw.tree_map(lambda p, g: p - rate * g, network, gradients)

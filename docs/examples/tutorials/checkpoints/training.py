"""A line through some points, by gradient descent with momentum."""

from typing import Any

import numpy as np

import leafwise as lw


@lw.dataclass
class Training:
    """All that is needed to go on: parameters, momentum, and how far it is."""

    params: dict[str, Any]
    momentum: dict[str, Any]
    step: int = 0
    rate: float = lw.static(default=0.1)


x = np.linspace(0, 1, 20)
y = 3 * x - 1


def begin():
    params = {"line": {"slope": np.zeros(1), "offset": np.zeros(1)}}
    return Training(params, lw.tree_map(np.zeros_like, params))


def one_step(training):
    line = training.params["line"]
    error = line["slope"] * x + line["offset"] - y
    gradients = {
        "line": {
            "slope": np.array([2 * (error * x).mean()]),
            "offset": np.array([2 * error.mean()]),
        }
    }
    momentum = lw.tree_map(lambda m, g: 0.8 * m + g, training.momentum, gradients)
    params = lw.tree_map(lambda p, m: p - training.rate * m, training.params, momentum)
    return Training(params, momentum, training.step + 1, training.rate)

"""Train with numpy: the gradient is written by hand."""

import numpy as np

from data import begin, x, y
from model import Layer, Network, descend


def loss_and_gradients(network):
    """Return the mean square error, and a network of its derivatives."""
    a = np.tanh(network.hidden(x))
    error = network.out(a) - y
    by_out = 2 * error / len(x)
    by_hidden = (by_out @ network.out.w.T) * (1 - a**2)
    gradients = Network(
        Layer(x.T @ by_hidden, by_hidden.sum(axis=0)),
        Layer(a.T @ by_out, by_out.sum(axis=0)),
    )
    return (error**2).mean(), gradients


def train(steps=300):
    network = begin()
    for step in range(steps + 1):
        loss, gradients = loss_and_gradients(network)
        if step % 100 == 0:
            print(f"numpy, step {step}: loss {loss:.6f}")
        network = descend(network, gradients)
    return network


if __name__ == "__main__":
    train()

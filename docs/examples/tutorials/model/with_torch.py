"""Train with torch: the gradient is made by `torch.autograd`."""

import torch

import leafwise as lw
from data import begin, x, y
from model import descend


inputs, targets = torch.from_numpy(x), torch.from_numpy(y)


def loss(network):
    a = torch.tanh(network.hidden(inputs))
    return ((network.out(a) - targets) ** 2).mean()


def train(steps=300):
    network = lw.tree_map(torch.from_numpy, begin())
    for step in range(steps + 1):
        network = lw.tree_map(lambda p: p.detach().requires_grad_(), network)
        value = loss(network)
        leaves, treedef = lw.tree_flatten(network)
        gradients = treedef.unflatten(torch.autograd.grad(value, leaves))
        if step % 100 == 0:
            print(f"torch, step {step}: loss {value:.6f}")
        network = descend(network, gradients)
    return lw.tree_map(torch.Tensor.detach, network)


if __name__ == "__main__":
    train()

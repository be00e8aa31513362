"""Programs of users of torchopt; what they print is compared. Run as a script."""

import collections

import torch
import torchopt
from torchopt import pytree


Params = collections.namedtuple("Params", "weight bias")


def params():
    """Return a tree of tensors in several containers."""
    torch.manual_seed(0)
    return {
        "layers": [Params(torch.randn(2, 3), torch.zeros(2)), None],
        "scale": (torch.ones(()), collections.OrderedDict(b=torch.ones(2))),
    }


def loss_of(tree):
    """Return a number that depends on all leaves."""
    return sum(((leaf - 1) ** 2).sum() for leaf in pytree.tree_leaves(tree))


def optimizers():
    """Minimize by each functional optimizer."""
    for make in (torchopt.adam, torchopt.sgd, torchopt.rmsprop, torchopt.adamw):
        tree = pytree.tree_map(lambda leaf: leaf.requires_grad_(), params())
        optimizer = make(lr=0.1)
        state = optimizer.init(tree)
        for _ in range(5):
            leaves, spec = pytree.tree_flatten(tree)
            grads = torch.autograd.grad(loss_of(tree), leaves)
            updates, state = optimizer.update(
                pytree.tree_unflatten(spec, grads), state, params=tree, inplace=False
            )
            tree = torchopt.apply_updates(tree, updates, inplace=False)
        print(make.__name__, spec, round(float(loss_of(tree)), 5))


def modules():
    """Optimize a module through an optimizer that can be differentiated."""
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    optimizer = torchopt.MetaSGD(model, lr=0.1)
    x = torch.ones(4, 2)
    before = torchopt.extract_state_dict(model)
    for _ in range(3):
        optimizer.step((model(x) ** 2).mean())
    print(round(float((model(x) ** 2).mean()), 5))
    torchopt.recover_state_dict(model, before)
    print(round(float((model(x) ** 2).mean()), 5))
    torchopt.stop_gradient(model)


if __name__ == "__main__":
    for part in (optimizers, modules):
        print(part.__name__)
        part()

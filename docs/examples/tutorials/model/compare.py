import leafwise as lw
import with_jax
import with_numpy
import with_torch


first = with_numpy.train()
others = {"jax": with_jax.train(), "torch": with_torch.train()}
for name, network in others.items():
    agrees = lw.tree_equal(first, network, rtol=1e-6, atol=1e-9)
    print(f"{name} has the weights of numpy: {agrees}")

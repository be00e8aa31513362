"""The model of next year: other names, and a new parameter."""

import numpy as np

import leafwise as lw
from training import Training


params = {"model": {"weight": np.zeros(1), "bias": np.zeros(1), "curve": np.zeros(1)}}
like = Training(params, lw.tree_map(np.zeros_like, params))

try:
    lw.load("checkpoint.npz", like)
except lw.StructureError as error:
    print(error)

names = {
    f"{part}.line.{old}": f"{part}.model.{new}"
    for part in ("params", "momentum")
    for old, new in [("slope", "weight"), ("offset", "bias")]
}
training = lw.load("checkpoint.npz", like, rename=names, strict=False)
for name, value in training.params["model"].items():
    print(f"{name} = {value[0]:.6f}")

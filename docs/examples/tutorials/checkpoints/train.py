"""Usage: python train.py STEPS [STOP_AT]"""

import sys
from pathlib import Path

import leafwise as lw
from training import begin, one_step


path = Path("checkpoint.npz")
steps, *stop_at = map(int, sys.argv[1:])

training = lw.load(path, begin()) if path.exists() else begin()
print("begins at step", training.step)
while training.step < steps:
    training = one_step(training)
    if training.step % 10 == 0:
        lw.save(path, training)
    if training.step in stop_at:
        sys.exit(f"stopped at step {training.step}")
for name, value in training.params["line"].items():
    print(f"{name} = {value[0]:.6f}")

import leafwise as lw
from training import Training


state = lw.load("checkpoint.npz")
print("is a Training:", isinstance(state, Training))
print("steps:", state.step)
print(lw.tree_paths(state)[0])
(slope,) = lw.load("checkpoint.npz", select="params.line.slope")
print(f"slope = {slope:.4f}")

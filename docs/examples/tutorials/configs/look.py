import leafwise as lw
from settings import read


base = read("base.yaml")
for path, value in lw.tree_leaves_with_path(base):
    print(path, "=", value)
print(lw.at(base)["optim.lr"].get())

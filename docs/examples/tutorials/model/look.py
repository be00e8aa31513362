import leafwise as lw
from data import begin


network = begin()
lw.pprint(network)
print(lw.tree_summary(network))

import leafwise as lw
from labels import Nutrition, Price


label = {"per portion": Nutrition(250, 8), "price": Price(1.5, 2.0, "EUR")}
for value in lw.tree_leaves(label):
    print(value, "is", lw.explain_leaf(value))

import leafwise as lw
from recipes import pancakes


print(lw.tree_leaves(pancakes))
for_six = lw.tree_map(lambda amount: amount * 3, pancakes)
for ingredient in for_six.ingredients:
    print(ingredient.amount, ingredient.unit, ingredient.name)

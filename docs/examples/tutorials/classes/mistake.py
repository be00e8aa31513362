import leafwise as lw
from kitchen import rules
from labels import Price
from recipes import Ingredient


try:
    lw.tree_map(
        lambda x, y: x + y,
        {"milk": Ingredient(300, "ml", "milk")},
        {"milk": Ingredient(1, "l", "milk")},
    )
except lw.StructureError as error:
    print(error)

missing = rules.tree_map(lambda amount: None, Price(1.5, 2.0, "EUR"))
print(missing.low, missing.high, missing.currency)

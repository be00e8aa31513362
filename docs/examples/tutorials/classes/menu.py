from kitchen import rules
from labels import Nutrition, Price
from recipes import pancakes


menu = {
    "recipe": pancakes,
    "label": {"per portion": Nutrition(250, 8), "price": Price(1.5, 2.0, "EUR")},
}
for path, value in rules.tree_leaves_with_path(menu):
    print(path, "=", value)

doubled = rules.tree_map(lambda x: x * 2, menu)
print(doubled["label"])
half_price = rules.at(menu)["label.price.*"].apply(lambda x: x / 2)
print(half_price["label"]["price"])
print(half_price["recipe"] is menu["recipe"])

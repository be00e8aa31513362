"""Recipes: the classes of this tutorial."""

import leafwise as lw


@lw.dataclass
class Ingredient:
    """An amount of something; only the amount is a number to calculate with."""

    amount: float
    unit: str = lw.static()
    name: str = lw.static()


@lw.dataclass
class Recipe:
    """What to cook, of what, and how long it takes."""

    title: str = lw.static()
    ingredients: list[Ingredient]


pancakes = Recipe(
    "Pancakes",
    [
        Ingredient(200, "g", "flour"),
        Ingredient(300, "ml", "milk"),
        Ingredient(2, "", "eggs"),
    ],
)

"""Tree rules of this program, for classes that are not its own."""

import leafwise as lw
from labels import Nutrition, Price


rules = lw.namespace("kitchen")
lw.integrations.register_attrs(Nutrition, namespace="kitchen")


def flatten(price):
    return (price.low, price.high), price.currency, ("low", "high")


def unflatten(currency, children):
    price = object.__new__(Price)
    price.low, price.high = children
    price.currency = currency
    return price


rules.register_pytree_node(Price, flatten, unflatten)

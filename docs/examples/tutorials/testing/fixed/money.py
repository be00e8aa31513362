import leafwise as lw


class Money:
    def __init__(self, amount, currency="EUR"):
        self.amount, self.currency = amount, currency


def flatten(money):
    return (money.amount,), money.currency, ("amount",)


def unflatten(currency, children):
    return Money(*children, currency)


lw.register_pytree_node(Money, flatten, unflatten)

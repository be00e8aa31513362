import leafwise as lw


class Money:
    def __init__(self, amount, currency="EUR"):
        self.amount, self.currency = amount, currency


def flatten(money):
    return (money.amount,), None


def unflatten(aux_data, children):
    return Money(*children)


lw.register_pytree_node(Money, flatten, unflatten)

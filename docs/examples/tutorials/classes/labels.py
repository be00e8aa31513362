"""Classes of another package: attrs and plain Python, and no word of leafwise."""

import attrs


@attrs.define
class Nutrition:
    """What is in a portion."""

    energy: float
    protein: float


class Price:
    """A range of prices in a currency."""

    def __init__(self, low, high, currency):
        if low > high:
            raise ValueError("low must not be above high")
        self.low, self.high, self.currency = low, high, currency

    def __repr__(self):
        return f"{self.low:.2f} to {self.high:.2f} {self.currency}"

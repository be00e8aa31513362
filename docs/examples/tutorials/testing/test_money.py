from leafwise.testing import check_node
from money import Money


def test_registration():
    check_node(Money, [Money(1.0), Money(2.0, "USD")])

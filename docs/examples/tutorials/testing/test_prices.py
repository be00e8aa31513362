from leafwise.testing import assert_trees_close
from shop import raise_prices, shop


def test_prices_go_up():
    expected = {
        "tea": {
            "green": {"price": 4.4, "stock": 12},
            "black": {"price": 3.3, "stock": 30},
        },
        "cups": [{"price": 8.8, "stock": 5}],
    }
    assert_trees_close(raise_prices(shop, 10), expected)

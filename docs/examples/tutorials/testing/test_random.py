from hypothesis import given, strategies as st

from leafwise import testing
from shop import raise_prices


item = st.fixed_dictionaries({"price": st.floats(0, 100), "stock": st.integers(0, 99)})
shops = testing.trees(item, nodes=[list, dict], keys=st.sampled_from(["tea", "cups"]))


@given(shops, st.floats(0, 50))
def test_structure_stays(shop, percent):
    testing.assert_same_structure(raise_prices(shop, percent), shop)


@given(shops)
def test_nothing_is_lost(shop):
    testing.assert_trees_equal(raise_prices(shop, 0), shop)

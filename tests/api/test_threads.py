"""Threads on caches that are emptied all the time, and the build that is tested."""

import sys

import pytest

import leafwise as lw
from interrupts import at_once
from leafwise.core import keys, registry


pytestmark = pytest.mark.needs("threads")


@pytest.fixture(params=["walk", "eager"])
def way(request):
    """Walk each tree, or compile each structure on first sight."""
    if request.param == "walk":
        yield
    else:
        engine = pytest.importorskip("leafwise.engine")
        with engine.eager():
            yield


@pytest.fixture
def crowded(monkeypatch):
    """Make all caches so small that they are emptied all the time."""
    monkeypatch.setattr(keys, "_MAX_KNOWN", 4)
    monkeypatch.setattr(registry, "_MAX_SEEN", 16)
    monkeypatch.setattr(registry, "_MAX_NARROWED", 2)
    if hasattr(lw, "engine"):
        from leafwise.engine import cache

        for name, most in (("PLANS", 3), ("COUNTS", 3)):
            monkeypatch.setattr(cache, f"_MAX_{name}", most)
        monkeypatch.setattr(cache, "_MAX_ALIKE", 2)
        monkeypatch.setattr(cache, "_MAX_MISSES", 2)


def test_caches_that_are_full_all_the_time(crowded, way):
    """Answers are the same whatever was forgotten between two steps."""

    def use():
        for size in range(1, 25):
            tree = {f"k{i}.{size}": [i] for i in range(size)}
            pairs, treedef = lw.tree_flatten_with_path(tree)
            leaves = [leaf for _, leaf in pairs]
            assert leaves == [tree[key][0] for key in sorted(tree)]
            assert [str(path) for path, _ in pairs] == [
                f"['{key}'][0]" for key in sorted(tree)
            ]
            assert treedef.unflatten(leaves) == tree
            kinds = (str, bytes, type(f"Odd{size}", (), {}))
            assert lw.tree_leaves(tree, is_leaf=kinds) == leaves

    assert at_once(*[use] * 8) == []


def test_the_build_that_is_tested():
    """`PYTHON_GIL=1` or a module without support would switch the GIL on again."""
    free = "free-threading" in sys.version
    assert getattr(sys, "_is_gil_enabled", lambda: True)() is not free

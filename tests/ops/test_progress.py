"""Bars of long maps, and when nothing is shown."""

import sys

import pytest

import leafwise as lw


def inverse(x):
    return 1 / x


def interrupt(_):
    raise KeyboardInterrupt


@pytest.fixture
def log(monkeypatch):
    """Return what is done with bars: how they are made, moved and closed."""
    log = []

    class Bar:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            log.append("closed")

        def update(self, steps):
            log.append(steps)

    class Bars:
        @staticmethod
        def tqdm(total, disable):
            log.append((total, disable))
            return Bar()

    monkeypatch.setitem(sys.modules, "tqdm", Bars)
    monkeypatch.setitem(sys.modules, "tqdm.auto", Bars)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    return log


@pytest.mark.parametrize("progress", [None, False])
def test_nothing_is_shown_unasked(log, progress):
    """Neither for trees without leaves."""
    assert lw.parallel(progress=progress).tree_map(inverse, [1]) == [1.0]
    assert lw.parallel(progress=True).tree_map(inverse, []) == []
    assert log == []


def test_bars_are_closed(log):
    """Whatever happens; each leaf moves them by one."""
    maps = lw.parallel(progress=True)
    maps.tree_map(inverse, [1, 2])
    assert log == [(2, None), 1, 1, "closed"]
    log.clear()
    with pytest.raises(ZeroDivisionError):
        maps.tree_map(inverse, [1, 0, 2])
    assert log == [(3, None), 1, "closed"]
    log.clear()
    with pytest.raises(KeyboardInterrupt):
        maps.tree_map(interrupt, [1])
    assert log == [(1, None), "closed"]


def test_notebooks_are_seen(log, monkeypatch):
    """Their streams are not terminals, and tqdm shows its bar all the same."""
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    lw.parallel(progress=True).tree_map(inverse, [1])
    assert log == [(1, False), 1, "closed"]


def test_a_bar_needs_tqdm(monkeypatch):
    """Which is said before the first call."""
    for name in ("tqdm", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, name, None)
    pip_install = r"progress=True needs tqdm, .*pip install 'leafwise\[progress\]'"
    with pytest.raises(ImportError, match=pip_install):
        lw.parallel(progress=True).tree_map(inverse, [1])

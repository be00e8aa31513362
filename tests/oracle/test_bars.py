"""Maps with the bars of tqdm."""

import io
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import leafwise as lw


class Terminal(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self):
        """Return that it is one."""
        return True


def _put(monkeypatch):
    """Make stderr a terminal: in the test itself, since pytest puts its own before."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    return sys.stderr


def inverse(x):
    """Return the inverse."""
    return 1 / x


@pytest.fixture
def show(need, monkeypatch):
    """Return what makes stderr a terminal."""
    need("tqdm.auto")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    return lambda: _put(monkeypatch)


def test_a_bar(show):
    """It ends with all leaves done, here and with threads."""
    terminal = show()
    assert lw.parallel(progress=True).tree_map(inverse, [1, 2, 4]) == [1, 0.5, 0.25]
    shown = re.findall(r"\d/\d", terminal.getvalue())
    assert shown[-1] == "3/3"
    with ThreadPoolExecutor(2) as executor:
        maps = lw.parallel(executor, progress=True, chunk=2)
        assert maps.tree_map(inverse, [1] * 5) == [1] * 5
    assert re.findall(r"\d/\d", terminal.getvalue())[-1] == "5/5"


def test_a_bar_of_a_map_that_fails(show):
    """It is closed where it stands: the next one is shown as well."""
    terminal = show()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            lw.parallel(progress=True).tree_map(inverse, [1, 1, 0, 1])
    tqdm = sys.modules.get("tqdm.std")
    assert tqdm is None or not [*tqdm.tqdm._instances]
    assert lw.parallel(progress=True).tree_map(inverse, [1]) == [1]
    assert re.findall(r"\d/\d", terminal.getvalue())[-1] == "1/1"

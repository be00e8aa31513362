"""What is shown of long maps: a line of text, and when nothing is."""

import io
import sys

import pytest

import leafwise as lw


class Terminal(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self):
        return True


class Broken(Terminal):
    """A terminal that went away."""

    def write(self, text):
        raise OSError("gone")


@pytest.fixture
def show(monkeypatch):
    """Return what makes stderr a terminal; no bar is installed."""
    for name in ("tqdm", "tqdm.auto", "rich", "rich.progress"):
        monkeypatch.setitem(sys.modules, name, None)
    return lambda: _put(monkeypatch)


def _put(monkeypatch):
    """Make stderr a terminal: in the test itself, since pytest puts its own before."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    return sys.stderr


def inverse(x):
    return 1 / x


def test_a_line_of_text(show):
    """It is overwritten from time to time, and at the end."""
    terminal = show()
    assert lw.parallel(progress=True).tree_map(inverse, {"a": [1, 2], "b": 4}) == {
        "a": [1.0, 0.5],
        "b": 0.25,
    }
    assert terminal.getvalue() == "\r1/3 33%\r3/3 100%\n"


def test_the_line_is_closed_when_the_map_fails(show):
    """And not written when nothing was shown."""
    terminal = show()
    with pytest.raises(ZeroDivisionError):
        lw.parallel(progress=True).tree_map(inverse, [1, 0, 2])
    assert terminal.getvalue() == "\r1/3 33%\n"
    with pytest.raises(ZeroDivisionError):
        lw.parallel(progress=True).tree_map(inverse, [0])
    assert terminal.getvalue() == "\r1/3 33%\n"


@pytest.mark.parametrize("progress", [None, False])
def test_nothing_is_shown_unasked(show, progress):
    """Neither for trees without leaves."""
    terminal = show()
    assert lw.parallel(progress=progress).tree_map(inverse, [1]) == [1.0]
    assert lw.parallel(progress=True).tree_map(inverse, []) == []
    assert terminal.getvalue() == ""


def closed():
    """Return a terminal that was closed."""
    stream = Terminal()
    stream.close()
    return stream


@pytest.mark.parametrize("stream", [None, io.StringIO(), closed(), Broken()])
def test_streams_that_nobody_sees(show, monkeypatch, stream):
    """A file, none at all, one that is closed or broken: the map is as without."""
    monkeypatch.setattr(sys, "stderr", stream)
    assert lw.parallel(progress=True).tree_map(inverse, [1, 2]) == [1.0, 0.5]
    if type(stream) is io.StringIO:
        assert stream.getvalue() == ""


def test_notebooks_are_seen(show, monkeypatch):
    """Their streams are no terminals."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    lw.parallel(progress=True).tree_map(inverse, [1])
    assert stream.getvalue() == "\r1/1 100%\n"


def test_a_bar_that_cannot_be_opened(show, monkeypatch):
    """Is left out."""
    terminal = show()

    class Bars:
        def tqdm(self, total):
            raise RuntimeError("one at a time")

    monkeypatch.setitem(sys.modules, "tqdm.auto", Bars())
    monkeypatch.setitem(sys.modules, "tqdm", Bars())
    assert lw.parallel(progress=True).tree_map(inverse, [1, 2]) == [1.0, 0.5]
    assert terminal.getvalue() == ""


def test_bars_are_closed(show, monkeypatch):
    """Whatever happens; each leaf moves them by one."""
    show()
    log = []

    class Bar:
        n = 0

        def __enter__(self):
            return self

        def __exit__(self, *_):
            log.append("closed")

        def update(self, steps):
            self.n += steps
            log.append(steps)

    class Bars:
        @staticmethod
        def tqdm(total):
            log.append(total)
            return Bar()

    monkeypatch.setitem(sys.modules, "tqdm.auto", Bars)
    monkeypatch.setitem(sys.modules, "tqdm", Bars)
    maps = lw.parallel(progress=True)
    maps.tree_map(inverse, [1, 2])
    assert log == [2, 1, 1, "closed"]
    log.clear()
    with pytest.raises(ZeroDivisionError):
        maps.tree_map(inverse, [1, 0, 2])
    assert log == [3, 1, "closed"]
    log.clear()
    with pytest.raises(KeyboardInterrupt):
        maps.tree_map(interrupt, [1])
    assert log == [1, "closed"]


def interrupt(_):
    raise KeyboardInterrupt

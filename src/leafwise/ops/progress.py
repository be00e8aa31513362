"""The progress of a map: reported to a function, or shown as a bar.

Owns which bar is shown, and when none is. Bars are those of tqdm or rich, if one is
installed; else it is a line of text. Knows nothing of the calls.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, TypeAlias

from ..core.keypath import KeyPath
from .calls import Paths, Tell


__all__ = ["Progress", "telling"]

Progress: TypeAlias = Callable[[int, int, KeyPath], object] | bool | None
"""A function of how many calls are done, how many there are, and of the leaf's path;
or whether to show a bar."""

_PAUSE = 0.1
"""Seconds between two changes of the line."""


@contextlib.contextmanager
def telling(progress: Progress, total: int, paths: Paths) -> Iterator[Tell | None]:
    """Yield the function that reports progress, or None.

    A bar is closed at the end, whatever happened. It is shown where somebody sees it:
    on a terminal or in a notebook. Without leaves there is nothing to show. One that
    cannot be opened is left out.

    Args:
        progress: The function, or whether to show a bar.
        total: How many calls there are.
        paths: Gives the key paths.
    """
    if callable(progress):
        call = progress
        yield lambda done, place: call(done, total, paths()[place])
    elif not progress or not total or not _is_seen():
        yield None
    else:
        with contextlib.ExitStack() as stack:
            tell = None
            with contextlib.suppress(Exception):  # rich may show but one at a time
                tell = stack.enter_context(_bar(total))
            yield tell


def _is_seen() -> bool:
    """Return whether stderr is shown directly: in a terminal or a notebook."""
    if "ipykernel" in sys.modules:
        return True
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


def _bar(total: int) -> contextlib.AbstractContextManager[Tell]:
    for name, bar in (("tqdm.auto", _tqdm_bar), ("rich.progress", _rich_bar)):
        with contextlib.suppress(ImportError):
            return bar(import_module(name), total)
    return _line(total)


@contextlib.contextmanager
def _tqdm_bar(tqdm: Any, total: int) -> Iterator[Tell]:
    with tqdm.tqdm(total=total) as bar:
        yield lambda done, _place: bar.update(done - bar.n)


@contextlib.contextmanager
def _rich_bar(rich: Any, total: int) -> Iterator[Tell]:
    columns = [*rich.Progress.get_default_columns(), rich.MofNCompleteColumn()]
    console = import_module("rich.console").Console(stderr=True)
    with rich.Progress(*columns, console=console) as bar:
        task = bar.add_task("", total=total)
        yield lambda done, _place: bar.update(task, completed=done)


@contextlib.contextmanager
def _line(total: int) -> Iterator[Tell]:
    """Show a line of text that is updated; failures are ignored."""
    shown = 0.0

    def tell(done: int, _place: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if done == total or now - shown >= _PAUSE:
            shown = now
            _write(f"\r{done}/{total} {done * 100 // total}%")

    try:
        yield tell
    finally:
        if shown:
            _write("\n")


def _write(text: str) -> None:
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()

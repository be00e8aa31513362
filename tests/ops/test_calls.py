"""How far a call goes: `docs/architecture.md` draws the way of `tree_map`."""

import contextlib
import sys
from pathlib import Path

import leafwise as lw


PACKAGE = str(Path(lw.__file__).parent)


def calls(work):
    """Return the modules of our functions that a call runs, once for each call."""
    found = []

    def see(frame, event, _arg):
        file = frame.f_code.co_filename
        if event == "call" and (file.startswith((PACKAGE, "<leafwise"))):
            found.append(file)

    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


def test_a_map_of_a_tree_that_was_never_compiled(monkeypatch):
    """At most 20 calls in 7 modules, where a tree with such a root was met before.

    One of sixteen trees that are walked is counted by the engine, which takes 10 more.
    """
    tree = {"a": {"x": 1, "y": [2, 3]}, "b": 4}
    with contextlib.ExitStack() as stack:
        if hasattr(lw, "engine"):
            stack.enter_context(lw.engine.enabled())
            lw.engine.forget()
            monkeypatch.setattr(lw.engine.cache, "_SAMPLE", 16)  # as it is for users
        lw.tree_leaves(tree)
        found = calls(lambda: lw.tree_map(float, tree))
    assert len(found) <= 20
    assert len({*found}) <= 7


def test_a_map_of_a_tree_that_was_compiled():
    """At most 9: four of ours, the two that were generated, and the loop."""
    tree = {"a": {"x": 1, "y": [2, 3]}, "b": 4}
    if hasattr(lw, "engine"):
        with lw.engine.eager():
            for _ in range(4):
                lw.tree_map(float, tree)
            assert len(calls(lambda: lw.tree_map(float, tree))) <= 9

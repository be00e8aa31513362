"""Looking inside the engine, and switching it on and off."""

from __future__ import annotations

import os
from contextlib import ContextDecorator
from typing import Any

from ..core.auxdata import described
from ..core.registry import on_change
from ..core.treedef import PyTreeDef
from ..errors import TreeDefError
from .build import emit_build
from .cache import engine
from .plan import make_plan
from .take import emit_flatten, emit_up_to


__all__ = ["disabled", "eager", "enabled", "forget", "source", "stats"]

_MODES = {"0": "off", "off": "off", "eager": "eager"}


def stats() -> dict[str, Any]:
    """Return what the engine holds at the moment.

    Returns:
        `mode`: `"on"`, `"off"` or `"eager"`; `plans`: the structures that are
        compiled now; `roots`: the types of roots that are watched; `size`: what the
        plans take, in characters of text and entries of lists; `compiled` and
        `evicted`: how many structures were compiled, and how many of these had to
        leave for others, since the start.

    Example:
        >>> import leafwise as lw
        >>> sorted(lw.engine.stats())
        ['compiled', 'evicted', 'mode', 'plans', 'roots', 'size']
    """
    memory = engine.memory
    return {
        "mode": engine.mode,
        "plans": len(memory.live),
        "roots": len(memory.sites),
        "size": memory.size,
        "compiled": engine.compiled,
        "evicted": engine.evicted,
    }


def source(treedef: PyTreeDef) -> str:
    """Return the Python text that the engine writes for a structure.

    Args:
        treedef: The structure.

    Returns:
        The functions `flatten`, `up_to` and `build`; the empty text where the
        structure is left to the walk.

    Raises:
        TreeDefError: It is no treedef.

    Example:
        >>> import leafwise as lw
        >>> print(lw.engine.source(lw.tree_structure((1, 2))))
        def flatten(t):
            try:
                if type(t) is not K1: return None
                v2, v3 = t
                out = [v2, v3]
                if type(v2) is not T1 or type(v3) is not T2:
                    if not known_leaves(map(type, out)): return None
                return out, TREEDEF
            except Exception:
                return None
        <BLANKLINE>
        def up_to(treedef, t):
            try:
                if type(t) is not K1: return None
                v2, v3 = t
                out = [v2, v3]
                return out
            except Exception:
                return None
        <BLANKLINE>
        def build(treedef, leaves):
            try:
                x1, x2 = leaves
                return (x1, x2)
            except Exception as error:
                failed = error
            return AGAIN(treedef, leaves, failed)
        <BLANKLINE>
    """
    if not isinstance(treedef, PyTreeDef):
        raise TreeDefError(f"source takes a treedef, got {described(treedef)}")
    plan = make_plan(treedef._code)
    if plan is None:
        return ""
    texts = (emit_flatten(plan), emit_up_to(plan))
    return "\n".join(str(text) for text in (*texts, emit_build(plan)) if text)


def forget() -> None:
    """Drop all that the engine holds; what comes often is compiled anew.

    Example:
        >>> import leafwise as lw
        >>> lw.engine.forget()
        >>> lw.engine.stats()["plans"]
        0
    """
    engine.forget()


class _Switched(ContextDecorator):
    """Wishes for a mode while somebody is inside.

    Those of several threads may overlap in any way; whoever leaves takes back what
    was wished on entering, and nothing else.
    """

    def __init__(self, mode: str) -> None:
        self._mode = mode
        self._wishes: list[Any] = []

    def __enter__(self) -> None:
        self._wishes.append(engine.wish(self._mode))

    def __exit__(self, *_: object) -> None:
        engine.take_back(self._wishes.pop())


def disabled() -> Any:
    """Return a context manager that leaves everything to the walk, in all threads.

    Where several of these overlap, whether one inside the other or in several threads,
    the one that was entered last counts, as long as it lasts.

    Example:
        >>> import leafwise as lw
        >>> with lw.engine.disabled():
        ...     lw.engine.stats()["mode"]
        'off'
    """
    return _Switched("off")


def enabled() -> Any:
    """Return a context manager that switches the engine on, in all threads.

    Example:
        >>> import leafwise as lw
        >>> with lw.engine.enabled():
        ...     lw.engine.stats()["mode"]
        'on'
    """
    return _Switched("on")


def eager() -> Any:
    """Return a context manager that compiles structures when they are first met.

    For tests: each tree that is met twice goes through generated code.

    Example:
        >>> import leafwise as lw
        >>> with lw.engine.eager():
        ...     lw.engine.stats()["mode"]
        'eager'
    """
    return _Switched("eager")


engine.wish(_MODES.get(os.environ.get("LEAFWISE_ENGINE", ""), "on"), lasting=True)
on_change.append(engine.outdate)

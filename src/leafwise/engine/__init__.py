"""The engine: generated Python functions for recurring structures.

The engine makes `flatten`, `unflatten`, the maps and the functions built on them
faster, and changes nothing else. It is on unless the environment variable
`LEAFWISE_ENGINE` is `0`; with `eager` it compiles each structure when it first occurs.
Without this package leafwise gives the same results, but slower.

This module has the functions that inspect the engine, configure it, and switch it on
and off. `dispatch` says when a structure is compiled; `read`, `build` and `predicates`
say what is generated.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import Any, Final

from .._hooks import hooks
from .._text import short_repr, typed_repr
from ..core.treedef import PyTreeDef, code_of
from ..errors import TreeDefError
from .build import Builder
from .dispatch import engine
from .plan import make_plan
from .predicates import flatten_text
from .read import Reader
from .settings import settings as _settings


__all__ = ["configure", "disabled", "eager", "enabled", "forget", "source", "stats"]

_MODES: Final = {"0": "off", "off": "off", "eager": "eager"}
"""The modes by the value of `LEAFWISE_ENGINE`; any other value means `on`."""


def stats() -> dict[str, Any]:
    """Return what the engine has compiled and what it counts.

    Returns:
        A dict: `mode` is `"on"`, `"off"` or `"eager"`. `structures` is the number of
        structures that are compiled now, `counted` the number of those that occurred
        and are not compiled yet. `compiled` and `dropped` are totals since the start:
        the structures that were compiled, and those of them that were dropped because
        there were too many.

    Example:
        >>> import leafwise as lw
        >>> list(lw.engine.stats())
        ['mode', 'structures', 'counted', 'compiled', 'dropped']
    """
    engine.apply_mode()
    memory = engine.memory
    return {
        "mode": engine.mode,
        "structures": len(memory.structures),
        "counted": len(memory.counter.uses),
        "compiled": engine.compiled,
        "dropped": engine.dropped,
    }


def source(treedef: PyTreeDef) -> str:
    """Return the Python source that the engine generates for a structure.

    Comments above each function say what the names of objects in it stand for.

    Args:
        treedef: The structure.

    Returns:
        The source of the functions `flatten`, `flatten_up_to` and `unflatten`; an empty
        string if the engine does not compile the structure.

    Raises:
        TreeDefError: The argument is not a treedef.

    Example:
        >>> import leafwise as lw
        >>> print(lw.engine.source(lw.tree_structure((1, 2))))
        # PyTreeDef((*, *))
        <BLANKLINE>
        # C1 = <class 'tuple'>
        def flatten(tree):
            try:
                if type(tree) is not C1: return None
                leaf1, leaf2 = tree
                leaves = [leaf1, leaf2]
                if type(leaf1) is not T1 or type(leaf2) is not T2:
                    if not known_leaves(map(type, leaves)): return None
                return leaves, TREEDEF
            except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
                return None
        <BLANKLINE>
        # C1 = <class 'tuple'>
        def flatten_up_to(treedef, tree):
            try:
                if type(tree) is not C1: return None
                leaf1, leaf2 = tree
                leaves = [leaf1, leaf2]
                return leaves
            except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
                return None
        <BLANKLINE>
        def unflatten(treedef, leaves):
            try:
                leaf1, leaf2 = leaves
                return (leaf1, leaf2)
            except Exception as error:
                failed = error
            return explain_failure(treedef, leaves, failed)
        <BLANKLINE>
    """
    if not isinstance(treedef, PyTreeDef):
        raise TreeDefError(f"source takes a treedef, got {typed_repr(treedef)}")
    plan = make_plan(code_of(treedef))
    if plan is None:
        return ""
    texts = [flatten_text(plan).explained()]
    if not plan.varying:
        flatten_up_to = Reader(plan, is_exact=False)
        flatten_up_to.write()
        texts.append(flatten_up_to.explained())
    texts.append(Builder(plan).explained())
    return "\n".join([f"# {short_repr(treedef)}", "", *texts])


def forget() -> None:
    """Drop all compiled functions; recurring structures are compiled again.

    Example:
        >>> import leafwise as lw
        >>> lw.engine.forget()
        >>> lw.engine.stats()["structures"]
        0
    """
    engine.forget()


def configure(
    *,
    min_uses: int | None = None,
    max_uses: int | None = None,
    sample_every: int | None = None,
) -> dict[str, int]:
    """Change how often a structure has to occur before it is compiled.

    The settings apply to all threads. A change drops all compiled functions, as
    `forget` does.

    Args:
        min_uses: The number of uses after which a structure is compiled if compiling it
            is cheap, compared with walking it. The default is 32.
        max_uses: The number of uses if compiling it is expensive. The default is 256.
        sample_every: How many of the trees that are walked the engine counts: one of
            this many, as so many uses, and fewer while no structure recurs. The default
            is 17; with 1 it counts each tree, which is exact and slower.

    Returns:
        The previous settings, as keyword arguments of this function.

    Raises:
        TypeError: A setting is not an int.
        ValueError: A setting is less than 1, or `min_uses` is more than `max_uses`.

    Example:
        >>> import leafwise as lw
        >>> previous = lw.engine.configure(min_uses=2, max_uses=2, sample_every=1)
        >>> lw.engine.configure(**previous)
        {'min_uses': 2, 'max_uses': 2, 'sample_every': 1}
    """
    changes = {
        "min_uses": min_uses,
        "max_uses": max_uses,
        "sample_every": sample_every,
    }
    previous: dict[str, int] = {name: getattr(_settings, name) for name in changes}
    new = dict(previous)
    for name, value in changes.items():
        if value is None:
            continue
        if type(value) is not int:
            raise TypeError(f"{name} must be an int, got {typed_repr(value)}")
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
        new[name] = value
    if new["min_uses"] > new["max_uses"]:
        raise ValueError(
            f"min_uses must not be more than max_uses, got "
            f"{new['min_uses']} and {new['max_uses']}"
        )
    if new != previous:
        for name, value in new.items():
            setattr(_settings, name, value)
        engine.forget()
    return previous


def disabled() -> AbstractContextManager[None]:
    """Return a context manager that switches the engine off in all threads.

    The mode is one for the whole process, and leaving the context manager sets the mode
    that there was before. So these context managers may be nested, but threads that
    enter and leave them at the same time leave the mode of one of them behind.

    Example:
        >>> import leafwise as lw
        >>> with lw.engine.disabled():
        ...     lw.engine.stats()["mode"]
        'off'
    """
    return engine.switched("off")


def enabled() -> AbstractContextManager[None]:
    """Return a context manager that switches the engine on in all threads.

    Example:
        >>> import leafwise as lw
        >>> with lw.engine.enabled():
        ...     lw.engine.stats()["mode"]
        'on'
    """
    return engine.switched("on")


def eager() -> AbstractContextManager[None]:
    """Return a context manager that compiles each structure when it first occurs.

    Use it in tests: the second tree of the same structure already goes through compiled
    functions.

    Example:
        >>> import leafwise as lw
        >>> with lw.engine.eager():
        ...     lw.engine.stats()["mode"]
        'eager'
    """
    return engine.switched("eager")


engine.start(_MODES.get(os.environ.get("LEAFWISE_ENGINE", ""), "on"))
hooks.registry_changed.append(engine.outdate)
hooks.types_forgotten.append(engine.forget)

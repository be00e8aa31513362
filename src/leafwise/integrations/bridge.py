"""The bridge: classes that are trees here become trees in other frameworks.

Owns the list of classes that asked for it, and the moment at which a framework learns
of them: at once if it is loaded, otherwise right after somebody imports it. It is
loaded with the first such class. How a framework registers a class stands in a module
of its own.

`LEAFWISE_BRIDGE=0` in the environment switches all of it off.
"""

from __future__ import annotations

import functools
import importlib
import sys
import weakref
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Final, NamedTuple

from ..core.node import Rule
from ..core.registry import announced, lookup
from ..safely import Guard, shown
from .finder import after_import, is_enabled, is_loading, watch_compiler


__all__ = ["Aux", "Node", "Status", "enable", "status"]


# ------------------------------------------------------------- nodes, for a framework


class Aux:
    """Aux data as a framework may keep it: compared and hashed as its rule does."""

    __slots__ = ("aux", "rule")

    def __init__(self, rule: Rule, aux: Any) -> None:
        self.rule = rule
        self.aux = aux

    def __eq__(self, other: object) -> bool:
        if type(other) is not Aux:
            return NotImplemented
        return self.rule is other.rule and self.rule.same_aux(self.aux, other.aux)

    def __hash__(self) -> int:
        return self.rule.hash_aux(self.aux)

    def __repr__(self) -> str:
        return shown(self.rule.node_data(self.aux))


class Node:
    """A rule as functions that a framework can register.

    Attributes:
        rule: The rule.
        flatten: Takes a node, returns its children and `Aux`.
        unflatten: Takes `Aux` and the children, returns a node.
    """

    __slots__ = ("flatten", "rule", "unflatten")

    def __init__(self, rule: Rule) -> None:
        def flatten(node: Any) -> tuple[Sequence[Any], Aux]:
            children, aux = rule.flatten(node)
            return children, Aux(rule, aux)

        def unflatten(aux: Aux, children: Any) -> Any:
            return rule.unflatten(aux.aux, [*children])

        self.rule = rule
        self.flatten = flatten
        self.unflatten = unflatten

    def keys(self, aux: Aux, count: int) -> Sequence[Any]:
        """Return the keys of the children."""
        return self.rule.keys(aux.aux, count)


# ---------------------------------------------------------------- telling frameworks


class Framework:
    """A framework that classes are registered in.

    How it is done stands in a module of the same name beside this one, which is loaded
    once the framework is: `register(framework, cls, node)`, and `begin(framework)` for
    what comes before the first class.

    Attributes:
        name: The name of the module that is waited for.
        begun: Whether that was done.
        done: What became of each class: "" if it is registered, or why not.
    """

    __slots__ = ("begun", "done", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.begun = False
        self.done: weakref.WeakKeyDictionary[type, str] = weakref.WeakKeyDictionary()

    def module(self) -> ModuleType | None:
        """Return the framework's module if it is loaded, whole."""
        return None if is_loading(self.name) else sys.modules.get(self.name)

    def take(self, cls: type) -> None:
        """Register a class, if the framework is loaded and does not know it."""
        module = self.module()
        if module is None or cls in self.done:
            return
        ways = _module_of(self.name)
        if not self.begun:
            self.begun = True
            ways.begin(module)
        rule = lookup(cls)
        if rule is None:
            self.done[cls] = "its instances are leaves"
            return
        self.done[cls] = ""
        try:
            ways.register(module, cls, Node(rule))
        except ValueError as error:  # so all of them say that they know a class
            self.done[cls] = f"registered there already: {error}"


def _module_of(name: str) -> Any:
    """Return what this package knows of a framework."""
    return importlib.import_module(f".{name}", __package__)


FRAMEWORKS: Final = {name: Framework(name) for name in ("jax", "optree", "torch")}

_guard: Final = Guard()
_classes: Final[weakref.WeakSet[type]] = weakref.WeakSet()


def _announce(cls: type) -> None:
    """Take note of a class, and register it wherever that is possible by now."""
    with _guard.lock:
        _classes.add(cls)
        for framework in FRAMEWORKS.values():
            framework.take(cls)
    watch_compiler()


def enable(name: str) -> None:
    """Register all classes in a framework that is loaded.

    This happens by itself after an import; it is for imports that went unseen, and for
    `LEAFWISE_BRIDGE=0`.

    Args:
        name: `"jax"`, `"optree"` or `"torch"`.

    Raises:
        ValueError: The name is none of these.

    Example:
        >>> from leafwise.integrations import bridge
        >>> bridge.enable("jax")  # does nothing as long as jax is not imported
    """
    if name not in FRAMEWORKS:
        known = ", ".join(map(repr, FRAMEWORKS))
        raise ValueError(f"no framework {name!r}; there are: {known}")
    with _guard.lock:
        for cls in [*_classes]:
            FRAMEWORKS[name].take(cls)


class Status(NamedTuple):
    """What a framework knows.

    Attributes:
        loaded: Whether the framework is loaded.
        registered: The classes that were registered in it.
        refused: The classes that were not, and why.
    """

    loaded: bool
    registered: tuple[type, ...]
    refused: dict[type, str]


def status() -> dict[str, Status]:
    """Return which classes are registered in which framework, and why others are not.

    Example:
        >>> from leafwise.integrations import bridge
        >>> [*bridge.status()]
        ['jax', 'optree', 'torch']
    """
    with _guard.lock:
        return {name: _status(known) for name, known in FRAMEWORKS.items()}


def _status(framework: Framework) -> Status:
    refused = {cls: why for cls, why in framework.done.items() if why}
    loaded = framework.module() is not None
    waiting = [cls for cls in _classes if cls not in framework.done]
    why = "it was made unseen; call enable" if loaded else "the framework is not loaded"
    refused |= dict.fromkeys(waiting, why)
    registered = (cls for cls, why in framework.done.items() if not why)
    return Status(loaded, tuple(registered), refused)


# ------------------------------------------------------------- waiting for imports


def _start() -> None:
    announced.listeners.append(_announce)  # first, so that no class is missed
    for cls in announced.classes():
        _announce(cls)
    for name in FRAMEWORKS:
        after_import(name, functools.partial(enable, name))


if is_enabled():
    _start()
else:
    announced.listeners.append(_classes.add)

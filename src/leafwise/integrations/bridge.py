"""The bridge: classes that are trees here become trees in other frameworks.

Owns the list of classes that asked for it, and the moment at which a framework learns
of them: at once if it is loaded, otherwise right after somebody imports it, through one
finder on `sys.meta_path` that is gone when it has nothing left to wait for. How a
framework registers a class is said in a module of its own.

`LEAFWISE_BRIDGE=0` in the environment switches all of it off.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import weakref
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Final, NamedTuple

from ..core.registry import announced, lookup
from ..core.safely import Guard


__all__ = ["Status", "enable", "status"]


class Framework:
    """A framework that classes are registered in.

    How it is done stands in a module of the same name beside this one, which is loaded
    once the framework is: `register(framework, cls, rule)`, and `begin(framework)` for
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
        module = sys.modules.get(self.name)
        spec = getattr(module, "__spec__", None)
        return None if getattr(spec, "_initializing", False) else module

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
            ways.register(module, cls, rule)
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
    """Say which classes are registered in which framework, and why others are not.

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


def _let_compiler_trace() -> None:
    _module_of("dynamo").let_compiler_trace()


_AWAITED: Final[dict[str, Callable[[], None]]] = {
    **{name: functools.partial(enable, name) for name in FRAMEWORKS},
    "torch._dynamo": _let_compiler_trace,
}


class _Finder:
    """Waits for modules that are not loaded yet."""

    def __init__(self) -> None:
        self.waiting = {name for name in _AWAITED if name not in sys.modules}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: Any = None
    ) -> Any:
        """Let the other finders find a framework, and wrap its loader."""
        if name not in self.waiting:
            return None
        for finder in [*sys.meta_path]:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = None if find is None else find(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, self)
                return spec
        return None

    def loaded(self, name: str) -> None:
        """Do what was to be done after an import; leave if it was the last."""
        self.waiting.discard(name)
        if not self.waiting and self in sys.meta_path:
            sys.meta_path.remove(self)
        _AWAITED[name]()


class _Loader:
    """Loads a framework as its own loader does, and tells the finder."""

    def __init__(self, loader: Any, finder: _Finder) -> None:
        self._loader = loader
        self._finder = finder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: Any) -> Any:
        """Create the module as its own loader does."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module; what it raises passes through, and nothing is done then."""
        spec = module.__spec__
        module.__loader__ = self._loader
        if spec is not None:
            spec.loader = self._loader
        self._loader.exec_module(module)
        initializing = getattr(spec, "_initializing", False)
        if spec is not None:
            spec._initializing = False  # type: ignore[attr-defined]  # it is done
        try:
            self._finder.loaded(module.__name__)
        finally:
            if spec is not None:
                spec._initializing = initializing  # type: ignore[attr-defined]  # as it was


def _start() -> None:
    announced.listeners.append(_announce)  # first, so that no class is missed
    for cls in announced.classes():
        _announce(cls)
    if "torch._dynamo" in sys.modules:
        _let_compiler_trace()
    finder = _Finder()
    if finder.waiting:
        sys.meta_path.insert(0, finder)


if os.environ.get("LEAFWISE_BRIDGE") != "0":
    _start()
else:
    announced.listeners.append(_classes.add)

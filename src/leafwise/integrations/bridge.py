"""The bridge: classes that are trees here become trees in other frameworks.

Owns the list of classes that asked for it, and the moment at which a framework learns
of them: at once if it is loaded, otherwise right after somebody imports it; for that,
the one finder on `sys.meta_path`, which is there only while a module is awaited. Owns
also the moment at which torch's compiler learns what to trace.

What is particular to a framework stands in a module of its own, which is loaded by its
name once the framework is, and knows nothing of this one. Small, since it is loaded
with the package.

`LEAFWISE_BRIDGE=0` in the environment switches all of it off.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from .._hooks import hooks
from .._lazy import is_loading, late_module, real
from .._runtime import Guard, live_classes
from ..core.registry import GLOBAL, current, lookup


__all__ = [
    "Status",
    "after_import",
    "enable",
    "is_enabled",
    "listen",
    "once_loaded",
    "status",
    "watch_compiler",
]


# ----------------------------------------------------------------- waiting for imports


def is_enabled() -> bool:
    """Return whether frameworks are waited for: `LEAFWISE_BRIDGE=0` says no."""
    return os.environ.get("LEAFWISE_BRIDGE") != "0"


class _Finder:
    """Finds nothing by itself, and learns when an awaited module is imported.

    Attributes:
        actions: What to do after an import, by the name of the module.
    """

    def __init__(self) -> None:
        self.actions: dict[str, Callable[[], None]] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: Any = None
    ) -> Any:
        """Let the other finders find an awaited module, and wrap its loader."""
        if name not in self.actions:
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
        with _guard.lock:
            action = self.actions.pop(name, None)
            if not self.actions and self in sys.meta_path:
                sys.meta_path.remove(self)
        if action is not None:
            action()


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
        hooks.imported_modules.add(module.__name__)
        self._finder.loaded(module.__name__)


_guard: Final = Guard()
_finder: Final = _Finder()


def after_import(name: str, action: Callable[[], None]) -> None:
    """Call a function right after the first import of a module.

    Args:
        name: The module; nothing happens if it is loaded already.
        action: The function.
    """
    if name in sys.modules:
        return
    with _guard.lock:
        _finder.actions[name] = action
        if _finder not in sys.meta_path:
            sys.meta_path.insert(0, _finder)


# ------------------------------------------------------------- torch's compiler

_COMPILER: Final = "torch._dynamo"


def watch_compiler() -> None:
    """Tell torch's compiler what to trace, now or once it is imported.

    It is told of each module of ours once, as soon as that is loaded: nothing is loaded
    for it, since the compiler may be tracing already, and classes that come into the
    registry meanwhile would confuse its guards. So this is called again when a class
    has been made.
    """
    if not is_enabled() or is_loading(_COMPILER):
        return
    if _COMPILER not in sys.modules:
        after_import(_COMPILER, watch_compiler)
        return
    ways = _module_of("torch")
    for name in [*ways.untold]:
        if name not in sys.modules:
            after_import(name, functools.partial(ways.tell_compiler, name))
        elif not is_loading(name):
            ways.tell_compiler(name)


# ---------------------------------------------------------------- telling frameworks

_IS_LEAF: Final = "its instances are leaves"


class Framework:
    """A framework that classes are registered in.

    How it is done stands in a module of the same name beside this one, which is loaded
    once the framework is: `begin(framework)` for what comes before the first class,
    `register(framework, cls, rule)`, and `register_again(cls, rule)` for a class that
    is registered there, and here once more.

    Attributes:
        name: The name of the module that is waited for.
        begun: Whether that was done.
        done: What became of each class: "" if it is registered, or why not.
        waiting: What to do before the first class.
    """

    __slots__ = ("begun", "done", "name", "waiting")

    def __init__(self, name: str) -> None:
        self.name: str = name
        self.begun: bool = False
        self.done: WeakKeyDictionary[type, str] = WeakKeyDictionary()
        self.waiting: list[Callable[[], None]] = []

    def module(self) -> ModuleType | None:
        """Return the framework's module if it is loaded completely."""
        found: ModuleType | None = real(self.name)
        return found

    def take(self, cls: type) -> None:
        """Register a class, if the framework is loaded."""
        module = self.module()
        if module is None:
            return
        ways = _module_of(self.name)
        outcome = self.done.get(cls, _IS_LEAF)
        if outcome == "":
            ways.register_again(cls, lookup(cls))
        if outcome != _IS_LEAF:
            return
        if not self.begun:
            self.begun = True
            ways.begin(module)
            _module_of("libraries")  # objects ask it what a framework knows
            for action in self.waiting:
                action()
        rule = lookup(cls)
        if rule is None:
            self.done[cls] = _IS_LEAF
            return
        self.done[cls] = ""
        try:
            ways.register(module, cls, rule)
        except ValueError as error:  # so all of them say that they know a class
            self.done[cls] = f"registered there already: {error}"


def _module_of(name: str) -> Any:
    """Return what this package knows of a framework."""
    return late_module(f".{name}", __package__)


FRAMEWORKS: Final = {name: Framework(name) for name in ("jax", "optree", "torch")}

_classes: Final[WeakKeyDictionary[type, None]] = WeakKeyDictionary()


def _note(cls: type) -> None:
    """Take note of a class."""
    _classes[cls] = None


def _announce(cls: type) -> None:
    """Take note of a class, and register it wherever that is possible by now."""
    with _guard.lock:
        _note(cls)
        for framework in FRAMEWORKS.values():
            framework.take(cls)
    watch_compiler()


def enable(name: str) -> None:
    """Register all classes in a framework that is imported.

    This happens automatically after an import. Call it if leafwise missed the import,
    or if `LEAFWISE_BRIDGE=0` is set.

    Args:
        name: `"jax"`, `"optree"` or `"torch"`.

    Raises:
        ValueError: The name is not one of these.

    Example:
        >>> from leafwise.integrations import bridge
        >>> bridge.enable("jax")  # does nothing as long as jax is not imported
    """
    if name not in FRAMEWORKS:
        known = ", ".join(map(repr, FRAMEWORKS))
        raise ValueError(f"unknown framework {name!r}; known: {known}")
    with _guard.lock:
        for cls in live_classes(_classes):
            FRAMEWORKS[name].take(cls)


def once_loaded(name: str, action: Callable[[], None]) -> None:
    """Call a function once a framework is loaded: now, or when it learns of a class.

    Args:
        name: `"jax"`, `"optree"` or `"torch"`.
        action: The function.
    """
    with _guard.lock:
        if FRAMEWORKS[name].module() is None:
            FRAMEWORKS[name].waiting.append(action)
            return
    action()


class Status(NamedTuple):
    """The classes that a framework knows from leafwise.

    Attributes:
        loaded: Whether the framework is imported.
        registered: The classes that leafwise registered in it.
        refused: The classes that are nodes in every namespace of leafwise but were not
            registered in the framework, each with the reason.

    Example:
        >>> from leafwise.integrations import Status
        >>> Status(loaded=False, registered=(), refused={}).loaded
        False
    """

    loaded: bool
    registered: tuple[type, ...]
    refused: dict[type, str]


def status() -> dict[str, Status]:
    """Return the classes registered in each framework, and why others are not.

    Example:
        >>> from leafwise.integrations import bridge
        >>> [*bridge.status()]
        ['jax', 'optree', 'torch']
    """
    with _guard.lock:
        return {name: _status(known) for name, known in FRAMEWORKS.items()}


def _unasked() -> list[type]:
    """Return the classes that were registered here, and nowhere else on purpose."""
    rules = current.state.layers[GLOBAL].rules
    return [cls for cls, rule in rules.items() if rule and cls not in _classes]


_NOT_LOADED: Final = "the framework is not loaded"


def _status(framework: Framework) -> Status:
    done = [(cls, framework.done[cls]) for cls in live_classes(framework.done)]
    refused = {cls: why for cls, why in done if why}
    loaded = framework.module() is not None
    waiting = [cls for cls in live_classes(_classes) if cls not in framework.done]
    why = "it is not registered there; call enable" if loaded else _NOT_LOADED
    refused |= dict.fromkeys(waiting, why)
    refused |= dict.fromkeys(_unasked(), "it was registered with bridge=False")
    registered = (cls for cls, why in done if not why)
    return Status(loaded, tuple(registered), refused)


# ------------------------------------------------------------------------ listening


def _learn_what_is_known(_value: Any) -> None:
    """Let checks ask the frameworks, now that a value comes that one may know.

    They are asked from the first class on that is registered there; where none is to
    be, this says when.
    """
    if any(real(name) is not None for name in FRAMEWORKS):
        _module_of("libraries")  # which puts itself behind this function


def listen() -> None:
    """Take note of all classes that are announced, and wait for the frameworks."""
    if not is_enabled():
        hooks.class_announced.append(_note)
        hooks.foreign_nodes.append(_learn_what_is_known)
        return
    hooks.class_announced.append(_announce)
    for name in FRAMEWORKS:
        after_import(name, functools.partial(enable, name))
    watch_compiler()


listen()

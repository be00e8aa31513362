"""The bridge: classes that are trees here become trees in other frameworks.

A class that asks for it is registered in a framework at once if that is loaded, and
else right after somebody imports it. For that, there is a finder on `sys.meta_path`, as
long as a module is waited for. torch's compiler learns in the same way what to trace.

How a class is registered in a framework stands in a module of the framework's name,
which is loaded once the framework is. This module is small, since it is loaded with the
package; `report` tells users what is registered where.

`LEAFWISE_BRIDGE=0` in the environment switches all of it off.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from .._hooks import hooks
from .._lazy import is_loading, late_module, real
from .._runtime import Guard, live_classes
from ..core.registry import lookup


if TYPE_CHECKING:
    from ..core.node import NodeType

__all__ = [
    "BY_OTHERS",
    "FRAMEWORKS",
    "Framework",
    "Target",
    "after_import",
    "announced_classes",
    "enable",
    "guard",
    "is_enabled",
    "listen",
    "once_loaded",
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
        for finder in list(sys.meta_path):
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec: Any = finder.find_spec(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, self)
                return spec
        return None

    def run_action(self, name: str) -> None:
        """Do what was to be done after an import; leave if it was the last."""
        with guard.lock:
            action = self.actions.pop(name, None)
            if not self.actions and self in sys.meta_path:
                sys.meta_path.remove(self)
        if action is not None:  # without the lock, since it imports modules
            action()


class _Loader:
    """Loads a module as its own loader does, then has the finder act."""

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
        # its own loader, for `importlib.reload` and for what reads data beside it
        spec = module.__spec__
        module.__loader__ = self._loader
        if spec is not None:
            spec.loader = self._loader
        self._loader.exec_module(module)
        # here, since Python marks it as complete only after this returns
        hooks.imported_modules.add(module.__name__)
        self._finder.run_action(module.__name__)


guard: Final = Guard()
"""The lock of what is waited for, and of what the frameworks know."""
_finder: Final = _Finder()


def after_import(name: str, action: Callable[[], None]) -> None:
    """Call a function right after the first import of a module.

    Args:
        name: The module; nothing happens if it is loaded already.
        action: The function.
    """
    if name in sys.modules:
        return
    with guard.lock:
        _finder.actions[name] = action
        if _finder not in sys.meta_path:
            sys.meta_path.insert(0, _finder)  # or another one would find it first


# ------------------------------------------------------------- torch's compiler

_COMPILER: Final = "torch._dynamo"


def watch_compiler() -> None:
    """Configure torch's compiler, now or once it is imported.

    What it is to trace in place of a module of ours, it learns once, as soon as that
    module is loaded: nothing is loaded for it, since the compiler may be tracing
    already, and classes that come into the registry meanwhile would confuse its guards.
    So this is called again when a class has been made.
    """
    if not is_enabled() or is_loading(_COMPILER):
        return
    if _COMPILER not in sys.modules:
        after_import(_COMPILER, watch_compiler)
        return
    torch_bridge = _module_of("torch")
    for name in list(torch_bridge.pending):
        if name not in sys.modules:
            after_import(name, functools.partial(torch_bridge.configure_compiler, name))
        elif not is_loading(name):
            torch_bridge.configure_compiler(name)


# ---------------------------------------------------- registering in frameworks


def _do_nothing(*_: object) -> None:
    """Stand for what a framework does not need."""


class Target(NamedTuple):
    """How a framework takes a class: the `TARGET` in the module of its name.

    Attributes:
        register: Takes the framework, a class and its node type here. Raises a
            ValueError if the framework knows the class already.
        register_again: Takes a class that is registered there, and its node type here
            now, None if it is a leaf. By default nothing is done: the functions of
            `nodes` use the new node type by themselves.
        begin: Called before the first class is registered.
    """

    register: Callable[[Any, type, NodeType], None]
    register_again: Callable[[type, NodeType | None], None] = _do_nothing
    begin: Callable[[], None] = _do_nothing


IS_REGISTERED: Final = ""
BY_OTHERS: Final = "registered there already"
_IS_LEAF: Final = "its instances are leaves in leafwise"


class Framework:
    """A framework that classes are registered in.

    Attributes:
        name: The name of its module, and of the module here that has its `TARGET`.
        has_begun: Whether a class was registered.
        outcomes: What became of each class: `IS_REGISTERED`, or why it is not.
        first_actions: Functions to call before the first class.
    """

    __slots__ = ("first_actions", "has_begun", "name", "outcomes")

    def __init__(self, name: str) -> None:
        self.name: str = name
        self.has_begun: bool = False
        self.outcomes: WeakKeyDictionary[type, str] = WeakKeyDictionary()
        self.first_actions: list[Callable[[], None]] = []

    def module(self) -> ModuleType | None:
        """Return the framework's module if it is loaded completely."""
        module: ModuleType | None = real(self.name)
        return module

    def take(self, cls: type) -> None:
        """Register a class, if the framework is loaded."""
        module = self.module()
        if module is None:
            return
        target: Target = _module_of(self.name).TARGET
        node_type = lookup(cls)  # first: `support` announces a class that it looks up
        outcome = self.outcomes.get(cls, _IS_LEAF)
        if outcome == IS_REGISTERED:
            target.register_again(cls, node_type)
            return
        if outcome != _IS_LEAF:
            return
        if not self.has_begun:
            self.has_begun = True
            target.begin()
            _module_of("foreign")  # objects ask it what a framework knows
            for action in self.first_actions:
                action()
        if node_type is None:
            self.outcomes[cls] = _IS_LEAF
            return
        self.outcomes[cls] = IS_REGISTERED
        try:
            target.register(module, cls, node_type)
        except ValueError as error:  # so all of them say that they know a class
            self.outcomes[cls] = f"{BY_OTHERS}: {error}"


def _module_of(name: str) -> Any:
    """Return a module of this package, loaded by its name."""
    return late_module(f".{name}", __package__)


FRAMEWORKS: Final = {name: Framework(name) for name in ("jax", "optree", "torch")}

announced_classes: Final[WeakKeyDictionary[type, None]] = WeakKeyDictionary()
"""The classes that other frameworks are to know, in the order of their definition."""


def _note(cls: type) -> None:
    """Take note of a class."""
    announced_classes[cls] = None


def _announce(cls: type) -> None:
    """Take note of a class, and register it wherever that is possible by now."""
    with guard.lock:
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
        names = ", ".join(map(repr, FRAMEWORKS))
        raise ValueError(f"unknown framework {name!r}; known: {names}")
    framework = FRAMEWORKS[name]
    with guard.lock:
        for cls in live_classes(announced_classes):
            # a class that is registered there could only be taken again, with a warning
            if framework.outcomes.get(cls) != IS_REGISTERED:
                framework.take(cls)


def once_loaded(name: str, action: Callable[[], None]) -> None:
    """Call a function once a framework is loaded: now, or when it learns of a class.

    Args:
        name: `"jax"`, `"optree"` or `"torch"`.
        action: The function.
    """
    with guard.lock:
        if FRAMEWORKS[name].module() is None:
            FRAMEWORKS[name].first_actions.append(action)
            return
    action()


# ------------------------------------------------------------------------ listening


def _load_foreign(_value: Any) -> None:
    """Let checks ask the frameworks, now that a value comes that one may know.

    They are asked from the first class on that is registered there; where none is to
    be, this says when.
    """
    if any(real(name) is not None for name in FRAMEWORKS):
        _module_of("foreign")  # which puts itself behind this function


def listen() -> None:
    """Take note of all classes that are announced, and wait for the frameworks."""
    if not is_enabled():
        hooks.class_announced.append(_note)
        hooks.foreign_nodes.append(_load_foreign)
        return
    hooks.class_announced.append(_announce)
    for name in FRAMEWORKS:
        after_import(name, functools.partial(enable, name))
    watch_compiler()


listen()

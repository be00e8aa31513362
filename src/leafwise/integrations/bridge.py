"""The bridge: classes that are trees here become trees in other frameworks.

A class that asks for it is registered in a framework at once if that is loaded, and
else right after somebody imports it. For that, there is a finder on `sys.meta_path`, as
long as a module is waited for. torch's compiler learns in the same way what to trace.

How a class is registered in a framework stands in a module of the framework's name,
which is loaded once the framework is. This module is small, since it is loaded with the
package.

`LEAFWISE_BRIDGE=0` in the environment switches all of it off.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Final, NamedTuple, overload
from weakref import WeakKeyDictionary

from .._hooks import hooks
from .._lazy import is_loading, late_module, real
from .._runtime import Guard, live_classes
from .._text import safe_repr, typed_repr
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
        with _guard.lock:
            action = self.actions.pop(name, None)
            if not self.actions and self in sys.meta_path:
                sys.meta_path.remove(self)
        if action is not None:
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
        spec = module.__spec__
        module.__loader__ = self._loader
        if spec is not None:
            spec.loader = self._loader
        self._loader.exec_module(module)
        hooks.imported_modules.add(module.__name__)
        self._finder.run_action(module.__name__)


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

_IS_LEAF: Final = "its instances are leaves in leafwise"


class Framework:
    """A framework that classes are registered in.

    How it is done stands in a module of the same name beside this one, which is loaded
    once the framework is: `begin(framework)` for what comes before the first class,
    `register(framework, cls, node_type)`, and `register_again(cls, node_type)` for a
    class that is registered there, and here once more.

    Attributes:
        name: The name of the module that is waited for.
        has_begun: Whether `begin` was called.
        outcomes: What became of each class: "" if it is registered, or why not.
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
        bridge = _module_of(self.name)
        node_type = lookup(cls)  # first: `support` announces a class that it looks up
        outcome = self.outcomes.get(cls, _IS_LEAF)
        if outcome == "":
            bridge.register_again(cls, node_type)
        if outcome != _IS_LEAF:
            return
        if not self.has_begun:
            self.has_begun = True
            bridge.begin(module)
            _module_of("foreign")  # objects ask it what a framework knows
            for action in self.first_actions:
                action()
        if node_type is None:
            self.outcomes[cls] = _IS_LEAF
            return
        self.outcomes[cls] = ""
        try:
            bridge.register(module, cls, node_type)
        except ValueError as error:  # so all of them say that they know a class
            self.outcomes[cls] = f"{_BY_OTHERS}: {error}"


_BY_OTHERS: Final = "registered there already"


def _module_of(name: str) -> Any:
    """Return a module of this package, loaded by its name."""
    return late_module(f".{name}", __package__)


FRAMEWORKS: Final = {name: Framework(name) for name in ("jax", "optree", "torch")}

_classes: Final[WeakKeyDictionary[type, None]] = WeakKeyDictionary()
"""The classes that other frameworks are to know."""


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
        names = ", ".join(map(repr, FRAMEWORKS))
        raise ValueError(f"unknown framework {name!r}; known: {names}")
    framework = FRAMEWORKS[name]
    with _guard.lock:
        for cls in live_classes(_classes):
            if framework.outcomes.get(cls) != "":
                framework.take(cls)


def once_loaded(name: str, action: Callable[[], None]) -> None:
    """Call a function once a framework is loaded: now, or when it learns of a class.

    Args:
        name: `"jax"`, `"optree"` or `"torch"`.
        action: The function.
    """
    with _guard.lock:
        if FRAMEWORKS[name].module() is None:
            FRAMEWORKS[name].first_actions.append(action)
            return
    action()


# ----------------------------------------------------------- what is registered where


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


class _StatusTable(dict[str, Status]):
    """The status of each framework, printed as a table with a line for each."""

    def __repr__(self) -> str:
        lines = [f"{name:<8}{_summary(status)}" for name, status in self.items()]
        return "\n".join(lines)


def _summary(status: Status) -> str:
    """Return a line about the classes of a user; those of leafwise are counted."""
    own = [cls for cls in status.registered if not _is_of_leafwise(cls)]
    refused = {
        cls: _BY_OTHERS if reason.startswith(_BY_OTHERS) else reason
        for cls, reason in status.refused.items()
        if not _is_of_leafwise(cls)
    }
    if not status.loaded:
        waiting = [cls for cls, reason in refused.items() if reason == _NOT_LOADED]
        return f"not loaded; registers when it is: {_names(waiting)}"
    parts = [f"{len(status.registered) - len(own)} classes of leafwise, {_names(own)}"]
    for reason in dict.fromkeys(refused.values()):
        classes = [cls for cls, other in refused.items() if other == reason]
        parts.append(f"not {_names(classes)}: {reason}")
    return "; ".join(parts)


def _is_of_leafwise(cls: type) -> bool:
    package, _, _ = __name__.partition(".")
    return str(cls.__module__).partition(".")[0] == package


def _names(classes: Sequence[type]) -> str:
    """Return the names of a few classes, and the number of the others."""
    names = [cls.__qualname__ for cls in classes[:_MAX_NAMES]]
    if len(classes) > _MAX_NAMES:
        names.append(f"{len(classes) - _MAX_NAMES} more")
    return ", ".join(names) or "no others"


_MAX_NAMES: Final = 5


@overload
def status() -> dict[str, Status]: ...
@overload
def status(cls: type, /) -> dict[str, str]: ...
def status(cls: type | None = None, /) -> Any:
    """Return the classes registered in each framework, and why others are not.

    Args:
        cls: A class, to be told of this one only.

    Returns:
        A `Status` for each framework, which print as a table. For a class, one sentence
        for each: whether the class is a node there, or why it is a leaf.

    Raises:
        TypeError: The argument is not a class.

    Example:
        >>> import leafwise as lw
        >>> list(lw.integrations.status())
        ['jax', 'optree', 'torch']
        >>> class Hidden:
        ...     x = 1
        >>> _ = lw.register_dataclass(Hidden, ["x"], [], bridge=False)
        >>> lw.integrations.status(Hidden)["jax"]
        'a leaf: it was registered with bridge=False'
    """
    with _guard.lock:
        if cls is not None:
            if not isinstance(cls, type):
                raise TypeError(f"status takes a class, got {typed_repr(cls)}")
            return {
                name: _status_of_class(framework, cls)
                for name, framework in FRAMEWORKS.items()
            }
        return _StatusTable(
            (name, _status(framework)) for name, framework in FRAMEWORKS.items()
        )


_NOT_LOADED: Final = "the framework is not loaded"
_NOT_BRIDGED: Final = "it was registered with bridge=False"


def _status(framework: Framework) -> Status:
    outcomes = [
        (cls, framework.outcomes[cls]) for cls in live_classes(framework.outcomes)
    ]
    registered = [cls for cls, reason in outcomes if not reason]
    refused = {cls: reason for cls, reason in outcomes if reason}
    for cls in live_classes(_classes):
        if cls not in framework.outcomes:
            refused[cls] = _why_not_yet(framework)
    node_types = current.state.layers[GLOBAL].node_types
    for cls, node_type in node_types.items():
        if node_type is not None and cls not in _classes:
            refused[cls] = _NOT_BRIDGED
    return Status(framework.module() is not None, tuple(registered), refused)


def _why_not_yet(framework: Framework) -> str:
    """Return why a class that a framework is to know is not registered there yet."""
    if framework.module() is None:
        return _NOT_LOADED
    return f"call leafwise.integrations.enable({framework.name!r})"


def _status_of_class(framework: Framework, cls: type) -> str:
    outcome = framework.outcomes.get(cls)
    if outcome == "":
        return "a node"
    if outcome is not None and outcome.startswith(_BY_OTHERS):
        return f"a node, {_BY_OTHERS}"
    if cls not in _classes:
        return f"a leaf: {_why_unknown(cls)}"
    if framework.module() is None:
        return f"a node as soon as {framework.name} is imported"
    return f"a leaf: {outcome or _why_not_yet(framework)}"


def _why_unknown(cls: type) -> str:
    """Return why no framework is to know a class."""
    node_types = current.state.layers[GLOBAL].node_types
    if node_types.get(cls) is not None:
        return _NOT_BRIDGED
    if cls in node_types:
        return "it was registered as a leaf"
    for name, layer in current.state.layers.items():
        if layer.node_types.get(cls) is not None:
            return f"it is registered in namespace {safe_repr(name)} only"
    node_type = lookup(cls)
    if node_type is None:
        return "it is not registered in leafwise"
    for base in cls.__mro__[1:]:
        if node_types.get(base) is not None:
            return (
                f"it is a node here as a subclass of {base.__qualname__}; register it"
            )
    if node_type.cls is not cls or node_type.name != "custom":
        return "leafwise does not register containers of Python"
    return "it is a node here by support or adopt; register it"


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

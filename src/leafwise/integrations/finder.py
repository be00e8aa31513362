"""What happens right after somebody imports a framework.

Owns the one finder on `sys.meta_path`, which is there only while a module is awaited,
and the moment at which torch's compiler learns what to trace. Small, since the first
tree that the engine takes note of loads it; knows no class and no rule.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, Final


__all__ = ["after_import", "is_enabled", "is_loading", "watch_compiler"]


def is_enabled() -> bool:
    """Return whether frameworks are waited for: `LEAFWISE_BRIDGE=0` says no."""
    return os.environ.get("LEAFWISE_BRIDGE") != "0"


def is_loading(name: str) -> bool:
    """Return whether a module is being imported."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


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
        initializing = getattr(spec, "_initializing", False)
        if spec is not None:
            spec._initializing = False  # type: ignore[attr-defined]  # it is done
        try:
            self._finder.loaded(module.__name__)
        finally:
            if spec is not None:
                spec._initializing = initializing  # type: ignore[attr-defined]  # as it was


_finder: Final = _Finder()


def after_import(name: str, action: Callable[[], None]) -> None:
    """Call a function right after the first import of a module.

    Args:
        name: The module; nothing happens if it is loaded already.
        action: The function.
    """
    if name in sys.modules:
        return
    _finder.actions[name] = action
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


# ------------------------------------------------------------- torch's compiler

_COMPILER: Final = "torch._dynamo"


def watch_compiler() -> None:
    """Tell torch's compiler what to trace, now or once it is imported.

    What it is told is about modules that are loaded, so this is called again when a
    class has been made.
    """
    if not is_enabled() or is_loading(_COMPILER):
        return
    if _COMPILER in sys.modules:
        import_module(".dynamo", __package__).let_compiler_trace()
    else:
        after_import(_COMPILER, watch_compiler)


watch_compiler()

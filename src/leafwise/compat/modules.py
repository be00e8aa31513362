"""Which module stands in for which, and how it gets into the place of that.

Owns the table of stand-ins, and what `sys.modules` holds for them; knows nothing of
what is in them.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from ..lazy import is_standin, replaced
from ..safely import Guard


__all__ = ["STANDINS", "install", "uninstall"]

STANDINS: Final = {
    "jax.tree": "jax_tree",
    "jax.tree_util": "jax_tree_util",
    "optree": "optree",
    **{
        f"optree.{name}": f"optree.{name}"
        for name in (
            *("accessors", "dataclasses", "functools", "ops", "pytree"),
            *("registry", "treespec", "typing"),
        )
    },
}
"""The modules of this package that stand in for others, by the names of those.

Submodules have entries of their own; they come and go with the module they are in.
"""

_HERE: Final = __name__.rpartition(".")[0]
_guard: Final = Guard()
_made: Final[set[str]] = set()
"""The packages that are there only because a stand-in had to be in one."""


def install(name: str, *, force: bool = False) -> ModuleType:
    """Make `import name` return the leafwise module that replaces that library.

    Submodules that have stand-ins are replaced, too. Code that imported the library
    before keeps the original module. A second call changes nothing.

    Args:
        name: One of the names in `STANDINS`, as programs import it.
        force: Whether to replace a library that is installed.

    Returns:
        The stand-in.

    Raises:
        ValueError: No stand-in exists for this module.
        ImportError: The library is installed or already imported; nothing is changed.

    Example:
        >>> import leafwise as lw
        >>> try:
        ...     lw.compat.install("numpy")
        ... except ValueError as error:
        ...     print(str(error).partition(";")[0])
        nothing stands in for 'numpy'
    """
    names = _family(name)
    if not force and not is_standin(name) and _is_there(name):
        told = f"{name} is installed; with force=True the stand-in takes its place"
        raise ImportError(told, name=name)
    modules = {one: import_module(f"{_HERE}.{STANDINS[one]}") for one in names}
    with _guard.lock:
        for one, module in modules.items():
            if sys.modules.get(one) is not module:
                _make_package(one.rpartition(".")[0], force)
                if one in sys.modules:
                    replaced[one] = sys.modules[one]
                _set(one, module)
    return modules[name]


def uninstall(name: str) -> None:
    """Remove a stand-in, and restore the module that it replaced.

    Args:
        name: The name that was passed to `install`.

    Raises:
        ValueError: The name has no stand-in, or its stand-in is not installed.

    Example:
        >>> import leafwise as lw
        >>> try:
        ...     lw.compat.uninstall("numpy")
        ... except ValueError as error:
        ...     print(str(error).partition(";")[0])
        nothing stands in for 'numpy'
    """
    names = _family(name)
    if not is_standin(name):
        raise ValueError(f"the stand-in for {name} is not installed")
    with _guard.lock:
        for one in filter(is_standin, reversed(names)):
            _set(one, replaced.pop(one, None))
            package = one.rpartition(".")[0]
            while package in _made and not any(
                known.startswith(f"{package}.") for known in sys.modules
            ):
                _made.discard(package)
                _set(package, None)
                package = package.rpartition(".")[0]


def _family(name: str) -> list[str]:
    """Return the name with those of its submodules that have stand-ins."""
    if name not in STANDINS:
        known = ", ".join(map(repr, STANDINS))
        raise ValueError(f"nothing stands in for {name!r}; there are: {known}")
    return [name, *(one for one in sorted(STANDINS) if one.startswith(f"{name}."))]


def _is_there(name: str) -> bool:
    """Return whether a module is loaded, or its package could be.

    Only the package is looked for, since to look for a submodule would load it; a
    folder that is no package does not count.
    """
    root = name.partition(".")[0]
    if root in _made:
        return False
    if name in sys.modules or root in sys.modules:
        return True
    spec = importlib.util.find_spec(root)
    return spec is not None and spec.loader is not None and spec.origin is not None


def _set(name: str, module: ModuleType | None) -> None:
    """Put a module into its place, and into its package; None takes it out.

    A package that is a stand-in itself has its submodules already, and keeps them.
    """
    package, _, last = name.rpartition(".")
    owner: Any = sys.modules.get(package)
    if is_standin(package) and package not in _made:
        owner = None
    if module is not None:
        sys.modules[name] = module
        if owner is not None:
            setattr(owner, last, module)
    else:
        del sys.modules[name]
        if owner is not None:
            vars(owner).pop(last, None)


def _make_package(name: str, force: bool) -> None:
    """Load the package of a stand-in, or make it, if there is none."""
    if not name or name in sys.modules:
        return
    if force and _is_there(name):
        import_module(name)
        return
    _make_package(name.rpartition(".")[0], force)
    made = ModuleType(name, f"What leafwise.compat was asked to put into {name}.")
    made.__path__ = []
    made.__spec__ = ModuleSpec(_HERE, None, is_package=True)
    _made.add(name)
    _set(name, made)

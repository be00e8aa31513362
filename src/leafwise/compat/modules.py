"""The table of stand-ins, and how they get into `sys.modules`."""

from __future__ import annotations

import importlib.util
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

from .._hooks import hooks
from .._lazy import is_standin
from .._runtime import Guard


__all__ = ["STANDINS", "install", "uninstall"]

STANDINS: Final = {
    "jax.tree": "jax_tree",
    "jax.tree_util": "jax_tree_util",
    "optree": "optree",
    "optree.accessors": "optree.accessors",
    "optree.dataclasses": "optree.dataclasses",
    "optree.functools": "optree.functools",
    "optree.ops": "optree.ops",
    "optree.pytree": "optree.pytree",
    "optree.registry": "optree.registry",
    "optree.treespec": "optree.treespec",
    "optree.typing": "optree.typing",
}
"""The modules of this package that stand in for others, by the names of those.

Submodules have entries of their own; they come and go with the module they are in.
"""

_guard: Final = Guard()
_made_packages: Final[set[str]] = set()
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
    names = _with_submodules(name)
    if not force and not is_standin(name) and _is_available(name):
        message = f"{name} is installed; with force=True the stand-in takes its place"
        raise ImportError(message, name=name)
    # All are imported before one is replaced, so that an error changes nothing.
    modules = {}
    for each in names:
        modules[each] = import_module(f"{__package__}.{STANDINS[each]}")
    with _guard.lock:
        for each, module in modules.items():
            if sys.modules.get(each) is not module:
                _make_package(each.rpartition(".")[0], force)
                if each in sys.modules:
                    hooks.replaced_modules[each] = sys.modules[each]
                _put(each, module)
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
    names = _with_submodules(name)
    if not is_standin(name):
        raise ValueError(f"the stand-in for {name} is not installed")
    with _guard.lock:
        for each in reversed(names):  # submodules before the modules they are in
            if is_standin(each):
                _restore(each)


def _restore(name: str) -> None:
    """Put back what a stand-in replaced, and drop packages that were made for it."""
    original = hooks.replaced_modules.pop(name, None)
    if original is None:
        _remove(name)
    else:
        _put(name, original)
    package = name.rpartition(".")[0]
    while package in _made_packages and not _has_submodules(package):
        _made_packages.discard(package)
        _remove(package)
        package = package.rpartition(".")[0]


def _has_submodules(package: str) -> bool:
    return any(name.startswith(f"{package}.") for name in sys.modules)


def _with_submodules(name: str) -> list[str]:
    """Return the name with those of its submodules that have stand-ins."""
    if name not in STANDINS:
        names = ", ".join(map(repr, STANDINS))
        raise ValueError(f"nothing stands in for {name!r}; there are: {names}")
    return [each for each in STANDINS if f"{each}.".startswith(f"{name}.")]


def _is_available(name: str) -> bool:
    """Return whether a module is loaded, or its package could be.

    Only the package is looked for, since to look for a submodule would load it; a
    folder that is no package does not count.
    """
    root = name.partition(".")[0]
    if root in _made_packages:
        return False
    if name in sys.modules or root in sys.modules:
        return True
    spec = importlib.util.find_spec(root)
    return spec is not None and spec.loader is not None and spec.origin is not None


def _owner_of(name: str) -> ModuleType | None:
    """Return the package that has a module as an attribute.

    A package that is a stand-in itself has its submodules already, and keeps them.
    """
    package = name.rpartition(".")[0]
    if is_standin(package) and package not in _made_packages:
        return None
    return sys.modules.get(package)


def _put(name: str, module: ModuleType) -> None:
    sys.modules[name] = module
    owner = _owner_of(name)
    if owner is not None:
        setattr(owner, name.rpartition(".")[2], module)


def _remove(name: str) -> None:
    del sys.modules[name]
    owner = _owner_of(name)
    if owner is not None:
        vars(owner).pop(name.rpartition(".")[2], None)


def _make_package(name: str, force: bool) -> None:
    """Load the package of a stand-in, or make it, if there is none."""
    if not name or name in sys.modules:
        return
    if force and _is_available(name):
        import_module(name)
        return
    _make_package(name.rpartition(".")[0], force)
    package = ModuleType(name, f"Stand-ins of leafwise.compat for modules of {name}.")
    package.__path__ = []  # or the import system does not take it for a package
    package.__spec__ = ModuleSpec(str(__package__), None, is_package=True)
    _made_packages.add(name)
    _put(name, package)

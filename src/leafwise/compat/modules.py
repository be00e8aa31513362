"""Which module stands in for which, and how it gets into the place of that.

Owns the table of stand-ins, and what `sys.modules` holds for them; knows nothing of
what is in them.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from ..lazy import is_standin, replaced
from ..safely import Guard


__all__ = ["STANDINS", "install", "uninstall"]

STANDINS: Final = {
    "jax.tree": "jax_tree",
    "jax.tree_util": "jax_tree_util",
    "tree": "dm_tree",
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
_attributes: Final[set[str]] = set()
"""The stand-ins that became attributes of the packages that they were put into."""


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
        raise ImportError(
            f"{name} is installed; with force=True the stand-in takes its place",
            name=name,
        )
    modules = {one: importlib.import_module(_home(one)) for one in names}
    with _guard.lock:
        for one, module in modules.items():
            _put(one, module, force)
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
        for one in reversed(names):
            if is_standin(one):
                _take_out(one)


def _family(name: str) -> list[str]:
    """Return the name with those of its submodules that have stand-ins."""
    if name not in STANDINS:
        known = ", ".join(map(repr, STANDINS))
        raise ValueError(f"nothing stands in for {name!r}; there are: {known}")
    return [name, *(one for one in sorted(STANDINS) if one.startswith(f"{name}."))]


def _home(name: str) -> str:
    return f"{_HERE}.{STANDINS[name]}"


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


def _put(name: str, module: ModuleType, force: bool) -> None:
    """Put a module into its place and its package; make that if there is none."""
    if sys.modules.get(name) is module:
        return
    package = _package(name.rpartition(".")[0], force)
    known = sys.modules.get(name)
    if known is not None:
        replaced[name] = known
    sys.modules[name] = module
    last = name.rpartition(".")[2]
    if package is not None and getattr(package, last, None) is not module:
        setattr(package, last, module)
        _attributes.add(name)


def _package(name: str, force: bool) -> ModuleType | None:
    """Return the package of a name: what is loaded or installed, or else a new one."""
    if not name or name in sys.modules:
        return sys.modules.get(name)
    if force and _is_there(name):
        return importlib.import_module(name)
    outer = _package(name.rpartition(".")[0], force)
    made: Any = ModuleType(name, f"What leafwise.compat was asked to put into {name}.")
    made.__path__ = []
    made.__spec__ = ModuleSpec(_HERE, None, is_package=True)
    sys.modules[name] = made
    _made.add(name)
    if outer is not None:
        setattr(outer, name.rpartition(".")[2], made)
    return made  # type: ignore[no-any-return]  # a module with attributes of its own


def _take_out(name: str) -> None:
    """Take a stand-in out, and the packages that were made for nothing else."""
    package, _, last = name.rpartition(".")
    del sys.modules[name]
    if name in replaced:
        sys.modules[name] = replaced.pop(name)
    owner: Any = sys.modules.get(package)
    if owner is not None and name in _attributes:
        if name in sys.modules:
            setattr(owner, last, sys.modules[name])
        else:
            vars(owner).pop(last, None)
    _attributes.discard(name)
    while package in _made and not any(
        one.startswith(f"{package}.") for one in sys.modules
    ):
        package = _forget(package)


def _forget(name: str) -> str:
    """Take out a package that was made, and return the name of the one around it."""
    package, _, last = name.rpartition(".")
    _made.discard(name)
    del sys.modules[name]
    vars(sys.modules.get(package, sys)).pop(last, None)
    return package

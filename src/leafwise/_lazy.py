"""Modules that are loaded later: names load them when first asked for (PEP 562).

Owns the look-up; which name stands where is said by the module that has the names, once
for it in a table, and once for type checkers, as imports under `TYPE_CHECKING`. Owns
also what is to be seen of the modules of others: whether one is loaded, whole, and not
a stand-in; and the door by which notebooks and others come to the pictures of our
objects (`Shown`), since these are made by modules that stand above them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from ._hooks import hooks


HOMES: Final = {
    "configs": "override read write",
    "core.fingerprint": "fingerprint",
    "dataclasses": "dataclass register_dataclass",
    "fields": "data field static",
    "files": "load save",
    "namespaces": "namespace",
    "nn.pytree": "Pytree",
    "ops.arrays": "tree_concatenate tree_size tree_stack tree_unstack",
    "ops.parallel": "parallel",
    "selection": (
        "at from_flat to_flat "
        "tree_combine tree_diff tree_merge tree_partition tree_update"
    ),
    "show": "draw pformat pprint tree_summary",
}
"""The public names that are loaded when they are first asked for, by module.

`leafwise` and `leafwise.tree` make their names of this table; beside it, type checkers
read imports under `TYPE_CHECKING`.
"""


def is_loading(name: str) -> bool:
    """Return whether a module is being imported: it is there, but not all of it."""
    if name in hooks.imported_modules:
        return False
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


def is_standin(name: str) -> bool:
    """Return whether what is loaded under a name is of `leafwise.compat`."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    home: str = getattr(spec, "name", name)
    return home != name and home.startswith("leafwise.compat")


def real(name: str) -> Any:
    """Return a module of others if it is loaded, whole; a stand-in does not count."""
    if name in hooks.replaced_modules:
        return hooks.replaced_modules[name]
    if is_loading(name) or is_standin(name):
        return None
    return sys.modules.get(name)


def need(module: str, what: str, extra: str = "") -> Any:
    """Import a module that is installed only by those who want it.

    Args:
        module: Its name.
        what: What needs it, in words.
        extra: The extra of this package that brings it, if one does.

    Raises:
        ModuleNotFoundError: It is not installed; the message says how to do that.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        package = f"'leafwise[{extra}]'" if extra else error.name
        raise ModuleNotFoundError(
            f"{what} needs {error.name}, which is not installed: pip install {package}",
            name=error.name,
        ) from None


def is_traced() -> bool:
    """Return whether torch's compiler is tracing this call.

    It can trace neither locks nor what is remembered by the address of an object.
    """
    if "torch._dynamo" not in sys.modules:
        return False
    traced: bool = sys.modules["torch"].compiler.is_compiling()
    return traced


def homes(table: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return for each name of a table its module, and its name there.

    Args:
        table: By relative module, the names that are loaded from it, in one string;
            `short=long` renames one.

    Example:
        >>> homes({"ops.map": "tree_map leaves=tree_leaves"})
        {'tree_map': ('ops.map', 'tree_map'), 'leaves': ('ops.map', 'tree_leaves')}
    """
    found = {}
    for module, names in table.items():
        for entry in names.split():
            name, _, original = entry.partition("=")
            found[name] = (module, original or name)
    return found


def later(
    module: str, table: Mapping[str, str], submodules: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a module with lazy names.

    Args:
        module: The name of the module.
        table: See `homes`; modules are relative to the module's package.
        submodules: The submodules that are attributes, too.
    """
    found = homes(table)
    rooms = submodules.split()
    owner = sys.modules[module]
    package = owner.__spec__.parent if owner.__spec__ else module

    def load(name: str) -> Any:
        if name in rooms:
            return import_module(f".{name}", package)
        if name not in found:
            text = f"module {module!r} has no attribute {name!r}"
            for room in () if name.startswith("_") else rooms:
                there = name.removeprefix("tree_") if room == "tree" else name
                if there in getattr(import_module(f".{room}", package), "__all__", ()):
                    text += f"; there is {module}.{room}.{there}"
            raise AttributeError(text, name=name, obj=owner)
        home, original = found[name]
        value = getattr(import_module(f".{home}", package), original)
        vars(owner)[name] = value
        return value

    def names() -> list[str]:
        special = {name for name in vars(owner) if name.startswith("__")}
        return sorted({*owner.__all__, *found, *rooms, *special})

    return load, names

"""Names that are imported on first use (PEP 562), and modules that may be missing.

A package lists its lazy names twice: in a table for `later`, and for type checkers as
imports under `TYPE_CHECKING`.

The other functions are about modules of other libraries: import one that is optional,
find one that is loaded, tell a real one from a stand-in of `leafwise.compat`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from ._hooks import hooks
from ._runtime import late_imports


HOMES: Final = {
    "Pytree": "nn.pytree",
    "at": "selection",
    "data": "fields",
    "dataclass": "dataclasses",
    "draw": "show",
    "field": "fields",
    "fingerprint": "core.fingerprint",
    "from_flat": "selection",
    "load": "files",
    "namespace": "namespaces",
    "override": "configs",
    "parallel": "ops.parallel",
    "pformat": "show",
    "pprint": "show",
    "read": "configs",
    "register_dataclass": "dataclasses",
    "save": "files",
    "static": "fields",
    "to_flat": "selection",
    "tree_combine": "selection",
    "tree_concatenate": "ops.arrays",
    "tree_diff": "selection",
    "tree_merge": "selection",
    "tree_partition": "selection",
    "tree_size": "ops.arrays",
    "tree_stack": "ops.arrays",
    "tree_summary": "show",
    "tree_unstack": "ops.arrays",
    "tree_update": "selection",
    "write": "configs",
}
"""The lazy names of `leafwise`, with the module that each is imported from.

`leafwise.tree` has those that begin with `tree_` as well, without this prefix.
"""


def is_loading(name: str) -> bool:
    """Return whether a module is incomplete because it is still being imported."""
    # Inside of the hook that runs at the end of an import, Python's own flag still says
    # that the module is incomplete.
    if name in hooks.imported_modules:
        return False
    spec = getattr(sys.modules.get(name), "__spec__", None)
    # set by importlib; there is no public way to ask
    return bool(getattr(spec, "_initializing", False))


def is_standin(name: str) -> bool:
    """Return whether the module loaded under a name is one of `leafwise.compat`."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    # a stand-in is loaded under two names, and its spec has the one of ours
    original_name: str = getattr(spec, "name", name)
    return original_name != name and original_name.startswith("leafwise.compat")


def real(name: str) -> Any:
    """Return a module of another library if it is completely loaded, else None.

    A stand-in of `leafwise.compat` is not returned.
    """
    if name in hooks.replaced_modules:
        return hooks.replaced_modules[name]
    if is_loading(name) or is_standin(name):
        return None
    return sys.modules.get(name)


def late_module(name: str, package: str | None = None) -> Any:
    """Import a module when it is first used; a fork waits for it.

    Args:
        name: Its name, which may be relative to the package.
        package: The package.
    """
    with late_imports:
        return import_module(name, package)


def need(module: str, what: str, extra: str = "") -> Any:
    """Import a module of an optional dependency.

    Args:
        module: The name of the module.
        what: The feature that needs it, as the subject of the message.
        extra: The extra of leafwise that installs it, if there is one.

    Raises:
        ModuleNotFoundError: It is not installed; the message says how to install it.
    """
    try:
        return late_module(module)
    except ModuleNotFoundError as error:
        # it is installed, and lacks something itself
        if error.name != module.partition(".")[0]:
            raise  # it is installed, and something that it needs is not
        package = f"'leafwise[{extra}]'" if extra else error.name
        raise ModuleNotFoundError(
            f"{what} needs {error.name}, which is not installed: pip install {package}",
            name=error.name,
        ) from None


def is_compiling() -> bool:
    """Return whether torch's compiler is tracing this call.

    It can trace neither locks nor caches that use the addresses of objects.
    """
    if "torch._dynamo" not in sys.modules:  # a call of torch would take far longer
        return False
    is_compiling: bool = sys.modules["torch"].compiler.is_compiling()
    return is_compiling


def later(
    module: str,
    homes: Mapping[str, str],
    submodules: Sequence[str] = (),
    prefix: str = "",
    hint_for: Callable[[str], str] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and `__dir__` of a module with lazy names.

    Args:
        module: The name of the module.
        homes: From each lazy name to the module that has it, relative to the package.
        submodules: The submodules that are attributes, too.
        prefix: What the names begin with in the modules that have them.
        hint_for: Takes a name that is missing, and returns the end of the error.
    """
    owner = sys.modules[module]
    package = owner.__spec__.parent if owner.__spec__ else module

    def load(name: str) -> Any:
        if name in submodules:
            return late_module(f".{name}", package)
        if name not in homes:
            message = f"module {module!r} has no attribute {name!r}"
            if hint_for is not None:
                message += hint_for(name)
            raise AttributeError(message, name=name, obj=owner)
        home = late_module(f".{homes[name]}", package)
        value = getattr(home, prefix + name)
        vars(owner)[name] = value  # the next access does not come here
        return value

    def names() -> list[str]:
        special = [name for name in vars(owner) if name.startswith("__")]
        return sorted({*owner.__all__, *homes, *submodules, *special})

    return load, names

"""Arrays and attrs classes in trees, by the names of `optree.integrations`.

The submodules are loaded, and with them the libraries that they are named after, when
they are first asked for.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Final


SUBMODULES: Final = frozenset({"attrs", "jax", "numpy", "torch"})


def __getattr__(name: str) -> ModuleType:
    if name not in SUBMODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return [*sorted(SUBMODULES), "SUBMODULES"]

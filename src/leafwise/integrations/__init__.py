"""Bridges to frameworks: a class that is a tree here is a tree there.

None of the frameworks is imported by leafwise; what is here begins to work when
somebody else has imported one.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any


if TYPE_CHECKING:  # what is loaded when it is first asked for
    from .adopting import adopt as adopt
    from .adopting import treedef_from as treedef_from
    from .adopting import treedef_to as treedef_to
    from .bridge import Status as Status
    from .bridge import enable as enable
    from .bridge import status as status
    from .libraries import register_attrs as register_attrs
    from .libraries import register_mapping as register_mapping
    from .libraries import register_model as register_model
    from .libraries import register_sequence as register_sequence
    from .libraries import support as support
    from .sharing import share as share
    from .transforms import grad as grad
    from .transforms import jit as jit
    from .transforms import value_and_grad as value_and_grad
    from .transforms import vmap as vmap

_HOMES = {
    "adopt": "adopting",
    "treedef_from": "adopting",
    "treedef_to": "adopting",
    "Status": "bridge",
    "enable": "bridge",
    "status": "bridge",
    "register_attrs": "libraries",
    "register_mapping": "libraries",
    "register_model": "libraries",
    "register_sequence": "libraries",
    "support": "libraries",
    "share": "sharing",
    "grad": "transforms",
    "jit": "transforms",
    "value_and_grad": "transforms",
    "vmap": "transforms",
}


def __getattr__(name: str) -> Any:
    """Load a name that was not needed so far (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


__all__ = [
    "Status",
    "adopt",
    "enable",
    "grad",
    "jit",
    "register_attrs",
    "register_mapping",
    "register_model",
    "register_sequence",
    "share",
    "status",
    "support",
    "treedef_from",
    "treedef_to",
    "value_and_grad",
    "vmap",
]

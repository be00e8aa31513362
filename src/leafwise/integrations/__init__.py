"""Bridges to frameworks: nodes of leafwise become nodes in other libraries, too.

leafwise imports none of the frameworks. An integration becomes active once your program
imports its framework.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .._lazy import later


if TYPE_CHECKING:
    from .bridge import enable as enable
    from .foreign import adopt as adopt
    from .foreign import treedef_from as treedef_from
    from .foreign import treedef_to as treedef_to
    from .libraries import register_attrs as register_attrs
    from .libraries import register_mapping as register_mapping
    from .libraries import register_model as register_model
    from .libraries import register_sequence as register_sequence
    from .libraries import register_struct as register_struct
    from .libraries import support as support
    from .report import Status as Status
    from .report import status as status


_HOMES: Final = {
    "Status": "report",
    "adopt": "foreign",
    "enable": "bridge",
    "register_attrs": "libraries",
    "register_mapping": "libraries",
    "register_model": "libraries",
    "register_sequence": "libraries",
    "register_struct": "libraries",
    "status": "report",
    "support": "libraries",
    "treedef_from": "foreign",
    "treedef_to": "foreign",
}
"""The names that are imported on first use, with their modules."""

if not TYPE_CHECKING:
    __getattr__, __dir__ = later(__name__, _HOMES)


__all__ = [
    "Status",
    "adopt",
    "enable",
    "register_attrs",
    "register_mapping",
    "register_model",
    "register_sequence",
    "register_struct",
    "status",
    "support",
    "treedef_from",
    "treedef_to",
]

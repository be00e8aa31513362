"""Bridges to frameworks: nodes of leafwise become nodes in other libraries, too.

leafwise imports none of the frameworks. An integration becomes active once your program
imports its framework.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..lazy import later


if TYPE_CHECKING:
    from .branches import cond as cond
    from .branches import eval_shape as eval_shape
    from .branches import remat as remat
    from .branches import switch as switch
    from .bridge import Status as Status
    from .bridge import enable as enable
    from .bridge import status as status
    from .libraries import adopt as adopt
    from .libraries import register_attrs as register_attrs
    from .libraries import register_mapping as register_mapping
    from .libraries import register_model as register_model
    from .libraries import register_sequence as register_sequence
    from .libraries import support as support
    from .libraries import treedef_from as treedef_from
    from .libraries import treedef_to as treedef_to
    from .loops import fori_loop as fori_loop
    from .loops import scan as scan
    from .loops import while_loop as while_loop
    from .options import Carry as Carry
    from .options import DiffState as DiffState
    from .options import StateAxes as StateAxes
    from .options import prefix as prefix
    from .sharing import share as share
    from .transforms import grad as grad
    from .transforms import jit as jit
    from .transforms import value_and_grad as value_and_grad
    from .transforms import vmap as vmap


_HOMES: Final = {
    "branches": "cond eval_shape remat switch",
    "bridge": "Status enable status",
    "libraries": (
        "adopt register_attrs register_mapping register_model register_sequence "
        "support treedef_from treedef_to"
    ),
    "loops": "fori_loop scan while_loop",
    "options": "Carry DiffState StateAxes prefix",
    "sharing": "share",
    "transforms": "grad jit value_and_grad vmap",
}
"""The modules that are loaded when one of their names is first asked for."""

if not TYPE_CHECKING:
    __getattr__, __dir__ = later(__name__, _HOMES)


__all__ = [
    "Carry",
    "DiffState",
    "StateAxes",
    "Status",
    "adopt",
    "cond",
    "enable",
    "eval_shape",
    "fori_loop",
    "grad",
    "jit",
    "prefix",
    "register_attrs",
    "register_mapping",
    "register_model",
    "register_sequence",
    "remat",
    "scan",
    "share",
    "status",
    "support",
    "switch",
    "treedef_from",
    "treedef_to",
    "value_and_grad",
    "vmap",
    "while_loop",
]

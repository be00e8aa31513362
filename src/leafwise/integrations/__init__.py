"""Bridges to frameworks: a class that is a tree here is a tree there.

None of the frameworks is imported by leafwise; what is here begins to work when
somebody else has imported one.
"""

from __future__ import annotations

from .adopt import adopt as adopt
from .adopt import treedef_from as treedef_from
from .adopt import treedef_to as treedef_to
from .bridge import Status as Status
from .bridge import enable as enable
from .bridge import status as status
from .containers import register_attrs as register_attrs
from .containers import register_mapping as register_mapping
from .containers import register_model as register_model
from .containers import register_sequence as register_sequence
from .containers import support as support
from .share import share as share
from .transforms import grad as grad
from .transforms import jit as jit
from .transforms import value_and_grad as value_and_grad
from .transforms import vmap as vmap


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

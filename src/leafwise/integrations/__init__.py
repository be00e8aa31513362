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


__all__ = ["Status", "adopt", "enable", "status", "treedef_from", "treedef_to"]

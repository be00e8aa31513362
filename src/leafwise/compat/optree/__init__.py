"""A stand-in for optree: its public names, on the trees of leafwise.

A program that uses optree runs with `import leafwise.compat.optree as optree`. The
documentation lists the differences. In short, depth is not limited, errors name the
place, and rebuilding a named tuple does not call its class.

There is one registry. A class that is registered here, in a namespace or in the global
registry, is also a node for the functions of leafwise in that namespace, with the same
paths. Classes registered with leafwise are nodes here. A namespace without
registrations behaves like the global one, and is not declared by being used.
"""

from __future__ import annotations

from . import accessors as accessors
from . import dataclasses as dataclasses
from . import functools as functools
from . import ops as ops
from . import pytree as pytree
from . import registry as registry
from . import treespec as treespec
from . import typing as typing
from .accessors import *
from .ops import *
from .registry import *
from .typing import *


__version__ = "0.20.0"

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    *typing.__all__,
    *accessors.__all__,
    *ops.__all__,
    *registry.__all__,
]

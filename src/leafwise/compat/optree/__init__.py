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
from . import integrations as integrations
from . import ops as ops
from . import pytree as pytree
from . import registry as registry
from . import treespec as treespec
from . import typing as typing
from . import utils as utils
from . import version as version
from .accessors import *
from .ops import *
from .registry import *
from .typing import CustomTreeNode as CustomTreeNode
from .typing import FlattenFunc as FlattenFunc
from .typing import PyTree as PyTree
from .typing import PyTreeDef as PyTreeDef
from .typing import PyTreeKind as PyTreeKind
from .typing import PyTreeSpec as PyTreeSpec
from .typing import PyTreeTypeVar as PyTreeTypeVar
from .typing import UnflattenFunc as UnflattenFunc
from .typing import is_namedtuple as is_namedtuple
from .typing import is_namedtuple_class as is_namedtuple_class
from .typing import is_namedtuple_instance as is_namedtuple_instance
from .typing import is_structseq as is_structseq
from .typing import is_structseq_class as is_structseq_class
from .typing import is_structseq_instance as is_structseq_instance
from .typing import namedtuple_fields as namedtuple_fields
from .typing import structseq_fields as structseq_fields
from .version import __version__ as __version__


__all__ = [
    "CustomTreeNode",
    "FlattenFunc",
    "PyTree",
    "PyTreeDef",
    "PyTreeKind",
    "PyTreeSpec",
    "PyTreeTypeVar",
    "UnflattenFunc",
    "is_namedtuple",
    "is_namedtuple_class",
    "is_namedtuple_instance",
    "is_structseq",
    "is_structseq_class",
    "is_structseq_instance",
    "namedtuple_fields",
    "structseq_fields",
]
__all__ += accessors.__all__
__all__ += ops.__all__
__all__ += registry.__all__

"""Modules and pytree classes, with the interfaces of Flax NNX and PAX.

The package has the names of both libraries that leafwise supports: modules, variables,
kinds, states and filters. With `from leafwise import nn as nnx` you can run code that
was written for `flax.nnx`. No framework is imported, but for jax when a transform is
first used: only frameworks that are already imported are asked whether a value is an
array.

    >>> from leafwise import nn
    >>> class Linear(nn.Module):
    ...     def __init__(self, weight):
    ...         self.weight = nn.Param(weight)
    >>> graphdef, state = nn.split(Linear(0.5))
    >>> nn.merge(graphdef, state).weight.value
    0.5
"""

from types import ModuleType as _ModuleType

from ..dataclasses import dataclass as dataclass
from ..errors import TraceError as TraceError
from ..fields import *
from . import filters as filters
from .capturing import *
from .checks import *
from .containers import *
from .editing import *
from .filters import All as All
from .filters import Any as Any
from .filters import Everything as Everything
from .filters import Not as Not
from .filters import Nothing as Nothing
from .filters import OfKind as OfKind
from .filters import OfType as OfType
from .filters import PathContains as PathContains
from .filters import PathIn as PathIn
from .filters import WithTag as WithTag
from .graph import *
from .layers import *
from .module import *
from .optimizer import *
from .pytree import *
from .rngs import *
from .states import *
from .transforms import *
from .variables import *


__all__ = sorted(  # noqa: PLE0605  # pyright: ignore[reportUnsupportedDunderAll]
    name
    for name, value in vars().items()
    if not name.startswith("_") and not isinstance(value, _ModuleType)
)

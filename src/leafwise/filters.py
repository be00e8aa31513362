"""Filters: which of the values in an object are meant; see `leafwise.split`.

Owns no logic; the classes are those of `nn.filters`, under a name that can be
imported from.

Example:
    >>> from leafwise.filters import Not, OfType
    >>> import leafwise as lw
    >>> Not(OfType(lw.Param))((), lw.Cache(0))
    True
"""

from .nn.filters import All as All
from .nn.filters import Any as Any
from .nn.filters import Everything as Everything
from .nn.filters import Filter as Filter
from .nn.filters import Not as Not
from .nn.filters import Nothing as Nothing
from .nn.filters import OfKind as OfKind
from .nn.filters import OfType as OfType
from .nn.filters import PathContains as PathContains
from .nn.filters import PathIn as PathIn
from .nn.filters import WithTag as WithTag
from .nn.filters import predicate as predicate


__all__ = [
    "All",
    "Any",
    "Everything",
    "Filter",
    "Not",
    "Nothing",
    "OfKind",
    "OfType",
    "PathContains",
    "PathIn",
    "WithTag",
    "predicate",
]

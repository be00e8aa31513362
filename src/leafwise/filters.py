"""Filters: which of the values in an object are meant; see `leafwise.split`.

Owns no logic; the classes are those of `objects.filters`, under a name that can be
imported from.

Example:
    >>> from leafwise.filters import Not, OfType
    >>> import leafwise as lw
    >>> Not(OfType(lw.Param))((), lw.Cache(0))
    True
"""

from .objects.filters import All as All
from .objects.filters import Any as Any
from .objects.filters import Everything as Everything
from .objects.filters import Filter as Filter
from .objects.filters import Not as Not
from .objects.filters import Nothing as Nothing
from .objects.filters import OfKind as OfKind
from .objects.filters import OfType as OfType
from .objects.filters import PathContains as PathContains
from .objects.filters import PathIn as PathIn
from .objects.filters import WithTag as WithTag
from .objects.filters import predicate as predicate


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

"""What makes structures, by the short names of `optree.treespec`."""

from __future__ import annotations

from .treespecs import treespec_defaultdict as defaultdict
from .treespecs import treespec_deque as deque
from .treespecs import treespec_dict as dict
from .treespecs import treespec_from_collection as from_collection
from .treespecs import treespec_frozendict as frozendict
from .treespecs import treespec_leaf as leaf
from .treespecs import treespec_list as list
from .treespecs import treespec_namedtuple as namedtuple
from .treespecs import treespec_none as none
from .treespecs import treespec_ordereddict as ordereddict
from .treespecs import treespec_structseq as structseq
from .treespecs import treespec_tuple as tuple


__all__ = [
    "defaultdict",
    "deque",
    "dict",
    "from_collection",
    "frozendict",
    "leaf",
    "list",
    "namedtuple",
    "none",
    "ordereddict",
    "structseq",
    "tuple",
]

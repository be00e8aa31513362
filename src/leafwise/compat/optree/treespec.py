"""The functions that make structures, by the short names of `optree.treespec`."""

from ._makers import treespec_defaultdict as defaultdict
from ._makers import treespec_deque as deque
from ._makers import treespec_dict as dict
from ._makers import treespec_from_collection as from_collection
from ._makers import treespec_frozendict as frozendict
from ._makers import treespec_leaf as leaf
from ._makers import treespec_list as list
from ._makers import treespec_namedtuple as namedtuple
from ._makers import treespec_none as none
from ._makers import treespec_ordereddict as ordereddict
from ._makers import treespec_structseq as structseq
from ._makers import treespec_tuple as tuple


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

"""The public names that are loaded when they are first asked for, by module.

`leafwise` and `leafwise.tree` make their names of this table; beside it, type checkers
read imports under `TYPE_CHECKING`.
"""

from typing import Final


HOMES: Final = {
    "binding": "namespace",
    "dataclasses": "dataclass register_dataclass",
    "io.files": "load save",
    "io.formats": "read",
    "io.fingerprint": "fingerprint",
    "kinds": "data field static",
    "nn.pytree": "Pytree",
    "ops.arrays": "tree_concatenate tree_size tree_stack tree_unstack",
    "ops.parallel": "parallel",
    "selection.diff": "tree_diff",
    "selection.edit": "at tree_update",
    "selection.merge": "tree_merge",
    "selection.names": "from_flat override to_flat",
    "selection.partition": "tree_combine tree_partition",
    "show.pretty": "pformat pprint",
    "show.summary": "tree_summary",
    "show.diagram": "draw",
}
"""The modules that are loaded when one of their names is first asked for."""

"""Stand-ins: modules that replace other pytree libraries, with the same names.

A program that was written for one of these libraries runs on leafwise without the
library. You can change its import, as in `import leafwise.compat.jax_tree_util as jtu`.
To run it unchanged, call `leafwise.compat.install("jax.tree_util")` first, or run
`python -m leafwise.compat jax.tree_util program.py`.

The stand-ins rename and adapt functions of leafwise, and import none of the libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .._lazy import later


if TYPE_CHECKING:
    from . import jax_tree as jax_tree
    from . import jax_tree_util as jax_tree_util
    from . import optree as optree
    from .modules import STANDINS as STANDINS
    from .modules import install as install
    from .modules import uninstall as uninstall


_HOMES: Final = {
    "STANDINS": "modules",
    "install": "modules",
    "uninstall": "modules",
}
"""The names that are imported on first use, with their modules."""

_STANDINS: Final = ("jax_tree", "jax_tree_util", "optree")
"""The stand-ins, which are loaded in the same way."""

if not TYPE_CHECKING:
    __getattr__, __dir__ = later(__name__, _HOMES, _STANDINS)


__all__ = ["STANDINS", "install", "uninstall"]

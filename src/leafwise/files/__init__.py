"""Trees with arrays in files: saved atomically, and loaded.

The names here are loaded on first use. `leafwise.configs` reads config files.

    >>> import leafwise as lw
    >>> lw.files.register_codec.__module__
    'leafwise.core.codec'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .._lazy import later


if TYPE_CHECKING:
    from ..core.codec import register_codec as register_codec
    from .atomic import replace_file as replace_file
    from .save_load import load as load
    from .save_load import save as save


_HOMES: Final = {
    "load": "save_load",
    "register_codec": ".core.codec",
    "replace_file": "atomic",
    "save": "save_load",
}
"""The names that are imported on first use, with their modules."""

if not TYPE_CHECKING:
    __getattr__, __dir__ = later(__name__, _HOMES)


__all__ = ["load", "register_codec", "replace_file", "save"]

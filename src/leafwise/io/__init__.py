"""Save and load trees in files.

Owns how a file is replaced as a whole, how trees are saved and loaded, and how configs
are parsed, written and edited in place. The names here are loaded on first use.

    >>> import leafwise as lw
    >>> lw.io.register_codec.__module__
    'leafwise.core.serial'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..lazy import later


if TYPE_CHECKING:
    from ..core.serial import register_codec as register_codec
    from . import formats as formats
    from . import revision as revision
    from .atomic import replace_file as replace_file
    from .files import load as load
    from .files import save as save
    from .formats import read as read


_HOMES: Final = {
    ".core.serial": "register_codec",
    "atomic": "replace_file",
    "files": "load save",
    "formats": "read",
}
"""The modules that are loaded on first use of one of their names."""

if not TYPE_CHECKING:
    __getattr__, __dir__ = later(__name__, _HOMES, "formats revision")


__all__ = ["load", "read", "register_codec", "replace_file", "save"]

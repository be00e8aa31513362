"""Trees in files.

The names here are loaded when they are first asked for.

    >>> import leafwise as lw
    >>> lw.io.register_codec.__module__
    'leafwise.core.serial'
"""

from __future__ import annotations

from ..core.serial import register_codec


__all__ = ["register_codec"]

"""Config files: read, written, edited in place, and overridden from the command line.

The names here are loaded on first use.

    >>> import leafwise as lw
    >>> lw.configs.override({"lr": 0.1}, ["lr=0.2"])
    {'lr': 0.2}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .._lazy import later


if TYPE_CHECKING:
    from . import formats as formats
    from . import read_write as read_write
    from . import revision as revision
    from .documents import Tagged as Tagged
    from .overrides import override as override
    from .read_write import read as read
    from .read_write import write as write


_HOMES: Final = {
    "Tagged": "documents",
    "override": "overrides",
    "read": "read_write",
    "write": "read_write",
}
"""The names that are imported on first use, with their modules."""

if not TYPE_CHECKING:
    __getattr__, __dir__ = later(
        __name__, _HOMES, ("formats", "read_write", "revision")
    )


__all__ = ["Tagged", "override", "read", "write"]

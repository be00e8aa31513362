"""The engine: generated Python for structures that come again and again.

It makes `flatten`, `unflatten`, the maps and what is built on them faster, and
changes nothing else. It is on unless the environment variable `LEAFWISE_ENGINE` is
`0`; `eager` compiles each structure on first sight. Without this package leafwise
works the same, slower.
"""

from __future__ import annotations

from .control import disabled, eager, enabled, forget, source, stats


__all__ = ["disabled", "eager", "enabled", "forget", "source", "stats"]

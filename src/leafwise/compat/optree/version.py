"""Which version of optree the modules beside this one stand in for."""

from __future__ import annotations


__version__ = "0.20.0"

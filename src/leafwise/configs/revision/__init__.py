"""Editing a text in place: values change, and everything else stays as it was."""

from __future__ import annotations

from .editor import RevisionError, revise


__all__ = ["RevisionError", "revise"]

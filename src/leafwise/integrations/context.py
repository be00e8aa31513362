"""Aux data on its way through a framework."""

from __future__ import annotations

from typing import Any

from ..core.node import Rule
from ..core.safely import shown


__all__ = ["Aux"]


class Aux:
    """Aux data as a framework may keep it: compared and hashed as its rule says."""

    __slots__ = ("aux", "rule")

    def __init__(self, rule: Rule, aux: Any) -> None:
        self.rule = rule
        self.aux = aux

    def __eq__(self, other: object) -> bool:
        if type(other) is not Aux:
            return NotImplemented
        return self.rule is other.rule and self.rule.same_aux(self.aux, other.aux)

    def __hash__(self) -> int:
        return self.rule.hash_aux(self.aux)

    def __repr__(self) -> str:
        return shown(self.rule.node_data(self.aux))

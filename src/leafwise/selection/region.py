"""Regions: what is at some paths of a tree, or below them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.context import path_of
from ..core.keypath import KeyPath, Link


class Region:
    """Whatever is at some places of a tree, or below them; paths are `in` it or not.

    Args:
        places: The paths of the places, or their links.

    Attributes:
        branches: Dicts in dicts, by the keys of the paths; where a path ends, its
            number instead of a dict.
        is_disjoint: Whether each path ends in a place of its own, not inside another
            one.
    """

    def __init__(self, places: Sequence[KeyPath | Link]) -> None:
        self.branches: Any = {}
        self.is_disjoint: bool = True
        self._by_link: dict[Link, Any] = {}
        for number, place in enumerate(places):
            if isinstance(place, Link) and place.above is not None:
                self._put(self._branch_at(place.above), place.key, number)
                continue
            path = path_of(place)
            if not path:
                self.is_disjoint = self.branches == {}
                self.branches = number
                continue
            branch = self.branches
            for key in path[:-1]:
                branch = _child(branch, key)
            self._put(branch, path[-1], number)

    def _put(
        self,
        branch: Any,
        key: Any,
        number: int,
    ) -> None:
        """Note that a path ends below a branch."""
        if type(branch) is int:  # another path ends at the branch, or above it
            self.is_disjoint = False
        elif branch.setdefault(key, number) is not number:
            self.is_disjoint = False
            if type(branch[key]) is dict:  # other paths go on from here
                branch[key] = number

    def _branch_at(self, link: Link) -> Any:
        """Return the branch at a link; places share the links of the nodes above."""
        links: list[Link] = []
        branch = self._by_link.get(link)
        while branch is None and link.above is not None:
            links.append(link)
            link = link.above
            branch = self._by_link.get(link)
        if branch is None:
            branch = self.branches
        for below in reversed(links):
            branch = _child(branch, below.key)
            self._by_link[below] = branch
        return branch

    def __contains__(self, path: KeyPath) -> bool:
        branch = self.branches
        for key in path:
            if type(branch) is int:
                return True
            branch = branch.get(key)
            if branch is None:
                return False
        return type(branch) is int


def _child(branch: Any, key: Any) -> Any:
    """Return the branch at a key; the number of the target that it is inside of."""
    return branch if type(branch) is int else branch.setdefault(key, {})

"""`Module`: a tree of parameters, state and other modules.

Owns the methods by which an attribute is registered under a kind. What works on
whole trees of modules is a function, in `surgery`, so that the names of methods stay
free for those who write classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..kinds import Kind, Marked
from .pytree import Pytree, name_to_kind


__all__ = ["Module"]


class Module(Pytree, order="insertion", kind=Kind.MODULE):
    """Base of modules: trees whose attributes are parameters, state, or modules.

    A `Pytree` whose children come in the order in which they were first assigned.
    An attribute that is first assigned a module is of kind `MODULE`.

    Attributes:
        name_to_kind: The kind of each attribute, in order of assignment; read-only,
            and not changed by what happens to the module later.

    Example:
        >>> import leafwise as lw
        >>> class Counter(lw.Module):
        ...     def __init__(self):
        ...         self.register_state("count", 0)
        ...         self.register_parameter("bias", 0.0)
        ...     def step(self):
        ...         self.count += 1
        >>> counter = Counter()
        >>> counter.step()
        >>> lw.tree_leaves(counter)
        [1, 0.0]
        >>> counter.name_to_kind["bias"]
        <Kind.PARAMETER: 'parameter'>

    The kinds are those of PAX, the class is that of PAX and of Flax NNX in one.
    """

    @property
    def name_to_kind(self) -> Mapping[str, Kind]:
        """Return the kind of each attribute."""
        return name_to_kind(self)

    def register_subtree(self, name: str, value: Any) -> None:
        """Assign an attribute that is data of no closer kind.

        Args:
            name: The name of the attribute.
            value: Its value.
        """
        setattr(self, name, Marked(Kind.DATA, value))

    def register_parameter(self, name: str, value: Any) -> None:
        """Assign an attribute that is a parameter: data that is trained.

        Args:
            name: The name of the attribute.
            value: Its value.
        """
        setattr(self, name, Marked(Kind.PARAMETER, value))

    def register_state(self, name: str, value: Any) -> None:
        """Assign an attribute that is state: data that is not trained.

        Args:
            name: The name of the attribute.
            value: Its value.
        """
        setattr(self, name, Marked(Kind.STATE, value))

    def register_module(self, name: str, value: Any) -> None:
        """Assign an attribute that is a module, or a tree with modules inside.

        Args:
            name: The name of the attribute.
            value: Its value.
        """
        setattr(self, name, Marked(Kind.MODULE, value))

"""What is registered in which framework, and why other classes are not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, overload

from .._runtime import live_classes
from .._text import safe_repr, typed_repr
from ..core.registry import GLOBAL, current, lookup
from .bridge import (
    BY_OTHERS,
    FRAMEWORKS,
    IS_REGISTERED,
    Framework,
    announced_classes,
    guard,
)


__all__ = ["Status", "status"]


class Status(NamedTuple):
    """The classes that a framework knows from leafwise.

    Attributes:
        loaded: Whether the framework is imported.
        registered: The classes that leafwise registered in it.
        refused: The classes that are nodes in every namespace of leafwise but were not
            registered in the framework, each with the reason.

    Example:
        >>> from leafwise.integrations import Status
        >>> Status(loaded=False, registered=(), refused={}).loaded
        False
    """

    loaded: bool
    registered: tuple[type, ...]
    refused: dict[type, str]


class _StatusTable(dict[str, Status]):
    """The status of each framework, printed as a table with a line for each."""

    def __repr__(self) -> str:
        lines = [f"{name:<8}{_summary(status)}" for name, status in self.items()]
        return "\n".join(lines)


def _summary(status: Status) -> str:
    """Return a line about the classes of a user; those of leafwise are counted."""
    own = [cls for cls in status.registered if not _is_of_leafwise(cls)]
    refused = {
        cls: BY_OTHERS if reason.startswith(BY_OTHERS) else reason
        for cls, reason in status.refused.items()
        if not _is_of_leafwise(cls)
    }
    if not status.loaded:
        waiting = [cls for cls, reason in refused.items() if reason == _NOT_LOADED]
        return f"not loaded; registers when it is: {_names(waiting)}"
    parts = [f"{len(status.registered) - len(own)} classes of leafwise, {_names(own)}"]
    for reason in dict.fromkeys(refused.values()):
        classes = [cls for cls, other in refused.items() if other == reason]
        parts.append(f"not {_names(classes)}: {reason}")
    return "; ".join(parts)


def _is_of_leafwise(cls: type) -> bool:
    package, _, _ = __name__.partition(".")
    return str(cls.__module__).partition(".")[0] == package


def _names(classes: Sequence[type]) -> str:
    """Return the names of a few classes, and the number of the others."""
    names = [cls.__qualname__ for cls in classes[:_MAX_NAMES]]
    if len(classes) > _MAX_NAMES:
        names.append(f"{len(classes) - _MAX_NAMES} more")
    return ", ".join(names) or "no others"


_MAX_NAMES: Final = 5


@overload
def status() -> dict[str, Status]: ...
@overload
def status(cls: type, /) -> dict[str, str]: ...
def status(cls: type | None = None, /) -> Any:
    """Return the classes registered in each framework, and why others are not.

    Args:
        cls: A class, to be told of this one only.

    Returns:
        A `Status` for each framework, which print as a table. For a class, one sentence
        for each: whether the class is a node there, or why it is a leaf.

    Raises:
        TypeError: The argument is not a class.

    Example:
        >>> import leafwise as lw
        >>> list(lw.integrations.status())
        ['jax', 'optree', 'torch']
        >>> class Hidden:
        ...     x = 1
        >>> _ = lw.register_dataclass(Hidden, ["x"], [], bridge=False)
        >>> lw.integrations.status(Hidden)["jax"]
        'a leaf: it was registered with bridge=False'
    """
    if cls is None:
        with guard.lock:
            return _StatusTable(
                (name, _status(framework)) for name, framework in FRAMEWORKS.items()
            )
    if not isinstance(cls, type):
        raise TypeError(f"status takes a class, got {typed_repr(cls)}")
    with guard.lock:
        was_announced = cls in announced_classes
        lookup(cls)  # which announces a class that `support` has not seen yet
        is_new = cls in announced_classes and not was_announced
        return {
            name: _status_of_class(framework, cls, is_new)
            for name, framework in FRAMEWORKS.items()
        }


_NOT_LOADED: Final = "the framework is not loaded"
_NOT_BRIDGED: Final = "it was registered with bridge=False"
_SINCE_NOW: Final = "since this call: it was defined after support"


def _status(framework: Framework) -> Status:
    outcomes = [
        (cls, framework.outcomes[cls]) for cls in live_classes(framework.outcomes)
    ]
    registered = [cls for cls, reason in outcomes if reason == IS_REGISTERED]
    refused = {cls: reason for cls, reason in outcomes if reason != IS_REGISTERED}
    # a class has no outcome before its framework is loaded, or if it was not enabled
    for cls in live_classes(announced_classes):
        if cls not in framework.outcomes:
            refused[cls] = _why_not_yet(framework)
    node_types = current.state.layers[GLOBAL].node_types
    for cls, node_type in node_types.items():
        if node_type is not None and cls not in announced_classes:
            refused[cls] = _NOT_BRIDGED
    return Status(framework.module() is not None, tuple(registered), refused)


def _why_not_yet(framework: Framework) -> str:
    """Return why a class that a framework is to know is not registered there yet."""
    if framework.module() is None:
        return _NOT_LOADED
    return f"call leafwise.integrations.enable({framework.name!r})"


def _status_of_class(framework: Framework, cls: type, is_new: bool) -> str:
    outcome = framework.outcomes.get(cls)
    if outcome == IS_REGISTERED:
        return "a node, " + _SINCE_NOW if is_new else "a node"
    if outcome is not None and outcome.startswith(BY_OTHERS):
        return f"a node, {BY_OTHERS}"
    if cls not in announced_classes:
        return f"a leaf: {_why_unknown(cls)}"
    if framework.module() is None:
        return f"a node as soon as {framework.name} is imported"
    return f"a leaf: {outcome or _why_not_yet(framework)}"


def _why_unknown(cls: type) -> str:
    """Return why no framework is to know a class."""
    node_types = current.state.layers[GLOBAL].node_types
    if node_types.get(cls) is not None:
        return _NOT_BRIDGED
    if cls in node_types:
        return "it was registered as a leaf"
    for name, layer in current.state.layers.items():
        if layer.node_types.get(cls) is not None:
            return f"it is registered in namespace {safe_repr(name)} only"
    node_type = lookup(cls)
    if node_type is None:
        return "it is not registered in leafwise"
    for base in cls.__mro__[1:]:
        if node_types.get(base) is not None:
            return (
                f"it is a node here as a subclass of {base.__qualname__}; register it"
            )
    if node_type.cls is not cls or node_type.name != "custom":
        return "leafwise does not register containers of Python"
    return "it is a node here by support or adopt; register it"

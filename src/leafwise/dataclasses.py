"""Dataclasses that are trees: the decorator.

Owns the spelling; what becomes of the fields is decided by
`core.fields.register_dataclass`, which also takes dataclasses made elsewhere, or
by the class itself where it is a tree already.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform, overload

from .core.fields import register_dataclass
from .core.registry import GLOBAL, check_class
from .kinds import data, field, parameter, state_value, static


__all__ = ["dataclass"]

T = TypeVar("T")


@overload
def dataclass(cls: type[T], /) -> type[T]: ...


@overload
def dataclass(
    *,
    namespace: str = ...,
    inherit: bool = ...,
    exist_ok: bool = ...,
    bridge: bool = ...,
    **options: Any,
) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(
    field_specifiers=(field, data, static, parameter, state_value, dataclasses.field)
)
def dataclass(
    cls: type[Any] | None = None,
    /,
    *,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
    bridge: bool = True,
    **options: Any,
) -> Any:
    """Make a class a dataclass and its instances nodes.

    Fields are children unless they are declared with `static()` or
    `field(pytree_node=False)`. Rebuilding sets the attributes of an empty
    instance: `__init__` and `__post_init__` do not run.

    A subclass of `Pytree` stays what it is, a node everywhere; its fields have the
    kinds that they are declared with, or that their values give them.

    Args:
        cls: The class; left out when options are given to the decorator.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether subclasses without the decorator follow.
        exist_ok: Whether to replace the class that had this qualified name
            before, as when a notebook cell is run again.
        bridge: Whether jax, optree and torch are to know the class, once they are
            loaded; not for classes in a namespace.
        **options: Those of `dataclasses.dataclass`: `frozen`, `slots`,
            `kw_only`, `eq`, ...

    Returns:
        The class, or a decorator.

    Raises:
        RegistryError: Not a class, the markers of a field disagree, or a duplicate.

    Example:
        >>> import leafwise as lw
        >>> @lw.dataclass(frozen=True)
        ... class Model:
        ...     weight: float
        ...     activation: str = lw.static(default="relu")
        >>> lw.tree_map(lambda w: w * 2, Model(0.5))
        Model(weight=1.0, activation='relu')
    """
    if cls is None:
        return lambda cls: _decorate(cls, options, namespace, inherit, exist_ok, bridge)
    return _decorate(cls, options, namespace, inherit, exist_ok, bridge)


def _decorate(
    cls: Any,
    options: dict[str, Any],
    namespace: str,
    inherit: bool,
    exist_ok: bool,
    bridge: bool,
) -> Any:
    check_class(cls)
    become = getattr(cls, "_leafwise_dataclass", None)
    if become is not None:
        if namespace != GLOBAL:
            raise TypeError(
                f"{cls.__qualname__} is a Pytree and so a node everywhere; leave "
                "namespace out"
            )
        return become(options)
    made = dataclasses.dataclass(cls, **options)
    return register_dataclass(
        made, namespace=namespace, inherit=inherit, exist_ok=exist_ok, bridge=bridge
    )

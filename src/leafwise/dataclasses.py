"""Dataclasses that are trees: a decorator and its field specifiers.

Owns the spelling; what becomes of the fields is decided by
`core.fields.register_dataclass`, which also takes dataclasses made elsewhere.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, dataclass_transform, overload

from .core.fields import register_dataclass
from .core.view import GLOBAL


__all__ = ["data", "dataclass", "field", "static"]

T = TypeVar("T")


def field(
    *,
    pytree_node: bool = True,
    metadata: Mapping[Any, Any] | None = None,
    **options: Any,
) -> Any:
    """Declare a dataclass field and say whether it is a child.

    Args:
        pytree_node: True for a child, False for aux data.
        metadata: Further metadata of the field.
        **options: Those of `dataclasses.field`: `default`, `default_factory`,
            `init`, `repr`, `hash`, `compare`, `kw_only`.

    Raises:
        ValueError: `metadata` says already what the field is.

    Example:
        >>> import leafwise as lw
        >>> @lw.dataclass
        ... class Layer:
        ...     weight: float
        ...     name: str = lw.field(default="linear", pytree_node=False)
        >>> lw.tree_leaves(Layer(0.5))
        [0.5]

    The idea is that of `flax.struct.field` and `optree.dataclasses.field`.
    """
    known = dict(metadata or {})
    for mark in ("pytree_node", "static"):
        if mark in known:
            raise ValueError(
                f"metadata has {mark!r} already; say it with pytree_node={pytree_node} "
                "alone"
            )
    return dataclasses.field(metadata={**known, "pytree_node": pytree_node}, **options)


def data(**options: Any) -> Any:
    """Declare a dataclass field that is a child.

    Args:
        **options: Those of `dataclasses.field`.

    Example:
        >>> import leafwise as lw
        >>> @lw.dataclass
        ... class Point:
        ...     x: float = lw.data(default=0.0)
        >>> lw.tree_leaves(Point())
        [0.0]
    """
    return field(pytree_node=True, **options)


def static(**options: Any) -> Any:
    """Declare a dataclass field that is aux data.

    Args:
        **options: Those of `dataclasses.field`.

    Example:
        >>> import leafwise as lw
        >>> @lw.dataclass
        ... class Scaled:
        ...     x: float
        ...     unit: str = lw.static(default="m")
        >>> lw.tree_structure(Scaled(1.0))
        PyTreeDef(CustomNode(Scaled[('m',)], [*]))
    """
    return field(pytree_node=False, **options)


@overload
def dataclass(cls: type[T], /) -> type[T]: ...


@overload
def dataclass(
    *,
    namespace: str = ...,
    inherit: bool = ...,
    exist_ok: bool = ...,
    **options: Any,
) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(field_specifiers=(field, data, static, dataclasses.field))
def dataclass(
    cls: type[Any] | None = None,
    /,
    *,
    namespace: str = GLOBAL,
    inherit: bool = False,
    exist_ok: bool = False,
    **options: Any,
) -> Any:
    """Make a class a dataclass and its instances nodes.

    Fields are children unless they are declared with `static()` or
    `field(pytree_node=False)`. Rebuilding sets the attributes of an empty
    instance: `__init__` and `__post_init__` do not run.

    Args:
        cls: The class; left out when options are given to the decorator.
        namespace: Where to register; `""` is the global registry.
        inherit: Whether subclasses without the decorator follow.
        exist_ok: Whether to replace the class that had this qualified name
            before, as when a notebook cell is run again.
        **options: Those of `dataclasses.dataclass`: `frozen`, `slots`,
            `kw_only`, `eq`, ...

    Returns:
        The class, or a decorator.

    Raises:
        RegistryError: The markers of a field disagree, or a duplicate.

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
        return lambda cls: _decorate(cls, options, namespace, inherit, exist_ok)
    return _decorate(cls, options, namespace, inherit, exist_ok)


def _decorate(
    cls: Any, options: dict[str, Any], namespace: str, inherit: bool, exist_ok: bool
) -> Any:
    made = dataclasses.dataclass(cls, **options)
    return register_dataclass(
        made, namespace=namespace, inherit=inherit, exist_ok=exist_ok
    )

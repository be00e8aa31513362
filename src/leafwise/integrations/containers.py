"""Containers of other libraries as nodes: any mapping or sequence, and configs."""

from __future__ import annotations

import copy
import sys
from collections.abc import (
    Callable,
    Mapping,
    MutableMapping,
    MutableSequence,
    Sequence,
)
from typing import Any, Final

from .._text import FAULTS, add_note, short_repr
from ..core.keys import DictKey, SequenceKey
from ..core.node import NodeType
from ..core.register import ItemsNodeType


__all__ = [
    "Build",
    "LibraryContainer",
    "mapping_node_type",
    "ml_collections_node_type",
    "omegaconf_node_type",
    "sequence_node_type",
]

Build = Callable[[Any], Any]
"""Takes the items of a container as a dict or a list, returns the container."""


# --------------------------------------------------------- any mapping, any sequence


class LibraryContainer(ItemsNodeType):
    """Mappings and sequences of any class.

    The rest is an empty copy of the node; None where the class or `build` is called.
    """

    build: Build | None

    def __init__(self, cls: type, build: Build | None = None, **options: Any) -> None:
        object.__setattr__(self, "build", build)
        super().__init__(cls, **options)

    def items(self, node: Any) -> Any:
        """Return the items as a dict or a list."""
        if self.is_mapping:
            return {key: node[key] for key in list(node)}
        return list(node)

    def rest(self, node: Any) -> Any:
        """Return a copy of a node without its items; None if it cannot change."""
        is_mutable = isinstance(node, MutableMapping | MutableSequence)
        if self.build is not None or not is_mutable:
            return None
        # a copy, so that attributes of a subclass are kept
        empty = copy.copy(node)
        empty.clear()
        return empty

    def from_items(self, rest: Any, items: Any) -> Any:
        """Refill an empty copy, or call the class or `build`."""
        if not isinstance(rest, self.cls):  # None; or anything, in JSON of an attacker
            return _build(self.build or self.cls, items, self.cls)
        container: Any = copy.copy(rest)  # the treedef keeps its own, empty
        if not self.is_mapping:
            container.extend(items)
            return container
        for key, value in items.items():
            container[key] = value
        return container


def _build(build: Build, items: Any, cls: type) -> Any:
    try:
        return build(items)
    except FAULTS as error:
        kind = "mapping" if isinstance(items, dict) else "sequence"
        add_note(
            error,
            f"{cls.__qualname__} was rebuilt from {short_repr(items)}; pass build=... "
            f"to register_{kind} to rebuild it in another way",
        )
        raise


def mapping_node_type(cls: type) -> NodeType | None:
    """Return the node type of a subclass of `Mapping`, None for any other class."""
    if not issubclass(cls, Mapping):
        return None
    return LibraryContainer(cls, item_key=DictKey)


_TEXT_AND_NUMBERS: Final = (str, bytes, bytearray, memoryview, range)


def sequence_node_type(cls: type) -> NodeType | None:
    """Return the node type of a subclass of `Sequence`, None for text and numbers."""
    if not issubclass(cls, Sequence) or issubclass(cls, _TEXT_AND_NUMBERS):
        return None
    if cls.__module__ == "array":  # its items are numbers of one type
        return None
    return LibraryContainer(cls, item_key=SequenceKey)


# ------------------------------------------------------------------------- OmegaConf


def omegaconf_node_type(cls: type) -> NodeType | None:
    """Return the node type of `DictConfig` or `ListConfig`, None for other classes."""
    omegaconf = sys.modules.get("omegaconf")
    if omegaconf is None or cls.__module__.partition(".")[0] != "omegaconf":
        return None
    if issubclass(cls, omegaconf.DictConfig):
        return _ConfigNodeType(cls, item_key=DictKey)
    if issubclass(cls, omegaconf.ListConfig):
        return _ConfigNodeType(cls, item_key=SequenceKey)
    return None


class _RestOfConfig:
    """What a config of OmegaConf is beside its items.

    Attributes:
        cls: Its class.
        content: Its content, if that is not a table or list: None, missing, or an
            interpolation; else an empty tuple.
        metadata: Its own metadata: types and flags.
    """

    __slots__ = ("cls", "content", "metadata")

    def __init__(self, node: Any) -> None:
        content = _content_of(node)
        self.cls = type(node)
        self.content = content if isinstance(content, str | None) else ()
        self.metadata = _metadata_of(node)


class _ConfigNodeType(ItemsNodeType):
    """Configs of OmegaConf; one that is not a table or list has no items."""

    def items(self, node: Any) -> Any:
        content = _content_of(node)
        if self.is_mapping:
            table = content if isinstance(content, dict) else {}
            return {key: _raw_item(item) for key, item in table.items()}
        items = content if isinstance(content, list) else []
        return [_raw_item(item) for item in items]

    def rest(self, node: Any) -> Any:
        return _RestOfConfig(node)

    def from_items(self, rest: Any, items: Any) -> Any:
        content: Any = items if rest.content == () else rest.content
        flags = dict(rest.metadata.flags or {})
        # `allow_objects`, since an item may be anything after a map
        config = rest.cls(content, flags={"allow_objects": True})
        metadata = _metadata_of(config)
        metadata.object_type = rest.metadata.object_type
        metadata.optional = rest.metadata.optional
        metadata.flags = {**flags, "allow_objects": True}
        return config


# OmegaConf's public functions resolve interpolations, or convert whole trees.


def _content_of(node: Any) -> Any:
    """Return the items of a config, or the text or None that it is instead."""
    return node._content  # noqa: SLF001


def _metadata_of(node: Any) -> Any:
    """Return the types and flags of a config."""
    return node._metadata  # noqa: SLF001


def _raw_item(node: Any) -> Any:
    """Return an item as it is written; a config inside as it is."""
    if isinstance(getattr(node, "_content", ()), dict | list):
        return node
    return node._value()  # noqa: SLF001


# -------------------------------------------------------------------- ml_collections


def ml_collections_node_type(cls: type) -> NodeType | None:
    """Return the node type of a `ConfigDict`, None for any other class."""
    module = sys.modules.get("ml_collections")
    if module is None or not issubclass(cls, module.ConfigDict):
        return None
    return _ConfigDictNodeType(cls)


class _ConfigDictNodeType(ItemsNodeType):
    """Configs of ml_collections; the rest is whether they are type-safe and locked."""

    item_key = DictKey

    def items(self, node: Any) -> Any:
        return {key: node[key] for key in node.keys()}  # noqa: SIM118  # not a dict

    def rest(self, node: Any) -> Any:
        return node.is_type_safe, node.is_locked

    def from_items(self, rest: Any, items: Any) -> Any:
        is_type_safe, is_locked = rest
        config: Any = self.cls(items, type_safe=is_type_safe)
        if is_locked:  # last, or it would refuse its items
            config.lock()
        return config

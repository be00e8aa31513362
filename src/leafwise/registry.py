"""More functions to register classes and to look up what is registered.

`leafwise` itself has those that most programs use.

    >>> import leafwise as lw
    >>> lw.registry.lookup(dict).cls
    <class 'dict'>
"""

from __future__ import annotations

from .core.keys import FlattenedIndexKey
from .core.register import register_pytree_with_keys, register_pytree_with_keys_class
from .core.registry import lookup, namespaces


# fmt: off
__all__ = [
    "FlattenedIndexKey", "lookup", "namespaces", "register_pytree_with_keys",
    "register_pytree_with_keys_class",
]
# fmt: on

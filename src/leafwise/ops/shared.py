"""Maps that keep sharing: what is one object in the tree is one in the result.

A node, or a leaf that is no plain scalar, is mapped once, together with what stands
at its places in further trees; wherever just these stand again, the result does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ..core.code import locate, unlink
from ..core.view import GLOBAL
from ..errors import CycleError
from .context import Context, context_of


if TYPE_CHECKING:
    from ..typing import IsLeaf

__all__ = ["tree_map_shared"]

_SCALARS: Final = frozenset({bool, bytes, complex, float, int, str, type(None)})
_PENDING: Final = object()


def tree_map_shared(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: IsLeaf = None,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
    strict: bool = False,
) -> Any:
    """Map over a tree so that what is shared in it stays shared.

    What is one object in `tree` is mapped once, and the one result stands wherever the
    object stood. Numbers, texts, bytes and None are mapped each time.

    Args:
        f: Called as in `tree_map`.
        tree: The tree that gives the structure.
        *rest: Further trees that have the structure of `tree`. Where they differ at two
            places of one object, that object is mapped at each.
        is_leaf, is_leaf_takes_path, none_is_leaf, namespace: See
            :ref:`common arguments <common>`.
        strict: Whether to refuse further trees that go deeper than `tree`.

    Returns:
        A new tree with the structure of `tree`.

    Raises:
        StructureError: A further tree does not have the structure of `tree`.
        CycleError: The tree contains itself.

    An exception that `f` raises passes through, with a note of the key path.

    Example:
        >>> import leafwise as lw
        >>> row = [1, 2]
        >>> mapped = lw.tree_map_shared(lambda x: x * 2, {"a": row, "b": row})
        >>> mapped["a"] is mapped["b"]
        True
    """
    context = context_of(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    context.columns(tree, rest, strict=strict)  # the check that they pair
    return _SharedMap(f, context).run((tree, *rest))


class _SharedMap:
    """The state of one map.

    Attributes:
        memo: The result for each row of objects, `_PENDING` while it is being made.
        kept: What was read, so that no id is used twice.
        values: The results that wait for the node they belong to.
        stack: Rows with the links to them; or with the node to rebuild from values.
    """

    def __init__(self, function: Callable[..., Any], context: Context) -> None:
        self.function = function
        self.context = context
        self.memo: dict[tuple[int, ...], Any] = {}
        self.kept: list[Any] = []
        self.values: list[Any] = []
        self.stack: list[tuple[Any, Any, Any]] = []

    def run(self, trees: tuple[Any, ...]) -> Any:
        """Map the trees."""
        self.stack.append((trees, (), None))
        while self.stack:
            row, link, node = self.stack.pop()
            key = tuple(map(id, row))
            found = self.memo.get(key)
            if node is not None:
                self.rebuild(key, *node)
            elif found is _PENDING:
                raise CycleError("the tree contains itself")
            elif found is not None:
                self.values.append(found)
            else:
                self.enter(key, row, link)
        return self.values[0]

    def enter(self, key: tuple[int, ...], row: tuple[Any, ...], link: Any) -> None:
        """Map a leaf, or put off a node until its children are mapped."""
        rule = self.context.rule_of(row[0], link)
        if rule is None:
            value = _call(self.function, row, link)
            self.values.append(value)
            if type(row[0]) not in _SCALARS and value is not None:
                self.memo[key] = value
            return
        children, aux = rule.flatten(row[0])
        arity = len(children)
        columns = [children, *(rule.match(aux, arity, other) for other in row[1:])]
        self.kept.append(columns)
        self.memo[key] = _PENDING
        self.stack.append((row, link, (rule, aux, arity)))
        rows = zip(zip(*columns, strict=True), rule.keys(aux, arity), strict=True)
        self.stack += reversed([(below, (link, part), None) for below, part in rows])

    def rebuild(self, key: tuple[int, ...], rule: Any, aux: Any, arity: int) -> None:
        """Rebuild a node from the last values."""
        start = len(self.values) - arity
        self.memo[key] = rule.unflatten(aux, self.values[start:])
        self.values[start:] = [self.memo[key]]


def _call(function: Callable[..., Any], row: tuple[Any, ...], link: Any) -> Any:
    try:
        return function(*row)
    except Exception as error:
        locate(error, [*reversed(unlink(link))])
        raise

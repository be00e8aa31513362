"""What torch's compiler traces in place of what asks the engine.

The compiler looks into the functions that it compiles. What the engine does, to count,
to compile and to keep, is nothing that it could trace or should guard; so it is given
the walk in its place, in plain Python that remembers nothing. Functions that write to
objects, and the one that reads selectors by their signatures, are left to Python: the
compiler breaks the graph there.
"""

from __future__ import annotations

import functools
import importlib
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FunctionType, MethodWrapperType, ModuleType, WrapperDescriptorType
from typing import TYPE_CHECKING, Any, Final

from ..core.keypath import KeyPath
from ..core.keys import KeyOrder, find_order, key_order
from ..core.registry import GLOBAL, View, view_of
from ..core.treedef import PyTreeDef
from ..core.walk import ROOT, Code, Step, leaf_paths, rebuild, reference
from ..core.walk import leaf as leaf_runner
from ..ops.context import Context, context_of, predicate, stopping_context
from ..ops.map import tree_flatten, tree_unflatten
from .finder import after_import, is_loading


if TYPE_CHECKING:
    from ..core.aliases import IsLeaf

__all__ = ["let_compiler_trace"]


def let_compiler_trace() -> None:
    """Tell torch's compiler what to trace in place of what asks the engine.

    It is told of each module once, as soon as that is loaded: nothing is loaded for it,
    since the compiler may be tracing already, and classes that come into the registry
    meanwhile would confuse its guards. If torch has no such functions,
    `fullgraph=True` fails, and a warning says so.
    """
    for name in [*_pending]:
        module = f"{_PACKAGE}.{name}"
        if module not in sys.modules:
            after_import(module, functools.partial(_tell_of, name))
        elif not is_loading(module):
            _tell_of(name)


def _tell_of(name: str) -> None:
    """Tell the compiler of a module that is loaded."""
    tell = _pending.pop(name, None)
    if tell is None:
        return
    try:
        tell(sys.modules[f"{_PACKAGE}.{name}"])
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        _pending.clear()
        warnings.warn(f"torch's compiler cannot trace trees: {error}", stacklevel=2)


def _substitute(_ops: ModuleType) -> None:
    replace = sys.modules["torch"].compiler.substitute_in_graph
    replace(key_order)(_key_order)
    replace(leaf_paths)(_leaf_paths)
    replace(context_of)(_context_of)
    replace(stopping_context)(_stopping_context)
    replace(tree_flatten)(_flatten)
    replace(tree_unflatten)(_build)


def _skip(functions: Iterable[Any]) -> None:
    skip = importlib.import_module("torch._dynamo.decorators").skip
    for function in functions:
        skip(function)


def _skip_reader(pattern: ModuleType) -> None:
    _skip([pattern.read_selector])


def _skip_writers(module: ModuleType) -> None:
    _skip(_writers(module))


_PACKAGE: Final = __name__.partition(".")[0]
_WRITERS: Final = (
    "nn.containers",
    "nn.instance",
    "nn.pytree",
    "nn.states",
    "nn.variables",
)
_pending: Final[dict[str, Callable[[ModuleType], None]]] = {
    "ops.map": _substitute,
    "selection.pattern": _skip_reader,
    **dict.fromkeys(_WRITERS, _skip_writers),
}
"""What the compiler is still to be told, by the module that it is about."""


def _writers(module: ModuleType) -> Iterator[FunctionType]:
    """Yield the functions of a module that write to objects past `__setattr__`.

    The module has `object.__setattr__`, or that of a slot, under a name of its own. The
    compiler takes that for `setattr`, calls our `__setattr__` for it, and never ends.
    """
    ways = {
        name
        for name, value in vars(module).items()
        if isinstance(value, WrapperDescriptorType | MethodWrapperType)
    }
    classes = [value for value in vars(module).values() if isinstance(value, type)]
    for owner in (module, *classes):
        for member in [*vars(owner).values()]:
            found = getattr(member, "__func__", member)
            if (
                isinstance(found, FunctionType)
                and found.__module__ == module.__name__
                and not ways.isdisjoint(found.__code__.co_names)
            ):
                yield found


class _Context(Context):
    """A context that asks nobody but the rules, and remembers nothing."""

    __slots__ = ()

    @property
    def plain(self) -> Context:
        return _Context(self.view)

    def flatten(self, tree: Any) -> tuple[list[Any], PyTreeDef]:
        leaves: list[Any] = []
        steps: list[Step] = []
        self._visit(tree, leaves, steps)
        treedef = PyTreeDef._of(steps, self.view.mode)
        treedef._runner = reference if treedef._code else leaf_runner
        return leaves, treedef

    def columns(
        self,
        tree: Any,
        rest: tuple[Any, ...],
        *,
        strict: bool = False,
        with_paths: bool = False,
    ) -> tuple[list[list[Any]], PyTreeDef]:
        leaves, treedef = self.flatten(tree)
        return self._columns(leaves, treedef, rest, strict, with_paths), treedef

    def _visit(self, node: Any, leaves: list[Any], steps: list[Step]) -> None:
        rule = None if self.stops_at(node, ROOT) else self.view.find(type(node))
        if rule is None:
            leaves.append(node)
            steps.append(None)
            return
        children, aux = rule.flatten(node)
        for child in children:
            self._visit(child, leaves, steps)
        steps.append((rule, len(children), aux))


def _context_of(
    is_leaf: IsLeaf = None,
    takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> Context:
    return _stopping_context(view_of(namespace, none_is_leaf), is_leaf, takes_path)


def _stopping_context(view: View, is_leaf: IsLeaf, takes_path: bool = False) -> Context:
    return _Context(view, predicate(is_leaf, takes_path))


def _flatten(
    tree: Any,
    is_leaf: IsLeaf = None,
    *,
    is_leaf_takes_path: bool = False,
    none_is_leaf: bool = False,
    namespace: str = GLOBAL,
) -> tuple[list[Any], PyTreeDef]:
    context = _context_of(is_leaf, is_leaf_takes_path, none_is_leaf, namespace)
    return context.flatten(tree)


def _build(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    code = [(*entry[:3], _traceable(entry[3])) for entry in treedef._code]
    return rebuild(code, treedef._checked(leaves))


def _leaf_paths(code: Code, count: int) -> list[KeyPath]:
    stack: list[tuple[Any, ...]] = [()]
    found = []
    for run, rule, arity, aux in reversed(code):
        above = stack.pop()
        stack += [(*above, key) for key in rule.keys(aux, arity)]
        found += [stack.pop() for _ in range(run)]
    return [KeyPath(keys) for keys in (reversed(found) if code else stack)]


class _Order:
    """A `KeyOrder` whose functions are plain Python."""

    def __init__(self, perm: tuple[int, ...], is_structure: bool) -> None:
        self.perm = perm
        self.is_structure = is_structure

    def gather(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Put values as inserted into leaf order."""
        return tuple([values[place] for place in self.perm or range(len(values))])

    def scatter(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Put values in leaf order into the order of insertion."""
        found = [*values]
        for place, value in zip(self.perm, values, strict=False):
            found[place] = value
        return tuple(found)


def _key_order(keys: tuple[Any, ...]) -> Any:
    order = find_order(keys)
    return None if order is None else _Order(order.perm, order.is_structure)


def _traceable(aux: Any) -> Any:
    """Return aux data with an order that can be traced, if it has one."""
    if type(aux) is tuple and len(aux) > 1 and type(aux[1]) is KeyOrder:
        return aux[0], _Order(aux[1].perm, aux[1].is_structure), *aux[2:]
    return aux

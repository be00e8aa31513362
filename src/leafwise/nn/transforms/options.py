"""Options of transforms: which arguments they mean, where values are put by them.

`static_argnums` and `donate_argnames` mean arguments by number or by name. An option
such as `in_axes` is one value for all, or a tree of values, each of which stands for
whatever is below its place. Values are known by their paths: what it belongs to (`ARGS`
and a position, `KWARGS` and a name, `HELD`, `RESULT`), then names, positions and keys.

`prefix` makes an object of axes. Knows no framework, and nothing of transforms.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import index
from typing import Any, Final, TypeAlias, TypeVar

from ...core.matching import describe
from ...core.registry import current
from ...errors import StructureError
from ...safely import clip
from ..checks import DataNode
from ..filters import Filter, partition
from ..graph import flatten_graph, kinds_of, unflatten_graph
from ..instance import below, rule_of
from ..variables import Variable


__all__ = ["prefix"]

T = TypeVar("T")
Call: TypeAlias = Callable[..., Any]
Numbers: TypeAlias = int | Iterable[int] | None
Names: TypeAlias = str | Iterable[str] | None
Path: TypeAlias = tuple[Any, ...]
Pairs: TypeAlias = Mapping[Any, Any] | Iterable[tuple[Filter, Any]]
Roots: TypeAlias = tuple[tuple[Any, ...], dict[str, Any], Any]

ARGS: Final = 0
KWARGS: Final = 1
HELD: Final = 2
RESULT: Final = 3
_ANY: Final = object()


def prefix(tree: T, axes: Pairs | Callable[[Path, Any], Any], /) -> T:
    """Return a tree with objects in it, with an axis in place of each value.

    Args:
        tree: An object, or containers with objects in them.
        axes: Axes by filter: a mapping, or pairs of filters and axes; the first filter
            that matches a value applies. Or a function that takes the path and the
            value or variable, and returns the axis.

    Returns:
        A new tree of the same structure, for `in_axes` and `out_axes`.

    Raises:
        TypeError: A filter is not valid.
        ValueError: No filter matches a value, or a filter comes after `...`.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> model = nn.Dict(w=nn.Param(2.0), seen=nn.BatchStat(3.0))
        >>> axes = nn.prefix(model, {nn.Param: 0, ...: None})
        >>> axes.w.get_raw_value(), axes.seen.get_raw_value()
        (0, None)

    Modelled on `flax.nnx.prefix`.
    """
    flat = flatten_graph(tree)
    rows = [*zip(flat.paths, flat.leaves, kinds_of(flat.code), strict=True)]
    axis_of: dict[int, Any] = {}
    if callable(axes):
        axis_of = {n: axes(path, leaf) for n, (path, leaf, _) in enumerate(rows)}
    else:
        pairs = [*(axes.items() if isinstance(axes, Mapping) else axes)]
        chosen, rest = partition(rows, [only for only, _ in pairs])
        for index in rest:
            path = flat.paths[index]
            raise ValueError(f"no filter of prefix matches the value at {path}")
        for indexes, (_, axis) in zip(chosen, pairs, strict=True):
            axis_of |= dict.fromkeys(indexes, axis)
    leaves = [
        leaf.replace(axis_of[n]) if isinstance(leaf, Variable) else axis_of[n]
        for n, leaf in enumerate(flat.leaves)
    ]
    made: T = unflatten_graph(flat.code, leaves)
    return made


# ------------------------------------------------------------- arguments and places


def named(path: Path) -> str:
    """Return in words where a value stands.

    Example:
        >>> from leafwise.nn.transforms.options import named
        >>> named((0, 1, "k"))
        "argument 1 at ('k',)"
    """
    kind, rest = path[0], path[1:]
    depth = 1 if kind in (ARGS, KWARGS) else 0
    words = "argument ", "keyword ", "the object that the function is bound to"
    where = (*words, "the result")[kind] + "".join(map(str, rest[:depth]))
    return f"{where} at {rest[depth:]}" if rest[depth:] else where


# ---------------------------------------------------------------- which arguments


class ArgumentSelection:
    """The arguments that an option means, by number and by name.

    Where only numbers, or only names, are given, the signature of the function says
    what else they mean, as in jax. Negative numbers count from the end of the
    positional parameters; of the arguments, if the function takes any number of them.

    Args:
        word: `"static"` or `"donate"`, the beginning of the options' names.
        function: The function.
        numbers: What `..._argnums` is.
        names: What `..._argnames` is.

    Raises:
        TypeError: They are not numbers, or not names.
        ValueError: The function has no such argument.
    """

    __slots__ = ("names", "numbers")

    def __init__(
        self, word: str, function: Call, numbers: Numbers, names: Names
    ) -> None:
        several: Any = (numbers,) if hasattr(numbers, "__index__") else numbers or ()
        texts = (names,) if isinstance(names, str) else names or ()
        try:
            self.numbers = {*map(index, several)}
        except TypeError:
            raise TypeError(
                f"{word}_argnums must be an int or several, got {clip(numbers)}"
            ) from None
        self.names = {*texts}
        if not all(isinstance(name, str) for name in self.names):
            text = f"{word}_argnames must be a string or several, got {clip(names)}"
            raise TypeError(text)
        if not self:
            return
        try:
            parameters = [*inspect.signature(function).parameters.values()]
        except (TypeError, ValueError):  # nobody knows what it takes
            return
        kinds = {one.kind for one in parameters}
        places = [one for one in parameters if one.kind in _POSITIONAL]
        if inspect.Parameter.VAR_POSITIONAL not in kinds:
            for number in self.numbers:
                if not -len(places) <= number < len(places):
                    raise ValueError(
                        f"{word}_argnums has {number}, but the function takes only "
                        f"{len(places)} positional arguments"
                    )
            self.numbers = {number % len(places) for number in self.numbers}
        known = [one.name for one in parameters if one.kind in _NAMED]
        for name in self.names.difference(known):
            if inspect.Parameter.VAR_KEYWORD not in kinds:
                raise ValueError(
                    f"{word}_argnames has {name!r}, but the function takes no such "
                    "argument"
                )
        if names is None:
            meant = [one for n, one in enumerate(places) if n in self.numbers]
            self.names = {one.name for one in meant if one.kind in _NAMED}
        if numbers is None:
            self.numbers = {n for n, p in enumerate(places) if p.name in self.names}

    def __bool__(self) -> bool:
        return bool(self.numbers or self.names)

    def means(self, path: Path, count: int) -> bool:
        """Return whether an argument is meant.

        Args:
            path: The path of something in it.
            count: How many positional arguments there are.
        """
        if path[0] == ARGS:
            return path[1] in self.numbers or path[1] - count in self.numbers
        return path[0] == KWARGS and path[1] in self.names


_NAMED: Final = (
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)
_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, _NAMED[0])


# ------------------------------------------------------------------- prefix trees


def prefix_leaves(
    name: str,
    spec: Any,
    value: Any = _ANY,
    path: Path = (),
    seen: set[int] | None = None,
) -> Iterator[tuple[Path, Any]]:
    """Yield the paths and the leaves of a prefix tree.

    None is a leaf. Objects of axes may be shared, and may contain one another.

    Args:
        name: The name of the option.
        spec: The prefix tree.
        value: The tree that it has to be a prefix of; by default any.
        path: The path of `value`.
        seen: The ids of the objects that were visited.

    Raises:
        StructureError: It is not a prefix.
    """
    seen = set() if seen is None else seen
    rule = None if spec is None else rule_of(type(spec))
    if rule is None or isinstance(spec, Variable):
        yield path, spec.get_raw_value() if isinstance(spec, Variable) else spec
        return
    if isinstance(spec, DataNode):
        if id(spec) in seen:
            return
        seen.add(id(spec))
    children = dict(below(spec))
    there = dict.fromkeys(children, _ANY)
    if value is not _ANY:
        there, theirs = dict(below(value)), rule_of(type(value))
        alike = type(spec) is type(value) or (
            theirs is not None and rule.pairs_by_key and theirs.pairs_by_key
        )
        if not alike or there.keys() != children.keys():
            expected, actual = (describe(tree, current.view) for tree in (spec, value))
            where = f" at {named(path)}" if len(path) > 1 else ""
            raise StructureError(
                f"{name} is not a prefix of the structure it applies to{where}: "
                f"expected {expected}, got {actual}",
                expected=expected,
                actual=actual,
            )
    for part, child in children.items():
        yield from prefix_leaves(name, child, there[part], (*path, part), seen)


class Places:
    """The list that each value is put into, by the longest prefix of its path.

    Args:
        name: The name of the option.
        paths: The paths that the lists stand for.
        start: The index of the first list.
    """

    def __init__(self, name: str, paths: Iterable[Path], start: int) -> None:
        self._name = name
        self._indexes = {path: start + index for index, path in enumerate(paths)}

    def __call__(self, path: Path) -> int:
        """Return the index of the list that a value is put into.

        Raises:
            StructureError: The option has no entry for the value.
        """
        index = self.find(path)
        if index is None:
            raise StructureError(f"{self._name} has no entry for {named(path)}")
        return index

    def find(self, path: Path) -> int | None:
        """Return the index of the list of a value, None if there is no entry for it."""
        known = (self._indexes.get(path[:end]) for end in range(len(path), 0, -1))
        return next((index for index in known if index is not None), None)


class Groups:
    """The lists that values are put into: one for each leaf of `in_axes`, `out_axes`.

    Args:
        args: The axes of positional arguments; if it is a tuple, with an entry for
            each.
        out: The axes of results.
        kwargs: The axis of keyword arguments.

    Attributes:
        inputs: For each list of values from arguments, the axis.
        outputs: For each list of values from results, the axis.
    """

    def __init__(self, args: Any, out: Any, *, kwargs: Any = None) -> None:
        self._args = args
        self._out = out
        self.inputs = [leaf for _, leaf in prefix_leaves("in_axes", args)]
        self.inputs += [kwargs, None]
        self.outputs = [leaf for _, leaf in prefix_leaves("out_axes", out)]

    def of_call(self, roots: Roots) -> Places:
        """Return which list each value of a call is put into.

        Args:
            roots: Arguments, keywords and what the function is bound to.

        Raises:
            StructureError: The option does not fit.
        """
        args, spec = roots[0], self._args
        if isinstance(spec, tuple) and len(spec) != len(args):
            raise StructureError(
                f"in_axes is of length {len(spec)}, and there are {len(args)} arguments"
            )
        paths = [path for path, _ in prefix_leaves("in_axes", spec, args, (ARGS,))]
        return Places("in_axes", [*paths, (KWARGS,), (HELD,)], 0)

    def of_result(self, result: Any) -> Places:
        """Return which list each value of a result is put into."""
        leaves = prefix_leaves("out_axes", self._out, result, (RESULT,))
        return Places("out_axes", [path for path, _ in leaves], len(self.inputs))


ONE_GROUP: Final = Groups(None, None)
"""No options for arguments or results."""

"""Options of transforms: which arguments they mean, where values are put by them.

`static_argnums` and `donate_argnames` mean arguments by number or by name. An option
such as `in_axes` is one value for all, or a tree of values, each of which stands for
whatever is below its place. Values are known by their paths: what it belongs to (`ARGS`
and a position, `KWARGS` and a name, `HELD`, `RESULT`), then names, positions and keys.

`prefix` makes an object of axes. Knows no framework, and nothing of transforms.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import index
from typing import Any, Final, TypeAlias, TypeVar

from ...core.keypath import KeyPath
from ...core.keys import DictKey, GetAttrKey
from ...core.matching import describe
from ...core.registry import current
from ...core.walk import unlink
from ...errors import StructureError
from ...safely import clip
from ..checks import DataNode
from ..filters import Filter, judge, predicates
from ..graph import flatten_graph, kinds_of, unflatten_graph
from ..instance import Shell, keys_of, rule_of
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
    flat = flatten_graph((tree,))
    axis_of = axes if callable(axes) else None
    pairs = [] if axis_of else [*_pairs(axes)]
    meant = predicates(tuple(filter for filter, _ in pairs))
    found = []
    for link, leaf, kind in zip(
        flat.links, flat.leaves, kinds_of(flat.code), strict=True
    ):
        path = unlink(link)[1:]
        if axis_of is not None:
            axis = axis_of(path, leaf)
        else:
            chosen = (n for n, one in enumerate(meant) if judge(one, path, leaf, kind))
            index = next(chosen, None)
            if index is None:
                raise ValueError(f"no filter of prefix matches the value at {path}")
            axis = pairs[index][1]
        found.append(leaf.replace(axis) if isinstance(leaf, Variable) else axis)
    made: T = unflatten_graph(flat.code, found)[0]
    return made


def _pairs(axes: Any) -> list[tuple[Filter, Any]]:
    pairs = axes.items() if isinstance(axes, Mapping) else axes
    try:
        return [(filter, axis) for filter, axis in pairs]
    except (TypeError, ValueError):
        raise TypeError(
            "prefix takes a mapping of filters and axes, pairs of them, or a function, "
            f"got {clip(axes)}"
        ) from None


# ------------------------------------------------------------- arguments and places


def named(path: Path, roots: Sequence[Any] = ()) -> str:
    """Return in words where a value stands.

    Args:
        path: Its path.
        roots: Arguments, keywords, what the function is bound to, and the result, as
            far as they are known; the path is shown as a key path then.

    Example:
        >>> from leafwise.nn.transforms.options import named
        >>> named((0, 1, "k"), [(1, {"k": 2}), {}])
        "argument 1 at ['k']"
    """
    kind, rest = path[0], path[1:]
    where = f"argument {rest[0]}" if kind == ARGS else ""
    if kind == KWARGS:
        where = f"keyword {rest[0]}"
    depth = 2 if where else 1
    where = where or (
        "the result" if kind == RESULT else "the object that the function is bound to"
    )
    below = key_path(path, roots) if kind < len(roots) else path[depth:]
    return f"{where} at {below}" if below else where


def key_path(path: Path, roots: Sequence[Any]) -> KeyPath:
    """Return the key path of a value in an argument, or in what else it stands in."""
    depth = 2 if path[0] in (ARGS, KWARGS) else 1
    return KeyPath(_keys(roots[path[0]], path[1:])[depth - 1 :])


def _keys(value: Any, parts: Path) -> list[Any]:
    """Return the keys on the way to a value, as far as they are there, and one more."""
    found: list[Any] = []
    for part in parts:
        rule = rule_of(type(value))
        children, aux = ((), None) if rule is None else rule.flatten(value)
        known = [*keys_of(rule, aux, len(children))] if rule is not None else []
        if rule is None or part not in known:
            is_name = isinstance(value, Shell) and isinstance(part, str)
            found.append(GetAttrKey(part) if is_name else DictKey(part))
            break
        place = known.index(part)
        found.append(rule.keys(aux, len(children))[place])
        value = children[place]
    return found


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

    __slots__ = ("names", "numbers", "word")

    def __init__(
        self, word: str, function: Call, numbers: Numbers, names: Names
    ) -> None:
        self.word = word
        listed = _numbers(f"{word}_argnums", numbers)
        texts = _names(f"{word}_argnames", names)
        self.numbers, self.names = listed, texts
        found = _parameters(function) if listed or texts else None
        if found is None:
            return
        positional, others, any_number, any_name = found
        if not any_number:
            self.numbers = {
                _checked(number, len(positional), f"{word}_argnums")
                for number in listed
            }
        for name in texts.difference(positional, others) if not any_name else ():
            raise ValueError(
                f"{word}_argnames has {name!r}, but the function takes no such argument"
            )
        if names is None:
            named_ = {positional[n] for n in self.numbers if 0 <= n < len(positional)}
            self.names = {name for name in named_ if name is not None}
        if numbers is None:
            self.numbers = {n for n, name in enumerate(positional) if name in texts}

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

    def leave_out(self, spec: Any) -> Any:
        """Return an option for other arguments with None for those that are meant."""
        if not isinstance(spec, list | tuple):
            return spec
        listed = [*spec]
        for number in sorted(self.numbers):
            if number < 0:
                raise ValueError(
                    "in_shardings for each argument need static_argnums from 0 on"
                )
            listed.insert(number, None)
        return tuple(listed)

    def refuse_common(self, other: ArgumentSelection) -> None:
        """Refuse arguments that another option means as well.

        Raises:
            ValueError: There are some.
        """
        common = self.names & other.names or self.numbers & other.numbers
        if common:
            said = ", ".join(map(repr, sorted(common, key=str)))
            raise ValueError(
                f"an argument cannot be static and donated at once: {said}"
            )


def _numbers(option: str, numbers: Numbers) -> set[int]:
    several: Any = () if numbers is None else numbers
    try:
        if hasattr(several, "__index__"):
            several = (several,)
        return {*map(index, several)}
    except TypeError:
        raise TypeError(
            f"{option} must be an int or several, got {clip(numbers)}"
        ) from None


def _names(option: str, names: Names) -> set[str]:
    several: Any = () if names is None else names
    listed = [several] if isinstance(several, str) else [*several]
    if not all(isinstance(name, str) for name in listed):
        raise TypeError(f"{option} must be a string or several, got {clip(names)}")
    return {*listed}


def _checked(number: int, count: int, option: str) -> int:
    if not -count <= number < count:
        takes = (
            "1 positional argument" if count == 1 else f"{count} positional arguments"
        )
        raise ValueError(f"{option} has {number}, but the function takes only {takes}")
    return number % count


def _parameters(
    function: Call,
) -> tuple[list[str | None], list[str], bool, bool] | None:
    """Return what a function takes, or None if that is not known.

    Returns:
        The names of positional parameters, None for those that are positional only;
        the names of the others; whether it takes any number of arguments; and any name.
    """
    try:
        listed = [*inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        return None
    by_kind: dict[Any, list[str]] = {}
    for one in listed:
        by_kind.setdefault(one.kind, []).append(one.name)
    positional = [None for _ in by_kind.get(inspect.Parameter.POSITIONAL_ONLY, ())]
    return (
        [*positional, *by_kind.get(inspect.Parameter.POSITIONAL_OR_KEYWORD, ())],
        by_kind.get(inspect.Parameter.KEYWORD_ONLY, []),
        inspect.Parameter.VAR_POSITIONAL in by_kind,
        inspect.Parameter.VAR_KEYWORD in by_kind,
    )


# ------------------------------------------------------------------- prefix trees


class Option:
    """An option that is a prefix tree.

    Attributes:
        name: Its name.
        leaves: Its values, from left to right.
        paths: Where in the option they stand.
    """

    __slots__ = ("leaves", "name", "paths", "spec")

    def __init__(self, name: str, spec: Any) -> None:
        self.name = name
        self.spec = spec
        pairs = [*_leaves(name, spec)]
        self.leaves = [leaf for _, leaf in pairs]
        self.paths = [path for path, _ in pairs]

    def places(self, value: Any, start: Path) -> list[Path]:
        """Return for each value of the option the path that it stands for.

        Args:
            value: What the option is for.
            start: The path of that.

        Raises:
            StructureError: The option is not a prefix of it.
        """
        return [path for path, _ in _leaves(self.name, self.spec, value, start)]


def _leaves(
    name: str,
    spec: Any,
    value: Any = _ANY,
    path: Path = (),
    keys: tuple[Any, ...] = (),
    seen: set[int] | None = None,
) -> Iterator[tuple[Path, Any]]:
    """Yield the paths and the leaves of a prefix tree.

    None is a leaf. Objects of axes may be shared, and may contain one another.

    Args:
        name: The name of the option.
        spec: The prefix tree.
        value: The tree that it has to be a prefix of; by default any.
        path: The path of `value`.
        keys: The keys that lead to `spec`.
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
    children, aux = rule.flatten(spec)
    parts = keys_of(rule, aux, len(children))
    if value is _ANY:
        below = dict.fromkeys(parts, _ANY)
    else:
        below = _parts(value)
        theirs = rule_of(type(value))
        alike = type(spec) is type(value) or (
            theirs is not None and rule.pairs_by_key and theirs.pairs_by_key
        )
        if not alike or below.keys() != {*parts}:
            raise _misfit(f"{name}{KeyPath(keys)}", spec, value)
    for part, key, child in zip(
        parts, rule.keys(aux, len(children)), children, strict=True
    ):
        yield from _leaves(name, child, below[part], (*path, part), (*keys, key), seen)


def _parts(value: Any) -> dict[Any, Any]:
    """Return the children of a value by name, position or key."""
    rule = rule_of(type(value))
    if rule is None:
        return {}
    children, aux = rule.flatten(value)
    return dict(zip(keys_of(rule, aux, len(children)), children, strict=True))


def _misfit(name: str, spec: Any, value: Any) -> StructureError:
    expected, actual = (describe(tree, current.view) for tree in (spec, value))
    return StructureError(
        f"{name} is not a prefix of the structure it applies to: expected {expected}, "
        f"got {actual}",
        expected=expected,
        actual=actual,
    )


class Places:
    """The list that each value is put into, by the longest prefix of its path.

    Args:
        name: The name of the option.
        indexes: The indexes of the lists by the paths that the option has.
        roots: What the paths lead through, as far as it is known.
    """

    __slots__ = ("_indexes", "_name", "_roots")

    def __init__(
        self, name: str, indexes: Mapping[Path, int], roots: Sequence[Any] = ()
    ) -> None:
        self._name = name
        self._indexes = indexes
        self._roots = roots

    def __call__(self, path: Path) -> int:
        """Return the index of the list that a value is put into.

        Raises:
            StructureError: The option has no entry for the value.
        """
        index = self.find(path)
        if index is None:
            where = named(path, self._roots)
            raise StructureError(f"{self._name} has no entry for {where}")
        return index

    def find(self, path: Path) -> int | None:
        """Return the index of the list of a value, None if there is no entry for it."""
        known = (self._indexes.get(path[:end]) for end in range(len(path), 0, -1))
        return next((index for index in known if index is not None), None)


class Groups:
    """The lists that values are put into: one for each leaf of the options.

    Args:
        args: The option for positional arguments; if it is a tuple, with an entry for
            each.
        out: The option for results.
        kwargs: The leaf for keyword arguments.
        may_lack: The positions of arguments that may be missing in a call.

    Attributes:
        inputs: For each list of values from arguments, the leaf of the option.
        outputs: For each list of values from results, the leaf of the option.
    """

    __slots__ = ("_args", "_may_lack", "_out", "inputs", "outputs")

    def __init__(
        self,
        args: Option,
        out: Option,
        *,
        kwargs: Any = None,
        may_lack: Iterable[int] = (),
    ) -> None:
        self._args = args
        self._out = out
        self._may_lack = may_lack
        self.inputs = [*args.leaves, kwargs, None]
        self.outputs = out.leaves

    def of_call(self, roots: Roots) -> Places:
        """Return which list each value of a call is put into.

        Args:
            roots: Arguments, keywords and what the function is bound to.

        Raises:
            StructureError: The option does not fit.
        """
        args = roots[0]
        if isinstance(self._args.spec, tuple):
            args = (*args, *(None for n in self._may_lack if n >= len(args)))
            count = len(self._args.spec)
            if count != len(args):
                entries = "1 entry" if count == 1 else f"{count} entries"
                plural = "" if len(args) == 1 else "s"
                raise StructureError(
                    f"{self._args.name} has {entries} for {len(args)} argument{plural}"
                )
        paths = [*self._args.places(args, (ARGS,)), (KWARGS,), (HELD,)]
        indexes = {path: index for index, path in enumerate(paths)}
        return Places(self._args.name, indexes, roots)

    def of_result(self, result: Any) -> Places:
        """Return which list each value of a result is put into."""
        paths = self._out.places(result, (RESULT,))
        start = len(self.inputs)
        indexes = {path: start + index for index, path in enumerate(paths)}
        return Places(self._out.name, indexes)


ONE_GROUP: Final = Groups(Option("", None), Option("", None))
"""No options for arguments or results."""

"""Options of transforms: which arguments they mean, where values are put by them.

`static_argnums` and `donate_argnames` mean arguments by number or by name. An option
such as `in_axes` is one value for all, or a tree of values, each of which stands for
whatever is below its place. Values are known by their paths: what it belongs to (`ARGS`
and a position, `KWARGS` and a name, `HELD`, `RESULT`), then names, positions and keys.

What options say of the values in objects: `StateAxes` gives axes, `DiffState` what is
differentiated, `Carry` what goes from one step of a loop to the next; `prefix` makes an
object of axes. Knows no framework, and nothing of transforms.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from operator import index
from typing import Any, Final, TypeAlias, TypeVar

from ..core.keypath import KeyPath
from ..core.keys import DictKey, GetAttrKey
from ..core.matching import describe
from ..core.registry import current
from ..core.walk import unlink
from ..errors import StructureError
from ..kinds import Kind
from ..nn.checks import DataNode
from ..nn.filters import Filter, PathIn, judge, predicates
from ..nn.graph import FlatGraph, flatten_graph, kinds_of, unflatten_graph
from ..nn.instance import Shell, keys_of, rule_of
from ..nn.states import State, to_flat_state
from ..nn.variables import Variable
from ..safely import Frozen, clip, described, shown


__all__ = [
    "ARGS",
    "HELD",
    "KWARGS",
    "ONE_GROUP",
    "RESULT",
    "Call",
    "Carry",
    "DiffState",
    "Group",
    "Groups",
    "Names",
    "Numbers",
    "Option",
    "Path",
    "Places",
    "Roots",
    "StateAxes",
    "Which",
    "key_path",
    "named",
    "prefix",
]

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


# ------------------------------------------------- what they say of values in objects


class Carry:
    """Marker in the axes of `scan` for a value that is passed on from step to step.

    Use the class itself: `in_axes=(Carry, 0)`.

    Example:
        >>> from leafwise import nn
        >>> nn.StateAxes({nn.Param: 0, ...: nn.Carry})
        StateAxes({Param: 0, ...: Carry})

    Modelled on `flax.nnx.Carry`.
    """


class StateAxes(Frozen, Mapping[Filter, Any]):
    """Axes for the values in objects, by filter; the first matching filter applies.

    Use it in the axes of `vmap` and `scan` in place of an object, or of a tree with
    objects in it. Filters see paths that start at the outermost object.

    Args:
        axes: A mapping from filters to axes, pairs of these, or a `State` of axes.

    Attributes:
        filters: The filters, see :mod:`leafwise.nn.filters`.
        axes: For each filter, an int, None, or `Carry`.

    Raises:
        TypeError: A filter or an axis is not valid.
        ValueError: A filter comes after `...`.

    Example:
        >>> from leafwise import nn
        >>> axes = nn.StateAxes({nn.Param: 0, ...: None})
        >>> axes[nn.Param], axes.axes
        (0, (0, None))

    Modelled on `flax.nnx.StateAxes`.
    """

    __slots__ = ("_meant", "axes", "filters")
    __match_args__ = ("filters", "axes")

    filters: tuple[Filter, ...]
    axes: tuple[Any, ...]
    _meant: tuple[Callable[[Path, Any], bool], ...]

    def __init__(self, axes: Pairs | State) -> None:
        pairs = _pairs(axes)
        filters = tuple(filter for filter, _ in pairs)
        self._set(filters, tuple(axis for _, axis in pairs))
        for axis in self.axes:
            if axis is not None and axis is not Carry and not _is_index(axis):
                raise TypeError(
                    f"the axes in StateAxes must be ints, None or Carry, got "
                    f"{described(axis)}"
                )
        object.__setattr__(self, "_meant", predicates(filters))

    def place(self, path: Path, value: Any, kind: Kind = Kind.DATA) -> int | None:
        """Return the position of the first filter that matches a value, or None."""
        for number, meant in enumerate(self._meant):
            if judge(meant, path, value, kind):
                return number
        return None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(zip(self.filters, self.axes, strict=True)),)

    def __getitem__(self, filter: Filter) -> Any:
        for known, axis in zip(self.filters, self.axes, strict=True):
            if known is filter or known == filter:
                return axis
        raise KeyError(filter)

    def __iter__(self) -> Iterator[Filter]:
        return iter(self.filters)

    def __len__(self) -> int:
        return len(self.filters)

    __eq__ = Frozen.__eq__
    __hash__ = Frozen.__hash__

    def __repr__(self) -> str:
        pairs = zip(self.filters, self.axes, strict=True)
        return (
            f"StateAxes({{{', '.join(f'{_said(a)}: {_said(b)}' for a, b in pairs)}}})"
        )


class DiffState(Frozen):
    """An entry of `argnums` that selects the values of an object to differentiate.

    Args:
        argnum: The position of the argument.
        filter: A filter, see :mod:`leafwise.nn.filters`.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> import pytest
        >>> jnp = pytest.importorskip("jax.numpy")
        >>> model = lw.Dict(w=nn.Param(2.0), seen=nn.BatchStat(3.0))
        >>> by_seen = nn.grad(lambda m: m.w * m.seen, nn.DiffState(0, nn.BatchStat))
        >>> float(by_seen(model).seen)
        2.0

    Modelled on `flax.nnx.DiffState`.
    """

    __slots__ = ("argnum", "filter")
    __match_args__ = ("argnum", "filter")

    argnum: int
    filter: Filter

    def __init__(self, argnum: int, filter: Filter) -> None:
        if not _is_index(argnum):
            raise TypeError(f"argnum must be an int, got {described(argnum)}")
        self._set(argnum, filter)


def prefix(tree: T, axes: Pairs | StateAxes | Callable[[Path, Any], Any], /) -> T:
    """Return a tree with objects in it, with an axis in place of each value.

    Args:
        tree: An object, or containers with objects in them.
        axes: Axes by filter, as `StateAxes` takes them; or a function that takes the
            path and the value or variable, and returns the axis.

    Returns:
        A new tree of the same structure, for `in_axes` and `out_axes`.

    Raises:
        ValueError: No filter matches a value.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> model = lw.Dict(w=nn.Param(2.0), seen=nn.BatchStat(3.0))
        >>> axes = nn.prefix(model, {nn.Param: 0, ...: None})
        >>> axes.w.get_raw_value(), axes.seen.get_raw_value()
        (0, None)

    Modelled on `flax.nnx.prefix`.
    """
    known = axes if callable(axes) or isinstance(axes, StateAxes) else StateAxes(axes)
    flat = flatten_graph((tree,))

    def axis_of(path: Path, leaf: Any, kind: Kind) -> Any:
        if not isinstance(known, StateAxes):
            return known(path, leaf)
        place = known.place(path, leaf, kind)
        if place is None:
            raise ValueError(f"{shown(known)} has no entry for the value at {path}")
        return known.axes[place]

    found = [
        axis_of(unlink(link)[1:], leaf, kind)
        for link, leaf, kind in zip(
            flat.links, flat.leaves, kinds_of(flat.code), strict=True
        )
    ]
    leaves = (
        leaf.replace(axis) if isinstance(leaf, Variable) else axis
        for leaf, axis in zip(flat.leaves, found, strict=True)
    )
    made: T = unflatten_graph(flat.code, leaves)[0]
    return made


def _pairs(axes: Any) -> list[tuple[Filter, Any]]:
    """Return filters with axes; those of a `State` are paths."""
    if isinstance(axes, State):
        return [
            (
                PathIn(path),
                leaf.get_raw_value() if isinstance(leaf, Variable) else leaf,
            )
            for path, leaf in to_flat_state(axes).items()
        ]
    pairs = axes.items() if isinstance(axes, Mapping) else axes
    try:
        return [(filter, axis) for filter, axis in pairs]
    except (TypeError, ValueError):
        raise TypeError(
            "StateAxes takes a mapping of filters and axes, or pairs of them, got "
            f"{clip(axes)}"
        ) from None


def _is_index(value: Any) -> bool:
    return hasattr(value, "__index__")


def _said(value: Any) -> str:
    if value is ...:
        return "..."
    return value.__name__ if isinstance(value, type) else shown(value)


# ------------------------------------------------------------- arguments and places


def named(path: Path, roots: Sequence[Any] = ()) -> str:
    """Return in words where a value stands.

    Args:
        path: Its path.
        roots: Arguments, keywords, what the function is bound to, and the result, as
            far as they are known; the path is shown as a key path then.

    Example:
        >>> from leafwise.integrations.options import named
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


class Which:
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

    def refuse_common(self, other: Which) -> None:
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
    name: str, spec: Any, value: Any = _ANY, start: Path = ()
) -> Iterator[tuple[Path, Any]]:
    """Yield the paths and values of a prefix tree, which has to fit if it is said what.

    None is a value. Objects of values may share and contain one another.
    """
    seen: set[int] = set()
    stack: list[Any] = [(spec, value, start, [])]
    while stack:
        spec, value, path, keys = stack.pop()
        rule = None if spec is None else rule_of(type(spec))
        if rule is None or isinstance(spec, Variable):
            yield path, spec.get_raw_value() if isinstance(spec, Variable) else spec
            continue
        if isinstance(spec, DataNode):
            if id(spec) in seen:
                continue
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
        named_parts = zip(parts, rule.keys(aux, len(children)), children, strict=True)
        stack += [
            (child, below[part], (*path, part), [*keys, key])
            for part, key, child in reversed([*named_parts])
        ]


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


Group: TypeAlias = "int | tuple[int, StateAxes]"
"""The number of a list; or that of the first of several, and which values are where."""


class Places:
    """Which list each value is put into, by its path.

    Args:
        name: The name of the option that says so.
        found: The lists by the paths that it speaks of.
        roots: What the paths lead through, as far as it is known.
    """

    __slots__ = ("_found", "_name", "_roots")

    def __init__(
        self, name: str, found: Mapping[Path, Group], roots: Sequence[Any] = ()
    ) -> None:
        self._name = name
        self._found = found
        self._roots = roots

    def __call__(
        self,
        path: Path,
        leaf: Any = None,
        kind: Kind = Kind.DATA,
        objects: Container[Path] = (),
    ) -> int:
        """Return the number of the list that a value is put into.

        Args:
            path: The path of the value.
            leaf: The value, or the variable.
            kind: Its kind.
            objects: The paths of the objects and variables around it, and of others.

        Raises:
            StructureError: The option says nothing of it.
        """
        for end in range(len(path), 0, -1):
            group = self._found.get(path[:end])
            if isinstance(group, tuple):
                starts = (n for n in range(end, len(path)) if path[:n] in objects)
                inside = path[next(starts, len(path)) :]
                place = group[1].place(inside, leaf, kind)
                if place is None:
                    break
                return group[0] + place
            if group is not None:
                return group
        where = named(path, self._roots)
        raise StructureError(f"{self._name} has no entry for {where}")

    def below(self, path: Path) -> dict[Path, Group]:
        """Return what is said of a place and what is below it, by the path from it."""
        depth = len(path)
        found = {
            known[depth:]: group
            for known, group in self._found.items()
            if known[:depth] == path
        }
        above = (self._found.get(path[:end]) for end in range(depth - 1, 0, -1))
        group = next((group for group in above if group is not None), None)
        return found if found or group is None else {(): group}


class Groups:
    """The lists that values are put into, by an option for arguments and for results.

    Args:
        args: The option for positional arguments, a tuple if it says each its own.
        out: The option for results.
        kwargs: What it is for keywords.
        may_lack: The positions of arguments that may be missing in a call.

    Attributes:
        inputs: For each list of values from arguments, what the options say of it.
        outputs: For each list of values from results, what they say of it.
        is_filtered: Whether an option has filters, so that values have to be known.
    """

    __slots__ = (
        "_args",
        "_groups",
        "_may_lack",
        "_out",
        "inputs",
        "is_filtered",
        "outputs",
    )

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
        said = [*args.leaves, kwargs, None]
        every = [*said, *out.leaves]
        self._groups: list[Group] = []
        values: list[Any] = []
        for leaf in every:
            several = isinstance(leaf, StateAxes)
            self._groups.append((len(values), leaf) if several else len(values))
            values += leaf.axes if several else [leaf]
        self.is_filtered = len(values) != len(every)
        count = sum(len(x.axes) if isinstance(x, StateAxes) else 1 for x in said)
        self.inputs, self.outputs = values[:count], values[count:]

    def of_call(self, roots: Roots) -> Places:
        """Return which list each value of a call is put into.

        Args:
            roots: Arguments, keywords and what the function is bound to.

        Raises:
            StructureError: The option does not fit.
        """
        args = roots[0]
        if isinstance(self._args.spec, tuple):
            lacking = [place for place in self._may_lack if place >= len(args)]
            args = (*args, *(None for _ in lacking))
            count = len(self._args.spec)
            if count != len(args):
                entries = "1 entry" if count == 1 else f"{count} entries"
                plural = "" if len(args) == 1 else "s"
                raise StructureError(
                    f"{self._args.name} has {entries} for {len(args)} argument{plural}"
                )
        places = [*self._args.places(args, (ARGS,)), (KWARGS,), (HELD,)]
        found = dict(zip(places, self._groups, strict=False))
        return Places(self._args.name, found, roots)

    def of_result(self, result: Any) -> Places:
        """Return which list each value of a result is put into."""
        places = self._out.places(result, (RESULT,))
        groups = self._groups[len(self._groups) - len(places) :]
        return Places(self._out.name, dict(zip(places, groups, strict=True)))

    def said_below(self, places: Places, path: Path) -> dict[Path, Any]:
        """Return what is said of a place and what is below it, by the path from it."""
        return {
            rest: self.inputs[group] if isinstance(group, int) else group[1]
            for rest, group in places.below(path).items()
        }

    def numbers(
        self,
        flat: FlatGraph,
        paths: Sequence[Path],
        objects: Container[Path],
        places: Callable[[Path], Places],
    ) -> list[int]:
        """Return the number of the list that each value of a graph is put into.

        Args:
            flat: The graph.
            paths: The path of each value.
            objects: The paths of its objects and variables.
            places: Says by the path of a value where to look it up.

        Raises:
            StructureError: The option says nothing of one.
        """
        if not self.is_filtered:
            return [places(path)(path) for path in paths]
        kinds = kinds_of(flat.code)
        return [
            places(path)(path, leaf, kind, objects)
            for path, leaf, kind in zip(paths, flat.leaves, kinds, strict=True)
        ]


ONE_GROUP: Final = Groups(Option("", None), Option("", None))
"""No options for arguments or results."""

"""Transforms that keep shared references and write changes back, and their options.

A transform of functions sees a graph of objects as a structure without leaves and a
list of values. Inside, the objects are unflattened, the function runs, and everything
is flattened again; outside, the caller's own objects are filled with what came out,
and only after all has gone well. Objects in bound methods and partials are arguments
like others.

`static_argnums` and `donate_argnames` mean arguments by number or by name. An option
such as `in_axes` is one value for all, or a tree of values, each of which stands for
whatever is below its place. Values are known by their paths, as `take` gives them:
what it belongs to (`ARGS` and a position, `KWARGS` and a name, `HELD`, `RESULT`), then
names, positions and keys. Knows no framework.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import index, is_
from types import FunctionType, MethodType
from typing import Any, Final, NamedTuple, ParamSpec, TypeAlias, TypeVar

from ..core.keypath import KeyPath
from ..core.matching import describe
from ..core.register import StaticRule
from ..core.registry import current, install
from ..core.walk import unlink
from ..errors import StructureError, TraceError
from ..nn.checks import DataNode, check_level, levels
from ..nn.graph import (
    FlatGraph,
    GraphDef,
    flatten_graph,
    unflatten_graph,
)
from ..nn.instance import keys_of, rule_of
from ..nn.template import identical_entry
from ..nn.variables import Variable
from ..safely import Frozen, class_name, clip, described


__all__ = [
    "ARGS",
    "HELD",
    "KWARGS",
    "ONE_GROUP",
    "RESULT",
    "Call",
    "Groups",
    "Names",
    "Numbers",
    "Option",
    "Outline",
    "Path",
    "Places",
    "Ran",
    "Roots",
    "Which",
    "check_levels",
    "dressed",
    "has_objects",
    "in_lists",
    "named",
    "put_back",
    "run",
    "share",
    "unbind",
]

T = TypeVar("T")
P = ParamSpec("P")
Call: TypeAlias = Callable[..., Any]
Numbers: TypeAlias = int | Iterable[int] | None
Names: TypeAlias = str | Iterable[str] | None
Path: TypeAlias = tuple[Any, ...]
Static: TypeAlias = "dict[tuple[Any, ...], Any]"
Roots: TypeAlias = tuple[tuple[Any, ...], dict[str, Any], Any]

ARGS: Final = 0
KWARGS: Final = 1
HELD: Final = 2
RESULT: Final = 3
_ANY: Final = object()


def named(path: Path, roots: Sequence[Any] = ()) -> str:
    """Return in words where a value stands.

    Args:
        path: Its path.
        roots: Arguments, keywords, what the function is bound to, and the result, as
            far as they are known; the path is shown as a key path then.

    Example:
        >>> from leafwise.integrations.sharing import named
        >>> named((0, 1, "k"), [(1, {"k": 2}), {}])
        "argument 1 at ['k']"
    """
    kind, rest = path[0], path[1:]
    where = f"argument {rest[0]}" if kind == ARGS else ""
    if kind == KWARGS:
        where = f"keyword {rest[0]}"
    depth = 2 if where else 1
    where = where or (
        "the result" if kind == RESULT else "what the function is bound to"
    )
    below: Any = path[depth:]
    if kind < len(roots):
        below = KeyPath(_keys(roots[kind], path[1:])[depth - 1 :])
    return f"{where} at {below}" if below else where


def _keys(value: Any, parts: Path) -> list[Any]:
    """Return the keys on the way to a value, as far as they are there."""
    found = []
    for part in parts:
        rule = rule_of(type(value))
        children, aux = ((), None) if rule is None else rule.flatten(value)
        known = [*keys_of(rule, aux, len(children))] if rule is not None else []
        if rule is None or part not in known:
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
    """

    __slots__ = ("leaves", "name", "spec")

    def __init__(self, name: str, spec: Any) -> None:
        self.name = name
        self.spec = spec
        self.leaves = [leaf for _, leaf in _leaves(name, spec)]

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
        f"{name} is not a prefix of what it is for: expected {expected}, got {actual}",
        expected=expected,
        actual=actual,
    )


class Places:
    """Which list each value is put into, by its path.

    Args:
        name: The name of the option that says so.
        paths: The paths that it speaks of.
        first: The number of the list of the first; the others follow.
    """

    __slots__ = ("_found", "_name")

    def __init__(self, name: str, paths: Iterable[Path], first: int) -> None:
        self._name = name
        self._found = {path: number for number, path in enumerate(paths, first)}

    def __call__(self, path: Path) -> int:
        """Return the number of the list that a value is put into.

        Raises:
            StructureError: The option says nothing of it.
        """
        for end in range(len(path), 0, -1):
            if path[:end] in self._found:
                return self._found[path[:end]]
        raise StructureError(f"{self._name} says nothing of {named(path)}")

    def below(self, path: Path) -> dict[Path, int]:
        """Return what is said of a place and what is below it, by the path from it."""
        depth = len(path)
        found = {
            known[depth:]: number
            for known, number in self._found.items()
            if known[:depth] == path
        }
        known_above = any(path[:end] in self._found for end in range(depth))
        return {(): self(path)} if known_above else found


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
        return Places(self._args.name, places, 0)

    def of_result(self, result: Any) -> Places:
        """Return which list each value of a result is put into."""
        places = self._out.places(result, (RESULT,))
        return Places(self._out.name, places, len(self.inputs))


# --------------------------------------------------------------- functions and objects


def has_objects(value: Any) -> bool:
    """Return whether a value is, or contains, objects or variables."""
    return bool(flatten_graph([value]).tracked)


def dressed(function: Call) -> Callable[[Call], Call]:
    """Return a decorator that makes a function look like another one."""
    if not callable(function):
        raise TypeError(f"a transform takes a function, got {described(function)}")
    updated = ("__dict__",) if isinstance(function, FunctionType) else ()
    return functools.wraps(function, updated=updated)


# ------------------------------------------------------------------ bound functions


def unbind(function: Call) -> tuple[Call, Any]:
    """Take the objects out of a bound method, a partial, or an object to be called.

    Args:
        function: Any function.

    Returns:
        A function that takes, before the arguments, what was taken out, and that.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.integrations.sharing import unbind
        >>> items = lw.List([1])
        >>> function, held = unbind(items.append)
        >>> held is items, function(held, 2), [*items]
        (True, None, [1, 2])
    """
    if isinstance(function, MethodType) and has_objects(function.__self__):
        return function.__func__, function.__self__
    if isinstance(function, functools.partial):
        return _unbind_partial(function)
    if isinstance(function, DataNode):
        return lambda held, *args, **kwargs: held(*args, **kwargs), function
    return lambda _held, *args, **kwargs: function(*args, **kwargs), None


def _unbind_partial(function: functools.partial[Any]) -> tuple[Call, Any]:
    inner, inside = unbind(function.func)
    pairs: list[tuple[Any, Any]] = [
        *enumerate(function.args),
        *function.keywords.items(),
    ]
    flat = [name for name, value in pairs if has_objects(value)]
    known: dict[Any, Any] = dict(pairs)
    count = len(function.args)

    def call(held: Any, *args: Any, **kwargs: Any) -> Any:
        now = known | dict(zip(flat, held[1], strict=True))
        first = [now.pop(place) for place in range(count)]
        return inner(held[0], *first, *args, **{**now, **kwargs})

    return call, (inside, [known[name] for name in flat])


# ------------------------------------------------------------- running a function


class Outline(Frozen):
    """What came out of a function, without the values; a node without leaves.

    Attributes:
        graphdef: The structure of what went in and of what came out, together.
        links: Which objects of it are which of those that went in, by number.
        groups: For each value, the number of the list that it stands in.
    """

    __slots__ = ("graphdef", "groups", "links")
    __match_args__ = ("graphdef", "links", "groups")

    graphdef: GraphDef
    links: tuple[tuple[int, int], ...]
    groups: tuple[int, ...]

    def __init__(
        self,
        graphdef: GraphDef,
        links: tuple[tuple[int, int], ...],
        groups: tuple[int, ...],
    ) -> None:
        self._set(graphdef, links, groups)


class Ran(NamedTuple):
    """What came out of a function.

    Attributes:
        bare: What is not flattened.
        outline: The outline of the rest.
        values: Its values, in lists.
        name: Takes the number of a list and a position in it, says in words where the
            value stands.
        before: What was flattened before: arguments, keywords, what is held.
        after: What was flattened after: the objects of all that, and the result.
        start: Where in the code of `after` the result begins, if everything before is
            as it was, but for values; None if it is not, or nobody asked.
    """

    bare: Any
    outline: Outline
    values: list[list[Any]]
    name: Callable[[int, int], str]
    before: FlatGraph
    after: FlatGraph
    start: int | None


ONE_GROUP: Final = Groups(Option("", None), Option("", None))
"""No options for arguments or results."""


def run(
    call: Call,
    graphdef: GraphDef,
    leaves: list[Any],
    groups: Groups = ONE_GROUP,
    split_result: Callable[[Any], tuple[Any, Any]] | None = None,
    *,
    compare: bool = False,
) -> Ran:
    """Run a function on objects that are unflattened for it.

    Args:
        call: The function; it takes what it is bound to before the arguments.
        graphdef: The structure of `(args, kwargs, held)`.
        leaves: Its values.
        groups: The lists that values are put into.
        split_result: Takes what the function returns, returns what is not flattened
            and the rest; by default nothing and all of it.
        compare: Whether to find out if the objects are as they were, but for values.
    """
    fresh = [leaf.copy() if isinstance(leaf, Variable) else leaf for leaf in leaves]
    roots = args, kwargs, held = unflatten_graph(graphdef._code, fresh)
    before = flatten_graph(roots)
    owners = [*map(unlink, before.first)]
    group_of_call = groups.of_call(roots)
    outermost = _outermost(owners)
    watched = _numbered(before.tracked, outermost if compare else [])
    result = call(held, *args, **kwargs)
    bare, result = (None, result) if split_result is None else split_result(result)
    group_of_result = groups.of_result(result)
    after = _take_again(before.tracked, outermost, result)
    known = {id(obj): number for number, obj in enumerate(before.tracked)}

    def place_of(link: Any) -> Path:
        kind, *rest = unlink(link)
        return (RESULT, *rest) if kind == 1 else (*owners[rest[0]], *rest[1:])

    everything = (*roots, result)
    _refuse_captured(after, known, lambda link: named(place_of(link), everything))
    paths = [*map(place_of, after.links)]
    numbers = [
        (group_of_result if path[0] == RESULT else group_of_call)(path)
        for path in paths
    ]
    count = len(groups.inputs) + len(groups.outputs)
    values = in_lists(after.leaves, numbers, count)
    places = in_lists(paths, numbers, count)
    links = _links(known, after.tracked)
    outline = Outline(GraphDef(tuple(after.code)), links, tuple(numbers))
    start = _start_of_result(watched, after) if compare else None

    def name(number: int, position: int) -> str:
        return named(places[number][position], everything)

    return Ran(bare, outline, values, name, before, after, start)


def _links(known: dict[int, int], tracked: list[Any]) -> tuple[tuple[int, int], ...]:
    """Return which objects are known by which numbers, by their own."""
    return tuple(
        (number, known[id(obj)])
        for number, obj in enumerate(tracked)
        if id(obj) in known
    )


def in_lists(values: Iterable[T], numbers: Iterable[int], count: int) -> list[list[T]]:
    """Return values in lists, by the number of the list that each is put into."""
    lists: list[list[T]] = [[] for _ in range(count)]
    for number, value in zip(numbers, values, strict=True):
        lists[number].append(value)
    return lists


def _outermost(paths: list[Path]) -> list[int]:
    """Return the numbers of the objects that stand in no other object."""
    known = {*paths}
    return [
        number
        for number, path in enumerate(paths)
        if not any(path[:end] in known for end in range(1, len(path)))
    ]


def _take_again(tracked: list[Any], roots: list[int], result: Any) -> FlatGraph:
    """Take the objects of the arguments, by number, and the result apart.

    Also those that do not stand in another one any more: they are the caller's.
    """
    flat = _numbered(tracked, roots, result)
    reached = {*map(id, flat.tracked)}
    lost = [number for number, obj in enumerate(tracked) if id(obj) not in reached]
    if not lost:
        return flat
    return _numbered(tracked, [*roots, *lost], result)


def _numbered(tracked: list[Any], roots: list[int], result: Any = None) -> FlatGraph:
    return flatten_graph(({number: tracked[number] for number in roots}, result))


def _start_of_result(before: FlatGraph, after: FlatGraph) -> int | None:
    """Return where the result begins in a code; None if what is before it changed.

    Values may have changed, and nothing else: no object stands in another place, has
    another attribute or another static value, not even an equal one.
    """
    start = len(before.code) - 1
    is_same = all(map(is_, before.tracked, after.tracked)) and all(
        map(identical_entry, before.code[:start], after.code)
    )
    return start if is_same else None


def _refuse_captured(
    flat: FlatGraph, known: dict[int, int], name_of: Callable[[Any], str]
) -> None:
    """Refuse objects from outside of the transform that are not arguments.

    Raises:
        TraceError: There is one; only a copy of it could come back.
    """
    if levels.token is None:
        return
    level, base = levels.token(), levels.base
    for obj, link in zip(flat.tracked, flat.first, strict=True):
        if id(obj) not in known and getattr(obj, "_leafwise_stamp", base) != level:
            raise TraceError(
                f"the {class_name(type(obj))} in {name_of(link)} is captured: "
                "it was made outside of the function that is being traced (by jit, "
                "grad, vmap, ...), and only a copy of it could come back.\n"
                "Do one of these:\n"
                "  1. pass the object to the function as an argument\n"
                "  2. return its values, or a copy: leafwise.nn.clone(...)"
            )


def check_levels(objects: Iterable[Any]) -> None:
    """Refuse to write to objects at another level of tracing than they were made at.

    Those of the level outside of all transforms have the very same stamp afterwards.

    Raises:
        TraceError: One was; none is written to then.
    """
    if levels.token is None:
        return
    level, base = levels.token(), levels.base
    is_outside = level == base
    for obj in objects:
        stamp = getattr(obj, "_leafwise_stamp", None)
        if stamp is base and is_outside:
            continue
        if (base if stamp is None else stamp) != level:
            check_level(obj, "")
        elif is_outside:
            object.__setattr__(obj, "_leafwise_stamp", base)


def put_back(
    found: tuple[Outline, list[list[Any]]], flat: FlatGraph | None = None
) -> Any:
    """Fill the caller's objects with what came out, and return the result.

    Args:
        found: The outline of what came out, and its values.
        taken: What the caller's arguments were flattened into; without it the
            objects are left alone, and the result has new ones.
    """
    outline, values = found
    rests = [*map(iter, values)]
    leaves = [next(rests[number]) for number in outline.groups]
    tracked = [] if flat is None else flat.tracked
    links = outline.links if tracked else ()
    reuse = {number: tracked[old] for number, old in links}
    check_levels(reuse.values())
    return unflatten_graph(outline.graphdef._code, leaves, reuse=reuse)[1]


def share(
    transform: Callable[[Callable[..., Any]], Callable[..., Any]],
) -> Callable[[Callable[P, Any]], Callable[P, Any]]:
    """Return a transform that keeps shared references and writes changes back.

    Args:
        transform: Takes a function of trees, returns one, such as `jax.jit`. Structures
            come to it as nodes without leaves, so it has to know our classes, as jax
            does.

    Returns:
        A decorator: the decorated function gets objects in which what was one object
        is one, and whatever it changes is changed in the caller's objects, once it has
        returned. If it raises, nothing is changed.

    Example:
        >>> import leafwise as lw
        >>> @lw.integrations.share(lambda function: function)
        ... def double(model):
        ...     model.left.x *= 2
        ...     return model.right
        >>> inner = lw.Dict(x=lw.data(1))
        >>> model = lw.Dict(left=inner, right=inner)
        >>> double(model) is inner, inner.x
        (True, 2)

    The idea is that of the transforms of Flax NNX.
    """

    def decorate(function: Callable[P, Any]) -> Callable[P, Any]:
        call, held = unbind(function)

        def pure(graphdef: GraphDef, leaves: list[Any]) -> Any:
            ran = run(call, graphdef, leaves)
            return ran.outline, ran.values

        transformed = transform(pure)

        @dressed(function)
        def shared(*args: Any, **kwargs: Any) -> Any:
            flat = flatten_graph((args, kwargs, held))
            graphdef = GraphDef(tuple(flat.code))
            return put_back(transformed(graphdef, flat.leaves), flat)

        return shared

    return decorate


install(Outline, StaticRule, bridge=True, where=__name__.partition(".")[0])

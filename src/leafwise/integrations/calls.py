"""Calls of transformed functions: what a function is bound to, which argument is meant.

Owns how bound methods and partials are taken apart, so that the objects in them are
seen at each call, and how options such as `static_argnums` and `static_argnames` are
read. Knows no framework.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from operator import index
from types import FunctionType, MethodType
from typing import Any, TypeAlias

from ..core.auxdata import clip
from ..core.registered import StaticRule
from ..core.registry import install
from ..core.view import GLOBAL
from ..nn.arrays import DataNode
from ..nn.graphs import take
from ..nn.statics import digest, same
from .prefixes import ARGS, KWARGS, Path, named


__all__ = [
    "Call",
    "Fixed",
    "Static",
    "Which",
    "dressed",
    "has_objects",
    "put_static",
    "take_static",
    "unbind",
]

Call: TypeAlias = Callable[..., Any]
Numbers: TypeAlias = "int | Iterable[int] | None"
Names: TypeAlias = "str | Iterable[str] | None"
Static: TypeAlias = "dict[tuple[Any, ...], Any]"


def has_objects(value: Any) -> bool:
    """Say whether a value is, or contains, objects or variables."""
    return bool(take([value]).tracked)


def dressed(function: Call) -> Callable[[Call], Call]:
    """Return a decorator that makes a function look like another one."""
    if not callable(function):
        raise TypeError(
            f"a transform takes a function, got {type(function).__name__}: "
            f"{clip(function)}"
        )
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
        >>> from leafwise.integrations.calls import unbind
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
    taken = [name for name, value in pairs if has_objects(value)]
    known: dict[Any, Any] = dict(pairs)
    count = len(function.args)

    def call(held: Any, *args: Any, **kwargs: Any) -> Any:
        now = known | dict(zip(taken, held[1], strict=True))
        first = [now.pop(place) for place in range(count)]
        return inner(held[0], *first, *args, **{**now, **kwargs})

    return call, (inside, [known[name] for name in taken])


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
        TypeError: They are no numbers, or no names.
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
        """Say whether an argument is meant.

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


# ---------------------------------------------------------------- static arguments


class Fixed:
    """What a compiled function depends on beside structures; a node without leaves.

    Attributes:
        order: For each value, the number of the list that it is in; None for one list.
        static: The static arguments, by place.
    """

    __slots__ = ("order", "static")

    def __init__(self, order: tuple[int, ...] | None, static: Static) -> None:
        self.order = order
        self.static = static

    def __eq__(self, other: object) -> bool:
        if type(other) is not Fixed:
            return NotImplemented
        return self.order == other.order and same(self.static, other.static)

    def __hash__(self) -> int:
        return hash((self.order, digest(self.static)))


install(
    Fixed,
    lambda _where: StaticRule(Fixed, where=__name__.partition(".")[0]),
    namespace=GLOBAL,
    inherit=False,
    exist_ok=False,
    bridge=True,
)


def take_static(
    which: Which, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Static, tuple[Any, ...], dict[str, Any]]:
    """Take the static arguments out of a call.

    Returns:
        The static arguments by place, and the call with None in their places.

    Raises:
        ValueError: One cannot be hashed, or has objects in it.
    """
    if not which:
        return {}, args, kwargs
    count = len(args)
    static: Static = {}
    pairs = [((ARGS, n), value) for n, value in enumerate(args)]
    pairs += [((KWARGS, name), value) for name, value in kwargs.items()]  # type: ignore[misc]  # other places
    for place, value in pairs:
        if which.means(place, count):
            _check_static(place, value)
            static[place] = value
    return (
        static,
        tuple(None if (ARGS, n) in static else value for n, value in enumerate(args)),
        {
            name: None if (KWARGS, name) in static else value
            for name, value in kwargs.items()
        },
    )


def put_static(
    static: Static, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Put the static arguments back into a call."""
    return (
        tuple(static.get((ARGS, n), value) for n, value in enumerate(args)),
        {name: static.get((KWARGS, name), value) for name, value in kwargs.items()},
    )


def _check_static(place: tuple[Any, ...], value: Any) -> None:
    try:
        hash(value)
    except TypeError as error:
        raise ValueError(
            f"{named(place)} is static and cannot be hashed: {error}"
        ) from None
    if has_objects(value):
        raise ValueError(
            f"{named(place)} is static, but its values may change: it is or contains "
            f"objects ({clip(value)}). Pass it as an ordinary argument; what is static "
            "in an object stays static"
        )

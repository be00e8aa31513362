"""Filters: they select values of an object.

A filter is a type, a text, a `Kind`, a bool, `...`, None, a function of path and value,
a list of filters (any of them), or one of the classes here, which are compared, hashed
and printed by what they are made of. `predicate` makes a function of path and value of
it.

    >>> from leafwise import nn
    >>> nn.filters.All(nn.Param, nn.filters.PathContains("out"))
    All(OfType(Param), PathContains('out'))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import EllipsisType
from typing import Any as AnyValue
from typing import Final, TypeAlias, get_origin

from ..kinds import COUNT_AS_STATE, Kind
from ..safely import Frozen, class_name, clip, shown, type_name


__all__ = [
    "All",
    "Any",
    "Everything",
    "Filter",
    "Not",
    "Nothing",
    "OfKind",
    "OfType",
    "PathContains",
    "PathIn",
    "WithTag",
    "predicate",
]

Path: TypeAlias = tuple[AnyValue, ...]
Filter: TypeAlias = (
    type[AnyValue]
    | str
    | Kind
    | EllipsisType
    | Callable[[Path, AnyValue], AnyValue]
    | Sequence["Filter"]
    | bool
    | None
)
"""What `predicate` takes; a sequence is a list or a tuple."""

FROZEN: Final = "frozen"
"""The metadata of a variable that is frozen."""


class _Filter(Frozen):
    """A filter that knows whether it looks at paths, and at kinds."""

    __slots__ = ()

    needs_path = False
    needs_kind = False

    def __call__(self, path: Path, value: AnyValue) -> bool:
        """Return whether the filter selects a value at a path."""
        raise NotImplementedError

    def judge(self, path: Path, value: AnyValue, kind: Kind) -> bool:
        """Return the same for a value whose kind is known."""
        return self(path, value)

    def __repr__(self) -> str:
        parts = (
            class_name(value, qualified=False)
            if isinstance(value, type)
            else shown(value)
            for value in self._shown()
        )
        return f"{type_name(self)}({', '.join(parts)})"

    def _shown(self) -> Iterable[AnyValue]:
        return self._values()


class Everything(_Filter):
    """Means every value; also written `...` or `True`.

    Example:
        >>> from leafwise import nn
        >>> nn.filters.Everything()((), 1)
        True
    """

    __slots__ = ()

    def __call__(self, path: Path, value: AnyValue) -> bool:
        """Return whether the filter selects it."""
        return True


class Nothing(_Filter):
    """Means no value; also written `None` or `False`.

    Example:
        >>> from leafwise import nn
        >>> nn.filters.Nothing()((), 1)
        False
    """

    __slots__ = ()

    def __call__(self, path: Path, value: AnyValue) -> bool:
        """Return whether the filter selects it."""
        return False


class OfType(_Filter):
    """Means values of a type; also written as the type.

    `Variable` selects a frozen variable; no narrower type does.

    Args:
        type: The type.

    Example:
        >>> from leafwise import nn
        >>> nn.filters.OfType(nn.Intermediate)((), nn.Perturbation(0))
        True
    """

    __slots__ = ("type",)
    __match_args__ = ("type",)

    type: AnyValue

    def __init__(self, type: AnyValue) -> None:
        self._set(type)

    def __call__(self, path: Path, value: AnyValue) -> bool:
        """Return whether the filter selects it."""
        if not isinstance(value, self.type):
            return False
        is_narrow = getattr(self.type, "_leafwise_is_narrow", False)
        return not (is_narrow and value._leafwise_is_frozen)


class OfKind(_Filter):
    """Means what is of some kind; also written as the `Kind`.

    The kind of a variable is `FROZEN` if it is frozen, else that of the attribute that
    holds it or, where that says no more than `DATA`, that of its type. The kind of a
    bare value is that of the attribute; in a state nobody knows it, and it is `DATA`.

    Args:
        kind: The kind. `Kind.STATE` includes frozen parameters.

    Example:
        >>> import leafwise as lw
        >>> from leafwise import nn
        >>> model = lw.Dict(w=nn.parameter(0.5), b=nn.Param(0.0), n=lw.data(1))
        >>> [*nn.state(model, nn.Kind.PARAMETER)]
        ['b', 'w']
    """

    __slots__ = ("kind",)
    __match_args__ = ("kind",)

    kind: Kind

    needs_kind = True

    def __init__(self, kind: Kind) -> None:
        self._set(kind)

    def __call__(self, path: Path, value: AnyValue) -> bool:
        """Return whether the filter selects it."""
        own = getattr(type(value), "_leafwise_kind", Kind.DATA)
        frozen = getattr(value, "_leafwise_is_frozen", False)
        return self.judge(path, value, Kind.FROZEN if frozen else own)

    def judge(self, path: Path, value: AnyValue, kind: Kind) -> bool:
        """Return whether the filter selects a value of a kind."""
        return kind in COUNT_AS_STATE if self.kind is Kind.STATE else kind is self.kind


class WithTag(_Filter):
    """Means variables whose `tag` is a text; also written as the text.

    It is that of its type, or a piece of metadata. A frozen variable has no tag, as far
    as filters are concerned.

    Args:
        tag: The text.

    Example:
        >>> from leafwise import nn
        >>> nn.filters.WithTag("params")((), nn.Param(0))
        True
    """

    __slots__ = ("tag",)
    __match_args__ = ("tag",)

    tag: str

    def __init__(self, tag: str) -> None:
        self._set(tag)

    def __call__(self, path: Path, value: AnyValue) -> bool:
        """Return whether the filter selects it."""
        if getattr(value, "_leafwise_is_frozen", False):
            return False
        metadata: AnyValue = getattr(value, "_leafwise_metadata", ())
        tag = metadata["tag"] if "tag" in metadata else getattr(value, "tag", None)
        return bool(tag == self.tag)


class PathContains(_Filter):
    """Means values in whose path a name, position or key stands.

    Args:
        key: The name, position or key; `0` is not `"0"`.
        exact: False means also names that have it inside, and compares as text.

    Example:
        >>> from leafwise import nn
        >>> nn.filters.PathContains("bias")(("layers", 0, "bias"), 1.0)
        True
        >>> nn.filters.PathContains("layer", exact=False)(("layers", 0, "bias"), 1.0)
        True
    """

    __slots__ = ("exact", "key")
    __match_args__ = ("key", "exact")

    key: AnyValue
    exact: bool

    needs_path = True

    def __init__(self, key: AnyValue, exact: bool = True) -> None:
        self._set(key, exact)

    def __call__(self, path: Path, value: AnyValue) -> bool:
        """Return whether the filter selects it."""
        key = self.key
        if not self.exact:
            return any(str(key) in str(part) for part in path)
        return any(type(part) is type(key) and part == key for part in path)

    def __repr__(self) -> str:
        exact = "" if self.exact else ", exact=False"
        return f"PathContains({shown(self.key)}{exact})"


class PathIn(_Filter):
    """Means values at certain paths.

    Args:
        *paths: The paths, tuples of names, positions and keys.

    Example:
        >>> from leafwise import nn
        >>> nn.filters.PathIn(("a", 0), ("b",))(("b",), 1)
        True
    """

    __slots__ = ("paths",)
    __match_args__ = ("paths",)

    paths: frozenset[Path]

    needs_path = True

    def __init__(self, *paths: Path) -> None:
        self._set(frozenset(tuple(path) for path in paths))

    def __call__(self, path: Path, value: AnyValue) -> bool:
        """Return whether the filter selects it."""
        return path in self.paths

    def __reduce__(self) -> tuple[AnyValue, ...]:
        return PathIn, tuple(self.paths)

    def _shown(self) -> Iterable[AnyValue]:
        return sorted(self.paths, key=repr)


class _Compound(_Filter):
    """Filters together."""

    __slots__ = ("filters",)
    __match_args__ = ("filters",)

    filters: tuple[Callable[[Path, AnyValue], bool], ...]

    def __init__(self, *filters: Filter) -> None:
        self._set(tuple(map(predicate, filters)))

    @property
    def needs_path(self) -> bool:  # type: ignore[override]  # here it depends
        """Whether any of the filters looks at paths."""
        return any(map(needs_path, self.filters))

    @property
    def needs_kind(self) -> bool:  # type: ignore[override]  # here it depends
        """Whether any of the filters looks at kinds."""
        return any(map(needs_kind, self.filters))

    def __reduce__(self) -> tuple[AnyValue, ...]:
        return type(self), self.filters

    def _shown(self) -> Iterable[AnyValue]:
        return self.filters


class Any(_Compound):
    """Means what any of some filters means; also written as a list of them.

    Args:
        *filters: The filters.

    Example:
        >>> from leafwise import nn
        >>> nn.filters.Any(nn.Param, "cache")((), nn.Cache(0))
        True
    """

    __slots__ = ()

    def __call__(self, path: Path, value: AnyValue) -> bool:
        """Return whether the filter selects it."""
        return any(meant(path, value) for meant in self.filters)

    def judge(self, path: Path, value: AnyValue, kind: Kind) -> bool:
        """Return whether the filter selects a value of a kind."""
        return any(judge(meant, path, value, kind) for meant in self.filters)


class All(_Compound):
    """Means what all of some filters mean.

    Args:
        *filters: The filters.

    Example:
        >>> from leafwise import nn
        >>> is_bias = nn.filters.All(nn.Param, nn.filters.PathContains("bias"))
        >>> is_bias(("bias",), nn.Param(0)), is_bias(("weight",), nn.Param(0))
        (True, False)
    """

    __slots__ = ()

    def __call__(self, path: Path, value: AnyValue) -> bool:
        """Return whether the filter selects it."""
        return all(meant(path, value) for meant in self.filters)

    def judge(self, path: Path, value: AnyValue, kind: Kind) -> bool:
        """Return whether the filter selects a value of a kind."""
        return all(judge(meant, path, value, kind) for meant in self.filters)


class Not(_Compound):
    """Means what a filter does not mean.

    Args:
        filter: The filter.

    Example:
        >>> from leafwise import nn
        >>> nn.filters.Not(nn.Param)((), nn.Cache(0))
        True
    """

    __slots__ = ()

    def __init__(self, filter: Filter) -> None:
        super().__init__(filter)

    def __call__(self, path: Path, value: AnyValue) -> bool:
        """Return whether the filter selects it."""
        return not self.filters[0](path, value)

    def judge(self, path: Path, value: AnyValue, kind: Kind) -> bool:
        """Return whether the filter selects a value of a kind."""
        return not judge(self.filters[0], path, value, kind)


def predicate(filter: Filter) -> Callable[[Path, AnyValue], bool]:
    """Return a filter as a function of path and value.

    Args:
        filter: A filter in any form.

    Raises:
        TypeError: It is not a filter.

    Example:
        >>> from leafwise import nn
        >>> nn.filters.predicate([nn.Param, "cache", None])
        Any(OfType(Param), WithTag('cache'), Nothing())
    """
    if filter is ... or filter is True:
        return Everything()
    if isinstance(filter, type):
        return OfType(filter)
    if isinstance(origin := get_origin(filter), type):
        return OfType(origin)  # a type that says what is in it, such as Param[float]
    if isinstance(filter, str):
        return WithTag(filter)
    if isinstance(filter, Kind):
        return OfKind(filter)
    if filter is None or filter is False:
        return Nothing()
    if isinstance(filter, list | tuple):
        return Any(*filter)
    if callable(filter):
        return filter
    raise TypeError(
        f"not a filter: {clip(filter)} ({type_name(filter)}); a filter is a type, a "
        "string, a Kind, a bool, ..., None, a function of path and value, or a list of "
        "filters"
    )


def is_filter(value: AnyValue) -> bool:
    """Return whether a value is a filter and could be nothing else."""
    return isinstance(value, _Filter | Kind)


def judge(meant: AnyValue, path: Path, value: AnyValue, kind: Kind) -> bool:
    """Ask a predicate about a value whose kind is known."""
    if isinstance(meant, _Filter):
        return meant.judge(path, value, kind)
    return bool(meant(path, value))


def needs_kind(meant: AnyValue) -> bool:
    """Return whether a predicate looks at kinds."""
    return bool(getattr(meant, "needs_kind", False))


def needs_path(meant: AnyValue) -> bool:
    """Return whether a predicate looks at paths; a function may."""
    return bool(getattr(meant, "needs_path", True))


def predicates(
    filters: Iterable[Filter],
) -> tuple[Callable[[Path, AnyValue], bool], ...]:
    """Return several filters as predicates; `...` may only be the last.

    Raises:
        ValueError: A filter comes after `...` and could never mean anything.
        TypeError: One is no filter.
    """
    listed = [*filters]
    for place, filter in enumerate(listed[:-1]):
        if filter is ... or filter is True:
            raise ValueError(
                f"filter {place} is {filter!r}, which matches everything, so later "
                "filters would match nothing; put it last"
            )
    return tuple(map(predicate, listed))

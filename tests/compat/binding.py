"""Whether the functions of a stand-in take the calls that the library's own take."""

import inspect
from inspect import Parameter


_PLAIN = (type(None), bool, int, str, tuple, type)


def names_of(module):
    """Return the public names of a module: those of `__all__`, or else its own."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return sorted({*listed})
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    )


def calls_of(signature):
    """Yield calls that a signature takes: positional arguments, keywords of a call.

    As many by position as are required, one more, and so on; the others that are
    required by name, with each of the rest by name on its own, and all of them.
    """
    given = [*signature.parameters.values()]
    by_place = [
        p
        for p in given
        if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    ]
    more = [3] if any(p.kind is Parameter.VAR_POSITIONAL for p in given) else []
    free = any(p.kind is Parameter.VAR_KEYWORD for p in given)
    for count in range(len(by_place) + 1):
        named = [p for p in given if p not in by_place[:count] and _has_name(p)]
        required = {p.name: 0 for p in named if p.default is Parameter.empty}
        optional = [p.name for p in named if p.default is not Parameter.empty]
        options = [{}, *({name: 0} for name in optional), dict.fromkeys(optional, 0)]
        options += [{"a_name_of_its_own": 0}] if free else []
        for keywords in {tuple(required | option): option for option in options}:
            yield (0,) * count, dict.fromkeys(keywords, 0)
    for extra in more:
        yield (0,) * (len(by_place) + extra), {}


def _has_name(parameter):
    kinds = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    return parameter.kind in kinds


def _binds(signature, call):
    try:
        signature.bind(*call[0], **call[1])
    except TypeError:
        return False
    return True


def signature_of(function):
    """Return a signature, None of a function in C that says none."""
    try:
        found = inspect.signature(function)
    except (ValueError, TypeError):
        return None
    return None if str(found) == "(*args, **kwargs)" else found


def unbound(theirs, ours):
    """Return the calls that the first function takes and the second does not, as text.

    Defaults of plain types that differ are told, too.
    """
    expected, found = signature_of(theirs), signature_of(ours)
    if expected is None or found is None:
        return []
    taken = [call for call in calls_of(expected) if _binds(expected, call)]
    missed = [
        f"({len(args)} by place, {', '.join(named)})"
        for args, named in taken
        if not _binds(found, (args, named))
    ]
    for name, parameter in expected.parameters.items():
        known = found.parameters.get(name)
        if known is None or not isinstance(parameter.default, _PLAIN):
            continue
        if parameter.default is not Parameter.empty and (
            known.default is Parameter.empty
            or _named(known.default) != _named(parameter.default)
        ):
            missed.append(f"{name}={parameter.default!r} is {known.default!r}")
    return missed


def _named(default):
    """Return a default, of a class its name: each library has its own."""
    return default.__name__ if isinstance(default, type) else default


def missing(theirs, ours, *, names=None, but=()):
    """Return what a stand-in lacks, as text: names, and calls that it does not take.

    Classes are compared by what makes them, and by their public methods.

    Args:
        theirs: A module or class of a library.
        ours: What stands in for it.
        names: The names to look at; by default all public ones.
        but: Names that are left out, with those of methods as `Class.method`.
    """
    found = []
    for name in names_of(theirs) if names is None else names:
        if name in but:
            continue
        if not hasattr(ours, name):
            found.append(name)
            continue
        one, other = getattr(theirs, name), getattr(ours, name)
        if inspect.isclass(one):
            methods = [n for n in dir(one) if not n.startswith("_")]
            inner = missing(one, other, names=methods, but=_inside(name, but))
            found += [f"{name}.{text}" for text in inner]
        if callable(one):
            if not callable(other):
                found.append(f"{name} cannot be called")
            found += [f"{name}{text}" for text in unbound(one, other)]
    return found


def _inside(name, but):
    return [one.removeprefix(f"{name}.") for one in but if one.startswith(f"{name}.")]

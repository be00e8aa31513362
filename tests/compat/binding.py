"""Whether the functions of a stand-in take the calls that the library's own take."""

import inspect
from inspect import Parameter


_PLAIN = (type(None), bool, int, str, tuple, type)


def names_of(module):
    """Return the public names of a module: those of `__all__`, or else its own."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return sorted(set(listed))
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
    parameters = list(signature.parameters.values())
    by_place = [
        p
        for p in parameters
        if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    ]
    kinds = {p.kind for p in parameters}
    for count in range(len(by_place) + 1):
        named = [p for p in parameters if p not in by_place[:count] and _has_name(p)]
        required = {p.name: 0 for p in named if p.default is Parameter.empty}
        optional = [p.name for p in named if p.default is not Parameter.empty]
        options = [{}, *({name: 0} for name in optional), dict.fromkeys(optional, 0)]
        if Parameter.VAR_KEYWORD in kinds:
            options.append({"a_name_of_its_own": 0})
        for keywords in {tuple(required | option): option for option in options}:
            yield (0,) * count, dict.fromkeys(keywords, 0)
    if Parameter.VAR_POSITIONAL in kinds:
        yield (0,) * (len(by_place) + 3), {}


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
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return None
    return None if str(signature) == "(*args, **kwargs)" else signature


def unbound(theirs, ours):
    """Return the calls that the first function takes and the second does not, as text.

    Defaults of plain types that differ are told, too.
    """
    expected = signature_of(theirs)
    signature = signature_of(ours)
    if expected is None or signature is None:
        return []
    accepted_calls = [call for call in calls_of(expected) if _binds(expected, call)]
    missed = [
        f"({len(args)} by place, {', '.join(named)})"
        for args, named in accepted_calls
        if not _binds(signature, (args, named))
    ]
    for name, parameter in expected.parameters.items():
        own_parameter = signature.parameters.get(name)
        if own_parameter is None or not isinstance(parameter.default, _PLAIN):
            continue
        if parameter.default is not Parameter.empty and (
            own_parameter.default is Parameter.empty
            or _named(own_parameter.default) != _named(parameter.default)
        ):
            missed.append(f"{name}={parameter.default!r} is {own_parameter.default!r}")
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
    faults = []
    if names is None:
        names = names_of(theirs)
    for name in names:
        if name in but:
            continue
        if not hasattr(ours, name):
            faults.append(name)
            continue
        one = getattr(theirs, name)
        other = getattr(ours, name)
        if inspect.isclass(one):
            methods = [n for n in dir(one) if not n.startswith("_")]
            inner = missing(one, other, names=methods, but=_inside(name, but))
            faults += [f"{name}.{text}" for text in inner]
        if callable(one):
            if not callable(other):
                faults.append(f"{name} cannot be called")
            faults += [f"{name}{text}" for text in unbound(one, other)]
    return faults


def _inside(name, but):
    return [one.removeprefix(f"{name}.") for one in but if one.startswith(f"{name}.")]

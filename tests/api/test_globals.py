"""What threads share: each object that can change is listed, with why it is safe.

Nothing here may need the GIL. So whoever adds a table that functions write to says in
`SHARED` by which discipline they do so; what is written while modules are loaded, and
never again, has a name in capitals and needs no entry.
"""

import ast
import contextlib
import enum
import functools
import importlib
import operator
import pkgutil
import re
import sys
import types
import typing

import leafwise as lw
from leafwise.core.node import Rule
from leafwise.safely import Guard, Sealed
from sources import SOURCE, TREES


DISCIPLINES = {
    "swapped": "replaced as a whole; who reads it once has an old one or a new one",
    "locked": "a lock, or written under one and read in one step",
    "equal": "filled in step by step with what would be equal whoever makes it; "
    "emptied only as a whole, and whoever misses something makes it again",
    "single": "each write is one step of a list, dict or attribute, and the last one "
    "counts, or all do",
}

SHARED = {
    "compat.optree.context.ordered": "single",
    "compat.modules._made": "locked",
    "compat.optree.dataclasses.KW_ONLY": "equal",  # marks, which hold nothing
    "compat.optree.dataclasses.MISSING": "equal",
    "core.keys._known_attributes": "equal",
    "core.keys._known_given": "equal",
    "core.keys._shared": "swapped",
    "core.keys.known_dicts": "equal",
    "core.registry.announced": "single",
    "core.registry.current": "swapped",
    "core.registry.on_change": "single",
    "core.registry.on_forget": "single",
    "core.serial._codecs": "single",
    "core.walk.hooks": "single",
    "ops.reshape._known_places": "equal",
    "core.walk.leaf": "single",
    "core.walk.reference": "single",
    "engine.cache.engine": "locked",
    "engine.text._files": "single",
    "integrations.bridge.FRAMEWORKS": "locked",
    "integrations.bridge._classes": "single",
    "integrations.bridge._finder": "locked",
    "integrations.torch.untold": "single",
    "lazy.replaced": "locked",
    "nn.checks._exact": "single",
    "nn.checks._with_subclasses": "single",
    "nn.checks.foreign": "single",
    "nn.checks.learned": "swapped",
    "nn.checks.levels": "single",
    "nn.variables._types": "single",
    "safely._guards": "single",
    "selection.names._is_plain": "equal",
    "selection.pattern._of_text": "equal",
}
"""What can change, by module and name."""

SHARED_KINDS = {
    "ClassSpec": "equal",  # tables of a class, made when they are first asked for
    "Statics": "equal",  # aux data of variables without metadata
    "Guard": "locked",
    "Rule": "locked",  # the rules that subclasses inherit: `_first` of the registry
}
"""What classes have of their own, by its type."""

NEVER_WRITTEN = {
    "GLOBAL_NAMESPACE",  # a mark
    "Placeholder",  # of `functools`
    "ONE_GROUP",  # an object without a method that writes
    "_resolver",  # a `functools.cache` of two classes
    "_tell_frameworks",  # one of nothing
    "_leafwise_known",  # the fields of a class's objects: equal, whoever makes them
    "is_training",  # an object without a method that writes
}

UNCHANGING = (
    bool, bytes, complex, enum.Enum, float, frozenset, functools.partial,
    functools.cached_property, int, property,
    range, re.Pattern, Sealed, str, tuple, type, type(None), types.ModuleType,
    types.BuiltinFunctionType, types.FunctionType, types.GenericAlias,
    types.GetSetDescriptorType, types.MappingProxyType, types.MemberDescriptorType,
    types.MethodDescriptorType, types.MethodType, types.MethodWrapperType,
    types.SimpleNamespace,
    types.UnionType, types.WrapperDescriptorType,
    operator.itemgetter, type(vars(typing.NamedTuple("Pair", [("x", int)]))["x"]),
)  # fmt: skip
DECLARING = {
    "__future__",
    "annotationlib",
    "dataclasses",
    "typing",
    "typing_extensions",
}
"""Modules whose objects are annotations and marks."""

WRITING = {
    "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop",
    "popitem", "popleft", "remove", "reverse", "setdefault", "sort", "update",
}  # fmt: skip


def modules():
    """Yield all modules of the package by their names inside of it."""
    for found in pkgutil.walk_packages(lw.__path__, "leafwise."):
        name = found.name.removeprefix("leafwise.")
        if name != "__main__":
            with contextlib.suppress(ModuleNotFoundError):  # of a framework
                yield name, importlib.import_module(found.name)
    yield "", lw


def can_change(value):
    """Return whether a value is one that anybody could change."""
    value = getattr(value, "__func__", value)  # of a static method
    if type(value) is object or isinstance(value, UNCHANGING):
        return False
    return type(value).__module__ not in DECLARING


def changeable():
    """Return what can change in modules and classes, each where it was found first."""
    found, homes = {}, {}
    for name, module in sorted(modules()):
        for key, value in [*vars(module).items()]:
            if key.startswith("__"):
                continue
            owned = [(f"{name}.{key}", value)]
            if isinstance(value, type) and value.__module__ == module.__name__:
                owned += [
                    (f"{name}.{key}.{attribute}", inside)
                    for attribute, inside in [*vars(value).items()]
                    if not attribute.startswith("__")
                    and not _belongs_to_its_metaclass(value, attribute)
                ]
            for place, one in owned:
                if can_change(one):
                    homes.setdefault(id(one), []).append(place)
                    found[id(one)] = one
    return {_home(places): found[key] for key, places in homes.items()}


def _belongs_to_its_metaclass(cls, attribute):
    """Return whether the standard library keeps an attribute with a class."""
    sunder = attribute.startswith("_") and attribute.endswith("_")
    return sunder or attribute in ("_abc_impl", "_field_defaults")


def _home(places):
    """Return the place that is listed, or the first one."""
    return next((place for place in places if place in SHARED), places[0])


@functools.cache
def written():
    """Return the names that functions write to, inside of what these stand for."""
    return {
        name
        for tree in TREES.values()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for node in ast.walk(function)
        for name in _targets(node)
    }


def _targets(node):
    """Yield the names of what one statement or call changes."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
            yield name
        case ast.AugAssign(target=ast.Name(id=name)):
            yield name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)):
            if method in WRITING:
                yield name


def is_constant(place, value):
    """Return whether something is a table that no function writes to."""
    name = place.rpartition(".")[2]
    is_table = isinstance(value, dict | list | set)
    return is_table and name.isupper() and name not in written()


def test_what_can_change_is_listed():
    """Each object has one discipline, unless it is a table that nobody writes to."""
    unlisted = {
        place: type(value).__name__
        for place, value in changeable().items()
        if place not in SHARED
        and not {cls.__name__ for cls in type(value).__mro__} & {*SHARED_KINDS}
        and not is_constant(place, value)
    }
    assert {place.rpartition(".")[2] for place in unlisted} <= NEVER_WRITTEN


def test_what_is_listed_is_there():
    """No entry outlives what it is about; each word is one of the disciplines."""
    gone = {place for place in SHARED if _find(place) is None}
    optional = () if hasattr(lw, "engine") else ("engine.",)
    assert [place for place in gone if not place.startswith(optional)] == []
    assert {*SHARED.values(), *SHARED_KINDS.values()} == {*DISCIPLINES}
    assert Guard.__name__ in SHARED_KINDS
    assert Rule.__name__ in SHARED_KINDS


def _find(place):
    module, _, name = place.rpartition(".")
    return getattr(sys.modules.get(f"leafwise.{module}"), name, None)


def test_names_that_are_bound_anew_are_listed():
    """A `global` statement is a swap."""
    bound = {
        f"{'.'.join(path.relative_to(SOURCE).with_suffix('').parts)}.{name}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Global)
        for name in node.names
    }
    assert {SHARED.get(name) for name in bound} == {"swapped"}

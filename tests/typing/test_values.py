"""What programs say of their types is what happens: values and signatures, compared.

Each `assert_type` of a program is called with a value that has that type, and each
overload takes only what the function takes.
"""

import inspect
import json
import os
import re
import runpy
import subprocess
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

import leafwise as lw
from leafwise import bound, hints
from leafwise.typing import Namespace, PyTree


PROGRAMS = sorted(Path(__file__).parent.glob("tree_*.py"))


def conforms(value: Any, form: Any) -> bool:
    """Return whether a value is of a type, with what it contains."""
    origin, args = typing.get_origin(form), typing.get_args(form)
    if form is Any or origin is PyTree:
        found: list[Any] = lw.tree_leaves(value)
        return form is Any or all(conforms(x, args[0]) for x in found)
    if origin in (typing.Union, types.UnionType):
        return any(conforms(value, part) for part in args)
    if form is None:
        return value is None
    if origin is tuple:
        items = args[:1] * len(value) if args[-1] is ... else args
        pairs = zip(value, items, strict=True)
        return isinstance(value, tuple) and all(conforms(*pair) for pair in pairs)
    if origin is type:
        return issubclass(value, args[0])
    if origin is lw.PyTreeDef:
        root: Any = typing.get_origin(args[0]) or args[0]
        return isinstance(value, lw.PyTreeDef) and bool(value.type is root)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        items = value.items()
        key, of = args
        return isinstance(value, origin) and all(
            conforms(k, key) and conforms(x, of) for k, x in items
        )
    if isinstance(origin, type) and issubclass(origin, Sequence):
        of = repeat(args[0])
        items = value
        return isinstance(value, origin) and all(map(conforms, items, of))
    if typing.is_typeddict(form):
        return bool(value.keys() == form.__annotations__.keys())
    if form is float:
        return isinstance(value, float | int)
    return isinstance(value, origin or form)


def test_values_are_told_apart() -> None:
    """Otherwise the next test would say nothing."""
    assert conforms({"a": [1]}, dict[str, list[int]])
    assert not conforms({"a": [1.5]}, dict[str, list[int]])
    assert not conforms([1, None], list[int])
    assert conforms({"a": ["x", None]}, PyTree[str])
    assert not conforms({"a": [1]}, PyTree[str])
    assert not conforms((1, 2), tuple[int, str])
    assert not conforms(lw.tree_structure([1]), lw.PyTreeDef[dict[str, Any]])


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_values_have_the_types_that_checkers_infer(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At each `assert_type`, when the program runs."""
    seen: list[Any] = []

    def check(value: Any, form: Any) -> Any:
        assert conforms(value, form), f"{value!r} is no {form}"
        seen.append(form)
        return value

    monkeypatch.setattr(typing, "assert_type", check)
    runpy.run_path(str(path))
    assert len(seen) > 35
    assert capsys.readouterr().err == ""


def test_there_is_enough_to_check() -> None:
    """Lines of users' code, and what is said of their types."""
    texts = [path.read_text(encoding="utf-8") for path in PROGRAMS]
    assert sum(len(text.splitlines()) for text in texts) >= 500
    assert sum(text.count("assert_type(") for text in texts) >= 150


OVERLOADED = [
    getattr(home, name)
    for home in (lw, lw.selection)
    for name in home.__all__
    if name.startswith("tree_") or name == "to_flat"
    if isinstance(getattr(home, name), types.FunctionType)
    and typing.get_overloads(getattr(home, name))
]


@pytest.mark.parametrize("function", OVERLOADED, ids=lambda each: each.__name__)
def test_an_overload_takes_what_the_function_takes(
    function: types.FunctionType,
) -> None:
    """At most six, with parameters of the same names; together they have all."""
    kinds = inspect.Parameter
    taken = inspect.signature(function).parameters
    overloads = typing.get_overloads(function)
    assert 2 <= len(overloads) <= 6
    told: set[str] = set()
    for overload in overloads:
        seen = dict(inspect.signature(overload).parameters)
        if seen.pop("options", None):
            told |= {*hints.Options.__annotations__}
        for name, parameter in seen.items():
            kind = taken[name].kind
            assert parameter.kind in (kind, kinds.KEYWORD_ONLY)
            if parameter.default is not kinds.empty:
                assert taken[name].default is not kinds.empty
        told |= {*seen}
    assert told == {*taken}


def test_there_are_overloads() -> None:
    """Of the functions whose result depends on what they are given."""
    names = {function.__name__ for function in OVERLOADED}
    assert {"tree_map", "tree_map_with_path", "tree_leaves", "tree_flatten"} <= names


def test_checkers_see_each_function_of_a_namespace() -> None:
    """Those that are there, by all of their names, and no other."""
    text = Path(bound.__file__).read_text(encoding="utf-8")
    seen = {*re.findall(r"self\.(\w+) = ", text), "dataclass"}
    own = {"name"}
    there = {name for name in dir(lw.namespace("tests.typing.seen")) if name[0] != "_"}
    assert seen == there - own
    assert issubclass(Namespace, object)
    assert not issubclass(Namespace, bound.Bound)


def test_hints_are_not_loaded_by_the_library() -> None:
    """Only checkers read them; `help` shows the function's own signature."""
    code = "import sys, leafwise as lw; lw.tree_map; lw.nn; lw.load; lw.tree_diff; "
    code += "assert 'leafwise.hints' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert str(inspect.signature(lw.tree_leaves)).startswith("(tree: 'Any', is_leaf")


@pytest.mark.slow
def test_no_public_name_is_unknown_to_checkers() -> None:
    """By what pyright says of a package that others are to use."""
    pytest.importorskip("pyright")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--ignoreexternal"]
    path = str(Path(lw.__file__).parents[1])
    done = subprocess.run(
        [*command, "--verifytypes", "leafwise"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    told = json.loads(done.stdout)["typeCompleteness"]
    symbols = {symbol["name"]: symbol for symbol in told["symbols"]}
    rooms = [lw, lw.selection, lw.tree, lw.typing]
    wanted = [f"{room.__name__}.{name}" for room in rooms for name in room.__all__]
    for symbol in map(symbols.__getitem__, wanted):
        assert symbol["isTypeKnown"] or symbol["isTypeAmbiguous"], symbol

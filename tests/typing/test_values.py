"""What programs say of their types is what happens: values and signatures, compared.

Each `assert_type` of a program is called with a value that has that type, and each
signature that type checkers see takes only what the function takes.
"""

import ast
import inspect
import itertools
import json
import os
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
from leafwise.nn import rngs
from leafwise.signatures import (
    bound,
    folds,
    leaves,
    maps,
    parts,
    path_maps,
    shapes,
    words,
)
from leafwise.typing import Namespace, PyTree


PROGRAMS = sorted(Path(__file__).parent.glob("tree_*.py"))
FAMILIES = [folds, leaves, maps, parts, path_maps, shapes]


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
    assert len(seen) > 40
    assert capsys.readouterr().err == ""


def test_there_is_enough_to_check() -> None:
    """Lines of users' code, and what is said of their types."""
    texts = [path.read_text(encoding="utf-8") for path in PROGRAMS]
    assert sum(len(text.splitlines()) for text in texts) >= 500
    assert sum(text.count("assert_type(") for text in texts) >= 150


def decorated() -> list[tuple[Any, Any]]:
    """Return each function of the package with the protocol of its signature."""
    found: list[tuple[Any, Any]] = []
    for path in Path(lw.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        for above, line in itertools.pairwise(lines):
            if above.startswith("@as_") and "def " in line:
                name = line.partition("def ")[2].partition("(")[0]
                for home in FAMILIES:
                    if hasattr(home, above[1:]):
                        returned = getattr(home, above[1:]).__annotations__["return"]
                        found.append((name, getattr(home, returned)))
    return found


@pytest.mark.parametrize(("name", "protocol"), decorated())
def test_a_signature_takes_what_the_function_takes(name: str, protocol: Any) -> None:
    """Each parameter by the same name, or by position only; no other option."""
    homes = [lw, lw.selection]
    function = next(getattr(home, name) for home in homes if hasattr(home, name))
    taken = inspect.signature(function).parameters
    kinds = inspect.Parameter
    rest = any(p.kind is kinds.VAR_POSITIONAL for p in taken.values())
    named = types.SimpleNamespace(
        __module__=protocol.__module__, __qualname__=f"{protocol.__name__}.__call__"
    )
    overloads = typing.get_overloads(named)  # type: ignore[arg-type]  # as good as one
    assert len(overloads) > 1
    for overload in overloads:
        seen = dict(inspect.signature(overload).parameters)
        del seen["self"]
        options = seen.pop("how", None)
        if options is not None:
            said = options.annotation.removeprefix("Unpack[").removesuffix("]")
            home = next(home for home in [words, *FAMILIES] if hasattr(home, said))
            assert {*getattr(home, said).__annotations__} <= {*taken}
        for parameter in seen.values():
            if parameter.kind is kinds.POSITIONAL_ONLY and parameter.name not in taken:
                assert rest
            elif parameter.kind is not kinds.VAR_POSITIONAL:
                assert parameter.name in taken
                of_function = taken[parameter.name]
                if parameter.kind is kinds.KEYWORD_ONLY:
                    assert of_function.kind is not kinds.POSITIONAL_ONLY
                if parameter.default is not kinds.empty:
                    optional = of_function.default is not kinds.empty
                    assert optional or of_function.kind is kinds.VAR_KEYWORD
        firsts = [
            p.name for p in seen.values() if p.kind is kinds.POSITIONAL_OR_KEYWORD
        ]
        assert firsts == [*taken][: len(firsts)]


def test_there_are_signatures() -> None:
    """Of each function whose result depends on what it is given."""
    assert {"tree_map", "tree_leaves", "tree_flatten"} <= {
        name for name, _ in decorated()
    }
    assert len(decorated()) >= 40


def test_checkers_see_each_function_of_a_namespace() -> None:
    """Those that are there, by all of their names, and no other."""
    declared = {*bound.Bound.__annotations__, *vars(bound.Bound)}
    seen = {name for name in declared if not name.startswith("__")}
    own = {"name"}
    there = {name for name in dir(lw.namespace("tests.typing.seen")) if name[0] != "_"}
    assert seen == there - own
    assert issubclass(Namespace, object)
    assert not issubclass(Namespace, bound.Bound)


def test_checkers_see_each_name_of_what_a_stream_draws() -> None:
    """Those that a stream knows, and no other: each other name is a stream."""
    tree = ast.parse(Path(rngs.__file__).read_text(encoding="utf-8"))
    (seen,) = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name == "_Drawing"
    )
    names = [
        ast.unparse(target)
        for node in seen.body
        if isinstance(node, ast.Assign)
        for target in node.targets
    ]
    assert sorted(names) == sorted(rngs.__dict__["_DRAWS"])


def test_signatures_are_not_loaded_by_the_library() -> None:
    """Decorated functions are the functions themselves."""
    assert isinstance(lw.tree_map, types.FunctionType)
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

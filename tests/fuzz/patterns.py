"""Random patterns for paths of plain trees, and which paths they mean.

A step is a pair of its text and of a test that takes a key and the number of its
siblings; None is `**`.
"""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from random import Random
from typing import Any

from .model import Path, get, is_node, places


Step = tuple[str, Callable[[Any, int], bool] | None]


def pattern_for(random: Random, tree: Any, path: Path) -> list[Step]:
    """Return steps that mean a path of a tree, and perhaps others."""
    steps: list[Step] = []
    for depth, key in enumerate(path):
        if random.random() < 0.15:
            steps.append(("**", None))
            if random.random() < 0.5:
                continue
        count = len(get(tree, path[:depth]))
        steps.append(random.choice(_STEPS)(random, key, count))
    if random.random() < 0.1:
        steps.append(("**", None))
    return steps


def text_of(steps: Sequence[Step]) -> str:
    """Return the text of a pattern."""
    text = ""
    for step, _ in steps:
        text += step if step.startswith("[") or not text else f".{step}"
    return text


def meant(
    steps: Sequence[Step], tree: Any, *, none_is_leaf: bool = False
) -> list[tuple[Path, Any]]:
    """Return the places that a pattern means, a node before what is below."""
    tests = [test for _, test in steps]
    leaves_only = bool(tests) and tests[-1] is None

    def fits(tests: Sequence[Any], path: Path, done: Path) -> bool:
        if not tests:
            return not path
        if tests[0] is None:
            return fits(tests[1:], path, done) or (
                path != () and fits(tests, path[1:], (*done, path[0]))
            )
        if not path or not tests[0](path[0], len(get(tree, done))):
            return False
        return fits(tests[1:], path[1:], (*done, path[0]))

    return [
        (path, value)
        for path, value in places(tree)
        if not (leaves_only and is_node(value, none_is_leaf=none_is_leaf))
        and fits(tests, path, ())
    ]


# -------------------------------------------------------------------------- steps


def _name(_random: Random, key: Any, _count: int) -> Step:
    name = str(key)
    if not name.isdigit():
        return name, lambda other, _: other == name
    return name, lambda other, _: str(other) == name


def _exactly(random: Random, key: Any, count: int) -> Step:
    if isinstance(key, str):
        return f"[{key!r}]", lambda other, _: type(other) is str and other == key
    number = key - count if random.random() < 0.5 else key

    def test(other: Any, count: int) -> bool:
        return type(other) is int and other == number + count * (number < 0)

    return f"[{number}]", test


def _any(random: Random, _key: Any, _count: int) -> Step:
    return random.choice(("*", "[*]")), lambda *_: True


def _glob(random: Random, key: Any, _count: int) -> Step:
    name = [*str(key)]
    name[random.randrange(len(name))] = random.choice("*?")
    glob = "".join(name) + random.choice(("", "", "*"))
    if "**" in glob or glob == "*":
        glob = "?*"
    return glob, lambda other, _: fnmatchcase(str(other), glob)


def _one_of(random: Random, key: Any, _count: int) -> Step:
    names = [str(key), random.choice(("a", "b", "0", "zz"))]
    random.shuffle(names)
    return "{" + ",".join(names) + "}", lambda other, _: str(other) in names


def _range(random: Random, key: Any, count: int) -> Step:
    if isinstance(key, str):
        return _name(random, key, count)
    start, end = random.choice((None, key, key - count)), random.choice((None, key + 1))
    span = slice(start, end, random.choice((None, None, 1)))
    parts = ["" if part is None else str(part) for part in (start, end, span.step)]
    text = ":".join(parts if parts[2] else parts[:2])

    def test(other: Any, count: int) -> bool:
        return type(other) is int and other in range(*span.indices(count))

    return f"[{text}]", test


_STEPS = (_name, _name, _exactly, _exactly, _any, _glob, _one_of, _range)

"""Parts, masks, labels and groups of trees, against plain recursion."""

from collections.abc import Callable
from typing import Any

import leafwise as lw

from . import model, patterns
from .edits import TABLE
from .model import Path
from .runner import Round
from .tell import told
from .trees import WORDS, Trees


def play(one: Round) -> None:
    """Choose leaves of a tree in several ways; part, filter, label and mask it."""
    trees = Trees(one.random, TABLE, keys=WORDS)
    tree = trees.node()
    none_is_leaf = one.random.random() < 0.5
    one.step(f"tree {told(tree)}, none_is_leaf={none_is_leaf}")
    chosen = [selection(one, tree, none_is_leaf=none_is_leaf) for _ in range(2)]
    for check in (parts, filters, labels, hidden):
        one.step(check.__name__)
        check(one, tree, chosen, {"none_is_leaf": none_is_leaf})


Chosen = tuple[Any, Callable[[Path, Any], bool]]


def selection(one: Round, tree: Any, *, none_is_leaf: bool) -> Chosen:
    """Return a selector, and what says which leaves it means."""
    random = one.random
    form = random.randrange(5)
    if form == 0:
        steps = patterns.pattern_for(random, tree, random.choice(model.places(tree))[0])
        found = patterns.meant(steps, tree, none_is_leaf=none_is_leaf)
        paths = [path for path, _ in found]
        text = patterns.text_of(steps)
        one.step(f"pattern {text!r}")
        return text, lambda path, _: any(model.is_inside(path, p) for p in paths)
    if form == 1:
        cls = random.choice((int, str, float, bool, bytes))
        one.step(f"type {cls}")
        return cls, lambda _, value: isinstance(value, cls)
    if form == 2:
        one.step("function of path and leaf")
        return lambda path, _: len(path) == 2, lambda path, _: len(path) == 2
    table = {path: random.random() < 0.5 for path, _ in model.places(tree)}
    if form == 3:
        one.step("tree of bools")
        mask = model.map_leaves(
            lambda path, _: table[path], tree, none_is_leaf=none_is_leaf
        )
        return mask, lambda path, _: table[path]
    one.step("function of the leaf")
    wanted = random.choice(("int", "str", "array", "Mute"))
    test = lambda value: told(value)[0] == wanted  # noqa: E731
    return test, lambda _, value: test(value)


def mapped(function: Callable[[Path, Any], Any], tree: Any, options: Any) -> Any:
    """Return a tree made by the model, ready to be compared."""
    return told(model.map_leaves(function, tree, **options))


def parts(one: Round, tree: Any, chosen: list[Chosen], options: Any) -> None:
    """Each leaf is in the part of the first selector that means it; and back."""
    found = lw.tree_partition(
        tree, *(what for what, _ in chosen), missing_ok=True, **options
    )
    tests = [test for _, test in chosen]

    def number(path: Path, value: Any) -> int:
        return next((i for i, test in enumerate(tests) if test(path, value)), 2)

    for place, part in enumerate(found):
        expected = mapped(
            lambda path, x, place=place: x if number(path, x) == place else lw.MISSING,
            tree,
            options,
        )
        one.same(f"part {place}", expected, told(part))
    one.same("combined", told(tree), told(lw.tree_combine(*found, **options)))
    some = one.random.sample(found, len(found))
    one.same("in any order", told(tree), told(lw.tree_combine(*some, **options)))


def filters(one: Round, tree: Any, chosen: list[Chosen], options: Any) -> None:
    """What is not meant is filled."""
    what, test = chosen[0]
    expected = mapped(lambda path, x: x if test(path, x) else "fill", tree, options)
    found = lw.selection.tree_filter(
        tree, what, fill="fill", missing_ok=True, **options
    )
    one.same("filter", expected, told(found))
    mask = lw.at(tree, missing_ok=True, **options)[what].mask()
    one.same(
        "mask", mapped(lambda path, x: bool(test(path, x)), tree, options), told(mask)
    )


def labels(one: Round, tree: Any, chosen: list[Chosen], options: Any) -> None:
    """The first selector that means a leaf labels it; leaves go by a function."""
    rules = {
        lw.selection.selector(what): name
        for (what, _), name in zip(chosen, "xy", strict=True)
    }

    if len(rules) < len(chosen):
        return  # the same selector twice

    def label(path: Path, value: Any) -> str:
        found = [
            n for (_, test), n in zip(chosen, "xy", strict=True) if test(path, value)
        ]
        return (found or ["z"])[0]

    found = lw.selection.tree_labels(tree, rules, default="z", **options)
    one.same("labels", mapped(label, tree, options), told(found))
    groups = lw.selection.tree_group_by(tree, lambda value: told(value)[0], **options)
    for name, group in groups.items():
        expected = mapped(
            lambda _, x, name=name: x if told(x)[0] == name else lw.MISSING,
            tree,
            options,
        )
        one.same(f"group {name}", expected, told(group))
    names = {told(value)[0] for _, value in model.leaves(tree, **options)}
    one.same("groups", sorted(names), sorted(groups))


def hidden(one: Round, tree: Any, chosen: list[Chosen], options: Any) -> None:
    """What is masked is met by no walk, and comes back."""
    what, test = chosen[0]
    masked = lw.selection.tree_mask(tree, what, missing_ok=True, **options)
    rest = [x for path, x in model.leaves(tree, **options) if not test(path, x)]
    one.same("leaves", told(rest), told(lw.tree_leaves(masked, **options)))
    back = lw.selection.tree_unmask(
        lw.tree_map(lambda x: x, masked, **options), **options
    )
    one.same("unmasked", told(tree), told(back))

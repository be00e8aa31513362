"""Trees laid over one another, and overrides written as text."""

import json
from random import Random
from typing import Any

import leafwise as lw

from . import model
from .diffs import changes
from .edits import attempt, compared
from .model import Missing, Path, Refused
from .runner import Round
from .tell import told
from .trees import WORDED, WORDS, Trees, only


TABLE = {**only(list, tuple), dict: WORDED}
JOINS, LISTS = ("outer", "left", "inner", "right"), ("replace", "extend", "position")
CONFLICTS = ("overlay", "base", "error")


def play(one: Round) -> None:
    """Merge two trees; write some overrides; write a tree flat."""
    merge(one)
    override(one)
    flat(one)


# -------------------------------------------------------------------------- merging


def leaf(random: Random) -> Any:
    """Return a leaf; None is one, too, and now and then a mark to delete."""
    return random.choice((0, 1, True, "s", 2.5, None, None, lw.DELETE))


def merge(one: Round) -> None:
    """Compare a merge with plain recursion."""
    random = one.random
    trees = Trees(random, TABLE, leaf, keys=WORDS, none=False)
    base = without_marks(trees.node())
    overlay = trees.changed(base) if random.random() < 0.6 else trees.node()
    words = {
        "join": random.choice(JOINS),
        "lists": random.choice(LISTS),
        "conflict": random.choice(CONFLICTS),
    }
    rules = {}
    for _ in range(random.choice((0, 0, 1, 2))):
        path, _ = random.choice(model.places(random.choice((base, overlay))))
        rules[path] = random.choice((*JOINS, *LISTS, *CONFLICTS))
    one.step(f"merge {told(base)} and {told(overlay)}, {words}, {rules}")
    before = told(base), told(overlay)
    texts = {model.text(path): word for path, word in rules.items()}

    def expected() -> Any:
        found = merged(base, overlay, (), {**words, "decides": False}, rules)
        if found is Missing:
            raise Refused
        return found

    compared(
        one,
        "merge",
        expected,
        lambda: lw.tree_merge(base, overlay, **words, rules=texts),
    )
    one.same("the trees are as they were", before, (told(base), told(overlay)))
    one.holds("over itself", lw.tree_merge(base, base) is base)


def without_marks(tree: Any) -> Any:
    """Return a tree without marks to delete."""
    return model.map_leaves(
        lambda _, x: 3 if x is lw.DELETE else x, tree, none_is_leaf=True
    )


def merged(
    below: Any, above: Any, path: Path, words: dict[str, Any], rules: Any
) -> Any:
    """Return what stands at a place in the end, `Missing` for nothing."""
    if below is above:
        return below
    if path in rules:
        words = ruled(words, rules[path])
    if below is Missing:
        return cleaned(above) if words["join"] in ("outer", "right") else Missing
    if above is Missing:
        return below if words["join"] in ("outer", "left") else Missing
    if above is lw.DELETE:
        return Missing
    below_is_node, above_is_node = is_node(below), is_node(above)
    if not (below_is_node and above_is_node):
        fits = not (below_is_node or above_is_node) or below is None or above is None
        return chosen(below, above, words, fits=fits)
    if type(below) is dict and type(above) is dict:
        return joined(below, below, above, path, words, rules)
    if type(below) is dict or type(above) is dict:
        return chosen(below, above, words, fits=False)
    if words["lists"] == "replace":
        return chosen(below, above, words, fits=True)
    if words["lists"] == "extend":
        return type(below)([*below, *cleaned(above)])
    first, second = dict(enumerate(below)), dict(enumerate(above))
    return joined(below, first, second, path, words, rules)


def ruled(words: dict[str, Any], word: str) -> dict[str, Any]:
    """Return the words with one in its place."""
    for name, known in (("join", JOINS), ("lists", LISTS), ("conflict", CONFLICTS)):
        if word in known:
            decides = words["decides"] or name == "conflict"
            return {**words, name: word, "decides": decides}
    raise ValueError(word)


def joined(
    node: Any, first: Any, second: Any, path: Path, words: Any, rules: Any
) -> Any:
    """Return a node like another one, of what stands at the keys of both."""
    found = {}
    for key in [*first, *(key for key in second if key not in first)]:
        both = first.get(key, Missing), second.get(key, Missing)
        value = merged(*both, (*path, key), words, rules)
        if value is not Missing:
            found[key] = value
    return model.like(node, found.items())


def chosen(below: Any, above: Any, words: dict[str, Any], *, fits: bool) -> Any:
    """Return one of two values."""
    if not fits and not words["decides"]:
        raise Refused
    if words["conflict"] == "base":
        return below
    if words["conflict"] == "overlay":
        return cleaned(above)
    if changes(below, above):
        raise Refused
    return below


def cleaned(value: Any) -> Any:
    """Return a value without what is marked to be deleted."""
    if value is lw.DELETE:
        return Missing
    if not is_node(value):
        return value
    items = [(key, cleaned(child)) for key, child in model.own(value)]
    kept = [(key, child) for key, child in items if child is not Missing]
    if type(value) is tuple and len(kept) < len(items):
        raise Refused
    return model.like(value, kept)


def is_node(value: Any) -> bool:
    """Say whether a value is a node, where None is a leaf."""
    return model.is_node(value, none_is_leaf=True)


# ------------------------------------------------------------------------ overrides


def override(one: Round) -> None:
    """Compare overrides of a tree of numbers with plain recursion."""
    random = one.random
    trees = Trees(random, {**only(list), dict: WORDED}, number, keys=WORDS)
    tree = trees.node()
    for _ in range(4):
        path, _ = random.choice(model.places(tree))
        if random.random() < 0.5 or not path:
            path = (*path, *random.choices(WORDS[:5], k=random.choice((1, 2))))
        sign = random.choice(("", "+", "++", "~"))
        value = trees.tree(1)
        where = ".".join(map(str, path)) if sign in ("+", "++") else model.text(path)
        text = f"{sign}{where}"
        text += "" if sign == "~" else f"={json.dumps(value)}"
        one.step(f"override {text!r} of {tree}")
        made = attempt(lambda: lw.selection.override(tree, text))  # noqa: B023
        expected = attempt(lambda: overridden(tree, sign, path, value))  # noqa: B023
        one.same("override", _failed(expected), _failed(made))
        if type(made) in (dict, list):
            tree = made


def _failed(made: Any) -> Any:
    return "an error" if made in (Missing, Refused) else told(made)


def number(random: Random) -> Any:
    """Return a number."""
    return random.randrange(5)


def overridden(tree: Any, sign: str, path: Path, value: Any) -> Any:
    """Return a tree with one override."""
    if sign == "~":
        return model.drop(tree, path)
    there = attempt(lambda: model.get(tree, path))
    if sign == "":
        return model.changed(tree, path, lambda old: cast(old, value))
    if sign == "++" and there is not Missing:
        return model.changed(tree, path, lambda _: value)
    if not path:
        raise Refused
    for count in range(len(path) - 1, -1, -1):
        holder = attempt(lambda: model.get(tree, path[:count]))  # noqa: B023
        if holder is not Missing:
            made = value
            for key in reversed(path[count + 1 :]):
                made = {key: made}
            if holder is None:
                return model.put(tree, path[:count], {path[count]: made})
            return model.insert(tree, path[: count + 1], made)
    raise Missing


def cast(old: Any, new: Any) -> Any:
    """Return a new value if it is of the sort of an old one."""
    if old is None or new is None:
        return new
    if type(old) is not type(new):
        raise Refused
    if type(old) is dict:
        sorts = {key: type(old[key]) for key in new if key in old}
    else:
        types = {type(x) for x in old} if type(old) is list else set()
        sorts = dict.fromkeys(range(len(new)), *types) if len(types) == 1 else {}
    for key, sort in sorts.items():
        fits = new[key] is None or sort is type(None) or type(new[key]) is sort
        if not fits:
            raise Refused
    return new


# ------------------------------------------------------------------------------ flat


def flat(one: Round) -> None:
    """Write a tree flat, and read it back."""
    trees = Trees(one.random, {**only(list), dict: WORDED}, number, keys=WORDS)
    tree = trees.changed(trees.node())
    if type(tree) is not dict:
        tree = {"root": tree}
    sep = one.random.choice((".", "/", "->", "a", " "))
    one.step(f"flat {tree}, {sep!r}")
    table = lw.selection.to_flat(tree, sep)
    ends = [
        value
        for _, value in _in_own_order(tree)
        if not model.is_node(value) or not value
    ]
    one.same("values", told([*ends]), told([*table.values()]))
    one.same("and back", told(tree), told(lw.selection.from_flat(table, sep=sep)))
    shuffled = one.random.sample([*table.items()], len(table))
    like = lw.selection.from_flat(shuffled, tree, sep=sep)
    one.same("and back, by a tree like it", told(tree), told(like))


def _in_own_order(tree: Any, path: Path = ()) -> list[tuple[Path, Any]]:
    if not model.is_node(tree) or not tree:
        return [(path, tree)] if path or not model.is_node(tree) else []
    return [
        found
        for key, child in model.own(tree)
        for found in _in_own_order(child, (*path, key))
    ]

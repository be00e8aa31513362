"""Reading and editing what selectors mean, against plain recursion."""

from collections.abc import Callable
from random import Random
from typing import Any

import leafwise as lw
from leafwise.errors import EditError, PathError

from . import model, odd, patterns
from .model import Missing, Path, Refused
from .runner import Round
from .tell import told
from .trees import SORTS, WORDED, WORDS, Trees, only


TABLE = {**only(list, tuple), dict: WORDED}


def play(one: Round) -> None:
    """Read and edit a tree a few times, going on with what comes out."""
    anywhere(one)
    trees = Trees(one.random, TABLE, keys=WORDS)
    tree = trees.node()
    for _ in range(5):
        before = told(tree)
        act = one.random.choice(ACTS)
        one.step(f"{act.__name__} of {before}")
        made = act(one, trees, tree)
        one.same("the tree is as it was", before, told(tree))
        tree = made if type(made) in TABLE else trees.node()


def attempt(function: Callable[[], Any]) -> Any:
    """Return what a call gives, or which sort of error it raises."""
    try:
        return function()
    except (Missing, PathError):
        return Missing
    except (Refused, EditError):
        return Refused


def compared(
    one: Round, what: str, expected: Callable[[], Any], found: Callable[[], Any]
) -> Any:
    """Compare a model with what the library gives; return the latter."""
    one.step(what)
    result = attempt(found)
    one.same(what, told(attempt(expected)), told(result))
    return result


def some_path(random: Random, tree: Any) -> Path:
    """Return the path of something in a tree, or now and then of nothing."""
    path, _ = random.choice(model.places(tree))
    if random.random() < 0.1:
        return (*path, random.choice((*WORDS[:6], 0, 5)))  # "10" may mean a position
    return path


def selector(random: Random, path: Path) -> Any:
    """Return one of the forms in which a path can be given."""
    text = model.text(path)
    form = random.randrange(4)
    if form == 0:
        return lw.KeyPath.parse(text)
    if form == 1:
        return lw.selection.selector(text)
    if form == 2 and path:
        return ".".join(map(str, path))
    return text


# ----------------------------------------------------------- nodes of all sorts


def anywhere(one: Round) -> None:
    """Set a leaf of any tree: it is there, all others stay, and back again."""
    table = {cls: sort for cls, sort in SORTS.items() if cls is not odd.Fragile}
    tree = Trees(one.random, table).node()
    pairs = lw.tree_leaves_with_path(tree)
    before = told(tree)
    if not pairs:
        return
    number = one.random.randrange(len(pairs))
    path, old = pairs[number]
    one.step(f"set {path} of {before}")
    value = odd.Plain("new")
    made = lw.at(tree)[path].set(value)
    one.same("the tree is as it was", before, told(tree))
    leaves = [leaf for _, leaf in pairs]
    leaves[number] = value
    one.same("leaves", told(leaves), told(lw.tree_leaves(made)))
    one.holds("the value at the path", path(made) is value)
    one.same("structure", lw.tree_structure(tree), lw.tree_structure(made))
    one.same("and back", before, told(lw.at(made)[path].set(old)))
    if not isinstance(old, odd.EqualToAll | odd.Raising):  # it cannot be compared
        diff = lw.tree_diff(made, tree)
        one.same("what differs", [str(path)], [str(change.path) for change in diff])
        one.same("applied", before, told(diff.apply(made)))
    chosen, rest = lw.tree_partition(tree, path)
    one.same("parts combined", before, told(lw.tree_combine(chosen, rest)))
    text = str(path)
    try:
        again = lw.KeyPath.parse(text)
    except PathError:
        return  # a key that has no literal
    if "nan" in text:
        return  # not equal to itself
    one.holds("the path by its text", again(made) is value)
    one.holds("the pattern by its text", lw.at(made)[text].get() is value)


# -------------------------------------------------------------------- many places


def read_pattern(one: Round, trees: Trees, tree: Any) -> Any:
    """What a pattern means: paths, values, number, mask."""
    random = one.random
    steps = patterns.pattern_for(random, tree, random.choice(model.places(tree))[0])
    text = patterns.text_of(steps)
    one.step(f"pattern {text!r}")
    expected = patterns.meant(steps, tree)
    found = lw.at(tree, missing_ok=True)[text]
    shown = [(model.text(path), told(value)) for path, value in expected]
    one.same("items", shown, [(str(path), told(x)) for path, x in found.items()])
    one.same("count", len(expected), found.count())
    inside = [path for path, _ in expected]
    mask = model.map_leaves(
        lambda path, _: any(model.is_inside(path, other) for other in inside), tree
    )
    one.same("mask", told(mask), told(found.mask()))
    return tree


def edit_pattern(one: Round, trees: Trees, tree: Any) -> Any:
    """Edit all places that a pattern means."""
    random = one.random
    steps = patterns.pattern_for(random, tree, random.choice(model.places(tree))[0])
    text = patterns.text_of(steps)
    paths = [path for path, _ in patterns.meant(steps, tree)]
    value = trees.tree(1)
    what = random.choice(("set", "apply", "delete"))
    one.step(f"{what} at pattern {text!r}")

    def expected() -> Any:
        if not paths:
            raise Missing
        if any(a != b and model.is_inside(a, b) for a in paths for b in paths):
            raise Refused
        made = tree
        for path in reversed(paths):
            if what == "delete":
                made = model.drop(made, path)
            else:
                new = [model.get(tree, path)] if what == "apply" else value
                made = model.put(made, path, new)
        return made

    def found() -> Any:
        if what == "set":
            return lw.at(tree)[text].set(value)
        if what == "apply":
            return lw.at(tree)[text].apply(lambda x: [x])
        return lw.at(tree)[text].delete()

    return compared(one, what, expected, found)


# ---------------------------------------------------------------------- one place


def read(one: Round, trees: Trees, tree: Any) -> Any:
    """Read what stands at a path, in many forms."""
    path = some_path(one.random, tree)
    what = selector(one.random, path)
    default = object()
    compared(
        one,
        f"get {what}",
        lambda: model.get(tree, path),
        lambda: lw.at(tree)[what].get(),
    )
    value = attempt(lambda: model.get(tree, path))
    value = default if value is Missing else value
    one.holds("get(default)", lw.at(tree)[what].get(default=default) is value)
    if value is not default:
        keys = lw.KeyPath.parse(model.text(path))
        one.holds("a path is called", keys(tree) is value)
        one.holds("its code", eval(keys.code("t"), {"t": tree}) is value)
    return tree


def put(one: Round, trees: Trees, tree: Any) -> Any:
    """Set what stands at a path; all else is shared."""
    path = some_path(one.random, tree)
    what, value = selector(one.random, path), trees.tree(1)
    made = compared(
        one,
        f"set {what}",
        lambda: model.changed(tree, path, lambda _: value),
        lambda: lw.at(tree)[what].set(value),
    )
    if made is not Missing:
        for other, node in model.places(tree):
            if not model.is_inside(path, other) and not model.is_inside(other, path):
                one.holds(f"{other} is shared", model.get(made, other) is node)
    return made


def apply(one: Round, trees: Trees, tree: Any) -> Any:
    """Apply a function at a path."""
    path = some_path(one.random, tree)
    what = selector(one.random, path)
    return compared(
        one,
        f"apply {what}",
        lambda: model.changed(tree, path, lambda x: (x,)),
        lambda: lw.at(tree)[what].apply(lambda x: (x,)),
    )


def delete(one: Round, trees: Trees, tree: Any) -> Any:
    """Delete what stands at a path."""
    path = some_path(one.random, tree)
    what = selector(one.random, path)
    return compared(
        one,
        f"delete {what}",
        lambda: model.drop(tree, path),
        lambda: lw.at(tree)[what].delete(),
    )


def insert(one: Round, trees: Trees, tree: Any) -> Any:
    """Insert into what stands at a path."""
    random = one.random
    above, node = random.choice(model.places(tree))
    key = random.choice((0, 1, 2)) if type(node) is list else random.choice(WORDS)
    path, value = (*above, key), trees.tree(1)
    what = selector(random, path)
    return compared(
        one,
        f"insert {what}",
        lambda: model.insert(tree, path, value),
        lambda: lw.at(tree)[what].insert(value),
    )


def move(one: Round, trees: Trees, tree: Any) -> Any:
    """Move something, within the tree that is left."""
    random = one.random
    source = some_path(random, tree)
    target = (*random.choice(model.places(tree))[0], random.choice(WORDS[:6]))
    first, second = selector(random, source), selector(random, target)
    return compared(
        one,
        f"move {first} to {second}",
        lambda: model.insert(model.drop(tree, source), target, model.get(tree, source)),
        lambda: lw.selection.tree_move(tree, first, second),
    )


def rename(one: Round, trees: Trees, tree: Any) -> Any:
    """Rename a key."""
    path, name = some_path(one.random, tree), one.random.choice(WORDS)
    what = selector(one.random, path)
    return compared(
        one,
        f"rename {what} to {name!r}",
        lambda: model.rename(tree, path, name),
        lambda: lw.selection.tree_rename(tree, what, name),
    )


def update(one: Round, trees: Trees, tree: Any) -> Any:
    """Make two edits at once."""
    random = one.random
    paths = [some_path(random, tree) for _ in range(2)]
    edits = {model.text(path): trees.leaf(random) for path in paths}
    edits = {what: None if callable(value) else value for what, value in edits.items()}

    def expected() -> Any:
        for path in paths:
            model.get(tree, path)
        if paths[0] != paths[1] and any(
            model.is_inside(*both) for both in (paths, paths[::-1])
        ):
            raise Refused
        made = tree
        for path in paths:
            made = model.put(made, path, edits[model.text(path)])
        return made

    return compared(
        one,
        f"update {[*edits]}",
        expected,
        lambda: lw.selection.tree_update(tree, edits),
    )


def point(one: Round, trees: Trees, tree: Any) -> Any:
    """Replace what a function points to; empty tuples may all be one object."""
    there = model.places(tree)
    places = [path for path, x in there if type(x) is not tuple or x]
    if not places:
        return tree
    path, value = one.random.choice(places), trees.tree(1)
    return compared(
        one,
        f"tree_at {path}",
        lambda: model.put(tree, path, value),
        lambda: lw.selection.tree_at(lambda root: model.get(root, path), tree, value),
    )


ACTS = (
    *(read_pattern, edit_pattern, edit_pattern, read, put, apply, delete, insert),
    *(move, rename, update, point),
)

"""Reading and editing what paths lead to, against plain recursion."""

from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from leafwise.errors import EditError, PathError


WORDS = [*"abcd", "x-y", "_z"]
LEAVES = st.integers(0, 3) | st.none() | st.text("ab", max_size=2)
TREES = lw.testing.trees(
    LEAVES, nodes=[list, tuple, dict], keys=st.sampled_from(WORDS), max_leaves=8
)


class Missing(PathError):
    """There is nothing at a path."""


def pairs(node):
    """Return the keys and children of a node, nothing for a leaf."""
    if type(node) is dict:
        return list(node.items())
    return list(enumerate(node)) if type(node) in (list, tuple) else []


def places(tree, path=()):
    """Return everything in a tree with its path, nodes before their children."""
    all_places = [(path, tree)]
    for key, child in pairs(tree):
        all_places += places(child, (*path, key))
    return all_places


def get(tree, path):
    for key in path:
        tree = dict(pairs(tree)).get(key, Missing)
        if tree is Missing:
            raise Missing("nothing")
    return tree


def changed(tree, path, change):
    """Return a tree with something else at a path."""
    if not path:
        return change(tree)
    get(tree, path[:1])
    items = [
        (k, changed(x, path[1:], change) if k == path[0] else x) for k, x in pairs(tree)
    ]
    return dict(items) if type(tree) is dict else type(tree)(x for _, x in items)


def without(path):
    """Return a change that takes away the last key of a path."""

    def change(node):
        get(node, path[-1:])
        if type(node) is tuple:
            raise EditError("fixed")
        items = [(key, x) for key, x in pairs(node) if key != path[-1]]
        return dict(items) if type(node) is dict else [x for _, x in items]

    return change


def drop(tree, path):
    if not path:
        raise EditError("the root")
    return changed(tree, path[:-1], without(path))


def insert(tree, path, value):
    key = path[-1]

    def change(node):
        if type(node) is dict and key not in node:
            return {**node, key: value}
        if type(node) is list and type(key) is int and 0 <= key <= len(node):
            return [*node[:key], value, *node[key:]]
        raise EditError("no place")

    return changed(tree, path[:-1], change)


def rename(tree, path, name):
    if not path:
        raise EditError("the root")
    get(tree, path)

    def change(node):
        if type(node) is not dict or (name in node and name != path[-1]):
            raise EditError("not to be renamed")
        return {name if key == path[-1] else key: x for key, x in node.items()}

    return changed(tree, path[:-1], change)


ACTS = {
    "get": (lambda t, p, v, n: get(t, p), lambda t, w, v, n: lw.at(t)[w].get()),
    "set": (
        lambda t, p, v, n: changed(t, p, lambda _: v),
        lambda t, w, v, n: lw.at(t)[w].set(v),
    ),
    "apply": (
        lambda t, p, v, n: changed(t, p, lambda x: (x,)),
        lambda t, w, v, n: lw.at(t)[w].apply(lambda x: (x,)),
    ),
    "delete": (lambda t, p, v, n: drop(t, p), lambda t, w, v, n: lw.at(t)[w].delete()),
    "insert": (
        lambda t, p, v, n: insert(t, (*p, n), v),
        lambda t, w, v, n: lw.at(t)[f"{w}[{n!r}]"].insert(v),
    ),
    "move": (
        lambda t, p, v, n: insert(drop(t, p), (n,), get(t, p)),
        lambda t, w, v, n: lw.selection.tree_move(t, w, f"[{n!r}]"),
    ),
    "rename": (
        lambda t, p, v, n: rename(t, p, n),
        lambda t, w, v, n: lw.selection.tree_rename(t, w, n),
    ),
    "update": (
        lambda t, p, v, n: changed(t, p, lambda _: v),
        lambda t, w, v, n: lw.selection.tree_update(t, {w: v}),
    ),
    "tree_at": (
        lambda t, p, v, n: changed(t, p, lambda _: v),
        lambda t, w, v, n: lw.selection.tree_at(lw.KeyPath.parse(w), t, v),
    ),
}


def attempt(function, *args):
    """Return what a call gives, or which sort of error it raises."""
    try:
        return repr(function(*args))
    except (PathError, EditError) as error:
        return PathError if isinstance(error, PathError) else EditError


@given(TREES, TREES, st.sampled_from(list(ACTS)), st.sampled_from(WORDS), st.data())
def test_edits_are_those_of_the_model(tree, value, name, word, data):
    """Results, sorts of errors; the tree is as it was, what is apart is shared."""
    path, _ = data.draw(st.sampled_from(places(tree)))
    path += data.draw(st.sampled_from([(), (), (), ("_z",), (5,)]))
    text = "".join(f"[{key!r}]" for key in path)
    before = repr(tree)
    model, ours = ACTS[name]
    if name == "tree_at" and attempt(get, tree, path) in (PathError, "()"):
        return  # an empty tuple is one object, wherever it is
    outcome = attempt(ours, tree, text, value, word)
    assert outcome == attempt(model, tree, path, value, word)
    assert repr(tree) == before
    if name == "set" and isinstance(outcome, str):
        changed = lw.at(tree)[text].set(value)
        for other, node in places(tree):
            if other[: len(path)] != path and path[: len(other)] != other:
                assert get(changed, other) is node

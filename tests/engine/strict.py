"""A comparison that lets nothing pass: types, identities, orders, the last bit."""

import functools
from collections import OrderedDict, defaultdict, deque
from typing import Any

import leafwise as lw
from leafwise.core.keyorder import KeyOrder


SCALARS = (bool, bytes, complex, int, str, type(None))
SEQUENCES = (list, tuple, deque)
MAPPINGS = (dict, OrderedDict, defaultdict)
MISSING = object()


def snap(value: Any) -> Any:
    """Return a value that is equal for two trees only if nobody can tell them apart.

    Containers and nodes are compared part by part, scalars by type and text, all
    else by identity.
    """
    cls = type(value)
    if cls in SCALARS:
        return cls, repr(value)
    if cls is float:
        return cls, value.hex() if value == value else id(value)
    if cls in SEQUENCES:
        return cls, getattr(value, "maxlen", 0), [*map(snap, value)]
    if cls in MAPPINGS:
        pairs = [(snap(key), snap(item)) for key, item in value.items()]
        return cls, id(getattr(value, "default_factory", None)), pairs
    if isinstance(value, lw.PyTreeDef):
        return snap_treedef(value)
    if isinstance(value, lw.KeyPath):
        return cls, [*map(snap_key, value)]
    if cls is KeyOrder:
        return value.perm, value.is_structure
    if isinstance(value, functools.partial):
        held = vars(value).get("_children", MISSING)
        return cls, id(value.func), snap(value.args), snap(value.keywords), snap(held)
    if hasattr(cls, "n_sequence_fields") or hasattr(cls, "_fields"):
        return cls, [*map(snap, tuple.__iter__(value))]
    names = getattr(cls, "snap_names", None)
    if names is not None:
        return cls, [(name, snap(getattr(value, name, MISSING))) for name in names]
    return cls, id(value)


def snap_key(key: Any) -> Any:
    """Return a snapshot of one key of a path."""
    return type(key), [*map(snap, key._values())]


def snap_treedef(treedef: lw.PyTreeDef) -> Any:
    """Return a snapshot of all that a treedef knows."""
    code = [(run, id(rule), n, snap(aux)) for run, rule, n, aux in treedef._code]
    paths = [[*map(snap_key, path)] for path in treedef.paths()]
    mode = treedef._mode.namespace, treedef._mode.none_is_leaf
    return code, treedef.num_leaves, mode, paths, repr(treedef), hash(treedef)


def snap_error(error: BaseException) -> Any:
    """Return a snapshot of an error: its text, its notes, what it points at."""
    told = [getattr(error, name, MISSING) for name in ("expected", "actual")]
    told += [getattr(error, "tree_index", MISSING), getattr(error, "path", MISSING)]
    notes = [*getattr(error, "__notes__", [])]
    return type(error), str(error), notes, [*map(snap, told)]


def outcome(function: Any, *args: Any, **options: Any) -> Any:
    """Return a snapshot of what a call gives, or of what it raises."""
    try:
        value = function(*args, **options)
    except Exception as error:
        return "raised", snap_error(error)
    return "gave", snap(value)


def in_modes(act: Any, *, times: int = 3) -> tuple[Any, list[Any]]:
    """Return what something gives by the walk, and repeatedly by the engine."""
    with lw.engine.disabled():
        expected = act()
    with lw.engine.eager():
        found = [act() for _ in range(times)]
    return expected, found


def check(act: Any, *, times: int = 3) -> Any:
    """Assert that the engine gives what the walk does, each time; return it."""
    expected, found = in_modes(act, times=times)
    for result in found:
        assert result == expected
    return expected


# ------------------------------------------------------------------- the operations


def wrap(*values: Any) -> Any:
    """Stand in for a function that is mapped."""
    return values


def pair_up(first: Any, second: Any) -> Any:
    """Stand in for a function that reduces; the order of the calls shows."""
    return ("pair", first, second)


def take(tree: Any, walk: dict[str, Any]) -> Any:
    """Flatten in all ways."""
    leaves, treedef = lw.tree_flatten(tree, **walk)
    return [
        [*map(id, leaves)],
        treedef,
        [*map(id, lw.tree_leaves(tree, **walk))],
        lw.tree_structure(tree, **walk) == treedef,
        lw.tree_structure(tree, **walk),
    ]


def take_with_paths(tree: Any, walk: dict[str, Any]) -> Any:
    """Flatten with paths."""
    pairs, treedef = lw.tree_flatten_with_path(tree, **walk)
    return [[(path, id(leaf)) for path, leaf in pairs], treedef]


def put(tree: Any, walk: dict[str, Any]) -> Any:
    """Unflatten, with the leaves that were there, as list, tuple and iterator."""
    leaves, treedef = lw.tree_flatten(tree, **walk)
    kept = [*leaves]
    made = [
        lw.tree_unflatten(treedef, leaves),
        treedef.unflatten(tuple(leaves)),
        treedef.unflatten(iter(leaves)),
    ]
    assert [*map(id, kept)] == [*map(id, leaves)]
    return made


def put_wrongly(tree: Any, walk: dict[str, Any]) -> Any:
    """Unflatten too few and too many leaves."""
    leaves, treedef = lw.tree_flatten(tree, **walk)
    wrong = ([*leaves, 0], leaves[1:], [])
    return [[*map(repr, outcome(treedef.unflatten, some)[:1])] for some in wrong] + [
        outcome(lw.tree_unflatten, treedef, some) for some in wrong if some != leaves
    ]


def up_to(tree: Any, walk: dict[str, Any]) -> Any:
    """Flatten up to the tree's own structure."""
    treedef = lw.tree_structure(tree, **walk)
    return [*map(id, treedef.flatten_up_to(tree))]


def transpose(tree: Any, walk: dict[str, Any]) -> Any:
    """Turn a tree of pairs into a pair of trees."""
    modes = {k: v for k, v in walk.items() if k in ("none_is_leaf", "namespace")}
    if len(modes) != len(walk):
        return None
    outer = lw.tree_structure(tree, **modes)
    inner = lw.tree_structure((0, [0]), **modes)
    pairs = lw.tree_map(lambda x: (x, [repr(x)]), tree, **modes)
    return lw.tree_transpose(outer, inner, pairs)


SINGLE = (
    take,
    take_with_paths,
    put,
    put_wrongly,
    up_to,
    transpose,
    lambda tree, walk: lw.tree_map(wrap, tree, **walk),
    lambda tree, walk: lw.tree_map_with_path(wrap, tree, **walk),
    lambda tree, walk: lw.tree_map_(wrap, tree, **walk) is tree,
    lambda tree, walk: lw.tree_reduce(pair_up, tree, "start", **walk),
    lambda tree, walk: lw.tree_reduce(pair_up, tree, **walk),
    lambda tree, walk: lw.tree_all(tree, **walk),
    lambda tree, walk: lw.tree_sum(tree, **walk),
)
DOUBLE = (
    lambda a, b, walk: lw.tree_map(wrap, a, b, **walk),
    lambda a, b, walk: lw.tree_map(wrap, a, b, strict=True, **walk),
    lambda a, b, walk: lw.tree_map(wrap, a, b, a, **walk),
    lambda a, b, walk: lw.tree_map_with_path(wrap, a, b, **walk),
    lambda a, b, walk: lw.tree_structure(a, **walk).flatten_up_to(b),
    lambda a, b, walk: lw.broadcast_prefix(a, b, **walk),
    lambda a, b, walk: lw.tree_broadcast_prefix(a, b, **walk),
    lambda a, b, walk: lw.tree_structure(a, **walk) == lw.tree_structure(b, **walk),
)


def battery(tree: Any, walk: dict[str, Any]) -> Any:
    """Return the outcomes of all operations on one tree."""
    return [outcome(operation, tree, walk) for operation in SINGLE]


def battery_of_two(first: Any, second: Any, walk: dict[str, Any]) -> Any:
    """Return the outcomes of all operations on two trees."""
    return [outcome(operation, first, second, walk) for operation in DOUBLE]

"""The same calls on optree, on trees of the nodes that mean the same there."""

import contextlib
from collections.abc import Callable
from typing import Any

import optree

import leafwise as lw

from . import odd
from .peers import (
    DEFAULTDICT,
    DEQUE,
    MAPPINGS,
    SEQUENCES,
    Calls,
    flatten_box,
    is_pair,
    pair_of,
    result,
    trees_of,
    unordered,
)
from .runner import Round
from .tell import told
from .trees import WORDED, Sort


SPACE, ORDERED = "fuzz-optree", "fuzz-optree-ordered"


class Local(odd.Node):
    """Registered in a namespace only."""


def _make_local(aux: Any, kids: Any) -> Local:
    return Local(kids, aux)


LOCAL = Sort(
    lambda random, kids: Local(kids, random.choice("tu")),
    lambda node: [*node.kids],
    lambda node, kids: Local(kids, node.aux),
)
BASIC = {**SEQUENCES, dict: WORDED, Local: LOCAL}
lw.namespace(SPACE)
lw.namespace(ORDERED, dict_order="insertion")
optree.register_pytree_node(Local, flatten_box, _make_local, namespace=SPACE)
lw.register_pytree_node(Local, flatten_box, _make_local, namespace=SPACE)


def play(one: Round) -> None:
    """Compare some calls on two trees, with one choice of options."""
    random = one.random
    options: dict[str, Any] = {"none_is_leaf": random.random() < 0.5}
    options["namespace"] = random.choice(("", SPACE, SPACE, ORDERED))
    one.step(f"options {options}")
    tree, other = pair_of(one, trees_of(one, BASIC, MAPPINGS, DEFAULTDICT, DEQUE))
    basic = pair_of(one, trees_of(one, BASIC))
    ordered = options["namespace"] == ORDERED
    order = optree.dict_insertion_ordered(True, namespace=ORDERED)
    with order if ordered else contextlib.nullcontext():
        for check in random.sample(ALONE, 3):
            one.step(check.__name__)
            check(one, tree, options)
        for check in random.sample(TOGETHER, 3):
            one.step(check.__name__)
            check(one, *(basic if check is prefixes else (tree, other)), options)


def both(one: Round, name: str, *args: Any, **options: Any) -> None:
    """Compare one function of both libraries that has the same name."""
    theirs = result(getattr(optree, name), *args, **options)
    short = {"broadcast_prefix": "broadcast_leaves"}.get(name, name)
    ours = result(getattr(lw.tree, short.removeprefix("tree_")), *args, **options)
    one.same(name, unordered(theirs), unordered(ours))


# ----------------------------------------------------------------------- one tree


def flatten(one: Round, tree: Any, options: Any) -> None:
    """Leaves, counts; and back."""
    leaves, spec = optree.tree_flatten(tree, **options)
    ours, treedef = lw.tree_flatten(tree, **options)
    one.same("leaves", [*map(id, leaves)], [*map(id, ours)])
    one.same("counts", _counts(spec), _counts(treedef))
    marks = [*range(len(leaves))]
    built = told(optree.tree_unflatten(spec, marks))
    one.same("unflatten", built, told(lw.tree_unflatten(treedef, marks)))
    one.same(
        "children",
        [*map(_counts, spec.children())],
        [*map(_counts, treedef.children())],
    )
    one.same("one level", told(spec.is_one_level()), told(treedef.is_one_level()))
    both(one, "tree_leaves", tree, **options)
    one.same(
        "iterator",
        [*map(id, optree.tree_iter(tree, **options))],
        [*map(id, lw.tree.iter(tree, **options))],
    )


def paths(one: Round, tree: Any, options: Any) -> None:
    """The bare keys of the paths, but for named tuples, whose keys are names here."""
    theirs, _, _ = optree.tree_flatten_with_accessor(tree, **options)
    ours = lw.tree_paths(tree, **options)
    code = [accessor.codify("t") for accessor in theirs]
    if not any("flat index" in str(path) for path in ours):
        one.same("code", code, [path.code("t") for path in ours])
    entries = optree.tree_paths(tree, **options)
    one.same("lengths", [*map(len, entries)], [*map(len, ours)])


def stops(one: Round, tree: Any, options: Any) -> None:
    """A predicate is asked about the same nodes, and stops at the same ones."""
    asked: tuple[list[Any], list[Any]] = ([], [])

    def predicate(number: int) -> Callable[[Any], bool]:
        return lambda node: bool(asked[number].append(told(node))) or is_pair(node)

    theirs = optree.tree_leaves(tree, is_leaf=predicate(0), **options)
    ours = lw.tree_leaves(tree, is_leaf=predicate(1), **options)
    one.same("leaves with is_leaf", [*map(id, theirs)], [*map(id, ours)])
    one.same("what it was asked", *asked)
    theirs = told(optree.tree_map(repr, tree, is_leaf=is_pair, **options))
    one.same(
        "mapped", theirs, told(lw.tree_map(repr, tree, is_leaf=is_pair, **options))
    )


def folds(one: Round, tree: Any, options: Any) -> None:
    """Folds, and what is asked about trees."""
    names = lw.tree_map(repr, tree, **options)
    join = "({}{})".format
    theirs = result(optree.tree_reduce, join, names, "", **options)
    one.same("reduce", theirs, result(lw.tree_reduce, join, names, "", **options))
    for name in ("tree_all", "tree_any", "tree_is_leaf"):
        both(one, name, tree, **options)
    for name in ("tree_max", "tree_min"):
        both(one, name, names, default="", **options)
    both(one, "all_leaves", [tree, names], **options)
    if not options["none_is_leaf"]:
        both(one, "tree_replace_nones", 0, tree, namespace=options["namespace"])


ALONE = (flatten, paths, stops, folds)


def _counts(treedef: Any) -> tuple[int, int, int]:
    return treedef.num_leaves, treedef.num_nodes, treedef.num_children


# ---------------------------------------------------------------------- two trees


def maps(one: Round, tree: Any, other: Any, options: Any) -> None:
    """Two and three trees."""
    for given in ((tree, other), (tree, other, tree)):
        theirs, ours = Calls(), Calls()
        expected = result(optree.tree_map, theirs, *given, **options)
        one.same("map", expected, result(lw.tree_map, ours, *given, **options))
        if expected != "an error":
            one.same("calls", theirs.seen, ours.seen)


def prefixes(one: Round, tree: Any, other: Any, options: Any) -> None:
    """Spreading, and whether that is possible.

    Here the full tree gives the order of what is spread, in optree the prefix: so
    dicts pair with dicts of the same sort, and their order does not count.
    """
    if options["namespace"] == ORDERED:
        options = {**options, "namespace": SPACE}
    both(one, "broadcast_prefix", tree, other, **options)
    both(one, "tree_broadcast_prefix", tree, other, **options)
    both(one, "tree_broadcast_common", tree, other, **options)
    spec, treedef = _structures(tree, options)
    expected = result(spec.flatten_up_to, other)
    one.same("flatten_up_to", expected, result(treedef.flatten_up_to, other))
    expected = not optree.prefix_errors(tree, other, **options)
    one.same(
        "prefix_errors", expected, not lw.tree.prefix_errors(tree, other, **options)
    )


def orders(one: Round, tree: Any, other: Any, options: Any) -> None:
    """Equality and order of structures."""
    a, x = _structures(tree, options)
    b, y = _structures(other, options)
    one.same("==", a == b, x == y)
    one.same("is_prefix", a.is_prefix(b), x.is_prefix(y))
    one.same("is_prefix back", b.is_prefix(a), y.is_prefix(x))
    one.same("strict", a.is_prefix(b, strict=True), x.is_prefix(y, strict=True))
    one.same("is_suffix", a.is_suffix(b), x.is_suffix(y))


def compositions(one: Round, tree: Any, other: Any, options: Any) -> None:
    """Composing and transposing."""
    a, x = _structures(tree, options)
    b, y = _structures(other, options)
    composed, ours = a.compose(b), x.compose(y)
    one.same("compose", _counts(composed), _counts(ours))
    marks = range(composed.num_leaves)
    nested = ours.unflatten(marks)
    one.same("built", told(composed.unflatten(marks)), told(nested))
    grown = a.transform(None, lambda _: b)
    one.same("transform", _counts(grown), _counts(x.transform(f_leaf=lambda _: y)))
    if a.num_leaves and b.num_leaves:
        expected = result(optree.tree_transpose, a, b, nested)
        one.same("transpose", expected, result(lw.tree_transpose, x, y, nested))


def _structures(tree: Any, options: Any) -> tuple[Any, Any]:
    return optree.tree_structure(tree, **options), lw.tree_structure(tree, **options)


TOGETHER = (maps, prefixes, orders, compositions)

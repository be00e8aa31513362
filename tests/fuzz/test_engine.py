"""The engine on and eager against the plain walk, over programs that change trees.

A program is played three times on copies of the same trees. The first time is the
reference: the walk without the engine, and without what it remembers of earlier trees.
"""

import copy
import itertools
import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from helpers.confusable_trees import KEYS, Node, Tree, leaves, trees, variants
from helpers.exact_forms import exact_form, outcome
from leafwise.core.keys import known_dicts
from leafwise.errors import RegistryError


pytest.importorskip("leafwise.engine")

OWN = "fuzz-own"
lw.namespace(OWN)


class Late(Node):
    """Registered and unregistered while a program runs."""


class Later(Late):
    """A subclass, which `inherit=True` covers."""


def unregister(namespace=""):
    if lw.is_registered(Late, namespace=namespace):
        try:
            lw.unregister_pytree_node(Late, namespace=namespace)
        except RegistryError:  # it is known by the global registry
            return


def register(n):
    """Register the class, in one way or another."""
    order = -1 if n % 2 else 1
    has_names = n % 3 > 0

    def flatten_late(node):
        children = node.kids[::order]
        if not has_names:
            return children, node.aux
        return children, node.aux, [f"k{i}" for i in range(len(children))]

    lw.register_pytree_node(
        Late,
        flatten_late,
        lambda aux, kids: Late(list(kids)[::order], aux),
        namespace=OWN if n % 5 > 2 else "",
        inherit=n % 7 > 3,
        exist_ok=True,
    )


class Program:
    """What goes from step to step: trees, treedefs, options, calls of callbacks."""

    def __init__(self, family):
        self.family = copy.deepcopy(family)
        self.tree = self.other = self.family[0]
        self.treedefs = [lw.tree_structure(self.tree)]
        self.options = {}
        self.calls = []

    def treedef(self, n):
        return self.treedefs[n % len(self.treedefs)]

    def keep(self, treedef):
        if treedef.num_leaves < 500:
            self.treedefs = [*self.treedefs[-3:], treedef]
        return treedef

    # --------------------------------------------------------------------- callbacks

    def noted(self, *args):
        """Take note of a call; return something."""
        self.calls.append(list(map(exact_form, args)))
        return ["leaf", *args]

    def failing(self, *args):
        self.noted(*args)
        if len(self.calls) == 3:
            raise KeyError("mine")
        return 1

    def meddling(self, *args):
        """Change the trees while they are walked."""
        self.noted(*args)
        if len(self.calls) == 2:
            for tree in (self.tree, self.other):
                if type(tree) in (list, dict):
                    tree.clear()
        return 0

    def asking(self, node):
        return self.noted(node) and isinstance(node, tuple | Late)

    def refusing(self, node):
        return not self.failing(node)

    def vague(self, node):
        self.noted(node)
        return [node] if type(node) is list and len(node) == 2 else ""

    def changing(self, node):
        """Change the tree, and walk it, as a predicate."""
        self.noted(node)
        if len(self.calls) == 4 and type(node) in (list, dict):
            node.clear()
        elif len(self.calls) == 6:
            lw.tree_leaves(node, is_leaf=lambda _: False)
        return False

    def by_path(self, path, node):
        self.noted(str(path), node)
        return len(path) == 2


# ----------------------------------------------------------------------------- changes


def switch_trees(p, n):
    p.tree = p.family[n % len(p.family)]
    p.other = p.family[n // 5 % len(p.family)]


def options(p, n):
    stops = [None, None, tuple, (dict, str), p.asking, p.refusing, p.vague, p.changing]
    p.options = {"is_leaf": stops[n % 8]} if n % 8 else {}
    if n % 11 == 0:
        p.options = {"is_leaf": p.by_path, "is_leaf_takes_path": True}
    if n % 3 == 0:
        p.options["namespace"] = "alike-nones"
    if n % 5 == 0:
        p.options["namespace"] = OWN if n % 2 else "dicts-by-insertion"


def mutate(p, n):
    """Change one node of the tree in place."""
    nodes = []
    with lw.engine.disabled():
        lw.tree_leaves(p.tree, is_leaf=lambda node: nodes.append(node) or False)
    nodes = [x for x in nodes if isinstance(x, list | dict | Node | Tree)]
    node = nodes[n % len(nodes)] if nodes else []
    value = ("new", [n])
    if isinstance(node, Tree):
        setattr(node, "abcd"[n % 4], lw.data(value))
    elif isinstance(node, Node):
        node.kids = [*node.kids[1:], value]
    elif isinstance(node, list):
        node[n % 3 : n % 5] = [value] * (n % 2)
    elif node and n % 3:
        key, item = next(iter(node.items()))
        node.pop(key, None)
        node.update({key: item} if n % 3 == 1 else {})
    else:
        node[KEYS[n % len(KEYS)]] = value


def derive(p, n):
    """Keep a treedef made of others: composed, copied, read from its text."""
    one = p.treedef(n)
    other = p.treedef(n // 3)
    ways = (
        lambda: one.compose(other),
        lambda: lw.tree.treedef_tuple([one, other]),
        lambda: one.children()[0],
        lambda: copy.deepcopy(one),
        lambda: pickle.loads(pickle.dumps(one)),
        lambda: lw.PyTreeDef.from_json(one.to_json()),
    )
    make = ways[n % len(ways)]
    p.keep(make())


CHANGES = {
    "switch trees": switch_trees,
    "options": options,
    "mutate": mutate,
    "derive": derive,
    "register": lambda p, n: register(n),
    "unregister": lambda p, n: unregister(OWN if n % 2 else ""),
}

# ------------------------------------------------------------------------------- calls


def flatten(p, n):
    leaves, treedef = lw.tree_flatten(p.tree, **p.options)
    return leaves, p.keep(treedef)


def build(p, n):
    """Unflatten what was kept, also with too many leaves or too few, or with nodes."""
    treedef = p.treedef(n)
    surplus = [0, 0, -1, 1][n % 4]
    count = max(treedef.num_leaves + surplus, 0)
    values = itertools.cycle([p.tree, None, 1] if n % 3 else [1])
    container = [list, tuple, iter][n % 3]
    return treedef.unflatten(container(itertools.islice(values, count)))


def compare(p, n):
    new = lw.tree_structure(p.tree, **p.options)
    return [
        (
            old == new,
            new == old,
            old <= new,
            old.is_prefix(new),
            len(old.explain(new)),
            hash(old) == hash(new) or old != new,
        )
        for old in p.treedefs
    ]


def operation(name, *callback, trees=1, **more):
    """Return a call of an operation on one tree or more, with a callback or without."""

    def call(p, n):
        callbacks = [getattr(p, one) for one in callback]
        some_trees = [p.tree, p.other, p.tree][:trees]
        function = getattr(lw.tree, name)
        return function(*callbacks, *some_trees, **p.options, **more)

    return call


ONE = (
    "leaves",
    "structure",
    "paths",
    "children",
    "flatten_with_path",
    "all",
    "is_leaf",
)
ONE += ("flatten_one_level", "leaves_with_path")
TWO = ("broadcast_leaves", "broadcast_prefix", "broadcast_common", "equal")
TWO += ("prefix_errors", "equality_errors")
CALLS = {
    "flatten": flatten,
    "build": build,
    "compare": compare,
    "iterate": lambda p, n: list(lw.tree.iter(p.tree, **p.options)),
    "flatten up to": lambda p, n: p.treedef(n).flatten_up_to(p.tree),
    "explain": lambda p, n: p.treedef(n).explain(p.tree),
    "children": lambda p, n: p.treedef(n).children(),
    "fold": lambda p, n: p.treedef(n).walk(
        range(p.treedef(n).num_leaves), lambda _, __, kids: p.noted(kids), p.noted
    ),
    "reduce": lambda p, n: lw.tree_reduce(p.noted, p.tree, 0, **p.options),
    "visit": lambda p, n: list(lw.tree_walk(p.tree, **p.options)),
    "edit": lambda p, n: lw.at(p.tree)[lw.tree_paths(p.tree)[0]].set("new"),
    "transpose": operation("transpose_map", "seen"),
    "broadcast map": operation("broadcast_map", "seen", trees=2),
    **{name: operation(name) for name in ONE},
    **{name: operation(name, trees=2) for name in TWO},
    **{
        f"{name} {trees} {callback}": operation(name, callback, trees=trees)
        for name in ("map", "map_with_path", "map_")
        for callback in ("seen", "failing", "meddling")
        for trees in (1, 2, 3)
    },
    "strict": operation("map", "seen", trees=2, strict=True),
}
ACTS = CHANGES | CALLS


def played(mode, family, steps):
    """Return as text what each step of a program gave in one mode of the engine."""
    known_dicts.clear()
    outcomes = []
    try:
        with getattr(lw.engine, mode)():
            program = Program(family)
            for name, n, times in steps:
                for _ in range(times if name in CALLS else 1):
                    if mode == "disabled":
                        known_dicts.clear()
                    program.calls = []
                    outcomes.append((outcome(ACTS[name], program, n), program.calls))
                outcomes.append((exact_form(program.tree), exact_form(program.other)))
    finally:
        for namespace in ("", OWN):
            unregister(namespace)
    return [re.sub(r" at 0x\w+", "", repr(one)) for one in outcomes]


def late(children):
    kids = st.lists(children, max_size=3)
    return st.builds(Late, kids, leaves) | st.builds(Later, kids, leaves)


FAMILIES = st.shared(
    lw.testing.trees(trees, nodes=[list, late], max_leaves=3), key="first"
).flatmap(lambda tree: st.tuples(st.just(tree), *[variants(tree)] * 3))
STEP = st.tuples(
    st.sampled_from(list(CHANGES)) | st.sampled_from(list(CALLS)),
    st.integers(0, 300),
    st.sampled_from([1, 2, 5]),
)


@given(FAMILIES, st.lists(STEP, max_size=25), st.sampled_from(["enabled", "eager"]))
def test_programs(family, steps, mode):
    """Results, calls, errors with their notes, and the trees after each step."""
    expected = played("disabled", family, steps)
    outcomes = played(mode, family, steps)
    assert outcomes == expected

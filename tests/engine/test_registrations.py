"""What the engine keeps, and what it does not, when classes are registered."""

import gc
import sys
import sysconfig
import weakref
from collections import namedtuple
from itertools import count
from operator import is_

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from helpers.confusable_trees import Node
from helpers.exact_forms import exact_form
from helpers.interrupts import interrupted
from leafwise.core.registry import view_of
from leafwise.core.walk import flatten
from leafwise.errors import RegistryError


def functions(cls):
    return lambda node: (node.kids, node.aux), lambda aux, kids: cls(kids, aux)


pytestmark = pytest.mark.usefixtures("frameworks_are_not_notified")


def register(cls, **options):
    lw.register_pytree_node(cls, *functions(cls), **options)


def fresh(*bases):
    return type("Fresh", bases or (Node,), {})


@pytest.fixture
def late():
    """A class that is registered in a test, and is not afterwards."""
    cls = fresh()
    yield cls
    if lw.is_registered(cls):
        lw.unregister_pytree_node(cls)


def plans():
    return lw.engine.stats()["structures"]


def warm(*trees):
    """Let the engine compile some trees; return the treedefs that it gives."""
    for tree in trees * 4:
        lw.tree_flatten(tree)
    return [lw.tree_structure(tree) for tree in trees]


IMMORTAL = sysconfig.get_config_var("Py_GIL_DISABLED") and sys.version_info < (3, 14)


@pytest.mark.skipif(bool(IMMORTAL), reason="classes never go once a thread ran here")
def test_neither_classes_nor_leaves_outlive_their_registration(eager):
    """A class that only leaves had is not kept by a structure that stays."""
    leaf = fresh()
    node = fresh()
    register(node)
    warm([leaf([1], 0), 2], [node([1], 0)])
    lw.unregister_pytree_node(node)
    watched = [weakref.ref(leaf), weakref.ref(node)]
    del leaf, node
    lw.tree_leaves([1, 2])
    gc.collect()
    assert [reference() for reference in watched] == [None, None]
    assert plans() == 1


# ------------------------------------------------------------------ any registrations

CLASSES = [fresh() for _ in range(2)]
CLASSES += [fresh(CLASSES[0]), fresh(CLASSES[1]), type("Listed", (list,), {})]
CLASSES += [namedtuple("formed", "kids aux")]
SPACES = ["", "one", "in order"]
WAYS = [lambda node: (list(node)[::-1], 1), lambda node: (list(node), 2)]


def nodes(children):
    return st.one_of(
        st.lists(children, max_size=3),
        st.dictionaries(st.sampled_from("abc"), children, max_size=3),
        st.builds(
            lambda cls, kids: _filled(cls, kids), st.sampled_from(CLASSES), children
        ),
    )


def _filled(cls, child):
    if issubclass(cls, Node):
        return cls([child, 0], None)
    return cls([child, 1]) if cls is CLASSES[4] else cls(child, 2)


steps = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["register", "replace", "unregister", "leaf"]),
            st.sampled_from(CLASSES),
            st.sampled_from(SPACES),
            st.booleans(),
            st.integers(0, 1),
        ),
    ),
    max_size=8,
)


def change(action, cls, namespace, inherit, way):
    """Change the registry, where that is possible."""
    items = WAYS[way]
    if issubclass(cls, Node):

        def flat(n):
            return items(n.kids)

        def build(aux, kids):
            return cls(list(kids), aux)

    else:
        flat = items

        def build(aux, kids):
            return [cls.__name__, aux, *kids]

    try:
        if action == "unregister":
            lw.unregister_pytree_node(cls, namespace=namespace)
        elif action == "leaf":
            lw.register_static(cls, namespace=namespace)
        else:
            lw.register_pytree_node(
                cls,
                flat,
                build,
                namespace=namespace,
                inherit=inherit,
                exist_ok=action == "replace",
            )
    except RegistryError:
        pass


@pytest.mark.parametrize("mode", ["enabled", "eager"])
@given(
    st.lists(
        nodes(st.one_of(st.integers(), st.none(), nodes(st.integers()))),
        min_size=1,
        max_size=4,
    ),
    steps,
)
def test_any_registrations(mode, trees, steps):
    """Whatever is registered when, the engine gives what the walk gives."""
    lw.namespace("one")
    lw.namespace("in order", dict_order="insertion")
    ways = [(space, none) for space in SPACES for none in (False, True)]
    flattened = []
    try:
        with getattr(lw.engine, mode)():
            for step in [None, *steps]:
                if step is not None:
                    change(*step)
                for tree, (space, none) in [(t, w) for t in trees for w in ways] * 3:
                    leaves, code = flatten(tree, view_of(space, none))
                    flat_leaves, treedef = lw.tree_flatten(
                        tree, namespace=space, none_is_leaf=none
                    )
                    assert len(flat_leaves) == len(leaves)
                    assert all(map(is_, flat_leaves, leaves))
                    assert [entry[:3] for entry in treedef._code] == [
                        entry[:3] for entry in code
                    ]
                    assert str(treedef._code) == str(tuple(code))
                    assert treedef._mode == (space, none)
                flattened += [
                    (treedef, exact_form(treedef.unflatten(flat_leaves)), flat_leaves)
                ]
                for treedef, expected, flat_leaves in flattened:
                    assert exact_form(treedef.unflatten(flat_leaves)) == expected
    finally:
        for cls in CLASSES:
            for space in SPACES:
                change("unregister", cls, space, False, 0)


# ------------------------------------------------------------------------------ races


@pytest.mark.slow
@pytest.mark.parametrize("inherit", [False, True])
def test_a_registration_while_a_structure_is_learned(eager, late, inherit):
    """Wherever it comes in: what comes after it sees the class as a node."""
    below = fresh(late) if inherit else late
    files = ("leafwise/engine/", "core/registry.py")
    for at in count():
        lw.engine.forget()
        leaf = [below([1, 2], 0), 3]
        with interrupted(
            lambda: register(late, inherit=inherit), at, files
        ) as interruption:
            first = [lw.tree_leaves(leaf) for _ in range(3)]
        for child in first:
            assert child in ([1, 2, 3], leaf)
        if not interruption:
            break
        for _ in range(3):
            assert lw.tree_leaves(leaf) == [1, 2, 3]
        lw.unregister_pytree_node(late)
        for _ in range(3):
            assert lw.tree_leaves(leaf) == leaf
    assert at > 50

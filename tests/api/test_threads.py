"""Many threads that do the same thing for the first time, at once.

What they make must be right in each of them, and the same where one object stands for
all. `LEAFWISE_ROUNDS` says how often; a build without the GIL needs few of them.
"""

import collections
import itertools
import operator
import os
import pickle
import sys

import pytest

import leafwise as lw
from interrupts import at_once, run_apart
from leafwise import nn
from leafwise.core import keys, registry


ROUNDS = int(os.environ.get("LEAFWISE_ROUNDS", "5"))
THREADS = 8
pytestmark = pytest.mark.needs("threads")


def together(*works):
    """Run the functions in several threads each, and return what they returned."""
    results = collections.deque()
    works = list(itertools.islice(itertools.cycle(works), max(THREADS, len(works))))
    problems = at_once(*(lambda work=work: results.append(work()) for work in works))
    assert problems == []
    return [*results]


@pytest.fixture(params=["walk", "eager"])
def way(request):
    """Walk each tree, or compile each structure on first sight."""
    if request.param == "walk":
        yield
    else:
        engine = pytest.importorskip("leafwise.engine")
        with engine.eager():
            yield


@pytest.fixture
def crowded(monkeypatch):
    """Make all caches so small that they are emptied all the time."""
    monkeypatch.setattr(keys, "_MAX_KNOWN", 4)
    monkeypatch.setattr(registry, "_MAX_SEEN", 16)
    monkeypatch.setattr(registry, "_MAX_NARROWED", 2)
    if hasattr(lw, "engine"):
        from leafwise.engine import cache

        for name, most in (("PLANS", 3), ("CACHES", 3), ("COUNTS", 3)):
            monkeypatch.setattr(cache, f"_MAX_{name}", most)
        monkeypatch.setattr(cache, "_MAX_ALIKE", 2)
        monkeypatch.setattr(cache, "_MAX_MISSES", 2)


def passes():
    """Yield the numbers of the rounds."""
    return range(ROUNDS)


# ------------------------------------------------------------------------- first use


def test_a_structure_that_all_meet_at_once(way):
    """Flattened, mapped, rebuilt, with its paths and its text."""
    for number in passes():
        tree = {f"k{number}": [1, (2, None)], "b": {f"x{i}": i for i in range(7)}}

        def use(tree=tree):
            leaves, treedef = lw.tree_flatten(tree)
            assert lw.tree_unflatten(treedef, leaves) == tree
            assert lw.tree_map(lambda x: x, tree) == tree
            pairs, again = lw.tree_flatten_with_path(tree)
            assert [leaf for _, leaf in pairs] == leaves
            assert again == treedef
            assert hash(again) == hash(treedef)
            assert treedef.flatten_up_to(tree) == leaves
            return repr(treedef), [*map(str, treedef.paths())], pickle.dumps(treedef)

        results = together(*[use] * THREADS)
        assert all(result == results[0] for result in results)


def test_one_treedef_that_all_read_at_once(way):
    """Its hash, paths, children and runner are made when they are first wanted."""
    for number in passes():
        tree = [{f"k{number}": 1, "a": 2}, (3, [4])]
        treedef = lw.tree_structure(tree)
        results = together(
            lambda treedef=treedef: treedef.unflatten([1, 2, 3, 4]),
            lambda treedef=treedef: hash(treedef),
            lambda treedef=treedef: [*map(str, treedef.paths())],
            lambda treedef=treedef: treedef.to_json(),
            lambda treedef=treedef, tree=tree: treedef.flatten_up_to(tree),
            lambda treedef=treedef: [child.num_leaves for child in treedef.children()],
        )
        kinds = {type(result) for result in results}
        assert len({repr(result) for result in results}) == 6
        assert kinds == {list, int, str}


def test_a_class_that_all_use_at_once(way):
    """Dataclasses and classes that are trees, from the first object on."""
    for _ in passes():

        @lw.dataclass
        class Point:
            x: int
            y: int = lw.static(default=0)

        class Model(lw.Pytree):
            def __init__(self, n):
                self.w = lw.data(n)
                self.name = "m"
                self.inner = nn.List([lw.data(n)])

        def use(Point=Point, Model=Model):
            tree = [Point(1, 2), Model(3), {"p": Point(4)}]
            assert lw.tree_leaves(tree) == [1, 3, 3, 4]
            mapped = lw.tree_map(operator.neg, tree)
            assert (mapped[0].x, mapped[1].w, mapped[1].inner[0]) == (-1, -3, -3)
            return lw.tree_structure(tree)

        results = together(*[use] * THREADS)
        assert all(result == results[0] for result in results)


def test_subclasses_that_all_meet_at_once(way):
    """Their rules are derived once; a treedef knows rules by identity."""
    for _ in passes():
        base = type("Base", (), {})
        lw.register_pytree_node(
            base,
            lambda node: ((node.x,), type(node)),
            lambda cls, xs: _filled(cls(), xs),
            inherit=True,
        )
        derived = type("Derived", (base,), {})

        def use(derived=derived):
            return lw.tree_structure([_filled(derived(), [1])])

        results = together(*[use] * THREADS)
        assert all(result == results[0] for result in results)
        lw.unregister_pytree_node(base)


def _filled(node, xs):
    (node.x,) = xs
    return node


# ---------------------------------------------------------------------- what changes


def test_caches_that_are_full_all_the_time(crowded, way):
    """Answers are the same whatever was forgotten between two steps."""
    for number in passes():

        def use(number=number):
            for size in range(1, 25):
                tree = {f"k{(number + i) % size}.{size}": [i] for i in range(size)}
                pairs, treedef = lw.tree_flatten_with_path(tree)
                leaves = [leaf for _, leaf in pairs]
                assert leaves == [tree[key][0] for key in sorted(tree)]
                assert [str(path) for path, _ in pairs] == [
                    f"['{key}'][0]" for key in sorted(tree)
                ]
                assert treedef.unflatten(leaves) == tree
                kinds = (str, bytes, type(f"Odd{size}", (), {}))
                assert lw.tree_leaves(tree, is_leaf=kinds) == leaves

        together(*[use] * THREADS)


# --------------------------------------------------------------------------- objects


def test_objects_that_all_read_at_once(way):
    """Reading is safe from the first moment on, whatever is made for it."""
    for _ in passes():

        class Block(nn.Module):
            def __init__(self, n):
                self.w = nn.Param(n)
                self.stat = nn.BatchStat(n + 1)
                self.size = n

        model = nn.Sequential(Block(1), Block(2))
        model.shared = model[0]

        def read(model=model):
            graphdef, state = nn.split(model)
            again = nn.merge(graphdef, state)
            return (
                repr(model) == repr(again),
                lw.tree_leaves(nn.state(model, nn.Param)),
                lw.tree_leaves(model),
                again.shared is again[0],
                nn.clone(model)[1].size,
            )

        results = together(*[read] * THREADS)
        assert all(result == results[0] for result in results)


# --------------------------------------------------------------------------- loading

LOADING = """
import sys, threading
import leafwise as lw

begin, problems, found = threading.Barrier({threads}), [], []

def load(names):
    try:
        begin.wait()
        for name in names:
            value = lw
            for part in name.split("."):
                value = getattr(value, part)
            found.append((name, id(value)))
        assert lw.tree_leaves({{"a": [1]}}) == [1]
    except BaseException as error:
        problems.append(repr(error))

names = {names!r}
threads = [
    threading.Thread(target=load, args=(names[i:] + names[:i],))
    for i in range({threads})
]
sys.setswitchinterval(1e-6)
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not problems, problems
assert len({{*found}}) == len(names)
"""
NAMES = [
    "at", "nn.Param", "tree.map", "Pytree", "dataclass", "selection.tree_diff",
    "namespace", "integrations.status", "typing.Namespace", "nn.Dict",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.needs("processes")
def test_names_that_all_load_at_once():
    """The rooms of the package are loaded once, in whatever order they come."""
    for _ in range(min(ROUNDS, 20)):
        run_apart(LOADING.format(threads=THREADS, names=NAMES))


def test_the_build_that_is_tested():
    """`PYTHON_GIL=1` or a module without support would switch the GIL on again."""
    free = "free-threading" in sys.version
    assert getattr(sys, "_is_gil_enabled", lambda: True)() is not free

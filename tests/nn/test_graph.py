"""Functions on graphs: split, merge, update, pop, clone, and sharing."""

import copy
import pickle
from collections import OrderedDict, defaultdict, deque
from typing import NamedTuple

import numpy as np
import pytest

import leafwise as lw
from helpers.random_trees import Node
from leafwise import nn


def tied():
    """Return an object in which one variable and one object stand twice."""
    weight = nn.Param(np.ones(2))
    inner = Node(w=weight, name="inner")
    return Node(a=inner, b=inner, c=lw.data([weight, {"k": inner}]), n=lw.data(3))


def knot():
    """Return an object that contains itself, also through plain containers."""
    outer = Node(inner=Node(x=lw.data(1)))
    outer.inner.parent = outer
    outer.me = outer
    outer.plain = lw.data([{"up": outer}])
    return outer


# ------------------------------------------------------------------------------ sharing


def test_find_duplicates():
    """All paths of each thing; cycles; nothing for a tree."""
    tree = tied()
    assert nn.find_duplicates(tree) == [
        [("a",), ("b",), ("c", 1, "k")],
        [("a", "w"), ("c", 0)],
    ]
    self = Node()
    self.me = self
    assert nn.find_duplicates(self) == [[(), ("me",)]]
    assert nn.find_duplicates(Node(a=Node(), b=Node())) == []


def test_arrays_are_duplicates_and_plain_values_are_not():
    """Arrays do; containers, numbers and texts do not."""
    array, row = np.ones(2), [1]
    tree = {"a": array, "b": [array, row, row, "s", "s", 5, 5, None, None]}
    assert nn.find_duplicates(tree) == [[("a",), ("b", 0)]]


@pytest.mark.parametrize("make", [tied, knot])
@pytest.mark.parametrize(
    "duplicate",
    [
        nn.clone,
        copy.deepcopy,
        lambda x: pickle.loads(pickle.dumps(x)),
        lambda x: nn.merge(*nn.split(x)),
        lambda x: nn.merge(*pickle.loads(pickle.dumps(nn.split(x)))),
    ],
    ids=["clone", "deepcopy", "pickle", "split and merge", "pickle of the split"],
)
def test_cycles_and_sharing_survive(make, duplicate):
    """In every way to copy a graph."""
    tree = make()
    again = duplicate(tree)
    assert again is not tree
    assert nn.find_duplicates(again) == nn.find_duplicates(tree)
    assert nn.graphdef(again) == nn.graphdef(tree)


# ----------------------------------------------------------------------------- sow, pop


def test_sow():
    """By default a growing tuple; functions of one's own; types by name."""
    module = nn.Module()
    assert module.sow(nn.Intermediate, "y", 1)
    module.sow("intermediates", "y", 2)
    assert module.y.value == (1, 2)
    for value in (3, 4):
        module.sow(
            nn.Cache, "sum", value, init_fn=lambda: 0, reduce_fn=lambda a, b: a + b
        )
    assert module.sum.value == 7


def test_sow_refuses_names_that_are_taken():
    """By a value, a method, a variable of another type."""
    module = nn.Module()
    module.z = 3
    module.w = nn.Param(1)
    with pytest.raises(ValueError, match=r"Expected 'z' of Module .*, got 'int'"):
        module.sow(nn.Intermediate, "z", 1)
    with pytest.raises(ValueError, match=r"Expected 'sow' of Module .*, got 'method'"):
        module.sow(nn.Intermediate, "sow", 1)
    with pytest.raises(ValueError, match="of type 'Intermediate', got 'Param'"):
        module.sow(nn.Intermediate, "w", 1)
    with pytest.raises(ValueError, match="no type of variables"):
        module.sow("nothing", "q", 1)


def test_pop():
    """Nested by path; gone with its kind; several filters; not out of lists."""
    tree = Node(a=Node(y=nn.Intermediate(1), p=nn.Param(2)), d=nn.Dict())
    tree.d["z"] = nn.Intermediate(3)
    tree.plain = lw.data({"q": tree.a.y})
    found = nn.pop(tree, nn.Intermediate)
    assert nn.to_pure_dict(found) == {"a": {"y": 1}, "d": {"z": 3}}
    assert "y" not in nn.name_to_kind(tree.a)
    assert (len(tree.d), tree.plain) == (0, {})
    assert nn.pop(tree, nn.Intermediate) == nn.State({})
    params, rest = nn.pop(tree, nn.Param, ...)
    assert (nn.to_pure_dict(params), rest) == ({"a": {"p": 2}}, nn.State({}))
    with pytest.raises(ValueError, match="at least one filter"):
        nn.pop(tree)
    for items in (
        nn.List([nn.Param(1)]),
        [nn.Param(1)],
        Node(t=lw.data((nn.Param(1),))),
    ):
        with pytest.raises(ValueError, match="Cannot pop key 0 at"):
            nn.pop({"x": nn.Param(0), "items": items}, nn.Param)


# ------------------------------------------------------------------------------ perturb


def test_perturb():
    """Zeros at first, then what is stored; trees; types by name."""
    module = nn.Module()
    x = np.ones((1, 3), np.float32)
    assert module.perturb("x", x).tolist() == [[1.0] * 3]
    assert (module.x.value.dtype, type(module.x)) == (np.float32, nn.Perturbation)
    module.x[...] += 2
    assert module.perturb("x", x).tolist() == [[3.0] * 3]
    value = {"a": 1, "b": (2.5, 1j)}
    assert module.perturb("t", value, "cache") == value
    assert type(module.t) is nn.Cache
    with pytest.raises(ValueError, match="of type 'Perturbation', got 'Cache'"):
        module.perturb("t", value)
    with pytest.raises(lw.StructureError):
        module.perturb("t", {"a": 1}, "cache")


# ---------------------------------------------------------------------- graph functions


def test_split_by_filters():
    """Exhaustive or refused; merge in any order; wrong states say where."""
    tree = Node(a=nn.Param(1), b=nn.Cache(2), c=lw.data(3))
    graphdef, params, caches, rest = nn.split(tree, nn.Param, nn.Cache, ...)
    for states in ((params, caches, rest), (rest, params, caches)):
        again = nn.merge(graphdef, *states)
        assert (again.a.value, again.b.value, again.c) == (1, 2, 3)
    with pytest.raises(
        ValueError, match=r"no filter matches 2 of(.|\n)*\('b',\): Cache"
    ):
        nn.split(tree, nn.Param)
    assert [len(part) for part in nn.state(tree, nn.Param, int)] == [1, 1]
    cases = [
        ((params, rest), r"no value at \('b',\)"),
        ((params, caches, rest, {"d": 1}), r"a value at \('d',\), where the"),
        ((params, caches, rest, rest), r"two states have a value at \('c',\)"),
        ((params, {"b": nn.Param(2)}, rest), "expected a Cache, got Param"),
        ((params, {"b": {"x": 1}}, rest), r"no value at \('b',\)"),
        ((params, caches, {"c": nn.Param(1)}), "expected a bare value, got Param"),
    ]
    for states, text in cases:
        with pytest.raises(lw.StructureError, match=text):
            nn.merge(graphdef, *states)
    with pytest.raises(TypeError, match="takes a GraphDef first"):
        nn.merge(params, graphdef)
    with pytest.raises(TypeError, match="got a bare int"):
        nn.split(3)
    bare = nn.Param(3)
    structure, part, rest = nn.split(bare, nn.Param, ...)
    assert (part is bare, nn.state(bare) is bare, rest) == (True, True, nn.State())
    assert nn.graphdef(bare) == structure
    assert nn.merge(structure, nn.Param(4)).value == 4
    nn.update(bare, nn.Param(5))
    assert bare.value == 5
    with pytest.raises(TypeError, match="expected a state or nested mappings"):
        nn.merge(graphdef, 3)


def test_states_alias_variables():
    """A state has the variables themselves; `copy` and bare values make new ones."""
    tree = Node(a=nn.Param(1, note="n"))
    graphdef, state = nn.split(tree)
    assert state.a is tree.a
    assert nn.merge(graphdef, state).a is tree.a
    assert nn.merge(graphdef, state, copy=True).a is not tree.a
    fresh = nn.merge(graphdef, {"a": 5}).a
    assert (type(fresh), fresh.value, fresh.note) == (nn.Param, 5, "n")


def test_update():
    """Values, variables of any type, new names; what does not fit says where."""
    tree = Node(a=nn.Param(1), b=Node(c=lw.data(2)), s="static", l=lw.data([1, (2,)]))
    variable, inner, row = tree.a, tree.b, tree.l
    nn.update(tree, {"a": nn.Cache(7, x=1), "b": {"c": 8, "new": np.ones(1)}, "s": "t"})
    nn.update(tree, {"l": {0: 5}}, {"l": {1: {0: 6}}})
    assert (variable.value, variable.x, inner.c, tree.s) == (7, 1, 8, "t")
    assert (tree.l, tree.l is row) == ([5, (6,)], True)
    assert nn.name_to_kind(inner)["new"].is_data
    before = nn.to_pure_dict(nn.state(nn.clone(tree)))
    cases = [
        ({"b": 3}, lw.StructureError, r"at \('b',\): expected the values of a Node"),
        ({"a": {"x": 1}}, lw.StructureError, "expected a Param, got a mapping"),
        ({"b": {"c": {"x": 1}}}, lw.StructureError, "expected a bare value, got a"),
        ({"s": {"x": 1}}, lw.StructureError, "at .*'s'.*expected a bare value, got a"),
        (
            {"l": {7: 1}},
            lw.StructureError,
            r"\('l', 7\) does not exist; available: 0, 1",
        ),
        ({"l": {1: {3: 1}}}, lw.StructureError, r"\('l', 1, 3\) does not exist"),
        ({"s": np.ones(1)}, lw.errors.KindError, "Cannot assign data to Node.s"),
        ({"n": {"x": 1}}, ValueError, "continues below a value"),
    ]
    for state, error, text in cases:
        with pytest.raises(error, match=text):
            nn.update(tree, {"l": {0: 0}, "n": nn.Param(1)}, state)
        assert nn.to_pure_dict(nn.state(tree)) == before


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (
            {"z": {"x": 1}},
            "at z: the Node has no 'z' that a mapping could update; it has layers",
        ),
        (
            {"layers": {0: {"wieght": {"k": 1}}}},
            "at layers[0].wieght: the Node has no 'wieght' that a mapping could "
            "update; it has weight, a; did you mean 'weight'?",
        ),
        (
            {"layers": {"0": {"a": 1}}},
            "at layers['0']: the List has no '0' that a mapping could update; it has "
            "0; the str '0' is not the int 0",
        ),
    ],
)
def test_a_mapping_for_a_place_that_is_not_there(values, text):
    """The error says what the object has instead, by the path of a selector."""
    tree = Node(layers=nn.List([Node(weight=nn.Param(1.0), a=nn.Param(0), s="static")]))
    with pytest.raises(lw.StructureError) as caught:
        nn.update(tree, values)
    assert str(caught.value) == text
    assert (caught.value.expected, caught.value.actual) == ("no mapping", "a mapping")


def test_an_update_that_fails_while_writing_is_taken_back():
    """Also what was written before the failure, in each sort of place."""

    class Guarded(Node):
        @property
        def zz(self):
            return 1

        @zz.setter
        def zz(self, value):
            raise RuntimeError("no")

    items, table = nn.List([lw.data(1)]), nn.Dict(a=lw.data(1))
    tree = Guarded(
        p=nn.Param(1, m=1), d=lw.data({"k": 1}), i=items, t=table, q=lw.data(1)
    )
    before, text = nn.graphdef(tree), repr(tree)
    state = {
        "p": nn.Cache(2),
        "d": {"k": 2, "new": 3},
        "i": {0: 2, 1: np.ones(1)},
        "t": {"a": 2, "b": np.ones(1)},
        "q": 2,
        "r": np.ones(1),
        "zz": 5,
    }
    with pytest.raises(RuntimeError):
        nn.update(tree, state)
    assert nn.graphdef(tree) == before
    assert repr(tree) == text


def test_graphdefs():
    """Compared by types of statics too, hashable whatever they are, printed."""
    one, other = Node(s=1, x=lw.data(0)), Node(s=True, x=lw.data(0))
    assert nn.graphdef(one) != nn.graphdef(other)
    assert nn.graphdef(one) == nn.graphdef(Node(x=lw.data(5), s=1))
    assert nn.graphdef(Node(a=nn.Param(1))) != nn.graphdef(Node(a=nn.Param(1, m=1)))
    assert nn.graphdef(Node(a=nn.Param(1))) != nn.graphdef(Node(a=nn.Cache(1)))
    listed = nn.graphdef(Node(s=[1]))
    assert hash(listed) == hash(nn.graphdef(Node(s=[1])))
    assert (nn.graphdef(one) == 3, nn.graphdef(one).num_leaves) == (False, 1)
    tree = tied()
    tree.more = lw.data((1, None, OrderedDict(a=1)))
    graphdef = nn.graphdef(tree)
    assert pickle.loads(pickle.dumps(graphdef)) == graphdef
    assert repr(graphdef) == (
        "GraphDef(Node(a=Node[name='inner'](w=Param(*)), b=#1, "
        "c=list([0]=#2, [1]=dict(['k']=#1)), "
        "more=tuple([0]=*, [1]=NoneType(), [2]=OrderedDict(['a']=*)), n=*))"
    )


def test_iteration_over_a_graph():
    """Everything once, inner things first; modules; direct children."""
    tree = tied()
    found = [(path, type(value).__name__) for path, value in nn.iter_graph(tree)]
    assert found == [
        (("a", "w", "value"), "ndarray"),
        (("a", "w"), "Param"),
        (("a",), "Node"),
        (("c", 1), "dict"),
        (("c",), "list"),
        (("n",), "int"),
        ((), "Node"),
    ]
    assert [key for key, _ in nn.iter_children(tree)] == ["a", "b"]
    assert [path for path, _ in nn.iter_graph(knot())][-1] == ()


def test_recursive_map():
    """Inner ones first, results in place, the original untouched, sharing kept."""
    tree = tied()
    paths = []

    def double(path, value):
        paths.append(path)
        return nn.Cache(2) if isinstance(value, nn.Param) else value

    again = nn.recursive_map(double, tree)
    assert paths == [("a", "w"), ("a",), ()]
    assert (type(again.a.w), again.a.w is again.c[0], again.a is again.b) == (
        nn.Cache,
        True,
        True,
    )
    assert type(tree.a.w) is nn.Param
    with pytest.raises(TypeError, match="does not support item assignment"):
        nn.recursive_map(double, Node(t=lw.data((nn.Param(1),))))


def test_set_attributes():
    """By name and filter; missing names, and refused values, change nothing."""
    tree = Node(a=Node(on=True, x=1), b=Node(on=True), on=True)
    nn.set_attributes(tree, lambda path, _: path == ("a",), on=False)
    assert (tree.on, tree.a.on, tree.b.on) == (True, False, True)
    with pytest.raises(ValueError, match="following attributes: nothing"):
        nn.set_attributes(tree, on=5, nothing=1)
    with pytest.raises(lw.errors.KindError):
        nn.set_attributes(tree, on=5, x=np.ones(1))
    assert tree.on is True
    other = nn.with_attributes(tree, Node, on=3)
    assert (other.b.on, tree.b.on) == (3, True)
    layers = nn.List([Node(deterministic=True, training=False)])
    nn.train(layers)
    assert (layers[0].deterministic, layers[0].training) == (False, True)
    nn.eval(layers, training=None)
    assert (layers[0].deterministic, layers[0].training) == (True, None)
    nn.set_metadata(tree, nn.Param, m=1)


# ---------------------------------------------------------- plain nested containers


def test_clone_of_plain_containers():
    """Ties, cycles and types survive; statics and arrays are copied."""
    row, array = [1], np.ones(1)
    tree = {
        "a": row,
        "b": (row, defaultdict(list, k=row)),
        "c": deque([row], maxlen=3),
        "d": OrderedDict(x=array),
        "e": array,
        "n": Node(s=[1], w=nn.Param([row])),
    }
    tree["self"] = tree
    again = nn.clone(tree)
    assert again["self"] is again
    assert again["a"] is again["b"][0] is again["b"][1]["k"] is again["c"][0]
    assert again["a"] is again["n"].w.value[0] is not row
    assert again["b"][1].default_factory is list
    assert again["c"].maxlen == 3
    assert again["n"].s is not tree["n"].s
    assert again["e"] is not array
    loop = []
    loop.append((loop,))
    assert nn.clone(loop)[0][0] is not loop
    bad = ([],)
    bad[0].append(bad)
    with pytest.raises(lw.errors.CycleError):
        nn.clone(bad)


def test_maps_may_keep_sharing():
    """`tree_map_shared` maps what is shared once, and shares the results."""
    weight, row = np.ones(1), [1, 2]
    tree = {"a": weight, "b": [weight, row], "c": row}
    calls = []

    def double(x):
        calls.append(x)
        return x * 2

    again = lw.tree.map_shared(double, tree)
    assert again["a"] is again["b"][0]
    assert again["c"] is again["b"][1]
    assert len(calls) == 3
    assert lw.tree_map(double, tree)["c"] is not tree["c"]
    summed = lw.tree.map_shared(lambda x, y: x + y, tree, tree)
    assert (summed["c"] is summed["b"][1], summed["c"]) == (True, [2, 4])
    other = {"a": 1, "b": [1, [1, 1]], "c": [5, 5]}
    apart = lw.tree.map_shared(lambda x, y: x + y, tree, other)
    assert (apart["b"][1], apart["c"]) == ([2, 3], [6, 7])
    parent = Node(l=Node(x=lw.data(1)))
    parent.r = parent.l
    mapped = lw.tree.map_shared(lambda x: x + 1, parent)
    assert (mapped.l is mapped.r, mapped.l.x) == (True, 2)
    with pytest.raises(lw.StructureError):
        lw.tree.map_shared(lambda x, y: x, tree, {"a": 1})
    with pytest.raises(ZeroDivisionError) as caught:
        lw.tree.map_shared(lambda x: 1 / x, {"k": [1, 0]})
    assert caught.value.__notes__ == ["at key path ['k'][1]"]


def test_containers_that_contain_themselves():
    """They are refused where nothing could stand for them."""
    loop = [1]
    loop.append({"up": loop})
    with pytest.raises(lw.errors.CycleError):
        nn.split({"loop": loop})
    with pytest.raises(lw.errors.CycleError):
        nn.find_duplicates(loop)


# ---------------------------------------------------------------------- deep and wide


class Pair(NamedTuple):
    x: object
    y: object


def test_named_tuples_go_by_their_names():
    """In paths, in states, in filters, and on the way back."""
    model = nn.Dict(p=lw.data(Pair(nn.Param(1.0), [nn.Param(2.0)])))
    graphdef, state = nn.split(model)
    assert nn.to_flat_state(state).paths == (("p", "x"), ("p", "y", 0))
    assert state.p.x.value == 1.0
    assert nn.state(model, nn.filters.PathContains("y")).p.y[0].value == 2.0
    assert (
        repr(graphdef) == "GraphDef(Dict(['p']=Pair(x=Param(*), y=list([0]=Param(*)))))"
    )
    assert nn.merge(graphdef, state).p == model.p
    nn.update(model, {"p": {"x": 5.0}})
    assert model.p.x.value == 5.0
    assert [path for path, _ in nn.iter_graph(model.p)] == [
        ("x", "value"),
        ("x",),
        ("y", 0, "value"),
        ("y", 0),
        ("y",),
        (),
    ]


def test_a_named_tuple_with_bare_values_is_made_anew():
    """An update by the name of a field puts another tuple in its place."""
    model = nn.Dict(p=lw.data(Pair(1, 2)))
    nn.update(model, {"p": {"y": 3}})
    assert model.p == Pair(1, 3)
    with pytest.raises(lw.StructureError, match=r"\('p', 'z'\) does not exist"):
        nn.update(model, {"p": {"z": 3}})


def test_what_an_update_refuses():
    """A frozen dataclass, and a position in text; variables in them are updated."""

    @lw.dataclass(frozen=True)
    class Point(lw.Pytree):
        x: float = lw.data(0.0)
        y: object = None

    point = Point(1.0, nn.Param(1.0))
    with pytest.raises(lw.StructureError, match="a Point is frozen"):
        nn.update(point, {"x": 2.0})
    nn.update(point, {"y": 3.0})
    assert (point.x, point.y.value) == (1.0, 3.0)
    row = nn.List([lw.data(1.0)])
    with pytest.raises(lw.StructureError, match="positions of a List are ints"):
        nn.update(row, {"0": 2.0})
    nn.update(row, {0: 2.0})
    assert [*row] == [2.0]


def test_an_update_of_objects_in_a_list_or_tuple():
    """The objects in it change; so do those of lists in lists."""
    one, other = Node(x=lw.data(1)), Node(x=lw.data(2))
    nn.update((one, [other]), {0: {"x": 5}, 1: {0: {"x": 6}}})
    assert (one.x, other.x) == (5, 6)
    nn.update([one, one], {0: {"x": 7}, 1: {"x": 8}})
    tied = nn.Param(1)
    nn.update([tied, tied], {0: 2, 1: 3})
    assert (one.x, tied.value) == (8, 3)

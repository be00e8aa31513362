"""Agreement with torch's Python pytree, under its own rules.

There None is a leaf and dicts are walked as inserted, which is what a namespace
with `dict_order="insertion"` and `none_is_leaf=True` does here.
"""

import dataclasses
import functools
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import leafwise as lw
from leafwise import nn
from leafwise.core.registry import forget
from leafwise.integrations import torch as traced
from leafwise.integrations.torch import ravel as torch_ravel


COMPILED = {
    "map": lambda tree: lw.tree_map(lambda x: x * 2, tree),
    "two trees": lambda tree: lw.tree_map(torch_add, tree, tree),
    "strict": lambda tree: lw.tree_map(torch_add, tree, tree, strict=True),
    "paths": lambda tree: lw.tree_map_with_path(lambda p, x: x * len(p), tree),
    "apart and together": lambda tree: together(*lw.tree_flatten(tree)),
    "a treedef from outside": lambda tree: lw.tree_unflatten(HOT, lw.tree_leaves(tree)),
    "predicate": lambda tree: lw.tree_map(
        lambda x: x, tree, is_leaf=lambda x: isinstance(x, tuple)
    ),
    "path": lambda tree: len(lw.tree_leaves(tree, AT_ROOT, is_leaf_takes_path=True)),
    "pairs": lambda tree: [x * len(p) for p, x in lw.tree_flatten_with_path(tree)[0]],
    "type": lambda tree: lw.tree_map(lambda x: x, tree, is_leaf=tuple),
    "None": lambda tree: lw.tree_map(lambda x: x, tree, none_is_leaf=True),
    "None by namespace": lambda tree: lw.tree_map(lambda x: x, tree, namespace="nones"),
    "sum": lambda tree: lw.tree_reduce(lambda a, b: a + b.sum(), tree, 0),
    "all": lambda tree: lw.tree_all(lw.tree_map(lambda x: x.ndim == 1, tree)),
    "prefix": lambda tree: lw.tree.broadcast_leaves([1, 2, 3], tree),
}


def AT_ROOT(path, _):
    return len(path) == 1


lw.namespace("nones", none_is_leaf=True)
HOT = lw.tree_structure([{"b": 1, "a": (2, None)}, 3, [4, 5]])


def torch_add(x, y):
    """Add two tensors."""
    return x + y


def together(leaves, treedef):
    """Put a tree together again."""
    return lw.tree_unflatten(treedef, [leaf + 1 for leaf in leaves])


@pytest.fixture
def torch(torch_tree):
    """Return torch, with an empty compiler."""
    torch = sys.modules["torch"]
    torch._dynamo.reset()
    forget()  # leaf types that may go are held by objects that torch cannot hash
    yield torch
    torch._dynamo.reset()


@pytest.mark.parametrize("case", COMPILED)
def test_the_compiler_traces_trees(case, torch):
    """A compiled function gives what it gives uncompiled, in one graph."""
    ones = torch.ones
    tree = [{"b": ones(2), "a": (ones(1), None)}, ones(3), [ones(1), ones(4)]]
    for _ in range(40):  # let the engine know the structure
        expected = COMPILED[case](tree)
    result = torch.compile(COMPILED[case], fullgraph=True, backend="eager")(tree)
    assert lw.tree_structure(result) == lw.tree_structure(expected)
    for a, b in zip(lw.tree_leaves(result), lw.tree_leaves(expected), strict=True):
        assert torch.equal(torch.as_tensor(a), torch.as_tensor(b))


COLD = """
import {first}, {second}, leafwise as lw
tree = {{"b": torch.ones(2), "a": [(torch.ones(1), None), {{"c": torch.zeros(3)}}]}}
def step(tree):
    sums = [lw.tree_map(lambda a, b: a + b, tree, tree) for _ in range(5)]
    return lw.tree_map_with_path(lambda path, leaf: leaf * len(path), sums[-1])
for compiled in [torch.compile(step, fullgraph=True, backend="eager")] * 2:
    found = compiled(tree)
    for _ in range(20):
        expected = step(tree)
    assert str(found) == str(expected), (found, expected)
print("leafwise.integrations.torch" in sys.modules)

from leafwise import nn  # objects are loaded only now
def count(box):
    box.x = box.x + 1
    return box.x
compiled, box = torch.compile(count, backend="eager"), nn.Dict(x=torch.ones(1))
assert compiled(box) == 2 and compiled(box) == 3 and box.x == 3, box
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "order", [("sys, leafwise", "torch"), ("sys, torch", "leafwise")]
)
def test_the_compiler_meets_a_cold_engine(order, torch):
    """The first use of all may be in a compiled function, in a fresh process."""
    first, second = order
    is_on = hasattr(lw, "engine") and os.environ.get("LEAFWISE_ENGINE") != "0"
    if not is_on and "torch" not in first:
        pytest.skip("without the engine nothing notices the first tree")
    code = COLD.format(first=first, second=second)
    output = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert output == "True\n"


def test_the_compiler_is_not_asked_again(torch):
    """What the engine learns meanwhile is nothing that compiled code depends on."""
    graphs = []

    def backend(graph, _inputs):
        graphs.append(graph)
        return graph

    def double(tree):
        return lw.tree_map(lambda x: x * 2, tree)

    compiled = torch.compile(double, fullgraph=True, backend=backend)
    for number in range(60):
        tree = {"a": torch.ones(2), "b": [torch.ones(1)]}
        compiled(tree)
        double(tree)
        double({f"key {number}": [number] * number})
    assert len(graphs) == 1


BROKEN = {
    "map": lambda tree: list(map(lw.tree_leaves, [tree])),
    "comprehension": lambda tree: [lw.tree_leaves(one) for one in [tree]],
    "key function": lambda tree: max([tree], key=lambda one: len(lw.tree_leaves(one))),
    "reduce": lambda tree: functools.reduce(lambda a, f: f(a), [lw.tree_leaves], tree),
    "unflatten": lambda tree: HOT.unflatten(lw.tree_leaves(tree)),
    "flatten_up_to": lambda tree: HOT.flatten_up_to(tree),
    "walk": lambda tree: HOT.walk(lw.tree_leaves(tree), lambda *kids: kids, double),
    "transpose": lambda tree: lw.tree_transpose(
        HOT, lw.tree_structure((0, 0)), lw.tree_map(lambda x: (x, x), tree)
    ),
    "partition": lambda tree: lw.tree_partition(tree, lambda x: x.numel() > 1),
    "graph break": lambda tree: lw.tree_map(lambda x: double(broken(x)), tree),
    "own class": lambda tree: lw.tree_map(double, Pair(tree, 1)).one,
    "frozen class": lambda tree: lw.tree_map(double, Frozen(tree)).one,
}


def double(x):
    """Double a tensor."""
    return x * 2


def broken(x):
    """Return it, from where the compiler cannot follow."""
    sys.modules["torch"]._dynamo.graph_break()
    return x


class Pair:
    """A class that is registered with functions."""

    def __init__(self, one, two):
        self.one = one
        self.two = two


lw.register_pytree_node(
    Pair, lambda pair: ((pair.one, pair.two), None), lambda _, kids: Pair(*kids)
)


@lw.dataclass
@dataclasses.dataclass(frozen=True)
class Frozen:
    """A class with fields."""

    one: object


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Dynamo:UserWarning")
@pytest.mark.filterwarnings("ignore:Guards may run slower:RuntimeWarning")
@pytest.mark.parametrize("case", BROKEN)
def test_the_compiler_meets_a_warm_engine(case, torch):
    """Where a graph breaks, compiled functions of the engine run as they are."""
    ones = torch.ones
    tree = [{"b": ones(2), "a": (ones(1), None)}, ones(3), [ones(1), ones(4)]]
    for _ in range(40):  # let the engine know the structure
        expected = BROKEN[case](tree)
    compiled = torch.compile(BROKEN[case], backend="eager")
    for _ in range(3):
        result = compiled(tree)
        assert lw.tree_structure(result) == lw.tree_structure(expected)
        assert repr(lw.tree_leaves(result)) == repr(lw.tree_leaves(expected))


class Scaled(nn.Module):
    """An object with something to learn, a counter and a list."""

    def __init__(self, weight):
        self.weight = nn.Param(weight)
        self.calls = nn.BatchStat(0)
        self.parts = nn.List([weight])
        self.more = nn.Dict(a=weight)

    def __call__(self, x):
        self.calls[...] += 1
        self.last = lw.data(x)
        return self.weight * x + self.parts[0] + self.more.a


def assigned(model, x):
    model.y = lw.data(x)
    return model.y + 1


def deleted(model, x):
    model.y = x
    del model.y
    return x


def appended(model, x):
    model.parts.append(x + 1)
    return model.parts.pop()


def with_new_item(model, x):
    model.more.update(b=x + 1)
    return model.more.b


def updated(model, x):
    nn.update(model, nn.state(model))
    return model(x)


OBJECTS = {
    "made": lambda model, x: Scaled(x * 2)(x),
    "called": lambda model, x: model(x),
    "assigned": assigned,
    "deleted": deleted,
    "appended": appended,
    "item": with_new_item,
    "mapped": lambda model, x: lw.tree_map(double, model)(x),
    "cloned": lambda model, x: nn.clone(model)(x),
    "split and merged": lambda model, x: nn.merge(*nn.split(model))(x),
    "updated": updated,
    "state": lambda model, x: nn.state(model).weight.value * x,
    "variable": lambda model, x: nn.Param(x) * 2,
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Dynamo:UserWarning")
@pytest.mark.filterwarnings("ignore:Guards may run slower:RuntimeWarning")
@pytest.mark.parametrize("case", OBJECTS)
def test_the_compiler_leaves_objects_to_python(case, torch):
    """Objects may be made and changed in a compiled function; the graph breaks."""
    x = torch.arange(2.0)
    plain = Scaled(torch.ones(2))
    model = Scaled(torch.ones(2))
    compiled = torch.compile(OBJECTS[case], backend="eager")
    for _ in range(3):
        assert torch.equal(compiled(model, x), OBJECTS[case](plain, x))
    assert model.calls.value == plain.calls.value
    assert lw.tree_structure(model) == lw.tree_structure(plain)


def test_ravel(torch):
    """Shapes and types come back, gradients pass, what does not fit is refused."""
    tree = {"w": torch.arange(4.0).reshape(2, 2), "b": torch.ones(1, dtype=torch.int8)}
    vector, unravel = torch_ravel({**tree, "n": 3})
    assert vector.tolist() == [1.0, 3.0, 0.0, 1.0, 2.0, 3.0]
    again = unravel(vector)
    assert again["b"].dtype == torch.int8
    assert torch.equal(again["w"], tree["w"])
    assert again["n"].shape == ()
    weight = torch.ones(2, requires_grad=True)
    vector, unravel = torch_ravel([weight])
    (unravel(vector * 3)[0] ** 2).sum().backward()
    assert weight.grad.tolist() == [18.0, 18.0]
    with pytest.raises(
        lw.StructureError, match=r"shape \(2,\) is needed, got shape \(3,\)"
    ):
        unravel(torch.ones(3))
    with pytest.raises(TypeError, match=r"\['x'\] is neither a tensor nor .*: str"):
        torch_ravel({"x": "text"})
    assert torch_ravel([])[0].shape == (0,)


def test_the_compiler_is_told_of_all_functions_that_write():
    """The table of modules names just those that write past `__setattr__`."""
    root = Path(lw.__file__).parent
    names = [
        ".".join(p.relative_to(root).with_suffix("").parts) for p in root.rglob("*.py")
    ]
    modules = {
        name: importlib.import_module(f"leafwise.{name}")
        for name in names
        if not name.endswith(("__init__", "__main__"))
    }
    writing = {name for name, module in modules.items() if any(traced._writers(module))}
    assert writing == set(traced._WRITERS)

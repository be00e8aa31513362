"""Programs that jax.export and torch.export save: with classes registered here."""

import dataclasses
import io
import json
import logging
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn
from leafwise.integrations.jax import register_serialization


# classes of other tests have the same names
pytestmark = pytest.mark.filterwarnings("ignore:jax.export keeps the first class")


@lw.dataclass
class Plain:
    w: Any
    name: str = lw.static(default="a")


@lw.dataclass
class Rich:
    """Its static values are not compared by `==` alone."""

    w: Any
    options: Any = lw.static(default=(1, ("x", None)))
    sizes: Any = lw.static(default_factory=lambda: [1, 2])


class Functions:
    def __init__(self, w, name):
        self.w = w
        self.name = name


lw.register_pytree_node(
    Functions,
    lambda node: ((node.w,), node.name),
    lambda name, children: Functions(*children, name),
)


class WithKeys(Functions):
    pass


lw.register_pytree_node(
    WithKeys,
    lambda node: ((node.w,), node.name, ("w",)),
    lambda name, children: WithKeys(*children, name),
)


@lw.dataclass
class Counted:
    w: Any
    total: Any = dataclasses.field(init=False, default=0)


class Layer(nn.Module):
    def __init__(self, w):
        self.w = nn.Param(w)
        self.size = 3


def nodes(ones):
    return [
        Plain(ones),
        Rich(ones),
        Functions(ones, "n"),
        Functions(ones, {"n": [1]}),
        WithKeys(ones, ("n", 1)),
        Counted(ones),
    ]


@pytest.fixture
def export(jax, need):
    """Return `jax.export`, which needs flatbuffers."""
    need("flatbuffers")
    return need("jax.export")


def test_jax_saves_each_class(jax, export):
    """What it reads has the structure that was saved."""
    register_serialization()

    def double(tree):
        return jax.tree.map(lambda x: 2 * x, tree)

    trees = [*nodes(np.ones(2, np.float32)), Layer(np.ones(2, np.float32))]
    for tree in trees:
        text = export.export(jax.jit(double))(tree).serialize()
        program = export.deserialize(text)
        assert program.in_tree == jax.tree.structure(((tree,), {}))
        assert program.out_tree == jax.tree.structure(tree)
        doubled = program.call(tree)
        assert type(doubled) is type(tree)
        assert jax.tree.leaves(doubled)[0].tolist() == [2.0, 2.0]


def test_what_cannot_be_written_names_the_class(jax, export):
    register_serialization()
    tree = Rich(np.ones(2), options=object())
    program = export.export(jax.jit(lambda tree: tree.w))(tree)
    with pytest.raises(lw.errors.TreeDefError, match=r"aux data of Rich.*codec"):
        program.serialize()


def test_a_codec_is_used(jax, export):
    class Tag:
        def __init__(self, text):
            self.text = text

        def __eq__(self, other):
            return type(other) is Tag and self.text == other.text

        def __hash__(self):
            return hash(self.text)

    @lw.dataclass
    class Tagged:
        w: Any
        tag: Any = lw.static()

    lw.files.register_codec(Tagged, lambda aux: aux[0].text, lambda text: (Tag(text),))
    register_serialization()
    tree = Tagged(np.ones(2), Tag("t"))
    text = export.export(jax.jit(lambda tree: tree))(tree).serialize()
    assert export.deserialize(text).out_tree == jax.tree.structure(tree)


@pytest.mark.parametrize("aux", ["n", {"n": 1}])
def test_a_user_registers_another_way(jax, export, aux):
    """The functions get the aux data of the flatten function, or have it as `data`."""

    class Own:
        def __init__(self, w, aux):
            self.w = w
            self.aux = aux

    lw.register_pytree_node(
        Own, lambda own: ((own.w,), own.aux), lambda aux, children: Own(*children, aux)
    )
    texts = []

    def serialize(aux):
        texts.append(json.dumps(getattr(aux, "data", aux)))
        return texts[-1].encode()

    export.register_pytree_node_serialization(
        Own,
        serialized_name=f"tests.{aux}",
        serialize_auxdata=serialize,
        deserialize_auxdata=lambda text: json.loads(bytes(text)),
    )
    register_serialization()
    tree = Own(np.ones(2), aux)
    text = export.export(jax.jit(lambda tree: tree))(tree).serialize()
    assert set(texts) == {json.dumps(aux)}
    assert export.deserialize(text).out_tree == jax.tree.structure(tree)


def define_cell():
    """Return a class of always the same name, as a cell of a notebook does."""

    @lw.dataclass
    class Cell:
        w: Any
        name: str = lw.static(default="a")

    return Cell


def test_classes_of_one_name(jax, export):
    """The last one has it, unless an earlier one was registered with `jax.export`."""
    define_cell()
    cls = define_cell()
    register_serialization()
    tree = cls(np.ones(2))
    text = export.export(jax.jit(lambda tree: tree))(tree).serialize()
    assert export.deserialize(text).out_tree == jax.tree.structure(tree)
    register_serialization()
    define_cell()
    with pytest.warns(UserWarning, match=r"keeps the first class .*Cell; it has no"):
        register_serialization()


def test_nothing_of_jax_is_replaced(export):
    """Neither by registrations nor by `register_serialization`."""
    function = export.register_pytree_node_serialization
    register_serialization()
    assert function.__module__.startswith("jax.")


def test_a_class_that_is_registered_again(jax, export):
    """The functions of today write and read it."""

    class Again(Functions):
        pass

    lw.register_pytree_node(
        Again,
        lambda node: ((node.w,), node.name),
        lambda name, children: Again(*children, name),
    )
    lw.register_dataclass(Again, ["w"], ["name"], exist_ok=True)
    register_serialization()
    tree = Again(np.ones(2), ["n"])
    text = export.export(jax.jit(lambda tree: tree))(tree).serialize()
    assert export.deserialize(text).out_tree == jax.tree.structure(tree)


PROGRAM = """
import sys
import numpy as np
import jax
from jax import export
import leafwise as lw
from leafwise.integrations.jax import register_serialization

@lw.dataclass
class Plain:
    w: object
    name: str = lw.static(default="a")

register_serialization()
tree = Plain(np.ones(2, np.float32))
if sys.argv[1] == "save":
    program = export.export(jax.jit(lambda tree: Plain(tree.w + 1, "b")))(tree)
    print(program.serialize().hex())
else:
    print(export.deserialize(bytes.fromhex(sys.stdin.read())).call(tree))
"""


@pytest.mark.needs("processes")
def test_another_process_reads_it(export):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROGRAM]
    text = subprocess.check_output([*command, "save"], text=True, env=env)
    line = subprocess.check_output([*command, "load"], text=True, env=env, input=text)
    assert line.startswith("Plain(w=Array([2., 2.]")
    assert line.endswith("name='b')\n")


def test_torch_saves_each_class(need, monkeypatch):
    torch = need("torch")

    # its warning of a pickle has a wrong format
    log = logging.getLogger("torch._export.serde.serialize")
    monkeypatch.setattr(log, "disabled", True)

    class Program(torch.nn.Module):
        def forward(self, tree):
            return lw.tree_map(lambda x: 2 * x, tree)

    for tree in nodes(torch.ones(2))[:2]:
        buffer = io.BytesIO()
        torch.export.save(torch.export.export(Program(), (tree,)), buffer)
        buffer.seek(0)
        program = torch.export.load(buffer)
        doubled = program.module()(tree)
        assert type(doubled) is type(tree)
        assert doubled.w.tolist() == [2.0, 2.0]


def test_torch_writes_structures(torch_tree):
    """As JSON, which is read again."""
    for tree in [*nodes(1), Layer(1)]:
        treespec = torch_tree.tree_structure(tree)
        text = torch_tree.treespec_dumps(treespec)
        assert torch_tree.treespec_loads(text) == treespec

"""The bridge, with stand-ins for the frameworks, each in a fresh process."""

import os
import subprocess
import sys

import pytest


pytestmark = pytest.mark.needs("processes")

FAKE_JAX = """
import sys
from types import SimpleNamespace
registered = []
def register_pytree_with_keys(cls, with_keys, unflatten, flatten):
    if cls in registered:
        raise ValueError(f"Duplicate registration for {cls.__name__}")
    registered.append(cls)
    functions[cls] = with_keys, unflatten, flatten
functions = {}
key = lambda name: (lambda value: (name, value))
tree_util = SimpleNamespace(
    register_pytree_with_keys=register_pytree_with_keys,
    GetAttrKey=key("attr"), DictKey=key("dict"),
    SequenceKey=key("sequence"), FlattenedIndexKey=key("index"),
)
"""

CLASSES = """
import sys
import leafwise as lw

class Model(lw.Pytree):
    def __init__(self):
        self.x = lw.data(1)
        self.s = "s"

@lw.dataclass
class Point:
    x: float

@lw.dataclass(bridge=False)
class Hidden:
    x: float

class Plain:
    pass

lw.register_pytree_node(
    Plain, lambda p: ((), None), lambda aux, kids: Plain(), bridge=False
)
"""


@pytest.fixture
def run(tmp_path):
    """Return a function that runs code beside the stand-ins."""
    (tmp_path / "jax.py").write_text(FAKE_JAX)
    (tmp_path / "indirect.py").write_text("import jax\n")
    (tmp_path / "torch.py").write_text("raise ImportError('broken')\n")

    def run(code, **variables):
        path = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        env = {**os.environ, **variables}
        command = [sys.executable, "-c", path + code]
        return subprocess.check_output(command, text=True, env=env).split("\n")[:-1]

    return run


def test_what_waits_for_frameworks(run):
    """One finder, from the import of leafwise on: what comes later imports nothing."""
    lines = run(
        """before = [*sys.meta_path]
import leafwise as lw
added = [finder for finder in sys.meta_path if finder not in before]
print(*sorted(name for finder in added for name in finder.actions))
print([finder for finder in sys.meta_path if finder not in added] == before)
modules = {*sys.modules}
lw.tree_map(abs, [1])
lw.register_static(type("Mode", (), {}))
lw.Partial(print)
print(*sorted({*sys.modules} - modules))
"""
    )
    assert lines == ["jax optree torch torch._dynamo", "True", ""]


def test_classes_made_before(run):
    """They are registered when the framework is imported, also from elsewhere."""
    for name in ("jax", "indirect"):
        lines = run(
            f"""{CLASSES}
early = Model()
print("jax" in sys.modules)
import {name}, jax
print(Model in jax.registered, Point in jax.registered, lw.nn.List in jax.registered)
print(Hidden in jax.registered, Plain in jax.registered)
with_keys, unflatten, flatten = jax.functions[Model]
pairs, aux = with_keys(early)
print(pairs, flatten(early)[0], unflatten(aux, [5]).x)
print(aux == flatten(Model())[1], hash(aux) == hash(flatten(Model())[1]), aux)
"""
        )
        assert lines == [
            "False",
            "True True True",
            "False False",
            "[(('attr', 'x'), 1)] (1,) 5",
            "True True s='s'",
        ]


def test_classes_made_after(run):
    """They are registered at once, each once, unless they ask not to be."""
    lines = run(
        f"""import jax
{CLASSES}
print(Model in jax.registered, Point in jax.registered, Plain in jax.registered)
class Off(lw.Pytree, pytree=False): pass
class Other: pass
lw.register_pytree_node(Other, lambda p: ((), None), lambda a, k: Other())
class Mask(lw.nn.Variable): pass
print(Off in jax.registered, Other in jax.registered, Mask in jax.registered)
lw.integrations.enable("jax")
print(len(jax.registered) == len(set(jax.registered)))
"""
    )
    assert lines == ["True True False", "False True True", "True"]


def test_what_is_registered_already_stays(run):
    """A registration that somebody made is left alone, and `status` says so."""
    lines = run(
        f"""{CLASSES}
import jax as fake
fake.registered.append(None)
import sys
class Mine:
    pass
fake.registered.append(Mine)
lw.register_dataclass(Mine, ["x"], [], bridge=True)
status = lw.integrations.status()
print(status["jax"].loaded, status["jax"].refused[Mine])
print(status["optree"].loaded, status["optree"].refused[Model])
print(Model in status["jax"].registered)
"""
    )
    assert lines == [
        "True registered there already: Duplicate registration for Mine",
        "False the framework is not loaded",
        "True",
    ]


def test_what_is_for_leafwise_alone_is_not_registered(run):
    """With `bridge=False`; `status` says why."""
    lines = run(
        f"""{CLASSES}
class Plain:
    pass
class Bridged:
    pass
for cls in Plain, Bridged:
    lw.register_dataclass(cls, ["x"], [], bridge=cls is Bridged)
import jax as fake
status = lw.integrations.status()
for name in status:
    print(name, status[name].refused[Plain], Plain in fake.registered)
print(status["jax"].refused.get(Bridged), Bridged in status["jax"].registered)
"""
    )
    assert lines == [
        "jax it was registered with bridge=False False",
        "optree it was registered with bridge=False False",
        "torch it was registered with bridge=False False",
        "None True",
    ]


def test_switched_off(run):
    """`LEAFWISE_BRIDGE=0` puts no finder in, and `enable` still works."""
    lines = run(
        f"""{CLASSES}
print([f for f in sys.meta_path if "leafwise" in type(f).__module__])
import jax
print(jax.registered)
lw.integrations.enable("jax")
print(Model in jax.registered)
try:
    lw.integrations.enable("keras")
except ValueError as error:
    print(error)
""",
        LEAFWISE_BRIDGE="0",
    )
    assert lines == [
        "[]",
        "[]",
        "True",
        "unknown framework 'keras'; known: 'jax', 'optree', 'torch'",
    ]

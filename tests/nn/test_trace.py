"""Trace levels, with a stand-in for a framework, in a fresh process."""

import subprocess
import sys

import pytest


CODE = """
import contextlib, copy, pickle
import leafwise as lw
from leafwise import nn
from leafwise.nn.checks import watch

class Foo(lw.Pytree):
    def __init__(self):
        self.count = lw.data(0)

class Off(nn.Object):
    pass

early = Foo()
box = nn.Param(0)
level = [0]
import threading
main = threading.current_thread()
watch(lambda: level[0] if threading.current_thread() is main else 0)
items, table, off = nn.List([lw.data(1)]), nn.Dict(a=lw.data(1)), Off()

def refused(action):
    try:
        action()
    except nn.TraceError as error:
        return error.attribute
    return None

actions = [
    lambda: setattr(early, "count", 1),
    lambda: setattr(early, "new", 1),
    lambda: delattr(early, "count"),
    lambda: setattr(off, "x", 1),
    lambda: items.append(1),
    lambda: items.insert(0, 1),
    lambda: items.__setitem__(0, 2),
    lambda: items.__delitem__(0),
    lambda: items.reverse(),
    lambda: table.__setitem__("a", 2),
    lambda: table.__delitem__("a"),
    lambda: setattr(box, "value", 1),
    lambda: box.__setitem__(..., 1),
    lambda: box.set_metadata(a=1),
    lambda: box.update_from_state(nn.Param(1)),
    lambda: nn.update(items, {0: 5}),
]
level[0] = 1
print(all(refused(action) is not None for action in actions))
print(refused(actions[0]), early.count, [*items], [*table], box.value)

def may_change(make):
    obj = make()
    return refused(lambda: setattr(obj, "count", 5)) is None

makers = [
    Foo,
    lambda: copy.copy(early),
    lambda: copy.deepcopy(early),
    lambda: pickle.loads(pickle.dumps(early)),
    lambda: nn.clone(early),
    lambda: lw.tree_map(lambda x: x, early),
    lambda: nn.merge(*nn.split(early)),
]
print(all(map(may_change, makers)))
engine = getattr(lw, "engine", None)  # the library works without it
with engine.eager() if engine else contextlib.nullcontext():
    print(all(may_change(makers[5]) for _ in range(3)))
print(lw.tree_map(lambda x: x, box).set_value(3), nn.Param(1).set_value(2))

def elsewhere():
    early.count = 8

thread = threading.Thread(target=elsewhere)
thread.start()
thread.join()
inner = Foo()
level[0] = 0
print(early.count, refused(lambda: setattr(inner, "count", 1)))
early.count = 9
print(refused(lambda: setattr(Foo(), "count", 1)))
"""


@pytest.mark.needs("processes")
def test_levels():
    """What was made at another level is not changed; whatever is made here may be."""
    found = subprocess.check_output([sys.executable, "-c", CODE], text=True)
    assert found.splitlines() == [
        "True",
        "count 0 [1] ['a'] 0",
        "True",
        "True",
        "None None",
        "8 count",
        "None",
    ]

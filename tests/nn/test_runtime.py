"""Objects in threads, in fresh processes, deep and wide, and what a layout shares."""

import subprocess
import sys

import leafwise as lw


def run(code):
    """Run code in a fresh process and return what it prints."""
    return subprocess.check_output([sys.executable, "-c", code], text=True).strip()


def test_a_class_made_before_numpy_is_imported():
    """Arrays are known as soon as there can be any."""
    code = """
import sys, leafwise as lw
class Model(lw.Pytree):
    def __init__(self, x):
        self.x = x
assert "numpy" not in sys.modules
early = Model(1)
import numpy as np
print(len(lw.tree_leaves(Model(np.ones(2)))), len(lw.tree_leaves(early)))
"""
    assert run(code) == "1 0"


def test_types_of_a_module_that_is_half_imported(tmp_path):
    """What a type is not yet known to be is asked again."""
    (tmp_path / "half.py").write_text(
        "import leafwise as lw\nfrom leafwise import nn\n"
        "class Array:\n    pass\n"
        "early = nn.is_data(Array())\n"
        "class Model(lw.Pytree):\n"
        "    def __init__(self, x):\n        self.x = x\n"
        "Model(Array())\n"
        "Array.shape, Array.dtype, Array.__array__ = (), 'f4', None\n"
    )
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import half; "
        "from leafwise import nn; print(half.early, nn.is_data(half.Array()))"
    )
    assert run(code) == "False True"


def test_very_many_layouts():
    """Objects whose attributes never repeat stop sharing, and stay right."""

    class Bag(lw.Pytree):
        pass

    bags = []
    for i in range(1500):
        bag = Bag()
        setattr(bag, f"x{i}", lw.data(i))
        bag.y = lw.data(0)
        bags.append(bag)
    assert lw.tree_leaves(bags) == [leaf for i in range(1500) for leaf in (i, 0)]
    assert len(Bag.__leafwise__.descriptions) <= 1000


def test_constructors_that_return_something_else():
    """A `__new__` of its own may return what it likes."""

    class Maybe(lw.Pytree):
        def __new__(cls, x):
            return super().__new__(cls, x) if x else None

        def __init__(self, x):
            self.x = lw.data(x)

    assert Maybe(0) is None
    assert lw.tree_leaves(Maybe(2)) == [2]


def test_a_registration_of_ones_own_wins():
    """A subclass may be registered by functions, globally or in a namespace."""
    shapes = lw.namespace("objects-of-ones-own")

    class Own(lw.Pytree):
        def __init__(self, x):
            self.x = lw.data(x)

    shapes.register_leaf(Own)
    assert shapes.tree_leaves(Own([1])) != [1]
    assert lw.tree_leaves(Own([1])) == [1]

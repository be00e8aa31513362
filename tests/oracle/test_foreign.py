"""Classes that only a framework knows, assigned to attributes: no array gets lost."""

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn


class Box:
    """What none of the frameworks knows yet."""

    def __init__(self, content):
        self.content = content

    def __new__(cls, content):
        """Take an argument, so that nobody can make an empty one by the class."""
        return object.__new__(cls)


class Model(lw.Pytree):
    pass


@pytest.fixture(params=["jax", "torch"])
def box(request):
    """Return a class that one framework knows, and the name of the framework."""
    cls = type("Box", (Box,), {})
    name = request.param
    if name == "jax":
        jax = request.getfixturevalue("jax")
        jax.tree_util.register_pytree_node(
            cls, lambda box: ((box.content,), None), lambda _, parts: cls(*parts)
        )
    else:
        torch_tree = request.getfixturevalue("torch_tree")
        torch_tree.register_pytree_node(
            cls, lambda box: ([box.content], None), lambda parts, _: cls(*parts)
        )
    return cls, name


def test_an_array_in_it_is_never_static_silently(box):
    """It is refused, also inside containers, and nothing is written."""
    cls, name = box
    model = Model()
    for value in (
        cls(np.ones(2)),
        [cls(np.ones(2))],
        {"a": (cls([np.ones(2)]),)},
        cls(cls(np.ones(2))),
        cls(nn.Param(1.0)),
    ):
        with pytest.raises(lw.errors.KindError, match=r"Found data in Model\.box"):
            model.box = value
        assert "box" not in vars(model)
    with pytest.raises(lw.errors.KindError) as caught:
        model.box = cls(np.ones(2))
    assert [" ".join(line.split()) for line in str(caught.value).splitlines()] == [
        "Found data in Model.box, a Box that would be static: "
        f"Model{caught.value.path} is ndarray of shape (2,) and dtype float64.",
        "Do one of these:",
        "1. mark the whole Box as data: obj.box = data(...)",
        f"2. adopt the node types of {name}: leafwise.integrations.adopt({name!r}), "
        "and data(...)",
        "3. declare it in the class: box: Data[Box]",
        "4. treat such containers as data: class Model(..., strict=False)",
        "5. disable pytree for the class: class Model(..., pytree=False)",
        "6. assign a value without data: obj.box = static(...)",
    ]


def test_what_is_filled_later_is_found(box):
    """After `__init__`, and by `check_pytree`."""
    cls, _ = box

    class Filled(lw.Pytree):
        def __init__(self):
            self.boxes = []
            self.boxes.append(cls(np.ones(2)))

    with pytest.raises(lw.errors.KindError, match=r"Found data in .*Filled\.boxes"):
        Filled()
    model = Model()
    model.boxes = []
    model.boxes.append(cls(np.ones(2)))
    with pytest.raises(lw.errors.KindError, match=r"Found data in Model\.boxes"):
        nn.check_pytree(model)

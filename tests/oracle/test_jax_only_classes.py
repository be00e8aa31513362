"""Classes that only jax knows, assigned to attributes: no array gets lost."""

import numpy as np
import pytest

import leafwise as lw
from leafwise import nn


class Box:
    """What jax does not know yet."""

    def __init__(self, content):
        self.content = content

    def __new__(cls, content):
        """Take an argument, so that nobody can make an empty one by the class."""
        return object.__new__(cls)


class Model(lw.Pytree):
    pass


@pytest.fixture
def box(jax_tree):
    """Return a class that only jax knows."""
    cls = type("Box", (Box,), {})
    jax_tree.register_pytree_node(
        cls, lambda box: ((box.content,), None), lambda _, parts: cls(*parts)
    )
    return cls


def test_an_array_in_it_is_never_static_silently(box):
    """It is refused, also inside containers, and nothing is written."""
    model = Model()
    for value in (
        box(np.ones(2)),
        [box(np.ones(2))],
        {"a": (box([np.ones(2)]),)},
        box(box(np.ones(2))),
        box(nn.Param(1.0)),
    ):
        with pytest.raises(lw.errors.KindError, match=r"Found data in Model\.box"):
            model.box = value
        assert "box" not in vars(model)
    with pytest.raises(lw.errors.KindError) as caught:
        model.box = box(np.ones(2))
    assert [" ".join(line.split()) for line in str(caught.value).splitlines()] == [
        "Found data in Model.box, a Box that would be static: "
        f"Model{caught.value.path} is ndarray of shape (2,) and dtype float64.",
        "Do one of these:",
        "1. mark the whole Box as data: obj.box = data(...)",
        "2. adopt the node types of jax: leafwise.integrations.adopt('jax'), "
        "and data(...)",
        "3. declare it in the class: box: Data[Box]",
        "4. treat such containers as data: class Model(..., strict=False)",
        "5. disable pytree for the class: class Model(..., pytree=False)",
        "6. assign a value without data: obj.box = static(...)",
    ]


def test_what_is_filled_later_is_found(box):
    """After `__init__`, and by `check_pytree`."""

    class Filled(lw.Pytree):
        def __init__(self):
            self.boxes = []
            self.boxes.append(box(np.ones(2)))

    with pytest.raises(lw.errors.KindError, match=r"Found data in .*Filled\.boxes"):
        Filled()
    model = Model()
    model.boxes = []
    model.boxes.append(box(np.ones(2)))
    with pytest.raises(lw.errors.KindError, match=r"Found data in Model\.boxes"):
        nn.check_pytree(model)

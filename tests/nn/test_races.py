"""Threads and finalizers that register types while objects are built."""

from itertools import count

import leafwise as lw
from helpers.interrupts import interrupted
from leafwise import nn


FILES = tuple(f"nn/{name}.py" for name in ("checks", "instance"))


def test_text_stays_static_while_a_data_type_is_registered():
    """Wherever the registration comes in between; also for all objects after it."""
    for at in count(0, 4):

        class Model(lw.Pytree):
            pass

        fresh = type("Fresh", (), {})
        nn.register_data_type(type("Other", (), {}))  # all is to be learned anew
        model = Model()

        def register(fresh=fresh):
            nn.register_data_type(fresh)

        with interrupted(register, at, FILES) as done:
            model.name = "text"
            assert not nn.is_data("text")
        again = Model()
        again.name = "other"
        assert lw.tree_leaves([model, again]) == []
        model.name = "more"
        assert lw.tree_leaves(model) == []
        if not done:
            break
    assert at > 50


def test_a_name_of_variables_that_is_taken_meanwhile():
    """Whoever comes second is refused."""
    for at in count():
        mine, other = (type(name, (nn.Variable,), {}) for name in ("Mine", "Other"))
        outcome = []

        def register(cls, at=at, outcome=outcome):
            try:
                nn.register_variable_name(f"taken_{at}", cls)
                outcome.append(cls)
            except ValueError:
                pass

        with interrupted(
            lambda other=other, register=register: register(other),
            at,
            ("nn/variables.py",),
        ) as done:
            register(mine)
        assert outcome == [nn.variable_type(f"taken_{at}")]
        if not done:
            break
    assert at > 10


def test_objects_that_are_no_nodes_have_one_node_type():
    """Whoever asks first makes it."""
    for at in count():
        cls = type("Quiet", (lw.Pytree,), {}, pytree=False)
        spec = cls.__leafwise__
        inner = []
        files = ("nn/instance.py",)
        with interrupted(lambda: inner.append(spec.node_type), at, files) as done:  # noqa: B023
            node_type = spec.node_type
        assert inner == [node_type] * len(done)
        assert spec.node_type is node_type
        if not done:
            break
    assert at > 5


def test_an_attribute_may_be_assigned_while_its_object_is_flattened():
    """What is found is of before or after, and the attribute stays what it was."""
    for at in count():
        model = lw.Pytree()
        model.first = lw.data(1)

        def assign(model=model):
            model.second = lw.data(2)

        with interrupted(assign, at, FILES) as done:
            leaves = lw.tree_leaves(model)
        assert leaves in ([1], [1, 2])
        assert lw.tree_leaves(model) == ([1, 2] if done else [1])
        if not done:
            break
    assert at > 50

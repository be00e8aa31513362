"""Variables: operators, values, metadata, copies."""

import copy
import operator
import pickle

import numpy as np
import pytest

from leafwise import nn


BINARY = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv),
    *(operator.mod, operator.pow, operator.lt, operator.le, operator.gt, operator.ge),
    *(operator.eq, operator.ne, divmod),
]


@pytest.mark.parametrize("function", BINARY)
def test_operators_give_bare_values(function):
    """On both sides, and between two variables."""
    seven, three = nn.Param(7), nn.Variable(3)
    expected = function(7, 3)
    for a, b in ((seven, 3), (7, three), (seven, three)):
        found = function(a, b)
        assert type(found) is type(expected)
        assert found == expected


def test_unary_operators_and_conversions():
    """Unary ones, conversions, and what containers do."""
    box = nn.Param(-3)
    assert (-box, +box, abs(box), ~box, bool(box), int(box), float(box)) == (
        *(3, -3, 3, 2, True, -3),
        -3.0,
    )
    assert (complex(box), round(nn.Param(1.26), 1), [0, 1, 2][nn.Param(1)]) == (
        -3 + 0j,
        1.3,
        1,
    )
    words = nn.Variable(["a", "b"])
    assert (len(words), [*words], "a" in words, words[1]) == (2, ["a", "b"], True, "b")
    assert (nn.Variable(np.eye(2)) @ nn.Variable(np.ones(2))).tolist() == [1.0, 1.0]
    assert nn.Variable(len)("abc") == 3
    assert f"{nn.Variable(1.5):.2f}" == "1.50"
    assert np.asarray(nn.Variable(np.ones(2))).tolist() == [1.0, 1.0]
    assert np.asarray(nn.Variable(3), np.float32).dtype == np.float32
    with pytest.raises(TypeError, match="unhashable"):
        hash(box)


def test_values_change_in_place():
    """Items and the whole value change in place; `+=` on the variable is refused."""
    array = np.zeros(2)
    box = nn.Param(array)
    box[0] = nn.Param(5.0)
    assert array.tolist() == [5.0, 0.0]
    box[...] = 3
    box[...] += 1
    assert box.value.tolist() == box[...].tolist() == [4.0, 4.0]
    table = nn.Variable({"a": 1})
    table["b"] = 2
    del table["a"]
    assert table.value == {"b": 2}
    for name in ("iadd", "isub", "imul", "ior"):
        with pytest.raises(NotImplementedError, match=r"write `variable\[...\]"):
            getattr(operator, name)(box, 1)


def test_subclasses_override_how_values_are_read_and_set():
    class Clipped(nn.Variable):
        def get_value(self):
            return super().get_value() * 10

        def set_value(self, value):
            super().set_value(min(value, 1))

    clipped = Clipped(0)
    nn.update(model := nn.Dict(a=clipped), {"a": 5})
    nn.update(model, nn.state(model))
    assert (clipped.get_raw_value(), clipped.value, clipped + 0) == (5, 50, 50)
    clipped.value = nn.Param(5)
    clipped[...] += 0
    assert (clipped.get_raw_value(), clipped.copy().value) == (1, 10)


def test_hooks_of_flax_are_refused():
    """As metadata they would have no effect."""
    said = r"^Param does not call hooks \(on_get_value, on_set_value\); override"
    with pytest.raises(TypeError, match=said):
        nn.Param(1, on_set_value=print, on_get_value=print)


def test_metadata():
    """Get, set, delete, in all forms; a stranger is refused."""
    box = nn.Param(1, a=1)
    assert box.get_metadata() == {"a": 1}
    assert (box.get_metadata("a"), box.get_metadata("b", 7)) == (1, 7)
    with pytest.raises(KeyError):
        box.get_metadata("b")
    box.set_metadata("b", 2)
    box.set_metadata(c=3)
    box.a = 9
    assert box.get_metadata() == {"a": 9, "b": 2, "c": 3}
    box.del_metadata("a")
    del box.b
    assert (box.has_metadata("a"), box.has_metadata("c")) == (False, True)
    box.set_metadata({"only": 1})
    assert box.get_metadata() == {"only": 1}
    with pytest.raises(AttributeError, match=r"set_metadata\(new=...\)"):
        box.new = 1
    with pytest.raises(AttributeError, match="has no metadata 'new'"):
        del box.new
    with pytest.raises(TypeError, match="not a mapping"):
        box.set_metadata(1)


def test_copies_are_independent():
    """Copies are independent; a variable takes the content of any other."""
    box = nn.Param([1], a=1)
    other = box.replace(5, b=2)
    assert (other.value, other.get_metadata(), type(other)) == (
        5,
        {"a": 1, "b": 2},
        nn.Param,
    )
    again = copy.copy(box)
    again.set_metadata(a=2)
    assert box.a == 1
    assert copy.deepcopy(box).value is not box.value
    assert pickle.loads(pickle.dumps(box)).get_metadata() == {"a": 1}
    box.update_from_state(nn.Cache(8, x=1))
    assert (box.value, box.x) == (8, 1)
    assert nn.Cache(nn.Param(3, y=1)).get_metadata() == {"y": 1}


def test_types_by_name():
    """The known names, new ones, and one that belongs to another type."""
    for name in ("params", "batch_stats", "cache", "intermediates", "perturbations"):
        assert nn.variable_type(name).tag == name
    with pytest.raises(ValueError, match="no type of variables is named 'nothing'"):
        nn.variable_type("nothing")
    made = nn.variable_type("masks_of_test", allow_register=True)
    assert nn.variable_type("masks_of_test") is made
    assert issubclass(made, nn.Variable)
    with pytest.raises(ValueError, match="is already registered for"):
        nn.register_variable_name("params", made)
    assert issubclass(nn.Perturbation, nn.Intermediate)


def test_a_variable_is_true_as_an_object():
    """So `if self.scale:` asks whether there is one, as in Flax."""
    for value in (0, 0.0, np.zeros(3), np.zeros(0), [], None):
        assert nn.Param(value)


def test_an_array_that_is_written_keeps_its_form():
    """`v[...] = x` fills it, and a wrong shape is refused; others are replaced."""
    bias = nn.Param(np.zeros(3, np.float16))
    given = bias.value
    bias[...] = 1
    assert (bias.value.tolist(), bias.value.dtype) == ([1.0] * 3, np.float16)
    assert bias.value is given
    with pytest.raises(ValueError, match="broadcast"):
        bias[...] = np.ones(4)
    count = nn.BatchStat(0)
    count[...] = 2.5
    assert count.value == 2.5
    jnp = pytest.importorskip("jax.numpy")
    bias[...] = jnp.full(3, 2.0)
    assert (bias.value.tolist(), bias.value.dtype) == ([2.0] * 3, np.float16)
    mean = nn.BatchStat(jnp.zeros(2, jnp.float16))
    mean[...] = jnp.ones((2,), jnp.float16) * 3
    mean[...] = 1.0
    assert (mean.value.tolist(), mean.value.dtype) == ([1.0, 1.0], jnp.float16)
    with pytest.raises(ValueError, match="Incompatible"):
        mean[...] = jnp.ones(3)


def test_metadata_by_a_filter_that_is_named():
    """`only=` is the filter, not a metadata entry."""
    model = nn.List([nn.Param(1.0), nn.Cache(2.0)])
    nn.set_metadata(model, only=nn.Param, unit="m")
    assert [x.get_metadata() for x in model] == [{"unit": "m"}, {}]


def test_a_type_of_variables_has_a_kind():
    """It is inherited, and filters and attributes go by it."""

    class Average(nn.Variable, kind=nn.Kind.STATE):
        pass

    class Moving(Average):
        pass

    model = nn.Dict(a=Average(1.0), m=Moving(2.0), v=nn.Variable(3.0))
    assert list(nn.state(model, nn.Kind.STATE)) == ["a", "m"]
    assert list(nn.state(model, nn.Kind.DATA)) == ["v"]

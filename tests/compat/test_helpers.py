"""What the tests of all stand-ins use."""

from random import Random

import pytest

import leafwise as lw
from compat.binding import unbound
from compat.programs import differences, make_classes, pair_of, told, trees_of


def test_calls_that_are_not_taken_are_told():
    def theirs(f, tree, *rest, is_leaf=None):
        """Take what `map` takes."""

    def shorter(f, tree, is_leaf=None):
        """Take two trees at most."""

    def other(f, tree, *rest, is_leaf=False):
        """Have another default."""

    assert unbound(theirs, theirs) == []
    assert unbound(theirs, shorter) == ["(5 by place, )"]
    assert unbound(theirs, other) == ["is_leaf=None is False"]


def test_signatures_of_functions_in_c_are_read():
    class FromC:
        __doc__ = "f(self: a.B, x: c.D, /, y: int = 3, *, z: str = <e.F: 1>) -> list"

        def __call__(self, *args, **named):
            """Take anything."""

    class FromText(FromC):
        __nb_signature__ = (("def f(self, x: int | None = None) -> int", "", None),)

    assert unbound(_Opaque(FromC), lambda self, x, y=3, *, z=...: 0) == []
    assert unbound(_Opaque(FromC), lambda self, x, *, z=...: 0)
    assert unbound(_Opaque(FromText), lambda self, x=1: 0) == ["x=None is 1"]


class _Opaque:
    """Has the texts of a class, and no signature that Python knows."""

    __signature__ = None

    def __init__(self, like):
        self.__doc__ = like.__doc__
        self.__nb_signature__ = getattr(like, "__nb_signature__", None)


@pytest.mark.parametrize("name", ["a", "both"])
def test_names_of_parameters_count(name):
    ours = eval(f"lambda {name}: 0")
    assert unbound(lambda a: 0, ours) == ([] if name == "a" else ["(0 by place, a)"])


def test_programs_that_differ_are_told_with_their_round():
    class Longer:
        @staticmethod
        def tree_leaves(tree):
            return [*lw.tree_leaves(tree), "more"]

    def leaves(module, source, tree, other):
        return module.tree_leaves(tree)

    box, record = make_classes()
    trees = trees_of()
    assert differences([leaves], lw, lw, trees, 20) == []
    found = differences([leaves], lw, Longer, trees, 20)
    assert len(found) == 5
    assert found[0].startswith("leaves of round '0-0' on ")
    more = trees_of([box, record])
    made = [pair_of(Random(n), more(Random(n)))[0] for n in range(200)]
    assert {box, record, list, dict} <= {*map(type, made)}


def test_exceptions_are_compared_by_what_catches_them():
    def fails(module, source, tree, other):
        raise module

    error = lw.StructureError("no")
    assert differences([fails], ValueError(), error, trees_of(), 1) == []
    assert len(differences([fails], KeyError(), error, trees_of(), 1)) == 1


def test_values_are_told_with_their_types_and_order():
    assert told({"a": 1, "b": 2}) != told({"b": 2, "a": 1})
    assert told((1,)) != told([1])
    assert told(1) != told(True)
    assert told(lw.SequenceKey(1)) == "SequenceKey(idx=1)"

"""The one walk through graphs of objects, and those that go along with it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafwise as lw
from leafwise import nn
from leafwise.kinds import Marked
from leafwise.nn.instance import AGAIN, CYCLE, ENTER, LEAF, LEAVE, traverse


class Node(lw.Pytree):
    """Whatever attributes there are."""

    def __init__(self, **attributes):
        for name, value in attributes.items():
            setattr(self, name, value)


@st.composite
def graphs(draw):
    """Draw lists, dicts and objects that are put into one another, in any way."""
    nodes = [draw(st.sampled_from([list, dict, Node]))() for _ in range(4)]
    for place, node in enumerate(nodes):
        for at in range(draw(st.integers(0, 3))):
            child = draw(st.sampled_from([*nodes, 1.5, nn.Param(2), (nodes[0], place)]))
            if isinstance(node, list):
                node.append(child)
            elif isinstance(node, dict):
                node[f"k{at}"] = child
            else:
                setattr(node, f"k{at}", lw.data(child))
    return nodes[0]


def inside(value):
    """Return names and children of a value, None if it has none."""
    if isinstance(value, list | tuple):
        return [*enumerate(value)]
    if isinstance(value, dict):
        return [*value.items()]
    if isinstance(value, nn.Variable):
        return [("value", value.get_raw_value())]
    return [*vars(value).items()] if isinstance(value, Node) else None


def model(value, revisit, path=(), above=(), seen=None):
    """Yield what the walk does, by recursion."""
    seen = [] if seen is None else seen
    below = inside(value)
    if below is None:
        yield LEAF, path, value
    elif any(value is one for one in above):
        yield CYCLE, path, value
    elif any(value is one for one in seen) and not revisit(value):
        yield AGAIN, path, value
    else:
        seen.append(value)
        yield ENTER, path, value
        for name, child in below:
            around = (*above, value)
            yield from model(child, revisit, (*path, name), around, seen)
        yield LEAVE, path, value


@given(graphs(), st.sampled_from([None, list, nn.Variable]))
def test_it_goes_depth_first(root, again):
    """What happens where, with cycles and with what stands in several places."""

    def revisit(value):
        return again is not None and isinstance(value, again)

    def path(link):
        return (*path(link[0]), link[1]) if link else ()

    walked = traverse(root, revisit=revisit if again else None)
    found = [(event, path(link), value) for event, link, value in walked]
    expected = [*model(root, revisit)]
    assert [step[:2] for step in found] == [step[:2] for step in expected]
    assert all(a[2] is b[2] for a, b in zip(found, expected, strict=True))


def test_an_object_may_change_while_it_is_walked():
    """Those that hold it are not affected, what is in it counts as it is then."""
    tree = [Node(a=lw.data([])), Node(a=lw.data(1))]
    met = []
    for event, _, value in traverse(tree):
        if event is ENTER and isinstance(value, Node):
            tree.clear()
            value.b = lw.data(2)
        if event is LEAF:
            met.append(value)
    assert met == [2, 1, 2]


def test_check_pytree_reports_what_comes_first():
    """In the order of the tree, through containers, and once for what is shared."""
    inner = Node(names=[])
    root = Node(a=lw.data([{"x": inner}, inner]), b=Node(late=[]))
    root.a.append(root.a)
    nn.check_pytree(root)
    inner.names.append(nn.List([1]))
    root.b.late.append(nn.List([1]))
    nn.check_pytree(root, recursive=False)
    with pytest.raises(lw.errors.KindError) as caught:
        nn.check_pytree(root)
    assert caught.value.attribute == "names"
    assert caught.value.__notes__ == ["the object is at .a[0]['x']"]


def test_a_container_in_itself_can_be_frozen():
    """The walk does not go round and round."""
    row = [nn.Param(1.0)]
    row.append(row)
    frozen = nn.freeze(row)
    assert frozen[1] is frozen
    assert frozen[0].frozen
    assert "frozen" not in row[0].get_metadata()


@pytest.mark.parametrize(
    ("attribute", "outer", "inner", "kind"),
    [
        (nn.Kind.DATA, nn.Param, nn.BatchStat, nn.Kind.STATE),
        (nn.Kind.DATA, nn.Param, nn.Variable, nn.Kind.PARAMETER),
        (nn.Kind.STATE, nn.Param, nn.Variable, nn.Kind.STATE),
        (nn.Kind.PARAMETER, nn.BatchStat, nn.Cache, nn.Kind.PARAMETER),
    ],
)
def test_of_variables_in_variables_the_inner_one_decides(attribute, outer, inner, kind):
    """As far as it says anything, and the attribute does not."""
    layer = Node(v=Marked(attribute, outer([1, inner(2)])))
    assert 2 in lw.tree_leaves(nn.select_kind(layer, kind))
    layer.v.set_metadata(frozen=True)
    assert lw.tree_leaves(nn.select_kind(layer, nn.Kind.FROZEN)) == [1, 2]


class Odd(type(lw.Pytree)):
    """A metaclass that does not tell names."""

    @property
    def __name__(cls):
        raise ValueError("no name")


def nameless():
    """Return an object of a class whose name is found all the same."""

    class Nameless(lw.Pytree, metaclass=Odd):
        def __init__(self):
            self.size = 3

    return Nameless()


def test_classes_without_a_name_are_named():
    """In texts of objects, structures and errors."""
    one = nameless()
    assert repr(one) == "Nameless(size=3)"
    assert repr(nn.graphdef(nn.List([one]))) == "GraphDef(List([0]=Nameless(size=3)))"
    assert "Nameless[size=3]" in repr(lw.tree_structure(one))
    assert lw.tree_summary(one).rows[0].type == "Nameless"
    for call, text in (
        (
            lambda: setattr(one, "size", nn.List()),
            "Nameless.size, which is static since",
        ),
        (lambda: nn.replace(one, sise=1), "Nameless has no attribute 'sise'"),
        (lambda: nn.update([one], {0: 1}), "expected the values of a Nameless"),
        (lambda: nn.tree_check([one, one]), "the Nameless at (0,) occurs again"),
        (lambda: nn.merge(one), "merge takes a GraphDef first, got Nameless"),
    ):
        with pytest.raises(Exception, match=re.escape(text)):
            call()


def test_shared_objects_are_reported_where_split_is_called():
    """The warning points at the caller."""
    one = Node()
    with pytest.warns(UserWarning, match="occurs again") as caught:
        nn.split(nn.List([one, one]), on_shared="warn")
    assert caught[0].filename == __file__

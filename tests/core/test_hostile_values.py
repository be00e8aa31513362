"""Values whose classes do anything when they are put into words, in every message.

What a user sees is the failure that there was: no exception from a `__repr__` on the
way, and none from a note that an exception refuses.
"""

import dataclasses

import pytest

import leafwise as lw
from leafwise._text import safe_repr, safe_str


pytestmark = pytest.mark.usefixtures("sampling")


class ReprError(Exception):
    """Raised where nothing but a text was wanted; nobody may see it."""


class Hostile:
    """Refuses to be shown, in each way that there is."""

    def __repr__(self):
        raise ReprError

    __str__ = __repr__

    def __format__(self, _spec):
        raise ReprError


class NoText:
    def __repr__(self):
        return 3

    __str__ = __repr__


class Loud(str):
    """A text that is none once it is worked with."""

    __slots__ = ()

    def split(self, *_):
        raise ReprError

    __repr__ = __str__ = __format__ = split


class SaysLoud:
    def __repr__(self):
        return Loud("loud")


class Deep:
    def __repr__(self):
        return repr(self)  # until the stack is full


HUGE = 10**5000
VALUES = {
    "raises": Hostile(),
    "returns no text": NoText(),
    "a strange text": SaysLoud(),
    "a text itself": Loud("text"),
    "never ends": Deep(),
    "a huge int": HUGE,
    "inside": (Hostile(), [HUGE]),
    "a class": Hostile,
}
KEYS = {name: value for name, value in VALUES.items() if name != "inside"} | {
    "a tuple": (1, Hostile()),
    "a frozen set": frozenset({Hostile()}),
}


def named(values):
    """Return the names of values as parameters; one of the values needs a stack."""
    deep = pytest.mark.needs("stack")
    return [
        pytest.param(name, marks=[deep] if name == "never ends" else [], id=name)
        for name in values
    ]


@pytest.fixture(params=named(VALUES))
def value(request):
    return VALUES[request.param]


@pytest.fixture(params=named(KEYS))
def key(request):
    return KEYS[request.param]


def bad(*_args):
    raise ZeroDivisionError


def Box(name="Box", **more):  # it stands for a class
    cls = type(name, (), {})
    lw.register_pytree_node(
        cls,
        more.get("flatten", lambda node: ((node.x,), node.aux)),
        more.get("unflatten", lambda aux, kids: cls()),
        namespace="hostile",
    )
    node = cls()
    node.x = more.get("x")
    node.aux = more.get("aux")
    return node


NS = lw.namespace("hostile")


# ---------------------------------------------------------------------------- the tools


def test_who_wants_to_stop_is_let():
    """Ctrl-C during a `__repr__` is no failure of the text."""

    class Stopping:
        def __repr__(self):
            raise KeyboardInterrupt

    for say in (safe_repr, safe_str, lambda x: str(lw.DictKey(x))):
        with pytest.raises(KeyboardInterrupt):
            say(Stopping())
    with pytest.raises(KeyboardInterrupt):
        lw.tree_map(bad, {Stopping(): 1})


# ------------------------------------------------------------------ exceptions of users


@dataclasses.dataclass(frozen=True)
class FrozenError(Exception):
    code: int = 3


@dataclasses.dataclass(frozen=True, slots=True)
class SlottedError(Exception):
    code: int = 3


class StrangeError(RuntimeError):
    def __str__(self):
        raise ReprError


ERRORS = [FrozenError, SlottedError, StrangeError]


@pytest.mark.parametrize("error", ERRORS)
def test_an_exception_of_generated_functions(error):
    """Compiled code looks again where it failed, and raises the same."""

    class Late:
        pass

    broken = []

    def unflatten(aux, children):
        if broken:
            raise error
        return Late()

    lw.register_pytree_node(Late, lambda node: ((1,), None), unflatten)
    treedef = lw.tree_structure([Late(), 1])
    for _ in range(6):
        treedef.unflatten([1, 2])
    broken.append(True)
    with pytest.raises(error):
        treedef.unflatten([1, 2])
    lw.unregister_pytree_node(Late)


# -------------------------------------------------- every message that has user objects


def structures(x):
    yield lambda: lw.tree_map(max, {"a": 1}, {x: 1})
    yield lambda: lw.tree_map(max, {x: 1}, {"a": 1})
    yield lambda: lw.tree_map(max, [x], [1, 2])
    yield lambda: lw.tree_map(max, [[1]], [x])
    yield lambda: lw.tree_map(max, [1], [[x]], strict=True)
    yield lambda: lw.tree_structure({x: [1]}).flatten_up_to({x: x})
    yield lambda: lw.tree_structure({x: [1]}).unflatten([x, x])
    yield lambda: lw.tree_transpose(
        lw.tree_structure({x: 1}), lw.tree_structure([1]), x
    )
    yield lambda: lw.tree.broadcast_leaves({x: 1}, [1])
    yield lambda: lw.tree.broadcast_common({x: (1, 2)}, {x: [1]})
    yield lambda: lw.tree_unflatten(x, [1])
    yield lambda: lw.tree.treedef_tuple([x])
    yield lambda: lw.KeyPath((lw.DictKey(x),))({})
    yield lambda: lw.KeyPath((lw.DictKey("b"),))({x: 1})
    yield lambda: lw.KeyPath((lw.DictKey("b"),))([x])
    yield lambda: lw.tree_leaves([1], is_leaf=x)
    yield lambda: lw.tree.map_shared(max, 1, x)
    yield lambda: lw.tree_reduce(bad, [x, {x: x}])
    yield lambda: lw.registry.lookup(x) if not isinstance(x, type) else bad()
    yield lambda: lw.PyTreeDef.from_json(x)


def aux_data(x):
    def box(aux):
        return Box(aux=aux, x=[1])

    first = box(x)
    second = box(x)
    second.aux = object()
    again = type(first)()
    again.x = [1]
    again.aux = [x]
    yield lambda: NS.tree_map(max, [first], [again])
    yield lambda: NS.tree_map(max, [first], [second])
    yield lambda: NS.tree_structure(first).flatten_up_to(again)
    yield lambda: NS.tree_structure([first]).to_json()
    yield lambda: NS.tree_leaves(Box(flatten=lambda node: x))
    yield lambda: NS.tree_leaves(Box(flatten=lambda node: (3, x)))
    yield lambda: NS.tree_leaves(Box(flatten=lambda node: ((1,), None, (x, x))))
    yield lambda: NS.tree_structure(Box(aux=x, unflatten=bad)).unflatten([1])


def registering(x):
    cls = type("Fresh", (), {})
    odd = type("Odd", (), {})
    not_called = x if not callable(x) else 3
    yield lambda: lw.register_pytree_node(cls, not_called, bad)
    yield lambda: lw.register_pytree_node(cls, bad, not_called)
    yield lambda: lw.register_static(x if not isinstance(x, type) else dict)
    yield lambda: lw.register_static(odd, namespace=x if type(x) is not Loud else 3)
    yield lambda: lw.register_pytree_node_class(odd)
    yield lambda: lw.unregister_pytree_node(odd)
    yield lambda: lw.unregister_pytree_node(odd, namespace=Loud("nowhere"))
    yield lambda: lw.namespace(Loud("odd order"), dict_order=x)
    yield lambda: lw.tree_leaves([1], namespace=x)
    yield lambda: lw.register_dataclass(cls, [x], [])
    yield lambda: lw.register_dataclass(odd, ["a"], ["a"])
    yield lambda: lw.register_dataclass(odd)


def selecting(x):
    yield lambda: lw.at({x: [1]})["missing"].get()
    yield lambda: lw.at({"a": x})["a.b.c"].set(1)
    yield lambda: lw.at({x: [x]})[lw.KeyPath((lw.DictKey("b"),))].set(1)
    yield lambda: lw.at({x: [1]})["**"].apply(bad)
    yield lambda: lw.at({x: (1, 2)})["*[0]"].delete()
    yield lambda: lw.tree_merge({"a": {x: 1}}, {"a": {x: 2}}, conflict="error")
    yield lambda: lw.tree_merge({"a": 1}, {"a": 2}, conflict=x)
    yield lambda: lw.tree_merge({"a": x}, {"a": [x]}, conflict="error")
    yield lambda: lw.configs.override({"a": x}, ["a=1", "b=2"])
    yield lambda: lw.configs.override({x: 1}, ["b=2"])
    yield lambda: lw.testing.assert_trees_equal({x: [x]}, {x: [1]})


GROUPS = [structures, aux_data, registering, selecting]
KNOWN = (
    lw.LeafwiseError,
    ZeroDivisionError,
    TypeError,
    ValueError,
    AttributeError,
    AssertionError,
    LookupError,
)


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
def test_no_message_fails_on_the_way(value, group):
    """The error is the one that there was, and has a text."""
    try:
        hash(value)
    except TypeError:
        pytest.skip("it cannot be a key")
    failed = 0
    for run in group(value):
        try:
            run()
        except KNOWN as error:
            failed += 1
            for text in (error, *getattr(error, "differences", ())):
                assert type(str(text)) is str
            chain = [error, error.__context__, error.__cause__]
            assert not [e for e in chain if isinstance(e, ReprError)]
            if not isinstance(error, lw.errors.TreeDefError):  # JSON has no other ints
                assert "Exceeds the limit" not in "".join(map(str, chain))
    assert failed > 3

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


@pytest.fixture(params=["jax", "optree", "optree in a namespace", "torch"])
def box(request):
    """Return a class that one framework knows, and the name of the framework."""
    cls = type("Box", (Box,), {})
    name = request.param.split()[0]
    if name == "jax":
        jax = request.getfixturevalue("jax")
        jax.tree_util.register_pytree_node(
            cls, lambda box: ((box.content,), None), lambda _, parts: cls(*parts)
        )
    elif name == "optree":
        optree = request.getfixturevalue("optree")
        optree.register_pytree_node(
            cls,
            lambda box: ((box.content,), None),
            lambda _, parts: cls(*parts),
            namespace="boxes" if "namespace" in request.param else "leafwise",
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


def test_as_flax_decides(jax, nnx):
    """Flax refuses the same values, and takes the same."""
    cls = jax.tree_util.register_pytree_node_class(
        type(
            "Pair",
            (),
            {
                "__init__": lambda self, content: setattr(self, "content", content),
                "tree_flatten": lambda self: ((self.content,), None),
                "tree_unflatten": classmethod(lambda c, _, parts: c(*parts)),
            },
        )
    )
    ones = jax.numpy.ones(2)

    def taken(library, value):
        made = type("Model", (library.Pytree,), {})()
        try:
            made.x = value
        except ValueError:
            return "refused"
        return "data" if library.is_data(value) else "static"

    for value in (
        cls(ones),
        cls(3),
        [cls(ones)],
        [cls(3)],
        ones,
        jax.random.key(0),
        [jax.random.key(0)],
        jax.ShapeDtypeStruct((2,), "float32"),
        [jax.ShapeDtypeStruct((2,), "float32")],
        np.array([None, ones], dtype=object),
        [np.array([None], dtype=object)],
        jax.tree_util.Partial(max, ones),
    ):
        assert taken(nn, value) == taken(nnx, value)


def states_of_libraries(need):
    """Return values of classes that libraries made, with arrays and without."""
    jax, equinox = need("jax"), need("equinox")
    struct, training = need("flax.struct"), need("flax.training.train_state")
    optax, core = need("optax"), need("flax.core")
    ones = jax.numpy.ones(2)
    point = struct.dataclass(type("Point", (), {"__annotations__": {"x": object}}))
    node = type("Node", (struct.PyTreeNode,), {"__annotations__": {"x": object}})
    module = type("Own", (equinox.Module,), {"__annotations__": {"x": object}})
    adam = optax.adam(0.1)
    return {
        "equinox": (equinox.nn.Linear(2, 3, key=jax.random.key(0)), module(3)),
        "an own module of equinox": (module(ones), equinox.nn.Identity()),
        "an array deep in equinox": (module([{"a": module(ones)}]), module([1, "a"])),
        "flax.struct.dataclass": (point(ones), point(3)),
        "flax.struct.PyTreeNode": (node([ones]), node(["a"])),
        "FrozenDict": (core.FrozenDict(a=ones), core.FrozenDict(a=1)),
        "optax": (adam.init(ones), optax.EmptyState()),
        "inside optax": (adam.init({"w": ones})[0], optax.sgd(0.1).init(ones)),
        "a state of training": (
            training.TrainState.create(apply_fn=abs, params=ones, tx=optax.sgd(0.1)),
            optax.identity(),
        ),
        "Partial": (jax.tree_util.Partial(max, ones), jax.tree_util.Partial(max, 1)),
    }


@pytest.mark.parametrize("base", [lw.Pytree, nn.Module])
def test_states_of_libraries(need, base):
    """With an array they are refused, or data if that is said; else static."""
    cls = type("Holder", (base,), {})
    for name, (holding, free) in states_of_libraries(need).items():
        holder, items, table = cls(), nn.List(), nn.Dict()
        for assign in (
            lambda v, to=holder: setattr(to, "x", v),
            lambda v, to=holder: setattr(to, "x", lw.static(v)),
            lambda v, to=holder: setattr(to, "x", {"deep": (v,)}),
            lambda v, to=items: to.append(v),
            lambda v, to=table: to.update(x=v),
            lambda v, to=table: to.setdefault("x", v),
        ):
            with pytest.raises(lw.errors.KindError):
                assign(holding)
        assert not vars(holder), name
        assert not len(items), name
        assert not len(table), name
        holder.x = lw.data(holding)
        assert lw.tree_leaves(holder), name
        assert nn.name_to_kind(holder)["x"].is_data, name
        holder.y = free
        assert nn.name_to_kind(holder)["y"] is nn.Kind.STATIC, name

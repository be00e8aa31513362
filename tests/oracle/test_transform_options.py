"""Options of the transforms: those that name arguments, axes, captured objects."""

import functools
import re

import numpy as np
import pytest

from leafwise import nn


def model(library, size=2):
    """Return a module of one of the libraries, with one parameter."""

    class Model(library.Module):
        def __init__(self):
            self.w = library.Param(jax_ones(size))

        def __call__(self, x):
            return self.w[...] * x

        def grow(self, x):
            self.w[...] = self.w[...] + x
            return self

    return Model()


def static_number(L):
    calls = []

    def f(number, m):
        calls.append(number)
        return m.w[...] * number

    g = L.jit(f, static_argnums=0)
    one = model(L)
    return [g(number, one) for number in (3, 3, 1, True, 1.0)], list(map(repr, calls))


def static_names(L):
    g = L.jit(by_mode, static_argnames="mode")
    one = model(L)
    return g(one), g(one, "b"), g(one, mode="b")


def by_mode(m, mode="a"):
    """Return one of two things."""
    return m.w[...] if mode == "a" else m.w[...] * 5


def donated(L):
    results = []
    for option in (
        {"donate_argnums": 1},
        {"donate_argnums": (0,)},
        {"donate_argnames": "b"},
        {"donate_argnums": 0, "donate_argnames": ["b"]},
        {},
    ):
        a = jax_ones(3)
        b = jax_ones(3)
        L.jit(lambda a, b: (a + b, a - b), **option)(a, b)
        results.append((a.is_deleted(), b.is_deleted()))
    a = jax_ones(3)
    b = jax_ones(3)
    L.jit(lambda a, b: a + b, donate_argnums=1)(a, b=b)
    return results, a.is_deleted(), b.is_deleted()


def donated_object(L):
    one = model(L, 3)
    x = jax_ones(3)
    before = one.w[...]

    def f(m, x):
        m.w[...] = m.w[...] + x
        return x * 2

    L.jit(f, donate_argnums=0)(one, x)
    return before.is_deleted(), x.is_deleted(), one.w[...]


def as_decorator(L):
    @L.jit(static_argnums=1, inline=True, keep_unused=True)
    def scaled(m, k):
        return m.w[...] * k

    @L.vmap(in_axes=(0, None), axis_name="i")
    def mapped(x, y):
        import jax

        return jax.lax.psum(x, "i") * y

    @L.grad(argnums=1)
    def slope(x, y):
        return x * y

    results = scaled(model(L), 3), mapped(jax_ones(2), 3.0), slope(2.0, 3.0)
    return results, scaled.__name__, mapped.__name__


def mapped_prefix_trees(L):
    tree = {"k": np.arange(3.0), "l": [2.0, None]}

    def f(a, tree):
        return {"x": a.w[...] * tree["k"], "y": (tree["k"][None], tree["l"][0])}

    axes = 0, {"k": 0, "l": None}
    outs = {"x": 0, "y": (1, None)}
    results = L.vmap(f, in_axes=axes, out_axes=outs)(model(L, 3), tree)
    return results["x"], *results["y"]


def mapped_by_keyword(L):
    f = L.vmap(lambda m, x, y: m.w[...] * x + y, in_axes=(None, 0, None))
    return f(model(L), x=np.arange(3.0), y=1.0)


def mapped_and_returned(L):
    one = model(L, 3)
    f = L.vmap(lambda m, x: (m, x * 2), in_axes=(None, 0), out_axes=(None, 0))
    same, doubled = f(one, np.arange(2.0))
    return same is one, one.w[...], doubled


def made_inside(L):
    return L.vmap(lambda x: model(L))(np.arange(3.0)).w[...], L.vmap(
        lambda x: model(L), out_axes=None
    )(np.arange(3.0)).w[...]


def captured_and_read(L):
    one = model(L)
    x = np.ones(2)
    jitted = L.jit(lambda x: one(x))
    results = jitted(x), L.vmap(lambda x: one(x))(x), L.grad(lambda x: one(x).sum())(x)
    one.w[...] = np.zeros(2, np.float32)
    return results, jitted(x)


def captured_and_changed(L):
    for transform in (L.jit, L.vmap, L.grad):
        one = model(L)
        with pytest.raises(Exception, match="different trace level"):
            transform(growing(one))(jax_ones(2))
    return True


def growing(one):
    """Return a function that changes what it captured."""
    return lambda x: one.grow(x).w[...].sum()


def captured_and_returned(L):
    one = model(L)
    for f in (lambda x: one, lambda x: one.w, lambda x: [x, {"k": one}]):
        for transform in (L.jit, L.vmap):
            with pytest.raises((ValueError, nn.TraceError), match=r"level|captured"):
                transform(f)(np.ones(2))
    return True


def further_gradients(L):
    import jax

    holomorphic = L.grad(lambda x: (x * x).sum(), holomorphic=True)
    integers = L.grad(lambda x: x.astype(float).sum(), allow_int=True)
    numbers = jax.numpy.arange(3)
    return holomorphic(np.ones(2, np.complex64)), str(integers(numbers).dtype)


def refused(L):
    """What both refuse, at the latest when the function is called."""
    one = model(L)
    x = np.ones(2)
    count = 0
    for make, args in (
        (lambda: L.jit(lambda m, x: x, static_argnums=0), (one, x)),
        (lambda: L.jit(lambda m, x: x, static_argnums=1), (one, [x])),
        (lambda: L.jit(lambda x: x, donate_argnums=1), (x,)),
        (lambda: L.jit(lambda x: x, static_argnames="y"), (x,)),
        (lambda: L.jit(lambda x: x, donate_argnames="y"), (x,)),
        (lambda: L.jit(lambda x: x, static_argnums=0, donate_argnums=0), (x,)),
        (lambda: L.jit(lambda x: x, abstracted_axes=("n",)), (x,)),
        (lambda: L.vmap(lambda a, b: a, in_axes=(0, {"k": 0})), (x, {"l": x})),
        (lambda: L.vmap(lambda a: [a], out_axes=(0,)), (x,)),
        (lambda: L.vmap(lambda a: a, in_axes=(0, 0)), (x,)),
        (lambda: L.vmap(lambda a: a, in_axes={"a": 0}), (x,)),
        (lambda: L.vmap(lambda a: a, in_axes=None), (x,)),
        (lambda: L.vmap(lambda a: a, out_axes=None), (x,)),
        (lambda: L.vmap(lambda a, b: a, in_axes=(0, None)), (one, one)),
        (lambda: L.vmap(lambda a, b: a, in_axes=(0, 1)), (x, x)),
        (lambda: L.vmap(lambda a, b: a), (x, np.ones(3))),
        (lambda: L.grad(lambda a, b: a, argnums=(0, 0)), (1.0, 1.0)),
        (lambda: L.grad(lambda a, b: a, argnums=2), (1.0, 1.0)),
        (lambda: L.grad(lambda a: a, has_aux=True), (1.0,)),
    ):
        with pytest.raises((TypeError, ValueError)):
            make()(*args)
        count += 1
    return count


def remat_with_gradients(L):
    one = model(L)

    @functools.partial(L.remat, static_argnums=(1,), prevent_cse=False)
    def forward(one, twice, x):
        return one(one(x)) if twice else one(x)

    value, slope = L.value_and_grad(lambda one, x: forward(one, True, x).sum())(
        one, 2.0
    )
    return value, slope["w"][...], forward(one, False, 2.0), forward.__name__


def shapes(L):
    result_shape = L.eval_shape(
        lambda one, x: (one(x), [one.w[...] @ x]), model(L), np.ones(2)
    )
    model_shape = L.eval_shape(lambda x: model(L, 3), 1.0)
    return [
        x.shape
        for x in (result_shape[0], result_shape[1][0], model_shape.w.get_raw_value())
    ]


CASES = [
    remat_with_gradients,
    shapes,
    static_number,
    static_names,
    donated,
    donated_object,
    as_decorator,
    mapped_prefix_trees,
    mapped_by_keyword,
    mapped_and_returned,
    made_inside,
    captured_and_read,
    captured_and_changed,
    captured_and_returned,
    further_gradients,
    refused,
]


def jax_ones(size):
    """Return an array that can be donated."""
    import jax

    return jax.numpy.ones(size)


def plain(value):
    """Return what was found with lists for arrays."""
    if isinstance(value, tuple | list):
        return list(map(plain, value))
    return np.asarray(value).tolist() if hasattr(value, "shape") else value


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:Some donated buffers")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_options_as_in_flax(case, nnx):
    """The same outcome as in Flax NNX, or an error in both."""
    assert plain(case(nn)) == plain(case(nnx))


# ------------------------------------------------------- where we do more than Flax


def test_a_bound_method_carries_its_object(jax):
    """What changes in it is seen, what is changed comes back; in all transforms."""
    one = model(nn)
    call = nn.jit(one.__call__)
    grow = nn.jit(one.grow)
    assert call(2.0).tolist() == [2.0, 2.0]
    one.w[...] = jax.numpy.zeros(2)
    assert call(2.0).tolist() == [0.0, 0.0]
    assert grow(3.0) is one
    assert one.w.value.tolist() == [3.0, 3.0]
    assert nn.remat(one.grow)(1.0) is one
    assert nn.vmap(one.__call__)(jax_ones((3, 2))).tolist() == [[4, 4]] * 3
    assert nn.grad(lambda x: one(x).sum())(jax_ones(2)).tolist() == [4, 4]
    with pytest.raises(ValueError, match=r"self\.w"):
        nn.vmap(one.grow)(jax_ones((3, 2)))
    before = one.w.value
    x = jax_ones(2)
    nn.jit(one.grow, donate_argnums=0)(x)
    assert (before.is_deleted(), x.is_deleted()) == (False, True)


def test_errors_about_axes_name_arguments(jax):
    """Nothing in them is known to us only."""
    one = model(nn)
    x = jax_ones(2)
    cases = [
        (
            lambda: nn.vmap(lambda a, b: a, (0, {"k": [0]}))(x, {"k": (x,)}),
            "in_axes is not a prefix of the structure it applies to at b['k']: "
            "expected list of length 1, got tuple of length 1",
        ),
        (
            lambda: nn.vmap(lambda a: [a], out_axes=(0,))(x),
            "out_axes is not a prefix of the structure it applies to: expected tuple "
            "of length 1, got list of length 1",
        ),
        (
            lambda: nn.vmap(lambda a, b: 1, (0, None))(one, {"k": [one]}),
            "a and b['k'][0] are the same Model, which can only be mapped in one way: "
            "a.w has axis 0, and b['k'][0].w has axis None",
        ),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=rf"^{re.escape(message)}(\n|$)"):
            call()
    for call, where in (  # the text is jax's, with our name of the value in it
        (
            lambda: nn.vmap(lambda a: {"x": [a]}, 0, {"x": None})(x),
            r"the result\['x'\]\[0\]",
        ),
        (
            lambda: nn.vmap(lambda m, x: m.grow(x), (None, 0))(one, x),
            r"'m\.w'",
        ),
    ):
        with pytest.raises(ValueError, match=where):
            call()
    assert one.w.value.tolist() == [1.0, 1.0]


def test_errors_about_arguments_name_the_option(jax):
    """An option that names no argument is refused where it is given."""
    one = model(nn)
    jit = nn.jit
    for options, message in (
        ({"donate_argnums": 3}, "donate_argnums has 3, but the function takes only 2"),
        ({"static_argnums": -3}, "static_argnums has -3, but the function takes only"),
        ({"donate_argnames": "z"}, "donate_argnames has 'z', but the function takes"),
        ({"static_argnums": 0, "donate_argnames": "m"}, "static and donated at once"),
    ):
        with pytest.raises(ValueError, match=message):
            jit(lambda m, x: x, **options)
    for options, message in (
        ({"static_argnums": "a"}, "cannot be interpreted as an integer"),
        ({"donate_argnames": [1]}, "donate_argnames has 1, but the function takes no"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            jit(lambda m, x: x, **options)
    with pytest.raises(ValueError, match=r"^m of .* is static, but its values may"):
        jit(lambda m, x: x, static_argnums=0)(one, 1.0)
    with pytest.raises(ValueError, match=r"^x of .* is static and cannot be hashed"):
        jit(lambda m, x: x, static_argnames="x")(one, x=[1])
    with pytest.raises(TypeError, match="a transform takes a function, got int: 3"):
        jit(3)
    with pytest.raises(ValueError, match="wrt has 1 filters for 2 argnums"):
        nn.grad(lambda a, b: a, (0, 1), wrt=(nn.Param,))
    with pytest.raises(TypeError, match="with has_aux=True the function must return a"):
        nn.grad(lambda a: a, has_aux=True)(1.0)


def test_stages_are_those_of_jax(jax):
    """A module is a tree, so `jax.jit` takes it and lowers the function."""
    one = model(nn)
    lowered = jax.jit(lambda m, x: m.w * x).lower(one, 2.0)
    assert "stablehlo" in lowered.as_text()
    assert lowered.compile()(one, 5.0).tolist() == [5.0, 5.0]

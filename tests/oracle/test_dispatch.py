"""Calls of compiled functions: the same whether a graph is read or flattened."""

import functools

import numpy as np

import leafwise as lw
from leafwise import nn


def test_what_is_left_alone_stays(jax):
    """An array is not copied, and a number stays a number."""
    numpy = np
    ones = jax.numpy.ones(2)
    model = nn.Dict(
        w=nn.Param(ones),
        bare=lw.data(ones),
        number=nn.Cache(3),
        table=lw.data(numpy.ones(2)),
        inside=lw.data((ones, [2.5])),
    )
    total = nn.jit(lambda model, x: model.w.sum() + x)
    for turn in range(4):
        inside = model.inside
        x = numpy.float32(turn)
        assert float(total(model, x)) == 2 + turn
        assert model.w.value is model.bare is model.inside[0] is ones
        assert (model.number.value, model.inside[1]) == (3, [2.5])
        assert type(model.table) is numpy.ndarray
        assert turn == 0 or model.inside is inside


def test_arrays_that_change_their_places(jax):
    """They are where the function put them."""
    a, b, c = (jax.numpy.ones(2) * n for n in range(3))
    model = nn.Dict(a=nn.Param(a), b=nn.Param(b), c=lw.data(c))

    @nn.jit
    def turn(model):
        model.a.value, model.b.value = model.b.value, model.c
        model.c = model.a.value

    turn(model)
    values = [model.a.value, model.b.value, model.c]
    assert [x.tolist() for x in values] == [b.tolist(), c.tolist(), b.tolist()]


def test_no_array_is_in_two_places_after_a_call(jax):
    """It could not be donated; the one that stayed where it was is no copy."""
    online = jax.numpy.ones(2)
    model = nn.Dict(target=nn.Param(online * 0), online=nn.Param(online), n=nn.Cache(0))

    @nn.jit
    def follow(model):
        model.target.value = model.online.value

    @functools.partial(nn.jit, donate_argnums=0)
    def step(model):
        model.online.value = model.online.value + 1

    follow(model)
    assert model.online.value is online
    assert model.target.value is not online
    for turn in range(4):
        step(model)
        follow(model)
        assert model.target.value.tolist() == [2.0 + turn] * 2

"""The limit: for each tree, what a person would write for just that structure.

No check of any kind, no generality; leaf order is that of the sorted keys. What a
library adds to these times is what it costs. No benchmark by itself.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import chain
from typing import Any

from libraries import Library
from trees import Box, Chain, Moments, Point


class _Config:
    """The training configuration."""

    @staticmethod
    def flatten(t: Any) -> list[Any]:
        data, model, optim = t["data"], t["model"], t["optim"]
        augment, schedule = data["augment"], optim["schedule"]
        one, two, three = model["layers"]
        return [
            augment["flip"],
            *augment["scale"],
            data["batch"],
            *data["crop"],
            data["path"],
            data["shuffle"],
            model["dropout"],
            model["heads"],
            one["bias"],
            one["kind"],
            two["bias"],
            two["kind"],
            three["bias"],
            three["kind"],
            model["width"],
            *optim["betas"],
            optim["decay"],
            optim["lr"],
            optim["name"],
            schedule["kind"],
            *schedule["steps"],
            schedule["warmup"],
            t["seed"],
            *t["tags"],
        ]

    @staticmethod
    def unflatten(x: list[Any]) -> Any:
        (
            flip, low, high, batch, height, across, path, shuffle, dropout, heads,
            b1, k1, b2, k2, b3, k3, width, beta1, beta2, decay, lr, name,
            kind, s1, s2, warmup, seed, t1, t2,
        ) = x  # fmt: skip
        return {
            "seed": seed,
            "data": {
                "path": path,
                "batch": batch,
                "shuffle": shuffle,
                "crop": (height, across),
                "augment": {"flip": flip, "mix": None, "scale": [low, high]},
            },
            "model": {
                "width": width,
                "heads": heads,
                "dropout": dropout,
                "layers": [
                    {"kind": k1, "bias": b1},
                    {"kind": k2, "bias": b2},
                    {"kind": k3, "bias": b3},
                ],
            },
            "optim": {
                "name": name,
                "lr": lr,
                "betas": (beta1, beta2),
                "decay": decay,
                "schedule": {"kind": kind, "warmup": warmup, "steps": [s1, s2]},
            },
            "tags": [t1, t2],
        }


class _Mlp:
    """Four layers by name."""

    @staticmethod
    def flatten(t: Any) -> list[Any]:
        a, b, c, d = t["layer_0"], t["layer_1"], t["layer_2"], t["layer_3"]
        return [a["b"], a["w"], b["b"], b["w"], c["b"], c["w"], d["b"], d["w"]]

    @staticmethod
    def unflatten(x: list[Any]) -> Any:
        b0, w0, b1, w1, b2, w2, b3, w3 = x
        return {
            "layer_0": {"w": w0, "b": b0},
            "layer_1": {"w": w1, "b": b1},
            "layer_2": {"w": w2, "b": b2},
            "layer_3": {"w": w3, "b": b3},
        }


def _block_leaves(t: Any) -> tuple[Any, ...]:
    attention, mlp, norm1, norm2 = t["attention"], t["mlp"], t["norm_1"], t["norm_2"]
    k, o, q, v = (
        attention["key"],
        attention["out"],
        attention["query"],
        attention["value"],
    )
    down, up = mlp["down"], mlp["up"]
    return (
        k["bias"], k["kernel"], o["bias"], o["kernel"], q["bias"], q["kernel"],
        v["bias"], v["kernel"], down["bias"], down["kernel"], up["bias"],
        up["kernel"], norm1["bias"], norm1["scale"], norm2["bias"], norm2["scale"],
    )  # fmt: skip


def _blocks(x: list[Any]) -> list[Any]:
    return [
        {
            "attention": {
                "query": {"kernel": qk, "bias": qb},
                "key": {"kernel": kk, "bias": kb},
                "value": {"kernel": vk, "bias": vb},
                "out": {"kernel": ok, "bias": ob},
            },
            "mlp": {
                "up": {"kernel": uk, "bias": ub},
                "down": {"kernel": dk, "bias": db},
            },
            "norm_1": {"scale": s1, "bias": b1},
            "norm_2": {"scale": s2, "bias": b2},
        }
        for kb, kk, ob, ok, qb, qk, vb, vk, db, dk, ub, uk, b1, s1, b2, s2 in zip(
            *[iter(x)] * 16, strict=True
        )
    ]


class _Layers:
    """A list of identical blocks."""

    @staticmethod
    def flatten(t: Any) -> list[Any]:
        return [*chain.from_iterable(map(_block_leaves, t))]

    unflatten = staticmethod(_blocks)


class _Transformer:
    """Blocks between an embedding and a head."""

    @staticmethod
    def flatten(t: Any) -> list[Any]:
        embed, head, norm = t["embed"], t["head"], t["norm"]
        return [
            *chain.from_iterable(map(_block_leaves, t["blocks"])),
            embed["positions"],
            embed["tokens"],
            head["bias"],
            head["kernel"],
            norm["bias"],
            norm["scale"],
        ]

    @staticmethod
    def unflatten(x: list[Any]) -> Any:
        positions, tokens, bias, kernel, norm_bias, scale = x[-6:]
        return {
            "embed": {"tokens": tokens, "positions": positions},
            "blocks": _blocks(x[:-6]),
            "head": {"kernel": kernel, "bias": bias},
            "norm": {"scale": scale, "bias": norm_bias},
        }


class _Optimizer:
    """Two trees of parameters in named tuples."""

    @staticmethod
    def flatten(t: Any) -> list[Any]:
        count, mean, variance = t[1]
        return [count, *_Mlp.flatten(mean), *_Mlp.flatten(variance)]

    @staticmethod
    def unflatten(x: list[Any]) -> Any:
        moments = Moments(x[0], _Mlp.unflatten(x[1:9]), _Mlp.unflatten(x[9:]))
        return Chain((), moments)


class _Deep:
    """Dicts in dicts."""

    @staticmethod
    def flatten(t: Any) -> list[Any]:
        for _ in range(200):
            t = t["inner"]
        return [t]

    @staticmethod
    def unflatten(x: list[Any]) -> Any:
        (tree,) = x
        for _ in range(200):
            tree = {"inner": tree}
        return tree


class _Points:
    """A list of objects with two attributes."""

    @staticmethod
    def flatten(t: Any) -> list[Any]:
        leaves: list[Any] = []
        for point in t:
            leaves += (point.x, point.y)
        return leaves

    @staticmethod
    def unflatten(x: list[Any]) -> Any:
        pairs = iter(x)
        return [Point(a, b) for a, b in zip(pairs, pairs, strict=True)]


class _Boxes:
    """A list of objects with one attribute and a name."""

    @staticmethod
    def flatten(t: Any) -> list[Any]:
        return [box.value for box in t]

    @staticmethod
    def unflatten(x: list[Any]) -> Any:
        return [Box(value, "box") for value in x]


class _Ordered:
    """Ordered dicts in an ordered dict."""

    @staticmethod
    def flatten(t: Any) -> list[Any]:
        leaves: list[Any] = []
        for layer in t.values():
            leaves += (layer["weight"], layer["bias"])
        return leaves

    @staticmethod
    def unflatten(x: list[Any]) -> Any:
        pairs = iter(x)
        tree: Any = OrderedDict()
        for name, weight, bias in zip(_LAYERS, pairs, pairs, strict=True):
            tree[name] = layer = OrderedDict()
            layer["weight"], layer["bias"] = weight, bias
        return tree


_LAYERS = tuple(f"layer_{i}" for i in range(20))
_WIDE = tuple(f"key_{i}" for i in range(10_000))
_WIDE_SORTED = tuple(sorted(_WIDE))


class _Wide:
    """One dict."""

    @staticmethod
    def flatten(t: Any) -> list[Any]:
        return [t[key] for key in _WIDE_SORTED]

    @staticmethod
    def unflatten(x: list[Any]) -> Any:
        placed = dict(zip(_WIDE_SORTED, x, strict=True))
        return {key: placed[key] for key in _WIDE}


class _List:
    """One list."""

    flatten = list
    unflatten = list


class _Pair:
    """One pair."""

    flatten = list
    unflatten = tuple


class _Leaf:
    """No node at all."""

    @staticmethod
    def flatten(t: Any) -> list[Any]:
        return [t]

    @staticmethod
    def unflatten(x: list[Any]) -> Any:
        return x[0]


class _Rows:
    """Lists of sixteen in a list."""

    @staticmethod
    def flatten(t: Any) -> list[Any]:
        return [*chain.from_iterable(t)]

    @staticmethod
    def unflatten(x: list[Any]) -> Any:
        return [x[i : i + 16] for i in range(0, len(x), 16)]


LIMITS: dict[str, Any] = {
    "bare leaf": _Leaf,
    "pair": _Pair,
    "config, 29 leaves": _Config,
    "MLP dict, 8 leaves": _Mlp,
    "transformer dict, 198 leaves": _Transformer,
    "optimizer state, named tuples": _Optimizer,
    "list of 1000 floats": _List,
    "chain, 200 deep": _Deep,
    "500 dataclasses": _Points,
    "1000 registered objects": _Boxes,
    "ordered dicts": _Ordered,
    "100 layers, 1600 leaves": _Layers,
    "wide dict, 10000 keys": _Wide,
    "rows": _Rows,
    "layers, 100000 leaves": _Layers,
    "layers, 1000000 leaves": _Layers,
}


def limit(title: str) -> Library | None:
    """Return the functions for one tree, behind the face of a library."""
    if title not in LIMITS:
        return None
    flatten: Callable[[Any], list[Any]] = LIMITS[title].flatten
    unflatten: Callable[[list[Any]], Any] = LIMITS[title].unflatten

    def map_(f: Callable[..., Any], tree: Any, *rest: Any) -> Any:
        if rest:
            pairs = zip(flatten(tree), flatten(rest[0]), strict=True)
            return unflatten([f(a, b) for a, b in pairs])
        return unflatten([f(x) for x in flatten(tree)])

    return Library(
        "limit",
        flatten,
        lambda flat, _: lambda: unflatten(flat),
        map_,
        flatten_with_path=None,
        map_with_path=None,
        up_to=None,
    )

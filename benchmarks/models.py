"""Nine models of torchvision as trees of their parameters, without torch.

No benchmark by itself. They are the models that optree's README had its table of. Only
the names and the nesting of their parameters are here: what a library walks is the
same whatever an array holds.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np


@dataclasses.dataclass(frozen=True)
class Module:
    """A part of a model.

    Attributes:
        parameters: The names of its own parameters.
        buffers: The names of its other arrays, such as a running mean.
        children: Its modules by name.
        is_sequence: Whether it has its modules in a list.
    """

    parameters: tuple[str, ...] = ()
    buffers: tuple[str, ...] = ()
    children: dict[str, Module] = dataclasses.field(default_factory=dict)
    is_sequence: bool = False


AFFINE = Module(("weight", "bias"))
WITHOUT_BIAS = Module(("weight",))
BATCH_NORM = Module(
    ("weight", "bias"), ("running_mean", "running_var", "num_batches_tracked")
)
ACTIVATION = Module()
"""A module without parameters: an activation, a pooling, a dropout."""


# ------------------------------------------------------------------------- the models


def sequence(*modules: Module) -> Module:
    """Return a sequence of modules."""
    children = {str(number): module for number, module in enumerate(modules)}
    return Module(children=children, is_sequence=True)


def tiny_mlp() -> Module:
    """Two linear layers, a norm, and two activations."""
    return sequence(AFFINE, BATCH_NORM, ACTIVATION, WITHOUT_BIAS, ACTIVATION)


def alexnet() -> Module:
    """Five convolutions and three linear layers."""
    convolution = (AFFINE, ACTIVATION)
    pooled = (*convolution, ACTIVATION)
    features = sequence(*pooled, *pooled, *convolution, *convolution, *pooled)
    linear = (ACTIVATION, AFFINE, ACTIVATION)
    classifier = sequence(*linear, *linear, AFFINE)
    return Module(
        children={
            "features": features,
            "avgpool": ACTIVATION,
            "classifier": classifier,
        }
    )


def residual_block(convolutions: int, *, is_first: bool) -> Module:
    """Convolutions with norms; the first block of a stage also shortens its input."""
    children: dict[str, Module] = {}
    for number in range(1, convolutions + 1):
        children[f"conv{number}"] = WITHOUT_BIAS
        children[f"bn{number}"] = BATCH_NORM
    children["relu"] = ACTIVATION
    if is_first:
        children["downsample"] = sequence(WITHOUT_BIAS, BATCH_NORM)
    return Module(children=children)


def resnet(blocks: tuple[int, ...], convolutions: int) -> Module:
    """Four stages of residual blocks."""
    children = {
        "conv1": WITHOUT_BIAS,
        "bn1": BATCH_NORM,
        "relu": ACTIVATION,
        "maxpool": ACTIVATION,
    }
    for stage, count in enumerate(blocks):
        # the first stage of small blocks has as many channels as its input
        is_wider = stage > 0 or convolutions == 3
        children[f"layer{stage + 1}"] = sequence(
            *(
                residual_block(convolutions, is_first=is_wider and number == 0)
                for number in range(count)
            )
        )
    children["avgpool"] = ACTIVATION
    children["fc"] = AFFINE
    return Module(children=children)


def perceptron() -> Module:
    """The two linear layers that follow an attention."""
    return sequence(AFFINE, ACTIVATION, ACTIVATION, AFFINE, ACTIVATION)


def vision_transformer(layers: int) -> Module:
    """A vision transformer."""
    attention = Module(
        ("in_proj_weight", "in_proj_bias"), children={"out_proj": AFFINE}
    )
    layer = Module(
        children={
            "ln_1": AFFINE,
            "self_attention": attention,
            "dropout": ACTIVATION,
            "ln_2": AFFINE,
            "mlp": perceptron(),
        }
    )
    named_layers = {f"encoder_layer_{number}": layer for number in range(layers)}
    encoder = Module(
        ("pos_embedding",),
        children={
            "dropout": ACTIVATION,
            "layers": Module(children=named_layers),
            "ln": AFFINE,
        },
    )
    heads = Module(children={"head": AFFINE})
    return Module(
        ("class_token",),
        children={"conv_proj": AFFINE, "encoder": encoder, "heads": heads},
    )


def swin_transformer(depths: tuple[int, ...]) -> Module:
    """A transformer with shifted windows."""
    attention = Module(
        ("relative_position_bias_table",),
        ("relative_position_index",),
        children={"qkv": AFFINE, "proj": AFFINE},
    )
    block = Module(
        children={
            "norm1": AFFINE,
            "attn": attention,
            "stochastic_depth": ACTIVATION,
            "norm2": AFFINE,
            "mlp": perceptron(),
        }
    )
    merging = Module(children={"reduction": WITHOUT_BIAS, "norm": AFFINE})
    features = [sequence(AFFINE, ACTIVATION, AFFINE)]
    for stage, depth in enumerate(depths):
        if stage > 0:
            features.append(merging)
        features.append(sequence(*[block] * depth))
    return Module(
        children={
            "features": sequence(*features),
            "norm": AFFINE,
            "permute": ACTIVATION,
            "avgpool": ACTIVATION,
            "flatten": ACTIVATION,
            "head": AFFINE,
        }
    )


MODELS: dict[str, Module] = {
    "TinyMLP": tiny_mlp(),
    "AlexNet": alexnet(),
    "ResNet18": resnet((2, 2, 2, 2), 2),
    "ResNet34": resnet((3, 4, 6, 3), 2),
    "ResNet50": resnet((3, 4, 6, 3), 3),
    "ResNet101": resnet((3, 4, 23, 3), 3),
    "ResNet152": resnet((3, 8, 36, 3), 3),
    "ViT-H/14": vision_transformer(32),
    "Swin-B": swin_transformer((2, 2, 18, 2)),
}


# -------------------------------------------------------------------------- the trees


class Arrays(NamedTuple):
    """The arrays of a module: parameters in a tuple, and buffers in a list."""

    parameters: tuple[Any, ...]
    buffers: list[Any]


def new_array(name: str) -> Any:
    """Return an array, another one for each name."""
    return np.zeros(1, np.float32)


def as_dicts(module: Module) -> dict[str, Any]:
    """Return the arrays of a module in nested dicts, without what has none."""
    tree: dict[str, Any] = {}
    for name in (*module.parameters, *module.buffers):
        tree[name] = new_array(name)
    for name, child in module.children.items():
        subtree = as_dicts(child)
        if subtree:
            tree[name] = subtree
    return tree


def as_containers(module: Module) -> Any:
    """Return the arrays in lists, ordered dicts and named tuples, and empty ones."""
    if module.is_sequence:
        return [as_containers(child) for child in module.children.values()]
    tree: OrderedDict[str, Any] = OrderedDict()
    for name, child in module.children.items():
        tree[name] = as_containers(child)
    parameters = tuple(new_array(name) for name in module.parameters)
    buffers = [new_array(name) for name in module.buffers]
    tree["arrays"] = Arrays(parameters, buffers)
    return tree

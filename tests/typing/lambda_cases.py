"""What pyright, pyrefly and ty infer where a lambda is mapped; mypy infers `Any`.

Without an annotation, mypy gives a lambda's argument the type `Any`, and a call with
`Any` fits several overloads.
"""

from typing import NamedTuple, assert_type

import leafwise as lw


class Point(NamedTuple):
    x: float
    y: float


rates: dict[str, float] = {"first": 0.1, "second": 0.01}
layers: dict[str, list[float]] = {"first": [1.0, 2.0], "second": [3.0]}
pair: tuple[int, ...] = (1, 2)

assert_type(lw.tree_map(lambda v: str(v), {"a": 1}), dict[str, str])
assert_type(lw.tree_map(lambda v: str(v), rates), dict[str, str])
assert_type(lw.tree_map(lambda v: str(v), [1, 2]), list[str])
assert_type(lw.tree_map(lambda v: str(v), pair), tuple[str, ...])
assert_type(lw.tree_map(lambda v, w: f"{v} {w}", rates, rates), dict[str, str])
assert_type(lw.tree_map(lambda v: str(v), rates, is_leaf=list), dict[str, str])
assert_type(lw.tree_map_with_path(lambda path, v: f"{path} {v}", [1, 2]), list[str])
doubled: dict[str, list[float]] = lw.tree_map(lambda v: v * 2, layers)
assert_type(lw.tree_map(lambda v: v, Point(1.0, 2.0)), Point)  # not pyrefly

"""Trees turned inside out, against plain recursion."""

from typing import Any

import leafwise as lw

from . import model
from .edits import TABLE
from .runner import Round
from .tell import told
from .trees import WORDS, Trees


def play(one: Round) -> None:
    """Turn a tree of trees inside out, and back; refuse what is none."""
    trees = Trees(one.random, TABLE, keys=WORDS)
    outer, inner = trees.node(2), trees.node(2)
    content = one.random.choice((False, True))
    one.step(f"outer {told(outer)}, inner {told(inner)}, containers {content}")

    def value(a: Any, b: Any) -> Any:
        return (a, [b]) if content else f"{a} {b}"

    def of_both(first: Any, second: Any, *, swap: bool) -> Any:
        return model.map_leaves(
            lambda a, _: model.map_leaves(
                lambda b, _: value(b, a) if swap else value(a, b), second
            ),
            first,
        )

    nested = of_both(outer, inner, swap=False)
    turned = of_both(inner, outer, swap=True)
    first, second = map(lw.tree_structure, (outer, inner))
    if not (model.leaves(outer) and model.leaves(inner)):
        return
    found = lw.tree_transpose(first, second, nested)
    one.same("transpose", told(turned), told(found))
    back = lw.tree_transpose(second, first, found)
    one.same("and back", told(nested), told(back))
    wrong(one, first, second, nested)
    paths = [path for path, _ in model.leaves(outer)]
    numbered = model.map_leaves(lambda path, _: paths.index(path), outer)
    made = lw.tree.transpose_map(
        lambda n: model.map_leaves(lambda b, _: value(paths[n], b), inner),
        numbered,
        inner_treedef=second,
    )
    one.same("transpose_map", told(turned), told(made))


def wrong(one: Round, first: Any, second: Any, nested: Any) -> None:
    """A tree with a leaf in the place of an inner tree is refused, with the place."""
    subtrees = first.flatten_up_to(nested)
    place = one.random.randrange(len(subtrees))
    subtrees[place] = 0
    broken = first.unflatten(subtrees)
    try:
        lw.tree_transpose(first, second, broken)
    except lw.StructureError as error:
        path = first.paths()[place]
        one.holds("the place of the error", error.path[: len(path)] == path)
        return
    one.holds("a wrong inner structure is refused", condition=False)

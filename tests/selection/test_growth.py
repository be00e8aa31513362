"""Work grows as the input does: in width, in depth, with the number of edits.

It is measured in steps of the interpreter, which are the same on a busy machine.
"""

import pytest

import leafwise as lw
from helpers.steps import count_steps
from leafwise.selection import TreeDiff, tree_rename


def wide(size, start=0):
    return {f"k{n}": n + start for n in range(size)}


def deep(size, value=0):
    tree = {"x": value}
    for n in range(size):
        tree = {"a": tree, "b": n}
    return tree


def nested_lists(size, value):
    tree = [value, 1, 2]
    for n in range(size):
        tree = [tree, n, value]
    return tree


def diff_of_nested_lists(size):
    a = nested_lists(size, 0)
    b = nested_lists(size, 1)
    return lambda: lw.tree_diff(a, b)


def diff_with_ignored_places(size):
    a = deep(size)
    b = deep(size, 1)
    return lambda: lw.tree_diff(a, b, ignore="b")


def text_of_renamed_keys(size):
    diff = lw.tree_diff(wide(size), {f"new{n}": n for n in range(size)})
    return lambda: str(diff)


def patch_of_a_wide_dict(size):
    a = wide(size)
    patch = lw.tree_diff(a, wide(size, 1)).to_json_patch()
    return lambda: TreeDiff.from_json_patch(patch, a)


def patch_of_a_long_list(size):
    a = list(range(size))
    patch = lw.tree_diff(a, a[::-1]).to_json_patch()
    return lambda: TreeDiff.from_json_patch(patch, a)


def merge_with_rules(size):
    a = deep(size)
    b = deep(size, 1)
    return lambda: lw.tree_merge(a, b, rules={"**.b": "base"})


def update_of_many_paths(size):
    a = wide(size)
    edits = {f"k{n}": 0 for n in range(size)}
    return lambda: lw.tree_update(a, edits)


def deletions_at_any_depth(size):
    a = deep(size)
    return lambda: lw.at(a)["**.b"].delete()


def names_at_any_depth(size):
    a = deep(size)
    return lambda: tree_rename(a, "**.b", "c")


CASES = [
    (diff_of_nested_lists, 30),
    (diff_with_ignored_places, 300),
    (text_of_renamed_keys, 500),
    (patch_of_a_wide_dict, 100),
    (patch_of_a_long_list, 100),
    (merge_with_rules, 200),
    (update_of_many_paths, 100),
    (deletions_at_any_depth, 200),
    (names_at_any_depth, 200),
]


@pytest.mark.parametrize(("case", "size"), CASES)
def test_eight_times_the_input_takes_about_eight_times_the_steps(case, size):
    """What is quadratic takes 64 times as many."""
    steps = []
    for factor in (1, 8):
        operation = case(size * factor)
        operation()
        steps.append(count_steps(operation))
    assert steps[1] < 20 * steps[0]

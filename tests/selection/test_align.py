"""Lists in differences: equal items are found, what moved, and what replaces what."""

import copy
import json
from collections import OrderedDict, deque

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import leafwise as lw
from helpers.random_trees import every_tree
from leafwise.errors import EditError
from leafwise.selection import align
from leafwise.selection.align import aligned
from leafwise.show import draw, to_html


NAN = float("nan")
NUMBERS = st.lists(st.integers(0, 3), max_size=12)


def longest(a, b):
    """Return the length of a longest common subsequence, by the textbook."""
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            above = max(table[i][j + 1], table[i + 1][j])
            table[i + 1][j + 1] = table[i][j] + 1 if x == y else above
    return table[-1][-1]


@given(a=NUMBERS, b=NUMBERS)
def test_as_many_items_as_can_be_stay(a, b):
    """What is in both besides has moved."""
    pairs, moved = aligned(a, b)
    assert len(pairs) == longest(a, b)
    assert all(a[i] == b[j] for i, j in pairs + moved)
    assert pairs == sorted(pairs)
    assert sorted({j for _, j in pairs}) == [j for _, j in pairs]
    left = []
    for side, items in enumerate((a, b)):
        places = [pair[side] for pair in pairs + moved]
        assert len(set(places)) == len(places)
        left.append({x for n, x in enumerate(items) if n not in places})
    assert not left[0] & left[1]


@given(NUMBERS, NUMBERS)
def test_items_with_too_many_equals_are_paired_by_position(a, b):
    """What is found is in order, though there may be more."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(align, "_MOST_PAIRS", 4)
        pairs, _ = aligned(a, b)
    assert all(a[i] == b[j] for i, j in pairs)
    assert pairs == sorted(pairs)
    assert sorted({j for _, j in pairs}) == [j for _, j in pairs]


# ------------------------------------------------------------------------ properties


def edited(tree, random):
    """Return a tree with other items in some of its lists, and other leaves."""
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return tree
    if type(tree) in (list, tuple, deque):
        items = [edited(x, random) if random.random() < 0.4 else x for x in tree]
        for _ in range(random.choice((0, 1, 2))):
            if items and random.random() < 0.6:
                item = items.pop(random.randrange(len(items)))
                if random.random() < 0.5:
                    items.append(item)
            else:
                items.insert(random.randrange(len(items) + 1), random.choice("xyz"))
        return type(tree)(items)
    if type(tree) is dict:
        return {key: edited(value, random) for key, value in tree.items()}
    return tree if random.random() < 0.8 else random.choice((0, 1, NAN, "x"))


lw.namespace("nones", none_is_leaf=True)
OPTIONS = [
    {},
    {"typematch": True},
    {"rtol": 0.3, "atol": 0.1},
    {"is_leaf": type(None)},
    {"namespace": "nones"},
    {"is_leaf": tuple},
]


def check(a, b, **options):
    """Check that differences lead from one tree to the other, and back."""
    diff = lw.tree_diff(a, b, **options)
    options.pop("lists")
    assert bool(diff) is not lw.tree_equal(a, b, **options)
    assert lw.tree_equal(diff.apply(a), b, **options)
    back = diff.invert()
    assert lw.tree_equal(back.apply(b), a, **options)
    assert back.invert() == diff
    for changes, tree in ((diff, a), (back, b)):
        for change in changes:
            if change.before is not lw.MISSING:
                assert change.path(tree) is change.before
    assert len(str(diff).splitlines()) >= max(len(diff), 1)


@given(every_tree(), st.randoms(), st.sampled_from(OPTIONS))
def test_a_tree_and_its_edited_copy(tree, random, options):
    """Empty exactly when they are equal; applied and inverted, whatever the options."""
    for lists in ("align", "position"):
        check(tree, edited(tree, random), lists=lists, **options)


@given(every_tree(), every_tree(), st.sampled_from(OPTIONS))
def test_any_two_trees(a, b, options):
    """In lists of each other as well."""
    check([a, b, 1], [b, 2, a, 1], lists="align", **options)


@given(st.permutations(range(6)), st.permutations(range(6)), st.integers(0, 5))
def test_lists_paired_by_a_key(one, two, least):
    """Whichever items there are, in whatever order, and changed or not."""
    a = {"x": [{"name": n, "v": [n]} for n in one]}
    b = {"x": [{"name": n, "v": [n, n % 2]} for n in two if n >= least]}
    check(a, b, lists={"x": "name"})
    kinds = [c.kind for c in lw.tree_diff(a, b, lists={"x": "name"})]
    assert kinds.count("removed") == least
    assert kinds.count("added") == 6 - least  # of what is inside


@given(st.permutations(range(7)), st.permutations(range(7)))
def test_a_permutation_is_moves_alone(a, b):
    diff = lw.tree_diff(list(a), list(b))
    assert {change.kind for change in diff} <= {"moved"}
    assert len(diff) == 7 - longest(a, b)


# ---------------------------------------------------------------------- what is told

TEXTS = {
    "inside of an item that is elsewhere": (
        [{"n": 1}, {"n": 2, "x": 1, "y": 2}, {"n": 3}],
        [{"n": 0}, {"n": 1}, {"n": 2, "x": 1, "y": 3}, {"n": 3}],
        "+ [0]: {'n': 0}\n~ [1].y: 2 -> 3",
    ),
    "beside an insertion, by what they share": (
        [{"n": 1, "x": 1, "y": 2}],
        [{"q": 1}, {"n": 1, "x": 1, "y": 3}],
        "+ [0]: {'q': 1}\n~ [0].y: 2 -> 3",
    ),
    "nothing in common": ([1, 2, 3], [4, 5], "~ [0]: 1 -> 4\n~ [1]: 2 -> 5\n- [2]: 3"),
    "one of equal items": ([1, 1, 1], [1, 1], "- [2]: 1"),
    "a tuple": ((1, 2, 3), (2, 3), "- [0]: 1"),
    "a deque": (deque([1, 2, 3]), deque([3, 1, 2]), "> [2] -> [0]: 3"),
    "true is not one": ([1, 2], [True, 1, 2], "+ [0]: True"),
    "one is one": ([1, 2.0, 3], [0, 1.0, 2, 3], "+ [0]: 0"),
    "NaN": ([NAN, 1, NAN], [2, float("nan"), 1, NAN], "+ [0]: 2"),
    "arrays": (
        [np.zeros(2), np.array([NAN, -0.0])],
        [np.ones(2), np.zeros(2), np.array([NAN, 0.0])],
        "+ [0]: f64[2]([1, 1])",
    ),
    "arrays of two dtypes": (
        [np.zeros(1), np.ones(1)],
        [np.zeros(1, "f4"), np.ones(1)],
        "~ [0]: array([0.]) -> array([0.], dtype=float32) (float64 -> float32)",
    ),
    "sets": ([{1}, {2}, {3}], [{0}, {1}, {2}, {3}], "+ [0]: {0}"),
    "bytes and texts": ([b"a", "a"], ["a", b"a"], "> [0] -> [1]: b'a'"),
    "a node that moved": ([{"a": [1]}, 2, 3], [2, 3, {"a": [1]}],
                          "> [0] -> [2]: {'a': [1]}"),
    "orders that count": (
        [0, OrderedDict(a=1, b=2)],
        [OrderedDict(b=2, a=1)],
        "- [0]: 0\n~ [1]: OrderedDict({'a': 1, 'b': 2}) -> "
        "OrderedDict({'b': 2, 'a': 1})",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TEXTS)
def test_what_a_change_of_a_list_looks_like(case):
    """What was there has its old position, what is added its new one."""
    a, b, text = TEXTS[case]
    diff = lw.tree_diff(a, b)
    if case not in ("arrays of two dtypes", "orders that count"):
        assert str(diff) == text
    assert str(diff).splitlines()[0].split(":")[0] == text.splitlines()[0].split(":")[0]
    assert len(diff) == len(text.splitlines())
    assert lw.tree_equal(diff.apply(a), b)
    assert lw.tree_equal(diff.invert().apply(b), a)


def test_position_by_position():
    """The other way to compare lists, under which tuples have a fixed size."""
    a = [1, 2, 3]
    b = [0, 1, 2, 3]
    assert str(lw.tree_diff(a, b, lists="position")) == (
        "~ [0]: 1 -> 0\n~ [1]: 2 -> 1\n~ [2]: 3 -> 2\n+ [3]: 3"
    )
    (change,) = lw.tree_diff((1, 2), (2,), lists="position")
    assert change.kind == "type"
    with pytest.raises(ValueError, match=r"lists must be one of 'align', 'position'"):
        lw.tree_diff(a, b, lists="index")
    with pytest.raises(AssertionError, match="in 2 places: 1 added, 1 moved"):
        lw.testing.assert_trees_equal([1, 2, 3], [3, 0, 1, 2])
    lw.testing.assert_trees_equal(a, a, lists="position")


def test_a_moved_item_in_all_forms():
    """As a record, as JSON, drawn and side by side."""
    diff = lw.tree_diff({"a": [1, 2, 3]}, {"a": [3, 1, 2]})
    (change,) = diff
    assert (change.kind, change.index) == ("moved", 0)
    assert json.loads(diff.to_json()) == [
        {"kind": "moved", "path": "['a'][2]", "index": 0, "before": 3, "after": 3}
    ]
    other = lw.tree_diff({"a": [1, 2, 3]}, {"a": [1, 3, 2]})
    assert change != other[0]
    assert "> [2]: -> [0]: 3" in draw(diff)
    html = to_html(diff)
    assert "to [0]" in html
    assert "lw-moved" in html
    assert "\033[34m" in "".join(diff.lines(color="always"))


def test_what_is_ignored_in_items():
    """Items are the same without it; where whole items are, positions count."""
    a = [{"id": n, "time": n} for n in range(4)]
    b = [{"id": n, "time": -n} for n in (9, 0, 1, 2, 3)]
    assert str(lw.tree_diff(a, b, ignore="*.time")) == "+ [0]: {'id': 9, 'time': -9}"
    assert str(lw.tree_diff([1, 2, 3], [0, 1, 3, 4], ignore="[1]")) == (
        "~ [0]: 1 -> 0\n+ [3]: 4"
    )


def test_numbers_within_a_tolerance():
    a = [1.0, 2, {"x": 3.0}, 1e9]
    b = [0.5, 1.0 + 1e-9, 2.0, {"x": 3.0 + 1e-9}, 1e9 + 1]
    assert not lw.tree_diff(a, b[1:], rtol=1e-6)
    assert not lw.tree_diff([1.0, 1.0 + 1e-9], [1.0 + 1e-9, 1.0], rtol=1e-6)
    assert str(lw.tree_diff([0.5, *a], [0.5, 2, *b[1:]], rtol=1e-6)) == "+ [1]: 2"
    assert len(lw.tree_diff(a, b)) == 4
    assert str(lw.tree_diff([NAN, 1], [0, 1, NAN], equal_nan=False)) == (
        "~ [0]: nan (float) -> 0 (int)\n+ [2]: nan"
    )


def test_deep_lists_within_a_tolerance():
    """At each level two items differ at sight; neither time nor the stack run out."""
    a = [1.0]
    b = [1.0 + 1e-9]
    for _ in range(300):
        a = [1.0, a, 2.0]
        b = [1.0 + 1e-9, b, 2.0 - 1e-9]
    assert not lw.tree_diff(a, b, rtol=1e-6)
    assert len(lw.tree_diff(a, [0.0, *b], rtol=1e-6)) == 1


class Equal:
    """Says nothing of what it equals but by `==`."""

    __hash__ = None

    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return type(other) is Equal and self.x == other.x


def test_items_that_only_their_class_can_compare():
    """Position by position; what equals all that is, and what cannot be compared."""
    a = [Equal(1), Equal(2)]
    b = [Equal(1), Equal(3), Equal(4)]
    kinds = [c.kind for c in lw.tree_diff(a, b)]
    assert kinds == ["value", "added"]
    assert not lw.tree_diff(a, copy.deepcopy(a))
    from unittest.mock import ANY

    assert not lw.tree_diff([1, 2, [3, 4]], [ANY, 2, [ANY, ANY]])
    assert not lw.tree_diff([np.float32(1), 2], [1.0, np.int8(2)])
    diff = lw.tree_diff([np.float32(1), 2], [7, 8, 1.0, np.int8(2)])
    assert [c.kind for c in diff] == ["added", "added"]


def test_a_list_in_itself():
    knots = [[1, [2]], [3, 1, [2]]]
    for knot in knots:
        knot.append(knot)
    with pytest.raises(lw.errors.CycleError):
        lw.tree_diff(*knots)


# --------------------------------------------------------------------------- by a key


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ([{"name": 1}, {}], r"item at x\[1\] has no 'name', the key that pairs"),
        ([{"name": 1}, 2], r"item at x\[1\] has no 'name'"),
        (
            [{"name": 1}, {"name": 2}, {"name": 1.0}],
            r"items at x\[0\] and x\[2\] have the same 'name', 1.0",
        ),
    ],
)
def test_a_key_that_pairs_nothing_is_an_error(items, text):
    """With the path, from diffs and merges."""
    good = {"x": [{"name": 1}]}
    for function in (lw.tree_diff, lw.tree_merge):
        for pair in ((good, {"x": items}), ({"x": items}, good)):
            with pytest.raises(EditError, match=text) as caught:
                function(*pair, lists={"x": "name"})
            assert caught.value.path[:1] == (lw.DictKey("x"),)


# --------------------------------------------------------------------------- in merges


BASE = {
    "c": [
        {"name": "app", "image": "a:1", "env": [{"name": "A", "value": 1}]},
        {"name": "proxy", "image": "p:1", "env": []},
    ],
    "tags": ["x"],
}


def test_a_merge_pairs_items_by_a_key():
    """Items of the base stay where they are, new ones come after them."""
    over = {
        "c": [
            {"name": "new", "image": "n:1"},
            {"name": "proxy", "image": "p:2", "env": [{"name": "B", "value": 2}]},
            {"name": "app", "env": [{"name": "A", "value": 3}, {"name": "C"}]},
        ],
        "tags": ["y"],
    }
    before = copy.deepcopy((BASE, over))
    merged = lw.tree_merge(BASE, over, lists={"**.c": "name", "**.env": "name"})
    assert merged == {
        "c": [
            {
                "name": "app",
                "image": "a:1",
                "env": [{"name": "A", "value": 3}, {"name": "C"}],
            },
            {"name": "proxy", "image": "p:2", "env": [{"name": "B", "value": 2}]},
            {"name": "new", "image": "n:1"},
        ],
        "tags": ["y"],
    }
    assert (BASE, over) == before
    only = lw.tree_merge(BASE, over, lists={"c": "name"}, join="inner")
    assert [x["name"] for x in only["c"]] == ["app", "proxy"]
    assert only["c"][0]["env"] == over["c"][2]["env"]  # replaced: no key is for it
    same = lw.tree_merge(BASE, {"c": [{"name": "app"}]}, lists={"c": "name"})
    assert same["c"] is BASE["c"]


# ------------------------------------------------------------------------- how long


@example([], [])
@given(NUMBERS, NUMBERS)
def test_the_fewest_items_are_added_and_removed(a, b):
    """Moves count as one, and what stands in place of something as a change."""
    kinds = [c.kind for c in lw.tree_diff(a, b)]
    removed, new = (len(x) - longest(a, b) for x in (a, b))
    counts = {kind: kinds.count(kind) for kind in ("moved", "value")}
    pairs = sum(counts.values())
    assert kinds.count("removed") + pairs == removed
    assert kinds.count("added") + pairs == new


class Mute:
    """Cannot be compared."""

    __hash__ = None

    def __eq__(self, other):
        raise RuntimeError("no")


def test_items_that_cannot_be_compared_are_an_error():
    """Also where items are only compared to find those that are the same."""
    with pytest.raises(lw.errors.CompareError, match=r"at \[0\] cannot tell"):
        lw.tree_diff([Mute(), 1], [Mute(), 2])


def document():
    """Return a configuration as Helm would render one."""

    def container(service, number):
        return {
            "name": f"{service}-{number}",
            "image": f"registry.example/{service}:{number}.4",
            "env": [
                {"name": f"{service.upper()}_{key}", "value": f"{service}/{key}"}
                for key in ("HOST", "PORT", "LEVEL", "REGION")
            ],
            "ports": [{"containerPort": 8000 + number, "protocol": "TCP"}],
            "resources": {"limits": {"cpu": "500m", "memory": f"{number}Gi"}},
        }

    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": service, "labels": {"app": service, "tier": "web"}},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": {"app": service}},
                "template": {"spec": {"containers": list(map(
                    lambda n, service=service: container(service, n), range(1, 7)))}},
            },
        }
        for service in (f"service{n}" for n in range(23))
    ]  # fmt: skip


def lines_of(tree):
    """Return how many lines a tree has in YAML."""
    if isinstance(tree, dict):
        nodes = [x for x in tree.values() if isinstance(x, dict | list)]
        return len(tree) + sum(map(lines_of, nodes))
    return sum(lines_of(x) if isinstance(x, dict | list) else 1 for x in tree)


def test_four_edits_of_a_document_are_four_changes():
    """One of them is an insertion into a list, near the beginning."""
    a = document()
    b = document()
    assert 2_800 < lines_of(a) < 2_900
    containers = [x["spec"]["template"]["spec"]["containers"] for x in b]
    containers[0].insert(1, {"name": "proxy", "image": "proxy:1"})
    b[7]["spec"]["replicas"] = 3
    containers[11][2]["env"][0]["value"] = "elsewhere"
    del b[20]["metadata"]["labels"]["tier"]
    diff = lw.tree_diff(a, b)
    inside = "['spec']['template']['spec']['containers']"
    assert [(c.kind, str(c.path)) for c in diff] == [
        ("added", f"[0]{inside}[1]"),
        ("value", "[7]['spec']['replicas']"),
        ("value", f"[11]{inside}[2]['env'][0]['value']"),
        ("removed", "[20]['metadata']['labels']['tier']"),
    ]
    assert diff.apply(a) == b
    assert diff.invert().apply(b) == a
    b.insert(0, {"kind": "Namespace"})
    b.append(b.pop(3))
    assert sorted(c.kind for c in lw.tree_diff(a, b)) == sorted(
        ["added", "value", "value", "removed", "added", "moved"]
    )


def test_a_changed_item_that_moved_is_removed_and_added():
    a = [{"n": 1, "x": 1}, {"n": 2, "x": 2}, {"n": 3, "x": 3}]
    b = [a[1], a[2], {"n": 1, "x": 9}]
    diff = lw.tree_diff(a, b)
    assert str(diff) == "- [0]: {'n': 1, 'x': 1}\n+ [2]: {'n': 1, 'x': 9}"
    assert diff.apply(a) == b
    assert diff.invert().apply(b) == a

"""Selectors: the grammar of patterns, and everything else that may be one."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import leafwise as lw
from helpers.random_trees import Linear, Point, trees
from leafwise.errors import PathError
from leafwise.selection.patterns import DEEP, key_kind, parse


CONFIG = {
    "optim": {"lr": 0.1, "wd": 0, "betas": (0.9, 0.99)},
    "layers": [{"w": 1, "bias": 2}, {"w": 3, "bias": 4}, {"w": 5, "bias": 6}],
    "a.b": {"w*": 7},
    "point": Point(8, 9),
    "model": Linear(10, 11),
    0: {"0": 12, 1: 13},
}
TABLE = {
    "": [""],
    "optim.lr": ["['optim']['lr']"],
    ".optim.lr": ["['optim']['lr']"],
    "['optim']['lr']": ["['optim']['lr']"],
    "optim['lr']": ["['optim']['lr']"],
    "optim.{lr,wd}": ["['optim']['lr']", "['optim']['wd']"],
    "optim.{w*, lr}": ["['optim']['lr']", "['optim']['wd']"],
    "optim.?d": ["['optim']['wd']"],
    "optim.b*[1]": ["['optim']['betas'][1]"],
    "layers[0].w": ["['layers'][0]['w']"],
    "layers.0.w": ["['layers'][0]['w']"],
    "layers[-1].w": ["['layers'][2]['w']"],
    "layers[0,-1].w": ["['layers'][0]['w']", "['layers'][2]['w']"],
    "layers[1:].w": ["['layers'][1]['w']", "['layers'][2]['w']"],
    "layers[::-2].w": ["['layers'][0]['w']", "['layers'][2]['w']"],
    "layers[:-1]": ["['layers'][0]", "['layers'][1]"],
    "layers[bias=4].w": ["['layers'][1]['w']"],
    "layers[ bias = '4' ]": ["['layers'][1]"],
    "**[w=5].bias": ["['layers'][2]['bias']"],
    "[x=8].y": ["['point'].y"],
    "layers[*].w": [f"['layers'][{i}]['w']" for i in range(3)],
    "layers.*.w": [f"['layers'][{i}]['w']" for i in range(3)],
    "**.bias": [f"['layers'][{i}]['bias']" for i in range(3)],
    "layers.**.bias": [f"['layers'][{i}]['bias']" for i in range(3)],
    "layers.**[2].**": ["['layers'][2]['bias']", "['layers'][2]['w']"],
    "point.x": ["['point'].x"],
    "point.@x": ["['point'].x"],
    "point.*": ["['point'].x", "['point'].y"],
    "point[*]": [],
    "optim.@lr": [],
    "['a.b']['w*']": ["['a.b']['w*']"],
    "*.w*": ["['a.b']['w*']", "['model'].w", "['optim']['wd']"],
    "model.w": ["['model'].w"],
    "model.size": ["['model'].size"],
    "model.*": ["['model'].w"],
    "0.0": ["[0]['0']"],
    "[0].1": ["[0][1]"],
    "[0]['0']": ["[0]['0']"],
    "[0][0]": [],
    "['0']": [],
    "optim.lr.x": [],
    "**.nothing": [],
}


@pytest.mark.parametrize("pattern", TABLE)
def test_what_a_pattern_means(pattern):
    """The paths of the places, in leaf order."""
    paths = lw.at(CONFIG, missing_ok=True)[pattern].paths()
    assert sorted(map(str, paths)) == sorted(TABLE[pattern])
    for path in paths:
        assert lw.at(CONFIG)[path].paths() == [path]
        assert lw.at(CONFIG)[str(path)].paths() == [path]


STEP = "a step begins with . or [; other keys need quotes: ['a@b']"
ERRORS = {
    "a[": ("this [ is not closed", 1),
    "a['b": ("this quote is not closed", 2),
    "a[b]": ("this is not a literal; a string key needs quotes", 1 + 1),
    "a[1+]": ("this is not a literal", 2),
    "a[]": ("this is not a literal", 2),
    "a[1:2:0]": ("this is not a literal", 2),
    "a..b": ("a name is missing here", 2),
    "a.": ("a name is missing here", 2),
    "a{b}": (STEP, 1),
    "a]": (STEP, 1),
    "a.{b": ("braces hold names, separated by commas", 2),
    "a.{b,}": ("braces hold names, separated by commas", 2),
    "a.{b.c}": ("braces hold names, separated by commas", 2),
    "a.b**": ("** must be a step of its own, between dots", 3),
    "a.{b**}": ("** must be a step of its own, between dots", 4),
    "[:-]": ("this is not a literal", 1),
    "[-:]": ("this is not a literal", 1),
    "[::-]": ("this is not a literal", 1),
    "[1:2:3:4]": ("this is not a literal", 1),
    "[<flat index x>]": ("this is not a literal", 1),
    "[<flat index -1>]": ("this is not a literal", 1),
    "[<flat index >]": ("this is not a literal", 1),
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors_point_to_the_place(text):
    """The message ends with the text and a caret."""
    why, place = ERRORS[text]
    with pytest.raises(PathError) as caught:
        lw.selection.selector(text)
    assert str(caught.value) == f"not a pattern: {why}\n  {text}\n  {' ' * place}^"


PIECES = ["[", "]", ":", "-", "1", "<flat index ", ">", "\N{ARABIC-INDIC DIGIT ONE}"]


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_any_brackets_are_a_pattern_or_an_error(text):
    """A range is not read from what only looks like one."""
    test_any_text_is_a_pattern_or_an_error.hypothesis.inner_test(text)


@given(st.text(alphabet="ab.*[]{}'\",:-01@?\\ \n", max_size=12))
def test_any_text_is_a_pattern_or_an_error(text):
    """Nothing but `PathError` is raised, whatever stands in the text."""
    try:
        selector = lw.selection.selector(text)
    except PathError as error:
        assert str(error).startswith("not a pattern: ")  # noqa: PT017  # one of two
    else:
        paths = lw.at(CONFIG, missing_ok=True)[selector].paths()
        assert len(paths) == len(set(paths))


@given(trees())
def test_each_path_means_its_place(tree):
    """A path, as an object or as text, means what it leads to."""
    for path, leaf in lw.tree_leaves_with_path(tree):
        assert [place.value for place in lw.at(tree)[path].places()] == [leaf]
    everything = lw.at(tree, missing_ok=True)["**"]
    assert everything.paths() == lw.tree_paths(tree)
    assert all(map(lambda a, b: a is b, everything.get(), lw.tree_leaves(tree)))


def test_what_else_may_be_a_selector():
    """Regular expressions, types, predicates, trees of bools, several, positions."""

    def paths(what):
        return [str(path) for path in lw.at(CONFIG["layers"])[what].paths()]

    assert paths(re.compile(r"0\].*b")) == ["[0]['bias']"]
    assert paths(dict) == ["[0]", "[1]", "[2]"]
    assert paths((int, str))[:2] == ["[0]['bias']", "[0]['w']"]
    assert paths(lambda x: x > 4) == ["[2]['bias']", "[2]['w']"]
    assert paths(lambda path, x: path[0].idx == x) == [] if False else True
    assert paths([True, False, {"w": True, "bias": False}]) == ["[0]", "[2]['w']"]
    assert paths(["[1]", "[0].w"]) == ["[1]", "[0]['w']"]
    assert paths(2) == ["[2]"]
    assert paths(lw.KeyPath.parse("[2]['w']")) == ["[2]['w']"]
    assert lw.at(CONFIG)[Linear].get() == [CONFIG["model"]]
    with pytest.raises(TypeError, match=r"a selector is a pattern, .* got 1\.5"):
        lw.selection.selector(1.5)


def test_predicates_by_their_arguments():
    """Two arguments without defaults are path and leaf."""
    tree = {"a": 1, "b": 2}
    assert lw.at(tree)[lambda path, leaf: str(path) == "['b']"].get() == [2]
    assert lw.at(tree)[lambda leaf, least=2: leaf >= least].get() == [2]


def region(tree, selector):
    """Return the leaves below the targets, by brute force."""
    tops = lw.at(tree, missing_ok=True)[selector].paths()
    paths = lw.tree_paths(tree)
    return [any(path[: len(top)] == top for top in tops) for path in paths]


SELECTORS = st.sampled_from(
    [
        "**",
        "*",
        "*.*",
        "[0]",
        "[-1]",
        "**[0]",
        "**.x",
        "a.**",
        int,
        str,
        list,
        dict,
        tuple,
    ]
).map(lw.selection.selector)


@given(trees(), SELECTORS, SELECTORS)
def test_joined_selectors(tree, a, b):
    """`&`, `|` and `~` do with regions what they do with sets."""
    first = region(tree, a)
    second = region(tree, b)
    both = [x and y for x, y in zip(first, second, strict=True)]
    either = [x or y for x, y in zip(first, second, strict=True)]
    assert region(tree, a & b) == both
    assert region(tree, a | b) == either
    assert region(tree, ~a) == [not x for x in first]
    mask = lw.at(tree, missing_ok=True)[a].mask()
    assert lw.tree_leaves(mask) == first
    assert region(tree, "**") == [True] * len(first)


def test_nothing_is_an_error_that_helps():
    """How far the path leads, and what there is; or the nearest leaves."""
    for pattern, text in {
        "optim.rl": "did you mean optim.lr? the dict at optim has lr, betas, wd",
        "layers[3].w": "the list at layers has 3 items",
        "layers[-4].w": "the list at layers has 3 items",
        "betas": "did you mean optim.betas? the dict at the root has layers, model, "
        "optim, point, ['a.b'] and 1 more",
        "bias": "did you mean **.bias? the dict at the root has layers, optim, "
        "point, ['a.b'], [0] and 1 more",
        "layers.bias": "did you mean layers.**.bias? the list at layers has [0], [1], "
        "[2]",
        "optim/lr": "did you mean optim.lr? the dict at the root has optim, model, "
        "point, layers, [0] and 1 more",
        "layers[name=3]": "the list at layers has no item with the key 'name'; they "
        "have w, bias",
        "optim[name=3]": "the dict at optim has no item with the key 'name'",
        "a.b": "the dict at the root has layers, ['a.b'], [0], model, optim and 1 "
        "more; write ['a.b'] for this key",
        "layers.w": "did you mean layers.**.w? the list at layers has [0], [1], [2]",
        "layers[-1].baes": "did you mean layers[-1].bias? the dict at layers[2] has "
        "bias, w",
        "lyers[0].w": "did you mean layers[0].w? the dict at the root has layers, "
        "model, [0], ['a.b'], optim and 1 more",
        "optm.rl": "did you mean optim? the dict at the root has optim, point, model, "
        "[0], ['a.b'] and 1 more",
        "optim.lr.x": "optim.lr is a leaf: 0.1",
        "model.sise": "did you mean model.size? the Linear at model has size, w",
        "layers['0'].**": "the list at layers has [0], [1], [2]; the str '0' is not "
        "the int 0",
        "lyers[0].**": "did you mean layers[0].**? the dict at the root has layers, "
        "model, [0], ['a.b'], optim and 1 more",
        "layers[0].*.**.w": "the tree has 16 leaves; nearest: layers[0].w, optim.wd, "
        "['a.b']['w*'], point.y, point.x",
        "**.bais": "the tree has 16 leaves; nearest: layers[0].bias, point.y, "
        "point.x, optim.wd, optim.lr",
    }.items():
        with pytest.raises(PathError) as caught:
            lw.at(CONFIG)[pattern].get()
        assert str(caught.value) == f"no match for {pattern!r}: {text}"
    by_number = {"layers": {"0": {"w": 1}}, "head": {"w": 1}}
    with pytest.raises(PathError, match="layers has 0; the int 0 is not the str '0'"):
        lw.at(by_number)["layers[0].**"].get()
    named = [{"name": "web"}, {"name": "a b"}]  # by what one can select them
    with pytest.raises(PathError, match=r"root has \[name='web'\], \[name='a b'\]"):
        lw.at(named)["wep"].get()
    with pytest.raises(PathError, match=r"root has \[name='web'\], \[name='a b'\]"):
        lw.at(named)["[name=wep]"].get()
    cycle = {"b": []}
    cycle["b"].append(cycle)
    with pytest.raises(PathError, match="the dict at the root has b"):
        lw.at(cycle)["c"].get()
    with pytest.raises(PathError, match="the dict at the root is empty"):
        lw.at({})["a"].get()
    with pytest.raises(PathError, match=r"'of type bytes': the tree has 16 leaves, no"):
        lw.at(CONFIG)[bytes].get()
    assert lw.at(CONFIG, missing_ok=True)["optim.rl"].count() == 0
    assert lw.at(CONFIG, missing_ok=True)["optim.rl"].get(None) is None


def test_a_place_that_two_selectors_lead_to_in_two_ways_is_there_once():
    """As it is in one pattern; so an edit of it is one edit."""
    tree = {"a": {"a": {"a": 1}}}
    selection = lw.at(tree)["**.a"]["**.a"]
    assert [str(path) for path in selection.paths()] == [
        "['a']['a']",
        "['a']['a']['a']",
    ]
    assert lw.at([[[1]]])["**.*"]["**"].set(2) == [[[2]]]


# ----------------------------------------------------------------- names with wildcards


def is_like(glob, text):
    """Say by trying whether a text is as a name with wildcards says."""
    if not glob:
        return not text
    if glob[0] == "*":
        return any(is_like(glob[1:], text[n:]) for n in range(len(text) + 1))
    return bool(text) and glob[0] in ("?", text[0]) and is_like(glob[1:], text[1:])


@given(
    st.text(alphabet="ab?*^$!\n", min_size=1, max_size=8),
    st.text(alphabet="ab.^$!\n", max_size=10),
)
def test_wildcards_mean_what_trying_everything_finds(glob, text):
    """`*` is any text and `?` any letter, a line break as well; nothing else counts."""
    assume("**" not in glob)
    count = lw.at({text: 1}, missing_ok=True)[glob].count()
    assert bool(count) is is_like(glob, text)


def test_wildcards_are_matched_without_trying_everything():
    """Each of these would take more time than there is."""
    letters = "a" * 5000
    tree = {letters: 1, letters + "b": 2}
    assert lw.at(tree)["*a" * 50 + "*"].get() == [1, 2]
    assert lw.at(tree)["*a?" * 50 + "*b"].get() == [2]
    assert lw.at(tree)["*a" * 50 + "*b"].get() == [2]
    assert lw.at(tree)["{" + "*a" * 50 + "*b,c}"].get() == [2]


def test_a_key_that_has_no_text_is_like_no_name():
    """Wildcards are for names; a key is not an error because it cannot be printed."""
    tree = {10**5000: 1, "ab": 2, "a\nb": 3}
    assert lw.at(tree)["a*"].get() == [3, 2]
    assert lw.at(tree)["?b"].get() == [2]
    assert lw.at(tree)["*"].count() == 3
    assert lw.at(tree, missing_ok=True)["*.x"].count() == 0


# ------------------------------------------- beside a matcher that tries everything

STEPS = [
    "**",
    "*",
    "[*]",
    "a",
    "b",
    "0",
    "[0]",
    "[-1]",
    "['a']",
    "{a,b}",
    "a*",
    "[0:2]",
]
SMALL = lw.testing.trees(
    st.integers(0, 3),
    nodes=[list, dict, tuple],
    keys=st.sampled_from(["a", "b", "ab", 0]),
    max_leaves=10,
)


def every_place(tree):
    """Return each node and leaf with its keys, and each key's place among how many."""
    places = [((), tree)]
    level = lw.tree.flatten_one_level(tree) if not isinstance(tree, int) else None
    if level is not None:
        count = len(level.children)
        for place, (key, child) in enumerate(
            zip(level.keys, level.children, strict=True)
        ):
            here = (key, place, count)
            places += [((here, *keys), node) for keys, node in every_place(child)]
    return places


def matches(steps, keys):
    """Say by trying whether steps lead along keys."""
    if not steps:
        return not keys
    first, *later_steps = steps
    if first is DEEP:
        return matches(later_steps, keys) or bool(keys and matches(steps, keys[1:]))
    if not keys:
        return False
    key, place, count = keys[0]
    kind = key_kind(key)
    value = key.entry
    return first.test(kind, value, place, count) and matches(later_steps, keys[1:])


@given(SMALL, st.lists(st.sampled_from(STEPS), min_size=1, max_size=4))
def test_patterns_mean_what_a_search_of_all_places_finds(tree, chosen):
    """Each place once, in leaf order, a node before what is below it."""
    text = "".join(step if step[0] == "[" else f".{step}" for step in chosen)
    steps = parse(text)
    expected = [
        lw.KeyPath(key for key, _, _ in keys)
        for keys, node in every_place(tree)
        if matches(steps, keys) and (steps[-1] is not DEEP or isinstance(node, int))
    ]
    assert lw.at(tree, missing_ok=True)[text].paths() == expected


@pytest.mark.parametrize(
    ("tree", "key", "sentence"),
    [
        ({"1": 5}, 1, "the int 1 is not the str '1'"),
        ({1: 5}, lw.KeyPath((lw.DictKey("1"),)), "the str '1' is not the int 1"),
        (
            {b"a": 5},
            lw.KeyPath((lw.DictKey("a"),)),
            "the str 'a' is not the bytes b'a'",
        ),
    ],
)
def test_a_key_of_another_type_is_pointed_out(tree, key, sentence):
    """By selections, and by paths that are read."""
    with pytest.raises(PathError) as caught:
        lw.at(tree)[key].get()
    assert str(caught.value).endswith(f"; {sentence}")
    if isinstance(key, lw.KeyPath):
        with pytest.raises(PathError) as caught:
            key(tree)
        assert str(caught.value).endswith(f"; {sentence}")

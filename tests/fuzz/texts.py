"""Random and mutated texts for each parser: the documented error, or a round trip."""

import copy
import json
import pickle
from collections.abc import Callable
from random import Random
from typing import Any

import leafwise as lw
from leafwise.errors import EditError, PathError

from . import odd
from .runner import Round
from .tell import outcome, told
from .trees import KEYS, SORTS, Trees


MARKS = (
    *"[](){}.,:*?@~+=<>'\"\\/ -_0123456789abcdefnxi\n\t\0é²٣ﬁ",
    *("**", "[-", ":]", "flat index ", "nan", "-0.0", "1e400", "True", "None"),
    *("9" * 50, "9" * 5000, "frozenset(", "b'", "\\N{DASH}", "\ud800", "__", "inf"),
)
PATTERNS = (
    "a.b", "layers[*].{w,b}", "**.bias", "x[1:3]", "x[::2]", "['a.b'][0]", "@w.x",
    "a.**.b*", "[0,2]", "[<flat index 3>]", ".'odd name'", "w?*", "[(1, 'a')]",
)  # fmt: skip


def play(one: Round) -> None:
    """Give texts to each parser."""
    for act in ACTS:
        one.step(act.__name__)
        act(one)


def mutated(random: Random, text: str) -> str:
    """Return a text with a few changes, or another one altogether."""
    if random.random() < 0.1:
        return "".join(random.choices(MARKS, k=random.randrange(8)))
    for _ in range(random.choice((0, 1, 1, 2, 4))):
        place = random.randrange(len(text) + 1)
        end = place + random.choice((0, 0, 1, 1, 3))
        text = text[:place] + random.choice(("", *MARKS)) + text[end:]
    return text


def allowed(
    one: Round, what: str, function: Callable[[], Any], *errors: type[Exception]
) -> Any:
    """Return what a call gives, None if it raises one of the errors that it may."""
    one.comparisons += 1
    one.step(what if len(what) < 300 else f"{what[:300]}... {len(what)} characters")
    try:
        return function()
    except errors as error:
        one.holds("an error has a text", str(error))
        return None


# -------------------------------------------------------------------------- key paths


def some_key(random: Random) -> Any:
    """Return a key of a path."""
    kind = random.randrange(4)
    if kind == 0:
        return lw.SequenceKey(random.choice((0, 1, -1, 10**20)))
    if kind == 1:
        return lw.registry.FlattenedIndexKey(random.choice((0, 7)))
    if kind == 2:
        return lw.GetAttrKey(
            random.choice(("a", "odd name", "", "class", "ﬁ", "é", "1"))
        )
    return lw.DictKey(random.choice(KEYS))


def key_paths(one: Round) -> None:
    """The text of a path is read as that path, or not at all; so is its code."""
    random = one.random
    path = lw.KeyPath([some_key(random) for _ in range(random.randrange(4))])
    text = str(path)
    again = allowed(one, f"parse {text!r}", lambda: lw.KeyPath.parse(text), PathError)
    if again is not None:
        one.same("path by its text", str(path), str(again))
        if "flat index" not in text:
            one.same("steps", _plain(path), _plain(again))
    text = mutated(random, text)
    parsed = allowed(one, f"parse {text!r}", lambda: lw.KeyPath.parse(text), PathError)
    if parsed is not None:
        once = str(parsed)
        one.same("path by its text", once, str(lw.KeyPath.parse(once)))
        one.holds("equal paths", lw.KeyPath.parse(once) == parsed or "nan" in once)


def _plain(path: lw.KeyPath) -> Any:
    """Return what the keys read, and how: positions and int keys print alike."""
    return [(isinstance(key, lw.GetAttrKey), _value(key.entry)) for key in path]


def _value(value: Any) -> Any:
    if isinstance(value, str | odd.Color):
        return str(getattr(value, "value", value))
    return told(value)


# --------------------------------------------------------------------------- patterns

TREE = {
    "a": {"b": 1, "bias": [2, 3, None], "w": (4, 5)},
    "layers": [{"w": 1, "b": 2}, {"w": 3, "b": 4}],
    "x": [1, 2, 3, 4],
    "odd name": odd.Layer(1, {"a.b": [1]}),
    1: "one",
    (1, "a"): {None: 1, 2.5: 2},
}


def selectors(one: Round) -> None:
    """A pattern is read or is an error; what it means can be read by its path."""
    text = mutated(one.random, one.random.choice(PATTERNS))
    pattern = allowed(
        one,
        f"selector {text!r}",
        lambda: lw.selection.selector(text),
        PathError,
    )
    if pattern is None:
        return
    found = lw.at(TREE, missing_ok=True)[pattern].items()
    for path, value in found:
        one.holds("the value at a path that is meant", path(TREE) is value)
    paths = [str(path) for path, _ in found]
    one.same("each place once", len(paths), len({*paths}))


def overrides(one: Round) -> None:
    """An override is carried out or is an error; the tree is left alone."""
    random = one.random
    where = mutated(random, random.choice((*PATTERNS, "a.b", "x[0]", "a.new")))
    value = mutated(random, random.choice(("1", "[1, 2]", '{"a": 1}', "'t'", "null")))
    text = f"{random.choice(('', '+', '++', '~'))}{where}={value}"
    before = told(TREE)
    allowed(
        one,
        f"override {text!r}",
        lambda: lw.selection.override(TREE, text),
        EditError,
        PathError,
    )
    one.same("the tree is as it was", before, told(TREE))


def flat_names(one: Round) -> None:
    """Names make a tree, whose names they are, or are an error."""
    random = one.random
    names = ("a.b", "a.c[0]", "a.c[1]", "['a.b'].x", "x", "['']", "a['b']")
    chosen = {mutated(random, name): number for number, name in enumerate(names)}
    table = dict(random.sample([*chosen.items()], random.randrange(1, 5)))
    tree = allowed(
        one,
        f"from_flat {table!r}",
        lambda: lw.selection.from_flat(table),
        EditError,
        PathError,
    )
    if tree is not None:
        again = lw.selection.to_flat(tree)
        one.same("values", sorted(table.values()), sorted(again.values()))
        one.same(
            "the tree by its names", told(tree), told(lw.selection.from_flat(again))
        )


# --------------------------------------------------------------------------- treedefs


def _treedef(one: Round) -> lw.PyTreeDef:
    trees = Trees(one.random, SORTS)
    return lw.tree_structure(
        trees.node(2),
        none_is_leaf=one.random.random() < 0.3,
        namespace=one.random.choice(("", odd.INSERTION, odd.OWN)),
    )


def _told(treedef: lw.PyTreeDef) -> Any:
    """Return what is to be told of a treedef; int keys and positions are equal."""
    built = outcome(treedef.unflatten, range(treedef.num_leaves))
    return repr(treedef), [*map(str, treedef.paths())], built


def treedef_texts(one: Round) -> None:
    """What has a JSON text comes back from it; a mutated one may be refused."""
    treedef = _treedef(one)
    one.step(f"treedef {treedef}")
    text = allowed(one, "to_json", treedef.to_json, lw.errors.TreeDefError)
    if text is None:
        return
    again = lw.PyTreeDef.from_json(text)
    one.same("treedef by its text", _told(treedef), _told(again))
    one.holds("equal", again == treedef)
    one.same("hash", hash(treedef), hash(again))
    data = json.loads(text)
    for candidate in (mutated(one.random, text), json.dumps(altered(one.random, data))):
        made = allowed(
            one,
            f"from_json {candidate!r}",
            lambda text=candidate: lw.PyTreeDef.from_json(text),
            lw.errors.TreeDefError,
        )
        works(one, made)


def treedef_states(one: Round) -> None:
    """What can be pickled comes back; an altered state may be refused."""
    treedef = _treedef(one)
    one.step(f"treedef {treedef}")
    try:
        data = pickle.dumps(treedef)
    except Exception:
        return  # aux data that cannot be pickled
    again = pickle.loads(data)
    one.same("treedef by pickle", told(treedef), told(again))
    one.same("a deep copy", told(treedef), told(copy.deepcopy(treedef)))
    function, (state,) = treedef.__reduce__()
    state = altered(one.random, state)
    made = allowed(
        one, "an altered state", lambda: function(state), lw.errors.TreeDefError
    )
    works(one, made)


def works(one: Round, treedef: Any) -> None:
    """Look whether a treedef that was read can do what all can."""
    if treedef is None or treedef.num_leaves > 1000:
        return
    one.holds("a treedef equals itself", treedef == treedef)
    one.same("as many paths", treedef.num_leaves, len(treedef.paths()))
    one.holds("it has a text", repr(treedef))
    leaves = [*range(treedef.num_leaves)]
    outcome(treedef.unflatten, leaves)


def altered(random: Random, data: Any) -> Any:
    """Return nested lists, tuples and dicts that differ in one place."""
    if isinstance(data, list | tuple) and data and random.random() < 0.9:
        items = [*data]
        place = random.randrange(len(items))
        what = random.random()
        if what < 0.8:
            items[place] = altered(random, items[place])
        elif what < 0.9:
            del items[place]
        else:
            items.append(items[place])
        return type(data)(items)
    if isinstance(data, dict) and data:
        key = random.choice([*data])
        return {**data, key: altered(random, data[key])}
    return random.choice((0, -1, 1, 10**9, "", "dict", None, True, 1.5, [], {}, [[]]))


ACTS = (key_paths, selectors, overrides, flat_names, treedef_texts, treedef_states)

"""Objects with sharing and cycles: split, merged, updated, cloned, popped.

The model of a graph is a table: each object and variable has a number, in the order of
a walk, and refers to others by theirs. What an operation should do is
said on the table.
"""

import copy
import importlib.util
import pickle
from random import Random
from typing import Any

import numpy as np

import leafwise as lw
from leafwise import nn
from leafwise.nn.graph import LastGraph, flatten_graph

from .runner import Round
from .tell import told


class Node(lw.Pytree):
    """Has any attributes."""


class Off(nn.Object):
    """Has any attributes."""


class Chain(nn.Module):
    """Has any attributes."""


OBJECTS = (Node, Off, Chain, nn.List, nn.Dict)
VARIABLES = (nn.Param, nn.Cache, nn.Intermediate)
Table = list[Any]


def play(one: Round) -> None:
    """Build a graph and do a few things with it."""
    graph = random_graph(one.random)
    for _ in range(4):
        act = one.random.choice(ACTS)
        one.step(f"{act.__name__} of {table_of(graph)}")
        graph = act(one, graph)


# ------------------------------------------------------------------------- building


def random_graph(random: Random) -> Any:
    """Return the first of some objects that were put into one another."""
    objects = [random.choice(OBJECTS)() for _ in range(random.randint(1, 6))]
    boxes = [
        random.choice(VARIABLES)(value(random, []), note=random.randrange(2))
        for _ in range(random.randrange(4))
    ]
    for node in objects:
        for name in random.sample("abcd", random.randrange(4)):
            things = [*objects, *boxes]
            inside = random.random() < 0.6
            part = lw.data(random.choice(things) if inside else value(random, things))
            if isinstance(node, nn.List):
                node.append(part)
            else:
                setattr(node, name, part)
        if not isinstance(node, nn.List | nn.Dict):
            node.tag = lw.static(random.choice((1, True, "x", [1], None)))
    return objects[0]


def value(random: Random, things: list[Any]) -> Any:
    """Return a bare value, or a plain container with things in it."""

    def some() -> Any:
        bare = (random.randrange(4), np.full(2, random.randrange(4)), 2.5)
        return random.choice((*bare, *things[:2], *things[-2:]))

    what = random.randrange(6) if things else 5
    if what == 0:
        return [some() for _ in range(random.randrange(3))]
    if what == 1:
        return {name: some() for name in random.sample("xyz", random.randrange(3))}
    if what == 2:
        return (some(),)
    return random.choice((1, 2, np.arange(2), np.full((1, 1), np.nan)))


# ------------------------------------------------------------------------ the model


def parts(thing: Any) -> list[tuple[Any, Any]]:
    """Return the names and parts of an object, a variable or a plain container."""
    if isinstance(thing, nn.List | list | tuple):
        return [*enumerate(thing)]
    if isinstance(thing, nn.Dict | dict):
        return [(name, thing[name]) for name in sorted(thing)]
    names = vars(thing) if isinstance(thing, nn.Module) else sorted(vars(thing))
    return [(name, vars(thing)[name]) for name in names]


def is_thing(part: Any) -> bool:
    """Say whether something counts once, wherever it stands."""
    return isinstance(part, (*OBJECTS, nn.Variable))


def is_plain(part: Any) -> bool:
    """Say whether something is a plain container."""
    return type(part) in (list, tuple, dict)


def things_of(graph: Any) -> list[Any]:
    """Return the objects and variables of a graph, each once, in order."""
    found: dict[int, Any] = {}

    def walk(part: Any) -> None:
        if is_thing(part):
            if id(part) in found:
                return
            found[id(part)] = part
            if isinstance(part, nn.Variable):
                return
        if is_thing(part) or is_plain(part):
            for _, child in parts(part):
                walk(child)

    walk(graph)
    return [*found.values()]


def table_of(graph: Any) -> Table:
    """Return the model of a graph."""
    things = things_of(graph)
    numbers = {id(thing): number for number, thing in enumerate(things)}

    def shown(part: Any) -> Any:
        if is_thing(part):
            return "ref", numbers[id(part)]
        if is_plain(part):
            return type(part).__name__, [(n, shown(x)) for n, x in parts(part)]
        return told(part)

    def row(thing: Any) -> Any:
        if isinstance(thing, nn.Variable):
            held = told(thing.get_raw_value())
            return type(thing).__name__, held, thing.get_metadata()
        return type(thing).__name__, [
            (name, shown(part)) for name, part in parts(thing)
        ]

    return [row(thing) for thing in things]


def values_at(graph: Any) -> dict[tuple[Any, ...], Any]:
    """Return the variables and bare values by their first paths, each thing once.

    In the plain containers of an unchecked object, what is no array is structure.
    """
    found: dict[tuple[Any, ...], Any] = {}
    seen: set[int] = set()

    def walk(part: Any, path: tuple[Any, ...], owner: Any, above: Any) -> None:
        if is_thing(part):
            if id(part) in seen:
                return
            seen.add(id(part))
        if isinstance(part, nn.Variable):
            found[path] = part
        elif is_thing(part) or is_plain(part):
            for name, child in parts(part):
                if name != "tag":
                    walk(child, (*path, name), part if is_thing(part) else owner, part)
        elif isinstance(part, np.ndarray) or type(owner) is not Off or above is owner:
            found[path] = part

    walk(graph, (), None, None)
    return found


# ------------------------------------------------------------------------------ acts


def split_and_merge(one: Round, graph: Any) -> Any:
    """The same table, with filters or without, whatever the order of the states."""
    before = table_of(graph)
    filters = one.random.choices(
        (*VARIABLES, int, np.ndarray), k=one.random.randrange(3)
    )
    graphdef, *states = nn.split(graph, *filters, ...)
    one.same("number of states", len(filters) + 1, len(states))
    flat = [dict(nn.to_flat_state(state)) for state in states]
    left = values_at(graph)
    for place, part in enumerate(flat):
        wanted = filters[place] if place < len(filters) else object
        expected = {p: x for p, x in left.items() if isinstance(x, wanted)}
        one.same(f"state {place}", _ids(expected), _ids(part))
        left = {p: x for p, x in left.items() if p not in expected}
    again = nn.merge(graphdef, *one.random.sample(states, len(states)), copy=True)
    one.same("merged", before, table_of(again))
    one.same("graphdef", nn.graphdef(again), graphdef)
    one.same("hash", hash(nn.graphdef(again)), hash(graphdef))
    one.holds("nothing in common", not _changeable(graph) & _changeable(again))
    one.same("untouched", before, table_of(graph))
    return again


def _ids(flat: Any) -> Any:
    return sorted((repr(path), id(part)) for path, part in flat.items())


def _changeable(graph: Any) -> set[int]:
    return {id(thing) for thing in things_of(graph)}


def clone(one: Round, graph: Any) -> Any:
    """The same table, and nothing in common; also by `copy` and `pickle`."""
    before = table_of(graph)
    for make in (nn.clone, copy.deepcopy, _pickled):
        again = make(graph)
        one.same(make.__name__, before, table_of(again))
        one.holds("nothing in common", not _changeable(graph) & _changeable(again))
    return again


def _pickled(graph: Any) -> Any:
    return pickle.loads(pickle.dumps(graph))


def update(one: Round, graph: Any) -> Any:
    """Write some values; every other part of the table stays, and all objects."""
    flat = values_at(graph)
    paths = one.random.sample([*flat], min(len(flat), one.random.randrange(1, 3)))
    known = [*map(id, things_of(graph))]
    new: dict[Any, Any] = {path: one.random.randrange(10, 20) for path in paths}
    for path in paths:
        if isinstance(flat[path], np.ndarray):
            new[path] = np.full(3, new[path])
    nested: dict[Any, Any] = {}
    for path, written in new.items():
        level = nested
        for key in path[:-1]:
            level = level.setdefault(key, {})
        level[path[-1]] = written
    one.step(f"update {new}")
    nn.update(graph, nested)
    one.same("the same objects", known, [*map(id, things_of(graph))])
    after = values_at(graph)
    one.same("the same paths", sorted(map(repr, flat)), sorted(map(repr, after)))
    for path, part in after.items():
        bare = part.get_raw_value() if isinstance(part, nn.Variable) else part
        if path in new:
            one.same(f"value at {path}", told(new[path]), told(bare))
        elif not isinstance(part, nn.Variable):
            one.same(f"value at {path}", told(flat[path]), told(bare))
    nn.update(graph, nn.state(graph))
    one.same("with its own state", _told(after), _told(values_at(graph)))
    return graph


def _told(flat: Any) -> Any:
    return [(repr(path), told(part)) for path, part in flat.items()]


def pop(one: Round, graph: Any) -> Any:
    """The variables of a type are returned, and gone; or nothing changes."""
    before, wanted = table_of(graph), one.random.choice(VARIABLES)
    there = {id(x): x for x in things_of(graph) if isinstance(x, wanted)}
    rest = [id(x) for x in things_of(graph) if not isinstance(x, wanted)]
    try:
        popped = nn.pop(graph, wanted)
    except ValueError:
        one.same("nothing popped", before, table_of(graph))
        return graph
    taken = [*dict(nn.to_flat_state(popped)).values()]
    one.same("popped", sorted(there), sorted(map(id, taken)))
    one.same("left", sorted(rest), sorted(map(id, things_of(graph))))
    return graph


def duplicates(one: Round, graph: Any) -> Any:
    """What is referred to more than once is found, with all of its paths."""
    counts: dict[int, int] = {}
    for thing in [graph, *things_of(graph)]:
        counts.setdefault(id(thing), 0)
    counts[id(graph)] = 1

    def count(part: Any) -> None:
        if is_thing(part):
            counts[id(part)] = counts.get(id(part), 0) + 1
        elif is_plain(part):
            for _, child in parts(part):
                count(child)

    for thing in things_of(graph):
        if not isinstance(thing, nn.Variable):
            for _, part in parts(thing):
                count(part)
    expected = sorted(number for number in counts.values() if number > 1)
    found = nn.find_duplicates(graph)
    one.same("places of duplicates", expected, sorted(map(len, found)))
    return graph


def go_through(one: Round, graph: Any) -> Any:
    """Each object is met once; so are the variables."""
    met = [x for _, x in nn.iter_graph(graph) if is_thing(x)]
    one.same("iter_graph", sorted(map(id, things_of(graph))), sorted(map(id, met)))
    return graph


def read_again(one: Round, graph: Any) -> Any:
    """What is read by a template is what flattening gives, also after a change."""
    templates, roots = LastGraph(), (graph,)
    for _ in range(6):
        flat = flatten_graph(roots)
        graphdef, values, tracked = templates.flatten(roots)
        expected = [
            x.get_raw_value() if isinstance(x, nn.Variable) else x for x in flat.leaves
        ]
        one.same("values", [*map(id, expected)], [*map(id, values)])
        one.same("objects", [*map(id, flat.tracked)], [*map(id, tracked)])
        one.same("structure", flat.graphdef, graphdef)
        if one.random.random() < 0.4:
            _change(one, graph)
    return graph


def _change(one: Round, graph: Any) -> None:
    """Change one place of a graph."""
    things = things_of(graph)
    thing = one.random.choice(things)
    part = one.random.choice((*things, 1, True, np.zeros(1), [1], nn.Param(2)))
    one.step(f"change {type(thing).__name__}: {type(part).__name__}")
    if isinstance(thing, nn.Variable):
        thing.set_metadata(note=one.random.choice((0, True, [1])))
    elif isinstance(thing, nn.List):
        thing.append(lw.data(part))
    else:
        setattr(thing, one.random.choice("abcd"), lw.data(part))


def compiled(one: Round, graph: Any) -> Any:
    """A compiled function does the same with the engine and without it."""
    needed = importlib.util.find_spec("jax") and hasattr(lw, "engine")
    if one.random.random() > 0.05 or not needed:
        return graph
    outcomes = []
    seed, copies = one.random.random(), [nn.clone(graph), nn.clone(graph)]
    for copy_, mode in zip(copies, (lw.engine.disabled, lw.engine.eager), strict=True):
        random, step = Random(seed), nn.jit(_step, static_argnums=2)
        with mode():
            for turn in range(4):
                acts = tuple(random.choices(range(4), k=random.randrange(3)))
                try:
                    told_ = type(step(copy_, np.float32(turn), acts)).__name__
                except TypeError as error:  # a value that jax does not take
                    told_ = type(error).__name__
                outcomes.append((told_, table_of(copy_)))
    half = len(outcomes) // 2
    one.same("what it does", outcomes[:half], outcomes[half:])
    return graph


def _step(graph: Any, x: Any, acts: tuple[int, ...]) -> Any:
    """Do some things to a graph."""
    things = things_of(graph)
    boxes = [thing for thing in things if isinstance(thing, nn.Variable)]
    for number in acts:
        if boxes and number < 2:
            values = [box.get_raw_value() for box in boxes]
            for box, other in zip(boxes, values[1:] + values[:1], strict=True):
                box.set_value(x + number if number else other)
        elif isinstance(things[-1], nn.List):
            things[-1].append(nn.Param(x) if number == 2 else lw.data(things[0]))
        elif not isinstance(things[-1], nn.Variable):
            things[-1].a = lw.data(nn.Cache(x) if number == 2 else x * 2)
    return (None, graph, x)[sum(acts) % 3]


ACTS = (
    split_and_merge,
    split_and_merge,
    clone,
    update,
    pop,
    duplicates,
    go_through,
    read_again,
    read_again,
    compiled,
)

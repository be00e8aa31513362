"""Several threads at once, each result checked against what is possible.

When threads take turns is not for a seed to say; a round that found something may have
to be played a few times to find it again.
"""

import contextlib
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import leafwise as lw
from leafwise import nn

from . import odd
from .runner import Differs, Round
from .tell import told
from .trees import SORTS, Trees


ENGINE: Any = getattr(lw, "engine", None)
STEPS = 40
_PATIENCE = 60  # seconds until threads count as locked


class Shared:
    """What the threads of a round work on.

    Attributes:
        tree: A tree that nobody changes.
        leaves: Its leaves, as they are to be told.
        text: The text of its treedef.
        table: A dict that is changed all the time; each value holds its key.
        items: A list that is changed all the time; it holds numbers.
        late: A tree with an object of a class that comes and goes.
        model: An object whose attributes are changed.
    """

    def __init__(self, random: Random) -> None:
        fixed = {cls: sort for cls, sort in SORTS.items() if cls not in _NOT_FIXED}
        self.tree = Trees(random, fixed).node()
        leaves, treedef = lw.tree_flatten(self.tree)
        self.leaves, self.text = told(leaves), repr(treedef)
        self.paths = [*map(str, treedef.paths())]
        self.table = {f"k{n}": (f"k{n}", 0) for n in range(12)}
        self.items = [*range(20)]
        self.late = [1, odd.Early([2, (3,)], "t"), {"a": 4}]
        self.model = odd.Tree()
        self.model.a = lw.data((0, 0))
        self.model.b = lw.data([0])


_NOT_FIXED = (*odd.LATE_CLASSES, odd.Later, odd.Fragile)


def play(one: Round) -> None:
    """Let some threads loose on the same things, and wait for them."""
    odd.unregister_all()
    shared = Shared(one.random)
    acts = one.random.choices(READERS, k=2) + one.random.choices(WRITERS, k=2)
    one.step(f"threads: {', '.join(act.__name__ for act in acts)}")
    mode = ENGINE.stats()["mode"] if ENGINE else ""
    seeds = [one.random.random() for _ in acts]
    with _often():
        failures = together(
            [_steps(act, shared, seed) for act, seed in zip(acts, seeds, strict=True)]
        )
    odd.unregister_all()
    one.comparisons += STEPS * len(acts)
    if failures:
        raise Differs("\n".join(failures))
    if ENGINE:
        one.same("the engine's mode at the end", mode, ENGINE.stats()["mode"])
    one.same("the tree at the end", shared.leaves, told(lw.tree_leaves(shared.tree)))


def _steps(
    act: Callable[[Random, Shared], None], shared: Shared, seed: float
) -> Callable[[], None]:
    def steps() -> None:
        random = Random(seed)
        for _ in range(STEPS):
            act(random, shared)

    return steps


@contextlib.contextmanager
def _often() -> Iterator[None]:
    """Let threads take turns as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def together(functions: list[Callable[[], None]]) -> list[str]:
    """Call functions in threads; return what went wrong."""
    failures: list[str] = []

    def guarded(function: Callable[[], None]) -> None:
        try:
            function()
        except BaseException:
            failures.append(traceback.format_exc())

    threads = [
        threading.Thread(target=guarded, args=(function,), daemon=True)
        for function in functions
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_PATIENCE)
        if thread.is_alive():
            frame = sys._current_frames().get(thread.ident or 0)
            failures.append(f"locked:\n{''.join(traceback.format_stack(frame))}")
    return failures


def expect(what: str, condition: object, *shown: Any) -> None:
    """Say that something is possible, and fail if it is not.

    Raises:
        Differs: It is not.
    """
    if not condition:
        raise Differs(f"{what}: {', '.join(map(str, shown))}")


# -------------------------------------------------------------------------- readers


def read_fixed(random: Random, shared: Shared) -> None:
    """A tree that nobody changes is the same for all."""
    what = random.randrange(5)
    if what == 0:
        leaves, treedef = lw.tree_flatten(shared.tree)
        expect("leaves", told(leaves) == shared.leaves, leaves)
        expect("treedef", repr(treedef) == shared.text, treedef)
    elif what == 1:
        mapped = lw.tree_map(lambda x: [x], shared.tree)
        expect("map", told(lw.tree_leaves(mapped)) == shared.leaves, mapped)
    elif what == 2:
        paths = [*map(str, lw.tree_paths(shared.tree))]
        expect("paths", paths == shared.paths, paths)
    elif what == 3:
        mapped = lw.tree_map(lambda x, y: x, shared.tree, shared.tree)
        expect("map of two", told(lw.tree_leaves(mapped)) == shared.leaves, mapped)
    else:
        first, second = (lw.tree_structure(shared.tree) for _ in range(2))
        expect("equal", first == second and hash(first) == hash(second), first)


def read_table(random: Random, shared: Shared) -> None:
    """Keys and values of a dict that changes belong together."""
    try:
        what = random.randrange(4)
        if what == 0:
            found = lw.tree_leaves_with_path(shared.table, is_leaf=tuple)
            pairs = [(path[0].key, leaf) for path, leaf in found]
        elif what == 1:
            pairs = [*lw.tree_map(lambda x: x, shared.table, is_leaf=tuple).items()]
        elif what == 2:
            leaves, treedef = lw.tree_flatten(shared.table)
            pairs = [*treedef.unflatten(leaves).items()]
        else:
            pairs = [*lw.tree_map(lambda x, y: x, shared.table, shared.table).items()]
    except (RuntimeError, lw.LeafwiseError):
        return  # changed while it was read
    expect("pairs", all(key == leaf[0] for key, leaf in pairs), pairs)


def read_items(random: Random, shared: Shared) -> None:
    """A list that changes gives numbers that it held."""
    try:
        leaves, treedef = lw.tree_flatten([shared.items, (shared.items,)])
    except (RuntimeError, lw.LeafwiseError):
        return
    expect("counts", len(leaves) == treedef.num_leaves, leaves, treedef)
    expect("items", {*map(type, leaves)} <= {int}, leaves)


def read_late(random: Random, shared: Shared) -> None:
    """An object is a leaf or a node, and never something in between."""
    leaves, treedef = lw.tree_flatten(shared.late)
    expect("counts", len(leaves) == treedef.num_leaves, leaves, treedef)
    shown = [leaf if isinstance(leaf, int) else "Early" for leaf in leaves]
    expect("leaves", shown in ([1, "Early", 4], [1, 2, 3, 4], [1, 3, 2, 4]), shown)
    built = treedef.unflatten(leaves)
    expect("built", told(built) == told(shared.late), told(built))
    try:
        mapped = lw.tree_map(lambda x, _: x, shared.late, shared.late)
    except lw.StructureError:
        return  # registered between the two
    expect("mapped", told(mapped) == told(shared.late), told(mapped))


def read_paths(random: Random, shared: Shared) -> None:
    """The paths of long lists count up from zero."""
    size = random.choice((3, 50, 300, random.randrange(5000)))
    paths = [path[0].idx for path in lw.tree_paths([0] * size)]
    expect("paths", paths == [*range(size)], size, paths[-3:])


def read_model(random: Random, shared: Shared) -> None:
    """An object that changes gives values that were set together."""
    leaves, treedef = lw.tree_flatten(shared.model)
    expect("counts", len(leaves) == treedef.num_leaves, leaves, treedef)
    expect("pair", leaves[0] == leaves[1], leaves)


def make_models(random: Random, shared: Shared) -> None:
    """What is data stays data, what is not does not become it."""
    model = odd.Tree()
    model.name, model.size = "name", 3
    model.weight = lw.data(1.5)
    expect("leaves", lw.tree_leaves(model) == [1.5], lw.tree_leaves(model))
    expect("is_data", not nn.is_data("name") and not nn.is_data(3))


READERS = (
    *(read_fixed, read_table, read_items, read_late, read_paths, read_model),
    *(make_models, read_fixed, read_table),
)


# -------------------------------------------------------------------------- writers


def write_table(random: Random, shared: Shared) -> None:
    """Take keys away and put them back at the end."""
    for _ in range(20):
        key = f"k{random.randrange(14)}"
        shared.table.pop(key, None)
        if random.random() < 0.8:
            shared.table[key] = (key, random.randrange(100))


def write_items(random: Random, shared: Shared) -> None:
    """Make a list longer and shorter."""
    for _ in range(20):
        if len(shared.items) > random.randrange(30):
            del shared.items[random.randrange(3) :: 5]
        else:
            shared.items += range(random.randrange(5))


def write_model(random: Random, shared: Shared) -> None:
    """Set attributes of an object."""
    number = random.randrange(100)
    shared.model.a = lw.data((number, number))
    shared.model.c = lw.data(number)
    shared.model.tag = lw.static(number)


def register(random: Random, shared: Shared) -> None:
    """Register a class, and take that back."""
    odd.register(odd.Early, way=random.randrange(2))
    if random.random() < 0.8:
        odd.unregister(odd.Early)


def register_other(random: Random, shared: Shared) -> None:
    """Register classes that no tree holds, as nodes and as data."""
    made = type("Made", (), {})
    lw.register_pytree_node(made, lambda _: ((), None), lambda *_: made())
    nn.register_data_type(type("Data", (), {}))
    lw.tree_leaves([made()])
    lw.unregister_pytree_node(made)


def switch(random: Random, shared: Shared) -> None:
    """Switch the engine off and on for a while."""
    if not ENGINE:
        return
    with random.choice((ENGINE.disabled, ENGINE.enabled, ENGINE.eager))():
        for _ in range(5):
            expect("leaves", told(lw.tree_leaves(shared.tree)) == shared.leaves)


def forget(random: Random, shared: Shared) -> None:
    """Let the engine forget what it knows, while it is used."""
    if ENGINE:
        ENGINE.forget()
    lw.tree_map(lambda x: x, shared.tree)


WRITERS = (
    *(write_table, write_items, write_model, register, register_other, switch, forget),
    *(write_table, register),
)

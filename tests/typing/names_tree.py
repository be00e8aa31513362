"""Each public name of `leafwise`, its `tree`, `selection` and `testing`, in use.

`test_names.py` looks at what type checkers infer for each `seen(...)`, which is never
`Any` or `Unknown` but where a comment on the line says why. The file is run, too.
"""

import asyncio
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import leafwise as lw
from leafwise import selection, testing
from leafwise.typing import PyTree


def seen(value: object) -> None:
    """Stand where the checkers are asked for a type."""
    assert value is not NotImplemented


def as_text(x: float) -> str:
    return str(x)


def labelled(path: lw.KeyPath, x: float) -> str:
    return f"{path}={x}"


def plus(x: float, y: float) -> float:
    return x + y


def halves(x: float) -> tuple[int, float]:
    return int(x), x / 2


def tagged(path: lw.KeyPath, x: float) -> tuple[str, float]:
    return str(path), x


def show(path: lw.KeyPath, x: float) -> None:
    seen((path, x))


def doubled(x: float) -> float:
    return 2 * x


@lw.dataclass
class Point:
    x: float
    y: float = lw.data(default=0.0)
    name: str = lw.static(default="p")
    tag: str = lw.field(default="", pytree_node=False)


rates: list[float] = [0.1, 0.5]
table: dict[str, float] = {"w": 1.0, "bias": 2.0}
layers: dict[str, list[float]] = {"first": [1.0, 2.0], "second": [3.0]}
point = Point(1.0, 2.0)
trees: PyTree[float] = {"a": [1.0, (2.0, None)]}
pairs: dict[str, tuple[int, str]] = {"a": (1, "x"), "b": (2, "y")}
holes: list[float | None] = [1.0, None]

# ------------------------------------------------------------------- words and classes

seen((lw.MISSING, lw.SKIP, lw.STOP, lw.DELETE))
seen((lw.LeafwiseError("e"), lw.StructureError("e"), lw.RegistryError("e")))
seen(
    (
        lw.errors.CompareError("e"),
        lw.errors.CycleError("e"),
        lw.EditError("e"),
        lw.PathError("e"),
    )
)
seen(
    (
        lw.errors.FlattenError("e"),
        lw.errors.NamespaceError("e"),
        lw.errors.TreeDefError("e"),
    )
)
seen(lw.errors.KindError("e"))
seen((lw.DictKey("a"), lw.SequenceKey(0), lw.GetAttrKey("x"), lw.FlattenedIndexKey(0)))
seen((lw.SequenceKey(0).idx, lw.GetAttrKey("x").name, lw.SequenceKey(0).entry))
seen(lw.DictKey("a").key)  # Any: a key of any type
seen(lw.KeyPath((lw.DictKey("a"),)))
seen(lw.keystr((lw.DictKey("a"),)))
seen(lw.KeyPath((lw.DictKey("w"),))(table))  # Any: a path may lead to a node
seen((lw.List([1, 2]), lw.List([1, 2])[0], lw.Dict(a=1.0)["a"]))
seen((lw.Partial(plus, 1.0), lw.Partial(plus, 1.0)(2.0)))
seen((point.x, point.y, point.name, point.tag))


class Scale(lw.Pytree):
    def __init__(self, by: float) -> None:
        self.by = lw.data(by)
        self.unit = lw.static("m")


seen((Scale(2.0), Scale(2.0).by, Scale(2.0).unit))
seen(lw.pformat(point, width=40, depth=2, max_leaves=9, arrays="values"))
lw.pprint(Scale(2.0))
seen(lw.to_dot(point, depth=2, max_leaves=9, collapse=0, direction="TB"))
seen(lw.to_mermaid(point, select="x", is_leaf=tuple))

# ------------------------------------------------------------------------ registration


@lw.register_pytree_node_class
class Ring:
    def __init__(self, radius: float) -> None:
        self.radius = radius

    def tree_flatten(self) -> tuple[tuple[float], None]:
        return (self.radius,), None

    @classmethod
    def tree_unflatten(cls, _aux: None, children: tuple[float]) -> "Ring":
        return cls(*children)


@lw.register_pytree_with_keys_class
class Keyed:
    def __init__(self, x: float) -> None:
        self.x = x

    def tree_flatten_with_keys(
        self,
    ) -> tuple[tuple[tuple[lw.GetAttrKey, float]], None]:
        return ((lw.GetAttrKey("x"), self.x),), None

    def tree_flatten(self) -> tuple[tuple[float], None]:
        return (self.x,), None

    @classmethod
    def tree_unflatten(cls, _aux: None, children: tuple[float]) -> "Keyed":
        return cls(*children)


class Interval:
    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high


class Lonely:
    pass


@lw.register_static
class Mode:
    pass


class Plain:
    def __init__(self, x: float) -> None:
        self.x = x


def interval_children(interval: Interval) -> tuple[list[float], None]:
    return [interval.low, interval.high], None


WHERE = "tests.typing.names"
here = lw.namespace(WHERE)
seen((Ring(1.0), Keyed(1.0), Mode()))
of_node = lw.register_pytree_node(
    Interval,
    interval_children,
    lambda _aux, children: Interval(*children),
    namespace=WHERE,
)
of_keys = lw.register_pytree_with_keys(
    Interval,
    lambda i: ([(lw.GetAttrKey("low"), i.low), (lw.GetAttrKey("high"), i.high)], 0),
    lambda _aux, children: Interval(*children),
    namespace="tests.typing.names_with_keys",
)
seen((of_node, of_keys))
seen(lw.register_dataclass(Plain, data_fields=["x"], meta_fields=[], namespace=WHERE))
seen(lw.register_leaf(Lonely, namespace=WHERE))
lw.io.register_codec(Ring, lambda _aux: None, lambda _data: None)
seen((lw.is_registered(Interval, namespace=WHERE), lw.lookup(Interval)))
seen((here, here.name, lw.namespaces()))


def save_and_load(path: str) -> int:
    lw.save(path, [1])
    with lw.io.replace_file(f"{path}.txt", text=True) as file:
        file.write(lw.load(path))
    return lw.load(path, [0], rename=str.lower)[0] + 1


lw.unregister_pytree_node(Lonely, namespace=WHERE)

# ----------------------------------------------------------------------- maps

seen((lw.tree_map(as_text, rates), lw.tree.map(as_text, rates)))
seen((lw.tree_map(as_text, layers), lw.tree_map(as_text, trees)))
seen((lw.tree_map(doubled, point), lw.tree_map(plus, layers, layers)))
seen((lw.tree_map_shared(as_text, table), lw.tree.map_shared(as_text, table)))
seen((lw.tree_map_with_path(labelled, table), lw.tree.map_with_path(labelled, table)))
seen((lw.tree_map_(print, rates), lw.tree.map_(print, rates)))
seen((lw.tree_map_with_path_(show, table), lw.tree.map_with_path_(show, table)))
seen(lw.tree_map_only(float, doubled, layers))
seen(lw.tree.map_only(float, doubled, layers))
seen((lw.tree_broadcast_map(plus, layers, 1.0), lw.tree.broadcast_map(as_text, table)))
seen(lw.tree_broadcast_map_with_path(labelled, layers))
seen(lw.tree.broadcast_map_with_path(labelled, layers))
seen((lw.tree_transpose_map(halves, table), lw.tree.transpose_map(halves, rates)))
seen(lw.tree_transpose_map_with_path(tagged, table))
seen(lw.tree.transpose_map_with_path(tagged, rates))
seen((lw.tree_replace_nones(0.0, holes), lw.tree.replace_nones("", holes)))

# -------------------------------------------------------------- leaves and structures

seen((lw.tree_leaves(layers), lw.tree.leaves(trees), lw.tree_leaves(3.5)))
seen((lw.tree_iter(table), lw.tree.iter(rates)))
seen((lw.tree_leaves_with_path(table), lw.tree.leaves_with_path(table)))
seen((lw.tree_paths(layers), lw.tree.paths(layers)))
seen(lw.tree_leaves(point))  # Any: nobody knows the leaves of a class
seen(lw.tree_flatten(point)[1])
seen(lw.tree_flatten(layers)[0])
seen(lw.tree.flatten(table)[0])
seen(lw.tree_flatten_with_path(layers)[0])
seen(lw.tree.flatten_with_path(table)[0])
seen((lw.tree_structure(point), lw.tree.structure(point)))
seen(lw.tree_structure(layers))  # Any: leaves of other types may be put in
seen(lw.tree_unflatten(lw.tree_structure(point), [1.0, 2.0]))
seen(lw.tree.unflatten(lw.tree_structure(point), [1.0, 2.0]))
seen(lw.tree_structure(point).unflatten([1.0, 2.0]))
seen(
    lw.tree_structure(rates).flatten_up_to(layers["first"])
)  # Any: subtrees of any sort
treedef: lw.PyTreeDef[Point] = lw.tree_structure(point)
seen((treedef.num_leaves, treedef.num_nodes, treedef.num_children, treedef.paths()))
seen(treedef.type)
seen(lw.treedef_tuple([treedef, treedef]))  # Any: children are of any type
seen((lw.tree_children(rates), lw.tree.children(layers)))
seen(lw.tree_children(pairs))
seen((lw.tree_is_leaf(1.0), lw.tree.is_leaf([]), lw.all_leaves([1.0, 2.0])))
seen((lw.explain_leaf(Lonely), lw.tree_equal(rates, rates), lw.tree.equal(1, 2)))
seen(lw.tree_flatten_one_level(rates).keys)  # Any: keys of any type
seen(lw.tree.flatten_one_level(rates).children)  # Any: children are of any type
seen((lw.tree_walk(layers), lw.tree.walk(layers)))  # Any: nodes as well as leaves

# ------------------------------------------------------------------------------ folds

seen((lw.tree_sum(layers), lw.tree.sum(rates, 0.0), lw.tree_sum(trees)))
seen((lw.tree_summary(layers).rows, lw.tree.summary(rates).count))
seen((lw.tree_max(layers), lw.tree.max(rates), lw.tree_max(rates, default=None)))
seen((lw.tree_min(layers), lw.tree.min(trees)))
seen((lw.tree_reduce(plus, layers), lw.tree.reduce(plus, rates)))
seen(lw.tree_reduce(lambda n, x: n + int(x), rates, 0))
seen((lw.tree_reduce_associative(plus, rates), lw.tree_all(rates), lw.tree_any(rates)))
seen((lw.tree.reduce_associative(plus, rates), lw.tree.all(rates), lw.tree.any(rates)))

# -------------------------------------------------------------- another shape

seen((lw.broadcast_prefix(1, layers), lw.tree.broadcast_prefix("a", table)))
seen((lw.tree_broadcast_prefix(1, table), lw.tree_broadcast_prefix(True, rates)))
seen((lw.broadcast_common(rates, [1, [2, 3]]), lw.tree.broadcast_common(table, table)))
seen(lw.tree_broadcast_common(rates, rates))
seen((lw.prefix_errors([1], [[2]]), lw.equality_errors(rates, layers)))
seen((lw.tree_unzip(pairs, 2), lw.tree.unzip([(1, "x")], 2)))
seen((lw.tree_zip([rates, rates]), lw.tree.zip([[1], [2]])))
seen((lw.tree_stack([point, point], None), lw.tree.stack([point], axis=None)))
seen((lw.tree_concatenate([point], None), lw.tree.concatenate([point], None)))
seen((lw.fingerprint(layers), lw.tree_structure(layers).fingerprint()))
seen((lw.tree_size(layers), lw.tree.size(1), lw.tree_nbytes(layers), lw.tree.nbytes(1)))
outer, inner = lw.tree_structure(rates), lw.tree_structure(point)
seen(lw.tree_transpose(outer, inner, [point, point]))
seen(lw.tree.transpose(outer, inner, [point, point]))


def taken_apart(ensemble: Point) -> None:
    seen((lw.tree_unstack(ensemble), lw.tree.unstack(ensemble, axis=1)))


# ---------------------------------------------------------------------- visits


def without_nones(
    node: object, _path: lw.KeyPath, _parent: object
) -> object | lw.typing.Visit:
    return lw.DELETE if node is None else node


seen((lw.tree_visit(layers, without_nones), lw.tree.visit(table, without_nones)))
seen(lw.tree_visit(rates, leave=without_nones))
seen(lw.tree_visit(point, without_nones))

# ------------------------------------------------------------------- parts and merges

seen((lw.tree_partition(table, "w"), lw.tree.partition(point, "x")))
seen(lw.tree_combine(*lw.tree_partition(table, "w")))
seen(lw.tree.combine(*lw.tree_partition(point, "x")))
seen(selection.tree_combine(*selection.tree_partition(layers, "first")))
seen((lw.tree_merge(table, {"w": 3.0}), lw.tree.merge(point, Point(3.0))))
seen(selection.tree_merge(rates, [3.0]))
seen((lw.tree_diff(table, table), lw.tree.diff(point, point)))
seen(selection.tree_diff(1, 2)[0].path)
diff = selection.tree_diff(1, 2)
seen((diff[0], diff[0].kind, diff.apply(1)))
of_diff: selection.TreeDiff = diff
of_change: selection.Change = diff[0]
seen(diff.lines(most=1))
seen(diff[0].detail())  # Any: elements of arrays and items of sets are of any type
told = selection.tree_diff("a" * 100, "a" * 99 + "b")[0].detail()
if isinstance(told, selection.ArrayDifference):
    place: selection.Place = told.places[0]
    seen((told.before.shape, told.differing, told.relative, place.at))
    of_array: selection.Form = told.before
elif isinstance(told, selection.TextDifference | selection.SetDifference):
    seen(told)  # Any: items of sets are of any type

# ------------------------------------------------------------------ reading and editing

seen(lw.at(layers)["first"].set([3.0]))
seen(selection.at(point)["x"].set(3.0))
seen(lw.at(table)["w"].get())  # Any: a text may be a pattern, which gives a list
seen(lw.at(table)["w"].get(default=None))  # Any: a text may be a pattern
seen(lw.at(table)["w"].one())  # Any: a text may lead to a node
seen(lw.at(table)["*"].items())  # Any: a text may lead to nodes
seen((lw.at(rates)[0].get(), lw.at(rates)[0].get(default=None), lw.at(rates)[0].one()))
seen((lw.at([[1, 2], [3]])[0][1].get(), lw.at(rates)[0].items()))
seen(lw.at(layers)["first[0]"].get())  # Any: a text may lead to a node
seen(lw.at(point)["x"].get())  # Any: nobody knows the leaves of a class
seen(lw.at(point)["x"].get(default=0.0))  # Any: nobody knows the leaves of a class
seen((lw.at(table)["w"].mask(), lw.at(layers)["first"].mask()))
seen((lw.at(table)["w"].apply(doubled), lw.at(table)["w"].delete()))
seen((lw.at(table)["z"].insert(1.0), lw.at(table)["w"].paths()))
seen((lw.at(table)["w"].count(), lw.at(table)["w"].tree))
of_selection: selection.Selection[dict[str, float]] = lw.at(table)["w"]
seen(selection.tree_update(table, {"w": 2.0}))
seen(selection.tree_at(lambda t: t["w"], table, 5.0))
seen((selection.tree_move(table, "w", "v"), selection.tree_rename(table, "w", "v")))
of_selector: selection.Selector = selection.selector("**.w")
seen(selection.selector("**.w"))
seen(selection.override(point, ["x=2.0"]))
seen((selection.to_flat(table), selection.to_flat(rates), selection.to_flat(1.5)))
seen(selection.to_flat(layers))  # Any: an empty list is an entry, too
seen(selection.to_flat(trees, strict=False))  # Any: an empty list is an entry, too
seen(selection.to_flat(point, strict=False))  # Any: nobody knows the leaves of a class
seen(selection.from_flat({"w": 1.0, "bias": 2.0}, table))
report: selection.FlatReport
report = selection.from_flat({"w": 1.0}, table, partial=True)[1]
seen(report)
seen(selection.from_flat({"a.b": 1.0}))  # Any: without `like`, the names say what it is
seen(selection.tree_labels(table, {"w": "slow"}, default="fast"))
seen(selection.tree_labels(layers, {"first": 1}, default=2))
seen(selection.tree_labels(trees, {"a": 1}, default=None))
seen(selection.tree_labels(point, {"x": "slow"}, default="fast"))
seen((selection.tree_mask(table, "w"), selection.tree_mask(layers, "first")))
seen(selection.tree_unmask(selection.tree_mask(table, "w")))
seen(selection.tree_unmask(selection.tree_mask(point, "x")))
seen((selection.Masked(1.0), selection.Masked(1.0).value))
seen(selection.tree_filter(table, "w"))
seen(selection.tree_filter(table, "w", fill=None))
seen(selection.tree_filter(layers, "first", fill=None))
seen(selection.tree_filter(point, "x"))
by_size: Callable[[float], bool] = lambda x: x > 1  # noqa: E731  # its type is declared
seen(selection.tree_group_by(table, by_size))
seen(selection.tree_group_by(rates, by_size))
seen(selection.tree_group_by(point, by_size))
seen(selection.tree_map_outer(plus, table, table))
seen(selection.tree_zip_outer(table, table))

# ----------------------------------------------------------------------------- testing

testing.assert_trees_equal(table, table)
testing.assert_trees_close(table, table, rtol=1e-3)
testing.assert_same_structure(table, lw.tree_structure(table))
testing.check_node(Point, [point], namespace="")
testing.trees(max_leaves=3, nodes=[list, Point]).map(lw.tree_leaves)
seen(testing.treedefs(nodes=[list]).map(lambda treedef: treedef.num_leaves))
testing.trees_like(table).map(lw.tree_leaves)

# ------------------------------------------------------------------- later, elsewhere


async def fetch(x: int) -> str:
    return str(x)


async def gathered() -> None:
    seen(await lw.tree_gather([fetch(1), fetch(2)]))
    seen(await lw.tree.gather({"a": fetch(1)}))


if sys.platform != "emscripten":  # no loop can be run there, no thread started
    asyncio.run(gathered())
    with ThreadPoolExecutor(1) as executor:
        seen(lw.parallel(executor).tree_map(as_text, table))

"""The stand-in for torch's pytree module, beside it: names, random programs, texts."""

import copy
import dataclasses
import doctest
import enum
import functools
import inspect
import pickle
import re
import time
from collections import OrderedDict, defaultdict, deque, namedtuple
from itertools import count

import pytest

import leafwise as lw
import leafwise.compat.torch_pytree as ours
from compat.binding import missing
from compat.programs import Asked, differences, make_classes, told, trees_of
from peers import peer, torch_tree


__all__ = ["torch_tree"]  # a fixture

Point = namedtuple("Point", "x y")


class Called(namedtuple("Called", "x y")):  # noqa: SLOT002  # it has attributes
    """A named tuple whose constructor does something."""

    def __new__(cls, x, y=0):
        made = super().__new__(cls, x, y)
        made.note = "made"
        return made


class Color(enum.Enum):
    """Keys that JSON has a form for."""

    RED = 1
    BLUE = "b"


numbers = count()


@functools.cache
def classes_of(*modules):
    """Return classes that all of the modules know: with keys and without."""
    box, record = make_classes()
    name = f"compat.{next(numbers)}"

    def keyed(node):
        return [
            *zip(map(ours.SequenceKey, range(9)), node.kids, strict=False)
        ], node.aux

    for module in modules:
        module.register_pytree_node(
            box,
            lambda node: (node.kids, node.aux),
            lambda kids, aux: box(kids, aux),
            serialized_type_name=f"{name}.Box",
            flatten_with_keys_fn=keyed,
        )
        module.register_pytree_node(
            record,
            flatten_fn=lambda node: ((node.x, node.y), node.tag),
            unflatten_fn=lambda kids, tag: record(*kids, tag),
            serialized_type_name=f"{name}.Record",
            to_dumpable_context=lambda tag: {"tag": tag},
            from_dumpable_context=lambda written: written["tag"],
        )
        module._register_namedtuple(Called, serialized_type_name=f"{name}.Called")
    return box, record


# ------------------------------------------------------------------- random programs

STOPS = (
    None,
    None,
    None,
    lambda node: isinstance(node, tuple),
    lambda node: isinstance(node, dict) and len(node) > 1,
    lambda node: node is None,
    list,  # it is called
    (list,),  # it cannot be called
)


def _stop(source):
    return source.choice(STOPS)


def flattened(module, source, tree, other):
    leaves, spec = module.tree_flatten(tree, is_leaf=_stop(source))
    counts = spec.num_leaves, spec.num_nodes, spec.num_children
    return leaves, repr(spec), counts, spec.is_leaf(), repr(spec.type), spec.context


def leaves(module, source, tree, other):
    stop = Asked(_stop(source) or bool)
    which = source.choice((module.tree_leaves, lambda *a: [*module.tree_iter(*a)]))
    return which(tree, stop), stop.calls, module.tree_is_leaf(tree, stop)


def unflattened(module, source, tree, other):
    spec = module.tree_structure(tree)
    found = [*range(max(0, spec.num_leaves + source.choice((0, 0, 0, 1, -1))))]
    args = [source.choice((found, tuple(found), iter(found), 5)), spec]
    if source.random() < 0.3:
        args.reverse()
    return module.tree_unflatten(*args)


def mapped(module, source, tree, other):
    function = Asked(lambda *args: len(args))
    rests = [source.choice((tree, other)) for _ in range(source.randrange(3))]
    which = source.choice((module.tree_map, module.tree_map_))
    return which(function, tree, *rests, is_leaf=_stop(source)), function.calls


def mapped_by_name(module, source, tree, other):
    return module.tree_map(func=repr, tree=tree, is_leaf=_stop(source))


def mapped_only(module, source, tree, other):
    kinds = (str, (int, str), int | float, lambda x: x is None, "a", 5)
    which = source.choice((module.tree_map_only, module.tree_map_only_))
    function = Asked(repr)
    return which(source.choice(kinds), function, tree, _stop(source)), function.calls


def all_and_any(module, source, tree, other):
    which = source.choice((module.tree_all, module.tree_any))
    only = source.choice((module.tree_all_only, module.tree_any_only))
    test = Asked(bool)
    kind = source.choice((str, (int, str), int | float, "a"))
    return which(test, tree), test.calls, only(kind, test, tree), test.calls


def paths(module, source, tree, other):
    stop = _stop(source)
    pairs, spec = module.tree_flatten_with_path(tree, stop)
    texts = [module.keystr(path) for path, _ in pairs]
    keys = [repr(path) for path, _ in pairs]
    found = [module.key_get(tree, path) is leaf for path, leaf in pairs]
    same = [*map(told, module.tree_leaves_with_path(tree, stop))] == [*map(told, pairs)]
    return texts, keys, [leaf for _, leaf in pairs], found, repr(spec), same


def mapped_with_path(module, source, tree, other):
    function = Asked(lambda path, *args: (module.keystr(path), args))
    rests = [source.choice((tree, other)) for _ in range(source.randrange(2))]
    stop = _stop(source)
    return module.tree_map_with_path(function, tree, *rests, is_leaf=stop)


def compared(module, source, tree, other):
    stop = _stop(source)
    one, its = module.tree_structure(tree, stop), module.tree_structure(other, stop)
    same_hash = one != its or hash(one) == hash(its)
    again = [child == child for child in one.children()]
    return one == its, one != its, one == 5, same_hash, again, repr(one.children())


def up_to(module, source, tree, other):
    spec = module.tree_structure(tree, _stop(source))
    return spec.flatten_up_to(source.choice((tree, other)))


def broadcast(module, source, tree, other):
    spec = module.tree_structure(other)
    short = module.tree_map(lambda x: x, tree, is_leaf=_stop(source))
    given = source.choice((1, tree, short, [1, 2]))
    return module._broadcast_to_and_flatten(given, spec, _stop(source))


def written(module, source, tree, other):
    spec = module.tree_structure(tree)
    text = module.treespec_dumps(spec, source.choice((None, 1, 1, 2)))
    again = module.treespec_loads(text)
    return text, repr(again), again == spec


def printed(module, source, tree, other):
    text = module.treespec_pprint(module.tree_structure(tree))
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def by_hand(module, source, tree, other):
    one, its = module.tree_structure(tree), module.tree_structure(other)
    pair = module.treespec_tuple((one, its))
    table = module.treespec_dict({"a": one}, b=pair)
    made = module.TreeSpec(one.type, one.context, one.children())
    built = table.unflatten(range(table.num_leaves))
    rows = module.TreeSpec(list, None, [pair, module.treespec_leaf()])
    bad = source.choice((lambda: 0, lambda: module.treespec_tuple([1])))
    same = one.is_leaf() or made == one  # torch has two sorts of leaves
    return repr(table), built, same, repr(rows), table.child(1) == pair, bad()


def copied(module, source, tree, other):
    spec = module.tree_structure(tree)
    twin = copy.deepcopy(spec)
    again = copy.copy(twin)
    return twin == spec, repr(again), again.unflatten(range(again.num_leaves))


def registered(module, source, tree, other):
    """Register a new class, and some more than once; then forget it."""
    cls = type(
        "Pair", (), {"__init__": lambda self, *kids: setattr(self, "kids", kids)}
    )
    given = {
        "flatten_fn": lambda p: (p.kids, None),
        "unflatten_fn": lambda k, _: cls(*k),
    }
    options = source.choice(
        (
            {},
            {"serialized_type_name": "a.Pair"},
            {"flatten_with_keys_fn": lambda p: ([*enumerate(p.kids)], None)},
        )
    )
    seen = [module.tree_is_leaf(cls(1))]
    module.register_pytree_node(cls, **given, **options)
    try:
        seen += [cls in module.SUPPORTED_NODES, module.SUPPORTED_NODES[cls]._fields]
        seen += [module.tree_leaves([cls(tree, 1), 2])]
        made = module.tree_map(repr, cls(tree, 1))
        seen += [type(made) is cls, made.kids]
        for call in source.sample((_again, _dumped, _with_paths), 2):
            try:
                seen.append(call(module, cls, given))
            except Exception as error:
                seen.append(type(error).__name__)
    finally:
        module._deregister_pytree_node(cls)
    return seen, module.tree_is_leaf(cls(1)), cls in module.SUPPORTED_NODES


def _again(module, cls, given):
    module.register_pytree_node(cls, **given)


def _dumped(module, cls, given):
    text = module.treespec_dumps(module.tree_structure([cls(1, 2)]))
    return text, repr(module.treespec_loads(text)).replace("Pair", "")


def _with_paths(module, cls, given):
    return [path[-1] for path, _ in module.tree_flatten_with_path([cls(1, 2)])[0]]


PROGRAMS = [
    flattened,
    leaves,
    unflattened,
    mapped,
    mapped_by_name,
    mapped_only,
    all_and_any,
    paths,
    mapped_with_path,
    compared,
    up_to,
    broadcast,
    written,
    printed,
    by_hand,
    copied,
    registered,
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("calls", [850, pytest.param(8_500, marks=pytest.mark.slow)])
def test_random_programs_run_as_there(torch_tree, calls):
    classes = classes_of(torch_tree, ours)
    trees = trees_of(classes, deque=True)
    assert differences(PROGRAMS, torch_tree, ours, trees, calls, seed=calls) == []


# -------------------------------------------------------------------------- names

MORE = [
    "arg_tree_leaves",
    "BUILTIN_TYPES",
    "CONSTANT_NODES",
    "ConstantNode",
    "EnumEncoder",
    "Fn",
    "Fn2",
    "Fn3",
    "FnAny",
    "FlattenFunc",
    "FlattenWithKeysFn",
    "FlattenWithKeysFunc",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "MappingKey",
    "MapOnlyFn",
    "MaybeFromStrFunc",
    "NodeDef",
    "NO_SERIALIZED_TYPE_NAME_FOUND",
    "Py_TPFLAGS_BASETYPE",
    "SERIALIZED_TYPE_TO_PYTHON_TYPE",
    "STANDARD_DICT_TYPES",
    "SUPPORTED_NODES",
    "SequenceKey",
    "ToStrFunc",
    "SUPPORTED_SERIALIZED_TYPES",
    "Type2",
    "Type3",
    "TypeAny",
    "UnflattenFunc",
    "enum_object_hook",
    "DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL",
    "is_constant_class",
    "map_only",
    "pytree_to_str",
    "register_constant",
    "register_dataclass",
    "str_to_pytree",
    "structseq",
    "treespec_dict",
    "treespec_leaf",
    "treespec_tuple",
    "_LEAF_SPEC",
    "_broadcast_to_and_flatten",
    "_deregister_pytree_node",
    "_dict_flatten",
    "_dict_flatten_with_keys",
    "_dict_unflatten",
    "_get_node_type",
    "_is_constant_holder",
    "_is_leaf",
    "_is_namedtuple_instance",
    "_list_flatten",
    "_list_unflatten",
    "_namedtuple_flatten",
    "_namedtuple_unflatten",
    "_odict_flatten",
    "_odict_unflatten",
    "_private_register_pytree_node",
    "_register_namedtuple",
    "_register_pytree_node",
    "_retrieve_constant",
    "_tuple_flatten",
    "_tuple_unflatten",
    "_generate_key_paths",
]
"""What else programs use; the module has no other names but those of its imports."""


@pytest.mark.filterwarnings("ignore")
def test_every_name_is_there_and_takes_the_same_calls(torch_tree):
    names = [*torch_tree.__all__, *MORE]
    assert missing(torch_tree, ours, names=names) == []
    assert {*torch_tree.__all__} == {*ours.__all__}
    own = {
        name
        for name, value in vars(torch_tree).items()
        if getattr(value, "__module__", None) == torch_tree.__name__
        and not name.startswith("_")
    }
    assert own - {*names} <= {"T", "S", "U", "R", "K"}
    assert all(hasattr(ours, name) for name in own)


def test_the_examples_of_its_documentation_run(torch_tree):
    """Those of the docstrings, as they stand, but for the name of the module."""
    runner = doctest.DocTestRunner()
    finder = doctest.DocTestFinder(recurse=False)
    for name in torch_tree.__all__:
        function = getattr(torch_tree, name)
        if inspect.isfunction(function):
            globs = {each: getattr(ours, each) for each in ours.__all__}
            for test in finder.find(function, name, torch_tree, globs=globs):
                runner.run(test)
    assert runner.tries > 5
    assert runner.failures == 0
    peer("torch")
    for name in ("register_dataclass", "register_constant"):
        lines = getattr(torch_tree, name).__doc__.splitlines()
        source = "\n".join(line.partition(">>> ")[2] for line in lines if ">>>" in line)
        assert source.count("import torch.utils._pytree as pytree") == 1
        ran = {"__name__": f"compat.{name}", "torch": peer("torch")}
        exec(source.replace("torch.utils._pytree", ours.__name__), ran)
        ours._deregister_pytree_node(ran.get("Point") or ran["Config"])


# ----------------------------------------------------------------- texts of both


@pytest.mark.filterwarnings("ignore")
def test_specs_are_exchanged_with_torch(torch_tree):
    """Each reads what the other wrote, and writes the same."""
    trees = trees_of(classes_of(torch_tree, ours), deque=True)

    def exchanged(module, source, tree, other):
        text = module.treespec_dumps(module.tree_structure([tree, {Color.RED: other}]))
        theirs, mine = torch_tree.treespec_loads(text), ours.treespec_loads(text)
        same = torch_tree.treespec_dumps(theirs) == ours.treespec_dumps(mine) == text
        return text, repr(theirs) == repr(mine), same

    assert differences([exchanged], torch_tree, ours, trees, 300, seed="json") == []


def test_tuples_as_keys_come_back():
    """They are lists in the text, which torch takes for keys."""
    spec = ours.tree_structure({(1, ("a",)): 2, Color.BLUE: 3})
    again = ours.treespec_loads(ours.treespec_dumps(spec))
    assert again == spec
    assert again.unflatten([1, 2]) == {(1, ("a",)): 1, Color.BLUE: 2}


@pytest.mark.parametrize(
    "text",
    [
        "[2, null]",
        '[1, {"type": "no.Class", "context": null, "children_spec": []}]',
        '[1, {"type": "builtins.dict", "context": 5, "children_spec": []}]',
        '[1, {"type": "builtins.dict", "context": "{", "children_spec": []}]',
        '[1, {"type": "collections.defaultdict", "context": [], "children_spec": []}]',
        '[1, {"type": "collections.namedtuple", "context": "x", "children_spec": []}]',
        '[1, {"context": null}]',
        "{}",
        "nothing",
    ],
)
def test_texts_that_cannot_be_read_fail_as_there(torch_tree, text):
    with pytest.raises(Exception) as expected:  # noqa: PT011  # which one is compared
        torch_tree.treespec_loads(text)
    with pytest.raises(expected.type):
        ours.treespec_loads(text)


# ------------------------------------------------------- classes of all sorts, on both


@pytest.fixture(params=["torch", "leafwise"])
def pytree(request):
    """Each of the two modules: what a test says of one holds for the other."""
    if request.param == "torch":
        return request.getfixturevalue("torch_tree")
    return ours


@pytest.fixture
def forget(pytree):
    """Take registrations back."""
    classes = []
    yield lambda cls: classes.append(cls) or cls
    for cls in classes:
        pytree._deregister_pytree_node(cls)


def test_dataclasses(pytree, forget):
    @forget
    @dataclasses.dataclass
    class Size:
        width: int
        height: int
        note: str = "none"
        area: int = dataclasses.field(init=False, default=0)

    for bad in ({"field_names": ["width"]}, {"field_names": ["width", "no", "height"]}):
        with pytest.raises(ValueError, match="field_names does not include all"):
            pytree.register_dataclass(Size, **bad)
    names = {"field_names": ["width", "height"], "drop_field_names": ["note"]}
    pytree.register_dataclass(Size, **names, serialized_type_name="Size")
    pairs, spec = pytree.tree_flatten_with_path(Size(1, None, "x"))
    assert [(pytree.keystr(path), leaf) for path, leaf in pairs] == [(".width", 1)]
    assert spec.context == [["width"], ["height"]]
    assert spec.unflatten([5]) == Size(5, None)
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    with pytest.raises(ValueError, match="must be"):
        pytree.register_dataclass(int)


def test_constants(pytree, forget):
    @forget
    @dataclasses.dataclass(frozen=True)
    class Norm:
        name: str

    pytree.register_constant(Norm)
    assert pytree.is_constant_class(Norm)
    assert Norm in pytree.CONSTANT_NODES
    leaves, spec = pytree.tree_flatten([Norm("a"), 1])
    assert leaves == [1]
    assert str(spec.child(0)) == f"TreeSpec(Norm, {spec.child(0).context}, [])"
    assert pytree._is_constant_holder(spec.child(0))
    assert pytree._retrieve_constant(spec.child(0)) == Norm("a")
    assert spec == pytree.tree_structure([Norm("a"), 2])
    assert hash(spec) == hash(pytree.tree_structure([Norm("a"), 2]))
    assert spec != pytree.tree_structure([Norm("b"), 2])
    with pytest.raises(
        ValueError, match=r"context mismatch|does not have the structure"
    ):
        pytree.tree_map(max, [Norm("a"), 1], [Norm("b"), 1])
    for bad in (type("Plain", (), {}), type("Eq", (), {"__eq__": lambda a, b: True})):
        with pytest.raises(TypeError, match=r"__eq__|__hash__"):
            pytree.register_constant(bad)


def test_named_tuples_are_called(pytree, forget):
    class Again(Called):
        pass

    forget(Again)
    made = pytree.tree_map(abs, [Again(-1, -2)])[0]
    assert (made, made.note) == (Again(1, 2), "made")
    before = pytree.tree_structure(Again(1, 2))
    pytree._register_namedtuple(Again, serialized_type_name="compat.Again")
    after = pytree.tree_structure(Again(1, 2))
    assert before == after
    assert after.type is namedtuple
    assert after.context is Again
    assert pytree.treespec_loads(pytree.treespec_dumps(after)) == before
    assert pytree.tree_map(abs, Again(-1, -2)).note == "made"
    with pytest.raises(NotImplementedError):
        pytree.treespec_dumps(pytree.tree_structure(Point(1, 2)))


def test_what_is_deprecated_warns(pytree, forget):
    @forget
    class Old:
        pass

    with pytest.warns(FutureWarning):
        pytree._register_pytree_node(Old, lambda x: ([], None), lambda kids, _: Old())
    with pytest.warns(UserWarning, match="already registered"):
        pytree._private_register_pytree_node(
            Old, lambda x: ([1], None), lambda kids, _: Old()
        )
    assert pytree.tree_leaves(Old()) == [1]
    with pytest.warns(FutureWarning):
        leaf = pytree.LeafSpec()
    spec = pytree.tree_structure([1])
    with pytest.warns(FutureWarning):
        assert spec.children_specs == [leaf]
    with pytest.warns(FutureWarning):
        text = pytree.pytree_to_str(spec)
    with pytest.warns(FutureWarning):
        assert pytree.str_to_pytree(text) == spec
    with pytest.warns(FutureWarning):
        assert pytree._is_leaf(1)
    with pytest.warns(FutureWarning):
        assert pytree._is_namedtuple_instance(Point(1, 2))
    assert isinstance(pytree.treespec_leaf(), pytree.LeafSpec)
    assert not isinstance(spec, pytree.LeafSpec)
    with pytest.warns(FutureWarning), pytest.warns(UserWarning, match="Overwriting"):
        pytree._register_pytree_node(Old, id, id, lambda x: x)


def test_specs_by_hand_and_their_limits(pytree):
    leaf = pytree.treespec_leaf()
    spec = pytree.TreeSpec(defaultdict, [list, ["a"]], [leaf])
    assert spec.unflatten([1]) == defaultdict(list, a=1)
    assert pytree.TreeSpec(deque, 2, [leaf]).unflatten([1]) == deque([1], 2)
    assert pytree.TreeSpec(namedtuple, Point, [leaf, leaf]).unflatten([1, 2]) == (1, 2)
    assert pytree.TreeSpec(OrderedDict, ["b"], [leaf]).unflatten([1]) == {"b": 1}
    unknown = pytree.TreeSpec(Color, None, [leaf])
    assert str(unknown) == "TreeSpec(Color, None, [*])"
    with pytest.raises(KeyError):
        unknown.unflatten([1])
    with pytest.raises(AssertionError):
        pytree.TreeSpec(None, 1, [])
    with pytest.raises(AssertionError):
        pytree.TreeSpec(None, None, [leaf])
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec.num_leaves = 3
    with pytest.raises(IndexError):
        spec.child(1)
    with pytest.raises(TypeError):
        pytree.treespec_dumps(5)
    assert (
        pytree.key_get({"a": [1]}, (pytree.MappingKey("a"), pytree.SequenceKey(0))) == 1
    )


@pytest.mark.filterwarnings("ignore")  # torch makes a `LeafSpec` by a call
def test_specs_are_pickled(pytree):
    tree = {"a": [1, Point(2, deque([3], 4))], "b": defaultdict(list, x=(None,))}
    spec = pytree.tree_structure(tree)
    again = pickle.loads(pickle.dumps(spec))
    assert again == spec
    assert again.unflatten([1, 2, 3, 4]) == spec.unflatten([1, 2, 3, 4])
    assert copy.deepcopy(spec) == spec


def test_types_of_one_text_are_equal(pytree, forget):
    """As of a module that was loaded twice."""
    specs = []
    for name in ("compat.first", "compat.second"):
        cls = forget(type("Twin", (), {}))
        pytree.register_pytree_node(
            cls,
            lambda _: ([1], "c"),
            lambda kids, _: None,
            serialized_type_name=name,
        )
        specs.append(pytree.tree_structure([cls()]))
    assert specs[0] == specs[1]


def test_struct_sequences_are_leaves(pytree):
    assert pytree.tree_is_leaf(time.gmtime())
    assert pytree.is_structseq(time.gmtime())
    assert pytree.is_structseq_class(time.struct_time)
    assert pytree.is_structseq_instance(time.gmtime())
    assert pytree.is_namedtuple(Point)
    assert not pytree.is_namedtuple_instance(Point)
    with pytest.raises(TypeError):
        type("Sub", (pytree.structseq,), {})
    with pytest.raises(NotImplementedError):
        pytree.structseq([1])


def test_the_functions_of_built_in_nodes(pytree):
    """Classes that follow dicts are registered with these."""
    for tree in ([1], (1, 2), {"a": 1}, OrderedDict(b=1), deque([1], 3), Point(1, 2)):
        node = pytree.SUPPORTED_NODES[pytree._get_node_type(tree)]
        children, context = node.flatten_fn(tree)
        again = node.unflatten_fn(iter(children), context)
        assert again == tree
        assert type(again) is type(tree)
        pairs, same = node.flatten_with_keys_fn(tree)
        assert same == context
        assert [key.get(tree) for key, _ in pairs] == [*children]
    assert (
        pytree.SUPPORTED_SERIALIZED_TYPES[list].serialized_type_name == "builtins.list"
    )
    assert pytree.SERIALIZED_TYPE_TO_PYTHON_TYPE["builtins.tuple"] is tuple
    assert {*pytree.BUILTIN_TYPES} <= {*pytree.SUPPORTED_NODES}


# ----------------------------------------------------------------------- by itself


def test_a_class_is_registered_whole_or_not_at_all():
    class Half:
        pass

    with pytest.raises(ValueError, match="Both to_dumpable_context"):
        ours.register_pytree_node(Half, id, id, to_dumpable_context=id)
    assert Half not in ours.SUPPORTED_NODES
    with pytest.raises(ValueError, match="already registered"):
        ours.register_pytree_node(list, id, id)
    with pytest.raises(KeyError):
        ours._deregister_pytree_node(Half)
    with pytest.raises(TypeError):
        ours.SUPPORTED_NODES[Half] = 1
    assert len(ours.SUPPORTED_NODES) == len([*ours.SUPPORTED_NODES])
    assert repr(ours.SERIALIZED_TYPE_TO_PYTHON_TYPE).startswith("{'builtins.tuple'")


def test_deep_trees_and_cycles():
    deep = 1
    for _ in range(4_000):
        deep = [deep]
    leaves, spec = ours.tree_flatten(deep)
    assert leaves == [1]
    assert ours.tree_structure(deep) == spec
    assert hash(spec) == hash(ours.tree_structure(deep))
    assert str(spec).startswith("TreeSpec(list, None, [TreeSpec(list")
    assert ours.treespec_dumps(spec).count("builtins.list") == 4_000
    assert ours.tree_leaves(ours.tree_map(lambda x: -x, deep)) == [-1]
    assert pickle.loads(pickle.dumps(spec)) == spec
    node = {}
    node["a"] = [node]
    for call in (ours.tree_leaves, ours.tree_flatten_with_path):
        with pytest.raises(lw.errors.CycleError):
            call(node)


def test_classes_of_leafwise_are_nodes():
    """What is registered for all namespaces, as a `Pytree`, is known here, too."""

    class Model(lw.Pytree):
        def __init__(self):
            self.size = 3
            self.parts = lw.List([lw.data(1.0), lw.data(2.0)])

    model = Model()
    pairs, spec = ours.tree_flatten_with_path(model)
    assert [ours.keystr(path) for path, _ in pairs] == [".parts[0]", ".parts[1]"]
    assert pickle.loads(pickle.dumps(ours.tree_structure([1]))) == ours.tree_structure(
        [1]
    )
    assert ours.tree_map(abs, model).size == 3
    assert spec.unflatten([5, 6]).parts[1] == 6
    with pytest.raises(NotImplementedError):
        ours.treespec_dumps(spec)
    assert ours.tree_leaves(lw.Partial(max, 1)) == [1]


def test_errors_say_where():
    with pytest.raises(ValueError, match=r"\['a'\]\[1\]"):
        ours.tree_map(max, {"a": [1, [2]]}, {"a": [1, 2]})
    with pytest.raises(ZeroDivisionError) as caught:
        ours.tree_map(lambda x: 1 / x, {"a": [1, 0]})
    assert caught.value.__notes__ == ["at key path ['a'][1]"]


def test_keys_with_functions_find_cycles():
    class Loop:
        def __init__(self):
            self.own = self

    ours.register_pytree_node(
        Loop,
        lambda x: ([1], None),
        lambda kids, _: Loop(),
        flatten_with_keys_fn=lambda x: ([(ours.GetAttrKey("own"), x.own)], None),
    )
    try:
        with pytest.raises(lw.errors.CycleError, match=r"\.own"):
            ours.tree_flatten_with_path(Loop())
    finally:
        ours._deregister_pytree_node(Loop)

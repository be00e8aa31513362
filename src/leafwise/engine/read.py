"""The functions that read trees of a structure, and objects of `nn`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Final

from ..core.codec import SCALARS
from .plan import Part, Plan, is_exactly, is_loop
from .settings import settings
from .text import Text, targets, tuple_of


FAILURES: Final = (AttributeError, KeyError, TypeError, ValueError, RecursionError)
"""What reading a tree of another structure raises, or one for which the stack is short.

Anything else is the caller's: what a signal handler raises, for one."""

_CATCH: Final = f"except ({', '.join(error.__name__ for error in FAILURES)}):"


class Reader(Text):
    """The text of a function that reads a tree, and calls no function of the user.

    `flatten` returns the leaves and the treedef of a tree of just this structure, and
    None for any other: it checks the types of nodes, the keys, and, at the end, the
    types of all leaves at once. `flatten_up_to` returns what a tree has at the leaves,
    and None if the tree may differ.

    All that is read is of one time, as far as the walk promises it: what others may
    change meanwhile is copied in one step. What a tree yields is collected in two
    lists, a whole piece at a time: `leaves` and `varying` (aux data that varies).

    Args:
        plan: The plan.
        is_exact: Whether the text is that of `flatten`, else of `flatten_up_to`.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.engine.plan import make_plan
        >>> treedef = lw.tree_structure({"lr": 1, "sizes": [2, 3]})
        >>> text = Reader(make_plan(treedef._code))
        >>> text.write()
        >>> print(text)
        def flatten(tree):
            try:
                if type(tree) is not C1: return None
                key1, key2 = tree
                if key1 is not K1 and (type(key1) is not C2 or key1 != K1) or key2 is not K2 and (type(key2) is not C2 or key2 != K2): return None
                leaf1 = tree['lr']
                node1 = tree['sizes']
                if type(node1) is not C3: return None
                leaf2, leaf3 = node1
                leaves = [leaf1, leaf2, leaf3]
                if type(leaf1) is not T1 or type(leaf2) is not T2 or type(leaf3) is not T3:
                    if not known_leaves(map(type, leaves)): return None
                return leaves, TREEDEF
            except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
                return None
        <BLANKLINE>
    """  # noqa: E501  # generated lines are not wrapped

    _refusal = "return None"

    def __init__(self, plan: Plan, *, is_exact: bool = True) -> None:
        super().__init__()
        self.tools["copy_dict"] = dict.copy
        self.tools["is_exactly"] = is_exactly
        self._plan = plan
        self._is_exact = is_exact
        self._is_started = False  # whether the two lists are there already
        self._named_leaves: list[str] = []  # the leaves, if each has a name
        self._waiting: dict[str, list[str]] = {"leaves": [], "varying": []}
        # What is still to be written, the next step last: there is no recursion, so
        # a structure may be of any depth.
        self._steps: list[tuple[Any, ...]] = []

    def write(self) -> None:
        """Write the function."""
        head = "flatten(tree)" if self._is_exact else "flatten_up_to(treedef, tree)"
        with self.block(f"def {head}:"):
            with self.block("try:"):
                self._write_body()
            self.add(_CATCH, "    return None")

    def _write_body(self) -> None:
        root = self._plan.root
        self._steps.append((self._child, root, "tree"))
        while self._steps:
            step, *arguments = self._steps.pop()
            step(*arguments)
        self._flush()
        if not self._is_exact:
            self.add("return leaves")
            return
        if root.leaves:
            self._check_leaves()
        if self._plan.varying:
            self.add("return leaves, treedef_with(varying)")
        else:
            self.add("return leaves, TREEDEF")

    def _refuse_if(self, condition: str) -> None:
        """Write that a tree of which this holds is another one."""
        self.add(f"if {condition}: {self._refusal}")

    # ------------------------------------- what is added where the user is called

    def _ask(self, part: Part | None, var: str) -> None:
        """Write that the predicate is asked of a node or leaf."""

    def _ask_leaves(self, count: int, items: str) -> None:
        """Write that the predicate is asked of neighbouring leaves."""

    def _end_questions(self) -> None:
        """Write that the questions so far are all answered."""

    def _record(self, value: str) -> None:
        """Write that a flatten function is called with a value, or returned it."""

    def _unrecord(self) -> None:
        """Write that the last record is to be replaced."""

    # ---------------------------------------------------------------- collecting

    def _flush(self) -> None:
        """Write what waits to be collected."""
        leaves = self._waiting["leaves"]
        if not self._is_started and len(leaves) <= settings.max_leaf_checks:
            self._named_leaves = [name for name in leaves if name.isidentifier()]
        for name, items in self._waiting.items():
            if not self._is_started:
                if name == "leaves" or self._plan.varying:
                    self.add(f"{name} = {_list_of(items)}")
            elif len(items) < settings.min_spread and all(map(str.isidentifier, items)):
                self.add(*[f"{name}.append({item})" for item in items])
            else:
                self.add(f"{name} += {tuple_of(items)}")
            items.clear()
        self._is_started = True

    def _check_leaves(self) -> None:
        """Write that all leaves must be of types that are known to be leaves.

        They are mostly of the types that they had at first, or all of one type.
        """
        total = self._plan.root.leaves
        unknown = "not known_leaves(map(type, leaves))"
        if len(self._named_leaves) == total:
            others: list[str] = []
            for number, name in enumerate(self._named_leaves, start=1):
                others.append(f"type({name}) is not T{number}")
            with self.block(f"if {' or '.join(others)}:"):
                self._refuse_if(unknown)
            return
        self.add("global ALIKE", "first = type(leaves[0])")
        mixed = f"[*map(type, leaves)].count(first) != {total}"
        with self.block(f"if ALIKE is None or {mixed}:"):
            self._refuse_if(unknown)
            self.add("ALIKE = None")
        self.add("elif first is not ALIKE and not known_leaves((first,)):")
        self.add(f"    {self._refusal}")

    # ------------------------------------------------------------------ children

    def _child(self, part: Part | None, var: str) -> None:
        """Write how a node or a leaf in a variable is read, with all below it."""
        self._ask(part, var)
        if part is None:
            self._waiting["leaves"].append(var)
            return
        if part.kind == "None":
            self._refuse_if(f"{var} is not None")
            return
        self._refuse_if(f"type({var}) is not {self.name(part.cls)}")
        if not self._is_exact and _is_matched(part):
            self._matched(part, var)
        else:
            self._KINDS[part.kind](self, part, var)

    def _item(self, child: Part | None, expression: str) -> None:
        """Give a name to a child, and read it."""
        self._child(child, self.assign(expression, _prefix(child)))

    def _sequence(self, part: Part, var: str, varying: Sequence[str] = ()) -> None:
        """Read the children in a sequence: into names, or from a copy of it."""
        has_loop = any(is_loop(child, count) for child, count in part.runs)
        if 0 < part.arity <= settings.max_unpacked and not has_loop:
            names = self._child_names(part)
            self.add(f"{targets(names)} = {var}")
            self._named_children(part, names, varying)
            return
        if part.arity and part.kind != "tuple":  # others may change it meanwhile
            var = self.assign(f"[*{var}]", "items")
        self._refuse_if(f"len({var}) != {part.arity}")
        self._children_in(part, var, varying)

    def _child_names(self, part: Part) -> list[str]:
        """Return a new name for each child."""
        return [self.fresh(_prefix(child)) for child in part.children()]

    def _assigned(self, part: Part, expressions: Sequence[str]) -> list[str]:
        """Write that each child gets a name, and return the names."""
        names = self._child_names(part)
        for name, expression in zip(names, expressions, strict=True):
            self.add(f"{name} = {expression}")
        return names

    def _named_children(
        self, part: Part, names: list[str], varying: Sequence[str] = ()
    ) -> None:
        """Write what is done with children that have names, run by run, later.

        Args:
            part: The node.
            names: The names of the children.
            varying: What is collected of the node itself, after its children.
        """
        steps: list[tuple[Any, ...]] = []
        start = 0
        for child, count in part.runs:
            run = names[start : start + count]
            if is_loop(child, count):
                steps.append((self._loop, child, tuple_of(run)))
            else:
                steps += [(self._child, child, name) for name in run]
            start += count
        steps.append((self._waiting["varying"].extend, varying))
        self._steps += reversed(steps)

    def _children_in(self, part: Part, items: str, varying: Sequence[str] = ()) -> None:
        """Write what is done with the children in a sequence, run by run, later.

        Args:
            part: The node.
            items: The name of a sequence that nobody else changes.
            varying: What is collected of the node itself, after its children.
        """
        steps: list[tuple[Any, ...]] = []
        start = 0
        for child, count in part.runs:
            end = start + count
            run = items if count == part.arity else f"{items}[{start}:{end}]"
            if is_loop(child, count):
                steps.append((self._loop, child, run))
            elif child is None and count >= settings.min_spread:
                steps.append((self._leaves, count, run))
            else:
                for index in range(start, end):
                    step = (self._item, child, f"{items}[{index}]")
                    steps.append(step)
            start = end
        steps.append((self._waiting["varying"].extend, varying))
        self._steps += reversed(steps)

    def _leaves(self, count: int, items: str) -> None:
        """Read neighbouring leaves."""
        self._ask_leaves(count, items)
        self._waiting["leaves"].append(f"*{items}")

    def _loop(self, child: Part, items: str) -> None:
        """Read equal neighbours."""
        self._flush()
        self._end_questions()
        name = self.fresh("node")
        self.add(f"for {name} in {items}:")
        self.indent += "    "
        self._steps += [(self._end_loop,), (self._child, child, name)]

    def _end_loop(self) -> None:
        self._flush()
        self._end_questions()
        self.indent = self.indent[:-4]

    # -------------------------------------------------------------------- mappings

    def _mapping(self, part: Part, var: str) -> None:
        """Read a mapping: its keys, and each value by its key.

        Others may change it meanwhile, so keys and values that are to be paired by
        their order come from a copy, which is made in one step.
        """
        ordered = part.keys.ordered
        is_short = part.arity <= settings.max_key_checks
        has_order = part.kind in ("dict", "defaultdict")
        by_order = has_order and ordered is part.keys.inserted
        if self._is_exact:
            if by_order and not is_short and part.kind == "dict":
                var = self.assign(f"copy_dict({var})", "copy")
            self._compare_keys(part.keys.inserted, var)
        else:
            self._refuse_if(f"len({var}) != {part.arity}")
        if is_short:
            values = [f"{var}[{self.literal(key)}]" for key in ordered]
            self._named_children(part, self._assigned(part, values))
        elif self._is_exact and by_order:
            self._children_in(part, self.assign(f"[*{var}.values()]", "values"))
        else:
            get_values = self.name(itemgetter(*ordered))
            self._children_in(part, self.assign(f"{get_values}({var})", "values"))

    def _defaultdict(self, part: Part, var: str) -> None:
        """Read a defaultdict by a copy: a missing key would be made."""
        self._refuse_if(f"{var}.default_factory is not {self.name(part.aux[1])}")
        self._mapping(part, self.assign(f"copy_dict({var})", "copy"))

    def _compare_keys(self, keys: tuple[Any, ...], var: str) -> None:
        """Write that a mapping must have just these keys, in this order.

        They are mostly the very same objects, as names in a program are. If there are
        too many to look at each, they are compared at once, and their types.
        """
        if not keys:
            self._refuse_if(var)
            return
        types = list(map(type, keys))
        if not SCALARS.issuperset(types):
            self._refuse_if(f"not is_exactly(tuple({var}), {self.name(keys)})")
            return
        condition = ""
        key_list = f"[*{var}]"
        if len(keys) <= settings.max_key_checks:
            names = [self.fresh("key") for _ in keys]
            self.add(f"{targets(names)} = {var}")
            if len(keys) <= settings.min_spread:
                self._refuse_if(" or ".join(map(self._differs, names, keys)))
                return
            key_list = f"[{', '.join(names)}]"
            others: list[str] = []
            for name, key in zip(names, keys, strict=True):
                others.append(f"{name} is not {self.name(key)}")
            condition = f"({' or '.join(others)}) and "
        listed = self.fresh("keys")
        is_other = f"({listed} := {key_list}) != {self.name(list(keys))}"
        has_other_types = f"[*map(type, {listed})] != {self.name(types)}"
        self._refuse_if(f"{condition}({is_other} or {has_other_types})")

    def _differs(self, value: str, expected: Any) -> str:
        """Return a condition: a value is another one, or of another type."""
        constant = self.name(expected)
        cls = self.name(type(expected))
        is_other = f"(type({value}) is not {cls} or {value} != {constant})"
        return f"{value} is not {constant} and {is_other}"

    # --------------------------------------------------------------------- objects

    def _record_node(self, part: Part, var: str) -> None:
        """Read attributes."""
        form = part.node_type.form
        data = [f"{var}.{name}" for name in form.data]
        meta = [f"{var}.{name}" for name in form.meta]
        self._fields(part, data, meta, part.aux, tuple_of(meta))

    def _shaped_node(self, part: Part, var: str) -> None:
        """Read attributes of a node that tells which it has."""
        form = part.node_type.form
        shape = part.shape
        layout = self.name(shape)
        self._refuse_if(f"{var}.{form.slot} is not {layout}")
        attributes = self.assign(f"{var}.__dict__", "attributes")
        self._refuse_if(f"len({attributes}) != {len(shape.names)}")
        data = [f"{attributes}[{self.literal(name)}]" for name in shape.data]
        static = [f"{attributes}[{self.literal(name)}]" for name in shape.static]
        aux = f"{self.name(form.aux_of)}({layout}, {tuple_of(static)})"
        constants = () if part.varies else part.aux.values
        self._fields(part, data, static, constants, aux)

    def _fields(
        self,
        part: Part,
        data: list[str],
        static: list[str],
        constants: Any,
        aux: str,
    ) -> None:
        """Read children one by one; compare what is static, or collect it."""
        varying: list[str] = []
        if part.varies:
            varying.append(self.assign(aux, "aux"))
        else:
            for value, constant in zip(static, constants, strict=True):
                self._compare(value, constant)
        self._named_children(part, self._assigned(part, data), varying)

    def _compare(self, value: str, expected: Any) -> None:
        """Write that a value must be just this one."""
        if not value.isidentifier():
            value = self.assign(value, "static")
        if type(expected) in SCALARS:
            self._refuse_if(self._differs(value, expected))
        else:
            self._refuse_if(f"not is_exactly({value}, {self.name(expected)})")

    # --------------------------------------------------- nodes read by a function

    def _custom(self, part: Part, var: str) -> None:
        """Read a node by the function that was registered.

        The keys that it gives, if it does, are mostly the same objects each time. What
        is not as usual is checked and made into keys as the node type does it.
        """
        form = part.node_type.form
        result = self.fresh("result")
        items = self.fresh("children")
        aux = self.fresh("aux")
        keys = self.fresh("keys")
        unusual = [f"type({items}) is not tuple and type({items}) is not list"]
        unpacked = f"{items}, {aux}"
        keys_differ = f"{keys} is not None"
        if part.key_objects is not None:
            unpacked += f", {keys}"
            keys_differ = f"not is_exactly({keys}, {self.name(part.key_objects)})"
            unusual += [f"len({items}) != {part.arity}", f"type({keys}) is not tuple"]
            unusual.append(f"len({keys}) != {part.arity}")
            for index, key in enumerate(_usual_keys(part)):
                unusual.append(f"{keys}[{index}] is not {self.name(key)}")
        self._flush()
        self._record(var)
        self.add(f"{result} = {self.name(form.flatten)}({var})")
        self._record(result)
        self._refuse_if(f"type({result}) is not tuple")
        self.add(f"{unpacked} = {result}")
        with self.block(f"if {' or '.join(unusual)}:"):
            self._unrecord()
            checked = self.name(form.checked)
            self.add(f"{items}, ({aux}, {keys}) = {checked}({result})")
            self._record(f"({items}, {aux}, {keys})")
            self._refuse_if(keys_differ)
        varying: list[str] = []
        if part.varies:
            varying.append(self.assign(f"({aux}, None)", "aux"))
        else:
            self._compare(aux, part.aux[0])
        self._sequence(part, items, varying)

    def _called(self, part: Part, var: str) -> None:
        """Read a node by its node type."""
        items = self.fresh("children")
        aux = self.fresh("aux")
        self._flush()
        if part.calls_flatten:
            self._record(var)
        self.add(f"{items}, {aux} = {self.name(part.node_type.flatten)}({var})")
        if part.calls_flatten:
            self._record(f"({items}, *{aux})")
        if part.varies:
            self._sequence(part, items, [aux])
            return
        self._refuse_if(f"not is_exactly({aux}, {self.name(part.aux)})")
        self._sequence(part, items)

    def _matched(self, part: Part, var: str) -> None:
        """Read a node as its node type matches it with another."""
        self._flush()
        match = self.name(part.node_type.match)
        aux = self.name(part.aux)
        items = self.assign(f"{match}({aux}, {part.arity}, {var})", "children")
        self._refuse_if(f"{items} is None")
        self._sequence(part, items)

    _KINDS: Final[dict[str, Callable[[Any, Part, str], None]]] = {
        "list": _sequence,
        "tuple": _sequence,
        "namedtuple": _sequence,
        "dict": _mapping,
        "OrderedDict": _mapping,
        "mapping": _mapping,
        "defaultdict": _defaultdict,
        "record": _record_node,
        "shaped": _shaped_node,
        "custom": _custom,
        "called": _called,
    }


def _is_matched(part: Part) -> bool:
    """Return whether `flatten_up_to` leaves a node to its node type."""
    return part.kind in ("defaultdict", "called") or part.key_objects is not None


def _prefix(child: Part | None) -> str:
    """Return how the names of children of a kind begin."""
    return "leaf" if child is None else "node"


def _list_of(items: list[str]) -> str:
    """Return an expression for a new list."""
    if len(items) == 1 and items[0].startswith("*items"):  # a copy already
        return items[0][1:]
    return f"[{', '.join(items)}]"


def _usual_keys(part: Part) -> Any:
    """Return the keys that a flatten function returns, most probably."""
    checked = part.node_type.form.checked
    keys = part.key_objects
    entries = tuple([getattr(key, "entry", key) for key in keys])
    for candidates in (entries, keys):
        _, (_, checked_keys) = checked(((None,) * part.arity, None, candidates))
        if is_exactly(checked_keys, keys):
            return candidates
    return (object(),) * part.arity  # nothing is the same: they are checked each time


# -------------------------------------------------------------- reading objects


def object_reader(fields: Any, memory: str) -> Callable[[Any], Any]:
    """Return a function that reads objects of a shape.

    It returns the children and the aux data of an object, or None if the object is not
    just as expected. A framework that knows our classes flattens each object by itself;
    this makes it cheap as long as the static values are those of the last time.

    Args:
        fields: The field layout of the shape; see `Shaped`.
        memory: The attribute in which an object keeps its aux data of the last time.
    """
    return _object_text(fields, memory).compiled("read")


def _object_text(fields: Any, memory: str) -> Text:
    """Return the text of `read`.

    Example:
        >>> from types import SimpleNamespace
        >>> names = {"data": ("w",), "static": ("size",), "names": ("size", "w")}
        >>> print(_object_text(SimpleNamespace(**names), "_aux"))
        def read(node):
            try:
                values, aux = node.__dict__, node._aux
                known = aux.values
                if aux.fields is K1 and aux.seen is known and len(values) == 2 and values['size'] is known[0]: return (values['w'],), aux
            except (AttributeError, KeyError): pass
            return None
        <BLANKLINE>
    """  # noqa: E501  # generated lines are not wrapped
    text = Text()
    data = [f"values[{text.literal(name)}]" for name in fields.data]
    static = [f"values[{text.literal(name)}]" for name in fields.static]
    conditions = [
        f"aux.fields is {text.name(fields)}",
        "aux.seen is known",
        f"len(values) == {len(fields.names)}",
    ]
    for index, value in enumerate(static):
        conditions.append(f"{value} is known[{index}]")
    text.add(
        "def read(node):",
        "    try:",
        f"        values, aux = node.__dict__, node.{memory}",
        "        known = aux.values",
        f"        if {' and '.join(conditions)}: return {tuple_of(data)}, aux",
        "    except (AttributeError, KeyError): pass",
        "    return None",
    )
    return text


def attribute_builder(fields: Any) -> Callable[[Any, tuple[Any, ...]], dict[Any, Any]]:
    """Compile a function from children and static values to a `__dict__`.

    Args:
        fields: The field layout of the shape; see `Shaped`.
    """
    return _attributes_text(fields).compiled("attributes")


def _attributes_text(fields: Any) -> Text:
    """Return the text of `attributes`.

    Example:
        >>> from types import SimpleNamespace
        >>> names = {"data": ("w",), "static": ("size",), "names": ("size", "w")}
        >>> print(_attributes_text(SimpleNamespace(**names)))
        def attributes(children, static_values):
            (child1,) = children
            (static1,) = static_values
            return {'size': static1, 'w': child1}
        <BLANKLINE>
    """
    text = Text()
    children = [text.fresh("child") for _ in fields.data]
    values = [text.fresh("static") for _ in fields.static]
    variables = dict(zip(fields.data + fields.static, children + values, strict=True))
    items = [f"{text.literal(name)}: {variables[name]}" for name in fields.names]
    with text.block("def attributes(children, static_values):"):
        text.add(
            f"{tuple_of(children)} = children",
            f"{tuple_of(values)} = static_values",
            f"return {{{', '.join(items)}}}",
        )
    return text

"""Generated functions that read trees: `flatten` and `flatten_up_to`.

Owns how each kind of node is checked and read. All that is read is of one time, as far
as the walk promises it: what others may change meanwhile is copied in one step.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import cache
from operator import attrgetter, itemgetter
from typing import Any, Final

from ..core.node import Functions
from .emit import CATCH, SPREAD, Constants, Text, is_plain_name, tuple_of
from .plan import (
    FEW,
    FEW_KEYS,
    FEW_LEAVES,
    SCALARS,
    Part,
    Plan,
    Run,
    exactly,
    has_plain_keys,
    is_loop,
    keys_of,
)


_LONG: Final = 64
_MANY_KEYS: Final = 32
_SIZED: Final = 1_000


class Writer:
    """Writes the functions that read a tree.

    What a tree yields is collected in two lists, a whole piece at a time: `leaves`
    and `varying` (aux data that varies).

    Attributes:
        text: The text.
        plan: The plan.
        exact: Whether the tree must have just this structure, else only as far down.
        missed: What to do with any other tree.
        started: Whether the two lists are there already.
        count: How many leaves are in the list by now, None where it depends.
        named: The names of the leaves, if each has one.
        waiting: What goes into the two lists next.
        varying: The name of the second list, `None` if nothing varies.
        at_once: Whether the user's functions run while the tree is read, so that what
            a node has is read before them.
        functions: The names of the functions of parts, by the part.
        to_write: The parts whose functions are still to be written.
    """

    def __init__(self, plan: Plan, constants: Constants | None, *, exact: bool) -> None:
        self.text = Text(constants)
        self.plan = plan
        self.exact = exact
        self.missed = "return None"
        self.started = False
        self.count: int | None = 0
        self.named: list[str] = []
        self.waiting: dict[str, list[str]] = {"leaves": [], "varying": []}
        self.varying = "varying" if plan.varying else "None"
        self.at_once = plan.root.calls_user
        self.records = exact and plan.root.calls_user
        self.functions: dict[int, str] = {}
        self.to_write: list[Part] = []

    # ---------------------------------------------------------------- functions

    def root(self, head: str) -> None:
        """Write the function for the whole tree, up to the checks of everything."""
        self.text.add(head)
        self.text.deeper()
        self.text.add("try:")
        self.text.deeper()
        self.node(self.plan.root, "tree", inside=False)
        self.flush()

    def write_functions(self) -> None:
        """Write the functions of the parts that have their own."""
        self.text.indent = ""
        self.missed = "return True"
        while self.to_write:
            part = self.to_write.pop()
            calls = ", calls" if self.records else ""
            name = self.functions[id(part)]
            self.text.add(f"def {name}(node, leaves, varying{calls}):")
            self.text.deeper()
            self.started = True
            self.count = None
            self.node(part, "node", inside=False)
            self.flush()
            self.text.add("return False")
            self.text.back()

    def flush(self) -> None:
        """Write what waits to be collected."""
        if not self.started and len(self.waiting["leaves"]) <= FEW_LEAVES:
            self.name_leaves()
        for name, items in self.waiting.items():
            if not self.started:
                if name == "leaves" or self.plan.varying:
                    self.text.add(f"{name} = [{', '.join(items)}]")
            elif any(item.startswith("*") for item in items):
                self.text.add(f"{name} += [{', '.join(items)}]")
            elif len(items) < SPREAD:
                for item in items:
                    self.text.add(f"{name}.append({item})")
            else:
                self.text.add(f"{name} += {tuple_of(items)}")
            items.clear()
        self.started = True

    def wait(self, name: str, *items: str) -> None:
        """Collect items later, with those that follow."""
        self.waiting[name] += items

    def varying_aux(self, part: Part, aux: str) -> list[str]:
        """Return what is to be collected once the children of a node are read.

        Where functions of the user run meanwhile, the aux data is read before.
        """
        if not part.varies:
            return []
        if not self.at_once or aux.isidentifier():
            return [aux]
        name = self.text.fresh("aux")
        self.text.add(f"{name} = {aux}")
        return [name]

    def name_leaves(self) -> None:
        """Give names to leaves that are to be asked for their types one by one."""
        leaves = self.waiting["leaves"]
        if any(leaf.startswith("*") for leaf in leaves):
            return
        for place, leaf in enumerate(leaves):
            if not leaf.isidentifier():
                leaves[place] = self.text.fresh("leaf")
                self.text.add(f"{leaves[place]} = {leaf}")
        self.named = [*leaves]

    def refuse_if(self, condition: str) -> None:
        """Write that a tree of which this holds is another one."""
        self.text.add(f"if {condition}: {self.missed}")

    # -------------------------------------------------------------------- nodes

    def node(self, part: Part, var: str, *, inside: bool = True) -> None:
        """Write how a node in a variable is read, with all that is below it."""
        if inside and part.own:
            self.flush()
            calls = ", calls" if self.records else ""
            name = self.function_of(part)
            self.refuse_if(f"{name}({var}, leaves, {self.varying}{calls})")
            self.add_to_count(part.leaves)
        elif part.kind == "none":
            self.refuse_if(f"{var} is not None")
        else:
            self.refuse_if(f"type({var}) is not {self.text.constant(part.cls)}")
            getattr(self, f"read_{part.kind}")(part, var)

    def function_of(self, part: Part) -> str:
        """Return the name of the function of a part."""
        name = self.functions.get(id(part))
        if name is None:
            name = self.functions[id(part)] = self.text.fresh("flatten_part")
            self.to_write.append(part)
        return name

    def read_tuple(self, part: Part, var: str) -> None:
        """Read a tuple."""
        if part.arity > FEW or _is_one_piece(part):
            self.refuse_if(f"len({var}) != {part.arity}")
            self.spread(part, var)
        else:
            self.unpack(part, var)

    def read_list(self, part: Part, var: str) -> None:
        """Read a list in one step: others may change it meanwhile."""
        if part.arity <= FEW and not _has_loop(part):
            self.unpack(part, var)
        elif part.runs == ((None, part.arity),) and self.may_append(part):
            self.append_all(part, var)
        else:
            self.spread(part, self.copied(part, var))

    def may_append(self, part: Part) -> bool:
        """Return whether leaves are best appended, and then counted."""
        return self.count is not None and part.arity >= _LONG

    def append_all(self, part: Part, var: str) -> None:
        """Read a long list of leaves without a copy, and see how many there were."""
        self.flush()
        self.text.add(f"leaves += {var}")
        self.add_to_count(part.leaves)
        self.refuse_if(f"len(leaves) != {self.count}")

    def add_to_count(self, leaves: int) -> None:
        """Take note of leaves that are read, or wait for it."""
        if self.count is not None:
            self.count += leaves

    def copied(self, part: Part, var: str, how: str = "[*{}]") -> str:
        """Write that a sequence of known length is copied; return the copy."""
        copy = self.text.fresh("items")
        self.text.add(f"{copy} = {how.format(var)}")
        self.refuse_if(f"len({copy}) != {part.arity}")
        return copy

    def read_namedtuple(self, part: Part, var: str) -> None:
        """Read a named tuple, which may iterate in its own way."""
        if part.arity > FEW:
            self.spread(part, self.copied(part, var, "tuple({})"))
        else:
            self.unpack(part, var)

    def read_deque(self, part: Part, var: str) -> None:
        """Read a deque: its children, and its length if it is bounded."""
        if not self.exact:
            self.read_matched(part, var)
            return
        limit = self.text.constant(part.aux)
        self.refuse_if(f"{var}.maxlen != {limit}")
        self.read_namedtuple(part, var)

    def read_dict(self, part: Part, var: str) -> None:
        """Read a mapping: its keys, and each value by its key.

        Others may change it meanwhile, so keys and values that are to be paired by
        their order come from a copy, which is made in one step.
        """
        keys = keys_of(part)
        ordered = _leaf_ordered(part, keys)
        in_order = ordered is keys and part.kind != "OrderedDict"
        if self.exact and part.arity > FEW_KEYS and in_order:
            var = self.held(var)
            self.compare_keys(keys, var)
            self.spread_values(part, var)
            return
        if self.exact:
            self.compare_keys(keys, var)
        else:
            self.refuse_if(f"len({var}) != {part.arity}")
        if part.arity <= FEW_KEYS or (not self.exact and len(part.runs) > FEW):
            names = self.names_for(part)
            for name, key in zip(names, ordered, strict=True):
                self.text.add(f"{name} = {var}[{self.text.key(key)}]")
            self.children(part, names)
            return
        items = self.text.fresh("values")
        self.text.add(f"{items} = {self.text.constant(itemgetter(*ordered))}({var})")
        self.spread(part, items)

    read_OrderedDict = read_dict  # named after the kind

    def read_defaultdict(self, part: Part, var: str) -> None:
        """Read a defaultdict by a copy: a missing key would be made."""
        if not self.exact:
            self.read_matched(part, var)
            return
        self.refuse_if(
            f"{var}.default_factory is not {self.text.constant(part.aux[2])}"
        )
        self.read_dict(part, self.held(var))

    def held(self, var: str) -> str:
        """Write that a dict is copied, and return the copy."""
        held = self.text.fresh("copy")
        self.text.add(f"{held} = copy_dict({var})")
        return held

    def spread_values(self, part: Part, held: str) -> None:
        """Read the values of a dict that nobody changes, in the order of its keys."""
        items = self.text.fresh("values")
        values = f"{held}.values()"
        listed = values if self.is_read_once(part) else f"[*{values}]"
        self.text.add(f"{items} = {listed}")
        self.refuse_if(f"len({items}) != {part.arity}")
        self.spread(part, items)

    def is_read_once(self, part: Part) -> bool:
        """Return whether the children of a long node are read in one go."""
        return _is_one_piece(part)

    def compare_keys(self, keys: tuple[Any, ...], var: str) -> None:
        """Write that a mapping must have just these keys, in this order."""
        if not keys:
            self.refuse_if(var)
        elif not has_plain_keys(keys):
            self.refuse_if(f"not exactly(tuple({var}), {self.text.constant(keys)})")
        elif len(keys) > SPREAD:
            self.compare_many_keys(keys, var)
        else:
            names = [self.text.fresh("key") for _ in keys]
            self.text.add(f"{', '.join(names)}{',' * (len(names) == 1)} = {var}")
            differ = map(self.differs, names, keys)
            self.refuse_if(" or ".join(differ))

    def compare_many_keys(self, keys: tuple[Any, ...], var: str) -> None:
        """Write that all keys are compared at once, and then their types.

        Keys that are the very same objects, as names in a program are, need neither;
        but to ask that of each pays only as long as there are not too many. The size of
        a dict tells that all its keys are strings.
        """
        found, types = self.text.fresh("keys"), [*map(type, keys)]
        listed, indent = f"*{var}", self.text.indent
        are_strings = types.count(str) == len(types)
        if len(keys) <= (FEW if are_strings else _MANY_KEYS):
            names = [self.text.fresh("key") for _ in keys]
            listed = ", ".join(names)
            self.text.add(f"{listed} = {var}")
            known = map(self.text.constant, keys)
            others = map("{} is not {}".format, names, known)
            self.text.add(f"if {' or '.join(others)}:")
            self.text.deeper()
        self.text.add(f"{found} = [{listed}]")
        self.refuse_if(f"{found} != {self.text.constant([*keys])}")
        if are_strings:
            sizes = self.text.constant(string_sizes(len(keys)))
            differ = f"countOf(map(type, {found}), str) != {len(types)}"
            self.refuse_if(f"size_of({var}) not in {sizes} and {differ}")
        else:
            self.refuse_if(f"[*map(type, {found})] != {self.text.constant(types)}")
        self.text.indent = indent

    def differs(self, name: str, key: Any) -> str:
        """Return a condition: a key is another one, or an equal one of another type."""
        known, cls = self.text.constant(key), self.text.constant(type(key))
        other = f"type({name}) is not {cls} or {name} != {known}"
        return f"{name} is not {known} and ({other})"

    def read_record(self, part: Part, var: str) -> None:
        """Read attributes."""
        form: Any = part.rule.form
        data, meta = (
            [_attribute_of(self.text, var, name) for name in names]
            for names in (form.data, form.meta)
        )
        if not part.varies:
            for value, known in zip(meta, part.aux, strict=True):
                self.compare(value, known)
        varying = self.varying_aux(part, tuple_of(meta))
        self.children(part, data)
        self.wait("varying", *varying)

    def read_shaped(self, part: Part, var: str) -> None:
        """Read attributes of a node that tells which it has."""
        form: Any = part.rule.form
        shape = part.shape
        layout, attributes = (
            self.text.constant(shape.layout),
            self.text.fresh("attributes"),
        )
        self.refuse_if(f"{var}.{form.slot} is not {layout}")
        self.text.add(f"{attributes} = {var}.__dict__")
        self.refuse_if(f"len({attributes}) != {len(shape.names)}")
        data, static = (
            [f"{attributes}[{self.text.key(name)}]" for name in names]
            for names in (shape.data, shape.static)
        )
        if not part.varies:
            for value, known in zip(static, part.aux.values, strict=True):
                self.compare(value, known)
        aux_of = self.text.constant(form.aux_of) if part.varies else ""
        varying = self.varying_aux(part, f"{aux_of}({layout}, {tuple_of(static)})")
        self.children(part, data)
        self.wait("varying", *varying)

    def compare(self, value: str, known: Any) -> None:
        """Write that a value must be just this one."""
        if type(known) not in SCALARS:
            self.refuse_if(f"not exactly({value}, {self.text.constant(known)})")
            return
        if not value.isidentifier():
            name = self.text.fresh("static")
            self.text.add(f"{name} = {value}")
            value = name
        self.refuse_if(self.differs(value, known))

    def record(self, value: str) -> None:
        """Write that a node is given to a function of the user, or what came of it."""
        if self.records:
            self.text.add(f"calls.append({value})")

    def read_custom(self, part: Part, var: str) -> None:
        """Read a node by the function that somebody gave."""
        form: Any = part.rule.form
        result, items, aux = map(self.text.fresh, ("result", "children", "aux"))
        self.flush()
        self.record(var)
        self.text.add(f"{result} = {self.text.constant(form.flatten)}({var})")
        self.record(result)
        self.refuse_if(f"type({result}) is not tuple")
        self.text.add(f"{items}, {aux} = {result}")
        check, cls = self.text.constant(form.checked), self.text.constant(part.cls)
        self.text.add(f"if type({items}) is not tuple and type({items}) is not list:")
        self.text.add(f"    {items}, _ = {check}({cls}, {result})")
        self.record(f"({items}, ({aux}, None))")
        if not part.varies:
            self.compare(aux, part.aux[0])
        varying = self.varying_aux(part, f"({aux}, None)")
        self.children_from(part, items)
        self.wait("varying", *varying)

    def read_keyed(self, part: Part, var: str) -> None:
        """Read a node by the function that somebody gave, and see which keys it gives.

        What it gave for them is mostly the same objects each time, in a tuple. All else
        is checked and made into keys as the rule does it.
        """
        if not self.exact:
            self.read_matched(part, var)
            return
        form: Any = part.rule.form
        result, items, aux = map(self.text.fresh, ("result", "children", "aux"))
        given = self.text.fresh("given")
        known, keys = part.aux
        self.flush()
        self.record(var)
        self.text.add(f"{result} = {self.text.constant(form.flatten)}({var})")
        self.record(result)
        self.text.add(f"{items}, {aux}, {given} = {result}")
        unusual = [f"type({name}) is not tuple" for name in (result, items, given)]
        unusual.append(f"len({given}) != {part.arity}")
        unusual.append(f"len({items}) != {part.arity}")
        unusual += [
            f"{given}[{place}] is not {self.text.constant(value)}"
            for place, value in enumerate(_given_for(part, keys))
        ]
        self.text.add(f"if {' or '.join(unusual)}:")
        self.text.deeper()
        check, cls = self.text.constant(form.checked), self.text.constant(part.cls)
        self.text.add(f"{items}, ({aux}, {given}) = {check}({cls}, {result})")
        self.record(f"({items}, ({aux}, {given}))")
        self.refuse_if(f"not exactly({given}, {self.text.constant(keys)})")
        self.text.back()
        if self.records:
            self.text.add("else:")
            self.text.add(
                f"    calls.append(({items}, ({aux}, {self.text.constant(keys)})))"
            )
        self.compare(aux, known)
        self.children_from(part, items)

    def read_called(self, part: Part, var: str) -> None:
        """Read a node by its rule."""
        items, aux = map(self.text.fresh, ("children", "aux"))
        if not self.exact:
            self.read_matched(part, var)
            return
        self.flush()
        is_of_user = isinstance(part.rule.form, Functions)
        if is_of_user:
            self.record(var)
            self.record("None")
        self.text.add(
            f"{items}, {aux} = {self.text.constant(part.rule.flatten)}({var})"
        )
        if is_of_user:
            self.record(f"({items}, {aux})")
        self.refuse_if(f"len({items}) != {part.arity}")
        if not part.varies:
            self.refuse_if(f"not exactly({aux}, {self.text.constant(part.aux)})")
        varying = self.varying_aux(part, aux)
        self.children_from(part, items)
        self.wait("varying", *varying)

    def read_matched(self, part: Part, var: str) -> None:
        """Read a node as its rule matches it with another."""
        items = self.text.fresh("children")
        match, aux = self.text.constant(part.rule.match), self.text.constant(part.aux)
        self.flush()
        self.text.add(f"{items} = {match}({aux}, {part.arity}, {var})")
        self.refuse_if(f"{items} is None")
        self.children_from(part, items)

    # ------------------------------------------------------------------ children

    def unpack(self, part: Part, var: str) -> None:
        """Read the children of a short sequence into names."""
        if part.arity == 0:
            self.refuse_if(f"len({var}) != 0")
            return
        names = self.names_for(part)
        self.text.add(f"{', '.join(names)}{',' if len(names) == 1 else ''} = {var}")
        self.children(part, names)

    def names_for(self, part: Part) -> list[str]:
        """Return a new name for each child."""
        return [
            self.text.fresh("leaf" if child is None else "node")
            for child in expanded(part.runs)
        ]

    def children_from(self, part: Part, items: str) -> None:
        """Read the children in a tuple or list that a function gave."""
        if part.arity <= FEW:
            self.unpack(part, items)
        else:
            self.spread(part, self.copied(part, items))

    def children(self, part: Part, values: list[str]) -> None:
        """Read children that are given one by one."""
        nodes = expanded(part.runs)
        for place, (child, value) in enumerate(zip(nodes, values, strict=True)):
            if not value.isidentifier() and (child is not None or self.at_once):
                values[place] = self.text.fresh("leaf" if child is None else "node")
                self.text.add(f"{values[place]} = {value}")
        rest = iter(values)
        for child, count in part.runs:
            these = [next(rest) for _ in range(count)]
            if child is None:
                self.wait("leaves", *these)
                self.add_to_count(count)
            elif is_loop(child, count):
                self.loop(child, count, tuple_of(these))
            else:
                for name in these:
                    self.node(child, name)

    def spread(self, part: Part, items: str) -> None:
        """Read the children of a long sequence, run by run."""
        start = 0
        for child, count in part.runs:
            end = start + count
            piece = items if count == part.arity else f"{items}[{start}:{end}]"
            if child is None:
                few = [f"{items}[{place}]" for place in range(start, end)]
                self.wait("leaves", *(few if count < SPREAD else [f"*{piece}"]))
                self.add_to_count(count)
            elif is_loop(child, count):
                self.loop(child, count, piece)
            else:
                for place in range(start, end):
                    name = self.text.fresh("node")
                    self.text.add(f"{name} = {items}[{place}]")
                    self.node(child, name)
            start = end

    def loop(self, child: Part, count: int, items: str) -> None:
        """Read equal neighbours."""
        self.flush()
        count_before, self.count = self.count, None
        name = self.text.fresh("node")
        self.text.add(f"for {name} in {items}:")
        self.text.deeper()
        self.node(child, name)
        self.flush()
        self.text.back()
        self.count = count_before
        self.add_to_count(count * child.leaves)

    # -------------------------------------------------------------------- checks

    def check_leaves(self) -> None:
        """Write that all leaves must be of types that are known to be leaves."""
        condition = "not known_leaves(map(type, leaves))"
        if self.named and len(self.named) == self.plan.root.leaves:
            others = " or ".join(
                f"type({name}) is not T{number}"
                for number, name in enumerate(self.named, start=1)
            )
            self.text.add(f"if {others}:")
            self.text.deeper()
            self.refuse_if(condition)
            self.text.back()
        else:
            others = f"[*map(type, leaves)].count(first) != {self.plan.root.leaves}"
            self.text.add("global ALIKE")
            self.text.add("first = type(leaves[0])")
            self.text.add(f"if ALIKE is None or {others}:")
            self.text.deeper()
            self.refuse_if(condition)
            self.text.add("ALIKE = None")
            self.text.back()
            other = "first is not ALIKE and not known_leaves((first,))"
            self.text.add(f"elif {other}: {self.missed}")


def string_sizes(length: int) -> frozenset[int]:
    """Return sizes of dicts of that length whose keys are all exact strings.

    CPython keeps no hashes for the keys of such a dict, until it is given another key.
    There may be more sizes; none is returned that another dict can have. Where all
    dicts take the same, that leaves none.
    """
    return _string_sizes(length.bit_length()) if length <= _SIZED else frozenset()


@cache
def _string_sizes(bits: int) -> frozenset[int]:
    sizes: dict[Any, set[int]] = {chr: set(), int: set()}
    for log in range(max(bits - 1, 3), bits + 3):
        for make, found in sizes.items():
            for cls in (dict, OrderedDict):
                keys = map(make, range((1 << log) * 2 // 3))
                found.add(dict.__sizeof__(cls.fromkeys(keys)))
    return frozenset(sizes[chr] - sizes[int])


def _attribute_of(text: Text, var: str, name: str) -> str:
    """Return an expression that reads an attribute."""
    if is_plain_name(name):
        return f"{var}.{name}"
    return f"{text.constant(attrgetter(name))}({var})"


def expanded(runs: Sequence[Run]) -> Iterator[Part | None]:
    """Yield the children of a node one by one: a part, or None for a leaf."""
    for part, count in runs:
        yield from (part,) * count


def _is_one_piece(part: Part) -> bool:
    """Return whether the children are all leaves, or all read in one loop, or none."""
    if len(part.runs) != 1:
        return not part.runs
    child, count = part.runs[0]
    return count >= SPREAD if child is None else is_loop(child, count)


def _has_loop(part: Part) -> bool:
    return any(child is not None and is_loop(child, n) for child, n in part.runs)


def _leaf_ordered(part: Part, keys: tuple[Any, ...]) -> Sequence[Any]:
    order = None if part.kind == "OrderedDict" else part.aux[1]
    return keys if order is None else order.gather(keys)


def _given_for(part: Part, keys: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what a flatten function gives that gives these keys, most probably."""
    form: Any = part.rule.form
    for given in (tuple([getattr(key, "entry", key) for key in keys]), keys):
        _, (_, found) = form.checked(part.cls, ((None,) * part.arity, None, given))
        if exactly(found, keys):
            return given
    return (object(),) * part.arity  # it is checked each time


def emit_flatten(plan: Plan, constants: Constants | None = None) -> Text:
    """Return the text of `flatten`.

    What depends on the registry is left to be filled in: `known_leaves`, which takes
    an iterable of types and returns whether all are leaf types; `TREEDEF`, or
    `treedef_with`, if something varies; and where there are no more than `FEW_LEAVES`
    leaves, `T1`, `T2`, ...: types of leaves that need not be looked up; `ALIKE`, the
    type that all leaves had when it was filled in, None once they had several.
    """
    writer = Writer(plan, constants, exact=True)
    text = writer.text
    writer.root(f"def flatten(tree{', calls' if writer.records else ''}):")
    if plan.root.leaves:
        writer.check_leaves()
    text.add(
        "return leaves, treedef_with(varying)"
        if plan.varying
        else "return leaves, TREEDEF"
    )
    if writer.records:
        text.back()
        text.add("except Exception as error:  # of a function of the user, maybe")
        text.add("    if not is_miss(error, calls): raise")
        text.add("    return None")
    else:
        _give_up(text)
    writer.write_functions()
    return text


def emit_flatten_up_to(plan: Plan, constants: Constants | None = None) -> Text | None:
    """Return the text of `flatten_up_to`, None where aux data varies."""
    if plan.varying:
        return None
    writer = Writer(plan, constants, exact=False)
    writer.root("def flatten_up_to(treedef, tree):")
    lines, collected = writer.text.lines, writer.text.indent + "leaves = "
    if lines[-1].startswith(collected):
        lines[-1] = lines[-1].replace("leaves = ", "return ", 1)
    else:
        writer.text.add("return leaves")
    _give_up(writer.text)
    writer.write_functions()
    return writer.text


def _give_up(text: Text) -> None:
    text.back()
    text.add(CATCH)
    text.add("    return None")

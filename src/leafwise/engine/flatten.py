"""Generated functions that read trees: `flatten` and `flatten_up_to`.

Owns how each kind of node is checked and read. All that is read is of one time, as far
as the walk promises it: what others may change meanwhile is copied in one step.

With a predicate, `flatten` reads the trees of one structure whatever the answers: a
leaf is what the predicate says is one, or what has the type of one; of a node it must
say no. It takes note of the question that it is at. Where a tree turns out to be
another one, the walk begins anew, and is given the answers that there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any

from ..core.node import Functions
from .emit import (
    CATCH,
    SPREAD,
    Constants,
    Text,
    answers_of,
    is_plain_name,
    targets,
    tuple_of,
)
from .plan import (
    FEW,
    FEW_KEYS,
    FEW_LEAVES,
    SCALARS,
    Part,
    Plan,
    exactly,
    has_plain_keys,
    is_loop,
    keys_of,
)


_LONG = 64


class Reader:
    """Writes a function that reads a tree.

    What a tree yields is collected in two lists, a whole piece at a time: `leaves`
    and `varying` (aux data that varies).

    Attributes:
        text: The text.
        plan: The plan.
        exact: Whether the tree must have just this structure, else only as far down.
        asks: Whether a predicate is asked.
        missed: What to do with any other tree.
        records: Whether calls of flatten functions are noted.
        started: Whether the two lists are there already.
        count: How many leaves are in the list by now, None where it depends.
        named: The names of the leaves, if each has one.
        waiting: What goes into the two lists next.
        asked: How many questions were asked, since `before` was counted up.
        steps: What is written next, the last first: methods and their arguments.
    """

    def __init__(
        self,
        plan: Plan,
        constants: Constants | None,
        *,
        exact: bool = True,
        asks: bool = False,
    ) -> None:
        self.text = Text(constants)
        self.plan = plan
        self.exact = exact
        self.asks = asks
        self.records = exact and plan.root.calls_user
        self.missed = "raise Missed" if asks or self.records else "return None"
        self.started = False
        self.count: int | None = None if asks else 0
        self.named: list[str] = []
        self.waiting: dict[str, list[str]] = {"leaves": [], "varying": []}
        self.asked = 0
        self.steps: list[tuple[Any, ...]] = [(self.child, plan.root, "tree")]

    def write(self) -> Text:
        """Write the function."""
        text, plan = self.text, self.plan
        head, result = "flatten_up_to(treedef, tree)", "leaves"
        if self.exact:
            head = "flatten(tree, ask)" if self.asks else "flatten(tree)"
            result = "treedef_with(varying)" if plan.varying else "TREEDEF"
            result = f"leaves, {result}"
        with text.block(f"def {head}:"):
            begin = len(text.lines)
            with text.block("try:"):
                while self.steps:
                    step, *given = self.steps.pop()
                    step(*given)
                self.flush()
                if self.exact and not self.asks and plan.root.leaves:
                    self.check_leaves()
                text.add(f"return {result}")
            if not self.asks and not self.records:
                text.add(CATCH, "    return None")
                return text
            calls = "calls, node" if self.records else "(), None"
            made = [f"{calls} = [], None"] if self.records else []
            with text.block("except Exception as error:"):
                if self.asks:
                    made.append("at = 0")
                    place = "at, 0"
                    if plan.root.has_loop:
                        made.append("before, rest = 0, ()")
                        place = "at, before - length_hint(rest)"
                    text.names["answers_of"] = partial(
                        answers_of, [*leaves_of(plan.root)]
                    )
                    text.add(f"answers = answers_of(error, {place}, {calls})")
                    text.add("if answers is None: raise")
                else:
                    text.add(f"if not is_miss(error, {calls}): raise")
            asked = ", ask, answers" if self.asks else ""
            text.add(f"return go_on(tree, {calls.partition(', ')[0]}{asked})")
            text.lines[begin:begin] = [text.indent + line for line in made]
        return text

    def refuse_if(self, condition: str) -> None:
        """Write that a tree of which this holds is another one."""
        self.text.add(f"if {condition}: {self.missed}")

    # ---------------------------------------------------------------- collecting

    def flush(self) -> None:
        """Write what waits to be collected."""
        leaves = self.waiting["leaves"]
        if not self.started and len(leaves) <= FEW_LEAVES:
            self.named = [name for name in leaves if name.isidentifier()]
        for name, items in self.waiting.items():
            if not self.started:
                if name == "leaves" or self.plan.varying:
                    self.text.add(f"{name} = [{', '.join(items)}]")
            elif any(item.startswith("*") for item in items):
                self.text.add(f"{name} += [{', '.join(items)}]")
            elif len(items) < SPREAD:
                self.text.add(*[f"{name}.append({item})" for item in items])
            else:
                self.text.add(f"{name} += {tuple_of(items)}")
            items.clear()
        self.started = True

    def collect(self, items: list[str], count: int) -> None:
        """Collect leaves, together with those that follow."""
        self.waiting["leaves"] += items
        if self.count is not None:
            self.count += count

    def check_leaves(self) -> None:
        """Write that all leaves must be of types that are known to be leaves.

        They are mostly of the types that they had at first, or all of one type.
        """
        total = self.plan.root.leaves
        unknown = "not known_leaves(map(type, leaves))"
        if len(self.named) == total:
            others = [
                f"type({name}) is not T{number}"
                for number, name in enumerate(self.named, start=1)
            ]
            with self.text.block(f"if {' or '.join(others)}:"):
                self.refuse_if(unknown)
            return
        self.text.add("global ALIKE", "first = type(leaves[0])")
        mixed = f"[*map(type, leaves)].count(first) != {total}"
        with self.text.block(f"if ALIKE is None or {mixed}:"):
            self.refuse_if(unknown)
            self.text.add("ALIKE = None")
        self.text.add("elif first is not ALIKE and not known_leaves((first,)):")
        self.text.add(f"    {self.missed}")

    # -------------------------------------------------------------------- asking

    def question(self, var: str, *, is_leaf: bool) -> None:
        """Write that the predicate is asked of a node or a leaf."""
        number, self.asked = self.asked, self.asked + 1
        self.text.add(f"at = {2 * number}")
        if is_leaf:
            self.refuse_if(_is_other(var))
        else:
            self.refuse_if(f"ask({var})")
            self.text.add(f"at = {2 * number + 1}")

    def leaf_questions(self, items: str, count: int) -> None:
        """Write that the predicate is asked of leaves in a loop."""
        self.asked += count
        leaf = self.text.fresh("leaf")
        self.text.add(f"at, rest = {2 * self.asked - 2}, iter({items})")
        with self.text.block(f"for {leaf} in rest:"):
            self.refuse_if(_is_other(leaf))

    # -------------------------------------------------------------------- nodes

    def child(self, part: Part | None, var: str) -> None:
        """Write how a node or a leaf in a variable is read, with all below it."""
        if self.asks:
            self.question(var, is_leaf=part is None)
        if part is None:
            self.collect([var], 1)
        elif part.kind == "none":
            self.refuse_if(f"{var} is not None")
        else:
            self.refuse_if(f"type({var}) is not {self.text.name(part.cls)}")
            if not self.exact and part.kind in ("deque", "defaultdict", "keyed"):
                self.read_matched(part, var)
            else:
                getattr(self, f"read_{part.kind}")(part, var)

    def read_tuple(self, part: Part, var: str) -> None:
        """Read a tuple."""
        self.sequence(part, var, "")

    def read_list(self, part: Part, var: str) -> None:
        """Read a list in one step: others may change it meanwhile."""
        is_long = part.runs == ((None, part.arity),) and part.arity >= _LONG
        if not is_long or self.count is None:
            self.sequence(part, var)
        else:  # without a copy: see how many there were
            self.flush()
            self.text.add(f"leaves += {var}")
            self.collect([], part.arity)
            self.refuse_if(f"len(leaves) != {self.count}")

    def read_namedtuple(self, part: Part, var: str) -> None:
        """Read a named tuple, which may iterate in its own way."""
        self.sequence(part, var)

    def read_deque(self, part: Part, var: str) -> None:
        """Read a deque: its children, and its length if it is bounded."""
        self.refuse_if(f"{var}.maxlen != {self.text.name(part.aux)}")
        self.sequence(part, var)

    def read_dict(self, part: Part, var: str) -> None:
        """Read a mapping: its keys, and each value by its key.

        Others may change it meanwhile, so keys and values that are to be paired by
        their order come from a copy, which is made in one step.
        """
        keys = keys_of(part)
        order = None if part.kind == "OrderedDict" else part.aux[1]
        ordered: Any = keys if order is None else order.gather(keys)
        if self.exact:
            if part.arity > FEW_KEYS and part.kind == "dict":
                var = self.held(var)
            self.compare_keys(keys, var)
        else:
            self.refuse_if(f"len({var}) != {part.arity}")
        if part.arity <= FEW_KEYS:
            found = [f"{var}[{self.text.written(key)}]" for key in ordered]
            self.children(part, self.kept(part, found))
        else:
            items = self.text.fresh("values")
            values = f"{self.text.name(itemgetter(*ordered))}({var})"
            if self.exact and ordered is keys and part.kind != "OrderedDict":
                values = f"[*{var}.values()]"
            self.text.add(f"{items} = {values}")
            self.children(part, items)

    read_OrderedDict = read_dict  # named after the kind

    def read_defaultdict(self, part: Part, var: str) -> None:
        """Read a defaultdict by a copy: a missing key would be made."""
        self.refuse_if(f"{var}.default_factory is not {self.text.name(part.aux[2])}")
        self.read_dict(part, self.held(var))

    def held(self, var: str) -> str:
        """Write that a dict is copied, and return the copy."""
        held = self.text.fresh("copy")
        self.text.add(f"{held} = copy_dict({var})")
        return held

    def compare_keys(self, keys: tuple[Any, ...], var: str) -> None:
        """Write that a mapping must have just these keys, in this order.

        They are mostly the very same objects, as names in a program are. If there are
        too many to look at each, they are compared at once, and their types.
        """
        name, found = self.text.name, f"[*{var}]"
        if not keys:
            self.refuse_if(var)
            return
        if not has_plain_keys(keys):
            self.refuse_if(f"not exactly(tuple({var}), {name(keys)})")
            return
        others = ""
        if len(keys) <= FEW_KEYS:
            names = [self.text.fresh("key") for _ in keys]
            self.text.add(f"{targets(names)} = {var}")
            differ = [f"{n} is not {name(k)}" for n, k in zip(names, keys, strict=True)]
            others, found = f"if {' or '.join(differ)}:", f"[{', '.join(names)}]"
        with self.text.block(others) if others else nullcontext():
            same = self.text.fresh("keys")
            self.text.add(f"{same} = {found}")
            types = f"[*map(type, {same})] != {name([*map(type, keys)])}"
            self.refuse_if(f"{same} != {name([*keys])} or {types}")

    def read_record(self, part: Part, var: str) -> None:
        """Read attributes."""
        form: Any = part.rule.form
        data, meta = (
            [self.attribute(var, name) for name in names]
            for names in (form.data, form.meta)
        )
        self.fields(part, data, meta, part.aux, tuple_of(meta))

    def read_shaped(self, part: Part, var: str) -> None:
        """Read attributes of a node that tells which it has."""
        form: Any = part.rule.form
        shape, held = part.shape, self.text.fresh("attributes")
        layout = self.text.name(shape.layout)
        self.refuse_if(f"{var}.{form.slot} is not {layout}")
        self.text.add(f"{held} = {var}.__dict__")
        self.refuse_if(f"len({held}) != {len(shape.names)}")
        data, static = (
            [f"{held}[{self.text.written(name)}]" for name in names]
            for names in (shape.data, shape.static)
        )
        known = None if part.varies else part.aux.values
        aux = f"{self.text.name(form.aux_of)}({layout}, {tuple_of(static)})"
        self.fields(part, data, static, known, aux)

    def fields(
        self, part: Part, data: list[str], meta: list[str], known: Any, aux: str
    ) -> None:
        """Read children one by one; compare what is static, or collect it."""
        if not part.varies:
            for value, constant in zip(meta, known, strict=True):
                self.compare(value, constant)
        self.children(part, self.kept(part, data), self.varying_aux(part, aux))

    def attribute(self, var: str, name: str) -> str:
        """Return an expression that reads an attribute."""
        if is_plain_name(name):
            return f"{var}.{name}"
        return f"{self.text.name(attrgetter(name))}({var})"

    def varying_aux(self, part: Part, aux: str) -> list[str]:
        """Return what is to be collected once the children of a node are read."""
        if not part.varies:
            return []
        name = self.text.fresh("aux")
        self.text.add(f"{name} = {aux}")
        return [name]

    def compare(self, value: str, known: Any) -> None:
        """Write that a value must be just this one."""
        name = self.text.fresh("static")
        constant, cls = self.text.name(known), self.text.name(type(known))
        self.text.add(f"{name} = {value}")
        other = f"not exactly({name}, {constant})"
        if type(known) in SCALARS:
            other = f"(type({name}) is not {cls} or {name} != {constant})"
        self.refuse_if(f"{name} is not {constant} and {other}")

    def record(self, *values: str) -> None:
        """Write what is known of a call of a function of the user by now."""
        if self.records:
            self.text.add(*values)

    def read_custom(self, part: Part, var: str) -> None:
        """Read a node by the function that somebody gave.

        The keys that it gives, if it does, are mostly the same objects each time, in a
        tuple. All else is checked and made into keys as the rule does it.
        """
        text, form = self.text, part.rule.form
        items, aux, keys = *map(text.fresh, ("children", "aux")), None
        result, names, found = text.fresh("result"), [items, aux], "_"
        unusual = [
            f"type({result}) is not tuple",
            f"type({items}) is not tuple and type({items}) is not list",
        ]
        if part.kind == "keyed":
            found, keys = text.fresh("given"), part.aux[1]
            names.append(found)
            unusual += [f"type({found}) is not tuple", f"len({found}) != {part.arity}"]
            unusual.append(f"len({items}) != {part.arity}")
            unusual += [
                f"{found}[{place}] is not {text.name(value)}"
                for place, value in enumerate(_given_for(part, keys))
            ]
        self.flush()
        self.record(f"node = {var}")
        text.add(f"{result} = {text.name(form.flatten)}({var})")
        self.record(f"calls.append((node, {result}, False))")
        text.add(f"{targets(names)} = {result}")
        with text.block(f"if {' or '.join(unusual)}:"):
            checked = f"{text.name(form.checked)}({text.name(part.cls)}, {result})"
            text.add(f"{items}, ({aux}, {found}) = {checked}")
            self.record(f"calls[-1] = node, ({items}, ({aux}, {found})), True")
            if keys is not None:
                self.record("node = None")
                self.refuse_if(f"not exactly({found}, {text.name(keys)})")
        self.record("node = None")
        if not part.varies:
            self.compare(aux, part.aux[0])
        self.sequence(part, items, more=self.varying_aux(part, f"({aux}, None)"))

    read_keyed = read_custom

    def read_called(self, part: Part, var: str) -> None:
        """Read a node by its rule."""
        if not self.exact:
            self.read_matched(part, var)
            return
        items, aux = map(self.text.fresh, ("children", "aux"))
        self.flush()
        is_of_user = isinstance(part.rule.form, Functions)
        if is_of_user:
            self.record(f"node = {var}")
        self.text.add(f"{items}, {aux} = {self.text.name(part.rule.flatten)}({var})")
        if is_of_user:
            self.record(f"calls.append((node, ({items}, {aux}), True))", "node = None")
        if not part.varies:
            self.refuse_if(f"not exactly({aux}, {self.text.name(part.aux)})")
        self.sequence(part, items, more=self.varying_aux(part, aux))

    def read_matched(self, part: Part, var: str) -> None:
        """Read a node as its rule matches it with another."""
        items = self.text.fresh("children")
        match, aux = self.text.name(part.rule.match), self.text.name(part.aux)
        self.flush()
        self.text.add(f"{items} = {match}({aux}, {part.arity}, {var})")
        self.refuse_if(f"{items} is None")
        self.sequence(part, items)

    # ------------------------------------------------------------------ children

    def sequence(
        self, part: Part, var: str, copy: str = "*", more: Sequence[str] = ()
    ) -> None:
        """Read the children in a sequence: into names, or from a copy of it."""
        has_loop = any(child and is_loop(child, n) for child, n in part.runs)
        source: Any = var
        if 0 < part.arity <= FEW and not has_loop:
            source = self.kept(part, [])
            self.text.add(f"{targets(source)} = {var}")
        else:
            if copy and part.arity:
                source = self.text.fresh("items")
                self.text.add(f"{source} = [*{var}]")
            self.refuse_if(f"len({source}) != {part.arity}")
        self.children(part, source, more)

    def kept(self, part: Part, values: list[str]) -> list[str]:
        """Return a new name for each child, which is given to its value."""
        names = [
            self.text.fresh("leaf" if child is None else "node")
            for child, count in part.runs
            for _ in range(count)
        ]
        pairs = zip(names, values, strict=False)
        self.text.add(*[f"{name} = {value}" for name, value in pairs])
        return names

    def children(
        self, part: Part, source: str | list[str], more: Sequence[str] = ()
    ) -> None:
        """Write what is done with each child, run by run.

        Args:
            part: The node.
            source: The names of the children, or that of a sequence which has them and
                which nobody changes.
            more: What is collected of the node itself, after its children.
        """
        start = 0
        steps: list[tuple[Any, ...]] = []
        for child, count in part.runs:
            end = start + count
            is_spread = type(source) is str and child is None and count >= SPREAD
            if is_spread or (child is not None and is_loop(child, count)):
                piece: Any = (
                    source if count == part.arity else f"{source}[{start}:{end}]"
                )
                if type(source) is not str:
                    piece = tuple_of(source[start:end])
                steps.append(
                    (self.leaves if is_spread else self.loop, child, count, piece)
                )
            elif isinstance(source, str):
                items = [f"{source}[{place}]" for place in range(start, end)]
                steps += [(self.item, child, item) for item in items]
            else:
                steps += [(self.child, child, name) for name in source[start:end]]
            start = end
        steps.append((self.waiting["varying"].extend, more))
        self.steps += reversed(steps)

    def item(self, child: Part | None, value: str) -> None:
        """Give a name to a child, and read it."""
        name = self.text.fresh("leaf" if child is None else "node")
        self.text.add(f"{name} = {value}")
        self.child(child, name)

    def leaves(self, _child: None, count: int, items: str) -> None:
        """Read neighbouring leaves."""
        if self.asks:
            self.leaf_questions(items, count)
        self.collect([f"*{items}"], count)

    def loop(self, child: Part, count: int, items: str) -> None:
        """Read equal neighbours."""
        self.flush()
        name, text, before = self.text.fresh("node"), self.text, self.count
        self.count = None
        if self.asks:
            text.add(f"before += {self.asked}")
            self.asked = 0
        text.add(f"for {name} in {items}:")
        text.indent += "    "

        def end() -> None:
            self.flush()
            if self.asks:
                text.add("at = -1", f"before += {self.asked}")
                self.asked = 0
            text.indent = text.indent[:-4]
            self.count = before
            self.collect([], count * child.leaves)

        self.steps += ((end,), (self.child, child, name))


def _is_other(leaf: str) -> str:
    """Return a condition: neither the predicate nor its type makes this a leaf."""
    return (
        f"not ask({leaf}) and type({leaf}) is not T and type({leaf}) not in leaf_types"
    )


def leaves_of(part: Part) -> Iterator[bool]:
    """Yield for each node and leaf, in the order of a walk, whether it is a leaf."""
    yield False
    for child, count in part.runs:
        if child is None:
            yield from (True,) * count
        else:
            yield from [*leaves_of(child)] * count


def _given_for(part: Part, keys: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what a flatten function gives that gives these keys, most probably."""
    form: Any = part.rule.form
    for given in (tuple([getattr(key, "entry", key) for key in keys]), keys):
        _, (_, found) = form.checked(part.cls, ((None,) * part.arity, None, given))
        if exactly(found, keys):
            return given
    return (object(),) * part.arity  # it is checked each time

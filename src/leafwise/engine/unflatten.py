"""Generated functions that rebuild trees: `unflatten`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ..core.keys import leaf_order
from .emit import SPREAD, Constants, Text, is_plain_name, targets, tuple_of
from .plan import FEW, STORED, WIDE, Part, Plan, is_loop, keys_of


_MAPPINGS: Final = frozenset({"dict", "defaultdict", "OrderedDict"})
_NESTED: Final = 12
_BATCH: Final = 64
_CUTS: Final = 256


class _Writer:
    """Writes the functions that rebuild a tree.

    A scope is a function or the body of a loop; it has a sequence of leaves, which
    is cut into pieces first: single leaves, runs of them, leaves of a loop or of
    another function.

    Attributes:
        text: The text.
        plan: The plan.
        varying: The name of the iterator over aux data that varies, `None` if nothing
            does.
        pieces: Expressions for the pieces that are not used yet.
        cut_from: Which sequence a piece is cut from, and where it begins there.
    """

    def __init__(self, plan: Plan, constants: Constants | None) -> None:
        self.text = Text(constants)
        self.plan = plan
        self.varying = "varying" if plan.varying else "None"
        self.pieces: Iterator[str] = iter(())
        self.cut_from: dict[str, tuple[str, int]] = {}

    def write(self) -> None:
        """Write the function for the whole tree, and those that it calls."""
        text = self.text
        text.add("def unflatten(treedef, leaves):")
        text.indent += "    "
        text.add("try:")
        text.indent += "    "
        if self.plan.varying:
            text.names["PLACES"] = self.plan.varying
            text.add("code = treedef._code")
            text.add("varying = iter([code[place][3] for place in PLACES])")
        self.scope(self.plan.root, fresh_list=True)
        text.indent = text.indent[:-4]
        text.add("except Exception as error:")
        text.add("    failed = error")
        text.indent = "    "
        text.add("return explain_failure(treedef, leaves, failed)")

    def scope(self, part: Part, *, fresh_list: bool) -> None:
        """Write how a part is rebuilt from a sequence of leaves, and return it."""
        self.cut(part, "leaves", fresh_list=fresh_list)
        self.text.add(f"return {self.node(part)[0]}")

    # -------------------------------------------------------------------- pieces

    def cut(self, part: Part, leaves: str, *, fresh_list: bool) -> None:
        """Write how the leaves of a scope are named, in pieces."""
        sizes = [*_pieces(part)]
        names: list[str] = []
        if all(kind == "leaf" for kind, _ in sizes):
            names = [self.text.fresh("leaf") for _ in sizes]
            if names:
                self.text.add(f"{targets(names)} = {leaves}")
        else:
            start = 0
            for kind, count in _grouped(sizes):
                end = start + count
                whole = count == part.leaves and not (fresh_list and kind == "bulk")
                piece = leaves if whole else f"{leaves}[{start}:{end}]"
                self.cut_from[piece] = leaves, start
                if count == 0:
                    piece = "()"
                if kind == "leaf":
                    some = [self.text.fresh("leaf") for _ in range(count)]
                    self.text.add(f"{targets(some)} = {piece}")
                    names += some
                else:
                    listed = fresh_list or kind != "bulk"
                    names.append(piece if listed else f"[*{piece}]")
                start = end
        self.pieces = iter(names)

    def node(self, part: Part) -> tuple[str, int]:
        """Return an expression for a part, and how deep its brackets nest."""
        items: list[str] = []
        deepest = 0
        for child, count in part.runs:
            if child is None:
                items += self.leaves(part, count)
            elif is_loop(child, count):
                items.append(f"*{self.loop(child, count)}")
            else:
                for _ in range(count):
                    value, depth = self.node(child)
                    items.append(value)
                    deepest = max(deepest, depth)
        value = getattr(self, f"build_{part.kind}")(part, items)
        if deepest >= _NESTED:
            return self.kept(value), 0
        return value, 0 if value.isidentifier() else deepest + 1

    def kept(self, value: str) -> str:
        """Write that a value gets a name, and return the name."""
        name = self.text.fresh("node")
        self.text.add(f"{name} = {value}")
        return name

    def leaves(self, part: Part, count: int) -> list[str]:
        """Return expressions for a run of leaves below a part."""
        if _at_once(part, count):
            return [f"*{next(self.pieces)}"]
        return [next(self.pieces) for _ in range(count)]

    def loop(self, part: Part, count: int) -> str:
        """Write how equal neighbours are built; return the name of their list."""
        source = next(self.pieces)
        outer = self.pieces
        result = self.kept("[]")
        simple = all(kind == "leaf" for kind, _ in _pieces(part))
        self.text.add(
            f"for {{}} in {self.batches(source, part.leaves, count, simple)}:"
        )
        head = len(self.text.lines) - 1
        self.text.indent += "    "
        if part.leaves and simple:
            names = [self.text.fresh("leaf") for _ in range(part.leaves)]
            batch = ", ".join(names)
            self.pieces = iter(names)
            value = self.node(part)[0]
        else:
            batch = self.text.fresh("batch")
            self.cut(part, batch, fresh_list=False)
            value = self.node(part)[0]
        self.text.add(f"{result}.append({value})")
        self.text.indent = self.text.indent[:-4]
        self.text.lines[head] = self.text.lines[head].format(batch)
        self.comprehend(head, result, batch, value)
        self.pieces = outer
        return result

    def batches(self, source: str, size: int, count: int, simple: bool) -> str:
        """Return an expression for the leaves of equal neighbours, one after another.

        To cut them out is faster than to zip them if they are many at a time.
        """
        if size == 0:
            return f"range({count})"
        if size == 1 and simple:
            return source
        if size > FEW and count <= _CUTS and source in self.cut_from:
            leaves, start = self.cut_from[source]
            starts = range(start, start + count * size, size)
            cuts = self.text.name(tuple([slice(i, i + size) for i in starts]))
            return f"map({leaves}.__getitem__, {cuts})"
        if size <= _BATCH:
            return f"zip(*[iter({source})] * {size})"
        return f"[{source}[i:i + {size}] for i in range(0, {count * size}, {size})]"

    def comprehend(self, head: int, result: str, batch: str, value: str) -> None:
        """Turn a loop whose body is one expression into a comprehension."""
        if len(self.text.lines) == head + 2 and not value.isidentifier():
            line = self.text.lines[head].strip().removesuffix(":")
            del self.text.lines[head - 1 :]
            self.text.add(f"{result} = [{value} {line}]")

    # --------------------------------------------------------------------- nodes

    def build_list(self, part: Part, items: list[str]) -> str:
        if len(items) == 1 and items[0].startswith("*"):
            return items[0][1:]
        return f"[{', '.join(items)}]"

    def build_tuple(self, part: Part, items: list[str]) -> str:
        return tuple_of(items)

    def build_none(self, part: Part, items: list[str]) -> str:
        return "None"

    def build_namedtuple(self, part: Part, items: list[str]) -> str:
        return f"new_tuple({self.text.name(part.cls)}, {tuple_of(items)})"

    def build_deque(self, part: Part, items: list[str]) -> str:
        return f"deque({tuple_of(items)}, {self.text.name(part.aux)})"

    def build_dict(self, part: Part, items: list[str]) -> str:
        """Write a display, or fill in a copy of a dict that has all the keys."""
        keys, order = keys_of(part), part.aux[1]
        if len(items) == len(keys) < WIDE:
            placed = items if order is None else order.scatter(items)
            pairs = zip(keys, placed, strict=True)
            return f"{{{', '.join(f'{self.text.written(k)}: {v}' for k, v in pairs)}}}"
        ordered = leaf_order(keys, order)
        node = self.kept(f"{self.text.name(dict.fromkeys(keys))}.copy()")
        if len(keys) <= STORED:
            self.store(part, node, items, map(self.text.written, ordered))
        else:
            values = f"zip({self.text.name(ordered)}, {_joined(items)})"
            self.text.add(f"{node}.update({values})")
        return node

    def store(
        self, part: Part, node: str, items: list[str], keys: Iterator[str]
    ) -> None:
        """Write that the children of a dict are put into it."""
        rest = iter(items)
        for child, count in part.runs:
            if _at_once(part, count) if child is None else is_loop(child, count):
                places = [f"{node}[{next(keys)}]" for _ in range(count)]
                self.text.add(f"{', '.join(places)} = {next(rest)[1:]}")
            else:
                for _ in range(count):
                    self.text.add(f"{node}[{next(keys)}] = {next(rest)}")

    def build_defaultdict(self, part: Part, items: list[str]) -> str:
        factory = self.text.name(part.aux[2])
        return f"defaultdict({factory}, {self.build_dict(part, items)})"

    def build_OrderedDict(self, part: Part, items: list[str]) -> str:
        keys = keys_of(part)
        if len(items) != len(keys):
            pairs = f"zip({self.text.name(keys)}, {_joined(items)})"
            return self.kept(f"OrderedDict({pairs})")
        node = self.kept("OrderedDict()")
        for key, value in zip(keys, items, strict=True):
            self.text.add(f"{node}[{self.text.written(key)}] = {value}")
        return node

    def build_record(self, part: Part, items: list[str]) -> str:
        form: Any = part.rule.form
        if part.varies:
            meta = [self.text.fresh("static") for _ in form.meta]
            self.text.add(f"{targets(meta)} = next(varying)")
        else:
            meta = [self.text.written(value) for value in part.aux]
        items = self.indexed(part, items)
        cls, new = self.text.name(part.cls), self.text.name(form.new)
        node = self.kept(f"{new}({cls})")
        names = (*form.data, *form.meta)
        for name, value in zip(names, (*items, *meta), strict=True):
            if form.put is setattr and is_plain_name(name):
                self.text.add(f"{node}.{name} = {value}")
            else:
                put, named = self.text.name(form.put), self.text.name(name)
                self.text.add(f"{put}({node}, {named}, {value})")
        return node

    def build_shaped(self, part: Part, items: list[str]) -> str:
        form: Any = part.rule.form
        shape = part.shape
        if part.varies:
            static = [self.text.fresh("static") for _ in shape.static]
            aux = self.kept("next(varying)")
            if static:
                self.text.add(f"{targets(static)} = {aux}.values")
        else:
            static = [self.text.written(value) for value in part.aux.values]
        items = self.indexed(part, items)
        named = dict(zip((*shape.data, *shape.static), (*items, *static), strict=True))
        pairs = [f"{self.text.written(name)}: {named[name]}" for name in shape.names]
        cls, new, put, put_shape, layout = map(
            self.text.name,
            (part.cls, form.new, form.put_attributes, form.put_shape, shape.layout),
        )
        node = self.kept(f"{new}({cls})")
        self.text.add(f"{put}({node}, {{{', '.join(pairs)}}})")
        self.text.add(f"{put_shape}({node}, {layout})")
        return node

    def indexed(self, part: Part, items: list[str]) -> list[str]:
        """Return an expression for each child, where some stand for many."""
        if not any(item.startswith("*") for item in items):
            return items
        listed = self.kept(f"[{', '.join(items)}]")
        return [f"{listed}[{place}]" for place in range(part.arity)]

    def build_custom(self, part: Part, items: list[str]) -> str:
        form: Any = part.rule.form
        aux = "next(varying)[0]" if part.varies else self.text.name(part.aux[0])
        unflatten = self.text.name(form.unflatten)
        return self.kept(f"{unflatten}({aux}, {tuple_of(items)})")

    build_keyed = build_custom

    def build_called(self, part: Part, items: list[str]) -> str:
        aux = "next(varying)" if part.varies else self.text.name(part.aux)
        unflatten = self.text.name(part.rule.unflatten)
        return self.kept(f"{unflatten}({aux}, [{', '.join(items)}])")


def _joined(items: Sequence[str]) -> str:
    """Return a sequence of children, some of which stand for many."""
    if len(items) == 1 and items[0].startswith("*"):
        return items[0][1:]
    return tuple_of(items)


def _at_once(part: Part, count: int) -> bool:
    """Return whether so many leaves below a part are one piece."""
    is_display = part.arity < WIDE and part.kind in ("dict", "defaultdict")
    return count > SPREAD and not is_display


def _pieces(part: Part) -> Iterator[tuple[str, int]]:
    """Yield what the leaves of a scope are taken for, and how many at a time."""
    for child, count in part.runs:
        if child is None:
            if _at_once(part, count):
                yield "run" if part.kind in _MAPPINGS else "bulk", count
            else:
                yield from (("leaf", 1),) * count
        elif is_loop(child, count):
            yield "loop", count * child.leaves
        else:
            for _ in range(count):
                yield from _pieces(child)


def _grouped(sizes: list[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """Put neighbouring single leaves together."""
    singles = 0
    for kind, count in sizes:
        if kind == "leaf":
            singles += 1
            continue
        if singles:
            yield "leaf", singles
        singles = 0
        yield kind, count
    if singles:
        yield "leaf", singles


def emit_unflatten(plan: Plan, constants: Constants | None = None) -> Text:
    """Return the text of `unflatten`; `explain_failure` is left to be filled in."""
    writer = _Writer(plan, constants)
    writer.write()
    return writer.text

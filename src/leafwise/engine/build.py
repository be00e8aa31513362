"""The function that builds trees of a structure."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from ..core.treedef import reference
from .plan import MAPPINGS, Part, Plan, is_loop
from .settings import settings
from .text import Text, targets, tuple_of


Items: TypeAlias = list[str]
"""Expressions for the children of a node, of which those with a star stand for many."""


class Builder(Text):
    """The text of a function that builds a tree: `unflatten`.

    Example:
        >>> import leafwise as lw
        >>> from leafwise.engine.plan import make_plan
        >>> treedef = lw.tree_structure({"last": [1, 2], "all": [(3, 4)] * 50})
        >>> print(Builder(make_plan(treedef._code)))
        def unflatten(treedef, leaves):
            try:
                leaf3, leaf4 = leaves[100:102]
                node1 = [(leaf1, leaf2) for leaf1, leaf2 in zip(*[iter(leaves[0:100])] * 2)]
                return {'last': [leaf3, leaf4], 'all': node1}
            except Exception as error:
                failed = error
            return explain_failure(treedef, leaves, failed)
        <BLANKLINE>
    """  # noqa: E501  # generated lines are not wrapped

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self.tools["explain_failure"] = _explain_failure
        self._leaves = _Leaves("leaves", plan.root.leaves)
        with self.block("def unflatten(treedef, leaves):"):
            with self.block("try:"):
                if plan.varying:
                    self.values["VARYING"] = plan.varying
                    self.add("code = treedef._code")
                    self.add("varying = iter([code[index][3] for index in VARYING])")
                begin = len(self.lines)
                self.add(f"return {self._node(plan.root)}")
                head = [self.indent + line for line in self._leaves.unpacked()]
                self.lines[begin:begin] = head
            self.add("except Exception as error:", "    failed = error")
            self.add("return explain_failure(treedef, leaves, failed)")

    def _node(self, part: Part) -> str:
        """Return an expression for a part."""
        items: Items = []
        is_assigned = part.kind in MAPPINGS and part.arity <= settings.max_assigned
        for child, count in part.runs:
            if child is None and count > settings.min_spread and not is_assigned:
                items.append(f"*{self._leaves.piece(count)}")
            elif child is None:
                items += [self._leaves.use(self.fresh("leaf")) for _ in range(count)]
            elif is_loop(child, count):
                items.append(f"*{self._loop(child, count)}")
            else:
                items += [self._node(child) for _ in range(count)]
        expression = self._EXPRESSIONS[part.kind](self, part, items)
        if part.depth % settings.levels_per_name == 0 and not expression.isidentifier():
            return self.assign(expression)
        return expression

    def _loop(self, part: Part, count: int) -> str:
        """Write how equal neighbours are built; return the name of their list."""
        size = part.leaves
        outer = self._leaves
        nodes = self.fresh("node")
        piece = outer.piece(count * size)
        batch = self.fresh("batch")
        if size == 0:
            batches = f"range({count})"
        elif size == 1:
            batches = piece
        else:
            batches = f"zip(*[iter({piece})] * {size})"
        inner = _Leaves(batch, size)
        self._leaves = inner
        begin = len(self.lines)
        self.indent += "    "
        expression = self._node(part)
        body = self.lines[begin:]
        del self.lines[begin:]
        target = batch
        if len(inner.runs) == 1 and len(inner.runs[0][1]) == size:
            target = ", ".join(inner.runs[0][1])
        else:
            body = [self.indent + line for line in inner.unpacked()] + body
        self._leaves = outer
        self.indent = self.indent[:-4]
        if not body:
            self.add(f"{nodes} = [{expression} for {target} in {batches}]")
        else:
            self.add(f"{nodes} = []", f"for {target} in {batches}:")
            self.lines += body
            self.add(f"    {nodes}.append({expression})")
        return nodes

    def _single(self, part: Part, items: Items) -> Items:
        """Return an expression for each child, where some stand for many."""
        if len(items) == part.arity:
            return items
        names = [self.fresh("node") for _ in range(part.arity)]
        self.add(f"{targets(names)} = {_sequence_of(items)}")
        return names

    # ------------------------------------------------------------ expressions by kind

    def _list(self, part: Part, items: Items) -> str:
        if len(items) == 1 and items[0].startswith("*node"):  # the list of a loop
            return items[0][1:]
        return f"[{', '.join(items)}]"

    def _tuple(self, part: Part, items: Items) -> str:
        return tuple_of(items)

    def _none(self, part: Part, items: Items) -> str:
        return "None"

    def _namedtuple(self, part: Part, items: Items) -> str:
        new = self.name(tuple.__new__)
        return f"{new}({self.name(part.cls)}, {tuple_of(items)})"

    def _dict(self, part: Part, items: Items) -> str:
        """Write a display, or fill in a copy of a dict that has all the keys."""
        keys = part.keys.inserted
        if part.arity >= settings.min_filled:
            template = self.name(dict.fromkeys(keys))
            return self._filled(part, f"{template}.copy()", items)
        values = self._single(part, items)
        by_key: dict[int, str] = {}
        for key, value in zip(part.keys.ordered, values, strict=True):
            by_key[id(key)] = value
        pairs = [f"{self.literal(key)}: {by_key[id(key)]}" for key in keys]
        return _dict_of(pairs)

    def _defaultdict(self, part: Part, items: Items) -> str:
        factory = self.name(part.aux[1])
        return f"{self.name(defaultdict)}({factory}, {self._dict(part, items)})"

    def _mapping(self, part: Part, items: Items) -> str:
        from_items = self.name(part.node_type.from_items)
        return f"{from_items}(None, {self._dict(part, items)})"

    def _ordered_dict(self, part: Part, items: Items) -> str:
        return self._filled(part, f"{self.name(OrderedDict)}()", items)

    def _filled(self, part: Part, mapping: str, items: Items) -> str:
        """Write that the children of a mapping are put into it."""
        ordered = part.keys.ordered
        if part.arity > settings.max_assigned:
            node = self.assign(mapping)
            self.add(f"{node}.update(zip({self.name(ordered)}, {_sequence_of(items)}))")
            return node
        values = self._single(part, items)
        node = self.assign(mapping)
        pairs = zip(map(self.literal, ordered), values, strict=True)
        self.add(*[f"{node}[{key}] = {value}" for key, value in pairs])
        return node

    def _record(self, part: Part, items: Items) -> str:
        form = part.node_type.form
        if part.varies:
            meta = [self.fresh("static") for _ in form.meta]
            self.add(f"{targets(meta) or '()'} = next(varying)")
        else:
            meta = [self.literal(value) for value in part.aux]
        data = self._single(part, items)
        node = self._new(part)
        names = (*form.data, *form.meta)
        for name, value in zip(names, (*data, *meta), strict=True):
            if form.put is setattr:
                self.add(f"{node}.{name} = {value}")
            else:
                self.add(f"{self.name(form.put)}({node}, {name!r}, {value})")
        return node

    def _shaped(self, part: Part, items: Items) -> str:
        form = part.node_type.form
        shape = part.shape
        if part.varies:
            static = [self.fresh("static") for _ in shape.static]
            self.add(f"{targets(static) or '()'} = next(varying).values")
        else:
            static = [self.literal(value) for value in part.aux.values]
        data = self._single(part, items)
        names = (*shape.data, *shape.static)
        values = dict(zip(names, (*data, *static), strict=True))
        pairs = [f"{self.literal(name)}: {values[name]}" for name in shape.names]
        put_attributes = self.name(form.put_attributes)
        put_shape = self.name(form.put_shape)
        node = self._new(part)
        self.add(f"{put_attributes}({node}, {_dict_of(pairs)})")
        self.add(f"{put_shape}({node}, {self.name(shape)})")
        return node

    def _new(self, part: Part) -> str:
        """Write that an empty node is made, and return its name."""
        new = self.name(part.node_type.form.new)
        return self.assign(f"{new}({self.name(part.cls)})")

    def _custom(self, part: Part, items: Items) -> str:
        aux = "next(varying)[0]" if part.varies else self.literal(part.aux[0])
        unflatten = self.name(part.node_type.form.unflatten)
        return self.assign(f"{unflatten}({aux}, {tuple_of(items)})")

    def _called(self, part: Part, items: Items) -> str:
        aux = "next(varying)" if part.varies else self.name(part.aux)
        unflatten = self.name(part.node_type.unflatten)
        return self.assign(f"{unflatten}({aux}, [{', '.join(items)}])")

    _EXPRESSIONS: Final[dict[str, Callable[[Any, Part, Items], str]]] = {
        "list": _list,
        "tuple": _tuple,
        "None": _none,
        "namedtuple": _namedtuple,
        "dict": _dict,
        "defaultdict": _defaultdict,
        "OrderedDict": _ordered_dict,
        "mapping": _mapping,
        "record": _record,
        "shaped": _shaped,
        "custom": _custom,
        "called": _called,
    }


class _Leaves:
    """The leaves of a scope, a function or the body of a loop.

    Attributes:
        source: The name of the sequence of them.
        total: How many there are.
        used: How many are used by now.
        runs: The names of those that are used one by one, with where they begin.
    """

    def __init__(self, source: str, total: int) -> None:
        self.source = source
        self.total = total
        self.used = 0
        self.runs: list[tuple[int, list[str]]] = []
        self._is_in_run = False

    def use(self, name: str) -> str:
        """Give a name to the next leaf."""
        if not self._is_in_run:
            self.runs.append((self.used, []))
        _, names = self.runs[-1]
        names.append(name)
        self._is_in_run = True
        self.used += 1
        return name

    def piece(self, count: int) -> str:
        """Return an expression for the next leaves."""
        start = self.used
        self.used += count
        self._is_in_run = False
        if count == self.total:
            return self.source
        return f"{self.source}[{start}:{self.used}]"

    def unpacked(self) -> list[str]:
        """Return the lines that give the names."""
        lines: list[str] = []
        for start, names in self.runs:
            piece = self.source
            if len(names) < self.total:
                piece += f"[{start}:{start + len(names)}]"
            lines.append(f"{targets(names)} = {piece}")
        return lines


def _dict_of(pairs: Sequence[str]) -> str:
    """Return a display of a dict."""
    return f"{{{', '.join(pairs)}}}"


def _sequence_of(items: Sequence[str]) -> str:
    """Return a sequence of children, some of which stand for many."""
    if len(items) == 1 and items[0].startswith("*"):
        return items[0][1:]
    return tuple_of(items)


def _explain_failure(treedef: Any, leaves: list[Any], error: Exception) -> Any:
    """Rebuild by the code, to learn where it fails; raise what failed in any case.

    Running out of stack is no failure of the tree: the code needs none.
    """
    # The frame of the traceback refers to the error: a cycle, which holds the leaves.
    BaseException.with_traceback(error, None)
    tree = reference.unflatten(treedef, leaves)
    if isinstance(error, RecursionError):
        return tree
    raise error
